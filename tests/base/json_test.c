/*
 * JSON as it leaves the program.
 */
#include "base/json.h"

#include "base/auto.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Test(json, members_stand_in_the_order_they_were_put)
{
	AUTO(json_freep) struct json *j     = json_object_new();
	struct json                  *child = json_object_new();

	json_put_text(j, "z", "a \"quoted\" \\ \n text");
	json_put_int(j, "a", INT64_MIN);
	json_put_bool(j, "yes", true);
	json_put_bool(j, "no", false);
	json_put_int(child, "n", INT64_MAX);
	json_put_json(j, "child", child);

	AUTO(auto_free) char *text = json_text(j);
	cr_assert_not_null(text);
	cr_expect_str_eq(text, "{\"z\":\"a \\\"quoted\\\" \\\\ \\n text\",\"a\":-9223372036854775808,\"yes\":true,"
	                       "\"no\":false,\"child\":{\"n\":9223372036854775807}}");
}

Test(json, an_empty_object_is_an_object)
{
	AUTO(json_freep) struct json *j    = json_object_new();
	AUTO(auto_free) char         *text = json_text(j);

	cr_expect_str_eq(text, "{}");
}

Test(json, a_later_value_replaces_an_earlier_one)
{
	AUTO(json_freep) struct json *j = json_object_new();

	json_put_int(j, "n", 1);
	json_put_int(j, "n", 2);
	AUTO(auto_free) char *text = json_text(j);
	cr_expect_str_eq(text, "{\"n\":2}");
}

Test(json, a_lost_value_makes_the_whole_text_fail)
{
	AUTO(json_freep) struct json *j = json_object_new();

	json_put_text(j, "bad", "\xff");
	json_put_int(j, "good", 1);
	cr_expect_null(json_text(j));
}

Test(json, a_failure_inside_a_child_counts_for_the_parent)
{
	AUTO(json_freep) struct json *a     = json_object_new();
	AUTO(json_freep) struct json *b     = json_object_new();
	struct json                  *child = json_object_new();

	json_put_text(child, "bad", "\xc3");
	json_put_json(a, "child", child);
	cr_expect_null(json_text(a));
	json_put_json(b, "child", NULL);
	cr_expect_null(json_text(b));
}

Test(json, freeing_nothing_is_harmless)
{
	struct json *none = NULL;

	json_free(NULL);
	json_freep(&none);
	cr_expect_null(none);
}

Test(json, arrays_keep_their_order)
{
	AUTO(json_freep) struct json *j     = json_object_new();
	struct json                  *array = json_array_new(), *child = json_object_new();

	json_put_int(child, "n", 1);
	json_add_text(array, "b");
	json_add_json(array, child);
	json_add_text(array, "a");
	json_put_json(j, "list", array);
	json_put_null(j, "nothing");
	AUTO(auto_free) char *text = json_text(j);
	cr_expect_str_eq(text, "{\"list\":[\"b\",{\"n\":1},\"a\"],\"nothing\":null}");
}

Test(json, a_failure_inside_an_array_counts)
{
	AUTO(json_freep) struct json *a = json_array_new();
	AUTO(json_freep) struct json *b = json_array_new();

	json_add_text(a, "\xff");
	cr_expect_null(json_text(a));
	json_add_json(b, NULL);
	cr_expect_null(json_text(b));
}

static enum err parse(struct json **out, const char *text)
{
	return json_parse(out, text, strlen(text));
}

Test(json, what_was_read_is_found_by_name)
{
	AUTO(json_freep) struct json *j = NULL;
	const char                   *text;
	int64_t                       n;
	size_t                        count;

	cr_assert_eq(parse(&j, " {\"t\":\"\\u00e9\\n\",\"n\":-9223372036854775808,\"l\":[\"a\",\"b\"],\"x\":null} "),
	             ERR_OK);
	cr_expect_eq(json_get_text(&text, j, "t"), ERR_OK);
	cr_expect_str_eq(text, "\xc3\xa9\n");
	cr_expect_eq(json_get_int(&n, j, "n"), ERR_OK);
	cr_expect_eq(n, INT64_MIN);
	cr_expect_eq(json_get_array(&count, j, "l"), ERR_OK);
	cr_expect_eq(count, 2);
	cr_expect_eq(json_get_array_text(&text, j, "l", 1), ERR_OK);
	cr_expect_str_eq(text, "b");
}

Test(json, what_is_missing_or_of_another_kind_is_told_apart)
{
	AUTO(json_freep) struct json *j    = NULL;
	const char                   *text = "untouched";
	int64_t                       n    = 7;
	size_t                        count;

	cr_assert_eq(parse(&j, "{\"t\":\"a\",\"f\":1.0,\"l\":[1],\"x\":null,\"b\":true}"), ERR_OK);
	cr_expect_eq(json_get_text(&text, j, "none"), ERR_NOT_FOUND);
	cr_expect_eq(json_get_text(&text, j, "x"), ERR_NOT_FOUND);
	cr_expect_eq(json_get_text(&text, j, "f"), ERR_MALFORMED);
	cr_expect_eq(json_get_int(&n, j, "f"), ERR_MALFORMED, "1.0 is no integer");
	cr_expect_eq(json_get_int(&n, j, "b"), ERR_MALFORMED);
	cr_expect_eq(json_get_int(&n, j, "t"), ERR_MALFORMED);
	cr_expect_eq(json_get_array(&count, j, "t"), ERR_MALFORMED);
	cr_expect_eq(json_get_array_text(&text, j, "l", 0), ERR_MALFORMED);
	cr_expect_eq(json_get_array_text(&text, j, "l", 1), ERR_MALFORMED, "behind the end");
	cr_expect_eq(json_get_array_text(&text, j, "x", 0), ERR_NOT_FOUND);
	cr_expect_str_eq(text, "untouched");
	cr_expect_eq(n, 7);
}

Test(json, only_one_whole_object_is_read)
{
	static const char *const rows[] = {
		"",
		"[]",
		"1",
		"null",
		"\"a\"",
		"{",
		"{}x",
		"{} {}",
		"{\"a\":1,}",
		"{\"a\":1,\"a\":2}",
		"{'a':1}",
		"{a:1}",
		"{\"a\":01}",
		"{\"a\":+1}",
		"{\"a\":NaN}",
		"{\"a\":}",
		"{\"a\":1e999}",
		"{\"a\":\"\xff\"}",
		"{\"a\":\"\n\"}",
		"{\"a\":\"\\u0000\"}",
		"{\"a\":\"\\ud800\"}",
		"{\"a\":9223372036854775808}",
		"\xef\xbb\xbf{}",
		"{\"a\":\"\\",
	};
	struct json *j = NULL;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		cr_expect_eq(parse(&j, rows[i]), ERR_MALFORMED, "%s", rows[i]);
		cr_assert_null(j);
	}
	cr_expect_eq(json_parse(&j, "{}\0", 3), ERR_MALFORMED, "a NUL behind it");
}

/* An object that holds so many arrays, one in the other. */
static enum err parse_deep(size_t arrays)
{
	AUTO(json_freep) struct json *j    = NULL;
	char                         *text = NULL;
	size_t                        len  = 0;
	FILE                         *out  = open_memstream(&text, &len);

	cr_assert_not_null(out);
	fputs("{\"brackets in a text do not count: [[[[[[[[[[[[[[[[[[[[[\\\"[\":", out);
	for (size_t i = 0; i < arrays; i++)
		fputc('[', out);
	for (size_t i = 0; i < arrays; i++)
		fputc(']', out);
	fputc('}', out);
	fclose(out);

	enum err e = json_parse(&j, text, len);

	free(text);
	return e;
}

Test(json, depth_is_limited)
{
	cr_expect_eq(parse_deep(JSON_DEPTH_MAX - 1), ERR_OK);
	cr_expect_eq(parse_deep(JSON_DEPTH_MAX), ERR_MALFORMED);
	cr_expect_eq(parse_deep(100000), ERR_MALFORMED);
}
