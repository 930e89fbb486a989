/*
 * What the files of the live rooms share, for them alone: one connection, which is a player's until its first frame says
 * that it is a leg of a stream.
 *
 *	rooms_serve.c	the whole of it: made, stopped, freed; what the state asks of its host
 *	rooms_peer.c	connections: accepted, frames in, silence, rates, ends
 *	rooms_out.c	what waits for one connection, and the budget of all
 *	rooms_hold.c	players for whom so much waits that what they ask waits too
 *	rooms_udp.c	probes and relayed datagrams
 *	rooms_leg.c	legs of streams
 *	rooms_ban.c	who is to go because of a ban
 *	rooms_log.c	log lines and counters
 *	rooms_admin.c	rooms and players for operators; rooms_admin_boards.c boards, rooms_csv.c their CSV
 *	rooms_change.c	what operators change on boards
 *	rooms_status.c	the status page; rooms_snapshot.c copies what it shows, rooms_page.c makes text of that
 */
#ifndef ROOMS_ROOMS_INSIDE_H
#define ROOMS_ROOMS_INSIDE_H

#include "account/rate.h"
#include "base/chain.h"
#include "base/list.h"
#include "base/pool.h"
#include "net/splice.h"
#include "rooms/rooms_frame.h"
#include "rooms/rooms_guard.h"
#include "rooms/rooms_keep.h"
#include "rooms/rooms_log.h"
#include "rooms/rooms_serve.h"
#include "rooms/rooms_state.h"
#include "rooms/rooms_stream_state.h"

enum rooms_role { ROOMS_ROLE_PLAYER, ROOMS_ROLE_LEG };

struct rooms_peer {
	struct rooms       *rooms;
	struct tcp_conn    *tcp; /* NULL once it is spliced */
	uint64_t            id;  /* for the log */
	struct addr         addr;
	bool                is_exempt;
	bool                is_first_frame; /* none has come yet */
	bool                is_leaving;     /* given up: nothing is sent to it nor taken from it */
	bool                is_out;         /* a player who has left the state */
	bool                is_held; /* a player who is not read, nor his rest handled, until less waits for him */
	enum rooms_role     role;
	enum rooms_end      end; /* of one that is leaving */
	struct rooms_reader reader;
	size_t              partial; /* bytes of input it holds, as rooms.partial_bytes has counted them */
	struct chain        out;
	struct list         in_waiting; /* of rooms.waiting: those that have bytes */
	struct list         in_peers, in_leaving, in_going_on;
	struct timer        timer; /* of silence, or of a leg */
	int64_t             heard_ms;
	int64_t             since_ms; /* connected */
	/* a player's */
	struct rooms_player player;
	bool                is_named; /* he has said HELLO, and counts as a player */
	struct udp_path     path;     /* to his public endpoint, once he has probed */
	enum rooms_type     replied;  /* to the request at hand; 0: not yet */
	enum rooms_code     code;     /* of that, when it is an ERROR */
	uint64_t            room_id;  /* of that, when it is ROOM_JOINED */
	struct rate         scores, hellos, messages;
	/* of one read: what came behind a leg's first frame; a player's frames that are held */
	uint8_t *rest;
	size_t   rest_len;
	/* a leg's */
	struct rooms_offer offer;
	uint8_t            title[ROOMS_TITLE_BYTES], name[ROOMS_NAME_BYTES]; /* of the player whose it is */
	struct rooms_peer *other; /* of the leg that connected, once it is spliced: the one that accepted */
};

struct rooms {
	struct loop         *loop;
	const struct conf   *conf;
	struct store        *store;
	struct rooms_boards *boards;
	struct rooms_keep   *keep;
	struct rooms_guard  *guard;
	struct splice       *splice;
	struct rooms_status *status; /* rooms_status.c's */
	struct rooms_state   state;
	struct rooms_streams streams;
	struct rooms_host    host;
	struct rooms_log     log;
	struct tcp_handler   tcp_handler;
	struct tcp_listen    tcp_listen;
	struct udp_handler   udp_handler;
	struct pool          peer_pool, block_pool;
	struct list          peers;    /* all: players and legs, spliced ones too */
	struct list          waiting;  /* those with output */
	struct list          leaving;  /* given up, and not told yet */
	struct list          going_on; /* held no longer: what they asked is handled when go_on_post runs */
	struct loop_post     go_on_post;
	size_t               queued_bytes, partial_bytes;
	struct timer         offers_timer, stream_timer;
	struct list          changes;         /* of boards, by operators: the first is under way */
	uint64_t             stream_bytes;    /* of splice_bytes: counted so far */
	uint8_t (*titles)[ROOMS_TITLE_BYTES]; /* of rooms.titles */
	bool is_stopping, is_go_on_posted;
};

/* rooms_peer.c */

void rooms_peer_init(struct rooms *r);

/*
 * A frame for a player or a leg, whole; it leaves with all others of this turn. It is counted, an ERROR by its code. Whom
 * it is too much for is given up. Calls nothing of the state.
 */
void rooms_peer_send(struct rooms_peer *p, const void *frame, size_t len);

/*
 * Ends it as if it were disconnected, but for what waits for it: SILENT, NO_HELLO, REPLACED, PEER, SERVER and OPERATOR let that
 * go out first. Only marks it: its room mates are told, and its socket is closed, by rooms_settle. Harmless for one that is leaving.
 */
void rooms_give_up(struct rooms_peer *p, enum rooms_end why);

/* After every call of the state that can send: those that were given up meanwhile leave it, and whom that is too much for. */
void rooms_settle(struct rooms *r, int64_t now_ms);

/* Frees what belongs to it, and gives its place back to the guard; tcp does not know it any more. */
void rooms_peer_free(struct rooms_peer *p);

/* Handles the frames of a player, also of what was held; may hold what is left of them, or make it a leg. */
void rooms_peer_take(struct rooms_peer *p, const uint8_t *bytes, size_t len, int64_t now_ms);

/* The input that it holds has changed; is thrown away. */
void rooms_peer_count_input(struct rooms_peer *p);
void rooms_peer_drop_input(struct rooms_peer *p);

/* Gauges are what they are now. */
void rooms_publish(const struct rooms *r);

/* rooms_out.c */

/* False: it is full or there is no memory, and nothing was added. Makes room in the budget of all, by giving up others. */
bool rooms_out_put(struct rooms_peer *p, const void *bytes, size_t len, enum rooms_end *why);
void rooms_out_sent(struct rooms_peer *p, size_t bytes);
void rooms_out_clear(struct rooms_peer *p);

/*
 * rooms_hold.c. rooms_hold: nothing more is handled, and what was read and not handled is kept. rooms_hold_sent: something
 * left; it goes on in the next turn, if now less waits.
 */
void rooms_hold_init(struct rooms *r);
bool rooms_hold_is_due(const struct rooms_peer *p);
void rooms_hold(struct rooms_peer *p, const uint8_t *rest, size_t len);
void rooms_hold_sent(struct rooms_peer *p);

/*
 * rooms_leg.c. The first frame was a stream's: the connection is a leg from here on, and its player has left. rest: what came
 * behind that frame in the same read. It is paused, closed, or gone to net/splice (and perhaps freed) afterwards: nothing more
 * of its bytes is delivered.
 */
void rooms_leg_init(struct rooms *r);
void rooms_leg_begin(struct rooms_peer *p, uint8_t type, const uint8_t *payload, size_t len, const uint8_t *rest,
                     size_t rest_len, int64_t now_ms);
void rooms_leg_gone(struct rooms_peer *p); /* its connection is gone; it is freed by the caller */
void rooms_leg_player_gone(struct rooms *r, const struct rooms_player *p, int64_t now_ms); /* offers to him are over */
void rooms_leg_count_bytes(struct rooms *r); /* M_ROOMS_STREAM_BYTES is what it is now */

/* rooms_udp.c */
void rooms_udp_init(struct rooms *r);

/*
 * rooms_status.c. rooms_status_init is called last, before any other thread asks; rooms_status_fini when none does. After
 * rooms_status_stop nobody waits for the loop any more: it is about to end.
 */
enum err rooms_status_init(struct rooms *r);
void     rooms_status_stop(struct rooms *r);
void     rooms_status_fini(struct rooms *r);

#endif
