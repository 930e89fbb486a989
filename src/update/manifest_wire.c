/*
 * The body is walked line by line up to the signature; a table says what becomes of each known word.
 *
 * Where a launcher would let something pass that the format does not allow (a word twice, an empty line), it is refused
 * here: the publisher hears of it from his own log, and not from players whose launcher thinks otherwise.
 */
#include "update/manifest_wire.h"

#include "base/auto.h"
#include "base/hex.h"
#include "base/text.h"

#include <stdbool.h>
#include <string.h>

#define FIRST     "Crysis Coop update"
#define SIGNATURE "signature "

struct span {
	const char *at;
	size_t      len;
};

static bool starts(struct span s, const char *with)
{
	size_t len = text_length(with);

	return s.len >= len && memcmp(s.at, with, len) == 0;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* --- Values --- */

static bool copy(char out[MANIFEST_TEXT_BYTES], struct span value)
{
	if (value.len >= MANIFEST_TEXT_BYTES)
		return false;
	memcpy(out, value.at, value.len);
	out[value.len] = '\0';
	return true;
}

static bool take_version(struct manifest *m, struct span v)
{
	bool digit_before = false;

	for (size_t i = 0; i < v.len; i++) {
		bool digit = is_digit(v.at[i]);

		if (!digit && (v.at[i] != '.' || !digit_before))
			return false;
		digit_before = digit;
	}
	return digit_before && copy(m->version, v);
}

static bool take_package(struct manifest *m, struct span v)
{
	for (size_t i = 0; i < v.len; i++) {
		char c = v.at[i];

		if (!is_letter(c) && !is_digit(c) && c != '.' && c != '-' && c != '_')
			return false;
	}
	return v.len > 0 && v.at[0] != '.' && copy(m->package, v);
}

static bool take_size(struct manifest *m, struct span v)
{
	char text[MANIFEST_TEXT_BYTES];

	return copy(text, v) && text_to_int(&m->size, text, 1, MANIFEST_PACKAGE_BYTES_MAX) == ERR_OK;
}

static bool take_sha256(struct manifest *m, struct span v)
{
	return hex_decode(m->sha256, sizeof(m->sha256), v.at, v.len) == ERR_OK;
}

struct word {
	const char *name; /* with the blank behind it */
	bool (*take)(struct manifest *m, struct span value);
	const char *bad, *twice, *missing;
};

/* clang-format off */
#define WORD(name, rule)                                                                                               \
	{ #name " ", take_##name, "the line '" #name "' is not " rule, "the line '" #name "' stands there twice",      \
	  "the line '" #name "' is missing" }
/* clang-format on */

static const struct word words[] = {
	WORD(version, "numbers with dots between them, 127 characters at most"),
	WORD(package, "a file name of at most 127 letters, digits, '.', '-' and '_' without a dot in front"),
	WORD(size, "a number of bytes from 1 to 67108864"),
	WORD(sha256, "64 hex digits"),
};
#define WORDS COUNT_OF(words)

/* --- Lines --- */

/* Cuts the next line, without its LF, off the front. False: there is no LF. */
static bool take_line(struct span *line, struct span *rest)
{
	const char *end = rest->len ? memchr(rest->at, '\n', rest->len) : NULL;

	if (!end)
		return false;
	line->at  = rest->at;
	line->len = (size_t)(end - rest->at);
	rest->at += line->len + 1;
	rest->len -= line->len + 1;
	return true;
}

/* NULL: the line is well. */
static const char *check_line(struct span line)
{
	for (size_t i = 0; i < line.len; i++) {
		if (line.at[i] == '\r')
			return "a line ends with CR LF or has a CR in it; lines end with LF alone";
		if (line.at[i] < ' ' || line.at[i] > '~')
			return "there is a character that is not printable ASCII";
	}
	if (line.len == 0 || line.at[0] == ' ' || !memchr(line.at, ' ', line.len))
		return "a line is not a word, one blank and a value";
	return NULL;
}

static const char *read_line(struct manifest *m, bool seen[WORDS], struct span line)
{
	const char *why = check_line(line);

	for (size_t i = 0; i < WORDS && !why; i++) {
		size_t      name_len = text_length(words[i].name);
		struct span value    = { line.at + name_len, line.len - name_len };

		if (!starts(line, words[i].name))
			continue;
		if (seen[i])
			return words[i].twice;
		seen[i] = true;
		return words[i].take(m, value) ? NULL : words[i].bad;
	}
	return why;
}

static const char *read_signature(struct manifest *m, struct span s)
{
	size_t digits = 2 * sizeof(m->signature);

	s.at += text_length(SIGNATURE);
	s.len -= text_length(SIGNATURE);
	if (s.len < digits || hex_decode(m->signature, sizeof(m->signature), s.at, digits) != ERR_OK)
		return "the line 'signature' is not 128 hex digits";
	for (size_t i = digits; i < s.len; i++) {
		if (s.at[i] != '\r' && s.at[i] != '\n' && s.at[i] != ' ')
			return "something stands behind the signature";
	}
	return NULL;
}

static const char *read_all(struct manifest *m, struct span all)
{
	struct span rest        = all, line;
	bool        seen[WORDS] = { false };
	const char *why         = NULL;

	if (all.len > MANIFEST_BYTES_MAX)
		return "it is longer than 4096 bytes";
	if (!starts(all, FIRST))
		return "it does not begin with 'Crysis Coop update'";
	while (!why && !starts(rest, SIGNATURE)) {
		if (!take_line(&line, &rest))
			return "the line 'signature' is missing";
		why = read_line(m, seen, line);
	}
	m->signed_len = (size_t)(rest.at - all.at);
	for (size_t i = 0; i < WORDS && !why; i++) {
		if (!seen[i])
			why = words[i].missing;
	}
	return why ? why : read_signature(m, rest);
}

enum err manifest_parse(struct manifest *out, const char **why, const void *data, size_t len)
{
	memset(out, 0, sizeof(*out));

	const char *found = read_all(out, (struct span){ data, len });
	if (!found)
		return ERR_OK;
	*why = found;
	return ERR_MALFORMED;
}
