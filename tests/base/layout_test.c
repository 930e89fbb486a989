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
	uint64_t       huge;
	uint16_t       count;
	const uint8_t *pairs; /* count times two bytes */
	const uint8_t *blob;
	size_t         blob_len;
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
	['h'] = LAYOUT_INT(struct msg, huge, 8),
	['S'] = LAYOUT_BE(struct msg, small, 1),
	['M'] = LAYOUT_BE(struct msg, middle, 2),
	['L'] = LAYOUT_BE(struct msg, large, 4),
	['H'] = LAYOUT_BE(struct msg, huge, 8),
	['c'] = LAYOUT_BE(struct msg, count, 2),
	['p'] = LAYOUT_MANY(struct msg, pairs, count, 2),
	['b'] = LAYOUT_BLOB(struct msg, blob, blob_len, 1),
	['B'] = LAYOUT_BLOB(struct msg, blob, blob_len, 2),
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

static const uint8_t big[] = { 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16,
	                       0x17, 0x18, 0,    2,    'a',  'b',  'c',  'd',  0,    3,    'x',  'y',  'z' };

Test(layout, big_endian_integers_blobs_and_counted_things_are_read_and_written_back)
{
	struct rd  r = rd_over(big, sizeof(big));
	struct msg m = { 0 };
	uint8_t    out[sizeof(big)];
	struct wr  w = wr_over(out, sizeof(out));

	layout_read(&m, &r, fields, "SMLHcpB");
	cr_expect(rd_done(&r));
	cr_expect_eq(m.small, 0x01);
	cr_expect_eq(m.middle, 0x0203);
	cr_expect_eq(m.large, 0x04050607);
	cr_expect_eq(m.huge, 0x1112131415161718);
	cr_expect_eq(m.count, 2);
	cr_expect_eq(m.pairs, big + 17, "inside the message");
	cr_expect_eq(m.blob, big + 23, "inside the message");
	cr_expect_eq(m.blob_len, 3);
	layout_write(&w, &m, fields, "SMLHcpB");
	cr_expect(wr_len(&w) == sizeof(big) && memcmp(out, big, sizeof(big)) == 0);
}

Test(layout, eight_bytes_can_be_little_endian_too)
{
	struct rd  r = rd_over("\x08\x07\x06\x05\x04\x03\x02\x01", 8);
	struct msg m = { 0 };
	uint8_t    out[8];
	struct wr  w = wr_over(out, sizeof(out));

	layout_read(&m, &r, fields, "h");
	cr_expect_eq(m.huge, 0x0102030405060708);
	layout_write(&w, &m, fields, "h");
	cr_expect(out[0] == 8 && out[7] == 1);
}

Test(layout, blobs_and_counted_things_that_are_cut_are_not_there)
{
	for (size_t len = 0; len < sizeof(big); len++) {
		struct rd  r = rd_over(big, len);
		struct msg m = { 0 };

		layout_read(&m, &r, fields, "SMLHcpB");
		cr_expect_not(rd_ok(&r), "%zu bytes", len);
		cr_expect(m.blob == NULL && m.blob_len == 0, "%zu bytes", len);
		cr_expect_eq(m.pairs != NULL, len >= 21, "%zu bytes", len);
	}
	for (size_t cap = 0; cap < sizeof(big); cap++) {
		struct msg m = { .count = 2, .pairs = big, .blob = big, .blob_len = 3 };
		uint8_t    out[sizeof(big)];
		struct wr  w = wr_over(out, cap);

		layout_write(&w, &m, fields, "SMLHcpB");
		cr_expect_not(wr_ok(&w), "%zu bytes", cap);
	}
}

Test(layout, a_blob_longer_than_its_length_can_say_is_not_written)
{
	static const uint8_t data[256];
	uint8_t              out[1024];
	struct msg           m = { .blob = data, .blob_len = 255 };
	struct wr            w = wr_over(out, sizeof(out));

	layout_write(&w, &m, fields, "b");
	cr_expect_eq(wr_len(&w), 256);
	m.blob_len = 256;
	layout_write(&w, &m, fields, "b");
	cr_expect_not(wr_ok(&w));
}
