/*
 * Leaderboards, as they are kept: boards with their order, and one row per player and board. All functions run on the store
 * thread (inside a job) or before it starts.
 *
 * Titles, names and comments are bytes of the game's, titles and names padded with NULs; beside them stands what people read
 * (cleaned, valid UTF-8).
 */
#ifndef STORE_BOARD_H
#define STORE_BOARD_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct db;

#define BOARD_TITLE_BYTES   12
#define BOARD_NAME_BYTES    16
#define BOARD_COMMENT_BYTES 64

struct board_row {
	uint8_t  title[BOARD_TITLE_BYTES];
	uint32_t number;
	uint8_t  folded[BOARD_NAME_BYTES], name[BOARD_NAME_BYTES];
	int64_t  score;
	uint8_t  comment[BOARD_COMMENT_BYTES];
	size_t   comment_len;
	int64_t  recorded_ms; /* wall */
	uint64_t seq;
};

/* Makes the board if it is not there. Order 1: lower is better. The title is not empty. */
enum err board_make(struct db *db, const uint8_t title[BOARD_TITLE_BYTES], uint32_t number, uint8_t order);
/* Adds the row or replaces it. ERR_NOT_FOUND: its board is not there. */
enum err board_put(struct db *db, const struct board_row *row);
/* Fine when there is none. */
enum err board_drop(struct db *db, const uint8_t title[BOARD_TITLE_BYTES], uint32_t number,
                    const uint8_t folded[BOARD_NAME_BYTES]);

/* All rows of it; fine when there are none. */
enum err board_clear(struct db *db, const uint8_t title[BOARD_TITLE_BYTES], uint32_t number);

/* All boards; all rows, those of a board together. Stops at each's first error. order is 1: lower is better, or 0. */
enum err board_each(struct db *db,
                    enum err (*each)(const uint8_t title[BOARD_TITLE_BYTES], uint32_t number, uint8_t order, void *arg),
                    void *arg);
enum err board_each_row(struct db *db, enum err (*each)(const struct board_row *row, void *arg), void *arg);

#endif
