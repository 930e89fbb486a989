#include "support/admin_openapi.h"

#include "support/admin_client.h"
#include "support/schema.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define WHY_BYTES 400

static json_t *described; /* of the first server that was asked; all of them are the same program */

json_t *admin_openapi(const struct server *s)
{
	struct http_result r;

	if (described)
		return described;
	r = http_get_unix(s->admin_socket, "/admin/v1/openapi.json");
	if (r.status == 200)
		described = json_loadb(r.body, r.body_len, JSON_REJECT_DUPLICATES, NULL);
	http_result_free(&r);
	return described;
}

/* How many parts of the path stand in it as they are; -1: it is another path. */
static int match(const char *pattern, const char *path)
{
	int same = 0;

	while (*pattern && *path && *path != '?') {
		size_t want = strcspn(pattern, "/"), has = strcspn(path, "/?");

		if (want == has && memcmp(pattern, path, want) == 0)
			same++;
		else if (pattern[0] != '{' || has == 0)
			return -1;
		pattern += want;
		path += has;
		if (*pattern == '/' && *path == '/') {
			pattern++;
			path++;
		}
	}
	return *pattern == '\0' && (*path == '\0' || *path == '?') ? same : -1;
}

json_t *admin_operation(const json_t *doc, const char *method, const char *path)
{
	const char *pattern;
	json_t     *item, *found = NULL;
	char        lower[10] = "";
	int         best      = -1;

	for (size_t i = 0; method[i] && i < sizeof(lower) - 1; i++)
		lower[i] = (char)(method[i] | 0x20);
	json_object_foreach(json_object_get(doc, "paths"), pattern, item)
	{
		int same = match(pattern, path);

		if (same > best) {
			best  = same;
			found = item;
		}
	}
	return json_object_get(found, lower);
}

static json_t *response_of(const json_t *doc, const json_t *operation, int status)
{
	json_t *responses = json_object_get(operation, "responses");
	char    text[8];
	json_t *r;

	snprintf(text, sizeof(text), "%d", status);
	r = json_object_get(responses, text);
	if (!r && status >= 400)
		r = json_object_get(responses, "default");
	return json_object_get(r, "$ref") ? schema_follow(doc, json_string_value(json_object_get(r, "$ref"))) : r;
}

static void check_json(const json_t *doc, const json_t *schema, const char *what, const struct http_result *r)
{
	json_t *value = json_loadb(r->body, r->body_len, JSON_REJECT_DUPLICATES, NULL);
	char    why[WHY_BYTES];

	cr_expect_not_null(value, "%s: %d is no JSON: %s", what, r->status, r->body);
	if (value)
		cr_expect(schema_fits(why, sizeof(why), doc, schema, value), "%s: %d is not as described, %s\n%s", what,
		          r->status, why, r->body);
	json_decref(value);
}

void admin_check(const struct server *s, const char *method, const char *path, const struct http_result *r)
{
	json_t *doc       = r->status ? admin_openapi(s) : NULL;
	json_t *operation = doc ? admin_operation(doc, method, path) : NULL;
	json_t *response  = operation ? response_of(doc, operation, r->status) : NULL;
	json_t *content, *media;
	char    what[300], type[100];

	if (!operation)
		return;
	snprintf(what, sizeof(what), "%s %s", method, path);
	cr_expect_not_null(response, "%s: the status %d is not described", what, r->status);
	content = json_object_get(response, "content");
	if (!content)
		return;
	http_result_header(r, "Content-Type", type, sizeof(type));
	type[strcspn(type, ";")] = '\0';
	media                    = json_object_get(content, type);
	cr_expect_not_null(media, "%s: %d is %s, which is not described", what, r->status, type);
	if (media && strcmp(type, "application/json") == 0)
		check_json(doc, json_object_get(media, "schema"), what, r);
}
