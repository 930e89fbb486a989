/*
 * The error table: every row is complete and says the same thing in each of its columns.
 */
#include "base/err.h"

#include <criterion/criterion.h>
#include <ctype.h>
#include <string.h>

Test(err, ok_is_zero_and_fine)
{
	cr_expect_eq((int)ERR_OK, 0);
	cr_expect_str_eq(err_name(ERR_OK), "OK");
	cr_expect_eq(err_fault(ERR_OK), ERR_FAULT_NONE);
	cr_expect_eq(err_http(ERR_OK), 200);
	cr_expect_str_eq(err_rest(ERR_OK), "ok");
	cr_expect_eq(err_tunnel(ERR_OK), 0);
	cr_expect_str_eq(err_people(ERR_OK), "fine");
}

Test(err, a_row_answers_with_its_columns)
{
	cr_expect_str_eq(err_name(ERR_LIMIT), "LIMIT");
	cr_expect_eq(err_fault(ERR_LIMIT), ERR_FAULT_PEER);
	cr_expect_eq(err_http(ERR_LIMIT), 429);
	cr_expect_str_eq(err_rest(ERR_LIMIT), "rate");
	cr_expect_eq(err_fault(ERR_STORE), ERR_FAULT_US);
	cr_expect_eq(err_tunnel(ERR_NO_GAME), 3);
}

Test(err, the_status_says_whose_fault_it_is)
{
	for (int i = 1; i < ERR_COUNT; i++) {
		enum err e = (enum err)i;
		int class  = err_http(e) / 100;

		/* What a quota has no room for is 507 by its standard (RFC 4331), though the machine is well. */
		if (e == ERR_QUOTA || e == ERR_CAMPAIGNS)
			cr_expect_eq(err_http(e), 507);
		else
			cr_expect_eq(class, err_fault(e) == ERR_FAULT_PEER ? 4 : 5, "%s", err_name(e));
	}
}

Test(err, rest_codes_are_words_for_programs_and_differ)
{
	for (int i = 0; i < ERR_COUNT; i++) {
		const char *code = err_rest((enum err)i);

		cr_expect_gt(strlen(code), 0);
		for (const char *c = code; *c; c++)
			cr_expect(islower((unsigned char)*c) || *c == '_', "%s", code);
		for (int j = 0; j < i; j++)
			cr_expect_str_neq(code, err_rest((enum err)j));
	}
}

Test(err, every_error_has_a_sentence_for_people)
{
	for (int i = 1; i < ERR_COUNT; i++)
		cr_expect_gt(strlen(err_people((enum err)i)), 10, "%s", err_name((enum err)i));
}

Test(err, a_number_that_is_no_error_answers_as_our_own_fault)
{
	cr_expect_str_eq(err_name(ERR_COUNT), "INTERNAL");
	cr_expect_eq(err_http((enum err)10000), 500);
}

Test(err, only_too_much_to_do_is_load)
{
	for (int e = ERR_OK; e < ERR_COUNT; e++)
		cr_expect_eq(err_is_load((enum err)e), e == ERR_BUSY || e == ERR_TRANSFERS, "%s",
		             err_name((enum err)e));
}
