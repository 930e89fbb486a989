#include "base/pool.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#define SLAB_ITEMS 64

struct slab {
	struct slab *next;
	alignas(max_align_t) unsigned char items[];
};

struct spare {
	struct spare *next;
};

void pool_init(struct pool *p, size_t item_bytes, size_t max)
{
	size_t align = alignof(max_align_t);

	if (item_bytes < sizeof(struct spare))
		item_bytes = sizeof(struct spare);
	*p = (struct pool){ .item_bytes = (item_bytes + align - 1) / align * align, .max = max };
}

void pool_fini(struct pool *p)
{
	struct slab *next;

	for (struct slab *s = p->slabs; s; s = next) {
		next = s->next;
		free(s);
	}
	pool_init(p, p->item_bytes, p->max);
}

static void add_slab(struct pool *p)
{
	struct slab *s = malloc(sizeof(*s) + SLAB_ITEMS * p->item_bytes);

	if (!s)
		return;
	s->next  = p->slabs;
	p->slabs = s;
	p->made += SLAB_ITEMS;
	for (size_t i = SLAB_ITEMS; i > 0; i--) {
		struct spare *item = (struct spare *)(void *)(s->items + (i - 1) * p->item_bytes);

		item->next = p->spare;
		p->spare   = item;
	}
}

void *pool_take(struct pool *p)
{
	if (p->used >= p->max)
		return NULL;
	if (!p->spare)
		add_slab(p);
	if (!p->spare)
		return NULL;

	struct spare *item = p->spare;

	p->spare = item->next;
	p->used++;
	return memset(item, 0, p->item_bytes);
}

void pool_give(struct pool *p, void *item)
{
	struct spare *s = item;

	s->next  = p->spare;
	p->spare = s;
	p->used--;
}
