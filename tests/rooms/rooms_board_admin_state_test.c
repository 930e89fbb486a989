/*
 * What operators do to boards: rows removed, cleared and put, places reserved, and the orders in which all of it is copied.
 */
#include "rooms/rooms_board_state.h"

#include "base/auto.h"
#include "base/text.h"

#include <criterion/criterion.h>
#include <string.h>

static struct limits        limits;
static struct rooms_boards *boards;
static struct rooms_board  *board;

static const uint8_t *title_of(const char *text)
{
	static uint8_t title[ROOMS_TITLE_BYTES];

	memset(title, 0, sizeof(title));
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

static void start(void)
{
	limits_default(&limits);
	boards = rooms_boards_new(&limits);
	cr_assert_not_null(boards);
	cr_assert_eq(rooms_board_make(&board, boards, title_of("t"), 1, 0), ROOMS_FINE);
}

static void stop(void)
{
	rooms_boards_free(boards);
}

TestSuite(rooms_board_admin, .init = start, .fini = stop);

static enum rooms_code score(const char *name, int64_t points)
{
	struct rooms_recorded did;

	return rooms_board_record(&did, boards, board, name_of(name), points, NULL, 0, 1);
}

static enum rooms_code put(const char *name, int64_t points, uint64_t seq)
{
	struct rooms_row row = { .name = name_of(name), .score = points, .seq = seq, .recorded_s = 5 };

	return rooms_board_put(boards, board, &row);
}

struct text {
	char   bytes[4000];
	size_t len;
};

static void add(struct text *t, const char *name, int64_t points)
{
	cr_assert(text_format(t->bytes + t->len, sizeof(t->bytes) - t->len, "%s%s=%lld", t->len ? " " : "", name,
	                      (long long)points));
	t->len += strlen(t->bytes + t->len);
}

static void add_ranked(void *arg, uint32_t rank, const struct rooms_row *row)
{
	(void)rank;
	add(arg, (const char *)row->name, row->score);
}

static void add_named(void *arg, const struct rooms_row *row)
{
	add(arg, (const char *)row->name, row->score);
}

static const char *ranking(void)
{
	static struct text t;

	t = (struct text){ 0 };
	rooms_board_walk(board, 1, UINT32_MAX, add_ranked, &t);
	return t.bytes;
}

static void note_name(void *arg, const uint8_t name[ROOMS_NAME_BYTES])
{
	add(arg, (const char *)name, 0);
}

Test(rooms_board_admin, a_row_is_removed_by_its_name_in_any_case)
{
	score("Alice", 3);
	score("bob", 2);
	cr_expect_not(rooms_board_remove(boards, board, name_of("carol")));
	cr_expect(rooms_board_remove(boards, board, name_of("aLICE")));
	cr_expect_str_eq(ranking(), "bob=2");
	cr_expect_eq(rooms_boards_rows(boards), 1);
	cr_expect_not(rooms_board_remove(boards, board, name_of("alice")));
}

Test(rooms_board_admin, clearing_leaves_what_is_newer)
{
	struct text t = { 0 };
	uint64_t    until;

	score("a", 1);
	score("b", 2);
	until = rooms_boards_take_seqs(boards, 0);
	score("c", 3);
	score("a", 4);
	cr_expect_eq(rooms_board_clear(boards, board, until, note_name, &t), 1);
	cr_expect_str_eq(t.bytes, "b=0");
	cr_expect_str_eq(ranking(), "a=4 c=3");
	cr_expect_eq(rooms_board_clear(boards, board, until, note_name, &t), 0);
}

Test(rooms_board_admin, clearing_takes_a_helping_at_a_time)
{
	struct text t = { 0 };

	for (int i = 0; i < ROOMS_CLEAR_MOST + 1; i++) {
		char name[ROOMS_NAME_BYTES];

		text_format(name, sizeof(name), "p%d", i);
		score(name, i);
	}
	cr_expect_eq(rooms_board_clear(boards, board, UINT64_MAX, note_name, &t), ROOMS_CLEAR_MOST);
	cr_expect_eq(rooms_board_clear(boards, board, UINT64_MAX, note_name, &t), 1);
	cr_expect_eq(rooms_boards_rows(boards), 0);
}

Test(rooms_board_admin, a_put_row_replaces_a_better_one_and_is_behind_its_equals)
{
	uint64_t before;

	score("a", 5);
	score("b", 3);
	before = rooms_boards_take_seqs(boards, 2);
	cr_expect_eq(put("A", 3, before + 1), ROOMS_FINE);
	cr_expect_eq(put("c", 9, before + 2), ROOMS_FINE);
	cr_expect_str_eq(ranking(), "c=9 b=3 A=3");
	score("d", 3);
	cr_expect_str_eq(ranking(), "c=9 b=3 A=3 d=3", "later ones come behind it");
}

Test(rooms_board_admin, reserved_places_are_taken)
{
	limits.rooms_rows_per_board = 4;
	limits.rooms_rows           = 5;
	score("a", 5);
	rooms_board_reserve(boards, board, 3);
	cr_expect(rooms_board_is_full(boards, board));
	cr_expect_eq(score("b", 4), ROOMS_LIMIT);
	cr_expect_eq(score("b", 6), ROOMS_FINE, "it pushes out the worst, as on any full board");
	cr_expect_str_eq(ranking(), "b=6");
	rooms_board_reserve(boards, board, 2);
	cr_expect_not(rooms_board_is_full(boards, board));
	cr_expect_eq(score("c", 1), ROOMS_FINE);
	cr_expect_eq(score("d", 1), ROOMS_LIMIT);
	rooms_board_reserve(boards, board, 0);
	cr_expect_eq(score("d", 1), ROOMS_FINE);
}

Test(rooms_board_admin, a_board_without_rows_may_be_all_reserved)
{
	limits.rooms_rows_per_board = 2;
	rooms_board_reserve(boards, board, 2);
	cr_expect_eq(score("a", 5), ROOMS_LIMIT);
}

Test(rooms_board_admin, reserved_places_count_for_other_boards_too)
{
	struct rooms_board *other = NULL;

	limits.rooms_rows = 3;
	cr_assert_eq(rooms_board_make(&other, boards, title_of("t"), 2, 0), ROOMS_FINE);
	rooms_board_reserve(boards, other, 2);
	cr_expect_eq(score("a", 5), ROOMS_FINE);
	cr_expect(rooms_boards_are_full(boards));
	cr_expect_eq(score("b", 5), ROOMS_LIMIT);
}

Test(rooms_board_admin, a_page_goes_on_behind_a_place_whatever_became_of_its_row)
{
	struct rooms_row row;

	score("a", 9);
	score("b", 7);
	score("c", 7);
	score("d", 5);
	cr_assert(rooms_board_get(&row, board, name_of("b")));

	uint64_t seq = row.seq;
	cr_expect_eq(rooms_board_rank_behind(board, 7, seq), 3);
	rooms_board_remove(boards, board, name_of("b"));
	cr_expect_eq(rooms_board_rank_behind(board, 7, seq), 2, "c has come up");
	cr_expect_eq(rooms_board_rank_behind(board, -1, 1), 4);
}

Test(rooms_board_admin, names_are_walked_in_order_and_go_on_behind_one)
{
	struct text t = { 0 };

	score("bob", 1);
	score("Alice", 9);
	score("carol", 5);
	cr_expect_eq(rooms_board_walk_names(board, NULL, 2, add_named, &t), 2);
	cr_expect_str_eq(t.bytes, "Alice=9 bob=1");
	t = (struct text){ 0 };
	cr_expect_eq(rooms_board_walk_names(board, name_of("BOB"), 9, add_named, &t), 1);
	cr_expect_str_eq(t.bytes, "carol=5");
	rooms_board_remove(boards, board, name_of("bob"));
	t = (struct text){ 0 };
	cr_expect_eq(rooms_board_walk_names(board, name_of("bob"), 9, add_named, &t), 1);
	cr_expect_str_eq(t.bytes, "carol=5");
}

static void add_board(void *arg, const struct rooms_board *b, const struct rooms_row *leader)
{
	(void)leader;
	add(arg, (const char *)rooms_board_title(b), rooms_board_number(b));
}

Test(rooms_board_admin, boards_are_walked_from_a_place_on)
{
	struct rooms_board *made;
	struct text         t = { 0 };

	rooms_board_make(&made, boards, title_of("t"), UINT32_MAX, 0);
	rooms_board_make(&made, boards, title_of("u"), 0, 0);
	cr_expect_eq(rooms_boards_walk(boards, title_of(""), 0, 2, add_board, &t), 2);
	cr_expect_eq(rooms_boards_walk(boards, title_of("t"), 2, 1, add_board, &t), 1);
	cr_expect_eq(rooms_boards_walk(boards, title_of("t"), (uint64_t)UINT32_MAX + 1, 9, add_board, &t), 1);
	cr_expect_eq(rooms_boards_walk(boards, title_of("u"), 1, 9, add_board, &t), 0);
	cr_expect_str_eq(t.bytes, "t=1 t=4294967295 t=4294967295 u=0");
}
