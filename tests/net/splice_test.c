/*
 * Two connections joined into one: what passes, and how it ends.
 */
#include "net/splice.h"

#include "net/splice_flow.h"
#include "support/dial.h"
#include "support/splice_fixture.h"
#include "support/tcp_fixture.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <linux/socket.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MIB      ((uint64_t)1024 * 1024)
#define GIGABYTE ((uint64_t)1000 * 1000 * 1000)

static struct splice_fixture f;
static struct splice_stream  s;

static const uint8_t *const no_first[2];
static const size_t         no_len[2];

static void prepare(void)
{
	splice_fixture_init(&f);
	splice_fixture_start(&f);
}

static void stop(void)
{
	splice_fixture_stop(&f);
}

TestSuite(splice, .init = prepare, .fini = stop, .timeout = 120);

static void say(int fd, const void *bytes, size_t len)
{
	cr_assert(dial_send(fd, bytes, len, DIAL_PATIENCE_MS));
}

static void hear(int fd, const void *bytes, size_t len)
{
	uint8_t got[256];
	size_t  have = 0;

	cr_assert_leq(len, sizeof(got));
	while (have < len) {
		ssize_t n = dial_read(fd, got + have, len - have, real_now_ms() + DIAL_PATIENCE_MS);

		cr_assert_gt(n, 0, "%zu of %zu bytes came", have, len);
		have += (size_t)n;
	}
	cr_assert_arr_eq(got, bytes, len);
}

/* The next thing to happen: 0 for a FIN, DIAL_RESET, or a number of bytes. */
static ssize_t next(int fd)
{
	uint8_t byte[1];

	return dial_read(fd, byte, sizeof(byte), real_now_ms() + DIAL_PATIENCE_MS);
}

/* Reads to the end and throws it away. 0 or DIAL_RESET. */
static ssize_t read_out(int fd)
{
	static uint8_t bytes[65536];
	ssize_t        n;

	do
		n = dial_read(fd, bytes, sizeof(bytes), real_now_ms() + DIAL_PATIENCE_MS);
	while (n > 0);
	return n;
}

static struct splice_lane lane(int from, uint64_t total)
{
	return (struct splice_lane){ .from = s.ends[from], .to = s.ends[!from], .total = total };
}

/* So much came from the end 0 at a time that its next bytes are tried by a pipe. */
static void pass_in_bulk(void)
{
	struct splice_lane bulk    = lane(0, (uint64_t)2 * FLOW_BULK_BYTES);
	pthread_t          blocker = loop_thread_look_away(&f.on);

	say(bulk.from, splice_bytes_at(0), (size_t)bulk.total);
	pthread_join(blocker, NULL);
	bulk.sent       = bulk.total;
	bulk.stays_open = true;
	splice_lanes_run(&bulk, 1);
}

/* Bytes */

Test(splice, bytes_pass_both_ways_at_once_however_they_are_cut)
{
	splice_stream_open(&s, &f, 0);
	struct splice_lane both[2] = { lane(0, 40 * MIB + 1), lane(1, 30 * MIB) };

	both[0].random = 7;
	both[1].random = 77;
	splice_lanes_run(both, 2);
	tcp_fixture_await(&s.ended, 1);
	cr_expect_eq(s.bytes, 70 * MIB + 1);
	cr_expect_eq(splice_bytes(f.splice), s.bytes);
	splice_stream_close(&s);
}

Test(splice, a_gigabyte_passes_unchanged_and_holds_no_turn_for_long)
{
	splice_stream_open(&s, &f, 0);
	struct splice_lane one = lane(0, GIGABYTE);

	shutdown(s.ends[1], SHUT_WR);
	splice_lanes_run(&one, 1);
	tcp_fixture_await(&s.ended, 1);
	cr_expect_eq(s.bytes, GIGABYTE);
	cr_expect_leq(f.bytes_at_once, SPLICE_TURN_BYTES + FLOW_TURN_BYTES + SPLICE_WAITING_BYTES);
	splice_stream_close(&s);
}

Test(splice, single_bytes_pass_at_once)
{
	splice_stream_open(&s, &f, 0);
	for (int i = 0; i < 200; i++) {
		uint8_t byte = (uint8_t)i;

		say(s.ends[i & 1], &byte, 1);
		hear(s.ends[!(i & 1)], &byte, 1);
	}
	cr_expect_eq(splice_count_pipe_ends(&f), 0, "which needs no pipe");
	splice_stream_close(&s);
}

Test(splice, first_bytes_come_before_all_others_and_are_not_counted)
{
	static uint8_t large[300000];
	uint8_t        ready[] = "ready";
	int            small   = 4096;

	for (size_t i = 0; i < sizeof(large); i++)
		large[i] = (uint8_t)(i % 251);
	splice_stream_dial(&s, &f, 4096);
	setsockopt(s.legs[1], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)); /* they go in pieces */
	say(s.ends[0], "question", 8);
	say(s.ends[1], "answer", 6);
	cr_assert_eq(splice_stream_begin(&s, (const uint8_t *const[2]){ ready, large },
	                                 (const size_t[2]){ sizeof(ready), sizeof(large) }),
	             ERR_OK);
	memset(ready, 'x', sizeof(ready)); /* they were copied */
	hear(s.ends[0], "ready", 6);
	hear(s.ends[0], "answer", 6);
	for (size_t at = 0; at < sizeof(large); at += 250) {
		hear(s.ends[1], large + at, 250);
	}
	hear(s.ends[1], "question", 8);
	splice_stream_close(&s);
	tcp_fixture_await(&s.ended, 1);
	cr_expect_eq(s.bytes, 14);
}

/* Urgent bytes are no part of the stream, as for anybody who reads without asking for them. */
Test(splice, an_urgent_byte_stops_nothing)
{
	splice_stream_open(&s, &f, 0);
	pass_in_bulk();
	cr_assert_eq(send(s.ends[0], "!", 1, MSG_OOB | MSG_NOSIGNAL), 1);
	say(s.ends[0], "on it goes", 10);
	hear(s.ends[1], "on it goes", 10);
	splice_stream_close(&s);
}

/* Ends */

Test(splice, a_question_ends_and_the_answer_still_comes)
{
	for (int asker = 0; asker < 2; asker++) {
		splice_stream_open(&s, &f, 0);
		int asks = s.ends[asker], answers = s.ends[!asker];

		say(asks, "question", 8);
		shutdown(asks, SHUT_WR);
		hear(answers, "question", 8);
		cr_expect_eq(next(answers), 0);
		cr_expect_eq(s.ended, 0);
		say(answers, "answer", 6);
		hear(asks, "answer", 6);
		say(answers, "more", 4);
		shutdown(answers, SHUT_WR);
		hear(asks, "more", 4);
		cr_expect_eq(next(asks), 0);
		tcp_fixture_await(&s.ended, 1);
		cr_expect_eq(s.bytes, 18);
		splice_stream_close(&s);
	}
	cr_expect_eq(splice_bytes(f.splice), 36);
}

Test(splice, an_end_without_a_byte_is_passed_on_too)
{
	splice_stream_open(&s, &f, 0);
	shutdown(s.ends[1], SHUT_WR);
	cr_expect_eq(next(s.ends[0]), 0);
	shutdown(s.ends[0], SHUT_WR);
	cr_expect_eq(next(s.ends[1]), 0);
	tcp_fixture_await(&s.ended, 1);
	cr_expect_eq(s.bytes, 0);
	splice_stream_close(&s);
}

Test(splice, an_end_comes_after_all_that_was_sent_before_it)
{
	splice_stream_open(&s, &f, 4096);
	struct splice_lane one = lane(0, 64 * MIB);

	splice_lanes_fill(&f, &one, 1);
	cr_assert_lt(one.sent, one.total);
	one.total = one.sent + 1; /* the last byte, and the end, while all waits */
	splice_lanes_run(&one, 1);
	say(s.ends[1], "thanks", 6);
	hear(s.ends[0], "thanks", 6);
	splice_stream_close(&s);
}

Test(splice, what_was_sent_before_both_ended_arrives)
{
	splice_stream_open(&s, &f, 4096);
	struct splice_lane one = lane(0, SPLICE_BYTES_MAX);

	shutdown(s.ends[1], SHUT_WR);
	cr_expect_eq(next(s.ends[0]), 0);
	say(s.ends[0], splice_bytes_at(0), SPLICE_BYTES_MAX);
	shutdown(s.ends[0], SHUT_WR);
	one.sent = one.total;
	splice_lanes_run(&one, 1);
	tcp_fixture_await(&s.ended, 1);
	cr_expect_eq(s.bytes, SPLICE_BYTES_MAX);
	splice_stream_close(&s);
}

Test(splice, a_reset_of_one_side_resets_the_other)
{
	for (int side = 0; side < 2; side++) {
		splice_stream_open(&s, &f, 0);
		say(s.ends[side], "last words", 10);
		hear(s.ends[!side], "last words", 10);
		dial_abort(s.ends[side]);
		s.ends[side] = -1;
		cr_expect_eq(next(s.ends[!side]), DIAL_RESET);
		tcp_fixture_await(&s.ended, 1);
		cr_expect_eq(s.bytes, 10);
		splice_stream_close(&s);
	}
}

Test(splice, words_before_a_reset_arrive)
{
	splice_stream_open(&s, &f, 0);
	pthread_t blocker = loop_thread_look_away(&f.on);

	say(s.ends[0], "last words", 10);
	dial_abort(s.ends[0]);
	s.ends[0] = -1;
	pthread_join(blocker, NULL);
	hear(s.ends[1], "last words", 10);
	cr_expect_eq(next(s.ends[1]), DIAL_RESET);
	splice_stream_close(&s);
}

Test(splice, a_reset_of_a_bulk_is_no_end)
{
	for (int is_half = 0; is_half < 2; is_half++) {
		splice_stream_open(&s, &f, 0);
		if (is_half)
			shutdown(s.ends[1], SHUT_WR);
		pass_in_bulk();
		dial_abort(s.ends[0]);
		s.ends[0] = -1;
		cr_expect_eq(next(s.ends[1]), DIAL_RESET);
		tcp_fixture_await(&s.ended, 1);
		splice_stream_close(&s);
	}
}

Test(splice, a_reset_is_passed_on_though_the_other_takes_nothing)
{
	splice_stream_open(&s, &f, 4096);
	struct splice_lane one = lane(0, 64 * MIB);

	splice_lanes_fill(&f, &one, 1);
	dial_abort(s.ends[0]);
	s.ends[0] = -1;
	tcp_fixture_await(&s.ended, 1);
	cr_expect_eq(read_out(s.ends[1]), DIAL_RESET);
	splice_stream_close(&s);
}

Test(splice, a_reset_after_the_end_was_passed_on_resets_too)
{
	splice_stream_open(&s, &f, 0);
	shutdown(s.ends[0], SHUT_WR);
	cr_expect_eq(next(s.ends[1]), 0);
	dial_abort(s.ends[0]);
	s.ends[0] = -1;
	tcp_fixture_await(&s.ended, 1);
	cr_expect_not(dial_send(s.ends[1], "x", 1, 0), "the reset is there");
	splice_stream_close(&s);
}

Test(splice, who_sends_to_one_that_is_gone_is_reset)
{
	splice_stream_open(&s, &f, 0);
	close(s.ends[1]);
	s.ends[1] = -1;
	cr_expect_eq(next(s.ends[0]), 0);
	say(s.ends[0], "anybody?", 8);
	cr_expect_eq(next(s.ends[0]), 0, "it had its end already");
	tcp_fixture_await(&s.ended, 1);
	cr_expect_not(dial_send(s.ends[0], "x", 1, 0));
	splice_stream_close(&s);
}

Test(splice, peers_may_be_silent_for_as_long_as_they_like)
{
	splice_stream_open(&s, &f, 0);
	say(s.ends[0], "a", 1);
	hear(s.ends[1], "a", 1);
	loop_thread_advance(&f.on, (int64_t)30 * 24 * 3600 * 1000);
	say(s.ends[1], "b", 1);
	hear(s.ends[0], "b", 1);
	splice_stream_close(&s);
}

/* Sockets */

static int option(int fd, int level, int name)
{
	int       value = -1;
	socklen_t len   = sizeof(value);

	cr_assert_eq(getsockopt(fd, level, name, &value, &len), 0);
	return value;
}

Test(splice, both_legs_are_looked_after_while_nobody_speaks_and_delay_nothing)
{
	int small = 16384;

	splice_stream_dial(&s, &f, 0);
	for (int i = 0; i < 2; i++)
		setsockopt(s.legs[i], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)); /* as for messages */
	cr_assert_eq(splice_stream_begin(&s, no_first, no_len), ERR_OK);
	for (int i = 0; i < 2; i++) {
		cr_expect_eq(option(s.legs[i], SOL_SOCKET, SO_KEEPALIVE), 1);
		cr_expect_eq(option(s.legs[i], IPPROTO_TCP, TCP_KEEPIDLE), 30);
		cr_expect_eq(option(s.legs[i], IPPROTO_TCP, TCP_KEEPINTVL), 5);
		cr_expect_eq(option(s.legs[i], IPPROTO_TCP, TCP_KEEPCNT), 9);
		cr_expect_eq(option(s.legs[i], IPPROTO_TCP, TCP_NODELAY), 1);
		cr_expect_eq(option(s.legs[i], SOL_SOCKET, SO_BUF_LOCK) & SOCK_SNDBUF_LOCK, 0, "it may grow");
	}
	splice_stream_close(&s);
}

Test(splice, what_cannot_begin_is_closed_and_not_told_of)
{
	size_t before = splice_count_descriptors();

	splice_stream_dial(&s, &f, 0);
	close(s.ends[1]);
	close(s.legs[1]);
	s.ends[1] = -1;
	s.legs[1] = open("/dev/null", O_RDWR | O_CLOEXEC);
	cr_expect_eq(splice_stream_begin(&s, (const uint8_t *const[2]){ (const uint8_t *)"a", (const uint8_t *)"b" },
	                                 (const size_t[2]){ 1, 1 }),
	             ERR_IO);
	cr_expect_eq(next(s.ends[0]), DIAL_RESET);
	splice_stream_close(&s);
	cr_expect_eq(s.ended, 0);
	cr_expect_eq(splice_count_descriptors(), before);
}

/* As a child that is being started may: it has them all until it runs its program. */
Test(splice, a_descriptor_that_somebody_else_still_holds_does_no_harm)
{
	int held[2];

	splice_stream_open(&s, &f, 0);
	for (int i = 0; i < 2; i++)
		held[i] = dup(s.legs[i]);
	shutdown(s.ends[0], SHUT_WR);
	shutdown(s.ends[1], SHUT_WR);
	tcp_fixture_await(&s.ended, 1);
	cr_expect_eq(option(held[0], IPPROTO_TCP, TCP_USER_TIMEOUT), 60000, "its last bytes are not offered for ever");
	cr_expect_eq(option(held[1], IPPROTO_TCP, TCP_USER_TIMEOUT), 60000);
	dial_abort(s.ends[0]);
	s.ends[0] = -1;
	splice_stream_close(&s);
	loop_thread_advance(&f.on, 0); /* a turn in which it would be told of */
	loop_thread_advance(&f.on, 0);
	close(held[0]);
	close(held[1]);
}

/* Stopping */

Test(splice, a_stop_resets_everybody)
{
	static struct splice_stream many[20];

	for (size_t i = 0; i < 20; i++)
		splice_stream_open(&many[i], &f, 4096);
	struct splice_lane stuck = { .from = many[3].ends[0], .to = many[3].ends[1], .total = 64 * MIB };

	splice_lanes_fill(&f, &stuck, 1);
	splice_fixture_stop_streams(&f);
	for (size_t i = 0; i < 20; i++) {
		cr_expect_eq(many[i].ended, 1);
		cr_expect_eq(next(many[i].ends[0]), DIAL_RESET);
		if (i != 3)
			cr_expect_eq(next(many[i].ends[1]), DIAL_RESET);
		splice_stream_close(&many[i]);
	}
	splice_stream_open(&s, &f, 0);
	say(s.ends[0], "anew", 4);
	hear(s.ends[1], "anew", 4);
	splice_stream_close(&s);
}

Test(splice, freeing_resets_who_is_left)
{
	size_t descriptors = 0;

	for (int i = 0; i < 2; i++) {
		splice_stream_open(&s, &f, 4096);
		struct splice_lane bulk = lane(1, 4 * MIB), stuck = lane(0, 64 * MIB);

		bulk.stays_open = true;
		splice_lanes_fill(&f, &stuck, 1);
		splice_lanes_run(&bulk, 1); /* leaves a spare pipe */
		splice_fixture_stop(&f);
		cr_expect_eq(s.ended, 1);
		cr_expect_eq(next(s.ends[0]), DIAL_RESET);
		splice_stream_close(&s);
		if (i == 0)
			descriptors = splice_count_descriptors();
		cr_expect_eq(splice_count_descriptors(), descriptors);
		prepare();
	}
}
