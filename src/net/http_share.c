/*
 * Counts per address.
 */
#include "net/http_share.h"

#include "os/random.h"

#include <stdlib.h>
#include <string.h>

void http_shares_init(struct http_shares *all)
{
	map_init(&all->buckets, ADDR_KEY_BYTES, random_u64());
}

void http_shares_fini(struct http_shares *all)
{
	map_fini(&all->buckets);
}

static struct http_bucket *join_bucket(struct http_shares *all, const uint8_t key[ADDR_KEY_BYTES])
{
	struct http_bucket *b = map_get(&all->buckets, key);

	if (!b) {
		b = calloc(1, sizeof(*b));
		if (!b)
			return NULL;
		memcpy(b->key, key, sizeof(b->key));
		if (map_put(&all->buckets, b->key, b) != ERR_OK) {
			free(b);
			return NULL;
		}
	}
	b->count++;
	return b;
}

static void leave_bucket(struct http_shares *all, struct http_bucket **b)
{
	if (*b && --(*b)->count == 0) {
		map_remove(&all->buckets, (*b)->key);
		free(*b);
	}
	*b = NULL;
}

enum err http_share_join(struct http_share *s, struct http_shares *all, const struct addr *a)
{
	uint8_t key[ADDR_KEY_BYTES];

	*s = (struct http_share){ 0 };
	addr_key(key, a);
	s->narrow = join_bucket(all, key);
	if (!s->narrow)
		return ERR_NOMEM;
	if (!addr_key_wide(key, a))
		return ERR_OK;
	s->wide = join_bucket(all, key);
	if (s->wide)
		return ERR_OK;
	leave_bucket(all, &s->narrow);
	return ERR_NOMEM;
}

void http_share_leave(struct http_share *s, struct http_shares *all)
{
	leave_bucket(all, &s->narrow);
	leave_bucket(all, &s->wide);
}

enum err http_share_change(struct http_share *s, struct http_shares *all, const struct addr *a)
{
	struct http_share fresh;
	enum err          e = http_share_join(&fresh, all, a);

	if (e != ERR_OK)
		return e;
	http_share_leave(s, all);
	*s = fresh;
	return ERR_OK;
}

const struct http_bucket *http_share_over(const struct http_share *s, size_t max)
{
	if (s->narrow && s->narrow->count > max)
		return s->narrow;
	if (s->wide && s->wide->count > max * HTTP_SHARE_WIDE_FACTOR)
		return s->wide;
	return NULL;
}
