/*
 * A server under everything at once, for a while: players of all protocols who come and go, operators, people who mean harm, and
 * restarts in the middle of it.
 *
 *	soak [--minutes N] [--load N] [--seed N] [--out FOLDER]
 *
 * COOPD_BIN names the server. It goes through six lives: five short ones, ended by SIGTERM, SIGKILL and hand-over, and one of nearly half
 * the time, over which memory and descriptors are judged. The report goes to standard output and to FOLDER/report.txt, the picture to
 * FOLDER/report.svg. The exit status is 0 when all holds, 1 when not, 2 when it could not be tried.
 *
 * SOAK_PLANT=lost, memory or descriptors makes a healthy server look as if it had that fault, to see that it would be noticed.
 */
#include "soak.h"

#include "bench/lib_sock.h"
#include "crypt/hash.h"
#include "soak_chart.h"
#include "soak_judge.h"
#include "soak_server.h"
#include "soak_watch.h"

#include <dirent.h>
#include <err.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SAMPLE_MS = 1000, SHORT_S = 30, HOURS_MAX = 48 };

static const char *const end_names[] = {
	[SOAK_STOPPED] = "SIGTERM", [SOAK_KILLED] = "SIGKILL", [SOAK_HANDED_OVER] = "hand-over"
};

/* Where in the run the lives end, and how; of a short one there are fewer, so that something happens in each. */
struct planned {
	double        share; /* 0: no more */
	enum soak_end how;
};
static const struct planned plan[] = { { 0.10, SOAK_STOPPED }, { 0.20, SOAK_KILLED },      { 0.31, SOAK_HANDED_OVER },
	                               { 0.42, SOAK_KILLED },  { 0.55, SOAK_HANDED_OVER }, { 0, SOAK_STOPPED } };
static const struct planned short_plan[] = { { 0.30, SOAK_HANDED_OVER }, { 0.60, SOAK_KILLED }, { 0, SOAK_STOPPED } };

static const char           *out_folder = ".";
static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
	(void)number;
	interrupted = 1;
}

/* --- Running --- */

static void wait_a_sample(int64_t *next_ms)
{
	int64_t left_ms = *next_ms - soak_now_ms();

	if (left_ms > 0)
		nanosleep(&(struct timespec){ .tv_sec = left_ms / 1000, .tv_nsec = left_ms % 1000 * 1000000 }, NULL);
	*next_ms += SAMPLE_MS;
	if (*next_ms < soak_now_ms())
		*next_ms = soak_now_ms() + SAMPLE_MS;
}

static bool restart(struct soak_outcome *o, enum soak_end how)
{
	int64_t from_ms = soak_now_ms();

	o->restarts_asked++;
	if (!soak_server_end(how))
		return false;
	soak_watch_look();
	if (!soak_server_start())
		return false;
	o->restarts_well++;
	fprintf(stderr, "soak: %s, and ready again after %ld ms\n", end_names[soak.lives[soak.life - 1].end],
	        (long)(soak_now_ms() - from_ms));
	return true;
}

/* False: the server is gone. */
static bool go_through(struct soak_outcome *o)
{
	const struct planned *next     = soak.seconds < SHORT_S ? short_plan : plan;
	int64_t               begin_ms = soak_now_ms(), next_ms = begin_ms + SAMPLE_MS;

	for (;;) {
		double passed_s = (double)(soak_now_ms() - begin_ms) / 1000;

		if (!soak_server_lives())
			return false;
		soak_watch_look();
		if (passed_s >= soak.seconds || interrupted)
			return true;
		if (next->share > 0 && passed_s >= next->share * soak.seconds && !restart(o, next++->how))
			return false;
		wait_a_sample(&next_ms);
	}
}

static unsigned count_files(const char *folder)
{
	DIR     *d     = opendir(folder);
	unsigned count = 0;

	for (struct dirent *e; d && (e = readdir(d));)
		count += e->d_name[0] != '.';
	if (d)
		closedir(d);
	return count;
}

/* All that happens between the first start and the last stop. */
static void run(struct soak_outcome *o)
{
	const char *reports = getenv("SOAK_SANITIZER_REPORTS");

	o->restarts_asked = 1;
	if (!soak_server_start())
		return;
	o->restarts_well = 1;
	soak_actors_start();

	bool lives = go_through(o);

	soak.ending = true;
	soak_actors_join(); /* each looks a last time whether all is there */
	soak_watch_end();
	o->restarts_asked++;
	if (lives && soak_server_end(SOAK_STOPPED))
		o->restarts_well++;
	o->log_errors   = soak_server_lines("error", o->log_error, sizeof(o->log_error));
	o->log_warnings = soak_server_lines("warn", NULL, 0);
	o->sanitizers   = reports != NULL;
	if (reports)
		o->sanitizer_reports = count_files(reports);
}

/* --- Reporting --- */

static double mean_cpu(bool own)
{
	double sum = 0, count = 0;

	for (size_t i = 0; i < soak_series.sample_count; i++) {
		if (!soak_series.samples[i].up)
			continue;
		sum += own ? soak_series.samples[i].own_cpu : soak_series.samples[i].cpu;
		count++;
	}
	return count > 0 ? sum / count : 0;
}

static void write_lives(FILE *f)
{
	fprintf(f, "\nlife  from s   to s  ended by   memory MiB at its end  descriptors  threads  database MiB  log "
	           "MiB  blobs MiB\n");
	for (uint32_t life = 0; life <= soak.life && life < SOAK_LIVES_MAX; life++) {
		const struct soak_sample *first = NULL, *last = NULL;

		for (size_t i = 0; i < soak_series.sample_count; i++) {
			const struct soak_sample *s = &soak_series.samples[i];

			if (!s->up || s->life != life)
				continue;
			first = first ? first : s;
			last  = s;
		}
		if (!last)
			continue;
		fprintf(f, "%4u %7.0f %6.0f  %-9s %22.1f %12.0f %8.0f %13.2f %8.2f %10.1f\n", life, first->at_s,
		        last->at_s, end_names[soak.lives[life].end], last->rss / 1048576, last->fds, last->threads,
		        last->database / 1048576, last->wal / 1048576, last->blobs / 1048576);
	}
}

static void write_told(FILE *f)
{
	static char told[SOAK_TOLD_MAX][SOAK_TOLD_BYTES];
	size_t      count = soak_told(told);

	if (count > 0)
		fprintf(f, "\nWhat went wrong, the first of it:\n");
	for (size_t i = 0; i < count; i++)
		fprintf(f, "  %s\n", told[i]);
}

static void write_report(FILE *f, const struct soak_verdicts *v, bool holds)
{
	fprintf(f, "Soak of %.1f minutes, load %g, seed %u: %s\n\n", soak.seconds / 60, soak.load, soak.seed,
	        holds ? "all holds" : "something does not hold");
	for (size_t i = 0; i < v->count; i++)
		fprintf(f, "%s %-36s %s\n", v->of[i].holds ? "ok    " : "FAILED", v->of[i].what, v->of[i].why);
	write_lives(f);
	fprintf(f,
	        "\n%.1f MiB of checkpoints stored, %.1f loaded; %lu backups; processors used: %.2f by the server, %.2f "
	        "by its clients\n",
	        (double)soak.bytes_stored / 1048576, (double)soak.bytes_loaded / 1048576, (unsigned long)soak.backups,
	        mean_cpu(false), mean_cpu(true));
	write_told(f);
}

static bool report(const struct soak_verdicts *v, bool holds)
{
	char  path[1000], title[80];
	FILE *f;

	write_report(stdout, v, holds);
	snprintf(path, sizeof(path), "%s/report.txt", out_folder);
	f = fopen(path, "we");
	if (!f)
		return false;
	write_report(f, v, holds);
	if (fclose(f) != 0)
		return false;
	snprintf(title, sizeof(title), "coopd, %.1f minutes of soak", soak.seconds / 60);
	snprintf(path, sizeof(path), "%s/report.svg", out_folder);
	return soak_chart(path, title, holds);
}

/* --- Arguments --- */

static const struct option options[] = { { "minutes", required_argument, NULL, 'm' },
	                                 { "load", required_argument, NULL, 'l' },
	                                 { "seed", required_argument, NULL, 's' },
	                                 { "out", required_argument, NULL, 'o' },
	                                 { 0 } };

static double number(const char *text, double min, double max)
{
	char  *end;
	double v = strtod(text, &end);

	if (end == text || *end || !(v >= min && v <= max))
		errx(2, "\"%s\" is no number from %g to %g", text, min, max);
	return v;
}

static enum soak_plant plant_named(const char *name)
{
	static const char *const names[] = { "", "lost", "memory", "descriptors" };

	for (int i = 0; name && i < 4; i++)
		if (strcmp(name, names[i]) == 0)
			return (enum soak_plant)i;
	if (name)
		errx(2, "SOAK_PLANT is lost, memory or descriptors");
	return SOAK_PLANT_NONE;
}

static void read_options(int argc, char **argv)
{
	int c;

	soak.seconds = 20 * 60;
	soak.load    = 1;
	soak.seed    = 1;
	soak.plant   = plant_named(getenv("SOAK_PLANT"));
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'm')
			soak.seconds = 60 * number(optarg, 0.05, HOURS_MAX * 60);
		else if (c == 'l')
			soak.load = number(optarg, 0.1, 20);
		else if (c == 's')
			soak.seed = (uint32_t)number(optarg, 0, UINT32_MAX);
		else if (c == 'o')
			out_folder = optarg;
		else
			errx(2, "the options are explained at the top of tests/soak/soak.c");
	}
	if (optind != argc)
		errx(2, "the options are explained at the top of tests/soak/soak.c");
}

int main(int argc, char **argv)
{
	static struct soak_verdicts verdicts;
	struct soak_outcome         outcome = { 0 };

	read_options(argc, argv);
	if (crypt_init() != ERR_OK)
		errx(2, "libsodium does not start");
	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	sock_raise_limit();
	soak_server_prepare();
	soak_watch_init(soak.seconds, soak.seconds < SHORT_S ? 1 : 5);
	run(&outcome);

	bool holds = soak_judge(&verdicts, &outcome) && !interrupted;

	if (!report(&verdicts, holds))
		errx(2, "the report cannot be written to %s", out_folder);
	if (holds)
		soak_server_clean();
	else
		printf("\nThe server's folder stays, with its log: %s\n", soak.root);
	return holds ? 0 : 1;
}
