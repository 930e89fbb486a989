/*
 * Many at once, and much at once: pages of a thousand rooms, rooms whose data fills a frame, a full room whose player comes
 * back, and a crowd of which one does not read.
 */
#include "support/rooms_client.h"

#include "base/auto.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#define TITLE       "NPWR00860_00"
#define OTHER_PLACE "127.0.0.2"

/* Of ROOM_JOINED: all but blobs and members, and a member without his data. */
#define JOINED_BYTES 26
#define MEMBER_BYTES 31

/* So many bytes of blobs leave no byte of the frame free. */
#define FILLS(members) (GAMER_PAYLOAD_MAX - JOINED_BYTES - (members)*MEMBER_BYTES)

static struct server *s;
static uint8_t        data[GAMER_PAYLOAD_MAX];

static void stop(void)
{
	server_finish(s);
}

TestSuite(rooms_crowd, .fini = stop, .timeout = 240);

static struct gamer *numbered(size_t number)
{
	char name[GAMER_NAME_BYTES + 1];

	snprintf(name, sizeof(name), "p%zu", number);
	return gamer_new(s, TITLE, name);
}

/* --- Pages --- */

Test(rooms_crowd, a_thousand_rooms_come_in_pages_and_nobody_is_dropped)
{
	enum { ROOMS = 1000, EACH = 32, PLAYERS = (ROOMS + EACH - 1) / EACH, EXTERNAL = 200, PER_PAGE = 65527 / 232 };
	struct gamer         *c[PLAYERS], *reader;
	struct gamer_message *m;
	uint64_t              last  = 0;
	uint16_t              found = 0;
	int                   pages = 0;

	s = server_start(NULL);
	for (size_t i = 0; i < PLAYERS; i++)
		c[i] = numbered(i);
	for (size_t i = 0; i < ROOMS; i++) {
		memset(data, (int)(i % 251), EXTERNAL);
		gamer_create(c[i / EACH], 4, BYTES(data, EXTERNAL));
	}
	gamer_expect_error(c[PLAYERS - 1], gamer_ask_create(c[PLAYERS - 1], 4, NOTHING), SAYS_LIMIT);
	reader = gamer_new(s, TITLE, "reader");
	for (; found < ROOMS; found += (uint16_t)m->count, pages++) {
		m = gamer_search(reader, found, UINT16_MAX);
		cr_expect_eq(m->total, ROOMS);
		cr_assert_eq(m->count, ROOMS - found < PER_PAGE ? ROOMS - found : PER_PAGE, "%zu", m->count);
		for (size_t i = 0; i < m->count; i++) {
			memset(data, (int)((found + i) % 251), EXTERNAL);
			cr_expect(gamer_blob_is(m->found[i].external, BYTES(data, EXTERNAL)));
			cr_expect_gt(m->found[i].room_id, last);
			last = m->found[i].room_id;
		}
	}
	cr_expect_eq(pages, 4);
	cr_expect_eq(gamer_search(reader, 0, 100)->count, 100, "which is what games ask for");
	for (size_t i = 0; i < PLAYERS; i++) {
		gamer_expect_silence(c[i]);
		gamer_free(c[i]);
	}
	gamer_free(reader);
}

/* To the byte: what does not fit is left out whole. */
Test(rooms_crowd, a_page_ends_before_the_room_that_does_not_fit)
{
	enum { PAGE = GAMER_PAYLOAD_MAX - 8, ENTRY = 32, FIRST = 65000, SECOND = PAGE - 2 * ENTRY - FIRST };
	struct gamer_message *m;

	s = server_start(NULL);

	struct gamer *alice = gamer_new(s, TITLE, "alice");
	uint64_t      rooms[3];

	rooms[0] = gamer_create(alice, 4, BYTES(data, FIRST))->room_id;
	rooms[1] = gamer_create(alice, 4, BYTES(data, SECOND))->room_id;
	rooms[2] = gamer_create(alice, 4, NOTHING)->room_id;
	m        = gamer_search(alice, 0, 9);
	cr_assert(m->total == 3 && m->count == 2);
	cr_expect_eq(m->len, GAMER_PAYLOAD_MAX);
	gamer_set(alice, rooms[1], 0, BYTES(data, SECOND + 1));
	m = gamer_search(alice, 0, 9);
	cr_expect(m->total == 3 && m->count == 1, "nor is the third, which would fit, told instead of the second");
	m = gamer_search(alice, 1, 9);
	cr_assert(m->total == 3 && m->count == 2);
	cr_expect(m->found[0].room_id == rooms[1] && m->found[1].room_id == rooms[2]);
	gamer_free(alice);
}

/* --- Full frames --- */

Test(rooms_crowd, a_room_whose_reply_would_not_fit_a_frame_is_bad)
{
	struct gamer_plan much = { .max = 4, .external = BYTES(data, 30000), .internal = BYTES(data, 30000) };

	s = server_start(NULL);

	struct gamer *alice = gamer_new(s, TITLE, "alice");

	much.data = BYTES(data, FILLS(1) - 60000 + 1);
	gamer_expect_error(alice, gamer_ask_plan(alice, &much), SAYS_BAD);
	much.data.len--;
	cr_expect_eq(gamer_plan(alice, &much)->len, GAMER_PAYLOAD_MAX);
	gamer_expect_error(alice, gamer_ask_create(alice, 4, BYTES(data, FILLS(1) + 1)), SAYS_BAD);
	cr_expect_eq(gamer_search(alice, 0, 0)->total, 0, "one was made, and nobody can join it");
	gamer_free(alice);
}

Test(rooms_crowd, a_join_that_would_not_fit_a_frame_finds_the_room_full)
{
	s = server_start(NULL);

	struct gamer *alice = gamer_new(s, TITLE, "alice"), *bob = gamer_new(s, TITLE, "bob"),
		     *carol = gamer_new(s, TITLE, "carol");
	uint64_t room       = gamer_create(alice, 4, BYTES(data, FILLS(2) - 100))->room_id;

	gamer_expect_error(bob, gamer_ask_join(bob, room, BYTES(data, 101)), SAYS_FULL);
	gamer_expect_silence(alice);
	cr_expect_eq(gamer_join(bob, room, BYTES(data, 100))->len, GAMER_PAYLOAD_MAX);
	gamer_expect_joined(alice, room, bob);
	gamer_expect_error(carol, gamer_ask_join(carol, room, NOTHING), SAYS_FULL);
	cr_expect_eq(gamer_join(bob, room, BYTES(data, 5000))->my_member, 2, "who is in it, is");
	gamer_set(alice, room, 0, NOTHING);
	gamer_expect_data(bob, room, 0, NOTHING);
	cr_expect_eq(gamer_join(carol, room, NOTHING)->my_member, 3);
	gamer_free(alice);
	gamer_free(bob);
	gamer_free(carol);
}

Test(rooms_crowd, data_that_would_not_fit_a_frame_with_everybody_who_is_in_is_bad)
{
	s = server_start(NULL);

	struct gamer *alice = gamer_new(s, TITLE, "alice"), *bob = gamer_new(s, TITLE, "bob");
	uint64_t      room = gamer_create(alice, 4, NOTHING)->room_id;

	gamer_join(bob, room, BYTES(data, 40));
	gamer_expect_joined(alice, room, bob);
	for (uint8_t which = 0; which < 2; which++) {
		gamer_expect_error(alice, gamer_ask_set(alice, room, which, BYTES(data, FILLS(2) - 40 + 1)), SAYS_BAD);
		gamer_expect_silence(bob);
		gamer_set(alice, room, which, BYTES(data, FILLS(2) - 40));
		gamer_expect_data(bob, room, which, BYTES(data, FILLS(2) - 40));
		cr_expect_eq(gamer_join(bob, room, NOTHING)->len, GAMER_PAYLOAD_MAX);
		gamer_set(alice, room, which, NOTHING);
		gamer_expect_data(bob, room, which, NOTHING);
	}
	gamer_leave(bob, room);
	gamer_expect_left(alice, room, 2, 1);
	gamer_set(alice, room, 0, BYTES(data, FILLS(1)));
	cr_expect_eq(gamer_join(alice, room, NOTHING)->len, GAMER_PAYLOAD_MAX);
	gamer_free(alice);
	gamer_free(bob);
}

/* --- Coming back --- */

/* At his own address who returns is in at once (rooms_session_test.c); the seat is his while his old connection stands. */
Test(rooms_crowd, who_returns_from_another_address_finds_his_name_taken_and_his_seat_too)
{
	s = server_start(NULL);

	struct gamer *alice = gamer_new(s, TITLE, "alice"), *bob = gamer_new(s, TITLE, "bob"),
		     *back = gamer_dial_from(s, OTHER_PLACE);
	uint64_t room      = gamer_create(alice, 2, NOTHING)->room_id;

	gamer_join(bob, room, NOTHING);
	gamer_expect_joined(alice, room, bob);
	gamer_expect_error(back, gamer_ask_hello(back, TITLE, "Bob", 3658), SAYS_TAKEN);
	gamer_expect_error(back, gamer_ask_join(back, room, NOTHING), SAYS_NO_HELLO);
	gamer_hello(back, TITLE, "bob-2", 3658);
	gamer_expect_error(back, gamer_ask_join(back, room, NOTHING), SAYS_FULL);
	gamer_expect_silence(alice);
	gamer_expect_silence(bob);
	gamer_abort(bob);
	gamer_expect_left(alice, room, 2, 1);
	gamer_hello(back, TITLE, "bob", 3658);
	cr_expect_eq(gamer_join(back, room, NOTHING)->my_member, 3);
	gamer_expect_joined(alice, room, back);
	gamer_free(alice);
	gamer_free(bob);
	gamer_free(back);
}

/* --- One who does not read --- */

enum { CROWD = 12, ROUNDS_MAX = 100, SAID_BYTES = 4000, DEAF_MEMBER = CROWD + 1 };

/* What each says in each round: who, and when. */
static struct gamer_blob words(size_t who, int round)
{
	memset(data, 'a' + (int)who, SAID_BYTES);
	data[0] = (uint8_t)round;
	return BYTES(data, SAID_BYTES);
}

static void say_round(struct gamer **c, uint64_t room, int round)
{
	uint32_t req[CROWD];

	for (size_t i = 0; i < CROWD; i++)
		req[i] = gamer_ask_say(c[i], room, 0, words(i, round));
	for (size_t i = 0; i < CROWD; i++)
		gamer_expect_success(c[i], req[i], ANSWER_OK);
}

/*
 * All that the others said in a round and nothing of another one, so that of each speaker it is in order; the speakers in
 * whatever order they were heard. True: that the deaf one has left was among it.
 */
static bool expect_round(struct gamer *c, size_t me, int round)
{
	bool heard[CROWD] = { false }, has_left = false;

	for (size_t count = 0; count + 1 < CROWD;) {
		struct gamer_message *m = gamer_next_push(c, DIAL_PATIENCE_MS);

		cr_assert_not_null(m, "%s hears nothing in round %d", c->name, round);
		if (m->type == PUSH_MEMBER_LEFT) {
			cr_assert(m->member_id == DEAF_MEMBER && !has_left);
			has_left = true;
			continue;
		}
		cr_assert(m->type == PUSH_ROOM_MSG && m->from >= 1 && m->from <= CROWD && m->from != me + 1);
		cr_assert(!heard[m->from - 1]);
		cr_expect(gamer_blob_is(m->data, words(m->from - 1U, round)), "round %d from %u", round, m->from);
		heard[m->from - 1] = true;
		count++;
	}
	return has_left;
}

Test(rooms_crowd, one_who_does_not_read_delays_nobody_and_is_gone_after_1_mib)
{
	struct gamer *c[CROWD], *deaf;
	bool          is_told[CROWD] = { false };
	int           round          = 0;

	s    = server_start(NULL);
	c[0] = numbered(0);

	uint64_t room = gamer_create(c[0], CROWD + 1, NOTHING)->room_id;

	for (size_t i = 1; i < CROWD; i++) {
		c[i] = numbered(i);
		gamer_join(c[i], room, NOTHING);
		for (size_t at = 0; at < i; at++)
			gamer_expect_joined(c[at], room, c[i]);
	}
	deaf = gamer_dial_way(&(struct gamer_way){ .port = s->rooms_port, .rcvbuf_bytes = 4096 });
	gamer_hello(deaf, TITLE, "deaf", 3658);
	gamer_join(deaf, room, NOTHING);
	for (size_t i = 0; i < CROWD; i++)
		gamer_expect_joined(c[i], room, deaf);
	while (server_metric(s, "coopd_rooms_closed_total", "reason=\"output\"") == 0) {
		cr_assert_lt(round, ROUNDS_MAX, "he is still there");
		say_round(c, room, round);
		for (size_t i = 0; i < CROWD; i++)
			is_told[i] |= expect_round(c[i], i, round);
		round++;
	}
	cr_expect_gt(round * CROWD * SAID_BYTES, 1048576);
	for (size_t i = 0; i < CROWD; i++) {
		if (!is_told[i])
			gamer_expect_left(c[i], room, DEAF_MEMBER, 1);
		gamer_expect_silence(c[i]);
	}
	for (size_t i = 0; i < CROWD; i++)
		gamer_free(c[i]);
	gamer_free(deaf);
}
