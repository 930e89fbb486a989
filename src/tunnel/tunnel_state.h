/*
 * The games: who hosts, who plays, who is away, and where a datagram goes.
 *
 * The caller reports what happened and when, and does what the returned actions say, in their order, before it reports
 * anything else. It owns the connections (struct tunnel_conn inside its own struct) and everything that needs a key, a
 * clock, a random source or a database; digests, random numbers and the answers of the store come in as arguments.
 *
 * A connection:
 *
 *	NEW --host open--> OPENING (new code waits for its commit) --kept--> HOST
 *	 |  \--host open, known player----------------------------------> HOST
 *	 |  \--join--> JOINING (new place waits for its commit) --kept--> FRIEND
 *	 |  \--join with a known token---------------------------------> FRIEND
 *	 \___ any of them --replaced, refused, dropped, game over, closed--> GONE
 *
 * A game of protocol 2, as its friends see it:
 *
 *	READY <--host says--> RESTARTING      either --host lost--> HOST_LOST --host says--> READY or RESTARTING
 *	                                                                \--wait is over--> GAME_OVER
 */
#ifndef TUNNEL_TUNNEL_STATE_H
#define TUNNEL_TUNNEL_STATE_H

#include "base/list.h"
#include "base/map.h"
#include "base/metric.h"
#include "base/pool.h"
#include "conf/limits.h"
#include "tunnel/code_state.h"
#include "tunnel/tunnel_wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TUNNEL_ADDR_BYTES         16 /* what stands for a client address */
#define TUNNEL_TOKEN_DIGEST_BYTES 16
#define TUNNEL_FRIENDS_MAX        32
#define TUNNEL_GONE_MAX           64 /* numbers of friends dropped while the host was away, to tell him */
#define TUNNEL_ACTS_MAX           256

enum tunnel_role { TUNNEL_NEW, TUNNEL_OPENING, TUNNEL_HOST, TUNNEL_JOINING, TUNNEL_FRIEND, TUNNEL_GONE };

struct tunnel_game;
struct tunnel_friend;

/* Messages of one kind, counted in spans of 10 s. */
struct tunnel_signals {
	int64_t since_ms;
	int64_t count;
};

/* The state's part of a connection. */
struct tunnel_conn {
	enum tunnel_role    role;
	uint8_t             addr[TUNNEL_ADDR_BYTES];
	bool                exempt;   /* limits of seats per address do not count */
	struct tunnel_game *game;     /* HOST */
	struct tunnel_friend *friend; /* JOINING, FRIEND */
	struct code_entry    *entry;  /* OPENING */
	int64_t               heard_ms;
	struct tunnel_signals signals[2]; /* candidates; states */
	uint8_t               late_state; /* HOST: said too often, to be looked at again; 0: none */
};

/* A leaky account of bytes: what may pass now, as of at_ms. */
struct tunnel_budget {
	int64_t bytes, at_ms;
};

enum tunnel_way { TUNNEL_UP, TUNNEL_DOWN, TUNNEL_WAYS }; /* friend to host; host to friend */

/* Datagrams that went on. */
struct tunnel_flow {
	int64_t datagrams, bytes;
};

/* Why others did not; in the order of the metrics from M_TUNNEL_DROPPED_AWAY on. SLOW: the receiver reads too slowly. */
enum tunnel_drop {
	TUNNEL_DROP_AWAY,
	TUNNEL_DROP_UNKNOWN,
	TUNNEL_DROP_SIZE,
	TUNNEL_DROP_BUDGET,
	TUNNEL_DROP_SHARE,
	TUNNEL_DROP_SLOW,
	TUNNEL_DROPS
};

/* Fields that a datagram needs come first: with thousands of friends, cache lines are what they cost. */
struct tunnel_friend {
	struct tunnel_game  *game;
	struct tunnel_conn  *conn; /* NULL: in his grace period */
	uint16_t             number;
	bool                 pending; /* place not committed yet: host not told, JOINED not sent */
	bool                 has_token;
	struct tunnel_flow   flow[TUNNEL_WAYS];
	uint8_t              token[TUNNEL_TOKEN_DIGEST_BYTES];
	uint8_t              id[TUNNEL_ID_BYTES];
	uint8_t              addr[TUNNEL_ADDR_BYTES];
	int64_t              lost_ms;
	struct tunnel_budget share[TUNNEL_WAYS];
	int64_t              dropped[TUNNEL_WAYS][TUNNEL_DROPS];
	int64_t              joined_ms; /* wall clock */
	uint8_t              paths[TUNNEL_PATHS_TO_HOST_BYTES];
	uint8_t              paths_len;
};

/* How many bytes had gone through a game then. */
struct tunnel_sample {
	int64_t at_ms;
	int64_t bytes[TUNNEL_WAYS];
};

struct tunnel_game {
	struct list           in; /* all games */
	uint32_t              code;
	uint8_t               version;
	uint8_t               state; /* enum tunnel_game_state */
	uint16_t              next_number;
	uint8_t               friend_count, gone_count;
	struct tunnel_conn   *host;
	struct code_entry    *entry;                     /* version 2 */
	uint8_t               secret[CODE_DIGEST_BYTES]; /* version 1: SHA-256 of the secret */
	uint8_t               addr[TUNNEL_ADDR_BYTES];   /* of who made it; counts in the games per address */
	bool                  exempt;
	int64_t               made_ms; /* wall clock, names this game among those of one code */
	int64_t               lost_ms; /* the host was lost then */
	struct tunnel_budget  budget[TUNNEL_WAYS];
	struct tunnel_friend *friends[TUNNEL_FRIENDS_MAX]; /* in the order they joined */
	uint16_t              gone[TUNNEL_GONE_MAX];
	/* Of friends who are gone, and what was dropped that is no friend's. */
	struct tunnel_flow   past[TUNNEL_WAYS];
	int64_t              dropped[TUNNEL_WAYS][TUNNEL_DROPS];
	struct tunnel_sample samples[2]; /* of the last two ticks, the older one first */
};

/* What the caller has to do. */
enum tunnel_act_kind {
	TUNNEL_ACT_SEND,          /* msg to conn, as control message */
	TUNNEL_ACT_CLOSE,         /* conn; why counts it */
	TUNNEL_ACT_DROP_TAG,      /* datagrams of number waiting for conn */
	TUNNEL_ACT_KEEP_PLAYER,   /* durably; answer with tunnel_on_player_kept */
	TUNNEL_ACT_TOUCH_PLAYER,  /* his code is used: lazily */
	TUNNEL_ACT_KEEP_GAME,     /* lazily */
	TUNNEL_ACT_KEEP_FRIEND,   /* with his game, durably; answer with tunnel_on_friend_kept, late or not */
	TUNNEL_ACT_FORGET_FRIEND, /* lazily */
	TUNNEL_ACT_FORGET_GAME,   /* lazily */
};

struct tunnel_act {
	enum tunnel_act_kind what;
	enum metric          why;
	struct tunnel_conn  *conn;
	struct code_entry   *entry;
	struct tunnel_game  *game;
	struct tunnel_friend *friend;
	uint32_t          code;
	uint16_t          number;
	struct tunnel_msg msg;
};

struct tunnel_acts {
	size_t            count;
	struct tunnel_act list[TUNNEL_ACTS_MAX];
};

/* Games opened from one address. */
struct tunnel_addr_games {
	uint8_t addr[TUNNEL_ADDR_BYTES];
	int64_t count;
};

struct tunnel_state {
	const struct limits *limits;
	struct code_state    codes;
	struct map           by_code; /* u32 to game */
	struct map           by_addr; /* games opened from an address */
	struct pool          games, friends, addrs;
	struct list          all;
	struct list         *cursor; /* of a tick under way */
	size_t               game_count;
	bool                 is_draining; /* no game that is not there yet */
};

/* limits must outlive it. seed: random, for the hash tables. */
void tunnel_state_init(struct tunnel_state *s, const struct limits *limits, uint64_t seed);
void tunnel_state_fini(struct tunnel_state *s);

void tunnel_conn_init(struct tunnel_conn *c, const uint8_t addr[TUNNEL_ADDR_BYTES], bool exempt, int64_t now_ms);

/*
 * HOST_OPEN of protocol 2. digest is the SHA-256 of the key; may_be_new says whether the address may make new players
 * (only looked at for an unknown one); random is for drawing a code; wall_ms names a new game.
 */
struct tunnel_open {
	const uint8_t *digest;
	bool           may_be_new;
	uint32_t       random;
	int64_t        now_ms, wall_ms;
};
void tunnel_on_open(struct tunnel_state *s, struct tunnel_conn *c, const struct tunnel_open *open,
                    struct tunnel_acts *acts);

/* The answer to TUNNEL_ACT_KEEP_PLAYER for the player of this id. */
void tunnel_on_player_kept(struct tunnel_state *s, const uint8_t *id, enum err result, int64_t now_ms, int64_t wall_ms,
                           struct tunnel_acts *acts);

/*
 * The player of this digest wants another code, drawn by random. ERR_OK: *from and *to are to be kept; answer with
 * tunnel_on_new_code_kept. ERR_NOT_FOUND: he has none. ERR_BUSY: one is under way already. ERR_NO_ROOM.
 */
enum err tunnel_on_new_code(struct tunnel_state *s, const uint8_t digest[CODE_DIGEST_BYTES], uint32_t random,
                            uint32_t *from, uint32_t *to);

/* When it is kept, his game under the old code is over. Returns result, or ERR_NOT_FOUND when he is gone meanwhile. */
enum err tunnel_on_new_code_kept(struct tunnel_state *s, const uint8_t digest[CODE_DIGEST_BYTES], uint32_t to,
                                 enum err result, struct tunnel_acts *acts);

/*
 * HOST_OPEN of protocol 1. old_code is what the client asked back; matches: that game exists and its secret is the one
 * sent (compared by the caller against tunnel_v1_secret, in constant time). A game that is made gets new_secret.
 */
struct tunnel_open_v1 {
	uint32_t       old_code;
	bool           matches;
	const uint8_t *old_secret, *new_secret; /* TUNNEL_SECRET_BYTES */
	const uint8_t *new_digest;              /* SHA-256 of new_secret */
	int64_t        now_ms, wall_ms;
};
void           tunnel_on_open_v1(struct tunnel_state *s, struct tunnel_conn *c, const struct tunnel_open_v1 *open,
                                 struct tunnel_acts *acts);
const uint8_t *tunnel_v1_secret(const struct tunnel_state *s, uint32_t code);

/* JOIN. token is the digest of the token, NULL without one; id of the key in protocol 2. */
struct tunnel_join {
	uint8_t        version;
	uint32_t       code;
	const uint8_t *token, *id;
	int64_t        now_ms, wall_ms;
};
void tunnel_on_join(struct tunnel_state *s, struct tunnel_conn *c, const struct tunnel_join *join,
                    struct tunnel_acts *acts);

/* What a JOIN would meet: so that failed ones can be slowed down before they are looked up. */
enum tunnel_outlook { TUNNEL_KNOWN_TOKEN, TUNNEL_LIVE_GAME, TUNNEL_NO_GAME };
enum tunnel_outlook tunnel_join_outlook(const struct tunnel_state *s, const struct tunnel_join *join);

/*
 * The answer to TUNNEL_ACT_KEEP_FRIEND, whatever the store said: also when it took too long. Harmless when the friend is
 * gone or was answered already. made_ms tells the game from a later one of the same code.
 */
void tunnel_on_friend_kept(struct tunnel_state *s, uint32_t code, int64_t made_ms, uint16_t number, int64_t now_ms,
                           struct tunnel_acts *acts);

/* Where a datagram goes; or dropped, and why is counted. */
struct tunnel_route {
	struct tunnel_conn *to;       /* NULL: dropped */
	struct tunnel_friend *friend; /* whose it is, from or to him; NULL: nobody's that is known */
	uint16_t    number;
	enum metric why;
};
struct tunnel_route tunnel_route_up(struct tunnel_state *s, struct tunnel_conn *c, size_t len, int64_t now_ms);
struct tunnel_route tunnel_route_down(struct tunnel_state *s, struct tunnel_conn *c, uint16_t number, size_t len,
                                      int64_t now_ms);

/* What became of it, counted for the friend. sent false: it was dropped on the way to route->to, or for route->why. */
static inline void tunnel_on_routed(const struct tunnel_route *route, enum tunnel_way way, size_t len, bool sent)
{
	struct tunnel_friend *f = route->friend;

	if (!f)
		return;
	if (sent) {
		f->flow[way].datagrams++;
		f->flow[way].bytes += (int64_t)len;
	} else {
		f->dropped[way][route->to ? TUNNEL_DROP_SLOW : route->why - M_TUNNEL_DROPPED_AWAY]++;
	}
}

/* Datagrams that had waited for this connection and are lost, since it reads too slowly. */
void tunnel_on_lost(struct tunnel_conn *c, size_t count);

/* What went through a game since it was made, or loaded; friends who have left are in it. */
struct tunnel_sum {
	struct tunnel_flow flow[TUNNEL_WAYS];
	int64_t            dropped[TUNNEL_WAYS][TUNNEL_DROPS];
	int64_t            rate[TUNNEL_WAYS]; /* bytes/s, over the last one to two ticks */
};
void tunnel_game_sum(struct tunnel_sum *out, const struct tunnel_game *g, int64_t now_ms);

/* Any message came (host), an ECHO or datagram came (friend): a sign of life. */
static inline void tunnel_on_sign_of_life(struct tunnel_conn *c, int64_t now_ms)
{
	c->heard_ms = now_ms;
}

/*
 * Candidates and game states. False when the message was over the connection's rate of its kind: candidates are then
 * ignored, the last of such states is taken up by a later tick, since friends would else wait for ever.
 */
bool tunnel_on_game_state(struct tunnel_state *s, struct tunnel_conn *c, uint8_t state, int64_t now_ms,
                          struct tunnel_acts *acts);
bool tunnel_on_paths_up(struct tunnel_state *s, struct tunnel_conn *c, const uint8_t *body, size_t len, int64_t now_ms,
                        struct tunnel_acts *acts);
bool tunnel_on_paths_down(struct tunnel_state *s, struct tunnel_conn *c, uint16_t number, const uint8_t *body,
                          size_t len, int64_t now_ms, struct tunnel_acts *acts);

/* The connection has ended, for any reason. It may be forgotten after the call. */
void tunnel_on_closed(struct tunnel_state *s, struct tunnel_conn *c, int64_t now_ms, struct tunnel_acts *acts);

/*
 * Looks at every wait: silent hosts and friends, grace periods, abandoned games. Returns true when the actions were full
 * before the end: do them, empty the list and call again.
 */
bool tunnel_on_tick(struct tunnel_state *s, int64_t now_ms, struct tunnel_acts *acts);

/*
 * Who is banned: the player of this id, or NULL (he has none, or is not meant); or this connection, by its address, or NULL
 * (there is none).
 */
struct tunnel_banned {
	bool (*is_meant)(void *arg, const uint8_t *id, struct tunnel_conn *conn);
	void *arg;
};

/*
 * Ends the game, when its host is banned, or else takes their places from friends who are. Returns how many connections end by
 * it, but for those whose address is banned. acts NULL: only counts. The game may be gone after the call.
 */
size_t tunnel_on_ban(struct tunnel_state *s, struct tunnel_game *g, const struct tunnel_banned *who,
                     struct tunnel_acts *acts);

/* The same for one who waits for his first code: FAULT. */
size_t tunnel_on_ban_opening(struct code_entry *entry, struct tunnel_acts *acts);

/* What was kept, after a start; friends in the order they joined, after their game. The waits begin at now_ms. */
struct tunnel_kept_game {
	uint32_t       code;
	uint8_t        version;
	uint16_t       next_number;
	const uint8_t *id;     /* version 2 */
	const uint8_t *secret; /* version 1: digest */
	const uint8_t *addr;
	int64_t        made_ms;
};
enum err tunnel_load_game(struct tunnel_state *s, const struct tunnel_kept_game *kept, int64_t now_ms);
struct tunnel_kept_friend {
	uint32_t       code;
	uint16_t       number;
	const uint8_t *token, *id, *addr;
	int64_t        joined_ms;
};
enum err tunnel_load_friend(struct tunnel_state *s, const struct tunnel_kept_friend *kept, int64_t now_ms);

/* The sweep removed these players from the database: forget them, but not those who came back meanwhile. */
void tunnel_on_players_removed(struct tunnel_state *s, const uint8_t *digests, size_t count, struct tunnel_acts *acts);

struct tunnel_game *tunnel_find_game(const struct tunnel_state *s, uint32_t code);

/* Whether this player (digest: of his key) hosts the game of protocol 2 with this code, or has a place in it. */
enum tunnel_place { TUNNEL_PLACE_NO_GAME, TUNNEL_PLACE_NONE, TUNNEL_PLACE_HAS };
enum tunnel_place tunnel_place_of(const struct tunnel_state *s, uint32_t code, const uint8_t digest[CODE_DIGEST_BYTES]);

/*
 * What operators do (tunnel_operator_state.c). A game ends as it would by itself. A friend
 * loses number, place and token, and is told that the game is over, or his client would be back at once. ERR_NOT_FOUND.
 */
enum err tunnel_on_close_game(struct tunnel_state *s, uint32_t code, struct tunnel_acts *acts);
enum err tunnel_on_kick(struct tunnel_state *s, uint32_t code, uint16_t number, struct tunnel_acts *acts);

/*
 * The player of this digest, who must be kept, gets the code that is wanted, or, with 0, any. ERR_OK: keep it, and answer
 * with tunnel_on_code_given: *from is the code he had, 0 when he had none, *to what he gets; *to may be *from: then there is
 * nothing to keep, nor to answer. ERR_BUSY: a change of his is under way; ERR_EXISTS; ERR_NO_ROOM; ERR_NOMEM.
 */
struct tunnel_give {
	const uint8_t *digest;
	uint32_t       wanted, random;
	uint32_t       from, to; /* out */
};
enum err tunnel_on_give_code(struct tunnel_state *s, struct tunnel_give *give);
/* Whether that could be, and nothing is changed. to is 0 when any would do. */
enum err tunnel_may_give_code(const struct tunnel_state *s, struct tunnel_give *give);

/* His game under the old code is over. Returns result, or ERR_NOT_FOUND when he is gone meanwhile. */
enum err tunnel_on_code_given(struct tunnel_state *s, const struct tunnel_give *give, enum err result, int64_t now_ms,
                              int64_t wall_ms, struct tunnel_acts *acts);

/*
 * The code of the player with this id is to be anybody's again. ERR_OK: remove it, and answer with tunnel_on_code_freed; until
 * then he cannot open a game. ERR_NOT_FOUND: he has none. ERR_BUSY.
 */
enum err tunnel_on_free_code(struct tunnel_state *s, const uint8_t *id, uint32_t *code);
enum err tunnel_may_free_code(const struct tunnel_state *s, const uint8_t *id, uint32_t *code);
void tunnel_on_code_freed(struct tunnel_state *s, const uint8_t *id, enum err result, int64_t now_ms, int64_t wall_ms,
                          struct tunnel_acts *acts);

/* Connected hosts and friends, counted one by one. */
void tunnel_count(const struct tunnel_state *s, size_t *hosts, size_t *friends);

#endif
