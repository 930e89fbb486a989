/*
 * JSON as it leaves the program, and as it comes in.
 */
#include "base/json.h"

#include "base/auto.h"

#include <criterion/criterion.h>
#include <pthread.h>
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
	json_add_null(array);
	json_add_text(array, "a");
	json_put_json(j, "list", array);
	json_put_null(j, "nothing");
	AUTO(auto_free) char *text = json_text(j);
	cr_expect_str_eq(text, "{\"list\":[\"b\",{\"n\":1},null,\"a\"],\"nothing\":null}");
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

/* The text of an object that holds so many arrays, one in the other; for free(). */
static char *deep(size_t *len, size_t arrays)
{
	char *text = NULL;
	FILE *out  = open_memstream(&text, len);

	cr_assert_not_null(out);
	fputs("{\"brackets in a text do not count: [[[[[[[[[[[[[[[[[[[[\\\"[\":", out);
	for (size_t i = 0; i < arrays; i++)
		fputc('[', out);
	for (size_t i = 0; i < arrays; i++)
		fputc(']', out);
	fputc('}', out);
	fclose(out);
	return text;
}

static enum err parse_deep(size_t arrays)
{
	AUTO(json_freep) struct json *j    = NULL;
	size_t                        len  = 0;
	AUTO(auto_free) char         *text = deep(&len, arrays);

	return json_parse(&j, text, len);
}

Test(json, depth_is_limited)
{
	cr_expect_eq(parse_deep(JSON_DEPTH_MAX - 1), ERR_OK);
	cr_expect_eq(parse_deep(JSON_DEPTH_MAX), ERR_MALFORMED);
	cr_expect_eq(parse_deep(100000), ERR_MALFORMED);
}

/* Leniently */

static enum err parse_lenient(struct json **out, const char *text, size_t len)
{
	return json_parse_lenient(out, text, len, JSON_LENIENT_DEPTH_MAX);
}

Test(json, a_lenient_reader_is_strict_about_what_is_no_JSON)
{
	static const struct {
		const char *text;
		enum err    expected;
	} rows[] = {
		{ "", ERR_OK },
		{ "{}", ERR_OK },
		{ " \t\r\n{ \"a\" : 1 } \t\r\n", ERR_OK },
		{ "{\"a\":1,\"a\":2}", ERR_OK },
		{ "{\"a\":\"\\u0000\"}", ERR_OK },
		{ "{\"a\":9223372036854775807}", ERR_OK },
		{ "{\"a\":-9223372036854775808}", ERR_OK },
		{ "{\"a\":1e308}", ERR_OK },
		{ "{\"a\":1e-400}", ERR_OK },
		{ "{\"a\":\"\\ud83d\\ude80\"}", ERR_OK },
		{ " ", ERR_MALFORMED },
		{ "[]", ERR_MALFORMED },
		{ "null", ERR_MALFORMED },
		{ "\"a\"", ERR_MALFORMED },
		{ "1", ERR_MALFORMED },
		{ "{} {}", ERR_MALFORMED },
		{ "{}x", ERR_MALFORMED },
		{ "{\"a\":1,}", ERR_MALFORMED },
		{ "{\"a\":9223372036854775808}", ERR_MALFORMED },
		{ "{\"a\":-9223372036854775809}", ERR_MALFORMED },
		{ "{\"a\":1e400}", ERR_MALFORMED },
		{ "{\"a\":[{\"b\":-1e400}]}", ERR_MALFORMED },
		{ "{\"a\":NaN}", ERR_MALFORMED },
		{ "{\"a\":-Infinity}", ERR_MALFORMED },
		{ "\xef\xbb\xbf{}", ERR_MALFORMED },
		{ "{\"a\":\"\xff\"}", ERR_MALFORMED },
		{ "{\"a\":\"\xc0\x80\"}", ERR_MALFORMED },
		{ "{\"a\":\"\xed\xa0\x80\"}", ERR_MALFORMED },
		{ "{\"\xff\":1}", ERR_MALFORMED },
		{ "{\"a\":\"\\ud800\"}", ERR_MALFORMED },
		{ "{\"a\":\"\\udc00\"}", ERR_MALFORMED },
		{ "{\"a\":\"\\ud800\\ud800\"}", ERR_MALFORMED },
		{ "{\"a\":\"\n\"}", ERR_MALFORMED },
		{ "{\"\\u0000\":1}", ERR_MALFORMED },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO(json_freep) struct json *j = NULL;

		cr_expect_eq(parse_lenient(&j, rows[i].text, strlen(rows[i].text)), rows[i].expected, "%s",
		             rows[i].text);
		cr_expect_eq(j != NULL, rows[i].expected == ERR_OK);
	}

	struct json *j = NULL;
	cr_expect_eq(parse_lenient(&j, "{}\0", 3), ERR_MALFORMED, "a NUL behind it");
	cr_expect_eq(parse_lenient(&j, "{\"a\":\"\0\"}", 9), ERR_MALFORMED, "a NUL as it is");
	cr_assert_null(j);
}

Test(json, members_are_told_by_their_kind)
{
	AUTO(json_freep) struct json *j = NULL;
	const char *text                = "{\"n\":null,\"t\":true,\"f\":false,\"i\":-5,\"r\":1.5,\"s\":\"a\\u0000b\","
					  "\"a\":[1,[2]],\"o\":{\"x\":{},\"y\":1}}";
	size_t      len                 = 0;

	cr_assert_eq(parse_lenient(&j, text, strlen(text)), ERR_OK);
	cr_expect_eq(json_kind(j, "none"), JSON_IS_MISSING);
	cr_expect_eq(json_kind(j, "n"), JSON_IS_NULL);
	cr_expect_eq(json_kind(j, "t"), JSON_IS_BOOL);
	cr_expect(json_member_bool(j, "t"));
	cr_expect_eq(json_kind(j, "f"), JSON_IS_BOOL);
	cr_expect_not(json_member_bool(j, "f"));
	cr_expect_eq(json_kind(j, "i"), JSON_IS_INTEGER);
	cr_expect_eq(json_member_int(j, "i"), -5);
	cr_expect_eq(json_kind(j, "r"), JSON_IS_REAL);
	cr_expect_eq(json_member_real(j, "r"), 1.5);
	cr_expect_eq(json_kind(j, "s"), JSON_IS_STRING);
	cr_expect_arr_eq(json_member_string(&len, j, "s"), "a\0b", 4);
	cr_expect_eq(len, 3);
	cr_expect_eq(json_kind(j, "a"), JSON_IS_ARRAY);
	cr_expect_eq(json_member_size(j, "a"), 2);
	cr_expect_eq(json_kind(j, "o"), JSON_IS_OBJECT);
	cr_expect_eq(json_member_size(j, "o"), 2);
}

Test(json, any_member_has_a_text)
{
	static const struct {
		const char *key, *text;
	} rows[] = {
		{ "n", "null" },
		{ "t", "true" },
		{ "i", "-5" },
		{ "r", "100.0" },
		{ "s", "\"a\\u0000\xc3\xa9\"" },
		{ "a", "[1,[2]]" },
		{ "o", "{\"x\":{}}" },
	};
	AUTO(json_freep) struct json *j    = NULL;
	const char                   *text = "{\"n\":null,\"t\":true,\"i\":-5,\"r\":1e2,\"s\":\"a\\u0000\\u00e9\","
					     "\"a\":[ 1, [ 2 ] ],\"o\":{ \"x\" : { } }}";

	cr_assert_eq(parse_lenient(&j, text, strlen(text)), ERR_OK);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO(auto_free) char *got = json_member_text(j, rows[i].key);

		cr_assert_not_null(got);
		cr_expect_str_eq(got, rows[i].text);
	}
	cr_expect_null(json_member_text(j, "none"));
}

Test(json, an_object_inside_outlives_the_one_around_it)
{
	static const char text[] = "{\"o\":{\"x\":7},\"a\":[]}";
	struct json      *j      = NULL, *inside;

	cr_assert_eq(parse_lenient(&j, text, strlen(text)), ERR_OK);
	cr_expect_null(json_member_object(j, "none"));
	cr_expect_null(json_member_object(j, "a"));
	inside = json_member_object(j, "o");
	json_free(j);
	cr_assert_not_null(inside);
	cr_expect_eq(json_member_int(inside, "x"), 7);
	json_free(inside);
}

static enum err parse_deep_lenient(size_t arrays, size_t depth_max)
{
	AUTO(json_freep) struct json *j    = NULL;
	size_t                        len  = 0;
	AUTO(auto_free) char         *text = deep(&len, arrays);

	return json_parse_lenient(&j, text, len, depth_max);
}

Test(json, a_lenient_reader_takes_the_depth_it_is_told)
{
	cr_expect_eq(parse_deep_lenient(126, 127), ERR_OK);
	cr_expect_eq(parse_deep_lenient(127, 127), ERR_MALFORMED);
	cr_expect_eq(parse_deep_lenient(100000, 127), ERR_MALFORMED);
	cr_expect_eq(parse_deep_lenient(1, 2), ERR_OK);
	cr_expect_eq(parse_deep_lenient(1, 1), ERR_MALFORMED);
}

/* Reads, writes and frees the deepest there is, as arrays and as objects. */
static void *on_a_small_stack(void *arg)
{
	size_t       len  = 0;
	char        *text = deep(&len, JSON_LENIENT_DEPTH_MAX - 1), *copy = NULL;
	struct json *j    = NULL;
	bool        *done = arg;

	if (parse_lenient(&j, text, len) == ERR_OK) {
		copy  = json_text(j);
		*done = copy && strlen(copy) == len;
	}
	json_free(j);
	free(copy);
	free(text);

	/* {"a":{"a": ... 1 ... }} */
	char objects[6 * JSON_LENIENT_DEPTH_MAX + 2] = "";

	j = NULL;
	for (size_t i = 0; i < JSON_LENIENT_DEPTH_MAX; i++)
		strcat(objects, "{\"a\":");
	strcat(objects, "1");
	for (size_t i = 0; i < JSON_LENIENT_DEPTH_MAX; i++)
		strcat(objects, "}");
	copy  = parse_lenient(&j, objects, strlen(objects)) == ERR_OK ? json_member_text(j, "a") : NULL;
	*done = *done && copy;
	free(copy);
	json_free(j);
	return NULL;
}

/* Connections have threads of 256 KiB: half of that has to be enough. */
Test(json, the_deepest_object_fits_on_a_small_stack)
{
	pthread_attr_t attr;
	pthread_t      thread;
	bool           done = false;

	cr_assert_eq(pthread_attr_init(&attr), 0);
	cr_assert_eq(pthread_attr_setstacksize(&attr, (size_t)128 * 1024), 0);
	cr_assert_eq(pthread_create(&thread, &attr, on_a_small_stack, &done), 0);
	pthread_join(thread, NULL);
	pthread_attr_destroy(&attr);
	cr_expect(done);
}

Test(json, members_one_by_one_and_numbers_with_fractions)
{
	static const char text[] =
		"{\"b\":[1,2.75,\"x\",1e300],\"a\":-3.9,\"c\":null,\"d\":9223372036854775807,\"e\":\"1\"}";
	struct json *j = NULL;
	int64_t      n = 0;

	cr_assert_eq(json_parse(&j, text, strlen(text)), ERR_OK);
	cr_expect_str_eq(json_next_member(j, NULL), "b", "in the order in which they came");
	cr_expect_str_eq(json_next_member(j, json_next_member(j, NULL)), "a");
	const char *last = NULL;
	for (const char *name = NULL; (name = json_next_member(j, name));)
		last = name;
	cr_expect_str_eq(last, "e");
	cr_expect_eq(json_get_array_number(&n, j, "b", 1), ERR_OK);
	cr_expect_eq(n, 2);
	cr_expect_eq(json_get_array_int(&n, j, "b", 1), ERR_MALFORMED, "that would be cut off");
	cr_expect_eq(json_get_array_int(&n, j, "b", 0), ERR_OK);
	cr_expect_eq(json_get_array_int(&n, j, "b", 4), ERR_MALFORMED);
	cr_expect_eq(json_get_array_number(&n, j, "b", 2), ERR_MALFORMED);
	cr_expect_eq(json_get_array_number(&n, j, "b", 3), ERR_MALFORMED, "it fits into no integer");
	cr_expect_eq(json_get_array_number(&n, j, "b", 4), ERR_MALFORMED, "nothing is there");
	cr_expect_eq(json_get_number(&n, j, "a"), ERR_OK);
	cr_expect_eq(n, -3);
	cr_expect_eq(json_get_number(&n, j, "d"), ERR_OK);
	cr_expect_eq(n, INT64_MAX);
	cr_expect_eq(json_get_number(&n, j, "c"), ERR_NOT_FOUND);
	cr_expect_eq(json_get_number(&n, j, "z"), ERR_NOT_FOUND);
	cr_expect_eq(json_get_number(&n, j, "e"), ERR_MALFORMED);
	json_free(j);
}
