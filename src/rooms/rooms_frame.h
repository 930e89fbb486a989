/*
 * Cuts a stream of bytes into frames.  Pure but for memory: only an unfinished frame is kept, and it takes no more than has
 * come of it (doubling); one that lies whole in what came is not copied.
 */
#ifndef ROOMS_ROOMS_FRAME_H
#define ROOMS_ROOMS_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rooms_reader {        /* all zeros at first */
	uint8_t *held;       /* an unfinished frame, its head included; NULL: there is none */
	size_t   len, cap;   /* cap is what it takes of the memory */
	bool     handed_out; /* held was given to the caller, and goes at the next call */
};

enum rooms_read { ROOMS_READ_FRAME, ROOMS_READ_MORE, ROOMS_READ_NOMEM };

/*
 * The next frame from *at on. FRAME: its type, and *payload of *len bytes, valid until the next call; *at is behind it.
 * After NOMEM only rooms_reader_fini is left to do.
 */
enum rooms_read rooms_reader_next(struct rooms_reader *r, const uint8_t **at, const uint8_t *end, uint8_t *type,
                                  const uint8_t **payload, size_t *len);
void            rooms_reader_fini(struct rooms_reader *r);

#endif
