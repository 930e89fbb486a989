/*
 * Files by descriptor: opened close-on-exec, errno kept for the caller's message on ERR_IO.
 */
#include "os/file.h"

#include "base/auto.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* For AUTO: closes what is open and leaves errno as it was. */
static void close_fdp(const int *fd)
{
	int why = errno;

	if (*fd >= 0)
		close(*fd);
	errno = why;
}

static enum err io_error(int why)
{
	errno = why;
	return ERR_IO;
}

static enum err make_dir(const char *path, mode_t mode)
{
	struct stat st;

	if (mkdir(path, mode) == 0)
		return ERR_OK;
	if (errno != EEXIST)
		return ERR_IO;
	if (stat(path, &st) != 0)
		return ERR_IO;
	return S_ISDIR(st.st_mode) ? ERR_OK : io_error(ENOTDIR);
}

enum err file_make_dirs(const char *path, mode_t mode)
{
	char part[PATH_MAX];

	if (!text_copy(part, sizeof(part), path))
		return io_error(ENAMETOOLONG);

	/* From the second character on: the root is always there. */
	for (char *at = part[0] ? part + 1 : part; *at; at++) {
		if (*at != '/')
			continue;
		*at        = '\0';
		enum err e = make_dir(part, mode);
		if (e != ERR_OK)
			return e;
		*at = '/';
	}
	return make_dir(part, mode);
}

/* Reads until the end of the file; ERR_TOO_BIG when it does not come within max bytes. buf has room for max + 1. */
static enum err read_all(char *buf, size_t *len, int fd, size_t max)
{
	size_t used = 0;

	while (used <= max) {
		ssize_t n = read(fd, buf + used, max + 1 - used);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return ERR_IO;
		if (n == 0) {
			*len = used;
			return ERR_OK;
		}
		used += (size_t)n;
	}
	return ERR_TOO_BIG;
}

enum err file_read(char **out, size_t *len, const char *path, size_t max)
{
	/* A pipe would keep the caller waiting for a writer, for ever perhaps. */
	AUTO(close_fdp) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat         st;

	if (fd < 0)
		return errno == ENOENT ? ERR_NOT_FOUND : ERR_IO;
	if (fstat(fd, &st) != 0)
		return ERR_IO;
	if (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)) {
		errno = EINVAL;
		return ERR_IO;
	}

	/* Room for the most, whatever size the file claims: pages that are not written to cost nothing. */
	AUTO(auto_free) char *buf = malloc(max + 1);
	size_t                used;
	if (!buf)
		return ERR_NOMEM;
	enum err e = read_all(buf, &used, fd, max);
	if (e != ERR_OK)
		return e;
	buf[used] = '\0';

	char *fitting = realloc(buf, used + 1);
	if (fitting)
		buf = fitting;
	*len = used;
	*out = TAKE(buf);
	return ERR_OK;
}

static enum err write_all(int fd, const void *data, size_t len)
{
	const uint8_t *at = data;

	while (len > 0) {
		ssize_t n = write(fd, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return ERR_IO;
		at += n;
		len -= (size_t)n;
	}
	return ERR_OK;
}

static enum err fill_and_sync(int fd, const void *data, size_t len, mode_t mode)
{
	if (fchmod(fd, mode) != 0 || write_all(fd, data, len) != ERR_OK || fsync(fd) != 0)
		return ERR_IO;
	return ERR_OK;
}

static enum err sync_dir_of(const char *path)
{
	char  dir[PATH_MAX];
	char *slash;

	if (!text_copy(dir, sizeof(dir), path))
		return io_error(ENAMETOOLONG);
	slash = strrchr(dir, '/');
	if (!slash)
		return file_sync_dir(".");
	slash[slash == dir ? 1 : 0] = '\0';
	return file_sync_dir(dir);
}

enum err file_write(const char *path, const void *data, size_t len, mode_t mode)
{
	static const char suffix[] = ".tmp";
	char              temporary[PATH_MAX];

	if (!text_format(temporary, sizeof(temporary), "%s.XXXXXX%s", path, suffix))
		return io_error(ENAMETOOLONG);

	AUTO(close_fdp) int fd = mkostemps(temporary, (int)strlen(suffix), O_CLOEXEC);
	if (fd < 0)
		return ERR_IO;
	if (fill_and_sync(fd, data, len, mode) != ERR_OK || rename(temporary, path) != 0) {
		int why = errno;

		unlink(temporary);
		return io_error(why);
	}
	return sync_dir_of(path);
}

enum err file_sync_dir(const char *path)
{
	AUTO(close_fdp) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || fsync(fd) != 0)
		return ERR_IO;
	return ERR_OK;
}

enum err file_free_bytes(uint64_t *out, const char *path)
{
	struct statvfs st;

	if (statvfs(path, &st) != 0)
		return ERR_IO;
	*out = (uint64_t)st.f_bavail * st.f_frsize;
	return ERR_OK;
}

/* 0 when the file holds no process id (its owner may be about to write it). */
static pid_t read_holder(int fd)
{
	char    text[32];
	int64_t pid = 0;
	ssize_t n   = pread(fd, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return 0;
	text[n]                   = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (text_to_int(&pid, text, 1, INT_MAX) != ERR_OK)
		return 0;
	return (pid_t)pid;
}

static enum err write_holder(int fd)
{
	char text[32];

	text_format(text, sizeof(text), "%ld\n", (long)getpid());
	if (ftruncate(fd, 0) != 0)
		return ERR_IO;
	return write_all(fd, text, strlen(text));
}

enum err file_lock(int *fd, const char *dir, pid_t *holder)
{
	char path[PATH_MAX];

	*holder = 0;
	if (!text_format(path, sizeof(path), "%s/lock", dir))
		return io_error(ENAMETOOLONG);

	/* No link is followed: a lock on a file elsewhere would guard nothing. */
	AUTO(close_fdp) int lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (lock < 0)
		return ERR_IO;
	if (flock(lock, LOCK_EX | LOCK_NB) != 0) {
		if (errno != EWOULDBLOCK)
			return ERR_IO;
		*holder = read_holder(lock);
		return ERR_HELD;
	}
	if (write_holder(lock) != ERR_OK)
		return ERR_IO;
	*fd  = lock;
	lock = -1;
	return ERR_OK;
}

void file_unlock(int fd)
{
	close(fd);
}

pid_t file_lock_holder(const char *dir)
{
	char path[PATH_MAX];

	if (!text_format(path, sizeof(path), "%s/lock", dir))
		return 0;

	AUTO(close_fdp) int lock = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (lock < 0 || flock(lock, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK)
		return 0;
	return read_holder(lock);
}
