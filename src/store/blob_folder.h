/*
 * The blob folder as the store thread has it: what was renamed in the batch under way and must be synced before its
 * commit, what turned out to be in vain, and what is garbage. The life of a blob stands in blob.h.
 *
 * Functions are for the store thread unless they say otherwise. One struct belongs to a store and is found through its
 * database (db_blobs).
 */
#ifndef STORE_BLOB_FOLDER_H
#define STORE_BLOB_FOLDER_H

#include "base/err.h"
#include "store/blob.h"
#include "store/db.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BLOB_HELPING 16 /* files renamed or removed at once by what can wait */

#define BLOB_TRASH_NAME_BYTES (20 + 1 + 2 * BLOB_HASH_BYTES + 1)

struct blobs;

/* root: the folder blobs, which is there. known: as store_blobs_are_known. NULL when out of memory. */
struct blobs *blobs_new(const char *root, bool known);
void          blobs_free(struct blobs *b); /* NULL is fine */

/* --- Any thread --- */

/* Where a blob lies, or would. ERR_IO when the name is too long. */
enum err blobs_path(char out[PATH_MAX], const struct blobs *b, const uint8_t hash[BLOB_HASH_BYTES]);

/* blobs/.tmp/NAME, blobs/.trash/NAME, blobs/NAME. */
enum err blobs_tmp_path(char out[PATH_MAX], const struct blobs *b, const char *name);
enum err blobs_trash_path(char out[PATH_MAX], const struct blobs *b, const char *name);
enum err blobs_folder_path(char out[PATH_MAX], const struct blobs *b, const char *name);

/* The file is there, a regular one, and of that size; -1: of any. */
bool blobs_has(const struct blobs *b, const uint8_t hash[BLOB_HASH_BYTES], int64_t bytes);

bool blobs_are_known(const struct blobs *b);
void blobs_set_known(struct blobs *b); /* an operator said so */

/* ERR_SPACE when the disk is full, else ERR_IO, logged. */
enum err blobs_io_error(const char *what, const char *path, int why);

/*
 * Whether the last blob that was written could not be, within the last minute: so that /healthz says it, and a server that
 * is sent no more players because of it gets them back. Any thread.
 */
void blobs_set_failing(struct blobs *b, bool failing);
bool blobs_are_failing(const struct blobs *b);

/* Whether blob_report_damaged is to say it: not when it did so within the hour. */
bool blobs_note_report(struct blobs *b, const uint8_t hash[BLOB_HASH_BYTES], int64_t mono_ms);

/* While anybody keeps them (keep true, once each, then false), nothing is removed or moved to the trash. */
void blobs_keep(struct blobs *b, bool keep);

/* The day of uptime that is now, for the names in the trash. */
void    blobs_set_day(struct blobs *b, int64_t day);
int64_t blobs_day(const struct blobs *b);

/*
 * Blobs that copies of the database name; sorted, the array is b's from then on. Until this was called nothing is
 * removed. Once only.
 */
void blobs_hold(struct blobs *b, uint8_t (*hashes)[BLOB_HASH_BYTES], size_t count);
bool blobs_are_held(const struct blobs *b);                                   /* blobs_hold was called */
bool blobs_holds(const struct blobs *b, const uint8_t hash[BLOB_HASH_BYTES]); /* true before blobs_hold, too */

/* --- In a job --- */

/* Renames blobs/.tmp/NAME (from a path of blobs_tmp_path or blobs_trash_path) to the blob's name; synced with the batch. */
enum err blobs_take(struct blobs *b, const char *from, const uint8_t hash[BLOB_HASH_BYTES]);

/* Moves it to the trash. ERR_NOT_FOUND, ERR_IO; ERR_BUSY: somebody keeps them. */
enum err blobs_trash(struct blobs *b, const uint8_t hash[BLOB_HASH_BYTES]);

/* There may be garbage: look. */
void blobs_note_garbage(struct blobs *b);

/* --- Around a batch --- */

/* Syncs the folders into which the batch renamed. A failed sync is final: noted in the database's connection. */
enum err blobs_before_commit(struct blobs *b, struct db *db);

/* After a batch, whatever became of it: files that no row names because their job or the batch failed go again. */
void blobs_after_batch(struct blobs *b, struct db *db);

/*
 * Removes a helping of garbage, in a transaction of its own. Only when nobody waits for the store. Whether there may be
 * more. What is noted while this looks through the notes is looked at in the next pass; what could not go (held back, or
 * the disk said no) again after ten minutes.
 */
bool blobs_remove_garbage(struct blobs *b, struct db *db);

#endif
