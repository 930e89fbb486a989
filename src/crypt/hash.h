/*
 * Hashes, keyed hashes and comparison of secrets, over libsodium.
 */
#ifndef CRYPT_HASH_H
#define CRYPT_HASH_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HASH_SHA256_BYTES 32
#define HASH_KEY_BYTES    32
#define HASH_KEYED_BYTES  16

/* Once, before any other function of crypt/. ERR_INTERNAL when the library refuses to start. */
enum err crypt_init(void);

void hash_sha256(uint8_t out[HASH_SHA256_BYTES], const void *data, size_t len);

/* BLAKE2b of 16 bytes under a key: what stands for a client address where none may be kept. */
void hash_keyed(uint8_t out[HASH_KEYED_BYTES], const uint8_t key[HASH_KEY_BYTES], const void *data, size_t len);

/*
 * The same with a key of 16 to 64 bytes: the tag of a packet under the key of a session or a room. Keys of different lengths
 * give different results even when one begins like the other; with HASH_KEY_BYTES it is hash_keyed.
 */
void hash_tag(uint8_t out[HASH_KEYED_BYTES], const uint8_t *key, size_t key_len, const void *data, size_t len);

/* Compares in constant time. */
bool equal_secret(const void *a, const void *b, size_t len);

/* Overwrites a secret that is no longer needed; never optimised away. */
void wipe_secret(void *data, size_t len);

#endif
