/*
 * What the files of ws share, for them alone: the server, and one connection's life.
 *
 *	HEAD --upgraded--> OPEN --ws_close, or the peer's close frame--> CLOSING --both said so--> LINGER --TCP's end--> GONE
 *	    \___refused_______________________________________________________________________/
 *	any --TCP's end, an error, a deadline--> GONE
 *
 *	HEAD	 TLS handshake and the request's head
 *	OPEN	 messages both ways
 *	CLOSING	 nothing is delivered any more; what waits is sent, then an empty close frame
 *	LINGER	 our FIN is out; what still comes is thrown away, because closing over unread bytes makes a reset, which can
 *		 overtake our last words
 *	GONE	 nothing is left but to report and free it, at the end of the turn
 */
#ifndef NET_WS_CONN_H
#define NET_WS_CONN_H

#include "account/bucket.h"
#include "account/count.h"
#include "base/list.h"
#include "base/metric.h"
#include "net/accept.h"
#include "net/wire.h"
#include "net/ws.h"
#include "net/ws_frame.h"
#include "net/ws_queue.h"

#include <sys/types.h>
#include <uv.h>

#define WS_ROUTES_MAX 4

enum ws_phase { WS_HEAD, WS_OPEN, WS_CLOSING, WS_LINGER, WS_GONE };

/* How bytes get to and from the peer: plainly or through TLS. What read and write say besides a number: wire_says. */
struct ws_wire {
	/* At most cap bytes. */
	ssize_t (*read)(struct ws_conn *c, uint8_t *out, size_t cap);
	/* Sends from the queue what the wire takes now, and tells the queue. WIRE_AGAIN: not all of it. */
	ssize_t (*write)(struct ws_conn *c);
	/* Bytes that read can give without the socket becoming readable; NULL: never any. */
	bool (*holds)(const struct ws_conn *c);
	/* No more output: FIN. */
	void (*finish)(struct ws_conn *c);
	/* Forgets what it holds. */
	void (*fini)(struct ws_conn *c);
};

/* In the order in which datagrams need it: with thousands of connections, cache lines are what they cost. */
struct ws_conn {
	int                      fd; /* -1 once closed */
	enum ws_phase            phase;
	uint32_t                 watched;      /* epoll events */
	bool                     is_stuck;     /* the wire took no more; it says when it does */
	bool                     needs_room;   /* TLS reads nothing before it could send something */
	bool                     close_queued; /* our close frame is in the queue or out */
	bool                     peer_closed;  /* no close frame of the peer is to be waited for */
	uint16_t                 close_status; /* of our close frame; 0: it is empty */
	bool                     has_client;   /* client is known; a bad forwarding field leaves it unknown */
	bool                     is_forwarded, is_exempt;
	bool                     is_counted; /* under the key of its client */
	bool                     is_paused;  /* messages wait, in the socket or kept */
	struct ws               *ws;
	const struct ws_wire    *wire;
	const struct ws_handler *handler; /* NULL until opened */
	void                    *data;    /* of the handler; NULL once closed was called */
	void (*drained)(void   *data,
	                int64_t now_ms); /* to be called when no control message waits; NULL: nobody asked */
	struct list       in_dirty;
	struct ws_queue   queue;
	size_t            queued, held; /* what the totals of ws count for this one */
	int64_t           sent_ms;      /* the last time anything left */
	int64_t           message_ms;   /* the begin of an incomplete message; 0: none */
	struct ws_input   input;
	uint8_t          *kept; /* bytes read that a pause left over; NULL: none */
	size_t            kept_len;
	int64_t           deadline_ms; /* of HEAD, CLOSING, LINGER */
	struct timer      timer;
	struct list       in_conns, in_ended;
	bool              at_door;
	struct list       in_door; /* of those at the door, the oldest first */
	struct ws_caller *caller;  /* at the door, until it is opened */
	struct lws       *wsi;     /* the library's side of it; NULL once that is gone */
	struct ssl_st    *ssl;     /* its TLS session; NULL on a plain connection */
	struct wire_rest *rest;    /* of the TLS wire: bytes it owes; NULL: none */
	uint64_t          id;
	struct addr       peer, client;
};

/* Counted here, and shown at the end of a turn. */
struct ws_traffic {
	int64_t messages_in, messages_out, bytes_in, bytes_out;
};

struct ws_route {
	const char              *path; /* NULL: any other */
	const struct ws_handler *handler;
	struct ws_queue_limits   queue_limits;
};

struct ws_listener {
	struct ws_listener *next;
	struct ws          *ws;
	bool                is_tls, is_door;
	struct acceptor    *acceptor;
};

struct ws {
	struct loop           *loop;
	const struct conf     *conf;
	const struct limits   *limits;
	struct addr_nets       trusted;
	struct ws_route        routes[WS_ROUTES_MAX];
	size_t                 route_count;
	struct ws_door         door; /* path NULL: there is none */
	struct ws_route        door_route;
	struct list            at_door;
	size_t                 door_count; /* of conn_count */
	struct ws_listener    *listeners;
	struct ws_upgrader    *upgrader;
	struct ssl_ctx_st     *tls;      /* what new TLS sessions are made from; NULL: no TLS
                             listener can be */
	int                    epoll_fd; /* of all connections; uv looks at it as one descriptor */
	uv_poll_t              poll;
	struct loop_flush      flush;
	struct list            conns, dirty, ended;
	size_t                 conn_count;
	struct count          *per_address, *per_net;
	struct bucket         *accepts, *accepts_net, *tls_accepts;
	struct ws_blocks       blocks;
	struct ws_queue_limits queue_limits;
	size_t                 output_bytes, input_bytes; /* of all connections */
	struct ws_traffic      traffic;                   /* of this turn */
	uint64_t               turns;
	int64_t                turn_us; /* when this turn began to read, if it is measured; 0: it is not */
	uint8_t               *turn;    /* what one connection sent in this turn */
	size_t                 turn_cap;
	bool                   stopping;
	void (*stopped)(void *arg); /* NULL once called */
	void *stopped_arg;
};

/* ws_accept.c: who may connect */

enum err ws_accept_init(struct ws *ws);
void     ws_accept_fini(struct ws *ws);
void     ws_accept_stop(struct ws *ws); /* closes the listening sockets */

/* Counts the client, now known, against its limits. False when it is over the one that *why counts. */
bool ws_admit_client(struct ws_conn *c, enum metric *why, int64_t now_ms);

/* Gives back what the connection was counted for. */
void ws_release(struct ws_conn *c);

/* ws_door.c */

/* A connection came to the door: takes it, or closes fd. */
void ws_door_take(struct ws *ws, int fd, const struct addr *peer, int64_t now_ms);

/* Notes what the head says of who comes. */
void ws_door_note(struct ws_conn *c, const char *head, size_t len);

void ws_door_release(struct ws_conn *c);

/* ws_conn.c: from accept to the end */

/* For the accepted socket fd, which the library has to take next. NULL: out of memory; fd is the caller's still. */
struct ws_conn *ws_conn_new(struct ws *ws, int fd, const struct addr *peer, int64_t now_ms);

/* What epoll said of its socket. */
void ws_conn_on_events(struct ws_conn *c, uint32_t events, int64_t now_ms);

/* Asks our epoll for these events; 0: for nothing more. */
void ws_conn_watch(struct ws_conn *c, uint32_t events);

/* The same for what an open connection can use now: input unless it is paused, room for output while it is stuck. */
void ws_conn_watch_wire(struct ws_conn *c);

/* Looks at it not later than then. */
void ws_conn_wake_at(struct ws_conn *c, int64_t at_ms);

/* HEAD is over: the handler, set before, is told; messages may come. ssl is the TLS session, or NULL. */
void ws_conn_open(struct ws_conn *c, struct ssl_st *ssl, int64_t now_ms);

/*
 * From here on we read the socket ourselves. Not before the end of the turn that opened it: what the library has read
 * together with the head it still has to hand over.
 */
void ws_conn_take_wire(struct ws_conn *c, int64_t now_ms);

/* Not paused, or no longer: reads on, beginning with what was kept. */
void ws_conn_go_on(struct ws_conn *c, int64_t now_ms);

/* A whole message that the library read together with the head. False: it may not be. */
bool ws_conn_on_early_message(struct ws_conn *c, void *bytes, size_t len, bool is_text);

/* The request of this route is let in: its part's limits hold from here on. */
void ws_conn_route(struct ws_conn *c, const struct ws_route *route);

/* Starts the closing handshake, once; why is counted. What the peer says is no longer delivered. */
void ws_conn_close(struct ws_conn *c, enum metric why, int64_t now_ms);

/* The same for a peer that has said its last: nothing from it is waited for, or understood. */
void ws_conn_close_after_peer(struct ws_conn *c, enum metric why, int64_t now_ms);

/* All is sent that ever will be: FIN. */
void ws_conn_linger(struct ws_conn *c, int64_t now_ms);

/* The end, without a word, or with a reset; why is counted unless it was closing already. */
void ws_conn_end(struct ws_conn *c, enum metric why, bool reset);

/* Tells the handlers of those that ended in this turn, and frees what is gone. */
void ws_conn_reap(struct ws *ws, int64_t now_ms);

/* ws_in.c */

void ws_conn_on_bytes(struct ws_conn *c, uint8_t *bytes, size_t len, int64_t now_ms);

/* Goes on with what a pause left over, unless it is paused. */
void ws_conn_on_kept(struct ws_conn *c, int64_t now_ms);

/* Keeps a whole message for later. False: out of memory. */
bool ws_conn_keep_message(struct ws_conn *c, const void *bytes, size_t len, bool is_text);

/* Memory held for input. */
size_t ws_conn_held(const struct ws_conn *c);

/* ws_out.c */

/* There is output: it leaves at the end of the turn. */
void ws_conn_set_dirty(struct ws_conn *c);

/* Sends what waits, as far as the peer takes it; goes on with a close when all is out. */
void ws_conn_flush(struct ws_conn *c, int64_t now_ms);

/* Calls who waits for the control messages to be out, if they are. */
void ws_conn_tell_drained(struct ws_conn *c, int64_t now_ms);

/* Answers a ping, sends one of our own. */
void ws_conn_put_pong(struct ws_conn *c, const uint8_t *payload, size_t len, int64_t now_ms);
void ws_conn_put_ping(struct ws_conn *c);

/* Datagrams that had waited are gone: counted, and the handler is told. */
void ws_conn_count_dropped(struct ws_conn *c, const struct ws_dropped *dropped);

/* Keeps the totals of ws after queue or input changed; over a total, the largest connection is ended. */
void ws_conn_count(struct ws_conn *c);

/* ws_upgrade.c */

enum err ws_upgrader_init(struct ws *ws);
void     ws_upgrader_fini(struct ws *ws);

/* Gives the accepted socket to the library, which owns fd from here on, also on failure (false). */
bool ws_upgrade_begin(struct ws_conn *c, int fd, bool tls);

/* More of a plain connection's head has come: lets the library read it when it is whole. */
void ws_upgrade_peek(struct ws_conn *c, uint32_t events);

/* The library reads no more from the connection. */
void ws_upgrade_park(struct ws_conn *c);

/* Has the library close the socket, with a reset when reset, and forgets it. */
void ws_upgrade_end(struct ws_conn *c, bool reset);

/* The end of a turn: the library gets to close what ended in it. */
void ws_upgrade_settle(struct ws *ws);

/* ws_plain.c, ws_tls.c */

extern const struct ws_wire ws_wire_plain, ws_wire_tls;

/* Looks whether the certificate of the settings can be used. ERR_MALFORMED with a line in report. */
enum err ws_tls_check(const struct ws *ws, FILE *report);

/* The library has made a context for TLS sessions (an SSL_CTX): gives it our settings. */
void ws_tls_set_up(struct ws *ws, void *ssl_ctx);

#endif
