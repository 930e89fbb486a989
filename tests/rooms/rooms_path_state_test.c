/*
 * How players reach each other: addresses in entries, routes, probes and relayed datagrams.
 */
#include "rooms/rooms_state.h"

#include "base/auto.h"
#include "support/rooms_table.h"
#include "support/vectors.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HERE  "198.51.100.7"
#define THERE "203.0.113.9"

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
	table_expect_silence();
	table_check();
	table_close();
}

TestSuite(rooms_path_state, .init = start, .fini = stop);

/* A room of alice's with bob as member 2 and carol as member 3. */
static uint64_t room_of_three(void)
{
	uint64_t room = table_create(alice, 8);

	table_join(bob, room);
	table_join(carol, room);
	return room;
}

/* Addresses */

static const char *address(struct table_seat *receiver, struct table_seat *member)
{
	static char text[32];
	uint8_t     ip[4];
	uint16_t    port;

	rooms_address_for(ip, &port, &receiver->player, &member->player);
	snprintf(text, sizeof(text), "%d.%d.%d.%d:%d", ip[0], ip[1], ip[2], ip[3], port);
	return text;
}

Test(rooms_path_state, who_has_not_probed_is_at_his_address_and_game_port)
{
	cr_expect_str_eq(address(alice, bob), THERE ":3658");
	cr_expect_str_eq(address(carol, alice), HERE ":3658");
	cr_expect_str_eq(address(alice, alice), HERE ":3658");
}

Test(rooms_path_state, others_are_told_the_endpoint_of_a_probe_and_neighbours_the_local_one)
{
	table_probe(alice, 40001, "192.168.1.5");
	cr_expect_str_eq(address(bob, alice), HERE ":40001");
	cr_expect_str_eq(address(carol, alice), "192.168.1.5:3658");
	cr_expect_str_eq(address(alice, alice), "192.168.1.5:3658");
	cr_expect_str_eq(address(alice, carol), HERE ":3658");
}

Test(rooms_path_state, a_probe_without_local_address_leaves_neighbours_the_public_one)
{
	table_probe(alice, 40001, "0.0.0.0");
	cr_expect_str_eq(address(bob, alice), HERE ":40001");
	cr_expect_str_eq(address(carol, alice), HERE ":3658");
	cr_expect_str_eq(address(alice, alice), HERE ":3658");
}

Test(rooms_path_state, a_later_probe_replaces_all_of_an_earlier_one)
{
	table_probe(alice, 40001, "192.168.1.5");
	table_probe(alice, 40002, "0.0.0.0");
	cr_expect_str_eq(address(bob, alice), HERE ":40002");
	cr_expect_str_eq(address(carol, alice), HERE ":3658");
}

Test(rooms_path_state, hello_again_keeps_the_endpoint_of_a_probe)
{
	table_probe(alice, 40001, "192.168.1.5");
	table_hello(alice, TABLE_TITLE, "anna");
	cr_expect_str_eq(address(bob, alice), HERE ":40001");
}

Test(rooms_path_state, an_ipv6_player_has_no_address_to_be_told)
{
	struct table_seat *six = table_player("2001:db8::1", "six");

	cr_expect_str_eq(address(alice, six), "0.0.0.0:0");
	cr_expect_str_eq(address(six, six), "0.0.0.0:0");
}

Test(rooms_path_state, one_join_says_different_addresses_to_different_members)
{
	struct table_seat *dave = table_player(THERE, "dave");
	uint64_t           room = room_of_three();

	table_probe(dave, 40001, "192.168.1.5");
	table_probe(carol, 40003, "10.0.0.3");
	table_say(dave, (struct rooms_request){ .type = ROOMS_JOIN_ROOM, .req = 7, .room_id = room });
	table_expect(dave, "90 0096 00000007 0000000000000001 0004 0001 08 00000000 0000 0000 04"
	                   "0001 00000001 'alice' (00)x11 C6336407 0E4A 01 0000"
	                   "0002 00000002 'bob'   (00)x13 CB007109 0E4A 00 0000"
	                   "0003 00000003 'carol' (00)x11 C6336407 9C43 00 0000"
	                   "0004 00000004 'dave'  (00)x12 C0A80105 0E4A 00 0000");
	table_expect(alice, "A1 0027 0000000000000001 0004 00000004 'dave' (00)x12 CB007109 9C41 00 0000");
	table_expect(bob, "A1 0027 0000000000000001 0004 00000004 'dave' (00)x12 C0A80105 0E4A 00 0000");
	table_expect(carol, "A1 0027 0000000000000001 0004 00000004 'dave' (00)x12 CB007109 9C41 00 0000");
}

Test(rooms_path_state, member_joined_is_as_in_the_description)
{
	struct vectors       v    = vectors_load("rooms.hex");
	const struct vector *want = vectors_find(&v, "member_joined");
	struct table_seat   *five, *six;
	const uint8_t       *got;
	size_t               len;

	table_rise(bob);
	table_sit(HERE);
	five                  = table_player(HERE, "five");
	six                   = table_player(THERE, "bob");
	table.state.next_room = 9;
	table_create(five, 4);
	table_probe(six, 40001, "192.168.1.5");
	table_say(six, (struct rooms_request){ .type = ROOMS_JOIN_ROOM, .req = 7, .room_id = 9 });
	table_ignore(six);
	got = table_take(five, &len);
	cr_assert_eq(len, want->len);
	cr_expect_arr_eq(got, want->data, len);
	vectors_free(&v);
}

/* Probes */

Test(rooms_path_state, a_probe_is_answered_with_what_was_seen)
{
	struct rooms_udp_step step = table_probe(bob, 40001, "192.168.1.5");

	cr_expect_eq(step.what, ROOMS_UDP_ANSWER);
	cr_expect_eq(step.player, &bob->player);
	cr_assert_eq(step.len, (size_t)ROOMS_PROBE_REPLY_BYTES);
	cr_expect_arr_eq(step.at, "PSNR\x81\xCB\x00\x71\x09\x9C\x41", ROOMS_PROBE_REPLY_BYTES);
	cr_expect(bob->player.has_probed);
}

/* Says these bytes from this source, in memory of exactly their size (but room for the answer). */
static struct rooms_udp_step say(const char *ip, const void *bytes, size_t len)
{
	static uint8_t *copy;
	uint8_t         from[4];

	free(copy);
	copy = malloc(len < ROOMS_PROBE_REPLY_BYTES ? ROOMS_PROBE_REPLY_BYTES : len);
	memcpy(copy, bytes, len);
	table_ip(from, ip);

	struct rooms_udp_step step = rooms_on_datagram(&table.state, from, 40001, copy, len, table.now.mono_ms);

	cr_expect(step.what == ROOMS_UDP_DROP || (step.at >= copy && step.at + step.len <= copy + len));
	return step;
}

static void expect_dropped(struct rooms_udp_step step, enum rooms_udp_why why)
{
	cr_expect_eq(step.what, ROOMS_UDP_DROP);
	cr_expect_eq(step.why, why);
}

static size_t build_probe(uint8_t out[17], uint32_t user, uint32_t token)
{
	struct wr w = wr_over(out, 17);

	wr_bytes(&w, "PSNR\1", 5);
	wr_be(&w, user, 4);
	wr_be(&w, token, 4);
	wr_bytes(&w, "\0\0\0\0", 4);
	return wr_len(&w);
}

static size_t build_relay(uint8_t out[64], const struct table_seat *from, uint32_t to, const char *text)
{
	struct wr w = wr_over(out, 64);

	wr_bytes(&w, "PSNR\3", 5);
	wr_be(&w, from->player.user_id, 4);
	wr_be(&w, from->player.token, 4);
	wr_be(&w, to, 4);
	wr_bytes(&w, text, strlen(text));
	return wr_len(&w);
}

Test(rooms_path_state, a_packet_that_is_not_for_us_is_dropped)
{
	uint8_t probe[18];
	size_t  len = build_probe(probe, bob->player.user_id, bob->player.token);

	for (size_t n = 0; n < len; n++)
		expect_dropped(say(THERE, probe, n), ROOMS_UDP_SHAPE);
	for (int type = 0; type < 256; type++) {
		probe[4] = (uint8_t)type;
		if (type != ROOMS_UDP_PROBE && type != ROOMS_UDP_RELAY)
			expect_dropped(say(THERE, probe, len), ROOMS_UDP_SHAPE);
	}
	probe[4] = ROOMS_UDP_PROBE;
	probe[3] = 'r';
	expect_dropped(say(THERE, probe, len), ROOMS_UDP_SHAPE);
	cr_expect(!bob->player.has_probed);
	probe[3] = 'R';
	cr_expect_eq(say(THERE, probe, 18).what, ROOMS_UDP_ANSWER, "extra bytes are ignored");
}

Test(rooms_path_state, a_probe_needs_a_user_who_has_said_hello_his_token_and_his_address)
{
	struct table_seat *stranger = table_sit(THERE);
	uint8_t            probe[17];
	uint32_t           user = bob->player.user_id, token = bob->player.token;

	expect_dropped(say(THERE, probe, build_probe(probe, 99, token)), ROOMS_UDP_USER);
	expect_dropped(say(THERE, probe, build_probe(probe, stranger->player.user_id, 0)), ROOMS_UDP_USER);
	expect_dropped(say(THERE, probe, build_probe(probe, user, token ^ 0x80000000)), ROOMS_UDP_TOKEN);
	expect_dropped(say(THERE, probe, build_probe(probe, user, 0)), ROOMS_UDP_TOKEN);
	expect_dropped(say(HERE, probe, build_probe(probe, user, token)), ROOMS_UDP_SOURCE);
	expect_dropped(say(THERE, probe, build_probe(probe, alice->player.user_id, token)), ROOMS_UDP_TOKEN);
	cr_expect(!bob->player.has_probed && !alice->player.has_probed);
}

Test(rooms_path_state, a_token_dies_with_the_next_hello_and_with_the_connection)
{
	uint8_t  probe[17];
	uint32_t old = bob->player.token, user = bob->player.user_id;

	table_hello(bob, TABLE_TITLE, "bob");
	expect_dropped(say(THERE, probe, build_probe(probe, user, old)), ROOMS_UDP_TOKEN);
	old = bob->player.token;
	cr_expect_eq(say(THERE, probe, build_probe(probe, user, old)).what, ROOMS_UDP_ANSWER);
	table_player(THERE, "bob");
	expect_dropped(say(THERE, probe, build_probe(probe, user, old)), ROOMS_UDP_USER);
	table_rise(bob);
	expect_dropped(say(THERE, probe, build_probe(probe, user, old)), ROOMS_UDP_USER);
}

Test(rooms_path_state, packets_from_any_address_count_when_the_setting_says_so)
{
	uint8_t probe[17];

	table.state.any_source = true;
	say("192.0.2.77", probe, build_probe(probe, bob->player.user_id, bob->player.token));
	cr_expect_str_eq(address(alice, bob), "192.0.2.77:40001");
}

Test(rooms_path_state, a_player_on_ipv6_has_no_packets_of_his_own)
{
	struct table_seat *six = table_player("2001:db8::1", "six");
	uint8_t            probe[17];

	expect_dropped(say("0.0.0.0", probe, build_probe(probe, six->player.user_id, six->player.token)),
	               ROOMS_UDP_SOURCE);
}

Test(rooms_path_state, an_ipv6_player_has_the_addresses_that_he_has_probed)
{
	struct table_seat *six = table_player("2001:db8::1", "six"), *near = table_player("2001:db8::1", "near");

	table.state.any_source = true;
	table_probe(six, 40001, "0.0.0.0");
	cr_expect_str_eq(address(alice, six), "0.0.0.0:40001"); /* where the table sends it from */
	cr_expect_str_eq(address(near, six), "0.0.0.0:0");
	table_probe(six, 40001, "192.168.1.5");
	cr_expect_str_eq(address(near, six), "192.168.1.5:3658");
}

Test(rooms_path_state, only_packets_that_are_right_count_for_the_rate)
{
	uint8_t  bytes[64];
	uint32_t user = bob->player.user_id, token = bob->player.token;

	say(THERE, "x", 1);
	say(THERE, bytes, build_probe(bytes, 99, token));
	say(THERE, bytes, build_probe(bytes, user, token ^ 1));
	say(HERE, bytes, build_probe(bytes, user, token));
	say(THERE, bytes, build_relay(bytes, bob, alice->player.user_id, "")); /* nothing is relayed */
	cr_expect_eq(table.packets, 0);
	say(THERE, bytes, build_probe(bytes, user, token));
	cr_expect_eq(table.packets, 1);
	table.state.relays = true;
	expect_dropped(say(THERE, bytes, build_relay(bytes, bob, 99, "")), ROOMS_UDP_TARGET);
	cr_expect_eq(table.packets, 2);
}

Test(rooms_path_state, a_packet_that_is_one_too_many_changes_nothing)
{
	uint8_t bytes[64];

	table.state.relays    = true;
	table.refuses_packets = true;
	expect_dropped(table_probe(bob, 40001, "192.168.1.5"), ROOMS_UDP_RATE);
	cr_expect(!bob->player.has_probed);
	expect_dropped(say(THERE, bytes, build_relay(bytes, bob, alice->player.user_id, "")), ROOMS_UDP_RATE);
}

/* Routes */

#define ROUTE(user, flags) "A7 000D 0000000000000001 0000000" #user " 0" #flags

Test(rooms_path_state, streams_go_through_the_relay_when_a_probed_target_has_another_address_outside)
{
	static const struct {
		bool        relays;
		const char *local; /* NULL: no probe */
		bool        is_relayed;
	} rows[] = { { true, "192.168.1.5", true },
		     { true, "0.0.0.0", true },
		     { true, THERE, false },
		     { true, NULL, false },
		     { false, "192.168.1.5", false } };

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct table_seat *viewer = table_player(HERE, "viewer"), *neighbour = table_player(THERE, "neighbour");
		struct table_seat *target = table_player(THERE, "target");

		table.state.relays = rows[i].relays;
		if (rows[i].local)
			table_probe(target, 40001, rows[i].local);
		cr_expect_eq(rooms_is_relayed(&table.state, &viewer->player, &target->player), rows[i].is_relayed);
		cr_expect(!rooms_is_relayed(&table.state, &neighbour->player, &target->player));
		cr_expect(!rooms_is_relayed(&table.state, &target->player, &viewer->player));
		table_rise(viewer);
		table_rise(neighbour);
		table_rise(target);
	}
}

Test(rooms_path_state, a_join_is_followed_by_routes_between_the_joiner_and_each_earlier_member)
{
	uint64_t room;

	table.state.relays = true;
	table_probe(bob, 40001, "192.168.1.5");
	table_probe(alice, 40002, "192.168.1.6");
	room = table_create(alice, 8);
	table_join(bob, room);
	table_say(carol, (struct rooms_request){ .type = ROOMS_JOIN_ROOM, .req = 7, .room_id = room });
	table_expect(carol, "90 *");
	table_expect(alice, "A1 *");
	table_expect(bob, "A1 *");
	table_expect(carol, ROUTE(1, 0));
	cr_expect_gt(carol->order, bob->order, "after all MEMBER_JOINED");
	table_expect(alice, ROUTE(3, 0));
	cr_expect_gt(alice->order, carol->order);
	table_expect(carol, ROUTE(2, 1));
	cr_expect_gt(carol->order, alice->order, "in join order, member by member");
	table_expect(bob, ROUTE(3, 0));
	cr_expect_gt(bob->order, carol->order);
}

Test(rooms_path_state, nothing_but_a_join_brings_routes_and_none_when_nothing_is_relayed)
{
	uint64_t room = room_of_three(); /* table_join ignores what it sends; here nothing is relayed */

	table_say(bob, (struct rooms_request){ .type = ROOMS_LEAVE_ROOM, .req = 7, .room_id = room });
	table_ignore_all();
	table_say(bob, (struct rooms_request){ .type = ROOMS_JOIN_ROOM, .req = 7, .room_id = room });
	table_expect(bob, "90 *");
	table_expect(alice, "A1 *");
	table_expect(carol, "A1 *");
	table_probe(bob, 40001, "192.168.1.5");
	table_expect_silence();
	table.state.relays = true;
	table_say(bob, (struct rooms_request){ .type = ROOMS_JOIN_ROOM, .req = 7, .room_id = room });
	table_expect(bob, "90 *");
	table_create(bob, 4);
}

Test(rooms_path_state, a_probe_that_changes_the_answer_tells_everyone_in_each_room_but_neighbours)
{
	uint64_t first, second;

	table.state.relays = true;
	first              = room_of_three();
	second             = table_create(bob, 4);
	table_join(alice, second);
	cr_expect_neq(first, second);
	table_probe(alice, 40001, "192.168.1.5");
	table_expect(bob, "A7 000D 0000000000000001 00000001 01");
	table_expect(bob, "A7 000D 0000000000000002 00000001 01");
	table_expect_silence(); /* carol is alice's neighbour */
	table_probe(alice, 40002, "192.168.1.6");
	table_expect_silence(); /* the same answer */
	table_probe(alice, 40002, HERE);
	table_expect(bob, "A7 000D 0000000000000001 00000001 00");
	table_expect(bob, "A7 000D 0000000000000002 00000001 00");
	table_expect_silence();
	table_probe(bob, 40003, THERE);
	table_expect_silence(); /* reachable, as he was taken to be */
}

Test(rooms_path_state, a_probe_outside_rooms_is_told_by_the_next_join)
{
	uint64_t room;

	table.state.relays = true;
	table_probe(bob, 40001, "192.168.1.5");
	table_expect_silence();
	room = table_create(alice, 4);
	table_say(bob, (struct rooms_request){ .type = ROOMS_JOIN_ROOM, .req = 7, .room_id = room });
	table_expect(bob, "90 *");
	table_expect(bob, ROUTE(1, 0));
	table_expect(alice, "A1 *");
	table_expect(alice, ROUTE(2, 1));
	table_probe(bob, 40001, "192.168.1.5");
	table_expect_silence();
}

static const char *const locals[] = { "192.168.1.5", THERE };

Test(rooms_path_state, one_whose_route_changes_all_the_time_is_told_of_so_often)
{
	table.state.relays = true;
	room_of_three();
	for (int i = 0; i < 10; i++) {
		table_probe(bob, 40001, locals[i % 2]);
		table_expect(alice, i % 2 ? ROUTE(2, 0) : ROUTE(2, 1));
		table_expect(carol, i % 2 ? ROUTE(2, 0) : ROUTE(2, 1));
	}
	table.now.mono_ms += 9999;
	cr_expect_eq(table_probe(bob, 40001, locals[0]).what, ROOMS_UDP_ANSWER);
	table_expect_silence();
	table.now.mono_ms += 1;
	table_probe(bob, 40001, locals[0]);
	table_expect(alice, ROUTE(2, 1));
	table_expect(carol, ROUTE(2, 1));
	table_probe(bob, 40001, locals[1]);
	table_expect(alice, ROUTE(2, 0));
	table_expect(carol, ROUTE(2, 0));
}

Test(rooms_path_state, probes_that_nobody_is_told_of_do_not_count)
{
	table.state.relays = true;
	for (int i = 0; i < 21; i++)
		table_probe(bob, 40001, locals[i % 2]);
	room_of_three();
	for (int i = 1; i < 11; i++) {
		table_probe(bob, 40001, locals[i % 2]);
		table_expect(alice, i % 2 ? ROUTE(2, 0) : ROUTE(2, 1));
		table_expect(carol, i % 2 ? ROUTE(2, 0) : ROUTE(2, 1));
	}
	table_probe(bob, 40001, locals[1]);
	table_expect_silence();
}

Test(rooms_path_state, one_who_joins_while_the_others_are_not_told_yet_ends_up_with_the_truth)
{
	struct table_seat *dave = table_player("192.0.2.4", "dave");
	uint64_t           room;

	table.state.relays        = true;
	table.limits.rooms_routes = 1;
	room                      = room_of_three();
	table_probe(bob, 40001, locals[0]);
	table_probe(bob, 40001, locals[1]); /* too often: the others still hold 1 */
	table_join(dave, room);             /* is told 0 */
	table_probe(bob, 40001, locals[0]); /* what the others hold is so again, but not for dave */
	table_expect_silence();
	table.now.mono_ms += 10000;
	table_probe(bob, 40001, locals[0]);
	table_expect(dave, ROUTE(2, 1));
	table_ignore_all();
	table_probe(bob, 40001, locals[0]);
	table_expect_silence();
}

/* Relayed datagrams */

static struct rooms_udp_step relay(struct table_seat *from, uint32_t to, const char *text)
{
	uint8_t bytes[64];
	char    ip[32];
	size_t  len = build_relay(bytes, from, to, text);

	snprintf(ip, sizeof(ip), "%d.%d.%d.%d", from->player.from.ip[0], from->player.from.ip[1],
	         from->player.from.ip[2], from->player.from.ip[3]);
	return say(ip, bytes, len);
}

Test(rooms_path_state, a_datagram_goes_to_the_public_endpoint_of_one_who_shares_a_room)
{
	struct rooms_udp_step step;

	table.state.relays = true;
	room_of_three();
	table_probe(bob, 40009, "192.168.1.5");
	table_ignore_all();
	step = relay(alice, 2, "hi"); /* alice need not have probed */
	cr_expect_eq(step.what, ROOMS_UDP_FORWARD);
	cr_expect_eq(step.player, &bob->player);
	cr_assert_eq(step.len, 11);
	cr_expect_arr_eq(step.at, "PSNR\3\0\0\0\1hi", 11);
	step = relay(alice, 2, "");
	cr_expect_eq(step.what, ROOMS_UDP_FORWARD);
	cr_expect_eq(step.len, (size_t)ROOMS_RELAY_OUT_BYTES);
}

Test(rooms_path_state, a_datagram_of_any_size_is_passed_on)
{
	static uint8_t        bytes[65507];
	struct rooms_udp_step step;

	table.state.relays = true;
	room_of_three();
	table_probe(bob, 40009, "192.168.1.5");
	table_ignore_all();
	build_relay(bytes, alice, 2, "");
	bytes[65506] = 0x77;
	step         = say(HERE, bytes, sizeof(bytes));
	cr_expect_eq(step.what, ROOMS_UDP_FORWARD);
	cr_assert_eq(step.len, (size_t)65499);
	cr_expect_eq(step.at[65498], 0x77);
}

Test(rooms_path_state, a_datagram_to_nobody_who_can_have_it_is_dropped)
{
	struct table_seat *dave = table_player("192.0.2.4", "dave"), *stranger = table_sit(THERE);

	table.state.relays = true;
	room_of_three();
	table_probe(dave, 40009, "192.168.1.5");
	expect_dropped(relay(alice, 2, "hi"), ROOMS_UDP_TARGET);                    /* has not probed */
	expect_dropped(relay(alice, dave->player.user_id, "hi"), ROOMS_UDP_TARGET); /* shares no room */
	expect_dropped(relay(alice, stranger->player.user_id, "hi"), ROOMS_UDP_TARGET);
	expect_dropped(relay(alice, 99, "hi"), ROOMS_UDP_TARGET);
	expect_dropped(relay(alice, 0, "hi"), ROOMS_UDP_TARGET);
}

Test(rooms_path_state, a_datagram_needs_the_right_sender)
{
	uint8_t bytes[64];

	table.state.relays = true;
	room_of_three();
	table_probe(bob, 40009, THERE);
	for (size_t n = 0; n < ROOMS_RELAY_IN_BYTES; n++)
		expect_dropped(say(HERE, bytes, build_relay(bytes, alice, 2, "") - 17 + n), ROOMS_UDP_SHAPE);
	expect_dropped(say(THERE, bytes, build_relay(bytes, alice, 2, "hi")), ROOMS_UDP_SOURCE);
	build_relay(bytes, alice, 2, "hi");
	bytes[12] ^= 1;
	expect_dropped(say(HERE, bytes, 19), ROOMS_UDP_TOKEN);
	bytes[5] = 1;
	expect_dropped(say(HERE, bytes, 19), ROOMS_UDP_USER);
}

Test(rooms_path_state, nothing_is_relayed_when_the_relay_is_off)
{
	room_of_three();
	table_probe(bob, 40009, "192.168.1.5");
	expect_dropped(relay(alice, 2, "hi"), ROOMS_UDP_OFF);
}

Test(rooms_path_state, who_left_the_room_is_reached_no_more)
{
	uint64_t room;

	table.state.relays = true;
	room               = room_of_three();
	table_probe(bob, 40009, THERE);
	cr_expect_eq(relay(alice, 2, "hi").what, ROOMS_UDP_FORWARD);
	table_say(bob, (struct rooms_request){ .type = ROOMS_LEAVE_ROOM, .req = 7, .room_id = room });
	table_ignore_all();
	expect_dropped(relay(alice, 2, "hi"), ROOMS_UDP_TARGET);
}
