/*
 * Boards as CSV: what is written, that it is read as it was, and what is refused, by its line.
 */
#include "rooms/rooms_csv.h"

#include "base/auto.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define HEAD "name,score,comment,recorded_at\r\n"
#define MANY 1000

static struct rooms_csv_row row_of(const char *name, size_t name_len, const char *comment, size_t comment_len)
{
	struct rooms_csv_row row = { .score = 7, .comment_len = (uint8_t)comment_len };

	memcpy(row.name, name, name_len);
	memcpy(row.comment, comment, comment_len);
	return row;
}

/* For free(), as a text. */
static char *written(const struct rooms_csv_row *rows, size_t count)
{
	size_t len  = 0;
	char  *text = rooms_csv_write(&len, rows, count);

	cr_assert_not_null(text);
	char *ended = calloc(1, len + 1);
	cr_assert_not_null(ended);
	memcpy(ended, text, len);
	free(text);
	cr_expect_eq(strlen(ended), len, "no NUL ever stands in it");
	return ended;
}

#define TEXTS(name, comment, cells)                                                \
	{                                                                          \
		name, sizeof(name) - 1, comment, sizeof(comment) - 1, cells "\r\n" \
	}

static const struct {
	const char *name;
	size_t      name_len;
	const char *comment;
	size_t      comment_len;
	const char *line;
} cells[] = {
	TEXTS("alice", "hi", "alice,7,hi,"),
	TEXTS("", "", ",7,,"),
	TEXTS("a,b", "a \"b\"", "\"a,b\",7,\"a \"\"b\"\"\","),
	TEXTS("=1+1", "+1", "'=1+1,7,'+1,"),
	TEXTS("-1", "@SUM(A1)", "'-1,7,'@SUM(A1),"),
	TEXTS("\tx", "\rx", "'\tx,7,\"'\rx\","),
	TEXTS("'=1", "'tis", "''=1,7,''tis,"),
	TEXTS("=a,b", "=\"x\"", "\"'=a,b\",7,\"'=\"\"x\"\"\","),
	TEXTS("a\r\nb", "\n", "\"a\r\nb\",7,\"\n\","),
	TEXTS("\xc3\xa4", "\xf0\x9f\x98\x80", "\xc3\xa4,7,\xf0\x9f\x98\x80,"),
	TEXTS("~c3", "~", "~7e6333,7,~7e,"),
	TEXTS("a\xff", "a\0b", "~61ff,7,~610062,"),
	TEXTS("a\x1b[31m",
	      "\xe2\x80\xae"
	      "evil",
	      "~611b5b33316d,7,~e280ae6576696c,"),
	TEXTS("a\xe2\x80\x8b", "\xc2\x9b", "~61e2808b,7,~c29b,"),
	TEXTS("<script>&", "{{7*7}}", "<script>&,7,{{7*7}},"),
	TEXTS("0123456789abcdef", " x ", "0123456789abcdef,7, x ,"),
};

Test(rooms_csv, hostile_text_is_no_formula_and_breaks_no_line)
{
	for (size_t i = 0; i < COUNT_OF(cells); i++) {
		struct rooms_csv_row row =
			row_of(cells[i].name, cells[i].name_len, cells[i].comment, cells[i].comment_len);
		AUTO(auto_free) char *text = written(&row, 1);

		cr_expect_eq(strncmp(text, HEAD, strlen(HEAD)), 0);
		cr_expect_str_eq(text + strlen(HEAD), cells[i].line, "row %zu", i);
	}
}

static void expect_same(const struct rooms_csv_row *a, const struct rooms_csv_row *b)
{
	cr_expect_arr_eq(a->name, b->name, sizeof(a->name));
	cr_expect_eq(a->score, b->score);
	cr_expect_eq(a->recorded_s, b->recorded_s);
	cr_expect_eq(a->comment_len, b->comment_len);
	cr_expect_arr_eq(a->comment, b->comment, sizeof(a->comment));
}

/* Writing and reading gives the same rows, and writing those the same text. */
static void expect_round(const struct rooms_csv_row *rows, size_t count)
{
	AUTO(auto_free) char                 *text = written(rows, count), *again = NULL;
	AUTO(auto_free) struct rooms_csv_row *back = NULL;
	struct rooms_csv_fault                fault;
	size_t                                got = 0;
	enum err                              e   = rooms_csv_read(&back, &got, &fault, text, strlen(text), count);

	cr_assert_eq(e, ERR_OK, "line %u %s in\n%s", fault.line, fault.why, text);
	cr_assert_eq(got, count);
	for (size_t i = 0; i < count; i++)
		expect_same(&back[i], &rows[i]);
	again = written(back, got);
	cr_expect_str_eq(again, text);
}

Test(rooms_csv, what_was_written_is_read_as_it_was)
{
	struct rooms_csv_row rows[COUNT_OF(cells)];

	for (size_t i = 0; i < COUNT_OF(cells); i++)
		rows[i] = row_of(cells[i].name, cells[i].name_len, cells[i].comment, cells[i].comment_len);
	rows[0].score      = INT64_MIN;
	rows[1].score      = INT64_MAX;
	rows[2].recorded_s = 1793534400;
	rows[3].recorded_s = 1;
	rows[4].recorded_s = UINT64_C(253402300799);
	expect_round(rows, COUNT_OF(rows));
}

/* Every byte alone, first, and in the middle. */
Test(rooms_csv, every_byte_survives)
{
	for (unsigned byte = 0; byte < 256; byte++) {
		char                 text[4] = { 'a', (char)byte, 'b', '\0' }, first[3] = { (char)byte, 'x', '\0' };
		struct rooms_csv_row rows[2] = { row_of("n", 1, text, 3), row_of("m", 1, first, 2) };

		if (byte != 0)
			memcpy(rows[0].name, text, 3);
		expect_round(rows, 2);
	}
}

Test(rooms_csv, the_longest_row_fits)
{
	struct rooms_csv_row rows[4];

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		static const char fill[] = "\"\xff=,";

		memset(&rows[i], fill[i], sizeof(rows[i]));
		rows[i].score       = INT64_MIN;
		rows[i].recorded_s  = UINT64_C(253402300799);
		rows[i].comment_len = ROOMS_COMMENT_MAX;
	}
	expect_round(rows, COUNT_OF(rows));
}

/* --- Reading what people wrote --- */

static enum err read_text(struct rooms_csv_row **rows, size_t *count, struct rooms_csv_fault *fault, const char *text)
{
	return rooms_csv_read(rows, count, fault, text, strlen(text), MANY);
}

Test(rooms_csv, other_line_ends_empty_lines_and_a_byte_order_mark_are_taken)
{
	static const char *const texts[] = {
		"name,score,comment,recorded_at\nalice,5,,\nbob,6,x,1970-01-01T00:00:01Z\n",
		"\xef\xbb\xbfname,score,comment,recorded_at\r\n\r\nalice,5,,\r\n\nbob,6,x,1970-01-01T00:00:01Z",
		"name,score,comment,recorded_at\n\"alice\",\"5\",\"\",\"\"\n\"bob\",6,\"x\",\"1970-01-01T00:00:01Z\"",
		"name,score,comment,recorded_at\n~616c696365,5,~,\nbob,6,~78,1970-01-01T00:00:01Z\n\n",
	};

	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		AUTO(auto_free) struct rooms_csv_row *rows = NULL;
		struct rooms_csv_fault                fault;
		size_t                                count = 0;

		cr_assert_eq(read_text(&rows, &count, &fault, texts[i]), ERR_OK, "%zu: %s", i, fault.why);
		cr_assert_eq(count, 2);
		cr_expect_str_eq((const char *)rows[0].name, "alice");
		cr_expect_eq(rows[0].score, 5);
		cr_expect_eq(rows[0].recorded_s, 0);
		cr_expect_str_eq((const char *)rows[1].name, "bob");
		cr_expect_eq(rows[1].comment[0], 'x');
		cr_expect_eq(rows[1].recorded_s, 1);
	}
}

Test(rooms_csv, a_head_line_alone_is_no_row)
{
	AUTO(auto_free) struct rooms_csv_row *rows = NULL;
	struct rooms_csv_fault                fault;
	size_t                                count = 9;

	cr_expect_eq(read_text(&rows, &count, &fault, "name,score,comment,recorded_at"), ERR_OK);
	cr_expect_eq(count, 0);
	cr_expect_not_null(rows);
}

Test(rooms_csv, what_is_wrong_is_named_with_its_line)
{
	static const struct {
		uint32_t    line;
		const char *why, *text;
	} rows[] = {
		{ 1, "head line", "" },
		{ 1, "head line", "name,score,comment" },
		{ 1, "head line", "name,score,comment,recorded_at,x\n" },
		{ 1, "head line", "Name,score,comment,recorded_at\n" },
		{ 2, "four cells", HEAD "a,1,\r\n" },
		{ 3, "four cells", HEAD "a,1,,\r\nb,1,,,\r\n" },
		{ 2, "score", HEAD "a,,,\r\n" },
		{ 2, "score", HEAD "a,1.5,,\r\n" },
		{ 2, "score", HEAD "a, 1,,\r\n" },
		{ 2, "score", HEAD "a,+1,,\r\n" },
		{ 2, "score", HEAD "a,9223372036854775808,,\r\n" },
		{ 2, "score", HEAD "a,'-1,,\r\n" },
		{ 2, "time", HEAD "a,1,,2026-12-01 09:30:00Z\r\n" },
		{ 2, "time", HEAD "a,1,,2026-12-01T09:30:00\r\n" },
		{ 2, "time", HEAD "a,1,,2026-06-31T09:30:00Z\r\n" },
		{ 2, "time", HEAD "a,1,,2026-12-01T24:00:00Z\r\n" },
		{ 2, "time", HEAD "a,1,,1969-12-31T23:59:59Z\r\n" },
		{ 2, "time", HEAD "a,1,,1793534400\r\n" },
		{ 2, "16 bytes", HEAD "0123456789abcdefg,1,,\r\n" },
		{ 2, "16 bytes", HEAD "~3030303030303030303030303030303030,1,,\r\n" },
		{ 2, "64 bytes", HEAD "a,1,0123456789012345678901234567890123456789012345678901234567890123x,\r\n" },
		{ 2, "NUL in its name", HEAD "~610062,1,,\r\n" },
		{ 2, "NUL in its name", HEAD "~6100,1,,\r\n" },
		{ 2, "hex digits", HEAD "~6,1,,\r\n" },
		{ 2, "hex digits", HEAD "~6x,1,,\r\n" },
		{ 2, "UTF-8", HEAD "\xff,1,,\r\n" },
		{ 2, "UTF-8", HEAD "a,1,\xc3,\r\n" },
		{ 2, "quote", HEAD "a\"b,1,,\r\n" },
		{ 2, "closing quote", HEAD "\"a\"b,1,,\r\n" },
		{ 2, "never closed", HEAD "a,1,\"x,\r\nb,1,,\r\n" },
		{ 2, "CR", HEAD "a\rb,1,,\r\n" },
		{ 4, "twice", HEAD "a,1,,\r\nb,1,,\r\nA,2,,\r\n" },
		{ 6, "twice", HEAD "a,1,\"\r\n\r\n\",\r\nb,1,,\r\n~61,2,,\r\n" },
		{ 2, "too long",
		  HEAD "a,1,\"0123456789012345678901234567890123456789012345678901234567890123"
		       "0123456789012345678901234567890123456789012345678901234567890123xxx\",\r\n" },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct rooms_csv_row  *got   = NULL;
		struct rooms_csv_fault fault = { 0 };
		size_t                 count;

		cr_assert_eq(read_text(&got, &count, &fault, rows[i].text), ERR_INVALID, "row %zu", i);
		cr_expect_null(got);
		cr_expect_eq(fault.line, rows[i].line, "row %zu: line %u", i, fault.line);
		cr_expect_not_null(strstr(fault.why, rows[i].why), "row %zu: %s", i, fault.why);
	}
}

Test(rooms_csv, a_nul_in_the_text_is_refused)
{
	static const char      text[] = HEAD "a\0b,1,,\r\n";
	struct rooms_csv_row  *rows   = NULL;
	struct rooms_csv_fault fault;
	size_t                 count;

	cr_expect_eq(rooms_csv_read(&rows, &count, &fault, text, sizeof(text) - 1, MANY), ERR_INVALID);
	cr_expect_eq(fault.line, 2);
	cr_expect_not_null(strstr(fault.why, "NUL"));
}

Test(rooms_csv, as_many_rows_as_allowed_and_not_one_more)
{
	static const char      text[] = HEAD "a,1,,\r\nb,2,,\r\nc,3,,\r\n";
	struct rooms_csv_row  *rows   = NULL;
	struct rooms_csv_fault fault;
	size_t                 count = 0;

	cr_expect_eq(rooms_csv_read(&rows, &count, &fault, text, strlen(text), 3), ERR_OK);
	cr_expect_eq(count, 3);
	free(rows);
	cr_expect_eq(rooms_csv_read(&rows, &count, &fault, text, strlen(text), 2), ERR_INVALID);
	cr_expect_eq(fault.line, 4);
	cr_expect_not_null(strstr(fault.why, "limits.rooms_rows_per_board"));
}
