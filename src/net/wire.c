#include "net/wire.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

ssize_t wire_read(int fd, void *out, size_t cap)
{
	ssize_t n;

	do
		n = recv(fd, out, cap, 0);
	while (n < 0 && errno == EINTR);
	if (n >= 0)
		return n;
	return errno == EAGAIN || errno == EWOULDBLOCK ? WIRE_AGAIN : WIRE_BROKEN;
}

ssize_t wire_write(int fd, struct iovec *pieces, size_t count)
{
	struct msghdr m = { .msg_iov = pieces, .msg_iovlen = count };
	ssize_t       n;

	do
		n = count == 1 ? send(fd, pieces[0].iov_base, pieces[0].iov_len, MSG_NOSIGNAL)
		               : sendmsg(fd, &m, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n >= 0)
		return n;
	return errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS ? WIRE_AGAIN : WIRE_BROKEN;
}

enum wire_says wire_tls_why(const struct ssl_st *ssl, int result)
{
	switch (SSL_get_error(ssl, result)) {
	case SSL_ERROR_WANT_READ:
		return WIRE_AGAIN;
	case SSL_ERROR_WANT_WRITE:
		return WIRE_ROOM;
	case SSL_ERROR_ZERO_RETURN:
		return WIRE_END;
	default:
		return WIRE_BROKEN;
	}
}

ssize_t wire_tls_read(struct ssl_st *ssl, void *out, size_t cap)
{
	int n;

	ERR_clear_error(); /* what another session left there would be taken for this one's */
	n = SSL_read(ssl, out, cap < INT32_MAX ? (int)cap : INT32_MAX);
	return n > 0 ? n : (ssize_t)wire_tls_why(ssl, n);
}

struct wire_rest {
	size_t  len;
	uint8_t bytes[];
};

void wire_rest_free(struct wire_rest *rest)
{
	free(rest);
}

static ssize_t write_record(struct ssl_st *ssl, const uint8_t *bytes, size_t len)
{
	int n;

	ERR_clear_error();
	n = SSL_write(ssl, bytes, (int)len);
	if (n > 0)
		return n;

	enum wire_says why = wire_tls_why(ssl, n);

	return why == WIRE_AGAIN || why == WIRE_ROOM ? WIRE_AGAIN : WIRE_BROKEN;
}

ssize_t wire_tls_write_rest(struct ssl_st *ssl, struct wire_rest **rest)
{
	ssize_t n = *rest ? write_record(ssl, (*rest)->bytes, (*rest)->len) : 0;

	if (n < 0)
		return n;
	free(*rest);
	*rest = NULL;
	return 0;
}

static struct wire_rest *rest_of(const uint8_t *bytes, size_t len)
{
	struct wire_rest *rest = malloc(sizeof(*rest) + len);

	if (rest) {
		rest->len = len;
		memcpy(rest->bytes, bytes, len);
	}
	return rest;
}

ssize_t wire_tls_write(struct ssl_st *ssl, struct wire_rest **rest, const uint8_t *bytes, size_t len)
{
	ssize_t n = write_record(ssl, bytes, len);

	if (n != WIRE_AGAIN)
		return n;
	*rest = rest_of(bytes, len);
	return *rest ? WIRE_AGAIN : WIRE_BROKEN;
}

size_t wire_gather(uint8_t *out, size_t cap, const struct iovec *pieces, size_t count)
{
	size_t len = 0;

	for (size_t i = 0; i < count && len < cap; i++) {
		size_t room = cap - len;
		size_t take = pieces[i].iov_len < room ? pieces[i].iov_len : room;

		memcpy(out + len, pieces[i].iov_base, take);
		len += take;
	}
	return len;
}
