/*
 * Small bodies: what a part gets of them, what is refused without being read, and POSTs to nowhere.
 */
#include "net/http.h"

#include "base/auto.h"
#include "base/metric.h"
#include "support/dial.h"
#include "support/http_fixture.h"
#include "support/leaks.h"

#include <criterion/criterion.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define STRANGER "127.0.0.2"
#define TEXT_MAX 65536

static _Atomic int handled;

/* The body, backwards; so that what comes was looked at, and every answer is another. */
static enum err on_text(struct http_answer *a, struct http_request *rq, char *body, size_t len, void *part)
{
	(void)rq;
	(void)part;
	handled++;
	cr_assert_eq(body[len], '\0', "a NUL is behind the body");
	if (strcmp(body, "fail") == 0)
		return ERR_CONFLICT;
	a->status = 200;
	a->body   = malloc(len + 1);
	if (!a->body)
		return ERR_NOMEM;
	for (size_t i = 0; i < len; i++)
		a->body[i] = body[len - 1 - i];
	a->body_len = len;
	return ERR_OK;
}

/* Of the first part: the name of the error. */
static enum err on_error(struct http_answer *a, struct http_request *rq, enum err e)
{
	(void)rq;
	return http_answer_error(a, e == ERR_METHOD ? 404 : err_http(e), err_name(e));
}

static enum err on_other_error(struct http_answer *a, struct http_request *rq, enum err e)
{
	(void)rq;
	(void)e;
	return http_answer_error(a, e == ERR_METHOD ? 405 : err_http(e), "other");
}

static enum err on_nowhere(struct http_answer *a, struct http_request *rq, enum err e)
{
	(void)rq;
	(void)e;
	return http_answer_error(a, err_http(e), "nowhere");
}

static enum err on_stray(struct http_answer *a, struct http_request *rq, char *body, size_t len, void *part)
{
	(void)a;
	(void)rq;
	(void)len;
	cr_assert_not_null(part);
	return strcmp(body, "good") == 0 ? ERR_NOT_FOUND : ERR_MALFORMED;
}

static enum err on_get(struct http_answer *a, struct http_request *rq, void *part)
{
	(void)rq;
	(void)part;
	a->status    = 200;
	a->is_static = true;
	return ERR_OK;
}

static const struct http_text text       = { .max = TEXT_MAX, .handle = on_text };
static const struct http_body body       = { .text = &text };
static const struct http_text stray_text = { .max = 8, .handle = on_stray };
static const struct http_body stray_body = { .text = &stray_text };

static const struct http_route stray = { "POST", "", NULL, &stray_body, on_error };

static const struct http_route routes[] = {
	{ "POST", "/text", NULL, &body, on_error },
	{ "GET", "/text", on_get, NULL, on_error },
	{ "GET", "/get", on_get, NULL, on_error },
	{ "GET", "/plain", on_get, NULL, NULL },
	{ "GET", "/other/{x}", on_get, NULL, on_other_error },
	{ 0 },
};

static struct http_fixture f;

static void start(void)
{
	handled = 0;
	http_fixture_init(&f);
}

static void stop(void)
{
	http_fixture_stop(&f);
}

TestSuite(http_text, .init = start, .fini = stop, .timeout = 60);

static int dial(void)
{
	return http_fixture_dial(&f, STRANGER);
}

static void say_bytes(int fd, const char *bytes, size_t len)
{
	cr_assert(dial_send(fd, bytes, len, DIAL_PATIENCE_MS));
}

static void say_post(int fd, const char *path, size_t length)
{
	char head[200];

	snprintf(head, sizeof(head), "POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: %zu\r\n\r\n", path, length);
	cr_assert(http_say(fd, head));
}

/* The answer closes. */
static void expect_answer(int fd, int status, const char *said)
{
	struct http_result r = http_hear(fd);
	char               value[32];

	cr_expect_eq(r.status, status, "%d, not %d: %s", r.status, status, r.body);
	if (said)
		cr_expect(strstr(r.body, said), "\"%s\", not \"%s\"", r.body, said);
	cr_expect_str_eq(http_result_header(&r, "Connection", value, sizeof(value)), "close");
	cr_expect(http_is_closed(fd));
	http_result_free(&r);
	close(fd);
}

/* Without a reset behind it, which elsewhere than here may destroy the answer before it is read. */
static void expect_whole_answer(int fd, int status)
{
	struct http_result r     = http_hear(fd);
	int                error = 0;
	socklen_t          len   = sizeof(error);

	cr_expect_eq(r.status, status, "%d, not %d: %s", r.status, status, r.body);
	cr_expect(http_is_closed(fd));
	real_sleep_ms(100);
	cr_expect_eq(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len), 0);
	cr_expect_eq(error, 0, "%s", strerror(error));
	http_result_free(&r);
	close(fd);
}

static void expect_error(int fd, int status, enum err e)
{
	expect_answer(fd, status, err_name(e));
}

/* --- What comes --- */

Test(http_text, a_body_arrives_whole_and_its_answer_closes)
{
	http_fixture_start(&f, routes, NULL);
	int fd = dial();

	say_post(fd, "/text", 5);
	say_bytes(fd, "hello", 5);
	expect_answer(fd, 200, "olleh");
	cr_expect_eq(metric_get(M_HTTP_TRANSFERS), 0);
}

Test(http_text, an_empty_body_is_one)
{
	http_fixture_start(&f, routes, NULL);
	int fd = dial();

	say_post(fd, "/text", 0);
	expect_answer(fd, 200, "");
	cr_expect_eq(handled, 1);
}

Test(http_text, a_body_may_come_byte_by_byte)
{
	http_fixture_start(&f, routes, NULL);
	int  fd     = dial();
	char told[] = "0123456789abcdefghijklmnopqrstuvwxyz";

	say_post(fd, "/text", strlen(told));
	for (size_t i = 0; told[i]; i++) {
		say_bytes(fd, told + i, 1);
		real_sleep_ms(2);
	}
	expect_answer(fd, 200, "zyxwvutsrqponmlkjihgfedcba9876543210");
	cr_expect_eq(handled, 1);
}

Test(http_text, the_largest_body_is_taken_and_one_byte_more_is_not_read)
{
	http_fixture_start(&f, routes, NULL);
	AUTO(auto_free) char *most = malloc(TEXT_MAX);
	int                   fd   = dial();

	cr_assert_not_null(most);
	memset(most, 'x', TEXT_MAX);
	memcpy(most, "abc", 3);
	say_post(fd, "/text", TEXT_MAX);
	say_bytes(fd, most, TEXT_MAX);

	struct http_result r = http_hear(fd);

	cr_expect_eq(r.status, 200);
	cr_assert_eq(r.body_len, TEXT_MAX);
	cr_expect_str_eq(r.body + TEXT_MAX - 4, "xcba");
	http_result_free(&r);
	close(fd);

	fd = dial();
	say_post(fd, "/text", TEXT_MAX + 1);
	struct http_result refused = http_hear(fd); /* before any byte of the body */

	cr_expect_eq(refused.status, 413);
	cr_expect(strstr(refused.body, "TOO_BIG"));
	http_result_free(&refused);
	close(fd);
	cr_expect_eq(handled, 1);
}

Test(http_text, nul_bytes_are_part_of_a_body)
{
	http_fixture_start(&f, routes, NULL);
	int fd = dial();

	say_post(fd, "/text", 4);
	say_bytes(fd, "a\0b", 4);
	struct http_result r = http_hear(fd);

	cr_expect_eq(r.status, 200);
	cr_assert_eq(r.body_len, 4);
	cr_expect_arr_eq(r.body, "\0b\0a", 4);
	http_result_free(&r);
	close(fd);
}

Test(http_text, bytes_behind_the_length_are_ignored)
{
	http_fixture_start(&f, routes, NULL);
	static const char behind[] = "\r\nPOST /text HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx";
	int               fd       = dial();

	say_post(fd, "/text", 5);
	say_bytes(fd, "hello", 5);
	say_bytes(fd, behind, sizeof(behind) - 1);
	expect_answer(fd, 200, "olleh");

	/* All in one piece, and so much that the answer would be destroyed if it were left unread. */
	AUTO(auto_free) char *much = calloc(1, 500000);
	cr_assert_not_null(much);
	int len = snprintf(much, 1000, "POST /text HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nworld%s", behind);
	cr_assert_gt(len, 0);
	fd = dial();
	say_bytes(fd, much, 500000);
	expect_whole_answer(fd, 200);
	cr_expect_eq(handled, 2);
}

Test(http_text, who_sends_a_body_without_a_length_hears_why_it_is_refused)
{
	AUTO(auto_free) char *much = calloc(1, 500000);
	int                   fd;

	http_fixture_start(&f, routes, NULL);
	cr_assert_not_null(much);
	strcpy(much, "POST /text HTTP/1.1\r\nHost: a\r\n\r\n");
	fd = dial();
	say_bytes(fd, much, 500000);
	expect_whole_answer(fd, 413);
	cr_expect_eq(handled, 0);
}

Test(http_text, a_handler_may_fail)
{
	http_fixture_start(&f, routes, NULL);
	int fd = dial();

	say_post(fd, "/text", 4);
	say_bytes(fd, "fail", 4);
	expect_error(fd, 409, ERR_CONFLICT);
}

Test(http_text, who_waits_for_100_continue_gets_it_unless_he_is_refused)
{
	http_fixture_start(&f, routes, NULL);
	int fd = dial();

	http_say(fd, "POST /text HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
	struct http_result go_on = http_hear_head(fd);

	cr_expect_eq(go_on.status, 100);
	http_result_free(&go_on);
	say_bytes(fd, "ab", 2);
	expect_answer(fd, 200, "ba");

	fd = dial();
	http_say(fd, "POST /text HTTP/1.1\r\nHost: a\r\nContent-Length: 65537\r\nExpect: 100-continue\r\n\r\n");
	expect_error(fd, 413, ERR_TOO_BIG);
}

Test(http_text, http_1_0_and_a_request_without_host_are_served)
{
	static const char *const heads[] = {
		"POST /text HTTP/1.0\r\nContent-Length: 2\r\n\r\nab",
		"POST /text HTTP/1.0\r\nHost: a\r\nContent-Length: 2\r\n\r\nab",
		"POST /text HTTP/1.1\r\nContent-Length: 2\r\n\r\nab",
		"POST /text?x=1 HTTP/1.1\r\nContent-Length: 2\r\n\r\nab",
		"POST /text HTTP/1.1\r\nContent-Length: 002\r\n\r\nab",
	};

	http_fixture_start(&f, routes, NULL);
	for (size_t i = 0; i < COUNT_OF(heads); i++) {
		int fd = dial();

		http_say(fd, heads[i]);
		expect_answer(fd, 200, "ba");
	}
}

/* --- What is refused at its head --- */

Test(http_text, heads_without_a_good_length_are_refused_without_reading_more)
{
	static const struct {
		const char *fields;
		int         status;
		enum err    e;
	} rows[] = {
		{ "", 413, ERR_TOO_BIG },
		{ "Transfer-Encoding: chunked\r\n", 413, ERR_TOO_BIG },
		{ "Content-Length: 65537\r\n", 413, ERR_TOO_BIG },
		{ "Content-Length: 4294967296\r\n", 413, ERR_TOO_BIG },
		{ "Content-Length: 9223372036854775808\r\n", 413, ERR_TOO_BIG },
		{ "Content-Length: 18446744073709551615\r\n", 413, ERR_TOO_BIG },
		{ "Content-Length: 1\r\nContent-Length: 1\r\n", 400, ERR_MALFORMED },
		{ "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n", 400, ERR_MALFORMED },
		{ "Transfer-Encoding: gzip\r\n", 400, ERR_MALFORMED },
		{ "Transfer-Encoding: gzip, chunked\r\n", 400, ERR_MALFORMED },
		{ "Content-Length: 1\r\nHost: b\r\n", 400, ERR_MALFORMED },
		{ "Content-Length: 1\r\nX y: z\r\n", 400, ERR_MALFORMED },
	};

	http_fixture_start(&f, routes, NULL);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char head[300];
		int  fd = dial();

		snprintf(head, sizeof(head), "POST /text HTTP/1.1\r\nHost: a\r\n%s\r\n", rows[i].fields);
		cr_assert(http_say(fd, head));
		expect_error(fd, rows[i].status, rows[i].e);
	}
	cr_expect_eq(handled, 0);
}

/* The library's own answers, whatever the route's form; it says some of them with two heads. */
Test(http_text, a_length_that_the_library_does_not_take_is_refused_too)
{
	static const struct {
		const char *length;
		int         status;
	} rows[] = { { "-1", 400 }, { "x", 400 },  { "", 400 },
		     { "1x", 400 }, { "+1", 400 }, { "18446744073709551616", 413 } };

	http_fixture_start(&f, routes, NULL);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char head[300];
		int  len = snprintf(head, sizeof(head), "POST /text HTTP/1.1\r\nHost: a\r\nContent-Length: %s\r\n\r\nx",
		                    rows[i].length);
		struct http_result r = http_exchange(f.port, head, (size_t)len, DIAL_PATIENCE_MS);

		cr_expect_eq(r.status, rows[i].status, "%s: %d", rows[i].length, r.status);
		http_result_free(&r);
	}
	cr_expect_eq(handled, 0);
}

Test(http_text, a_head_over_the_limit_is_refused_in_the_form_of_its_path)
{
	static const struct {
		const char *line;
		int         status;
		const char *said;
	} rows[] = {
		{ "POST /text", 431, "HEAD_TOO_BIG" },      { "GET /text", 431, "HEAD_TOO_BIG" },
		{ "POST /elsewhere", 431, "HEAD_TOO_BIG" }, /* stray */
		{ "GET /elsewhere", 431, "nowhere" },       { "GET /other/x", 431, "other" },
	};
	enum { MOST = 16384 };
	AUTO(auto_free) char *head = malloc(MOST + 1024);

	cr_assert_not_null(head);
	f.stray_post = &stray;
	f.errors     = on_nowhere;
	http_fixture_start(&f, routes, NULL);
	cr_assert_eq(f.conf.limits.http_head, MOST);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		int fd = dial();

		snprintf(head, 100, "%s HTTP/1.1\r\nX: ", rows[i].line);
		size_t len = strlen(head);
		memset(head + len, 'x', MOST - len + 1);
		strcpy(head + MOST + 1, "\r\nContent-Length: 0\r\n\r\n");
		cr_assert(http_say(fd, head));
		expect_answer(fd, rows[i].status, rows[i].said);
	}
}

/* --- Time and memory --- */

Test(http_text, the_whole_request_has_one_deadline)
{
	http_fixture_start(&f, routes, NULL);
	int fd = dial();

	http_fixture_await_connections(1);
	http_fixture_advance(&f, 8000);
	say_post(fd, "/text", 10);
	say_bytes(fd, "abc", 3);
	real_sleep_ms(100);
	http_fixture_advance(&f, 4000); /* the machine may be slow */
	say_bytes(fd, "d", 1);
	cr_expect(http_is_silent(fd, 100));
	cr_expect_eq(metric_get(M_HTTP_REFUSED_LATE), 0);
	http_fixture_advance(&f, 3000);
	cr_expect(http_is_closed(fd), "15 s from the first byte, in the middle of the body");
	cr_expect_eq(metric_get(M_HTTP_REFUSED_LATE), 1);
	cr_expect_eq(handled, 0);
	close(fd);
	http_fixture_await_connections(0);
}

Test(http_text, a_body_that_breaks_off_is_forgotten)
{
	http_fixture_start(&f, routes, NULL);
	for (int i = 0; i < 20; i++) {
		int fd = dial();

		say_post(fd, "/text", 1000);
		say_bytes(fd, "some of it", 10);
		if (i % 2)
			dial_abort(fd);
		else
			close(fd);
	}
	http_fixture_await_connections(0);
	cr_expect_eq(handled, 0);
}

Test(http_text, what_a_length_promises_is_not_allocated)
{
	enum { CLIENTS = 16 };
	static const struct http_text large      = { .max = 64 << 20, .handle = on_text };
	static const struct http_body large_body = { .text = &large };
	const struct http_route       table[]    = { { "POST", "/large", NULL, &large_body, NULL }, { 0 } };
	int                           fds[CLIENTS];
	size_t                        before;

	http_fixture_start(&f, table, NULL);
	before = leaks_held_bytes();
	for (int i = 0; i < CLIENTS; i++) {
		fds[i] = dial();
		say_post(fds[i], "/large", 64 << 20);
		say_bytes(fds[i], "x", 1);
	}
	http_fixture_await_connections(CLIENTS);
	real_sleep_ms(200);

	cr_expect_lt(leaks_held_bytes() - before, 16u << 20);
	for (int i = 0; i < CLIENTS; i++)
		close(fds[i]);
	http_fixture_await_connections(0);
}

/* --- Strays --- */

Test(http_text, a_post_to_nowhere_is_judged_by_its_body_first)
{
	static const struct {
		const char *line;
		const char *body;
		int         status;
		const char *said;
	} rows[] = {
		{ "POST /elsewhere", "good", 404, "NOT_FOUND" },
		{ "POST /elsewhere", "bad", 400, "MALFORMED" },
		{ "POST /elsewhere", "", 400, "MALFORMED" },
		{ "POST /elsewhere", "12345678", 400, "MALFORMED" },
		{ "POST /elsewhere", "123456789", 413, "TOO_BIG" },
		{ "POST //else//where", "good", 404, "NOT_FOUND" },
		{ "POST /%2e/..", "bad", 400, "MALFORMED" },
		{ "POST *", "bad", 400, "MALFORMED" },
		{ "POST /get", "good", 404, "NOT_FOUND" },
		{ "POST /get", "bad", 400, "MALFORMED" },
		{ "POST /plain", "bad", 400, "MALFORMED" },
		{ "POST /other/x", "bad", 405, "other" }, /* whose part has a form of its own */
		{ "PUT /get", "bad", 404, "METHOD" },
		{ "PUT /elsewhere", "bad", 404, "nowhere" },
		{ "GET /elsewhere", "", 404, "nowhere" },
		{ "OPTIONS /elsewhere", "", 404, "nowhere" },
	};

	f.stray_post = &stray;
	f.errors     = on_nowhere;
	http_fixture_start(&f, routes, NULL);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char request[300];
		int  fd = dial();

		snprintf(request, sizeof(request), "%s HTTP/1.1\r\nHost: a\r\nContent-Length: %zu\r\n\r\n%s",
		         rows[i].line, strlen(rows[i].body), rows[i].body);
		cr_assert(http_say(fd, request));
		struct http_result r = http_hear(fd);
		char               allow[64];

		cr_expect_eq(r.status, rows[i].status, "%s %s: %d", rows[i].line, rows[i].body, r.status);
		cr_expect(strstr(r.body, rows[i].said), "%s %s: %s", rows[i].line, rows[i].body, r.body);
		http_result_header(&r, "Allow", allow, sizeof(allow));
		cr_expect_eq(allow[0] != '\0', rows[i].status == 405, "Allow is for 405: %s %s", rows[i].line, allow);
		http_result_free(&r);
		close(fd);
	}
}

Test(http_text, without_such_a_route_a_post_to_nowhere_is_not_found)
{
	http_fixture_start(&f, routes, NULL);
	int fd = dial();

	say_post(fd, "/elsewhere", 3);
	say_bytes(fd, "bad", 3);
	expect_answer(fd, 404, "there is nothing here");
	fd = dial();
	say_post(fd, "/get", 3);
	say_bytes(fd, "bad", 3);
	expect_error(fd, 404, ERR_METHOD);
}
