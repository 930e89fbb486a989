/*
 * An honest game, to be played beside whatever a test does to the server: a host and a friend.
 *
 *	struct honest h;
 *
 *	honest_begin(&h, NULL);
 *	...
 *	honest_play(&h);
 *	honest_finish(&h);
 */
#ifndef TESTS_HONEST_H
#define TESTS_HONEST_H

#include "support/server.h"
#include "support/tunnel_client.h"

#include <stdint.h>

struct honest {
	struct server    *s;
	uint32_t          code;
	struct ws_client *host, *friend;
};

/* Starts a server with these settings (as server_start) and the game on it. */
void honest_begin(struct honest *h, const char *const *sets);

/* A datagram each way; nothing else may have come to either of them. Also their sign of life. */
void honest_play(struct honest *h);

/* They play once more, all others are gone and left nothing behind, and the server stops as it should. */
void honest_finish(struct honest *h);

#endif
