/*
 * TCP connections in TLS: the handshake and what can go wrong in it, records, and a certificate that changes.
 */
#include "net/tcp.h"

#include "base/auto.h"
#include "base/metric.h"
#include "net/listen.h"
#include "support/dial.h"
#include "support/other_end.h"
#include "support/talk.h"
#include "support/tcp_fixture.h"
#include "support/tls_peer.h"

#include <criterion/criterion.h>
#include <linux/sock_diag.h>
#include <openssl/err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BIG_BYTES (1024 * 1024)

static struct tcp_fixture f;
static char               folder[64], cert[96], key[96];

static void prepare(void)
{
	strcpy(folder, "/tmp/coopd-tls-XXXXXX");
	cr_assert_not_null(mkdtemp(folder));
	snprintf(cert, sizeof(cert), "%s/cert.pem", folder);
	snprintf(key, sizeof(key), "%s/key.pem", folder);
	tls_make_cert(cert, key, "first");
	tcp_fixture_init(&f);
	f.conf.tls_cert = cert;
	f.conf.tls_key  = key;
}

static void stop(void)
{
	tcp_fixture_stop(&f);
	cr_expect_eq(metric_get(M_TCP_CONNECTIONS), 0);
	unlink(cert);
	unlink(key);
	rmdir(folder);
}

TestSuite(tcp_tls, .init = prepare, .fini = stop, .timeout = 120);

static struct tls_client open_tls(int rcvbuf_bytes)
{
	struct tls_client c;

	cr_assert(tls_client_open(&c, f.tls_port, rcvbuf_bytes, NULL));
	return c;
}

static void say(struct tls_client *c, const void *bytes, size_t len)
{
	cr_assert(tls_client_send(c, bytes, len));
}

static void hear(struct tls_client *c, const void *bytes, size_t len)
{
	uint8_t got[256];

	cr_assert_leq(len, sizeof(got));
	cr_assert_eq(tls_client_read(c, got, len, DIAL_PATIENCE_MS), len);
	cr_assert_arr_eq(got, bytes, len);
}

/* The server says the end in TLS's own words. */
static void hear_end(struct tls_client *c)
{
	uint8_t byte;

	cr_assert_eq(tls_client_read(c, &byte, 1, DIAL_PATIENCE_MS), 0);
	cr_expect(SSL_get_shutdown(c->ssl) & SSL_RECEIVED_SHUTDOWN);
}

static void hear_big(struct tls_client *c, const uint8_t *bytes)
{
	AUTO(auto_free) uint8_t *got = malloc(BIG_BYTES);

	cr_assert_not_null(got);
	cr_assert_eq(tls_client_read(c, got, BIG_BYTES, DIAL_PATIENCE_MS), BIG_BYTES);
	cr_assert_eq(memcmp(got, bytes, BIG_BYTES), 0);
}

Test(tcp_tls, bytes_come_back_however_they_are_cut)
{
	static const char text[] = "some bytes";

	tcp_fixture_start(&f);
	struct tls_client c = open_tls(0);

	for (size_t cut = 1; cut < sizeof(text); cut++) {
		say(&c, text, cut);
		say(&c, text + cut, sizeof(text) - cut);
		hear(&c, text, sizeof(text));
	}
	tls_client_close(&c);
	tcp_fixture_await(&f.closed_as[TCP_END_PEER], 1);
}

Test(tcp_tls, plain_and_tls_are_served_side_by_side)
{
	char byte;

	tcp_fixture_start(&f);
	struct tls_client c  = open_tls(0);
	int               fd = dial_tcp(f.port, 0);

	cr_assert(dial_send(fd, "p", 1, DIAL_PATIENCE_MS));
	cr_assert_eq(dial_read(fd, &byte, 1, real_now_ms() + DIAL_PATIENCE_MS), 1);
	cr_expect_eq(byte, 'p');
	say(&c, "s", 1);
	hear(&c, "s", 1);
	close(fd);
	tls_client_close(&c);
}

Test(tcp_tls, much_in_and_much_out_stays_in_order)
{
	AUTO(auto_free) uint8_t *bytes = talk_big_bytes(BIG_BYTES);

	f.piece_bytes = 777;
	tcp_fixture_start(&f);
	struct tls_client c = open_tls(0);

	say(&c, bytes, BIG_BYTES); /* the part keeps it: nobody reads yet */
	hear_big(&c, bytes);
	cr_expect_leq(f.bytes_at_once, (size_t)f.conf.limits.ws_turn_bytes);
	tls_client_close(&c);
}

Test(tcp_tls, a_slow_reader_gets_all_of_it_in_order)
{
	AUTO(auto_free) uint8_t *bytes = talk_big_bytes(BIG_BYTES);

	f.piece_bytes = 777;
	tcp_fixture_start(&f);
	struct tls_client c = open_tls(4096);

	tcp_fixture_put(&f, 0, bytes, BIG_BYTES);
	real_sleep_ms(50);
	say(&c, "heard all the same", 18);
	tcp_fixture_await(&f.bytes, 18);
	hear_big(&c, bytes);
	hear(&c, "heard all the same", 18);
	tls_client_close(&c);
}

Test(tcp_tls, what_is_put_in_one_turn_leaves_in_one_record)
{
	char got[64];

	tcp_fixture_start(&f);
	struct tls_client c = open_tls(0);

	f.piece_bytes = 10;
	tcp_fixture_put_parts(&f, 0, "0123456789abcdefghijABCDEFGHIJ", 30, 6);
	while (SSL_read(c.ssl, got, 1) <= 0)
		real_sleep_ms(1);
	cr_expect_eq(SSL_pending(c.ssl), 29);
	tcp_fixture_await(&f.writes, 1);
	tls_client_close(&c);
}

Test(tcp_tls, a_turn_smaller_than_a_record_loses_nothing)
{
	AUTO(auto_free) uint8_t *bytes = talk_big_bytes(BIG_BYTES);

	f.conf.limits.ws_turn_bytes = 4096;
	tcp_fixture_start(&f);
	struct tls_client c = open_tls(0);

	say(&c, bytes, BIG_BYTES);
	hear_big(&c, bytes);
	cr_expect_leq(f.bytes_at_once, 16384);
	tls_client_close(&c);
}

/* The end of a helping in the middle of a record would leave the rest where nobody hears of it. */
Test(tcp_tls, records_that_do_not_fit_a_turn_are_heard_whole)
{
	enum { RECORD = 10000, RECORDS = 7 };
	AUTO(auto_free) uint8_t *bytes = talk_big_bytes(BIG_BYTES);
	static uint8_t           got[RECORD * RECORDS];

	cr_assert_eq(f.conf.limits.ws_turn_bytes / RECORD, RECORDS - 1);
	tcp_fixture_start(&f);
	struct tls_client c = open_tls(0);

	pthread_t blocker = loop_thread_look_away(&f.on);
	for (size_t i = 0; i < RECORDS; i++)
		say(&c, bytes + RECORD * i, RECORD);
	pthread_join(blocker, NULL);
	cr_assert_eq(tls_client_read(&c, got, sizeof(got), DIAL_PATIENCE_MS), sizeof(got));
	cr_expect_eq(memcmp(got, bytes, sizeof(got)), 0);
	tls_client_close(&c);
}

Test(tcp_tls, a_close_says_so_behind_what_waits)
{
	AUTO(auto_free) uint8_t *bytes = talk_big_bytes(BIG_BYTES);

	tcp_fixture_start(&f);
	struct tls_client c = open_tls(4096);

	tcp_fixture_put(&f, 0, bytes, BIG_BYTES);
	tcp_fixture_close(&f, 0);
	hear_big(&c, bytes);
	hear_end(&c);
	tls_client_close(&c);
	tcp_fixture_await(&f.closed_as[TCP_END_OURS], 1);
}

Test(tcp_tls, a_close_while_bytes_are_read_is_the_same)
{
	tcp_fixture_start(&f);
	struct tls_client c = open_tls(0);

	say(&c, "Xgood bye", 9);
	hear(&c, "good bye", 8);
	hear_end(&c);
	tls_client_close(&c);
	tcp_fixture_await(&f.closed_as[TCP_END_OURS], 1);
	cr_expect_eq(f.bytes, 9);
}

Test(tcp_tls, last_words_and_the_peers_end_may_come_together)
{
	tcp_fixture_start(&f);
	struct tls_client c = open_tls(0);

	/* Both in one turn: the loop looks away meanwhile. */
	pthread_t blocker = loop_thread_look_away(&f.on);
	say(&c, "Xgood bye", 9);
	SSL_shutdown(c.ssl);
	pthread_join(blocker, NULL);
	hear(&c, "good bye", 8);
	hear_end(&c);
	tls_client_close(&c);
	tcp_fixture_await(&f.closed_as[TCP_END_OURS], 1);
}

Test(tcp_tls, a_reset_while_bytes_are_read_is_one)
{
	tcp_fixture_start(&f);
	struct tls_client c = open_tls(0);

	say(&c, "R", 1);
	tcp_fixture_await(&f.closed_as[TCP_END_OURS], 1);
	tls_client_close(&c);
}

/* A peer's word for the end, its FIN alone, and its reset are all the end. */
Test(tcp_tls, each_way_in_which_a_peer_ends_is_its_end)
{
	tcp_fixture_start(&f);
	for (size_t i = 0; i < 4; i++) {
		struct tls_client c   = open_tls(0);
		struct linger     now = { .l_onoff = 1 };

		say(&c, "a", 1);
		hear(&c, "a", 1);
		if (i <= 1)
			SSL_shutdown(c.ssl);
		if (i >= 1 && i <= 2)
			shutdown(c.fd, SHUT_WR);
		if (i == 3)
			setsockopt(c.fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
		if (i < 3)
			tcp_fixture_await(&f.closed_as[TCP_END_PEER], i + 1);
		tls_client_close(&c);
		tcp_fixture_await(&f.closed_as[TCP_END_PEER], i + 1);
	}
}

/* The handshake */

static bool open_version(struct tls_client *c, int version)
{
	return tls_client_shake(c, dial_tcp(f.tls_port, 0), NULL, version);
}

Test(tcp_tls, two_versions_are_spoken_and_older_ones_refused)
{
	struct tls_client c;

	tcp_fixture_start(&f);
	cr_expect(open_version(&c, TLS1_3_VERSION));
	say(&c, "3", 1);
	hear(&c, "3", 1);
	tls_client_close(&c);
	cr_expect(open_version(&c, TLS1_2_VERSION));
	say(&c, "2", 1);
	hear(&c, "2", 1);
	tls_client_close(&c);

	tcp_fixture_await(&f.closed, 2);
	ERR_clear_error();
	cr_expect_not(open_version(&c, TLS1_1_VERSION));
	cr_expect_eq(ERR_GET_REASON(ERR_peek_last_error()), SSL_R_TLSV1_ALERT_PROTOCOL_VERSION, "and it is told why");
	tls_client_close(&c);
	tcp_fixture_await(&f.closed_as[TCP_END_HANDSHAKE], 1);
}

static ssize_t read_out(int fd)
{
	char    bytes[4096];
	ssize_t n;

	while ((n = dial_read(fd, bytes, sizeof(bytes), real_now_ms() + DIAL_PATIENCE_MS)) > 0)
		continue;
	return n;
}

Test(tcp_tls, nonsense_instead_of_a_handshake_ends_it)
{
	static const char *const said[] = { "GET / HTTP/1.1\r\n\r\n", "\x16\x03\x01\xff\xff\xff\xff\xff\xff",
		                            "token gen:0000\n" };

	tcp_fixture_start(&f);
	for (size_t i = 0; i < COUNT_OF(said); i++) {
		int fd = dial_tcp(f.tls_port, 0);

		cr_assert(dial_send(fd, said[i], strlen(said[i]), DIAL_PATIENCE_MS));
		cr_expect_neq(read_out(fd), DIAL_LATE);
		close(fd);
		tcp_fixture_await(&f.closed_as[TCP_END_HANDSHAKE], i + 1);
	}
	cr_expect_eq(f.bytes, 0);
}

Test(tcp_tls, who_leaves_in_the_handshake_is_gone)
{
	tcp_fixture_start(&f);
	for (size_t i = 0; i < 2; i++) {
		int fd = dial_tcp(f.tls_port, 0);

		cr_assert(dial_send(fd, "\x16\x03\x01", 3, DIAL_PATIENCE_MS));
		tcp_fixture_await(&f.accepted, i + 1);
		if (i)
			dial_abort(fd);
		else
			close(fd);
		tcp_fixture_await(&f.closed_as[TCP_END_HANDSHAKE], i + 1);
	}
}

/* The part has a deadline of its own. */
Test(tcp_tls, half_a_handshake_can_be_ended_at_any_time)
{
	tcp_fixture_start(&f);
	for (size_t i = 0; i < 4; i++) {
		int fd = dial_tcp(f.tls_port, 0);

		if (i >= 2)
			cr_assert(dial_send(fd, "\x16\x03\x01\x02", 4, DIAL_PATIENCE_MS));
		tcp_fixture_await(&f.accepted, i + 1);
		tcp_fixture_put(&f, i, "nothing that could be said yet", 30);
		if (i % 2)
			tcp_fixture_close(&f, i);
		else
			tcp_fixture_reset(&f, i);
		cr_expect_eq(read_out(fd), i % 2 ? 0 : DIAL_RESET);
		close(fd);
		tcp_fixture_await(&f.closed_as[TCP_END_OURS], i + 1);
	}
}

Test(tcp_tls, what_was_put_before_the_handshake_comes_after_it)
{
	f.greeting = "early";
	tcp_fixture_start(&f);
	struct tls_client c = open_tls(0);

	hear(&c, "early", 5);
	tls_client_close(&c);
}

static void advance_in_quarters(int quarters)
{
	for (int i = 0; i < quarters; i++)
		loop_thread_advance(&f.on, TCP_FIXTURE_STALL_MS / 4);
}

static size_t turns;

static void count_turn(struct loop_flush *flush)
{
	(void)flush;
	turns++;
}

/* So that the answer to a hello does not fit into the socket. */
static void lengthen_chain(void)
{
	char   text[4096];
	FILE  *in  = fopen(cert, "r");
	size_t len = fread(text, 1, sizeof(text), in);
	FILE  *out;

	fclose(in);
	cr_assert_not_null(out = fopen(cert, "a"));
	for (int i = 0; i < 90; i++)
		fwrite(text, 1, len, out);
	fclose(out);
}

Test(tcp_tls, a_handshake_that_waits_for_room_does_not_turn_the_loop)
{
	static struct loop_flush flush = { .run = count_turn };
	char                     name[32];

	loop_add_flush(f.on.loop, &flush);
	lengthen_chain();
	f.listen.sndbuf_bytes = 4096;
	tcp_fixture_start(&f);

	struct tls_client c = { .fd = dial_tcp(f.tls_port, 4096), .ctx = SSL_CTX_new(TLS_client_method()) };
	c.ssl               = SSL_new(c.ctx);
	SSL_set_fd(c.ssl, c.fd);
	SSL_set_max_cert_list(c.ssl, 1 << 20);
	cr_assert_lt(SSL_connect(c.ssl), 0); /* the hello is out */
	tcp_fixture_await(&f.accepted, 1);
	real_sleep_ms(100);
	size_t before = turns;
	cr_assert(
		dial_send(c.fd, "\x14\x03\x03\x00\x01\x01", 6, DIAL_PATIENCE_MS)); /* harmless, and input that waits */
	real_sleep_ms(300);
	cr_expect_lt(turns - before, 30);

	for (int64_t until = real_now_ms() + DIAL_PATIENCE_MS; SSL_connect(c.ssl) != 1; real_sleep_ms(1))
		cr_assert_lt(real_now_ms(), until);
	cr_expect_str_eq(tls_client_server_name(&c, name, sizeof(name)), "first");
	say(&c, "at last", 7);
	hear(&c, "at last", 7);
	tls_client_close(&c);
}

Test(tcp_tls, new_keys_can_be_had_in_the_middle)
{
	AUTO(auto_free) uint8_t *bytes = talk_big_bytes(BIG_BYTES);

	tcp_fixture_start(&f);
	struct tls_client c = open_tls(4096);

	for (int i = 0; i < 3; i++) {
		tcp_fixture_put(&f, 0, bytes, BIG_BYTES);
		real_sleep_ms(20);
		cr_assert_eq(SSL_key_update(c.ssl, SSL_KEY_UPDATE_REQUESTED), 1);
		say(&c, "new keys", 8);
		hear_big(&c, bytes);
		hear(&c, "new keys", 8);
	}
	tls_client_close(&c);
}

/* The answers fill the socket, and TLS reads nothing more before it has answered. */
Test(tcp_tls, new_keys_for_who_reads_nothing_do_not_turn_the_loop)
{
	static struct loop_flush flush = { .run = count_turn };
	size_t                   before;
	size_t                   requests = 0;

	loop_add_flush(f.on.loop, &flush);
	f.listen.sndbuf_bytes = 4096;
	tcp_fixture_start(&f);
	struct tls_client c = open_tls(4096);

	do {
		for (int i = 0; i < 100; i++) {
			cr_assert_eq(SSL_key_update(c.ssl, SSL_KEY_UPDATE_REQUESTED), 1);
			say(&c, "N", 1);
		}
		cr_assert_lt(requests += 100, 100000);
	} while (other_end_reads(c.fd));
	cr_expect_eq(f.closed, 0);
	before = turns;
	real_sleep_ms(300);
	cr_expect_lt(turns - before, 30);
	advance_in_quarters(6);
	tcp_fixture_await(&f.closed_as[TCP_END_STALLED], 1);
	tls_client_close(&c);
}

Test(tcp_tls, an_old_session_is_not_taken_up_again_and_no_ticket_is_sent)
{
	tcp_fixture_start(&f);
	struct tls_client c = open_tls(0);

	say(&c, "a", 1);
	hear(&c, "a", 1);
	cr_expect_not(SSL_SESSION_is_resumable(SSL_get0_session(c.ssl)));
	tls_client_close(&c);
}

/* Peers that take nothing */

Test(tcp_tls, a_peer_that_takes_nothing_for_long_is_reset)
{
	AUTO(auto_free) uint8_t *bytes = talk_big_bytes(BIG_BYTES);
	uint32_t                 memory[SK_MEMINFO_VARS];
	socklen_t                len = sizeof(memory);

	tcp_fixture_start(&f);
	struct tls_client c = open_tls(4096);

	tcp_fixture_put(&f, 0, bytes, BIG_BYTES);
	real_sleep_ms(100);
	cr_assert_eq(getsockopt(other_end(c.fd), SOL_SOCKET, SO_MEMINFO, memory, &len), 0);
	cr_expect_lt(memory[SK_MEMINFO_RMEM_ALLOC] + memory[SK_MEMINFO_WMEM_QUEUED] + memory[SK_MEMINFO_FWD_ALLOC],
	             256 * 1024);
	advance_in_quarters(3);
	cr_expect_eq(f.closed, 0);
	advance_in_quarters(3);
	tcp_fixture_await(&f.closed_as[TCP_END_STALLED], 1);
	tls_client_close(&c);
}

Test(tcp_tls, who_has_taken_all_may_be_silent_for_ever)
{
	tcp_fixture_start(&f);
	struct tls_client c = open_tls(0);

	say(&c, "hello", 5);
	hear(&c, "hello", 5);
	real_sleep_ms(50);
	advance_in_quarters(40);
	say(&c, "again", 5);
	hear(&c, "again", 5);
	tls_client_close(&c);
}

/* Certificates */

Test(tcp_tls, new_connections_get_a_new_certificate_and_old_ones_go_on)
{
	char name[32];

	tcp_fixture_start(&f);
	struct tls_client old = open_tls(0);
	cr_expect_str_eq(tls_client_server_name(&old, name, sizeof(name)), "first");
	tls_make_rsa_cert(cert, key, "second"); /* another kind of key does not leave the old one beside it */
	tcp_fixture_reload(&f);

	struct tls_client new = open_tls(0);
	cr_expect_str_eq(tls_client_server_name(&new, name, sizeof(name)), "second");
	tls_make_cert(cert, key, "third");
	tcp_fixture_reload(&f);
	struct tls_client newer = open_tls(0);
	cr_expect_str_eq(tls_client_server_name(&newer, name, sizeof(name)), "third");

	struct tls_client *all[] = { &old, &new, &newer };
	for (size_t i = 0; i < COUNT_OF(all); i++) {
		say(all[i], "go on", 5);
		hear(all[i], "go on", 5);
		tls_client_close(all[i]);
	}
}

Test(tcp_tls, without_a_certificate_there_is_no_tls)
{
	struct tcp_listen on = f.listen;
	struct addr       bound;
	int               fd;

	on.is_tls       = true;
	f.conf.tls_cert = f.conf.tls_key = (char[]){ "" };
	tcp_fixture_start(&f); /* plain only */
	cr_assert_eq(listen_tcp(&fd, &bound, "127.0.0.1:0", stderr), ERR_OK);
	cr_expect_eq(tcp_listen(f.tcp, fd, &on), ERR_MALFORMED);
	cr_expect_eq(dial_tcp(bound.port, 0), -1, "the socket is closed");
}

Test(tcp_tls, many_come_and_go_and_nothing_stays)
{
	tcp_fixture_start(&f);
	for (size_t i = 0; i < 200; i++) {
		struct tls_client c = open_tls(0);

		say(&c, i % 2 ? "Xa" : "a", 1 + i % 2);
		hear(&c, "a", 1);
		if (i % 3 == 0)
			SSL_shutdown(c.ssl);
		tls_client_close(&c);
	}
	tcp_fixture_await(&f.closed, 200);
}

Test(tcp_tls, a_stop_ends_those_that_shake_hands_too)
{
	tcp_fixture_start(&f);
	struct tls_client c  = open_tls(0);
	int               fd = dial_tcp(f.tls_port, 0);

	tcp_fixture_await(&f.accepted, 2);
	tcp_fixture_begin_stop(&f);
	hear_end(&c);
	cr_expect_eq(read_out(fd), 0);
	tls_client_close(&c);
	close(fd);
	loop_thread_join(&f.on);
	cr_expect_eq(f.closed_as[TCP_END_STOPPED], 2);
}
