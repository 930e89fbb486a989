/*
 * What is measured: the server's process and files once a second, and how long the actors' requests took, in windows.
 */
#ifndef SOAK_WATCH_H
#define SOAK_WATCH_H

#include "soak.h"

struct soak_sample {
	double   at_s; /* since the start */
	uint32_t life;
	bool     up;
	double   rss, database, wal, blobs; /* bytes; database without its log */
	double   fds, threads, clients;
	double   cpu, own_cpu; /* processors used since the sample before, by the server and by this program */
};

/* Percentiles of one window, in ms. A surface that nothing came from has 0 in both, and count 0. */
struct soak_window {
	double   at_s; /* its end */
	uint32_t life;
	struct {
		uint64_t count;
		double   p50_ms, p99_ms;
	} of[SOAK_SURFACES];
};

struct soak_series {
	struct soak_sample *samples;
	size_t              sample_count;
	struct soak_window *windows;
	size_t              window_count;
};
extern struct soak_series soak_series;

/* Room for a run of so long. */
void soak_watch_init(double seconds, double window_s);

/* Of an actor's thread. */
void soak_watch_time(enum soak_surface s, int64_t ns);

/* To be called about once a second; also while the server is down. */
void soak_watch_look(void);

/* When nobody measures any more: what came since the last window is one, too. */
void soak_watch_end(void);

/* Of the whole run. */
uint64_t soak_watch_count(enum soak_surface s);
double   soak_watch_ms(enum soak_surface s, double share);

#endif
