/* coopctl events, top and doctor with the server itself. */
#include "base/auto.h"
#include "coopctl/stream.h"
#include "support/coopctl.h"
#include "support/dial.h"
#include "support/server.h"
#include "support/tls_peer.h"
#include "support/tunnel_client.h"
#include "support/tunnel_message.h"
#include "support/ws_client.h"

#include <criterion/criterion.h>

#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct server *s;

static void begin(void)
{
	s = server_start((const char *[]){ "admin.listen=127.0.0.1:0", "admin.events_listen=127.0.0.1:0", NULL });
}

static void end(void)
{
	server_finish(s);
}

TestSuite(coopctl_stream_real, .init = begin, .fini = end, .timeout = 240);

static struct coopctl_run at_socket(void)
{
	return (struct coopctl_run){ .socket = s->admin_socket, .real_clock = true };
}

/* A game comes and goes. */
static void play(void *arg)
{
	uint32_t *code = arg;

	ws_client_free(host_open(s->tunnel_port, "A", code));
}

Test(coopctl_stream_real, events_are_lines_until_ctrl_c)
{
	struct coopctl_run run  = at_socket();
	uint32_t           code = 0;
	char               with[40];

	run.when      = "server.ready";
	run.meanwhile = play;
	run.arg       = &code;
	run.then      = NULL;

	AUTO(coopctl_freep) struct coopctl_result r = coopctl(&run, "events --since 0");

	cr_expect_eq(r.status, 0, "%d %s", r.status, r.err);
	cr_expect_str_eq(r.err, "");
	run.when      = "game.host_lost";
	run.meanwhile = NULL;

	AUTO(coopctl_freep)
	struct coopctl_result all = coopctl(&run, "events --since 0 --kind game.* --kind ban.added");

	snprintf(with, sizeof(with), "game.opened  code %u", code);
	cr_expect_eq(all.status, 0, "%d %s", all.status, all.err);
	cr_expect_not_null(strstr(all.out, with), "%s", all.out);
	cr_expect_null(strstr(all.out, "server.ready"), "%s", all.out);
	cr_expect_null(strstr(all.out, "figures"), "%s", all.out);
}

Test(coopctl_stream_real, programs_get_an_object_in_each_line)
{
	struct coopctl_run run = at_socket();

	run.when                                        = "\"op\":\"figures\"";
	AUTO(coopctl_freep) struct coopctl_result r     = coopctl(&run, "events --since 0 --figures --json");
	char                                     *rest  = r.out;
	size_t                                    lines = 0;

	cr_expect_eq(r.status, 0, "%s", r.err);
	for (char *line; (line = strsep(&rest, "\n")) && *line; lines++) {
		json_t *j = json_loads(line, 0, NULL);

		cr_expect(json_is_object(j), "%s", line);
		json_decref(j);
	}
	cr_expect_geq(lines, 2);
}

static void ends_with(const char *words, int status, const char *says)
{
	const struct coopctl_run                  run = at_socket();
	AUTO(coopctl_freep) struct coopctl_result r   = coopctl(&run, words);

	cr_expect_eq(r.status, status, "%s: %d %s", words, r.status, r.err);
	cr_expect_not_null(strstr(r.err, says), "%s: %s", words, r.err);
}

Test(coopctl_stream_real, what_cannot_be_is_said)
{
	ends_with("events --kind no.such.kind.at.all.*.", 1, "kinds");
	ends_with("events --events-socket /nowhere/events.sock", 3, "--events-socket");
	ends_with("top --once --events-socket /nowhere/events.sock", 3, "--events-socket");
	ends_with("events --since soon", 2, "--since");
}

Test(coopctl_stream_real, over_tcp_the_token_goes_first)
{
	const struct coopctl_run                  here = at_socket();
	AUTO(coopctl_freep) struct coopctl_result made = coopctl(&here, "tokens add looker");
	char                                      token[100], words[200];
	struct coopctl_run                        tcp = { .env        = (const char *const[]){ token, NULL },
		                                          .real_clock = true,
		                                          .when       = "server.ready" };

	snprintf(token, sizeof(token), "COOPCTL_TOKEN=%.64s", made.out);
	snprintf(words, sizeof(words), "events --since 0 --url http://127.0.0.1:%d", s->admin_port);

	AUTO(coopctl_freep) struct coopctl_result r = coopctl(&tcp, words);

	cr_expect_eq(r.status, 0, "%d %s", r.status, r.err);
	cr_expect_not_null(strstr(r.out, "token.added"), "%s", r.out);
	tcp.when  = NULL;
	token[20] = token[20] == '0' ? '1' : '0';

	AUTO(coopctl_freep) struct coopctl_result no = coopctl(&tcp, words);

	cr_expect_eq(no.status, 5, "%d %s", no.status, no.err);
}

/* A revoked token ends it at once. */
static void revoke_token(void)
{
	const struct coopctl_run                  here = at_socket();
	AUTO(coopctl_freep) struct coopctl_result r    = coopctl(&here, "tokens revoke 1 --yes");

	cr_expect_eq(r.status, 0, "%s", r.err);
}

Test(coopctl_stream_real, a_revoked_token_ends_it)
{
	const struct coopctl_run                  here = at_socket();
	AUTO(coopctl_freep) struct coopctl_result made = coopctl(&here, "tokens add looker");
	char                                      token[100];
	struct stream_place                       place = { .host = "127.0.0.1", .port = s->admin_events_port };
	const struct stream_wish                  wish  = { .figures = true };
	struct ctl                                c     = { .json = false };
	struct stream_item                        item  = { .what = STREAM_UP };
	struct stream                            *t;

	snprintf(token, sizeof(token), "%.64s", made.out);
	snprintf(c.where.token, sizeof(c.where.token), "%.64s", token);
	t = stream_open(&c, &place, &wish);
	for (int64_t until = real_now_ms() + COOPCTL_PATIENCE_MS; item.what != STREAM_OVER && real_now_ms() < until;) {
		struct pollfd fd = { .fd = stream_fd(t), .events = POLLIN };

		poll(&fd, 1, 1000);
		while (stream_next(&item, t) && item.what != STREAM_OVER) {
			if (item.what == STREAM_UP)
				revoke_token();
			json_decref(item.message);
		}
	}
	cr_expect_eq(item.what, STREAM_OVER);
	cr_expect_eq(item.exit, CTL_FORBIDDEN);
	stream_close(t);
}

/* --- Coming back --- */

/* Reads on to an item of this kind, and to an event of this name if it is a message. */
static void await_item(struct stream *t, enum stream_what what, const char *kind, int64_t *seq)
{
	int64_t            until = real_now_ms() + COOPCTL_PATIENCE_MS;
	struct stream_item item;

	while (real_now_ms() < until) {
		struct pollfd fd    = { .fd = stream_fd(t), .events = POLLIN };
		bool          found = false;

		if (!stream_next(&item, t)) {
			poll(&fd, 1, 1000);
			continue;
		}
		cr_assert(item.what != STREAM_OVER, "%s", item.text);
		if (item.what == what) {
			const char *is = json_string_value(json_object_get(item.message, "kind"));

			found = !kind || (is && strcmp(is, kind) == 0);
			if (seq)
				*seq = json_integer_value(json_object_get(item.message, "seq"));
		}
		json_decref(item.message);
		if (found)
			return;
	}
	cr_assert_fail("no %s came", kind ? kind : "change of the connection");
}

Test(coopctl_stream_real, it_comes_back_to_a_server_that_starts_again)
{
	struct stream_place      place = { .port = 0 };
	const struct stream_wish wish  = { .figures = false };
	struct ctl               c     = { .json = false };
	struct stream           *t;
	uint32_t                 code;
	int64_t                  seq = 0;

	/* A link, so that it cannot come back before the new run has more events than the old one had. */
	snprintf(place.socket, sizeof(place.socket), "%s/link.sock", s->root);
	cr_assert_eq(symlink(s->admin_events_socket, place.socket), 0);
	t = stream_open(&c, &place, &wish);
	await_item(t, STREAM_UP, NULL, NULL);
	play(&code);
	await_item(t, STREAM_MESSAGE, "game.opened", NULL);
	/* Runs are told apart by the second in which they began. */
	server_advance(s, 5000);
	server_stop(s);
	await_item(t, STREAM_DOWN, NULL, NULL);
	cr_assert_eq(unlink(place.socket), 0);
	server_restart(s);
	for (int i = 0; i < 5; i++)
		play(&code);
	cr_assert_eq(symlink(s->admin_events_socket, place.socket), 0);
	/* All of the new run, from its first event on, though numbers begin anew. */
	await_item(t, STREAM_UP, NULL, NULL);
	await_item(t, STREAM_MESSAGE, "server.ready", &seq);
	cr_expect_leq(seq, 3, "%lld", (long long)seq);
	await_item(t, STREAM_MESSAGE, "game.host_back", NULL);
	stream_close(t);
}

Test(coopctl_stream_real, a_stream_that_nobody_reads_is_closed_all_the_same)
{
	struct stream_place      place = { .port = 0 };
	const struct stream_wish wish  = { .figures = true };
	struct ctl               c     = { .json = false };
	struct stream           *t;

	snprintf(place.socket, sizeof(place.socket), "%s", s->admin_events_socket);
	t = stream_open(&c, &place, &wish);
	await_item(t, STREAM_UP, NULL, NULL);
	stream_close(t);
	stream_close(NULL);
	/* And one that never came about. */
	snprintf(place.socket, sizeof(place.socket), "/nowhere");
	stream_close(stream_open(&c, &place, &wish));
}

/* --- top --- */

Test(coopctl_stream_real, top_shows_games_once_and_live)
{
	uint32_t                                  code = 0;
	struct ws_client                         *host = host_open(s->tunnel_port, "A", &code);
	const struct coopctl_run                  run  = at_socket();
	struct coopctl_run                        live = at_socket();
	AUTO(coopctl_freep) struct coopctl_result once = coopctl(&run, "top --once");
	char                                      text[20];

	snprintf(text, sizeof(text), "%u", code);
	cr_expect_eq(once.status, 0, "%s", once.err);
	cr_expect_not_null(strstr(once.out, text), "%s", once.out);
	cr_expect_not_null(strstr(once.out, "game.opened"), "%s", once.out);

	AUTO(coopctl_freep) struct coopctl_result json = coopctl(&run, "top --json");
	json_t                                   *all  = json_loads(json.out, 0, NULL);

	cr_expect_eq(json_array_size(json_object_get(all, "games")), 1, "%s", json.out);
	json_decref(all);

	live.on_terminal = true;
	live.columns     = 100;
	live.when        = text;
	live.then        = "hq";

	AUTO(coopctl_freep) struct coopctl_result seen = coopctl(&live, "top");

	cr_expect_eq(seen.status, 0, "%s", seen.out);
	cr_expect_not_null(strstr(seen.out, "q quit"), "%s", seen.out);
	/* The terminal is as it was: the other screen is left. */
	cr_expect_not_null(strstr(seen.out, "\033[?1049l"), "%s", seen.out);
	live.then                                        = NULL;
	AUTO(coopctl_freep) struct coopctl_result ctrl_c = coopctl(&live, "top");

	cr_expect_eq(ctrl_c.status, 0, "%s", ctrl_c.out);
	cr_expect_not_null(strstr(ctrl_c.out, "\033[?1049l"), "%s", ctrl_c.out);
	ws_client_free(host);
}

/* --- doctor --- */

/* state of one check; "" when there is none. For free(). */
static char *state_of(const char *words, const char *check, const struct coopctl_run *run)
{
	AUTO(coopctl_freep) struct coopctl_result r     = coopctl(run, words);
	json_t                                   *all   = json_loads(r.out, 0, NULL);
	char                                     *state = NULL;
	const json_t                             *item;
	size_t                                    i;

	json_array_foreach(json_object_get(all, "items"), i, item)
	{
		if (strcmp(json_string_value(json_object_get(item, "check")), check) == 0)
			state = strdup(json_string_value(json_object_get(item, "state")));
	}
	json_decref(all);
	return state ? state : strdup("");
}

static void expect_state(const char *words, const char *check, const char *state, const struct coopctl_run *run)
{
	AUTO(auto_free) char *is = state_of(words, check, run);

	cr_expect_str_eq(is, state, "%s: %s", check, is);
}

Test(coopctl_stream_real, doctor_finds_nothing_wrong_with_a_server_in_order)
{
	const struct coopctl_run                  run = at_socket();
	AUTO(coopctl_freep) struct coopctl_result r   = coopctl(&run, "doctor");

	cr_expect_eq(r.status, 0, "%s%s", r.out, r.err);
	expect_state("doctor --json", "listeners", "ok", &run);
	expect_state("doctor --json", "stun", "ok", &run);
	expect_state("doctor --json", "versions", "ok", &run);
	expect_state("doctor --json", "certificate", "skipped", &run);
	expect_state("doctor --json", "public_name", "skipped", &run);
}

Test(coopctl_stream_real, doctor_goes_in_from_outside)
{
	char               cert[200], key[200], trust[220], set[300], words[100];
	struct coopctl_run run = at_socket();

	snprintf(cert, sizeof(cert), "%s/cert.pem", s->root);
	snprintf(key, sizeof(key), "%s/key.pem", s->root);
	tls_make_cert(cert, key, "localhost");
	snprintf(set, sizeof(set), "tls.cert=%s", cert);
	server_set(s, set);
	snprintf(set, sizeof(set), "tls.key=%s", key);
	server_set(s, set);
	server_restart(s);
	snprintf(trust, sizeof(trust), "SSL_CERT_FILE=%s", cert);
	run.env = (const char *const[]){ trust, NULL };

	/* The HTTP front by TLS: the name is good, but it has no WebSocket of games. */
	snprintf(words, sizeof(words), "doctor --json --outside localhost:%d", s->https_port);
	expect_state(words, "public_name", "ok", &run);
	expect_state(words, "websocket", "problem", &run);
	run.env = NULL;
	expect_state(words, "public_certificate", "problem", &run);
	snprintf(words, sizeof(words), "doctor --json --outside localhost:%d", 1);
	expect_state(words, "public_certificate", "problem", &run);
	expect_state("doctor --json --outside off", "public_name", "skipped", &run);
}
