/*
 * Rooms and boards while memory runs out: whatever piece is refused, the request is refused with it, nobody else hears of
 * it, and the same request goes through once there is memory again.
 */
#include "base/auto.h"
#include "rooms/rooms_board_state.h"
#include "support/rooms_table.h"
#include "support/scarce.h"

#include <criterion/criterion.h>
#include <string.h>

#define HERE "198.51.100.7"

#define PIECES_MAX 100

TestSuite(rooms_scarce, .init = table_open, .fini = table_close);

static struct rooms_request creating(void)
{
	return (struct rooms_request){ .type        = ROOMS_CREATE_ROOM,
		                       .req         = 2,
		                       .max         = 4,
		                       .external    = table_blob("outside"),
		                       .internal    = table_blob("inside"),
		                       .member_data = table_blob("me") };
}

static size_t rooms_of(const struct table_seat *seat)
{
	return seat->player.room_count;
}

Test(rooms_scarce, a_room_is_made_whole_or_not_at_all)
{
	struct table_seat *alice   = table_player(HERE, "alice");
	int                refused = 0;

	for (int n = 0; n < PIECES_MAX; n++) {
		scarce_after(n);
		table_say(alice, creating());
		if (!scarce_end())
			break;
		refused++;
		table_expect_error(alice, 2, ROOMS_LIMIT);
		table_expect_silence();
		cr_expect_eq(rooms_of(alice), 0, "piece %d", n);
		cr_expect_eq(table.state.room_count, 0, "piece %d", n);
	}
	cr_expect_gt(refused, 4, "its texts, itself, its number, who is in it");
	table_expect(alice, "90 *");
	cr_expect_eq(rooms_of(alice), 1);
	cr_expect_eq(table.state.room_count, 1);
}

Test(rooms_scarce, who_cannot_be_kept_does_not_come_in)
{
	struct table_seat *alice = table_player(HERE, "alice"), *bob = table_player(HERE, "bob");

	table_say(alice, creating());
	table_expect(alice, "90 *");

	struct rooms_request join = {
		.type = ROOMS_JOIN_ROOM, .req = 3, .room_id = 1, .member_data = table_blob("him")
	};
	int refused = 0;

	for (int n = 0; n < PIECES_MAX; n++) {
		scarce_after(n);
		table_say(bob, join);
		if (!scarce_end())
			break;
		refused++;
		table_expect_error(bob, 3, ROOMS_LIMIT);
		table_expect_silence();
		cr_expect_eq(rooms_of(bob), 0, "piece %d", n);
	}
	cr_expect_geq(refused, 2);
	table_expect(bob, "90 00 ?? 00000003 *");
	cr_expect_eq(rooms_of(bob), 1);
}

Test(rooms_scarce, a_hello_that_cannot_be_kept_is_refused_and_may_come_again)
{
	struct table_seat *seat    = table_sit(HERE);
	int                refused = 0;

	for (int n = 0; n < PIECES_MAX; n++) {
		scarce_after(n);
		table_say(seat, table_request_hello("NPWR00002_00", "carol"));
		if (!scarce_end())
			break;
		refused++;
		table_expect_error(seat, 1, ROOMS_LIMIT);
	}
	cr_expect_geq(refused, 2, "the name and the title");
	table_expect(seat, "81 *");
}

static const uint8_t title[ROOMS_TITLE_BYTES] = "NPWR00860_0";
static const uint8_t name[ROOMS_NAME_BYTES]   = "dora";

static enum rooms_code record(struct rooms_board *board, struct rooms_boards *boards, int64_t score,
                              const char *comment)
{
	struct rooms_recorded as;

	return rooms_board_record(&as, boards, board, name, score, (const uint8_t *)comment, strlen(comment), 1);
}

Test(rooms_scarce, a_score_that_cannot_be_kept_leaves_the_one_before)
{
	struct rooms_boards *boards = rooms_boards_new(&table.limits);
	struct rooms_board  *board  = NULL;
	struct rooms_row     row;
	int                  refused = 0;

	cr_assert_not_null(boards);
	for (int n = 0; n < PIECES_MAX; n++) {
		scarce_after(n);
		enum rooms_code code = rooms_board_make(&board, boards, title, 7, 0);

		if (!scarce_end())
			break;
		refused++;
		cr_expect_eq(code, ROOMS_LIMIT);
		cr_expect_null(rooms_board_find(boards, title, 7));
	}
	cr_expect_geq(refused, 1);
	for (int n = 0; n < 2; n++) {
		scarce_after(n);
		cr_expect_eq(record(board, boards, 100, "first"), ROOMS_LIMIT);
		cr_expect(scarce_end());
		cr_expect_not(rooms_board_get(&row, board, name), "piece %d", n);
	}
	cr_assert_eq(record(board, boards, 100, "first"), ROOMS_FINE);
	scarce_after(0);
	cr_expect_eq(record(board, boards, 200, "better"), ROOMS_LIMIT);
	cr_expect(scarce_end());
	cr_assert(rooms_board_get(&row, board, name));
	cr_expect_eq(row.score, 100);
	cr_expect_eq(row.comment_len, strlen("first"));
	cr_expect_eq(record(board, boards, 200, "better"), ROOMS_FINE);
	rooms_boards_free(boards);
}
