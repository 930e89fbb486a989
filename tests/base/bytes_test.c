/*
 * Readers and writers: order of bytes, and failure that is remembered.
 */
#include "base/bytes.h"

#include <criterion/criterion.h>

Test(bytes, integers_are_little_endian_unless_said_otherwise)
{
	static const uint8_t data[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13 };
	struct rd            r      = rd_over(data, sizeof(data));

	cr_expect_eq(rd_u8(&r), 0x01);
	cr_expect_eq(rd_u16(&r), 0x0302);
	cr_expect_eq(rd_u32(&r), 0x07060504);
	cr_expect_eq(rd_be(&r, 2), 0x0809);
	cr_expect_eq(rd_le(&r, 3), 0x0c0b0a);
	cr_expect_eq(rd_left(&r), 1);
	cr_expect(rd_ok(&r));
	cr_expect_not(rd_done(&r));
	cr_expect_eq(rd_u8(&r), 13);
	cr_expect(rd_done(&r));
}

Test(bytes, a_reader_that_failed_gives_zeros_and_stays_failed)
{
	static const uint8_t data[] = { 1, 2, 3 };
	struct rd            r      = rd_over(data, sizeof(data));
	uint8_t              out[2] = { 9, 9 };
	size_t               len;

	cr_expect_eq(rd_u32(&r), 0);
	cr_expect_not(rd_ok(&r));
	cr_expect_eq(rd_u8(&r), 0, "the bytes that are there do not come after a failure");
	rd_copy(&r, out, 2);
	cr_expect(out[0] == 0 && out[1] == 0);
	cr_expect_null(rd_bytes(&r, 1));
	cr_expect_null(rd_rest(&r, &len));
	cr_expect_eq(len, 0);
	cr_expect_eq(rd_left(&r), 0);
	cr_expect_not(rd_done(&r));
}

Test(bytes, the_rest_is_all_that_is_left)
{
	static const uint8_t data[] = { 1, 2, 3 };
	struct rd            r      = rd_over(data, sizeof(data));
	uint8_t              out[1];
	size_t               len;

	rd_copy(&r, out, 1);
	cr_expect_eq(rd_rest(&r, &len), data + 1);
	cr_expect_eq(len, 2);
	cr_expect(rd_done(&r));
	rd_rest(&r, &len);
	cr_expect_eq(len, 0);
	cr_expect(rd_done(&r));
}

Test(bytes, nothing_can_be_read_from_nothing)
{
	struct rd r = rd_over(NULL, 0);

	cr_expect(rd_done(&r));
	cr_expect_eq(rd_left(&r), 0);
	rd_u8(&r);
	cr_expect_not(rd_ok(&r));
}

Test(bytes, what_is_written_is_read_back)
{
	uint8_t   buf[32];
	struct wr w = wr_over(buf, sizeof(buf));

	wr_u8(&w, 0xab);
	wr_u16(&w, 0x1234);
	wr_u32(&w, 0xdeadbeef);
	wr_be(&w, 0x010203, 3);
	wr_le(&w, UINT64_MAX - 1, 8);
	wr_bytes(&w, "abc", 3);
	wr_bytes(&w, NULL, 0);
	cr_assert(wr_ok(&w));
	cr_expect_eq(wr_len(&w), 21);

	struct rd r = rd_over(buf, wr_len(&w));
	cr_expect_eq(rd_u8(&r), 0xab);
	cr_expect_eq(rd_u16(&r), 0x1234);
	cr_expect_eq(rd_u32(&r), 0xdeadbeef);
	cr_expect_eq(rd_be(&r, 3), 0x010203);
	cr_expect_eq(rd_le(&r, 8), UINT64_MAX - 1);
	cr_expect_eq(memcmp(rd_bytes(&r, 3), "abc", 3), 0);
	cr_expect(rd_done(&r));
}

Test(bytes, a_writer_fills_its_buffer_and_fails_one_past_it)
{
	uint8_t   buf[4] = { 0 };
	struct wr w      = wr_over(buf, 3);

	wr_u16(&w, 0x0201);
	wr_u8(&w, 3);
	cr_expect(wr_ok(&w));
	cr_expect_eq(wr_len(&w), 3);
	wr_u8(&w, 4);
	cr_expect_not(wr_ok(&w));
	cr_expect_eq(wr_len(&w), 0);
	cr_expect_eq(buf[3], 0);
}

Test(bytes, a_failed_writer_writes_nothing_more)
{
	uint8_t   buf[3] = { 0 };
	struct wr w      = wr_over(buf, sizeof(buf));

	wr_u32(&w, UINT32_MAX);
	wr_u8(&w, 1);
	cr_expect_not(wr_ok(&w));
	cr_expect_eq(buf[0], 0);
}
