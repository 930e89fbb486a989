/*
 * Tokens, certificates, ports, and the end of it all.
 */
#include "base/auto.h"
#include "support/await.h"
#include "support/signal_client.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct identity alice;

static void start(void)
{
	alice = identity_of(1);
}

TestSuite(relay_settings, .init = start);

/* Says hello with this token: whether it is taken. */
static bool is_taken(const struct server *s, const char *token)
{
	struct signal_client *c = signal_dial(s, SIGNAL_PLAIN);

	signal_say(c, "%s %s", token, alice.text);

	enum signal_got got = signal_read_line(c, DIAL_PATIENCE_MS);

	cr_assert_neq(got, SIGNAL_GOT_NOTHING);
	signal_client_free(c);
	return got == SIGNAL_GOT_LINE;
}

/* ./coopd.conf is what a server without --config reads. */
static void write_conf(struct server *s, const char *text)
{
	char path[SERVER_PATH_BYTES + 16];

	snprintf(path, sizeof(path), "%s/coopd.conf", s->root);
	FILE *f = fopen(path, "we");

	cr_assert(f && fputs(text, f) >= 0, "cannot write %s", path);
	fclose(f);
	cr_assert_eq(chdir(s->root), 0);
}

Test(relay_settings, the_token_before_is_taken_as_well)
{
	static const char *const sets[] = { "signal.token_previous=the-one-before", NULL };
	struct server           *s      = server_start(sets);

	cr_expect(is_taken(s, SERVER_SIGNAL_TOKEN));
	cr_expect(is_taken(s, "the-one-before"));
	cr_expect_not(is_taken(s, "the-one-befor"));
	cr_expect_not(is_taken(s, "the-one-before-that"));
	server_finish(s);
}

Test(relay_settings, without_a_setting_the_token_is_one_of_data_secrets_and_it_stays)
{
	static const char *const sets[] = { "signal.token=", NULL };
	struct server           *s      = server_start(sets);

	cr_expect_not(is_taken(s, SERVER_SIGNAL_TOKEN));
	cr_expect_not(is_taken(s, "signal_token"));

	char  path[SERVER_PATH_BYTES + 16], line[256], token[65] = "";
	FILE *f;

	snprintf(path, sizeof(path), "%s/secrets", s->data);
	cr_assert_not_null(f = fopen(path, "re"), "%s", path);
	while (fgets(line, sizeof(line), f) && sscanf(line, "signal_token = %64[0-9a-f]", token) != 1)
		;
	fclose(f);
	cr_assert_eq(strlen(token), 64);
	cr_expect(is_taken(s, token));
	server_restart(s);
	cr_expect(is_taken(s, token));
	server_finish(s);
}

Test(relay_settings, the_challenge_can_be_made_to_wait_inside_the_deadline)
{
	static const char *const sets[] = { "limits.signal_nonce_delay_ms=5000", NULL };
	struct server           *s      = server_start(sets);

	for (int way = 0; way < SIGNAL_WAYS; way++) {
		if (way == SIGNAL_TLS)
			continue;

		struct signal_client *c     = signal_dial(s, (enum signal_way)way),
				     *early = signal_dial(s, (enum signal_way)way);
		struct signal_client *late  = signal_dial(s, (enum signal_way)way);

		signal_greet(c, &alice);
		signal_greet(early, &alice);
		signal_say(early, "auth 00"); /* what comes before the nonce cannot be a proof of it */
		signal_expect_end(early);
		server_advance(s, 4500);
		signal_expect_silence(c, 100);
		server_advance(s, 700);
		signal_take_nonce(c);
		signal_prove(c, &alice);
		signal_test_self(c, &alice);

		server_advance(s, 8000);
		signal_greet(late, &alice);
		signal_expect_silence(late, 50);
		server_advance(s, 2000); /* the deadline is before the nonce */
		signal_expect_end(late);
		signal_client_free(c);
		signal_client_free(early);
		signal_client_free(late);
	}
	server_finish(s);
}

Test(relay_settings, a_reload_changes_the_token_and_those_who_are_there_stay)
{
	struct server        *s = server_prepare(NULL);
	struct signal_client *c;

	for (size_t i = 0; i < s->set_count; i++) /* the file is to say it */
		if (strncmp(s->sets[i], "signal.token=", 13) == 0)
			strcpy(s->sets[i], "signal.enable=yes");
	write_conf(s, "[signal]\ntoken = first\n");
	server_launch(s);
	server_await_ready(s);
	cr_expect(is_taken(s, "first"));
	c = signal_dial(s, SIGNAL_PLAIN);
	signal_say(c, "first %s", alice.text);
	signal_take_nonce(c);

	write_conf(s, "[signal]\ntoken = second\ntoken_previous = first\n");
	server_signal(s, SIGHUP);
	await_log(s, "reloads done");
	cr_expect(is_taken(s, "second"));
	cr_expect(is_taken(s, "first"));

	write_conf(s, "[signal]\ntoken = second\n");
	server_signal(s, SIGHUP);
	for (int64_t until_ms = real_now_ms() + DIAL_PATIENCE_MS; is_taken(s, "first") && real_now_ms() < until_ms;)
		real_sleep_ms(5);
	cr_expect_not(is_taken(s, "first"));
	cr_expect(is_taken(s, "second"));

	signal_prove(c, &alice);
	signal_test_self(c, &alice);
	signal_client_free(c);
	server_finish(s);
}

Test(relay_settings, a_reload_takes_a_new_certificate_and_connections_notice_nothing)
{
	struct server        *s    = server_start(signal_tls_sets(NULL));
	struct signal_client *old  = signal_registered(s, SIGNAL_TLS, &alice);
	const char           *cert = s->sets[0], *key = s->sets[0];
	char                  name[64];

	cr_expect_str_eq(tls_client_server_name(&old->tls, name, sizeof(name)), "first.example");
	for (size_t i = 0; i < s->set_count; i++) {
		if (strncmp(s->sets[i], "tls.cert=", 9) == 0)
			cert = s->sets[i] + 9;
		if (strncmp(s->sets[i], "tls.key=", 8) == 0)
			key = s->sets[i] + 8;
	}
	tls_make_cert(cert, key, "second.example");
	server_signal(s, SIGHUP);
	await_log(s, "reloads done");

	struct identity       bob   = identity_of(2);
	struct signal_client *young = signal_registered(s, SIGNAL_TLS, &bob);

	cr_expect_str_eq(tls_client_server_name(&young->tls, name, sizeof(name)), "second.example");
	signal_say(young, "%s 0a", alice.text);
	signal_expect(old, "%s 0a", bob.text);
	signal_client_free(old);
	signal_client_free(young);
	server_finish(s);
}

Test(relay_settings, a_port_in_use_or_a_bad_certificate_ends_the_start_with_1)
{
	struct server *s = server_start(signal_tls_sets(NULL));
	char           set[80];

	for (int i = 0; i < 2; i++) {
		struct server *t = server_prepare(signal_tls_sets(NULL));

		snprintf(set, sizeof(set), "signal.%s=127.0.0.1:%d", i ? "tls_listen" : "listen",
		         i ? s->signal_tls_port : s->signal_port);
		server_set(t, set);
		server_launch(t);
		cr_expect_eq(server_await_exit(t, SERVER_READY_MS), 1);
		cr_expect(server_log_contains(t, i ? "that was signal.tls_listen" : "that was signal.listen"));
		server_finish(t);
	}
	server_finish(s);

	static const char *const bad[] = { "tls.cert=/dev/null", "tls.key=/dev/null", NULL };

	s = server_prepare(bad);
	server_launch(s);
	cr_expect_eq(server_await_exit(s, SERVER_READY_MS), 1);
	server_finish(s);
}

Test(relay_settings, without_a_certificate_there_is_no_TLS_port)
{
	struct server *s = server_start(NULL);

	cr_expect_gt(s->signal_port, 0);
	cr_expect_eq(s->signal_tls_port, 0);
	server_finish(s);
}

Test(relay_settings, a_stop_closes_everybody_whatever_they_wait_for)
{
	struct server        *s = server_start(signal_tls_sets(NULL));
	struct signal_client *c[2 * SIGNAL_WAYS];

	for (unsigned i = 0; i < 2 * SIGNAL_WAYS; i++) {
		enum signal_way way = (enum signal_way)(i % SIGNAL_WAYS);
		struct identity who = identity_of(i);

		c[i] = i < SIGNAL_WAYS ? signal_dial(s, way) : signal_registered(s, way, &who);
	}
	server_signal(s, SIGTERM);
	for (unsigned i = 0; i < 2 * SIGNAL_WAYS; i++) {
		signal_expect_end_case(c[i], signal_way_names[i % SIGNAL_WAYS]);
		signal_client_free(c[i]);
	}
	cr_expect_eq(server_await_exit(s, SERVER_STOP_MS), 0);
	cr_expect(server_log_contains(s, "reason=server (coopd stops)"));
	server_finish(s);
}

/* Nobody who is registered hinders a stop by not reading. */
Test(relay_settings, a_stop_does_not_wait_for_who_does_not_read)
{
	static const char *const sets[] = { "limits.signal_lines=10000000", NULL };
	struct server           *s      = server_start(sets);
	struct identity          bob    = identity_of(2);
	struct signal_client    *a      = signal_registered(s, SIGNAL_PLAIN, &alice), *b[2];
	char                     payload[8001];

	memset(payload, 'a', sizeof(payload) - 1);
	payload[sizeof(payload) - 1] = '\0';
	for (unsigned i = 0; i < 2; i++) {
		b[i] = signal_dial_from(s, i ? SIGNAL_WEBSOCKET : SIGNAL_PLAIN, NULL, 4096);
		bob  = identity_of(2 + i);
		signal_register(b[i], &bob);
		for (int k = 0; k < 50; k++)
			signal_say(a, "%s %s", bob.text, payload);
	}
	signal_test_self(a, &alice);
	server_signal(s, SIGTERM);
	await_log(s, ": stops version=");
	server_advance(s, 5200); /* its patience goes by the test's clock */
	cr_expect_eq(server_await_exit(s, SERVER_STOP_MS), 0);
	signal_client_free(a);
	signal_client_free(b[0]);
	signal_client_free(b[1]);
	server_finish(s);
}
