#include "store/blob.h"

#include "base/hex.h"
#include "base/metric.h"
#include "crypt/hash_stream.h"
#include "os/clock.h"
#include "os/log.h"
#include "os/random.h"
#include "store/blob_folder.h"
#include "store/db.h"
#include "store/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TMP_RANDOM_BYTES 16

_Static_assert(2 * TMP_RANDOM_BYTES < BLOB_TMP_NAME_BYTES, "the name fits");
_Static_assert(sizeof(((struct blob_writer *)0)->sha256) == HASH_SHA256_BYTES, "blobs are named by their SHA-256");

/* --- Writing --- */

static enum err tmp_path(char out[PATH_MAX], const struct blob_writer *w)
{
	return blobs_tmp_path(out, store_blobs(w->store), w->tmp);
}

static void close_file(struct blob_writer *w)
{
	if (w->fd >= 0)
		close(w->fd);
	w->fd = -1;
}

static void remove_file(const struct blob_writer *w)
{
	char path[PATH_MAX];

	if (w->tmp[0] && !w->taken && tmp_path(path, w) == ERR_OK)
		unlink(path);
}

/* The first failure stays: the file is of no use any more and goes at once. */
static enum err fail(struct blob_writer *w, enum err e)
{
	w->failed = e;
	blob_writer_fini(w);
	return e;
}

static enum err fail_io(struct blob_writer *w, const char *what)
{
	int  why = errno;
	char path[PATH_MAX];

	if (tmp_path(path, w) != ERR_OK)
		path[0] = '\0';
	blobs_set_failing(store_blobs(w->store), true);
	return fail(w, blobs_io_error(what, path, why));
}

static enum err make_file(struct blob_writer *w)
{
	uint8_t random[TMP_RANDOM_BYTES];
	char    path[PATH_MAX];

	random_bytes(random, sizeof(random));
	hex_encode(w->tmp, random, sizeof(random));
	enum err e = tmp_path(path, w);
	if (e != ERR_OK)
		return fail(w, e);
	w->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return w->fd >= 0 ? ERR_OK : fail_io(w, "create");
}

enum err blob_writer_open(struct blob_writer *w, struct store *s)
{
	*w = (struct blob_writer){ .store = s, .fd = -1 };
	if (!store_has_space(s))
		return fail(w, ERR_SPACE);
	w->hash = hash_stream_new();
	return w->hash ? make_file(w) : fail(w, ERR_NOMEM);
}

enum err blob_writer_put(struct blob_writer *w, const void *bytes, size_t len)
{
	const uint8_t *at   = bytes;
	size_t         left = len;

	if (w->failed != ERR_OK)
		return w->failed;
	while (left > 0) {
		ssize_t n = write(w->fd, at, left);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return fail_io(w, "write");
		at += n;
		left -= (size_t)n;
	}
	hash_stream_add(w->hash, bytes, len);
	w->bytes += len;
	return ERR_OK;
}

enum err blob_writer_finish(struct blob_writer *w)
{
	if (w->failed != ERR_OK)
		return w->failed;
	/* Never tried again: the kernel may say yes the second time although the bytes are lost. */
	if (fdatasync(w->fd) != 0)
		return fail_io(w, "sync");
	blobs_set_failing(store_blobs(w->store), false);
	close_file(w);
	hash_stream_end(w->sha256, w->hash);
	hash_stream_free(w->hash);
	w->hash = NULL;
	return ERR_OK;
}

void blob_writer_fini(struct blob_writer *w)
{
	close_file(w);
	hash_stream_free(w->hash);
	w->hash = NULL;
	remove_file(w);
	w->tmp[0] = '\0';
}

/* --- Reading --- */

enum err blob_open(int *fd, uint64_t *bytes, struct store *s, const uint8_t hash[BLOB_HASH_BYTES])
{
	char        path[PATH_MAX];
	struct stat st;

	enum err e = blobs_path(path, store_blobs(s), hash);
	if (e != ERR_OK)
		return e;
	int opened = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (opened < 0)
		return errno == ENOENT || errno == ENOTDIR ? ERR_NOT_FOUND : blobs_io_error("open", path, errno);
	if (fstat(opened, &st) != 0 || !S_ISREG(st.st_mode)) {
		close(opened);
		return blobs_io_error("open", path, EINVAL);
	}
	*fd    = opened;
	*bytes = (uint64_t)st.st_size;
	return ERR_OK;
}

void blob_report_damaged(struct store *s, const uint8_t hash[BLOB_HASH_BYTES], const char *what)
{
	char hex[2 * BLOB_HASH_BYTES + 1];

	if (!blobs_note_report(store_blobs(s), hash, clock_mono_ms()))
		return;
	hex_encode(hex, hash, BLOB_HASH_BYTES);
	metric_inc(M_BLOBS_DAMAGED);
	log_error("store", 0, "finds-damaged-blob",
	          "blob=%s what=\"%s\" note=\"players who load it get an error and can load an older checkpoint; put "
	          "the "
	          "file back from a backup; coopd --verify-blobs lists all that are damaged\"",
	          hex, what);
}

/* --- Inside a job --- */

static enum err add_row(struct db *db, const struct blob_writer *w)
{
	AUTO_QUERY q = db_query(db, Q_BLOB_ADD);

	q_blob(&q, ":hash", w->sha256, BLOB_HASH_BYTES);
	q_int(&q, ":bytes", (int64_t)w->bytes);
	return q_done(&q);
}

static enum err run_for(struct db *db, enum query what, const uint8_t hash[BLOB_HASH_BYTES])
{
	AUTO_QUERY q = db_query(db, what);

	q_blob(&q, ":hash", hash, BLOB_HASH_BYTES);
	return q_done(&q);
}

enum err blob_take(struct db *db, struct blob_writer *w)
{
	char path[PATH_MAX];

	if (w->failed != ERR_OK)
		return w->failed;
	enum err e = tmp_path(path, w);
	if (e == ERR_OK)
		e = blobs_take(db_blobs(db), path, w->sha256);
	if (e != ERR_OK)
		return e;
	w->taken = true;
	e        = add_row(db, w);
	if (e == ERR_OK)
		e = run_for(db, Q_GARBAGE_REMOVE, w->sha256);
	return e;
}

static enum err is_named(struct db *db, const uint8_t hash[BLOB_HASH_BYTES])
{
	AUTO_QUERY q = db_query(db, Q_BLOB_IS_NAMED);

	q_blob(&q, ":hash", hash, BLOB_HASH_BYTES);
	return q_row(&q);
}

enum err blob_let_go(struct db *db, const uint8_t hash[BLOB_HASH_BYTES])
{
	enum err e = is_named(db, hash);
	if (e != ERR_NOT_FOUND)
		return e;
	e = run_for(db, Q_BLOB_REMOVE, hash);
	if (e == ERR_OK)
		e = run_for(db, Q_GARBAGE_ADD, hash);
	if (db_blobs(db))
		blobs_note_garbage(db_blobs(db));
	return e;
}
