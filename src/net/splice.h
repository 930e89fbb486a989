/*
 * Two connections whose bytes are passed on to each other, as if they were one: the two legs of a relayed stream.
 *
 * Many bytes at once go from socket to socket inside the kernel (splice through a pipe that a direction borrows while bytes of
 * it wait); few, and all where no pipe is to be had, are copied. A direction holds at most SPLICE_WAITING_BYTES, and what it was
 * given as first: the one side is not read while the other takes no more. The end of the one side's output is passed on when all
 * before it was sent, and the pair ends when both directions have ended, or on an error of either socket, which resets the other.
 * Nobody is hurried: who is silent, or takes nothing, stays for as long as his machine answers the keepalive.
 *
 * Everything here is for the loop thread.
 */
#ifndef NET_SPLICE_H
#define NET_SPLICE_H

#include "base/err.h"
#include "net/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct splice;

#define SPLICE_WAITING_BYTES 262144

/* Of all pairs in one turn of the loop, and a little more: it is held for about a millisecond by them. The rest has the next. */
#define SPLICE_TURN_BYTES 2097152

/* For one of the two sides. When both take something, the second one's first bytes leave before those of the first. */
struct splice_side {
	int            fd;    /* connected, non-blocking; the module's from splice_begin on, also on failure */
	const uint8_t *first; /* bytes that this side is sent before all others; copied */
	size_t         first_len;
};

/*
 * ERR_NOMEM, ERR_IO. A pair takes the descriptors of its two sockets; the pipes of all pairs take at most 256 (SPLICE_PIPES_MAX
 * in net/splice_pipe.h). SIGPIPE must be ignored.
 */
enum err splice_new(struct splice **out, struct loop *l);
void     splice_free(struct splice *s); /* after loop_run returned; resets what is left, each with ended */

/*
 * ended is called once, from the loop, never from inside this call: bytes is what was passed on in all, both ways, without what
 * was given as first. ERR_NOMEM, ERR_IO: both sockets are closed, ended is not called.
 */
enum err splice_begin(struct splice *s, const struct splice_side                      sides[2],
                      void (*ended)(void *arg, uint64_t bytes, int64_t now_ms), void *arg);

/* Bytes passed on since the start, by all pairs. */
uint64_t splice_bytes(const struct splice *s);

/* The pair that was begun with this arg is reset; ended follows. False: there is none any more. */
bool splice_end(struct splice *s, const void *arg);

/* Everybody is reset, what waits is lost; ended follows. */
void splice_stop(struct splice *s);

#endif
