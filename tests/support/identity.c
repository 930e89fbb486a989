#include "support/identity.h"

#include "base/hex.h"
#include "crypt/hash.h"

#include <criterion/criterion.h>
#include <sodium.h>
#include <string.h>

struct identity identity_of(unsigned number)
{
	uint8_t seed[crypto_sign_SEEDBYTES];

	cr_assert_eq(crypt_init(), ERR_OK);
	hash_sha256(seed, &number, sizeof(number));
	return identity_of_seed(seed);
}

struct identity identity_of_seed(const uint8_t seed[32])
{
	struct identity who = { .text = "gen:" };

	cr_assert_eq(crypt_init(), ERR_OK);
	crypto_sign_seed_keypair(who.key, who.secret, seed);
	hex_encode(who.text + strlen(who.text), who.key, sizeof(who.key));
	return who;
}

void identity_sign(uint8_t sig[64], const struct identity *who, const void *data, size_t len)
{
	crypto_sign_detached(sig, NULL, data, len, who->secret);
}
