/*
 * What of a text may be shown: host-made text stands in every player's list, where a character that turns the direction of
 * writing, or that nobody sees, makes one lobby look like another.
 */
#include "lobby/lobby_wire.h"

#include "base/text.h"
#include "base/text_hidden.h"

#include <string.h>

void lobby_clean(char *out, size_t chars_max, const char *text, size_t len)
{
	size_t used = 0;

	while (len > 0 && chars_max > 0) {
		uint32_t code = 0;
		size_t   n    = text_char(&code, text, len);

		if (n > 0 && !text_is_hidden(code)) {
			memcpy(out + used, text, n);
			used += n;
			chars_max--;
		}
		text += n ? n : 1;
		len -= n ? n : 1;
	}
	out[used] = '\0';
}

/* How many bytes of white space the text ends with: those of one character, or none. */
static size_t space_behind(const char *text, size_t len)
{
	uint32_t code = 0;

	for (size_t n = 1; n <= 4 && n <= len; n++)
		if (text_char(&code, text + len - n, n) == n)
			return text_is_space(code) ? n : 0;
	return 0;
}

void lobby_trim(const char **text, size_t *len)
{
	uint32_t code = 0;
	size_t   n    = 0;

	while (*len > 0 && (n = text_char(&code, *text, *len)) > 0 && text_is_space(code)) {
		*text += n;
		*len -= n;
	}
	while ((n = space_behind(*text, *len)) > 0)
		*len -= n;
}

void lobby_read_filter(char out[LOBBY_TEXT_BYTES(LOBBY_VERSION_CHARS)], const char *query)
{
	static const char key[] = "version=";
	const size_t      skip  = sizeof(key) - 1;
	const char       *value = "";
	size_t            len = 0, left = query ? text_length(query) : 0;

	while (left > 0) {
		const char *end   = memchr(query, '&', left);
		size_t      piece = end ? (size_t)(end - query) : left;

		if (piece >= skip && memcmp(query, key, skip) == 0) {
			value = query + skip;
			len   = piece - skip;
		}
		piece += end ? 1 : 0;
		query += piece;
		left -= piece;
	}
	lobby_clean(out, LOBBY_VERSION_CHARS, value, len);
}
