/*
 * What players ask: POST /v1/join, GET /v1/lobbies, /v1/latest, /v1/thanks and /healthz.
 */
#include "base/auto.h"
#include "support/await.h"
#include "support/lobby_client.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define HOST   "203.0.113.7"
#define JOINER "198.51.100.1"

static struct server *s;

static void stop(void)
{
	server_finish(s);
}

static void start(void)
{
	s = server_start((const char *[]){ LOBBY_PROMPT, "turn.uri=turn:turn.example:3478", "turn.host_ttl_s=600",
	                                   "signal.url=relay.example:10000", "signal.token=let-me-in", NULL });
}

TestSuite(master_join, .init = start, .fini = stop);

static void expect_text(const struct http_result *r, const char *way, const char *value)
{
	char text[400];

	cr_expect_str_eq(rest_text(r, way, text, sizeof(text)), value, "%s in %s", way, r->body);
}

/* --- Join --- */

Test(master_join, a_brokered_lobby_is_met_at_the_relay)
{
	struct master_host h;
	char               user[128];

	master_open(&h, s, HOST, "");
	AUTO(rest_freep) struct http_result r = master_join(s, JOINER, h.id);

	cr_expect_eq(r.status, 200);
	expect_text(&r, "sessionId", h.session);
	expect_text(&r, "hostIdentity", LOBBY_IDENTITY);
	expect_text(&r, "conn", "p2p");
	expect_text(&r, "signalingUrl", "relay.example:10000");
	expect_text(&r, "signalingToken", "let-me-in");
	expect_text(&r, "stun", "");
	cr_expect_eq(rest_int(&r, "turn.ttl"), 120, "a joiner's is no setting");
	rest_text(&r, "turn.user", user, sizeof(user));
	cr_expect(strstr(user, ":" JOINER), "the label is the joiner's address: %s", user);
	cr_expect(!rest_has(&r, "token") && !rest_has(&r, "addr") && !rest_has(&r, "lobbyId"), "%s", r.body);
}

Test(master_join, a_direct_lobby_is_met_where_the_announce_came_from)
{
	static const struct {
		const char *from, *addr;
	} rows[] = {
		{ HOST, HOST ":7777" },
		{ "2001:db8:0:0::9", "[2001:db8::9]:7777" },
		{ "::ffff:198.51.100.9", "198.51.100.9:7777" },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct master_host h;
		char               body[200];

		master_open(&h, s, rows[i].from, J("'conn':'direct','direct_port':7777"));
		AUTO(rest_freep) struct http_result r = master_join(s, JOINER, h.id);

		snprintf(body, sizeof(body),
		         "{\"conn\":\"direct\",\"addr\":\"%s\",\"hostIdentity\":\"" LOBBY_IDENTITY "\"}", rows[i].addr);
		cr_expect_eq(r.status, 200);
		cr_expect_str_eq(r.body, body);
	}
}

Test(master_join, hidden_locked_and_full_lobbies_can_be_joined)
{
	static const char *const members[] = { "'listed':false", "'locked':true", "'players_max':1" };

	for (size_t i = 0; i < COUNT_OF(members); i++) {
		struct master_host h;

		master_open(&h, s, HOST, J(members[i]));
		cr_expect_eq(master_join_status(s, JOINER, h.id), 200, "%s", members[i]);
	}
}

Test(master_join, a_join_needs_a_lobby_that_is_there)
{
	static const char *const missing[] = { "{}", "{'lobbyId':null}", "{'lobbyId':1}", "{'lobbyId':['x']}" };
	static const char *const unknown[] = { "", "0011223344556677", "x", "00112233445566778899" };
	struct master_host       h;

	master_open(&h, s, HOST, "");
	for (size_t i = 0; i < COUNT_OF(missing); i++) {
		AUTO(rest_freep) struct http_result r = master_post(s, JOINER, "/v1/join", J(missing[i]));

		master_expect_error(&r, 400, "lobbyId required");
	}
	for (size_t i = 0; i < COUNT_OF(unknown); i++) {
		AUTO(rest_freep) struct http_result r = master_join(s, JOINER, unknown[i]);

		master_expect_error(&r, 404, "lobby not found");
	}
	cr_expect_eq(master_join_status(s, JOINER, h.session), 404, "the secret id is no public one");
	for (char *c = h.id; *c; c++)
		*c = (char)(*c >= 'a' ? *c - 'a' + 'A' : *c);
	cr_expect(strpbrk(h.id, "ABCDEF") == NULL || master_join_status(s, JOINER, h.id) == 404);
}

/* --- The list --- */

TestSuite(master_list, .init = start, .fini = stop);

Test(master_list, it_has_the_listed_lobbies_and_all_fields_of_a_row)
{
	static const char *const members[] = { "lobbyId",   "name",        "version",       "game",         "world",
		                               "proto",     "players_cur", "players_max",   "locked",       "age",
		                               "conn",      "link",        "links.relayed", "links.direct", "links.lan",
		                               "build_sha", "build_key",   "build_sig",     "proved" };
	struct master_host       shown, hidden;

	AUTO(rest_freep) struct http_result none = master_list(s);

	cr_expect_str_eq(none.body, "{\"lobbies\":[]}");
	master_open(&shown, s, HOST, J("'conn':'direct','direct_port':7777"));
	master_open(&hidden, s, HOST, J("'listed':false"));
	AUTO(rest_freep) struct http_result list = master_list(s);

	cr_expect_eq(rest_count(&list, "lobbies"), 1);
	for (size_t i = 0; i < COUNT_OF(members); i++)
		cr_expect(rest_has(&list, master_way(&list, shown.id, members[i])), "%s", members[i]);
	cr_expect_eq(master_health(s), 2);
}

Test(master_list, it_tells_no_secret_and_no_address)
{
	struct master_host h, direct;

	master_open(&h, s, HOST, "");
	master_open(&direct, s, HOST, J("'conn':'direct','direct_port':7777"));
	AUTO(rest_freep) struct http_result list = master_list(s);

	cr_expect(!strstr(list.body, h.session) && !strstr(list.body, h.token) && !strstr(list.body, "gen:") &&
	                  !strstr(list.body, HOST) && !strstr(list.body, "7777"),
	          "%s", list.body);
}

Test(master_list, a_filter_takes_the_last_version_undecoded_and_cleaned)
{
	static const struct {
		const char *query;
		size_t      count;
	} rows[] = {
		{ "", 4 },
		{ "?", 4 },
		{ "?version=", 4 },
		{ "?version", 4 },
		{ "?version=1.0", 1 },
		{ "?version=1.0+a", 1 },
		{ "?version=1.0%2Ba", 0 },
		{ "?version=2", 0 },
		{ "?version=2&version=1.0", 1 },
		{ "?version=1.0&version=", 4 },
		{ "?x=version=2", 4 },
		{ "?xversion=2", 4 },
		{ "?Version=2", 4 },
		{ "?a&b=c&version=1.0&d", 1 },
		{ "?version=a=b", 1 },
	};
	struct master_host h;

	master_open(&h, s, HOST, "");
	master_open(&h, s, HOST, J("'version':'1.0'"));
	master_open(&h, s, HOST, J("'version':'1.0+a'"));
	master_open(&h, s, HOST, J("'version':'a=b'"));
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char path[100];

		snprintf(path, sizeof(path), "/v1/lobbies%s", rows[i].query);
		AUTO(rest_freep) struct http_result list = master_get(s, path, "");

		cr_expect_eq(list.status, 200);
		cr_expect_eq(rest_count(&list, "lobbies"), rows[i].count, "%s: %s", path, list.body);
	}
}

static size_t unpack(char *out, size_t cap, const struct http_result *r)
{
	z_stream z = { .next_in   = (Bytef *)r->body,
		       .avail_in  = (uInt)r->body_len,
		       .next_out  = (Bytef *)out,
		       .avail_out = (uInt)cap };

	cr_assert_eq(inflateInit2(&z, 15 + 16), Z_OK);
	cr_expect_eq(inflate(&z, Z_FINISH), Z_STREAM_END);
	inflateEnd(&z);
	return z.total_out;
}

Test(master_list, it_comes_as_gzip_to_who_takes_that)
{
	static char        plain[65536];
	struct master_host h;
	char               value[64], etag[64], other[64];

	master_open(&h, s, HOST, "");
	AUTO(rest_freep) struct http_result list   = master_get(s, "/v1/lobbies", "");
	AUTO(rest_freep) struct http_result packed = master_get(s, "/v1/lobbies", "Accept-Encoding: br, gzip\r\n");
	AUTO(rest_freep) struct http_result never  = master_get(s, "/v1/lobbies", "Accept-Encoding: gzip;q=0\r\n");
	AUTO(rest_freep)
	struct http_result picked = master_get(s, "/v1/lobbies?version=1", "Accept-Encoding: gzip\r\n");

	cr_expect_str_eq(http_result_header(&packed, "Content-Encoding", value, sizeof(value)), "gzip");
	cr_expect_eq(unpack(plain, sizeof(plain), &packed), list.body_len);
	cr_expect_eq(memcmp(plain, list.body, list.body_len), 0);
	cr_expect_str_eq(http_result_header(&list, "Content-Encoding", value, sizeof(value)), "");
	cr_expect_str_eq(http_result_header(&never, "Content-Encoding", value, sizeof(value)), "");
	cr_expect_str_eq(http_result_header(&picked, "Content-Encoding", value, sizeof(value)), "");
	cr_expect_str_eq(http_result_header(&list, "Vary", value, sizeof(value)), "Accept-Encoding");
	cr_expect_str_eq(http_result_header(&packed, "Vary", value, sizeof(value)), "Accept-Encoding");

	http_result_header(&list, "ETag", etag, sizeof(etag));
	http_result_header(&packed, "ETag", other, sizeof(other));
	cr_expect(strlen(etag) == 18 && strlen(other) == 21 && strncmp(etag, other, 17) == 0 &&
	                  strcmp(other + 17, "-gz\"") == 0,
	          "%s %s", etag, other);
}

static int status_with(const char *etag, const char *encoding)
{
	char fields[200];

	snprintf(fields, sizeof(fields), "If-None-Match: %s\r\n%s", etag, encoding);
	AUTO(rest_freep) struct http_result r = master_get(s, "/v1/lobbies", fields);

	cr_expect(r.status == 200 || r.body_len == 0, "%d with %zu bytes", r.status, r.body_len);
	return r.status;
}

Test(master_list, who_has_it_already_gets_304_until_it_changes)
{
	struct master_host h;
	char               etag[64], again[64];

	master_open(&h, s, HOST, "");
	AUTO(rest_freep) struct http_result list = master_list(s);

	http_result_header(&list, "ETag", etag, sizeof(etag));
	cr_expect_eq(status_with(etag, ""), 304);
	cr_expect_eq(status_with("\"x\", W/\"y\"", ""), 200);
	cr_expect_eq(status_with(etag, "Accept-Encoding: gzip\r\n"), 200, "what he has is not what he would get");
	master_beat(&h, s, J("'players_cur':3"));
	cr_expect_eq(status_with(etag, ""), 200);
	master_beat(&h, s, J("'players_cur':1"));
	AUTO(rest_freep) struct http_result same = master_list(s);

	cr_expect_str_eq(http_result_header(&same, "ETag", again, sizeof(again)), etag, "the same bytes");
}

/* With the limits as they are: at most once a second, and every five at least. */
Test(master_list, changes_show_within_a_second_and_ages_within_five)
{
	struct server     *slow = server_start(NULL);
	struct master_host h, late;
	double             made;

	master_open(&h, slow, HOST, "");
	cr_expect(master_is_listed(slow, h.id));
	made = server_metric(slow, "coopd_lobby_lists_made_total", NULL);
	master_open(&late, slow, HOST, "");
	for (int i = 0; i < 20; i++)
		cr_expect(!master_is_listed(slow, late.id) ||
		          server_metric(slow, "coopd_lobby_lists_made_total", NULL) > made);
	server_advance(slow, 1000);
	cr_expect(master_is_listed(slow, late.id));

	made = server_metric(slow, "coopd_lobby_lists_made_total", NULL);
	server_advance(slow, 3000);
	master_beat(&h, slow, "");
	cr_expect_eq(master_listed(slow), 2);
	cr_expect_eq(server_metric(slow, "coopd_lobby_lists_made_total", NULL), made, "nothing to see has changed");
	server_advance(slow, 2100);
	AUTO(rest_freep) struct http_result list = master_list(slow);
	char                                way[100];

	cr_expect_eq(server_metric(slow, "coopd_lobby_lists_made_total", NULL), made + 1);
	strcpy(way, master_way(&list, late.id, "age"));
	cr_expect(rest_int(&list, way) >= 6, "%s", list.body);
	server_finish(slow);
}

Test(master_list, it_stays_open_for_the_next_question)
{
	static const char two[] = "GET /v1/lobbies HTTP/1.1\r\nHost: a\r\n\r\n"
				  "GET /v1/latest HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

	AUTO(rest_freep) struct http_result r = http_exchange(s->http_port, two, strlen(two), LOBBY_PATIENCE_MS);

	cr_expect(strstr(r.body, "HTTP/1.1 200 OK") && strstr(r.body, "\"proto\":0"), "%s", r.body);
}

Test(master_list, head_tells_what_there_is_without_sending_it)
{
	struct master_host h;
	char               etag[64], other[64], length[32];

	master_open(&h, s, HOST, "");
	AUTO(rest_freep) struct http_result list = master_list(s);
	AUTO(rest_freep) struct http_result head = rest_ask(s, NULL, "HEAD", "/v1/lobbies", "", NULL, 0);

	cr_expect_eq(head.status, 200);
	cr_expect_eq(head.body_len, 0);
	cr_expect_eq(strtoul(http_result_header(&head, "Content-Length", length, sizeof(length)), NULL, 10),
	             list.body_len);
	cr_expect_str_eq(http_result_header(&head, "ETag", etag, sizeof(etag)),
	                 http_result_header(&list, "ETag", other, sizeof(other)));
}

/* --- The latest release --- */

Test(master_latest, nothing_is_known_unless_it_is_set)
{
	s                                     = server_start(NULL);
	AUTO(rest_freep) struct http_result r = http_get(s->http_port, "/v1/latest");

	cr_expect_eq(r.status, 200);
	cr_expect_str_eq(r.body,
	                 "{\"proto\":0,\"mod\":\"\",\"url\":\"https://github.com/VOTV-MP/Multivoid/releases\"}");
	server_finish(s);
}

static void write_file(const char *name, const char *text, size_t len, char path[SERVER_PATH_BYTES + 32])
{
	snprintf(path, SERVER_PATH_BYTES + 32, "%s/%s", s->root, name);
	FILE *f = fopen(path, "w");

	cr_assert_not_null(f);
	cr_assert_eq(fwrite(text, 1, len, f), len);
	fclose(f);
}

/* --- Thanks --- */

static void expect_thanks(int status, const char *text)
{
	AUTO(rest_freep) struct http_result r = http_get(s->http_port, "/v1/thanks");

	if (status == 200) {
		cr_expect_eq(r.status, 200, "%d", r.status);
		expect_text(&r, "text", text);
	} else {
		master_expect_error(&r, status, text);
	}
}

static void start_with_thanks(char path[SERVER_PATH_BYTES + 32])
{
	char set[SERVER_SET_BYTES];

	s = server_prepare(NULL);
	snprintf(path, SERVER_PATH_BYTES + 32, "%s/thanks.txt", s->root);
	snprintf(set, sizeof(set), "thanks.file=%s", path);
	server_set(s, set);
	server_launch(s);
	server_await_ready(s);
}

#define THANKS "Thanks to \xc3\xa9 <b>\n\"you\"\n"

Test(master_thanks, the_file_is_served_and_read_again_after_30_s)
{
	char path[SERVER_PATH_BYTES + 32];

	start_with_thanks(path);
	expect_thanks(404, "no list");
	write_file("thanks.txt", THANKS, strlen(THANKS), path);
	expect_thanks(404, "no list");
	server_advance(s, 30000);
	expect_thanks(200, THANKS);
	write_file("thanks.txt", "others", 6, path);
	server_advance(s, 29000);
	expect_thanks(200, THANKS);
	server_advance(s, 1001);
	expect_thanks(200, "others");
	unlink(path);
	server_advance(s, 30001);
	expect_thanks(404, "no list");
	server_finish(s);
}

static char long_text[65537];

Test(master_thanks, a_bad_read_keeps_the_last_good_copy_and_is_503_without_one)
{
	static const struct {
		const char *text;
		size_t      len;
	} bad[] = { { "", 0 }, { "a\xff", 2 }, { "a\0b", 3 }, { long_text, 65537 } };
	char path[SERVER_PATH_BYTES + 32];

	memset(long_text, 'x', sizeof(long_text));
	start_with_thanks(path);
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		write_file("thanks.txt", bad[i].text, bad[i].len, path);
		server_advance(s, 30001);
		expect_thanks(503, "list unavailable");
	}
	write_file("thanks.txt", long_text, 65536, path);
	server_advance(s, 30001);
	AUTO(rest_freep) struct http_result r = http_get(s->http_port, "/v1/thanks");

	cr_expect_eq(r.status, 200);
	cr_expect_eq(r.body_len, 65536 + strlen("{\"text\":\"\"}"));
	write_file("thanks.txt", "good", 4, path);
	server_advance(s, 30001);
	expect_thanks(200, "good");
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		write_file("thanks.txt", bad[i].text, bad[i].len, path);
		server_advance(s, 30001);
		expect_thanks(200, "good");
	}
	unlink(path);
	cr_assert_eq(mkdir(path, 0700), 0);
	server_advance(s, 30001);
	expect_thanks(200, "good");
	rmdir(path);
	server_finish(s);
}

/* --- Health --- */

Test(master_health, it_counts_hidden_lobbies_too)
{
	struct master_host shown, hidden;

	s = server_start(NULL);
	cr_expect_eq(master_health(s), 0);
	master_open(&shown, s, HOST, "");
	master_open(&hidden, s, HOST, J("'listed':false"));
	cr_expect_eq(master_health(s), 2);
	cr_expect_eq(server_metric(s, "coopd_lobbies", NULL), 2);
	master_leave(&hidden, s);
	cr_expect_eq(master_health(s), 1);
	server_finish(s);
}
