#include "server_admin.h"

#include "base/auto.h"
#include "net/listen.h"
#include "os/log.h"

#include <stdio.h>
#include <unistd.h>

static enum err add_routes(struct api *a, struct admin_bans *bans, const struct server_admin_parts *p)
{
	const struct {
		const struct api_route *routes;
		void                   *part;
	} tables[] = {
		{ admin_metric_routes, a },         { admin_server_routes, a },
		{ tunnel_admin_routes, p->tunnel }, { admin_player_routes, a },
		{ cloud_admin_routes, p->cloud },   { lobby_admin_routes, p->lobby },
		{ signal_admin_routes, p->signal }, { rooms_admin_routes, p->rooms },
		{ p2p_admin_routes, p->p2p },       { admin_ban_routes, bans },
		{ admin_token_routes, a },          { admin_audit_routes, a },
	};
	enum err e = ERR_OK;

	for (size_t i = 0; e == ERR_OK && i < COUNT_OF(tables); i++)
		e = api_add(a, tables[i].routes, tables[i].part);
	return e;
}

bool server_admin_build(struct server_admin *s, struct loop *loop, struct store *store, const struct conf *conf,
                        const struct server_admin_parts *parts)
{
	if (!conf->admin_enable)
		return true;
	s->conf = conf;
	s->bans = (struct admin_bans){ .end = server_bans_end, .end_http = server_bans_end_http, .arg = parts->bans };
	if (api_new(&s->api, loop, store, conf) != ERR_OK || add_routes(s->api, &s->bans, parts) != ERR_OK) {
		fputs("coopd: there is no memory for the operator's API.\n", stderr);
		return false;
	}
	return listen_unix(&s->socket, conf->admin_socket, stderr) == ERR_OK;
}

bool server_admin_start(struct server_admin *s)
{
	struct http_listen on = { .fd = s->socket };

	if (!s->api)
		return true;
	log_info("server", 0, "listens", "part=admin address=unix:%s", s->conf->admin_socket);
	s->socket = 0;
	return admin_start(&s->admin, s->api, &on, 1, NULL, 0) == ERR_OK;
}

void server_admin_poke(struct server_admin *s)
{
	if (s->admin)
		admin_poke(s->admin);
}

void server_admin_stop(struct server_admin *s)
{
	if (s->admin) {
		admin_stop(s->admin);
		unlink(s->conf->admin_socket); /* still under the data folder's lock */
	}
	if (s->socket > 0)
		close(s->socket);
	api_free(s->api);
}
