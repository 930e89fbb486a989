/*
 * WebSocket connections over real sockets: the handshake, messages, closing, and what strangers send instead.
 */
#include "net/ws.h"

#include "base/metric.h"
#include "support/dial.h"
#include "support/other_end.h"
#include "support/ws_client.h"
#include "support/ws_fixture.h"

#include <criterion/criterion.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define KEY      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
#define UPGRADE  "Host: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
#define GOOD     "GET / HTTP/1.1\r\n" UPGRADE KEY
#define ACCEPTED "HTTP/1.1 101 "

static struct ws_fixture f;

static void prepare(void)
{
	ws_fixture_init(&f);
}

static void stop(void)
{
	ws_fixture_stop(&f);
}

TestSuite(ws, .init = prepare, .fini = stop, .timeout = 60);

/* Everything the server says until it ends the connection, at most a deadline long. */
static size_t hear_out(int fd, char *out, size_t cap)
{
	int64_t until = real_now_ms() + DIAL_PATIENCE_MS;
	size_t  len   = 0;
	ssize_t got;

	while (len < cap - 1 && (got = dial_read(fd, out + len, cap - 1 - len, until)) > 0)
		len += (size_t)got;
	out[len] = '\0';
	return len;
}

/* The status of the answer to this request; 0: closed without one, by a reset perhaps. The connection must end. */
static int ask(const char *request, size_t len)
{
	char answer[4096];
	int  fd     = ws_fixture_dial(&f, "127.0.0.1");
	int  status = 0;

	cr_assert(dial_send(fd, request, len, DIAL_PATIENCE_MS));
	hear_out(fd, answer, sizeof(answer));
	close(fd);
	sscanf(answer, "HTTP/1.1 %3d", &status);
	return status;
}

static int ask_text(const char *request)
{
	return ask(request, strlen(request));
}

Test(ws, an_upgrade_is_accepted_without_subprotocol_and_extension)
{
	static const char                                request[] =
		"GET /any/path?x=1 HTTP/1.1\r\n" UPGRADE KEY
		"User-Agent: CrysisCoop/2\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n";
	static const char expected[] = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\n"
				       "Connection: Upgrade\r\n"
				       "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";
	char              answer[sizeof(expected)];
	size_t            len = 0;

	ws_fixture_start(&f);
	int fd = ws_fixture_dial(&f, "127.0.0.1");
	cr_assert(dial_send(fd, request, strlen(request), DIAL_PATIENCE_MS));
	while (len < sizeof(expected) - 1) {
		ssize_t got = dial_read(fd, answer + len, sizeof(answer) - 1 - len, real_now_ms() + DIAL_PATIENCE_MS);

		cr_assert_gt(got, 0);
		len += (size_t)got;
	}
	answer[len] = '\0';
	cr_expect_str_eq(answer, expected);
	close(fd);
}

Test(ws, messages_come_and_go_as_single_binary_frames)
{
	ws_fixture_start(&f);
	struct ws_client *c = ws_client_open(f.port, NULL);

	ws_client_send(c, "01 02 03");
	ws_expect(c, "01 02 03");
	ws_client_send_frame(c, WS_CLIENT_FINAL | WS_CLIENT_TEXT, true, "text", 4);
	ws_expect(c, "74 65 78 74");
	ws_client_send_frame(c, WS_CLIENT_FINAL | WS_CLIENT_BINARY, true, "", 0);
	ws_client_send_frame(c, WS_CLIENT_BINARY, true, "ab", 2);
	ws_client_ping(c, "mid");
	ws_client_send_frame(c, WS_CLIENT_FINAL | WS_CLIENT_CONTINUE, true, "cd", 2);
	ws_expect_pong(c, "mid");
	ws_expect(c, "61 62 63 64");
	cr_expect_eq(f.messages, 3);
	ws_client_free(c);
}

/* The status of the answer to a request that may be accepted; 0: closed without one. */
static int upgrade_with(const char *request)
{
	struct ws_client *c          = ws_client_dial(f.port, NULL);
	char              answer[16] = "";
	int               status     = 0;

	ws_client_send_raw(c, request, strlen(request));
	if (dial_read(c->fd, answer, sizeof(answer) - 1, real_now_ms() + DIAL_PATIENCE_MS) > 0)
		sscanf(answer, "HTTP/1.1 %3d", &status);
	ws_client_free(c);
	return status;
}

Test(ws, an_upgrade_may_have_any_path_and_any_further_field)
{
	static const char *const requests[] = {
		GOOD "\r\n",
		"GET / HTTP/1.1\nHost: a\nupgrade:WEBSOCKET\nconnection: keep-alive, Upgrade\n"
		"Sec-WebSocket-Version: 13\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\n\n",
		"GET / HTTP/1.1\r\n" UPGRADE "Sec-WebSocket-Key: x\r\n\r\n",
		GOOD "Cookie: a=b\r\nCookie: c=d\r\nX-Whatever: 1\r\nX-Whatever: 2\r\n\r\n",
		"GET /a/b/c?d=e&f HTTP/1.1\r\n" UPGRADE KEY "\r\n",
	};

	ws_fixture_start(&f);
	for (size_t i = 0; i < COUNT_OF(requests); i++)
		cr_expect_eq(upgrade_with(requests[i]), 101, "%s", requests[i]);
}

Test(ws, a_stream_cut_into_single_bytes_means_the_same)
{
	static const char    head[]   = GOOD "\r\n";
	static const uint8_t frames[] = { 0x82, 0x83, 1,    2,    3, 4, 'a' ^ 1, 'b' ^ 2, 'c' ^ 3, 0x89, 0x81, 0,  0, 0,
		                          0,    'p',  0x82, 0xfe, 0, 2, 0,       0,       0,       0,    'd',  'e' };

	ws_fixture_start(&f);
	struct ws_client *c = ws_client_dial(f.port, NULL);

	char answer[12];
	for (size_t i = 0; i < sizeof(head) - 2; i++)
		cr_assert(ws_client_send_raw(c, head + i, 1));
	ws_expect_nothing(c, 20);
	cr_assert(ws_client_send_raw(c, "\n", 1));
	cr_assert_eq(dial_read(c->fd, answer, sizeof(answer), real_now_ms() + DIAL_PATIENCE_MS), sizeof(answer));
	cr_expect_arr_eq(answer, "HTTP/1.1 101", sizeof(answer));
	ws_client_free(c);

	c = ws_client_open(f.port, NULL);
	for (size_t i = 0; i < sizeof(frames); i++)
		cr_assert(ws_client_send_raw(c, frames + i, 1));
	ws_expect(c, "61 62 63");
	ws_expect_pong(c, "p");
	ws_expect(c, "64 65");
	ws_client_free(c);
}

/* Clients should wait for the answer, and those that do not must not hang. */
Test(ws, whole_messages_right_behind_the_head_are_heard)
{
	static const char together[] = GOOD "\r\n\x82\x81\0\0\0\0Z\x82\x82\0\0\0\0YX";
	char              out[512];
	size_t            len = 0;

	ws_fixture_start(&f);
	int fd = ws_fixture_dial(&f, "127.0.0.1");
	cr_assert(dial_send(fd, together, sizeof(together) - 1, DIAL_PATIENCE_MS));
	while (len < 7 || memcmp(out + len - 7, "\x82\x01Z\x82\x02YX", 7) != 0) {
		ssize_t got = dial_read(fd, out + len, sizeof(out) - len, real_now_ms() + DIAL_PATIENCE_MS);

		cr_assert_gt(got, 0, "%zu bytes came", len);
		len += (size_t)got;
	}

	/* And what comes after them is ours to read. */
	cr_assert(dial_send(fd, "\x82\x81\0\0\0\0W", 7, DIAL_PATIENCE_MS));
	cr_assert_eq(dial_read(fd, out, sizeof(out), real_now_ms() + DIAL_PATIENCE_MS), 3);
	cr_expect_arr_eq(out, "\x82\x01W", 3);
	close(fd);
}

Test(ws, a_piece_of_a_message_right_behind_the_head_closes)
{
	static const char together[] = GOOD "\r\n\x82\x85\0\0\0\0abc";
	char              out[512];

	ws_fixture_start(&f);
	int fd = ws_fixture_dial(&f, "127.0.0.1");
	cr_assert(dial_send(fd, together, sizeof(together) - 1, DIAL_PATIENCE_MS));
	hear_out(fd, out, sizeof(out));
	ws_fixture_await(M_WS_CONNECTIONS, 0);
	cr_expect_eq(f.messages, 0);
	cr_expect_eq(f.closed, f.opened);
	close(fd);
}

Test(ws, what_is_no_upgrade_is_refused_and_closed)
{
	static const char *const requests[] = {
		"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET / HTTP/1.1\r\n" UPGRADE "\r\n",
		"GET / HTTP/1.1\r\n" UPGRADE "Sec-WebSocket-Key:\r\n\r\n",
		"POST / HTTP/1.1\r\n" UPGRADE KEY "\r\n",
		"HEAD / HTTP/1.1\r\n" UPGRADE KEY "\r\n",
		"DELETE /\r\n\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"\r\n\r\n",
		"\n\n",
		"nonsense\r\n\r\n",
		"CONNECT a:1 HTTP/1.1\r\n\r\n",
		"CONNECT a:1 HTTP/1.1\r\n" UPGRADE KEY "\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\nUpgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\n"
		"HTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n" KEY "\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\nUpgrade: x\r\nConnection: Upgrade\r\n" KEY "\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n" KEY "\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\nUpgrade: \x80\xff\r\nConnection: Upgrade\r\n" KEY "\r\n",
		"GET / HTTP/1.1\r\n" UPGRADE KEY "Content-Length: 10\r\n\r\n0123456789",
		"GET /../../etc/passwd HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n",
	};

	ws_fixture_start(&f);
	for (size_t i = 0; i < COUNT_OF(requests); i++) {
		int status = ask_text(requests[i]);

		/* The library itself answers some with 403, and hangs up on others. */
		cr_expect(status == 400 || status == 403 || status == 0, "%d for %s", status, requests[i]);
	}
	cr_expect_eq(ask_text("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), 400, "a plain request is told so");
	cr_expect_eq(f.opened, 0);
	ws_fixture_await(M_WS_CONNECTIONS, 0);
}

/* A good head, made just so long. */
static int ask_of_length(size_t len)
{
	static char request[65536] = GOOD "Cookie: ";
	size_t      at             = strlen(GOOD "Cookie: ");

	memset(request + at, 'x', len - at);
	memcpy(request + len - 4, "\r\n\r\n", 5);
	return upgrade_with(request);
}

Test(ws, a_head_of_nearly_8_KiB_is_accepted_and_a_longer_one_is_not)
{
	ws_fixture_start(&f);
	cr_expect_eq(ask_of_length(7900), 101);
	cr_expect_neq(ask_of_length(8193), 101);
	cr_expect_neq(ask_of_length(60000), 101);
	cr_expect_eq(f.opened, 1);
}

Test(ws, a_web_page_is_refused_unless_its_origin_is_allowed)
{
	static char  allowed[] = "https://play.example";
	static char *words[]   = { allowed };

	f.conf.http_allowed_origins = (struct conf_list){ words, 1 };
	ws_fixture_start(&f);
	cr_expect_eq(ask_text(GOOD "Origin: https://evil.example\r\n\r\n"), 403);
	cr_expect_eq(ask_text(GOOD "Origin: null\r\n\r\n"), 403);
	cr_expect_eq(ask_text(GOOD "Origin:\r\n\r\n"), 403, "even one that names nobody");
	cr_expect_eq(ask_text(GOOD "Origin: https://play.example\r\nOrigin: https://evil.example\r\n\r\n"), 403);
	cr_expect_eq(metric_get(M_WS_REFUSED_ORIGIN), 4);

	struct ws_client_options options = { .headers = "Origin: https://play.example\r\n" };
	ws_client_free(ws_client_open(f.port, &options));
}

Test(ws, update_paths_are_not_tunnels)
{
	ws_fixture_start(&f);
	cr_expect_eq(ask_text("GET /update/manifest HTTP/1.1\r\n" UPGRADE KEY "\r\n"), 404);
	cr_expect_eq(ask_text("GET /update/?x HTTP/1.1\r\n" UPGRADE KEY "\r\n"), 404);

	struct ws_client_options options = { .path = "/update" };
	ws_client_free(ws_client_open(f.port, &options));
}

static void look_at_client(struct ws_fixture *fixture, void *arg)
{
	char text[ADDR_TEXT_BYTES];

	addr_text(text, ws_conn_client(fixture->conns[fixture->conn_count - 1]));
	snprintf(arg, 128, "%s%s", text,
	         ws_conn_is_forwarded(fixture->conns[fixture->conn_count - 1]) ? " forwarded" : "");
}

static const char *client_with(const char *headers)
{
	static char              text[128];
	struct ws_client_options options = { .headers = headers };
	struct ws_client        *c       = ws_client_open(f.port, &options);

	ws_fixture_do(&f, look_at_client, text);
	ws_client_free(c);
	return text;
}

Test(ws, the_client_behind_a_trusted_proxy_is_the_one_it_names)
{
	ws_fixture_start(&f);
	cr_expect_str_eq(client_with(NULL), "127.0.0.1");
	cr_expect_str_eq(client_with("X-Forwarded-For: 1.2.3.4\r\n"), "1.2.3.4 forwarded");
	cr_expect_str_eq(client_with("X-Forwarded-For: 9.9.9.9\r\nX-Forwarded-For: 2001:db8::1, 127.0.0.1\r\n"),
	                 "2001:db8::1 forwarded");
	cr_expect_str_eq(client_with("X-Real-IP: 1.2.3.4\r\n"), "127.0.0.1");
	cr_expect_eq(ask_text(GOOD "X-Forwarded-For: somebody\r\n\r\n"), 400);
	cr_expect_eq(metric_get(M_WS_REFUSED_FORWARDED), 1);
}

/* In the library, a field whose name begins one that it knows swallows the next line. */
/* The library would lose the line behind such a field, so the head is refused before it sees it. */
Test(ws, a_client_cannot_hide_what_its_proxy_says_of_it)
{
	static const char *const before[] = { "X-Forwarded: a\r\n", "X: a\r\n", "x-forwarded-fo: a\r\n",
		                              "X-Forwarded:\r\n" };
	char                     request[512];

	ws_fixture_start(&f);
	for (size_t i = 0; i < COUNT_OF(before); i++) {
		snprintf(request, sizeof(request), GOOD "%sX-Forwarded-For: 1.2.3.4\r\n\r\n", before[i]);
		cr_expect_eq(ask_text(request), 400, "%s", before[i]);
	}
	cr_expect_str_eq(client_with("X-Forwarded-For: 1.2.3.4\r\n"), "1.2.3.4 forwarded");
}

Test(ws, another_field_name_counts_with_all_its_lines)
{
	static char name[] = "CF-Connecting-IP";

	f.conf.http_client_address_header = name;
	ws_fixture_start(&f);
	cr_expect_str_eq(client_with("X-Forwarded-For: 1.2.3.4\r\n"), "127.0.0.1");
	cr_expect_str_eq(client_with("cf-connecting-ip: 1.2.3.4\r\nCF-Connecting-IP: 5.6.7.8\r\n"),
	                 "5.6.7.8 forwarded");
}

Test(ws, a_close_frame_is_answered_with_an_empty_one_and_the_end_of_tcp)
{
	ws_fixture_start(&f);
	struct ws_client *c = ws_client_open(f.port, NULL);

	ws_client_close(c, 1000);
	ws_expect_closed(c);
	ws_client_free(c);
	ws_fixture_await(M_WS_CONNECTIONS, 0);
	cr_expect_eq(f.closed, 1);
	cr_expect_eq(metric_get(M_WS_CLOSED_PEER), 1);
}

Test(ws, the_server_closes_with_an_empty_frame_and_waits_for_the_answer)
{
	ws_fixture_start(&f);
	struct ws_client_options options = { .mute = true };
	struct ws_client        *c       = ws_client_open(f.port, &options);

	ws_client_send(c, "43 01");
	ws_client_send(c, "02");
	ws_client_send(c, "58");
	ws_client_send(c, "43 03");
	ws_expect(c, "43 01");
	ws_expect(c, "02");
	cr_expect_eq(ws_client_receive(c, DIAL_PATIENCE_MS).what, WS_CLOSED);
	ws_client_send(c, "43 04");
	ws_expect_nothing(c, 50);
	cr_expect_eq(f.closed, 0);
	cr_expect_eq(f.messages, 3, "nothing is delivered after the close");

	ws_client_close(c, 0);
	ws_expect_end(c);
	ws_client_free(c);
	ws_fixture_await(M_WS_CONNECTIONS, 0);
	cr_expect_eq(f.closed, 1);
}

Test(ws, a_close_that_is_not_answered_ends_in_a_reset)
{
	ws_fixture_start(&f);
	struct ws_client_options options = { .mute = true };
	struct ws_client        *c       = ws_client_open(f.port, &options);

	ws_client_send(c, "58");
	cr_expect_eq(ws_client_receive(c, DIAL_PATIENCE_MS).what, WS_CLOSED);
	ws_fixture_advance(&f, f.conf.limits.ws_close_ms - 500);
	ws_expect_nothing(c, 50);
	ws_fixture_advance(&f, 500);

	struct ws_client_event e = ws_client_receive(c, DIAL_PATIENCE_MS);
	cr_expect_eq(e.what, WS_END);
	cr_expect(e.reset);
	cr_expect_eq(metric_get(M_WS_RESET_CLOSE_LATE), 1);
	ws_client_free(c);
	ws_fixture_await(M_WS_CONNECTIONS, 0);
	cr_expect_eq(f.closed, 1);
}

Test(ws, a_handler_that_says_no_gets_the_connection_closed_and_hears_nothing_more)
{
	f.refuses = true;
	ws_fixture_start(&f);
	struct ws_client *c = ws_client_open(f.port, NULL);

	ws_expect_closed(c);
	ws_client_free(c);
	ws_fixture_await(M_WS_CONNECTIONS, 0);
	cr_expect_eq(f.closed, 0);
}

Test(ws, a_connection_on_which_nothing_is_sent_is_pinged)
{
	ws_fixture_start(&f);
	struct ws_client_options options = { .mute = true };
	struct ws_client        *c       = ws_client_open(f.port, &options);

	ws_fixture_advance(&f, f.conf.limits.ws_ping_ms - 1000);
	ws_client_send(c, "01");
	ws_expect(c, "01");
	ws_fixture_advance(&f, f.conf.limits.ws_ping_ms - 1000);
	ws_expect_nothing(c, 50);
	ws_fixture_advance(&f, 1500);
	cr_expect_eq(ws_client_receive(c, DIAL_PATIENCE_MS).what, WS_PING);
	ws_fixture_advance(&f, f.conf.limits.ws_ping_ms);
	cr_expect_eq(ws_client_receive(c, DIAL_PATIENCE_MS).what, WS_PING);
	ws_client_free(c);
}

Test(ws, broken_frames_end_the_connection_with_an_empty_close)
{
	static const struct {
		unsigned first;
		bool     masked;
		size_t   len;
	} cases[] = {
		{ WS_CLIENT_FINAL | WS_CLIENT_BINARY, false, 3 },
		{ WS_CLIENT_FINAL | 0x40 | WS_CLIENT_BINARY, true, 3 },
		{ WS_CLIENT_FINAL | 0x20 | WS_CLIENT_BINARY, true, 3 },
		{ WS_CLIENT_FINAL | 3, true, 3 },
		{ WS_CLIENT_FINAL | 15, true, 3 },
		{ WS_CLIENT_PING, true, 3 },
		{ WS_CLIENT_FINAL | WS_CLIENT_PING, true, 126 },
		{ WS_CLIENT_FINAL | WS_CLIENT_CONTINUE, true, 3 },
	};
	static const uint8_t payload[200];

	ws_fixture_start(&f);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct ws_client *c = ws_client_open(f.port, NULL);

		ws_client_send_frame(c, cases[i].first, cases[i].masked, payload, cases[i].len);
		ws_client_send(c, "01");
		ws_expect_closed(c);
		ws_client_free(c);
	}
	ws_fixture_await(M_WS_CONNECTIONS, 0);
	cr_expect_eq(f.messages, 0);
	cr_expect_eq(f.closed, COUNT_OF(cases));
	cr_expect_eq(metric_get(M_WS_CLOSED_PROTOCOL), COUNT_OF(cases));
}

Test(ws, the_longest_message_passes_and_a_longer_one_closes_before_its_payload_is_there)
{
	static uint8_t message[WS_MESSAGE_BYTES_MAX];

	message[0] = 'D';
	ws_fixture_start(&f);
	struct ws_client *c = ws_client_open(f.port, NULL);
	ws_client_send_bytes(c, message, sizeof(message));
	struct ws_client_event e = ws_client_receive(c, DIAL_PATIENCE_MS);
	cr_expect_eq(e.what, WS_MESSAGE);
	cr_expect_eq(e.len, sizeof(message));

	ws_client_send_head(c, WS_CLIENT_FINAL | WS_CLIENT_BINARY, WS_MESSAGE_BYTES_MAX + 1);
	ws_expect_closed(c);
	ws_client_free(c);

	c = ws_client_open(f.port, NULL);
	ws_client_send_head(c, WS_CLIENT_FINAL | WS_CLIENT_BINARY, UINT64_C(1) << 63);
	ws_expect_closed(c);
	ws_client_free(c);
	cr_expect_eq(metric_get(M_WS_CLOSED_TOO_BIG), 2);
}

Test(ws, peers_that_vanish_in_any_phase_leave_nothing_behind)
{
	ws_fixture_start(&f);
	for (int phase = 0; phase < 6; phase++) {
		struct ws_client_options options = { .mute = true };
		struct ws_client *c = phase < 2 ? ws_client_dial(f.port, NULL) : ws_client_open(f.port, &options);

		if (phase == 1)
			ws_client_send_raw(c, "GET / HT", 8);
		else if (phase == 3)
			ws_client_send_head(c, WS_CLIENT_FINAL | WS_CLIENT_BINARY, 5000);
		else if (phase == 4)
			ws_client_send(c, "58");
		else if (phase == 5)
			ws_client_close(c, 1000);
		ws_fixture_await(M_WS_ACCEPTED, phase + 1);
		ws_client_drop(c);
		ws_client_free(c);
		ws_fixture_await(M_WS_CONNECTIONS, 0);
	}
	cr_expect_eq(f.opened, 4);
	cr_expect_eq(f.closed, 4);
}

Test(ws, a_peer_that_only_ends_its_tcp_is_gone)
{
	ws_fixture_start(&f);
	struct ws_client *c = ws_client_open(f.port, NULL);

	shutdown(c->fd, SHUT_WR);
	ws_expect_end(c);
	ws_client_free(c);
	ws_fixture_await(M_WS_CONNECTIONS, 0);
	cr_expect_eq(f.closed, 1);
}

Test(ws, stopping_closes_everybody_and_ends_at_once_when_they_answer)
{
	ws_fixture_start(&f);
	struct ws_client *half = ws_client_dial(f.port, NULL);
	ws_client_send_raw(half, "GET /", 5);
	ws_fixture_await(M_WS_ACCEPTED, 1);

	/* This process is the client too: it has to answer while it waits, so the socket does it. */
	struct ws_client *c = ws_client_open(f.port, NULL);
	shutdown(c->fd, SHUT_WR);
	int64_t began_ms = real_now_ms();
	ws_fixture_stop(&f);
	cr_expect_lt(real_now_ms() - began_ms, 2000);
	ws_expect_end(half);
	ws_client_free(half);
	ws_client_free(c);
	cr_expect_eq(metric_get(M_WS_CONNECTIONS), 0);
}

Test(ws, stopping_does_not_wait_for_the_silent)
{
	f.conf.limits.ws_close_ms = 300;
	ws_fixture_start(&f);
	struct ws_client_options options = { .mute = true };
	struct ws_client        *c       = ws_client_open(f.port, &options);

	int64_t began_ms = real_now_ms();
	ws_fixture_stop(&f);
	cr_expect_lt(real_now_ms() - began_ms, 3000);
	cr_expect_eq(f.closed, 1);
	cr_expect_eq(ws_client_receive(c, 0).what, WS_CLOSED);
	ws_client_free(c);
}

/* What only the part can do */

static void send_text(struct ws_fixture *on, void *arg)
{
	(void)arg;
	ws_send_text(on->conns[0], "t\xc3\xa4xt", 5);
	ws_send(on->conns[0], "bytes", 5);
}

Test(ws, a_message_may_be_sent_as_text)
{
	struct ws_client_options o = { .takes_text = true };
	struct ws_client_event   e;

	ws_fixture_start(&f);
	struct ws_client *c = ws_client_open(f.port, &o);

	ws_fixture_do(&f, send_text, NULL);
	e = ws_client_receive(c, DIAL_PATIENCE_MS);
	cr_expect(e.what == WS_MESSAGE && e.is_text && e.len == 5 && memcmp(e.data, "t\xc3\xa4xt", 5) == 0);
	e = ws_client_receive(c, DIAL_PATIENCE_MS);
	cr_expect(e.what == WS_MESSAGE && !e.is_text && e.len == 5 && memcmp(e.data, "bytes", 5) == 0);
	ws_client_free(c);
}

static void send_and_flush(struct ws_fixture *on, void *arg)
{
	(void)arg;
	ws_send(on->conns[0], "now", 3);
	cr_expect_gt(ws_conn_queued(on->conns[0]), 0);
	ws_flush(on->conns[0]);
	cr_expect_eq(ws_conn_queued(on->conns[0]), 0);
}

Test(ws, what_is_flushed_does_not_wait_for_the_end_of_the_turn)
{
	ws_fixture_start(&f);
	struct ws_client *c = ws_client_open(f.port, NULL);

	ws_fixture_do(&f, send_and_flush, NULL);
	ws_expect(c, "6e 6f 77");
	ws_client_free(c);
}

static void fill_and_reset(struct ws_fixture *on, void *arg)
{
	static char much[200000];

	(void)arg;
	ws_send(on->conns[0], much, sizeof(much));
	ws_reset(on->conns[0]);
	cr_expect_eq(ws_conn_queued(on->conns[0]), 0);
}

Test(ws, a_reset_is_the_end_at_once_whatever_waits)
{
	ws_fixture_start(&f);
	struct ws_client *c = ws_client_open(f.port, NULL);

	ws_fixture_do(&f, fill_and_reset, NULL);

	struct ws_client_event e = ws_client_receive(c, DIAL_PATIENCE_MS);

	cr_expect(e.what == WS_END && e.reset);
	ws_fixture_await(M_WS_CONNECTIONS, 0);
	cr_expect_eq(f.closed, 1);
	ws_client_free(c);
}

static void set_socket(struct ws_fixture *on, void *arg)
{
	ws_set_socket(on->conns[0], arg);
}

static int option(int fd, int level, int name)
{
	int       value = -1;
	socklen_t len   = sizeof(value);

	getsockopt(fd, level, name, &value, &len);
	return value;
}

Test(ws, a_part_may_say_how_its_sockets_are_treated)
{
	struct accept_socket want = {
		.sndbuf_bytes = 32768, .keepalive_idle_s = 30, .keepalive_interval_s = 5, .keepalive_probes = 9
	};

	ws_fixture_start(&f);
	struct ws_client *c      = ws_client_open(f.port, NULL);
	int               theirs = other_end(c->fd);

	ws_fixture_do(&f, set_socket, &want);
	cr_expect_eq(option(theirs, SOL_SOCKET, SO_SNDBUF), 2 * 32768, "the kernel doubles it");
	cr_expect_eq(option(theirs, SOL_SOCKET, SO_KEEPALIVE), 1);
	cr_expect_eq(option(theirs, IPPROTO_TCP, TCP_KEEPIDLE), 30);
	cr_expect_eq(option(theirs, IPPROTO_TCP, TCP_KEEPINTVL), 5);
	cr_expect_eq(option(theirs, IPPROTO_TCP, TCP_KEEPCNT), 9);
	ws_client_free(c);
}

Test(ws, accepted_sockets_send_at_once_and_keep_little_unsent)
{
	int       on = 1, unsent = 65536, value = 0;
	socklen_t len = sizeof(value);
	int       listener, fd;

	/* What the server relies on: these are inherited from the listening socket. */
	struct sockaddr_in me     = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t          me_len = sizeof(me);
	listener                  = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	fd                        = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(listener, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof(unsent));
	cr_assert_eq(bind(listener, (struct sockaddr *)&me, sizeof(me)), 0);
	cr_assert_eq(listen(listener, 1), 0);
	cr_assert_eq(getsockname(listener, (struct sockaddr *)&me, &me_len), 0);
	cr_assert_eq(connect(fd, (struct sockaddr *)&me, sizeof(me)), 0);
	int accepted = accept(listener, NULL, NULL);
	cr_assert_geq(accepted, 0);
	cr_assert_eq(getsockopt(accepted, IPPROTO_TCP, TCP_NODELAY, &value, &len), 0);
	cr_expect_neq(value, 0);
	cr_assert_eq(getsockopt(accepted, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &value, &len), 0);
	cr_expect_eq(value, 65536);
	close(accepted);
	close(fd);
	close(listener);
}
