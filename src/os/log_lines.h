/*
 * How often the log says the same: at most so many lines of one kind a second, and then how many more there would have been.
 * For what anybody can bring about as often as he likes. Any thread.
 *
 *	bool is_told = log_lines_take(&untold, &refused, now_ms);
 *
 *	if (untold > 0)
 *		log_info(..., "refuses-more", ...);
 *	if (is_told)
 *		log_info(..., "refuses", ...);
 */
#ifndef OS_LOG_LINES_H
#define OS_LOG_LINES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define LOG_LINES    20 /* in so long; beyond it they are counted */
#define LOG_LINES_MS 1000

struct log_lines {
	pthread_mutex_t lock;
	int64_t         since_ms; /* when this second began */
	int             told;
	int64_t         untold;
};

void log_lines_init(struct log_lines *l);
void log_lines_fini(struct log_lines *l);

/* Whether one more line may be written. *before: so many were not in an earlier second, and nobody has said so yet. */
bool log_lines_take(int64_t *before, struct log_lines *l, int64_t now_ms);

/* The same when there is no line: those of an earlier second, which are told of by that. */
int64_t log_lines_rest(struct log_lines *l, int64_t now_ms);

#endif
