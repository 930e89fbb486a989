/*
 * What a part may have for itself: a subprotocol, limits of its own, pings and pongs, a status when it closes.
 */
#include "net/ws.h"

#include "base/metric.h"
#include "support/ws_client.h"
#include "support/ws_fixture.h"

#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPOKEN      "coopd.test.v1"
#define OFFER(list) "Sec-WebSocket-Protocol: " list "\r\n"
#define MESSAGE_MAX 1000
#define CONTROL_MAX 4000
#define PLAIN_PATH  "/plain"
#define OWN_PATH    "/own"
#define SMALL_PATH  "/small"

static struct ws_fixture f;

/* The last connection of the part, and what it heard. */
static struct ws_conn *conn;
static _Atomic size_t  pongs;
static uint8_t         pong[125];
static size_t          pong_len;

static void *on_opened(void *part, struct ws_conn *c, int64_t now_ms)
{
	(void)part;
	(void)now_ms;
	conn = c;
	return c;
}

/*
 * Says what kind of message came, and how long it was; "close N" closes with a status, "ping X" pings with the rest, "flood"
 * sends two messages of half the control limit, "over" one byte more.
 */
static void on_message(void *data, uint8_t *bytes, size_t len, int64_t now_ms)
{
	struct ws_conn *c = data;
	static uint8_t  filling[CONTROL_MAX];
	char            said[64];

	(void)now_ms;
	if (len > 6 && memcmp(bytes, "close ", 6) == 0) {
		snprintf(said, sizeof(said), "%.*s", (int)(len - 6), (const char *)bytes + 6);
		ws_close_status(c, (uint16_t)atoi(said));
		ws_close_status(c, 4999); /* it has one */
	} else if (len >= 5 && memcmp(bytes, "ping ", 5) == 0) {
		ws_send_text(c, "before", 6);
		ws_ping(c, bytes + 5, len - 5);
		ws_send_text(c, "after", 5);
	} else if (len == 5 && (memcmp(bytes, "flood", 5) == 0)) {
		ws_send(c, filling, CONTROL_MAX / 2 - 4);
		ws_send(c, filling, CONTROL_MAX / 2 - 4);
	} else if (len == 4 && memcmp(bytes, "over", 4) == 0) {
		ws_send(c, filling, CONTROL_MAX / 2 - 4);
		ws_send(c, filling, CONTROL_MAX / 2 - 3);
	} else {
		snprintf(said, sizeof(said), "%s %zu", ws_message_is_text(c) ? "text" : "binary", len);
		ws_send_text(c, said, strlen(said));
	}
}

static void on_closed(void *data, int64_t now_ms)
{
	(void)data;
	(void)now_ms;
	conn = NULL;
}

static void on_pong(void *data, const uint8_t *payload, size_t len, int64_t now_ms)
{
	(void)data;
	(void)now_ms;
	memcpy(pong, payload, len);
	pong_len = len;
	pongs++;
}

static const struct ws_handler plain = { .opened = on_opened, .message = on_message, .closed = on_closed };
static const struct ws_handler own   = { .opened      = on_opened,
	                                 .message     = on_message,
	                                 .closed      = on_closed,
	                                 .pong        = on_pong,
	                                 .subprotocol = SPOKEN,
	                                 .message_max = MESSAGE_MAX,
	                                 .control_max = CONTROL_MAX };
static const struct ws_handler small = {
	.opened = on_opened, .message = on_message, .closed = on_closed, .message_max = 10
};

static void add_routes(struct ws_fixture *fixture, void *arg)
{
	(void)arg;
	ws_route(fixture->ws, PLAIN_PATH, &plain);
	ws_route(fixture->ws, OWN_PATH, &own);
	ws_route(fixture->ws, SMALL_PATH, &small);
}

static void prepare(void)
{
	ws_fixture_init(&f);
	ws_fixture_start(&f);
	ws_fixture_do(&f, add_routes, NULL);
}

static void stop(void)
{
	ws_fixture_stop(&f);
}

TestSuite(ws_protocol, .init = prepare, .fini = stop, .timeout = 60);

static struct ws_client *open_at(const char *path)
{
	struct ws_client_options o = { .path = path, .takes_text = true };

	return ws_client_open(f.port, &o);
}

static struct ws_client *open_mute(const char *path)
{
	struct ws_client_options o = { .path = path, .takes_text = true, .mute = true };

	return ws_client_open(f.port, &o);
}

static int upgrade_with(const char *path, const char *headers, const char *chosen)
{
	struct ws_client_options o      = { .path = path, .headers = headers, .subprotocol = chosen };
	struct ws_client        *c      = ws_client_dial(f.port, &o);
	int                      status = ws_client_upgrade(c, &o);

	ws_client_free(c);
	return status;
}

static void say(struct ws_client *c, const char *text)
{
	ws_client_send_bytes(c, text, strlen(text));
}

static void expect_text(struct ws_client *c, const char *text)
{
	struct ws_client_event e = ws_client_receive(c, DIAL_PATIENCE_MS);
	char                   shown[200];

	cr_assert(e.what == WS_MESSAGE && e.is_text && e.len == strlen(text) && memcmp(e.data, text, e.len) == 0,
	          "not %s but %s", text, ws_client_show(shown, sizeof(shown), &e));
}

static void expect_status(struct ws_client *c, int status)
{
	struct ws_client_event e = ws_client_receive(c, DIAL_PATIENCE_MS);
	char                   shown[200];

	cr_assert(e.what == WS_CLOSED && e.status == status, "not a close with %d but %s", status,
	          ws_client_show(shown, sizeof(shown), &e));
}

/* The subprotocol */

Test(ws_protocol, the_subprotocol_of_a_part_is_chosen_where_it_is_offered)
{
	static const char *const offers[] = {
		OFFER(SPOKEN),
		OFFER("other, " SPOKEN),
		OFFER("other," SPOKEN ",third"),
		OFFER(SPOKEN " , coopd.test.v2"),
		OFFER("other") OFFER(SPOKEN),
	};

	for (size_t i = 0; i < sizeof(offers) / sizeof(offers[0]); i++)
		cr_expect_eq(upgrade_with(OWN_PATH, offers[i], SPOKEN), 101, "%s", offers[i]);
}

Test(ws_protocol, who_offers_others_only_is_refused)
{
	static const char *const offers[] = {
		OFFER("other"),      OFFER("coopd.test.v2, other"), OFFER(SPOKEN "x"),
		OFFER("coopd.test"), OFFER("COOPD.TEST.V1"),        OFFER("(none)"),
	};

	for (size_t i = 0; i < sizeof(offers) / sizeof(offers[0]); i++)
		cr_expect_eq(upgrade_with(OWN_PATH, offers[i], NULL), 400, "%s", offers[i]);
}

Test(ws_protocol, who_offers_none_is_let_in_and_told_of_none)
{
	cr_expect_eq(upgrade_with(OWN_PATH, NULL, NULL), 101);
	cr_expect_eq(upgrade_with(OWN_PATH, OFFER(SPOKEN), SPOKEN), 101);
	cr_expect_eq(upgrade_with(OWN_PATH, NULL, NULL), 101, "after one who did");
}

Test(ws_protocol, a_part_without_one_ignores_what_is_offered)
{
	cr_expect_eq(upgrade_with(PLAIN_PATH, NULL, NULL), 101);
	cr_expect_eq(upgrade_with(PLAIN_PATH, OFFER("anything"), NULL), 101);
	cr_expect_eq(upgrade_with(PLAIN_PATH, OFFER("one, " SPOKEN ", three"), NULL), 101);
	cr_expect_eq(upgrade_with("/elsewhere", OFFER(SPOKEN), NULL), 101);
}

Test(ws_protocol, an_offer_is_taken_up_to_its_longest_and_refused_beyond)
{
	char offer[400], name[80];

	memset(name, 'n', sizeof(name));
	snprintf(offer, sizeof(offer), OFFER("%.62s, " SPOKEN), name);
	cr_expect_eq(upgrade_with(OWN_PATH, offer, SPOKEN), 101, "62 bytes of name");
	snprintf(offer, sizeof(offer), OFFER("%.63s, " SPOKEN), name);
	cr_expect_eq(upgrade_with(OWN_PATH, offer, NULL), 400, "63 bytes of name");
	/* 60 + 1 + 51 + 1 + 13 = 126 */
	snprintf(offer, sizeof(offer), OFFER("%.60s,%.51s," SPOKEN), name, name);
	cr_expect_eq(upgrade_with(OWN_PATH, offer, SPOKEN), 101, "126 bytes");
	snprintf(offer, sizeof(offer), OFFER("%.60s,%.52s," SPOKEN), name, name);
	cr_expect_eq(upgrade_with(OWN_PATH, offer, NULL), 400, "127 bytes");
}

Test(ws_protocol, an_offer_that_is_no_list_is_refused)
{
	static const char *const offers[] = { OFFER("\"quoted"), OFFER("one two"), OFFER(",") };

	for (size_t i = 0; i < sizeof(offers) / sizeof(offers[0]); i++) {
		cr_expect_eq(upgrade_with(OWN_PATH, offers[i], NULL), 400, "%s", offers[i]);
		cr_expect_eq(upgrade_with(PLAIN_PATH, offers[i], NULL), 400, "%s", offers[i]);
	}
}

/* Messages */

Test(ws_protocol, a_part_can_tell_text_from_binary)
{
	struct ws_client *c = open_at(OWN_PATH);

	ws_client_send_frame(c, WS_CLIENT_FINAL | WS_CLIENT_TEXT, true, "abc", 3);
	expect_text(c, "text 3");
	ws_client_send_frame(c, WS_CLIENT_FINAL | WS_CLIENT_BINARY, true, "abcd", 4);
	expect_text(c, "binary 4");
	/* In pieces, with a ping between them: it is what its first piece was. */
	ws_client_send_frame(c, WS_CLIENT_TEXT, true, "ab", 2);
	ws_client_send_frame(c, WS_CLIENT_FINAL | WS_CLIENT_PONG, true, "p", 1);
	ws_client_send_frame(c, WS_CLIENT_FINAL | WS_CLIENT_CONTINUE, true, "cde", 3);
	expect_text(c, "text 5");
	ws_client_send_frame(c, WS_CLIENT_BINARY, true, "ab", 2);
	ws_client_send_frame(c, WS_CLIENT_FINAL | WS_CLIENT_CONTINUE, true, "cde", 3);
	expect_text(c, "binary 5");
	ws_client_free(c);
}

/* Right behind the head, where the library still reads. */
static void send_with_head(struct ws_client *c, const char *path, unsigned first_byte, const char *three)
{
	char          request[512];
	unsigned char frame[] = { (unsigned char)first_byte, 0x80 | 3, 0, 0, 0, 0, 0, 0, 0 };
	int           len     = snprintf(request, sizeof(request),
	                                 "GET %s HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
	                                               "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
	                                               "Sec-WebSocket-Version: 13\r\n\r\n",
	                                 path);

	memcpy(frame + 6, three, 3);
	memcpy(request + len, frame, sizeof(frame));
	cr_assert(ws_client_send_raw(c, request, (size_t)len + sizeof(frame)));
}

static bool hears(struct ws_client *c, const char *what)
{
	char    got[1024];
	size_t  len   = 0;
	int64_t until = real_now_ms() + DIAL_PATIENCE_MS;
	ssize_t n;

	while ((n = dial_read(c->fd, got + len, sizeof(got) - len, until)) > 0) {
		len += (size_t)n;
		if (memmem(got, len, what, strlen(what)))
			return true;
	}
	return false;
}

Test(ws_protocol, messages_right_behind_the_head_are_told_apart_too)
{
	struct ws_client *c = ws_client_dial(f.port, NULL);

	send_with_head(c, OWN_PATH, WS_CLIENT_FINAL | WS_CLIENT_TEXT, "abc");
	cr_expect(hears(c, "text 3"));
	ws_client_free(c);
	c = ws_client_dial(f.port, NULL);
	send_with_head(c, OWN_PATH, WS_CLIENT_FINAL | WS_CLIENT_BINARY, "abc");
	cr_expect(hears(c, "binary 3"));
	ws_client_free(c);
}

Test(ws_protocol, a_message_of_the_parts_own_limit_passes_and_a_longer_one_closes_with_1009)
{
	static uint8_t    bytes[MESSAGE_MAX + 1];
	struct ws_client *c = open_at(OWN_PATH);

	ws_client_send_bytes(c, bytes, MESSAGE_MAX);
	expect_text(c, "binary 1000");
	ws_client_send_head(c, WS_CLIENT_FINAL | WS_CLIENT_TEXT, MESSAGE_MAX + 1);
	expect_status(c, 1009);
	ws_expect_end(c);
	ws_client_free(c);
}

Test(ws_protocol, pieces_count_together_against_the_limit)
{
	static uint8_t    bytes[MESSAGE_MAX];
	struct ws_client *c = open_at(OWN_PATH);

	ws_client_send_frame(c, WS_CLIENT_BINARY, true, bytes, MESSAGE_MAX - 1);
	ws_client_send_frame(c, WS_CLIENT_FINAL | WS_CLIENT_CONTINUE, true, bytes, 1);
	expect_text(c, "binary 1000");
	ws_client_send_frame(c, WS_CLIENT_BINARY, true, bytes, MESSAGE_MAX - 1);
	ws_client_send_frame(c, WS_CLIENT_FINAL | WS_CLIENT_CONTINUE, true, bytes, 2);
	expect_status(c, 1009);
	ws_client_free(c);
}

Test(ws_protocol, other_parts_keep_their_limit_and_their_empty_close)
{
	static uint8_t    bytes[MESSAGE_MAX + 1];
	struct ws_client *c = open_at(PLAIN_PATH);

	ws_client_send_bytes(c, bytes, sizeof(bytes));
	expect_text(c, "binary 1001");
	ws_client_send_head(c, WS_CLIENT_FINAL | WS_CLIENT_BINARY, WS_MESSAGE_BYTES_MAX + 1);
	ws_expect_closed(c);
	ws_client_free(c);
}

Test(ws_protocol, the_control_limit_is_the_parts_own)
{
	struct ws_client *c = open_mute(OWN_PATH);

	say(c, "flood");
	cr_expect_eq(ws_client_receive(c, DIAL_PATIENCE_MS).len, CONTROL_MAX / 2 - 4);
	cr_expect_eq(ws_client_receive(c, DIAL_PATIENCE_MS).len, CONTROL_MAX / 2 - 4);
	say(c, "over");
	cr_expect_eq(ws_client_receive(c, DIAL_PATIENCE_MS).len, CONTROL_MAX / 2 - 4);
	cr_expect_eq(ws_client_receive(c, DIAL_PATIENCE_MS).what, WS_CLOSED);
	cr_expect_eq(metric_get(M_WS_CLOSED_CONTROL_FULL), 1);
	ws_client_free(c);

	c = open_mute(PLAIN_PATH);
	say(c, "over");
	cr_expect_eq(ws_client_receive(c, DIAL_PATIENCE_MS).len, CONTROL_MAX / 2 - 4);
	cr_expect_eq(ws_client_receive(c, DIAL_PATIENCE_MS).len, CONTROL_MAX / 2 - 3);
	ws_client_free(c);
}

/* Pings and pongs */

static void expect_pings(const char *payload, size_t len)
{
	struct ws_client      *c = open_mute(OWN_PATH);
	uint8_t                asked[5 + 125];
	struct ws_client_event e;
	size_t                 before = pongs;

	memcpy(asked, "ping ", 5);
	memcpy(asked + 5, payload, len);
	ws_client_send_bytes(c, asked, 5 + len);
	expect_text(c, "before");
	e = ws_client_receive(c, DIAL_PATIENCE_MS);
	cr_assert(e.what == WS_PING && e.len == len && memcmp(e.data, payload, len) == 0);
	ws_client_send_frame(c, WS_CLIENT_FINAL | WS_CLIENT_PONG, true, payload, len);
	expect_text(c, "after");
	say(c, "is it here?");
	expect_text(c, "binary 11");
	cr_expect_eq(pongs, before + 1);
	cr_expect(pong_len == len && memcmp(pong, payload, len) == 0);
	ws_client_free(c);
}

Test(ws_protocol, a_ping_carries_its_payload_and_so_does_the_pong)
{
	char longest[125];

	memset(longest, 'p', sizeof(longest));
	expect_pings("12345678", 8);
	expect_pings("", 0);
	expect_pings(longest, sizeof(longest));
}

Test(ws_protocol, pongs_in_pieces_and_between_the_pieces_of_a_message_are_heard)
{
	static const uint8_t head[] = { 0x8a, 0x82, 0, 0, 0, 0, 'o' };
	struct ws_client    *c      = open_at(OWN_PATH);

	ws_client_send_frame(c, WS_CLIENT_TEXT, true, "ab", 2);
	ws_client_send_raw(c, head, sizeof(head));
	ws_client_send_raw(c, "k", 1);
	ws_client_send_frame(c, WS_CLIENT_FINAL | WS_CLIENT_CONTINUE, true, "c", 1);
	expect_text(c, "text 3");
	cr_expect_eq(pongs, 1);
	cr_expect(pong_len == 2 && memcmp(pong, "ok", 2) == 0);
	ws_client_free(c);
}

Test(ws_protocol, a_part_that_does_not_ask_hears_no_pong)
{
	struct ws_client *c = open_at(PLAIN_PATH);

	ws_client_send_frame(c, WS_CLIENT_FINAL | WS_CLIENT_PONG, true, "p", 1);
	say(c, "x");
	expect_text(c, "binary 1");
	ws_client_free(c);
}

Test(ws_protocol, no_pong_is_heard_while_closing)
{
	struct ws_client *c = open_mute(OWN_PATH);

	say(c, "close 1000");
	expect_status(c, 1000);
	ws_client_send_frame(c, WS_CLIENT_FINAL | WS_CLIENT_PONG, true, "p", 1);
	ws_client_close(c, 0);
	ws_expect_end(c);
	cr_expect_eq(pongs, 0);
	ws_client_free(c);
}

/* Closing */

Test(ws_protocol, a_close_can_say_why)
{
	static const int statuses[] = { 1000, 1007, 1008, 1009 };

	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
		struct ws_client *c = open_at(OWN_PATH);
		char              asked[16];

		snprintf(asked, sizeof(asked), "close %d", statuses[i]);
		say(c, asked);
		expect_status(c, statuses[i]);
		ws_expect_end(c);
		ws_client_free(c);
	}
}

Test(ws_protocol, a_peers_own_close_is_answered_with_an_empty_one)
{
	struct ws_client *c = open_mute(OWN_PATH);

	ws_client_close(c, 1001);
	ws_expect_closed(c);
	ws_client_free(c);
}

Test(ws_protocol, a_small_limit_holds_right_behind_the_head_as_well)
{
	static uint8_t    bytes[11];
	struct ws_client *c = open_at(SMALL_PATH);

	ws_client_send_bytes(c, bytes, 10);
	expect_text(c, "binary 10");
	ws_client_send_bytes(c, bytes, 11);
	expect_status(c, 1009);
	ws_client_free(c);
}
