/*
 * How connections end, and when: closes from either side, deadlines, and the pings that keep idle ones alive.
 */
#include "support/await.h"
#include "support/server.h"
#include "support/tunnel_client.h"

#include <criterion/criterion.h>

#include <string.h>
#include <sys/socket.h>

#define BINARY (WS_CLIENT_FINAL | WS_CLIENT_BINARY)
#define CLOSE  (WS_CLIENT_FINAL | WS_CLIENT_CLOSE)

#define DUE_WITHIN_MS 1000

static const struct ws_client_options mute = { .mute = true };

/* The connection is as it was: nothing came, and it still answers. */
static void expect_open(struct ws_client *c)
{
	ws_expect_nothing(c, 30);
	tunnel_echo(c);
}

/* What is due is not long in coming: a deadline that is a second too late is seen. */
static void expect_what(struct ws_client *c, enum ws_client_what what, bool reset)
{
	struct ws_client_event e = ws_client_receive(c, DUE_WITHIN_MS);
	char                   got[500];

	cr_assert(e.what == what && e.reset == reset, "got %s", ws_client_show(got, sizeof(got), &e));
}

/* Closing */

Test(serve_close, a_close_frame_is_answered_with_an_empty_one_and_the_end_of_tcp)
{
	static const struct {
		const char *payload;
		size_t      len;
	} closes[]       = { { "", 0 }, { "\x03\xe8", 2 }, { "\x03\xe8 bye", 6 }, { "\x13\x87", 2 }, { "\x03", 1 } };
	struct server *s = server_start(NULL);

	for (size_t i = 0; i < sizeof(closes) / sizeof(closes[0]); i++) {
		struct ws_client *c = tunnel_connect(s->tunnel_port, NULL);

		c->close_sent = true;
		ws_client_send_frame(c, CLOSE, true, closes[i].payload, closes[i].len);
		ws_expect_closed(c);
		ws_client_free(c);
	}
	server_await_metric(s, "coopd_ws_connections", NULL, 0, 5000);
	cr_expect_eq(server_metric(s, "coopd_ws_reset_total", NULL), 0);
	server_finish(s);
}

Test(serve_close, what_follows_a_close_frame_means_nothing)
{
	struct server    *s = server_start(NULL);
	uint32_t          code;
	struct ws_client *host   = host_open(s->tunnel_port, "A", &code);
	struct ws_client *friend = friend_join(s->tunnel_port, code, "visit", "B");
	uint8_t bytes[]          = { CLOSE, 0x80, 0, 0, 0, 0, BINARY, 0x83, 0, 0, 0, 0, 10, 'h', 'i' };

	host_expect_friend(host, 1, "B");
	friend->close_sent = true;
	ws_client_send_raw(friend, bytes, sizeof(bytes));
	ws_expect_closed(friend);
	expect_open(host);
	ws_client_free(friend);
	ws_client_free(host);
	server_finish(s);
}

Test(serve_close, a_peer_that_does_not_answer_a_close_is_reset_after_5_s)
{
	struct server    *s = server_start(NULL);
	struct ws_client *c = ws_client_open(s->tunnel_port, &mute);

	ws_client_send(c, "01 09");
	ws_expect(c, "07 02");
	expect_what(c, WS_CLOSED, false);

	/* It may say what it likes in the meantime. */
	ws_client_send(c, "03 01");
	ws_client_ping(c, "anybody there?");
	server_advance(s, 4900);
	ws_expect_nothing(c, 50);
	server_advance(s, 100);
	expect_what(c, WS_END, true);
	server_await_metric(s, "coopd_ws_connections", NULL, 0, 5000);
	cr_expect_eq(server_metric(s, "coopd_ws_reset_total", NULL), 1);
	ws_client_free(c);
	server_finish(s);
}

Test(serve_close, a_peer_that_answers_a_close_but_keeps_tcp_open_is_let_go_after_5_s)
{
	struct server    *s   = server_start(NULL);
	int               fds = server_fd_count(s);
	struct ws_client *c   = ws_client_open(s->tunnel_port, &mute);
	uint8_t           byte;

	ws_client_send(c, "01 09");
	ws_expect(c, "07 02");
	expect_what(c, WS_CLOSED, false);
	ws_client_close(c, 0);
	cr_assert_eq(dial_read(c->fd, &byte, 1, real_now_ms() + DIAL_PATIENCE_MS), 0, "the server's side of TCP ends");
	server_advance(s, 4000);
	cr_expect_eq(server_metric(s, "coopd_ws_connections", NULL), 1);
	server_advance(s, 1000);
	server_await_metric(s, "coopd_ws_connections", NULL, 0, 5000);
	await_fds(s, fds);
	ws_client_free(c);
	server_finish(s);
}

Test(serve_close, a_peer_that_only_ends_its_side_of_tcp_is_gone)
{
	struct server    *s = server_start(NULL);
	uint32_t          code;
	struct ws_client *host   = host_open(s->tunnel_port, "A", &code);
	struct ws_client *friend = friend_join(s->tunnel_port, code, "visit", "B");

	host_expect_friend(host, 1, "B");
	shutdown(host->fd, SHUT_WR);
	friend_expect_state(friend, STATE_LOST);
	ws_expect_end(host);
	ws_client_free(host);
	ws_client_free(friend);
	server_finish(s);
}

/* Deadlines */

Test(serve_close, a_connection_without_a_role_has_10_s)
{
	struct server    *s = server_start(NULL);
	struct ws_client *c = tunnel_connect(s->tunnel_port, NULL);

	/* Messages that are no role give no more time. */
	for (int i = 0; i < 3; i++) {
		server_advance(s, 3000);
		expect_open(c);
		ws_client_ping(c, "me");
		ws_expect_pong(c, "me");
		ws_client_send(c, "0a 'datagram'");
	}
	server_advance(s, 1000);
	expect_what(c, WS_CLOSED, false);
	cr_expect_eq(server_metric(s, "coopd_tunnel_closed_total", "role_late"), 1);
	ws_client_free(c);
	server_finish(s);
}

Test(serve_close, a_role_said_in_time_has_no_deadline)
{
	struct server    *s = server_start(NULL);
	struct ws_client *c = tunnel_connect(s->tunnel_port, NULL);

	server_advance(s, 9000);
	expect_open(c);
	ws_client_send(c, "01 02 (00)x16");
	ws_expect(c, "02 *");
	server_advance(s, 10000);
	expect_open(c);
	ws_client_free(c);
	server_finish(s);
}

Test(serve_close, a_handshake_has_10_s)
{
	static const char half[] = "GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhl";
	struct server    *s      = server_start(NULL);
	struct ws_client *silent = ws_client_dial(s->tunnel_port, NULL);
	struct ws_client *stuck  = ws_client_dial(s->tunnel_port, NULL);
	struct ws_client *slow   = ws_client_dial(s->tunnel_port, NULL);

	ws_client_send_raw(stuck, half, strlen(half));
	for (int i = 0; i < 9; i++) {
		ws_client_send_raw(slow, half + i, 1);
		real_sleep_ms(2);
		server_advance(s, 1000);
	}
	ws_expect_nothing(silent, 50);
	ws_expect_nothing(stuck, 1);
	ws_expect_nothing(slow, 1);
	server_advance(s, 1000);
	cr_expect_eq(ws_client_receive(silent, DUE_WITHIN_MS).what, WS_END);
	cr_expect_eq(ws_client_receive(stuck, DUE_WITHIN_MS).what, WS_END);
	cr_expect_eq(ws_client_receive(slow, DUE_WITHIN_MS).what, WS_END);
	cr_expect_eq(server_metric(s, "coopd_ws_closed_total", "upgrade_late"), 3);
	ws_client_free(silent);
	ws_client_free(stuck);
	ws_client_free(slow);
	server_finish(s);
}

Test(serve_close, a_handshake_in_pieces_is_as_good_as_one_in_time)
{
	static const char head[] = "GET /any/path?query HTTP/1.1\r\nhost: x\r\nconnection: keep-alive, Upgrade\r\n"
				   "UPGRADE: WebSocket\r\nSec-WebSocket-Version: 13\r\n"
				   "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
	struct server    *s      = server_start(NULL);
	struct ws_client *c      = ws_client_dial(s->tunnel_port, NULL);

	for (size_t i = 0; i < strlen(head); i++) {
		ws_client_send_raw(c, head + i, 1);
		if (i % 16 == 0)
			real_sleep_ms(1);
	}

	/* What comes back is not looked at again; that it is a connection is what counts. */
	char   answer[1024];
	size_t len = 0;

	while (!memmem(answer, len, "\r\n\r\n", 4)) {
		ssize_t got = dial_read(c->fd, answer + len, sizeof(answer) - len, real_now_ms() + DIAL_PATIENCE_MS);

		cr_assert_gt(got, 0);
		len += (size_t)got;
	}
	cr_assert_eq(strncmp(answer, "HTTP/1.1 101 ", 13), 0);
	tunnel_echo(c);
	ws_client_free(c);
	server_finish(s);
}

Test(serve_close, a_message_must_be_whole_within_a_minute)
{
	struct server    *s      = server_start((const char *[]){ "limits.tunnel_role_ms=600000", NULL });
	struct ws_client *pieces = tunnel_connect(s->tunnel_port, NULL);
	struct ws_client *frame  = tunnel_connect(s->tunnel_port, NULL);
	struct ws_client *whole  = tunnel_connect(s->tunnel_port, NULL);

	ws_client_send_head(frame, BINARY, 1000);
	for (int i = 0; i < 59; i++) {
		ws_client_send_frame(pieces, i ? WS_CLIENT_CONTINUE : WS_CLIENT_BINARY, true, "\x03", 1);
		ws_client_send_raw(frame, "\0", 1);
		if (i % 10 == 0)
			tunnel_echo(whole);
		server_advance(s, 1000);
	}
	ws_expect_nothing(pieces, 50);
	server_advance(s, 1000);
	expect_what(pieces, WS_CLOSED, false);

	/* In the middle of its frame it cannot answer a close. */
	expect_what(frame, WS_CLOSED, false);
	server_advance(s, 5000);
	ws_expect_end(frame);
	tunnel_echo(whole);
	cr_expect_eq(server_metric(s, "coopd_ws_closed_total", "slow_message"), 2);
	ws_client_free(pieces);
	ws_client_free(frame);
	ws_client_free(whole);
	server_finish(s);
}

/* Pings */

Test(serve_close, a_connection_to_which_nothing_was_sent_for_20_s_gets_a_ping)
{
	struct server    *s    = server_start(NULL);
	struct ws_client *idle = ws_client_open(s->tunnel_port, &mute);
	struct ws_client *busy = ws_client_open(s->tunnel_port, &mute);

	ws_client_send(idle, "01 02 (01)x16");
	ws_client_send(busy, "01 02 (02)x16");
	ws_expect(idle, "02 *");
	ws_expect(busy, "02 *");
	for (int i = 0; i < 4; i++) {
		server_advance(s, 4900);
		tunnel_echo(busy);
		ws_client_send(idle, "10 01"); /* what it says itself is not what a proxy before it counts */
	}
	ws_expect_nothing(idle, 50);
	server_advance(s, 400);
	expect_what(idle, WS_PING, false);
	ws_expect_nothing(busy, 1);

	/* And again after another 20 s. */
	server_advance(s, 19500);
	ws_expect_nothing(idle, 50);
	server_advance(s, 500);
	expect_what(idle, WS_PING, false);
	ws_client_free(idle);
	ws_client_free(busy);
	server_finish(s);
}

Test(serve_close, a_host_who_answers_pings_and_nothing_else_counts_as_lost)
{
	struct server    *s = server_start(NULL);
	uint32_t          code;
	struct ws_client *host   = host_open(s->tunnel_port, "A", &code);
	struct ws_client *friend = friend_join(s->tunnel_port, code, "visit", "B");

	host_expect_friend(host, 1, "B");
	for (int i = 0; i < 4; i++) {
		server_advance(s, 11000);
		tunnel_echo(friend);
		ws_client_ping(host, "alive");
		ws_expect_pong(host, "alive");
	}
	server_advance(s, 6000);
	friend_expect_state(friend, STATE_LOST);
	ws_expect_closed(host);
	ws_client_free(host);
	ws_client_free(friend);
	server_finish(s);
}
