/*
 * Bytes from and to a socket that never waits, plainly or through a TLS session: what the connections of ws and tcp have
 * in common.
 */
#ifndef NET_WIRE_H
#define NET_WIRE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#define WIRE_RECORD_BYTES_MAX 16384 /* of content in one TLS record */

/* What they say besides a number of bytes. */
enum wire_says {
	WIRE_END    = 0,  /* the peer's FIN, or TLS's word for it */
	WIRE_AGAIN  = -1, /* not now: when there is input (reading) or room for output (writing) */
	WIRE_BROKEN = -2,
	WIRE_ROOM   = -3 /* reading: not before there is room for output, because TLS has to answer something first */
};

/* Plain. */
ssize_t wire_read(int fd, void *out, size_t cap);
ssize_t wire_write(int fd, struct iovec *pieces, size_t count);

struct ssl_st;

/* What SSL_get_error means. result is that of the call before, and not more than 0. */
enum wire_says wire_tls_why(const struct ssl_st *ssl, int result);

/* At most one record. */
ssize_t wire_tls_read(struct ssl_st *ssl, void *out, size_t cap);

/*
 * A record that TLS has made but not sent whole. It insists on being asked again for the same bytes, while a queue may
 * change before that: so these are kept apart, and the queue thinks them sent.
 */
struct wire_rest;
void wire_rest_free(struct wire_rest *rest); /* NULL is fine */

/* Sends *rest, if there is any, and frees it. 0; WIRE_AGAIN: it is not out yet; WIRE_BROKEN. */
ssize_t wire_tls_write_rest(struct ssl_st *ssl, struct wire_rest **rest);

/*
 * Makes one record of len bytes (1 to WIRE_RECORD_BYTES_MAX), while there is no rest. len: it is out; WIRE_AGAIN: it was taken
 * over and becomes *rest; WIRE_BROKEN.
 */
ssize_t wire_tls_write(struct ssl_st *ssl, struct wire_rest **rest, const uint8_t *bytes, size_t len);

/* Copies from the pieces what fits into cap; returns how much. */
size_t wire_gather(uint8_t *out, size_t cap, const struct iovec *pieces, size_t count);

#endif
