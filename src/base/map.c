/*
 * uthash with two things of our own: nodes that hold a copy of the key, and SipHash-1-3 under the map's seed. The hash
 * is computed here and handed to uthash, since its HASH_FUNCTION sees the key alone and not the map.
 */
#include "base/map.h"

#include "base/bytes.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* An allocation that fails leaves the table as it was, and the new node without a table. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

struct map_node {
	UT_hash_handle hh;
	void          *value;
	uint8_t        key[];
};

struct sip {
	uint64_t v0, v1, v2, v3;
};

static uint64_t rotate(uint64_t x, unsigned bits)
{
	return x << bits | x >> (64 - bits);
}

static void sip_round(struct sip *s)
{
	s->v0 += s->v1;
	s->v1 = rotate(s->v1, 13) ^ s->v0;
	s->v0 = rotate(s->v0, 32);
	s->v2 += s->v3;
	s->v3 = rotate(s->v3, 16) ^ s->v2;
	s->v0 += s->v3;
	s->v3 = rotate(s->v3, 21) ^ s->v0;
	s->v2 += s->v1;
	s->v1 = rotate(s->v1, 17) ^ s->v2;
	s->v2 = rotate(s->v2, 32);
}

static void sip_word(struct sip *s, uint64_t word)
{
	s->v3 ^= word;
	sip_round(s);
	s->v0 ^= word;
}

/* The seed is the first half of SipHash's key and makes the second: 64 secret bits are plenty for a table. */
static unsigned hash_key(const struct map *m, const void *key)
{
	uint64_t   k0 = m->seed, k1 = m->seed * 0x9e3779b97f4a7c15;
	struct sip s    = { k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d, k0 ^ 0x6c7967656e657261,
		            k1 ^ 0x7465646279746573 };
	struct rd  r    = rd_over(key, m->key_bytes);
	uint64_t   last = (uint64_t)m->key_bytes << 56;

	while (rd_left(&r) >= 8)
		sip_word(&s, rd_le(&r, 8));
	sip_word(&s, last | rd_le(&r, rd_left(&r)));

	s.v2 ^= 0xff;
	for (int i = 0; i < 3; i++)
		sip_round(&s);
	return (unsigned)(s.v0 ^ s.v1 ^ s.v2 ^ s.v3);
}

void map_init(struct map *m, size_t key_bytes, uint64_t seed)
{
	assert(key_bytes >= 1 && key_bytes <= MAP_KEY_BYTES_MAX);
	*m = (struct map){ .key_bytes = key_bytes, .seed = seed };
}

void map_fini(struct map *m)
{
	struct map_node *node = m->head;

	HASH_CLEAR(hh, m->head);
	while (node) {
		struct map_node *next = node->hh.next;

		free(node);
		node = next;
	}
}

static struct map_node *find(const struct map *m, const void *key, unsigned hash)
{
	struct map_node *node;

	HASH_FIND_BYHASHVALUE(hh, m->head, key, (unsigned)m->key_bytes, hash, node);
	return node;
}

void *map_get(const struct map *m, const void *key)
{
	const struct map_node *node = find(m, key, hash_key(m, key));

	return node ? node->value : NULL;
}

enum err map_put(struct map *m, const void *key, void *value)
{
	unsigned hash = hash_key(m, key);

	assert(value);
	if (find(m, key, hash))
		return ERR_EXISTS;

	struct map_node *node = malloc(sizeof(*node) + m->key_bytes);
	if (!node)
		return ERR_NOMEM;
	node->value = value;
	memcpy(node->key, key, m->key_bytes);
	HASH_ADD_KEYPTR_BYHASHVALUE(hh, m->head, node->key, m->key_bytes, hash, node);
	if (!node->hh.tbl) {
		free(node);
		return ERR_NOMEM;
	}
	return ERR_OK;
}

void *map_remove(struct map *m, const void *key)
{
	struct map_node *node = find(m, key, hash_key(m, key));

	if (!node)
		return NULL;

	void *value = node->value;
	HASH_DELETE(hh, m->head, node);
	free(node);
	return value;
}

size_t map_count(const struct map *m)
{
	return HASH_COUNT(m->head);
}

void map_each(struct map *m, void (*each)(void *value, void *arg), void *arg)
{
	struct map_node *next;

	for (struct map_node *node = m->head; node; node = next) {
		next = node->hh.next;
		each(node->value, arg);
	}
}
