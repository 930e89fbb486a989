/*
 * What the files of src/store need of the store, and nobody else.
 */
#ifndef STORE_INSIDE_H
#define STORE_INSIDE_H

#include "store/store.h"

struct blob_check;
struct blobs;
struct readers;

struct blobs      *store_blobs(const struct store *s);
struct readers    *store_readers(const struct store *s);
struct blob_check *store_blob_check(const struct store *s);
const char        *store_folder(const struct store *s);   /* the data folder */
const char        *store_database(const struct store *s); /* path of coop.db */
uint64_t           store_free_floor(const struct store *s);

/* From now on this database and these blobs belong together: an operator said so. Any thread but the loop's. ERR_IO, logged. */
enum err store_own_blobs(struct store *s);

#endif
