/* The plain wire: bytes straight from and to the socket. */
#include "net/tcp_conn.h"

#include <assert.h>

#define PIECES_MAX 64

static ssize_t read_plain(struct tcp_conn *c, uint8_t *out, size_t cap, size_t *len)
{
	ssize_t n = wire_read(c->fd, out, cap);

	*len = n > 0 ? (size_t)n : 0;
	return n;
}

static size_t bytes_of(const struct iovec *pieces, size_t count)
{
	size_t bytes = 0;

	for (size_t i = 0; i < count; i++)
		bytes += pieces[i].iov_len;
	return bytes;
}

static ssize_t write_plain(struct tcp_conn *c, int64_t now_ms)
{
	const struct tcp_handler *h = c->listener->on.handler;
	struct iovec              pieces[PIECES_MAX];
	ssize_t                   total = 0;
	size_t                    count;

	while ((count = h->fetch(c->data, pieces, PIECES_MAX)) > 0 && c->phase != TCP_CONN_GONE) {
		size_t  bytes = bytes_of(pieces, count);
		ssize_t n     = wire_write(c->fd, pieces, count);

		assert(bytes > 0);
		if (n < 0)
			return n;
		c->written_bytes += (uint64_t)n;
		metric_add(M_TCP_BYTES_OUT, n);
		h->sent(c->data, (size_t)n, now_ms);
		total += n;
		/*
		 * Less than all: the kernel is full, and asking again would only cost a call. Very much: the others of this
		 * turn come first.
		 */
		if ((size_t)n < bytes || (size_t)total >= c->tcp->turn_cap || c->phase == TCP_CONN_GONE)
			return WIRE_AGAIN;
	}
	return total;
}

static uint64_t written_plain(const struct tcp_conn *c)
{
	return c->written_bytes;
}

const struct tcp_wire tcp_wire_plain = { .read = read_plain, .write = write_plain, .written = written_plain };
