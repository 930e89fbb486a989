/*
 * A ring of records of any length, first in, first out, over memory of the caller. What does not fit is refused: nothing
 * is overwritten. Not safe between threads by itself.
 */
#ifndef BASE_RING_H
#define BASE_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a record takes besides its bytes. */
#define RING_RECORD_BYTES 4

struct ring {
	uint8_t *mem;
	size_t   cap;
	size_t   first; /* where the oldest record begins */
	size_t   used;
};

/* mem of cap bytes stays the caller's and is used until the last call. */
void ring_init(struct ring *r, void *mem, size_t cap);

/* False, with the ring unchanged, when the record of len bytes (under 4 GiB) does not fit now. */
bool ring_put(struct ring *r, const void *data, size_t len);

/*
 * Takes the oldest record out and gives its length; false when the ring is empty. A record longer than cap is a bug of
 * the caller, who knows what he put in.
 */
bool ring_take(struct ring *r, void *out, size_t cap, size_t *len);

#endif
