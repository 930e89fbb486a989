/*
 * Times in a histogram of fixed size: 64 steps for each doubling, so that a percentile is at most 1.6 % off.
 */
#ifndef BENCH_LIB_HIST_H
#define BENCH_LIB_HIST_H

#include <stdint.h>

enum { HIST_STEPS = 64, HIST_DOUBLINGS = 40, HIST_CELLS = HIST_STEPS * HIST_DOUBLINGS };

struct hist {
	uint64_t count;
	uint64_t cells[HIST_CELLS];
};

/* Negative counts as 0; above 9 hours, the highest cell. */
void hist_add(struct hist *h, int64_t ns);

/* The time that `share` (0 to 1) of the entries do not exceed, in microseconds; 0 when there are none. */
double hist_percentile_us(const struct hist *h, double share);

#endif
