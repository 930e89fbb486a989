/*
 * A player from his HELLO to his end: what he may be called, who gets a name that is held, HELLO again, silence, and how a
 * connection ends.
 */
#include "support/rooms_client.h"
#include "support/rooms_path.h"

#include "base/auto.h"

#include <criterion/criterion.h>

#include <string.h>

#define TITLE       "NPWR00001_00"
#define OTHER       "NPWR00002_00"
#define OTHER_PLACE "127.0.0.2"

#define SILENCE_MS 90000
#define HELLO_MS   15000
#define CLOSE_TO   500 /* of a timer that need not be exact */

static struct server *s;

static void start(void)
{
	s = server_start((const char *[]){ "rooms.relay=yes", NULL });
}

static void stop(void)
{
	server_finish(s);
}

TestSuite(rooms_session, .init = start, .fini = stop);

/* Whatever comes before it. */
static void expect_end_at_last(struct gamer *c)
{
	while (gamer_next(c, DIAL_PATIENCE_MS))
		;
	cr_expect_lt(c->fd, 0);
}

static void part(struct gamer *a, struct gamer *b)
{
	gamer_expect_silence(a);
	gamer_expect_silence(b);
	gamer_free(a);
	gamer_free(b);
}

/* --- HELLO --- */

Test(rooms_session, any_title_but_the_empty_one_is_one_and_is_taken_byte_for_byte)
{
	static const char *const titles[] = { "NPWR00860_00", "npwr00860_00", "x", " ", "\xff\xfe\x01" };
	struct gamer            *of[COUNT_OF(titles)];
	uint64_t                 room[COUNT_OF(titles)];

	for (size_t i = 0; i < COUNT_OF(titles); i++) {
		char name[] = { 'a', (char)('0' + i), '\0' };

		of[i]   = gamer_new(s, titles[i], name);
		room[i] = gamer_create(of[i], 2, NOTHING)->room_id;
	}
	for (size_t i = 0; i < COUNT_OF(titles); i++) {
		struct gamer_message *m = gamer_search(of[i], 0, 100);

		cr_expect(m->count == 1 && m->found->room_id == room[i], "%zu rooms of title %zu", m->count, i);
		gamer_free(of[i]);
	}
}

Test(rooms_session, an_empty_name_is_one)
{
	struct gamer *c = gamer_new(s, TITLE, "");

	cr_expect_str_eq(gamer_create(c, 1, NOTHING)->members->name, "");
	gamer_free(c);
}

Test(rooms_session, a_name_may_fill_its_field_and_ends_at_its_first_nul)
{
	static const uint8_t hello[] = "NPWR00001_00bob\0garbage 8901\0\x10";
	struct gamer        *c       = gamer_new(s, TITLE, "sixteen-letters-");

	cr_expect_str_eq(gamer_create(c, 1, NOTHING)->members->name, "sixteen-letters-");
	gamer_expect_success(c, gamer_ask(c, ASK_HELLO, hello, 30), ANSWER_HELLO_ACK);
	cr_expect_str_eq(gamer_create(c, 1, NOTHING)->members->name, "bob"); /* and NULs behind it */

	struct gamer *other = gamer_dial_from(s, OTHER_PLACE);

	gamer_expect_error(other, gamer_ask_hello(other, TITLE, "bob", 0), SAYS_TAKEN);
	gamer_free(c);
	gamer_free(other);
}

Test(rooms_session, user_ids_and_tokens_are_never_used_again)
{
	enum { COUNT = 20 };

	uint32_t ids[COUNT], tokens[COUNT];

	for (size_t i = 0; i < COUNT; i++) {
		struct gamer *c = gamer_new(s, TITLE, "alice");

		ids[i]    = c->user_id;
		tokens[i] = c->token;
		gamer_free(c);
		for (size_t k = 0; k < i; k++) {
			cr_expect_gt(ids[i], ids[k]);
			cr_expect_neq(tokens[i], tokens[k]);
		}
	}
}

Test(rooms_session, a_token_ends_with_its_connection)
{
	struct gamer *a, *b;

	gamer_meet(s, TITLE, &a, &b);
	struct gamer_leg *before = gamer_leg_connect(b, a->user_id, 1);

	gamer_leg_accept(a, gamer_expect_offer(a, b->user_id, 1));
	gamer_leg_expect_ready(before);
	gamer_hangup(b);
	gamer_expect_push(a, PUSH_MEMBER_LEFT);
	gamer_leg_expect_error(gamer_leg_connect(b, a->user_id, 1), SAYS_NOT_FOUND);
	gamer_free(a);
	gamer_free(b);
}

/* --- One player per name --- */

Test(rooms_session, a_name_that_is_held_at_another_address_is_taken_in_every_title_and_case)
{
	struct gamer *a = gamer_new(s, TITLE, "Alice"), *c = gamer_dial_from(s, OTHER_PLACE);

	gamer_expect_error(c, gamer_ask_hello(c, TITLE, "Alice", 0), SAYS_TAKEN);
	gamer_expect_error(c, gamer_ask_hello(c, OTHER, "Alice", 0), SAYS_TAKEN);
	gamer_expect_error(c, gamer_ask_hello(c, TITLE, "aLICE", 0), SAYS_TAKEN);
	gamer_hello(c, TITLE, "Alicia", 0);
	gamer_expect_silence(a);
	gamer_free(a);
	gamer_expect_silence(c);
	gamer_free(c);
}

Test(rooms_session, a_name_is_free_once_its_player_is_gone)
{
	struct gamer *a = gamer_new(s, TITLE, "alice"), *b = gamer_new_from(s, OTHER_PLACE, TITLE, "bob");
	uint64_t      room = gamer_create(b, 2, NOTHING)->room_id;

	gamer_join(a, room, NOTHING);
	gamer_expect_joined(b, room, a);
	gamer_expect_route(b, room, a->user_id, 0);
	gamer_free(a);
	gamer_expect_left(b, room, 2, 1);
	gamer_hello(b, TITLE, "alice", 0);
	gamer_free(b);
}

Test(rooms_session, at_the_same_address_a_name_passes_to_who_comes_last_with_its_seat)
{
	struct gamer *a, *b;
	uint64_t      room = gamer_meet(s, TITLE, &a, &b);
	struct gamer *again;

	gamer_set(a, room, 0, TEXT("full when two are in"));
	gamer_expect_data(b, room, 0, TEXT("full when two are in"));
	again = gamer_dial(s);
	gamer_hello(again, TITLE, "BOB", 3659);
	gamer_expect_left(a, room, 2, 1); /* and it was sent before the HELLO_ACK */
	gamer_expect_end(b);
	cr_expect_neq(again->user_id, b->user_id);
	cr_expect_eq(gamer_join(again, room, NOTHING)->my_member, 3);
	gamer_expect_joined(a, room, again);
	gamer_free(a);
	gamer_free(b);
	gamer_free(again);
}

Test(rooms_session, who_returns_finds_his_seat_in_a_full_room_at_once)
{
	struct gamer *a = gamer_new(s, TITLE, "alice"), *b = gamer_new(s, TITLE, "bob");
	uint64_t      room = gamer_create(a, 2, NOTHING)->room_id;

	gamer_join(b, room, NOTHING);
	for (int i = 0; i < 5; i++) {
		struct gamer *again = gamer_dial(s);

		gamer_ask_hello(again, TITLE, "bob", 0); /* both at once: nothing is waited for in between */
		gamer_expect_success(again, gamer_ask_join(again, room, NOTHING), ANSWER_ROOM_JOINED);
		expect_end_at_last(b);
		gamer_free(b);
		b = again;
	}
	gamer_free(a);
	gamer_free(b);
}

Test(rooms_session, an_owner_who_is_displaced_gives_the_room_away)
{
	struct gamer *a, *b;
	uint64_t      room  = gamer_meet(s, TITLE, &a, &b);
	struct gamer *again = gamer_new(s, TITLE, "alice");

	gamer_expect_left(b, room, 1, 2);
	gamer_expect_end(a);
	gamer_free(a);
	gamer_free(b);
	gamer_free(again);
}

/* --- HELLO again --- */

Test(rooms_session, hello_again_keeps_the_user_and_changes_the_token)
{
	struct gamer *a, *b;
	uint64_t      room  = gamer_meet(s, TITLE, &a, &b);
	uint32_t      user  = b->user_id;
	uint32_t      token = b->token;

	gamer_hello(b, TITLE, "bob", 1234);
	cr_expect_eq(b->user_id, user);
	cr_expect_neq(b->token, token);
	gamer_expect_silence(a); /* he is still in the room */
	gamer_say(b, room, 0, TEXT("me again"));
	gamer_expect_said(a, room, 2, 0, TEXT("me again"));
	cr_expect_eq(gamer_join(a, room, NOTHING)->members[1].port, 1234);

	token    = b->token;
	b->token = token + 1;
	gamer_leg_expect_error(gamer_leg_connect(b, a->user_id, 1), SAYS_NOT_FOUND);
	b->token = token;
	gamer_leg_connect(b, a->user_id, 1);
	gamer_expect_offer(a, user, 1);
	part(a, b);
}

Test(rooms_session, hello_again_with_another_name_or_title_leaves_all_rooms_first)
{
	static const char *const as[][2] = { { TITLE, "rob" }, { OTHER, "bob" }, { TITLE, "BOB" } };

	for (size_t i = 0; i < COUNT_OF(as); i++) {
		struct gamer *a, *b;
		uint64_t      room = gamer_meet(s, TITLE, &a, &b), own = gamer_create(b, 2, NOTHING)->room_id;

		gamer_hello(b, as[i][0], as[i][1], 0);
		gamer_expect_left(a, room, 2, 1);
		gamer_expect_error(b, gamer_ask_leave(b, room), SAYS_NOT_IN_ROOM);
		gamer_expect_error(b, gamer_ask_leave(b, own), SAYS_NOT_IN_ROOM);
		cr_expect_eq(gamer_search(a, 0, 10)->total, 1); /* his own is gone */
		cr_expect_str_eq(gamer_create(b, 1, NOTHING)->members->name, as[i][1]);
		part(a, b);
	}
}

Test(rooms_session, hello_again_that_fails_changes_nothing)
{
	struct gamer *a, *b, *c = gamer_new_from(s, OTHER_PLACE, TITLE, "carol");
	uint64_t      room = gamer_meet(s, TITLE, &a, &b);

	gamer_expect_error(b, gamer_ask_hello(b, TITLE, "carol", 1), SAYS_TAKEN);
	gamer_expect_error(b, gamer_ask_hello(b, "", "rob", 1), SAYS_BAD);
	gamer_lengthen(b, -1);
	gamer_expect_error(b, gamer_ask_hello(b, OTHER, "rob", 1), SAYS_BAD);

	struct gamer_message *m = gamer_join(a, room, NOTHING);

	cr_expect(m->count == 2 && m->members[1].port == 3658);
	cr_expect_str_eq(m->members[1].name, "bob");
	gamer_leg_connect(b, a->user_id, 1); /* the token is as it was */
	gamer_expect_offer(a, b->user_id, 1);
	gamer_free(c);
	part(a, b);
}

Test(rooms_session, a_name_that_was_given_up_is_free)
{
	struct gamer *a = gamer_new(s, TITLE, "alice"), *c = gamer_dial_from(s, OTHER_PLACE);

	gamer_hello(a, TITLE, "alicia", 0);
	gamer_hello(c, TITLE, "alice", 0);
	gamer_expect_error(a, gamer_ask_hello(a, TITLE, "alice", 0), SAYS_TAKEN);
	gamer_free(a);
	gamer_free(c);
}

/* --- Silence --- */

Test(rooms_session, a_player_who_is_silent_for_90_seconds_is_dropped)
{
	struct gamer *a, *b;
	uint64_t      room = gamer_meet(s, TITLE, &a, &b);

	server_advance(s, SILENCE_MS - CLOSE_TO);
	gamer_expect_silence(a); /* which is a frame */
	server_advance(s, 2 * CLOSE_TO);
	gamer_expect_end(b);
	gamer_expect_left(a, room, 2, 1);
	gamer_expect_silence(a);
	server_await_metric(s, "coopd_rooms_closed_total", "reason=\"silent\"", 1, DIAL_PATIENCE_MS);
	gamer_free(a);
	gamer_free(b);
}

Test(rooms_session, every_whole_frame_breaks_the_silence_and_a_part_of_one_does_not)
{
	struct gamer *a = gamer_new(s, TITLE, "alice"), *b = gamer_new(s, TITLE, "bob");
	struct gamer *c = gamer_new(s, TITLE, "carol");

	for (int i = 0; i < 4; i++) {
		server_advance(s, 30000);
		gamer_expect_silence(a);
		gamer_send_frame(b, 0x7F, "", 0); /* ignored, but whole */
		gamer_send_frame(b, ASK_HEARTBEAT, "\0\0\0\1", 4);
		if (i < 3)
			gamer_send(c, "\x11\0\x08", 1); /* never whole */
	}
	gamer_expect_end(c);
	gamer_expect_silence(a);
	gamer_expect_silence(b);
	gamer_free(a);
	gamer_free(b);
	gamer_free(c);
}

Test(rooms_session, a_connection_without_hello_has_15_seconds)
{
	struct gamer *c = gamer_dial(s), *d = gamer_dial(s), *e = gamer_dial(s);

	gamer_expect_error(c, gamer_ask_search(c, 0, 0), SAYS_NO_HELLO);
	gamer_expect_error(d, gamer_ask_search(d, 0, 0), SAYS_NO_HELLO);
	gamer_expect_error(e, gamer_ask_search(e, 0, 0), SAYS_NO_HELLO);
	server_advance(s, HELLO_MS - CLOSE_TO);
	gamer_hello(d, TITLE, "dave", 0);
	gamer_expect_error(e, gamer_ask_search(e, 0, 0), SAYS_NO_HELLO); /* which is a frame */
	server_advance(s, 2 * CLOSE_TO);
	gamer_expect_end(c);
	gamer_expect_silence(d);
	gamer_expect_silence(e);
	server_await_metric(s, "coopd_rooms_closed_total", "reason=\"no_hello\"", 1, DIAL_PATIENCE_MS);
	gamer_free(c);
	gamer_free(d);
	gamer_free(e);
}

Test(rooms_session, a_connection_that_never_says_anything_has_15_seconds_too)
{
	struct gamer *c = gamer_dial(s);

	server_await_metric(s, "coopd_rooms_connections", NULL, 1, DIAL_PATIENCE_MS);
	server_advance(s, HELLO_MS + CLOSE_TO);
	gamer_expect_end(c);
	gamer_free(c);
}

/* --- The end --- */

Test(rooms_session, however_a_connection_ends_its_player_leaves_every_room)
{
	for (int way = 0; way < 3; way++) {
		struct gamer *a, *b;
		uint64_t      one = gamer_meet(s, TITLE, &a, &b), two = gamer_create(a, 4, NOTHING)->room_id;

		gamer_join(b, two, NOTHING);
		gamer_expect_joined(a, two, b);
		gamer_expect_route(a, two, b->user_id, 0);
		if (way == 0)
			gamer_hangup(b);
		else if (way == 1)
			gamer_abort(b);
		else
			gamer_send(b, "\x11\xff\xff half a frame", 16), gamer_hangup(b);
		gamer_expect_left(a, one, 2, 1);
		gamer_expect_left(a, two, 2, 1);
		gamer_expect_silence(a);
		gamer_free(a);
		gamer_free(b);
	}
}

Test(rooms_session, a_server_that_stops_ends_every_connection)
{
	struct gamer *a, *b;

	gamer_meet(s, TITLE, &a, &b);
	server_stop(s);
	expect_end_at_last(a);
	expect_end_at_last(b);
	gamer_free(a);
	gamer_free(b);
}
