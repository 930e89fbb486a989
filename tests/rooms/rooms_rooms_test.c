/*
 * Rooms, from outside: who sees them and is in them, whose they are, and what is said in them.  What is refused with which
 * code: rooms_errors_test.c.
 */
#include "support/rooms_client.h"

#include "base/auto.h"

#include <criterion/criterion.h>

#define TITLE "NPWR00860_00"
#define OTHER "NPWR00861_00"

#define CLOSED 0x80000000 /* what a game may mean by it is not the server's business */

static struct server *s;
static struct gamer  *alice, *bob, *carol;

static void start_with(const char *const *sets)
{
	s     = server_start(sets);
	alice = gamer_new(s, TITLE, "alice");
	bob   = gamer_new(s, TITLE, "bob");
	carol = gamer_new(s, TITLE, "carol");
}

static void start(void)
{
	start_with(NULL);
}

static void stop(void)
{
	gamer_free(alice);
	gamer_free(bob);
	gamer_free(carol);
	server_finish(s);
}

TestSuite(rooms_rooms, .init = start, .fini = stop, .timeout = 120);

static void join(struct gamer *c, uint64_t room, struct gamer *const *inside, size_t count)
{
	gamer_join(c, room, NOTHING);
	for (size_t i = 0; i < count; i++)
		gamer_expect_joined(inside[i], room, c);
}

/* alice's, with bob and carol in it, in this order. */
static uint64_t room_of_three(void)
{
	uint64_t room = gamer_create(alice, 4, NOTHING)->room_id;

	join(bob, room, &alice, 1);
	join(carol, room, (struct gamer *[]){ alice, bob }, 2);
	return room;
}

static void expect_silence(void)
{
	gamer_expect_silence(alice);
	gamer_expect_silence(bob);
	gamer_expect_silence(carol);
}

/* --- Rooms and their numbers --- */

Test(rooms_rooms, a_later_room_has_a_larger_number_whoever_makes_it)
{
	struct gamer *dave = gamer_new(s, OTHER, "dave");
	uint64_t      last = 0;

	for (int i = 0; i < 12; i++) {
		struct gamer *maker = i % 2 ? dave : alice;
		uint64_t      room  = gamer_create(maker, 4, NOTHING)->room_id;

		cr_expect_gt(room, last);
		last = room;
		if (i % 3 == 0)
			gamer_leave(maker, room);
	}
	gamer_free(dave);
}

Test(rooms_rooms, numbers_of_rooms_begin_at_1_with_each_start)
{
	cr_expect_eq(gamer_create(alice, 4, NOTHING)->room_id, 1);
	cr_expect_eq(gamer_create(alice, 4, NOTHING)->room_id, 2);
	server_restart(s);
	gamer_free(alice);
	alice = gamer_new(s, TITLE, "alice");
	cr_expect_eq(gamer_search(alice, 0, 1)->total, 0, "rooms are not kept");
	cr_expect_eq(gamer_create(alice, 4, NOTHING)->room_id, 1);
}

Test(rooms_rooms, other_titles_do_not_see_a_room)
{
	struct gamer *dave = gamer_new(s, OTHER, "dave");
	uint64_t      room = gamer_create(alice, 4, NOTHING)->room_id;

	cr_expect_eq(gamer_search(dave, 0, 100)->total, 0);
	gamer_create(dave, 4, NOTHING);

	struct gamer_message *m = gamer_search(bob, 0, 100);

	cr_assert(m->total == 1 && m->count == 1);
	cr_expect_eq(m->found->room_id, room);
	gamer_free(dave);
}

/* Those of the title he had: he is in none of the other's. */
Test(rooms_rooms, who_changes_his_title_sees_other_rooms)
{
	uint64_t room = gamer_create(alice, 4, NOTHING)->room_id;

	gamer_hello(bob, OTHER, "bob", 3658);
	gamer_expect_error(bob, gamer_ask_join(bob, room, NOTHING), SAYS_NOT_FOUND);
	cr_expect_eq(gamer_search(bob, 0, 100)->total, 0);
	gamer_hello(bob, TITLE, "bob", 3658);
	cr_expect_eq(gamer_search(bob, 0, 100)->total, 1);
}

/* --- Members and their numbers --- */

Test(rooms_rooms, a_number_in_a_room_is_given_once_even_to_one_who_comes_back)
{
	uint64_t room = gamer_create(alice, 4, NOTHING)->room_id;

	for (uint16_t id = 2; id < 12; id++) {
		cr_expect_eq(gamer_join(bob, room, NOTHING)->my_member, id);
		gamer_leave(bob, room);
	}
	cr_expect_eq(gamer_join(carol, room, NOTHING)->my_member, 12);
}

Test(rooms_rooms, a_player_may_be_in_several_rooms_and_each_is_told_apart)
{
	uint64_t mine = gamer_create(alice, 4, NOTHING)->room_id, his = gamer_create(bob, 4, NOTHING)->room_id,
		 hers = gamer_create(carol, 4, NOTHING)->room_id;

	join(bob, mine, &alice, 1);
	join(alice, his, &bob, 1);
	join(alice, hers, &carol, 1);
	gamer_say(alice, his, 0, TEXT("bob's"));
	gamer_expect_said(bob, his, 2, 0, TEXT("bob's"));
	gamer_say(alice, mine, 0, TEXT("alice's"));
	gamer_expect_said(bob, mine, 1, 0, TEXT("alice's"));
	gamer_leave(alice, his);
	gamer_expect_left(bob, his, 2, 1);
	gamer_say(alice, hers, 0, TEXT("still here"));
	gamer_expect_said(carol, hers, 2, 0, TEXT("still here"));
	gamer_hangup(alice);
	gamer_expect_left(bob, mine, 1, 2);
	gamer_expect_left(carol, hers, 2, 1);
	gamer_expect_silence(bob);
	gamer_expect_silence(carol);
}

Test(rooms_rooms, a_room_for_one_is_full_from_the_start)
{
	cr_expect_eq(gamer_create(alice, 1, NOTHING)->max, 1);
	cr_expect_eq(gamer_search(alice, 0, 100)->total, 0);
}

Test(rooms_rooms, flags_are_shown_and_mean_nothing_to_the_server)
{
	struct gamer_plan     plan = { .max = 4, .flags = CLOSED | 1 };
	uint64_t              room = gamer_plan(alice, &plan)->room_id;
	struct gamer_message *m    = gamer_search(bob, 0, 100);

	cr_assert_eq(m->count, 1);
	cr_expect_eq(m->found->flags, CLOSED | 1);
	cr_expect_eq(gamer_join(bob, room, NOTHING)->flags, CLOSED | 1);
	gamer_set(alice, room, 2, TEXT("\xFF\xFF\xFF\xFF"));
	cr_expect_eq(gamer_join(carol, room, NOTHING)->flags, UINT32_MAX);
	cr_expect_eq(gamer_search(bob, 0, 100)->found->flags, UINT32_MAX);
}

/* --- Data --- */

/* As the games write it: id, kind, and a number, or a length and bytes. */
#define ATTRIBUTES TEXT("\0\1\0\0\0\0\x2A\0\2\1\0\3abc\0\3\0\xFF\xFE\0\0")

Test(rooms_rooms, data_is_brought_byte_for_byte)
{
	struct gamer_plan     plan = { 4, 0, ATTRIBUTES, TEXT("\0"), ATTRIBUTES };
	uint64_t              room = gamer_plan(alice, &plan)->room_id;
	struct gamer_message *m    = gamer_join(bob, room, TEXT("\0\0"));

	cr_expect(gamer_blob_is(m->external, ATTRIBUTES) && gamer_blob_is(m->internal, TEXT("\0")));
	cr_assert_eq(m->count, 2);
	cr_expect(gamer_blob_is(m->members[0].data, ATTRIBUTES) && gamer_blob_is(m->members[1].data, TEXT("\0\0")));
	m = gamer_expect_joined(alice, room, bob);
	cr_expect(gamer_blob_is(m->members->data, TEXT("\0\0")));
	gamer_say(bob, room, 1, ATTRIBUTES);
	gamer_expect_said(alice, room, 2, 1, ATTRIBUTES);
	m = gamer_search(carol, 0, 1);
	cr_expect(gamer_blob_is(m->found->external, ATTRIBUTES));
}

Test(rooms_rooms, data_that_is_set_replaces_the_old_whole)
{
	struct gamer_plan     plan = { 4, 0, TEXT("a long external"), TEXT("a long internal"), NOTHING };
	uint64_t              room = gamer_plan(alice, &plan)->room_id;
	struct gamer_message *m;

	gamer_set(alice, room, 0, TEXT("short"));
	gamer_set(alice, room, 1, NOTHING);
	gamer_set(alice, room, 2, TEXT("\0\0\1\2"));
	m = gamer_search(bob, 0, 1);
	cr_expect(gamer_blob_is(m->found->external, TEXT("short")) && m->found->flags == 0x102);
	m = gamer_join(bob, room, NOTHING);
	cr_expect(gamer_blob_is(m->external, TEXT("short")) && gamer_blob_is(m->internal, NOTHING));
	cr_expect_eq(m->flags, 0x102);
	gamer_expect_silence(bob);
	gamer_expect_joined(alice, room, bob);
	gamer_set(alice, room, 0, NOTHING);
	gamer_set(alice, room, 1, TEXT("longer than it was"));
	gamer_expect_data(bob, room, 0, NOTHING);
	gamer_expect_data(bob, room, 1, TEXT("longer than it was"));
	m = gamer_join(bob, room, NOTHING);
	cr_expect(gamer_blob_is(m->external, NOTHING) && gamer_blob_is(m->internal, TEXT("longer than it was")));
	expect_silence();
}

/* Flags and internal data go out as two requests, and only the second reply is looked at. */
Test(rooms_rooms, two_settings_in_a_row_arrive_in_their_order)
{
	uint64_t room   = room_of_three();
	uint32_t first  = gamer_ask_set(alice, room, 2, TEXT("\0\0\0\1")),
		 second = gamer_ask_set(alice, room, 1, TEXT("i"));

	gamer_expect_success(alice, second, ANSWER_OK);
	gamer_expect_success(alice, first, ANSWER_OK);
	for (int i = 0; i < 2; i++) {
		struct gamer *c = i ? carol : bob;

		gamer_expect_data(c, room, 2, TEXT("\0\0\0\1"));
		gamer_expect_data(c, room, 1, TEXT("i"));
	}
	expect_silence();
}

/* --- SEARCH_ROOMS --- */

static void expect_found(const struct gamer_message *m, const uint64_t *rooms, size_t count, uint32_t total)
{
	cr_assert_eq(m->count, count, "%zu rooms", m->count);
	cr_expect_eq(m->total, total, "%u rooms in all", m->total);
	for (size_t i = 0; i < count; i++)
		cr_expect_eq(m->found[i].room_id, rooms[i], "%zu", i);
}

Test(rooms_rooms, a_search_gives_a_part_of_all_rooms_oldest_first)
{
	uint64_t rooms[7];

	for (size_t i = 0; i < COUNT_OF(rooms); i++)
		rooms[i] = gamer_create(i % 2 ? alice : bob, 4, NOTHING)->room_id;
	expect_found(gamer_search(alice, 0, 100), rooms, 7, 7);
	expect_found(gamer_search(carol, 0, 3), rooms, 3, 7);
	expect_found(gamer_search(carol, 3, 3), rooms + 3, 3, 7);
	expect_found(gamer_search(carol, 6, 3), rooms + 6, 1, 7);
	expect_found(gamer_search(carol, 7, 3), NULL, 0, 7);
	expect_found(gamer_search(carol, UINT16_MAX, UINT16_MAX), NULL, 0, 7);
	expect_found(gamer_search(carol, 2, 0), NULL, 0, 7);
	expect_found(gamer_search(carol, 0, UINT16_MAX), rooms, 7, 7);
}

Test(rooms_rooms, a_full_room_is_not_found_until_there_is_a_seat_and_then_in_its_place)
{
	uint64_t rooms[3];

	for (size_t i = 0; i < COUNT_OF(rooms); i++)
		rooms[i] = gamer_create(alice, 2, NOTHING)->room_id;
	gamer_join(bob, rooms[1], NOTHING);
	expect_found(gamer_search(bob, 0, 9), (uint64_t[]){ rooms[0], rooms[2] }, 2, 2);
	expect_found(gamer_search(carol, 1, 9), &rooms[2], 1, 2);
	gamer_leave(bob, rooms[1]);
	expect_found(gamer_search(carol, 0, 9), rooms, 3, 3);
	gamer_leave(alice, rooms[0]);
	expect_found(gamer_search(carol, 0, 9), rooms + 1, 2, 2);
}

Test(rooms_rooms, a_search_shows_how_many_are_in_and_who_owns_it_now)
{
	uint64_t                  room  = room_of_three();
	const struct gamer_found *found = gamer_search(alice, 0, 1)->found;

	cr_expect(found->room_id == room && found->members == 3 && found->max == 4);
	cr_expect_str_eq(found->owner, "alice");
	gamer_leave(alice, room);
	found = gamer_search(alice, 0, 1)->found;
	cr_expect_eq(found->members, 2);
	cr_expect_str_eq(found->owner, "bob");
}

/* --- JOIN_ROOM --- */

Test(rooms_rooms, a_reply_comes_before_what_its_request_causes_and_a_joiner_is_not_told_of_himself)
{
	uint64_t room = gamer_create(alice, 4, NOTHING)->room_id;
	uint32_t req[3];

	req[0] = gamer_ask_join(bob, room, NOTHING);
	req[1] = gamer_ask_say(bob, room, 0, TEXT("hello"));
	req[2] = gamer_ask_leave(bob, room);
	for (size_t i = 0; i < COUNT_OF(req); i++) {
		struct gamer_message *m = gamer_next(bob, DIAL_PATIENCE_MS);

		cr_assert(m && m->req == req[i] && m->type == (i ? ANSWER_OK : ANSWER_ROOM_JOINED), "%zu", i);
	}
	gamer_expect_joined(alice, room, bob);
	gamer_expect_said(alice, room, 2, 0, TEXT("hello"));
	gamer_expect_left(alice, room, 2, 1);
	expect_silence();
}

Test(rooms_rooms, members_are_listed_in_the_order_they_came)
{
	uint64_t              room  = room_of_three();
	struct gamer         *dave  = gamer_new(s, TITLE, "dave");
	struct gamer         *now[] = { alice, carol, bob, dave };
	static const uint16_t ids[] = { 1, 3, 4, 5 };

	gamer_leave(bob, room);
	gamer_join(bob, room, NOTHING);

	struct gamer_message *m = gamer_join(dave, room, NOTHING);

	cr_assert_eq(m->count, 4);
	cr_expect_eq(m->my_member, 5);
	cr_expect_eq(m->owner, 1);
	for (size_t i = 0; i < COUNT_OF(now); i++) {
		cr_expect_eq(m->members[i].user_id, now[i]->user_id);
		cr_expect_eq(m->members[i].id, ids[i]);
		cr_expect_str_eq(m->members[i].name, now[i]->name);
		cr_expect_eq(m->members[i].is_owner, i == 0);
	}
	gamer_free(dave);
}

Test(rooms_rooms, who_is_in_a_room_joins_it_again_without_anybody_noticing)
{
	uint64_t room = gamer_create(alice, 2, NOTHING)->room_id;

	gamer_join(bob, room, TEXT("hat=red"));
	gamer_expect_joined(alice, room, bob);
	gamer_set(alice, room, 1, TEXT("new"));
	gamer_expect_data(bob, room, 1, TEXT("new"));

	struct gamer_message *m = gamer_join(bob, room, TEXT("hat=blue"));

	cr_assert_eq(m->count, 2);
	cr_expect(m->my_member == 2 && m->owner == 1 && m->max == 2);
	cr_expect(gamer_blob_is(m->internal, TEXT("new")), "as things are");
	cr_expect(gamer_blob_is(m->members[1].data, TEXT("hat=red")), "and not what he says now");
	expect_silence();
}

/* With a relay, routes are the last of what a join causes. */
Test(rooms_rooms, routes_come_after_the_news_for_each_earlier_member_in_order)
{
	stop();
	start_with((const char *[]){ "rooms.relay=yes", NULL });

	uint64_t      room = gamer_create(alice, 4, NOTHING)->room_id;
	struct gamer *in[] = { alice, bob };

	expect_silence();
	gamer_join(bob, room, NOTHING);
	gamer_expect_joined(alice, room, bob);
	gamer_expect_route(alice, room, bob->user_id, 0);
	gamer_expect_route(bob, room, alice->user_id, 0);
	gamer_join(carol, room, NOTHING);
	for (size_t i = 0; i < COUNT_OF(in); i++) {
		gamer_expect_joined(in[i], room, carol);
		gamer_expect_route(in[i], room, carol->user_id, 0);
		gamer_expect_route(carol, room, in[i]->user_id, 0);
	}
	gamer_join(carol, room, NOTHING);
	expect_silence();
}

/* --- Going, and who owns the room then --- */

Test(rooms_rooms, a_leaver_gets_ok_and_nothing_more_of_the_room)
{
	uint64_t room = room_of_three();

	gamer_leave(bob, room);
	gamer_expect_left(alice, room, 2, 1);
	gamer_expect_left(carol, room, 2, 1);
	gamer_say(alice, room, 0, TEXT("without bob"));
	gamer_say(alice, room, 2, TEXT("to where bob was"));
	gamer_expect_said(carol, room, 1, 0, TEXT("without bob"));
	expect_silence();
}

Test(rooms_rooms, when_the_owner_goes_the_room_is_his_who_is_longest_in_it)
{
	uint64_t room = room_of_three();

	gamer_leave(alice, room);
	gamer_expect_left(bob, room, 1, 2);
	gamer_expect_left(carol, room, 1, 2);
	cr_expect_eq(gamer_join(alice, room, NOTHING)->owner, 2);
	gamer_expect_joined(bob, room, alice);
	gamer_expect_joined(carol, room, alice);
	gamer_expect_error(alice, gamer_ask_set(alice, room, 0, NOTHING), SAYS_NOT_OWNER);
	gamer_set(bob, room, 0, TEXT("bob's"));
	gamer_expect_data(carol, room, 0, TEXT("bob's"));
	gamer_expect_data(alice, room, 0, TEXT("bob's"));
	gamer_abort(bob);
	gamer_expect_left(carol, room, 2, 3);
	gamer_expect_left(alice, room, 2, 3);
	gamer_kick(carol, room, 4);
	gamer_expect_kicked(alice, room);
	gamer_expect_left(carol, room, 4, 3);
}

Test(rooms_rooms, when_another_goes_the_owner_stays)
{
	uint64_t room = room_of_three();

	gamer_abort(bob);
	gamer_expect_left(alice, room, 2, 1);
	gamer_expect_left(carol, room, 2, 1);
	gamer_leave(carol, room);
	gamer_expect_left(alice, room, 3, 1);
	cr_expect_eq(gamer_join(alice, room, NOTHING)->owner, 1);
}

Test(rooms_rooms, the_last_one_out_closes_the_room_and_nobody_is_told)
{
	uint64_t room = room_of_three();

	gamer_leave(alice, room);
	gamer_leave(bob, room);
	gamer_expect_left(bob, room, 1, 2);
	gamer_expect_left(carol, room, 1, 2);
	gamer_expect_left(carol, room, 2, 3);
	gamer_leave(carol, room);
	cr_expect_eq(gamer_search(alice, 0, 9)->total, 0);
	expect_silence();
	cr_expect_eq((int)server_metric(s, "coopd_rooms_rooms", NULL), 0);
}

/* --- ROOM_MESSAGE --- */

Test(rooms_rooms, a_message_to_everybody_is_for_everybody_else)
{
	uint64_t room = room_of_three();

	gamer_say(bob, room, 0, NOTHING);
	gamer_expect_said(alice, room, 2, 0, NOTHING);
	gamer_expect_said(carol, room, 2, 0, NOTHING);
	expect_silence();
	cr_expect_eq((int)server_metric(s, "coopd_rooms_messages_total", NULL), 2);
}

Test(rooms_rooms, a_message_to_one_is_for_nobody_else)
{
	uint64_t room = room_of_three();

	gamer_say(bob, room, 3, TEXT("psst"));
	gamer_expect_said(carol, room, 2, 3, TEXT("psst"));
	expect_silence();
}

Test(rooms_rooms, a_message_to_oneself_or_to_nobody_is_answered_and_goes_nowhere)
{
	uint64_t room = room_of_three();

	gamer_say(bob, room, 2, TEXT("myself"));
	gamer_say(bob, room, 4, TEXT("nobody yet"));
	gamer_say(bob, room, UINT16_MAX, TEXT("nobody"));
	expect_silence();
}

/* Several requests at once, of which the last reply counts. */
Test(rooms_rooms, messages_to_several_arrive_in_the_order_they_were_sent)
{
	uint64_t room = room_of_three();
	uint32_t last = 0;

	for (int i = 0; i < 40; i++)
		last = gamer_ask_say(alice, room, i % 2 ? 3 : 2, BYTES(&"0123456789"[i / 4], 1));
	gamer_expect_success(alice, last, ANSWER_OK);
	for (int i = 0; i < 40; i++)
		gamer_expect_said(i % 2 ? carol : bob, room, 1, i % 2 ? 3 : 2, BYTES(&"0123456789"[i / 4], 1));
	gamer_expect_silence(bob);
	gamer_expect_silence(carol);
}

/* --- KICK_MEMBER --- */

Test(rooms_rooms, who_is_kicked_is_told_so_and_everybody_who_stays_that_he_left)
{
	uint64_t room = room_of_three();

	gamer_kick(alice, room, 2);
	gamer_expect_kicked(bob, room);
	gamer_expect_left(alice, room, 2, 1);
	gamer_expect_left(carol, room, 2, 1);
	gamer_expect_error(bob, gamer_ask_say(bob, room, 0, TEXT("x")), SAYS_NOT_IN_ROOM);
	gamer_expect_error(alice, gamer_ask_kick(alice, room, 2), SAYS_NOT_FOUND);
	expect_silence();
}

Test(rooms_rooms, who_is_kicked_may_come_back_at_once_into_his_seat_as_somebody_new)
{
	uint64_t room = gamer_create(alice, 2, NOTHING)->room_id;

	join(bob, room, &alice, 1);
	gamer_kick(alice, room, 2);
	gamer_expect_kicked(bob, room);
	gamer_expect_left(alice, room, 2, 1);
	cr_expect_eq(gamer_join(bob, room, NOTHING)->my_member, 3);
	gamer_expect_joined(alice, room, bob);
	expect_silence();
}
