/*
 * Ownership that ends with its scope.
 */
#include "base/auto.h"

#include <criterion/criterion.h>

static int freed;

static void count_freep(int **p)
{
	if (*p)
		freed++;
}

static int *let_go_or_take(int *what, bool take)
{
	AUTO(count_freep) int *owned = what;

	return take ? TAKE(owned) : NULL;
}

Test(auto, what_is_owned_is_freed_at_the_end_of_its_scope)
{
	int thing;

	cr_expect_null(let_go_or_take(&thing, false));
	cr_expect_eq(freed, 1);
}

Test(auto, what_is_taken_out_is_not_freed)
{
	int thing;

	cr_expect_eq(let_go_or_take(&thing, true), &thing);
	cr_expect_eq(freed, 0);
}
