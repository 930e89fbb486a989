/*
 * Players who ask faster than they read: all is answered in the end, little waits meanwhile, and one who never reads is
 * silent.
 */
#include "base/auto.h"
#include "base/bytes.h"
#include "support/await.h"
#include "support/rooms_client.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define TITLE      "NPWR00860_00"
#define MIB        1048576
#define DATA_BYTES 60000
#define ASK_BYTES  11   /* a SEARCH_ROOMS, head and all */
#define FIRST_REQ  1000 /* of the pages that are asked for in one go */
#define SMALL      "limits.rooms_output=131072", "limits.rooms_message_burst=131072"
#define HELD_PAGES 40 /* more than the kernel and a quarter of rooms_output hold */

static struct server *s;
static uint8_t        data[65535];

static void stop(void)
{
	if (s)
		server_finish(s);
	s = NULL;
}

TestSuite(rooms_hold, .fini = stop, .timeout = 300);

static long metric(const char *name)
{
	return (long)server_metric(s, name, NULL);
}

static void await_closed(const char *reason)
{
	server_await_metric(s, "coopd_rooms_closed_total", reason, 1, DIAL_PATIENCE_MS);
}

/* A server with a room that is a large page for who searches. */
static struct gamer *begin(const char *const *sets)
{
	struct gamer *alice;

	s = server_start(sets);
	memset(data, 'x', sizeof(data));
	alice = gamer_new(s, TITLE, "alice");
	gamer_create(alice, 4, BYTES(data, DATA_BYTES));
	return alice;
}

/* One write, so that more than one of them is read at once. */
static void ask_pages(struct gamer *c, uint32_t first_req, size_t count)
{
	AUTO(auto_free) uint8_t *asks = malloc(count * ASK_BYTES);
	struct wr                w    = wr_over(asks, count * ASK_BYTES);

	for (size_t i = 0; i < count; i++) {
		wr_u8(&w, ASK_SEARCH_ROOMS);
		wr_be(&w, ASK_BYTES - GAMER_HEAD_BYTES, 2);
		wr_be(&w, first_req + i, 4);
		wr_be(&w, 0, 2);
		wr_be(&w, 9, 2);
	}
	cr_assert(gamer_send(c, asks, count * ASK_BYTES));
}

static void await_held(void)
{
	for (int64_t until = real_now_ms() + DIAL_PATIENCE_MS; metric("coopd_rooms_partial_bytes") == 0;)
		cr_assert_lt(real_now_ms(), until, "nothing is held");
}

static void await_nothing_waits(void)
{
	server_await_metric(s, "coopd_rooms_queued_bytes", NULL, 0, DIAL_PATIENCE_MS);
	server_await_metric(s, "coopd_rooms_partial_bytes", NULL, 0, DIAL_PATIENCE_MS);
}

/* With pages asked for that he does not read. */
static struct gamer *held_gamer(const char *name)
{
	struct gamer *c = gamer_new(s, TITLE, name);

	ask_pages(c, FIRST_REQ, HELD_PAGES);
	await_held();
	return c;
}

static void expect_page(struct gamer *c, uint32_t req)
{
	struct gamer_message *m = gamer_next(c, DIAL_PATIENCE_MS);

	cr_assert(m && m->type == ANSWER_ROOM_LIST && m->req == req, "page %u", req);
}

/* The second half is in the kernel while the first is held: it is read when that is answered. */
Test(rooms_hold, all_that_was_asked_in_one_go_is_answered_in_order_while_little_waits)
{
	enum { HALF = 100, PER_LOOK = 10 };

	struct gamer *alice = begin(NULL), *bob = gamer_new(s, TITLE, "bob");

	ask_pages(bob, FIRST_REQ, HALF);
	await_held();
	ask_pages(bob, FIRST_REQ + HALF, HALF);
	for (uint32_t i = 0; i < 2 * HALF; i++) {
		if (i % PER_LOOK == 0) {
			cr_expect_leq(metric("coopd_rooms_queued_bytes"), MIB / 4 + GAMER_PAYLOAD_MAX);
			cr_expect_leq(metric("coopd_rooms_partial_bytes"), HALF * ASK_BYTES);
		}
		expect_page(bob, FIRST_REQ + i);
	}
	await_nothing_waits();
	gamer_expect_silence(bob);
	gamer_free(alice);
	gamer_free(bob);
}

/* At a quarter nothing is held; one byte more, and the next request is not handled. */
Test(rooms_hold, more_than_a_quarter_of_the_room_is_too_much)
{
	enum { QUARTER = 131072 / 4, MSG_BYTES = 17 };

	s = server_start((const char *[]){ SMALL, NULL });

	struct gamer *alice = gamer_new(s, TITLE, "alice"), *bob = gamer_new(s, TITLE, "bob");
	uint64_t      room = gamer_create(alice, 4, NOTHING)->room_id;
	long          requests;

	gamer_join(bob, room, NOTHING);
	while (metric("coopd_rooms_queued_bytes") == 0)
		gamer_say(alice, room, 2, BYTES(data, 1000));
	while (metric("coopd_rooms_queued_bytes") < QUARTER) {
		long left = QUARTER - metric("coopd_rooms_queued_bytes");

		gamer_say(alice, room, 2, BYTES(data, left > 2000 ? 1000 : (size_t)left - MSG_BYTES));
	}
	cr_assert_eq(metric("coopd_rooms_queued_bytes"), QUARTER);
	requests = metric("coopd_rooms_requests_total");
	gamer_heartbeat(bob);
	server_await_metric(s, "coopd_rooms_requests_total", NULL, (double)requests + 1, DIAL_PATIENCE_MS);
	gamer_say(alice, room, 2, BYTES(data, 1));
	requests = metric("coopd_rooms_requests_total");
	gamer_heartbeat(bob);
	await_held();
	cr_expect_eq(metric("coopd_rooms_requests_total"), requests);
	gamer_free(alice);
	gamer_free(bob);
}

/* Heartbeats do not help one whose frames are not handled. */
Test(rooms_hold, one_who_asks_and_never_reads_is_silent_in_the_end)
{
	struct gamer *alice = begin(NULL), *deaf = held_gamer("deaf");

	server_advance(s, 60000);
	gamer_heartbeat(deaf);
	gamer_expect_silence(alice);
	cr_expect_eq(metric("coopd_rooms_connections"), 2);
	server_advance(s, 31000);
	await_closed("reason=\"silent\"");
	gamer_expect_silence(alice);
	server_await_metric(s, "coopd_rooms_partial_bytes", NULL, 0, DIAL_PATIENCE_MS);
	gamer_free(alice);
	gamer_free(deaf);
}

Test(rooms_hold, one_who_never_says_hello_and_never_reads_has_his_15_s)
{
	enum { FRAMES = 60000, FRAME_BYTES = 7 };
	AUTO(auto_free) uint8_t *frames = calloc(FRAMES, FRAME_BYTES);
	struct gamer            *c;

	for (size_t i = 0; i < FRAMES; i++) {
		frames[i * FRAME_BYTES]     = ASK_SEARCH_ROOMS;
		frames[i * FRAME_BYTES + 2] = 4;
	}
	s = server_start((const char *[]){ SMALL, NULL });
	c = gamer_dial_way(&(struct gamer_way){ .port = s->rooms_port, .rcvbuf_bytes = 4096 });
	cr_assert(gamer_send(c, frames, FRAMES * FRAME_BYTES));
	await_held();
	server_advance(s, 16000);
	await_closed("reason=\"no_hello\"");
	gamer_free(c);
}

Test(rooms_hold, what_others_say_still_counts_and_ends_one_who_does_not_read)
{
	struct gamer *alice = begin(NULL), *deaf = gamer_new(s, TITLE, "deaf");
	uint64_t      room = gamer_create(alice, 4, NOTHING)->room_id;

	gamer_join(deaf, room, NOTHING);
	gamer_expect_joined(alice, room, deaf);
	ask_pages(deaf, FIRST_REQ, HELD_PAGES);
	await_held();
	while (server_metric(s, "coopd_rooms_closed_total", "reason=\"output\"") < 1) {
		cr_assert_leq(metric("coopd_rooms_queued_bytes"), MIB);
		gamer_say(alice, room, 2, BYTES(data, DATA_BYTES));
	}
	gamer_expect_left(alice, room, 2, 1);
	await_nothing_waits();
	gamer_free(alice);
	gamer_free(deaf);
}

/* What is held is input that waits: it takes part in the budget, of which the halves of frames leave nothing. */
Test(rooms_hold, what_is_held_counts_as_input)
{
	enum { HALVES = 16, CAP = 65536 };
	struct gamer *c[HALVES], *alice, *deaf;

	alice = begin((const char *[]){ "limits.rooms_input_total=1048576", NULL });
	for (size_t i = 0; i < HALVES; i++) {
		c[i] = gamer_dial(s);
		cr_assert(gamer_send(c[i], "\x15\xFF\xFF", 3) && gamer_send(c[i], data, 33000));
	}
	server_await_metric(s, "coopd_rooms_partial_bytes", NULL, (double)HALVES * CAP, DIAL_PATIENCE_MS);
	deaf = gamer_new(s, TITLE, "deaf");
	ask_pages(deaf, FIRST_REQ, HELD_PAGES);
	await_closed("reason=\"input_budget\"");
	for (size_t i = 0; i < HALVES; i++)
		gamer_free(c[i]);
	for (uint32_t i = 0; i < HELD_PAGES; i++)
		expect_page(deaf, FIRST_REQ + i);
	await_nothing_waits();
	gamer_free(alice);
	gamer_free(deaf);
}

/* --- Ends while he is held --- */

/* He may be a script: all is asked, the output ends, and then he reads. */
Test(rooms_hold, one_who_ends_his_output_gets_the_answers_that_are_still_to_be_made)
{
	struct gamer *alice = begin(NULL), *bob = held_gamer("bob");

	shutdown(bob->fd, SHUT_WR);
	gamer_expect_silence(alice);
	for (uint32_t i = 0; i < HELD_PAGES; i++)
		expect_page(bob, FIRST_REQ + i);
	gamer_expect_end(bob);
	server_await_metric(s, "coopd_rooms_connections", NULL, 1, DIAL_PATIENCE_MS);
	await_closed("reason=\"peer\"");
	await_nothing_waits();
	gamer_free(alice);
	gamer_free(bob);
}

Test(rooms_hold, one_who_hangs_up_is_gone_at_once)
{
	struct gamer *alice = begin(NULL), *bob = held_gamer("bob");

	gamer_abort(bob);
	await_closed("reason=\"peer\"");
	await_nothing_waits();
	gamer_free(alice);
	gamer_free(bob);
}

Test(rooms_hold, one_who_comes_back_takes_the_name_of_the_one_who_hangs)
{
	struct gamer *alice = begin(NULL), *hung = held_gamer("bob"), *bob = gamer_new(s, TITLE, "bob");

	await_closed("reason=\"replaced\"");
	server_await_metric(s, "coopd_rooms_partial_bytes", NULL, 0, DIAL_PATIENCE_MS);
	while (gamer_next(hung, DIAL_PATIENCE_MS))
		;
	cr_expect_lt(hung->fd, 0);
	await_nothing_waits();
	gamer_free(alice);
	gamer_free(hung);
	gamer_free(bob);
}

Test(rooms_hold, the_end_of_the_server_does_not_wait_for_them)
{
	struct gamer *alice = begin(NULL), *deaf = held_gamer("deaf");

	server_signal(s, SIGTERM);
	cr_expect_eq(server_await_exit(s, SERVER_STOP_MS), 0);
	gamer_free(alice);
	gamer_free(deaf);
}
