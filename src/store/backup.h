/*
 * Backups of a running server: one state of the database, every blob that it names, and the secrets, in a folder of their own.
 *
 *	DEST/backup.json	what this is, and which databases count; written last, so that a folder with one is whole
 *	DEST/coop-TIME.db	the database, as it was at one moment between begin and end; the last backup.keep stay
 *	DEST/blobs/ab/cdef...	as in the data folder, for all of these databases; those that are there from the backup before are
 *				not copied again
 *	DEST/secrets		what the server made up for itself
 *
 * Every blob is hashed on the way and read back after it was synced. One that is damaged in the data folder is left out,
 * reported and counted. While a backup runs, the store removes no blob.
 */
#ifndef STORE_BACKUP_H
#define STORE_BACKUP_H

#include "base/err.h"
#include "store/store.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BACKUP_PROBLEM_BYTES 256

struct backup;

/* kept: databases that stay in one folder, the newest. NULL when out of memory. The store must outlive it. */
struct backup *backup_new(struct store *s, int64_t kept);
void           backup_free(struct backup *b); /* none is under way; NULL is fine */

struct backup_state {
	bool     is_running;
	char     dest[PATH_MAX];     /* "" : there was none since the start */
	int64_t  began_ms, ended_ms; /* wall; ended_ms 0: it has not */
	enum err result;             /* once it ended */
	int64_t  database_bytes;
	int64_t  blobs, blobs_done; /* that the database names; looked at up to now */
	int64_t  blobs_copied, bytes_copied, damaged;
	int64_t last_good_ms; /* wall: the end of the last good one, also of runs before when there is a schedule; 0: not known */
	int64_t every_ms; /* backup.every; 0: only when somebody asks */
};

/* The one under way, or the last. Any thread. */
void backup_look(struct backup_state *out, struct backup *b);

/*
 * Makes one, on this thread, which it keeps busy for as long as it takes. dest is absolute; it is made when missing, and
 * otherwise must be empty or hold a backup of this very store, which is brought up to date. *out is how it ended.
 *
 * ERR_HELD: one is under way. ERR_EXISTS: dest holds something else. ERR_INVALID: dest lies in the data folder or is no
 * absolute path. ERR_SPACE: what is to be copied and limits.store_free_floor do not fit. ERR_CLOSED: backup_stop.
 * ERR_IO, ERR_STORE, ERR_NOMEM. A sentence for people is in problem.
 */
enum err backup_make(struct backup_state *out, struct backup *b, const char *dest, char problem[BACKUP_PROBLEM_BYTES]);

/* The same by the clock: also what is refused is told to operators. ERR_HELD and ERR_CLOSED are not. */
enum err backup_make_scheduled(struct backup *b, const char *dest, char problem[BACKUP_PROBLEM_BYTES]);

/* What the schedule is, and what it found; before anybody else uses b. */
void backup_note_schedule(struct backup *b, int64_t every_ms, int64_t last_good_ms);

/* Checks dest as backup_make would, and changes nothing. */
enum err backup_try(struct backup *b, const char *dest, char problem[BACKUP_PROBLEM_BYTES]);

/* Ends the one under way soon, and refuses others. Any thread. */
void backup_stop(struct backup *b);

#endif
