/* The server: made, stopped, freed; and its part in each turn of the loop. */
#include "net/ws.h"

#include "net/ws_conn.h"
#include "os/clock.h"
#include "os/log.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define EVENTS_MAX       512
#define MEASURED_TURNS   16   /* one in so many: the clock is not read for each */
#define SPARE_BLOCKS_MAX 2048 /* 8 MiB: as many as a turn of very many connections fills */

/*
 * All connections hang on one epoll descriptor of ours, on which libuv waits as if it were a socket. So a change of
 * interest is one system call instead of libuv's two, and none at all for the usual connection.
 */
static void on_epoll(uv_poll_t *poll, int status, int events)
{
	struct ws         *ws = poll->data;
	struct epoll_event ready[EVENTS_MAX];
	int                n = epoll_wait(ws->epoll_fd, ready, EVENTS_MAX, 0);

	(void)status;
	(void)events;
	if (ws->turn_us == 0 && ++ws->turns % MEASURED_TURNS == 0)
		ws->turn_us = clock_lap_us();
	for (int i = 0; i < n; i++)
		ws_conn_on_events(ready[i].data.ptr, ready[i].events, loop_now_ms(ws->loop));
}

static void finish_stop(struct ws *ws)
{
	void (*stopped)(void *arg) = ws->stopped;

	ws->stopped = NULL;
	stopped(ws->stopped_arg);
}

static void show_traffic(struct ws *ws)
{
	const struct ws_traffic *t = &ws->traffic;

	if (t->bytes_in > 0)
		metric_add(M_WS_BYTES_IN, t->bytes_in);
	if (t->bytes_out > 0)
		metric_add(M_WS_BYTES_OUT, t->bytes_out);
	if (t->messages_in > 0)
		metric_add(M_WS_MESSAGES_IN, t->messages_in);
	if (t->messages_out > 0)
		metric_add(M_WS_MESSAGES_OUT, t->messages_out);
	if (ws->turn_us != 0 && t->messages_in > 0 && t->bytes_out > 0)
		metric_observe(H_WS_FORWARD, clock_lap_us() - ws->turn_us);
	ws->turn_us = 0;
	ws->traffic = (struct ws_traffic){ 0 };
}

/* What is said to handlers at the end of a turn can lead to more output, and that to more ends. */
static void on_flush(struct loop_flush *f)
{
	struct ws   *ws = CONTAINER(f, struct ws, flush);
	struct list *first;

	while (!list_is_empty(&ws->dirty) || !list_is_empty(&ws->ended)) {
		while ((first = list_take_first(&ws->dirty))) {
			struct ws_conn *c = CONTAINER(first, struct ws_conn, in_dirty);

			ws_conn_flush(c, loop_now_ms(ws->loop));
			ws_conn_go_on(c, loop_now_ms(ws->loop));
			ws_conn_tell_drained(c, loop_now_ms(ws->loop));
		}
		ws_conn_reap(ws, loop_now_ms(ws->loop));
	}
	ws_upgrade_settle(ws);
	show_traffic(ws);
	metric_set(M_WS_QUEUED_BYTES, (int64_t)ws->output_bytes);
	metric_set(M_WS_PARTIAL_BYTES, (int64_t)ws->input_bytes);
	if (ws->stopping && ws->stopped && ws->conn_count == 0)
		finish_stop(ws);
}

static void init_limits(struct ws *ws)
{
	const struct limits *l = ws->limits;

	ws->queue_limits = (struct ws_queue_limits){
		.control_bytes   = (size_t)l->ws_control,
		.datagram_bytes  = (size_t)l->ws_backlog,
		.datagram_frames = (size_t)l->ws_backlog_frames,
		.datagram_ms     = l->ws_backlog_ms,
	};
	ws->turn_cap = (size_t)l->ws_turn_bytes;
}

static enum err init_epoll(struct ws *ws)
{
	ws->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (ws->epoll_fd < 0 || uv_poll_init(loop_uv(ws->loop), &ws->poll, ws->epoll_fd) != 0)
		return ERR_IO;
	ws->poll.data = ws;
	uv_poll_start(&ws->poll, UV_READABLE, on_epoll);
	return ERR_OK;
}

enum err ws_new(struct ws **out, struct loop *l, const struct conf *conf, FILE *report)
{
	struct ws *ws = calloc(1, sizeof(*ws));
	enum err   e;

	if (!ws)
		return ERR_NOMEM;
	ws->loop      = l;
	ws->conf      = conf;
	ws->limits    = &conf->limits;
	ws->epoll_fd  = -1;
	ws->flush.run = on_flush;
	list_init(&ws->conns);
	list_init(&ws->dirty);
	list_init(&ws->ended);
	list_init(&ws->at_door);
	ws_blocks_init(&ws->blocks, SPARE_BLOCKS_MAX);
	init_limits(ws);

	ws->turn = malloc(ws->turn_cap);
	e        = ws->turn ? ERR_OK : ERR_NOMEM;
	if (e == ERR_OK)
		e = addr_nets_parse(&ws->trusted, conf->http_trusted_proxies.words, conf->http_trusted_proxies.count);
	if (e == ERR_OK)
		e = ws_accept_init(ws);
	if (e == ERR_OK)
		e = ws_tls_check(ws, report);
	if (e == ERR_OK)
		e = ws_upgrader_init(ws);
	if (e == ERR_OK)
		e = init_epoll(ws);
	if (e != ERR_OK) {
		ws_free(ws);
		return e;
	}
	loop_add_flush(l, &ws->flush);
	*out = ws;
	return ERR_OK;
}

void ws_route(struct ws *ws, const char *path, const struct ws_handler *h)
{
	struct ws_route *route = &ws->routes[ws->route_count];

	assert(ws->route_count < WS_ROUTES_MAX && h->message_max <= UINT32_MAX);
	ws->route_count++;
	*route = (struct ws_route){ .path = path, .handler = h, .queue_limits = ws->queue_limits };
	if (h->control_max)
		route->queue_limits.control_bytes = h->control_max;
}

void ws_set_door(struct ws *ws, const struct ws_door *door)
{
	assert(!ws->door.path && door->handler->message_max <= UINT32_MAX);
	ws->door = *door;
	ws->door_route =
		(struct ws_route){ .path = door->path, .handler = door->handler, .queue_limits = ws->queue_limits };
	if (door->handler->control_max)
		ws->door_route.queue_limits.control_bytes = door->handler->control_max;
}

void ws_reload(struct ws *ws)
{
	struct addr_nets fresh;

	loop_assert_thread(ws->loop);
	if (addr_nets_parse(&fresh, ws->conf->http_trusted_proxies.words, ws->conf->http_trusted_proxies.count) !=
	    ERR_OK)
		return;
	addr_nets_fini(&ws->trusted);
	ws->trusted = fresh;
}

void ws_accept_end(struct ws *ws)
{
	loop_assert_thread(ws->loop);
	ws_accept_stop(ws);
}

void ws_stop(struct ws *ws, void (*done)(void *arg), void *arg)
{
	int64_t now_ms = loop_now_ms(ws->loop);

	ws->stopping    = true;
	ws->stopped     = done;
	ws->stopped_arg = arg;
	ws_accept_stop(ws);
	for (struct list *at = ws->conns.next; at != &ws->conns; at = at->next) {
		struct ws_conn *c = CONTAINER(at, struct ws_conn, in_conns);

		if (c->phase == WS_HEAD)
			ws_conn_end(c, M_WS_CLOSED_SERVER, false);
		else
			ws_conn_close(c, M_WS_CLOSED_SERVER, now_ms);
	}
}

/* Nobody at the door: an operator must not lock himself out. */
static bool is_meant(const struct ban *b, const struct ws_conn *c)
{
	return !c->at_door && c->phase != WS_GONE && (ban_is_address(b, &c->peer) || ban_is_address(b, &c->client));
}

size_t ws_ban(struct ws *ws, const struct ban *b, bool end)
{
	size_t count = 0;

	loop_assert_thread(ws->loop);
	for (struct list *at = ws->conns.next; at != &ws->conns; at = at->next) {
		struct ws_conn *c = CONTAINER(at, struct ws_conn, in_conns);

		if (!is_meant(b, c))
			continue;
		count += c->phase < WS_CLOSING;
		if (end)
			ws_conn_end(c, M_WS_CLOSED_BANNED, true);
	}
	return count;
}

/* Connections that a stop left over; nobody is told any more. */
static void end_all(struct ws *ws)
{
	for (struct list *at = ws->conns.next; at != &ws->conns; at = at->next) {
		struct ws_conn *c = CONTAINER(at, struct ws_conn, in_conns);

		c->data = NULL;
		ws_conn_end(c, M_WS_CLOSED_SERVER, true);
	}
	ws_conn_reap(ws, loop_now_ms(ws->loop));
}

void ws_free(struct ws *ws)
{
	if (!ws)
		return;
	ws_accept_stop(ws);
	end_all(ws);
	if (ws->poll.data)
		uv_close((uv_handle_t *)&ws->poll, NULL);
	ws_upgrader_fini(ws);
	loop_settle(ws->loop);
	if (ws->epoll_fd >= 0)
		close(ws->epoll_fd);
	ws_accept_fini(ws);
	ws_blocks_fini(&ws->blocks);
	addr_nets_fini(&ws->trusted);
	free(ws->turn);
	free(ws);
}
