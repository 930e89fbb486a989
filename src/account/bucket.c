/*
 * An entry holds what is missing from the full bucket, in thousandths of a token: a new entry is full without knowing
 * the burst, a changed burst needs no repair, and one millisecond gives exactly rate_per_s thousandths.
 */
#include "account/bucket.h"

#include <assert.h>

#define TOKEN 1000

struct bucket {
	struct keyed keyed;
	int64_t      rate_per_s;
	int64_t      burst;
};

struct level {
	struct keyed_entry entry;
	int64_t            missing; /* at at_ms, in thousandths */
	int64_t            at_ms;
};

static int64_t missing_now(const struct bucket *b, const struct level *l, int64_t now_ms)
{
	int64_t elapsed_ms = now_ms > l->at_ms ? now_ms - l->at_ms : 0;

	/* Asked by division: the product of a long while and a high rate would overflow. */
	if (elapsed_ms > l->missing / b->rate_per_s)
		return 0;
	return l->missing - elapsed_ms * b->rate_per_s;
}

static bool is_idle(const struct keyed *k, const struct keyed_entry *entry, int64_t now_ms)
{
	const struct bucket *b = (const struct bucket *)(const void *)k;
	const struct level  *l = (const struct level *)(const void *)entry;

	return missing_now(b, l, now_ms) == 0;
}

static const struct keyed_kind kind = {
	.entry_bytes = sizeof(struct level),
	.is_idle     = is_idle,
};

struct bucket *bucket_new(int64_t rate_per_s, int64_t burst, size_t keys_max, uint64_t seed)
{
	struct bucket *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	if (keyed_init(&b->keyed, &kind, keys_max, seed) != ERR_OK) {
		free(b);
		return NULL;
	}
	bucket_set(b, rate_per_s, burst);
	return b;
}

void bucket_free(struct bucket *b)
{
	if (!b)
		return;
	keyed_fini(&b->keyed);
	free(b);
}

void bucket_freep(struct bucket **b)
{
	bucket_free(*b);
}

bool bucket_take(struct bucket *b, const uint8_t key[KEYED_KEY_BYTES], int64_t now_ms)
{
	struct level *l = (struct level *)(void *)keyed_get(&b->keyed, key, now_ms);

	l->missing = missing_now(b, l, now_ms);
	l->at_ms   = now_ms;
	if (l->missing + TOKEN > b->burst * TOKEN)
		return false;
	l->missing += TOKEN;
	return true;
}

void bucket_set(struct bucket *b, int64_t rate_per_s, int64_t burst)
{
	assert(rate_per_s > 0 && burst > 0);
	b->rate_per_s = rate_per_s;
	b->burst      = burst;
}

size_t bucket_keys(const struct bucket *b)
{
	return keyed_count(&b->keyed);
}
