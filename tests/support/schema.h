/*
 * Whether a JSON value is what a schema of an OpenAPI document says: the keywords that our documents use, and no others. A
 * keyword that the checker does not know is a mismatch, so that nothing is believed to be checked which is not.
 */
#ifndef TESTS_SCHEMA_H
#define TESTS_SCHEMA_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* False: why says where and what. $ref is looked up in doc. */
bool schema_fits(char *why, size_t cap, const json_t *doc, const json_t *schema, const json_t *value);

/* What a "#/a/b/c" leads to; NULL: nowhere. */
json_t *schema_follow(const json_t *doc, const char *ref);

#endif
