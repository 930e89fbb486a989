/*
 * Joined connections under load: who reads nothing, many at once, and no pipes.
 */
#include "net/splice.h"

#include "base/auto.h"
#include "net/listen.h"
#include "net/splice_flow.h"
#include "support/dial.h"
#include "support/leaks.h"
#include "support/other_end.h"
#include "support/splice_fixture.h"
#include "support/tcp_fixture.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define MIB ((uint64_t)1024 * 1024)

static struct splice_fixture f;

static void prepare(void)
{
	splice_fixture_init(&f);
	splice_fixture_start(&f);
}

static void stop(void)
{
	splice_fixture_stop(&f);
}

TestSuite(splice_load, .init = prepare, .fini = stop, .timeout = 240);

static struct splice_lane lane(const struct splice_stream *s, int from, uint64_t total)
{
	return (struct splice_lane){ .from = s->ends[from], .to = s->ends[!from], .total = total };
}

/* Both ends send until nothing moves any more, then both read. */
static void fill_and_release(struct splice_stream *s)
{
	struct splice_lane both[2] = { lane(s, 0, 256 * MIB), lane(s, 1, 256 * MIB) };

	splice_lanes_fill(&f, both, 2);
	for (int i = 0; i < 2; i++) {
		int64_t held = splice_lane_held(s, &both[i]);

		cr_expect_gt(held, 0);
		cr_expect_leq(held, SPLICE_WAITING_BYTES);
		both[i].total = both[i].sent + 1;
	}
	splice_lanes_run(both, 2);
	tcp_fixture_await(&s->ended, 1);
	cr_expect_eq(s->bytes, both[0].total + both[1].total);
	splice_stream_close(s);
}

Test(splice_load, who_reads_nothing_is_not_sent_without_end)
{
	static struct splice_stream s;

	splice_stream_open(&s, &f, 4096);
	fill_and_release(&s);
}

Test(splice_load, of_much_that_is_there_at_once_a_direction_holds_a_part)
{
	static struct splice_stream s;

	for (size_t round = 1; round <= 5; round++) {
		splice_stream_open(&s, &f, 0);
		struct splice_lane one = lane(&s, 0, 64 * MIB);

		one.stays_open = true;
		splice_lanes_run(&one, 1); /* the kernel's buffers grow */
		pthread_t blocker = loop_thread_look_away(&f.on);

		one.total   = 256 * MIB;
		one.is_over = false;
		splice_lanes_fill(&f, &one, 1);
		pthread_join(blocker, NULL);
		splice_lanes_fill(&f, &one, 1);

		int64_t held = splice_lane_held(&s, &one);

		cr_expect_gt(held, 0);
		cr_expect_leq(held, SPLICE_WAITING_BYTES, "it holds %lld", (long long)held);
		splice_stream_close(&s);
		tcp_fixture_await(&f.ended, round);
	}
}

struct span {
	struct timer timer;
	size_t       turns; /* up to its beginning, then in it */
	sem_t        over;
};

#define SPAN_MS 1000

static void on_span_over(struct timer *t, int64_t now_ms)
{
	struct span *span = CONTAINER(t, struct span, timer);

	(void)now_ms;
	span->turns = f.turns - span->turns;
	sem_post(&span->over);
}

static void begin_span(void *arg)
{
	struct span *span = arg;

	timer_init(&span->timer, on_span_over);
	span->turns = f.turns;
	timer_set(f.on.loop, &span->timer, loop_now_ms(f.on.loop) + SPAN_MS);
}

Test(splice_load, who_waits_costs_nothing)
{
	static struct splice_stream stuck, half, hung, idle;
	struct span                 span;

	splice_stream_open(&stuck, &f, 4096);
	struct splice_lane both[2] = { lane(&stuck, 0, 256 * MIB), lane(&stuck, 1, 256 * MIB) };

	splice_lanes_fill(&f, both, 2);
	splice_stream_open(&idle, &f, 0);
	struct splice_lane said = lane(&idle, 0, MIB);

	said.stays_open = true;
	splice_lanes_run(&said, 1);
	splice_stream_open(&half, &f, 0);
	shutdown(half.ends[0], SHUT_WR);
	/* Of this one a leg has had the ends of both outputs, and bytes before the one wait in it: a hangup that stays. */
	splice_stream_open(&hung, &f, 4096);
	do
		cr_assert(dial_send(hung.ends[0], splice_bytes_at(0), 32768, DIAL_PATIENCE_MS));
	while (other_end_reads(hung.ends[0]));
	shutdown(hung.ends[0], SHUT_WR);
	shutdown(hung.ends[1], SHUT_WR);

	sem_init(&span.over, 0, 0);
	loop_thread_do(&f.on, begin_span, &span);
	while (sem_wait(&span.over) != 0)
		continue;
	/* The loop's own tick is ten of them. */
	cr_expect_leq(span.turns, 100, "%zu turns in a second", span.turns);
	splice_stream_close(&stuck);
	splice_stream_close(&half);
	splice_stream_close(&idle);
	splice_stream_close(&hung);
}

/* Pipes */

/*
 * A stream of which something waits in a pipe, with nothing else in one. That a small helping is the one that waits, which is in
 * none, happens now and then.
 */
static void stick_in_pipe(struct splice_stream *s)
{
	for (int tries = 0; tries < 20; tries++) {
		splice_stream_open(s, &f, 4096);
		struct splice_lane stuck = lane(s, 0, 256 * MIB);

		splice_lanes_fill(&f, &stuck, 1);
		if (splice_count_pipe_ends(&f) == 2)
			return;
		splice_stream_close(s);
		tcp_fixture_await(&f.ended, f.begun);
	}
	cr_assert_fail("nothing waits in a pipe");
}

#define BULKS (2 * SPLICE_PIPES_SPARE)

Test(splice_load, what_waits_of_a_bulk_waits_in_a_pipe_that_others_get_later)
{
	static struct splice_stream s[BULKS];

	for (size_t round = 0; round < 2; round++) {
		struct splice_lane lanes[BULKS];

		for (size_t i = 0; i < BULKS; i++) {
			splice_stream_open(&s[i], &f, 4096);
			lanes[i] = lane(&s[i], 0, 64 * MIB);
		}
		splice_lanes_fill(&f, lanes, BULKS);
		for (size_t i = 0; i < BULKS; i++) {
			lanes[i].total = lanes[i].sent + 1;
			cr_expect_gt(splice_lane_held(&s[i], &lanes[i]), 0);
		}
		cr_expect_gt(splice_count_pipe_ends(&f), (size_t)2 * SPLICE_PIPES_SPARE);
		cr_expect_leq(splice_count_pipe_ends(&f), (size_t)2 * BULKS);
		splice_lanes_run(lanes, BULKS);
		for (size_t i = 0; i < BULKS; i++)
			splice_stream_close(&s[i]);
		tcp_fixture_await(&f.ended, f.begun);
		cr_expect_eq(splice_count_pipe_ends(&f), (size_t)2 * SPLICE_PIPES_SPARE);
	}
}

Test(splice_load, a_pipe_that_is_not_empty_is_given_to_nobody)
{
	static struct splice_stream s;

	for (int i = 0; i < 2; i++) {
		stick_in_pipe(&s);
		dial_abort(s.ends[0]);
		s.ends[0] = -1;
		tcp_fixture_await(&s.ended, 1);
		cr_expect_eq(splice_count_pipe_ends(&f), 0);
		splice_stream_close(&s);
	}
}

/* All descriptors but so many are taken from here on. */
static size_t take_descriptors(int *fillers, size_t max, size_t but)
{
	struct rlimit limit;
	size_t        count = 0;
	int           last  = open("/dev/null", O_RDONLY | O_CLOEXEC);

	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = (rlim_t)last + 64;
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	while ((fillers[count] = dup(last)) >= 0)
		cr_assert_lt(++count, max);
	close(last);
	while (but-- > 1)
		close(fillers[--count]);
	return count;
}

Test(splice_load, without_a_descriptor_for_a_pipe_it_waits_in_memory)
{
	static struct splice_stream s, later;
	int                         fillers[128];
	size_t                      count, before;

	splice_stream_open(&s, &f, 4096);
	count                      = take_descriptors(fillers, COUNT_OF(fillers), 1);
	struct splice_lane both[2] = { lane(&s, 0, 256 * MIB), lane(&s, 1, 256 * MIB) };

	before = leaks_held_bytes();
	splice_lanes_fill(&f, both, 2);
	cr_expect_leq(leaks_held_bytes() - before, 2 * FLOW_COPY_BYTES + 4096, "of both directions");
	for (int i = 0; i < 2; i++) {
		int64_t held = splice_lane_held(&s, &both[i]);

		cr_expect_gt(held, 0);
		cr_expect_leq(held, FLOW_COPY_BYTES);
		both[i].total      = both[i].sent + 32 * MIB;
		both[i].stays_open = true;
	}
	splice_lanes_run(both, 2);

	while (count > 0)
		close(fillers[--count]);
	cr_expect_eq(splice_count_pipe_ends(&f), 0);
	loop_thread_advance(&f.on, SPLICE_PIPE_PAUSE_MS);
	splice_stream_close(&s);
	tcp_fixture_await(&s.ended, 1);
	stick_in_pipe(&later); /* now there is one */
	splice_stream_close(&later);
}

/* The pages of pipes that one user may have, used up by pipes of the test. */
static size_t take_pages(int (*pipes)[2], size_t max)
{
	size_t count = 0;

	for (int bytes = 1 << 20; bytes >= SPLICE_WAITING_BYTES; bytes /= 2) {
		do {
			cr_assert_lt(count, max);
			cr_assert_eq(pipe2(pipes[count], O_CLOEXEC), 0);
		} while (fcntl(pipes[count++][0], F_SETPIPE_SZ, bytes) >= 0);
	}
	return count;
}

/* Whoever may do all has no share. False: that cannot be had. */
static bool be_nobody(void)
{
	if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0)
		return false;
	return prctl(PR_SET_DUMPABLE, 1) == 0; /* else its own /proc is closed to it */
}

static size_t share_of_pages(void)
{
	FILE         *file  = fopen("/proc/sys/fs/pipe-user-pages-soft", "re");
	unsigned long pages = 0;
	char          line[32];

	if (file && fgets(line, sizeof(line), file))
		pages = strtoul(line, NULL, 10);
	if (file)
		fclose(file);
	return pages ? pages : SIZE_MAX;
}

Test(splice_load, above_the_users_share_of_pipes_it_waits_in_memory)
{
	static struct splice_stream s;
	static int                  pipes[1024][2];
	size_t                      count, before;

	if (share_of_pages() > (size_t)256 * (COUNT_OF(pipes) - 2) || !be_nobody())
		cr_skip_test("there is no share, or no right to be somebody who has one");
	count  = take_pages(pipes, COUNT_OF(pipes));
	before = splice_count_pipe_ends(&f);
	splice_stream_open(&s, &f, 4096);
	fill_and_release(&s);
	cr_expect_eq(splice_count_pipe_ends(&f), before);
	while (count-- > 0) {
		close(pipes[count][0]);
		close(pipes[count][1]);
	}
}

/* Many */

#define STUCK_STREAMS (SPLICE_PIPES_MAX / 2 + 16)

Test(splice_load, there_is_an_end_to_how_many_pipes_there_are)
{
	static struct splice_stream s[STUCK_STREAMS];
	static struct splice_lane   lanes[2 * STUCK_STREAMS];
	size_t                      before;
	int                         small = 65536; /* or it takes long to fill them all */

	listen_raise_files();
	before = splice_count_descriptors();
	for (size_t i = 0; i < STUCK_STREAMS; i++) {
		splice_stream_open(&s[i], &f, 4096);
		for (int from = 0; from < 2; from++) {
			setsockopt(s[i].ends[from], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
			lanes[2 * i + (size_t)from] = lane(&s[i], from, 64 * MIB);
		}
	}
	splice_lanes_fill(&f, lanes, COUNT_OF(lanes));
	/* Of some it is a small helping that waits, which is in none. */
	cr_expect_leq(splice_count_pipe_ends(&f), (size_t)2 * SPLICE_PIPES_MAX);
	cr_expect_geq(splice_count_pipe_ends(&f), (size_t)SPLICE_PIPES_MAX);
	for (size_t i = 0; i < COUNT_OF(lanes); i++)
		lanes[i].total = lanes[i].sent + 1;
	splice_lanes_run(lanes, COUNT_OF(lanes));
	tcp_fixture_await(&f.ended, STUCK_STREAMS);
	for (size_t i = 0; i < STUCK_STREAMS; i++)
		splice_stream_close(&s[i]);
	cr_expect_eq(splice_count_descriptors(), before + (size_t)2 * SPLICE_PIPES_SPARE);
}

#define MANY 1000

Test(splice_load, a_thousand_at_once)
{
	static struct splice_stream s[MANY];
	static struct splice_lane   lanes[2 * MANY];
	long                        files = listen_raise_files();
	size_t                      many  = files > 5 * MANY ? MANY : (size_t)files / 5;
	size_t                      before;

	before = splice_count_descriptors();
	for (size_t i = 0; i < many; i++)
		splice_stream_open(&s[i], &f, 0);
	for (size_t i = 0; i < 2 * many; i++) {
		lanes[i] = lane(&s[i / 2], i & 1, i % 3 ? 1000 + i : 500000);
		if (i % 5)
			lanes[i].random = (uint32_t)i;
	}
	splice_lanes_run(lanes, 2 * many);
	tcp_fixture_await(&f.ended, many);
	for (size_t i = 0; i < many; i++) {
		cr_expect_eq(s[i].bytes, lanes[2 * i].total + lanes[2 * i + 1].total);
		splice_stream_close(&s[i]);
	}
	cr_expect_leq(splice_count_descriptors(), before + (size_t)2 * SPLICE_PIPES_SPARE);
}

#define LOUD 64

Test(splice_load, many_loud_ones_hold_the_loop_no_longer_than_few)
{
	static struct splice_stream s[LOUD];
	static struct splice_lane   lanes[LOUD];

	for (size_t i = 0; i < LOUD; i++) {
		splice_stream_open(&s[i], &f, 1 << 20);
		lanes[i] = lane(&s[i], 0, 4 * MIB);
	}
	pthread_t blocker = loop_thread_look_away(&f.on);

	for (size_t i = 0; i < LOUD; i++) {
		ssize_t n = send(lanes[i].from, splice_bytes_at(0), SPLICE_BYTES_MAX, MSG_NOSIGNAL);

		cr_assert_gt(n, 0);
		lanes[i].sent = (uint64_t)n;
	}
	pthread_join(blocker, NULL);
	splice_lanes_run(lanes, LOUD);
	/* One flow may go beyond the end of the turn, and each flow beyond its own by a helping. */
	cr_expect_leq(f.bytes_at_once, SPLICE_TURN_BYTES + FLOW_TURN_BYTES + 2 * SPLICE_WAITING_BYTES);
	cr_expect_geq(f.bytes_at_once, SPLICE_TURN_BYTES / 2, "there was more to do than one turn does");
	for (size_t i = 0; i < LOUD; i++)
		splice_stream_close(&s[i]);
}

#define ENDS 300

Test(splice_load, descriptors_come_back_however_streams_end)
{
	static struct splice_stream s[ENDS];
	static uint8_t              first[100000];
	size_t                      before = splice_count_descriptors();

	for (size_t i = 0; i < ENDS; i++) {
		const size_t len = i % 3 ? sizeof(first) : 0;

		splice_stream_dial(&s[i], &f, i % 2 ? 4096 : 0);
		cr_assert_eq(splice_stream_begin(&s[i], (const uint8_t *const[2]){ first, NULL },
		                                 (const size_t[2]){ len, 0 }),
		             ERR_OK);
		cr_assert(dial_send(s[i].ends[0], splice_bytes_at(0), 50000, DIAL_PATIENCE_MS));
		if (i % 5 == 0)
			shutdown(s[i].ends[0], SHUT_WR);
		if (i % 7 == 0) {
			dial_abort(s[i].ends[1]);
			s[i].ends[1] = -1;
		}
		splice_stream_close(&s[i]);
	}
	tcp_fixture_await(&f.ended, ENDS);
	cr_expect_leq(splice_count_pipe_ends(&f), (size_t)2 * SPLICE_PIPES_SPARE);
	cr_expect_eq(splice_count_descriptors() - splice_count_pipe_ends(&f), before);
}
