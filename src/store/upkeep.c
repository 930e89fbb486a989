/*
 * Keeps what uptime_state.h decides.
 */
#include "store/upkeep.h"

#include "os/clock.h"
#include "os/log.h"

struct last {
	int64_t day, first_ms, last_ms;
};

static enum err find_last(struct last *out, struct db *db)
{
	AUTO_QUERY q = db_query(db, Q_UPTIME_LAST);
	enum err   e = q_row(&q);

	*out = (struct last){ .day = 0, .first_ms = UPTIME_NEVER, .last_ms = UPTIME_NEVER };
	if (e == ERR_NOT_FOUND)
		return ERR_OK;
	if (e == ERR_OK)
		*out = (struct last){ q_get_int(&q, 0), q_get_int(&q, 1), q_get_int(&q, 2) };
	return e;
}

static enum err add_day(struct db *db, int64_t day, int64_t first_ms)
{
	AUTO_QUERY q = db_query(db, Q_UPTIME_ADD);

	q_int(&q, ":day", day);
	q_int(&q, ":first_ms", first_ms);
	return q_done(&q);
}

static enum err keep_time(struct db *db, int64_t day, int64_t wall_ms)
{
	AUTO_QUERY q = db_query(db, Q_UPTIME_SEEN);

	q_int(&q, ":day", day);
	q_int(&q, ":last_ms", wall_ms);
	return q_done(&q);
}

static void tell(bool was_doubted, bool is_doubted)
{
	if (is_doubted && !was_doubted)
		log_warn("store", 0, "doubts-clock",
		         "note=\"it jumped or shows an old date: nothing expires for 24 hours; check the machine's "
		         "date\"");
	if (was_doubted && !is_doubted)
		log_info("store", 0, "trusts-clock", "note=\"things expire again\"");
}

enum err upkeep_look(struct upkeep *out, struct db *db, int64_t wall_ms, int64_t mono_ms)
{
	struct uptime *u           = db_uptime(db);
	bool           was_doubted = u->doubted;
	struct last    last;

	enum err e = find_last(&last, db);
	if (e != ERR_OK)
		return e;
	struct uptime_answer a = uptime_on_look(u, wall_ms, mono_ms, last.last_ms, last.first_ms);
	tell(was_doubted, !a.trusted);
	for (int64_t left = a.days; left > 0 && e == ERR_OK; left--)
		e = add_day(db, ++last.day, wall_ms - (left - 1) * UPTIME_DAY_MS);
	if (e == ERR_OK)
		e = keep_time(db, last.day, wall_ms);
	if (e == ERR_OK)
		*out = (struct upkeep){ .day = last.day, .trusted = a.trusted };
	return e;
}

bool upkeep_doubts_clock(struct db *db)
{
	return uptime_doubts(db_uptime(db), clock_wall_ms(), clock_mono_ms());
}
