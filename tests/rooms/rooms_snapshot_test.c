/*
 * The rooms as the status page copies them, helping by helping.
 */
#include "rooms/rooms_snapshot.h"

#include "base/auto.h"
#include "base/metric.h"
#include "support/rooms_table.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define MEMBERS 255
#define ROOMS   20 /* more names than a few helpings have */

static struct rooms_snapshot shown;

static void start(void)
{
	table_open();
	shown = (struct rooms_snapshot){ 0 };
}

static void stop(void)
{
	rooms_snapshot_fini(&shown);
	table_close();
}

TestSuite(rooms_snapshot, .init = start, .fini = stop);

static enum rooms_snapshot_says copy(void)
{
	return rooms_snapshot_copy(&shown, &table.state, table.now.mono_ms);
}

Test(rooms_snapshot, nothing_is_shown_of_nobody)
{
	cr_expect_eq(copy(), ROOMS_SNAPSHOT_WHOLE);
	cr_expect_eq(shown.room_count, 0);
	cr_expect_eq(shown.name_count, 0);
	cr_expect_eq(shown.board_count, 0);
	cr_expect_eq(shown.clients, 0);
	cr_expect_eq(shown.limits, &table.limits);
	cr_expect_not(shown.relays);
}

Test(rooms_snapshot, rooms_boards_and_figures_are_copied)
{
	struct table_seat *alice = table_player("198.51.100.7", "alice"), *bob = table_player("203.0.113.9", "bob");
	uint64_t           room = table_create(alice, 4);

	table.state.relays = true;
	table_join(bob, room);
	table_sit("192.0.2.3");
	table_say(bob, (struct rooms_request){ .type = ROOMS_RECORD_SCORE, .req = 1, .board = 7, .score = 50 });
	table_ignore_all();
	table.now.mono_ms += 5000;
	metric_set(M_ROOMS_ACCEPTED, 10);
	metric_set(M_ROOMS_REFUSED_TOTAL, 1);
	metric_set(M_ROOMS_REFUSED_ADDRESS, 2);
	metric_set(M_ROOMS_REFUSED_RATE, 4);
	metric_set(M_ROOMS_REFUSED_MEMORY, 8);
	for (enum metric m = M_ROOMS_UDP_SHAPE; m <= M_ROOMS_UDP_RATE; m++)
		metric_set(m, 1);
	metric_set(M_ROOMS_RELAYED_BYTES, 100);
	metric_set(M_ROOMS_STREAM_BYTES, 20);
	metric_set(M_ROOMS_STREAMS, 3);

	cr_expect_eq(copy(), ROOMS_SNAPSHOT_WHOLE);
	cr_assert_eq(shown.room_count, 1);
	cr_expect_eq(shown.rooms[0].id, room);
	cr_expect_eq(shown.rooms[0].max, 4);
	cr_expect_eq(shown.rooms[0].age_ms, 5000);
	cr_expect_eq(memcmp(shown.rooms[0].title, TABLE_TITLE, ROOMS_TITLE_BYTES), 0);
	cr_assert(shown.rooms[0].first == 0 && shown.rooms[0].count == 2 && shown.name_count == 2);
	cr_expect_str_eq((const char *)shown.names[0], "alice");
	cr_expect_str_eq((const char *)shown.names[1], "bob");
	cr_assert_eq(shown.board_count, 1);
	cr_expect_eq(shown.boards[0].number, 7);
	cr_expect_eq(shown.boards[0].rows, 1);
	cr_expect_eq(shown.boards[0].best, 50);
	cr_expect_str_eq((const char *)shown.boards[0].leader, "bob");
	cr_expect_eq(memcmp(shown.boards[0].title, TABLE_TITLE, ROOMS_TITLE_BYTES), 0);
	cr_expect(shown.relays);
	cr_expect_eq(shown.clients, 3);
	cr_expect_eq(shown.connections, 10);
	cr_expect_eq(shown.tcp_refused, 15);
	cr_expect_eq(shown.udp_dropped, 7);
	cr_expect_eq(shown.relayed_bytes, 120);
	cr_expect_eq(shown.streams, 3);
}

static struct table_seat *crowd[MEMBERS];

/* Everybody is in each of the rooms. */
static void crowd_rooms(void)
{
	char     name[32];
	uint64_t ids[ROOMS];

	for (size_t i = 0; i < MEMBERS; i++) {
		snprintf(name, sizeof(name), "player%zu", i);
		crowd[i] = table_player("198.51.100.7", name);
	}
	for (size_t r = 0; r < ROOMS; r++)
		ids[r] = table_create(crowd[0], MEMBERS);
	for (size_t i = 1; i < MEMBERS; i++) {
		for (size_t r = 0; r < ROOMS; r++) {
			table_say(crowd[i],
			          (struct rooms_request){ .type = ROOMS_JOIN_ROOM, .req = 1, .room_id = ids[r] });
			table_ignore_all();
		}
	}
}

/* Each room once, in order, with whole rooms' names. */
static void expect_order(void)
{
	size_t names = 0;

	for (size_t i = 0; i < shown.room_count; i++) {
		cr_expect(i == 0 || shown.rooms[i].id > shown.rooms[i - 1].id);
		cr_expect_eq(shown.rooms[i].first, names);
		names += shown.rooms[i].count;
	}
	cr_expect_eq(shown.name_count, names);
}

Test(rooms_snapshot, many_are_copied_in_helpings_between_which_rooms_come_and_go, .timeout = 120)
{
	crowd_rooms();
	cr_expect_eq(copy(), ROOMS_SNAPSHOT_MORE);
	cr_expect_lt(shown.room_count, ROOMS);
	cr_expect_geq(shown.name_count, 1024);
	cr_expect_lt(shown.name_count, 1024 + MEMBERS);
	expect_order();

	/* The one that was copied last is gone, one that is still to come as well; there is a new one. */
	size_t   before = shown.room_count;
	uint64_t gone[] = { shown.rooms[before - 1].id, shown.rooms[before - 1].id + 2 };

	for (size_t i = 0; i < MEMBERS; i++) {
		for (size_t g = 0; g < COUNT_OF(gone); g++) {
			table_say(crowd[i],
			          (struct rooms_request){ .type = ROOMS_LEAVE_ROOM, .req = 1, .room_id = gone[g] });
			table_ignore_all();
		}
	}
	uint64_t newest = table_create(crowd[0], 1);

	enum rooms_snapshot_says says;

	while ((says = copy()) == ROOMS_SNAPSHOT_MORE)
		expect_order();
	cr_expect_eq(says, ROOMS_SNAPSHOT_WHOLE);
	expect_order();
	cr_expect_eq(shown.room_count, (size_t)ROOMS - 1 + 1);
	cr_expect_eq(shown.rooms[before].id, gone[0] + 1);
	cr_expect_eq(shown.rooms[before + 1].id, gone[1] + 1);
	cr_expect_eq(shown.rooms[shown.room_count - 1].id, newest);
	cr_expect_eq(shown.clients, MEMBERS);
}
