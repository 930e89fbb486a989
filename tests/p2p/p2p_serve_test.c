/*
 * Sessions at /p2p, of the whole server: hello, requests of every shape, deadlines, pings, what an address may have.
 */
#include "support/p2p_raw.h"

#include "base/auto.h"
#include "base/base64.h"
#include "base/hex.h"
#include "base/json.h"
#include "support/dial.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLOSED      "coopd_p2p_closed_total"
#define MESSAGE_MAX 24576
#define STRANGER    "198.51.100.7"

static struct server *s;

static void start_with(const char *const *sets)
{
	s = server_start(sets);
}

static void start(void)
{
	start_with(NULL);
}

static void stop(void)
{
	server_finish(s);
}

TestSuite(p2p_serve, .fini = stop, .timeout = 120);

/* It is there and was not closed: the next answer is that of this question. */
static void expect_alive(struct ws_client *c)
{
	const char *text = p2p_raw_ask(c, "{\"op\":\"alive\",\"id\":-77}");

	cr_expect(p2p_raw_has(text, "\"alive\" -77 \"unknown_op\""), "%s", text);
}

/* --- Hello --- */

Test(p2p_serve, hello_tells_a_session_what_it_needs, .init = start)
{
	struct ws_client             *c   = p2p_raw_open(s, NULL);
	AUTO(json_freep) struct json *j   = NULL;
	AUTO(json_freep) struct json *udp = NULL;
	const char                   *text =
		p2p_raw_ask(c, "{\"op\":\"p2p.hello\",\"id\":5,\"player\":\"000102030405060708090a0b0c0d0e0f\"}");
	char    value[80];
	uint8_t sid[8], key[BASE64_DECODED_BYTES(BASE64_BYTES(32))];
	size_t  len;
	int64_t port = 0, alt = 0;

	cr_expect(p2p_raw_has(text, "\"op\":\"p2p.hello\" \"id\":5 \"ok\":true \"uid\":\"be45cb2605bf36be\" "
	                            "\"keepalive_s\":15 \"nat\":{\"type\":0,\"name\":\"unknown\"}"),
	          "%s", text);
	p2p_raw_text(value, sizeof(value), text, "sid");
	cr_expect_eq(hex_decode(sid, sizeof(sid), value, strlen(value)), ERR_OK);
	p2p_raw_text(value, sizeof(value), text, "key");
	cr_expect_eq(base64_decode(key, &len, value, strlen(value)), ERR_OK);
	cr_expect_eq(len, 32);
	cr_assert_eq(json_parse(&j, text, strlen(text)), ERR_OK);
	udp = json_member_object(j, "udp");
	cr_expect_eq(json_get_int(&port, udp, "port"), ERR_OK);
	cr_expect_eq(json_get_int(&alt, udp, "alt"), ERR_OK);
	cr_expect_eq(port, s->p2p_port);
	cr_expect_eq(alt, s->p2p_alt_port);
	cr_expect(p2p_raw_has(text, "\"a\":\"127.0.0.1\" \"b\":\"127.0.0.2\""), "%s", text);
	ws_client_free(c);
}

Test(p2p_serve, a_player_key_has_32_hex_digits, .init = start)
{
	static const char *const bad[] = { "",
		                           ",\"player\":\"\"",
		                           ",\"player\":\"0001020304050607080910111213141\"",
		                           ",\"player\":\"000102030405060708091011121314155\"",
		                           ",\"player\":\"0001020304050607080910111213141g\"",
		                           ",\"player\":7",
		                           ",\"player\":null" };
	struct ws_client        *c     = p2p_raw_open(s, NULL);

	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		const char *text = p2p_raw_ask(c, "{\"op\":\"p2p.hello\",\"id\":%zu%s}", i, bad[i]);

		cr_expect(p2p_raw_has(text, "\"ok\":false \"bad_player\""), "%s: %s", bad[i], text);
	}
	cr_expect(p2p_raw_has(p2p_raw_ask(c, "{\"op\":\"nat.get\",\"id\":1}"), "\"no_hello\""));
	p2p_raw_hello(c, 1);
	ws_client_free(c);
}

Test(p2p_serve, relay_only_is_true_or_false, .init = start)
{
	struct ws_client *c = p2p_raw_open(s, NULL);

	cr_expect(p2p_raw_has(p2p_raw_ask(c, "{\"op\":\"p2p.hello\",\"player\":\"%032x\",\"relay_only\":1}", 1U),
	                      "\"bad_request\""));
	cr_expect(p2p_raw_has(p2p_raw_ask(c, "{\"op\":\"p2p.hello\",\"player\":\"%032x\",\"relay_only\":true}", 1U),
	                      "\"ok\":true"));
	ws_client_free(c);
}

Test(p2p_serve, a_second_hello_of_the_same_player_stays_and_of_another_leaves, .init = start)
{
	struct ws_client *c = p2p_raw_open(s, NULL), *other = p2p_raw_open(s, NULL);
	char              sid[2][20], key[2][60], room[20], uid[20];
	const char       *text;

	text = p2p_raw_hello(c, 1);
	p2p_raw_text(sid[0], sizeof(sid[0]), text, "sid");
	p2p_raw_text(key[0], sizeof(key[0]), text, "key");
	p2p_raw_text(uid, sizeof(uid), text, "uid");
	p2p_raw_text(room, sizeof(room), p2p_raw_ask(c, "{\"op\":\"p2p.create\",\"id\":2}"), "room");
	p2p_raw_hello(other, 2);
	p2p_raw_ask(other, "{\"op\":\"p2p.join\",\"id\":2,\"room\":\"%s\"}", room);
	p2p_raw_hear(c);

	text = p2p_raw_hello(c, 1);
	cr_expect(p2p_raw_has(text, room) && p2p_raw_has(text, "\"seat\":0"), "%s", text);
	p2p_raw_text(sid[1], sizeof(sid[1]), text, "sid");
	p2p_raw_text(key[1], sizeof(key[1]), text, "key");
	cr_expect_str_neq(sid[0], sid[1]);
	cr_expect_str_neq(key[0], key[1]);
	cr_expect_eq((int)server_metric(s, "coopd_p2p_sessions", NULL), 2);

	text = p2p_raw_hello(c, 3);
	cr_expect_null(strstr(text, "\"room\""), "%s", text);
	text = p2p_raw_hear(other);
	cr_expect(p2p_raw_has(text, "\"p2p.member\" \"left\"") && p2p_raw_has(text, uid), "%s", text);
	cr_expect_eq((int)server_metric(s, "coopd_p2p_sessions", NULL), 2);
	ws_client_free(c);
	ws_client_free(other);
}

Test(p2p_serve, a_newer_session_of_a_player_takes_over, .init = start)
{
	struct ws_client *c = p2p_raw_open(s, NULL), *newer = p2p_raw_open(s, NULL);
	char              room[20];
	const char       *text;

	p2p_raw_hello(c, 1);
	p2p_raw_text(room, sizeof(room), p2p_raw_ask(c, "{\"op\":\"p2p.create\",\"id\":2}"), "room");
	text = p2p_raw_hello(newer, 1);
	cr_expect(p2p_raw_has(text, room) && p2p_raw_has(text, "\"seat\":0"), "%s", text);
	cr_expect_eq(p2p_raw_end(c), 0);
	server_await_metric(s, CLOSED, "replaced", 1, DIAL_PATIENCE_MS);
	cr_expect_eq((int)server_metric(s, "coopd_p2p_sessions", NULL), 1);
	expect_alive(newer);
	ws_client_free(c);
	ws_client_free(newer);
}

static bool log_has(const char *text)
{
	return server_log_contains(s, text);
}

static void start_debug(void)
{
	start_with((const char *[]){ "log.level=debug", NULL });
}

Test(p2p_serve, no_key_is_in_the_log, .init = start_debug)
{
	struct ws_client *c = p2p_raw_open(s, NULL);
	char              key[60], uid[20];
	const char       *text = p2p_raw_hello(c, 0x5a5a5a5a);

	p2p_raw_text(key, sizeof(key), text, "key");
	p2p_raw_text(uid, sizeof(uid), text, "uid");
	cr_expect(log_has(uid), "it is told of");
	cr_expect_not(log_has(key));
	cr_expect_not(log_has("5a5a5a5a"));
	ws_client_free(c);
}

/* --- Requests --- */

static const char *const ops[] = { "p2p.local", "p2p.mapped", "p2p.create", "p2p.join",          "p2p.leave",
	                           "p2p.start", "p2p.plan",   "p2p.link",   "p2p.ping_try_done", "p2p.links",
	                           "nat.check", "nat.update", "nat.get",    "nat.step_done",     "nat.ping_try" };

Test(p2p_serve, nothing_is_done_before_hello, .init = start)
{
	struct ws_client *c = p2p_raw_open(s, NULL);

	for (size_t i = 0; i < COUNT_OF(ops); i++) {
		const char *text = p2p_raw_ask(c, "{\"op\":\"%s\",\"id\":3}", ops[i]);

		cr_expect(p2p_raw_has(text, "\"id\":3 \"ok\":false \"no_hello\"") && p2p_raw_has(text, ops[i]), "%s",
		          text);
	}
	ws_client_send(c, "02 00 00 00 00 00 00 00 00 00 00 00"); /* no answer, as of every frame */
	expect_alive(c);
	ws_client_free(c);
}

static void start_disabled(void)
{
	start_with((const char *[]){ "p2p.enable=no", NULL });
}

Test(p2p_serve, switched_off_everything_is_disabled, .init = start_disabled)
{
	struct ws_client *c = p2p_raw_open(s, NULL);

	for (size_t i = 0; i < COUNT_OF(ops); i++)
		cr_expect(p2p_raw_has(p2p_raw_ask(c, "{\"op\":\"%s\",\"id\":3}", ops[i]), "\"disabled\""), "%s",
		          ops[i]);
	cr_expect(p2p_raw_has(p2p_raw_ask(c, "{\"op\":\"p2p.hello\",\"id\":3,\"player\":\"%032x\"}", 1U),
	                      "\"disabled\""));
	cr_expect_eq(s->p2p_port, 0, "no socket");
	cr_expect_not(log_has("no-udp"));
	ws_client_free(c);
}

Test(p2p_serve, a_request_without_usable_op_or_id_is_refused_with_the_id_0, .init = start)
{
	static const char *const bad[] = { "{}",
		                           "{\"id\":4}",
		                           "{\"op\":4,\"id\":4}",
		                           "{\"op\":\"nat.get\",\"id\":\"4\"}",
		                           "{\"op\":\"nat.get\",\"id\":4.5}",
		                           "{\"op\":[\"nat.get\"],\"id\":[]}" };
	struct ws_client        *c     = p2p_raw_open(s, NULL);

	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		const char *text = p2p_raw_ask(c, "%s", bad[i]);

		cr_expect(p2p_raw_has(text, "\"bad_request\" \"ok\":false"), "%s: %s", bad[i], text);
		cr_expect(strstr(text, "\"id\":0") || strstr(bad[i], "\"id\":4}"), "%s: %s", bad[i], text);
	}
	expect_alive(c);
	ws_client_free(c);
}

Test(p2p_serve, what_nobody_knows_is_ignored_and_the_last_of_two_counts, .init = start)
{
	struct ws_client *c = p2p_raw_open(s, NULL);

	p2p_raw_hello(c, 1);
	cr_expect(p2p_raw_has(p2p_raw_ask(c, "{\"op\":\"x\",\"op\":\"nat.get\",\"id\":1,\"id\":9223372036854775807,"
	                                     "\"more\":[{\"a\":1.5}]}"),
	                      "\"nat.get\" \"id\":9223372036854775807 \"ok\":true"));
	ws_client_free(c);
}

/* Says it in a connection of its own: how that ends. */
static int end_after(const char *text, size_t len)
{
	struct ws_client *c = p2p_raw_open(s, NULL);
	int               status;

	ws_client_send_frame(c, WS_CLIENT_FINAL | WS_CLIENT_TEXT, true, text, len);
	status = p2p_raw_end(c);
	ws_client_free(c);
	return status;
}

Test(p2p_serve, what_is_no_object_closes_with_1008_and_no_utf8_with_1007, .init = start)
{
	static const char *const none[]   = { "[]", "\"op\"", "7", "{", "{}x", "{\"op\"}", "{\"a\":1e999}", "null" };
	static const char *const broken[] = { "\xff", "{\"op\":\"\xc3\x28\"}", "{\"a\":\"\xed\xa0\x80\"}", "[\x80" };

	const size_t all = COUNT_OF(none) + COUNT_OF(broken);

	for (size_t i = 0; i < COUNT_OF(none); i++)
		cr_expect_eq(end_after(none[i], strlen(none[i])), 1008, "%s", none[i]);
	for (size_t i = 0; i < COUNT_OF(broken); i++)
		cr_expect_eq(end_after(broken[i], strlen(broken[i])), 1007, "%zu", i);
	server_await_metric(s, CLOSED, "message", (double)all, DIAL_PATIENCE_MS);
}

/* So deep, with its object. */
static void nest(char *out, size_t deep)
{
	out += sprintf(out, "{\"op\":\"deep\",\"id\":1,\"a\":");
	for (size_t i = 1; i < deep; i++)
		*out++ = '[';
	for (size_t i = 1; i < deep; i++)
		*out++ = ']';
	strcpy(out, "}");
}

Test(p2p_serve, an_object_is_at_most_16_deep, .init = start)
{
	struct ws_client *c = p2p_raw_open(s, NULL);
	char              text[128];

	nest(text, 16);
	cr_expect(p2p_raw_has(p2p_raw_ask(c, "%s", text), "\"unknown_op\""));
	nest(text, 17);
	cr_expect_eq(end_after(text, strlen(text)), 1008);
	ws_client_free(c);
}

Test(p2p_serve, a_message_has_at_most_24576_bytes, .init = start)
{
	struct ws_client *c    = p2p_raw_open(s, NULL);
	char             *text = malloc(MESSAGE_MAX + 1);
	int               len;

	cr_assert_not_null(text);
	memset(text, ' ', MESSAGE_MAX + 1);
	len                   = sprintf(text, "{\"op\":\"long\",\"id\":1");
	text[len]             = ' ';
	text[MESSAGE_MAX - 1] = '}';
	ws_client_send_frame(c, WS_CLIENT_FINAL | WS_CLIENT_TEXT, true, text, MESSAGE_MAX);
	cr_expect(p2p_raw_has(p2p_raw_hear(c), "\"unknown_op\""));
	cr_expect_eq(end_after(text, MESSAGE_MAX + 1), 1009);
	free(text);
	ws_client_free(c);
}

/* --- How much --- */

#define AT_ONCE 5

static void start_rate(void)
{
	start_with((const char *[]){ "limits.p2p_requests=1", "limits.p2p_requests_burst=5",
	                             "limits.p2p_ping_ms=100000", "limits.p2p_silence_ms=200000",
	                             "limits.ws_ping_ms=3600000", NULL });
}

Test(p2p_serve, requests_have_a_rate_and_refused_ones_count, .init = start_rate)
{
	struct ws_client *c = p2p_raw_open(s, STRANGER), *here;

	p2p_raw_hello(c, 1);
	server_advance(s, 60000); /* all are there again */
	for (int i = 0; i < AT_ONCE + 1; i++)
		p2p_raw_say(c, "{\"op\":\"%s\",\"id\":%d}", i % 2 ? "nat.get" : "nobody", i);
	for (int i = 0; i < AT_ONCE; i++)
		cr_expect_null(strstr(p2p_raw_hear(c), "\"busy\""), "%d", i);
	cr_expect(p2p_raw_has(p2p_raw_hear(c), "\"busy\" \"id\":5"));
	server_advance(s, 1000);
	cr_expect(p2p_raw_has(p2p_raw_ask(c, "{\"op\":\"nat.get\",\"id\":1}"), "\"ok\":true"));
	here = p2p_raw_open(s, NULL);
	for (int i = 0; i < 3 * AT_ONCE; i++)
		expect_alive(here);
	ws_client_free(c);
	ws_client_free(here);
}

static void start_few(void)
{
	start_with((const char *[]){ "limits.p2p_sessions=3", "limits.p2p_sessions_per_address=2", NULL });
}

Test(p2p_serve, sessions_are_bounded_per_address_and_in_all, .init = start_few)
{
	struct ws_client *one = p2p_raw_open(s, STRANGER), *two = p2p_raw_open(s, STRANGER);
	struct ws_client *refused = p2p_raw_open(s, STRANGER), *other, *last;

	expect_alive(one);
	expect_alive(two);
	cr_expect_eq(p2p_raw_end(refused), 0);
	server_await_metric(s, CLOSED, "address", 1, DIAL_PATIENCE_MS);
	other = p2p_raw_open(s, NULL);
	expect_alive(other);
	last = p2p_raw_open(s, "198.51.100.8");
	cr_expect_eq(p2p_raw_end(last), 0);
	server_await_metric(s, CLOSED, "total", 1, DIAL_PATIENCE_MS);
	ws_client_free(last);
	ws_client_free(refused);

	ws_client_free(one);
	server_await_metric(s, CLOSED, "peer", 1, DIAL_PATIENCE_MS);
	one = p2p_raw_open(s, STRANGER);
	expect_alive(one);
	ws_client_free(one);
	ws_client_free(two);
	ws_client_free(other);
}

static void start_slow_hello(void)
{
	start_with((const char *[]){ "limits.p2p_hello_ms=600000", "limits.ws_ping_ms=3600000", NULL });
}

Test(p2p_serve, hello_has_its_time, .init = start_slow_hello)
{
	struct ws_client *c = p2p_raw_open(s, NULL), *late = p2p_raw_open(s, NULL);

	expect_alive(c);
	expect_alive(late);
	server_advance(s, 500000);
	expect_alive(late); /* which is no hello */
	p2p_raw_hello(c, 1);
	server_advance(s, 100001);
	cr_expect_eq(p2p_raw_end(late), 0);
	expect_alive(c);
	cr_expect_eq((int)server_metric(s, CLOSED, "no_hello"), 1);
	ws_client_free(c);
	ws_client_free(late);
}

/* --- Pings --- */

static void start_pings(void)
{
	start_with((const char *[]){ "limits.p2p_ping_ms=100000", "limits.p2p_silence_ms=200000",
	                             "limits.ws_ping_ms=3600000", NULL });
}

static void pong(struct ws_client *c, const uint8_t payload[8])
{
	ws_client_send_frame(c, WS_CLIENT_FINAL | WS_CLIENT_PONG, true, payload, 8);
}

Test(p2p_serve, each_ping_is_another_and_who_answers_stays, .init = start_pings)
{
	struct ws_client *c = p2p_raw_open_mute(s);
	uint8_t           ping[4][8];

	p2p_raw_hello(c, 1);
	for (size_t i = 0; i < 4; i++) {
		p2p_raw_ping(ping[i], c);
		for (size_t n = 0; n < i; n++)
			cr_expect_neq(memcmp(ping[i], ping[n], 8), 0);
		pong(c, ping[i]);
		expect_alive(c);
		server_advance(s, 100000);
	}
	ws_client_free(c);
}

Test(p2p_serve, who_answers_no_ping_is_gone_after_the_silence, .init = start_pings)
{
	struct ws_client *c = p2p_raw_open_mute(s);
	uint8_t           ping[8];

	p2p_raw_hello(c, 1);
	p2p_raw_ping(ping, c);
	server_advance(s, 100000);
	p2p_raw_ping(ping, c);
	expect_alive(c); /* requests are no pongs */
	server_advance(s, 100000);
	cr_expect_eq(p2p_raw_end(c), 0);
	server_await_metric(s, CLOSED, "silent", 1, DIAL_PATIENCE_MS);
	ws_client_free(c);
}

Test(p2p_serve, a_pong_that_answers_no_ping_does_not_count, .init = start_pings)
{
	struct ws_client *c = p2p_raw_open_mute(s);
	uint8_t           old[8], ping[8];

	p2p_raw_hello(c, 1);
	p2p_raw_ping(old, c);
	server_advance(s, 100000);
	p2p_raw_ping(ping, c);
	pong(c, old);
	ws_client_send_frame(c, WS_CLIENT_FINAL | WS_CLIENT_PONG, true, ping, 7);
	ws_client_send_frame(c, WS_CLIENT_FINAL | WS_CLIENT_PONG, true, "", 0);
	expect_alive(c);
	server_advance(s, 100000);
	cr_expect_eq(p2p_raw_end(c), 0);
	ws_client_free(c);
}

/* --- The upgrade --- */

Test(p2p_serve, the_subprotocol_is_its_own_and_web_pages_are_refused, .init = start)
{
	static const struct {
		const char *headers;
		int         status;
	} cases[]                     = { { "Sec-WebSocket-Protocol: coopd.p2p.v2\r\n", 400 },
		                          { "Origin: https://example.org\r\n", 403 },
		                          { NULL, 101 } };
	struct ws_client_options good = { .path        = "/p2p",
		                          .headers     = "Sec-WebSocket-Protocol: x, coopd.p2p.v1\r\n",
		                          .subprotocol = "coopd.p2p.v1",
		                          .takes_text  = true };
	struct ws_client        *c    = ws_client_open(s->tunnel_port, &good);

	expect_alive(c);
	ws_client_free(c);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct ws_client_options o = { .path = "/p2p", .headers = cases[i].headers };

		c = ws_client_dial(s->tunnel_port, &o);
		cr_expect_eq(ws_client_upgrade(c, &o), cases[i].status, "%zu", i);
		ws_client_free(c);
	}
}
