/*
 * A number per key. A key may hold some in the overflow and, when room came later, some of its own: its own are given
 * back first, and as its entry goes with the last of them, the rest is found in the overflow again.
 */
#include "account/count.h"

#include <assert.h>

struct count {
	struct keyed keyed;
	int64_t      max;
};

struct held {
	struct keyed_entry entry;
	int64_t            held;
};

static struct held *held_of(struct keyed_entry *e)
{
	return (struct held *)(void *)e;
}

/* Entries at 0 are dropped where they get there, so none in the table is idle. */
static bool is_idle(const struct keyed *k, const struct keyed_entry *e, int64_t now_ms)
{
	(void)k;
	(void)e;
	(void)now_ms;
	return false;
}

static const struct keyed_kind kind = {
	.entry_bytes = sizeof(struct held),
	.is_idle     = is_idle,
};

struct count *count_new(int64_t max, size_t keys_max, uint64_t seed)
{
	struct count *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	if (keyed_init(&c->keyed, &kind, keys_max, seed) != ERR_OK) {
		free(c);
		return NULL;
	}
	count_set_max(c, max);
	return c;
}

void count_free(struct count *c)
{
	if (!c)
		return;
	keyed_fini(&c->keyed);
	free(c);
}

void count_freep(struct count **c)
{
	count_free(*c);
}

bool count_take(struct count *c, const uint8_t key[KEYED_KEY_BYTES])
{
	if (c->max == 0)
		return false;

	struct held *h = held_of(keyed_get(&c->keyed, key, 0));
	if (h->held >= c->max)
		return false;
	h->held++;
	return true;
}

void count_add(struct count *c, const uint8_t key[KEYED_KEY_BYTES])
{
	held_of(keyed_get(&c->keyed, key, 0))->held++;
}

/* The key's entry, or the overflow. */
static struct held *find_holder(struct count *c, const uint8_t key[KEYED_KEY_BYTES])
{
	struct keyed_entry *e = keyed_find(&c->keyed, key, 0);

	return held_of(e ? e : c->keyed.overflow);
}

void count_give(struct count *c, const uint8_t key[KEYED_KEY_BYTES])
{
	struct held *h = find_holder(c, key);

	assert(h->held > 0);
	h->held--;
	if (h->held == 0)
		keyed_drop(&c->keyed, &h->entry);
}

int64_t count_held(struct count *c, const uint8_t key[KEYED_KEY_BYTES])
{
	struct keyed_entry *e = keyed_find(&c->keyed, key, 0);

	return e ? held_of(e)->held : 0;
}

void count_set_max(struct count *c, int64_t max)
{
	assert(max >= 0);
	c->max = max;
}

size_t count_keys(const struct count *c)
{
	return keyed_count(&c->keyed);
}
