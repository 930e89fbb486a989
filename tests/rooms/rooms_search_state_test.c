/*
 * SEARCH_ROOMS: which rooms are shown, in which order, and how many in a page.
 */
#include "rooms/rooms_state.h"

#include "base/auto.h"
#include "rooms/rooms_state_inside.h"
#include "support/rooms_three.h"
#include "support/vectors.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define BLOBS_MAX 65478 /* of a room with its maker alone */

TestSuite(rooms_search_state, .init = three_open, .fini = three_close);

/* SEARCH_ROOMS */

Test(rooms_search_state, a_search_is_answered_as_in_the_description)
{
	struct vectors       v   = vectors_load("rooms.hex");
	const struct vector *say = vectors_find(&v, "search_rooms"), *want = vectors_find(&v, "room_list");
	struct rooms_request r = three_create(4);
	const uint8_t       *got;
	size_t               len;

	r.external            = table_blob("x");
	table.state.next_room = 9;
	table_say(alice, r);
	table_ignore(alice);
	table_say_bytes(carol, say->data[0], say->data + 3, say->len - 3);
	got = table_take(carol, &len);
	cr_assert_eq(len, want->len);
	cr_expect_arr_eq(got, want->data, len);
	vectors_free(&v);
}

Test(rooms_search_state, a_truncated_search_is_bad)
{
	table_say_short(alice, (struct rooms_request){ .type = ROOMS_SEARCH_ROOMS, .req = 5 }, ROOMS_BAD);
}

Test(rooms_search_state, a_search_lists_rooms_that_are_not_full_oldest_first)
{
	struct table_seat *stranger = table_sit(THERE);

	cr_expect_str_eq(three_found(bob, 0, 100), "0:");
	table_create(alice, 2);
	table_create(alice, 1); /* full from the start */
	table_create(bob, 3);
	table_create(carol, 2);
	table_hello(stranger, "OTHER", "stranger");
	table_create(stranger, 4);
	cr_expect_str_eq(three_found(alice, 0, 100), "3: 1 3 4");
	cr_expect_str_eq(three_found(stranger, 0, 100), "1: 5");
	table_join(bob, 1);
	table_join(bob, 4);
	cr_expect_str_eq(three_found(carol, 0, 100), "1: 3");
	three_leave(alice, 1);
	table_ignore_all();
	cr_expect_str_eq(three_found(carol, 0, 100), "2: 1 3");
	table_rise(bob);
	bob = NULL;
	table_ignore_all();
	cr_expect_str_eq(three_found(carol, 0, 100), "1: 4");
}

Test(rooms_search_state, a_room_that_nobody_fits_into_is_not_listed)
{
	table_create(alice, 4);
	table_create(bob, 4);
	three_set(alice, 1, ROOMS_WHICH_INTERNAL, table_zeros(BLOBS_MAX - 31));
	table_ignore(alice);
	cr_expect_str_eq(three_found(carol, 0, 0), "2:");
	three_set(alice, 1, ROOMS_WHICH_INTERNAL, table_zeros(BLOBS_MAX - 30));
	table_ignore(alice);
	cr_expect_str_eq(three_found(carol, 0, 9), "1: 2");
	three_join(carol, 1, table_zeros(0));
	table_expect_error(carol, 7, ROOMS_FULL);
	three_set(alice, 1, ROOMS_WHICH_FLAGS, table_blob("flag"));
	table_ignore(alice);
	table_check();
	three_set(alice, 1, ROOMS_WHICH_INTERNAL, table_zeros(0));
	table_ignore(alice);
	cr_expect_str_eq(three_found(carol, 0, 9), "2: 1 2");
	three_set(alice, 1, ROOMS_WHICH_INTERNAL, table_zeros(BLOBS_MAX - 2 * (size_t)31 - 256));
	table_ignore(alice);
	three_join(bob, 1, table_zeros(256));
	table_ignore_all();
	cr_expect_str_eq(three_found(carol, 0, 9), "2: 1 2");
	table_join(carol, 1);
	table_check();
	cr_expect_str_eq(three_found(carol, 0, 9), "1: 2");
	three_leave(bob, 1);
	table_ignore_all();
	cr_expect_str_eq(three_found(carol, 0, 9), "2: 1 2");
	table_check();
	three_set(alice, 1, ROOMS_WHICH_INTERNAL, table_zeros(BLOBS_MAX - 31));
	three_leave(alice, 1);
	three_leave(carol, 1);
	table_ignore_all();
	cr_expect_str_eq(three_found(carol, 0, 9), "1: 2");
}

Test(rooms_search_state, start_is_an_offset_and_max_the_most_wanted)
{
	for (int i = 0; i < 5; i++)
		table_create(alice, 4);
	cr_expect_str_eq(three_found(bob, 0, 2), "5: 1 2");
	cr_expect_str_eq(three_found(bob, 2, 2), "5: 3 4");
	cr_expect_str_eq(three_found(bob, 4, 2), "5: 5");
	cr_expect_str_eq(three_found(bob, 0, 0), "5:");
	cr_expect_str_eq(three_found(bob, 5, 9), "5:");
	cr_expect_str_eq(three_found(bob, 65535, 65535), "5:");
	cr_expect_str_eq(three_found(bob, 4, 65535), "5: 5");
}

Test(rooms_search_state, a_search_shows_the_present_owner_and_how_many_there_are)
{
	uint64_t room = three_in_a_room();

	three_set(alice, room, ROOMS_WHICH_FLAGS, table_blob("abcd"));
	table_rise(alice);
	table_ignore_all();
	three_search(carol, 0, 1);
	table_expect(carol, "91 0028 00000005 0001 0001 0000000000000001 'bob' (00)x13 02 08 'abcd' 0000");
}

Test(rooms_search_state, a_page_of_a_search_never_exceeds_a_frame)
{
	/* 32 bytes of its own each: two entries fill a frame to the last byte. With the last, one may still come in. */
	static const size_t  external[] = { 32000, 33463, 100, BLOBS_MAX - 31 };
	struct rooms_request r          = three_create(4);

	for (size_t i = 0; i < COUNT_OF(external); i++) {
		r.external = table_zeros(external[i]);
		table_say(alice, r);
	}
	table_ignore(alice);
	cr_expect_str_eq(three_found(bob, 0, 100), "4: 1 2");
	cr_expect_str_eq(three_found(bob, 2, 100), "4: 3");
	cr_expect_str_eq(three_found(bob, 3, 100), "4: 4");
	three_set(alice, 1, ROOMS_WHICH_EXTERNAL, table_zeros(32001));
	table_ignore(alice);
	cr_expect_str_eq(three_found(bob, 0, 100), "4: 1");
}

Test(rooms_search_state, the_total_of_a_search_stops_at_65535)
{
	struct rooms_title *t = alice->player.in_title;

	table_create(alice, 4);
	t->open_count = 70000; /* nobody looks at them: none is wanted */
	three_search(bob, 0, 0);
	table_expect(bob, "91 0008 00000005 FFFF 0000");
	t->open_count = 1;
}

Test(rooms_search_state, many_rooms_are_found_in_order_whatever_happens_to_them)
{
	uint64_t seed = 1;

	table.limits.rooms_rooms_per_player = 1000;
	for (int i = 0; i < 300; i++)
		table_create(alice, 2);
	for (int i = 0; i < 3000; i++) {
		uint64_t room = 1 + (seed = seed * 6364136223846793005 + 1442695040888963407) % 300;

		if (rooms_find_own(&bob->player, room))
			three_leave(bob, room);
		else
			three_join(bob, room, table_zeros(0));
		table_ignore_all();
		if (i % 100 == 0)
			table_check();
	}
}
