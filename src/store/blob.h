/*
 * Blobs: files named by their SHA-256 below blobs/, written once, never changed.
 *
 *	blobs/ab/cdef...	the blob abcdef...
 *	blobs/.tmp/		being written
 *	blobs/.trash/		named by no row; goes after cloud.orphan_days of uptime
 *
 * A blob comes about in this order, and no durable answer is given before its end: written under a temporary name and
 * hashed on the way, its data synced (struct blob_writer, any thread that may touch files); then on the store thread,
 * within one batch: renamed (over a file of the same name), its folder synced, the rows that name it committed.
 *
 * It goes in this order: the commit that removes the last row that names it also notes its hash as garbage; later, when
 * the store has nothing better to do and a second look finds still no row, the file is unlinked and the note removed.
 * Blobs that the kept migration copies of the database name stay as long as those copies.
 */
#ifndef STORE_BLOB_H
#define STORE_BLOB_H

#include "base/err.h"
#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BLOB_HASH_BYTES     32
#define BLOB_TMP_NAME_BYTES 40

/* --- Any thread that may touch files; one thread at a time per writer --- */

struct blob_writer {
	struct store       *store;
	struct hash_stream *hash; /* crypt/hash_stream.h */
	int                 fd;   /* -1: not open */
	uint64_t            bytes;
	enum err            failed;                   /* the first failure; all later calls return it */
	bool                taken;                    /* blob_take renamed it: nothing is left to remove */
	char                tmp[BLOB_TMP_NAME_BYTES]; /* name in blobs/.tmp */
	uint8_t             sha256[BLOB_HASH_BYTES];  /* once blob_writer_finish was ERR_OK */
};

/* Makes the temporary file. ERR_SPACE: below the floor or disk full; ERR_IO, ERR_NOMEM; *w is closed then. */
enum err blob_writer_open(struct blob_writer *w, struct store *s);

/* Appends. ERR_SPACE, ERR_IO. */
enum err blob_writer_put(struct blob_writer *w, const void *bytes, size_t len);

/* The hash is complete and the data is synced; the file is closed. A failed sync is final: the file is removed. */
enum err blob_writer_finish(struct blob_writer *w);

/* Closes, and removes the temporary file unless it was taken. Also fine for one that was never opened ({0} with fd -1). */
void blob_writer_fini(struct blob_writer *w);

/* Opens a blob for reading. ERR_NOT_FOUND: no such file; ERR_IO. *bytes is the size of the file. */
enum err blob_open(int *fd, uint64_t *bytes, struct store *s, const uint8_t hash[BLOB_HASH_BYTES]);

/* A blob turned out to be missing or damaged: logged and counted (once per blob and hour), /healthz is not changed. */
void blob_report_damaged(struct store *s, const uint8_t hash[BLOB_HASH_BYTES], const char *what);

/* --- Inside a job --- */

/*
 * Renames the finished temporary file to its blob's name, has its folder synced before the batch commits (a failed
 * sync fails the batch), and notes the blob's row; garbage notes of the same hash go. ERR_IO, ERR_SPACE.
 */
enum err blob_take(struct db *db, struct blob_writer *w);

/* The last row that names the hash may have gone: if so it becomes garbage. */
enum err blob_let_go(struct db *db, const uint8_t hash[BLOB_HASH_BYTES]);

#endif
