/*
 * A plain HTTP client: one request, one connection, read to its end.
 */
#ifndef TESTS_HTTP_CLIENT_H
#define TESTS_HTTP_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

struct http_result {
	int    status; /* 0: the server closed without an answer */
	char  *head;   /* status line and header lines, NUL behind them; empty when there was none */
	char  *body;   /* NUL behind it; a chunked one is taken apart */
	size_t body_len;
};

/* GET. NULL for path's port: nobody listening ends the test. Free with http_result_free. */
struct http_result http_get(int port, const char *path);
struct http_result http_get_unix(const char *socket_path, const char *path);

/* Sends these bytes as they are and reads until the server ends the connection, at most patience_ms. */
struct http_result http_exchange(int port, const void *request, size_t len, int patience_ms);
struct http_result http_exchange_unix(const char *socket_path, const void *request, size_t len, int patience_ms);

/* The same on a connection that the caller made; it is closed. */
struct http_result http_exchange_on(int fd, const void *request, size_t len, int patience_ms);

void http_result_free(struct http_result *r);

/* The value of the first header line of this name, blanks around it removed; "" when there is none. In out. */
const char *http_result_header(const struct http_result *r, const char *name, char *out, size_t cap);

#endif
