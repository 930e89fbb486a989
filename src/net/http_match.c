/*
 * If-None-Match and Accept-Encoding.
 */
#include "net/http_match.h"

#include "net/http_request.h"

#include "base/text.h"

#include <string.h>
#include <strings.h>

/* --- If-None-Match --- */

static const char *without_weakness(const char *etag)
{
	return strncmp(etag, "W/", 2) == 0 ? etag + 2 : etag;
}

/* Bytes of the quoted text that begins here, with its quotes; 0: none does. */
static size_t quoted_len(const char *text)
{
	const char *end = *text == '"' ? strchr(text + 1, '"') : NULL;

	return end ? (size_t)(end - text) + 1 : 0;
}

bool http_match_etag(const char *line, const char *etag)
{
	const char *wanted = without_weakness(etag);

	for (;;) {
		line += strspn(line, " \t,");
		if (*line == '*')
			return true;
		line = without_weakness(line);

		size_t len = quoted_len(line);

		if (len == 0)
			return false;
		if (len == strlen(wanted) && memcmp(line, wanted, len) == 0)
			return true;
		line += len;
	}
}

struct etag_search {
	const char *etag;
	bool        found;
};

static enum MHD_Result match_line(void *arg, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct etag_search *search = arg;

	(void)kind;
	if (value && text_same_nocase(name, MHD_HTTP_HEADER_IF_NONE_MATCH))
		search->found |= http_match_etag(value, search->etag);
	return search->found ? MHD_NO : MHD_YES;
}

bool http_has_match(const struct http_request *rq, const char *etag)
{
	struct etag_search search = { .etag = etag };

	MHD_get_connection_values(rq->mhd, MHD_HEADER_KIND, match_line, &search);
	return search.found;
}

/* --- Accept-Encoding --- */

/* Whether this is a weight above 0: 1, 1.000, 0.5 (RFC 9110, 12.4.2). */
static bool is_weight(const char *text, size_t len)
{
	size_t digits = len > 2 ? len - 2 : 0;

	if (len == 0 || (text[0] != '0' && text[0] != '1') || (len > 1 && text[1] != '.') || digits > 3)
		return false;
	if (text[0] == '1')
		return strspn(text + 2 * (digits > 0), "0") >= digits;
	return digits > 0 && strspn(text + 2, "0123456789") >= digits && strspn(text + 2, "0") < digits;
}

/* What follows the name of a coding, from its semicolon on. */
static bool has_weight(const char *text, size_t len)
{
	text_trim(&text, &len);
	if (len == 0)
		return true; /* 1, if it is not said */
	text++;
	len--;
	text_trim(&text, &len);
	return len > 2 && strncasecmp(text, "q=", 2) == 0 && is_weight(text + 2, len - 2);
}

static bool is_name(const char *text, size_t len, const char *name)
{
	return len == strlen(name) && strncasecmp(text, name, len) == 0;
}

static void add_coding(struct http_codings *c, const char *text, size_t len)
{
	const char *semicolon = memchr(text, ';', len);
	size_t      name_len  = semicolon ? (size_t)(semicolon - text) : len;
	bool        takes     = has_weight(text + name_len, len - name_len);

	text_trim(&text, &name_len);
	if (is_name(text, name_len, "*"))
		c->takes_any |= takes;
	else if (is_name(text, name_len, "gzip") || is_name(text, name_len, "x-gzip"))
		*(takes ? &c->takes_gzip : &c->refuses_gzip) = true;
}

void http_codings_add(struct http_codings *c, const char *line)
{
	for (;;) {
		size_t len = strcspn(line, ",");

		add_coding(c, line, len);
		if (line[len] == '\0')
			return;
		line += len + 1;
	}
}

bool http_codings_have_gzip(const struct http_codings *c)
{
	return c->takes_gzip || (c->takes_any && !c->refuses_gzip);
}

static enum MHD_Result add_line(void *arg, enum MHD_ValueKind kind, const char *name, const char *value)
{
	(void)kind;
	if (value && text_same_nocase(name, MHD_HTTP_HEADER_ACCEPT_ENCODING))
		http_codings_add(arg, value);
	return MHD_YES;
}

bool http_takes_gzip(const struct http_request *rq)
{
	struct http_codings c = { 0 };

	MHD_get_connection_values(rq->mhd, MHD_HEADER_KIND, add_line, &c);
	return http_codings_have_gzip(&c);
}
