/*
 * How the lobby master is spoken to: heads, bodies, paths, and the errors that programs look for.
 */
#include "base/auto.h"
#include "support/lobby_client.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ELSEWHERE "203.0.113.7"

static struct server *s;

static void start(void)
{
	s = server_start((const char *[]){ LOBBY_PROMPT, NULL });
}

static void stop(void)
{
	server_finish(s);
}

TestSuite(master_transport, .init = start, .fini = stop);

static struct http_result say(const char *text)
{
	return http_exchange(s->http_port, text, strlen(text), LOBBY_PATIENCE_MS);
}

Test(master_transport, an_answer_is_compact_json_with_the_fields_that_clients_expect)
{
	AUTO(rest_freep)
	struct http_result r =
		master_post(s, ELSEWHERE, "/v1/host", master_announce_body(J("'name':'Zo\xc3\xab \xf0\x9f\x8f\x9d'")));
	AUTO(rest_freep) struct http_result list = master_list(s);
	char                                value[64];

	cr_expect_eq(r.status, 200);
	cr_expect(strncmp(r.head, "HTTP/1.1 200 OK\r\n", 17) == 0, "%s", r.head);
	cr_expect_str_eq(http_result_header(&r, "Content-Type", value, sizeof(value)), "application/json");
	cr_expect_str_eq(http_result_header(&r, "Connection", value, sizeof(value)), "close");
	cr_expect_str_eq(http_result_header(&r, "Cache-Control", value, sizeof(value)), "no-store");
	cr_expect_eq(strtoul(http_result_header(&r, "Content-Length", value, sizeof(value)), NULL, 10), r.body_len);
	cr_expect(!strpbrk(r.body, " \n"), "not compact: %s", r.body);
	cr_expect(strstr(list.body, "\"name\":\"Zo\xc3\xab \xf0\x9f\x8f\x9d\""), "%s", list.body);
	cr_expect_str_eq(http_result_header(&list, "Content-Type", value, sizeof(value)), "application/json");
	cr_expect_str_eq(http_result_header(&list, "Cache-Control", value, sizeof(value)), "no-store");
}

/* Statuses and their words, as they stand in first lines. */
Test(master_transport, first_lines_have_the_usual_reasons)
{
	static const struct {
		const char *request, *line;
	} rows[] = {
		{ "POST /v1/join HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx", "HTTP/1.1 400 Bad Request\r\n" },
		{ "POST /v1/leave HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 403 Forbidden\r\n" },
		{ "GET /v1/nothing HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 404 Not Found\r\n" },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO(rest_freep) struct http_result r = say(rows[i].request);

		cr_expect(strncmp(r.head, rows[i].line, strlen(rows[i].line)) == 0, "%s: %s", rows[i].request, r.head);
	}
}

Test(master_transport, a_second_request_behind_a_post_is_not_answered)
{
	AUTO(rest_freep)
	struct http_result r = say("POST /v1/join HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}"
	                           "GET /v1/latest HTTP/1.1\r\nHost: a\r\n\r\n");

	master_expect_error(&r, 400, "lobbyId required");
	cr_expect(!strstr(r.body, "HTTP/1.1"), "%s", r.body);
}

Test(master_transport, http_1_0_and_a_missing_host_are_fine)
{
	AUTO(rest_freep) struct http_result old     = say("GET /v1/latest HTTP/1.0\r\n\r\n");
	AUTO(rest_freep) struct http_result bare    = say("POST /v1/join HTTP/1.0\r\nContent-Length: 2\r\n\r\n{}");
	AUTO(rest_freep) struct http_result no_host = say("GET /v1/latest HTTP/1.1\r\nConnection: close\r\n\r\n");

	cr_expect_eq(old.status, 200);
	master_expect_error(&bare, 400, "lobbyId required");
	cr_expect(no_host.status == 200 || no_host.status == 400, "%d", no_host.status);
}

/* --- Bodies --- */

Test(master_transport, a_post_without_a_length_or_with_a_coding_is_413)
{
	static const char *const paths[] = { "/v1/host", "/v1/nothing", "/v1/lobbies" };

	for (size_t i = 0; i < COUNT_OF(paths); i++) {
		char request[256];

		snprintf(request, sizeof(request), "POST %s HTTP/1.1\r\nHost: a\r\n\r\n", paths[i]);
		AUTO(rest_freep) struct http_result none = say(request);

		master_expect_error(&none, 413, "body too large");
		snprintf(request, sizeof(request),
		         "POST %s HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
		         paths[i]);
		AUTO(rest_freep) struct http_result chunked = say(request);

		master_expect_error(&chunked, 413, "body too large");
	}
}

/* An object of so many bytes, blanks for the most part. */
static struct http_result post_bytes(const struct server *on, const char *path, size_t bytes)
{
	char              *body = malloc(bytes + 1);
	struct http_result r;

	cr_assert_not_null(body);
	memset(body, ' ', bytes);
	body[0]         = '{';
	body[bytes - 1] = '}';
	body[bytes]     = '\0';
	r               = master_post(on, ELSEWHERE, path, body);
	free(body);
	return r;
}

Test(master_transport, a_body_of_65536_bytes_is_taken_and_one_more_is_413)
{
	AUTO(rest_freep) struct http_result at   = post_bytes(s, "/v1/join", 65536);
	AUTO(rest_freep) struct http_result past = post_bytes(s, "/v1/join", 65537);
	AUTO(rest_freep) struct http_result lost = post_bytes(s, "/v1/nothing", 65536);
	AUTO(rest_freep) struct http_result more = post_bytes(s, "/v1/nothing", 65537);

	master_expect_error(&at, 400, "lobbyId required");
	master_expect_error(&past, 413, "body too large");
	master_expect_error(&lost, 404, "not found");
	master_expect_error(&more, 413, "body too large");
}

Test(master_transport, how_long_a_body_may_be_is_a_setting)
{
	struct server                      *small = server_start((const char *[]){ "limits.lobby_body=1024", NULL });
	AUTO(rest_freep) struct http_result at    = post_bytes(small, "/v1/join", 1024);
	AUTO(rest_freep) struct http_result past  = post_bytes(small, "/v1/join", 1025);

	master_expect_error(&at, 400, "lobbyId required");
	master_expect_error(&past, 413, "body too large");
	server_finish(small);
}

Test(master_transport, a_bad_body_is_bad_json_before_the_path_is_looked_at)
{
	static const char *const bodies[] = {
		"x",
		"[]",
		"[{}]",
		"\"text\"",
		"1",
		"null",
		"true",
		"{",
		"{}}",
		"{} {}",
		"{'a':1,}",
		"{a:1}",
		"{'a':'\xff'}",
		"{'a':'\xc0\xaf'}",
		"\xef\xbb\xbf{}",
		"{'a':'\\ud800'}",
		"{'a':1e400}",
		"{'a':NaN}",
		"{'a':Infinity}",
		"{'a':9223372036854775808}",
		"{'a':'\x01'}",
		" ",
	};
	static const char *const paths[] = { "/v1/join", "/v1/nothing", "/v1/lobbies", "/healthz", "/v1/jo%69n" };

	for (size_t i = 0; i < COUNT_OF(bodies); i++) {
		for (size_t k = 0; k < (i == 0 ? COUNT_OF(paths) : 2); k++) {
			AUTO(rest_freep) struct http_result r = master_post(s, ELSEWHERE, paths[k], J(bodies[i]));

			master_expect_error(&r, 400, "bad json");
		}
	}
}

/* So many arrays inside the object. */
static void nest(char *out, size_t depth)
{
	char *at = out + sprintf(out, "{\"a\":");

	memset(at, '[', depth);
	memset(at + depth, ']', depth);
	strcpy(at + 2 * depth, "}");
}

Test(master_transport, what_nests_deeper_than_127_is_bad_json)
{
	char body[1024];

	nest(body, 126);
	AUTO(rest_freep) struct http_result at = master_post(s, ELSEWHERE, "/v1/join", body);

	nest(body, 127);
	AUTO(rest_freep) struct http_result past = master_post(s, ELSEWHERE, "/v1/join", body);

	master_expect_error(&at, 400, "lobbyId required");
	master_expect_error(&past, 400, "bad json");
}

Test(master_transport, a_body_is_read_leniently_where_that_hurts_nobody)
{
	static const struct {
		const char *body;
		int         status;
		const char *error;
	} rows[] = {
		{ "", 400, "lobbyId required" },
		{ " \r\n\t{} \n", 400, "lobbyId required" },
		{ "{'lobbyId':1,'lobbyId':'00'}", 404, "lobby not found" },
		{ "{'lobbyId':'00','lobbyId':1}", 400, "lobbyId required" },
		{ "{'x':[{}],'lobbyId':'00','y':null}", 404, "lobby not found" },
		{ "{'lobbyId':'a\\u0000b'}", 404, "lobby not found" },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO(rest_freep) struct http_result r = master_post(s, ELSEWHERE, "/v1/join", J(rows[i].body));

		master_expect_error(&r, rows[i].status, rows[i].error);
	}
}

Test(master_transport, bytes_beyond_the_length_are_ignored)
{
	AUTO(rest_freep)
	struct http_result r = say("POST /v1/join HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}}}}}}");

	master_expect_error(&r, 400, "lobbyId required");
}

Test(master_transport, a_client_that_expects_100_is_served)
{
	AUTO(rest_freep)
	struct http_result r =
		say("POST /v1/join HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n{}");

	cr_expect(strstr(r.head, "400 Bad Request") || strstr(r.body, "400 Bad Request"), "%s %s", r.head, r.body);
	cr_expect(strstr(r.body, "lobbyId required"), "%s", r.body);
}

/* --- Paths and methods --- */

Test(master_transport, another_method_or_path_is_404_and_never_405)
{
	static const struct {
		const char *method, *path;
	} rows[] = {
		{ "GET", "/v1/host" },      { "GET", "/v1/join" },       { "PUT", "/v1/host" },
		{ "DELETE", "/v1/leave" },  { "OPTIONS", "/v1/host" },   { "OPTIONS", "/v1/lobbies" },
		{ "PUT", "/v1/lobbies" },   { "PATCH", "/v1/latest" },   { "GET", "/" },
		{ "GET", "/v1" },           { "GET", "/v1/lobbies/" },   { "GET", "/V1/lobbies" },
		{ "GET", "/v1/Lobbies" },   { "GET", "//v1/lobbies" },   { "GET", "/v1/lobbie%73" },
		{ "GET", "/v1/./lobbies" }, { "GET", "/nothing/here" },  { "BREW", "/v1/lobbies" },
		{ "GET", "/v1/lobbies#x" }, { "DELETE", "/v1/nothing" },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO(rest_freep) struct http_result r = rest_ask(s, NULL, rows[i].method, rows[i].path, "", NULL, 0);
		char                                allow[64];

		master_expect_error(&r, 404, "not found");
		cr_expect_str_eq(http_result_header(&r, "Allow", allow, sizeof(allow)), "");
	}
}

Test(master_transport, a_post_to_nowhere_is_404)
{
	static const char *const paths[] = { "/",        "/v1/nothing", "/v1/lobbies", "/v1/latest", "/v1/thanks",
		                             "/healthz", "/v1/host/",   "/v1/Host",    "/v1/hos%74" };

	for (size_t i = 0; i < COUNT_OF(paths); i++) {
		AUTO(rest_freep) struct http_result r = master_post(s, ELSEWHERE, paths[i], "{}");

		master_expect_error(&r, 404, "not found");
	}
}

Test(master_transport, a_query_on_a_post_path_is_ignored)
{
	AUTO(rest_freep) struct http_result r = master_post(s, ELSEWHERE, "/v1/join?lobbyId=00&x", "{}");

	master_expect_error(&r, 400, "lobbyId required");
}

/* --- Heads --- */

static struct http_result long_head(const char *path, size_t bytes)
{
	char              *request = malloc(bytes + 256);
	struct http_result r;
	int                len;

	cr_assert_not_null(request);
	len = sprintf(request, "GET %s HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX: ", path);
	memset(request + len, 'x', bytes);
	strcpy(request + len + bytes, "\r\n\r\n");
	r = say(request);
	free(request);
	return r;
}

Test(master_transport, a_head_of_over_16_kib_is_413)
{
	static const char *const paths[] = { "/v1/lobbies", "/v1/nothing" };

	for (size_t i = 0; i < COUNT_OF(paths); i++) {
		AUTO(rest_freep) struct http_result fits = long_head(paths[i], 16384 - 256);
		AUTO(rest_freep) struct http_result past = long_head(paths[i], 16384);

		cr_expect_eq(fits.status, i == 0 ? 200 : 404);
		master_expect_error(&past, 413, "headers too large");
	}
}

Test(master_transport, a_head_that_can_be_read_in_two_ways_is_400)
{
	AUTO(rest_freep)
	struct http_result two =
		say("POST /v1/join HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}");
	AUTO(rest_freep)
	struct http_result blank = say("POST /v1/join HTTP/1.1\r\nHost: a\r\nContent-Length : 2\r\n\r\n{}");

	master_expect_error(&two, 400, "bad request line");
	cr_expect_eq(blank.status, 400);
}

/* The library's own answers: the document says which, and that their bodies are not JSON. */
static void expect_not_ours(const char *request, int status)
{
	AUTO(rest_freep) struct http_result r = say(request);

	cr_expect_eq(r.status, status, "%.60s: %d", request, r.status);
	cr_expect(r.body[0] != '{', "%s", r.body);
}

Test(master_transport, some_heads_never_come_so_far_that_the_answer_is_json)
{
	static const char *const lengths[] = { "x", "-1", "1x", "", "2 " };
	static char              request[65536];
	size_t                   len;

	for (size_t i = 0; i < COUNT_OF(lengths); i++) {
		snprintf(request, sizeof(request), "POST /v1/join HTTP/1.1\r\nHost: a\r\nContent-Length: %s\r\n\r\n{}",
		         lengths[i]);
		expect_not_ours(request, 400);
	}
	expect_not_ours("POST /v1/join HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999999\r\n\r\n{}", 413);

	len = (size_t)snprintf(request, sizeof(request), "GET /v1/lobbies HTTP/1.1\r\nHost: a\r\n");
	for (int i = 0; i < 500; i++)
		len += (size_t)snprintf(request + len, sizeof(request) - len, "a%d: b\r\n", i);
	snprintf(request + len, sizeof(request) - len, "\r\n");
	expect_not_ours(request, 431);

	len = (size_t)snprintf(request, sizeof(request), "GET /");
	memset(request + len, 'a', 40000);
	snprintf(request + len + 40000, sizeof(request) - len - 40000, " HTTP/1.1\r\nHost: a\r\n\r\n");
	expect_not_ours(request, 414);
}

Test(master_transport, no_web_page_announces_with_its_visitors_addresses)
{
	AUTO(rest_freep)
	struct http_result post =
		master_post_with(s, "Origin: https://example.org\r\n", "/v1/host", master_announce_body(""));
	AUTO(rest_freep) struct http_result get = master_get(s, "/v1/lobbies", "Origin: https://example.org\r\n");

	cr_expect_eq(post.status, 403);
	cr_expect(!strstr(post.body, "unknown session"), "%s", post.body);
	cr_expect_eq(get.status, 200);
	cr_expect_eq(master_health(s), 0);
}

Test(master_transport, without_the_lobby_part_its_routes_are_not_there)
{
	struct server                      *none = server_start((const char *[]){ "lobby.enable=no", NULL });
	AUTO(rest_freep) struct http_result list = master_get(none, "/v1/lobbies", "");
	AUTO(rest_freep) struct http_result host = master_post(none, NULL, "/v1/host", master_announce_body(""));

	master_expect_error(&list, 404, "not found");
	cr_expect_eq(host.status, 404);
	cr_expect_eq(master_health(none), 0);
	server_finish(none);
}
