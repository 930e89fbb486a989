#include "lib_wire.h"

#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int wire_connect_from(uint32_t ip, uint16_t port)
{
	struct sockaddr_in from = { .sin_family = AF_INET, .sin_addr = { htonl(ip) } };
	struct sockaddr_in to   = { .sin_family = AF_INET,
		                    .sin_port   = htons(port),
		                    .sin_addr   = { htonl(INADDR_LOOPBACK) } };
	int                on   = 1;
	int                fd   = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || (ip && bind(fd, (struct sockaddr *)&from, sizeof(from))) ||
	    connect(fd, (struct sockaddr *)&to, sizeof(to)))
		err(1, "connect to 127.0.0.1:%u", port);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return fd;
}

int wire_connect(uint16_t port)
{
	return wire_connect_from(0, port);
}

void wire_send(int fd, const void *bytes, size_t len)
{
	const uint8_t *p = bytes;

	while (len > 0) {
		ssize_t n = send(fd, p, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			err(1, "send");
		p += n;
		len -= (size_t)n;
	}
}

size_t wire_read_some(int fd, void *out, size_t cap)
{
	for (;;) {
		ssize_t n = recv(fd, out, cap, 0);

		if (n >= 0)
			return (size_t)n;
		if (errno != EINTR)
			err(1, "recv");
	}
}

void wire_read(int fd, void *out, size_t len)
{
	uint8_t *p = out;

	while (len > 0) {
		size_t n = wire_read_some(fd, p, len);

		if (n == 0)
			errx(1, "the server ends the connection");
		p += n;
		len -= n;
	}
}

/* With MSG_TRUNC the kernel drops the bytes of a stream without copying them. */
void wire_skip(int fd, size_t len)
{
	while (len > 0) {
		ssize_t n = recv(fd, NULL, len, MSG_TRUNC | MSG_WAITALL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			err(1, "the server ends the connection %zu bytes too early", len);
		len -= (size_t)n;
	}
}

size_t wire_read_head(int fd, char *out, size_t cap, size_t *got)
{
	*got = 0;
	for (;;) {
		size_t n = wire_read_some(fd, out + *got, cap - 1 - *got);

		if (n == 0)
			errx(1, "the server ends the connection without an answer");
		*got += n;
		char *end = memmem(out, *got, "\r\n\r\n", 4);

		if (end) {
			*end = '\0';
			return (size_t)(end + 4 - out);
		}
		if (*got == cap - 1)
			errx(1, "the head of an answer is longer than %zu bytes", cap);
	}
}
