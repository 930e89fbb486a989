/*
 * SHA-256 in pieces is SHA-256.
 */
#include "crypt/hash_stream.h"

#include "base/auto.h"
#include "base/hex.h"

#include <criterion/criterion.h>
#include <string.h>

static void expect_hash(const void *data, size_t len, size_t piece, const uint8_t wanted[HASH_SHA256_BYTES])
{
	struct hash_stream *h = hash_stream_new();
	uint8_t             got[HASH_SHA256_BYTES];

	cr_assert_not_null(h);
	for (size_t at = 0; at < len; at += piece)
		hash_stream_add(h, (const uint8_t *)data + at, len - at < piece ? len - at : piece);
	hash_stream_end(got, h);
	hash_stream_free(h);
	cr_expect_arr_eq(got, wanted, sizeof(got), "%zu bytes in pieces of %zu", len, piece);
}

/* FIPS 180-2, appendix B. */
Test(hash_stream, agrees_with_published_values)
{
	static const struct {
		const char *text, *hex;
	} known[] = {
		{ "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
		{ "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
		{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
	};

	for (size_t i = 0; i < COUNT_OF(known); i++) {
		uint8_t wanted[HASH_SHA256_BYTES];

		cr_assert_eq(hex_decode(wanted, sizeof(wanted), known[i].hex, strlen(known[i].hex)), ERR_OK);
		expect_hash(known[i].text, strlen(known[i].text), 1000, wanted);
	}
}

Test(hash_stream, the_pieces_do_not_matter)
{
	static uint8_t data[10000];
	uint8_t        wanted[HASH_SHA256_BYTES];

	cr_assert_eq(crypt_init(), ERR_OK);
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7 + i / 256);
	hash_sha256(wanted, data, sizeof(data));
	for (size_t piece = 1; piece < 200; piece += 9)
		expect_hash(data, sizeof(data), piece, wanted);
	expect_hash(data, sizeof(data), sizeof(data), wanted);
}

Test(hash_stream, one_that_is_not_ended_may_be_freed)
{
	struct hash_stream *h = hash_stream_new();

	hash_stream_add(h, "abc", 3);
	hash_stream_free(h);
	hash_stream_free(NULL);
	expect_hash("abc", 3, 2, (const uint8_t[]){ 0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea, 0x41, 0x41, 0x40,
	                                            0xde, 0x5d, 0xae, 0x22, 0x23, 0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17,
	                                            0x7a, 0x9c, 0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad });
}
