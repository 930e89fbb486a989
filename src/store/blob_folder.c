/*
 * A folder that could not be synced stays on the list until it was: a later batch may find it made already and would
 * not know that its name is not safe yet.
 */
#include "store/blob_folder.h"

#include "base/hex.h"
#include "base/metric.h"
#include "base/text.h"
#include "os/clock.h"
#include "os/log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDERS         256
#define REPORTS         64
#define REPORT_EVERY_MS INT64_C(3600000)
#define FAILING_MS      60000
#define LEFT_AGAIN_MS   INT64_C(600000) /* what could not go is looked at again after so long */

struct taken {
	uint8_t hash[BLOB_HASH_BYTES];
	bool    was_there; /* a file of that name, before */
};

struct report {
	bool    used;
	uint8_t hash[BLOB_HASH_BYTES];
	int64_t at_ms; /* monotonic */
};

struct blobs {
	char        root[PATH_MAX];
	atomic_bool known;

	/* Of the store thread. */
	bool          unsynced[FOLDERS], root_unsynced;
	struct taken *taken; /* in the batch under way */
	size_t        taken_count, taken_cap;
	bool          garbage_noted;                  /* since the pass under way, or the last one, began */
	bool          in_pass, pass_left_some;        /* one look at all that is noted, in helpings */
	uint8_t       garbage_after[BLOB_HASH_BYTES]; /* where the pass goes on */
	int64_t       left_at_ms;                     /* when to look again at what was left; 0: nothing was */

	atomic_int      keepers;   /* who want everything to stay */
	_Atomic int64_t failed_ms; /* monotonic; 0: the last one went well */
	_Atomic int64_t day;
	uint8_t (*held)[BLOB_HASH_BYTES]; /* not touched once holds is set */
	size_t      held_count;
	atomic_bool holds;

	pthread_mutex_t lock; /* guards from here */
	struct report   reports[REPORTS];
	size_t          report_next;
};

struct blobs *blobs_new(const char *root, bool known)
{
	struct blobs *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	if (!text_copy(b->root, sizeof(b->root), root)) {
		free(b);
		return NULL;
	}
	atomic_store(&b->known, known);
	b->garbage_noted = true;
	pthread_mutex_init(&b->lock, NULL);
	return b;
}

void blobs_free(struct blobs *b)
{
	if (!b)
		return;
	pthread_mutex_destroy(&b->lock);
	free(b->taken);
	free(b->held);
	free(b);
}

static enum err fits(bool whole)
{
	return whole ? ERR_OK : ERR_IO;
}

enum err blobs_path(char out[PATH_MAX], const struct blobs *b, const uint8_t hash[BLOB_HASH_BYTES])
{
	char hex[2 * BLOB_HASH_BYTES + 1];

	hex_encode(hex, hash, BLOB_HASH_BYTES);
	return fits(text_format(out, PATH_MAX, "%s/%.2s/%s", b->root, hex, hex + 2));
}

enum err blobs_tmp_path(char out[PATH_MAX], const struct blobs *b, const char *name)
{
	return fits(text_format(out, PATH_MAX, "%s/.tmp/%s", b->root, name));
}

enum err blobs_trash_path(char out[PATH_MAX], const struct blobs *b, const char *name)
{
	return fits(text_format(out, PATH_MAX, "%s/.trash/%s", b->root, name));
}

enum err blobs_folder_path(char out[PATH_MAX], const struct blobs *b, const char *name)
{
	return fits(text_format(out, PATH_MAX, "%s/%s", b->root, name));
}

bool blobs_has(const struct blobs *b, const uint8_t hash[BLOB_HASH_BYTES], int64_t bytes)
{
	char        path[PATH_MAX];
	struct stat st;

	return blobs_path(path, b, hash) == ERR_OK && lstat(path, &st) == 0 && S_ISREG(st.st_mode) &&
	       (bytes < 0 || st.st_size == bytes);
}

bool blobs_are_known(const struct blobs *b)
{
	return atomic_load(&b->known);
}

void blobs_set_known(struct blobs *b)
{
	atomic_store(&b->known, true);
}

enum err blobs_io_error(const char *what, const char *path, int why)
{
	bool full = why == ENOSPC || why == EDQUOT || why == EFBIG;

	log_error("store", 0, "blob-fails", "what=%s path=%s why=\"%s\" note=\"%s\"", what, path, strerror(why),
	          full ? "make room where the data folder is" : "check the disk and the rights of the data folder");
	return full ? ERR_SPACE : ERR_IO;
}

void blobs_set_failing(struct blobs *b, bool failing)
{
	atomic_store(&b->failed_ms, failing ? clock_mono_ms() : 0);
}

bool blobs_are_failing(const struct blobs *b)
{
	int64_t failed_ms = atomic_load(&b->failed_ms);

	return failed_ms != 0 && clock_mono_ms() - failed_ms < FAILING_MS;
}

bool blobs_note_report(struct blobs *b, const uint8_t hash[BLOB_HASH_BYTES], int64_t mono_ms)
{
	struct report *mine = NULL;
	bool           due  = true;

	pthread_mutex_lock(&b->lock);
	for (size_t i = 0; i < REPORTS && !mine; i++) {
		if (b->reports[i].used && memcmp(b->reports[i].hash, hash, BLOB_HASH_BYTES) == 0)
			mine = &b->reports[i];
	}
	if (mine)
		due = mono_ms - mine->at_ms >= REPORT_EVERY_MS;
	else
		mine = &b->reports[b->report_next++ % REPORTS];
	if (due) {
		*mine = (struct report){ .used = true, .at_ms = mono_ms };
		memcpy(mine->hash, hash, BLOB_HASH_BYTES);
	}
	pthread_mutex_unlock(&b->lock);
	return due;
}

void blobs_set_day(struct blobs *b, int64_t day)
{
	atomic_store(&b->day, day);
}

int64_t blobs_day(const struct blobs *b)
{
	return atomic_load(&b->day);
}

void blobs_hold(struct blobs *b, uint8_t (*hashes)[BLOB_HASH_BYTES], size_t count)
{
	b->held       = hashes;
	b->held_count = count;
	atomic_store(&b->holds, true);
}

static int by_hash(const void *a, const void *b)
{
	return memcmp(a, b, BLOB_HASH_BYTES);
}

bool blobs_are_held(const struct blobs *b)
{
	return atomic_load(&b->holds);
}

bool blobs_holds(const struct blobs *b, const uint8_t hash[BLOB_HASH_BYTES])
{
	if (!atomic_load(&b->holds))
		return true;
	return b->held_count > 0 && bsearch(hash, b->held, b->held_count, BLOB_HASH_BYTES, by_hash);
}

static bool make_folder(struct blobs *b, uint8_t first)
{
	char name[3], path[PATH_MAX];

	hex_encode(name, &first, 1);
	if (blobs_folder_path(path, b, name) != ERR_OK || (mkdir(path, 0700) != 0 && errno != EEXIST))
		return false;
	b->root_unsynced = true;
	return true;
}

/* For blobs_after_batch. Without memory the file stays until a start finds that no row names it. */
static void note_taken(struct blobs *b, const uint8_t hash[BLOB_HASH_BYTES], bool was_there)
{
	if (b->taken_count == b->taken_cap) {
		size_t        cap  = b->taken_cap ? 2 * b->taken_cap : 64;
		struct taken *more = realloc(b->taken, cap * sizeof(*more));

		if (!more)
			return;
		b->taken     = more;
		b->taken_cap = cap;
	}
	struct taken *t = &b->taken[b->taken_count++];

	t->was_there = was_there;
	memcpy(t->hash, hash, BLOB_HASH_BYTES);
}

enum err blobs_take(struct blobs *b, const char *from, const uint8_t hash[BLOB_HASH_BYTES])
{
	char to[PATH_MAX];

	enum err e = blobs_path(to, b, hash);
	if (e != ERR_OK)
		return e;
	bool was_there = access(to, F_OK) == 0;
	int  rc        = rename(from, to);
	if (rc != 0 && errno == ENOENT && make_folder(b, hash[0]))
		rc = rename(from, to);
	if (rc != 0)
		return blobs_io_error("rename", to, errno);
	b->unsynced[hash[0]] = true;
	note_taken(b, hash, was_there);
	return ERR_OK;
}

void blobs_keep(struct blobs *b, bool keep)
{
	atomic_fetch_add(&b->keepers, keep ? 1 : -1);
}

enum err blobs_trash(struct blobs *b, const uint8_t hash[BLOB_HASH_BYTES])
{
	char from[PATH_MAX], to[PATH_MAX], name[BLOB_TRASH_NAME_BYTES], hex[2 * BLOB_HASH_BYTES + 1];

	if (atomic_load(&b->keepers) > 0)
		return ERR_BUSY;
	hex_encode(hex, hash, BLOB_HASH_BYTES);
	text_format(name, sizeof(name), "%lld-%s", (long long)blobs_day(b), hex);
	enum err e = blobs_path(from, b, hash);
	if (e == ERR_OK)
		e = blobs_trash_path(to, b, name);
	if (e != ERR_OK)
		return e;
	int rc = rename(from, to);
	if (rc != 0 && errno == ENOENT) {
		char trash[PATH_MAX];

		if (blobs_folder_path(trash, b, ".trash") == ERR_OK && mkdir(trash, 0700) == 0)
			rc = rename(from, to);
	}
	if (rc != 0)
		return errno == ENOENT ? ERR_NOT_FOUND : blobs_io_error("rename", to, errno);
	metric_inc(M_BLOBS_TRASHED);
	return ERR_OK;
}

void blobs_note_garbage(struct blobs *b)
{
	b->garbage_noted = true;
}

/* Which a sync refuses is final; that it could not be opened is not. */
static enum err sync_folder(struct db *db, const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return blobs_io_error("open", path, errno);

	int rc  = fsync(fd);
	int why = errno;

	close(fd);
	if (rc == 0)
		return ERR_OK;
	db_note_failed_sync(db);
	blobs_io_error("sync", path, why);
	return ERR_STORE;
}

static enum err sync_one(struct blobs *b, struct db *db, uint8_t first)
{
	char name[3], path[PATH_MAX];

	hex_encode(name, &first, 1);
	enum err e = blobs_folder_path(path, b, name);
	if (e == ERR_OK)
		e = sync_folder(db, path);
	if (e == ERR_OK)
		b->unsynced[first] = false;
	return e;
}

enum err blobs_before_commit(struct blobs *b, struct db *db)
{
	enum err e = ERR_OK;

	for (int i = 0; i < FOLDERS && e == ERR_OK; i++) {
		if (b->unsynced[i])
			e = sync_one(b, db, (uint8_t)i);
	}
	if (e == ERR_OK && b->root_unsynced) {
		e                = sync_folder(db, b->root);
		b->root_unsynced = e != ERR_OK;
	}
	return e;
}

static enum err find_bytes(struct db *db, const uint8_t hash[BLOB_HASH_BYTES])
{
	AUTO_QUERY q = db_query(db, Q_BLOB_FIND);

	q_blob(&q, ":hash", hash, BLOB_HASH_BYTES);
	return q_row(&q);
}

void blobs_after_batch(struct blobs *b, struct db *db)
{
	char path[PATH_MAX];

	/* After a failed sync nobody knows which rows are kept. */
	for (size_t i = 0; i < b->taken_count && !db_has_failed(db); i++) {
		const struct taken *t = &b->taken[i];

		if (!t->was_there && find_bytes(db, t->hash) == ERR_NOT_FOUND && blobs_path(path, b, t->hash) == ERR_OK)
			unlink(path);
	}
	b->taken_count = 0;
}

/* --- Garbage --- */

struct garbage {
	uint8_t hash[BLOB_HASH_BYTES];
	bool    is_old;
};

static enum err find_garbage(struct garbage *out, size_t *count, struct db *db, const uint8_t after[BLOB_HASH_BYTES])
{
	AUTO_QUERY q = db_query(db, Q_GARBAGE_NEXT);
	enum err   e;

	*count = 0;
	q_blob(&q, ":after", after, BLOB_HASH_BYTES);
	q_int(&q, ":max", BLOB_HELPING);
	while ((e = q_row(&q)) == ERR_OK) {
		q_get_blob(&q, 0, out[*count].hash, BLOB_HASH_BYTES);
		out[*count].is_old = q_get_int(&q, 1) != 0;
		(*count)++;
	}
	return e == ERR_NOT_FOUND ? ERR_OK : e;
}

static enum err remove_file(const struct blobs *b, const uint8_t hash[BLOB_HASH_BYTES])
{
	char path[PATH_MAX];

	enum err e = blobs_path(path, b, hash);
	if (e != ERR_OK)
		return e;
	if (unlink(path) != 0)
		return errno == ENOENT ? ERR_NOT_FOUND : blobs_io_error("unlink", path, errno);
	metric_inc(M_BLOBS_REMOVED);
	return ERR_OK;
}

static enum err is_named(struct db *db, const uint8_t hash[BLOB_HASH_BYTES])
{
	AUTO_QUERY q = db_query(db, Q_BLOB_IS_NAMED);

	q_blob(&q, ":hash", hash, BLOB_HASH_BYTES);
	return q_row(&q);
}

/*
 * What an earlier run noted may be about a file that a newer database names, which somebody will put back: it goes to
 * the trash, and only when database and folder belong together.
 */
static enum err dispose(struct blobs *b, struct db *db, const struct garbage *g)
{
	enum err e = is_named(db, g->hash);
	if (e == ERR_OK)
		return ERR_OK; /* a second look says it is none */
	if (e != ERR_NOT_FOUND)
		return e;
	if (blobs_holds(b, g->hash) || (g->is_old && !blobs_are_known(b)))
		return ERR_BUSY;
	e = g->is_old ? blobs_trash(b, g->hash) : remove_file(b, g->hash);
	return e == ERR_NOT_FOUND ? ERR_OK : e;
}

static enum err forget_note(struct db *db, const uint8_t hash[BLOB_HASH_BYTES])
{
	AUTO_QUERY q = db_query(db, Q_GARBAGE_REMOVE);

	q_blob(&q, ":hash", hash, BLOB_HASH_BYTES);
	return q_done(&q);
}

/* One that is held back, or whose file cannot go, keeps its note. */
static enum err remove_found(struct blobs *b, struct db *db, const struct garbage *found, size_t count)
{
	enum err e = ERR_OK;

	for (size_t i = 0; i < count && e == ERR_OK; i++) {
		if (dispose(b, db, &found[i]) == ERR_OK)
			e = forget_note(db, found[i].hash);
		else
			b->pass_left_some = true;
	}
	return e;
}

static enum err remove_helping(struct blobs *b, struct db *db)
{
	struct garbage found[BLOB_HELPING];
	size_t         count;

	enum err e = find_garbage(found, &count, db, b->garbage_after);
	if (e == ERR_OK)
		e = remove_found(b, db, found, count);
	if (e != ERR_OK)
		return e;
	b->in_pass = count == BLOB_HELPING;
	if (b->in_pass)
		memcpy(b->garbage_after, found[count - 1].hash, BLOB_HASH_BYTES);
	return ERR_OK;
}

static void begin_pass(struct blobs *b)
{
	b->in_pass        = true;
	b->garbage_noted  = false;
	b->pass_left_some = false;
	b->left_at_ms     = 0;
	memset(b->garbage_after, 0, BLOB_HASH_BYTES);
}

/* What is left goes in a later pass, not in one after the other. */
static void end_pass(struct blobs *b)
{
	b->in_pass = false;
	if (b->pass_left_some)
		b->left_at_ms = clock_mono_ms() + LEFT_AGAIN_MS;
}

static bool is_pass_due(const struct blobs *b)
{
	return b->garbage_noted || (b->left_at_ms != 0 && clock_mono_ms() >= b->left_at_ms);
}

bool blobs_remove_garbage(struct blobs *b, struct db *db)
{
	if ((!b->in_pass && !is_pass_due(b)) || !atomic_load(&b->holds) || atomic_load(&b->keepers) > 0 ||
	    db_has_failed(db))
		return false;
	if (db_run(db, Q_BATCH_BEGIN) != ERR_OK)
		return false;
	if (!b->in_pass)
		begin_pass(b);
	/* Files first: a note without a file is harmless, a file without a note or a row is not found until a start. */
	if (remove_helping(b, db) != ERR_OK || db_commit(db) != ERR_OK) {
		db_undo(db);
		b->pass_left_some = true;
		end_pass(b);
		return false;
	}
	if (!b->in_pass)
		end_pass(b);
	return b->in_pass || b->garbage_noted;
}
