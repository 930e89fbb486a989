/*
 * TCP connections, plain: bytes in, bytes out, and each way in which one ends.
 */
#include "net/tcp.h"

#include "base/auto.h"
#include "base/metric.h"
#include "support/dial.h"
#include "support/other_end.h"
#include "support/talk.h"
#include "support/tcp_fixture.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define BIG_BYTES (2 * 1024 * 1024)

static struct tcp_fixture f;

static void prepare(void)
{
	tcp_fixture_init(&f);
}

static void stop(void)
{
	tcp_fixture_stop(&f);
	cr_expect_eq(metric_get(M_TCP_CONNECTIONS), 0);
}

TestSuite(tcp, .init = prepare, .fini = stop, .timeout = 120);

Test(tcp, bytes_come_back_however_they_are_cut)
{
	static const char text[] = "some bytes";

	tcp_fixture_start(&f);
	int fd = tcp_fixture_dial(&f, 0);

	for (size_t cut = 1; cut < sizeof(text); cut++) {
		talk_say(fd, text, cut);
		talk_say(fd, text + cut, sizeof(text) - cut);
		talk_hear(fd, text, sizeof(text));
	}
	for (size_t i = 0; i < sizeof(text); i++) {
		talk_say(fd, text + i, 1);
		talk_hear(fd, text + i, 1);
	}
	close(fd);
	tcp_fixture_await(&f.closed, 1);
	cr_expect_eq(f.closed_as[TCP_END_PEER], 1);
}

Test(tcp, a_slow_reader_gets_all_of_it_in_order)
{
	AUTO(auto_free) uint8_t *bytes = talk_big_bytes(BIG_BYTES);
	static uint8_t           got[3000];
	size_t                   at = 0;

	f.piece_bytes = 777; /* more pieces than one call takes */
	tcp_fixture_start(&f);
	int fd = tcp_fixture_dial(&f, 4096);

	tcp_fixture_put(&f, 0, bytes, BIG_BYTES);
	while (at < BIG_BYTES) {
		ssize_t n = dial_read(fd, got, sizeof(got), real_now_ms() + DIAL_PATIENCE_MS);

		cr_assert_gt(n, 0);
		cr_assert_arr_eq(got, bytes + at, (size_t)n);
		at += (size_t)n;
	}
	close(fd);
}

Test(tcp, what_is_put_in_one_turn_leaves_in_one_write)
{
	tcp_fixture_start(&f);
	int fd = tcp_fixture_dial(&f, 0);

	f.piece_bytes = 10;
	tcp_fixture_put_parts(&f, 0, "0123456789abcdefghijABCDEFGHIJ", 30, 6);
	talk_hear(fd, "0123456789abcdefghijABCDEFGHIJ", 30);
	tcp_fixture_await(&f.writes, 1);
	tcp_fixture_put(&f, 0, "more", 4);
	talk_hear(fd, "more", 4);
	tcp_fixture_await(&f.writes, 2);
	close(fd);
}

Test(tcp, what_is_flushed_does_not_wait_for_the_end_of_the_turn)
{
	tcp_fixture_start(&f);
	int fd = tcp_fixture_dial(&f, 0);

	dial_send(fd, "Fonce", 5, DIAL_PATIENCE_MS);
	talk_hear(fd, "onceonce", 8);
	tcp_fixture_await(&f.writes, 2);
	close(fd);
}

Test(tcp, a_peers_fin_ends_it_after_its_bytes)
{
	tcp_fixture_start(&f);
	int fd = tcp_fixture_dial(&f, 0);

	talk_say(fd, "last words", 10);
	shutdown(fd, SHUT_WR);
	talk_hear(fd, "last words", 10);
	cr_expect_eq(talk_next(fd), 0);
	tcp_fixture_await(&f.closed_as[TCP_END_PEER], 1);
	close(fd);
}

/* Who closes what */

Test(tcp, a_close_sends_what_waits_and_lets_the_peer_finish)
{
	static uint8_t more[100000];

	tcp_fixture_start(&f);
	int fd = tcp_fixture_dial(&f, 0);

	talk_say(fd, "Xgood bye", 9);
	tcp_fixture_await(&f.bytes, 9);
	talk_say(fd, more, sizeof(more)); /* nobody wants it, and it destroys nothing */
	talk_hear(fd, "good bye", 8);
	cr_expect_eq(talk_next(fd), 0);
	close(fd);
	tcp_fixture_await(&f.closed_as[TCP_END_OURS], 1);
	cr_expect_eq(f.bytes, 9, "nothing is delivered after the close");
}

Test(tcp, who_does_not_close_after_our_close_is_waited_for_two_seconds)
{
	tcp_fixture_start(&f);
	int fd = tcp_fixture_dial(&f, 0);

	tcp_fixture_close(&f, 0);
	cr_expect_eq(talk_next(fd), 0);
	loop_thread_advance(&f.on, 1800);
	cr_expect_eq(f.closed, 0);
	loop_thread_advance(&f.on, 200);
	tcp_fixture_await(&f.closed_as[TCP_END_OURS], 1);
	close(fd);
}

Test(tcp, the_kernel_does_not_go_on_for_who_takes_nothing_after_our_close)
{
	AUTO(auto_free) uint8_t *bytes = talk_big_bytes(BIG_BYTES);
	size_t                   len;

	tcp_fixture_start(&f);
	int fd = tcp_fixture_dial(&f, 4096);

	tcp_fixture_put(&f, 0, bytes, 20000); /* all of it fits into the kernel */
	tcp_fixture_close(&f, 0);
	tcp_fixture_await(&f.sent, 20000);
	real_sleep_ms(20);
	loop_thread_advance(&f.on, 2000);
	tcp_fixture_await(&f.closed, 1);
	real_sleep_ms(5000);
	cr_expect_eq(talk_read_out(fd, &len), DIAL_RESET);
	cr_expect_lt(len, 20000);
	close(fd);
}

Test(tcp, who_does_not_stop_sending_after_our_close_is_not_listened_to_for_long)
{
	static uint8_t more[65536];
	size_t         sent = 0;

	tcp_fixture_start(&f);
	int fd = tcp_fixture_dial(&f, 0);

	tcp_fixture_close(&f, 0);
	cr_expect_eq(talk_next(fd), 0);
	for (int64_t until = real_now_ms() + DIAL_PATIENCE_MS; f.closed == 0 && real_now_ms() < until;)
		if (dial_send(fd, more, sizeof(more), DIAL_PATIENCE_MS))
			sent += sizeof(more);
	tcp_fixture_await(&f.closed, 1);
	cr_expect_lt(sent, 64 * 1024 * 1024, "it was not for the two seconds");
	close(fd);
}

Test(tcp, a_bound_of_input_after_the_close_is_still_taken)
{
	static uint8_t more[65536];

	tcp_fixture_start(&f);
	int fd = tcp_fixture_dial(&f, 0);

	tcp_fixture_close(&f, 0);
	cr_expect_eq(talk_next(fd), 0);
	for (int i = 0; i < 4; i++)
		talk_say(fd, more, sizeof(more));
	real_sleep_ms(50);
	cr_expect_eq(f.closed, 0);
	close(fd);
}

Test(tcp, a_close_that_cannot_be_sent_has_a_deadline)
{
	AUTO(auto_free) uint8_t *bytes = talk_big_bytes(BIG_BYTES);
	size_t                   len;

	tcp_fixture_start(&f);
	int fd = tcp_fixture_dial(&f, 4096);

	tcp_fixture_put(&f, 0, bytes, BIG_BYTES);
	tcp_fixture_close(&f, 0);
	loop_thread_advance(&f.on, f.conf.limits.ws_close_ms - 200);
	cr_expect_eq(f.closed, 0);
	loop_thread_advance(&f.on, 200);
	tcp_fixture_await(&f.closed_as[TCP_END_OURS], 1);
	cr_expect_eq(talk_read_out(fd, &len), DIAL_RESET);
	cr_expect_lt(len, BIG_BYTES);
	close(fd);
}

Test(tcp, a_peer_that_is_done_before_us_gets_the_rest_all_the_same)
{
	AUTO(auto_free) uint8_t *bytes = talk_big_bytes(BIG_BYTES);
	size_t                   len;

	tcp_fixture_start(&f);
	int fd = tcp_fixture_dial(&f, 4096);

	tcp_fixture_put(&f, 0, bytes, BIG_BYTES);
	tcp_fixture_close(&f, 0);
	shutdown(fd, SHUT_WR);
	cr_expect_eq(talk_read_out(fd, &len), 0);
	cr_expect_eq(len, BIG_BYTES);
	close(fd);
	tcp_fixture_await(&f.closed_as[TCP_END_OURS], 1);
}

Test(tcp, a_connection_may_be_reset_while_its_bytes_are_read)
{
	tcp_fixture_start(&f);
	int fd = tcp_fixture_dial(&f, 0);

	talk_say(fd, "R", 1);
	cr_expect_eq(talk_next(fd), DIAL_RESET);
	tcp_fixture_await(&f.closed_as[TCP_END_OURS], 1);
	close(fd);
}

Test(tcp, one_may_reset_another_that_has_bytes_in_the_same_turn)
{
	tcp_fixture_start(&f);
	int killer = tcp_fixture_dial(&f, 0), victim = tcp_fixture_dial(&f, 0);

	pthread_t blocker = loop_thread_look_away(&f.on);
	talk_say(killer, "K\x01", 2);
	talk_say(victim, "help", 4);
	pthread_join(blocker, NULL);
	cr_expect_eq(talk_next(victim), DIAL_RESET);
	tcp_fixture_await(&f.closed, 1);
	cr_expect_eq(f.bytes, 2, "nothing is heard of it any more");
	talk_say(killer, "and on", 6);
	talk_hear(killer, "and on", 6);
	close(killer);
	close(victim);
}

Test(tcp, a_peer_that_reads_nothing_is_reset_at_once)
{
	AUTO(auto_free) uint8_t *bytes = talk_big_bytes(BIG_BYTES);
	size_t                   len;

	tcp_fixture_start(&f);
	int fd = tcp_fixture_dial(&f, 4096);

	tcp_fixture_put(&f, 0, bytes, BIG_BYTES);
	tcp_fixture_reset(&f, 0);
	tcp_fixture_await(&f.closed_as[TCP_END_OURS], 1);
	cr_expect_eq(talk_read_out(fd, &len), DIAL_RESET);
	cr_expect_lt(len, 65536, "what the kernel held is gone too");
	close(fd);
}

Test(tcp, a_peer_that_vanishes_is_gone)
{
	tcp_fixture_start(&f);
	int fd = tcp_fixture_dial(&f, 0);

	dial_abort(fd);
	tcp_fixture_await(&f.closed_as[TCP_END_PEER], 1);
	fd = tcp_fixture_dial(&f, 0);
	tcp_fixture_close(&f, 1);
	dial_abort(fd);
	tcp_fixture_await(&f.closed_as[TCP_END_OURS], 1);
}

Test(tcp, who_is_refused_gets_no_byte)
{
	f.refuses = true;
	tcp_fixture_start(&f);
	int fd = dial_tcp(f.port, 0);

	cr_expect_eq(talk_next(fd), 0);
	tcp_fixture_await(&f.refused, 1);
	cr_expect_eq(f.closed, 0);
	close(fd);
}

Test(tcp, the_ones_on_their_way_out_are_bounded)
{
	enum { MANY = 300, LEAVING = TCP_LEAVING_MAX };
	int fds[MANY];

	tcp_fixture_start(&f);
	for (int i = 0; i < MANY; i++)
		fds[i] = tcp_fixture_dial(&f, 0);
	for (size_t i = 0; i < LEAVING; i++)
		tcp_fixture_close(&f, i);
	real_sleep_ms(20);
	cr_expect_eq(f.closed, 0);
	for (size_t i = LEAVING; i < MANY; i++)
		tcp_fixture_close(&f, i);
	tcp_fixture_await(&f.closed, MANY - LEAVING);
	cr_expect_eq(talk_next(fds[MANY - 1]), 0);
	cr_expect_null(f.conns[0], "the first to go is the one that has had most time");
	cr_expect_not_null(f.conns[MANY - 1]);
	for (int i = 0; i < MANY; i++)
		close(fds[i]);
}

/* Peers that take nothing */

/* Until the server has nothing to do but to wait for the peer. */
static void settle(void)
{
	size_t before;

	do {
		before = f.writes;
		real_sleep_ms(50);
	} while (f.writes != before);
	loop_thread_advance(&f.on, TCP_FIXTURE_STALL_MS / 4); /* what was taken up to now is seen */
}

static void advance_in_quarters(int quarters)
{
	for (int i = 0; i < quarters; i++)
		loop_thread_advance(&f.on, TCP_FIXTURE_STALL_MS / 4);
}

static void expect_stall(size_t bytes)
{
	AUTO(auto_free) uint8_t *waits = talk_big_bytes(BIG_BYTES);
	size_t                   len;

	tcp_fixture_start(&f);
	int fd = tcp_fixture_dial(&f, 4096);

	tcp_fixture_put(&f, 0, waits, bytes);
	settle();
	advance_in_quarters(3);
	cr_expect_eq(f.closed, 0);
	advance_in_quarters(2);
	tcp_fixture_await(&f.closed_as[TCP_END_STALLED], 1);
	cr_expect_eq(talk_read_out(fd, &len), DIAL_RESET);
	close(fd);
}

Test(tcp, a_peer_that_takes_nothing_for_long_is_reset)
{
	expect_stall(BIG_BYTES);
}

Test(tcp, it_is_reset_too_when_all_is_in_the_kernel)
{
	expect_stall(20000);
}

Test(tcp, a_peer_that_takes_a_little_now_and_then_stays)
{
	AUTO(auto_free) uint8_t *bytes = talk_big_bytes(BIG_BYTES);
	static uint8_t           some[4096];

	tcp_fixture_start(&f);
	int fd = tcp_fixture_dial(&f, 4096);

	tcp_fixture_put(&f, 0, bytes, BIG_BYTES);
	settle();
	for (int i = 0; i < 6; i++) {
		advance_in_quarters(3);
		cr_assert_gt(dial_read(fd, some, sizeof(some), real_now_ms() + DIAL_PATIENCE_MS), 0);
		real_sleep_ms(50);
	}
	advance_in_quarters(1);
	cr_expect_eq(f.closed, 0);
	close(fd);
}

Test(tcp, who_has_taken_all_may_be_silent_for_ever)
{
	tcp_fixture_start(&f);
	int fd = tcp_fixture_dial(&f, 0);

	talk_say(fd, "hello", 5);
	talk_hear(fd, "hello", 5);
	settle();
	advance_in_quarters(40);
	cr_expect_eq(f.closed, 0);
	talk_say(fd, "again", 5);
	talk_hear(fd, "again", 5);
	close(fd);
}

Test(tcp, the_kernel_holds_little_for_a_peer_that_does_not_read)
{
	AUTO(auto_free) uint8_t *bytes = talk_big_bytes(BIG_BYTES);
	uint32_t                 memory[SK_MEMINFO_VARS];
	socklen_t                len = sizeof(memory);

	tcp_fixture_start(&f);
	int fd = tcp_fixture_dial(&f, 4096);

	tcp_fixture_put(&f, 0, bytes, BIG_BYTES);
	settle();
	cr_assert_eq(getsockopt(other_end(fd), SOL_SOCKET, SO_MEMINFO, memory, &len), 0);
	cr_expect_gt(memory[SK_MEMINFO_WMEM_QUEUED], 0);
	cr_expect_lt(memory[SK_MEMINFO_RMEM_ALLOC] + memory[SK_MEMINFO_WMEM_QUEUED] + memory[SK_MEMINFO_FWD_ALLOC],
	             256 * 1024);
	close(fd);
}

/* Many */

static int count_descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	int  count  = 0;

	cr_assert_not_null(folder);
	while (readdir(folder))
		count++;
	closedir(folder);
	return count;
}

Test(tcp, a_thousand_come_and_go_and_nothing_stays)
{
	static const char *const said[] = { "stay", "Xclose", "R", "bye" };
	int                      before;

	tcp_fixture_start(&f);
	before = count_descriptors();
	for (size_t i = 0; i < 1000; i++) {
		const char *text = said[i % COUNT_OF(said)];
		int         fd   = tcp_fixture_dial(&f, 0);

		talk_say(fd, text, strlen(text));
		if (text[0] != 'R')
			talk_hear(fd, text + (text[0] == 'X'), strlen(text) - (text[0] == 'X'));
		if (i % 7 == 0)
			dial_abort(fd);
		else
			close(fd);
	}
	tcp_fixture_await(&f.closed, 1000);
	cr_expect_eq(count_descriptors(), before);
}

Test(tcp, without_descriptors_newcomers_wait_and_the_others_are_served)
{
	struct rlimit limit, tight;
	int           fillers[64], count = 0;

	tcp_fixture_start(&f);
	int there = tcp_fixture_dial(&f, 0);
	int late  = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	tight          = limit;
	tight.rlim_cur = (rlim_t)late + 16;
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &tight), 0);
	while ((fillers[count] = dup(late)) >= 0)
		cr_assert_lt(++count, 64);
	cr_assert_gt(count, 0);

	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)f.port) };
	to.sin_addr.s_addr    = htonl(INADDR_LOOPBACK);
	cr_assert_eq(connect(late, (struct sockaddr *)&to, sizeof(to)), 0);
	for (int64_t until = real_now_ms() + DIAL_PATIENCE_MS; real_now_ms() < until;)
		if (metric_get(M_TCP_REFUSED_MEMORY) >= 2) /* once more after the pause */
			break;
	cr_expect_eq(f.accepted, 1);
	talk_say(there, "still", 5);
	talk_hear(there, "still", 5);

	while (count > 0)
		close(fillers[--count]);
	tcp_fixture_await(&f.accepted, 2);
	talk_say(late, "at last", 7);
	talk_hear(late, "at last", 7);
	cr_expect_leq(metric_get(M_TCP_REFUSED_MEMORY), 100, "it does not ask all the time");
	close(late);
	close(there);
}

/* One turn */

Test(tcp, one_turn_reads_a_helping_of_each)
{
	AUTO(auto_free) uint8_t *bytes = talk_big_bytes(BIG_BYTES);
	size_t                   len;

	f.conf.limits.ws_turn_bytes = 4096;
	tcp_fixture_start(&f);
	int fd = tcp_fixture_dial(&f, 0);

	pthread_t blocker = loop_thread_look_away(&f.on);
	talk_say(fd, bytes, 50000);
	pthread_join(blocker, NULL);
	tcp_fixture_await(&f.bytes, 50000);
	cr_expect_eq(f.bytes_at_once, 4096);
	tcp_fixture_close(&f, 0);
	cr_expect_eq(talk_read_out(fd, &len), 0);
	cr_expect_eq(len, 50000);
	close(fd);
}

static size_t sent_before, sent_at_once;

static void count_sent(struct loop_flush *flush)
{
	(void)flush;
	if (f.sent - sent_before > sent_at_once)
		sent_at_once = f.sent - sent_before;
	sent_before = f.sent;
}

Test(tcp, one_turn_sends_a_helping_of_each)
{
	static struct loop_flush flush = { .run = count_sent };
	AUTO(auto_free) uint8_t *bytes = talk_big_bytes(BIG_BYTES);
	static uint8_t           got[65536];

	loop_add_flush(f.on.loop, &flush);
	f.listen.sndbuf_bytes = BIG_BYTES;
	f.piece_bytes         = 1024;
	tcp_fixture_start(&f);
	int fd = tcp_fixture_dial(&f, BIG_BYTES);

	tcp_fixture_put(&f, 0, bytes, BIG_BYTES);
	for (size_t have = 0; have < BIG_BYTES;) {
		ssize_t n = dial_read(fd, got, sizeof(got), real_now_ms() + DIAL_PATIENCE_MS);

		cr_assert_gt(n, 0);
		have += (size_t)n;
	}
	cr_expect_eq(sent_at_once, 65536, "what a turn reads is what it sends");
	close(fd);
}

static size_t accepted_before, accepted_at_once;

static void count_accepted(struct loop_flush *flush)
{
	(void)flush;
	if (f.accepted - accepted_before > accepted_at_once)
		accepted_at_once = f.accepted - accepted_before;
	accepted_before = f.accepted;
}

Test(tcp, one_turn_accepts_a_helping)
{
	static struct loop_flush flush = { .run = count_accepted };
	int                      fds[20];

	loop_add_flush(f.on.loop, &flush);
	f.conf.limits.ws_turn_accepts = 4;
	tcp_fixture_start(&f);
	pthread_t blocker = loop_thread_look_away(&f.on);
	for (int i = 0; i < 20; i++)
		fds[i] = dial_tcp(f.port, 0);
	pthread_join(blocker, NULL);
	tcp_fixture_await(&f.accepted, 20);
	for (int i = 0; i < 20; i++)
		close(fds[i]);
	tcp_fixture_await(&f.closed, 20);
	tcp_fixture_stop(&f);
	cr_expect_eq(accepted_at_once, 4);
}

/* What a connection is like */

static int option(int fd, int level, int name)
{
	int       value = -1;
	socklen_t len   = sizeof(value);

	cr_assert_eq(getsockopt(fd, level, name, &value, &len), 0);
	return value;
}

Test(tcp, accepted_sockets_have_the_options_of_their_listener)
{
	tcp_fixture_start(&f);
	int fd = tcp_fixture_dial(&f, 0), theirs = other_end(fd);

	cr_expect_eq(option(theirs, SOL_SOCKET, SO_KEEPALIVE), 1);
	cr_expect_eq(option(theirs, IPPROTO_TCP, TCP_KEEPIDLE), 30);
	cr_expect_eq(option(theirs, IPPROTO_TCP, TCP_KEEPINTVL), 5);
	cr_expect_eq(option(theirs, IPPROTO_TCP, TCP_KEEPCNT), 9);
	cr_expect_eq(option(theirs, IPPROTO_TCP, TCP_NODELAY), 1);
	cr_expect_eq(option(theirs, SOL_SOCKET, SO_SNDBUF), 2 * 32768, "the kernel doubles it");
	close(fd);
}

static void look_at_two(void *arg)
{
	const struct tcp_conn *a = f.conns[0]->conn, *b = f.conns[1]->conn;

	cr_expect_neq(tcp_conn_id(a), tcp_conn_id(b));
	cr_expect_neq(tcp_conn_id(a), 0);
	cr_expect_eq(tcp_conn_peer(a)->family, ADDR_IPV4);
	cr_expect_neq(tcp_conn_peer(a)->port, tcp_conn_peer(b)->port);
	cr_expect_not(tcp_conn_is_tls(a));
	cr_expect_eq(tcp_conn_is_exempt(a), *(bool *)arg);
}

Test(tcp, a_connection_knows_its_peer)
{
	bool is_exempt = true;

	tcp_fixture_start(&f);
	int a = tcp_fixture_dial(&f, 0), b = tcp_fixture_dial(&f, 0);

	loop_thread_do(&f.on, look_at_two, &is_exempt);
	close(a);
	close(b);
}

Test(tcp, in_production_nobody_is_exempt)
{
	bool is_exempt = false;

	f.conf.server_production = true;
	tcp_fixture_start(&f);
	int a = tcp_fixture_dial(&f, 0), b = tcp_fixture_dial(&f, 0);

	loop_thread_do(&f.on, look_at_two, &is_exempt);
	close(a);
	close(b);
}

/* The end of all */

Test(tcp, a_stop_sends_what_waits_and_takes_nobody_new)
{
	AUTO(auto_free) uint8_t *bytes = talk_big_bytes(BIG_BYTES);
	size_t                   len;

	tcp_fixture_start(&f);
	int reads = tcp_fixture_dial(&f, 4096), idle = tcp_fixture_dial(&f, 0);

	tcp_fixture_put(&f, 0, bytes, BIG_BYTES);
	tcp_fixture_begin_stop(&f);
	int late = dial_tcp(f.port, 0);
	cr_expect_eq(talk_read_out(reads, &len), 0);
	cr_expect_eq(len, BIG_BYTES);
	cr_expect_eq(talk_next(idle), 0);
	close(reads);
	close(idle);
	loop_thread_join(&f.on);
	cr_expect_eq(f.accepted, 2);
	cr_expect_eq(f.closed_as[TCP_END_STOPPED], 2);
	if (late >= 0)
		close(late);
}

Test(tcp, a_stop_waits_five_seconds_for_who_takes_nothing)
{
	AUTO(auto_free) uint8_t *bytes = talk_big_bytes(BIG_BYTES);

	f.conf.limits.ws_close_ms = 60000;
	tcp_fixture_start(&f);
	int fd = tcp_fixture_dial(&f, 4096);

	tcp_fixture_put(&f, 0, bytes, BIG_BYTES);
	tcp_fixture_begin_stop(&f);
	loop_thread_advance(&f.on, 4800);
	cr_expect_eq(f.closed, 0);
	loop_thread_advance(&f.on, 200);
	loop_thread_join(&f.on);
	cr_expect_eq(f.closed_as[TCP_END_STOPPED], 1);
	close(fd);
}

Test(tcp, who_is_left_at_the_end_is_reset_and_reported)
{
	tcp_fixture_start(&f);
	int fd = tcp_fixture_dial(&f, 0);

	loop_stop(f.on.loop);
	loop_thread_join(&f.on);
	tcp_fixture_stop(&f);
	cr_expect_eq(f.closed_as[TCP_END_STOPPED], 1);
	cr_expect_eq(talk_next(fd), DIAL_RESET);
	close(fd);
}
