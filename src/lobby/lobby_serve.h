/*
 * The lobby master over HTTP: routes, answers, log, and the one lock under which the lobbies and their windows are.
 *
 * What it answers, byte by byte: src/lobby/PROTOCOL.md.
 */
#ifndef LOBBY_LOBBY_SERVE_H
#define LOBBY_LOBBY_SERVE_H

#include "api/api.h"
#include "conf/conf.h"
#include "net/ban.h"
#include "net/http.h"
#include "net/loop.h"
#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct lobby_master;

/* The part of these is a struct lobby_master. */
extern const struct http_route lobby_routes[];

/* Judges the body of a POST to nowhere (bad json before not found); its part is NULL. */
extern const struct http_route lobby_stray_post;

/* {"error":"not found"} and the like, in the words of the document: also for paths that no part has. */
enum err lobby_errors(struct http_answer *a, struct http_request *rq, enum err e);

/*
 * Loads what was kept; between store_open and store_start. signal_port: what an unset signal.url names. conf must outlive it;
 * its settings that can change while running are read in lobby_reload only. ERR_NOMEM and errors of the store, with a
 * sentence in report.
 */
enum err lobby_master_new(struct lobby_master **out, struct loop *loop, struct store *store, const struct conf *conf,
                          uint16_t signal_port, FILE *report);
void     lobby_master_start(struct lobby_master *m); /* sweeps from now on; loop thread */
void     lobby_master_stop(struct lobby_master *m);  /* no more sweeps; loop thread */
void lobby_master_finish(struct lobby_master *m);    /* after the loop, before the store: waits for a sweep under way */
void lobby_master_free(struct lobby_master *m);      /* after HTTP and the store have stopped */

/* The settings marked RELOAD (turn.secret, .secret_previous, signal.token, latest.*) as conf has them now. Any thread. */
void lobby_reload(struct lobby_master *m, const struct conf *conf);

/* While on, no new lobby is announced (503); those that are there go on. Any thread. */
void lobby_drain(struct lobby_master *m, bool on);

/*
 * How many lobbies this ban of an address or identity is meant for; with end, they are removed. Brokered ones of an address are
 * found by where their host was last since the start. Any thread.
 */
size_t lobby_ban(struct lobby_master *m, const struct ban *b, bool end);

/* For /healthz: live lobbies, hidden ones too. Any thread, never waits. */
int64_t lobby_count(void *master);

/* What operators may ask; their part is the same as above. */
extern const struct api_route lobby_admin_routes[];

#endif
