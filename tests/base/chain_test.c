/*
 * Chains of blocks: what goes in comes out, at and around the bounds of a block, and memory goes back.
 */
#include "base/chain.h"

#include "base/auto.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

static struct pool  blocks;
static struct chain chain;
static uint8_t      next_in, next_out;

static void prepare(void)
{
	chain_blocks_init(&blocks);
	next_in = next_out = 0;
}

static void tidy(void)
{
	chain_clear(&chain, &blocks);
	cr_expect_eq(blocks.used, 0);
	pool_fini(&blocks);
}

TestSuite(chain, .init = prepare, .fini = tidy);

/* Bytes that count on from those before, in two pieces. */
static void put(size_t len)
{
	static uint8_t bytes[4 * CHAIN_BLOCK_BYTES];
	struct iovec   pieces[] = { { bytes, len / 3 }, { bytes + len / 3, len - len / 3 } };

	for (size_t i = 0; i < len; i++)
		bytes[i] = next_in++;
	cr_assert(chain_put(&chain, &blocks, pieces, COUNT_OF(pieces)));
}

static void expect_out(size_t len)
{
	while (len > 0) {
		struct iovec pieces[2];
		size_t       used = chain_pieces(&chain, pieces, COUNT_OF(pieces)), taken = 0;

		cr_assert_gt(used, 0, "%zu more were to come", len);
		for (size_t i = 0; i < used && taken < len; i++) {
			for (size_t n = 0; n < pieces[i].iov_len && taken < len; n++, taken++)
				cr_assert_eq(((uint8_t *)pieces[i].iov_base)[n], next_out++);
		}
		chain_drop(&chain, &blocks, taken);
		len -= taken;
	}
}

Test(chain, bytes_come_out_as_they_went_in_whatever_their_number)
{
	static const size_t lens[] = {
		1, 2, 100, CHAIN_BLOCK_BYTES - 1, CHAIN_BLOCK_BYTES, CHAIN_BLOCK_BYTES + 1, 4 * CHAIN_BLOCK_BYTES
	};

	for (size_t i = 0; i < COUNT_OF(lens); i++) {
		for (size_t n = 0; n < COUNT_OF(lens); n++) {
			put(lens[i]);
			put(lens[n]);
			cr_expect_eq(chain.bytes, lens[i] + lens[n]);
			expect_out(lens[i]);
			cr_expect_eq(chain.bytes, lens[n]);
			expect_out(lens[n]);
			cr_expect_eq(chain.bytes, 0);
			cr_expect_eq(blocks.used, 0, "an empty chain holds nothing");
		}
	}
}

Test(chain, it_takes_no_more_blocks_than_what_waits_fills)
{
	put(CHAIN_BLOCK_BYTES);
	cr_expect_eq(blocks.used, 1);
	put(1);
	cr_expect_eq(blocks.used, 2);
	expect_out(CHAIN_BLOCK_BYTES);
	cr_expect_eq(blocks.used, 1, "a block goes back as soon as it was sent");
}

Test(chain, an_empty_one_has_no_pieces)
{
	struct iovec piece;

	cr_expect_eq(chain_pieces(&chain, &piece, 1), 0);
	put(0);
	cr_expect_eq(chain_pieces(&chain, &piece, 1), 0);
}

Test(chain, without_memory_nothing_is_added)
{
	uint8_t      bytes[CHAIN_BLOCK_BYTES] = { 0 };
	struct iovec pieces[]                 = { { bytes, 1 }, { bytes, sizeof(bytes) } };

	put(10);
	blocks.max = blocks.used;
	cr_expect_not(chain_put(&chain, &blocks, pieces, COUNT_OF(pieces)));
	cr_expect_eq(chain.bytes, 10);
	blocks.max = blocks.used + 1;
	cr_expect(chain_put(&chain, &blocks, pieces, COUNT_OF(pieces)));
	cr_expect_eq(chain.bytes, 11 + CHAIN_BLOCK_BYTES);
	next_in = 10;
	expect_out(10);
}
