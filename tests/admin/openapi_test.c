/*
 * The description of the operator's API against the routes of all parts, both ways. What is answered is held against it
 * wherever a test asks (support/admin_openapi.h).
 */
#include "admin/admin_serve.h"
#include "base/auto.h"
#include "server_admin.h"
#include "support/schema.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static struct conf conf;
static struct api *api;
static json_t     *doc;

static void start(void)
{
	static struct server_admin             admin;
	static const struct server_admin_parts none;
	char                                  *text;

	limits_default(&conf.limits);
	cr_assert_eq(api_new(&api, NULL, NULL, &conf), ERR_OK);
	admin.api = api;
	cr_assert_eq(server_admin_routes(&admin, &none), ERR_OK);
	cr_assert_eq(admin_openapi_text(&text), ERR_OK, "two pieces describe the same, or one is no JSON");
	doc = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	cr_assert(json_is_object(doc));
	free(text);
}

static void stop(void)
{
	json_decref(doc);
	api_free(api);
}

TestSuite(admin_openapi, .init = start, .fini = stop);

static json_t *operation(const char *method, const char *path)
{
	char lower[10] = "";

	for (size_t i = 0; method[i] && i < sizeof(lower) - 1; i++)
		lower[i] = (char)(method[i] | 0x20);
	return json_object_get(json_object_get(json_object_get(doc, "paths"), path), lower);
}

static json_t *follow(json_t *at)
{
	const char *ref = json_string_value(json_object_get(at, "$ref"));

	return ref ? schema_follow(doc, ref) : at;
}

/* Whether the operation, or its path, has this parameter in the query or the path. */
static bool has_parameter(json_t *op, json_t *item, const char *in, const char *name, size_t name_len)
{
	json_t *lists[] = { json_object_get(op, "parameters"), json_object_get(item, "parameters") };
	size_t  i;
	json_t *one;

	for (size_t l = 0; l < COUNT_OF(lists); l++) {
		json_array_foreach(lists[l], i, one)
		{
			const char *is = json_string_value(json_object_get(follow(one), "name"));

			if (strcmp(json_string_value(json_object_get(follow(one), "in")), in) == 0 &&
			    strlen(is) == name_len && memcmp(is, name, name_len) == 0)
				return true;
		}
	}
	return false;
}

static size_t count_parameters(json_t *op, json_t *item)
{
	return json_array_size(json_object_get(op, "parameters")) +
	       json_array_size(json_object_get(item, "parameters"));
}

/* --- From the routes to the document --- */

static size_t expect_query(const struct api_route *r, json_t *op, json_t *item)
{
	size_t count = 0;

	for (const char *at = r->query ? r->query : ""; *at; count++) {
		size_t len = strcspn(at, " ");

		cr_expect(has_parameter(op, item, "query", at, len), "%s %s: the parameter %.*s is not described",
		          r->method, r->path, (int)len, at);
		at += len;
		at += strspn(at, " ");
	}
	if (r->action) {
		cr_expect(has_parameter(op, item, "query", "dry_run", 7), "%s %s: dry_run is not described", r->method,
		          r->path);
		count++;
	}
	return count;
}

static size_t expect_names(const struct api_route *r, json_t *op, json_t *item)
{
	size_t count = 0;

	for (const char *at = strchr(r->path, '{'); at; at = strchr(at, '{'), count++) {
		size_t len = strcspn(++at, "}");

		cr_expect(has_parameter(op, item, "path", at, len), "%s %s: {%.*s} is not described", r->method,
		          r->path, (int)len, at);
	}
	return count;
}

static void expect_body(const struct api_route *r, json_t *op)
{
	json_t *content = json_object_get(json_object_get(op, "requestBody"), "content");
	json_t *schema  = json_object_get(json_object_get(content, "application/json"), "schema");

	cr_expect_eq(content != NULL, r->body != API_NO_BODY, "%s %s: a body that only one of both knows", r->method,
	             r->path);
	cr_expect_eq(schema != NULL, r->body == API_OBJECT, "%s %s: a body of another type", r->method, r->path);
	if (schema)
		cr_expect(json_is_false(json_object_get(follow(schema), "additionalProperties")),
		          "%s %s: unknown members are refused, and that is not described", r->method, r->path);
}

static void expect_route(const struct api_route *r)
{
	json_t     *op     = operation(r->method, r->path);
	json_t     *item   = json_object_get(json_object_get(doc, "paths"), r->path);
	const char *role   = json_string_value(json_object_get(op, "x-role"));
	json_t     *action = json_object_get(op, "x-action");
	size_t      count;

	cr_expect_not_null(op, "%s %s is not described", r->method, r->path);
	if (!op)
		return;
	cr_expect(role && strcmp(role, api_role_name(r->role)) == 0, "%s %s: another role", r->method, r->path);
	if (r->action)
		cr_expect(action && json_is_string(action) && strcmp(json_string_value(action), r->action) == 0,
		          "%s %s: another action", r->method, r->path);
	else
		cr_expect(json_is_null(action), "%s %s: x-action is not null", r->method, r->path);
	count = expect_query(r, op, item) + expect_names(r, op, item);
	cr_expect_eq(count, count_parameters(op, item), "%s %s: there are parameters that no one takes", r->method,
	             r->path);
	expect_body(r, op);
}

/* The page's files are for browsers. */
static bool is_for_programs(const struct api_route *r)
{
	return strncmp(r->path, "/admin/", strlen("/admin/")) == 0 || r->role != API_ANYBODY;
}

Test(admin_openapi, describes_every_route)
{
	const struct api_route *r;

	for (size_t i = 0; (r = api_route_at(api, i)); i++) {
		if (is_for_programs(r))
			expect_route(r);
	}
}

/* --- From the document to the routes --- */

static bool has_route(const char *method, const char *path)
{
	const struct api_route *r;

	for (size_t i = 0; (r = api_route_at(api, i)); i++) {
		if (strcmp(r->path, path) == 0 && strcasecmp(r->method, method) == 0)
			return true;
	}
	return false;
}

Test(admin_openapi, describes_nothing_else)
{
	json_t     *ids = json_object();
	const char *path, *method;
	json_t     *item, *op;

	json_object_foreach(json_object_get(doc, "paths"), path, item)
	{
		json_object_foreach(item, method, op)
		{
			const char *id = json_string_value(json_object_get(op, "operationId"));

			if (strcmp(method, "parameters") == 0)
				continue;
			cr_expect(has_route(method, path), "%s %s is described and is no route", method, path);
			cr_expect(json_is_string(json_object_get(op, "summary")), "%s %s has no summary", method, path);
			cr_expect(id && !json_object_get(ids, id), "%s %s has no operationId of its own", method, path);
			json_object_set_new(ids, id ? id : "", json_true());
		}
	}
	json_decref(ids);
}

Test(admin_openapi, names_every_failure_in_one_way)
{
	const char *path, *method;
	json_t     *item, *op;

	json_object_foreach(json_object_get(doc, "paths"), path, item)
	{
		json_object_foreach(item, method, op)
		{
			json_t     *other = json_object_get(json_object_get(op, "responses"), "default");
			const char *ref   = json_string_value(json_object_get(other, "$ref"));

			if (strcmp(method, "parameters") != 0)
				cr_expect(ref && strcmp(ref, "#/components/responses/Error") == 0, "%s %s", method,
				          path);
		}
	}
}

/* --- The document itself --- */

static size_t expect_references(json_t *at)
{
	size_t      count = 0, i;
	const char *key;
	json_t     *value;

	json_array_foreach(at, i, value) count += expect_references(value);
	json_object_foreach(at, key, value)
	{
		count += expect_references(value);
		if (strcmp(key, "$ref") != 0)
			continue;
		count++;
		cr_expect_not_null(schema_follow(doc, json_string_value(value)), "%s leads nowhere",
		                   json_string_value(value));
	}
	return count;
}

Test(admin_openapi, leads_nowhere_else)
{
	cr_expect_gt(expect_references(doc), 10);
	cr_expect_str_eq(json_string_value(json_object_get(doc, "openapi")), "3.1.0");
}

/* An object that has members, and says nothing of others, would let anything through. */
static void expect_closed(const char *name, json_t *at)
{
	size_t      i;
	const char *key;
	json_t     *value;

	json_array_foreach(at, i, value) expect_closed(name, value);
	if (json_is_object(json_object_get(at, "properties")))
		cr_expect_not_null(json_object_get(at, "additionalProperties"), "%s has an object that is open", name);
	json_object_foreach(at, key, value) expect_closed(name, value);
}

Test(admin_openapi, objects_say_what_else_may_be_in_them)
{
	const char *name;
	json_t     *schema;

	json_object_foreach(json_object_get(json_object_get(doc, "components"), "schemas"), name, schema)
		expect_closed(name, schema);
}

/* --- The checker that the other tests rely on --- */

static bool fits(const char *schema, const char *value)
{
	json_t *s = json_loads(schema, 0, NULL), *v = json_loads(value, JSON_DECODE_ANY, NULL);
	char    why[200];
	bool    is_fit;

	cr_assert(s && v, "%s %s", schema, value);
	is_fit = schema_fits(why, sizeof(why), doc, s, v);
	cr_expect_eq(is_fit, why[0] == '\0', "%s", why);
	json_decref(s);
	json_decref(v);
	return is_fit;
}

Test(admin_openapi, the_checker_sees_what_does_not_fit)
{
	static const struct {
		const char *schema, *good, *bad;
	} rows[] = {
		{ "{\"type\":\"string\"}", "\"a\"", "1" },
		{ "{\"type\":[\"integer\",\"null\"]}", "null", "1.5" },
		{ "{\"type\":\"number\"}", "1", "\"1\"" },
		{ "{\"type\":\"integer\",\"minimum\":0,\"maximum\":3}", "0", "-1" },
		{ "{\"type\":\"integer\",\"minimum\":0,\"maximum\":3}", "3", "4" },
		{ "{\"enum\":[\"a\",\"b\"]}", "\"b\"", "\"c\"" },
		{ "{\"const\":true}", "true", "false" },
		{ "{\"type\":\"string\",\"pattern\":\"^[0-9]+$\"}", "\"12\"", "\"1x\"" },
		{ "{\"type\":\"object\",\"required\":[\"a\"]}", "{\"a\":1}", "{\"b\":1}" },
		{ "{\"properties\":{\"a\":{\"type\":\"null\"}},\"additionalProperties\":false}", "{}", "{\"b\":1}" },
		{ "{\"properties\":{\"a\":{\"type\":\"null\"}},\"additionalProperties\":false}", "{\"a\":null}",
		  "{\"a\":1}" },
		{ "{\"type\":\"object\",\"additionalProperties\":{\"type\":\"boolean\"}}", "{\"x\":true}",
		  "{\"x\":1}" },
		{ "{\"type\":\"array\",\"items\":{\"type\":\"integer\"}}", "[1,2]", "[1,\"2\"]" },
		{ "{\"anyOf\":[{\"type\":\"null\"},{\"$ref\":\"#/components/schemas/Done\"}]}", "{\"ok\":true}",
		  "{\"ok\":1}" },
		{ "{\"oneOf\":[{\"type\":\"integer\"},{\"type\":\"number\"}]}", "1.5", "1" },
		{ "{\"$ref\":\"#/components/schemas/Done\"}", "{\"ok\":true,\"dry_run\":true}",
		  "{\"ok\":true,\"more\":1}" },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		cr_expect(fits(rows[i].schema, rows[i].good), "%s %s", rows[i].schema, rows[i].good);
		cr_expect_not(fits(rows[i].schema, rows[i].bad), "%s %s", rows[i].schema, rows[i].bad);
	}
	cr_expect_not(fits("{\"unheardOf\":1}", "1"), "a keyword that nobody checks");
	cr_expect_not(fits("{\"$ref\":\"#/nowhere\"}", "1"));
}
