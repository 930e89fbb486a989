/*
 * The clocks, and the file by which a test moves them.
 */
#include "os/clock.h"

#include "base/auto.h"
#include "os/file.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NEAR_MS 60000 /* a busy machine between two reads; the moves below are far larger */
#define DAY_MS  INT64_C(86400000)

/* A clock file with these many bytes of zeros, named in the environment and mapped. Its descriptor. */
static int make_clock(size_t bytes)
{
	char path[] = "/tmp/coopd-clock-XXXXXX";
	int  fd     = mkstemp(path);

	cr_assert_geq(fd, 0);
	cr_assert_eq(ftruncate(fd, (off_t)bytes), 0);
	setenv("COOP_TEST_CLOCK", path, 1);
	clock_init();
	unlink(path);
	return fd;
}

static void move(int fd, int64_t both_ms, int64_t wall_ms)
{
	int64_t offsets[2] = { both_ms, wall_ms };

	cr_assert_eq(pwrite(fd, offsets, sizeof(offsets), 0), (ssize_t)sizeof(offsets));
}

static bool is_near(int64_t a, int64_t b)
{
	return a - b < NEAR_MS && b - a < NEAR_MS;
}

Test(clock, without_a_file_it_is_the_machine_s_time)
{
	unsetenv("COOP_TEST_CLOCK");
	clock_init();

	int64_t wall_ms = (int64_t)time(NULL) * 1000, mono_ms = clock_mono_ms();
	cr_expect(is_near(clock_wall_ms(), wall_ms));
	cr_expect_geq(clock_mono_ms(), mono_ms);
	cr_expect_lt(clock_mono_ms() - mono_ms, NEAR_MS);
}

Test(clock, the_first_number_of_the_file_moves_both_clocks)
{
	int64_t mono_ms = clock_mono_ms(), wall_ms = clock_wall_ms();
	int     fd = make_clock(16);

	cr_expect(is_near(clock_mono_ms(), mono_ms));
	move(fd, 5 * DAY_MS, 0);
	cr_expect(is_near(clock_mono_ms(), mono_ms + 5 * DAY_MS));
	cr_expect(is_near(clock_wall_ms(), wall_ms + 5 * DAY_MS));
	move(fd, 60 * DAY_MS, 0);
	cr_expect(is_near(clock_mono_ms(), mono_ms + 60 * DAY_MS), "a later write counts at once");
	close(fd);
}

Test(clock, the_second_number_moves_the_wall_clock_only)
{
	int64_t mono_ms = clock_mono_ms(), wall_ms = clock_wall_ms();
	int     fd = make_clock(16);

	move(fd, DAY_MS, -3 * DAY_MS);
	cr_expect(is_near(clock_mono_ms(), mono_ms + DAY_MS));
	cr_expect(is_near(clock_wall_ms(), wall_ms - 2 * DAY_MS));
	close(fd);
}

Test(clock, a_file_of_eight_bytes_has_no_second_number)
{
	int64_t wall_ms = clock_wall_ms(), both_ms = DAY_MS;
	int     fd = make_clock(8);

	cr_assert_eq(pwrite(fd, &both_ms, sizeof(both_ms), 0), (ssize_t)sizeof(both_ms));
	cr_expect(is_near(clock_wall_ms(), wall_ms + DAY_MS));
	close(fd);
}

/* Players' time must not hang on a file: the server that is installed does not even know the variable. */
Test(clock, the_plain_build_knows_nothing_of_it)
{
	const char           *path   = getenv("COOPD_PLAIN_BIN");
	AUTO(auto_free) char *binary = NULL;
	size_t                len;

	if (!path)
		cr_skip("COOPD_PLAIN_BIN names no server");
	cr_assert_eq(file_read(&binary, &len, path, 256 << 20), ERR_OK);
	cr_expect_null(memmem(binary, len, "COOP_TEST_CLOCK", strlen("COOP_TEST_CLOCK")));
}
