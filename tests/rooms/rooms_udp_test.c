/*
 * UDP of the rooms, from outside: each packet that is dropped in silence and the counter that tells of it, what is answered and
 * relayed and from where, and the addresses players are given because of it.  Real routers: rooms_nat_test.c.
 */
#include "support/rooms_client.h"
#include "support/rooms_path.h"

#include "base/auto.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#define TITLE        "NPWR00860_00"
#define OTHER_PLACE  "127.0.0.2"
#define P2P_PORT     3658 /* of gamer_new */
#define TYPE_AT      4    /* behind PSNR */
#define SENT_AT_ONCE 50   /* or a server that is not quick enough loses some */
#define RELAYED_MAX  (GAMER_DATAGRAM_MAX - GAMER_PACKET_HEAD)

static struct server *s;
static struct gamer  *alice, *bob; /* bob's is another address */

static void start_with(const char *const *sets)
{
	s     = server_start(sets);
	alice = gamer_new(s, TITLE, "alice");
	bob   = gamer_new_from(s, OTHER_PLACE, TITLE, "bob");
	gamer_open_udp(alice, 0);
	gamer_open_udp(bob, 0);
}

static void start(void)
{
	start_with(NULL);
}

static void start_relaying(void)
{
	start_with((const char *[]){ "rooms.relay=yes", NULL });
}

static void stop(void)
{
	gamer_free(alice);
	gamer_free(bob);
	server_finish(s);
}

TestSuite(rooms_udp, .fini = stop, .timeout = 120);

static void expect_drops(const char *reason, int count)
{
	char labels[64];

	snprintf(labels, sizeof(labels), "reason=\"%s\"", reason);
	server_await_metric(s, "coopd_rooms_udp_dropped_total", labels, count, DIAL_PATIENCE_MS);
}

/* All that were dropped are these. */
static void expect_no_other_drops(int count)
{
	cr_expect_eq((int)server_metric(s, "coopd_rooms_udp_dropped_total", NULL), count);
	cr_expect_eq((int)server_metric(s, "coopd_rooms_relayed_datagrams_total", NULL), 0);
}

static const uint8_t here[4] = { 127, 0, 0, 1 };

static void send_probe_as(struct gamer *c, uint32_t user_id, uint32_t token)
{
	uint8_t packet[GAMER_PACKET_HEAD];

	gamer_send_udp(c, packet, gamer_probe_packet(packet, user_id, token, here));
}

static void send_relay_as(struct gamer *c, uint32_t user_id, uint32_t token, uint32_t to_user)
{
	uint8_t packet[GAMER_PACKET_HEAD];

	gamer_send_udp(c, packet, gamer_relay_packet(packet, user_id, token, to_user));
}

static uint64_t share_a_room(void)
{
	uint64_t room = gamer_create(alice, 4, NOTHING)->room_id;

	gamer_join(bob, room, NOTHING);
	return room;
}

/* --- Dropped in silence --- */

Test(rooms_udp, a_packet_that_is_cut_anywhere_is_dropped)
{
	uint8_t probe[GAMER_PACKET_HEAD], relay[GAMER_PACKET_HEAD];

	start_relaying();
	gamer_probe_packet(probe, alice->user_id, alice->token, here);
	gamer_relay_packet(relay, alice->user_id, alice->token, bob->user_id);
	for (size_t len = 0; len < GAMER_PACKET_HEAD; len++) {
		gamer_send_udp(alice, probe, len);
		gamer_send_udp(alice, relay, len);
	}
	expect_drops("shape", 2 * GAMER_PACKET_HEAD);
	gamer_expect_no_datagram(alice);
	expect_no_other_drops(2 * GAMER_PACKET_HEAD);
}

Test(rooms_udp, a_packet_with_another_magic_or_type_is_dropped)
{
	uint8_t packet[GAMER_PACKET_HEAD];
	int     sent = 0;

	start_relaying();
	gamer_probe_packet(packet, alice->user_id, alice->token, here);
	for (size_t i = 0; i < TYPE_AT; i++, sent++) {
		packet[i] ^= 0x20;
		gamer_send_udp(alice, packet, sizeof(packet));
		packet[i] ^= 0x20;
	}
	for (int type = 0; type < 256; type++) {
		packet[TYPE_AT] = (uint8_t)type;
		if (type != PACKET_PROBE && type != PACKET_RELAY) { /* PUNCH and PROBE_REPLY are among these */
			gamer_send_udp(alice, packet, sizeof(packet));
			if (++sent % SENT_AT_ONCE == 0)
				expect_drops("shape", sent);
		}
	}
	expect_drops("shape", sent);
	gamer_expect_no_datagram(alice);
	expect_no_other_drops(sent);
}

Test(rooms_udp, a_packet_of_somebody_who_is_not_there_is_dropped)
{
	start_relaying();

	struct gamer *stranger = gamer_dial(s), *gone = gamer_new(s, TITLE, "gone");

	/* Ids are counted, so this one is that of a connection without HELLO. */
	send_probe_as(alice, gone->user_id - 1, 0);
	send_relay_as(alice, gone->user_id - 1, 0, alice->user_id);
	send_probe_as(alice, 0, 0);
	send_probe_as(alice, UINT32_MAX, alice->token);
	expect_drops("user", 4);
	gamer_hangup(gone);
	server_await_metric(s, "coopd_rooms_connections", NULL, 3, DIAL_PATIENCE_MS);
	send_probe_as(alice, gone->user_id, gone->token);
	expect_drops("user", 5);
	gamer_expect_no_datagram(alice);
	expect_no_other_drops(5);
	gamer_free(stranger);
	gamer_free(gone);
}

Test(rooms_udp, a_packet_with_another_token_is_dropped)
{
	start_relaying();

	uint32_t before = alice->token;

	gamer_hello(alice, TITLE, "alice", P2P_PORT);
	send_probe_as(alice, alice->user_id, before);
	send_probe_as(alice, alice->user_id, 0);
	send_probe_as(alice, alice->user_id, bob->token);
	send_relay_as(alice, alice->user_id, before, bob->user_id);
	expect_drops("token", 4);
	gamer_expect_no_datagram(alice);
	expect_no_other_drops(4);
}

Test(rooms_udp, a_packet_from_another_address_than_the_connection_is_dropped)
{
	start_relaying();
	share_a_room();
	gamer_probe(bob);
	send_probe_as(bob, alice->user_id, alice->token);
	send_relay_as(bob, alice->user_id, alice->token, bob->user_id);
	expect_drops("source", 2);
	gamer_expect_no_datagram(bob);
	expect_no_other_drops(2);
}

Test(rooms_udp, without_a_relay_datagrams_are_dropped_whoever_sends_them)
{
	start();
	share_a_room();
	gamer_probe(bob);
	gamer_relay(alice, bob->user_id, TEXT("hi"));
	send_relay_as(alice, 0, 0, 0);
	expect_drops("relay_off", 2);
	gamer_expect_no_datagram(bob);
	expect_no_other_drops(2);
}

Test(rooms_udp, a_datagram_for_one_who_is_in_no_common_room_or_has_not_probed_is_dropped)
{
	start_relaying();

	uint64_t room = share_a_room();

	gamer_relay(alice, bob->user_id, TEXT("he has not probed"));
	gamer_relay(alice, 0, TEXT("nobody"));
	gamer_relay(alice, UINT32_MAX, TEXT("nobody"));
	expect_drops("target", 3);
	gamer_probe(bob);
	gamer_leave(bob, room);
	gamer_create(bob, 4, NOTHING);
	gamer_relay(alice, bob->user_id, TEXT("he is in another room"));
	expect_drops("target", 4);
	gamer_expect_no_datagram(bob);
	expect_no_other_drops(4);
}

Test(rooms_udp, a_datagram_for_one_who_is_gone_is_dropped)
{
	start_relaying();

	uint64_t room = share_a_room();

	gamer_probe(bob);
	gamer_hangup(bob);
	gamer_expect_push(alice, PUSH_MEMBER_JOINED);
	gamer_expect_push(alice, PUSH_ROUTE);
	gamer_expect_left(alice, room, 2, 1);
	gamer_relay(alice, bob->user_id, TEXT("hi"));
	expect_drops("target", 1);
	expect_no_other_drops(1);
}

/* --- Probes --- */

Test(rooms_udp, a_probe_is_answered_with_what_the_server_saw)
{
	struct gamer_datagram d;
	uint8_t               longer[GAMER_PACKET_HEAD + 100] = { 0 };

	start();
	gamer_probe(bob);
	cr_expect_eq(bob->public_port, bob->udp_port);
	cr_expect_str_eq(bob->public_ip, OTHER_PLACE);
	gamer_probe_packet(longer, alice->user_id, alice->token, here);
	for (int i = 0; i < 20; i++) { /* for ever, if he likes; what follows the packet is ignored */
		gamer_send_udp(alice, longer, i % 2 ? sizeof(longer) : GAMER_PACKET_HEAD + 1);
		cr_assert(gamer_next_datagram(alice, &d, DIAL_PATIENCE_MS));
		cr_assert(gamer_is_probe_reply(alice, &d, alice->public_ip, &alice->public_port));
		cr_expect_eq(alice->public_port, alice->udp_port);
	}
	cr_expect_eq((int)server_metric(s, "coopd_rooms_probes_total", NULL), 21);
	gamer_expect_silence(alice); /* without a relay a probe causes nothing else */
	gamer_expect_silence(bob);
}

Test(rooms_udp, the_port_is_free_and_the_last_probe_counts)
{
	start_relaying();
	share_a_room();
	gamer_probe(bob);

	uint16_t before = bob->udp_port;

	gamer_open_udp(bob, 0);
	gamer_probe(bob);
	cr_expect_neq(bob->udp_port, before);
	cr_expect_eq(bob->public_port, bob->udp_port);
	gamer_relay(alice, bob->user_id, TEXT("hi"));
	gamer_expect_relayed(bob, alice->user_id, TEXT("hi"));
}

/* A game at one address, and its connection at another. */
Test(rooms_udp, from_any_address_when_a_setting_says_so)
{
	struct gamer_datagram d;
	char                  ip[GAMER_ADDRESS_BYTES];
	uint16_t              port;

	start_with((const char *[]){ "rooms.relay=yes", "rooms.udp_any_source=yes", NULL });
	share_a_room();
	send_probe_as(bob, alice->user_id, alice->token);
	cr_assert(gamer_next_datagram(bob, &d, DIAL_PATIENCE_MS));
	cr_assert(gamer_is_probe_reply(bob, &d, ip, &port));
	cr_expect_str_eq(ip, OTHER_PLACE);
	cr_expect_eq(port, bob->udp_port);
	send_relay_as(bob, alice->user_id, alice->token, alice->user_id);
	gamer_expect_relayed(bob, alice->user_id, NOTHING);
	send_probe_as(bob, alice->user_id, bob->token);
	expect_drops("token", 1);
}

Test(rooms_udp, who_says_hello_again_is_still_where_he_has_probed)
{
	start_relaying();
	share_a_room();
	gamer_probe(bob);
	gamer_hello(bob, TITLE, "bob", P2P_PORT);
	gamer_relay(alice, bob->user_id, TEXT("hi"));
	gamer_expect_relayed(bob, alice->user_id, TEXT("hi"));
}

/* --- Relayed datagrams --- */

Test(rooms_udp, a_datagram_of_any_size_is_relayed_and_its_sender_need_not_have_probed)
{
	static const size_t sizes[] = { 0, 1, 1200, 1473, 9000, RELAYED_MAX - 1, RELAYED_MAX };
	static uint8_t      payload[RELAYED_MAX];
	size_t              bytes = 0;

	start_relaying();
	share_a_room();
	gamer_probe(bob);
	for (size_t i = 0; i < sizeof(payload); i++)
		payload[i] = (uint8_t)(i * 7 + i / 256);
	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		gamer_relay(alice, bob->user_id, BYTES(payload, sizes[i]));
		gamer_expect_relayed(bob, alice->user_id, BYTES(payload, sizes[i]));
		bytes += sizes[i];
	}
	server_await_metric(s, "coopd_rooms_relayed_bytes_total", "way=\"datagram\"", (double)bytes, DIAL_PATIENCE_MS);
	gamer_expect_no_datagram(bob);
}

/* --- A server at every address of its machine --- */

/* Routers let in what comes from where was sent to, and nothing else. */
Test(rooms_udp, answers_and_relayed_datagrams_leave_from_the_address_that_was_asked)
{
	struct gamer *c[2];

	start_with((const char *[]){ "rooms.relay=yes", "rooms.listen=0.0.0.0:0", NULL });

	struct gamer_way to_3 = { .to = "127.0.0.3", .port = s->rooms_port, .from = "127.0.0.5" };
	struct gamer_way to_4 = { .to = "127.0.0.4", .port = s->rooms_port, .from = "127.0.0.6" };

	c[0] = gamer_dial_way(&to_3);
	c[1] = gamer_dial_way(&to_4);
	gamer_hello(c[0], TITLE, "carol", P2P_PORT);
	gamer_hello(c[1], TITLE, "dave", P2P_PORT);
	gamer_join(c[1], gamer_create(c[0], 4, NOTHING)->room_id, NOTHING);
	for (size_t i = 0; i < COUNT_OF(c); i++) {
		gamer_open_udp(c[i], 0);
		gamer_probe(c[i]); /* what comes from elsewhere is no answer */
		cr_expect_str_eq(c[i]->public_ip, c[i]->from);
	}
	for (size_t i = 0; i < COUNT_OF(c); i++) {
		gamer_relay(c[i], c[1 - i]->user_id, TEXT("hi"));
		gamer_expect_relayed(c[1 - i], c[i]->user_id, TEXT("hi"));
	}
	for (size_t i = 0; i < COUNT_OF(c); i++)
		gamer_free(c[i]);
}

/* --- Rates --- */

Test(rooms_udp, without_a_rate_an_address_sends_what_it_likes_in_production_too)
{
	enum { PROBES = 500 };

	start_with((const char *[]){ "server.production=yes", "http.listen=127.0.0.1:0", "limits.rooms_udp_rate=0",
	                             "limits.rooms_udp_burst=1", NULL });
	for (int i = 0; i < PROBES; i++)
		gamer_probe(alice);
	cr_expect_geq((int)server_metric(s, "coopd_rooms_probes_total", NULL), PROBES);
	expect_no_other_drops(0);
}

Test(rooms_udp, loopback_has_no_rate_outside_production)
{
	enum { PROBES = 200 };

	start_with((const char *[]){ "limits.rooms_udp_rate=1", "limits.rooms_udp_burst=1", NULL });
	for (int i = 0; i < PROBES; i++)
		gamer_probe(alice);
	expect_no_other_drops(0);
}

/* All of an address count together. */
Test(rooms_udp, an_address_has_its_rate_whoever_of_it_sends)
{
	start_with((const char *[]){ "server.production=yes", "http.listen=127.0.0.1:0", "limits.rooms_udp_rate=1",
	                             "limits.rooms_udp_burst=2", NULL });

	struct gamer *carol = gamer_new(s, TITLE, "carol");

	gamer_open_udp(carol, 0);
	gamer_send_probe(carol);
	gamer_send_probe(alice);
	gamer_send_probe(carol);
	expect_drops("rate", 1);
	server_await_metric(s, "coopd_rooms_probes_total", NULL, 2, DIAL_PATIENCE_MS);
	gamer_probe(bob);
	gamer_free(carol);
}

/* Anybody can forge a source. */
Test(rooms_udp, what_comes_in_a_players_name_and_is_not_right_takes_nothing_from_his_rate)
{
	enum { JUNK = 20 };

	start_with((const char *[]){ "server.production=yes", "http.listen=127.0.0.1:0", "rooms.relay=yes",
	                             "limits.rooms_udp_rate=1", "limits.rooms_udp_burst=2", NULL });
	share_a_room();
	gamer_probe(bob);
	for (int i = 0; i < JUNK; i++) {
		gamer_send_udp(alice, "x", 1);
		send_probe_as(alice, 9999, alice->token);
		send_probe_as(alice, alice->user_id, alice->token ^ 1);
	}
	expect_drops("token", JUNK);
	gamer_relay(alice, bob->user_id, TEXT("hi"));
	gamer_expect_relayed(bob, alice->user_id, TEXT("hi"));
	cr_expect_eq((int)server_metric(s, "coopd_rooms_udp_dropped_total", "reason=\"rate\""), 0);
}

/* --- Addresses given --- */

/* What a fresh room tells the receiver of the member, in ROOM_JOINED, and, the other way round, in MEMBER_JOINED. */
static void expect_given(struct gamer *receiver, struct gamer *member, const char *ip, uint16_t port)
{
	uint64_t             room = gamer_create(member, 2, NOTHING)->room_id;
	struct gamer_member *m    = gamer_join(receiver, room, NOTHING)->members;

	cr_expect(m->user_id == member->user_id && m->port == port, "port %u", m->port);
	cr_expect_str_eq(m->ip, ip);
	gamer_expect_joined(member, room, receiver);
	gamer_leave(receiver, room);
	gamer_expect_left(member, room, 2, 1);
	gamer_leave(member, room);
	room = gamer_create(receiver, 2, NOTHING)->room_id;
	gamer_join(member, room, NOTHING);
	m = gamer_expect_joined(receiver, room, member)->members;
	cr_expect_eq(m->port, port, "pushed port %u", m->port);
	cr_expect_str_eq(m->ip, ip);
	gamer_leave(member, room);
	gamer_expect_left(receiver, room, 2, 1);
	gamer_leave(receiver, room);
}

/* His own entry. */
static void expect_own(struct gamer *c, const char *ip, uint16_t port)
{
	struct gamer_message *m = gamer_create(c, 2, NOTHING);

	cr_expect_eq(m->members->port, port);
	cr_expect_str_eq(m->members->ip, ip);
	gamer_leave(c, m->room_id);
}

Test(rooms_udp, each_receiver_is_told_where_he_reaches_a_member)
{
	static const uint8_t inside[4] = { 192, 168, 1, 5 }, none[4];

	start();

	struct gamer *neighbour = gamer_new(s, TITLE, "neighbour");

	/* 3: who has not probed is at the address of his connection. */
	expect_given(bob, alice, "127.0.0.1", P2P_PORT);
	expect_given(neighbour, alice, "127.0.0.1", P2P_PORT);
	expect_own(alice, "127.0.0.1", P2P_PORT);
	/* 1 for others, 2 for those at the same address and himself. */
	gamer_probe_saying(alice, inside);
	expect_given(bob, alice, "127.0.0.1", alice->udp_port);
	expect_given(neighbour, alice, "192.168.1.5", P2P_PORT);
	expect_own(alice, "192.168.1.5", P2P_PORT);
	/* 1, and 3 when no local address was said. */
	gamer_open_udp(alice, 0);
	gamer_probe_saying(alice, none);
	expect_given(bob, alice, "127.0.0.1", alice->udp_port);
	expect_given(neighbour, alice, "127.0.0.1", P2P_PORT);
	expect_own(alice, "127.0.0.1", P2P_PORT);
	/* The port of the last HELLO. */
	gamer_hello(alice, TITLE, "alice", 4000);
	expect_given(neighbour, alice, "127.0.0.1", 4000);
	gamer_free(neighbour);
}

Test(rooms_udp, one_who_joins_is_told_of_to_each_by_his_own_address)
{
	start();

	struct gamer *neighbour = gamer_new_from(s, OTHER_PLACE, TITLE, "neighbour");
	uint64_t      room      = gamer_create(alice, 4, NOTHING)->room_id;

	gamer_join(neighbour, room, NOTHING);
	gamer_expect_joined(alice, room, neighbour);
	gamer_probe_saying(bob, (const uint8_t[]){ 10, 0, 0, 9 });

	struct gamer_message *m = gamer_join(bob, room, NOTHING);

	cr_assert_eq(m->count, 3);
	cr_expect_str_eq(m->members[2].ip, "10.0.0.9"); /* himself */
	m = gamer_expect_joined(alice, room, bob);
	cr_expect_str_eq(m->members->ip, OTHER_PLACE);
	cr_expect_eq(m->members->port, bob->udp_port);
	m = gamer_expect_joined(neighbour, room, bob);
	cr_expect_str_eq(m->members->ip, "10.0.0.9");
	cr_expect_eq(m->members->port, P2P_PORT);
	gamer_free(neighbour);
}

Test(rooms_udp, a_later_probe_changes_what_later_entries_say_and_sends_nothing)
{
	start();

	uint64_t             room = share_a_room();
	struct gamer_member *m    = gamer_join(bob, room, NOTHING)->members;

	gamer_expect_joined(alice, room, bob);
	cr_expect_eq(m->port, P2P_PORT);
	gamer_probe(alice);
	gamer_expect_silence(bob);
	gamer_expect_silence(alice);
	m = gamer_join(bob, room, NOTHING)->members;
	cr_expect_eq(m->port, alice->udp_port);
	gamer_open_udp(alice, 0);
	gamer_probe(alice);
	cr_expect_eq(gamer_join(bob, room, NOTHING)->members->port, alice->udp_port);
}
