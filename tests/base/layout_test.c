/*
 * The walker of layouts: every kind of field, both ways, whole and too short.
 */
#include "base/layout.h"

#include <criterion/criterion.h>

struct msg {
	uint8_t        small;
	uint16_t       middle;
	uint32_t       large;
	uint32_t       narrow; /* two bytes on the wire */
	uint8_t        key[3];
	uint8_t        token[2];
	bool           has_key, has_token;
	const uint8_t *rest;
	size_t         rest_len;
};

static const struct layout_field fields[LAYOUT_LETTERS] = {
	['s'] = LAYOUT_INT(struct msg, small, 1),
	['m'] = LAYOUT_INT(struct msg, middle, 2),
	['l'] = LAYOUT_INT(struct msg, large, 4),
	['n'] = LAYOUT_INT(struct msg, narrow, 2),
	['k'] = LAYOUT_BYTES(struct msg, key),
	['K'] = LAYOUT_NOTED(struct msg, key, has_key),
	['T'] = LAYOUT_MAYBE(struct msg, token, has_token),
	['r'] = LAYOUT_REST(struct msg, rest, rest_len),
};

static const uint8_t bytes[] = { 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 'k', 'e', 'y', 'r', 's', 't' };

Test(layout, members_get_what_their_letters_say)
{
	struct rd  r = rd_over(bytes, sizeof(bytes));
	struct msg m = { 0 };

	layout_read(&m, &r, fields, "smlnkr");
	cr_expect(rd_done(&r));
	cr_expect_eq(m.small, 0x01);
	cr_expect_eq(m.middle, 0x0302);
	cr_expect_eq(m.large, 0x07060504);
	cr_expect_eq(m.narrow, 0x0908);
	cr_expect_eq(memcmp(m.key, "key", 3), 0);
	cr_expect_eq(m.rest, bytes + 12, "inside the message");
	cr_expect_eq(m.rest_len, 3);
	cr_expect_not(m.has_key, "that letter has no flag");
}

Test(layout, what_was_read_is_written_back)
{
	struct rd  r = rd_over(bytes, sizeof(bytes));
	struct msg m = { 0 };
	uint8_t    out[sizeof(bytes)];
	struct wr  w = wr_over(out, sizeof(out));

	layout_read(&m, &r, fields, "smlnkr");
	layout_write(&w, &m, fields, "smlnkr");
	cr_expect_eq(wr_len(&w), sizeof(bytes));
	cr_expect_eq(memcmp(out, bytes, sizeof(bytes)), 0);
}

Test(layout, a_message_that_is_too_short_is_remembered)
{
	for (size_t len = 0; len < 12; len++) {
		struct rd  r = rd_over(bytes, len);
		struct msg m = { 0 };

		layout_read(&m, &r, fields, "smlnk");
		cr_expect_not(rd_ok(&r), "%zu bytes", len);
	}
}

Test(layout, a_writer_without_room_fails)
{
	struct msg m = { .rest = bytes, .rest_len = 3 };

	for (size_t cap = 0; cap < 15; cap++) {
		uint8_t   out[15];
		struct wr w = wr_over(out, cap);

		layout_write(&w, &m, fields, "smlnkr");
		cr_expect_not(wr_ok(&w), "%zu bytes", cap);
	}
}

Test(layout, a_flag_says_that_the_bytes_are_there)
{
	struct rd  r = rd_over("keyto", 5);
	struct msg m = { 0 };

	layout_read(&m, &r, fields, "KT");
	cr_expect(m.has_key);
	cr_expect(m.has_token);
	cr_expect_eq(memcmp(m.token, "to", 2), 0);
}

Test(layout, what_may_be_missing_is_missing_without_a_failure)
{
	struct rd  r = rd_over("keyt", 4);
	struct msg m = { 0 };
	uint8_t    out[8];
	struct wr  w = wr_over(out, sizeof(out));

	layout_read(&m, &r, fields, "KT");
	cr_expect(rd_ok(&r));
	cr_expect_not(m.has_token, "half of it is none");
	layout_write(&w, &m, fields, "KT");
	cr_expect_eq(wr_len(&w), 3);
}
