/*
 * Connections of the live rooms: what comes in whatever pieces, silence, limits at accept, rates, UDP that is dropped, the
 * log, the end.  What waits for those who do not read: rooms_slow_test.c.
 */
#include "base/auto.h"
#include "support/await.h"
#include "support/rooms_client.h"
#include "support/rooms_path.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define TITLE       "NPWR00860_00"
#define MESSAGE_MAX 65519 /* bytes of data */

static struct server *s;
static const uint8_t  data[MESSAGE_MAX];

static void stop(void)
{
	if (s)
		server_finish(s);
	s = NULL;
}

TestSuite(rooms_serve, .fini = stop, .timeout = 120);

/* In production nobody is exempt from the limits. */
static void start_in_production(const char *set, const char *another)
{
	const char *sets[] = { "server.production=yes", "http.listen=127.0.0.1:0", set, another, NULL };

	s = server_start(sets);
}

/* Moves the clock, and waits until the server has looked at its timers: somebody new is answered some times after that. */
static void advance(int64_t ms)
{
	server_advance(s, ms);

	struct gamer *c = gamer_dial(s);

	for (int i = 0; i < 3; i++)
		gamer_expect_error(c, gamer_ask(c, ASK_LEAVE_ROOM, NULL, 0), SAYS_NO_HELLO);
	gamer_free(c);
}

static void await_metric(const char *name, const char *labels, double value)
{
	server_await_metric(s, name, labels, value, DIAL_PATIENCE_MS);
}

/* --- Bytes in --- */

Test(rooms_serve, players_meet_in_a_room_and_talk)
{
	s = server_start(NULL);

	struct gamer *alice = gamer_new(s, TITLE, "alice"), *bob = gamer_new(s, TITLE, "bob");
	uint64_t      room = gamer_create(alice, 4, TEXT("x"))->room_id;

	gamer_join(bob, room, TEXT("hat=red"));
	gamer_expect_joined(alice, room, bob);
	gamer_say(bob, room, 0, TEXT("hello"));
	gamer_expect_said(alice, room, 2, 0, TEXT("hello"));
	gamer_hangup(bob);
	gamer_expect_left(alice, room, 2, 1);
	gamer_leave(alice, room);
	await_metric("coopd_rooms_rooms", NULL, 0);
	await_metric("coopd_rooms_connections", NULL, 1);
	await_metric("coopd_rooms_players", NULL, 1);
	gamer_free(alice);
	gamer_free(bob);
	await_metric("coopd_rooms_closed_total", "reason=\"peer\"", 2);
	await_metric("coopd_rooms_players", NULL, 0);
}

Test(rooms_serve, a_frame_may_come_byte_by_byte)
{
	static const uint8_t hello[] = "\x01\x00\x22\x00\x00\x00\x09NPWR00860_00alice\0\0\0\0\0\0\0\0\0\0\0\x0E\x4A";

	s = server_start(NULL);

	struct gamer *c = gamer_dial(s);

	for (size_t i = 0; i < sizeof(hello) - 1; i++)
		cr_assert(gamer_send(c, hello + i, 1));
	cr_expect_eq(gamer_answer(c, 9)->type, ANSWER_HELLO_ACK);
	await_metric("coopd_rooms_partial_bytes", NULL, 0);
	gamer_free(c);
}

Test(rooms_serve, many_frames_at_once_are_answered_in_order)
{
	enum { FRAMES = 2000, BYTES = 7 };
	static uint8_t frames[FRAMES * BYTES];

	s = server_start(NULL);

	struct gamer *c = gamer_new(s, TITLE, "alice");

	for (size_t i = 0; i < FRAMES; i++) {
		uint8_t frame[BYTES] = { ASK_LEAVE_ROOM, 0, 4, 0, 1, (uint8_t)(i >> 8), (uint8_t)i };

		memcpy(frames + i * BYTES, frame, BYTES);
	}
	cr_assert(gamer_send(c, frames, sizeof(frames)));
	for (uint32_t i = 0; i < FRAMES; i++) {
		struct gamer_message *m = gamer_next(c, DIAL_PATIENCE_MS);

		cr_assert(m && m->type == ANSWER_ERROR && m->code == SAYS_NOT_IN_ROOM);
		cr_assert_eq(m->req, 0x10000 + i);
	}
	await_metric("coopd_rooms_errors_total", "code=\"5\"", FRAMES);
	gamer_free(c);
}

Test(rooms_serve, a_frame_without_a_request_number_is_ignored_in_silence)
{
	static const uint8_t types[] = { ASK_HELLO, ASK_CREATE_ROOM, 0xFF, ASK_STREAM_CONNECT };

	s = server_start(NULL);

	struct gamer *c = gamer_dial(s);

	for (size_t i = 0; i < COUNT_OF(types); i++)
		cr_assert(gamer_send_frame(c, types[i], "abc", i));
	gamer_hello(c, TITLE, "alice", 3658);
	gamer_expect_silence(c);
	cr_expect_eq((int)server_metric(s, "coopd_rooms_ignored_total", NULL), COUNT_OF(types));
	gamer_free(c);
}

Test(rooms_serve, the_largest_frame_passes)
{
	static uint8_t text[65519];

	s = server_start(NULL);

	struct gamer *alice = gamer_new(s, TITLE, "alice"), *bob = gamer_new(s, TITLE, "bob");
	uint64_t      room = gamer_create(alice, 4, NOTHING)->room_id;

	memset(text, 'x', sizeof(text));
	gamer_join(bob, room, NOTHING);
	gamer_expect_joined(alice, room, bob);
	gamer_say(alice, room, 0, BYTES(text, sizeof(text)));
	gamer_expect_said(bob, room, 1, 0, BYTES(text, sizeof(text)));
	gamer_free(alice);
	gamer_free(bob);
}

/* --- Silence --- */

/* By the clock that was moved, not because so much time has passed really. */
static void expect_end_at_once(struct gamer *c)
{
	int64_t began_ms = real_now_ms();

	gamer_expect_end(c);
	cr_expect_lt(real_now_ms() - began_ms, 10000);
}

Test(rooms_serve, without_hello_a_connection_has_15_seconds_from_its_last_frame)
{
	s = server_start(NULL);

	struct gamer *talks = gamer_dial(s), *silent = gamer_dial(s);

	await_metric("coopd_rooms_connections", NULL, 2);
	advance(14900);
	gamer_expect_error(talks, gamer_ask(talks, ASK_HEARTBEAT, NULL, 0), SAYS_NO_HELLO);
	advance(200);
	expect_end_at_once(silent);
	advance(14600);
	gamer_expect_error(talks, gamer_ask(talks, ASK_HEARTBEAT, NULL, 0), SAYS_NO_HELLO);
	advance(15100);
	expect_end_at_once(talks);
	await_metric("coopd_rooms_closed_total", "reason=\"no_hello\"", 2);
	gamer_free(talks);
	gamer_free(silent);
}

Test(rooms_serve, a_player_has_90_seconds_from_his_last_frame)
{
	s = server_start(NULL);

	struct gamer *alice = gamer_new(s, TITLE, "alice"), *bob = gamer_new(s, TITLE, "bob");
	uint64_t      room = gamer_create(alice, 4, NOTHING)->room_id;

	gamer_join(bob, room, NOTHING);
	gamer_expect_joined(alice, room, bob);
	for (int i = 0; i < 2; i++) {
		advance(89900);
		gamer_expect_silence(alice); /* a request, and its reply */
		gamer_heartbeat(bob);
		gamer_expect_silence(bob);
	}
	advance(45000);
	gamer_expect_silence(alice);
	advance(45100);
	expect_end_at_once(bob);
	gamer_expect_left(alice, room, 2, 1);
	await_metric("coopd_rooms_closed_total", "reason=\"silent\"", 1);
	gamer_free(alice);
	gamer_free(bob);
}

Test(rooms_serve, a_frame_that_is_not_whole_is_no_sign_of_life)
{
	s = server_start((const char *[]){ "limits.rooms_hello_ms=60000", NULL });

	struct gamer *stranger = gamer_dial(s), *alice = gamer_new(s, TITLE, "alice");

	advance(40000);
	cr_assert(gamer_send(stranger, "\x02\x00", 2));
	cr_assert(gamer_send(alice, "\x02\x00\x04\x00\x00", 5));
	await_metric("coopd_rooms_partial_bytes", NULL, 2 * 64);
	advance(20100);
	expect_end_at_once(stranger);
	await_metric("coopd_rooms_partial_bytes", NULL, 64);
	advance(29000);
	cr_expect_null(gamer_next(alice, 0));
	cr_expect_geq(alice->fd, 0);
	advance(1100);
	expect_end_at_once(alice);
	await_metric("coopd_rooms_partial_bytes", NULL, 0);
	gamer_free(stranger);
	gamer_free(alice);
}

/* His patience is the shorter one here, and counts from HELLO on. */
Test(rooms_serve, the_times_of_silence_are_settings)
{
	s = server_start((const char *[]){ "limits.rooms_hello_ms=60000", "limits.rooms_silence_ms=20000", NULL });

	struct gamer *stranger = gamer_dial(s), *alice = gamer_new(s, TITLE, "alice");

	advance(19900);
	cr_expect_null(gamer_next(alice, 0));
	cr_expect_geq(alice->fd, 0);
	advance(200);
	expect_end_at_once(alice);
	advance(39700);
	cr_expect_null(gamer_next(stranger, 0));
	cr_expect_geq(stranger->fd, 0);
	advance(300);
	expect_end_at_once(stranger);
	gamer_free(stranger);
	gamer_free(alice);
}

/* --- Limits at accept --- */

Test(rooms_serve, connections_have_a_limit_in_all)
{
	struct gamer *c[3], *late;

	s = server_start((const char *[]){ "limits.rooms_connections=3", NULL });
	for (size_t i = 0; i < COUNT_OF(c); i++) {
		c[i] = gamer_dial(s);
		gamer_expect_error(c[i], gamer_ask(c[i], ASK_HEARTBEAT, NULL, 0), SAYS_NO_HELLO);
	}
	late = gamer_dial(s);
	gamer_expect_end(late);
	await_metric("coopd_rooms_refused_total", "reason=\"total\"", 1);
	cr_expect(server_log_contains(s, "full reason=total refused=1"));
	gamer_free(late);

	gamer_free(c[0]);
	await_metric("coopd_rooms_connections", NULL, 2);
	c[0] = gamer_new(s, TITLE, "alice");
	cr_expect_eq((int)server_metric(s, "coopd_rooms_accepted_total", NULL), 4, "who is refused is not accepted");
	for (size_t i = 0; i < COUNT_OF(c); i++)
		gamer_free(c[i]);
}

Test(rooms_serve, connections_have_a_limit_per_address_in_production)
{
	start_in_production("limits.rooms_per_address=2", NULL);

	struct gamer *a = gamer_new(s, TITLE, "a"), *b = gamer_new(s, TITLE, "b"), *late = gamer_dial(s);

	gamer_expect_end(late);
	await_metric("coopd_rooms_refused_total", "reason=\"address\"", 1);
	gamer_free(late);

	struct gamer *other = gamer_new_from(s, "127.0.0.2", TITLE, "other");

	gamer_free(a);
	await_metric("coopd_rooms_connections", NULL, 2);
	a = gamer_new(s, TITLE, "a");
	gamer_free(a);
	gamer_free(b);
	gamer_free(other);
}

Test(rooms_serve, connections_have_a_rate_per_address_in_production)
{
	start_in_production("limits.rooms_accept_burst=2", "limits.rooms_accept_rate=1");

	struct gamer *a = gamer_new(s, TITLE, "a"), *b = gamer_new(s, TITLE, "b"), *late = gamer_dial(s);

	gamer_expect_end(late);
	await_metric("coopd_rooms_refused_total", "reason=\"rate\"", 1);
	gamer_free(late);
	server_advance(s, 1000);
	late = gamer_new(s, TITLE, "late");
	gamer_free(late);
	gamer_free(a);
	gamer_free(b);
}

Test(rooms_serve, loopback_is_exempt_outside_production)
{
	struct gamer *c[6];

	s = server_start((const char *[]){
		"limits.rooms_per_address=2", "limits.rooms_accept_burst=2", "limits.rooms_accept_rate=1",
		"limits.rooms_names_per_hour=1", "limits.rooms_hellos=1", "limits.rooms_score_burst=1",
		"limits.rooms_score_rate=1", "limits.rooms_rooms_per_address=1", "limits.rooms_joins_per_minute=1",
		"limits.rooms_message_rate=1", "limits.rooms_message_burst=131072", NULL });
	for (size_t i = 0; i < COUNT_OF(c); i++) {
		char name[] = { (char)('a' + i), '\0' };

		c[i] = gamer_new(s, TITLE, name);
		gamer_hello(c[i], TITLE, name, 1);
		uint64_t room = gamer_create(c[i], 2, NOTHING)->room_id;
		for (int n = 0; n < 3; n++)
			gamer_say(c[i], room, 0, BYTES(data, MESSAGE_MAX));
		gamer_score(c[i], 1, 0, 10, NOTHING);
		gamer_score(c[i], 1, 0, 11, NOTHING);
	}
	for (size_t i = 0; i < COUNT_OF(c); i++)
		gamer_free(c[i]);
}

/* --- Rates --- */

Test(rooms_serve, hello_may_be_said_ten_times_a_minute)
{
	start_in_production(NULL, NULL);

	struct gamer *c = gamer_new(s, TITLE, "alice");

	for (int i = 1; i < 10; i++)
		gamer_hello(c, TITLE, "alice", 3658);
	gamer_expect_error(c, gamer_ask_hello(c, TITLE, "alice", 3658), SAYS_LIMIT);
	server_advance(s, 5000);
	gamer_expect_error(c, gamer_ask_hello(c, TITLE, "alice", 3658), SAYS_LIMIT);
	server_advance(s, 1000);
	gamer_hello(c, TITLE, "alice", 3658);
	gamer_expect_error(c, gamer_ask_hello(c, TITLE, "alice", 3658), SAYS_LIMIT);
	server_advance(s, 60000);
	for (int i = 0; i < 10; i++)
		gamer_hello(c, TITLE, "alice", 3658);
	gamer_expect_error(c, gamer_ask_hello(c, TITLE, "alice", 3658), SAYS_LIMIT);
	gamer_free(c);
}

Test(rooms_serve, scores_have_a_rate_and_a_burst_per_connection)
{
	start_in_production("limits.rooms_score_burst=5", "limits.rooms_score_rate=2");

	struct gamer *c = gamer_dial(s);

	for (int i = 0; i < 20; i++)
		gamer_expect_error(c, gamer_ask_score(c, 1, 0, i, NOTHING), SAYS_NO_HELLO);
	gamer_hello(c, TITLE, "alice", 3658);
	for (int i = 0; i < 5; i++)
		gamer_score(c, 1, 0, i, NOTHING);
	gamer_expect_error(c, gamer_ask_score(c, 1, 0, 99, NOTHING), SAYS_LIMIT);
	cr_expect_eq(gamer_ranking(c, 1, 1, 1)->rows->score, 4, "nothing was recorded, and rankings have no such rate");
	server_advance(s, 500);
	gamer_score(c, 1, 0, 100, NOTHING);
	gamer_expect_error(c, gamer_ask_score(c, 1, 0, 101, NOTHING), SAYS_LIMIT);

	struct gamer *other = gamer_new(s, TITLE, "bob");

	gamer_score(other, 1, 0, 1, NOTHING);
	gamer_free(c);
	gamer_free(other);
}

/* One rate for all that others in a room are sent. Each message costs 64 bytes besides its data. */
Test(rooms_serve, messages_and_room_data_have_a_rate_and_a_burst_per_connection)
{
	enum { BURST = 131072, REST = BURST - MESSAGE_MAX - 64 };

	start_in_production("limits.rooms_message_burst=131072", "limits.rooms_message_rate=1");

	struct gamer *alice = gamer_dial(s), *bob = gamer_new(s, TITLE, "bob");

	for (int i = 0; i < 3; i++)
		gamer_expect_error(alice, gamer_ask_say(alice, 1, 0, BYTES(data, MESSAGE_MAX)), SAYS_NO_HELLO);
	gamer_hello(alice, TITLE, "alice", 3658);

	uint64_t room = gamer_create(alice, 4, NOTHING)->room_id;

	gamer_join(bob, room, NOTHING);
	gamer_expect_joined(alice, room, bob);
	gamer_say(alice, room, 0, BYTES(data, MESSAGE_MAX));
	gamer_expect_said(bob, room, 1, 0, BYTES(data, MESSAGE_MAX));
	gamer_expect_error(alice, gamer_ask_say(alice, room, 0, BYTES(data, REST - 64 + 40)), SAYS_LIMIT);
	gamer_expect_error(alice, gamer_ask_set(alice, room, 0, BYTES(data, REST - 64 + 40)), SAYS_LIMIT);
	gamer_say(alice, room, 2, BYTES(data, REST - 64));
	gamer_expect_said(bob, room, 1, 2, BYTES(data, REST - 64));
	gamer_expect_error(alice, gamer_ask_set(alice, room, 0, BYTES(data, 1)), SAYS_LIMIT);
	gamer_expect_error(alice, gamer_ask_say(alice, room, 0, NOTHING), SAYS_LIMIT);
	gamer_expect_silence(bob);
	gamer_say(bob, room, 0, TEXT("I may"));
	gamer_expect_said(alice, room, 2, 0, TEXT("I may"));
	server_advance(s, 70000);
	gamer_set(alice, room, 0, BYTES(data, 1));
	gamer_expect_data(bob, room, 0, BYTES(data, 1));
	gamer_expect_error(alice, gamer_ask_say(alice, room, 0, NOTHING), SAYS_LIMIT);
	gamer_free(alice);
	gamer_free(bob);
}

/* --- UDP --- */

static void expect_drops(const char *reason, int count)
{
	char labels[64];

	snprintf(labels, sizeof(labels), "reason=\"%s\"", reason);
	await_metric("coopd_rooms_udp_dropped_total", labels, count);
}

Test(rooms_serve, udp_is_on_the_port_of_tcp)
{
	s = server_start((const char *[]){ "rooms.relay=yes", NULL });

	struct gamer *alice = gamer_new(s, TITLE, "alice"), *bob = gamer_new(s, TITLE, "bob");
	uint64_t      room = gamer_create(alice, 4, NOTHING)->room_id;

	gamer_join(bob, room, NOTHING);
	gamer_open_udp(alice, 0);
	gamer_open_udp(bob, 0);
	gamer_probe(alice);
	gamer_probe(bob);
	cr_expect_eq(alice->public_port, alice->udp_port);
	gamer_relay(alice, bob->user_id, TEXT("hi"));
	gamer_expect_relayed(bob, alice->user_id, TEXT("hi"));
	gamer_relay(bob, alice->user_id, NOTHING);
	gamer_expect_relayed(alice, bob->user_id, NOTHING);
	await_metric("coopd_rooms_relayed_datagrams_total", NULL, 2);
	await_metric("coopd_rooms_relayed_bytes_total", "way=\"datagram\"", 2);
	gamer_free(alice);
	gamer_free(bob);
}

Test(rooms_serve, udp_that_is_not_answered_is_counted_by_reason)
{
	uint8_t packet[GAMER_PACKET_HEAD], local[4] = { 127, 0, 0, 1 };

	s = server_start(NULL);

	struct gamer *alice = gamer_new(s, TITLE, "alice"), *bob = gamer_new_from(s, "127.0.0.2", TITLE, "bob");

	gamer_open_udp(alice, 0);
	gamer_open_udp(bob, 0);
	gamer_send_udp(alice, "PSNR\x01", 5);
	gamer_send_udp(alice, packet, gamer_punch_packet(packet, alice->user_id));
	expect_drops("shape", 2);
	gamer_send_udp(alice, packet, gamer_probe_packet(packet, 12345, alice->token, local));
	expect_drops("user", 1);
	gamer_send_udp(alice, packet, gamer_probe_packet(packet, alice->user_id, alice->token ^ 1, local));
	expect_drops("token", 1);
	gamer_send_udp(bob, packet, gamer_probe_packet(packet, alice->user_id, alice->token, local));
	expect_drops("source", 1);
	gamer_relay(alice, bob->user_id, TEXT("hi"));
	expect_drops("relay_off", 1);
	gamer_expect_no_datagram(alice);
	gamer_expect_no_datagram(bob);
	gamer_free(alice);
	gamer_free(bob);
}

Test(rooms_serve, a_relayed_datagram_needs_a_target_who_shares_a_room_and_has_probed)
{
	s = server_start((const char *[]){ "rooms.relay=yes", NULL });

	struct gamer *alice = gamer_new(s, TITLE, "alice"), *bob = gamer_new(s, TITLE, "bob");

	gamer_open_udp(alice, 0);
	gamer_relay(alice, 12345, TEXT("hi"));
	expect_drops("target", 1);
	gamer_relay(alice, bob->user_id, TEXT("hi"));
	expect_drops("target", 2);
	gamer_join(bob, gamer_create(alice, 4, NOTHING)->room_id, NOTHING);
	gamer_relay(alice, bob->user_id, TEXT("hi"));
	expect_drops("target", 3);
	gamer_free(alice);
	gamer_free(bob);
}

Test(rooms_serve, udp_has_a_rate_per_address_in_production)
{
	start_in_production("limits.rooms_udp_burst=3", "limits.rooms_udp_rate=1");

	struct gamer *alice = gamer_new(s, TITLE, "alice"), *bob = gamer_new_from(s, "127.0.0.2", TITLE, "bob");

	gamer_open_udp(alice, 0);
	gamer_open_udp(bob, 0);
	for (int i = 0; i < 5; i++)
		gamer_send_probe(alice);
	expect_drops("rate", 2);
	await_metric("coopd_rooms_probes_total", NULL, 3);
	gamer_probe(bob);
	server_advance(s, 1000);
	gamer_send_probe(alice);
	await_metric("coopd_rooms_probes_total", NULL, 5);
	gamer_free(alice);
	gamer_free(bob);
}

/* --- The log --- */

Test(rooms_serve, each_hello_is_in_the_log_and_text_of_players_cannot_forge_a_line)
{
	s = server_start(NULL);

	struct gamer *c = gamer_new(s, "NPWR\"\n", "al\x1b\" x=1");
	char          line[200];

	snprintf(line, sizeof(line),
	         "hello user=%u title=\"NPWR\\x22\\x0a\" name=\"al\\x1b\\x22 x=1\" address=127.0.0.0", c->user_id);
	await_log(s, line);
	snprintf(line, sizeof(line), "port=%d", 3658);
	await_log(s, line);
	gamer_free(c);
	await_log(s, "name=\"al\\x1b\\x22 x=1\" reason=peer");
}

Test(rooms_serve, what_happens_in_rooms_is_in_the_log_at_debug)
{
	s = server_start((const char *[]){ "log.level=debug", NULL });

	struct gamer *alice = gamer_new(s, TITLE, "alice"), *bob = gamer_new(s, TITLE, "bob");
	uint64_t      room = gamer_create(alice, 4, NOTHING)->room_id;

	gamer_join(bob, room, NOTHING);
	gamer_kick(alice, room, 2);
	gamer_expect_error(bob, gamer_ask_leave(bob, room), SAYS_NOT_IN_ROOM);
	gamer_leave(alice, room);
	await_log(s, "creates-room user=1 room=1");
	await_log(s, "joins-room user=2 room=1");
	await_log(s, "kicks user=1 room=1");
	await_log(s, "refuses user=2 type=0x13 error=5");
	await_log(s, "leaves-room user=1 room=1");
	gamer_free(alice);
	gamer_free(bob);
}

/* --- The end --- */

Test(rooms_serve, at_the_end_everybody_is_told_by_a_close)
{
	s = server_start(NULL);

	struct gamer *alice = gamer_new(s, TITLE, "alice"), *bob = gamer_new(s, TITLE, "bob"),
		     *stranger = gamer_dial(s);
	uint64_t room          = gamer_create(alice, 4, NOTHING)->room_id;

	gamer_join(bob, room, NOTHING);
	gamer_expect_joined(alice, room, bob);
	server_signal(s, SIGTERM);
	gamer_expect_end(alice); /* and not first that bob has left */
	gamer_expect_end(bob);
	gamer_expect_end(stranger);
	gamer_free(alice);
	gamer_free(bob);
	gamer_free(stranger);
	cr_expect_eq(server_await_exit(s, SERVER_STOP_MS), 0);
}

Test(rooms_serve, without_rooms_nothing_listens)
{
	s = server_start((const char *[]){ "rooms.enable=no", NULL });
	cr_expect_eq(s->rooms_port, 0);
	cr_expect_not(server_log_contains(s, "part=rooms"));
}

Test(rooms_serve, rooms_need_no_signaling)
{
	s = server_start((const char *[]){ "signal.enable=no", NULL });
	gamer_free(gamer_new(s, TITLE, "alice"));
}
