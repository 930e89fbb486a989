/*
 * The set of figures that viewers get once a second, and what this process takes of the machine.
 *
 * All of it comes from base/metric; here is which of them, by what name, and what becomes of counters: so many a second since the
 * set before. The table in PROTOCOL.md has the same names.
 */
#ifndef ADMIN_ADMIN_FIGURES_H
#define ADMIN_ADMIN_FIGURES_H

#include "base/metric.h"

#include <stddef.h>
#include <stdint.h>

#define ADMIN_FIGURES_BYTES  2048
#define ADMIN_FIGURES_WINDOW 10 /* sets that commit times are taken from: there is not one in every second */

/* What the last sets were made from. Zeros at first. */
struct admin_figures {
	int64_t                 at_us;
	int64_t                 values[METRIC_COUNT];
	struct metric_histogram commits[ADMIN_FIGURES_WINDOW];
	struct metric_histogram lag;
	size_t                  turn;
};

/* The next set: one line, {"op":"figures",...}. Returns its length. */
size_t admin_figures_next(char out[ADMIN_FIGURES_BYTES], struct admin_figures *f, int64_t wall_ms, int64_t lap_us);

/* The n-th name, and what it means; NULL: there are no more. */
const char *admin_figures_name(size_t n);
const char *admin_figures_help(size_t n);

/* Looks at this process and sets the figures about it. May read files, so not on the loop. */
void admin_process_measure(void);

#endif
