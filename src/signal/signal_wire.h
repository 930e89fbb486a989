/*
 * Lines of the signaling relay: found in what comes, and read. Pure.
 *
 *	token SP identity LF			the greeting
 *	"nonce " 64 hex LF			the server's challenge
 *	"auth " 128 hex LF			the proof
 *	destination SP payload LF		a relay line; goes on as: sender SP payload LF
 */
#ifndef SIGNAL_SIGNAL_WIRE_H
#define SIGNAL_SIGNAL_WIRE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIGNAL_KEY_BYTES      32
#define SIGNAL_IDENTITY_CHARS 68 /* "gen:" and 64 lower-case hex digits */
#define SIGNAL_IDENTITY_MAX   80 /* a longer word is no identity whatever it is */
#define SIGNAL_NONCE_CHARS    64
#define SIGNAL_SIG_BYTES      64
#define SIGNAL_TEXT_BYTES     163  /* what a proof signs: tag, identity, nonce */
#define SIGNAL_GREETING_MAX   512  /* bytes of a line before registration, LF included */
#define SIGNAL_LINE_MAX       8192 /* after it, LF included */

/*
 * Finds lines in bytes that come in any pieces, each byte looked at once. A line that lies whole in what came is not
 * copied.
 */
struct signal_reader {
	uint8_t *held; /* of an unfinished line; NULL: none */
	size_t   len, cap;
};

enum signal_read { SIGNAL_READ_LINE, SIGNAL_READ_MORE, SIGNAL_READ_TOO_LONG, SIGNAL_READ_NOMEM };

/*
 * The next line from *at on: LINE: *line of *len bytes, LF included, valid until the next call; *at is behind it. MORE: all
 * was taken. TOO_LONG: a line or an unfinished one outgrows max. The reader may be used on after LINE only.
 */
enum signal_read signal_reader_next(struct signal_reader *r, const uint8_t **at, const uint8_t *end, size_t max,
                                    const uint8_t **line, size_t *len);
void             signal_reader_fini(struct signal_reader *r);

/* What a greeting says; the token points into the line. Refusals in the order of the document. */
enum signal_greeting { SIGNAL_GREETED, SIGNAL_BAD_SHAPE, SIGNAL_BAD_LENGTH, SIGNAL_BAD_IDENTITY };
struct signal_hello {
	const uint8_t *token;
	size_t         token_len;
	const uint8_t *identity; /* as it was offered, for the log */
	size_t         identity_len;
	uint8_t        key[SIGNAL_KEY_BYTES];
};
/* SHAPE leaves *out untouched. With the others token and identity are there; the caller compares the token before the rest. */
enum signal_greeting signal_read_greeting(struct signal_hello *out, const uint8_t *line, size_t len);

/* "nonce <hex>\n", 71 bytes. */
#define SIGNAL_CHALLENGE_BYTES 71
void signal_build_challenge(uint8_t out[SIGNAL_CHALLENGE_BYTES], const char nonce[SIGNAL_NONCE_CHARS]);

bool signal_read_proof(uint8_t out[SIGNAL_SIG_BYTES], const uint8_t *line, size_t len);
void signal_proof_text(uint8_t out[SIGNAL_TEXT_BYTES], const uint8_t key[SIGNAL_KEY_BYTES],
                       const char nonce[SIGNAL_NONCE_CHARS]);

void signal_identity(char out[SIGNAL_IDENTITY_CHARS + 1], const uint8_t key[SIGNAL_KEY_BYTES]);

/* Where a relay line goes; the payload is everything behind the first blank, LF included. False: dropped. */
bool signal_read_relay(uint8_t key[SIGNAL_KEY_BYTES], const uint8_t **payload, size_t *payload_len, const uint8_t *line,
                       size_t len);

#endif
