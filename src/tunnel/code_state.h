/*
 * Who has which code: the directory of players, and the 900,000 codes of six digits.
 *
 * Which codes are taken is a bitmap with a count per block, so that drawing one of the free ones, each as likely as any
 * other, costs the same however full the range is: find the block that holds the k-th free code, then the word, then the bit.
 *
 *	player (8 byte id) --> struct code_entry { digest, code, ... }          taken: 1 bit per code
 */
#ifndef TUNNEL_CODE_STATE_H
#define TUNNEL_CODE_STATE_H

#include "base/err.h"
#include "base/map.h"
#include "base/pool.h"
#include "tunnel/tunnel_wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CODE_DIGEST_BYTES 32
#define CODE_COUNT        (TUNNEL_CODE_MAX - TUNNEL_CODE_MIN + 1)
#define CODE_BLOCK_CODES  4096
#define CODE_BLOCKS       ((CODE_COUNT + CODE_BLOCK_CODES - 1) / CODE_BLOCK_CODES)

struct tunnel_conn;

/* A player. The first TUNNEL_ID_BYTES of digest are his public id. */
struct code_entry {
	uint8_t             digest[CODE_DIGEST_BYTES]; /* SHA-256 of the player key */
	uint32_t            code;
	uint32_t            next_code; /* the one he is about to get instead; 0: none */
	bool                joined;    /* a friend ever joined under this code */
	bool                pending;   /* not yet committed: nobody may be told the code */
	struct tunnel_conn *waiting;   /* while pending: who asked last */
};

struct code_state {
	struct map  by_id;
	struct pool entries;
	uint32_t    taken_count;
	uint16_t    taken_in[CODE_BLOCKS];
	uint64_t    taken[CODE_BLOCKS * CODE_BLOCK_CODES / 64];
};

void code_init(struct code_state *s, uint64_t seed);
void code_fini(struct code_state *s);

/* The player with this id (TUNNEL_ID_BYTES), or NULL. */
struct code_entry *code_find(const struct code_state *s, const uint8_t *id);

/*
 * Whether this is the player's digest. Of one who was imported only the id is known, zeros stand for the rest, and the first digest
 * that begins so is his. code_is_whose_key also keeps it then: the key is in use.
 */
bool code_is_whose(const struct code_entry *e, const uint8_t digest[CODE_DIGEST_BYTES]);
bool code_is_whose_key(struct code_entry *e, const uint8_t digest[CODE_DIGEST_BYTES]);

/* Adds a player with a code already his. ERR_EXISTS when id or code is taken, ERR_MALFORMED out of range, ERR_NOMEM. */
enum err code_load(struct code_state *s, const uint8_t digest[CODE_DIGEST_BYTES], uint32_t code, bool joined);

/*
 * A new player with a free code, marked pending. random is evenly spread over 32 bits. ERR_EXISTS when the id is taken,
 * ERR_NO_ROOM when no code is free, ERR_NOMEM.
 */
enum err code_draw(struct code_entry **out, struct code_state *s, const uint8_t digest[CODE_DIGEST_BYTES],
                   uint32_t random);

/* The same with this code. ERR_EXISTS also when that is taken; ERR_MALFORMED out of range. */
enum err code_claim(struct code_entry **out, struct code_state *s, const uint8_t digest[CODE_DIGEST_BYTES],
                    uint32_t code);

bool code_is_taken(const struct code_state *s, uint32_t code); /* in range */

/*
 * Another free code for the player, in next_code, taken from here on. ERR_BUSY while one is pending, the first or another;
 * ERR_NO_ROOM. code_redrawn ends it: the player has it, and the old one is free again; or (has false) he keeps the old
 * one, and the new one is free again, unless keep_code.
 */
enum err code_redraw(struct code_state *s, struct code_entry *e, uint32_t random);
enum err code_retake(struct code_state *s, struct code_entry *e,
                     uint32_t code); /* this one; also ERR_EXISTS, ERR_MALFORMED */
void     code_redrawn(struct code_state *s, struct code_entry *e, bool has, bool keep_code);

/* Removes the player; his code is free again, unless keep_code: then it stays taken until the next start. */
void code_remove(struct code_state *s, struct code_entry *e, bool keep_code);

uint32_t code_free_count(const struct code_state *s);

#endif
