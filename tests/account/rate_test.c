#include "account/rate.h"

#include <criterion/criterion.h>
#include <stdint.h>

/* 10 in 1000 ms, 3 at once. */
static bool take(struct rate *r, int64_t amount, int64_t now_ms)
{
	bool has = rate_has(r, amount, 10, 1000, 3, now_ms);
	bool got = rate_take(r, amount, 10, 1000, 3, now_ms);

	cr_expect_eq(has, got, "asking first tells the truth");
	return got;
}

Test(rate, a_burst_is_there_at_first_and_then_one_by_one)
{
	struct rate r = { 0 };

	cr_expect(take(&r, 1, 5000));
	cr_expect(take(&r, 2, 5000));
	cr_expect_not(take(&r, 1, 5000));
	cr_expect_not(take(&r, 1, 5099));
	cr_expect(take(&r, 1, 5100));
	cr_expect_not(take(&r, 1, 5100));
}

Test(rate, a_quiet_while_brings_the_burst_back_and_no_more)
{
	struct rate r = { 0 };

	cr_expect(take(&r, 3, 0));
	cr_expect_not(take(&r, 4, 1000000), "more than the burst is never there");
	cr_expect(take(&r, 3, 1000000));
	cr_expect_not(take(&r, 1, 1000000));
}

Test(rate, asking_takes_nothing)
{
	struct rate r = { 0 };

	for (int i = 0; i < 10; i++)
		cr_expect(rate_has(&r, 3, 10, 1000, 3, 0));
	cr_expect(take(&r, 3, 0));
}

Test(rate, a_refusal_takes_nothing)
{
	struct rate r = { 0 };

	cr_expect(take(&r, 2, 0));
	for (int i = 0; i < 10; i++)
		cr_expect_not(take(&r, 2, 0));
	cr_expect(take(&r, 1, 0));
}

Test(rate, the_largest_numbers_do_not_overflow)
{
	struct rate r = { 0 };

	cr_expect(rate_take(&r, 1000000000000, 1000000000000, 1000, 1000000000000, 1));
	cr_expect_not(rate_has(&r, 1, 1000000000000, 1000, 1000000000000, 1));
	cr_expect(rate_has(&r, 1000000000000, 1000000000000, 1000, 1000000000000, INT64_MAX));
}
