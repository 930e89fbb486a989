#include "soak_wire.h"

#include "soak.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { IN_BYTES_FIRST = 4096, IN_BYTES_MAX = 32 << 20, FIN = 0x80, MASKED = 0x80, LEN_16 = 126, LEN_64 = 127 };

/* --- Coming and going --- */

static bool is_ready(int fd, short events, int64_t until_ms)
{
	struct pollfd p       = { .fd = fd, .events = events };
	int64_t       left_ms = until_ms - soak_now_ms();

	return poll(&p, 1, left_ms > 0 ? (int)left_ms : 0) > 0;
}

static bool connect_to(struct soak_wire *w, int fd, const struct sockaddr *to, socklen_t len)
{
	int       error = 0, on = 1;
	socklen_t size = sizeof(error);

	*w = SOAK_WIRE_NONE;
	if (connect(fd, to, len) != 0 &&
	    (errno != EINPROGRESS || !is_ready(fd, POLLOUT, soak_now_ms() + SOAK_PATIENCE_MS) ||
	     getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0)) {
		close(fd);
		return false;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)); /* means nothing on a unix socket */
	w->fd = fd;
	soak.clients++;
	return true;
}

bool soak_dial(struct soak_wire *w, const char *from, uint16_t port, int rcvbuf_bytes)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	struct sockaddr_in to = { .sin_family = AF_INET,
		                  .sin_port   = htons(port),
		                  .sin_addr   = { htonl(INADDR_LOOPBACK) } };
	int                fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	*w = SOAK_WIRE_NONE;
	if (fd < 0)
		return false;
	if (rcvbuf_bytes > 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &rcvbuf_bytes, sizeof(rcvbuf_bytes));
	if (from &&
	    (inet_pton(AF_INET, from, &at.sin_addr) != 1 || bind(fd, (const struct sockaddr *)&at, sizeof(at)))) {
		close(fd);
		return false;
	}
	return connect_to(w, fd, (const struct sockaddr *)&to, sizeof(to));
}

bool soak_dial_unix(struct soak_wire *w, const char *path)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int                fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	*w = SOAK_WIRE_NONE;
	if (fd < 0)
		return false;
	snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
	return connect_to(w, fd, (const struct sockaddr *)&to, sizeof(to));
}

void soak_hang_up(struct soak_wire *w)
{
	if (w->fd >= 0) {
		close(w->fd);
		soak.clients--;
	}
	free(w->in);
	*w = SOAK_WIRE_NONE;
}

void soak_abort(struct soak_wire *w)
{
	struct linger hard = { .l_onoff = 1 };

	if (w->fd >= 0)
		setsockopt(w->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
	soak_hang_up(w);
}

/* --- Bytes --- */

bool soak_send(struct soak_wire *w, const void *data, size_t len)
{
	const uint8_t *at       = data;
	int64_t        until_ms = soak_now_ms() + SOAK_PATIENCE_MS;

	while (w->fd >= 0 && len > 0) {
		ssize_t n = send(w->fd, at, len, MSG_NOSIGNAL);

		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return false;
		if (n < 0 && !is_ready(w->fd, POLLOUT, until_ms))
			return false;
		if (n > 0) {
			at += n;
			len -= (size_t)n;
		}
	}
	return w->fd >= 0;
}

/* Room behind what has not been taken yet. */
static bool make_room(struct soak_wire *w, size_t wanted)
{
	if (w->in_at > 0) {
		memmove(w->in, w->in + w->in_at, w->in_len - w->in_at);
		w->in_len -= w->in_at;
		w->in_at = 0;
	}
	if (w->in_cap - w->in_len >= wanted)
		return true;

	size_t   cap = 2 * (w->in_len + wanted);
	uint8_t *in  = cap > 2 * IN_BYTES_MAX ? NULL : realloc(w->in, cap);

	if (!in)
		return false;
	w->in     = in;
	w->in_cap = cap;
	return true;
}

/* More bytes, at least one. */
static bool fill(struct soak_wire *w, int64_t until_ms)
{
	w->late = false;
	if (w->fd < 0 || !make_room(w, IN_BYTES_FIRST))
		return false;
	for (;;) {
		ssize_t n = recv(w->fd, w->in + w->in_len, w->in_cap - w->in_len, 0);

		if (n > 0) {
			w->in_len += (size_t)n;
			return true;
		}
		if (n == 0 || (errno != EAGAIN && errno != EINTR))
			return false;
		if (!is_ready(w->fd, POLLIN, until_ms)) {
			w->late = true;
			return false;
		}
	}
}

static size_t here(const struct soak_wire *w)
{
	return w->in_len - w->in_at;
}

const uint8_t *soak_take(struct soak_wire *w, size_t len, int ms)
{
	int64_t until_ms = soak_now_ms() + ms;

	while (here(w) < len)
		if (!fill(w, until_ms))
			return NULL;
	w->in_at += len;
	return w->in + w->in_at - len;
}

char *soak_line(struct soak_wire *w, int ms)
{
	int64_t  until_ms = soak_now_ms() + ms;
	uint8_t *end;

	while (here(w) == 0 || !(end = memchr(w->in + w->in_at, '\n', here(w))))
		if (!fill(w, until_ms))
			return NULL;

	char *line = (char *)w->in + w->in_at;

	*end     = '\0';
	w->in_at = (size_t)(end + 1 - w->in);
	return line;
}

bool soak_await_end(struct soak_wire *w, int ms)
{
	int64_t until_ms = soak_now_ms() + ms;

	do
		w->in_at = w->in_len;
	while (fill(w, until_ms));
	return !w->late;
}

/* --- WebSocket --- */

/* The head of an answer, which begins where in_at is: how long it is with its blank line; 0: it does not come. */
static size_t await_head(struct soak_wire *w, int64_t until_ms)
{
	uint8_t *end;

	while (here(w) < 4 || !(end = memmem(w->in + w->in_at, here(w), "\r\n\r\n", 4)))
		if (!fill(w, until_ms))
			return 0;
	return (size_t)(end + 4 - w->in) - w->in_at;
}

static int status_of(const uint8_t *head, size_t len)
{
	return len > 12 && memcmp(head, "HTTP/1.", 7) == 0 ? atoi((const char *)head + 9) : 0;
}

int soak_upgrade(struct soak_wire *w, const char *path, const char *address)
{
	char line[64] = "", head[512];

	if (address)
		snprintf(line, sizeof(line), "X-Forwarded-For: %s\r\n", address);

	int    len      = snprintf(head, sizeof(head),
	                           "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
	                                   "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n%s\r\n",
	                           path, line);
	size_t head_len = soak_send(w, head, (size_t)len) ? await_head(w, soak_now_ms() + SOAK_PATIENCE_MS) : 0;
	int    status   = head_len > 0 ? status_of(w->in + w->in_at, head_len) : 0;

	w->in_at += head_len;
	return status;
}

/* Masked with zeros: allowed, and nothing has to be turned over. */
bool soak_ws_say(struct soak_wire *w, int op, const void *data, size_t len)
{
	uint8_t head[14] = { (uint8_t)(FIN | op), (uint8_t)(MASKED | (len < LEN_16 ? len : LEN_16)) };
	size_t  head_len = len < LEN_16 ? 6 : 8;
	uint8_t small[512];

	head[2] = head_len == 8 ? (uint8_t)(len >> 8) : 0;
	head[3] = head_len == 8 ? (uint8_t)len : 0;
	if (head_len + len > sizeof(small))
		return soak_send(w, head, head_len) && soak_send(w, data, len);
	memcpy(small, head, head_len);
	if (len > 0)
		memcpy(small + head_len, data, len);
	return soak_send(w, small, head_len + len);
}

/* The next frame, whole, from in_at on: false when it does not come. Nothing is taken. */
static bool await_frame(struct soak_wire *w, size_t *head, size_t *len, int64_t until_ms)
{
	for (;;) {
		const uint8_t *p = w->in + w->in_at;

		*head = 2;
		if (here(w) >= 2) {
			*len = p[1] & (LEN_64);
			if (*len == LEN_64)
				return false;
			*head = *len == LEN_16 ? 4 : 2;
			if (*len == LEN_16)
				*len = here(w) >= 4 ? (size_t)p[2] << 8 | p[3] : 0;
			if (here(w) >= *head && here(w) - *head >= *len)
				return true;
		}
		if (!fill(w, until_ms))
			return false;
	}
}

struct soak_message soak_ws_hear(struct soak_wire *w, int ms)
{
	struct soak_message m        = { .op = SOAK_WS_NONE };
	int64_t             until_ms = soak_now_ms() + ms;
	size_t              head, len;

	while (await_frame(w, &head, &len, until_ms)) {
		const uint8_t *p  = w->in + w->in_at;
		int            op = p[0] & 15;

		w->in_at += head + len;
		if (op == SOAK_WS_PING)
			soak_ws_say(w, SOAK_WS_PONG, p + head, len);
		if (op == SOAK_WS_PING || op == SOAK_WS_PONG)
			continue;
		m = (struct soak_message){ .op = op, .data = p + head, .len = len };
		break;
	}
	return m;
}

/* --- HTTP --- */

static bool ask(struct soak_wire *w, const struct soak_ask *q)
{
	char address[64] = "", length[64] = "", head[1024];

	if (q->address)
		snprintf(address, sizeof(address), "X-Forwarded-For: %s\r\n", q->address);
	if (strcmp(q->method, "GET") != 0)
		snprintf(length, sizeof(length), "Content-Length: %zu\r\n", q->len);

	int len = snprintf(head, sizeof(head), "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s%s%s\r\n",
	                   q->method, q->path, length, address, q->fields ? q->fields : "");

	/* A server that refuses early may take only a part of the body, and still answers. */
	return soak_send(w, head, (size_t)len) && (soak_send(w, q->body, q->len) || q->len > 0);
}

/* An answer that does not come to its end is none. */
static bool is_whole(const struct soak_wire *w, size_t head)
{
	const char *length = NULL;

	for (size_t at = 0; !length && at + 16 < head; at++)
		if (strncasecmp((const char *)w->in + at, "\nContent-Length:", 16) == 0)
			length = (const char *)w->in + at + 16;
	return !w->late && (!length || strtoul(length, NULL, 10) == w->in_len - head);
}

void soak_http(struct soak_answer *out, const struct soak_ask *q)
{
	struct soak_wire w;
	int64_t          until_ms = soak_now_ms() + (q->patience_ms ? q->patience_ms : SOAK_PATIENCE_MS);

	*out = (struct soak_answer){ 0 };
	if (!(q->unix_path ? soak_dial_unix(&w, q->unix_path) : soak_dial(&w, NULL, q->port, 0)))
		return;

	size_t head = ask(&w, q) ? await_head(&w, until_ms) : 0;

	if (head > 0) {
		while (fill(&w, until_ms))
			;
		if (is_whole(&w, head) && make_room(&w, 1)) {
			w.in[w.in_len] = 0;
			*out           = (struct soak_answer){ .status   = status_of(w.in, head),
				                               .text     = (char *)w.in,
				                               .body     = (char *)w.in + head,
				                               .body_len = w.in_len - head };
			w.in           = NULL;
		}
	}
	soak_hang_up(&w);
}

void soak_answer_fini(struct soak_answer *a)
{
	free(a->text);
	*a = (struct soak_answer){ 0 };
}

bool soak_json(char *out, size_t cap, const char *json, const char *key)
{
	char quoted[48];

	snprintf(quoted, sizeof(quoted), "\"%s\":", key);

	const char *at = json ? strstr(json, quoted) : NULL;

	if (!at)
		return false;
	at += strlen(quoted);

	bool   text = *at == '"';
	size_t len  = strcspn(at + text, text ? "\"" : ",}]");

	if (len >= cap)
		return false;
	memcpy(out, at + text, len);
	out[len] = '\0';
	return true;
}
