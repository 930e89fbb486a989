/*
 * Bodies of requests: what a part is told of them, over real sockets, by clients that send well, oddly, too much, too
 * little or not to the end. Every sink is memory that the part frees once: a leak or a second abort ends the run.
 */
#include "net/http.h"

#include "base/auto.h"
#include "base/metric.h"
#include "base/text.h"
#include "support/dial.h"
#include "support/http_fixture.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define STRANGER "127.0.0.2"
#define KIB      ((size_t)1024)
#define MIB      (1024 * KIB)

/* What a part holds for a body. */
struct sink {
	int64_t  length; /* as begin was told */
	uint64_t bytes;
	uint32_t sum;
	int64_t  fails_at; /* 0: never */
};

/* What the part was told; under the lock. */
static pthread_mutex_t told_lock  = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t  told_moved = PTHREAD_COND_INITIALIZER;
static struct {
	int      begins, ends, aborts;
	int      aborts_heard; /* with an answer to fill */
	enum err why;
	uint64_t bytes; /* that came in all */
} told;

static void tell(int *what)
{
	pthread_mutex_lock(&told_lock);
	(*what)++;
	pthread_cond_broadcast(&told_moved);
	pthread_mutex_unlock(&told_lock);
}

static void await(const int *what, int count)
{
	int64_t until = real_now_ms() + DIAL_PATIENCE_MS;

	pthread_mutex_lock(&told_lock);
	while (*what < count && real_now_ms() < until) {
		pthread_mutex_unlock(&told_lock);
		real_sleep_ms(1);
		pthread_mutex_lock(&told_lock);
	}
	pthread_mutex_unlock(&told_lock);
	cr_assert_geq(*what, count);
}

static uint32_t sum_of(uint32_t sum, const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		sum = sum * 31 + bytes[i];
	return sum;
}

/* ?refuse=error or answer; ?fail=N: data fails at the N-th byte. */
static enum err on_begin(void **out, struct http_answer *a, struct http_request *rq, int64_t length, void *part)
{
	const char  *refuse = http_query(rq, "refuse"), *fail = http_query(rq, "fail");
	struct sink *s;

	(void)part;
	tell(&told.begins);
	if (refuse && strcmp(refuse, "error") == 0)
		return ERR_QUOTA;
	if (refuse)
		return http_answer_error(a, 418, "teapot");
	s = calloc(1, sizeof(*s));
	if (!s)
		return ERR_NOMEM;
	s->length = length;
	if (fail)
		cr_assert_eq(text_to_int(&s->fails_at, fail, 1, INT64_MAX), ERR_OK);
	*out = s;
	return ERR_OK;
}

static enum err on_data(void *sink, const uint8_t *bytes, size_t len)
{
	struct sink *s = sink;

	s->sum = sum_of(s->sum, bytes, len);
	s->bytes += len;
	pthread_mutex_lock(&told_lock);
	told.bytes += len;
	pthread_mutex_unlock(&told_lock);
	return s->fails_at && s->bytes >= (uint64_t)s->fails_at ? ERR_CONTENT : ERR_OK;
}

static enum err on_end(struct http_answer *a, struct http_request *rq, void *sink, void *part)
{
	struct sink *s = sink;
	enum err     e = http_query(rq, "end") ? ERR_CONFLICT : ERR_OK;

	(void)part;
	if (e == ERR_OK) {
		a->body = malloc(100);
		if (!a->body)
			e = ERR_NOMEM;
		else
			snprintf(a->body, 100, "length %lld: %llu bytes, sum %u", (long long)s->length,
			         (unsigned long long)s->bytes, s->sum);
		a->body_len = a->body ? strlen(a->body) : 0;
		a->status   = 201;
	}
	free(s);
	tell(&told.ends);
	return e;
}

static void on_abort(struct http_answer *a, struct http_request *rq, void *sink, enum err why)
{
	free(sink);
	told.why = why;
	if (a) {
		tell(&told.aborts_heard);
		if (http_query(rq, "say"))
			(void)http_answer_error(a, 409, "said so");
	}
	tell(&told.aborts);
}

static enum err on_hello(struct http_answer *a, struct http_request *rq, void *part)
{
	static char text[] = "hello\n";

	(void)rq;
	(void)part;
	*a = (struct http_answer){ .status = 200, .body = text, .body_len = strlen(text), .is_static = true };
	return ERR_OK;
}

static const struct http_body upload = { on_begin, on_data, on_end, on_abort, NULL };

static const struct http_route routes[] = {
	{ "GET", "/hello", on_hello, NULL, NULL },
	{ "POST", "/hello", on_hello, NULL, NULL },
	{ "PUT", "/up", NULL, &upload, NULL },
	{ "PUT", "/up/{name}", NULL, &upload, NULL },
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

TestSuite(http_body, .init = prepare, .fini = finish);

static void start(void)
{
	http_fixture_start(&f, routes, NULL);
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

/* Bytes that differ from place to place. For free. */
static uint8_t *make_bytes(size_t len)
{
	uint8_t *bytes = malloc(len + 1);

	cr_assert_not_null(bytes);
	for (size_t i = 0; i < len; i++)
		bytes[i] = (uint8_t)(i * 7 + i / 251);
	return bytes;
}

/* What on_end says of a body of make_bytes. */
static void expect_stored(const struct http_result *r, int64_t length, size_t len)
{
	AUTO(auto_free) uint8_t *bytes = make_bytes(len);
	char                     want[100];

	snprintf(want, sizeof(want), "length %lld: %zu bytes, sum %u", (long long)length, len, sum_of(0, bytes, len));
	cr_expect_eq(r->status, 201);
	cr_expect_str_eq(r->body, want);
	cr_expect(has_header(r, "Connection", "close"));
}

/* Says a head, then this many bytes, and hears the answer. */
static struct http_result put(int fd, const char *head, size_t len)
{
	AUTO(auto_free) uint8_t *bytes = make_bytes(len);

	cr_assert(http_say(fd, head));
	dial_send(fd, bytes, len, DIAL_PATIENCE_MS);
	return http_hear(fd);
}

static int dial(void)
{
	return http_fixture_dial(&f, STRANGER);
}

static int status_of(const char *request)
{
	int fd = dial();

	http_say(fd, request);
	struct http_result r      = http_hear(fd);
	int                status = r.status;
	http_result_free(&r);
	close(fd);
	return status;
}

/* --- Bodies that come whole --- */

Test(http_body, bodies_arrive_whole)
{
	static const size_t rows[] = { 0, 1, 2, 1000, 8192, 16383, 16384, 16385, 300000 };
	char                head[200];

	start();
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		int fd = dial();

		snprintf(head, sizeof(head), "PUT /up HTTP/1.1\r\nHost: a\r\nContent-Length: %zu\r\n\r\n", rows[i]);
		AUTO(free_result) struct http_result r = put(fd, head, rows[i]);
		expect_stored(&r, (int64_t)rows[i], rows[i]);
		cr_expect(http_is_closed(fd));
		close(fd);
	}
	cr_expect_eq(told.begins, (int)COUNT_OF(rows));
	cr_expect_eq(told.ends, (int)COUNT_OF(rows));
	cr_expect_eq(told.aborts, 0);
	cr_expect_eq(metric_get(M_HTTP_TRANSFERS), 0);
}

Test(http_body, a_put_without_length_is_an_empty_body)
{
	start();
	int                                  fd = dial();
	AUTO(free_result) struct http_result r  = put(fd, "PUT /up HTTP/1.1\r\nHost: a\r\n\r\n", 0);

	expect_stored(&r, 0, 0);
	close(fd);
}

Test(http_body, chunks_of_any_size_arrive_whole)
{
	static const size_t rows[] = { 1, 2, 3, 7, 15, 16, 17, 255, 4096, 8191, 16384, 100000 };
	const size_t        len    = 50000;

	start();
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO(auto_free) uint8_t *bytes = make_bytes(len);
		AUTO(auto_free) char    *out   = malloc(len * 8);
		size_t                   n     = 0;
		int                      fd    = dial();

		cr_assert_not_null(out);
		for (size_t at = 0; at < len; at += rows[i]) {
			size_t piece = len - at < rows[i] ? len - at : rows[i];

			n += (size_t)sprintf(out + n, at % 2 ? "%zx\r\n" : "0%zX;ext=1\r\n", piece);
			memcpy(out + n, bytes + at, piece);
			n += piece + (size_t)sprintf(out + n + piece, "\r\n");
			if (n > len * 7)
				break;
		}
		if (rows[i] == 1) { /* too many of those: the first 1000 only */
			n = 0;
			for (size_t at = 0; at < 1000; at++)
				n += (size_t)sprintf(out + n, "1\r\n%c\r\n", 'a');
		}
		n += (size_t)sprintf(out + n, "0\r\nX-Trailer: 1\r\n\r\n");
		http_say(fd, "PUT /up HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
		cr_assert(dial_send(fd, out, n, DIAL_PATIENCE_MS));
		AUTO(free_result) struct http_result r = http_hear(fd);
		if (rows[i] == 1)
			cr_expect(strstr(r.body, "length -1: 1000 bytes"), "%s", r.body);
		else
			expect_stored(&r, -1, len);
		close(fd);
	}
	cr_expect_eq(told.aborts, 0);
}

Test(http_body, a_body_may_come_a_byte_at_a_time)
{
	static const char request[] = "PUT /up/x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
				      "3\r\nabc\r\n10;q=\"\"\r\n0123456789abcdef\r\n0\r\n\r\n";

	start();
	int fd = dial();
	for (size_t i = 0; i < strlen(request); i++)
		cr_assert(dial_send(fd, request + i, 1, DIAL_PATIENCE_MS));
	AUTO(free_result) struct http_result r = http_hear(fd);
	cr_expect_eq(r.status, 201);
	cr_expect(strstr(r.body, "19 bytes"));
	close(fd);
}

Test(http_body, an_error_of_the_end_is_the_answer)
{
	start();
	int fd = dial();
	AUTO(free_result)
	struct http_result r = put(fd, "PUT /up?end=1 HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n", 1000);

	cr_expect_eq(r.status, 409);
	cr_expect_eq(told.ends, 1);
	cr_expect_eq(told.aborts, 0);
	cr_expect(http_is_closed(fd));
	close(fd);
}

/* --- Refused at the head --- */

Test(http_body, heads_that_say_two_lengths_are_refused_unseen)
{
	static const char *const rows[] = {
		"Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
		"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
		"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
		"Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
		"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
		"Transfer-Encoding: gzip, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
		"Transfer-Encoding: Chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
		"Transfer-Encoding: identity\r\n\r\nhello",
		"Content-Length: 5, 5\r\n\r\nhello",
		"Content-Length: -5\r\n\r\nhello",
		"Content-Length : 5\r\n\r\nhello",
	};
	char request[300];

	start();
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		snprintf(request, sizeof(request), "PUT /up HTTP/1.1\r\nHost: a\r\n%s", rows[i]);
		cr_expect_eq(status_of(request), 400, "%s", rows[i]);
	}
	cr_expect_eq(status_of("PUT /up HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), 400,
	             "HTTP/1.0 knows no codings");
	cr_expect_eq(status_of("GET /up HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx"), 400);
	cr_expect_eq(status_of("POST /hello HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), 400,
	             "a route that takes no body");
	cr_expect_eq(told.begins, 0);
}

Test(http_body, a_route_without_body_answers_413)
{
	start();
	int fd = dial();
	AUTO(free_result)
	struct http_result r = put(fd, "POST /hello HTTP/1.1\r\nHost: a\r\nContent-Length: 600000\r\n\r\n", 600000);

	cr_expect_eq(r.status, 413);
	cr_expect(http_is_closed(fd));
	close(fd);
}

Test(http_body, a_refusal_is_heard_while_the_body_still_comes)
{
	static const struct {
		const char *query;
		int         status;
	} rows[] = { { "refuse=error", 507 }, { "refuse=answer", 418 } };
	char head[200];

	start();
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		int fd = dial();

		snprintf(head, sizeof(head), "PUT /up?%s HTTP/1.1\r\nHost: a\r\nContent-Length: 700000\r\n\r\n",
		         rows[i].query);
		AUTO(free_result) struct http_result r = put(fd, head, 700000);
		cr_expect_eq(r.status, rows[i].status);
		cr_expect(has_header(&r, "Connection", "close"));
		cr_expect(http_is_closed(fd));
		close(fd);
	}
	cr_expect_eq(told.begins, 2);
	cr_expect_eq(told.aborts + told.ends, 0, "what was refused has no sink");
	cr_expect_eq(metric_get(M_HTTP_TRANSFERS), 0);
}

/* --- Expect --- */

Test(http_body, a_client_that_asks_is_told_to_go_on_after_begin)
{
	start();
	int fd = dial();

	http_say(fd, "PUT /up HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
	AUTO(free_result) struct http_result first = http_hear_head(fd);
	cr_expect_eq(first.status, 100);
	cr_expect_eq(told.begins, 1);
	http_say(fd, "hello");
	AUTO(free_result) struct http_result r = http_hear(fd);
	cr_expect_eq(r.status, 201);
	cr_expect(strstr(r.body, "5 bytes"));
	close(fd);
}

Test(http_body, a_client_that_asks_is_refused_before_he_sends)
{
	start();
	int fd = dial();

	http_say(fd, "PUT /up?refuse=error HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
	             "Content-Length: 5000000\r\n\r\n");
	AUTO(free_result) struct http_result r = http_hear(fd);
	cr_expect_eq(r.status, 507, "and no 100 before it");
	cr_expect(http_is_closed(fd));
	close(fd);
}

/* --- Data that fails --- */

Test(http_body, when_data_fails_the_rest_is_dropped_and_the_error_answered)
{
	start();
	for (int say = 0; say < 2; say++) {
		int  fd = dial();
		char head[200];

		snprintf(head, sizeof(head),
		         "PUT /up?fail=1000%s HTTP/1.1\r\nHost: a\r\nContent-Length: 900000\r\n\r\n",
		         say ? "&say=1" : "");
		AUTO(free_result) struct http_result r = put(fd, head, 900000);
		cr_expect_eq(r.status, say ? 409 : 422);
		cr_expect(has_header(&r, "Connection", "close"));
		cr_expect(http_is_closed(fd));
		close(fd);
	}
	cr_expect_eq(told.aborts, 2);
	cr_expect_eq(told.aborts_heard, 2);
	cr_expect_eq(told.why, ERR_CONTENT);
	cr_expect_eq(told.ends, 0);
	cr_expect_lt(told.bytes, 300000, "no data after the failure, but for what was read with it");
}

/* Sends a body whose first byte is refused; 0: the connection went without an answer. */
static int status_of_rest(const char *length, size_t rest, bool chunked)
{
	AUTO(auto_free) uint8_t *bytes = make_bytes(rest);
	char                     text[200];
	int                      fd = dial();

	if (chunked)
		snprintf(text, sizeof(text),
		         "PUT /up?fail=1 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n");
	else
		snprintf(text, sizeof(text), "PUT /up?fail=1 HTTP/1.1\r\nHost: a\r\nContent-Length: %s\r\n\r\nx",
		         length);
	http_say(fd, text);
	await(&told.aborts, 1); /* the first byte alone has failed */
	if (chunked) {
		snprintf(text, sizeof(text), "%zx\r\n", rest);
		http_say(fd, text);
	}
	dial_send(fd, bytes, rest, DIAL_PATIENCE_MS);
	if (chunked)
		http_say(fd, "\r\n0\r\n\r\n");
	struct http_result r      = http_hear(fd);
	int                status = r.status;
	http_result_free(&r);
	close(fd);
	return status;
}

Test(http_body, sixteen_megabytes_are_dropped_for_the_sake_of_the_answer_and_no_more)
{
	char length[30];

	start();
	for (int over = 0; over < 2; over++) {
		size_t rest = 16 * MIB + (size_t)over;

		told.aborts = 0;
		snprintf(length, sizeof(length), "%zu", rest + 1);
		cr_expect_eq(status_of_rest(length, rest, false), over ? 0 : 422, "%zu bytes left", rest);
		told.aborts = 0;
		cr_expect_eq(status_of_rest(NULL, rest, true), over ? 0 : 422, "%zu bytes left in chunks", rest);
	}
}

/* --- Bodies that do not come whole --- */

Test(http_body, a_client_that_breaks_off_aborts_his_upload_once)
{
	static const char *const rows[] = {
		"PUT /up HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n",
		"PUT /up HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nhalf",
		"PUT /up HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1000\r\n\r\n",
		"PUT /up HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
		"PUT /up HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
		"PUT /up HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
		"PUT /up HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n",
	};
	int count = 0;

	start();
	for (int how = 0; how < 3; how++) {
		for (size_t i = 0; i < COUNT_OF(rows); i++) {
			int fd = dial();

			http_say(fd, rows[i]);
			await(&told.begins, ++count);
			if (how == 0)
				close(fd);
			else if (how == 1)
				dial_abort(fd);
			else
				shutdown(fd, SHUT_WR);
			await(&told.aborts, count);
			if (how == 2) {
				cr_expect(strstr(rows[i], "Expect") || http_is_closed(fd), "%s", rows[i]);
				close(fd);
			}
			cr_expect_eq(told.why, ERR_CLOSED);
		}
	}
	http_fixture_await_connections(0);
	cr_expect_eq(told.aborts, count, "once each");
	cr_expect_eq(told.aborts_heard, 0);
	cr_expect_eq(told.ends, 0);
	cr_expect_eq(metric_get(M_HTTP_TRANSFERS), 0);
}

Test(http_body, bytes_beyond_the_length_are_no_second_request)
{
	start();
	int fd = dial();

	http_say(fd, "PUT /up HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"
	             "PUT /up HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello");
	AUTO(free_result) struct http_result r = http_hear(fd);
	cr_expect_eq(r.status, 201);
	cr_expect(http_is_closed(fd));
	cr_expect_eq(told.begins, 1);
	close(fd);
}

Test(http_body, malformed_chunks_abort_the_upload)
{
	static const char *const rows[] = {
		"x\r\nhello\r\n0\r\n\r\n",   "-1\r\nhello\r\n0\r\n\r\n",
		"5\r\nhelloXX0\r\n\r\n",     "ffffffffffffffffff\r\nhello\r\n0\r\n\r\n",
		"5 5\r\nhello\r\n0\r\n\r\n",
	};
	char request[300];

	start();
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		snprintf(request, sizeof(request),
		         "PUT /up HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n%s", rows[i]);
		int status = status_of(request);
		cr_expect(status == 400 || status == 413 || status == 0, "%s: %d", rows[i], status);
	}
	await(&told.aborts, (int)COUNT_OF(rows));
	cr_expect_eq(told.aborts, (int)COUNT_OF(rows));
	cr_expect_eq(told.ends, 0);
}

Test(http_body, the_end_of_the_server_aborts_uploads)
{
	start();
	int fd = dial();

	http_say(fd, "PUT /up HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nhalf");
	await(&told.begins, 1);
	http_fixture_stop(&f);
	cr_expect_eq(told.aborts, 1);
	close(fd);
}

/* Counted are the path and the lines with their ends. */
static int status_of_head(size_t bytes)
{
	static const char     first[] = "GET /nothing HTTP/1.1\r\n", host[] = "Host: a\r\n";
	AUTO(auto_free) char *line = malloc(bytes + 1);
	int                   fd   = dial();

	cr_assert_not_null(line);
	memset(line, 'a', bytes);
	line[bytes - strlen("/nothing") - strlen(host) - strlen("X: \r\n")] = '\0';
	http_say(fd, first);
	http_say(fd, host);
	http_say(fd, "X: ");
	http_say(fd, line);
	http_say(fd, "\r\n\r\n");
	struct http_result r      = http_hear(fd);
	int                status = r.status;
	http_result_free(&r);
	close(fd);
	return status;
}

Test(http_body, a_head_of_just_the_limit_is_read_and_one_byte_more_is_431)
{
	start();
	cr_expect_eq(status_of_head(16384), 404);
	cr_expect_eq(status_of_head(16385), 431);
	cr_expect_eq(status_of_head(65536), 431);
}

Test(http_body, a_megabyte_of_head_is_431)
{
	AUTO(auto_free) char *line = malloc(MIB + 1);

	cr_assert_not_null(line);
	memset(line, 'a', MIB);
	line[MIB] = '\0';
	start();
	int fd = dial();
	http_say(fd, "PUT /up HTTP/1.1\r\nHost: a\r\nX: ");
	http_say(fd, line);
	AUTO(free_result) struct http_result r = http_hear(fd);
	cr_expect_eq(r.status, 431);
	cr_expect_eq(told.begins, 0);
	close(fd);
}
