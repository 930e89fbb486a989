/*
 * The game tunnel, live: WebSocket connections in, datagrams and control messages out.
 *
 *	bytes --net/ws--> tunnel_serve --> tunnel_wire (parse) --> tunnel_state (decide) --> tunnel_serve (keep, send)
 *
 * It reads the clock and the random source, hashes keys and tokens, and does what the state says. Everything here is for
 * the loop thread.
 */
#ifndef TUNNEL_TUNNEL_SERVE_H
#define TUNNEL_TUNNEL_SERVE_H

#include "base/err.h"
#include "conf/conf.h"
#include "net/loop.h"
#include "net/ws.h"
#include "store/store.h"

#include <stdio.h>

struct tunnel;

/*
 * Loads what is kept, so before store_start. All arguments must outlive it. On failure one sentence for the operator was
 * written to report.
 */
enum err tunnel_new(struct tunnel **out, struct loop *loop, struct store *store, const struct conf *conf, FILE *report);

/* What net/ws is to call for every path that is no other part's. */
const struct ws_handler *tunnel_handler(struct tunnel *t);

/* Begins the periodic checks. The loop need not run yet. */
void tunnel_start(struct tunnel *t);

/*
 * Before the connections are closed for a stop: ends the periodic checks, so that friends who go because of it do not end
 * the game that a restart is to bring back.
 */
void tunnel_stop(struct tunnel *t);

/* After the store has stopped, the loop has run what was posted, and every connection is gone. */
void tunnel_free(struct tunnel *t);

#endif
