/*
 * Transfers: how many there may be, how slow they may be, and that they are left alone by every other deadline. Over
 * real sockets, with a clock that the test moves.
 */
#include "net/http_transfer.h"

#include "base/auto.h"
#include "base/metric.h"
#include "base/text.h"
#include "net/http.h"
#include "support/dial.h"
#include "support/http_fixture.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define WINDOW_MS 30000
#define LEAST     (4096 * WINDOW_MS / 1000) /* bytes in a window */
#define BIG       ((uint64_t)64 << 20)

static atomic_int      begun, aborted, freed;
static atomic_int      aborted_slow;
static atomic_uint     came;                             /* bytes of bodies */
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER; /* held by a test: handlers wait in begin, data or end */
static atomic_int      at_gate;

static void pass_gate(struct http_request *rq, const char *where)
{
	const char *wait = rq ? http_query(rq, "wait") : where;

	if (!wait || strcmp(wait, where) != 0)
		return;
	at_gate++;
	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
}

struct sink {
	bool waits; /* in data */
};

static enum err on_begin(void **out, struct http_answer *a, struct http_request *rq, int64_t length, void *part)
{
	struct sink *s    = malloc(sizeof(*s));
	const char  *wait = http_query(rq, "wait");

	(void)a;
	(void)length;
	(void)part;
	if (!s)
		return ERR_NOMEM;
	s->waits = wait && strcmp(wait, "data") == 0;
	*out     = s;
	pass_gate(rq, "begin");
	begun++;
	return ERR_OK;
}

static enum err on_data(void *sink, const uint8_t *bytes, size_t len)
{
	struct sink *s = sink;

	(void)bytes;
	if (s->waits)
		pass_gate(NULL, "data");
	came += (unsigned)len;
	return ERR_OK;
}

static enum err on_end(struct http_answer *a, struct http_request *rq, void *sink, void *part)
{
	(void)part;
	pass_gate(rq, "end");
	free(sink);
	return http_answer_error(a, 201, "stored");
}

static void on_abort(struct http_answer *a, struct http_request *rq, void *sink, enum err why)
{
	(void)a;
	(void)rq;
	free(sink);
	aborted_slow += why == ERR_SLOW;
	aborted++;
}

static ssize_t on_read(void *arg, uint64_t at, void *out, size_t cap)
{
	(void)arg;
	(void)at;
	memset(out, 'x', cap);
	return (ssize_t)cap;
}

static void on_free(void *arg)
{
	(void)arg;
	freed++;
}

static enum err on_big(struct http_answer *a, struct http_request *rq, void *part)
{
	(void)rq;
	(void)part;
	http_answer_stream(a, &(struct http_stream){ .bytes = BIG, .read = on_read, .free = on_free });
	a->status = 200;
	return ERR_OK;
}

static enum err on_hello(struct http_answer *a, struct http_request *rq, void *part)
{
	(void)rq;
	(void)part;
	return http_answer_error(a, 200, "hello");
}

static enum err errors(struct http_answer *a, struct http_request *rq, enum err e)
{
	(void)rq;
	return http_answer_error(a, err_http(e), err_rest(e));
}

static const struct http_body upload = { on_begin, on_data, on_end, on_abort, NULL };

static const struct http_route routes[] = {
	{ "PUT", "/up", NULL, &upload, errors },
	{ "GET", "/big", on_big, NULL, errors },
	{ "GET", "/hello", on_hello, NULL, NULL },
	{ 0 },
};

static struct http_fixture f;

static void prepare(void)
{
	http_fixture_init(&f);
	f.conf.server_production = true; /* or nobody on loopback would be counted */
}

static void finish(void)
{
	http_fixture_stop(&f);
	cr_expect_eq(metric_get(M_HTTP_TRANSFERS), 0);
}

TestSuite(http_transfer, .init = prepare, .fini = finish);

static void start(void)
{
	http_fixture_start(&f, routes, NULL);
}

static void await(atomic_int *what, int count)
{
	int64_t until = real_now_ms() + DIAL_PATIENCE_MS;

	while (*what < count && real_now_ms() < until)
		real_sleep_ms(1);
	cr_assert_eq(*what, count);
}

static void await_bytes(unsigned count)
{
	int64_t until = real_now_ms() + DIAL_PATIENCE_MS;

	while (came < count && real_now_ms() < until)
		real_sleep_ms(1);
	cr_assert_eq(came, count);
}

static void await_transfers(int64_t count)
{
	int64_t until = real_now_ms() + DIAL_PATIENCE_MS;

	while (metric_get(M_HTTP_TRANSFERS) != count && real_now_ms() < until)
		real_sleep_ms(1);
	cr_assert_eq(metric_get(M_HTTP_TRANSFERS), count);
}

static int ask(const char *from, const char *text)
{
	int fd = http_fixture_dial(&f, from);

	cr_assert(http_say(fd, text));
	return fd;
}

#define UPLOAD "PUT /up HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n"

/* An upload that begin accepted. */
static int begin_upload(const char *from, const char *text)
{
	int before = begun;
	int fd     = ask(from, text);

	await(&begun, before + 1);
	return fd;
}

static int begin_download(const char *from)
{
	int                fd = ask(from, "GET /big HTTP/1.1\r\nHost: a\r\n\r\n");
	struct http_result r  = http_hear_head(fd);

	cr_assert_eq(r.status, 200);
	http_result_free(&r);
	return fd;
}

static void expect_refused(int fd, int status, const char *code)
{
	struct http_result r = http_hear(fd);
	char               body[100];

	snprintf(body, sizeof(body), "{\"error\":\"%s\"}", code);
	cr_assert_eq(r.status, status); /* or the next line would report a whole download */
	cr_expect_str_eq(r.body, body);
	http_result_free(&r);
	close(fd);
}

static void send_bytes(int fd, size_t len)
{
	char *bytes = calloc(1, len);

	cr_assert_not_null(bytes);
	cr_assert(dial_send(fd, bytes, len, DIAL_PATIENCE_MS));
	free(bytes);
}

/* --- How many --- */

Test(http_transfer, one_address_has_so_many)
{
	int fds[4];

	start();
	for (int i = 0; i < 4; i++)
		fds[i] = i % 2 ? begin_upload("127.0.0.2", UPLOAD) : begin_download("127.0.0.2");
	cr_expect_eq(metric_get(M_HTTP_TRANSFERS), 4);
	expect_refused(ask("127.0.0.2", UPLOAD), 429, "rate");
	expect_refused(ask("127.0.0.2", "GET /big HTTP/1.1\r\nHost: a\r\n\r\n"), 429, "rate");
	cr_expect_eq(metric_get(M_HTTP_REFUSED_TRANSFERS), 2);
	cr_expect_eq(begun, 2, "refused before begin");
	cr_expect_eq(freed, 1, "the refused stream is freed");

	int hello = ask("127.0.0.2", "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
	expect_refused(hello, 200, "hello");
	close(begin_upload("127.0.0.3", UPLOAD)); /* others are not concerned */

	close(fds[0]);
	await_transfers(3);
	close(begin_download("127.0.0.2"));
	for (int i = 1; i < 4; i++)
		close(fds[i]);
	await_transfers(0);
}

Test(http_transfer, there_are_so_many_in_all)
{
	int fds[3];

	f.conf.limits.http_transfers = 3;
	start();
	for (int i = 0; i < 3; i++)
		fds[i] = begin_upload(i ? "127.0.0.2" : "127.0.0.3", UPLOAD);
	expect_refused(ask("127.0.0.4", UPLOAD), 503, "transfers");
	expect_refused(ask("127.0.0.4", "GET /big HTTP/1.1\r\nHost: a\r\n\r\n"), 503, "transfers");
	dial_abort(fds[0]);
	await_transfers(2);
	close(begin_download("127.0.0.4"));
	close(fds[1]);
	close(fds[2]);
}

Test(http_transfer, a_proxy_is_counted_by_its_clients)
{
	char head[200];
	int  fds[9];

	start();
	for (int i = 0; i < 8; i++) {
		snprintf(head, sizeof(head),
		         "PUT /up HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 9.9.9.%d\r\nContent-Length: 9\r\n\r\n",
		         i / 4);
		fds[i] = begin_upload(HTTP_FIXTURE_PROXY, head);
	}
	expect_refused(ask(HTTP_FIXTURE_PROXY, head), 429, "rate");
	for (int i = 0; i < 8; i++)
		close(fds[i]);
}

Test(http_transfer, who_is_exempt_is_counted_in_all_only)
{
	int fds[6];

	f.conf.server_production     = false;
	f.conf.limits.http_transfers = 6;
	start();
	for (int i = 0; i < 6; i++)
		fds[i] = begin_upload("127.0.0.2", UPLOAD);
	expect_refused(ask("127.0.0.2", UPLOAD), 503, "transfers");
	for (int i = 0; i < 6; i++)
		close(fds[i]);
}

Test(http_transfer, a_48_of_ipv6_has_eight_times_as_many)
{
	struct http_transfers all;
	struct http_transfer  ts[10], one_more;
	struct addr           a = { .family = ADDR_IPV6, .ip = { 0x20, 1, 0xd, 0xb8 } };

	http_transfers_init(&all, 100, 1);
	for (int i = 0; i < 8; i++) {
		a.ip[7] = (uint8_t)i;
		cr_expect_eq(http_transfer_take(&ts[i], &all, &a, false), ERR_OK);
		a.ip[15] = 1;
		cr_expect_eq(http_transfer_take(&one_more, &all, &a, false), ERR_LIMIT, "the same /64");
		a.ip[15] = 0;
	}
	a.ip[7] = 8;
	cr_expect_eq(http_transfer_take(&one_more, &all, &a, false), ERR_LIMIT, "the same /48");
	http_transfer_give(&one_more, &all);
	a.ip[4] = 1;
	cr_expect_eq(http_transfer_take(&ts[8], &all, &a, false), ERR_OK, "another /48");
	http_transfer_give(&ts[0], &all);
	http_transfer_give(&ts[0], &all);
	a.ip[4] = 0;
	cr_expect_eq(http_transfer_take(&ts[0], &all, &a, false), ERR_OK);
	for (int i = 0; i < 9; i++)
		http_transfer_give(&ts[i], &all);
	http_transfers_fini(&all);
	cr_expect_eq(metric_get(M_HTTP_TRANSFERS), 0);
}

/* --- How slow --- */

Test(http_transfer, an_upload_at_the_least_rate_goes_on_and_a_slower_one_ends)
{
	start();
	int fd = begin_upload("127.0.0.2", UPLOAD);

	for (int i = 1; i <= 3; i++) {
		send_bytes(fd, LEAST);
		await_bytes((unsigned)(i * LEAST));
		http_fixture_advance(&f, WINDOW_MS);
		cr_expect(http_is_silent(fd, 20), "window %d", i);
	}
	send_bytes(fd, LEAST - 1);
	await_bytes((unsigned)(4 * LEAST - 1));
	http_fixture_advance(&f, WINDOW_MS - 1000); /* real time runs too */
	cr_expect(http_is_silent(fd, 20), "before the window ends");
	http_fixture_advance(&f, 1000);
	cr_expect(http_is_closed(fd));
	await(&aborted, 1);
	cr_expect_eq(aborted_slow, 1);
	cr_expect_eq(metric_get(M_HTTP_TRANSFERS_SLOW), 1);
	await_transfers(0);
	close(fd);
}

Test(http_transfer, a_silent_upload_ends)
{
	start();
	int fd = begin_upload("127.0.0.2", "PUT /up HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");

	http_fixture_advance(&f, WINDOW_MS);
	cr_expect(http_is_closed(fd));
	await(&aborted, 1);
	cr_expect_eq(aborted_slow, 1);
	close(fd);
}

/* Reads exactly so many bytes of the body. */
static void read_bytes(int fd, size_t len)
{
	static char piece[65536];
	int64_t     until = real_now_ms() + DIAL_PATIENCE_MS;

	while (len > 0) {
		ssize_t got = dial_read(fd, piece, len < sizeof(piece) ? len : sizeof(piece), until);

		cr_assert_gt(got, 0);
		len -= (size_t)got;
	}
}

/* A download whose client has a small buffer, which is full. */
static int begin_narrow_download(void)
{
	int                fd = dial_tcp(f.port, 8192);
	struct http_result r;

	cr_assert(http_say(fd, "GET /big HTTP/1.1\r\nHost: a\r\n\r\n"));
	r = http_hear_head(fd);
	cr_assert_eq(r.status, 200);
	http_result_free(&r);
	return fd;
}

Test(http_transfer, a_reader_that_takes_little_at_a_time_goes_on)
{
	start();
	int fd = begin_narrow_download();

	for (int i = 0; i < 4; i++) {
		real_sleep_ms(20); /* what the buffers take is not what he reads; let them fill */
		read_bytes(fd, 5 * 1024 * WINDOW_MS / 1000);
		http_fixture_advance(&f, WINDOW_MS);
	}
	read_bytes(fd, 1000000);
	cr_expect_eq(metric_get(M_HTTP_TRANSFERS_SLOW), 0);
	close(fd);
	await(&freed, 1);
}

Test(http_transfer, a_reader_that_takes_nothing_ends)
{
	start();
	int fd = begin_narrow_download();

	for (int i = 0; i < 4 && metric_get(M_HTTP_TRANSFERS_SLOW) == 0; i++) {
		real_sleep_ms(20);
		http_fixture_advance(&f, WINDOW_MS);
	}
	cr_expect_eq(metric_get(M_HTTP_TRANSFERS_SLOW), 1);
	await(&freed, 1);
	await_transfers(0);
	close(fd);
}

/* --- What is not slow --- */

static void *let_go(void *arg)
{
	(void)arg;
	while (at_gate == 0)
		real_sleep_ms(1);
	for (int i = 0; i < 5; i++)
		http_fixture_advance(&f, WINDOW_MS);
	pthread_mutex_unlock(&gate);
	return NULL;
}

static void expect_patience(const char *where)
{
	char request[200];

	start();
	pthread_mutex_lock(&gate);
	snprintf(request, sizeof(request), "PUT /up?wait=%s HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
	         where);
	int fd = ask("127.0.0.2", request);
	let_go(NULL);
	struct http_result r = http_hear(fd);
	cr_expect_eq(r.status, 201, "%s", where);
	http_result_free(&r);
	cr_expect_eq(metric_get(M_HTTP_TRANSFERS_SLOW), 0);
	close(fd);
}

Test(http_transfer, a_store_that_is_slow_in_begin_is_not_the_clients_fault)
{
	expect_patience("begin");
}

Test(http_transfer, a_disk_that_is_slow_in_data_is_not_the_clients_fault)
{
	expect_patience("data");
}

Test(http_transfer, a_store_that_is_slow_in_end_is_not_the_clients_fault)
{
	expect_patience("end");
}

Test(http_transfer, the_deadline_of_requests_is_not_for_transfers)
{
	f.conf.limits.http_request_ms = 1000;
	start();
	int up   = begin_upload("127.0.0.2", UPLOAD);
	int down = begin_download("127.0.0.2");

	http_fixture_advance(&f, WINDOW_MS / 2);
	send_bytes(up, 1000000);
	struct http_result r = http_hear(up);
	cr_expect_eq(r.status, 201);
	http_result_free(&r);
	read_bytes(down, (size_t)BIG);
	cr_expect_eq(metric_get(M_HTTP_REFUSED_LATE), 0);
	close(up);
	close(down);
}

/* --- Slots --- */

Test(http_transfer, no_transfer_is_pushed_out)
{
	f.conf.limits.http_connections = 2;
	start();
	int up   = begin_upload("127.0.0.2", UPLOAD);
	int down = begin_download("127.0.0.2");

	for (int i = 0; i < 3; i++) {
		int late = http_fixture_dial(&f, "127.0.0.3");

		cr_expect(http_is_closed(late), "the newcomer goes");
		close(late);
	}
	send_bytes(up, 1000000);
	struct http_result r = http_hear(up);
	cr_expect_eq(r.status, 201);
	http_result_free(&r);
	read_bytes(down, 1000000);
	close(up);
	close(down);
}
