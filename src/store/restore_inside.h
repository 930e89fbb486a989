/*
 * What the files of a restore share, and nobody else.
 */
#ifndef STORE_RESTORE_INSIDE_H
#define STORE_RESTORE_INSIDE_H

#include "conf/conf.h"
#include "store/backup_manifest.h"
#include "store/db.h"
#include "store/restore_move.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct restore {
	const struct conf *conf;
	const char        *data; /* the folder's real path, which is printed in commands */
	FILE              *out, *report;
	bool               take_damaged;
	bool               is_shown;    /* progress, on a terminal */
	bool               is_hopeless; /* what is damaged cannot be left out */
	int64_t            shown_ms;
	int64_t            damages;

	char                   folder[PATH_MAX]; /* what data points to */
	size_t                 there;            /* bytes of the path of the data folder that were there before */
	char                   src[PATH_MAX];    /* the backup's folder */
	struct backup_manifest manifest;         /* empty: it is damaged, and that was said */
	struct backup_entry    entry;            /* of the database that is restored */
	char                   staging[PATH_MAX], database[PATH_MAX];
	char                   kept[RESTORE_NAME_BYTES];
	bool                   has_old; /* there is something to be put away */
	uint8_t                store_id[STORE_ID_BYTES];
	struct db             *db;     /* the staged one, once it is good */
	int                    schema; /* its version in the backup */

	int64_t blobs, blobs_done, bytes, bytes_done; /* that the database names */
	int64_t copied, copied_bytes, left_out;
	int64_t games, lobbies, forgotten;
	bool    lacks_secrets; /* that can be used, and so does the data folder */
	bool    keeps_secrets; /* the data folder's own, since the backup has none */
	int64_t players, codes, campaigns, checkpoints, scores;
};

/* Says why not, and returns e. Ends the line of progress first. */
enum err restore_refuse(struct restore *r, enum err e, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* One damaged thing: a line for each of the first ones, and counted. */
#define RESTORE_LISTED 20
void restore_damage(struct restore *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* restore_files.c: reads and hashes a regular file, which is no link, and copies it, synced, unless `to` is NULL. */
enum restore_copied { RESTORE_COPIED, RESTORE_MISSING, RESTORE_UNREADABLE, RESTORE_NOT_WRITTEN, RESTORE_NO_MEMORY };
enum restore_copied restore_copy(uint8_t hash[BLOB_HASH_BYTES], int64_t *bytes, const char *from, const char *to);
enum err            restore_check_space(struct restore *r, uint64_t bytes);

/* restore_source.c: finds the database in the backup. */
enum err restore_find(struct restore *r, const char *src);

/* restore_database.c: into .restore, checked; then opened as r->db. Damage was said, and is no error as long as it can go on. */
enum err restore_database(struct restore *r);

/* restore_schema.c: its tables and all else, against what migrations up to r->schema make. Damage was said. */
struct sqlite3;
enum err restore_check_schema(struct restore *r, struct sqlite3 *db);

/* restore_secrets.c: into .restore, when they can be used. */
enum err restore_secrets(struct restore *r);

/* restore_forgotten.c: in r->db, before its blobs are looked at. */
enum err restore_forgotten(struct restore *r);

/* restore_blobs.c */
enum err restore_blobs(struct restore *r);

#endif
