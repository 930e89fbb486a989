/*
 * Rooms of the peer-to-peer part: who is in them, on which seat, and what each pair is to do.  Pure.
 *
 * A seat is a number from 0, given in the order of joining and not used again in its room.
 */
#ifndef P2P_P2P_ROOM_STATE_H
#define P2P_P2P_ROOM_STATE_H

#include "base/list.h"
#include "base/map.h"
#include "base/pool.h"
#include "conf/limits.h"
#include "net/addr.h"
#include "p2p/p2p_sync_wire.h"
#include "p2p/p2p_wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define P2P_UID_BYTES       17 /* 16 hex digits and a NUL */
#define P2P_ROOM_NAME_BYTES 12 /* 8 characters, or "game:123456", and a NUL */
#define P2P_MEMBERS_MAX     64

enum p2p_nat_type { P2P_NAT_UNKNOWN, P2P_NAT_OPEN, P2P_NAT_ADDRESS, P2P_NAT_PORT, P2P_NAT_SYMMETRIC };
const char *p2p_nat_name(
	enum p2p_nat_type t); /* "unknown", "open", "address_restricted", "port_restricted", "symmetric" */

enum p2p_pair_state { P2P_PAIR_UNSAID, P2P_PAIR_UP, P2P_PAIR_FAILED, P2P_PAIR_DOWN };

struct p2p_room;
struct p2p_group; /* of p2p_group_state */

/* One session in its room; embedded in the session. What is marked with S is set by the session's side and read here. */
struct p2p_member {
	struct p2p_room    *room; /* NULL: in none */
	uint16_t            seat;
	size_t              index;                 /* among the room's members, by seat */
	char                uid[P2P_UID_BYTES];    /* S */
	enum p2p_nat_type   nat;                   /* S: of the stored result */
	struct p2p_endpoint mapped;                /* S */
	bool                relay_only;            /* S */
	bool                has_latency;           /* S */
	int32_t             latency_ms;            /* S: rounded */
	bool                is_settled;            /* has said that it needs no more punching, since the last start */
	struct p2p_group   *group;                 /* NULL: in none */
	size_t              in_group;              /* its place there */
	bool                was_bad_leader;        /* not again in this grouping */
	uint8_t             said[P2P_MEMBERS_MAX]; /* enum p2p_pair_state towards the member of that index */
};

struct p2p_room {
	char               name[P2P_ROOM_NAME_BYTES];
	bool               is_game;
	size_t             max;
	struct p2p_member *members[P2P_MEMBERS_MAX]; /* by seat */
	size_t             count;
	uint32_t           next_seat;
	uint32_t           epoch; /* 0: no start yet */
	int64_t            started_ms;
	uint8_t            keys[P2P_SYNC_KEYS_BYTES]; /* of the last start */
	uint32_t           gen;                       /* of groupings */
	struct list        groups;
	struct p2p_links  *links; /* of p2p_link_state; NULL until the first message */
	struct list        in_rooms;
	bool               was_settled; /* everybody has been told so, since the last start */
	bool               is_counted;  /* for the address of its maker */
	struct addr        maker;
};

struct p2p_rooms {
	const struct limits *limits;
	struct map           by_name;
	struct list          rooms;
	size_t               count;
};

void p2p_rooms_init(struct p2p_rooms *r, const struct limits *limits, uint64_t seed);
void p2p_rooms_fini(struct p2p_rooms *r); /* every member has left */

enum p2p_room_says { P2P_ROOM_FINE, P2P_ROOM_FULL, P2P_ROOM_LIMIT, P2P_ROOM_TAKEN, P2P_ROOM_NOMEM };

/* An empty one; it goes when its last member leaves (the caller then calls p2p_room_close). TAKEN: the name is there. */
enum p2p_room_says p2p_room_make(struct p2p_room **out, struct p2p_rooms *r, const char *name, size_t max);
void               p2p_room_close(struct p2p_rooms *r, struct p2p_room *room);
struct p2p_room   *p2p_room_find(const struct p2p_rooms *r, const char *name);

/* FULL: max members, or no seat left. */
enum p2p_room_says p2p_room_join(struct p2p_room *room, struct p2p_member *m);
/* The others close up: index changes, seats stay. What pairs have said of each other moves along. */
void p2p_room_leave(struct p2p_member *m);
/* with, who is in no room, comes to m's seat, and m is in none; what the two had said, or others of them, is forgotten. */
void               p2p_room_take_over(struct p2p_member *m, struct p2p_member *with);
bool               p2p_room_is_full(const struct p2p_room *room);
struct p2p_member *p2p_room_by_seat(const struct p2p_room *room, uint16_t seat);
struct p2p_member *p2p_room_by_uid(const struct p2p_room *room, const char *uid);

/* What a pair is to do. */
enum p2p_plan { P2P_PLAN_DIRECT, P2P_PLAN_PUNCH, P2P_PLAN_RELAY };
enum p2p_role { P2P_ROLE_CONNECT, P2P_ROLE_ACCEPT, P2P_ROLE_BOTH, P2P_ROLE_NONE };
struct p2p_pair {
	enum p2p_plan plan;
	enum p2p_role role; /* of the first; NONE with relay */
	bool          lan;
};
struct p2p_pair p2p_pair_plan(const struct p2p_member *a, const struct p2p_member *b);
const char     *p2p_plan_name(enum p2p_plan p); /* "direct", "punch", "relay" */
const char     *p2p_role_name(enum p2p_role r); /* "connect", "accept", "both", "none" */

/* a says that its link to b is so. Returns whether the pair is up from both sides now. */
bool p2p_pair_say(struct p2p_member *a, const struct p2p_member *b, enum p2p_pair_state s);
bool p2p_pair_is_up(const struct p2p_member *a, const struct p2p_member *b);

/* A start: the epoch counts up, what pairs and members have said is forgotten. */
void p2p_room_start(struct p2p_room *room, const uint8_t keys[P2P_SYNC_KEYS_BYTES], int64_t now_ms);

/* Samples of a round trip: the first counts, each later one moves it by an eighth of the difference. */
struct p2p_latency {
	bool    is_known;
	int64_t parts; /* of a ms, 1024 make one */
};
void    p2p_latency_add(struct p2p_latency *l, int64_t sample_ms);
int32_t p2p_latency_ms(const struct p2p_latency *l);

#endif
