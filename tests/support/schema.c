#include "support/schema.h"

#include "base/auto.h"

#include <criterion/criterion.h>
#include <regex.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define DEPTH_MAX 40

struct check {
	char         *why;
	size_t        cap;
	const json_t *doc;
	int           depth;
};

/* They say nothing that could be wrong. */
static const char *const notes[] = { "description", "title",    "examples",   "example",   "format",   "default",
	                             "readOnly",    "required", "properties", "minLength", "maxLength" };

static bool fits(struct check *c, const json_t *schema, const json_t *value, const char *at);

static bool mismatch(struct check *c, const char *at, const char *what)
{
	if (!c->why[0])
		snprintf(c->why, c->cap, "%s: %s", *at ? at : "the whole", what);
	return false;
}

json_t *schema_follow(const json_t *doc, const char *ref)
{
	char          copy[200];
	char         *rest = copy;
	const json_t *at   = doc;

	if (strncmp(ref, "#/", 2) != 0 || strlen(ref) >= sizeof(copy))
		return NULL;
	strcpy(copy, ref + 2);
	for (char *step = strsep(&rest, "/"); at && step; step = strsep(&rest, "/"))
		at = json_object_get(at, step);
	return (json_t *)(uintptr_t)at;
}

static const char *type_name(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return "object";
	case JSON_ARRAY:
		return "array";
	case JSON_STRING:
		return "string";
	case JSON_INTEGER:
		return "integer";
	case JSON_REAL:
		return "number";
	case JSON_NULL:
		return "null";
	default:
		return "boolean";
	}
}

static bool is_type(const char *want, const char *is)
{
	return strcmp(want, is) == 0 || (strcmp(want, "number") == 0 && strcmp(is, "integer") == 0);
}

static bool fits_type(const json_t *types, const json_t *value)
{
	const char *is = type_name(value);
	size_t      i;
	json_t     *type;

	if (json_is_string(types))
		return is_type(json_string_value(types), is);
	json_array_foreach(types, i, type)
	{
		if (is_type(json_string_value(type), is))
			return true;
	}
	return false;
}

static bool fits_enum(const json_t *values, const json_t *value)
{
	size_t  i;
	json_t *one;

	json_array_foreach(values, i, one)
	{
		if (json_equal(one, value))
			return true;
	}
	return false;
}

static bool fits_pattern(const char *pattern, const char *text)
{
	regex_t r;
	bool    is_match;

	cr_assert_eq(regcomp(&r, pattern, REG_EXTENDED | REG_NOSUB), 0, "%s is no pattern", pattern);
	is_match = regexec(&r, text, 0, NULL, 0) == 0;
	regfree(&r);
	return is_match;
}

static bool fits_members(struct check *c, const json_t *schema, const json_t *value, const char *at)
{
	json_t *known = json_object_get(schema, "properties"), *more = json_object_get(schema, "additionalProperties");
	const char *name;
	json_t     *member, *one;
	size_t      i;
	char        where[300];

	json_array_foreach(json_object_get(schema, "required"), i, one)
	{
		snprintf(where, sizeof(where), "%s is missing", json_string_value(one));
		if (!json_object_get(value, json_string_value(one)))
			return mismatch(c, at, where);
	}
	json_object_foreach((json_t *)(uintptr_t)value, name, member)
	{
		json_t *of = json_object_get(known, name);

		snprintf(where, sizeof(where), "%s.%s", at, name);
		if (!of && json_is_false(more))
			return mismatch(c, where, "is not described");
		if (!of && json_is_object(more))
			of = more;
		if (of && !fits(c, of, member, where))
			return false;
	}
	return true;
}

static bool fits_items(struct check *c, const json_t *schema, const json_t *value, const char *at)
{
	size_t  i;
	json_t *item;
	char    where[300];

	json_array_foreach(value, i, item)
	{
		snprintf(where, sizeof(where), "%s.%zu", at, i);
		if (!fits(c, schema, item, where))
			return false;
	}
	return true;
}

/* How many of them it fits. */
static size_t fits_of(struct check *c, const json_t *schemas, const json_t *value, const char *at)
{
	size_t  i, count = 0;
	json_t *one;

	json_array_foreach(schemas, i, one)
	{
		char         why[300] = "";
		struct check trial    = *c;

		trial.why = why;
		trial.cap = sizeof(why);
		count += fits(&trial, one, value, at);
	}
	return count;
}

static bool is_note(const char *keyword)
{
	for (size_t i = 0; i < COUNT_OF(notes); i++) {
		if (strcmp(notes[i], keyword) == 0)
			return true;
	}
	return strncmp(keyword, "x-", 2) == 0;
}

static bool fits_number(const char *keyword, const json_t *limit, const json_t *value)
{
	if (!json_is_number(value))
		return true;
	if (json_is_integer(value) && json_is_integer(limit))
		return strcmp(keyword, "minimum") == 0 ? json_integer_value(value) >= json_integer_value(limit)
		                                       : json_integer_value(value) <= json_integer_value(limit);
	return strcmp(keyword, "minimum") == 0 ? json_number_value(value) >= json_number_value(limit)
	                                       : json_number_value(value) <= json_number_value(limit);
}

static bool fits_keyword(struct check *c, const char *keyword, const json_t *says, const json_t *value, const char *at)
{
	if (is_note(keyword) || strcmp(keyword, "additionalProperties") == 0)
		return true;
	if (strcmp(keyword, "$ref") == 0) {
		const json_t *to = schema_follow(c->doc, json_string_value(says));

		return to ? fits(c, to, value, at) : mismatch(c, at, "$ref leads nowhere");
	}
	if (strcmp(keyword, "type") == 0)
		return fits_type(says, value) || mismatch(c, at, "is of another type");
	if (strcmp(keyword, "enum") == 0)
		return fits_enum(says, value) || mismatch(c, at, "is none of the values");
	if (strcmp(keyword, "const") == 0)
		return json_equal(says, value) || mismatch(c, at, "is another value");
	if (strcmp(keyword, "pattern") == 0)
		return !json_is_string(value) || fits_pattern(json_string_value(says), json_string_value(value)) ||
		       mismatch(c, at, "does not match the pattern");
	if (strcmp(keyword, "minimum") == 0 || strcmp(keyword, "maximum") == 0)
		return fits_number(keyword, says, value) || mismatch(c, at, "is out of its bounds");
	if (strcmp(keyword, "items") == 0)
		return !json_is_array(value) || fits_items(c, says, value, at);
	if (strcmp(keyword, "anyOf") == 0)
		return fits_of(c, says, value, at) > 0 || mismatch(c, at, "is none of anyOf");
	if (strcmp(keyword, "oneOf") == 0)
		return fits_of(c, says, value, at) == 1 || mismatch(c, at, "is not one of oneOf");
	if (strcmp(keyword, "allOf") == 0)
		return fits_of(c, says, value, at) == json_array_size(says) || mismatch(c, at, "is not all of allOf");
	return mismatch(c, keyword, "is a keyword that tests/support/schema.c does not know");
}

static bool fits(struct check *c, const json_t *schema, const json_t *value, const char *at)
{
	const char *keyword;
	json_t     *says;
	bool        is_fit = true;

	if (json_is_true(schema))
		return true;
	if (!json_is_object(schema))
		return mismatch(c, at, "has no schema");
	if (++c->depth > DEPTH_MAX)
		return mismatch(c, at, "the schemas lead in a circle");
	json_object_foreach((json_t *)(uintptr_t)schema, keyword, says)
	{
		if (!fits_keyword(c, keyword, says, value, at)) {
			is_fit = false;
			break;
		}
	}
	if (is_fit && json_is_object(value))
		is_fit = fits_members(c, schema, value, at);
	c->depth--;
	return is_fit;
}

bool schema_fits(char *why, size_t cap, const json_t *doc, const json_t *schema, const json_t *value)
{
	struct check c = { .why = why, .cap = cap, .doc = doc };

	why[0] = '\0';
	return fits(&c, schema, value, "");
}
