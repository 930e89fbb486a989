/*
 * The audit trail of a whole server.
 */
#include "base/auto.h"
#include "support/admin_client.h"
#include "support/admin_routes.h"

#include <criterion/criterion.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ANSWER AUTO(rest_freep) struct http_result
#define DAY_MS INT64_C(86400000)

static struct server *s;

static void start(void)
{
	s = server_start(NULL);
}

static void stop(void)
{
	server_finish(s);
}

TestSuite(admin_audit, .init = start, .fini = stop);

static const char *text_of(const struct http_result *r, const char *way)
{
	static char text[1100];

	return rest_text(r, way, text, sizeof(text));
}

Test(admin_audit, says_who_from_where_did_what_to_what_and_how_it_ended)
{
	char token[ADMIN_TOKEN_TEXT_BYTES], who[60];

	admin_make_token(token, s, "operator");
	ANSWER did = admin_ask_tcp(s, token, "DELETE", "/admin/v1/tokens/77", NULL);
	admin_expect(&did, 404, "not_found");
	ANSWER r = admin_get(s, "/admin/v1/audit");
	cr_assert_eq(rest_count(&r, "items"), 2);
	cr_expect_str_eq(text_of(&r, "items.0.who"), "token 1 (of the tests)");
	cr_expect_str_eq(text_of(&r, "items.0.via"), "tcp");
	cr_expect_str_eq(text_of(&r, "items.0.address"), "127.0.0.1");
	cr_expect_str_eq(text_of(&r, "items.0.action"), "token.revoke");
	cr_expect_str_eq(text_of(&r, "items.0.target"), "tokens/77");
	cr_expect_str_eq(text_of(&r, "items.0.detail"), "");
	cr_expect_str_eq(text_of(&r, "items.0.result"), "not_found");
	cr_expect_eq(strlen(text_of(&r, "items.0.ended_at")), 20);

	if (geteuid() == 0)
		snprintf(who, sizeof(who), "root");
	else
		snprintf(who, sizeof(who), "uid %u", (unsigned)geteuid());
	cr_expect_str_eq(text_of(&r, "items.1.who"), who);
	cr_expect_str_eq(text_of(&r, "items.1.via"), "unix");
	cr_expect_str_eq(text_of(&r, "items.1.address"), "unix");
	cr_expect_str_eq(text_of(&r, "items.1.target"), "tokens/1");
	cr_expect_str_eq(text_of(&r, "items.1.detail"), "{\"name\":\"of the tests\",\"role\":\"operator\"}");
	cr_expect_str_eq(text_of(&r, "items.1.result"), "ok");
}

Test(admin_audit, what_was_refused_before_it_began_is_not_in_it)
{
	ANSWER typo   = admin_ask(s, "POST", "/admin/v1/tokens?nam=1", "{}");
	ANSWER broken = admin_ask(s, "POST", "/admin/v1/tokens", "{");
	ANSWER dry    = admin_ask(s, "POST", "/admin/v1/login?dry_run=true", "{}");

	admin_expect(&typo, 400, "malformed");
	admin_expect(&broken, 400, "malformed");
	admin_expect(&dry, 200, NULL);
	cr_expect_eq(admin_audited(s, NULL, NULL, NULL), 0);
}

Test(admin_audit, what_was_typed_is_shown_clean)
{
	ANSWER did = admin_ask(s, "POST", "/admin/v1/tokens",
	                       "{\"name\":\"\xe2\x80\x8b<b>=1+1\xc2\x9b\",\"role\":\"viewer\"}");

	admin_expect(&did, 201, NULL);
	ANSWER r = admin_get(s, "/admin/v1/audit");
	cr_expect_null(strstr(r.body, "\xe2\x80\x8b"), "%s", r.body);
	cr_expect_null(strstr(r.body, "\xc2\x9b"), "%s", r.body);
	ANSWER list = admin_get(s, "/admin/v1/tokens");
	cr_expect_null(strstr(list.body, "\xe2\x80\x8b"), "%s", list.body);
}

static size_t count(const char *query)
{
	char path[300];

	snprintf(path, sizeof(path), "/admin/v1/audit?%s", query);
	ANSWER r = admin_get(s, path);
	admin_expect(&r, 200, NULL);
	return rest_count(&r, "items");
}

Test(admin_audit, is_filtered)
{
	char token[ADMIN_TOKEN_TEXT_BYTES], at[40], query[200];

	admin_make_token(token, s, "operator");
	ANSWER link = admin_ask_tcp(s, token, "POST", "/admin/v1/login", "{}");
	ANSWER gone = admin_ask_tcp(s, token, "DELETE", "/admin/v1/tokens/9", NULL);
	admin_expect(&link, 200, NULL);
	admin_expect(&gone, 404, "not_found");
	cr_expect_eq(count(""), 3);
	cr_expect_eq(count("action=token"), 2);
	cr_expect_eq(count("action=token.add"), 1);
	cr_expect_eq(count("action=tok"), 0);
	cr_expect_eq(count("action=%2a"), 0);
	cr_expect_eq(count("who=token+1"), 2);
	cr_expect_eq(count("who=token%201%20(of"), 2);
	cr_expect_eq(count("target=tokens%2F9"), 1);
	cr_expect_eq(count("since=2000-01-01&until=2100-01-01T00:00:00Z"), 3);
	cr_expect_eq(count("since=2100-01-01"), 0);
	cr_expect_eq(count("until=2000-01-01"), 0);
	ANSWER r = admin_get(s, "/admin/v1/audit?limit=1");
	snprintf(query, sizeof(query), "until=%s", rest_text(&r, "items.0.at", at, sizeof(at)));
	cr_expect_geq(count(query), 0);
	static const char *const bad[] = { "since=yesterday", "until=2026-12-01T09:30:00", "since=2026-13-01",
		                           "since=12" };
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		char path[200];
		snprintf(path, sizeof(path), "/admin/v1/audit?%s", bad[i]);
		ANSWER b = admin_get(s, path);
		admin_expect(&b, 422, "invalid");
	}
	ANSWER code = admin_get(s, "/admin/v1/audit?who=%ff");
	admin_expect(&code, 400, "malformed");
}

Test(admin_audit, goes_on_behind_the_last_one_shown_also_when_more_comes)
{
	char    next[100], path[200];
	int64_t last;

	for (int i = 0; i < 5; i++) {
		ANSWER did = admin_ask(s, "POST", "/admin/v1/login", "{}");
		admin_expect(&did, 200, NULL);
	}
	ANSWER first = admin_get(s, "/admin/v1/audit?limit=2");
	last         = rest_int(&first, "items.1.id");
	ANSWER more  = admin_ask(s, "POST", "/admin/v1/login", "{}");
	admin_expect(&more, 200, NULL);
	snprintf(path, sizeof(path), "/admin/v1/audit?limit=3&cursor=%s",
	         rest_text(&first, "next", next, sizeof(next)));
	ANSWER second = admin_get(s, path);
	cr_expect_eq(rest_count(&second, "items"), 3);
	cr_expect_eq(rest_int(&second, "items.0.id"), last - 1);
	cr_expect_not_null(strstr(second.body, "\"next\":null"));
}

/* --- Nobody changes it --- */

Test(admin_audit, no_route_changes_it)
{
	static const char *const methods[] = { "PUT", "POST", "DELETE", "PATCH" };
	struct api              *api       = admin_routes();
	const struct api_route  *r;

	for (size_t i = 0; (r = api_route_at(api, i)); i++)
		cr_expect(!strstr(r->path, "audit") || (strcmp(r->method, "GET") == 0 && !r->action), "%s", r->path);
	api_free(api);
	for (size_t i = 0; i < COUNT_OF(methods); i++) {
		ANSWER all = admin_ask(s, methods[i], "/admin/v1/audit", NULL);
		admin_expect(&all, 405, "method");
		ANSWER one = admin_ask(s, methods[i], "/admin/v1/audit/1", NULL);
		admin_expect(&one, 404, "not_found");
	}
}

/* --- How long it is kept --- */

/* So many rows that old, as an earlier run may have left them. */
static void plant(int rows, const char *age)
{
	sqlite3 *db;
	char     path[200], sql[500], *why = NULL;

	snprintf(path, sizeof(path), "%s/coop.db", s->data);
	cr_assert_eq(sqlite3_open(path, &db), SQLITE_OK);
	sqlite3_busy_timeout(db, 10000);
	snprintf(sql, sizeof(sql),
	         "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) "
	         "INSERT INTO audit (at_ms, who, via, address, action, target, detail, result) "
	         "SELECT (unixepoch('now', '%s')) * 1000, 'root', 'unix', 'unix', 'a.b', '', '', 'ok' FROM n",
	         rows, age);
	cr_assert_eq(sqlite3_exec(db, sql, NULL, NULL, &why), SQLITE_OK, "%s", why);
	sqlite3_close(db);
}

static size_t planted(void)
{
	return admin_audited(s, "a.b", NULL, NULL);
}

Test(admin_audit, what_is_older_than_its_days_goes_within_the_hour)
{
	plant(3, "-91 days");
	plant(2, "-89 days");
	cr_expect_eq(planted(), 5);
	server_advance(s, 3600000);
	for (int i = 0; planted() != 2 && i < 300; i++)
		usleep(50000);
	cr_expect_eq(planted(), 2);
}

Test(admin_audit, a_clock_that_jumped_makes_nothing_old)
{
	plant(4, "-1 days");
	server_advance_wall(s, 200 * DAY_MS);
	server_advance(s, 70000); /* the store looks at the clock once a minute */
	ANSWER a = admin_ask(s, "POST", "/admin/v1/login", "{}");
	server_advance(s, 3600000);
	ANSWER b = admin_ask(s, "POST", "/admin/v1/login", "{}"); /* behind the thinning, in the same queue */
	admin_expect(&a, 200, NULL);
	admin_expect(&b, 200, NULL);
	cr_expect_eq(planted(), 4);
}

static void start_few(void)
{
	static const char *const sets[] = { "limits.admin_audit_rows=100", NULL };

	s = server_start(sets);
}

TestSuite(admin_audit_few, .init = start_few, .fini = stop);

Test(admin_audit_few, no_more_rows_are_kept_than_may_be)
{
	plant(399, "-1 days");
	ANSWER did = admin_ask(s, "POST", "/admin/v1/login", "{}"); /* the 400th */
	admin_expect(&did, 200, NULL);
	cr_expect_eq(planted(), 99);
	cr_expect_eq(admin_audited(s, "login.link", NULL, "ok"), 1);
}

/* Somebody else holds the database for longer than an operator waits. */
Test(admin_audit, what_was_given_up_is_not_done_later_and_leaves_no_row)
{
	char     path[SERVER_PATH_BYTES + 20];
	sqlite3 *db;

	snprintf(path, sizeof(path), "%s/coop.db", s->data);
	cr_assert_eq(sqlite3_open(path, &db), SQLITE_OK);
	cr_assert_eq(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	ANSWER late = admin_ask(s, "POST", "/admin/v1/drain", "{\"deadline_s\":0}");
	admin_expect(&late, 503, "store_busy");
	cr_assert_eq(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);

	ANSWER next = admin_ask(s, "DELETE", "/admin/v1/drain", NULL);
	admin_expect(&next, 200, NULL);
	ANSWER r = admin_get(s, "/admin/v1/audit");
	cr_expect_eq(rest_count(&r, "items"), 1, "only of what was done: %s", r.body);
	cr_expect_str_eq(text_of(&r, "items.0.action"), "server.undrain");
}

Test(admin_pace, one_token_acts_so_often_and_not_once_more)
{
	char mine[ADMIN_TOKEN_TEXT_BYTES], other[ADMIN_TOKEN_TEXT_BYTES];

	s = server_start((const char *[]){ "limits.admin_action_burst=3", "limits.admin_action_rate=1", NULL });
	admin_make_token(mine, s, "operator");
	admin_make_token(other, s, "operator");
	for (int i = 0; i < 3; i++) {
		ANSWER r = admin_ask_tcp(s, mine, "DELETE", "/admin/v1/drain", NULL);
		admin_expect(&r, 200, NULL);
	}
	ANSWER more = admin_ask_tcp(s, mine, "DELETE", "/admin/v1/drain", NULL);
	admin_expect(&more, 429, "rate");
	ANSWER look = admin_ask_tcp(s, mine, "GET", "/admin/v1/drain", NULL);
	admin_expect(&look, 200, NULL);
	ANSWER theirs = admin_ask_tcp(s, other, "DELETE", "/admin/v1/drain", NULL);
	admin_expect(&theirs, 200, NULL);
	ANSWER socket = admin_ask(s, "DELETE", "/admin/v1/drain", NULL);
	admin_expect(&socket, 200, NULL);
	server_advance(s, 1500);
	ANSWER again = admin_ask_tcp(s, mine, "DELETE", "/admin/v1/drain", NULL);
	admin_expect(&again, 200, NULL);
	server_finish(s);
}

Test(admin_pace, what_came_to_nothing_pushes_out_nothing_that_was_done)
{
	s          = server_start((const char *[]){ "limits.admin_audit_rows=100", NULL });
	ANSWER did = admin_ask(s, "DELETE", "/admin/v1/drain", NULL);
	admin_expect(&did, 200, NULL);
	for (int i = 0; i < 210; i++) {
		ANSWER r = admin_ask(s, "DELETE", "/admin/v1/tokens/77", NULL);
		admin_expect(&r, 404, "not_found");
	}
	cr_expect_eq(admin_audited(s, "server.undrain", NULL, "ok"), 1);
	cr_expect_leq(admin_audited(s, NULL, NULL, NULL), 200);
	server_finish(s);
}
