/*
 * The end of a restore: what was verified and lies ready takes the place of what is there. From the marker on it always comes
 * to its end, by whoever opens the data folder next.
 *
 *	.restore/coop.db	the database; the last thing that moves
 *	.restore/secrets	moves to secrets; may be missing
 *	.restore/store-id	moves to blobs/store-id
 *	.restore/blobs/ab/...	move to blobs/ab/...
 *	.restore/ready		the marker: all of it is whole and synced. It holds a name, of the folder below copies/ into which
 *				database and secrets from before go. Without it .restore is a leftover
 *	.restored		a note for the next start: its database was restored, so it doubts what lies in the blob folder
 */
#ifndef STORE_RESTORE_MOVE_H
#define STORE_RESTORE_MOVE_H

#include "base/err.h"

#include <stdbool.h>
#include <stdio.h>

#define RESTORE_FOLDER     ".restore"
#define RESTORE_NAME_BYTES 64

/* Writes the marker. From here on there is no way back. ERR_IO, with a sentence in report; nothing is changed then. */
enum err restore_mark(const char *data, const char *kept_name, FILE *report);

/*
 * With a marker: does what is left of the moves (*ended true). Without: removes what an interrupted restore left. Under the
 * folder's lock, before anything of it is opened. ERR_IO, with a sentence in report: the next call goes on where this ended.
 * ERR_INVALID, the same: .restore is a link or a file, which is left alone.
 */
enum err restore_finish(bool *ended, const char *data, FILE *report);

/* Whether there is a marker: what else lies in the data folder is of no use until the restore has ended. */
bool restore_is_due(const char *data);

/* Whether the database was restored since the last start; the note is gone then. */
bool restore_take_note(const char *data);

#endif
