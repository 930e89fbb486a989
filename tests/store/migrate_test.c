/*
 * Migrations: from every earlier version, failing ones, newer ones.
 */
#include "store/migrate.h"

#include "base/text.h"
#include "os/file.h"
#include "store/copies.h"
#include "support/data_folder.h"
#include "support/vectors.h"

#include <criterion/criterion.h>
#include <limits.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WALL_MS INT64_C(1793534400000) /* 2026-11-01 12:00 */

static char said[4096];

/* Opens the database, applies the first count of texts, closes it; after runs in between. */
static enum err run(const struct migration_text *texts, int count, void (*after)(struct db *db))
{
	struct db     *db     = NULL;
	FILE          *report = fmemopen(said, sizeof(said), "w");
	struct migrate m      = { data_path("coop.db"), data_path("copies"), texts, count, WALL_MS };

	cr_assert_eq(file_make_dirs(m.copies, 0700), ERR_OK);
	cr_assert_eq(db_open(&db, NULL, m.path, stderr), ERR_OK);
	enum err e = migrate(NULL, db, &m, report);
	fclose(report);
	if (after)
		after(db);
	db_close(db);
	return e;
}

static int64_t version(struct db *db)
{
	return data_ask(db, "PRAGMA user_version");
}

/* Every table, index and view as SQLite remembers it, in the order of their names. */
static void dump_schema(char *out, size_t cap, struct db *db)
{
	sqlite3_stmt *stmt = NULL;
	size_t        len  = 0;

	cr_assert_eq(sqlite3_prepare_v2(db_handle(db),
	                                "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name", -1, &stmt,
	                                NULL),
	             SQLITE_OK);
	while (sqlite3_step(stmt) == SQLITE_ROW) {
		cr_assert(text_format(out + len, cap - len, "\n%s;\n", (const char *)sqlite3_column_text(stmt, 0)));
		len += strlen(out + len);
	}
	sqlite3_finalize(stmt);
}

static void expect_schema(struct db *db)
{
	static char schema[32768];
	char        path[PATH_MAX];
	char       *text = NULL;
	size_t      len;

	dump_schema(schema, sizeof(schema), db);
	cr_assert_eq(file_read(&text, &len, tests_path(path, sizeof(path), "vectors/schema.sql"), sizeof(schema)),
	             ERR_OK);
	const char *wanted = strstr(text, "\n\n");
	cr_assert_not_null(wanted);
	cr_expect_str_eq(wanted + 1, schema, "the schema is now:\n%s", schema);
	free(text);
	cr_expect_eq(version(db), migration_count);
	cr_expect_eq(db_prepare(db, stderr), ERR_OK);
}

Test(migrate, every_earlier_version_comes_to_the_same_schema)
{
	for (int from = 0; from < migration_count; from++) {
		cr_assert_eq(run(migration_texts, from, NULL), ERR_OK, "to version %d", from);
		cr_assert_eq(run(migration_texts, migration_count, expect_schema), ERR_OK, "from version %d", from);
		unlink(data_path("coop.db"));
		unlink(data_path("coop.db-wal"));
		unlink(data_path("coop.db-shm"));
	}
}

static const struct migration_text good[] = {
	{ 1, "first", "CREATE TABLE a (x INTEGER) STRICT; INSERT INTO a VALUES (7);" },
	{ 2, "second", "ALTER TABLE a ADD COLUMN y INTEGER;" },
	{ 3, "third", "CREATE TABLE b (z INTEGER) STRICT;" },
	{ 4, "fourth", "CREATE TABLE c (z INTEGER) STRICT;" },
	{ 5, "fifth", "CREATE TABLE d (z INTEGER) STRICT;" },
	{ 6, "sixth", "CREATE TABLE e (z INTEGER) STRICT;" },
};

Test(migrate, a_new_database_needs_no_copy)
{
	cr_expect_eq(run(good, 2, NULL), ERR_OK);
	cr_expect_eq(data_count_files("copies", ""), 0);
	cr_expect_eq(run(good, 2, NULL), ERR_OK);
	cr_expect_eq(data_count_files("copies", ""), 0, "nor one that is up to date");
}

static void expect_old(struct db *db)
{
	cr_expect_eq(version(db), 1);
	cr_expect_eq(data_ask(db, "SELECT x FROM a"), 7);
}

Test(migrate, an_older_database_is_copied_first)
{
	struct db  *copy;
	struct stat st;
	const char *name = "copies/migration-20261101T120000Z-from-1.db";

	cr_assert_eq(run(good, 1, NULL), ERR_OK);
	cr_assert_eq(run(good, 3, NULL), ERR_OK);
	cr_expect_eq(data_count_files("copies", ""), 1, "and nothing unfinished beside it");
	cr_assert_eq(stat(data_path(name), &st), 0);
	cr_expect_eq(st.st_mode & 0777, 0600);
	cr_assert_eq(db_open(&copy, NULL, data_path(name), stderr), ERR_OK);
	expect_old(copy);
	db_close(copy);
}

Test(migrate, the_last_three_copies_stay)
{
	for (int count = 1; count <= 6; count++)
		cr_assert_eq(run(good, count, NULL), ERR_OK);
	cr_expect_eq(data_count_files("copies", "migration-"), 3);
	cr_expect(copies_has(data_path("copies"), "migration-20261101T120000Z-from-5.db"));
	cr_expect_not(copies_has(data_path("copies"), "migration-20261101T120000Z-from-2.db"));
}

static const struct migration_text failing[] = {
	{ 1, "first", "CREATE TABLE a (x INTEGER) STRICT; INSERT INTO a VALUES (7);" },
	{ 2, "fine", "DROP TABLE a; CREATE TABLE b (x INTEGER) STRICT;" },
	{ 3, "breaks", "CREATE TABLE c (x INTEGER) STRICT; INSERT INTO nowhere VALUES (1);" },
};

Test(migrate, a_failed_one_leaves_the_old_database_and_says_how_to_go_back)
{
	cr_assert_eq(run(failing, 1, NULL), ERR_OK);
	cr_expect_eq(run(failing, 3, expect_old), ERR_STORE);
	cr_expect_not_null(strstr(said, "0003_breaks"), "%s", said);
	cr_expect_not_null(strstr(said, "no such table: nowhere"), "%s", said);
	cr_expect_not_null(strstr(said, "Nothing was changed"), "%s", said);
	cr_assert_eq(run(failing, 1, expect_old), ERR_OK, "the older program goes on");
}

static void change(struct db *db)
{
	data_exec(db, "UPDATE a SET x = 8");
}

/* The command of the message, run as it stands. */
Test(migrate, the_command_to_go_back_works)
{
	cr_assert_eq(run(failing, 1, NULL), ERR_OK);
	cr_assert_eq(run(failing, 3, NULL), ERR_STORE);
	const char *from = strstr(said, "cp '");
	cr_assert_not_null(from, "%s", said);
	AUTO(auto_free) char *command = strdup(from);
	cr_assert_eq(run(failing, 1, change), ERR_OK, "something changes after the copy");
	cr_assert_eq(system(command), 0, "%s", command);
	cr_assert_eq(run(failing, 1, expect_old), ERR_OK);
	cr_expect_eq(access(data_path("coop.db.new"), F_OK), -1);
}

/* In a folder whose name is no word of the shell, and not from where the server was started. */
Test(migrate, the_command_to_go_back_is_quoted_and_absolute)
{
	char path[PATH_MAX], copies[PATH_MAX], *command;

	cr_assert(text_format(path, sizeof(path), "%s/coop.db", data_path("it's here")));
	cr_assert(text_format(copies, sizeof(copies), "%s/copies", data_path("it's here")));
	cr_assert_eq(file_make_dirs(copies, 0700), ERR_OK);
	for (int count = 1; count <= 3; count += 2) {
		struct db     *db     = NULL;
		FILE          *report = fmemopen(said, sizeof(said), "w");
		struct migrate m      = { path, copies, failing, count, WALL_MS };

		cr_assert_eq(db_open(&db, NULL, path, stderr), ERR_OK);
		cr_expect_eq(migrate(NULL, db, &m, report), count == 1 ? ERR_OK : ERR_STORE);
		fclose(report);
		db_close(db);
	}
	command = strstr(said, "cp '/");
	cr_assert_not_null(command, "%s", said);
	cr_assert_eq(chdir("/"), 0);
	cr_assert_eq(system(command), 0, "%s", command); /* NOLINT(cert-env33-c): of our own making */
}

/* A restore's: its copy is gone with it, and what is left is the backup. */
Test(migrate, of_a_copy_no_copy_is_made_and_no_way_back_is_named)
{
	struct db     *db     = NULL;
	FILE          *report = fmemopen(said, sizeof(said), "w");
	struct migrate m      = { "/backup/coop-x.db", NULL, failing, 3, WALL_MS };

	cr_assert_eq(run(failing, 1, NULL), ERR_OK);
	cr_assert_eq(db_open(&db, NULL, data_path("coop.db"), stderr), ERR_OK);
	cr_expect_eq(migrate(NULL, db, &m, report), ERR_STORE);
	fclose(report);
	db_close(db);
	cr_expect_not_null(strstr(said, "the database /backup/coop-x.db up to date failed"), "%s", said);
	cr_expect_null(strstr(said, "copy"), "%s", said);
	cr_expect_eq(data_count_files("copies", ""), 0);
}

static const struct migration_text dangling[] = {
	{ 1, "first",
	  "CREATE TABLE a (x INTEGER PRIMARY KEY) STRICT; CREATE TABLE b (x INTEGER REFERENCES a (x)) STRICT;"
	  "INSERT INTO a VALUES (7); INSERT INTO b VALUES (7);" },
	{ 2, "forgets b", "DELETE FROM a;" },
};

Test(migrate, one_that_leaves_references_to_nothing_is_not_kept)
{
	cr_assert_eq(run(dangling, 1, NULL), ERR_OK);
	cr_expect_eq(run(dangling, 2, NULL), ERR_STORE);
	cr_assert_eq(run(dangling, 1, NULL), ERR_OK);
}

Test(migrate, a_newer_database_is_refused_with_what_to_do)
{
	cr_assert_eq(run(good, 3, NULL), ERR_OK);
	cr_expect_eq(run(good, 2, NULL), ERR_NEWER);
	cr_expect_not_null(strstr(said, "newer coopd"), "%s", said);
	cr_expect_not_null(strstr(said, "its version is 3, this one knows 2"), "%s", said);
	cr_expect_eq(data_count_files("copies", ""), 0);
}

Test(migrate, without_a_copy_nothing_is_changed)
{
	cr_assert_eq(run(good, 1, NULL), ERR_OK);

	struct db     *db     = NULL;
	FILE          *report = fmemopen(said, sizeof(said), "w");
	struct migrate m      = { data_path("coop.db"), data_path("no-such-folder"), good, 3, WALL_MS };

	cr_assert_eq(db_open(&db, NULL, m.path, stderr), ERR_OK);
	cr_expect_eq(migrate(NULL, db, &m, report), ERR_IO);
	fclose(report);
	expect_old(db);
	cr_expect_not_null(strstr(said, "no copy of it could be made"), "%s", said);
	db_close(db);
}
