#include "net/wheel.h"

#include <assert.h>

static int64_t slot_of(int64_t at_ms)
{
	return at_ms / WHEEL_SLOT_MS;
}

void timer_init(struct timer *t, void (*fire)(struct timer *t, int64_t now_ms))
{
	list_init(&t->in);
	t->at_ms = 0;
	t->fire  = fire;
}

void timer_clear(struct timer *t)
{
	list_remove(&t->in);
	t->at_ms = 0;
}

void wheel_init(struct wheel *w, int64_t now_ms)
{
	for (size_t i = 0; i < WHEEL_SLOTS; i++)
		list_init(&w->slots[i]);
	list_init(&w->due);
	w->looked  = slot_of(now_ms);
	w->looking = false;
}

void wheel_set(struct wheel *w, struct timer *t, int64_t at_ms)
{
	assert(at_ms > 0);

	int64_t slot = slot_of(at_ms);

	if (slot < w->looked)
		slot = w->looked;
	list_remove(&t->in);
	t->at_ms = at_ms;
	list_append(&w->slots[slot % WHEEL_SLOTS], &t->in);
}

/* Moves what is due from a slot to the due list; timers of later turns of the wheel stay. */
static void take_due(struct wheel *w, struct list *slot, int64_t now_ms)
{
	struct list *next;

	for (struct list *at = slot->next; at != slot; at = next) {
		next = at->next;
		if (CONTAINER(at, struct timer, in)->at_ms <= now_ms) {
			list_remove(at);
			list_append(&w->due, at);
		}
	}
}

void wheel_run(struct wheel *w, int64_t now_ms)
{
	int64_t      now_slot = slot_of(now_ms);
	struct list *first;

	assert(!w->looking);
	w->looking = true;

	/* The slot of now is looked at again next time: it may hold moments that are still to come. */
	for (int64_t i = 0; i < WHEEL_SLOTS && w->looked + i <= now_slot; i++)
		take_due(w, &w->slots[(w->looked + i) % WHEEL_SLOTS], now_ms);
	if (now_slot > w->looked)
		w->looked = now_slot;

	/* One by one, since a callback may clear, free or set others of the list. */
	while ((first = list_take_first(&w->due))) {
		struct timer *t = CONTAINER(first, struct timer, in);

		t->at_ms = 0;
		t->fire(t, now_ms);
	}
	w->looking = false;
}
