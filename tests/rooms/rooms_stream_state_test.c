/*
 * Streams until they are open: who may offer one to whom, who may accept it, and how an offer ends.
 */
#include "rooms/rooms_stream_state.h"

#include "support/rooms_table.h"
#include "support/vectors.h"

#include <criterion/criterion.h>
#include <string.h>

#define HERE  "198.51.100.7"
#define THERE "203.0.113.9"

static struct table_seat *alice, *bob, *carol; /* 1, 2, 3 */
static struct rooms_offer legs[16];            /* each of a connection of its own */

static void start(void)
{
	table_open();
	table.state.relays = true;
	alice              = table_player(HERE, "alice");
	bob                = table_player(THERE, "bob");
	carol              = table_player("192.0.2.3", "carol");
	table_join(bob, table_create(alice, 8));
}

static void stop(void)
{
	table_expect_silence();
	for (size_t i = 0; i < COUNT_OF(legs); i++)
		rooms_offer_withdraw(&table.streams, &legs[i]);
	cr_expect_eq(table.streams.count, 0);
	cr_expect_eq(map_count(&table.streams.by_id), 0);
	cr_expect_eq(alice->player.offers, 0);
	table_close();
}

TestSuite(rooms_stream_state, .init = start, .fini = stop);

/* What a leg's first frame came to. */
static struct rooms_offer *accepted;
static uint32_t            req;

static enum rooms_code leg_bytes(struct rooms_offer *mine, uint8_t type, const void *payload, size_t len)
{
	accepted = &legs[0];
	req      = 0xdead;
	return rooms_on_leg(&table.streams, mine, &accepted, &req, type, payload, len, table.now.mono_ms);
}

static enum rooms_code leg(struct rooms_offer *mine, const struct rooms_request *r)
{
	uint8_t   frame[64];
	struct wr w = wr_over(frame, sizeof(frame));

	rooms_request_build(&w, r);
	return leg_bytes(mine, r->type, frame + 3, wr_len(&w) - 3);
}

static struct rooms_request request_connect(const struct table_seat *from, uint32_t to)
{
	return (struct rooms_request){ .type    = ROOMS_STREAM_CONNECT,
		                       .req     = 1,
		                       .user_id = from->player.user_id,
		                       .token   = from->player.token,
		                       .to_user = to,
		                       .vport   = 3658 };
}

static struct rooms_request request_accept(const struct table_seat *from, uint32_t stream)
{
	return (struct rooms_request){ .type      = ROOMS_STREAM_ACCEPT,
		                       .req       = 1,
		                       .user_id   = from->player.user_id,
		                       .token     = from->player.token,
		                       .stream_id = stream };
}

static enum rooms_code say_connect(struct rooms_offer *mine, const struct table_seat *from, uint32_t to)
{
	struct rooms_request r = request_connect(from, to);

	return leg(mine, &r);
}

static enum rooms_code say_accept(const struct table_seat *from, uint32_t stream)
{
	struct rooms_request r     = request_accept(from, stream);
	struct rooms_offer   other = { 0 };
	enum rooms_code      code  = leg(&other, &r);

	cr_expect_eq(other.id, 0, "who accepts offers nothing");
	return code;
}

/* An offer of alice's to bob, which he has been told of. */
static void offer(struct rooms_offer *mine)
{
	cr_assert_eq(say_connect(mine, alice, 2), ROOMS_FINE);
	table_expect(bob, "A6 000A ?? ?? ?? ?? 00000001 0E4A");
}

/* Offering and accepting */

Test(rooms_stream_state, an_offer_goes_to_the_target_and_stands_10_s)
{
	cr_expect_eq(say_connect(&legs[0], alice, 2), ROOMS_FINE);
	cr_expect_null(accepted);
	cr_expect_eq(req, 1);
	table_expect(bob, "A6 000A 00000001 00000001 0E4A");
	cr_expect_eq(legs[0].id, 1);
	cr_expect_eq(legs[0].req, 1);
	cr_expect_eq(legs[0].from, 1);
	cr_expect_eq(legs[0].to, 2);
	cr_expect_eq(legs[0].until_ms, table.now.mono_ms + 10000);
	cr_expect_eq(alice->player.offers, 1);
}

Test(rooms_stream_state, the_frames_are_as_in_the_description)
{
	struct vectors       v    = vectors_load("rooms.hex");
	const struct vector *want = vectors_find(&v, "stream_ready"), *error = vectors_find(&v, "error");
	uint8_t              out[ROOMS_LEG_FRAME_BYTES];

	cr_assert_eq(rooms_ready_build(out, 1), want->len);
	cr_expect_arr_eq(out, want->data, want->len);
	cr_assert_eq(rooms_error_build(out, 3, ROOMS_NO_HELLO), error->len);
	cr_expect_arr_eq(out, error->data, error->len);
	vectors_free(&v);
}

Test(rooms_stream_state, the_target_accepts_once)
{
	offer(&legs[0]);
	cr_expect_eq(say_accept(bob, 1), ROOMS_FINE);
	cr_expect_eq(accepted, &legs[0]);
	cr_expect_eq(legs[0].id, 0);
	cr_expect_eq(legs[0].req, 1, "STREAM_READY still needs it");
	cr_expect_eq(alice->player.offers, 0);
	cr_expect_eq(say_accept(bob, 1), ROOMS_NOT_FOUND);
	cr_expect_null(accepted);
}

Test(rooms_stream_state, stream_ids_count_and_do_not_come_back)
{
	offer(&legs[0]);
	rooms_offer_withdraw(&table.streams, &legs[0]);
	offer(&legs[0]);
	cr_expect_eq(legs[0].id, 2);
	table.streams.next_id = UINT32_MAX;
	offer(&legs[1]);
	cr_expect_eq(legs[1].id, UINT32_MAX);
	offer(&legs[2]);
	cr_expect_eq(legs[2].id, 1);
	offer(&legs[3]);
	cr_expect_eq(legs[3].id, 3, "2 still stands");
}

Test(rooms_stream_state, an_offer_may_be_accepted_after_the_room_is_gone)
{
	offer(&legs[0]);
	table_say(bob, (struct rooms_request){ .type = ROOMS_LEAVE_ROOM, .req = 7, .room_id = 1 });
	table_ignore_all();
	cr_expect_eq(say_accept(bob, 1), ROOMS_FINE);
	cr_expect_eq(accepted, &legs[0]);
}

/* Failures, in the order of their tests */

Test(rooms_stream_state, a_leg_without_request_user_or_token_is_bad_also_when_the_relay_is_off)
{
	static const uint8_t types[]     = { ROOMS_STREAM_CONNECT, ROOMS_STREAM_ACCEPT };
	static const uint8_t payload[18] = { 0, 0, 0, 9 };

	for (int relays = 0; relays < 2; relays++) {
		table.state.relays = relays;
		for (size_t i = 0; i < COUNT_OF(types); i++)
			for (size_t len = 0; len < 12; len++) {
				cr_expect_eq(leg_bytes(&legs[0], types[i], payload, len), ROOMS_BAD);
				cr_expect_eq(req, len < 4 ? 0u : 9u);
				cr_expect_null(accepted);
			}
	}
}

Test(rooms_stream_state, everything_else_is_9_while_the_relay_is_off)
{
	offer(&legs[0]);
	table.state.relays = false;
	cr_expect_eq(say_connect(&legs[1], alice, 2), ROOMS_NO_RELAY);
	cr_expect_eq(say_connect(&legs[1], alice, 99), ROOMS_NO_RELAY);
	cr_expect_eq(say_accept(bob, 1), ROOMS_NO_RELAY);
	cr_expect_eq(leg_bytes(&legs[1], ROOMS_STREAM_CONNECT, "\0\0\0\1\0\0\0\1\0\0\0\1", 12), ROOMS_NO_RELAY);
	table.state.relays = true;
	cr_expect_eq(say_accept(bob, 1), ROOMS_FINE);
}

Test(rooms_stream_state, a_leg_without_its_last_fields_is_not_found)
{
	struct rooms_request c = request_connect(alice, 2), a;
	uint8_t              frame[64];
	struct wr            w = wr_over(frame, sizeof(frame));

	offer(&legs[0]);
	a = request_accept(bob, 1);
	rooms_request_build(&w, &c);
	for (size_t len = 12; len < 18; len++)
		cr_expect_eq(leg_bytes(&legs[1], c.type, frame + 3, len), ROOMS_NOT_FOUND);
	w = wr_over(frame, sizeof(frame));
	rooms_request_build(&w, &a);
	for (size_t len = 12; len < 16; len++)
		cr_expect_eq(leg_bytes(&legs[1], a.type, frame + 3, len), ROOMS_NOT_FOUND);
	cr_expect_eq(req, 1);
	cr_expect_eq(legs[1].id, 0);
}

Test(rooms_stream_state, a_connect_is_not_found_for_a_wrong_token_user_or_target)
{
	struct table_seat   *stranger = table_sit(HERE);
	struct rooms_request r        = request_connect(alice, 2);

	r.token++;
	cr_expect_eq(leg(&legs[0], &r), ROOMS_NOT_FOUND);
	r.token = 0;
	cr_expect_eq(leg(&legs[0], &r), ROOMS_NOT_FOUND);
	cr_expect_eq(say_connect(&legs[0], stranger, 2), ROOMS_NOT_FOUND);
	cr_expect_eq(say_connect(&legs[0], alice, 99), ROOMS_NOT_FOUND);
	cr_expect_eq(say_connect(&legs[0], alice, stranger->player.user_id), ROOMS_NOT_FOUND);
	cr_expect_eq(say_connect(&legs[0], alice, 3), ROOMS_NOT_FOUND, "carol shares no room");
	cr_expect_eq(say_connect(&legs[0], carol, 1), ROOMS_NOT_FOUND);
	r         = request_connect(alice, 2);
	r.user_id = 99;
	cr_expect_eq(leg(&legs[0], &r), ROOMS_NOT_FOUND);
	cr_expect_eq(legs[0].id, 0);
	cr_expect_eq(alice->player.offers, 0);
}

Test(rooms_stream_state, a_failed_accept_leaves_the_offer_open)
{
	struct rooms_request r;

	offer(&legs[0]);
	cr_expect_eq(say_accept(bob, 2), ROOMS_NOT_FOUND);
	cr_expect_eq(say_accept(bob, 0), ROOMS_NOT_FOUND);
	cr_expect_eq(say_accept(alice, 1), ROOMS_NOT_FOUND, "made to somebody else");
	cr_expect_eq(say_accept(carol, 1), ROOMS_NOT_FOUND);
	r = request_accept(bob, 1);
	r.token++;
	cr_expect_eq(leg(&legs[1], &r), ROOMS_NOT_FOUND);
	cr_expect_eq(say_accept(bob, 1), ROOMS_FINE);
}

Test(rooms_stream_state, whose_name_was_taken_over_has_no_token_to_accept_with)
{
	struct table_seat *again = table_sit(THERE);

	offer(&legs[0]);
	table_hello(again, TABLE_TITLE, "bob");
	table_ignore(alice);
	cr_expect_eq(bob->player.token, 0);
	cr_expect_eq(say_accept(bob, 1), ROOMS_NOT_FOUND);
	cr_expect_eq(say_accept(again, 1), ROOMS_NOT_FOUND);
}

Test(rooms_stream_state, a_player_has_so_many_offers_and_no_more)
{
	for (int i = 0; i < 8; i++)
		offer(&legs[i]);
	cr_expect_eq(say_connect(&legs[8], alice, 2), ROOMS_LIMIT);
	cr_expect_eq(say_connect(&legs[8], alice, 99), ROOMS_NOT_FOUND);
	cr_expect_eq(say_connect(&legs[8], bob, 1), ROOMS_FINE);
	table_expect(alice, "A6 *");
	rooms_offer_withdraw(&table.streams, &legs[3]);
	offer(&legs[3]);
	cr_expect_eq(say_connect(&legs[9], alice, 2), ROOMS_LIMIT);
}

/* The end of offers */

Test(rooms_stream_state, offers_and_open_streams_together_have_their_limit)
{
	table.limits.rooms_streams = 3;
	table.streams.open         = 1;
	offer(&legs[0]);
	offer(&legs[1]);
	cr_expect_eq(say_connect(&legs[2], alice, 2), ROOMS_LIMIT);
	cr_expect_eq(legs[2].id, 0);
	cr_expect_eq(say_connect(&legs[2], alice, 3), ROOMS_NOT_FOUND, "what is wrong comes first");
	cr_expect_eq(say_accept(bob, legs[0].id), ROOMS_FINE);
	table.streams.open = 2;
	cr_expect_eq(say_connect(&legs[2], alice, 2), ROOMS_LIMIT);
	table.streams.open = 1;
	offer(&legs[2]);
}

Test(rooms_stream_state, an_offer_whose_time_is_up_is_not_accepted_any_more)
{
	offer(&legs[0]);
	table.now.mono_ms += 9999;
	offer(&legs[1]);
	cr_expect_eq(say_accept(bob, 1), ROOMS_FINE);
	table.now.mono_ms += 9999;
	offer(&legs[2]);
	table.now.mono_ms += 1;
	cr_expect_eq(say_accept(bob, 2), ROOMS_NOT_FOUND);
	cr_expect_eq(legs[1].id, 2, "it is for those who ask for what is late");
	cr_expect_eq(say_accept(bob, 3), ROOMS_FINE);
}

Test(rooms_stream_state, an_offer_is_late_after_10_s_in_the_order_they_were_made)
{
	int64_t next;

	cr_expect_null(rooms_offers_late(&table.streams, table.now.mono_ms, &next));
	cr_expect_eq(next, 0);
	offer(&legs[0]);
	table.now.mono_ms += 500;
	offer(&legs[1]);
	cr_expect_null(rooms_offers_late(&table.streams, legs[0].until_ms - 1, &next));
	cr_expect_eq(next, legs[0].until_ms);
	cr_expect_eq(rooms_offers_late(&table.streams, legs[0].until_ms, &next), &legs[0]);
	cr_expect_null(rooms_offers_late(&table.streams, legs[0].until_ms, &next));
	cr_expect_eq(next, legs[1].until_ms);
	cr_expect_eq(say_accept(bob, 1), ROOMS_NOT_FOUND, "the id is dead");
	cr_expect_eq(rooms_offers_late(&table.streams, legs[1].until_ms + 5000, &next), &legs[1]);
	cr_expect_eq(alice->player.offers, 0);
}

Test(rooms_stream_state, an_offer_is_withdrawn_once)
{
	offer(&legs[0]);
	rooms_offer_withdraw(&table.streams, &legs[0]);
	rooms_offer_withdraw(&table.streams, &legs[0]);
	cr_expect_eq(say_accept(bob, 1), ROOMS_NOT_FOUND);
	cr_expect_eq(alice->player.offers, 0);
}

Test(rooms_stream_state, offers_to_one_who_is_gone_are_over_and_others_stand)
{
	table_join(carol, 1);
	offer(&legs[0]);
	cr_expect_eq(say_connect(&legs[1], alice, 3), ROOMS_FINE);
	table_expect(carol, "A6 *");
	offer(&legs[2]);
	cr_expect_eq(rooms_offers_of(&table.streams, &bob->player), &legs[0]);
	cr_expect_eq(rooms_offers_of(&table.streams, &bob->player), &legs[2]);
	cr_expect_null(rooms_offers_of(&table.streams, &bob->player));
	cr_expect_eq(alice->player.offers, 1);
	cr_expect_eq(say_accept(carol, 2), ROOMS_FINE);
}

Test(rooms_stream_state, an_offer_outlives_the_player_who_made_it)
{
	struct table_seat *dave = table_player(HERE, "dave");

	table_join(dave, 1);
	cr_expect_eq(say_connect(&legs[0], dave, 2), ROOMS_FINE);
	table_rise(dave);
	table_ignore_all();
	cr_expect_eq(say_accept(bob, 1), ROOMS_FINE);
	cr_expect_eq(accepted, &legs[0]);
}
