/*
 * Known answers: Ed25519 those of RFC 8032, 7.1, and what was made of them for a forger; P-256 what openssl signed.
 */
#include "crypt/verify.h"

#include "base/auto.h"
#include "base/hex.h"
#include "crypt/hash.h"

#include <criterion/criterion.h>
#include <openssl/err.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define SIG_BYTES 64

static void from_hex(uint8_t *out, size_t len, const char *hex)
{
	cr_assert_eq(hex_decode(out, len, hex, strlen(hex)), ERR_OK, "%s", hex);
}

/* Ed25519 */

struct ed_case {
	const char *key, *sig, *data;
	size_t      len;
};

#define KEY_3 "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025"
#define R_3   "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
#define S_3   "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"

static const struct ed_case rfc[] = {
	{ "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
	  "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595b"
	  "be"
	  "24655141438e7a100b",
	  "", 0 },
	{ "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
	  "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb430"
	  "2a"
	  "eeb00d291612bb0c00",
	  "\x72", 1 },
	{ KEY_3, R_3 S_3, "\xaf\x82", 2 },
};

/* Each passes the equation, and proves nothing. */
static const struct ed_case forged[] = {
	/* the key is the neutral point: anybody's signature */
	{ "0100000000000000000000000000000000000000000000000000000000000000",
	  "edc876d6831fd2105d0b4389ca2e283166469289146e2ce06faefe98b22548df"
	  "0500000000000000000000000000000000000000000000000000000000000000",
	  "abc", 3 },
	/* the key has order 2 */
	{ "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	  "2f1132ca61ab38dff00f2fea3228f24c6c71d58085b80e47e19515cb27e8d047"
	  "0400000000000000000000000000000000000000000000000000000000000000",
	  "abc", 3 },
	/* a good key, and a signature whose point is the neutral one */
	{ KEY_3,
	  "0100000000000000000000000000000000000000000000000000000000000000"
	  "d8012822fd7bce61211ce577fae182e7816e76cabac68e81153e92e2c042ef0d",
	  "abc", 3 },
	/* the good one, its number written a second way */
	{ KEY_3, R_3 "05d391b0a77904e98404ef037747a56e4a7c15e9716ed28dc027beceea1ec41a", "\xaf\x82", 2 },
	/* no point of the curve: y = 2 */
	{ "0200000000000000000000000000000000000000000000000000000000000000", R_3 S_3, "\xaf\x82", 2 },
};

static bool holds(const struct ed_case *c, size_t flip_sig, size_t flip_key)
{
	uint8_t key[VERIFY_ED25519_KEY_BYTES], sig[VERIFY_ED25519_SIG_BYTES];

	from_hex(key, sizeof(key), c->key);
	from_hex(sig, sizeof(sig), c->sig);
	if (flip_sig < 8 * sizeof(sig))
		sig[flip_sig / 8] ^= (uint8_t)(1 << flip_sig % 8);
	if (flip_key < 8 * sizeof(key))
		key[flip_key / 8] ^= (uint8_t)(1 << flip_key % 8);
	return verify_ed25519(sig, c->data, c->len, key);
}

Test(verify, ed25519_takes_the_known_answers_and_nothing_near_them)
{
	cr_assert_eq(crypt_init(), ERR_OK);
	for (size_t i = 0; i < COUNT_OF(rfc); i++) {
		cr_expect(holds(&rfc[i], SIZE_MAX, SIZE_MAX), "%zu", i);
		for (size_t bit = 0; bit < 512; bit++)
			cr_expect_not(holds(&rfc[i], bit, SIZE_MAX), "%zu without bit %zu", i, bit);
		for (size_t bit = 0; bit < 256; bit++)
			cr_expect_not(holds(&rfc[i], SIZE_MAX, bit), "%zu with another key, bit %zu", i, bit);
	}

	struct ed_case other = rfc[2];
	other.data           = "\xaf\x83";
	cr_expect_not(holds(&other, SIZE_MAX, SIZE_MAX));
	other.len = 1;
	cr_expect_not(holds(&other, SIZE_MAX, SIZE_MAX));
}

Test(verify, ed25519_takes_no_keys_and_signatures_that_prove_nothing)
{
	cr_assert_eq(crypt_init(), ERR_OK);
	for (size_t i = 0; i < COUNT_OF(forged); i++)
		cr_expect_not(holds(&forged[i], SIZE_MAX, SIZE_MAX), "%zu", i);
}

/* P-256 */

#define PEM(lines) "-----BEGIN PUBLIC KEY-----\n" lines "\n-----END PUBLIC KEY-----\n"

static const char signer[] = PEM("MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAERLmgCGJPm36cw1tDAUHAFsq61qmy\n"
                                 "V2cZ7oZDrkzVWmObGs6az2kGZ7SgpwdJJtRTpLXbYxnAhCCV4Y9kmQ1+qg==");
static const char other[]  = PEM("MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAETTWp4RYodsgbx8xYVSYXzTpUeJz7\n"
                                  "UoIXkt9fcN5FP9HITWTUaM+orPMSK2vAWb8jEESTZuoX121pOFWThPJi5Q==");

static const char manifest[] = "sample manifest\n";

static const struct {
	const char *data, *sig;
} signed_ones[] = {
	{ manifest, "66dc5914ac443775f601bd29c2023d3451f6c369a3bd05833f33cd41ee596980"
	            "150ddc82cc3c57353a32c13a4c58920ed818de292c1a18de75ae492aa14ad8ae" },
	/* r begins with a zero, which the other form leaves out */
	{ manifest, "003afa366b1611590acc870c3034016cabd8d45527d2a32aee7514f335e6e53b"
	            "54adc4bba9d4ade97d9ef271bbd4d471515c8ce4d2f58dfe7efd921bb16d9221" },
	/* both begin with a bit that the other form puts a zero before; of nothing */
	{ "", "561bf1dceaa0f2fa2ecdbdb048613415e70038da67cb673a23fcd634fde5871a"
	      "84d5bf3ba1674ffd64da6bd5efd5d3c996bc033b9aafdcf959e6f8c974a36479" },
};

static struct p256_key *key_of(const char *pem)
{
	struct p256_key *k = NULL;

	cr_assert_eq(p256_key_new(&k, pem, strlen(pem)), ERR_OK, "%s", pem);
	return k;
}

static void expect_no_rest(void)
{
	cr_expect_eq(ERR_peek_error(), 0, "TLS on this thread would find it");
}

Test(verify, p256_takes_what_openssl_signed_and_nothing_near_it)
{
	struct p256_key *k = key_of(signer), *stranger = key_of(other);
	uint8_t          sig[SIG_BYTES];

	for (size_t i = 0; i < COUNT_OF(signed_ones); i++) {
		const char *data = signed_ones[i].data;

		from_hex(sig, sizeof(sig), signed_ones[i].sig);
		cr_expect(verify_p256(k, sig, data, strlen(data)), "%zu", i);
		cr_expect_not(verify_p256(stranger, sig, data, strlen(data)), "%zu", i);
		cr_expect_not(verify_p256(k, sig, "sample manifest", 15), "%zu", i);
		for (size_t bit = 0; bit < 8 * sizeof(sig); bit++) {
			sig[bit / 8] ^= (uint8_t)(1 << bit % 8);
			cr_expect_not(verify_p256(k, sig, data, strlen(data)), "%zu without bit %zu", i, bit);
			sig[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
		expect_no_rest();
	}
	p256_key_free(k);
	p256_key_free(stranger);
	p256_key_free(NULL);
}

#define ZERO  "0000000000000000000000000000000000000000000000000000000000000000"
#define ORDER "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551"
#define ONES  "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
#define GOOD  "66dc5914ac443775f601bd29c2023d3451f6c369a3bd05833f33cd41ee596980"

Test(verify, p256_takes_no_numbers_outside_of_the_curves_order)
{
	static const char *const bad[] = { ZERO, ORDER, ONES };
	struct p256_key         *k     = key_of(signer);
	uint8_t                  sig[SIG_BYTES];

	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		from_hex(sig, 32, bad[i]);
		from_hex(sig + 32, 32, GOOD);
		cr_expect_not(verify_p256(k, sig, manifest, strlen(manifest)), "r %s", bad[i]);
		from_hex(sig, 32, GOOD);
		from_hex(sig + 32, 32, bad[i]);
		cr_expect_not(verify_p256(k, sig, manifest, strlen(manifest)), "s %s", bad[i]);
		from_hex(sig, 32, bad[i]);
		cr_expect_not(verify_p256(k, sig, manifest, strlen(manifest)), "both %s", bad[i]);
	}
	expect_no_rest();
	p256_key_free(k);
}

Test(verify, only_a_public_key_on_p256_is_one)
{
	static const struct {
		const char *what, *pem;
	} bad[] = {
		{ "nothing", "" },
		{ "some text", "hello\n" },
		{ "its first half", "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAERLmgCGJPm36c\n" },
		{ "P-384", PEM("MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAE2bxdlEc7ZRzwdYaJu1ioLf76cSn3Shgw\n"
		               "WKu9HYZzQmxJ52/NXAys+GRPndMe1AShBsv1t0t2z727+4Jtc7my1FP1mlBJDbz1\n"
		               "Qd2fTdfo6ZDm2xNxfvUegovT7Hr7T0bx") },
		{ "secp256k1", PEM("MFYwEAYHKoZIzj0CAQYFK4EEAAoDQgAEEDN9XiVDe9QH40UwKdqKrhKwpTElRO8F\n"
		                   "SRSfHk+zfHvVREqzUj82L8x3a6lY8y4lhJsX1iG5y31Shz0RBV2uCw==") },
		{ "Ed25519", PEM("MCowBQYDK2VwAyEAI9IP+VP4vXh1DeBIvfDSiQCi+YG8qsCQLADZxCCQ6/c=") },
		{ "RSA", PEM("MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDemXNbSgp5NJ6RrFPDcKJq0vzV\n"
		             "hDRomZWbxXljaPZ9iwlQrWGjPnMqk+guv3sEsvhmVtUlqdSN7TNTWTnR8SCZjC2D\n"
		             "/bfM8G4jKd4LHgyTlepz+Gv9rmvx9bHY7w5ZNJgxyRCsVLQ72F/ulVUiUxRLe/AV\n"
		             "CV0GAbyzIYLpkVnCWwIDAQAB") },
		{ "beside the curve", PEM("MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAERLmgCGJPm36cw1tDAUHAFsq61qmy\n"
		                          "V2cZ7oZDrkzVWmObGs6az2kGZ7SgpwdJJtRTpLXbYxnAhCCV4Y9kmQ1+qw==") },
		{ "the point at infinity", PEM("MBkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDAgAA") },
		{ "one that asks for a password", "-----BEGIN PUBLIC KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: "
		                                  "AES-128-CBC,00112233445566778899AABBCCDDEEFF\n\n"
		                                  "MBkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDAgAA\n-----END PUBLIC KEY-----\n" },
	};

	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct p256_key *k = NULL;

		cr_expect_eq(p256_key_new(&k, bad[i].pem, strlen(bad[i].pem)), ERR_MALFORMED, "%s", bad[i].what);
		cr_expect_null(k);
		expect_no_rest();
	}
}

static struct p256_key *shared;
static atomic_int       wrong;

static void *verify_often(void *arg)
{
	uint8_t sig[SIG_BYTES];

	(void)arg;
	from_hex(sig, sizeof(sig), signed_ones[0].sig);
	for (int i = 0; i < 200; i++) {
		sig[63] ^= (uint8_t)(i % 2);
		if (verify_p256(shared, sig, manifest, strlen(manifest)) != (i % 4 == 0 || i % 4 == 3))
			atomic_fetch_add(&wrong, 1);
	}
	return NULL;
}

Test(verify, one_key_serves_several_threads)
{
	pthread_t threads[4];

	shared = key_of(signer);
	for (size_t i = 0; i < COUNT_OF(threads); i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, verify_often, NULL), 0);
	for (size_t i = 0; i < COUNT_OF(threads); i++)
		pthread_join(threads[i], NULL);
	cr_expect_eq(atomic_load(&wrong), 0);
	p256_key_free(shared);
}
