/*
 * The lowest so many of things that come in no order, in one pass over them: a page of a list while things come and go.
 *
 *	lowest_init(&l, room, 101, by_code);
 *	... for each thing: lowest_offer(&l, thing);
 *	lowest_sort(&l);	l.items[0 to l.count - 1] in order
 */
#ifndef BASE_LOWEST_H
#define BASE_LOWEST_H

#include <stddef.h>

struct lowest {
	void **items; /* until lowest_sort a heap, the highest first */
	size_t count, cap;
	int (*compare)(const void *a, const void *b); /* below 0: a comes first */
};

/* items: the caller's, room for cap, which is at least 1. */
void lowest_init(struct lowest *l, void **items, size_t cap, int (*compare)(const void *a, const void *b));
void lowest_offer(struct lowest *l, void *item);
void lowest_sort(struct lowest *l);

#endif
