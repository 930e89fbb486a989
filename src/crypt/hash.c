/*
 * libsodium, under the names that say what each is for.
 */
#include "crypt/hash.h"

#include <assert.h>
#include <sodium.h>

static_assert(HASH_SHA256_BYTES == crypto_hash_sha256_BYTES, "one size of SHA-256");
static_assert(HASH_KEY_BYTES <= crypto_generichash_KEYBYTES_MAX, "the key fits");
static_assert(HASH_KEYED_BYTES >= crypto_generichash_BYTES_MIN, "the result is not too short for the library");

enum err crypt_init(void)
{
	return sodium_init() < 0 ? ERR_INTERNAL : ERR_OK;
}

void hash_sha256(uint8_t out[HASH_SHA256_BYTES], const void *data, size_t len)
{
	crypto_hash_sha256(out, data, len);
}

void hash_keyed(uint8_t out[HASH_KEYED_BYTES], const uint8_t key[HASH_KEY_BYTES], const void *data, size_t len)
{
	hash_tag(out, key, HASH_KEY_BYTES, data, len);
}

void hash_tag(uint8_t out[HASH_KEYED_BYTES], const uint8_t *key, size_t key_len, const void *data, size_t len)
{
	assert(key_len >= crypto_generichash_KEYBYTES_MIN && key_len <= crypto_generichash_KEYBYTES_MAX);
	crypto_generichash(out, HASH_KEYED_BYTES, data, len, key, key_len);
}

bool equal_secret(const void *a, const void *b, size_t len)
{
	return sodium_memcmp(a, b, len) == 0;
}

void wipe_secret(void *data, size_t len)
{
	sodium_memzero(data, len);
}
