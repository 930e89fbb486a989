/*
 * Base64, with the examples of RFC 4648.
 */
#include "base/base64.h"

#include "base/auto.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

Test(base64, says_what_the_rfc_says)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{ "", "" },
		{ "f", "Zg==" },
		{ "fo", "Zm8=" },
		{ "foo", "Zm9v" },
		{ "foob", "Zm9vYg==" },
		{ "fooba", "Zm9vYmE=" },
		{ "foobar", "Zm9vYmFy" },
		{ "\xff\xfe\xfb\xef\xbe", "//77774=" },
	};
	char out[BASE64_BYTES(6)];

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		base64_encode(out, rows[i].in, strlen(rows[i].in));
		cr_expect_str_eq(out, rows[i].out);
		cr_expect_eq(strlen(out) + 1, BASE64_BYTES(strlen(rows[i].in)));
	}
}

/* In memory of exactly the sizes that are promised to be enough. */
static enum err decode(uint8_t out[64], size_t *len, const char *text, size_t text_len)
{
	size_t   room  = BASE64_DECODED_BYTES(text_len);
	char    *exact = malloc(text_len ? text_len : 1);
	uint8_t *bytes = malloc(room ? room : 1);

	cr_assert(exact && bytes && room <= 64);
	memcpy(exact, text, text_len);

	enum err e = base64_decode(bytes, len, exact, text_len);

	if (e == ERR_OK)
		memcpy(out, bytes, *len);
	free(exact);
	free(bytes);
	return e;
}

Test(base64, what_was_said_is_read_again)
{
	uint8_t in[48], out[64];
	char    text[BASE64_BYTES(sizeof(in))];

	for (size_t first = 0; first < 256; first++) {
		for (size_t i = 0; i < sizeof(in); i++)
			in[i] = (uint8_t)(first + 37 * i);
		for (size_t len = 0; len <= sizeof(in); len++) {
			size_t got = 4711;

			base64_encode(text, in, len);
			cr_assert_eq(decode(out, &got, text, strlen(text)), ERR_OK, "%s", text);
			cr_assert_eq(got, len);
			cr_assert(len == 0 || memcmp(in, out, len) == 0, "%s", text);
		}
	}
}

Test(base64, no_character_of_another_alphabet_is_read)
{
	static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint8_t           out[64];

	for (int c = 0; c < 256; c++) {
		bool is_digit = memchr(alphabet, c, sizeof(alphabet) - 1) != NULL;

		for (size_t place = 0; place < 8; place++) {
			char   text[8] = { 'A', 'A', 'A', 'A', 'A', 'A', 'A', 'A' };
			size_t len     = 4711;
			bool   fine    = is_digit || (c == '=' && place == 7);

			text[place] = (char)c;
			cr_expect_eq(decode(out, &len, text, sizeof(text)), fine ? ERR_OK : ERR_MALFORMED, "%d at %zu",
			             c, place);
			cr_expect_eq(len, fine ? (c == '=' ? 5 : 6) : 4711);
		}
	}
}

Test(base64, padding_is_only_what_is_missing_and_left_over_bits_are_zero)
{
	static const char *const bad[] = {
		"A",    "AA",   "AAA",  "AAAAA", "=",        "==",       "====",  "A===",     "AA=A",    "=AAA",
		"AB==", "AP==", "AAB=", "AAC=",  "AA==AAAA", "AAA=AAAA", "AAAA=", "AAAA====", "AAAA===="
	};
	uint8_t out[64];

	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		size_t len = 4711;

		cr_expect_eq(decode(out, &len, bad[i], strlen(bad[i])), ERR_MALFORMED, "%s", bad[i]);
		cr_expect_eq(len, 4711, "%s", bad[i]);
	}
}
