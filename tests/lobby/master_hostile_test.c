/*
 * What nobody may learn of a host, and text that is meant to be more than text.
 */
#include "base/auto.h"
#include "support/await.h"
#include "support/lobby_client.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOST "203.0.113.7"

static struct server *s;

static void start(void)
{
	s = server_start((const char *[]){ LOBBY_PROMPT, "log.level=debug", "turn.uri=turn:turn.example:3478",
	                                   "limits.lobby_creates=1000", "limits.lobby_per_address=100", NULL });
}

static void stop(void)
{
	server_finish(s);
}

TestSuite(master_hostile, .init = start, .fini = stop);

static void expect_not_logged(const char *text)
{
	cr_expect(!server_log_contains(s, text), "%s is in the log", text);
}

Test(master_hostile, no_secret_is_in_the_log)
{
	struct master_host h, direct;
	char               nonce[80], pass[64], members[256];

	master_open(&h, s, HOST, "");
	master_open(&direct, s, HOST, J("'conn':'direct','direct_port':7777"));
	AUTO(rest_freep) struct http_result join  = master_join(s, "198.51.100.77", h.id);
	AUTO(rest_freep) struct http_result ask   = master_post(s, HOST, "/v1/challenge", "{}");
	AUTO(rest_freep) struct http_result renew = master_beat_asked(&h, s, J("'turn_user':'1:x'"));

	cr_expect_eq(join.status, 200);
	rest_text(&ask, "nonce", nonce, sizeof(nonce));
	rest_text(&join, "turn.pass", pass, sizeof(pass));
	snprintf(members, sizeof(members), "'proof_nonce':'%s','proof_sig':'00'", nonce);
	AUTO(rest_freep) struct http_result proof = master_post(s, HOST, "/v1/host", master_announce_body(J(members)));

	cr_expect_eq(proof.status, 200);
	cr_expect_eq(renew.status, 200);
	master_show(&h, s, "false");
	strcpy(direct.token, h.token);
	cr_expect_eq(master_leave(&direct, s), 403);
	cr_expect_eq(master_leave(&h, s), 200);
	await_log(s, "closes lobby=");
	expect_not_logged(h.session);
	expect_not_logged(h.token);
	expect_not_logged(direct.session);
	expect_not_logged(nonce);
	expect_not_logged(pass);
	expect_not_logged(SERVER_TURN_SECRET);
	expect_not_logged(SERVER_SIGNAL_TOKEN);
	expect_not_logged(HOST);
	expect_not_logged("198.51.100.77");
}

/* Every line is one the server wrote: printable, and no line of a peer's. */
static void expect_clean_log(void)
{
	FILE *log = server_open_log(s);
	int   c;

	while ((c = getc(log)) != EOF)
		cr_expect(c == '\n' || (c >= ' ' && c < 0x7f), "a byte %02x is in the log", (unsigned)c);
	fclose(log);
	expect_not_logged("\nfake");
}

static bool has_control(const struct http_result *r)
{
	for (size_t i = 0; i < r->body_len; i++) {
		if ((unsigned char)r->body[i] < ' ' || r->body[i] == 0x7f)
			return true;
	}
	return false;
}

/* In every field that a peer can write: markup, quotes, line breaks, terminal sequences, text that runs backwards, NUL. */
Test(master_hostile, hostile_text_in_every_field_stays_text)
{
	static const char *const fields[] = { "name",        "world",       "version",   "game",      "identity",
		                              "conn",        "proto",       "build_sha", "build_key", "build_sig",
		                              "direct_port", "players_max", "locked",    "listed",    "proof_nonce",
		                              "proof_sig",   "other" };
	static const char *const texts[]  = {
		 "<script>alert(1)</script>",
		 "\\\"},{\\\"lobbyId\\\":\\\"x",
		 "a\\nfake 2026 error server: ready",
		 "\\u001b]0;x\\u0007\\u001b[31m\\u009b31m",
		 "\\u202eevil\\u2066\\u200b\\ufeff",
		 "a\\u0000b",
		 "%s%n%s%n",
		 "'; DROP TABLE lobbies; --",
		 "=1+1",
		 "\\ud83d\\ude00\\u007f\\u0085\\u2028",
		 "\xf0\x9f\x98\x80 \xc3\xa9 \xe2\x80\x8b",
	};
	char body[1024];

	for (size_t f = 0; f < COUNT_OF(fields); f++) {
		for (size_t t = 0; t < COUNT_OF(texts); t++) {
			/* The last one of a name counts. */
			snprintf(body, sizeof(body), "{\"identity\":\"%s\",\"game\":\"0.9.0a\",\"%s\":\"%s\"}",
			         LOBBY_IDENTITY, fields[f], texts[t]);
			AUTO(rest_freep)
			struct http_result r = master_post(s, f % 2 ? HOST : "203.0.113.8", "/v1/host", body);

			cr_expect(r.status == 200 || r.status == 400 || r.status == 429, "%s: %d %s", body, r.status,
			          r.body);
			cr_expect(!has_control(&r), "%s", r.body);
		}
	}
	static const char                   backwards[] = { '\xe2', '\x80', '\xae', '\0' };
	AUTO(rest_freep) struct http_result list        = master_list(s);

	cr_expect(rest_count(&list, "lobbies") > 20, "%s", list.body);
	cr_expect(!has_control(&list), "%s", list.body);
	cr_expect(!strstr(list.body, backwards) && !strstr(list.body, "\\u00"), "%s", list.body);
	await_log(s, "<script>");
	expect_clean_log();
}

/* A quote does not end a value of the log, so that nobody writes fields of his own behind it. */
Test(master_hostile, quotes_forge_no_field_of_a_line_of_log)
{
	struct master_host h;

	master_open(&h, s, HOST, J("'name':'x\\u0022 game=9.9.9 address=8.8.8.0/24'"));
	await_log(s, "name=\"x\\x22 game=9.9.9 address=8.8.8.0/24\" game=0.9.0a");
	cr_expect_eq(master_try_open(&h, s, HOST, J("'name':'y\\u0022 build=7','game':'z\\u0022 build=8'")), 400);
	await_log(s, "reason=\"bad game version 'z\\x22 build=8'\" name=\"y\\x22 build=7\" build=");
	AUTO(rest_freep) struct http_result r = master_get(s, "/v1/\"status=200", "");

	cr_expect_eq(r.status, 404);
	await_log(s, "path=\"/v1/\\x22status=200\" status=404");
	expect_not_logged("x\" game=9");
	expect_not_logged("y\" build=7");
	expect_not_logged("z\" build=8");
}

Test(master_hostile, hostile_text_in_beats_joins_and_paths_stays_text)
{
	static const char *const bodies[] = {
		"{\"sessionId\":\"\\u001b[31m\\n\",\"token\":\"\\nfake\"}",
		"{\"lobbyId\":\"<b>\\nfake\",\"token\":\"\\u0000\"}",
		"{\"lobbyId\":\"\\u0000\"}",
	};
	static const char *const paths[] = { "/v1/heartbeat", "/v1/leave", "/v1/visibility", "/v1/join", "/v1/host" };
	struct master_host       h;

	master_open(&h, s, HOST, "");
	for (size_t i = 0; i < COUNT_OF(bodies); i++) {
		for (size_t p = 0; p < COUNT_OF(paths); p++) {
			AUTO(rest_freep) struct http_result r = master_post(s, HOST, paths[p], bodies[i]);

			cr_expect(r.status >= 400 && r.status < 500, "%d", r.status);
			cr_expect(!has_control(&r), "%s", r.body);
		}
	}
	AUTO(rest_freep) struct http_result beat = master_beat_asked(&h, s, J("'turn_user':'\\u001b[31m\\n\\u0000'"));
	AUTO(rest_freep) struct http_result list = master_get(s, "/v1/lobbies?version=%0afake\x1b", "");

	cr_expect_eq(beat.status, 200);
	cr_expect(list.status == 200 || list.status == 400, "%d", list.status);
	expect_clean_log();
}

Test(master_hostile, a_fraction_of_a_character_is_none)
{
	AUTO(rest_freep) struct http_result r = master_get(s, "/v1/lobbies?version=\xc3", "");

	cr_expect(r.status == 200 || r.status == 400, "%d %s", r.status, r.body);
}
