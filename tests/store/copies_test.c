/*
 * Copies of the database.
 */
#include "store/copies.h"

#include "support/data_folder.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

#define NOV_30 INT64_C(1795996800000) /* 2026-11-30 00:00:00 UTC */

static void make_file(const char *name)
{
	int fd = open(data_path(name), O_WRONLY | O_CREAT, 0600);

	cr_assert_geq(fd, 0);
	close(fd);
}

static bool has(const char *name)
{
	return copies_has(data_folder(), name);
}

Test(copies, names_are_dates)
{
	char name[COPIES_NAME_BYTES];

	copies_daily_name(name, NOV_30 - 1);
	cr_expect_str_eq(name, "daily-2026-11-29.db");
	copies_daily_name(name, NOV_30);
	cr_expect_str_eq(name, "daily-2026-11-30.db");
	copies_migration_name(name, NOV_30 + 3661000, 12);
	cr_expect_str_eq(name, "migration-20261130T010101Z-from-12.db");
}

Test(copies, a_copy_has_what_was_committed_and_the_writer_goes_on)
{
	struct db *db = data_open_db(), *copy;

	data_exec(db, "INSERT INTO new_players VALUES (zeroblob(16), 1)");
	data_exec(db, "BEGIN IMMEDIATE; INSERT INTO new_players VALUES (zeroblob(16), 2)");
	cr_assert_eq(copy_database(data_path("coop.db"), data_folder(), "one.db", NULL), ERR_OK);
	data_exec(db, "COMMIT");

	cr_assert_eq(db_open(&copy, NULL, data_path("one.db"), stderr), ERR_OK);
	cr_expect_eq(data_ask(copy, "SELECT count(*) FROM new_players"), 1);
	cr_expect_eq(data_ask(copy, "PRAGMA user_version"), data_ask(db, "PRAGMA user_version"));
	cr_expect_eq(data_ask(db, "SELECT count(*) FROM new_players"), 2);
	db_close(copy);
	db_close(db);
}

Test(copies, a_copy_replaces_one_of_the_same_name)
{
	struct db *db = data_open_db();

	make_file("one.db");
	cr_assert_eq(copy_database(data_path("coop.db"), data_folder(), "one.db", NULL), ERR_OK);
	cr_expect_gt(data_ask(db, "SELECT count(*) FROM sqlite_schema"), 0);
	cr_expect_neq(access(data_path("one.db"), F_OK), -1);
	db_close(db);
}

Test(copies, one_that_is_stopped_or_fails_leaves_nothing)
{
	struct db  *db   = data_open_db();
	atomic_bool stop = true;

	data_exec(db, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)"
	              " INSERT INTO new_players SELECT randomblob(16), i FROM n");
	cr_expect_eq(copy_database(data_path("coop.db"), data_folder(), "one.db", &stop), ERR_CLOSED);
	cr_expect_eq(copy_database(data_path("missing.db"), data_folder(), "one.db", NULL), ERR_STORE);
	cr_expect_eq(data_count_files("", "one"), 0);
	cr_expect_eq(data_count_files("", COPIES_TEMPORARY), 0);
	db_close(db);
}

/* A page of the database that cannot be read right must not become a copy that somebody counts on. */
Test(copies, a_damaged_database_makes_no_copy)
{
	struct db *db = data_open_db();

	data_exec(db, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)"
	              " INSERT INTO new_players SELECT randomblob(16), i FROM n");
	db_fold(db);
	db_close(db);

	int fd = open(data_path("coop.db"), O_WRONLY);
	for (off_t page = 40; page < 60; page++)
		cr_assert_eq(pwrite(fd, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12, page * 4096), 12);
	close(fd);
	cr_expect_eq(copy_database(data_path("coop.db"), data_folder(), "one.db", NULL), ERR_STORE);
	cr_expect_eq(data_count_files("", "one"), 0);
	cr_expect_eq(data_count_files("", COPIES_TEMPORARY), 0);
}

/* A row that the table's own rules forbid: VACUUM takes it over without looking. */
Test(copies, a_copy_that_is_not_sound_is_not_kept)
{
	static const char damage[] = "CREATE TABLE x (a INTEGER) STRICT; INSERT INTO x VALUES (NULL);"
				     "PRAGMA writable_schema = ON;"
				     "UPDATE sqlite_schema SET sql = 'CREATE TABLE x (a INTEGER NOT NULL) STRICT'";
	sqlite3          *db       = NULL;

	cr_assert_eq(sqlite3_open(data_path("coop.db"), &db), SQLITE_OK);
	cr_assert_eq(sqlite3_exec(db, damage, NULL, NULL, NULL), SQLITE_OK, "%s", sqlite3_errmsg(db));
	sqlite3_close(db);
	cr_expect_eq(copy_database(data_path("coop.db"), data_folder(), "one.db", NULL), ERR_STORE);
	cr_expect_eq(data_count_files("", "one"), 0);
}

Test(copies, the_oldest_go_and_nothing_else)
{
	make_file("daily-2026-11-28.db");
	make_file("daily-2026-11-30.db");
	make_file("daily-2026-11-29.db");
	make_file("daily-2099-01-01.db");
	make_file("migration-2026.db");
	make_file("letter");
	cr_expect_eq(copies_prune(data_folder(), COPIES_DAILY, 4, NULL), ERR_OK);
	cr_expect(has("daily-2026-11-28.db"));
	cr_expect_eq(copies_prune(data_folder(), COPIES_DAILY, 3, NULL), ERR_OK);
	cr_expect_not(has("daily-2026-11-28.db"));
	cr_expect_eq(copies_prune(data_folder(), COPIES_DAILY, 1, "daily-2026-11-29.db"), ERR_OK);
	cr_expect(has("daily-2026-11-29.db"), "just made, whatever the others are called");
	cr_expect_eq(data_count_files("", COPIES_DAILY), 1);
	cr_expect(has("letter"));
	cr_expect(has("migration-2026.db"));
}

static bool is_idle(void *arg)
{
	return !copier_is_busy(arg);
}

Test(copies, a_thread_makes_the_days_copy_and_keeps_seven)
{
	struct db     *db = data_open_db();
	struct copier *c  = copier_new(data_path("coop.db"), data_folder());
	char           name[COPIES_NAME_BYTES];

	for (int day = 0; day < 9; day++) {
		copies_daily_name(name, NOV_30 + day * INT64_C(86400000));
		copier_start(c, name, day > 0);
		cr_assert(data_await(is_idle, c));
		cr_expect(has(name));
	}
	cr_expect_eq(data_count_files("", COPIES_DAILY), COPIES_DAILY_KEPT);
	cr_expect(has("daily-2026-12-02.db"));
	cr_expect_not(has("daily-2026-12-01.db"));
	copier_free(c);
	db_close(db);
}
