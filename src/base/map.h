/*
 * A hash table from keys of one fixed length to pointers, over uthash.
 *
 * The hash is keyed by the seed, so that peers who choose keys cannot make them collide. Entries are allocated one by
 * one; the table copies keys and does not own the values.
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define MAP_KEY_BYTES_MAX 32

struct map_node;

struct map {
	struct map_node *head;
	size_t           key_bytes;
	uint64_t         seed;
};

/* key_bytes is 1 to MAP_KEY_BYTES_MAX; take the seed from os/random (tests may use any). Takes no memory. */
void map_init(struct map *m, size_t key_bytes, uint64_t seed);

/* Frees the table, not the values. */
void map_fini(struct map *m);

/* The value, or NULL. */
void *map_get(const struct map *m, const void *key);

/* Adds value (not NULL). ERR_EXISTS when the key is there, ERR_NOMEM; the table is unchanged then. */
enum err map_put(struct map *m, const void *key, void *value);

/* Takes the key out and returns its value, or NULL when it was not there. */
void *map_remove(struct map *m, const void *key);

size_t map_count(const struct map *m);

/* Calls each for every value; each may remove the entry it is called for (by map_remove), no other. */
void map_each(struct map *m, void (*each)(void *value, void *arg), void *arg);

#endif
