/*
 * The folder of update files, held open, and the files in it.
 *
 * Names are looked up below the open folder and never by path, so that no name leads out of it, whatever is renamed or
 * linked meanwhile.
 */
#ifndef UPDATE_UPDATE_FOLDER_H
#define UPDATE_UPDATE_FOLDER_H

#include "base/err.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

struct update_folder {
	const char      *path;
	pthread_rwlock_t lock; /* guards from here */
	int              fd;
	dev_t            device;
	ino_t            inode;
};

/* Whether a file is still the one it was, as far as the system can say. All zero: no file. */
struct update_mark {
	dev_t           device;
	ino_t           inode;
	off_t           bytes;
	struct timespec written, changed;
};

struct update_file {
	int                fd;
	struct update_mark mark;
};

/* ERR_IO with errno set: the folder cannot be opened. path must outlive it. */
enum err update_folder_open(struct update_folder *f, const char *path);
void     update_folder_close(struct update_folder *f); /* of one that was opened */

/*
 * Takes the folder that the path leads to by now, if it is another. True: it was. *e is ERR_IO, with errno set, when there is
 * none that can be opened; the held one stays then. Any thread.
 */
bool update_folder_renew(enum err *e, struct update_folder *f);

/*
 * Opens a regular file directly in the folder, for update_file_close. ERR_NOT_FOUND: there is none of this name, it is
 * something else (a link, a folder, a pipe, a device), it may not be read, or the name begins with a dot or has a slash.
 * ERR_IO: the system cannot open it now. errno says more of both. Never waits for another process. Any thread.
 */
enum err update_file_open(struct update_file *out, struct update_folder *f, const char *name);
void     update_file_close(const struct update_file *file);

bool update_mark_is_same(const struct update_mark *a, const struct update_mark *b);

/* Reads cap bytes at this place; -1 when there are fewer, or when the file is no longer what it was when opened. */
ssize_t update_file_read(const struct update_file *file, uint64_t at, void *out, size_t cap);

#endif
