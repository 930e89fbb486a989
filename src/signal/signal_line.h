/*
 * Cuts a stream of bytes into lines, each byte looked at once however small the pieces are in which they come. Pure but
 * for memory: only an unfinished line is kept. A line that lies whole in what came is not copied.
 */
#ifndef SIGNAL_SIGNAL_LINE_H
#define SIGNAL_SIGNAL_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct signal_reader { /* all zeros at first */
	uint8_t *held; /* an unfinished line; NULL: there is none */
	size_t   len, cap;
	bool     handed_out; /* held was given to the caller, and goes at the next call */
};

enum signal_read {
	SIGNAL_READ_LINE,
	SIGNAL_READ_MORE,     /* all is used */
	SIGNAL_READ_TOO_LONG, /* a line, finished or not, of more than max bytes with its LF */
	SIGNAL_READ_NOMEM
};

/*
 * The next line from *at on. LINE: *line of *len bytes without its LF, valid until the next call, and *at is behind it.
 * max may be another one each time. After TOO_LONG and NOMEM only signal_reader_fini is left to do.
 */
enum signal_read signal_reader_next(struct signal_reader *r, const uint8_t **at, const uint8_t *end, size_t max,
                                    const uint8_t **line, size_t *len);
void             signal_reader_fini(struct signal_reader *r);

#endif
