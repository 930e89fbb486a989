/*
 * A folder of update files for one server, and questions about it.
 *
 *	struct server *s = release_start(true);		with update.key
 *
 *	release_put_vector(s, "update.txt", "first.txt");
 *	struct http_result r = release_ask(s, "GET", "/update/update.txt", "");
 *
 * The folder is release/ in the server's root, and goes with it.
 */
#ifndef TESTS_RELEASE_H
#define TESTS_RELEASE_H

#include "support/http_client.h"
#include "support/server.h"

#include <stdbool.h>
#include <stddef.h>

#define RELEASE_PATH_BYTES 400

/* Prepared with update.dir, and update.key when asked for; the folder is there and empty. */
struct server *release_prepare(bool with_key);
struct server *release_start(bool with_key);

/* The path of a file in the folder; valid until the fourth call after this one. */
const char *release_path(const struct server *s, const char *name);

/* As a publisher does it: under a name with a dot, then renamed. */
void release_put(const struct server *s, const char *name, const void *bytes, size_t len);
void release_put_text(const struct server *s, const char *name, const char *text);

/* As nobody should: into the file that is there. */
void release_write_over(const struct server *s, const char *name, const void *bytes, size_t len);

/* A file of tests/vectors/manifest, with a NUL behind it, for free(). */
char *release_vector(const char *file, size_t *len);
void  release_put_vector(const struct server *s, const char *name, const char *file);

/* The packages that these name: 1 to 20000, or 2 to 30000, each number with a LF. For free(). */
#define RELEASE_FIRST "Crysis-Coop-v0.6.2-update.bin"
#define RELEASE_NEXT  "Crysis-Coop-v0.6.10-update.bin"
char *release_numbers(int from, int to, size_t *len);
void  release_put_numbers(const struct server *s, const char *name, int from, int to);

/* One request over a connection of its own; fields are whole lines, each with CR LF. */
struct http_result release_ask(const struct server *s, const char *method, const char *path, const char *fields);

/* It must have this status, and for 404 say so as the front does. */
void release_expect_status(const struct server *s, const char *path, int status);

/* How many lines of the log have this text. */
size_t release_count_log(const struct server *s, const char *text);

#endif
