/*
 * Days of uptime and doubts about the clock: sums only; upkeep.c keeps the result.
 */
#include "store/uptime_state.h"

void uptime_init(struct uptime *u)
{
	*u = (struct uptime){ 0 };
}

/* From now on the clock is measured against what it says at this moment. */
static void doubt(struct uptime *u, int64_t wall_ms, int64_t mono_ms)
{
	u->doubted         = true;
	u->doubted_mono_ms = mono_ms;
	u->wall_ms         = wall_ms;
	u->mono_ms         = mono_ms;
}

static void start(struct uptime *u, int64_t wall_ms, int64_t mono_ms, int64_t kept_ms)
{
	*u = (struct uptime){ .started = true, .wall_ms = wall_ms, .mono_ms = mono_ms, .day_mono_ms = mono_ms };
	if (kept_ms != UPTIME_NEVER && wall_ms < kept_ms - UPTIME_DAY_MS)
		doubt(u, wall_ms, mono_ms);
}

static bool is_old_day(int64_t wall_ms)
{
	return wall_ms < UPTIME_OLDEST_WALL_MS;
}

/* A clock that is never set shows an old day for ever: only the change to it is news. */
static bool has_jumped(const struct uptime *u, int64_t wall_ms, int64_t mono_ms)
{
	int64_t off_ms = wall_ms - (u->wall_ms + (mono_ms - u->mono_ms));

	return off_ms > UPTIME_DAY_MS || off_ms < -UPTIME_DAY_MS || (is_old_day(wall_ms) && !u->was_old);
}

static void judge_clock(struct uptime *u, int64_t wall_ms, int64_t mono_ms)
{

	if (u->doubted && mono_ms - u->doubted_mono_ms >= UPTIME_DAY_MS)
		u->doubted = false;
	if (has_jumped(u, wall_ms, mono_ms))
		doubt(u, wall_ms, mono_ms);
	u->was_old = is_old_day(wall_ms);
}

bool uptime_doubts(const struct uptime *u, int64_t wall_ms, int64_t mono_ms)
{
	return u->started && (u->doubted || has_jumped(u, wall_ms, mono_ms));
}

/* The number of the calendar day; times before 1970 need rounding down, not towards zero. */
static int64_t calendar_day(int64_t wall_ms)
{
	int64_t day = wall_ms / UPTIME_DAY_MS;

	return wall_ms % UPTIME_DAY_MS < 0 ? day - 1 : day;
}

static int64_t count_days(struct uptime *u, int64_t wall_ms, int64_t mono_ms, int64_t day_ms)
{
	int64_t days = (mono_ms - u->day_mono_ms) / UPTIME_DAY_MS;

	if (days > 0) {
		u->day_mono_ms += days * UPTIME_DAY_MS;
	} else if (day_ms == UPTIME_NEVER || (!u->doubted && calendar_day(wall_ms) > calendar_day(day_ms))) {
		u->day_mono_ms = mono_ms;
		days           = 1;
	}
	return days > UPTIME_DAYS_MAX ? UPTIME_DAYS_MAX : days;
}

struct uptime_answer uptime_on_look(struct uptime *u, int64_t wall_ms, int64_t mono_ms, int64_t kept_ms, int64_t day_ms)
{
	if (!u->started)
		start(u, wall_ms, mono_ms, kept_ms);
	judge_clock(u, wall_ms, mono_ms);

	int64_t days = count_days(u, wall_ms, mono_ms, day_ms);

	return (struct uptime_answer){ .days = days, .trusted = !u->doubted };
}
