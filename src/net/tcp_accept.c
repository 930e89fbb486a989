/* Listening sockets, and what the connections they bring inherit. */
#include "net/tcp_conn.h"

#include <stdlib.h>
#include <unistd.h>

static void take(void *arg, int fd, const struct addr *peer)
{
	const struct tcp_listener *l = arg;

	if (ban_has_address(peer)) {
		metric_inc(l->on.banned);
		close(fd);
		return;
	}
	tcp_conn_begin(l, fd, peer, loop_now_ms(l->tcp->loop));
}

enum err tcp_listen(struct tcp *t, int fd, const struct tcp_listen *on)
{
	struct tcp_listener *l      = calloc(1, sizeof(*l));
	struct accept_socket socket = { .sndbuf_bytes         = on->sndbuf_bytes,
		                        .keepalive_idle_s     = on->keepalive_idle_s,
		                        .keepalive_interval_s = on->keepalive_interval_s,
		                        .keepalive_probes     = on->keepalive_probes };
	struct accept_to     to     = {
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
	accept_tune(fd, &socket); /* accepted ones inherit it, without a call for each */
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
