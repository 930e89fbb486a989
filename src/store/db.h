/*
 * The connection to coop.db, and how its queries are run.
 *
 * Queries stand in sql/, each with a name; all are prepared once, by db_prepare, so one that does not fit the schema
 * stops the server before it listens. A connection belongs to one thread at a time.
 *
 *	AUTO_QUERY q = db_query(db, Q_PLAYER_REMOVE);	  ready again when q goes out of scope
 *
 *	q_blob(&q, ":id", id, PLAYER_ID_BYTES);
 *	return q_done(&q);
 *
 * What goes wrong in a bind is remembered and comes out of q_row or q_done. Errors there: ERR_EXISTS for a key that is
 * taken, ERR_NOT_FOUND for a reference to nothing, ERR_SPACE when the disk is full, ERR_NOMEM; ERR_INTERNAL for another
 * broken rule of the schema and ERR_STORE for everything else, both logged here.
 */
#ifndef STORE_DB_H
#define STORE_DB_H

#include "base/auto.h"
#include "base/err.h"
#include "gen/query.h"
#include "store/uptime_state.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct blobs;
struct db;
struct reserve;
struct sqlite3;
struct sqlite3_stmt;

/*
 * Opens the database file, made with mode 0600 when missing, for the one connection that writes. *made (may be NULL)
 * says whether it was. On failure (ERR_STORE, ERR_NOMEM) a sentence for the operator went to report.
 */
enum err db_open(struct db **out, bool *made, const char *path, FILE *report);

/*
 * Opens the file for reading only, beside the connection that writes. Its queries are prepared when first asked for; one
 * that does not fit, or would write, ends in ERR_STORE. ERR_STORE, ERR_NOMEM, logged.
 */
enum err db_open_reader(struct db **out, const char *path);

/* Prepares every query. ERR_STORE when one does not fit the schema (report names it), ERR_NOMEM. */
enum err db_prepare(struct db *db, FILE *report);

/* Closes without touching the log (db_fold does that). NULL is fine. */
void db_close(struct db *db);

/* The library's handle, for the files of src/store that need more than queries. */
struct sqlite3 *db_handle(struct db *db);

/* What the clock said lately; see upkeep.h. */
struct uptime *db_uptime(struct db *db);

/* Uploads under way; see reserve.h. Of the connection that writes, once db_prepare was ERR_OK; else NULL. */
struct reserve *db_reserve(struct db *db);

/* The blobs whose rows this database holds; NULL in a bare database. See blob_folder.h. */
struct blobs *db_blobs(struct db *db);
void          db_set_blobs(struct db *db, struct blobs *blobs);

/* Whether the list of forgotten players was changed, and is not in its file yet: forgotten_save. */
bool db_forgot(const struct db *db);
void db_set_forgot(struct db *db, bool forgot);

/* A sync failed outside of the database, of something its rows speak of: as final as one of its own. */
void db_note_failed_sync(struct db *db);

/*
 * Whether a sync, or the writing of a commit, ever failed on this connection. What the disk holds is unknown then, and
 * asking it again may get a lie: nothing durable may be promised before a restart.
 */
bool db_has_failed(const struct db *db);

/* False once an error made the library give up the whole transaction. */
bool db_in_transaction(const struct db *db);

/* COMMIT with its failures noted for db_has_failed. On failure everything since BEGIN is undone. */
enum err db_commit(struct db *db);

/* Undoes the transaction, if one is open still. */
void db_undo(struct db *db);

/*
 * Copies from the log into the database file what may be copied without waiting, once there is enough of it. Only
 * between transactions.
 */
void db_checkpoint(struct db *db);

/* At the end: the whole log into the database file, and the log emptied. Not waiting for anybody who reads it. */
void db_fold(struct db *db);

struct statement {
	struct db           *db;
	struct sqlite3_stmt *stmt;
	enum query           id;
	enum err             failed;
};
#define AUTO_QUERY AUTO(q_end) struct statement

struct statement db_query(struct db *db, enum query id);
void             q_end(struct statement *q);

/* Parameters by name, ":code". The bytes are copied. NULL as data: NULL in the database. */
void q_int(struct statement *q, const char *name, int64_t value);
void q_blob(struct statement *q, const char *name, const void *data, size_t len);
void q_text(struct statement *q, const char *name, const char *text);

/* The next row: ERR_NOT_FOUND when there is none. */
enum err q_row(struct statement *q);

/* Runs to the end; rows are passed over. */
enum err q_done(struct statement *q);

/* db_query and q_done, for what has no parameters. */
enum err db_run(struct db *db, enum query id);

/* How many rows the last INSERT, UPDATE or DELETE changed itself. */
int64_t q_changed(const struct statement *q);

/* Columns of the row, from 0. A blob of another length, or NULL, gives zeros. */
int64_t q_get_int(const struct statement *q, int column);
bool    q_get_null(const struct statement *q, int column);
void    q_get_blob(const struct statement *q, int column, void *out, size_t len);
size_t  q_get_bytes(const struct statement *q, int column, void *out, size_t cap); /* of any length; zeros behind */
void    q_get_text(const struct statement *q, int column, char *out, size_t cap);  /* cut when longer */

#endif
