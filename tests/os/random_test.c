/*
 * Randomness: filled, spread, within bounds.
 */
#include "os/random.h"

#include <criterion/criterion.h>
#include <stdbool.h>
#include <string.h>

Test(random, every_byte_is_filled)
{
	uint8_t seen[1000] = { 0 }, now[1000];

	/* A byte is zero sixteen times in a row once in 10^38. */
	for (int round = 0; round < 16; round++) {
		random_bytes(now, sizeof(now));
		for (size_t i = 0; i < sizeof(now); i++)
			seen[i] |= now[i];
	}
	for (size_t i = 0; i < sizeof(seen); i++)
		cr_assert_neq(seen[i], 0, "byte %zu", i);
}

Test(random, nothing_beyond_the_length_is_touched)
{
	uint8_t data[4] = { 7, 7, 7, 7 };

	random_bytes(data + 1, 0);
	cr_expect_arr_eq(data, "\x07\x07\x07\x07", 4);
	random_bytes(data + 1, 2);
	cr_expect(data[0] == 7 && data[3] == 7);
}

Test(random, two_numbers_differ)
{
	cr_expect_neq(random_u64(), random_u64());
}

Test(random, below_reaches_all_of_its_range_and_nothing_else)
{
	static const uint32_t bounds[] = { 1, 2, 3, 10 };

	for (size_t b = 0; b < sizeof(bounds) / sizeof(bounds[0]); b++) {
		unsigned hits[10] = { 0 };

		for (int i = 0; i < 10000; i++) {
			uint32_t v = random_below(bounds[b]);

			cr_assert_lt(v, bounds[b]);
			hits[v]++;
		}
		/* Even to a tenth of the whole: dozens of standard deviations. */
		for (uint32_t v = 0; v < bounds[b]; v++)
			cr_expect_geq(hits[v], 10000 / bounds[b] - 1000 + (bounds[b] == 10 ? 500 : 0));
	}
}

Test(random, below_a_bound_that_halves_the_range_badly_is_still_even)
{
	unsigned low = 0;

	/* With a bare remainder two thirds of the results would lie in the lower half of this range. */
	for (int i = 0; i < 10000; i++)
		low += random_below(UINT32_C(3) << 30) < (UINT32_C(3) << 29);
	cr_expect(low > 4500 && low < 5500, "%u", low);
}
