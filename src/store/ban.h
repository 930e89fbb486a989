/*
 * Bans as they are kept, for ever or until a time; what they do is net/ban's. Values are texts here, in the one form in which
 * net/ban writes them.
 */
#ifndef STORE_BAN_H
#define STORE_BAN_H

#include "base/err.h"
#include "store/audit.h"

#include <stdbool.h>
#include <stdint.h>

struct db;

#define BAN_ROW_VALUE_BYTES  72
#define BAN_ROW_REASON_BYTES 201

struct ban_row {
	int64_t id;
	int     kind; /* 0: address, 1: player, 2: identity, 3: name */
	char    value[BAN_ROW_VALUE_BYTES];
	char    reason[BAN_ROW_REASON_BYTES];
	int64_t made_ms; /* wall */
	char    made_by[AUDIT_WHO_BYTES];
	int64_t until_ms; /* wall; 0: for ever */
};

/*
 * On the store thread, or before it starts. add: sets row->id, and forgets those that are over first. ERR_EXISTS: there is one of
 * this value; ERR_NO_ROOM: there are so many. ban_row_may_add asks the same of a reader's connection, changing nothing.
 */
enum err ban_row_add(struct db *db, struct ban_row *row, int64_t max);
enum err ban_row_may_add(struct db *db, const struct ban_row *row, int64_t max);
enum err ban_row_remove(struct db *db, int64_t id);     /* ERR_NOT_FOUND */
enum err ban_row_expire(struct db *db, int64_t now_ms); /* not by a clock that is doubted (upkeep.h) */

/* A reader's connection will do. ERR_NOT_FOUND. */
enum err ban_row_find(struct ban_row *out, struct db *db, int64_t id);

/* Those that hold at now_ms, by id, behind the one with the id `after`, at most `rows`. Stops at each's first error. */
struct ban_filter {
	int         kind; /* -1: any */
	const char *text; /* part of value or reason, ASCII in any case; "": any */
	int64_t     now_ms, after, rows;
};
enum err ban_row_each(struct db *db, const struct ban_filter *f, enum err (*each)(const struct ban_row *row, void *arg),
                      void *arg);

#endif
