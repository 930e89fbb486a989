/*
 * Several threads that do the same thing again and again, and how often they did it.
 *
 * After the warm-up, what ends within the measured seconds is counted.
 */
#ifndef BENCH_LIB_REPEAT_H
#define BENCH_LIB_REPEAT_H

#include <stdint.h>

#include <sys/types.h>

struct repeat {
	uint32_t threads;
	double   warmup;                /* seconds */
	double   seconds;               /* measured */
	pid_t    pid;                   /* whose processor time is counted; 0: this process's own */
	void (*begin)(uint32_t thread); /* once, before the warm-up; NULL: nothing */
	void (*once)(uint32_t thread);  /* what is measured; ends the program when it fails */
};

/* Runs it and prints one line: transfers=N transfers_s=N seconds=N p50_us=N p99_us=N cpu_us=N cpu_share=N */
void repeat_run(const struct repeat *r);

#endif
