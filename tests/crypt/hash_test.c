/*
 * Known answers (from Python's hashlib) and the comparison of secrets.
 */
#include "crypt/hash.h"

#include "base/hex.h"

#include <criterion/criterion.h>
#include <string.h>

static void expect_hex(const uint8_t *data, size_t len, const char *expected)
{
	char text[2 * HASH_SHA256_BYTES + 1];

	hex_encode(text, data, len);
	cr_expect_str_eq(text, expected);
}

Test(hash, the_library_starts_more_than_once)
{
	cr_expect_eq(crypt_init(), ERR_OK);
	cr_expect_eq(crypt_init(), ERR_OK);
}

Test(hash, sha256_gives_the_known_answers)
{
	uint8_t out[HASH_SHA256_BYTES], as[1000];

	cr_assert_eq(crypt_init(), ERR_OK);
	memset(as, 'a', sizeof(as));
	hash_sha256(out, "", 0);
	expect_hex(out, sizeof(out), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	hash_sha256(out, "abc", 3);
	expect_hex(out, sizeof(out), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	hash_sha256(out, as, sizeof(as));
	expect_hex(out, sizeof(out), "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3");
}

Test(hash, the_keyed_hash_gives_the_known_answers_and_hangs_on_its_key)
{
	uint8_t out[HASH_KEYED_BYTES], other[HASH_KEYED_BYTES], key[HASH_KEY_BYTES];

	cr_assert_eq(crypt_init(), ERR_OK);
	for (int i = 0; i < HASH_KEY_BYTES; i++)
		key[i] = (uint8_t)i;
	hash_keyed(out, key, "192.0.2.7", 9);
	expect_hex(out, sizeof(out), "aae654aec193be715c1bd93dba7f98b6");
	hash_keyed(other, key, "", 0);
	expect_hex(other, sizeof(other), "3daf97bce7888fd59773c66bf647459c");
	key[31] ^= 1;
	hash_keyed(other, key, "192.0.2.7", 9);
	cr_expect_arr_neq(out, other, sizeof(out));
}

Test(hash, a_tag_hangs_on_the_length_of_its_key_too)
{
	static const struct {
		size_t      key_len, zeros_from;
		const char *tag;
	} rows[] = {
		{ 16, 16, "e7ff3be3a1e87a8052d0de0bd7fcadeb" },
		{ 32, 16, "5906b1bc2122dae8bc3e62404b34638a" },
		{ 32, 32, "aae654aec193be715c1bd93dba7f98b6" },
		{ 64, 64, "b7a8dfb025949ef399e6a027f125e43d" },
	};
	uint8_t out[HASH_KEYED_BYTES];

	cr_assert_eq(crypt_init(), ERR_OK);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t key[64] = { 0 };

		for (size_t k = 0; k < rows[i].zeros_from; k++)
			key[k] = (uint8_t)k;
		hash_tag(out, key, rows[i].key_len, "192.0.2.7", 9);
		expect_hex(out, sizeof(out), rows[i].tag);
	}
}

Test(hash, secrets_are_equal_when_every_byte_is)
{
	uint8_t a[32] = { 0 }, b[32] = { 0 };

	cr_assert_eq(crypt_init(), ERR_OK);
	cr_expect(equal_secret(a, b, sizeof(a)));
	for (size_t i = 0; i < sizeof(a); i++) {
		b[i] = 0x80;
		cr_expect_not(equal_secret(a, b, sizeof(a)));
		b[i] = 0;
	}
	b[31] = 1;
	cr_expect(equal_secret(a, b, 31));
	cr_expect(equal_secret(a, b, 0));
}

Test(hash, a_wiped_secret_is_gone_and_its_neighbours_are_not)
{
	uint8_t secret[6] = { 1, 2, 3, 4, 5, 6 };

	wipe_secret(secret + 1, 4);
	cr_expect_arr_eq(secret, "\x01\0\0\0\0\x06", 6);
}
