/*
 * A copy is a whole file that nobody writes: it is opened as immutable, which takes no lock and makes no files beside it.
 */
#include "store/blob_copies.h"

#include "base/auto.h"
#include "base/text.h"
#include "os/log.h"
#include "store/copies.h"

#include <limits.h>
#include <sqlite3.h>
#include <string.h>

static void close_dbp(sqlite3 **db)
{
	sqlite3_close(*db);
}

static void finalize_p(sqlite3_stmt **stmt)
{
	sqlite3_finalize(*stmt);
}

/* A path as the library wants it in front of "?immutable=1". */
static bool make_uri(char *out, size_t cap, const char *folder, const char *name)
{
	char   path[PATH_MAX];
	size_t len = strlen("file:");

	if (!text_format(path, sizeof(path), "%s/%s", folder, name) || !text_copy(out, cap, "file:"))
		return false;
	for (const char *at = path; *at; at++) {
		bool special = *at == '%' || *at == '?' || *at == '#';

		if (!text_format(out + len, cap - len, special ? "%%%02x" : "%c", (unsigned char)*at))
			return false;
		len += strlen(out + len);
	}
	return text_format(out + len, cap - len, "?immutable=1");
}

static int step_all(struct hashes *out, sqlite3_stmt *stmt, const atomic_bool *stop)
{
	int rc;

	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		if (atomic_load(stop))
			return SQLITE_INTERRUPT;
		if (sqlite3_column_bytes(stmt, 0) == BLOB_HASH_BYTES &&
		    hashes_add(out, sqlite3_column_blob(stmt, 0)) != ERR_OK)
			return SQLITE_NOMEM;
	}
	return rc;
}

/* SQLITE_DONE at the end; also when it is from before there were checkpoints. */
static int read_hashes(struct hashes *out, sqlite3 *db, const atomic_bool *stop)
{
	AUTO(finalize_p) sqlite3_stmt *has = NULL, *all = NULL;

	int rc = sqlite3_prepare_v2(db, "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'checkpoints'", -1,
	                            &has, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(has);
	if (rc != SQLITE_ROW)
		return rc;
	rc = sqlite3_prepare_v2(db, "SELECT sha256 FROM checkpoints", -1, &all, NULL);
	return rc == SQLITE_OK ? step_all(out, all, stop) : rc;
}

enum err blob_copies_read_one(struct hashes *out, const char *folder, const char *name, const atomic_bool *stop)
{
	const int                flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI;
	AUTO(close_dbp) sqlite3 *db    = NULL;
	char                     uri[3 * PATH_MAX + 32];

	if (!make_uri(uri, sizeof(uri), folder, name))
		return ERR_IO;
	int rc = sqlite3_open_v2(uri, &db, flags, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, (int *)NULL);
	if (rc == SQLITE_OK)
		rc = read_hashes(out, db, stop);
	if (rc == SQLITE_DONE)
		return ERR_OK;
	if (rc == SQLITE_INTERRUPT)
		return ERR_CLOSED;
	log_warn("store", 0, "cannot-read-copy",
	         "file=%s/%s why=\"%s\" note=\"no blob that it may name is removed: remove the copy if it is of no use "
	         "any "
	         "more\"",
	         folder, name, db ? sqlite3_errmsg(db) : sqlite3_errstr(rc));
	return rc == SQLITE_NOMEM ? ERR_NOMEM : ERR_STORE;
}

struct reading {
	struct hashes     *out;
	const char        *folder;
	const atomic_bool *stop;
	enum err           failed;
};

static bool read_next(const char *name, void *arg)
{
	struct reading *r = arg;

	r->failed = blob_copies_read_one(r->out, r->folder, name, r->stop);
	return r->failed == ERR_OK;
}

enum err blob_copies_read(struct hashes *out, const char *folder, atomic_bool *stop)
{
	struct reading r = { .out = out, .folder = folder, .stop = stop };

	enum err e = copies_each(folder, COPIES_MIGRATION, read_next, &r);
	if (e == ERR_OK)
		e = r.failed;
	hashes_sort(out);
	return e;
}

static bool note_any(const char *name, void *arg)
{
	bool *any = arg;

	(void)name;
	*any = true;
	return false;
}

bool blob_copies_any(const char *folder)
{
	bool any = false;

	/* A folder that cannot be read is looked at again, and reported, by blob_copies_read. */
	return copies_each(folder, COPIES_MIGRATION, note_any, &any) != ERR_OK || any;
}
