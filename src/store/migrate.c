/*
 * user_version holds the number of the last migration.
 */
#include "store/migrate.h"

#include "base/auto.h"
#include "base/shell.h"
#include "base/text.h"
#include "store/copies.h"

#include <limits.h>
#include <sqlite3.h>
#include <stdlib.h>

static enum err get_version(int *out, sqlite3 *handle)
{
	sqlite3_stmt *stmt = NULL;
	int           rc   = sqlite3_prepare_v2(handle, "PRAGMA user_version", -1, &stmt, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(stmt);
	*out = rc == SQLITE_ROW ? sqlite3_column_int(stmt, 0) : 0;
	sqlite3_finalize(stmt);
	return rc == SQLITE_ROW ? ERR_OK : ERR_STORE;
}

/* The one statement that is put together: a PRAGMA takes no parameter. */
static int set_version(sqlite3 *handle, int version)
{
	char sql[64];

	text_format(sql, sizeof(sql), "PRAGMA user_version = %d", version);
	return sqlite3_exec(handle, sql, NULL, NULL, NULL);
}

/* Foreign keys are not enforced while tables are rebuilt, so they are looked at once before all of it is kept. */
static int check_references(sqlite3 *handle)
{
	sqlite3_stmt *stmt = NULL;
	int           rc   = sqlite3_prepare_v2(handle, "PRAGMA foreign_key_check", -1, &stmt, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(stmt);
	sqlite3_finalize(stmt);
	if (rc == SQLITE_ROW)
		return SQLITE_CONSTRAINT_FOREIGNKEY;
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* *at: the migration under way, for the message. */
static int run_pending(const struct migration_text **at, sqlite3 *handle, const struct migrate *m, int version)
{
	int rc = sqlite3_exec(handle, "BEGIN IMMEDIATE", NULL, NULL, NULL);

	for (int i = version; rc == SQLITE_OK && i < m->count; i++) {
		*at = &m->texts[i];
		rc  = sqlite3_exec(handle, (*at)->sql, NULL, NULL, NULL);
	}
	if (rc == SQLITE_OK)
		rc = check_references(handle);
	if (rc == SQLITE_OK)
		rc = set_version(handle, m->count);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(handle, "COMMIT", NULL, NULL, NULL);
	return rc;
}

/* As it has to be typed, wherever the operator stands. */
static void print_way_back(FILE *report, const struct migrate *m, const char *copy)
{
	AUTO(auto_free) char *folder = realpath(m->copies, NULL), *database = realpath(m->path, NULL);
	char                  name[COPIES_NAME_BYTES + 1];

	if (!folder || !database || !text_format(name, sizeof(name), "/%s", copy))
		return;
	fprintf(report, " A checked copy from before is %s%s; to go back to it: cp ", folder, name);
	shell_word(report, folder, name);
	fputc(' ', report);
	shell_word(report, database, ".new");
	fputs(" && rm -f ", report);
	shell_word(report, database, "-wal");
	fputc(' ', report);
	shell_word(report, database, "-shm");
	fputs(" && mv ", report);
	shell_word(report, database, ".new");
	fputc(' ', report);
	shell_word(report, database, "");
}

static void report_failure(FILE *report, sqlite3 *handle, const struct migrate *m, const struct migration_text *at,
                           const char *copy)
{
	fprintf(report, "bringing the database %s up to date failed at step %04d_%s: %s. Nothing was changed.", m->path,
	        at ? at->number : 0, at ? at->name : "begin", sqlite3_errmsg(handle));
	if (copy[0]) {
		fputs(" The coopd that ran before can still use it.", report);
		print_way_back(report, m, copy);
	}
	fputc('\n', report);
}

static enum err apply(struct db *db, const struct migrate *m, int version, const char *copy, FILE *report)
{
	sqlite3                     *handle = db_handle(db);
	const struct migration_text *at     = NULL;

	sqlite3_exec(handle, "PRAGMA foreign_keys = OFF", NULL, NULL, NULL);
	int rc = run_pending(&at, handle, m, version);
	if (rc != SQLITE_OK) {
		/* First the message, which is the library's last. */
		report_failure(report, handle, m, at, copy);
		if (db_in_transaction(db))
			sqlite3_exec(handle, "ROLLBACK", NULL, NULL, NULL);
	}
	sqlite3_exec(handle, "PRAGMA foreign_keys = ON", NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		return ERR_OK;
	return (rc & 0xff) == SQLITE_FULL ? ERR_SPACE : ERR_STORE;
}

static enum err copy_first(char *name, const struct migrate *m, int version, FILE *report)
{
	copies_migration_name(name, m->wall_ms, version);
	enum err e = copy_database(m->path, m->copies, name, NULL);
	if (e == ERR_OK)
		e = copies_prune(m->copies, COPIES_MIGRATION, MIGRATE_COPIES_KEPT, name);
	if (e != ERR_OK)
		fprintf(report,
		        "the database %s must be brought up to date, but no copy of it could be made in %s first: %s."
		        " Nothing was changed; see the log line above, and whether the disk is full\n",
		        m->path, m->copies, err_people(e));
	return e;
}

enum err migrate(bool *ran, struct db *db, const struct migrate *m, FILE *report)
{
	char copy[COPIES_NAME_BYTES] = "";
	int  version;

	if (ran)
		*ran = false;
	enum err e = get_version(&version, db_handle(db));
	if (e != ERR_OK) {
		fprintf(report, "cannot read the database %s: %s\n", m->path, sqlite3_errmsg(db_handle(db)));
		return e;
	}
	if (version > m->count || version < 0) {
		fprintf(report,
		        "the database %s was made by a newer coopd (its version is %d, this one knows %d). Start the "
		        "newer"
		        " coopd%s%s\n",
		        m->path, version, m->count, m->copies ? ", or go back to a copy from before in " : "",
		        m->copies ? m->copies : "");
		return ERR_NEWER;
	}
	if (version == m->count)
		return ERR_OK;
	if (version > 0 && m->copies)
		e = copy_first(copy, m, version, report);
	if (e == ERR_OK)
		e = apply(db, m, version, copy, report);
	if (ran)
		*ran = e == ERR_OK;
	return e;
}
