/*
 * The lowest of many, against sorting them all.
 */
#include "base/lowest.h"

#include "support/dice.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#define MANY 300

static int by_value(const void *a, const void *b)
{
	int one = *(const int *)a, other = *(const int *)b;

	return one < other ? -1 : one > other;
}

Test(lowest, are_the_first_of_all_in_order)
{
	static int values[MANY], sorted[MANY];

	dice_seed(11);

	for (size_t count = 0; count <= MANY; count += 17) {
		for (size_t i = 0; i < count; i++)
			sorted[i] = values[i] = (int)dice_below(100);
		qsort(sorted, count, sizeof(sorted[0]), by_value);
		for (size_t cap = 1; cap <= MANY; cap = cap * 2 + 1) {
			void         *room[MANY];
			struct lowest l;

			lowest_init(&l, room, cap < MANY ? cap : MANY, by_value);
			for (size_t i = 0; i < count; i++)
				lowest_offer(&l, &values[i]);
			lowest_sort(&l);
			cr_assert_eq(l.count, count < l.cap ? count : l.cap);
			for (size_t i = 0; i < l.count; i++)
				cr_expect_eq(*(int *)l.items[i], sorted[i]);
		}
	}
}
