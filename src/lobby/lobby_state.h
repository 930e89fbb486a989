/*
 * The lobbies: who is there, until when, and who must go. Told what happened and when, it says what to do; it knows no
 * clock, socket, database or random source, and takes no lock (its caller does).
 *
 *	announce ---> LIVE (listed or hidden) ---beat---> LIVE
 *	               |  leave; no beat for limits.lobby_ttl_ms, seen by a sweep; pushed out by a newcomer at the cap
 *	               v
 *	              gone
 *
 * An announce waits for the database: meanwhile its lobby counts in every limit, but nobody sees it (pending).
 *
 * At limits.lobby_entries a newcomer that passed every other check pushes out one entry whose last beat is older than
 * limits.lobby_evict_ms: hidden ones first, then those without players, then the one with the oldest beat. When there is
 * none such, the newcomer goes.
 */
#ifndef LOBBY_LOBBY_STATE_H
#define LOBBY_LOBBY_STATE_H

#include "base/err.h"
#include "base/list.h"
#include "base/map.h"
#include "base/pool.h"
#include "conf/limits.h"
#include "lobby/lobby_wire.h"
#include "net/addr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOBBY_ADDR_BYTES      16 /* keyed hash of an address bucket */
#define LOBBY_DIGEST_BYTES    32 /* SHA-256 of the token's 32 characters */
#define LOBBY_LABEL_BYTES     56 /* an address bucket as text, with a NUL */
#define LOBBY_TURN_USER_BYTES 80

struct lobby {
	struct list by_beat; /* in lobby_state.by_beat, oldest first */
	uint8_t     session[LOBBY_SESSION_BYTES];
	uint8_t     id[LOBBY_ID_BYTES];
	uint8_t     token[LOBBY_DIGEST_BYTES];
	uint8_t     key[LOBBY_KEY_BYTES];
	uint8_t     addr[LOBBY_ADDR_BYTES];
	uint8_t     addr_wide[LOBBY_ADDR_BYTES]; /* of its /48 */
	bool        has_wide;
	struct addr client; /* where its host was last; in memory only. Of no family: not known since the start */
	char        name[LOBBY_TEXT_BYTES(LOBBY_NAME_CHARS)];
	char        world[LOBBY_TEXT_BYTES(LOBBY_WORLD_CHARS)];
	char        version[LOBBY_TEXT_BYTES(LOBBY_VERSION_CHARS)];
	char        game[LOBBY_TEXT_BYTES(LOBBY_VERSION_CHARS)];
	int         proto, players, players_max;
	bool        locked, listed, is_direct, is_proved;
	bool        is_pending;
	char        direct_addr[LOBBY_LABEL_BYTES + 8]; /* "1.2.3.4:7777", "[2001:db8::1]:7777"; "" when brokered */
	struct lobby_links links;
	struct lobby_claim claim;
	int64_t            beat_ms; /* monotonic; before this start: negative or small */
	int64_t            made_ms; /* wall */

	/* The credential the host has. turn_ms 0: none is known (also after a restart). */
	char     turn_user[LOBBY_TURN_USER_BYTES];
	int64_t  turn_ms;       /* monotonic: when it was minted */
	int64_t  turn_until_ms; /* wall: when it expires */
	unsigned turn_secret;   /* which generation of the secret */

	char  *row; /* lobby_row_text of it; NULL: to be made anew */
	size_t row_len;
	bool   is_dirty; /* what is kept of it is older than this; the keeper's */
};

struct lobby_state {
	bool                 is_draining; /* nobody new */
	const struct limits *limits;
	struct map           by_session, by_id, by_addr, by_wide;
	struct list          by_beat;
	struct pool          shares; /* what by_addr and by_wide lead to: how many lobbies an address, or a /48, has */
	size_t               count;  /* pending ones too */
	size_t               pending;
	uint64_t changes; /* grows with every change that the list shows; not with beats that change no row */
};

/* seed: for the maps, from the random source. ERR_NOMEM. */
enum err lobby_state_init(struct lobby_state *s, const struct limits *limits, uint64_t seed);
void     lobby_state_fini(struct lobby_state *s);

/* What an announce is checked with; drawn and looked up by the caller. */
struct lobby_newcomer {
	const struct lobby_announce *announce;
	uint8_t                      session[LOBBY_SESSION_BYTES];
	uint8_t                      id[LOBBY_ID_BYTES];
	uint8_t                      token[LOBBY_DIGEST_BYTES];
	uint8_t                      addr[LOBBY_ADDR_BYTES];
	uint8_t                      addr_wide[LOBBY_ADDR_BYTES];
	bool                         has_wide;
	const char                  *ip; /* what a direct lobby tells joiners, IPv6 without brackets */
	bool                         is_ipv6;
	bool                         is_exempt; /* of limits per address */
	bool                         is_proved;
	struct addr                  client;
	int64_t                      made_ms;
};

/* Why an announce is refused; each has its own text for clients (lobby_refusal_text). */
enum lobby_refusal {
	LOBBY_WELCOME,
	LOBBY_BAD_GAME,
	LOBBY_NO_IDENTITY,
	LOBBY_BAD_PORT,
	LOBBY_ADDRESS_FULL, /* the address, or its /48, has as many as it may */
	LOBBY_TABLE_FULL,   /* of hosts that beat */
	LOBBY_NO_MEMORY,
	LOBBY_DRAINING
};

/*
 * Checks the address, then what is announced in the order of the document, and only then makes room and adds.
 * LOBBY_WELCOME: *out is the lobby, pending; *pushed is one that was pushed out for it (owned by the caller, who removes it
 * from what is kept and calls lobby_free), or NULL. Both are NULL otherwise.
 */
enum lobby_refusal lobby_announce(struct lobby **out, struct lobby **pushed, struct lobby_state *s,
                                  const struct lobby_newcomer *n, int64_t now_ms);
int                lobby_refusal_status(enum lobby_refusal r); /* 400, 429, 503 */
/* The text clients see. game: the cleaned one. */
#define LOBBY_REFUSAL_BYTES 160
void lobby_refusal_text(char out[LOBBY_REFUSAL_BYTES], enum lobby_refusal r, const char *game);

/* The database has it; a pending one that it has not is taken out by lobby_remove. */
void lobby_admit(struct lobby_state *s, struct lobby *l);
void lobby_remove(struct lobby_state *s, struct lobby *l); /* takes it out; for lobby_free */
void lobby_free(struct lobby *l); /* with its row; from malloc, calloc, lobby_announce. NULL is fine */

/*
 * One that was kept, at the start: admitted at once, without regard to limits, which may have been higher. ERR_EXISTS,
 * ERR_NOMEM; l is the state's only when ERR_OK. Those with the oldest beat first are cheapest.
 */
enum err lobby_restore(struct lobby_state *s, struct lobby *l);

/*
 * NULL when there is none (a pending one is none yet); of a host only for the right token, whose digest is compared by
 * same, in constant time.
 */
typedef bool (*lobby_same)(const void *a, const void *b, size_t len);
struct lobby *lobby_of_host(struct lobby_state *s, const uint8_t session[LOBBY_SESSION_BYTES],
                            const uint8_t token[LOBBY_DIGEST_BYTES], lobby_same same);
struct lobby *lobby_of_id(struct lobby_state *s, const uint8_t id[LOBBY_ID_BYTES]);

/* A beat was accepted: clamps and takes over what it says. An old row is freed when it changes. */
void lobby_beat(struct lobby_state *s, struct lobby *l, const struct lobby_beat *b, int64_t now_ms);
void lobby_show(struct lobby_state *s, struct lobby *l, bool listed); /* visibility; no beat */

/* What the heartbeat answers about TURN. */
enum lobby_turn { LOBBY_TURN_NONE, LOBBY_TURN_MINT, LOBBY_TURN_REPEAT };
/*
 * has_turn: a server is configured. secret: generation of the secret that mints now; is_old_good: credentials of the one
 * before are still taken. LOBBY_TURN_MINT: half its life is over, or it is unknown here, or no longer good.
 * LOBBY_TURN_REPEAT: the host has another one; *left_s is the rest of its life, at least 1. *left_s is untouched otherwise.
 */
enum lobby_turn lobby_renewal(int64_t *left_s, const struct lobby *l, const struct lobby_beat *b, bool has_turn,
                              unsigned secret, bool is_old_good, int64_t life_s, int64_t now_ms, int64_t wall_ms);
void            lobby_minted(struct lobby *l, const char *user, unsigned secret, int64_t until_ms, int64_t now_ms);

/*
 * Takes out those that are silent for more than limits.lobby_ttl_ms, one per call: for lobby_free. NULL: no more.
 * Pending ones stay.
 */
struct lobby *lobby_sweep(struct lobby_state *s, int64_t now_ms);

/* Admitted ones, hidden ones too. */
size_t lobby_live(const struct lobby_state *s);

#endif
