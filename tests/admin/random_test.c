/*
 * Whatever is asked of whichever route, by however senseless an operator: the server answers, as its description says, and
 * goes on. The sanitizers watch.
 */
#include "base/auto.h"
#include "support/admin_client.h"
#include "support/admin_openapi.h"
#include "support/admin_routes.h"
#include "support/dice.h"
#include "support/schema.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER AUTO(rest_freep) struct http_result
#define ROUNDS 12
#define BYTES  1200

static const char *const words[] = {
	"",
	"0",
	"1",
	"-1",
	"123456",
	"64101",
	"00112233445566aa",
	"00112233445566AA",
	"~",
	"~c3a4",
	"~xyz",
	"a",
	"%00",
	"%41",
	"9223372036854775807",
	"9223372036854775808",
	"127.0.0.1",
	"10.0.0.0%2F8",
	"..",
	"a.b",
	"x%2",
	"%ff",
	"2026-12-01",
	"viewer",
};

static const char *const values[] = {
	"0",
	"1",
	"-1",
	"null",
	"true",
	"\"\"",
	"\"00112233445566aa\"",
	"\"127.0.0.1\"",
	"\"10.0.0.0/33\"",
	"\"\\u0000\"",
	"1e999",
	"1.5",
	"[]",
	"{}",
	"[[[[[[[[[[]]]]]]]]]]",
	"\"\xf0\x9f\x9a\x80\"",
	"\"player\"",
	"9223372036854775807",
	"-9223372036854775808",
	"\"~\"",
	"\"operator\"",
	"123456",
	"\"\\u202e\"",
	"2",
};

static const char *any(const char *const *list, size_t count)
{
	return list[dice_below((uint32_t)count)];
}

static void put(char *out, const char *text)
{
	size_t used = strlen(out), len = strlen(text);

	if (used + len < BYTES) {
		memcpy(out + used, text, len + 1);
	}
}

/* Each name of the path by some word, now and then cut somewhere. */
static void make_path(char out[BYTES], const struct api_route *r)
{
	char piece[200];

	out[0] = '\0';
	for (const char *at = r->path; *at;) {
		size_t len = *at == '{' ? strcspn(at, "}") + 1 : strcspn(at, "{");

		snprintf(piece, sizeof(piece), "%.*s", (int)len, at);
		put(out, *at == '{' ? any(words, COUNT_OF(words)) : piece);
		at += len;
	}
	put(out, "?");
	for (const char *at = r->query ? r->query : ""; *at;) {
		size_t len = strcspn(at, " ");

		if (dice_below(3) == 0) {
			snprintf(piece, sizeof(piece), "%.*s=", (int)len, at);
			put(out, piece);
			put(out, any(words, COUNT_OF(words)));
			put(out, "&");
		}
		at += len + strspn(at + len, " ");
	}
	if (dice_below(20) == 0)
		put(out, "%&=&dry_run=");
}

/* An object with members that the route knows, and any values. */
static void make_body(char out[BYTES], const json_t *doc, const struct api_route *r, const char *path)
{
	json_t     *op     = admin_operation(doc, r->method, path);
	json_t     *body   = json_object_get(json_object_get(op, "requestBody"), "content");
	json_t     *schema = json_object_get(json_object_get(body, "application/json"), "schema");
	const char *ref    = json_string_value(json_object_get(schema, "$ref"));
	const char *name;
	json_t     *of;

	strcpy(out, "{");
	json_object_foreach(json_object_get(ref ? schema_follow(doc, ref) : schema, "properties"), name, of)
	{
		if (dice_below(4) == 0)
			continue;
		put(out, strlen(out) > 1 ? ",\"" : "\"");
		put(out, name);
		put(out, "\":");
		put(out, any(values, COUNT_OF(values)));
	}
	put(out, "}");
	if (dice_below(10) == 0)
		out[dice_below((uint32_t)strlen(out))] = (char)dice_below(256);
}

/* What would end the server, or take all of the test's time, is only tried. */
static bool is_harmless(const struct api_route *r)
{
	static const char *const others[] = { "server.drain", "server.handover", "backup.make" };

	for (size_t i = 0; r->action && i < COUNT_OF(others); i++) {
		if (strcmp(r->action, others[i]) == 0)
			return false;
	}
	return true;
}

static void ask(const struct server *s, const json_t *doc, const struct api_route *r)
{
	char path[BYTES], body[BYTES];

	make_path(path, r);
	make_body(body, doc, r, path);
	if (r->action && (!is_harmless(r) || dice_below(4) == 0))
		put(path, "&dry_run=true");
	ANSWER got = admin_ask(s, r->method, path, r->body == API_NO_BODY && dice_below(8) ? NULL : body);
	cr_expect(got.status >= 200 && got.status < 500 &&
	                  (r->role == API_ANYBODY || (got.status != 401 && got.status != 403)),
	          "%s %s %s: %d %s", r->method, path, body, got.status, got.body);
}

Test(admin_random, nothing_that_is_asked_breaks_the_server)
{
	static const char *const sets[] = { "rooms.relay=yes", NULL };
	struct server           *s      = server_start(sets);
	struct api              *api    = admin_routes();
	const struct api_route  *r;

	dice_seed(8);
	for (int round = 0; round < ROUNDS; round++) {
		for (size_t i = 0; (r = api_route_at(api, i)); i++)
			ask(s, admin_openapi(s), r);
	}
	ANSWER status = admin_get(s, "/admin/v1/status");
	admin_expect(&status, 200, NULL);
	api_free(api);
	server_finish(s);
}
