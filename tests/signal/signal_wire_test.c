/*
 * Lines as bytes and structs.
 */
#include "signal/signal_wire.h"

#include "base/auto.h"
#include "base/hex.h"
#include "crypt/verify.h"
#include "support/identity.h"
#include "support/vectors.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define KEY    "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8"
#define NAME   "gen:" KEY
#define HEX16  "0123456789abcdef"
#define HEX128 HEX16 HEX16 HEX16 HEX16 HEX16 HEX16 HEX16 HEX16

static enum signal_greeting greet(struct signal_hello *out, const char *line)
{
	return signal_read_greeting(out, (const uint8_t *)line, strlen(line));
}

/* Proofs */

/* The rows of vectors/signal.txt. */
struct row {
	char    name[16];
	uint8_t seed[32];
	char    identity[SIGNAL_IDENTITY_CHARS + 1];
	char    nonce[SIGNAL_NONCE_CHARS + 1];
	char    sig[2 * SIGNAL_SIG_BYTES + 1];
};

static size_t load_rows(struct row *rows, size_t cap)
{
	char   path[512], line[1024], seed[65];
	size_t count = 0;
	FILE  *in    = fopen(tests_path(path, sizeof(path), "vectors/signal.txt"), "re");

	cr_assert_not_null(in, "%s", path);
	while (count < cap && fgets(line, sizeof(line), in)) {
		struct row *r = &rows[count];

		if (line[0] == '#' || line[0] == '\n')
			continue;
		cr_assert_eq(sscanf(line, "%15[a-z] | %64[0-9a-f] | %68s | %64[0-9a-f] | %128[0-9a-f]", r->name, seed,
		                    r->identity, r->nonce, r->sig),
		             5, "%s", line);
		cr_assert_eq(hex_decode(r->seed, sizeof(r->seed), seed, strlen(seed)), ERR_OK);
		count++;
	}
	fclose(in);
	return count;
}

Test(signal_wire, every_vector_is_what_its_key_signs_and_is_found_valid)
{
	struct row rows[4];

	cr_assert_eq(load_rows(rows, COUNT_OF(rows)), 2);
	for (size_t i = 0; i < 2; i++) {
		const struct row *r   = &rows[i];
		struct identity   who = identity_of_seed(r->seed);
		char              line[256], identity[SIGNAL_IDENTITY_CHARS + 1], hex[2 * SIGNAL_SIG_BYTES + 1];
		uint8_t           sig[SIGNAL_SIG_BYTES], text[SIGNAL_TEXT_BYTES];

		signal_identity(identity, who.key);
		cr_expect_str_eq(identity, r->identity);
		signal_proof_text(text, who.key, r->nonce);
		identity_sign(sig, &who, text, sizeof(text));
		hex_encode(hex, sig, sizeof(sig));
		cr_expect_str_eq(hex, r->sig, "%s", r->name);

		snprintf(line, sizeof(line), "auth %s", r->sig);
		cr_assert(signal_read_proof(sig, (const uint8_t *)line, strlen(line)), "%s", r->name);
		cr_expect(verify_ed25519(sig, text, sizeof(text), who.key), "%s", r->name);
		text[SIGNAL_TEXT_BYTES - 1] ^= 1;
		cr_expect_not(verify_ed25519(sig, text, sizeof(text), who.key), "%s", r->name);
	}
}

Test(signal_wire, what_is_signed_is_163_bytes_without_separators)
{
	uint8_t text[SIGNAL_TEXT_BYTES], key[SIGNAL_KEY_BYTES];
	char    nonce[SIGNAL_NONCE_CHARS + 1];

	memset(nonce, '7', SIGNAL_NONCE_CHARS);
	nonce[SIGNAL_NONCE_CHARS] = '\0';
	cr_assert_eq(hex_decode(key, sizeof(key), KEY, 64), ERR_OK);
	signal_proof_text(text, key, nonce);

	char want[256];

	cr_assert_eq(snprintf(want, sizeof(want), "multivoid-signaling-register-v1%s%s", NAME, nonce), 163);
	cr_expect_arr_eq(text, want, 163);
}

Test(signal_wire, a_challenge_is_its_verb_and_the_nonce)
{
	uint8_t out[SIGNAL_CHALLENGE_BYTES + 1] = { 0 };

	signal_build_challenge(out, HEX16 HEX16 HEX16 HEX16);
	cr_expect_str_eq((const char *)out, "nonce " HEX16 HEX16 HEX16 HEX16);
}

static const struct proof_case {
	const char *line;
	bool        is_proof;
} proofs[] = {
	{ "auth " HEX128, true },
	{ " \t auth " HEX128 " \r", true },
	{ "auth " HEX128 "0", false },
	{ "auth " HEX128 "00", false },
	{ "auth  " HEX128, false },
	{ "auth\t" HEX128, false },
	{ "Auth " HEX128, false },
	{ "nonce " HEX128, false },
	{ "auth" HEX128, false },
	{ "auth ", false },
	{ "auth", false },
	{ "", false },
	{ " ", false },
	{ "auth A" HEX16 HEX16 HEX16 HEX16 HEX16 HEX16 HEX16 "123456789abcdef", false },
	{ "auth g" HEX16 HEX16 HEX16 HEX16 HEX16 HEX16 HEX16 "123456789abcdef", false },
	{ "auth " HEX16 HEX16 HEX16 HEX16 HEX16 HEX16 HEX16 "0123456789abcde", false },
	{ NAME " 00", false },
};

Test(signal_wire, only_a_proof_is_read_as_one)
{
	for (size_t i = 0; i < COUNT_OF(proofs); i++) {
		uint8_t sig[SIGNAL_SIG_BYTES];
		bool    read = signal_read_proof(sig, (const uint8_t *)proofs[i].line, strlen(proofs[i].line));

		cr_expect_eq(read, proofs[i].is_proof, "%s", proofs[i].line);
		cr_expect(!read || sig[0] == 0x01, "%s", proofs[i].line);
	}
}

/* Greetings */

static const struct greeting_case {
	const char          *line;
	enum signal_greeting want;
} greetings[] = {
	{ "t " NAME, SIGNAL_GOOD_GREETING },
	{ "  t " NAME "\r", SIGNAL_GOOD_GREETING },
	{ "\tt " NAME " \t", SIGNAL_GOOD_GREETING },
	{ "t\xc3\xb6ken " NAME, SIGNAL_GOOD_GREETING },
	{ "", SIGNAL_BAD_SHAPE },
	{ "\r", SIGNAL_BAD_SHAPE },
	{ "   ", SIGNAL_BAD_SHAPE },
	{ "t", SIGNAL_BAD_SHAPE },
	{ "t ", SIGNAL_BAD_SHAPE },
	{ " " NAME, SIGNAL_BAD_SHAPE },
	{ "t  " NAME, SIGNAL_BAD_SHAPE },
	{ "t\t" NAME, SIGNAL_BAD_SHAPE },
	{ "t " NAME " x", SIGNAL_BAD_SHAPE },
	{ "t " NAME "  x", SIGNAL_BAD_SHAPE },
	{ "GET / HTTP/1.1", SIGNAL_BAD_SHAPE },
	{ "t gen:" KEY "0", SIGNAL_BAD_IDENTITY },
	{ "t gen:03a1", SIGNAL_BAD_IDENTITY },
	{ "t gen:", SIGNAL_BAD_IDENTITY },
	{ "t gem:" KEY, SIGNAL_BAD_IDENTITY },
	{ "t GEN:" KEY, SIGNAL_BAD_IDENTITY },
	{ "t gen:03A107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8", SIGNAL_BAD_IDENTITY },
	{ "t gen:g3a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8", SIGNAL_BAD_IDENTITY },
	{ "t h" HEX16, SIGNAL_BAD_IDENTITY },
	{ "t c" HEX16, SIGNAL_BAD_IDENTITY },
	{ "t gen:" KEY "012345678901", SIGNAL_BAD_IDENTITY }, /* 80 characters */
	{ "t gen:" KEY "0123456789012", SIGNAL_BAD_LENGTH },  /* 81 */
	{ "t \tgen:" KEY, SIGNAL_BAD_IDENTITY },
};

Test(signal_wire, greetings_are_refused_for_the_first_thing_that_is_wrong)
{
	for (size_t i = 0; i < COUNT_OF(greetings); i++) {
		struct signal_hello hello = { 0 };

		cr_expect_eq(greet(&hello, greetings[i].line), greetings[i].want, "%s", greetings[i].line);
	}
}

Test(signal_wire, a_greeting_gives_token_identity_and_key)
{
	struct signal_hello hello;
	uint8_t             key[SIGNAL_KEY_BYTES];

	cr_assert_eq(greet(&hello, "tok\ten " NAME " \r"), SIGNAL_GOOD_GREETING);
	cr_expect_eq(hello.token_len, 6);
	cr_expect_arr_eq(hello.token, "tok\ten", 6);
	cr_expect_eq(hello.identity_len, SIGNAL_IDENTITY_CHARS);
	cr_expect_arr_eq(hello.identity, NAME, SIGNAL_IDENTITY_CHARS);
	cr_assert_eq(hex_decode(key, sizeof(key), KEY, 64), ERR_OK);
	cr_expect_arr_eq(hello.key, key, sizeof(key));
}

/* Relay lines */

static const struct relay_case {
	const char         *line;
	enum signal_relayed want;
	const char         *payload;
} relays[] = {
	{ NAME " 0a0B", SIGNAL_RELAYED, "0a0B" },
	{ NAME " ", SIGNAL_RELAYED, "" },
	{ NAME " \r", SIGNAL_RELAYED, "\r" },
	{ NAME "  two  blanks ", SIGNAL_RELAYED, " two  blanks " },
	{ NAME "\t tab", SIGNAL_RELAYED, "tab" },
	{ "\t" NAME " tab", SIGNAL_RELAYED, "tab" },
	{ NAME " \xff\xfe\x80", SIGNAL_RELAYED, "\xff\xfe\x80" },
	{ "", SIGNAL_NO_BLANK, NULL },
	{ NAME, SIGNAL_NO_BLANK, NULL },
	{ NAME "\t0a", SIGNAL_NO_BLANK, NULL },
	{ " " NAME " 0a", SIGNAL_NO_BLANK, NULL },
	{ " ", SIGNAL_NO_BLANK, NULL },
	{ "somebody 0a", SIGNAL_NO_IDENTITY, NULL },
	{ "gen:03A107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8 0a", SIGNAL_NO_IDENTITY, NULL },
	{ "\t 0a", SIGNAL_NO_IDENTITY, NULL },
};

Test(signal_wire, a_relay_line_is_a_destination_and_all_behind_the_first_blank)
{
	for (size_t i = 0; i < COUNT_OF(relays); i++) {
		const struct relay_case *c = &relays[i];
		struct signal_relay_line r = { .payload = (const uint8_t *)"untouched" };

		cr_expect_eq(signal_read_relay(&r, (const uint8_t *)c->line, strlen(c->line)), c->want, "%s", c->line);
		if (!c->payload) {
			cr_expect_str_eq((const char *)r.payload, "untouched", "%s", c->line);
			continue;
		}
		cr_expect_eq(r.payload_len, strlen(c->payload), "%s", c->line);
		cr_expect(memcmp(r.payload, c->payload, r.payload_len) == 0, "%s", c->line);
		cr_expect_eq(r.key[0], 0x03);
	}
}

Test(signal_wire, a_NUL_in_a_payload_is_a_byte_like_any_other)
{
	static const uint8_t     line[] = NAME " a\0b";
	struct signal_relay_line r;

	cr_assert_eq(signal_read_relay(&r, line, sizeof(line) - 1), SIGNAL_RELAYED);
	cr_expect_eq(r.payload_len, 3);
	cr_expect_arr_eq(r.payload, "a\0b", 3);
}

Test(signal_wire, a_self_test_has_an_empty_payload)
{
	cr_expect(signal_is_test(NULL, 0));
	cr_expect(signal_is_test((const uint8_t *)"\r", 1));
	cr_expect_not(signal_is_test((const uint8_t *)" ", 1));
	cr_expect_not(signal_is_test((const uint8_t *)"\r\r", 2));
}
