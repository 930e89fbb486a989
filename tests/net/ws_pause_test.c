/*
 * Connections that are paused, that wait for their output to be taken, and that another part takes over.
 */
#include "net/ws.h"

#include "support/dial.h"
#include "support/ws_client.h"
#include "support/ws_fixture.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct ws_fixture f;

static void prepare(void)
{
	ws_fixture_init(&f);
}

static void stop(void)
{
	ws_fixture_stop(&f);
}

TestSuite(ws_pause, .init = prepare, .fini = stop, .timeout = 60);

static void pause_all(struct ws_fixture *fixture, void *arg)
{
	(void)arg;
	for (size_t i = 0; i < fixture->conn_count; i++)
		if (fixture->conns[i])
			ws_pause(fixture->conns[i]);
}

static void resume_all(struct ws_fixture *fixture, void *arg)
{
	(void)arg;
	for (size_t i = 0; i < fixture->conn_count; i++)
		if (fixture->conns[i])
			ws_resume(fixture->conns[i]);
}

Test(ws_pause, messages_wait_and_come_in_their_order)
{
	ws_fixture_start(&f);
	struct ws_client *c = ws_client_open(f.port, NULL);

	ws_fixture_do(&f, pause_all, NULL);
	for (int i = 0; i < 3; i++)
		cr_assert(ws_client_send_bytes(c, &"C123"[i], 4 - (size_t)i) || i);
	ws_expect_nothing(c, 100);
	ws_fixture_do(&f, resume_all, NULL);
	ws_expect(c, "43 31 32 33");
	ws_expect(c, "31 32 33");
	ws_expect(c, "32 33");
	ws_client_free(c);
}

Test(ws_pause, what_was_read_with_the_message_that_paused_is_kept)
{
	static const uint8_t frames[] = { 0x82, 0x81, 0,    0, 0, 0, 'P', 0x82, 0x82, 0,    0,    0, 0, 'P',
		                          '2',  0x82, 0x82, 0, 0, 0, 0,   'C',  '3',  0x82, 0x82, 0, 0, 0 };
	static const uint8_t rest[]   = { 0, 'C', '4' };

	ws_fixture_start(&f);
	struct ws_client *c = ws_client_open(f.port, NULL);

	cr_assert(ws_client_send_raw(c, frames, sizeof(frames)));
	ws_expect(c, "50");
	ws_expect_nothing(c, 100);
	ws_fixture_do(&f, resume_all, NULL);
	ws_expect(c, "50 32");
	ws_expect_nothing(c, 100);
	cr_assert(ws_client_send_raw(c, rest, sizeof(rest)));
	ws_expect_nothing(c, 50);
	ws_fixture_do(&f, resume_all, NULL);
	ws_expect(c, "43 33");
	ws_expect(c, "43 34");
	ws_client_free(c);
}

Test(ws_pause, messages_right_behind_the_head_are_kept_too)
{
	static const char    head[]   = "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
					"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
	static const uint8_t frames[] = { 0x82, 0x81, 0, 0, 0, 0, 'P', 0x82, 0x82, 0, 0, 0, 0, 'C', '2' };
	uint8_t              all[sizeof(head) - 1 + sizeof(frames)];
	char                 answer[4096];
	size_t               len = 0;
	int64_t              until;
	int                  fd;

	ws_fixture_start(&f);
	fd = ws_fixture_dial(&f, "127.0.0.1");
	memcpy(all, head, sizeof(head) - 1);
	memcpy(all + sizeof(head) - 1, frames, sizeof(frames));
	cr_assert(dial_send(fd, all, sizeof(all), DIAL_PATIENCE_MS));
	until = real_now_ms() + DIAL_PATIENCE_MS;
	while (f.messages < 1 && real_now_ms() < until)
		real_sleep_ms(1);
	cr_expect_eq(f.messages, 1);
	ws_fixture_do(&f, resume_all, NULL);
	while (f.messages < 2 && real_now_ms() < until)
		real_sleep_ms(1);
	cr_expect_eq(f.messages, 2);
	while (len < 4 || memcmp(answer + len - 4,
	                         "\x82\x02"
	                         "C2",
	                         4) != 0) {
		ssize_t got = dial_read(fd, answer + len, sizeof(answer) - len, until);

		cr_assert_gt(got, 0);
		len += (size_t)got;
	}
	close(fd);
}

Test(ws_pause, a_message_that_was_under_way_gets_its_time_back)
{
	static const uint8_t half[] = { 0x82, 0x82, 0, 0, 0, 0, 'C' };

	ws_fixture_start(&f);
	struct ws_client *c = ws_client_open(f.port, NULL);

	cr_assert(ws_client_send_raw(c, half, sizeof(half)));

	ws_fixture_await(M_WS_PARTIAL_BYTES, 1024);
	ws_fixture_do(&f, pause_all, NULL);
	ws_fixture_advance(&f, f.conf.limits.ws_message_ms * 3);
	ws_fixture_do(&f, resume_all, NULL);
	ws_fixture_advance(&f, f.conf.limits.ws_message_ms - 1000);
	cr_assert(ws_client_send_raw(c, "x", 1));
	ws_expect(c, "43 78");
	ws_client_free(c);
}

Test(ws_pause, the_end_of_a_paused_peer_is_noticed)
{
	ws_fixture_start(&f);
	struct ws_client *c = ws_client_open(f.port, NULL);

	ws_fixture_do(&f, pause_all, NULL);
	ws_client_send(c, "43");
	ws_client_drop(c);
	ws_fixture_await(M_WS_CONNECTIONS, 0);
	ws_client_free(c);
}

static void close_all(struct ws_fixture *fixture, void *arg)
{
	(void)arg;
	ws_close(fixture->conns[0]);
}

Test(ws_pause, a_paused_connection_closes_like_any_other)
{
	ws_fixture_start(&f);
	struct ws_client *c = ws_client_open(f.port, NULL);

	ws_fixture_do(&f, pause_all, NULL);
	ws_client_send(c, "43 31");
	ws_fixture_do(&f, close_all, NULL);
	ws_expect_closed(c);
	ws_client_free(c);
	ws_fixture_await(M_WS_CONNECTIONS, 0);
}

Test(ws_pause, stopping_does_not_wait_for_the_paused)
{
	ws_fixture_start(&f);
	struct ws_client *c = ws_client_open(f.port, NULL);

	ws_client_send(c, "50");
	ws_expect(c, "50");
	ws_client_send(c, "43");
	ws_client_free(c);
	ws_fixture_stop(&f);
	cr_expect_eq(f.closed, 1);
}

/* Output */

static _Atomic int drained;

static void on_drained(void *data, int64_t now_ms)
{
	(void)data;
	(void)now_ms;
	drained++;
}

static void await_drained(int count)
{
	int64_t until = real_now_ms() + DIAL_PATIENCE_MS;

	while (drained != count && real_now_ms() < until)
		real_sleep_ms(1);
	cr_assert_eq(drained, count);
}

static void ask_drained(struct ws_fixture *fixture, void *arg)
{
	int before = drained;

	(void)arg;
	ws_when_drained(fixture->conns[0], on_drained);
	cr_expect_eq(drained, before, "not from inside");
}

enum { LOAD = 60000 };

static void send_much_and_ask(struct ws_fixture *fixture, void *arg)
{
	static uint8_t bytes[LOAD];

	(void)arg;
	ws_send(fixture->conns[0], bytes, sizeof(bytes));
	ws_when_drained(fixture->conns[0], on_drained);
}

Test(ws_pause, who_asks_is_told_once_when_nothing_waits)
{
	ws_fixture_start(&f);
	struct ws_client *c = ws_client_open(f.port, NULL);

	ws_fixture_do(&f, ask_drained, NULL);
	await_drained(1);
	ws_client_send(c, "43");
	ws_expect(c, "43");
	cr_expect_eq(drained, 1);
	ws_client_free(c);
}

Test(ws_pause, who_asks_is_told_when_a_slow_peer_has_taken_it_all)
{
	struct ws_client_options slow  = { .rcvbuf_bytes = 2048 };
	int                      asked = 0;

	ws_fixture_start(&f);
	struct ws_client *c = ws_client_open(f.port, &slow);

	/* Until the sockets hold no more. */
	do {
		ws_fixture_do(&f, send_much_and_ask, NULL);
		real_sleep_ms(20);
		asked++;
	} while (drained == asked && asked < 1000);
	cr_assert_lt(drained, asked);

	for (int i = 0; i < asked; i++) {
		struct ws_client_event e = ws_client_receive(c, DIAL_PATIENCE_MS);

		cr_assert_eq(e.what, WS_MESSAGE);
		cr_assert_eq(e.len, LOAD);
	}
	await_drained(asked);
	ws_client_free(c);
}

/* Another part */

static _Atomic int taken_messages, taken_closed;

static void on_taken_message(void *data, uint8_t *bytes, size_t len, int64_t now_ms)
{
	(void)now_ms;
	taken_messages++;
	ws_send(data, bytes, len);
}

static void on_taken_closed(void *data, int64_t now_ms)
{
	(void)data;
	(void)now_ms;
	taken_closed++;
}

static const struct ws_handler taker = { .message = on_taken_message, .closed = on_taken_closed };

Test(ws_pause, who_takes_a_connection_over_gets_its_messages_and_its_end)
{
	f.taker = &taker;
	ws_fixture_start(&f);
	struct ws_client *c = ws_client_open(f.port, NULL);

	ws_client_send(c, "48");
	ws_client_send(c, "44 01");
	ws_expect(c, "44 01");
	cr_expect_eq(taken_messages, 1);
	cr_expect_eq(f.messages, 1, "only the one that asked for it");
	ws_client_free(c);
	ws_fixture_await(M_WS_CONNECTIONS, 0);
	cr_expect_eq(taken_closed, 1);
	cr_expect_eq(f.closed, 0);
}
