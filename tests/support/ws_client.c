/*
 * Frames go through one growing input buffer; an event points into it. The key of the handshake and the mask of the
 * frames are constants: nothing here needs to be unpredictable, and a trace can be compared with the last one.
 */
#include "support/ws_client.h"

#include <criterion/criterion.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define KEY    "dGhlIHNhbXBsZSBub25jZQ==" /* key and answer are the example of RFC 6455 */
#define ACCEPT "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

#define HEAD_BYTES_MAX 8192
#define ROOM_BYTES     65536

static const struct ws_client_options no_options;

/* What a failed test leaves open is still known here, so that no leak is reported on top of the failure. */
static struct ws_client *clients;
static pthread_mutex_t   clients_lock = PTHREAD_MUTEX_INITIALIZER; /* some tests have clients on several threads */

struct ws_client *ws_client_dial(int port, const struct ws_client_options *options)
{
	struct ws_client *c = calloc(1, sizeof(*c));

	if (!options)
		options = &no_options;
	cr_assert_not_null(c, "memory for a client");
	c->fd         = options->unix_path
	                        ? dial_unix(options->unix_path)
	                        : dial_tcp_to(options->to ? options->to : "127.0.0.1", port, NULL, options->rcvbuf_bytes);
	c->mute       = options->mute;
	c->takes_text = options->takes_text;
	if (c->fd < 0) {
		free(c);
		cr_assert_fail("nobody listens on %s:%d",
		               options->unix_path ? options->unix_path
		               : options->to      ? options->to
		                                  : "127.0.0.1",
		               port);
	}
	pthread_mutex_lock(&clients_lock);
	c->next = clients;
	clients = c;
	pthread_mutex_unlock(&clients_lock);
	return c;
}

void ws_client_free(struct ws_client *c)
{
	struct ws_client **at = &clients;

	if (!c)
		return;
	pthread_mutex_lock(&clients_lock);
	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	pthread_mutex_unlock(&clients_lock);
	if (c->fd >= 0)
		close(c->fd);
	free(c->in);
	free(c);
}

/* Reads once. What dial_read says. */
static ssize_t fill(struct ws_client *c, int64_t deadline_ms)
{
	if (c->in_at > 0)
		memmove(c->in, c->in + c->in_at, c->in_len - c->in_at);
	c->in_len -= c->in_at;
	c->in_at = 0;
	if (c->in_cap - c->in_len < ROOM_BYTES / 2) {
		c->in_cap += ROOM_BYTES;
		c->in = realloc(c->in, c->in_cap);
		cr_assert_not_null(c->in, "memory for what the server sends");
	}

	ssize_t got = dial_read(c->fd, c->in + c->in_len, c->in_cap - c->in_len, deadline_ms);

	if (got > 0)
		c->in_len += (size_t)got;
	return got;
}

/* The value of a header line of this name in the head, or NULL. It ends at a CR. */
static const char *find_header(const char *head, const char *name)
{
	size_t len = strlen(name);

	for (const char *line = strstr(head, "\r\n"); line; line = strstr(line + 2, "\r\n"))
		if (strncasecmp(line + 2, name, len) == 0 && line[2 + len] == ':')
			return line + 2 + len + 1 + strspn(line + 2 + len + 1, " ");
	return NULL;
}

/* A 101 must prove that it read the key, and must not offer what nobody asked for. */
static void check_switch(const char *head, const char *subprotocol)
{
	const char *accept = find_header(head, "Sec-WebSocket-Accept");
	const char *chosen = find_header(head, "Sec-WebSocket-Protocol");

	cr_assert(accept && strncmp(accept, ACCEPT "\r", sizeof(ACCEPT)) == 0, "wrong Sec-WebSocket-Accept in:\n%s",
	          head);
	cr_assert_null(find_header(head, "Sec-WebSocket-Extensions"), "an extension in:\n%s", head);
	if (!subprotocol)
		cr_assert_null(chosen, "a subprotocol in:\n%s", head);
	else
		cr_assert(chosen && strcspn(chosen, "\r") == strlen(subprotocol) &&
		                  strncmp(chosen, subprotocol, strlen(subprotocol)) == 0,
		          "not the subprotocol %s in:\n%s", subprotocol, head);
}

/* Reads the head of the answer into out; its status, 0 at the end of TCP, -1 when nothing came. */
static int read_head(struct ws_client *c, char out[HEAD_BYTES_MAX])
{
	int64_t deadline_ms = real_now_ms() + DIAL_PATIENCE_MS;
	int     status;

	for (;;) {
		const uint8_t *end = c->in_len ? memmem(c->in, c->in_len, "\r\n\r\n", 4) : NULL;

		if (end) {
			size_t len = (size_t)(end + 4 - c->in);

			cr_assert_lt(len, HEAD_BYTES_MAX, "an answer with a head of %zu bytes", len);
			memcpy(out, c->in, len);
			out[len] = '\0';
			c->in_at = len;
			return sscanf(out, "HTTP/1.%*c %3d", &status) == 1 ? status : 0;
		}
		ssize_t got = fill(c, deadline_ms);

		if (got <= 0)
			return got == DIAL_LATE ? -1 : 0;
	}
}

int ws_client_upgrade(struct ws_client *c, const struct ws_client_options *o)
{
	char request[HEAD_BYTES_MAX];
	char answer[HEAD_BYTES_MAX];

	if (!o)
		o = &no_options;
	const char *host = o->host ? o->host : "127.0.0.1";
	int         len  = snprintf(request, sizeof(request),
	                            "GET %s HTTP/1.1\r\n%s%s%sUpgrade: websocket\r\nConnection: Upgrade\r\n"
	                                     "Sec-WebSocket-Key: " KEY "\r\nSec-WebSocket-Version: 13\r\nUser-Agent: %s\r\n%s\r\n",
                           o->path ? o->path : "/", *host ? "Host: " : "", host, *host ? "\r\n" : "",
                           o->user_agent ? o->user_agent : "CrysisCoop/2", o->headers ? o->headers : "");

	cr_assert(len > 0 && (size_t)len < sizeof(request), "the test's own upgrade is too long");
	ws_client_send_raw(c, request, (size_t)len);
	int status = read_head(c, answer);

	if (status == 101)
		check_switch(answer, o->subprotocol);
	return status;
}

struct ws_client *ws_client_open(int port, const struct ws_client_options *options)
{
	struct ws_client *c      = ws_client_dial(port, options);
	int               status = ws_client_upgrade(c, options);

	if (status != 101) {
		ws_client_free(c);
		cr_assert_fail("the upgrade on port %d was answered with %d", port, status);
	}
	return c;
}

bool ws_client_send_raw(struct ws_client *c, const void *data, size_t len)
{
	return c->fd >= 0 && dial_send(c->fd, data, len, DIAL_PATIENCE_MS);
}

static size_t write_head(uint8_t out[14], unsigned first_byte, bool masked, uint64_t len)
{
	size_t  at   = 1;
	uint8_t mask = masked ? 0x80 : 0;

	out[0] = (uint8_t)first_byte;
	if (len < 126) {
		out[at++] = (uint8_t)(mask | len);
	} else if (len < 65536) {
		out[at++] = mask | 126;
		out[at++] = (uint8_t)(len >> 8);
		out[at++] = (uint8_t)len;
	} else {
		out[at++] = mask | 127;
		for (int shift = 56; shift >= 0; shift -= 8)
			out[at++] = (uint8_t)(len >> shift);
	}
	return at;
}

bool ws_client_send_frame(struct ws_client *c, unsigned first_byte, bool masked, const void *data, size_t len)
{
	static const uint8_t mask[4] = { 0x37, 0xfa, 0x21, 0x3d };
	const uint8_t       *payload = data;
	uint8_t             *frame   = malloc(14 + len);

	cr_assert_not_null(frame, "memory for a frame");
	size_t at = write_head(frame, first_byte, masked, len);

	if (masked) {
		memcpy(frame + at, mask, sizeof(mask));
		at += sizeof(mask);
	}
	for (size_t i = 0; i < len; i++)
		frame[at + i] = masked ? payload[i] ^ mask[i % 4] : payload[i];
	bool sent = ws_client_send_raw(c, frame, at + len);

	free(frame);
	return sent;
}

bool ws_client_send_head(struct ws_client *c, unsigned first_byte, uint64_t claimed_len)
{
	uint8_t head[18] = { 0 };
	size_t  len      = write_head(head, first_byte, true, claimed_len);

	return ws_client_send_raw(c, head, len + 4);
}

bool ws_client_send_bytes(struct ws_client *c, const void *data, size_t len)
{
	return ws_client_send_frame(c, WS_CLIENT_FINAL | WS_CLIENT_BINARY, true, data, len);
}

bool ws_client_send_pattern(struct ws_client *c, const struct pattern *p)
{
	cr_assert(!p->overflow, "the test's own message is too long");
	return ws_client_send_bytes(c, p->value, p->len);
}

bool ws_client_send(struct ws_client *c, const char *pattern)
{
	struct pattern p;

	pattern_read(&p, pattern);
	return ws_client_send_pattern(c, &p);
}

bool ws_client_ping(struct ws_client *c, const char *payload)
{
	return ws_client_send_frame(c, WS_CLIENT_FINAL | WS_CLIENT_PING, true, payload, strlen(payload));
}

bool ws_client_close(struct ws_client *c, int status)
{
	uint8_t payload[2] = { (uint8_t)(status >> 8), (uint8_t)status };

	c->close_sent = true;
	return ws_client_send_frame(c, WS_CLIENT_FINAL | WS_CLIENT_CLOSE, true, payload, status ? 2 : 0);
}

void ws_client_drop(struct ws_client *c)
{
	if (c->fd >= 0)
		dial_abort(c->fd);
	c->fd = -1;
}

/* The first frame in the buffer, if it is complete: where its payload is. */
static bool take_frame(struct ws_client *c, uint8_t *first_byte, uint8_t **payload, uint64_t *len)
{
	uint8_t *in   = c->in + c->in_at;
	size_t   left = c->in_len - c->in_at;
	size_t   head = 2;

	if (left < 2)
		return false;
	*len = in[1] & 0x7f;
	if (*len >= 126) {
		size_t digits = *len == 126 ? 2 : 8;

		if (left < 2 + digits)
			return false;
		*len = 0;
		for (size_t i = 0; i < digits; i++)
			*len = *len << 8 | in[head++];
	}
	*first_byte = in[0];
	*payload    = in + head;
	if (in[1] & 0x80 || *len > INT32_MAX)
		return true; /* nonsense already; what follows does not matter */
	if (left - head < *len)
		return false;
	c->used = head + (size_t)*len;
	return true;
}

static struct ws_client_event understand(struct ws_client *c, uint8_t first_byte, const uint8_t *payload, size_t len)
{
	struct ws_client_event e = { .what = WS_NONSENSE, .data = payload, .len = len };

	if (c->used == 0) { /* masked, or longer than anything */
		e.len = 0;
		return e;
	}
	e.is_text = first_byte == (WS_CLIENT_FINAL | WS_CLIENT_TEXT);
	if ((first_byte == (WS_CLIENT_FINAL | WS_CLIENT_BINARY) || (e.is_text && c->takes_text)) && len > 0)
		e.what = WS_MESSAGE;
	else if (first_byte == (WS_CLIENT_FINAL | WS_CLIENT_PING) && len < 126)
		e.what = WS_PING;
	else if (first_byte == (WS_CLIENT_FINAL | WS_CLIENT_PONG) && len < 126)
		e.what = WS_PONG;
	else if (first_byte == (WS_CLIENT_FINAL | WS_CLIENT_CLOSE) && len < 126 && len != 1)
		e.what = WS_CLOSED;
	if (e.what == WS_CLOSED && len >= 2)
		e.status = payload[0] << 8 | payload[1];
	return e;
}

/* What a well-behaved client does by itself. True when the event is dealt with. */
static bool answer(struct ws_client *c, const struct ws_client_event *e)
{
	if (c->mute)
		return false;
	if (e->what == WS_CLOSED && !c->close_sent)
		ws_client_close(c, 0);
	if (e->what == WS_PING)
		ws_client_send_frame(c, WS_CLIENT_FINAL | WS_CLIENT_PONG, true, e->data, e->len);
	return e->what == WS_PING;
}

struct ws_client_event ws_client_receive(struct ws_client *c, int patience_ms)
{
	int64_t  deadline_ms = real_now_ms() + patience_ms;
	uint8_t  first_byte;
	uint8_t *payload;
	uint64_t len;

	for (;;) {
		c->in_at += c->used;
		c->used = 0;
		if (take_frame(c, &first_byte, &payload, &len)) {
			struct ws_client_event e = understand(c, first_byte, payload, (size_t)len);

			if (!answer(c, &e))
				return e;
			continue;
		}
		if (c->fd < 0)
			return (struct ws_client_event){ .what = WS_END };
		ssize_t got = fill(c, deadline_ms);

		if (got == DIAL_LATE)
			return (struct ws_client_event){ .what = WS_SILENCE };
		if (got <= 0) { /* our side goes too: a server may wait for that before it forgets the connection */
			close(c->fd);
			c->fd = -1;
			return (struct ws_client_event){ .what = WS_END, .reset = got == DIAL_RESET };
		}
	}
}

const char *ws_client_show(char *out, size_t cap, const struct ws_client_event *e)
{
	char bytes[400];

	bytes_show(bytes, sizeof(bytes), e->data, e->data ? e->len : 0);
	switch (e->what) {
	case WS_MESSAGE:
		snprintf(out, cap, "message %s (%zu bytes)", bytes, e->len);
		break;
	case WS_PING:
		snprintf(out, cap, "ping %s", bytes);
		break;
	case WS_PONG:
		snprintf(out, cap, "pong %s", bytes);
		break;
	case WS_CLOSED:
		snprintf(out, cap, "close frame, status %d", e->status);
		break;
	case WS_END:
		snprintf(out, cap, e->reset ? "reset of TCP" : "end of TCP");
		break;
	case WS_SILENCE:
		snprintf(out, cap, "nothing");
		break;
	case WS_NONSENSE:
		snprintf(out, cap, "a frame no server may send: %s", bytes);
		break;
	}
	return out;
}

void ws_expect_pattern_at(const char *file, int line, struct ws_client *c, const struct pattern *p)
{
	struct ws_client_event e = ws_client_receive(c, DIAL_PATIENCE_MS);
	char                   wanted[400], got[500];

	if (e.what != WS_MESSAGE || !pattern_matches(p, e.data, e.len))
		cr_assert_fail("%s:%d: expected message %s (%zu bytes)\n     got %s", file, line,
		               pattern_show(wanted, sizeof(wanted), p), p->len, ws_client_show(got, sizeof(got), &e));
}

void ws_expect_at(const char *file, int line, struct ws_client *c, const char *pattern)
{
	struct pattern p;

	pattern_read(&p, pattern);
	ws_expect_pattern_at(file, line, c, &p);
}

void ws_expect_nothing_at(const char *file, int line, struct ws_client *c, int real_ms)
{
	struct ws_client_event e = ws_client_receive(c, real_ms);
	char                   got[500];

	if (e.what != WS_SILENCE)
		cr_assert_fail("%s:%d: expected nothing, got %s", file, line, ws_client_show(got, sizeof(got), &e));
}

void ws_expect_pong_at(const char *file, int line, struct ws_client *c, const char *payload)
{
	struct ws_client_event e = ws_client_receive(c, DIAL_PATIENCE_MS);
	char                   got[500];

	if (e.what != WS_PONG || e.len != strlen(payload) || memcmp(e.data, payload, e.len) != 0)
		cr_assert_fail("%s:%d: expected pong \"%s\", got %s", file, line, payload,
		               ws_client_show(got, sizeof(got), &e));
}

void ws_expect_closed_at(const char *file, int line, struct ws_client *c)
{
	struct ws_client_event e = ws_client_receive(c, DIAL_PATIENCE_MS);
	char                   got[500];

	if (e.what != WS_CLOSED || e.len != 0)
		cr_assert_fail("%s:%d: expected an empty close frame, got %s", file, line,
		               ws_client_show(got, sizeof(got), &e));
	e = ws_client_receive(c, DIAL_PATIENCE_MS);
	if (e.what != WS_END)
		cr_assert_fail("%s:%d: expected the end of TCP behind the close frame, got %s", file, line,
		               ws_client_show(got, sizeof(got), &e));
}

void ws_expect_end_at(const char *file, int line, struct ws_client *c)
{
	int64_t                deadline_ms = real_now_ms() + DIAL_PATIENCE_MS;
	struct ws_client_event e;

	do
		e = ws_client_receive(c, (int)(deadline_ms - real_now_ms()));
	while (e.what != WS_END && e.what != WS_SILENCE && e.what != WS_NONSENSE);
	if (e.what != WS_END) {
		char got[500];

		cr_assert_fail("%s:%d: expected the end of the connection, got %s", file, line,
		               ws_client_show(got, sizeof(got), &e));
	}
}
