/*
 * The output queue: order, limits, what a slow reader loses, and that no frame is ever torn.
 */
#include "net/ws_queue.h"

#include "base/auto.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define NOW_MS 1000000

static struct ws_blocks       blocks;
static struct ws_queue_limits limits;
static struct ws_queue        q;
static struct ws_dropped      dropped;

static void start(void)
{
	limits  = (struct ws_queue_limits){ 64, 1000, 8, 2000 };
	dropped = (struct ws_dropped){ 0 };
	ws_blocks_init(&blocks, 4);
	ws_queue_init(&q, &blocks, &limits);
}

static void stop(void)
{
	ws_queue_fini(&q);
	ws_blocks_fini(&blocks);
}

/* Frames of one letter, so that what comes out reads like a word. */
static bool put_control(char letter, size_t bytes)
{
	uint8_t *at = ws_queue_put_control(&q, bytes);

	if (at)
		memset(at, letter, bytes);
	return at != NULL;
}

static bool put_tagged(char letter, size_t bytes, uint32_t tag, int64_t now_ms)
{
	uint8_t *at = ws_queue_put_datagram(&q, bytes, tag, now_ms, &dropped);

	if (at)
		memset(at, letter, bytes);
	return at != NULL;
}

static bool put(char letter, size_t bytes)
{
	return put_tagged(letter, bytes, (uint32_t)letter, NOW_MS);
}

/* Sends up to count bytes, as the kernel does: says what they were. */
static const char *send_some(size_t count)
{
	static char  out[65536];
	struct iovec pieces[3];
	size_t       len = 0;

	while (len < count && ws_queue_bytes(&q) > 0) {
		size_t used = ws_queue_pieces(&q, pieces, COUNT_OF(pieces));
		size_t sent = 0;

		cr_assert_gt(used, 0);
		for (size_t i = 0; i < used && len < count; i++) {
			size_t take = pieces[i].iov_len < count - len ? pieces[i].iov_len : count - len;

			cr_assert_gt(pieces[i].iov_len, 0);
			memcpy(out + len, pieces[i].iov_base, take);
			len += take;
			sent += take;
		}
		ws_queue_sent(&q, sent);
	}
	out[len] = '\0';
	return out;
}

static const char *send_all(void)
{
	return send_some(65535);
}

TestSuite(ws_queue, .init = start, .fini = stop);

Test(ws_queue, control_overtakes_datagrams_and_both_keep_their_order)
{
	put('a', 2);
	put_control('X', 1);
	put('b', 1);
	put_control('Y', 2);
	cr_expect_eq(ws_queue_bytes(&q), 6);
	cr_expect_str_eq(send_all(), "XYYaab");
	cr_expect_eq(ws_queue_bytes(&q), 0);
}

Test(ws_queue, a_frame_that_has_begun_is_finished_before_anything_else)
{
	put('a', 4);
	put('b', 2);
	cr_expect_str_eq(send_some(1), "a");
	put_control('X', 2);
	cr_expect_str_eq(send_some(2), "aa");
	put_control('Y', 1);
	cr_expect_str_eq(send_some(2), "aX");
	cr_expect_str_eq(send_all(), "XYbb");
}

Test(ws_queue, every_way_of_cutting_the_output_gives_the_same_bytes)
{
	for (size_t step = 1; step <= 20; step++) {
		char all[64] = "";

		put('a', 3);
		put_control('X', 2);
		put('b', 5);
		put_control('Y', 1);
		put('c', 1);
		while (ws_queue_bytes(&q) > 0)
			strcat(all, send_some(step));
		cr_expect_str_eq(all, "XXYaaabbbbbc", "%zu bytes at a time: %s", step, all);
	}
}

Test(ws_queue, over_the_byte_limit_the_oldest_datagrams_go)
{
	limits.datagram_bytes = 10;
	cr_expect(put('a', 4));
	cr_expect(put('b', 4));
	cr_expect(put('c', 2));
	cr_expect_eq(dropped.full, 0);
	cr_expect(put('d', 3));
	cr_expect_eq(dropped.full, 1);
	cr_expect(put('e', 10));
	cr_expect_eq(dropped.full, 4);
	cr_expect_not(put('f', 11), "longer than the whole limit");
	cr_expect_str_eq(send_all(), "eeeeeeeeee");
}

Test(ws_queue, over_the_frame_limit_the_oldest_datagrams_go)
{
	for (const char *c = "abcdefgh"; *c; c++)
		put(*c, 1);
	cr_expect_eq(dropped.full, 0);
	put('i', 1);
	put('j', 1);
	cr_expect_eq(dropped.full, 2);
	cr_expect_str_eq(send_all(), "cdefghij");
}

Test(ws_queue, a_datagram_that_waited_too_long_is_dropped)
{
	put_tagged('a', 1, 0, NOW_MS);
	put_tagged('b', 1, 0, NOW_MS + 1);
	cr_expect_eq(ws_queue_drop_old(&q, NOW_MS + 2000), 0, "at the limit");
	cr_expect_eq(ws_queue_drop_old(&q, NOW_MS + 2001), 1, "one past it");
	put_tagged('c', 1, 0, NOW_MS + 2002);
	cr_expect_eq(dropped.old, 1, "putting looks too");
	cr_expect_str_eq(send_all(), "c");
}

Test(ws_queue, a_frame_that_has_begun_is_never_dropped)
{
	limits.datagram_bytes = 10;
	put_tagged('a', 6, 1, NOW_MS);
	put_tagged('b', 4, 1, NOW_MS);
	cr_expect_str_eq(send_some(1), "a");

	put_tagged('c', 5, 1, NOW_MS);
	cr_expect_eq(dropped.full, 1, "b goes, although a is older");
	cr_expect_eq(ws_queue_drop_tag(&q, 1), 1, "c");
	cr_expect_eq(ws_queue_drop_old(&q, NOW_MS + 5000), 0);
	put_control('X', 1);
	cr_expect_str_eq(send_all(), "aaaaaX");
}

Test(ws_queue, datagrams_of_a_tag_go_together)
{
	limits.datagram_frames = 1000;
	for (int i = 0; i < 200; i++)
		put_tagged((char)('a' + i % 3), 1, (uint32_t)(i % 3), NOW_MS);
	cr_expect_eq(ws_queue_drop_tag(&q, 1), 67);
	cr_expect_eq(ws_queue_drop_tag(&q, 1), 0);
	cr_expect_eq(ws_queue_bytes(&q), 133);

	const char *all = send_all();
	cr_expect_eq(strlen(all), 133);
	cr_expect_null(strchr(all, 'b'));
	cr_expect_eq(strncmp(all, "acacac", 6), 0);
}

Test(ws_queue, dropping_all_datagrams_leaves_control)
{
	put('a', 3);
	put_control('X', 2);
	put('b', 3);
	cr_expect_eq(ws_queue_drop_datagrams(&q), 2);
	cr_expect_str_eq(send_all(), "XX");
}

Test(ws_queue, control_stops_at_its_limit_and_is_never_dropped)
{
	cr_expect(put_control('X', 60));
	cr_expect(put_control('Y', 4), "exactly full");
	cr_expect_not(put_control('Z', 1));
	cr_expect_not(put_control('Z', 1000));
	cr_expect_eq(ws_queue_bytes(&q), 64);
	send_some(30);
	cr_expect_not(put_control('Z', 31));
	cr_expect(put_control('Z', 30), "what left makes room, a begun frame's bytes too");
}

Test(ws_queue, frames_longer_than_a_block_are_fine)
{
	static char expected[3 * WS_BLOCK_BYTES];

	limits.datagram_bytes = 1 << 20;
	put('a', 2 * WS_BLOCK_BYTES + 5);
	put('b', 3);
	memset(expected, 'a', 2 * WS_BLOCK_BYTES + 5);
	memcpy(expected + 2 * WS_BLOCK_BYTES + 5, "bbb", 4);
	cr_expect_str_eq(send_all(), expected);
}

static size_t blocks_of(const struct ws_chain *c)
{
	size_t n = 0;

	for (const struct ws_block *b = c->head; b; b = b->next)
		n++;
	return n;
}

Test(ws_queue, a_reader_stuck_in_a_frame_costs_a_bounded_number_of_blocks)
{
	limits.datagram_frames = 128;
	limits.datagram_bytes  = 1 << 20;
	put('a', 100);
	cr_expect_str_eq(send_some(1), "a");
	for (int i = 0; i < 100000; i++)
		put((char)('b' + i % 20), 100);
	cr_expect_eq(q.datagrams.frames, 128);
	cr_expect_leq(blocks_of(&q.datagrams), 128 / WS_BLOCK_FRAMES + 2);

	const char *all = send_all();
	cr_expect_eq(strlen(all), 99 + 127 * 100);
	cr_expect_eq(all[98], 'a');
	cr_expect_neq(all[99], 'a');
}

Test(ws_queue, an_empty_queue_holds_no_block_and_spare_ones_are_few)
{
	for (int i = 0; i < 8; i++)
		put('a', 900);
	send_all();
	cr_expect_null(q.datagrams.head);
	cr_expect_null(q.control.head);
	cr_expect_leq(blocks.spare_count, 4);
	cr_expect_geq(blocks.spare_count, 1);
}

/* What the queue should do, done the slow way: a list of frames. */
struct model {
	struct {
		char     letter;
		size_t   bytes, left;
		uint32_t tag;
		int64_t  put_ms;
		bool     control;
	} frames[4096];
	size_t count;
};

static struct model m;

static void model_remove(size_t i)
{
	memmove(&m.frames[i], &m.frames[i + 1], (m.count - i - 1) * sizeof(m.frames[0]));
	m.count--;
}

static bool model_begun(size_t i)
{
	return m.frames[i].left < m.frames[i].bytes;
}

static size_t model_sum(bool control, size_t *frames)
{
	size_t bytes = 0;

	*frames = 0;
	for (size_t i = 0; i < m.count; i++)
		if (m.frames[i].control == control) {
			bytes += m.frames[i].left;
			++*frames;
		}
	return bytes;
}

static void model_drop(bool (*which)(size_t i, int64_t arg), int64_t arg)
{
	for (size_t i = 0; i < m.count;)
		if (!m.frames[i].control && !model_begun(i) && which(i, arg))
			model_remove(i);
		else
			i++;
}

static bool is_old(size_t i, int64_t now_ms)
{
	return now_ms - m.frames[i].put_ms > limits.datagram_ms;
}

static bool has_tag(size_t i, int64_t tag)
{
	return m.frames[i].tag == tag;
}

static void model_put(char letter, size_t bytes, uint32_t tag, int64_t now_ms, bool control)
{
	size_t frames;

	if (!control) {
		model_drop(is_old, now_ms);
		for (size_t i = 0; i < m.count;) {
			if (model_sum(false, &frames) + bytes <= limits.datagram_bytes &&
			    frames < limits.datagram_frames)
				break;
			if (!m.frames[i].control && !model_begun(i))
				model_remove(i);
			else
				i++;
		}
	}
	m.frames[m.count].letter  = letter;
	m.frames[m.count].bytes   = bytes;
	m.frames[m.count].left    = bytes;
	m.frames[m.count].tag     = tag;
	m.frames[m.count].put_ms  = now_ms;
	m.frames[m.count].control = control;
	m.count++;
}

static size_t model_next(void)
{
	for (size_t i = 0; i < m.count; i++)
		if (model_begun(i))
			return i;
	for (size_t i = 0; i < m.count; i++)
		if (m.frames[i].control)
			return i;
	return 0;
}

static void model_expect(const char *sent)
{
	for (; *sent; sent++) {
		cr_assert_gt(m.count, 0);

		size_t i = model_next();
		cr_assert_eq(*sent, m.frames[i].letter);
		if (--m.frames[i].left == 0)
			model_remove(i);
	}
}

Test(ws_queue, a_long_random_life_agrees_with_a_plain_list)
{
	unsigned seed   = 1;
	int64_t  now_ms = NOW_MS;

	limits = (struct ws_queue_limits){ 500, 3000, 150, 2000 };
	for (int i = 0; i < 60000; i++) {
		char     letter = (char)('A' + rand_r(&seed) % 50);
		size_t   bytes  = 1 + (size_t)rand_r(&seed) % 60;
		uint32_t tag    = (uint32_t)rand_r(&seed) % 4;
		size_t   frames;

		now_ms += rand_r(&seed) % 30;
		switch (rand_r(&seed) % 16) {
		case 0:
			if (put_control(letter, bytes))
				model_put(letter, bytes, 0, now_ms, true);
			break;
		case 1:
			ws_queue_drop_tag(&q, tag);
			model_drop(has_tag, tag);
			break;
		case 2:
			ws_queue_drop_old(&q, now_ms);
			model_drop(is_old, now_ms);
			break;
		case 3:
		case 4:
			model_expect(send_some((size_t)rand_r(&seed) % 200));
			break;
		default:
			cr_assert(put_tagged(letter, bytes, tag, now_ms));
			model_put(letter, bytes, tag, now_ms, false);
		}
		cr_assert_eq(q.control.bytes, model_sum(true, &frames));
		cr_assert_eq(q.datagrams.bytes, model_sum(false, &frames));
		cr_assert_eq(q.datagrams.frames, frames);
	}
	model_expect(send_all());
	cr_assert_eq(m.count, 0);
}

Test(ws_queue, a_block_of_ones_own_is_one_frame_among_the_control_frames)
{
	struct ws_queue_limits wide = { .control_bytes = 100000 };
	struct ws_blocks       own;
	struct ws_queue        one;
	struct iovec           pieces[8];

	ws_blocks_init(&own, 4);
	ws_queue_init(&one, &own, &wide);
	memcpy(ws_queue_put_control(&one, 1), "a", 1);
	struct ws_block *b = ws_block_take(&own, 50000);

	cr_assert_not_null(b);
	memset(b->data, 'b', 50000);
	cr_expect(ws_block_put(&one, b, 10, 50000));
	memcpy(ws_queue_put_control(&one, 1), "c", 1);
	cr_expect_eq(ws_queue_bytes(&one), 49992);
	cr_assert_eq(ws_queue_pieces(&one, pieces, 8), 3);
	cr_expect_eq(((char *)pieces[0].iov_base)[0], 'a');
	cr_expect_eq(pieces[1].iov_len, 49990);
	cr_expect_eq(((char *)pieces[2].iov_base)[0], 'c');

	/* It leaves in parts like any other. */
	ws_queue_sent(&one, 10001);
	cr_expect_eq(ws_queue_bytes(&one), 39991);
	cr_expect_eq(ws_queue_pieces(&one, pieces, 8), 2);
	cr_expect_eq(pieces[0].iov_len, 39990);
	ws_queue_sent(&one, 39991);
	cr_expect_eq(ws_queue_bytes(&one), 0);
	cr_expect_eq(ws_block_take(&own, 50000), b, "kept for the next");
	cr_expect(ws_block_put(&one, b, 0, 50000));
	b = ws_block_take(&own, 50001);
	cr_expect_not(ws_block_put(&one, b, 0, 50001), "over the limit of control messages");
	ws_queue_fini(&one);
	ws_blocks_fini(&own);
}
