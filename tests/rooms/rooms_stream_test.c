/*
 * Streams through the server, from the offer to the last byte.
 */
#include "support/await.h"
#include "support/rooms_path.h"

#include "base/auto.h"
#include "base/bytes.h"

#include <criterion/criterion.h>

#define TITLE "NPWR00001_00"
#define VPORT 3658

static struct server *s;
static struct gamer  *alice, *bob; /* share a room */
static uint64_t       room;

static struct gamer *join(const char *name)
{
	struct gamer *g = gamer_new(s, TITLE, name);

	if (room == 0)
		room = gamer_create(g, 255, NOTHING)->room_id;
	else
		gamer_join(g, room, NOTHING);
	return g;
}

/* What was said of the room so far is no matter here. */
static void forget_pushes(struct gamer *g)
{
	gamer_search(g, 0, 0); /* whatever others caused before has come before the reply */
	while (gamer_next_push(g, 0))
		;
}

static void start_with(const char *const *sets)
{
	s     = server_start(sets);
	room  = 0;
	alice = join("alice");
	bob   = join("bob");
	gamer_expect_push(alice, PUSH_MEMBER_JOINED);
	if (alice->relays) {
		gamer_expect_push(alice, PUSH_ROUTE);
		gamer_expect_push(bob, PUSH_ROUTE);
	}
}

static void start(void)
{
	static const char *const relay[] = { "rooms.relay=yes", NULL };

	start_with(relay);
}

static void stop(void)
{
	gamer_free(alice);
	gamer_free(bob);
	server_finish(s);
}

TestSuite(rooms_stream, .init = start, .fini = stop, .timeout = 300);

static void restart_with(const char *const *sets)
{
	stop();
	start_with(sets);
}

static void await_offers(int count)
{
	server_await_metric(s, "coopd_rooms_offers", NULL, count, DIAL_PATIENCE_MS);
}

static void await_streams(int count)
{
	server_await_metric(s, "coopd_rooms_streams", NULL, count, DIAL_PATIENCE_MS);
}

/* It may still be sent to. */
static void expect_end_of_input(struct gamer_leg *l)
{
	char byte;

	cr_assert_eq(dial_read(l->fd, &byte, 1, real_now_ms() + DIAL_PATIENCE_MS), 0);
}

/* From alice to bob; the id that bob is told. */
static uint32_t offer(struct gamer_leg **leg)
{
	*leg = gamer_leg_connect(alice, bob->user_id, VPORT);
	return gamer_expect_offer(bob, alice->user_id, VPORT);
}

static void accept_fails(struct gamer *g, uint32_t stream_id)
{
	gamer_leg_expect_error(gamer_leg_accept(g, stream_id), SAYS_NOT_FOUND);
}

/* The payload of a first frame; what is beyond len is cut off. */
struct first {
	uint32_t req, user_id, token, third;
	uint16_t vport;
};

static struct gamer_leg *send_first(struct gamer *g, uint8_t type, const struct first *f, size_t len)
{
	uint8_t   payload[18];
	struct wr w = wr_over(payload, sizeof(payload));

	wr_be(&w, f->req, 4);
	wr_be(&w, f->user_id, 4);
	wr_be(&w, f->token, 4);
	wr_be(&w, f->third, 4);
	wr_be(&w, f->vport, 2);
	return gamer_leg_frame(g, type, payload, len);
}

#define CONNECT_BYTES 18
#define ACCEPT_BYTES  16

/* A STREAM_CONNECT and what is to be delivered, in one write. */
static struct gamer_leg *connect_saying(struct gamer *from, const struct gamer *to, struct gamer_blob early)
{
	static uint8_t    bytes[65536];
	struct wr         w = wr_over(bytes, sizeof(bytes));
	struct gamer_leg *l = gamer_leg_dial(from);

	wr_be(&w, ASK_STREAM_CONNECT, 1);
	wr_be(&w, CONNECT_BYTES, 2);
	wr_be(&w, 1, 4);
	wr_be(&w, from->user_id, 4);
	wr_be(&w, from->token, 4);
	wr_be(&w, to->user_id, 4);
	wr_be(&w, VPORT, 2);
	wr_bytes(&w, early.bytes, early.len);
	gamer_leg_send(l, BYTES(bytes, wr_len(&w)));
	return l;
}

/* --- Bytes --- */

Test(rooms_stream, bytes_go_both_ways)
{
	struct gamer_leg *a, *b;

	gamer_stream(&a, &b, alice, bob, VPORT);
	for (int i = 0; i < 3; i++) {
		gamer_leg_send(a, TEXT("from alice"));
		gamer_leg_expect(b, TEXT("from alice"));
		gamer_leg_send(b, TEXT("from bob"));
		gamer_leg_expect(a, TEXT("from bob"));
	}
	await_streams(1);
	await_offers(0);
}

Test(rooms_stream, each_side_is_told_with_the_number_of_its_own_request)
{
	struct gamer_leg *a, *b;
	uint32_t          id;

	a  = send_first(alice, ASK_STREAM_CONNECT,
	                &(struct first){ 0xFFFFFFFF, alice->user_id, alice->token, bob->user_id, 7 }, CONNECT_BYTES);
	id = gamer_expect_offer(bob, alice->user_id, 7);
	b  = send_first(bob, ASK_STREAM_ACCEPT, &(struct first){ 0, bob->user_id, bob->token, id, 0 }, ACCEPT_BYTES);
	gamer_leg_expect_ready_req(b, 0);
	gamer_leg_expect_ready_req(a, 0xFFFFFFFF);
}

Test(rooms_stream, what_is_sent_before_ready_belongs_to_the_stream)
{
	static uint8_t    early[200000];
	struct gamer_leg *a, *b;
	uint32_t          id;

	for (size_t i = 0; i < sizeof(early); i++)
		early[i] = (uint8_t)(i * 7 + i / 251);
	id = offer(&a);
	cr_assert(gamer_leg_send(a, BYTES(early, sizeof(early))));
	b = gamer_leg_accept(bob, id);
	gamer_leg_send(b, TEXT("at once"));
	gamer_leg_expect_ready(b);
	gamer_leg_expect(b, BYTES(early, sizeof(early)));
	gamer_leg_expect_ready(a);
	gamer_leg_expect(a, TEXT("at once"));
	gamer_leg_send(a, TEXT("and later"));
	gamer_leg_expect(b, TEXT("and later"));
}

/* In the segment of the first frame: the server has read them when it learns that this is a leg. */
Test(rooms_stream, what_comes_in_one_write_with_the_first_frame_belongs_to_the_stream)
{
	uint8_t           bytes[64];
	struct wr         w  = wr_over(bytes, sizeof(bytes));
	struct gamer_leg *a  = connect_saying(alice, bob, TEXT("question")), *b;
	uint32_t          id = gamer_expect_offer(bob, alice->user_id, VPORT);

	wr_be(&w, ASK_STREAM_ACCEPT, 1);
	wr_be(&w, ACCEPT_BYTES, 2);
	wr_be(&w, 1, 4);
	wr_be(&w, bob->user_id, 4);
	wr_be(&w, bob->token, 4);
	wr_be(&w, id, 4);
	wr_bytes(&w, "answer", 6);
	b = gamer_leg_dial(bob);
	gamer_leg_send(b, BYTES(bytes, wr_len(&w)));
	gamer_leg_expect_ready(b);
	gamer_leg_expect(b, TEXT("question"));
	gamer_leg_expect_ready(a);
	gamer_leg_expect(a, TEXT("answer"));
}

Test(rooms_stream, a_first_frame_may_come_in_pieces)
{
	struct gamer_leg *a, *b;
	uint32_t          id;
	uint8_t           bytes[GAMER_HEAD_BYTES + ACCEPT_BYTES];
	struct wr         w = wr_over(bytes, sizeof(bytes));

	id = offer(&a);
	wr_be(&w, ASK_STREAM_ACCEPT, 1);
	wr_be(&w, ACCEPT_BYTES, 2);
	wr_be(&w, 1, 4);
	wr_be(&w, bob->user_id, 4);
	wr_be(&w, bob->token, 4);
	wr_be(&w, id, 4);
	b = gamer_leg_dial(bob);
	for (size_t i = 0; i < sizeof(bytes); i++) {
		gamer_leg_send(b, BYTES(bytes + i, 1));
		gamer_expect_silence(bob);
	}
	gamer_leg_expect_ready(b);
	gamer_leg_expect_ready(a);
}

/* What is behind the fields is no part of the stream, and takes no memory while that lasts. */
Test(rooms_stream, a_first_frame_may_be_longer_than_it_needs_to_be)
{
	static uint8_t    payload[60000];
	uint8_t           head[GAMER_HEAD_BYTES] = { ASK_STREAM_CONNECT, sizeof(payload) >> 8, sizeof(payload) & 0xFF };
	struct wr         w                      = wr_over(payload, sizeof(payload));
	struct gamer_leg *a, *b;

	wr_be(&w, 1, 4);
	wr_be(&w, alice->user_id, 4);
	wr_be(&w, alice->token, 4);
	wr_be(&w, bob->user_id, 4);
	wr_be(&w, VPORT, 2);
	a = gamer_leg_dial(alice);
	gamer_leg_send(a, BYTES(head, sizeof(head)));
	gamer_leg_send(a, BYTES(payload, 30000));
	while (server_metric(s, "coopd_rooms_partial_bytes", NULL) < 30000)
		real_sleep_ms(5);
	gamer_leg_send(a, BYTES(payload + 30000, 30000));
	gamer_leg_send(a, TEXT("question"));
	b = gamer_leg_accept(bob, gamer_expect_offer(bob, alice->user_id, VPORT));
	gamer_leg_expect_ready(b);
	gamer_leg_expect(b, TEXT("question"));
	cr_expect_eq(server_metric(s, "coopd_rooms_partial_bytes", NULL), 0);
}

/* As frames that are not whole. */
Test(rooms_stream, what_waits_to_be_delivered_is_counted_as_input)
{
	static uint8_t    early[50000];
	struct gamer_leg *a, *b;

	a = connect_saying(alice, bob, BYTES(early, sizeof(early)));
	await_offers(1);
	cr_expect_gt(server_metric(s, "coopd_rooms_partial_bytes", NULL), 0);
	b = gamer_leg_accept(bob, gamer_expect_offer(bob, alice->user_id, VPORT));
	gamer_leg_expect_ready(b);
	gamer_leg_expect(b, BYTES(early, sizeof(early)));
	cr_expect_eq(server_metric(s, "coopd_rooms_partial_bytes", NULL), 0);

	gamer_leg_free(a);
	gamer_leg_free(b);
	await_streams(0);
	a = connect_saying(alice, bob, BYTES(early, sizeof(early)));
	await_offers(1);
	gamer_leg_free(a);
	await_offers(0);
	server_await_metric(s, "coopd_rooms_partial_bytes", NULL, 0, DIAL_PATIENCE_MS);
}

Test(rooms_stream, what_waits_to_be_delivered_has_the_budget_of_input)
{
	static const char *const least[] = { "rooms.relay=yes", "limits.rooms_input_total=1048576", NULL };
	static uint8_t           early[60000];
	struct gamer            *players[3];

	restart_with(least);
	players[0] = alice;
	players[1] = bob;
	players[2] = join("carol");
	for (size_t i = 0; i < 3; i++)
		forget_pushes(players[i]);
	for (size_t i = 0; i < 24; i++)
		connect_saying(players[i % 3], players[(i + 1) % 3], BYTES(early, sizeof(early)));
	/* Nothing else comes that could have the server look at what it holds. */
	for (size_t i = 0; i < 24; i++)
		gamer_expect_offer(players[(i + 1) % 3], players[i % 3]->user_id, VPORT);
	cr_expect_leq(server_metric(s, "coopd_rooms_partial_bytes", NULL), 1048576);
	gamer_free(players[2]);
}

Test(rooms_stream, the_end_of_input_is_passed_on_and_answers_still_come)
{
	struct gamer_leg *a, *b;

	gamer_stream(&a, &b, alice, bob, VPORT);
	gamer_leg_send(a, TEXT("question"));
	gamer_leg_end_output(a);
	gamer_leg_expect(b, TEXT("question"));
	expect_end_of_input(b);
	gamer_leg_send(b, TEXT("answer"));
	gamer_leg_expect(a, TEXT("answer"));
	await_streams(1);
	gamer_leg_end_output(b);
	gamer_leg_expect_end(a);
	gamer_leg_expect_end(b);
	await_streams(0);

	/* The other way round. */
	gamer_stream(&a, &b, alice, bob, VPORT);
	gamer_leg_end_output(b);
	gamer_leg_send(a, TEXT("still there"));
	gamer_leg_expect(b, TEXT("still there"));
	gamer_leg_end_output(a);
	gamer_leg_expect_end(b);
	gamer_leg_expect_end(a);
	await_streams(0);
}

Test(rooms_stream, a_reset_of_one_end_ends_the_other)
{
	struct gamer_leg *a, *b;
	char              byte;

	gamer_stream(&a, &b, alice, bob, VPORT);
	gamer_leg_abort(a);
	await_streams(0);
	cr_expect_leq(dial_read(b->fd, &byte, 1, real_now_ms() + DIAL_PATIENCE_MS), 0);
	gamer_stream(&a, &b, alice, bob, VPORT);
	gamer_leg_abort(b);
	await_streams(0);
	cr_expect_leq(dial_read(a->fd, &byte, 1, real_now_ms() + DIAL_PATIENCE_MS), 0);
}

Test(rooms_stream, its_bytes_are_counted)
{
	struct gamer_leg *a, *b;

	a = gamer_leg_connect(alice, bob->user_id, VPORT);
	gamer_leg_send(a, TEXT("early"));
	b = gamer_leg_accept(bob, gamer_expect_offer(bob, alice->user_id, VPORT));
	gamer_leg_expect_ready(a);
	gamer_leg_expect_ready(b);
	gamer_leg_expect(b, TEXT("early"));
	gamer_leg_send(b, TEXT("later"));
	gamer_leg_expect(a, TEXT("later"));
	server_advance(s, 1100); /* while it is open */
	server_await_metric(s, "coopd_rooms_relayed_bytes_total", "way=\"stream\"", 10, DIAL_PATIENCE_MS);
	gamer_leg_send(a, TEXT("last"));
	gamer_leg_expect(b, TEXT("last"));
	gamer_leg_end_output(a);
	gamer_leg_end_output(b);
	await_streams(0);
	cr_expect_eq(server_metric(s, "coopd_rooms_relayed_bytes_total", "way=\"stream\""), 14);
}

/* --- Offers --- */

Test(rooms_stream, an_offer_stands_for_ten_seconds)
{
	struct gamer_leg *a, *b;
	uint32_t          id = offer(&a);

	server_advance(s, 9900);
	gamer_expect_silence(bob);
	b = gamer_leg_accept(bob, id);
	gamer_leg_expect_ready(b);
	gamer_leg_expect_ready(a);

	id = offer(&a);
	server_advance(s, 10000);
	gamer_leg_expect_error(a, SAYS_NOT_FOUND);
	accept_fails(bob, id);
	await_offers(0);
}

Test(rooms_stream, offers_are_over_one_after_the_other)
{
	struct gamer_leg *a[3];

	for (size_t i = 0; i < COUNT_OF(a); i++) {
		offer(&a[i]);
		server_advance(s, 3000);
	}
	for (size_t i = 0; i < COUNT_OF(a); i++) {
		await_offers(3 - (int)i);
		server_advance(s, i == 0 ? 1000 : 3000);
		gamer_leg_expect_error(a[i], SAYS_NOT_FOUND);
	}
	await_offers(0);
}

/* By its end, and not because its time is up. */
Test(rooms_stream, a_leg_that_closes_withdraws_its_offer)
{
	static const char *const long_wait[] = { "rooms.relay=yes", "limits.rooms_offer_ms=600000", NULL };
	static uint8_t           early[100000];
	struct gamer_leg        *a;
	uint32_t                 id;

	restart_with(long_wait);
	id = offer(&a);
	gamer_leg_free(a);
	await_offers(0);
	accept_fails(bob, id);

	id = offer(&a);
	gamer_leg_abort(a);
	await_offers(0);
	accept_fails(bob, id);

	/* The end is behind bytes that are not read. */
	id = offer(&a);
	gamer_leg_send(a, BYTES(early, sizeof(early)));
	gamer_leg_free(a);
	await_offers(0);
	accept_fails(bob, id);

	id = offer(&a);
	gamer_leg_send(a, BYTES(early, sizeof(early)));
	gamer_leg_abort(a);
	await_offers(0);
	accept_fails(bob, id);
}

Test(rooms_stream, a_target_that_goes_ends_the_wait_at_once)
{
	struct gamer_leg *a, *b;
	struct gamer     *carol = join("carol");

	a = gamer_leg_connect(alice, carol->user_id, VPORT);
	gamer_expect_push(carol, PUSH_ROUTE);
	gamer_expect_push(carol, PUSH_ROUTE);
	gamer_expect_offer(carol, alice->user_id, VPORT);
	forget_pushes(bob);
	offer(&b);
	gamer_hangup(carol);
	gamer_leg_expect_error(a, SAYS_NOT_FOUND);
	await_offers(1);
	gamer_free(carol);
}

Test(rooms_stream, who_offered_may_lose_his_connection_and_the_offer_stands)
{
	struct gamer_leg *a, *b;
	uint32_t          id = offer(&a);

	gamer_hangup(alice);
	gamer_expect_left(bob, room, 1, 2);
	b = gamer_leg_accept(bob, id);
	gamer_leg_expect_ready(b);
	gamer_leg_expect_ready(a);
}

Test(rooms_stream, an_offer_is_accepted_once)
{
	struct gamer_leg *a, *b;
	uint32_t          id = offer(&a);

	b = gamer_leg_accept(bob, id);
	gamer_leg_expect_ready(b);
	gamer_leg_expect_ready(a);
	accept_fails(bob, id);
	gamer_leg_send(a, TEXT("unharmed"));
	gamer_leg_expect(b, TEXT("unharmed"));
}

Test(rooms_stream, an_accept_that_fails_leaves_the_offer_open)
{
	struct gamer_leg *a, *b;
	struct gamer     *carol = join("carol");
	uint32_t          id;

	forget_pushes(bob);
	id = offer(&a);
	accept_fails(carol, id);
	accept_fails(alice, id);
	gamer_leg_expect_error(send_first(bob, ASK_STREAM_ACCEPT,
	                                  &(struct first){ 1, bob->user_id, bob->token + 1, id, 0 }, ACCEPT_BYTES),
	                       SAYS_NOT_FOUND);
	accept_fails(bob, id + 1);
	b = gamer_leg_accept(bob, id);
	gamer_leg_expect_ready(b);
	gamer_leg_expect_ready(a);
	gamer_free(carol);
}

/* --- Refusals --- */

Test(rooms_stream, what_is_missing_or_wrong_is_bad_or_not_found)
{
	struct gamer_leg *a;
	uint32_t          id       = offer(&a);
	struct gamer     *stranger = gamer_new(s, TITLE, "stranger"), *unnamed = gamer_dial(s);
	const struct {
		uint8_t      type;
		struct first f;
		size_t       len;
		uint32_t     code;
	} cases[] = {
		/* req, user or token are not whole */
		{ ASK_STREAM_CONNECT, { 1, alice->user_id, alice->token, bob->user_id, 1 }, 4, SAYS_BAD },
		{ ASK_STREAM_CONNECT, { 1, alice->user_id, alice->token, bob->user_id, 1 }, 11, SAYS_BAD },
		{ ASK_STREAM_ACCEPT, { 1, bob->user_id, bob->token, id, 0 }, 11, SAYS_BAD },
		/* the rest is not */
		{ ASK_STREAM_CONNECT, { 1, alice->user_id, alice->token, bob->user_id, 1 }, 12, SAYS_NOT_FOUND },
		{ ASK_STREAM_CONNECT, { 1, alice->user_id, alice->token, bob->user_id, 1 }, 17, SAYS_NOT_FOUND },
		{ ASK_STREAM_ACCEPT, { 1, bob->user_id, bob->token, id, 0 }, 12, SAYS_NOT_FOUND },
		{ ASK_STREAM_ACCEPT, { 1, bob->user_id, bob->token, id, 0 }, 15, SAYS_NOT_FOUND },
		/* wrong */
		{ ASK_STREAM_CONNECT, { 1, alice->user_id, bob->token, bob->user_id, 1 }, 18, SAYS_NOT_FOUND },
		{ ASK_STREAM_CONNECT, { 1, 99999, alice->token, bob->user_id, 1 }, 18, SAYS_NOT_FOUND },
		{ ASK_STREAM_CONNECT, { 1, alice->user_id, alice->token, 99999, 1 }, 18, SAYS_NOT_FOUND },
		{ ASK_STREAM_CONNECT, { 1, alice->user_id, alice->token, stranger->user_id, 1 }, 18, SAYS_NOT_FOUND },
		{ ASK_STREAM_CONNECT, { 1, stranger->user_id, stranger->token, bob->user_id, 1 }, 18, SAYS_NOT_FOUND },
		{ ASK_STREAM_ACCEPT, { 1, bob->user_id, alice->token, id, 0 }, 16, SAYS_NOT_FOUND },
		{ ASK_STREAM_ACCEPT, { 1, bob->user_id, bob->token, 0, 0 }, 16, SAYS_NOT_FOUND },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++)
		gamer_leg_expect_error(send_first(alice, cases[i].type, &cases[i].f, cases[i].len), cases[i].code);
	gamer_leg_expect_refused(gamer_leg_frame(alice, ASK_STREAM_CONNECT, "abc", 3), 0, SAYS_BAD);
	gamer_leg_expect_refused(gamer_leg_frame(alice, ASK_STREAM_ACCEPT, "", 0), 0, SAYS_BAD);
	gamer_expect_silence(bob);
	await_offers(1);
	gamer_free(stranger);
	gamer_free(unnamed);
}

Test(rooms_stream, without_a_relay_bad_comes_first_and_everything_else_is_no_relay)
{
	restart_with(NULL);
	gamer_leg_expect_error(gamer_leg_connect(alice, bob->user_id, VPORT), SAYS_NO_RELAY);
	gamer_leg_expect_error(gamer_leg_accept(bob, 1), SAYS_NO_RELAY);
	gamer_leg_expect_error(send_first(alice, ASK_STREAM_CONNECT, &(struct first){ 1, 99999, 1, 99999, 1 }, 18),
	                       SAYS_NO_RELAY);
	gamer_leg_expect_error(send_first(alice, ASK_STREAM_CONNECT, &(struct first){ 1, 99999, 1, 0, 0 }, 12),
	                       SAYS_NO_RELAY);
	gamer_leg_expect_error(send_first(alice, ASK_STREAM_CONNECT, &(struct first){ 1, 99999, 1, 0, 0 }, 11),
	                       SAYS_BAD);
	gamer_expect_silence(bob);
}

Test(rooms_stream, a_player_has_eight_offers_open)
{
	struct gamer_leg *a[8], *b;
	uint32_t          id[8];

	for (size_t i = 0; i < COUNT_OF(a); i++)
		id[i] = offer(&a[i]);
	gamer_leg_expect_error(gamer_leg_connect(alice, bob->user_id, VPORT), SAYS_LIMIT);
	gamer_expect_silence(bob);
	b = gamer_leg_connect(bob, alice->user_id, VPORT);
	gamer_expect_offer(alice, bob->user_id, VPORT);
	gamer_leg_free(b);

	gamer_leg_free(a[3]);
	await_offers(7);
	id[3] = offer(&a[3]);
	gamer_leg_expect_error(gamer_leg_connect(alice, bob->user_id, VPORT), SAYS_LIMIT);
	b = gamer_leg_accept(bob, id[5]);
	gamer_leg_expect_ready(b);
	offer(&a[5]);
	gamer_leg_expect_error(gamer_leg_connect(alice, bob->user_id, VPORT), SAYS_LIMIT);
	server_advance(s, 10000);
	await_offers(0);
	offer(&a[0]);
}

Test(rooms_stream, streams_and_offers_together_have_their_limit)
{
	static const char *const two[] = { "rooms.relay=yes", "limits.rooms_streams=2", NULL };
	struct gamer_leg        *a, *b, *waits;

	restart_with(two);
	gamer_stream(&a, &b, alice, bob, VPORT);
	uint32_t id = offer(&waits);
	gamer_leg_expect_error(gamer_leg_connect(alice, bob->user_id, VPORT), SAYS_LIMIT);
	gamer_leg_expect_error(gamer_leg_connect(alice, 99999, VPORT), SAYS_NOT_FOUND);
	gamer_leg_expect_ready(gamer_leg_accept(bob, id));
	gamer_leg_expect_error(gamer_leg_connect(alice, bob->user_id, VPORT), SAYS_LIMIT);
	gamer_leg_abort(a);
	await_streams(1);
	offer(&a);
	gamer_leg_expect_error(gamer_leg_connect(alice, bob->user_id, VPORT), SAYS_LIMIT);
}

Test(rooms_stream, legs_count_as_connections_until_the_stream_ends)
{
	static const char *const six[] = { "rooms.relay=yes", "limits.rooms_connections=6", NULL };
	struct gamer_leg        *a, *b, *waits, *other;

	restart_with(six);
	gamer_stream(&a, &b, alice, bob, VPORT);
	offer(&waits);
	offer(&other);
	gamer_leg_expect_end(gamer_leg_dial(alice));
	server_await_metric(s, "coopd_rooms_refused_total", "reason=\"total\"", 1, DIAL_PATIENCE_MS);

	/* One that waited has gone. */
	gamer_leg_free(waits);
	server_await_metric(s, "coopd_tcp_connections", NULL, 3, DIAL_PATIENCE_MS);
	offer(&waits);
	gamer_leg_expect_end(gamer_leg_dial(alice));

	/* Half of a stream is a stream. */
	gamer_leg_end_output(a);
	expect_end_of_input(b);
	gamer_leg_expect_end(gamer_leg_dial(alice));
	gamer_leg_free(b);
	await_streams(0);
	offer(&b);
	offer(&b);
	gamer_leg_expect_end(gamer_leg_dial(alice));
}

/* --- What streams do not depend on --- */

Test(rooms_stream, streams_survive_rooms_and_control_connections)
{
	struct gamer_leg *a, *b;

	gamer_stream(&a, &b, alice, bob, VPORT);
	gamer_leave(alice, room);
	gamer_leg_send(a, TEXT("no room"));
	gamer_leg_expect(b, TEXT("no room"));
	gamer_hangup(alice);
	gamer_hangup(bob);
	server_await_metric(s, "coopd_rooms_connections", NULL, 0, DIAL_PATIENCE_MS);
	server_advance_steps(s, 3600000, 10000, NULL, NULL);
	gamer_leg_send(b, TEXT("nobody"));
	gamer_leg_expect(a, TEXT("nobody"));
	await_streams(1);
}

Test(rooms_stream, a_leg_that_waits_is_no_player_and_needs_no_heartbeat)
{
	static const char *const long_wait[] = { "rooms.relay=yes", "limits.rooms_offer_ms=600000", NULL };
	struct gamer_leg        *a, *b;
	uint32_t                 id;

	restart_with(long_wait);
	id = offer(&a);
	cr_expect_eq(server_metric(s, "coopd_rooms_connections", NULL), 2);
	cr_expect_eq(server_metric(s, "coopd_rooms_players", NULL), 2);
	for (int i = 0; i < 5; i++) {
		server_advance(s, 80000);
		gamer_heartbeat(alice);
		gamer_heartbeat(bob);
		gamer_expect_silence(alice);
		gamer_expect_silence(bob);
	}
	b = gamer_leg_accept(bob, id);
	gamer_leg_expect_ready(b);
	gamer_leg_expect_ready(a);
}

Test(rooms_stream, a_stop_ends_them)
{
	struct gamer_leg *a, *b, *waits;
	char              byte;

	gamer_stream(&a, &b, alice, bob, VPORT);
	offer(&waits);
	server_stop(s);
	cr_expect_leq(dial_read(a->fd, &byte, 1, real_now_ms() + DIAL_PATIENCE_MS), 0);
	cr_expect_leq(dial_read(b->fd, &byte, 1, real_now_ms() + DIAL_PATIENCE_MS), 0);
}
