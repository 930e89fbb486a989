/*
 * Reading the database beside the store thread: a few read-only connections, lent for one query or a few, never while
 * bytes go to a client. They see what is committed.
 */
#ifndef STORE_READERS_H
#define STORE_READERS_H

#include "base/err.h"
#include "store/db.h"

struct store;

#define READERS_MAX     4
#define READERS_WAIT_MS 2000

/*
 * Lends a connection in a read transaction of its own; waits up to 2 s for one to be free. Not for the loop thread.
 * ERR_BUSY, ERR_STORE. Give it back within 2 s, on the same thread.
 */
enum err readers_take(struct db **out, struct store *s);
void     readers_give(struct store *s, struct db *db);

/* --- For the store itself --- */

struct readers;

/* path: of the database. No connection is opened yet. NULL when out of memory. */
struct readers *readers_new(const char *path);

/* Closes all; none may be lent. NULL is fine. */
void readers_free(struct readers *r);

#endif
