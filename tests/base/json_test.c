/*
 * JSON as it leaves the program.
 */
#include "base/json.h"

#include "base/auto.h"

#include <criterion/criterion.h>
#include <stdlib.h>

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
