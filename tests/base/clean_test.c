/*
 * Texts for people. Which characters go, one by one, is what tests/lobby/lobby_wire_test.c looks at.
 */
#include "base/clean.h"

#include "base/auto.h"
#include "base/text.h"

#include <criterion/criterion.h>
#include <string.h>

static const char *clean(const char *text, size_t chars, const char *bad)
{
	static char out[CLEAN_BYTES(64)];

	clean_text(out, chars, text, strlen(text), bad);
	cr_expect(text_is_utf8(out, strlen(out)));
	return out;
}

Test(clean, bytes_that_are_no_characters_are_shown_or_removed)
{
	static const char text[] = "a\xff\xc3\xbc\xe2\x82z";

	cr_expect_str_eq(clean(text, 64, CLEAN_BAD_IS_SHOWN), "a\xef\xbf\xbd\xc3\xbc\xef\xbf\xbd\xef\xbf\xbdz");
	cr_expect_str_eq(clean(text, 64, CLEAN_BAD_IS_REMOVED), "a\xc3\xbcz");
}

Test(clean, what_is_shown_for_them_takes_a_place_and_what_is_removed_does_not)
{
	cr_expect_str_eq(clean("\xff\nabc", 3, CLEAN_BAD_IS_SHOWN), "\xef\xbf\xbd\xef\xbf\xbd"
	                                                            "a");
	cr_expect_str_eq(clean("\xff\xff\nabc", 3, CLEAN_BAD_IS_REMOVED), "abc");
	cr_expect_str_eq(clean("\xff", 0, CLEAN_BAD_IS_SHOWN), "");
}

Test(clean, a_text_of_the_largest_characters_fits)
{
	char text[64 * 4 + 1] = "";

	for (int i = 0; i < 64; i++)
		memcpy(text + i * 4, "\xf0\x9f\x90\xb1", 5);
	cr_expect_str_eq(clean(text, 64, CLEAN_BAD_IS_SHOWN), text);
	cr_expect_eq(strlen(clean(text, 63, CLEAN_BAD_IS_SHOWN)), 63 * 4);
}

Test(clean, what_turns_or_hides_a_text_goes)
{
	static const char text[] = "\xe2\x80\xae"
				   "live\xe2\x80\x8b\t\x1b[31m\x7f<b>";

	cr_expect_str_eq(clean(text, 64, CLEAN_BAD_IS_REMOVED), "live[31m<b>");
	cr_expect_str_eq(clean(text, 64, CLEAN_BAD_IS_SHOWN), "\xef\xbf\xbdlive\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
	                                                      "[31m\xef\xbf\xbd<b>");
}

Test(clean, trimming_takes_white_space_of_any_kind_from_both_ends_only)
{
	const char *text = " \t\xe3\x80\x80\xc2\xa0"
			   "a b\xe2\x80\xa8 \n";
	size_t      len  = strlen(text);

	clean_trim(&text, &len);
	cr_expect_eq(len, 3);
	cr_expect_arr_eq(text, "a b", 3);
	text = " \n ";
	len  = 3;
	clean_trim(&text, &len);
	cr_expect_eq(len, 0);
}
