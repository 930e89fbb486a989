#include "lib_repeat.h"

#include <err.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "lib_hist.h"
#include "lib_usage.h"

enum { THREADS_MAX = 256 };

static const struct repeat *what;
static atomic_bool          stopping;
static atomic_llong         window_begin_ns = INT64_MAX;
static pthread_barrier_t    begun;
static pthread_mutex_t      lock = PTHREAD_MUTEX_INITIALIZER;
static struct hist          times;

static void count(int64_t began_ns, int64_t ended_ns)
{
	if (ended_ns < window_begin_ns)
		return;
	pthread_mutex_lock(&lock);
	hist_add(&times, ended_ns - began_ns);
	pthread_mutex_unlock(&lock);
}

static void *work(void *arg)
{
	uint32_t thread = (uint32_t)(uintptr_t)arg;

	if (what->begin)
		what->begin(thread);
	pthread_barrier_wait(&begun);
	while (!stopping) {
		int64_t began_ns = usage_now_ns();

		what->once(thread);
		if (!stopping)
			count(began_ns, usage_now_ns());
	}
	return NULL;
}

static void sleep_for(double seconds)
{
	struct timespec t = { .tv_sec = (time_t)seconds };

	t.tv_nsec = (long)((seconds - (double)t.tv_sec) * 1e9);
	nanosleep(&t, NULL);
}

static void report(int64_t took_ns, int64_t cpu_ns)
{
	double n = (double)times.count;

	printf("transfers=%" PRIu64 " transfers_s=%.2f seconds=%.3f p50_us=%.0f p99_us=%.0f cpu_us=%.1f "
	       "cpu_share=%.3f\n",
	       times.count, n * 1e9 / (double)took_ns, (double)took_ns / 1e9, hist_percentile_us(&times, 0.5),
	       hist_percentile_us(&times, 0.99), n > 0 ? (double)cpu_ns / n / 1000 : 0.0,
	       (double)cpu_ns / (double)took_ns);
}

void repeat_run(const struct repeat *r)
{
	pthread_t threads[THREADS_MAX];
	pid_t     pid = r->pid ? r->pid : getpid();

	if (r->threads == 0 || r->threads > THREADS_MAX)
		errx(2, "from 1 to %d threads", THREADS_MAX);
	what = r;
	pthread_barrier_init(&begun, NULL, r->threads + 1);
	for (uint32_t i = 0; i < r->threads; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)i))
			err(1, "a thread");
	pthread_barrier_wait(&begun);
	sleep_for(r->warmup);

	int64_t cpu_ns   = usage_cpu_ns(pid);
	int64_t began_ns = usage_now_ns();

	window_begin_ns = began_ns;
	sleep_for(r->seconds);
	stopping         = true;
	int64_t ended_ns = usage_now_ns();

	cpu_ns = usage_cpu_ns(pid) - cpu_ns;
	for (uint32_t i = 0; i < r->threads; i++)
		pthread_join(threads[i], NULL);
	report(ended_ns - began_ns, cpu_ns);
}
