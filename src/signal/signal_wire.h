/*
 * Lines of the signaling relay, read and built. Pure. All are given and made without their LF, which TCP has at a line's
 * end and WebSocket has not.
 *
 *	token SP identity			the greeting
 *	"nonce " 64 hex				the server's challenge
 *	"auth " 128 hex				the proof
 *	destination SP payload			a relay line; goes on as: sender SP payload
 */
#ifndef SIGNAL_SIGNAL_WIRE_H
#define SIGNAL_SIGNAL_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIGNAL_KEY_BYTES       32
#define SIGNAL_IDENTITY_CHARS  68 /* "gen:" and 64 lower-case hex digits */
#define SIGNAL_IDENTITY_MAX    80 /* a longer word is no identity whatever it is */
#define SIGNAL_NONCE_BYTES     32
#define SIGNAL_NONCE_CHARS     64
#define SIGNAL_SIG_BYTES       64
#define SIGNAL_TEXT_BYTES      163  /* what a proof signs: tag, identity, nonce */
#define SIGNAL_CHALLENGE_BYTES 70   /* "nonce " and 64 hex digits */
#define SIGNAL_GREETING_MAX    512  /* bytes of a line before registration, LF included */
#define SIGNAL_LINE_MAX        8192 /* after it, LF included; no frame that is sent is longer */

/* What a greeting says. Token and identity point into the line; the identity is as it was offered. */
struct signal_hello {
	const uint8_t *token;
	size_t         token_len;
	const uint8_t *identity;
	size_t         identity_len;
	uint8_t        key[SIGNAL_KEY_BYTES]; /* of SIGNAL_GOOD_GREETING only */
};

/*
 * In the order in which a greeting is refused; the token is to be compared between SHAPE and the other two. BAD_SHAPE
 * leaves *out untouched.
 */
enum signal_greeting { SIGNAL_GOOD_GREETING, SIGNAL_BAD_SHAPE, SIGNAL_BAD_LENGTH, SIGNAL_BAD_IDENTITY };
enum signal_greeting signal_read_greeting(struct signal_hello *out, const uint8_t *line, size_t len);

void signal_build_challenge(uint8_t out[SIGNAL_CHALLENGE_BYTES], const char nonce[SIGNAL_NONCE_CHARS]);

/* False for anything but a proof; out may hold anything then. */
bool signal_read_proof(uint8_t out[SIGNAL_SIG_BYTES], const uint8_t *line, size_t len);

/* The bytes that the key's owner has to sign. */
void signal_proof_text(uint8_t out[SIGNAL_TEXT_BYTES], const uint8_t key[SIGNAL_KEY_BYTES],
                       const char nonce[SIGNAL_NONCE_CHARS]);

/* A key as it is written; ends with NUL. */
void signal_identity(char out[SIGNAL_IDENTITY_CHARS + 1], const uint8_t key[SIGNAL_KEY_BYTES]);

/*
 * Where a relay line goes, and its payload, which points into the line and may be empty. NO_BLANK: none, or nothing before
 * the first. NO_IDENTITY: nobody can be called that. Neither changes *out.
 */
struct signal_relay_line {
	uint8_t        key[SIGNAL_KEY_BYTES];
	const uint8_t *payload;
	size_t         payload_len;
};
enum signal_relayed { SIGNAL_RELAYED, SIGNAL_NO_BLANK, SIGNAL_NO_IDENTITY };
enum signal_relayed signal_read_relay(struct signal_relay_line *out, const uint8_t *line, size_t len);

/* This payload is that of a self test, if its line goes to its sender. */
bool signal_is_test(const uint8_t *payload, size_t len);

#endif
