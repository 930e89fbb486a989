#include "support/crowd.h"

#include "support/dial.h"

#include <criterion/criterion.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define EVENTS_MAX     256
#define IN_BYTES_FIRST 8192
#define HEAD_BYTES_MAX 1024

enum { BINARY = 0x82, CLOSE = 0x88, PING = 0x89, PONG = 0x8a };

void crowd_init(struct crowd *c, crowd_fn on_news)
{
	*c = (struct crowd){ .on_news = on_news, .epoll_fd = epoll_create1(EPOLL_CLOEXEC) };
	cr_assert_geq(c->epoll_fd, 0, "no epoll: %s", strerror(errno));
}

void crowd_fini(struct crowd *c)
{
	close(c->epoll_fd);
	SSL_CTX_free(c->tls);
	c->tls = NULL;
}

void crowd_use_tls(struct crowd *c, const char *cert_path, const char *name)
{
	c->tls = SSL_CTX_new(TLS_client_method());
	cr_assert_eq(SSL_CTX_load_verify_locations(c->tls, cert_path, NULL), 1, "no certificate in %s", cert_path);
	SSL_CTX_set_verify(c->tls, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_mode(c->tls, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	snprintf(c->tls_name, sizeof(c->tls_name), "%s", name);
	signal(SIGPIPE, SIG_IGN); /* OpenSSL writes without MSG_NOSIGNAL */
}

/* Reading drives the handshake; until it is over, room for output says nothing. */
static bool shakes_hands(const struct crowd_peer *p)
{
	return p->ssl && !SSL_is_init_finished(p->ssl);
}

/* As send and recv say it. */
static ssize_t of_tls(struct crowd_peer *p, int n)
{
	int error = n > 0 ? SSL_ERROR_NONE : SSL_get_error(p->ssl, n);

	if (n > 0 || error == SSL_ERROR_ZERO_RETURN)
		return n > 0 ? n : 0;
	errno = error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? EAGAIN : ECONNRESET;
	return -1;
}

static ssize_t put(struct crowd_peer *p, const void *bytes, size_t len)
{
	if (!p->ssl)
		return send(p->fd, bytes, len, MSG_NOSIGNAL);
	ERR_clear_error();
	return of_tls(p, SSL_write(p->ssl, bytes, (int)len));
}

static ssize_t get(struct crowd_peer *p, void *out, size_t cap)
{
	if (!p->ssl)
		return recv(p->fd, out, cap, 0);
	ERR_clear_error();
	return of_tls(p, SSL_read(p->ssl, out, (int)cap));
}

static void begin_tls(struct crowd_peer *p)
{
	struct sockaddr_in me = { .sin_family = AF_INET };

	cr_assert_eq(inet_pton(AF_INET, p->from, &me.sin_addr), 1, "with TLS a peer needs an address: %s", p->from);
	cr_assert_eq(bind(p->fd, (const struct sockaddr *)&me, sizeof(me)), 0, "%s: %s", p->from, strerror(errno));
	p->ssl = SSL_new(p->crowd->tls);
	cr_assert(p->ssl && SSL_set_fd(p->ssl, p->fd) == 1, "no TLS session");
	SSL_set_tlsext_host_name(p->ssl, p->crowd->tls_name);
	SSL_set_connect_state(p->ssl);
}

static void watch(struct crowd_peer *p)
{
	bool               writes = p->phase == CROWD_DIALING || (p->out_len > p->out_at && !shakes_hands(p));
	uint32_t           events = (p->deaf ? 0 : EPOLLIN) | (writes ? EPOLLOUT : 0);
	struct epoll_event e      = { .events = events, .data.ptr = p };

	if (p->phase != CROWD_DOWN && events != p->watched) {
		epoll_ctl(p->crowd->epoll_fd, EPOLL_CTL_MOD, p->fd, &e);
		p->watched = events;
	}
}

void crowd_dial(struct crowd *c, struct crowd_peer *p, int port, const char *from)
{
	struct sockaddr_in to = { .sin_family      = AF_INET,
		                  .sin_port        = htons((uint16_t)port),
		                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct epoll_event e  = { .events = EPOLLIN | EPOLLOUT, .data.ptr = p };
	int                on = 1;

	cr_assert_eq(p->phase, CROWD_DOWN, "the peer is connected already");
	p->crowd = c;
	p->fd    = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	cr_assert_geq(p->fd, 0, "no socket: %s", strerror(errno));
	setsockopt(p->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	snprintf(p->from, sizeof(p->from), "%s", from ? from : "");
	if (c->tls)
		begin_tls(p);
	if (connect(p->fd, (const struct sockaddr *)&to, sizeof(to)) != 0 && errno != EINPROGRESS)
		cr_assert_fail("cannot connect to port %d: %s", port, strerror(errno));
	p->phase     = CROWD_DIALING;
	p->status    = 0;
	p->deaf      = false;
	p->got_close = false;
	p->watched   = e.events;
	epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, p->fd, &e);
	c->connected++;
}

void crowd_drop(struct crowd_peer *p, bool reset)
{
	if (p->phase == CROWD_DOWN)
		return;
	SSL_free(p->ssl);
	p->ssl = NULL;
	if (reset)
		dial_abort(p->fd);
	else
		close(p->fd);
	free(p->in);
	free(p->out);
	p->in = p->out = NULL;
	p->in_len = p->in_cap = p->out_at = p->out_len = p->out_cap = 0;
	p->fd                                                       = -1;
	p->phase                                                    = CROWD_DOWN;
	p->crowd->connected--;
}

static void end(struct crowd_peer *p)
{
	crowd_drop(p, false);
	p->crowd->on_news(p, CROWD_ENDED, NULL, 0);
}

/* False when the other side is gone. */
static bool write_some(struct crowd_peer *p)
{
	while (p->out_at < p->out_len) {
		ssize_t n = put(p, p->out + p->out_at, p->out_len - p->out_at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN)
			return false;
		if (n < 0)
			break;
		p->out_at += (size_t)n;
	}
	if (p->out_at == p->out_len)
		p->out_at = p->out_len = 0;
	return true;
}

static uint8_t *room_to_send(struct crowd_peer *p, size_t len)
{
	if (p->out_at > 0) {
		memmove(p->out, p->out + p->out_at, p->out_len - p->out_at);
		p->out_len -= p->out_at;
		p->out_at = 0;
	}
	if (p->out_len + len > p->out_cap) {
		p->out_cap = 2 * (p->out_len + len);
		p->out     = realloc(p->out, p->out_cap);
		cr_assert_not_null(p->out, "memory to send");
	}
	p->out_len += len;
	return p->out + p->out_len - len;
}

bool crowd_send_raw(struct crowd_peer *p, const void *data, size_t len)
{
	if (p->phase == CROWD_DOWN || crowd_waiting(p) + len > CROWD_OUT_BYTES_MAX)
		return false;
	memcpy(room_to_send(p, len), data, len);
	if (p->phase != CROWD_DIALING)
		write_some(p); /* that the other side is gone shows at the next read */
	watch(p);
	return true;
}

/* Masked with zeros: allowed, and nothing has to be turned over. */
static bool send_frame(struct crowd_peer *p, uint8_t first_byte, const uint8_t *data, size_t len)
{
	uint8_t  head[8]  = { first_byte, (uint8_t)(0x80 | (len < 126 ? len : 126)) };
	size_t   head_len = 2;
	uint8_t *at;

	cr_assert_lt(len, 65536, "the test's own message is too long");
	if (p->phase != CROWD_OPEN || crowd_waiting(p) + len > CROWD_OUT_BYTES_MAX)
		return false;
	if (len >= 126) {
		head[head_len++] = (uint8_t)(len >> 8);
		head[head_len++] = (uint8_t)len;
	}
	head_len += 4;
	at = room_to_send(p, head_len + len);
	memcpy(at, head, head_len);
	if (len > 0)
		memcpy(at + head_len, data, len);
	write_some(p);
	watch(p);
	return true;
}

bool crowd_send(struct crowd_peer *p, const void *data, size_t len)
{
	return send_frame(p, BINARY, data, len);
}

size_t crowd_waiting(const struct crowd_peer *p)
{
	return p->out_len - p->out_at;
}

void crowd_listen(struct crowd_peer *p, bool listens)
{
	p->deaf = !listens;
	watch(p);
}

static void send_upgrade(struct crowd_peer *p)
{
	char line[80] = "";
	char request[512];

	if (p->from[0] && !p->ssl)
		snprintf(line, sizeof(line), "X-Forwarded-For: %s\r\n", p->from);
	int len = snprintf(request, sizeof(request),
	                   "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
	                   "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n%s\r\n",
	                   line);

	p->phase = CROWD_UPGRADING;
	memcpy(room_to_send(p, (size_t)len), request, (size_t)len);
}

/* How many bytes of the input the answer to the upgrade takes; 0: not whole yet. */
static size_t take_answer(struct crowd_peer *p)
{
	const uint8_t *end_of_head = memmem(p->in, p->in_len, "\r\n\r\n", 4);
	char           head[HEAD_BYTES_MAX + 1];

	if (!end_of_head)
		return 0;

	size_t len = (size_t)(end_of_head + 4 - p->in);

	cr_assert_leq(len, HEAD_BYTES_MAX, "an answer with a head of %zu bytes", len);
	memcpy(head, p->in, len);
	head[len] = '\0';
	if (sscanf(head, "HTTP/1.%*c %3d", &p->status) != 1)
		p->status = 0;
	if (p->status == 101) {
		p->phase = CROWD_OPEN;
		p->crowd->on_news(p, CROWD_OPENED, NULL, 0);
	}
	return len;
}

static void on_frame(struct crowd_peer *p, uint8_t first_byte, const uint8_t *data, size_t len)
{
	switch (first_byte) {
	case BINARY:
		p->crowd->on_news(p, CROWD_MESSAGE, data, len);
		break;
	case PING:
		send_frame(p, PONG, data, len);
		break;
	case CLOSE:
		p->got_close = true;
		send_frame(p, CLOSE, NULL, 0);
		break;
	case PONG:
		break;
	default:
		cr_assert_fail("a frame no server may send: %02x", first_byte);
	}
}

/* How many bytes of the input from at on were one frame, which was dealt with; 0: not whole yet. */
static size_t take_frame(struct crowd_peer *p, size_t at)
{
	const uint8_t *in   = p->in + at;
	size_t         left = p->in_len - at;
	size_t         head = 2;

	if (left < 2)
		return 0;
	cr_assert_lt(in[1], 127, "a masked frame, or one that is too long for any client");

	size_t len = in[1];

	if (len == 126) {
		if (left < 4)
			return 0;
		head = 4;
		len  = (size_t)in[2] << 8 | in[3];
	}
	if (left < head + len)
		return 0;
	on_frame(p, in[0], in + head, len);
	return head + len;
}

/* The handler may drop the peer at any message: then nothing is left to look at. */
static void take_input(struct crowd_peer *p)
{
	size_t at = 0;

	if (p->phase == CROWD_UPGRADING)
		at = take_answer(p);
	if (p->phase == CROWD_UPGRADING && at > 0) { /* refused; a proxy would wait for another question */
		end(p);
		return;
	}
	while (p->phase == CROWD_OPEN) {
		size_t used = take_frame(p, at);

		if (used == 0)
			break;
		at += used;
	}
	if (p->phase == CROWD_DOWN)
		return;
	memmove(p->in, p->in + at, p->in_len - at);
	p->in_len -= at;
}

static void read_some(struct crowd_peer *p)
{
	while (p->phase != CROWD_DOWN && !p->deaf) {
		if (p->in_len == p->in_cap) {
			p->in_cap = p->in_cap ? 2 * p->in_cap : IN_BYTES_FIRST;
			p->in     = realloc(p->in, p->in_cap);
			cr_assert_not_null(p->in, "memory for what the server sends");
		}

		size_t  room = p->in_cap - p->in_len;
		ssize_t n    = get(p, p->in + p->in_len, room);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) {
			end(p);
			return;
		}
		p->in_len += (size_t)n;
		take_input(p);
		if ((size_t)n < room && !p->ssl) /* TLS has more, perhaps, that nobody would be told of */
			return;
	}
}

static void on_events(struct crowd_peer *p, uint32_t events)
{
	if (p->phase == CROWD_DOWN) /* dropped by a handler of another one, in this very turn */
		return;
	if (p->phase == CROWD_DIALING && (events & EPOLLOUT))
		send_upgrade(p);
	if (events & EPOLLOUT && !write_some(p)) {
		end(p);
		return;
	}
	if (events & EPOLLIN)
		read_some(p);
	else if (events & (EPOLLERR | EPOLLHUP))
		end(p);
	if (p->phase != CROWD_DOWN)
		watch(p);
}

bool crowd_run(struct crowd *c, bool (*done)(void *arg), void *arg, int patience_ms)
{
	int64_t deadline_ms = real_now_ms() + patience_ms;

	for (;;) {
		struct epoll_event ready[EVENTS_MAX];
		int64_t            left_ms = deadline_ms - real_now_ms();

		if (done && done(arg))
			return true;

		int n = epoll_wait(c->epoll_fd, ready, EVENTS_MAX, left_ms > 0 ? (int)left_ms : 0);

		for (int i = 0; i < n; i++)
			on_events(ready[i].data.ptr, ready[i].events);
		if (left_ms <= 0)
			return done && done(arg);
	}
}
