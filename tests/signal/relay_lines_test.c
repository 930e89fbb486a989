/*
 * Lines from one peer to another, on every way in and out.
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
	s     = server_start(signal_tls_sets(NULL));
	alice = identity_of(1);
	bob   = identity_of(2);
}

static void stop(void)
{
	server_finish(s);
}

TestSuite(relay_lines, .init = start, .fini = stop);

/* Payloads */

static const struct payload {
	const char *bytes;
	size_t      len;
} payloads[] = {
#define PAYLOAD(text)                  \
	{                              \
		text, sizeof(text) - 1 \
	}
	PAYLOAD("c0ffee"), PAYLOAD("C0FFEE"),       PAYLOAD("abc"),      PAYLOAD(""),
	PAYLOAD(" "),      PAYLOAD("two  blanks "), PAYLOAD("a tab\t"),  PAYLOAD("carriage return\r"),
	PAYLOAD("a\0nul"), PAYLOAD("\xff\xfe\x80"), PAYLOAD("\xc3\xbc"), PAYLOAD("gen:somebody else"),
};

static void send_to(struct signal_client *c, const struct identity *to, const void *payload, size_t len)
{
	static char line[16384];

	memcpy(line, to->text, 68);
	line[68] = ' ';
	memcpy(line + 69, payload, len);
	line[69 + len] = '\n';
	signal_send(c, line, c->ws ? 69 + len : 70 + len);
}

static void expect_from(struct signal_client *c, const struct identity *from, const void *payload, size_t len)
{
	cr_assert_eq(signal_read_line(c, DIAL_PATIENCE_MS), SIGNAL_GOT_LINE);
	cr_assert_eq(c->line_len, 69 + len);
	cr_expect(memcmp(c->in, from->text, 68) == 0 && c->in[68] == ' ');
	cr_expect_eq(memcmp(c->in + 69, payload, len), 0);
}

Test(relay_lines, payloads_arrive_as_they_are_with_the_registered_name_of_the_sender)
{
	for (int from = 0; from < SIGNAL_WAYS; from++) {
		for (int to = 0; to < SIGNAL_WAYS; to++) {
			struct signal_client *a = signal_registered(s, (enum signal_way)from, &alice);
			struct signal_client *b = signal_registered(s, (enum signal_way)to, &bob);

			for (size_t i = 0; i < COUNT_OF(payloads); i++) {
				send_to(a, &bob, payloads[i].bytes, payloads[i].len);
				expect_from(b, &alice, payloads[i].bytes, payloads[i].len);
			}
			signal_client_free(a);
			signal_client_free(b);
			server_advance(s, 11000);
		}
	}
}

Test(relay_lines, a_line_to_oneself_comes_back)
{
	for (int way = 0; way < SIGNAL_WAYS; way++) {
		struct signal_client *a = signal_registered(s, (enum signal_way)way, &alice);

		signal_say(a, "%s ", alice.text);
		signal_expect(a, "%s ", alice.text);
		signal_say(a, "%s 0a", alice.text);
		signal_expect(a, "%s 0a", alice.text);
		signal_client_free(a);
	}
	cr_expect_eq(server_metric(s, "coopd_signal_self_tests_total", NULL), 2 * SIGNAL_WAYS);
	cr_expect_eq(server_metric(s, "coopd_signal_lines_total", NULL), SIGNAL_WAYS);
}

Test(relay_lines, what_goes_nowhere_is_dropped_in_silence_and_the_connection_goes_on)
{
	struct identity nobody = identity_of(77);

	for (int way = 0; way < SIGNAL_WAYS; way++) {
		struct signal_client *a = signal_registered(s, (enum signal_way)way, &alice);
		struct signal_client *b = signal_registered(s, SIGNAL_PLAIN, &bob);

		signal_say(a, "%s", bob.text);
		signal_say(a, " %s 0a", bob.text);
		signal_say(a, "%s\t0a", bob.text);
		signal_say(a, "%s 0a", nobody.text);
		signal_say(a, "somebody 0a");
		if (way != SIGNAL_WEBSOCKET) {
			signal_say(a, "%s", ""); /* over WebSocket an empty message is none */
			signal_say(a, " ");
		}
		signal_say(a, "%s last", bob.text);
		signal_expect(b, "%s last", alice.text);
		signal_test_self(a, &alice);
		signal_client_free(a);
		signal_client_free(b);
	}
	cr_expect_eq(server_metric(s, "coopd_signal_lines_dropped_total", "reason=\"shape\""), 2 + 2 * 2 + 3 * 2 + 1);
	cr_expect_eq(server_metric(s, "coopd_signal_lines_dropped_total", "reason=\"nobody\""), 2 * SIGNAL_WAYS);
}

Test(relay_lines, white_space_around_the_destination_is_nothing)
{
	struct signal_client *a = signal_registered(s, SIGNAL_PLAIN, &alice);
	struct signal_client *b = signal_registered(s, SIGNAL_PLAIN, &bob);

	signal_say(a, "\t%s\t 0a", bob.text);
	signal_expect(b, "%s 0a", alice.text);
	signal_client_free(a);
	signal_client_free(b);
}

/* 8192 bytes */

Test(relay_lines, a_line_of_8192_bytes_is_relayed_and_a_longer_one_ends_the_connection)
{
	static char payload[8192];

	memset(payload, 'f', sizeof(payload));
	for (int from = 0; from < SIGNAL_WAYS; from++) {
		for (int to = 0; to < SIGNAL_WAYS; to++) {
			struct signal_client *a = signal_registered(s, (enum signal_way)from, &alice);
			struct signal_client *b = signal_registered(s, (enum signal_way)to, &bob);

			send_to(a, &bob, payload, 8192 - 70);
			expect_from(b, &alice, payload, 8192 - 70);
			send_to(a, &bob, payload, 8192 - 69);
			signal_expect_end_case(a, signal_way_names[from]);
			signal_expect_silence(b, 20);
			signal_client_free(a);
			signal_client_free(b);
			server_await_metric(s, "coopd_signal_peers", NULL, 0, DIAL_PATIENCE_MS);
		}
	}
	await_log(s, ": disconnected reason=line (it is too long) identity=gen:");
}

Test(relay_lines, an_unfinished_line_may_wait_at_8192_bytes_but_not_at_8193)
{
	static char bytes[8193];

	memset(bytes, 'x', sizeof(bytes));
	for (int way = SIGNAL_PLAIN; way <= SIGNAL_TLS; way++) {
		struct signal_client *a = signal_registered(s, (enum signal_way)way, &alice);

		signal_send(a, bytes, 8192);
		signal_expect_silence(a, 100);
		signal_send(a, bytes, 1);
		signal_expect_end(a);
		signal_client_free(a);
	}
}

/* Pieces and order */

Test(relay_lines, bytes_may_come_in_any_pieces)
{
	for (int way = SIGNAL_PLAIN; way <= SIGNAL_TLS; way++) {
		struct signal_client *a = signal_registered(s, (enum signal_way)way, &alice);
		struct signal_client *b = signal_registered(s, (enum signal_way)way, &bob);
		char                  text[512];
		int len = snprintf(text, sizeof(text), "%s 01\n%s \n%s 02\r\n", bob.text, bob.text, bob.text);

		/* Cut in two at every place. */
		for (int cut = 0; cut <= len; cut += 1) {
			signal_send(a, text, (size_t)cut);
			if (cut % 3 == 0)
				real_sleep_ms(1);
			signal_send(a, text + cut, (size_t)(len - cut));
			signal_expect(b, "%s 01", alice.text);
			signal_expect(b, "%s ", alice.text);
			signal_expect(b, "%s 02\r", alice.text);
			if (cut % 50 == 49)
				server_advance(s, 11000);
		}
		signal_client_free(a);
		signal_client_free(b);
		server_advance(s, 11000);
	}
}

Test(relay_lines, order_is_kept_from_one_sender_to_one_destination)
{
	struct signal_client *a = signal_registered(s, SIGNAL_PLAIN, &alice);
	struct signal_client *b[SIGNAL_WAYS];
	struct identity       names[SIGNAL_WAYS];

	for (unsigned way = 0; way < SIGNAL_WAYS; way++) {
		names[way] = identity_of(10 + way);
		b[way]     = signal_registered(s, (enum signal_way)way, &names[way]);
	}
	for (int i = 0; i < 60; i++)
		for (int way = 0; way < SIGNAL_WAYS; way++)
			signal_say(a, "%s %d", names[way].text, i);
	for (int i = 0; i < 60; i++)
		for (int way = 0; way < SIGNAL_WAYS; way++)
			signal_expect(b[way], "%s %d", alice.text, i);
	for (int way = 0; way < SIGNAL_WAYS; way++)
		signal_client_free(b[way]);
	signal_client_free(a);
}

/* A burst of one sender in one packet is more than his share of a queue; but nothing is in the queue when the peer reads. */
Test(relay_lines, a_burst_reaches_who_reads)
{
	static char text[200 * 80];

	for (int way = 0; way < SIGNAL_WAYS; way++) {
		struct signal_client *a   = signal_registered(s, SIGNAL_PLAIN, &alice);
		struct signal_client *b   = signal_registered(s, (enum signal_way)way, &bob);
		int                   len = 0;

		for (int i = 0; i < 190; i++)
			len += snprintf(text + len, sizeof(text) - (size_t)len, "%s %d\n", bob.text, i);
		signal_send(a, text, (size_t)len);
		for (int i = 0; i < 190; i++)
			signal_expect(b, "%s %d", alice.text, i);
		signal_client_free(a);
		signal_client_free(b);
		server_advance(s, 11000);
	}
}

/* Budgets */

Test(relay_lines, 200_lines_of_one_sender_in_10_s_and_self_tests_on_top)
{
	for (int way = 0; way < SIGNAL_WAYS; way++) {
		struct signal_client *a = signal_registered(s, (enum signal_way)way, &alice);
		struct signal_client *b = signal_registered(s, SIGNAL_PLAIN, &bob);

		for (int i = 0; i < 200; i++) {
			signal_say(a, "%s %d", bob.text, i);
			signal_expect(b, "%s %d", alice.text, i);
		}
		signal_say(a, "%s dropped", bob.text);
		signal_test_self(a, &alice);
		server_advance(s, 11000);
		signal_say(a, "%s again", bob.text);
		signal_expect(b, "%s again", alice.text);
		signal_client_free(a);
		signal_client_free(b);
		server_advance(s, 11000);
	}
	cr_expect_eq(server_metric(s, "coopd_signal_lines_dropped_total", "reason=\"budget\""), SIGNAL_WAYS);
}

/* Secrets */

Test(relay_lines, neither_token_nor_nonce_nor_payload_is_in_the_log)
{
	struct signal_client *a = signal_registered(s, SIGNAL_PLAIN, &alice);
	struct signal_client *b = signal_registered(s, SIGNAL_WEBSOCKET, &bob);

	signal_say(a, "%s deadbeefdeadbeef", bob.text);
	signal_expect(b, "%s deadbeefdeadbeef", alice.text);
	signal_client_free(b);
	await_log(s, ": registered (key proved) identity=gen:");
	await_log(s, "listener=websocket address=127.0.0.0");
	await_log(s, ": disconnected reason=peer identity=gen:");
	cr_expect(server_log_contains(s, ": admitted identity=- listener=plain address=127.0.0.0"));
	cr_expect_not(server_log_contains(s, SERVER_SIGNAL_TOKEN));
	cr_expect_not(server_log_contains(s, a->nonce));
	cr_expect_not(server_log_contains(s, "deadbeef"));
	cr_expect_not(server_log_contains(s, "127.0.0.1 "));
	signal_client_free(a);
}

Test(relay_lines, what_somebody_offers_as_identity_is_made_harmless)
{
	struct signal_client *c = signal_dial(s, SIGNAL_PLAIN);

	signal_say(c, SERVER_SIGNAL_TOKEN " gen:\x1b[31mred\xff\x01");
	signal_expect_end(c);
	signal_client_free(c);
	await_log(s, "offered=gen:\\x1b[31mred\\xff\\x01");
}

Test(relay_lines, a_token_that_is_offered_as_identity_is_not_in_the_log)
{
	static const char *const lanes[SIGNAL_WAYS] = { "plain", "tls", "websocket" };

	for (int way = 0; way < SIGNAL_WAYS; way++) {
		struct signal_client *c = signal_dial(s, (enum signal_way)way);
		char                  want[120];

		signal_say(c, SERVER_SIGNAL_TOKEN " " SERVER_SIGNAL_TOKEN);
		signal_expect_end(c);
		signal_client_free(c);
		snprintf(want, sizeof(want), "in lower case) identity=- listener=%s", lanes[way]);
		await_log(s, want);
	}
	cr_expect_not(server_log_contains(s, SERVER_SIGNAL_TOKEN));
}
