/*
 * openapi.json against the server, both ways: all that the server does is described, and all that is described happens.
 * What the server cannot be brought to do here (a full disk, a broken store) is named, and its status looked up in
 * err.def.
 */
#include "base/auto.h"
#include "base/err.h"
#include "base/hex.h"
#include "cloud/cloud.h"
#include "health/health_serve.h"
#include "support/dial.h"
#include "support/rest_client.h"
#include "support/tunnel_client.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define ONE        "00112233445566aa"
#define CAMPAIGN   "/v1/campaigns/{id}"
#define CHECKPOINT "/v1/campaigns/{id}/checkpoint"
#define MEMBER     "/v1/campaigns/{id}/members/{player}"
#define META       "Coop-Meta: {}\r\n"
#define EVIL       "Origin: https://evil.example\r\n"
#define OTHER      "0011223344556677"

#define ANSWER AUTO(rest_freep) struct http_result

/* Codes that need a broken machine, another machine, an hour, or an operator. Each has its own test where it can be made. */
static const char *const not_here[] = {
	"store_busy",   "store_failed", "out_of_memory", "io",     "no_space",
	"tls_required", "no_room",      "transfers",     "banned",
};

/* What is said by other parts of the server only, or in the form of another. */
static const char *const not_rest[] = {
	"version", "no_game", "game_full", "exists",         "head_too_big", "timeout",
	"closed",  "slow",    "draining",  "newer_database", "held",         "token",
	"role",    "host",    "invalid",   "unknown_member", "force",        "part_off",
};

static struct server *s;
static json_t        *doc;
static json_t        *seen; /* "GET /v1/campaigns 404 not_found" */

static void start(void)
{
	static const char *const sets[] = { "limits.cloud_members=2", "limits.cloud_campaigns=2",
		                            "limits.cloud_checkpoint=5000", "limits.cloud_player_bytes=6000", NULL };

	s        = server_start(sets);
	ANSWER r = rest_get(s, NULL, "/v1/openapi.json");
	cr_assert_eq(r.status, 200);
	doc  = json_loadb(r.body, r.body_len, JSON_REJECT_DUPLICATES, NULL);
	seen = json_object();
	cr_assert(json_is_object(doc));
}

static void stop(void)
{
	json_decref(doc);
	json_decref(seen);
	server_finish(s);
}

TestSuite(rest_openapi, .init = start, .fini = stop);

static bool is_in(const char *word, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(word, list[i]) == 0)
			return true;
	}
	return false;
}

static json_t *operation(const char *method, const char *path)
{
	char lower[10];

	for (size_t i = 0; i < sizeof(lower); i++) {
		lower[i] = (char)(method[i] | 0x20);
		if (method[i] == '\0') {
			lower[i] = '\0';
			break;
		}
	}
	return json_object_get(json_object_get(json_object_get(doc, "paths"), path), lower);
}

static bool has_code(json_t *response, const char *code)
{
	json_t *codes = json_object_get(response, "x-codes");

	for (size_t i = 0; i < json_array_size(codes); i++) {
		if (strcmp(json_string_value(json_array_get(codes, i)), code) == 0)
			return true;
	}
	return false;
}

/* --- Routes --- */

static size_t expect_described(const struct http_route *routes)
{
	size_t count = 0;

	for (; routes[count].path; count++)
		cr_expect_not_null(operation(routes[count].method, routes[count].path), "%s %s is not described",
		                   routes[count].method, routes[count].path);
	return count;
}

Test(rest_openapi, describes_every_route_and_no_other)
{
	size_t      routes     = expect_described(rest_routes) + expect_described(health_routes);
	size_t      operations = 0;
	const char *path, *method;
	json_t     *item, *op;

	json_object_foreach(json_object_get(doc, "paths"), path, item)
	{
		json_object_foreach(item, method, op) operations++;
	}
	cr_expect_eq(operations, routes);
}

/* --- References --- */

static void expect_references(json_t *at)
{
	const char *key;
	json_t     *value;
	size_t      i;

	json_array_foreach(at, i, value) expect_references(value);
	json_object_foreach(at, key, value)
	{
		char kind[40], name[40];

		expect_references(value);
		if (strcmp(key, "$ref") != 0)
			continue;
		cr_assert_eq(sscanf(json_string_value(value), "#/components/%39[^/]/%39s", kind, name), 2);
		cr_expect_not_null(json_object_get(json_object_get(json_object_get(doc, "components"), kind), name),
		                   "%s leads nowhere", json_string_value(value));
	}
}

Test(rest_openapi, leads_nowhere_else)
{
	expect_references(doc);
	cr_expect_str_eq(json_string_value(json_object_get(doc, "openapi")), "3.1.0");
}

/* --- Codes --- */

static int status_of_code(const char *code)
{
	for (int e = ERR_OK + 1; e < ERR_COUNT; e++) {
		if (strcmp(err_rest((enum err)e), code) == 0)
			return err_http((enum err)e);
	}
	return 0;
}

static void expect_codes(json_t *responses)
{
	const char *status;
	json_t     *response, *code;
	size_t      i;

	json_object_foreach(responses, status, response)
	{
		json_array_foreach(json_object_get(response, "x-codes"), i, code)
			cr_expect_eq(status_of_code(json_string_value(code)), atoi(status), "%s %s", status,
		                     json_string_value(code));
	}
}

Test(rest_openapi, codes_and_statuses_are_those_of_the_server)
{
	json_t *schemas = json_object_get(json_object_get(doc, "components"), "schemas");
	json_t *error   = json_object_get(json_object_get(json_object_get(schemas, "Error"), "properties"), "error");
	json_t *codes   = json_object_get(json_object_get(json_object_get(error, "properties"), "code"), "enum");
	json_t *item, *op, *code;
	size_t  i;

	const char *path, *method;

	json_object_foreach(json_object_get(doc, "paths"), path, item)
	{
		json_object_foreach(item, method, op) expect_codes(json_object_get(op, "responses"));
	}
	expect_codes(json_object_get(doc, "x-any-request"));

	cr_assert_gt(json_array_size(codes), 10);
	json_array_foreach(codes, i, code)
		cr_expect_neq(status_of_code(json_string_value(code)), 0, "%s is no code", json_string_value(code));
	for (int e = ERR_OK + 1; e < ERR_COUNT; e++) {
		bool listed = false;

		json_array_foreach(codes, i, code) listed =
			listed || strcmp(json_string_value(code), err_rest((enum err)e)) == 0;
		cr_expect(listed != is_in(err_rest((enum err)e), not_rest, COUNT_OF(not_rest)), "%s",
		          err_rest((enum err)e));
	}
}

/* --- Answers --- */

/* What the server just said is described; it is noted. */
static void note(const char *method, const char *path, const struct http_result *r)
{
	json_t *op = operation(method, path);
	char    status[8], code[40] = "", line[200];
	json_t *said, *any;

	snprintf(status, sizeof(status), "%d", r->status);
	if (rest_has(r, "error.code"))
		rest_text(r, "error.code", code, sizeof(code));
	said = json_object_get(json_object_get(op, "responses"), status);
	any  = json_object_get(json_object_get(doc, "x-any-request"), status);
	if (r->status >= 400 && code[0] == '\0')
		cr_expect(strcmp(path, "/readyz") == 0, "%s %s: %d without a code: %s", method, path, r->status,
		          r->body);
	else
		cr_expect(code[0] ? has_code(said, code) || has_code(any, code) : said != NULL,
		          "%s %s: %d %s is not described", method, path, r->status, code);
	snprintf(line, sizeof(line), "%s %s %s%s%s", method, path, status, code[0] ? " " : "", code);
	json_object_set_new(seen, line, json_true());
}

struct attempt {
	const char *method, *path; /* as the document has it */
	const char *tail;          /* of the real path */
	const char *player, *fields, *body;
	int         status;
	bool        at_once; /* the 10 s between uploads are not over */
};

/* The path with the campaign, and the player OTHER, for the names. */
static void real_path(char out[200], const struct attempt *t)
{
	const char *at  = t->path;
	size_t      len = 0;

	while (*at) {
		const char *value = strncmp(at, "{player}", 8) == 0 ? OTHER : ONE;

		if (*at == '{') {
			len += (size_t)snprintf(out + len, 200 - len, "%s", value);
			at += strcspn(at, "}") + 1;
		} else {
			out[len++] = *at++;
		}
	}
	snprintf(out + len, 200 - len, "%s", t->tail);
}

static void attempt(const struct attempt *t)
{
	char path[200];

	real_path(path, t);
	if (!t->at_once)
		server_advance(s, 10000);
	ANSWER r = rest_ask(s, t->player, t->method, path, t->fields, t->body, t->body ? strlen(t->body) : 0);
	cr_expect_eq(r.status, t->status, "%s %s %s: %d %s", t->method, path, t->fields, r.status, r.body);
	note(t->method, t->path, &r);
}

static void attempt_all(const struct attempt *all, size_t count)
{
	for (size_t i = 0; i < count; i++)
		attempt(&all[i]);
}

static char large[5002];

static const struct attempt first_uploads[] = {
	{ "GET", "/v1/openapi.json", "", NULL, "", NULL, 200, false },
	{ "GET", "/healthz", "", NULL, "", NULL, 200, false },
	{ "GET", "/readyz", "", NULL, "", NULL, 200, false },
	{ "GET", "/v1/campaigns", "", "A", "", NULL, 200, false },
	{ "GET", "/v1/campaigns", "", NULL, "", NULL, 401, false },
	{ "GET", "/v1/campaigns", "", "A", "Host: b\r\n", NULL, 400, false },
	{ "POST", "/v1/campaigns", "", "A", "", NULL, 405, false },
	{ "PUT", CHECKPOINT, "", "A", META, "one", 201, false },
	{ "PUT", CHECKPOINT, "", "A", META, "two", 429, true },
	{ "PUT", CHECKPOINT, "", "A", META, "two", 201, false },
	{ "PUT", CHECKPOINT, "", NULL, META, "x", 401, false },
	{ "PUT", CHECKPOINT, "", "A", META EVIL, "x", 403, false },
	{ "PUT", CHECKPOINT, "", "B", META, "x", 403, false },
	{ "PUT", CHECKPOINT, "?keep=x", "A", META, "x", 400, false },
	{ "PUT", CHECKPOINT, "", "A", META "If-Match: \"1-0011223344556677\"\r\n", "x", 409, false },
	{ "PUT", CHECKPOINT, "", "A", META "If-None-Match: *\r\n", "x", 412, false },
	{ "PUT", CHECKPOINT, "", "A", META, large, 413, false },
	{ "PUT", CHECKPOINT, "", "A", "", "x", 422, false },
	{ "PUT", "/v1/campaigns/{id}/checkpoint", "", "A", META, "x", 201, false },
};

static const struct attempt reading[] = {
	{ "GET", CAMPAIGN, "", "A", "", NULL, 200, false },
	{ "GET", CAMPAIGN, "", NULL, "", NULL, 401, false },
	{ "GET", CAMPAIGN, "", "B", "", NULL, 404, false },
	{ "GET", CAMPAIGN, "", "A", "", "x", 400, false },
	{ "GET", CHECKPOINT, "", "A", "", NULL, 200, false },
	{ "GET", CHECKPOINT, "", "A", "Range: bytes=0-0\r\n", NULL, 206, false },
	{ "GET", CHECKPOINT, "", "A", "If-None-Match: *\r\n", NULL, 304, false },
	{ "GET", CHECKPOINT, "?version=x", "A", "", NULL, 400, false },
	{ "GET", CHECKPOINT, "", NULL, "", NULL, 401, false },
	{ "GET", CHECKPOINT, "?version=99", "A", "", NULL, 404, false },
	{ "GET", CHECKPOINT, "", "A", "Range: bytes=9-\r\n", NULL, 416, false },
	{ "POST", "/v1/me/code", "", NULL, "", NULL, 401, false },
	{ "POST", "/v1/me/code", "", "A", EVIL, NULL, 403, false },
	{ "POST", "/v1/me/code", "", "B", "", NULL, 404, false },
};

static const struct attempt changing[] = {
	{ "POST", CAMPAIGN "/restore", "?version=1", "A", "", NULL, 201, false },
	{ "POST", CAMPAIGN "/restore", "?version=4", "A", "", NULL, 200, false },
	{ "POST", CAMPAIGN "/restore", "", "A", "", NULL, 400, false },
	{ "POST", CAMPAIGN "/restore", "?version=1", NULL, "", NULL, 401, false },
	{ "POST", CAMPAIGN "/restore", "?version=1", "A", EVIL, NULL, 403, false },
	{ "POST", CAMPAIGN "/restore", "?version=99", "A", "", NULL, 404, false },
	{ "POST", CAMPAIGN "/restore", "?version=1", "A", "", "x", 413, false },
	{ "PUT", MEMBER, "", "A", "", NULL, 204, false },
	{ "PUT", MEMBER, "", NULL, "", NULL, 401, false },
	{ "PUT", MEMBER, "", "A", EVIL, NULL, 403, false },
	{ "PUT", MEMBER, "", "B", "", NULL, 404, false },
	{ "DELETE", MEMBER, "", "A", "", NULL, 204, false },
	{ "DELETE", MEMBER, "", NULL, "", NULL, 401, false },
	{ "DELETE", MEMBER, "", "A", EVIL, NULL, 403, false },
	{ "DELETE", MEMBER, "", "A", "", NULL, 404, false },
	{ "PUT", CHECKPOINT, "", "A", "Coop-Meta: {\"players\":[\"00000000000000a1\",\"00000000000000a2\"]}\r\n", "y",
	  201, false },
	{ "PUT", MEMBER, "", "A", "", NULL, 409, false },
	{ "DELETE", CAMPAIGN, "", NULL, "", NULL, 401, false },
	{ "DELETE", CAMPAIGN, "", "A", EVIL, NULL, 403, false },
	{ "DELETE", CAMPAIGN, "", "B", "", NULL, 404, false },
	{ "DELETE", CAMPAIGN, "", "A", "", NULL, 204, false },
};

static void put_and_note(const char *campaign, const char *fields, size_t len, int status)
{
	server_advance(s, 10000);
	ANSWER r = rest_put(s, "Q", campaign, "", fields, large, len);
	cr_expect_eq(r.status, status, "%d %s", r.status, r.body);
	note("PUT", CHECKPOINT, &r);
}

static void fill_up(void)
{
	put_and_note("00000000000000b1", META, 4000, 201);
	put_and_note("00000000000000b2", META, 4000, 507); /* bytes */
	put_and_note("00000000000000b2", META, 100, 201);
	put_and_note("00000000000000b3", META, 100, 507); /* campaigns */
	ANSWER id = rest_put(s, "Q", "x", "", META, "x", 1);
	note("PUT", CHECKPOINT, &id);
	ANSWER member = rest_ask(s, "A", "DELETE", "/v1/campaigns/" ONE "/members/x", "", NULL, 0);
	note("DELETE", MEMBER, &member);
}

/* Deleted while it is stored. */
static void delete_meanwhile(void)
{
	char   head[700], all[2000];
	size_t len = rest_head(head, sizeof(head), "Q", "PUT", "/v1/campaigns/00000000000000b2/checkpoint",
	                       META "Content-Length: 100\r\nExpect: 100-continue\r\n");
	int    fd  = dial_tcp(s->http_port, 0);

	server_advance(s, 10000);
	cr_assert(dial_send(fd, head, len, DIAL_PATIENCE_MS));
	/* 100 Continue says that it was begun. */
	cr_assert_gt(dial_read(fd, all, 25, real_now_ms() + DIAL_PATIENCE_MS), 0);
	ANSWER deleted = rest_ask(s, "Q", "DELETE", "/v1/campaigns/00000000000000b2", "", NULL, 0);
	cr_assert_eq(deleted.status, 204);
	cr_assert(dial_send(fd, large, 100, DIAL_PATIENCE_MS));
	struct http_result r   = { .head = calloc(1, 1), .body = calloc(1, sizeof(all)) };
	size_t             got = 0;
	for (ssize_t n = 1; n > 0 && got<sizeof(all) - 1; got += n> 0 ? (size_t)n : 0)
		n = dial_read(fd, all + got, sizeof(all) - 1 - got, real_now_ms() + DIAL_PATIENCE_MS);
	close(fd);
	all[got]   = '\0';
	char *line = strstr(all, "HTTP/1.1 410"), *body = strchr(all, '{');
	cr_assert(line && body, "%s", all);
	r.status   = 410;
	r.body_len = (size_t)snprintf(r.body, sizeof(all), "%s", body);
	note("PUT", CHECKPOINT, &r);
	http_result_free(&r);
}

static void damage(void)
{
	char path[300], sha256[80];

	server_advance(s, 10000);
	ANSWER put = rest_put(s, "D", "00000000000000d1", "", META, "damaged", 7);
	rest_text(&put, "sha256", sha256, sizeof(sha256));
	snprintf(path, sizeof(path), "%s/blobs/%.2s/%s", s->data, sha256, sha256 + 2);
	cr_assert_eq(unlink(path), 0);
	ANSWER get = rest_get(s, "D", "/v1/campaigns/00000000000000d1/checkpoint");
	note("GET", CHECKPOINT, &get);
}

/* A host has a code, and gets another. */
static void change_code(void)
{
	uint32_t          code;
	struct ws_client *host = host_open(s->tunnel_port, "H", &code);

	ANSWER r = rest_ask(s, "H", "POST", "/v1/me/code", "", NULL, 0);
	cr_expect_eq(r.status, 200, "%s", r.body);
	cr_expect_neq(rest_int(&r, "code"), (int64_t)code);
	note("POST", "/v1/me/code", &r);
	/* As often as he may, and once more. */
	for (int i = 1; i < 5; i++) {
		ANSWER again = rest_ask(s, "H", "POST", "/v1/me/code", "", NULL, 0);
		cr_expect_eq(again.status, 200, "%s", again.body);
	}
	ANSWER more = rest_ask(s, "H", "POST", "/v1/me/code", "", NULL, 0);
	rest_expect(&more, 429, "rate");
	note("POST", "/v1/me/code", &more);
	ws_client_free(host);

	host = host_open(s->tunnel_port, "H", &code);
	server_advance(s, 3600000);
	ANSWER later = rest_ask(s, "H", "POST", "/v1/me/code", "", NULL, 0);
	cr_expect_eq(later.status, 200, "%s", later.body);
	ws_client_free(host);
}

/* Said by net/ about transfers, whose limits do not count for this machine's own clients. */
static bool is_of_transfers(const char *code)
{
	return strcmp(code, "rate") == 0;
}

static void expect_seen(const char *method, const char *path, json_t *responses)
{
	const char *status;
	json_t     *response, *code;
	size_t      i;
	char        line[200], upper[10];

	for (i = 0; method[i] && i < sizeof(upper) - 1; i++)
		upper[i] = (char)(method[i] & ~0x20);
	upper[i] = '\0';
	json_object_foreach(responses, status, response)
	{
		json_t *codes = json_object_get(response, "x-codes");

		snprintf(line, sizeof(line), "%s %s %s", upper, path, status);
		if (json_array_size(codes) == 0 && strcmp(line, "GET /readyz 503") != 0)
			cr_expect_not_null(json_object_get(seen, line), "%s is described and did not happen", line);
		json_array_foreach(codes, i, code)
		{
			const char *word = json_string_value(code);

			if (is_in(word, not_here, COUNT_OF(not_here)) ||
			    (is_of_transfers(word) && strcmp(path, MEMBER) != 0))
				continue;
			snprintf(line, sizeof(line), "%s %s %s %s", upper, path, status, word);
			cr_expect_not_null(json_object_get(seen, line), "%s is described and did not happen", line);
		}
	}
}

Test(rest_openapi, what_happens_is_described_and_what_is_described_happens)
{
	const char *path, *method;
	json_t     *item, *op;

	memset(large, 'x', sizeof(large) - 1);
	attempt_all(first_uploads, COUNT_OF(first_uploads));
	attempt_all(reading, COUNT_OF(reading));
	attempt_all(changing, COUNT_OF(changing));
	fill_up();
	delete_meanwhile();
	damage();
	change_code();
	json_object_foreach(json_object_get(doc, "paths"), path, item)
	{
		json_object_foreach(item, method, op)
		{
			expect_seen(method, path, json_object_get(op, "responses"));
		}
	}
}
