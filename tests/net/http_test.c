/*
 * What an HTTP server says, over real sockets. Its slots and deadlines are in http_table_test.c.
 */
#include "net/http.h"

#include "base/auto.h"
#include "base/metric.h"
#include "base/text.h"
#include "net/listen.h"
#include "support/dial.h"
#include "support/http_fixture.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define STRANGER "127.0.0.2"

static enum err on_hello(struct http_answer *a, struct http_request *rq, void *part)
{
	static char text[] = "hello\n";

	(void)rq;
	(void)part;
	*a = (struct http_answer){
		.status = 200, .type = "text/plain", .body = text, .body_len = strlen(text), .is_static = true
	};
	return ERR_OK;
}

/* Says what the handler is told about its request. */
static enum err on_mirror(struct http_answer *a, struct http_request *rq, void *part)
{
	const char *agent = http_header(rq, "user-agent");
	char        client[ADDR_TEXT_BYTES];

	(void)part;
	addr_text(client, http_client(rq));
	a->body = malloc(500);
	if (!a->body)
		return ERR_NOMEM;
	a->body_len = (size_t)snprintf(a->body, 500, "%s %s %s %s", http_method(rq), http_path(rq), client,
	                               agent ? agent : "-");
	a->status   = 200;
	a->type     = "text/plain";
	return ERR_OK;
}

static enum err on_store(struct http_answer *a, struct http_request *rq, void *part)
{
	(void)a;
	(void)rq;
	(void)part;
	return ERR_STORE;
}

static const struct http_route routes[] = {
	{ "GET", "/hello", on_hello, NULL, NULL },
	{ "GET", "/mirror", on_mirror, NULL, NULL },
	{ "GET", "/store", on_store, NULL, NULL },
	{ "PUT", "/mirror", on_mirror, NULL, NULL },
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

TestSuite(http, .init = prepare, .fini = finish);

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

/* One request on a connection of its own. */
static struct http_result ask_from(const char *from, const char *request)
{
	int fd = http_fixture_dial(&f, from);

	http_say(fd, request);
	struct http_result r = http_hear(fd);
	close(fd);
	return r;
}

static struct http_result ask(const char *request)
{
	return ask_from(STRANGER, request);
}

static int status_of(const char *request)
{
	struct http_result r      = ask(request);
	int                status = r.status;

	http_result_free(&r);
	return status;
}

Test(http, a_get_is_answered_and_the_connection_kept)
{
	start();
	int fd = http_fixture_dial(&f, STRANGER);

	http_say(fd, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
	AUTO(free_result) struct http_result r = http_hear(fd);
	cr_expect_eq(r.status, 200);
	cr_expect_str_eq(r.body, "hello\n");
	cr_expect(has_header(&r, "Content-Type", "text/plain"));
	cr_expect(has_header(&r, "Content-Length", "6"));
	cr_expect(has_header(&r, "Connection", ""));
	cr_expect_not(has_header(&r, "Date", ""));
	cr_expect(http_is_silent(fd, 20));
	close(fd);
}

Test(http, head_is_a_get_without_its_body)
{
	start();
	int fd = http_fixture_dial(&f, STRANGER);

	http_say(fd, "HEAD /hello HTTP/1.1\r\nHost: a\r\n\r\n");
	AUTO(free_result) struct http_result r = http_hear_head(fd);
	cr_expect_eq(r.status, 200);
	cr_expect(has_header(&r, "Content-Length", "6"));
	cr_expect(http_is_silent(fd, 20), "no body, no close");

	http_say(fd, "HEAD /nothing HTTP/1.1\r\nHost: a\r\n\r\n");
	AUTO(free_result) struct http_result error = http_hear_head(fd);
	cr_expect_eq(error.status, 404);
	cr_expect(http_is_closed(fd), "no body of an error either");
	close(fd);
}

Test(http, one_connection_serves_a_hundred_requests)
{
	start();
	int fd = http_fixture_dial(&f, STRANGER);

	for (int i = 0; i < 100; i++) {
		cr_assert(http_say(fd, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n"));
		AUTO(free_result) struct http_result r = http_hear(fd);
		cr_assert_eq(r.status, 200, "request %d", i);
		cr_assert_str_eq(r.body, "hello\n");
	}
	cr_expect_eq(metric_get(M_HTTP_CONNECTIONS), 1);
	close(fd);
	http_fixture_await_connections(0);
	cr_expect_eq(metric_get(M_HTTP_REQUESTS_2XX), 100);
}

Test(http, requests_sent_together_are_answered_in_turn)
{
	start();
	int fd = http_fixture_dial(&f, STRANGER);

	http_say(fd, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n"
	             "GET /mirror HTTP/1.1\r\nHost: a\r\nUser-Agent: x\r\n\r\n"
	             "GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n"
	             "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
	AUTO(free_result) struct http_result first  = http_hear(fd);
	AUTO(free_result) struct http_result second = http_hear(fd);
	AUTO(free_result) struct http_result third  = http_hear(fd);
	cr_expect_str_eq(first.body, "hello\n");
	cr_expect_str_eq(second.body, "GET /mirror " STRANGER " x");
	cr_expect_eq(third.status, 404);
	cr_expect(http_is_closed(fd), "an error ends the connection");
	close(fd);
}

Test(http, a_client_that_wants_a_close_gets_it)
{
	static const char *const rows[] = {
		"GET /hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
		"GET /hello HTTP/1.0\r\n\r\n",
		"PUT /mirror HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
	};

	start();
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		int fd = http_fixture_dial(&f, STRANGER);

		http_say(fd, rows[i]);
		AUTO(free_result) struct http_result r = http_hear(fd);
		cr_expect_eq(r.status, 200, "%s", rows[i]);
		cr_expect(has_header(&r, "Connection", "close"), "%s", rows[i]);
		cr_expect(http_is_closed(fd), "%s", rows[i]);
		close(fd);
	}
}

Test(http, a_handler_is_told_what_was_asked)
{
	start();
	AUTO(free_result)
	struct http_result r = ask("GET /mirror?a=%2f&b HTTP/1.1\r\nHost: a\r\nUser-Agent: x\r\n\r\n");
	cr_expect_str_eq(r.body, "GET /mirror " STRANGER " x", "without the query");

	AUTO(free_result)
	struct http_result two = ask("GET /mirror HTTP/1.1\r\nHost: a\r\nUser-Agent: x\r\nUser-Agent: "
	                             "y\r\n\r\n");
	cr_expect_str_eq(two.body, "GET /mirror " STRANGER " -", "of two lines, none counts");
}

Test(http, an_error_of_a_handler_is_told_in_json)
{
	start();
	int fd = http_fixture_dial(&f, STRANGER);

	http_say(fd, "GET /store HTTP/1.1\r\nHost: a\r\n\r\n");
	AUTO(free_result) struct http_result r = http_hear(fd);
	cr_expect_eq(r.status, 503);
	cr_expect(has_header(&r, "Content-Type", "application/json"));
	cr_expect(has_header(&r, "Cache-Control", "no-store"));
	cr_expect(has_header(&r, "Connection", "close"));
	cr_expect_str_eq(r.body,
	                 "{\"error\":\"the server cannot write to its disk; the operator should read its log\"}");
	cr_expect(http_is_closed(fd));
	close(fd);
	http_fixture_await_connections(0);
	cr_expect_eq(metric_get(M_HTTP_REQUESTS_5XX), 1);
}

Test(http, an_unknown_path_is_404_by_any_method)
{
	static const char *const rows[] = { "GET", "POST", "PUT", "DELETE", "OPTIONS", "get", "BREW" };
	char                     request[100];

	start();
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		snprintf(request, sizeof(request), "%s /nothing HTTP/1.1\r\nHost: a\r\n\r\n", rows[i]);
		cr_expect_eq(status_of(request), 404, "%s", rows[i]);
	}
	cr_expect_eq(status_of("GET /hello/ HTTP/1.1\r\nHost: a\r\n\r\n"), 404);
	cr_expect_eq(status_of("GET /Hello HTTP/1.1\r\nHost: a\r\n\r\n"), 404);
	cr_expect_eq(status_of("GET /hell HTTP/1.1\r\nHost: a\r\n\r\n"), 404);
}

Test(http, a_known_path_names_its_methods)
{
	start();
	AUTO(free_result) struct http_result hello = ask("POST /hello HTTP/1.1\r\nHost: a\r\n\r\n");
	cr_expect_eq(hello.status, 405);
	cr_expect(has_header(&hello, "Allow", "GET, HEAD"), "%s", hello.head);
	cr_expect_str_eq(hello.body, "{\"error\":\"this path does not take that method\"}");

	AUTO(free_result) struct http_result mirror = ask("DELETE /mirror HTTP/1.1\r\nHost: a\r\n\r\n");
	cr_expect_eq(mirror.status, 405);
	cr_expect(has_header(&mirror, "Allow", "GET, HEAD, PUT"), "%s", mirror.head);

	cr_expect_eq(status_of("get /hello HTTP/1.1\r\nHost: a\r\n\r\n"), 405, "methods are in capitals");
}

Test(http, odd_paths_are_404)
{
	static const char *const rows[] = {
		"/%68ello",    "/hello%00",      "/%2fhello",  "//hello", "/./hello",
		"/x/../hello", "/.hello",        "/hello\\",   "hello",   "*",
		"/hello/.",    "http://a/hello", "/hello%2f.", "/hello%", "/../hello",
	};
	char request[100];

	start();
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", rows[i]);
		cr_expect_eq(status_of(request), 404, "%s", rows[i]);
	}
}

Test(http, ambiguous_heads_are_400)
{
	static const char *const rows[] = {
		"PUT /mirror HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nhi",
		"PUT /mirror HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nhi",
		"PUT /mirror HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"PUT /mirror HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"PUT /mirror HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n",
		"GET /hello HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
		"GET /hello HTTP/1.1\r\nHost: a\r\nAuthorization: x\r\nAuthorization: x\r\n\r\n",
		"GET /hello HTTP/1.1\r\nHost: a\r\nX : y\r\n\r\n",
		"GET /hello HTTP/1.1\r\nHost: a\r\nContent-Length : 0\r\n\r\n",
		"GET /hello HTTP/1.1\r\nHost: a\r\nX\r\n\r\n",
		"GET /hello HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi",
		"HEAD /hello HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi",
		"GET /hello HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"GET /hello HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
		"GET /hello HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\n",
	};

	start();
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		int fd = http_fixture_dial(&f, STRANGER);

		http_say(fd, rows[i]);
		AUTO(free_result) struct http_result r = http_hear_head(fd);
		cr_expect_eq(r.status, 400, "%s", rows[i]);
		cr_expect(has_header(&r, "Connection", "close"), "%s", rows[i]);
		close(fd);
	}
}

/* What a request is answered whose first * stands for this byte. */
static int status_with_byte(const char *request, char byte)
{
	char   copy[500];
	size_t len = strlen(request);
	char  *star;
	int    fd = http_fixture_dial(&f, STRANGER);

	cr_assert(text_copy(copy, sizeof(copy), request));
	star = strchr(copy, '*');
	cr_assert_not_null(star);
	*star = byte;
	cr_assert(dial_send(fd, copy, len, DIAL_PATIENCE_MS));
	AUTO(free_result) struct http_result r = http_hear_head(fd);
	close(fd);
	return r.status;
}

Test(http, a_nul_anywhere_in_a_head_is_400)
{
	static const char *const rows[] = {
		"GET* /hello HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET*T /hello HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET */hello HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /hello* HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /hello*/more HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /hello*?x=1 HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /hello?x*=1 HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /hello?x=1* HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /hello?x=*1&y=2 HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /hello* HTTP/1.1\r\n\r\n",
		"GET /hello H*TTP/1.1\r\nHost: a\r\n\r\n",
		"GET /hello HTTP/1.1*\r\nHost: a\r\n\r\n",
		"GET /hello HTTP/1.1\r\n*Host: a\r\n\r\n",
		"GET /hello HTTP/1.1\r\nHost*: a\r\n\r\n",
		"GET /hello HTTP/1.1\r\nHost:* a\r\nX: y\r\n\r\n",
		"GET /hello HTTP/1.1\r\nHost: a*\r\nX: y\r\n\r\n",
		"GET /hello HTTP/1.1\r\nHost: a\r\nX: *\r\n\r\n",
		"GET /hello HTTP/1.1\r\nHost: a\r\nX: y*\r\n\r\n",
		"GET /hello HTTP/1.1\r\nHost: a\r\nX: y*z\r\n\r\n",
		"GET /hello HTTP/1.1\nHost: a\nX: y*z\n\n",
		"GET /hello HTTP/1.1\r\nHost: a\r\nUser-Agent: y*z\r\nX: y\r\n\r\n",
		"GET /hello HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer 00*11\r\n\r\n",
		"GET /hello HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 9.9.9.9*, 8.8.8.8\r\n\r\n",
		"PUT /mirror HTTP/1.1\r\nHost: a\r\nCoop-Meta: {}*x\r\nContent-Length: 0\r\n\r\n",
	};

	start();
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		cr_expect_eq(status_with_byte(rows[i], '\0'), 400, "%s", rows[i]);
	cr_expect_eq(status_with_byte("GET /hello HTTP/1.1\r\nHost: a\r\nX: y*z\r\n\r\n", '\r'), 400, "a bare CR");
	cr_expect_eq(status_of("GET /hello HTTP/1.1\r\nHost: a\r\nX: y\r\n z\r\n\r\n"), 400, "a folded line");
	cr_expect_eq(status_of("GET  /hello HTTP/1.1\r\nHost: a\r\n\r\n"), 400, "two blanks");
}

Test(http, ordinary_heads_are_whole)
{
	static const char *const rows[] = {
		"GET /hello?a=b&c=&d HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /hello? HTTP/1.1\r\nHost: a\r\nX:\r\nY:z\r\nZ: \t \r\n\r\n",
		"GET /hello HTTP/1.1\nHost: a\nX: y\n\n",
		"GET /hello HTTP/1.1\r\nHost: a\nX: y\r\n\n",
		"\r\nGET /hello HTTP/1.1\r\nHost: a\r\nCookie: a=b; c=d\r\n\r\n",
		"HEAD /hello HTTP/1.1\r\nHost: a\r\nX: y  \r\nHost2:  \tz\r\n\r\n",
		"GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
	};

	start();
	int fd = http_fixture_dial(&f, STRANGER);

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		cr_assert(http_say(fd, rows[i]));
		AUTO(free_result) struct http_result r = rows[i][0] == 'H' ? http_hear_head(fd) : http_hear(fd);
		cr_expect_eq(r.status, 200, "%s", rows[i]);
	}
	close(fd);
	fd = http_fixture_dial(&f, STRANGER);
	for (const char *at = rows[0]; *at; at++)
		cr_assert(dial_send(fd, at, 1, DIAL_PATIENCE_MS));
	AUTO(free_result) struct http_result slow = http_hear(fd);
	cr_expect_eq(slow.status, 200, "byte by byte");
	close(fd);
	cr_expect_eq(status_of("GET /hello HTTP/1.0\r\n\r\n"), 200, "no line at all");
}

Test(http, blanks_behind_a_value_are_no_part_of_it)
{
	start();
	AUTO(free_result)
	struct http_result r = ask("GET /mirror HTTP/1.1\r\nHost: a \r\nUser-Agent: \t my agent \t \r\n\r\n");
	cr_expect_str_eq(r.body, "GET /mirror " STRANGER " my agent");
	AUTO(free_result)
	struct http_result proxy =
		ask_from(HTTP_FIXTURE_PROXY, "GET /mirror HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 9.9.9.9\t\r\n\r\n");
	cr_expect_str_eq(proxy.body, "GET /mirror 9.9.9.9 -");
	cr_expect_eq(status_of("GET /hello HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked \r\n\r\n0\r\n\r\n"), 400);
}

Test(http, a_second_request_cannot_hide_behind_a_refused_one)
{
	start();
	int fd = http_fixture_dial(&f, STRANGER);

	http_say(fd,
	         "GET /hello HTTP/1.1\r\nHost: a\r\nContent-Length: 40\r\n\r\nGET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
	AUTO(free_result) struct http_result r = http_hear(fd);
	cr_expect_eq(r.status, 400);
	cr_expect(http_is_closed(fd));
	close(fd);
}

/* The answer must arrive although its server has not read all that came. */
static void expect_answer_to_flood(const char *head, size_t flood, int status)
{
	size_t head_len = strlen(head), len = head_len + flood;
	char  *request = malloc(len);

	cr_assert_not_null(request);
	memcpy(request, head, head_len);
	memset(request + head_len, 'x', flood);
	struct http_result r = http_exchange(f.port, request, len, DIAL_PATIENCE_MS);
	cr_expect_eq(r.status, status, "%zu bytes after %s", flood, head);
	http_result_free(&r);
	free(request);
}

Test(http, what_a_refused_client_still_sends_is_no_reason_for_a_reset)
{
	static char body[300000];
	char        byte;

	start();
	int fd = http_fixture_dial(&f, STRANGER);

	http_say(fd, "POST /hello HTTP/1.1\r\nHost: a\r\nContent-Length: 600000\r\n\r\n");
	cr_expect(dial_send(fd, body, sizeof(body), DIAL_PATIENCE_MS));
	AUTO(free_result) struct http_result r = http_hear(fd);
	cr_expect_eq(r.status, 405);
	real_sleep_ms(100); /* long enough for a server that closes at once */
	cr_expect(dial_send(fd, body, sizeof(body), DIAL_PATIENCE_MS), "it is still read");
	shutdown(fd, SHUT_WR);
	cr_expect_eq(dial_read(fd, &byte, 1, real_now_ms() + DIAL_PATIENCE_MS), 0, "and the end is a clean one");
	close(fd);
}

Test(http, a_body_nobody_wants_does_not_cost_the_answer)
{
	start();
	expect_answer_to_flood("PUT /mirror HTTP/1.1\r\nHost: a\r\nContent-Length: 500000\r\n\r\n", 500000, 413);
	expect_answer_to_flood("POST /hello HTTP/1.1\r\nHost: a\r\nContent-Length: 500000\r\n\r\n", 500000, 405);
	expect_answer_to_flood("GET /hello HTTP/1.1\r\nHost: a\r\nContent-Length: 500000\r\n\r\n", 500000, 400);
}

Test(http, a_head_over_the_limit_is_431)
{
	static const char start_of_head[] = "GET /hello HTTP/1.1\r\nHost: a\r\nX: ";
	char              small[13000 + 100];

	start();
	/* One that never ends is read as far as a body would be, and no further. */
	expect_answer_to_flood(start_of_head, 150000, 431);
	expect_answer_to_flood(start_of_head, 1000000, 431);

	/* One that ends is judged by its own length (http_body_test has the limit itself). */
	int len = snprintf(small, sizeof(small), "%s%0*d\r\n\r\n", start_of_head, 13000, 0);
	cr_assert_lt((size_t)len, sizeof(small));
	cr_expect_eq(status_of(small), 200);
}

Test(http, the_client_is_the_one_behind_the_proxy)
{
	static const struct {
		const char *from, *fields, *client;
	} rows[] = {
		{ HTTP_FIXTURE_PROXY, "", HTTP_FIXTURE_PROXY },
		{ HTTP_FIXTURE_PROXY, "X-Forwarded-For: 9.9.9.9\r\n", "9.9.9.9" },
		{ HTTP_FIXTURE_PROXY, "X-Forwarded-For: 6.6.6.6\r\nX-Forwarded-For: 9.9.9.9\r\n", "9.9.9.9" },
		{ HTTP_FIXTURE_PROXY, "X-Forwarded-For: 6.6.6.6\r\nx-forwarded-for: 9.9.9.9, 127.0.0.1\r\n",
		  "9.9.9.9" },
		{ HTTP_FIXTURE_PROXY, "X-Real-IP: 6.6.6.6\r\nX-Forwarded-For: 9.9.9.9\r\n", "9.9.9.9" },
		{ HTTP_FIXTURE_PROXY, "X-Real-IP: 6.6.6.6\r\nForwarded: for=6.6.6.6\r\n", HTTP_FIXTURE_PROXY },
		{ STRANGER, "X-Forwarded-For: 9.9.9.9\r\n", STRANGER },
		{ STRANGER, "X-Forwarded-For: rubbish\r\n", STRANGER },
	};
	char request[300], expected[100];

	start();
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		snprintf(request, sizeof(request), "GET /mirror HTTP/1.1\r\nHost: a\r\n%s\r\n", rows[i].fields);
		snprintf(expected, sizeof(expected), "GET /mirror %s -", rows[i].client);
		AUTO(free_result) struct http_result r = ask_from(rows[i].from, request);
		cr_expect_str_eq(r.body, expected, "%s from %s: %s", rows[i].fields, rows[i].from, r.body);
	}
}

Test(http, a_proxy_that_names_no_address_is_told_so)
{
	char request[1500];

	start();
	AUTO(free_result)
	struct http_result r =
		ask_from(HTTP_FIXTURE_PROXY, "GET /mirror HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: rubbish\r\n\r\n");
	cr_expect_eq(r.status, 400);

	snprintf(request, sizeof(request),
	         "GET /mirror HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: %0*d\r\nX-Forwarded-For: 9.9.9.9\r\n\r\n",
	         1024 - (int)strlen(",9.9.9.9"), 0);
	AUTO(free_result) struct http_result full = ask_from(HTTP_FIXTURE_PROXY, request);
	cr_expect_eq(full.status, 200, "1024 bytes");

	snprintf(request, sizeof(request),
	         "GET /mirror HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: %0*d\r\nX-Forwarded-For: 9.9.9.9\r\n\r\n",
	         1025 - (int)strlen(",9.9.9.9"), 0);
	AUTO(free_result) struct http_result over = ask_from(HTTP_FIXTURE_PROXY, request);
	cr_expect_eq(over.status, 400, "1025 bytes");
}

Test(http, web_pages_may_read_but_not_write)
{
	start();
	cr_expect_eq(status_of("GET /hello HTTP/1.1\r\nHost: a\r\nOrigin: https://evil\r\n\r\n"), 200);
	cr_expect_eq(status_of("PUT /mirror HTTP/1.1\r\nHost: a\r\nOrigin: https://evil\r\n\r\n"), 403);
	cr_expect_eq(status_of("PUT /mirror HTTP/1.1\r\nHost: a\r\nOrigin: null\r\n\r\n"), 403);
	cr_expect_eq(status_of("PUT /mirror HTTP/1.1\r\nHost: a\r\nOrigin:\r\n\r\n"), 403);
	cr_expect_eq(status_of("PUT /mirror HTTP/1.1\r\nHost: a\r\n\r\n"), 200);
}

Test(http, the_operator_may_allow_a_web_page_to_write)
{
	static char  origin[]  = "https://good.example";
	static char *origins[] = { origin };

	f.conf.http_allowed_origins = (struct conf_list){ .words = origins, .count = 1 };
	start();
	cr_expect_eq(status_of("PUT /mirror HTTP/1.1\r\nHost: a\r\nOrigin: https://good.example\r\n\r\n"), 200);
	cr_expect_eq(status_of("PUT /mirror HTTP/1.1\r\nHost: a\r\nOrigin: https://good.example.evil\r\n\r\n"), 403);
	cr_expect_eq(status_of("PUT /mirror HTTP/1.1\r\nHost: a\r\nOrigin: https://good.example\r\nOrigin: "
	                       "https://good.example\r\n\r\n"),
	             403, "of two lines, none counts");
}

static enum err refuse_all(struct http_answer *a, struct http_request *rq, void *part)
{
	(void)part;
	if (http_has_header(rq, "X-Let-*"))
		return ERR_OK;
	return http_has_header(rq, "X-Teapot") ? http_answer_error(a, 418, "a \"teapot\"") : ERR_NOT_ALLOWED;
}

Test(http, a_guard_is_asked_before_the_route)
{
	http_fixture_start(&f, routes, refuse_all);
	cr_expect_eq(status_of("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n"), 403);
	cr_expect_eq(status_of("GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n"), 403);
	cr_expect_eq(status_of("GET /hello HTTP/1.1\r\nHost: a\r\nx-let-me: in\r\n\r\n"), 200);
	cr_expect_eq(status_of("GET /hello HTTP/1.1\r\nHost: a\r\nX-Let: in\r\n\r\n"), 403);

	AUTO(free_result) struct http_result r = ask("GET /hello HTTP/1.1\r\nHost: a\r\nX-Teapot: 1\r\n\r\n");
	cr_expect_eq(r.status, 418);
	cr_expect_str_eq(r.body, "{\"error\":\"a \\\"teapot\\\"\"}");
}

Test(http, a_unix_socket_serves_too)
{
	char               dir[] = "/tmp/coopd-http-XXXXXX", path[60];
	struct http_config cfg   = { .name = "test", .routes = routes, .connections_max = 4, .per_address_max = 2 };
	int                fd;

	cr_assert_not_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/s", dir);
	cr_assert_eq(listen_unix(&fd, path, stderr), ERR_OK);
	cr_assert_eq(http_start(&f.server, &cfg, &f.conf, &(struct http_listen){ .fd = fd }, 1, NULL), ERR_OK);

	AUTO(free_result) struct http_result r = http_get_unix(path, "/mirror");
	cr_expect_eq(r.status, 200);
	cr_expect_str_eq(r.body, "GET /mirror unix -");

	int client = dial_unix(path);
	for (int i = 0; i < 3; i++) {
		http_say(client, "GET /mirror HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 9.9.9.9\r\n\r\n");
		AUTO(free_result) struct http_result again = http_hear(client);
		cr_expect_str_eq(again.body, "GET /mirror unix -", "it is no proxy");
	}
	close(client);
	unlink(path);
	rmdir(dir);
}

Test(http, several_sockets_are_one_server)
{
	struct http_config cfg = { .name = "test", .routes = routes, .connections_max = 4 };
	struct addr        bound[2];
	struct http_listen on[2] = { 0 };

	for (size_t i = 0; i < COUNT_OF(on); i++)
		cr_assert_eq(listen_tcp(&on[i].fd, &bound[i], "127.0.0.1:0", stderr), ERR_OK);
	cr_assert_eq(http_start(&f.server, &cfg, &f.conf, on, COUNT_OF(on), NULL), ERR_OK);
	for (size_t i = 0; i < COUNT_OF(on); i++) {
		AUTO(free_result) struct http_result r = http_get(bound[i].port, "/hello");
		cr_expect_str_eq(r.body, "hello\n");
	}
	finish();
	for (size_t i = 0; i < COUNT_OF(on); i++)
		cr_expect_eq(dial_tcp(bound[i].port, 0), -1, "nobody listens any more");
}

Test(http, proxies_that_are_no_networks_stop_the_start)
{
	static char        word[]  = "localhost";
	static char       *words[] = { word };
	struct http_config cfg     = { .name = "test", .routes = routes, .connections_max = 4 };
	struct addr        bound;
	int                fd;

	f.conf.http_trusted_proxies = (struct conf_list){ .words = words, .count = 1 };
	cr_assert_eq(listen_tcp(&fd, &bound, "127.0.0.1:0", stderr), ERR_OK);
	cr_expect_eq(http_start(&f.server, &cfg, &f.conf, &(struct http_listen){ .fd = fd }, 1, NULL), ERR_MALFORMED);
	cr_expect_eq(fcntl(fd, F_GETFD), -1, "the socket is closed");
}

static int open_files(void)
{
	int count = 0;

	for (int fd = 0; fd < 1024; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

Test(http, nothing_is_left_of_clients_that_break_off)
{
	static const char *const rows[] = {
		"",
		"G",
		"GET /hello",
		"GET /hello HTTP/1.1\r\nHost: a",
		"GET /hello HTTP/1.1\r\nHost: a\r\n\r\n",
		"PUT /mirror HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nhalf",
		"\r\n\r\n\r\n",
		"\x16\x03\x01\x02\x00\x01\x00",
		"GET\r\n\r\n",
		" \r\n\r\n",
		"GET  HTTP/1.1\r\n\r\n",
		"GET /hello HTTP/9.9\r\n\r\n",
	};

	start();
	int before = open_files();
	for (int round = 0; round < 5; round++) {
		for (size_t i = 0; i < COUNT_OF(rows); i++) {
			int fd = http_fixture_dial(&f, STRANGER);

			http_say(fd, rows[i]);
			if (round % 2)
				dial_abort(fd);
			else
				close(fd);
		}
	}
	cr_expect_eq(status_of("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n"), 200);
	for (int64_t until = real_now_ms() + DIAL_PATIENCE_MS; open_files() > before && real_now_ms() < until;)
		real_sleep_ms(5);
	cr_expect_eq(open_files(), before);
	cr_expect_eq(metric_get(M_HTTP_CONNECTIONS), 0);
}
