#include "server_admin.h"

#include "base/auto.h"
#include "net/listen.h"
#include "os/log.h"

#include <stdio.h>
#include <unistd.h>

static enum err add_routes(struct server_admin *s, const struct server_admin_parts *p)
{
	struct api *a = s->api;
	const struct {
		const struct api_route *routes;
		void                   *part;
	} tables[] = {
		{ admin_metric_routes, a },
		{ admin_server_routes, a },
		{ admin_control_routes, &s->control },
		{ tunnel_admin_routes, p->tunnel },
		{ admin_player_routes, a },
		{ cloud_admin_routes, p->cloud },
		{ lobby_admin_routes, p->lobby },
		{ signal_admin_routes, p->signal },
		{ rooms_admin_routes, p->rooms },
		{ p2p_admin_routes, p->p2p },
		{ admin_ban_routes, a },
		{ admin_token_routes, a },
		{ admin_audit_routes, a },
	};
	enum err e = ERR_OK;

	for (size_t i = 0; e == ERR_OK && i < COUNT_OF(tables); i++)
		e = api_add(a, tables[i].routes, tables[i].part);
	return e;
}

/* --- What operators do to the whole --- */

static enum err do_reload(struct admin_reload *out, void *server)
{
	struct server_admin *s = server;
	struct reload_result r;
	enum err             e = reload_ask(&r, s->reload);

	*out = (struct admin_reload){ .changed = r.changed, .restart = r.restart, .problems = r.problems };
	return e;
}

static void do_drain(void *server, int64_t deadline_s)
{
	struct server_admin *s = server;

	drain_begin(&s->drain, deadline_s);
}

static void do_undrain(void *server)
{
	struct server_admin *s = server;

	drain_end(&s->drain);
}

static void look_at_drain(struct admin_drain *out, void *server)
{
	const struct server_admin *s = server;

	*out = (struct admin_drain){ .is_on       = s->drain.is_on,
		                     .since_ms    = s->drain.since_ms,
		                     .deadline_ms = s->drain.deadline_ms };
}

static void prepare_control(struct server_admin *s, struct loop *loop, const struct server_admin_parts *parts)
{
	struct drain_parts whom = { .health   = parts->health,
		                    .tunnel   = parts->tunnel,
		                    .lobby    = parts->lobby,
		                    .rooms    = parts->rooms,
		                    .p2p      = parts->p2p,
		                    .stop     = parts->stop,
		                    .stop_arg = parts->stop_arg };

	drain_init(&s->drain, loop, &whom);
	s->control = (struct admin_control){
		.server = s, .reload = do_reload, .drain = do_drain, .undrain = do_undrain, .look = look_at_drain
	};
}

/* --- Building --- */

bool server_admin_build(struct server_admin *s, struct loop *loop, struct store *store, const struct conf *conf,
                        const struct server_admin_parts *parts)
{
	if (!conf->admin_enable)
		return true;
	s->conf = conf;
	prepare_control(s, loop, parts);
	s->control.backup = backup_new(store);
	if (!s->control.backup || api_new(&s->api, loop, store, conf) != ERR_OK || add_routes(s, parts) != ERR_OK) {
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
	if (s->reload)
		reload_end_asks(s->reload);
	if (s->control.backup)
		backup_stop(s->control.backup);
	if (s->admin) {
		admin_stop(s->admin);
		unlink(s->conf->admin_socket); /* still under the data folder's lock */
	}
	if (s->socket > 0)
		close(s->socket);
	api_free(s->api);
	backup_free(s->control.backup);
}
