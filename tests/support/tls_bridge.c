/*
 * One thread, one poll. Each connection has a buffer for either direction, and is read on a side only while what was read
 * before has left on the other.
 */
#include "support/tls_bridge.h"

#include <criterion/criterion.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define BUFFER_BYTES 16384

struct buffer {
	char   bytes[BUFFER_BYTES];
	size_t at, len; /* from at to len is still to be sent */
};

struct pair {
	int           plain, tls; /* -1: not used */
	SSL          *ssl;
	struct buffer up, down;                   /* to the server, to the client */
	bool          client_ended, server_ended; /* nothing more will come from there */
	bool          wants_write;                /* TLS waits for room in the socket */
};

struct tls_bridge {
	int         listener, stop_fd, to_port;
	in_addr_t   from;
	char        name[256];
	SSL_CTX    *ctx;
	pthread_t   thread;
	struct pair pairs[TLS_BRIDGE_CONNECTIONS];
};

static bool is_empty(const struct buffer *b)
{
	return b->at == b->len;
}

static void close_pair(struct pair *p)
{
	SSL_free(p->ssl);
	if (p->tls >= 0)
		close(p->tls);
	close(p->plain);
	*p = (struct pair){ .plain = -1, .tls = -1 };
}

/* --- Beginning --- */

static int dial_from(int port, in_addr_t from)
{
	struct sockaddr_in me = { .sin_family = AF_INET, .sin_addr = { from } };
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	int                on = 1;
	int                fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (bind(fd, (const struct sockaddr *)&me, sizeof(me)) != 0 ||
	    connect(fd, (const struct sockaddr *)&to, sizeof(to)) != 0) {
		close(fd);
		return -1;
	}
	fcntl(fd, F_SETFL, O_NONBLOCK);
	return fd;
}

static void begin_pair(struct tls_bridge *b, int plain)
{
	struct pair *p  = b->pairs;
	int          on = 1;

	while (p < b->pairs + TLS_BRIDGE_CONNECTIONS && p->plain >= 0)
		p++;
	if (p == b->pairs + TLS_BRIDGE_CONNECTIONS) {
		close(plain);
		return;
	}
	setsockopt(plain, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	p->plain = plain;
	p->tls   = dial_from(b->to_port, b->from);
	p->ssl   = p->tls >= 0 ? SSL_new(b->ctx) : NULL;
	if (!p->ssl) {
		close_pair(p);
		return;
	}
	SSL_set_fd(p->ssl, p->tls);
	SSL_set_tlsext_host_name(p->ssl, b->name);
	SSL_set_connect_state(p->ssl);
}

/* --- Carrying --- */

/* These return true when something moved. */

static bool read_plain(struct pair *p)
{
	if (p->client_ended || !is_empty(&p->up))
		return false;
	ssize_t got = recv(p->plain, p->up.bytes, BUFFER_BYTES, 0);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	p->client_ended = got <= 0;
	p->up.at        = 0;
	p->up.len       = got > 0 ? (size_t)got : 0;
	return true;
}

static bool write_plain(struct pair *p)
{
	if (is_empty(&p->down))
		return false;
	ssize_t sent = send(p->plain, p->down.bytes + p->down.at, p->down.len - p->down.at, MSG_NOSIGNAL);

	if (sent < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (sent < 0) {
		p->client_ended = true;
		p->down.at      = p->down.len;
		return true;
	}
	p->down.at += (size_t)sent;
	return true;
}

/* What a TLS call that did nothing says: to be tried again, or that the server is gone. */
static bool judge_tls(struct pair *p, int result)
{
	int error = SSL_get_error(p->ssl, result);

	if (error == SSL_ERROR_WANT_WRITE)
		p->wants_write = true;
	if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE)
		return false;
	p->server_ended = true;
	p->up.at        = p->up.len;
	return true;
}

/* First of all: what is read or written during a handshake can end it, and nobody would try the other one again. */
static bool shake_hands(struct pair *p)
{
	if (p->server_ended || SSL_is_init_finished(p->ssl))
		return false;
	ERR_clear_error();
	int result = SSL_do_handshake(p->ssl);

	return result == 1 || judge_tls(p, result);
}

static bool read_tls(struct pair *p)
{
	if (p->server_ended || !SSL_is_init_finished(p->ssl) || !is_empty(&p->down))
		return false;
	ERR_clear_error();
	int got = SSL_read(p->ssl, p->down.bytes, BUFFER_BYTES);

	if (got <= 0)
		return judge_tls(p, got);
	p->down.at  = 0;
	p->down.len = (size_t)got;
	return true;
}

static bool write_tls(struct pair *p)
{
	if (p->server_ended || !SSL_is_init_finished(p->ssl) || is_empty(&p->up))
		return false;
	ERR_clear_error();
	int sent = SSL_write(p->ssl, p->up.bytes + p->up.at, (int)(p->up.len - p->up.at));

	if (sent <= 0)
		return judge_tls(p, sent);
	p->up.at += (size_t)sent;
	return true;
}

static void carry(struct pair *p)
{
	bool moved = true;

	while (moved) {
		p->wants_write = false;
		moved          = shake_hands(p);
		moved |= read_plain(p);
		moved |= write_tls(p);
		moved |= read_tls(p);
		moved |= write_plain(p);
	}
	if ((p->server_ended && is_empty(&p->down)) || (p->client_ended && is_empty(&p->up))) {
		if (!p->server_ended)
			SSL_shutdown(p->ssl);
		close_pair(p);
	}
}

static void *run(void *arg)
{
	struct tls_bridge *b = arg;
	struct pollfd      polls[2 + 2 * TLS_BRIDGE_CONNECTIONS];

	for (;;) {
		polls[0] = (struct pollfd){ .fd = b->stop_fd, .events = POLLIN };
		polls[1] = (struct pollfd){ .fd = b->listener, .events = POLLIN };
		for (size_t i = 0; i < TLS_BRIDGE_CONNECTIONS; i++) {
			const struct pair *p     = &b->pairs[i];
			short              plain = (short)((is_empty(&p->up) && !p->client_ended ? POLLIN : 0) |
                                              (is_empty(&p->down) ? 0 : POLLOUT));
			short tls = (short)((is_empty(&p->down) ? POLLIN : 0) | (p->wants_write ? POLLOUT : 0));

			polls[2 + 2 * i] = (struct pollfd){ .fd = p->plain, .events = plain };
			polls[3 + 2 * i] = (struct pollfd){ .fd = p->tls, .events = tls };
		}
		if (poll(polls, sizeof(polls) / sizeof(polls[0]), -1) < 0 && errno != EINTR)
			return NULL;
		if (polls[0].revents)
			return NULL;
		int plain = polls[1].revents ? accept4(b->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK) : -1;

		if (plain >= 0)
			begin_pair(b, plain);
		for (size_t i = 0; i < TLS_BRIDGE_CONNECTIONS; i++)
			if (b->pairs[i].plain >= 0)
				carry(&b->pairs[i]);
	}
}

/* --- Start and end --- */

static int listen_somewhere(int *port)
{
	struct sockaddr_in at  = { .sin_family = AF_INET };
	socklen_t          len = sizeof(at);
	int                fd  = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	cr_assert(fd >= 0 && bind(fd, (const struct sockaddr *)&at, sizeof(at)) == 0 &&
	                  listen(fd, TLS_BRIDGE_CONNECTIONS) == 0 && getsockname(fd, (struct sockaddr *)&at, &len) == 0,
	          "the bridge cannot listen: %s", strerror(errno));
	*port = ntohs(at.sin_port);
	return fd;
}

struct tls_bridge *tls_bridge_open(int *port, int to_port, const char *from, const char *cert_path, const char *name)
{
	struct tls_bridge *b = calloc(1, sizeof(*b));

	cr_assert_not_null(b);
	b->listener = listen_somewhere(port);
	b->stop_fd  = eventfd(0, EFD_CLOEXEC);
	b->to_port  = to_port;
	b->from     = inet_addr(from);
	snprintf(b->name, sizeof(b->name), "%s", name);
	b->ctx = SSL_CTX_new(TLS_client_method());
	cr_assert_eq(SSL_CTX_load_verify_locations(b->ctx, cert_path, NULL), 1, "no certificate in %s", cert_path);
	SSL_CTX_set_verify(b->ctx, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_mode(b->ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	for (size_t i = 0; i < TLS_BRIDGE_CONNECTIONS; i++)
		b->pairs[i].plain = b->pairs[i].tls = -1;
	signal(SIGPIPE, SIG_IGN); /* OpenSSL writes without MSG_NOSIGNAL */
	cr_assert_eq(pthread_create(&b->thread, NULL, run, b), 0);
	return b;
}

void tls_bridge_close(struct tls_bridge *b)
{
	uint64_t one = 1;

	cr_assert_eq(write(b->stop_fd, &one, sizeof(one)), (ssize_t)sizeof(one));
	pthread_join(b->thread, NULL);
	for (size_t i = 0; i < TLS_BRIDGE_CONNECTIONS; i++)
		if (b->pairs[i].plain >= 0)
			close_pair(&b->pairs[i]);
	SSL_CTX_free(b->ctx);
	close(b->listener);
	close(b->stop_fd);
	free(b);
}
