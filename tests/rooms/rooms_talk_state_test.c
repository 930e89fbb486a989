/*
 * In a room: its data, messages, kicks, and what two rooms know of each other.
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

TestSuite(rooms_talk_state, .init = three_open, .fini = three_close);

/* SET_ROOM_DATA */

Test(rooms_talk_state, data_is_replaced_whole_and_the_others_are_told)
{
	uint64_t room = three_in_a_room();

	three_set(alice, room, ROOMS_WHICH_EXTERNAL, table_blob("ext"));
	table_expect_ok(alice, 7);
	table_expect(bob, "A3 000E 0000000000000001 00 0003'ext'");
	table_expect(carol, "A3 000E 0000000000000001 00 0003'ext'");
	cr_expect_lt(alice->order, bob->order);
	three_set(alice, room, ROOMS_WHICH_INTERNAL, table_blob("in"));
	table_expect_ok(alice, 7);
	table_expect(bob, "A3 000D 0000000000000001 01 0002'in'");
	table_expect(carol, "A3 000D 0000000000000001 01 0002'in'");
	three_set(alice, room, ROOMS_WHICH_FLAGS, table_blob("flag"));
	table_expect_ok(alice, 7);
	table_expect(bob, "A3 000F 0000000000000001 02 0004'flag'");
	table_expect(carol, "A3 000F 0000000000000001 02 0004'flag'");
	three_set(alice, room, ROOMS_WHICH_EXTERNAL, table_zeros(0));
	table_expect_ok(alice, 7);
	table_expect(bob, "A3 000B 0000000000000001 00 0000");
	table_expect(carol, "A3 000B 0000000000000001 00 0000");
	table_expect_silence();
	three_join(bob, room, table_zeros(0));
	table_expect(bob, "90 0079 00000007 0000000000000001 0002 0001 08 'flag' 0000 0002'in' 03 *");
}

Test(rooms_talk_state, setting_data_is_tested_in_order)
{
	uint64_t             room = three_in_a_room();
	struct rooms_request r    = three_on_room(ROOMS_SET_ROOM_DATA, room);

	r.data = table_blob("x");
	table_say_short(alice, r, ROOMS_BAD);
	three_set(bob, NOBODY, 3, table_blob("x"));
	table_expect_error(bob, 7, ROOMS_BAD);
	three_set(bob, NOBODY, 255, table_blob("flag"));
	table_expect_error(bob, 7, ROOMS_BAD);
	three_set(bob, NOBODY, ROOMS_WHICH_FLAGS, table_blob("fla"));
	table_expect_error(bob, 7, ROOMS_BAD);
	three_set(bob, NOBODY, ROOMS_WHICH_FLAGS, table_blob("flags"));
	table_expect_error(bob, 7, ROOMS_BAD);
	three_set(bob, NOBODY, ROOMS_WHICH_FLAGS, table_blob("flag"));
	table_expect_error(bob, 7, ROOMS_NOT_IN_ROOM);
	three_set(bob, table_create(carol, 4), ROOMS_WHICH_FLAGS, table_blob("flag"));
	table_expect_error(bob, 7, ROOMS_NOT_IN_ROOM);
	three_set(bob, room, ROOMS_WHICH_EXTERNAL, table_zeros(65000));
	table_expect_error(bob, 7, ROOMS_NOT_OWNER);
	table_expect_silence();
}

Test(rooms_talk_state, data_that_a_present_member_could_not_be_shown_is_bad)
{
	uint64_t room = three_in_a_room();
	size_t   most = BLOBS_MAX - 2 * (size_t)31;

	three_set(alice, room, ROOMS_WHICH_EXTERNAL, table_zeros(most + 1));
	table_expect_error(alice, 7, ROOMS_BAD);
	three_set(alice, room, ROOMS_WHICH_EXTERNAL, table_zeros(most));
	table_expect_ok(alice, 7);
	table_ignore_all();
	three_set(alice, room, ROOMS_WHICH_INTERNAL, table_zeros(1));
	table_expect_error(alice, 7, ROOMS_BAD);
	three_set(alice, room, ROOMS_WHICH_EXTERNAL, table_zeros(most));
	table_expect_ok(alice, 7);
	table_ignore_all();
	three_join(bob, room, table_zeros(0));
	table_expect(bob, "90 FFFF *");
}

/* ROOM_MESSAGE */

Test(rooms_talk_state, a_message_to_0_goes_to_everyone_but_its_sender)
{
	uint64_t room = three_in_a_room();

	three_message(bob, room, 0, table_blob("hi"));
	table_expect_ok(bob, 7);
	table_expect(alice, "A4 0010 0000000000000001 0002 0000 0002'hi'");
	table_expect(carol, "A4 0010 0000000000000001 0002 0000 0002'hi'");
	cr_expect_lt(bob->order, alice->order);
	table_expect_silence();
}

Test(rooms_talk_state, a_message_to_one_goes_to_him_alone)
{
	uint64_t room = three_in_a_room();

	three_message(bob, room, 3, table_zeros(0));
	table_expect_ok(bob, 7);
	table_expect(carol, "A4 000E 0000000000000001 0002 0003 0000");
	table_expect_silence();
}

Test(rooms_talk_state, a_message_to_oneself_or_to_nobody_is_fine_and_goes_nowhere)
{
	uint64_t room = three_in_a_room();

	three_message(bob, room, 2, table_blob("hi"));
	table_expect_ok(bob, 7);
	three_message(bob, room, 4, table_blob("hi"));
	table_expect_ok(bob, 7);
	three_message(bob, room, 65535, table_blob("hi"));
	table_expect_ok(bob, 7);
	table_expect_silence();
}

Test(rooms_talk_state, a_message_may_fill_its_frame)
{
	uint64_t room = three_in_a_room();
	size_t   len;

	three_message(bob, room, 1, table_zeros(65519));
	table_expect_ok(bob, 7);
	cr_assert_not_null(table_take(alice, &len));
	cr_expect_eq(len, 3 + 14 + 65519);
}

Test(rooms_talk_state, messages_are_tested_in_order)
{
	struct rooms_request r = three_on_room(ROOMS_ROOM_MESSAGE, NOBODY);

	r.data = table_blob("x");
	table_say_short(bob, r, ROOMS_BAD);
	table_say(bob, r);
	table_expect_error(bob, 7, ROOMS_NOT_IN_ROOM);
	three_message(bob, table_create(alice, 4), 0, table_blob("x"));
	table_expect_error(bob, 7, ROOMS_NOT_IN_ROOM);
	table_expect_silence();
}

/* KICK_MEMBER */

Test(rooms_talk_state, who_is_kicked_is_told_so_and_the_rest_that_he_left)
{
	uint64_t room = three_in_a_room();

	three_kick(alice, room, 2);
	table_expect_ok(alice, 7);
	size_t ok = alice->order;
	table_expect(bob, "A5 0008 0000000000000001");
	table_expect(alice, "A2 000C 0000000000000001 0002 0001");
	table_expect(carol, "A2 000C 0000000000000001 0002 0001");
	cr_expect(ok < bob->order && bob->order < alice->order);
	table_expect_silence();
	three_join(bob, room, table_zeros(0));
	table_expect(bob, "90 0077 00000007 0000000000000001 0004 0001 *");
	table_ignore_all();
}

Test(rooms_talk_state, kicking_is_tested_in_order)
{
	uint64_t room = three_in_a_room();

	table_say_short(bob, three_on_room(ROOMS_KICK_MEMBER, NOBODY), ROOMS_BAD);
	three_kick(bob, NOBODY, 9);
	table_expect_error(bob, 7, ROOMS_NOT_IN_ROOM);
	three_kick(bob, room, 9);
	table_expect_error(bob, 7, ROOMS_NOT_OWNER);
	three_kick(alice, room, 9);
	table_expect_error(alice, 7, ROOMS_NOT_FOUND);
	three_kick(alice, room, 0);
	table_expect_error(alice, 7, ROOMS_NOT_FOUND);
	three_kick(alice, room, 1);
	table_expect_error(alice, 7, ROOMS_NOT_FOUND);
	table_expect_silence();
}

/* Several rooms */

Test(rooms_talk_state, two_share_a_room_while_both_are_in_one)
{
	uint64_t rooms[20];

	for (size_t i = 0; i < COUNT_OF(rooms); i++)
		rooms[i] = table_create(i % 2 ? alice : bob, 4);
	cr_expect(!rooms_share_room(&alice->player, &bob->player));
	cr_expect(!rooms_share_room(&alice->player, &carol->player));
	table_join(carol, rooms[10]);
	table_join(carol, rooms[3]);
	cr_expect(rooms_share_room(&alice->player, &carol->player));
	cr_expect(rooms_share_room(&carol->player, &bob->player));
	cr_expect(!rooms_share_room(&alice->player, &bob->player));
	table_join(alice, rooms[0]);
	cr_expect(rooms_share_room(&alice->player, &bob->player));
	cr_expect(rooms_share_room(&bob->player, &alice->player));
	three_leave(bob, rooms[0]);
	table_ignore_all();
	cr_expect(!rooms_share_room(&alice->player, &bob->player));
}

Test(rooms_talk_state, what_happens_in_one_room_is_not_told_in_another)
{
	uint64_t first = table_create(alice, 4), second = table_create(alice, 4);

	table_join(bob, first);
	table_join(carol, second);
	three_message(alice, second, 0, table_zeros(0));
	table_expect_ok(alice, 7);
	table_expect(carol, "A4 000E 0000000000000002 0001 0000 0000");
	three_leave(alice, first);
	table_expect_ok(alice, 7);
	table_expect(bob, "A2 *");
	table_expect_silence();
	cr_expect_eq(alice->player.room_count, 1);
}
