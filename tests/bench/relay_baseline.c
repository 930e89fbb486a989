/*
 * The physical reference of `make bench`: what a relay of the tunnel protocol costs when it does nothing else.
 *
 * It speaks protocol 2 as far as games need it: register, join, datagrams both ways, echo.  There are no
 * limits, no accounts, no database, no states and no rejoining, and it believes its peers.  Per turn of
 * the loop: one recv for each ready socket, every frame of it parsed where it lies and copied into the
 * receiver's output, then one send for each socket that got something.
 *
 *	relay_baseline [--port N]	127.0.0.1 only; 0, the default, takes any free port
 *
 * The first line says the port, in the words coopd uses.  On SIGTERM it prints how many system calls a
 * datagram took, and ends.
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib_bytes.h"
#include "lib_sock.h"
#include "lib_stop.h"
#include "lib_ws.h"

enum { CODE_MIN = 100000, GAMES_MAX = 900000 };
enum { STATE_READY = 2, FAULT_VERSION = 2, FAULT_NO_GAME = 3, FAULT_FULL = 4 };
enum { HEAD_BYTES_MAX = 8192, BACKLOG = 1024 };

/* As bits, so that a row of the table below can name several. */
enum role { ROLE_HTTP = 1, ROLE_NONE = 2, ROLE_HOST = 4, ROLE_FRIEND = 8 };

struct game {
	uint32_t     code;
	struct conn *host;
	struct conn *friends[TUNNEL_FRIENDS_MAX]; /* the friend at i has the number i + 1 */
};

struct conn {
	struct sock  sock; /* first: epoll gives this back, and it is the conn */
	enum role    role;
	struct game *game;   /* of a host or friend */
	uint16_t     number; /* of a friend */
	struct conn *next_dead;
};

static struct sock_loop loop;
static struct sock      listener;
static struct game     *games[GAMES_MAX];
static uint32_t         game_count;
static struct conn     *dead; /* freed at the end of the turn: events and the dirty list may still name them */
static uint64_t         datagrams;

static void end_conn(struct conn *c)
{
	if (c->sock.fd < 0)
		return;
	sock_close(&c->sock);
	c->next_dead = dead;
	dead         = c;

	if (c->role == ROLE_HOST)
		c->game->host = NULL;
	if (c->role != ROLE_FRIEND)
		return;
	c->game->friends[c->number - 1] = NULL;
	if (c->game->host) {
		uint8_t *m = ws_put(&loop, &c->game->host->sock, WS_BINARY, 3);

		m[0] = OP_FRIEND_GONE;
		put_u16(m + 1, c->number);
	}
}

static void say_fault(struct conn *c, uint8_t fault)
{
	uint8_t *m = ws_put(&loop, &c->sock, WS_BINARY, 2);

	m[0] = OP_FAULT;
	m[1] = fault;
}

static void on_host_open(struct conn *c, const uint8_t *m, size_t len)
{
	if (m[1] != TUNNEL_VERSION || game_count == GAMES_MAX) {
		say_fault(c, FAULT_VERSION);
		return;
	}

	struct game *game = calloc(1, sizeof(*game));
	if (!game)
		err(1, "a game");
	game->code          = CODE_MIN + game_count;
	game->host          = c;
	games[game_count++] = game;
	c->game             = game;
	c->role             = ROLE_HOST;

	uint8_t  id[SHA256_DIGEST_LENGTH];
	uint8_t *reply = ws_put(&loop, &c->sock, WS_BINARY, 5 + TUNNEL_ID_BYTES);

	SHA256(m + 2, len - 2 < TUNNEL_KEY_BYTES ? len - 2 : TUNNEL_KEY_BYTES, id);
	reply[0] = OP_HOST_OPENED;
	put_u32(reply + 1, game->code);
	memcpy(reply + 5, id, TUNNEL_ID_BYTES);
}

static void seat_friend(struct conn *c, struct game *game, unsigned seat, const uint8_t *key)
{
	uint8_t id[SHA256_DIGEST_LENGTH];

	game->friends[seat] = c;
	c->game             = game;
	c->number           = (uint16_t)(seat + 1);
	c->role             = ROLE_FRIEND;
	SHA256(key, TUNNEL_KEY_BYTES, id);

	uint8_t *m = ws_put(&loop, &game->host->sock, WS_BINARY, 3 + TUNNEL_ID_BYTES);

	m[0] = OP_FRIEND_IS;
	put_u16(m + 1, c->number);
	memcpy(m + 3, id, TUNNEL_ID_BYTES);

	m    = ws_put(&loop, &c->sock, WS_BINARY, 2);
	m[0] = OP_JOINED;
	m[1] = STATE_READY;
}

static void on_join(struct conn *c, const uint8_t *m, size_t len)
{
	(void)len;
	if (m[1] != TUNNEL_VERSION) {
		say_fault(c, FAULT_VERSION);
		return;
	}

	uint32_t     code = get_u32(m + 2);
	struct game *game = code >= CODE_MIN && code - CODE_MIN < game_count ? games[code - CODE_MIN] : NULL;

	if (!game || !game->host) {
		say_fault(c, FAULT_NO_GAME);
		return;
	}
	for (unsigned seat = 0; seat < TUNNEL_FRIENDS_MAX; seat++) {
		if (!game->friends[seat]) {
			seat_friend(c, game, seat, m + 6 + TUNNEL_TOKEN_BYTES);
			return;
		}
	}
	say_fault(c, FAULT_FULL);
}

static void on_echo(struct conn *c, const uint8_t *m, size_t len)
{
	size_t kept = len < 16 ? len : 16;

	memcpy(ws_put(&loop, &c->sock, WS_BINARY, kept), m, kept);
}

static void on_from_friend(struct conn *c, const uint8_t *m, size_t len)
{
	struct conn *host = c->game->host;

	if (!host)
		return;

	uint8_t *out = ws_put(&loop, &host->sock, WS_BINARY, len + 2);

	out[0] = OP_TO_HOST;
	put_u16(out + 1, c->number);
	memcpy(out + 3, m + 1, len - 1);
	datagrams++;
}

static void on_from_host(struct conn *c, const uint8_t *m, size_t len)
{
	unsigned     seat = get_u16(m + 1) - 1U;
	struct conn *to   = seat < TUNNEL_FRIENDS_MAX ? c->game->friends[seat] : NULL;

	if (!to)
		return;

	uint8_t *out = ws_put(&loop, &to->sock, WS_BINARY, len - 2);

	out[0] = OP_TO_FRIEND;
	memcpy(out + 1, m + 3, len - 3);
	datagrams++;
}

static const struct op {
	unsigned roles;
	size_t   bytes_min;
	void (*handler)(struct conn *c, const uint8_t *m, size_t len);
} ops[OP_COUNT] = {
	[OP_HOST_OPEN]   = { ROLE_NONE, 2 + TUNNEL_KEY_BYTES, on_host_open },
	[OP_JOIN]        = { ROLE_NONE, 6 + TUNNEL_TOKEN_BYTES + TUNNEL_KEY_BYTES, on_join },
	[OP_ECHO]        = { ROLE_NONE | ROLE_HOST | ROLE_FRIEND, 1, on_echo },
	[OP_FROM_HOST]   = { ROLE_HOST, 3, on_from_host },
	[OP_FROM_FRIEND] = { ROLE_FRIEND, 1, on_from_friend },
};

static void on_message(struct conn *c, const uint8_t *m, size_t len)
{
	const struct op *op = len > 0 && m[0] < OP_COUNT ? &ops[m[0]] : NULL;

	if (op && (op->roles & c->role) && len >= op->bytes_min)
		op->handler(c, m, len);
}

static void on_frames(struct conn *c, struct span in)
{
	struct ws_frame frame;
	enum ws_got     got;

	while ((got = ws_take(&frame, &in)) == WS_FRAME && frame.op != WS_CLOSE) {
		if (frame.op == WS_BINARY)
			on_message(c, frame.data.p, frame.data.len);
		else if (frame.op == WS_PING)
			memcpy(ws_put(&loop, &c->sock, WS_PONG, frame.data.len), frame.data.p, frame.data.len);
	}
	if (got == WS_MORE)
		sock_keep(&c->sock, in);
	else
		end_conn(c);
}

/* The answer to Sec-WebSocket-Key, as text in out[29]. */
static void accept_value(char out[29], const char *key, size_t len)
{
	static const char salt[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
	uint8_t           digest[SHA_DIGEST_LENGTH];
	char              text[64 + sizeof(salt)];
	int               bytes = snprintf(text, sizeof(text), "%.*s%s", len > 64 ? 64 : (int)len, key, salt);

	SHA1((const uint8_t *)text, (size_t)bytes, digest);
	EVP_EncodeBlock((uint8_t *)out, digest, sizeof(digest));
}

static void answer_upgrade(struct conn *c, const char *head)
{
	static const char field[]  = "\r\nSec-WebSocket-Key:";
	static const char format[] = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
				     "Connection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n";
	const char       *key      = strcasestr(head, field);
	char              value[29];
	char              answer[256];

	if (!key) {
		end_conn(c);
		return;
	}
	key += strlen(field);
	key += strspn(key, " \t");
	accept_value(value, key, strcspn(key, " \t\r\n"));

	size_t bytes = (size_t)snprintf(answer, sizeof(answer), format, value);

	memcpy(sock_put(&loop, &c->sock, bytes), answer, bytes);
	c->role = ROLE_NONE;
}

static void on_http(struct conn *c, struct span in)
{
	uint8_t *end = memmem(in.p, in.len, "\r\n\r\n", 4);

	if (!end && in.len < HEAD_BYTES_MAX) {
		sock_keep(&c->sock, in);
		return;
	}
	if (!end) {
		end_conn(c);
		return;
	}
	end[0] = '\0';
	answer_upgrade(c, (const char *)in.p);
	end += 4;
	if (c->sock.fd >= 0)
		on_frames(c, (struct span){ .p = end, .len = (size_t)(in.p + in.len - end) });
}

static void on_ready(struct conn *c, uint32_t events)
{
	struct span in;

	if (c->sock.fd < 0)
		return; /* closed earlier in this turn */
	if (events & EPOLLOUT)
		sock_writable(&loop, &c->sock);
	if (!(events & ~(uint32_t)EPOLLOUT))
		return;

	enum sock_got got = sock_read(&in, &loop, &c->sock);
	if (got == SOCK_GONE)
		end_conn(c);
	else if (got == SOCK_BYTES && c->role == ROLE_HTTP)
		on_http(c, in);
	else if (got == SOCK_BYTES)
		on_frames(c, in);
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
	c->role = ROLE_HTTP;
}

static void free_dead(void)
{
	while (dead) {
		struct conn *c = dead;

		dead = c->next_dead;
		free(c);
	}
}

static void listen_on(uint16_t port)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
		                    .sin_port   = htons(port),
		                    .sin_addr   = { htonl(INADDR_LOOPBACK) } };
	socklen_t          len  = sizeof(addr);
	int                one  = 1;
	int                fd   = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		err(1, "socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&addr, len) || listen(fd, BACKLOG))
		err(1, "127.0.0.1:%d", port);
	if (getsockname(fd, (struct sockaddr *)&addr, &len))
		err(1, "getsockname");
	sock_add(&loop, &listener, fd);
	printf("tunnel listens on 127.0.0.1:%d\n", ntohs(addr.sin_port));
	fflush(stdout);
}

static void turn(const sigset_t *signals)
{
	int ready = sock_loop_wait(&loop, -1, signals);

	for (int i = 0; i < ready; i++) {
		if (loop.events[i].data.ptr == &listener)
			on_accept();
		else
			on_ready(loop.events[i].data.ptr, loop.events[i].events);
	}
	sock_loop_flush(&loop);
	free_dead();
}

static void print_calls(void)
{
	const struct sock_calls *calls = &loop.calls;
	uint64_t                 all   = calls->recv + calls->send + calls->wait + calls->ctl;

	printf("syscalls_per_datagram=%.3f datagrams=%" PRIu64 " recv=%" PRIu64 " send=%" PRIu64 " epoll_wait=%" PRIu64
	       " epoll_ctl=%" PRIu64 "\n",
	       datagrams ? (double)all / (double)datagrams : 0.0, datagrams, calls->recv, calls->send, calls->wait,
	       calls->ctl);
}

static uint16_t port_argument(int argc, char **argv)
{
	static const struct option options[] = { { "port", required_argument, NULL, 'p' }, { 0 } };
	long                       port      = 0;
	int                        c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		char *end = NULL;

		if (c == 'p')
			port = strtol(optarg, &end, 10);
		if (c != 'p' || end == optarg || *end || port < 0 || port > UINT16_MAX)
			errx(2, "usage: relay_baseline [--port N]");
	}
	return (uint16_t)port;
}

int main(int argc, char **argv)
{
	uint16_t port = port_argument(argc, argv);
	sigset_t open;

	sock_raise_limit();
	sock_loop_init(&loop);
	stop_on_signals(&open);
	listen_on(port);
	while (!stop_wanted)
		turn(&open);
	print_calls();
	return 0;
}
