/*
 * The data folder.
 *
 *	lock			held while we run
 *	coop.db -wal -shm	the database
 *	secrets			what this server made up for itself
 *	forgotten		players who were forgotten: see forget.h
 *	blobs/store-id		the id of the database these blobs belong to
 *	blobs/ab/cdef...	blobs: see blob.h
 *	blobs/.tmp/		unfinished ones
 *	blobs/.trash/		files that no row names
 *	copies/			of the database
 *	.restore/		a backup that is being restored: see restore_move.h
 */
#include "store/store.h"

#include "base/hex.h"
#include "base/metric.h"
#include "base/text.h"
#include "crypt/hash.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/log.h"
#include "os/random.h"
#include "store/blob_check.h"
#include "store/blob_copies.h"
#include "store/blob_folder.h"
#include "store/copies.h"
#include "store/data_lock.h"
#include "store/forget.h"
#include "store/inside.h"
#include "store/jobs.h"
#include "store/migrate.h"
#include "store/readers.h"
#include "store/restore_move.h"
#include "store/secrets.h"
#include "store/upkeep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOBS_ID        "store-id"
#define SPACE_EVERY_MS  5000
#define UPKEEP_EVERY_MS 60000
#define STOP_HELPINGS   50
#define COPY_AFTER_MS   60000 /* after the start: first the players come back */

struct paths {
	char data[PATH_MAX], database[PATH_MAX], log[PATH_MAX], secrets[PATH_MAX], forgotten[PATH_MAX];
	char blobs[PATH_MAX], blobs_tmp[PATH_MAX], trash[PATH_MAX], blobs_id[PATH_MAX], copies[PATH_MAX];
};

/* The store's own work goes through its own queue. */
struct upkeep_job {
	struct job    job;
	struct store *store;
	bool          under_way;
};

struct store {
	struct paths    paths;
	struct limits   limits;
	int             lock_fd;
	struct db      *db;
	struct jobs    *jobs;
	uint8_t         id[STORE_ID_BYTES];
	uint8_t         addr_key[STORE_ADDR_KEY_BYTES];
	bool            is_new; /* this start made the database */
	bool            blobs_known;
	int64_t         orphan_days;
	atomic_bool     has_space;
	struct blobs   *blobs;
	struct readers *readers;

	/* Of the store thread. */
	int64_t            space_at_ms, upkeep_at_ms, copy_at_ms; /* monotonic, when next */
	bool               warned_log, warned_space;
	int64_t            measured_commits; /* how many there were when sizes were last looked at */
	bool               clock_trusted;
	int64_t            day;       /* of uptime */
	bool               trash_due; /* a day began */
	struct upkeep_job  upkeep;
	struct copier     *copier;
	struct blob_check *check;
};

static bool name_paths(struct paths *p, const char *data)
{
	return text_copy(p->data, sizeof(p->data), data) &&
	       text_format(p->database, sizeof(p->database), "%s/coop.db", data) &&
	       text_format(p->log, sizeof(p->log), "%s/coop.db-wal", data) &&
	       text_format(p->secrets, sizeof(p->secrets), "%s/secrets", data) &&
	       text_format(p->forgotten, sizeof(p->forgotten), "%s/" FORGOTTEN_FILE, data) &&
	       text_format(p->blobs, sizeof(p->blobs), "%s/blobs", data) &&
	       text_format(p->blobs_tmp, sizeof(p->blobs_tmp), "%s/blobs/.tmp", data) &&
	       text_format(p->trash, sizeof(p->trash), "%s/blobs/.trash", data) &&
	       text_format(p->blobs_id, sizeof(p->blobs_id), "%s/blobs/" BLOBS_ID, data) &&
	       text_format(p->copies, sizeof(p->copies), "%s/copies", data);
}

static enum err make_dir(const char *path, FILE *report)
{
	if (file_make_dirs(path, 0700) == ERR_OK)
		return ERR_OK;
	fprintf(report, "cannot make the folder %s: %s; make it, or choose another with --data\n", path,
	        strerror(errno));
	return ERR_IO;
}

/* What mkostemps leaves of "NAME.XXXXXX.tmp". */
static bool is_temporary(const char *name)
{
	size_t len = strlen(name);

	return len > 4 && strcmp(name + len - 4, ".tmp") == 0;
}

static bool is_any(const char *name)
{
	return strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static bool is_unfinished_copy(const char *name)
{
	static const char daily[] = COPIES_TEMPORARY COPIES_DAILY, migration[] = COPIES_TEMPORARY COPIES_MIGRATION;

	return strncmp(name, daily, strlen(daily)) == 0 || strncmp(name, migration, strlen(migration)) == 0;
}

/* Plain files of the folder itself; nothing else is ever removed at a start. */
static void remove_files(const char *folder, bool (*matches)(const char *name))
{
	DIR           *d = opendir(folder);
	struct dirent *entry;
	struct stat    st;

	if (!d)
		return;
	while ((entry = readdir(d))) {
		if (matches(entry->d_name) && fstatat(dirfd(d), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(st.st_mode))
			unlinkat(dirfd(d), entry->d_name, 0);
	}
	closedir(d);
}

/* Whatever lies in these two is removed some day: behind a link it would be somebody else's. */
static enum err refuse_links(const struct store *s, FILE *report)
{
	const char *const folders[] = { s->paths.blobs_tmp, s->paths.trash };
	struct stat       st;

	for (size_t i = 0; i < COUNT_OF(folders); i++) {
		if (lstat(folders[i], &st) != 0 || !S_ISLNK(st.st_mode))
			continue;
		fprintf(report,
		        "%s is a link; coopd removes what lies there, so it must be a folder: remove the link\n",
		        folders[i]);
		return ERR_IO;
	}
	return ERR_OK;
}

static enum err prepare_folder(struct store *s, FILE *report)
{
	bool     ended;
	enum err e = make_dir(s->paths.data, report);

	if (e == ERR_OK)
		e = data_lock(&s->lock_fd, s->paths.data, report);
	if (e == ERR_OK)
		e = restore_finish(&ended, s->paths.data, report);
	if (e == ERR_OK)
		e = refuse_links(s, report);
	if (e == ERR_OK)
		e = make_dir(s->paths.blobs_tmp, report);
	if (e == ERR_OK)
		e = make_dir(s->paths.copies, report);
	if (e != ERR_OK)
		return e;
	if (ended)
		log_info("store", 0, "restored", "folder=%s note=\"a restore that was interrupted is complete now\"",
		         s->paths.data);
	remove_files(s->paths.data, is_temporary);
	remove_files(s->paths.copies, is_unfinished_copy);
	remove_files(s->paths.blobs_tmp, is_any);
	return ERR_OK;
}

/* The id, made when there is none: the database is new then. */
static enum err find_id(struct store *s)
{
	AUTO_QUERY q = db_query(s->db, Q_STORE_FACTS_FIND);

	enum err e = q_row(&q);
	if (e == ERR_OK)
		q_get_blob(&q, 0, s->id, sizeof(s->id));
	return e;
}

static enum err make_id(struct store *s)
{
	AUTO_QUERY q = db_query(s->db, Q_STORE_FACTS_ADD);

	random_bytes(s->id, sizeof(s->id));
	q_blob(&q, ":store_id", s->id, sizeof(s->id));
	q_int(&q, ":now_ms", clock_wall_ms());
	return q_done(&q);
}

static enum err first_facts(struct store *s)
{
	struct upkeep today = { 0 };

	enum err e = find_id(s);
	if (e == ERR_NOT_FOUND)
		e = make_id(s);
	if (e == ERR_OK)
		e = upkeep_look(&today, s->db, clock_wall_ms(), clock_mono_ms());
	s->clock_trusted = e == ERR_OK && today.trusted;
	s->day           = today.day;
	return e == ERR_OK ? db_run(s->db, Q_GARBAGE_AGE) : e;
}

static enum err load_facts(struct store *s, FILE *report)
{
	enum err e = db_run(s->db, Q_BATCH_BEGIN);
	if (e == ERR_OK)
		e = first_facts(s);
	if (e == ERR_OK)
		e = db_commit(s->db);
	if (e != ERR_OK) {
		db_undo(s->db);
		fprintf(report, "cannot write to the database %s: %s\n", s->paths.database, err_people(e));
	}
	return e;
}

/* Whoever is on the list beside the database, which may be an older one than it was or a new one, and not on its own. */
static enum err forget_again(struct store *s)
{
	struct forgotten_list *list    = NULL;
	int64_t                players = 0;
	enum err               e       = forgotten_load(&list, s->paths.forgotten,
	                                                clock_wall_ms() - s->limits.store_forgotten_days * UPTIME_DAY_MS);

	if (e == ERR_NOT_FOUND)
		return ERR_OK;
	if (e == ERR_OK)
		e = forgotten_apply(&players, s->db, list, &s->limits);
	forgotten_list_free(list);
	if (players > 0)
		log_warn("store", 0, "forgets-again",
		         "players=%lld note=\"the database is from before they were forgotten\"", (long long)players);
	return e;
}

/* What cannot be written now is written after one of the next commits. */
static void save_forgotten(struct store *s)
{
	enum err e = forgotten_save(s->db, s->paths.forgotten);

	db_set_forgot(s->db, e != ERR_OK);
	if (e != ERR_OK)
		log_error("store", 0, "cannot-keep-forgotten", "file=%s why=\"%s\"", s->paths.forgotten, err_people(e));
}

static enum err keep_forgotten(struct store *s, FILE *report)
{
	enum err e = forget_again(s);

	if (e == ERR_OK)
		save_forgotten(s);
	else if (e == ERR_MALFORMED)
		fprintf(report,
		        "%s is damaged: it says which players were forgotten; put it back from a backup, or remove it "
		        "if "
		        "the database was not exchanged since\n",
		        s->paths.forgotten);
	else
		fprintf(report, "cannot read %s, which says which players were forgotten: %s\n", s->paths.forgotten,
		        err_people(e));
	return e;
}

static enum err open_database(struct store *s, bool *changed, FILE *report)
{
	bool           migrated;
	struct migrate m = { s->paths.database, s->paths.copies, migration_texts, migration_count, clock_wall_ms() };

	enum err e = db_open(&s->db, &s->is_new, s->paths.database, report);
	if (e == ERR_OK)
		e = migrate(&migrated, s->db, &m, report);
	if (e == ERR_OK)
		e = db_prepare(s->db, report);
	if (e == ERR_OK)
		e = load_facts(s, report);
	if (e == ERR_OK)
		e = keep_forgotten(s, report);
	if (e != ERR_OK)
		return e;
	*changed = restore_take_note(s->paths.data) || s->is_new || migrated;
	/* The name of a new file is safe only when its folder was synced. */
	if (file_sync_dir(s->paths.data) != ERR_OK) {
		fprintf(report, "cannot sync the folder %s: %s\n", s->paths.data, strerror(errno));
		return ERR_IO;
	}
	return ERR_OK;
}

/* The folders of blobs are made ahead. */
static bool is_empty_folder(int parent, const char *name)
{
	int            fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR           *d  = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;
	bool           empty = true;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	while (empty && (entry = readdir(d)))
		empty = !is_any(entry->d_name);
	closedir(d);
	return empty;
}

/* Whether anything but our own bookkeeping lies in the blob folder. */
static bool has_blobs(const struct store *s)
{
	DIR           *d = opendir(s->paths.blobs);
	struct dirent *entry;
	bool           any = false;

	while (d && !any && (entry = readdir(d)))
		any = is_any(entry->d_name) && strcmp(entry->d_name, ".tmp") != 0 &&
		      strcmp(entry->d_name, BLOBS_ID) != 0 && !is_empty_folder(dirfd(d), entry->d_name);
	if (d)
		closedir(d);
	return any;
}

static void blobs_id_text(char out[2 * STORE_ID_BYTES + 2], const struct store *s)
{
	hex_encode(out, s->id, STORE_ID_BYTES);
	out[2 * STORE_ID_BYTES]     = '\n';
	out[2 * STORE_ID_BYTES + 1] = '\0';
}

static enum err write_blobs_id(const struct store *s, FILE *report)
{
	char text[2 * STORE_ID_BYTES + 2];

	blobs_id_text(text, s);
	if (file_write(s->paths.blobs_id, text, strlen(text), 0600) == ERR_OK)
		return ERR_OK;
	fprintf(report, "cannot write %s: %s\n", s->paths.blobs_id, strerror(errno));
	return ERR_IO;
}

/* Whether the file beside the blobs names this database. */
static bool is_blobs_id_ours(const struct store *s)
{
	AUTO(auto_free) char *text = NULL;
	uint8_t               id[STORE_ID_BYTES];
	size_t                len;

	if (file_read(&text, &len, s->paths.blobs_id, 1024) != ERR_OK)
		return false;
	return hex_decode(id, sizeof(id), text, strcspn(text, " \r\n")) == ERR_OK && memcmp(id, s->id, sizeof(id)) == 0;
}

/*
 * All folders at once, so that no upload waits until one of its own is made and safe. Whichever cannot be made now is made
 * when it is needed.
 */
static void make_blob_folders(const struct store *s)
{
	char path[PATH_MAX];

	for (unsigned first = 0; first < 256; first++) {
		if (text_format(path, sizeof(path), "%s/%02x", s->paths.blobs, first))
			mkdir(path, 0700);
	}
}

/* An empty folder becomes ours. One with blobs of another database is left alone, and so is its id. */
static enum err match_blobs(struct store *s, bool database_changed, FILE *report)
{
	if (!has_blobs(s)) {
		make_blob_folders(s);
		return write_blobs_id(s, report);
	}
	if (!is_blobs_id_ours(s)) {
		log_warn("store", 0, "doubts-blobs",
		         "folder=%s database=%s note=\"they do not belong together: one was exchanged or restored; "
		         "nothing"
		         " is removed; put back what belongs together or, when both are right, run: coopctl blobs sweep"
		         " --confirm\"",
		         s->paths.blobs, s->paths.database);
		return ERR_OK;
	}
	s->blobs_known = !database_changed;
	return ERR_OK;
}

static enum err before_commit(void *arg);
static void     after_commit(void *arg);
static void     on_tick(void *arg);

static struct jobs *make_jobs(struct store *s)
{
	struct jobs_rules rules = {
		.share         = (size_t)s->limits.store_jobs,
		.batch         = (size_t)s->limits.store_batch,
		.batch_ms      = s->limits.store_batch_ms,
		.lazy_ms       = s->limits.store_lazy_ms,
		.before_commit = before_commit,
		.after_commit  = after_commit,
		.tick          = on_tick,
		.arg           = s,
	};

	return jobs_new(s->db, &rules);
}

/*
 * A database that is not new without its secrets: what is kept about addresses belongs to nobody any more. Games and
 * codes do not depend on it, so the server runs, but the operator is told.
 */
static enum err load_addr_key(struct store *s, FILE *report)
{
	bool     missing = access(s->paths.secrets, F_OK) != 0;
	enum err e       = secret_load(s->addr_key, sizeof(s->addr_key), s->paths.secrets, "address_key", report);

	if (e == ERR_OK && missing && !s->is_new)
		log_warn("store", 0, "makes-secrets",
		         "file=%s note=\"it was missing although the database is not new: what addresses have used of "
		         "their limits counts from zero; if you have a copy of the file, stop coopd and put it back\"",
		         s->paths.secrets);
	return e;
}

enum err store_secret_text(char out[STORE_SECRET_TEXT_BYTES], struct store *s, const char *name, FILE *report)
{
	uint8_t  secret[(STORE_SECRET_TEXT_BYTES - 1) / 2];
	enum err e = secret_load(secret, sizeof(secret), s->paths.secrets, name, report);

	if (e == ERR_OK)
		hex_encode(out, secret, sizeof(secret));
	wipe_secret(secret, sizeof(secret));
	return e;
}

/* The blobs, once it is known whose they are. Folders that an earlier run made and did not live to sync are safe then. */
static enum err open_blobs(struct store *s, FILE *report)
{
	struct blob_check_rules rules = {
		.store         = s,
		.copies        = s->paths.copies,
		.sweep_percent = s->limits.blob_sweep_percent,
		.sweep_few     = s->limits.blob_sweep_few,
		.orphan_days   = s->orphan_days,
	};

	if (file_sync_dir(s->paths.blobs) != ERR_OK) {
		fprintf(report, "cannot sync the folder %s: %s\n", s->paths.blobs, strerror(errno));
		return ERR_IO;
	}
	s->blobs = rules.blobs = blobs_new(s->paths.blobs, s->blobs_known);
	if (!s->blobs)
		return ERR_NOMEM;
	blobs_set_day(s->blobs, s->day);
	db_set_blobs(s->db, s->blobs);
	s->check = blob_check_new(&rules);
	return s->check ? ERR_OK : ERR_NOMEM;
}

static enum err open_all(struct store *s, FILE *report)
{
	bool changed = true;

	enum err e = prepare_folder(s, report);
	if (e == ERR_OK)
		e = open_database(s, &changed, report);
	if (e == ERR_OK)
		e = load_addr_key(s, report);
	if (e == ERR_OK)
		e = match_blobs(s, changed, report);
	if (e == ERR_OK)
		e = open_blobs(s, report);
	if (e != ERR_OK)
		return e;
	s->jobs    = make_jobs(s);
	s->copier  = copier_new(s->paths.database, s->paths.copies);
	s->readers = readers_new(s->paths.database);
	return s->jobs && s->copier && s->readers ? ERR_OK : ERR_NOMEM;
}

static void close_all(struct store *s)
{
	copier_free(s->copier);
	blob_check_free(s->check);
	readers_free(s->readers);
	jobs_free(s->jobs);
	blobs_free(s->blobs);
	db_close(s->db);
	if (s->lock_fd >= 0)
		file_unlock(s->lock_fd);
	free(s);
}

enum err store_open(struct store **out, const struct conf *conf, FILE *report)
{
	struct store *s = calloc(1, sizeof(*s));

	if (!s)
		return ERR_NOMEM;
	s->lock_fd          = -1;
	s->measured_commits = -1;
	metric_set(M_CLOUD_MAX_BYTES, conf->limits.cloud_total);
	s->limits      = conf->limits;
	s->orphan_days = conf->cloud_orphan_days;
	atomic_store(&s->has_space, true);
	enum err e = ERR_IO;
	if (!name_paths(&s->paths, conf->server_data))
		fprintf(report, "the name of the data folder is too long: %s\n", conf->server_data);
	else
		e = open_all(s, report);
	if (e != ERR_OK) {
		close_all(s);
		return e;
	}
	*out = s;
	return ERR_OK;
}

struct db *store_db(struct store *s)
{
	return s->db;
}

const uint8_t *store_id(const struct store *s)
{
	return s->id;
}

const uint8_t *store_addr_key(const struct store *s)
{
	return s->addr_key;
}

bool store_blobs_are_known(const struct store *s)
{
	return s->blobs ? blobs_are_known(s->blobs) : s->blobs_known;
}

enum err store_own_blobs(struct store *s)
{
	char     text[2 * STORE_ID_BYTES + 2];
	enum err e;

	blobs_id_text(text, s);
	e = file_write(s->paths.blobs_id, text, strlen(text), 0600);
	if (e != ERR_OK)
		return blobs_io_error("write", s->paths.blobs_id, errno);
	blobs_set_known(s->blobs);
	return ERR_OK;
}

struct blob_check *store_blob_check(const struct store *s)
{
	return s->check;
}

struct blobs *store_blobs(const struct store *s)
{
	return s->blobs;
}

struct readers *store_readers(const struct store *s)
{
	return s->readers;
}

const char *store_folder(const struct store *s)
{
	return s->paths.data;
}

const char *store_database(const struct store *s)
{
	return s->paths.database;
}

uint64_t store_free_floor(const struct store *s)
{
	return (uint64_t)s->limits.store_free_floor;
}

bool store_has_space(const struct store *s)
{
	return atomic_load(&s->has_space);
}

enum err store_submit(struct store *s, struct job *job)
{
	return jobs_submit(s->jobs, job);
}

enum store_health store_health(const struct store *s)
{
	return s->blobs && blobs_are_failing(s->blobs) ? STORE_FAILING : jobs_health(s->jobs);
}

int64_t store_silent_ms(const struct store *s)
{
	return jobs_silent_ms(s->jobs);
}

const char *store_health_text(enum store_health h)
{
	static const char *const texts[] = { [STORE_OK] = "ok", [STORE_SLOW] = "slow", [STORE_FAILING] = "failing" };

	return texts[h];
}

void store_poke(struct store *s)
{
	jobs_poke(s->jobs);
}

/* --- What the store thread does by the clock --- */

static int64_t bytes_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? st.st_size : 0;
}

/* Figures for operators; nothing is decided by them. What nobody has changed needs no second look. */
static void measure_sizes(struct store *s)
{
	int64_t    commits = metric_get(M_STORE_COMMITS);
	AUTO_QUERY q       = db_query(s->db, Q_BLOB_TOTALS);

	metric_set(M_STORE_DATABASE_BYTES, bytes_of(s->paths.database));
	if (commits == s->measured_commits || q_row(&q) != ERR_OK)
		return;
	s->measured_commits = commits;
	metric_set(M_BLOBS, q_get_int(&q, 0));
	metric_set(M_BLOBS_BYTES, q_get_int(&q, 1));
}

/* Logs when it becomes true, not each time it is. */
static void warn_once(bool *warned, bool now, const char *verb, int64_t bytes, const char *advice)
{
	if (now && !*warned)
		log_warn("store", 0, verb, "bytes=%lld note=\"%s\"", (long long)bytes, advice);
	*warned = now;
}

static void measure_space(struct store *s)
{
	uint64_t free_bytes = 0;
	int64_t  log        = bytes_of(s->paths.log);

	metric_set(M_STORE_WAL_BYTES, log);
	bool log_big = log > s->limits.store_wal_max;
	warn_once(&s->warned_log, log_big, "log-is-large", log,
	          "something reads the database without end (a forgotten sqlite3 shell, a backup): end it");
	/* Unknown is no reason to refuse anything. */
	bool space_low = false;
	if (file_free_bytes(&free_bytes, s->paths.data) == ERR_OK) {
		metric_set(M_STORE_FREE_BYTES, (int64_t)free_bytes);
		space_low = free_bytes < (uint64_t)s->limits.store_free_floor;
		warn_once(&s->warned_space, space_low, "space-is-low", (int64_t)free_bytes,
		          "uploads and copies are refused until there is more; make room where the data folder is");
	}
	atomic_store(&s->has_space, !log_big && !space_low);
	measure_sizes(s);
}

static enum err run_upkeep(struct job *job, struct db *db)
{
	struct upkeep_job *u = CONTAINER(job, struct upkeep_job, job);
	struct upkeep      today;

	enum err e              = upkeep_look(&today, db, clock_wall_ms(), clock_mono_ms());
	u->store->clock_trusted = e == ERR_OK && today.trusted;
	if (e == ERR_OK && today.day != u->store->day) {
		u->store->day       = today.day;
		u->store->trash_due = true;
		blobs_set_day(u->store->blobs, today.day);
	}
	return e;
}

static void end_upkeep(struct job *job, enum err result)
{
	struct upkeep_job *u = CONTAINER(job, struct upkeep_job, job);

	(void)result;
	u->under_way = false;
}

static void submit_upkeep(struct store *s)
{
	struct upkeep_job *u = &s->upkeep;

	if (u->under_way)
		return;
	*u = (struct upkeep_job){
		.job       = { .surface = SURFACE_UPKEEP, .lazy = true, .run = run_upkeep, .done = end_upkeep },
		.store     = s,
		.under_way = true,
	};
	/* A full or failed queue: the next minute is early enough. */
	if (jobs_submit(s->jobs, &u->job) != ERR_OK)
		u->under_way = false;
}

/* Today's copy, unless it is there. A doubted clock may name a wrong day, so no older copy goes for it. */
static void copy_if_due(struct store *s)
{
	char name[COPIES_NAME_BYTES];

	copies_daily_name(name, clock_wall_ms());
	if (!copies_has(s->paths.copies, name) && atomic_load(&s->has_space))
		copier_start(s->copier, name, s->clock_trusted);
}

static void empty_trash_if_due(struct store *s)
{
	if (!s->trash_due || blob_check_is_busy(s->check))
		return;
	s->trash_due = false;
	if (access(s->paths.trash, F_OK) == 0)
		blob_check_start(s->check, false, s->clock_trusted);
}

static enum err before_commit(void *arg)
{
	struct store *s = arg;

	return blobs_before_commit(s->blobs, s->db);
}

static void after_commit(void *arg)
{
	struct store *s = arg;

	if (db_forgot(s->db))
		save_forgotten(s);
}

static bool is_time(int64_t *at_ms, int64_t now_ms, int64_t every_ms)
{
	if (now_ms < *at_ms)
		return false;
	*at_ms = now_ms + every_ms;
	return true;
}

static void on_tick(void *arg)
{
	struct store *s   = arg;
	int64_t       now = clock_mono_ms();

	blobs_after_batch(s->blobs, s->db);
	if (!jobs_are_waited_for(s->jobs))
		blobs_remove_garbage(s->blobs, s->db);
	empty_trash_if_due(s);
	if (is_time(&s->space_at_ms, now, SPACE_EVERY_MS))
		measure_space(s);
	if (is_time(&s->upkeep_at_ms, now, UPKEEP_EVERY_MS))
		submit_upkeep(s);
	if (!copier_is_busy(s->copier) && is_time(&s->copy_at_ms, now, UPKEEP_EVERY_MS))
		copy_if_due(s);
}

/* Whether anything is, or should be, in the blob folder: a new server has nothing to check. */
static bool must_check_blobs(struct store *s)
{
	AUTO_QUERY q = db_query(s->db, Q_BLOB_ANY);

	return blob_copies_any(s->paths.copies) || has_blobs(s) || q_row(&q) != ERR_OK || q_get_int(&q, 0) != 0;
}

static void check_blobs(struct store *s, bool must)
{
	if (must)
		blob_check_start(s->check, true, s->clock_trusted);
	else
		blobs_hold(s->blobs, NULL, 0);
}

enum err store_start(struct store *s)
{
	int64_t now = clock_mono_ms();

	measure_space(s);
	s->space_at_ms  = now + SPACE_EVERY_MS;
	s->upkeep_at_ms = now + UPKEEP_EVERY_MS;
	s->copy_at_ms   = now + COPY_AFTER_MS;

	bool     must = must_check_blobs(s);
	enum err e    = jobs_start(s->jobs);
	if (e == ERR_OK)
		check_blobs(s, must);
	return e;
}

/* What is left over goes now; the next start could not be sure of it. Not without end: somebody waits for the stop. */
static void remove_last_garbage(struct store *s)
{
	for (int helping = 0; helping < STOP_HELPINGS && blobs_remove_garbage(s->blobs, s->db); helping++)
		;
}

void store_stop(struct store *s)
{
	blob_check_stop(s->check);
	jobs_stop(s->jobs);
	blob_check_free(TAKE(s->check));
	remove_last_garbage(s);
	/* First our readers, then the log: with a reader, folding it would have to wait. */
	copier_free(TAKE(s->copier));
	readers_free(TAKE(s->readers));
	db_fold(s->db);
	close_all(s);
}
