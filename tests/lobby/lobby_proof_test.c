/*
 * Proofs of identity: what counts once, and all that does not count.
 */
#include "lobby/lobby_proof.h"

#include "base/auto.h"
#include "base/text.h"
#include "support/identity.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define WALL_MS INT64_C(1793534400000)
#define SERVER  "coop.example.org"

static struct addr at(const char *text)
{
	struct addr a;

	cr_assert_eq(addr_parse(&a, text, strlen(text), false), ERR_OK);
	return a;
}

static struct lobby_announce announce_of(const struct identity *who, const char *server,
                                         const uint8_t nonce[LOBBY_NONCE_BYTES])
{
	struct lobby_announce a = { .has_identity = true, .has_proof = true };
	uint8_t               text[LOBBY_PROOF_TEXT_BYTES];
	size_t                len;

	memcpy(a.key, who->key, sizeof(a.key));
	memcpy(a.nonce, nonce, sizeof(a.nonce));
	lobby_proof_text(text, &len, server, who->key, nonce);
	identity_sign(a.proof, who, text, len);
	return a;
}

/* An announce with a new nonce, given to this client at wall_ms. */
static struct lobby_announce prove(struct lobby_proof *p, const struct addr *client, int64_t wall_ms)
{
	struct identity who = identity_of(1);
	uint8_t         nonce[LOBBY_NONCE_BYTES];

	lobby_proof_nonce(nonce, p, client, wall_ms);
	return announce_of(&who, SERVER, nonce);
}

Test(lobby_proof, what_is_signed_is_written_with_its_lengths)
{
	struct identity who = identity_of(1);
	uint8_t         nonce[LOBBY_NONCE_BYTES], text[LOBBY_PROOF_TEXT_BYTES];
	size_t          len, at = 0;

	memset(nonce, 0xee, sizeof(nonce));
	lobby_proof_text(text, &len, SERVER, who.key, nonce);
	cr_assert_eq(len, 2 + 19 + 2 + 16 + 2 + 68 + 2 + 32);
	cr_expect_arr_eq(text + at,
	                 "\0\x13"
	                 "coopd-host-proof-v1",
	                 21);
	at += 21;
	cr_expect_arr_eq(text + at, "\0\x10" SERVER, 18);
	at += 18;
	cr_expect_arr_eq(text + at, "\0\x44gen:", 6);
	cr_expect_arr_eq(text + at + 2, who.text, 68);
	at += 70;
	cr_expect_arr_eq(text + at, "\0\x20", 2);
	cr_expect_arr_eq(text + at + 2, nonce, 32);
}

Test(lobby_proof, a_good_one_counts_once)
{
	struct lobby_proof   *p      = lobby_proof_new(100);
	struct addr           client = at("192.0.2.1");
	struct lobby_announce a      = prove(p, &client, WALL_MS);

	cr_expect(lobby_proof_holds(p, &a, SERVER, &client, WALL_MS));
	cr_expect_not(lobby_proof_holds(p, &a, SERVER, &client, WALL_MS));
	cr_expect_not(lobby_proof_holds(p, &a, SERVER, &client, WALL_MS + 59999));
	cr_expect_not(lobby_proof_holds(p, &a, SERVER, &client, WALL_MS + 120000), "nor when it is forgotten");

	/* Another host cannot use the same nonce either. */
	struct identity       other = identity_of(2);
	struct lobby_announce b     = announce_of(&other, SERVER, a.nonce);
	cr_expect_not(lobby_proof_holds(p, &b, SERVER, &client, WALL_MS + 1));
	lobby_proof_free(p);
}

Test(lobby_proof, it_is_good_for_a_minute_and_not_longer)
{
	struct lobby_proof   *p      = lobby_proof_new(100);
	struct addr           client = at("192.0.2.1");
	struct lobby_announce early  = prove(p, &client, WALL_MS);
	struct lobby_announce late   = prove(p, &client, WALL_MS);

	cr_expect(lobby_proof_holds(p, &early, SERVER, &client, WALL_MS + 59999));
	cr_expect_not(lobby_proof_holds(p, &late, SERVER, &client, WALL_MS + 60000));
	lobby_proof_free(p);
}

Test(lobby_proof, what_fails_uses_nothing_up)
{
	struct lobby_proof   *p        = lobby_proof_new(1);
	struct addr           client   = at("192.0.2.1");
	struct addr           stranger = at("192.0.2.2");
	struct identity       other    = identity_of(2);
	struct lobby_announce good     = prove(p, &client, WALL_MS);
	struct lobby_announce a        = good;

	cr_expect_not(lobby_proof_holds(p, &a, SERVER, &stranger, WALL_MS), "another client");
	cr_expect_not(lobby_proof_holds(p, &a, "coop.example.com", &client, WALL_MS), "another server");
	cr_expect_not(lobby_proof_holds(p, &a, "", &client, WALL_MS), "no server");
	memcpy(a.key, other.key, sizeof(a.key));
	cr_expect_not(lobby_proof_holds(p, &a, SERVER, &client, WALL_MS), "another identity");
	a              = good;
	a.has_identity = false;
	cr_expect_not(lobby_proof_holds(p, &a, SERVER, &client, WALL_MS), "none");
	a           = good;
	a.has_proof = false;
	cr_expect_not(lobby_proof_holds(p, &a, SERVER, &client, WALL_MS), "no proof");
	for (size_t bit = 0; bit < 8 * sizeof(a.proof); bit += 7) {
		a = good;
		a.proof[bit / 8] ^= (uint8_t)(1 << bit % 8);
		cr_expect_not(lobby_proof_holds(p, &a, SERVER, &client, WALL_MS), "signature without bit %zu", bit);
	}
	cr_expect(lobby_proof_holds(p, &good, SERVER, &client, WALL_MS));
	lobby_proof_free(p);
}

/* Signed anew each time, as somebody would who makes nonces up. */
Test(lobby_proof, only_our_own_nonces_count)
{
	struct lobby_proof   *p = lobby_proof_new(100), *before = lobby_proof_new(100);
	struct addr           client = at("192.0.2.1");
	struct identity       who    = identity_of(1);
	struct lobby_announce good   = prove(p, &client, WALL_MS), old;

	for (size_t bit = 0; bit < 8 * sizeof(good.nonce); bit++) {
		uint8_t nonce[LOBBY_NONCE_BYTES];

		memcpy(nonce, good.nonce, sizeof(nonce));
		nonce[bit / 8] ^= (uint8_t)(1 << bit % 8);
		struct lobby_announce a = announce_of(&who, SERVER, nonce);
		cr_expect_not(lobby_proof_holds(p, &a, SERVER, &client, WALL_MS), "nonce without bit %zu", bit);
	}
	old = prove(before, &client, WALL_MS);
	cr_expect_not(lobby_proof_holds(p, &old, SERVER, &client, WALL_MS), "another process's");
	cr_expect(lobby_proof_holds(p, &good, SERVER, &client, WALL_MS));
	lobby_proof_free(p);
	lobby_proof_free(before);
}

Test(lobby_proof, a_client_is_an_address_bucket)
{
	struct lobby_proof *p    = lobby_proof_new(100);
	struct addr         here = at("2001:db8:1:2::1"), near = at("2001:db8:1:2::ffff"), far = at("2001:db8:1:3::1");
	struct lobby_announce a = prove(p, &here, WALL_MS), b = prove(p, &here, WALL_MS);

	near.port = 1;
	cr_expect_not(lobby_proof_holds(p, &a, SERVER, &far, WALL_MS));
	cr_expect(lobby_proof_holds(p, &a, SERVER, &near, WALL_MS));
	cr_expect(lobby_proof_holds(p, &b, SERVER, &here, WALL_MS));
	lobby_proof_free(p);
}

/* At the limit of used ones, one past it, and after a minute. */
Test(lobby_proof, used_ones_are_bounded_and_forgotten)
{
	enum { MAX = 20 };
	struct lobby_proof   *p      = lobby_proof_new(MAX);
	struct addr           client = at("192.0.2.1");
	struct lobby_announce a;

	for (int i = 0; i < MAX; i++) {
		a = prove(p, &client, WALL_MS + i);
		cr_expect(lobby_proof_holds(p, &a, SERVER, &client, WALL_MS + i), "%d", i);
	}
	a = prove(p, &client, WALL_MS + 59999);
	cr_expect_not(lobby_proof_holds(p, &a, SERVER, &client, WALL_MS + 59999), "one past it");
	cr_expect(lobby_proof_holds(p, &a, SERVER, &client, WALL_MS + 60000), "the first is forgotten");
	a = prove(p, &client, WALL_MS + 60000);
	cr_expect_not(lobby_proof_holds(p, &a, SERVER, &client, WALL_MS + 60000), "the second is not");
	lobby_proof_free(p);
}

Test(lobby_proof, a_clock_that_is_set_back_brings_nothing_back)
{
	struct lobby_proof   *p      = lobby_proof_new(100);
	struct addr           client = at("192.0.2.1");
	struct lobby_announce used   = prove(p, &client, WALL_MS);
	struct lobby_announce a      = prove(p, &client, WALL_MS + 30000);

	cr_expect(lobby_proof_holds(p, &used, SERVER, &client, WALL_MS));
	cr_expect(lobby_proof_holds(p, &a, SERVER, &client, WALL_MS + 70000), "and used is forgotten now");
	cr_expect_not(lobby_proof_holds(p, &used, SERVER, &client, WALL_MS + 20000), "a little back");
	cr_expect_not(lobby_proof_holds(p, &a, SERVER, &client, WALL_MS + 30000));
	a = prove(p, &client, WALL_MS + 40000);
	cr_expect(lobby_proof_holds(p, &a, SERVER, &client, WALL_MS + 40001), "new ones count meanwhile");

	cr_expect_not(lobby_proof_holds(p, &used, SERVER, &client, WALL_MS - 3600000), "far back");
	cr_expect_not(lobby_proof_holds(p, &used, SERVER, &client, WALL_MS + 1));
	a = prove(p, &client, WALL_MS + 1000);
	cr_expect(lobby_proof_holds(p, &a, SERVER, &client, WALL_MS + 1001));
	lobby_proof_free(p);
}

Test(lobby_proof, a_server_name_that_is_too_long_proves_nothing)
{
	struct lobby_proof *p      = lobby_proof_new(100);
	struct addr         client = at("192.0.2.1");
	struct identity     who    = identity_of(1);
	uint8_t             nonce[LOBBY_NONCE_BYTES];
	char                server[257];

	memset(server, 'a', sizeof(server));
	server[255] = '\0';
	lobby_proof_nonce(nonce, p, &client, WALL_MS);
	struct lobby_announce a = announce_of(&who, server, nonce);
	server[255]             = 'a';
	server[256]             = '\0';
	cr_expect_not(lobby_proof_holds(p, &a, server, &client, WALL_MS));
	server[255] = '\0';
	cr_expect(lobby_proof_holds(p, &a, server, &client, WALL_MS));
	lobby_proof_free(p);
}

/* Many at once with the same proof: it counts for one of them. */
static struct lobby_proof   *shared;
static struct lobby_announce contested[20];
static struct addr           contender;
static atomic_int            won;

static void *contend(void *arg)
{
	(void)arg;
	for (size_t i = 0; i < COUNT_OF(contested); i++)
		if (lobby_proof_holds(shared, &contested[i], SERVER, &contender, WALL_MS))
			atomic_fetch_add(&won, 1);
	return NULL;
}

Test(lobby_proof, of_many_threads_one_gets_it)
{
	pthread_t threads[4];

	shared    = lobby_proof_new(100);
	contender = at("192.0.2.1");
	for (size_t i = 0; i < COUNT_OF(contested); i++)
		contested[i] = prove(shared, &contender, WALL_MS);
	for (size_t i = 0; i < COUNT_OF(threads); i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, contend, NULL), 0);
	for (size_t i = 0; i < COUNT_OF(threads); i++)
		pthread_join(threads[i], NULL);
	cr_expect_eq(atomic_load(&won), (int)COUNT_OF(contested));
	lobby_proof_free(shared);
}
