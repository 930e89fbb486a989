/*
 * Update manifests: the vectors with their signatures, what each word may say, and every way to be refused.
 */
#include "base/auto.h"
#include "base/hex.h"
#include "crypt/verify.h"
#include "os/file.h"
#include "support/vectors.h"
#include "update/manifest_wire.h"

#include <criterion/criterion.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHA "f6351f5ead9a700e34275480b3856ea738122a7c57bdeb744a631251c069587a"
#define SIG SHA SHA

#define FIRST   "Crysis Coop update\n"
#define VERSION "version 0.6.2\n"
#define PACKAGE "package Mod-v0.6.2.bin\n"
#define SIZE    "size 108894\n"
#define SHA256  "sha256 " SHA "\n"
#define SIGNED  "signature " SIG "\n"

static struct manifest m;
static const char     *why;

static enum err parse(const void *text, size_t len)
{
	AUTO(auto_free) char *exact = malloc(len + 1); /* its end is the memory's, so that a read past it is seen */

	memcpy(exact + 1, text, len);
	why = NULL;
	return manifest_parse(&m, &why, exact + 1, len);
}

static enum err parse_text(const char *text)
{
	return parse(text, strlen(text));
}

/* A good manifest but for one line. */
static enum err parse_with(const char *version, const char *package, const char *size, const char *sha256,
                           const char *signature)
{
	char text[MANIFEST_BYTES_MAX + 1];
	int  len = snprintf(text, sizeof(text), FIRST "%s%s%s%s%s", version, package, size, sha256, signature);

	return parse(text, (size_t)len);
}

static char *load(const char *name, size_t *len)
{
	char  path[PATH_MAX], below[NAME_MAX];
	char *text = NULL;

	(void)snprintf(below, sizeof(below), "vectors/manifest/%s", name);
	cr_assert_eq(file_read(&text, len, tests_path(path, sizeof(path), below), 65536), ERR_OK, "%s", name);
	return text;
}

static struct p256_key *load_key(void)
{
	size_t                len;
	AUTO(auto_free) char *pem = load("key.pem", &len);
	struct p256_key      *key = NULL;

	cr_assert_eq(p256_key_new(&key, pem, len), ERR_OK);
	return key;
}

Test(manifest_wire, each_vector_says_what_was_put_in_and_verifies)
{
	static const struct {
		const char *file, *version, *package;
		int64_t     size;
		uint8_t     sha256_first;
	} rows[] = {
		{ "first.txt", "0.6.2", "Crysis-Coop-v0.6.2-update.bin", 108894, 0xf6 },
		{ "order.txt", "0.6.2", "Crysis-Coop-v0.6.2-update.bin", 108894, 0xf6 },
		{ "next.txt", "0.6.10", "Crysis-Coop-v0.6.10-update.bin", 168892, 0 },
		{ "wrong_size.txt", "0.6.2", "Crysis-Coop-v0.6.2-update.bin", 4, 0xf6 },
		{ "wrong_hash.txt", "0.6.2", "Crysis-Coop-v0.6.2-update.bin", 108894, 0 },
	};
	struct p256_key *key = load_key();

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		size_t                len;
		AUTO(auto_free) char *text = load(rows[i].file, &len);

		cr_expect_eq(parse(text, len), ERR_OK, "%s: %s", rows[i].file, why);
		cr_expect_str_eq(m.version, rows[i].version);
		cr_expect_str_eq(m.package, rows[i].package);
		cr_expect_eq(m.size, rows[i].size, "%s: %lld", rows[i].file, (long long)m.size);
		cr_expect(rows[i].sha256_first == 0 || m.sha256[0] == rows[i].sha256_first);
		cr_expect_eq(m.signed_len, (size_t)(strstr(text, "signature ") - text));
		cr_expect(verify_p256(key, m.signature, text, m.signed_len), "%s", rows[i].file);
		text[m.signed_len - 2] ^= 1;
		cr_expect(!verify_p256(key, m.signature, text, m.signed_len), "%s, changed", rows[i].file);
	}
	p256_key_free(key);
}

Test(manifest_wire, digits_of_the_signature_may_be_upper_case_and_have_blanks_behind)
{
	static const char *const behind[] = { "", "\n", "\r\n", " ", "\r", "\n\n\n", " \r\n \r\n" };
	size_t                   len;
	AUTO(auto_free) char    *text = load("first.txt", &len);
	struct p256_key         *key  = load_key();
	char                    *sig  = strstr(text, "signature ") + strlen("signature ");

	for (int upper = 0; upper < 2; upper++) {
		for (size_t i = 0; i < COUNT_OF(behind); i++) {
			char again[2048];
			int  n = snprintf(again, sizeof(again), "%.*s%s", (int)(sig - text) + 128, text, behind[i]);

			cr_expect_eq(parse(again, (size_t)n), ERR_OK, "%zu: %s", i, why);
			cr_expect(verify_p256(key, m.signature, again, m.signed_len), "%zu", i);
		}
		for (char *c = sig; *c != '\n'; c++)
			*c = *c >= 'a' && *c <= 'f' ? (char)(*c - 'a' + 'A') : *c;
	}
	p256_key_free(key);
}

Test(manifest_wire, lines_come_in_any_order_and_unknown_words_are_ignored)
{
	static const char *const rows[] = {
		FIRST VERSION PACKAGE SIZE SHA256 SIGNED,
		FIRST SHA256 SIZE PACKAGE VERSION SIGNED,
		FIRST "note hello\n" VERSION PACKAGE "channel  two  blanks \n" SIZE SHA256 "last word\n" SIGNED,
		FIRST "Version 9\n" VERSION PACKAGE SIZE                            SHA256 "signatures x\n" SIGNED,
		"Crysis Coop update 2\n" VERSION PACKAGE SIZE SHA256                SIGNED,
		"Crysis Coop updates\n" VERSION PACKAGE SIZE SHA256                 SIGNED,
		FIRST "version_note 1\n" VERSION PACKAGE SIZE SHA256                SIGNED,
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		cr_expect_eq(parse_text(rows[i]), ERR_OK, "%zu: %s", i, why);
		cr_expect_null(why);
		cr_expect_str_eq(m.version, "0.6.2");
		cr_expect_str_eq(m.package, "Mod-v0.6.2.bin");
		cr_expect_eq(m.size, 108894);
		cr_expect_eq(m.signed_len, strlen(rows[i]) - strlen(SIGNED));
	}
}

Test(manifest_wire, a_version_is_numbers_with_dots)
{
	static const char *const good[] = { "0", "1.2", "0.6.2", "10.20.30.40.50", "007", "99999999999999999999.1" };
	static const char *const bad[]  = { "",     ".",    "1.",   ".1",  "1..2", "1.2b", "v1",
		                            "1 .2", " 1.2", "1.2 ", "1,2", "-1",   "1.-2", "1_2" };
	char                     line[MANIFEST_TEXT_BYTES + 32];

	for (size_t i = 0; i < COUNT_OF(good); i++) {
		(void)snprintf(line, sizeof(line), "version %s\n", good[i]);
		cr_expect_eq(parse_with(line, PACKAGE, SIZE, SHA256, SIGNED), ERR_OK, "'%s': %s", good[i], why);
		cr_expect_str_eq(m.version, good[i]);
	}
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		(void)snprintf(line, sizeof(line), "version %s\n", bad[i]);
		cr_expect_eq(parse_with(line, PACKAGE, SIZE, SHA256, SIGNED), ERR_MALFORMED, "'%s'", bad[i]);
		cr_expect(strstr(why, "'version'"), "'%s': %s", bad[i], why);
	}
}

Test(manifest_wire, a_package_is_a_plain_name_without_a_dot_in_front)
{
	static const char *const good[] = { "a", "Mod-v1.2_x.bin", "0", "-", "_", "a..b", "UPDATE.TXT", "a." };
	static const char *const bad[]  = { "",   ".",  "..",   ".hidden", "a/b", "../a",  "a\\b", "a b",
		                            " a", "a ", "a%2e", "a:b",     "a?b", "a\x7f", "a~b",  "a\tb" };
	char                     line[MANIFEST_TEXT_BYTES + 32];

	for (size_t i = 0; i < COUNT_OF(good); i++) {
		(void)snprintf(line, sizeof(line), "package %s\n", good[i]);
		cr_expect_eq(parse_with(VERSION, line, SIZE, SHA256, SIGNED), ERR_OK, "'%s': %s", good[i], why);
		cr_expect_str_eq(m.package, good[i]);
	}
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		(void)snprintf(line, sizeof(line), "package %s\n", bad[i]);
		cr_expect_eq(parse_with(VERSION, line, SIZE, SHA256, SIGNED), ERR_MALFORMED, "'%s'", bad[i]);
		cr_expect_not_null(why);
	}
}

Test(manifest_wire, texts_have_at_most_127_characters)
{
	char line[256];

	for (int n = 127; n <= 128; n++) {
		enum err want = n == 127 ? ERR_OK : ERR_MALFORMED;

		(void)snprintf(line, sizeof(line), "version %0*d\n", n, 1);
		cr_expect_eq(parse_with(line, PACKAGE, SIZE, SHA256, SIGNED), want, "%d", n);
		(void)snprintf(line, sizeof(line), "package %0*d\n", n, 1);
		cr_expect_eq(parse_with(VERSION, line, SIZE, SHA256, SIGNED), want, "%d", n);
		(void)snprintf(line, sizeof(line), "size %0*d\n", n, 1);
		cr_expect_eq(parse_with(VERSION, PACKAGE, line, SHA256, SIGNED), want, "%d", n);
	}
}

Test(manifest_wire, a_package_has_one_byte_to_64_mib)
{
	static const struct {
		const char *text;
		int64_t     size; /* 0: refused */
	} rows[] = {
		{ "1", 1 },
		{ "67108864", 67108864 },
		{ "67108865", 0 },
		{ "0", 0 },
		{ "00", 0 },
		{ "", 0 },
		{ "-1", 0 },
		{ "+1", 0 },
		{ "1.0", 0 },
		{ "0x10", 0 },
		{ " 1", 0 },
		{ "1 ", 0 },
		{ "18446744073709551617", 0 },
		{ "9223372036854775808", 0 },
	};
	char line[64];

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		bool good = rows[i].size > 0;

		(void)snprintf(line, sizeof(line), "size %s\n", rows[i].text);
		cr_expect_eq(parse_with(VERSION, PACKAGE, line, SHA256, SIGNED), good ? ERR_OK : ERR_MALFORMED, "'%s'",
		             rows[i].text);
		cr_expect(good ? m.size == rows[i].size : strstr(why, "'size'") != NULL, "'%s'", rows[i].text);
	}
}

Test(manifest_wire, each_mistake_has_its_reason)
{
	static const struct {
		const char *text, *why;
	} rows[] = {
		{ "", "does not begin" },
		{ "Crysis Coop updat", "does not begin" },
		{ "\xef\xbb\xbf" FIRST VERSION PACKAGE SIZE SHA256 SIGNED, "does not begin" },
		{ "crysis coop update\n" VERSION PACKAGE SIZE SHA256 SIGNED, "does not begin" },
		{ "Crysis Coop update", "'signature' is missing" },
		{ FIRST VERSION PACKAGE SIZE SHA256, "'signature' is missing" },
		{ FIRST VERSION PACKAGE SIZE SHA256 "signature", "'signature' is missing" },
		{ FIRST VERSION PACKAGE SIZE SHA256 "Signature " SIG "\n", "'signature' is missing" },
		{ FIRST PACKAGE SIZE SHA256 SIGNED, "'version' is missing" },
		{ FIRST VERSION SIZE SHA256 SIGNED, "'package' is missing" },
		{ FIRST VERSION PACKAGE SHA256 SIGNED, "'size' is missing" },
		{ FIRST VERSION PACKAGE SIZE SIGNED, "'sha256' is missing" },
		{ FIRST VERSION PACKAGE SIZE SIGNED SHA256, "'sha256' is missing" },
		{ FIRST VERSION VERSION PACKAGE SIZE SHA256 SIGNED, "'version' stands there twice" },
		{ FIRST VERSION PACKAGE PACKAGE SIZE SHA256 SIGNED, "'package' stands there twice" },
		{ FIRST VERSION PACKAGE SIZE SIZE SHA256 SIGNED, "'size' stands there twice" },
		{ FIRST VERSION PACKAGE SIZE SHA256 SHA256 SIGNED, "'sha256' stands there twice" },
		{ "Crysis Coop update\r\n" VERSION PACKAGE SIZE SHA256 SIGNED, "CR" },
		{ FIRST "version 0.6.2\r\n" PACKAGE SIZE SHA256 SIGNED, "CR" },
		{ FIRST "note a\rb\n" VERSION PACKAGE SIZE SHA256 SIGNED, "CR" },
		{ FIRST "note \xc3\xa4\n" VERSION PACKAGE SIZE SHA256 SIGNED, "ASCII" },
		{ FIRST "note\tx y\n" VERSION PACKAGE SIZE SHA256 SIGNED, "ASCII" },
		{ FIRST "\n" VERSION PACKAGE SIZE SHA256 SIGNED, "a line is not a word" },
		{ FIRST "word\n" VERSION PACKAGE SIZE SHA256 SIGNED, "a line is not a word" },
		{ FIRST " version 1\n" VERSION PACKAGE SIZE SHA256 SIGNED, "a line is not a word" },
		{ FIRST VERSION PACKAGE SIZE "sha256 " SHA "0\n" SIGNED, "'sha256' is not" },
		{ FIRST VERSION PACKAGE SIZE "sha256  " SHA "\n" SIGNED, "'sha256' is not" },
		{ FIRST VERSION PACKAGE SIZE "sha256 0123\n" SIGNED, "'sha256' is not" },
		{ FIRST VERSION PACKAGE SIZE SHA256 "signature \n", "'signature' is not 128" },
		{ FIRST VERSION PACKAGE SIZE SHA256 "signature " SHA "\n", "'signature' is not 128" },
		{ FIRST VERSION PACKAGE SIZE SHA256 "signature  " SIG "\n", "'signature' is not 128" },
		{ FIRST VERSION PACKAGE SIZE SHA256 "signature x" SIG "\n", "'signature' is not 128" },
		{ FIRST VERSION PACKAGE SIZE SHA256 "signature " SIG "0\n", "behind the signature" },
		{ FIRST VERSION PACKAGE SIZE SHA256 SIGNED "x", "behind the signature" },
		{ FIRST VERSION PACKAGE SIZE SHA256 SIGNED SIGNED, "behind the signature" },
		{ FIRST VERSION PACKAGE SIZE SHA256 "signature " SIG "\t\n", "behind the signature" },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		cr_expect_eq(parse_text(rows[i].text), ERR_MALFORMED, "%zu", i);
		cr_expect(why && strstr(why, rows[i].why), "%zu: %s", i, why);
	}
}

Test(manifest_wire, a_nul_is_no_end_of_the_text)
{
	static const char in_line[] = FIRST "note a\0b\n" VERSION PACKAGE SIZE SHA256 SIGNED;
	static const char behind[]  = FIRST VERSION PACKAGE SIZE SHA256 SIGNED "\0";

	cr_expect_eq(parse(in_line, sizeof(in_line) - 1), ERR_MALFORMED);
	cr_expect(strstr(why, "ASCII"), "%s", why);
	cr_expect_eq(parse(behind, sizeof(behind) - 1), ERR_MALFORMED);
	cr_expect(strstr(why, "behind"), "%s", why);
}

Test(manifest_wire, it_has_at_most_4096_bytes)
{
	static const char good[] = FIRST VERSION PACKAGE SIZE SHA256 SIGNED;
	char                                                         text[MANIFEST_BYTES_MAX + 1];

	memset(text, '\n', sizeof(text));
	memcpy(text, good, strlen(good));
	cr_expect_eq(parse(text, MANIFEST_BYTES_MAX), ERR_OK, "%s", why);
	cr_expect_eq(parse(text, MANIFEST_BYTES_MAX + 1), ERR_MALFORMED);
	cr_expect(strstr(why, "4096"), "%s", why);
}

Test(manifest_wire, however_it_is_cut_it_does_not_parse)
{
	static const char good[] = FIRST VERSION PACKAGE SIZE SHA256 SIGNED;

	for (size_t len = 0; len < strlen(good) - 1; len++)
		cr_expect_eq(parse(good, len), ERR_MALFORMED, "%zu", len);
	cr_expect_eq(parse(good, strlen(good) - 1), ERR_OK, "%s", why);
}
