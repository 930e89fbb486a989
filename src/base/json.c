/*
 * An object of jansson's, and whether anything that was to be put in got lost on the way.
 */
#include "base/json.h"

#include <jansson.h>
#include <stdlib.h>

struct json {
	json_t *root;
	bool    failed;
};

/* Takes root over; NULL is one that could not be made. */
static struct json *wrap(json_t *root)
{
	struct json *j = root ? calloc(1, sizeof(*j)) : NULL;

	if (!j) {
		json_decref(root);
		return NULL;
	}
	j->root = root;
	return j;
}

struct json *json_object_new(void)
{
	return wrap(json_object());
}

struct json *json_array_new(void)
{
	return wrap(json_array());
}

void json_free(struct json *j)
{
	if (!j)
		return;
	json_decref(j->root);
	free(j);
}

void json_freep(struct json **j)
{
	json_free(*j);
}

/* Takes value over; NULL is one that could not be made. */
static void put(struct json *j, const char *key, json_t *value)
{
	if (json_object_set_new(j->root, key, value) != 0)
		j->failed = true;
}

void json_put_text(struct json *j, const char *key, const char *value)
{
	put(j, key, json_string(value));
}

void json_put_int(struct json *j, const char *key, int64_t value)
{
	put(j, key, json_integer(value));
}

void json_put_bool(struct json *j, const char *key, bool value)
{
	put(j, key, json_boolean(value));
}

void json_put_null(struct json *j, const char *key)
{
	put(j, key, json_null());
}

/* The child's root for its new parent j, which learns what got lost on the way; NULL when all of it did. */
static json_t *adopt(struct json *j, struct json *child)
{
	json_t *root = child ? json_incref(child->root) : NULL;

	j->failed = j->failed || !child || child->failed;
	json_free(child);
	return root;
}

void json_put_json(struct json *j, const char *key, struct json *child)
{
	put(j, key, adopt(j, child));
}

/* Takes value over. */
static void add(struct json *array, json_t *value)
{
	if (json_array_append_new(array->root, value) != 0)
		array->failed = true;
}

void json_add_text(struct json *array, const char *value)
{
	add(array, json_string(value));
}

void json_add_json(struct json *array, struct json *child)
{
	add(array, adopt(array, child));
}

char *json_text(const struct json *j)
{
	return j->failed ? NULL : json_dumps(j->root, JSON_COMPACT);
}

/*
 * The parser calls itself for what lies inside, up to 2048 deep, on a thread whose stack is small: so the brackets are
 * counted first. Text that is no JSON may be counted wrongly, in which case the parser refuses it.
 */
static bool is_flat(const char *text, size_t len)
{
	size_t depth   = 0;
	bool   in_text = false;

	for (size_t i = 0; i < len; i++) {
		char c = text[i];

		if (in_text) {
			if (c == '\\')
				i++;
			in_text = c != '"';
		} else if (c == '"') {
			in_text = true;
		} else if (c == '{' || c == '[') {
			if (++depth > JSON_DEPTH_MAX)
				return false;
		} else if ((c == '}' || c == ']') && depth > 0) {
			depth--;
		}
	}
	return true;
}

enum err json_parse(struct json **out, const char *text, size_t len)
{
	json_error_t why;
	json_t      *root = is_flat(text, len) ? json_loadb(text, len, JSON_REJECT_DUPLICATES, &why) : NULL;
	struct json *j;

	if (!json_is_object(root)) {
		json_decref(root);
		return ERR_MALFORMED;
	}
	j = wrap(root);
	if (!j)
		return ERR_NOMEM;
	*out = j;
	return ERR_OK;
}

/* The member, when it is of this type. */
static enum err get(json_t **out, const struct json *j, const char *key, json_type type)
{
	json_t *value = json_object_get(j->root, key);

	if (!value || json_is_null(value))
		return ERR_NOT_FOUND;
	if (json_typeof(value) != type)
		return ERR_MALFORMED;
	*out = value;
	return ERR_OK;
}

enum err json_get_text(const char **out, const struct json *j, const char *key)
{
	json_t  *value;
	enum err e = get(&value, j, key, JSON_STRING);

	if (e == ERR_OK)
		*out = json_string_value(value);
	return e;
}

enum err json_get_int(int64_t *out, const struct json *j, const char *key)
{
	json_t  *value;
	enum err e = get(&value, j, key, JSON_INTEGER);

	if (e == ERR_OK)
		*out = json_integer_value(value);
	return e;
}

enum err json_get_array(size_t *count, const struct json *j, const char *key)
{
	json_t  *value;
	enum err e = get(&value, j, key, JSON_ARRAY);

	if (e == ERR_OK)
		*count = json_array_size(value);
	return e;
}

enum err json_get_array_text(const char **out, const struct json *j, const char *key, size_t at)
{
	json_t     *value;
	enum err    e    = get(&value, j, key, JSON_ARRAY);
	const char *text = e == ERR_OK ? json_string_value(json_array_get(value, at)) : NULL;

	if (e == ERR_OK && !text)
		return ERR_MALFORMED;
	if (text)
		*out = text;
	return e;
}
