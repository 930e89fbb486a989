/*
 * The database is copied first, and the copy is what is checked and used: what lies in the backup is only ever read.
 */
#include "base/auto.h"
#include "base/hex.h"
#include "base/text.h"
#include "gen/migration.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/log.h"
#include "store/migrate.h"
#include "store/restore_inside.h"

#include <errno.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROBLEMS "10" /* of its structure that are listed */

static void close_dbp(sqlite3 **db)
{
	sqlite3_close(*db);
}

static void finalize_p(sqlite3_stmt **stmt)
{
	sqlite3_finalize(*stmt);
}

/* --- Into .restore --- */

static enum err compare(struct restore *r, const char *from, const uint8_t hash[BLOB_HASH_BYTES], int64_t bytes)
{
	if (r->manifest.count == 0)
		return ERR_OK; /* nobody says what it should be */
	if (bytes != r->entry.bytes)
		restore_damage(r, "%s: the database has %lld bytes instead of %lld", from, (long long)bytes,
		               (long long)r->entry.bytes);
	else if (memcmp(hash, r->entry.sha256, BLOB_HASH_BYTES) != 0)
		restore_damage(r, "%s: the database has changed since the backup was made (its SHA-256 is another)",
		               from);
	return ERR_OK;
}

static enum err stage(struct restore *r)
{
	char        from[PATH_MAX];
	uint8_t     hash[BLOB_HASH_BYTES];
	int64_t     bytes;
	struct stat st;

	if (!text_format(from, sizeof(from), "%s/%s", r->src, r->entry.name))
		return ERR_INVALID;
	if (stat(from, &st) != 0)
		return restore_refuse(r, ERR_DAMAGED, "%s: the database is missing: %s", from, strerror(errno));
	/* Itself, and once more while it is brought up to date. */
	enum err e = restore_check_space(r, 2 * (uint64_t)st.st_size);
	if (e != ERR_OK)
		return e;
	switch (restore_copy(hash, &bytes, from, r->database)) {
	case RESTORE_COPIED:
		return compare(r, from, hash, bytes);
	case RESTORE_NOT_WRITTEN:
		return restore_refuse(r, ERR_IO, "%s cannot be written: %s", r->database, strerror(errno));
	case RESTORE_NO_MEMORY:
		return restore_refuse(r, ERR_NOMEM, "there is no memory");
	default:
		return restore_refuse(r, ERR_DAMAGED, "%s: the database cannot be read: %s", from, strerror(errno));
	}
}

/* --- Its structure --- */

static void say_broken(struct restore *r, const char *what)
{
	r->is_hopeless = true;
	restore_damage(r, "%s/%s: the database is damaged: %s", r->src, r->entry.name, what);
}

/* Every row of a PRAGMA that lists what is wrong; "ok" is no problem. */
static void list_problems(struct restore *r, sqlite3 *db, const char *pragma, const char *prefix)
{
	AUTO(finalize_p) sqlite3_stmt *stmt = NULL;
	int                            rc   = sqlite3_prepare_v2(db, pragma, -1, &stmt, NULL);
	char                           line[300];

	while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		const char *text = (const char *)sqlite3_column_text(stmt, 0);

		if (!text || strcmp(text, "ok") != 0) {
			text_format(line, sizeof(line), "%s%s", prefix, text ? text : "?");
			say_broken(r, line);
		}
		rc = SQLITE_OK;
	}
	if (rc != SQLITE_OK && rc != SQLITE_DONE)
		say_broken(r, sqlite3_errmsg(db));
}

static int64_t ask_number(sqlite3 *db, const char *sql)
{
	AUTO(finalize_p) sqlite3_stmt *stmt = NULL;

	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK || sqlite3_step(stmt) != SQLITE_ROW)
		return -1;
	return sqlite3_column_int64(stmt, 0);
}

static bool read_id(uint8_t out[STORE_ID_BYTES], sqlite3 *db)
{
	AUTO(finalize_p) sqlite3_stmt *stmt = NULL;

	if (sqlite3_prepare_v2(db, "SELECT store_id FROM store_facts", -1, &stmt, NULL) != SQLITE_OK ||
	    sqlite3_step(stmt) != SQLITE_ROW || sqlite3_column_bytes(stmt, 0) != STORE_ID_BYTES)
		return false;
	memcpy(out, sqlite3_column_blob(stmt, 0), STORE_ID_BYTES);
	return true;
}

static int open_to_look(sqlite3 **out, const char *path)
{
	int rc = sqlite3_open_v2(path, out, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_db_config(*out, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, (int *)NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_db_config(*out, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)NULL);
	return rc;
}

/* Is it one of ours, and of the store that the manifest names? */
static enum err check_owner(struct restore *r, sqlite3 *db)
{
	r->schema = (int)ask_number(db, "PRAGMA user_version");
	if (r->schema > migration_count)
		return restore_refuse(r, ERR_NEWER,
		                      "%s/%s was made by a newer coopd: its schema version is %d, this coopd knows %d. "
		                      "Restore "
		                      "it with that coopd, or a newer one",
		                      r->src, r->entry.name, r->schema, migration_count);
	if (r->schema < 1) {
		say_broken(r, "it is no database of coopd");
		return ERR_OK;
	}
	enum err e = restore_check_schema(r, db);
	if (e != ERR_OK || r->is_hopeless)
		return e;
	if (!read_id(r->store_id, db)) {
		say_broken(r, "it is no database of coopd");
		return ERR_OK;
	}
	if (r->manifest.count > 0 && memcmp(r->store_id, r->manifest.store_id, STORE_ID_BYTES) != 0) {
		char theirs[2 * STORE_ID_BYTES + 1], its[2 * STORE_ID_BYTES + 1];

		hex_encode(theirs, r->manifest.store_id, STORE_ID_BYTES);
		hex_encode(its, r->store_id, STORE_ID_BYTES);
		return restore_refuse(r, ERR_DAMAGED,
		                      "%s/%s is the database of another server: its store id is %s, "
		                      "and " BACKUP_MANIFEST " says %s. Backups of two servers were mixed",
		                      r->src, r->entry.name, its, theirs);
	}
	return ERR_OK;
}

static enum err check_structure(struct restore *r)
{
	AUTO(close_dbp) sqlite3 *db = NULL;
	int                      rc = open_to_look(&db, r->database);

	if (rc != SQLITE_OK) {
		say_broken(r, db ? sqlite3_errmsg(db) : sqlite3_errstr(rc));
		return ERR_OK;
	}
	list_problems(r, db, "PRAGMA integrity_check(" PROBLEMS ")", "");
	if (r->is_hopeless)
		return ERR_OK;
	list_problems(r, db, "PRAGMA foreign_key_check", "rows point nowhere in the table ");
	return check_owner(r, db);
}

/* --- The data folder's own --- */

/* The id that the blobs beside it have, or the database itself. False: nothing there says one. */
static bool find_own_id(uint8_t out[STORE_ID_BYTES], const struct restore *r)
{
	AUTO(close_dbp) sqlite3 *db   = NULL;
	AUTO(auto_free) char    *text = NULL;
	char                     path[PATH_MAX];
	size_t                   len;

	if (text_format(path, sizeof(path), "%s/coop.db", r->data) && access(path, F_OK) == 0 &&
	    open_to_look(&db, path) == SQLITE_OK && read_id(out, db))
		return true;
	return text_format(path, sizeof(path), "%s/blobs/store-id", r->data) &&
	       file_read(&text, &len, path, 1024) == ERR_OK &&
	       hex_decode(out, STORE_ID_BYTES, text, strcspn(text, " \r\n")) == ERR_OK;
}

static enum err check_place(struct restore *r)
{
	uint8_t own[STORE_ID_BYTES];
	char    theirs[2 * STORE_ID_BYTES + 1], ours[2 * STORE_ID_BYTES + 1];

	if (!find_own_id(own, r) || memcmp(own, r->store_id, STORE_ID_BYTES) == 0)
		return ERR_OK;
	hex_encode(theirs, r->store_id, STORE_ID_BYTES);
	hex_encode(ours, own, STORE_ID_BYTES);
	return restore_refuse(r, ERR_EXISTS,
	                      "the data folder %s is another server's: its store id is %s, and that of the backup %s. "
	                      "Choose an empty folder with --data, or move that one away",
	                      r->data, ours, theirs);
}

/* --- Made ready --- */

static enum err clear(struct restore *r)
{
	static const enum query what[] = { Q_RESTORE_FRIENDS_CLEAR, Q_RESTORE_GAMES_CLEAR, Q_RESTORE_LOBBIES_CLEAR };
	int64_t                 gone[COUNT_OF(what)];
	enum err                e = db_run(r->db, Q_BATCH_BEGIN);

	for (size_t i = 0; i < COUNT_OF(what) && e == ERR_OK; i++) {
		AUTO_QUERY q = db_query(r->db, what[i]);

		e       = q_done(&q);
		gone[i] = q_changed(&q);
	}
	if (e == ERR_OK)
		e = db_commit(r->db);
	if (e != ERR_OK) {
		db_undo(r->db);
		return restore_refuse(r, e, "what lived in the backup cannot be cleared: %s", err_people(e));
	}
	r->games   = gone[1];
	r->lobbies = gone[2];
	return ERR_OK;
}

static enum err count(struct restore *r)
{
	AUTO_QUERY q = db_query(r->db, Q_RESTORE_TOTALS);
	enum err   e = q_row(&q);

	if (e != ERR_OK)
		return restore_refuse(r, e, "the database cannot be read: %s", err_people(e));
	r->players     = q_get_int(&q, 0);
	r->codes       = q_get_int(&q, 1);
	r->campaigns   = q_get_int(&q, 2);
	r->checkpoints = q_get_int(&q, 3);
	r->scores      = q_get_int(&q, 4);
	return ERR_OK;
}

/* Brought up to date here and now: if that fails, what is there stays, and the backup is the copy from before. */
static enum err open_staged(struct restore *r)
{
	char           from[PATH_MAX];
	struct migrate m = { from, NULL, migration_texts, migration_count, clock_wall_ms() };
	enum err       e = db_open(&r->db, NULL, r->database, r->report);

	if (e == ERR_OK && !text_format(from, sizeof(from), "%s/%s", r->src, r->entry.name))
		e = ERR_INVALID;
	if (e == ERR_OK)
		e = migrate(NULL, r->db, &m, r->report);
	if (e == ERR_OK)
		e = db_prepare(r->db, r->report);
	if (e == ERR_OK)
		e = clear(r);
	if (e == ERR_OK)
		e = restore_forgotten(r);
	return e == ERR_OK ? count(r) : e;
}

enum err restore_database(struct restore *r)
{
	enum err e = stage(r);

	if (e == ERR_OK)
		e = check_structure(r);
	if (e == ERR_OK && !r->is_hopeless)
		e = check_place(r);
	return e == ERR_OK && !r->is_hopeless ? open_staged(r) : e;
}
