/*
 * What the HTTP front says about the process itself, for monitors and load balancers.
 *
 *	GET /healthz	200 as soon as the process serves:
 *			{"ok":true,"lobbies":0,"version":"0.1.0","store":"ok|slow|failing","draining":false}
 *	GET /readyz	200 {"ready":true,"state":"ready"} when players can be served; 503 with "ready":false and the
 *			state "starting", "draining" or "failing" (the store) when not
 *
 * Neither waits for anything: what they say is looked up in atomic variables.
 */
#ifndef HEALTH_HEALTH_SERVE_H
#define HEALTH_HEALTH_SERVE_H

#include "net/http.h"
#include "store/store.h"

#include <stdatomic.h>
#include <stdint.h>

enum health_state { HEALTH_STARTING, HEALTH_READY, HEALTH_DRAINING };

/* The part of health_routes. */
struct health {
	const struct store *store;
	atomic_int          state; /* enum health_state */
	/* Says how many lobbies there are, from any thread and without waiting; NULL: there is no list of them. */
	int64_t (*lobbies)(void *arg);
	void *lobbies_arg;
};

extern const struct http_route health_routes[];

/* In HEALTH_STARTING, without lobbies, which the caller may set before anybody asks. store must outlive h. */
void health_init(struct health *h, const struct store *store);

/* Any thread. */
void health_set(struct health *h, enum health_state state);

/* Why no players can be served: "starting", "draining", "failing"; NULL when they can. A slow store is no obstacle. */
const char *health_obstacle(enum health_state state, enum store_health store);

#endif
