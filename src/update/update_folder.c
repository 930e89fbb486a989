/*
 * An operator may put another folder in the place of this one, by renaming or by turning a symbolic link. What is held
 * open is then the old one, from which files are served until update_folder_renew sees the change; from then on all of
 * them come from the new one. Files that are being sent stay those that were opened.
 */
#include "update/update_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* O_PATH: to enter the folder is right enough, nobody lists it. */
static int open_folder(struct stat *st, const char *path)
{
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0 && fstat(fd, st) != 0) {
		close(fd);
		return -1;
	}
	return fd;
}

enum err update_folder_open(struct update_folder *f, const char *path)
{
	struct stat st;

	f->path = path;
	f->fd   = open_folder(&st, path);
	if (f->fd < 0)
		return ERR_IO;
	f->device = st.st_dev;
	f->inode  = st.st_ino;
	pthread_rwlock_init(&f->lock, NULL);
	return ERR_OK;
}

void update_folder_close(struct update_folder *f)
{
	pthread_rwlock_destroy(&f->lock);
	close(f->fd);
}

bool update_folder_renew(enum err *e, struct update_folder *f)
{
	struct stat st;
	int         fd = open_folder(&st, f->path), left = fd;

	*e = fd >= 0 ? ERR_OK : ERR_IO;
	if (fd < 0)
		return false;
	pthread_rwlock_wrlock(&f->lock);

	bool other = st.st_dev != f->device || st.st_ino != f->inode;
	if (other) {
		left      = f->fd;
		f->fd     = fd;
		f->device = st.st_dev;
		f->inode  = st.st_ino;
	}
	pthread_rwlock_unlock(&f->lock);
	close(left);
	return other;
}

static struct update_mark mark_of(const struct stat *st)
{
	return (struct update_mark){ .device  = st->st_dev,
		                     .inode   = st->st_ino,
		                     .bytes   = st->st_size,
		                     .written = st->st_mtim,
		                     .changed = st->st_ctim };
}

/* Without O_NONBLOCK, opening a pipe would wait for a writer. */
static int open_name(struct update_folder *f, const char *name)
{
	pthread_rwlock_rdlock(&f->lock);

	int fd  = openat(f->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	int why = errno;

	pthread_rwlock_unlock(&f->lock);
	errno = why;
	return fd;
}

static enum err refused(int why)
{
	errno = why;
	return ERR_NOT_FOUND;
}

static bool is_our_trouble(int why)
{
	return why == EMFILE || why == ENFILE || why == ENOMEM || why == EIO || why == EINTR;
}

enum err update_file_open(struct update_file *out, struct update_folder *f, const char *name)
{
	struct stat st;

	if (name[0] == '\0' || name[0] == '.' || strchr(name, '/'))
		return refused(ENOENT);

	int fd = open_name(f, name);
	if (fd < 0)
		return is_our_trouble(errno) ? ERR_IO : ERR_NOT_FOUND;
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return refused(EINVAL);
	}
	out->fd   = fd;
	out->mark = mark_of(&st);
	return ERR_OK;
}

void update_file_close(const struct update_file *file)
{
	close(file->fd);
}

static bool same_time(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool is_same_content(const struct update_mark *a, const struct update_mark *b)
{
	return a->bytes == b->bytes && same_time(a->written, b->written);
}

bool update_mark_is_same(const struct update_mark *a, const struct update_mark *b)
{
	return a->device == b->device && a->inode == b->inode && is_same_content(a, b) &&
	       same_time(a->changed, b->changed);
}

static bool read_whole(int fd, uint64_t at, void *out, size_t len)
{
	char *to = out;

	while (len > 0) {
		ssize_t n = pread(fd, to, len, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		to += n;
		at += (size_t)n;
		len -= (size_t)n;
	}
	return true;
}

ssize_t update_file_read(const struct update_file *file, uint64_t at, void *out, size_t cap)
{
	struct stat st;

	if (!read_whole(file->fd, at, out, cap) || fstat(file->fd, &st) != 0)
		return -1;

	struct update_mark now = mark_of(&st);

	/* Not the time of change: renaming or unlinking it meanwhile is fine. */
	return is_same_content(&now, &file->mark) ? (ssize_t)cap : -1;
}
