/*
 * The folder's name is kept in a static: each test has its own process.
 */
#include "support/data_folder.h"

#include "base/text.h"
#include "os/clock.h"
#include "store/migrate.h"
#include "support/temp_folder.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define AWAIT_MS 10000

static char  folder[TEMP_FOLDER_BYTES];
static bool  folder_made;
static pid_t folder_owner;

static void remove_folder(void)
{
	char command[PATH_MAX];

	/* A forked child ends too, and must not take the folder along. */
	if (getpid() != folder_owner || getenv("COOP_KEEP"))
		return;
	text_format(command, sizeof(command), "rm -rf '%s'", folder);
	if (system(command) != 0)
		fprintf(stderr, "cannot remove %s\n", folder);
}

const char *data_folder(void)
{
	if (!folder_made) {
		temp_folder(folder, "coopd-store-");
		folder_made  = true;
		folder_owner = getpid();
		atexit(remove_folder);
	}
	return folder;
}

const char *data_path(const char *name)
{
	static char   paths[8][PATH_MAX];
	static size_t turn;
	char         *path = paths[turn++ % COUNT_OF(paths)];

	cr_assert(text_format(path, PATH_MAX, "%s/%s", data_folder(), name));
	return path;
}

struct conf *data_conf(void)
{
	static struct conf conf;
	static char        data[PATH_MAX];

	if (!conf.server_data) {
		limits_default(&conf.limits);
		text_copy(data, sizeof(data), data_folder());
		conf.server_data = data;
	}
	return &conf;
}

struct store *data_open_store(void)
{
	struct store *s = NULL;

	cr_assert_eq(store_open(&s, data_conf(), stderr), ERR_OK);
	return s;
}

struct store *data_start_store(void)
{
	struct store *s = data_open_store();

	cr_assert_eq(store_start(s), ERR_OK);
	return s;
}

const char *data_open_fails(enum err expected)
{
	static char   text[4096];
	struct store *s      = NULL;
	FILE         *report = fmemopen(text, sizeof(text), "w");

	cr_assert_not_null(report);
	cr_assert_eq(store_open(&s, data_conf(), report), expected);
	fclose(report);
	cr_assert_null(s);
	return text;
}

struct db *data_open_db(void)
{
	struct db     *db = NULL;
	struct migrate m  = {
		 .path   = data_path("coop.db"),
		 .copies = data_folder(),
		 .texts  = migration_texts,
		 .count  = migration_count,
	};

	cr_assert_eq(db_open(&db, NULL, m.path, stderr), ERR_OK);
	cr_assert_eq(migrate(NULL, db, &m, stderr), ERR_OK);
	cr_assert_eq(db_prepare(db, stderr), ERR_OK);
	return db;
}

int64_t data_ask(struct db *db, const char *sql)
{
	sqlite3_stmt *stmt = NULL;

	cr_assert_eq(sqlite3_prepare_v2(db_handle(db), sql, -1, &stmt, NULL), SQLITE_OK, "%s: %s", sql,
	             sqlite3_errmsg(db_handle(db)));
	cr_assert_eq(sqlite3_step(stmt), SQLITE_ROW, "%s: %s", sql, sqlite3_errmsg(db_handle(db)));
	int64_t value = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return value;
}

void data_exec(struct db *db, const char *sql)
{
	cr_assert_eq(sqlite3_exec(db_handle(db), sql, NULL, NULL, NULL), SQLITE_OK, "%s: %s", sql,
	             sqlite3_errmsg(db_handle(db)));
}

const char *data_plan_scans(struct db *db, const char *sql)
{
	static char   step[200];
	char          explain[8192];
	sqlite3_stmt *stmt = NULL;

	step[0] = '\0';
	cr_assert(text_format(explain, sizeof(explain), "EXPLAIN QUERY PLAN %s", sql));
	cr_assert_eq(sqlite3_prepare_v2(db_handle(db), explain, -1, &stmt, NULL), SQLITE_OK, "%s", sql);
	while (!step[0] && sqlite3_step(stmt) == SQLITE_ROW) {
		const char *detail = (const char *)sqlite3_column_text(stmt, 3);

		if (strncmp(detail, "SCAN", 4) == 0 && !strstr(detail, "CONSTANT ROW"))
			text_copy(step, sizeof(step), detail);
	}
	sqlite3_finalize(stmt);
	return step[0] ? step : NULL;
}

struct data_clock *data_take_clock(void)
{
	const char *path = data_path("clock");
	int         fd   = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	cr_assert_geq(fd, 0);
	cr_assert_eq(ftruncate(fd, sizeof(struct data_clock)), 0);
	void *clock = mmap(NULL, sizeof(struct data_clock), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	cr_assert_neq(clock, MAP_FAILED);
	close(fd);
	setenv("COOP_TEST_CLOCK", path, 1);
	clock_init();
	return clock;
}

size_t data_count_files(const char *below, const char *prefix)
{
	DIR           *d = opendir(data_path(below));
	struct dirent *entry;
	size_t         n = 0;

	cr_assert_not_null(d);
	while ((entry = readdir(d)))
		n += entry->d_name[0] != '.' && strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
	closedir(d);
	return n;
}

bool data_await(bool (*holds)(void *arg), void *arg)
{
	const struct timespec nap = { .tv_nsec = 2000000 };

	for (int waited_ms = 0; waited_ms < AWAIT_MS; waited_ms += 2) {
		if (holds(arg))
			return true;
		nanosleep(&nap, NULL);
	}
	return false;
}
