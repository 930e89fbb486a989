/*
 * Counters and gauges, made from metric.def. Any thread may change and read them; each is exact, no two are read at
 * one moment.
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

/* All figures in Prometheus text format 0.0.4, for free(); NULL when out of memory. *len is its length. */
char *metric_text(size_t *len);

#endif
