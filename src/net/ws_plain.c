/* The plain wire: bytes straight from and to the socket. */
#include "net/ws_conn.h"

#include <errno.h>
#include <sys/socket.h>

#define PIECES_MAX 64

static ssize_t read_plain(struct ws_conn *c, uint8_t *out, size_t cap)
{
	ssize_t n;

	do
		n = recv(c->fd, out, cap, 0);
	while (n < 0 && errno == EINTR);
	if (n >= 0)
		return n;
	return errno == EAGAIN || errno == EWOULDBLOCK ? WS_WIRE_AGAIN : WS_WIRE_BROKEN;
}

static ssize_t send_pieces(int fd, struct iovec *pieces, size_t count)
{
	struct msghdr m = { .msg_iov = pieces, .msg_iovlen = count };
	ssize_t       n;

	do
		n = count == 1 ? send(fd, pieces[0].iov_base, pieces[0].iov_len, MSG_NOSIGNAL)
		               : sendmsg(fd, &m, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n >= 0)
		return n;
	return errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS ? WS_WIRE_AGAIN : WS_WIRE_BROKEN;
}

static ssize_t write_plain(struct ws_conn *c)
{
	struct iovec pieces[PIECES_MAX];
	ssize_t      total = 0;

	while (ws_queue_bytes(&c->queue) > 0) {
		size_t  count = ws_queue_pieces(&c->queue, pieces, PIECES_MAX);
		size_t  bytes = 0;
		ssize_t n     = send_pieces(c->fd, pieces, count);

		if (n < 0)
			return n;
		for (size_t i = 0; i < count; i++)
			bytes += pieces[i].iov_len;
		ws_queue_sent(&c->queue, (size_t)n);
		total += n;
		/* The kernel is full: asking again would only cost a call. */
		if ((size_t)n < bytes)
			return WS_WIRE_AGAIN;
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
