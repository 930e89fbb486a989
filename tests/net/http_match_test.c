/*
 * If-None-Match and Accept-Encoding, as clients and proxies write them.
 */
#include "net/http_match.h"

#include "base/auto.h"
#include "support/http_fixture.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define STRANGER "127.0.0.2"

Test(http_match, an_etag_is_found_in_a_list_and_compared_weakly)
{
	static const struct {
		const char *line, *etag;
		bool        found;
	} rows[] = {
		{ "\"a\"", "\"a\"", true },
		{ "\"b\"", "\"a\"", false },
		{ "\"A\"", "\"a\"", false },
		{ "\"ab\"", "\"a\"", false },
		{ "\"a\"", "\"ab\"", false },
		{ "W/\"a\"", "\"a\"", true },
		{ "\"a\"", "W/\"a\"", true },
		{ "W/\"a\"", "W/\"a\"", true },
		{ "w/\"a\"", "\"a\"", false },
		{ "*", "\"a\"", true },
		{ " * ", "\"a\"", true },
		{ "\"b\", \"a\"", "\"a\"", true },
		{ "\"b\",\"c\",W/\"a\"", "\"a\"", true },
		{ "\"b\" \t,, \"a\"", "\"a\"", true },
		{ "\"b\", *", "\"a\"", true },
		{ "\"b,\\\"\", \"a\"", "\"a\"", false }, /* a backslash is a character like any other */
		{ "\"x,y\", \"a\"", "\"a\"", true },
		{ "\"x,\"", "\"x,\"", true },
		{ "\"\"", "\"\"", true },
		{ "", "\"a\"", false },
		{ " ,", "\"a\"", false },
		{ "a", "\"a\"", false },
		{ "a, \"a\"", "\"a\"", false },
		{ "\"a", "\"a\"", false },
		{ "\"", "\"a\"", false },
		{ "W/", "\"a\"", false },
		{ "W/*", "\"a\"", false },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		cr_expect_eq(http_match_etag(rows[i].line, rows[i].etag), rows[i].found, "%s in %s", rows[i].etag,
		             rows[i].line);
}

Test(http_match, gzip_is_taken_when_it_is_named_or_anything_is)
{
	static const struct {
		const char *line;
		bool        takes;
	} rows[] = {
		{ "gzip", true },
		{ "GZip", true },
		{ "x-gzip", true },
		{ "deflate, gzip", true },
		{ "gzip, deflate, br, zstd", true },
		{ " gzip ", true },
		{ "gzip;q=1", true },
		{ "gzip;q=1.0", true },
		{ "gzip;q=1.000", true },
		{ "gzip ; Q=0.001", true },
		{ "gzip;q=0.5, identity;q=0.1", true },
		{ "*", true },
		{ "*;q=0.1", true },
		{ "br, *;q=0.1", true },
		{ "gzip;q=0, x-gzip;q=0.1", true },
		{ "gzip,, br", true },
		{ "", false },
		{ "br", false },
		{ "identity", false },
		{ "gzipped", false },
		{ "gzi", false },
		{ "xgzip", false },
		{ "gzip;q=0", false },
		{ "gzip;q=0.", false },
		{ "gzip;q=0.0", false },
		{ "gzip;q=0.000", false },
		{ "gzip; q=0", false },
		{ "*;q=0", false },
		{ "gzip;q=0, *", false },
		{ "*, gzip;q=0", false },
		{ "gzip;q=", false },
		{ "gzip;q=x", false },
		{ "gzip;q=0.x", false },
		{ "gzip;q=2", false },
		{ "gzip;q=1.1", false },
		{ "gzip;q=0.0001", false },
		{ "gzip;q=-1", false },
		{ "gzip;q=1;q=0", false },
		{ "gzip;level=1", false },
		{ "gzip;", false },
		{ "gzip br", false },
		{ ";q=1", false },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct http_codings c = { 0 };

		http_codings_add(&c, rows[i].line);
		cr_expect_eq(http_codings_have_gzip(&c), rows[i].takes, "%s", rows[i].line);
	}
}

#define ETAG "\"abc\""

static char small[] = "small", large[] = "large";

/* A list that is sent whole, compressed, or not at all. */
static enum err on_list(struct http_answer *a, struct http_request *rq, void *part)
{
	(void)part;
	http_answer_field(a, "ETag", ETAG);
	http_answer_field(a, "Cache-Control", "no-cache");
	http_answer_field(a, "Vary", "Accept-Encoding");
	a->is_static = true;
	a->status    = 304;
	if (http_has_match(rq, ETAG))
		return ERR_OK;
	a->status   = 200;
	a->body     = http_takes_gzip(rq) ? small : large;
	a->body_len = 5;
	return ERR_OK;
}

static const struct http_route routes[] = { { "GET", "/", on_list, NULL, NULL }, { 0 } };

static struct http_fixture f;

static void start(void)
{
	http_fixture_init(&f);
	http_fixture_start(&f, routes, NULL);
}

static void stop(void)
{
	http_fixture_stop(&f);
}

TestSuite(http_match_live, .init = start, .fini = stop, .timeout = 60);

static void expect_field(const struct http_result *r, const char *name, const char *value)
{
	char has[64];

	cr_expect_str_eq(http_result_header(r, name, has, sizeof(has)), value, "%s: %s", name, has);
}

Test(http_match_live, lines_of_one_field_are_one_list)
{
	static const struct {
		const char *fields;
		int         status;
		const char *body;
	} rows[] = {
		{ "", 200, "large" },
		{ "If-None-Match: " ETAG "\r\n", 304, "" },
		{ "if-none-match: \"x\"\r\nIf-None-Match: \"y\", W/" ETAG "\r\n", 304, "" },
		{ "If-None-Match: \"x\"\r\nIf-None-Match: \"y\"\r\n", 200, "large" },
		{ "If-Match: " ETAG "\r\n", 200, "large" },
		{ "If-None-Match: *\r\n", 304, "" },
		{ "If-None-Match: \"x\"\r\nAccept-Encoding: br\r\naccept-encoding: gzip\r\n", 200, "small" },
		{ "Accept-Encoding: gzip;q=0\r\nAccept-Encoding: *\r\n", 200, "large" },
		{ "Accept-Encoding:\r\n", 200, "large" },
	};
	int fd = http_fixture_dial(&f, STRANGER);

	/* All on one connection: a 304 leaves nothing in it. */
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char request[300];

		snprintf(request, sizeof(request), "GET / HTTP/1.1\r\nHost: a\r\n%s\r\n", rows[i].fields);
		cr_assert(http_say(fd, request));
		struct http_result r = rows[i].status == 304 ? http_hear_head(fd) : http_hear(fd);

		cr_expect_eq(r.status, rows[i].status, "%s: %d", rows[i].fields, r.status);
		cr_expect_str_eq(r.body, rows[i].body, "%s: %s", rows[i].fields, r.body);
		expect_field(&r, "ETag", ETAG);
		expect_field(&r, "Cache-Control", "no-cache");
		expect_field(&r, "Vary", "Accept-Encoding");
		http_result_free(&r);
	}
	close(fd);
}
