/*
 * The language of the scenarios, and the patterns in it: a test that reads wrong would pass for the wrong reason.
 */
#include "scenario/script.h"
#include "support/pattern.h"

#include <criterion/criterion.h>

#include <string.h>

static struct script parse(const char *text)
{
	struct script s;
	char          why[200];

	cr_assert(script_parse(&s, text, why, sizeof(why)), "%s", why);
	return s;
}

Test(script, a_line_of_statements_becomes_steps_in_order)
{
	struct script s =
		parse("# who\nat 1m5s host opens key=A ; host gets CODE as $C # why\n\nfriend gets STATE closed, "
	              "then is closed\n");

	cr_assert_eq(s.count, 4);
	cr_expect_eq(s.steps[0].line, 2);
	cr_expect_eq(s.steps[0].when, SCRIPT_AT);
	cr_expect_eq(s.steps[0].time_ms, 65000);
	cr_expect_str_eq(s.steps[0].words[2], "key=A");
	cr_expect_eq(s.steps[1].when, SCRIPT_NOW);
	cr_expect_eq(s.steps[1].word_count, 5);
	cr_expect_str_eq(s.steps[1].words[4], "$C");
	cr_expect_eq(s.steps[3].line, 4);
	cr_expect_str_eq(s.steps[3].words[0], "friend");
	cr_expect_str_eq(s.steps[3].words[1], "is");
	script_free(&s);
}

Test(script, a_time_may_stand_on_a_line_of_its_own)
{
	struct script s = parse("by 5m20s not before 5m10s\n\tfriend is closed\nhost gets nothing");

	cr_assert_eq(s.count, 2);
	cr_expect_eq(s.steps[0].when, SCRIPT_BY);
	cr_expect_eq(s.steps[0].time_ms, 320000);
	cr_expect_eq(s.steps[0].not_before_ms, 310000);
	cr_expect_eq(s.steps[1].when, SCRIPT_NOW);
	cr_expect_eq(s.steps[1].not_before_ms, 0);
	script_free(&s);
}

Test(script, a_quoted_text_is_one_word)
{
	struct script s = parse("host sends datagram 1 \"a; b, # c\" ; host sends datagram 1 \"\"");

	cr_assert_eq(s.count, 2);
	cr_expect_str_eq(s.steps[0].words[4], "\"a; b, # c");
	cr_expect_str_eq(s.steps[1].words[4], "\"");
	script_free(&s);
}

Test(script, what_is_no_script_is_refused_with_its_line)
{
	static const char *const wrong[] = { "host",
		                             "host opens\nhost",
		                             "at 5 host opens",
		                             "at host opens",
		                             "by 5s not after 3s host is closed",
		                             "at 1s at 2s host opens",
		                             "host is closed, and gone",
		                             "host sends datagram \"hi",
		                             "host opens\nat 5s\n",
		                             "; host opens" };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct script s;
		char          why[200] = "";

		cr_expect_not(script_parse(&s, wrong[i], why, sizeof(why)), "taken: %s", wrong[i]);
		cr_expect_eq(strncmp(why, "line ", 5), 0, "%s", why);
	}
}

Test(script, times_add_their_units)
{
	int64_t ms;

	cr_expect(script_time(&ms, "1d2h3m4s5ms") && ms == 93784005);
	cr_expect_not(script_time(&ms, ""));
	cr_expect_not(script_time(&ms, "5"));
	cr_expect_not(script_time(&ms, "s"));
	cr_expect_not(script_time(&ms, "5x"));
}

Test(pattern, holes_rest_groups_and_texts_match_what_they_say)
{
	static const struct {
		const char *text;
		const char *bytes;
		size_t      len;
		bool        matches;
	} cases[] = {
		{ "01 02", "\x01\x02", 2, true },
		{ "0102", "\x01\x02", 2, true },
		{ "01 02", "\x01\x03", 2, false },
		{ "01 02", "\x01\x02\x03", 3, false },
		{ "01 02", "\x01", 1, false },
		{ "01 ??", "\x01\xff", 2, true },
		{ "01 ??", "\x01", 1, false },
		{ "01 *", "\x01", 1, true },
		{ "01 *", "\x01\x02\x03", 3, true },
		{ "01 *", "\x02", 1, false },
		{ "'hi'", "hi", 2, true },
		{ "(01 ?? )x2", "\x01\x07\x01\x08", 4, true },
		{ "(01)x3 02", "\x01\x01\x01\x02", 4, true },
		{ "(01)x0 02", "\x02", 1, true },
		{ "(01)x3", "\x01\x01", 2, false },
		{ "", "", 0, true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pattern p;

		pattern_read(&p, cases[i].text);
		cr_expect_eq(pattern_matches(&p, cases[i].bytes, cases[i].len), cases[i].matches, "%s", cases[i].text);
	}
}

Test(pattern, what_is_no_pattern_is_refused)
{
	static const char *const wrong[] = { "0",    "0g",    "?",   "* 01",     "(01",
		                             "(01)", "(01)x", "'hi", "(01 *)x2", "(65537)x66001" };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct pattern p;
		const char    *why;

		pattern_clear(&p);
		cr_expect_not(pattern_add_text(&p, wrong[i], &why), "taken: %s", wrong[i]);
	}
}
