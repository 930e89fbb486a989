/*
 * Strangers who send anything, stop anywhere and vanish: the others notice nothing, and nothing is left behind.
 */
#include "base/auto.h"
#include "support/await.h"
#include "support/signal_client.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

TestSuite(relay_hostile, .init = start, .fini = stop, .timeout = 300);

/* The same in every run. */
static uint32_t some_number(void)
{
	static uint32_t state = 1;

	state = state * 1664525 + 1013904223;
	return state >> 8;
}

static void say_anything(struct signal_client *c)
{
	char   bytes[2000];
	size_t len = 1 + some_number() % sizeof(bytes);

	for (size_t i = 0; i < len; i++) /* line ends and blanks are more interesting than others */
		bytes[i] = some_number() % 20 == 0 ? "\n \r\0"[some_number() % 4] : (char)some_number();
	signal_send(c, bytes, len);
}

/* As far into a registration as this number says. */
static void begin(struct signal_client *c, const struct identity *who, uint32_t steps)
{
	if (steps == 0)
		return;
	signal_greet(c, who);
	if (steps == 1)
		return;
	signal_take_nonce(c);
	if (steps == 2)
		return;
	signal_prove(c, who);
}

Test(relay_hostile, garbage_at_every_step_harms_only_who_sends_it)
{
	struct signal_client *honest = signal_registered(s, SIGNAL_PLAIN, &bob);
	int                   fds    = server_fd_count(s);

	for (int way = 0; way < SIGNAL_WAYS; way++) {
		for (uint32_t i = 0; i < 60; i++) {
			struct signal_client *c = signal_dial(s, (enum signal_way)way);

			begin(c, &alice, i % 4);
			say_anything(c);
			if (i % 3 == 0)
				say_anything(c);
			if (i % 5 == 0 && way == SIGNAL_PLAIN) {
				dial_abort(c->fd);
				c->fd = -1;
			}
			signal_client_free(c);
		}
		signal_test_self(honest, &bob);
	}
	server_await_metric(s, "coopd_signal_peers", NULL, 1, DIAL_PATIENCE_MS);
	server_await_metric(s, "coopd_signal_unproved", NULL, 0, DIAL_PATIENCE_MS);
	await_fds(s, fds);
	signal_client_free(honest);
}

/* Whoever vanishes while others write to him takes nobody with him. */
Test(relay_hostile, peers_that_vanish_in_the_middle_of_their_mail)
{
	struct signal_client *sender = signal_registered(s, SIGNAL_PLAIN, &bob);
	char                  payload[4001];

	memset(payload, 'a', sizeof(payload) - 1);
	payload[sizeof(payload) - 1] = '\0';
	for (int i = 0; i < 60; i++) {
		enum signal_way       way = (enum signal_way)(i % SIGNAL_WAYS);
		struct signal_client *c   = signal_dial_from(s, way, NULL, 4096);

		signal_register(c, &alice);
		for (int k = 0; k < 40; k++)
			signal_say(sender, "%s %s", alice.text, payload);
		if (way == SIGNAL_PLAIN) {
			dial_abort(c->fd);
			c->fd = -1;
		}
		signal_client_free(c);
		for (int k = 0; k < 5; k++)
			signal_say(sender, "%s %s", alice.text, payload);
		signal_test_self(sender, &bob);
		server_advance(s, 5000);
	}
	server_await_metric(s, "coopd_signal_peers", NULL, 1, DIAL_PATIENCE_MS);
	signal_client_free(sender);
}

/* Lines of one byte, as many as a turn takes, on many connections: a few are looked at, and then those who send them are gone. */
Test(relay_hostile, very_many_tiny_lines)
{
	static const char *const kinds[] = { "\n", "x\n", " \n", "x \n", "\r\n" };
	static char              bytes[60000];
	unsigned                 floods = 2 * (unsigned)COUNT_OF(kinds);
	struct signal_client    *carol  = signal_registered(s, SIGNAL_PLAIN, &alice);
	struct signal_client    *other  = signal_registered(s, SIGNAL_TLS, &bob);

	for (unsigned i = 0; i < floods; i++) {
		const char           *kind = kinds[i / 2];
		struct identity       who  = identity_of(1000 + i);
		struct signal_client *c    = signal_registered(s, i % 2 ? SIGNAL_TLS : SIGNAL_PLAIN, &who);

		for (size_t at = 0; at < sizeof(bytes); at++)
			bytes[at] = kind[at % strlen(kind)];
		signal_send(c, bytes, sizeof(bytes) / strlen(kind) * strlen(kind));
		signal_test_self(other, &bob);
		signal_say(carol, "%s 0a", bob.text);
		signal_expect(other, "%s 0a", alice.text);
		signal_expect_end_case(c, kind);
		signal_client_free(c);
	}
	cr_expect_eq(server_metric(s, "coopd_signal_closed_total", "reason=\"junk\""), floods);
	cr_expect_leq(server_metric(s, "coopd_signal_lines_dropped_total", NULL), 1000.0 * floods);
	await_log(s, "disconnected reason=junk (too many lines that name nobody) identity=gen:");
	signal_client_free(carol);
	signal_client_free(other);
}

Test(relay_hostile, a_thousand_lines_for_nobody_are_dropped_and_one_more_is_the_end)
{
	for (int way = 0; way < SIGNAL_WAYS; way++) {
		struct identity       who = identity_of(2000 + (unsigned)way);
		struct signal_client *c   = signal_registered(s, (enum signal_way)way, &who);

		for (int i = 0; i < 1000; i++)
			signal_say(c, "x");
		signal_test_self(c, &who);
		server_advance(s, 11000); /* they are forgotten */
		for (int i = 0; i < 1000; i++)
			signal_say(c, "x");
		signal_test_self(c, &who);
		signal_say(c, "x");
		signal_expect_end_case(c, signal_way_names[way]);
		signal_client_free(c);
	}
	cr_expect_eq(server_metric(s, "coopd_signal_closed_total", "reason=\"junk\""), SIGNAL_WAYS);
	cr_expect_eq(server_metric(s, "coopd_signal_lines_dropped_total", "reason=\"shape\""), 2000 * SIGNAL_WAYS);
}

/* The number behind this word, of all lines with it; and how many lines these are. */
static long log_sum(const char *word, int *lines)
{
	FILE *f = server_open_log(s);
	char  line[2048];
	long  sum = 0;

	*lines = 0;
	while (fgets(line, sizeof(line), f)) {
		const char *at = strstr(line, word);

		if (!at)
			continue;
		(*lines)++;
		sum += strtol(at + strlen(word), NULL, 10);
	}
	fclose(f);
	return sum;
}

#define STRANGERS 150

Test(relay_hostile, strangers_are_twenty_lines_a_second_of_log_and_their_number)
{
	struct signal_client *honest   = signal_registered(s, SIGNAL_PLAIN, &bob);
	int64_t               start_ms = real_now_ms();
	int                   admitted, refused, untold;

	for (int i = 0; i < STRANGERS; i++) {
		struct signal_client *c = signal_dial(s, SIGNAL_PLAIN);

		signal_say(c, "no token");
		signal_expect_end(c);
		signal_client_free(c);
	}

	int64_t               seconds = (real_now_ms() - start_ms) / 1000 + 1;
	struct signal_client *alices  = signal_registered(s, SIGNAL_PLAIN, &alice);
	char                  id[200];

	snprintf(id, sizeof(id), "registered (key proved) identity=%s", alice.text);
	await_log(s, id); /* who has proved his key is told of as ever */
	server_advance(s, 1100);
	await_log(s, ": untold lines=");
	log_sum(": admitted", &admitted);
	log_sum(": refused", &refused);

	long unsaid = log_sum(": untold lines=", &untold);

	cr_expect_leq(admitted + refused, 20 * (seconds + 1), "%d and %d lines in %d s", admitted, refused,
	              (int)seconds);
	cr_expect_leq(untold, seconds + 2);
	cr_expect_eq(admitted + refused + unsaid, 2 * STRANGERS + 2, "%d, %d and %ld", admitted, refused, unsaid);
	signal_client_free(honest);
	signal_client_free(alices);
}

Test(relay_hostile, everybody_comes_back_at_once_after_a_restart)
{
	static struct signal_client *c[120];

	for (int round = 0; round < 2; round++) {
		for (unsigned i = 0; i < COUNT_OF(c); i++) {
			struct identity who = identity_of(100 + i);

			c[i] = signal_dial(s, (enum signal_way)(i % SIGNAL_WAYS));
			signal_greet(c[i], &who);
		}
		for (unsigned i = 0; i < COUNT_OF(c); i++) {
			struct identity who = identity_of(100 + i);

			signal_take_nonce(c[i]);
			signal_prove(c[i], &who);
		}
		for (unsigned i = 0; i < COUNT_OF(c); i++) {
			struct identity who = identity_of(100 + i);

			signal_test_self(c[i], &who);
		}
		for (unsigned i = 0; i < COUNT_OF(c); i++)
			signal_client_free(c[i]);
		server_restart(s);
	}
}
