#include "support/release.h"

#include "base/auto.h"
#include "os/file.h"
#include "support/dial.h"
#include "support/vectors.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATHS          4
#define FILE_BYTES_MAX 65536

struct server *release_prepare(bool with_key)
{
	struct server *s = server_prepare(NULL);
	char           set[SERVER_SET_BYTES], path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/release", s->root);
	cr_assert_eq(mkdir(path, 0755), 0);
	(void)snprintf(set, sizeof(set), "update.dir=%s/release", s->root);
	server_set(s, set);
	if (!with_key)
		return s;

	/* Beside the folder: where the tests lie, a setting may be too short for. */
	size_t                len;
	AUTO(auto_free) char *pem = release_vector("key.pem", &len);

	(void)snprintf(path, sizeof(path), "%s/key.pem", s->root);
	cr_assert_eq(file_write(path, pem, len, 0644), ERR_OK);
	(void)snprintf(set, sizeof(set), "update.key=%s/key.pem", s->root);
	server_set(s, set);
	return s;
}

struct server *release_start(bool with_key)
{
	struct server *s = release_prepare(with_key);

	server_launch(s);
	server_await_ready(s);
	return s;
}

const char *release_path(const struct server *s, const char *name)
{
	static char   paths[PATHS][RELEASE_PATH_BYTES];
	static size_t next;
	char         *out = paths[next++ % PATHS];

	(void)snprintf(out, RELEASE_PATH_BYTES, "%s/release/%s", s->root, name);
	return out;
}

static void write_to(const char *path, int flags, const void *bytes, size_t len)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC | flags, 0644);

	cr_assert(fd >= 0 && write(fd, bytes, len) == (ssize_t)len && close(fd) == 0, "%s", path);
}

void release_put(const struct server *s, const char *name, const void *bytes, size_t len)
{
	const char *made = release_path(s, ".new");

	write_to(made, O_CREAT | O_TRUNC, bytes, len);
	cr_assert_eq(rename(made, release_path(s, name)), 0);
}

void release_put_text(const struct server *s, const char *name, const char *text)
{
	release_put(s, name, text, strlen(text));
}

void release_write_over(const struct server *s, const char *name, const void *bytes, size_t len)
{
	write_to(release_path(s, name), O_TRUNC, bytes, len);
}

char *release_vector(const char *file, size_t *len)
{
	char  path[PATH_MAX], below[NAME_MAX];
	char *text = NULL;

	(void)snprintf(below, sizeof(below), "vectors/manifest/%s", file);
	cr_assert_eq(file_read(&text, len, tests_path(path, sizeof(path), below), FILE_BYTES_MAX), ERR_OK, "%s", file);
	return text;
}

void release_put_vector(const struct server *s, const char *name, const char *file)
{
	size_t                len;
	AUTO(auto_free) char *text = release_vector(file, &len);

	release_put(s, name, text, len);
}

char *release_numbers(int from, int to, size_t *len)
{
	char *out  = NULL;
	FILE *text = open_memstream(&out, len);

	cr_assert_not_null(text);
	for (int i = from; i <= to; i++)
		(void)fprintf(text, "%d\n", i);
	cr_assert_eq(fclose(text), 0);
	return out;
}

void release_put_numbers(const struct server *s, const char *name, int from, int to)
{
	size_t                len;
	AUTO(auto_free) char *bytes = release_numbers(from, to, &len);

	release_put(s, name, bytes, len);
}

struct http_result release_ask(const struct server *s, const char *method, const char *path, const char *fields)
{
	char request[2048];
	int len = snprintf(request, sizeof(request), "%s %s HTTP/1.1\r\nHost: a\r\nConnection: close\r\n%s\r\n", method,
	                   path, fields);

	return http_exchange(s->http_port, request, (size_t)len, DIAL_PATIENCE_MS);
}

void release_expect_status(const struct server *s, const char *path, int status)
{
	struct http_result r = release_ask(s, "GET", path, "");

	cr_expect_eq(r.status, status, "%s: %d", path, r.status);
	if (status == 404)
		cr_expect(strncmp(r.body, "{\"error\":\"", 10) == 0, "%s: %s", path, r.body);
	http_result_free(&r);
}

size_t release_count_log(const struct server *s, const char *text)
{
	FILE  *log   = server_open_log(s);
	char  *line  = NULL;
	size_t count = 0, cap = 0;

	while (getline(&line, &cap, log) > 0)
		count += strstr(line, text) != NULL;
	free(line);
	fclose(log);
	return count;
}
