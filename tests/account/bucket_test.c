/*
 * The token bucket: the burst, the rate, and what a quiet while gives back.
 */
#include "account/bucket.h"

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

static int take_all(struct bucket *b, uint32_t k, int64_t now_ms)
{
	int n = 0;

	while (n < 100000 && bucket_take(b, key(k), now_ms))
		n++;
	return n;
}

Test(bucket, a_new_key_has_the_whole_burst_and_not_one_more)
{
	AUTO(bucket_freep) struct bucket *b = bucket_new(20, 60, 10, SEED);

	cr_expect_eq(take_all(b, 1, 5000), 60);
	cr_expect_eq(take_all(b, 2, 5000), 60, "another key has a bucket of its own");
	cr_expect_eq(take_all(b, 1, 5000), 0);
}

Test(bucket, tokens_come_back_at_the_rate_to_the_millisecond)
{
	AUTO(bucket_freep) struct bucket *b = bucket_new(20, 60, 10, SEED);

	take_all(b, 1, 0);
	cr_expect_not(bucket_take(b, key(1), 49));
	cr_expect(bucket_take(b, key(1), 50));
	cr_expect_not(bucket_take(b, key(1), 99));
	cr_expect(bucket_take(b, key(1), 100));
	cr_expect_eq(take_all(b, 1, 1100), 20);
}

Test(bucket, asking_too_often_does_not_slow_the_rate)
{
	AUTO(bucket_freep) struct bucket *b     = bucket_new(3, 1, 10, SEED);
	int                               taken = 0;

	/* A third of a second is no whole number of milliseconds; nothing is lost to rounding. */
	for (int64_t now_ms = 0; now_ms <= 10000; now_ms++)
		taken += bucket_take(b, key(1), now_ms);
	cr_expect(taken == 30 || taken == 31, "%d", taken);
}

Test(bucket, a_quiet_while_gives_the_burst_and_no_more)
{
	AUTO(bucket_freep) struct bucket *b = bucket_new(20, 60, 10, SEED);

	take_all(b, 1, 0);
	cr_expect_eq(take_all(b, 1, 2950), 59);
	cr_expect_eq(take_all(b, 1, INT64_MAX / 2), 60);
}

Test(bucket, high_rates_and_long_whiles_do_not_overflow)
{
	AUTO(bucket_freep) struct bucket *b = bucket_new(1000000000000, 1000000000000, 10, SEED);

	for (int i = 0; i < 1000; i++)
		cr_assert(bucket_take(b, key(1), INT64_MAX / 1000 * i));
}

Test(bucket, time_that_stands_still_or_goes_back_gives_nothing)
{
	AUTO(bucket_freep) struct bucket *b = bucket_new(1000, 2, 10, SEED);

	cr_expect_eq(take_all(b, 1, 1000), 2);
	cr_expect_eq(take_all(b, 1, 900), 0);
	cr_expect_eq(take_all(b, 1, 901), 1);
}

Test(bucket, a_changed_rate_and_burst_hold_at_once)
{
	AUTO(bucket_freep) struct bucket *b = bucket_new(20, 60, 10, SEED);

	for (int i = 0; i < 30; i++)
		cr_assert(bucket_take(b, key(1), 0));
	bucket_set(b, 1, 31);
	cr_expect_eq(take_all(b, 1, 0), 1);
	cr_expect_not(bucket_take(b, key(1), 999));
	cr_expect(bucket_take(b, key(1), 1000));
	bucket_set(b, 1, 100);
	cr_expect_eq(take_all(b, 1, 1000), 69);
	bucket_set(b, 1, 5);
	cr_expect_eq(take_all(b, 1, 1000), 0);
	cr_expect_eq(take_all(b, 2, 1000), 5);
}

Test(bucket, full_buckets_make_room_for_new_keys)
{
	AUTO(bucket_freep) struct bucket *b = bucket_new(20, 60, 4, SEED);

	/* One token is back after 50 ms; then the key can be forgotten without a loss. */
	for (uint32_t i = 0; i < 100; i++)
		cr_expect(bucket_take(b, key(i), (int64_t)i * 50));
	cr_expect_leq(bucket_keys(b), 4);
}

Test(bucket, without_room_new_keys_share_one_bucket)
{
	AUTO(bucket_freep) struct bucket *b     = bucket_new(1, 10, 3, SEED);
	int                               taken = 0;

	for (uint32_t i = 0; i < 3; i++)
		cr_expect(bucket_take(b, key(i), 0));
	for (uint32_t i = 10; i < 1000; i++)
		taken += take_all(b, i, 0);
	cr_expect_eq(taken, 10);
	cr_expect_eq(bucket_keys(b), 3);
	cr_expect_eq(take_all(b, 0, 0), 9, "who was there before notices nothing");
}

Test(bucket, freeing_nothing_is_harmless)
{
	struct bucket *none = NULL;

	bucket_freep(&none);
	cr_expect_null(none);
}
