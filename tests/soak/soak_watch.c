#include "soak_watch.h"

#include "bench/lib_hist.h"
#include "bench/lib_usage.h"
#include "soak_server.h"

#include <dirent.h>
#include <err.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOBS_EVERY = 5 /* samples */ };

struct soak_series soak_series;

static struct hist     window_hist[SOAK_SURFACES], run_hist[SOAK_SURFACES];
static pthread_mutex_t hist_lock[SOAK_SURFACES];

static int64_t begin_ns, last_ns, last_cpu_ns, last_own_ns, window_from_ns;
static double  window_length_s;
static pid_t   last_pid;
static size_t  sample_cap, window_cap;

void soak_watch_init(double seconds, double window_s)
{
	sample_cap          = (size_t)seconds + 300;
	window_cap          = (size_t)(seconds / window_s) + 300;
	soak_series.samples = calloc(sample_cap, sizeof(*soak_series.samples));
	soak_series.windows = calloc(window_cap, sizeof(*soak_series.windows));
	if (!soak_series.samples || !soak_series.windows)
		err(1, "samples");
	for (int s = 0; s < SOAK_SURFACES; s++)
		pthread_mutex_init(&hist_lock[s], NULL);
	window_length_s = window_s;
	begin_ns = last_ns = window_from_ns = usage_now_ns();
}

void soak_watch_time(enum soak_surface s, int64_t ns)
{
	pthread_mutex_lock(&hist_lock[s]);
	hist_add(&window_hist[s], ns);
	pthread_mutex_unlock(&hist_lock[s]);
}

/* --- The process --- */

static double count_entries(const char *path)
{
	DIR   *d     = opendir(path);
	double count = -2; /* . and .. */

	if (!d)
		return 0;
	while (readdir(d))
		count++;
	closedir(d);
	return count;
}

/* 0 when it has just ended. */
static double rss_bytes(pid_t pid)
{
	char path[64], line[128] = "";

	snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
	FILE *f = fopen(path, "re");

	if (f && !fgets(line, sizeof(line), f))
		line[0] = '\0';
	if (f)
		fclose(f);

	const char *resident = strchr(line, ' ');

	return resident ? (double)strtoul(resident, NULL, 10) * (double)sysconf(_SC_PAGESIZE) : 0;
}

static void look_at_process(struct soak_sample *s, pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	s->fds = count_entries(path);
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	s->threads = count_entries(path);
	s->rss     = rss_bytes(pid);
}

static int64_t own_cpu_ns(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (int64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000000 +
	       (int64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000;
}

static void look_at_cpu(struct soak_sample *s, pid_t pid, int64_t now_ns)
{
	int64_t own_ns = own_cpu_ns();
	int64_t cpu_ns = s->up ? usage_cpu_ns(pid) : 0;
	double  passed = (double)(now_ns - last_ns);

	if (passed > 0) {
		s->own_cpu = (double)(own_ns - last_own_ns) / passed;
		s->cpu     = s->up && pid == last_pid ? (double)(cpu_ns - last_cpu_ns) / passed : 0;
	}
	last_pid    = pid;
	last_ns     = now_ns;
	last_cpu_ns = cpu_ns;
	last_own_ns = own_ns;
}

/* --- Files --- */

static double file_bytes(const char *name)
{
	char        path[SOAK_PATH_BYTES + 32];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", soak.data, name);
	return stat(path, &st) == 0 ? (double)st.st_size : 0;
}

static double blob_sum;

static int add_blob(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)path, (void)ftw;
	if (kind == FTW_F)
		blob_sum += (double)st->st_size;
	return 0;
}

static void look_at_files(struct soak_sample *s)
{
	char path[SOAK_PATH_BYTES + 32];

	s->database = file_bytes("coop.db");
	s->wal      = file_bytes("coop.db-wal");
	if (soak_series.sample_count % BLOBS_EVERY == 0) {
		blob_sum = 0;
		snprintf(path, sizeof(path), "%s/blobs", soak.data);
		nftw(path, add_blob, 16, FTW_PHYS);
	}
	s->blobs = blob_sum;
}

/* --- Windows --- */

static void add_hist(struct hist *to, const struct hist *from)
{
	to->count += from->count;
	for (size_t i = 0; i < HIST_CELLS; i++)
		to->cells[i] += from->cells[i];
}

static void end_window(double at_s)
{
	struct soak_window *w = &soak_series.windows[soak_series.window_count++];

	w->at_s = at_s;
	w->life = soak.life;
	for (int s = 0; s < SOAK_SURFACES; s++) {
		pthread_mutex_lock(&hist_lock[s]);
		w->of[s].count  = window_hist[s].count;
		w->of[s].p50_ms = hist_percentile_us(&window_hist[s], 0.5) / 1000;
		w->of[s].p99_ms = hist_percentile_us(&window_hist[s], 0.99) / 1000;
		add_hist(&run_hist[s], &window_hist[s]);
		memset(&window_hist[s], 0, sizeof(window_hist[s]));
		pthread_mutex_unlock(&hist_lock[s]);
	}
}

void soak_watch_look(void)
{
	int64_t now_ns = usage_now_ns();
	double  at_s   = (double)(now_ns - begin_ns) / 1e9;
	pid_t   pid    = soak_server_pid();

	if (soak_series.sample_count < sample_cap) {
		struct soak_sample *s = &soak_series.samples[soak_series.sample_count];

		*s = (struct soak_sample){
			.at_s = at_s, .life = soak.life, .up = soak.up && pid, .clients = soak.clients
		};
		if (s->up)
			look_at_process(s, pid);
		look_at_cpu(s, pid, now_ns);
		look_at_files(s);
		soak_series.sample_count++;
	}
	if ((double)(now_ns - window_from_ns) / 1e9 >= window_length_s && soak_series.window_count < window_cap) {
		end_window(at_s);
		window_from_ns = now_ns;
	}
}

void soak_watch_end(void)
{
	if (soak_series.window_count < window_cap)
		end_window((double)(usage_now_ns() - begin_ns) / 1e9);
}

uint64_t soak_watch_count(enum soak_surface s)
{
	return run_hist[s].count;
}

double soak_watch_ms(enum soak_surface s, double share)
{
	return hist_percentile_us(&run_hist[s], share) / 1000;
}
