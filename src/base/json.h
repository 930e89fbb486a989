/*
 * JSON, over jansson: the only door to it. What coopd says in JSON is small and fixed, so building is by json_put_* on
 * an object (json_add_* on an array) and one json_text at the end. What it is told is small too: one object, read whole,
 * of whose members the reader picks those it knows.
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

void json_put_null(struct json *j, const char *key);

/* Takes child over; a NULL counts as a failure. */
void json_put_json(struct json *j, const char *key, struct json *child);

/* The same with an array. */
struct json *json_array_new(void);
void         json_add_text(struct json *array, const char *value);
void         json_add_null(struct json *array);
void         json_add_json(struct json *array, struct json *child);

/* The compact text in keys' order of insertion, ended by NUL, for free(); NULL when anything failed. */
char *json_text(const struct json *j);

/*
 * Reads one object of JSON (RFC 8259), strictly: ERR_MALFORMED for anything else, also for what stands behind it, for a
 * member that comes twice, text that is not UTF-8 or has a NUL in it, numbers beyond 64 bits, and more than
 * JSON_DEPTH_MAX objects and arrays inside each other. ERR_NOMEM. *out is untouched then.
 */
#define JSON_DEPTH_MAX 16
enum err json_parse(struct json **out, const char *text, size_t len);

/*
 * One member of an object. ERR_NOT_FOUND: it is not there, or null; ERR_MALFORMED: it is something else than asked for
 * (1.0 is no integer). *out is untouched then. Texts live as long as j.
 */
enum err json_get_text(const char **out, const struct json *j, const char *key);
enum err json_get_int(int64_t *out, const struct json *j, const char *key);

/* The member is an array of so many; each of its texts or integers, at below that. */
enum err json_get_array(size_t *count, const struct json *j, const char *key);
enum err json_get_array_text(const char **out, const struct json *j, const char *key, size_t at);
enum err json_get_array_int(int64_t *out, const struct json *j, const char *key, size_t at);

/*
 * The same for clients that are read leniently: of a repeated member the last counts, NUL in text is taken, depth_max is
 * the caller's (at most JSON_LENIENT_DEPTH_MAX, for the stack's sake). Strict all the same about UTF-8, lone surrogates, a
 * byte-order mark, integers beyond 64 bits, reals out of range, a NUL in a member's name, and what stands behind the object.
 * An empty text (len 0) is an empty object.
 */
#define JSON_LENIENT_DEPTH_MAX 127
enum err json_parse_lenient(struct json **out, const char *text, size_t len, size_t depth_max);

/* What a member is. JSON_IS_MISSING: it is not there. */
enum json_kind {
	JSON_IS_MISSING,
	JSON_IS_NULL,
	JSON_IS_BOOL,
	JSON_IS_INTEGER,
	JSON_IS_REAL,
	JSON_IS_STRING,
	JSON_IS_ARRAY,
	JSON_IS_OBJECT
};
enum json_kind json_kind(const struct json *j, const char *key);

/* Of a member that is of this kind (an assertion says so). A string's bytes live as long as j and may hold NUL. */
bool        json_member_bool(const struct json *j, const char *key);
int64_t     json_member_int(const struct json *j, const char *key);
double      json_member_real(const struct json *j, const char *key);
const char *json_member_string(size_t *len, const struct json *j, const char *key);
size_t      json_member_size(const struct json *j, const char *key); /* of an array or object */

/* The first member of the object whose name is not in the list, which ends with a NULL; NULL: there is none such. As long as j. */
const char *json_odd_member(const struct json *j, const char *const *known);

/* The name of the member behind this one, in the order in which they came; NULL: the first, and behind the last. As long as j. */
const char *json_next_member(const struct json *j, const char *name);

/*
 * A number that may be written with or without a fraction, which is cut off; and the one at that place of an array. Errors as above;
 * ERR_MALFORMED also beyond 64 bits.
 */
enum err json_get_number(int64_t *out, const struct json *j, const char *key);
enum err json_get_array_number(int64_t *out, const struct json *j, const char *key, size_t at);

/*
 * Puts all members of one object into another one, which shares them. ERR_EXISTS when one has a name that is there already,
 * ERR_MALFORMED when either is no object, ERR_NOMEM; some may have been put then.
 */
enum err json_take_members(struct json *to, const struct json *from);

/* The compact text of any member, for free(); NULL when there is none, or no memory. */
char *json_member_text(const struct json *j, const char *key);

/* A member that is an object, as a json of its own that shares it: for json_free, also after j. NULL: none, or no memory. */
struct json *json_member_object(const struct json *j, const char *key);

#endif
