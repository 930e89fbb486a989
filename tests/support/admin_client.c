#include "support/admin_client.h"

#include "base/auto.h"
#include "support/admin_openapi.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The whole request; for free(). */
static char *make_request(size_t *out_len, const char *method, const char *path, const char *host, const char *fields,
                          const void *body, size_t len)
{
	size_t cap     = strlen(path) + strlen(host) + strlen(fields) + len + 200;
	char  *request = malloc(cap);
	int    head;

	cr_assert_not_null(request);
	head = snprintf(request, cap, "%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n%s", method, path, host,
	                fields);
	if (body || strcmp(method, "GET") != 0)
		head += snprintf(request + head, cap - (size_t)head, "Content-Length: %zu\r\n", len);
	head += snprintf(request + head, cap - (size_t)head, "\r\n");
	if (len > 0)
		memcpy(request + head, body, len);
	*out_len = (size_t)head + len;
	return request;
}

struct http_result admin_ask_with(const struct server *s, const char *method, const char *path, const char *fields,
                                  const void *body, size_t len)
{
	size_t             all;
	char              *request = make_request(&all, method, path, "localhost", fields, body, len);
	struct http_result r       = http_exchange_unix(s->admin_socket, request, all, ADMIN_PATIENCE_MS);

	free(request);
	admin_check(s, method, path, &r);
	return r;
}

struct http_result admin_ask_tcp_with(const struct server *s, const char *token, const char *method, const char *path,
                                      const char *fields, const void *body, size_t len)
{
	char               more[1000], host[40];
	size_t             all;
	char              *request;
	struct http_result r;

	snprintf(host, sizeof(host), "127.0.0.1:%d", s->admin_port);
	snprintf(more, sizeof(more), "%s%s%s%s", fields, token ? "Authorization: Bearer " : "", token ? token : "",
	         token ? "\r\n" : "");
	request = make_request(&all, method, path, host, more, body, len);
	r       = http_exchange(s->admin_port, request, all, ADMIN_PATIENCE_MS);
	free(request);
	admin_check(s, method, path, &r);
	return r;
}

struct http_result admin_ask_tcp(const struct server *s, const char *token, const char *method, const char *path,
                                 const char *body)
{
	return admin_ask_tcp_with(s, token, method, path, "", body, body ? strlen(body) : 0);
}

struct http_result admin_ask(const struct server *s, const char *method, const char *path, const char *body)
{
	return admin_ask_with(s, method, path, "", body, body ? strlen(body) : 0);
}

int64_t admin_make_token(char out[ADMIN_TOKEN_TEXT_BYTES], const struct server *s, const char *role)
{
	char body[100];

	snprintf(body, sizeof(body), "{\"name\":\"of the tests\",\"role\":\"%s\"}", role);
	AUTO(rest_freep) struct http_result r = admin_ask(s, "POST", "/admin/v1/tokens", body);
	cr_assert_eq(r.status, 201, "%s", r.body);
	rest_text(&r, "token", out, ADMIN_TOKEN_TEXT_BYTES);
	return rest_int(&r, "id");
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
