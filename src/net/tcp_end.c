/* How a connection ends: at once, or after what waits and with time for the peer to read it. */
#include "net/tcp_conn.h"

#include "base/metric.h"
#include "os/log.h"

#include <assert.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define LINGER_MS         2000
#define DROPPED_BYTES_MAX (256 * 1024) /* who sends that much after the close does not listen */

/* Nothing is done with it any more; returns its socket. It is freed later, since epoll may have told of it in this turn. */
static int let_go(struct tcp_conn *c)
{
	int fd = c->fd;

	if (!list_is_empty(&c->in_leaving))
		c->tcp->leaving_count--;
	list_remove(&c->in_leaving);
	list_remove(&c->in_dirty);
	timer_clear(&c->timer);
	c->phase = TCP_CONN_GONE;

	/* By name: a child being started could hold the descriptor a moment longer, and epoll would go on telling of it. */
	if (c->watched)
		epoll_ctl(c->tcp->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
	c->fd = -1;
	list_append(&c->tcp->ended, &c->in_ended);
	return fd;
}

void tcp_conn_end(struct tcp_conn *c, enum tcp_end why, bool reset)
{
	struct linger now = { .l_onoff = 1, .l_linger = 0 };
	int           fd;

	if (c->phase == TCP_CONN_GONE)
		return;
	if (list_is_empty(&c->in_leaving))
		c->why = why;
	tcp_tls_fini(c);
	fd = let_go(c);
	if (reset)
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(fd);
}

int tcp_take(struct tcp_conn *c)
{
	loop_assert_thread(c->tcp->loop);
	assert(!tcp_conn_is_tls(c));
	if (c->phase != TCP_CONN_OPEN)
		return -1;
	c->is_taken = true;
	return let_go(c);
}

static void enter_leaving(struct tcp_conn *c, enum tcp_end why, int64_t patience_ms, int64_t now_ms)
{
	struct tcp *t = c->tcp;

	if (list_is_empty(&c->in_leaving)) {
		c->why = why;
		list_append(&t->leaving, &c->in_leaving);
		t->leaving_count++;
	}
	timer_set(t->loop, &c->timer, now_ms + patience_ms);
	if (t->leaving_count > TCP_LEAVING_MAX && !t->stopping)
		tcp_conn_end(CONTAINER(t->leaving.next, struct tcp_conn, in_leaving), why, true);
}

void tcp_conn_leave(struct tcp_conn *c, enum tcp_end why, int64_t now_ms)
{
	if (c->phase >= TCP_CONN_CLOSING)
		return;
	if (c->phase == TCP_CONN_SHAKING) {
		/* Nothing can be said without a session. */
		c->why = why;
		tcp_conn_linger(c, now_ms);
		return;
	}
	c->phase = TCP_CONN_CLOSING;
	enter_leaving(c, why, c->tcp->conf->limits.ws_close_ms, now_ms);
	tcp_wake(c);
	if (c->is_paused && c->watched)
		tcp_conn_watch(c); /* its input is dropped from now on: it may read nothing before that has room */
}

void tcp_conn_linger(struct tcp_conn *c, int64_t now_ms)
{
	bool was_shaking = c->phase == TCP_CONN_SHAKING;

	c->phase = TCP_CONN_LINGER;
	if (c->ssl && !was_shaking)
		tcp_tls_finish(c);
	shutdown(c->fd, SHUT_WR);
	c->is_stuck = c->needs_room = false;
	tcp_conn_watch(c);
	if (c->phase == TCP_CONN_LINGER)
		enter_leaving(c, c->why, LINGER_MS, now_ms);
}

/* In TLS too these are the socket's own bytes: nobody will want to know what they mean. */
void tcp_conn_drop_input(struct tcp_conn *c)
{
	ssize_t n = wire_read(c->fd, c->tcp->turn, c->tcp->turn_cap);

	if (n == WIRE_AGAIN)
		return;
	if (n == WIRE_END && c->phase == TCP_CONN_CLOSING) {
		c->peer_is_done = true; /* it may well wait for what is still to be sent */
		tcp_conn_watch(c);
		return;
	}
	if (n > 0 && !c->is_paused) /* whose peer we kept waiting, so that much may be under way */
		c->dropped_bytes += (size_t)n;
	if (n <= 0 || c->dropped_bytes > DROPPED_BYTES_MAX)
		tcp_conn_end(c, c->why, false);
}

void tcp_conn_on_deadline(struct tcp_conn *c)
{
	int ms = LINGER_MS;

	/*
	 * What the kernel still has it goes on offering without us: for minutes to a peer that takes nothing, were it not
	 * told to give that up.
	 */
	if (c->phase == TCP_CONN_LINGER)
		setsockopt(c->fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof(ms));
	tcp_conn_end(c, c->why, c->phase == TCP_CONN_CLOSING);
}

static void free_conn(struct tcp_conn *c)
{
	log_debug("tcp", c->id, c->is_taken ? "is taken" : "ends", "connections=%zu", c->tcp->conn_count - 1);
	list_remove(&c->in_conns);
	c->tcp->conn_count--;
	metric_add(M_TCP_CONNECTIONS, -1);
	free(c);
}

void tcp_conn_reap(struct tcp *t, int64_t now_ms)
{
	struct list *first;

	while ((first = list_take_first(&t->ended))) {
		struct tcp_conn *c    = CONTAINER(first, struct tcp_conn, in_ended);
		void            *data = c->data;

		c->data = NULL;
		if (data && !c->is_taken)
			c->listener->on.handler->closed(data, c->why, now_ms);
		free_conn(c);
	}
}
