/*
 * Each reason to stay is a function that walks over the rows, newest first, and raises what it finds.
 */
#include "store/thin_state.h"

#include <string.h>

#define DAY_MS INT64_C(86400000)

/* Stays, and is at most this easily spared; a row that has a better reason keeps it. */
static void stay(struct thin_row *row, enum thin_spare spare)
{
	static const int worth[] = { [THIN_FIRST] = 0, [THIN_LAST] = 1, [THIN_STAYS] = 2 };

	if (!row->keep || worth[spare] > worth[row->spare])
		row->spare = spare;
	row->keep = true;
}

static bool is_by(const struct thin_row *row, const uint8_t player[8])
{
	return memcmp(row->player, player, sizeof(row->player)) == 0;
}

static void keep_newest(struct thin_row *rows, size_t count, int64_t keep)
{
	int64_t seen = 0;

	for (size_t i = 0; i < count && seen < keep; i++) {
		if (rows[i].is_conflict)
			continue;
		stay(&rows[i], seen < THIN_NEWEST ? THIN_STAYS : THIN_FIRST);
		seen++;
	}
}

/* Times before 1970 need rounding down, not towards zero. */
static int64_t day_of(int64_t ms)
{
	return ms >= 0 ? ms / DAY_MS : (ms + 1) / DAY_MS - 1;
}

static bool is_among(int64_t day, const int64_t *days, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (days[i] == day)
			return true;
	}
	return false;
}

static void keep_days(struct thin_row *rows, size_t count)
{
	int64_t days[THIN_DAYS];
	size_t  seen = 0;

	for (size_t i = 0; i < count && seen < THIN_DAYS; i++) {
		int64_t day = day_of(rows[i].stored_ms);

		if (rows[i].is_conflict || is_among(day, days, seen))
			continue;
		days[seen++] = day;
		stay(&rows[i], THIN_LAST);
	}
}

static void keep_owners(struct thin_row *rows, size_t count, const uint8_t owner[8])
{
	int seen = 0;

	for (size_t i = 0; i < count && seen < THIN_OWNER; i++) {
		if (rows[i].is_conflict || !is_by(&rows[i], owner))
			continue;
		stay(&rows[i], THIN_STAYS);
		seen++;
	}
}

/*
 * The last sound one after which a small one came. Of a row of ever smaller ones it is the first that was not small, so
 * that no chain of them pushes it out.
 */
static void keep_before_small(struct thin_row *rows, size_t count)
{
	bool after_is_small = false;
	int  calm           = 0;

	for (size_t i = 0; i < count && calm < THIN_CALM; i++) {
		if (rows[i].is_conflict)
			continue;
		if (after_is_small && !rows[i].is_small) {
			stay(&rows[i], THIN_LAST);
			return;
		}
		after_is_small = rows[i].is_small;
		calm += !rows[i].is_small;
	}
}

/* How many conflicts of the same player that stay are newer than the one at index at. */
static int count_newer(const struct thin_row *rows, size_t at)
{
	int n = 0;

	for (size_t i = 0; i < at; i++)
		n += rows[i].is_conflict && rows[i].keep && is_by(&rows[i], rows[at].player);
	return n;
}

static void keep_conflicts(struct thin_row *rows, size_t count, const uint8_t owner[8])
{
	int seen = 0;

	for (size_t i = 0; i < count && seen < THIN_CONFLICTS; i++) {
		if (!rows[i].is_conflict || count_newer(rows, i) >= THIN_CONFLICTS_EACH)
			continue;
		stay(&rows[i], is_by(&rows[i], owner) ? THIN_STAYS : THIN_FIRST);
		seen++;
	}
}

void thin_decide(struct thin_row *rows, size_t count, const uint8_t owner[8], int64_t keep)
{
	for (size_t i = 0; i < count; i++) {
		rows[i].keep  = false;
		rows[i].spare = THIN_STAYS;
	}
	if (keep < THIN_NEWEST)
		keep = THIN_NEWEST;
	keep_newest(rows, count, keep < THIN_KEEP_MAX ? keep : THIN_KEEP_MAX);
	keep_days(rows, count);
	keep_owners(rows, count, owner);
	keep_before_small(rows, count);
	keep_conflicts(rows, count, owner);
}

bool thin_is_small(int64_t bytes, int64_t before, int64_t percent)
{
	/* Neither side of this can overflow: no checkpoint has over 2^44 bytes. */
	return bytes * 100 < before * percent;
}
