/*
 * What a backup does, in order: hold the blobs, check the place, copy the database, copy what blobs it names and the place
 * lacks, then name it all in backup.json, and remove what that no longer names.
 */
#include "store/backup.h"

#include "base/auto.h"
#include "base/hex.h"
#include "base/json.h"
#include "base/text.h"
#include "base/version.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/log.h"
#include "store/backup_files.h"
#include "store/blob_copies.h"
#include "store/blob_folder.h"
#include "store/copies.h"
#include "store/hashes.h"
#include "store/inside.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MANIFEST_BYTES_MAX 65536
#define DATABASE_PREFIX    "coop-"

struct backup {
	struct store       *store;
	pthread_mutex_t     lock; /* of state */
	struct backup_state state;
	atomic_bool         stop;
};

/* One on its way. */
struct making {
	struct backup *b;
	const char    *dest;
	char          *problem;
	char           name[COPIES_NAME_BYTES]; /* of the database in dest */
	struct hashes  needed;
};

struct backup *backup_new(struct store *s)
{
	struct backup *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->store = s;
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

static enum err say(char problem[BACKUP_PROBLEM_BYTES], enum err e, const char *what)
{
	text_format(problem, BACKUP_PROBLEM_BYTES, "dest: %s", what);
	return e;
}

/* --- The place --- */

/* ERR_NOT_FOUND: no manifest; ERR_EXISTS: one of another store, or none that can be read. */
static enum err check_manifest(const struct backup *b, const char *dest)
{
	AUTO(auto_free) char         *text = NULL;
	AUTO(json_freep) struct json *j    = NULL;
	char                          path[PATH_MAX], id[2 * STORE_ID_BYTES + 1];
	const char                   *theirs;
	size_t                        len;
	enum err                      e;

	if (!text_format(path, sizeof(path), "%s/" BACKUP_MANIFEST, dest))
		return ERR_INVALID;
	e = file_read(&text, &len, path, MANIFEST_BYTES_MAX);
	if (e != ERR_OK)
		return e == ERR_NOT_FOUND ? e : ERR_EXISTS;
	hex_encode(id, store_id(b->store), STORE_ID_BYTES);
	return json_parse(&j, text, len) == ERR_OK && json_get_text(&theirs, j, "store_id") == ERR_OK &&
	                       strcmp(theirs, id) == 0
	               ? ERR_OK
	               : ERR_EXISTS;
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
		          strcmp(name, "secrets") == 0 ||
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

enum err backup_try(struct backup *b, const char *dest, char problem[BACKUP_PROBLEM_BYTES])
{
	enum err e;

	if (dest[0] != '/' || strstr(dest, "/../") || strlen(dest) > PATH_MAX - 128)
		return say(problem, ERR_INVALID, "is no absolute path of a folder; name one");
	if (!names_fit(dest))
		return say(problem, ERR_INVALID, "a name in it is too long, or is no folder; choose another");
	if (is_in_data(b, dest))
		return say(problem, ERR_INVALID, "lies in the data folder; a backup belongs somewhere else");
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

static void put_time(struct json *j, const char *name, int64_t wall_ms)
{
	char      text[32];
	time_t    at = (time_t)(wall_ms / 1000);
	struct tm utc;

	if (gmtime_r(&at, &utc) && strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc) > 0)
		json_put_text(j, name, text);
}

static enum err write_manifest(struct making *m)
{
	AUTO(json_freep) struct json *j    = json_object_new();
	AUTO(auto_free) char         *text = NULL;
	char                          path[PATH_MAX], hex[2 * BLOB_HASH_BYTES + 1];
	uint8_t                       hash[BLOB_HASH_BYTES];
	enum err                      e;

	if (!j || !text_format(path, sizeof(path), "%s/%s", m->dest, m->name))
		return ERR_NOMEM;
	e = backup_hash_file(hash, path);
	if (e != ERR_OK)
		return e;
	json_put_int(j, "coopd_backup", 1);
	json_put_text(j, "version", COOPD_VERSION);
	hex_encode(hex, store_id(m->b->store), STORE_ID_BYTES);
	json_put_text(j, "store_id", hex);
	json_put_text(j, "database", m->name);
	json_put_int(j, "database_bytes", m->b->state.database_bytes);
	hex_encode(hex, hash, sizeof(hash));
	json_put_text(j, "database_sha256", hex);
	json_put_int(j, "blobs", m->b->state.blobs);
	json_put_int(j, "damaged", m->b->state.damaged);
	put_time(j, "began_at", m->b->state.began_ms);
	put_time(j, "ended_at", clock_wall_ms());
	text = json_text(j);
	if (!text || !text_format(path, sizeof(path), "%s/" BACKUP_MANIFEST, m->dest))
		return ERR_NOMEM;
	return file_write(path, text, strlen(text), 0600);
}

/* Databases of backups before, and of ones that came to no end. */
static void remove_old(const struct making *m)
{
	DIR           *d = opendir(m->dest);
	struct dirent *entry;

	if (!d)
		return;
	while ((entry = readdir(d))) {
		const char *name = entry->d_name;

		if ((strncmp(name, DATABASE_PREFIX, strlen(DATABASE_PREFIX)) == 0 && strcmp(name, m->name) != 0) ||
		    strncmp(name, COPIES_TEMPORARY, strlen(COPIES_TEMPORARY)) == 0)
			unlinkat(dirfd(d), name, 0);
	}
	closedir(d);
	backup_remove_blobs(m->dest, &m->needed);
}

static enum err make(struct making *m)
{
	enum err e = file_make_dirs(m->dest, 0700);

	if (e != ERR_OK)
		return say(m->problem, ERR_IO, "the folder cannot be made; coopd's user must be able to write there");
	e = copy_rows(m);
	if (e == ERR_OK)
		e = copy_blobs(m);
	if (e == ERR_OK)
		e = backup_copy_secrets(m->b->store, m->dest);
	if (e == ERR_OK)
		e = write_manifest(m);
	if (e == ERR_OK)
		remove_old(m);
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
		b->state = (struct backup_state){ .is_running = true, .began_ms = clock_wall_ms() };
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
	pthread_mutex_unlock(&b->lock);
}

enum err backup_make(struct backup_state *out, struct backup *b, const char *dest, char problem[BACKUP_PROBLEM_BYTES])
{
	struct making m = { .b = b, .dest = dest, .problem = problem };
	enum err      e;

	problem[0] = '\0';
	e          = backup_try(b, dest, problem);
	if (e == ERR_OK)
		e = begin(b, dest, problem);
	if (e != ERR_OK)
		return e;
	name_database(m.name, b->state.began_ms);
	blobs_keep(store_blobs(b->store), true);
	e = make(&m);
	blobs_keep(store_blobs(b->store), false);
	hashes_fini(&m.needed);
	end(b, e);
	backup_look(out, b);
	log_line(e == ERR_OK ? LOG_INFO : LOG_ERROR, "store", 0, "backup",
	         "dest=%s result=%s blobs=%lld copied=%lld bytes=%lld damaged=%lld", dest, err_rest(e),
	         (long long)out->blobs, (long long)out->blobs_copied, (long long)out->bytes_copied,
	         (long long)out->damaged);
	return e;
}
