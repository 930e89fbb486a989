/*
 * Each entry is a ring of moments in rising order. It begins small and doubles up to max, since most keys stay far from
 * their limit.
 */
#include "account/window.h"

#include <assert.h>
#include <string.h>

#define FIRST_CAP 4

struct window {
	struct keyed keyed;
	int64_t      max;
	int64_t      span_ms;
};

struct events {
	struct keyed_entry entry;
	int64_t           *at_ms; /* a ring of cap */
	size_t             cap, first, len;
};

static struct events *events_of(struct keyed_entry *e)
{
	return (struct events *)(void *)e;
}

/* The i-th moment, counted from the oldest. */
static int64_t *event(const struct events *e, size_t i)
{
	return &e->at_ms[(e->first + i) % e->cap];
}

static void drop_oldest(struct events *e)
{
	e->first = (e->first + 1) % e->cap;
	e->len--;
}

static void drop_expired(const struct window *w, struct events *e, int64_t now_ms)
{
	while (e->len > 0 && now_ms - *event(e, 0) >= w->span_ms)
		drop_oldest(e);
}

static bool is_full(const struct window *w, const struct events *e)
{
	return (int64_t)e->len >= w->max;
}

static bool grow(struct events *e, int64_t max)
{
	size_t   cap   = e->cap ? e->cap * 2 : FIRST_CAP;
	int64_t *at_ms = NULL;

	if ((int64_t)cap > max)
		cap = (size_t)max;
	at_ms = calloc(cap, sizeof(*at_ms));
	if (!at_ms)
		return false;
	for (size_t i = 0; i < e->len; i++)
		at_ms[i] = *event(e, i);
	free(e->at_ms);
	e->at_ms = at_ms;
	e->cap   = cap;
	e->first = 0;
	return true;
}

/* Adds a moment where it belongs in time. Only for an entry that is not full; false when out of memory. */
static bool insert(const struct window *w, struct events *e, int64_t at_ms)
{
	if (e->len == e->cap && !grow(e, w->max))
		return false;

	size_t i = e->len++;
	for (; i > 0 && *event(e, i - 1) > at_ms; i--)
		*event(e, i) = *event(e, i - 1);
	*event(e, i) = at_ms;
	return true;
}

static bool is_idle(const struct keyed *k, const struct keyed_entry *entry, int64_t now_ms)
{
	const struct window *w = (const struct window *)(const void *)k;
	const struct events *e = (const struct events *)(const void *)entry;

	return e->len == 0 || now_ms - *event(e, e->len - 1) >= w->span_ms;
}

static void events_fini(struct keyed_entry *entry)
{
	free(events_of(entry)->at_ms);
}

static const struct keyed_kind kind = {
	.entry_bytes = sizeof(struct events),
	.is_idle     = is_idle,
	.fini        = events_fini,
};

struct window *window_new(int64_t max, int64_t span_ms, size_t keys_max, uint64_t seed)
{
	assert(span_ms > 0);

	struct window *w = calloc(1, sizeof(*w));
	if (!w)
		return NULL;
	if (keyed_init(&w->keyed, &kind, keys_max, seed) != ERR_OK) {
		free(w);
		return NULL;
	}
	w->span_ms = span_ms;
	window_set_max(w, max);
	return w;
}

void window_free(struct window *w)
{
	if (!w)
		return;
	keyed_fini(&w->keyed);
	free(w);
}

void window_freep(struct window **w)
{
	window_free(*w);
}

bool window_take(struct window *w, const uint8_t key[KEYED_KEY_BYTES], int64_t now_ms)
{
	struct events *e = events_of(keyed_get(&w->keyed, key, now_ms));

	drop_expired(w, e, now_ms);
	return !is_full(w, e) && insert(w, e, now_ms);
}

int64_t window_wait_ms(struct window *w, const uint8_t key[KEYED_KEY_BYTES], int64_t now_ms)
{
	struct keyed_entry *entry = keyed_find(&w->keyed, key, now_ms);

	if (w->max == 0)
		return w->span_ms;
	if (!entry)
		return 0;

	struct events *e = events_of(entry);
	drop_expired(w, e, now_ms);
	if (!is_full(w, e))
		return 0;

	/* With this one gone fewer than max are left; that may be several, when max was lowered. */
	return *event(e, e->len - (size_t)w->max) + w->span_ms - now_ms;
}

bool window_is_full(struct window *w, const uint8_t key[KEYED_KEY_BYTES], int64_t now_ms)
{
	return window_wait_ms(w, key, now_ms) > 0;
}

void window_note(struct window *w, const uint8_t key[KEYED_KEY_BYTES], int64_t at_ms)
{
	struct events *e = events_of(keyed_get(&w->keyed, key, at_ms));

	drop_expired(w, e, at_ms);
	while (e->len > 0 && is_full(w, e) && *event(e, 0) <= at_ms)
		drop_oldest(e);
	if (!is_full(w, e))
		insert(w, e, at_ms);
}

void window_untake(struct window *w, const uint8_t key[KEYED_KEY_BYTES], int64_t at_ms)
{
	struct keyed_entry *entry = keyed_find(&w->keyed, key, at_ms);
	if (!entry)
		return;

	struct events *e = events_of(entry);
	size_t         i = e->len;
	while (i > 0 && *event(e, i - 1) > at_ms)
		i--;
	if (i == 0)
		return;
	for (; i < e->len; i++)
		*event(e, i - 1) = *event(e, i);
	e->len--;
}

void window_set_max(struct window *w, int64_t max)
{
	assert(max >= 0);
	w->max = max;
}

size_t window_keys(const struct window *w)
{
	return keyed_count(&w->keyed);
}
