/*
 * The ring of records: full, one past it, and round the end of its memory.
 */
#include "base/ring.h"

#include <criterion/criterion.h>
#include <string.h>

Test(ring, records_come_out_in_the_order_they_went_in)
{
	uint8_t     mem[64];
	struct ring r;
	char        out[16];
	size_t      len;

	ring_init(&r, mem, sizeof(mem));
	cr_expect_not(ring_take(&r, out, sizeof(out), &len));
	cr_expect(ring_put(&r, "one", 3));
	cr_expect(ring_put(&r, "", 0));
	cr_expect(ring_put(&r, "three", 5));

	cr_expect(ring_take(&r, out, sizeof(out), &len));
	cr_expect(len == 3 && memcmp(out, "one", 3) == 0);
	cr_expect(ring_take(&r, out, sizeof(out), &len));
	cr_expect_eq(len, 0);
	cr_expect(ring_take(&r, out, sizeof(out), &len));
	cr_expect(len == 5 && memcmp(out, "three", 5) == 0);
	cr_expect_not(ring_take(&r, out, sizeof(out), &len));
}

Test(ring, it_takes_what_fits_to_the_last_byte_and_not_one_more)
{
	uint8_t     mem[RING_RECORD_BYTES + 8], data[9] = { 0 };
	struct ring r;
	uint8_t     out[8];
	size_t      len;

	ring_init(&r, mem, sizeof(mem));
	cr_expect_not(ring_put(&r, data, 9));
	cr_expect(ring_put(&r, data, 8));
	cr_expect_not(ring_put(&r, data, 0));
	cr_expect(ring_take(&r, out, sizeof(out), &len));
	cr_expect_eq(len, 8);
	cr_expect(ring_put(&r, data, 8), "what was taken out is free again");
}

Test(ring, a_refused_record_changes_nothing)
{
	uint8_t     mem[20];
	struct ring r;
	char        out[16];
	size_t      len;

	ring_init(&r, mem, sizeof(mem));
	cr_expect(ring_put(&r, "kept", 4));
	cr_expect_not(ring_put(&r, "does not fit", 12));
	cr_expect(ring_take(&r, out, sizeof(out), &len));
	cr_expect(len == 4 && memcmp(out, "kept", 4) == 0);
	cr_expect_not(ring_take(&r, out, sizeof(out), &len));
}

Test(ring, records_run_over_the_end_of_the_memory)
{
	uint8_t     mem[31], in[24], out[24];
	struct ring r;
	size_t      len;

	ring_init(&r, mem, sizeof(mem));
	for (size_t round = 0; round < 1000; round++) {
		size_t n = round % (sizeof(in) + 1);

		memset(in, (int)(round & 0xff), sizeof(in));
		in[0] = 0xee;
		cr_assert(ring_put(&r, in, n));
		cr_assert(ring_take(&r, out, sizeof(out), &len));
		cr_assert_eq(len, n);
		cr_assert_eq(memcmp(in, out, n), 0);
	}
}
