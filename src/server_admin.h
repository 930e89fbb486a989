/*
 * The operator's surface: all parts' routes, and the listeners they are served on.
 */
#ifndef SERVER_ADMIN_H
#define SERVER_ADMIN_H

#include "admin/admin_control.h"
#include "admin/admin_events.h"
#include "admin/admin_forget.h"
#include "admin/admin_serve.h"
#include "api/api.h"
#include "cloud/cloud.h"
#include "health/health_serve.h"
#include "lobby/lobby_serve.h"
#include "p2p/p2p_serve.h"
#include "rooms/rooms_serve.h"
#include "server_bans.h"
#include "server_drain.h"
#include "server_handover.h"
#include "server_listen.h"
#include "server_reload.h"
#include "signal/signal_serve.h"
#include "tunnel/tunnel_serve.h"

#include <stdbool.h>

struct server_admin { /* all zeros: not wanted */
	struct api          *api;
	struct admin_server  server;
	struct admin_control control;
	struct admin_bans    bans;
	struct admin_forget  forget;
	struct admin        *by_socket, *by_tcp;
	const struct conf   *conf;
	const struct health *health;
	struct drain         drain;
	struct reload       *reload;   /* set by the server before start */
	struct handover     *handover; /* the same */
	struct unix_listener socket;   /* fd 0 once by_socket has it */
	struct listeners     tcp;
	struct ws           *ws;
	struct admin_events *events;
	struct unix_listener events_socket; /* fd 0 once the door has it */
	bool                 passes_on;     /* another process has the listening sockets too: their files stay */
	struct listeners     events_tcp;
};

/* Whose routes there are; NULL: switched off. */
struct server_admin_parts {
	struct tunnel       *tunnel;
	struct cloud        *cloud;
	struct lobby_master *lobby;
	struct signal_relay *signal;
	struct rooms        *rooms;
	struct p2p          *p2p;
	struct server_bans  *bans; /* is always there */
	struct ws           *ws;   /* the same */
	/* What operators do to the whole. */
	struct health *health;
	struct backup *backup;
	void (*stop)(void *arg);      /* as SIGTERM does; loop thread */
	void (*hand_over)(void *arg); /* as SIGUSR1 does; loop thread */
	void *arg;
};

/* Adds the routes of all parts to s->api. */
enum err server_admin_routes(struct server_admin *s, const struct server_admin_parts *p);

/* Between store_open and store_start. Binds the listeners. False, after a sentence on standard error. */
bool server_admin_build(struct server_admin *s, struct loop *loop, struct store *store, const struct conf *conf,
                        const struct server_admin_parts *parts);
bool server_admin_start(struct server_admin *s);
void server_admin_poke(struct server_admin *s);

/* The settings have changed. Loop thread. */
void server_admin_reload(struct server_admin *s);

/* Takes no connection any more; those that are there stay. The sockets stay open, for who has them too. Loop thread, once started. */
void server_admin_accept_end(struct server_admin *s);

/* The server ends: viewers get what happened up to now. Before ws_stop. */
void server_admin_leave(struct server_admin *s);

/* After loop_end_asks and backup_stop. */
void server_admin_stop(struct server_admin *s);
void server_admin_free(struct server_admin *s); /* after loop_drain and ws_free */

#endif
