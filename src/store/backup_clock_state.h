/*
 * When the next backup of a schedule is due. Between backups time is monotonic; over a restart only the wall clock knows how
 * long ago the last one was, and a clock that was set wrong can make it wait one interval at most, never longer.
 *
 *	start --(what is left of the interval, but not at once)--> due --good--> an interval later
 *	                                                            \--failed--> an hour later, or an interval if that is shorter
 *	                                                             \--another one runs--> soon
 */
#ifndef STORE_BACKUP_CLOCK_STATE_H
#define STORE_BACKUP_CLOCK_STATE_H

#include <stdint.h>

#define BACKUP_START_MS 60000   /* first the players come back */
#define BACKUP_RETRY_MS 3600000 /* after a failed one */
#define BACKUP_BUSY_MS  10000

/* How long to wait after a start. last_ms: when the last one began, by the wall clock; 0: there was none. */
int64_t backup_wait_first(int64_t every_ms, int64_t wall_ms, int64_t last_ms);

/* The same from when one began that took so long, by how it ended. */
enum backup_ended { BACKUP_GOOD, BACKUP_FAILED, BACKUP_BUSY };
int64_t backup_wait_next(int64_t every_ms, enum backup_ended how, int64_t took_ms);

#endif
