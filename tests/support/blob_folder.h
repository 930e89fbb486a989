/*
 * Blobs for tests of the store: small ones, told apart by a number, and the rows that name them.
 */
#ifndef TESTS_BLOB_FOLDER_H
#define TESTS_BLOB_FOLDER_H

#include "store/blob.h"
#include "store/db.h"
#include "store/store.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/* The content of blob n, ended by a NUL; its hash; its path below the test's folder. */
const char    *blob_text(int n);
const uint8_t *blob_hash(int n);
const char    *blob_path(int n);

bool blob_is_there(int n);

/* Runs it in a durable job and waits; ends the test when the store does not take it. Through its result. */
enum err blob_in_job(struct store *s, enum err (*run)(struct db *db, void *arg), void *arg);

/* A finished writer with the content of blob n. */
void blob_write(struct blob_writer *w, struct store *s, int n);

/*
 * Each in a job of its own: writes, takes and names blob n by a row of checkpoints; removes that row and lets go.
 * Outside of production a checkpoint has more to it, but this is all that blobs know.
 */
enum err blob_store(struct store *s, int n);
enum err blob_forget(struct store *s, int n);

/* The same inside a job, or between opening and starting a store. */
void blob_name(struct db *db, int n);
void blob_unname(struct db *db, int n);

/* A file in the blob folder that no row names. */
void blob_put_stranger(int n);

/* Waits until the file is there, or is not. */
bool blob_await(int n, bool there);

#endif
