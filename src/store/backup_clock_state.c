#include "store/backup_clock_state.h"

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

int64_t backup_wait_first(int64_t every_ms, int64_t wall_ms, int64_t last_ms)
{
	int64_t left = last_ms > 0 ? last_ms + every_ms - wall_ms : 0;
	int64_t soon = least(every_ms, BACKUP_START_MS);

	if (left > every_ms) /* it began in the future: the clock was set back */
		left = every_ms;
	return left > soon ? left : soon;
}

int64_t backup_wait_next(int64_t every_ms, enum backup_ended how, int64_t took_ms)
{
	if (how == BACKUP_BUSY)
		return least(every_ms, BACKUP_BUSY_MS);
	if (how == BACKUP_FAILED)
		return least(every_ms, BACKUP_RETRY_MS);
	return took_ms < every_ms ? every_ms - took_ms : 0;
}
