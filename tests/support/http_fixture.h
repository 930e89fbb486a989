/*
 * An HTTP server of net/http inside the test's own process, on a free loopback port, with a clock that the test moves;
 * and a client that keeps its connection.
 *
 *	struct http_fixture f;
 *
 *	http_fixture_init(&f);
 *	f.conf.limits.http_connections = 4;
 *	http_fixture_start(&f, routes, NULL);
 *
 *	int fd = http_fixture_dial(&f, "127.0.0.2");
 *	http_say(fd, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
 *	struct http_result r = http_hear(fd);
 */
#ifndef TESTS_HTTP_FIXTURE_H
#define TESTS_HTTP_FIXTURE_H

#include "conf/conf.h"
#include "net/http.h"
#include "support/http_client.h"

#include <stdbool.h>
#include <stdint.h>

/* What the fixture trusts as a proxy; http_fixture_dial from it is not limited per address. */
#define HTTP_FIXTURE_PROXY "127.0.0.1"

struct http_fixture {
	struct conf              conf;       /* every limit at its default; may be changed before the start */
	const struct http_route *stray_post; /* as in http_config, before the start */
	http_error_form          errors;
	struct http_server      *server;
	const char              *address;        /* to listen on */
	int                      port, tls_port; /* tls_port: when conf.tls_cert is set before the start */
	int                      clock_fd;
	int64_t                  moved_ms;
};

void http_fixture_init(struct http_fixture *f);

/* The limits of connections are those of conf.limits.http_. guard may be NULL. */
void http_fixture_start(struct http_fixture *f, const struct http_route *routes, http_handler guard);

/* Also when it never started, or was stopped before. */
void http_fixture_stop(struct http_fixture *f);

/* Moves the clock and has the server look at it. */
void http_fixture_advance(struct http_fixture *f, int64_t ms);

/* Connected from this address of the loopback network; the test ends when it cannot be. */
int http_fixture_dial(const struct http_fixture *f, const char *from);
int http_fixture_dial_port(int port, const char *from);

/* The same in two steps, for a socket that needs options before it is connected. */
int  http_fixture_socket(const char *from);
void http_fixture_connect(int fd, int port);

/* Waits until so many connections are counted; the test ends when it takes too long. */
void http_fixture_await_connections(int64_t count);

/* Sends text as it is; false when the server no longer takes it. */
bool http_say(int fd, const char *text);

/* One answer, by its Content-Length (no body for a HEAD); status 0: the connection ended. For http_result_free. */
struct http_result http_hear(int fd);
struct http_result http_hear_head(int fd);

/* The server ends the connection without another byte; it is open and silent for so long. */
bool http_is_closed(int fd);
bool http_is_silent(int fd, int real_ms);

#endif
