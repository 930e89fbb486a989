/*
 * The two clocks of the kernel. In a test build a mapped file moves them, so that five minutes pass by one write of the
 * test; that code is not in any other build.
 */
#include "os/clock.h"

#include <time.h>

#ifdef COOP_TEST_CLOCK

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct offsets {
	_Atomic int64_t both_ms;
	_Atomic int64_t wall_ms;
};

static struct offsets  no_offsets;
static struct offsets *offsets = &no_offsets;

/* A test that asked for a clock and silently got the real one would wait for hours: the process ends instead. */
static void give_up(const char *path)
{
	perror(path);
	abort();
}

void clock_init(void)
{
	const char *path = getenv("COOP_TEST_CLOCK");
	struct stat st;

	if (!path)
		return;

	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) != 0)
		give_up(path);
	if ((size_t)st.st_size < sizeof(int64_t)) {
		fprintf(stderr, "%s: a test clock has at least 8 bytes\n", path);
		abort();
	}

	/* A file of 8 bytes is fine: the rest of its page reads as zero. */
	void *mem = mmap(NULL, sizeof(struct offsets), PROT_READ, MAP_SHARED, fd, 0);
	if (mem == MAP_FAILED)
		give_up(path);
	close(fd);
	offsets = mem;
}

static int64_t mono_offset_ms(void)
{
	return atomic_load(&offsets->both_ms);
}

static int64_t wall_offset_ms(void)
{
	return atomic_load(&offsets->both_ms) + atomic_load(&offsets->wall_ms);
}

#else

void clock_init(void)
{
}

static int64_t mono_offset_ms(void)
{
	return 0;
}

static int64_t wall_offset_ms(void)
{
	return 0;
}

#endif

static int64_t read_ms(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int64_t clock_mono_ms(void)
{
	return read_ms(CLOCK_MONOTONIC) + mono_offset_ms();
}

int64_t clock_wall_ms(void)
{
	return read_ms(CLOCK_REALTIME) + wall_offset_ms();
}

int64_t clock_lap_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}
