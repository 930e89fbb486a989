/*
 * "Levels off": over the second half of the longest life of the server a straight line is laid through the samples (least squares).
 * What it says has been added by the end of that half must be below a bound: a part for what goes up and down anyway, and a part for
 * each hour.  A life of under LIFE_S is too short for that, and a run without a longer one is not judged by it.
 */
#include "soak_judge.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

enum { LIFE_S = 30, MIB = 1 << 20 };

/* What must be level. Of the database and the blobs over the second half of the run, since they outlive the process. */
static const struct level {
	const char *what;
	size_t      at; /* in a sample */
	double      apart, per_hour, unit;
	const char *unit_name;
	bool        of_run, of_memory;
} levels[] = {
	{ "memory levels off", offsetof(struct soak_sample, rss), 1.5 * MIB, 12.0 * MIB, MIB, "MiB", false, true },
	{ "descriptors level off", offsetof(struct soak_sample, fds), 25, 60, 1, "", false, false },
	{ "threads level off", offsetof(struct soak_sample, threads), 10, 20, 1, "", false, false },
	{ "the database levels off", offsetof(struct soak_sample, database), 0.25 * MIB, 2.0 * MIB, MIB, "MiB", true,
	  false },
	{ "its log levels off", offsetof(struct soak_sample, wal), 5.0 * MIB, 4.0 * MIB, MIB, "MiB", true, false },
	{ "blobs level off", offsetof(struct soak_sample, blobs), 4.0 * MIB, 12.0 * MIB, MIB, "MiB", true, false },
};

/* Latency: the median of the windows' p99, of the second half against the first. */
static const double slower_factor = 4, slower_ms = 60, slow_ms = 5000;
/* Of datagrams: what was under way when a connection was cut does not come back. */
static const double back_share = 0.98;

__attribute__((format(printf, 4, 5))) static void say(struct soak_verdicts *v, const char *what, bool holds,
                                                      const char *format, ...)
{
	va_list args;

	if (v->count == SOAK_VERDICTS_MAX)
		return;

	struct soak_verdict *one = &v->of[v->count++];

	one->what  = what;
	one->holds = holds;
	va_start(args, format);
	vsnprintf(one->why, sizeof(one->why), format, args);
	va_end(args);
}

/* --- Levels --- */

static double value(const struct soak_sample *s, size_t at)
{
	return *(const double *)(const void *)((const char *)s + at);
}

struct fit {
	double from_s, to_s, mean, added;
	size_t count;
};

static bool is_in(const struct soak_sample *s, const struct fit *f, bool any_life, uint32_t life)
{
	return s->up && s->at_s >= f->from_s && s->at_s <= f->to_s && (any_life || s->life == life);
}

static void fit(struct fit *f, size_t at, bool any_life, uint32_t life)
{
	double n = 0, x = 0, y = 0, xx = 0, xy = 0;

	for (size_t i = 0; i < soak_series.sample_count; i++) {
		const struct soak_sample *s = &soak_series.samples[i];

		if (!is_in(s, f, any_life, life))
			continue;

		double t = s->at_s - f->from_s, v = value(s, at);

		n++;
		x += t;
		y += v;
		xx += t * t;
		xy += t * v;
	}

	double spread = n * xx - x * x;

	f->count = (size_t)n;
	f->mean  = n > 0 ? y / n : 0;
	f->added = spread > 0 ? (n * xy - x * y) / spread * (f->to_s - f->from_s) : 0;
}

static bool life_of(uint32_t life, double *from_s, double *to_s)
{
	bool any = false;

	for (size_t i = 0; i < soak_series.sample_count; i++) {
		const struct soak_sample *s = &soak_series.samples[i];

		if (!s->up || s->life != life)
			continue;
		if (!any)
			*from_s = s->at_s;
		*to_s = s->at_s;
		any   = true;
	}
	return any;
}

static uint32_t longest_life(double *from_s, double *to_s)
{
	uint32_t longest = 0;

	*from_s = *to_s = 0;
	for (uint32_t i = 0; i <= soak.life && i < SOAK_LIVES_MAX; i++) {
		double from = 0, to = 0;

		if (life_of(i, &from, &to) && to - from > *to_s - *from_s) {
			longest = i;
			*from_s = from;
			*to_s   = to;
		}
	}
	return longest;
}

static void judge_level(struct soak_verdicts *v, const struct level *l, const struct soak_outcome *o)
{
	double   from_s, to_s;
	uint32_t life = longest_life(&from_s, &to_s);

	if (to_s - from_s < LIFE_S) {
		say(v, l->what, true, "not judged: no life of the server lasted %d s", LIFE_S);
		return;
	}
	if (l->of_memory && o->sanitizers) {
		say(v, l->what, true, "not judged: the sanitizers keep what was freed");
		return;
	}
	if (l->of_run) {
		from_s = 0;
		to_s   = soak_series.samples[soak_series.sample_count - 1].at_s;
	}

	struct fit f = { .from_s = (from_s + to_s) / 2, .to_s = to_s };

	fit(&f, l->at, l->of_run, life);

	double allowed = l->apart + l->per_hour * (f.to_s - f.from_s) / 3600;

	say(v, l->what, f.added <= allowed,
	    "%+.2f %s in the last %.0f s of %s (%.1f an hour), at %.1f on average; at most %+.2f are allowed",
	    f.added / l->unit, l->unit_name, f.to_s - f.from_s, l->of_run ? "the run" : "the longest life",
	    f.added / l->unit * 3600 / (f.to_s - f.from_s), f.mean / l->unit, allowed / l->unit);
}

/* --- Latency --- */

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Of the windows from this share of the run to that; 0 when nothing came in them. */
static double median_p99(enum soak_surface s, double from, double to)
{
	double *p99    = calloc(soak_series.window_count + 1, sizeof(*p99));
	size_t  count  = 0;
	double  median = 0;
	double  end_s  = soak_series.window_count ? soak_series.windows[soak_series.window_count - 1].at_s : 0;

	for (size_t i = 0; p99 && i < soak_series.window_count; i++) {
		const struct soak_window *w = &soak_series.windows[i];

		if (w->of[s].count > 0 && w->at_s > from * end_s && w->at_s <= to * end_s)
			p99[count++] = w->of[s].p99_ms;
	}
	if (count > 0) {
		qsort(p99, count, sizeof(*p99), compare);
		median = p99[count / 2];
	}
	free(p99);
	return median;
}

static void judge_latency(struct soak_verdicts *v)
{
	for (enum soak_surface s = 0; s < SOAK_SURFACES; s++) {
		double first = median_p99(s, 0, 0.5), second = median_p99(s, 0.5, 1);
		double p50 = soak_watch_ms(s, 0.5), p99 = soak_watch_ms(s, 0.99);
		double allowed = first * slower_factor > slower_ms ? first * slower_factor : slower_ms;

		say(v, soak_surface_names[s], soak_watch_count(s) > 0 && second <= allowed && p99 <= slow_ms,
		    "%8lu times, p50 %.2f ms, p99 %.2f ms; the windows' p99 is %.2f ms in the first half, %.2f in the "
		    "second",
		    (unsigned long)soak_watch_count(s), p50, p99, first, second);
	}
}

/* --- All --- */

bool soak_judge(struct soak_verdicts *out, const struct soak_outcome *o)
{
	double sent = (double)soak.datagrams_sent, back = (double)soak.datagrams_back;

	out->count = 0;
	say(out, "nothing acknowledged was lost", soak.lost == 0 && soak.promises > 0, "%lu looked at again, %lu lost",
	    (unsigned long)soak.promises, (unsigned long)soak.lost);
	say(out, "nothing failed that must not", soak.faults == 0,
	    "%lu visits, %lu faults; %lu failures while the server went down", (unsigned long)soak.visits,
	    (unsigned long)soak.faults, (unsigned long)soak.excused);
	say(out, "the server ends and starts as told", o->restarts_asked == o->restarts_well, "%u of %u times",
	    o->restarts_well, o->restarts_asked);
	say(out, "its log has no errors", o->log_errors == 0 && o->sanitizer_reports == 0,
	    "%u errors, %u warnings, %u reports of sanitizers %s", o->log_errors, o->log_warnings, o->sanitizer_reports,
	    o->log_error);
	say(out, "datagrams come back", sent > 0 && back >= back_share * sent, "%.0f of %.0f, %.2f %%", back, sent,
	    sent > 0 ? 100 * back / sent : 0.0);
	say(out, "who means harm is refused", soak.refusals > 0, "%lu times", (unsigned long)soak.refusals);
	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
		judge_level(out, &levels[i], o);
	judge_latency(out);

	bool all = true;

	for (size_t i = 0; i < out->count; i++)
		all = all && out->of[i].holds;
	return all;
}
