/*
 * coopd --verify-blobs: reads every blob that a row names, under the lock of the data folder.
 */
#ifndef STORE_BLOB_VERIFY_H
#define STORE_BLOB_VERIFY_H

#include "base/err.h"
#include "store/store.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct blob_verified {
	int64_t checked, damaged;
	int64_t bytes; /* read */
};

/*
 * Compares size and hash of each with its row; a line for each that is damaged goes to report: the hash, what is wrong, and
 * the campaigns that need it. The store is open and not started. ERR_STORE, ERR_NOMEM: it did not come to the end.
 */
enum err blob_verify(struct blob_verified *out, struct store *s, FILE *report);

/* All of it: opens the store as a start does, verifies, and ends with a sentence. The exit status: 0 when all is right, else 1. */
int blob_verify_main(const struct conf *conf, FILE *out);

#endif
