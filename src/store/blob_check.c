#include "store/blob_check.h"

#include "base/auto.h"
#include "base/hex.h"
#include "base/text.h"
#include "os/log.h"
#include "store/ask.h"
#include "store/blob_copies.h"
#include "store/db.h"
#include "store/hashes.h"
#include "store/inside.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FOLDERS      256
#define FOLDER_HEX   2
#define REPORTED_MAX 20 /* lines of the log; the count tells the rest */

/* A file of the folder, a row of the database, or a file in the trash. */
struct item {
	uint8_t hash[BLOB_HASH_BYTES];
	int64_t bytes; /* of a row: -1 for garbage */
	int64_t day;   /* in the trash since */
};

struct items {
	struct item *list;
	size_t       count, cap;
};

enum kind { WHOLE, TRASH_ONLY, SWEEP, COUNT };

struct blob_check {
	struct blob_check_rules rules;
	char                    copies[PATH_MAX];
	enum kind               kind;
	bool                    trusted;
	bool                    joinable;
	atomic_bool             busy, stop;
	pthread_t               thread;

	/* Of one check. */
	size_t        files;     /* all blobs there are */
	struct hashes suspects;  /* rows whose file is missing or of another size */
	struct hashes strangers; /* files that no row names */
	struct items  trash;
	size_t        damaged, restored, moved, expired;
	int64_t       stranger_bytes, moved_bytes;

	pthread_mutex_t   lock; /* guards from here */
	pthread_cond_t    ended;
	struct blob_found found;
};

/* --- Lists --- */

static enum err items_add(struct items *items, const struct item *item)
{
	if (items->count == items->cap) {
		size_t       cap  = items->cap ? 2 * items->cap : 64;
		struct item *more = realloc(items->list, cap * sizeof(*more));

		if (!more)
			return ERR_NOMEM;
		items->list = more;
		items->cap  = cap;
	}
	items->list[items->count++] = *item;
	return ERR_OK;
}

static void items_fini(struct items *items)
{
	free(items->list);
	*items = (struct items){ 0 };
}

static int compare(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	return memcmp(x->hash, y->hash, BLOB_HASH_BYTES);
}

static void items_sort(struct items *items)
{
	if (items->count > 0)
		qsort(items->list, items->count, sizeof(*items->list), compare);
}

/* --- What lies in the folders --- */

/* Reads a name of the folder; false for what is none of ours. */
typedef bool parse_name(struct item *out, const char *name, uint8_t folder);

static bool parse_blob(struct item *out, const char *name, uint8_t folder)
{
	out->hash[0] = folder;
	return hex_decode(out->hash + 1, BLOB_HASH_BYTES - 1, name, strlen(name)) == ERR_OK;
}

/* DAY-HASH */
static bool parse_trash(struct item *out, const char *name, uint8_t folder)
{
	char        day[24];
	const char *dash = strchr(name, '-');

	(void)folder;
	return dash && text_format(day, sizeof(day), "%.*s", (int)(dash - name), name) &&
	       text_to_int(&out->day, day, 0, INT64_MAX) == ERR_OK &&
	       hex_decode(out->hash, BLOB_HASH_BYTES, dash + 1, strlen(dash + 1)) == ERR_OK;
}

static enum err list_folder(struct items *out, const char *path, parse_name *parse, uint8_t folder)
{
	DIR           *d = opendir(path);
	struct dirent *entry;
	struct stat    st;
	enum err       e = ERR_OK;

	if (!d)
		return ERR_OK; /* no such folder, no such blobs: what is missing, the rows say */
	while (e == ERR_OK && (entry = readdir(d))) {
		struct item item = { 0 };

		if (parse(&item, entry->d_name, folder) &&
		    fstatat(dirfd(d), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode)) {
			item.bytes = st.st_size;
			e          = items_add(out, &item);
		}
	}
	closedir(d);
	items_sort(out);
	return e;
}

static enum err list_blobs(struct items *out, const struct blob_check *c, uint8_t folder)
{
	char name[FOLDER_HEX + 1], path[PATH_MAX];

	hex_encode(name, &folder, 1);
	enum err e = blobs_folder_path(path, c->rules.blobs, name);
	return e == ERR_OK ? list_folder(out, path, parse_blob, folder) : e;
}

static enum err list_trash(struct blob_check *c)
{
	char path[PATH_MAX];

	enum err e = blobs_folder_path(path, c->rules.blobs, ".trash");
	return e == ERR_OK ? list_folder(&c->trash, path, parse_trash, 0) : e;
}

/* --- What the store thread does for us --- */

struct errand {
	struct job         job;
	struct blob_check *check;

	/* Listing rows */
	uint8_t      folder;
	struct items rows;

	/* A second look */
	struct item items[BLOB_HELPING];
	size_t      count;
};

/* Nobody is kept waiting for it and no row changes, so the batch costs no sync. */
static enum err ask(struct blob_check *c, struct errand *errand, enum err (*run)(struct job *job, struct db *db))
{
	bool gone;

	if (atomic_load(&c->stop))
		return ERR_CLOSED;
	errand->check = c;
	errand->job   = (struct job){ .surface = SURFACE_UPKEEP, .eager = true, .run = run };
	return store_ask_within(c->rules.store, &errand->job, &gone, NULL, -1);
}

static enum err run_rows(struct job *job, struct db *db)
{
	struct errand *errand = CONTAINER(job, struct errand, job);
	uint8_t        first[BLOB_HASH_BYTES], last[BLOB_HASH_BYTES];
	AUTO_QUERY     q = db_query(db, Q_BLOB_RANGE);
	enum err       e;

	memset(first, 0, sizeof(first));
	memset(last, 0xff, sizeof(last));
	first[0] = last[0] = errand->folder;
	q_blob(&q, ":first", first, sizeof(first));
	q_blob(&q, ":last", last, sizeof(last));
	while ((e = q_row(&q)) == ERR_OK) {
		struct item item = { .bytes = q_get_int(&q, 1) };

		q_get_blob(&q, 0, item.hash, sizeof(item.hash));
		e = items_add(&errand->rows, &item);
		if (e != ERR_OK)
			return e;
	}
	return e == ERR_NOT_FOUND ? ERR_OK : e;
}

static enum err look_up(int64_t *out, struct db *db, enum query what, const uint8_t hash[BLOB_HASH_BYTES])
{
	AUTO_QUERY q = db_query(db, what);

	q_blob(&q, ":hash", hash, BLOB_HASH_BYTES);
	enum err e = q_row(&q);
	if (e == ERR_OK)
		*out = q_get_int(&q, 0);
	return e;
}

/* Somebody went back to a newer database, or put the wrong one there for a while. */
static bool bring_back(struct blob_check *c, const struct item *item, int64_t bytes)
{
	char        name[BLOB_TRASH_NAME_BYTES], hex[2 * BLOB_HASH_BYTES + 1], path[PATH_MAX];
	struct stat st;

	const struct item *found =
		c->trash.count == 0 ? NULL
				    : bsearch(item, c->trash.list, c->trash.count, sizeof(*c->trash.list), compare);
	if (!found)
		return false;
	hex_encode(hex, found->hash, BLOB_HASH_BYTES);
	return text_format(name, sizeof(name), "%lld-%s", (long long)found->day, hex) &&
	       blobs_trash_path(path, c->rules.blobs, name) == ERR_OK && stat(path, &st) == 0 && st.st_size == bytes &&
	       blobs_take(c->rules.blobs, path, item->hash) == ERR_OK;
}

static enum err check_suspect(struct blob_check *c, struct db *db, const struct item *item)
{
	int64_t bytes;

	enum err e = look_up(&bytes, db, Q_BLOB_FIND, item->hash);
	if (e != ERR_OK)
		return e == ERR_NOT_FOUND ? ERR_OK : e;
	if (blobs_has(c->rules.blobs, item->hash, bytes))
		return ERR_OK;
	if (bring_back(c, item, bytes)) {
		c->restored++;
		return ERR_OK;
	}
	if (c->damaged++ < REPORTED_MAX)
		blob_report_damaged(c->rules.store, item->hash,
		                    blobs_has(c->rules.blobs, item->hash, -1) ? "wrong size" : "missing");
	return ERR_OK;
}

static enum err run_suspects(struct job *job, struct db *db)
{
	struct errand *errand = CONTAINER(job, struct errand, job);
	enum err       e      = ERR_OK;

	for (size_t i = 0; i < errand->count && e == ERR_OK; i++)
		e = check_suspect(errand->check, db, &errand->items[i]);
	return e;
}

/* Whether nothing in the database speaks of it, also nothing in the batch under way. */
static enum err is_strange(bool *out, struct db *db, const uint8_t hash[BLOB_HASH_BYTES])
{
	static const enum query where[] = { Q_BLOB_FIND, Q_BLOB_IS_NAMED, Q_GARBAGE_FIND };
	enum err                e       = ERR_NOT_FOUND;
	int64_t                 ignored;

	for (size_t i = 0; i < COUNT_OF(where) && e == ERR_NOT_FOUND; i++)
		e = look_up(&ignored, db, where[i], hash);
	*out = e == ERR_NOT_FOUND;
	return e == ERR_NOT_FOUND ? ERR_OK : e;
}

static int64_t file_bytes(const struct blob_check *c, const uint8_t hash[BLOB_HASH_BYTES])
{
	char        path[PATH_MAX];
	struct stat st;

	return blobs_path(path, c->rules.blobs, hash) == ERR_OK && lstat(path, &st) == 0 ? st.st_size : 0;
}

static enum err run_strangers(struct job *job, struct db *db)
{
	struct errand *errand = CONTAINER(job, struct errand, job);

	for (size_t i = 0; i < errand->count; i++) {
		const uint8_t *hash = errand->items[i].hash;
		bool           strange;
		int64_t        bytes = file_bytes(errand->check, hash);

		enum err e = is_strange(&strange, db, hash);
		if (e != ERR_OK)
			return e;
		if (strange && blobs_trash(errand->check->rules.blobs, hash) == ERR_OK) {
			errand->check->moved++;
			errand->check->moved_bytes += bytes;
		}
	}
	return ERR_OK;
}

static enum err run_expire(struct job *job, struct db *db)
{
	struct errand     *errand = CONTAINER(job, struct errand, job);
	struct blob_check *c      = errand->check;

	(void)db;
	for (size_t i = 0; i < errand->count; i++) {
		char name[BLOB_TRASH_NAME_BYTES], hex[2 * BLOB_HASH_BYTES + 1], path[PATH_MAX];

		hex_encode(hex, errand->items[i].hash, BLOB_HASH_BYTES);
		if (text_format(name, sizeof(name), "%lld-%s", (long long)errand->items[i].day, hex) &&
		    blobs_trash_path(path, c->rules.blobs, name) == ERR_OK && unlink(path) == 0)
			c->expired++;
	}
	return ERR_OK;
}

/* Adds to the helping, and has it done when it is full. */
static enum err add_to_helping(struct blob_check *c, struct errand *errand, const struct item *item,
                               enum err (*run)(struct job *job, struct db *db))
{
	errand->items[errand->count++] = *item;
	if (errand->count < BLOB_HELPING)
		return ERR_OK;
	enum err e    = ask(c, errand, run);
	errand->count = 0;
	return e;
}

static enum err help_rest(struct blob_check *c, struct errand *errand, enum err (*run)(struct job *job, struct db *db))
{
	return errand->count > 0 ? ask(c, errand, run) : ERR_OK;
}

static enum err for_all(struct blob_check *c, const struct hashes *hashes,
                        enum err (*run)(struct job *job, struct db *db))
{
	struct errand errand = { 0 };
	enum err      e      = ERR_OK;

	for (size_t i = 0; i < hashes->count && e == ERR_OK; i++) {
		struct item item = { 0 };

		memcpy(item.hash, hashes->list[i], BLOB_HASH_BYTES);
		e = add_to_helping(c, &errand, &item, run);
	}
	return e == ERR_OK ? help_rest(c, &errand, run) : e;
}

/* --- The steps --- */

static enum err hold_copies(struct blob_check *c)
{
	struct hashes held = { 0 };

	if (blobs_are_held(c->rules.blobs))
		return ERR_OK;
	enum err e = blob_copies_read(&held, c->copies, &c->stop);
	if (e == ERR_OK)
		blobs_hold(c->rules.blobs, held.list, held.count);
	else
		hashes_fini(&held);
	/* What cannot be read holds everything back, and is no reason not to check. */
	return e == ERR_CLOSED ? e : ERR_OK;
}

static enum err note_stranger(struct blob_check *c, const struct item *file)
{
	if (blobs_holds(c->rules.blobs, file->hash))
		return ERR_OK;
	c->stranger_bytes += file->bytes;
	return hashes_add(&c->strangers, file->hash);
}

static enum err note_pair(struct blob_check *c, const struct item *row, const struct item *file)
{
	if (row->bytes < 0 || (file && row->bytes == file->bytes))
		return ERR_OK;
	return hashes_add(&c->suspects, row->hash);
}

/* Both are in order. Garbage that is a blob as well (it never should be) comes twice among the rows. */
static enum err compare_folder(struct blob_check *c, const struct items *rows, const struct items *files)
{
	size_t   f = 0;
	enum err e = ERR_OK;

	for (size_t r = 0; r < rows->count && e == ERR_OK; r++) {
		while (f < files->count && e == ERR_OK && compare(&files->list[f], &rows->list[r]) < 0)
			e = note_stranger(c, &files->list[f++]);
		bool same = f < files->count && compare(&files->list[f], &rows->list[r]) == 0;
		if (e == ERR_OK)
			e = note_pair(c, &rows->list[r], same ? &files->list[f] : NULL);
		if (same && (r + 1 == rows->count || compare(&rows->list[r + 1], &rows->list[r]) != 0))
			f++;
	}
	while (f < files->count && e == ERR_OK)
		e = note_stranger(c, &files->list[f++]);
	c->files += files->count;
	return e;
}

static enum err check_folder(struct blob_check *c, uint8_t folder)
{
	AUTO(items_fini) struct items files  = { 0 };
	struct errand                 errand = { .folder = folder };

	enum err e = list_blobs(&files, c, folder);
	if (e == ERR_OK)
		e = ask(c, &errand, run_rows);
	if (e == ERR_OK)
		e = compare_folder(c, &errand.rows, &files);
	items_fini(&errand.rows);
	return e;
}

static enum err compare_all(struct blob_check *c)
{
	enum err e = ERR_OK;

	for (int folder = 0; folder < FOLDERS && e == ERR_OK; folder++)
		e = check_folder(c, (uint8_t)folder);
	return e;
}

static enum err check_suspects(struct blob_check *c)
{
	enum err e = for_all(c, &c->suspects, run_suspects);

	if (c->restored > 0)
		log_info("store", 0, "brings-blobs-back", "count=%zu note=\"from blobs/.trash, rows name them again\"",
		         c->restored);
	if (c->damaged > 0)
		log_warn("store", 0, "misses-blobs",
		         "count=%zu note=\"checkpoints whose file is missing or of a wrong size cannot be loaded: put "
		         "the "
		         "folder blobs back from a backup of the same time as the database; coopd --verify-blobs lists "
		         "them\"",
		         c->damaged);
	return e;
}

/* So many at once are an accident rather than leftovers: the wrong database, or the wrong folder. */
static bool is_too_many(const struct blob_check *c)
{
	return (int64_t)c->strangers.count > c->rules.sweep_few &&
	       (int64_t)c->strangers.count * 100 > c->rules.sweep_percent * (int64_t)c->files;
}

static enum err sweep_strangers(struct blob_check *c)
{
	enum err e = for_all(c, &c->strangers, run_strangers);

	if (e == ERR_OK)
		e = store_own_blobs(c->rules.store);
	log_info("store", 0, "sweeps-blobs", "count=%zu bytes=%lld note=\"to blobs/.trash, as an operator asked\"",
	         c->moved, (long long)c->moved_bytes);
	return e;
}

static enum err move_strangers(struct blob_check *c)
{
	size_t count = c->strangers.count;

	if (count == 0)
		return ERR_OK;
	if (!blobs_are_known(c->rules.blobs)) {
		log_warn("store", 0, "leaves-strange-blobs",
		         "count=%zu of=%zu note=\"no row names them, but the database was made, restored or brought up "
		         "to "
		         "date in this run, or is another's: nothing was moved; put back the database that belongs to "
		         "them, or, when all is right, restart coopd, and if this comes again run: coopctl blobs sweep "
		         "--confirm\"",
		         count, c->files);
		return ERR_OK;
	}
	if (is_too_many(c)) {
		log_warn("store", 0, "leaves-strange-blobs",
		         "count=%zu of=%zu note=\"no row names so many of them that the database may be an older one: "
		         "nothing was moved; put back the database that belongs to them or, when all is right, run: "
		         "coopctl blobs sweep --confirm\"",
		         count, c->files);
		return ERR_OK;
	}
	enum err e = for_all(c, &c->strangers, run_strangers);
	if (c->moved > 0)
		log_info("store", 0, "trashes-blobs", "count=%zu days=%lld note=\"no row names them\"", c->moved,
		         (long long)c->rules.orphan_days);
	return e;
}

static enum err empty_trash(struct blob_check *c)
{
	int64_t       last   = blobs_day(c->rules.blobs) - c->rules.orphan_days;
	struct errand errand = { 0 };
	enum err      e      = ERR_OK;

	for (size_t i = 0; i < c->trash.count && e == ERR_OK && c->trusted; i++) {
		const struct item *item = &c->trash.list[i];

		if (item->day <= last && !blobs_holds(c->rules.blobs, item->hash))
			e = add_to_helping(c, &errand, item, run_expire);
	}
	if (e == ERR_OK)
		e = help_rest(c, &errand, run_expire);
	if (c->expired > 0)
		log_info("store", 0, "empties-trash", "count=%zu", c->expired);
	return e;
}

typedef enum err step(struct blob_check *c);

/* Each kind's steps, in their order. */
static step *const steps_of[][7] = {
	[WHOLE]      = { hold_copies, compare_all, list_trash, check_suspects, move_strangers, empty_trash, NULL },
	[TRASH_ONLY] = { list_trash, empty_trash, NULL },
	[SWEEP]      = { hold_copies, compare_all, list_trash, check_suspects, sweep_strangers, NULL },
	[COUNT]      = { hold_copies, compare_all, NULL },
};

static enum err check(struct blob_check *c)
{
	step *const *steps = steps_of[c->kind];
	enum err     e     = ERR_OK;

	for (size_t i = 0; steps[i] && e == ERR_OK; i++)
		e = steps[i](c);
	if (e != ERR_OK && !atomic_load(&c->stop))
		log_warn("store", 0, "ends-blob-check", "why=\"%s\" note=\"the next start checks again\"",
		         err_people(e));
	return e;
}

/* The next one may begin from here on. */
static void end(struct blob_check *c, enum err result)
{
	pthread_mutex_lock(&c->lock);
	if (result == ERR_OK && (c->kind == WHOLE || c->kind == SWEEP))
		c->found.missing = (int64_t)c->damaged;
	if (c->kind == SWEEP || c->kind == COUNT) {
		c->found.result = result;
		c->found.moved  = (int64_t)(c->kind == SWEEP ? c->moved : c->strangers.count);
		c->found.bytes  = c->kind == SWEEP ? c->moved_bytes : c->stranger_bytes;
	}
	hashes_fini(&c->suspects);
	hashes_fini(&c->strangers);
	items_fini(&c->trash);
	atomic_store(&c->busy, false);
	pthread_cond_broadcast(&c->ended);
	pthread_mutex_unlock(&c->lock);
}

static void *run(void *arg)
{
	struct blob_check *c = arg;

	end(c, check(c));
	return NULL;
}

static void make_cond(pthread_cond_t *cond)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
}

struct blob_check *blob_check_new(const struct blob_check_rules *rules)
{
	struct blob_check *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->rules = *rules;
	c->found = (struct blob_found){ .missing = -1 };
	pthread_mutex_init(&c->lock, NULL);
	make_cond(&c->ended);
	if (!text_copy(c->copies, sizeof(c->copies), rules->copies)) {
		blob_check_free(c);
		return NULL;
	}
	return c;
}

static void join(struct blob_check *c)
{
	if (c->joinable)
		pthread_join(c->thread, NULL);
	c->joinable = false;
}

static bool start(struct blob_check *c, enum kind kind, bool trusted)
{
	if (atomic_load(&c->busy) || atomic_load(&c->stop))
		return false;
	join(c);
	c->kind    = kind;
	c->trusted = trusted;
	c->files = c->damaged = c->restored = c->moved = c->expired = 0;
	c->stranger_bytes = c->moved_bytes = 0;
	atomic_store(&c->busy, true);
	c->joinable = pthread_create(&c->thread, NULL, run, c) == 0;
	if (!c->joinable)
		atomic_store(&c->busy, false);
	return c->joinable;
}

void blob_check_start(struct blob_check *c, bool whole, bool trusted)
{
	start(c, whole ? WHOLE : TRASH_ONLY, trusted);
}

enum err blob_check_sweep(struct blob_check *c, bool count)
{
	if (atomic_load(&c->stop))
		return ERR_DRAINING;
	if (atomic_load(&c->busy))
		return ERR_EXISTS;
	return start(c, count ? COUNT : SWEEP, false) ? ERR_OK : ERR_NOMEM;
}

bool blob_check_wait(struct blob_check *c, int64_t ms)
{
	struct timespec until;
	int             rc = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += ms % 1000 * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	pthread_mutex_lock(&c->lock);
	while (atomic_load(&c->busy) && rc == 0)
		rc = pthread_cond_timedwait(&c->ended, &c->lock, &until);
	pthread_mutex_unlock(&c->lock);
	return !atomic_load(&c->busy);
}

struct blob_found blob_check_found(struct blob_check *c)
{
	struct blob_found out;

	pthread_mutex_lock(&c->lock);
	out = c->found;
	pthread_mutex_unlock(&c->lock);
	return out;
}

bool blob_check_is_busy(const struct blob_check *c)
{
	return atomic_load(&c->busy);
}

void blob_check_stop(struct blob_check *c)
{
	atomic_store(&c->stop, true);
}

void blob_check_free(struct blob_check *c)
{
	if (!c)
		return;
	join(c);
	pthread_cond_destroy(&c->ended);
	pthread_mutex_destroy(&c->lock);
	free(c);
}
