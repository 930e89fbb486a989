/*
 * Brings an older database up to what this program needs.
 *
 * What can go wrong is expected to: before the first pending migration of a database that holds anything, a checked
 * copy of it lies in the folder of copies; all pending migrations are one transaction; and on failure the database is
 * as it was, and the operator reads where the copy is and how to go back to it.
 */
#ifndef STORE_MIGRATE_H
#define STORE_MIGRATE_H

#include "gen/migration.h"
#include "store/db.h"

#define MIGRATE_COPIES_KEPT 3

struct migrate {
	const char                  *path;   /* of the database, or of what it was copied from */
	const char                  *copies; /* folder, which is there; NULL: the database is a copy itself */
	const struct migration_text *texts;  /* migration_texts, but for tests */
	int                          count;
	int64_t                      wall_ms;
};

/*
 * *ran (may be NULL) says whether there was anything to do. ERR_NEWER: the database has migrations this program does
 * not know; ERR_STORE, ERR_SPACE. A sentence for the operator went to report then.
 */
enum err migrate(bool *ran, struct db *db, const struct migrate *m, FILE *report);

#endif
