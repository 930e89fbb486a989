#include "crypt/hash_stream.h"

#include <assert.h>
#include <openssl/evp.h>

static EVP_MD_CTX *context_of(struct hash_stream *h)
{
	return (EVP_MD_CTX *)h;
}

struct hash_stream *hash_stream_new(void)
{
	EVP_MD_CTX *c = EVP_MD_CTX_new();

	if (c && EVP_DigestInit_ex(c, EVP_sha256(), NULL) != 1) {
		EVP_MD_CTX_free(c);
		c = NULL;
	}
	return (struct hash_stream *)c;
}

void hash_stream_free(struct hash_stream *h)
{
	EVP_MD_CTX_free(context_of(h));
}

/* Of the two below, libcrypto's SHA-256 has no way to fail. */

void hash_stream_add(struct hash_stream *h, const void *data, size_t len)
{
	int ok = EVP_DigestUpdate(context_of(h), data, len);

	assert(ok == 1);
	(void)ok;
}

void hash_stream_end(uint8_t out[HASH_SHA256_BYTES], struct hash_stream *h)
{
	int ok = EVP_DigestFinal_ex(context_of(h), out, NULL);

	assert(ok == 1);
	(void)ok;
}
