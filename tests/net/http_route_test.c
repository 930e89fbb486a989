/*
 * Routes: paths with names in them, queries, errors in a route's own form, and whom limits are for.
 */
#include "net/http.h"

#include "base/auto.h"
#include "base/text.h"
#include "net/listen.h"
#include "support/dial.h"
#include "support/http_fixture.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STRANGER "127.0.0.2"

static enum err say(struct http_answer *a, const char *format, ...) __attribute__((format(printf, 2, 3)));

static enum err say(struct http_answer *a, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	a->status   = 200;
	a->body_len = vasprintf(&a->body, format, args) < 0 ? 0 : strlen(a->body);
	va_end(args);
	return a->body ? ERR_OK : ERR_NOMEM;
}

static enum err on_exact(struct http_answer *a, struct http_request *rq, void *part)
{
	(void)rq;
	(void)part;
	return say(a, "exact");
}

static enum err on_one(struct http_answer *a, struct http_request *rq, void *part)
{
	(void)part;
	return say(a, "%s one=%s", http_method(rq), http_path_part(rq, 0));
}

static enum err on_two(struct http_answer *a, struct http_request *rq, void *part)
{
	(void)part;
	return say(a, "two=%s,%s", http_path_part(rq, 0), http_path_part(rq, 1));
}

static enum err on_query(struct http_answer *a, struct http_request *rq, void *part)
{
	const char *v = http_query(rq, "v");

	(void)part;
	return say(a, "v=%s%s", v ? v : "(null)", http_has_query(rq, "v") ? " there" : "");
}

static enum err on_store(struct http_answer *a, struct http_request *rq, void *part)
{
	(void)a;
	(void)rq;
	(void)part;
	return ERR_STORE;
}

static enum err on_who(struct http_answer *a, struct http_request *rq, void *part)
{
	(void)part;
	return say(a, "private=%d exempt=%d", http_is_private(rq), http_is_exempt(rq));
}

static enum err on_fields(struct http_answer *a, struct http_request *rq, void *part)
{
	(void)rq;
	(void)part;
	for (int i = 0; i < HTTP_FIELDS_MAX; i++) {
		static const char *const names[HTTP_FIELDS_MAX] = { "X-0", "X-1", "X-2", "X-3",
			                                            "X-4", "X-5", "X-6", "X-7" };

		http_answer_field(a, names[i], "%0*d", HTTP_FIELD_BYTES_MAX - 1, i);
	}
	return say(a, "fields");
}

static enum err errors(struct http_answer *a, struct http_request *rq, enum err e)
{
	char text[200];

	text_format(text, sizeof(text), "own %s %s", err_rest(e), http_path(rq));
	return http_answer_error(a, err_http(e), text);
}

static const struct http_route routes[] = {
	{ "GET", "/v1/things/{id}", on_one, NULL, errors },
	{ "DELETE", "/v1/things/{id}", on_one, NULL, errors },
	{ "GET", "/v1/things/special", on_exact, NULL, errors },
	{ "GET", "/v1/things", on_exact, NULL, errors },
	{ "PUT", "/v1/things/{id}/members/{player}", on_two, NULL, errors },
	{ "GET", "/v1/{any}/last", on_one, NULL, NULL },
	{ "GET", "/query", on_query, NULL, NULL },
	{ "GET", "/store", on_store, NULL, errors },
	{ "GET", "/who", on_who, NULL, NULL },
	{ "GET", "/fields", on_fields, NULL, NULL },
	{ 0 },
};

static struct http_fixture f;

static void prepare(void)
{
	http_fixture_init(&f);
}

static void finish(void)
{
	http_fixture_stop(&f);
}

TestSuite(http_route, .init = prepare, .fini = finish);

static void start(void)
{
	http_fixture_start(&f, routes, NULL);
}

static void free_result(struct http_result *r)
{
	http_result_free(r);
}

static struct http_result ask_from(const char *from, const char *method, const char *path, const char *more)
{
	char request[2000];
	int  fd = http_fixture_dial(&f, from);

	cr_assert(text_format(request, sizeof(request), "%s %s HTTP/1.1\r\nHost: a\r\n%s\r\n", method, path, more));
	http_say(fd, request);
	struct http_result r = http_hear(fd);
	close(fd);
	return r;
}

static void expect(const char *method, const char *path, int status, const char *body)
{
	AUTO(free_result) struct http_result r = ask_from(STRANGER, method, path, "");

	cr_expect_eq(r.status, status, "%s %s: %d", method, path, r.status);
	cr_expect_str_eq(r.body, body, "%s %s: %s", method, path, r.body);
}

#define NOT_FOUND "{\"error\":\"there is nothing here by that name\"}"

Test(http_route, names_stand_for_whole_parts)
{
	start();
	expect("GET", "/v1/things/abc", 200, "GET one=abc");
	expect("DELETE", "/v1/things/abc", 200, "DELETE one=abc");
	expect("GET", "/v1/things/a", 200, "GET one=a");
	expect("GET", "/v1/things/Special", 200, "GET one=Special");
	expect("PUT", "/v1/things/a-b_c/members/0123", 200, "two=a-b_c,0123");
	expect("GET", "/v1/x/last", 200, "GET one=x");
	expect("GET", "/v1/things/abc?v=/x/y", 200, "GET one=abc");
}

Test(http_route, an_exact_path_wins)
{
	start();
	expect("GET", "/v1/things/special", 200, "exact");
	expect("GET", "/v1/things", 200, "exact");
	expect("DELETE", "/v1/things/special", 405, "{\"error\":\"own method /v1/things/special\"}");
	expect("GET", "/v1/things/last", 200, "GET one=last");
}

Test(http_route, what_no_route_has_is_404)
{
	static const char *const rows[] = {
		"/",
		"/v1",
		"/v1/",
		"/v1/things/",
		"/v1/things/a/",
		"/v1/things/a/members",
		"/v1/things/a/members/",
		"/v1/things//members/b",
		"/v1/things/a/b",
		"/v1/things/a/members/b/c",
		"/v1/things/{id}/x",
		"/V1/things/a",
		"/v1/things/{id}",
		"/v1/things/a%2fb",
		"/v1/things/..",
		"/v1/things/.a",
		"/v1/things/a\\b",
		"/v1//last",
		"/v1/things/%61",
		"/v1/thingsa",
		"/queryx",
		"/quer",
	};

	start();
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		expect("GET", rows[i], 404, NOT_FOUND);
}

Test(http_route, a_part_has_a_length)
{
	char path[200], body[200], over[200];

	start();
	snprintf(path, sizeof(path), "/v1/things/%0*d", HTTP_PART_BYTES_MAX, 7);
	snprintf(body, sizeof(body), "GET one=%0*d", HTTP_PART_BYTES_MAX, 7);
	snprintf(over, sizeof(over), "/v1/things/%0*d", HTTP_PART_BYTES_MAX + 1, 7);
	expect("GET", path, 200, body);
	expect("GET", over, 404, NOT_FOUND);
}

Test(http_route, a_method_that_the_path_lacks_is_405_in_the_routes_form)
{
	char allow[100];

	start();
	AUTO(free_result) struct http_result r = ask_from(STRANGER, "POST", "/v1/things/abc", "");
	cr_expect_eq(r.status, 405);
	cr_expect_str_eq(http_result_header(&r, "Allow", allow, sizeof(allow)), "GET, HEAD, DELETE");
	cr_expect_str_eq(r.body, "{\"error\":\"own method /v1/things/abc\"}");
	expect("POST", "/query", 405, "{\"error\":\"this path does not take that method\"}");
}

Test(http_route, every_refusal_has_the_routes_form)
{
	start();
	expect("GET", "/store", 503, "{\"error\":\"own store_failed /store\"}");

	AUTO(free_result)
	struct http_result twice =
		ask_from(STRANGER, "GET", "/v1/things/a", "Content-Length: 0\r\nContent-Length: 0\r\n");
	cr_expect_eq(twice.status, 400);
	cr_expect_str_eq(twice.body, "{\"error\":\"own malformed /v1/things/a\"}");

	AUTO(free_result)
	struct http_result body = ask_from(STRANGER, "DELETE", "/v1/things/a", "Content-Length: 2\r\n\r\nab");
	cr_expect_eq(body.status, 413);
	cr_expect_str_eq(body.body, "{\"error\":\"own too_big /v1/things/a\"}");

	AUTO(free_result)
	struct http_result origin = ask_from(STRANGER, "DELETE", "/v1/things/a", "Origin: https://evil\r\n");
	cr_expect_eq(origin.status, 403);
	cr_expect_str_eq(origin.body, "{\"error\":\"own origin /v1/things/a\"}");
}

Test(http_route, queries_are_given_as_they_came)
{
	static const struct {
		const char *path, *body;
	} rows[] = {
		{ "/query", "v=(null)" },
		{ "/query?", "v=(null)" },
		{ "/query?w=1&vv=2&V=3", "v=(null)" },
		{ "/query?v=1", "v=1 there" },
		{ "/query?v=", "v= there" },
		{ "/query?v", "v= there" },
		{ "/query?a=b&v=7&c=d", "v=7 there" },
		{ "/query?v=%31", "v=%31 there" },
		{ "/query?%76=1", "v=(null)" },
		{ "/query?v=a+b", "v=a b there" },
		{ "/query?v=a=b", "v=a=b there" },
		{ "/query?v=1&v=1", "v=(null) there" },
		{ "/query?v&v=1", "v=(null) there" },
		{ "/query?v=1&x=2&v=3", "v=(null) there" },
		{ "/query?v=../../etc", "v=../../etc there" },
	};

	start();
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		expect("GET", rows[i].path, 200, rows[i].body);
}

Test(http_route, fields_of_an_answer_fit_as_they_are)
{
	char value[HTTP_FIELD_BYTES_MAX + 1], want[HTTP_FIELD_BYTES_MAX + 1];

	start();
	AUTO(free_result) struct http_result r = ask_from(STRANGER, "GET", "/fields", "");
	snprintf(want, sizeof(want), "%0*d", HTTP_FIELD_BYTES_MAX - 1, 7);
	cr_expect_str_eq(http_result_header(&r, "X-7", value, sizeof(value)), want);
	snprintf(want, sizeof(want), "%0*d", HTTP_FIELD_BYTES_MAX - 1, 0);
	cr_expect_str_eq(http_result_header(&r, "X-0", value, sizeof(value)), want);
}

/* --- Who asks --- */

static void expect_who(const char *from, const char *more, const char *body)
{
	AUTO(free_result) struct http_result r = ask_from(from, "GET", "/who", more);

	cr_expect_str_eq(r.body, body, "from %s: %s", from, more);
}

Test(http_route, loopback_is_private_and_exempt_outside_production)
{
	start();
	expect_who(STRANGER, "", "private=1 exempt=1");
	expect_who(STRANGER, "X-Forwarded-For: 9.9.9.9\r\n", "private=1 exempt=0");
	expect_who(HTTP_FIXTURE_PROXY, "", "private=1 exempt=1");
	expect_who(HTTP_FIXTURE_PROXY, "X-Forwarded-For: 9.9.9.9\r\n", "private=1 exempt=0");
	expect_who(HTTP_FIXTURE_PROXY, "X-Forwarded-For: 127.0.0.9\r\n", "private=1 exempt=0");
}

Test(http_route, nobody_on_loopback_is_exempt_in_production)
{
	f.conf.server_production = true;
	start();
	expect_who(STRANGER, "", "private=1 exempt=0");
	expect_who(HTTP_FIXTURE_PROXY, "X-Forwarded-For: 9.9.9.9\r\n", "private=1 exempt=0");
}

Test(http_route, a_unix_socket_is_private_and_exempt)
{
	char               dir[] = "/tmp/coopd-http-XXXXXX", path[60];
	struct http_config cfg   = { .name = "test", .routes = routes, .connections_max = 4 };
	int                fd;

	f.conf.server_production = true;
	cr_assert_not_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/s", dir);
	cr_assert_eq(listen_unix(&fd, path, stderr), ERR_OK);
	cr_assert_eq(http_start(&f.server, &cfg, &f.conf, &(struct http_listen){ .fd = fd }, 1, NULL), ERR_OK);
	AUTO(free_result) struct http_result r = http_get_unix(path, "/who");
	cr_expect_str_eq(r.body, "private=1 exempt=1");
	unlink(path);
	rmdir(dir);
}
