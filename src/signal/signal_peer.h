/*
 * What the files of the live relay share, for them alone: a connection, and the lane on which its bytes come and go.
 */
#ifndef SIGNAL_SIGNAL_PEER_H
#define SIGNAL_SIGNAL_PEER_H

#include "base/list.h"
#include "base/pool.h"
#include "net/addr.h"
#include "signal/signal_line.h"
#include "signal/signal_log.h"
#include "signal/signal_rate.h"
#include "signal/signal_serve.h"
#include "signal/signal_state.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct signal_peer;

struct signal_lane {
	const char *name; /* for the log */
	const char *kind; /* for operators: tcp, tls, ws */
	/* Sends the challenge that stands in peer->challenge. */
	void (*challenge)(struct signal_peer *p);
	/* There is more in its queue: at the latest at the end of the turn as much leaves as it takes. */
	void (*wake)(struct signal_peer *p);
	/* The same at once. */
	void (*flush)(struct signal_peer *p);
	/* After what waits; its end is reported later. */
	void (*close)(struct signal_peer *p);
	/* At once; its end is reported later. */
	void (*reset)(struct signal_peer *p);
};

struct signal_peer {
	struct signal_conn        state; /* first: the state's pointers are ours */
	struct signal_relay      *relay;
	const struct signal_lane *lane;
	struct list               in_peers;
	struct tcp_conn          *tcp; /* one of the two */
	struct ws_conn           *ws;
	uint64_t                  id;         /* for the log */
	struct addr               addr;       /* the client */
	bool                      is_counted; /* why it ends is in log and figures already */
	bool                      has_greeted;
	int64_t                   since_ms; /* wall clock: registered */
	struct timer timer; /* the delayed challenge; then, of WebSocket, to see whether it takes anything */
	/* TCP: lines come in pieces, and the challenge goes out before the queue. */
	struct signal_reader reader;
	uint8_t              challenge[SIGNAL_CHALLENGE_BYTES + 1]; /* with its LF */
	size_t               challenge_left;
	/* WebSocket: lines handed to net/ws, of which a part may wait there. */
	bool     waits_for_room;
	uint64_t handed_bytes, taken_bytes;
	int64_t  took_ms;
};

struct signal_token {
	bool    is_set;
	uint8_t digest[32];
};

struct signal_relay {
	struct loop        *loop;
	const struct conf  *conf;
	struct signal_state state;
	struct signal_log   log;
	struct signal_rate *rate;      /* of TCP and TLS; net/ws has its own */
	struct signal_token tokens[2]; /* the shared one, and the one before */
	struct pool         pool;
	struct list         peers;
	struct timer        deadline; /* of those that have not proved their key */
	struct tcp_handler  tcp_handler;
	struct tcp_listen   tcp_plain, tcp_tls;
	struct ws_handler   ws_handler;
	bool                is_stopping;
};

/* signal_serve.c */

/*
 * A connection of this client is there; NULL: it is refused, and that is counted. Fill in how to reach it before anything
 * else happens.
 */
struct signal_peer *signal_peer_enter(struct signal_relay *r, const struct signal_lane *lane, uint64_t id,
                                      const struct addr *client, bool is_exempt, int64_t now_ms);

/* A line of it, without LF, or one that is longer than signal_line_max, or none at all. */
void signal_peer_on_line(struct signal_peer *p, const uint8_t *line, size_t len, int64_t now_ms);
void signal_peer_on_bad_line(struct signal_peer *p, enum signal_why why);

/* The connection is gone: why as far as net knows. Frees p. */
void signal_peer_on_closed(struct signal_peer *p, enum signal_end end, int64_t now_ms);

/* It takes nothing: resets it. */
void signal_peer_stall(struct signal_peer *p);

/* signal_tcp.c, signal_ws.c */

void signal_tcp_init(struct signal_relay *r);
void signal_ws_init(struct signal_relay *r);
void signal_ws_on_timer(struct signal_peer *p, int64_t now_ms);

#endif
