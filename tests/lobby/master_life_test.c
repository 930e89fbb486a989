/*
 * How long a lobby lives: while it beats, over restarts too, and not much longer.
 */
#include "base/auto.h"
#include "support/await.h"
#include "support/dial.h"
#include "support/lobby_client.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOST    "203.0.113.7"
#define TTL_MS  90000
#define BEAT_MS 30000

static struct server *s;

static void start(void)
{
	s = server_start((const char *[]){ LOBBY_PROMPT, NULL });
}

static void stop(void)
{
	server_finish(s);
}

TestSuite(master_life, .init = start, .fini = stop);

static void await_health(int64_t count)
{
	int64_t deadline_ms = real_now_ms() + LOBBY_PATIENCE_MS;

	while (master_health(s) != count) {
		cr_assert_lt(real_now_ms(), deadline_ms, "%lld lobbies, not %lld", (long long)master_health(s),
		             (long long)count);
		real_sleep_ms(5);
	}
}

Test(master_life, a_silent_lobby_is_there_for_90_s_and_gone_after_120)
{
	struct master_host h;
	char               line[64];

	master_open(&h, s, HOST, "");
	for (int i = 0; i < 8; i++) {
		server_advance(s, 11000);
		cr_expect(master_is_listed(s, h.id), "after %d s", 11 * (i + 1));
	}
	cr_expect_eq(master_join_status(s, HOST, h.id), 200);
	server_advance(s, 32000);
	await_health(0);
	cr_expect(!master_is_listed(s, h.id));
	cr_expect_eq(master_join_status(s, HOST, h.id), 404);
	AUTO(rest_freep) struct http_result r = master_beat_asked(&h, s, "");

	master_expect_error(&r, 403, "unknown session or bad token");
	snprintf(line, sizeof(line), "expires lobby=%s silent=120s", h.id);
	await_log(s, line);
	cr_expect_eq(server_metric(s, "coopd_lobby_ended_total", "reason=\"expired\""), 1);
	server_kill(s);
	server_restart(s);
	cr_expect_eq(master_health(s), 0);
}

Test(master_life, each_beat_begins_another_90_s)
{
	struct master_host h;

	master_open(&h, s, HOST, "");
	for (int i = 0; i < 6; i++) {
		server_advance(s, 80000);
		cr_expect_eq(master_beat(&h, s, ""), 200, "beat %d", i);
	}
	AUTO(rest_freep) struct http_result list = master_list(s);
	char                                way[100];

	strcpy(way, master_way(&list, h.id, "age"));
	cr_expect_eq(rest_int(&list, way), 0);
}

/* --- Over restarts --- */

/* The list without what time does to it. */
static char *list_without_ages(void)
{
	AUTO(rest_freep) struct http_result list = master_list(s);
	char                               *text = strdup(list.body), *at = text;

	while ((at = strstr(at, "\"age\":"))) {
		char *end = at + 6 + strspn(at + 6, "0123456789");

		memmove(at, end, strlen(end) + 1);
	}
	return text;
}

/* All that is shown or told of a lobby is as before. */
Test(master_life, a_kill_changes_nothing_that_anybody_sees)
{
	struct master_host p2p, direct, hidden;

	master_open(&p2p, s, HOST,
	            J("'name':'Zo\\u00eb <b>','world':'w','version':'1.0+a','game':'1.2.3ab','proto':133,'locked':true,"
	              "'players_max':3,'build_sha':'"
	              "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff'"));
	AUTO(auto_free) char *one = list_without_ages();

	server_kill(s);
	server_restart(s);
	AUTO(auto_free) char *again = list_without_ages();

	cr_expect_str_eq(again, one);
	master_open(&direct, s, "2001:db8::7", J("'conn':'direct','direct_port':7777"));
	master_open(&hidden, s, HOST, "");
	cr_expect_eq(master_beat(&p2p, s, J("'players_cur':2,'links':{'relayed':1,'direct':2,'lan':3}")), 200);
	cr_expect_eq(master_show(&hidden, s, "false"), 200);
	/* Beats are written behind, a second at most. */
	server_await_metric(s, "coopd_store_queue", NULL, 0, 5000);
	AUTO(auto_free) char *before = list_without_ages();

	server_kill(s);
	server_restart(s);
	AUTO(auto_free) char               *after = list_without_ages();
	AUTO(rest_freep) struct http_result join  = master_join(s, HOST, direct.id);
	AUTO(rest_freep) struct http_result meet  = master_join(s, HOST, p2p.id);
	char                                text[128];

	/* Rows have no order. */
	cr_expect_eq(strlen(after), strlen(before), "%s\n%s", before, after);
	cr_expect_eq(master_health(s), 3);
	cr_expect(!master_is_listed(s, hidden.id));
	cr_expect_str_eq(rest_text(&join, "addr", text, sizeof(text)), "[2001:db8::7]:7777");
	cr_expect_str_eq(rest_text(&meet, "sessionId", text, sizeof(text)), p2p.session);
	cr_expect_eq(master_beat(&p2p, s, ""), 200);
	cr_expect_eq(master_beat(&direct, s, ""), 200);
	cr_expect_eq(master_leave(&hidden, s), 200);
}

/* What is kept is a digest: who reads the database cannot end anybody's lobby. */
Test(master_life, the_database_has_no_token_and_no_address_of_a_brokered_host)
{
	static const char *const files[] = { "coop.db", "coop.db-wal" };
	struct master_host       h;

	master_open(&h, s, HOST, "");
	for (size_t i = 0; i < COUNT_OF(files); i++) {
		char   path[SERVER_PATH_BYTES + 16], *bytes = malloc(16 << 20);
		size_t len = 0;

		snprintf(path, sizeof(path), "%s/%s", s->data, files[i]);
		FILE *f = fopen(path, "re");

		cr_assert_not_null(bytes);
		if (f) {
			len = fread(bytes, 1, 16 << 20, f);
			fclose(f);
		}
		cr_expect(!memmem(bytes, len, h.token, strlen(h.token)), "%s", files[i]);
		cr_expect(!memmem(bytes, len, HOST, strlen(HOST)), "%s", files[i]);
		free(bytes);
	}
}

Test(master_life, who_was_silent_for_too_long_does_not_come_back)
{
	struct master_host old, fresh;

	master_open(&old, s, HOST, "");
	server_advance(s, 50000);
	master_open(&fresh, s, HOST, "");
	server_kill(s);
	server_advance(s, 41000);
	server_restart(s);
	cr_expect_eq(master_health(s), 1);
	cr_expect_eq(master_beat(&old, s, ""), 403);
	cr_expect_eq(master_beat(&fresh, s, ""), 200);
}

#define HOSTS 200

static const char *address_of(int n)
{
	static char text[32];

	snprintf(text, sizeof(text), "10.1.%d.1", n);
	return text;
}

static void all_beat(const struct master_host *hosts, const char *when)
{
	int lost = 0;

	for (int i = 0; i < HOSTS; i++)
		lost += master_beat(&hosts[i], s, "") != 200;
	cr_expect_eq(lost, 0, "%s: %d hosts had to announce again", when, lost);
}

Test(master_life, of_200_hosts_that_beat_no_kill_loses_one, .timeout = 280)
{
	struct master_host *hosts = calloc(HOSTS, sizeof(*hosts));

	cr_assert_not_null(hosts);
	for (int i = 0; i < HOSTS; i++)
		master_open(&hosts[i], s, address_of(i), "");
	for (int round = 0; round < 4; round++) {
		server_advance(s, BEAT_MS);
		all_beat(hosts, "while it runs");
		server_advance(s, BEAT_MS / 2);
		server_kill(s);
		server_advance(s, BEAT_MS / 2);
		server_restart(s);
		cr_expect_eq(master_listed(s), HOSTS, "the list is whole at once");
		all_beat(hosts, "after a kill");
	}
	cr_expect_eq(master_health(s), HOSTS);
	free(hosts);
}

Test(master_life, an_orderly_restart_loses_no_beat)
{
	struct master_host h;

	master_open(&h, s, HOST, "");
	server_advance(s, 80000);
	cr_expect_eq(master_beat(&h, s, J("'players_cur':3")), 200);
	server_restart(s);
	server_advance(s, 80000);
	cr_expect_eq(master_beat(&h, s, ""), 200);
	AUTO(rest_freep) struct http_result list = master_list(s);
	char                                way[100];

	strcpy(way, master_way(&list, h.id, "players_cur"));
	cr_expect_eq(rest_int(&list, way), 3);
}
