/*
 * What the files of tcp share, for them alone: the listeners, and one connection's life.
 *
 *	SHAKING --TLS is up--> OPEN --tcp_close--> CLOSING --all is out--> LINGER --the peer's FIN, 2 s--> GONE
 *	   \______________failed, tcp_close___________________________________/
 *	any --the network's end, tcp_reset, a deadline--> GONE
 *	OPEN --tcp_take--> GONE
 *
 *	SHAKING	 the TLS handshake; a plain connection begins OPEN
 *	OPEN	 bytes both ways, or only to a peer that has ended its own
 *	CLOSING	 nothing is delivered any more; what waits is sent
 *	LINGER	 our FIN is out; what still comes is thrown away, because closing over unread bytes makes a reset, which can
 *		 overtake our last words
 *	GONE	 nothing is left but to report and free it, at the end of the turn; one that was taken is not reported
 */
#ifndef NET_TCP_CONN_H
#define NET_TCP_CONN_H

#include "base/list.h"
#include "net/accept.h"
#include "net/tcp.h"
#include "net/wire.h"

#include <uv.h>

enum tcp_phase { TCP_CONN_SHAKING, TCP_CONN_OPEN, TCP_CONN_CLOSING, TCP_CONN_LINGER, TCP_CONN_GONE };

/* How bytes get to and from the peer: plainly or through TLS. */
struct tcp_wire {
	/*
	 * Reads until cap is full or nothing is there. *len is how much came; returns how it ended (wire_says), more than
	 * 0 for an end of cap.
	 */
	ssize_t (*read)(struct tcp_conn *c, uint8_t *out, size_t cap, size_t *len);
	/*
	 * Fetches from the part and sends, until there is no more or the wire takes no more (WIRE_AGAIN), and tells the
	 * part. The part may reset the connection meanwhile.
	 */
	ssize_t (*write)(struct tcp_conn *c, int64_t now_ms);
	/* Bytes that the socket got in all. */
	uint64_t (*written)(const struct tcp_conn *c);
};

struct tcp_listener {
	struct tcp_listener *next;
	struct tcp          *tcp;
	struct tcp_listen    on;
	struct acceptor     *acceptor; /* NULL once stopped */
};

struct tcp_conn {
	int                        fd; /* -1 once closed */
	enum tcp_phase             phase;
	uint32_t                   watched;      /* epoll events */
	bool                       is_stuck;     /* output waits: the wire says when it takes more */
	bool                       needs_room;   /* TLS reads nothing before it could send something */
	bool                       peer_is_done; /* its FIN was seen while we still send */
	bool                       is_paused;
	bool                       end_waits;      /* it was read, in TLS behind the bytes at which the part paused */
	bool                       is_unread_told; /* ended_unread was called */
	bool                       is_taken;
	bool                       is_exempt;
	struct tcp                *tcp;
	const struct tcp_wire     *wire;
	const struct tcp_listener *listener;
	void                      *data; /* of the part; NULL once closed was called */
	enum tcp_end               why;
	struct list                in_dirty;
	int64_t                    took_ms;       /* when the peer was last seen to have taken something */
	uint64_t                   taken_bytes;   /* what it had taken in all by then */
	uint64_t                   written_bytes; /* of the plain wire */
	size_t                     dropped_bytes; /* that came after the close */
	struct timer               timer;         /* OPEN: to look whether the peer takes; then the deadline */
	struct list                in_conns, in_leaving, in_ended;
	struct ssl_st             *ssl;  /* NULL on a plain connection */
	struct wire_rest          *rest; /* of TLS: bytes it owes; NULL: none */
	uint64_t                   id;
	struct addr                peer;
};

struct tcp {
	struct loop         *loop;
	const struct conf   *conf;
	struct tcp_listener *listeners;
	struct ssl_ctx_st   *tls;      /* what new sessions are made from; NULL: no certificate came yet */
	int                  epoll_fd; /* of all connections; uv looks at it as one descriptor */
	uv_poll_t            poll;
	struct loop_flush    flush;
	struct list          conns, dirty, ended;
	struct list          leaving; /* CLOSING and LINGER, in the order in which they began to */
	size_t               conn_count, leaving_count;
	uint8_t             *turn;                /* what one connection sent in this turn */
	size_t               turn_cap, plain_cap; /* plainly so much of it, since TLS needs room for a record */
	struct timer         stop_timer;
	bool                 stopping;
	void (*stopped)(void *arg); /* NULL once called */
	void *stopped_arg;
};

/* tcp_accept.c */

void tcp_accept_stop(struct tcp *t); /* closes the listening sockets */

/* tcp_conn.c: the life of a connection */

/* For an accepted socket. Asks the part, which may refuse; fd is closed then. */
void tcp_conn_begin(const struct tcp_listener *l, int fd, const struct addr *peer, int64_t now_ms);

/* What epoll said of its socket. */
void tcp_conn_on_events(struct tcp_conn *c, uint32_t events, int64_t now_ms);

/* Sends what waits, as far as the peer takes it; goes on with a close when all is out. */
void tcp_conn_flush(struct tcp_conn *c, int64_t now_ms);

/* tcp_end.c: how it ends */

/* After what waits is sent; why is reported. Nothing when it is closing already. */
void tcp_conn_leave(struct tcp_conn *c, enum tcp_end why, int64_t now_ms);

/* All is sent that ever will be: FIN. */
void tcp_conn_linger(struct tcp_conn *c, int64_t now_ms);

/* Something came after the close. */
void tcp_conn_drop_input(struct tcp_conn *c);

/* The deadline of CLOSING or LINGER. */
void tcp_conn_on_deadline(struct tcp_conn *c);

/* At once, with a reset or, as far as nothing unread is there, without; why counts unless it is closing already. */
void tcp_conn_end(struct tcp_conn *c, enum tcp_end why, bool reset);

/* Tells the parts of those that ended in this turn, and frees them. */
void tcp_conn_reap(struct tcp *t, int64_t now_ms);

/* Asks epoll for what it can use now. */
void tcp_conn_watch(struct tcp_conn *c);

/* tcp_stall.c: peers that take nothing */

/* Output was handed to the socket, or had to wait: the peer is looked at from now on. */
void tcp_stall_watch(struct tcp_conn *c, int64_t now_ms);

/* Has the peer taken anything since it was last looked at? Ends the connection, or sets the timer for the next look. */
void tcp_stall_look(struct tcp_conn *c, int64_t now_ms);

/* tcp_plain.c, tcp_tls.c */

extern const struct tcp_wire tcp_wire_plain, tcp_wire_tls;

/* False: out of memory. */
bool tcp_tls_begin(struct tcp_conn *c);

/* Goes on with the handshake. 1: done; WIRE_AGAIN, WIRE_ROOM, WIRE_BROKEN. */
ssize_t tcp_tls_shake(struct tcp_conn *c);

/* Says that nothing more will come. */
void tcp_tls_finish(struct tcp_conn *c);
void tcp_tls_fini(struct tcp_conn *c);

#endif
