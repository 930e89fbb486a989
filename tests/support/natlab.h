/*
 * A small Internet made of network namespaces, for as long as the test lasts: a server with two public addresses, and
 * players behind routers of chosen kinds. What it is made of, and the names of its nodes, stand in tests/support/natlab,
 * the script that makes it.
 *
 *	struct natlab *lab = natlab_new((const char *[]){ "port", "symmetric", NULL });
 *
 *	if (!lab)
 *		return;
 *	struct server *s = natlab_server(lab, NULL);
 *
 *	natlab_enter(lab, "port-1");
 *	... sockets made here are those of a player behind a router ...
 *	natlab_leave();
 *
 * It takes root, iproute2 and nftables, and needs nothing of the machine's own network. Where it cannot be, the test fails
 * and says why; with COOP_NO_NATLAB in the environment it says so and is skipped.
 */
#ifndef TESTS_NATLAB_H
#define TESTS_NATLAB_H

#include "support/server.h"

#include <sys/types.h>

#define NATLAB_S1 "203.0.113.1"
#define NATLAB_S2 "203.0.113.2"

#define NATLAB_ROOMS_PORT  36100
#define NATLAB_TUNNEL_PORT 36101

#define NATLAB_NODES_MAX  48
#define NATLAB_NODE_BYTES 32

struct natlab_node {
	char name[NATLAB_NODE_BYTES];
	char address[16]; /* its own */
	char outside[16]; /* as others see it */
	int  netns;       /* for netns_enter */
};

struct natlab {
	pid_t              pid;   /* of the script, which is there as long as the lab */
	int                input; /* it ends when this is closed */
	struct natlab_node nodes[NATLAB_NODES_MAX];
	size_t             node_count;
	struct natlab     *next; /* of those not yet freed */
};

/*
 * kinds end with NULL. NULL when it cannot be and COOP_NO_NATLAB is set: the reason has been printed then, and the test has
 * to return.
 */
struct natlab *natlab_new(const char *const *kinds);
void           natlab_free(struct natlab *lab); /* NULL is fine; whatever runs in it goes on without a network */

/* The test ends when there is no such node. */
const struct natlab_node *natlab_node(const struct natlab *lab, const char *name);

void natlab_enter(const struct natlab *lab, const char *node);
void natlab_leave(void);

/*
 * A server on the server's node; its rooms and its tunnels are at every address of it, NATLAB_ROOMS_PORT and
 * NATLAB_TUNNEL_PORT, and the NAT check and STUN at both, ports 3478 and 3479. sets: as of server_start.
 */
struct server *natlab_server(const struct natlab *lab, const char *const *sets);

/*
 * What natlab_new does, in steps: NULL, or why there can be no lab; until the next call. user: who tries it (0: root, as
 * natlab_new does).
 */
const char *natlab_try(struct natlab **out, const char *const *kinds, uid_t user);

#endif
