/*
 * Lobbies as operators see and remove them, and what hosts and joiners notice.
 */
#include "base/auto.h"
#include "support/admin_client.h"
#include "support/lobby_client.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define HOST    "203.0.113.7"
#define LOBBIES "/admin/v1/lobbies"

static struct server *s;

static void start(void)
{
	s = server_start((const char *[]){ "limits.lobby_creates=1000", "limits.lobby_per_address=100", NULL });
}

static void stop(void)
{
	server_finish(s);
	s = NULL;
}

TestSuite(lobby_admin, .init = start, .fini = stop, .timeout = 120);

static void expect_error(const char *method, const char *where, int status, const char *code)
{
	AUTO(rest_freep) struct http_result r = admin_ask(s, method, where, NULL);

	admin_expect(&r, status, code);
}

static struct http_result expect_done(const char *method, const char *where)
{
	struct http_result r = admin_ask(s, method, where, NULL);

	admin_expect(&r, 200, NULL);
	return r;
}

static void expect_text(const struct http_result *r, const char *way, const char *want)
{
	char text[300];

	cr_expect_str_eq(rest_text(r, way, text, sizeof(text)), want, "%s", way);
}

static size_t count(const char *query)
{
	char where[200];

	snprintf(where, sizeof(where), LOBBIES "%s", query);
	AUTO(rest_freep) struct http_result r = expect_done("GET", where);
	return rest_count(&r, "items");
}

static const char *path(const struct master_host *h)
{
	static char text[100];

	snprintf(text, sizeof(text), LOBBIES "/%s", h->id);
	return text;
}

/* --- Looking --- */

Test(lobby_admin, a_lobby_is_shown_as_it_is)
{
	struct master_host h;

	master_open(&h, s, HOST, J("'name':'Island','world':'w1','version':'1.2','players_max':4,'locked':true"));
	master_beat(&h, s, J("'players_cur':3"));

	AUTO(rest_freep) struct http_result r = expect_done("GET", LOBBIES);

	cr_assert_eq(rest_count(&r, "items"), 1);
	expect_text(&r, "items.0.id", h.id);
	expect_text(&r, "items.0.name", "Island");
	expect_text(&r, "items.0.world", "w1");
	expect_text(&r, "items.0.game", LOBBY_GAME);
	expect_text(&r, "items.0.version", "1.2");
	cr_expect_eq(rest_int(&r, "items.0.players"), 3);
	cr_expect_eq(rest_int(&r, "items.0.players_max"), 4);
	cr_expect(rest_bool(&r, "items.0.locked"));
	cr_expect(rest_bool(&r, "items.0.listed"));
	expect_text(&r, "items.0.kind", "brokered");
	cr_expect_not(rest_bool(&r, "items.0.proved"));
	expect_text(&r, "items.0.address", HOST);
	cr_expect(rest_has(&r, "items.0.made_at"));
	cr_expect(rest_has(&r, "items.0.beat_at"));
	cr_expect_null(strstr(r.body, h.session), "no secret of the host's");
	cr_expect_null(strstr(r.body, h.token));
}

Test(lobby_admin, a_hidden_one_is_shown_too)
{
	struct master_host h;

	master_open(&h, s, HOST, J("'conn':'direct','direct_port':7777,'listed':false"));
	AUTO(rest_freep) struct http_result r = expect_done("GET", LOBBIES);

	cr_expect_not(rest_bool(&r, "items.0.listed"));
	expect_text(&r, "items.0.kind", "direct");
}

/* It is in memory only. */
Test(lobby_admin, the_address_is_that_of_the_last_beat_and_not_known_after_a_restart)
{
	struct master_host h;

	master_open(&h, s, HOST, "");
	strcpy(h.from, "198.51.100.9");
	cr_expect_eq(master_beat(&h, s, ""), 200);
	{
		AUTO(rest_freep) struct http_result r = expect_done("GET", LOBBIES);
		expect_text(&r, "items.0.address", "198.51.100.9");
	}
	server_restart(s);
	{
		AUTO(rest_freep) struct http_result r = expect_done("GET", LOBBIES);
		cr_assert_eq(rest_count(&r, "items"), 1);
		cr_expect_not_null(strstr(r.body, "\"address\":null"), "%s", r.body);
	}
	strcpy(h.from, "2001:db8::7");
	cr_expect_eq(master_beat(&h, s, ""), 200);
	AUTO(rest_freep) struct http_result r = expect_done("GET", LOBBIES);
	expect_text(&r, "items.0.address", "2001:db8::7");
}

Test(lobby_admin, filters_find_names_beginnings_of_ids_and_games)
{
	struct master_host h, other;
	char               q[60];

	master_open(&h, s, HOST, J("'name':'Zeta Island'"));
	master_open(&other, s, HOST, J("'name':'beach','game':'0.8.2'"));
	cr_expect_eq(count(""), 2);
	cr_expect_eq(count("?q=ISLAND"), 1);
	cr_expect_eq(count("?q=zeta+i"), 1);
	cr_expect_eq(count("?q=zzz"), 0);
	snprintf(q, sizeof(q), "?q=%.12s", h.id);
	cr_expect_eq(count(q), 1);
	cr_expect_eq(count("?game=0.8.2"), 1);
	cr_expect_eq(count("?game=0.8"), 0);
	cr_expect_eq(count("?game=" LOBBY_GAME "&q=beach"), 0);
}

/* By id, so that beats and newcomers between two pages move nothing that was there. */
Test(lobby_admin, pages_show_each_lobby_once)
{
	struct master_host h[7];
	char               next[100] = "", where[200] = LOBBIES "?limit=3", last[40] = "", id[40];
	size_t             total = 0;

	for (size_t i = 0; i < COUNT_OF(h); i++)
		master_open(&h[i], s, HOST, "");
	for (;;) {
		AUTO(rest_freep) struct http_result r = expect_done("GET", where);

		for (size_t i = 0; i < rest_count(&r, "items"); i++, total++) {
			char way[30];

			snprintf(way, sizeof(way), "items.%zu.id", i);
			rest_text(&r, way, id, sizeof(id));
			cr_expect_gt(strcmp(id, last), 0);
			strcpy(last, id);
		}
		master_beat(&h[total % COUNT_OF(h)], s, "");
		if (strstr(r.body, "\"next\":null"))
			break;
		snprintf(where, sizeof(where), LOBBIES "?limit=3&cursor=%s", rest_text(&r, "next", next, sizeof(next)));
	}
	cr_expect_eq(total, COUNT_OF(h));
}

/* More than are copied under the lock at once. */
Test(lobby_admin, many_are_listed_and_filtered)
{
	struct master_host h;
	char               members[60];

	server_set(s, "limits.lobby_per_address=1000");
	server_restart(s);
	for (int i = 0; i < 150; i++) {
		snprintf(members, sizeof(members), "'name':'lobby %d'", i);
		master_open(&h, s, HOST, J(members));
	}
	cr_expect_eq(count(""), 100);
	cr_expect_eq(count("?limit=1000"), 150);
	cr_expect_eq(count("?q=lobby+14"), 11);
	cr_expect_eq(count("?q=LOBBY&limit=150"), 150);
}

/* --- Removing --- */

Test(lobby_admin, a_removed_lobby_is_gone_for_everybody_at_once_and_for_good)
{
	struct master_host h, other;

	/* The list is not made anew more often than once a second, and was just now. */
	master_open(&h, s, HOST, J("'name':'bad words'"));
	master_open(&other, s, HOST, "");
	server_advance(s, 2000);
	cr_assert(master_is_listed(s, h.id));

	AUTO(rest_freep) struct http_result r = expect_done("DELETE", path(&h));

	expect_text(&r, "name", "bad words");
	cr_expect_not(master_is_listed(s, h.id));
	cr_expect(master_is_listed(s, other.id));
	cr_expect_eq(master_join_status(s, "198.51.100.1", h.id), 404);
	cr_expect_eq(master_beat(&h, s, ""), 403, "as a session that nobody knows");
	cr_expect_eq(master_show(&h, s, "true"), 403);
	cr_expect_eq(master_leave(&h, s), 403);
	cr_expect_eq(master_health(s), 1);
	cr_expect_eq(server_metric(s, "coopd_lobby_ended_total", "reason=\"removed\""), 1);
	expect_error("DELETE", path(&h), 404, "not_found");
	server_restart(s);
	cr_expect_eq(count(""), 1);
	cr_expect_not(master_is_listed(s, h.id));
}

Test(lobby_admin, what_was_answered_outlives_a_crash)
{
	struct master_host h;

	master_open(&h, s, HOST, "");
	AUTO(rest_freep) struct http_result r = expect_done("DELETE", path(&h));

	cr_expect(rest_has(&r, "name"));
	server_kill(s);
	server_restart(s);
	cr_expect_eq(count(""), 0);
	cr_expect_eq(master_beat(&h, s, ""), 403);
}

/* A client that has the list gets a new one, and not "nothing has changed". */
Test(lobby_admin, the_etag_of_the_list_is_another_one)
{
	struct master_host h;
	char               etag[60], fields[120];

	master_open(&h, s, HOST, "");
	server_advance(s, 2000);
	AUTO(rest_freep) struct http_result before = master_get(s, "/v1/lobbies", "");

	snprintf(fields, sizeof(fields), "If-None-Match: %s\r\n",
	         http_result_header(&before, "ETag", etag, sizeof(etag)));
	AUTO(rest_freep) struct http_result same = master_get(s, "/v1/lobbies", fields);
	cr_expect_eq(same.status, 304);
	AUTO(rest_freep) struct http_result r = expect_done("DELETE", path(&h));
	cr_expect(rest_has(&r, "name"));
	AUTO(rest_freep) struct http_result after = master_get(s, "/v1/lobbies", fields);
	cr_expect_eq(after.status, 200);
	cr_expect_eq(rest_count(&after, "lobbies"), 0);
}

Test(lobby_admin, a_dry_run_says_the_same_and_does_nothing)
{
	struct master_host h;
	char               where[120];

	master_open(&h, s, HOST, J("'name':'island'"));
	snprintf(where, sizeof(where), "%s?dry_run=true", path(&h));
	AUTO(rest_freep) struct http_result r = expect_done("DELETE", where);

	expect_text(&r, "name", "island");
	cr_expect(rest_bool(&r, "dry_run"));
	cr_expect_eq(master_beat(&h, s, ""), 200);
	cr_expect_eq(count(""), 1);
	expect_error("DELETE", LOBBIES "/0011223344556677?dry_run=true", 404, "not_found");
}

Test(lobby_admin, what_cannot_be_is_refused)
{
	static const struct {
		const char *method, *path;
		int         status;
		const char *code;
	} rows[] = {
		{ "DELETE", LOBBIES "/0011223344556677", 404, "not_found" },
		{ "DELETE", LOBBIES "/001122334455667", 404, "not_found" },
		{ "DELETE", LOBBIES "/001122334455667A", 404, "not_found" },
		{ "GET", LOBBIES "/0011223344556677", 405, "method" },
		{ "DELETE", LOBBIES, 405, "method" },
		{ "GET", LOBBIES "?world=x", 400, "malformed" },
		{ "GET", LOBBIES "?q=%ff", 400, "malformed" },
		{ "GET", LOBBIES "?limit=1001", 422, "invalid" },
		{ "GET", LOBBIES "?q=a&q=b", 400, "malformed" },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		expect_error(rows[i].method, rows[i].path, rows[i].status, rows[i].code);
}

Test(lobby_admin, a_part_that_is_off_says_so)
{
	server_set(s, "lobby.enable=no");
	server_restart(s);
	expect_error("GET", LOBBIES, 404, "part_off");
}
