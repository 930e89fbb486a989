/*
 * Lines out of pieces.
 */
#include "signal/signal_line.h"

#include "base/auto.h"
#include "support/dial.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define LINE_COUNT 5

static const char text[] = "first\n\nthe third line\r\n \nlast\n";

static const char *const lines[LINE_COUNT] = { "first", "", "the third line\r", " ", "last" };

/* One piece, in memory of its own; returns the number of lines that came so far. */
static size_t feed(struct signal_reader *r, const char *bytes, size_t len, size_t found)
{
	uint8_t       *piece = malloc(len ? len : 1);
	const uint8_t *at    = piece, *line;
	size_t         line_len;

	memcpy(piece, bytes, len);
	while (signal_reader_next(r, &at, piece + len, 512, &line, &line_len) == SIGNAL_READ_LINE) {
		cr_assert_lt(found, (size_t)LINE_COUNT);
		cr_expect_eq(line_len, strlen(lines[found]));
		cr_expect(memcmp(line, lines[found], line_len) == 0, "line %zu", found);
		found++;
	}
	cr_expect_eq(at, piece + len);
	free(piece);
	return found;
}

Test(signal_line, any_three_pieces_give_the_same_lines)
{
	size_t len = strlen(text);

	for (size_t a = 0; a <= len; a++) {
		for (size_t b = a; b <= len; b++) {
			struct signal_reader r     = { 0 };
			size_t               found = feed(&r, text, a, 0);

			found = feed(&r, text + a, b - a, found);
			found = feed(&r, text + b, len - b, found);
			cr_expect_eq(found, (size_t)LINE_COUNT, "cut at %zu and %zu", a, b);
			signal_reader_fini(&r);
		}
	}
}

static enum signal_read read_text(struct signal_reader *r, const char *bytes, size_t max, size_t *len)
{
	const uint8_t *at = (const uint8_t *)bytes, *line;

	return signal_reader_next(r, &at, at + strlen(bytes), max, &line, len);
}

Test(signal_line, a_line_of_the_limit_is_read_and_one_byte_more_is_too_long)
{
	struct signal_reader r = { 0 };
	size_t               len;

	cr_expect_eq(read_text(&r, "1234567\n", 8, &len), SIGNAL_READ_LINE);
	cr_expect_eq(len, 7);
	cr_expect_eq(read_text(&r, "12345678\n", 8, &len), SIGNAL_READ_TOO_LONG);
	signal_reader_fini(&r);

	cr_expect_eq(read_text(&r, "12345678", 8, &len), SIGNAL_READ_MORE); /* not finished, not outgrown */
	cr_expect_eq(read_text(&r, "9", 8, &len), SIGNAL_READ_TOO_LONG);
	signal_reader_fini(&r);

	cr_expect_eq(read_text(&r, "123456789", 8, &len), SIGNAL_READ_TOO_LONG);
	signal_reader_fini(&r);

	cr_expect_eq(read_text(&r, "1234", 8, &len), SIGNAL_READ_MORE);
	cr_expect_eq(read_text(&r, "567\n", 8, &len), SIGNAL_READ_LINE);
	cr_expect_eq(len, 7);
	cr_expect_eq(read_text(&r, "1234", 8, &len), SIGNAL_READ_MORE);
	cr_expect_eq(read_text(&r, "5678\n", 8, &len), SIGNAL_READ_TOO_LONG);
	signal_reader_fini(&r);
}

Test(signal_line, a_limit_that_grows_holds_for_what_is_held_too)
{
	struct signal_reader r = { 0 };
	size_t               len;

	cr_expect_eq(read_text(&r, "12345678", 8, &len), SIGNAL_READ_MORE);
	cr_expect_eq(read_text(&r, "9\n", 10, &len), SIGNAL_READ_LINE);
	cr_expect_eq(len, 9);
	signal_reader_fini(&r);
}

Test(signal_line, nothing_is_held_between_lines)
{
	struct signal_reader r = { 0 };
	size_t               len;

	read_text(&r, "half", 512, &len);
	cr_expect_not_null(r.held);
	read_text(&r, " and half\n", 512, &len);
	read_text(&r, "", 512, &len);
	cr_expect_null(r.held);
}

/* 8 MB byte by byte: were the beginning looked at again each time, this would take minutes. */
Test(signal_line, a_line_that_trickles_costs_linear_work)
{
	struct signal_reader r        = { 0 };
	int64_t              start_ms = real_now_ms();
	size_t               len, size = (size_t)8 << 20;

	for (size_t i = 0; i < size; i++)
		cr_assert_eq(read_text(&r, "x", size + 1, &len), SIGNAL_READ_MORE);
	cr_expect_eq(read_text(&r, "\n", size + 1, &len), SIGNAL_READ_LINE);
	cr_expect_eq(len, size);
	cr_expect_lt(real_now_ms() - start_ms, 20000);
	signal_reader_fini(&r);
}
