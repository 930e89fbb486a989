/*
 * Frames, and each request with what answers it and what it tells the others: once around the tables of messages. What
 * rooms, boards and streams then do in detail has tests of its own.
 */
#include "support/rooms_client.h"
#include "support/rooms_path.h"

#include "base/auto.h"

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#define TITLE       "NPWR00001_00"
#define OTHER_PLACE "127.0.0.2"

static struct server *s;

static void start(void)
{
	s = server_start((const char *[]){ "rooms.relay=yes", NULL });
}

static void stop(void)
{
	server_finish(s);
}

TestSuite(rooms_requests, .init = start, .fini = stop);

/* --- Frames --- */

Test(rooms_requests, a_frame_may_come_in_single_bytes)
{
	static const uint8_t hello[] = "\x01\0\x22\0\0\0\x07NPWR00001_00alice\0\0\0\0\0\0\0\0\0\0\0\x0e\x4a";
	struct gamer        *c       = gamer_dial(s);

	for (size_t i = 0; i < sizeof(hello) - 1; i++)
		cr_assert(gamer_send(c, &hello[i], 1));
	gamer_expect_success(c, 7, ANSWER_HELLO_ACK);
	gamer_free(c);
}

Test(rooms_requests, many_frames_in_one_piece_are_answered_in_order)
{
	enum { COUNT = 500, BYTES_EACH = 11 };

	static const uint8_t search[BYTES_EACH] = { ASK_SEARCH_ROOMS, 0, 8 };
	struct gamer        *c                  = gamer_new(s, TITLE, "alice");
	uint8_t             *all                = calloc(COUNT, BYTES_EACH);

	cr_assert_not_null(all);
	for (unsigned i = 0; i < COUNT; i++) {
		memcpy(all + i * BYTES_EACH, search, BYTES_EACH);
		all[i * BYTES_EACH + 5] = (uint8_t)(i >> 8);
		all[i * BYTES_EACH + 6] = (uint8_t)i;
	}
	cr_assert(gamer_send(c, all, (size_t)COUNT * BYTES_EACH));
	free(all);
	for (unsigned i = 0; i < COUNT; i++) {
		struct gamer_message *m = gamer_next(c, DIAL_PATIENCE_MS);

		cr_assert(m && m->type == ANSWER_ROOM_LIST && m->req == i, "reply %u", i);
	}
	gamer_free(c);
}

Test(rooms_requests, requests_of_different_kinds_are_answered_in_the_order_they_were_sent)
{
	struct gamer *c      = gamer_new(s, TITLE, "alice");
	uint32_t      reqs[] = {
		     gamer_ask_score(c, 1, 0, 5, NOTHING), gamer_ask_create(c, 2, NOTHING),   gamer_ask_leave(c, 99),
		     gamer_ask_ranking(c, 1, 1, 1),        gamer_ask_search(c, 0, 1),         gamer_ask(c, 0x7F, NULL, 0),
		     gamer_ask_join(c, 99, NOTHING),       gamer_ask_hello(c, TITLE, "a", 1),
	};

	for (size_t i = 0; i < COUNT_OF(reqs); i++) {
		struct gamer_message *m = gamer_next(c, DIAL_PATIENCE_MS);

		cr_assert(m && m->req == reqs[i], "reply %zu", i);
	}
	gamer_free(c);
}

Test(rooms_requests, any_number_of_a_request_comes_back)
{
	static const uint32_t numbers[] = { 0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF };
	struct gamer         *c         = gamer_new(s, TITLE, "alice");

	for (size_t i = 0; i < COUNT_OF(numbers); i++) {
		uint32_t n          = numbers[i];
		uint8_t  payload[8] = { (uint8_t)(n >> 24), (uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n };

		cr_assert(gamer_send_frame(c, ASK_SEARCH_ROOMS, payload, 8));
		gamer_expect_success(c, n, ANSWER_ROOM_LIST);
	}
	gamer_free(c);
}

Test(rooms_requests, a_frame_without_a_number_is_ignored_whatever_its_type)
{
	struct gamer *c = gamer_dial(s);

	gamer_expect_error(c, gamer_ask_search(c, 0, 0), SAYS_NO_HELLO); /* as a first frame it could be a stream's */
	for (int named = 0; named < 2; named++) {
		for (unsigned type = 0; type < 256; type++) {
			for (size_t len = 0; len < 4; len++)
				cr_assert(gamer_send_frame(c, (uint8_t)type, "\1\2\3", len));
		}
		gamer_expect_silence(c);
		if (!named)
			gamer_hello(c, TITLE, "alice", 0);
	}
	cr_expect_eq(server_metric(s, "coopd_rooms_ignored_total", NULL), 2 * 256 * 4);
	gamer_free(c);
}

Test(rooms_requests, a_frame_of_65535_bytes_is_one)
{
	static uint8_t most[GAMER_PAYLOAD_MAX];
	struct gamer  *c = gamer_new(s, TITLE, "alice");

	most[3] = 9;
	cr_assert(gamer_send_frame(c, ASK_SEARCH_ROOMS, most, sizeof(most)));
	gamer_expect_success(c, 9, ANSWER_ROOM_LIST);
	gamer_expect_silence(c);
	gamer_free(c);
}

/* --- Requests and what answers them --- */

Test(rooms_requests, hello_is_answered_with_who_one_is_to_the_server)
{
	struct gamer         *c = gamer_dial_from(s, OTHER_PLACE);
	struct gamer_message *m = gamer_hello(c, TITLE, "alice", 3658);

	cr_expect_eq(m->number, 1);
	cr_expect_eq(m->len, 17);
	cr_expect_str_eq(m->ip, OTHER_PLACE);
	cr_expect_eq(m->relay_flags, 1);
	gamer_expect_silence(c);
	gamer_free(c);
}

Test(rooms_requests, a_server_that_does_not_relay_says_so)
{
	server_unset(s, "rooms.relay");
	server_restart(s);
	struct gamer *c = gamer_new(s, TITLE, "alice");

	cr_expect_not(c->relays);
	gamer_free(c);
}

Test(rooms_requests, a_heartbeat_has_no_reply)
{
	struct gamer *c = gamer_new(s, TITLE, "alice");

	gamer_heartbeat(c);
	gamer_lengthen(c, 3);
	gamer_heartbeat(c);
	gamer_expect_silence(c);
	gamer_free(c);
}

Test(rooms_requests, a_room_that_is_made_is_answered_with_it)
{
	struct gamer_plan     plan = { 4, 0x01020304, TEXT("external"), TEXT("internal"), TEXT("hat=red") };
	struct gamer         *c    = gamer_new(s, TITLE, "alice");
	struct gamer_message *m    = gamer_plan(c, &plan);

	cr_expect_neq(m->room_id, 0);
	cr_expect(m->my_member == 1 && m->owner == 1 && m->max == 4 && m->flags == 0x01020304);
	cr_expect(gamer_blob_is(m->external, TEXT("external")) && gamer_blob_is(m->internal, TEXT("internal")));
	cr_assert_eq(m->count, 1);
	cr_expect(m->members->id == 1 && m->members->user_id == c->user_id && m->members->is_owner);
	cr_expect_str_eq(m->members->name, "alice");
	cr_expect_str_eq(m->members->ip, "127.0.0.1");
	cr_expect_eq(m->members->port, 3658);
	cr_expect(gamer_blob_is(m->members->data, TEXT("hat=red")));
	gamer_expect_silence(c);
	gamer_free(c);
}

Test(rooms_requests, a_search_is_answered_with_what_searchers_see)
{
	struct gamer_plan     plan = { 3, 7, TEXT("external"), TEXT("internal"), TEXT("hat=red") };
	struct gamer         *a = gamer_new(s, TITLE, "alice"), *b = gamer_new(s, TITLE, "bob");
	uint64_t              room = gamer_plan(a, &plan)->room_id;
	struct gamer_message *m    = gamer_search(b, 0, 100);

	cr_assert(m->total == 1 && m->count == 1);
	cr_expect(m->found->room_id == room && m->found->members == 1 && m->found->max == 3 && m->found->flags == 7);
	cr_expect_str_eq(m->found->owner, "alice");
	cr_expect(gamer_blob_is(m->found->external, TEXT("external")));
	gamer_free(a);
	gamer_free(b);
}

Test(rooms_requests, a_join_is_answered_with_everybody_and_then_told_to_the_rest)
{
	struct gamer         *a = gamer_new(s, TITLE, "alice"), *b = gamer_new_from(s, OTHER_PLACE, TITLE, "bob");
	uint64_t              room = gamer_create(a, 4, TEXT("x"))->room_id;
	struct gamer_message *m    = gamer_join(b, room, TEXT("hat=blue"));

	cr_expect(m->room_id == room && m->my_member == 2 && m->owner == 1 && m->count == 2);
	cr_expect(m->members[0].user_id == a->user_id && m->members[0].is_owner);
	cr_expect(m->members[1].user_id == b->user_id && !m->members[1].is_owner && m->members[1].id == 2);
	m = gamer_expect_joined(a, room, b);
	cr_expect_eq(m->members->id, 2);
	cr_expect_str_eq(m->members->ip, OTHER_PLACE);
	cr_expect(gamer_blob_is(m->members->data, TEXT("hat=blue")));
	gamer_expect_route(a, room, b->user_id, 0);
	gamer_expect_route(b, room, a->user_id, 0);
	gamer_expect_silence(a);
	gamer_expect_silence(b);
	gamer_free(a);
	gamer_free(b);
}

static void part(struct gamer *a, struct gamer *b)
{
	gamer_expect_silence(a);
	gamer_expect_silence(b);
	gamer_free(a);
	gamer_free(b);
}

Test(rooms_requests, leaving_is_answered_with_ok_and_told_to_the_rest)
{
	struct gamer *a, *b;
	uint64_t      room = gamer_meet(s, TITLE, &a, &b);

	gamer_leave(b, room);
	gamer_expect_left(a, room, 2, 1);
	part(a, b);
}

Test(rooms_requests, room_data_is_answered_with_ok_and_told_to_the_rest)
{
	struct gamer *a, *b;
	uint64_t      room = gamer_meet(s, TITLE, &a, &b);

	gamer_set(a, room, 0, TEXT("seen by all"));
	gamer_set(a, room, 1, TEXT("seen inside"));
	gamer_set(a, room, 2, TEXT("\0\0\0\x05"));
	gamer_expect_data(b, room, 0, TEXT("seen by all"));
	gamer_expect_data(b, room, 1, TEXT("seen inside"));
	gamer_expect_data(b, room, 2, TEXT("\0\0\0\x05"));
	part(a, b);
}

Test(rooms_requests, a_message_is_answered_with_ok_and_brought_to_the_rest)
{
	struct gamer *a, *b;
	uint64_t      room = gamer_meet(s, TITLE, &a, &b);

	gamer_say(a, room, 0, TEXT("to all"));
	gamer_say(a, room, 2, TEXT("to one"));
	gamer_expect_said(b, room, 1, 0, TEXT("to all"));
	gamer_expect_said(b, room, 1, 2, TEXT("to one"));
	part(a, b);
}

Test(rooms_requests, a_kick_is_answered_with_ok_and_told_to_everybody)
{
	struct gamer *a, *b;
	uint64_t      room = gamer_meet(s, TITLE, &a, &b);
	uint32_t      req  = gamer_ask_kick(a, room, 2);
	size_t        ok   = gamer_expect_success(a, req, ANSWER_OK)->number;

	gamer_expect_kicked(b, room);
	struct gamer_message *left = gamer_expect_push(a, PUSH_MEMBER_LEFT);

	cr_expect(left->room_id == room && left->member_id == 2 && left->owner == 1);
	cr_expect_gt(left->number, ok);
	part(a, b);
}

Test(rooms_requests, scores_are_answered_with_a_rank_and_rankings_with_rows)
{
	static const char *const names[] = { "alice", "nobody" };
	struct gamer            *c       = gamer_new(s, TITLE, "alice");

	cr_expect_eq(gamer_score(c, 3, 0, -5, TEXT("first")), 1);

	struct gamer_message *m = gamer_ranking(c, 3, 1, 10);

	cr_assert(m->total == 1 && m->count == 1);
	cr_expect(m->rows->rank == 1 && m->rows->score == -5 && m->rows->recorded > 1600000000);
	cr_expect_str_eq(m->rows->name, "alice");
	cr_expect(gamer_blob_is(m->rows->comment, TEXT("first")));

	m = gamer_ranks_of(c, 3, names, 2);
	cr_assert(m->total == 1 && m->count == 2);
	cr_expect_eq(m->rows[0].rank, 1);
	cr_expect(m->rows[1].rank == 0 && m->rows[1].score == 0 && m->rows[1].recorded == 0);
	cr_expect_str_eq(m->rows[1].name, "nobody");
	gamer_expect_silence(c);
	gamer_free(c);
}

Test(rooms_requests, a_stream_is_offered_and_ready_at_both_ends)
{
	struct gamer     *a, *b;
	struct gamer_leg *of_a, *of_b;

	gamer_meet(s, TITLE, &a, &b);
	gamer_stream(&of_a, &of_b, a, b, 3658);
	gamer_leg_send(of_a, TEXT("hello"));
	gamer_leg_expect(of_b, TEXT("hello"));
	part(a, b);
}
