/*
 * Boards, against rows in a plain array that is sorted anew for every question.
 */
#include "rooms/rooms_board_state.h"

#include "base/auto.h"
#include "base/text.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static struct limits        limits;
static struct rooms_boards *boards;

static void start(void)
{
	limits_default(&limits);
	boards = rooms_boards_new(&limits);
	cr_assert_not_null(boards);
}

static void stop(void)
{
	rooms_boards_free(boards);
}

TestSuite(rooms_board_state, .init = start, .fini = stop);

static const uint8_t *title_of(const char *text)
{
	static uint8_t titles[4][ROOMS_TITLE_BYTES];
	static size_t  turn;
	uint8_t       *title = titles[turn++ % COUNT_OF(titles)];

	memset(title, 0, ROOMS_TITLE_BYTES);
	memcpy(title, text, strlen(text));
	return title;
}

static const uint8_t *name_of(const char *text)
{
	static uint8_t names[4][ROOMS_NAME_BYTES];
	static size_t  turn;
	uint8_t       *name = names[turn++ % COUNT_OF(names)];

	memset(name, 0, ROOMS_NAME_BYTES);
	memcpy(name, text, strlen(text));
	return name;
}

#define TITLE title_of("NPWR00860_00")

static struct rooms_board *make(const char *title, uint32_t number, uint8_t order)
{
	struct rooms_board *board = NULL;

	cr_assert_eq(rooms_board_make(&board, boards, title_of(title), number, order), ROOMS_FINE);
	return board;
}

static enum rooms_code try_make(const char *title, uint32_t number)
{
	struct rooms_board *board = NULL;
	enum rooms_code     code  = rooms_board_make(&board, boards, title_of(title), number, 0);

	cr_expect_eq(board != NULL, code == ROOMS_FINE);
	return code;
}

static struct rooms_recorded did; /* the last score */

static enum rooms_code try_score(struct rooms_board *board, const char *name, int64_t score)
{
	return rooms_board_record(&did, boards, board, name_of(name), score, NULL, 0, 1793534400);
}

/* The rank. */
static uint32_t score(struct rooms_board *board, const char *name, int64_t points)
{
	cr_assert_eq(try_score(board, name, points), ROOMS_FINE);
	return did.rank;
}

static uint32_t rank(const struct rooms_board *board, const char *name)
{
	struct rooms_row row;

	return rooms_board_rank_of(&row, board, name_of(name));
}

/* The names of ranks from start on, as text. */
static void put_name(void *arg, uint32_t at, const struct rooms_row *row)
{
	char *out = arg;

	text_format(out + strlen(out), 64, "%s%u:%.16s", *out ? " " : "", at, (const char *)row->name);
}

static const char *ranking(const struct rooms_board *board, uint32_t start_at, uint32_t count)
{
	static char text[8192];

	text[0] = '\0';
	rooms_board_walk(board, start_at, count, put_name, text);
	return text;
}

/* One board */

Test(rooms_board_state, higher_is_better_unless_the_first_said_lower)
{
	static const uint8_t orders[] = { 0, 1, 2, 255 };

	for (uint32_t i = 0; i < COUNT_OF(orders); i++) {
		struct rooms_board *board = make("t", i, orders[i]);

		score(board, "ten", 10);
		score(board, "twenty", 20);
		cr_expect_str_eq(ranking(board, 1, 9), orders[i] == 1 ? "1:ten 2:twenty" : "1:twenty 2:ten");
		cr_expect_eq(rooms_board_order(board), orders[i] == 1);
	}
}

Test(rooms_board_state, only_a_strictly_better_score_changes_the_row)
{
	struct rooms_board *board = make("t", 1, 0);
	struct rooms_row    row;

	cr_assert_eq(rooms_board_record(&did, boards, board, name_of("Homer"), 10, (const uint8_t *)"first", 5, 100),
	             ROOMS_FINE);
	cr_expect(did.is_changed && did.is_new);
	cr_assert_eq(rooms_board_record(&did, boards, board, name_of("homer"), 10, (const uint8_t *)"same", 4, 200),
	             ROOMS_FINE);
	cr_expect_not(did.is_changed || did.is_new || did.has_dropped);
	cr_assert_eq(rooms_board_record(&did, boards, board, name_of("homer"), 9, (const uint8_t *)"worse", 5, 300),
	             ROOMS_FINE);
	cr_expect_not(did.is_changed || did.is_new);
	cr_expect_eq(rooms_board_rank_of(&row, board, name_of("HOMER")), 1);
	cr_expect_arr_eq(row.name, name_of("Homer"), ROOMS_NAME_BYTES);
	cr_expect_eq(row.score, 10);
	cr_expect_eq(row.recorded_s, 100);
	cr_expect_eq(row.comment_len, 5);
	cr_expect_arr_eq(row.comment, "first", 5);

	uint64_t seq = row.seq;
	cr_assert_eq(rooms_board_record(&did, boards, board, name_of("hOMER"), 11, (const uint8_t *)"", 0, 400),
	             ROOMS_FINE);
	cr_expect(did.is_changed && !did.is_new);
	cr_expect_eq(rooms_board_rank_of(&row, board, name_of("homer")), 1);
	cr_expect_arr_eq(row.name, name_of("hOMER"), ROOMS_NAME_BYTES, "the spelling of the best");
	cr_expect_eq(row.score, 11);
	cr_expect_eq(row.recorded_s, 400);
	cr_expect_eq(row.comment_len, 0);
	cr_expect_not_null(row.comment);
	cr_expect_eq(row.seq, seq + 1);
	cr_expect_eq(rooms_board_rows(board), 1);
}

Test(rooms_board_state, a_worse_score_returns_the_rank_of_the_best)
{
	struct rooms_board *board = make("t", 1, 0);

	cr_expect_eq(score(board, "a", 30), 1);
	cr_expect_eq(score(board, "b", 20), 2);
	cr_expect_eq(score(board, "c", 10), 3);
	cr_expect_eq(score(board, "b", 5), 2);
	cr_expect_eq(score(board, "c", 40), 1);
	cr_expect_str_eq(ranking(board, 1, 9), "1:c 2:a 3:b");
}

Test(rooms_board_state, equal_scores_rank_by_who_got_there_first)
{
	struct rooms_board *up = make("t", 1, 0), *down = make("t", 2, 1);

	for (int i = 0; i < 2; i++) {
		struct rooms_board *board = i ? down : up;

		score(board, "late", i ? 90 : 1);
		score(board, "first", 50);
		score(board, "second", 50);
		score(board, "late", 50);
		score(board, "first", 50);
		cr_expect_str_eq(ranking(board, 1, 9), "1:first 2:second 3:late");
	}
}

Test(rooms_board_state, the_smallest_and_the_largest_score_have_their_places)
{
	static const int64_t scores[] = { 0, INT64_MIN, INT64_MAX, -1, INT64_MIN + 1, INT64_MAX - 1, 1 };
	static const char   *names[]  = { "zero", "min", "max", "minus", "min1", "max1", "one" };
	struct rooms_board  *up = make("t", 1, 0), *down = make("t", 2, 1);

	for (size_t i = 0; i < COUNT_OF(scores); i++) {
		score(up, names[i], scores[i]);
		score(down, names[i], scores[i]);
	}
	cr_expect_str_eq(ranking(up, 1, 9), "1:max 2:max1 3:one 4:zero 5:minus 6:min1 7:min");
	cr_expect_str_eq(ranking(down, 1, 9), "1:min 2:min1 3:minus 4:zero 5:one 6:max1 7:max");
	score(up, "min", INT64_MAX);
	score(down, "max", INT64_MIN);
	cr_expect_eq(rank(up, "min"), 2);
	cr_expect_eq(rank(down, "max"), 2);
}

Test(rooms_board_state, names_are_the_same_in_any_ascii_case_and_no_other)
{
	struct rooms_board *board = make("t", 1, 0);

	score(board, "[z", 1);
	score(board, "{Z", 2);
	score(board, "\xc3\x84", 3);
	score(board, "\xc3\xa4", 4);
	score(board, "", 5);
	score(board, "ABCDEFGHIJKLMNOP", 6);
	score(board, "abcdefghijklmnoq", 7);
	cr_expect_eq(rooms_board_rows(board), 7);
	cr_expect_eq(rank(board, "[Z"), 7);
	cr_expect_eq(rank(board, "{z"), 6);
	cr_expect_eq(rank(board, ""), 3);
	cr_expect_eq(rank(board, "abcdefghijklmnop"), 2);
	cr_expect_eq(rank(board, "nobody"), 0);
}

Test(rooms_board_state, comments_are_any_bytes_up_to_64)
{
	struct rooms_board *board = make("t", 1, 0);
	uint8_t             comment[ROOMS_COMMENT_MAX + 1];
	struct rooms_row    row;

	for (size_t len = 0; len <= ROOMS_COMMENT_MAX; len++) {
		memset(comment, (int)len, sizeof(comment));
		cr_assert_eq(rooms_board_record(&did, boards, board, name_of("a"), (int64_t)len, comment, len, len),
		             ROOMS_FINE);
		memset(comment, 0xee, sizeof(comment)); /* it is copied */
		cr_assert_eq(rooms_board_rank_of(&row, board, name_of("a")), 1);
		cr_assert_eq(row.comment_len, len);
		for (size_t i = 0; i < len; i++)
			cr_assert_eq(row.comment[i], len);
	}
}

Test(rooms_board_state, a_page_begins_at_any_rank_and_ends_with_the_board)
{
	struct rooms_board *board = make("t", 1, 0);

	cr_expect_str_eq(ranking(board, 1, 100), "");
	score(board, "a", 3);
	score(board, "b", 2);
	score(board, "c", 1);
	cr_expect_str_eq(ranking(board, 1, 2), "1:a 2:b");
	cr_expect_str_eq(ranking(board, 2, 2), "2:b 3:c");
	cr_expect_str_eq(ranking(board, 3, 2), "3:c");
	cr_expect_str_eq(ranking(board, 4, 2), "");
	cr_expect_str_eq(ranking(board, UINT32_MAX, 100), "");
	cr_expect_str_eq(ranking(board, 1, 0), "");
	char text[64] = "";
	cr_expect_eq(rooms_board_walk(board, 2, 9, put_name, text), 2);
}

/* All boards */

static void put_board(void *arg, const struct rooms_board *board, const struct rooms_row *leader)
{
	char *out = arg;

	text_format(out + strlen(out), 64, "%.12s/%u/%u", (const char *)rooms_board_title(board),
	            rooms_board_number(board), rooms_board_rows(board));
	if (rooms_board_rows(board) > 0)
		text_format(out + strlen(out), 64, "/%.16s/%d", (const char *)leader->name, (int)leader->score);
	text_format(out + strlen(out), 64, " ");
}

Test(rooms_board_state, boards_are_of_a_title_and_stand_in_order)
{
	char text[1024] = "";

	cr_expect_null(rooms_board_find(boards, TITLE, 1));
	cr_expect_not(rooms_boards_have_title(boards, TITLE));
	make("b", 1, 0);
	make("a", UINT32_MAX, 0);
	make("NPWR00860_00", 2, 0);
	make("b", 0, 0);
	make("a", 256, 1);
	score(rooms_board_find(boards, title_of("a"), 256), "x", 2);
	score(rooms_board_find(boards, title_of("a"), 256), "y", 1);
	cr_expect_null(rooms_board_find(boards, title_of("a"), 1));
	cr_expect_null(rooms_board_find(boards, title_of("c"), 1));
	rooms_boards_each(boards, put_board, text);
	cr_expect_str_eq(text, "NPWR00860_00/2/0 a/256/2/y/1 a/4294967295/0 b/0/0 b/1/0 ");
	cr_expect_eq(rooms_boards_count(boards), 5);
	cr_expect_eq(rooms_boards_rows(boards), 2);
	cr_expect(rooms_boards_have_title(boards, TITLE));
	cr_expect(rooms_boards_have_title(boards, title_of("a")));
	cr_expect_not(rooms_boards_have_title(boards, title_of("NPWR00860_0")));
	cr_expect_not(rooms_boards_have_title(boards, title_of("c")));
}

Test(rooms_board_state, the_same_name_has_a_row_on_each_board)
{
	struct rooms_board *one = make("t", 1, 0), *two = make("t", 2, 0);

	score(one, "a", 1);
	score(two, "b", 9);
	cr_expect_eq(score(two, "a", 2), 2);
	cr_expect_eq(rank(one, "a"), 1);
	cr_expect_eq(rank(one, "b"), 0);
}

/* Limits */

Test(rooms_board_state, boards_are_made_up_to_the_limit_and_no_further)
{
	limits.rooms_boards = 3;
	cr_expect_eq(try_make("a", 1), ROOMS_FINE);
	cr_expect_eq(try_make("b", 1), ROOMS_FINE);
	cr_expect_eq(try_make("c", 1), ROOMS_FINE);
	cr_expect_eq(try_make("d", 1), ROOMS_LIMIT);
	cr_expect_eq(try_make("a", 2), ROOMS_LIMIT);
	cr_expect_eq(rooms_boards_count(boards), 3);
}

Test(rooms_board_state, a_title_has_boards_up_to_its_limit)
{
	limits.rooms_boards_per_title = 2;
	cr_expect_eq(try_make("b", 0), ROOMS_FINE);
	cr_expect_eq(try_make("b", UINT32_MAX), ROOMS_FINE);
	cr_expect_eq(try_make("b", 7), ROOMS_LIMIT);
	cr_expect_eq(try_make("a", 7), ROOMS_FINE);
	cr_expect_eq(try_make("c", 7), ROOMS_FINE);
	cr_expect_eq(try_make("a", 8), ROOMS_FINE);
	cr_expect_eq(try_make("a", 9), ROOMS_LIMIT);
}

Test(rooms_board_state, rows_come_up_to_the_limit_of_all_and_those_who_have_one_go_on)
{
	struct rooms_board *one = make("t", 1, 0), *two = make("t", 2, 0);

	limits.rooms_rows = 3;
	score(one, "a", 1);
	score(one, "b", 2);
	score(two, "a", 3);
	cr_expect_eq(try_score(two, "b", 9), ROOMS_LIMIT);
	cr_expect_not(did.is_changed);
	cr_expect_eq(rank(two, "b"), 0);
	cr_expect_eq(rooms_boards_rows(boards), 3);
	cr_expect_eq(score(one, "a", 9), 1);
	cr_expect(did.is_changed);
}

Test(rooms_board_state, a_full_board_drops_its_worst_for_a_better_one)
{
	struct rooms_board *board = make("t", 1, 0);

	limits.rooms_rows_per_board = 3;
	limits.rooms_rows           = 3;
	score(board, "Homer", 10);
	score(board, "b", 30);
	score(board, "c", 20);
	cr_expect_not(did.has_dropped);
	cr_expect_eq(try_score(board, "d", 9), ROOMS_LIMIT);
	cr_expect_eq(try_score(board, "d", 10), ROOMS_LIMIT, "not better");
	cr_expect_not(did.has_dropped);
	cr_expect_str_eq(ranking(board, 1, 9), "1:b 2:c 3:Homer");
	cr_expect_eq(score(board, "d", 11), 3);
	cr_expect(did.has_dropped && did.is_new && did.is_changed);
	cr_expect_arr_eq(did.dropped, name_of("homer"), ROOMS_NAME_BYTES, "folded");
	cr_expect_str_eq(ranking(board, 1, 9), "1:b 2:c 3:d");
	cr_expect_eq(rooms_boards_rows(boards), 3);
	/* The one who was dropped comes again, as anybody. */
	cr_expect_eq(score(board, "homer", 40), 1);
	cr_expect_arr_eq(did.dropped, name_of("d"), ROOMS_NAME_BYTES);
	cr_expect_eq(score(board, "c", 50), 1, "whoever has a row drops nobody");
	cr_expect_not(did.has_dropped);
	cr_expect_str_eq(ranking(board, 1, 9), "1:c 2:homer 3:b");
}

Test(rooms_board_state, of_equal_worst_ones_the_last_is_dropped)
{
	struct rooms_board *board = make("t", 1, 1);

	limits.rooms_rows_per_board = 2;
	score(board, "a", 10);
	score(board, "b", 10);
	cr_expect_eq(score(board, "c", 9), 1);
	cr_expect_arr_eq(did.dropped, name_of("b"), ROOMS_NAME_BYTES);
}

/* Loading */

static enum rooms_code load(struct rooms_board *board, const char *name, int64_t points, uint64_t seq)
{
	struct rooms_row row = { .name        = name_of(name),
		                 .score       = points,
		                 .recorded_s  = 7,
		                 .seq         = seq,
		                 .comment     = (const uint8_t *)"kept",
		                 .comment_len = 4 };

	return rooms_board_load_row(boards, board, &row);
}

Test(rooms_board_state, what_was_kept_comes_back_in_any_order_and_seq_goes_on)
{
	struct rooms_board *board = NULL;
	struct rooms_row    row;

	cr_assert_eq(rooms_board_load(&board, boards, TITLE, 1, 1), ROOMS_FINE);
	cr_expect_eq(load(board, "third", 5, 40), ROOMS_FINE);
	cr_expect_eq(load(board, "first", 5, 7), ROOMS_FINE);
	cr_expect_eq(load(board, "second", 5, 9), ROOMS_FINE);
	cr_expect_eq(load(board, "best", 4, 30), ROOMS_FINE);
	cr_expect_str_eq(ranking(board, 1, 9), "1:best 2:first 3:second 4:third");
	cr_expect_eq(rooms_board_rank_of(&row, board, name_of("third")), 4);
	cr_expect_eq(row.seq, 40);
	cr_expect_eq(row.recorded_s, 7);
	cr_expect_arr_eq(row.comment, "kept", 4);
	score(board, "new", 5);
	cr_expect_eq(rooms_board_rank_of(&row, board, name_of("new")), 5);
	cr_expect_eq(row.seq, 41);
}

Test(rooms_board_state, what_was_kept_comes_back_whatever_the_limits)
{
	struct rooms_board *board = NULL;

	limits.rooms_boards = limits.rooms_boards_per_title = 1;
	limits.rooms_rows = limits.rooms_rows_per_board = 1;
	cr_assert_eq(rooms_board_load(&board, boards, TITLE, 1, 0), ROOMS_FINE);
	cr_assert_eq(rooms_board_load(&board, boards, TITLE, 2, 0), ROOMS_FINE);
	cr_expect_eq(load(board, "a", 10, 1), ROOMS_FINE);
	cr_expect_eq(load(board, "b", 20, 2), ROOMS_FINE);
	cr_expect_eq(load(board, "c", 30, 3), ROOMS_FINE);
	cr_expect_eq(try_make("NPWR00860_00", 3), ROOMS_LIMIT);
	cr_expect_eq(score(board, "d", 15), 3, "it does not grow further");
	cr_expect_arr_eq(did.dropped, name_of("a"), ROOMS_NAME_BYTES);
	cr_expect_str_eq(ranking(board, 1, 9), "1:c 2:b 3:d");
}

Test(rooms_board_state, nothing_is_loaded_twice)
{
	struct rooms_board *board = NULL, *again = NULL;
	uint8_t             comment[ROOMS_COMMENT_MAX + 1] = { 0 };

	cr_assert_eq(rooms_board_load(&board, boards, TITLE, 1, 0), ROOMS_FINE);
	cr_expect_eq(rooms_board_load(&again, boards, TITLE, 1, 1), ROOMS_BAD);
	cr_expect_null(again);
	cr_expect_eq(load(board, "a", 10, 1), ROOMS_FINE);
	cr_expect_eq(load(board, "A", 20, 99), ROOMS_BAD);
	struct rooms_row row = { .name = name_of("b"), .comment = comment, .comment_len = sizeof(comment) };
	cr_expect_eq(rooms_board_load_row(boards, board, &row), ROOMS_BAD);
	cr_expect_str_eq(ranking(board, 1, 9), "1:a");
	score(board, "c", 1);
	cr_expect_eq(rooms_board_rank_of(&row, board, name_of("c")), 2);
	cr_expect_eq(row.seq, 2, "what was refused does not count");
}

/* Everything at once, against a plain array */

#define PLAYERS 60

struct plain_row {
	bool     is_in;
	char     name[ROOMS_NAME_BYTES + 1]; /* the spelling of the best */
	int64_t  score;
	uint64_t seq, recorded_s;
	char     comment[ROOMS_COMMENT_MAX + 1];
};

struct plain_board {
	struct rooms_board *board;
	bool                is_lower_better;
	size_t              count;
	struct plain_row    rows[PLAYERS];
};

static size_t   plain_total;
static uint64_t plain_seq;
static unsigned dice;

static bool plain_is_before(const struct plain_board *b, const struct plain_row *x, const struct plain_row *y)
{
	if (x->score != y->score)
		return b->is_lower_better ? x->score < y->score : x->score > y->score;
	return x->seq < y->seq;
}

static uint32_t plain_rank(const struct plain_board *b, const struct plain_row *row)
{
	uint32_t before = 0;

	for (int i = 0; i < PLAYERS; i++)
		before += b->rows[i].is_in && plain_is_before(b, &b->rows[i], row);
	return before + 1;
}

static struct plain_row *plain_worst(struct plain_board *b)
{
	struct plain_row *worst = NULL;

	for (int i = 0; i < PLAYERS; i++)
		if (b->rows[i].is_in && (!worst || plain_is_before(b, worst, &b->rows[i])))
			worst = &b->rows[i];
	return worst;
}

/* Whether the score may be recorded; drops the worst when it has to go. */
static bool plain_admits(struct plain_board *b, const struct plain_row *as, struct plain_row **dropped)
{
	*dropped = NULL;
	if (b->count < (size_t)limits.rooms_rows_per_board)
		return plain_total < (size_t)limits.rooms_rows;
	*dropped = plain_worst(b);
	return b->is_lower_better ? as->score < (*dropped)->score : as->score > (*dropped)->score;
}

static int64_t random_score(void)
{
	switch (rand_r(&dice) % 8) {
	case 0:
		return INT64_MIN + rand_r(&dice) % 2;
	case 1:
		return INT64_MAX - rand_r(&dice) % 2;
	default:
		return rand_r(&dice) % 20 - 10;
	}
}

static struct plain_row random_row(int player)
{
	struct plain_row r = { .is_in = true, .score = random_score(), .recorded_s = (uint64_t)rand_r(&dice) };

	text_format(r.name, sizeof(r.name), "%clayer-%d", rand_r(&dice) % 2 ? 'P' : 'p', player);
	memset(r.comment, 'a' + player % 26, (size_t)(rand_r(&dice) % (ROOMS_COMMENT_MAX + 1)));
	return r;
}

static void expect_row(const struct plain_board *b, const struct plain_row *want)
{
	struct rooms_row row;

	cr_assert_eq(rooms_board_rank_of(&row, b->board, name_of(want->name)), plain_rank(b, want));
	cr_assert_arr_eq(row.name, name_of(want->name), ROOMS_NAME_BYTES);
	cr_assert_eq(row.score, want->score);
	cr_assert_eq(row.seq, want->seq);
	cr_assert_eq(row.recorded_s, want->recorded_s);
	cr_assert_eq(row.comment_len, strlen(want->comment));
	cr_assert_arr_eq(row.comment, want->comment, row.comment_len);
}

static void record_both(struct plain_board *b)
{
	int               player = rand_r(&dice) % PLAYERS;
	struct plain_row *old = &b->rows[player], as = random_row(player), *dropped = NULL;
	bool              is_new    = !old->is_in;
	bool              is_better = is_new || (b->is_lower_better ? as.score < old->score : as.score > old->score);
	bool              admits    = !is_new || plain_admits(b, &as, &dropped);

	cr_assert_eq(rooms_board_record(&did, boards, b->board, name_of(as.name), as.score, (const uint8_t *)as.comment,
	                                strlen(as.comment), as.recorded_s),
	             admits ? ROOMS_FINE : ROOMS_LIMIT);
	cr_assert_eq(did.is_changed, admits && is_better);
	cr_assert_eq(did.is_new, admits && is_new);
	cr_assert_eq(did.has_dropped, admits && dropped);
	if (!did.is_changed)
		return;
	if (did.has_dropped) {
		cr_assert(text_same_nocase((const char *)did.dropped, dropped->name));
		dropped->is_in = false;
		b->count--;
		plain_total--;
	}
	as.seq = ++plain_seq;
	*old   = as;
	b->count += is_new;
	plain_total += is_new;
	cr_assert_eq(did.rank, plain_rank(b, old));
}

struct walked {
	const struct plain_board *b;
	uint32_t                  next;
};

static void check_walked(void *arg, uint32_t at, const struct rooms_row *row)
{
	struct walked   *w   = arg;
	struct plain_row key = { .score = row->score, .seq = row->seq };

	cr_assert_eq(at, w->next++);
	cr_assert_eq(plain_rank(w->b, &key), at);
}

static void expect_board(const struct plain_board *b)
{
	struct walked w = { .b = b, .next = 1 };

	cr_assert_eq(rooms_board_rows(b->board), b->count);
	cr_assert_eq(rooms_board_walk(b->board, 1, UINT32_MAX, check_walked, &w), b->count);
	for (int i = 0; i < PLAYERS; i++) {
		char name[ROOMS_NAME_BYTES + 1];

		text_format(name, sizeof(name), "PLAYER-%d", i);
		if (b->rows[i].is_in)
			expect_row(b, &b->rows[i]);
		else
			cr_assert_eq(rank(b->board, name), 0);
	}
}

static void begin_plain(struct plain_board plain[3])
{
	rooms_boards_free(boards);
	boards = rooms_boards_new(&limits);
	memset(plain, 0, 3 * sizeof(plain[0]));
	plain_total = plain_seq = 0;
	for (uint32_t i = 0; i < 3; i++) {
		plain[i].is_lower_better = i == 1;
		plain[i].board           = make("t", i, (uint8_t)i);
	}
}

/* Together the boards may hold less than each for itself: both limits are met. */
Test(rooms_board_state, it_agrees_with_a_plain_array_whatever_is_recorded)
{
	static struct plain_board plain[3];

	limits.rooms_rows_per_board = 40;
	limits.rooms_rows           = 100;
	for (unsigned round = 0; round < 10; round++) {
		dice = round;
		begin_plain(plain);
		for (int n = 1; n <= 1000; n++) {
			record_both(&plain[rand_r(&dice) % 3]);
			cr_assert_eq(rooms_boards_rows(boards), plain_total);
			for (int i = 0; n % 100 == 0 && i < 3; i++)
				expect_board(&plain[i]);
		}
		cr_expect_eq(plain_total, 100);
	}
}
