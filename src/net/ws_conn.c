/* The life of a connection: phases, deadlines, the end. */
#include "net/ws_conn.h"

#include "base/auto.h"
#include "os/log.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

uint64_t ws_conn_id(const struct ws_conn *c)
{
	return c->id;
}

const struct addr *ws_conn_client(const struct ws_conn *c)
{
	return &c->client;
}

bool ws_conn_is_forwarded(const struct ws_conn *c)
{
	return c->is_forwarded;
}

bool ws_conn_is_exempt(const struct ws_conn *c)
{
	return c->is_exempt;
}

const struct ws_caller *ws_conn_caller(const struct ws_conn *c)
{
	return c->caller;
}

void ws_conn_wake_at(struct ws_conn *c, int64_t at_ms)
{
	/*
	 * A timer that comes too early finds nothing to do and is set anew; moving it back each time would cost more.
	 */
	if (c->phase != WS_GONE && (c->timer.at_ms == 0 || at_ms < c->timer.at_ms))
		timer_set(c->ws->loop, &c->timer, at_ms);
}

/* When it has to be looked at next. */
static int64_t next_look_ms(const struct ws_conn *c, int64_t now_ms)
{
	const struct limits *l    = c->ws->limits;
	int64_t              next = c->deadline_ms ? c->deadline_ms : INT64_MAX;

	if (c->phase == WS_OPEN && c->sent_ms + l->ws_ping_ms < next)
		next = c->sent_ms + l->ws_ping_ms;
	if (c->message_ms && !c->is_paused && c->message_ms + l->ws_message_ms < next)
		next = c->message_ms + l->ws_message_ms;
	if (c->is_stuck && now_ms + l->ws_backlog_ms < next)
		next = now_ms + l->ws_backlog_ms;
	return next;
}

/* Whoever waits that long for a datagram is better served with a new one. */
static void drop_old(struct ws_conn *c, int64_t now_ms)
{
	struct ws_dropped dropped = { .old = ws_queue_drop_old(&c->queue, now_ms) };

	ws_conn_count_dropped(c, &dropped);
	ws_conn_count(c);
}

static void on_deadline(struct ws_conn *c)
{
	if (c->phase == WS_HEAD) {
		ws_conn_end(c, M_WS_CLOSED_UPGRADE_LATE, false);
	} else {
		metric_inc(M_WS_RESET_CLOSE_LATE);
		ws_conn_end(c, M_WS_CLOSED_SERVER, true);
	}
}

static void on_timer(struct timer *t, int64_t now_ms)
{
	struct ws_conn      *c = CONTAINER(t, struct ws_conn, timer);
	const struct limits *l = c->ws->limits;

	if (c->phase == WS_GONE)
		return;
	if (c->deadline_ms && now_ms >= c->deadline_ms) {
		on_deadline(c);
		return;
	}
	if (c->message_ms && !c->is_paused && now_ms >= c->message_ms + l->ws_message_ms) {
		c->message_ms = 0;
		ws_conn_close(c, M_WS_CLOSED_SLOW_MESSAGE, now_ms);
	}
	if (c->is_stuck)
		drop_old(c, now_ms);
	if (c->phase == WS_OPEN && now_ms >= c->sent_ms + l->ws_ping_ms) {
		/* Who is stuck gets none: they would only pile up. */
		c->sent_ms = now_ms;
		if (!c->is_stuck)
			ws_conn_put_ping(c);
	}
	ws_conn_wake_at(c, next_look_ms(c, now_ms));
}

struct ws_conn *ws_conn_new(struct ws *ws, int fd, const struct addr *peer, int64_t now_ms)
{
	struct ws_conn *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->fd          = fd;
	c->ws          = ws;
	c->wire        = &ws_wire_plain;
	c->id          = accept_next_id();
	c->peer        = *peer;
	c->client      = *peer;
	c->sent_ms     = now_ms;
	c->deadline_ms = now_ms + ws->limits->ws_upgrade_ms;
	ws_queue_init(&c->queue, &ws->blocks, &ws->queue_limits);
	ws_input_init(&c->input, WS_MESSAGE_BYTES_MAX);
	timer_init(&c->timer, on_timer);
	list_init(&c->in_dirty);
	list_init(&c->in_ended);
	list_init(&c->in_door);
	list_append(&ws->conns, &c->in_conns);
	ws->conn_count++;
	metric_inc(M_WS_CONNECTIONS);
	metric_inc(M_WS_ACCEPTED);
	ws_conn_wake_at(c, c->deadline_ms);
	return c;
}

void ws_conn_watch(struct ws_conn *c, uint32_t events)
{
	struct epoll_event e      = { .events = events, .data.ptr = c };
	int                change = !events ? EPOLL_CTL_DEL : c->watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;

	if (c->watched == events)
		return;
	if (epoll_ctl(c->ws->epoll_fd, change, c->fd, &e) == 0)
		c->watched = events;
	else
		ws_conn_end(c, M_WS_CLOSED_MEMORY, true);
}

void ws_conn_watch_wire(struct ws_conn *c)
{
	bool reads  = !c->is_paused && !c->needs_room;
	bool writes = c->is_stuck || c->needs_room;

	/* EPOLLERR comes unasked: it stands for nothing else. */
	ws_conn_watch(c, EPOLLERR | (reads ? EPOLLIN : 0) | (writes ? EPOLLOUT : 0));
}

/* TLS may hold bytes that it has decrypted already, which do not make the socket readable. */
static bool holds_input(const struct ws_conn *c)
{
	return c->phase != WS_GONE && !c->is_paused && c->wire->holds && c->wire->holds(c);
}

static void read_some(struct ws_conn *c, int64_t now_ms)
{
	struct ws *ws = c->ws;

	do {
		ssize_t n = c->wire->read(c, ws->turn, ws->turn_cap);

		if (n == WIRE_AGAIN)
			return;
		if (n == WIRE_ROOM) {
			c->needs_room = true;
			ws_conn_watch_wire(c);
			return;
		}
		if (n <= 0) {
			ws_conn_end(c, M_WS_CLOSED_PEER, false);
			return;
		}
		ws->traffic.bytes_in += n;
		ws_conn_on_bytes(c, ws->turn, (size_t)n, now_ms);
	} while (holds_input(c));
}

/* It is still read from: only now, with input waiting, is the system asked not to tell of it any more. */
static void on_events_paused(struct ws_conn *c, uint32_t events)
{
	if (events & (EPOLLERR | EPOLLHUP))
		ws_conn_end(c, M_WS_CLOSED_PEER, false);
	else
		ws_conn_watch_wire(c);
}

void ws_conn_on_events(struct ws_conn *c, uint32_t events, int64_t now_ms)
{
	if (c->phase == WS_GONE)
		return;
	if (c->phase == WS_HEAD) {
		ws_upgrade_peek(c, events);
		return;
	}
	if (events & EPOLLOUT) {
		drop_old(c, now_ms);
		c->is_stuck = c->needs_room = false;
		ws_conn_set_dirty(c);
	}
	if (!(events & ~(uint32_t)EPOLLOUT))
		return;
	if (c->is_paused)
		on_events_paused(c, events);
	else
		read_some(c, now_ms);
}

void ws_pause(struct ws_conn *c)
{
	if (c->phase == WS_OPEN)
		c->is_paused = true;
}

void ws_resume(struct ws_conn *c)
{
	if (!c->is_paused || c->phase != WS_OPEN)
		return;
	c->is_paused = false;
	if (c->message_ms) { /* it was not the peer's time */
		c->message_ms = loop_now_ms(c->ws->loop);
		ws_conn_wake_at(c, c->message_ms + c->ws->limits->ws_message_ms);
	}
	ws_conn_set_dirty(c);
}

void ws_conn_go_on(struct ws_conn *c, int64_t now_ms)
{
	bool slept = !(c->watched & EPOLLIN);

	if (c->phase < WS_OPEN || c->phase == WS_GONE || c->is_paused || !(c->kept || slept))
		return;
	ws_conn_on_kept(c, now_ms);
	if (c->phase == WS_GONE || c->is_paused)
		return;
	ws_conn_watch_wire(c);
	if (holds_input(c))
		read_some(c, now_ms);
}

void ws_conn_route(struct ws_conn *c, const struct ws_route *route)
{
	c->handler      = route->handler;
	c->queue.limits = &route->queue_limits;
	if (c->handler->message_max)
		c->input.message_max = (uint32_t)c->handler->message_max;
}

bool ws_message_is_text(const struct ws_conn *c)
{
	return c->input.is_text;
}

void ws_hand_over(struct ws_conn *c, const struct ws_handler *h, void *data)
{
	c->handler = h;
	c->data    = data;
}

/* The handler hears of the end at the end of the turn. */
static void report(struct ws_conn *c)
{
	if (list_is_empty(&c->in_ended))
		list_append(&c->ws->ended, &c->in_ended);
}

static void log_open(const struct ws_conn *c)
{
	char from[ADDR_TEXT_BYTES];

	if (!log_is_on(LOG_DEBUG))
		return;
	addr_text_log(from, &c->client);
	log_debug("ws", c->id, "opens", "from=%s forwarded=%d tls=%d", from, c->is_forwarded, c->ssl != NULL);
}

void ws_conn_open(struct ws_conn *c, struct ssl_st *ssl, int64_t now_ms)
{
	log_open(c);
	c->phase       = WS_OPEN;
	c->deadline_ms = 0;
	c->sent_ms     = now_ms;
	c->wire        = ssl ? &ws_wire_tls : &ws_wire_plain;
	c->ssl         = ssl;
	c->data        = c->handler->opened(c->handler->part, c, now_ms);
	free(TAKE(c->caller));
	metric_inc(M_WS_UPGRADED);
	if (!c->data)
		ws_conn_close(c, M_WS_CLOSED_SERVER, now_ms);
	ws_conn_wake_at(c, next_look_ms(c, now_ms));
	ws_conn_set_dirty(c); /* its first flush takes the wire */
}

void ws_conn_take_wire(struct ws_conn *c, int64_t now_ms)
{
	ws_upgrade_park(c);
	ws_conn_watch_wire(c);
	if (holds_input(c))
		read_some(c, now_ms);
}

bool ws_conn_on_early_message(struct ws_conn *c, void *bytes, size_t len, bool is_text)
{
	if (c->phase != WS_OPEN || len == 0 || len > c->input.message_max)
		return false;
	if (c->is_paused || c->kept)
		return ws_conn_keep_message(c, bytes, len, is_text);
	c->input.is_text = is_text;
	c->handler->message(c->data, bytes, len, loop_now_ms(c->ws->loop));
	return true;
}

void ws_conn_close(struct ws_conn *c, enum metric why, int64_t now_ms)
{
	if (c->phase != WS_OPEN)
		return;
	metric_inc(why);
	c->phase       = WS_CLOSING;
	c->is_paused   = false; /* for the peer's close frame */
	c->drained     = NULL;
	c->deadline_ms = now_ms + c->ws->limits->ws_close_ms;
	ws_conn_wake_at(c, c->deadline_ms);
	ws_conn_set_dirty(c);
}

void ws_conn_close_after_peer(struct ws_conn *c, enum metric why, int64_t now_ms)
{
	if (c->phase != WS_OPEN && c->phase != WS_CLOSING)
		return;
	ws_queue_drop_datagrams(&c->queue);
	ws_input_fini(&c->input);
	ws_conn_count(c);
	c->message_ms  = 0;
	c->peer_closed = true;
	ws_conn_close(c, why, now_ms);
	ws_conn_set_dirty(c);
	report(c);
}

void ws_close(struct ws_conn *c)
{
	ws_conn_close(c, M_WS_CLOSED_SERVER, loop_now_ms(c->ws->loop));
}

void ws_close_status(struct ws_conn *c, uint16_t status)
{
	if (c->phase == WS_OPEN)
		c->close_status = status;
	ws_close(c);
}

void ws_reset(struct ws_conn *c)
{
	ws_conn_end(c, M_WS_CLOSED_SERVER, true);
}

void ws_set_socket(struct ws_conn *c, const struct accept_socket *want)
{
	accept_tune(c->fd, want);
}

void ws_conn_linger(struct ws_conn *c, int64_t now_ms)
{
	c->wire->finish(c);
	c->phase       = WS_LINGER;
	c->deadline_ms = now_ms + c->ws->limits->ws_close_ms;
	ws_conn_wake_at(c, c->deadline_ms);
	report(c);
}

void ws_conn_end(struct ws_conn *c, enum metric why, bool reset)
{
	if (c->phase == WS_GONE)
		return;
	if (c->phase < WS_CLOSING)
		metric_inc(why);

	/* Input stays until the turn is over: a handler may be looking at its message right now. */
	c->phase = WS_GONE;
	if (c->watched)
		epoll_ctl(c->ws->epoll_fd, EPOLL_CTL_DEL, c->fd, NULL);
	c->watched = 0;
	if (c->wire->fini)
		c->wire->fini(c);
	ws_upgrade_end(c, reset);
	timer_clear(&c->timer);
	list_remove(&c->in_dirty);
	ws_queue_fini(&c->queue);
	ws_conn_count(c);
	report(c);
}

static void free_conn(struct ws_conn *c)
{
	struct ws *ws = c->ws;

	log_debug("ws", c->id, "ends", "connections=%zu", ws->conn_count - 1);
	ws_release(c);
	ws_door_release(c);
	list_remove(&c->in_conns);
	ws_input_fini(&c->input);
	free(c->kept);
	ws->conn_count--;
	metric_add(M_WS_CONNECTIONS, -1);
	free(c);
}

void ws_conn_reap(struct ws *ws, int64_t now_ms)
{
	struct list *first;

	while ((first = list_take_first(&ws->ended))) {
		struct ws_conn *c    = CONTAINER(first, struct ws_conn, in_ended);
		void           *data = c->data;

		c->data = NULL;
		if (data)
			c->handler->closed(data, now_ms);
		if (c->phase == WS_GONE)
			free_conn(c);
	}
}
