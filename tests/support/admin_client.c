#include "support/admin_client.h"

#include "base/auto.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct http_result admin_ask_with(const struct server *s, const char *method, const char *path, const char *fields,
                                  const void *body, size_t len)
{
	size_t             cap     = strlen(path) + strlen(fields) + len + 200;
	char              *request = malloc(cap);
	struct http_result r;
	int                head;

	cr_assert_not_null(request);
	head = snprintf(request, cap, "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s", method, path,
	                fields);
	if (body || strcmp(method, "GET") != 0)
		head += snprintf(request + head, cap - (size_t)head, "Content-Length: %zu\r\n", len);
	head += snprintf(request + head, cap - (size_t)head, "\r\n");
	if (len > 0)
		memcpy(request + head, body, len);
	r = http_exchange_unix(s->admin_socket, request, (size_t)head + len, ADMIN_PATIENCE_MS);
	free(request);
	return r;
}

struct http_result admin_ask(const struct server *s, const char *method, const char *path, const char *body)
{
	return admin_ask_with(s, method, path, "", body, body ? strlen(body) : 0);
}

struct http_result admin_get(const struct server *s, const char *path)
{
	return admin_ask(s, "GET", path, NULL);
}

static bool is_it(const struct http_result *r, size_t at, const char *member, const char *want)
{
	char way[60], text[300];

	if (!want)
		return true;
	snprintf(way, sizeof(way), "items.%zu.%s", at, member);
	return strcmp(rest_text(r, way, text, sizeof(text)), want) == 0;
}

size_t admin_audited(const struct server *s, const char *action, const char *target, const char *result)
{
	AUTO(rest_freep) struct http_result r     = admin_get(s, "/admin/v1/audit?limit=1000");
	size_t                              count = 0;

	admin_expect(&r, 200, NULL);
	for (size_t i = 0; i < rest_count(&r, "items"); i++)
		count += is_it(&r, i, "action", action) && is_it(&r, i, "target", target) &&
		         is_it(&r, i, "result", result);
	return count;
}
