/*
 * TCP connections that are half: whose peer has said all it will, whose part has stopped listening for a while, and those that are
 * given away as they are.
 */
#include "net/tcp.h"

#include "base/auto.h"
#include "base/metric.h"
#include "support/dial.h"
#include "support/other_end.h"
#include "support/talk.h"
#include "support/tcp_fixture.h"
#include "support/tls_peer.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BIG_BYTES (2 * 1024 * 1024)

static struct tcp_fixture f;

static void prepare(void)
{
	tcp_fixture_init(&f);
	f.hears_ends = true;
}

static void stop(void)
{
	tcp_fixture_stop(&f);
	cr_expect_eq(metric_get(M_TCP_CONNECTIONS), 0);
}

TestSuite(tcp_half, .init = prepare, .fini = stop, .timeout = 120);

static int start_and_dial(int rcvbuf_bytes)
{
	tcp_fixture_start(&f);
	return tcp_fixture_dial(&f, rcvbuf_bytes);
}

static void nothing(void *arg)
{
	(void)arg;
}

/* What came before this has been looked at: the loop hears of both in the order in which they happen. */
static void let_turns_pass(void)
{
	for (int i = 0; i < 5; i++)
		loop_thread_do(&f.on, nothing, NULL);
}

static _Atomic size_t turns;

static void count_turn(struct loop_flush *flush)
{
	(void)flush;
	turns++;
}

static struct loop_flush turn_counter = { .run = count_turn };

/* That the loop only wakes now and then; it would do so thousands of times if an event came again and again. */
static void expect_rest(void)
{
	size_t before = turns;

	real_sleep_ms(200);
	cr_expect_lt(turns - before, 100, "%zu turns", turns - before);
}

/* The peer's end */

Test(tcp_half, the_peers_end_is_told_after_its_bytes)
{
	int fd = start_and_dial(0);

	talk_say(fd, "last words", 10);
	shutdown(fd, SHUT_WR);
	talk_hear(fd, "last words", 10);
	tcp_fixture_await(&f.ended, 1);
	tcp_fixture_put(&f, 0, "and ours", 8);
	talk_hear(fd, "and ours", 8);
	let_turns_pass();
	cr_expect_eq(f.ended, 1);
	cr_expect_eq(f.closed, 0);

	tcp_fixture_close(&f, 0);
	cr_expect_eq(talk_next(fd), 0);
	tcp_fixture_await(&f.closed_as[TCP_END_OURS], 1);
	close(fd);
}

Test(tcp_half, much_can_be_sent_after_the_peers_end)
{
	AUTO(auto_free) uint8_t *bytes = talk_big_bytes(BIG_BYTES);
	size_t                   len;
	int                      fd = start_and_dial(4096);

	shutdown(fd, SHUT_WR);
	tcp_fixture_await(&f.ended, 1);
	tcp_fixture_put(&f, 0, bytes, BIG_BYTES);
	tcp_fixture_close(&f, 0);
	cr_expect_eq(talk_read_out(fd, &len), 0);
	cr_expect_eq(len, BIG_BYTES);
	tcp_fixture_await(&f.closed_as[TCP_END_OURS], 1);
	close(fd);
}

Test(tcp_half, a_close_from_inside_the_end_sends_what_waits)
{
	AUTO(auto_free) uint8_t *bytes = talk_big_bytes(BIG_BYTES);
	size_t                   len;

	f.does_at_end = 'X';
	int fd        = start_and_dial(4096);

	tcp_fixture_put(&f, 0, bytes, BIG_BYTES);
	shutdown(fd, SHUT_WR);
	cr_expect_eq(talk_read_out(fd, &len), 0);
	cr_expect_eq(len, BIG_BYTES);
	tcp_fixture_await(&f.closed_as[TCP_END_OURS], 1);
	close(fd);
}

Test(tcp_half, nobody_is_waited_for_who_has_ended_before_our_close)
{
	f.does_at_end = 'X';
	int fd        = start_and_dial(0);

	pthread_t blocker = loop_thread_look_away(&f.on);
	shutdown(fd, SHUT_WR);
	pthread_join(blocker, NULL);
	tcp_fixture_await(&f.ended, 1);
	let_turns_pass();
	cr_expect_eq(f.closed_as[TCP_END_OURS], 1);
	close(fd);
}

Test(tcp_half, after_its_end_a_peer_may_be_silent_for_long)
{
	loop_add_flush(f.on.loop, &turn_counter);
	int fd = start_and_dial(0);

	shutdown(fd, SHUT_WR);
	tcp_fixture_await(&f.ended, 1);
	expect_rest();
	loop_thread_advance(&f.on, 2 * TCP_FIXTURE_STALL_MS);
	cr_expect_eq(f.closed, 0);
	cr_expect_eq(f.ended, 1);
	tcp_fixture_put(&f, 0, "still here", 10);
	talk_hear(fd, "still here", 10);
	close(fd);
}

Test(tcp_half, a_peer_that_vanishes_after_its_end_is_gone)
{
	int fd = start_and_dial(0);

	shutdown(fd, SHUT_WR);
	tcp_fixture_await(&f.ended, 1);
	dial_abort(fd);
	tcp_fixture_await(&f.closed_as[TCP_END_PEER], 1);
}

Test(tcp_half, a_peer_that_takes_nothing_after_its_end_is_reset)
{
	AUTO(auto_free) uint8_t *bytes = talk_big_bytes(BIG_BYTES);
	size_t                   len;
	int                      fd = start_and_dial(4096);

	shutdown(fd, SHUT_WR);
	tcp_fixture_await(&f.ended, 1);
	tcp_fixture_put(&f, 0, bytes, BIG_BYTES);
	real_sleep_ms(50);
	for (int i = 0; i < 7; i++)
		loop_thread_advance(&f.on, TCP_FIXTURE_STALL_MS / 4);
	tcp_fixture_await(&f.closed_as[TCP_END_STALLED], 1);
	cr_expect_eq(talk_read_out(fd, &len), DIAL_RESET);
	close(fd);
}

Test(tcp_half, a_stop_sends_what_waits_after_the_peers_end)
{
	AUTO(auto_free) uint8_t *bytes = talk_big_bytes(BIG_BYTES);
	size_t                   len;
	int                      fd = start_and_dial(4096);

	shutdown(fd, SHUT_WR);
	tcp_fixture_await(&f.ended, 1);
	tcp_fixture_put(&f, 0, bytes, BIG_BYTES);
	tcp_fixture_begin_stop(&f);
	cr_expect_eq(talk_read_out(fd, &len), 0);
	cr_expect_eq(len, BIG_BYTES);
	loop_thread_join(&f.on);
	cr_expect_eq(f.closed_as[TCP_END_STOPPED], 1);
	close(fd);
}

Test(tcp_half, a_peer_that_ends_while_we_close_is_not_told_of)
{
	int fd = start_and_dial(0);

	pthread_t blocker = loop_thread_look_away(&f.on);
	talk_say(fd, "Xgood bye", 9);
	shutdown(fd, SHUT_WR);
	pthread_join(blocker, NULL);
	talk_hear(fd, "good bye", 8);
	cr_expect_eq(talk_next(fd), 0);
	tcp_fixture_await(&f.closed_as[TCP_END_OURS], 1);
	cr_expect_eq(f.ended, 0);
	close(fd);
}

/* Not listening */

Test(tcp_half, what_comes_in_a_pause_waits_for_its_end)
{
	int fd = start_and_dial(0);

	talk_say(fd, "Pfirst", 6);
	talk_hear(fd, "first", 5);
	talk_say(fd, "second ", 7);
	talk_say(fd, "third", 5);
	let_turns_pass();
	cr_expect_eq(f.bytes, 6);
	tcp_fixture_resume(&f, 0);
	talk_hear(fd, "second third", 12);
	close(fd);
	tcp_fixture_await(&f.ended, 1);
}

Test(tcp_half, a_pause_that_is_said_twice_is_one)
{
	int fd = start_and_dial(0);

	tcp_fixture_resume(&f, 0);
	tcp_fixture_pause(&f, 0);
	tcp_fixture_pause(&f, 0);
	talk_say(fd, "waits", 5);
	let_turns_pass();
	cr_expect_eq(f.bytes, 0);
	tcp_fixture_resume(&f, 0);
	tcp_fixture_resume(&f, 0);
	talk_hear(fd, "waits", 5);
	close(fd);
}

Test(tcp_half, a_connection_may_begin_with_a_pause)
{
	f.pauses = true;
	int fd   = start_and_dial(0);

	talk_say(fd, "early", 5);
	let_turns_pass();
	cr_expect_eq(f.bytes, 0);
	tcp_fixture_resume(&f, 0);
	talk_hear(fd, "early", 5);
	close(fd);
}

Test(tcp_half, a_pause_costs_nothing)
{
	loop_add_flush(f.on.loop, &turn_counter);
	int fd = start_and_dial(0);

	tcp_fixture_pause(&f, 0);
	talk_say(fd, "waits", 5);
	shutdown(fd, SHUT_WR);
	expect_rest();
	cr_expect_eq(f.bytes, 0);
	tcp_fixture_resume(&f, 0);
	talk_hear(fd, "waits", 5);
	tcp_fixture_await(&f.ended, 1);
	close(fd);
}

Test(tcp_half, output_goes_on_in_a_pause)
{
	AUTO(auto_free) uint8_t *bytes = talk_big_bytes(BIG_BYTES);
	static uint8_t           got[65536];
	int                      fd = start_and_dial(4096);

	tcp_fixture_pause(&f, 0);
	talk_say(fd, "waits", 5);
	tcp_fixture_put(&f, 0, bytes, BIG_BYTES);
	for (size_t have = 0; have < BIG_BYTES;) {
		ssize_t n = dial_read(fd, got, sizeof(got), real_now_ms() + DIAL_PATIENCE_MS);

		cr_assert_gt(n, 0);
		cr_assert_arr_eq(got, bytes + have, (size_t)n);
		have += (size_t)n;
	}
	cr_expect_eq(f.bytes, 0);
	close(fd);
}

Test(tcp_half, one_may_pause_another_that_has_bytes_in_the_same_turn)
{
	int one = start_and_dial(0), other = tcp_fixture_dial(&f, 0);

	pthread_t blocker = loop_thread_look_away(&f.on);
	talk_say(one, "W\x01", 2);
	talk_say(other, "waits", 5);
	pthread_join(blocker, NULL);
	let_turns_pass();
	cr_expect_eq(f.bytes, 2);
	tcp_fixture_resume(&f, 1);
	talk_hear(other, "waits", 5);
	close(one);
	close(other);
}

/* The end, with or without a part that wants to hear of it. */
static void expect_end_after_pause(const _Atomic size_t *counter)
{
	int fd = start_and_dial(0);

	tcp_fixture_pause(&f, 0);
	talk_say(fd, "last words", 10);
	shutdown(fd, SHUT_WR);
	let_turns_pass();
	cr_expect_eq(f.ended + f.closed, 0);
	tcp_fixture_put(&f, 0, "we do not know yet", 18);
	talk_hear(fd, "we do not know yet", 18);
	tcp_fixture_resume(&f, 0);
	talk_hear(fd, "last words", 10);
	tcp_fixture_await(counter, 1);
	close(fd);
}

Test(tcp_half, an_end_in_a_pause_is_told_after_it)
{
	expect_end_after_pause(&f.ended);
}

Test(tcp_half, an_end_in_a_pause_is_the_end_after_it)
{
	f.hears_ends = false;
	expect_end_after_pause(&f.closed_as[TCP_END_PEER]);
}

Test(tcp_half, a_part_may_hear_of_an_end_that_is_not_read)
{
	loop_add_flush(f.on.loop, &turn_counter);
	f.hears_unread_ends = true;
	int fd              = start_and_dial(0);

	tcp_fixture_pause(&f, 0);
	talk_say(fd, "last words", 10);
	let_turns_pass();
	cr_expect_eq(f.ended_unread, 0);
	shutdown(fd, SHUT_WR);
	tcp_fixture_await(&f.ended_unread, 1);
	expect_rest();
	tcp_fixture_pause(&f, 0);
	let_turns_pass();
	cr_expect_eq(f.ended_unread, 1, "once");
	cr_expect_eq(f.ended + f.closed + f.bytes, 0);
	tcp_fixture_resume(&f, 0);
	talk_hear(fd, "last words", 10);
	tcp_fixture_await(&f.ended, 1);
	tcp_fixture_pause(&f, 0);
	let_turns_pass();
	cr_expect_eq(f.ended_unread, 1);
	close(fd);
}

Test(tcp_half, an_end_that_was_heard_of_is_not_heard_of_again)
{
	f.hears_unread_ends = true;
	int fd              = start_and_dial(0);

	shutdown(fd, SHUT_WR);
	tcp_fixture_await(&f.ended, 1);
	tcp_fixture_pause(&f, 0);
	let_turns_pass();
	cr_expect_eq(f.ended_unread, 0);
	close(fd);
}

Test(tcp_half, an_end_that_was_there_before_the_pause_is_heard_of_unread)
{
	f.hears_unread_ends = true;
	int fd              = start_and_dial(0);

	pthread_t blocker = loop_thread_look_away(&f.on);
	talk_say(fd, "P", 1);
	shutdown(fd, SHUT_WR);
	pthread_join(blocker, NULL);
	tcp_fixture_await(&f.ended_unread, 1);
	cr_expect_eq(f.ended, 0);
	close(fd);
}

Test(tcp_half, a_part_may_close_or_take_one_whose_end_is_not_read)
{
	f.hears_unread_ends = true;
	f.does_at_end       = 'X';
	int fd              = start_and_dial(0);

	tcp_fixture_pause(&f, 0);
	talk_say(fd, "unheard", 7);
	shutdown(fd, SHUT_WR);
	tcp_fixture_await(&f.closed_as[TCP_END_OURS], 1);
	cr_expect_eq(talk_next(fd), 0);
	close(fd);

	f.does_at_end = 'T';
	fd            = tcp_fixture_dial(&f, 0);
	tcp_fixture_pause(&f, 1);
	shutdown(fd, SHUT_WR);
	tcp_fixture_await(&f.taken, 1);
	close(f.taken_fd);
	close(fd);
}

Test(tcp_half, a_peer_that_vanishes_in_a_pause_is_gone)
{
	int fd = start_and_dial(0);

	tcp_fixture_pause(&f, 0);
	talk_say(fd, "unheard", 7);
	dial_abort(fd);
	tcp_fixture_await(&f.closed_as[TCP_END_PEER], 1);
	cr_expect_eq(f.bytes, 0);
}

Test(tcp_half, a_peer_that_takes_nothing_in_a_pause_is_reset)
{
	AUTO(auto_free) uint8_t *bytes = talk_big_bytes(BIG_BYTES);
	size_t                   len;
	int                      fd = start_and_dial(4096);

	tcp_fixture_pause(&f, 0);
	tcp_fixture_put(&f, 0, bytes, BIG_BYTES);
	real_sleep_ms(50);
	for (int i = 0; i < 7; i++)
		loop_thread_advance(&f.on, TCP_FIXTURE_STALL_MS / 4);
	tcp_fixture_await(&f.closed_as[TCP_END_STALLED], 1);
	cr_expect_eq(talk_read_out(fd, &len), DIAL_RESET);
	close(fd);
}

/* Says as much as there is room for, here and at the other end. */
static size_t fill(int fd)
{
	static uint8_t bytes[65536];
	size_t         said = 0;

	for (int idle = 0; idle < 20; idle++) {
		ssize_t n = send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n > 0) {
			said += (size_t)n;
			idle = 0;
		} else {
			real_sleep_ms(5);
		}
	}
	return said;
}

Test(tcp_half, a_close_in_a_pause_helps_a_peer_that_does_not_read_before_it_has_written)
{
	AUTO(auto_free) uint8_t *bytes = talk_big_bytes(BIG_BYTES);
	size_t                   len;

	f.conf.limits.ws_close_ms = 600000;
	int fd                    = start_and_dial(4096);

	tcp_fixture_pause(&f, 0);
	tcp_fixture_put(&f, 0, bytes, BIG_BYTES);
	cr_assert_gt(fill(fd), 256 * 1024, "more than is dropped for others");
	tcp_fixture_close(&f, 0);
	talk_say(fd, bytes, BIG_BYTES); /* which it could not, were nothing taken */
	cr_expect_eq(talk_read_out(fd, &len), 0);
	cr_expect_eq(len, BIG_BYTES);
	close(fd);
	tcp_fixture_await(&f.closed_as[TCP_END_OURS], 1);
	cr_expect_eq(f.bytes, 0);
}

Test(tcp_half, after_a_pause_too_a_peer_is_waited_for_two_seconds)
{
	int fd = start_and_dial(0);

	tcp_fixture_pause(&f, 0);
	talk_say(fd, "unheard", 7);
	tcp_fixture_close(&f, 0);
	cr_expect_eq(talk_next(fd), 0);
	loop_thread_advance(&f.on, 1800);
	cr_expect_eq(f.closed, 0);
	loop_thread_advance(&f.on, 200);
	tcp_fixture_await(&f.closed_as[TCP_END_OURS], 1);
	cr_expect_eq(f.bytes, 0);
	close(fd);
}

Test(tcp_half, a_pause_after_the_close_is_none)
{
	static uint8_t more[65536];
	size_t         sent = 0;
	int            fd   = start_and_dial(0);

	tcp_fixture_close(&f, 0);
	tcp_fixture_pause(&f, 0);
	cr_expect_eq(talk_next(fd), 0);
	for (int64_t until = real_now_ms() + DIAL_PATIENCE_MS; f.closed == 0 && real_now_ms() < until;)
		if (dial_send(fd, more, sizeof(more), DIAL_PATIENCE_MS))
			sent += sizeof(more);
	tcp_fixture_await(&f.closed_as[TCP_END_OURS], 1);
	cr_expect_lt(sent, 64 * 1024 * 1024, "it was not listened to for the two seconds");
	close(fd);
}

Test(tcp_half, a_reset_in_a_pause_is_one)
{
	int fd = start_and_dial(0);

	tcp_fixture_pause(&f, 0);
	talk_say(fd, "unheard", 7);
	tcp_fixture_reset(&f, 0);
	cr_expect_eq(talk_next(fd), DIAL_RESET);
	tcp_fixture_await(&f.closed_as[TCP_END_OURS], 1);
	close(fd);
}

Test(tcp_half, a_stop_in_a_pause_sends_what_waits)
{
	size_t len;
	int    fd = start_and_dial(0);

	tcp_fixture_pause(&f, 0);
	talk_say(fd, "unheard", 7);
	shutdown(fd, SHUT_WR);
	tcp_fixture_put(&f, 0, "good bye", 8);
	tcp_fixture_begin_stop(&f);
	cr_expect_eq(talk_read_out(fd, &len), 0);
	cr_expect_eq(len, 8);
	loop_thread_join(&f.on);
	cr_expect_eq(f.closed_as[TCP_END_STOPPED], 1);
	cr_expect_eq(f.bytes + f.ended, 0);
	close(fd);
}

/* Given away */

/* The one that was taken last, for the test. */
static int taken(size_t count)
{
	tcp_fixture_await(&f.taken, count);
	let_turns_pass();
	cr_expect_eq(metric_get(M_TCP_CONNECTIONS) + (int64_t)f.taken + (int64_t)f.closed, (int64_t)f.accepted);
	return f.taken_fd;
}

/* They are connected with each other, and nobody else has a hand in it. */
static void expect_connected(int fd, int theirs)
{
	talk_say(fd, "to them", 7);
	talk_hear(theirs, "to them", 7);
	talk_say(theirs, "from them", 9);
	talk_hear(fd, "from them", 9);
}

Test(tcp_half, a_connection_can_be_given_away_while_its_bytes_are_read)
{
	int fd = start_and_dial(0);

	talk_say(fd, "T", 1);
	int theirs = taken(1);
	cr_expect(fcntl(theirs, F_GETFL) & O_NONBLOCK);
	cr_expect(fcntl(theirs, F_GETFD) & FD_CLOEXEC);
	expect_connected(fd, theirs);
	shutdown(fd, SHUT_WR);
	cr_expect_eq(talk_next(theirs), 0);
	cr_expect_eq(f.bytes, 1);
	cr_expect_eq(f.ended + f.closed, 0);
	close(theirs);
	close(fd);
}

Test(tcp_half, what_was_not_read_is_given_away_too)
{
	int fd = start_and_dial(0);

	tcp_fixture_pause(&f, 0);
	talk_say(fd, "all of it", 9);
	shutdown(fd, SHUT_WR);
	let_turns_pass();
	tcp_fixture_take(&f, 0);
	int theirs = taken(1);
	talk_hear(theirs, "all of it", 9);
	cr_expect_eq(talk_next(theirs), 0);
	close(theirs);
	close(fd);
}

static void put_and_take(void *arg)
{
	static uint8_t   waits[] = "waits";
	struct tcp_echo *e       = f.conns[0];

	e->out = malloc(sizeof(waits));
	cr_assert_not_null(e->out);
	memcpy(e->out, waits, sizeof(waits));
	e->len = sizeof(waits);
	tcp_wake(e->conn);
	*(int *)arg = tcp_take(e->conn);
	f.conns[0]  = NULL;
	free(e->out);
	free(e);
	f.taken++;
}

Test(tcp_half, what_was_not_sent_stays_unsent)
{
	int fd = start_and_dial(0), theirs = -1;

	loop_thread_do(&f.on, put_and_take, &theirs);
	cr_assert_geq(theirs, 0);
	let_turns_pass();
	expect_connected(fd, theirs);
	close(theirs);
	close(fd);
}

Test(tcp_half, one_may_give_away_another_that_has_bytes_in_the_same_turn)
{
	int one = start_and_dial(0), other = tcp_fixture_dial(&f, 0);

	pthread_t blocker = loop_thread_look_away(&f.on);
	talk_say(one, "G\x01", 2);
	talk_say(other, "for others", 10);
	pthread_join(blocker, NULL);
	int theirs = taken(1);
	talk_hear(theirs, "for others", 10);
	cr_expect_eq(f.bytes, 2);
	expect_connected(other, theirs);
	talk_say(one, "and on", 6);
	talk_hear(one, "and on", 6);
	close(theirs);
	close(one);
	close(other);
}

Test(tcp_half, what_has_ended_in_the_same_turn_is_not_given_away)
{
	int one = start_and_dial(0), other = tcp_fixture_dial(&f, 0), third = tcp_fixture_dial(&f, 0);

	pthread_t blocker = loop_thread_look_away(&f.on);
	talk_say(one, "K\x02", 2);
	talk_say(other, "G\x02", 2);
	pthread_join(blocker, NULL);
	tcp_fixture_await(&f.untaken, 1);
	tcp_fixture_await(&f.closed_as[TCP_END_OURS], 1);
	cr_expect_eq(talk_next(third), DIAL_RESET);
	close(one);
	close(other);
	close(third);
}

Test(tcp_half, what_is_being_closed_is_not_given_away)
{
	int fd = start_and_dial(0);

	tcp_fixture_close(&f, 0);
	tcp_fixture_take(&f, 0);
	cr_expect_eq(f.untaken, 1);
	cr_expect_eq(talk_next(fd), 0);
	tcp_fixture_take(&f, 0);
	cr_expect_eq(f.untaken, 2);
	close(fd);
	tcp_fixture_await(&f.closed_as[TCP_END_OURS], 1);
}

Test(tcp_half, it_may_be_given_away_when_it_is_accepted)
{
	f.does_when_accepted = 'T';
	int fd               = start_and_dial(0);
	int theirs           = taken(1);

	expect_connected(fd, theirs);
	close(theirs);
	close(fd);
}

Test(tcp_half, it_may_be_given_away_when_something_was_sent)
{
	f.does_when_sent = 'T';
	f.greeting       = "greeting";
	int fd           = start_and_dial(0);
	int theirs       = taken(1);

	talk_hear(fd, "greeting", 8);
	expect_connected(fd, theirs);
	close(theirs);
	close(fd);
}

Test(tcp_half, it_may_be_given_away_at_the_peers_end)
{
	f.does_at_end = 'T';
	int fd        = start_and_dial(0);

	shutdown(fd, SHUT_WR);
	int theirs = taken(1);
	cr_expect_eq(talk_next(theirs), 0);
	talk_say(theirs, "heard", 5);
	talk_hear(fd, "heard", 5);
	close(theirs);
	close(fd);
}

Test(tcp_half, who_takes_nothing_is_no_concern_of_ours_once_given_away)
{
	AUTO(auto_free) uint8_t *bytes = talk_big_bytes(BIG_BYTES);
	int                      fd    = start_and_dial(4096);

	tcp_fixture_put(&f, 0, bytes, BIG_BYTES);
	real_sleep_ms(20);
	tcp_fixture_take(&f, 0);
	int theirs = taken(1);
	for (int i = 0; i < 8; i++)
		loop_thread_advance(&f.on, TCP_FIXTURE_STALL_MS / 4);
	cr_expect_eq(f.closed, 0);
	cr_expect_gt(talk_next(fd), 0);
	close(theirs);
	close(fd);
}

Test(tcp_half, a_stop_does_not_wait_for_what_was_given_away)
{
	int fd = start_and_dial(0);

	tcp_fixture_take(&f, 0);
	int theirs = taken(1);
	tcp_fixture_begin_stop(&f);
	loop_thread_join(&f.on);
	expect_connected(fd, theirs);
	close(theirs);
	close(fd);
}

/* In TLS */

static char folder[64], cert[96], key[96];

static void prepare_tls(void)
{
	prepare();
	strcpy(folder, "/tmp/coopd-tls-XXXXXX");
	cr_assert_not_null(mkdtemp(folder));
	snprintf(cert, sizeof(cert), "%s/cert.pem", folder);
	snprintf(key, sizeof(key), "%s/key.pem", folder);
	tls_make_cert(cert, key, "half");
	f.conf.tls_cert = cert;
	f.conf.tls_key  = key;
}

static void stop_tls(void)
{
	stop();
	unlink(cert);
	unlink(key);
	rmdir(folder);
}

TestSuite(tcp_half_tls, .init = prepare_tls, .fini = stop_tls, .timeout = 120);

static struct tls_client start_and_open(void)
{
	struct tls_client c;

	tcp_fixture_start(&f);
	cr_assert(tls_client_open(&c, f.tls_port, 0, NULL));
	tcp_fixture_await(&f.accepted, 1);
	return c;
}

static void hear_tls(struct tls_client *c, const void *bytes, size_t len)
{
	uint8_t got[64];

	cr_assert_leq(len, sizeof(got));
	cr_assert_eq(tls_client_read(c, got, len, DIAL_PATIENCE_MS), len);
	cr_assert_arr_eq(got, bytes, len);
}

Test(tcp_half_tls, the_peers_word_for_the_end_is_told)
{
	struct tls_client c = start_and_open();
	uint8_t           byte;

	cr_assert(tls_client_send(&c, "last words", 10));
	SSL_shutdown(c.ssl);
	hear_tls(&c, "last words", 10);
	tcp_fixture_await(&f.ended, 1);
	tcp_fixture_put(&f, 0, "and ours", 8);
	hear_tls(&c, "and ours", 8);
	tcp_fixture_close(&f, 0);
	cr_expect_eq(tls_client_read(&c, &byte, 1, DIAL_PATIENCE_MS), 0);
	cr_expect(SSL_get_shutdown(c.ssl) & SSL_RECEIVED_SHUTDOWN);
	tls_client_close(&c);
	tcp_fixture_await(&f.closed_as[TCP_END_OURS], 1);
	cr_expect_eq(f.ended, 1);
}

/* Anybody on the way can make one. */
Test(tcp_half_tls, a_fin_without_that_word_is_not_told)
{
	struct tls_client c = start_and_open();

	shutdown(c.fd, SHUT_WR);
	tcp_fixture_await(&f.closed_as[TCP_END_PEER], 1);
	cr_expect_eq(f.ended, 0);
	tls_client_close(&c);
}

/* The last words and the end come in one turn, and the part pauses at the words. */
static void expect_end_read_in_pause(const _Atomic size_t *counter)
{
	loop_add_flush(f.on.loop, &turn_counter);
	struct tls_client c = start_and_open();

	pthread_t blocker = loop_thread_look_away(&f.on);
	cr_assert(tls_client_send(&c, "Plast words", 11));
	SSL_shutdown(c.ssl);
	pthread_join(blocker, NULL);
	hear_tls(&c, "last words", 10);
	let_turns_pass();
	expect_rest();
	cr_expect_eq(f.ended + f.closed, 0);
	tcp_fixture_resume(&f, 0);
	tcp_fixture_await(counter, 1);
	tls_client_close(&c);
}

Test(tcp_half_tls, an_end_that_was_read_in_a_pause_is_told_after_it)
{
	expect_end_read_in_pause(&f.ended);
}

Test(tcp_half_tls, an_end_that_was_read_in_a_pause_is_the_end_after_it)
{
	f.hears_ends = false;
	expect_end_read_in_pause(&f.closed_as[TCP_END_PEER]);
}

Test(tcp_half_tls, the_handshake_goes_on_in_a_pause)
{
	f.pauses            = true;
	f.greeting          = "greeting";
	struct tls_client c = start_and_open();

	hear_tls(&c, "greeting", 8);
	cr_assert(tls_client_send(&c, "waits", 5));
	let_turns_pass();
	cr_expect_eq(f.bytes, 0);
	tcp_fixture_resume(&f, 0);
	hear_tls(&c, "waits", 5);
	tls_client_close(&c);
}

Test(tcp_half_tls, records_wait_in_a_pause)
{
	struct tls_client c = start_and_open();

	cr_assert(tls_client_send(&c, "Pone", 4));
	hear_tls(&c, "one", 3);
	cr_assert(tls_client_send(&c, "two", 3));
	cr_assert(tls_client_send(&c, "three", 5));
	let_turns_pass();
	cr_expect_eq(f.bytes, 4);
	tcp_fixture_resume(&f, 0);
	hear_tls(&c, "twothree", 8);
	tls_client_close(&c);
}
