/*
 * The files of a backup: blobs copied, compared and removed. For backup.c.
 */
#ifndef STORE_BACKUP_FILES_H
#define STORE_BACKUP_FILES_H

#include "base/err.h"
#include "store/blob.h"
#include "store/hashes.h"
#include "store/store.h"

#include <stdbool.h>
#include <stdint.h>

/* Whether dest has the blob, of the size that it has in the store, which is *bytes (0 when it is missing there). */
bool backup_has_blob(uint64_t *bytes, struct store *s, const char *dest, const uint8_t hash[BLOB_HASH_BYTES]);

/*
 * Copies it: hashed on the way, synced, read back. ERR_DAMAGED: the store's own is missing or damaged, which was reported;
 * ERR_IO, ERR_SPACE, ERR_NOMEM, logged. Nothing half is left under its name.
 */
enum err backup_copy_blob(uint64_t *bytes, struct store *s, const char *dest, const uint8_t hash[BLOB_HASH_BYTES]);

/* Syncs the folders of dest/blobs. */
enum err backup_sync_blobs(const char *dest);

/* Removes the files below dest/blobs that are named like blobs and are not in the list, which is sorted. */
void backup_remove_blobs(const char *dest, const struct hashes *needed);

/* data/secrets, mode 0600; fine when there is none. */
enum err backup_copy_secrets(struct store *s, const char *dest);

/* The same with the list of forgotten players. */
enum err backup_copy_forgotten(struct store *s, const char *dest);

enum err backup_hash_file(uint8_t out[BLOB_HASH_BYTES], const char *path);

#endif
