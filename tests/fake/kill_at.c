/*
 * The functions below have the names of the C library's and come first in the search for them. Each asks whether its
 * file is one of those that count, counts, and is the process's last when its number has come.
 *
 * Which file a descriptor is, is asked of the kernel each time, as in disk_fault.c.
 */
#include "fake/kill_at.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static struct kill_at  idle;
static struct kill_at *control = &idle;
static const char     *folder;
static size_t          folder_len;

__attribute__((constructor)) static void set_up(void)
{
	const char *path = getenv("FAULT_KILL_CONTROL");

	folder = getenv("FAULT_KILL_DIR");
	if (!folder || !path)
		return;
	folder_len = strlen(folder);

	int   fd  = open(path, O_RDWR | O_CLOEXEC);
	void *mem = mmap(NULL, sizeof(*control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	/* A test that wants a death and gets none would pass for no reason. */
	if (mem == MAP_FAILED)
		abort();
	close(fd);
	control = mem;
}

/* The part of the path below the folder, or NULL for any other file. */
static const char *below(const char *path)
{
	if (!folder || strncmp(path, folder, folder_len) != 0)
		return NULL;
	return path[folder_len] == '/' ? path + folder_len + 1 : path[folder_len] ? NULL : ".";
}

static const char *file_of(int fd, char out[PATH_MAX])
{
	char    link[32];
	int     kept = errno;
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len   = readlink(link, out, PATH_MAX - 1);
	errno = kept;
	if (len < 0)
		return NULL;
	out[len] = '\0';
	return below(out);
}

/* A path as the program wrote it, relative to an open folder or to where the process runs. */
static const char *file_at(int dir, const char *path, char out[PATH_MAX])
{
	char base[PATH_MAX];
	int  kept = errno;

	if (path[0] == '/')
		return below(path);
	if (dir == AT_FDCWD) {
		if (!getcwd(base, sizeof(base)))
			return NULL;
	} else if (!file_of(dir, base)) {
		errno = kept;
		return NULL;
	}
	errno = kept;
	if ((size_t)snprintf(out, PATH_MAX, "%s/%s", base, path) >= PATH_MAX)
		return NULL;
	return below(out);
}

static void die(const char *name, const char *file)
{
	snprintf(control->what, sizeof(control->what), "%s %.72s", name, file);
	syscall(SYS_kill, getpid(), SIGKILL);
	for (;;)
		pause();
}

/* Whether this call is the last one and has still to be made; when it must not be made this does not return. */
static bool is_last(const char *name, const char *file)
{
	if (!file || !control->armed)
		return false;

	int64_t number = ++control->count;
	int64_t at     = control->at;

	/* Those of other threads that come behind the deadly one must not be made either. */
	if (at == 0 || number < at)
		return false;
	if (number == at && control->after)
		return true;
	if (number > at)
		for (;;)
			pause();
	die(name, file);
	return true;
}

/* The function that the caller would have got without us. */
#define REAL(name)                     \
	static __typeof__(name) *real; \
	if (!real)                     \
	*(void **)&real = dlsym(RTLD_NEXT, #name)

/* Makes the call with death before or after it. */
#define COUNTED(type, name, file, ...)                        \
	do {                                                  \
		const char *counted = file;                   \
		bool        last    = is_last(name, counted); \
		type        result  = real(__VA_ARGS__);      \
		if (last)                                     \
			die(name, counted);                   \
		return result;                                \
	} while (0)

/* A call on a descriptor, and one on a path, with a second spelling for large files. */
#define ON_FD(type, name, params, ...)                                \
	type name params                                              \
	{                                                             \
		char path[PATH_MAX];                                  \
		REAL(name);                                           \
		COUNTED(type, #name, file_of(fd, path), __VA_ARGS__); \
	}
#define ON_PATH(type, name, params, dir, file, ...)                          \
	type name params                                                     \
	{                                                                    \
		char path[PATH_MAX];                                         \
		REAL(name);                                                  \
		COUNTED(type, #name, file_at(dir, file, path), __VA_ARGS__); \
	}

/* The C library calls its parameters __fd and the like.
 * NOLINTBEGIN(readability-inconsistent-declaration-parameter-name) */

ON_FD(ssize_t, write, (int fd, const void *buf, size_t len), fd, buf, len)
ON_FD(ssize_t, pwrite, (int fd, const void *buf, size_t len, off_t at), fd, buf, len, at)
ON_FD(ssize_t, pwrite64, (int fd, const void *buf, size_t len, off64_t at), fd, buf, len, at)
ON_FD(ssize_t, writev, (int fd, const struct iovec *iov, int count), fd, iov, count)
ON_FD(ssize_t, pwritev, (int fd, const struct iovec *iov, int count, off_t at), fd, iov, count, at)
ON_FD(ssize_t, pwritev64, (int fd, const struct iovec *iov, int count, off64_t at), fd, iov, count, at)
ON_FD(int, ftruncate, (int fd, off_t len), fd, len)
ON_FD(int, ftruncate64, (int fd, off64_t len), fd, len)
ON_FD(int, fallocate, (int fd, int mode, off_t at, off_t len), fd, mode, at, len)
ON_FD(int, fallocate64, (int fd, int mode, off64_t at, off64_t len), fd, mode, at, len)
ON_FD(int, posix_fallocate, (int fd, off_t at, off_t len), fd, at, len)
ON_FD(int, posix_fallocate64, (int fd, off64_t at, off64_t len), fd, at, len)
ON_FD(int, fsync, (int fd), fd)
ON_FD(int, fdatasync, (int fd), fd)
ON_FD(int, syncfs, (int fd), fd)
ON_FD(int, sync_file_range, (int fd, off64_t at, off64_t len, unsigned flags), fd, at, len, flags)

ON_PATH(int, truncate, (const char *file, off_t len), AT_FDCWD, file, file, len)
ON_PATH(int, unlink, (const char *file), AT_FDCWD, file, file)
ON_PATH(int, unlinkat, (int dir, const char *file, int flags), dir, file, dir, file, flags)
ON_PATH(int, rmdir, (const char *file), AT_FDCWD, file, file)
ON_PATH(int, remove, (const char *file), AT_FDCWD, file, file)
ON_PATH(int, mkdir, (const char *file, mode_t mode), AT_FDCWD, file, file, mode)
ON_PATH(int, mkdirat, (int dir, const char *file, mode_t mode), dir, file, dir, file, mode)
ON_PATH(int, rename, (const char *from, const char *to), AT_FDCWD, to, from, to)
ON_PATH(int, renameat, (int from_dir, const char *from, int to_dir, const char *to), to_dir, to, from_dir, from, to_dir,
        to)
ON_PATH(int, renameat2, (int from_dir, const char *from, int to_dir, const char *to, unsigned flags), to_dir, to,
        from_dir, from, to_dir, to, flags)
ON_PATH(int, link, (const char *from, const char *to), AT_FDCWD, to, from, to)
ON_PATH(int, linkat, (int from_dir, const char *from, int to_dir, const char *to, int flags), to_dir, to, from_dir,
        from, to_dir, to, flags)

ssize_t copy_file_range(int from, off64_t *from_at, int fd, off64_t *to_at, size_t len, unsigned flags)
{
	char path[PATH_MAX];

	REAL(copy_file_range);
	COUNTED(ssize_t, "copy_file_range", file_of(fd, path), from, from_at, fd, to_at, len, flags);
}

static bool makes(int flags)
{
	return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
}

/* Opening changes something only when it may make or empty the file. */
static bool changes(int flags)
{
	return makes(flags) || (flags & O_TRUNC);
}

/* The mode is only there when the flags ask for a new file. */
#define TAKE_MODE(flags)                     \
	mode_t mode = 0;                     \
	if (makes(flags)) {                  \
		va_list args;                \
		va_start(args, flags);       \
		mode = va_arg(args, mode_t); \
		va_end(args);                \
	}

#define OPEN(name)                                                                                             \
	int name(const char *file, int flags, ...)                                                             \
	{                                                                                                      \
		char path[PATH_MAX];                                                                           \
		REAL(name);                                                                                    \
		TAKE_MODE(flags)                                                                               \
		COUNTED(int, #name, changes(flags) ? file_at(AT_FDCWD, file, path) : NULL, file, flags, mode); \
	}
#define OPENAT(name)                                                                                           \
	int name(int dir, const char *file, int flags, ...)                                                    \
	{                                                                                                      \
		char path[PATH_MAX];                                                                           \
		REAL(name);                                                                                    \
		TAKE_MODE(flags)                                                                               \
		COUNTED(int, #name, changes(flags) ? file_at(dir, file, path) : NULL, dir, file, flags, mode); \
	}

OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
