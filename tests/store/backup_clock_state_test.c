#include "store/backup_clock_state.h"

#include <criterion/criterion.h>

#define HOUR INT64_C(3600000)
#define DAY  (24 * HOUR)
#define NOW  INT64_C(1800000000000)

Test(backup_clock_state, a_restart_neither_skips_nor_repeats_one)
{
	cr_expect_eq(backup_wait_first(DAY, NOW, NOW - 20 * HOUR), 4 * HOUR);
	cr_expect_eq(backup_wait_first(DAY, NOW, NOW - 1), DAY - 1);
	cr_expect_eq(backup_wait_first(DAY, NOW, NOW - DAY), BACKUP_START_MS, "first the players come back");
	cr_expect_eq(backup_wait_first(DAY, NOW, NOW - 400 * DAY), BACKUP_START_MS);
	cr_expect_eq(backup_wait_first(DAY, NOW, 0), BACKUP_START_MS, "the first of all");
	cr_expect_eq(backup_wait_first(2000, NOW, 0), 2000);
}

Test(backup_clock_state, a_clock_that_was_set_back_makes_it_wait_one_interval_at_most)
{
	cr_expect_eq(backup_wait_first(HOUR, NOW, NOW + 1), HOUR);
	cr_expect_eq(backup_wait_first(HOUR, NOW, NOW + 1000 * DAY), HOUR);
}

Test(backup_clock_state, the_interval_counts_from_begin_to_begin)
{
	cr_expect_eq(backup_wait_next(HOUR, BACKUP_GOOD, 1000), HOUR - 1000);
	cr_expect_eq(backup_wait_next(HOUR, BACKUP_GOOD, HOUR), 0);
	cr_expect_eq(backup_wait_next(HOUR, BACKUP_GOOD, 3 * HOUR), 0, "it took longer than its interval");
}

Test(backup_clock_state, a_failed_one_is_tried_again_sooner)
{
	cr_expect_eq(backup_wait_next(DAY, BACKUP_FAILED, 5), BACKUP_RETRY_MS);
	cr_expect_eq(backup_wait_next(1000, BACKUP_FAILED, 5), 1000);
	cr_expect_eq(backup_wait_next(DAY, BACKUP_BUSY, 5), BACKUP_BUSY_MS);
}
