/*
 * What a backup does, in order: hold the blobs, check the place, copy the database, copy what blobs it names and the place
 * lacks, then name it all in backup.json, and remove what that no longer names: older databases than are to be kept, and the
 * blobs that only those named. Whatever fails, the backups before stay as they were.
 */
#include "store/backup.h"

#include "base/auto.h"
#include "base/event.h"
#include "base/metric.h"
#include "base/text.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/log.h"
#include "store/backup_files.h"
#include "store/backup_manifest.h"
#include "store/blob_copies.h"
#include "store/blob_folder.h"
#include "store/copies.h"
#include "store/forget.h"
#include "store/hashes.h"
#include "store/inside.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define DATABASE_PREFIX BACKUP_DATABASE_PREFIX

struct backup {
	struct store       *store;
	size_t              kept; /* databases in one folder */
	pthread_mutex_t     lock; /* of state */
	struct backup_state state;
	atomic_bool         stop;
};

/* One on its way. */
struct making {
	struct backup         *b;
	const char            *dest;
	char                  *problem;
	char                   name[COPIES_NAME_BYTES]; /* of the database in dest */
	struct hashes          needed;
	struct backup_manifest manifest;
};

struct backup *backup_new(struct store *s, int64_t kept)
{
	struct backup *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->store = s;
	b->kept  = (size_t)kept;
	pthread_mutex_init(&b->lock, NULL);
	return b;
}

void backup_free(struct backup *b)
{
	if (!b)
		return;
	pthread_mutex_destroy(&b->lock);
	free(b);
}

void backup_stop(struct backup *b)
{
	atomic_store(&b->stop, true);
}

void backup_look(struct backup_state *out, struct backup *b)
{
	pthread_mutex_lock(&b->lock);
	*out = b->state;
	pthread_mutex_unlock(&b->lock);
}

void backup_note_schedule(struct backup *b, int64_t every_ms, int64_t last_good_ms)
{
	pthread_mutex_lock(&b->lock);
	b->state.every_ms     = every_ms;
	b->state.last_good_ms = last_good_ms;
	pthread_mutex_unlock(&b->lock);
	metric_set(M_BACKUP_EVERY, every_ms / 1000);
	metric_set(M_BACKUP_LAST, last_good_ms / 1000);
}

static enum err say(char problem[BACKUP_PROBLEM_BYTES], enum err e, const char *what)
{
	text_format(problem, BACKUP_PROBLEM_BYTES, "dest: %s", what);
	return e;
}

/* --- The place --- */

/* ERR_NOT_FOUND: no manifest; ERR_EXISTS: one of another store, or none that can be read. */
static enum err check_manifest(const struct backup *b, const char *dest)
{
	AUTO(backup_manifest_fini) struct backup_manifest m;
	enum err                                          e = backup_manifest_read(&m, dest);

	if (e == ERR_NOT_FOUND || e == ERR_NOMEM)
		return e;
	return e == ERR_OK && memcmp(m.store_id, store_id(b->store), STORE_ID_BYTES) == 0 ? ERR_OK : ERR_EXISTS;
}

/* Also what an interrupted first backup left: then there is no manifest, but nothing that is not ours either. */
static bool has_only_ours(const char *dest)
{
	DIR           *d       = opendir(dest);
	bool           is_ours = true;
	struct dirent *entry;

	if (!d)
		return errno == ENOENT;
	while (is_ours && (entry = readdir(d))) {
		const char *name = entry->d_name;

		is_ours = strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strcmp(name, "blobs") == 0 ||
		          strcmp(name, "secrets") == 0 || strcmp(name, FORGOTTEN_FILE) == 0 ||
		          strncmp(name, DATABASE_PREFIX, strlen(DATABASE_PREFIX)) == 0 ||
		          strncmp(name, COPIES_TEMPORARY, strlen(COPIES_TEMPORARY)) == 0;
	}
	closedir(d);
	return is_ours;
}

/* Whether a folder is there, or could be made. */
static bool names_fit(const char *dest)
{
	struct stat st;

	return stat(dest, &st) == 0 ? S_ISDIR(st.st_mode) : errno != ENAMETOOLONG && errno != ENOTDIR && errno != ELOOP;
}

/* A folder that is the data folder, or below it, would be backed up into itself. */
static bool is_in_data(const struct backup *b, const char *dest)
{
	AUTO(auto_free) char *data = realpath(store_folder(b->store), NULL);
	char                  at[PATH_MAX];

	if (!data || !text_copy(at, sizeof(at), dest))
		return true;
	for (;;) { /* what is not there yet lies where its nearest existing parent lies */
		AUTO(auto_free) char *real  = realpath(at, NULL);
		size_t                len   = strlen(data);
		char                 *slash = strrchr(at, '/');

		if (real)
			return strncmp(real, data, len) == 0 && (real[len] == '/' || real[len] == '\0');
		if (!slash || slash == at)
			return false;
		*slash = '\0';
	}
}

/* SQLite has a limit of its own, far below the system's, and keeps a journal beside what it writes. */
static bool is_too_long(const char *dest)
{
	AUTO(auto_free) char *real = realpath(dest, NULL);
	const sqlite3_vfs    *vfs  = sqlite3_vfs_find(NULL);
	size_t                most = vfs ? (size_t)vfs->mxPathname : PATH_MAX;
	size_t                own  = sizeof("/" COPIES_TEMPORARY DATABASE_PREFIX "20260101T000000Z-000.db-journal");

	return strlen(dest) + own > most || (real && strlen(real) + own > most);
}

/* What is of no use in a backup is removed from its blobs: behind a link they would be somebody else's, perhaps ours. */
static bool has_link(const char *dest)
{
	char        path[PATH_MAX];
	struct stat st;

	return text_format(path, sizeof(path), "%s/blobs", dest) && lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

enum err backup_try(struct backup *b, const char *dest, char problem[BACKUP_PROBLEM_BYTES])
{
	enum err e;

	if (dest[0] != '/' || strstr(dest, "/../") || strlen(dest) > PATH_MAX - 128)
		return say(problem, ERR_INVALID, "is no absolute path of a folder; name one");
	if (is_too_long(dest))
		return say(problem, ERR_INVALID, "its path is too long for a database in it; choose a shorter one");
	if (!names_fit(dest))
		return say(problem, ERR_INVALID, "a name in it is too long, or is no folder; choose another");
	if (is_in_data(b, dest))
		return say(problem, ERR_INVALID, "lies in the data folder; a backup belongs somewhere else");
	if (has_link(dest))
		return say(problem, ERR_INVALID, "the folder blobs in it is a link; make it a folder");
	e = check_manifest(b, dest);
	if (e == ERR_NOT_FOUND)
		e = has_only_ours(dest) ? ERR_OK : ERR_EXISTS;
	if (e == ERR_EXISTS)
		return say(problem, e, "holds something that is no backup of this server; choose an empty folder");
	return e;
}

/* --- Its parts --- */

static void name_database(char out[COPIES_NAME_BYTES], int64_t wall_ms)
{
	time_t    at = (time_t)(wall_ms / 1000);
	struct tm utc;
	char      text[32] = "unknown";

	if (gmtime_r(&at, &utc))
		strftime(text, sizeof(text), "%Y%m%dT%H%M%SZ", &utc);
	text_format(out, COPIES_NAME_BYTES, DATABASE_PREFIX "%s-%03d.db", text, (int)(wall_ms % 1000));
}

static enum err check_space(const struct making *m, uint64_t bytes)
{
	uint64_t free_bytes;
	enum err e = file_free_bytes(&free_bytes, m->dest);

	if (e != ERR_OK)
		return say(m->problem, e, "its file system does not say how much room it has");
	if (free_bytes < bytes + store_free_floor(m->b->store))
		return say(m->problem, ERR_SPACE, "there is not enough room; make some, or choose another disk");
	return ERR_OK;
}

static enum err copy_rows(struct making *m)
{
	struct stat st;
	char        path[PATH_MAX];
	enum err    e;

	if (stat(store_database(m->b->store), &st) != 0)
		return say(m->problem, ERR_IO, "the database cannot be looked at");
	e = check_space(m, (uint64_t)st.st_size);
	if (e == ERR_OK)
		e = copy_database(store_database(m->b->store), m->dest, m->name, &m->b->stop);
	if (e != ERR_OK)
		return m->problem[0] ? e : say(m->problem, e, "the database could not be copied; see the log");
	if (!text_format(path, sizeof(path), "%s/%s", m->dest, m->name) || stat(path, &st) != 0)
		return ERR_IO;
	pthread_mutex_lock(&m->b->lock);
	m->b->state.database_bytes = st.st_size;
	pthread_mutex_unlock(&m->b->lock);
	e = blob_copies_read_one(&m->needed, m->dest, m->name, &m->b->stop);
	hashes_sort(&m->needed);
	pthread_mutex_lock(&m->b->lock);
	m->b->state.blobs = (int64_t)m->needed.count;
	pthread_mutex_unlock(&m->b->lock);
	return e;
}

/* Bytes of the blobs that dest lacks. */
static uint64_t count_missing(const struct making *m)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < m->needed.count && !atomic_load(&m->b->stop); i++) {
		uint64_t size;

		if (!backup_has_blob(&size, m->b->store, m->dest, m->needed.list[i]))
			bytes += size;
	}
	return bytes;
}

static void count_blob(struct making *m, enum err e, uint64_t bytes, bool was_there)
{
	struct backup_state *s = &m->b->state;

	pthread_mutex_lock(&m->b->lock);
	s->blobs_done++;
	s->damaged += e == ERR_DAMAGED;
	s->blobs_copied += e == ERR_OK && !was_there;
	s->bytes_copied += e == ERR_OK && !was_there ? (int64_t)bytes : 0;
	pthread_mutex_unlock(&m->b->lock);
}

static enum err copy_blobs(struct making *m)
{
	enum err e = check_space(m, count_missing(m));

	for (size_t i = 0; e == ERR_OK && i < m->needed.count; i++) {
		uint64_t bytes;
		bool     was_there = backup_has_blob(&bytes, m->b->store, m->dest, m->needed.list[i]);

		if (atomic_load(&m->b->stop))
			return ERR_CLOSED;
		if (!was_there)
			e = backup_copy_blob(&bytes, m->b->store, m->dest, m->needed.list[i]);
		count_blob(m, e, bytes, was_there);
		if (e == ERR_DAMAGED) /* reported; the others are no less worth keeping */
			e = ERR_OK;
	}
	if (e != ERR_OK)
		return m->problem[0] ? e : say(m->problem, e, "a checkpoint could not be copied; see the log");
	return backup_sync_blobs(m->dest);
}

/* The folder is whole with it, and was until now with the one before. */
static enum err write_manifest(struct making *m)
{
	struct backup_entry entry = { .bytes    = m->b->state.database_bytes,
		                      .blobs    = m->b->state.blobs,
		                      .damaged  = m->b->state.damaged,
		                      .began_ms = m->b->state.began_ms,
		                      .ended_ms = clock_wall_ms() };
	char                path[PATH_MAX];
	enum err            e = backup_manifest_read(&m->manifest, m->dest);

	if (e == ERR_NOT_FOUND)
		e = ERR_OK;
	memcpy(m->manifest.store_id, store_id(m->b->store), STORE_ID_BYTES);
	text_copy(entry.name, sizeof(entry.name), m->name);
	if (e == ERR_OK && !text_format(path, sizeof(path), "%s/%s", m->dest, m->name))
		e = ERR_IO;
	if (e == ERR_OK)
		e = backup_hash_file(entry.sha256, path);
	if (e == ERR_OK)
		e = backup_manifest_add(&m->manifest, &entry, m->b->kept);
	return e == ERR_OK ? backup_manifest_write(&m->manifest, m->dest) : e;
}

/* As name_database makes them, and as they are called until they are whole: an operator's own coop-notes.db is none. */
static bool is_ours(const char *name)
{
	static const char form[] = DATABASE_PREFIX "########T######Z-###.db";
	size_t            len    = strlen(COPIES_TEMPORARY);

	if (strncmp(name, COPIES_TEMPORARY, len) == 0)
		name += len;
	for (len = 0; form[len]; len++) {
		if (form[len] == '#' ? name[len] < '0' || name[len] > '9' : name[len] != form[len])
			return false;
	}
	return !name[len] || name[len] == '-'; /* a journal of it */
}

/* Databases that are not kept any more, and of backups that came to no end. */
static void remove_databases(const struct making *m)
{
	DIR           *d = opendir(m->dest);
	struct dirent *entry;

	while (d && (entry = readdir(d))) {
		const char *name = entry->d_name;

		if (is_ours(name) && !backup_manifest_find(&m->manifest, name))
			unlinkat(dirfd(d), name, 0);
	}
	if (d)
		closedir(d);
}

/* One of the kept that cannot be read keeps all blobs: nobody knows which are its own. */
static void remove_old(struct making *m)
{
	enum err e = ERR_OK;

	remove_databases(m);
	for (size_t i = 0; i + 1 < m->manifest.count && e == ERR_OK; i++)
		e = blob_copies_read_one(&m->needed, m->dest, m->manifest.list[i].name, &m->b->stop);
	hashes_sort(&m->needed);
	if (e == ERR_OK)
		backup_remove_blobs(m->dest, &m->needed);
}

/* Its room is needed more than it is: without a line in the manifest it is no backup. */
static void remove_unfinished(const struct making *m)
{
	AUTO(backup_manifest_fini) struct backup_manifest now = { 0 };
	char                                              path[PATH_MAX];
	enum err                                          e = backup_manifest_read(&now, m->dest);

	if ((e == ERR_NOT_FOUND || (e == ERR_OK && !backup_manifest_find(&now, m->name))) &&
	    text_format(path, sizeof(path), "%s/%s", m->dest, m->name))
		unlink(path);
}

static enum err make_rest(struct making *m)
{
	enum err e = copy_rows(m);

	if (e == ERR_OK)
		e = copy_blobs(m);
	if (e == ERR_OK)
		e = backup_copy_secrets(m->b->store, m->dest);
	if (e == ERR_OK)
		e = backup_copy_forgotten(m->b->store, m->dest);
	return e == ERR_OK ? write_manifest(m) : e;
}

static enum err make(struct making *m)
{
	enum err e = file_make_dirs(m->dest, 0700);

	if (e != ERR_OK)
		return say(m->problem, ERR_IO, "the folder cannot be made; coopd's user must be able to write there");
	e = make_rest(m);
	if (e == ERR_OK)
		remove_old(m);
	else
		remove_unfinished(m);
	return e;
}

/* --- All of it --- */

static enum err begin(struct backup *b, const char *dest, char problem[BACKUP_PROBLEM_BYTES])
{
	enum err e = ERR_OK;

	pthread_mutex_lock(&b->lock);
	if (b->state.is_running)
		e = say(problem, ERR_HELD, "another backup is under way; wait until it has ended");
	else if (atomic_load(&b->stop))
		e = ERR_CLOSED;
	if (e == ERR_OK) {
		b->state = (struct backup_state){ .is_running   = true,
			                          .began_ms     = clock_wall_ms(),
			                          .last_good_ms = b->state.last_good_ms,
			                          .every_ms     = b->state.every_ms };
		text_copy(b->state.dest, sizeof(b->state.dest), dest);
	}
	pthread_mutex_unlock(&b->lock);
	return e;
}

static void end(struct backup *b, enum err result)
{
	pthread_mutex_lock(&b->lock);
	b->state.is_running = false;
	b->state.ended_ms   = clock_wall_ms();
	b->state.result     = result;
	if (result == ERR_OK)
		b->state.last_good_ms = b->state.ended_ms;
	pthread_mutex_unlock(&b->lock);
}

/* How it ended, or was refused, for operators who watch. */
static void tell(const struct backup_state *s, const char *dest, bool by_schedule)
{
	bool good = s->result == ERR_OK;

	log_line(good ? LOG_INFO : LOG_ERROR, "store", 0, "backup",
	         "dest=%s result=%s by=%s blobs=%lld copied=%lld bytes=%lld damaged=%lld", dest, err_rest(s->result),
	         by_schedule ? "schedule" : "operator", (long long)s->blobs, (long long)s->blobs_copied,
	         (long long)s->bytes_copied, (long long)s->damaged);
	metric_inc(good ? M_BACKUPS_OK : M_BACKUPS_FAILED);
	if (good)
		metric_set(M_BACKUP_LAST, s->ended_ms / 1000);
	event_emit(E_BACKUP_ENDED, event_bool("ok", good), event_word("result", err_rest(s->result)),
	           event_bool("scheduled", by_schedule), event_int("blobs", s->blobs),
	           event_int("blobs_copied", s->blobs_copied), event_int("bytes_copied", s->bytes_copied),
	           event_int("damaged", s->damaged));
}

static enum err run(struct backup_state *out, struct backup *b, const char *dest, char *problem, bool by_schedule)
{
	struct making m = { .b = b, .dest = dest, .problem = problem };
	enum err      e;

	name_database(m.name, b->state.began_ms);
	blobs_keep(store_blobs(b->store), true);
	e = make(&m);
	blobs_keep(store_blobs(b->store), false);
	hashes_fini(&m.needed);
	backup_manifest_fini(&m.manifest);
	end(b, e);
	backup_look(out, b);
	if (e != ERR_CLOSED)
		tell(out, dest, by_schedule);
	return e;
}

enum err backup_make(struct backup_state *out, struct backup *b, const char *dest, char problem[BACKUP_PROBLEM_BYTES])
{
	enum err e;

	problem[0] = '\0';
	e          = backup_try(b, dest, problem);
	if (e == ERR_OK)
		e = begin(b, dest, problem);
	return e == ERR_OK ? run(out, b, dest, problem, false) : e;
}

enum err backup_make_scheduled(struct backup *b, const char *dest, char problem[BACKUP_PROBLEM_BYTES])
{
	struct backup_state s;
	enum err            e;

	problem[0] = '\0';
	e          = begin(b, dest, problem);
	if (e != ERR_OK)
		return e;
	e = backup_try(b, dest, problem);
	if (e == ERR_OK)
		return run(&s, b, dest, problem, true);
	end(b, e);
	backup_look(&s, b);
	tell(&s, dest, true);
	return e;
}
