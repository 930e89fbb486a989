/*
 * VACUUM INTO through a connection that only reads: it takes one state of the database, without holding up the one
 * connection that writes. (Copying in steps starts over with each write and may never end.)
 */
#include "store/copies.h"

#include "base/auto.h"
#include "base/text.h"
#include "os/file.h"
#include "os/log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define STOP_CHECK_STEPS 1000 /* of SQLite's machine between two looks at stop: well under a millisecond */

static void close_dbp(sqlite3 **db)
{
	sqlite3_close(*db);
}

static void finalize_p(sqlite3_stmt **stmt)
{
	sqlite3_finalize(*stmt);
}

static void close_dirp(DIR **d)
{
	if (*d)
		closedir(*d);
}

static int must_stop(void *arg)
{
	const atomic_bool *stop = arg;

	return atomic_load(stop);
}

static int open_reader(sqlite3 **out, const char *path)
{
	int rc = sqlite3_open_v2(path, out, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_db_config(*out, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_db_config(*out, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, (int *)NULL);
	sqlite3_busy_timeout(*out, 5000);
	return rc;
}

/* As much as the store has. The library's own 2 MB make it write pages of a large copy out and read them back again and again. */
static const char copy_settings[] = "PRAGMA cache_size = -16384";

static int vacuum_into(sqlite3 *db, const char *path)
{
	AUTO(finalize_p) sqlite3_stmt *stmt = NULL;

	int rc = sqlite3_prepare_v2(db, "VACUUM INTO ?1", -1, &stmt, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_text(stmt, 1, path, -1, SQLITE_STATIC);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(stmt);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static enum err log_failure(const char *what, const char *path, const char *why, enum err e)
{
	log_error("store", 0, "cannot-copy", "what=%s path=%s why=%s", what, path, why);
	return e;
}

static enum err fill(const char *from, const char *to, atomic_bool *stop)
{
	AUTO(close_dbp) sqlite3 *db = NULL;
	static atomic_bool       never;

	int rc = open_reader(&db, from);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db, copy_settings, NULL, NULL, NULL);
	if (rc == SQLITE_OK) {
		sqlite3_progress_handler(db, STOP_CHECK_STEPS, must_stop, stop ? stop : &never);
		rc = vacuum_into(db, to);
	}
	if (rc == SQLITE_OK)
		return ERR_OK;
	if (rc == SQLITE_INTERRUPT)
		return ERR_CLOSED;
	return log_failure("database", to, db ? sqlite3_errmsg(db) : sqlite3_errstr(rc),
	                   rc == SQLITE_FULL ? ERR_SPACE : ERR_STORE);
}

/*
 * Reads every page back: a copy that cannot be used is worse than none, since somebody counts on it. (A connection that
 * only reads does not look at the CHECKs, and should not: a copy is to be what the database is.)
 */
static enum err check(const char *path)
{
	AUTO(close_dbp) sqlite3       *db   = NULL;
	AUTO(finalize_p) sqlite3_stmt *stmt = NULL;

	int rc = open_reader(&db, path);
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(db, "PRAGMA quick_check(1)", -1, &stmt, NULL);
	if (rc == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW &&
	    strcmp((const char *)sqlite3_column_text(stmt, 0), "ok") == 0)
		return ERR_OK;
	return log_failure("check", path, db ? sqlite3_errmsg(db) : sqlite3_errstr(rc), ERR_STORE);
}

static enum err sync_file(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	int rc = fd < 0 ? -1 : fsync(fd);

	if (fd >= 0)
		close(fd);
	return rc == 0 ? ERR_OK : log_failure("sync", path, strerror(errno), ERR_IO);
}

/* Empty, which VACUUM INTO accepts, and readable for nobody else from the start. */
static enum err make_empty(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return log_failure("file", path, strerror(errno), ERR_IO);
	close(fd);
	return ERR_OK;
}

static enum err publish(const char *temporary, const char *path, const char *folder)
{
	if (rename(temporary, path) != 0 || file_sync_dir(folder) != ERR_OK)
		return log_failure("rename", path, strerror(errno), ERR_IO);
	return ERR_OK;
}

enum err copy_database(const char *path, const char *folder, const char *name, atomic_bool *stop)
{
	char temporary[PATH_MAX], target[PATH_MAX];

	if (!text_format(temporary, sizeof(temporary), "%s/" COPIES_TEMPORARY "%s", folder, name) ||
	    !text_format(target, sizeof(target), "%s/%s", folder, name))
		return log_failure("name", folder, "too long", ERR_IO);

	enum err e = make_empty(temporary);
	if (e == ERR_OK)
		e = fill(path, temporary, stop);
	if (e == ERR_OK)
		e = check(temporary);
	if (e == ERR_OK)
		e = sync_file(temporary);
	if (e == ERR_OK)
		e = publish(temporary, target, folder);
	if (e != ERR_OK)
		unlink(temporary);
	return e;
}

enum err copies_each(const char *folder, const char *prefix, bool (*each)(const char *name, void *arg), void *arg)
{
	AUTO(close_dirp) DIR *d = opendir(folder);
	struct dirent        *entry;

	if (!d)
		return ERR_IO;
	while ((entry = readdir(d))) {
		if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0 && !each(entry->d_name, arg))
			break;
	}
	return ERR_OK;
}

struct oldest {
	char        name[NAME_MAX + 1];
	size_t      count; /* of all that match, the spared one included */
	const char *spared;
};

static bool note_oldest(const char *name, void *arg)
{
	struct oldest *o = arg;

	o->count++;
	if (o->spared && strcmp(name, o->spared) == 0)
		return true;
	if (!o->name[0] || strcmp(name, o->name) < 0)
		text_copy(o->name, sizeof(o->name), name);
	return true;
}

enum err copies_prune(const char *folder, const char *prefix, size_t kept, const char *spared)
{
	for (;;) {
		struct oldest o = { .spared = spared };
		char          path[PATH_MAX];

		enum err e = copies_each(folder, prefix, note_oldest, &o);
		if (e != ERR_OK || o.count <= kept || !o.name[0])
			return e;
		if (!text_format(path, sizeof(path), "%s/%s", folder, o.name) || unlink(path) != 0)
			return log_failure("removal", folder, strerror(errno), ERR_IO);
	}
}

static struct tm utc(int64_t wall_ms)
{
	time_t    seconds = (time_t)(wall_ms / 1000);
	struct tm tm      = { 0 };

	gmtime_r(&seconds, &tm);
	return tm;
}

void copies_daily_name(char *out, int64_t wall_ms)
{
	struct tm tm = utc(wall_ms);

	strftime(out, COPIES_NAME_BYTES, COPIES_DAILY "%Y-%m-%d.db", &tm);
}

void copies_migration_name(char *out, int64_t wall_ms, int from)
{
	struct tm tm = utc(wall_ms);
	char      when[32];

	strftime(when, sizeof(when), "%Y%m%dT%H%M%SZ", &tm);
	text_format(out, COPIES_NAME_BYTES, COPIES_MIGRATION "%s-from-%d.db", when, from);
}

bool copies_has(const char *folder, const char *name)
{
	char path[PATH_MAX];

	return text_format(path, sizeof(path), "%s/%s", folder, name) && access(path, F_OK) == 0;
}

struct copier {
	char        path[PATH_MAX], folder[PATH_MAX];
	char        name[COPIES_NAME_BYTES];
	bool        prune;
	bool        joinable;
	atomic_bool busy, stop;
	pthread_t   thread;
};

struct copier *copier_new(const char *path, const char *folder)
{
	struct copier *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	if (!text_copy(c->path, sizeof(c->path), path) || !text_copy(c->folder, sizeof(c->folder), folder)) {
		free(c);
		return NULL;
	}
	return c;
}

static void join(struct copier *c)
{
	if (c->joinable)
		pthread_join(c->thread, NULL);
	c->joinable = false;
}

void copier_free(struct copier *c)
{
	if (!c)
		return;
	atomic_store(&c->stop, true);
	join(c);
	free(c);
}

static void *run(void *arg)
{
	struct copier *c = arg;

	if (copy_database(c->path, c->folder, c->name, &c->stop) == ERR_OK) {
		log_info("store", 0, "copied", "file=%s/%s", c->folder, c->name);
		if (c->prune)
			copies_prune(c->folder, COPIES_DAILY, COPIES_DAILY_KEPT, c->name);
	}
	atomic_store(&c->busy, false);
	return NULL;
}

void copier_start(struct copier *c, const char *name, bool prune)
{
	if (atomic_load(&c->busy))
		return;
	join(c);
	text_copy(c->name, sizeof(c->name), name);
	c->prune = prune;
	atomic_store(&c->busy, true);
	c->joinable = pthread_create(&c->thread, NULL, run, c) == 0;
	if (!c->joinable)
		atomic_store(&c->busy, false);
}

bool copier_is_busy(const struct copier *c)
{
	return atomic_load(&c->busy);
}
