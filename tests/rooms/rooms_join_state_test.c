/*
 * JOIN_ROOM: who gets in, what he is told, and what the others are.
 */
#include "rooms/rooms_state.h"

#include "base/auto.h"
#include "rooms/rooms_state_inside.h"
#include "support/rooms_three.h"
#include "support/vectors.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define NOBODY    0xFFFFFFFFFFFFFFFF /* a room that is not there */
#define BLOBS_MAX 65478              /* of a room with its maker alone */

TestSuite(rooms_join_state, .init = three_open, .fini = three_close);

/* JOIN_ROOM */

Test(rooms_join_state, a_join_lists_all_in_order_and_tells_the_others_once)
{
	uint64_t room = table_create(alice, 8);

	table_join(bob, room);
	three_join(carol, room, table_blob("yz"));
	table_expect(carol, "90 0079 00000007 0000000000000001 0003 0001 08 00000000 0000 0000 03"
	                    "0001 00000001 'alice' (00)x11 C6336407 0E4A 01 0000"
	                    "0002 00000002 'bob'   (00)x13 CB007109 0E4A 00 0000"
	                    "0003 00000003 'carol' (00)x11 C6336407 0E4A 00 0002'yz'");
	table_expect(alice, "A1 0029 0000000000000001 0003 00000003 'carol' (00)x11 C6336407 0E4A 00 0002'yz'");
	table_expect(bob, "A1 0029 0000000000000001 0003 00000003 'carol' (00)x11 C6336407 0E4A 00 0002'yz'");
	cr_expect_lt(carol->order, alice->order, "the reply goes first");
	table_expect_silence();
}

Test(rooms_join_state, a_truncated_join_is_bad_at_every_length)
{
	struct rooms_request r = three_on_room(ROOMS_JOIN_ROOM, table_create(alice, 4));

	r.member_data = table_blob("abc");
	table_say_short(bob, r, ROOMS_BAD);
}

Test(rooms_join_state, a_room_that_is_not_there_or_of_another_title_is_not_found)
{
	struct table_seat *stranger = table_sit(THERE);
	uint64_t           room = table_create(alice, 4), full = table_create(alice, 1);

	table_hello(stranger, "OTHER", "stranger");
	three_join(bob, NOBODY, table_zeros(0));
	table_expect_error(bob, 7, ROOMS_NOT_FOUND);
	three_join(bob, 0, table_zeros(0));
	table_expect_error(bob, 7, ROOMS_NOT_FOUND);
	three_join(stranger, room, table_zeros(0));
	table_expect_error(stranger, 7, ROOMS_NOT_FOUND);
	three_join(stranger, full, table_zeros(0));
	table_expect_error(stranger, 7, ROOMS_NOT_FOUND);
	table_expect_silence();
}

Test(rooms_join_state, a_room_takes_max_members_and_no_more)
{
	uint64_t room = table_create(alice, 2), alone = table_create(alice, 1);

	three_join(bob, alone, table_zeros(0));
	table_expect_error(bob, 7, ROOMS_FULL);
	table_join(bob, room);
	three_join(carol, room, table_zeros(0));
	table_expect_error(carol, 7, ROOMS_FULL);
	table_expect_silence();
}

Test(rooms_join_state, a_room_of_255_fills_to_the_last_and_shows_all_of_them)
{
	uint64_t           room = table_create(alice, 255);
	struct table_seat *last = NULL;
	size_t             len;
	char               name[16];

	for (int i = 2; i <= 254; i++) {
		snprintf(name, sizeof(name), "p%d", i);
		table_join(table_player(THERE, name), room);
	}
	last = table_player(THERE, "last");
	three_join(last, room, table_zeros(0));
	cr_assert_not_null(table_take(last, &len));
	cr_expect_eq(len, (size_t)(3 + 26 + 255 * 31));
	table_ignore_all();
	three_join(bob, room, table_zeros(0));
	table_expect_error(bob, 7, ROOMS_FULL);
	three_message(alice, room, 0, table_blob("hi"));
	table_expect_ok(alice, 7);
	table_expect(last, "A4 0010 0000000000000001 0001 0000 0002'hi'");
	table_ignore_all();
	cr_expect_eq(rooms_find_room(&table.state, room)->member_count, 255);
}

Test(rooms_join_state, who_is_in_it_is_shown_it_again_also_when_it_is_full)
{
	uint64_t room = table_create(alice, 2);

	three_join(bob, room, table_blob("first"));
	table_ignore_all();
	three_set(alice, room, ROOMS_WHICH_INTERNAL, table_blob("I"));
	table_ignore_all();
	three_join(bob, room, table_blob("second"));
	table_expect(bob, "90 005E 00000007 0000000000000001 0002 0001 02 00000000 0000 0001'I' 02"
	                  "0001 00000001 'alice' (00)x11 C6336407 0E4A 01 0000"
	                  "0002 00000002 'bob'   (00)x13 CB007109 0E4A 00 0005'first'");
	table_expect_silence();
}

Test(rooms_join_state, member_numbers_do_not_come_back)
{
	uint64_t room = three_in_a_room();

	three_leave(carol, room);
	table_ignore_all();
	three_join(carol, room, table_zeros(0));
	table_expect(alice, "A1 0027 0000000000000001 0004 00000003 *");
	table_expect(carol, "90 0077 00000007 0000000000000001 0004 0001 *");
	table_ignore_all();
}

Test(rooms_join_state, after_65535_members_a_room_takes_nobody)
{
	uint64_t room = table_create(alice, 8);

	rooms_find_room(&table.state, room)->ids_given = 65534;
	cr_expect_str_eq(three_found(carol, 0, 9), "1: 1");
	three_join(bob, room, table_zeros(0));
	table_expect(bob, "90 0058 00000007 0000000000000001 FFFF 0001 *");
	table_ignore_all();
	three_join(carol, room, table_zeros(0));
	table_expect_error(carol, 7, ROOMS_FULL);
	cr_expect_str_eq(three_found(carol, 0, 9), "0:");
	three_join(bob, room, table_zeros(0));
	table_expect(bob, "90 *");
	three_leave(bob, room);
	table_ignore_all();
	cr_expect_str_eq(three_found(carol, 0, 9), "0:");
	three_leave(alice, room);
	table_expect_ok(alice, 7);
	cr_expect_eq(table.state.room_count, 0);
}

Test(rooms_join_state, a_join_that_a_frame_cannot_show_is_told_the_room_is_full)
{
	three_create_with(30000, 20000, BLOBS_MAX - 50000 - 31 - 200);
	table_ignore(alice);
	three_join(bob, 1, table_zeros(201));
	table_expect_error(bob, 7, ROOMS_FULL);
	three_join(bob, 1, table_zeros(200));
	table_expect(bob, "90 FFFF *");
	table_expect(alice, "A1 *");
	three_join(carol, 1, table_zeros(0));
	table_expect_error(carol, 7, ROOMS_FULL);
	table_expect_silence();
}

/* So that nobody alone fills the frame that all have to fit into. */
Test(rooms_join_state, a_joiner_may_bring_his_share_of_what_is_left_for_the_free_seats)
{
	enum { SHARE = BLOBS_MAX / 3 - 31 };
	struct table_seat *dave = table_player(THERE, "dave"), *all[] = { bob, carol, dave };

	table_create(alice, 4);
	for (size_t i = 0; i < COUNT_OF(all); i++) {
		three_join(all[i], 1, table_zeros(SHARE + 1));
		table_expect_error(all[i], 7, ROOMS_FULL);
		three_join(all[i], 1, table_zeros(SHARE));
		table_expect(all[i], i + 1 < COUNT_OF(all) ? "90 *" : "90 FFFF *");
	}
	table_ignore_all();
}

Test(rooms_join_state, a_joiner_may_bring_256_bytes_where_his_share_is_less)
{
	static const struct {
		uint8_t max;
		size_t  most;
	} rows[] = { { 255, 256 }, { 229, 256 }, { 228, 257 } };

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		uint64_t room = table_create(alice, rows[i].max);

		three_join(bob, room, table_zeros(rows[i].most + 1));
		table_expect_error(bob, 7, ROOMS_FULL);
		three_join(bob, room, table_zeros(rows[i].most));
		table_expect(bob, "90 *");
		table_ignore_all();
	}
}
