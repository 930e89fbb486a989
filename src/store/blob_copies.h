/*
 * Which blobs the kept copies of the database need, so that going back to one finds its checkpoints.
 */
#ifndef STORE_BLOB_COPIES_H
#define STORE_BLOB_COPIES_H

#include "base/err.h"
#include "store/hashes.h"

#include <stdatomic.h>
#include <stdbool.h>

/* Whether the folder has any copy from before a migration. */
bool blob_copies_any(const char *folder);

/*
 * Adds what the copies from before migrations name, sorted. Touches files; ends early with ERR_CLOSED once *stop is set.
 * ERR_STORE, ERR_IO: a copy could not be read, logged; ERR_NOMEM. out needs hashes_fini either way.
 */
enum err blob_copies_read(struct hashes *out, const char *folder, atomic_bool *stop);

/* The same of one file, and not sorted. */
enum err blob_copies_read_one(struct hashes *out, const char *folder, const char *name, const atomic_bool *stop);

#endif
