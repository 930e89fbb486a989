/*
 * What of the lobbies is kept: announces and ends durably, beats behind, so that a restart loses no lobby.
 *
 * Any thread. The store thread takes the lobbies' lock for as long as it takes to copy what changed, and never longer.
 */
#ifndef LOBBY_LOBBY_KEEP_H
#define LOBBY_LOBBY_KEEP_H

#include "lobby/lobby_guard.h"
#include "lobby/lobby_state.h"
#include "store/store.h"

#include <pthread.h>

struct lobby_keep;

/* The state, and the lock that guards it; all three must outlive it. NULL when out of memory. */
struct lobby_keep *lobby_keep_new(struct store *store, struct lobby_state *state, pthread_mutex_t *lock);
void               lobby_keep_free(struct lobby_keep *k); /* after store_stop */

/*
 * Loads what was kept, before the store starts: those whose last beat is within limits.lobby_ttl_ms of now (the rest is
 * removed), and the announces of the last minute into guard. A beat in the future (a clock that was set) counts as now. Rows
 * that do not fit are logged and left out.
 */
enum err lobby_keep_load(struct lobby_keep *k, struct lobby_guard *guard, int64_t now_ms, int64_t wall_ms);

/*
 * Without the lock held; waits for the commit, 5 s at most. The note of the announce for the address's window goes with it.
 * ERR_BUSY, ERR_STORE, ERR_NOMEM...: it is not kept, or will be removed again by itself (an answer that came too late).
 * l must stay meanwhile: it is pending, and nobody else removes those.
 */
enum err lobby_keep_put(struct lobby_keep *k, const struct lobby *l, int64_t now_ms, int64_t wall_ms);

/*
 * A leave. Without the lock held; waits like lobby_keep_put. When it fails it is forgotten as by lobby_keep_forget, so that
 * only a crash before that is written brings the lobby back, for its ttl.
 */
enum err lobby_keep_remove(struct lobby_keep *k, const uint8_t id[LOBBY_ID_BYTES]);

/* Lazy, with the lock or without: one that was swept or pushed out. Rides in the job of lobby_keep_touch, in any number. */
void lobby_keep_forget(struct lobby_keep *k, const uint8_t id[LOBBY_ID_BYTES]);

/*
 * With the lock held: something of l changed that may be written later. At most one lazy job is under way at a time; it
 * writes all that is dirty when it runs, and what changed since is taken by the next. What could not be written stays dirty,
 * and is tried again with the next call, or by lobby_keep_retry.
 */
void lobby_keep_touch(struct lobby_keep *k, struct lobby *l);

/* Tries again what could not be written; nothing when nothing waits. With the lock or without. */
void lobby_keep_retry(struct lobby_keep *k);

#endif
