/*
 * The description of the operator's API, as a server gives it, held against what it answers.
 */
#ifndef TESTS_ADMIN_OPENAPI_H
#define TESTS_ADMIN_OPENAPI_H

#include "support/http_client.h"
#include "support/server.h"

#include <jansson.h>

/* GET /admin/v1/openapi.json over the socket, once per process; NULL: the server did not give it. */
json_t *admin_openapi(const struct server *s);

/* The operation of a path as it is asked for, "/admin/v1/games/123456?limit=3"; NULL: it is not described. */
json_t *admin_operation(const json_t *doc, const char *method, const char *path);

/*
 * The test continues, and fails, unless the answer is as described: its status, its type, and its JSON. What is not described
 * is not looked at: tests/admin/openapi_test.c sees to it that every route is.
 */
void admin_check(const struct server *s, const char *method, const char *path, const struct http_result *r);

#endif
