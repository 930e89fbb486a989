/*
 * What one address may have, and all of its network together: each at its limit and one past it.
 */
#include "account/both.h"

#include <criterion/criterion.h>

#define SEED    1
#define MAX     3
#define NOW     5000
#define SPAN_MS 1000

/* An address of that network; network 0: one that lies in none. */
static struct both_keys who(uint8_t network, uint8_t address)
{
	return (struct both_keys){ .address = { network, address }, .wide = { network }, .has_wide = network != 0 };
}

/* Each of the three through one door, so that one test holds for all. */
struct both {
	const char *name;
	bool (*take)(const struct both_keys *k, int64_t now_ms);
};

static struct both_count  counts;
static struct both_window windows;
static struct both_bucket buckets;

static bool take_count(const struct both_keys *k, int64_t now_ms)
{
	(void)now_ms;
	return both_count_take(&counts, k);
}

static bool take_window(const struct both_keys *k, int64_t now_ms)
{
	return both_window_take(&windows, k, now_ms);
}

static bool take_bucket(const struct both_keys *k, int64_t now_ms)
{
	return both_bucket_take(&buckets, k, now_ms);
}

static const struct both all[] = { { "count", take_count }, { "window", take_window }, { "bucket", take_bucket } };

static void set_up(void)
{
	cr_assert(both_count_init(&counts, MAX, 100, SEED));
	cr_assert(both_window_init(&windows, MAX, SPAN_MS, 100, SEED));
	cr_assert(both_bucket_init(&buckets, 1, MAX, 100, SEED));
}

static void tear_down(void)
{
	both_count_fini(&counts);
	both_window_fini(&windows);
	both_bucket_fini(&buckets);
}

TestSuite(both, .init = set_up, .fini = tear_down);

/* How many of so many are granted. */
static int take_many(const struct both *b, uint8_t network, uint8_t address, int count)
{
	struct both_keys k       = who(network, address);
	int              granted = 0;

	for (int i = 0; i < count; i++)
		granted += b->take(&k, NOW);
	return granted;
}

Test(both, an_address_has_its_limit_and_no_other_s)
{
	for (const struct both *b = all; b < all + 3; b++) {
		cr_expect_eq(take_many(b, 0, 1, MAX + 1), MAX, "%s", b->name);
		cr_expect_eq(take_many(b, 0, 2, MAX + 1), MAX, "%s", b->name);
		cr_expect_eq(take_many(b, 1, 1, MAX + 1), MAX, "%s", b->name);
	}
}

Test(both, a_network_has_eight_times_as_much_and_no_more)
{
	for (const struct both *b = all; b < all + 3; b++) {
		for (uint8_t i = 0; i < BOTH_FACTOR; i++)
			cr_expect_eq(take_many(b, 1, i, MAX), MAX, "%s %d", b->name, i);
		cr_expect_eq(take_many(b, 1, BOTH_FACTOR, 1), 0, "%s", b->name);
		cr_expect_eq(take_many(b, 2, 1, 1), 1, "%s: another network", b->name);
		cr_expect_eq(take_many(b, 0, 1, 1), 1, "%s: one without a network", b->name);
	}
}

Test(both, those_without_a_network_have_nothing_in_common)
{
	for (const struct both *b = all; b < all + 3; b++) {
		for (uint8_t i = 0; i < 2 * BOTH_FACTOR; i++)
			cr_expect_eq(take_many(b, 0, i, MAX), MAX, "%s %d", b->name, i);
	}
}

/* The address keeps all of its own when it was the network that had no more. */
Test(both, a_count_that_is_refused_is_not_held)
{
	struct both_keys full = who(1, 0), late = who(1, BOTH_FACTOR);

	for (uint8_t i = 0; i < BOTH_FACTOR; i++)
		take_many(&all[0], 1, i, MAX);
	cr_expect_not(both_count_take(&counts, &late));
	cr_expect_eq(count_held(counts.of_address, late.address), 0);
	for (int i = 0; i < MAX; i++)
		both_count_give(&counts, &full);
	cr_expect_eq(take_many(&all[0], 1, BOTH_FACTOR, MAX + 1), MAX);
	cr_expect_eq(count_keys(counts.of_wide), 1);
}

Test(both, a_window_counts_no_refusal)
{
	struct both_keys k = who(1, 1), late = who(1, BOTH_FACTOR + 1);

	for (int i = 0; i < MAX; i++) {
		cr_expect_not(both_window_is_full(&windows, &k, NOW));
		cr_expect(both_window_take(&windows, &k, NOW + i));
	}
	cr_expect(both_window_is_full(&windows, &k, NOW + MAX));
	for (int i = 0; i < BOTH_FACTOR * MAX; i++)
		cr_expect_not(both_window_take(&windows, &k, NOW + MAX));
	for (uint8_t i = 2; i <= BOTH_FACTOR; i++)
		cr_expect_eq(take_many(&all[1], 1, i, MAX), MAX);
	cr_expect(both_window_is_full(&windows, &late, NOW + MAX));
	cr_expect_not(both_window_take(&windows, &late, NOW + MAX));
	cr_expect_not(both_window_take(&windows, &late, NOW + SPAN_MS - 1));
	cr_expect_not(both_window_is_full(&windows, &late, NOW + SPAN_MS));
	for (int i = 0; i < MAX; i++)
		cr_expect(both_window_take(&windows, &late, NOW + SPAN_MS));
	cr_expect_not(both_window_take(&windows, &late, NOW + SPAN_MS));
}

/* Who could not be made all of lets go of all of it, also of a pair that let go by itself. */
Test(both, what_was_freed_may_be_freed_again)
{
	for (int times = 0; times < 2; times++)
		tear_down();
	cr_expect_null(counts.of_address);
	cr_expect_null(windows.of_wide);
	cr_expect_null(buckets.of_address);
}
