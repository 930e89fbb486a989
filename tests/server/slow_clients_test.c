/*
 * The HTTP front among slow clients: each has his time and no more, and those who fill it make room for others. The whole
 * server.
 */
#include "base/auto.h"
#include "support/dial.h"
#include "support/http_fixture.h"
#include "support/https_client.h"
#include "support/lobby_client.h"
#include "support/server.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct server *s;

/* Besides the one that asks for the figure. */
static void await_connections(int count)
{
	server_await_metric(s, "coopd_http_connections", NULL, count + 1, DIAL_PATIENCE_MS);
}

static void stop(void)
{
	server_finish(s);
}

TestSuite(slow_clients, .fini = stop, .timeout = 180);

static void start_with_certificate(void)
{
	char cert[SERVER_PATH_BYTES + 16], key[SERVER_PATH_BYTES + 16], set[SERVER_SET_BYTES];

	s = server_prepare(NULL);
	snprintf(cert, sizeof(cert), "%s/cert.pem", s->root);
	snprintf(key, sizeof(key), "%s/key.pem", s->root);
	tls_make_cert(cert, key, "slow");
	snprintf(set, sizeof(set), "tls.cert=%s", cert);
	server_set(s, set);
	snprintf(set, sizeof(set), "tls.key=%s", key);
	server_set(s, set);
	server_launch(s);
	server_await_ready(s);
}

/* --- One byte a second --- */

struct dripper {
	const char *what;
	const char *at_once; /* before the dripping begins */
	const char *drips;
	bool        is_tls;
	int         fd;
};

static struct dripper drippers[] = {
	{ .what = "nothing at all", .at_once = "", .drips = "" },
	{ .what = "a first line", .at_once = "", .drips = "GET /healthz HTTP/1.1" },
	{ .what = "a head", .at_once = "GET /healthz HTTP/1.1\r\nHost: a\r\nX: ", .drips = "abcdefghijklmnopqrst" },
	{ .what    = "a body",
	  .at_once = "POST /v1/join HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n",
	  .drips   = "{                       " },
	{ .what    = "a handshake",
	  .at_once = "",
	  .drips   = "\x16\x03\x01\x02\x10\x01\x10\x01\xfc\x03\x03\x01\x02\x03\x04\x05\x06\x07\x08\x09",
	  .is_tls  = true },
	{ .what = "no handshake", .at_once = "", .drips = "", .is_tls = true },
};

static void drip(size_t second)
{
	server_advance(s, 1000);
	for (size_t i = 0; i < COUNT_OF(drippers); i++) {
		const struct dripper *d = &drippers[i];

		if (second < strlen(d->drips))
			send(d->fd, d->drips + second, 1, MSG_NOSIGNAL);
	}
	real_sleep_ms(20);
}

Test(slow_clients, a_byte_a_second_is_cut_off_after_fifteen_seconds_in_all)
{
	int64_t began_ms;
	size_t  second;

	start_with_certificate();
	began_ms = real_now_ms();
	for (size_t i = 0; i < COUNT_OF(drippers); i++) {
		struct dripper *d = &drippers[i];

		d->fd = http_fixture_dial_port(d->is_tls ? s->https_port : s->http_port, "127.0.1.1");
		cr_assert(http_say(d->fd, d->at_once));
	}
	await_connections(COUNT_OF(drippers));
	for (second = 0; second < 12; second++)
		drip(second);
	if (real_now_ms() - began_ms < 2500) /* the machine's own time counts too */
		await_connections(COUNT_OF(drippers));
	for (; second < 16; second++)
		drip(second);
	for (size_t i = 0; i < COUNT_OF(drippers); i++) {
		cr_expect(http_is_closed(drippers[i].fd), "%s", drippers[i].what);
		close(drippers[i].fd);
	}
	await_connections(0);
	cr_expect_eq((int)server_metric(s, "coopd_http_refused_total", "late"), (int)COUNT_OF(drippers));
	server_await_metric(s, "coopd_http_tls_failed_total", NULL, 2, DIAL_PATIENCE_MS);
}

/* --- Who fills the server --- */

#define SLOW_ADDRESSES   16
#define SLOW_PER_ADDRESS 16
#define SLOW             (SLOW_ADDRESSES * SLOW_PER_ADDRESS)
#define ASKS             40
#define SERVED_MS_MAX    10000 /* 2 s are asked for on a quiet machine */

static atomic_bool slow_must_end;
static _Atomic int slow_connects;

/* A half head, or half a handshake, from one of the addresses; plain and TLS in turn. */
static int slow_open(int i)
{
	char from[32];
	bool tls = i % 2;

	snprintf(from, sizeof(from), "127.0.1.%d", 1 + i / SLOW_PER_ADDRESS);
	int fd = http_fixture_dial_port(tls ? s->https_port : s->http_port, from);

	send(fd, tls ? "\x16\x03\x01" : "GET /healthz HTTP/1.1\r\nX: ", tls ? 3 : 26, MSG_NOSIGNAL);
	slow_connects++;
	return fd;
}

/* Each sends a byte now and then, and comes back the moment it is cut off. */
static void *be_slow(void *arg)
{
	int fds[SLOW];

	(void)arg;
	for (int i = 0; i < SLOW; i++)
		fds[i] = slow_open(i);
	for (int round = 0; !slow_must_end; round++) {
		for (int i = 0; i < SLOW; i++) {
			char byte;

			if (recv(fds[i], &byte, 1, MSG_DONTWAIT) != 0 &&
			    (round % 100 || send(fds[i], "x", 1, MSG_NOSIGNAL) == 1))
				continue;
			close(fds[i]);
			fds[i] = slow_open(i);
		}
		real_sleep_ms(1);
	}
	for (int i = 0; i < SLOW; i++)
		close(fds[i]);
	return NULL;
}

/* How long one request of somebody else takes. */
static int ask(bool tls)
{
	int64_t began_ms = real_now_ms();

	if (tls) {
		struct tls_client c = https_open(s->https_port, "127.0.2.1");

		cr_expect_eq(https_get(&c, "/healthz"), 200);
		tls_client_close(&c);
	} else {
		int fd = http_fixture_dial_port(s->http_port, "127.0.2.1");

		cr_assert(http_say(fd, "GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"));
		struct http_result r = http_hear(fd);

		cr_expect_eq(r.status, 200);
		http_result_free(&r);
		close(fd);
	}
	return (int)(real_now_ms() - began_ms);
}

Test(slow_clients, a_crowd_that_comes_back_without_end_keeps_nobody_out)
{
	pthread_t thread;
	int       slowest[2] = { 0 };

	start_with_certificate();
	cr_assert_eq(pthread_create(&thread, NULL, be_slow, NULL), 0);
	for (int64_t until = real_now_ms() + DIAL_PATIENCE_MS; slow_connects < SLOW && real_now_ms() < until;)
		real_sleep_ms(5);
	cr_assert_geq(slow_connects, SLOW);
	for (int i = 0; i < ASKS; i++) {
		int ms = ask(i % 2);

		if (ms > slowest[i % 2])
			slowest[i % 2] = ms;
		real_sleep_ms(10);
	}
	slow_must_end = true;
	pthread_join(thread, NULL);
	fprintf(stderr, "slow_clients: served within %d ms (TLS %d ms) among %d slow ones, who connected %d times\n",
	        slowest[0], slowest[1], SLOW, (int)slow_connects);
	cr_expect_lt(slowest[0], SERVED_MS_MAX);
	cr_expect_lt(slowest[1], SERVED_MS_MAX);
	cr_expect_gt(slow_connects, SLOW, "some had to make room");
	await_connections(0);
}

/* --- Proxies --- */

static bool is_served(int fd)
{
	cr_assert(http_say(fd, "GET /healthz HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n"));
	struct http_result r  = http_hear(fd);
	bool               is = r.status == 200;

	http_result_free(&r);
	return is;
}

Test(slow_clients, a_trusted_proxy_has_as_many_connections_as_it_wants_and_others_sixteen)
{
	enum { MANY = 60, MOST = 16 };
	int proxied[MANY], own[MOST + 1];

	s = server_start(NULL);
	for (int i = 0; i < MANY; i++)
		proxied[i] = http_fixture_dial_port(s->http_port, "127.0.0.1");
	await_connections(MANY);
	for (int i = 0; i < MANY; i++)
		cr_expect(is_served(proxied[i]), "%d", i);
	for (int i = 0; i < MOST; i++)
		own[i] = http_fixture_dial_port(s->http_port, "127.0.1.1");
	await_connections(MANY + MOST);
	cr_expect_eq((int)server_metric(s, "coopd_http_refused_total", "address"), 0);
	own[MOST] = http_fixture_dial_port(s->http_port, "127.0.1.1");
	cr_expect(http_is_closed(own[0]), "his oldest makes room");
	cr_expect_eq((int)server_metric(s, "coopd_http_refused_total", "address"), 1);
	cr_expect(is_served(own[MOST]));
	for (int i = 0; i < MANY; i++) {
		cr_expect(is_served(proxied[i]), "%d", i);
		close(proxied[i]);
	}
	for (int i = 0; i <= MOST; i++)
		close(own[i]);
}

/* --- Who asks for a large list and does not read it --- */

#define LOBBIES       900
#define READ_BYTES    4096 /* of a receive buffer: less than any list */
#define UNREAD_MS_MAX 10000
#define ONE_CLIENT    300

/* Enough lobbies for a list that no buffers between the server and a client take: from as many addresses as it needs. */
static void fill_list(struct master_host *beating)
{
	struct master_host h;
	char               from[32], body[1024];

	master_open(beating, s, "192.0.2.7", J("'name':'beats'"));
	snprintf(body, sizeof(body),
	         "\"name\":\"%060d\",\"world\":\"%036d\",\"build_sha\":\"%064d\",\"build_sig\":\"%0128d\","
	         "\"build_key\":1",
	         0, 0, 0, 0);
	for (int i = 0; i < LOBBIES; i++) {
		snprintf(from, sizeof(from), "198.18.%d.%d", i / 8 / 250, 1 + i / 8 % 250);
		master_open(&h, s, from, body);
	}
}

/* Asks for the list and will not read it. via_proxy: named by the proxy; otherwise its own address. */
static int ask_unread(const char *client, bool via_proxy)
{
	char request[160];
	int  few = READ_BYTES;
	int  fd  = http_fixture_socket(via_proxy ? "127.0.0.1" : client);

	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &few, sizeof(few));
	http_fixture_connect(fd, s->http_port);
	snprintf(request, sizeof(request), "GET /v1/lobbies HTTP/1.1\r\nHost: a\r\n%s%s\r\n\r\n",
	         via_proxy ? "X-Forwarded-For: " : "X-Own: ", client);
	send(fd, request, strlen(request), MSG_NOSIGNAL);
	return fd;
}

static int half_post(const char *client)
{
	char request[200];
	int  fd = http_fixture_dial_port(s->http_port, "127.0.0.1");

	snprintf(request, sizeof(request),
	         "POST /v1/join HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: %s\r\nContent-Length: 2\r\n\r\n{", client);
	send(fd, request, strlen(request), MSG_NOSIGNAL);
	return fd;
}

static void close_all(const int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		close(fds[i]);
}

Test(slow_clients, one_client_behind_a_proxy_who_reads_nothing_blocks_nobody)
{
	struct master_host beating;
	int                fds[ONE_CLIENT];

	s = server_start(NULL);
	fill_list(&beating);
	real_sleep_ms(1200); /* the list is made anew once a second */
	for (int i = 0; i < ONE_CLIENT; i++)
		fds[i] = ask_unread("203.0.113.66", true);
	await_connections(16);
	for (int i = 0; i < 5; i++)
		cr_expect_eq(master_beat(&beating, s, ""), 200);
	cr_expect_geq((int)server_metric(s, "coopd_http_refused_total", "address"), ONE_CLIENT - 16);
	cr_expect_eq((int)server_metric(s, "coopd_http_refused_total", "total"), 0);
	close_all(fds, ONE_CLIENT);
}

Test(slow_clients, half_posts_of_one_client_behind_a_proxy_cut_nobody_elses)
{
	int fds[ONE_CLIENT];
	int other;

	s     = server_start(NULL);
	other = half_post("203.0.113.7"); /* the oldest of all */
	await_connections(1);
	for (int i = 0; i < ONE_CLIENT; i++)
		fds[i] = half_post("203.0.113.66");
	for (int64_t until = real_now_ms() + DIAL_PATIENCE_MS;
	     server_metric(s, "coopd_http_refused_total", "address") < ONE_CLIENT - 16 && real_now_ms() < until;)
		real_sleep_ms(10);
	cr_expect_eq((int)server_metric(s, "coopd_http_refused_total", "address"), ONE_CLIENT - 16);
	cr_assert(http_say(other, "}"));
	struct http_result r = http_hear(other);

	cr_expect_eq(r.status, 400, "a join without a lobby, which is answered");
	http_result_free(&r);
	close(other);
	close_all(fds, ONE_CLIENT);
}

/* They stay, come again before they may be pushed out, or after; a second is the limit. */
static const int64_t stays_ms[] = { 60000, 700, 1300 };

#define UNREAD_PER_ADDRESS 18 /* two more than one may have, so that a slot that comes free is theirs */
#define UNREAD             (SLOW_ADDRESSES * UNREAD_PER_ADDRESS)

static bool is_refused(int fd)
{
	char    byte;
	ssize_t n = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

	return n == 0 || (n < 0 && errno != EAGAIN);
}

static void *read_nothing(void *arg)
{
	const int64_t *stay_ms = arg;
	int            fds[UNREAD];
	int64_t        since_ms[UNREAD] = { 0 };
	char           from[32];

	memset(fds, -1, sizeof(fds));
	while (!slow_must_end) {
		for (int i = 0; i < UNREAD; i++) {
			/* What is unread hides a later end; one who is refused at once sees it and comes again. */
			if (fds[i] >= 0 && real_now_ms() - since_ms[i] < *stay_ms && !is_refused(fds[i]))
				continue;
			if (fds[i] >= 0)
				close(fds[i]);
			snprintf(from, sizeof(from), "127.0.1.%d", 1 + i / UNREAD_PER_ADDRESS);
			fds[i]      = ask_unread(from, false);
			since_ms[i] = real_now_ms();
			slow_connects++;
		}
		real_sleep_ms(5);
	}
	close_all(fds, UNREAD);
	return NULL;
}

/* How long somebody else takes who comes again when he is sent away. */
static int ask_until_served(void)
{
	int64_t began_ms = real_now_ms();
	bool    served   = false;

	while (!served && real_now_ms() - began_ms < UNREAD_MS_MAX) {
		int fd = http_fixture_dial_port(s->http_port, "127.0.2.1");

		http_say(fd, "GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
		struct http_result r = http_hear(fd);

		served = r.status == 200;
		http_result_free(&r);
		close(fd);
		if (!served)
			real_sleep_ms(100);
	}
	return (int)(real_now_ms() - began_ms);
}

/* The slowest of some requests of somebody else, while sixteen addresses stay so long each time. */
static int ask_among(const int64_t *stay_ms)
{
	pthread_t thread;
	int       slowest = 0;

	slow_must_end = false;
	slow_connects = 0;
	cr_assert_eq(pthread_create(&thread, NULL, read_nothing, (void *)(uintptr_t)stay_ms), 0);
	for (int64_t until = real_now_ms() + DIAL_PATIENCE_MS; slow_connects < UNREAD && real_now_ms() < until;)
		real_sleep_ms(5);
	real_sleep_ms(300); /* until all of them are being answered */
	for (int i = 0; i < 12; i++) {
		int ms = ask_until_served();

		slowest = ms > slowest ? ms : slowest;
		real_sleep_ms(120);
	}
	slow_must_end = true;
	pthread_join(thread, NULL);
	fprintf(stderr,
	        "slow_clients: served within %d ms among %d who read nothing, %d ms each, and connected %d times\n",
	        slowest, SLOW, (int)*stay_ms, (int)slow_connects);
	return slowest;
}

Test(slow_clients, sixteen_addresses_that_read_nothing_keep_nobody_out)
{
	struct master_host beating;

	s = server_start(NULL);
	fill_list(&beating);
	real_sleep_ms(1200);
	for (size_t i = 0; i < COUNT_OF(stays_ms); i++) {
		cr_expect_lt(ask_among(&stays_ms[i]), UNREAD_MS_MAX, "%d ms", (int)stays_ms[i]);
		await_connections(0);
	}
}
