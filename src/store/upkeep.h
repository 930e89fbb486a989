/*
 * Days of uptime, as they are kept: a row of uptime_days for each, whose last time is also what the next start compares
 * the clock with. The rules are in uptime_state.h.
 */
#ifndef STORE_UPKEEP_H
#define STORE_UPKEEP_H

#include "store/db.h"

struct upkeep {
	int64_t day;     /* number of the day of uptime that is now */
	bool    trusted; /* things may expire */
};

/*
 * Notes what time it is and the days that began since the last call. Call it at the start, inside a transaction, and
 * every minute or so; always with the clocks read together.
 *
 * Undone with its transaction it loses the days it noted: an error makes things live longer, never shorter.
 */
enum err upkeep_look(struct upkeep *out, struct db *db, int64_t wall_ms, int64_t mono_ms);

/* Whether nothing may be deleted for its age by the wall clock right now. On the connection that writes. */
bool upkeep_doubts_clock(struct db *db);

#endif
