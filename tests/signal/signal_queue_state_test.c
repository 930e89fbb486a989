/*
 * What waits for one peer: limits, shares, the place for a self test, and bytes that leave in pieces of any size.
 */
#include "signal/signal_queue_state.h"

#include "base/auto.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define HEAD_BYTES (SIGNAL_IDENTITY_CHARS + 2) /* of a frame, besides its payload */

static struct limits       limits;
static struct signal_store store;
static struct signal_queue q;

static void start(void)
{
	limits_default(&limits);
	signal_store_init(&store, &limits);
	signal_queue_init(&q);
}

static void stop(void)
{
	signal_queue_clear(&q, &store);
	cr_expect_eq(store.blocks.used, 0);
	cr_expect_eq(store.marks.used, 0);
	signal_store_fini(&store);
}

TestSuite(signal_queue_state, .init = start, .fini = stop);

/* Sender and address, each named by a number. */
static struct signal_sender who(int key, int addr)
{
	struct signal_sender s = { 0 };

	memcpy(s.key, &key, sizeof(key));
	memcpy(s.addr, &addr, sizeof(addr));
	return s;
}

static enum signal_put put(const struct signal_sender *from, size_t payload_len, bool is_test)
{
	static uint8_t payload[SIGNAL_LINE_MAX];

	memset(payload, 'a' + from->key[0] % 26, sizeof(payload));
	return signal_queue_put(&q, &store, from, payload, payload_len, is_test);
}

static size_t put_many(int key, int addr, size_t payload_len, size_t count)
{
	struct signal_sender from = who(key, addr);
	size_t               done = 0;

	while (done < count && put(&from, payload_len, false) == SIGNAL_PUT)
		done++;
	return done;
}

Test(signal_queue_state, holds_64_lines_and_not_one_more)
{
	struct signal_sender third = who(3, 3);

	cr_expect_eq(put_many(1, 1, 10, 32), 32);
	cr_expect_eq(put_many(2, 2, 10, 32), 32);
	cr_expect_eq(put(&third, 10, false), SIGNAL_PUT_FULL);
	cr_expect_eq(q.frames, 64);
}

Test(signal_queue_state, holds_128_KiB_and_not_one_byte_more)
{
	size_t               payload = 4096 - HEAD_BYTES;
	struct signal_sender third   = who(3, 3);

	cr_expect_eq(put_many(1, 1, payload, 16), 16);
	cr_expect_eq(put_many(2, 2, payload, 15), 15);
	cr_expect_eq(put(&third, payload + 1, false), SIGNAL_PUT_FULL);
	cr_expect_eq(put(&third, payload, false), SIGNAL_PUT);
	cr_expect_eq(q.bytes, 131072);
}

Test(signal_queue_state, one_sender_has_half_of_it_however_many_addresses_he_has)
{
	for (int i = 0; i < 32; i++)
		cr_expect_eq(put_many(1, i, 10, 1), 1);

	struct signal_sender same = who(1, 99), other = who(2, 99);

	cr_expect_eq(put(&same, 10, false), SIGNAL_PUT_SHARE);
	cr_expect_eq(put(&other, 10, false), SIGNAL_PUT);
}

Test(signal_queue_state, one_address_has_half_of_it_however_many_names_it_has)
{
	for (int i = 0; i < 32; i++)
		cr_expect_eq(put_many(i, 1, 10, 1), 1);

	struct signal_sender same = who(99, 1), other = who(99, 2), exempt = who(98, 1);

	exempt.is_exempt = true;
	cr_expect_eq(put(&same, 10, false), SIGNAL_PUT_SHARE);
	cr_expect_eq(put(&other, 10, false), SIGNAL_PUT);
	cr_expect_eq(put(&exempt, 10, false), SIGNAL_PUT);
}

Test(signal_queue_state, half_of_it_is_64_KiB_too)
{
	struct signal_sender same = who(1, 1), other = who(2, 2);

	cr_expect_eq(put_many(1, 1, 8192 - HEAD_BYTES, 100), 8);
	cr_expect_eq(put(&same, 0, false), SIGNAL_PUT_SHARE);
	cr_expect_eq(put(&other, 8192 - HEAD_BYTES, false), SIGNAL_PUT);
}

Test(signal_queue_state, lines_that_left_make_room)
{
	struct signal_sender same = who(1, 1);

	put_many(1, 1, 10, 32);
	cr_expect_eq(put(&same, 10, false), SIGNAL_PUT_SHARE);
	signal_queue_sent(&q, &store, 10 + HEAD_BYTES - 1);
	cr_expect_eq(put(&same, 10, false), SIGNAL_PUT_SHARE);
	signal_queue_sent(&q, &store, 1);
	cr_expect_eq(put(&same, 10, false), SIGNAL_PUT);
}

Test(signal_queue_state, there_is_a_place_for_one_self_test_beside_a_full_queue)
{
	struct signal_sender self = who(7, 1);

	put_many(1, 1, 10, 32);
	put_many(2, 2, 10, 32);
	cr_expect_eq(put(&self, 0, true), SIGNAL_PUT);
	cr_expect_eq(put(&self, 0, true), SIGNAL_PUT_FULL);
	cr_expect_eq(q.frames, 64);

	/* It is behind the others; its place is free once it has left. */
	signal_queue_sent(&q, &store, 64 * (10 + HEAD_BYTES));
	cr_expect_eq(q.frames, 0);
	cr_expect(q.has_reserved);
	signal_queue_sent(&q, &store, HEAD_BYTES);
	cr_expect_not(q.has_reserved);
	cr_expect(signal_queue_is_empty(&q));
}

Test(signal_queue_state, the_self_test_beside_the_queue_is_no_part_of_a_share)
{
	struct signal_sender self = who(7, 7);

	put_many(7, 7, 10, 32);
	put_many(1, 1, 10, 32);
	cr_expect_eq(put(&self, 0, true), SIGNAL_PUT);
	cr_expect_eq(put(&self, 10, false), SIGNAL_PUT_FULL);
	signal_queue_sent(&q, &store, 10 + HEAD_BYTES); /* one of its own */
	cr_expect_eq(put(&self, 10, false), SIGNAL_PUT);
}

Test(signal_queue_state, a_self_test_needs_no_place_of_its_own_while_there_is_room)
{
	struct signal_sender self = who(7, 1);

	cr_expect_eq(put(&self, 0, true), SIGNAL_PUT);
	cr_expect_eq(put(&self, 0, true), SIGNAL_PUT);
	cr_expect_not(q.has_reserved);
	cr_expect_eq(q.frames, 2);
}

/* All that is put comes out as the same bytes, whatever is sent at a time. */
Test(signal_queue_state, bytes_leave_in_order_in_pieces_of_any_size)
{
	for (size_t step = 1; step < 3000; step = step * 2 + 1) {
		static char want[65536], got[65536];
		size_t      want_len = 0, got_len = 0;

		for (int i = 0; i < 20; i++) {
			struct signal_sender from = who(i, i);
			size_t               len  = (size_t)i * 97 % 1200;
			char                 name[SIGNAL_IDENTITY_CHARS + 1];

			cr_assert_eq(put(&from, len, false), SIGNAL_PUT);
			signal_identity(name, from.key);
			want_len += (size_t)sprintf(want + want_len, "%s ", name);
			memset(want + want_len, 'a' + i % 26, len);
			want_len += len;
			want[want_len++] = '\n';
		}
		cr_expect_eq(q.chain.bytes, want_len);
		while (!signal_queue_is_empty(&q)) {
			struct iovec pieces[3];
			size_t       count = signal_queue_pieces(&q, pieces, 3), sent = 0;

			for (size_t i = 0; i < count && sent < step; i++) {
				size_t n = pieces[i].iov_len < step - sent ? pieces[i].iov_len : step - sent;

				memcpy(got + got_len, pieces[i].iov_base, n);
				got_len += n;
				sent += n;
			}
			signal_queue_sent(&q, &store, sent);
		}
		cr_expect_eq(got_len, want_len);
		cr_expect(memcmp(got, want, want_len) == 0, "%zu bytes at a time", step);
		cr_expect_eq(q.chain.bytes, 0);
		cr_expect_eq(q.bytes, 0);
	}
}

Test(signal_queue_state, lines_can_be_taken_whole)
{
	struct signal_sender a = who(1, 1), b = who(2, 2);
	uint8_t              out[SIGNAL_LINE_MAX];
	char                 name[SIGNAL_IDENTITY_CHARS + 1];

	put(&a, 0, false);
	put(&b, 8192 - HEAD_BYTES, false);
	put(&a, 3, false);

	cr_expect_eq(signal_queue_take(&q, &store, out), HEAD_BYTES - 1);
	signal_identity(name, a.key);
	cr_expect_arr_eq(out, name, SIGNAL_IDENTITY_CHARS);
	cr_expect_eq(out[SIGNAL_IDENTITY_CHARS], ' ');
	cr_expect_eq(signal_queue_take(&q, &store, out), 8191);
	cr_expect_eq(out[8190], 'a' + 2);
	cr_expect_eq(signal_queue_take(&q, &store, out), HEAD_BYTES - 1 + 3);
	cr_expect(signal_queue_is_empty(&q));
	cr_expect_eq(q.chain.bytes, 0);
}

Test(signal_queue_state, takes_little_more_memory_than_what_waits)
{
	put_many(1, 1, 4000, 100);
	put_many(2, 2, 4000, 100);
	cr_expect_gt(q.bytes, 120000);
	cr_expect_lt(store.blocks.used * store.blocks.item_bytes + store.marks.used * store.marks.item_bytes, 140000);
}

Test(signal_queue_state, shares_follow_their_limits)
{
	limits.signal_queue_frames  = 10;
	limits.signal_share_percent = 30;
	signal_store_fini(&store);
	signal_store_init(&store, &limits);
	cr_expect_eq(put_many(1, 1, 10, 10), 3);
	cr_expect_eq(put_many(2, 2, 10, 10), 3);
	cr_expect_eq(put_many(3, 3, 10, 10), 3);
	cr_expect_eq(put_many(4, 4, 10, 10), 1);

	/* A share is never so small that a whole line would not fit. */
	limits.signal_queue_frames  = 64;
	limits.signal_share_percent = 1;
	signal_queue_clear(&q, &store);
	signal_store_fini(&store);
	signal_store_init(&store, &limits);
	cr_expect_eq(put_many(1, 1, 8192 - HEAD_BYTES, 10), 1);
}
