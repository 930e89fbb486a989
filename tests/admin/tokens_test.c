/*
 * Tokens and one-time links of a whole server.
 */
#include "base/auto.h"
#include "base/text.h"
#include "support/admin_client.h"
#include "support/dial.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ANSWER AUTO(rest_freep) struct http_result
#define WRONG  "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define HOUR   INT64_C(3600000)
#define DAY    (24 * HOUR)

static struct server *s;

static void start_with(const char *const *sets)
{
	s = server_start(sets);
}

static void start(void)
{
	start_with(NULL);
}

static void stop(void)
{
	server_finish(s);
}

TestSuite(admin_tokens, .init = start, .fini = stop);

static void expect_token(const char *token, int status)
{
	ANSWER r = admin_ask_tcp(s, token, "GET", "/admin/v1/whoami", NULL);

	admin_expect(&r, status, status == 200 ? NULL : "token");
}

static void end_token(int64_t id)
{
	char path[80];

	snprintf(path, sizeof(path), "/admin/v1/tokens/%lld", (long long)id);
	ANSWER r = admin_ask(s, "DELETE", path, NULL);
	admin_expect(&r, 200, NULL);
}

Test(admin_tokens, one_of_each_role_is_known_again)
{
	static const char *const roles[] = { "viewer", "operator" };
	char                     token[ADMIN_TOKEN_TEXT_BYTES], text[100], who[100];

	for (size_t i = 0; i < COUNT_OF(roles); i++) {
		int64_t id = admin_make_token(token, s, roles[i]);

		cr_expect_eq(strlen(token), 64);
		ANSWER r = admin_ask_tcp(s, token, "GET", "/admin/v1/whoami", NULL);
		admin_expect(&r, 200, NULL);
		snprintf(who, sizeof(who), "token %lld (of the tests)", (long long)id);
		cr_expect_str_eq(rest_text(&r, "who", text, sizeof(text)), who);
		cr_expect_str_eq(rest_text(&r, "role", text, sizeof(text)), roles[i]);
	}
}

Test(admin_tokens, lives_over_a_restart_and_stands_in_no_file)
{
	char token[ADMIN_TOKEN_TEXT_BYTES], command[300];

	admin_make_token(token, s, "viewer");
	server_restart(s);
	expect_token(token, 200);
	snprintf(command, sizeof(command), "grep -rlaE '%s' %s >/dev/null", token, s->root);
	cr_expect_neq(system(command), 0, "the token itself is kept somewhere");
}

Test(admin_tokens, a_revoked_one_is_refused_at_once_and_after_a_restart)
{
	char    token[ADMIN_TOKEN_TEXT_BYTES];
	int64_t id = admin_make_token(token, s, "operator");

	expect_token(token, 200);
	end_token(id);
	expect_token(token, 401);
	end_token(id); /* again does no harm */
	server_restart(s);
	expect_token(token, 401);
	ANSWER r = admin_get(s, "/admin/v1/tokens");
	cr_expect(rest_has(&r, "items.0.revoked_at"));
}

Test(admin_tokens, one_that_never_was_cannot_be_revoked)
{
	static const char *const ids[] = { "77", "0", "-1", "x", "99999999999999999999" };
	char                     path[80];

	for (size_t i = 0; i < COUNT_OF(ids); i++) {
		snprintf(path, sizeof(path), "/admin/v1/tokens/%s", ids[i]);
		ANSWER r = admin_ask(s, "DELETE", path, NULL);
		admin_expect(&r, 404, "not_found");
	}
}

Test(admin_tokens, expire_by_the_wall_clock)
{
	char token[ADMIN_TOKEN_TEXT_BYTES], forever[ADMIN_TOKEN_TEXT_BYTES];

	ANSWER r = admin_ask(s, "POST", "/admin/v1/tokens", "{\"name\":\"a\",\"role\":\"viewer\",\"expires_s\":60}");
	admin_expect(&r, 201, NULL);
	rest_text(&r, "token", token, sizeof(token));
	ANSWER f = admin_ask(s, "POST", "/admin/v1/tokens", "{\"name\":\"b\",\"role\":\"viewer\",\"expires_s\":0}");
	rest_text(&f, "token", forever, sizeof(forever));
	server_advance_wall(s, 50000);
	expect_token(token, 200);
	server_advance_wall(s, 10001);
	expect_token(token, 401);
	server_advance_wall(s, 4000 * DAY);
	expect_token(forever, 200);
}

Test(admin_tokens, is_good_for_90_days_unless_said_otherwise)
{
	char token[ADMIN_TOKEN_TEXT_BYTES];

	admin_make_token(token, s, "viewer");
	server_advance_wall(s, 90 * DAY - 60000);
	expect_token(token, 200);
	server_advance_wall(s, 120000);
	expect_token(token, 401);
}

Test(admin_tokens, anything_else_is_none)
{
	static const char        too_long[] = WRONG "00";
	static const char *const rows[]     = {
		    WRONG, "", "00", too_long, "zz", "00112233445566778899AABBCCDDEEFF00112233445566778899aabbccddeeff",
	};
	static const char *const fields[] = {
		"Authorization: Basic YTpi\r\n",
		"Authorization: Bearer\r\n",
		"Authorization: " WRONG "\r\n",
	};
	char token[ADMIN_TOKEN_TEXT_BYTES], upper[ADMIN_TOKEN_TEXT_BYTES], bearer[40];

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		expect_token(rows[i], 401);
	for (size_t i = 0; i < COUNT_OF(fields); i++) {
		ANSWER r = admin_ask_tcp_with(s, NULL, "GET", "/admin/v1/whoami", fields[i], NULL, 0);
		admin_expect(&r, 401, "token");
		cr_expect_str_eq(http_result_header(&r, "WWW-Authenticate", bearer, sizeof(bearer)), "Bearer");
	}
	admin_make_token(token, s, "viewer");
	for (size_t i = 0; i < sizeof(upper); i++)
		upper[i] = (char)(token[i] >= 'a' && token[i] <= 'f' ? token[i] - 32 : token[i]);
	expect_token(upper, 401);
}

Test(admin_tokens, on_the_socket_a_token_counts_where_one_is_sent)
{
	char token[ADMIN_TOKEN_TEXT_BYTES], field[120], role[20];

	admin_make_token(token, s, "viewer");
	snprintf(field, sizeof(field), "Authorization: bearer %s\r\n", token);
	ANSWER r = admin_ask_with(s, "GET", "/admin/v1/whoami", field, NULL, 0);
	cr_expect_str_eq(rest_text(&r, "role", role, sizeof(role)), "viewer");
	ANSWER n = admin_ask_with(s, "GET", "/admin/v1/tokens", field, NULL, 0);
	admin_expect(&n, 403, "role");
	ANSWER w = admin_ask_with(s, "GET", "/admin/v1/whoami", "Authorization: Bearer " WRONG "\r\n", NULL, 0);
	admin_expect(&w, 401, "token");
	strcat(field, "X-Forwarded-For: 203.0.113.1\r\n");
	ANSWER p = admin_ask_with(s, "GET", "/admin/v1/whoami", field, NULL, 0);
	admin_expect(&p, 200, NULL);
}

Test(admin_tokens, what_is_asked_for_must_make_sense)
{
	static const struct {
		const char *body, *code;
		int         status;
	} rows[] = {
		{ "{\"role\":\"viewer\"}", "invalid", 422 },
		{ "{\"name\":\"\",\"role\":\"viewer\"}", "invalid", 422 },
		{ "{\"name\":\"a\"}", "invalid", 422 },
		{ "{\"name\":\"a\",\"role\":\"none\"}", "invalid", 422 },
		{ "{\"name\":\"a\",\"role\":\"Viewer\"}", "invalid", 422 },
		{ "{\"name\":\"a\",\"role\":2}", "invalid", 422 },
		{ "{\"name\":\"a\\u000ab\",\"role\":\"viewer\"}", "invalid", 422 },
		{ "{\"name\":\"0123456789012345678901234567890123456789012345678901234567890123x\",\"role\":"
		  "\"viewer\"}",
		  "invalid", 422 },
		{ "{\"name\":\"a\",\"role\":\"viewer\",\"expires_s\":-1}", "invalid", 422 },
		{ "{\"name\":\"a\",\"role\":\"viewer\",\"expires_s\":315360001}", "invalid", 422 },
		{ "{\"name\":\"a\",\"role\":\"viewer\",\"expires\":1}", "unknown_member", 422 },
		{ "[]", "malformed", 400 },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		ANSWER r = admin_ask(s, "POST", "/admin/v1/tokens", rows[i].body);
		admin_expect(&r, rows[i].status, rows[i].code);
	}
	ANSWER list = admin_get(s, "/admin/v1/tokens");
	cr_expect_eq(rest_count(&list, "items"), 0);
}

Test(admin_tokens, a_dry_run_makes_and_revokes_none)
{
	char    token[ADMIN_TOKEN_TEXT_BYTES], path[80];
	int64_t id = admin_make_token(token, s, "viewer");

	ANSWER r = admin_ask(s, "POST", "/admin/v1/tokens?dry_run=true", "{\"name\":\"a\",\"role\":\"viewer\"}");
	admin_expect(&r, 201, NULL);
	cr_expect(rest_bool(&r, "dry_run"));
	snprintf(path, sizeof(path), "/admin/v1/tokens/%lld?dry_run=true", (long long)id);
	ANSWER d = admin_ask(s, "DELETE", path, NULL);
	admin_expect(&d, 200, NULL);
	cr_expect(rest_bool(&d, "dry_run"));
	ANSWER n = admin_ask(s, "DELETE", "/admin/v1/tokens/99?dry_run=1", NULL);
	admin_expect(&n, 404, "not_found");
	expect_token(token, 200);
	ANSWER list = admin_get(s, "/admin/v1/tokens");
	cr_expect_eq(rest_count(&list, "items"), 1);
	cr_expect_eq(admin_audited(s, NULL, NULL, NULL), 1, "a dry run leaves no trail");
}

Test(admin_tokens, are_listed_by_pages)
{
	char token[ADMIN_TOKEN_TEXT_BYTES], next[300], path[400];

	for (int i = 0; i < 5; i++)
		admin_make_token(token, s, i % 2 ? "viewer" : "operator");
	ANSWER first = admin_get(s, "/admin/v1/tokens?limit=3");
	cr_expect_eq(rest_count(&first, "items"), 3);
	cr_expect_null(strstr(first.body, token), "nobody sees a token again");
	snprintf(path, sizeof(path), "/admin/v1/tokens?limit=3&cursor=%s",
	         rest_text(&first, "next", next, sizeof(next)));
	ANSWER second = admin_get(s, path);
	cr_expect_eq(rest_count(&second, "items"), 2);
	cr_expect_eq(rest_int(&second, "items.1.id"), rest_int(&first, "items.0.id") + 4);
	cr_expect_not_null(strstr(second.body, "\"next\":null"));
}

Test(admin_tokens, the_use_is_noted_to_the_minute)
{
	char token[ADMIN_TOKEN_TEXT_BYTES], used[40] = "";

	admin_make_token(token, s, "viewer");
	ANSWER before = admin_get(s, "/admin/v1/tokens");
	cr_expect_not_null(strstr(before.body, "\"used_at\":null"));
	expect_token(token, 200);
	for (int64_t end = real_now_ms() + ADMIN_PATIENCE_MS; !*used && real_now_ms() < end;) {
		ANSWER r = admin_get(s, "/admin/v1/tokens");
		if (!strstr(r.body, "\"used_at\":null"))
			rest_text(&r, "items.0.used_at", used, sizeof(used));
	}
	cr_expect_eq(strlen(used), 20, "%s", used);
}

Test(admin_tokens, nobody_is_locked_out_by_the_wrong_guesses_of_others)
{
	char   token[ADMIN_TOKEN_TEXT_BYTES], guess[ADMIN_TOKEN_TEXT_BYTES];
	double before = server_metric(s, "coopd_admin_refused_total", "reason=\"token\"");

	admin_make_token(token, s, "operator");
	for (int i = 0; i < 300; i++) {
		snprintf(guess, sizeof(guess), "%064d", i);
		expect_token(guess, 401);
		if (i % 50 == 0)
			expect_token(token, 200);
	}
	expect_token(token, 200);
	cr_expect_eq((int)(server_metric(s, "coopd_admin_refused_total", "reason=\"token\"") - before), 300);
	cr_expect_eq(admin_audited(s, NULL, NULL, NULL), 1, "guesses leave no trail to fill");
}

Test(admin_tokens, whoever_fills_the_tcp_door_keeps_nobody_from_it_or_the_socket)
{
	int  fds[100];
	char token[ADMIN_TOKEN_TEXT_BYTES];

	admin_make_token(token, s, "viewer");
	for (size_t i = 0; i < COUNT_OF(fds); i++) {
		fds[i] = dial_tcp(s->admin_port, 0);
		cr_assert_geq(fds[i], 0);
	}
	expect_token(token, 200);
	ANSWER r = admin_get(s, "/admin/v1/whoami");
	admin_expect(&r, 200, NULL);
	for (size_t i = 0; i < COUNT_OF(fds); i++)
		close(fds[i]);
}

Test(admin_tokens, logout_ends_the_token_that_asks)
{
	char    token[ADMIN_TOKEN_TEXT_BYTES], other[ADMIN_TOKEN_TEXT_BYTES], target[40];
	int64_t id = admin_make_token(token, s, "viewer");

	admin_make_token(other, s, "viewer");
	ANSWER r = admin_ask_tcp(s, token, "POST", "/admin/v1/logout", NULL);
	admin_expect(&r, 200, NULL);
	expect_token(token, 401);
	expect_token(other, 200);
	snprintf(target, sizeof(target), "tokens/%lld", (long long)id);
	cr_expect_eq(admin_audited(s, "logout", target, "ok"), 1);
	ANSWER u = admin_ask(s, "POST", "/admin/v1/logout", "{}"); /* nothing to end */
	admin_expect(&u, 200, NULL);
}

/* --- One-time links --- */

static void make_link(char secret[ADMIN_TOKEN_TEXT_BYTES], const char *body)
{
	ANSWER r = admin_ask(s, "POST", "/admin/v1/login", body);

	admin_expect(&r, 200, NULL);
	rest_text(&r, "secret", secret, ADMIN_TOKEN_TEXT_BYTES);
}

static struct http_result use_link(const char *secret, const char *query)
{
	char body[120], path[60];

	snprintf(body, sizeof(body), "{\"secret\":\"%s\"}", secret);
	snprintf(path, sizeof(path), "/admin/v1/login/use%s", query);
	return admin_ask_tcp(s, NULL, "POST", path, body);
}

Test(admin_tokens, a_link_is_good_once)
{
	char secret[ADMIN_TOKEN_TEXT_BYTES], token[ADMIN_TOKEN_TEXT_BYTES];

	make_link(secret, "{\"role\":\"viewer\"}");
	ANSWER dry = use_link(secret, "?dry_run=true");
	admin_expect(&dry, 200, NULL);
	ANSWER r = use_link(secret, "");
	admin_expect(&r, 200, NULL);
	rest_text(&r, "token", token, sizeof(token));
	ANSWER again = use_link(secret, "");
	admin_expect(&again, 401, "token");
	expect_token(token, 200);
	ANSWER role = admin_ask_tcp(s, token, "GET", "/admin/v1/tokens", NULL);
	admin_expect(&role, 403, "role");
	ANSWER list = admin_get(s, "/admin/v1/tokens");
	cr_expect_eq(rest_count(&list, "items"), 1, "it is listed, and can be revoked");
	server_advance_wall(s, 12 * HOUR);
	expect_token(token, 401);
}

Test(admin_tokens, a_link_is_an_operators_unless_said_otherwise_and_for_a_minute)
{
	char secret[ADMIN_TOKEN_TEXT_BYTES], late[ADMIN_TOKEN_TEXT_BYTES], role[20];

	make_link(secret, NULL);
	make_link(late, "{}");
	server_advance(s, 59000);
	ANSWER r = use_link(secret, "");
	cr_expect_str_eq(rest_text(&r, "role", role, sizeof(role)), "operator");
	server_advance(s, 1000);
	ANSWER l = use_link(late, "");
	admin_expect(&l, 401, "token");
}

Test(admin_tokens, wrong_secrets_are_counted_and_leave_no_trail)
{
	char secret[ADMIN_TOKEN_TEXT_BYTES];

	make_link(secret, "{}");
	for (int i = 0; i < 20; i++) {
		ANSWER r = use_link(WRONG, "");
		admin_expect(&r, 401, "token");
	}
	ANSWER n = use_link("", "");
	admin_expect(&n, 401, "token");
	cr_expect_eq((int)server_metric(s, "coopd_admin_refused_total", "reason=\"secret\""), 21);
	cr_expect_eq(admin_audited(s, "login.use", NULL, NULL), 0);
	ANSWER r = use_link(secret, "");
	admin_expect(&r, 200, NULL);
	cr_expect_eq(admin_audited(s, "login.use", NULL, "ok"), 1);
	ANSWER trail = admin_get(s, "/admin/v1/audit?action=login.use");
	char   who[60];
	snprintf(who, sizeof(who), "%s", geteuid() == 0 ? "link of root" : "link of uid");
	cr_expect_not_null(strstr(trail.body, who), "%s", trail.body);
	cr_expect_null(strstr(trail.body, secret), "no secret in the trail");
}

Test(admin_tokens, of_too_many_links_the_oldest_goes)
{
	char first[ADMIN_TOKEN_TEXT_BYTES], other[ADMIN_TOKEN_TEXT_BYTES];

	make_link(first, "{}");
	for (int i = 0; i < 16; i++) {
		server_advance(s, 10);
		make_link(other, "{}");
	}
	ANSWER gone = use_link(first, "");
	admin_expect(&gone, 401, "token");
	ANSWER r = use_link(other, "");
	admin_expect(&r, 200, NULL);
}

/* --- How many --- */

static void start_few(void)
{
	static const char *const sets[] = { "limits.admin_tokens=2", NULL };

	start_with(sets);
}

TestSuite(admin_tokens_few, .init = start_few, .fini = stop);

Test(admin_tokens_few, no_more_are_good_than_may_be)
{
	char    one[ADMIN_TOKEN_TEXT_BYTES], two[ADMIN_TOKEN_TEXT_BYTES], secret[ADMIN_TOKEN_TEXT_BYTES];
	int64_t id = admin_make_token(one, s, "viewer");

	admin_make_token(two, s, "viewer");
	ANSWER r = admin_ask(s, "POST", "/admin/v1/tokens", "{\"name\":\"a\",\"role\":\"viewer\"}");
	admin_expect(&r, 429, "no_room");
	make_link(secret, "{}");
	ANSWER l = use_link(secret, "");
	admin_expect(&l, 429, "no_room");
	cr_expect_eq(admin_audited(s, "token.add", NULL, "no_room"), 1, "what failed is noted too");
	end_token(id);
	admin_make_token(one, s, "viewer");
	expect_token(two, 200);
	server_advance_wall(s, 91 * DAY);
	admin_make_token(one, s, "viewer");
	admin_make_token(two, s, "viewer");
}
