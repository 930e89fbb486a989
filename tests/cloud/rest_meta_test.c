/*
 * What requests say in their fields.
 */
#include "cloud/rest.h"

#include "base/auto.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* --- Coop-Meta --- */

Test(rest_meta, says_what_the_bytes_are)
{
	struct rest_meta m;

	cr_assert_eq(rest_meta_parse(&m,
	                             "{\"name\":\"Island\",\"level\":\"mines\",\"checkpoint\":\"lift\",\"stamp\":"
	                             "1700000000,"
	                             "\"players\":[\"0011223344556677\",\"ffeeddccbbaa9988\"],\"more\":{\"a\":[1]}}"),
	             ERR_OK);
	cr_expect_str_eq(m.shown.name, "Island");
	cr_expect_str_eq(m.shown.level, "mines");
	cr_expect_str_eq(m.shown.checkpoint, "lift");
	cr_expect_str_eq(m.shown.hostname, "");
	cr_expect_eq(m.shown.stamp, 1700000000);
	cr_expect_not(m.shown.is_container);
	cr_assert_eq(m.player_count, 2);
	cr_expect_arr_eq(m.players[1], "\xff\xee\xdd\xcc\xbb\xaa\x99\x88", 8);
}

Test(rest_meta, everything_may_be_left_out)
{
	struct rest_meta m;

	cr_assert_eq(rest_meta_parse(&m, "{}"), ERR_OK);
	cr_expect_str_eq(m.shown.name, "");
	cr_expect_eq(m.shown.stamp, 0);
	cr_expect_eq(m.player_count, 0);
	cr_expect_eq(rest_meta_parse(&m, "{\"name\":null,\"stamp\":null,\"players\":null}"), ERR_OK);
}

Test(rest_meta, wrong_types_are_refused)
{
	static const char *const rows[] = {
		"",
		"[]",
		"{\"name\":1}",
		"{\"level\":{}}",
		"{\"checkpoint\":true}",
		"{\"stamp\":\"1\"}",
		"{\"stamp\":1.5}",
		"{\"stamp\":-1}",
		"{\"stamp\":9223372036854775808}",
		"{\"players\":\"0011223344556677\"}",
		"{\"players\":[1]}",
		"{\"players\":[\"001122334455667\"]}",
		"{\"players\":[\"00112233445566778\"]}",
		"{\"players\":[\"001122334455667A\"]}",
		"{\"players\":[\"id:0011223344556677\"]}",
		"{\"name\":\"a\\u0000b\"}",
		"{\"a\":[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]}",
	};
	struct rest_meta m;

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		cr_expect_eq(rest_meta_parse(&m, rows[i]), ERR_MALFORMED, "%s", rows[i]);
}

Test(rest_meta, texts_are_made_fit_to_be_shown)
{
	struct rest_meta m;
	char             json[400], want[CHECKPOINT_TEXT];

	cr_assert_eq(rest_meta_parse(&m, "{\"name\":\"a\\n\\t\\u007f\\u0085<b>\"}"), ERR_OK);
	cr_expect_str_eq(m.shown.name, "a    <b>");

	/* 64 characters of four bytes each just fit; one more is cut. */
	snprintf(json, sizeof(json), "{\"level\":\"");
	want[0] = '\0';
	for (size_t i = 0; i < 65; i++) {
		strcat(json, "\xf0\x9f\x8e\xae");
		if (i < 64)
			strcat(want, "\xf0\x9f\x8e\xae");
	}
	strcat(json, "\"}");
	cr_assert_eq(rest_meta_parse(&m, json), ERR_OK);
	cr_expect_str_eq(m.shown.level, want);
}

Test(rest_meta, has_a_limit_of_its_own)
{
	struct rest_meta m;
	char             json[REST_META_BYTES_MAX + 2];

	memset(json, ' ', sizeof(json));
	memcpy(json, "{}", 2);
	json[REST_META_BYTES_MAX] = '\0';
	cr_expect_eq(rest_meta_parse(&m, json), ERR_OK);
	json[REST_META_BYTES_MAX]     = ' ';
	json[REST_META_BYTES_MAX + 1] = '\0';
	cr_expect_eq(rest_meta_parse(&m, json), ERR_MALFORMED);
}

Test(rest_meta, takes_as_many_players_as_a_checkpoint_can_name)
{
	struct rest_meta m;
	char             json[REST_META_BYTES_MAX + 1] = "{\"players\":[";
	size_t           len                           = strlen(json);

	for (size_t i = 0; i < CAMPAIGN_NAMED_MAX + 1; i++)
		len += (size_t)snprintf(json + len, sizeof(json) - len, "%s\"%016zx\"", i ? "," : "", i);
	snprintf(json + len, sizeof(json) - len, "]}");
	cr_assert_eq(rest_meta_parse(&m, json), ERR_OK);
	cr_expect_eq(m.player_count, CAMPAIGN_NAMED_MAX, "those beyond are ignored");
	cr_expect_eq(m.players[CAMPAIGN_NAMED_MAX - 1][7], 255);
}

/* --- Conditions --- */

Test(rest_match, reads_an_etag)
{
	struct upload_match m;
	bool                any;

	cr_assert_eq(rest_match_parse(&m, &any, "\"12-00112233aabbccdd\"", NULL), ERR_OK);
	cr_expect_eq(m.kind, UPLOAD_IF_NEWEST);
	cr_expect_eq(m.version, 12);
	cr_expect_arr_eq(m.hash8, "\x00\x11\x22\x33\xaa\xbb\xcc\xdd", 8);
	cr_expect_not(any);
	cr_expect_eq(rest_match_parse(&m, &any, "\"9223372036854775807-00112233aabbccdd\"", NULL), ERR_OK);
	cr_expect_eq(m.version, INT64_MAX);
}

Test(rest_match, reads_what_needs_no_etag)
{
	struct upload_match m;
	bool                any;

	cr_assert_eq(rest_match_parse(&m, &any, NULL, NULL), ERR_OK);
	cr_expect_eq(m.kind, UPLOAD_ANY);
	cr_expect_not(any);
	cr_assert_eq(rest_match_parse(&m, &any, "*", NULL), ERR_OK);
	cr_expect_eq(m.kind, UPLOAD_ANY);
	cr_expect(any);
	cr_assert_eq(rest_match_parse(&m, &any, NULL, "*"), ERR_OK);
	cr_expect_eq(m.kind, UPLOAD_IF_NONE);
	cr_expect_not(any);
}

Test(rest_match, refuses_what_it_cannot_keep)
{
	static const char *const rows[] = {
		"",
		"\"\"",
		"12-00112233aabbccdd",
		"\"12-00112233aabbccdd",
		"12-00112233aabbccdd\"",
		"\"12-00112233aabbccd\"",
		"\"12-00112233aabbccddd\"",
		"\"12-00112233aabbccdx\"",
		"\"-00112233aabbccdd\"",
		"\"0-00112233aabbccdd\"",
		"\"-1-00112233aabbccdd\"",
		"\"x-00112233aabbccdd\"",
		"\"9223372036854775808-00112233aabbccdd\"",
		"\"99999999999999999999999-00112233aabbccdd\"",
		"W/\"12-00112233aabbccdd\"",
		"\"12-00112233aabbccdd\", \"13-00112233aabbccdd\"",
		"**",
		"\"*\"",
	};
	struct upload_match m;
	bool                any;

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		cr_expect_eq(rest_match_parse(&m, &any, rows[i], NULL), ERR_MALFORMED, "%s", rows[i]);
	cr_expect_eq(rest_match_parse(&m, &any, NULL, "\"12-00112233aabbccdd\""), ERR_MALFORMED);
	cr_expect_eq(rest_match_parse(&m, &any, "*", "*"), ERR_MALFORMED, "not both");
}

Test(rest_match, finds_an_etag_in_a_list)
{
	static const struct {
		const char *field;
		bool        is_listed;
	} rows[] = {
		{ "*", true },
		{ "\"1-aa\"", true },
		{ "W/\"1-aa\"", true },
		{ "\"2-bb\", \"1-aa\"", true },
		{ "\"1-aa\",\"2-bb\"", true },
		{ "", false },
		{ "1-aa", false },
		{ "\"11-aa\"", false },
		{ "\"2-bb\"", false },
		{ "x\"1-aa\"", false },
		{ "\"1-aa\"x, \"1-aa\"", true },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		cr_expect_eq(rest_etag_is_listed(rows[i].field, "\"1-aa\""), rows[i].is_listed, "%s", rows[i].field);
}

/* --- Ids --- */

Test(rest_id, is_sixteen_lower_case_hex_digits)
{
	static const char *const wrong[] = {
		"",
		"00112233445566",
		"00112233445566778",
		"001122334455667",
		"001122334455667g",
		"001122334455667F",
		" 011223344556677",
		"001122334455667 ",
		"0x11223344556677",
		"../1223344556677",
		"001122334455667\xc3",
	};
	uint8_t id[8];

	cr_assert_eq(rest_id(id, "00112233445566ff"), ERR_OK);
	cr_expect_arr_eq(id, "\x00\x11\x22\x33\x44\x55\x66\xff", 8);
	for (size_t i = 0; i < COUNT_OF(wrong); i++)
		cr_expect_eq(rest_id(id, wrong[i]), ERR_NOT_FOUND, "%s", wrong[i]);
	cr_expect_eq(rest_id(id, NULL), ERR_NOT_FOUND);
}
