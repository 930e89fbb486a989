/*
 * How often the log says the same: so many lines a second, and how many more there would have been.
 */
#include "os/log_lines.h"

#include <criterion/criterion.h>

#define NOW_MS INT64_C(50000)

static struct log_lines lines;

static void start(void)
{
	log_lines_init(&lines);
}

static void stop(void)
{
	log_lines_fini(&lines);
}

TestSuite(log_lines, .init = start, .fini = stop);

/* How many of so many are told; what is said of earlier ones is added to *before. */
static int take(int count, int64_t now_ms, int64_t *before)
{
	int told = 0;

	for (int i = 0; i < count; i++) {
		int64_t earlier;

		told += log_lines_take(&earlier, &lines, now_ms);
		*before += earlier;
	}
	return told;
}

Test(log_lines, twenty_a_second_are_told_and_the_rest_is_counted)
{
	int64_t before = 0;

	cr_expect_eq(take(LOG_LINES, NOW_MS, &before), 20);
	cr_expect_eq(take(1, NOW_MS + 999, &before), 0, "one past it");
	cr_expect_eq(take(6, NOW_MS + 999, &before), 0);
	cr_expect_eq(before, 0, "nothing is said before the second has ended");
	cr_expect_eq(take(21, NOW_MS + 1000, &before), 20);
	cr_expect_eq(before, 7);
	cr_expect_eq(take(1, NOW_MS + 2000, &before), 1);
	cr_expect_eq(before, 8, "each is counted once");
	cr_expect_eq(take(1, NOW_MS + 9000, &before), 1);
	cr_expect_eq(before, 8);
}

Test(log_lines, the_rest_is_told_when_nobody_comes_any_more)
{
	int64_t before = 0;

	cr_expect_eq(take(25, NOW_MS, &before), 20);
	cr_expect_eq(log_lines_rest(&lines, NOW_MS + 999), 0);
	cr_expect_eq(log_lines_rest(&lines, NOW_MS + 1000), 5);
	cr_expect_eq(log_lines_rest(&lines, NOW_MS + 9000), 0);
	cr_expect_eq(take(1, NOW_MS + 9000, &before), 1);
	cr_expect_eq(before, 0);
}

/* A thread that read the clock a little earlier than another. */
Test(log_lines, a_clock_that_is_a_little_behind_counts_in_the_same_second)
{
	int64_t before = 0;

	cr_expect_eq(take(20, NOW_MS, &before), 20);
	cr_expect_eq(take(1, NOW_MS - 5, &before), 0);
	cr_expect_eq(take(1, NOW_MS + 1000, &before), 1);
	cr_expect_eq(before, 1);
}
