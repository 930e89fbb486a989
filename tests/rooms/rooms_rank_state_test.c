/*
 * Scores and rankings, as players see them.
 */
#include "rooms/rooms_state.h"

#include "base/auto.h"
#include "support/rooms_table.h"

#include <criterion/criterion.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define HERE    "198.51.100.7"
#define THERE   "203.0.113.9"
#define TIME    "000000006553F100" /* 1700000000 */
#define COMMENT "0002'hm'"

static struct table_seat *alice, *bob, *carol;

static void start(void)
{
	table_open();
	alice = table_player(HERE, "alice");
	bob   = table_player(THERE, "bob");
	carol = table_player(HERE, "carol");
}

static void stop(void)
{
	table_expect_silence();
	table_check();
	table_close();
}

TestSuite(rooms_rank_state, .init = start, .fini = stop);

static struct rooms_request record(uint32_t board, int64_t score)
{
	return (struct rooms_request){
		.type = ROOMS_RECORD_SCORE, .req = 8, .board = board, .score = score, .comment = table_blob("hm")
	};
}

static void expect_rank(struct table_seat *seat, uint32_t rank)
{
	char text[64];

	snprintf(text, sizeof(text), "B0 0008 00000008 %08X", rank);
	table_expect(seat, text);
}

static void score(struct table_seat *seat, int64_t points, uint32_t rank)
{
	table_say(seat, record(1, points));
	expect_rank(seat, rank);
}

static void refuse(struct table_seat *seat, struct rooms_request r, enum rooms_code code)
{
	size_t boards = rooms_boards_count(table.boards), rows = rooms_boards_rows(table.boards);
	size_t recorded = table.recorded;

	table_say(seat, r);
	table_expect_error(seat, r.req, code);
	cr_expect_eq(rooms_boards_count(table.boards), boards);
	cr_expect_eq(rooms_boards_rows(table.boards), rows);
	cr_expect_eq(table.recorded, recorded);
}

static void say_ranking(struct table_seat *seat, uint32_t board, uint32_t from, uint16_t count)
{
	table_say(seat,
	          (struct rooms_request){
			  .type = ROOMS_GET_RANKING, .req = 9, .board = board, .rank_start = from, .count = count });
}

static void say_by_id(struct table_seat *seat, uint32_t board, const char *names, uint16_t count)
{
	table_say(seat, (struct rooms_request){ .type  = ROOMS_GET_RANKING_BY_ID,
	                                        .req   = 10,
	                                        .board = board,
	                                        .names = (const uint8_t *)names,
	                                        .count = count });
}

/* RECORD_SCORE */

Test(rooms_rank_state, a_score_is_answered_with_its_rank_and_told_to_be_kept)
{
	score(alice, 100, 1);
	cr_expect_eq(table.recorded, 1);
	cr_expect_eq(table.recorded_board, 1);
	cr_expect(table.recorded_as.is_new && table.recorded_as.is_changed && !table.recorded_as.has_dropped);
	cr_expect_arr_eq(table.recorded_name, alice->player.name, ROOMS_NAME_BYTES);
	score(bob, 200, 1);
	score(carol, 150, 2);
	score(alice, 300, 1);
	cr_expect(!table.recorded_as.is_new && table.recorded_as.is_changed);
	cr_expect_eq(table.recorded, 4);
}

Test(rooms_rank_state, a_score_that_is_not_better_returns_the_rank_of_the_best_and_keeps_its_row)
{
	score(alice, 100, 1);
	score(bob, 100, 2);
	table.now.wall_ms += 5000;
	table_say(alice, (struct rooms_request){ .type    = ROOMS_RECORD_SCORE,
	                                         .req     = 8,
	                                         .board   = 1,
	                                         .score   = 100,
	                                         .comment = table_blob("new") });
	expect_rank(alice, 1);
	score(bob, 1, 2);
	cr_expect_eq(table.recorded, 2, "nothing changed, nothing is to be kept");
	say_ranking(bob, 1, 1, 1);
	table_expect(bob, "B1 0032 00000009 00000002 0001 00000001 'alice' (00)x11 0000000000000064 " COMMENT TIME);
}

Test(rooms_rank_state, a_truncated_score_is_bad_at_every_length)
{
	table_say_short(alice, record(1, 5), ROOMS_BAD);
	cr_expect_eq(rooms_boards_count(table.boards), 0);
}

Test(rooms_rank_state, a_comment_is_up_to_64_bytes)
{
	struct rooms_request r = record(1, 5);

	r.comment         = table_zeros(65);
	table.cannot_keep = true;
	refuse(alice, r, ROOMS_BAD);
	table.cannot_keep = false;
	refuse(alice, r, ROOMS_BAD);
	r.comment = table_zeros(64);
	table_say(alice, r);
	expect_rank(alice, 1);
}

Test(rooms_rank_state, the_first_score_fixes_the_order_and_only_1_means_lower)
{
	static const struct {
		uint8_t order;
		bool    is_lower;
	} orders[] = { { 0, false }, { 1, true }, { 2, false }, { 255, false } };

	for (uint32_t i = 0; i < COUNT_OF(orders); i++) {
		struct rooms_request r = record(i, 10);

		r.order = orders[i].order;
		table_say(alice, r);
		expect_rank(alice, 1);
		r.order = !orders[i].is_lower;
		r.score = 5;
		table_say(bob, r);
		expect_rank(bob, orders[i].is_lower ? 1 : 2);
		r.score = 20;
		table_say(carol, r);
		expect_rank(carol, orders[i].is_lower ? 3 : 1);
	}
}

Test(rooms_rank_state, scores_are_signed)
{
	score(alice, INT64_MIN, 1);
	score(bob, -1, 1);
	score(carol, INT64_MAX, 1);
	say_ranking(alice, 1, 1, 100);
	table_expect(alice, "B1 0082 00000009 00000003 0003"
	                    "00000001 'carol' (00)x11 7FFFFFFFFFFFFFFF " COMMENT TIME
	                    "00000002 'bob'   (00)x13 FFFFFFFFFFFFFFFF " COMMENT TIME
	                    "00000003 'alice' (00)x11 8000000000000000 " COMMENT TIME);
}

Test(rooms_rank_state, boards_belong_to_titles)
{
	struct table_seat *stranger = table_sit(THERE);

	score(alice, 100, 1);
	table_hello(stranger, "OTHER", "stranger");
	score(stranger, 5, 1);
	cr_expect_eq(rooms_boards_count(table.boards), 2);
	say_ranking(stranger, 1, 1, 100);
	table_expect(stranger, "B1 0032 00000009 00000001 0001 00000001 'stranger' *");
}

Test(rooms_rank_state, rows_outlive_connections_and_are_keyed_by_the_folded_name)
{
	struct table_seat *back;

	score(alice, 100, 1);
	table_rise(alice);
	back = table_player(THERE, "ALICE");
	score(back, 50, 1);
	say_ranking(back, 1, 1, 100);
	table_expect(back, "B1 0032 00000009 00000001 0001 00000001 'alice' (00)x11 0000000000000064 *");
	score(back, 200, 1);
	say_ranking(back, 1, 1, 100);
	table_expect(back, "B1 0032 00000009 00000001 0001 00000001 'ALICE' (00)x11 00000000000000C8 *");
}

Test(rooms_rank_state, the_time_of_a_score_is_in_whole_seconds_and_0_before_1970)
{
	table.now.wall_ms = 1999;
	score(alice, 1, 1);
	table.now.wall_ms = -5000;
	score(bob, 2, 1);
	say_ranking(carol, 1, 1, 2);
	table_expect(carol, "B1 005A 00000009 00000002 0002"
	                    "00000001 'bob'   (00)x13 0000000000000002 " COMMENT "0000000000000000"
	                    "00000002 'alice' (00)x11 0000000000000001 " COMMENT "0000000000000001");
}

/* Limits of scores */

Test(rooms_rank_state, a_score_that_cannot_be_kept_is_refused_before_anything_changes)
{
	score(alice, 100, 1);
	table.cannot_keep = true;
	refuse(alice, record(1, 200), ROOMS_LIMIT);
	refuse(alice, record(1, 1), ROOMS_LIMIT);
	refuse(bob, record(1, 200), ROOMS_LIMIT);
	refuse(bob, record(2, 200), ROOMS_LIMIT);
	cr_expect_eq(table.asked[ROOMS_ASK_ROW], 1);
	cr_expect_eq(table.asked[ROOMS_ASK_BOARD], 1);
}

Test(rooms_rank_state, boards_and_rows_count_for_the_address_when_they_are_new)
{
	score(alice, 100, 1);
	score(alice, 200, 1);
	score(bob, 100, 2);
	cr_expect_eq(table.asked[ROOMS_ASK_BOARD], 1);
	cr_expect_eq(table.asked[ROOMS_ASK_ROW], 2);
	table.refuses[ROOMS_ASK_BOARD] = true;
	refuse(alice, record(2, 5), ROOMS_LIMIT);
	score(carol, 5, 3);
	table.refuses[ROOMS_ASK_ROW] = true;
	score(alice, 300, 1);
	refuse(table_player(THERE, "late"), record(1, 400), ROOMS_LIMIT);
	table.refuses[ROOMS_ASK_BOARD] = false;
	refuse(alice, record(2, 5), ROOMS_LIMIT);
}

Test(rooms_rank_state, one_who_is_exempt_is_not_asked_for)
{
	struct table_seat *local = table_player("!127.0.0.1", "local");

	table.refuses[ROOMS_ASK_BOARD] = table.refuses[ROOMS_ASK_ROW] = true;
	score(local, 100, 1);
	cr_expect_eq(table.asked[ROOMS_ASK_BOARD] + table.asked[ROOMS_ASK_ROW], 0);
}

Test(rooms_rank_state, there_are_so_many_boards_in_all)
{
	struct table_seat *stranger = table_sit(THERE);

	table.limits.rooms_boards = 2;
	table_hello(stranger, "OTHER", "stranger");
	score(stranger, 5, 1);
	score(alice, 5, 1);
	refuse(alice, record(2, 5), ROOMS_LIMIT);
	cr_expect_eq(table.asked[ROOMS_ASK_BOARD], 2, "nothing is counted for what cannot be");
	score(bob, 5, 2);
}

Test(rooms_rank_state, there_are_so_many_boards_of_a_title)
{
	table.limits.rooms_boards_per_title = 2;
	score(alice, 5, 1);
	table_say(alice, record(2, 5));
	expect_rank(alice, 1);
	refuse(alice, record(3, 5), ROOMS_LIMIT);
}

Test(rooms_rank_state, there_are_so_many_rows_in_all)
{
	table.limits.rooms_rows = 2;
	score(alice, 5, 1);
	score(bob, 4, 2);
	refuse(carol, record(1, 9), ROOMS_LIMIT);
	refuse(carol, record(2, 9), ROOMS_LIMIT);
	cr_expect_eq(table.asked[ROOMS_ASK_ROW], 2);
	score(bob, 9, 1);
}

Test(rooms_rank_state, a_full_board_drops_its_worst_row_for_a_better_score)
{
	table.limits.rooms_rows_per_board = 2;
	table.limits.rooms_rows           = 2;
	score(alice, 5, 1);
	score(bob, 4, 2);
	refuse(carol, record(1, 4), ROOMS_LIMIT);
	cr_expect_eq(table.asked[ROOMS_ASK_ROW], 2, "a score that gets nowhere is not counted");
	score(carol, 6, 1);
	cr_expect(table.recorded_as.is_new && table.recorded_as.has_dropped);
	cr_expect_arr_eq(table.recorded_as.dropped, bob->player.folded, ROOMS_NAME_BYTES);
	cr_expect_eq(rooms_boards_rows(table.boards), 2);
	say_by_id(bob, 1, "bob\0\0\0\0\0\0\0\0\0\0\0\0", 1);
	table_expect(bob, "B1 0030 0000000A 00000002 0001 00000000 'bob' (00)x13 (00)x18");
}

Test(rooms_rank_state, a_full_board_of_low_scores_drops_the_highest)
{
	struct rooms_request r = record(1, 5);

	table.limits.rooms_rows_per_board = 1;
	r.order                           = 1;
	table_say(alice, r);
	expect_rank(alice, 1);
	refuse(bob, record(1, 5), ROOMS_LIMIT);
	refuse(bob, record(1, 6), ROOMS_LIMIT);
	score(bob, 4, 1);
	cr_expect(table.recorded_as.has_dropped);
}

/* GET_RANKING */

/* 120 players, the best first: p0 has 1000, p1 999. */
static void fill_board(void)
{
	uint8_t             title[ROOMS_TITLE_BYTES];
	struct rooms_board *board;

	memcpy(title, TABLE_TITLE, sizeof(title));
	cr_assert_eq(rooms_board_make(&board, table.boards, title, 1, 0), ROOMS_FINE);
	for (int i = 0; i < 120; i++) {
		struct rooms_recorded recorded;
		char                  name[ROOMS_NAME_BYTES + 1] = { 0 };

		snprintf(name, sizeof(name), "p%d", i);
		cr_assert_eq(rooms_board_record(&recorded, table.boards, board, (const uint8_t *)name, 1000 - i, NULL,
		                                0, 0),
		             ROOMS_FINE);
	}
}

/* Of the RANKING that comes: its total and count, and the rank of its first row; checks that it is whole. */
static void expect_ranking(struct table_seat *seat, uint32_t total, uint16_t count, uint32_t first)
{
	size_t         len;
	const uint8_t *frame = table_take(seat, &len);

	cr_assert(frame && frame[0] == ROOMS_RANKING);

	struct rd r = rd_over(frame + 7, len - 7);

	cr_expect_eq((uint32_t)rd_be(&r, 4), total);
	cr_expect_eq((uint16_t)rd_be(&r, 2), count);
	for (uint32_t i = 0; i < count; i++) {
		cr_expect_eq((uint32_t)rd_be(&r, 4), first + i);
		rd_bytes(&r, ROOMS_NAME_BYTES);
		cr_expect_eq(rd_be(&r, 8), 1000 - (first + i) + 1);
		rd_bytes(&r, rd_be(&r, 2));
		rd_be(&r, 8);
	}
	cr_expect(rd_done(&r));
}

Test(rooms_rank_state, a_ranking_begins_at_a_rank_and_has_up_to_100_rows)
{
	fill_board();
	say_ranking(alice, 1, 1, 100);
	expect_ranking(alice, 120, 100, 1);
	say_ranking(alice, 1, 101, 100);
	expect_ranking(alice, 120, 20, 101);
	say_ranking(alice, 1, 21, 100);
	expect_ranking(alice, 120, 100, 21);
	say_ranking(alice, 1, 120, 1);
	expect_ranking(alice, 120, 1, 120);
	say_ranking(alice, 1, 1, 0);
	expect_ranking(alice, 120, 0, 1);
	say_ranking(alice, 1, 121, 100);
	expect_ranking(alice, 120, 0, 121);
	say_ranking(alice, 1, UINT32_MAX, 100);
	expect_ranking(alice, 120, 0, UINT32_MAX);
	say_ranking(alice, 2, 1, 100);
	expect_ranking(alice, 0, 0, 1);
}

Test(rooms_rank_state, a_ranking_that_is_truncated_or_out_of_range_is_bad)
{
	table_say_short(alice,
	                (struct rooms_request){ .type = ROOMS_GET_RANKING, .req = 9, .rank_start = 1, .count = 1 },
	                ROOMS_BAD);
	say_ranking(alice, 1, 0, 1);
	table_expect_error(alice, 9, ROOMS_BAD);
	say_ranking(alice, 1, 1, 101);
	table_expect_error(alice, 9, ROOMS_BAD);
	say_ranking(alice, 1, 1, 65535);
	table_expect_error(alice, 9, ROOMS_BAD);
}

/* GET_RANKING_BY_ID */

Test(rooms_rank_state, names_are_answered_in_the_order_asked_repeats_repeated_in_any_case)
{
	score(alice, 100, 1);
	score(bob, 50, 2);
	say_by_id(carol, 1,
	          "BOB\0xxxxxxxxxxxx"
	          "nobody\0xxxxxxxxx"
	          "alice\0\0\0\0\0\0\0\0\0\0\0"
	          "bob\0\0\0\0\0\0\0\0\0\0\0\0",
	          4);
	table_expect(carol, "B1 00A8 0000000A 00000002 0004"
	                    "00000002 'bob'    (00)x13 0000000000000032 " COMMENT TIME
	                    "00000000 'nobody' (00)x10 0000000000000000 0000 0000000000000000"
	                    "00000001 'alice'  (00)x11 0000000000000064 " COMMENT TIME
	                    "00000002 'bob'    (00)x13 0000000000000032 " COMMENT TIME);
}

Test(rooms_rank_state, on_an_unknown_board_every_name_has_rank_0)
{
	say_by_id(alice, 7, "BobIsSixteenLong", 1);
	table_expect(alice, "B1 0030 0000000A 00000000 0001 00000000 'BobIsSixteenLong' (00)x18");
}

Test(rooms_rank_state, up_to_100_names_are_answered_and_101_are_bad)
{
	static char names[101 * ROOMS_NAME_BYTES];
	size_t      len;

	say_by_id(alice, 1, names, 0);
	table_expect(alice, "B1 000A 0000000A 00000000 0000");
	say_by_id(alice, 1, names, 100);
	cr_assert_not_null(table_take(alice, &len));
	cr_expect_eq(len, (size_t)(3 + 10 + 100 * 38));
	say_by_id(alice, 1, names, 101);
	table_expect_error(alice, 10, ROOMS_BAD);
}

Test(rooms_rank_state, truncated_names_are_bad_at_every_length)
{
	table_say_short(alice,
	                (struct rooms_request){ .type  = ROOMS_GET_RANKING_BY_ID,
	                                        .req   = 10,
	                                        .names = (const uint8_t *)"a234567890123456b23456789012345",
	                                        .count = 2 },
	                ROOMS_BAD);
}
