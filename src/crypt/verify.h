/*
 * Signatures of others, verified: Ed25519 (players' identities, over libsodium) and ECDSA on P-256 with SHA-256 (update
 * manifests, over libcrypto). coopd signs nothing.
 */
#ifndef CRYPT_VERIFY_H
#define CRYPT_VERIFY_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define VERIFY_ED25519_KEY_BYTES 32
#define VERIFY_ED25519_SIG_BYTES 64
#define VERIFY_P256_SIG_BYTES    64 /* r then s, 32 bytes each, big-endian */

/* False also for keys and signatures that are no points of the curve, or of small order. */
bool verify_ed25519(const uint8_t sig[VERIFY_ED25519_SIG_BYTES], const void *data, size_t len,
                    const uint8_t key[VERIFY_ED25519_KEY_BYTES]);

struct p256_key;

/*
 * A public key in PEM ("BEGIN PUBLIC KEY"). ERR_MALFORMED: it is none on P-256; ERR_NOMEM. The key may be used by several
 * threads.
 */
enum err p256_key_new(struct p256_key **out, const char *pem, size_t len);
void     p256_key_free(struct p256_key *k); /* NULL is fine */

bool verify_p256(const struct p256_key *k, const uint8_t sig[VERIFY_P256_SIG_BYTES], const void *data, size_t len);

#endif
