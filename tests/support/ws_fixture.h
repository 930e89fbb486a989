/*
 * A WebSocket server of net/ws inside the test's own process, on a free loopback port and a thread of its own, with a
 * clock that the test moves. It sends every message back as a datagram, unless it begins with one of these:
 *
 *	'C'	comes back as a control message
 *	'P'	the same, and the connection is paused
 *	'H'	the connection is handed over to f.taker, with its ws_conn as data
 *	'X'	the server closes the connection
 *
 *	struct ws_fixture f;
 *
 *	ws_fixture_init(&f);
 *	f.conf.limits.ws_connections = 4;
 *	ws_fixture_start(&f);
 *	struct ws_client *c = ws_client_open(f.port, NULL);
 */
#ifndef TESTS_WS_FIXTURE_H
#define TESTS_WS_FIXTURE_H

#include "base/metric.h"
#include "conf/conf.h"
#include "net/ws.h"
#include "support/loop_thread.h"

#include <stdbool.h>
#include <stdint.h>

#define WS_FIXTURE_CONNS_MAX 4096

/* What the fixture trusts as a proxy; other addresses of 127.0.0.0/8 are clients of their own in production. */
#define WS_FIXTURE_PROXY "127.0.0.1"

struct ws_fixture {
	struct conf              conf; /* every limit at its default; may be changed before the start */
	struct loop_thread       on;
	struct ws               *ws;
	int                      port, tls_port;
	struct ws_conn          *conns[WS_FIXTURE_CONNS_MAX]; /* in order of opening; NULL once closed */
	size_t                   conn_count;
	_Atomic size_t           opened, closed, messages;
	bool                     refuses; /* opened says no */
	const struct ws_handler *taker;   /* of 'H' */
};

void ws_fixture_init(struct ws_fixture *f);

/* Uses f->conf from here on. With a certificate in it there is a tls_port too. */
void ws_fixture_start(struct ws_fixture *f);

/* Closes every connection as the server does when it stops, and frees all. Also when it never started. */
void ws_fixture_stop(struct ws_fixture *f);

/* Moves the clock and has the server look at it; done before it returns. */
void ws_fixture_advance(struct ws_fixture *f, int64_t ms);

/* Calls what on the loop's thread, and waits. */
void ws_fixture_do(struct ws_fixture *f, void (*what)(struct ws_fixture *f, void *arg), void *arg);

/* Waits until the metric has this value (asserted). */
void ws_fixture_await(enum metric metric, int64_t value);

/* A connection from this address of the loopback network, nothing said yet. */
int ws_fixture_dial(const struct ws_fixture *f, const char *from);

#endif
