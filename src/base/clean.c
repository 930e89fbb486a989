#include "base/clean.h"

#include "base/auto.h"
#include "base/text.h"

#include <string.h>

/* Bad wherever they stand, in ascending order. */
static const struct hidden {
	uint32_t first, last;
	bool     is_space; /* also nothing in front of a number and behind it */
} hidden[] = {
	{ 0x00000, 0x00008, false }, { 0x00009, 0x0000d, true }, /* controls */
	{ 0x0000e, 0x0001f, false }, { 0x0007f, 0x00084, false },
	{ 0x00085, 0x00085, true },  { 0x00086, 0x0009f, false },
	{ 0x000a0, 0x000a0, true },  { 0x000ad, 0x000ad, false },   /* no-break space; soft hyphen */
	{ 0x01680, 0x01680, true },  { 0x02000, 0x0200a, true },    /* spaces */
	{ 0x0200b, 0x0200f, false }, { 0x02028, 0x02029, true },    /* of no width, directions; separators */
	{ 0x0202a, 0x0202e, false }, { 0x0202f, 0x0202f, true },    /* directions */
	{ 0x0205f, 0x0205f, true },  { 0x02060, 0x02064, false },   /* joiners and invisible operators */
	{ 0x02066, 0x0206f, false }, { 0x03000, 0x03000, true },    /* directions; ideographic space */
	{ 0x0e000, 0x0f8ff, false }, { 0x0fe00, 0x0fe0f, false },   /* private use; variation selectors */
	{ 0x0feff, 0x0feff, false }, { 0x0fff9, 0x0fffb, false },   /* byte-order mark; annotations */
	{ 0x1d173, 0x1d17a, false }, { 0xe0000, 0xe01ef, false },   /* musical controls; tags */
	{ 0xf0000, 0xffffd, false }, { 0x100000, 0x10fffd, false }, /* private use */
};

static const struct hidden *find(uint32_t code)
{
	if (code >= 0x20 && code < 0x7f)
		return NULL;
	for (size_t i = 0; i < COUNT_OF(hidden) && code >= hidden[i].first; i++)
		if (code <= hidden[i].last)
			return &hidden[i];
	return NULL;
}

void clean_text(char *out, size_t chars_max, const void *text, size_t len, const char *bad)
{
	const char *at   = text;
	size_t      used = 0, bad_len = text_length(bad);

	while (len > 0 && chars_max > 0) {
		uint32_t code   = 0;
		size_t   n      = text_char(&code, at, len);
		bool     is_bad = n == 0 || find(code);
		size_t   put    = is_bad ? bad_len : n;

		memcpy(out + used, is_bad ? bad : at, put);
		used += put;
		chars_max -= put > 0;
		at += n ? n : 1;
		len -= n ? n : 1;
	}
	out[used] = '\0';
}

static bool is_space(uint32_t code)
{
	const struct hidden *h = find(code);

	return code == ' ' || (h && h->is_space);
}

/* How many bytes of white space the text ends with: those of one character, or none. */
static size_t space_behind(const char *text, size_t len)
{
	uint32_t code = 0;

	for (size_t n = 1; n <= 4 && n <= len; n++)
		if (text_char(&code, text + len - n, n) == n)
			return is_space(code) ? n : 0;
	return 0;
}

void clean_trim(const char **text, size_t *len)
{
	uint32_t code = 0;
	size_t   n    = 0;

	while (*len > 0 && (n = text_char(&code, *text, *len)) > 0 && is_space(code)) {
		*text += n;
		*len -= n;
	}
	while ((n = space_behind(*text, *len)) > 0)
		*len -= n;
}
