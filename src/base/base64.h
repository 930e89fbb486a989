/*
 * Bytes as base64 (RFC 4648, with padding).
 */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

/* Characters for so many bytes, the NUL included. */
#define BASE64_BYTES(len) (((len) + 2) / 3 * 4 + 1)

/* Writes BASE64_BYTES(len) to out, the last of them a NUL. */
void base64_encode(char *out, const void *data, size_t len);

/* Room for what so many characters stand for. */
#define BASE64_DECODED_BYTES(chars) ((chars) / 4 * 3)

/*
 * Reads exactly what base64_encode writes: nothing but the alphabet, padding to a multiple of four characters, and zeros in
 * the bits that are left over. out has room for BASE64_DECODED_BYTES(text_len); *len becomes what was written.
 * ERR_MALFORMED for anything else; *len is untouched then, out may hold anything.
 */
enum err base64_decode(uint8_t *out, size_t *len, const char *text, size_t text_len);

#endif
