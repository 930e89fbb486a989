/*
 * coopd behind a proxy as people put it before it, configured with the very lines of README.md, and clients that come to it
 * from addresses of their own.
 *
 *	for (size_t i = 0; i < EDGE_PROXIES; i++) {
 *		struct edge e = { .of = &edge_proxies[i] };
 *
 *		if (!program_or_skip(e.of->name))
 *			continue;
 *		edge_open(&e, (const char *[]){ "limits.lobby_creates=3", NULL });
 *		... e.a, e.b: plain ports, behind which TLS and the proxy are
 *		edge_close(&e);
 *	}
 *
 * The server is in production, with update files (release.h) and the secrets of the tests.
 */
#ifndef TESTS_EDGE_H
#define TESTS_EDGE_H

#include "support/lobby_client.h"
#include "support/program.h"
#include "support/server.h"
#include "support/tls_bridge.h"

#include <stdbool.h>
#include <stddef.h>

#define EDGE_NAME      "play.example.org" /* of the server, in README.md */
#define EDGE_ADDRESS_A "127.0.0.5"
#define EDGE_ADDRESS_B "127.0.0.6"
#define EDGE_PROXIES   3

struct edge;

struct edge_proxy {
	const char *name; /* also of the block */
	void (*configure)(char *text, const struct edge *e);
	const char *args[10];
	struct {
		const char *says, *instead;
	} appending[2]; /* what the README says, and what makes it a proxy that appends */
};
extern const struct edge_proxy edge_proxies[EDGE_PROXIES];

struct edge {
	/* Set before edge_open. */
	const struct edge_proxy *of;
	bool appends;  /* it adds the client's address to what he wrote, as many do, instead of replacing it */
	int  idle_s;   /* how long it leaves an idle WebSocket alone; 0: as the README says */
	bool is_whole; /* with processes as in real life, so that it can be reloaded */

	struct server  *server;
	struct program *proxy;
	int             port, admin_port; /* the proxy's; Caddy's own API */
	char            folder[32];       /* of its files, below the test's data folder */

	struct tls_bridge *bridges[2];
	int                a, b;       /* where a client from EDGE_ADDRESS_A connects to, and one from _B */
	struct server      at_a, at_b; /* the server as these see it, for clients that ask for a server */
};

/* The certificate that all of them show, which is made once. */
const char *edge_cert(void);

/* Starts server and proxy. sets: further settings, ended by NULL; NULL: none. */
void edge_open(struct edge *e, const char *const *sets);
void edge_close(struct edge *e); /* clients must be gone */

/* Has the proxy read its configuration again, as its own reload does it: systemctl reload. */
void edge_reload(struct edge *e);

/* Starts the server again behind the proxy, once it has ended; it listens where it did. */
void edge_relaunch(struct edge *e);

/* With every proxy that is installed; how: what is set before edge_open, or NULL. */
typedef void (*edge_check)(struct edge *e, const char *name);
void edge_each(edge_check check, const struct edge *how, const char *const *sets);

#endif
