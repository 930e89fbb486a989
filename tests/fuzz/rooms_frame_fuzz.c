/*
 * The reader of frames: whatever the pieces in which bytes come, the frames are the same, and no more memory is taken than
 * came.
 *
 *	first byte	how the rest is cut: so many bytes, then half as many, ... then from the beginning
 */
#include "rooms/rooms_frame.h"

#include "rooms/rooms_wire.h"

#include <stdlib.h>
#include <string.h>

#define HELD_BYTES_MIN 64 /* what a reader may take for the first byte */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Where the next frame of whole begins, and what came of whole so far. */
struct walk {
	const uint8_t *whole;
	size_t         frame, came;
};

static void check_frame(struct walk *w, uint8_t type, const uint8_t *payload, size_t len)
{
	const uint8_t *frame = w->whole + w->frame;

	if (w->frame + ROOMS_HEAD_BYTES + len > w->came)
		abort();
	if (type != frame[0] || len != (size_t)(frame[1] << 8 | frame[2]) ||
	    memcmp(payload, frame + ROOMS_HEAD_BYTES, len) != 0)
		abort();
	w->frame += ROOMS_HEAD_BYTES + len;
}

/* A piece in memory of its own, so that a reader which keeps a pointer into it is caught. */
static void feed(struct walk *w, struct rooms_reader *r, size_t len)
{
	uint8_t        *piece = malloc(len);
	const uint8_t  *at    = piece, *payload;
	size_t          payload_len;
	uint8_t         type;
	enum rooms_read read;

	memcpy(piece, w->whole + w->came, len);
	w->came += len;
	while ((read = rooms_reader_next(r, &at, piece + len, &type, &payload, &payload_len)) == ROOMS_READ_FRAME)
		check_frame(w, type, payload, payload_len);
	if (read != ROOMS_READ_MORE || at != piece + len)
		abort();
	free(piece);

	size_t held = w->came - w->frame; /* of the frame that is not finished */

	if (r->len != held || r->cap > (held ? HELD_BYTES_MIN + 2 * held : 0) || r->cap > ROOMS_FRAME_MAX)
		abort();
}

/* What is left is less than a frame. */
static void check_rest(const struct walk *w)
{
	size_t         left  = w->came - w->frame;
	const uint8_t *frame = w->whole + w->frame;

	if (left >= ROOMS_HEAD_BYTES && left >= ROOMS_HEAD_BYTES + (size_t)(frame[1] << 8 | frame[2]))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct rooms_reader r = { 0 };

	if (len < 2 || len > 1 << 18)
		return 0;

	size_t      first = data[0], step = first;
	struct walk w = { .whole = data + 1 };

	len--;
	while (w.came < len) {
		size_t n = step == 0 ? 1 : step;

		feed(&w, &r, n < len - w.came ? n : len - w.came);
		step = step == 0 ? first : step / 2;
	}
	check_rest(&w);
	rooms_reader_fini(&r);
	return 0;
}
