#include "rooms/rooms_frame.h"

#include "rooms/rooms_wire.h"

#include <stdlib.h>
#include <string.h>

#define HELD_BYTES_MIN 64

void rooms_reader_fini(struct rooms_reader *r)
{
	free(r->held);
	*r = (struct rooms_reader){ 0 };
}

/* What the frame that begins with these bytes takes in all, or its head when that is not there yet. */
static size_t frame_bytes(const uint8_t *begin, size_t len)
{
	return ROOMS_HEAD_BYTES + (len < ROOMS_HEAD_BYTES ? 0 : (size_t)(begin[1] << 8 | begin[2]));
}

static bool make_room(struct rooms_reader *r, size_t bytes)
{
	if (r->held && bytes <= r->cap)
		return true;

	size_t cap = r->cap ? r->cap : HELD_BYTES_MIN;

	while (cap < bytes)
		cap *= 2;
	if (cap > ROOMS_FRAME_MAX)
		cap = ROOMS_FRAME_MAX;

	uint8_t *grown = realloc(r->held, cap);

	if (!grown)
		return false;
	r->held = grown;
	r->cap  = cap;
	return true;
}

/* Moves bytes to what is held until it is so long, or there are no more. */
static bool hold_until(struct rooms_reader *r, size_t bytes, const uint8_t **at, const uint8_t *end)
{
	size_t left = (size_t)(end - *at);
	size_t take = bytes - r->len < left ? bytes - r->len : left;

	if (take == 0)
		return true;
	if (!make_room(r, r->len + take))
		return false;
	memcpy(r->held + r->len, *at, take);
	r->len += take;
	*at += take;
	return true;
}

static void cut(const uint8_t *frame, size_t bytes, uint8_t *type, const uint8_t **payload, size_t *len)
{
	*type    = frame[0];
	*payload = frame + ROOMS_HEAD_BYTES;
	*len     = bytes - ROOMS_HEAD_BYTES;
}

enum rooms_read rooms_reader_next(struct rooms_reader *r, const uint8_t **at, const uint8_t *end, uint8_t *type,
                                  const uint8_t **payload, size_t *len)
{
	if (r->handed_out)
		rooms_reader_fini(r);

	size_t left  = (size_t)(end - *at);
	size_t bytes = frame_bytes(*at, left);

	if (!r->held && left >= bytes) {
		cut(*at, bytes, type, payload, len);
		*at += bytes;
		return ROOMS_READ_FRAME;
	}
	/* The head first: only then it is known how much belongs to the frame. */
	if (r->len < ROOMS_HEAD_BYTES && !hold_until(r, ROOMS_HEAD_BYTES, at, end))
		return ROOMS_READ_NOMEM;
	if (!r->held)
		return ROOMS_READ_MORE; /* nothing came */
	bytes = frame_bytes(r->held, r->len);
	if (!hold_until(r, bytes, at, end))
		return ROOMS_READ_NOMEM;
	if (r->len < bytes)
		return ROOMS_READ_MORE;
	cut(r->held, bytes, type, payload, len);
	r->handed_out = true;
	return ROOMS_READ_FRAME;
}
