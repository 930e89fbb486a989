/*
 * What of a peer's text people may be shown: it stands in lists beside that of others, where a character that turns the
 * direction of writing, or that nobody sees, makes one entry look like another.
 */
#ifndef BASE_CLEAN_H
#define BASE_CLEAN_H

#include <stddef.h>

#define CLEAN_BYTES(chars)   (4 * (chars) + 1) /* of memory for a cleaned text */
#define CLEAN_BAD_IS_SHOWN   "\xef\xbf\xbd"    /* U+FFFD */
#define CLEAN_BAD_IS_REMOVED ""

/*
 * Puts bad in the place of each control, white space other than the blank, mark of direction, character that is not seen or
 * of private use, and each byte that is no part of a whole, shortest-form character; then cuts at chars_max characters. Where
 * two texts that differ must not look the same, bad has to be shown. out has CLEAN_BYTES(chars_max), and is valid UTF-8.
 */
void clean_text(char *out, size_t chars_max, const void *text, size_t len, const char *bad);

/* Without the white space (of Unicode) at both ends: moves *text, shortens *len. */
void clean_trim(const char **text, size_t *len);

#endif
