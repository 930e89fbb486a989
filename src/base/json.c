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

struct json *json_object_new(void)
{
	struct json *j = calloc(1, sizeof(*j));

	if (!j)
		return NULL;
	j->root = json_object();
	if (!j->root) {
		free(j);
		return NULL;
	}
	return j;
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

void json_put_json(struct json *j, const char *key, struct json *child)
{
	if (!child) {
		j->failed = true;
		return;
	}
	j->failed = j->failed || child->failed;
	put(j, key, json_incref(child->root));
	json_free(child);
}

char *json_text(const struct json *j)
{
	return j->failed ? NULL : json_dumps(j->root, JSON_COMPACT);
}
