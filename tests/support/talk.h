/*
 * What a test says on a connected socket of its own, and what it hears there; asserted, and never waited for longer than
 * DIAL_PATIENCE_MS.
 */
#ifndef TESTS_TALK_H
#define TESTS_TALK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

void talk_say(int fd, const void *bytes, size_t len);

/* Exactly these come next; at most 256. */
void talk_hear(int fd, const void *bytes, size_t len);

/* The next thing to happen: 0 for a FIN, DIAL_RESET, or a number of bytes. */
ssize_t talk_next(int fd);

/* Reads to the end and throws it away. 0 or DIAL_RESET; *len is how much there was. */
ssize_t talk_read_out(int fd, size_t *len);

/* Bytes that look different at every place, none of them a letter, for free(). */
uint8_t *talk_big_bytes(size_t len);

#endif
