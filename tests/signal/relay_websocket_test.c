/*
 * What is different over WebSocket: messages instead of lines.
 */
#include "base/auto.h"
#include "support/await.h"
#include "support/signal_client.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct server  *s;
static struct identity alice, bob;

static void start(void)
{
	s     = server_start(NULL);
	alice = identity_of(1);
	bob   = identity_of(2);
}

static void stop(void)
{
	server_finish(s);
}

TestSuite(relay_websocket, .init = start, .fini = stop);

Test(relay_websocket, what_is_UTF_8_goes_out_as_text_and_what_is_not_as_bytes)
{
	static const struct {
		const char *payload;
		bool        is_text;
	} cases[] = {
		{ "c0ffee", true },
		{ "", true },
		{ "\xc3\xbc\xe2\x82\xac", true },
		{ "\xff", false },
		{ "\xc3", false },
		{ "\xed\xa0\x80", false },
		{ "\xc0\xaf", false },
		{ "\xf4\x90\x80\x80", false },
	};
	struct signal_client *a = signal_dial(s, SIGNAL_PLAIN);
	struct signal_client *b = signal_dial(s, SIGNAL_WEBSOCKET);

	signal_register(a, &alice);
	signal_greet(b, &bob);
	signal_take_nonce(b);
	cr_expect(b->is_text, "the nonce");
	signal_prove(b, &bob);
	signal_test_self(b, &bob);
	cr_expect(b->is_text, "the echo");
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		signal_say(a, "%s %s", bob.text, cases[i].payload);
		signal_expect(b, "%s %s", alice.text, cases[i].payload);
		cr_expect_eq(b->is_text, cases[i].is_text, "case %zu", i);
	}
	signal_client_free(a);
	signal_client_free(b);
}

Test(relay_websocket, a_line_may_come_as_text_or_as_bytes)
{
	struct signal_client *b = signal_registered(s, SIGNAL_WEBSOCKET, &bob);
	char                  line[128];
	int                   len = snprintf(line, sizeof(line), "%s 0a", bob.text);

	ws_client_send_bytes(b->ws, line, (size_t)len);
	signal_expect(b, "%s 0a", bob.text);
	ws_client_send_frame(b->ws, WS_CLIENT_FINAL | WS_CLIENT_TEXT, true, line, (size_t)len);
	signal_expect(b, "%s 0a", bob.text);

	/* In fragments, too. */
	ws_client_send_frame(b->ws, WS_CLIENT_TEXT, true, line, 30);
	ws_client_send_frame(b->ws, WS_CLIENT_FINAL | WS_CLIENT_CONTINUE, true, line + 30, (size_t)len - 30);
	signal_expect(b, "%s 0a", bob.text);
	signal_client_free(b);
}

Test(relay_websocket, a_line_break_in_a_message_ends_the_connection_in_every_phase)
{
	struct signal_client *c = signal_dial(s, SIGNAL_WEBSOCKET);

	signal_say(c, SERVER_SIGNAL_TOKEN " %s\n", alice.text);
	signal_expect_end(c);
	signal_client_free(c);

	c = signal_dial(s, SIGNAL_WEBSOCKET);
	signal_greet(c, &alice);
	signal_take_nonce(c);

	char hex[129];

	signal_proof_hex(hex, &alice, c->nonce);
	signal_say(c, "auth %s\n", hex);
	signal_expect_end(c);
	signal_client_free(c);

	c = signal_registered(s, SIGNAL_WEBSOCKET, &alice);
	signal_say(c, "%s 0a\n%s 0b", alice.text, alice.text);
	signal_expect_end(c);
	signal_client_free(c);
	await_log(s, "reason=line (there is a line break in a message)");
	cr_expect_eq(server_metric(s, "coopd_signal_closed_total", "reason=\"line\""), 3);
}

Test(relay_websocket, a_refusal_is_an_ordinary_close)
{
	struct ws_client_options o = { .path = "/signal" };
	struct ws_client        *c = ws_client_open(s->tunnel_port, &o);

	ws_client_send_bytes(c, "nonsense", 8);
	ws_expect_closed(c);
	ws_client_free(c);
}

Test(relay_websocket, an_evicted_one_is_reset)
{
	struct ws_client_options o = { .path = "/signal", .takes_text = true };
	struct signal_client    *a = signal_registered(s, SIGNAL_WEBSOCKET, &alice);
	struct signal_client    *b = signal_registered(s, SIGNAL_PLAIN, &alice);
	struct ws_client_event   e = ws_client_receive(a->ws, DIAL_PATIENCE_MS);

	(void)o;
	cr_expect_eq(e.what, WS_END);
	cr_expect(e.reset);
	signal_client_free(a);
	signal_client_free(b);
}

Test(relay_websocket, a_web_page_may_not_connect)
{
	struct ws_client_options o = { .path = "/signal", .headers = "Origin: https://evil.example\r\n" };
	struct ws_client        *c = ws_client_dial(s->tunnel_port, NULL);

	cr_expect_eq(ws_client_upgrade(c, &o), 403);
	ws_client_free(c);
	cr_expect_eq(server_metric(s, "coopd_signal_unproved", NULL), 0);
}

Test(relay_websocket, only_this_path_leads_to_the_relay)
{
	static const char *const others[] = { "/", "/signal/", "/signals", "/Signal" };

	for (size_t i = 0; i < COUNT_OF(others); i++) {
		struct ws_client_options o = { .path = others[i] };
		struct ws_client        *c = ws_client_open(s->tunnel_port, &o);

		ws_client_send_bytes(c, "nonsense", 8);
		ws_expect_nothing(c, 50);
		ws_client_free(c);
	}
}

Test(relay_websocket, without_the_relay_the_path_is_a_tunnel)
{
	static const char *const sets[] = { "signal.enable=no", NULL };
	struct ws_client_options o      = { .path = "/signal" };

	server_finish(s);
	s = server_start(sets);
	cr_expect_eq(s->signal_port, 0);

	struct ws_client *c = ws_client_open(s->tunnel_port, &o);

	ws_client_send_bytes(c, "nonsense", 8);
	ws_expect_nothing(c, 50);
	ws_client_free(c);
}
