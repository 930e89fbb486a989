/*
 * Counters and gauges, made from metric.def, and histograms from histogram.def. Any thread may change and read them; each is
 * exact, no two are read at one moment.
 */
#ifndef BASE_METRIC_H
#define BASE_METRIC_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum metric {
#define METRIC(id, type, name, labels, help) M_##id,
#include "base/metric.def"
#undef METRIC
	METRIC_COUNT
};

extern _Atomic int64_t metric_values[METRIC_COUNT];

static inline void metric_add(enum metric m, int64_t n)
{
	atomic_fetch_add_explicit(&metric_values[m], n, memory_order_relaxed);
}

static inline void metric_inc(enum metric m)
{
	metric_add(m, 1);
}

static inline void metric_set(enum metric m, int64_t value)
{
	atomic_store_explicit(&metric_values[m], value, memory_order_relaxed);
}

static inline int64_t metric_get(enum metric m)
{
	return atomic_load_explicit(&metric_values[m], memory_order_relaxed);
}

enum histogram {
#define HISTOGRAM(id, name, help) H_##id,
#include "base/histogram.def"
#undef HISTOGRAM
	HISTOGRAM_COUNT
};

/* Of a histogram: how many were at most so long, the last for any longer. */
#define METRIC_BUCKETS 17
struct metric_histogram {
	int64_t counts[METRIC_BUCKETS]; /* of each bucket alone */
	int64_t sum_us;
};

/* Something took so long; less than nothing is nothing. */
void metric_observe(enum histogram h, int64_t us);
void metric_read(struct metric_histogram *out, enum histogram h);

/*
 * How long the share q (0 to 1) of those took at most that came between two readings, guessed within a bucket; 0: none came.
 * before NULL: since the start.
 */
double metric_quantile_ms(const struct metric_histogram *before, const struct metric_histogram *after, double q);

/* "coopd_up" */
const char *metric_name(enum metric m);

/* All figures in Prometheus text format 0.0.4, for free(); NULL when out of memory. *len is its length. */
char *metric_text(size_t *len);

#endif
