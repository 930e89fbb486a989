/*
 * Ed25519 is libsodium's, which refuses keys and points of small order by itself. Of P-256 a signature comes as two
 * numbers side by side, and libcrypto wants them as DER. What libcrypto has to say about failures is thrown away: its list
 * of them is the thread's, and TLS on the same thread would take an old one for its own.
 */
#include "crypt/verify.h"

#include <assert.h>
#include <limits.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <sodium.h>
#include <string.h>

#define P256_HALF_BYTES (VERIFY_P256_SIG_BYTES / 2)

static_assert(VERIFY_ED25519_KEY_BYTES == crypto_sign_ed25519_PUBLICKEYBYTES, "one size of key");
static_assert(VERIFY_ED25519_SIG_BYTES == crypto_sign_ed25519_BYTES, "one size of signature");

bool verify_ed25519(const uint8_t sig[VERIFY_ED25519_SIG_BYTES], const void *data, size_t len,
                    const uint8_t key[VERIFY_ED25519_KEY_BYTES])
{
	return crypto_sign_ed25519_verify_detached(sig, data, len, key) == 0;
}

/* P-256: a struct p256_key is an EVP_PKEY. */

static EVP_PKEY *pkey_of(const struct p256_key *k)
{
	return (EVP_PKEY *)(uintptr_t)k;
}

/* A file that asks for a password is no public key; the library would ask at the terminal. */
static int no_password(char *buf, int size, int writing, void *arg)
{
	(void)buf, (void)size, (void)writing, (void)arg;
	return -1;
}

static bool is_good_p256(EVP_PKEY *key)
{
	char          group[32] = "";
	EVP_PKEY_CTX *check     = NULL;
	bool good = EVP_PKEY_is_a(key, "EC") && EVP_PKEY_get_group_name(key, group, sizeof(group), NULL) == 1 &&
	            strcmp(group, SN_X9_62_prime256v1) == 0;

	if (good) {
		check = EVP_PKEY_CTX_new_from_pkey(NULL, key, NULL);
		good  = check && EVP_PKEY_public_check(check) == 1;
	}
	EVP_PKEY_CTX_free(check);
	return good;
}

enum err p256_key_new(struct p256_key **out, const char *pem, size_t len)
{
	if (len > INT_MAX)
		return ERR_MALFORMED;

	BIO *from = BIO_new_mem_buf(pem, (int)len);
	if (!from) {
		ERR_clear_error();
		return ERR_NOMEM;
	}

	EVP_PKEY *key = PEM_read_bio_PUBKEY(from, NULL, no_password, NULL);
	BIO_free(from);
	if (key && !is_good_p256(key)) {
		EVP_PKEY_free(key);
		key = NULL;
	}
	ERR_clear_error();
	if (!key)
		return ERR_MALFORMED;
	*out = (struct p256_key *)key;
	return ERR_OK;
}

void p256_key_free(struct p256_key *k)
{
	EVP_PKEY_free(pkey_of(k));
}

/* For OPENSSL_free; NULL when out of memory. */
static uint8_t *signature_der(int *len, const uint8_t sig[VERIFY_P256_SIG_BYTES])
{
	ECDSA_SIG *both = ECDSA_SIG_new();
	BIGNUM    *r    = BN_bin2bn(sig, P256_HALF_BYTES, NULL);
	BIGNUM    *s    = BN_bin2bn(sig + P256_HALF_BYTES, P256_HALF_BYTES, NULL);
	uint8_t   *der  = NULL;

	if (!both || !r || !s || ECDSA_SIG_set0(both, r, s) != 1) {
		BN_free(r);
		BN_free(s);
	} else {
		*len = i2d_ECDSA_SIG(both, &der);
	}
	ECDSA_SIG_free(both);
	return der;
}

/* That r and s are from 1 to the order of the curve is the library's to check. */
bool verify_p256(const struct p256_key *k, const uint8_t sig[VERIFY_P256_SIG_BYTES], const void *data, size_t len)
{
	int         der_len = 0;
	uint8_t    *der     = signature_der(&der_len, sig);
	EVP_MD_CTX *c       = EVP_MD_CTX_new();
	bool good = der && der_len > 0 && c && EVP_DigestVerifyInit(c, NULL, EVP_sha256(), NULL, pkey_of(k)) == 1 &&
	            EVP_DigestVerify(c, der, (size_t)der_len, data, len) == 1;

	EVP_MD_CTX_free(c);
	OPENSSL_free(der);
	ERR_clear_error();
	return good;
}
