/*
 * What one client may take from a WebSocket server, and that filling it harms only who filled it.
 */
#include "net/ws.h"

#include "base/metric.h"
#include "support/dial.h"
#include "support/ws_client.h"
#include "support/ws_fixture.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define GOOD                                                                         \
	"GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" \
	"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"

#define STRANGER "127.0.0.2" /* not the proxy, and in production not exempt */
#define OTHER    "127.0.0.3"

static struct ws_fixture f;

static void prepare(void)
{
	ws_fixture_init(&f);
}

static void stop(void)
{
	ws_fixture_stop(&f);
}

TestSuite(ws_limits, .init = prepare, .fini = stop, .timeout = 120);

/* Connects and asks for the upgrade. Returns the socket; -1 when the server only closed it. */
static int try_from(const char *from, const char *headers, int *status)
{
	char    request[1024], answer[256] = "";
	int     fd = ws_fixture_dial(&f, from);
	ssize_t got;

	snprintf(request, sizeof(request), GOOD "%s\r\n", headers);
	*status = 0;
	if (dial_send(fd, request, strlen(request), DIAL_PATIENCE_MS)) {
		got = dial_read(fd, answer, sizeof(answer) - 1, real_now_ms() + DIAL_PATIENCE_MS);
		if (got > 0 && sscanf(answer, "HTTP/1.1 %3d", status) == 1)
			return fd;
	}
	close(fd);
	return -1;
}

/* How many of so many tries get through; their sockets stay open in fds. */
static int open_many(int *fds, int count, const char *from, const char *headers)
{
	int opened = 0;

	for (int i = 0; i < count; i++) {
		int status;
		int fd = try_from(from, headers, &status);

		if (fd >= 0 && status == 101)
			fds[opened++] = fd;
		else if (fd >= 0)
			close(fd);
	}
	return opened;
}

static void close_many(const int *fds, int count)
{
	for (int i = 0; i < count; i++)
		close(fds[i]);
}

Test(ws_limits, connections_in_all)
{
	int fds[8];

	f.conf.limits.ws_connections = 5;
	ws_fixture_start(&f);
	cr_expect_eq(open_many(fds, 5, "127.0.0.1", ""), 5);
	cr_expect_eq(open_many(fds + 5, 1, "127.0.0.1", ""), 0);
	cr_expect_eq(metric_get(M_WS_REFUSED_TOTAL), 1);

	close(fds[4]);
	ws_fixture_await(M_WS_CONNECTIONS, 4);
	cr_expect_eq(open_many(fds + 4, 1, "127.0.0.1", ""), 1);
	close_many(fds, 5);
}

Test(ws_limits, connections_of_one_address)
{
	int fds[16];

	f.conf.server_production     = true;
	f.conf.limits.ws_per_address = 4;
	ws_fixture_start(&f);
	cr_expect_eq(open_many(fds, 6, STRANGER, ""), 4);
	cr_expect_eq(metric_get(M_WS_REFUSED_ADDRESS), 2);
	cr_expect_eq(open_many(fds + 4, 4, OTHER, ""), 4, "another address is not concerned");

	close(fds[3]);
	ws_fixture_await(M_WS_CONNECTIONS, 7);
	cr_expect_eq(open_many(fds + 3, 2, STRANGER, ""), 1, "what is given back can be taken again");
	close_many(fds, 8);
}

Test(ws_limits, connections_that_never_ask_count_too)
{
	int fds[4];

	f.conf.server_production     = true;
	f.conf.limits.ws_per_address = 2;
	ws_fixture_start(&f);
	fds[0] = ws_fixture_dial(&f, STRANGER);
	fds[1] = ws_fixture_dial(&f, STRANGER);
	ws_fixture_await(M_WS_ACCEPTED, 2);
	cr_expect_eq(open_many(fds + 2, 1, STRANGER, ""), 0);
	close_many(fds, 2);
}

Test(ws_limits, new_connections_per_second_of_one_address)
{
	int fds[200], opened;

	f.conf.server_production      = true;
	f.conf.limits.ws_per_address  = 1000;
	f.conf.limits.ws_accept_rate  = 20;
	f.conf.limits.ws_accept_burst = 60;
	ws_fixture_start(&f);
	opened = open_many(fds, 100, STRANGER, "");
	cr_expect(opened >= 60 && opened <= 75, "%d of 100", opened);
	cr_expect_eq(metric_get(M_WS_REFUSED_RATE), 100 - opened);
	close_many(fds, opened);

	cr_expect_eq(open_many(fds, 1, OTHER, ""), 1);
	close_many(fds, 1);
	ws_fixture_advance(&f, 1000);
	opened = open_many(fds, 50, STRANGER, "");
	cr_expect(opened >= 20 && opened <= 35, "%d of 50 a second later", opened);
	close_many(fds, opened);
}

Test(ws_limits, a_flood_of_connects_leaves_others_their_service)
{
	f.conf.server_production = true;
	ws_fixture_start(&f);
	struct ws_client *c = ws_client_open(f.port, NULL);

	for (int i = 0; i < 3000; i++)
		close(ws_fixture_dial(&f, STRANGER));
	ws_client_send(c, "01 02");
	ws_expect(c, "01 02");
	ws_client_free(c);
	ws_fixture_await(M_WS_CONNECTIONS, 0);
	cr_expect_gt(metric_get(M_WS_REFUSED_RATE), 2000);
}

Test(ws_limits, clients_behind_a_proxy_are_counted_one_by_one)
{
	int fds[16], status;

	f.conf.limits.ws_per_address = 3;
	ws_fixture_start(&f);
	cr_expect_eq(open_many(fds, 3, WS_FIXTURE_PROXY, "X-Forwarded-For: 8.8.8.8\r\n"), 3);
	int fd = try_from(WS_FIXTURE_PROXY, "X-Forwarded-For: 8.8.8.8\r\n", &status);
	cr_expect_eq(status, 503);
	close(fd);
	cr_expect_eq(metric_get(M_WS_REFUSED_ADDRESS), 1);
	cr_expect_eq(open_many(fds + 3, 3, WS_FIXTURE_PROXY, "X-Forwarded-For: 9.9.9.9\r\n"), 3);

	close(fds[2]);
	ws_fixture_await(M_WS_CONNECTIONS, 5);
	cr_expect_eq(open_many(fds + 2, 1, WS_FIXTURE_PROXY, "X-Forwarded-For: 8.8.8.8\r\n"), 1);
	close_many(fds, 6);
}

Test(ws_limits, the_rate_holds_for_clients_behind_a_proxy)
{
	int fds[64], opened, status;

	f.conf.limits.ws_accept_rate  = 1;
	f.conf.limits.ws_accept_burst = 5;
	ws_fixture_start(&f);
	opened = open_many(fds, 10, WS_FIXTURE_PROXY, "X-Forwarded-For: 8.8.8.8\r\n");
	cr_expect(opened >= 5 && opened <= 7, "%d of 10", opened);
	int fd = try_from(WS_FIXTURE_PROXY, "X-Forwarded-For: 8.8.8.8\r\n", &status);
	cr_expect_eq(status, 503);
	close(fd);
	close_many(fds, opened);
}

Test(ws_limits, an_IPv6_network_has_eight_times_what_an_address_has)
{
	int  fds[64], opened = 0;
	char headers[64];

	f.conf.limits.ws_per_address = 2;
	ws_fixture_start(&f);
	for (int i = 0; i < 20; i++) {
		snprintf(headers, sizeof(headers), "X-Forwarded-For: 2001:db8:1:%x::1\r\n", i);
		opened += open_many(fds + opened, 1, WS_FIXTURE_PROXY, headers);
	}
	cr_expect_eq(opened, 16);
	cr_expect_eq(open_many(fds + opened, 1, WS_FIXTURE_PROXY, "X-Forwarded-For: 2001:db8:2::1\r\n"), 1);
	close_many(fds, opened + 1);
}

static void look_at_exemption(struct ws_fixture *fixture, void *arg)
{
	*(bool *)arg = ws_conn_is_exempt(fixture->conns[fixture->conn_count - 1]);
}

static bool is_exempt(const char *headers)
{
	int  fd     = -1;
	bool exempt = false;

	cr_assert_eq(open_many(&fd, 1, "127.0.0.1", headers), 1);
	ws_fixture_do(&f, look_at_exemption, &exempt);
	close(fd);
	return exempt;
}

Test(ws_limits, only_our_own_machine_is_exempt_and_not_in_production)
{
	int fds[8];

	f.conf.limits.ws_per_address = 2;
	ws_fixture_start(&f);
	cr_expect(is_exempt(""));
	cr_expect_not(is_exempt("X-Forwarded-For: 8.8.8.8\r\n"));
	cr_expect_eq(open_many(fds, 6, "127.0.0.1", ""), 6);
	close_many(fds, 6);
	ws_fixture_stop(&f);

	ws_fixture_init(&f);
	f.conf.limits.ws_per_address = 2;
	f.conf.server_production     = true;
	ws_fixture_start(&f);
	cr_expect_not(is_exempt(""));
	ws_fixture_await(M_WS_CONNECTIONS, 0);
	cr_expect_eq(open_many(fds, 6, "127.0.0.1", ""), 2);
	close_many(fds, 2);
}

Test(ws_limits, half_a_handshake_is_closed_at_its_deadline)
{
	ws_fixture_start(&f);
	struct ws_client *silent = ws_client_dial(f.port, NULL);
	struct ws_client *half   = ws_client_dial(f.port, NULL);
	struct ws_client *open   = ws_client_open(f.port, NULL);

	ws_client_send_raw(half, GOOD, 50);
	ws_fixture_await(M_WS_ACCEPTED, 3);
	ws_fixture_advance(&f, f.conf.limits.ws_upgrade_ms - 2000);
	ws_client_send_raw(half, "more", 4);
	ws_expect_nothing(half, 20);
	ws_fixture_advance(&f, 2000);
	ws_expect_end(silent);
	ws_expect_end(half);
	cr_expect_eq(metric_get(M_WS_CLOSED_UPGRADE_LATE), 2);

	ws_client_send(open, "01");
	ws_expect(open, "01");
	ws_client_free(silent);
	ws_client_free(half);
	ws_client_free(open);
}

Test(ws_limits, a_message_that_does_not_end_closes_at_its_deadline)
{
	ws_fixture_start(&f);
	struct ws_client *c = ws_client_open(f.port, NULL);

	ws_client_send_frame(c, WS_CLIENT_BINARY, true, "abc", 3);
	ws_client_ping(c, "1");
	ws_expect_pong(c, "1");
	ws_fixture_advance(&f, f.conf.limits.ws_message_ms - 2000);
	/* Fragments without end, empty ones, are no progress. */
	for (int i = 0; i < 1000; i++)
		ws_client_send_frame(c, WS_CLIENT_CONTINUE, true, "", 0);
	ws_client_ping(c, "2");
	ws_expect_pong(c, "2");
	ws_fixture_advance(&f, 2000);
	ws_expect_closed(c);
	cr_expect_eq(metric_get(M_WS_CLOSED_SLOW_MESSAGE), 1);
	ws_client_free(c);
}

Test(ws_limits, messages_that_follow_each_other_have_a_deadline_each)
{
	ws_fixture_start(&f);
	struct ws_client *c = ws_client_open(f.port, NULL);

	for (int i = 0; i < 6; i++) {
		ws_client_send_frame(c, WS_CLIENT_BINARY, true, "a", 1);
		ws_client_ping(c, "x");
		ws_expect_pong(c, "x");
		ws_fixture_advance(&f, f.conf.limits.ws_message_ms / 2);
		ws_client_send_frame(c, WS_CLIENT_FINAL | WS_CLIENT_CONTINUE, true, "b", 1);
		ws_expect(c, "61 62");
	}
	ws_client_free(c);
}

Test(ws_limits, a_stream_in_which_some_message_is_always_under_way_is_fine)
{
	/* The end of one message and the beginning of the next arrive together. */
	static const uint8_t turn[] = { 0x80, 0x81, 0, 0, 0, 0, 'b', 0x02, 0x81, 0, 0, 0, 0, 'a' };

	ws_fixture_start(&f);
	struct ws_client *c = ws_client_open(f.port, NULL);

	ws_client_send_frame(c, WS_CLIENT_BINARY, true, "a", 1);
	for (int i = 0; i < 6; i++) {
		ws_client_ping(c, "x");
		ws_expect_pong(c, "x");
		ws_fixture_advance(&f, f.conf.limits.ws_message_ms / 2 + 1000);
		cr_assert(ws_client_send_raw(c, turn, sizeof(turn)));
		ws_expect(c, "61 62");
	}
	ws_client_free(c);
}

/* A client that reads nothing, with a small window, so that the server feels it soon. */
static struct ws_client *open_slow(void)
{
	struct ws_client_options options = { .rcvbuf_bytes = 4096, .mute = true };

	return ws_client_open(f.port, &options);
}

struct sending {
	size_t number; /* of the connection */
	int    from, to;
	size_t bytes;
	size_t queued; /* afterwards */
	bool   control;
};

/* Numbered messages: tag and first byte are the number's lowest. */
static void send_numbered(struct ws_fixture *fixture, void *arg)
{
	struct sending *s = arg;
	static uint8_t  body[65536];

	for (int i = s->from; i < s->to; i++) {
		struct ws_conn *c = fixture->conns[s->number];
		uint8_t head[5]   = { s->control ? 'C' : 'D', (uint8_t)(i >> 24), (uint8_t)(i >> 16), (uint8_t)(i >> 8),
			            (uint8_t)i };

		if (!c)
			break;
		memcpy(body, head, sizeof(head));
		if (s->control)
			ws_send(c, body, s->bytes);
		else
			ws_send_datagram(c, (uint32_t)i & 1, head, sizeof(head), body, s->bytes - sizeof(head));
	}
	s->queued = fixture->conns[s->number] ? ws_conn_queued(fixture->conns[s->number]) : 0;
}

static size_t send_many(size_t number, bool control, int from, int to, size_t bytes)
{
	struct sending s = { .number = number, .from = from, .to = to, .bytes = bytes, .control = control };

	ws_fixture_do(&f, send_numbered, &s);
	return s.queued;
}

static int number_of(const struct ws_client_event *e)
{
	return e->data[1] << 24 | e->data[2] << 16 | e->data[3] << 8 | e->data[4];
}

/* Reads all that is there; both kinds must be whole and in order. */
struct heard {
	int control, last_control, datagrams, first_datagram, last_datagram;
};

static struct heard hear_all(struct ws_client *c, int patience_ms)
{
	struct heard           h = { .last_control = -1, .first_datagram = -1, .last_datagram = -1 };
	struct ws_client_event e;

	while ((e = ws_client_receive(c, patience_ms)).what == WS_MESSAGE) {
		int number = number_of(&e);

		if (e.data[0] == 'C') {
			cr_assert_eq(number, h.last_control + 1, "control messages come all and in order");
			h.last_control = number;
			h.control++;
		} else {
			cr_assert_gt(number, h.last_datagram, "datagrams come in order");
			if (h.first_datagram < 0)
				h.first_datagram = number;
			h.last_datagram = number;
			h.datagrams++;
		}
	}
	cr_assert_eq(e.what, WS_SILENCE, "every frame is whole");
	return h;
}

Test(ws_limits, a_slow_reader_loses_its_oldest_datagrams_and_no_control_message)
{
	f.conf.limits.ws_backlog = 65536;
	ws_fixture_start(&f);
	struct ws_client *slow  = open_slow();
	struct ws_client *other = ws_client_open(f.port, NULL);
	int               sent  = 0;

	for (int i = 0; i < 40; i++) {
		cr_assert_leq(send_many(0, false, sent, sent + 50, 1000), 65536 + 40 * 1000);
		sent += 50;
		send_many(0, true, i, i + 1, 1000);
		ws_client_send(other, "01");
		ws_expect(other, "01");
	}

	struct heard h = hear_all(slow, 500);
	cr_expect_eq(h.control, 40);
	cr_expect_eq(h.last_datagram, sent - 1, "the newest arrives");
	cr_expect_lt(h.datagrams, sent);
	cr_expect_eq(h.datagrams + metric_get(M_WS_DROPPED_FULL) + metric_get(M_WS_DROPPED_OLD), sent);
	ws_client_free(slow);
	ws_client_free(other);
}

Test(ws_limits, the_backlog_is_counted_in_datagrams_too)
{
	f.conf.limits.ws_backlog_frames = 16;
	ws_fixture_start(&f);
	struct ws_client *slow = open_slow();

	send_many(0, false, 0, 500, 1000);
	size_t queued = send_many(0, false, 500, 1000, 1000);
	cr_expect(queued > 15000 && queued < 18000, "%zu bytes", queued);
	ws_client_free(slow);
}

Test(ws_limits, datagrams_that_waited_too_long_are_dropped)
{
	ws_fixture_start(&f);
	struct ws_client *slow = open_slow();

	send_many(0, false, 0, 600, 1000);
	cr_expect_gt(send_many(0, false, 0, 0, 0), 100000);
	ws_fixture_advance(&f, f.conf.limits.ws_backlog_ms - 1000);
	cr_expect_gt(send_many(0, false, 0, 0, 0), 100000);
	ws_fixture_advance(&f, 1500);
	cr_expect_leq(send_many(0, false, 0, 0, 0), 1100, "but for one that has begun");
	cr_expect_gt(metric_get(M_WS_DROPPED_OLD), 100);

	send_many(0, false, 600, 601, 1000);
	struct heard h = hear_all(slow, 300);
	cr_expect_eq(h.last_datagram, 600);
	ws_client_free(slow);
}

static void drop_odd(struct ws_fixture *fixture, void *arg)
{
	(void)arg;
	ws_drop_tag(fixture->conns[0], 1);
}

Test(ws_limits, waiting_datagrams_of_one_tag_can_be_dropped)
{
	ws_fixture_start(&f);
	struct ws_client *slow = open_slow();

	size_t before = send_many(0, false, 0, 600, 1000);
	ws_fixture_do(&f, drop_odd, NULL);
	size_t after = send_many(0, false, 0, 0, 0);
	cr_expect(after > before / 2 - 3000 && after < before / 2 + 3000, "%zu of %zu", after, before);

	struct heard h = hear_all(slow, 300);
	cr_expect_eq(h.last_datagram, 598);
	cr_expect_eq(h.datagrams + metric_get(M_WS_DROPPED_GONE), 600);
	ws_client_free(slow);
}

Test(ws_limits, too_many_control_messages_close_the_connection)
{
	ws_fixture_start(&f);
	struct ws_client *slow  = open_slow();
	struct ws_client *other = ws_client_open(f.port, NULL);

	send_many(0, true, 0, 2000, 1000);
	cr_expect_eq(metric_get(M_WS_CLOSED_CONTROL_FULL), 1);
	ws_client_send(other, "01");
	ws_expect(other, "01");
	ws_fixture_advance(&f, f.conf.limits.ws_close_ms);
	ws_fixture_await(M_WS_CONNECTIONS, 1);
	ws_client_free(slow);
	ws_client_free(other);
}

Test(ws_limits, a_ping_flood_that_reads_nothing_is_bounded_and_hurts_nobody_else)
{
	static const uint8_t ping[] = { 0x89, 0xfd, 0, 0, 0, 0 };
	uint8_t              flood[16 * 131];

	ws_fixture_start(&f);
	struct ws_client *slow  = open_slow();
	struct ws_client *other = ws_client_open(f.port, NULL);

	memset(flood, 'p', sizeof(flood));
	for (size_t i = 0; i < 16; i++) {
		memcpy(flood + i * 131, ping, 2);
		memset(flood + i * 131 + 2, 0, 4);
	}
	for (int i = 0; i < 2000; i++)
		cr_assert(ws_client_send_raw(slow, flood, sizeof(flood)), "the server reads on");
	ws_client_send(other, "01");
	ws_expect(other, "01");
	ws_client_send(slow, "02");
	for (int64_t until = real_now_ms() + DIAL_PATIENCE_MS; f.messages < 2 && real_now_ms() < until;)
		real_sleep_ms(1);
	cr_expect_eq(f.messages, 2, "the whole flood was read");
	cr_expect_leq(send_many(0, false, 0, 0, 0), (size_t)f.conf.limits.ws_backlog_frames * 127 + 128);
	cr_expect_gt(metric_get(M_WS_DROPPED_FULL), 20000);

	struct ws_client_event e;
	while ((e = ws_client_receive(slow, 300)).what == WS_PONG)
		cr_assert_eq(e.len, 125);
	cr_expect_eq(e.what, WS_MESSAGE, "the newest of all is still there");
	ws_client_free(slow);
	ws_client_free(other);
}

Test(ws_limits, over_the_budget_for_output_the_largest_queue_goes)
{
	f.conf.limits.ws_output_total = 1048576;
	ws_fixture_start(&f);
	struct ws_client *small = open_slow();
	struct ws_client *large = open_slow();
	struct ws_client *other = ws_client_open(f.port, NULL);

	send_many(0, false, 0, 400, 1000);
	send_many(1, false, 0, 900, 1000);
	cr_expect_eq(metric_get(M_WS_CLOSED_OUTPUT_BUDGET), 1);
	ws_fixture_await(M_WS_CONNECTIONS, 2);
	cr_expect_gt(send_many(0, false, 0, 0, 0), 100000, "the smaller one keeps its queue");
	cr_expect_null(f.conns[1]);
	ws_client_send(other, "01");
	ws_expect(other, "01");
	ws_client_free(small);
	ws_client_free(large);
	ws_client_free(other);
}

Test(ws_limits, over_the_budget_for_input_the_largest_incomplete_message_goes)
{
	static const uint8_t part[65536];
	struct ws_client    *clients[24];

	f.conf.limits.ws_input_total = 1048576;
	ws_fixture_start(&f);
	for (size_t i = 0; i < 24; i++) {
		clients[i] = ws_client_open(f.port, NULL);
		ws_client_send_frame(clients[i], WS_CLIENT_BINARY, true, part, i == 3 ? 65000 : 50000 + i);
		ws_client_ping(clients[i], "x");
		if (metric_get(M_WS_CLOSED_INPUT_BUDGET) == 0)
			ws_client_receive(clients[i], 200);
	}
	cr_expect_geq(metric_get(M_WS_CLOSED_INPUT_BUDGET), 1);
	cr_expect_leq(metric_get(M_WS_CLOSED_INPUT_BUDGET), 6);
	cr_expect_leq(metric_get(M_WS_PARTIAL_BYTES), 1048576);
	ws_expect_end(clients[3]);
	for (size_t i = 0; i < 24; i++)
		ws_client_free(clients[i]);
}

Test(ws_limits, many_incomplete_heads_hold_up_nobody_and_end_at_their_deadline)
{
	enum { HEADS = 300 };
	static char       head[7000];
	struct ws_client *clients[HEADS];

	ws_fixture_start(&f);
	memset(head, 'x', sizeof(head));
	memcpy(head, "GET / HTTP/1.1\r\nX: ", 19);
	for (size_t i = 0; i < HEADS; i++) {
		clients[i] = ws_client_dial(f.port, NULL);
		ws_client_send_raw(clients[i], head, sizeof(head));
	}
	ws_fixture_await(M_WS_ACCEPTED, HEADS);
	struct ws_client *other = ws_client_open(f.port, NULL);
	ws_client_send(other, "01");
	ws_expect(other, "01");
	ws_fixture_advance(&f, f.conf.limits.ws_upgrade_ms);
	ws_fixture_await(M_WS_CONNECTIONS, 1);
	cr_expect_eq(metric_get(M_WS_CLOSED_UPGRADE_LATE), HEADS);
	ws_client_free(other);
	for (size_t i = 0; i < HEADS; i++) {
		ws_expect_end(clients[i]);
		ws_client_free(clients[i]);
	}
}

Test(ws_limits, a_storm_of_reconnects_is_served_whole)
{
	enum { CLIENTS = 400 };
	static int fds[CLIENTS];
	char       answer[256];

	ws_fixture_start(&f);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < CLIENTS; i++) {
			fds[i] = ws_fixture_dial(&f, "127.0.0.1");
			cr_assert(dial_send(fds[i], GOOD "\r\n", strlen(GOOD) + 2, DIAL_PATIENCE_MS));
		}
		for (int i = 0; i < CLIENTS; i++) {
			cr_assert_gt(dial_read(fds[i], answer, sizeof(answer), real_now_ms() + DIAL_PATIENCE_MS), 12);
			cr_assert_eq(memcmp(answer, "HTTP/1.1 101", 12), 0);
		}
		for (int i = 0; i < CLIENTS; i++)
			dial_abort(fds[i]);
		ws_fixture_await(M_WS_CONNECTIONS, 0);
	}
	cr_expect_eq(f.opened, 3 * CLIENTS);
	cr_expect_eq(f.closed, 3 * CLIENTS);
}
