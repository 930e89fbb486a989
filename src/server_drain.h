/*
 * Draining: nothing new begins, who plays goes on, and at a deadline the server stops, or hands over to a new process.
 *
 *	RUNNING --drain--> DRAINING --deadline-----------------------------> stops
 *	    ^----undrain------/  \--to hand over: deadline, or nobody is left--> hands over
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
	void (*stop)(void *arg);      /* the server, as SIGTERM does */
	void (*hand_over)(void *arg); /* begins it; what comes of it is seen elsewhere */
	void *arg;
};

struct drain { /* loop thread only */
	struct loop       *loop;
	struct drain_parts parts;
	struct timer       deadline, look; /* look: whether somebody is left */
	bool               is_on, hands_over;
	int                empty_looks;
	int64_t            since_ms, deadline_ms; /* wall; deadline_ms 0: none */
};

void drain_init(struct drain *d, struct loop *loop, const struct drain_parts *parts);

/* deadline_s 0: none. Again while it drains: another deadline, and another end. */
void drain_begin(struct drain *d, int64_t deadline_s, bool hands_over);
void drain_end(struct drain *d);

#endif
