/*
 * Backups by the clock, backup.every, on a thread of their own: into the folder "scheduled" below backup.dir.
 */
#ifndef STORE_BACKUP_CLOCK_H
#define STORE_BACKUP_CLOCK_H

#include "store/backup.h"

#include <stdint.h>

#define BACKUP_SCHEDULED "scheduled"

struct backup_clock;

/* Reads in the folder when the last one was. NULL when out of memory, or dir is too long. */
struct backup_clock *backup_clock_new(struct backup *b, const char *dir, int64_t every_ms);

/* Once the store runs. ERR_NOMEM. */
enum err backup_clock_start(struct backup_clock *c);

/* Looks at the clock now: after the test clock was moved. Any thread. */
void backup_clock_poke(struct backup_clock *c);

/* Waits for the thread: call backup_stop before, which ends a backup under way. NULL is fine. */
void backup_clock_free(struct backup_clock *c);

#endif
