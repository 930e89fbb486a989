/*
 * Ranges of bytes.
 */
#include "net/http_range.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#define UNIT "bytes="

/* Digits only, at least one; a number too large to hold is as good as the largest, which no file has. */
static bool take_number(uint64_t *out, const char **text)
{
	const char *p = *text;
	uint64_t    n = 0;

	for (; *p >= '0' && *p <= '9'; p++) {
		uint64_t digit = (uint64_t)(*p - '0');

		n = n > (UINT64_MAX - digit) / 10 ? UINT64_MAX : n * 10 + digit;
	}
	if (p == *text)
		return false;
	*out  = n;
	*text = p;
	return true;
}

static enum http_range last_bytes(uint64_t *first, uint64_t *count, const char *text, uint64_t total)
{
	uint64_t n;

	if (!take_number(&n, &text) || *text)
		return HTTP_RANGE_NONE;
	if (n == 0 || total == 0)
		return HTTP_RANGE_BEYOND;
	*count = n < total ? n : total;
	*first = total - *count;
	return HTTP_RANGE_PART;
}

enum http_range http_range_parse(uint64_t *first, uint64_t *count, const char *text, uint64_t total)
{
	uint64_t from, to = UINT64_MAX;

	if (strncasecmp(text, UNIT, strlen(UNIT)) != 0)
		return HTTP_RANGE_NONE;
	text += strlen(UNIT);
	if (*text == '-')
		return last_bytes(first, count, text + 1, total);
	if (!take_number(&from, &text) || *text++ != '-')
		return HTTP_RANGE_NONE;
	if (*text && !take_number(&to, &text))
		return HTTP_RANGE_NONE;
	if (*text || to < from)
		return HTTP_RANGE_NONE;
	if (from >= total)
		return HTTP_RANGE_BEYOND;
	*first = from;
	*count = (to < total ? to : total - 1) - from + 1;
	return HTTP_RANGE_PART;
}
