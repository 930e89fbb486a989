/*
 * The wall clock jumps while the server runs, as it does on a machine without a battery, or by an operator's slip: nothing
 * that is kept goes for it, and games and timers, which have a clock of their own, notice nothing. The whole server.
 *
 * That codes and campaigns do not expire: tests/scenario/code_wrong_date.txt, tests/store/uptime_state_test.c.
 */
#include "support/admin_client.h"
#include "support/honest.h"
#include "support/lobby_client.h"
#include "support/transfer.h"

#include "base/auto.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DAY_MS  INT64_C(86400000)
#define YEAR_MS (365 * DAY_MS)

#define ANSWER AUTO(rest_freep) struct http_result

static struct honest h;

static void start(void)
{
	honest_begin(&h, (const char *[]){ LOBBY_PROMPT, "limits.cloud_interval_ms=0", NULL });
}

TestSuite(clock_jumps, .init = start, .timeout = 120);

/* Nobody tells the server: it finds out by itself, if ever. */
static void jump(int64_t ms)
{
	__atomic_add_fetch(&h.s->clock->wall_ms, ms, __ATOMIC_SEQ_CST);
}

static void ban(const char *value, const char *more)
{
	char body[200];

	snprintf(body, sizeof(body), "{\"kind\":\"address\",\"value\":\"%s\",\"reason\":\"rude\"%s}", value, more);
	ANSWER r = admin_ask(h.s, "POST", "/admin/v1/bans", body);

	admin_expect(&r, 201, NULL);
}

static size_t bans(void)
{
	ANSWER r = admin_get(h.s, "/admin/v1/bans");

	return rest_count(&r, "items");
}

static int status_with(const char *token)
{
	ANSWER r = admin_ask_tcp(h.s, token, "GET", "/admin/v1/whoami", NULL);

	return r.status;
}

static void store(unsigned number)
{
	struct transfer_bytes c = transfer_make("war", number, 1000);

	cr_assert_eq(transfer_put(h.s, TRANSFER_WS, "A", &c).what, TRANSFER_DONE);
	transfer_unmake(&c);
}

static size_t campaigns(void)
{
	ANSWER r = rest_get(h.s, "A", "/v1/campaigns");

	return rest_count(&r, "campaigns");
}

/* What is new works as always. */
static void expect_newcomers_welcome(const char *host)
{
	struct master_host lobby;
	uint32_t           code;

	ws_client_free(host_open(h.s->tunnel_port, host, &code));
	cr_expect_neq(code, 0);
	master_open(&lobby, h.s, "203.0.113.7", J("'name':'island'"));
	cr_expect_eq(master_beat(&lobby, h.s, J("'players_cur':2")), 200);
	cr_expect(master_is_listed(h.s, lobby.id));
	cr_expect_eq(master_leave(&lobby, h.s), 200);
}

Test(clock_jumps, a_year_ahead_and_back_ends_nothing_for_good)
{
	char old[ADMIN_TOKEN_TEXT_BYTES], new[ADMIN_TOKEN_TEXT_BYTES];

	admin_make_token(old, h.s, "viewer"); /* for 90 days */
	ban("203.0.113.9", ",\"expires_s\":3600");
	store(1);

	jump(YEAR_MS);
	honest_play(&h);
	cr_expect_eq(status_with(old), 401, "by what the clock says");
	/* What makes room for these is old by the wall clock only. */
	admin_make_token(new, h.s, "viewer");
	ban("203.0.113.10", "");
	cr_expect_eq(status_with(new), 200);
	expect_newcomers_welcome("D");
	store(2);

	jump(-YEAR_MS);
	honest_play(&h);
	cr_expect_eq(status_with(old), 200, "the token is good again");
	cr_expect_eq(status_with(new), 200);
	cr_expect_eq(bans(), 2, "the ban holds again");
	cr_expect_eq(campaigns(), 1);
	server_restart(h.s);
	cr_expect_eq(status_with(old), 200);
	cr_expect_eq(bans(), 2);
	cr_expect_eq(admin_audited(h.s, "ban.add", NULL, "ok"), 2);
	ws_client_free(h.friend);
	ws_client_free(h.host);
	server_finish(h.s);
}

Test(clock_jumps, the_audit_trail_outlives_a_year_that_was_not)
{
	ban("203.0.113.9", "");
	jump(YEAR_MS);
	server_advance(h.s, 3600001); /* every hour what is too old goes, with whatever is committed next */
	ban("203.0.113.10", "");
	cr_expect_eq(admin_audited(h.s, "ban.add", NULL, "ok"), 2);
	jump(-YEAR_MS);
	cr_expect_eq(admin_audited(h.s, "ban.add", NULL, "ok"), 2);
	ws_client_free(h.friend);
	ws_client_free(h.host);
	server_finish(h.s);
}

Test(clock_jumps, days_before_the_program_was_written_are_days_like_others)
{
	store(1);
	jump(-3 * YEAR_MS);
	honest_play(&h);
	expect_newcomers_welcome("D");
	store(2);
	cr_expect_eq(campaigns(), 1);

	/* And a start there. */
	ws_client_free(h.friend);
	ws_client_free(h.host);
	server_restart(h.s);
	cr_expect(server_log_contains(h.s, "doubts-clock"));

	uint32_t code;

	h.host = host_open(h.s->tunnel_port, "A", &code);
	cr_expect_eq(code, h.code);
	cr_expect_eq(campaigns(), 1);
	expect_newcomers_welcome("E");
	ws_client_free(h.host);

	jump(3 * YEAR_MS);
	h.host = host_open(h.s->tunnel_port, "A", &code);
	cr_expect_eq(code, h.code);
	cr_expect_eq(campaigns(), 1);
	ws_client_free(h.host);
	server_finish(h.s);
}
