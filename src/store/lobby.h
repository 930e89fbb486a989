/*
 * Lobbies, as they are kept so that a restart loses none, and when addresses announced, so that their windows go on.
 * All functions run on the store thread (inside a job) or before it starts.
 *
 * A token is kept as its digest; a brokered host's address as a keyed hash only, a direct one's as what joiners are told.
 */
#ifndef STORE_LOBBY_H
#define STORE_LOBBY_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct db;

#define LOBBY_ROW_ID_BYTES   8
#define LOBBY_ROW_ADDR_BYTES 16 /* keyed hash of an address bucket */
#define LOBBY_ROW_TEXT_BYTES 256

struct lobby_keep_row {
	uint8_t id[LOBBY_ROW_ID_BYTES];
	uint8_t session[16];
	uint8_t token[32];
	uint8_t key[32];
	uint8_t addr[LOBBY_ROW_ADDR_BYTES], addr_wide[LOBBY_ROW_ADDR_BYTES];
	bool    has_wide;
	char    name[LOBBY_ROW_TEXT_BYTES], world[LOBBY_ROW_TEXT_BYTES];
	char    version[LOBBY_ROW_TEXT_BYTES], game[LOBBY_ROW_TEXT_BYTES];
	int     proto, players, players_max;
	bool    locked, listed, is_direct, is_proved;
	char    direct_addr[64]; /* "" when brokered, and only then: is_direct says the same */
	int     relayed, direct, lan;
	char    claim_sha[65], claim_sig[129];
	int     claim_key;
	int64_t beat_ms, made_ms; /* wall */
};

enum err lobby_put(struct db *db, const struct lobby_keep_row *row); /* adds; ERR_EXISTS */
/* What beats change: players, listed, links, beat_ms. Fine when it is gone. */
enum err lobby_update(struct db *db, const struct lobby_keep_row *row);
enum err lobby_delete(struct db *db, const uint8_t id[LOBBY_ROW_ID_BYTES]); /* fine when there is none */
enum err lobby_delete_silent(struct db *db, int64_t before_ms);
/* The one that was silent longest first. Stops at each's first error. */
enum err lobby_each(struct db *db, enum err (*each)(const struct lobby_keep_row *row, void *arg), void *arg);

/* One announce of this address (addr_wide NULL: it has no /48) at at_ms (wall); older ones than forget_before_ms go. */
enum err lobby_note_create(struct db *db, const uint8_t addr[LOBBY_ROW_ADDR_BYTES], const uint8_t *addr_wide,
                           int64_t at_ms, int64_t forget_before_ms);
enum err lobby_forget_creates(struct db *db, int64_t before_ms);

/* Each, oldest first. */
typedef enum err(lobby_create_fn)(const uint8_t addr[LOBBY_ROW_ADDR_BYTES], const uint8_t *addr_wide, int64_t at_ms,
                                  void *arg);
enum err lobby_each_create(struct db *db, lobby_create_fn *each, void *arg);

#endif
