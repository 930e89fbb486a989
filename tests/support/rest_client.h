/*
 * A program of a player: asks the REST API, and reads its JSON.
 *
 *	AUTO(rest_freep) struct http_result r = rest_put(s, "A", CAMPAIGN, "Coop-Meta: {}\r\n", bytes, len);
 *
 *	rest_expect(&r, 201, NULL);
 *	cr_expect_eq(rest_int(&r, "version"), 1);
 */
#ifndef TESTS_REST_CLIENT_H
#define TESTS_REST_CLIENT_H

#include "support/server.h"

#include <stddef.h>
#include <stdint.h>

#define REST_PATIENCE_MS 30000

/*
 * One request on a connection of its own. player: a key's name (tunnel_message.h), or NULL for no Authorization. fields:
 * further lines of the head, each with its CR LF. body NULL: none; len is its length.
 */
struct http_result rest_ask(const struct server *s, const char *player, const char *method, const char *path,
                            const char *fields, const void *body, size_t len);

struct http_result rest_get(const struct server *s, const char *player, const char *path);

/* PUT of a checkpoint. query: "" or "?keep=both". */
struct http_result rest_put(const struct server *s, const char *player, const char *campaign, const char *query,
                            const char *fields, const void *body, size_t len);

/* The head of such a request; the body's length or coding is among the fields. For tests that send it in pieces. */
size_t rest_head(char *out, size_t cap, const char *player, const char *method, const char *path, const char *fields);

/* The same bytes as chunks of at most so many each; for free(). */
char *rest_chunks(size_t *out_len, const void *body, size_t len, size_t chunk);

/* A container of this campaign, with further lines in its text ("" or "player=id:...\n") and so many bytes to save; for free(). */
char *rest_container(size_t *out_len, const char *campaign, const char *lines, size_t save_len);

/* So many bytes that depend on seed; for free(). */
char *rest_bytes(size_t len, unsigned seed);

/* The test continues, and fails, unless the status is this one and, for an error, its code, and no file is named. */
#define rest_expect(r, status, code) rest_expect_at(__FILE__, __LINE__, r, status, code)
void rest_expect_at(const char *file, int line, const struct http_result *r, int status, const char *code);

/* A value by its way through objects and arrays: "error.newest.version", "campaigns.0.id". The test ends when it is none. */
int64_t     rest_int(const struct http_result *r, const char *way);
bool        rest_bool(const struct http_result *r, const char *way);
const char *rest_text(const struct http_result *r, const char *way, char *out, size_t cap);
size_t      rest_count(const struct http_result *r, const char *way); /* of an array */
bool        rest_has(const struct http_result *r, const char *way);

/* For AUTO. */
void rest_freep(struct http_result *r);

#endif
