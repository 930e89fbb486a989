/*
 * What the head of a request says about itself, collected field by field, and whether it can be believed. Pure.
 *
 * The library takes heads that two programs may read differently (two lengths, a length beside a coding, a blank before
 * the colon). Behind a proxy such a head is how one client's bytes become another client's request, so it is refused.
 */
#ifndef NET_HTTP_HEAD_H
#define NET_HTTP_HEAD_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP_FORWARDED_BYTES_MAX 1024

struct http_head {
	const char *forwarded_name; /* the one field in which a proxy names the client */
	unsigned    lengths, hosts, authorizations, codings;
	size_t      bytes;          /* of all lines */
	int64_t     length;         /* of the body; -1: chunked, or no number */
	bool        has_bad_line;   /* a name that is no token, a CR in a value; set it for one that has a NUL */
	bool        has_bad_length; /* a length that is no number */
	bool        is_chunked;     /* a coding that is exactly chunked */
	bool        has_body;       /* a coding, or a length other than 0 */
	bool        has_forwarded;  /* at least one line of that name */
	size_t      forwarded_len;  /* HTTP_FORWARDED_BYTES_MAX + 1 when it is longer than that */
	char forwarded[HTTP_FORWARDED_BYTES_MAX + 1]; /* all its lines in order, joined by commas; no NUL at the end */
};

void http_head_init(struct http_head *h, const char *forwarded_name);

/* One line of the head, in their order. */
void http_head_add(struct http_head *h, const char *name, const char *value);

/*
 * ERR_MALFORMED: a field name with a blank or another character no name has; a CR in a value; two of Content-Length, Host or
 * Authorization; a length that is no number, unless takes_text; a length with a coding; a coding that is not exactly
 * chunked, or any where takes_chunks is false; a GET or HEAD with a body.
 */
enum err http_head_check(const struct http_head *h, const char *method, bool takes_chunks, bool takes_text);

/* No route has a path with %, a backslash, // or a part that starts with a dot, and none may look as if it had. */
bool http_path_is_plain(const char *path);

#endif
