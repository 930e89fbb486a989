/*
 * Players who do not read, and frames that never end: what waits is bounded, for each and for all, and nobody else notices.
 */
#include "base/auto.h"
#include "support/await.h"
#include "support/rooms_client.h"

#include <criterion/criterion.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define TITLE        "NPWR00860_00"
#define SMALL_RCVBUF 4096
#define MIB          1048576
#define MSG_BYTES    17 /* of ROOM_MSG, head and all, without its data */
#define DATA_BYTES   60000

static struct server *s;
static uint8_t        data[65535];

static void stop(void)
{
	if (s)
		server_finish(s);
	s = NULL;
}

TestSuite(rooms_slow, .fini = stop, .timeout = 300);

static struct gamer *deaf_gamer(const char *name)
{
	struct gamer *c = gamer_dial_way(&(struct gamer_way){ .port = s->rooms_port, .rcvbuf_bytes = SMALL_RCVBUF });

	gamer_hello(c, TITLE, name, 3658);
	return c;
}

static long queued(void)
{
	return (long)server_metric(s, "coopd_rooms_queued_bytes", NULL);
}

static bool is_closed(const char *reason)
{
	char labels[64];

	snprintf(labels, sizeof(labels), "reason=\"%s\"", reason);
	return server_metric(s, "coopd_rooms_closed_total", labels) > 0;
}

/* From one to another, until so much more waits for him: the kernel takes the first of it. */
static void fill(struct gamer *from, uint64_t room, uint16_t to, long bytes)
{
	long until = queued() + bytes;

	while (queued() < until) {
		long   left = until - queued();
		size_t len  = left < MSG_BYTES ? 0 : left < DATA_BYTES ? (size_t)left - MSG_BYTES : DATA_BYTES;

		gamer_say(from, room, to, BYTES(data, len));
	}
}

/* The kernel's bytes on the server's side of this connection that the peer has not taken. */
static long kernel_bytes(const struct gamer *c)
{
	struct sockaddr_in me;
	socklen_t          len = sizeof(me);
	char               line[512];
	long               bytes = -1;
	FILE              *f     = fopen("/proc/net/tcp", "re");

	cr_assert(f && getsockname(c->fd, (struct sockaddr *)&me, &len) == 0);
	while (fgets(line, sizeof(line), f)) {
		unsigned remote, state, waiting;

		if (sscanf(line, " %*u: %*8x:%*4x %*8x:%4x %2x %8x:", &remote, &state, &waiting) == 3 && state == 1 &&
		    remote == ntohs(me.sin_port))
			bytes = waiting;
	}
	fclose(f);
	return bytes;
}

/* Bytes of the frames of all others are out at once, so what waits is his. */
Test(rooms_slow, one_who_does_not_read_is_dropped_beyond_1_mib_and_the_others_go_on)
{
	s = server_start(NULL);

	struct gamer *alice = gamer_new(s, TITLE, "alice"), *deaf = deaf_gamer("deaf"),
		     *carol = gamer_new(s, TITLE, "carol");
	uint64_t room       = gamer_create(alice, 4, NOTHING)->room_id;
	int64_t  slowest    = 0;

	gamer_join(deaf, room, NOTHING);
	gamer_expect_joined(alice, room, deaf);
	gamer_join(carol, room, NOTHING);
	gamer_expect_joined(alice, room, carol);
	for (;;) {
		long    before = queued(), left = MIB - before;
		size_t  len   = left <= MSG_BYTES ? 0 : left < DATA_BYTES ? (size_t)left - MSG_BYTES : DATA_BYTES;
		int64_t began = real_now_ms();

		gamer_say(alice, room, 0, BYTES(data, len));
		gamer_expect_said(carol, room, 1, 0, BYTES(data, len));
		if (real_now_ms() - began > slowest)
			slowest = real_now_ms() - began;
		if (is_closed("output")) {
			cr_expect_gt(before + MSG_BYTES + (long)len, MIB, "dropped with %ld bytes", before);
			break;
		}
		cr_assert_leq(queued(), MIB);
		if (queued() == MIB)
			printf("not read: 1 MiB in the server, %ld bytes in the kernel\n", kernel_bytes(deaf));
	}
	gamer_expect_left(alice, room, 2, 1);
	gamer_expect_left(carol, room, 2, 1);
	server_await_metric(s, "coopd_rooms_queued_bytes", NULL, 0, DIAL_PATIENCE_MS);
	server_await_metric(s, "coopd_rooms_connections", NULL, 2, DIAL_PATIENCE_MS);
	printf("the others waited %d ms at most\n", (int)slowest);
	gamer_free(alice);
	gamer_free(deaf);
	gamer_free(carol);
}

Test(rooms_slow, the_kernel_keeps_little_for_one_who_does_not_read)
{
	s = server_start(NULL);

	struct gamer *alice = gamer_new(s, TITLE, "alice"), *deaf = deaf_gamer("deaf");
	uint64_t      room = gamer_create(alice, 4, NOTHING)->room_id;

	gamer_join(deaf, room, NOTHING);
	fill(alice, room, 2, 500000);
	cr_expect_lt(kernel_bytes(deaf), 200000);
	gamer_free(alice);
	gamer_free(deaf);
}

/* A frame is larger than what is written at once, and what waits is more than one write takes. */
Test(rooms_slow, one_who_reads_again_gets_all_of_it_in_order)
{
	enum { MESSAGES = 12 };

	s = server_start(NULL);

	struct gamer *alice = gamer_new(s, TITLE, "alice"), *slow = deaf_gamer("slow");
	uint64_t      room = gamer_create(alice, 4, NOTHING)->room_id;

	gamer_join(slow, room, NOTHING);
	for (int i = 0; i < MESSAGES; i++) {
		memset(data, 'a' + i, sizeof(data));
		gamer_say(alice, room, 2, BYTES(data, DATA_BYTES));
	}
	cr_expect_gt(queued(), 0);
	for (int i = 0; i < MESSAGES; i++) {
		memset(data, 'a' + i, sizeof(data));
		gamer_expect_said(slow, room, 1, 2, BYTES(data, DATA_BYTES));
	}
	server_await_metric(s, "coopd_rooms_queued_bytes", NULL, 0, DIAL_PATIENCE_MS);
	gamer_free(alice);
	gamer_free(slow);
}

/* Answers to what came in one go would be too much together; but he takes them. */
Test(rooms_slow, what_waits_leaves_before_it_is_too_much_for_one_who_reads)
{
	enum { PAGES = 3 };
	static const uint8_t page[] = { ASK_SEARCH_ROOMS, 0, 8, 0, 0, 0, 1, 0, 0, 0, 9 };
	uint8_t              pages[PAGES * sizeof(page)];

	s = server_start((const char *[]){ "limits.rooms_output=131072", "limits.rooms_message_burst=131072", NULL });

	struct gamer *alice = gamer_new(s, TITLE, "alice"), *bob = gamer_new(s, TITLE, "bob");

	memset(data, 'x', sizeof(data));
	gamer_create(alice, 4, BYTES(data, DATA_BYTES));
	for (size_t i = 0; i < PAGES; i++)
		memcpy(pages + i * sizeof(page), page, sizeof(page));
	cr_assert(gamer_send(bob, pages, sizeof(pages)));
	for (size_t i = 0; i < PAGES; i++)
		cr_expect_eq(gamer_next(bob, DIAL_PATIENCE_MS)->type, ANSWER_ROOM_LIST);
	gamer_free(alice);
	gamer_free(bob);
}

/* They were made already; rooms_hold_test.c has those that are not. */
Test(rooms_slow, one_who_ends_his_output_still_gets_the_answers_that_wait)
{
	enum { PAGES = 5 };
	uint32_t req[PAGES];

	s = server_start(NULL);

	struct gamer *alice = gamer_new(s, TITLE, "alice"), *slow = deaf_gamer("slow");

	memset(data, 'x', sizeof(data));
	gamer_create(alice, 4, BYTES(data, DATA_BYTES));
	for (size_t i = 0; i < PAGES; i++)
		req[i] = gamer_ask_search(slow, 0, 9);
	shutdown(slow->fd, SHUT_WR);
	server_await_metric(s, "coopd_rooms_connections", NULL, 1, DIAL_PATIENCE_MS);
	cr_expect_gt(queued(), 0);
	for (size_t i = 0; i < PAGES; i++)
		gamer_expect_success(slow, req[i], ANSWER_ROOM_LIST);
	gamer_expect_end(slow);
	server_await_metric(s, "coopd_rooms_queued_bytes", NULL, 0, DIAL_PATIENCE_MS);
	gamer_free(alice);
	gamer_free(slow);
}

Test(rooms_slow, when_too_much_waits_for_all_the_one_with_most_is_dropped)
{
	s = server_start((const char *[]){ "limits.rooms_output_total=1048576", NULL });

	struct gamer *alice = gamer_new(s, TITLE, "alice");
	struct gamer *few = deaf_gamer("few"), *most = deaf_gamer("most"), *least = deaf_gamer("least");
	uint64_t      room = gamer_create(alice, 4, NOTHING)->room_id;

	gamer_join(few, room, NOTHING);
	gamer_join(most, room, NOTHING);
	gamer_join(least, room, NOTHING);
	gamer_expect_joined(alice, room, few);
	gamer_expect_joined(alice, room, most);
	gamer_expect_joined(alice, room, least);
	fill(alice, room, 2, 250000);
	fill(alice, room, 3, 500000);
	fill(alice, room, 4, 150000);
	cr_expect_not(is_closed("output_budget"));
	while (!is_closed("output_budget")) {
		cr_assert_leq(queued(), MIB);
		gamer_say(alice, room, 2, BYTES(data, 20000));
	}
	gamer_expect_left(alice, room, 3, 1);
	gamer_expect_silence(alice);
	cr_expect_not(is_closed("output"));
	gamer_free(alice);
	gamer_free(few);
	gamer_free(most);
	gamer_free(least);
}

/* A whole room of them at once: each drop is told to those who are left, who are too full for that. */
Test(rooms_slow, many_who_do_not_read_are_dropped_together)
{
	enum { DEAF = 12 };
	struct gamer *deaf[DEAF];

	s = server_start((const char *[]){ "limits.rooms_output=131072", "limits.rooms_message_burst=131072", NULL });

	struct gamer *alice = gamer_new(s, TITLE, "alice");
	uint64_t      room  = gamer_create(alice, 100, NOTHING)->room_id;

	for (size_t i = 0; i < DEAF; i++) {
		char name[] = { 'd', (char)('a' + i), '\0' };

		deaf[i] = deaf_gamer(name);
		gamer_join(deaf[i], room, NOTHING);
		gamer_expect_joined(alice, room, deaf[i]);
	}
	while (server_metric(s, "coopd_rooms_closed_total", "reason=\"output\"") < DEAF)
		gamer_say(alice, room, 0, BYTES(data, 30000));
	for (size_t i = 0; i < DEAF; i++)
		gamer_expect_push(alice, PUSH_MEMBER_LEFT);
	gamer_expect_silence(alice);
	server_await_metric(s, "coopd_rooms_queued_bytes", NULL, 0, DIAL_PATIENCE_MS);
	for (size_t i = 0; i < DEAF; i++)
		gamer_free(deaf[i]);
	gamer_free(alice);
}

/* --- Incomplete frames --- */

/* The head of a frame of the largest size, and so much of the rest. */
static void begin_frame(struct gamer *c, size_t len)
{
	cr_assert(gamer_send(c, "\x15\xFF\xFF", 3));
	cr_assert(gamer_send(c, data, len));
}

static void await_partial(long bytes)
{
	server_await_metric(s, "coopd_rooms_partial_bytes", NULL, (double)bytes, DIAL_PATIENCE_MS);
}

Test(rooms_slow, incomplete_frames_have_a_budget_of_all_and_the_largest_goes)
{
	enum { HALVES = 16, CAP = 65536 };
	struct gamer *c[HALVES], *alice;

	s     = server_start((const char *[]){ "limits.rooms_input_total=1048576", NULL });
	alice = gamer_new(s, TITLE, "alice");
	for (size_t i = 0; i < HALVES; i++) {
		c[i] = gamer_dial(s);
		begin_frame(c[i], 33000);
	}
	await_partial(HALVES * CAP);
	cr_expect_not(is_closed("input_budget"));
	cr_assert(gamer_send(c[7], data, CAP + 1 - 3 - 33000));
	gamer_expect_end(c[7]);
	cr_expect(is_closed("input_budget"));
	await_partial((HALVES - 1) * CAP);
	gamer_expect_silence(alice);
	for (size_t i = 0; i < HALVES; i++)
		gamer_free(c[i]);
	await_partial(0);
	gamer_free(alice);
}

Test(rooms_slow, a_frame_that_is_whole_at_last_holds_nothing_any_more)
{
	s = server_start(NULL);

	struct gamer *c = gamer_new(s, TITLE, "alice");

	begin_frame(c, 40000);
	await_partial(65536);
	cr_assert(gamer_send(c, data, 65535 - 40000));
	cr_expect_eq(gamer_answer(c, 0)->code, SAYS_NOT_IN_ROOM);
	await_partial(0);
	gamer_free(c);
}

/* --- The end --- */

Test(rooms_slow, one_who_does_not_read_does_not_hold_up_the_end)
{
	s = server_start(NULL);

	struct gamer *alice = gamer_new(s, TITLE, "alice"), *deaf = deaf_gamer("deaf");
	uint64_t      room = gamer_create(alice, 4, NOTHING)->room_id;

	gamer_join(deaf, room, NOTHING);
	fill(alice, room, 2, 500000);
	server_signal(s, SIGTERM);
	cr_expect_eq(server_await_exit(s, SERVER_STOP_MS), 0);
	gamer_free(alice);
	gamer_free(deaf);
}
