/*
 * Players, as they are kept: those with a code, and those who stored a checkpoint. All functions run on the store thread
 * (inside a job) or before it starts.
 */
#ifndef STORE_PLAYER_H
#define STORE_PLAYER_H

#include "base/err.h"
#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLAYER_ID_BYTES     8
#define PLAYER_DIGEST_BYTES 32
#define PLAYER_ADDR_BYTES   16 /* keyed hash of a client address */

struct player_row {
	uint8_t  digest[PLAYER_DIGEST_BYTES]; /* SHA-256 of the player key; its first 8 bytes are the public id */
	uint32_t code;
	int64_t  used_ms; /* wall clock of the last use of the code */
	bool     joined;  /* a friend ever joined a game under it */
};

/*
 * Of a player who was imported (store/import.h) only the id is known, not the whole digest: zeros stand for the rest. The first key
 * whose id he has is his: it may read at once, and when it opens a game or stores something its digest is kept.
 */
bool player_is_open(const uint8_t digest[PLAYER_DIGEST_BYTES]);

/* The key is in use: it is the player's from now on, if he was imported and had none. */
enum err player_adopt(struct db *db, const uint8_t digest[PLAYER_DIGEST_BYTES]);

/*
 * A new player, with his code and the note that this address had one more new player. ERR_EXISTS when the player has a
 * code, the code is another's, or the id is another key's.
 */
enum err player_add(struct db *db, const struct player_row *row, const uint8_t addr[PLAYER_ADDR_BYTES]);

/*
 * One who never opened a game, with the note that this address had one more new player. ERR_EXISTS when the id is
 * another key's.
 */
enum err player_add_without_code(struct db *db, const uint8_t digest[PLAYER_DIGEST_BYTES],
                                 const uint8_t addr[PLAYER_ADDR_BYTES], int64_t now_ms);

/*
 * When the player was first seen. ERR_NOT_FOUND; ERR_NOT_ALLOWED: the id is another key's. Only reads: a reader's
 * connection will do.
 */
enum err player_find(int64_t *made_ms, struct db *db, const uint8_t digest[PLAYER_DIGEST_BYTES]);

/* Whether anything is known of this id. ERR_NOT_FOUND. Only reads. */
enum err player_is_known(struct db *db, const uint8_t id[PLAYER_ID_BYTES]);

/*
 * Whether this key may speak for its id: ERR_OK also for one who is not known yet; ERR_NOT_FOUND when the id is another
 * key's, to whom nothing is told. Only reads. Before any function that takes an id alone for who asks.
 */
enum err player_check(struct db *db, const uint8_t digest[PLAYER_DIGEST_BYTES]);

/*
 * The code was used just now: sets used_ms and joined (which never goes back), lifts a mark. Adds player and code if
 * they are missing; ERR_EXISTS when the code is another player's, or the player has another code.
 */
enum err player_touch(struct db *db, const struct player_row *row);

/*
 * Another code for a player whose code is from: row has it, and the time. No friend ever joined under it. ERR_NOT_FOUND
 * when he has not that code; ERR_EXISTS when the new one is another player's.
 */
enum err player_change_code(struct db *db, const struct player_row *row, uint32_t from);

/*
 * The code is nobody's any more; the player goes with it when nothing else of him is kept. Fine when he has none.
 * player_digest: ERR_NOT_FOUND; only reads. digest may be id.
 */
enum err player_remove_code(struct db *db, const uint8_t id[PLAYER_ID_BYTES]);
enum err player_digest(uint8_t digest[PLAYER_DIGEST_BYTES], struct db *db, const uint8_t id[PLAYER_ID_BYTES]);

/* Every player with a code, in no order; stops at each's first error and returns it. */
enum err player_each(struct db *db, enum err (*each)(const struct player_row *row, void *arg), void *arg);

/* Every new player of an address noted at or after since_ms: for the limits per hour, which survive a restart. */
enum err player_each_new(struct db *db, int64_t                                                               since_ms,
                         void (*each)(const uint8_t addr[PLAYER_ADDR_BYTES], int64_t at_ms, void *arg), void *arg);

/*
 * One sweep: notes the days of uptime (upkeep.h) and, if the clock can be trusted, takes back codes in two steps. Codes
 * unused for code_days days of uptime are marked (limits.tunnel_code_days); those that were marked marked_days days of
 * uptime ago (limits.tunnel_code_marked_days) and not used since are removed, with players of whom nothing else is kept.
 * A live game uses its host's code. When more than spare_percent of the range is taken, codes with which no friend ever joined and that were
 * unused for spare_ms are removed too, oldest first, down to that percentage.
 *
 * *digests is a list of those removed (PLAYER_DIGEST_BYTES each, for free()), *count its length. So that nobody waits
 * long for the store, one sweep removes no more than PLAYER_SWEEP_MAX: when *count is that, sweep again within seconds.
 * Both are untouched on an error; the job must end in that error then, so that nothing stays removed in part.
 */
#define PLAYER_SWEEP_MAX 500

struct player_sweep {
	int64_t wall_ms, mono_ms; /* both clocks, read together */
	int64_t code_days, marked_days, spare_percent, spare_ms;
};
enum err player_sweep(uint8_t **digests, size_t *count, struct db *db, const struct player_sweep *rules);

#endif
