/*
 * Outside addresses from which something came to the second address lately, or which a check began with: a router lets that
 * address in now, so a check on such a socket would find an open NAT behind any.
 */
#include "p2p/p2p_inside.h"

#include "base/auto.h"

#include <stdlib.h>
#include <string.h>

#define SEEN_MS   300000
#define KEY_BYTES 6

struct seen {
	struct list in_order; /* the one that was seen longest ago first */
	uint8_t     key[KEY_BYTES];
	int64_t     at_ms;
};

struct p2p_seen {
	struct map  map;
	struct list order;
	struct pool pool;
};

static void key_of(uint8_t key[KEY_BYTES], const struct p2p_endpoint *e)
{
	memcpy(key, e->ip, sizeof(e->ip));
	memcpy(key + sizeof(e->ip), &e->port, sizeof(e->port));
}

struct p2p_seen *p2p_seen_new(const struct limits *limits, uint64_t seed)
{
	struct p2p_seen *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	map_init(&s->map, KEY_BYTES, seed);
	list_init(&s->order);
	pool_init(&s->pool, sizeof(struct seen), (size_t)limits->p2p_seen);
	return s;
}

void p2p_seen_free(struct p2p_seen *s)
{
	if (!s)
		return;
	map_fini(&s->map);
	pool_fini(&s->pool);
	free(s);
}

static void forget(struct p2p_seen *s, struct seen *e)
{
	map_remove(&s->map, e->key);
	list_remove(&e->in_order);
	pool_give(&s->pool, e);
}

static struct seen *oldest(const struct p2p_seen *s)
{
	return list_is_empty(&s->order) ? NULL : CONTAINER(s->order.next, struct seen, in_order);
}

static void forget_old(struct p2p_seen *s, int64_t now_ms)
{
	struct seen *e;

	while ((e = oldest(s)) && now_ms - e->at_ms >= SEEN_MS)
		forget(s, e);
}

bool p2p_was_seen(struct p2p *p, const struct p2p_endpoint *e, int64_t now_ms)
{
	uint8_t key[KEY_BYTES];

	key_of(key, e);
	forget_old(p->seen, now_ms);
	return map_get(&p->seen->map, key) != NULL;
}

void p2p_note_seen(struct p2p *p, const struct p2p_endpoint *e, int64_t now_ms)
{
	struct p2p_seen *s = p->seen;
	uint8_t          key[KEY_BYTES];
	struct seen     *known;

	key_of(key, e);
	known = map_get(&s->map, key);
	if (!known) {
		known = pool_take(&s->pool);
		if (!known && oldest(s)) {
			forget(s, oldest(s));
			known = pool_take(&s->pool);
		}
		if (!known)
			return;
		list_init(&known->in_order);
		memcpy(known->key, key, sizeof(key));
		if (map_put(&s->map, key, known) != ERR_OK) {
			pool_give(&s->pool, known);
			return;
		}
	}
	known->at_ms = now_ms;
	list_remove(&known->in_order);
	list_append(&s->order, &known->in_order);
}
