/*
 * Rooms: each request, in the order of its tests, and who is told what.
 */
#include "rooms/rooms_state.h"

#include "base/auto.h"
#include "rooms/rooms_state_inside.h"
#include "support/rooms_table.h"
#include "support/vectors.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define HERE      "198.51.100.7"
#define THERE     "203.0.113.9"
#define NOBODY    0xFFFFFFFFFFFFFFFF /* a room that is not there */
#define BLOBS_MAX 65478              /* of a room with its maker alone */

static struct table_seat *alice, *bob, *carol; /* 1, 2, 3; alice and carol share an address */

static void start(void)
{
	table_open();
	alice = table_player(HERE, "alice");
	bob   = table_player(THERE, "bob");
	carol = table_player(HERE, "carol");
}

static void stop(void)
{
	table_check();
	table_close();
}

TestSuite(rooms_room_state, .init = start, .fini = stop);

/* Saying */

static struct rooms_request create(uint8_t max)
{
	return (struct rooms_request){ .type = ROOMS_CREATE_ROOM, .req = 2, .max = max };
}

static struct rooms_request on_room(uint8_t type, uint64_t room)
{
	return (struct rooms_request){ .type = type, .req = 7, .room_id = room };
}

static void say_search(struct table_seat *seat, uint16_t from, uint16_t want)
{
	table_say(seat, (struct rooms_request){ .type = ROOMS_SEARCH_ROOMS, .req = 5, .start = from, .want = want });
}

static void say_join(struct table_seat *seat, uint64_t room, struct rooms_blob data)
{
	struct rooms_request r = on_room(ROOMS_JOIN_ROOM, room);

	r.member_data = data;
	table_say(seat, r);
}

static void say_leave(struct table_seat *seat, uint64_t room)
{
	table_say(seat, on_room(ROOMS_LEAVE_ROOM, room));
}

static void say_set(struct table_seat *seat, uint64_t room, uint8_t which, struct rooms_blob data)
{
	struct rooms_request r = on_room(ROOMS_SET_ROOM_DATA, room);

	r.which = which;
	r.data  = data;
	table_say(seat, r);
}

static void say_message(struct table_seat *seat, uint64_t room, uint16_t to, struct rooms_blob data)
{
	struct rooms_request r = on_room(ROOMS_ROOM_MESSAGE, room);

	r.to   = to;
	r.data = data;
	table_say(seat, r);
}

static void say_kick(struct table_seat *seat, uint64_t room, uint16_t member)
{
	struct rooms_request r = on_room(ROOMS_KICK_MEMBER, room);

	r.member_id = member;
	table_say(seat, r);
}

/* A room of alice's with bob as member 2 and carol as member 3. */
static uint64_t room_of_three(void)
{
	uint64_t room = table_create(alice, 8);

	table_join(bob, room);
	table_join(carol, room);
	return room;
}

/* CREATE_ROOM */

Test(rooms_room_state, the_maker_is_member_1_and_owner_and_alone)
{
	struct rooms_request r = create(4);

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
	struct rooms_request r = create(4);

	r.external = r.internal = r.member_data = table_blob("abc");
	table_say_short(alice, r, ROOMS_BAD);
	cr_expect_eq(table.state.room_count, 0);
}

Test(rooms_room_state, max_is_1_to_255)
{
	table_say(alice, create(0));
	table_expect_error(alice, 2, ROOMS_BAD);
	table_create(alice, 1);
	table_create(alice, 255);
}

Test(rooms_room_state, room_ids_begin_at_1_grow_and_do_not_come_back)
{
	cr_expect_eq(table_create(alice, 4), 1);
	cr_expect_eq(table_create(bob, 4), 2);
	say_leave(bob, 2);
	table_ignore(bob);
	cr_expect_eq(table_create(bob, 4), 3);
}

Test(rooms_room_state, a_refused_create_takes_no_id)
{
	table.refuses[ROOMS_ASK_ROOM] = true;
	table_say(alice, create(4));
	table_expect_error(alice, 2, ROOMS_LIMIT);
	table.refuses[ROOMS_ASK_ROOM] = false;
	cr_expect_eq(table_create(alice, 4), 1);
}

static void say_create_with(size_t external, size_t internal, size_t data)
{
	struct rooms_request r = create(4);

	r.external    = table_zeros(external);
	r.internal    = table_zeros(internal);
	r.member_data = table_zeros(data);
	table_say(alice, r);
}

Test(rooms_room_state, blobs_of_a_room_fit_the_frame_that_shows_them_to_its_maker)
{
	static const size_t parts[][3] = {
		{ BLOBS_MAX, 0, 0 }, { 0, BLOBS_MAX, 0 }, { 0, 0, BLOBS_MAX }, { 20000, 30000, BLOBS_MAX - 50000 }
	};

	for (size_t i = 0; i < COUNT_OF(parts); i++) {
		size_t         len;
		const uint8_t *frame;

		say_create_with(parts[i][0], parts[i][1], parts[i][2]);
		frame = table_take(alice, &len);
		cr_assert_eq(frame[0], ROOMS_ROOM_JOINED);
		cr_expect_eq(len, (size_t)ROOMS_FRAME_MAX);
		say_create_with(parts[i][0] + (parts[i][0] > 0), parts[i][1] + (parts[i][0] == 0 && parts[i][1] > 0),
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
	table_say(carol, create(4));
	table_expect_error(carol, 2, ROOMS_LIMIT);
	table_say(carol, create(0));
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
	table_say(alice, create(4));
	table_expect_error(alice, 2, ROOMS_LIMIT);
	say_join(alice, late, table_zeros(0));
	table_expect_error(alice, 7, ROOMS_LIMIT);
	say_join(alice, 1, table_zeros(0));
	table_expect(alice, "90 * ");
	say_leave(alice, 1);
	table_expect_ok(alice, 7);
	say_join(alice, late, table_zeros(0));
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
	say_leave(carol, room);
	table_ignore_all();
	cr_expect_eq(table.gone + table.came, 0, "she does not own it");
	table_rise(alice);
	table_ignore(bob);
	cr_expect(table.gone == 1 && table.came == 1);
	cr_expect_arr_eq(table.gone_addr, carol->player.from.addr, ROOMS_ADDR_BYTES);
	cr_expect_arr_eq(table.came_addr, bob->player.from.addr, ROOMS_ADDR_BYTES);
	table_check();
	say_leave(bob, room);
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
	say_leave(alice, room);
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
	table_say(alice, create(0));
	table_expect_error(alice, 2, ROOMS_BAD);
	table.limits.rooms_rooms = 0;
	table_say(alice, create(4));
	table_expect_error(alice, 2, ROOMS_LIMIT);
	cr_expect_eq(table.asked[ROOMS_ASK_ROOM], 0);
	table.limits.rooms_rooms = 1000;
	table_say(alice, create(4));
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
	table_say(alice, create(4));
	table_expect_error(alice, 2, ROOMS_LIMIT);
	cr_expect(table.asked[ROOMS_ASK_ROOM] == 1 && table.gone == 1 && table.state.room_count == 0);
	table.refuses[ROOMS_ASK_ROOM] = true;
	table_say(alice, create(4));
	table_expect_error(alice, 2, ROOMS_LIMIT);
	cr_expect(table.asked[ROOMS_ASK_JOIN] == 1 && table.gone == 1);
}

Test(rooms_room_state, whether_an_address_may_join_once_more_is_asked_last)
{
	struct table_seat *local = table_player("!127.0.0.1", "local");
	uint64_t           room = table_create(alice, 3), full = table_create(alice, 1);

	table.asked[ROOMS_ASK_JOIN]   = 0;
	table.refuses[ROOMS_ASK_JOIN] = true;
	say_join(bob, NOBODY, table_zeros(0));
	table_expect_error(bob, 7, ROOMS_NOT_FOUND);
	say_join(bob, full, table_zeros(0));
	table_expect_error(bob, 7, ROOMS_FULL);
	say_join(bob, room, table_zeros(65000));
	table_expect_error(bob, 7, ROOMS_FULL);
	table_join(alice, room); /* who is in it, is */
	table_join(local, room);
	cr_expect_eq(table.asked[ROOMS_ASK_JOIN], 0);
	say_join(bob, room, table_zeros(0));
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
	say_create_with(40000, 10000, 10000);
	table_expect(alice, "90 *");
	say_create_with(20000, 10000, 10001);
	table_expect_error(alice, 2, ROOMS_LIMIT);
	say_create_with(20000, 10000, 9990);
	table_expect(alice, "90 *");
	cr_expect_eq(table.state.blob_bytes, 99990);
	room = table_create(carol, 4);
	say_join(bob, room, table_zeros(11));
	table_expect_error(bob, 7, ROOMS_LIMIT);
	say_join(bob, room, table_zeros(9));
	table_expect(bob, "90 *");
	table_ignore(carol);
	say_set(carol, room, ROOMS_WHICH_INTERNAL, table_zeros(2));
	table_expect_error(carol, 7, ROOMS_LIMIT);
	say_set(carol, room, ROOMS_WHICH_INTERNAL, table_zeros(1));
	table_expect_ok(carol, 7);
	say_set(alice, 1, ROOMS_WHICH_EXTERNAL, table_zeros(40000));
	table_expect_ok(alice, 7);
	say_set(alice, 1, ROOMS_WHICH_EXTERNAL, table_zeros(0));
	table_expect_ok(alice, 7);
	cr_expect_eq(table.state.blob_bytes, 60000);
}

/* SEARCH_ROOMS */

Test(rooms_room_state, a_search_is_answered_as_in_the_description)
{
	struct vectors       v   = vectors_load("rooms.hex");
	const struct vector *say = vectors_find(&v, "search_rooms"), *want = vectors_find(&v, "room_list");
	struct rooms_request r = create(4);
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

Test(rooms_room_state, a_truncated_search_is_bad)
{
	table_say_short(alice, (struct rooms_request){ .type = ROOMS_SEARCH_ROOMS, .req = 5 }, ROOMS_BAD);
}

/* The ids of what a search finds, as one text: "total: 1 2 3". */
static const char *found(struct table_seat *seat, uint16_t from, uint16_t want)
{
	static char    text[512];
	size_t         len, at = 0, count;
	const uint8_t *frame;
	struct rd      r;

	say_search(seat, from, want);
	frame = table_take(seat, &len);
	cr_assert_eq(frame[0], ROOMS_ROOM_LIST);
	r = rd_over(frame + ROOMS_HEAD_BYTES + ROOMS_REQ_BYTES, len - ROOMS_HEAD_BYTES - ROOMS_REQ_BYTES);
	at += (size_t)snprintf(text, sizeof(text), "%d:", (int)rd_be(&r, 2));
	count = (size_t)rd_be(&r, 2);
	for (size_t i = 0; i < count; i++) {
		at += (size_t)snprintf(text + at, sizeof(text) - at, " %d", (int)rd_be(&r, 8));
		rd_bytes(&r, 22);
		rd_bytes(&r, (size_t)rd_be(&r, 2));
	}
	cr_assert(rd_done(&r));
	return text;
}

Test(rooms_room_state, a_search_lists_rooms_that_are_not_full_oldest_first)
{
	struct table_seat *stranger = table_sit(THERE);

	cr_expect_str_eq(found(bob, 0, 100), "0:");
	table_create(alice, 2);
	table_create(alice, 1); /* full from the start */
	table_create(bob, 3);
	table_create(carol, 2);
	table_hello(stranger, "OTHER", "stranger");
	table_create(stranger, 4);
	cr_expect_str_eq(found(alice, 0, 100), "3: 1 3 4");
	cr_expect_str_eq(found(stranger, 0, 100), "1: 5");
	table_join(bob, 1);
	table_join(bob, 4);
	cr_expect_str_eq(found(carol, 0, 100), "1: 3");
	say_leave(alice, 1);
	table_ignore_all();
	cr_expect_str_eq(found(carol, 0, 100), "2: 1 3");
	table_rise(bob);
	bob = NULL;
	table_ignore_all();
	cr_expect_str_eq(found(carol, 0, 100), "1: 4");
}

Test(rooms_room_state, a_room_that_nobody_fits_into_is_not_listed)
{
	table_create(alice, 4);
	table_create(bob, 4);
	say_set(alice, 1, ROOMS_WHICH_INTERNAL, table_zeros(BLOBS_MAX - 31));
	table_ignore(alice);
	cr_expect_str_eq(found(carol, 0, 0), "2:");
	say_set(alice, 1, ROOMS_WHICH_INTERNAL, table_zeros(BLOBS_MAX - 30));
	table_ignore(alice);
	cr_expect_str_eq(found(carol, 0, 9), "1: 2");
	say_join(carol, 1, table_zeros(0));
	table_expect_error(carol, 7, ROOMS_FULL);
	say_set(alice, 1, ROOMS_WHICH_FLAGS, table_blob("flag"));
	table_ignore(alice);
	table_check();
	say_set(alice, 1, ROOMS_WHICH_INTERNAL, table_zeros(0));
	table_ignore(alice);
	cr_expect_str_eq(found(carol, 0, 9), "2: 1 2");
	say_set(alice, 1, ROOMS_WHICH_INTERNAL, table_zeros(BLOBS_MAX - 2 * (size_t)31 - 256));
	table_ignore(alice);
	say_join(bob, 1, table_zeros(256));
	table_ignore_all();
	cr_expect_str_eq(found(carol, 0, 9), "2: 1 2");
	table_join(carol, 1);
	table_check();
	cr_expect_str_eq(found(carol, 0, 9), "1: 2");
	say_leave(bob, 1);
	table_ignore_all();
	cr_expect_str_eq(found(carol, 0, 9), "2: 1 2");
	table_check();
	say_set(alice, 1, ROOMS_WHICH_INTERNAL, table_zeros(BLOBS_MAX - 31));
	say_leave(alice, 1);
	say_leave(carol, 1);
	table_ignore_all();
	cr_expect_str_eq(found(carol, 0, 9), "1: 2");
}

Test(rooms_room_state, start_is_an_offset_and_max_the_most_wanted)
{
	for (int i = 0; i < 5; i++)
		table_create(alice, 4);
	cr_expect_str_eq(found(bob, 0, 2), "5: 1 2");
	cr_expect_str_eq(found(bob, 2, 2), "5: 3 4");
	cr_expect_str_eq(found(bob, 4, 2), "5: 5");
	cr_expect_str_eq(found(bob, 0, 0), "5:");
	cr_expect_str_eq(found(bob, 5, 9), "5:");
	cr_expect_str_eq(found(bob, 65535, 65535), "5:");
	cr_expect_str_eq(found(bob, 4, 65535), "5: 5");
}

Test(rooms_room_state, a_search_shows_the_present_owner_and_how_many_there_are)
{
	uint64_t room = room_of_three();

	say_set(alice, room, ROOMS_WHICH_FLAGS, table_blob("abcd"));
	table_rise(alice);
	table_ignore_all();
	say_search(carol, 0, 1);
	table_expect(carol, "91 0028 00000005 0001 0001 0000000000000001 'bob' (00)x13 02 08 'abcd' 0000");
}

Test(rooms_room_state, a_page_of_a_search_never_exceeds_a_frame)
{
	/* 32 bytes of its own each: two entries fill a frame to the last byte. With the last, one may still come in. */
	static const size_t  external[] = { 32000, 33463, 100, BLOBS_MAX - 31 };
	struct rooms_request r          = create(4);

	for (size_t i = 0; i < COUNT_OF(external); i++) {
		r.external = table_zeros(external[i]);
		table_say(alice, r);
	}
	table_ignore(alice);
	cr_expect_str_eq(found(bob, 0, 100), "4: 1 2");
	cr_expect_str_eq(found(bob, 2, 100), "4: 3");
	cr_expect_str_eq(found(bob, 3, 100), "4: 4");
	say_set(alice, 1, ROOMS_WHICH_EXTERNAL, table_zeros(32001));
	table_ignore(alice);
	cr_expect_str_eq(found(bob, 0, 100), "4: 1");
}

Test(rooms_room_state, the_total_of_a_search_stops_at_65535)
{
	struct rooms_title *t = alice->player.in_title;

	table_create(alice, 4);
	t->open_count = 70000; /* nobody looks at them: none is wanted */
	say_search(bob, 0, 0);
	table_expect(bob, "91 0008 00000005 FFFF 0000");
	t->open_count = 1;
}

Test(rooms_room_state, many_rooms_are_found_in_order_whatever_happens_to_them)
{
	uint64_t seed = 1;

	table.limits.rooms_rooms_per_player = 1000;
	for (int i = 0; i < 300; i++)
		table_create(alice, 2);
	for (int i = 0; i < 3000; i++) {
		uint64_t room = 1 + (seed = seed * 6364136223846793005 + 1442695040888963407) % 300;

		if (rooms_find_own(&bob->player, room))
			say_leave(bob, room);
		else
			say_join(bob, room, table_zeros(0));
		table_ignore_all();
		if (i % 100 == 0)
			table_check();
	}
}

/* JOIN_ROOM */

Test(rooms_room_state, a_join_lists_all_in_order_and_tells_the_others_once)
{
	uint64_t room = table_create(alice, 8);

	table_join(bob, room);
	say_join(carol, room, table_blob("yz"));
	table_expect(carol, "90 0079 00000007 0000000000000001 0003 0001 08 00000000 0000 0000 03"
	                    "0001 00000001 'alice' (00)x11 C6336407 0E4A 01 0000"
	                    "0002 00000002 'bob'   (00)x13 CB007109 0E4A 00 0000"
	                    "0003 00000003 'carol' (00)x11 C6336407 0E4A 00 0002'yz'");
	table_expect(alice, "A1 0029 0000000000000001 0003 00000003 'carol' (00)x11 C6336407 0E4A 00 0002'yz'");
	table_expect(bob, "A1 0029 0000000000000001 0003 00000003 'carol' (00)x11 C6336407 0E4A 00 0002'yz'");
	cr_expect_lt(carol->order, alice->order, "the reply goes first");
	table_expect_silence();
}

Test(rooms_room_state, a_truncated_join_is_bad_at_every_length)
{
	struct rooms_request r = on_room(ROOMS_JOIN_ROOM, table_create(alice, 4));

	r.member_data = table_blob("abc");
	table_say_short(bob, r, ROOMS_BAD);
}

Test(rooms_room_state, a_room_that_is_not_there_or_of_another_title_is_not_found)
{
	struct table_seat *stranger = table_sit(THERE);
	uint64_t           room = table_create(alice, 4), full = table_create(alice, 1);

	table_hello(stranger, "OTHER", "stranger");
	say_join(bob, NOBODY, table_zeros(0));
	table_expect_error(bob, 7, ROOMS_NOT_FOUND);
	say_join(bob, 0, table_zeros(0));
	table_expect_error(bob, 7, ROOMS_NOT_FOUND);
	say_join(stranger, room, table_zeros(0));
	table_expect_error(stranger, 7, ROOMS_NOT_FOUND);
	say_join(stranger, full, table_zeros(0));
	table_expect_error(stranger, 7, ROOMS_NOT_FOUND);
	table_expect_silence();
}

Test(rooms_room_state, a_room_takes_max_members_and_no_more)
{
	uint64_t room = table_create(alice, 2), alone = table_create(alice, 1);

	say_join(bob, alone, table_zeros(0));
	table_expect_error(bob, 7, ROOMS_FULL);
	table_join(bob, room);
	say_join(carol, room, table_zeros(0));
	table_expect_error(carol, 7, ROOMS_FULL);
	table_expect_silence();
}

Test(rooms_room_state, a_room_of_255_fills_to_the_last_and_shows_all_of_them)
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
	say_join(last, room, table_zeros(0));
	cr_assert_not_null(table_take(last, &len));
	cr_expect_eq(len, (size_t)(3 + 26 + 255 * 31));
	table_ignore_all();
	say_join(bob, room, table_zeros(0));
	table_expect_error(bob, 7, ROOMS_FULL);
	say_message(alice, room, 0, table_blob("hi"));
	table_expect_ok(alice, 7);
	table_expect(last, "A4 0010 0000000000000001 0001 0000 0002'hi'");
	table_ignore_all();
	cr_expect_eq(rooms_find_room(&table.state, room)->member_count, 255);
}

Test(rooms_room_state, who_is_in_it_is_shown_it_again_also_when_it_is_full)
{
	uint64_t room = table_create(alice, 2);

	say_join(bob, room, table_blob("first"));
	table_ignore_all();
	say_set(alice, room, ROOMS_WHICH_INTERNAL, table_blob("I"));
	table_ignore_all();
	say_join(bob, room, table_blob("second"));
	table_expect(bob, "90 005E 00000007 0000000000000001 0002 0001 02 00000000 0000 0001'I' 02"
	                  "0001 00000001 'alice' (00)x11 C6336407 0E4A 01 0000"
	                  "0002 00000002 'bob'   (00)x13 CB007109 0E4A 00 0005'first'");
	table_expect_silence();
}

Test(rooms_room_state, member_numbers_do_not_come_back)
{
	uint64_t room = room_of_three();

	say_leave(carol, room);
	table_ignore_all();
	say_join(carol, room, table_zeros(0));
	table_expect(alice, "A1 0027 0000000000000001 0004 00000003 *");
	table_expect(carol, "90 0077 00000007 0000000000000001 0004 0001 *");
	table_ignore_all();
}

Test(rooms_room_state, after_65535_members_a_room_takes_nobody)
{
	uint64_t room = table_create(alice, 8);

	rooms_find_room(&table.state, room)->ids_given = 65534;
	cr_expect_str_eq(found(carol, 0, 9), "1: 1");
	say_join(bob, room, table_zeros(0));
	table_expect(bob, "90 0058 00000007 0000000000000001 FFFF 0001 *");
	table_ignore_all();
	say_join(carol, room, table_zeros(0));
	table_expect_error(carol, 7, ROOMS_FULL);
	cr_expect_str_eq(found(carol, 0, 9), "0:");
	say_join(bob, room, table_zeros(0));
	table_expect(bob, "90 *");
	say_leave(bob, room);
	table_ignore_all();
	cr_expect_str_eq(found(carol, 0, 9), "0:");
	say_leave(alice, room);
	table_expect_ok(alice, 7);
	cr_expect_eq(table.state.room_count, 0);
}

Test(rooms_room_state, a_join_that_a_frame_cannot_show_is_told_the_room_is_full)
{
	say_create_with(30000, 20000, BLOBS_MAX - 50000 - 31 - 200);
	table_ignore(alice);
	say_join(bob, 1, table_zeros(201));
	table_expect_error(bob, 7, ROOMS_FULL);
	say_join(bob, 1, table_zeros(200));
	table_expect(bob, "90 FFFF *");
	table_expect(alice, "A1 *");
	say_join(carol, 1, table_zeros(0));
	table_expect_error(carol, 7, ROOMS_FULL);
	table_expect_silence();
}

/* So that nobody alone fills the frame that all have to fit into. */
Test(rooms_room_state, a_joiner_may_bring_his_share_of_what_is_left_for_the_free_seats)
{
	enum { SHARE = BLOBS_MAX / 3 - 31 };
	struct table_seat *dave = table_player(THERE, "dave"), *all[] = { bob, carol, dave };

	table_create(alice, 4);
	for (size_t i = 0; i < COUNT_OF(all); i++) {
		say_join(all[i], 1, table_zeros(SHARE + 1));
		table_expect_error(all[i], 7, ROOMS_FULL);
		say_join(all[i], 1, table_zeros(SHARE));
		table_expect(all[i], i + 1 < COUNT_OF(all) ? "90 *" : "90 FFFF *");
	}
	table_ignore_all();
}

Test(rooms_room_state, a_joiner_may_bring_256_bytes_where_his_share_is_less)
{
	static const struct {
		uint8_t max;
		size_t  most;
	} rows[] = { { 255, 256 }, { 229, 256 }, { 228, 257 } };

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		uint64_t room = table_create(alice, rows[i].max);

		say_join(bob, room, table_zeros(rows[i].most + 1));
		table_expect_error(bob, 7, ROOMS_FULL);
		say_join(bob, room, table_zeros(rows[i].most));
		table_expect(bob, "90 *");
		table_ignore_all();
	}
}

/* LEAVE_ROOM */

Test(rooms_room_state, who_leaves_gets_ok_alone_and_the_rest_are_told)
{
	uint64_t room = room_of_three();

	say_leave(bob, room);
	table_expect_ok(bob, 7);
	table_expect(alice, "A2 000C 0000000000000001 0002 0001");
	table_expect(carol, "A2 000C 0000000000000001 0002 0001");
	cr_expect_lt(bob->order, alice->order);
	table_expect_silence();
}

Test(rooms_room_state, leaving_is_answered_5_whatever_is_wrong)
{
	table_say_short(bob, on_room(ROOMS_LEAVE_ROOM, table_create(alice, 4)), ROOMS_NOT_IN_ROOM);
	say_leave(bob, 1);
	table_expect_error(bob, 7, ROOMS_NOT_IN_ROOM);
	say_leave(bob, NOBODY);
	table_expect_error(bob, 7, ROOMS_NOT_IN_ROOM);
	table_expect_silence();
}

Test(rooms_room_state, the_last_one_out_closes_the_room)
{
	uint64_t room = room_of_three();

	say_leave(alice, room);
	say_leave(bob, room);
	say_leave(carol, room);
	cr_expect_null(rooms_find_room(&table.state, room));
	table_ignore_all();
	say_join(bob, room, table_zeros(0));
	table_expect_error(bob, 7, ROOMS_NOT_FOUND);
}

/* Ownership */

Test(rooms_room_state, when_the_owner_goes_who_is_there_longest_owns_it)
{
	uint64_t room = room_of_three();

	say_leave(alice, room);
	table_expect_ok(alice, 7);
	table_expect(bob, "A2 000C 0000000000000001 0001 0002");
	table_expect(carol, "A2 000C 0000000000000001 0001 0002");
	say_join(alice, room, table_zeros(0)); /* not hers any more */
	table_expect(alice, "90 0077 00000007 0000000000000001 0004 0002 *");
	table_ignore_all();
	table_rise(bob);
	bob = NULL;
	table_expect(carol, "A2 000C 0000000000000001 0002 0003");
	table_expect(alice, "A2 000C 0000000000000001 0002 0003");
	say_kick(alice, room, 3);
	table_expect_error(alice, 7, ROOMS_NOT_OWNER);
	say_kick(carol, room, 4);
	table_expect_ok(carol, 7);
	table_ignore_all();
}

Test(rooms_room_state, an_owner_whose_name_is_taken_over_owns_nothing)
{
	uint64_t           room = room_of_three();
	struct table_seat *back = table_sit(HERE);

	table_hello(back, TABLE_TITLE, "alice");
	table_expect(bob, "A2 000C 0000000000000001 0001 0002");
	table_expect(carol, "A2 000C 0000000000000001 0001 0002");
	say_join(back, room, table_zeros(0));
	table_expect(back, "90 0077 00000007 0000000000000001 0004 0002 *");
	table_ignore_all();
}

/* SET_ROOM_DATA */

Test(rooms_room_state, data_is_replaced_whole_and_the_others_are_told)
{
	uint64_t room = room_of_three();

	say_set(alice, room, ROOMS_WHICH_EXTERNAL, table_blob("ext"));
	table_expect_ok(alice, 7);
	table_expect(bob, "A3 000E 0000000000000001 00 0003'ext'");
	table_expect(carol, "A3 000E 0000000000000001 00 0003'ext'");
	cr_expect_lt(alice->order, bob->order);
	say_set(alice, room, ROOMS_WHICH_INTERNAL, table_blob("in"));
	table_expect_ok(alice, 7);
	table_expect(bob, "A3 000D 0000000000000001 01 0002'in'");
	table_expect(carol, "A3 000D 0000000000000001 01 0002'in'");
	say_set(alice, room, ROOMS_WHICH_FLAGS, table_blob("flag"));
	table_expect_ok(alice, 7);
	table_expect(bob, "A3 000F 0000000000000001 02 0004'flag'");
	table_expect(carol, "A3 000F 0000000000000001 02 0004'flag'");
	say_set(alice, room, ROOMS_WHICH_EXTERNAL, table_zeros(0));
	table_expect_ok(alice, 7);
	table_expect(bob, "A3 000B 0000000000000001 00 0000");
	table_expect(carol, "A3 000B 0000000000000001 00 0000");
	table_expect_silence();
	say_join(bob, room, table_zeros(0));
	table_expect(bob, "90 0079 00000007 0000000000000001 0002 0001 08 'flag' 0000 0002'in' 03 *");
}

Test(rooms_room_state, setting_data_is_tested_in_order)
{
	uint64_t             room = room_of_three();
	struct rooms_request r    = on_room(ROOMS_SET_ROOM_DATA, room);

	r.data = table_blob("x");
	table_say_short(alice, r, ROOMS_BAD);
	say_set(bob, NOBODY, 3, table_blob("x"));
	table_expect_error(bob, 7, ROOMS_BAD);
	say_set(bob, NOBODY, 255, table_blob("flag"));
	table_expect_error(bob, 7, ROOMS_BAD);
	say_set(bob, NOBODY, ROOMS_WHICH_FLAGS, table_blob("fla"));
	table_expect_error(bob, 7, ROOMS_BAD);
	say_set(bob, NOBODY, ROOMS_WHICH_FLAGS, table_blob("flags"));
	table_expect_error(bob, 7, ROOMS_BAD);
	say_set(bob, NOBODY, ROOMS_WHICH_FLAGS, table_blob("flag"));
	table_expect_error(bob, 7, ROOMS_NOT_IN_ROOM);
	say_set(bob, table_create(carol, 4), ROOMS_WHICH_FLAGS, table_blob("flag"));
	table_expect_error(bob, 7, ROOMS_NOT_IN_ROOM);
	say_set(bob, room, ROOMS_WHICH_EXTERNAL, table_zeros(65000));
	table_expect_error(bob, 7, ROOMS_NOT_OWNER);
	table_expect_silence();
}

Test(rooms_room_state, data_that_a_present_member_could_not_be_shown_is_bad)
{
	uint64_t room = room_of_three();
	size_t   most = BLOBS_MAX - 2 * (size_t)31;

	say_set(alice, room, ROOMS_WHICH_EXTERNAL, table_zeros(most + 1));
	table_expect_error(alice, 7, ROOMS_BAD);
	say_set(alice, room, ROOMS_WHICH_EXTERNAL, table_zeros(most));
	table_expect_ok(alice, 7);
	table_ignore_all();
	say_set(alice, room, ROOMS_WHICH_INTERNAL, table_zeros(1));
	table_expect_error(alice, 7, ROOMS_BAD);
	say_set(alice, room, ROOMS_WHICH_EXTERNAL, table_zeros(most));
	table_expect_ok(alice, 7);
	table_ignore_all();
	say_join(bob, room, table_zeros(0));
	table_expect(bob, "90 FFFF *");
}

/* ROOM_MESSAGE */

Test(rooms_room_state, a_message_to_0_goes_to_everyone_but_its_sender)
{
	uint64_t room = room_of_three();

	say_message(bob, room, 0, table_blob("hi"));
	table_expect_ok(bob, 7);
	table_expect(alice, "A4 0010 0000000000000001 0002 0000 0002'hi'");
	table_expect(carol, "A4 0010 0000000000000001 0002 0000 0002'hi'");
	cr_expect_lt(bob->order, alice->order);
	table_expect_silence();
}

Test(rooms_room_state, a_message_to_one_goes_to_him_alone)
{
	uint64_t room = room_of_three();

	say_message(bob, room, 3, table_zeros(0));
	table_expect_ok(bob, 7);
	table_expect(carol, "A4 000E 0000000000000001 0002 0003 0000");
	table_expect_silence();
}

Test(rooms_room_state, a_message_to_oneself_or_to_nobody_is_fine_and_goes_nowhere)
{
	uint64_t room = room_of_three();

	say_message(bob, room, 2, table_blob("hi"));
	table_expect_ok(bob, 7);
	say_message(bob, room, 4, table_blob("hi"));
	table_expect_ok(bob, 7);
	say_message(bob, room, 65535, table_blob("hi"));
	table_expect_ok(bob, 7);
	table_expect_silence();
}

Test(rooms_room_state, a_message_may_fill_its_frame)
{
	uint64_t room = room_of_three();
	size_t   len;

	say_message(bob, room, 1, table_zeros(65519));
	table_expect_ok(bob, 7);
	cr_assert_not_null(table_take(alice, &len));
	cr_expect_eq(len, 3 + 14 + 65519);
}

Test(rooms_room_state, messages_are_tested_in_order)
{
	struct rooms_request r = on_room(ROOMS_ROOM_MESSAGE, NOBODY);

	r.data = table_blob("x");
	table_say_short(bob, r, ROOMS_BAD);
	table_say(bob, r);
	table_expect_error(bob, 7, ROOMS_NOT_IN_ROOM);
	say_message(bob, table_create(alice, 4), 0, table_blob("x"));
	table_expect_error(bob, 7, ROOMS_NOT_IN_ROOM);
	table_expect_silence();
}

/* KICK_MEMBER */

Test(rooms_room_state, who_is_kicked_is_told_so_and_the_rest_that_he_left)
{
	uint64_t room = room_of_three();

	say_kick(alice, room, 2);
	table_expect_ok(alice, 7);
	size_t ok = alice->order;
	table_expect(bob, "A5 0008 0000000000000001");
	table_expect(alice, "A2 000C 0000000000000001 0002 0001");
	table_expect(carol, "A2 000C 0000000000000001 0002 0001");
	cr_expect(ok < bob->order && bob->order < alice->order);
	table_expect_silence();
	say_join(bob, room, table_zeros(0));
	table_expect(bob, "90 0077 00000007 0000000000000001 0004 0001 *");
	table_ignore_all();
}

Test(rooms_room_state, kicking_is_tested_in_order)
{
	uint64_t room = room_of_three();

	table_say_short(bob, on_room(ROOMS_KICK_MEMBER, NOBODY), ROOMS_BAD);
	say_kick(bob, NOBODY, 9);
	table_expect_error(bob, 7, ROOMS_NOT_IN_ROOM);
	say_kick(bob, room, 9);
	table_expect_error(bob, 7, ROOMS_NOT_OWNER);
	say_kick(alice, room, 9);
	table_expect_error(alice, 7, ROOMS_NOT_FOUND);
	say_kick(alice, room, 0);
	table_expect_error(alice, 7, ROOMS_NOT_FOUND);
	say_kick(alice, room, 1);
	table_expect_error(alice, 7, ROOMS_NOT_FOUND);
	table_expect_silence();
}

/* Several rooms */

Test(rooms_room_state, two_share_a_room_while_both_are_in_one)
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
	say_leave(bob, rooms[0]);
	table_ignore_all();
	cr_expect(!rooms_share_room(&alice->player, &bob->player));
}

Test(rooms_room_state, what_happens_in_one_room_is_not_told_in_another)
{
	uint64_t first = table_create(alice, 4), second = table_create(alice, 4);

	table_join(bob, first);
	table_join(carol, second);
	say_message(alice, second, 0, table_zeros(0));
	table_expect_ok(alice, 7);
	table_expect(carol, "A4 000E 0000000000000002 0001 0000 0000");
	say_leave(alice, first);
	table_expect_ok(alice, 7);
	table_expect(bob, "A2 *");
	table_expect_silence();
	cr_expect_eq(alice->player.room_count, 1);
}
