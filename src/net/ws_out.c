/* Output of a connection: queued when it arises, sent once at the end of the turn. */
#include "net/ws_conn.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#define EARLY_BYTES (256 * 1024) /* so much is not left waiting for the end of the turn */
#define TAG_PONG    UINT32_MAX   /* tags of callers may be the same: dropping a pong with them is no loss */

void ws_conn_set_dirty(struct ws_conn *c)
{
	if (list_is_empty(&c->in_dirty))
		list_append(&c->ws->dirty, &c->in_dirty);
}

static struct ws_conn *largest(struct ws *ws, size_t offset)
{
	struct ws_conn *found = NULL;
	size_t          most  = 0;

	for (struct list *at = ws->conns.next; at != &ws->conns; at = at->next) {
		struct ws_conn *c    = CONTAINER(at, struct ws_conn, in_conns);
		size_t          size = *(const size_t *)(const void *)((const char *)c + offset);

		if (size > most) {
			most  = size;
			found = c;
		}
	}
	return found;
}

void ws_conn_count(struct ws_conn *c)
{
	struct ws *ws     = c->ws;
	size_t     queued = ws_queue_bytes(&c->queue);
	size_t     held   = c->phase == WS_GONE ? 0 : ws_conn_held(c);

	ws->output_bytes += queued - c->queued;
	ws->input_bytes += held - c->held;
	c->queued = queued;
	c->held   = held;

	if (ws->output_bytes > (size_t)ws->limits->ws_output_total)
		ws_conn_end(largest(ws, offsetof(struct ws_conn, queued)), M_WS_CLOSED_OUTPUT_BUDGET, true);
	if (ws->input_bytes > (size_t)ws->limits->ws_input_total)
		ws_conn_end(largest(ws, offsetof(struct ws_conn, held)), M_WS_CLOSED_INPUT_BUDGET, true);
}

static void after_put(struct ws_conn *c)
{
	ws_conn_set_dirty(c);
	ws_conn_count(c);
	if (c->queued > EARLY_BYTES && !c->is_stuck)
		ws_conn_flush(c, loop_now_ms(c->ws->loop));
}

void ws_conn_count_dropped(struct ws_conn *c, const struct ws_dropped *dropped)
{
	if (dropped->full + dropped->old == 0)
		return;
	metric_add(M_WS_DROPPED_FULL, (int64_t)dropped->full);
	metric_add(M_WS_DROPPED_OLD, (int64_t)dropped->old);
	if (c->handler && c->handler->lost && c->data)
		c->handler->lost(c->data, dropped->full + dropped->old);
}

/* A whole frame among the control messages. */
static bool put_control(struct ws_conn *c, enum ws_opcode opcode, const void *data, size_t len)
{
	uint8_t  head[WS_FRAME_HEAD_BYTES_MAX];
	size_t   head_len = ws_frame_head(head, opcode, len);
	uint8_t *at       = ws_queue_put_control(&c->queue, head_len + len);

	if (!at)
		return false;
	memcpy(at, head, head_len);
	if (len > 0)
		memcpy(at + head_len, data, len);
	c->ws->traffic.messages_out += opcode == WS_TEXT || opcode == WS_BINARY;
	return true;
}

static void send_frame(struct ws_conn *c, enum ws_opcode opcode, const void *data, size_t len)
{
	if (c->phase != WS_OPEN)
		return;
	if (put_control(c, opcode, data, len))
		after_put(c);
	else
		ws_conn_close(c, M_WS_CLOSED_CONTROL_FULL, loop_now_ms(c->ws->loop));
}

void ws_send(struct ws_conn *c, const void *data, size_t len)
{
	assert(len > 0); /* clients take an empty message for a broken connection */
	send_frame(c, WS_BINARY, data, len);
}

void ws_send_text(struct ws_conn *c, const void *data, size_t len)
{
	assert(len > 0);
	send_frame(c, WS_TEXT, data, len);
}

void ws_flush(struct ws_conn *c)
{
	ws_conn_flush(c, loop_now_ms(c->ws->loop));
}

/* Its bytes lie in the block behind the room for the longest head. A frame of the server has no mask. */

static struct ws_block *block_of(struct ws_buffer *b)
{
	return (struct ws_block *)(void *)b;
}

struct ws_buffer *ws_buffer_take(struct ws_conn *c, size_t bytes)
{
	return (struct ws_buffer *)(void *)ws_block_take(&c->ws->blocks, WS_FRAME_HEAD_BYTES_MAX + bytes);
}

uint8_t *ws_buffer_bytes(struct ws_buffer *b)
{
	return block_of(b)->data + WS_FRAME_HEAD_BYTES_MAX;
}

void ws_buffer_free(struct ws_buffer *b)
{
	free(b);
}

void ws_send_buffer(struct ws_conn *c, struct ws_buffer *b, size_t len)
{
	uint8_t          head[WS_FRAME_HEAD_BYTES_MAX];
	uint32_t         head_len = (uint32_t)ws_frame_head(head, WS_BINARY, len);
	uint32_t         begin    = WS_FRAME_HEAD_BYTES_MAX - head_len;
	struct ws_block *block    = block_of(b);

	assert(len > 0 && WS_FRAME_HEAD_BYTES_MAX + len <= block->cap);
	memcpy(block->data + begin, head, head_len);
	if (c->phase != WS_OPEN) {
		ws_block_free(&c->ws->blocks, block);
	} else if (ws_block_put(&c->queue, block, begin, WS_FRAME_HEAD_BYTES_MAX + (uint32_t)len)) {
		c->ws->traffic.messages_out++;
		after_put(c);
	} else {
		ws_conn_close(c, M_WS_CLOSED_CONTROL_FULL, loop_now_ms(c->ws->loop));
	}
}

static bool put_datagram(struct ws_conn *c, enum ws_opcode opcode, uint32_t tag, struct iovec parts[2], int64_t now_ms)
{
	uint8_t           head[WS_FRAME_HEAD_BYTES_MAX];
	size_t            len      = parts[0].iov_len + parts[1].iov_len;
	size_t            head_len = ws_frame_head(head, opcode, len);
	struct ws_dropped dropped  = { 0 };
	uint8_t          *at       = ws_queue_put_datagram(&c->queue, head_len + len, tag, now_ms, &dropped);

	ws_conn_count_dropped(c, &dropped);
	if (!at) {
		metric_inc(M_WS_DROPPED_FULL);
		return false;
	}
	memcpy(at, head, head_len);
	at += head_len;
	for (size_t i = 0; i < 2; i++)
		if (parts[i].iov_len > 0) {
			memcpy(at, parts[i].iov_base, parts[i].iov_len);
			at += parts[i].iov_len;
		}
	c->ws->traffic.messages_out += opcode == WS_BINARY;
	after_put(c);
	return true;
}

static struct iovec part(const void *data, size_t len)
{
	return (struct iovec){ .iov_base = (void *)(uintptr_t)data, .iov_len = len };
}

bool ws_send_datagram(struct ws_conn *c, uint32_t tag, const void *head, size_t head_len, const void *body,
                      size_t body_len)
{
	struct iovec parts[2] = { part(head, head_len), part(body, body_len) };

	assert(head_len + body_len > 0);
	return c->phase == WS_OPEN && put_datagram(c, WS_BINARY, tag, parts, loop_now_ms(c->ws->loop));
}

void ws_drop_tag(struct ws_conn *c, uint32_t tag)
{
	metric_add(M_WS_DROPPED_GONE, (int64_t)ws_queue_drop_tag(&c->queue, tag));
	ws_conn_count(c);
}

size_t ws_conn_queued(const struct ws_conn *c)
{
	return ws_queue_bytes(&c->queue);
}

void ws_conn_put_pong(struct ws_conn *c, const uint8_t *payload, size_t len, int64_t now_ms)
{
	struct iovec parts[2] = { part(payload, len), part(NULL, 0) };

	put_datagram(c, WS_PONG, TAG_PONG, parts, now_ms);
}

void ws_conn_put_ping(struct ws_conn *c)
{
	if (put_control(c, WS_PING, NULL, 0))
		after_put(c);
}

void ws_ping(struct ws_conn *c, const void *payload, size_t len)
{
	assert(len <= WS_FRAME_CONTROL_BYTES_MAX);
	send_frame(c, WS_PING, payload, len);
}

static bool put_close(struct ws_conn *c)
{
	uint8_t status[2] = { (uint8_t)(c->close_status >> 8), (uint8_t)c->close_status };

	return put_control(c, WS_CLOSE, status, c->close_status ? sizeof(status) : 0);
}

/* Hands the queue to the wire. False when that was the connection's end, or the wire took no more. */
static bool write_queue(struct ws_conn *c, int64_t now_ms)
{
	size_t  before = ws_queue_bytes(&c->queue);
	ssize_t n      = c->wire->write(c);

	if (ws_queue_bytes(&c->queue) < before)
		c->sent_ms = now_ms;
	c->ws->traffic.bytes_out += (int64_t)(before - ws_queue_bytes(&c->queue));
	ws_conn_count(c);
	if (n == WIRE_BROKEN)
		ws_conn_end(c, M_WS_CLOSED_PEER, false);
	if (c->phase == WS_GONE)
		return false;
	c->is_stuck = n == WIRE_AGAIN;
	ws_conn_watch_wire(c);
	if (c->phase == WS_GONE)
		return false;
	if (c->is_stuck)
		ws_conn_wake_at(c, now_ms + c->ws->limits->ws_backlog_ms);
	return !c->is_stuck;
}

void ws_conn_flush(struct ws_conn *c, int64_t now_ms)
{
	if (c->phase >= WS_OPEN && c->phase < WS_LINGER && !c->watched)
		ws_conn_take_wire(c, now_ms);
	if (c->phase == WS_GONE || c->is_stuck)
		return;

	/* The close frame goes behind all that waited when the close was asked for; mostly that is one write. */
	bool want_close = c->phase == WS_CLOSING && !c->close_queued;

	if (want_close && c->queue.datagrams.bytes == 0)
		c->close_queued = put_close(c);
	if (!write_queue(c, now_ms))
		return;
	if (want_close && !c->close_queued) {
		c->close_queued = put_close(c);
		if (!c->close_queued)
			ws_conn_end(c, M_WS_CLOSED_MEMORY, true);
		else if (!write_queue(c, now_ms))
			return;
	}
	if (c->phase == WS_CLOSING && c->peer_closed)
		ws_conn_linger(c, now_ms);
}

void ws_when_drained(struct ws_conn *c, void (*drained)(void *data, int64_t now_ms))
{
	c->drained = drained;
	ws_conn_set_dirty(c);
}

void ws_conn_tell_drained(struct ws_conn *c, int64_t now_ms)
{
	void (*drained)(void *data, int64_t now_ms) = c->drained;

	if (!drained || c->phase != WS_OPEN || c->queue.control.bytes > 0)
		return;
	c->drained = NULL;
	drained(c->data, now_ms);
}
