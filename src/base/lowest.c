/*
 * A heap of the lowest so far, the highest of them at its root: what comes after that one is of no interest.
 */
#include "base/lowest.h"

#include <assert.h>

void lowest_init(struct lowest *l, void **items, size_t cap, int (*compare)(const void *a, const void *b))
{
	assert(cap > 0);
	*l = (struct lowest){ .items = items, .cap = cap, .compare = compare };
}

/* The item comes to a free place at or below `at`, where all that is higher stays above it. */
static void sink(struct lowest *l, size_t at, void *item)
{
	for (;;) {
		size_t child = 2 * at + 1;

		if (child + 1 < l->count && l->compare(l->items[child + 1], l->items[child]) > 0)
			child++;
		if (child >= l->count || l->compare(l->items[child], item) <= 0)
			break;
		l->items[at] = l->items[child];
		at           = child;
	}
	l->items[at] = item;
}

static void rise(struct lowest *l, size_t at, void *item)
{
	while (at > 0 && l->compare(item, l->items[(at - 1) / 2]) > 0) {
		l->items[at] = l->items[(at - 1) / 2];
		at           = (at - 1) / 2;
	}
	l->items[at] = item;
}

void lowest_offer(struct lowest *l, void *item)
{
	if (l->count < l->cap)
		rise(l, l->count++, item);
	else if (l->compare(item, l->items[0]) < 0)
		sink(l, 0, item);
}

void lowest_sort(struct lowest *l)
{
	size_t count = l->count;

	while (l->count > 1) {
		void *highest = l->items[0];
		void *last    = l->items[--l->count];

		sink(l, 0, last);
		l->items[l->count] = highest;
	}
	l->count = count;
}
