/*
 * What a process has used so far.
 */
#ifndef BENCH_LIB_USAGE_H
#define BENCH_LIB_USAGE_H

#include <stdint.h>

#include <sys/types.h>

/* Monotonic. */
int64_t usage_now_ns(void);

/*
 * Processor time of all threads of a process, user and system, in nanoseconds.  It is the clock behind
 * utime + stime of /proc/PID/stat without their rounding to 10 ms.
 */
int64_t usage_cpu_ns(pid_t pid);

/* Resident memory in bytes. */
int64_t usage_rss_bytes(pid_t pid);

#endif
