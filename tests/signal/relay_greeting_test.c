/*
 * From the connection to the registration, on every way in: what is refused, in silence, and what is let in.
 */
#include "base/auto.h"
#include "support/await.h"
#include "support/signal_client.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TOKEN SERVER_SIGNAL_TOKEN
#define KEY   "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8"
#define NAME  "gen:" KEY
#define HEX64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static struct server *s;

static void start(void)
{
	s = server_start(signal_tls_sets(NULL));
}

static void stop(void)
{
	server_finish(s);
}

TestSuite(relay_greeting, .init = start, .fini = stop);

/* Greetings */

static const struct bad {
	const char *line, *log;
} bad_greetings[] = {
	{ "", "reason=greeting" },
	{ "GET / HTTP/1.1", "reason=greeting" },
	{ TOKEN, "reason=greeting" },
	{ TOKEN "  " NAME, "reason=greeting" },
	{ TOKEN "\t" NAME, "reason=greeting" },
	{ TOKEN " " NAME " x", "reason=greeting" },
	{ "wrong " NAME, "reason=token" },
	{ TOKEN "x " NAME, "reason=token" },
	{ "signal-token-of-the-test " NAME, "reason=token" },
	{ "wrong h0123456789abcdef", "reason=token" }, /* the token is looked at first */
	{ TOKEN " h0123456789abcdef", "reason=identity" },
	{ TOKEN " c0123456789abcdef", "reason=identity" },
	{ TOKEN " gen:03A107BFF3CE10BE1D70DD18E74BC09967E4D6309BA50D5F1DDC8664125531B8", "reason=identity" },
	{ TOKEN " gen:" KEY "00", "reason=identity" },
	{ TOKEN " gem:" KEY, "reason=identity" },
	{ TOKEN " gen:" KEY "0123456789012", "reason=identity (it is too long)" },
};

Test(relay_greeting, whatever_is_no_greeting_is_closed_without_a_word)
{
	for (int way = 0; way < SIGNAL_WAYS; way++) {
		for (size_t i = 0; i < COUNT_OF(bad_greetings); i++) {
			struct signal_client *c = signal_dial(s, (enum signal_way)way);

			if (way == SIGNAL_WEBSOCKET && !*bad_greetings[i].line) {
				signal_client_free(c); /* an empty message is none */
				continue;
			}
			signal_say(c, "%s", bad_greetings[i].line);
			signal_expect_end_case(c, bad_greetings[i].line);
			signal_client_free(c);
			await_log(s, bad_greetings[i].log);
			server_advance(s, 1100); /* of strangers the log says so much a second */
		}
	}
	cr_expect_not(server_log_contains(s, TOKEN "x"));
	cr_expect_not(server_log_contains(s, "wrong"));
	cr_expect_eq(server_metric(s, "coopd_signal_closed_total", "reason=\"token\""), SIGNAL_WAYS * 4);
	server_await_metric(s, "coopd_signal_unproved", NULL, 0, DIAL_PATIENCE_MS);
}

Test(relay_greeting, white_space_around_the_lines_is_nothing)
{
	struct identity who = identity_of(1);

	for (int way = 0; way < SIGNAL_WAYS; way++) {
		struct signal_client *c = signal_dial(s, (enum signal_way)way);
		char                  hex[129];

		signal_say(c, " \t" TOKEN " %s \r", who.text);
		signal_take_nonce(c);
		signal_proof_hex(hex, &who, c->nonce);
		signal_say(c, "\t auth %s \r", hex);
		signal_test_self(c, &who);
		signal_client_free(c);
	}
}

Test(relay_greeting, nothing_is_said_before_the_greeting_nor_after_the_proof)
{
	struct identity who = identity_of(1);

	for (int way = 0; way < SIGNAL_WAYS; way++) {
		struct signal_client *c = signal_dial(s, (enum signal_way)way);

		signal_expect_silence(c, 100);
		signal_greet(c, &who);
		signal_take_nonce(c);
		signal_expect_silence(c, 100);
		signal_prove(c, &who);
		signal_expect_silence(c, 200);
		signal_test_self(c, &who);
		signal_client_free(c);
	}
}

Test(relay_greeting, every_connection_gets_a_nonce_of_its_own)
{
	struct identity who = identity_of(1);
	char            seen[20][SIGNAL_NONCE_TEXT];

	for (size_t i = 0; i < COUNT_OF(seen); i++) {
		struct signal_client *c = signal_dial(s, SIGNAL_PLAIN);

		signal_greet(c, &who);
		signal_take_nonce(c);
		strcpy(seen[i], c->nonce);
		for (size_t j = 0; j < i; j++)
			cr_expect_str_neq(seen[i], seen[j]);
		signal_client_free(c);
	}
}

/* Lines of 512 bytes */

static struct signal_client *say_padded(enum signal_way way, size_t bytes)
{
	struct signal_client *c = signal_dial(s, way);
	char                  line[1024];

	memset(line, ' ', sizeof(line));
	memcpy(line, TOKEN " " NAME, sizeof(TOKEN " " NAME) - 1);
	if (way != SIGNAL_WEBSOCKET)
		line[bytes - 1] = '\n';
	signal_send(c, line, way == SIGNAL_WEBSOCKET ? bytes - 1 : bytes);
	return c;
}

Test(relay_greeting, a_line_before_registration_has_512_bytes_and_not_one_more)
{
	for (int way = 0; way < SIGNAL_WAYS; way++) {
		struct signal_client *c = say_padded((enum signal_way)way, 512);

		signal_take_nonce(c);
		signal_client_free(c);
		c = say_padded((enum signal_way)way, 513);
		signal_expect_end_case(c, signal_way_names[way]);
		signal_client_free(c);
	}
	await_log(s, "reason=line (it is too long)");
}

Test(relay_greeting, more_than_512_bytes_without_an_end_are_closed_at_once)
{
	for (int way = SIGNAL_PLAIN; way <= SIGNAL_TLS; way++) {
		struct signal_client *c = signal_dial(s, (enum signal_way)way);
		char                  bytes[513];

		memset(bytes, 'x', sizeof(bytes));
		signal_send(c, bytes, 512);
		signal_expect_silence(c, 100);
		signal_send(c, bytes, 1);
		signal_expect_end(c);
		signal_client_free(c);
	}
}

Test(relay_greeting, the_limit_of_512_holds_for_the_proof_as_well)
{
	struct identity who = identity_of(1);

	for (int way = 0; way < SIGNAL_WAYS; way++) {
		struct signal_client *c = signal_dial(s, (enum signal_way)way);
		char                  hex[129], line[600];

		signal_greet(c, &who);
		signal_take_nonce(c);
		signal_proof_hex(hex, &who, c->nonce);
		memset(line, ' ', sizeof(line));
		memcpy(line, "auth ", 5);
		memcpy(line + 5, hex, 128);
		line[511] = '\0';
		signal_say(c, "%s", line);
		signal_test_self(c, &who);
		signal_client_free(c);

		c = signal_dial(s, (enum signal_way)way);
		signal_greet(c, &who);
		signal_take_nonce(c);
		line[511] = ' ';
		line[512] = '\0';
		signal_say(c, "%s", line);
		signal_expect_end(c);
		signal_client_free(c);
	}
}

/* Pieces */

Test(relay_greeting, lines_may_come_in_any_pieces)
{
	struct identity who = identity_of(1);

	for (int way = SIGNAL_PLAIN; way <= SIGNAL_TLS; way++) {
		size_t step = way == SIGNAL_PLAIN ? 1 : 17;

		struct signal_client *c = signal_dial(s, (enum signal_way)way);
		char                  text[512], hex[129];
		int                   len = snprintf(text, sizeof(text), TOKEN " %s\n", who.text);

		for (size_t at = 0; at < (size_t)len; at += step)
			signal_send(c, text + at, step < (size_t)len - at ? step : (size_t)len - at);
		signal_take_nonce(c);
		signal_proof_hex(hex, &who, c->nonce);
		len = snprintf(text, sizeof(text), "auth %s\n%s \n", hex, who.text);
		for (size_t at = 0; at < (size_t)len; at += step)
			signal_send(c, text + at, step < (size_t)len - at ? step : (size_t)len - at);
		signal_expect(c, "%s ", who.text);
		signal_client_free(c);
	}
}

Test(relay_greeting, what_comes_with_the_proof_is_relayed)
{
	struct identity who = identity_of(1);

	for (int way = SIGNAL_PLAIN; way <= SIGNAL_TLS; way++) {
		struct signal_client *c = signal_dial(s, (enum signal_way)way);
		char                  hex[129], payload[4001];

		memset(payload, 'a', sizeof(payload) - 1);
		payload[sizeof(payload) - 1] = '\0';
		signal_greet(c, &who);
		signal_take_nonce(c);
		signal_proof_hex(hex, &who, c->nonce);
		/* The proof's line is short, but what is behind it need not be. */
		signal_say(c, "auth %s\n%s first\n%s \n%s %s", hex, who.text, who.text, who.text, payload);
		signal_expect(c, "%s first", who.text);
		signal_expect(c, "%s ", who.text);
		signal_expect(c, "%s %s", who.text, payload);
		signal_client_free(c);
	}
}

/* Proofs */

Test(relay_greeting, a_proof_is_auth_a_blank_and_128_digits_in_lower_case)
{
	static const char *const forms[] = { "auth  %s",    "auth\t%s", "Auth %s",   "prove %s", "%s",
		                             "auth %.127s", "auth %s0", "auth %s x", "auth" };
	struct identity          who     = identity_of(1);

	for (int way = 0; way < SIGNAL_WAYS; way++) {
		for (size_t i = 0; i <= COUNT_OF(forms); i++) {
			struct signal_client *c = signal_dial(s, (enum signal_way)way);
			char                  hex[129], line[256];

			signal_greet(c, &who);
			signal_take_nonce(c);
			signal_proof_hex(hex, &who, c->nonce);
			if (i == COUNT_OF(forms)) { /* upper case; there is a letter among so many digits */
				for (char *d = hex; *d; d++)
					*d = (char)(*d >= 'a' ? *d - 'a' + 'A' : *d);
				snprintf(line, sizeof(line), "auth %s", hex);
			} else {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"
				snprintf(line, sizeof(line), forms[i], hex);
#pragma GCC diagnostic pop
			}
			signal_say(c, "%s", line);
			signal_expect_end_case(c, i < COUNT_OF(forms) ? forms[i] : "upper case");
			signal_client_free(c);
		}
	}
	await_log(s, "reason=proof (it is not auth and 128 hex digits in lower case)");
	cr_expect_eq(server_metric(s, "coopd_signal_peers", NULL), 0);
}

Test(relay_greeting, a_relay_line_that_is_sent_too_early_is_taken_for_the_proof)
{
	struct identity who = identity_of(1);

	for (int way = 0; way < SIGNAL_WAYS; way++) {
		struct signal_client *c = signal_dial(s, (enum signal_way)way);

		signal_greet(c, &who);
		signal_say(c, "%s ", who.text);
		if (signal_read_line(c, DIAL_PATIENCE_MS) == SIGNAL_GOT_LINE) /* the nonce, which was on its way */
			signal_expect_end_case(c, signal_way_names[way]);
		signal_client_free(c);
	}
}

/* The deadline */

Test(relay_greeting, fifteen_seconds_for_TLS_greeting_and_proof_together)
{
	struct identity       who = identity_of(1);
	struct signal_client *c[3], *registered[SIGNAL_WAYS];
	int                   raw = dial_tcp(s->signal_tls_port, 0); /* not even a handshake */

	for (int way = 0; way < SIGNAL_WAYS; way++) {
		struct identity other = identity_of(10 + (unsigned)way);

		c[way]          = signal_dial(s, (enum signal_way)way);
		registered[way] = signal_registered(s, (enum signal_way)way, &other);
	}
	server_advance(s, 14000);
	signal_greet(c[0], &who); /* buys no time */
	signal_take_nonce(c[0]);
	for (int way = 0; way < SIGNAL_WAYS; way++)
		signal_expect_silence(c[way], 100);
	server_advance(s, 1200);
	for (int way = 0; way < SIGNAL_WAYS; way++)
		signal_expect_end_case(c[way], signal_way_names[way]);

	char byte;

	cr_expect_eq(dial_read(raw, &byte, 1, real_now_ms() + DIAL_PATIENCE_MS), 0);
	close(raw);
	await_log(s, "reason=late");
	for (int way = 0; way < SIGNAL_WAYS; way++) {
		struct identity other = identity_of(10 + (unsigned)way);

		signal_test_self(registered[way], &other);
		signal_client_free(registered[way]);
		signal_client_free(c[way]);
	}
}

static bool stays_silent(void *context)
{
	struct signal_client **c = context;

	/* Pings are answered while somebody looks. */
	signal_expect_silence(c[SIGNAL_WEBSOCKET], 5);
	return true;
}

Test(relay_greeting, a_silent_registered_peer_stays_for_an_hour)
{
	struct signal_client *c[SIGNAL_WAYS];

	for (unsigned way = 0; way < SIGNAL_WAYS; way++) {
		struct identity who = identity_of(way);

		c[way] = signal_registered(s, (enum signal_way)way, &who);
	}
	server_advance_steps(s, 3600000, 10000, stays_silent, c);
	for (unsigned way = 0; way < SIGNAL_WAYS; way++) {
		struct identity who = identity_of(way);

		signal_test_self(c[way], &who);
		signal_client_free(c[way]);
	}
}

/* TLS */

Test(relay_greeting, nonsense_in_place_of_a_handshake_is_closed_and_noted)
{
	int  fd = dial_tcp(s->signal_tls_port, 0);
	char byte[64];

	dial_send(fd, "GET / HTTP/1.1\r\n\r\n", 18, DIAL_PATIENCE_MS);
	while (dial_read(fd, byte, sizeof(byte), real_now_ms() + DIAL_PATIENCE_MS) > 0)
		; /* what TLS has to say about it */
	close(fd);
	await_log(s, "reason=handshake (TLS failed)");
	server_await_metric(s, "coopd_signal_unproved", NULL, 0, DIAL_PATIENCE_MS);
}

Test(relay_greeting, TLS_1_2_is_offered)
{
	struct tls_client c;

	cr_assert(tls_client_shake(&c, dial_tcp(s->signal_tls_port, 0), NULL, TLS1_2_VERSION));
	tls_client_send(&c, TOKEN " " NAME "\n", sizeof(TOKEN " " NAME "\n") - 1);

	char nonce[72] = "";

	cr_expect_eq(tls_client_read(&c, nonce, 71, DIAL_PATIENCE_MS), 71);
	cr_expect_eq(memcmp(nonce, "nonce ", 6), 0);
	tls_client_close(&c);
}

Test(relay_greeting, keepalive_is_on)
{
	struct signal_client *c = signal_dial(s, SIGNAL_PLAIN), *w = signal_dial(s, SIGNAL_WEBSOCKET);
	char                  command[256], line[512];
	int                   ports[] = { s->signal_port, s->tunnel_port };

	/* The timer that a connection of the server has while it is idle. */
	for (size_t i = 0; i < COUNT_OF(ports); i++) {
		snprintf(command, sizeof(command), "/proc/net/tcp");

		FILE *f     = fopen(command, "re");
		bool  found = false;

		cr_assert_not_null(f);
		while (fgets(line, sizeof(line), f)) {
			unsigned local, state, timer;

			if (sscanf(line, " %*u: %*8x:%4x %*8x:%*4x %2x %*8x:%*8x %2x:", &local, &state, &timer) == 3 &&
			    (int)local == ports[i] && state == 1)
				found |= timer == 2;
		}
		fclose(f);
		cr_expect(found, "port %d", ports[i]);
	}
	signal_client_free(c);
	signal_client_free(w);
}
