/*
 * The physical reference of `make bench ARGS=signal`: what a relay of lines costs when it does nothing else.
 *
 * It speaks the signaling protocol as far as peers need it, and believes them: the greeting is answered with a nonce that is
 * always the same, and any second line is a proof.  There are no limits, no signatures, no queues but what has to be
 * kept, and a line is neither checked nor counted.  Per turn of the loop: one recv for each ready socket, every line of
 * it copied from where it lies into the receiver's output, then one send for each socket that got something.
 *
 *	signal_baseline		127.0.0.1 only, any free port
 *
 * The first line says the port, in the words coopd uses.  On SIGTERM it ends.
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib_sock.h"
#include "lib_stop.h"

enum { NAME_BYTES = 68, TABLE_SIZE = 4096, BACKLOG = 1024 };

enum phase { PHASE_GREETING, PHASE_PROOF, PHASE_READY };

struct conn {
	struct sock  sock; /* first: epoll gives this back, and it is the conn */
	enum phase   phase;
	char         name[NAME_BYTES];
	struct conn *next_dead, *next_of_slot;
};

static const char nonce[] = "nonce 0000000000000000000000000000000000000000000000000000000000000000\n";

static struct sock_loop loop;
static struct sock      listener;
static struct conn     *table[TABLE_SIZE];
static struct conn     *dead; /* freed at the end of the turn: events and the dirty list may still name them */

/* The digits of a key are as good as random. */
static struct conn **slot_of(const char *name)
{
	uint64_t digits;

	memcpy(&digits, name + 8, sizeof(digits));
	return &table[digits * 0x9e3779b97f4a7c15 >> 52];
}

static struct conn *find(const char *name)
{
	struct conn *c = *slot_of(name);

	while (c && memcmp(c->name, name, NAME_BYTES) != 0)
		c = c->next_of_slot;
	return c;
}

static void forget(struct conn *c)
{
	struct conn **at = slot_of(c->name);

	while (*at && *at != c)
		at = &(*at)->next_of_slot;
	if (*at)
		*at = c->next_of_slot;
}

static void end_conn(struct conn *c)
{
	if (c->sock.fd < 0)
		return;
	sock_close(&c->sock);
	if (c->phase == PHASE_READY)
		forget(c);
	c->next_dead = dead;
	dead         = c;
}

static void on_relay(struct conn *c, const uint8_t *line, size_t len)
{
	struct conn *to = len > NAME_BYTES ? find((const char *)line) : NULL;

	if (!to)
		return;

	uint8_t *out = sock_put(&loop, &to->sock, len);

	memcpy(out, c->name, NAME_BYTES);
	memcpy(out + NAME_BYTES, line + NAME_BYTES, len - NAME_BYTES);
}

static void on_line(struct conn *c, const uint8_t *line, size_t len)
{
	switch (c->phase) {
	case PHASE_GREETING:
		if (len <= NAME_BYTES) {
			end_conn(c);
			return;
		}
		memcpy(c->name, line + len - 1 - NAME_BYTES, NAME_BYTES);
		memcpy(sock_put(&loop, &c->sock, sizeof(nonce) - 1), nonce, sizeof(nonce) - 1);
		c->phase = PHASE_PROOF;
		break;
	case PHASE_PROOF:
		c->next_of_slot   = *slot_of(c->name);
		*slot_of(c->name) = c;
		c->phase          = PHASE_READY;
		break;
	case PHASE_READY:
		on_relay(c, line, len);
		break;
	}
}

static void on_ready(struct conn *c, uint32_t events)
{
	struct span   in;
	uint8_t      *lf;
	enum sock_got got;

	if (c->sock.fd < 0)
		return; /* closed earlier in this turn */
	if (events & EPOLLOUT)
		sock_writable(&loop, &c->sock);
	if (!(events & ~(uint32_t)EPOLLOUT))
		return;
	got = sock_read(&in, &loop, &c->sock);
	if (got == SOCK_GONE)
		end_conn(c);
	if (got != SOCK_BYTES)
		return;
	while (c->sock.fd >= 0 && (lf = memchr(in.p, '\n', in.len))) {
		size_t len = (size_t)(lf + 1 - in.p);

		on_line(c, in.p, len);
		in.p += len;
		in.len -= len;
	}
	if (c->sock.fd >= 0)
		sock_keep(&c->sock, in);
}

static void on_accept(void)
{
	int one = 1;
	int fd  = accept4(listener.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0) {
		if (errno != EAGAIN && errno != ECONNABORTED)
			err(1, "accept4");
		return;
	}

	struct conn *c = calloc(1, sizeof(*c));

	if (!c)
		err(1, "a connection");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	sock_add(&loop, &c->sock, fd);
}

static void free_dead(void)
{
	while (dead) {
		struct conn *c = dead;

		dead = c->next_dead;
		free(c);
	}
}

static void listen_anywhere(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t          len  = sizeof(addr);
	int                fd   = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&addr, len) || listen(fd, BACKLOG) ||
	    getsockname(fd, (struct sockaddr *)&addr, &len))
		err(1, "a listening socket");
	sock_add(&loop, &listener, fd);
	printf("part=signal listens on 127.0.0.1:%d\n", ntohs(addr.sin_port));
	fflush(stdout);
}

int main(void)
{
	sigset_t open;

	sock_raise_limit();
	sock_loop_init(&loop);
	stop_on_signals(&open);
	listen_anywhere();
	while (!stop_wanted) {
		int ready = sock_loop_wait(&loop, -1, &open);

		for (int i = 0; i < ready; i++) {
			if (loop.events[i].data.ptr == &listener)
				on_accept();
			else
				on_ready(loop.events[i].data.ptr, loop.events[i].events);
		}
		sock_loop_flush(&loop);
		free_dead();
	}
	return 0;
}
