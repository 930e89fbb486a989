/*
 * Limits of the rooms, from outside: at each and one past it.  More of them where they belong: those of a connection's rates in
 * rooms_serve_test.c, of what waits for it in rooms_slow_test.c, of boards in rooms_scores_test.c, of streams in rooms_stream_test.c.
 */
#include "support/rooms_client.h"

#include "base/auto.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <sys/resource.h>

#define TITLE       "NPWR00860_00"
#define OTHER_PLACE "127.0.0.2"
#define HOUR_MS     3600000
#define MIB         1048576

static struct server *s;

static void stop(void)
{
	if (s)
		server_finish(s);
	s = NULL;
}

TestSuite(rooms_limits, .fini = stop, .timeout = 240);

static void start(const char *set, const char *another)
{
	s = server_start((const char *[]){ set, another, NULL });
}

/* In production nobody is exempt from the limits per address. */
static void start_in_production(const char *set)
{
	s = server_start((const char *[]){ "server.production=yes", "http.listen=127.0.0.1:0", set, NULL });
}

static struct gamer *numbered(size_t number)
{
	char name[GAMER_NAME_BYTES + 1];

	snprintf(name, sizeof(name), "p%zu", number);
	return gamer_new(s, TITLE, name);
}

static void free_all(struct gamer **c, size_t count)
{
	for (size_t i = 0; i < count; i++)
		gamer_free(c[i]);
}

/* --- Connections --- */

/* It is connected by the kernel, whatever the server thinks of it. */
static void expect_refused(const char *from)
{
	struct gamer *late = gamer_dial_from(s, from);

	gamer_expect_end(late);
	gamer_free(late);
}

static void expect_accepted(struct gamer *c)
{
	gamer_expect_error(c, gamer_ask(c, ASK_HEARTBEAT, NULL, 0), SAYS_NO_HELLO);
}

static bool may_open_files(rlim_t count)
{
	struct rlimit most;

	if (getrlimit(RLIMIT_NOFILE, &most) || most.rlim_max < count)
		return false;
	most.rlim_cur = most.rlim_max;
	return setrlimit(RLIMIT_NOFILE, &most) == 0;
}

Test(rooms_limits, all_together_have_4096_connections)
{
	enum { MOST = 4096 };
	static struct gamer *c[MOST];

	if (!may_open_files(2 * MOST))
		cr_skip_test("too few files may be open");
	/* Of the files that it may have open, the other parts need few here. */
	s = server_start((const char *[]){ "limits.rooms_hello_ms=600000", "signal.enable=no", "cloud.enable=no",
	                                   "limits.ws_connections=256", NULL });
	if (server_log_contains(s, "few-files"))
		cr_skip_test("the server may open too few files");
	for (size_t i = 0; i < MOST; i++)
		c[i] = gamer_dial(s);
	expect_accepted(c[MOST - 1]);
	expect_refused(NULL);
	expect_refused(OTHER_PLACE);
	server_await_metric(s, "coopd_rooms_refused_total", "reason=\"total\"", 2, DIAL_PATIENCE_MS);
	cr_expect_eq((int)server_metric(s, "coopd_rooms_connections", NULL), MOST);
	expect_accepted(c[0]);
	gamer_free(c[0]);
	server_await_metric(s, "coopd_rooms_connections", NULL, MOST - 1, DIAL_PATIENCE_MS);
	c[0] = gamer_dial(s);
	expect_accepted(c[0]);
	free_all(c, MOST);
}

Test(rooms_limits, an_address_has_64_connections_in_production)
{
	enum { MOST = 64 };
	struct gamer *c[MOST];

	start_in_production("limits.rooms_hello_ms=600000");
	for (size_t i = 0; i < MOST; i++) {
		if (i % 20 == 0)
			server_advance(s, 1000); /* so many come in a second */
		c[i] = gamer_dial(s);
		expect_accepted(c[i]);
	}
	server_advance(s, 1000);
	expect_refused(NULL);
	server_await_metric(s, "coopd_rooms_refused_total", "reason=\"address\"", 1, DIAL_PATIENCE_MS);

	struct gamer *other = gamer_dial_from(s, OTHER_PLACE);

	expect_accepted(other);
	gamer_free(other);
	free_all(c, MOST);
}

Test(rooms_limits, loopback_has_more_outside_production)
{
	enum { MORE = 70 };
	struct gamer *c[MORE];

	start(NULL, NULL);
	for (size_t i = 0; i < MORE; i++) {
		c[i] = gamer_dial(s);
		expect_accepted(c[i]);
	}
	free_all(c, MORE);
}

/* --- Names and titles --- */

Test(rooms_limits, an_address_has_so_many_new_names_an_hour)
{
	start_in_production("limits.rooms_names_per_hour=3");

	struct gamer *c = gamer_new(s, TITLE, "a");

	gamer_hello(c, TITLE, "b", 3658);
	gamer_hello(c, TITLE, "A", 3658); /* none that is new */
	gamer_hello(c, TITLE, "c", 3658);
	gamer_expect_error(c, gamer_ask_hello(c, TITLE, "d", 3658), SAYS_LIMIT);
	gamer_hello(c, TITLE, "b", 3658);

	struct gamer *other = gamer_new_from(s, OTHER_PLACE, TITLE, "d");

	gamer_free(other);
	gamer_free(c);
	server_advance(s, HOUR_MS);
	c = gamer_new(s, TITLE, "e");
	gamer_free(c);
}

/* Two machines behind one router would otherwise push each other out for ever. */
Test(rooms_limits, a_name_is_taken_over_once_in_30_seconds)
{
	start_in_production(NULL);

	struct gamer *first = gamer_new(s, TITLE, "alice"), *second = gamer_new(s, TITLE, "Alice"), *third;

	gamer_expect_end(first);
	server_advance(s, 15000); /* and what passes really */
	third = gamer_dial(s);
	gamer_expect_error(third, gamer_ask_hello(third, TITLE, "alice", 3658), SAYS_TAKEN);
	gamer_expect_silence(second);
	gamer_free(third);
	server_advance(s, 15000);
	third = gamer_new(s, TITLE, "alice");
	gamer_expect_end(second);
	gamer_free(first);
	gamer_free(second);
	gamer_free(third);
}

static const char *title(char out[GAMER_TITLE_BYTES + 1], int number)
{
	snprintf(out, GAMER_TITLE_BYTES + 1, "NPWR%05d_00", number);
	return out;
}

/* One with nobody in it and no board is none. */
Test(rooms_limits, there_are_64_titles_with_a_player_or_a_board)
{
	enum { MOST = 64 };
	struct gamer *c[MOST], *late;
	char          t[GAMER_TITLE_BYTES + 1];

	start(NULL, NULL);
	for (int i = 0; i < MOST; i++) {
		char name[GAMER_NAME_BYTES + 1];

		snprintf(name, sizeof(name), "p%d", i);
		c[i] = gamer_new(s, title(t, i), name);
	}
	late = gamer_dial(s);
	gamer_expect_error(late, gamer_ask_hello(late, title(t, MOST), "late", 3658), SAYS_LIMIT);
	gamer_hello(late, title(t, 0), "late", 3658);
	gamer_score(c[1], 1, 0, 1, NOTHING);
	gamer_hello(c[1], title(t, 0), "p1", 3658);
	gamer_expect_error(late, gamer_ask_hello(late, title(t, MOST), "late", 3658), SAYS_LIMIT);
	gamer_hello(c[2], title(t, 0), "p2", 3658);
	gamer_hello(late, title(t, MOST), "late", 3658);
	gamer_free(late);
	free_all(c, MOST);
}

Test(rooms_limits, an_address_brings_so_many_titles_in_production)
{
	char          t[GAMER_TITLE_BYTES + 1];
	struct gamer *c[8], *late;

	start_in_production(NULL);
	for (int i = 0; i < 8; i++) {
		char name[GAMER_NAME_BYTES + 1];

		snprintf(name, sizeof(name), "p%d", i);
		c[i] = gamer_new(s, title(t, i), name);
	}
	late = gamer_dial(s);
	gamer_expect_error(late, gamer_ask_hello(late, title(t, 8), "late", 3658), SAYS_LIMIT);

	struct gamer *other = gamer_new_from(s, OTHER_PLACE, title(t, 8), "other");

	gamer_hello(late, title(t, 8), "late", 3658); /* it is there now */
	gamer_free(other);
	gamer_free(late);
	free_all(c, COUNT_OF(c));
}

Test(rooms_limits, only_the_titles_of_the_settings_are_played_when_there_are_any)
{
	start("rooms.titles=NPWR00001_00 NPWR00002_00", NULL);

	struct gamer *c = gamer_dial(s);

	gamer_expect_error(c, gamer_ask_hello(c, "NPWR00003_00", "alice", 3658), SAYS_NOT_FOUND);
	gamer_expect_error(c, gamer_ask_hello(c, "NPWR00001", "alice", 3658), SAYS_NOT_FOUND);
	gamer_hello(c, "NPWR00002_00", "alice", 3658);
	gamer_hello(c, "NPWR00001_00", "alice", 3658);
	gamer_free(c);
}

/* --- Rooms --- */

Test(rooms_limits, a_player_is_in_32_rooms_made_or_joined)
{
	enum { MOST = 32 };
	uint64_t rooms[MOST];

	start(NULL, NULL);

	struct gamer *alice = gamer_new(s, TITLE, "alice"), *bob = gamer_new(s, TITLE, "bob");

	for (size_t i = 0; i < MOST; i++)
		rooms[i] = gamer_create(alice, 4, NOTHING)->room_id;
	gamer_expect_error(alice, gamer_ask_create(alice, 4, NOTHING), SAYS_LIMIT);
	for (size_t i = 0; i + 1 < MOST; i++)
		gamer_join(bob, rooms[i], NOTHING);
	gamer_create(bob, 4, NOTHING);
	gamer_expect_error(bob, gamer_ask_join(bob, rooms[MOST - 1], NOTHING), SAYS_LIMIT);
	gamer_join(bob, rooms[0], NOTHING); /* he is in it */
	gamer_leave(bob, rooms[0]);
	gamer_join(bob, rooms[MOST - 1], NOTHING);
	gamer_leave(alice, rooms[7]);
	gamer_create(alice, 4, NOTHING);
	gamer_free(alice);
	gamer_free(bob);
}

/* For as long as it is open, for whoever owns it. */
Test(rooms_limits, an_address_has_so_many_rooms_in_production)
{
	start_in_production("limits.rooms_rooms_per_address=2");

	struct gamer *alice = gamer_new(s, TITLE, "alice"), *neighbour = gamer_new(s, TITLE, "neighbour"),
		     *other = gamer_new_from(s, OTHER_PLACE, TITLE, "other");
	uint64_t room       = gamer_create(alice, 4, NOTHING)->room_id;

	gamer_create(neighbour, 4, NOTHING);
	gamer_expect_error(alice, gamer_ask_create(alice, 4, NOTHING), SAYS_LIMIT);
	gamer_create(other, 4, NOTHING);
	gamer_join(other, room, NOTHING);
	gamer_leave(alice, room);
	gamer_create(alice, 4, NOTHING);
	gamer_expect_error(neighbour, gamer_ask_create(neighbour, 4, NOTHING), SAYS_LIMIT);
	gamer_expect_error(other, gamer_ask_create(other, 4, NOTHING), SAYS_LIMIT);
	gamer_leave(other, room);
	gamer_create(other, 4, NOTHING);
	gamer_free(alice);
	server_await_metric(s, "coopd_rooms_connections", NULL, 2, DIAL_PATIENCE_MS);
	gamer_create(neighbour, 4, NOTHING);
	gamer_free(neighbour);
	gamer_free(other);
}

/* Numbers of members would be used up otherwise, and the room with them. */
Test(rooms_limits, an_address_joins_so_many_rooms_a_minute_in_production)
{
	start_in_production("limits.rooms_joins_per_minute=3");

	struct gamer *alice = gamer_new(s, TITLE, "alice"), *neighbour = gamer_new(s, TITLE, "neighbour"),
		     *other = gamer_new_from(s, OTHER_PLACE, TITLE, "other");
	uint64_t room       = gamer_create(other, 4, NOTHING)->room_id;

	gamer_join(alice, room, NOTHING);
	gamer_join(alice, room, NOTHING); /* he is in it */
	gamer_leave(alice, room);
	gamer_join(alice, room, NOTHING);
	gamer_create(neighbour, 4, NOTHING);
	gamer_expect_error(neighbour, gamer_ask_join(neighbour, room, NOTHING), SAYS_LIMIT);
	gamer_expect_error(neighbour, gamer_ask_create(neighbour, 4, NOTHING), SAYS_LIMIT);
	gamer_expect_error(neighbour, gamer_ask_join(neighbour, room + 9, NOTHING), SAYS_NOT_FOUND);
	gamer_create(other, 4, NOTHING);
	server_advance(s, 60000);
	gamer_join(neighbour, room, NOTHING);
	gamer_free(alice);
	gamer_free(neighbour);
	gamer_free(other);
}

Test(rooms_limits, a_room_has_255_members)
{
	enum { MOST = 255 };
	struct gamer *c[MOST + 1];

	start(NULL, NULL);
	c[0] = numbered(0);

	uint64_t room = gamer_create(c[0], MOST, NOTHING)->room_id;

	for (size_t i = 1; i < MOST; i++) {
		c[i] = numbered(i);
		cr_expect_eq(gamer_join(c[i], room, TEXT("data"))->count, i + 1);
	}
	c[MOST] = numbered(MOST);
	gamer_expect_error(c[MOST], gamer_ask_join(c[MOST], room, NOTHING), SAYS_FULL);
	for (size_t i = 1; i < MOST; i++)
		gamer_expect_joined(c[0], room, c[i]);
	gamer_leave(c[1], room);
	gamer_expect_left(c[0], room, 2, 1);
	cr_expect_eq(gamer_join(c[MOST], room, NOTHING)->my_member, MOST + 1);
	free_all(c, MOST + 1);
}

/* --- Data --- */

Test(rooms_limits, the_data_of_all_rooms_has_a_budget)
{
	enum { LARGE = 65000, ROOMS = MIB / LARGE, REST = MIB % LARGE };
	static uint8_t data[LARGE];
	uint64_t       rooms[ROOMS], small;

	start("limits.rooms_blob_total=1048576", NULL);

	struct gamer *alice = gamer_new(s, TITLE, "alice"), *bob = gamer_new(s, TITLE, "bob");

	for (size_t i = 0; i < ROOMS; i++)
		rooms[i] = gamer_create(alice, 4, BYTES(data, LARGE))->room_id;
	gamer_expect_error(bob, gamer_ask_create(bob, 4, BYTES(data, REST + 1)), SAYS_LIMIT);
	small = gamer_create(bob, 4, BYTES(data, REST - 1))->room_id;
	gamer_expect_error(alice, gamer_ask_join(alice, small, BYTES(data, 2)), SAYS_LIMIT);
	gamer_expect_error(bob, gamer_ask_set(bob, small, 1, BYTES(data, 2)), SAYS_LIMIT);
	gamer_join(alice, small, BYTES(data, 1));
	gamer_expect_error(bob, gamer_ask_set(bob, small, 0, BYTES(data, REST)), SAYS_LIMIT);
	gamer_set(bob, small, 0, BYTES(data, REST - 2)); /* less is always possible */
	gamer_set(bob, small, 1, BYTES(data, 1));
	gamer_create(bob, 4, NOTHING);
	gamer_leave(alice, rooms[3]);
	gamer_create(bob, 4, BYTES(data, LARGE));
	gamer_expect_error(bob, gamer_ask_create(bob, 4, BYTES(data, 1)), SAYS_LIMIT);
	gamer_free(alice);
	gamer_free(bob);
}
