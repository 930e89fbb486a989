/*
 * HMAC-SHA1 over libcrypto: what the password of a TURN credential is (draft-uberti-behave-turn-rest). SHA-1 is broken for
 * signatures, not for this, and TURN servers know nothing else.
 */
#ifndef CRYPT_HMAC_H
#define CRYPT_HMAC_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define HMAC_SHA1_BYTES 20

/* ERR_INTERNAL when the library refuses (it is built without SHA-1). Any thread. */
enum err hmac_sha1(uint8_t out[HMAC_SHA1_BYTES], const void *key, size_t key_len, const void *data, size_t len);

#endif
