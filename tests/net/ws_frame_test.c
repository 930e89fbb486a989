/*
 * Frames from clients: cut into messages however the bytes arrive, and refused when they are not what RFC 6455 allows.
 */
#include "net/ws_frame.h"

#include "base/auto.h"
#include "net/ws.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FINAL  0x80
#define MASKED 0x80

/* Bytes on the wire, under construction. */
struct wire {
	uint8_t *bytes;
	size_t   len;
};

static struct wire wire;
static char        story[4096]; /* what came out, in words */

static void stop(void)
{
	free(wire.bytes);
	wire = (struct wire){ 0 };
}

static void add(const void *bytes, size_t len)
{
	wire.bytes = realloc(wire.bytes, wire.len + len + 1);
	cr_assert_not_null(wire.bytes);
	if (len > 0)
		memcpy(wire.bytes + wire.len, bytes, len);
	wire.len += len;
}

/* A masked frame whose length takes as many bytes as said: 0, 2 or 8 behind the first two. */
static void add_frame_sized(unsigned first, const void *payload, size_t len, unsigned length_bytes)
{
	static const uint8_t mask[4] = { 0x37, 0xfa, 0x21, 0x3d };
	uint8_t              head[2] = { (uint8_t)first, (uint8_t)(MASKED | (length_bytes == 8   ? 127
		                                                             : length_bytes == 2 ? 126
		                                                                                 : len)) };

	add(head, 2);
	for (unsigned i = length_bytes; i-- > 0;)
		add(&(uint8_t){ (uint8_t)((uint64_t)len >> (8 * i)) }, 1);
	add(mask, 4);
	for (size_t i = 0; i < len; i++)
		add(&(uint8_t){ ((const uint8_t *)payload)[i] ^ mask[i & 3] }, 1);
}

static void add_frame(unsigned first, const char *payload)
{
	size_t len = strlen(payload);

	add_frame_sized(first, payload, len, len < 126 ? 0 : len < 65536 ? 2 : 8);
}

static void add_long(unsigned first, size_t len)
{
	uint8_t *payload = calloc(1, len);

	cr_assert_not_null(payload);
	memset(payload, 'z', len);
	add_frame_sized(first, payload, len, len < 126 ? 0 : len < 65536 ? 2 : 8);
	free(payload);
}

static void tell(const struct ws_input_event *e)
{
	static const char *const words[] = {
		[WS_INPUT_MORE] = "more",   [WS_INPUT_MESSAGE] = "message", [WS_INPUT_PING] = "ping",
		[WS_INPUT_CLOSE] = "close", [WS_INPUT_BAD] = "bad",         [WS_INPUT_TOO_BIG] = "too big",
		[WS_INPUT_NOMEM] = "nomem", [WS_INPUT_PONG] = "pong",
	};
	size_t at = strlen(story);

	if (e->len > 40)
		snprintf(story + at, sizeof(story) - at, "%s(%zu);", words[e->what], e->len);
	else
		snprintf(story + at, sizeof(story) - at, "%s(%.*s);", words[e->what], (int)e->len,
		         (const char *)e->data);
}

/* Feeds the wire, `step` bytes at a time; each piece is memory of its own, so that a byte too far is seen. */
static const char *hear_in(struct ws_input *in, size_t step)
{
	story[0] = '\0';
	for (size_t at = 0; at < wire.len; at += step) {
		size_t                len  = step < wire.len - at ? step : wire.len - at;
		uint8_t              *copy = malloc(len);
		uint8_t              *from = copy;
		struct ws_input_event e;

		cr_assert_not_null(copy);
		memcpy(copy, wire.bytes + at, len);
		do {
			e = ws_input_next(in, &from, copy + len);
			if (e.what != WS_INPUT_MORE)
				tell(&e);
		} while (e.what == WS_INPUT_MESSAGE || e.what == WS_INPUT_PING || e.what == WS_INPUT_PONG ||
		         e.what == WS_INPUT_CLOSE);
		free(copy);
		if (e.what != WS_INPUT_MORE)
			break;
	}
	return story;
}

/* What the whole wire means, which must not depend on how it is cut. */
static const char *hear(void)
{
	static char whole[sizeof(story)];
	size_t      step = wire.len > 0 ? wire.len : 1;

	for (bool first = true; step > 0; step = first ? wire.len - 1 : step - 1, first = false) {
		struct ws_input in;

		if (wire.len > 300 && step > 17 && step < wire.len - 17)
			step = 17;
		ws_input_init(&in, WS_MESSAGE_BYTES_MAX);
		hear_in(&in, step);
		ws_input_fini(&in);
		if (step == wire.len)
			strcpy(whole, story);
		cr_assert_str_eq(story, whole, "%zu bytes at a time", step);
	}
	return whole;
}

TestSuite(ws_frame, .fini = stop);

Test(ws_frame, messages_come_out_as_they_were_sent)
{
	add_frame(FINAL | WS_BINARY, "one");
	add_frame(FINAL | WS_TEXT, "twotwotwotwo");
	add_frame(FINAL | WS_BINARY, "x");
	cr_expect_str_eq(hear(), "message(one);message(twotwotwotwo);message(x);");
}

Test(ws_frame, fragments_are_joined_with_control_frames_between_them)
{
	add_frame(WS_BINARY, "one");
	add_frame(FINAL | WS_PING, "alive?");
	add_frame(WS_CONTINUATION, "");
	add_frame(WS_CONTINUATION, "two");
	add_frame(FINAL | WS_PONG, "whatever");
	add_frame(FINAL | WS_CONTINUATION, "three");
	add_frame(FINAL | WS_BINARY, "four");
	cr_expect_str_eq(hear(), "ping(alive?);pong(whatever);message(onetwothree);message(four);");
}

Test(ws_frame, empty_messages_are_passed_over_in_any_form)
{
	add_frame(FINAL | WS_BINARY, "");
	add_frame(WS_TEXT, "");
	add_frame(WS_CONTINUATION, "");
	add_frame(FINAL | WS_CONTINUATION, "");
	add_frame(FINAL | WS_BINARY, "a");
	add_frame(WS_BINARY, "");
	add_frame(FINAL | WS_CONTINUATION, "b");
	add_frame(WS_BINARY, "c");
	add_frame(FINAL | WS_CONTINUATION, "");
	cr_expect_str_eq(hear(), "message(a);message(b);message(c);");
}

Test(ws_frame, pings_pongs_and_closes_carry_their_payload)
{
	add_frame(FINAL | WS_PING, "");
	add_long(FINAL | WS_PING, 125);
	add_frame(FINAL | WS_PONG, "unasked");
	add_frame(FINAL | WS_CLOSE, "");
	add_frame(FINAL | WS_CLOSE, "\x03\xe8");
	cr_expect_str_eq(hear(), "ping();ping(125);pong(unasked);close();close(\x03\xe8);");
}

Test(ws_frame, lengths_in_longer_form_than_needed_are_accepted)
{
	add_frame_sized(FINAL | WS_BINARY, "one", 3, 2);
	add_frame_sized(FINAL | WS_BINARY, "two", 3, 8);
	add_frame_sized(FINAL | WS_PING, "p", 1, 2);
	cr_expect_str_eq(hear(), "message(one);message(two);ping(p);");
}

Test(ws_frame, the_longest_message_passes_and_one_byte_more_does_not)
{
	add_long(FINAL | WS_BINARY, WS_MESSAGE_BYTES_MAX);
	add_long(FINAL | WS_BINARY, WS_MESSAGE_BYTES_MAX + 1);
	cr_expect_str_eq(hear(), "message(65552);too big();");
}

Test(ws_frame, fragments_are_limited_by_their_sum)
{
	add_long(WS_BINARY, WS_MESSAGE_BYTES_MAX - 10);
	add_long(WS_CONTINUATION, 10);
	add_frame(FINAL | WS_CONTINUATION, "");
	add_long(WS_BINARY, WS_MESSAGE_BYTES_MAX - 10);
	add_long(FINAL | WS_CONTINUATION, 11);
	cr_expect_str_eq(hear(), "message(65552);too big();");
}

Test(ws_frame, a_length_is_judged_before_any_payload_is_there)
{
	static const struct {
		uint8_t     head[14];
		size_t      len;
		const char *story;
	} cases[] = {
		{ { 0x82, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4 }, 14, "too big();" },
		{ { 0x82, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4 }, 14, "too big();" },
		{ { 0x82, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4 }, 14, "too big();" },
		{ { 0x82, 0xff, 0, 0, 0, 1, 0, 0, 0, 5, 1, 2, 3, 4 }, 14, "too big();" },
		{ { 0x82, 0xff, 0, 0, 0, 0, 0, 1, 0, 17, 1, 2, 3, 4 }, 14, "too big();" },
		{ { 0x82, 0xff, 0, 0, 0, 0, 0, 1, 0, 16, 1, 2, 3, 4 }, 14, "" },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		stop();
		add(cases[i].head, cases[i].len);
		cr_expect_str_eq(hear(), cases[i].story, "case %zu", i);
	}
}

Test(ws_frame, an_announced_length_takes_no_memory)
{
	static const uint8_t head[] = { 0x82, 0xff, 0, 0, 0, 0, 0, 1, 0, 16, 1, 2, 3, 4, 'a', 'b', 'c' };
	struct ws_input      in;

	ws_input_init(&in, WS_MESSAGE_BYTES_MAX);
	cr_expect_not(ws_input_is_partial(&in));
	add(head, 14);
	hear_in(&in, 14);
	cr_expect_eq(ws_input_held(&in), 0);
	cr_expect(ws_input_is_partial(&in));
	stop();
	add(head + 14, 3);
	hear_in(&in, 3);
	cr_expect_leq(ws_input_held(&in), 1024);
	ws_input_fini(&in);
}

Test(ws_frame, between_messages_nothing_is_held)
{
	struct ws_input in;

	ws_input_init(&in, WS_MESSAGE_BYTES_MAX);
	add_long(WS_BINARY, 5000);
	add_long(FINAL | WS_CONTINUATION, 5000);
	hear_in(&in, 100);
	cr_expect_str_eq(story, "message(10000);");
	cr_expect_eq(ws_input_held(&in), 0);
	cr_expect_not(ws_input_is_partial(&in));
	ws_input_fini(&in);
}

Test(ws_frame, what_no_client_may_send_is_refused)
{
	static const struct {
		const char *what;
		uint8_t     bytes[8];
		size_t      len;
	} cases[] = {
		{ "unmasked", { 0x82, 0x01, 'a' }, 3 },
		{ "unmasked and empty", { 0x82, 0x00 }, 2 },
		{ "extension bit 1", { 0xc2, 0x81, 0, 0, 0, 0, 'a' }, 7 },
		{ "extension bit 2", { 0xa2, 0x81, 0, 0, 0, 0, 'a' }, 7 },
		{ "extension bit 3", { 0x92, 0x81, 0, 0, 0, 0, 'a' }, 7 },
		{ "opcode 3", { 0x83, 0x81, 0, 0, 0, 0, 'a' }, 7 },
		{ "opcode 7", { 0x87, 0x81, 0, 0, 0, 0, 'a' }, 7 },
		{ "opcode 11", { 0x8b, 0x80, 0, 0, 0, 0 }, 6 },
		{ "opcode 15", { 0x8f, 0x80, 0, 0, 0, 0 }, 6 },
		{ "a control frame in fragments", { 0x09, 0x80, 0, 0, 0, 0 }, 6 },
		{ "a control frame of 126 bytes", { 0x89, 0xfe, 0, 126, 0, 0, 0, 0 }, 8 },
		{ "a continuation of nothing", { 0x80, 0x81, 0, 0, 0, 0, 'a' }, 7 },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		stop();
		add_frame(FINAL | WS_BINARY, "before");
		add(cases[i].bytes, cases[i].len);
		add_frame(FINAL | WS_BINARY, "after");
		cr_expect_str_eq(hear(), "message(before);bad();", "%s", cases[i].what);
	}
}

Test(ws_frame, a_new_message_inside_a_message_is_refused)
{
	add_frame(WS_BINARY, "one");
	add_frame(FINAL | WS_BINARY, "two");
	cr_expect_str_eq(hear(), "bad();");
}

Test(ws_frame, after_an_error_nothing_more_is_understood)
{
	struct ws_input in;

	ws_input_init(&in, WS_MESSAGE_BYTES_MAX);
	add("\x82\x01!", 3);
	hear_in(&in, 3);
	stop();
	add_frame(FINAL | WS_BINARY, "fine");
	cr_expect_str_eq(hear_in(&in, 100), "bad();");
	ws_input_fini(&in);
}

Test(ws_frame, heads_of_ours_are_the_shortest_and_unmasked)
{
	static const struct {
		size_t  payload, len;
		uint8_t head[10];
	} cases[] = {
		{ 0, 2, { 0x82, 0 } },
		{ 125, 2, { 0x82, 125 } },
		{ 126, 4, { 0x82, 126, 0, 126 } },
		{ 65535, 4, { 0x82, 126, 0xff, 0xff } },
		{ 65536, 10, { 0x82, 127, 0, 0, 0, 0, 0, 1, 0, 0 } },
	};
	uint8_t head[WS_FRAME_HEAD_BYTES_MAX];

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		cr_expect_eq(ws_frame_head(head, WS_BINARY, cases[i].payload), cases[i].len);
		cr_expect_arr_eq(head, cases[i].head, cases[i].len, "%zu bytes", cases[i].payload);
	}
	ws_frame_head(head, WS_CLOSE, 0);
	cr_expect_arr_eq(head, ((uint8_t[]){ 0x88, 0 }), 2);
}
