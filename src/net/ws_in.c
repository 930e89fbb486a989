/* Input of an open connection: frames, and what they mean. */
#include "net/ws_conn.h"

#include <stdlib.h>
#include <string.h>

#define BIT_MASK       0x80
#define STATUS_TOO_BIG 1009 /* RFC 6455, 7.4.1 */

/* Parts that say how long a message may be have clients that want to know why they were closed. */
static void on_too_big(struct ws_conn *c, int64_t now_ms)
{
	if (c->phase == WS_OPEN && c->handler->message_max)
		c->close_status = STATUS_TOO_BIG;
	ws_conn_close_after_peer(c, M_WS_CLOSED_TOO_BIG, now_ms);
}

static void on_event(struct ws_conn *c, const struct ws_input_event *e, int64_t now_ms)
{
	switch (e->what) {
	case WS_INPUT_MESSAGE:
		c->message_ms = 0;
		c->ws->traffic.messages_in++;
		if (c->phase == WS_OPEN)
			c->handler->message(c->data, e->data, e->len, now_ms);
		break;
	case WS_INPUT_PING:
		if (c->phase == WS_OPEN)
			ws_conn_put_pong(c, e->data, e->len, now_ms);
		break;
	case WS_INPUT_PONG:
		if (c->phase == WS_OPEN && c->handler->pong)
			c->handler->pong(c->data, e->data, e->len, now_ms);
		break;
	case WS_INPUT_CLOSE:
		ws_conn_close_after_peer(c, M_WS_CLOSED_PEER, now_ms);
		break;
	case WS_INPUT_BAD:
		ws_conn_close_after_peer(c, M_WS_CLOSED_PROTOCOL, now_ms);
		break;
	case WS_INPUT_TOO_BIG:
		on_too_big(c, now_ms);
		break;
	case WS_INPUT_NOMEM:
		ws_conn_close_after_peer(c, M_WS_CLOSED_MEMORY, now_ms);
		break;
	case WS_INPUT_MORE:
		break;
	}
}

static bool keep(struct ws_conn *c, const uint8_t *bytes, size_t len)
{
	uint8_t *more = realloc(c->kept, c->kept_len + len);

	if (!more)
		return false;
	memcpy(more + c->kept_len, bytes, len);
	c->kept = more;
	c->kept_len += len;
	ws_conn_count(c);
	return true;
}

/* As the frame that it would be from a client: what is kept is read like what comes. */
bool ws_conn_keep_message(struct ws_conn *c, const void *bytes, size_t len, bool is_text)
{
	static const uint8_t no_mask[4] = { 0 };
	uint8_t              head[WS_FRAME_HEAD_BYTES_MAX];
	size_t               head_len = ws_frame_head(head, is_text ? WS_TEXT : WS_BINARY, len);

	head[1] |= BIT_MASK;
	return keep(c, head, head_len) && keep(c, no_mask, sizeof(no_mask)) && keep(c, bytes, len);
}

size_t ws_conn_held(const struct ws_conn *c)
{
	return ws_input_held(&c->input) + c->kept_len;
}

static void on_frames(struct ws_conn *c, uint8_t *bytes, size_t len, int64_t now_ms)
{
	uint8_t              *at = bytes;
	struct ws_input_event e;

	do {
		e = ws_input_next(&c->input, &at, bytes + len);
		on_event(c, &e, now_ms);
	} while (e.what != WS_INPUT_MORE && !c->peer_closed && !c->is_paused && c->phase < WS_LINGER);
	if (c->peer_closed || c->phase >= WS_LINGER)
		return;
	if (c->is_paused) {
		if (at < bytes + len && !keep(c, at, (size_t)(bytes + len - at)))
			ws_conn_close_after_peer(c, M_WS_CLOSED_MEMORY, now_ms);
		return;
	}

	if (!ws_input_is_partial(&c->input)) {
		c->message_ms = 0;
	} else if (c->message_ms == 0) {
		c->message_ms = now_ms;
		ws_conn_wake_at(c, now_ms + c->ws->limits->ws_message_ms);
	}
	if (ws_conn_held(c) != c->held)
		ws_conn_count(c);
}

void ws_conn_on_kept(struct ws_conn *c, int64_t now_ms)
{
	uint8_t *bytes = c->kept;
	size_t   len   = c->kept_len;

	if (!bytes)
		return;
	c->kept     = NULL; /* another pause keeps what is left then */
	c->kept_len = 0;
	ws_conn_on_bytes(c, bytes, len, now_ms);
	ws_conn_count(c);
	free(bytes);
}

void ws_conn_on_bytes(struct ws_conn *c, uint8_t *bytes, size_t len, int64_t now_ms)
{
	if ((c->phase == WS_OPEN || c->phase == WS_CLOSING) && !c->peer_closed)
		on_frames(c, bytes, len, now_ms);
}
