#include "support/splice_fixture.h"

#include "base/auto.h"
#include "net/listen.h"
#include "support/dial.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <linux/sockios.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define PERIOD 1000003 /* a prime: no buffer's size divides it */

static uint8_t source[PERIOD + SPLICE_BYTES_MAX];

static uint32_t next_random(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

static void fill_source(void)
{
	uint32_t state = 1;

	for (size_t i = 0; i < PERIOD; i++)
		source[i] = (uint8_t)(next_random(&state) >> 11);
	memcpy(source + PERIOD, source, SPLICE_BYTES_MAX);
}

const uint8_t *splice_bytes_at(uint64_t at)
{
	return source + at % PERIOD;
}

static void on_flush(struct loop_flush *flush)
{
	struct splice_fixture *f       = CONTAINER(flush, struct splice_fixture, flush);
	uint64_t               now     = splice_bytes(f->splice);
	size_t                 at_once = (size_t)(now - f->bytes);

	if (at_once > f->bytes_at_once)
		f->bytes_at_once = at_once;
	f->bytes = now;
	f->turns++;
}

static size_t count_descriptors(const char *prefix)
{
	DIR           *all   = opendir("/proc/self/fd");
	size_t         count = 0;
	struct dirent *one;

	cr_assert_not_null(all);
	while ((one = readdir(all))) {
		char    name[256];
		ssize_t len = readlinkat(dirfd(all), one->d_name, name, sizeof(name) - 1);

		if (len < 0)
			continue;
		name[len] = '\0';
		count += strncmp(name, prefix, strlen(prefix)) == 0;
	}
	closedir(all);
	return count;
}

void splice_fixture_init(struct splice_fixture *f)
{
	struct addr bound;

	memset(f, 0, sizeof(*f));
	signal(SIGPIPE, SIG_IGN); /* as in the server */
	fill_source();
	loop_thread_init(&f->on);
	cr_assert_eq(listen_tcp(&f->listener, &bound, "127.0.0.1:0", stderr), ERR_OK);
	f->port      = bound.port;
	f->pipe_ends = count_descriptors("pipe:");
	f->flush.run = on_flush;
	cr_assert_eq(splice_new(&f->splice, f->on.loop), ERR_OK);
	loop_add_flush(f->on.loop, &f->flush); /* behind that of the splice */
}

void splice_fixture_start(struct splice_fixture *f)
{
	loop_thread_start(&f->on);
}

static void stop_streams(void *arg)
{
	struct splice_fixture *f = arg;

	splice_stop(f->splice);
}

void splice_fixture_stop_streams(struct splice_fixture *f)
{
	int64_t until = real_now_ms() + DIAL_PATIENCE_MS;

	loop_thread_do(&f->on, stop_streams, f);
	while (f->ended != f->begun && real_now_ms() < until)
		real_sleep_ms(1);
	cr_assert_eq(f->ended, f->begun);
}

static void stop_loop(void *arg)
{
	struct splice_fixture *f = arg;

	loop_stop(f->on.loop);
}

void splice_fixture_stop(struct splice_fixture *f)
{
	if (f->on.runs)
		loop_thread_do(&f->on, stop_loop, f);
	loop_thread_join(&f->on);
	splice_free(f->splice);
	f->splice = NULL;
	loop_thread_fini(&f->on);
	close(f->listener);
	cr_expect_eq(f->ended, f->begun, "each is told of its end");
}

void splice_stream_dial(struct splice_stream *s, struct splice_fixture *f, int rcvbuf_bytes)
{
	*s = (struct splice_stream){ .fixture = f };
	for (int i = 0; i < 2; i++) {
		struct pollfd p = { .fd = f->listener, .events = POLLIN };

		s->ends[i] = dial_tcp(f->port, rcvbuf_bytes);
		cr_assert_geq(s->ends[i], 0);
		cr_assert_eq(poll(&p, 1, DIAL_PATIENCE_MS), 1);
		s->legs[i] = accept4(f->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		cr_assert_geq(s->legs[i], 0);
	}
}

static void on_ended(void *arg, uint64_t bytes, int64_t now_ms)
{
	struct splice_stream *s = arg;

	(void)now_ms;
	s->bytes = bytes;
	s->ended++;
	s->fixture->ended++;
}

struct begin {
	struct splice_stream *stream;
	struct splice_side    sides[2];
	enum err              result;
};

static void run_begin(void *arg)
{
	struct begin *b = arg;

	b->result = splice_begin(b->stream->fixture->splice, b->sides, on_ended, b->stream);
	cr_expect_eq(b->stream->ended, 0, "never from inside");
}

enum err splice_stream_begin(struct splice_stream *s, const uint8_t *const first[2], const size_t first_len[2])
{
	struct begin b = { .stream = s };

	for (int i = 0; i < 2; i++)
		b.sides[i] = (struct splice_side){ .fd = s->legs[i], .first = first[i], .first_len = first_len[i] };
	s->fixture->begun++;
	loop_thread_do(&s->fixture->on, run_begin, &b);
	if (b.result != ERR_OK)
		s->fixture->begun--;
	return b.result;
}

void splice_stream_open(struct splice_stream *s, struct splice_fixture *f, int rcvbuf_bytes)
{
	splice_stream_dial(s, f, rcvbuf_bytes);
	cr_assert_eq(splice_stream_begin(s, (const uint8_t *const[2]){ NULL, NULL }, (const size_t[2]){ 0, 0 }),
	             ERR_OK);
}

void splice_stream_close(struct splice_stream *s)
{
	for (int i = 0; i < 2; i++) {
		if (s->ends[i] >= 0)
			close(s->ends[i]);
		s->ends[i] = -1;
	}
}

/* Sizes from one byte to many, each power of two as often as the others. */
static size_t pick_size(struct splice_lane *l, uint64_t at_most)
{
	size_t size = SPLICE_BYTES_MAX;

	if (l->random) {
		size_t power = (size_t)1 << next_random(&l->random) % 18;

		size = power + next_random(&l->random) % power;
	}
	return size < at_most ? size : (size_t)at_most;
}

/* Whether something moved. */
static bool send_some(struct splice_lane *l)
{
	uint64_t left = l->total - l->sent;
	ssize_t  n    = left ? send(l->from, splice_bytes_at(l->sent), pick_size(l, left), MSG_NOSIGNAL) : 0;

	if (n <= 0) {
		cr_assert(n == 0 || errno == EAGAIN, "sending: %s", strerror(errno));
		return false;
	}
	l->sent += (uint64_t)n;
	if (l->sent == l->total && !l->stays_open)
		shutdown(l->from, SHUT_WR);
	return true;
}

static bool receive_some(struct splice_lane *l)
{
	static uint8_t got[SPLICE_BYTES_MAX];
	ssize_t        n = recv(l->to, got, pick_size(l, sizeof(got)), 0);

	if (n < 0) {
		cr_assert_eq(errno, EAGAIN, "receiving: %s", strerror(errno));
		return false;
	}
	cr_assert(n > 0 || l->received == l->total, "the end after %zu bytes", (size_t)l->received);
	cr_assert_eq(memcmp(got, splice_bytes_at(l->received), (size_t)n), 0, "behind %zu", (size_t)l->received);
	l->received += (uint64_t)n;
	cr_assert_leq(l->received, l->total);
	l->is_over = l->received == l->total && (n == 0 || l->stays_open);
	return true;
}

void splice_lanes_run(struct splice_lane *lanes, size_t count)
{
	int64_t deadline_ms = real_now_ms() + DIAL_PATIENCE_MS;
	size_t  open        = count;

	while (open > 0) {
		bool moved = false;

		open = 0;
		for (size_t i = 0; i < count; i++) {
			if (lanes[i].is_over)
				continue;
			open++;
			moved |= send_some(&lanes[i]);
			moved |= receive_some(&lanes[i]);
		}
		if (moved)
			deadline_ms = real_now_ms() + DIAL_PATIENCE_MS;
		else
			poll(NULL, 0, 1);
		cr_assert_lt(real_now_ms(), deadline_ms, "nothing moves");
	}
}

/* Each of a millisecond or more, as acknowledgements may take some, and of a turn of the loop. */
#define STILL_LOOKS 100

static void do_nothing(void *arg)
{
	(void)arg;
}

void splice_lanes_fill(struct splice_fixture *f, struct splice_lane *lanes, size_t count)
{
	for (int still = 0; still < STILL_LOOKS; still++) {
		for (size_t i = 0; i < count; i++)
			while (send_some(&lanes[i]))
				still = 0;
		poll(NULL, 0, 1);
		loop_thread_do(&f->on, do_nothing, NULL);
	}
	for (size_t i = 0; i < count; i++)
		cr_assert_lt(lanes[i].sent, lanes[i].total, "there is no end to it");
}

static int64_t queued(int fd, unsigned long which)
{
	int bytes = 0;

	cr_assert_eq(ioctl(fd, which, &bytes), 0);
	return bytes;
}

int64_t splice_lane_held(const struct splice_stream *s, const struct splice_lane *l)
{
	int side = l->from == s->ends[0] ? 0 : 1;

	return (int64_t)(l->sent - l->received) - queued(l->from, SIOCOUTQ) - queued(s->legs[side], SIOCINQ) -
	       queued(s->legs[!side], SIOCOUTQ) - queued(l->to, SIOCINQ);
}

size_t splice_count_descriptors(void)
{
	return count_descriptors("");
}

size_t splice_count_pipe_ends(const struct splice_fixture *f)
{
	return count_descriptors("pipe:") - f->pipe_ends;
}
