/*
 * The proof that a host holds the key of its identity: POST /v1/challenge gives a nonce, and the announce brings it back
 * with an Ed25519 signature.
 *
 *	nonce	8 bytes wall ms, big-endian | 8 random | 16 keyed hash over both and the client's address bucket
 *	signed	"coopd-host-proof-v1", the server's public name, the identity ("gen:..."), the nonce (32 bytes), each with its
 *		length before it as 2 bytes, big-endian
 *
 * Nothing is remembered of a nonce until it is used; used ones are remembered until they would have expired (60 s), so that
 * each counts once. Any thread.
 */
#ifndef LOBBY_LOBBY_PROOF_H
#define LOBBY_LOBBY_PROOF_H

#include "lobby/lobby_wire.h"
#include "net/addr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOBBY_NONCE_LIFE_MS 60000

struct lobby_proof;

/* At most used_max used nonces at a time (limits.lobby_nonces): beyond it no proof counts. NULL when out of memory. */
struct lobby_proof *lobby_proof_new(size_t used_max);
void                lobby_proof_free(struct lobby_proof *p);

void lobby_proof_nonce(uint8_t out[LOBBY_NONCE_BYTES], struct lobby_proof *p, const struct addr *client,
                       int64_t wall_ms);

/* The bytes that are signed; *len of them, at most LOBBY_PROOF_TEXT_BYTES. server: lower case, at most 255 bytes. */
#define LOBBY_PROOF_TEXT_BYTES 512
void lobby_proof_text(uint8_t out[LOBBY_PROOF_TEXT_BYTES], size_t *len, const char *server,
                      const uint8_t key[LOBBY_KEY_BYTES], const uint8_t nonce[LOBBY_NONCE_BYTES]);

/* Whether the announce's proof holds, for this client and this name of the server; its nonce is used up then. */
bool lobby_proof_holds(struct lobby_proof *p, const struct lobby_announce *a, const char *server,
                       const struct addr *client, int64_t wall_ms);

#endif
