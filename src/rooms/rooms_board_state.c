/*
 * The order is kept here, beside the table, and not asked of the database: the loop touches no file, an index of SQLite
 * does not know positions (a rank would count all rows before it), and a score is answered before it is on the disk.
 *
 * Each row is in two trees of its board: by rank, and by name. Both are balanced without chance, and grow without a pause
 * such as a hash table makes. A row takes 96 bytes, and a comment what it is long.
 */
#include "rooms/rooms_board_state.h"

#include "base/auto.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/tree.h"

#include <assert.h>
#include <string.h>

struct row {
	struct tree_node by_rank, by_name;
	uint8_t          name[ROOMS_NAME_BYTES]; /* as it was written with the best score */
	int64_t          score;
	uint64_t         seq;
	uint64_t         recorded_s;
	uint8_t         *comment; /* its length, then its bytes; NULL: there is none */
};

struct rooms_board {
	struct tree_node in_boards;
	uint8_t          title[ROOMS_TITLE_BYTES];
	uint64_t         number; /* 32 bits; one more is behind all of the title */
	bool             is_lower_better;
	struct tree      by_rank, by_name;
	uint32_t         reserved;
};

struct rooms_boards {
	const struct limits *limits;
	struct tree          boards; /* by title, then number */
	struct pool          rows;
	uint64_t             last_seq;
	uint32_t             reserved; /* of the one board that has some */
};

#define ROW_BY_RANK(node) CONST_CONTAINER(node, struct row, by_rank)
#define ROW_BY_NAME(node) CONST_CONTAINER(node, struct row, by_name)
#define BOARD(node)       CONST_CONTAINER(node, struct rooms_board, in_boards)

/* Orders */

static int compare_seq(const struct row *a, const struct row *b)
{
	return (a->seq > b->seq) - (a->seq < b->seq);
}

static int compare_higher(const struct tree_node *na, const struct tree_node *nb)
{
	const struct row *a = ROW_BY_RANK(na), *b = ROW_BY_RANK(nb);

	return a->score != b->score ? (a->score > b->score ? -1 : 1) : compare_seq(a, b);
}

static int compare_lower(const struct tree_node *na, const struct tree_node *nb)
{
	const struct row *a = ROW_BY_RANK(na), *b = ROW_BY_RANK(nb);

	return a->score != b->score ? (a->score < b->score ? -1 : 1) : compare_seq(a, b);
}

static int compare_names(const struct tree_node *na, const struct tree_node *nb)
{
	uint8_t a[ROOMS_NAME_BYTES], b[ROOMS_NAME_BYTES];

	rooms_fold(a, ROW_BY_NAME(na)->name);
	rooms_fold(b, ROW_BY_NAME(nb)->name);
	return memcmp(a, b, sizeof(a));
}

static int compare_boards(const struct tree_node *na, const struct tree_node *nb)
{
	const struct rooms_board *a = BOARD(na), *b = BOARD(nb);
	int                       titles = memcmp(a->title, b->title, sizeof(a->title));

	return titles ? titles : (a->number > b->number) - (a->number < b->number);
}

bool rooms_board_is_better(const struct rooms_board *board, int64_t a, int64_t b)
{
	return board->is_lower_better ? a < b : a > b;
}

/* All boards */

struct rooms_boards *rooms_boards_new(const struct limits *limits)
{
	struct rooms_boards *b = mem_new(sizeof(*b));

	if (!b)
		return NULL;
	b->limits = limits;
	tree_init(&b->boards, compare_boards);
	pool_init(&b->rows, sizeof(struct row), SIZE_MAX); /* limits hold for new rows, not for those that were kept */
	return b;
}

static void free_board(struct rooms_board *board)
{
	struct tree_walk  w = tree_walk_from(&board->by_rank, 0);
	struct tree_node *n;

	while ((n = tree_walk_next(&w)))
		mem_free(ROW_BY_RANK(n)->comment);
	mem_free(board);
}

void rooms_boards_free(struct rooms_boards *b)
{
	struct tree_node *n;

	if (!b)
		return;
	while ((n = b->boards.root)) {
		tree_remove(&b->boards, n);
		free_board(CONTAINER(n, struct rooms_board, in_boards));
	}
	pool_fini(&b->rows);
	mem_free(b);
}

size_t rooms_boards_count(const struct rooms_boards *b)
{
	return tree_count(&b->boards);
}

size_t rooms_boards_rows(const struct rooms_boards *b)
{
	return b->rows.used;
}

bool rooms_board_is_full(const struct rooms_boards *b, const struct rooms_board *board)
{
	return (int64_t)rooms_board_rows(board) + board->reserved >= b->limits->rooms_rows_per_board;
}

bool rooms_boards_are_full(const struct rooms_boards *b)
{
	return rooms_boards_rows(b) + b->reserved >= (size_t)b->limits->rooms_rows;
}

void rooms_board_reserve(struct rooms_boards *b, struct rooms_board *board, uint32_t count)
{
	b->reserved     = count;
	board->reserved = count;
}

/* How many boards come before the one of this title and number. */
static uint32_t boards_before(const struct rooms_boards *b, const uint8_t title[ROOMS_TITLE_BYTES], uint64_t number)
{
	struct rooms_board probe = { .number = number };

	memcpy(probe.title, title, sizeof(probe.title));
	return tree_before(&b->boards, &probe.in_boards);
}

static uint32_t boards_of(const struct rooms_boards *b, const uint8_t title[ROOMS_TITLE_BYTES])
{
	return boards_before(b, title, (uint64_t)UINT32_MAX + 1) - boards_before(b, title, 0);
}

bool rooms_boards_have_title(const struct rooms_boards *b, const uint8_t title[ROOMS_TITLE_BYTES])
{
	return boards_of(b, title) > 0;
}

/* One board */

struct rooms_board *rooms_board_find(struct rooms_boards *b, const uint8_t title[ROOMS_TITLE_BYTES], uint32_t number)
{
	struct rooms_board probe = { .number = number };

	memcpy(probe.title, title, sizeof(probe.title));

	struct tree_node *n = tree_find(&b->boards, &probe.in_boards);
	return n ? CONTAINER(n, struct rooms_board, in_boards) : NULL;
}

enum rooms_code rooms_board_load(struct rooms_board **out, struct rooms_boards *b,
                                 const uint8_t title[ROOMS_TITLE_BYTES], uint32_t number, uint8_t order)
{
	if (rooms_board_find(b, title, number))
		return ROOMS_BAD;

	struct rooms_board *board = mem_new(sizeof(*board));
	if (!board)
		return ROOMS_LIMIT;
	memcpy(board->title, title, sizeof(board->title));
	board->number          = number;
	board->is_lower_better = order == 1;
	tree_init(&board->by_rank, board->is_lower_better ? compare_lower : compare_higher);
	tree_init(&board->by_name, compare_names);
	tree_add(&b->boards, &board->in_boards);
	*out = board;
	return ROOMS_FINE;
}

enum rooms_code rooms_board_make(struct rooms_board **out, struct rooms_boards *b,
                                 const uint8_t title[ROOMS_TITLE_BYTES], uint32_t number, uint8_t order)
{
	if (rooms_boards_count(b) >= (size_t)b->limits->rooms_boards ||
	    boards_of(b, title) >= b->limits->rooms_boards_per_title)
		return ROOMS_LIMIT;
	return rooms_board_load(out, b, title, number, order);
}

const uint8_t *rooms_board_title(const struct rooms_board *board)
{
	return board->title;
}

uint32_t rooms_board_number(const struct rooms_board *board)
{
	return (uint32_t)board->number;
}

uint8_t rooms_board_order(const struct rooms_board *board)
{
	return board->is_lower_better;
}

uint32_t rooms_board_rows(const struct rooms_board *board)
{
	return tree_count(&board->by_rank);
}

/* Rows */

static struct rooms_row show(const struct row *row)
{
	static const uint8_t nothing[1];

	return (struct rooms_row){
		.name        = row->name,
		.score       = row->score,
		.recorded_s  = row->recorded_s,
		.seq         = row->seq,
		.comment     = row->comment ? row->comment + 1 : nothing,
		.comment_len = row->comment ? row->comment[0] : 0,
	};
}

static struct row *find_row(const struct rooms_board *board, const uint8_t name[ROOMS_NAME_BYTES])
{
	struct row probe;

	memcpy(probe.name, name, sizeof(probe.name));

	struct tree_node *n = tree_find(&board->by_name, &probe.by_name);
	return n ? CONTAINER(n, struct row, by_name) : NULL;
}

static uint32_t rank_of(const struct rooms_board *board, const struct row *row)
{
	return tree_before(&board->by_rank, &row->by_rank) + 1;
}

/* False when out of memory. */
static bool copy_comment(uint8_t **out, const uint8_t *comment, size_t len)
{
	assert(len <= ROOMS_COMMENT_MAX);
	*out = NULL;
	if (len == 0)
		return true;
	*out = mem_new(len + 1);
	if (!*out)
		return false;
	(*out)[0] = (uint8_t)len;
	memcpy(*out + 1, comment, len);
	return true;
}

/* Into the order, at its rank. Takes the comment over. */
static uint32_t place(struct rooms_board *board, struct row *row, const struct rooms_row *as, uint8_t *comment)
{
	memcpy(row->name, as->name, sizeof(row->name));
	row->score      = as->score;
	row->seq        = as->seq;
	row->recorded_s = as->recorded_s;
	row->comment    = comment;
	return tree_add(&board->by_rank, &row->by_rank) + 1;
}

/* A row the player did not have; its rank, or 0 when out of memory. */
static uint32_t add_row(struct rooms_boards *b, struct rooms_board *board, const struct rooms_row *as)
{
	uint8_t    *comment;
	struct row *row;

	if (!copy_comment(&comment, as->comment, as->comment_len))
		return 0;
	row = pool_take(&b->rows);
	if (!row) {
		mem_free(comment);
		return 0;
	}

	uint32_t rank = place(board, row, as, comment);
	tree_add(&board->by_name, &row->by_name);
	return rank;
}

/* The same for one he had. */
static uint32_t change_row(struct rooms_board *board, struct row *row, const struct rooms_row *as)
{
	uint8_t *comment;

	if (!copy_comment(&comment, as->comment, as->comment_len))
		return 0;
	mem_free(row->comment);
	tree_remove(&board->by_rank, &row->by_rank);
	return place(board, row, as, comment);
}

static void drop_row(struct rooms_boards *b, struct rooms_board *board, struct row *row)
{
	tree_remove(&board->by_rank, &row->by_rank);
	tree_remove(&board->by_name, &row->by_name);
	mem_free(row->comment);
	pool_give(&b->rows, row);
}

/* NULL: there are no rows; all places may be reserved. */
static struct row *worst_of(const struct rooms_board *board)
{
	uint32_t rows = rooms_board_rows(board);

	return rows > 0 ? CONTAINER(tree_at(&board->by_rank, rows - 1), struct row, by_rank) : NULL;
}

static enum rooms_code record_new(struct rooms_recorded *out, struct rooms_boards *b, struct rooms_board *board,
                                  const struct rooms_row *as)
{
	struct row *worst = NULL;

	if (rooms_board_is_full(b, board)) {
		worst = worst_of(board);
		if (!worst || !rooms_board_is_better(board, as->score, worst->score))
			return ROOMS_LIMIT;
	} else if (rooms_boards_are_full(b)) {
		return ROOMS_LIMIT;
	}
	/* First the one that may fail. The new one is better, so that its rank stays when the worst goes. */
	out->rank = add_row(b, board, as);
	if (out->rank == 0)
		return ROOMS_LIMIT;
	if (worst) {
		out->has_dropped = true;
		rooms_fold(out->dropped, worst->name);
		drop_row(b, board, worst);
	}
	out->is_changed = out->is_new = true;
	return ROOMS_FINE;
}

static enum rooms_code record_again(struct rooms_recorded *out, struct rooms_board *board, struct row *row,
                                    const struct rooms_row *as)
{
	if (!rooms_board_is_better(board, as->score, row->score)) {
		out->rank = rank_of(board, row);
		return ROOMS_FINE;
	}
	out->rank       = change_row(board, row, as);
	out->is_changed = out->rank != 0;
	return out->is_changed ? ROOMS_FINE : ROOMS_LIMIT;
}

enum rooms_code rooms_board_record(struct rooms_recorded *out, struct rooms_boards *b, struct rooms_board *board,
                                   const uint8_t name[ROOMS_NAME_BYTES], int64_t score, const uint8_t *comment,
                                   size_t comment_len, uint64_t recorded_s)
{
	struct row      *row = find_row(board, name);
	struct rooms_row as  = { name, score, recorded_s, b->last_seq + 1, comment, comment_len };

	*out                 = (struct rooms_recorded){ 0 };
	enum rooms_code code = row ? record_again(out, board, row, &as) : record_new(out, b, board, &as);
	if (out->is_changed)
		b->last_seq++;
	return code;
}

enum rooms_code rooms_board_load_row(struct rooms_boards *b, struct rooms_board *board, const struct rooms_row *row)
{
	if (row->comment_len > ROOMS_COMMENT_MAX || find_row(board, row->name))
		return ROOMS_BAD;
	if (add_row(b, board, row) == 0)
		return ROOMS_LIMIT;
	if (row->seq > b->last_seq)
		b->last_seq = row->seq;
	return ROOMS_FINE;
}

/* Operators */

bool rooms_board_get(struct rooms_row *out, const struct rooms_board *board, const uint8_t name[ROOMS_NAME_BYTES])
{
	const struct row *row = find_row(board, name);

	if (row)
		*out = show(row);
	return row != NULL;
}

bool rooms_board_remove(struct rooms_boards *b, struct rooms_board *board, const uint8_t name[ROOMS_NAME_BYTES])
{
	struct row *row = find_row(board, name);

	if (row)
		drop_row(b, board, row);
	return row != NULL;
}

uint32_t rooms_board_clear(struct rooms_boards *b, struct rooms_board *board, uint64_t seq_max,
                           void (*gone)(void *arg, const uint8_t name[ROOMS_NAME_BYTES]), void *arg)
{
	struct tree_walk  w = tree_walk_from(&board->by_rank, 0);
	struct row       *rows[ROOMS_CLEAR_MOST];
	struct tree_node *n;
	uint32_t          count = 0;

	/* No walk goes on over a tree that changes. */
	while (count < ROOMS_CLEAR_MOST && (n = tree_walk_next(&w))) {
		struct row *row = CONTAINER(n, struct row, by_rank);

		if (row->seq <= seq_max)
			rows[count++] = row;
	}
	for (uint32_t i = 0; i < count; i++) {
		uint8_t name[ROOMS_NAME_BYTES];

		memcpy(name, rows[i]->name, sizeof(name));
		drop_row(b, board, rows[i]);
		gone(arg, name);
	}
	return count;
}

uint64_t rooms_boards_take_seqs(struct rooms_boards *b, size_t count)
{
	uint64_t before = b->last_seq;

	b->last_seq += count;
	return before;
}

enum rooms_code rooms_board_put(struct rooms_boards *b, struct rooms_board *board, const struct rooms_row *row)
{
	struct row *old = find_row(board, row->name);

	assert(row->seq <= b->last_seq);
	return (old ? change_row(board, old, row) : add_row(b, board, row)) ? ROOMS_FINE : ROOMS_LIMIT;
}

/* Questions */

uint32_t rooms_board_rank_of(struct rooms_row *out, const struct rooms_board *board,
                             const uint8_t name[ROOMS_NAME_BYTES])
{
	const struct row *row = find_row(board, name);

	if (!row)
		return 0;
	*out = show(row);
	return rank_of(board, row);
}

uint32_t rooms_board_walk(const struct rooms_board *board, uint32_t start, uint32_t count,
                          void (*row)(void *arg, uint32_t rank, const struct rooms_row *r), void *arg)
{
	assert(start > 0);

	struct tree_walk  w     = tree_walk_from(&board->by_rank, start - 1);
	uint32_t          given = 0;
	struct tree_node *n;

	for (; given < count && (n = tree_walk_next(&w)); given++) {
		struct rooms_row shown = show(ROW_BY_RANK(n));

		row(arg, start + given, &shown);
	}
	return given;
}

uint32_t rooms_board_rank_behind(const struct rooms_board *board, int64_t score, uint64_t seq)
{
	struct row probe = { .score = score, .seq = seq };

	return tree_before(&board->by_rank, &probe.by_rank) + (tree_find(&board->by_rank, &probe.by_rank) ? 2 : 1);
}

uint32_t rooms_board_walk_names(const struct rooms_board *board, const uint8_t after[ROOMS_NAME_BYTES], uint32_t count,
                                void (*row)(void *arg, const struct rooms_row *r), void *arg)
{
	struct row        probe;
	uint32_t          at = 0, given = 0;
	struct tree_walk  w;
	struct tree_node *n;

	if (after) {
		memcpy(probe.name, after, sizeof(probe.name));
		at = tree_before(&board->by_name, &probe.by_name) +
		     (tree_find(&board->by_name, &probe.by_name) ? 1 : 0);
	}
	w = tree_walk_from(&board->by_name, at);
	for (; given < count && (n = tree_walk_next(&w)); given++) {
		struct rooms_row shown = show(ROW_BY_NAME(n));

		row(arg, &shown);
	}
	return given;
}

/* At most count from this position on. */
static uint32_t walk_boards(const struct rooms_boards *b, uint32_t at_first, uint32_t count,
                            void (*board)(void *arg, const struct rooms_board *board, const struct rooms_row *leader),
                            void *arg)
{
	struct tree_walk  w     = tree_walk_from(&b->boards, at_first);
	uint32_t          given = 0;
	struct tree_node *n;

	for (; given < count && (n = tree_walk_next(&w)); given++) {
		const struct rooms_board *at     = BOARD(n);
		struct tree_node         *first  = tree_at(&at->by_rank, 0);
		struct rooms_row          leader = { 0 };

		if (first)
			leader = show(ROW_BY_RANK(first));
		board(arg, at, &leader);
	}
	return given;
}

uint32_t rooms_boards_walk(const struct rooms_boards *b, const uint8_t title[ROOMS_TITLE_BYTES], uint64_t number,
                           uint32_t count,
                           void (*board)(void *arg, const struct rooms_board *board, const struct rooms_row *leader),
                           void *arg)
{
	return walk_boards(b, boards_before(b, title, number), count, board, arg);
}

void rooms_boards_each(const struct rooms_boards *b,
                       void (*board)(void *arg, const struct rooms_board *board, const struct rooms_row *leader),
                       void *arg)
{
	walk_boards(b, 0, UINT32_MAX, board, arg);
}
