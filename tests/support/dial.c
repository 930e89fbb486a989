#include "support/dial.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

int64_t real_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void real_sleep_ms(int ms)
{
	poll(NULL, 0, ms);
}

static bool wait_for(int fd, short events, int64_t deadline_ms)
{
	for (;;) {
		struct pollfd p    = { .fd = fd, .events = events };
		int64_t       left = deadline_ms - real_now_ms();
		int           got  = poll(&p, 1, left > 0 ? (int)left : 0);

		if (got > 0)
			return true;
		if (got == 0 || errno != EINTR)
			return false;
	}
}

static int connected(int fd, const struct sockaddr *to, socklen_t len)
{
	if (connect(fd, to, len) == 0)
		return fd;

	int       error = errno;
	socklen_t size  = sizeof(error);

	if (error == EINPROGRESS && wait_for(fd, POLLOUT, real_now_ms() + DIAL_PATIENCE_MS))
		getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
	if (error == 0)
		return fd;
	close(fd);
	errno = error;
	return -1;
}

int dial_tcp(int port, int rcvbuf_bytes)
{
	return dial_tcp_from(NULL, port, rcvbuf_bytes);
}

int dial_tcp_from(const char *from, int port, int rcvbuf_bytes)
{
	return dial_tcp_to("127.0.0.1", port, from, rcvbuf_bytes);
}

static bool bind_to(int fd, const char *at, int port)
{
	struct sockaddr_in me = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };

	return inet_pton(AF_INET, at, &me.sin_addr) == 1 && bind(fd, (struct sockaddr *)&me, sizeof(me)) == 0;
}

int dial_tcp_to(const char *to, int port, const char *from, int rcvbuf_bytes)
{
	struct sockaddr_in there = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	int                on    = 1;
	int                fd    = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -1;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (rcvbuf_bytes)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &rcvbuf_bytes, sizeof(rcvbuf_bytes));
	if (inet_pton(AF_INET, to, &there.sin_addr) != 1 || (from && !bind_to(fd, from, 0))) {
		close(fd);
		return -1;
	}
	return connected(fd, (const struct sockaddr *)&there, sizeof(there));
}

int dial_udp(const char *at, int port)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd >= 0 && bind_to(fd, at, port))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

int dial_unix(const char *path)
{
	struct sockaddr_un to  = { .sun_family = AF_UNIX };
	size_t             len = strlen(path);

	if (len >= sizeof(to.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(to.sun_path, path, len + 1);

	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	return fd < 0 ? -1 : connected(fd, (const struct sockaddr *)&to, sizeof(to));
}

bool dial_send(int fd, const void *data, size_t len, int patience_ms)
{
	int64_t        deadline_ms = real_now_ms() + patience_ms;
	const uint8_t *at          = data;

	while (len > 0) {
		ssize_t sent = send(fd, at, len, MSG_NOSIGNAL);

		if (sent > 0) {
			at += sent;
			len -= (size_t)sent;
		} else if (sent < 0 && errno != EAGAIN && errno != EINTR) {
			return false;
		} else if (!wait_for(fd, POLLOUT, deadline_ms)) {
			return false;
		}
	}
	return true;
}

ssize_t dial_read(int fd, void *buf, size_t cap, int64_t deadline_ms)
{
	for (;;) {
		ssize_t got = recv(fd, buf, cap, 0);

		if (got >= 0)
			return got;
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN)
			return DIAL_RESET;
		if (!wait_for(fd, POLLIN, deadline_ms))
			return DIAL_LATE;
	}
}

void dial_abort(int fd)
{
	struct linger now = { .l_onoff = 1, .l_linger = 0 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(fd);
}
