#include "signal/signal_wire.h"

#include "base/hex.h"

#include <assert.h>
#include <string.h>

#define PREFIX      "gen:"
#define NONCE_VERB  "nonce "
#define PROOF_VERB  "auth "
#define PROOF_TAG   "multivoid-signaling-register-v1"
#define TEXT_LEN(s) (sizeof(s) - 1)

static_assert(TEXT_LEN(PREFIX) + 2 * SIGNAL_KEY_BYTES == SIGNAL_IDENTITY_CHARS, "an identity is a prefix and a key");
static_assert(TEXT_LEN(NONCE_VERB) + SIGNAL_NONCE_CHARS == SIGNAL_CHALLENGE_BYTES, "a challenge is a verb and a nonce");
static_assert(TEXT_LEN(PROOF_TAG) + SIGNAL_IDENTITY_CHARS + SIGNAL_NONCE_CHARS == SIGNAL_TEXT_BYTES,
              "a tag, an identity and a nonce are signed");

/* What clients may leave at the ends of a line: blanks, tabs, the CR of a CR LF. */
static bool is_white(uint8_t c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static void trim(const uint8_t **text, size_t *len)
{
	while (*len > 0 && is_white((*text)[0])) {
		(*text)++;
		(*len)--;
	}
	while (*len > 0 && is_white((*text)[*len - 1]))
		(*len)--;
}

#define NO_DIGIT 0x80

/* One more than a digit's value, so that what is not named here is none. */
static const uint8_t digits[256] = {
	['0'] = 1, ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
	['8'] = 9, ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16
};

static unsigned digit_value(uint8_t c)
{
	return digits[c] ? digits[c] - 1U : NO_DIGIT;
}

/*
 * Names and proofs are compared as text elsewhere, so there is one way to write them: no digit is in upper case. This is
 * done for every line, which is why it has a table of its own.
 */
static bool read_lower_hex(uint8_t *out, size_t bytes, const uint8_t *text)
{
	unsigned seen = 0;

	for (size_t i = 0; i < bytes; i++) {
		unsigned high = digit_value(text[2 * i]), low = digit_value(text[2 * i + 1]);

		seen |= high | low;
		out[i] = (uint8_t)(high << 4 | low);
	}
	return seen < NO_DIGIT;
}

static bool read_identity(uint8_t key[SIGNAL_KEY_BYTES], const uint8_t *text, size_t len)
{
	return len == SIGNAL_IDENTITY_CHARS && memcmp(text, PREFIX, TEXT_LEN(PREFIX)) == 0 &&
	       read_lower_hex(key, SIGNAL_KEY_BYTES, text + TEXT_LEN(PREFIX));
}

enum signal_greeting signal_read_greeting(struct signal_hello *out, const uint8_t *line, size_t len)
{
	trim(&line, &len);

	const uint8_t *blank = len > 0 ? memchr(line, ' ', len) : NULL;

	if (!blank)
		return SIGNAL_BAD_SHAPE;

	/* Trimmed, so neither word can be empty, unless two blanks follow each other: then the second begins with one. */
	size_t token_len = (size_t)(blank - line), identity_len = len - token_len - 1;

	if (memchr(blank + 1, ' ', identity_len))
		return SIGNAL_BAD_SHAPE;
	*out = (struct signal_hello){
		.token = line, .token_len = token_len, .identity = blank + 1, .identity_len = identity_len
	};
	if (identity_len > SIGNAL_IDENTITY_MAX)
		return SIGNAL_BAD_LENGTH;
	return read_identity(out->key, out->identity, identity_len) ? SIGNAL_GOOD_GREETING : SIGNAL_BAD_IDENTITY;
}

void signal_build_challenge(uint8_t out[SIGNAL_CHALLENGE_BYTES], const char nonce[SIGNAL_NONCE_CHARS])
{
	memcpy(out, NONCE_VERB, TEXT_LEN(NONCE_VERB));
	memcpy(out + TEXT_LEN(NONCE_VERB), nonce, SIGNAL_NONCE_CHARS);
}

bool signal_read_proof(uint8_t out[SIGNAL_SIG_BYTES], const uint8_t *line, size_t len)
{
	trim(&line, &len);
	return len == TEXT_LEN(PROOF_VERB) + 2 * (size_t)SIGNAL_SIG_BYTES &&
	       memcmp(line, PROOF_VERB, TEXT_LEN(PROOF_VERB)) == 0 &&
	       read_lower_hex(out, SIGNAL_SIG_BYTES, line + TEXT_LEN(PROOF_VERB));
}

void signal_proof_text(uint8_t out[SIGNAL_TEXT_BYTES], const uint8_t key[SIGNAL_KEY_BYTES],
                       const char nonce[SIGNAL_NONCE_CHARS])
{
	char identity[SIGNAL_IDENTITY_CHARS + 1];

	signal_identity(identity, key);
	memcpy(out, PROOF_TAG, TEXT_LEN(PROOF_TAG));
	out += TEXT_LEN(PROOF_TAG);
	memcpy(out, identity, SIGNAL_IDENTITY_CHARS);
	memcpy(out + SIGNAL_IDENTITY_CHARS, nonce, SIGNAL_NONCE_CHARS);
}

void signal_identity(char out[SIGNAL_IDENTITY_CHARS + 1], const uint8_t key[SIGNAL_KEY_BYTES])
{
	memcpy(out, PREFIX, TEXT_LEN(PREFIX));
	hex_encode(out + TEXT_LEN(PREFIX), key, SIGNAL_KEY_BYTES);
}

enum signal_relayed signal_read_relay(struct signal_relay_line *out, const uint8_t *line, size_t len)
{
	const uint8_t *blank = len > 0 ? memchr(line, ' ', len) : NULL;

	if (!blank || blank == line)
		return SIGNAL_NO_BLANK;

	const uint8_t *name     = line;
	size_t         name_len = (size_t)(blank - line);
	uint8_t        key[SIGNAL_KEY_BYTES];

	trim(&name, &name_len);
	if (!read_identity(key, name, name_len))
		return SIGNAL_NO_IDENTITY;
	memcpy(out->key, key, sizeof(key));
	out->payload     = blank + 1;
	out->payload_len = len - (size_t)(blank + 1 - line);
	return SIGNAL_RELAYED;
}

bool signal_is_test(const uint8_t *payload, size_t len)
{
	return len == 0 || (len == 1 && payload[0] == '\r'); /* from who ends his lines with CR LF */
}
