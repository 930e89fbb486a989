/*
 * The physical reference of `make bench ARGS=rooms`, and for UDP of ARGS=p2p: what an echo of the same sizes costs when it
 * does nothing else.
 *
 *	rooms_baseline [--batch]	127.0.0.1 only, any free port, TCP and UDP on one
 *
 * TCP: connections are taken in groups of GROUP in the order of their coming, as the generator connects them.  Each frame is
 * answered by one of the size that the rooms answer it with; a ROOM_MESSAGE goes to the others of the group besides.  Nothing in
 * a frame is looked at but its type, its length and its number.
 *
 * UDP: a PROBE is answered by 11 bytes, and its source noted under its user id; a RELAY goes to the user it names.  STUN is
 * answered by as many bytes as coopd needs, and a packet of peer to peer as it came.  One recvfrom and one sendto for each, or
 * (--batch) as many as there are at once.
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

#include "lib_p2p.h"
#include "lib_rooms.h"
#include "lib_sock.h"
#include "lib_stop.h"

enum { CONNS_MAX = 8192, USERS_MAX = 65536, BATCH = 64, DATAGRAM_BYTES = 2048 };

struct conn {
	struct sock sock; /* first: epoll gives this back, and it is the conn */
	uint32_t    number;
};

static struct sock_loop   loop;
static struct sock        listener, udp;
static struct conn       *conns[CONNS_MAX];
static uint32_t           conn_count;
static struct sockaddr_in users[USERS_MAX];
static bool               is_batched;

/* Frames */

static void put_frame(struct conn *c, uint8_t type, const uint8_t *req, size_t len)
{
	uint8_t *out = sock_put(&loop, &c->sock, ROOMS_HEAD + len);

	memset(out, 0, ROOMS_HEAD + len);
	rooms_head(out, type, len);
	if (req)
		memcpy(out + ROOMS_HEAD, req, 4);
}

static void pass_on(struct conn *from, const uint8_t *payload, size_t len)
{
	uint32_t first = from->number - from->number % ROOMS_GROUP;

	for (uint32_t i = first; i < first + ROOMS_GROUP && i < conn_count; i++) {
		uint8_t *out;

		if (!conns[i] || conns[i] == from)
			continue;
		out = sock_put(&loop, &conns[i]->sock, ROOMS_HEAD + len);
		memset(out, 0, ROOMS_HEAD + ROOMS_MSG_FIXED);
		rooms_head(out, ROOMS_T_ROOM_MSG, len);
		/* req (4) is left out, and from (2) comes in: the data begins 2 bytes earlier. */
		memcpy(out + ROOMS_HEAD + 12, payload + 14, len - 12);
	}
}

static void on_frame(struct conn *c, uint8_t type, const uint8_t *payload, size_t len)
{
	switch (type) {
	case ROOMS_T_MESSAGE:
		put_frame(c, ROOMS_T_OK, payload, 4);
		pass_on(c, payload, len - 2);
		break;
	case ROOMS_T_RANKING_OF:
		put_frame(c, ROOMS_T_RANKING, payload, ROOMS_EMPTY_RANKING);
		break;
	default:
		put_frame(c, ROOMS_T_OK, payload, 4);
		break;
	}
}

static void end_conn(struct conn *c)
{
	conns[c->number] = NULL;
	sock_close(&c->sock); /* its memory stays: the generator ends all of them together */
}

static void on_ready(struct conn *c, uint32_t events)
{
	struct span   in;
	enum sock_got got;

	if (c->sock.fd < 0)
		return;
	if (events & EPOLLOUT)
		sock_writable(&loop, &c->sock);
	if (!(events & ~(uint32_t)EPOLLOUT))
		return;
	got = sock_read(&in, &loop, &c->sock);
	if (got == SOCK_GONE)
		end_conn(c);
	if (got != SOCK_BYTES)
		return;
	while (in.len >= ROOMS_HEAD && in.len >= ROOMS_HEAD + rooms_len(in.p)) {
		size_t len = rooms_len(in.p);

		on_frame(c, in.p[0], in.p + ROOMS_HEAD, len);
		in.p += ROOMS_HEAD + len;
		in.len -= ROOMS_HEAD + len;
	}
	sock_keep(&c->sock, in);
}

static void on_accept(void)
{
	int          one = 1;
	int          fd  = accept4(listener.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct conn *c;

	if (fd < 0)
		return;
	c = calloc(1, sizeof(*c));
	if (!c || conn_count == CONNS_MAX)
		err(1, "a connection");
	c->number           = conn_count;
	conns[conn_count++] = c;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	sock_add(&loop, &c->sock, fd);
}

/* Datagrams */

/* What is to be sent, in place; returns where it begins, or NULL. */
static uint8_t *turn(uint8_t *bytes, size_t *len, struct sockaddr_in *peer)
{
	uint32_t user;

	if (*len == P2P_PACKET && bytes[0] == P2P_FIRST_BYTE)
		return bytes;
	if (*len == P2P_STUN_REQUEST && bytes[0] == 0) {
		*len = P2P_STUN_ANSWER;
		return bytes;
	}
	if (*len < ROOMS_PROBE || memcmp(bytes, "PSNR", 4) != 0)
		return NULL;
	user = rooms_u32(bytes + 5) % USERS_MAX;
	if (bytes[4] == 1) {
		users[user] = *peer;
		bytes[4]    = 0x81;
		memcpy(bytes + 5, &peer->sin_addr, 4);
		memcpy(bytes + 9, &peer->sin_port, 2);
		*len = ROOMS_PROBE_REPLY;
		return bytes;
	}
	*peer = users[rooms_u32(bytes + 13) % USERS_MAX];
	memmove(bytes + 8, bytes, 9);
	*len -= 8;
	return bytes + 8;
}

static void serve_each(void)
{
	static uint8_t     bytes[DATAGRAM_BYTES];
	struct sockaddr_in peer;

	for (int i = 0; i < 512; i++) {
		socklen_t peer_len = sizeof(peer);
		ssize_t   got      = recvfrom(udp.fd, bytes, sizeof(bytes), 0, (struct sockaddr *)&peer, &peer_len);
		size_t    len      = (size_t)got;
		uint8_t  *out;

		if (got < 0)
			return;
		out = turn(bytes, &len, &peer);
		if (out)
			sendto(udp.fd, out, len, 0, (struct sockaddr *)&peer, sizeof(peer));
	}
}

static void serve_batch(void)
{
	static uint8_t            bytes[BATCH][DATAGRAM_BYTES];
	static struct sockaddr_in peers[BATCH];
	static struct iovec       in[BATCH], out[BATCH];
	static struct mmsghdr     got[BATCH], send[BATCH];

	for (int turns = 0; turns < 512 / BATCH; turns++) {
		unsigned n = 0;
		int      count;

		for (int i = 0; i < BATCH; i++) {
			in[i]          = (struct iovec){ bytes[i], DATAGRAM_BYTES };
			got[i].msg_hdr = (struct msghdr){ .msg_name    = &peers[i],
				                          .msg_namelen = sizeof(peers[i]),
				                          .msg_iov     = &in[i],
				                          .msg_iovlen  = 1 };
		}
		count = recvmmsg(udp.fd, got, BATCH, 0, NULL);
		for (int i = 0; i < count; i++) {
			size_t   len = got[i].msg_len;
			uint8_t *p   = turn(bytes[i], &len, &peers[i]);

			if (!p)
				continue;
			out[n]          = (struct iovec){ p, len };
			send[n].msg_hdr = (struct msghdr){ .msg_name    = &peers[i],
				                           .msg_namelen = sizeof(peers[i]),
				                           .msg_iov     = &out[n],
				                           .msg_iovlen  = 1 };
			n++;
		}
		if (n > 0)
			sendmmsg(udp.fd, send, n, 0);
		if (count < BATCH)
			return;
	}
}

/* The whole */

/* addr gets the port. -1: it is taken. */
static int bound(int type, struct sockaddr_in *addr)
{
	socklen_t len = sizeof(*addr);
	int       fd  = socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd >= 0 && bind(fd, (struct sockaddr *)addr, len) == 0 &&
	    getsockname(fd, (struct sockaddr *)addr, &len) == 0)
		return fd;
	if (fd < 0 || errno != EADDRINUSE)
		err(1, "a socket");
	close(fd);
	return -1;
}

static void listen_anywhere(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int                fd = -1, udp_fd = -1;
	int                bytes = 4 << 20;

	/* A port that is free of one is not always free of the other. */
	while (udp_fd < 0) {
		if (fd >= 0)
			close(fd);
		addr.sin_port = 0;
		fd            = bound(SOCK_STREAM, &addr);
		udp_fd        = bound(SOCK_DGRAM, &addr);
	}
	if (listen(fd, 4096))
		err(1, "listen");
	setsockopt(udp_fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	setsockopt(udp_fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	sock_add(&loop, &listener, fd);
	sock_add(&loop, &udp, udp_fd);
	printf("part=rooms listens on 127.0.0.1:%d\n", ntohs(addr.sin_port));
	fflush(stdout);
}

int main(int argc, char **argv)
{
	sigset_t open;

	is_batched = argc > 1 && strcmp(argv[1], "--batch") == 0;
	sock_raise_limit();
	sock_loop_init(&loop);
	stop_on_signals(&open);
	listen_anywhere();
	while (!stop_wanted) {
		int ready = sock_loop_wait(&loop, -1, &open);

		for (int i = 0; i < ready; i++) {
			void *who = loop.events[i].data.ptr;

			if (who == &listener)
				on_accept();
			else if (who == &udp)
				is_batched ? serve_batch() : serve_each();
			else
				on_ready(who, loop.events[i].events);
		}
		sock_loop_flush(&loop);
	}
	return 0;
}
