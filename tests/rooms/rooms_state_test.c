/*
 * Who is there: connections, HELLO, names that change hands, titles, and which request is answered how.
 */
#include "rooms/rooms_state.h"

#include "rooms/rooms_state_inside.h"
#include "support/rooms_table.h"
#include "support/vectors.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define HERE  "198.51.100.7"
#define THERE "203.0.113.9"
#define ACK   "81 0011 00000001 ?? ?? ?? ?? ?? ?? ?? ?? ?? ?? ?? ?? 00"

TestSuite(rooms_state, .init = table_open, .fini = table_close);

static void say_hello(struct table_seat *seat, const char *title, const char *name)
{
	table_say(seat, table_request_hello(title, name));
}

static void refuse_hello(struct table_seat *seat, const char *title, const char *name, enum rooms_code code)
{
	say_hello(seat, title, name);
	table_expect_error(seat, 1, code);
}

/* Before HELLO */

Test(rooms_state, before_hello_every_type_but_hello_is_answered_7)
{
	struct table_seat *seat = table_sit(HERE);

	for (int type = 0; type < 256; type++) {
		if (type == ROOMS_HELLO)
			continue;
		table_say_bytes(seat, (uint8_t)type, "\0\0\0\7", 4);
		table_expect_error(seat, 7, ROOMS_NO_HELLO);
	}
	table_hello(seat, TABLE_TITLE, "alice");
}

Test(rooms_state, a_payload_without_a_request_number_is_ignored_whatever_its_type)
{
	struct table_seat *stranger = table_sit(HERE), *alice = table_player(HERE, "alice");

	for (int type = 0; type < 256; type++)
		for (size_t len = 0; len < 4; len++) {
			table_say_bytes(stranger, (uint8_t)type, "\0\0\0", len);
			table_say_bytes(alice, (uint8_t)type, "\0\0\0", len);
		}
	table_expect_silence();
	table_hello(stranger, TABLE_TITLE, "bob");
}

/* After it */

Test(rooms_state, a_type_that_is_no_request_is_answered_1_and_a_stream_request_too)
{
	struct table_seat *alice = table_player(HERE, "alice");

	for (int type = 0; type < 256; type++) {
		if (rooms_request_name((uint8_t)type))
			continue;
		table_say_bytes(alice, (uint8_t)type, "\0\0\0\7\0\0\0\1\0\0\0\1\0\0\0\1\0\1", 18);
		table_expect_error(alice, 7, ROOMS_BAD);
	}
}

Test(rooms_state, requests_have_names)
{
	size_t count = 0;

	for (int type = 0; type < 256; type++)
		count += rooms_request_name((uint8_t)type) != NULL;
	cr_expect_eq(count, 12);
	cr_expect_str_eq(rooms_request_name(ROOMS_GET_RANKING_BY_ID), "GET_RANKING_BY_ID");
	cr_expect_null(rooms_request_name(ROOMS_STREAM_CONNECT));
	cr_expect_null(rooms_request_name(ROOMS_HELLO_ACK));
}

Test(rooms_state, a_heartbeat_is_not_answered)
{
	struct table_seat *alice = table_player(HERE, "alice");

	table_say(alice, (struct rooms_request){ .type = ROOMS_HEARTBEAT, .req = 4 });
	table_expect_silence();
}

Test(rooms_state, any_request_number_is_echoed)
{
	static const uint32_t reqs[] = { 0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF };
	struct table_seat    *alice  = table_player(HERE, "alice");

	for (size_t i = 0; i < COUNT_OF(reqs); i++) {
		table_say(alice, (struct rooms_request){ .type = ROOMS_LEAVE_ROOM, .req = reqs[i] });
		table_expect_error(alice, reqs[i], ROOMS_NOT_IN_ROOM);
	}
}

Test(rooms_state, requests_in_a_row_are_answered_in_a_row)
{
	struct table_seat *alice = table_player(HERE, "alice");

	for (uint32_t req = 10; req < 20; req++)
		table_say(alice, (struct rooms_request){ .type = ROOMS_SEARCH_ROOMS, .req = req });
	for (uint32_t req = 10; req < 20; req++) {
		char text[64];

		snprintf(text, sizeof(text), "91 0008 %08X 0000 0000", req);
		table_expect(alice, text);
	}
}

/* HELLO */

Test(rooms_state, hello_is_answered_with_id_address_token_and_whether_the_server_relays)
{
	struct vectors       v   = vectors_load("rooms.hex");
	const struct vector *say = vectors_find(&v, "hello"), *want = vectors_find(&v, "hello_ack");
	struct table_seat   *seat;
	const uint8_t       *got;
	size_t               len;

	for (int i = 1; i < 5; i++)
		table_rise(table_sit(THERE)); /* ids are counted by connection */
	table.state.relays = true;
	seat               = table_sit(HERE);
	table_say_bytes(seat, say->data[0], say->data + 3, say->len - 3);
	got = table_take(seat, &len);
	cr_assert_eq(len, want->len);
	cr_expect_arr_eq(got, want->data, len);
	vectors_free(&v);
}

Test(rooms_state, flags_are_0_when_nothing_is_relayed)
{
	struct table_seat *seat = table_sit(HERE);

	say_hello(seat, TABLE_TITLE, "alice");
	table_expect(seat, "81 0011 00000001 00000001 C6336407 1A2B3C4D 00");
}

Test(rooms_state, an_ipv6_player_is_shown_as_zeros)
{
	struct table_seat *seat = table_sit("2001:db8::1");

	say_hello(seat, TABLE_TITLE, "alice");
	table_expect(seat, "81 0011 00000001 00000001 00000000 1A2B3C4D 00");
}

Test(rooms_state, a_truncated_hello_is_bad_at_every_length)
{
	struct table_seat *seat = table_sit(HERE);

	table_say_short(seat, table_request_hello(TABLE_TITLE, "alice"), ROOMS_BAD);
	cr_expect(!seat->player.has_hello);
	cr_expect_eq(map_count(&table.state.by_title), 0);
}

Test(rooms_state, an_empty_title_is_bad_and_so_is_one_that_begins_with_nul)
{
	struct table_seat *seat        = table_sit(HERE);
	uint8_t            payload[34] = { 0, 0, 0, 1, 0, 'N', 'P' };

	refuse_hello(seat, "", "alice", ROOMS_BAD);
	table_say_bytes(seat, ROOMS_HELLO, payload, sizeof(payload));
	table_expect_error(seat, 1, ROOMS_BAD);
}

Test(rooms_state, any_other_title_is_taken_byte_for_byte)
{
	struct table_seat *alice = table_sit(HERE), *bob = table_sit(HERE);

	table_hello(alice, "\xff\1 not text ", "alice");
	table_hello(bob, "\xff\1 not text", "bob");
	table_create(alice, 4);
	table_say(bob, (struct rooms_request){ .type = ROOMS_SEARCH_ROOMS, .req = 2, .want = 100 });
	table_expect(bob, "91 0008 00000002 0000 0000");
}

Test(rooms_state, what_follows_the_nul_of_a_text_and_the_last_field_is_ignored)
{
	struct table_seat *alice = table_sit(HERE), *bob = table_sit(THERE);
	uint8_t payload[40] = { 0, 0, 0, 1, 'T', 0, 'x', 'y', [16] = 'B', 'o', 'b', 0, 'x', [32] = 1, 2, [36] = 0xff };

	table_say_bytes(alice, ROOMS_HELLO, payload, sizeof(payload));
	table_expect(alice, ACK);
	cr_expect_eq(alice->player.p2p_port, 0x0102);
	refuse_hello(bob, "T", "bob", ROOMS_TAKEN);
}

Test(rooms_state, an_empty_name_is_a_name_like_others)
{
	struct table_seat *alice = table_player(HERE, ""), *bob = table_sit(THERE);

	refuse_hello(bob, TABLE_TITLE, "", ROOMS_TAKEN);
	table_rise(alice);
	table_hello(bob, TABLE_TITLE, "");
}

Test(rooms_state, a_name_may_fill_its_field)
{
	struct table_seat *bob = table_sit(THERE);

	table_player(HERE, "0123456789abcdef");
	table_hello(bob, TABLE_TITLE, "0123456789abcde");
	refuse_hello(bob, TABLE_TITLE, "0123456789ABCDEF", ROOMS_TAKEN);
}

Test(rooms_state, user_ids_count_connections_and_do_not_come_back)
{
	struct table_seat *first = table_sit(HERE), *second = table_sit(HERE);

	cr_expect_eq(first->player.user_id, 1);
	cr_expect_eq(second->player.user_id, 2);
	table_rise(second);
	cr_expect_null(rooms_find_user(&table.state, 2));
	cr_expect_eq(table_sit(HERE)->player.user_id, 3);
	cr_expect_eq(rooms_find_user(&table.state, 1), &first->player);
}

Test(rooms_state, after_the_last_user_id_they_begin_anew_past_those_in_use)
{
	table_sit(HERE);
	table_sit(HERE);
	table.state.next_user = UINT32_MAX;
	cr_expect_eq(table_sit(HERE)->player.user_id, UINT32_MAX);
	cr_expect_eq(table_sit(HERE)->player.user_id, 3);
}

Test(rooms_state, a_token_is_never_0)
{
	struct table_seat *alice = table_sit(HERE);

	table.zeros = 2;
	table_hello(alice, TABLE_TITLE, "alice");
	cr_expect_eq(alice->player.token, 0x1A2B3C4D);
}

/* One player per name */

Test(rooms_state, a_name_held_at_another_address_is_taken_in_any_case_and_in_every_title)
{
	struct table_seat *bob = table_sit(THERE);

	table_player(HERE, "Alice");
	refuse_hello(bob, TABLE_TITLE, "Alice", ROOMS_TAKEN);
	refuse_hello(bob, TABLE_TITLE, "aLICE", ROOMS_TAKEN);
	refuse_hello(bob, "OTHER", "alice", ROOMS_TAKEN);
	table_expect_silence();
	table_hello(bob, TABLE_TITLE, "alice2");
}

Test(rooms_state, only_ascii_is_folded)
{
	struct table_seat *bob = table_sit(THERE);

	table_player(HERE, "\xc3\x84[@`{z");
	table_hello(bob, TABLE_TITLE, "\xc3\xa4[@`{Z");
	refuse_hello(bob, TABLE_TITLE, "\xc3\x84[@`{Z", ROOMS_TAKEN);
}

Test(rooms_state, an_ipv6_name_is_held_by_the_whole_address)
{
	struct table_seat *bob = table_sit("2001:db8::2");

	table_player("2001:db8::1", "alice");
	refuse_hello(bob, TABLE_TITLE, "alice", ROOMS_TAKEN);
}

Test(rooms_state, the_same_address_takes_a_name_over_and_finds_the_seat_free)
{
	struct table_seat *old = table_player(HERE, "alice"), *bob = table_player(THERE, "bob");
	struct table_seat *returned = table_sit(HERE);
	uint64_t           room     = table_create(bob, 2);

	table_join(old, room);
	say_hello(returned, TABLE_TITLE, "ALICE");
	table_expect(bob, "A2 000C 0000000000000001 0002 0001");
	table_expect(returned, "81 0011 00000001 00000003 C6336407 ?? ?? ?? ?? 00");
	cr_expect_lt(bob->order, returned->order, "the seat is free before HELLO is answered");
	cr_expect(old->is_closed);
	cr_expect_gt(old->closed_at, returned->order);
	table_expect_silence();
	table_check();
	table_say(returned, (struct rooms_request){ .type = ROOMS_JOIN_ROOM, .req = 2, .room_id = room });
	table_expect(returned, "90 * ");
	cr_expect_eq(returned->player.rooms.next, returned->player.rooms.prev);
}

Test(rooms_state, whose_name_was_taken_over_is_nobody)
{
	struct table_seat *old   = table_player(HERE, "alice");
	uint32_t           token = old->player.token;

	table_player(HERE, "alice");
	cr_expect(old->is_closed);
	cr_expect(!old->player.has_hello);
	cr_expect_eq(old->player.token, 0);
	cr_expect_neq(token, 0);
	cr_expect_eq(table.state.named_count, 1);
	cr_expect_eq(rooms_find_user(&table.state, 1), &old->player);
	table_rise(old);
	table_check();
}

Test(rooms_state, a_name_is_taken_over_once_in_so_long)
{
	struct table_seat *third = table_sit(HERE), *fourth = table_sit(HERE);

	table_player(HERE, "alice");
	table_player(HERE, "alice");
	table.now.mono_ms += 29999;
	refuse_hello(third, TABLE_TITLE, "alice", ROOMS_TAKEN);
	table_expect_silence();
	table.now.mono_ms += 1;
	table_hello(third, TABLE_TITLE, "alice");
	table.now.mono_ms += 1;
	refuse_hello(fourth, TABLE_TITLE, "alice", ROOMS_TAKEN);
	cr_expect(!third->is_closed);
	table.now.mono_ms += 29999;
	table_hello(fourth, TABLE_TITLE, "alice");
	cr_expect(third->is_closed);
}

Test(rooms_state, a_take_over_is_remembered_when_its_player_has_left)
{
	struct table_seat *second, *fourth = table_sit(HERE);

	table_player(HERE, "alice");
	second = table_player(HERE, "alice");
	table_rise(second);
	table_player(HERE, "Alice"); /* nobody has it: nothing is taken over */
	refuse_hello(fourth, TABLE_TITLE, "alice", ROOMS_TAKEN);
	table.now.mono_ms += 30000;
	table_hello(fourth, TABLE_TITLE, "alice");
}

Test(rooms_state, who_took_a_name_over_may_say_hello_again_with_it)
{
	struct table_seat *alice;

	table_player(HERE, "alice");
	alice = table_player(HERE, "alice");
	table_hello(alice, TABLE_TITLE, "alice");
	table_hello(alice, "OTHER", "ALICE");
}

Test(rooms_state, another_name_of_that_address_can_be_taken_over)
{
	table_player(HERE, "alice");
	table_player(HERE, "alice");
	table_player(HERE, "bob");
	table_player(HERE, "bob");
	cr_expect_eq(table.state.named_count, 2);
}

Test(rooms_state, one_who_is_exempt_takes_over_as_often_as_he_likes)
{
	for (int i = 0; i < 10; i++)
		table_player("!127.0.0.1", "alice");
	cr_expect_eq(table.state.named_count, 1);
}

Test(rooms_state, take_overs_need_no_wait_when_the_limit_says_so)
{
	table.limits.rooms_takeover_ms = 0;
	for (int i = 0; i < 10; i++)
		table_player(HERE, "alice");
}

Test(rooms_state, take_overs_are_forgotten_once_their_time_is_up)
{
	table_rise(table_player(HERE, "alice"));
	cr_expect_eq(map_count(&table.state.by_name), 0);
	table_player(HERE, "alice");
	table_rise(table_player(HERE, "alice"));
	cr_expect_eq(map_count(&table.state.by_name), 1, "its take-over is remembered");
	table.now.mono_ms += 30000;
	table_player(HERE, "bob");
	cr_expect_eq(map_count(&table.state.by_name), 1);
	cr_expect_eq(table.state.taken_count, 0);
}

Test(rooms_state, of_too_many_take_overs_the_oldest_is_forgotten)
{
	char name[24];

	table.limits.rooms_connections = 3;
	for (int i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), "player%d", i);
		table_player(HERE, name);
		table_rise(table_player(HERE, name));
		cr_expect_leq(map_count(&table.state.by_name), (size_t)5);
	}
	cr_expect_leq(table.state.taken_count, (size_t)4);
	table_player(HERE, "player0");
	table_player(HERE, "player0");
	table_player(HERE, "player9");
	refuse_hello(table_sit(HERE), TABLE_TITLE, "player9", ROOMS_TAKEN);
}

Test(rooms_state, new_names_are_counted_for_the_address_folded)
{
	struct table_seat *bob = table_sit(HERE);

	table_player(HERE, "ALICE");
	cr_expect_eq(table.asked[ROOMS_ASK_NAME], 1);
	cr_expect_arr_eq(table.asked_name, "alice\0\0\0\0\0\0\0\0\0\0", ROOMS_NAME_BYTES);
	cr_expect_arr_eq(table.asked_addr, bob->player.from.addr, ROOMS_ADDR_BYTES);
	table.refuses[ROOMS_ASK_NAME] = true;
	refuse_hello(bob, "OTHER", "bob", ROOMS_LIMIT);
	cr_expect_eq(map_count(&table.state.by_title), 1, "the title went with him");
	cr_expect_eq(map_count(&table.state.by_name), 1);
	cr_expect(!bob->player.has_hello);
}

Test(rooms_state, a_name_that_the_address_has_is_not_new)
{
	struct table_seat *alice = table_player(HERE, "alice"), *second = table_sit(HERE);

	table.refuses[ROOMS_ASK_NAME] = true;
	table_hello(alice, TABLE_TITLE, "Alice");
	table_hello(second, TABLE_TITLE, "alice");
	cr_expect_eq(table.asked[ROOMS_ASK_NAME], 1);
}

Test(rooms_state, a_name_that_is_taken_is_not_counted)
{
	table_player(HERE, "alice");
	refuse_hello(table_sit(THERE), TABLE_TITLE, "alice", ROOMS_TAKEN);
	cr_expect_eq(table.asked[ROOMS_ASK_NAME], 1);
}

/* HELLO again */

Test(rooms_state, hello_again_keeps_the_id_and_replaces_all_else)
{
	struct table_seat   *alice = table_player(HERE, "alice"), *bob = table_sit(THERE);
	struct rooms_request again = table_request_hello("OTHER", "anna");

	again.p2p_port = 1234;
	table_say(alice, again);
	table_expect(alice, "81 0011 00000001 00000001 C6336407 1A2B3C4E 00");
	cr_expect_eq(alice->player.p2p_port, 1234);
	cr_expect_arr_eq(alice->player.title, "OTHER\0\0\0\0\0\0", ROOMS_TITLE_BYTES);
	cr_expect_arr_eq(alice->player.name, "anna\0\0\0\0\0\0\0\0\0\0\0", ROOMS_NAME_BYTES);
	cr_expect_eq(map_count(&table.state.by_title), 1);
	table_hello(bob, TABLE_TITLE, "alice"); /* free */
	table_check();
}

Test(rooms_state, hello_again_that_fails_changes_nothing)
{
	struct table_seat  *alice = table_player(HERE, "alice"), *bob = table_player(THERE, "bob");
	uint64_t            room = table_create(alice, 4);
	struct rooms_player before;

	table_join(bob, room);
	before = alice->player;
	table_say_short(alice, table_request_hello(TABLE_TITLE, "alice"), ROOMS_BAD);
	refuse_hello(alice, "", "alice", ROOMS_BAD);
	refuse_hello(alice, TABLE_TITLE, "BOB", ROOMS_TAKEN);
	table.refuses[ROOMS_ASK_NAME] = true;
	refuse_hello(alice, TABLE_TITLE, "anna", ROOMS_LIMIT);
	table.limits.rooms_titles = 1;
	refuse_hello(alice, "OTHER", "alice", ROOMS_LIMIT);
	cr_expect_arr_eq(&before, &alice->player, sizeof(before));
	table_expect_silence();
	table_check();
}

Test(rooms_state, hello_again_as_the_same_player_stays_in_his_rooms)
{
	struct table_seat   *alice = table_player(HERE, "alice"), *bob = table_player(THERE, "bob");
	struct rooms_request again = table_request_hello(TABLE_TITLE, "alice");
	uint64_t             room  = table_create(alice, 4);

	table_join(bob, room);
	again.p2p_port = 0x1111;
	table_say(alice, again);
	table_expect(alice, ACK);
	cr_expect_eq(alice->player.room_count, 1);
	table_expect_silence();
	table_say(bob, (struct rooms_request){ .type = ROOMS_JOIN_ROOM, .req = 9, .room_id = room });
	table_expect(bob, "90 0058 00000009 0000000000000001 0002 0001 04 00000000 0000 0000 02"
	                  "0001 00000001 'alice' (00)x11 C6336407 1111 01 0000 *");
}

Test(rooms_state, hello_again_as_another_leaves_all_rooms_first)
{
	static const char *const as[][2] = { { "OTHER", "alice" }, { TABLE_TITLE, "anna" }, { TABLE_TITLE, "Alice" } };

	for (size_t i = 0; i < COUNT_OF(as); i++) {
		struct table_seat *alice = table_player(HERE, "alice"), *bob = table_player(THERE, "bob");
		uint64_t           first = table_create(alice, 4), second = table_create(alice, 4);

		table_join(bob, first);
		table_join(bob, second);
		say_hello(alice, as[i][0], as[i][1]);
		table_expect(bob, "A2 000C ?? ?? ?? ?? ?? ?? ?? ?? 0001 0002");
		table_expect(bob, "A2 000C ?? ?? ?? ?? ?? ?? ?? ?? 0001 0002");
		table_expect(alice, ACK);
		cr_expect_lt(bob->order, alice->order);
		cr_expect_eq(alice->player.room_count, 0);
		table_expect_silence();
		table_rise(alice);
		table_rise(bob);
	}
}

Test(rooms_state, ones_own_name_in_another_spelling_is_no_take_over)
{
	struct table_seat *alice = table_player(HERE, "alice");

	table_hello(alice, TABLE_TITLE, "ALICE");
	table_hello(alice, TABLE_TITLE, "alice");
	cr_expect_eq(table.state.taken_count, 0);
	cr_expect(!alice->is_closed);
}

Test(rooms_state, hello_again_can_take_over_the_name_of_one_in_the_same_room)
{
	struct table_seat *alice = table_player(HERE, "alice"), *bob = table_player(HERE, "bob");
	struct table_seat *carol = table_player(THERE, "carol");
	uint64_t           room  = table_create(alice, 4);

	table_join(bob, room);
	table_join(carol, room);
	say_hello(bob, TABLE_TITLE, "alice");
	table_expect(bob, ACK);
	table_expect_none(bob);
	table_expect(carol, "A2 000C 0000000000000001 0002 0001");
	table_expect(carol, "A2 000C 0000000000000001 0001 0003");
	cr_expect_lt(carol->order, bob->order);
	cr_expect(alice->is_closed);
	table_hello(table_sit(THERE), TABLE_TITLE, "bob");
	table_check();
}

/* Titles */

static void fill_titles(const char *ip, int from, int count)
{
	for (int i = from; i < from + count; i++) {
		char title[24], name[24];

		snprintf(title, sizeof(title), "T%d", i);
		snprintf(name, sizeof(name), "p%d", i);
		table_hello(table_sit(ip), title, name);
	}
}

Test(rooms_state, only_allowed_titles_are_played_when_there_is_a_list)
{
	static const uint8_t allowed[][ROOMS_TITLE_BYTES] = { "NPWR00001_0", "NPWR00002_0" };
	struct table_seat   *alice                        = table_sit(HERE);

	table.state.titles      = allowed;
	table.state.title_count = COUNT_OF(allowed);
	refuse_hello(alice, "NPWR00003_0", "alice", ROOMS_NOT_FOUND);
	refuse_hello(alice, "NPWR00001", "alice", ROOMS_NOT_FOUND);
	table_hello(alice, "NPWR00002_0", "alice");
	refuse_hello(alice, "NPWR00003_0", "alice", ROOMS_NOT_FOUND);
	table_hello(alice, "NPWR00001_0", "alice");
	refuse_hello(table_sit(THERE), "NPWR00003_0", "alice", ROOMS_TAKEN);
	table.refuses[ROOMS_ASK_NAME] = true;
	refuse_hello(table_sit(THERE), "NPWR00003_0", "bob", ROOMS_NOT_FOUND);
}

Test(rooms_state, all_titles_of_a_list_are_played_however_many)
{
	static const uint8_t allowed[][ROOMS_TITLE_BYTES] = { "T0", "T1", "T2" };

	table.state.titles                    = allowed;
	table.state.title_count               = COUNT_OF(allowed);
	table.limits.rooms_titles             = 1;
	table.limits.rooms_titles_per_address = 1;
	fill_titles(HERE, 0, 3);
	refuse_hello(table_sit(HERE), "T3", "late", ROOMS_NOT_FOUND);
}

Test(rooms_state, there_are_so_many_titles_and_no_more)
{
	struct table_seat *late = table_sit("192.0.2.99");

	table.limits.rooms_titles = 12;
	fill_titles("192.0.2.1", 0, 8);
	fill_titles("192.0.2.2", 8, 4);
	refuse_hello(late, "LATE", "late", ROOMS_LIMIT);
	table_hello(late, "T11", "late");
	refuse_hello(late, "LATE", "late", ROOMS_LIMIT);
}

Test(rooms_state, a_title_goes_with_its_last_player)
{
	struct table_seat *late = table_sit("192.0.2.99"), *first, *second;

	table.limits.rooms_titles = 1;
	first                     = table_player(HERE, "alice");
	second                    = table_player(HERE, "bob");
	table_rise(first);
	refuse_hello(late, "LATE", "late", ROOMS_LIMIT);
	table_rise(second);
	table_hello(late, "LATE", "late");
}

static void make_board(const char *title, uint32_t number)
{
	uint8_t             field[ROOMS_TITLE_BYTES] = { 0 };
	struct rooms_board *board;

	memcpy(field, title, strlen(title));
	cr_assert_eq(rooms_board_make(&board, table.boards, field, number, 0), ROOMS_FINE);
}

Test(rooms_state, titles_with_a_board_count_and_are_always_let_in)
{
	struct table_seat *late = table_sit("192.0.2.99");

	table.limits.rooms_titles = 3;
	make_board("A", 1);
	make_board("A", 2);
	make_board("B", 1);
	fill_titles("192.0.2.1", 0, 1);
	refuse_hello(late, "LATE", "late", ROOMS_LIMIT);
	table_hello(late, "A", "late");
	table_hello(table_sit("192.0.2.98"), "B", "later");
	refuse_hello(late, "LATE", "late", ROOMS_LIMIT);
}

Test(rooms_state, a_title_that_is_played_and_has_a_board_counts_once)
{
	table.limits.rooms_titles = 2;
	make_board("A", 1);
	table_hello(table_sit(HERE), "A", "alice");
	table_hello(table_sit(HERE), "B", "bob");
	refuse_hello(table_sit(HERE), "C", "carol", ROOMS_LIMIT);
}

Test(rooms_state, one_address_brings_so_many_titles)
{
	struct table_seat *late = table_sit("192.0.2.1"), *other = table_sit("192.0.2.2");

	fill_titles("192.0.2.1", 0, 8);
	refuse_hello(late, "LATE", "late", ROOMS_LIMIT);
	table_hello(other, "LATE", "other");
	table_hello(late, "LATE", "late");
	table_hello(late, "T3", "late");
}

Test(rooms_state, a_title_that_had_a_board_already_counts_for_nobody)
{
	table.limits.rooms_titles_per_address = 1;
	make_board("A", 1);
	table_hello(table_sit(HERE), "A", "alice");
	table_hello(table_sit(HERE), "B", "bob");
	refuse_hello(table_sit(HERE), "C", "carol", ROOMS_LIMIT);
}

Test(rooms_state, a_title_counts_for_who_brought_it_while_anybody_is_in_it)
{
	struct table_seat *bringer = table_sit(HERE), *late = table_sit(HERE), *guest = table_sit(THERE);

	table.limits.rooms_titles_per_address = 1;
	table_hello(bringer, "A", "alice");
	table_hello(guest, "A", "guest");
	table_rise(bringer);
	refuse_hello(late, "B", "late", ROOMS_LIMIT);
	table_rise(guest);
	table_hello(late, "B", "late");
}

Test(rooms_state, a_title_counts_for_who_brought_it_also_when_only_its_board_is_left)
{
	struct table_seat *alice = table_sit(HERE), *late = table_sit(HERE);

	table.limits.rooms_titles_per_address = 1;
	table_hello(alice, "A", "alice");
	table_say(alice, (struct rooms_request){ .type = ROOMS_RECORD_SCORE, .req = 2, .board = 1, .score = 5 });
	table_expect(alice, "B0 0008 00000002 00000001");
	table_rise(alice);
	refuse_hello(late, "B", "late", ROOMS_LIMIT);
	table_hello(late, "A", "late");
}

Test(rooms_state, one_who_is_exempt_brings_as_many_titles_as_there_are)
{
	table.limits.rooms_titles = 20;
	fill_titles("!127.0.0.1", 0, 20);
	refuse_hello(table_sit("!127.0.0.1"), "LATE", "late", ROOMS_LIMIT);
}

Test(rooms_state, a_taken_name_is_said_so_even_where_the_title_is_one_too_many)
{
	table.limits.rooms_titles = 1;
	table_player(HERE, "alice");
	refuse_hello(table_sit(THERE), "OTHER", "alice", ROOMS_TAKEN);
}

/* The end */

Test(rooms_state, a_disconnect_is_the_same_as_leaving_every_room)
{
	struct table_seat *alice = table_player(HERE, "alice"), *bob = table_player(THERE, "bob");
	uint64_t           first = table_create(alice, 4), second = table_create(bob, 4);

	table_join(bob, first);
	table_join(alice, second);
	table_create(alice, 4);
	table_rise(alice);
	table_expect(bob, "A2 000C 0000000000000001 0001 0002");
	table_expect(bob, "A2 000C 0000000000000002 0002 0001");
	table_expect_silence();
	cr_expect_eq(table.state.room_count, 2);
	table_hello(table_sit(THERE), TABLE_TITLE, "alice");
	table_check();
}
