/*
 * Looks, in the background, whether rows and blobs fit each other. It removes nothing that a row might need:
 *
 *	a row without its file, or with one of another size	brought back from the trash when it is there, else reported
 *	a file that no row names				moved to blobs/.trash, unless that would be suspiciously many
 *	a file in the trash for so many days of uptime		removed
 *
 * Before that it reads which blobs the kept copies of the database name; until then no garbage is removed either.
 *
 * An operator's sweep does the same, but moves whatever no row names however much that is and whosever it was: he was asked.
 * Files and database belong together from then on. It removes nothing, either.
 *
 * What it finds in the folder it only suspects: the store thread, which does every renaming, takes a second look.
 */
#ifndef STORE_BLOB_CHECK_H
#define STORE_BLOB_CHECK_H

#include "conf/limits.h"
#include "store/blob_folder.h"
#include "store/store.h"

#include <stdbool.h>
#include <stdint.h>

struct blob_check;

struct blob_check_rules {
	struct store *store;
	struct blobs *blobs;
	const char   *copies; /* their folder */
	int64_t       sweep_percent, sweep_few;
	int64_t       orphan_days; /* of uptime, in the trash */
};

/* NULL when out of memory. The strings are copied. */
struct blob_check *blob_check_new(const struct blob_check_rules *rules);

/*
 * Starts a thread of its own that does all of it, or (whole false) only empties the trash. trusted: things may expire.
 * Nothing happens while one is under way. On the thread that starts or stops the store, or the store's own.
 */
void blob_check_start(struct blob_check *c, bool whole, bool trusted);

bool blob_check_is_busy(const struct blob_check *c);

/*
 * Starts a sweep; count: only sees what it would move. ERR_EXISTS: something is under way; ERR_DRAINING: the store stops. On
 * the store's own thread.
 */
enum err blob_check_sweep(struct blob_check *c, bool count);

/* Waits until nothing is under way, at most ms. Any thread. Whether that is so. */
bool blob_check_wait(struct blob_check *c, int64_t ms);

/* What was found last; missing -1: no check of all came to its end in this run. Any thread. */
struct blob_found {
	int64_t  missing;      /* rows without their file, or with one of a wrong size */
	enum err result;       /* of the last sweep */
	int64_t  moved, bytes; /* by the last sweep, or to be moved */
};
struct blob_found blob_check_found(struct blob_check *c);

/* Ends it early; while the store's jobs run still. */
void blob_check_stop(struct blob_check *c);

/* After the store's jobs have ended. NULL is fine. */
void blob_check_free(struct blob_check *c);

#endif
