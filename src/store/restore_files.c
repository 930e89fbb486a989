#include "base/auto.h"
#include "crypt/hash_stream.h"
#include "os/file.h"
#include "store/restore_inside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPY_BYTES 262144

static void close_fd(const int *fd)
{
	int why = errno;

	if (*fd >= 0)
		close(*fd);
	errno = why;
}

static void free_hash(struct hash_stream **h)
{
	hash_stream_free(*h);
}

static bool put(int fd, const uint8_t *bytes, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, bytes, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		bytes += n;
		len -= (size_t)n;
	}
	return true;
}

/* Until the end of from. */
static enum restore_copied pump(struct hash_stream *h, int64_t *bytes, int from, int to, uint8_t *buf)
{
	for (;;) {
		ssize_t n = read(from, buf, COPY_BYTES);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return RESTORE_UNREADABLE;
		if (n == 0)
			return RESTORE_COPIED;
		hash_stream_add(h, buf, (size_t)n);
		*bytes += n;
		if (to >= 0 && !put(to, buf, (size_t)n))
			return RESTORE_NOT_WRITTEN;
	}
}

/* A pipe would keep us waiting. */
static enum restore_copied open_source(int *out, const char *path)
{
	struct stat st;
	int         fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0)
		return errno == ENOENT ? RESTORE_MISSING : RESTORE_UNREADABLE;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		*out = fd;
		return RESTORE_COPIED;
	}
	close(fd);
	errno = EINVAL;
	return RESTORE_UNREADABLE;
}

enum restore_copied restore_copy(uint8_t hash[BLOB_HASH_BYTES], int64_t *bytes, const char *from, const char *to)
{
	AUTO(close_fd) int                  in = -1, out = -1;
	AUTO(free_hash) struct hash_stream *h   = hash_stream_new();
	AUTO(auto_free) uint8_t            *buf = malloc(COPY_BYTES);
	enum restore_copied                 c;

	*bytes = 0;
	if (!h || !buf)
		return RESTORE_NO_MEMORY;
	c = open_source(&in, from);
	if (c != RESTORE_COPIED)
		return c;
	if (to) {
		out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (out < 0)
			return RESTORE_NOT_WRITTEN;
	}
	c = pump(h, bytes, in, out, buf);
	if (c != RESTORE_COPIED)
		return c;
	hash_stream_end(hash, h);
	return to && fsync(out) != 0 ? RESTORE_NOT_WRITTEN : RESTORE_COPIED;
}

enum err restore_check_space(struct restore *r, uint64_t bytes)
{
	uint64_t free_bytes, floor_bytes = (uint64_t)r->conf->limits.store_free_floor;

	if (file_free_bytes(&free_bytes, r->data) != ERR_OK)
		return restore_refuse(r, ERR_IO, "the file system of %s does not say how much room it has: %s", r->data,
		                      strerror(errno));
	if (free_bytes >= bytes + floor_bytes)
		return ERR_OK;
	return restore_refuse(r, ERR_SPACE,
	                      "there is not enough room in %s: %llu bytes are to be written, limits.store_free_floor "
	                      "keeps %llu free, and %llu are there. Make room, or choose another folder with --data",
	                      r->data, (unsigned long long)bytes, (unsigned long long)floor_bytes,
	                      (unsigned long long)free_bytes);
}
