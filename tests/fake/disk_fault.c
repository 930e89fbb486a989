/*
 * The functions below have the names of the C library's and come first in the search for them.
 *
 * Which file a descriptor is, is asked of the kernel each time: descriptors are closed and used again in ways that a
 * list of ours would miss. That costs a microsecond, which no test minds.
 */
#include "fake/disk_fault.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define NAP_MS 5

static struct disk_fault  no_fault;
static struct disk_fault *fault = &no_fault;
static const char        *folder, *match;
static size_t             folder_len;
static int                log_fd = -1;

/* The function that the caller would have got without us. */
#define REAL(name)                     \
	static __typeof__(name) *real; \
	if (!real)                     \
	*(void **)&real = dlsym(RTLD_NEXT, #name)

__attribute__((constructor)) static void set_up(void)
{
	const char *control = getenv("COOP_FAULT_CONTROL"), *log = getenv("COOP_FAULT_LOG");

	folder = getenv("COOP_FAULT_DIR");
	match  = getenv("COOP_FAULT_MATCH");
	if (!folder)
		return;
	folder_len = strlen(folder);
	if (log)
		log_fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (!control)
		return;
	int   fd  = open(control, O_RDWR | O_CLOEXEC);
	void *mem = mmap(NULL, sizeof(*fault), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	/* A test that asked for a fault and gets none would pass for no reason. */
	if (mem == MAP_FAILED)
		abort();
	close(fd);
	fault = mem;
}

/* One write, so that lines of several threads do not mix. The real system call: this is no call of the program. */
__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
	char    line[PATH_MAX + 64];
	va_list args;
	int     kept = errno;

	if (log_fd < 0)
		return;
	va_start(args, format);
	int len = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (len > 0)
		syscall(SYS_write, log_fd, line, (size_t)len < sizeof(line) ? (size_t)len : sizeof(line) - 1);
	errno = kept;
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

	if (!folder)
		return NULL;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len   = readlink(link, out, PATH_MAX - 1);
	errno = kept;
	if (len < 0)
		return NULL;
	out[len] = '\0';
	return below(out);
}

static void delay(void)
{
	const struct timespec nap = { .tv_nsec = NAP_MS * 1000000 };

	for (int waited_ms = 0; waited_ms < fault->delay_ms; waited_ms += NAP_MS)
		nanosleep(&nap, NULL);
}

static bool matches(const char *file)
{
	size_t len = strlen(file), end = match ? strlen(match) : 0;

	if (!match)
		return true;
	if (strpbrk(match, "*?"))
		return fnmatch(match, file, FNM_PATHNAME) == 0;
	return len >= end && strcmp(file + len - end, match) == 0;
}

/* Whether this call is one of those that fail. */
static bool fails(_Atomic int32_t *left, const char *file)
{
	if (*left == 0 || !matches(file))
		return false;
	if (*left > 0)
		(*left)--;
	return true;
}

static ssize_t noted(const char *what, const char *file, ssize_t n)
{
	note("%s %s = %zd\n", what, file, n < 0 ? -(ssize_t)errno : n);
	return n;
}

static bool write_fails(const char *file)
{
	if (fault->spare_writes == 0 || !matches(file))
		return fails(&fault->fail_writes, file);
	fault->spare_writes--;
	return false;
}

static ssize_t fail_write(const char *file)
{
	errno = fault->write_errno ? fault->write_errno : EIO;
	return noted("write", file, -1);
}

/* The C library calls its parameters __fd and the like.
 * NOLINTBEGIN(readability-inconsistent-declaration-parameter-name) */

ssize_t read(int fd, void *buf, size_t len)
{
	char path[PATH_MAX];

	REAL(read);
	if (file_of(fd, path))
		delay();
	return real(fd, buf, len);
}

ssize_t pread(int fd, void *buf, size_t len, off_t at)
{
	char path[PATH_MAX];

	REAL(pread);
	if (file_of(fd, path))
		delay();
	return real(fd, buf, len, at);
}

ssize_t pread64(int fd, void *buf, size_t len, off64_t at)
{
	return pread(fd, buf, len, at);
}

/* What is no file of ours may be an answer to somebody. */
static void note_answer(int fd, const void *buf, ssize_t n)
{
	const char *end = n > 0 ? memchr(buf, '\n', (size_t)n) : NULL;

	if (fd == STDOUT_FILENO && n > 0)
		note("says %.*s\n", (int)(end ? end - (const char *)buf : n), (const char *)buf);
	else if (n > 0 && fd > STDERR_FILENO)
		note("send = %zd\n", n);
}

ssize_t write(int fd, const void *buf, size_t len)
{
	char        path[PATH_MAX];
	const char *file = file_of(fd, path);

	REAL(write);
	if (!file) {
		ssize_t n = real(fd, buf, len);

		if (strncmp(path, "socket:", 7) == 0 || fd == STDOUT_FILENO)
			note_answer(fd, buf, n);
		return n;
	}
	delay();
	if (write_fails(file))
		return fail_write(file);
	return noted("write", file, real(fd, buf, len));
}

ssize_t pwrite(int fd, const void *buf, size_t len, off_t at)
{
	char        path[PATH_MAX];
	const char *file = file_of(fd, path);

	REAL(pwrite);
	if (!file)
		return real(fd, buf, len, at);
	delay();
	if (write_fails(file))
		return fail_write(file);
	return noted("write", file, real(fd, buf, len, at));
}

ssize_t pwrite64(int fd, const void *buf, size_t len, off64_t at)
{
	return pwrite(fd, buf, len, at);
}

static int sync_with(int (*real)(int fd), int fd)
{
	char        path[PATH_MAX];
	const char *file = file_of(fd, path);

	if (!file)
		return real(fd);
	delay();
	if (fails(&fault->fail_syncs, file)) {
		errno = EIO;
		return (int)noted("sync", file, -1);
	}
	return (int)noted("sync", file, real(fd));
}

int fsync(int fd)
{
	REAL(fsync);
	return sync_with(real, fd);
}

int fdatasync(int fd)
{
	REAL(fdatasync);
	return sync_with(real, fd);
}

int rename(const char *from, const char *to)
{
	const char *a = below(from), *b = below(to);

	REAL(rename);
	if (!a || !b)
		return real(from, to);
	delay();
	int rc = real(from, to);
	note("rename %s %s = %d\n", a, b, rc == 0 ? 0 : -errno);
	return rc;
}

ssize_t send(int fd, const void *buf, size_t len, int flags)
{
	REAL(send);
	ssize_t n = real(fd, buf, len, flags);

	note_answer(fd, buf, n);
	return n;
}

ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	REAL(sendmsg);
	ssize_t n = real(fd, msg, flags);

	note_answer(fd, "", n);
	return n;
}

ssize_t writev(int fd, const struct iovec *iov, int count)
{
	char        path[PATH_MAX];
	const char *file = file_of(fd, path);

	REAL(writev);
	if (file) {
		delay();
		return write_fails(file) ? fail_write(file) : noted("write", file, real(fd, iov, count));
	}
	ssize_t n = real(fd, iov, count);

	if (folder && strncmp(path, "socket:", 7) == 0)
		note_answer(fd, "", n);
	return n;
}

ssize_t pwritev(int fd, const struct iovec *iov, int count, off_t at)
{
	char        path[PATH_MAX];
	const char *file = file_of(fd, path);

	REAL(pwritev);
	if (!file)
		return real(fd, iov, count, at);
	delay();
	return write_fails(file) ? fail_write(file) : noted("write", file, real(fd, iov, count, at));
}

ssize_t pwritev64(int fd, const struct iovec *iov, int count, off64_t at)
{
	return pwritev(fd, iov, count, at);
}

/* Only opens by a whole path, or relative to an open folder of ours: the server uses no others for its data. */
static bool is_read_only(int dir, const char *name, int flags)
{
	char        path[PATH_MAX], whole[PATH_MAX];
	const char *file = NULL;

	if (!folder || !(flags & O_CREAT))
		return false;
	if (name[0] == '/') {
		file = below(name);
	} else if (dir != AT_FDCWD && file_of(dir, path) && snprintf(whole, sizeof(whole), "%s/%s", path, name) > 0) {
		file = below(whole);
	}
	return file && fails(&fault->fail_makes, file);
}

/* The mode is only there when the flags ask for a new file. */
#define OPEN(name, dir, params, ...)                   \
	int name params                                \
	{                                              \
		mode_t mode = 0;                       \
		REAL(name);                            \
		if (is_read_only(dir, file, flags)) {  \
			errno = EROFS;                 \
			return -1;                     \
		}                                      \
		if (flags & (O_CREAT | __O_TMPFILE)) { \
			va_list args;                  \
			va_start(args, flags);         \
			mode = va_arg(args, mode_t);   \
			va_end(args);                  \
		}                                      \
		return real(__VA_ARGS__, mode);        \
	}

OPEN(open, AT_FDCWD, (const char *file, int flags, ...), file, flags)
OPEN(open64, AT_FDCWD, (const char *file, int flags, ...), file, flags)
OPEN(openat, dir, (int dir, const char *file, int flags, ...), dir, file, flags)
OPEN(openat64, dir, (int dir, const char *file, int flags, ...), dir, file, flags)

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
