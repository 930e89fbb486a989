#include "lib_usage.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	if (clock_gettime(clock, &t))
		err(1, "clock_gettime");
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int64_t usage_now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

int64_t usage_cpu_ns(pid_t pid)
{
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock))
		errx(1, "no processor clock of process %d", (int)pid);
	return clock_ns(clock);
}

int64_t usage_rss_bytes(pid_t pid)
{
	char path[64];
	char line[256];
	long kib = -1;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);

	FILE *f = fopen(path, "re");
	if (!f)
		err(1, "%s", path);
	while (kib < 0 && fgets(line, sizeof(line), f))
		if (strncmp(line, "VmRSS:", 6) == 0)
			kib = strtol(line + 6, NULL, 10);
	fclose(f);
	if (kib < 0)
		errx(1, "%s has no VmRSS", path);
	return kib * 1024LL;
}
