/*
 * Rooms and who is in them: told what came and when, it changes what is so and says what is to be sent.  Pure.
 *
 *	connection accepted -> rooms_enter ------> HELLO -> named: rooms, scores, streams, probes --> rooms_leave
 *	                            \__ anything else: ERROR 7 __/
 *
 * What it wants done it asks of its host (struct rooms_host): frames are built here and handed over whole.  A reply is always
 * handed over before the pushes that its request causes.  send must not call back into the state: whom the host gives up
 * because he does not read, it reports by rooms_leave after the call has returned.
 *
 * The work is in rooms_state.c (who is there, HELLO, which request goes where), rooms_name_state.c (names and titles),
 * rooms_room_state.c (rooms), rooms_rank_state.c (scores), and rooms_path_state.c (addresses, routes, UDP).  Streams have a state of their own, rooms_stream_state.h.
 */
#ifndef ROOMS_ROOMS_STATE_H
#define ROOMS_ROOMS_STATE_H

#include "base/list.h"
#include "base/map.h"
#include "base/pool.h"
#include "conf/limits.h"
#include "rooms/rooms_board_state.h"
#include "rooms/rooms_wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROOMS_ADDR_BYTES 16

/* Where a connection comes from. */
struct rooms_origin {
	uint8_t addr[ROOMS_ADDR_BYTES]; /* what limits and names count by */
	uint8_t ip[4];                  /* as clients are told; zeros for IPv6 */
	bool    is_ipv4;
	bool    is_exempt; /* limits per address do not hold for it */
};

/* One control connection; embedded in the host's own struct. Read it, do not write it. */
struct rooms_player {
	uint32_t            user_id; /* from 1; used again only after 2^32 connections */
	struct rooms_origin from;
	bool                has_hello;
	uint8_t             title[ROOMS_TITLE_BYTES];
	uint8_t             name[ROOMS_NAME_BYTES], folded[ROOMS_NAME_BYTES];
	uint16_t            p2p_port;
	uint32_t            token; /* 0: no HELLO yet */
	bool                has_probed;
	uint8_t             local_ip[4], public_ip[4];
	uint16_t            public_port;
	struct list         rooms; /* his rooms_member, the oldest room first */
	size_t              room_count;
	size_t              offers; /* open ones; of rooms_stream_state */
	struct list         in_players;

	/* for the state alone */
	struct rooms_title *in_title;
	struct rooms_name  *has_name;
	bool                is_told_relayed; /* what those who share a room with him were told last */
	bool                is_told_both;    /* and whether some of them were told otherwise */
	int64_t             routes_ms;       /* since when routes are counted */
	int64_t             routes;
};

struct rooms_room;
struct rooms_title; /* one that is played, or has a board: whose it is, its rooms */
struct rooms_name;  /* one that somebody has, or that was taken over lately */

struct rooms_member {
	struct list          in_room;   /* in join order */
	struct list          in_player; /* of the player's rooms */
	struct rooms_room   *room;
	struct rooms_player *player;
	uint16_t             id;   /* from 1, never used again in this room */
	uint8_t             *data; /* NULL when empty */
	size_t               data_len;
};

struct rooms_room {
	uint64_t    id; /* from 1, growing */
	uint8_t     title[ROOMS_TITLE_BYTES];
	uint8_t     max;
	uint32_t    flags;
	uint8_t    *external, *internal;
	size_t      external_len, internal_len;
	size_t      blob_bytes; /* of everything in its ROOM_JOINED that is a blob */
	struct list members;    /* the first is the owner: the one who is there longest */
	size_t      member_count;
	uint32_t    ids_given;
	int64_t     made_ms;
	uint8_t     counts_for[ROOMS_ADDR_BYTES]; /* the owner's address */
	bool        is_counted;                   /* for it: not when the owner is exempt */
	bool        is_open;                      /* searchers find it */
	struct list in_rooms;                     /* of the state, by id */

	struct rooms_title *in_title; /* for the state alone */
};

/* What a limit is asked about; the host counts per address. */
enum rooms_ask { ROOMS_ASK_NAME, ROOMS_ASK_ROOM, ROOMS_ASK_JOIN, ROOMS_ASK_BOARD, ROOMS_ASK_ROW };

/* Why the state ends a connection. */
enum rooms_why { ROOMS_WHY_REPLACED };

struct rooms_host {
	void *arg;
	/* A frame for this player. */
	void (*send)(void *arg, struct rooms_player *to, const uint8_t *frame, size_t len);
	/* His name went to somebody else; he has left everything, and is to be closed. */
	void (*close)(void *arg, struct rooms_player *p, enum rooms_why why);
	/* 32 random bits, for a token; may be 0 (it is asked again then). */
	uint32_t (*random)(void *arg);
	/*
	 * May this address have one more? Counts it when the answer is yes. ROOM: rooms at the moment, given back by
	 * room_gone; JOIN: rooms made or joined, within a minute; the others within an hour. NAME: a name (folded) that this
	 * address did not use in the last hour; for the others name is NULL. Not asked for those who are exempt.
	 */
	bool (*may)(void *arg, const struct rooms_origin *from, enum rooms_ask what, const uint8_t *name,
	            int64_t now_ms);
	/* A packet of this player's, right in all: may his address have one more this second? Counts it if so. */
	bool (*packet)(void *arg, const struct rooms_player *p, int64_t now_ms);
	/* A room of this address's is gone, or somebody else's from now on. */
	void (*room_gone)(void *arg, const uint8_t owner[ROOMS_ADDR_BYTES]);
	/* A room came to somebody at this address, whose owner has left: counts it as ROOM, over the limit too. */
	void (*room_came)(void *arg, const uint8_t owner[ROOMS_ADDR_BYTES]);
	/* Nobody is in this room any more, and it is gone. NULL: nobody asks. */
	void (*room_over)(void *arg, uint64_t room);
	/* Asked before a score is looked at: whether a row that changes could be kept now. */
	bool (*can_keep)(void *arg);
	/* Whether nobody may have this name in this title; both as they came. NULL: somebody always may. */
	bool (*is_banned)(void *arg, const uint8_t title[ROOMS_TITLE_BYTES], const uint8_t name[ROOMS_NAME_BYTES]);
	/* A row is new or another one, and perhaps a worst one was dropped. */
	void (*recorded)(void *arg, const struct rooms_board *board, const uint8_t name[ROOMS_NAME_BYTES],
	                 const struct rooms_recorded *what);
};

/* When something happens. */
struct rooms_now {
	int64_t mono_ms;
	int64_t wall_ms;
};

struct rooms_state {
	bool                     is_draining; /* no new room */
	const struct limits     *limits;
	const struct rooms_host *host;
	struct rooms_boards     *boards;
	bool                     relays;            /* rooms.relay */
	bool                     any_source;        /* rooms.udp_any_source */
	const uint8_t (*titles)[ROOMS_TITLE_BYTES]; /* the allow list; NULL: every title */
	size_t      title_count;
	struct map  by_id, by_name, by_room, by_title;
	struct list rooms, players, titles_known;
	struct list taken; /* names that were taken over lately, in that order */
	size_t      taken_count;
	size_t      room_count, player_count, named_count; /* players: connections; named: those who have said HELLO */
	size_t      blob_bytes;                            /* of all rooms and members */
	struct pool room_pool, member_pool, name_pool, title_pool;
	uint32_t    next_user;
	uint64_t    next_room;
	uint8_t     frame[ROOMS_FRAME_MAX]; /* what is built at the moment */
};

/* relays and so on are set by the caller afterwards. ERR_NOMEM is not possible: memory is taken as rooms come. */
void rooms_state_init(struct rooms_state *s, const struct limits *limits, const struct rooms_host *host,
                      struct rooms_boards *boards, uint64_t seed);
void rooms_state_fini(struct rooms_state *s); /* every player has left */

/* A connection. False: out of memory. */
bool rooms_enter(struct rooms_state *s, struct rooms_player *p, const struct rooms_origin *from);

/* Its end, for whatever reason; also for one whom host.close was called for. */
void rooms_leave(struct rooms_state *s, struct rooms_player *p);

/* A frame came on it. Stream requests, which may only come first and then are not his, are answered BAD here. */
void rooms_on_frame(struct rooms_state *s, struct rooms_player *p, uint8_t type, const uint8_t *payload, size_t len,
                    struct rooms_now now);

/* "CREATE_ROOM"; NULL for a type that is no request of a player's. */
const char *rooms_request_name(uint8_t type);

/* What his last probe said counts no more: nothing is sent to that endpoint. */
void rooms_forget_probe(struct rooms_player *p);

struct rooms_player *rooms_find_user(const struct rooms_state *s,
                                     uint32_t                  user_id); /* with or without HELLO; or NULL */
bool                 rooms_share_room(const struct rooms_player *a, const struct rooms_player *b);
struct rooms_room   *rooms_find_room(const struct rooms_state *s, uint64_t id);
struct rooms_member *rooms_find_member(const struct rooms_room *room, uint16_t id); /* or NULL */

/* He is told KICKED, and the others that he left; the last one takes the room with him. */
void rooms_kick(struct rooms_state *s, struct rooms_member *m);

/* All are told KICKED, and the room is gone. */
void rooms_end(struct rooms_state *s, struct rooms_room *room);

/* What this receiver is told of the member: rule 9 of the protocol. */
void rooms_address_for(uint8_t ip[4], uint16_t *port, const struct rooms_player *receiver,
                       const struct rooms_player *member);
/* Whether streams of the viewer to the target go through the relay; always false when nothing is relayed. */
bool rooms_is_relayed(const struct rooms_state *s, const struct rooms_player *viewer,
                      const struct rooms_player *target);

/* A datagram that is one of ours. */
enum rooms_udp {
	ROOMS_UDP_ANSWER,  /* to the source: the first len bytes of what came, rewritten */
	ROOMS_UDP_FORWARD, /* to the target's public endpoint: len bytes from at on */
	ROOMS_UDP_DROP
};
enum rooms_udp_why {
	ROOMS_UDP_SHAPE, /* too short, another protocol, or a type that is not for servers */
	ROOMS_UDP_USER,  /* nobody of that number who has said HELLO */
	ROOMS_UDP_TOKEN,
	ROOMS_UDP_SOURCE, /* not the address of his connection */
	ROOMS_UDP_OFF,    /* a RELAY, and nothing is relayed */
	ROOMS_UDP_RATE,   /* it is right, and one too many: host.packet */
	ROOMS_UDP_TARGET  /* nobody to send it to: unknown, no room in common, or never probed */
};
struct rooms_udp_step {
	enum rooms_udp       what;
	enum rooms_udp_why   why;    /* of DROP */
	struct rooms_player *player; /* ANSWER: whose endpoint this is from now on; FORWARD: the target */
	uint8_t             *at;
	size_t               len;
};

/*
 * bytes may be changed; there is room for ROOMS_PROBE_REPLY_BYTES at least. A probe may cause ROUTE pushes: limits.rooms_routes
 * times in 10 s, and what is beyond that the next probe after it makes good.
 */
struct rooms_udp_step rooms_on_datagram(struct rooms_state *s, const uint8_t ip[4], uint16_t port, uint8_t *bytes,
                                        size_t len, int64_t now_ms);

#endif
