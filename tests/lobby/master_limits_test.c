/*
 * How much one address, and all together, may have of the lobby master; and that nobody's host goes for a stranger.
 */
#include "base/auto.h"
#include "support/dial.h"
#include "support/lobby_client.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOST    "203.0.113.7"
#define OTHER   "203.0.113.8"
#define CREATES 10
#define JOINS   20
#define MUTATES 240
#define LOBBIES 8
#define ENTRIES 1000

static struct server *s;

static void start(void)
{
	s = server_start((const char *[]){ LOBBY_PROMPT, NULL });
}

static void stop(void)
{
	server_finish(s);
}

TestSuite(master_limits, .init = start, .fini = stop);

static int ask(const char *from, const char *path, const char *body)
{
	AUTO(rest_freep) struct http_result r = master_post(s, from, path, J(body));

	if (r.status == 429)
		master_expect_error(&r, 429, "rate");
	return r.status;
}

/* At the limit, one past it, and again a minute later. What ends in an error has spent its place, what is refused has not. */
static void expect_window(const char *const *paths, size_t count, int limit)
{
	server_advance(s, 1000);
	for (int i = 0; i < limit; i++)
		cr_expect(ask(HOST, paths[(size_t)i % count], "{}") != 429, "%s, the request number %d", paths[0],
		          i + 1);
	for (size_t i = 0; i < count; i++)
		cr_expect_eq(ask(HOST, paths[i], "{}"), 429, "%s past the limit", paths[i]);
	cr_expect(ask(OTHER, paths[0], "{}") != 429, "others are not concerned");
	server_advance(s, 60000);
	for (int i = 0; i < limit; i++)
		cr_expect(ask(HOST, paths[(size_t)i % count], "{}") != 429, "%s a minute later, number %d", paths[0],
		          i + 1);
	cr_expect_eq(ask(HOST, paths[0], "{}"), 429);
	server_advance(s, 60000);
}

Test(master_limits, an_address_may_announce_and_challenge_10_times_a_minute)
{
	expect_window((const char *[]){ "/v1/host" }, 1, CREATES);
	expect_window((const char *[]){ "/v1/challenge", "/v1/host" }, 2, CREATES);
}

Test(master_limits, an_address_may_join_20_times_a_minute)
{
	expect_window((const char *[]){ "/v1/join" }, 1, JOINS);
}

Test(master_limits, an_address_may_beat_leave_and_show_240_times_a_minute)
{
	expect_window((const char *[]){ "/v1/heartbeat", "/v1/leave", "/v1/visibility" }, 3, MUTATES);
}

Test(master_limits, what_is_no_json_spends_nothing)
{
	for (int i = 0; i < CREATES; i++)
		cr_expect_eq(ask(HOST, "/v1/challenge", "x"), 400);
	for (int i = 0; i < CREATES; i++)
		cr_expect_eq(ask(HOST, "/v1/challenge", "{}"), 200);
	cr_expect_eq(ask(HOST, "/v1/challenge", "{}"), 429);
}

/* An announce of the minute before a restart counts still. */
Test(master_limits, announces_count_over_a_restart)
{
	struct master_host h;

	for (int i = 0; i < LOBBIES; i++)
		master_open(&h, s, HOST, "");
	server_kill(s);
	server_restart(s);
	for (int i = LOBBIES; i < CREATES; i++)
		cr_expect_eq(ask(HOST, "/v1/challenge", "{}"), 200);
	cr_expect_eq(ask(HOST, "/v1/challenge", "{}"), 429);
	cr_expect_eq(master_health(s), LOBBIES);
}

Test(master_limits, reading_is_not_limited)
{
	for (int i = 0; i < 300; i++)
		cr_expect_eq(master_listed(s), 0);
}

Test(master_limits, an_address_may_have_8_lobbies)
{
	struct master_host h[LOBBIES], late;

	for (int i = 0; i < LOBBIES; i++)
		master_open(&h[i], s, HOST, i % 2 ? J("'listed':false") : "");
	AUTO(rest_freep) struct http_result r = master_post(s, HOST, "/v1/host", master_announce_body(""));

	master_expect_error(&r, 429, "too many lobbies for this address");
	master_open(&late, s, OTHER, "");
	cr_expect_eq(master_leave(&h[3], s), 200);
	master_open(&late, s, HOST, "");
	cr_expect_eq(master_health(s), LOBBIES + 1);
}

/* --- A full table --- */

static const char *address_of(int n)
{
	static char   texts[4][32];
	static size_t turn;
	char         *out = texts[turn++ % 4];

	snprintf(out, sizeof(texts[0]), "10.%d.%d.1", n / 250, n % 250);
	return out;
}

static void fill(struct master_host *hosts, int count)
{
	for (int i = 0; i < count; i++)
		master_open(&hosts[i], s, address_of(i), i % 3 ? "" : J("'listed':false"));
}

static void expect_all_beat(const struct master_host *hosts, int count)
{
	int lost = 0;

	for (int i = 0; i < count; i++)
		lost += master_beat(&hosts[i], s, "") != 200;
	cr_expect_eq(lost, 0, "%d of %d hosts are gone", lost, count);
}

/* The most that a flood can do is to have nothing. */
Test(master_limits, a_flood_removes_no_host_that_beats, .timeout = 280)
{
	struct master_host *hosts = calloc(ENTRIES, sizeof(*hosts));

	cr_assert_not_null(hosts);
	fill(hosts, ENTRIES);
	cr_expect_eq(master_health(s), ENTRIES);
	for (int i = 0; i < 200; i++) {
		char from[32];

		snprintf(from, sizeof(from), "172.16.%d.1", i);
		ask(from, "/v1/host", "x");
		ask(from, "/v1/host", "{'game':'bad'}");
		ask(from, "/v1/host", "{'identity':'gen:x'}");
		AUTO(rest_freep) struct http_result r = master_post(s, from, "/v1/host", master_announce_body(""));

		master_expect_error(&r, 429, "too many lobbies");
	}
	cr_expect_eq(master_health(s), ENTRIES);
	expect_all_beat(hosts, ENTRIES);

	free(hosts);
}

static bool is_there(const struct master_host *h)
{
	return master_join_status(s, "192.0.2.1", h->id) == 200;
}

static void expect_there(const struct master_host h[4], bool a, bool b, bool c, bool d)
{
	cr_expect(is_there(&h[0]) == a && is_there(&h[1]) == b && is_there(&h[2]) == c && is_there(&h[3]) == d,
	          "not %d %d %d %d", a, b, c, d);
}

/* Hidden ones first, then those without players, then the one with the oldest beat; and only for who is let in. */
Test(master_limits, a_newcomer_takes_the_place_of_who_is_silent_for_over_45_s)
{
	static const char *const small[] = { LOBBY_PROMPT, "limits.lobby_entries=4", NULL };
	struct master_host       h[4], late;

	server_finish(s);
	s = server_start(small);
	for (int i = 0; i < 4; i++)
		master_open(&h[i], s, address_of(i), i == 2 ? J("'listed':false") : "");
	master_beat(&h[1], s, J("'players_cur':0"));
	server_advance(s, 40000);
	cr_expect_eq(master_try_open(&late, s, OTHER, ""), 429, "they are silent for 40 s");
	server_advance(s, 6000);
	cr_expect_eq(ask(OTHER, "/v1/host", "{'game':'bad'}"), 400);
	cr_expect_eq(ask(OTHER, "/v1/host", "{}"), 400);
	expect_there(h, true, true, true, true);
	master_open(&late, s, OTHER, "");
	expect_there(h, true, true, false, true);
	master_open(&late, s, OTHER, "");
	expect_there(h, true, false, false, true);
	master_open(&late, s, OTHER, "");
	expect_there(h, false, false, false, true);
	cr_expect_eq(master_beat(&h[3], s, ""), 200);
	cr_expect_eq(master_try_open(&late, s, OTHER, ""), 429);
	cr_expect_eq(server_metric(s, "coopd_lobby_ended_total", "reason=\"pushed_out\""), 3);

	/* Who was pushed out is gone for good. */
	server_kill(s);
	server_restart(s);
	expect_there(h, false, false, false, true);
}

#define TREE "\xf0\x9f\x8f\x9d"
#define SHA  "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

/* Clients cut what is longer than 1 MiB: hosts whose rows are as large as can be must not take the list from all. */
Test(master_limits, a_thousand_of_the_largest_rows_are_less_than_a_mib, .timeout = 280)
{
	static char        members[4096];
	struct master_host h;
	size_t             len = 0;

#define ADD(...) len += (size_t)snprintf(members + len, sizeof(members) - len, __VA_ARGS__)
	ADD("'game':'10.10.10ab','proto':65535,'conn':'direct','direct_port':7777,'build_sha':'" SHA
	    "','build_key':255,'build_sig':'" SHA SHA "'");
	for (int f = 0; f < 3; f++) {
		ADD(",'%s':'", (const char *[]){ "name", "world", "version" }[f]);
		for (int i = 0; i < 70; i++)
			ADD(TREE);
		ADD("'");
	}
	for (int i = 0; i < ENTRIES; i++)
		master_open(&h, s, address_of(i), J(members));
	server_advance(s, 80000);
	AUTO(rest_freep) struct http_result list = master_list(s);

	cr_expect_eq(rest_count(&list, "lobbies"), ENTRIES);
	cr_expect(list.body_len > 960000 && list.body_len < (1 << 20), "%zu bytes", list.body_len);
}

Test(master_limits, who_is_refused_for_his_rate_is_counted)
{
	for (int i = 0; i < JOINS + 7; i++)
		ask(HOST, "/v1/join", "{}");
	cr_expect_eq(server_metric(s, "coopd_lobby_rate_limited_total", "class=\"join\""), 7);
	cr_expect_eq(server_metric(s, "coopd_lobby_rate_limited_total", "class=\"create\""), 0);
	cr_expect_eq(server_metric(s, "coopd_lobby_joins_total", "result=\"unknown\""), 0, "none named a lobby");
}

/* What the lines about rates say in all, and how many they are. */
static long count_told(size_t *lines)
{
	FILE *log = server_open_log(s);
	char  line[2048];
	long  told = 0;

	*lines = 0;
	while (fgets(line, sizeof(line), log)) {
		const char *count = strstr(line, "reason=rate class=join address=203.0.113.0/24 count=");

		*lines += count != NULL;
		told += count ? strtol(strstr(count, "count=") + 6, NULL, 10) : 0;
	}
	fclose(log);
	return told;
}

/* Whoever sends a thousand requests a second does not write a thousand lines. */
Test(master_limits, who_is_refused_for_his_rate_is_in_the_log_once_a_second)
{
	int64_t deadline_ms = real_now_ms() + LOBBY_PATIENCE_MS;
	size_t  lines;

	for (int i = 0; i < JOINS + 50; i++)
		ask(HOST, "/v1/join", "{}");
	server_advance(s, 1000);
	ask(HOST, "/v1/join", "{}");
	while (count_told(&lines) < 51)
		cr_assert_lt(real_now_ms(), deadline_ms, "%ld refusals are in the log", count_told(&lines));
	cr_expect_eq(count_told(&lines), 51);
	cr_expect(lines >= 2 && lines < 20, "%zu lines", lines);
}

/* --- The log --- */

#define FLOOD 90

/* How many lines tell of one refused announce; *more: how many the others tell of. */
static int count_refused(int *more)
{
	FILE *log = fopen(s->log_path, "re");
	char  line[2048];
	int   told = 0;

	*more = 0;
	cr_assert_not_null(log);
	while (fgets(line, sizeof(line), log)) {
		const char *rest = strstr(line, "refuses-more announces=");

		told += strstr(line, "refuses reason=") != NULL;
		if (rest)
			*more += atoi(rest + strlen("refuses-more announces="));
	}
	fclose(log);
	return told;
}

static void await_told(int all)
{
	int64_t deadline_ms = real_now_ms() + DIAL_PATIENCE_MS;
	int     told, more;

	while ((told = count_refused(&more)), told + more != all) {
		cr_assert_lt(real_now_ms(), deadline_ms, "%d lines and %d more, not %d", told, more, all);
		real_sleep_ms(10);
	}
}

/* From ever new addresses, each of which stays below its limits. */
static void flood(int first)
{
	for (int i = 0; i < FLOOD; i++) {
		char              from[32];
		static const char bad[] = "{\"identity\":\"" LOBBY_IDENTITY "\",\"game\":\"none\"}";

		snprintf(from, sizeof(from), "203.0.%d.%d", 1 + first, i);
		AUTO(rest_freep) struct http_result r = master_post(s, from, "/v1/host", bad);

		cr_expect_eq(r.status, 400, "%s", r.body);
	}
}

Test(master_limits, a_flood_of_refused_announces_fills_no_log)
{
	int64_t began_ms = real_now_ms();
	int     more, told, seconds;

	flood(0);
	server_advance(s, 1000);
	flood(1);
	seconds = 3 + (int)((real_now_ms() - began_ms) / 1000);
	server_advance(s, 30000);
	await_told(2 * FLOOD);
	told = count_refused(&more);
	cr_expect_leq(told, 20 * seconds, "%d lines in %d s", told, seconds);
	cr_expect_geq(told, 40);
	cr_expect_eq(server_metric(s, "coopd_lobby_announces_total", "result=\"refused\""), 2 * FLOOD);
}
