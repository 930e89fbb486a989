/*
 * What the files of the live rooms share, for them alone: one connection, which is a player's until its first frame says
 * that it is a leg of a stream.
 *
 *	rooms_serve.c	the whole of it; connections, HELLO and silence, rates
 *	rooms_out.c	what waits for one connection, and the budget of all
 *	rooms_udp.c	probes and relayed datagrams
 *	rooms_leg.c	legs of streams
 *	rooms_log.c	log lines and counters
 *	rooms_status.c	the status page
 */
#ifndef ROOMS_ROOMS_INSIDE_H
#define ROOMS_ROOMS_INSIDE_H

#include "base/list.h"
#include "base/pool.h"
#include "net/splice.h"
#include "rooms/rooms_frame.h"
#include "rooms/rooms_guard.h"
#include "rooms/rooms_keep.h"
#include "rooms/rooms_serve.h"
#include "rooms/rooms_state.h"
#include "rooms/rooms_stream_state.h"

/* Bytes that wait for one connection, in blocks of the pool in struct rooms. */
struct rooms_block;
struct rooms_out {
	struct rooms_block *head, *tail;
	size_t              begin, end; /* in head; in tail */
	size_t              bytes;
	struct list         in_waiting; /* of rooms.waiting: those that have bytes */
};

enum rooms_role { ROOMS_ROLE_PLAYER, ROOMS_ROLE_LEG };

struct rooms_peer {
	struct rooms       *rooms;
	struct tcp_conn    *tcp; /* NULL once it is spliced */
	uint64_t            id;
	struct addr         addr;
	bool                is_exempt, is_first_frame, is_leaving;
	enum rooms_role     role;
	struct rooms_reader reader;
	struct rooms_out    out;
	struct timer        timer; /* of silence, or of a leg */
	int64_t             heard_ms;
	struct list         in_peers;
	/* a player's */
	struct rooms_player player;
	struct udp_path     path;                       /* to his public endpoint, once he has probed */
	int64_t             score_tokens, hello_tokens; /* thousandths */
	int64_t             score_ms, hello_ms;         /* when they were counted */
	/* a leg's */
	struct rooms_offer offer;
	uint8_t           *rest; /* what came behind its first frame */
	size_t             rest_len;
};

struct rooms {
	struct loop         *loop;
	const struct conf   *conf;
	struct store        *store;
	struct rooms_boards *boards;
	struct rooms_keep   *keep;
	struct rooms_guard  *guard;
	struct splice       *splice;
	struct rooms_state   state;
	struct rooms_streams streams;
	struct rooms_host    host;
	struct tcp_handler   tcp_handler;
	struct tcp_listen    tcp_listen;
	struct udp_handler   udp_handler;
	struct pool          peer_pool, block_pool;
	struct list          peers, waiting;
	size_t               queued_bytes, partial_bytes;
	size_t               stream_count;
	struct timer         offers_timer;
	bool                 is_stopping;
};

/* rooms_leg.c. The first frame was a stream's: the connection is a leg from here on. rest: what came behind that frame. */
void rooms_leg_begin(struct rooms_peer *p, uint8_t type, const uint8_t *payload, size_t len, const uint8_t *rest,
                     size_t rest_len, int64_t now_ms);
void rooms_leg_gone(struct rooms_peer *p, int64_t now_ms); /* its connection ended before it was spliced */
void rooms_leg_player_gone(struct rooms *r, const struct rooms_player *p, int64_t now_ms); /* offers to him are over */
void rooms_leg_init(struct rooms *r);

/* rooms_udp.c */
void rooms_udp_init(struct rooms *r);

/* rooms_out.c. False: the peer's queue is full, or memory; the caller gives it up. */
void   rooms_out_init(struct rooms_out *o);
bool   rooms_out_put(struct rooms_peer *p, const void *bytes, size_t len);
size_t rooms_out_pieces(const struct rooms_out *o, struct iovec *pieces, size_t count);
void   rooms_out_sent(struct rooms_peer *p, size_t bytes);
void   rooms_out_clear(struct rooms_peer *p);

/* rooms_serve.c: frees what belongs to it; it is in no list and not known to tcp any more. */
void rooms_peer_free(struct rooms_peer *p);

#endif
