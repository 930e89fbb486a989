/*
 * Which copies of the database name a player. They are of any age, so not every table is in each; and they are none of ours to
 * change.
 */
#include "store/forget.h"

#include "base/auto.h"
#include "base/text.h"
#include "os/log.h"
#include "store/copies.h"
#include "store/inside.h"
#include "store/upkeep.h"

#include <dirent.h>
#include <limits.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>

#define BACKUP_DATABASE "coop-" /* backup.h */

static const char *const questions[] = {
	"SELECT 1 FROM players WHERE id = ?1",
	"SELECT 1 FROM members WHERE player = ?1",
	"SELECT 1 FROM player_quotas WHERE player = ?1",
	"SELECT 1 FROM live_friends WHERE player = ?1",
	"SELECT 1 FROM checkpoints WHERE player = ?1",
	"SELECT 1 FROM audit WHERE instr(lower(target || ' ' || detail), lower(hex(?1))) > 0",
};

static void close_p(sqlite3 **db)
{
	sqlite3_close(*db);
}

/* *names: that it does. A table that is not there asks nothing. */
static int ask(bool *names, sqlite3 *db, const char *question, const uint8_t *id)
{
	sqlite3_stmt *stmt = NULL;
	int           rc   = sqlite3_prepare_v2(db, question, -1, &stmt, NULL);

	if (rc == SQLITE_ERROR)
		return SQLITE_OK;
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_blob(stmt, 1, id, PLAYER_ID_BYTES, SQLITE_STATIC);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(stmt);
	*names = *names || rc == SQLITE_ROW;
	sqlite3_finalize(stmt);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static enum err names_player(bool *names, const char *path, const uint8_t *id)
{
	AUTO(close_p) sqlite3 *db = NULL;
	int                    rc = sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);

	*names = false;
	for (size_t i = 0; rc == SQLITE_OK && !*names && i < COUNT_OF(questions); i++)
		rc = ask(names, db, questions[i], id);
	if (rc == SQLITE_OK)
		return ERR_OK;
	log_warn("store", 0, "cannot-look-into", "copy=%s why=%s", path, db ? sqlite3_errmsg(db) : sqlite3_errstr(rc));
	return ERR_STORE;
}

struct looking {
	const uint8_t *id;
	char           folder[PATH_MAX];
	const char    *shown; /* in front of the names; NULL: the whole path is shown */
	bool           is_daily;
	void (*each)(void *arg, const char *file, int64_t until_ms);
	void    *arg;
	enum err result;
};

/* The last 7 stay, and on a day on which the server runs one is made. */
static int64_t daily_until(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? (st.st_mtime + COPIES_DAILY_KEPT * UPTIME_DAY_MS / 1000) * 1000 : 0;
}

static bool look_into(const char *name, void *arg)
{
	struct looking *l = arg;
	char            path[PATH_MAX], shown[PATH_MAX];
	size_t          len = strlen(name);
	bool            names;

	if (len < 3 || strcmp(name + len - 3, ".db") != 0 ||
	    !text_format(path, sizeof(path), "%s/%s", l->folder, name) ||
	    !text_format(shown, sizeof(shown), "%s/%s", l->shown ? l->shown : l->folder, name))
		return true;
	enum err e = names_player(&names, path, l->id);
	if (e != ERR_OK)
		l->result = e;
	else if (names)
		l->each(l->arg, shown, l->is_daily ? daily_until(path) : 0);
	return true;
}

/* A backup lies in the folder itself, or in one of its own below it. */
static void look_at_backups(struct looking *l, const char *dir)
{
	DIR           *d = opendir(dir);
	struct dirent *entry;

	text_copy(l->folder, sizeof(l->folder), dir);
	copies_each(l->folder, BACKUP_DATABASE, look_into, l);
	while (d && (entry = readdir(d))) {
		if (entry->d_name[0] != '.' && text_format(l->folder, sizeof(l->folder), "%s/%s", dir, entry->d_name))
			copies_each(l->folder, BACKUP_DATABASE, look_into, l);
	}
	if (d)
		closedir(d);
}

enum err forget_copies(struct store *s, const char *backup_dir, const uint8_t id[PLAYER_ID_BYTES],
                       void (*each)(void *arg, const char *file, int64_t until_ms), void *arg)
{
	struct looking l = {
		.id = id, .shown = "copies", .is_daily = true, .each = each, .arg = arg, .result = ERR_OK
	};

	if (!text_format(l.folder, sizeof(l.folder), "%s/copies", store_folder(s)))
		return ERR_IO;
	copies_each(l.folder, COPIES_DAILY, look_into, &l);
	l.is_daily = false;
	copies_each(l.folder, COPIES_MIGRATION, look_into, &l);
	l.shown = NULL;
	if (backup_dir[0])
		look_at_backups(&l, backup_dir);
	return l.result;
}
