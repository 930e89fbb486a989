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

/* --- What operators do --- */

/* The player's row without its rank. False: he has none. */
bool rooms_board_get(struct rooms_row *out, const struct rooms_board *board, const uint8_t name[ROOMS_NAME_BYTES]);

/* False: he has none. */
bool rooms_board_remove(struct rooms_boards *b, struct rooms_board *board, const uint8_t name[ROOMS_NAME_BYTES]);

/*
 * Removes rows up to this seq, ROOMS_CLEAR_MOST of them at most, and says the name of each to gone; returns how many: 0 when
 * there are none any more.
 */
#define ROOMS_CLEAR_MOST 128
uint32_t rooms_board_clear(struct rooms_boards *b, struct rooms_board *board, uint64_t seq_max,
                           void (*gone)(void *arg, const uint8_t name[ROOMS_NAME_BYTES]), void *arg);

/* So many numbers for rows that are put, behind all that were given; the one before the first of them. */
uint64_t rooms_boards_take_seqs(struct rooms_boards *b, size_t count);

/* Sets the player's row, better or not, with this seq, whatever the limits. LIMIT: out of memory, nothing is changed. */
enum rooms_code rooms_board_put(struct rooms_boards *b, struct rooms_board *board, const struct rooms_row *row);

/* Whether a score is better than another one on this board. */
bool rooms_board_is_better(const struct rooms_board *board, int64_t a, int64_t b);

/* So many places are kept for rows that will be put, and count as rows of others. 0: none any more. One board at a time. */
void rooms_board_reserve(struct rooms_boards *b, struct rooms_board *board, uint32_t count);

/* No new row without another one's going; none at all. What is reserved counts. */
bool rooms_board_is_full(const struct rooms_boards *b, const struct rooms_board *board);
bool rooms_boards_are_full(const struct rooms_boards *b);

/* The player's row and rank; 0: he has none. The name in any case. */
uint32_t rooms_board_rank_of(struct rooms_row *out, const struct rooms_board *board,
                             const uint8_t name[ROOMS_NAME_BYTES]);

/* Rows from rank start (from 1) on, at most count; each call gives the next. Returns how many were given. */
uint32_t rooms_board_walk(const struct rooms_board *board, uint32_t start, uint32_t count,
                          void (*row)(void *arg, uint32_t rank, const struct rooms_row *r), void *arg);

/* The rank of the first row behind where this score and seq have their place, whether or not there is such a row. */
uint32_t rooms_board_rank_behind(const struct rooms_board *board, int64_t score, uint64_t seq);

/*
 * Rows in the order of their names, those behind this name (NULL: from the first), at most count: one after the other this gives
 * each row of a board that changes meanwhile, and none twice. Returns how many were given.
 */
uint32_t rooms_board_walk_names(const struct rooms_board *board, const uint8_t after[ROOMS_NAME_BYTES], uint32_t count,
                                void (*row)(void *arg, const struct rooms_row *r), void *arg);

/* Boards from this title and number on (2^32: behind all of the title), at most count, as rooms_boards_each gives them. */
uint32_t rooms_boards_walk(const struct rooms_boards *b, const uint8_t title[ROOMS_TITLE_BYTES], uint64_t number,
                           uint32_t count,
                           void (*board)(void *arg, const struct rooms_board *board, const struct rooms_row *leader),
                           void *arg);

/* All boards, by title, then number: for the status page. leader is valid when rows > 0. */
void rooms_boards_each(const struct rooms_boards *b,
                       void (*board)(void *arg, const struct rooms_board *board, const struct rooms_row *leader),
                       void *arg);

size_t rooms_boards_count(const struct rooms_boards *b);
size_t rooms_boards_rows(const struct rooms_boards *b);

/* Whether the title has a board. */
bool rooms_boards_have_title(const struct rooms_boards *b, const uint8_t title[ROOMS_TITLE_BYTES]);

#endif
