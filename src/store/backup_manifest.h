/*
 * backup.json: which databases of a backup folder are whole, and whose they are. It is written last.
 *
 *	{"coopd_backup":1, "version":"1.2", "store_id":"hex",
 *	 "database":"coop-TIME.db", "database_bytes", "database_sha256", "blobs", "damaged", "began_at", "ended_at",
 *	 "databases":{"coop-TIME.db":{"bytes","sha256","blobs","damaged","began_at","ended_at"}, ...}}
 *
 * "database" and what follows it is the newest; a manifest from before there was "databases" has that one only.
 */
#ifndef STORE_BACKUP_MANIFEST_H
#define STORE_BACKUP_MANIFEST_H

#include "base/err.h"
#include "store/blob.h"
#include "store/copies.h"
#include "store/store.h"

#include <stddef.h>
#include <stdint.h>

#define BACKUP_MANIFEST        "backup.json"
#define BACKUP_DATABASE_PREFIX "coop-"
#define BACKUP_KEPT_MAX        10000

struct backup_entry {
	char    name[COPIES_NAME_BYTES]; /* of the database in the folder */
	uint8_t sha256[BLOB_HASH_BYTES];
	int64_t bytes;
	int64_t blobs, damaged;     /* that it names; that were damaged when it was made, and were left out */
	int64_t began_ms, ended_ms; /* wall; 0: not said */
};

struct backup_manifest {
	uint8_t              store_id[STORE_ID_BYTES];
	struct backup_entry *list; /* the newest last; at least one in what was read */
	size_t               count;
};

/*
 * ERR_NOT_FOUND: there is none. ERR_MALFORMED: it is damaged, or something else. ERR_IO, ERR_NOMEM. *out is empty then.
 * Of the older databases only those are listed that are there still.
 */
enum err backup_manifest_read(struct backup_manifest *out, const char *folder);

/* Adds one as the newest, and forgets all but the last kept. ERR_NOMEM. */
enum err backup_manifest_add(struct backup_manifest *m, const struct backup_entry *newest, size_t kept);

enum err backup_manifest_write(const struct backup_manifest *m, const char *folder);

/* NULL: it has none of that name. */
const struct backup_entry *backup_manifest_find(const struct backup_manifest *m, const char *name);

void backup_manifest_fini(struct backup_manifest *m); /* also for AUTO */

#endif
