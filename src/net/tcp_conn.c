/* The life of a connection up to its end: accepted, shaken hands, bytes in, bytes out. */
#include "net/tcp_conn.h"

#include "base/metric.h"
#include "os/log.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

uint64_t tcp_conn_id(const struct tcp_conn *c)
{
	return c->id;
}

const struct addr *tcp_conn_peer(const struct tcp_conn *c)
{
	return &c->peer;
}

bool tcp_conn_is_tls(const struct tcp_conn *c)
{
	return c->listener->on.is_tls;
}

bool tcp_conn_is_exempt(const struct tcp_conn *c)
{
	return c->is_exempt;
}

void tcp_wake(struct tcp_conn *c)
{
	loop_assert_thread(c->tcp->loop);
	if (c->phase < TCP_CONN_LINGER && list_is_empty(&c->in_dirty))
		list_append(&c->tcp->dirty, &c->in_dirty);
}

void tcp_flush(struct tcp_conn *c)
{
	loop_assert_thread(c->tcp->loop);
	tcp_conn_flush(c, loop_now_ms(c->tcp->loop));
}

void tcp_close(struct tcp_conn *c)
{
	tcp_conn_leave(c, TCP_END_OURS, loop_now_ms(c->tcp->loop));
}

void tcp_reset(struct tcp_conn *c)
{
	loop_assert_thread(c->tcp->loop);
	tcp_conn_end(c, TCP_END_OURS, true);
}

/* The part wants nothing of what comes, as long as there is a part: a handshake goes on, and after the close all is dropped. */
static bool is_held(const struct tcp_conn *c)
{
	return c->is_paused && c->phase == TCP_CONN_OPEN;
}

static void set_paused(struct tcp_conn *c, bool is_paused)
{
	loop_assert_thread(c->tcp->loop);
	if (c->phase >= TCP_CONN_CLOSING)
		return;
	c->is_paused = is_paused;

	/* No event will tell of an end that was read already. But TLS says it as often as it is asked. */
	if (!is_paused && c->end_waits) {
		c->end_waits  = false;
		c->needs_room = true;
	}
	if (c->watched) /* from inside accepted it is not yet */
		tcp_conn_watch(c);
}

void tcp_pause(struct tcp_conn *c)
{
	set_paused(c, true);
}

void tcp_resume(struct tcp_conn *c)
{
	set_paused(c, false);
}

static void end_for_memory(struct tcp_conn *c, enum tcp_end why)
{
	metric_inc(M_TCP_REFUSED_MEMORY);
	tcp_conn_end(c, why, true);
}

static bool wants_unread_end(const struct tcp_conn *c)
{
	return c->listener->on.handler->ended_unread && !c->ssl && !c->is_unread_told && !c->peer_is_done;
}

void tcp_conn_watch(struct tcp_conn *c)
{
	bool     reads       = !c->needs_room && !c->peer_is_done && !is_held(c);
	bool     writes      = (c->needs_room && !is_held(c)) || c->is_stuck;
	bool     waits       = is_held(c) && wants_unread_end(c);
	uint32_t events      = EPOLLERR | (reads ? EPOLLIN : 0) | (waits ? EPOLLRDHUP : 0) | (writes ? EPOLLOUT : 0);
	struct epoll_event e = { .events = events, .data.ptr = c };

	if (c->watched == events)
		return;
	if (epoll_ctl(c->tcp->epoll_fd, c->watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, c->fd, &e) == 0)
		c->watched = events;
	else
		end_for_memory(c, TCP_END_OURS);
}

static void on_timer(struct timer *timer, int64_t now_ms)
{
	struct tcp_conn *c = CONTAINER(timer, struct tcp_conn, timer);

	if (c->phase == TCP_CONN_OPEN)
		tcp_stall_look(c, now_ms);
	else
		tcp_conn_on_deadline(c);
}

static struct tcp_conn *conn_new(const struct tcp_listener *l, int fd, const struct addr *peer)
{
	struct tcp_conn *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->fd        = fd;
	c->tcp       = l->tcp;
	c->listener  = l;
	c->phase     = l->on.is_tls ? TCP_CONN_SHAKING : TCP_CONN_OPEN;
	c->wire      = l->on.is_tls ? &tcp_wire_tls : &tcp_wire_plain;
	c->id        = accept_next_id();
	c->peer      = *peer;
	c->is_exempt = !l->tcp->conf->server_production && addr_is_loopback(peer);
	timer_init(&c->timer, on_timer);
	list_init(&c->in_dirty);
	list_init(&c->in_leaving);
	list_init(&c->in_ended);
	list_append(&c->tcp->conns, &c->in_conns);
	c->tcp->conn_count++;
	metric_inc(M_TCP_CONNECTIONS);
	return c;
}

static void log_accept(const struct tcp_conn *c)
{
	char from[ADDR_TEXT_BYTES];

	if (!log_is_on(LOG_DEBUG))
		return;
	addr_text_log(from, &c->peer);
	log_debug("tcp", c->id, "accepts", "from=%s tls=%d", from, tcp_conn_is_tls(c));
}

void tcp_conn_begin(const struct tcp_listener *l, int fd, const struct addr *peer, int64_t now_ms)
{
	const struct tcp_handler *h = l->on.handler;
	struct tcp_conn          *c = conn_new(l, fd, peer);

	if (!c) {
		metric_inc(M_TCP_REFUSED_MEMORY);
		close(fd);
		return;
	}
	log_accept(c);
	c->data = h->accepted(h->part, c, now_ms);
	if (!c->data) {
		tcp_conn_end(c, TCP_END_OURS, false);
		return;
	}
	if (c->phase == TCP_CONN_SHAKING && !tcp_tls_begin(c))
		end_for_memory(c, TCP_END_HANDSHAKE);
	else if (c->phase != TCP_CONN_GONE)
		tcp_conn_watch(c);
}

static void shake(struct tcp_conn *c, int64_t now_ms)
{
	ssize_t says = tcp_tls_shake(c);

	if (says == WIRE_BROKEN) {
		/* TLS may have said why. */
		c->why = TCP_END_HANDSHAKE;
		tcp_conn_linger(c, now_ms);
		return;
	}
	c->needs_room = says == WIRE_ROOM;
	tcp_conn_watch(c);
	if (says == 1 && c->phase == TCP_CONN_SHAKING) {
		c->phase = TCP_CONN_OPEN;
		tcp_wake(c);
	}
}

static void on_end(struct tcp_conn *c, int64_t now_ms)
{
	const struct tcp_handler *h = c->listener->on.handler;

	if (c->is_paused) {
		c->end_waits = true;
		return;
	}
	if (!h->ended) {
		tcp_conn_end(c, TCP_END_PEER, false);
		return;
	}
	c->peer_is_done = true;
	c->needs_room   = false;
	tcp_conn_watch(c);
	if (c->phase == TCP_CONN_OPEN)
		h->ended(c->data, now_ms);
}

static void read_some(struct tcp_conn *c, int64_t now_ms)
{
	struct tcp *t    = c->tcp;
	size_t      len  = 0;
	ssize_t     says = c->wire->read(c, t->turn, c->ssl ? t->turn_cap : t->plain_cap, &len);

	metric_add(M_TCP_BYTES_IN, (int64_t)len);
	if (len > 0)
		c->listener->on.handler->bytes(c->data, t->turn, len, now_ms);
	if (c->phase != TCP_CONN_OPEN) /* the part had enough of it */
		return;
	if (says == WIRE_BROKEN) {
		tcp_conn_end(c, TCP_END_PEER, false);
		return;
	}
	if (says == WIRE_END) {
		on_end(c, now_ms);
		return;
	}
	c->needs_room = says == WIRE_ROOM;
	if (c->needs_room)
		tcp_stall_watch(c, now_ms);
	tcp_conn_watch(c);
}

static void on_open_events(struct tcp_conn *c, uint32_t events, int64_t now_ms)
{
	if (!c->is_paused && !c->peer_is_done) {
		if (c->needs_room || (events & ~(uint32_t)EPOLLOUT))
			read_some(c, now_ms);
	} else if (events & (EPOLLERR | EPOLLHUP)) {
		/* Reading would not tell: it begins with what came before, and says no more than the end after one. */
		tcp_conn_end(c, TCP_END_PEER, false);
	} else if (events & EPOLLRDHUP && wants_unread_end(c)) {
		c->is_unread_told = true;
		tcp_conn_watch(c);
		if (c->phase == TCP_CONN_OPEN)
			c->listener->on.handler->ended_unread(c->data, now_ms);
	}
}

void tcp_conn_on_events(struct tcp_conn *c, uint32_t events, int64_t now_ms)
{
	if (c->phase == TCP_CONN_GONE)
		return;
	if (c->phase == TCP_CONN_SHAKING) {
		shake(c, now_ms);
		return;
	}
	if (events & EPOLLOUT) {
		c->is_stuck = false;
		tcp_wake(c);
	}
	if (c->phase == TCP_CONN_OPEN)
		on_open_events(c, events, now_ms);
	else if (events & ~(uint32_t)EPOLLOUT)
		tcp_conn_drop_input(c);
}

void tcp_conn_flush(struct tcp_conn *c, int64_t now_ms)
{
	if (c->is_stuck || (c->phase != TCP_CONN_OPEN && c->phase != TCP_CONN_CLOSING))
		return;

	ssize_t says = c->wire->write(c, now_ms);

	if (c->phase == TCP_CONN_GONE)
		return;
	if (says == WIRE_BROKEN) {
		tcp_conn_end(c, TCP_END_PEER, false);
		return;
	}
	c->is_stuck = says == WIRE_AGAIN;
	if (says != 0)
		tcp_stall_watch(c, now_ms);
	if (c->phase == TCP_CONN_CLOSING && !c->is_stuck)
		tcp_conn_linger(c, now_ms);
	else
		tcp_conn_watch(c);
}
