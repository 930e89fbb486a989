/*
 * The sliding window: at its limit and one past it, to the millisecond.
 */
#include "account/window.h"

#include "base/auto.h"

#include <criterion/criterion.h>
#include <string.h>

#define SEED 1

static const uint8_t *key(uint32_t n)
{
	static uint8_t keys[4][KEYED_KEY_BYTES];
	static size_t  turn;
	uint8_t       *k = keys[turn++ % COUNT_OF(keys)];

	memset(k, 0, KEYED_KEY_BYTES);
	memcpy(k, &n, sizeof(n));
	return k;
}

static void take_many(struct window *w, const uint8_t *k, int64_t now_ms, int n)
{
	for (int i = 0; i < n; i++)
		cr_assert(window_take(w, k, now_ms));
}

Test(window, takes_as_many_as_allowed_and_not_one_more)
{
	AUTO(window_freep) struct window *w = window_new(3, 1000, 10, SEED);

	for (int i = 0; i < 3; i++) {
		cr_expect_not(window_is_full(w, key(1), 5000));
		cr_expect(window_take(w, key(1), 5000));
	}
	cr_expect(window_is_full(w, key(1), 5000));
	cr_expect_not(window_take(w, key(1), 5000));
	cr_expect(window_take(w, key(2), 5000), "another key has a window of its own");
}

Test(window, an_event_leaves_exactly_one_span_after_it_came)
{
	AUTO(window_freep) struct window *w = window_new(2, 1000, 10, SEED);

	cr_expect(window_take(w, key(1), 5000));
	cr_expect(window_take(w, key(1), 5400));
	cr_expect_eq(window_wait_ms(w, key(1), 5400), 600);
	cr_expect_not(window_take(w, key(1), 5999));
	cr_expect_eq(window_wait_ms(w, key(1), 5999), 1);
	cr_expect_eq(window_wait_ms(w, key(1), 6000), 0);
	cr_expect(window_take(w, key(1), 6000));
	cr_expect_not(window_take(w, key(1), 6399));
	cr_expect(window_take(w, key(1), 6400));
}

Test(window, what_is_taken_back_leaves_room_for_another_and_nothing_else)
{
	AUTO(window_freep) struct window *w = window_new(3, 1000, 10, SEED);

	cr_expect(window_take(w, key(1), 5000));
	cr_expect(window_take(w, key(1), 5100));
	cr_expect(window_take(w, key(1), 5200));
	window_untake(w, key(1), 5100);
	cr_expect(window_take(w, key(1), 5300));
	cr_expect_eq(window_wait_ms(w, key(1), 5300), 700, "the first is still there");
	cr_expect_not(window_take(w, key(1), 5300));
	window_untake(w, key(1), 4999);
	window_untake(w, key(2), 5300);
	cr_expect(window_is_full(w, key(1), 5300), "what was never counted is not taken back");
}

Test(window, what_was_refused_does_not_count)
{
	AUTO(window_freep) struct window *w = window_new(1, 1000, 10, SEED);

	cr_expect(window_take(w, key(1), 0));
	for (int64_t now_ms = 1; now_ms < 1000; now_ms++)
		cr_expect_not(window_take(w, key(1), now_ms));
	cr_expect(window_take(w, key(1), 1000));
}

/* What the header promises, counted anew each time from all that was allowed. */
Test(window, no_span_ever_holds_more_than_the_limit)
{
	enum { MAX = 7, SPAN = 50, ROUNDS = 5000 };
	AUTO(window_freep) struct window *w = window_new(MAX, SPAN, 10, SEED);
	static int64_t                    taken[ROUNDS];
	int                               taken_len = 0;
	int64_t                           now_ms    = 0;
	uint32_t                          random    = 12345;

	for (int i = 0; i < ROUNDS; i++) {
		int inside = 0;

		random = random * 1664525 + 1013904223;
		now_ms += random >> 28;
		for (int j = taken_len; j > 0 && taken[j - 1] > now_ms - SPAN; j--)
			inside++;
		bool allowed = window_take(w, key(1), now_ms);
		cr_assert_eq(allowed, inside < MAX, "round %d", i);
		if (allowed)
			taken[taken_len++] = now_ms;
	}
	cr_expect_gt(taken_len, 100);
}

Test(window, a_limit_of_zero_allows_nothing)
{
	AUTO(window_freep) struct window *w = window_new(0, 1000, 10, SEED);

	cr_expect_not(window_take(w, key(1), 0));
	cr_expect(window_is_full(w, key(1), 0));
	cr_expect_eq(window_wait_ms(w, key(1), 0), 1000);
	window_note(w, key(1), 0);
	window_set_max(w, 1);
	cr_expect(window_take(w, key(1), 0));
}

Test(window, asking_counts_nothing)
{
	AUTO(window_freep) struct window *w = window_new(1, 1000, 10, SEED);

	for (int i = 0; i < 10; i++)
		cr_expect_not(window_is_full(w, key(1), i));
	cr_expect_eq(window_keys(w), 0);
	cr_expect(window_take(w, key(1), 10));
}

Test(window, a_noted_event_counts_like_one_that_was_taken)
{
	AUTO(window_freep) struct window *w = window_new(2, 1000, 10, SEED);

	window_note(w, key(1), 5000);
	cr_expect(window_take(w, key(1), 5100));
	cr_expect_not(window_take(w, key(1), 5999));
	cr_expect(window_take(w, key(1), 6000));
}

Test(window, past_events_are_restored_in_any_order)
{
	static const int64_t at_ms[] = { -100, -900, -500, -1500, -300, -700 };

	AUTO(window_freep) struct window *w = window_new(5, 1000, 10, SEED);
	for (size_t i = 0; i < COUNT_OF(at_ms); i++)
		window_note(w, key(1), at_ms[i]);

	/* Five of them are within the last second; they leave one by one. */
	cr_expect_eq(window_wait_ms(w, key(1), 0), 100);
	cr_expect(window_take(w, key(1), 100));
	cr_expect_eq(window_wait_ms(w, key(1), 100), 200);
	cr_expect(window_take(w, key(1), 300));
	cr_expect_eq(window_wait_ms(w, key(1), 300), 200);
}

Test(window, of_too_many_noted_events_the_newest_stay)
{
	AUTO(window_freep) struct window *w = window_new(2, 1000, 10, SEED);

	window_note(w, key(1), 100);
	window_note(w, key(1), 200);
	window_note(w, key(1), 300);
	cr_expect_eq(window_wait_ms(w, key(1), 300), 900, "200 and 300");
	window_note(w, key(1), 150);
	cr_expect_eq(window_wait_ms(w, key(1), 300), 900, "150 is older than both");
	window_note(w, key(1), 250);
	cr_expect_eq(window_wait_ms(w, key(1), 300), 950, "250 and 300");
}

Test(window, a_lower_limit_holds_at_once)
{
	AUTO(window_freep) struct window *w = window_new(4, 1000, 10, SEED);

	for (int i = 0; i < 4; i++)
		cr_expect(window_take(w, key(1), i * 100));
	window_set_max(w, 2);
	cr_expect_eq(window_wait_ms(w, key(1), 400), 800, "until of the four only 300 is left");
	cr_expect_not(window_take(w, key(1), 1199));
	cr_expect(window_take(w, key(1), 1200));
	cr_expect_not(window_take(w, key(1), 1200));
}

Test(window, a_higher_limit_holds_at_once)
{
	AUTO(window_freep) struct window *w = window_new(1, 1000, 10, SEED);

	cr_expect(window_take(w, key(1), 0));
	window_set_max(w, 100);
	take_many(w, key(1), 0, 99);
	cr_expect_not(window_take(w, key(1), 0));
}

Test(window, large_limits_work_round_and_round)
{
	AUTO(window_freep) struct window *w = window_new(1000, 1000, 1, SEED);

	for (int64_t now_ms = 0; now_ms < 10000; now_ms++)
		cr_assert(window_take(w, key(1), now_ms));
	cr_expect_not(window_take(w, key(1), 9999));
	take_many(w, key(1), 20000, 1000);
	cr_expect_not(window_take(w, key(1), 20999));
	cr_expect(window_take(w, key(1), 21000));
}

Test(window, keys_that_are_idle_make_room_for_new_ones)
{
	AUTO(window_freep) struct window *w = window_new(1, 1000, 4, SEED);

	for (uint32_t i = 0; i < 100; i++)
		cr_expect(window_take(w, key(i), (int64_t)i * 250), "key %u", i);
	cr_expect_leq(window_keys(w), 4);
}

Test(window, the_one_used_longest_ago_goes_first_and_none_that_counts)
{
	AUTO(window_freep) struct window *w = window_new(2, 1000, 2, SEED);

	cr_expect(window_take(w, key(1), 0));
	cr_expect(window_take(w, key(2), 100));
	cr_expect(window_take(w, key(1), 200));
	cr_expect(window_take(w, key(3), 1100), "2 is idle since 1100, 1 is not");
	cr_expect(window_take(w, key(1), 1100));
	cr_expect_not(window_take(w, key(1), 1199), "1 was not forgotten: 200 and 1100");
}

Test(window, busy_keys_do_not_hide_the_idle_ones_behind_them)
{
	AUTO(window_freep) struct window *w = window_new(2, 1000, 20, SEED);

	for (uint32_t i = 0; i < 20; i++)
		cr_expect(window_take(w, key(i), 0));
	for (uint32_t i = 0; i < 10; i++)
		cr_expect(window_take(w, key(i), 900));
	cr_expect(window_take(w, key(100), 1000));
	cr_expect_lt(window_keys(w), 20, "the ten that were quiet since 0 are no longer needed");
	for (uint32_t i = 0; i < 10; i++)
		cr_expect_eq(window_wait_ms(w, key(i), 900), 100, "key %u is still known", i);
}

Test(window, without_room_new_keys_share_one_window_and_old_ones_keep_theirs)
{
	AUTO(window_freep) struct window *w = window_new(2, 1000, 3, SEED);

	for (uint32_t i = 0; i < 3; i++)
		cr_expect(window_take(w, key(i), 0));
	cr_expect(window_take(w, key(10), 1));
	cr_expect(window_take(w, key(11), 2));
	for (uint32_t i = 10; i < 1000; i++) {
		cr_expect_not(window_take(w, key(i), 3));
		cr_expect(window_is_full(w, key(i), 3));
	}
	cr_expect_eq(window_wait_ms(w, key(500), 3), 998);
	cr_expect_eq(window_keys(w), 3);
	for (uint32_t i = 0; i < 3; i++)
		cr_expect(window_take(w, key(i), 3), "key %u has its own", i);
	cr_expect(window_take(w, key(12), 1001), "the shared window slides too");
	cr_expect(window_take(w, key(12), 1003), "and there is room again");
	cr_expect_eq(window_keys(w), 1);
}

Test(window, freeing_nothing_is_harmless)
{
	struct window *none = NULL;

	window_freep(&none);
	cr_expect_null(none);
}
