/*
 * Requests, frames and pings of strangers who mean no good: each gets the documented answer, the server (under the
 * sanitizers) lives on in bounded memory, and an honest game beside them goes on.
 */
#include "support/honest.h"

#include <criterion/criterion.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define LEN(array)    (sizeof(array) / sizeof((array)[0]))
#define KIB           1024
#define BACKLOG_BYTES (1048576 + 64 * KIB) /* what may wait for one connection, and a little */

/* Requests */

/*
 * Sends these bytes as a request. The server must end the connection: at once, or, where it may still expect more, at
 * the deadline of a handshake. The status of its answer; 0: there was none.
 */
static int request(struct honest *h, const char *bytes)
{
	struct ws_client *c = ws_client_dial(h->s->tunnel_port, NULL);
	char              answer[4096];
	size_t            used   = 0;
	int               status = 0;
	bool              late   = false;

	ws_client_send_raw(c, bytes, strlen(bytes));
	while (used < sizeof(answer) - 1) {
		ssize_t got = dial_read(c->fd, answer + used, sizeof(answer) - 1 - used,
		                        real_now_ms() + (late ? DIAL_PATIENCE_MS : 200));

		if (got == DIAL_LATE) {
			cr_assert_not(late, "the server does not end %s", bytes);
			server_advance(h->s, 10000);
			late = true;
			continue;
		}
		if (got <= 0)
			break;
		used += (size_t)got;
	}
	answer[used] = '\0';
	if (sscanf(answer, "HTTP/1.%*c %3d", &status) != 1)
		status = 0;
	ws_client_free(c);
	return status;
}

#define KEY     "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
#define UPGRADE "Host: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" KEY

Test(serve_hostile, a_request_that_is_no_upgrade_is_refused)
{
	static const char *const requests[] = {
		"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET / HTTP/1.1\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nHTTP2-Settings: "
		"AAMAAABkAAQAAP__\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n" KEY "\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: x\r\n" KEY "\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocke\r\n" KEY "\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websockets\r\n" KEY "\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade:\r\n" KEY "\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: \xff\xfe\x80\r\n" KEY "\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key:\r\n\r\n",
		"CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n",
		"CONNECT a:1 HTTP/1.1\r\n" UPGRADE "\r\n",
		"POST / HTTP/1.1\r\n" UPGRADE "Content-Length: 5\r\n\r\nhello",
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello",
		"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n",
		"HEAD / HTTP/1.1\r\n" UPGRADE "\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"GET /update/update.txt HTTP/1.1\r\n" UPGRADE "\r\n",
		"GET / HTTP/1.1\r\n" UPGRADE "no colon here\r\n\r\n",
		"GET http://elsewhere/ HTTP/9.9\r\nHost: x\r\n\r\n",
		"GET\r\n\r\n",
		"\r\n\r\n",
		"hello\n\n",
		"",
		"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
	};
	struct honest h;

	honest_begin(&h, NULL);
	for (size_t i = 0; i < LEN(requests); i++) {
		int status = request(&h, requests[i]);

		cr_expect(status == 0 || status == 400 || status == 403 || status == 404, "%d for %s", status,
		          requests[i]);
		honest_play(&h);
	}
	honest_finish(&h);
}

Test(serve_hostile, a_head_of_some_kilobytes_is_nothing_special)
{
	static char        padding[6000];
	static char        headers[sizeof(padding) + 20];
	static const char *names[] = { "Cookie", "X-Nobody-Knows" };
	struct honest      h;

	honest_begin(&h, NULL);
	memset(padding, 'x', sizeof(padding) - 1);
	for (size_t i = 0; i < LEN(names); i++) {
		struct ws_client_options o = { .headers = headers };
		struct ws_client        *c = ws_client_dial(h.s->tunnel_port, &o);

		snprintf(headers, sizeof(headers), "%s: %s\r\n", names[i], padding);
		cr_assert_eq(ws_client_upgrade(c, &o), 101, "%s", names[i]);
		tunnel_echo(c);
		ws_client_free(c);
	}
	honest_finish(&h);
}

/* A library that looks names up letter by letter may wait for the rest of one, and take it from the next line. */
Test(serve_hostile, a_field_whose_name_is_the_beginning_of_another_hides_nothing)
{
	static const char *const names[] = { "X", "X-Forwarded", "A", "Accept-Enc", "Sec-WebSocket", "Or", "C" };
	char                     headers[200];
	struct ws_client_options o = { .headers = headers };
	struct honest            h;

	honest_begin(&h, NULL);
	for (size_t i = 0; i < LEN(names); i++)
		for (int origin = 0; origin < 2; origin++) {
			struct ws_client *c = ws_client_dial(h.s->tunnel_port, &o);

			snprintf(headers, sizeof(headers), "%s: 1\r\n%s", names[i],
			         origin ? "Origin: https://evil.example\r\n" : "");

			int status = ws_client_upgrade(c, &o);

			cr_assert_neq(status, -1, "no answer to %s", headers);
			cr_expect(!origin || status != 101, "let in with %s", headers);
			ws_client_free(c);
			honest_play(&h);
		}
	honest_finish(&h);
}

Test(serve_hostile, an_upgrade_field_of_any_length_and_content_is_survived)
{
	static char   text[20000], value[16000];
	struct honest h;

	honest_begin(&h, NULL);
	for (size_t len = 1; len < sizeof(value); len = len * 3 / 2 + 1)
		for (int byte = 1; byte < 256; byte += 31) {
			if (byte == '\n' || byte == '\r')
				continue;
			memset(value, byte, len);
			value[len] = '\0';
			snprintf(text, sizeof(text),
			         "GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: %s\r\n" KEY "\r\n", value);
			cr_expect_neq(request(&h, text), 101, "%zu times %02x", len, (unsigned)byte);
		}
	honest_finish(&h);
}

Test(serve_hostile, a_head_without_end_is_refused_before_it_costs_much)
{
	static char   line[KIB + 1];
	struct honest h;

	honest_begin(&h, NULL);
	for (int kind = 0; kind < 3; kind++) {
		struct ws_client *c     = ws_client_dial(h.s->tunnel_port, NULL);
		bool              taken = true;

		/* Fields without end; one field without end; not even a line. */
		memset(line, 'x', KIB);
		if (kind == 0)
			memcpy(line + KIB - 10, ": value\r\n", 9);
		if (kind < 2)
			ws_client_send_raw(c, "GET / HTTP/1.1\r\nCookie: ", 24);
		for (int i = 0; i < 100 * KIB && taken; i++) {
			taken = send(c->fd, line, KIB, MSG_NOSIGNAL) > 0 || errno == EAGAIN;
			if (i % 64 == 0)
				cr_expect_leq(server_metric(h.s, "coopd_ws_partial_bytes", NULL), 80 * KIB);
		}
		cr_expect_not(taken, "100 MiB of head were taken");
		ws_client_free(c);
		honest_play(&h);
	}
	honest_finish(&h);
}

/* Frames */

/* The connection gets its close, and nothing before it. */
static void expect_refused(struct honest *h, struct ws_client *c)
{
	ws_expect_closed(c);
	ws_client_free(c);
	honest_play(h);
}

Test(serve_hostile, a_frame_that_no_client_may_send_closes)
{
	static const struct {
		unsigned first_byte;
		bool     masked;
		size_t   len;
	} frames[] = {
		{ 0x82, false, 5 },    { 0x82, false, 0 },  { 0x89, false, 0 },
		{ 0x88, false, 0 }, /* not masked */
		{ 0xc2, true, 5 },     { 0xa2, true, 5 },   { 0x92, true, 5 },
		{ 0xf2, true, 5 }, /* extensions */
		{ 0x83, true, 5 },     { 0x84, true, 5 },   { 0x85, true, 0 },
		{ 0x86, true, 1 }, /* opcodes */
		{ 0x87, true, 5 },     { 0x8b, true, 5 },   { 0x8c, true, 0 },
		{ 0x8f, true, 125 }, /* that are none */
		{ 0x89, true, 126 },   { 0x8a, true, 126 }, { 0x88, true, 126 },
		{ 0x89, true, 65535 }, /* long control */
		{ 0x89, true, 65536 }, { 0x09, true, 5 },   { 0x0a, true, 5 },
		{ 0x08, true, 2 },                                             /* in pieces */
		{ 0x80, true, 5 },     { 0x00, true, 5 },   { 0x80, true, 0 }, /* pieces of nothing */
	};
	static const uint8_t bytes[65536];
	size_t               count = LEN(frames);
	struct honest        h;

	honest_begin(&h, NULL);
	for (size_t i = 0; i < count; i++) {
		struct ws_client *c = tunnel_connect(h.s->tunnel_port, NULL);

		ws_client_send_frame(c, frames[i].first_byte, frames[i].masked, bytes, frames[i].len);
		expect_refused(&h, c);
	}

	/* A new message in the middle of one. */
	struct ws_client *c = tunnel_connect(h.s->tunnel_port, NULL);

	ws_client_send_frame(c, WS_CLIENT_BINARY, true, bytes, 5);
	ws_client_send_frame(c, WS_CLIENT_FINAL | WS_CLIENT_BINARY, true, bytes, 5);
	expect_refused(&h, c);
	cr_expect_eq(server_metric(h.s, "coopd_ws_closed_total", "protocol"), (double)(count + 1));
	honest_finish(&h);
}

Test(serve_hostile, a_frame_of_any_claimed_length_is_bounded)
{
	static const unsigned firsts[] = { 0x82, 0x02, 0x81, 0x89, 0x88, 0x80 };
	struct honest         h;

	honest_begin(&h, NULL);
	for (size_t i = 0; i < LEN(firsts); i++)
		for (int bit = 17; bit < 64; bit += 2) {
			struct ws_client *c = tunnel_connect(h.s->tunnel_port, NULL);

			ws_client_send_head(c, firsts[i], UINT64_C(1) << bit);
			ws_client_send_raw(c, "payload of it", 13);
			ws_expect_closed(c);
			ws_client_free(c);
		}
	honest_finish(&h);
}

Test(serve_hostile, pieces_without_end_end_at_the_limit_of_a_message)
{
	struct honest     h;
	struct ws_client *c;
	uint8_t           pieces[700];
	size_t            sent = 0;

	/* A hundred pieces of one byte each, to be sent again and again. */
	for (size_t i = 0; i < 100; i++)
		memcpy(pieces + 7 * i, "\x00\x81\0\0\0\0\x03", 7);
	honest_begin(&h, NULL);
	c = tunnel_connect(h.s->tunnel_port, NULL);
	ws_client_send_frame(c, WS_CLIENT_BINARY, true, "\x03", 1);
	for (sent = 1; sent <= 65500; sent += 100) {
		cr_assert(ws_client_send_raw(c, pieces, sizeof(pieces)), "closed after %zu bytes", sent);
		if (sent % 10000 == 1)
			honest_play(&h);
	}
	cr_expect_leq(server_metric(h.s, "coopd_ws_partial_bytes", NULL), 65552);
	ws_client_send_raw(c, pieces, sizeof(pieces));
	expect_refused(&h, c);

	/* Empty ones add up to nothing, but a message must be whole within a minute. */
	c = ws_client_open(h.s->tunnel_port, NULL);
	ws_client_send(c, "01 02 (33)x16");
	ws_expect(c, "02 *");
	ws_client_send_frame(c, WS_CLIENT_BINARY, true, "", 0);
	for (size_t i = 0; i < 100; i++)
		memcpy(pieces + 6 * i, "\x00\x80\0\0\0\0", 6);
	for (int second = 0; second < 61; second += 20) {
		for (int i = 0; i < 100; i++)
			ws_client_send_raw(c, pieces, 600);
		honest_play(&h);
		cr_expect_leq(server_metric(h.s, "coopd_ws_partial_bytes", NULL), 64 * KIB);
		server_advance(h.s, 20000);
	}
	ws_expect_end(c);
	ws_client_free(c);
	honest_finish(&h);
}

/* Pings */

/* A helping of pings of 125 bytes, whose payload is all zeros. */
static const uint8_t *pings(size_t *len)
{
	static uint8_t bytes[500 * 131];

	for (size_t i = 0; i < sizeof(bytes); i += 131)
		memcpy(bytes + i, "\x89\xfd", 2);
	*len = sizeof(bytes);
	return bytes;
}

Test(serve_hostile, a_flood_of_pings_is_answered_to_whoever_reads)
{
	struct honest     h;
	struct ws_client *c;
	size_t            len, answered = 0;
	const uint8_t    *flood = pings(&len);

	honest_begin(&h, NULL);
	c = tunnel_connect(h.s->tunnel_port, NULL);
	for (int i = 0; i < 20; i++) {
		cr_assert(ws_client_send_raw(c, flood, len));
		tunnel_echo(h.friend);
		for (int n = 0; n < 500; n++, answered++) {
			struct ws_client_event e = ws_client_receive(c, DIAL_PATIENCE_MS);

			cr_assert(e.what == WS_PONG && e.len == 125, "after %zu pongs", answered);
		}
		honest_play(&h);
	}
	tunnel_echo(c);
	ws_client_free(c);
	honest_finish(&h);
}

/* A helping of ECHOs, each answered with 16 bytes. */
static const uint8_t *echoes(size_t *len)
{
	static uint8_t bytes[3000 * 22];

	for (size_t i = 0; i < sizeof(bytes); i += 22)
		memcpy(bytes + i, "\x82\x90\0\0\0\0\x03", 7);
	*len = sizeof(bytes);
	return bytes;
}

/* Sends 20 MB of what asks for an answer, and reads none. */
static void flood_unread(const uint8_t *flood, size_t len)
{
	struct honest     h;
	struct ws_client *c;

	honest_begin(&h, NULL);
	c = ws_client_open(h.s->tunnel_port, &(struct ws_client_options){ .rcvbuf_bytes = 4096 });
	for (int i = 0; i < 300; i++) {
		cr_assert(ws_client_send_raw(c, flood, len), "after %d helpings", i);
		if (i % 20)
			continue;
		honest_play(&h);
		cr_expect_leq(server_metric(h.s, "coopd_ws_queued_bytes", NULL), BACKLOG_BYTES);
	}
	cr_expect_gt(server_metric(h.s, "coopd_ws_datagrams_dropped_total", NULL), 100000);
	ws_client_free(c);
	honest_finish(&h);
}

Test(serve_hostile, a_flood_of_pings_from_whoever_does_not_read_costs_no_more_than_a_backlog)
{
	size_t         len;
	const uint8_t *flood = pings(&len);

	flood_unread(flood, len);
}

Test(serve_hostile, and_so_does_a_flood_of_echoes)
{
	size_t         len;
	const uint8_t *flood = echoes(&len);

	flood_unread(flood, len);
}
