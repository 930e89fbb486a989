#include "store/restore.h"

#include "base/auto.h"
#include "base/hex.h"
#include "base/shell.h"
#include "base/text.h"
#include "crypt/hash.h"
#include "gen/migration.h"
#include "os/clock.h"
#include "os/file.h"
#include "store/data_lock.h"
#include "store/restore_inside.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* --- Saying it --- */

static void end_progress(struct restore *r)
{
	if (r->is_shown && r->shown_ms)
		fputs("\r\033[K", r->report);
	r->shown_ms = 0;
}

enum err restore_refuse(struct restore *r, enum err e, const char *format, ...)
{
	va_list args;

	end_progress(r);
	va_start(args, format);
	vfprintf(r->report, format, args);
	va_end(args);
	fputs(".\n", r->report);
	return e;
}

void restore_damage(struct restore *r, const char *format, ...)
{
	va_list args;

	if (r->damages++ >= RESTORE_LISTED)
		return;
	end_progress(r);
	va_start(args, format);
	vfprintf(r->report, format, args);
	va_end(args);
	fputc('\n', r->report);
}

/* --- Its steps --- */

/* How much of the path is there already. */
static size_t count_there(const char *path)
{
	char        at[PATH_MAX];
	struct stat st;
	char       *slash;

	if (!text_copy(at, sizeof(at), path))
		return strlen(path);
	while (lstat(at, &st) != 0) {
		slash = strrchr(at, '/');
		if (!slash)
			return 0;
		*slash = '\0';
	}
	return strlen(at);
}

/* A folder that was made for a restore that is refused, and whatever was made above it. */
static void remove_made(const struct restore *r)
{
	char path[PATH_MAX];

	if (r->there >= strlen(r->conf->server_data) || !text_format(path, sizeof(path), "%s/lock", r->data))
		return;
	unlink(path);
	text_copy(path, sizeof(path), r->conf->server_data);
	while (strlen(path) > r->there && (rmdir(path) == 0 || errno == ENOENT)) {
		char *slash = strrchr(path, '/');

		*(slash ? slash : path) = '\0';
	}
}

/* An interrupted restore ends first: what it has written is the state that this one replaces. */
static enum err open_folder(struct restore *r, int *lock)
{
	AUTO(auto_free) char *real  = NULL;
	bool                  ended = false;
	enum err              e;

	r->there = count_there(r->data);
	e        = file_make_dirs(r->data, 0700);
	if (e == ERR_OK && !(real = realpath(r->data, NULL)))
		e = ERR_IO;
	if (e != ERR_OK)
		return restore_refuse(r, e, "the folder %s cannot be made: %s", r->data, strerror(errno));
	text_copy(r->folder, sizeof(r->folder), real);
	r->data = r->folder;
	e       = data_lock(lock, r->data, r->report);
	if (e != ERR_OK)
		return e;
	e = restore_finish(&ended, r->data, r->report);
	if (e == ERR_OK && ended)
		fprintf(r->report, "A restore that was interrupted before is complete now; this one begins.\n");
	return e;
}

static enum err make_staging(struct restore *r)
{
	if (!text_format(r->staging, sizeof(r->staging), "%s/" RESTORE_FOLDER, r->data) ||
	    !text_format(r->database, sizeof(r->database), "%s/coop.db", r->staging))
		return restore_refuse(r, ERR_INVALID, "the name of the data folder is too long");
	if (file_make_dirs(r->staging, 0700) != ERR_OK)
		return restore_refuse(r, ERR_IO, "the folder %s cannot be made: %s", r->staging, strerror(errno));
	return ERR_OK;
}

static enum err write_id(struct restore *r)
{
	char path[PATH_MAX], text[2 * STORE_ID_BYTES + 2];

	hex_encode(text, r->store_id, STORE_ID_BYTES);
	text_copy(text + 2 * STORE_ID_BYTES, 2, "\n");
	if (text_format(path, sizeof(path), "%s/store-id", r->staging) &&
	    file_write(path, text, strlen(text), 0600) == ERR_OK)
		return ERR_OK;
	return restore_refuse(r, ERR_IO, "%s cannot be written: %s", path, strerror(errno));
}

/* All into one file, which has to be on the disk before the marker is. */
static enum err close_database(struct restore *r)
{
	char log[PATH_MAX];

	db_fold(r->db);
	if (db_has_failed(r->db))
		return restore_refuse(r, ERR_IO, "%s cannot be written", r->database);
	db_close(TAKE(r->db));
	if (text_format(log, sizeof(log), "%s-wal", r->database) && access(log, F_OK) == 0) {
		struct stat st;

		if (stat(log, &st) == 0 && st.st_size > 0)
			return restore_refuse(r, ERR_STORE, "the log %s could not be folded into its database", log);
		unlink(log);
	}
	if (text_format(log, sizeof(log), "%s-shm", r->database))
		unlink(log);
	if (file_sync_dir(r->staging) != ERR_OK || file_sync_dir(r->data) != ERR_OK)
		return restore_refuse(r, ERR_IO, "%s cannot be synced: %s", r->staging, strerror(errno));
	return ERR_OK;
}

static void name_kept(struct restore *r)
{
	static const char *const files[]  = { "coop.db", "coop.db-wal", "secrets" };
	time_t                   at       = (time_t)(clock_wall_ms() / 1000);
	struct tm                utc      = { 0 };
	char                     when[32] = "unknown", path[PATH_MAX];

	if (gmtime_r(&at, &utc))
		strftime(when, sizeof(when), "%Y%m%dT%H%M%SZ", &utc);
	/* A second one within the same second must not mix with the first. */
	for (int n = 0; n < 100; n++) {
		char again[8] = "";

		if (n > 0)
			text_format(again, sizeof(again), "-%d", n);
		text_format(r->kept, sizeof(r->kept), "before-restore-%s%s", when, again);
		if (!text_format(path, sizeof(path), "%s/copies/%s", r->data, r->kept) || access(path, F_OK) != 0)
			break;
	}
	for (size_t i = 0; i < COUNT_OF(files); i++) {
		if (text_format(path, sizeof(path), "%s/%s", r->data, files[i]) && access(path, F_OK) == 0)
			r->has_old = true;
	}
}

/* Whether what is damaged keeps the backup from being used. */
static enum err judge(struct restore *r)
{
	if (r->damages > RESTORE_LISTED)
		fprintf(r->report, "and %" PRId64 " more.\n", r->damages - RESTORE_LISTED);
	if (r->damages == 0 || (r->take_damaged && !r->is_hopeless))
		return ERR_OK;
	return restore_refuse(r, ERR_DAMAGED,
	                      "The backup %s is damaged (%" PRId64
	                      " found, listed above) and was not restored. Use another; "
	                      "an older one may lie in the same folder%s",
	                      r->src, r->damages,
	                      r->is_hopeless
	                              ? ""
	                              : ". When this is the only one, --restore-damaged restores it without what is "
	                                "damaged");
}

static enum err prepare(struct restore *r, const char *src)
{
	enum err e = make_staging(r);

	if (e == ERR_OK)
		e = restore_find(r, src);
	if (e == ERR_OK)
		e = restore_database(r);
	if (e == ERR_OK && r->db)
		e = restore_blobs(r);
	if (e == ERR_OK)
		e = restore_secrets(r);
	end_progress(r);
	if (e == ERR_OK)
		e = judge(r);
	if (e == ERR_OK)
		e = write_id(r);
	if (e == ERR_OK)
		e = close_database(r);
	return e;
}

/* --- What was done --- */

static void print_time(FILE *out, int64_t wall_ms)
{
	time_t    at = (time_t)(wall_ms / 1000);
	struct tm utc;
	char      text[40] = "";

	if (wall_ms > 0 && gmtime_r(&at, &utc))
		strftime(text, sizeof(text), " of %Y-%m-%d %H:%M:%S UTC", &utc);
	fputs(text, out);
}

static void print_way_back(const struct restore *r)
{
	if (!r->has_old) {
		fprintf(r->out, "There was nothing in the data folder before.\n");
		return;
	}
	fprintf(r->out,
	        "Database and secrets from before are in %s/copies/%s. To go back to them, while coopd does not run:\n"
	        "  rm -f ",
	        r->data, r->kept);
	shell_word(r->out, r->data, "/coop.db");
	fputc(' ', r->out);
	shell_word(r->out, r->data, "/coop.db-wal");
	fputc(' ', r->out);
	shell_word(r->out, r->data, "/coop.db-shm");
	fputs("\n  cp -p ", r->out);
	shell_word(r->out, r->data, "/copies/");
	fprintf(r->out, "%s/* ", r->kept); /* of our own making: letters, digits, dashes */
	shell_word(r->out, r->data, "/");
	fputc('\n', r->out);
}

static void print_owner(const struct restore *r)
{
	struct stat folder;

	if (geteuid() != 0 || stat(r->data, &folder) != 0 || folder.st_uid == 0)
		return;
	fputs("The new files belong to root, and the folder does not: before starting coopd, run\n  chown -R "
	      "--reference=",
	      r->out);
	shell_word(r->out, r->data, "");
	fputc(' ', r->out);
	shell_word(r->out, r->data, "");
	fputc('\n', r->out);
}

static void print_secrets(const struct restore *r)
{
	if (r->keeps_secrets)
		fprintf(r->out, "  the backup has no secrets that can be used: those in the data folder stay\n");
	if (r->lacks_secrets)
		fprintf(r->out, "  the backup has no secrets that can be used: the next start makes new ones. What "
		                "addresses have "
		                "used of their limits counts from zero then, and a TURN or signal server beside coopd "
		                "that was told "
		                "the old ones must be told the new ones. If you have a copy of the file, put it in "
		                "place first\n");
}

static void print_done(struct restore *r)
{
	fprintf(r->out, "The backup");
	print_time(r->out, r->entry.began_ms);
	fprintf(r->out, " is restored: %s/%s into %s.\n", r->src, r->entry.name, r->data);
	fprintf(r->out,
	        "  players %" PRId64 ", codes %" PRId64 ", campaigns %" PRId64 ", checkpoints %" PRId64
	        ", scores %" PRId64 "\n",
	        r->players, r->codes, r->campaigns, r->checkpoints, r->scores);
	fprintf(r->out,
	        "  files of checkpoints: %" PRId64 " checked, %" PRId64 " copied (%" PRId64 " bytes), %" PRId64
	        " were there already\n",
	        r->blobs, r->copied, r->copied_bytes, r->blobs - r->copied - r->left_out);
	fprintf(r->out, "  not taken over, since they ended long ago: %" PRId64 " live games, %" PRId64 " lobbies\n",
	        r->games, r->lobbies);
	if (r->forgotten > 0)
		fprintf(r->out, "  forgotten again, as they were since the backup was made: %" PRId64 " players\n",
		        r->forgotten);
	if (r->schema < migration_count)
		fprintf(r->out, "  the database was brought up to date, from version %d to %d\n", r->schema,
		        migration_count);
	if (r->left_out > 0)
		fprintf(r->out,
		        "  %" PRId64
		        " files of checkpoints are damaged in the backup and were left out: they are listed above, "
		        "and coopd --verify-blobs lists them again. Their players can load older checkpoints\n",
		        r->left_out);
	print_secrets(r);
	print_way_back(r);
	fprintf(r->out,
	        "Bans and revocations of tokens since that moment are undone: see coopctl bans list and coopctl "
	        "tokens list.\n");
	print_owner(r);
}

/* --- All of it --- */

static enum restore_exit end(struct restore *r, enum err e)
{
	bool     ended = false;
	enum err left;

	if (e == ERR_OK) {
		name_kept(r);
		e = restore_mark(r->data, r->kept, r->report);
	}
	/* Without a marker this removes what was written. */
	left = restore_finish(&ended, r->data, r->report);
	if (e != ERR_OK)
		return RESTORE_REFUSED;
	if (left != ERR_OK)
		return RESTORE_UNFINISHED;
	print_done(r);
	return r->damages > 0 ? RESTORE_INCOMPLETE : RESTORE_DONE;
}

enum restore_exit restore_run(const struct conf *conf, const char *src, bool take_damaged, FILE *out, FILE *report)
{
	struct restore    r    = { .conf         = conf,
		                   .data         = conf->server_data,
		                   .out          = out,
		                   .report       = report,
		                   .take_damaged = take_damaged,
		                   .is_shown     = isatty(fileno(report)) == 1 };
	int               lock = -1;
	enum restore_exit result;

	if (crypt_init() != ERR_OK)
		return RESTORE_REFUSED;
	enum err e = open_folder(&r, &lock);
	if (e != ERR_OK) {
		if (lock >= 0)
			file_unlock(lock);
		return lock < 0 || e == ERR_INVALID ? RESTORE_REFUSED : RESTORE_UNFINISHED;
	}
	e = prepare(&r, src);
	db_close(TAKE(r.db));
	result = end(&r, e);
	if (result == RESTORE_REFUSED)
		remove_made(&r);
	backup_manifest_fini(&r.manifest);
	file_unlock(lock);
	fflush(out);
	return result;
}
