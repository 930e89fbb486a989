/*
 * Draining: nothing new begins, who plays goes on, and at a deadline the server stops.
 *
 *	RUNNING --drain--> DRAINING --deadline--> stops
 *	    ^----undrain------/
 */
#ifndef SERVER_DRAIN_H
#define SERVER_DRAIN_H

#include "health/health_serve.h"
#include "lobby/lobby_serve.h"
#include "net/loop.h"
#include "p2p/p2p_serve.h"
#include "rooms/rooms_serve.h"
#include "tunnel/tunnel_serve.h"

#include <stdbool.h>
#include <stdint.h>

/* Whom it concerns; NULL: switched off. */
struct drain_parts {
	struct health       *health;
	struct tunnel       *tunnel;
	struct lobby_master *lobby;
	struct rooms        *rooms;
	struct p2p          *p2p;
	void (*stop)(void *arg); /* the server, as SIGTERM does */
	void *stop_arg;
};

struct drain { /* loop thread only */
	struct loop       *loop;
	struct drain_parts parts;
	struct timer       deadline;
	bool               is_on;
	int64_t            since_ms, deadline_ms; /* wall; deadline_ms 0: none */
};

void drain_init(struct drain *d, struct loop *loop, const struct drain_parts *parts);

/* deadline_s 0: none. Again while it drains: another deadline. */
void drain_begin(struct drain *d, int64_t deadline_s);
void drain_end(struct drain *d);

#endif
