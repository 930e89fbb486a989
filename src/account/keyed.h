/*
 * What the counters of account/ share: a table from 16-byte keys to entries whose number is bounded.
 *
 * A key stands for whoever is counted: an address, a network, a player. A new key first makes room by forgetting entries
 * that are idle, those used longest ago first. When there is no room all the same, new keys share one entry, the
 * overflow: memory stays bounded, nobody gets through uncounted, and keys that have an entry notice nothing.
 *
 * Everything here belongs to one thread. Times are the caller's, monotonic, in ms.
 */
#ifndef ACCOUNT_KEYED_H
#define ACCOUNT_KEYED_H

#include "base/list.h"
#include "base/map.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KEYED_KEY_BYTES 16

struct keyed;

/* The first member of each counter's own entry; a new entry is all zeros behind it. */
struct keyed_entry {
	struct list by_use; /* in keyed.by_use */
	uint8_t     key[KEYED_KEY_BYTES];
};

struct keyed_kind {
	size_t entry_bytes;
	/* Nothing is lost when this entry is forgotten now. */
	bool (*is_idle)(const struct keyed *k, const struct keyed_entry *e, int64_t now_ms);
	/* Frees what the entry points at; NULL when it points at nothing. */
	void (*fini)(struct keyed_entry *e);
};

/* Embedded as the first member of each counter. */
struct keyed {
	const struct keyed_kind *kind;
	struct map               map;
	struct list              by_use; /* used longest ago first */
	size_t                   keys_max;
	struct keyed_entry      *overflow; /* in neither map nor list */
};

/* keys_max is at least 1. ERR_NOMEM; nothing is held then. */
enum err keyed_init(struct keyed *k, const struct keyed_kind *kind, size_t keys_max, uint64_t seed);
void     keyed_fini(struct keyed *k);

/* The entry that counts for the key, made when it has none and there is room (and memory), else the overflow. */
struct keyed_entry *keyed_get(struct keyed *k, const uint8_t key[KEYED_KEY_BYTES], int64_t now_ms);

/* The same without making one: NULL when a new one would be made. */
struct keyed_entry *keyed_find(struct keyed *k, const uint8_t key[KEYED_KEY_BYTES], int64_t now_ms);

/* Forgets an entry at once; the overflow stays. */
void keyed_drop(struct keyed *k, struct keyed_entry *e);

/* Entries of their own, the overflow not counted. */
size_t keyed_count(const struct keyed *k);

#endif
