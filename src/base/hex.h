/*
 * Bytes as hex digits and back.
 */
#ifndef BASE_HEX_H
#define BASE_HEX_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

/* Writes 2 * len lower case digits and a NUL to out, which has room for 2 * len + 1. */
void hex_encode(char *out, const void *data, size_t len);

/*
 * Reads exactly 2 * len digits of either case from the text of text_len characters.
 * ERR_MALFORMED for any other length or character; out is untouched then.
 */
enum err hex_decode(uint8_t *out, size_t len, const char *text, size_t text_len);

#endif
