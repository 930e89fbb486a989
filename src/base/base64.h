/*
 * Bytes as base64 (RFC 4648, with padding).
 */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include <stddef.h>

/* Characters for so many bytes, the NUL included. */
#define BASE64_BYTES(len) (((len) + 2) / 3 * 4 + 1)

/* Writes BASE64_BYTES(len) to out, the last of them a NUL. */
void base64_encode(char *out, const void *data, size_t len);

#endif
