/*
 * What is held at the same moment, per key.
 */
#include "account/count.h"

#include "base/auto.h"

#include <criterion/criterion.h>
#include <signal.h>
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

Test(count, holds_as_many_as_allowed_and_not_one_more)
{
	AUTO(count_freep) struct count *c = count_new(2, 10, SEED);

	cr_expect(count_take(c, key(1)));
	cr_expect(count_take(c, key(1)));
	cr_expect_not(count_take(c, key(1)));
	cr_expect_eq(count_held(c, key(1)), 2);
	cr_expect(count_take(c, key(2)), "another key counts for itself");
	count_give(c, key(1));
	cr_expect(count_take(c, key(1)), "what was given back can be taken again");
	cr_expect_not(count_take(c, key(1)));
}

Test(count, what_is_added_counts_beyond_the_most_and_is_given_back_alike)
{
	AUTO(count_freep) struct count *c = count_new(1, 10, SEED);

	count_add(c, key(1));
	cr_expect_not(count_take(c, key(1)));
	count_add(c, key(1));
	cr_expect_eq(count_held(c, key(1)), 2);
	count_give(c, key(1));
	cr_expect_not(count_take(c, key(1)));
	count_give(c, key(1));
	cr_expect_eq(count_keys(c), 0);
	cr_expect(count_take(c, key(1)));
}

Test(count, a_key_that_holds_nothing_is_forgotten)
{
	AUTO(count_freep) struct count *c = count_new(5, 10, SEED);

	for (uint32_t i = 0; i < 1000; i++) {
		cr_assert(count_take(c, key(i)));
		cr_assert(count_take(c, key(i)));
		count_give(c, key(i));
		cr_assert_eq(count_keys(c), 1);
		count_give(c, key(i));
		cr_assert_eq(count_keys(c), 0);
		cr_assert_eq(count_held(c, key(i)), 0);
	}
}

Test(count, a_most_of_zero_allows_nothing_and_keeps_nothing)
{
	AUTO(count_freep) struct count *c = count_new(0, 10, SEED);

	cr_expect_not(count_take(c, key(1)));
	cr_expect_eq(count_keys(c), 0);
}

Test(count, a_changed_most_holds_at_once_and_takes_nothing_away)
{
	AUTO(count_freep) struct count *c = count_new(3, 10, SEED);

	for (int i = 0; i < 3; i++)
		cr_expect(count_take(c, key(1)));
	count_set_max(c, 1);
	cr_expect_eq(count_held(c, key(1)), 3);
	count_give(c, key(1));
	cr_expect_not(count_take(c, key(1)));
	count_give(c, key(1));
	cr_expect_not(count_take(c, key(1)));
	count_set_max(c, 2);
	cr_expect(count_take(c, key(1)));
	cr_expect_not(count_take(c, key(1)));
}

Test(count, without_room_new_keys_share_one_count)
{
	AUTO(count_freep) struct count *c = count_new(4, 2, SEED);

	cr_expect(count_take(c, key(1)));
	cr_expect(count_take(c, key(2)));
	for (uint32_t i = 10; i < 14; i++)
		cr_expect(count_take(c, key(i)));
	cr_expect_not(count_take(c, key(14)));
	cr_expect_eq(count_held(c, key(14)), 4);
	cr_expect(count_take(c, key(1)), "who was there before notices nothing");
	count_give(c, key(10));
	cr_expect(count_take(c, key(14)));
	cr_expect_eq(count_keys(c), 2);
}

Test(count, what_was_taken_in_the_shared_count_goes_back_there)
{
	AUTO(count_freep) struct count *c = count_new(4, 1, SEED);

	cr_expect(count_take(c, key(1)));
	cr_expect(count_take(c, key(2))); /* shared */
	count_give(c, key(1));
	cr_expect(count_take(c, key(2))); /* its own: there is room now */
	cr_expect_eq(count_keys(c), 1);
	count_give(c, key(2));
	cr_expect_eq(count_keys(c), 0);
	count_give(c, key(2));

	/* Nothing is left in either place: both hold their full number again. */
	for (int i = 0; i < 4; i++)
		cr_expect(count_take(c, key(1)));
	for (int i = 0; i < 4; i++)
		cr_expect(count_take(c, key(2)));
	cr_expect_not(count_take(c, key(1)));
	cr_expect_not(count_take(c, key(2)));
}

Test(count, giving_back_what_was_never_taken_is_our_bug, .signal = SIGABRT)
{
	AUTO(count_freep) struct count *c = count_new(4, 1, SEED);

	count_give(c, key(1));
}

Test(count, freeing_nothing_is_harmless)
{
	struct count *none = NULL;

	count_freep(&none);
	cr_expect_null(none);
}
