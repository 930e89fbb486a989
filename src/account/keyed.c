/*
 * A map for finding, a list in order of use for forgetting. Whoever brings a new key pays for a few looks at the list's
 * old end, so that idle entries go as fast as new ones come and no timer is needed.
 */
#include "account/keyed.h"

#include "base/auto.h"

#include <assert.h>
#include <string.h>

/* Twice the entries a new key brings would do; more, because an idle one can stand behind busy ones. */
#define LOOKS 8

static struct keyed_entry *entry_of(struct list *by_use)
{
	return CONTAINER(by_use, struct keyed_entry, by_use);
}

static void free_entry(const struct keyed *k, struct keyed_entry *e)
{
	if (k->kind->fini)
		k->kind->fini(e);
	free(e);
}

enum err keyed_init(struct keyed *k, const struct keyed_kind *kind, size_t keys_max, uint64_t seed)
{
	assert(keys_max > 0);
	assert(kind->entry_bytes >= sizeof(struct keyed_entry));

	struct keyed_entry *overflow = calloc(1, kind->entry_bytes);
	if (!overflow)
		return ERR_NOMEM;
	*k = (struct keyed){ .kind = kind, .keys_max = keys_max, .overflow = overflow };
	map_init(&k->map, KEYED_KEY_BYTES, seed);
	list_init(&k->by_use);
	return ERR_OK;
}

void keyed_fini(struct keyed *k)
{
	struct list *l;

	while ((l = list_take_first(&k->by_use)))
		free_entry(k, entry_of(l));
	free_entry(k, k->overflow);
	map_fini(&k->map);
}

void keyed_drop(struct keyed *k, struct keyed_entry *e)
{
	if (e == k->overflow)
		return;
	map_remove(&k->map, e->key);
	list_remove(&e->by_use);
	free_entry(k, e);
}

static void forget_idle(struct keyed *k, int64_t now_ms)
{
	struct list *at = k->by_use.next;

	for (int looks = 0; looks < LOOKS && at != &k->by_use; looks++) {
		struct keyed_entry *e = entry_of(at);

		at = at->next;
		if (k->kind->is_idle(k, e, now_ms))
			keyed_drop(k, e);
	}
}

static bool has_room(struct keyed *k, int64_t now_ms)
{
	forget_idle(k, now_ms);
	return map_count(&k->map) < k->keys_max;
}

/* NULL when out of memory. */
static struct keyed_entry *add_entry(struct keyed *k, const uint8_t key[KEYED_KEY_BYTES])
{
	struct keyed_entry *e = calloc(1, k->kind->entry_bytes);

	if (!e)
		return NULL;
	memcpy(e->key, key, KEYED_KEY_BYTES);
	if (map_put(&k->map, key, e) != ERR_OK) {
		free(e);
		return NULL;
	}
	list_append(&k->by_use, &e->by_use);
	return e;
}

struct keyed_entry *keyed_find(struct keyed *k, const uint8_t key[KEYED_KEY_BYTES], int64_t now_ms)
{
	struct keyed_entry *e = map_get(&k->map, key);

	if (e)
		return e;
	return has_room(k, now_ms) ? NULL : k->overflow;
}

struct keyed_entry *keyed_get(struct keyed *k, const uint8_t key[KEYED_KEY_BYTES], int64_t now_ms)
{
	struct keyed_entry *e = keyed_find(k, key, now_ms);

	if (e == k->overflow)
		return e;
	if (!e) {
		e = add_entry(k, key);
		return e ? e : k->overflow;
	}
	list_remove(&e->by_use);
	list_append(&k->by_use, &e->by_use);
	return e;
}

size_t keyed_count(const struct keyed *k)
{
	return map_count(&k->map);
}
