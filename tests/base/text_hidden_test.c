/* What of a peer's text is shown. */
#include "base/text_hidden.h"

#include "base/auto.h"

#include <criterion/criterion.h>

Test(text_hidden, controls_directions_and_the_invisible_are_hidden)
{
	static const uint32_t hidden[] = { 0,      0x0a,   0x1f,    0x7f,    0x85,    0x9f,   0xa0,
		                           0xad,   0x200b, 0x202e,  0x2066,  0x2069,  0x3000, 0xe000,
		                           0xfe0f, 0xfeff, 0xe0041, 0xf0000, 0x10fffd };
	static const uint32_t shown[]  = { ' ', '<', '~', 0xa1, 0xae, 0x2010, 0x3001, 0xfffd, 0x1f3ae };

	for (size_t i = 0; i < COUNT_OF(hidden); i++)
		cr_expect(text_is_hidden(hidden[i]), "U+%04X", hidden[i]);
	for (size_t i = 0; i < COUNT_OF(shown); i++)
		cr_expect_not(text_is_hidden(shown[i]), "U+%04X", shown[i]);
}

Test(text_hidden, white_space_is_more_than_the_blank)
{
	static const uint32_t space[] = { ' ', '\t', '\r', 0x85, 0xa0, 0x2009, 0x2028, 0x3000 };
	static const uint32_t other[] = { 'a', 0, 0x08, 0xad, 0x200b };

	for (size_t i = 0; i < COUNT_OF(space); i++)
		cr_expect(text_is_space(space[i]), "U+%04X", space[i]);
	for (size_t i = 0; i < COUNT_OF(other); i++)
		cr_expect_not(text_is_space(other[i]), "U+%04X", other[i]);
}

Test(text_hidden, shown_text_is_utf8_without_what_is_hidden)
{
	static const struct {
		const char *in;
		size_t      len;
		const char *out;
	} cases[] = {
		{ "", 0, "" },
		{ "Homer <b>", 9, "Homer <b>" },
		{ "a\tb\nc\x7f", 6, "abc" },
		{ "a\0b", 3, "ab" },
		{ "ali\xe2\x80\xae"
		  "ce",
		  8, "alice" },
		{ "M\xfcller", 6, "M\xef\xbf\xbdller" },
		{ "\xc3\xbc", 2, "\xc3\xbc" },
		{ "\xc3\xbc", 1, "\xef\xbf\xbd" },
		{ "\xed\xa0\x80", 3, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
	};
	char out[64];

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		text_show(out, sizeof(out), cases[i].in, cases[i].len);
		cr_expect_str_eq(out, cases[i].out, "case %zu: %s", i, out);
	}
}

Test(text_hidden, showing_stops_before_what_does_not_fit)
{
	char out[7];

	text_show(out, 7, "\xff\xff\xff", 3);
	cr_expect_str_eq(out, "\xef\xbf\xbd\xef\xbf\xbd");
	text_show(out, 6, "\xff\xff", 2);
	cr_expect_str_eq(out, "\xef\xbf\xbd", "a character is whole or not there");
	text_show(out, 1, "a", 1);
	cr_expect_str_eq(out, "");
}
