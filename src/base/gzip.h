/*
 * Bytes compressed as gzip (RFC 1952), and its checksum, over zlib: the only door to it.
 */
#ifndef BASE_GZIP_H
#define BASE_GZIP_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

/* All at once, for free(). ERR_NOMEM; nothing is touched then. The same bytes come out the same every time. */
enum err gzip_bytes(char **out, size_t *out_len, const void *data, size_t len);

/* CRC-32, as in gzip, PNG and STUN. */
uint32_t gzip_crc(const void *data, size_t len);

#endif
