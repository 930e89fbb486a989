/*
 * Keys of signaling peers, made from numbers, and the proofs they sign.
 */
#ifndef TESTS_SIGNAL_KEY_H
#define TESTS_SIGNAL_KEY_H

#include "signal/signal_wire.h"

#include <stdint.h>

#define SIGNAL_SEED_BYTES 32
#define SIGNAL_SIG_CHARS  (2 * SIGNAL_SIG_BYTES)

struct signal_key {
	uint8_t public_key[SIGNAL_KEY_BYTES];
	uint8_t secret_key[64];
	char    identity[SIGNAL_IDENTITY_CHARS + 1];
};

/* The same number always gives the same key. */
struct signal_key signal_key_of(unsigned number);
struct signal_key signal_key_of_seed(const uint8_t seed[SIGNAL_SEED_BYTES]);

/* Signs these bytes; as lower-case hex with a NUL. */
void signal_key_sign(const struct signal_key *k, char out[SIGNAL_SIG_CHARS + 1], const void *data, size_t len);

/* The proof of its name for this nonce, the same way. */
void signal_key_prove(const struct signal_key *k, char out[SIGNAL_SIG_CHARS + 1], const char *nonce);

/* The rows of vectors/signal.txt. */
struct signal_vector {
	char    name[16];
	uint8_t seed[SIGNAL_SEED_BYTES];
	char    identity[SIGNAL_IDENTITY_CHARS + 1];
	char    nonce[SIGNAL_NONCE_CHARS + 1];
	char    sig[SIGNAL_SIG_CHARS + 1];
};

/* Reads at most cap of them, and returns how many there are. Ends the test when there is none. */
size_t signal_vectors_load(struct signal_vector *out, size_t cap);

#endif
