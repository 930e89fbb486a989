/*
 * Live games and their friends, as they are kept so that a restart in the middle of a game loses nobody.
 */
#ifndef STORE_GAME_H
#define STORE_GAME_H

#include "base/err.h"
#include "store/player.h"

#include <stddef.h>
#include <stdint.h>

#define GAME_TOKEN_BYTES  16 /* first half of the SHA-256 of a friend's token */
#define GAME_SECRET_BYTES 32 /* SHA-256 of a protocol 1 game's secret */

struct game_row {
	uint32_t code;
	uint8_t  version;                   /* 1 or 2 */
	uint8_t  player[PLAYER_ID_BYTES];   /* version 2 */
	uint8_t  secret[GAME_SECRET_BYTES]; /* version 1 */
	uint8_t  addr[PLAYER_ADDR_BYTES];   /* of who opened it */
	uint16_t next_number;
	int64_t  made_ms; /* wall */
};

struct friend_row {
	uint32_t code;
	uint16_t number;
	uint8_t  token[GAME_TOKEN_BYTES];
	uint8_t  player[PLAYER_ID_BYTES]; /* version 2 */
	uint8_t  addr[PLAYER_ADDR_BYTES];
	int64_t  joined_ms; /* wall */
};

/* Adds or updates. A new row under a code replaces the old game with its friends when made_ms or version differ. */
enum err game_put(struct db *db, const struct game_row *row);

/* Removes the game and its friends; fine when there is none. */
enum err game_remove(struct db *db, uint32_t code);

/* The game must be there: ERR_NOT_FOUND. A row of the same number is replaced. */
enum err friend_put(struct db *db, const struct friend_row *row);

/* Fine when there is none. */
enum err friend_remove(struct db *db, uint32_t code, uint16_t number);

/* Every game; every friend ordered by code, then in the order they joined. Stops at each's first error. */
enum err game_each(struct db *db, enum err (*each)(const struct game_row *row, void *arg), void *arg);
enum err friend_each(struct db *db, enum err (*each)(const struct friend_row *row, void *arg), void *arg);

#endif
