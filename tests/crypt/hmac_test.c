/*
 * Known answers: those of RFC 2202, and passwords of TURN credentials.
 */
#include "crypt/hmac.h"

#include "base/auto.h"
#include "base/base64.h"
#include "base/hex.h"

#include <criterion/criterion.h>
#include <string.h>

static void expect_hex(const void *key, size_t key_len, const void *data, size_t len, const char *expected)
{
	uint8_t out[HMAC_SHA1_BYTES];
	char    text[2 * HMAC_SHA1_BYTES + 1];

	cr_assert_eq(hmac_sha1(out, key, key_len, data, len), ERR_OK);
	hex_encode(text, out, sizeof(out));
	cr_expect_str_eq(text, expected);
}

Test(hmac, it_gives_the_known_answers)
{
	uint8_t key[80], data[50], counted[25];

	memset(key, 0x0b, 20);
	expect_hex(key, 20, "Hi There", 8, "b617318655057264e28bc0b6fb378c8ef146be00");
	expect_hex("Jefe", 4, "what do ya want for nothing?", 28, "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79");
	memset(key, 0xaa, sizeof(key));
	memset(data, 0xdd, sizeof(data));
	expect_hex(key, 20, data, sizeof(data), "125d7342b9ac11cd91a39af48aa17b4f63f175d3");
	for (size_t i = 0; i < sizeof(counted); i++)
		counted[i] = (uint8_t)(i + 1);
	memset(data, 0xcd, sizeof(data));
	expect_hex(counted, sizeof(counted), data, sizeof(data), "4c9007f4026250c6bc8414f9bf50c86c2d7235da");
	expect_hex(key, 80, "Test Using Larger Than Block-Size Key - Hash Key First", 54,
	           "aa4ae5e15272d00e95705637ce8a3b55ed402112");
	expect_hex(key, 80, "Test Using Larger Than Block-Size Key and Larger Than One Block-Size Data", 73,
	           "e8e99d0f45237d786d6bbaa7965c7808bbff1a91");
}

/* An empty key is a key, and not the one before. */
Test(hmac, nothing_under_no_key_has_an_answer_too)
{
	expect_hex("Jefe", 4, "", 0, "09d9e59d72239e62a8155c583d52743de9b7231a");
	expect_hex("", 0, "", 0, "fbdb1d1b18aa6c08324b7d64b71fb76370690e1d");
	expect_hex(NULL, 0, NULL, 0, "fbdb1d1b18aa6c08324b7d64b71fb76370690e1d");
}

Test(hmac, passwords_of_turn_credentials_come_out)
{
	static const struct {
		const char *secret, *user, *pass;
	} cases[] = {
		{ "testsecret_abc123", "1700000000:h0011223344556677", "c7pJt+2pR4aVy8LJIi6NtjympwM=" },
		{ "coopd-turn-secret", "1893456000:203.0.113.7", "WHbM/4koiyvKe9gsLaVvvKT407A=" },
		{ "coopd-turn-secret", "1893456600:2001:db8:1:2::/64", "yDakBCXvVLSzh4XFmXwqP4my/gk=" },
		{ "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk",
		  "1700000120:198.51.100.23", "wK6FZ8AxMmMduTi3vvOXVjQA1D0=" },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		uint8_t out[HMAC_SHA1_BYTES];
		char    pass[BASE64_BYTES(HMAC_SHA1_BYTES)];

		cr_assert_eq(hmac_sha1(out, cases[i].secret, strlen(cases[i].secret), cases[i].user,
		                       strlen(cases[i].user)),
		             ERR_OK);
		base64_encode(pass, out, sizeof(out));
		cr_expect_str_eq(pass, cases[i].pass);
	}
}
