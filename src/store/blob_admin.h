/*
 * Blobs as operators see them, and their sweep. For threads that may wait and touch files.
 */
#ifndef STORE_BLOB_ADMIN_H
#define STORE_BLOB_ADMIN_H

#include "base/err.h"
#include "store/store.h"

#include <stdbool.h>
#include <stdint.h>

struct blob_figures {
	int64_t blobs, bytes;       /* that rows speak of */
	int64_t garbage;            /* that no row names any more, and that will go */
	int64_t trash, trash_bytes; /* files in blobs/.trash */
	bool    known;              /* as store_blobs_are_known */
	int64_t missing;            /* rows without their file; -1: no check came to its end in this run */
};

/* ERR_BUSY, ERR_STORE, ERR_IO. */
enum err blob_look(struct blob_figures *out, struct store *s);

/*
 * Moves to the trash whatever no row names, and waits for the end of it; count: says only how much that would be. goes_on is
 * asked several times a second whether to wait still (else ERR_DRAINING; what was begun goes on). ERR_EXISTS: a check, or
 * another sweep, is under way.
 */
struct blob_sweep {
	bool    count;
	int64_t moved, bytes;
};
enum err blob_sweep(struct blob_sweep *sweep, struct store *s, bool (*goes_on)(void *arg), void *arg);

#endif
