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

/* A hundred thousand lines of one byte, and as many self tests: cheap for the server, and nothing for the others. */
Test(relay_hostile, very_many_tiny_lines)
{
	struct signal_client *c     = signal_registered(s, SIGNAL_PLAIN, &alice),
			     *other = signal_registered(s, SIGNAL_TLS, &bob);
	static char bytes[60000];

	memset(bytes, '\n', sizeof(bytes));
	for (int i = 0; i < 10; i++) {
		signal_send(c, bytes, sizeof(bytes));
		signal_test_self(other, &bob);
	}
	signal_test_self(c, &alice);
	cr_expect_eq(server_metric(s, "coopd_signal_lines_dropped_total", "reason=\"shape\""), 10 * sizeof(bytes));
	signal_client_free(c);
	signal_client_free(other);
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
