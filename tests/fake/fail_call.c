/*
 * The functions below have the names of the C library's and come first in the search for them. Each is counted when it
 * can fail in the way the test has chosen, and when its number has come it fails without having been made; FAIL_SHORT
 * makes it with half of the bytes.
 *
 * Left out are close, whose failure nobody can answer, standard output and error, on which the test waits for the
 * server's words, and what the C library does inside of itself.
 */
#include "fake/fail_at.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#define SHORT_FROM 17 /* bytes: eventfds and the like take eight or none */

#define CAN(how) (1U << FAIL_##how)

static struct fail_at  idle;
static struct fail_at *control = &idle;

/* The function that the caller would have got without us. */
#define REAL(name)                     \
	static __typeof__(name) *real; \
	if (!real)                     \
	*(void **)&real = dlsym(RTLD_NEXT, #name)

__attribute__((constructor)) static void set_up(void)
{
	const char *path = getenv("FAIL_AT_CONTROL");

	if (!path)
		return;

	int   fd  = open(path, O_RDWR | O_CLOEXEC);
	void *mem = mmap(NULL, sizeof(*control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	/* A test that wants a failure and gets none would pass for no reason. */
	if (mem == MAP_FAILED)
		abort();
	close(fd);
	control = mem;
}

/* What a descriptor is, or a path; the end of a long one. */
static const char *named(int fd, const char *path, char out[PATH_MAX])
{
	char    link[32];
	ssize_t len;

	if (!path) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		len                    = readlink(link, out, PATH_MAX - 1);
		out[len > 0 ? len : 0] = '\0';
		path                   = out;
	}
	return strlen(path) > 60 ? path + strlen(path) - 60 : path;
}

static void note(const char *name, int fd, const char *path, const void *caller)
{
	char        buf[PATH_MAX];
	Dl_info     from = { 0 };
	const char *file = "?", *base = NULL;

	if (dladdr(caller, &from) && from.dli_fname) {
		base = from.dli_fbase;
		file = strrchr(from.dli_fname, '/') ? strrchr(from.dli_fname, '/') + 1 : from.dli_fname;
	}
	snprintf(control->what, sizeof(control->what), "%.20s %.60s, %.40s+%#zx", name, named(fd, path, buf), file,
	         (size_t)((const char *)caller - base));
}

/* Whether this call is one that fails. fd -1: it has none. */
static bool strikes(const char *name, unsigned can, int fd, const char *path, const void *caller)
{
	if (!control->armed || !(can & 1U << control->how) || fd == STDOUT_FILENO || fd == STDERR_FILENO)
		return false;

	int     kept   = errno;
	int64_t number = ++control->count, at = control->at, every = control->every;

	if (at == 0 || number < at || (number > at && (every == 0 || (number - at) % every != 0)))
		return false;
	if (number == at)
		note(name, fd, path, caller);
	errno = kept;
	return true;
}

static mode_t kind_of(int fd)
{
	struct stat st;
	int         kept = errno;
	mode_t      mode = fd >= 0 && fstatat(fd, "", &st, AT_EMPTY_PATH) == 0 ? st.st_mode & S_IFMT : 0;

	errno = kept;
	return mode;
}

static int error_for(int fd, bool writes)
{
	mode_t  kind = kind_of(fd);
	int32_t how  = control->how;

	switch (how) {
	case FAIL_ENOSPC:
		return ENOSPC;
	case FAIL_EINTR:
		return EINTR;
	case FAIL_EMFILE:
		return EMFILE;
	case FAIL_ENOMEM:
		return ENOMEM;
	default:
		return kind == S_IFSOCK || kind == S_IFIFO ? writes ? EPIPE : ECONNRESET : EIO;
	}
}

/* Bytes in a row, of which there can be fewer. */
static bool is_stream(int fd)
{
	mode_t    kind = kind_of(fd);
	int       type = 0, kept = errno;
	socklen_t len = sizeof(type);

	if (kind == S_IFSOCK)
		getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len);
	errno = kept;
	return kind == S_IFREG || kind == S_IFIFO || type == SOCK_STREAM;
}

/* Files do not keep their caller waiting, nor do eventfds, which never block here. */
static unsigned waits(int fd)
{
	return kind_of(fd) == S_IFSOCK || kind_of(fd) == S_IFIFO ? CAN(EINTR) : 0;
}

static unsigned full_or_waits(int fd)
{
	return kind_of(fd) == S_IFREG ? CAN(ENOSPC) : waits(fd);
}

#define FROM __builtin_return_address(0)

/* Fails without being made. */
#define FAIL_OR(name, can, fd, path, writes)       \
	if (strikes(#name, can, fd, path, FROM)) { \
		errno = error_for(fd, writes);     \
		return -1;                         \
	}

/* --- Bytes --- */

#define BYTES(name, params, extra, writes, ...)                                       \
	ssize_t name params                                                           \
	{                                                                             \
		unsigned can = CAN(EIO) | (extra);                                    \
		REAL(name);                                                           \
		if (len >= SHORT_FROM && control->how == FAIL_SHORT && is_stream(fd)) \
			can |= CAN(SHORT);                                            \
		if (strikes(#name, can, fd, NULL, FROM)) {                            \
			if (control->how != FAIL_SHORT) {                             \
				errno = error_for(fd, writes);                        \
				return -1;                                            \
			}                                                             \
			len /= 2;                                                     \
		}                                                                     \
		return real(__VA_ARGS__);                                             \
	}

/* The C library calls its parameters __fd and the like.
 * NOLINTBEGIN(readability-inconsistent-declaration-parameter-name) */

BYTES(read, (int fd, void *buf, size_t len), waits(fd), false, fd, buf, len)
BYTES(write, (int fd, const void *buf, size_t len), full_or_waits(fd), true, fd, buf, len)
BYTES(pread, (int fd, void *buf, size_t len, off_t at), 0, false, fd, buf, len, at)
BYTES(pread64, (int fd, void *buf, size_t len, off64_t at), 0, false, fd, buf, len, at)
BYTES(pwrite, (int fd, const void *buf, size_t len, off_t at), CAN(ENOSPC), true, fd, buf, len, at)
BYTES(pwrite64, (int fd, const void *buf, size_t len, off64_t at), CAN(ENOSPC), true, fd, buf, len, at)
BYTES(recv, (int fd, void *buf, size_t len, int flags), CAN(EINTR), false, fd, buf, len, flags)
BYTES(send, (int fd, const void *buf, size_t len, int flags), CAN(ENOMEM) | CAN(EINTR), true, fd, buf, len, flags)
BYTES(sendfile, (int fd, int in, off_t *at, size_t len), CAN(ENOMEM) | CAN(EINTR), true, fd, in, at, len)
BYTES(sendfile64, (int fd, int in, off64_t *at, size_t len), CAN(ENOMEM) | CAN(EINTR), true, fd, in, at, len)

ssize_t recvfrom(int fd, void *restrict buf, size_t len, int flags, struct sockaddr *restrict from,
                 socklen_t *restrict from_len)
{
	REAL(recvfrom);
	FAIL_OR(recvfrom, CAN(EIO) | CAN(EINTR), fd, NULL, false)
	return real(fd, buf, len, flags, from, from_len);
}

ssize_t sendto(int fd, const void *buf, size_t len, int flags, const struct sockaddr *to, socklen_t to_len)
{
	REAL(sendto);
	FAIL_OR(sendto, CAN(EIO) | CAN(EINTR) | CAN(ENOMEM), fd, NULL, true)
	return real(fd, buf, len, flags, to, to_len);
}

/* A short one ends with the first of its pieces. */
static unsigned if_pieces(int fd, size_t count)
{
	return control->how == FAIL_SHORT && count > 1 && is_stream(fd) ? CAN(SHORT) : 0;
}

#define PIECES(name, params, extra, writes, ...)                                  \
	ssize_t name params                                                       \
	{                                                                         \
		unsigned can = CAN(EIO) | (extra) | if_pieces(fd, (size_t)count); \
		REAL(name);                                                       \
		if (strikes(#name, can, fd, NULL, FROM)) {                        \
			if (control->how != FAIL_SHORT) {                         \
				errno = error_for(fd, writes);                    \
				return -1;                                        \
			}                                                         \
			count = 1;                                                \
		}                                                                 \
		return real(__VA_ARGS__);                                         \
	}

PIECES(readv, (int fd, const struct iovec *iov, int count), waits(fd), false, fd, iov, count)
PIECES(writev, (int fd, const struct iovec *iov, int count), full_or_waits(fd), true, fd, iov, count)
PIECES(preadv, (int fd, const struct iovec *iov, int count, off_t at), 0, false, fd, iov, count, at)
PIECES(preadv64, (int fd, const struct iovec *iov, int count, off64_t at), 0, false, fd, iov, count, at)
PIECES(pwritev, (int fd, const struct iovec *iov, int count, off_t at), CAN(ENOSPC), true, fd, iov, count, at)
PIECES(pwritev64, (int fd, const struct iovec *iov, int count, off64_t at), CAN(ENOSPC), true, fd, iov, count, at)

ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
	REAL(recvmsg);
	FAIL_OR(recvmsg, CAN(EIO) | CAN(EINTR) | CAN(ENOMEM), fd, NULL, false)
	return real(fd, msg, flags);
}

ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	struct msghdr first = *msg;

	REAL(sendmsg);
	if (strikes("sendmsg", CAN(EIO) | CAN(EINTR) | CAN(ENOMEM) | if_pieces(fd, msg->msg_iovlen), fd, NULL, FROM)) {
		if (control->how != FAIL_SHORT) {
			errno = error_for(fd, true);
			return -1;
		}
		first.msg_iovlen = 1;
	}
	return real(fd, &first, flags);
}

int recvmmsg(int fd, struct mmsghdr *msgs, unsigned count, int flags, struct timespec *timeout)
{
	REAL(recvmmsg);
	FAIL_OR(recvmmsg, CAN(EIO) | CAN(EINTR) | CAN(ENOMEM), fd, NULL, false)
	return real(fd, msgs, count, flags, timeout);
}

int sendmmsg(int fd, struct mmsghdr *msgs, unsigned count, int flags)
{
	REAL(sendmmsg);
	if (control->how == FAIL_SHORT && count > 1 && strikes("sendmmsg", CAN(SHORT), fd, NULL, FROM))
		return real(fd, msgs, 1, flags);
	FAIL_OR(sendmmsg, CAN(EIO) | CAN(EINTR) | CAN(ENOMEM), fd, NULL, true)
	return real(fd, msgs, count, flags);
}

/* --- Descriptors --- */

#define CALL(name, params, can, fd, path, writes, ...) \
	int name params                                \
	{                                              \
		REAL(name);                            \
		FAIL_OR(name, can, fd, path, writes)   \
		return real(__VA_ARGS__);              \
	}

#define MAKES   (CAN(EMFILE) | CAN(ENOMEM))
#define CHANGES (CAN(EIO) | CAN(ENOSPC))

CALL(socket, (int domain, int type, int protocol), MAKES, -1, "", false, domain, type, protocol)
CALL(socketpair, (int domain, int type, int protocol, int fds[2]), MAKES, -1, "", false, domain, type, protocol, fds)
CALL(accept, (int fd, struct sockaddr *restrict from, socklen_t *restrict len), MAKES | CAN(EINTR) | CAN(EIO), fd, NULL,
     false, fd, from, len)
CALL(accept4, (int fd, struct sockaddr *restrict from, socklen_t *restrict len, int flags),
     MAKES | CAN(EINTR) | CAN(EIO), fd, NULL, false, fd, from, len, flags)
CALL(bind, (int fd, const struct sockaddr *at, socklen_t len), CAN(ENOMEM), fd, NULL, false, fd, at, len)
CALL(listen, (int fd, int backlog), CAN(ENOMEM), fd, NULL, false, fd, backlog)
CALL(connect, (int fd, const struct sockaddr *to, socklen_t len), CAN(EINTR) | CAN(EIO), fd, NULL, false, fd, to, len)
CALL(setsockopt, (int fd, int level, int option, const void *value, socklen_t len), CAN(ENOMEM), fd, NULL, false, fd,
     level, option, value, len)
CALL(epoll_create, (int size), MAKES, -1, "", false, size)
CALL(epoll_create1, (int flags), MAKES, -1, "", false, flags)
CALL(epoll_ctl, (int fd, int op, int of, struct epoll_event *event),
     op == EPOLL_CTL_ADD ? CAN(ENOMEM) | CAN(ENOSPC) : 0, fd, NULL, false, fd, op, of, event)
CALL(epoll_wait, (int fd, struct epoll_event *events, int max, int timeout), CAN(EINTR), fd, NULL, false, fd, events,
     max, timeout)
CALL(epoll_pwait, (int fd, struct epoll_event *events, int max, int timeout, const sigset_t *mask), CAN(EINTR), fd,
     NULL, false, fd, events, max, timeout, mask)
CALL(poll, (struct pollfd * fds, nfds_t count, int timeout), CAN(EINTR) | CAN(ENOMEM), -1, "", false, fds, count,
     timeout)
CALL(select,
     (int count, fd_set *restrict in, fd_set *restrict out, fd_set *restrict bad, struct timeval *restrict wait),
     CAN(EINTR) | CAN(ENOMEM), -1, "", false, count, in, out, bad, wait)
CALL(eventfd, (unsigned value, int flags), MAKES, -1, "", false, value, flags)
CALL(pipe, (int fds[2]), MAKES, -1, "", false, fds)
CALL(pipe2, (int fds[2], int flags), MAKES, -1, "", false, fds, flags)
CALL(dup, (int fd), MAKES, fd, NULL, false, fd)
CALL(dup3, (int fd, int to, int flags), MAKES, fd, NULL, false, fd, to, flags)
CALL(flock, (int fd, int op), CAN(EINTR) | CAN(ENOMEM), fd, NULL, false, fd, op)
CALL(nanosleep, (const struct timespec *want, struct timespec *rest), CAN(EINTR), -1, "", false, want, rest)

/* --- Files --- */

CALL(fsync, (int fd), CHANGES, fd, NULL, true, fd)
CALL(fdatasync, (int fd), CHANGES, fd, NULL, true, fd)
CALL(ftruncate, (int fd, off_t len), CHANGES, fd, NULL, true, fd, len)
CALL(ftruncate64, (int fd, off64_t len), CHANGES, fd, NULL, true, fd, len)
CALL(fallocate, (int fd, int mode, off_t at, off_t len), CHANGES, fd, NULL, true, fd, mode, at, len)
CALL(fallocate64, (int fd, int mode, off64_t at, off64_t len), CHANGES, fd, NULL, true, fd, mode, at, len)
CALL(fstat, (int fd, struct stat *restrict out), CAN(EIO), fd, NULL, false, fd, out)
CALL(fstat64, (int fd, struct stat64 *restrict out), CAN(EIO), fd, NULL, false, fd, out)
CALL(stat, (const char *restrict path, struct stat *restrict out), CAN(EIO), -1, path, false, path, out)
CALL(stat64, (const char *restrict path, struct stat64 *restrict out), CAN(EIO), -1, path, false, path, out)
CALL(lstat, (const char *restrict path, struct stat *restrict out), CAN(EIO), -1, path, false, path, out)
CALL(fstatat, (int dir, const char *restrict path, struct stat *restrict out, int flags), CAN(EIO), -1, path, false,
     dir, path, out, flags)
CALL(statvfs, (const char *restrict path, struct statvfs *restrict out), CAN(EIO), -1, path, false, path, out)
CALL(fstatvfs, (int fd, struct statvfs *restrict out), CAN(EIO), fd, NULL, false, fd, out)
CALL(unlink, (const char *path), CAN(EIO), -1, path, false, path)
CALL(unlinkat, (int dir, const char *path, int flags), CAN(EIO), -1, path, false, dir, path, flags)
CALL(mkdir, (const char *path, mode_t mode), CHANGES, -1, path, false, path, mode)
CALL(mkdirat, (int dir, const char *path, mode_t mode), CHANGES, -1, path, false, dir, path, mode)
CALL(rename, (const char *from, const char *to), CHANGES, -1, to, false, from, to)
CALL(renameat, (int from_dir, const char *from, int to_dir, const char *to), CHANGES, -1, to, false, from_dir, from,
     to_dir, to)
CALL(link, (const char *from, const char *to), CHANGES, -1, to, false, from, to)
CALL(linkat, (int from_dir, const char *from, int to_dir, const char *to, int flags), CHANGES, -1, to, false, from_dir,
     from, to_dir, to, flags)
CALL(fchmod, (int fd, mode_t mode), CAN(EIO), fd, NULL, false, fd, mode)
CALL(chmod, (const char *path, mode_t mode), CAN(EIO), -1, path, false, path, mode)
CALL(truncate, (const char *path, off_t len), CHANGES, -1, path, false, path, len)

/* Opening a folder or a file that is there needs no room. */
#define OPENS(flags) (CAN(EIO) | CAN(EMFILE) | CAN(ENOMEM) | ((flags)&O_CREAT || (flags)&__O_TMPFILE ? CAN(ENOSPC) : 0))

/* The mode is only there when the flags ask for a new file. */
#define TAKE_MODE(flags)                         \
	mode_t mode = 0;                         \
	if ((flags) & (O_CREAT | __O_TMPFILE)) { \
		va_list args;                    \
		va_start(args, flags);           \
		mode = va_arg(args, mode_t);     \
		va_end(args);                    \
	}

#define OPEN(name, params, ...)                              \
	int name params                                      \
	{                                                    \
		REAL(name);                                  \
		TAKE_MODE(flags)                             \
		FAIL_OR(name, OPENS(flags), -1, path, false) \
		return real(__VA_ARGS__, mode);              \
	}

OPEN(open, (const char *path, int flags, ...), path, flags)
OPEN(open64, (const char *path, int flags, ...), path, flags)
OPEN(openat, (int dir, const char *path, int flags, ...), dir, path, flags)
OPEN(openat64, (int dir, const char *path, int flags, ...), dir, path, flags)

DIR *opendir(const char *path)
{
	REAL(opendir);
	if (strikes("opendir", CAN(EIO) | MAKES, -1, path, FROM)) {
		errno = error_for(-1, false);
		return NULL;
	}
	return real(path);
}

struct dirent *readdir(DIR *dir)
{
	REAL(readdir);
	if (strikes("readdir", CAN(EIO), -1, "", FROM)) {
		errno = EIO;
		return NULL;
	}
	return real(dir);
}

/* --- Memory and threads --- */

#define MAP(name, off)                                                           \
	void *name(void *addr, size_t len, int prot, int flags, int fd, off at)  \
	{                                                                        \
		REAL(name);                                                      \
		if (strikes(#name, CAN(ENOMEM), fd, fd < 0 ? "" : NULL, FROM)) { \
			errno = ENOMEM;                                          \
			return MAP_FAILED;                                       \
		}                                                                \
		return real(addr, len, prot, flags, fd, at);                     \
	}

MAP(mmap, off_t)
MAP(mmap64, off64_t)

int pthread_create(pthread_t *restrict out, const pthread_attr_t *restrict attr, void *(*run)(void *),
                   void *restrict arg)
{
	REAL(pthread_create);
	if (strikes("pthread_create", CAN(ENOMEM), -1, "", FROM))
		return EAGAIN;
	return real(out, attr, run, arg);
}

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
