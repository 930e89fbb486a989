/*
 * WebSocket over TLS: the same rules as on a plain connection, slow readers, and certificates that change.
 */
#include "net/ws.h"

#include "base/metric.h"
#include "support/dial.h"
#include "support/other_end.h"
#include "support/tls_peer.h"
#include "support/ws_client.h"
#include "support/ws_fixture.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct ws_fixture f;

static char folder[64], cert[96], key[96];

static void prepare(void)
{
	strcpy(folder, "/tmp/coopd-tls-XXXXXX");
	cr_assert_not_null(mkdtemp(folder));
	snprintf(cert, sizeof(cert), "%s/cert.pem", folder);
	snprintf(key, sizeof(key), "%s/key.pem", folder);
	tls_make_cert(cert, key, "first");
	ws_fixture_init(&f);
	f.conf.tls_cert = cert;
	f.conf.tls_key  = key;
}

static void stop(void)
{
	ws_fixture_stop(&f);
	unlink(cert);
	unlink(key);
	rmdir(folder);
}

TestSuite(ws_tls, .init = prepare, .fini = stop, .timeout = 60);

static struct tls_client open_upgraded(int rcvbuf_bytes)
{
	struct tls_client c;

	cr_assert(tls_client_open(&c, f.tls_port, rcvbuf_bytes, NULL));
	cr_assert_eq(tls_client_upgrade(&c, NULL, 0), 101);
	return c;
}

/* A masked frame; the mask is zeros. */
static void send_frame(struct tls_client *c, unsigned first, const void *payload, size_t len)
{
	static uint8_t frame[14 + 70000];
	size_t         head = 2;

	frame[0] = (uint8_t)first;
	if (len < 126) {
		frame[1] = (uint8_t)(0x80 | len);
	} else if (len < 65536) {
		frame[1] = 0x80 | 126;
		frame[2] = (uint8_t)(len >> 8);
		frame[3] = (uint8_t)len;
		head     = 4;
	} else {
		frame[1] = 0x80 | 127;
		memset(frame + 2, 0, 8);
		for (size_t i = 0; i < 4; i++)
			frame[6 + i] = (uint8_t)(len >> (8 * (3 - i)));
		head = 10;
	}
	memset(frame + head, 0, 4);
	if (len > 0)
		memcpy(frame + head + 4, payload, len);
	cr_assert(tls_client_send(c, frame, head + 4 + len));
}

static void expect_bytes(struct tls_client *c, const void *bytes, size_t len)
{
	uint8_t got[256];

	cr_assert_leq(len, sizeof(got));
	cr_assert_eq(tls_client_read(c, got, len, DIAL_PATIENCE_MS), len);
	cr_assert_arr_eq(got, bytes, len);
}

/* The server ends the connection without another byte. */
static void expect_end(struct tls_client *c)
{
	uint8_t byte;

	cr_assert_eq(tls_client_read(c, &byte, 1, DIAL_PATIENCE_MS), 0);
}

Test(ws_tls, messages_pings_and_the_close_are_as_on_a_plain_connection)
{
	static uint8_t big[WS_MESSAGE_BYTES_MAX], back[10 + WS_MESSAGE_BYTES_MAX];

	ws_fixture_start(&f);
	struct tls_client c = open_upgraded(0);

	send_frame(&c, 0x82, "Zhello", 6);
	expect_bytes(&c, "\x82\x06Zhello", 8);
	send_frame(&c, 0x89, "ping", 4);
	expect_bytes(&c, "\x8a\x04ping", 6);
	memset(big, 'z', sizeof(big));
	send_frame(&c, 0x82, big, sizeof(big));
	cr_assert_eq(tls_client_read(&c, back, sizeof(back), DIAL_PATIENCE_MS), sizeof(back));
	cr_expect_arr_eq(back + 10, big, sizeof(big));
	send_frame(&c, 0x88, "\x03\xe8", 2);
	expect_bytes(&c, "\x88\x00", 2);
	expect_end(&c);
	tls_client_close(&c);
	ws_fixture_await(M_WS_CONNECTIONS, 0);
	cr_expect_eq(f.closed, 1);
}

Test(ws_tls, plain_and_tls_listeners_serve_side_by_side)
{
	ws_fixture_start(&f);
	struct tls_client secure = open_upgraded(0);
	struct ws_client *plain  = ws_client_open(f.port, NULL);

	send_frame(&secure, 0x82, "Za", 2);
	ws_client_send(plain, "01");
	ws_expect(plain, "01");
	expect_bytes(&secure, "\x82\x02Za", 4);
	tls_client_close(&secure);
	ws_client_free(plain);
}

Test(ws_tls, unmasked_frames_are_refused_here_too)
{
	ws_fixture_start(&f);
	struct tls_client c = open_upgraded(0);

	cr_assert(tls_client_send(&c, "\x82\x01Z", 3));
	expect_bytes(&c, "\x88\x00", 2);
	expect_end(&c);
	cr_expect_eq(metric_get(M_WS_CLOSED_PROTOCOL), 1);
	tls_client_close(&c);
}

Test(ws_tls, whole_messages_in_the_record_of_the_head_are_heard)
{
	static const char glued[] = "\x82\x82\0\0\0\0Za\x82\x82\0\0\0\0Zb";

	ws_fixture_start(&f);
	struct tls_client c;
	cr_assert(tls_client_open(&c, f.tls_port, 0, NULL));
	cr_assert_eq(tls_client_upgrade(&c, glued, sizeof(glued) - 1), 101);
	expect_bytes(&c, "\x82\x02Za\x82\x02Zb", 8);
	send_frame(&c, 0x82, "Zc", 2);
	expect_bytes(&c, "\x82\x02Zc", 4);
	tls_client_close(&c);
}

Test(ws_tls, messages_in_records_right_behind_the_head_are_heard)
{
	ws_fixture_start(&f);
	for (int round = 0; round < 20; round++) {
		static const char head[] = "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
					   "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
		struct tls_client c;
		char              out[512];
		size_t            len = 0;

		cr_assert(tls_client_open(&c, f.tls_port, 0, NULL));
		cr_assert(tls_client_send(&c, head, sizeof(head) - 1));
		send_frame(&c, 0x82, "Z1", 2);
		send_frame(&c, 0x82, "Z2", 2);
		while (len < 8 || memcmp(out + len - 8, "\x82\x02Z1\x82\x02Z2", 8) != 0) {
			cr_assert_lt(len, sizeof(out));
			cr_assert_eq(tls_client_read(&c, out + len, 1, DIAL_PATIENCE_MS), 1, "after %zu bytes", len);
			len++;
		}
		tls_client_close(&c);
	}
}

Test(ws_tls, a_client_that_asks_for_http_2_does_not_get_it)
{
	const unsigned char *chosen;
	unsigned             len;
	struct tls_client    c;

	ws_fixture_start(&f);
	cr_assert(tls_client_open(&c, f.tls_port, 0, "\x02h2\x08http/1.1"));
	SSL_get0_alpn_selected(c.ssl, &chosen, &len);
	cr_expect_not(len == 2 && memcmp(chosen, "h2", 2) == 0);
	cr_expect_eq(tls_client_upgrade(&c, NULL, 0), 101);
	tls_client_close(&c);
}

struct sending {
	int from, to;
};

static void send_numbered(struct ws_fixture *fixture, void *arg)
{
	static uint8_t  body[1000];
	struct sending *s = arg;

	for (int i = s->from; i < s->to && fixture->conns[0]; i++) {
		uint8_t head[5] = { 'D', (uint8_t)(i >> 24), (uint8_t)(i >> 16), (uint8_t)(i >> 8), (uint8_t)i };

		ws_send_datagram(fixture->conns[0], 0, head, sizeof(head), body, sizeof(body) - sizeof(head));
	}
}

/* Reads frames of 1000 bytes until none comes; each must be whole, and the numbers must rise. */
static int hear_numbered(struct tls_client *c, int *last)
{
	uint8_t frame[4 + 1000];
	int     count = 0;
	size_t  got;

	*last = -1;
	while ((got = tls_client_read(c, frame, sizeof(frame), 500)) == sizeof(frame)) {
		cr_assert_arr_eq(frame, "\x82\x7e\x03\xe8", 4, "frame %d is whole", count);
		int number = frame[5] << 24 | frame[6] << 16 | frame[7] << 8 | frame[8];
		cr_assert_gt(number, *last);
		*last = number;
		count++;
	}
	cr_assert_eq(got, 0, "nothing is left half way");
	return count;
}

Test(ws_tls, a_slow_reader_loses_whole_datagrams_only_and_is_still_listened_to)
{
	struct sending s = { .to = 0 };
	int            last;

	f.conf.limits.ws_backlog = 65536;
	ws_fixture_start(&f);
	struct tls_client c = open_upgraded(4096);

	for (int i = 0; i < 30; i++) {
		s.from = s.to;
		s.to += 50;
		ws_fixture_do(&f, send_numbered, &s);
		send_frame(&c, 0x8a, "x", 1);
	}
	/* Its output has long been stuck in the middle of a record. */
	send_frame(&c, 0x82, "", 0);
	send_frame(&c, 0x82, "X", 1);
	for (int64_t until = real_now_ms() + DIAL_PATIENCE_MS; f.messages == 0 && real_now_ms() < until;)
		real_sleep_ms(1);
	cr_expect_eq(f.messages, 1, "it is heard although it does not read");

	uint8_t close_frame[2];
	int     count = 0;
	uint8_t frame[4 + 1000];
	last = -1;
	while (tls_client_read(&c, frame, 2, 1000) == 2 && frame[0] == 0x82) {
		cr_assert_eq(tls_client_read(&c, frame + 2, sizeof(frame) - 2, DIAL_PATIENCE_MS), sizeof(frame) - 2);
		int number = frame[5] << 24 | frame[6] << 16 | frame[7] << 8 | frame[8];
		cr_assert_gt(number, last);
		last = number;
		count++;
	}
	memcpy(close_frame, frame, 2);
	cr_expect_arr_eq(close_frame, "\x88\x00", 2, "the close comes behind them");
	cr_expect_eq(last, s.to - 1, "the newest arrives");
	cr_expect_lt(count, s.to);
	cr_expect_eq(count + metric_get(M_WS_DROPPED_FULL) + metric_get(M_WS_DROPPED_OLD), s.to);
	tls_client_close(&c);
}

Test(ws_tls, records_that_leave_in_pieces_stay_whole)
{
	struct sending s = { .to = 0 };
	int            last, heard = 0;

	ws_fixture_start(&f);
	struct tls_client c = open_upgraded(4096);

	for (int i = 0; i < 10; i++) {
		s.from = s.to;
		s.to += 300;
		ws_fixture_do(&f, send_numbered, &s);
		heard += hear_numbered(&c, &last);
		cr_expect_eq(last, s.to - 1);
	}
	cr_expect_eq(heard + metric_get(M_WS_DROPPED_FULL) + metric_get(M_WS_DROPPED_OLD), s.to);
	tls_client_close(&c);
}

static size_t turns;

static void count_turn(struct loop_flush *flush)
{
	(void)flush;
	turns++;
}

/* Requests for new keys, and pongs, since too many requests with nothing between them are an error. */
static void ask_for_keys(struct tls_client *c)
{
	for (int i = 0; i < 100; i++) {
		cr_assert_eq(SSL_key_update(c->ssl, SSL_KEY_UPDATE_REQUESTED), 1);
		send_frame(c, 0x8a, "", 0);
	}
}

/* The answers fill the socket, and TLS reads nothing more before it has answered. */
Test(ws_tls, new_keys_for_who_reads_nothing_do_not_turn_the_loop)
{
	static struct loop_flush flush = { .run = count_turn };
	int                      few   = 4096;
	size_t                   before;

	loop_add_flush(f.on.loop, &flush);
	ws_fixture_start(&f);
	struct tls_client c = open_upgraded(4096);

	setsockopt(other_end(c.fd), SOL_SOCKET, SO_SNDBUF, &few, sizeof(few));
	do
		ask_for_keys(&c);
	while (other_end_reads(c.fd));
	before = turns;
	real_sleep_ms(300);
	cr_expect_lt(turns - before, 30);

	/* Who reads again is heard again. */
	send_frame(&c, 0x82, "Za", 2);
	expect_bytes(&c, "\x82\x02Za", 4);
	tls_client_close(&c);
}

static void use_cert(struct ws_fixture *fixture, void *arg)
{
	ws_cert_use(fixture->ws, arg);
}

Test(ws_tls, new_connections_get_a_new_certificate_and_old_ones_go_on)
{
	struct tls_cert *fresh;
	char             name[32];

	ws_fixture_start(&f);
	struct tls_client old = open_upgraded(0);
	cr_expect_str_eq(tls_client_server_name(&old, name, sizeof(name)), "first");

	tls_make_cert(cert, key, "second");
	cr_assert_eq(tls_cert_load(&fresh, &f.conf, stderr), ERR_OK);
	ws_fixture_do(&f, use_cert, fresh);
	tls_cert_free(fresh);

	struct tls_client new = open_upgraded(0);
	cr_expect_str_eq(tls_client_server_name(&new, name, sizeof(name)), "second");
	send_frame(&old, 0x82, "Za", 2);
	expect_bytes(&old, "\x82\x02Za", 4);
	send_frame(&new, 0x82, "Zb", 2);
	expect_bytes(&new, "\x82\x02Zb", 4);
	tls_client_close(&old);
	tls_client_close(&new);
}

Test(ws_tls, a_new_certificate_with_another_kind_of_key_replaces_the_old_one)
{
	struct tls_cert *fresh;
	char             name[32];

	ws_fixture_start(&f);
	tls_make_rsa_cert(cert, key, "second");
	cr_assert_eq(tls_cert_load(&fresh, &f.conf, stderr), ERR_OK);
	ws_fixture_do(&f, use_cert, fresh);
	tls_cert_free(fresh);

	struct tls_client c = open_upgraded(0);
	cr_expect_str_eq(tls_client_server_name(&c, name, sizeof(name)), "second");
	tls_client_close(&c);
}

/* What loading the certificate reports; ERR_MALFORMED is asserted. */
static const char *load_fails(void)
{
	static char      report[512];
	struct tls_cert *none;
	FILE            *out = fmemopen(report, sizeof(report), "w");

	memset(report, 0, sizeof(report));
	cr_assert_not_null(out);
	cr_assert_eq(tls_cert_load(&none, &f.conf, out), ERR_MALFORMED);
	cr_assert_null(none);
	fclose(out);
	return report;
}

Test(ws_tls, a_certificate_that_cannot_be_used_is_reported_and_the_old_one_stays)
{
	char other[112], name[32];

	ws_fixture_start(&f);
	snprintf(other, sizeof(other), "%s.other", key);
	tls_make_cert(cert, other, "second");
	cr_expect_not_null(strstr(load_fails(), "tls.key"), "a key of another certificate");
	unlink(other);
	unlink(cert);
	cr_expect_not_null(strstr(load_fails(), "tls.cert"), "a missing file");

	struct tls_client c = open_upgraded(0);
	cr_expect_str_eq(tls_client_server_name(&c, name, sizeof(name)), "first");
	tls_client_close(&c);
}

Test(ws_tls, the_server_does_not_start_with_a_bad_certificate)
{
	struct loop *l = loop_new();
	struct ws   *ws;
	char         report[512] = "";
	FILE        *out         = fmemopen(report, sizeof(report), "w");

	unlink(key);
	cr_assert_not_null(out);
	cr_expect_eq(ws_new(&ws, l, &f.conf, out), ERR_MALFORMED);
	fclose(out);
	cr_expect_not_null(strstr(report, "tls.key"));
	loop_free(l);
}

/* How many of six handshakes in a row are shaken. */
static int shake_six(void)
{
	int opened = 0;

	for (int i = 0; i < 6; i++) {
		struct tls_client c;

		opened += tls_client_open(&c, f.tls_port, 0, NULL);
		tls_client_close(&c);
	}
	return opened;
}

Test(ws_tls, handshakes_have_a_rate_of_their_own)
{
	f.conf.limits.ws_tls_rate         = 3;
	f.conf.http_trusted_proxies.count = 0;
	ws_fixture_start(&f);

	int opened = shake_six();

	cr_expect(opened >= 3 && opened <= 5, "%d of 6", opened);
	cr_expect_eq(metric_get(M_WS_REFUSED_TLS_RATE), 6 - opened);
	ws_client_free(ws_client_open(f.port, NULL));
}

Test(ws_tls, but_not_for_a_trusted_proxy_through_which_everybody_may_come_back_at_once)
{
	f.conf.limits.ws_tls_rate = 3;
	ws_fixture_start(&f);
	cr_expect_eq(shake_six(), 6);
	cr_expect_eq(metric_get(M_WS_REFUSED_TLS_RATE), 0);
}

/* TLS may say why before it hangs up. */
static void expect_end_after_alert(int fd)
{
	char    alert[64];
	ssize_t got;

	while ((got = dial_read(fd, alert, sizeof(alert), real_now_ms() + DIAL_PATIENCE_MS)) > 0)
		continue;
	cr_expect_neq(got, DIAL_LATE, "the server hangs up");
}

Test(ws_tls, half_handshakes_and_nonsense_leave_nothing_behind)
{
	static const char *const said[] = { "", "\x16\x03\x01", "GET / HTTP/1.1\r\n\r\n", "\x16\x03\x01\xff\xff\xff" };

	ws_fixture_start(&f);
	for (size_t i = 0; i < COUNT_OF(said); i++) {
		struct ws_client *c = ws_client_dial(f.tls_port, NULL);

		ws_client_send_raw(c, said[i], strlen(said[i]));
		ws_fixture_await(M_WS_ACCEPTED, (int64_t)i + 1);
		ws_fixture_advance(&f, f.conf.limits.ws_upgrade_ms);
		expect_end_after_alert(c->fd);
		ws_client_free(c);
		ws_fixture_await(M_WS_CONNECTIONS, 0);
	}
	struct tls_client shaken;
	cr_assert(tls_client_open(&shaken, f.tls_port, 0, NULL));
	ws_fixture_advance(&f, f.conf.limits.ws_upgrade_ms);
	expect_end(&shaken);
	tls_client_close(&shaken);
	ws_fixture_await(M_WS_CONNECTIONS, 0);
	cr_expect_eq(f.opened, 0);
}

Test(ws_tls, stopping_closes_these_connections_too)
{
	f.conf.limits.ws_close_ms = 300;
	ws_fixture_start(&f);
	struct tls_client c = open_upgraded(0);

	ws_fixture_stop(&f);
	expect_bytes(&c, "\x88\x00", 2);
	expect_end(&c);
	cr_expect_eq(f.closed, 1);
	tls_client_close(&c);
}
