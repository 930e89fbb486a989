/*
 * What runs in this process, in the order it is built:
 *
 *	log, store (lock, database), bans, loop, tunnel, cloud, signaling, rooms, peer to peer, lobbies, update files, WebSocket, TCP and UDP
 *	listeners, HTTP front, admin socket
 *
 * Everything that can fail for a reason the operator can mend (a port in use, a bad certificate, a database that is too
 * new) is done before the first client is let in.
 */
#include "server.h"

#include "base/auto.h"
#include "base/event.h"
#include "base/metric.h"
#include "base/text.h"
#include "base/version.h"
#include "cloud/cloud.h"
#include "crypt/hash.h"
#include "health/health_serve.h"
#include "lobby/lobby_serve.h"
#include "net/http.h"
#include "net/inherit.h"
#include "net/listen.h"
#include "net/loop.h"
#include "net/tcp.h"
#include "net/tls.h"
#include "net/tls_watch.h"
#include "net/ws.h"
#include "os/clock.h"
#include "os/log.h"
#include "os/service.h"
#include "os/signals.h"
#include "server_admin.h"
#include "server_backup.h"
#include "server_bans.h"
#include "server_cloud.h"
#include "server_files.h"
#include "server_handover.h"
#include "server_listen.h"
#include "server_p2p.h"
#include "server_reload.h"
#include "server_rooms.h"
#include "server_standby.h"
#include "server_watch.h"
#include "signal/signal_serve.h"
#include "store/store.h"
#include "tunnel/tunnel_serve.h"
#include "update/update_serve.h"

#include <assert.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FRONT_PARTS_MAX 4
#define SIGNAL_PORT \
	10000 /* where players look for signaling when there is none here, unless signal.url says otherwise */

struct server {
	struct conf         *conf;
	struct store        *store;
	struct loop         *loop;
	struct tunnel       *tunnel;
	struct ws           *ws;
	struct cloud        *cloud;  /* NULL: not wanted */
	struct lobby_master *lobby;  /* the same */
	struct update       *update; /* the same */
	struct tcp          *tcp;    /* NULL: neither signaling nor rooms */
	struct signal_relay *signal; /* NULL: not wanted */
	struct server_rooms  rooms;
	struct server_p2p    p2p;
	char              signal_token[STORE_SECRET_TEXT_BYTES]; /* of data/secrets; "" when the operator has set one */
	struct tls_cert  *tls_cert;                              /* for the start; NULL: no TLS */
	struct tls_watch  tls_watch;
	struct health     health;
	struct http_part  front[FRONT_PARTS_MAX]; /* what answers on the HTTP front besides health */
	size_t            front_count;
	struct http_cert *http_cert; /* NULL: no TLS */
	struct http_server  *http;
	struct server_bans   bans;
	struct server_admin  admin;
	struct server_backup backup;
	struct reload       *reload;
	struct handover     *handover;
	struct watch         watch;
	struct listeners     tunnel_plain, tunnel_tls, http_plain, http_tls, signal_plain, signal_tls;
	int64_t              http_leaving;
	struct server_files  asked;    /* limits as they were set; they may be lower now */
	int                  to_close; /* listeners' libraries that still have connections, once stopping */
	bool                 stopping;
	struct timer         close_time; /* how long connections may take to end, at a hand-over */
	bool                 has_lost;   /* something that it had promised to keep; known once it is taken down */
};

static void on_stop(void *arg);
static void on_hand_over(void *arg);

static bool build_admin(struct server *s)
{
	s->bans = (struct server_bans){ .ws           = s->ws,
		                        .tcp          = s->tcp,
		                        .tunnel       = s->tunnel,
		                        .cloud        = s->cloud,
		                        .lobby        = s->lobby,
		                        .signal       = s->signal,
		                        .rooms        = s->rooms.rooms,
		                        .p2p          = s->p2p.p2p,
		                        .http         = &s->http,
		                        .rooms_status = &s->rooms.status };

	struct server_admin_parts parts = { .tunnel    = s->conf->tunnel_enable ? s->tunnel : NULL,
		                            .cloud     = s->cloud,
		                            .lobby     = s->lobby,
		                            .signal    = s->signal,
		                            .rooms     = s->rooms.rooms,
		                            .p2p       = s->conf->p2p_enable ? s->p2p.p2p : NULL,
		                            .bans      = &s->bans,
		                            .ws        = s->ws,
		                            .health    = &s->health,
		                            .backup    = s->backup.backup,
		                            .stop      = on_stop,
		                            .hand_over = on_hand_over,
		                            .arg       = s };

	return server_admin_build(&s->admin, s->loop, s->store, s->conf, &parts);
}

static bool bind_listeners(struct server *s)
{
	const struct conf *c = s->conf;

	if (c->tunnel_enable && (!listeners_bind(&s->tunnel_plain, "tunnel.listen", &c->tunnel_listen, stderr) ||
	                         !listeners_bind(&s->tunnel_tls, "tunnel.tls_listen", &c->tunnel_tls_listen, stderr)))
		return false;
	if (c->http_enable &&
	    (!listeners_bind(&s->http_plain, "http.listen", &c->http_listen, stderr) ||
	     (s->http_cert && !listeners_bind(&s->http_tls, "http.tls_listen", &c->http_tls_listen, stderr))))
		return false;
	return build_admin(s);
}

static void add_front(struct server *s, const struct http_route *routes, void *part)
{
	assert(s->front_count < FRONT_PARTS_MAX);
	s->front[s->front_count++] = (struct http_part){ .routes = routes, .part = part };
}

static bool build_cloud(struct server *s)
{
	if (!s->conf->cloud_enable)
		return true;
	if (cloud_new(&s->cloud, s->loop, s->store, s->conf) != ERR_OK) {
		fputs("coopd: there is no memory for the checkpoints.\n", stderr);
		return false;
	}
	server_join(s->tunnel, s->cloud);
	add_front(s, rest_routes, s->cloud);
	return true;
}

/* Signaling and rooms share it. */
static bool build_tcp(struct server *s)
{
	if (!s->conf->signal_enable && !s->conf->rooms_enable)
		return true;
	if (tcp_new(&s->tcp, s->loop, s->conf) != ERR_OK) {
		fputs("coopd: there is no memory for TCP connections.\n", stderr);
		return false;
	}
	return true;
}

/* Its ports are bound here, since the lobbies tell players of them. */
static bool build_signal(struct server *s)
{
	const struct conf *c = s->conf;

	if (!c->signal_enable)
		return true;
	if (!*c->signal_token && store_secret_text(s->signal_token, s->store, "signal_token", stderr) != ERR_OK)
		return false;
	if (signal_new(&s->signal, s->loop, c, s->signal_token) != ERR_OK) {
		fputs("coopd: there is no memory for the signaling relay.\n", stderr);
		return false;
	}
	tcp_cert_use(s->tcp, s->tls_cert);
	ws_route(s->ws, "/signal", signal_handler(s->signal));
	return listeners_bind(&s->signal_plain, "signal.listen", &c->signal_listen, stderr) &&
	       (!s->tls_cert || listeners_bind(&s->signal_tls, "signal.tls_listen", &c->signal_tls_listen, stderr));
}

static bool build_lobby(struct server *s)
{
	uint16_t signal_port = s->signal_plain.count > 0 ? s->signal_plain.bound[0].port : SIGNAL_PORT;

	if (!s->conf->lobby_enable)
		return true;
	if (lobby_master_new(&s->lobby, s->loop, s->store, s->conf, signal_port, stderr) != ERR_OK)
		return false;
	add_front(s, lobby_routes, s->lobby);
	s->health.lobbies_arg = s->lobby;
	s->health.lobbies     = lobby_count;
	return true;
}

static bool build_update(struct server *s)
{
	if (!update_is_wanted(s->conf))
		return true;
	if (update_new(&s->update, s->loop, s->conf, stderr) != ERR_OK)
		return false;
	add_front(s, update_routes, s->update);
	return true;
}

/* Everything up to the point where clients could come in. */
static bool build(struct server *s)
{
	if (crypt_init() != ERR_OK) {
		fputs("coopd: libsodium does not start.\n", stderr);
		return false;
	}
	if (store_open(&s->store, s->conf, stderr) != ERR_OK || !server_bans_load(s->store) ||
	    !server_backup_build(&s->backup, s->store, s->conf))
		return false;
	s->loop = loop_new();
	if (!s->loop) {
		fputs("coopd: the event loop does not start; is the machine out of memory or file descriptors?\n",
		      stderr);
		return false;
	}
	if (tunnel_new(&s->tunnel, s->loop, s->store, s->conf, stderr) != ERR_OK ||
	    ws_new(&s->ws, s->loop, s->conf, stderr) != ERR_OK ||
	    tls_cert_load(&s->tls_cert, s->conf, stderr) != ERR_OK)
		return false;
	health_init(&s->health, s->store);
	if (!build_cloud(s) || !build_tcp(s) || !build_signal(s) ||
	    !server_rooms_build(&s->rooms, s->loop, s->store, s->conf) ||
	    !server_p2p_build(&s->p2p, s->loop, s->store, s->ws, s->tunnel, s->conf) || !build_lobby(s) ||
	    !build_update(s))
		return false;
	ws_route(s->ws, NULL, tunnel_handler(s->tunnel));
	return http_cert_load(&s->http_cert, s->conf, stderr) == ERR_OK && bind_listeners(s);
}

static bool listen_ws(struct server *s, struct listeners *l, bool tls)
{
	struct addr bound;
	int         fd;

	while (listeners_take(l, &fd, &bound)) {
		if (ws_listen(s->ws, fd, tls) != ERR_OK)
			return false;
	}
	return true;
}

static bool listen_signal(struct server *s, struct listeners *l, bool is_tls)
{
	struct addr bound;
	int         fd;

	while (listeners_take(l, &fd, &bound)) {
		if (tcp_listen(s->tcp, fd, signal_listen(s->signal, is_tls)) != ERR_OK)
			return false;
	}
	return true;
}

static void hand_over(struct http_listen *on, size_t *count, struct listeners *l, bool is_tls)
{
	struct addr bound;
	int         fd;

	while (listeners_take(l, &fd, &bound))
		on[(*count)++] = (struct http_listen){ .fd = fd, .is_tls = is_tls };
}

static bool start_http(struct server *s)
{
	struct http_config cfg = { .name            = "http",
		                   .routes          = health_routes,
		                   .part            = &s->health,
		                   .more            = s->front,
		                   .more_count      = s->front_count,
		                   .stray_post      = s->lobby ? &lobby_stray_post : NULL,
		                   .stray_part      = s->lobby,
		                   .errors          = lobby_errors,
		                   .connections_max = s->conf->limits.http_connections,
		                   .per_address_max = s->conf->limits.http_per_address,
		                   .leaving_max     = s->http_leaving };

	struct http_listen on[2 * LISTENERS_MAX];
	size_t             count = 0;

	hand_over(on, &count, &s->http_plain, false);
	hand_over(on, &count, &s->http_tls, true);
	return count == 0 || http_start(&s->http, &cfg, s->conf, on, count, s->http_cert) == ERR_OK;
}

static bool start(struct server *s)
{
	if (store_start(s->store) != ERR_OK || !server_backup_start(&s->backup))
		return false;
	tls_watch_start(&s->tls_watch, s->loop, s->tls_cert);
	tunnel_start(s->tunnel);
	if (s->cloud)
		cloud_start(s->cloud);
	if (s->lobby)
		lobby_master_start(s->lobby);
	if (s->update)
		update_start(s->update);
	listeners_announce(&s->tunnel_plain, "tunnel");
	listeners_announce(&s->tunnel_tls, "tunnel-tls");
	listeners_announce(&s->http_plain, "http");
	listeners_announce(&s->http_tls, "http-tls");
	listeners_announce(&s->signal_plain, "signal");
	listeners_announce(&s->signal_tls, "signal-tls");
	server_p2p_start(&s->p2p);
	return listen_ws(s, &s->tunnel_plain, false) && listen_ws(s, &s->tunnel_tls, true) &&
	       listen_signal(s, &s->signal_plain, false) && listen_signal(s, &s->signal_tls, true) &&
	       server_rooms_start(&s->rooms, s->tcp, s->conf) && start_http(s) && server_admin_start(&s->admin);
}

/* Signals */

static void on_all_closed(void *arg)
{
	struct server *s = arg;

	if (--s->to_close == 0)
		loop_stop(s->loop);
}

static void stop(struct server *s)
{
	s->stopping = true;
	log_info("server", 0, "stops", "version=%s", COOPD_VERSION);
	health_set(&s->health, HEALTH_DRAINING);
	event_emit(E_SERVER_DRAINING, event_bool("on", true));
	server_admin_leave(&s->admin);
	tunnel_stop(s->tunnel);
	if (s->cloud)
		cloud_stop(s->cloud);
	if (s->lobby)
		lobby_master_stop(s->lobby);
	s->to_close = s->tcp ? 2 : 1;
	ws_stop(s->ws, on_all_closed, s);
	if (s->signal)
		signal_stop(s->signal);
	server_rooms_stop(&s->rooms);
	server_p2p_stop(&s->p2p);
	if (s->tcp)
		tcp_stop(s->tcp, on_all_closed, s);
}

static void on_stop(void *arg)
{
	struct server *s = arg;

	handover_cancel(s->handover);
	s->admin.passes_on = false;
	watch_stopping(&s->watch);
	if (s->stopping) /* somebody is impatient: clients get no close, what is kept is committed all the same */
		loop_stop(s->loop);
	else
		stop(s);
}

/* Handing over */

static void on_accept_end(void *arg)
{
	struct server *s = arg;

	s->admin.passes_on = true;
	ws_accept_end(s->ws);
	if (s->tcp)
		tcp_accept_end(s->tcp);
	if (s->http)
		http_accept_end(s->http);
	if (s->rooms.status)
		http_accept_end(s->rooms.status);
	server_admin_accept_end(&s->admin);
}

static void on_close_time(struct timer *t, int64_t now_ms)
{
	(void)now_ms;
	loop_stop(CONTAINER(t, struct server, close_time)->loop);
}

static void on_leave(void *arg)
{
	struct server *s = arg;

	if (s->stopping)
		return;
	timer_set(s->loop, &s->close_time, loop_now_ms(s->loop) + s->conf->limits.handover_close_ms);
	stop(s);
}

/* Nothing came of it: who plays here is to have it as before. */
static void on_stay(void *arg)
{
	struct server *s = arg;

	if (!s->stopping)
		drain_end(&s->admin.drain);
}

static void on_hand_over(void *arg)
{
	struct server *s = arg;

	handover_begin(s->handover);
}

static bool build_handover(struct server *s)
{
	struct handover_parts parts = { .accept_end = on_accept_end, .leave = on_leave, .stay = on_stay, .arg = s };

	timer_init(&s->close_time, on_close_time);
	watch_init(&s->watch, s->loop, s->store, &s->conf->limits);
	s->handover       = handover_new(s->loop, &s->conf->limits, &parts);
	s->admin.handover = s->handover;
	return s->handover && loop_on_signal(s->loop, SIGUSR1, on_hand_over, s) == ERR_OK;
}

static void on_reloaded(void *arg)
{
	struct server *s = arg;

	ws_reload(s->ws);
	if (s->http)
		http_reload(s->http);
	if (s->rooms.status)
		http_reload(s->rooms.status);
	server_admin_reload(&s->admin);
}

static void on_reload(void *arg)
{
	struct server *s = arg;

	reload_begin(s->reload);
}

#ifdef COOP_TEST_CLOCK
static void on_poke(void *arg)
{
	struct server *s = arg;

	loop_poke(s->loop);
	store_poke(s->store);
	server_backup_poke(&s->backup);
	if (s->http)
		http_poke(s->http);
	server_admin_poke(&s->admin);
	if (s->rooms.status)
		http_poke(s->rooms.status);
}
#endif

static bool take_signals(struct server *s, const struct conf_args *args)
{
	struct reload_parts parts = { .ws           = s->ws,
		                      .tls_watch    = &s->tls_watch,
		                      .tcp          = s->tcp,
		                      .http         = &s->http,
		                      .lobby        = s->lobby,
		                      .signal       = s->signal,
		                      .signal_token = s->signal_token,
		                      .taken        = on_reloaded,
		                      .arg          = s,
		                      .asked        = s->asked };

	s->reload       = reload_new(s->loop, &parts, s->conf, args);
	s->admin.reload = s->reload;
	if (!s->reload || loop_on_signal(s->loop, SIGTERM, on_stop, s) != ERR_OK ||
	    loop_on_signal(s->loop, SIGINT, on_stop, s) != ERR_OK ||
	    loop_on_signal(s->loop, SIGHUP, on_reload, s) != ERR_OK || !build_handover(s))
		return false;
#ifdef COOP_TEST_CLOCK
	return loop_on_signal(s->loop, SIGUSR2, on_poke, s) == ERR_OK;
#else
	return true;
#endif
}

/* Nobody reads a full pipe, and the start does not wait for him. */
static bool takes_a_page(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	return poll(&p, 1, 0) == 1 && (p.revents & POLLOUT);
}

/* False: there is none. */
static bool first_of(char out[ADDR_TEXT_BYTES], const struct listeners *l)
{
	addr_text_port(out, &l->bound[0]); /* stays there when it is handed over */
	return l->bound[0].family != ADDR_NONE;
}

/* What there is none of is not offered. */
static void print_what_now(const struct server *s)
{
	char tunnel[ADDR_TEXT_BYTES], http[ADDR_TEXT_BYTES];
	bool has_http = first_of(http, &s->http_plain);

	puts("\ncoopd is running; the lines above say where it listens. What now:");
	if (first_of(tunnel, &s->tunnel_plain))
		printf("  - point a mod at ws://%s, or put a proxy with TLS before it (see README.md)\n", tunnel);
	if (has_http)
		printf("  - see how it is:          curl http://%s/healthz\n", http);
	if (has_http && s->lobby)
		printf("  - see the open lobbies:   curl http://%s/v1/lobbies\n", http);
	if (s->conf->admin_enable)
		printf("  - see its figures:        curl --unix-socket %s http://localhost/metrics\n",
		       s->conf->admin_socket);
	printf("  - look into its database: sqlite3 -readonly %s/coop.db 'SELECT * FROM games'\n"
	       "  - stop it:                Ctrl-C\n\n",
	       s->conf->server_data);
	fflush(stdout);
}

static void greet(const struct server *s)
{
	metric_set(M_UP, 1);
	metric_set(M_START_SECONDS, clock_wall_ms() / 1000);
	metric_set(M_PROCESS_START_SECONDS, clock_wall_ms() / 1000);
	event_emit(E_SERVER_READY, event_word("version", COOPD_VERSION));
	log_info("server", 0, "ready", "version=%s data=%s", COOPD_VERSION, s->conf->server_data);
	if (!s->conf->server_production && takes_a_page(STDOUT_FILENO))
		print_what_now(s);
}

#define FEW_FILES_BYTES 512

/* Says which are lower than what was asked for; false: none is. */
static bool list_lowered(char out[FEW_FILES_BYTES], const struct server_files *share, const struct limits *asked)
{
	const struct {
		const char *name;
		int64_t     is, was;
	} rows[] = {
		{ "ws_connections", share->ws_connections, asked->ws_connections },
		{ "cloud_vaults", share->cloud_vaults, asked->cloud_vaults },
		{ "signal_peers", share->signal_peers, asked->signal_peers },
		{ "rooms_connections", share->rooms_connections, asked->rooms_connections },
		{ "rooms_streams", share->rooms_streams, asked->rooms_streams },
		{ "admin_connections", share->admin_connections, asked->admin_connections },
		{ "admin_tcp_connections", share->admin_tcp_connections, asked->admin_tcp_connections },
		{ "admin_viewers", share->admin_viewers, asked->admin_viewers },
	};
	size_t used = 0;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		if (rows[i].is >= rows[i].was)
			continue;
		text_format(out + used, FEW_FILES_BYTES - used, "%s%s=%lld instead of %lld", used > 0 ? ", " : "",
		            rows[i].name, (long long)rows[i].is, (long long)rows[i].was);
		used += strlen(out + used);
	}
	return used > 0;
}

/* All that strangers can make grow has to fit into what the process may have open. */
static bool share_files(struct server *s, FILE *report)
{
	struct server_files share;
	char                lowered[FEW_FILES_BYTES];
	long                files = listen_raise_files();
	struct limits      *l     = &s->conf->limits;

	if (server_files_share(&share, s->conf, files, server_files_open(), report) != ERR_OK)
		return false;
	if (list_lowered(lowered, &share, l))
		log_warn("server", 0, "few-files",
		         "limit=%ld %s: with LimitNOFILE= (systemd) or ulimit -n at %lld there is room for all", files,
		         lowered, (long long)share.wanted);
	s->asked                 = (struct server_files){ .ws_connections        = l->ws_connections,
		                                          .cloud_vaults          = l->cloud_vaults,
		                                          .signal_peers          = l->signal_peers,
		                                          .rooms_connections     = l->rooms_connections,
		                                          .rooms_streams         = l->rooms_streams,
		                                          .admin_connections     = l->admin_connections,
		                                          .admin_tcp_connections = l->admin_tcp_connections,
		                                          .admin_viewers         = l->admin_viewers };
	s->http_leaving          = share.http_leaving;
	l->ws_connections        = share.ws_connections;
	l->cloud_vaults          = share.cloud_vaults;
	l->signal_peers          = share.signal_peers;
	l->rooms_connections     = share.rooms_connections;
	l->rooms_streams         = share.rooms_streams;
	l->admin_connections     = share.admin_connections;
	l->admin_tcp_connections = share.admin_tcp_connections;
	l->admin_viewers         = share.admin_viewers;
	return true;
}

/* In reverse; each part copes with not having been built. */
static void take_down(struct server *s)
{
	if (s->loop)
		loop_end_asks(s->loop);
	server_backup_stop(&s->backup);
	if (s->handover)
		handover_end_asks(s->handover);
	server_admin_stop(&s->admin);
	if (s->http)
		http_stop(s->http);
	if (s->reload)
		reload_free(s->reload);
	if (s->update)
		update_stop(s->update);
	if (s->cloud)
		cloud_finish(s->cloud);
	if (s->lobby)
		lobby_master_finish(s->lobby);
	server_rooms_finish(&s->rooms);
	if (s->handover)
		handover_pass_on(s->handover);
	if (s->store)
		store_stop(s->store);
	if (s->loop)
		loop_drain(s->loop);
	s->has_lost = server_rooms_has_lost(&s->rooms);
	if (s->tcp)
		tcp_free(s->tcp);
	if (s->ws)
		ws_free(s->ws);
	if (s->cloud)
		cloud_free(s->cloud);
	if (s->lobby)
		lobby_master_free(s->lobby);
	if (s->update)
		update_free(s->update);
	signal_free(s->signal);
	server_rooms_free(&s->rooms);
	server_p2p_free(&s->p2p);
	if (s->tunnel)
		tunnel_free(s->tunnel);
	server_admin_free(&s->admin);
	server_backup_free(&s->backup);
	if (s->loop)
		loop_free(s->loop);
	listeners_close(&s->tunnel_plain);
	listeners_close(&s->tunnel_tls);
	listeners_close(&s->http_plain);
	listeners_close(&s->http_tls);
	listeners_close(&s->signal_plain);
	listeners_close(&s->signal_tls);
	http_cert_free(s->http_cert);
	tls_cert_free(s->tls_cert);
	ban_clear();
	wipe_secret(s->signal_token, sizeof(s->signal_token));
}

static void take_inherited(void)
{
	struct service_socket sockets[SERVICE_SOCKETS_MAX];

	inherit_begin(sockets, service_sockets(sockets));
}

/* The other process leaves once it hears that this one stands by. */
static bool prepare(struct server *s, FILE *report)
{
	bool is_good = share_files(s, report) && (report == stderr || server_stand_by(s->conf, report));

	handover_answer(report, is_good);
	return is_good && handover_wait(s->conf);
}

int server_run(struct conf *conf, const struct conf_args *args, FILE *report)
{
	struct server s = { .conf = conf };

	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a file-size limit is an error of a write, not the end */
	addr_log_whole(conf->log_addresses == CONF_SCALE_full);

	log_start((enum log_level)conf->log_level, (enum log_format)conf->log_format);

	service_warn();
	take_inherited();

	bool ok = prepare(&s, report) && build(&s);

	if (ok)
		inherit_finish();
	ok = ok && take_signals(&s, args) && start(&s);
	if (ok) {
		signals_release();
		health_set(&s.health, HEALTH_READY);
		greet(&s);
		watch_ready(&s.watch);
		loop_run(s.loop);
	} else {
		log_error("server", 0, "does-not-start",
		          "see the lines above; when none says why, the machine is out of memory or file descriptors");
	}
	signals_hold(); /* their handlers go */
	take_down(&s);
	if (ok && s.has_lost)
		log_error("server", 0, "stopped", "not everything could be kept, see the lines above");
	else if (ok)
		log_info("server", 0, "stopped", "everything kept is committed");
	log_stop();
	handover_finish(s.handover);
	return ok && !s.has_lost ? 0 : 1;
}
