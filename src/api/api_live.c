#include "api/api_live.h"

#include "base/auto.h"
#include "base/lowest.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct api_live {
	const struct api_live_kind *kind;
	void                       *part;
	const struct api_page      *page;
	struct lowest               lowest;
	unsigned char              *views; /* as many as lowest may have */
};

static bool is_behind(const struct api_live *l, const void *thing)
{
	uint8_t key[API_LIVE_KEY_BYTES_MAX];

	/* A cursor of another list begins this one at its beginning. */
	if (!l->page->has_after || l->page->after_len != l->kind->key_bytes)
		return true;
	l->kind->key_of(key, thing);
	return memcmp(key, l->page->after, l->kind->key_bytes) > 0;
}

void api_live_offer(struct api_live *l, void *thing)
{
	if (is_behind(l, thing))
		lowest_offer(&l->lowest, thing);
}

static void on_loop(void *arg)
{
	struct api_live *l = arg;

	l->kind->walk(l, l->part);
	lowest_sort(&l->lowest);
	for (size_t i = 0; i < l->lowest.count; i++)
		l->kind->look(l->views + i * l->kind->view_bytes, l->lowest.items[i]);
}

enum err api_live_list(struct api_call *c, const struct api_live_kind *kind, void *part)
{
	AUTO(auto_free) void **items = NULL;
	AUTO(auto_free) void  *views = NULL;
	struct api_page        p;
	struct api_live        l = { .kind = kind, .part = part, .page = &p };
	enum err               e = api_page_begin(&p, c);
	size_t                 cap;

	assert(kind->key_bytes <= API_LIVE_KEY_BYTES_MAX);
	if (e != ERR_OK)
		return e;
	cap   = (size_t)p.limit + 1; /* one more tells whether there is another page */
	items = calloc(cap, sizeof(*items));
	views = calloc(cap, kind->view_bytes);
	if (!items || !views)
		return api_page_end(&p, ERR_NOMEM);
	l.views = views;
	lowest_init(&l.lowest, items, cap, kind->compare);
	e = api_on_loop(c, on_loop, &l);
	for (size_t i = 0; e == ERR_OK && i < l.lowest.count; i++) {
		const unsigned char *view = l.views + i * kind->view_bytes;

		if (!api_page_room(&p, view, kind->key_bytes))
			break;
		api_page_add(&p, kind->json(view));
	}
	return api_page_end(&p, e);
}
