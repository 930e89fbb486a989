/* Listening sockets, and what the connections they bring inherit. */
#include "net/tcp_conn.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static void take(void *arg, int fd, const struct addr *peer)
{
	const struct tcp_listener *l = arg;

	tcp_conn_begin(l, fd, peer, loop_now_ms(l->tcp->loop));
}

static void set(int fd, int level, int option, int value)
{
	setsockopt(fd, level, option, &value, sizeof(value));
}

/* On the listening socket: accepted ones inherit it, without a call for each. */
static void tune(int fd, const struct tcp_listen *on)
{
	if (on->sndbuf_bytes > 0)
		set(fd, SOL_SOCKET, SO_SNDBUF, on->sndbuf_bytes);
	if (on->keepalive_idle_s == 0)
		return;
	set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	set(fd, IPPROTO_TCP, TCP_KEEPIDLE, on->keepalive_idle_s);
	set(fd, IPPROTO_TCP, TCP_KEEPINTVL, on->keepalive_interval_s);
	set(fd, IPPROTO_TCP, TCP_KEEPCNT, on->keepalive_probes);
}

enum err tcp_listen(struct tcp *t, int fd, const struct tcp_listen *on)
{
	struct tcp_listener *l  = calloc(1, sizeof(*l));
	struct accept_to     to = {
		    .take = take, .arg = l, .turn_accepts = t->conf->limits.ws_turn_accepts, .starved = M_TCP_REFUSED_MEMORY
	};
	enum err e = !l ? ERR_NOMEM : on->is_tls && !t->tls ? ERR_MALFORMED : ERR_OK;

	if (e != ERR_OK) {
		close(fd);
		free(l);
		return e;
	}
	l->tcp = t;
	l->on  = *on;
	tune(fd, on);
	e = acceptor_new(&l->acceptor, t->loop, fd, &to);
	if (e != ERR_OK) {
		free(l);
		return e;
	}
	l->next      = t->listeners;
	t->listeners = l;
	return ERR_OK;
}

void tcp_accept_stop(struct tcp *t)
{
	for (struct tcp_listener *l = t->listeners; l; l = l->next)
		acceptor_close(TAKE(l->acceptor));
}
