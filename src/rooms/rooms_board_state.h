/*
 * Leaderboards in memory, in order: a rank is found, and a row by its rank, in logarithmic time, whatever the size of the board.
 * Pure; what is to be kept is told to the caller, who writes it behind (rooms_keep).
 *
 * A board is (title, number).  A player has one row on it, his best score; rows are keyed by the folded name.  Equal scores
 * rank by seq, which counts all scores of the server that made or changed a row.
 */
#ifndef ROOMS_ROOMS_BOARD_STATE_H
#define ROOMS_ROOMS_BOARD_STATE_H

#include "conf/limits.h"
#include "rooms/rooms_wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rooms_boards;
struct rooms_board;

/* What callers see of a row; it is valid until the boards change. */
struct rooms_row {
	const uint8_t *name; /* ROOMS_NAME_BYTES: the spelling of the best score */
	int64_t        score;
	uint64_t       recorded_s; /* since 1970, UTC */
	uint64_t       seq;
	const uint8_t *comment;
	size_t         comment_len;
};

/* limits: rooms_boards, rooms_boards_per_title, rooms_rows, rooms_rows_per_board. NULL when out of memory. */
struct rooms_boards *rooms_boards_new(const struct limits *limits);
void                 rooms_boards_free(struct rooms_boards *b);

/* NULL: there is none. */
struct rooms_board *rooms_board_find(struct rooms_boards *b, const uint8_t title[ROOMS_TITLE_BYTES], uint32_t number);

/* Makes an empty one; order 1: lower is better. FINE; LIMIT: over a limit, or out of memory. */
enum rooms_code rooms_board_make(struct rooms_board **out, struct rooms_boards *b,
                                 const uint8_t title[ROOMS_TITLE_BYTES], uint32_t number, uint8_t order);

/* The same of one that was kept, whatever the limits. BAD: it is there already; LIMIT: out of memory. */
enum rooms_code rooms_board_load(struct rooms_board **out, struct rooms_boards *b,
                                 const uint8_t title[ROOMS_TITLE_BYTES], uint32_t number, uint8_t order);

const uint8_t *rooms_board_title(const struct rooms_board *board);
uint32_t       rooms_board_number(const struct rooms_board *board);
uint8_t        rooms_board_order(const struct rooms_board *board); /* 1: lower is better; else 0 */
uint32_t       rooms_board_rows(const struct rooms_board *board);

/* What a recorded score did. */
struct rooms_recorded {
	uint32_t rank;       /* from 1, of the player's row after it */
	bool     is_changed; /* the row is another one than before, or new */
	bool     is_new;     /* the player had none */
	bool     has_dropped;
	uint8_t  dropped[ROOMS_NAME_BYTES]; /* folded: the worst row of a full board, which made place */
};

/*
 * FINE; LIMIT: a new row would be one too many (of all boards; or the board is full and the score not better than its worst), or
 * out of memory. Nothing is changed then. comment is copied.
 */
enum rooms_code rooms_board_record(struct rooms_recorded *out, struct rooms_boards *b, struct rooms_board *board,
                                   const uint8_t name[ROOMS_NAME_BYTES], int64_t score, const uint8_t *comment,
                                   size_t comment_len, uint64_t recorded_s);

/*
 * A row as it was kept, whatever the limits; seq goes on behind the largest. BAD: the player has one already, or a length that
 * cannot be; LIMIT: out of memory. Nothing is changed then.
 */
enum rooms_code rooms_board_load_row(struct rooms_boards *b, struct rooms_board *board, const struct rooms_row *row);

/* The player's row and rank; 0: he has none. The name in any case. */
uint32_t rooms_board_rank_of(struct rooms_row *out, const struct rooms_board *board,
                             const uint8_t name[ROOMS_NAME_BYTES]);

/* Rows from rank start (from 1) on, at most count; each call gives the next. Returns how many were given. */
uint32_t rooms_board_walk(const struct rooms_board *board, uint32_t start, uint32_t count,
                          void (*row)(void *arg, uint32_t rank, const struct rooms_row *r), void *arg);

/* All boards, by title, then number: for the status page. leader is valid when rows > 0. */
void rooms_boards_each(const struct rooms_boards *b,
                       void (*board)(void *arg, const struct rooms_board *board, const struct rooms_row *leader),
                       void *arg);

size_t rooms_boards_count(const struct rooms_boards *b);
size_t rooms_boards_rows(const struct rooms_boards *b);

/* Whether the title has a board. */
bool rooms_boards_have_title(const struct rooms_boards *b, const uint8_t title[ROOMS_TITLE_BYTES]);

#endif
