/*
 * Answers that are made while they are sent: whole, in part, broken off, and what follows on the connection.
 */
#include "net/http.h"

#include "base/auto.h"
#include "base/metric.h"
#include "base/text.h"
#include "support/dial.h"
#include "support/http_fixture.h"

#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define STRANGER "127.0.0.2"
#define ETAG     "\"7-0123456789abcdef\""
#define BYTES    ((uint64_t)1000)
#define BIG      ((uint64_t)16 << 20) /* more than all buffers between two sockets */

/* A stream of bytes that can be told from their place. */
struct source {
	uint64_t bytes, fails_at; /* fails_at 0: never */
	size_t   piece;           /* at most so many at once; 0: as many as asked for */
};

static atomic_int    opened, freed;
static atomic_size_t largest; /* that was asked for at once */

static uint8_t byte_at(uint64_t at)
{
	return (uint8_t)(at * 7 + at / 251);
}

static ssize_t on_read(void *arg, uint64_t at, void *out, size_t cap)
{
	struct source *s = arg;
	uint8_t       *p = out;
	size_t         n = s->piece && s->piece < cap ? s->piece : cap;

	cr_assert(at < s->bytes && n > 0 && n <= s->bytes - at, "%zu bytes at %llu", n, (unsigned long long)at);
	if (cap > largest)
		largest = cap;
	if (s->fails_at && at + n > s->fails_at)
		return -1;
	for (size_t i = 0; i < n; i++)
		p[i] = byte_at(at + i);
	return (ssize_t)n;
}

static void on_free(void *arg)
{
	free(arg);
	freed++;
}

static enum err answer(struct http_answer *a, uint64_t bytes, uint64_t fails_at, size_t piece)
{
	struct source *s = malloc(sizeof(*s));

	if (!s)
		return ERR_NOMEM;
	*s = (struct source){ .bytes = bytes, .fails_at = fails_at, .piece = piece };
	opened++;
	http_answer_stream(a, &(struct http_stream){ .bytes = bytes, .read = on_read, .free = on_free, .arg = s });
	a->status = 200;
	a->type   = "application/octet-stream";
	http_answer_field(a, "ETag", "%s", ETAG);
	return ERR_OK;
}

static enum err on_small(struct http_answer *a, struct http_request *rq, void *part)
{
	enum err e = answer(a, BYTES, 0, 0);

	(void)part;
	if (e == ERR_OK)
		http_answer_range(a, rq, ETAG);
	return e;
}

static enum err on_big(struct http_answer *a, struct http_request *rq, void *part)
{
	enum err e = answer(a, BIG, 0, 0);

	(void)part;
	if (e == ERR_OK)
		http_answer_range(a, rq, ETAG);
	return e;
}

static enum err on_pieces(struct http_answer *a, struct http_request *rq, void *part)
{
	(void)rq;
	(void)part;
	return answer(a, 20000, 0, 77);
}

static enum err on_empty(struct http_answer *a, struct http_request *rq, void *part)
{
	enum err e = answer(a, 0, 0, 0);

	(void)part;
	if (e == ERR_OK)
		http_answer_range(a, rq, ETAG);
	return e;
}

static enum err on_broken(struct http_answer *a, struct http_request *rq, void *part)
{
	(void)rq;
	(void)part;
	return answer(a, 1000000, 500000, 1000);
}

static enum err on_broken_at_once(struct http_answer *a, struct http_request *rq, void *part)
{
	(void)rq;
	(void)part;
	return answer(a, 10, 1, 0);
}

static enum err errors(struct http_answer *a, struct http_request *rq, enum err e)
{
	char text[100];

	(void)rq;
	text_format(text, sizeof(text), "code %s", err_rest(e));
	return http_answer_error(a, err_http(e), text);
}

static const struct http_route routes[] = {
	{ "GET", "/small", on_small, NULL, errors },
	{ "POST", "/small", on_small, NULL, errors },
	{ "GET", "/big", on_big, NULL, NULL },
	{ "GET", "/pieces", on_pieces, NULL, NULL },
	{ "GET", "/empty", on_empty, NULL, errors },
	{ "GET", "/broken", on_broken, NULL, NULL },
	{ "GET", "/broken-at-once", on_broken_at_once, NULL, NULL },
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
	cr_expect_eq(freed, opened, "every stream is freed once");
	cr_expect_eq(metric_get(M_HTTP_TRANSFERS), 0);
}

TestSuite(http_stream, .init = prepare, .fini = finish);

static int start(void)
{
	http_fixture_start(&f, routes, NULL);
	return http_fixture_dial(&f, STRANGER);
}

static void free_result(struct http_result *r)
{
	http_result_free(r);
}

static bool has_header(const struct http_result *r, const char *name, const char *value)
{
	char found[200];

	return strcmp(http_result_header(r, name, found, sizeof(found)), value) == 0;
}

static void expect_bytes(const struct http_result *r, uint64_t first, size_t len)
{
	cr_assert_eq(r->body_len, len);
	for (size_t i = 0; i < len; i++)
		cr_assert_eq((uint8_t)r->body[i], byte_at(first + i), "at %zu", i);
}

/* One request on this connection; more are further lines of its head, each with its end. */
static struct http_result ask(int fd, const char *method, const char *path, const char *more)
{
	char request[600];

	cr_assert(text_format(request, sizeof(request), "%s %s HTTP/1.1\r\nHost: a\r\n%s\r\n", method, path, more));
	cr_assert(http_say(fd, request));
	return strcmp(method, "HEAD") == 0 ? http_hear_head(fd) : http_hear(fd);
}

/* --- Whole --- */

Test(http_stream, a_stream_arrives_whole_and_keeps_the_connection)
{
	int fd = start();

	for (int i = 0; i < 3; i++) {
		AUTO(free_result) struct http_result r = ask(fd, "GET", "/small", "");
		cr_expect_eq(r.status, 200);
		cr_expect(has_header(&r, "Content-Length", "1000"));
		cr_expect(has_header(&r, "Content-Type", "application/octet-stream"));
		cr_expect(has_header(&r, "ETag", ETAG));
		cr_expect(has_header(&r, "Accept-Ranges", "bytes"));
		cr_expect(has_header(&r, "Connection", ""));
		expect_bytes(&r, 0, BYTES);
	}
	close(fd);
}

Test(http_stream, a_large_one_comes_in_blocks)
{
	int                                  fd = start();
	AUTO(free_result) struct http_result r  = ask(fd, "GET", "/big", "");

	expect_bytes(&r, 0, BIG);
	cr_expect_leq(largest, 256 * 1024);
	AUTO(free_result) struct http_result again = ask(fd, "GET", "/small", "");
	expect_bytes(&again, 0, BYTES);
	close(fd);
}

Test(http_stream, short_reads_are_put_together)
{
	int                                  fd = start();
	AUTO(free_result) struct http_result r  = ask(fd, "GET", "/pieces", "");

	expect_bytes(&r, 0, 20000);
	close(fd);
}

Test(http_stream, an_empty_one_is_an_answer_too)
{
	int                                  fd = start();
	AUTO(free_result) struct http_result r  = ask(fd, "GET", "/empty", "");

	cr_expect_eq(r.status, 200);
	cr_expect(has_header(&r, "Content-Length", "0"));
	AUTO(free_result) struct http_result range = ask(fd, "GET", "/empty", "Range: bytes=0-\r\n");
	cr_expect_eq(range.status, 416);
	cr_expect(has_header(&range, "Content-Range", "bytes */0"));
	close(fd);
}

Test(http_stream, requests_in_one_go_are_answered_in_order)
{
	int fd = start();

	http_say(fd, "GET /small HTTP/1.1\r\nHost: a\r\n\r\n"
	             "GET /small HTTP/1.1\r\nHost: a\r\nRange: bytes=5-9\r\n\r\n"
	             "GET /pieces HTTP/1.1\r\nHost: a\r\n\r\n");
	AUTO(free_result) struct http_result first = http_hear(fd);
	expect_bytes(&first, 0, BYTES);
	AUTO(free_result) struct http_result second = http_hear(fd);
	cr_expect_eq(second.status, 206);
	expect_bytes(&second, 5, 5);
	AUTO(free_result) struct http_result third = http_hear(fd);
	expect_bytes(&third, 0, 20000);
	close(fd);
}

Test(http_stream, head_says_the_length_and_sends_nothing)
{
	int fd = start();

	for (int i = 0; i < 2; i++) {
		AUTO(free_result) struct http_result r = ask(fd, "HEAD", "/big", i ? "Range: bytes=0-9\r\n" : "");
		cr_expect_eq(r.status, 200, "a range is for GET");
		cr_expect(has_header(&r, "Content-Length", "16777216"));
		cr_expect(has_header(&r, "ETag", ETAG));
	}
	AUTO(free_result) struct http_result r = ask(fd, "GET", "/small", "");
	expect_bytes(&r, 0, BYTES);
	cr_expect_eq(largest, BYTES, "nothing of the big one was read");
	close(fd);
}

Test(http_stream, an_answer_to_a_post_closes)
{
	int                                  fd = start();
	AUTO(free_result) struct http_result r  = ask(fd, "POST", "/small", "Range: bytes=0-9\r\n");

	cr_expect_eq(r.status, 200, "a range is for GET");
	expect_bytes(&r, 0, BYTES);
	cr_expect(has_header(&r, "Connection", "close"));
	cr_expect(http_is_closed(fd));
	close(fd);
}

/* --- In part --- */

Test(http_stream, a_range_is_served)
{
	static const struct {
		const char *range, *content;
		uint64_t    first;
		size_t      count;
	} rows[] = {
		{ "bytes=0-0", "bytes 0-0/1000", 0, 1 },        { "bytes=0-999", "bytes 0-999/1000", 0, 1000 },
		{ "bytes=999-", "bytes 999-999/1000", 999, 1 }, { "bytes=500-2000", "bytes 500-999/1000", 500, 500 },
		{ "bytes=-10", "bytes 990-999/1000", 990, 10 }, { "bytes=10-20", "bytes 10-20/1000", 10, 11 },
	};
	int fd = start();

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char field[100];

		snprintf(field, sizeof(field), "Range: %s\r\nIf-Range: " ETAG "\r\n", rows[i].range);
		AUTO(free_result) struct http_result r = ask(fd, "GET", "/small", field);
		cr_expect_eq(r.status, 206, "%s", rows[i].range);
		cr_expect(has_header(&r, "Content-Range", rows[i].content), "%s", r.head);
		cr_expect(has_header(&r, "Connection", ""));
		expect_bytes(&r, rows[i].first, rows[i].count);
	}
	close(fd);
}

Test(http_stream, a_range_far_inside_a_large_one)
{
	int                                  fd = start();
	AUTO(free_result) struct http_result r  = ask(fd, "GET", "/big", "Range: bytes=10000000-10999999\r\n");

	cr_expect_eq(r.status, 206);
	expect_bytes(&r, 10000000, 1000000);
	close(fd);
}

Test(http_stream, what_is_no_range_gets_the_whole)
{
	static const char *const rows[] = {
		"Range: bytes=0-1,5-6\r\n",
		"Range: lines=0-1\r\n",
		"Range: bytes=5-4\r\n",
		"Range:\r\n",
		"Range: bytes=0-1\r\nRange: bytes=0-1\r\n",
		"Range: bytes=0-1\r\nIf-Range: \"8-0123456789abcdef\"\r\n",
		("Range: bytes=0-1\r\nIf-Range: W/" ETAG "\r\n"),
		"Range: bytes=0-1\r\nIf-Range: 7-0123456789abcdef\r\n",
		"Range: bytes=0-1\r\nIf-Range: Mon, 30 Nov 2026 00:00:00 GMT\r\n",
		"Range: bytes=0-1\r\nIf-Range:\r\n",
		("Range: bytes=0-1\r\nIf-Range: " ETAG "\r\nIf-Range: " ETAG "\r\n"),
		"Range: bytes=5000-\r\nIf-Range: \"other\"\r\n",
	};
	int fd = start();

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO(free_result) struct http_result r = ask(fd, "GET", "/small", rows[i]);
		cr_expect_eq(r.status, 200, "%s", rows[i]);
		cr_expect(has_header(&r, "Content-Range", ""));
		expect_bytes(&r, 0, BYTES);
	}
	close(fd);
}

Test(http_stream, a_range_beyond_the_end_is_an_error_of_the_route)
{
	int                                  fd = start();
	AUTO(free_result) struct http_result r  = ask(fd, "GET", "/small", "Range: bytes=1000-\r\n");

	cr_expect_eq(r.status, 416);
	cr_expect(has_header(&r, "Content-Range", "bytes */1000"));
	cr_expect(has_header(&r, "ETag", ""));
	cr_expect(has_header(&r, "Connection", "close"));
	cr_expect_str_eq(r.body, "{\"error\":\"code range\"}");
	cr_expect(http_is_closed(fd));
	close(fd);
}

/* --- Broken --- */

/* Reads what there is of a body; the number of bytes before the end or reset. */
static size_t drain(int fd)
{
	char    piece[4096];
	size_t  len   = 0;
	int64_t until = real_now_ms() + DIAL_PATIENCE_MS;

	for (;;) {
		ssize_t got = dial_read(fd, piece, sizeof(piece), until);

		cr_assert_neq(got, DIAL_LATE);
		if (got <= 0)
			return len;
		len += (size_t)got;
	}
}

Test(http_stream, a_stream_that_fails_breaks_the_connection)
{
	int fd = start();

	http_say(fd, "GET /broken HTTP/1.1\r\nHost: a\r\n\r\nGET /small HTTP/1.1\r\nHost: a\r\n\r\n");
	AUTO(free_result) struct http_result r = http_hear_head(fd);
	cr_expect_eq(r.status, 200);
	cr_expect(has_header(&r, "Content-Length", "1000000"));
	cr_expect_leq(drain(fd), 500000, "fewer than were promised, and nothing else");
	close(fd);

	fd = http_fixture_dial(&f, STRANGER);
	http_say(fd, "GET /broken-at-once HTTP/1.1\r\nHost: a\r\n\r\n");
	AUTO(free_result) struct http_result at_once = http_hear_head(fd);
	cr_expect_eq(at_once.status, 200);
	cr_expect_eq(drain(fd), 0);
	close(fd);
	http_fixture_await_connections(0);
}

Test(http_stream, a_client_that_goes_away_ends_his_stream)
{
	int fd = start();

	for (int i = 0; i < 4; i++) {
		http_say(fd, "GET /big HTTP/1.1\r\nHost: a\r\n\r\n");
		AUTO(free_result) struct http_result r = http_hear_head(fd);
		cr_expect_eq(r.status, 200);
		if (i % 2)
			dial_abort(fd);
		else
			close(fd);
		http_fixture_await_connections(0);
		cr_expect_eq(freed, i + 1);
		fd = http_fixture_dial(&f, STRANGER);
	}
	close(fd);
}

Test(http_stream, the_end_of_the_server_ends_streams)
{
	int fd = start();

	http_say(fd, "GET /big HTTP/1.1\r\nHost: a\r\n\r\n");
	AUTO(free_result) struct http_result r = http_hear_head(fd);
	cr_expect_eq(r.status, 200);
	http_fixture_stop(&f);
	cr_expect_eq(freed, 1);
	cr_expect_lt(drain(fd), BIG);
	close(fd);
}
