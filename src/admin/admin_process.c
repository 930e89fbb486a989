/*
 * What the process takes of the machine, as the kernel says.
 */
#include "admin/admin_figures.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINE_BYTES 256

/* "all resident shared ...", in pages. */
static void measure_memory(void)
{
	char  line[LINE_BYTES] = "";
	FILE *f                = fopen("/proc/self/statm", "re");
	char *resident;

	if (!f)
		return;
	resident = fgets(line, sizeof(line), f) ? strchr(line, ' ') : NULL;
	fclose(f);
	if (resident)
		metric_set(M_PROCESS_RESIDENT_BYTES, strtoll(resident, NULL, 10) * sysconf(_SC_PAGESIZE));
}

static int64_t count_files(void)
{
	DIR    *dir   = opendir("/proc/self/fd");
	int64_t count = -3; /* the two dots, and the folder itself */

	if (!dir)
		return 0;
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

/* Since Linux 6.2 the folder's size is how many there are; before, it is 0. */
static void measure_files(void)
{
	struct stat   st;
	struct rlimit max;

	if (stat("/proc/self/fd", &st) == 0)
		metric_set(M_PROCESS_OPEN_FDS, st.st_size > 0 ? st.st_size : count_files());
	if (getrlimit(RLIMIT_NOFILE, &max) == 0)
		metric_set(M_PROCESS_MAX_FDS, max.rlim_cur == RLIM_INFINITY ? 0 : (int64_t)max.rlim_cur);
}

static int64_t us_of(struct timeval t)
{
	return (int64_t)t.tv_sec * 1000000 + t.tv_usec;
}

static void measure_cpu(void)
{
	struct rusage used;

	if (getrusage(RUSAGE_SELF, &used) == 0)
		metric_set(M_PROCESS_CPU_US, us_of(used.ru_utime) + us_of(used.ru_stime));
}

void admin_process_measure(void)
{
	measure_memory();
	measure_files();
	measure_cpu();
}
