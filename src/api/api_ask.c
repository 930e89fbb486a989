/*
 * What was asked for: parts of the path, parameters, members of the body.
 */
#include "api/api_inside.h"
#include "base/auto.h"
#include "base/hex.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum err api_problem(struct api_call *c, enum err e, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	text_formatv(c->problem, sizeof(c->problem), format, args);
	va_end(args);
	text_make_utf8(c->problem);
	return e;
}

void api_target(struct api_call *c, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	text_formatv(c->target, sizeof(c->target), format, args);
	va_end(args);
}

bool api_id(uint8_t out[8], const char *text)
{
	for (const char *at = text; *at; at++) {
		if (*at >= 'A' && *at <= 'F')
			return false;
	}
	return hex_decode(out, 8, text, strlen(text)) == ERR_OK;
}

/* --- The path --- */

enum err api_path_id(uint8_t out[8], const struct api_call *c, size_t n)
{
	return api_id(out, http_path_part(c->rq, n)) ? ERR_OK : ERR_NOT_FOUND;
}

enum err api_path_int(int64_t *out, const struct api_call *c, size_t n, int64_t min, int64_t max)
{
	return text_to_int(out, http_path_part(c->rq, n), min, max) == ERR_OK ? ERR_OK : ERR_NOT_FOUND;
}

enum err api_path_key(uint8_t *out, size_t cap, size_t *len, const struct api_call *c, size_t n)
{
	return api_key(out, cap, len, http_path_part(c->rq, n));
}

enum err api_key(uint8_t *out, size_t cap, size_t *len, const char *part)
{
	size_t bytes = strlen(part);

	if (part[0] != '~') {
		if (bytes > cap)
			return ERR_NOT_FOUND;
		memcpy(out, part, bytes);
		*len = bytes;
		return ERR_OK;
	}
	*len = (bytes - 1) / 2;
	if (bytes % 2 == 0 || *len > cap)
		return ERR_NOT_FOUND;
	return hex_decode(out, *len, part + 1, bytes - 1) == ERR_OK ? ERR_OK : ERR_NOT_FOUND;
}

/* --- The query --- */

static int hex_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

enum err api_decode(char *out, size_t cap, size_t *len, const char *text)
{
	size_t used = 0;

	for (; *text; text++) {
		int byte = (unsigned char)*text;

		if (used + 1 >= cap)
			return ERR_MALFORMED;
		if (byte == '%') {
			int high = hex_of(text[1]);
			int low  = high >= 0 ? hex_of(text[2]) : -1;

			if (low < 0)
				return ERR_MALFORMED;
			byte = high * 16 + low;
			text += 2;
		}
		out[used++] = (char)byte;
	}
	out[used] = '\0';
	*len      = used;
	return ERR_OK;
}

static bool is_known(const char *name, size_t len, const char *known)
{
	while (known && *known) {
		size_t word = strcspn(known, " ");

		if (word == len && memcmp(known, name, len) == 0)
			return true;
		known += word + strspn(known + word, " ");
	}
	return false;
}

/* How often it is there, as far as the query goes up to end. */
static size_t occurrences(const char *query, const char *end, const char *name, size_t len)
{
	size_t count = 0;

	for (const char *at = query; at < end; at += strcspn(at, "&"), at += *at == '&')
		count += strcspn(at, "=&") == len && memcmp(at, name, len) == 0;
	return count;
}

enum err api_query_check(struct api_call *c, const struct api_route *route)
{
	const char *query = http_raw_query(c->rq);

	for (const char *at = query; *at; at += strcspn(at, "&"), at += *at == '&') {
		size_t len = strcspn(at, "=&");

		if (len == 0)
			continue;
		if (!is_known(at, len, route->query) && !(route->action && is_known(at, len, "dry_run")))
			return api_problem(c, ERR_MALFORMED, "the address has a parameter that is not known here");
		if (occurrences(query, at, at, len) > 0)
			return api_problem(c, ERR_MALFORMED, "the parameter %.*s is there twice", (int)len, at);
	}
	return ERR_OK;
}

enum err api_query_text(char out[API_QUERY_BYTES], const struct api_call *c, const char *name)
{
	const char *value = http_query(c->rq, name);
	size_t      len   = 0;
	enum err    e;

	out[0] = '\0';
	if (!value)
		return ERR_OK;
	e = api_decode(out, API_QUERY_BYTES, &len, value);
	return e == ERR_OK && (strlen(out) != len || !text_is_utf8(out, len)) ? ERR_MALFORMED : e;
}

enum err api_query_int(int64_t *out, struct api_call *c, const char *name, int64_t min, int64_t max, int64_t otherwise)
{
	const char *value = http_query(c->rq, name);

	*out = otherwise;
	if (!value || text_to_int(out, value, min, max) == ERR_OK)
		return ERR_OK;
	return api_problem(c, ERR_INVALID, "%s is a number from %lld to %lld", name, (long long)min, (long long)max);
}

enum err api_query_id(uint8_t out[8], bool *has, struct api_call *c, const char *name)
{
	const char *value = http_query(c->rq, name);

	*has = value != NULL;
	if (!value || api_id(out, value))
		return ERR_OK;
	return api_problem(c, ERR_INVALID, "%s is an id, 16 lower case hex digits", name);
}

/* --- The body --- */

enum err api_body_only(struct api_call *c, const char *const *known)
{
	const char *odd = json_odd_member(c->body, known);
	char        shown[60];

	if (!odd)
		return ERR_OK;
	text_escape(shown, sizeof(shown), odd, strlen(odd));
	return api_problem(c, ERR_UNKNOWN, "the member \"%s\" is not known here; look for a typing error", shown);
}

enum err api_body_int(int64_t *out, struct api_call *c, const char *name, int64_t min, int64_t max, int64_t otherwise)
{
	int64_t  value;
	enum err e = json_get_int(&value, c->body, name);

	*out = otherwise;
	if (e == ERR_NOT_FOUND)
		return ERR_OK;
	if (e != ERR_OK || value < min || value > max)
		return api_problem(c, ERR_INVALID, "%s is a whole number from %lld to %lld", name, (long long)min,
		                   (long long)max);
	*out = value;
	return ERR_OK;
}

enum err api_body_bool(bool *out, struct api_call *c, const char *name, bool otherwise)
{
	enum json_kind kind = json_kind(c->body, name);

	*out = otherwise;
	if (kind == JSON_IS_MISSING || kind == JSON_IS_NULL)
		return ERR_OK;
	if (kind != JSON_IS_BOOL)
		return api_problem(c, ERR_INVALID, "%s is true or false", name);
	*out = json_member_bool(c->body, name);
	return ERR_OK;
}

static bool has_controls(const char *text)
{
	for (; *text; text++) {
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			return true;
	}
	return false;
}

enum err api_body_text(char *out, size_t cap, struct api_call *c, const char *name)
{
	const char *text;
	enum err    e = json_get_text(&text, c->body, name);

	out[0] = '\0';
	if (e == ERR_NOT_FOUND)
		return ERR_OK;
	if (e != ERR_OK || strlen(text) >= cap || has_controls(text))
		return api_problem(c, ERR_INVALID, "%s is a text of at most %zu bytes in one line", name, cap - 1);
	text_copy(out, cap, text);
	return ERR_OK;
}

enum err api_body_id(uint8_t out[8], struct api_call *c, const char *name)
{
	const char *text;

	if (json_get_text(&text, c->body, name) == ERR_OK && api_id(out, text))
		return ERR_OK;
	return api_problem(c, ERR_INVALID, "%s is an id, 16 lower case hex digits", name);
}
