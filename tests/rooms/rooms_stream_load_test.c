/*
 * Streams in bulk: much through one, many at once, and one whose reader stands still.
 */
#include "support/await.h"
#include "support/rooms_path.h"

#include "base/auto.h"
#include "crypt/hash_stream.h"
#include "net/listen.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define TITLE       "NPWR00001_00"
#define VPORT       3658
#define STREAMS     1000
#define BULK_BYTES  ((uint64_t)1 << 30)
#define PIECE_BYTES 262144

static struct server *s;
static struct gamer  *alice, *bob;

static void begin(void)
{
	/* Few of other kinds, so that there are descriptors enough for many of these. */
	static const char *const sets[] = { "rooms.relay=yes", "limits.ws_connections=1000", NULL };

	listen_raise_files();
	s     = server_start(sets);
	alice = gamer_new(s, TITLE, "alice");
	bob   = gamer_new(s, TITLE, "bob");
	gamer_join(bob, gamer_create(alice, 2, NOTHING)->room_id, NOTHING);
	gamer_expect_push(bob, PUSH_ROUTE);
}

static void stop(void)
{
	gamer_free(alice);
	gamer_free(bob);
	server_finish(s);
}

TestSuite(rooms_stream_load, .init = begin, .fini = stop, .timeout = 300);

static void restart_plain(void)
{
	stop();
	use_plain_server();
	begin();
}

static void await_streams(int count)
{
	server_await_metric(s, "coopd_rooms_streams", NULL, count, DIAL_PATIENCE_MS);
}

/* --- Much --- */

/* One way of a stream: bytes that nothing repeats, hashed where they go in and where they come out. */
struct flow {
	int                 from, to;
	uint64_t            sent, got, bytes;
	struct hash_stream *in, *out;
	uint8_t             piece[PIECE_BYTES];
	size_t              at; /* sent of the piece */
	uint64_t            state;
};

static struct flow *flow_new(int from, int to, uint64_t bytes, uint64_t seed)
{
	struct flow *f = calloc(1, sizeof(*f));

	cr_assert_not_null(f);
	*f     = (struct flow){ .from = from, .to = to, .bytes = bytes, .at = PIECE_BYTES, .state = seed };
	f->in  = hash_stream_new();
	f->out = hash_stream_new();
	cr_assert(f->in && f->out);
	return f;
}

static void next_piece(struct flow *f)
{
	for (size_t i = 0; i < PIECE_BYTES; i += sizeof(f->state)) {
		f->state = f->state * 6364136223846793005u + 1442695040888963407u;
		memcpy(f->piece + i, &f->state, sizeof(f->state));
	}
	f->at = 0;
}

static void send_some(struct flow *f)
{
	size_t len;

	if (f->at == PIECE_BYTES)
		next_piece(f);
	len = PIECE_BYTES - f->at;
	if (len > f->bytes - f->sent)
		len = f->bytes - f->sent;

	ssize_t n = send(f->from, f->piece + f->at, len, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n <= 0)
		return;
	hash_stream_add(f->in, f->piece + f->at, (size_t)n);
	f->at += (size_t)n;
	f->sent += (uint64_t)n;
	if (f->sent == f->bytes)
		shutdown(f->from, SHUT_WR);
}

/* False at the end. */
static bool take_some(struct flow *f)
{
	static uint8_t buffer[PIECE_BYTES];
	ssize_t        n = recv(f->to, buffer, sizeof(buffer), MSG_DONTWAIT);

	if (n <= 0)
		return n < 0;
	hash_stream_add(f->out, buffer, (size_t)n);
	f->got += (uint64_t)n;
	return true;
}

static void run_flows(struct flow *flows[2])
{
	bool is_over[2] = { false, false };

	while (!is_over[0] || !is_over[1]) {
		struct pollfd p[4];
		nfds_t        n = 0;
		struct flow  *of[4];

		for (int i = 0; i < 2; i++) {
			if (flows[i]->sent < flows[i]->bytes)
				of[n] = flows[i], p[n++] = (struct pollfd){ .fd = flows[i]->from, .events = POLLOUT };
			if (!is_over[i])
				of[n] = flows[i], p[n++] = (struct pollfd){ .fd = flows[i]->to, .events = POLLIN };
		}
		cr_assert_gt(poll(p, n, DIAL_PATIENCE_MS), 0, "nothing moves");
		for (nfds_t i = 0; i < n; i++) {
			if (p[i].events == POLLOUT && p[i].revents)
				send_some(of[i]);
			else if (p[i].revents)
				is_over[of[i] == flows[1]] = !take_some(of[i]);
		}
	}
}

static void expect_same(struct flow *f)
{
	uint8_t in[HASH_SHA256_BYTES], out[HASH_SHA256_BYTES];

	cr_expect_eq(f->sent, f->bytes);
	cr_expect_eq(f->got, f->bytes);
	hash_stream_end(in, f->in);
	hash_stream_end(out, f->out);
	cr_expect_arr_eq(in, out, sizeof(in));
	hash_stream_free(f->in);
	hash_stream_free(f->out);
	free(f);
}

Test(rooms_stream_load, a_gigabyte_comes_out_as_it_went_in)
{
	struct gamer_leg *a, *b;
	struct flow      *flows[2];
	int64_t           at_ms;

	gamer_stream(&a, &b, alice, bob, VPORT);
	flows[0] = flow_new(a->fd, b->fd, BULK_BYTES, 1);
	flows[1] = flow_new(b->fd, a->fd, BULK_BYTES / 64, 2);
	at_ms    = real_now_ms();
	run_flows(flows);
	fprintf(stderr, "a stream of %" PRIu64 " MiB: %d ms\n", BULK_BYTES >> 20, (int)(real_now_ms() - at_ms));
	expect_same(flows[0]);
	expect_same(flows[1]);
	await_streams(0);

	const uint64_t both_ways = BULK_BYTES + BULK_BYTES / 64;

	cr_expect_eq(server_metric(s, "coopd_rooms_relayed_bytes_total", "way=\"stream\""), (double)both_ways);
}

/* --- Many --- */

Test(rooms_stream_load, a_thousand_streams_are_open_at_once)
{
	static struct gamer_leg *a[STREAMS], *b[STREAMS];
	char                     text[32];
	int                      fds = server_fd_count(s);

	for (int i = 0; i < STREAMS; i++)
		gamer_stream(&a[i], &b[i], alice, bob, VPORT);
	await_streams(STREAMS);
	for (int i = 0; i < STREAMS; i++) {
		struct gamer_blob said = { text, (size_t)snprintf(text, sizeof(text), "stream %d", i) };

		gamer_leg_send(a[i], said);
		gamer_leg_send(b[i], said);
	}
	for (int i = STREAMS - 1; i >= 0; i--) {
		struct gamer_blob said = { text, (size_t)snprintf(text, sizeof(text), "stream %d", i) };

		gamer_leg_expect(b[i], said);
		gamer_leg_expect(a[i], said);
	}
	for (int i = 0; i < STREAMS; i++) {
		gamer_leg_free(a[i]);
		gamer_leg_free(b[i]);
	}
	await_streams(0);
	await_fds(s, fds);
}

/* --- One that does not read --- */

/* Until it takes no more for a moment; how much it took. */
static uint64_t fill(struct gamer_leg *l)
{
	static uint8_t bytes[65536];
	uint64_t       sent = 0;

	for (int idle = 0; idle < 20;) {
		ssize_t n = send(l->fd, bytes, sizeof(bytes), MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n > 0) {
			sent += (uint64_t)n;
			idle = 0;
		} else {
			real_sleep_ms(10);
			idle++;
		}
	}
	return sent;
}

Test(rooms_stream_load, who_does_not_read_costs_little_and_holds_up_nobody)
{
	enum { DEAF = 8 };
	struct gamer_leg *a[DEAF], *b[DEAF], *c, *d;
	uint64_t          sent = 0;

	restart_plain();
	gamer_stream(&c, &d, alice, bob, VPORT);
	gamer_leg_send(c, TEXT("before"));
	gamer_leg_expect(d, TEXT("before"));

	size_t rss = server_rss_bytes(s);

	for (int i = 0; i < DEAF; i++) {
		gamer_stream(&a[i], &b[i], alice, bob, VPORT);
		sent += fill(a[i]);
		gamer_leg_send(c, TEXT("meanwhile"));
		gamer_leg_expect(d, TEXT("meanwhile"));
		gamer_leg_send(b[i], TEXT("the other way"));
		gamer_leg_expect(a[i], TEXT("the other way"));
	}

	size_t grown = server_rss_bytes(s) - rss;

	fprintf(stderr, "%d streams whose readers stand still: %zu KiB in the server, %" PRIu64 " KiB in all\n", DEAF,
	        grown / 1024, sent / 1024);
	cr_expect_lt(grown, (size_t)DEAF * 262144 + 1048576);
	for (int i = 0; i < DEAF; i++) {
		gamer_leg_abort(a[i]);
		gamer_leg_abort(b[i]);
	}
	await_streams(1);
}

/* What waits for it is not lost when it reads again. */
Test(rooms_stream_load, who_reads_late_gets_all)
{
	static uint8_t    buffer[65536];
	struct gamer_leg *a, *b;
	uint64_t          sent, got = 0;
	ssize_t           n;

	gamer_stream(&a, &b, alice, bob, VPORT);
	sent = fill(a);
	gamer_leg_end_output(a);
	while ((n = dial_read(b->fd, buffer, sizeof(buffer), real_now_ms() + DIAL_PATIENCE_MS)) > 0)
		got += (uint64_t)n;
	cr_expect_eq(n, 0);
	cr_expect_eq(got, sent);
	gamer_leg_send(b, TEXT("thank you"));
	gamer_leg_expect(a, TEXT("thank you"));
}
