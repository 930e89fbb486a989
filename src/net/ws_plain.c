/* The plain wire: bytes straight from and to the socket. */
#include "net/ws_conn.h"

#include <sys/socket.h>

#define PIECES_MAX 64

static ssize_t read_plain(struct ws_conn *c, uint8_t *out, size_t cap)
{
	return wire_read(c->fd, out, cap);
}

static ssize_t write_plain(struct ws_conn *c)
{
	struct iovec pieces[PIECES_MAX];
	ssize_t      total = 0;

	while (ws_queue_bytes(&c->queue) > 0) {
		size_t  count = ws_queue_pieces(&c->queue, pieces, PIECES_MAX);
		size_t  bytes = 0;
		ssize_t n     = wire_write(c->fd, pieces, count);

		if (n < 0)
			return n;
		for (size_t i = 0; i < count; i++)
			bytes += pieces[i].iov_len;
		ws_queue_sent(&c->queue, (size_t)n);
		total += n;
		/* The kernel is full: asking again would only cost a call. */
		if ((size_t)n < bytes)
			return WIRE_AGAIN;
	}
	return total;
}

static void finish_plain(struct ws_conn *c)
{
	shutdown(c->fd, SHUT_WR);
}

const struct ws_wire ws_wire_plain = {
	.read   = read_plain,
	.write  = write_plain,
	.finish = finish_plain,
};
