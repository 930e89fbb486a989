#include "signal/signal_line.h"

#include <stdlib.h>
#include <string.h>

#define HELD_BYTES_MIN 256

void signal_reader_fini(struct signal_reader *r)
{
	free(r->held);
	*r = (struct signal_reader){ 0 };
}

/* Memory doubles, so that what was kept is moved a few times at most. */
static bool keep(struct signal_reader *r, const uint8_t *bytes, size_t len)
{
	if (len == 0)
		return true;
	if (r->len + len > r->cap) {
		size_t cap = r->cap ? r->cap : HELD_BYTES_MIN;

		while (cap < r->len + len)
			cap *= 2;

		uint8_t *grown = realloc(r->held, cap);

		if (!grown)
			return false;
		r->held = grown;
		r->cap  = cap;
	}
	memcpy(r->held + r->len, bytes, len);
	r->len += len;
	return true;
}

enum signal_read signal_reader_next(struct signal_reader *r, const uint8_t **at, const uint8_t *end, size_t max,
                                    const uint8_t **line, size_t *len)
{
	if (r->handed_out)
		signal_reader_fini(r);

	size_t         left = (size_t)(end - *at);
	size_t         room = max > r->len ? max - r->len : 0; /* bytes that may still belong to the line */
	size_t         look = left < room ? left : room;
	const uint8_t *from = *at;
	const uint8_t *lf   = look > 0 ? memchr(from, '\n', look) : NULL;

	if (!lf && left > room)
		return SIGNAL_READ_TOO_LONG;
	if (!lf) {
		*at = end;
		return keep(r, from, left) ? SIGNAL_READ_MORE : SIGNAL_READ_NOMEM;
	}
	*at = lf + 1;
	if (!r->held) {
		*line = from;
		*len  = (size_t)(lf - from);
		return SIGNAL_READ_LINE;
	}
	if (!keep(r, from, (size_t)(lf - from)))
		return SIGNAL_READ_NOMEM;
	r->handed_out = true;
	*line         = r->held;
	*len          = r->len;
	return SIGNAL_READ_LINE;
}
