#include "lib_peer.h"

#include <arpa/inet.h>
#include <err.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "lib_bytes.h"
#include "lib_usage.h"
#include "lib_ws.h"

enum { HANDSHAKES_MAX = 64, HEAD_BYTES_MAX = 8192 };

static const int64_t OPEN_PATIENCE_NS = 60 * 1000000000LL;

/* The example of RFC 6455, so that the answer can be checked without computing it. */
#define UPGRADE_KEY    "dGhlIHNhbXBsZSBub25jZQ=="
#define UPGRADE_ACCEPT "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

static const char *kind(const struct peer *p)
{
	return p->is_host ? "host" : "friend";
}

static uint32_t next_mask(struct peers *ps)
{
	ps->mask ^= ps->mask << 13;
	ps->mask ^= ps->mask >> 17;
	ps->mask ^= ps->mask << 5;
	return ps->mask;
}

uint8_t *peer_begin(struct peers *ps, struct peer *p, size_t len)
{
	return ws_put_masked(&ps->loop, &p->sock, WS_BINARY, len, next_mask(ps));
}

void peer_end(struct peers *ps, uint8_t *m, size_t len)
{
	ws_mask(m, len, ps->mask);
}

static void send_upgrade(struct peers *ps, struct peer *p)
{
	uint32_t game = p->game + 1;
	char     head[512];
	int      bytes = snprintf(head, sizeof(head),
	                          "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
	                               "Sec-WebSocket-Key: " UPGRADE_KEY "\r\nSec-WebSocket-Version: 13\r\n"
	                               "User-Agent: CrysisCoop/2\r\nX-Forwarded-For: 10.%u.%u.%u\r\n\r\n",
	                          game >> 16 & 255, game >> 8 & 255, game & 255);

	memcpy(sock_put(&ps->loop, &p->sock, (size_t)bytes), head, (size_t)bytes);
}

static void send_role(struct peers *ps, struct peer *p)
{
	size_t   before_key = p->is_host ? 2 : 6 + TUNNEL_TOKEN_BYTES;
	size_t   len        = before_key + TUNNEL_KEY_BYTES;
	uint8_t *m          = peer_begin(ps, p, len);
	uint64_t number     = (uint64_t)(p - ps->all);

	m[0] = p->is_host ? OP_HOST_OPEN : OP_JOIN;
	m[1] = TUNNEL_VERSION;
	if (!p->is_host) {
		put_u32(m + 2, ps->codes[p->game]);
		put_u64(m + 6, number);
	}
	put_u64(m + before_key, ps->key_base);
	put_u64(m + before_key + 8, number);
	peer_end(ps, m, len);
}

static void on_upgraded(struct peers *ps, struct peer *p, struct span *in)
{
	uint8_t *end = memmem(in->p, in->len, "\r\n\r\n", 4);

	if (!end && in->len > HEAD_BYTES_MAX)
		errx(1, "the server's answer to the upgrade has no end");
	if (!end)
		return;
	*end = '\0';
	if (strncmp((char *)in->p, "HTTP/1.1 101", 12) != 0 || !strstr((char *)in->p, UPGRADE_ACCEPT))
		errx(1, "the server refuses the upgrade of the %s of game %u: %.60s", kind(p), p->game, (char *)in->p);
	end += 4;
	in->len  = (size_t)(in->p + in->len - end);
	in->p    = end;
	p->phase = PEER_ASKING;
	send_role(ps, p);
}

static void on_message(struct peers *ps, struct peer *p, const uint8_t *m, size_t len)
{
	if (len == 2 && m[0] == OP_FAULT)
		errx(1, "the server answers fault %d to the %s of game %u", m[1], kind(p), p->game);
	if (p->phase == PEER_READY) {
		ps->on_message(p, m, len);
		return;
	}
	if (p->is_host && len >= 5 && m[0] == OP_HOST_OPENED)
		ps->codes[p->game] = get_u32(m + 1);
	else if (p->is_host || len < 1 || m[0] != OP_JOINED)
		errx(1, "the server's first message to the %s of game %u is of the wrong kind", kind(p), p->game);
	p->phase = PEER_READY;
	ps->ready++;
}

static void on_frame(struct peers *ps, struct peer *p, const struct ws_frame *frame)
{
	switch (frame->op) {
	case WS_BINARY:
		on_message(ps, p, frame->data.p, frame->data.len);
		return;
	case WS_PING: {
		uint8_t *m = ws_put_masked(&ps->loop, &p->sock, WS_PONG, frame->data.len, next_mask(ps));

		memcpy(m, frame->data.p, frame->data.len);
		peer_end(ps, m, frame->data.len);
		return;
	}
	case WS_PONG:
		return;
	default:
		errx(1, "the server closes the connection of the %s of game %u", kind(p), p->game);
	}
}

static void on_bytes(struct peers *ps, struct peer *p, struct span in)
{
	struct ws_frame frame;
	enum ws_got     got = WS_MORE;

	if (p->phase == PEER_UPGRADING)
		on_upgraded(ps, p, &in);
	if (p->phase != PEER_UPGRADING)
		while ((got = ws_take(&frame, &in)) == WS_FRAME)
			on_frame(ps, p, &frame);
	if (got == WS_BAD)
		errx(1, "the server sends the %s of game %u a broken frame", kind(p), p->game);
	sock_keep(&p->sock, in);
}

static void on_ready(struct peers *ps, struct peer *p, uint32_t events)
{
	struct span in;

	if (events & EPOLLOUT)
		sock_writable(&ps->loop, &p->sock);
	if (!(events & ~(uint32_t)EPOLLOUT))
		return;

	enum sock_got got = sock_read(&in, &ps->loop, &p->sock);
	if (got == SOCK_GONE)
		errx(1, "the server drops the connection of the %s of game %u", kind(p), p->game);
	if (got == SOCK_BYTES)
		on_bytes(ps, p, in);
}

void peers_turn(struct peers *ps, int64_t timeout_ns)
{
	int ready = sock_loop_wait(&ps->loop, timeout_ns, NULL);

	for (int i = 0; i < ready; i++)
		on_ready(ps, ps->loop.events[i].data.ptr, ps->loop.events[i].events);
}

void peers_flush(struct peers *ps)
{
	sock_loop_flush(&ps->loop);
}

/* Connecting blocks: on the loopback it only waits when the server's queue of connections is full. */
static void start_peer(struct peers *ps, struct peer *p)
{
	int one = 1;
	int fd  = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		err(1, "socket");
	if (connect(fd, (const struct sockaddr *)&ps->server, sizeof(ps->server)))
		err(1, "connect");
	if (fcntl(fd, F_SETFL, O_NONBLOCK))
		err(1, "fcntl");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	sock_add(&ps->loop, &p->sock, fd);
	p->phase = PEER_UPGRADING;
	send_upgrade(ps, p);
}

/* Peers are started in order, so those under way are the started ones that are not ready. */
static void open_until(struct peers *ps, uint32_t end)
{
	int64_t  deadline_ns = usage_now_ns() + OPEN_PATIENCE_NS;
	uint32_t started     = ps->ready;

	while (ps->ready < end) {
		while (started < end && started - ps->ready < HANDSHAKES_MAX)
			start_peer(ps, &ps->all[started++]);
		peers_flush(ps);
		peers_turn(ps, 100 * 1000000LL);
		if (usage_now_ns() > deadline_ns)
			errx(1, "only %u of %u connections are ready after %d s", ps->ready, ps->count,
			     (int)(OPEN_PATIENCE_NS / 1000000000));
	}
	peers_flush(ps);
}

void peers_open(struct peers *ps, uint32_t friend_count, uint32_t (*game_of)(uint32_t friend_index))
{
	ps->count = ps->game_count + friend_count;
	ps->all   = calloc(ps->count, sizeof(*ps->all));
	ps->codes = calloc(ps->game_count, sizeof(*ps->codes));
	if (!ps->all || !ps->codes)
		err(1, "%u connections", ps->count);
	if (getrandom(&ps->key_base, sizeof(ps->key_base), 0) != sizeof(ps->key_base))
		err(1, "getrandom");
	ps->mask = 2463534242U; /* any but 0 */
	sock_loop_init(&ps->loop);

	for (uint32_t i = 0; i < ps->count; i++) {
		ps->all[i].is_host = i < ps->game_count;
		ps->all[i].game    = ps->all[i].is_host ? i : game_of(i - ps->game_count);
	}
	open_until(ps, ps->game_count);
	open_until(ps, ps->count);
}
