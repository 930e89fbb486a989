/*
 * Statistics of NAT checks: counted by day, kept for so many days, and readable.
 */
#include "store/nat.h"

#include "support/data_folder.h"

#include <criterion/criterion.h>

#define DAY_MS  INT64_C(86400000)
#define WALL_MS INT64_C(1793534400000) /* 2026-11-01 12:00 */

static const struct nat_found open_nat = { .type = 1, .mapping = 1 };

static void count(struct db *db, struct nat_found found, int64_t wall_ms, int64_t keep_days)
{
	cr_assert_eq(nat_count(db, &found, wall_ms, keep_days), ERR_OK);
}

Test(nat, the_same_result_on_one_day_is_one_row)
{
	struct db *db = data_open_db();

	count(db, open_nat, WALL_MS, 30);
	count(db, open_nat, WALL_MS + DAY_MS / 2 - 1, 30);
	cr_expect_eq(data_ask(db, "SELECT count(*) FROM nat_history"), 1);
	cr_expect_eq(data_ask(db, "SELECT checks FROM nat_history"), 2);
	count(db, open_nat, WALL_MS + DAY_MS / 2, 30);
	cr_expect_eq(data_ask(db, "SELECT count(*) FROM nat_history"), 2);
	db_close(db);
}

Test(nat, each_result_has_a_row_of_its_own)
{
	struct db *db = data_open_db();

	count(db, open_nat, WALL_MS, 30);
	count(db, (struct nat_found){ .type = 1, .mapping = 2 }, WALL_MS, 30);
	count(db, (struct nat_found){ .type = 4, .mapping = 2 }, WALL_MS, 30);
	count(db, (struct nat_found){ .type = 4, .mapping = 2, .conflict = true }, WALL_MS, 30);
	count(db, (struct nat_found){ .type = 4, .mapping = 2, .is_partial = true }, WALL_MS, 30);
	for (int reason = 1; reason <= 3; reason++)
		count(db, (struct nat_found){ .reason = reason }, WALL_MS, 30);
	cr_expect_eq(data_ask(db, "SELECT count(*) FROM nat_history WHERE checks = 1"), 8);
	db_close(db);
}

Test(nat, a_day_is_kept_as_long_as_it_may_and_not_one_longer)
{
	struct db *db = data_open_db();

	count(db, open_nat, WALL_MS, 3);
	count(db, open_nat, WALL_MS + 2 * DAY_MS, 3);
	cr_expect_eq(data_ask(db, "SELECT count(*) FROM nat_history"), 2);
	count(db, open_nat, WALL_MS + 3 * DAY_MS, 3);
	cr_expect_eq(data_ask(db, "SELECT count(*) FROM nat_history"), 2);
	cr_expect_eq(data_ask(db, "SELECT min(day) FROM nat_history"), WALL_MS / DAY_MS + 2);
	db_close(db);
}

Test(nat, people_read_it_in_words)
{
	struct db *db = data_open_db();

	count(db, (struct nat_found){ .type = 4, .mapping = 2 }, WALL_MS, 30);
	count(db, (struct nat_found){ .type = 4, .mapping = 2, .conflict = true }, WALL_MS, 30);
	count(db, (struct nat_found){ .reason = 1 }, WALL_MS, 30);
	cr_expect_eq(data_ask(db, "SELECT checks FROM nat_statistics WHERE day = '2026-11-01' AND type = 'symmetric' "
	                          "AND mapping = 'varies' AND reason = ''"),
	             2);
	cr_expect_eq(data_ask(db,
	                      "SELECT checks FROM nat_statistics WHERE type = 'unknown' AND reason = 'UDP blocked'"),
	             1);
	db_close(db);
}

Test(nat, a_result_that_does_not_exist_is_not_kept)
{
	struct db *db = data_open_db();

	cr_expect_neq(nat_count(db, &(struct nat_found){ .type = 5 }, WALL_MS, 30), ERR_OK);
	cr_expect_neq(nat_count(db, &(struct nat_found){ .reason = 4 }, WALL_MS, 30), ERR_OK);
	cr_expect_eq(data_ask(db, "SELECT count(*) FROM nat_history"), 0);
	db_close(db);
}
