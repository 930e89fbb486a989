#include "store/backup_files.h"

#include "base/auto.h"
#include "base/hex.h"
#include "base/text.h"
#include "crypt/hash_stream.h"
#include "os/file.h"
#include "os/log.h"
#include "store/blob_folder.h"
#include "store/forget.h"
#include "store/inside.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPY_BYTES        262144
#define SECRETS_BYTES_MAX 65536
#define UNFINISHED        ".unfinished"

static void close_fd(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static void free_hash(struct hash_stream **h)
{
	hash_stream_free(*h);
}

static enum err log_failure(const char *what, const char *path, int why)
{
	log_error("store", 0, "cannot-back-up", "what=%s path=%s why=%s", what, path, strerror(why));
	return why == ENOSPC || why == EDQUOT ? ERR_SPACE : ERR_IO;
}

static bool blob_path(char out[PATH_MAX], const char *dest, const uint8_t hash[BLOB_HASH_BYTES])
{
	char hex[2 * BLOB_HASH_BYTES + 1];

	hex_encode(hex, hash, BLOB_HASH_BYTES);
	return text_format(out, PATH_MAX, "%s/blobs/%.2s/%s", dest, hex, hex + 2);
}

static bool size_of(uint64_t *out, const char *path)
{
	struct stat st;

	*out = 0;
	if (lstat(path, &st) != 0 || !S_ISREG(st.st_mode))
		return false;
	*out = (uint64_t)st.st_size;
	return true;
}

bool backup_has_blob(uint64_t *bytes, struct store *s, const char *dest, const uint8_t hash[BLOB_HASH_BYTES])
{
	char     ours[PATH_MAX], theirs[PATH_MAX];
	uint64_t there;

	*bytes = 0;
	if (blobs_path(ours, store_blobs(s), hash) != ERR_OK || !blob_path(theirs, dest, hash))
		return false;
	/* What is damaged here by its size must not push out a good copy there. */
	if (!size_of(bytes, ours))
		return size_of(&there, theirs);
	return size_of(&there, theirs) && there == *bytes;
}

/* Reads from one place, hashes, and writes to another one unless to is -1. */
static enum err pump(uint8_t out[BLOB_HASH_BYTES], uint64_t *bytes, int from, int to)
{
	AUTO(free_hash) struct hash_stream *h   = hash_stream_new();
	AUTO(auto_free) uint8_t            *buf = malloc(COPY_BYTES);

	*bytes = 0;
	if (!h || !buf)
		return ERR_NOMEM;
	for (;;) {
		ssize_t got = read(from, buf, COPY_BYTES);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return ERR_IO;
		if (got == 0)
			break;
		hash_stream_add(h, buf, (size_t)got);
		*bytes += (uint64_t)got;
		for (ssize_t at = 0; to >= 0 && at < got;) {
			ssize_t put = write(to, buf + at, (size_t)(got - at));

			if (put < 0 && errno == EINTR)
				continue;
			if (put < 0)
				return errno == ENOSPC || errno == EDQUOT ? ERR_SPACE : ERR_IO;
			at += put;
		}
	}
	hash_stream_end(out, h);
	return ERR_OK;
}

enum err backup_hash_file(uint8_t out[BLOB_HASH_BYTES], const char *path)
{
	AUTO(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	uint64_t           bytes;

	if (fd < 0)
		return log_failure("open", path, errno);
	return pump(out, &bytes, fd, -1);
}

/* Synced, forgotten by the cache as far as the system allows, and read again. */
static enum err read_back(const char *path, int fd, const uint8_t hash[BLOB_HASH_BYTES])
{
	uint8_t  is[BLOB_HASH_BYTES];
	uint64_t bytes;
	enum err e;

	if (fsync(fd) != 0)
		return log_failure("sync", path, errno);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	if (lseek(fd, 0, SEEK_SET) != 0)
		return log_failure("seek", path, errno);
	e = pump(is, &bytes, fd, -1);
	if (e != ERR_OK || memcmp(is, hash, sizeof(is)) != 0)
		return log_failure("read-back", path, EIO);
	return ERR_OK;
}

static enum err copy_to(uint64_t *bytes, struct store *s, int from, const char *path,
                        const uint8_t hash[BLOB_HASH_BYTES])
{
	AUTO(close_fd) int to = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	uint8_t            is[BLOB_HASH_BYTES];
	enum err           e;

	if (to < 0)
		return log_failure("file", path, errno);
	e = pump(is, bytes, from, to);
	if (e != ERR_OK)
		return e == ERR_NOMEM ? e : log_failure("copy", path, e == ERR_SPACE ? ENOSPC : EIO);
	if (memcmp(is, hash, sizeof(is)) != 0) {
		blob_report_damaged(s, hash, "its bytes changed, seen by a backup");
		return ERR_DAMAGED;
	}
	return read_back(path, to, hash);
}

enum err backup_copy_blob(uint64_t *bytes, struct store *s, const char *dest, const uint8_t hash[BLOB_HASH_BYTES])
{
	AUTO(close_fd) int from = -1;
	char               path[PATH_MAX], unfinished[PATH_MAX];
	enum err           e = blob_open(&from, bytes, s, hash);

	if (e != ERR_OK) {
		blob_report_damaged(s, hash, "missing, seen by a backup");
		return ERR_DAMAGED;
	}
	if (!blob_path(path, dest, hash) || !text_format(unfinished, sizeof(unfinished), "%s/blobs", dest))
		return ERR_IO;
	*strrchr(path, '/') = '\0';
	if (file_make_dirs(path, 0700) != ERR_OK)
		return log_failure("folder", path, errno);
	if (!blob_path(path, dest, hash) || !text_format(unfinished, sizeof(unfinished), "%s/blobs/" UNFINISHED, dest))
		return ERR_IO;
	e = copy_to(bytes, s, from, unfinished, hash);
	if (e == ERR_OK && rename(unfinished, path) != 0)
		e = log_failure("rename", path, errno);
	if (e != ERR_OK)
		unlink(unfinished);
	return e;
}

/* --- The folders --- */

static bool is_hex(const char *name, size_t len)
{
	return strlen(name) == len && strspn(name, "0123456789abcdef") == len;
}

/* Calls each for every folder of two digits; its path is the caller's for the call. */
static enum err each_folder(const char *dest, enum err (*each)(const char *path, const char *digits, void *arg),
                            void       *arg)
{
	char           path[PATH_MAX];
	DIR           *d;
	struct dirent *entry;
	enum err       e = ERR_OK;

	if (!text_format(path, sizeof(path), "%s/blobs", dest))
		return ERR_IO;
	d = opendir(path);
	if (!d)
		return errno == ENOENT ? ERR_OK : log_failure("folder", path, errno);
	while (e == ERR_OK && (entry = readdir(d))) {
		if (is_hex(entry->d_name, 2) && text_format(path, sizeof(path), "%s/blobs/%s", dest, entry->d_name))
			e = each(path, entry->d_name, arg);
	}
	closedir(d);
	return e;
}

static enum err sync_one(const char *path, const char *digits, void *arg)
{
	(void)digits;
	(void)arg;
	return file_sync_dir(path) == ERR_OK ? ERR_OK : log_failure("sync", path, errno);
}

enum err backup_sync_blobs(const char *dest)
{
	char     path[PATH_MAX];
	enum err e = each_folder(dest, sync_one, NULL);

	if (e != ERR_OK || !text_format(path, sizeof(path), "%s/blobs", dest))
		return e;
	e = file_sync_dir(path);
	return e == ERR_OK || errno == ENOENT ? ERR_OK : log_failure("sync", path, errno);
}

static int compare_hashes(const void *a, const void *b)
{
	return memcmp(a, b, BLOB_HASH_BYTES);
}

struct keep {
	const struct hashes *needed;
};

static enum err remove_from(const char *path, const char *digits, void *arg)
{
	const struct keep *keep = arg;
	int                fd   = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR               *d    = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent     *entry;

	if (!d && fd >= 0)
		close(fd);
	if (!d)
		return ERR_OK;
	while ((entry = readdir(d))) {
		char    hex[2 * BLOB_HASH_BYTES + 1];
		uint8_t hash[BLOB_HASH_BYTES];

		if (!is_hex(entry->d_name, 2 * BLOB_HASH_BYTES - 2))
			continue;
		text_format(hex, sizeof(hex), "%s%s", digits, entry->d_name);
		if (hex_decode(hash, sizeof(hash), hex, strlen(hex)) == ERR_OK &&
		    !bsearch(hash, keep->needed->list, keep->needed->count, BLOB_HASH_BYTES, compare_hashes))
			unlinkat(dirfd(d), entry->d_name, 0);
	}
	closedir(d);
	return ERR_OK;
}

void backup_remove_blobs(const char *dest, const struct hashes *needed)
{
	struct keep keep = { .needed = needed };

	(void)each_folder(dest, remove_from, &keep);
}

static enum err copy_beside(struct store *s, const char *dest, const char *name, size_t max)
{
	AUTO(auto_free) char *text = NULL;
	char                  path[PATH_MAX];
	size_t                len;
	enum err              e;

	if (!text_format(path, sizeof(path), "%s/%s", store_folder(s), name))
		return ERR_IO;
	e = file_read(&text, &len, path, max);
	if (e == ERR_NOT_FOUND)
		return ERR_OK;
	if (e != ERR_OK || !text_format(path, sizeof(path), "%s/%s", dest, name))
		return e;
	return file_write(path, text, len, 0600);
}

enum err backup_copy_secrets(struct store *s, const char *dest)
{
	return copy_beside(s, dest, "secrets", SECRETS_BYTES_MAX);
}

enum err backup_copy_forgotten(struct store *s, const char *dest)
{
	return copy_beside(s, dest, FORGOTTEN_FILE, FORGOTTEN_BYTES_MAX);
}
