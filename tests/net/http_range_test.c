/*
 * The Range field.
 */
#include "net/http_range.h"

#include "base/auto.h"

#include <criterion/criterion.h>

Test(http_range, one_range_of_bytes_is_cut_to_what_there_is)
{
	static const struct {
		const char *text;
		uint64_t    total, first, count;
	} rows[] = {
		{ "bytes=0-0", 100, 0, 1 },
		{ "bytes=0-99", 100, 0, 100 },
		{ "bytes=0-100", 100, 0, 100 },
		{ "bytes=99-99", 100, 99, 1 },
		{ "bytes=99-", 100, 99, 1 },
		{ "bytes=0-", 100, 0, 100 },
		{ "bytes=10-19", 100, 10, 10 },
		{ "bytes=007-0009", 100, 7, 3 },
		{ "BYTES=1-2", 100, 1, 2 },
		{ "bytes=-1", 100, 99, 1 },
		{ "bytes=-99", 100, 1, 99 },
		{ "bytes=-100", 100, 0, 100 },
		{ "bytes=-101", 100, 0, 100 },
		{ "bytes=-99999999999999999999999", 100, 0, 100 },
		{ "bytes=5-18446744073709551615", 100, 5, 95 },
		{ "bytes=5-18446744073709551616", 100, 5, 95 },
		{ "bytes=5-99999999999999999999999", 100, 5, 95 },
		{ "bytes=0-", 1, 0, 1 },
		{ "bytes=0-18446744073709551614", UINT64_MAX, 0, UINT64_MAX },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		uint64_t first = 77, count = 77;

		cr_expect_eq(http_range_parse(&first, &count, rows[i].text, rows[i].total), HTTP_RANGE_PART, "%s",
		             rows[i].text);
		cr_expect_eq(first, rows[i].first, "%s", rows[i].text);
		cr_expect_eq(count, rows[i].count, "%s", rows[i].text);
	}
}

Test(http_range, what_begins_beyond_the_end_is_not_there)
{
	static const struct {
		const char *text;
		uint64_t    total;
	} rows[] = {
		{ "bytes=100-", 100 },    { "bytes=100-200", 100 }, { "bytes=18446744073709551615-", 100 },
		{ "bytes=0-", 0 },        { "bytes=0-0", 0 },       { "bytes=-0", 100 },
		{ "bytes=-5", 0 },        { "bytes=-0", 0 },        { "bytes=99999999999999999999999-", 100 },
		{ "bytes=000100-", 100 },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		uint64_t first = 77, count = 77;

		cr_expect_eq(http_range_parse(&first, &count, rows[i].text, rows[i].total), HTTP_RANGE_BEYOND, "%s",
		             rows[i].text);
		cr_expect(first == 77 && count == 77, "%s: untouched", rows[i].text);
	}
}

Test(http_range, anything_else_is_ignored)
{
	static const char *const rows[] = {
		"",           "bytes",       "bytes=",          "bytes=-",    "bytes=--1",  "bytes=a-b",
		"bytes=1",    "bytes=2-1",   "bytes=0-0,5-6",   "bytes=0-0,", "bytes=,0-0", "bytes= 0-0",
		"bytes=0 -0", "bytes=0-0 ",  "bytes=0- 0",      "bytes=+0-1", "bytes=0-+1", "bytes=0x0-1",
		"bytes=-1-2", "bytes=1-2-3", "bytes =0-1",      " bytes=0-1", "lines=0-1",  "items=0-0",
		"bytes:0-1",  "bytes=1--2",  "bytes=\xd9\xa1-", "bytes=-1,",
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		uint64_t first = 77, count = 77;

		cr_expect_eq(http_range_parse(&first, &count, rows[i], 100), HTTP_RANGE_NONE, "%s", rows[i]);
		cr_expect(first == 77 && count == 77, "%s: untouched", rows[i]);
	}
}
