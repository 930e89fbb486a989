/*
 * What was asked for: parts of the path, parameters, members of the body.
 */
#include "api/api_inside.h"
#include "base/auto.h"
#include "support/api_request.h"

#include <criterion/criterion.h>
#include <string.h>

Test(api_ask, decodes_what_an_address_cannot_have)
{
	static const struct {
		const char *text, *want; /* want NULL: it is not decodable */
	} rows[] = {
		{ "", "" },         { "abc", "abc" }, { "a%20b", "a b" },       { "%C3%a4", "\xc3\xa4" },
		{ "%2525", "%25" }, { "%", NULL },    { "%4", NULL },           { "%4g", NULL },
		{ "a%", NULL },     { "%%41", NULL }, { "1234567", "1234567" }, { "12345678", NULL },
	};
	char   out[8];
	size_t len;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		enum err e = api_decode(out, sizeof(out), &len, rows[i].text);

		cr_expect_eq(e, rows[i].want ? ERR_OK : ERR_MALFORMED, "%s", rows[i].text);
		if (rows[i].want && e == ERR_OK)
			cr_expect(strcmp(out, rows[i].want) == 0 && len == strlen(out), "%s", rows[i].text);
	}
	cr_expect_eq(api_decode(out, sizeof(out), &len, "a%00b"), ERR_OK);
	cr_expect_eq(len, 3, "a NUL is for the caller to see");
}

Test(api_ask, an_id_is_16_lower_case_hex_digits)
{
	static const char *const bad[] = { "",
		                           "00112233445566a",
		                           "00112233445566aa0",
		                           "00112233445566AA",
		                           "00112233445566ag",
		                           "0x112233445566aa",
		                           " 0112233445566aa" };
	uint8_t                  id[8];

	cr_expect(api_id(id, "00112233445566aa"));
	cr_expect_eq(id[7], 0xaa);
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		cr_expect_not(api_id(id, bad[i]), "%s", bad[i]);
}

Test(api_ask, a_key_in_a_path_is_what_a_list_wrote)
{
	static const struct {
		const char *bytes;
		size_t      len;
	} rows[] = { { "plain-1_a.b", 11 }, { ".hidden", 7 }, { "", 0 },  { "a b", 3 },
		     { "\xc3\xa4", 2 },     { "a\0b", 3 },    { "~x", 2 } };

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO(json_freep) struct json *j = json_object_new();
		struct api_request            r;
		const char                   *text;
		uint8_t                       out[64];
		size_t                        len = 99;

		api_put_key(j, "key", rows[i].bytes, rows[i].len);
		cr_assert_eq(json_get_text(&text, j, "key"), ERR_OK);
		cr_expect_eq(strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-_.~"), strlen(text), "%s", text);
		api_request_init(&r, NULL, text, NULL);
		cr_expect_eq(api_path_key(out, sizeof(out), &len, &r.call, 0), ERR_OK, "%s", text);
		cr_expect(len == rows[i].len && memcmp(out, rows[i].bytes, len) == 0, "%s", text);
		api_request_fini(&r);
	}
}

Test(api_ask, a_key_that_none_wrote_is_not_there)
{
	static const char *const bad[] = { "~0", "~zz", "~c3a", "~00112233445566", "toolong" };
	uint8_t                  out[6];
	size_t                   len;

	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct api_request r;

		api_request_init(&r, NULL, bad[i], NULL);
		cr_expect_eq(api_path_key(out, sizeof(out), &len, &r.call, 0), ERR_NOT_FOUND, "%s", bad[i]);
		api_request_fini(&r);
	}
}

Test(api_ask, a_number_in_a_path_has_bounds)
{
	static const struct {
		const char *part;
		enum err    e;
	} rows[] = { { "1", ERR_OK },         { "9", ERR_OK },         { "0", ERR_NOT_FOUND }, { "10", ERR_NOT_FOUND },
		     { "-1", ERR_NOT_FOUND }, { "1x", ERR_NOT_FOUND }, { "+1", ERR_NOT_FOUND } };
	int64_t n;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct api_request r;

		api_request_init(&r, NULL, rows[i].part, NULL);
		cr_expect_eq(api_path_int(&n, &r.call, 0, 1, 9), rows[i].e, "%s", rows[i].part);
		api_request_fini(&r);
	}
}

/* --- The query --- */

Test(api_ask, a_query_has_only_what_the_route_knows)
{
	static const struct api_route reads = { .query = "limit cursor q" }, acts = { .action = "a.b" };
	static const struct {
		const struct api_route *route;
		const char             *query;
		enum err                e;
	} rows[] = {
		{ &reads, NULL, ERR_OK },
		{ &reads, "", ERR_OK },
		{ &reads, "limit=1&q=&cursor", ERR_OK },
		{ &reads, "&&limit=1&", ERR_OK },
		{ &reads, "limi=1", ERR_MALFORMED },
		{ &reads, "limits=1", ERR_MALFORMED },
		{ &reads, "limit cursor=1", ERR_MALFORMED },
		{ &reads, "q=1&q=2", ERR_MALFORMED },
		{ &reads, "dry_run=1", ERR_MALFORMED },
		{ &acts, "dry_run=1", ERR_OK },
		{ &acts, "dry_run=1&dry_run=1", ERR_MALFORMED },
		{ &acts, "q=1", ERR_MALFORMED },
		{ &reads, "a_name_that_is_much_longer_than_any_parameter_there_is=1", ERR_MALFORMED },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct api_request r;

		api_request_init(&r, rows[i].query, NULL, NULL);
		cr_expect_eq(api_query_check(&r.call, rows[i].route), rows[i].e, "%s", rows[i].query);
		api_request_fini(&r);
	}
}

/* --- The body --- */

Test(api_ask, members_of_a_body_are_of_their_type_and_within_their_bounds)
{
	struct api_request r;
	int64_t            n;
	bool               flag;
	char               text[6];
	uint8_t            id[8];

	api_request_init(&r, NULL, NULL,
	                 "{\"n\":3,\"real\":3.0,\"flag\":true,\"text\":\"abcde\",\"long\":\"abcdef\",\"line\":"
	                 "\"a\\nb\","
	                 "\"id\":\"00112233445566aa\",\"null\":null}");
	cr_expect(api_body_int(&n, &r.call, "n", 0, 3, 9) == ERR_OK && n == 3);
	cr_expect_eq(api_body_int(&n, &r.call, "n", 0, 2, 9), ERR_INVALID);
	cr_expect_not_null(strstr(r.call.problem, "n is"), "%s", r.call.problem);
	cr_expect_eq(api_body_int(&n, &r.call, "real", 0, 5, 9), ERR_INVALID);
	cr_expect(api_body_int(&n, &r.call, "missing", 0, 3, 9) == ERR_OK && n == 9);
	cr_expect(api_body_int(&n, &r.call, "null", 0, 3, 9) == ERR_OK && n == 9);
	cr_expect(api_body_bool(&flag, &r.call, "flag", false) == ERR_OK && flag);
	cr_expect(api_body_bool(&flag, &r.call, "null", true) == ERR_OK && flag);
	cr_expect_eq(api_body_bool(&flag, &r.call, "n", false), ERR_INVALID);
	cr_expect(api_body_text(text, sizeof(text), &r.call, "text") == ERR_OK && strcmp(text, "abcde") == 0);
	cr_expect_eq(api_body_text(text, sizeof(text), &r.call, "long"), ERR_INVALID);
	cr_expect_eq(api_body_text(text, sizeof(text), &r.call, "line"), ERR_INVALID);
	cr_expect(api_body_text(text, sizeof(text), &r.call, "missing") == ERR_OK && !*text);
	cr_expect_eq(api_body_id(id, &r.call, "id"), ERR_OK);
	cr_expect_eq(api_body_id(id, &r.call, "text"), ERR_INVALID);
	cr_expect_eq(api_body_id(id, &r.call, "missing"), ERR_INVALID);
	api_request_fini(&r);
}

Test(api_ask, a_member_that_is_not_known_is_named)
{
	static const char *const known[] = { "a", NULL };
	struct api_request       r;

	api_request_init(&r, NULL, NULL, "{\"a\":1,\"evil\\u200b\\n\":2}");
	cr_expect_eq(api_body_only(&r.call, known), ERR_UNKNOWN);
	cr_expect_not_null(strstr(r.call.problem, "\"evil"), "%s", r.call.problem);
	cr_expect_null(strchr(r.call.problem, '\n'));
	cr_expect_null(strstr(r.call.problem, "\xe2\x80\x8b"));
	api_request_fini(&r);
}
