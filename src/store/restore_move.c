/*
 * Every step may find itself done already, in part or wholly. What decides is .restore/coop.db: as long as it is there, the
 * database in the data folder is the old one, and is put away; then it moves, in one rename.
 */
#include "store/restore_move.h"

#include "base/auto.h"
#include "base/text.h"
#include "os/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MARKER "ready"
#define NOTE   ".restored"

struct moving {
	const char *data;
	char        kept[RESTORE_NAME_BYTES]; /* folder below copies */
	FILE       *report;
};

static void close_dirp(DIR **d)
{
	if (*d)
		closedir(*d);
}

static enum err fail(const struct moving *m, const char *what, const char *path)
{
	int why = errno;

	fprintf(m->report,
	        "restoring into %s is not complete: cannot %s %s: %s. Nothing is lost; mend that, and start coopd or "
	        "coopd --restore again, which goes on from here\n",
	        m->data, what, path, strerror(why));
	return ERR_IO;
}

static bool join(char out[PATH_MAX], const char *folder, const char *name)
{
	return text_format(out, PATH_MAX, "%s/%s", folder, name);
}

/* A link would lead to files that are somebody else's: none is followed, here and below. */
static DIR *open_folder(int parent, const char *name)
{
	int  fd  = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d   = fd >= 0 ? fdopendir(fd) : NULL;
	int  why = errno;

	if (!d && fd >= 0)
		close(fd);
	errno = why;
	return d;
}

static enum err sync_dir(const struct moving *m, const char *path)
{
	return file_sync_dir(path) == ERR_OK ? ERR_OK : fail(m, "sync", path);
}

static enum err sync_below(const struct moving *m, const char *name)
{
	char path[PATH_MAX];

	return join(path, m->data, name) ? sync_dir(m, path) : ERR_IO;
}

/* Both below the data folder. What is not there has moved already, or never was. */
static enum err move(const struct moving *m, const char *from, const char *to)
{
	char a[PATH_MAX], b[PATH_MAX];

	if (!join(a, m->data, from) || !join(b, m->data, to))
		return ERR_IO;
	if (rename(a, b) == 0 || errno == ENOENT)
		return ERR_OK;
	return fail(m, "move", a);
}

static bool is_there(const struct moving *m, const char *name)
{
	char        path[PATH_MAX];
	struct stat st;

	return join(path, m->data, name) && lstat(path, &st) == 0;
}

/* --- Blobs --- */

static enum err make_dir(const struct moving *m, const char *path)
{
	return mkdir(path, 0700) == 0 || errno == EEXIST ? ERR_OK : fail(m, "make the folder", path);
}

static enum err move_folder(const struct moving *m, const char *from, const char *to)
{
	AUTO(close_dirp) DIR *d = open_folder(AT_FDCWD, from);
	struct dirent        *entry;
	enum err              e = d ? make_dir(m, to) : fail(m, "read", from);

	while (e == ERR_OK && (entry = readdir(d))) {
		char a[PATH_MAX], b[PATH_MAX];

		if (entry->d_name[0] == '.')
			continue;
		if (!join(a, from, entry->d_name) || !join(b, to, entry->d_name))
			return ERR_IO;
		if (rename(a, b) != 0)
			e = fail(m, "move", a);
	}
	return e == ERR_OK ? sync_dir(m, to) : e;
}

static enum err move_blobs(const struct moving *m)
{
	char           from[PATH_MAX], to[PATH_MAX], a[PATH_MAX], b[PATH_MAX];
	struct dirent *entry;
	enum err       e = ERR_OK;

	if (!join(from, m->data, RESTORE_FOLDER "/blobs") || !join(to, m->data, "blobs"))
		return ERR_IO;

	AUTO(close_dirp) DIR *d = open_folder(AT_FDCWD, from);

	if (!d && errno != ENOENT)
		return fail(m, "read", from);
	e = make_dir(m, to);
	if (!d)
		return e;
	while (e == ERR_OK && (entry = readdir(d))) {
		if (entry->d_name[0] == '.')
			continue;
		e = join(a, from, entry->d_name) && join(b, to, entry->d_name) ? move_folder(m, a, b) : ERR_IO;
	}
	return e == ERR_OK ? sync_dir(m, to) : e;
}

/* --- Database and secrets --- */

static enum err make_kept(const struct moving *m, char folder[PATH_MAX])
{
	char     path[PATH_MAX];
	enum err e;

	if (!join(path, m->data, "copies") || !text_format(folder, PATH_MAX, "%s/%s", path, m->kept))
		return ERR_IO;
	e = make_dir(m, path);
	if (e == ERR_OK)
		e = make_dir(m, folder);
	if (e == ERR_OK)
		e = sync_dir(m, path);
	return e;
}

/* A second name: the file of secrets is never missing. */
static enum err keep_secrets(const struct moving *m)
{
	char a[PATH_MAX], b[PATH_MAX];

	if (!is_there(m, RESTORE_FOLDER "/secrets"))
		return ERR_OK;
	if (!join(a, m->data, "secrets") || !text_format(b, sizeof(b), "%s/copies/%s/secrets", m->data, m->kept))
		return ERR_IO;
	return link(a, b) == 0 || errno == EEXIST || errno == ENOENT ? ERR_OK : fail(m, "keep", a);
}

/* The log goes with its database: the new one must never be read with it. */
static enum err keep_database(const struct moving *m)
{
	static const char *const files[] = { "coop.db-wal", "coop.db-shm", "coop.db" };
	char                     to[PATH_MAX];
	enum err                 e = ERR_OK;

	for (size_t i = 0; i < COUNT_OF(files) && e == ERR_OK; i++)
		e = text_format(to, sizeof(to), "copies/%s/%s", m->kept, files[i]) ? move(m, files[i], to) : ERR_IO;
	return e;
}

static enum err keep_old(const struct moving *m)
{
	char     folder[PATH_MAX];
	enum err e;

	if (!is_there(m, "coop.db") && !is_there(m, "coop.db-wal") && !is_there(m, "secrets"))
		return ERR_OK;
	e = make_kept(m, folder);
	if (e == ERR_OK)
		e = keep_secrets(m);
	if (e == ERR_OK)
		e = keep_database(m);
	if (e == ERR_OK)
		e = sync_dir(m, folder);
	return e == ERR_OK ? sync_dir(m, m->data) : e;
}

static enum err write_note(const struct moving *m)
{
	char path[PATH_MAX];

	if (!join(path, m->data, NOTE))
		return ERR_IO;
	return file_write(path, "", 0, 0600) == ERR_OK ? ERR_OK : fail(m, "write", path);
}

static enum err replace(const struct moving *m)
{
	enum err e;

	if (!is_there(m, RESTORE_FOLDER "/coop.db"))
		return ERR_OK;
	e = write_note(m);
	if (e == ERR_OK)
		e = keep_old(m);
	if (e == ERR_OK)
		e = move(m, RESTORE_FOLDER "/secrets", "secrets");
	if (e == ERR_OK)
		e = move(m, RESTORE_FOLDER "/store-id", "blobs/store-id");
	if (e == ERR_OK)
		e = sync_below(m, "blobs");
	if (e == ERR_OK)
		e = sync_dir(m, m->data);
	if (e == ERR_OK)
		e = move(m, RESTORE_FOLDER "/coop.db", "coop.db");
	return e == ERR_OK ? sync_dir(m, m->data) : e;
}

/* --- The marker, and what is left --- */

static enum err remove_folder(const struct moving *m, int parent, const char *name, const char *path,
                              const char *spared, int depth);

/* depth: what we make is no deeper; anything else stays. NOLINTNEXTLINE(misc-no-recursion): three levels at most */
static enum err remove_entry(const struct moving *m, int folder, const char *name, const char *path, int depth)
{
	struct stat st;

	if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return fail(m, "look at", path);
	if (S_ISDIR(st.st_mode) && depth > 0)
		return remove_folder(m, folder, name, path, NULL, depth - 1);
	return unlinkat(folder, name, 0) == 0 ? ERR_OK : fail(m, "remove", path);
}

/* What is in it, and itself unless something is spared. path is for messages. NOLINTNEXTLINE(misc-no-recursion): the same */
static enum err remove_folder(const struct moving *m, int parent, const char *name, const char *path,
                              const char *spared, int depth)
{
	AUTO(close_dirp) DIR *d = open_folder(parent, name);
	struct dirent        *entry;
	enum err              e = ERR_OK;

	if (!d)
		return errno == ENOENT ? ERR_OK : fail(m, "read", path);
	while (e == ERR_OK && (entry = readdir(d))) {
		char below[PATH_MAX];

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
		    (spared && strcmp(entry->d_name, spared) == 0))
			continue;
		if (!join(below, path, entry->d_name))
			return ERR_IO;
		e = remove_entry(m, dirfd(d), entry->d_name, below, depth);
	}
	if (e == ERR_OK && !spared && unlinkat(parent, name, AT_REMOVEDIR) != 0)
		e = fail(m, "remove", path);
	return e;
}

/* The marker goes last: until then all of this is done again. */
static enum err remove_rest(const struct moving *m)
{
	char     folder[PATH_MAX];
	enum err e;

	if (!join(folder, m->data, RESTORE_FOLDER))
		return ERR_IO;
	e = remove_folder(m, AT_FDCWD, folder, folder, MARKER, 2);
	if (e == ERR_OK)
		e = remove_folder(m, AT_FDCWD, folder, folder, NULL, 2);
	return e == ERR_OK ? sync_dir(m, m->data) : e;
}

enum err restore_mark(const char *data, const char *kept_name, FILE *report)
{
	char     path[PATH_MAX];
	enum err e = ERR_IO;

	if (text_format(path, sizeof(path), "%s/" RESTORE_FOLDER "/" MARKER, data))
		e = file_write(path, kept_name, strlen(kept_name), 0600);
	if (e != ERR_OK)
		fprintf(report, "cannot write %s: %s; nothing was changed\n", path, strerror(errno));
	return e;
}

/* A name of our own making, whatever somebody wrote there: it becomes part of a path. */
static enum err read_marker(struct moving *m)
{
	AUTO(auto_free) char *text = NULL;
	char                  path[PATH_MAX];
	size_t                len;

	if (!join(path, m->data, RESTORE_FOLDER "/" MARKER))
		return ERR_NOT_FOUND;
	enum err e = file_read(&text, &len, path, RESTORE_NAME_BYTES);
	if (e == ERR_NOT_FOUND)
		return e;
	if (e == ERR_IO)
		return fail(m, "read", path);
	if (e != ERR_OK || len == 0 || strchr(text, '/') || text[0] == '.' ||
	    !text_copy(m->kept, sizeof(m->kept), text)) {
		errno = EINVAL;
		return fail(m, "use", path);
	}
	return ERR_OK;
}

static enum err check_folder(const struct moving *m)
{
	char        path[PATH_MAX];
	struct stat st;

	if (!join(path, m->data, RESTORE_FOLDER) || lstat(path, &st) != 0 || S_ISDIR(st.st_mode))
		return ERR_OK;
	fprintf(m->report,
	        "%s is %s, and no folder that a restore made. Nothing was changed: see what it is for, and remove it\n",
	        path, S_ISLNK(st.st_mode) ? "a link" : "a file");
	return ERR_INVALID;
}

bool restore_is_due(const char *data)
{
	char path[PATH_MAX];

	return join(path, data, RESTORE_FOLDER "/" MARKER) && access(path, F_OK) == 0;
}

enum err restore_finish(bool *ended, const char *data, FILE *report)
{
	struct moving m = { .data = data, .report = report };
	enum err      e = check_folder(&m);

	*ended = false;
	if (e == ERR_OK)
		e = read_marker(&m);
	*ended = e == ERR_OK;
	if (e == ERR_NOT_FOUND)
		return is_there(&m, RESTORE_FOLDER) ? remove_rest(&m) : ERR_OK;
	if (e == ERR_OK)
		e = move_blobs(&m);
	if (e == ERR_OK)
		e = replace(&m);
	if (e == ERR_OK)
		e = remove_rest(&m);
	return e;
}

bool restore_take_note(const char *data)
{
	char path[PATH_MAX];

	return join(path, data, NOTE) && unlink(path) == 0;
}
