/*
 * Players with a key, who can sign: what a mod does, over libsodium.
 */
#ifndef TESTS_IDENTITY_H
#define TESTS_IDENTITY_H

#include <stddef.h>
#include <stdint.h>

struct identity {
	uint8_t key[32]; /* public */
	uint8_t secret[64];
	char    text[69]; /* "gen:" and the key in hex */
};

/* Another one for each number, the same in every run. */
struct identity identity_of(unsigned number);

/* The one whose secret begins with this seed (RFC 8032). */
struct identity identity_of_seed(const uint8_t seed[32]);

void identity_sign(uint8_t sig[64], const struct identity *who, const void *data, size_t len);

#endif
