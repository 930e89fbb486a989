/* Leaks of tests are found: if this fails, none is looked for anywhere. */
#include "support/leaks.h"

#include <criterion/criterion.h>

Test(leaks, are_looked_for_in_every_test)
{
	cr_expect(leaks_is_test());
}
