#include "base/fold.h"

#include "base/auto.h"

#include <criterion/criterion.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <wctype.h>

static bool is_in(const char *part, const char *text)
{
	struct fold f;

	fold_init(&f, part);
	return fold_is_in(&f, text);
}

Test(fold, finds_a_part_in_any_case)
{
	static const struct {
		const char *part, *text;
		bool        found;
	} cases[] = {
		{ "", "", true },
		{ "", "anything", true },
		{ "a", "", false },
		{ "isl", "The ISLAND", true },
		{ "ISLAND", "the island", true },
		{ "islands", "the island", false },
		{ "nd", "island", true },
		{ "\xc3\xbc"
		  "bung",
		  "\xc3\x9c"
		  "BUNG",
		  true },                                                                 /* ü, Ü */
		{ "\xd0\xbe\xd1\x81\xd1\x82", "\xd0\x9e\xd0\xa1\xd0\xa2\xd0\xa0", true }, /* ост, ОСТР */
		{ "\xce\xa3", "\xcf\x82", true },                                         /* Σ, ς */
		{ "\xc5\xa0", "\xc5\xa1koda", true },                                     /* Š, š */
		{ "aab", "aaab", true },
		{ "\xc3\x97", "\xc3\xb7", false }, /* × and ÷ are no letters */
		{ "@", "`", false },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++)
		cr_expect_eq(is_in(cases[i].part, cases[i].text), cases[i].found, "%s in %s", cases[i].part,
		             cases[i].text);
}

Test(fold, a_part_may_be_so_long)
{
	char text[FOLD_CHARS_MAX + 2];

	memset(text, 'A', sizeof(text));
	text[FOLD_CHARS_MAX + 1] = '\0';
	cr_expect(is_in(text + 1, text));
	cr_expect_not(is_in(text, text));
}

/* Where the C library knows of a small letter in our ranges, it is ours, too. */
Test(fold, is_what_the_c_library_says)
{
	locale_t l = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);

	if (l == (locale_t)0)
		cr_skip("there is no locale C.UTF-8 here");
	for (wint_t c = 0; c < 0x530; c++) {
		bool beyond = (c > 0x17e && c < 0x386) || (c > 0x3ab && c < 0x400) || c == 0x130 || c == 0x4c0;

		if (!beyond)
			cr_expect_eq(fold_char((uint32_t)c), (uint32_t)towlower_l(c, l), "U+%04X", (unsigned)c);
	}
	freelocale(l);
}
