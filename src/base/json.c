/*
 * An object of jansson's, and whether anything that was to be put in got lost on the way.
 */
#include "base/json.h"

#include <assert.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

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

void json_add_null(struct json *array)
{
	add(array, json_null());
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
static bool is_flat(const char *text, size_t len, size_t depth_max)
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
			if (++depth > depth_max)
				return false;
		} else if ((c == '}' || c == ']') && depth > 0) {
			depth--;
		}
	}
	return true;
}

/* flags are jansson's. */
static enum err parse(struct json **out, const char *text, size_t len, size_t depth_max, size_t flags)
{
	json_error_t why;
	json_t      *root = NULL;

	if (!is_flat(text, len, depth_max))
		return ERR_MALFORMED;
	root = json_loadb(text, len, flags, &why);
	if (!root && json_error_code(&why) == json_error_out_of_memory)
		return ERR_NOMEM;
	if (!json_is_object(root)) {
		json_decref(root);
		return ERR_MALFORMED;
	}

	struct json *j = wrap(root);

	if (!j)
		return ERR_NOMEM;
	*out = j;
	return ERR_OK;
}

enum err json_parse(struct json **out, const char *text, size_t len)
{
	return parse(out, text, len, JSON_DEPTH_MAX, JSON_REJECT_DUPLICATES);
}

enum err json_parse_lenient(struct json **out, const char *text, size_t len, size_t depth_max)
{
	assert(depth_max <= JSON_LENIENT_DEPTH_MAX);
	return len == 0 ? parse(out, "{}", 2, 1, 0) : parse(out, text, len, depth_max, JSON_ALLOW_NUL);
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

enum json_kind json_kind(const struct json *j, const char *key)
{
	static const enum json_kind kinds[] = {
		[JSON_OBJECT] = JSON_IS_OBJECT,   [JSON_ARRAY] = JSON_IS_ARRAY, [JSON_STRING] = JSON_IS_STRING,
		[JSON_INTEGER] = JSON_IS_INTEGER, [JSON_REAL] = JSON_IS_REAL,   [JSON_TRUE] = JSON_IS_BOOL,
		[JSON_FALSE] = JSON_IS_BOOL,      [JSON_NULL] = JSON_IS_NULL,
	};
	const json_t *value = json_object_get(j->root, key);

	return value ? kinds[json_typeof(value)] : JSON_IS_MISSING;
}

/* The member, which the caller knows to be of this kind. */
static const json_t *member(const struct json *j, const char *key, enum json_kind kind)
{
	assert(json_kind(j, key) == kind);
	(void)kind;
	return json_object_get(j->root, key);
}

bool json_member_bool(const struct json *j, const char *key)
{
	return json_is_true(member(j, key, JSON_IS_BOOL));
}

int64_t json_member_int(const struct json *j, const char *key)
{
	return json_integer_value(member(j, key, JSON_IS_INTEGER));
}

double json_member_real(const struct json *j, const char *key)
{
	return json_real_value(member(j, key, JSON_IS_REAL));
}

const char *json_member_string(size_t *len, const struct json *j, const char *key)
{
	const json_t *value = member(j, key, JSON_IS_STRING);

	*len = json_string_length(value);
	return json_string_value(value);
}

size_t json_member_size(const struct json *j, const char *key)
{
	const json_t *value = json_object_get(j->root, key);

	assert(json_is_array(value) || json_is_object(value));
	return json_is_array(value) ? json_array_size(value) : json_object_size(value);
}

char *json_member_text(const struct json *j, const char *key)
{
	const json_t *value = json_object_get(j->root, key);

	return value ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
}

struct json *json_member_object(const struct json *j, const char *key)
{
	json_t *value = json_object_get(j->root, key);

	return json_is_object(value) ? wrap(json_incref(value)) : NULL;
}

const char *json_odd_member(const struct json *j, const char *const *known)
{
	const char   *name;
	const json_t *value;

	json_object_foreach(j->root, name, value)
	{
		size_t i = 0;

		while (known[i] && strcmp(known[i], name) != 0)
			i++;
		if (!known[i])
			return name;
	}
	return NULL;
}

enum err json_take_members(struct json *to, const struct json *from)
{
	const char *name;
	json_t     *value;

	if (!json_is_object(to->root) || !json_is_object(from->root))
		return ERR_MALFORMED;
	json_object_foreach(from->root, name, value)
	{
		if (json_object_get(to->root, name))
			return ERR_EXISTS;
		if (json_object_set(to->root, name, value) != 0)
			return ERR_NOMEM;
	}
	return ERR_OK;
}

const char *json_next_member(const struct json *j, const char *name)
{
	void *at = name ? json_object_iter_next(j->root, json_object_key_to_iter(name)) : json_object_iter(j->root);

	return at ? json_object_iter_key(at) : NULL;
}

static enum err number(int64_t *out, const json_t *value)
{
	double real = json_is_real(value) ? json_real_value(value) : 0;

	if (json_is_integer(value)) {
		*out = json_integer_value(value);
		return ERR_OK;
	}
	/* Both bounds are exact as double; the conversion of anything beyond would be undefined. */
	if (!json_is_real(value) || !(real > -9223372036854775808.0 && real < 9223372036854775808.0))
		return ERR_MALFORMED;
	*out = (int64_t)real;
	return ERR_OK;
}

enum err json_get_number(int64_t *out, const struct json *j, const char *key)
{
	const json_t *value = json_object_get(j->root, key);

	return !value || json_is_null(value) ? ERR_NOT_FOUND : number(out, value);
}

enum err json_get_array_int(int64_t *out, const struct json *j, const char *key, size_t at)
{
	json_t  *value;
	enum err e = get(&value, j, key, JSON_ARRAY);

	if (e != ERR_OK)
		return e;
	if (!json_is_integer(json_array_get(value, at)))
		return ERR_MALFORMED;
	*out = json_integer_value(json_array_get(value, at));
	return ERR_OK;
}

enum err json_get_array_number(int64_t *out, const struct json *j, const char *key, size_t at)
{
	json_t  *value;
	enum err e = get(&value, j, key, JSON_ARRAY);

	return e == ERR_OK ? number(out, json_array_get(value, at)) : e;
}
