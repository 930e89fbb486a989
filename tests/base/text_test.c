/*
 * Text in fixed buffers: at the end of the buffer and one past it.
 */
#include "base/text.h"

#include "base/auto.h"

#include <criterion/criterion.h>
#include <string.h>

Test(text, copy_fits_up_to_one_less_than_the_buffer)
{
	char out[5];

	cr_expect(text_copy(out, sizeof(out), "four"));
	cr_expect_str_eq(out, "four");
	cr_expect_not(text_copy(out, sizeof(out), "fives"));
	cr_expect_str_eq(out, "five");
	cr_expect_not(text_copy(out, 0, "x"));
	cr_expect_str_eq(out, "five");
	cr_expect(text_copy(out, 1, ""));
	cr_expect_str_eq(out, "");
}

Test(text, format_says_whether_all_fitted)
{
	char out[5];

	cr_expect(text_format(out, sizeof(out), "%d", 1234));
	cr_expect_str_eq(out, "1234");
	cr_expect_not(text_format(out, sizeof(out), "%d", 12345));
	cr_expect_str_eq(out, "1234");
}

Test(text, case_is_ignored_for_ascii_letters_only)
{
	static const struct {
		const char *a, *b;
		bool        same;
	} cases[] = {
		{ "", "", true },
		{ "WebSocket", "websocket", true },
		{ "a", "ab", false },
		{ "ab", "a", false },
		{ "[", "{", false },
		{ "@", "`", false },
		{ "Z", "z", true },
		{ "\xc4", "\xe4", false },
		{ "h2c", "websocket", false },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++)
		cr_expect_eq(text_same_nocase(cases[i].a, cases[i].b), cases[i].same, "%s %s", cases[i].a, cases[i].b);
}

Test(text, trim_takes_blanks_and_tabs_at_both_ends)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
		{ "", "" },     { " \t ", "" },         { "a", "a" },     { " a", "a" },
		{ "a\t", "a" }, { "\t a b \t", "a b" }, { "\na", "\na" },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const char *text = cases[i].in;
		size_t      len  = strlen(text);

		text_trim(&text, &len);
		cr_expect_eq(len, strlen(cases[i].out), "case %zu", i);
		cr_expect_eq(memcmp(text, cases[i].out, len), 0, "case %zu", i);
	}
}

Test(text, escape_leaves_nothing_but_printable_ascii)
{
	uint8_t all[256];
	char    out[4 * 256 + 1];

	for (int i = 0; i < 256; i++)
		all[i] = (uint8_t)i;
	text_escape(out, sizeof(out), all, sizeof(all));
	for (const char *c = out; *c; c++)
		cr_expect(*c >= ' ' && *c <= '~' && *c != '"');
	cr_expect_eq(strlen(out), 93 + 2 + (256 - 94) * 4);
}

Test(text, escape_cuts_before_a_form_that_does_not_fit)
{
	static const struct {
		const char *in;
		size_t      cap;
		const char *out;
	} cases[] = {
		{ "1234567", 8, "1234567" },
		{ "12345678", 8, "1234..." },
		{ "a\nb\\", 20, "a\\x0ab\\\\" },
		{ "\x01\x02", 9, "\\x01\\x02" },
		{ "\x01\x02", 8, "\\x01..." },
		{ "\x01"
		  "2345",
		  9, "\\x012345" },
		{ "\x01"
		  "23456",
		  9, "\\x012..." },
		{ "12\x01"
		  "34",
		  8, "12..." },
		{ "\\\\\\\\", 9, "\\\\\\\\\\\\\\\\" },
		{ "\\\\\\\\", 8, "\\\\\\\\..." },
		{ "x\" game=9", 20, "x\\x22 game=9" },
		{ "\"\"", 8, "\\x22..." },
		{ "", 8, "" },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		AUTO(auto_free) char *out = malloc(cases[i].cap); /* of exactly this size, so that one past it shows */

		text_escape(out, cases[i].cap, cases[i].in, strlen(cases[i].in));
		cr_expect_str_eq(out, cases[i].out, "case %zu: %s", i, out);
	}
}

Test(text, what_is_no_utf8_becomes_question_marks)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
		{ "", "" },
		{ "plain", "plain" },
		{ "gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f" },
		{ "\xe2\x82\xac \xf0\x9f\x8e\xae", "\xe2\x82\xac \xf0\x9f\x8e\xae" },
		{ "cut\xc3", "cut?" },
		{ "cut\xe2\x82", "cut??" },
		{ "cut\xf0\x9f\x8e", "cut???" },
		{ "\x80lone", "?lone" },
		{ "\xc0\x80", "??" }, /* longer than needed */
		{ "\xe0\x9f\xbf", "???" },
		{ "\xf0\x8f\xbf\xbf", "????" },
		{ "\xed\xa0\x80", "???" }, /* half a surrogate pair */
		{ "\xed\x9f\xbf", "\xed\x9f\xbf" },
		{ "\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf" },
		{ "\xf4\x90\x80\x80", "????" }, /* past the last character */
		{ "\xff\xfe", "??" },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		char text[16];

		text_copy(text, sizeof(text), cases[i].in);
		text_make_utf8(text);
		cr_expect_str_eq(text, cases[i].out, "case %zu", i);
	}
}

Test(text, UTF_8_is_known_by_its_characters)
{
	static const struct {
		const char *text;
		bool        is_utf8;
	} cases[] = {
		{ "", true },
		{ "plain", true },
		{ "\xc3\xbc \xe2\x82\xac \xf0\x9f\x98\x80", true },
		{ "\xf4\x8f\xbf\xbf", true }, /* the last there is */
		{ "\xf4\x90\x80\x80", false },
		{ "cut \xc3", false },
		{ "cut \xe2\x82", false },
		{ "\x80", false },
		{ "\xff", false },
		{ "\xc0\xaf", false },     /* could be shorter */
		{ "\xed\xa0\x80", false }, /* half of a pair */
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++)
		cr_expect_eq(text_is_utf8(cases[i].text, strlen(cases[i].text)), cases[i].is_utf8, "case %zu", i);
	cr_expect(text_is_utf8("a\0b", 3), "a NUL is a character like any other");
	cr_expect(text_is_utf8("\xc3\xbc", 2));
	cr_expect_not(text_is_utf8("\xc3\xbc", 1), "what is behind the end does not count");
}

Test(text, numbers_are_digits_within_bounds)
{
	static const struct {
		const char *text;
		int64_t     min, max, value;
	} good[] = {
		{ "0", 0, 0, 0 },
		{ "-0", 0, 0, 0 },
		{ "10", 0, 10, 10 },
		{ "-5", -5, 5, -5 },
		{ "007", 0, 10, 7 },
		{ "9223372036854775807", 0, INT64_MAX, INT64_MAX },
		{ "-9223372036854775808", INT64_MIN, 0, INT64_MIN },
	};

	for (size_t i = 0; i < COUNT_OF(good); i++) {
		int64_t v = 99;

		cr_expect_eq(text_to_int(&v, good[i].text, good[i].min, good[i].max), ERR_OK, "%s", good[i].text);
		cr_expect_eq(v, good[i].value, "%s", good[i].text);
	}
}

Test(text, all_else_is_no_number_and_leaves_out_alone)
{
	static const char *bad[] = { "",
		                     "-",
		                     "+1",
		                     " 1",
		                     "1 ",
		                     "1a",
		                     "0x1",
		                     "1.0",
		                     "1e3",
		                     "--1",
		                     "11",
		                     "-11",
		                     "१",
		                     "1\n",
		                     "9223372036854775808",
		                     "-9223372036854775809",
		                     "99999999999999999999" };

	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		int64_t v = 99;

		cr_expect_eq(text_to_int(&v, bad[i], -10, 10), ERR_MALFORMED, "%s", bad[i]);
		cr_expect_eq(text_to_int(&v, bad[i], 100, INT64_MAX), ERR_MALFORMED, "%s", bad[i]);
		cr_expect_eq(v, 99);
	}
}

Test(text, distance_counts_changed_characters)
{
	static const struct {
		const char *a, *b;
		size_t      cap, distance;
	} cases[] = {
		{ "", "", 5, 0 },
		{ "listen", "listen", 5, 0 },
		{ "listen", "lisen", 5, 1 },
		{ "lisen", "listen", 5, 1 },
		{ "listen", "lusten", 5, 1 },
		{ "listen", "lsiten", 5, 2 },
		{ "", "abc", 5, 3 },
		{ "abc", "", 5, 3 },
		{ "kitten", "sitting", 5, 3 },
		{ "kitten", "sitting", 3, 3 },
		{ "kitten", "sitting", 2, 2 },
	};
	char longest[65];

	for (size_t i = 0; i < COUNT_OF(cases); i++)
		cr_expect_eq(text_distance(cases[i].a, cases[i].b, cases[i].cap), cases[i].distance, "case %zu", i);

	memset(longest, 'x', 63);
	longest[63] = '\0';
	cr_expect_eq(text_distance(longest, longest, 3), 0);
	cr_expect_eq(text_distance(longest, "x", 100), 62);
	longest[63] = 'x';
	longest[64] = '\0';
	cr_expect_eq(text_distance(longest, longest, 3), 3, "words that long are never near");
}

Test(text, what_is_shown_of_a_peers_bytes_is_clean)
{
	static const struct {
		const char *in;
		size_t      len, chars;
		const char *out;
	} cases[] = {
		{ "", 0, 64, "" },
		{ "Level 1", 7, 64, "Level 1" },
		{ "a\tb\nc\rd", 7, 64, "a b c d" },
		{ "a\0b", 3, 64, "a b" },
		{ "\x1f\x20\x7e\x7f", 4, 64, "  ~ " },
		{ "\xc2\x80\xc2\x9f\xc2\xa0", 6, 64, "  \xc2\xa0" },
		{ "M\xfcller", 6, 64, "M\xef\xbf\xbdller" },
		{ "\xc3\xbc", 1, 64, "\xef\xbf\xbd" },
		{ "\xc0\xaf", 2, 64, "\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xed\xa0\x80", 3, 64, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xf0\x9f\x8e\xae!", 5, 64, "\xf0\x9f\x8e\xae!" },
		{ "\xf0\x9f\x8e\xae!", 5, 1, "\xf0\x9f\x8e\xae" },
		{ "abcdef", 6, 5, "abcde" },
		{ "\xff\xff\xff", 3, 2, "\xef\xbf\xbd\xef\xbf\xbd" },
		{ "abc", 3, 0, "" },
	};
	char out[65 * 4];

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		text_clean(out, sizeof(out), cases[i].in, cases[i].len, cases[i].chars);
		cr_expect_str_eq(out, cases[i].out, "case %zu: %s", i, out);
	}
}

Test(text, cleaning_stops_before_what_does_not_fit)
{
	char out[4];

	cr_expect_eq(text_length("ab"), 2);

	text_clean(out, 4, "ab\xc3\xbc", 4, 64);
	cr_expect_str_eq(out, "ab", "a character is whole or not there");
	text_clean(out, 1, "ab", 2, 64);
	cr_expect_str_eq(out, "");
}

Test(text, a_character_is_whole_and_of_the_shortest_form)
{
	static const struct {
		const char *bytes;
		size_t      len, expected;
		uint32_t    code;
	} rows[] = {
		{ "a", 1, 1, 'a' },
		{ "\0", 1, 1, 0 },
		{ "\x7f", 1, 1, 0x7f },
		{ "\xc2\x80", 2, 2, 0x80 },
		{ "\xdf\xbf", 2, 2, 0x7ff },
		{ "\xe0\xa0\x80", 3, 3, 0x800 },
		{ "\xef\xbf\xbf", 3, 3, 0xffff },
		{ "\xf0\x90\x80\x80", 4, 4, 0x10000 },
		{ "\xf4\x8f\xbf\xbf", 4, 4, 0x10ffff },
		{ "\xc3\xa9xyz", 5, 2, 0xe9 },
		{ "\x80", 1, 0, 0 },
		{ "\xc1\xbf", 2, 0, 0 },
		{ "\xc3", 1, 0, 0 },
		{ "\xc3(", 2, 0, 0 },
		{ "\xe0\x9f\xbf", 3, 0, 0 },
		{ "\xed\xa0\x80", 3, 0, 0 },
		{ "\xed\xbf\xbf", 3, 0, 0 },
		{ "\xe2\x82\xac", 2, 0, 0 },
		{ "\xf0\x8f\xbf\xbf", 4, 0, 0 },
		{ "\xf4\x90\x80\x80", 4, 0, 0 },
		{ "\xf8\x88\x80\x80", 4, 0, 0 },
		{ "\xff", 1, 0, 0 },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		uint32_t code = 12345;

		cr_expect_eq(text_char(&code, rows[i].bytes, rows[i].len), rows[i].expected, "row %zu", i);
		cr_expect_eq(code, rows[i].expected ? rows[i].code : 12345, "row %zu", i);
	}
}
