/*
 * The values, and the page that shows them.
 */
#include "base/metric.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct row {
	const char *type, *name, *labels, *help;
};

#define COUNTER    "counter"
#define COUNTER_US "counter_us"
#define GAUGE      "gauge"
#define MICRO      1000000

static const struct row rows[METRIC_COUNT] = {
#define METRIC(id, type, name, labels, help) [M_##id] = { type, name, labels, help },
#include "base/metric.def"
#undef METRIC
};

_Atomic int64_t metric_values[METRIC_COUNT];

static const struct {
	const char *name, *help;
} histogram_rows[HISTOGRAM_COUNT] = {
#define HISTOGRAM(id, name, help) [H_##id] = { name, help },
#include "base/histogram.def"
#undef HISTOGRAM
};

static const int64_t bounds_us[METRIC_BUCKETS - 1] = { 100,     250,     500,     1000,    2500,   5000,
	                                               10000,   25000,   50000,   100000,  250000, 500000,
	                                               1000000, 2500000, 5000000, 10000000 };

static struct {
	_Atomic int64_t counts[METRIC_BUCKETS];
	_Atomic int64_t sum_us;
} histograms[HISTOGRAM_COUNT];

void metric_observe(enum histogram h, int64_t us)
{
	size_t at = 0;

	if (us < 0)
		us = 0;
	while (at < METRIC_BUCKETS - 1 && us > bounds_us[at])
		at++;
	atomic_fetch_add_explicit(&histograms[h].counts[at], 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&histograms[h].sum_us, us, memory_order_relaxed);
}

void metric_read(struct metric_histogram *out, enum histogram h)
{
	for (size_t i = 0; i < METRIC_BUCKETS; i++)
		out->counts[i] = atomic_load_explicit(&histograms[h].counts[i], memory_order_relaxed);
	out->sum_us = atomic_load_explicit(&histograms[h].sum_us, memory_order_relaxed);
}

/* Of those longer than the last bound nothing else is known. */
static double between_ms(size_t bucket, double share)
{
	double from = bucket > 0 ? (double)bounds_us[bucket - 1] : 0;
	double to   = bucket < METRIC_BUCKETS - 1 ? (double)bounds_us[bucket] : from;

	return (from + share * (to - from)) / 1000;
}

double metric_quantile_ms(const struct metric_histogram *before, const struct metric_histogram *after, double q)
{
	int64_t counts[METRIC_BUCKETS], all = 0;
	double  rank, seen                  = 0;

	for (size_t i = 0; i < METRIC_BUCKETS; i++) {
		counts[i] = after->counts[i] - (before ? before->counts[i] : 0);
		all += counts[i];
	}
	rank = q * (double)all;
	for (size_t i = 0; i < METRIC_BUCKETS; i++) {
		if (counts[i] > 0 && seen + (double)counts[i] >= rank)
			return between_ms(i, (rank - seen) / (double)counts[i]);
		seen += (double)counts[i];
	}
	return 0;
}

const char *metric_name(enum metric m)
{
	return rows[m].name;
}

/* The format ends a help text at a line break and knows \\ and \n. */
static void print_help(FILE *out, const char *help)
{
	for (; *help; help++) {
		if (*help == '\\')
			fputs("\\\\", out);
		else if (*help == '\n')
			fputs("\\n", out);
		else
			fputc(*help, out);
	}
}

static bool is_micros(const struct row *row)
{
	return strcmp(row->type, COUNTER_US) == 0;
}

static void print_head(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP %s ", name);
	print_help(out, help);
	fprintf(out, "\n# TYPE %s %s\n", name, type);
}

static void print_seconds(FILE *out, int64_t us)
{
	fprintf(out, "%" PRId64 ".%06" PRId64, us / MICRO, us % MICRO);
}

static void print_value(FILE *out, const struct row *row, int64_t value)
{
	fputs(row->name, out);
	if (row->labels[0])
		fprintf(out, "{%s}", row->labels);
	fputc(' ', out);
	if (is_micros(row))
		print_seconds(out, value);
	else
		fprintf(out, "%" PRId64, value);
	fputc('\n', out);
}

/* Buckets hold what is below them too; the count is what the last one says, whatever came while it was read. */
static void print_histogram(FILE *out, enum histogram h)
{
	const char             *name = histogram_rows[h].name;
	struct metric_histogram is;
	int64_t                 all = 0;

	metric_read(&is, h);
	print_head(out, name, "histogram", histogram_rows[h].help);
	for (size_t i = 0; i < METRIC_BUCKETS; i++) {
		all += is.counts[i];
		fprintf(out, "%s_bucket{le=\"", name);
		if (i < METRIC_BUCKETS - 1)
			fprintf(out, "%g", (double)bounds_us[i] / MICRO);
		else
			fputs("+Inf", out);
		fprintf(out, "\"} %" PRId64 "\n", all);
	}
	fprintf(out, "%s_sum ", name);
	print_seconds(out, is.sum_us);
	fprintf(out, "\n%s_count %" PRId64 "\n", name, all);
}

char *metric_text(size_t *len)
{
	char *text = NULL;
	FILE *out  = open_memstream(&text, len);

	if (!out)
		return NULL;
	for (size_t m = 0; m < METRIC_COUNT; m++) {
		if (m == 0 || strcmp(rows[m].name, rows[m - 1].name) != 0)
			print_head(out, rows[m].name, is_micros(&rows[m]) ? COUNTER : rows[m].type, rows[m].help);
		print_value(out, &rows[m], metric_get((enum metric)m));
	}
	for (int h = 0; h < HISTOGRAM_COUNT; h++)
		print_histogram(out, (enum histogram)h);

	/* A stream that ran out of memory says so here at the latest. */
	int failed = ferror(out);
	if (fclose(out) != 0 || failed) {
		free(text);
		return NULL;
	}
	return text;
}
