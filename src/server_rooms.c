#include "server_rooms.h"

#include <stdio.h>

bool server_rooms_build(struct server_rooms *s, struct loop *loop, struct store *store, const struct conf *conf)
{
	if (!conf->rooms_enable)
		return true;
	if (udp_new(&s->udp, loop) != ERR_OK) {
		fputs("coopd: there is no memory for the rooms.\n", stderr);
		return false;
	}
	return rooms_new(&s->rooms, loop, store, conf, stderr) == ERR_OK &&
	       listeners_bind_both(&s->tcp_sockets, &s->udp_sockets, "rooms.listen", &conf->rooms_listen, stderr) &&
	       listeners_bind(&s->status_sockets, "rooms.status_listen", &conf->rooms_status_listen, stderr);
}

static bool start_status(struct server_rooms *s, const struct conf *conf)
{
	struct http_config cfg               = { .name            = "rooms-status",
		                                 .routes          = rooms_status_routes,
		                                 .part            = s->rooms,
		                                 .connections_max = conf->limits.rooms_status_connections,
		                                 .leaving_max     = conf->limits.rooms_status_connections };
	struct http_listen on[LISTENERS_MAX] = { 0 };
	struct addr        bound;
	size_t             count = 0;

	while (listeners_take(&s->status_sockets, &on[count].fd, &bound))
		count++;
	return count == 0 || http_start(&s->status, &cfg, conf, on, count, NULL) == ERR_OK;
}

static bool listen_udp_all(struct server_rooms *s)
{
	struct udp_socket *socket;
	struct addr        bound;
	int                fd;

	while (listeners_take(&s->udp_sockets, &fd, &bound)) {
		if (udp_listen(&socket, s->udp, fd, &bound, rooms_udp_handler(s->rooms)) != ERR_OK)
			return false;
	}
	return true;
}

static bool listen_tcp_all(struct server_rooms *s, struct tcp *tcp)
{
	struct addr bound;
	int         fd;

	while (listeners_take(&s->tcp_sockets, &fd, &bound)) {
		if (tcp_listen(tcp, fd, rooms_listen(s->rooms)) != ERR_OK)
			return false;
	}
	return true;
}

bool server_rooms_start(struct server_rooms *s, struct tcp *tcp, const struct conf *conf)
{
	if (!s->rooms)
		return true;
	listeners_announce(&s->tcp_sockets, "rooms");
	listeners_announce(&s->udp_sockets, "rooms-udp");
	listeners_announce(&s->status_sockets, "rooms-status");
	return listen_tcp_all(s, tcp) && listen_udp_all(s) && start_status(s, conf);
}

void server_rooms_stop(struct server_rooms *s)
{
	if (!s->rooms)
		return;
	udp_stop(s->udp);
	rooms_stop(s->rooms);
}

void server_rooms_finish(struct server_rooms *s)
{
	if (s->rooms)
		rooms_finish(s->rooms);
	if (s->status)
		http_stop(s->status);
}

bool server_rooms_has_lost(const struct server_rooms *s)
{
	return s->rooms && rooms_has_lost(s->rooms);
}

void server_rooms_free(struct server_rooms *s)
{
	if (s->udp)
		udp_free(s->udp);
	rooms_free(s->rooms);
	listeners_close(&s->tcp_sockets);
	listeners_close(&s->udp_sockets);
	listeners_close(&s->status_sockets);
}
