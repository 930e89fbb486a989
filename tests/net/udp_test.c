/*
 * UDP sockets: what comes is handed on, what is answered leaves together, and nobody has to wait for a flood.
 */
#include "net/udp.h"

#include "base/auto.h"
#include "base/metric.h"
#include "net/listen.h"
#include "support/dial.h"
#include "support/loop_thread.h"
#include "support/tcp_fixture.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BATCH 64 /* of one call; what the answers to it need not exceed */
#define TURN  512

/*
 * The part. It sends back what comes, unless a datagram begins with one of these:
 *
 *	'N'	nothing happens
 *	'B'	what is behind it leaves from the second socket
 *	'2'	what is behind it comes back twice
 *	'S'	the sockets are stopped
 *	'Z'	it comes back longer than any datagram can be
 *	'0'	it goes to port 0, where nothing can go
 *	'!'	it goes to everybody, which is not allowed
 */
static struct {
	struct loop_thread on;
	struct udp        *udp;
	struct udp_socket *sockets[2];
	int                ports[2];
	struct udp_path    last; /* where the last one came from */
	uint8_t           *last_bytes;
	bool               only_echoes; /* however they begin */
	size_t             got_before;
	_Atomic size_t     got, got_at_once, got_by_second, got_when_second_came, bytes;
	_Atomic size_t     calls; /* of sendmmsg */
	_Atomic int        fails; /* the next calls of it, with this error */
	_Atomic size_t     fail_count;
} f;

/* In place of the C library's, for net/udp alone. */
int sendmmsg(int fd, struct mmsghdr *messages, unsigned vlen, int flags)
{
	f.calls++;
	if (f.fail_count > 0) {
		f.fail_count--;
		errno = f.fails;
		return -1;
	}
	return (int)syscall(SYS_sendmmsg, fd, messages, vlen, flags);
}

static void answer_specially(struct udp_datagram *d)
{
	struct udp_path to = d->path;

	if (d->bytes[0] == 'B') {
		to.socket = f.sockets[1];
		udp_send(&to, d->bytes + 1, d->len - 1);
	} else if (d->bytes[0] == '2') {
		udp_send(&to, d->bytes + 1, d->len - 1);
		udp_send(&to, d->bytes + 1, d->len - 1);
	} else if (d->bytes[0] == 'S') {
		udp_stop(f.udp);
	} else if (d->bytes[0] == 'Z') {
		udp_send(&to, d->bytes, UDP_DATAGRAM_BYTES_MAX + 1);
	} else if (d->bytes[0] == '0') {
		to.port = 0;
		udp_send(&to, d->bytes, d->len);
	} else if (d->bytes[0] == '!') {
		memset(to.ip, 255, sizeof(to.ip));
		udp_send(&to, d->bytes, d->len);
	}
}

static void on_datagram(void *part, struct udp_datagram *d, int64_t now_ms)
{
	cr_assert_eq(part, &f);
	cr_assert_gt(now_ms, 0);
	cr_assert_geq(d->cap, UDP_DATAGRAM_BYTES_MAX);
	f.got++;
	f.bytes += d->len;
	f.last       = d->path;
	f.last_bytes = d->bytes;
	if (d->path.socket == f.sockets[1] && f.got_by_second++ == 0)
		f.got_when_second_came = f.got;
	if (!f.only_echoes && d->len > 0 && memchr("NB2SZ0!", d->bytes[0], 7))
		answer_specially(d);
	else
		udp_send(&d->path, d->bytes, d->len);
}

static const struct udp_handler handler = { .part = &f, .got = on_datagram };

static void count_turn(struct loop_flush *flush)
{
	(void)flush;
	if (f.got - f.got_before > f.got_at_once)
		f.got_at_once = f.got - f.got_before;
	f.got_before = f.got;
}

static void listen_at(size_t number, const char *text)
{
	struct addr bound;
	int         fd;

	cr_assert_eq(listen_udp(&fd, &bound, text, 0, stderr), ERR_OK);
	cr_assert_eq(udp_listen(&f.sockets[number], f.udp, fd, &bound, &handler), ERR_OK);
	cr_expect_eq(udp_socket_addr(f.sockets[number])->port, bound.port);
	f.ports[number] = bound.port;
}

static void prepare(void)
{
	static struct loop_flush flush = { .run = count_turn };

	memset(&f, 0, sizeof(f));
	loop_thread_init(&f.on);
	loop_add_flush(f.on.loop, &flush);
	cr_assert_eq(udp_new(&f.udp, f.on.loop), ERR_OK);
}

/* On these addresses, of which the second may be NULL. */
static void start_at(const char *first, const char *second)
{
	listen_at(0, first);
	if (second)
		listen_at(1, second);
	loop_thread_start(&f.on);
}

static void start(void)
{
	start_at("127.0.0.1:0", NULL);
}

static void end(void *loop)
{
	loop_stop(loop);
}

static void finish(void)
{
	if (f.on.runs)
		loop_thread_do(&f.on, end, f.on.loop);
	loop_thread_join(&f.on);
	udp_free(f.udp);
	loop_thread_fini(&f.on);
}

TestSuite(udp, .init = prepare, .fini = finish, .timeout = 120);

static struct sockaddr_in at(const char *ip, int port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };

	cr_assert_eq(inet_pton(AF_INET, ip, &a.sin_addr), 1);
	return a;
}

/* A socket of a client, which hears only who it talks to. ip: of the server. */
static int client_of(const char *ip, int port)
{
	struct sockaddr_in to = at(ip, port);
	int                fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	cr_assert_geq(fd, 0);
	cr_assert_eq(connect(fd, (const struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

static int client(void)
{
	return client_of("127.0.0.1", f.ports[0]);
}

static void say(int fd, const void *bytes, size_t len)
{
	cr_assert_eq(send(fd, bytes, len, 0), (ssize_t)len);
}

static void hear(int fd, const void *bytes, size_t len)
{
	static uint8_t got[UDP_DATAGRAM_BYTES_MAX + 1];

	cr_assert_eq(dial_read(fd, got, sizeof(got), real_now_ms() + DIAL_PATIENCE_MS), (ssize_t)len);
	cr_assert(len == 0 || memcmp(got, bytes, len) == 0);
}

/* The server's descriptor of its first socket. */
static int udp_fd(void)
{
	for (int fd = 3; fd < 1024; fd++) {
		struct sockaddr_in a   = { 0 };
		socklen_t          len = sizeof(a);

		if (getsockname(fd, (struct sockaddr *)&a, &len) == 0 && a.sin_family == AF_INET &&
		    ntohs(a.sin_port) == f.ports[0])
			return fd;
	}
	cr_assert(false, "it has none");
	return -1;
}

/* All that was sent before has been looked at: the loop takes one socket's datagrams in the order in which they came. */
static void hear_the_last(int fd)
{
	say(fd, "last", 4);
	hear(fd, "last", 4);
}

static void say_while_it_looks_away(int fd, const char *text, size_t count)
{
	pthread_t blocker = loop_thread_look_away(&f.on);

	for (size_t i = 0; i < count; i++)
		say(fd, text, strlen(text));
	pthread_join(blocker, NULL);
}

Test(udp, an_answer_goes_back_to_who_asked)
{
	start();
	int a = client(), b = client();

	say(a, "from a", 6);
	say(b, "from b", 6);
	hear(a, "from a", 6);
	hear(b, "from b", 6);
	close(a);
	close(b);
}

Test(udp, every_length_comes_whole)
{
	static const size_t lens[] = { 0, 1, 255, 4096, 5000, UDP_DATAGRAM_BYTES_MAX - 1, UDP_DATAGRAM_BYTES_MAX };
	static uint8_t      bytes[UDP_DATAGRAM_BYTES_MAX];

	start();
	int fd = client();

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i % 251 + 1);
	for (size_t round = 0; round < COUNT_OF(lens); round++) { /* so that a short one lies where a long one lay */
		pthread_t blocker = loop_thread_look_away(&f.on);

		for (size_t i = 0; i < COUNT_OF(lens); i++)
			say(fd, bytes, lens[(i + round) % COUNT_OF(lens)]);
		pthread_join(blocker, NULL);
		for (size_t i = 0; i < COUNT_OF(lens); i++)
			hear(fd, bytes, lens[(i + round) % COUNT_OF(lens)]);
	}
	close(fd);
}

Test(udp, many_come_in_order)
{
	uint16_t numbers[3 * BATCH + 1];

	f.only_echoes = true;
	start();
	int fd = client();

	pthread_t blocker = loop_thread_look_away(&f.on);
	for (size_t i = 0; i < COUNT_OF(numbers); i++) {
		numbers[i] = (uint16_t)i;
		say(fd, &numbers[i], 2);
	}
	pthread_join(blocker, NULL);
	for (size_t i = 0; i < COUNT_OF(numbers); i++)
		hear(fd, &numbers[i], 2);
	close(fd);
}

Test(udp, the_last_of_a_batch_may_be_the_longest)
{
	static uint8_t bytes[UDP_DATAGRAM_BYTES_MAX];

	memset(bytes, 'x', sizeof(bytes));
	start();
	int fd = client();

	pthread_t blocker = loop_thread_look_away(&f.on);
	for (size_t i = 1; i < BATCH; i++)
		say(fd, "N", 1);
	say(fd, bytes, sizeof(bytes));
	pthread_join(blocker, NULL);
	hear(fd, bytes, sizeof(bytes));
	close(fd);
}

Test(udp, a_short_datagram_takes_one_page)
{
	unsigned char resident[16] = { 0 };
	size_t        page         = (size_t)sysconf(_SC_PAGESIZE);

	start();
	int fd = client();

	for (size_t i = 0; i < 10 * TURN; i++)
		hear_the_last(fd);
	uint8_t *from = f.last_bytes - (uintptr_t)f.last_bytes % page;
	cr_assert_eq(mincore(from, COUNT_OF(resident) * page, resident), 0);
	cr_expect(resident[0] & 1);
	for (size_t i = 1; i < COUNT_OF(resident); i++)
		cr_expect_not(resident[i] & 1, "page %zu", i);
	close(fd);
}

/* One turn */

static void nothing(void *arg)
{
	(void)arg;
}

/* The second call finds a turn that began after the first. */
static void let_the_turn_end(void)
{
	loop_thread_do(&f.on, nothing, NULL);
	loop_thread_do(&f.on, nothing, NULL);
}

static void expect_at_once(size_t sent, size_t at_once)
{
	start();
	int fd = client();

	say_while_it_looks_away(fd, "N", sent);
	tcp_fixture_await(&f.got, sent);
	let_the_turn_end();
	cr_expect_eq(f.got_at_once, at_once, "%zu", (size_t)f.got_at_once);
	close(fd);
}

Test(udp, one_turn_takes_512_of_a_socket)
{
	expect_at_once(TURN, TURN);
}

Test(udp, the_513th_waits_for_the_next_turn)
{
	expect_at_once(TURN + 1, TURN);
}

Test(udp, a_turn_takes_about_a_mebibyte_of_long_ones)
{
	enum { LEN = 16384, MANY = BATCH + 16 };
	static uint8_t bytes[LEN] = { 'N' };
	int            room       = 0;
	socklen_t      len        = sizeof(room);

	start();
	int fd = client();

	cr_assert_eq(getsockopt(udp_fd(), SOL_SOCKET, SO_RCVBUF, &room, &len), 0);
	if (room < MANY * 3 * LEN)
		cr_skip_test("the system has no room for so many of them");
	pthread_t blocker = loop_thread_look_away(&f.on);
	for (size_t i = 0; i < MANY; i++)
		say(fd, bytes, sizeof(bytes));
	pthread_join(blocker, NULL);
	tcp_fixture_await(&f.got, MANY);
	let_the_turn_end();
	cr_expect_eq(f.got_at_once, BATCH);
	close(fd);
}

Test(udp, a_flood_at_one_socket_does_not_keep_another_waiting)
{
	start_at("127.0.0.1:0", "127.0.0.1:0");
	int flood = client(), other = client_of("127.0.0.1", f.ports[1]);

	pthread_t blocker = loop_thread_look_away(&f.on);
	for (size_t i = 0; i < 3 * TURN; i++)
		say(flood, "N", 1);
	say(other, "hello", 5);
	pthread_join(blocker, NULL);
	hear(other, "hello", 5);
	cr_expect_leq(f.got_when_second_came, TURN + 1);
	close(flood);
	close(other);
}

/* What is sent */

Test(udp, the_answers_to_a_batch_leave_in_one_call)
{
	start();
	int fd = client();

	say_while_it_looks_away(fd, "?", BATCH);
	for (size_t i = 0; i < BATCH; i++)
		hear(fd, "?", 1);
	let_the_turn_end();
	cr_expect_eq(f.calls, 1);
	close(fd);
}

Test(udp, more_than_one_call_takes_leaves_in_two)
{
	start();
	int fd = client();

	say_while_it_looks_away(fd, "?", BATCH + 1);
	for (size_t i = 0; i < BATCH + 1; i++)
		hear(fd, "?", 1);
	let_the_turn_end();
	cr_expect_eq(f.calls, 2);
	close(fd);
}

Test(udp, more_answers_than_questions_all_leave)
{
	start();
	int fd = client();

	say_while_it_looks_away(fd, "2twice", BATCH);
	for (size_t i = 0; i < 2 * BATCH; i++)
		hear(fd, "twice", 5);
	let_the_turn_end();
	cr_expect_eq(f.calls, 2);
	cr_expect_eq(metric_get(M_UDP_DROPPED), 0);
	close(fd);
}

Test(udp, an_answer_may_leave_from_another_socket)
{
	struct sockaddr_in from;
	socklen_t          len = sizeof(from);
	char               got[8];

	start_at("127.0.0.1:0", "127.0.0.2:0");
	int fd = client();
	int me = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	close(fd);
	struct sockaddr_in to      = at("127.0.0.1", f.ports[0]);
	pthread_t          blocker = loop_thread_look_away(&f.on);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(sendto(me, "Bother", 6, 0, (const struct sockaddr *)&to, sizeof(to)), 6);
	pthread_join(blocker, NULL);
	for (int i = 0; i < 3; i++) {
		cr_assert_eq(recvfrom(me, got, sizeof(got), 0, (struct sockaddr *)&from, &len), 5);
		cr_expect_eq(from.sin_addr.s_addr, at("127.0.0.2", 0).sin_addr.s_addr);
		cr_expect_eq(ntohs(from.sin_port), f.ports[1]);
	}
	let_the_turn_end();
	cr_expect_eq(f.calls, 1, "of that socket, and none of the other");
	close(me);
}

static void send_two(void *arg)
{
	size_t before = f.calls;

	(void)arg;
	udp_send(&f.last, "one", 3);
	cr_expect_eq(f.calls, before + 1);
	udp_send(&f.last, "two", 3);
	cr_expect_eq(f.calls, before + 2);
}

static void send_to(void *path)
{
	udp_send(path, "here", 4);
}

Test(udp, what_is_sent_from_elsewhere_leaves_at_once)
{
	start();
	int fd = client();

	hear_the_last(fd);
	loop_thread_do(&f.on, send_two, NULL);
	hear(fd, "one", 3);
	hear(fd, "two", 3);
	close(fd);
}

/* Addresses of ours */

Test(udp, on_every_address_the_answer_comes_from_the_one_that_was_asked)
{
	static const char *const ips[] = { "127.0.0.1", "127.0.0.2", "127.1.2.3" };

	start_at("0.0.0.0:0", NULL);
	for (size_t i = 0; i < COUNT_OF(ips); i++) {
		int fd = client_of(ips[i], f.ports[0]);

		hear_the_last(fd); /* which it would not, from another address */
		cr_expect_eq(memcmp(f.last.local_ip, &(struct in_addr){ at(ips[i], 0).sin_addr.s_addr }, 4), 0);
		loop_thread_do(&f.on, send_two, NULL);
		hear(fd, "one", 3);
		hear(fd, "two", 3);
		close(fd);
	}
}

Test(udp, on_every_address_a_way_without_one_of_ours_is_left_to_the_system)
{
	struct sockaddr_in me  = at("127.0.0.1", 0), to, from;
	socklen_t          len = sizeof(me);
	char               got[8];
	int                fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	start_at("0.0.0.0:0", NULL);
	to = at("127.0.0.2", f.ports[0]);
	cr_assert_eq(bind(fd, (const struct sockaddr *)&me, sizeof(me)), 0);
	cr_assert_eq(sendto(fd, "?", 1, 0, (const struct sockaddr *)&to, sizeof(to)), 1);
	cr_assert_eq(recvfrom(fd, got, sizeof(got), 0, (struct sockaddr *)&from, &len), 1);
	cr_expect_eq(from.sin_addr.s_addr, to.sin_addr.s_addr);

	struct udp_path path = f.last;
	memset(path.local_ip, 0, sizeof(path.local_ip));
	loop_thread_do(&f.on, send_to, &path);
	cr_assert_eq(recvfrom(fd, got, sizeof(got), 0, (struct sockaddr *)&from, &len), 4);
	cr_expect_eq(from.sin_addr.s_addr, me.sin_addr.s_addr, "as the system does to a loopback address");
	close(fd);
}

Test(udp, on_every_address_one_batch_may_be_for_several)
{
	int fds[BATCH];

	f.only_echoes = true;
	start_at("0.0.0.0:0", NULL);
	for (int i = 0; i < BATCH; i++) {
		char ip[20];

		snprintf(ip, sizeof(ip), "127.0.0.%u", (unsigned)(i + 1) % 256);
		fds[i] = client_of(ip, f.ports[0]);
	}
	pthread_t blocker = loop_thread_look_away(&f.on);
	for (int i = 0; i < BATCH; i++)
		say(fds[i], &fds[i], sizeof(fds[i]));
	pthread_join(blocker, NULL);
	for (int i = 0; i < BATCH; i++) {
		hear(fds[i], &fds[i], sizeof(fds[i]));
		close(fds[i]);
	}
	let_the_turn_end();
	cr_expect_eq(f.calls, 1);
}

Test(udp, a_socket_with_an_address_beside_one_with_all_of_them)
{
	static const uint8_t none[4];

	start_at("127.0.0.2:0", "0.0.0.0:0");
	int one = client_of("127.0.0.2", f.ports[0]), all = client_of("127.0.0.2", f.ports[1]);

	for (int i = 0; i < 3; i++) { /* each uses what the other used */
		hear_the_last(one);
		cr_expect_eq(memcmp(f.last.local_ip, none, 4), 0);
		hear_the_last(all);
		cr_expect_neq(memcmp(f.last.local_ip, none, 4), 0);
	}
	close(one);
	close(all);
}

/* What the system does not take */

Test(udp, what_cannot_be_sent_is_counted_and_keeps_nothing_else_back)
{
	static const char *const said[] = { "a", "Z", "b", "0", "!", "!", "c", "Z" };

	start();
	int fd = client();

	pthread_t blocker = loop_thread_look_away(&f.on);
	for (size_t i = 0; i < COUNT_OF(said); i++)
		say(fd, said[i], 1);
	pthread_join(blocker, NULL);
	hear(fd, "a", 1);
	hear(fd, "b", 1);
	hear(fd, "c", 1);
	let_the_turn_end();
	cr_expect_eq(metric_get(M_UDP_DROPPED), 5);

	struct udp_path nowhere = f.last;
	nowhere.port            = 0;
	loop_thread_do(&f.on, send_to, &nowhere);
	cr_expect_eq(metric_get(M_UDP_DROPPED), 6);
	close(fd);
}

Test(udp, when_the_system_is_full_the_rest_of_a_batch_is_gone)
{
	start();
	int fd = client();

	f.fails      = EAGAIN;
	f.fail_count = 1;
	say_while_it_looks_away(fd, "lost", 10);
	tcp_fixture_await(&f.got, 10);
	hear_the_last(fd);
	cr_expect_eq(metric_get(M_UDP_DROPPED), 10);
	cr_expect_eq(f.calls, 2, "it is not asked for each of them");
	close(fd);
}

Test(udp, a_signal_loses_nothing)
{
	start();
	int fd = client();

	f.fails      = EINTR;
	f.fail_count = 2;
	hear_the_last(fd);
	cr_expect_eq(metric_get(M_UDP_DROPPED), 0);
	close(fd);
}

/* Who is not there any more */

Test(udp, a_peer_that_is_gone_is_not_noticed)
{
	start();
	int gone = client(), there = client();

	for (int i = 0; i < 3; i++) {
		hear_the_last(gone);
		hear_the_last(there);
	}
	hear_the_last(gone);
	close(gone);
	for (int i = 0; i < 3; i++)
		loop_thread_do(&f.on, send_two, NULL);
	hear_the_last(there);
	cr_expect_eq(metric_get(M_UDP_DROPPED), 0);
	close(there);
}

Test(udp, a_socket_with_an_error_is_received_from_all_the_same)
{
	struct sockaddr_in me  = at("127.0.0.1", 0);
	socklen_t          len = sizeof(me);

	/* One that is connected hears of a peer that is gone, which the others do not. */
	start();
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	cr_assert_eq(bind(fd, (const struct sockaddr *)&me, sizeof(me)), 0);
	cr_assert_eq(getsockname(fd, (struct sockaddr *)&me, &len), 0);
	cr_assert_eq(connect(udp_fd(), (const struct sockaddr *)&me, sizeof(me)), 0);
	struct sockaddr_in to = at("127.0.0.1", f.ports[0]);
	cr_assert_eq(connect(fd, (const struct sockaddr *)&to, sizeof(to)), 0);
	hear_the_last(fd);
	close(fd);
	loop_thread_do(&f.on, send_to, &f.last); /* of which the system says that nobody is there */
	let_the_turn_end();

	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	cr_assert_eq(bind(fd, (const struct sockaddr *)&me, sizeof(me)), 0);
	cr_assert_eq(connect(fd, (const struct sockaddr *)&to, sizeof(to)), 0);
	hear_the_last(fd);
	close(fd);
}

/* The end */

static void stop(void *arg)
{
	(void)arg;
	udp_stop(f.udp);
}

Test(udp, after_a_stop_nothing_is_received_and_all_can_be_sent)
{
	start_at("127.0.0.1:0", "127.0.0.1:0");
	int fd = client(), other = client_of("127.0.0.1", f.ports[1]);

	hear_the_last(other);
	hear_the_last(fd);
	loop_thread_do(&f.on, stop, NULL);
	say(fd, "unheard", 7);
	say(other, "unheard", 7);
	loop_thread_do(&f.on, send_two, NULL);
	hear(fd, "one", 3);
	hear(fd, "two", 3);
	let_the_turn_end();
	cr_expect_eq(f.got, 2);
	hear(udp_fd(), "unheard", 7); /* nor was it taken */
	close(fd);
	close(other);
}

Test(udp, a_stop_from_inside_is_the_last_that_is_heard)
{
	start();
	int fd = client();

	pthread_t blocker = loop_thread_look_away(&f.on);
	say(fd, "before", 6);
	say(fd, "S", 1);
	for (size_t i = 0; i < 2 * BATCH; i++)
		say(fd, "behind", 6);
	pthread_join(blocker, NULL);
	hear(fd, "before", 6);
	let_the_turn_end();
	cr_expect_eq(f.got, 2);
	close(fd);
}

Test(udp, what_is_no_socket_of_its_kind_is_refused_and_closed)
{
	struct udp_socket *s = NULL;
	struct addr        bound;
	int                fds[3];

	cr_assert_eq(addr_parse(&bound, "[::1]:80", 8, true), ERR_OK);
	fds[0] = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	cr_expect_eq(udp_listen(&s, f.udp, fds[0], &bound, &handler), ERR_IO);
	cr_assert_eq(addr_parse(&bound, "127.0.0.1:80", 12, true), ERR_OK);
	fds[1] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	cr_expect_eq(udp_listen(&s, f.udp, fds[1], &bound, &handler), ERR_IO);
	cr_assert_eq(addr_parse(&bound, "0.0.0.0:80", 10, true), ERR_OK);
	cr_assert_eq(pipe2(fds + 1, O_CLOEXEC), 0);
	cr_expect_eq(udp_listen(&s, f.udp, fds[1], &bound, &handler), ERR_IO);
	close(fds[2]);
	for (size_t i = 0; i < COUNT_OF(fds); i++)
		cr_expect_eq(fcntl(fds[i], F_GETFD), -1);
	cr_expect_null(s);
}
