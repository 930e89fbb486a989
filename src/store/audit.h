/*
 * The audit trail: what operators did, noted before it begins and once more when it has ended. Rows are never changed
 * otherwise; they go by age and number (audit_thin).
 */
#ifndef STORE_AUDIT_H
#define STORE_AUDIT_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct db;

#define AUDIT_WHO_BYTES     96
#define AUDIT_ADDRESS_BYTES 56
#define AUDIT_ACTION_BYTES  40
#define AUDIT_TARGET_BYTES  256
#define AUDIT_DETAIL_BYTES  1024
#define AUDIT_RESULT_BYTES  40

struct audit_row {
	int64_t id;
	int64_t at_ms, ended_ms; /* wall; ended_ms 0: it has not */
	char    who[AUDIT_WHO_BYTES];
	bool    is_unix;
	char    address[AUDIT_ADDRESS_BYTES];
	char    action[AUDIT_ACTION_BYTES];
	char    target[AUDIT_TARGET_BYTES];
	char    detail[AUDIT_DETAIL_BYTES];
	char    result[AUDIT_RESULT_BYTES];
};

/* On the store thread. begin: sets row->id; result and ended_ms are not looked at. end: id, target, result, ended_ms count. */
enum err audit_begin(struct db *db, struct audit_row *row);
enum err audit_end(struct db *db, const struct audit_row *row);
/* Those older than before_ms go; then, down to so many, the oldest that came to nothing, and then the oldest of all. */
enum err audit_thin(struct db *db, int64_t before_ms, int64_t rows);

/* "" and 0: any. Newest first, behind the row with the id `after` (0: from the newest), at most `rows`. */
struct audit_filter {
	const char *who, *action, *target; /* part of it; whole or its first word ("campaign"); part of it */
	int64_t     since_ms, until_ms;
	int64_t     after, rows;
};
/* A reader's connection will do. Stops at each's first error. */
enum err audit_each(struct db *db, const struct audit_filter                       *f,
                    enum err (*each)(const struct audit_row *row, void *arg), void *arg);

#endif
