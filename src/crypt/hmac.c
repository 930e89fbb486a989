/* One call of libcrypto, which keeps notes of its failures per thread that somebody else would stumble over. */
#include "crypt/hmac.h"

#include <assert.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

enum err hmac_sha1(uint8_t out[HMAC_SHA1_BYTES], const void *key, size_t key_len, const void *data, size_t len)
{
	unsigned done = 0;

	assert(key_len <= INT_MAX);
	/* The library takes a key of NULL for the one before. */
	const void *given = key_len > 0 ? key : "";

	if (HMAC(EVP_sha1(), given, (int)key_len, data, len, out, &done) && done == HMAC_SHA1_BYTES)
		return ERR_OK;
	ERR_clear_error();
	return ERR_INTERNAL;
}
