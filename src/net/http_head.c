/*
 * Heads of requests.
 */
#include "net/http_head.h"

#include "base/text.h"

#include <string.h>

void http_head_init(struct http_head *h, const char *forwarded_name)
{
	memset(h, 0, sizeof(*h));
	h->forwarded_name = forwarded_name;
}

/* The characters a field name is made of (RFC 9110, 5.6.2). */
static bool is_token(const char *name)
{
	static const char others[] = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

	return name[0] != '\0' && name[strspn(name, others)] == '\0';
}

/* Once a line did not fit, the length stays over the limit: what is there is not the whole value. */
static void add_forwarded(struct http_head *h, const char *value)
{
	size_t comma = h->has_forwarded ? 1 : 0;
	size_t len   = strlen(value);

	if (h->forwarded_len + comma + len > HTTP_FORWARDED_BYTES_MAX) {
		h->forwarded_len = HTTP_FORWARDED_BYTES_MAX + 1;
	} else {
		if (comma)
			h->forwarded[h->forwarded_len] = ',';
		memcpy(h->forwarded + h->forwarded_len + comma, value, len);
		h->forwarded_len += comma + len;
	}
	h->has_forwarded = true;
}

void http_head_add(struct http_head *h, const char *name, const char *value)
{
	h->bytes += strlen(name) + strlen(value) + strlen(": \r\n");
	if (!is_token(name) || strchr(value, '\r')) {
		h->has_bad_line = true;
	} else if (text_same_nocase(name, "Content-Length")) {
		h->lengths++;
		if (text_to_int(&h->length, value, 0, INT64_MAX) != ERR_OK) {
			h->length         = -1;
			h->has_bad_length = true;
		}
		if (h->length != 0)
			h->has_body = true;
	} else if (text_same_nocase(name, "Transfer-Encoding")) {
		h->codings++;
		h->length     = -1;
		h->is_chunked = strcmp(value, "chunked") == 0;
		h->has_body   = true;
	} else if (text_same_nocase(name, "Host")) {
		h->hosts++;
	} else if (text_same_nocase(name, "Authorization")) {
		h->authorizations++;
	}
	if (text_same_nocase(name, h->forwarded_name))
		add_forwarded(h, value);
}

enum err http_head_check(const struct http_head *h, const char *method, bool takes_chunks, bool takes_text)
{
	bool reads = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;

	if (h->has_bad_length && !takes_text)
		return ERR_MALFORMED;
	if (h->has_bad_line || h->lengths > 1 || h->hosts > 1 || h->authorizations > 1)
		return ERR_MALFORMED;
	if (h->codings > 0 && !(takes_chunks && h->codings == 1 && h->is_chunked && h->lengths == 0))
		return ERR_MALFORMED;
	if (reads && h->has_body)
		return ERR_MALFORMED;
	return ERR_OK;
}

bool http_path_is_plain(const char *path)
{
	return path[0] == '/' && !strpbrk(path, "%\\") && !strstr(path, "//") && !strstr(path, "/.");
}
