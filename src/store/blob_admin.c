#include "store/blob_admin.h"

#include "base/auto.h"
#include "store/ask.h"
#include "store/blob_check.h"
#include "store/inside.h"
#include "store/readers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

#define LOOK_UP_MS 200

/* --- Figures --- */

static enum err read_rows(struct blob_figures *out, struct db *db)
{
	AUTO_QUERY q = db_query(db, Q_BLOB_SUMS);
	enum err   e = q_row(&q);

	if (e != ERR_OK)
		return e;
	out->blobs   = q_get_int(&q, 0);
	out->bytes   = q_get_int(&q, 1);
	out->garbage = q_get_int(&q, 2);
	return ERR_OK;
}

static enum err read_trash(struct blob_figures *out, const struct store *s)
{
	char           path[PATH_MAX];
	struct dirent *entry;
	struct stat    st;
	DIR           *d;
	enum err       e = blobs_folder_path(path, store_blobs(s), ".trash");

	if (e != ERR_OK)
		return e;
	d = opendir(path);
	if (!d)
		return errno == ENOENT ? ERR_OK : blobs_io_error("open", path, errno);
	while ((entry = readdir(d))) {
		if (fstatat(dirfd(d), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
			continue;
		out->trash++;
		out->trash_bytes += st.st_size;
	}
	closedir(d);
	return ERR_OK;
}

enum err blob_look(struct blob_figures *out, struct store *s)
{
	struct db *db;
	enum err   e = readers_take(&db, s);

	*out = (struct blob_figures){ .known   = store_blobs_are_known(s),
		                      .missing = blob_check_found(store_blob_check(s)).missing };
	if (e != ERR_OK)
		return e;
	e = read_rows(out, db);
	readers_give(s, db);
	return e == ERR_OK ? read_trash(out, s) : e;
}

/* --- The sweep --- */

struct begin {
	struct job         job;
	struct blob_check *check;
	bool               count;
};

static enum err run_begin(struct job *job, struct db *db)
{
	struct begin *b = CONTAINER(job, struct begin, job);

	(void)db;
	return blob_check_sweep(b->check, b->count);
}

static void let_go(struct job *job, enum err result)
{
	(void)result;
	free(CONTAINER(job, struct begin, job));
}

/* Checks begin on the store's thread. */
static enum err begin(struct blob_check *check, struct store *s, bool count)
{
	struct begin *b    = calloc(1, sizeof(*b));
	bool          gone = false;
	enum err      e;

	if (!b)
		return ERR_NOMEM;
	b->check = check;
	b->count = count;
	b->job   = (struct job){ .surface = SURFACE_ADMIN, .eager = true, .run = run_begin };
	e        = store_ask(s, &b->job, &gone, let_go);
	if (gone)
		return ERR_BUSY;
	free(b);
	return e;
}

enum err blob_sweep(struct blob_sweep *sweep, struct store *s, bool (*goes_on)(void *arg), void *arg)
{
	struct blob_check *check = store_blob_check(s);
	struct blob_found  found;
	enum err           e = begin(check, s, sweep->count);

	if (e != ERR_OK)
		return e;
	while (!blob_check_wait(check, LOOK_UP_MS)) {
		if (!goes_on(arg))
			return ERR_DRAINING;
	}
	found        = blob_check_found(check);
	sweep->moved = found.moved;
	sweep->bytes = found.bytes;
	return found.result;
}
