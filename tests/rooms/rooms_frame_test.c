/*
 * Frames out of pieces.
 */
#include "rooms/rooms_frame.h"

#include "base/auto.h"
#include "rooms/rooms_wire.h"
#include "support/dial.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static const uint8_t stream[] = {
	0x02, 0, 4, 0,    0, 0, 1,          /* a heartbeat */
	0x77, 0, 0,                         /* nothing in it */
	0x00, 0, 1, 0xff,                   /* type 0 */
	0xff, 0, 6, 2,    0, 1, 0, 255, 255 /* what looks like frames inside */
};

static const struct expected {
	uint8_t type;
	size_t  at, len; /* of the payload in stream */
} expected[] = { { 0x02, 3, 4 }, { 0x77, 10, 0 }, { 0x00, 13, 1 }, { 0xff, 17, 6 } };

/* One piece, in memory of its own; returns the number of frames that came so far. */
static size_t feed(struct rooms_reader *r, const uint8_t *bytes, size_t len, size_t found)
{
	uint8_t       *piece = malloc(len ? len : 1);
	const uint8_t *at    = piece, *payload;
	size_t         payload_len;
	uint8_t        type;

	if (len)
		memcpy(piece, bytes, len);
	while (rooms_reader_next(r, &at, piece + len, &type, &payload, &payload_len) == ROOMS_READ_FRAME) {
		cr_assert_lt(found, COUNT_OF(expected));
		cr_expect_eq(type, expected[found].type);
		cr_expect_eq(payload_len, expected[found].len);
		cr_expect_eq(memcmp(payload, stream + expected[found].at, payload_len), 0, "frame %zu", found);
		found++;
	}
	cr_expect_eq(at, piece + len);
	free(piece);
	return found;
}

Test(rooms_frame, any_three_pieces_give_the_same_frames)
{
	size_t len = sizeof(stream);

	for (size_t a = 0; a <= len; a++) {
		for (size_t b = a; b <= len; b++) {
			struct rooms_reader r     = { 0 };
			size_t              found = feed(&r, stream, a, 0);

			found = feed(&r, stream + a, b - a, found);
			found = feed(&r, stream + b, len - b, found);
			cr_expect_eq(found, COUNT_OF(expected), "cut at %zu and %zu", a, b);
			rooms_reader_fini(&r);
		}
	}
}

Test(rooms_frame, single_bytes_give_the_same_frames)
{
	struct rooms_reader r     = { 0 };
	size_t              found = 0;

	for (size_t i = 0; i < sizeof(stream); i++)
		found = feed(&r, stream + i, 1, found);
	cr_expect_eq(found, COUNT_OF(expected));
	rooms_reader_fini(&r);
}

static enum rooms_read next(struct rooms_reader *r, const uint8_t *bytes, size_t bytes_len, size_t *len)
{
	const uint8_t *at = bytes, *payload;
	uint8_t        type;

	return rooms_reader_next(r, &at, bytes + bytes_len, &type, &payload, len);
}

Test(rooms_frame, a_frame_that_lies_whole_in_what_came_is_not_copied)
{
	struct rooms_reader r  = { 0 };
	const uint8_t      *at = stream, *payload;
	uint8_t             type;
	size_t              len;

	cr_expect_eq(rooms_reader_next(&r, &at, stream + sizeof(stream), &type, &payload, &len), ROOMS_READ_FRAME);
	cr_expect_eq(payload, stream + 3);
	cr_expect_eq(at, stream + 7);
	cr_expect_null(r.held);
}

Test(rooms_frame, nothing_is_held_between_frames)
{
	struct rooms_reader r = { 0 };
	size_t              len;

	cr_expect_eq(next(&r, stream, 5, &len), ROOMS_READ_MORE);
	cr_expect_not_null(r.held);
	cr_expect_eq(next(&r, stream + 5, 2, &len), ROOMS_READ_FRAME);
	cr_expect_eq(next(&r, stream + 7, 0, &len), ROOMS_READ_MORE);
	cr_expect_null(r.held);
	cr_expect_eq(r.cap, 0);
}

/* The largest frame, in pieces of so many bytes; what is held never takes more than twice what came. */
static void trickle(size_t step)
{
	static uint8_t      frame[ROOMS_FRAME_MAX];
	struct rooms_reader r = { 0 };
	size_t              at, len = 0;

	for (size_t i = 0; i < sizeof(frame); i++)
		frame[i] = (uint8_t)(i * 7);
	memset(frame, 0xff, ROOMS_HEAD_BYTES);
	for (at = 0; at + step < sizeof(frame); at += step) {
		cr_assert_eq(next(&r, frame + at, step, &len), ROOMS_READ_MORE);
		cr_assert_leq(r.cap, 64 + 2 * (at + step), "%zu bytes came", at + step);
	}

	const uint8_t *rest = frame + at, *payload;
	uint8_t        type;

	cr_expect_eq(rooms_reader_next(&r, &rest, frame + sizeof(frame), &type, &payload, &len), ROOMS_READ_FRAME);
	cr_expect_eq(len, ROOMS_PAYLOAD_MAX);
	cr_expect_eq(type, 0xff);
	cr_expect_eq(memcmp(payload, frame + ROOMS_HEAD_BYTES, len), 0);
	cr_expect_leq(r.cap, ROOMS_FRAME_MAX);
	rooms_reader_fini(&r);
}

Test(rooms_frame, the_largest_frame_takes_memory_as_it_comes)
{
	static const size_t steps[] = { 1, 2, 3, 1460, 32768, 65535, 65537 };

	for (size_t i = 0; i < COUNT_OF(steps); i++)
		trickle(steps[i]);
}

Test(rooms_frame, a_head_alone_takes_little_memory)
{
	static const uint8_t head[] = { 0x15, 0xff, 0xff };
	struct rooms_reader  r      = { 0 };
	size_t               len;

	cr_expect_eq(next(&r, head, sizeof(head), &len), ROOMS_READ_MORE);
	cr_expect_leq(r.cap, 64);
	rooms_reader_fini(&r);
}

Test(rooms_frame, the_largest_frame_can_come_whole)
{
	static uint8_t      frame[ROOMS_FRAME_MAX + 1] = { 0x15, 0xff, 0xff };
	struct rooms_reader r                          = { 0 };
	const uint8_t      *at                         = frame, *payload;
	uint8_t             type;
	size_t              len;

	cr_expect_eq(rooms_reader_next(&r, &at, frame + sizeof(frame), &type, &payload, &len), ROOMS_READ_FRAME);
	cr_expect_eq(len, ROOMS_PAYLOAD_MAX);
	cr_expect_eq(at, frame + ROOMS_FRAME_MAX);
	cr_expect_null(r.held);
	cr_expect_eq(rooms_reader_next(&r, &at, frame + sizeof(frame), &type, &payload, &len), ROOMS_READ_MORE);
	cr_expect_eq(r.len, 1);
	rooms_reader_fini(&r);
}

/* Whatever comes is frames: all bytes are used, and no frame is longer than what came for it. */
Test(rooms_frame, garbage_is_cut_into_frames_too)
{
	struct rooms_reader r     = { 0 };
	uint32_t            state = 1;
	size_t              came = 0, cut = 0, len;

	for (size_t round = 0; round < 20000; round++) {
		uint8_t        piece[37];
		const uint8_t *at = piece, *payload;
		uint8_t        type;

		for (size_t i = 0; i < sizeof(piece); i++) {
			state    = state * 1664525 + 1013904223;
			piece[i] = (uint8_t)(state >> 24);
		}
		came += sizeof(piece);
		while (rooms_reader_next(&r, &at, piece + sizeof(piece), &type, &payload, &len) == ROOMS_READ_FRAME)
			cut += ROOMS_HEAD_BYTES + len;
		cr_assert_eq(at, piece + sizeof(piece));
		cr_assert_eq(cut + r.len, came);
	}
	cr_expect_gt(cut, 0);
	rooms_reader_fini(&r);
}

/* Were all of it moved or looked at again for each byte, this would take minutes. */
Test(rooms_frame, frames_that_trickle_cost_linear_work)
{
	int64_t start_ms = real_now_ms();

	for (size_t i = 0; i < 50; i++)
		trickle(1);
	cr_expect_lt(real_now_ms() - start_ms, 60000);
}

Test(rooms_frame, what_is_held_is_given_back_at_any_time)
{
	struct rooms_reader r = { 0 };
	size_t              len;

	rooms_reader_fini(&r);
	cr_expect_eq(next(&r, stream, 5, &len), ROOMS_READ_MORE);
	rooms_reader_fini(&r);
	cr_expect_eq(next(&r, stream, 5, &len), ROOMS_READ_MORE);
	cr_expect_eq(next(&r, stream + 5, 2, &len), ROOMS_READ_FRAME);
	rooms_reader_fini(&r);
	cr_expect(r.held == NULL && r.len == 0 && r.cap == 0 && !r.handed_out);
}
