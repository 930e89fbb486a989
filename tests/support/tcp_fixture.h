/*
 * A server of net/tcp inside the test's own process, on free loopback ports, with a clock that the test moves. Its part
 * sends back what comes, unless a helping of bytes begins with one of these:
 *
 *	'X'	what is behind it comes back, and the server closes the connection at once
 *	'N'	nothing happens
 *	'R'	the server resets the connection
 *	'F'	what is behind it comes back twice, each time sent at once
 *	'K'	the server resets the connection whose number the next byte is
 *	'P'	what is behind it comes back, and the server listens no more until tcp_resume
 *	'W'	the server listens no more to the connection whose number the next byte is
 *	'T'	the connection is taken from the server: tcp_take
 *	'G'	the connection whose number the next byte is is taken
 *
 *	struct tcp_fixture f;
 *
 *	tcp_fixture_init(&f);
 *	f.listen.stall_ms = 1000;
 *	tcp_fixture_start(&f);
 *	int fd = dial_tcp(f.port, 0);
 */
#ifndef TESTS_TCP_FIXTURE_H
#define TESTS_TCP_FIXTURE_H

#include "conf/conf.h"
#include "net/tcp.h"
#include "support/loop_thread.h"

#include <stdbool.h>
#include <stdint.h>

#define TCP_FIXTURE_CONNS_MAX 4096
#define TCP_FIXTURE_STALL_MS  120000

/* What the part knows of one connection. */
struct tcp_echo {
	struct tcp_fixture *fixture;
	struct tcp_conn    *conn;
	size_t              number;
	uint8_t            *out; /* what waits */
	size_t              len;
	bool                is_paused, has_ended;
};

struct tcp_fixture {
	struct conf        conf;   /* every limit at its default; may be changed before the start */
	struct tcp_listen  listen; /* as signaling has it; may be changed too */
	struct loop_thread on;
	struct tcp        *tcp;
	int                port, tls_port;
	struct tcp_echo   *conns[TCP_FIXTURE_CONNS_MAX]; /* in the order of accepting; NULL once closed */
	size_t             conn_count;
	size_t             piece_bytes; /* fetch gives pieces of so many bytes; 0: all in one */
	const char        *greeting;    /* put in accepted; NULL: none */
	bool               stops;
	bool               refuses;                            /* accepted says no */
	bool               pauses;                             /* accepted pauses it */
	bool               hears_ends;                         /* the part goes on after the peer's end */
	char               does_at_end;                        /* 'X' or 'T' of the above; 0: nothing */
	char               does_when_sent, does_when_accepted; /* the same */
	bool               hears_unread_ends;                  /* the same, of one in a pause */
	_Atomic size_t     accepted, refused, closed, ended, ended_unread;
	_Atomic size_t     taken, untaken; /* tcp_take, as it went */
	_Atomic int        taken_fd;       /* the last of them */
	_Atomic size_t     closed_as[TCP_END_STOPPED + 1];
	_Atomic size_t     bytes;         /* that came */
	_Atomic size_t     bytes_at_once; /* the most in one call */
	_Atomic size_t     sent;          /* bytes that went */
	_Atomic size_t     writes;        /* calls of sent */
};

void tcp_fixture_init(struct tcp_fixture *f);

/* Uses f->conf and f->listen from here on. With a certificate in the settings there is a tls_port too. */
void tcp_fixture_start(struct tcp_fixture *f);

/* Stops as the server does, and frees all. Also when it never started, or the first of that was done before. */
void tcp_fixture_begin_stop(struct tcp_fixture *f);
void tcp_fixture_stop(struct tcp_fixture *f);

/* Connected to port, and accepted. rcvbuf_bytes as in dial_tcp. */
int tcp_fixture_dial(struct tcp_fixture *f, int rcvbuf_bytes);

/* On the loop's thread, for the connection with this number: */
void tcp_fixture_put(struct tcp_fixture *f, size_t number, const void *bytes, size_t len); /* to be sent */
void tcp_fixture_put_parts(struct tcp_fixture *f, size_t number, const void *bytes, size_t len, size_t parts);
void tcp_fixture_close(struct tcp_fixture *f, size_t number);
void tcp_fixture_reset(struct tcp_fixture *f, size_t number);
void tcp_fixture_pause(struct tcp_fixture *f, size_t number);
void tcp_fixture_resume(struct tcp_fixture *f, size_t number);
void tcp_fixture_take(struct tcp_fixture *f, size_t number);

/* The certificate of the settings, read again. */
void tcp_fixture_reload(struct tcp_fixture *f);

/* Waits until the counter of the fixture has this value (asserted). */
void tcp_fixture_await(const _Atomic size_t *counter, size_t value);

#endif
