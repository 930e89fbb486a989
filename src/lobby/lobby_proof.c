/*
 * A nonce says by itself when it was made and for whom, under a key that lives as long as the process. Used ones are kept
 * in the order in which they were used, and each for as long as a nonce lives from then: longer than its own rest of life.
 *
 * Time here never goes back: a clock that is set back by less than the life of a nonce stands still until it has caught up,
 * so that no nonce that was forgotten as expired comes to life again. When it is set back by more, all that was given out
 * is void, since there is another key.
 */
#include "lobby/lobby_proof.h"

#include "base/auto.h"
#include "base/bytes.h"
#include "base/hex.h"
#include "base/list.h"
#include "base/map.h"
#include "crypt/hash.h"
#include "crypt/verify.h"
#include "os/random.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define DOMAIN           "coopd-host-proof-v1"
#define IDENTITY_PREFIX  "gen:"
#define NONCE_TIME_BYTES 8
#define NONCE_HEAD_BYTES (LOBBY_NONCE_BYTES - HASH_KEYED_BYTES) /* before the hash */
#define SERVER_BYTES_MAX 255

static_assert(LOBBY_NONCE_BYTES <= MAP_KEY_BYTES_MAX, "a nonce is a key of the map");
static_assert(LOBBY_KEY_BYTES == VERIFY_ED25519_KEY_BYTES && LOBBY_PROOF_BYTES == VERIFY_ED25519_SIG_BYTES,
              "a proof is an Ed25519 signature");

struct used {
	struct list by_use;
	uint8_t     nonce[LOBBY_NONCE_BYTES];
	int64_t     used_ms;
};

struct lobby_proof {
	size_t          used_max;
	pthread_mutex_t lock; /* guards the rest */
	uint8_t         key[HASH_KEY_BYTES];
	int64_t         latest_ms; /* the furthest the wall clock came */
	struct map      used;      /* struct used by nonce */
	struct list     by_use;    /* the same, oldest use first */
};

struct lobby_proof *lobby_proof_new(size_t used_max)
{
	struct lobby_proof *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->used_max  = used_max;
	p->latest_ms = INT64_MIN;
	pthread_mutex_init(&p->lock, NULL);
	random_bytes(p->key, sizeof(p->key));
	map_init(&p->used, LOBBY_NONCE_BYTES, random_u64());
	list_init(&p->by_use);
	return p;
}

static void forget_first(struct lobby_proof *p)
{
	struct used *u = CONTAINER(list_take_first(&p->by_use), struct used, by_use);

	map_remove(&p->used, u->nonce);
	free(u);
}

void lobby_proof_free(struct lobby_proof *p)
{
	if (!p)
		return;
	while (!list_is_empty(&p->by_use))
		forget_first(p);
	map_fini(&p->used);
	wipe_secret(p->key, sizeof(p->key));
	pthread_mutex_destroy(&p->lock);
	free(p);
}

/* With the lock. Threads come with times they read some moments ago, which is no clock that was set. */
static int64_t now_of(struct lobby_proof *p, int64_t wall_ms)
{
	if (wall_ms >= p->latest_ms) {
		p->latest_ms = wall_ms;
	} else if (p->latest_ms - wall_ms > LOBBY_NONCE_LIFE_MS) {
		random_bytes(p->key, sizeof(p->key));
		while (!list_is_empty(&p->by_use))
			forget_first(p);
		p->latest_ms = wall_ms;
	}
	return p->latest_ms;
}

static void seal(uint8_t out[HASH_KEYED_BYTES], const struct lobby_proof *p, const uint8_t *nonce,
                 const struct addr *client)
{
	uint8_t   text[NONCE_HEAD_BYTES + ADDR_KEY_BYTES], bucket[ADDR_KEY_BYTES];
	struct wr w = wr_over(text, sizeof(text));

	addr_key(bucket, client);
	wr_bytes(&w, nonce, NONCE_HEAD_BYTES);
	wr_bytes(&w, bucket, sizeof(bucket));
	hash_keyed(out, p->key, text, wr_len(&w));
}

void lobby_proof_nonce(uint8_t out[LOBBY_NONCE_BYTES], struct lobby_proof *p, const struct addr *client,
                       int64_t wall_ms)
{
	uint8_t   random[NONCE_HEAD_BYTES - NONCE_TIME_BYTES];
	struct wr w = wr_over(out, LOBBY_NONCE_BYTES);

	random_bytes(random, sizeof(random));
	pthread_mutex_lock(&p->lock);
	wr_be(&w, (uint64_t)now_of(p, wall_ms), NONCE_TIME_BYTES);
	wr_bytes(&w, random, sizeof(random));
	seal(out + NONCE_HEAD_BYTES, p, out, client);
	pthread_mutex_unlock(&p->lock);
}

static void put_part(struct wr *w, const void *data, size_t len)
{
	wr_be(w, len, 2);
	wr_bytes(w, data, len);
}

void lobby_proof_text(uint8_t out[LOBBY_PROOF_TEXT_BYTES], size_t *len, const char *server,
                      const uint8_t key[LOBBY_KEY_BYTES], const uint8_t nonce[LOBBY_NONCE_BYTES])
{
	char      identity[LOBBY_IDENTITY_CHARS + 1] = IDENTITY_PREFIX;
	struct wr w                                  = wr_over(out, LOBBY_PROOF_TEXT_BYTES);

	assert(strlen(server) <= SERVER_BYTES_MAX);
	hex_encode(identity + strlen(IDENTITY_PREFIX), key, LOBBY_KEY_BYTES);
	put_part(&w, DOMAIN, strlen(DOMAIN));
	put_part(&w, server, strlen(server));
	put_part(&w, identity, LOBBY_IDENTITY_CHARS);
	put_part(&w, nonce, LOBBY_NONCE_BYTES);
	*len = wr_len(&w);
	assert(*len > 0);
}

/* Ours, for this client, and neither expired nor used. With the lock. */
static bool is_good(const struct lobby_proof *p, const uint8_t nonce[LOBBY_NONCE_BYTES], const struct addr *client,
                    int64_t now_ms)
{
	uint8_t   expected[HASH_KEYED_BYTES];
	struct rd r = rd_over(nonce, NONCE_TIME_BYTES);

	seal(expected, p, nonce, client);
	if (!equal_secret(expected, nonce + NONCE_HEAD_BYTES, sizeof(expected)))
		return false;
	/* It is ours, so its time is one that latest_ms had. */
	return now_ms - (int64_t)rd_be(&r, NONCE_TIME_BYTES) < LOBBY_NONCE_LIFE_MS && !map_get(&p->used, nonce);
}

/* With the lock. False when there is no room to remember it. */
static bool use_up(struct lobby_proof *p, const uint8_t nonce[LOBBY_NONCE_BYTES], int64_t now_ms)
{
	while (!list_is_empty(&p->by_use) &&
	       now_ms - CONTAINER(p->by_use.next, struct used, by_use)->used_ms >= LOBBY_NONCE_LIFE_MS)
		forget_first(p);
	if (map_count(&p->used) >= p->used_max)
		return false;

	struct used *u = calloc(1, sizeof(*u));
	if (!u)
		return false;
	memcpy(u->nonce, nonce, sizeof(u->nonce));
	u->used_ms = now_ms;
	if (map_put(&p->used, nonce, u) != ERR_OK) {
		free(u);
		return false;
	}
	list_append(&p->by_use, &u->by_use);
	return true;
}

bool lobby_proof_holds(struct lobby_proof *p, const struct lobby_announce *a, const char *server,
                       const struct addr *client, int64_t wall_ms)
{
	uint8_t text[LOBBY_PROOF_TEXT_BYTES];
	size_t  len;

	if (!a->has_proof || !a->has_identity || strlen(server) > SERVER_BYTES_MAX)
		return false;
	pthread_mutex_lock(&p->lock);
	bool good = is_good(p, a->nonce, client, now_of(p, wall_ms));
	pthread_mutex_unlock(&p->lock);
	if (!good)
		return false;

	/* The slow part is nobody else's to wait for; so what was good before is asked again behind it. */
	lobby_proof_text(text, &len, server, a->key, a->nonce);
	if (!verify_ed25519(a->proof, text, len, a->key))
		return false;
	pthread_mutex_lock(&p->lock);
	int64_t now_ms = now_of(p, wall_ms);
	good           = is_good(p, a->nonce, client, now_ms) && use_up(p, a->nonce, now_ms);
	pthread_mutex_unlock(&p->lock);
	return good;
}
