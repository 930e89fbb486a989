/*
 * POST /v1/heartbeat, /v1/leave and /v1/visibility.
 */
#include "base/auto.h"
#include "support/await.h"
#include "support/lobby_client.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOST "203.0.113.7"

static struct server *s;

static void start(void)
{
	s = server_start((const char *[]){ LOBBY_PROMPT, "turn.uri=turn:turn.example:3478", NULL });
}

static void stop(void)
{
	server_finish(s);
}

TestSuite(master_beat, .init = start, .fini = stop);

#define WAY(list, h, member) master_way(&(list), (h).id, member)

static void expect_int(const struct master_host *h, const char *member, int64_t value)
{
	AUTO(rest_freep) struct http_result list = master_list(s);
	char                                way[100];

	strcpy(way, WAY(list, *h, member));
	cr_expect_eq(rest_int(&list, way), value, "%s is not %lld in %s", member, (long long)value, list.body);
}

static void expect_link(const struct master_host *h, const char *link)
{
	AUTO(rest_freep) struct http_result list = master_list(s);
	char                                way[100], text[32];

	strcpy(way, WAY(list, *h, "link"));
	cr_expect_str_eq(rest_text(&list, way, text, sizeof(text)), link);
}

/* --- Heartbeat --- */

Test(master_beat, a_beat_is_answered_ok_alone)
{
	struct master_host h;

	master_open(&h, s, HOST, "");
	AUTO(rest_freep) struct http_result r = master_beat_asked(&h, s, J("'players_cur':2"));

	cr_expect_eq(r.status, 200);
	cr_expect_str_eq(r.body, "{\"ok\":true}");
}

/* Which of them it is nobody learns, and clients look for these words. */
Test(master_beat, a_missing_a_malformed_an_unknown_and_a_wrong_credential_are_answered_alike)
{
	static const char *const paths[] = { "/v1/heartbeat", "/v1/leave" };
	struct master_host       h, other;
	char                     bodies[12][256];
	size_t                   count = 0;

	master_open(&h, s, HOST, "");
	master_open(&other, s, HOST, "");
#define BODY(...) snprintf(bodies[count++], sizeof(bodies[0]), __VA_ARGS__)
	BODY("{}");
	BODY("{'sessionId':'%s'}", h.session);
	BODY("{'token':'%s'}", h.token);
	BODY("{'sessionId':'%s','token':1}", h.session);
	BODY("{'sessionId':null,'token':'%s'}", h.token);
	BODY("{'sessionId':['%s'],'token':'%s'}", h.session, h.token);
	BODY("{'sessionId':'%s','token':'%s'}", h.session, other.token);
	BODY("{'sessionId':'%s','token':'%.31s'}", h.session, h.token);
	BODY("{'sessionId':'%s','token':'%sA'}", h.session, h.token);
	BODY("{'sessionId':'%s','token':'%s'}", h.id, h.token);
	BODY("{'lobbyId':'%s','token':'%s'}", h.id, h.token);
	BODY("{'sessionId':'00112233445566778899aabbccddeeff','token':'%s'}", h.token);
	for (size_t p = 0; p < COUNT_OF(paths); p++) {
		for (size_t i = 0; i < count; i++) {
			AUTO(rest_freep) struct http_result r = master_post(s, HOST, paths[p], J(bodies[i]));

			master_expect_error(&r, 403, "unknown session or bad token");
		}
	}
	cr_expect_eq(master_beat(&h, s, ""), 200, "the right ones are as good as before");
}

Test(master_beat, where_it_comes_from_does_not_matter)
{
	struct master_host h;

	master_open(&h, s, HOST, "");
	strcpy(h.from, "198.51.100.1");
	cr_expect_eq(master_beat(&h, s, ""), 200);
}

Test(master_beat, players_are_clamped_and_kept_when_not_said)
{
	struct master_host h;

	master_open(&h, s, HOST, J("'players_max':3"));
	expect_int(&h, "players_cur", 1);
	master_beat(&h, s, J("'players_cur':2"));
	expect_int(&h, "players_cur", 2);
	master_beat(&h, s, "");
	expect_int(&h, "players_cur", 2);
	master_beat(&h, s, J("'players_cur':99"));
	expect_int(&h, "players_cur", 3);
	master_beat(&h, s, J("'players_cur':-9223372036854775808"));
	expect_int(&h, "players_cur", 0);
	master_beat(&h, s, J("'players_cur':'2'"));
	expect_int(&h, "players_cur", 2);
}

Test(master_beat, listed_hides_and_shows_and_null_keeps)
{
	struct master_host h;

	master_open(&h, s, HOST, "");
	master_beat(&h, s, J("'listed':false"));
	cr_expect(!master_is_listed(s, h.id));
	master_beat(&h, s, J("'listed':null"));
	cr_expect(!master_is_listed(s, h.id));
	master_beat(&h, s, "");
	cr_expect(!master_is_listed(s, h.id));
	master_beat(&h, s, J("'listed':1"));
	cr_expect(master_is_listed(s, h.id));
}

Test(master_beat, links_are_clamped_shown_and_kept)
{
	struct master_host h, direct;

	master_open(&h, s, HOST, J("'players_max':4"));
	expect_link(&h, "");
	master_beat(&h, s, J("'links':{'relayed':1,'direct':2,'lan':99}"));
	expect_link(&h, "relay");
	expect_int(&h, "links.lan", 4);
	master_beat(&h, s, "");
	expect_int(&h, "links.direct", 2);
	master_beat(&h, s, J("'links':[1]"));
	expect_int(&h, "links.direct", 2);
	master_beat(&h, s, J("'links':{'direct':2,'lan':1}"));
	expect_link(&h, "direct");
	expect_int(&h, "links.relayed", 0);
	master_beat(&h, s, J("'links':{'lan':1}"));
	expect_link(&h, "lan");
	master_beat(&h, s, J("'links':{}"));
	expect_link(&h, "");

	master_open(&direct, s, HOST, J("'conn':'direct','direct_port':7777"));
	master_beat(&direct, s, J("'links':{'relayed':1}"));
	expect_link(&direct, "direct");
}

/* --- Renewal --- */

/* The credential that a beat with this one in hand gets; false: none. */
static bool renew(const struct master_host *h, const char *has, char user[128], int64_t *ttl_s)
{
	char members[256];

	snprintf(members, sizeof(members), "'turn_user':'%s'", has);
	AUTO(rest_freep) struct http_result r = master_beat_asked(h, s, J(members));

	cr_expect_eq(r.status, 200);
	cr_expect(rest_bool(&r, "ok"));
	if (!rest_has(&r, "turn"))
		return false;
	rest_text(&r, "turn.user", user, 128);
	*ttl_s = rest_int(&r, "turn.ttl");
	cr_expect_eq(rest_count(&r, "turn.uris"), 2);
	return true;
}

/* Announces; the user of the credential that comes with it. */
static void open_with_turn(struct master_host *h, char user[128])
{
	AUTO(rest_freep) struct http_result r = master_post(s, HOST, "/v1/host", master_announce_body(""));

	*h = (struct master_host){ .from = HOST };
	rest_text(&r, "sessionId", h->session, sizeof(h->session));
	rest_text(&r, "token", h->token, sizeof(h->token));
	rest_text(&r, "lobbyId", h->id, sizeof(h->id));
	rest_text(&r, "turn.user", user, 128);
}

Test(master_beat, a_credential_is_renewed_at_half_its_life)
{
	struct master_host h;
	char               first[128], user[128] = "";
	int64_t            ttl_s = 0;

	open_with_turn(&h, first);
	cr_expect(!renew(&h, first, user, &ttl_s));
	server_advance(s, 55000);
	cr_expect(!renew(&h, first, user, &ttl_s), "half its life is not over");
	server_advance(s, 5001);
	cr_expect(renew(&h, first, user, &ttl_s));
	cr_expect_str_neq(user, first);
	cr_expect_eq(ttl_s, 120);
	cr_expect(!renew(&h, user, user, &ttl_s), "it is new");
}

Test(master_beat, who_has_another_credential_is_told_the_last_one_with_what_is_left)
{
	struct master_host h;
	char               first[128], user[128] = "";
	int64_t            ttl_s = 0;

	open_with_turn(&h, first);
	server_advance(s, 30000);
	cr_expect(renew(&h, "1:other", user, &ttl_s));
	cr_expect_str_eq(user, first);
	cr_expect(ttl_s <= 90 && ttl_s > 70, "%lld", (long long)ttl_s);
}

Test(master_beat, without_turn_user_and_for_direct_hosts_nothing_is_renewed)
{
	struct master_host direct, h;
	char               first[128], user[128];
	int64_t            ttl_s = 0;

	open_with_turn(&h, first);
	master_open(&direct, s, HOST, J("'conn':'direct','direct_port':7777"));
	server_advance(s, 70000);
	cr_expect(!renew(&h, "", user, &ttl_s));
	cr_expect(!renew(&direct, "1:other", user, &ttl_s));
	AUTO(rest_freep) struct http_result odd = master_beat_asked(&h, s, J("'turn_user':1"));

	cr_expect_str_eq(odd.body, "{\"ok\":true}");
}

/* The label is that of whoever asks now: a host may have moved. */
Test(master_beat, a_new_credential_is_for_the_address_that_asks)
{
	struct master_host h;
	char               first[128], user[128] = "";
	int64_t            ttl_s = 0;

	open_with_turn(&h, first);
	server_advance(s, 61000);
	strcpy(h.from, "198.51.100.9");
	cr_expect(renew(&h, first, user, &ttl_s));
	cr_expect(strstr(user, ":198.51.100.9"), "%s", user);
}

Test(master_beat, after_a_restart_a_host_with_turn_user_gets_a_new_one)
{
	struct master_host h;
	char               first[128], user[128] = "";
	int64_t            ttl_s = 0;

	open_with_turn(&h, first);
	server_restart(s);
	cr_expect(renew(&h, first, user, &ttl_s));
	cr_expect_eq(ttl_s, 120);
}

/* --- Leave --- */

Test(master_beat, a_leave_is_at_once_and_once)
{
	struct master_host h;

	master_open(&h, s, HOST, "");
	cr_expect_eq(master_leave(&h, s), 200);
	cr_expect(!master_is_listed(s, h.id));
	cr_expect_eq(master_health(s), 0);
	cr_expect_eq(master_join_status(s, HOST, h.id), 404);
	cr_expect_eq(master_leave(&h, s), 403);
	cr_expect_eq(master_beat(&h, s, ""), 403);
}

Test(master_beat, who_left_is_gone_after_a_kill_too)
{
	struct master_host h, stays;

	master_open(&h, s, HOST, "");
	master_open(&stays, s, HOST, "");
	cr_expect_eq(master_leave(&h, s), 200);
	server_kill(s);
	server_restart(s);
	cr_expect_eq(master_health(s), 1);
	cr_expect_eq(master_beat(&h, s, ""), 403);
	cr_expect_eq(master_beat(&stays, s, ""), 200);
}

/* --- Visibility --- */

Test(master_beat, visibility_hides_and_shows_and_is_no_beat)
{
	struct master_host h;

	master_open(&h, s, HOST, "");
	server_advance(s, 20000);
	cr_expect_eq(master_show(&h, s, "false"), 200);
	cr_expect(!master_is_listed(s, h.id));
	cr_expect_eq(master_join_status(s, HOST, h.id), 200, "who knows it can join it");
	cr_expect_eq(master_show(&h, s, "true"), 200);
	expect_int(&h, "age", 20);
	cr_expect_eq(master_show(&h, s, "0"), 200);
	cr_expect(!master_is_listed(s, h.id));
}

Test(master_beat, visibility_without_listed_shows)
{
	struct master_host h;
	char               body[128];

	master_open(&h, s, HOST, J("'listed':false"));
	snprintf(body, sizeof(body), "{'lobbyId':'%s','token':'%s'}", h.id, h.token);
	AUTO(rest_freep) struct http_result r = master_post(s, HOST, "/v1/visibility", J(body));

	cr_expect_eq(r.status, 200);
	cr_expect_str_eq(r.body, "{\"ok\":true}");
	cr_expect(master_is_listed(s, h.id));
}

Test(master_beat, visibility_needs_both_and_the_right_ones)
{
	struct master_host h;
	char               bodies[8][128];
	size_t             count = 0;

	master_open(&h, s, HOST, "");
	BODY("{}");
	BODY("{'lobbyId':'%s'}", h.id);
	BODY("{'token':'%s'}", h.token);
	BODY("{'lobbyId':1,'token':'%s'}", h.token);
	size_t required = count;

	BODY("{'lobbyId':'%s','token':'%s'}", h.session, h.token);
	BODY("{'lobbyId':'%s','token':'x'}", h.id);
	BODY("{'lobbyId':'0011223344556677','token':'%s'}", h.token);
	BODY("{'lobbyId':'%s','token':'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA','listed':false}", h.id);
	for (size_t i = 0; i < count; i++) {
		AUTO(rest_freep) struct http_result r = master_post(s, HOST, "/v1/visibility", J(bodies[i]));

		if (i < required)
			master_expect_error(&r, 400, "lobbyId + token required");
		else
			master_expect_error(&r, 403, "unknown lobby or bad token");
	}
	cr_expect(master_is_listed(s, h.id));
}

Test(master_beat, what_becomes_of_a_lobby_is_in_the_log)
{
	struct master_host h;
	char               first[128], user[128], line[64];
	int64_t            ttl_s = 0;

	open_with_turn(&h, first);
#define EXPECT_LINE(verb)                                             \
	do {                                                          \
		snprintf(line, sizeof(line), verb " lobby=%s", h.id); \
		await_log(s, line);                                   \
	} while (0)
	master_show(&h, s, "false");
	EXPECT_LINE("hidden");
	master_beat(&h, s, J("'listed':true"));
	EXPECT_LINE("shown");
	master_join_status(s, HOST, h.id);
	EXPECT_LINE("joins");
	server_advance(s, 61000);
	renew(&h, first, user, &ttl_s);
	EXPECT_LINE("renews");
	master_leave(&h, s);
	EXPECT_LINE("closes");
	master_open(&h, s, HOST, "");
	server_advance(s, 91000);
	server_advance(s, 31000);
	EXPECT_LINE("expires");
}
