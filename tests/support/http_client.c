#include "support/http_client.h"

#include "support/dial.h"

#include <criterion/criterion.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define ANSWER_BYTES_MAX ((size_t)64 << 20)

/* Everything until the end, the deadline or a reset, with a NUL behind it. */
static char *read_all(int fd, size_t *len, int patience_ms)
{
	int64_t deadline_ms = real_now_ms() + patience_ms;
	size_t  cap         = 16384;
	char   *all         = malloc(cap);

	*len = 0;
	cr_assert_not_null(all, "memory for an answer");
	for (;;) {
		ssize_t got = dial_read(fd, all + *len, cap - *len - 1, deadline_ms);

		if (got <= 0)
			break;
		*len += (size_t)got;
		if (cap - *len < 4096) {
			cap *= 2;
			all = cap <= ANSWER_BYTES_MAX ? realloc(all, cap) : NULL;
			cr_assert_not_null(all, "memory for an answer of over %zu bytes", *len);
		}
	}
	all[*len] = '\0';
	return all;
}

/* Joins the chunks in place. */
static size_t join_chunks(char *body, size_t len)
{
	char  *from = body;
	size_t out  = 0;

	for (;;) {
		char         *end;
		unsigned long chunk = strtoul(from, &end, 16);
		char         *line  = strstr(end, "\r\n");

		if (end == from || !line || chunk == 0 || chunk > len - (size_t)(line + 2 - body))
			break;
		memmove(body + out, line + 2, chunk);
		out += chunk;
		from = line + 2 + chunk;
		if (strncmp(from, "\r\n", 2) == 0)
			from += 2;
	}
	body[out] = '\0';
	return out;
}

static struct http_result take_apart(char *all, size_t len)
{
	struct http_result r = { .head = all };
	char              *end;
	char               coding[32];

	if (sscanf(all, "HTTP/1.%*c %3d", &r.status) != 1)
		r.status = 0;
	end = strstr(all, "\r\n\r\n");
	if (!end)
		end = all + len;
	size_t head_len = (size_t)(end - all);
	size_t skip     = head_len < len ? 4 : 0;

	r.body_len = len - head_len - skip;
	r.body     = malloc(r.body_len + 1);
	cr_assert_not_null(r.body, "memory for a body");
	memcpy(r.body, end + skip, r.body_len + 1);
	*end = '\0';
	if (strcasecmp(http_result_header(&r, "Transfer-Encoding", coding, sizeof(coding)), "chunked") == 0)
		r.body_len = join_chunks(r.body, r.body_len);
	return r;
}

struct http_result http_exchange_on(int fd, const void *request, size_t len, int patience_ms)
{
	size_t got;

	/* A server that refuses may answer and close before it has read all: what it said counts then too. */
	dial_send(fd, request, len, patience_ms);
	char *all = read_all(fd, &got, patience_ms);

	close(fd);
	return take_apart(all, got);
}

struct http_result http_exchange(int port, const void *request, size_t len, int patience_ms)
{
	int fd = dial_tcp(port, 0);

	cr_assert_geq(fd, 0, "nobody listens on 127.0.0.1:%d", port);
	return http_exchange_on(fd, request, len, patience_ms);
}

struct http_result http_exchange_unix(const char *socket_path, const void *request, size_t len, int patience_ms)
{
	int fd = dial_unix(socket_path);

	cr_assert_geq(fd, 0, "nobody listens on %s", socket_path);
	return http_exchange_on(fd, request, len, patience_ms);
}

static size_t write_get(char *out, size_t cap, const char *path)
{
	int len = snprintf(out, cap, "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path);

	cr_assert(len > 0 && (size_t)len < cap, "the test's own path is too long");
	return (size_t)len;
}

struct http_result http_get(int port, const char *path)
{
	char request[2048];

	return http_exchange(port, request, write_get(request, sizeof(request), path), DIAL_PATIENCE_MS);
}

struct http_result http_get_unix(const char *socket_path, const char *path)
{
	char request[2048];

	return http_exchange_unix(socket_path, request, write_get(request, sizeof(request), path), DIAL_PATIENCE_MS);
}

void http_result_free(struct http_result *r)
{
	free(r->head);
	free(r->body);
	*r = (struct http_result){ 0 };
}

const char *http_result_header(const struct http_result *r, const char *name, char *out, size_t cap)
{
	size_t name_len = strlen(name);

	out[0] = '\0';
	for (const char *line = strstr(r->head, "\r\n"); line; line = strstr(line + 2, "\r\n")) {
		const char *value = line + 2 + name_len + 1;

		if (strncasecmp(line + 2, name, name_len) != 0 || line[2 + name_len] != ':')
			continue;
		value += strspn(value, " \t");
		size_t len = strcspn(value, "\r\n");

		while (len > 0 && (value[len - 1] == ' ' || value[len - 1] == '\t'))
			len--;
		snprintf(out, cap, "%.*s", (int)len, value);
		break;
	}
	return out;
}
