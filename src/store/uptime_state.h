/*
 * Which days count as days of uptime, and whether the wall clock can be believed. Told what the clocks say; answers how
 * many days to note and whether anything may expire.
 *
 * A day of uptime begins when the calendar (UTC) shows a later day than the last one noted, or when this process ran
 * for 24 hours since it last began one: on a machine with a sound clock both come to the same. A clock that cannot be
 * believed makes no calendar days; the 24 hours, which no clock setting moves, still count.
 *
 * The clock is doubted when it
 *
 *	- stands more than a day before the last time that was kept (by an earlier run),
 *	- moved by more than a day against the monotonic clock while this process ran, or
 *	- shows a day before this program was written, seen at the start or after running fine,
 *
 * and trusted again after 24 hours in which it did not jump. A clock that is far ahead at the start is believed: a
 * machine may have been off for months, and nothing here can tell the difference. It need not: whatever expires is
 * counted in days of uptime, of which a start adds one at most.
 */
#ifndef STORE_UPTIME_STATE_H
#define STORE_UPTIME_STATE_H

#include <stdbool.h>
#include <stdint.h>

#define UPTIME_DAY_MS   INT64_C(86400000)
#define UPTIME_DAYS_MAX 400 /* noted at one look: a process that slept longer than a year is no reason to delete */

/*
 * 2026-11-01: no sound clock shows an earlier day. Written here rather than taken from the compiler, so that the same
 * source makes the same program; move it forward with releases.
 */
#define UPTIME_OLDEST_WALL_MS INT64_C(1793491200000)

#define UPTIME_NEVER INT64_MIN /* as a time: there is none */

struct uptime {
	bool    started;
	bool    doubted;
	int64_t wall_ms, mono_ms; /* read together at the start, or when the clock last jumped */
	int64_t doubted_mono_ms;  /* since when */
	int64_t day_mono_ms;      /* when this process last began a day of uptime */
	bool    was_old;          /* at the last look the wall clock showed a day before UPTIME_OLDEST_WALL_MS */
};

struct uptime_answer {
	int64_t days;    /* to note, at most UPTIME_DAYS_MAX */
	bool    trusted; /* things may expire */
};

/* Forgets everything: the next look is the first. */
void uptime_init(struct uptime *u);

/*
 * kept_ms: the last time that was kept; only the first look asks for it. day_ms: when the last day of uptime was noted.
 * Both wall clock, both UPTIME_NEVER when there is none.
 */
struct uptime_answer uptime_on_look(struct uptime *u, int64_t wall_ms, int64_t mono_ms, int64_t kept_ms,
                                    int64_t day_ms);

/*
 * Whether the clock is doubted, or would be at a look now: for what deletes by the wall clock between two looks. False
 * before the first.
 */
bool uptime_doubts(const struct uptime *u, int64_t wall_ms, int64_t mono_ms);

#endif
