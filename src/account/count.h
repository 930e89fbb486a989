/*
 * How many a key holds at this moment, with a most: connections of an address, games of a network.
 *
 *	if (!count_take(conns, address_key))
 *		return ERR_NO_ROOM;
 *	...
 *	count_give(conns, address_key);			once for each take that was true, and each add
 *
 * A key that holds nothing is forgotten at once. Keys, their number, the overflow that keys without room share, and
 * threads: see keyed.h. With keys_max at the most that can be held by all together, no key is ever without room. A key
 * takes about 150 bytes.
 */
#ifndef ACCOUNT_COUNT_H
#define ACCOUNT_COUNT_H

#include "account/keyed.h"

struct count;

/* max may be 0: then nothing is allowed. keys_max is at least 1. NULL when out of memory. */
struct count *count_new(int64_t max, size_t keys_max, uint64_t seed);
void          count_free(struct count *c);
void          count_freep(struct count **c);

/* One more is held, and true, when that is at most max. */
bool count_take(struct count *c, const uint8_t key[KEYED_KEY_BYTES]);

/* One more is held, beyond the most too: it is so already, and nobody can be refused. */
void count_add(struct count *c, const uint8_t key[KEYED_KEY_BYTES]);

/* One less. */
void count_give(struct count *c, const uint8_t key[KEYED_KEY_BYTES]);

/* What counts against the key: its own, or what all in the overflow hold when it would have to go there. */
int64_t count_held(struct count *c, const uint8_t key[KEYED_KEY_BYTES]);

/* From now on. Nobody loses what he holds. */
void count_set_max(struct count *c, int64_t max);

/* Keys with an entry of their own. */
size_t count_keys(const struct count *c);

#endif
