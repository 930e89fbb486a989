#include "server_admin.h"

#include "admin/admin_page.h"
#include "api/api_token.h"
#include "base/auto.h"
#include "base/event.h"
#include "base/text.h"
#include "net/listen.h"
#include "os/clock.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#define PLACE_BYTES 128 /* a unix socket's path is shorter */

enum err server_admin_routes(struct server_admin *s, const struct server_admin_parts *p)
{
	struct api *a = s->api;
	const struct {
		const struct api_route *routes;
		void                   *part;
	} tables[] = {
		/* clang-format off */
		{ admin_metric_routes, a },
		{ admin_openapi_routes, a },
		{ admin_server_routes, &s->server },
		{ admin_control_routes, &s->control },
		{ tunnel_admin_routes, p->tunnel },
		{ admin_player_routes, a },
		{ admin_forget_routes, &s->forget },
		{ cloud_admin_routes, p->cloud },
		{ lobby_admin_routes, p->lobby },
		{ signal_admin_routes, p->signal },
		{ rooms_admin_routes, p->rooms },
		{ p2p_admin_routes, p->p2p },
		{ admin_ban_routes, &s->bans },
		{ admin_token_routes, a },
		{ admin_audit_routes, a },
		{ admin_page_routes, a },
		/* clang-format on */
	};
	enum err e = ERR_OK;

	for (size_t i = 0; e == ERR_OK && i < COUNT_OF(tables); i++)
		e = api_add(a, tables[i].routes, tables[i].part);
	return e;
}

/* --- What operators do to the whole --- */

static enum err do_reload(struct admin_reload *out, void *server, bool only_try)
{
	struct server_admin *s = server;
	struct reload_result r;
	enum err             e = only_try ? reload_try(&r, s->reload) : reload_ask(&r, s->reload);

	*out = (struct admin_reload){ .changed = r.changed, .restart = r.restart, .problems = r.problems };
	return e;
}

static void do_drain(void *server, int64_t deadline_s, bool hands_over)
{
	struct server_admin *s = server;

	drain_begin(&s->drain, deadline_s, hands_over);
}

static enum err do_hand_over(pid_t *pid, char text[SUCCESSOR_TEXT_BYTES], void *server, bool only_try)
{
	struct server_admin *s = server;

	return handover_ask(pid, text, s->handover, only_try);
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
		                     .hands_over  = s->drain.hands_over,
		                     .since_ms    = s->drain.since_ms,
		                     .deadline_ms = s->drain.deadline_ms };
}

static void prepare_control(struct server_admin *s, struct loop *loop, const struct server_admin_parts *parts)
{
	struct drain_parts whom = { .health    = parts->health,
		                    .tunnel    = parts->tunnel,
		                    .lobby     = parts->lobby,
		                    .rooms     = parts->rooms,
		                    .p2p       = parts->p2p,
		                    .stop      = parts->stop,
		                    .hand_over = parts->hand_over,
		                    .arg       = parts->arg };

	drain_init(&s->drain, loop, &whom);
	s->control = (struct admin_control){ .server    = s,
		                             .reload    = do_reload,
		                             .drain     = do_drain,
		                             .hand_over = do_hand_over,
		                             .undrain   = do_undrain,
		                             .look      = look_at_drain };
}

/* --- Building --- */

static const char *state_of(void *arg)
{
	const struct server_admin *s = arg;
	const char                *why =
		health_obstacle((enum health_state)atomic_load(&s->health->state), store_health(s->health->store));

	return why ? why : "ready";
}

static void describe(struct server_admin *s, const struct conf *conf)
{
	const struct {
		const char *name;
		bool        is_on;
	} parts[] = {
		{ "tunnel", conf->tunnel_enable },
		{ "cloud", conf->cloud_enable },
		{ "http", conf->http_enable },
		{ "lobby", conf->lobby_enable },
		{ "signal", conf->signal_enable },
		{ "rooms", conf->rooms_enable },
		{ "p2p", conf->p2p_enable },
		{ "stun", conf->p2p_enable && conf->stun_enable },
		{ "update", conf->update_enable && *conf->update_dir },
	};

	s->server = (struct admin_server){
		.api = s->api, .control = &s->control, .state = state_of, .state_arg = s, .part_count = COUNT_OF(parts)
	};
	for (size_t i = 0; i < COUNT_OF(parts); i++) {
		s->server.parts[i].name  = parts[i].name;
		s->server.parts[i].is_on = parts[i].is_on;
	}
}

/* The store's thread does not run yet, so the database is ours. */
static enum err build_api(struct server_admin *s, struct loop *loop, struct store *store, const struct conf *conf,
                          const struct server_admin_parts *parts)
{
	enum err e = api_new(&s->api, loop, store, conf);

	if (e != ERR_OK)
		return e;
	describe(s, conf);
	e = server_admin_routes(s, parts);
	if (e == ERR_OK)
		e = api_tokens_load(s->api, store_db(store));
	if (e == ERR_OK)
		api_trail_start(s->api);
	return e;
}

/* On which ports the page is, for who asks for events from it. */
static void note_pages(struct admin_events_config *cfg, const struct listeners *tcp)
{
	for (size_t i = 0; i < tcp->count && i < ADMIN_EVENTS_PAGES_MAX; i++)
		cfg->pages[cfg->page_count++] = tcp->bound[i].port;
}

static bool build_events(struct server_admin *s, struct loop *loop, struct store *store)
{
	const struct conf         *conf = s->conf;
	struct admin_events_config cfg  = { .api = s->api, .ws = s->ws, .store = store, .conf = conf };

	note_pages(&cfg, &s->tcp);
	if (admin_events_new(&s->events, loop, &cfg) != ERR_OK) {
		fputs("coopd: there is no memory for the operators' events.\n", stderr);
		return false;
	}
	return listeners_bind_unix(&s->events_socket, "admin.events_socket", conf->admin_events_socket) &&
	       listeners_bind(&s->events_tcp, "admin.events_listen", &conf->admin_events_listen, stderr);
}

bool server_admin_build(struct server_admin *s, struct loop *loop, struct store *store, const struct conf *conf,
                        const struct server_admin_parts *parts)
{
	enum err e;

	if (!conf->admin_enable)
		return true;
	s->conf   = conf;
	s->health = parts->health;
	s->bans   = (struct admin_bans){ .end = server_bans_end, .end_http = server_bans_end_http, .arg = parts->bans };
	s->ws     = parts->ws;
	s->forget = (struct admin_forget){ .end      = server_bans_end,
		                           .end_http = server_bans_end_http,
		                           .begin    = server_forget_begin,
		                           .finish   = server_forget_finish,
		                           .name     = server_forget_name,
		                           .arg      = parts->bans };
	prepare_control(s, loop, parts);
	s->control.backup = parts->backup;
	e                 = event_start((size_t)conf->limits.admin_events_kept, clock_wall_ms);
	if (e == ERR_OK)
		e = build_api(s, loop, store, conf, parts);
	if (e != ERR_OK) {
		fprintf(stderr, "coopd: the operator's API does not start: %s.\n", err_people(e));
		return false;
	}
	return listeners_bind_unix(&s->socket, "admin.socket", conf->admin_socket) &&
	       listeners_bind(&s->tcp, "admin.listen", &conf->admin_listen, stderr) && build_events(s, loop, store);
}

/* Whole, for who looks from another folder. One that is too long for that, nobody could connect to either. */
static void describe_place(char out[PLACE_BYTES], const char *path)
{
	char here[PATH_MAX];

	if (*path == '/' || *path == '@' || !getcwd(here, sizeof(here)) ||
	    !text_format(out, PLACE_BYTES, "unix:%s/%s", here, path))
		text_format(out, PLACE_BYTES, "unix:%s", path);
}

static bool start_unix(struct server_admin *s)
{
	struct http_listen on   = { .fd = s->socket.fd };
	struct admin_door  door = {
		 .name = "admin", .on = &on, .count = 1, .connections_max = s->conf->limits.admin_connections
	};
	char place[PLACE_BYTES];

	describe_place(place, s->socket.path);
	listen_announce("admin", place, "");
	s->socket.fd = 0;
	return admin_start(&s->by_socket, s->api, &door, NULL, 0) == ERR_OK;
}

/* A door of its own, so that whoever fills it keeps nobody from the socket. */
static bool start_tcp(struct server_admin *s)
{
	struct http_listen on[LISTENERS_MAX] = { 0 };
	struct addr        bound;
	struct admin_door  door = { .name            = "admin-tcp",
		                    .on              = on,
		                    .connections_max = s->conf->limits.admin_tcp_connections,
		                    .per_address_max = s->conf->limits.admin_per_address };

	listeners_announce(&s->tcp, "admin");
	while (listeners_take(&s->tcp, &on[door.count].fd, &bound))
		door.count++;
	return door.count == 0 || admin_start(&s->by_tcp, s->api, &door, NULL, 0) == ERR_OK;
}

static bool start_events(struct server_admin *s)
{
	struct addr bound;
	char        place[PLACE_BYTES];
	int         fd = s->events_socket.fd;

	describe_place(place, s->events_socket.path);
	listen_announce("admin-events", place, "");
	listeners_announce(&s->events_tcp, "admin-events");
	s->events_socket.fd = 0;
	if (ws_listen_door(s->ws, fd) != ERR_OK)
		return false;
	while (listeners_take(&s->events_tcp, &fd, &bound)) {
		if (ws_listen_door(s->ws, fd) != ERR_OK)
			return false;
	}
	admin_events_start(s->events);
	return true;
}

bool server_admin_start(struct server_admin *s)
{
	return !s->api || (start_unix(s) && start_tcp(s) && start_events(s));
}

void server_admin_reload(struct server_admin *s)
{
	if (s->by_socket)
		admin_reload_proxies(s->by_socket);
	if (s->by_tcp)
		admin_reload_proxies(s->by_tcp);
}

void server_admin_accept_end(struct server_admin *s)
{
	if (s->by_socket)
		admin_accept_end(s->by_socket);
	if (s->by_tcp)
		admin_accept_end(s->by_tcp);
}

void server_admin_leave(struct server_admin *s)
{
	if (s->events)
		admin_events_stop(s->events);
}

void server_admin_poke(struct server_admin *s)
{
	if (s->by_socket)
		admin_poke(s->by_socket);
	if (s->by_tcp)
		admin_poke(s->by_tcp);
}

/* Still under the data folder's lock. */
static void end_unix(const struct server_admin *s, struct unix_listener *l)
{
	if (l->path[0] && l->is_ours && !s->passes_on)
		unlink(l->path);
	if (l->fd > 0)
		close(l->fd);
	*l = (struct unix_listener){ 0 };
}

void server_admin_stop(struct server_admin *s)
{
	if (s->reload)
		reload_end_asks(s->reload);
	if (s->by_tcp)
		admin_stop(s->by_tcp);
	if (s->by_socket)
		admin_stop(s->by_socket);
	end_unix(s, &s->socket);
	end_unix(s, &s->events_socket);
	listeners_close(&s->tcp);
	listeners_close(&s->events_tcp);
}

void server_admin_free(struct server_admin *s)
{
	admin_events_free(s->events);
	api_free(s->api);
	event_stop();
}
