/* The connections together: made, stopped, freed; and their part in each turn of the loop. */
#include "net/tcp_conn.h"

#include <openssl/ssl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#define EVENTS_MAX 512
#define STOP_MS    5000

/* All connections hang on one epoll descriptor of ours, on which libuv waits as if it were a socket: see net/ws.c. */
static void on_epoll(uv_poll_t *poll, int status, int events)
{
	struct tcp        *t = poll->data;
	struct epoll_event ready[EVENTS_MAX];
	int                n = epoll_wait(t->epoll_fd, ready, EVENTS_MAX, 0);

	(void)status;
	(void)events;
	for (int i = 0; i < n; i++)
		tcp_conn_on_events(ready[i].data.ptr, ready[i].events, loop_now_ms(t->loop));
}

static void finish_stop(struct tcp *t)
{
	void (*stopped)(void *arg) = t->stopped;

	t->stopped = NULL;
	timer_clear(&t->stop_timer);
	stopped(t->stopped_arg);
}

/* What is said to parts at the end of a turn can lead to more output, and that to more ends. */
static void on_flush(struct loop_flush *f)
{
	struct tcp  *t = CONTAINER(f, struct tcp, flush);
	struct list *first;

	while (!list_is_empty(&t->dirty) || !list_is_empty(&t->ended)) {
		while ((first = list_take_first(&t->dirty)))
			tcp_conn_flush(CONTAINER(first, struct tcp_conn, in_dirty), loop_now_ms(t->loop));
		tcp_conn_reap(t, loop_now_ms(t->loop));
	}
	if (t->stopping && t->stopped && t->conn_count == 0)
		finish_stop(t);
}

static void end_all(struct tcp *t)
{
	for (struct list *at = t->conns.next; at != &t->conns; at = at->next)
		tcp_conn_end(CONTAINER(at, struct tcp_conn, in_conns), TCP_END_STOPPED, true);
}

static void on_stop_late(struct timer *timer, int64_t now_ms)
{
	(void)now_ms;
	end_all(CONTAINER(timer, struct tcp, stop_timer));
}

static enum err init_epoll(struct tcp *t)
{
	t->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (t->epoll_fd < 0 || uv_poll_init(loop_uv(t->loop), &t->poll, t->epoll_fd) != 0)
		return ERR_IO;
	t->poll.data = t;
	uv_poll_start(&t->poll, UV_READABLE, on_epoll);
	return ERR_OK;
}

enum err tcp_new(struct tcp **out, struct loop *l, const struct conf *conf)
{
	struct tcp *t = calloc(1, sizeof(*t));
	enum err    e;

	if (!t)
		return ERR_NOMEM;
	t->loop      = l;
	t->conf      = conf;
	t->epoll_fd  = -1;
	t->flush.run = on_flush;
	timer_init(&t->stop_timer, on_stop_late);
	list_init(&t->conns);
	list_init(&t->dirty);
	list_init(&t->ended);
	list_init(&t->leaving);
	t->plain_cap = (size_t)conf->limits.ws_turn_bytes;
	t->turn_cap  = t->plain_cap > WIRE_RECORD_BYTES_MAX ? t->plain_cap : WIRE_RECORD_BYTES_MAX;
	t->turn      = malloc(t->turn_cap);
	e            = t->turn ? init_epoll(t) : ERR_NOMEM;
	if (e != ERR_OK) {
		tcp_free(t);
		return e;
	}
	loop_add_flush(l, &t->flush);
	*out = t;
	return ERR_OK;
}

void tcp_cert_use(struct tcp *t, const struct tls_cert *cert)
{
	loop_assert_thread(t->loop);
	if (!cert)
		return;
	if (!t->tls)
		t->tls = tls_context_new();
	if (t->tls)
		tls_cert_use(t->tls, cert);
}

void tcp_accept_end(struct tcp *t)
{
	loop_assert_thread(t->loop);
	tcp_accept_stop(t);
}

void tcp_stop(struct tcp *t, void (*done)(void *arg), void *arg)
{
	int64_t now_ms = loop_now_ms(t->loop);

	t->stopping    = true;
	t->stopped     = done;
	t->stopped_arg = arg;
	tcp_accept_stop(t);
	timer_set(t->loop, &t->stop_timer, now_ms + STOP_MS);
	for (struct list *at = t->conns.next; at != &t->conns; at = at->next)
		tcp_conn_leave(CONTAINER(at, struct tcp_conn, in_conns), TCP_END_STOPPED, now_ms);
}

size_t tcp_ban(struct tcp *t, const struct ban *b, bool end)
{
	size_t count = 0;

	loop_assert_thread(t->loop);
	for (struct list *at = t->conns.next; at != &t->conns; at = at->next) {
		struct tcp_conn *c = CONTAINER(at, struct tcp_conn, in_conns);

		if (c->phase == TCP_CONN_GONE || !ban_is_address(b, &c->peer))
			continue;
		count += c->phase < TCP_CONN_CLOSING;
		if (end)
			tcp_conn_end(c, TCP_END_BANNED, true);
	}
	return count;
}

void tcp_free(struct tcp *t)
{
	if (!t)
		return;
	tcp_accept_stop(t);
	end_all(t);
	tcp_conn_reap(t, loop_now_ms(t->loop));
	timer_clear(&t->stop_timer);
	if (t->poll.data)
		uv_close((uv_handle_t *)&t->poll, NULL);
	loop_settle(t->loop);
	if (t->epoll_fd >= 0)
		close(t->epoll_fd);
	while (t->listeners) {
		struct tcp_listener *l = t->listeners;

		t->listeners = l->next;
		free(l);
	}
	SSL_CTX_free(t->tls);
	free(t->turn);
	free(t);
}
