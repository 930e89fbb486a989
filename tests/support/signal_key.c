#include "support/signal_key.h"

#include "base/hex.h"
#include "support/vectors.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

struct signal_key signal_key_of_seed(const uint8_t seed[SIGNAL_SEED_BYTES])
{
	struct signal_key k;

	cr_assert_geq(sodium_init(), 0);
	crypto_sign_ed25519_seed_keypair(k.public_key, k.secret_key, seed);
	memcpy(k.identity, "gen:", 4);
	hex_encode(k.identity + 4, k.public_key, sizeof(k.public_key));
	return k;
}

struct signal_key signal_key_of(unsigned number)
{
	uint8_t seed[SIGNAL_SEED_BYTES] = { 0 };

	memcpy(seed, &number, sizeof(number));
	return signal_key_of_seed(seed);
}

void signal_key_sign(const struct signal_key *k, char out[SIGNAL_SIG_CHARS + 1], const void *data, size_t len)
{
	uint8_t sig[SIGNAL_SIG_BYTES];

	crypto_sign_ed25519_detached(sig, NULL, data, len, k->secret_key);
	hex_encode(out, sig, sizeof(sig));
}

/* Put together here once more, and not by the server's own function, which it is to test. */
void signal_key_prove(const struct signal_key *k, char out[SIGNAL_SIG_CHARS + 1], const char *nonce)
{
	char text[SIGNAL_TEXT_BYTES + 1];

	snprintf(text, sizeof(text), "multivoid-signaling-register-v1%s%.64s", k->identity, nonce);
	signal_key_sign(k, out, text, SIGNAL_TEXT_BYTES);
}

size_t signal_vectors_load(struct signal_vector *out, size_t cap)
{
	char   path[512], line[1024], seed[2 * SIGNAL_SEED_BYTES + 1];
	size_t count = 0;
	FILE  *in    = fopen(tests_path(path, sizeof(path), "vectors/signal.txt"), "re");

	cr_assert_not_null(in, "%s: %s", path, strerror(errno));
	while (count < cap && fgets(line, sizeof(line), in)) {
		struct signal_vector *v = &out[count];

		if (line[0] == '#' || line[0] == '\n')
			continue;
		cr_assert_eq(sscanf(line, "%15[a-z] | %64[0-9a-f] | %68s | %64[0-9a-f] | %128[0-9a-f]", v->name, seed,
		                    v->identity, v->nonce, v->sig),
		             5, "%s", line);
		cr_assert_eq(hex_decode(v->seed, sizeof(v->seed), seed, strlen(seed)), ERR_OK);
		count++;
	}
	fclose(in);
	cr_assert_gt(count, 0);
	return count;
}
