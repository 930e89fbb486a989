/*
 * Text in fixed buffers: copied, formatted, compared, parsed. Nothing here allocates.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include "base/err.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Copies text into out of cap bytes, cut at a byte if too long, always ended by NUL. False when it was cut. */
bool text_copy(char *out, size_t cap, const char *text);

/* Bytes before the NUL: for pure files, which see nothing of the C library but mem*. */
size_t text_length(const char *text);

/* snprintf that says whether all fitted. out is always ended by NUL (cap at least 1). */
bool text_format(char *out, size_t cap, const char *format, ...) __attribute__((format(printf, 3, 4)));
bool text_formatv(char *out, size_t cap, const char *format, va_list args) __attribute__((format(printf, 3, 0)));

/* ASCII, without regard to case. */
bool text_same_nocase(const char *a, const char *b);

/* Removes blanks and tabs at both ends: moves *text and shortens *len; no byte is written. */
void text_trim(const char **text, size_t *len);

/*
 * A peer's bytes made fit to stand between quotes in one line of log: printable ASCII stays, a backslash is doubled,
 * everything else, quotes too, becomes \xHH: nothing in it ends the quotes and begins a key=value of its own. Stops before the first byte whose form does not fit and then ends with "..." (cap at least 8).
 */
void text_escape(char *out, size_t cap, const void *data, size_t len);

/*
 * The length of the whole, shortest-form character (surrogates and what lies beyond U+10FFFF excluded) that these bytes
 * start with, and its code point; 0 for none, *code is untouched then. len is at least 1.
 */
size_t text_char(uint32_t *code, const void *data, size_t len);

/* Whether these bytes are whole characters of UTF-8, each in its shortest form. Nothing at all is, too. */
bool text_is_utf8(const void *data, size_t len);

/*
 * Makes the text valid UTF-8 without changing its length: each byte that is no part of a whole, shortest-form character
 * (surrogates and what lies beyond U+10FFFF excluded) becomes '?'.
 */
void text_make_utf8(char *text);

/*
 * A peer's bytes made fit to be shown to people: at most chars_max characters of valid UTF-8. Each byte that is no part of
 * a whole, shortest-form character becomes U+FFFD, each control character (C0, DEL, C1) a blank. Stops before the first
 * character that does not fit; 4 * chars_max + 1 bytes of room are always enough. out is always ended by NUL (cap at
 * least 1).
 */
void text_clean(char *out, size_t cap, const void *data, size_t len, size_t chars_max);

/* Decimal digits only (a leading '-' for negative), whole text, within [min, max]; ERR_MALFORMED otherwise. */
enum err text_to_int(int64_t *out, const char *text, int64_t min, int64_t max);

/* The number of single-character changes between two words, at most cap; for "did you mean". */
size_t text_distance(const char *a, const char *b, size_t cap);

#endif
