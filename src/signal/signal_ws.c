/*
 * The relay over WebSocket: a message is a line without its LF. net/ws has a queue of its own, which knows no shares: it gets
 * a little at a time, and what does not fit waits in the peer's queue as it does for TCP.
 */
#include "net/ws.h"

#include "base/text.h"
#include "signal/signal_peer.h"

#include <string.h>

#define AHEAD_BYTES 16384 /* more is not handed over while so much waits there */
#define LOOKS       4     /* in the time of a stall: it is noticed a quarter late at most */

static const struct accept_socket socket_wanted = {
	.sndbuf_bytes = 32768, .keepalive_idle_s = 30, .keepalive_interval_s = 5, .keepalive_probes = 9
};

static void hand_over(struct signal_peer *p, int64_t now_ms);

static void on_drained(void *data, int64_t now_ms)
{
	struct signal_peer *p = data;

	p->waits_for_room = false;
	hand_over(p, now_ms);
}

/* Text where it is text, so that a web page or a tool need not look at bytes. */
static void send_line(struct signal_peer *p, const uint8_t *line, size_t len)
{
	if (text_is_utf8(line, len))
		ws_send_text(p->ws, line, len);
	else
		ws_send(p->ws, line, len);
	p->handed_bytes += len;
}

/* A peer that takes nothing is noticed by what waits in the end, which is in net/ws. */
static void watch(struct signal_peer *p, int64_t now_ms)
{
	struct signal_relay *r = p->relay;

	if (p->timer.at_ms)
		return;
	p->took_ms     = now_ms;
	p->taken_bytes = 0;
	timer_set(r->loop, &p->timer, now_ms + r->conf->limits.signal_stall_ms / LOOKS);
}

static void hand_over(struct signal_peer *p, int64_t now_ms)
{
	struct signal_queue *q = &p->state.queue;
	uint8_t              line[SIGNAL_LINE_MAX];

	while (!signal_queue_is_empty(q) && ws_conn_queued(p->ws) < AHEAD_BYTES)
		send_line(p, line, signal_take(&p->relay->state, &p->state, line));
	if (ws_conn_queued(p->ws) == 0)
		return;
	watch(p, now_ms);
	if (!signal_queue_is_empty(q) && !p->waits_for_room) {
		p->waits_for_room = true;
		ws_when_drained(p->ws, on_drained);
	}
}

/* What has gone to the kernel and not only into net/ws's queue; frames' heads are counted to what waits, which does no harm. */
void signal_ws_on_timer(struct signal_peer *p, int64_t now_ms)
{
	struct signal_relay *r      = p->relay;
	size_t               queued = ws_conn_queued(p->ws);
	uint64_t             taken  = p->handed_bytes > queued ? p->handed_bytes - queued : 1;

	if (queued == 0 || p->state.phase != SIGNAL_READY)
		return;
	if (taken != p->taken_bytes) {
		p->taken_bytes = taken;
		p->took_ms     = now_ms;
	} else if (now_ms >= p->took_ms + r->conf->limits.signal_stall_ms) {
		signal_peer_stall(p);
		return;
	}
	timer_set(r->loop, &p->timer, now_ms + r->conf->limits.signal_stall_ms / LOOKS);
}

static void challenge_ws(struct signal_peer *p)
{
	ws_send_text(p->ws, p->challenge, SIGNAL_CHALLENGE_BYTES);
}

static void wake_ws(struct signal_peer *p)
{
	hand_over(p, loop_now_ms(p->relay->loop));
}

static void flush_ws(struct signal_peer *p)
{
	ws_flush(p->ws);
	hand_over(p, loop_now_ms(p->relay->loop));
}

static void close_ws(struct signal_peer *p)
{
	ws_close(p->ws);
}

static void reset_ws(struct signal_peer *p)
{
	ws_reset(p->ws);
}

static const struct signal_lane websocket = { .name      = "websocket",
	                                      .kind      = "ws",
	                                      .challenge = challenge_ws,
	                                      .wake      = wake_ws,
	                                      .flush     = flush_ws,
	                                      .close     = close_ws,
	                                      .reset     = reset_ws };

static void *on_opened(void *part, struct ws_conn *c, int64_t now_ms)
{
	struct signal_peer *p =
		signal_peer_enter(part, &websocket, ws_conn_id(c), ws_conn_client(c), ws_conn_is_exempt(c), now_ms);

	if (!p)
		return NULL;
	p->ws = c;
	ws_set_socket(c, &socket_wanted);
	return p;
}

static void on_message(void *data, uint8_t *bytes, size_t len, int64_t now_ms)
{
	struct signal_peer *p = data;

	if (len > signal_line_max(&p->state) - 1)
		signal_peer_on_bad_line(p, SIGNAL_WHY_LONG);
	else if (memchr(bytes, '\n', len))
		signal_peer_on_bad_line(p, SIGNAL_WHY_BREAK);
	else
		signal_peer_on_line(p, bytes, len, now_ms);
}

static void on_closed(void *data, int64_t now_ms)
{
	struct signal_peer *p = data;

	signal_peer_on_closed(p, p->relay->is_stopping ? SIGNAL_END_SERVER : SIGNAL_END_PEER, now_ms);
}

void signal_ws_init(struct signal_relay *r)
{
	r->ws_handler =
		(struct ws_handler){ .part = r, .opened = on_opened, .message = on_message, .closed = on_closed };
}
