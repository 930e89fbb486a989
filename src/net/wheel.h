/*
 * The timers of a loop: a wheel of slots, each WHEEL_SLOT_MS wide. A timer lies in the slot of its moment, however many
 * turns of the wheel away that is, so setting and clearing cost the same always. Pure: the caller says what time it is.
 */
#ifndef NET_WHEEL_H
#define NET_WHEEL_H

#include "net/loop.h"

#define WHEEL_SLOTS   1024
#define WHEEL_SLOT_MS 100

struct wheel {
	struct list slots[WHEEL_SLOTS];
	struct list due;     /* taken out of their slots, not fired yet */
	int64_t     looked;  /* slots before this one (counted from time 0) hold nothing that is due */
	bool        looking; /* wheel_run is under way */
};

void wheel_init(struct wheel *w, int64_t now_ms);

/* Sets or moves the timer; at_ms is at least 1. One in the past fires at the next wheel_run. */
void wheel_set(struct wheel *w, struct timer *t, int64_t at_ms);

/*
 * Fires every timer whose moment has come. However far the clock jumped, each slot is looked at once at most. A timer set from
 * a callback, even one for now, waits for the next call.
 */
void wheel_run(struct wheel *w, int64_t now_ms);

#endif
