/*
 * coopd --restore SRC: a backup (backup.h) takes the place of what is in the data folder, or of nothing.
 *
 *	find the database in SRC -> copy it to data/.restore and check it -> check every blob that it names, copy those that the data
 *	folder lacks -> clear what lived -> sync -> marker -> moves (restore_move.h)
 *
 * Nothing of the data folder changes before all of it was found good. From the marker on the restore always comes to its end,
 * if not now then at the next start. Blobs that the restored database does not name stay where they are; the database and the
 * secrets from before go below copies/.
 */
#ifndef STORE_RESTORE_H
#define STORE_RESTORE_H

#include "conf/conf.h"

#include <stdbool.h>
#include <stdio.h>

/* How it ended, and the status of the process. */
enum restore_exit {
	RESTORE_DONE       = 0,
	RESTORE_REFUSED    = 1, /* and nothing was changed */
	RESTORE_INCOMPLETE = 3, /* done in spite of damage, which was listed; only with take_damaged */
	RESTORE_UNFINISHED = 4  /* the moves began and could not end: the next start, or restore, goes on */
};

/*
 * src: the folder of a backup, or one of the databases in it. take_damaged: what is damaged in the backup, apart from the
 * database's own structure, is left out and listed instead of refused. What was done goes to out, why not to report; both may
 * be the same. Progress is shown on report when that is a terminal.
 */
enum restore_exit restore_run(const struct conf *conf, const char *src, bool take_damaged, FILE *out, FILE *report);

#endif
