/*
 * Files: the few things coopd does with them besides the database. None of these is for the loop thread.
 */
#ifndef OS_FILE_H
#define OS_FILE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Makes the folder and those above it that are missing, all with this mode. ERR_IO with errno set. */
enum err file_make_dirs(const char *path, mode_t mode);

/* Whole content of a file that is no pipe, ended by a NUL that *len does not count, for free(). ERR_NOT_FOUND, ERR_TOO_BIG, ERR_IO, ERR_NOMEM. */
enum err file_read(char **out, size_t *len, const char *path, size_t max);

/* Written under a temporary name beside it, synced, renamed, folder synced: the old or the new content, never a mix. */
enum err file_write(const char *path, const void *data, size_t len, mode_t mode);

enum err file_sync_dir(const char *path);

/* Free bytes for us on the file system of path; ERR_IO. */
enum err file_free_bytes(uint64_t *out, const char *path);

/*
 * Takes the lock of a data folder: an flock on DIR/lock, which then holds our process id.
 * ERR_HELD: another process has it, *holder is its id (0 when unknown). ERR_IO. The lock lives until file_unlock or the
 * process's end.
 */
enum err file_lock(int *fd, const char *dir, pid_t *holder);
void     file_unlock(int fd);

/* Who has it now; 0: nobody, or it cannot be found out. Makes nothing. */
pid_t file_lock_holder(const char *dir);

#endif
