/*
 * The tables of errors: what is answered with which code, and which condition is looked at first where several hold.
 */
#include "support/rooms_client.h"
#include "support/rooms_path.h"

#include "base/auto.h"

#include <criterion/criterion.h>

#include <string.h>

#define TITLE    "NPWR00001_00"
#define OTHER    "NPWR00002_00"
#define NO_ROOM  0x1122334455667788
#define ALL_KEYS 256

static struct server *s;
static struct gamer  *alice, *bob;
static uint64_t       room; /* alice's; bob is not in it */

static void start_with(const char *const *sets)
{
	s     = server_start(sets);
	alice = gamer_new(s, TITLE, "alice");
	bob   = gamer_new(s, TITLE, "bob");
	room  = gamer_create(alice, 4, NOTHING)->room_id;
}

static void start(void)
{
	start_with((const char *[]){ "limits.rooms_rooms=3", NULL });
}

static void stop(void)
{
	gamer_free(alice);
	gamer_free(bob);
	server_finish(s);
}

TestSuite(rooms_errors, .init = start, .fini = stop);

/* --- Before HELLO --- */

Test(rooms_errors, before_hello_every_other_type_is_answered_with_7)
{
	struct gamer *c = gamer_dial(s);

	/* Not the first frame: as that, those of streams make it a connection of another kind. */
	gamer_expect_error(c, gamer_ask_search(c, 0, 1), SAYS_NO_HELLO);
	for (unsigned type = 0; type < ALL_KEYS; type++) {
		if (type != ASK_HELLO)
			gamer_expect_error(c, gamer_ask(c, (uint8_t)type, "0123456789", 10), SAYS_NO_HELLO);
	}
	gamer_expect_error(c, gamer_ask(c, ASK_JOIN_ROOM, NULL, 0), SAYS_NO_HELLO); /* and not 1 */
	gamer_hello(c, TITLE, "carol", 0);
	gamer_expect_silence(c);
	gamer_free(c);
}

Test(rooms_errors, a_hello_that_failed_is_none)
{
	struct gamer *c = gamer_dial_from(s, "127.0.0.2");

	gamer_expect_error(c, gamer_ask_hello(c, "", "carol", 0), SAYS_BAD);
	gamer_expect_error(c, gamer_ask_search(c, 0, 1), SAYS_NO_HELLO);
	gamer_expect_error(c, gamer_ask_hello(c, TITLE, "alice", 0), SAYS_TAKEN);
	gamer_expect_error(c, gamer_ask_search(c, 0, 1), SAYS_NO_HELLO);
	gamer_free(c);
}

Test(rooms_errors, a_hello_without_a_title_is_bad_before_its_name_is_looked_at)
{
	struct gamer *c = gamer_dial_from(s, "127.0.0.2");

	gamer_expect_error(c, gamer_ask_hello(c, "", "alice", 0), SAYS_BAD);
	gamer_lengthen(c, -1);
	gamer_expect_error(c, gamer_ask_hello(c, TITLE, "alice", 0), SAYS_BAD);
	gamer_expect_error(c, gamer_ask_hello(c, TITLE, "alice", 0), SAYS_TAKEN);
	gamer_free(c);
}

/* --- Truncated, and longer than need be --- */

#define BODY_MAX 64

/* Bodies in which each field is there and right, whatever else is wrong with them; without blobs' bytes but one. */
static const struct whole {
	const char *name;
	uint8_t     type;
	uint8_t     code; /* when cut */
	size_t      len;
	uint8_t     body[BODY_MAX];
} wholes[] = {
	{ "HELLO", ASK_HELLO, SAYS_BAD, 30, "NPWR00001_00alice\0\0\0\0\0\0\0\0\0\0\0\x0e\x4a" },
	{ "CREATE_ROOM", ASK_CREATE_ROOM, SAYS_BAD, 14, "\x04\0\0\0\0\0\x01x\0\x01y\0\x01z" },
	{ "SEARCH_ROOMS", ASK_SEARCH_ROOMS, SAYS_BAD, 4, "\0\0\0\x01" },
	{ "JOIN_ROOM", ASK_JOIN_ROOM, SAYS_BAD, 11, "\0\0\0\0\0\0\0\0\0\x01x" },
	{ "LEAVE_ROOM", ASK_LEAVE_ROOM, SAYS_NOT_IN_ROOM, 8, "" },
	{ "SET_ROOM_DATA", ASK_SET_ROOM_DATA, SAYS_BAD, 12, "\0\0\0\0\0\0\0\0\0\0\x01x" },
	{ "ROOM_MESSAGE", ASK_ROOM_MESSAGE, SAYS_BAD, 13, "\0\0\0\0\0\0\0\0\0\0\0\x01x" },
	{ "KICK_MEMBER", ASK_KICK_MEMBER, SAYS_BAD, 10, "" },
	{ "RECORD_SCORE", ASK_RECORD_SCORE, SAYS_BAD, 16, "\0\0\0\x01\0\0\0\0\0\0\0\0\x05\0\x01x" },
	{ "GET_RANKING", ASK_GET_RANKING, SAYS_BAD, 10, "\0\0\0\x01\0\0\0\x01\0\x0a" },
	{ "GET_RANKING_BY_ID", ASK_GET_RANKING_BY_ID, SAYS_BAD, 38, "\0\0\0\x01\0\x02" },
};

Test(rooms_errors, a_request_that_is_cut_anywhere_is_bad_and_leave_says_not_in_room)
{
	for (size_t i = 0; i < COUNT_OF(wholes); i++) {
		for (size_t len = 0; len < wholes[i].len; len++) {
			uint32_t              req = gamer_ask(bob, wholes[i].type, wholes[i].body, len);
			struct gamer_message *m   = gamer_answer(bob, req);

			cr_expect(m->type == ANSWER_ERROR && m->code == wholes[i].code, "%s of %zu bytes: %s %u",
			          wholes[i].name, len, gamer_type_name(m->type), m->code);
		}
	}
	gamer_expect_silence(bob);
	cr_expect_eq(gamer_search(bob, 0, 0)->total, 1); /* nothing was made meanwhile */
}

/* Otherwise the test before would cut what is bad anyway. */
Test(rooms_errors, the_same_requests_whole_are_not_bad)
{
	for (size_t i = 0; i < COUNT_OF(wholes); i++) {
		struct gamer         *c   = gamer_new(s, TITLE, "carol");
		uint32_t              req = gamer_ask(c, wholes[i].type, wholes[i].body, wholes[i].len);
		struct gamer_message *m   = gamer_answer(c, req);

		cr_expect_not(m->type == ANSWER_ERROR && m->code == SAYS_BAD, "%s", wholes[i].name);
		gamer_free(c);
	}
}

Test(rooms_errors, bytes_after_the_last_field_are_ignored)
{
	for (size_t i = 0; i < COUNT_OF(wholes); i++) {
		struct gamer *c = gamer_new(s, TITLE, "carol");

		gamer_lengthen(c, 5);
		uint32_t              req = gamer_ask(c, wholes[i].type, wholes[i].body, wholes[i].len);
		struct gamer_message *m   = gamer_answer(c, req);

		cr_expect_not(m->type == ANSWER_ERROR && m->code == SAYS_BAD, "%s", wholes[i].name);
		gamer_free(c);
	}
}

/* --- Types --- */

static bool is_asked_of_players(unsigned type)
{
	for (size_t i = 0; i < COUNT_OF(wholes); i++) {
		if (wholes[i].type == type)
			return true;
	}
	return type == ASK_HEARTBEAT;
}

Test(rooms_errors, any_other_type_is_bad_those_of_replies_pushes_and_streams_too)
{
	for (unsigned type = 0; type < ALL_KEYS; type++) {
		if (!is_asked_of_players(type))
			gamer_expect_error(bob, gamer_ask(bob, (uint8_t)type, "0123456789abcd", 14), SAYS_BAD);
	}
	gamer_expect_silence(bob);
}

/* --- CREATE_ROOM --- */

Test(rooms_errors, a_room_for_nobody_is_bad_and_one_beyond_the_limit_is_too_many)
{
	gamer_expect_error(bob, gamer_ask_create(bob, 0, NOTHING), SAYS_BAD);
	gamer_create(bob, 1, NOTHING);
	gamer_create(bob, 255, NOTHING);
	gamer_expect_error(bob, gamer_ask_create(bob, 1, NOTHING), SAYS_LIMIT);
	gamer_expect_error(bob, gamer_ask_create(bob, 0, NOTHING), SAYS_BAD); /* before the limit */
	gamer_leave(alice, room);
	gamer_create(bob, 1, NOTHING);
}

/* --- JOIN_ROOM --- */

Test(rooms_errors, a_room_that_is_not_there_cannot_be_joined)
{
	gamer_expect_error(bob, gamer_ask_join(bob, NO_ROOM, NOTHING), SAYS_NOT_FOUND);
	gamer_expect_error(bob, gamer_ask_join(bob, 0, NOTHING), SAYS_NOT_FOUND);
	gamer_leave(alice, room); /* it ends with that */
	gamer_expect_error(bob, gamer_ask_join(bob, room, NOTHING), SAYS_NOT_FOUND);
}

Test(rooms_errors, a_room_of_another_title_is_not_there)
{
	struct gamer *carol = gamer_new(s, OTHER, "carol");

	gamer_expect_error(carol, gamer_ask_join(carol, room, NOTHING), SAYS_NOT_FOUND);
	gamer_expect_silence(alice);
	gamer_free(carol);
}

Test(rooms_errors, a_full_room_cannot_be_joined_but_who_is_in_it_is_answered_with_it)
{
	uint64_t pair = gamer_create(alice, 2, NOTHING)->room_id;

	gamer_join(bob, pair, NOTHING);
	struct gamer *carol = gamer_new(s, TITLE, "carol");

	gamer_expect_error(carol, gamer_ask_join(carol, pair, NOTHING), SAYS_FULL);
	cr_expect_eq(gamer_join(bob, pair, NOTHING)->my_member, 2);
	cr_expect_eq(gamer_join(alice, pair, NOTHING)->my_member, 1);

	uint64_t single = gamer_create(alice, 1, NOTHING)->room_id;

	gamer_expect_error(carol, gamer_ask_join(carol, single, NOTHING), SAYS_FULL);
	gamer_free(carol);
}

/* --- What is only for members, and what only for the owner --- */

Test(rooms_errors, who_is_not_in_a_room_cannot_leave_it)
{
	gamer_expect_error(bob, gamer_ask_leave(bob, room), SAYS_NOT_IN_ROOM);
	gamer_expect_error(bob, gamer_ask_leave(bob, NO_ROOM), SAYS_NOT_IN_ROOM);
	gamer_join(bob, room, NOTHING);
	gamer_leave(bob, room);
	gamer_expect_error(bob, gamer_ask_leave(bob, room), SAYS_NOT_IN_ROOM);
}

Test(rooms_errors, setting_looks_at_the_data_then_the_room_then_the_owner)
{
	static const uint8_t flags[5];

	gamer_expect_error(bob, gamer_ask_set(bob, NO_ROOM, 3, NOTHING), SAYS_BAD);
	gamer_expect_error(bob, gamer_ask_set(bob, NO_ROOM, 255, NOTHING), SAYS_BAD);
	gamer_expect_error(bob, gamer_ask_set(bob, NO_ROOM, 2, BYTES(flags, 3)), SAYS_BAD);
	gamer_expect_error(bob, gamer_ask_set(bob, NO_ROOM, 2, BYTES(flags, 5)), SAYS_BAD);
	gamer_expect_error(bob, gamer_ask_set(bob, NO_ROOM, 2, BYTES(flags, 4)), SAYS_NOT_IN_ROOM);
	gamer_expect_error(bob, gamer_ask_set(bob, room, 0, TEXT("x")), SAYS_NOT_IN_ROOM);
	gamer_join(bob, room, NOTHING);
	gamer_expect_error(bob, gamer_ask_set(bob, room, 3, TEXT("x")), SAYS_BAD);
	gamer_expect_error(bob, gamer_ask_set(bob, room, 0, TEXT("x")), SAYS_NOT_OWNER);
	gamer_set(alice, room, 2, BYTES(flags, 4));
}

Test(rooms_errors, who_is_not_in_a_room_cannot_speak_in_it)
{
	gamer_expect_error(bob, gamer_ask_say(bob, NO_ROOM, 0, TEXT("x")), SAYS_NOT_IN_ROOM);
	gamer_expect_error(bob, gamer_ask_say(bob, room, 0, TEXT("x")), SAYS_NOT_IN_ROOM);
	gamer_expect_error(bob, gamer_ask_say(bob, room, 1, TEXT("x")), SAYS_NOT_IN_ROOM);
	gamer_expect_silence(alice);
}

Test(rooms_errors, kicking_looks_at_the_room_then_the_owner_then_the_member)
{
	gamer_expect_error(bob, gamer_ask_kick(bob, NO_ROOM, 1), SAYS_NOT_IN_ROOM);
	gamer_expect_error(bob, gamer_ask_kick(bob, room, 1), SAYS_NOT_IN_ROOM);
	gamer_join(bob, room, NOTHING);
	gamer_expect_error(bob, gamer_ask_kick(bob, room, 1), SAYS_NOT_OWNER);
	gamer_expect_error(bob, gamer_ask_kick(bob, room, 2), SAYS_NOT_OWNER); /* himself */
	gamer_expect_error(bob, gamer_ask_kick(bob, room, 9), SAYS_NOT_OWNER); /* nobody */
	gamer_expect_error(alice, gamer_ask_kick(alice, room, 9), SAYS_NOT_FOUND);
	gamer_expect_error(alice, gamer_ask_kick(alice, room, 0), SAYS_NOT_FOUND);
	gamer_expect_error(alice, gamer_ask_kick(alice, room, 1), SAYS_NOT_FOUND); /* herself */
	gamer_expect_silence(bob);
}

/* --- Leaderboards --- */

static const char sixty_five[] = "0123456789012345678901234567890123456789012345678901234567890_234";

Test(rooms_errors, a_comment_has_64_bytes)
{
	cr_expect_eq(gamer_score(bob, 1, 0, 7, BYTES(sixty_five, 64)), 1);
	gamer_expect_error(bob, gamer_ask_score(bob, 1, 0, 8, BYTES(sixty_five, 65)), SAYS_BAD);
	cr_expect_eq(gamer_ranking(bob, 1, 1, 1)->rows->score, 7);
}

Test(rooms_errors, ranks_begin_at_1_and_come_by_the_hundred)
{
	gamer_expect_error(bob, gamer_ask_ranking(bob, 1, 0, 1), SAYS_BAD);
	gamer_ranking(bob, 1, 1, 100);
	cr_expect_eq(gamer_ranking(bob, 1, UINT32_MAX, 100)->count, 0);
	gamer_expect_error(bob, gamer_ask_ranking(bob, 1, 1, 101), SAYS_BAD);
	gamer_expect_error(bob, gamer_ask_ranking(bob, 1, 1, UINT16_MAX), SAYS_BAD);
}

Test(rooms_errors, a_hundred_names_can_be_asked_for)
{
	const char *names[101];

	for (size_t i = 0; i < COUNT_OF(names); i++)
		names[i] = "alice";
	cr_expect_eq(gamer_ranks_of(bob, 1, names, 100)->count, 100);
	gamer_expect_error(bob, gamer_ask_ranks_of(bob, 1, names, 101), SAYS_BAD);
	gamer_lengthen(bob, -1); /* the last name is cut */
	gamer_expect_error(bob, gamer_ask_ranks_of(bob, 1, names, 100), SAYS_BAD);
	cr_expect_eq(gamer_ranks_of(bob, 1, names, 0)->count, 0);
}

/* --- Streams --- */

Test(rooms_errors, without_the_relay_a_stream_is_answered_with_9)
{
	cr_expect_not(alice->relays);
	gamer_leg_expect_error(gamer_leg_connect(alice, bob->user_id, 1), SAYS_NO_RELAY);
	gamer_leg_expect_error(gamer_leg_accept(alice, 1), SAYS_NO_RELAY);
	alice->token++; /* that is looked at later */
	gamer_leg_expect_error(gamer_leg_connect(alice, bob->user_id, 1), SAYS_NO_RELAY);
}

Test(rooms_errors, a_stream_that_does_not_say_whose_it_is_is_bad_before_all_else)
{
	static const uint8_t req_1[12] = { 0, 0, 0, 1 };
	static const uint8_t types[]   = { ASK_STREAM_CONNECT, ASK_STREAM_ACCEPT };

	for (size_t i = 0; i < COUNT_OF(types); i++) {
		for (size_t len = 0; len < 12; len++)
			gamer_leg_expect_refused(gamer_leg_frame(alice, types[i], req_1, len), len < 4 ? 0 : 1,
			                         SAYS_BAD);
		gamer_leg_expect_error(gamer_leg_frame(alice, types[i], req_1, 12), SAYS_NO_RELAY);
	}
}

/* --- None of them is the end --- */

Test(rooms_errors, no_error_closes_a_connection_or_leaves_a_trace)
{
	gamer_join(bob, room, NOTHING);
	gamer_expect_joined(alice, room, bob);
	for (int i = 0; i < 300; i++) {
		gamer_expect_error(bob, gamer_ask(bob, 0x7F, NULL, 0), SAYS_BAD);
		gamer_expect_error(bob, gamer_ask_join(bob, NO_ROOM, NOTHING), SAYS_NOT_FOUND);
		gamer_expect_error(bob, gamer_ask_kick(bob, room, 1), SAYS_NOT_OWNER);
		gamer_expect_error(bob, gamer_ask_leave(bob, NO_ROOM), SAYS_NOT_IN_ROOM);
	}
	gamer_say(bob, room, 0, TEXT("still here"));
	gamer_expect_said(alice, room, 2, 0, TEXT("still here"));
	cr_expect_eq(server_metric(s, "coopd_rooms_errors_total", "code=\"5\""), 300);
	cr_expect_eq(server_metric(s, "coopd_rooms_errors_total", NULL), 1200);
}
