/*
 * Rooms and players as operators see and end them, and what those who are in them are told.
 */
#include "base/auto.h"
#include "support/admin_client.h"
#include "support/rooms_client.h"
#include "support/rooms_path.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define TITLE "NPWR00860_00"
#define OTHER "NPWR00001_00"
#define ROOMS "/admin/v1/rooms"

static struct server *s;

static void start(void)
{
	s = server_start(NULL);
}

static void stop(void)
{
	server_finish(s);
	s = NULL;
}

TestSuite(rooms_admin_rooms, .init = start, .fini = stop, .timeout = 120);

/* A path below ROOMS; until the next call. */
static const char *path(const char *format, uint64_t id)
{
	static char text[200];

	snprintf(text, sizeof(text), ROOMS "%s%" PRIu64, format, id);
	return text;
}

static const char *member_path(uint64_t room, unsigned member)
{
	static char text[200];

	snprintf(text, sizeof(text), ROOMS "/%" PRIu64 "/members/%u", room, member);
	return text;
}

static void expect_error(const char *method, const char *where, int status, const char *code)
{
	AUTO(rest_freep) struct http_result r = admin_ask(s, method, where, NULL);

	admin_expect(&r, status, code);
}

static void expect_text(const struct http_result *r, const char *way, const char *want)
{
	char text[300];

	cr_expect_str_eq(rest_text(r, way, text, sizeof(text)), want, "%s", way);
}

static void expect_rooms(size_t count)
{
	AUTO(rest_freep) struct http_result r = admin_get(s, ROOMS);

	admin_expect(&r, 200, NULL);
	cr_expect_eq(rest_count(&r, "items"), count);
}

/* --- Looking --- */

Test(rooms_admin_rooms, a_room_is_shown_with_who_is_in_it)
{
	struct gamer *alice, *bob;
	uint64_t      room = gamer_meet(s, TITLE, &alice, &bob);

	AUTO(rest_freep) struct http_result list = admin_get(s, ROOMS);

	admin_expect(&list, 200, NULL);
	cr_assert_eq(rest_count(&list, "items"), 1);
	cr_expect_eq(rest_int(&list, "items.0.id"), (int64_t)room);
	expect_text(&list, "items.0.title", TITLE);
	expect_text(&list, "items.0.title_key", TITLE);
	cr_expect_eq(rest_int(&list, "items.0.members"), 2);
	cr_expect_eq(rest_int(&list, "items.0.max"), 4);
	expect_text(&list, "items.0.owner", "alice");
	cr_expect(rest_bool(&list, "items.0.open"));
	cr_expect(rest_has(&list, "items.0.made_at"));

	AUTO(rest_freep) struct http_result one = admin_get(s, path("/", room));

	admin_expect(&one, 200, NULL);
	cr_assert_eq(rest_count(&one, "member_list"), 2);
	cr_expect_eq(rest_int(&one, "member_list.0.member"), 1);
	cr_expect_eq(rest_int(&one, "member_list.0.user"), alice->user_id);
	expect_text(&one, "member_list.1.name", "bob");
	expect_text(&one, "member_list.1.address", "127.0.0.1");
	gamer_free(alice);
	gamer_free(bob);
}

Test(rooms_admin_rooms, rooms_come_a_page_at_a_time_and_one_that_closes_between_does_no_harm)
{
	struct gamer *alice = gamer_new(s, TITLE, "alice"), *bob = gamer_new(s, OTHER, "bob");
	uint64_t      ids[5];
	char          next[200], where[300];

	for (size_t i = 0; i < COUNT_OF(ids); i++)
		ids[i] = gamer_create(i == 2 ? bob : alice, i == 3 ? 1 : 4, NOTHING)->room_id;

	AUTO(rest_freep) struct http_result first = admin_get(s, ROOMS "?limit=2");

	admin_expect(&first, 200, NULL);
	cr_assert_eq(rest_count(&first, "items"), 2);
	cr_expect_eq(rest_int(&first, "items.1.id"), (int64_t)ids[1]);
	gamer_leave(alice, ids[1]);
	snprintf(where, sizeof(where), ROOMS "?limit=3&cursor=%s", rest_text(&first, "next", next, sizeof(next)));

	AUTO(rest_freep) struct http_result second = admin_get(s, where);

	cr_assert_eq(rest_count(&second, "items"), 3);
	cr_expect_eq(rest_int(&second, "items.0.id"), (int64_t)ids[2]);
	cr_expect_not(rest_bool(&second, "items.1.open"), "it is full");
	cr_expect_not_null(strstr(second.body, "\"next\":null"));

	AUTO(rest_freep) struct http_result of_other = admin_get(s, ROOMS "?title=" OTHER);
	AUTO(rest_freep) struct http_result in_hex   = admin_get(s, ROOMS "?title=~4e50575230303030315f3030");
	AUTO(rest_freep) struct http_result of_none  = admin_get(s, ROOMS "?title=x");

	cr_expect_eq(rest_count(&of_other, "items"), 1);
	cr_expect_eq(rest_count(&in_hex, "items"), 1);
	cr_expect_eq(rest_count(&of_none, "items"), 0);
	gamer_free(alice);
	gamer_free(bob);
}

Test(rooms_admin_rooms, players_are_shown_in_the_order_in_which_they_came)
{
	struct gamer *alice = gamer_new(s, TITLE, "Alice"), *mute = gamer_dial(s);
	struct gamer *bob = gamer_new(s, OTHER, "Bob"), *malice = gamer_new(s, TITLE, "malice");

	gamer_create(alice, 4, NOTHING);
	gamer_create(alice, 4, NOTHING);

	AUTO(rest_freep) struct http_result r = admin_get(s, ROOMS "/players");

	admin_expect(&r, 200, NULL);
	cr_assert_eq(rest_count(&r, "items"), 3, "who has not said HELLO is nobody yet");
	cr_expect_eq(rest_int(&r, "items.0.user"), alice->user_id);
	expect_text(&r, "items.0.name", "Alice");
	cr_expect_eq(rest_int(&r, "items.0.rooms"), 2);
	expect_text(&r, "items.1.title_key", OTHER);
	expect_text(&r, "items.2.address", "127.0.0.1");
	cr_expect(rest_has(&r, "items.2.since_at"));

	AUTO(rest_freep) struct http_result q     = admin_get(s, ROOMS "/players?q=LICE");
	AUTO(rest_freep) struct http_result both  = admin_get(s, ROOMS "/players?q=b&title=" TITLE);
	AUTO(rest_freep) struct http_result first = admin_get(s, ROOMS "/players?limit=1");
	char                                next[200], where[300];

	cr_expect_eq(rest_count(&q, "items"), 2);
	cr_expect_eq(rest_count(&both, "items"), 0);
	gamer_hangup(alice);
	server_await_metric(s, "coopd_rooms_players", NULL, 2, DIAL_PATIENCE_MS);
	snprintf(where, sizeof(where), ROOMS "/players?cursor=%s", rest_text(&first, "next", next, sizeof(next)));

	AUTO(rest_freep) struct http_result rest = admin_get(s, where);

	cr_expect_eq(rest_count(&rest, "items"), 2);
	cr_expect_eq(rest_int(&rest, "items.0.user"), bob->user_id);
	gamer_free(alice);
	gamer_free(mute);
	gamer_free(bob);
	gamer_free(malice);
}

/* --- Ending --- */

Test(rooms_admin_rooms, all_who_are_in_a_closed_room_are_told_that_they_are_out)
{
	struct gamer *alice, *bob, *carol = gamer_new(s, TITLE, "carol");
	uint64_t      room = gamer_meet(s, TITLE, &alice, &bob);

	gamer_join(carol, room, NOTHING);
	gamer_expect_joined(alice, room, carol);
	gamer_expect_joined(bob, room, carol);

	AUTO(rest_freep) struct http_result r = admin_ask(s, "DELETE", path("/", room), NULL);

	admin_expect(&r, 200, NULL);
	cr_expect_eq(rest_int(&r, "members"), 3);
	gamer_expect_kicked(alice, room);
	gamer_expect_kicked(bob, room);
	gamer_expect_kicked(carol, room);
	gamer_expect_silence(alice);
	gamer_expect_silence(bob);
	gamer_expect_silence(carol);
	gamer_expect_error(bob, gamer_ask_join(bob, room, NOTHING), SAYS_NOT_FOUND);
	gamer_expect_error(alice, gamer_ask_leave(alice, room), SAYS_NOT_IN_ROOM);
	cr_expect_eq(gamer_search(carol, 0, 10)->total, 0);
	cr_expect_eq(server_metric(s, "coopd_rooms_rooms", NULL), 0);
	expect_error("DELETE", path("/", room), 404, "not_found");
	/* They may go on, and meet again. */
	cr_expect_gt(gamer_create(alice, 2, NOTHING)->room_id, room);
	gamer_free(alice);
	gamer_free(bob);
	gamer_free(carol);
}

/* Rooms of an address are limited: one that was closed is given back. */
Test(rooms_admin_rooms, a_closed_room_counts_for_nobody)
{
	struct gamer *alice;

	server_set(s, "limits.rooms_rooms_per_address=2");
	server_restart(s);
	alice = gamer_new_from(s, "127.0.0.2", TITLE, "alice");
	for (int i = 0; i < 5; i++) {
		uint64_t                            room = gamer_create(alice, 4, NOTHING)->room_id;
		AUTO(rest_freep) struct http_result r    = admin_ask(s, "DELETE", path("/", room), NULL);

		admin_expect(&r, 200, NULL);
		gamer_expect_kicked(alice, room);
	}
	gamer_free(alice);
}

Test(rooms_admin_rooms, a_member_is_kicked_and_the_others_are_told_that_he_left)
{
	struct gamer *alice, *bob;
	uint64_t      room = gamer_meet(s, TITLE, &alice, &bob);

	AUTO(rest_freep) struct http_result r = admin_ask(s, "DELETE", member_path(room, 2), NULL);

	admin_expect(&r, 200, NULL);
	cr_expect_eq(rest_int(&r, "user"), bob->user_id);
	expect_text(&r, "name", "bob");
	gamer_expect_kicked(bob, room);
	gamer_expect_left(alice, room, 2, 1);
	gamer_expect_silence(bob);
	expect_error("DELETE", member_path(room, 2), 404, "not_found");
	/* He may come again, with a new number. */
	cr_expect_eq(gamer_join(bob, room, NOTHING)->my_member, 3);
	gamer_expect_joined(alice, room, bob);

	/* The owner goes too, and the room is somebody else's. */
	AUTO(rest_freep) struct http_result owner = admin_ask(s, "DELETE", member_path(room, 1), NULL);

	admin_expect(&owner, 200, NULL);
	gamer_expect_kicked(alice, room);
	gamer_expect_left(bob, room, 1, 3);

	/* And with the last one the room. */
	AUTO(rest_freep) struct http_result last = admin_ask(s, "DELETE", member_path(room, 3), NULL);

	admin_expect(&last, 200, NULL);
	gamer_expect_kicked(bob, room);
	expect_rooms(0);
	gamer_free(alice);
	gamer_free(bob);
}

Test(rooms_admin_rooms, a_player_is_disconnected_as_if_he_had_hung_up)
{
	struct gamer *alice, *bob;
	uint64_t      room = gamer_meet(s, TITLE, &alice, &bob);

	AUTO(rest_freep) struct http_result r = admin_ask(s, "DELETE", path("/players/", alice->user_id), NULL);

	admin_expect(&r, 200, NULL);
	expect_text(&r, "name", "alice");
	cr_expect_eq(rest_int(&r, "rooms"), 1);
	gamer_expect_left(bob, room, 1, 2);
	gamer_expect_end(alice);
	cr_expect_eq(server_metric(s, "coopd_rooms_closed_total", "reason=\"operator\""), 1);
	expect_error("DELETE", path("/players/", alice->user_id), 404, "not_found");
	gamer_free(alice);
	/* His name is free again. */
	alice = gamer_new(s, TITLE, "alice");
	gamer_free(alice);
	gamer_free(bob);
}

Test(rooms_admin_rooms, one_who_has_not_said_hello_is_no_player)
{
	struct gamer *mute = gamer_dial(s);

	server_await_metric(s, "coopd_rooms_connections", NULL, 1, DIAL_PATIENCE_MS);
	expect_error("DELETE", ROOMS "/players/1", 404, "not_found");
	gamer_free(mute);
}

Test(rooms_admin_rooms, a_dry_run_says_the_same_and_does_nothing)
{
	struct gamer *alice, *bob;
	uint64_t      room = gamer_meet(s, TITLE, &alice, &bob);
	char          where[300];

	snprintf(where, sizeof(where), "%s?dry_run=true", path("/", room));
	AUTO(rest_freep) struct http_result close = admin_ask(s, "DELETE", where, NULL);

	admin_expect(&close, 200, NULL);
	cr_expect_eq(rest_int(&close, "members"), 2);
	cr_expect(rest_bool(&close, "dry_run"));
	snprintf(where, sizeof(where), "%s?dry_run=true", member_path(room, 2));
	AUTO(rest_freep) struct http_result kick = admin_ask(s, "DELETE", where, NULL);

	admin_expect(&kick, 200, NULL);
	expect_text(&kick, "name", "bob");
	snprintf(where, sizeof(where), "%s?dry_run=true", path("/players/", bob->user_id));
	AUTO(rest_freep) struct http_result end = admin_ask(s, "DELETE", where, NULL);

	admin_expect(&end, 200, NULL);
	gamer_expect_silence(alice);
	gamer_expect_silence(bob);
	snprintf(where, sizeof(where), "%s?dry_run=true", path("/", room + 1));
	expect_error("DELETE", where, 404, "not_found");
	gamer_free(alice);
	gamer_free(bob);
}

Test(rooms_admin_rooms, what_cannot_be_is_refused)
{
	static const struct {
		const char *method, *path;
		int         status;
		const char *code;
	} rows[] = {
		{ "GET", ROOMS "/1", 404, "not_found" },
		{ "GET", ROOMS "/x", 404, "not_found" },
		{ "GET", ROOMS "/0", 404, "not_found" },
		{ "GET", ROOMS "/-1", 404, "not_found" },
		{ "GET", ROOMS "/99999999999999999999", 404, "not_found" },
		{ "DELETE", ROOMS "/1/members/1", 404, "not_found" },
		{ "DELETE", ROOMS "/1/members/65536", 404, "not_found" },
		{ "DELETE", ROOMS "/players/0", 404, "not_found" },
		{ "DELETE", ROOMS "/players/4294967296", 404, "not_found" },
		{ "DELETE", ROOMS, 405, "method" },
		{ "DELETE", ROOMS "/players", 405, "method" },
		{ "GET", ROOMS "?title=0123456789abc", 422, "invalid" },
		{ "GET", ROOMS "?title=~4", 422, "invalid" },
		{ "GET", ROOMS "?title=~xx", 422, "invalid" },
		{ "GET", ROOMS "?title=%ff", 400, "malformed" },
		{ "GET", ROOMS "?q=x", 400, "malformed" },
		{ "GET", ROOMS "?limit=0", 422, "invalid" },
		{ "GET", ROOMS "?cursor=x", 400, "malformed" },
		{ "GET", ROOMS "/players?q=0123456789abcdefg", 422, "invalid" },
		{ "GET", ROOMS "/players?name=x", 400, "malformed" },
		{ "DELETE", ROOMS "/1?dry_run=x", 400, "malformed" },
		{ "GET", ROOMS "/1?dry_run=true", 400, "malformed" },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		expect_error(rows[i].method, rows[i].path, rows[i].status, rows[i].code);
}

Test(rooms_admin_rooms, a_part_that_is_off_says_so)
{
	server_set(s, "rooms.enable=no");
	server_restart(s);
	expect_error("GET", ROOMS, 404, "part_off");
	expect_error("GET", "/admin/v1/boards", 404, "part_off");
	expect_error("DELETE", ROOMS "/1", 404, "part_off");
}
