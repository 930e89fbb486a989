/*
 * Rooms: made and left, who owns them, and what they count for.
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

TestSuite(rooms_room_state, .init = three_open, .fini = three_close);

/* CREATE_ROOM */

Test(rooms_room_state, the_maker_is_member_1_and_owner_and_alone)
{
	struct rooms_request r = three_create(4);

	r.flags       = 0x01020304;
	r.external    = table_blob("x");
	r.internal    = table_blob("int");
	r.member_data = table_blob("me");
	table_say(alice, r);
	table_expect(alice, "90 003F 00000002 0000000000000001 0001 0001 04 01020304 0001'x' 0003'int' 01"
	                    "0001 00000001 'alice' (00)x11 C6336407 0E4A 01 0002'me'");
	table_expect_silence();
}

Test(rooms_room_state, room_joined_is_as_in_the_description)
{
	struct vectors       v   = vectors_load("rooms.hex");
	const struct vector *say = vectors_find(&v, "create_room"), *want = vectors_find(&v, "room_joined");
	struct table_seat   *fifth;
	const uint8_t       *got;
	size_t               len;

	table_rise(table_sit(HERE));
	table_rise(alice);
	fifth                 = table_player(HERE, "alice");
	table.state.next_room = 9;
	table_say_bytes(fifth, say->data[0], say->data + 3, say->len - 3);
	got = table_take(fifth, &len);
	cr_assert_eq(len, want->len);
	cr_expect_arr_eq(got, want->data, len);
	vectors_free(&v);
}

Test(rooms_room_state, a_truncated_create_is_bad_at_every_length)
{
	struct rooms_request r = three_create(4);

	r.external = r.internal = r.member_data = table_blob("abc");
	table_say_short(alice, r, ROOMS_BAD);
	cr_expect_eq(table.state.room_count, 0);
}

Test(rooms_room_state, max_is_1_to_255)
{
	table_say(alice, three_create(0));
	table_expect_error(alice, 2, ROOMS_BAD);
	table_create(alice, 1);
	table_create(alice, 255);
}

Test(rooms_room_state, room_ids_begin_at_1_grow_and_do_not_come_back)
{
	cr_expect_eq(table_create(alice, 4), 1);
	cr_expect_eq(table_create(bob, 4), 2);
	three_leave(bob, 2);
	table_ignore(bob);
	cr_expect_eq(table_create(bob, 4), 3);
}

Test(rooms_room_state, a_refused_create_takes_no_id)
{
	table.refuses[ROOMS_ASK_ROOM] = true;
	table_say(alice, three_create(4));
	table_expect_error(alice, 2, ROOMS_LIMIT);
	table.refuses[ROOMS_ASK_ROOM] = false;
	cr_expect_eq(table_create(alice, 4), 1);
}

Test(rooms_room_state, blobs_of_a_room_fit_the_frame_that_shows_them_to_its_maker)
{
	static const size_t parts[][3] = {
		{ BLOBS_MAX, 0, 0 }, { 0, BLOBS_MAX, 0 }, { 0, 0, BLOBS_MAX }, { 20000, 30000, BLOBS_MAX - 50000 }
	};

	for (size_t i = 0; i < COUNT_OF(parts); i++) {
		size_t         len;
		const uint8_t *frame;

		three_create_with(parts[i][0], parts[i][1], parts[i][2]);
		frame = table_take(alice, &len);
		cr_assert_eq(frame[0], ROOMS_ROOM_JOINED);
		cr_expect_eq(len, (size_t)ROOMS_FRAME_MAX);
		three_create_with(parts[i][0] + (parts[i][0] > 0), parts[i][1] + (parts[i][0] == 0 && parts[i][1] > 0),
		                  parts[i][2] + (parts[i][0] == 0 && parts[i][1] == 0));
		table_expect_error(alice, 2, ROOMS_BAD);
	}
	cr_expect_eq(table.state.room_count, COUNT_OF(parts));
	table_check();
}

/* Limits of rooms */

Test(rooms_room_state, there_are_so_many_rooms_and_no_more)
{
	table.limits.rooms_rooms = 3;
	table_create(alice, 4);
	table_create(alice, 4);
	table_create(bob, 4);
	table_say(carol, three_create(4));
	table_expect_error(carol, 2, ROOMS_LIMIT);
	table_say(carol, three_create(0));
	table_expect_error(carol, 2, ROOMS_BAD);
	table_rise(bob);
	table_create(carol, 4);
	cr_expect_eq(table.state.room_count, 3);
}

Test(rooms_room_state, a_player_is_in_so_many_rooms_and_no_more)
{
	uint64_t late;

	for (int i = 0; i < 31; i++)
		table_create(alice, 4);
	table_join(alice, table_create(bob, 4));
	late = table_create(bob, 4);
	table_say(alice, three_create(4));
	table_expect_error(alice, 2, ROOMS_LIMIT);
	three_join(alice, late, table_zeros(0));
	table_expect_error(alice, 7, ROOMS_LIMIT);
	three_join(alice, 1, table_zeros(0));
	table_expect(alice, "90 * ");
	three_leave(alice, 1);
	table_expect_ok(alice, 7);
	three_join(alice, late, table_zeros(0));
	table_expect(alice, "90 * ");
	cr_expect_eq(alice->player.room_count, 32);
}

Test(rooms_room_state, a_room_counts_for_its_owners_address_until_it_is_gone)
{
	uint64_t room = table_create(alice, 4);

	cr_expect_eq(table.asked[ROOMS_ASK_ROOM], 1);
	cr_expect_arr_eq(table.asked_addr, alice->player.from.addr, ROOMS_ADDR_BYTES);
	table_join(bob, room);
	table_join(carol, room);
	three_leave(carol, room);
	table_ignore_all();
	cr_expect_eq(table.gone + table.came, 0, "she does not own it");
	table_rise(alice);
	table_ignore(bob);
	cr_expect(table.gone == 1 && table.came == 1);
	cr_expect_arr_eq(table.gone_addr, carol->player.from.addr, ROOMS_ADDR_BYTES);
	cr_expect_arr_eq(table.came_addr, bob->player.from.addr, ROOMS_ADDR_BYTES);
	table_check();
	three_leave(bob, room);
	table_expect_ok(bob, 7);
	cr_expect(table.gone == 2 && table.came == 1);
	cr_expect_arr_eq(table.gone_addr, bob->player.from.addr, ROOMS_ADDR_BYTES);
	cr_expect_eq(table.asked[ROOMS_ASK_ROOM], 1, "to own one by chance is not to make one");
}

Test(rooms_room_state, a_room_that_comes_to_one_who_is_exempt_is_not_counted_and_counted_when_it_goes_on)
{
	struct table_seat *local = table_player("!127.0.0.1", "local");
	uint64_t           room  = table_create(alice, 4);

	table_join(local, room);
	table_join(bob, room);
	three_leave(alice, room);
	table_ignore_all();
	cr_expect(table.gone == 1 && table.came == 0);
	table_check();
	table_rise(local);
	table_ignore_all();
	cr_expect(table.gone == 1 && table.came == 1);
	cr_expect_arr_eq(table.came_addr, bob->player.from.addr, ROOMS_ADDR_BYTES);
}

Test(rooms_room_state, an_address_that_may_not_have_one_more_is_told_6_and_asked_last)
{
	table.refuses[ROOMS_ASK_ROOM] = true;
	table_say(alice, three_create(0));
	table_expect_error(alice, 2, ROOMS_BAD);
	table.limits.rooms_rooms = 0;
	table_say(alice, three_create(4));
	table_expect_error(alice, 2, ROOMS_LIMIT);
	cr_expect_eq(table.asked[ROOMS_ASK_ROOM], 0);
	table.limits.rooms_rooms = 1000;
	table_say(alice, three_create(4));
	table_expect_error(alice, 2, ROOMS_LIMIT);
	cr_expect_eq(table.asked[ROOMS_ASK_ROOM], 1);
	cr_expect_eq(table.state.room_count + table.gone, 0);
}

Test(rooms_room_state, rooms_of_one_who_is_exempt_are_not_counted)
{
	struct table_seat *local = table_player("!127.0.0.1", "local");

	table.refuses[ROOMS_ASK_ROOM] = true;
	table_create(local, 4);
	table_rise(local);
	cr_expect_eq(table.asked[ROOMS_ASK_ROOM] + table.gone, 0);
}

Test(rooms_room_state, who_may_not_join_once_more_makes_no_room_either_and_it_is_given_back)
{
	table.refuses[ROOMS_ASK_JOIN] = true;
	table_say(alice, three_create(4));
	table_expect_error(alice, 2, ROOMS_LIMIT);
	cr_expect(table.asked[ROOMS_ASK_ROOM] == 1 && table.gone == 1 && table.state.room_count == 0);
	table.refuses[ROOMS_ASK_ROOM] = true;
	table_say(alice, three_create(4));
	table_expect_error(alice, 2, ROOMS_LIMIT);
	cr_expect(table.asked[ROOMS_ASK_JOIN] == 1 && table.gone == 1);
}

Test(rooms_room_state, whether_an_address_may_join_once_more_is_asked_last)
{
	struct table_seat *local = table_player("!127.0.0.1", "local");
	uint64_t           room = table_create(alice, 3), full = table_create(alice, 1);

	table.asked[ROOMS_ASK_JOIN]   = 0;
	table.refuses[ROOMS_ASK_JOIN] = true;
	three_join(bob, NOBODY, table_zeros(0));
	table_expect_error(bob, 7, ROOMS_NOT_FOUND);
	three_join(bob, full, table_zeros(0));
	table_expect_error(bob, 7, ROOMS_FULL);
	three_join(bob, room, table_zeros(65000));
	table_expect_error(bob, 7, ROOMS_FULL);
	table_join(alice, room); /* who is in it, is */
	table_join(local, room);
	cr_expect_eq(table.asked[ROOMS_ASK_JOIN], 0);
	three_join(bob, room, table_zeros(0));
	table_expect_error(bob, 7, ROOMS_LIMIT);
	cr_expect_eq(table.asked[ROOMS_ASK_JOIN], 1);
	table_expect_silence();
	table.refuses[ROOMS_ASK_JOIN] = false;
	table_join(bob, room);
}

Test(rooms_room_state, what_rooms_hold_has_a_limit_in_all)
{
	uint64_t room;

	table.limits.rooms_blob_total = 100000;
	three_create_with(40000, 10000, 10000);
	table_expect(alice, "90 *");
	three_create_with(20000, 10000, 10001);
	table_expect_error(alice, 2, ROOMS_LIMIT);
	three_create_with(20000, 10000, 9990);
	table_expect(alice, "90 *");
	cr_expect_eq(table.state.blob_bytes, 99990);
	room = table_create(carol, 4);
	three_join(bob, room, table_zeros(11));
	table_expect_error(bob, 7, ROOMS_LIMIT);
	three_join(bob, room, table_zeros(9));
	table_expect(bob, "90 *");
	table_ignore(carol);
	three_set(carol, room, ROOMS_WHICH_INTERNAL, table_zeros(2));
	table_expect_error(carol, 7, ROOMS_LIMIT);
	three_set(carol, room, ROOMS_WHICH_INTERNAL, table_zeros(1));
	table_expect_ok(carol, 7);
	three_set(alice, 1, ROOMS_WHICH_EXTERNAL, table_zeros(40000));
	table_expect_ok(alice, 7);
	three_set(alice, 1, ROOMS_WHICH_EXTERNAL, table_zeros(0));
	table_expect_ok(alice, 7);
	cr_expect_eq(table.state.blob_bytes, 60000);
}

/* LEAVE_ROOM */

Test(rooms_room_state, who_leaves_gets_ok_alone_and_the_rest_are_told)
{
	uint64_t room = three_in_a_room();

	three_leave(bob, room);
	table_expect_ok(bob, 7);
	table_expect(alice, "A2 000C 0000000000000001 0002 0001");
	table_expect(carol, "A2 000C 0000000000000001 0002 0001");
	cr_expect_lt(bob->order, alice->order);
	table_expect_silence();
}

Test(rooms_room_state, leaving_is_answered_5_whatever_is_wrong)
{
	table_say_short(bob, three_on_room(ROOMS_LEAVE_ROOM, table_create(alice, 4)), ROOMS_NOT_IN_ROOM);
	three_leave(bob, 1);
	table_expect_error(bob, 7, ROOMS_NOT_IN_ROOM);
	three_leave(bob, NOBODY);
	table_expect_error(bob, 7, ROOMS_NOT_IN_ROOM);
	table_expect_silence();
}

Test(rooms_room_state, the_last_one_out_closes_the_room)
{
	uint64_t room = three_in_a_room();

	three_leave(alice, room);
	three_leave(bob, room);
	three_leave(carol, room);
	cr_expect_null(rooms_find_room(&table.state, room));
	table_ignore_all();
	three_join(bob, room, table_zeros(0));
	table_expect_error(bob, 7, ROOMS_NOT_FOUND);
}

/* Ownership */

Test(rooms_room_state, when_the_owner_goes_who_is_there_longest_owns_it)
{
	uint64_t room = three_in_a_room();

	three_leave(alice, room);
	table_expect_ok(alice, 7);
	table_expect(bob, "A2 000C 0000000000000001 0001 0002");
	table_expect(carol, "A2 000C 0000000000000001 0001 0002");
	three_join(alice, room, table_zeros(0)); /* not hers any more */
	table_expect(alice, "90 0077 00000007 0000000000000001 0004 0002 *");
	table_ignore_all();
	table_rise(bob);
	bob = NULL;
	table_expect(carol, "A2 000C 0000000000000001 0002 0003");
	table_expect(alice, "A2 000C 0000000000000001 0002 0003");
	three_kick(alice, room, 3);
	table_expect_error(alice, 7, ROOMS_NOT_OWNER);
	three_kick(carol, room, 4);
	table_expect_ok(carol, 7);
	table_ignore_all();
}

Test(rooms_room_state, an_owner_whose_name_is_taken_over_owns_nothing)
{
	uint64_t           room = three_in_a_room();
	struct table_seat *back = table_sit(HERE);

	table_hello(back, TABLE_TITLE, "alice");
	table_expect(bob, "A2 000C 0000000000000001 0001 0002");
	table_expect(carol, "A2 000C 0000000000000001 0001 0002");
	three_join(back, room, table_zeros(0));
	table_expect(back, "90 0077 00000007 0000000000000001 0004 0002 *");
	table_ignore_all();
}
