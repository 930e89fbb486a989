#include "lib_hist.h"

/*
 * The first cells are one nanosecond wide, up to HIST_STEPS; after that a cell's number is the position of
 * the highest bit and the six bits below it.
 */
static unsigned cell_of(uint64_t ns)
{
	if (ns < HIST_STEPS)
		return (unsigned)ns;

	unsigned doubling = 63 - (unsigned)__builtin_clzll(ns) - 6;
	unsigned cell     = (doubling + 1) * HIST_STEPS + (unsigned)(ns >> doubling) - HIST_STEPS;

	return cell < HIST_CELLS ? cell : HIST_CELLS - 1;
}

static double middle_ns(unsigned cell)
{
	if (cell < HIST_STEPS)
		return cell;

	unsigned doubling = cell / HIST_STEPS - 1;
	uint64_t low      = (uint64_t)(cell % HIST_STEPS + HIST_STEPS) << doubling;

	return (double)low + (double)(1ULL << doubling) / 2;
}

void hist_add(struct hist *h, int64_t ns)
{
	h->cells[cell_of(ns < 0 ? 0 : (uint64_t)ns)]++;
	h->count++;
}

double hist_percentile_us(const struct hist *h, double share)
{
	double   wanted = share * (double)h->count;
	uint64_t seen   = 0;

	for (unsigned i = 0; i < HIST_CELLS; i++) {
		seen += h->cells[i];
		if (seen > 0 && (double)seen >= wanted)
			return middle_ns(i) / 1000;
	}
	return 0;
}
