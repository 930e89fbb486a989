/*
 * Text in fixed buffers. Character classes are spelled out instead of taken from ctype.h: the locale has no say in what
 * a key, a header or a log line looks like.
 */
#include "base/text.h"

#include <stdio.h>
#include <string.h>

/* Words this long are not compared further: keys and commands are shorter. */
#define DISTANCE_WORD_MAX 63

#define UTF8_BYTES_MAX 4

bool text_copy(char *out, size_t cap, const char *text)
{
	if (cap == 0)
		return false;

	size_t len  = strlen(text);
	bool   fits = len < cap;
	if (!fits)
		len = cap - 1;
	memcpy(out, text, len);
	out[len] = '\0';
	return fits;
}

size_t text_length(const char *text)
{
	return strlen(text);
}

bool text_formatv(char *out, size_t cap, const char *format, va_list args)
{
	int n = vsnprintf(out, cap, format, args);

	if (n < 0) {
		out[0] = '\0';
		return false;
	}
	return (size_t)n < cap;
}

bool text_format(char *out, size_t cap, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	bool fits = text_formatv(out, cap, format, args);
	va_end(args);
	return fits;
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

bool text_same_nocase(const char *a, const char *b)
{
	while (*a && lower(*a) == lower(*b)) {
		a++;
		b++;
	}
	return lower(*a) == lower(*b);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

void text_trim(const char **text, size_t *len)
{
	while (*len > 0 && is_blank((*text)[0])) {
		(*text)++;
		(*len)--;
	}
	while (*len > 0 && is_blank((*text)[*len - 1]))
		(*len)--;
}

/* One byte's form in a line of log; its length. */
static size_t escape_byte(char form[4], uint8_t byte)
{
	static const char digits[] = "0123456789abcdef";

	if (byte == '\\') {
		form[0] = form[1] = '\\';
		return 2;
	}
	if (byte >= ' ' && byte <= '~' && byte != '"') {
		form[0] = (char)byte;
		return 1;
	}
	form[0] = '\\';
	form[1] = 'x';
	form[2] = digits[byte >> 4];
	form[3] = digits[byte & 15];
	return 4;
}

void text_escape(char *out, size_t cap, const void *data, size_t len)
{
	static const char dots[] = "...";
	const uint8_t    *bytes  = data;
	size_t            used   = 0;
	size_t            safe   = 0; /* the longest run of whole forms after which the dots still fit */

	for (size_t i = 0; i < len; i++) {
		char   form[4];
		size_t n = escape_byte(form, bytes[i]);

		if (used + sizeof(dots) <= cap)
			safe = used;
		if (used + n >= cap) {
			memcpy(out + safe, dots, sizeof(dots));
			return;
		}
		memcpy(out + used, form, n);
		used += n;
	}
	out[used] = '\0';
}

size_t text_char(uint32_t *code, const void *data, size_t len)
{
	const uint8_t *at = data;
	size_t         more;
	uint32_t       c, least;

	if (at[0] < 0x80) {
		more  = 0;
		c     = at[0];
		least = 0;
	} else if ((at[0] & 0xe0) == 0xc0) {
		more  = 1;
		c     = at[0] & 0x1f;
		least = 0x80;
	} else if ((at[0] & 0xf0) == 0xe0) {
		more  = 2;
		c     = at[0] & 0x0f;
		least = 0x800;
	} else if ((at[0] & 0xf8) == 0xf0) {
		more  = 3;
		c     = at[0] & 0x07;
		least = 0x10000;
	} else {
		return 0;
	}
	for (size_t i = 1; i <= more; i++) {
		if (i >= len || (at[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (at[i] & 0x3f);
	}
	if (c < least || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*code = c;
	return more + 1;
}

bool text_is_utf8(const void *data, size_t len)
{
	const uint8_t *at = data;

	while (len > 0) {
		uint32_t code;
		size_t   n = text_char(&code, at, len);

		if (n == 0)
			return false;
		at += n;
		len -= n;
	}
	return true;
}

void text_make_utf8(char *text)
{
	uint8_t *at = (uint8_t *)text;

	while (*at) {
		uint32_t code;
		/* No byte behind the NUL is looked at: it continues nothing. */
		size_t n = text_char(&code, at, UTF8_BYTES_MAX);

		if (n == 0) {
			*at = '?';
			n   = 1;
		}
		at += n;
	}
}

static bool is_control(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0);
}

void text_clean(char *out, size_t cap, const void *data, size_t len, size_t chars_max)
{
	static const char replacement[] = "\xef\xbf\xbd";
	const uint8_t    *at            = data;
	size_t            used          = 0;

	for (; len > 0 && chars_max > 0; chars_max--) {
		uint32_t    code = 0;
		size_t      n    = text_char(&code, at, len);
		const void *from = n == 0 ? replacement : is_control(code) ? " " : (const char *)at;
		size_t      put  = n == 0 ? sizeof(replacement) - 1 : is_control(code) ? 1 : n;

		if (used + put >= cap)
			break;
		memcpy(out + used, from, put);
		used += put;
		at += n ? n : 1;
		len -= n ? n : 1;
	}
	out[used] = '\0';
}

enum err text_to_int(int64_t *out, const char *text, int64_t min, int64_t max)
{
	bool    negative = text[0] == '-';
	int64_t value    = 0;

	if (negative)
		text++;
	if (!*text)
		return ERR_MALFORMED;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return ERR_MALFORMED;

		/* Counted downwards when negative: the smallest number has no positive twin. */
		int digit = *text - '0';
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, negative ? -digit : digit, &value))
			return ERR_MALFORMED;
	}
	if (value < min || value > max)
		return ERR_MALFORMED;
	*out = value;
	return ERR_OK;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Levenshtein's distance with one row of the table: row[j] is the distance of a's first i to b's first j characters. */
size_t text_distance(const char *a, const char *b, size_t cap)
{
	size_t a_len = strlen(a), b_len = strlen(b);
	size_t row[DISTANCE_WORD_MAX + 1];

	if (a_len > DISTANCE_WORD_MAX || b_len > DISTANCE_WORD_MAX)
		return cap;
	for (size_t j = 0; j <= b_len; j++)
		row[j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			size_t change = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			row[j]   = least(change, least(row[j], row[j - 1]) + 1);
		}
	}
	return least(row[b_len], cap);
}
