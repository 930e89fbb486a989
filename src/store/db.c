/*
 * SQLite, set up the way coopd needs it.
 *
 * The 3.40.1 of Debian 12 can damage a write-ahead log when two connections write or fold it at the same moment. So one
 * connection does both, and the library's own folding (after a commit, at close) is off.
 */
#include "store/db.h"

#include "base/text.h"
#include "os/log.h"
#include "store/reserve.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

#define READER_BUSY_MS   1000
#define CHECKPOINT_PAGES 1000 /* 4 MB: often enough that nobody waits for it long, seldom enough to cost little */

struct db {
	sqlite3        *handle;
	sqlite3_stmt   *statements[Q_COUNT];
	struct uptime   uptime;
	struct reserve *reserve; /* of the connection that writes */
	struct blobs   *blobs;
	bool            is_reader;
	int             wal_pages;     /* in the log after the last commit */
	int             checkpoint_at; /* so many pages make the next checkpoint */
	bool            has_failed;
	bool            forgot;
};

/* What stays true for every later statement; each is checked once by asking for it where SQLite does not complain. */
static const char settings[] = "PRAGMA journal_mode = WAL;"
			       "PRAGMA synchronous = FULL;" /* acts when prepared: never put it into a kept statement */
			       "PRAGMA foreign_keys = ON;"
			       "PRAGMA cell_size_check = ON;"
			       "PRAGMA secure_delete = ON;"
			       "PRAGMA temp_store = MEMORY;"
			       "PRAGMA cache_size = -16384;"
			       "PRAGMA mmap_size = 0;" /* a bad sector becomes an error, not a SIGBUS */
			       "PRAGMA journal_size_limit = 16777216;"
			       "PRAGMA wal_autocheckpoint = 0;";

static const struct {
	const char *pragma;
	const char *want;
} checks[] = {
	{ "PRAGMA journal_mode", "wal" },
	{ "PRAGMA synchronous", "2" },
	{ "PRAGMA foreign_keys", "1" },
	{ "PRAGMA secure_delete", "1" },
};

/* A sync that failed once may be reported as fine the next time, with the data lost: it is never forgotten. */
static bool is_final(int rc)
{
	return rc == SQLITE_IOERR_FSYNC || rc == SQLITE_IOERR_DIR_FSYNC;
}

static enum err err_of(int rc)
{
	switch (rc & 0xff) {
	case SQLITE_OK:
	case SQLITE_ROW:
	case SQLITE_DONE:
		return ERR_OK;
	case SQLITE_CONSTRAINT:
		if (rc == SQLITE_CONSTRAINT_UNIQUE || rc == SQLITE_CONSTRAINT_PRIMARYKEY ||
		    rc == SQLITE_CONSTRAINT_ROWID)
			return ERR_EXISTS;
		return rc == SQLITE_CONSTRAINT_FOREIGNKEY ? ERR_NOT_FOUND : ERR_INTERNAL;
	case SQLITE_NOMEM:
		return ERR_NOMEM;
	case SQLITE_FULL:
		return ERR_SPACE;
	default:
		return ERR_STORE;
	}
}

/* What an operator can do about it. */
static const char *advice(int rc)
{
	switch (rc & 0xff) {
	case SQLITE_FULL:
		return "make room where the data folder is";
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return "the database is damaged: stop coopd and put back a copy from the folder copies beside it";
	case SQLITE_READONLY:
		return "let coopd's user write to the database and its folder";
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return "another program writes to the database: end it";
	case SQLITE_IOERR:
	case SQLITE_CANTOPEN:
		return "check the disk and the rights of the data folder";
	case SQLITE_NOMEM:
		return "the machine is out of memory";
	default:
		return "this is a mistake in coopd: please report it";
	}
}

/* Turns a failure into an error, remembers what must be, and logs what is no answer to a question. */
static enum err fail(struct db *db, int rc, const char *what)
{
	enum err e = err_of(rc);

	if (is_final(rc))
		db->has_failed = true;
	if (e != ERR_EXISTS && e != ERR_NOT_FOUND)
		log_error("store", 0, "fails", "what=%s code=%d why=\"%s\" note=\"%s\"", what, rc,
		          sqlite3_errmsg(db->handle), advice(rc));
	return e;
}

static int on_commit(void *arg, sqlite3 *handle, const char *name, int pages)
{
	struct db *db = arg;

	(void)handle;
	(void)name;
	db->wal_pages = pages;
	return SQLITE_OK;
}

static bool has_setting(sqlite3 *handle, const char *pragma, const char *want)
{
	sqlite3_stmt *stmt = NULL;
	bool          same = false;

	if (sqlite3_prepare_v2(handle, pragma, -1, &stmt, NULL) == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW)
		same = strcmp((const char *)sqlite3_column_text(stmt, 0), want) == 0;
	sqlite3_finalize(stmt);
	return same;
}

/* Nothing in the file may make this connection do more than the queries say. */
static int harden(sqlite3 *handle)
{
	static const struct {
		int option, value;
	} options[] = {
		{ SQLITE_DBCONFIG_DEFENSIVE, 1 },
		{ SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0 },
		{ SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0 },
		{ SQLITE_DBCONFIG_DQS_DDL, 0 },
		{ SQLITE_DBCONFIG_DQS_DML, 0 },
		{ SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1 },
	};

	for (size_t i = 0; i < COUNT_OF(options); i++) {
		int rc = sqlite3_db_config(handle, options[i].option, options[i].value, (int *)NULL);
		if (rc != SQLITE_OK)
			return rc;
	}
	return SQLITE_OK;
}

static int set_up(struct db *db)
{
	int rc = harden(db->handle);

	if (rc != SQLITE_OK)
		return rc;
	/* Somebody may look with a tool that writes; waiting beats failing a whole batch. */
	sqlite3_busy_timeout(db->handle, 5000);
	rc = sqlite3_exec(db->handle, settings, NULL, NULL, NULL);
	if (rc != SQLITE_OK)
		return rc;
	for (size_t i = 0; i < COUNT_OF(checks); i++) {
		if (!has_setting(db->handle, checks[i].pragma, checks[i].want))
			return SQLITE_ERROR;
	}
	sqlite3_wal_hook(db->handle, on_commit, db);
	return SQLITE_OK;
}

/* The file with our mode, which its log takes over; SQLite would make it readable for all. */
static bool make_file(bool *made, const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	*made = fd >= 0;
	if (fd >= 0)
		close(fd);
	return *made || errno == EEXIST;
}

enum err db_open(struct db **out, bool *made, const char *path, FILE *report)
{
	const int  flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
	bool       is_new;
	struct db *db = calloc(1, sizeof(*db));

	if (!db)
		return ERR_NOMEM;
	db->checkpoint_at = CHECKPOINT_PAGES;
	uptime_init(&db->uptime);
	if (!make_file(&is_new, path)) {
		fprintf(report, "cannot make the database %s: %s\n", path, strerror(errno));
		goto fail;
	}
	int rc = sqlite3_open_v2(path, &db->handle, flags, NULL);
	if (rc == SQLITE_OK)
		rc = set_up(db);
	if (rc != SQLITE_OK) {
		fprintf(report,
		        "cannot use the database %s: %s. It was left as it is; copies are in the folder copies beside "
		        "it\n",
		        path, db->handle ? sqlite3_errmsg(db->handle) : sqlite3_errstr(rc));
		goto fail;
	}
	if (made)
		*made = is_new;
	*out = db;
	return ERR_OK;
fail:
	db_close(db);
	return ERR_STORE;
}

static const char reader_settings[] = "PRAGMA query_only = ON;"
				      "PRAGMA cell_size_check = ON;"
				      "PRAGMA temp_store = MEMORY;"
				      "PRAGMA mmap_size = 0;"
				      "PRAGMA wal_autocheckpoint = 0;";

enum err db_open_reader(struct db **out, const char *path)
{
	const int  flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
	struct db *db    = calloc(1, sizeof(*db));

	if (!db)
		return ERR_NOMEM;
	db->is_reader = true;
	uptime_init(&db->uptime);
	int rc = sqlite3_open_v2(path, &db->handle, flags, NULL);
	if (rc == SQLITE_OK)
		rc = harden(db->handle);
	if (rc == SQLITE_OK)
		rc = sqlite3_busy_timeout(db->handle, READER_BUSY_MS);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db->handle, reader_settings, NULL, NULL, NULL);
	if (rc != SQLITE_OK) {
		enum err e = db->handle ? fail(db, rc, "reader") : ERR_NOMEM;

		db_close(db);
		return e;
	}
	*out = db;
	return ERR_OK;
}

static int prepare(struct db *db, enum query id)
{
	return sqlite3_prepare_v3(db->handle, query_texts[id].sql, -1, SQLITE_PREPARE_PERSISTENT, &db->statements[id],
	                          NULL);
}

enum err db_prepare(struct db *db, FILE *report)
{
	enum err e = db->reserve ? ERR_OK : reserve_new(&db->reserve);

	if (e != ERR_OK)
		return e;
	for (int i = 0; i < Q_COUNT; i++) {
		if (prepare(db, (enum query)i) != SQLITE_OK) {
			fprintf(report, "the query %s does not fit the database: %s\n", query_texts[i].name,
			        sqlite3_errmsg(db->handle));
			return ERR_STORE;
		}
	}
	return ERR_OK;
}

void db_close(struct db *db)
{
	if (!db)
		return;
	for (int i = 0; i < Q_COUNT; i++)
		sqlite3_finalize(db->statements[i]);
	sqlite3_close(db->handle);
	reserve_free(db->reserve);
	free(db);
}

struct sqlite3 *db_handle(struct db *db)
{
	return db->handle;
}

struct uptime *db_uptime(struct db *db)
{
	return &db->uptime;
}

struct reserve *db_reserve(struct db *db)
{
	return db->reserve;
}

struct blobs *db_blobs(struct db *db)
{
	return db->blobs;
}

void db_set_blobs(struct db *db, struct blobs *blobs)
{
	db->blobs = blobs;
}

bool db_forgot(const struct db *db)
{
	return db->forgot;
}

void db_set_forgot(struct db *db, bool forgot)
{
	db->forgot = forgot;
}

void db_note_failed_sync(struct db *db)
{
	db->has_failed = true;
}

bool db_has_failed(const struct db *db)
{
	return db->has_failed;
}

bool db_in_transaction(const struct db *db)
{
	return !sqlite3_get_autocommit(db->handle);
}

enum err db_commit(struct db *db)
{
	sqlite3_stmt *stmt = db->statements[Q_BATCH_COMMIT];
	int           rc   = sqlite3_step(stmt);

	sqlite3_reset(stmt);
	if (rc == SQLITE_DONE)
		return ERR_OK;
	/* Besides a failed sync: a log that was written in part, on a disk that just refused to be written. */
	if ((rc & 0xff) == SQLITE_IOERR)
		db->has_failed = true;
	enum err e = fail(db, rc, "commit");
	db_undo(db);
	return e;
}

void db_undo(struct db *db)
{
	if (!db_in_transaction(db))
		return;
	db_run(db, Q_BATCH_UNDO);
	/* A transaction that can be neither kept nor undone leaves nothing to stand on. */
	if (db_in_transaction(db))
		db->has_failed = true;
}

void db_checkpoint(struct db *db)
{
	int in_log = 0, copied = 0;

	if (db->wal_pages < db->checkpoint_at || db->has_failed)
		return;
	int rc = sqlite3_wal_checkpoint_v2(db->handle, NULL, SQLITE_CHECKPOINT_PASSIVE, &in_log, &copied);
	/* Somebody reads an old state, so the log grows on: do not come back for every commit until he is done. */
	db->checkpoint_at = copied == in_log ? CHECKPOINT_PAGES : in_log + CHECKPOINT_PAGES;
	if (rc != SQLITE_OK && (rc & 0xff) != SQLITE_BUSY)
		fail(db, rc, "checkpoint");
}

void db_fold(struct db *db)
{
	if (db->has_failed)
		return;
	sqlite3_busy_timeout(db->handle, 0);
	int rc = sqlite3_wal_checkpoint_v2(db->handle, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
	/* A reader from outside keeps the log in use: it stays beside the database and the next start reads it. */
	if (rc != SQLITE_OK && (rc & 0xff) != SQLITE_BUSY)
		fail(db, rc, "checkpoint");
}

struct statement db_query(struct db *db, enum query id)
{
	int rc = db->is_reader && !db->statements[id] ? prepare(db, id) : SQLITE_OK;

	struct statement q = { .db = db, .stmt = db->statements[id], .id = id };

	if (rc != SQLITE_OK) {
		q.failed = fail(db, rc, query_texts[id].name);
		return q;
	}
	/* One run at a time: a query inside a callback of its own rows would start it over. */
	assert(q.stmt && !sqlite3_stmt_busy(q.stmt));
	return q;
}

void q_end(struct statement *q)
{
	if (!q->stmt)
		return;
	sqlite3_reset(q->stmt);
	sqlite3_clear_bindings(q->stmt);
}

/* Of a reader's query that could not be prepared there is nothing to bind. */
static bool is_ready(const struct statement *q)
{
	return q->stmt != NULL;
}

static int parameter(const struct statement *q, const char *name)
{
	int index = sqlite3_bind_parameter_index(q->stmt, name);

	assert(index > 0);
	return index;
}

static void note_bind(struct statement *q, int rc)
{
	if (rc != SQLITE_OK && q->failed == ERR_OK)
		q->failed = fail(q->db, rc, query_texts[q->id].name);
}

void q_int(struct statement *q, const char *name, int64_t value)
{
	if (is_ready(q))
		note_bind(q, sqlite3_bind_int64(q->stmt, parameter(q, name), value));
}

void q_blob(struct statement *q, const char *name, const void *data, size_t len)
{
	if (is_ready(q))
		note_bind(q, sqlite3_bind_blob64(q->stmt, parameter(q, name), data, len, SQLITE_TRANSIENT));
}

void q_text(struct statement *q, const char *name, const char *text)
{
	if (is_ready(q))
		note_bind(q, sqlite3_bind_text(q->stmt, parameter(q, name), text, -1, SQLITE_TRANSIENT));
}

enum err q_row(struct statement *q)
{
	if (q->failed != ERR_OK)
		return q->failed;
	int rc = sqlite3_step(q->stmt);
	if (rc == SQLITE_ROW)
		return ERR_OK;
	if (rc == SQLITE_DONE)
		return ERR_NOT_FOUND;
	q->failed = fail(q->db, rc, query_texts[q->id].name);
	return q->failed;
}

enum err q_done(struct statement *q)
{
	enum err e;

	do {
		e = q_row(q);
	} while (e == ERR_OK);
	/* "No more rows" is the good end here; a reference to nothing has set q->failed. */
	return q->failed;
}

enum err db_run(struct db *db, enum query id)
{
	AUTO_QUERY q = db_query(db, id);

	return q_done(&q);
}

int64_t q_changed(const struct statement *q)
{
	return sqlite3_changes64(q->db->handle);
}

int64_t q_get_int(const struct statement *q, int column)
{
	return sqlite3_column_int64(q->stmt, column);
}

bool q_get_null(const struct statement *q, int column)
{
	return sqlite3_column_type(q->stmt, column) == SQLITE_NULL;
}

void q_get_blob(const struct statement *q, int column, void *out, size_t len)
{
	const void *data = sqlite3_column_blob(q->stmt, column);

	if (data && (size_t)sqlite3_column_bytes(q->stmt, column) == len)
		memcpy(out, data, len);
	else
		memset(out, 0, len);
}

size_t q_get_bytes(const struct statement *q, int column, void *out, size_t cap)
{
	const void *data = sqlite3_column_blob(q->stmt, column);
	size_t      len  = (size_t)sqlite3_column_bytes(q->stmt, column);

	memset(out, 0, cap);
	if (len > cap)
		len = cap;
	if (data) /* NULL when there is nothing, too */
		memcpy(out, data, len);
	return len;
}

void q_get_text(const struct statement *q, int column, char *out, size_t cap)
{
	const char *text = (const char *)sqlite3_column_text(q->stmt, column);

	text_copy(out, cap, text ? text : "");
}
