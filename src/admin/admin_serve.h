/*
 * The operator's surface: REST and figures on a unix socket and on TCP. What it answers: src/admin/PROTOCOL.md.
 *
 * The routes of all parts come through src/api; those here are about the server itself.
 */
#ifndef ADMIN_ADMIN_SERVE_H
#define ADMIN_ADMIN_SERVE_H

#include "api/api.h"
#include "base/err.h"
#include "conf/conf.h"
#include "net/ban.h"
#include "net/http.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct admin;

/*
 * Who ends connections that a ban is meant for: end on the loop thread, end_http on the request's own. Each returns how many
 * there are; with do_end, they end. The part of admin_ban_routes.
 */
struct admin_bans {
	size_t (*end)(void *arg, const struct ban *b, bool do_end);
	size_t (*end_http)(void *arg, const struct ban *b, bool do_end);
	void *arg;
};

/* Figures. Their part is not looked at, but must not be NULL. */
extern const struct api_route admin_metric_routes[];

/* What the routes about the server itself know of the rest of it; their part. All is asked on any thread and waits for nothing. */
#define ADMIN_PARTS_MAX 12
struct admin_control;
struct admin_server {
	struct api           *api;
	struct admin_control *control;
	const char *(*state)(void *arg); /* "starting", "ready", "draining", "failing" */
	void  *state_arg;
	size_t part_count;
	struct {
		const char *name;
		bool        is_on;
	} parts[ADMIN_PARTS_MAX];
};
extern const struct api_route admin_server_routes[];

/* The parts of these are the api. */
extern const struct api_route admin_player_routes[];
extern const struct api_route admin_ban_routes[];
extern const struct api_route admin_token_routes[];
extern const struct api_route admin_audit_routes[];
extern const struct api_route admin_openapi_routes[];

/* The description of all routes, put together from src/admin/openapi/, as text, for free(). ERR_INTERNAL: its pieces do not fit. */
enum err admin_openapi_text(char **out);

/* A way in: its name in logs, its listening sockets, which it owns, and how many may come. per_address_max 0: any. */
struct admin_door {
	const char               *name;
	const struct http_listen *on;
	size_t                    count;
	int64_t                   connections_max, per_address_max;
};

/*
 * Serves all routes of the api at this door. more: tables of other parts in the form of net/http. conf, api and what more
 * points to must outlive it. Errors as of http_start.
 */
enum err admin_start(struct admin **out, struct api *api, const struct admin_door *door, const struct http_part *more,
                     size_t more_count);

/* As http_reload. */
void admin_reload_proxies(struct admin *a);

/* As http_accept_end. */
void admin_accept_end(struct admin *a);

/* As http_stop. The unix socket's file stays; it is the caller's. */
void admin_stop(struct admin *a);

/* Looks at every deadline now: after the test clock was moved. Any thread. */
void admin_poke(struct admin *a);

#endif
