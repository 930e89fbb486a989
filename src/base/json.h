/*
 * JSON, over jansson: the only door to it. Part of what coopd says in JSON is small and fixed, so building is by
 * json_put_* on an object and one json_text at the end.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json;

/* A new empty object; NULL when out of memory. */
struct json *json_object_new(void);
void         json_free(struct json *j);
void         json_freep(struct json **j);

/* Set a member. Failures (memory, text that is not UTF-8) are remembered and make json_text fail. */
void json_put_text(struct json *j, const char *key, const char *value);
void json_put_int(struct json *j, const char *key, int64_t value);
void json_put_bool(struct json *j, const char *key, bool value);

/* Takes child over. */
void json_put_json(struct json *j, const char *key, struct json *child);

/* The compact text in keys' order of insertion, ended by NUL, for free(); NULL when anything failed. */
char *json_text(const struct json *j);

#endif
