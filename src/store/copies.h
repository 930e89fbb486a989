/*
 * Copies of the database, without blobs, in one folder: before each migration, and one a day.
 *
 *	copies/migration-20261130T191502Z-from-3.db	 the last 3 stay
 *	copies/daily-2026-11-30.db			 the last 7 stay
 *
 * A copy is made under a temporary name, checked, synced and renamed, so a file with such a name is whole.
 */
#ifndef STORE_COPIES_H
#define STORE_COPIES_H

#include "base/err.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COPIES_TEMPORARY  "new-" /* what names of unfinished ones begin with */
#define COPIES_DAILY      "daily-"
#define COPIES_MIGRATION  "migration-"
#define COPIES_DAILY_KEPT 7

/*
 * Copies the database at path to folder/name, through a read-only connection of its own; others may write meanwhile.
 * Ends early with ERR_CLOSED once *stop is set (may be NULL). ERR_SPACE, ERR_STORE, ERR_IO, logged.
 */
enum err copy_database(const char *path, const char *folder, const char *name, atomic_bool *stop);

/* Calls each for every name in the folder that begins with prefix, until it says no. ERR_IO: the folder cannot be read. */
enum err copies_each(const char *folder, const char *prefix, bool (*each)(const char *name, void *arg), void *arg);

/*
 * Removes all files of that name prefix but the kept last ones in the order of their names; never spared (may be
 * NULL), which was just made.
 */
enum err copies_prune(const char *folder, const char *prefix, size_t kept, const char *spared);

/* The name of a day's copy. out has room for COPIES_NAME_BYTES. */
#define COPIES_NAME_BYTES 64
void copies_daily_name(char *out, int64_t wall_ms);
void copies_migration_name(char *out, int64_t wall_ms, int from);

/* Whether the folder has that copy. */
bool copies_has(const char *folder, const char *name);

/* Makes a day's copy and removes old ones on a thread of its own. */
struct copier;

struct copier *copier_new(const char *path, const char *folder);

/* Ends a copy under way, which is removed. NULL is fine. */
void copier_free(struct copier *c);

/* Starts the copy of that name, unless one is under way. prune: also remove old ones. */
void copier_start(struct copier *c, const char *name, bool prune);

bool copier_is_busy(const struct copier *c);

#endif
