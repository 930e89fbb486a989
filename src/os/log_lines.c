#include "os/log_lines.h"

void log_lines_init(struct log_lines *l)
{
	*l = (struct log_lines){ 0 };
	pthread_mutex_init(&l->lock, NULL);
}

void log_lines_fini(struct log_lines *l)
{
	pthread_mutex_destroy(&l->lock);
}

/* With its lock held. Those of the second that has ended, if it has: another one begins then. */
static int64_t end_second(struct log_lines *l, int64_t now_ms)
{
	int64_t untold = l->untold;

	if (now_ms < l->since_ms + LOG_LINES_MS)
		return 0;
	l->since_ms = now_ms;
	l->told     = 0;
	l->untold   = 0;
	return untold;
}

bool log_lines_take(int64_t *before, struct log_lines *l, int64_t now_ms)
{
	pthread_mutex_lock(&l->lock);
	*before      = end_second(l, now_ms);
	bool is_told = l->told < LOG_LINES;
	l->told += is_told;
	l->untold += !is_told;
	pthread_mutex_unlock(&l->lock);
	return is_told;
}

int64_t log_lines_rest(struct log_lines *l, int64_t now_ms)
{
	pthread_mutex_lock(&l->lock);
	int64_t before = end_second(l, now_ms);
	pthread_mutex_unlock(&l->lock);
	return before;
}
