/*
 * "At most so many events within so long", per key, exactly: the moment of each event is remembered, so that no span of
 * that length, wherever it begins, holds more events than allowed.
 *
 *	struct window *joins = window_new(30, 60000, 65536, random_u64());
 *	if (!window_take(joins, address_key, now_ms))
 *		wait_ms = window_wait_ms(joins, address_key, now_ms);
 *
 * An event at t counts until just before t + span_ms. Keys, their number, the overflow that keys without room share, and
 * threads: see keyed.h. A key takes 8 bytes per remembered event, at most max of them, and about 150 besides.
 */
#ifndef ACCOUNT_WINDOW_H
#define ACCOUNT_WINDOW_H

#include "account/keyed.h"

struct window;

/* max may be 0: then nothing is allowed. span_ms and keys_max are at least 1. NULL when out of memory. */
struct window *window_new(int64_t max, int64_t span_ms, size_t keys_max, uint64_t seed);
void           window_free(struct window *w);
void           window_freep(struct window **w);

/*
 * Counts an event and is true when that keeps within the limit. Otherwise, and when there is no memory to remember it,
 * nothing is counted.
 */
bool window_take(struct window *w, const uint8_t key[KEYED_KEY_BYTES], int64_t now_ms);

/* Whether window_take would be refused now. Counts nothing. */
bool window_is_full(struct window *w, const uint8_t key[KEYED_KEY_BYTES], int64_t now_ms);

/* How long until it would not be: 0 when it is not full; span_ms when max is 0. */
int64_t window_wait_ms(struct window *w, const uint8_t key[KEYED_KEY_BYTES], int64_t now_ms);

/*
 * Counts an event without asking: one that has happened already, or that happened before a restart (at_ms in the past,
 * negative included). Order does not matter, but oldest first is cheapest. Only the newest max events are remembered.
 */
void window_note(struct window *w, const uint8_t key[KEYED_KEY_BYTES], int64_t at_ms);

/*
 * Takes back what window_take or window_note counted at at_ms, since it came to nothing after all: the newest event up to
 * then. Nothing when that is forgotten already.
 */
void window_untake(struct window *w, const uint8_t key[KEYED_KEY_BYTES], int64_t at_ms);

/* From now on. What was counted stays counted, as far as the former limit let it. */
void window_set_max(struct window *w, int64_t max);

/* Keys with an entry of their own. */
size_t window_keys(const struct window *w);

#endif
