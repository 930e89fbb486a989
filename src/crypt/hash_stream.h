/*
 * SHA-256 of bytes that come piece by piece, over libcrypto (fast in bulk).
 */
#ifndef CRYPT_HASH_STREAM_H
#define CRYPT_HASH_STREAM_H

#include "base/err.h"
#include "crypt/hash.h"

struct hash_stream;

struct hash_stream *hash_stream_new(void);                   /* NULL when out of memory */
void                hash_stream_free(struct hash_stream *h); /* NULL is fine */
void                hash_stream_add(struct hash_stream *h, const void *data, size_t len);
void                hash_stream_end(uint8_t out[HASH_SHA256_BYTES], struct hash_stream *h); /* once */

#endif
