/*
 * An operator's program: asks the admin API over its unix socket, and reads its JSON with rest_int, rest_text and the like
 * (rest_client.h).
 *
 *	AUTO(rest_freep) struct http_result r = admin_ask(s, "DELETE", "/admin/v1/games/123456", NULL);
 *
 *	admin_expect(&r, 200, NULL);
 *
 * Every answer is held against the server's own description, and fails the test when it is not as described.
 */
#ifndef TESTS_ADMIN_CLIENT_H
#define TESTS_ADMIN_CLIENT_H

#include "support/rest_client.h"
#include "support/server.h"

#include <stddef.h>
#include <stdint.h>

#define ADMIN_PATIENCE_MS 30000

/* One request on a connection of its own. body: JSON or text; NULL: none. */
struct http_result admin_ask(const struct server *s, const char *method, const char *path, const char *body);
struct http_result admin_get(const struct server *s, const char *path);

/* The same with further lines of the head, each with its CR LF, and bytes that may hold NUL. */
struct http_result admin_ask_with(const struct server *s, const char *method, const char *path, const char *fields,
                                  const void *body, size_t len);

/* The same over TCP; token NULL: without one. */
struct http_result admin_ask_tcp(const struct server *s, const char *token, const char *method, const char *path,
                                 const char *body);
struct http_result admin_ask_tcp_with(const struct server *s, const char *token, const char *method, const char *path,
                                      const char *fields, const void *body, size_t len);

/* A new token, "viewer" or "operator"; its id. */
#define ADMIN_TOKEN_TEXT_BYTES 65
int64_t admin_make_token(char out[ADMIN_TOKEN_TEXT_BYTES], const struct server *s, const char *role);

/* As rest_expect: the status, and for an error its code. */
#define admin_expect(r, status, code) rest_expect_at(__FILE__, __LINE__, r, status, code)

/* How many rows of the audit trail have this action, target and result; any of them may be NULL. */
size_t admin_audited(const struct server *s, const char *action, const char *target, const char *result);

#endif
