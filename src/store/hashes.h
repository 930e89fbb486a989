/*
 * A growing list of blobs' hashes.
 */
#ifndef STORE_HASHES_H
#define STORE_HASHES_H

#include "base/err.h"
#include "store/blob.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hashes {
	uint8_t (*list)[BLOB_HASH_BYTES]; /* from malloc */
	size_t count, cap;
};

/* ERR_NOMEM; the list is unchanged then. */
enum err hashes_add(struct hashes *h, const uint8_t hash[BLOB_HASH_BYTES]);

/* In order, each once. */
void hashes_sort(struct hashes *h);

/* Frees what the list holds; also for AUTO. */
void hashes_fini(struct hashes *h);

#endif
