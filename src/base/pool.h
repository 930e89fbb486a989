/*
 * A pool of structs of one size: taken and given back at the same cost always, memory in slabs that grow as needed up
 * to a limit and live as long as the pool.
 */
#ifndef BASE_POOL_H
#define BASE_POOL_H

#include <stddef.h>

struct pool {
	void  *slabs; /* singly linked */
	void  *spare; /* singly linked through the items themselves */
	size_t item_bytes;
	size_t used, made, max;
};

/* item_bytes at least 1; max items at the same time. Takes no memory. */
void pool_init(struct pool *p, size_t item_bytes, size_t max);

/* Frees every item, taken or not. */
void pool_fini(struct pool *p);

/* A zeroed item; NULL at the limit or when out of memory. */
void *pool_take(struct pool *p);

void pool_give(struct pool *p, void *item);

#endif
