/*
 * Lines of the last ten seconds, and accounts that outlive their connections as long as those count.
 */
#include "signal/signal_account_state.h"

#include <criterion/criterion.h>

static struct signal_accounts a;

static void start(void)
{
	signal_accounts_init(&a, 4, 10000, 1);
}

static void stop(void)
{
	signal_accounts_fini(&a);
}

TestSuite(signal_account_state, .init = start, .fini = stop);

static void count_at(struct signal_account *account, int64_t now_ms)
{
	signal_account_lines(account, now_ms);
	signal_account_count(account);
}

Test(signal_account_state, a_line_counts_for_ten_seconds_and_not_for_eleven)
{
	struct signal_account *x = signal_account_hold(&a, "key1", 5000);

	cr_expect_eq(signal_account_lines(x, 5000), 0);
	count_at(x, 5000);
	count_at(x, 5999);
	count_at(x, 9000);
	cr_expect_eq(signal_account_lines(x, 9000), 3);
	cr_expect_eq(signal_account_lines(x, 15999), 3);
	cr_expect_eq(signal_account_lines(x, 16000), 1);
	cr_expect_eq(signal_account_lines(x, 19999), 1);
	cr_expect_eq(signal_account_lines(x, 20000), 0);
	count_at(x, 20000);
	cr_expect_eq(signal_account_lines(x, 90000), 0, "after a long silence");
	signal_account_let(&a, x, 90000);
}

Test(signal_account_state, a_long_silence_leaves_nothing_of_any_second)
{
	struct signal_account *x = signal_account_hold(&a, "key1", 0);

	for (int64_t ms = 0; ms < SIGNAL_SPAN_SLOTS * 1000; ms += 1000)
		count_at(x, ms);
	cr_expect_eq(signal_account_lines(x, 10999), SIGNAL_SPAN_SLOTS);
	cr_expect_eq(signal_account_lines(x, 99999999), 0);
	signal_account_let(&a, x, 99999999);
}

Test(signal_account_state, is_forgotten_with_its_last_holder_unless_it_has_lines)
{
	struct signal_account *x = signal_account_hold(&a, "key1", 0), *y = signal_account_hold(&a, "key2", 0);

	cr_expect_eq(signal_account_hold(&a, "key1", 0), x);
	count_at(y, 0);
	signal_account_let(&a, x, 0);
	cr_expect_eq(signal_account_find(&a, "key1"), x);
	signal_account_let(&a, x, 0);
	cr_expect_null(signal_account_find(&a, "key1"));

	signal_account_let(&a, y, 1000);
	cr_expect_eq(signal_account_find(&a, "key2"), y);
	cr_expect_eq(signal_account_hold(&a, "key2", 2000), y);
	cr_expect_eq(signal_account_lines(y, 2000), 1, "who comes back has used what he has used");
	signal_account_let(&a, y, 2000);

	x = signal_account_hold(&a, "key1", 20000);
	cr_expect_null(signal_account_find(&a, "key2"), "by then its line is forgotten");
	signal_account_let(&a, x, 20000);
	cr_expect_eq(map_count(&a.by_key), 0);
}

Test(signal_account_state, so_many_wait_for_their_lines_to_be_forgotten_and_then_the_oldest_goes)
{
	for (uint32_t i = 0; i < 5000; i++) {
		struct signal_account *x = signal_account_hold(&a, &i, 0);

		count_at(x, 0);
		signal_account_let(&a, x, 0);
	}
	cr_expect_eq(map_count(&a.by_key), a.idle_max);

	uint32_t first = 0, last = 4999;

	cr_expect_null(signal_account_find(&a, &first));
	cr_expect_not_null(signal_account_find(&a, &last));
}

Test(signal_account_state, as_many_are_held_as_was_said)
{
	signal_accounts_fini(&a);
	signal_accounts_init(&a, 4, 2, 1);
	a.pool.max = 2;

	struct signal_account *x = signal_account_hold(&a, "key1", 0), *y = signal_account_hold(&a, "key2", 0);

	cr_expect_null(signal_account_hold(&a, "key3", 0));
	signal_account_let(&a, x, 0);
	signal_account_let(&a, y, 0);
}

Test(signal_account_state, junk_is_counted_by_itself_for_as_long)
{
	struct signal_account *x = signal_account_hold(&a, "key1", 5000);

	for (uint32_t i = 1; i <= 3; i++)
		cr_expect_eq(signal_account_junk(x, 5000), i);
	cr_expect_eq(signal_account_lines(x, 5000), 0);
	cr_expect_eq(signal_account_junk(x, 15999), 4);
	cr_expect_eq(signal_account_junk(x, 16000), 2);
	signal_account_let(&a, x, 16000);
	cr_expect_eq(signal_account_hold(&a, "key1", 17000), x, "who comes back has used what he has used");
	cr_expect_eq(signal_account_junk(x, 17000), 3);
	signal_account_let(&a, x, 99000);
	cr_expect_eq(map_count(&a.by_key), 0);
}
