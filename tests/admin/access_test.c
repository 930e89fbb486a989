/*
 * Who gets in: every route of every part, at both listeners, with each role, from pages and under names of others.
 */
#include "base/auto.h"
#include "support/admin_client.h"
#include "support/admin_routes.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER AUTO(rest_freep) struct http_result

static struct server *s;
static struct api    *api;
static char           viewer[ADMIN_TOKEN_TEXT_BYTES], operator_token[ADMIN_TOKEN_TEXT_BYTES];

static void start(void)
{
	static const char *const sets[] = { "admin.hosts=coop.example.org", "rooms.relay=yes", NULL };

	s   = server_start(sets);
	api = admin_routes();
	admin_make_token(viewer, s, "viewer");
	admin_make_token(operator_token, s, "operator");
}

static void stop(void)
{
	api_free(api);
	server_finish(s);
}

TestSuite(admin_access, .init = start, .fini = stop);

/* The next route; NULL: that was the last one. */
static const struct api_route *next(char path[ADMIN_PATH_BYTES], size_t *at)
{
	const struct api_route *r = api_route_at(api, (*at)++);

	if (r)
		admin_route_path(path, r);
	return r;
}

static void expect(const struct api_route *r, const struct http_result *got, int status, const char *code)
{
	char text[60] = "";

	if (got->status >= 400 && rest_has(got, "error.code"))
		rest_text(got, "error.code", text, sizeof(text));
	cr_expect(got->status == status && strcmp(text, code) == 0, "%s %s: %d %s, not %d %s", r->method, r->path,
	          got->status, text, status, code);
}

/* Body and all, over TCP, with a Host of the test's own. */
static struct http_result say(const struct api_route *r, const char *path, const char *host, const char *fields)
{
	char request[2000];
	int  len = snprintf(request, sizeof(request), "%s %s HTTP/1.1\r\n%s%sConnection: close\r\n%s\r\n", r->method,
	                    path, host, fields, r->body == API_NO_BODY ? "" : "Content-Length: 0\r\n");

	return http_exchange(s->admin_port, request, (size_t)len, ADMIN_PATIENCE_MS);
}

Test(admin_access, nobody_gets_in_without_a_token)
{
	const struct api_route *r;
	char                    path[ADMIN_PATH_BYTES], bearer[40];

	for (size_t at = 0; (r = next(path, &at));) {
		if (r->role == API_ANYBODY)
			continue;
		ANSWER tcp = admin_ask_tcp(s, NULL, r->method, path, r->body == API_NO_BODY ? NULL : "{}");
		expect(r, &tcp, 401, "token");
		cr_expect_str_eq(http_result_header(&tcp, "WWW-Authenticate", bearer, sizeof(bearer)), "Bearer");
		ANSWER proxy = admin_ask_with(s, r->method, path, "X-Real-IP: 203.0.113.7\r\n", NULL, 0);
		expect(r, &proxy, 401, "token");
	}
	ANSWER nowhere = admin_ask_tcp(s, NULL, "GET", "/admin/v1/nowhere", NULL);
	cr_expect_eq(nowhere.status, 401, "strangers do not learn which paths there are");
	ANSWER known = admin_ask_tcp(s, viewer, "GET", "/admin/v1/nowhere", NULL);
	admin_expect(&known, 404, "not_found");
}

Test(admin_access, a_viewer_gets_no_route_of_operators)
{
	const struct api_route *r;
	char                    path[ADMIN_PATH_BYTES], field[120];
	size_t                  count = 0;

	snprintf(field, sizeof(field), "Authorization: Bearer %s\r\n", viewer);
	for (size_t at = 0; (r = next(path, &at));) {
		if (r->role != API_OPERATOR)
			continue;
		ANSWER tcp = admin_ask_tcp(s, viewer, r->method, path, r->body == API_NO_BODY ? NULL : "{}");
		expect(r, &tcp, 403, "role");
		ANSWER local = admin_ask_with(s, r->method, path, field, NULL, 0);
		expect(r, &local, 403, "role");
		count += 2;
	}
	cr_expect_eq((int)server_metric(s, "coopd_admin_refused_total", "reason=\"role\""), (int)count);
	cr_expect_eq(admin_audited(s, NULL, NULL, NULL), 2, "only the two tokens were made");
}

Test(admin_access, what_only_reads_is_a_viewers_at_both_listeners)
{
	const struct api_route *r;
	char                    path[ADMIN_PATH_BYTES], field[120];

	snprintf(field, sizeof(field), "Authorization: Bearer %s\r\n", viewer);
	for (size_t at = 0; (r = next(path, &at));) {
		if (r->role != API_VIEWER || r->action)
			continue;
		ANSWER tcp   = admin_ask_tcp(s, viewer, r->method, path, NULL);
		ANSWER local = admin_ask_with(s, r->method, path, field, NULL, 0);
		ANSWER owner = admin_ask(s, r->method, path, NULL);
		cr_expect(tcp.status == 200 || tcp.status == 404, "%s: %d %s", path, tcp.status, tcp.body);
		cr_expect_eq(local.status, tcp.status, "%s", path);
		cr_expect_eq(owner.status, tcp.status, "%s", path);
	}
}

Test(admin_access, other_names_of_this_machine_lead_nowhere)
{
	static const char *const bad[] = { "Host: evil.example\r\n", "Host: coop.example.org.evil.example\r\n",
		                           "Host: 192.0.2.1\r\n", "Host: \r\n" };
	const struct api_route  *r;
	char                     path[ADMIN_PATH_BYTES], field[120];
	size_t                   count = 0;

	snprintf(field, sizeof(field), "Authorization: Bearer %s\r\n", operator_token);
	for (size_t at = 0; (r = next(path, &at)); count++) {
		ANSWER got = say(r, path, bad[count % COUNT_OF(bad)], field);
		expect(r, &got, 421, "host");
	}
	cr_expect_eq((int)server_metric(s, "coopd_admin_refused_total", "reason=\"host\""), (int)count);
}

Test(admin_access, loopback_names_and_those_of_the_settings_are_ours)
{
	static const char *const good[] = {
		"localhost", "LOCALHOST:10002", "127.0.0.1",        "127.8.9.10:1",
		"[::1]",     "[::1]:10002",     "coop.example.org", "Coop.Example.Org:443"
	};
	const struct api_route whoami = { .method = "GET", .path = "/admin/v1/whoami" };
	char                   host[100], field[120];

	snprintf(field, sizeof(field), "Authorization: Bearer %s\r\n", viewer);
	for (size_t i = 0; i < COUNT_OF(good); i++) {
		snprintf(host, sizeof(host), "Host: %s\r\n", good[i]);
		ANSWER got = say(&whoami, whoami.path, host, field);
		cr_expect_eq(got.status, 200, "%s: %s", host, got.body);
	}
	/* HTTP/1.0 may leave it out. */
	char request[300];
	snprintf(request, sizeof(request), "GET /admin/v1/whoami HTTP/1.0\r\n%s\r\n", field);
	ANSWER none = http_exchange(s->admin_port, request, strlen(request), ADMIN_PATIENCE_MS);
	admin_expect(&none, 421, "host");
}

Test(admin_access, pages_of_others_reach_nothing)
{
	static const char *const bad[] = { "https://evil.example", "null", "http://127.0.0.1:1", "file://" };
	const struct api_route  *r;
	char                     path[ADMIN_PATH_BYTES], fields[300];
	size_t                   count = 0;

	for (size_t at = 0; (r = next(path, &at)); count++) {
		snprintf(fields, sizeof(fields), "Origin: %s\r\n", bad[count % COUNT_OF(bad)]);
		ANSWER tcp = admin_ask_tcp_with(s, operator_token, r->method, path, fields, NULL, 0);
		expect(r, &tcp, 403, "origin");
		ANSWER local = admin_ask_with(s, r->method, path, fields, NULL, 0);
		expect(r, &local, 403, "origin");
	}
	cr_expect_eq((int)server_metric(s, "coopd_admin_refused_total", "reason=\"origin\""), (int)(2 * count));
}

Test(admin_access, its_own_page_may_ask_with_a_token)
{
	char fields[100];

	snprintf(fields, sizeof(fields), "Origin: http://127.0.0.1:%d\r\n", s->admin_port);
	ANSWER good = admin_ask_tcp_with(s, viewer, "GET", "/admin/v1/whoami", fields, NULL, 0);
	admin_expect(&good, 200, NULL);
	ANSWER none = admin_ask_tcp_with(s, NULL, "GET", "/admin/v1/whoami", fields, NULL, 0);
	admin_expect(&none, 401, "token");
	ANSWER local = admin_ask_with(s, "GET", "/admin/v1/whoami", "Origin: http://localhost\r\n", NULL, 0);
	admin_expect(&local, 401, "token");
}

Test(admin_access, a_token_in_the_address_is_refused_before_anything_else)
{
	static const char *const names[] = { "token", "access_token", "TOKEN", "limit=1&token" };
	const struct api_route  *r;
	char                     path[ADMIN_PATH_BYTES], all[2 * ADMIN_PATH_BYTES];
	size_t                   count = 0;

	for (size_t at = 0; (r = next(path, &at)); count++) {
		snprintf(all, sizeof(all), "%s?%s=%s", path, names[count % COUNT_OF(names)], operator_token);
		ANSWER bare = admin_ask_tcp(s, NULL, r->method, all, NULL);
		expect(r, &bare, 400, "malformed");
		ANSWER both = admin_ask_tcp(s, operator_token, r->method, all, NULL);
		expect(r, &both, 400, "malformed");
	}
	cr_expect_eq((int)server_metric(s, "coopd_admin_refused_total", "reason=\"query\""), (int)(2 * count));
}

Test(admin_access, parameters_that_are_not_known_are_refused)
{
	const struct api_route *r;
	char                    path[ADMIN_PATH_BYTES], all[2 * ADMIN_PATH_BYTES];

	for (size_t at = 0; (r = next(path, &at));) {
		snprintf(all, sizeof(all), "%s?limti=1", path);
		ANSWER odd = admin_ask(s, r->method, all, NULL);
		expect(r, &odd, 400, "malformed");
		if (r->action) {
			snprintf(all, sizeof(all), "%s?dry_run=maybe", path);
			ANSWER maybe = admin_ask(s, r->method, all, NULL);
			expect(r, &maybe, 400, "malformed");
		}
		snprintf(all, sizeof(all), "%s?dry_run=true%s", path, r->action ? "&dry_run=true" : "");
		ANSWER twice = admin_ask(s, r->method, all, NULL);
		expect(r, &twice, 400, "malformed");
	}
}

Test(admin_access, pages_of_lists_are_asked_for_in_one_way)
{
	static const char *const bad[] = { "limit=0", "limit=1001", "limit=x", "limit=-1", "limit=" };
	static const char *const odd[] = { "cursor=x", "cursor=abc", "cursor=zz", "limit=1&limit=1" };
	const struct api_route  *r;
	char                     path[ADMIN_PATH_BYTES], all[2 * ADMIN_PATH_BYTES];

	for (size_t at = 0; (r = next(path, &at));) {
		if (!r->query || !strstr(r->query, "cursor") || strchr(r->path, '{'))
			continue;
		for (size_t i = 0; i < COUNT_OF(bad); i++) {
			snprintf(all, sizeof(all), "%s?%s", path, bad[i]);
			ANSWER got = admin_get(s, all);
			expect(r, &got, 422, "invalid");
		}
		for (size_t i = 0; i < COUNT_OF(odd); i++) {
			snprintf(all, sizeof(all), "%s?%s", path, odd[i]);
			ANSWER got = admin_get(s, all);
			expect(r, &got, 400, "malformed");
		}
		snprintf(all, sizeof(all), "%s?limit=1&cursor=ffffffffffffffff", path);
		ANSWER far = admin_get(s, all);
		cr_expect(far.status == 200 || far.status == 400, "%s: %d %s", all, far.status, far.body);
	}
}

static const char *large(size_t *len, const struct api_route *r)
{
	static char bytes[8 << 20];

	*len = (r->body_max ? r->body_max : API_BODY_BYTES_MAX) + 1;
	cr_assert_leq(*len, sizeof(bytes));
	memset(bytes, ' ', *len);
	return bytes;
}

Test(admin_access, bodies_must_be_small_and_whole_and_known)
{
	const struct api_route *r;
	char                    path[ADMIN_PATH_BYTES];
	size_t                  len;

	for (size_t at = 0; (r = next(path, &at));) {
		const char *body = large(&len, r);

		ANSWER big = admin_ask_with(s, r->method, path, "", body, len);
		if (strcmp(r->method, "GET") == 0)
			expect(r, &big, 400, "malformed");
		else
			expect(r, &big, 413, "too_big");
		if (r->body != API_OBJECT)
			continue;
		static const char *const broken[] = { "{", "[]", "{\"a\":1,\"a\":2}", "1", "{}{}", "{\"a\":\"\xff\"}" };
		for (size_t i = 0; i < COUNT_OF(broken); i++) {
			ANSWER got = admin_ask(s, r->method, path, broken[i]);
			expect(r, &got, 400, "malformed");
		}
		/* Something that is not there may be noticed first: nothing happens either way. */
		ANSWER odd = admin_ask(s, r->method, path, "{\"unheard_of\":1}");
		if (odd.status != 404)
			expect(r, &odd, 422, "unknown_member");
	}
}

Test(admin_access, every_other_method_is_refused)
{
	static const char *const methods[] = { "GET", "PUT", "POST", "DELETE", "PATCH", "OPTIONS" };
	const struct api_route  *r, *other;
	char                     path[ADMIN_PATH_BYTES];

	for (size_t at = 0; (r = next(path, &at));) {
		for (size_t m = 0; m < COUNT_OF(methods); m++) {
			bool is_there = false;

			for (size_t i = 0; (other = api_route_at(api, i)); i++)
				is_there = is_there || (strcmp(other->path, r->path) == 0 &&
				                        strcmp(other->method, methods[m]) == 0);
			if (is_there)
				continue;
			ANSWER got = admin_ask(s, methods[m], path, NULL);
			cr_expect(got.status == 405 || got.status == 404, "%s %s: %d", methods[m], path, got.status);
		}
	}
}
