/*
 * TCP connections, plain: bytes in, bytes out, and each way in which one ends.
 */
#include "net/tcp.h"

#include "base/auto.h"
#include "base/metric.h"
#include "support/dial.h"
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

/* Connected, and accepted. rcvbuf_bytes as in dial_tcp. */
static int dial(int rcvbuf_bytes)
{
	size_t before = f.accepted;
	int    fd     = dial_tcp(f.port, rcvbuf_bytes);

	cr_assert_geq(fd, 0);
	tcp_fixture_await(&f.accepted, before + 1);
	return fd;
}

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

/* Reads to the end and throws it away. 0 or DIAL_RESET; *len is how much there was. */
static ssize_t read_out(int fd, size_t *len)
{
	static uint8_t bytes[65536];
	ssize_t        n;

	*len = 0;
	while ((n = dial_read(fd, bytes, sizeof(bytes), real_now_ms() + DIAL_PATIENCE_MS)) > 0)
		*len += (size_t)n;
	return n;
}

static uint8_t *big_bytes(void)
{
	uint8_t *bytes = malloc(BIG_BYTES);

	cr_assert_not_null(bytes);
	for (size_t i = 0; i < BIG_BYTES; i++)
		bytes[i] = (uint8_t)(i ^ i >> 8 ^ i >> 16);
	return bytes;
}

Test(tcp, bytes_come_back_however_they_are_cut)
{
	static const char text[] = "some bytes";

	tcp_fixture_start(&f);
	int fd = dial(0);

	for (size_t cut = 1; cut < sizeof(text); cut++) {
		say(fd, text, cut);
		say(fd, text + cut, sizeof(text) - cut);
		hear(fd, text, sizeof(text));
	}
	for (size_t i = 0; i < sizeof(text); i++) {
		say(fd, text + i, 1);
		hear(fd, text + i, 1);
	}
	close(fd);
	tcp_fixture_await(&f.closed, 1);
	cr_expect_eq(f.closed_as[TCP_END_PEER], 1);
}

Test(tcp, a_slow_reader_gets_all_of_it_in_order)
{
	AUTO(auto_free) uint8_t *bytes = big_bytes();
	static uint8_t           got[3000];
	size_t                   at = 0;

	f.piece_bytes = 777; /* more pieces than one call takes */
	tcp_fixture_start(&f);
	int fd = dial(4096);

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
	int fd = dial(0);

	f.piece_bytes = 10;
	tcp_fixture_put_parts(&f, 0, "0123456789abcdefghijABCDEFGHIJ", 30, 6);
	hear(fd, "0123456789abcdefghijABCDEFGHIJ", 30);
	tcp_fixture_await(&f.writes, 1);
	tcp_fixture_put(&f, 0, "more", 4);
	hear(fd, "more", 4);
	tcp_fixture_await(&f.writes, 2);
	close(fd);
}

Test(tcp, a_peers_fin_ends_it_after_its_bytes)
{
	tcp_fixture_start(&f);
	int fd = dial(0);

	say(fd, "last words", 10);
	shutdown(fd, SHUT_WR);
	hear(fd, "last words", 10);
	cr_expect_eq(next(fd), 0);
	tcp_fixture_await(&f.closed_as[TCP_END_PEER], 1);
	close(fd);
}
