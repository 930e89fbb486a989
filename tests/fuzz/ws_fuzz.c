/*
 * A client's bytes on an open WebSocket connection: the first byte of the input says how the rest is cut into reads.
 *
 * However they are cut, the same messages, pings and closes come out in the same order, and an error at the same place. What is
 * held stays within the limit. Each message, framed again, comes out again.
 */
#include "net/ws_frame.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define MESSAGE_BYTES_MAX 4096 /* so that the limit is within reach of short inputs */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* What came out, in a form that can be compared. */
struct story {
	uint64_t digest; /* FNV-1a of all */
	size_t   events;
	bool     failed;
};

static void tell(struct story *s, const void *bytes, size_t len)
{
	const uint8_t *at = bytes;

	for (size_t i = 0; i < len; i++)
		s->digest = (s->digest ^ at[i]) * 0x100000001b3;
}

static void tell_event(struct story *s, const struct ws_input_event *e)
{
	uint8_t what = (uint8_t)e->what;

	assert(e->what != WS_INPUT_NOMEM);
	assert(e->what != WS_INPUT_MESSAGE || (e->len > 0 && e->len <= MESSAGE_BYTES_MAX));
	assert((e->what != WS_INPUT_PING && e->what != WS_INPUT_PONG) || e->len <= WS_FRAME_CONTROL_BYTES_MAX);
	s->failed = e->what == WS_INPUT_BAD || e->what == WS_INPUT_TOO_BIG;
	s->events++;
	tell(s, &what, 1);
	tell(s, &e->len, sizeof(e->len));
	tell(s, e->data, e->len);
}

static void check_framed_again(const struct ws_input_event *e)
{
	uint8_t               frame[WS_FRAME_HEAD_BYTES_MAX + MESSAGE_BYTES_MAX] = { 0 };
	size_t                head = ws_frame_head(frame, WS_BINARY, e->len);
	uint8_t              *at   = frame;
	struct ws_input       in;
	struct ws_input_event again;

	/* A mask of zeros changes nothing. */
	frame[1] |= 0x80;
	memset(frame + head, 0, 4);
	memcpy(frame + head + 4, e->data, e->len);
	ws_input_init(&in, MESSAGE_BYTES_MAX);
	again = ws_input_next(&in, &at, frame + head + 4 + e->len);
	assert(again.what == WS_INPUT_MESSAGE && again.len == e->len && memcmp(again.data, e->data, e->len) == 0);
	ws_input_fini(&in);
}

/* One read of the connection; memory of its exact size shows a step too far. */
static void read_piece(struct ws_input *in, struct story *s, const uint8_t *bytes, size_t len, bool check)
{
	uint8_t              *copy = malloc(len ? len : 1);
	uint8_t              *at   = copy;
	struct ws_input_event e;

	if (!copy)
		abort();
	if (len > 0)
		memcpy(copy, bytes, len);
	for (;;) {
		e = ws_input_next(in, &at, copy + len);
		assert(ws_input_held(in) <= MESSAGE_BYTES_MAX);
		if (e.what == WS_INPUT_MORE)
			break;
		tell_event(s, &e);
		if (s->failed)
			break;
		if (check && e.what == WS_INPUT_MESSAGE)
			check_framed_again(&e);
	}
	assert(s->failed || at == copy + len);
	free(copy);
}

static struct story read_all(const uint8_t *bytes, size_t len, uint8_t cuts)
{
	struct story    s = { .digest = 0xcbf29ce484222325 };
	struct ws_input in;
	unsigned        step = cuts;

	ws_input_init(&in, MESSAGE_BYTES_MAX);
	while (len > 0 && !s.failed) {
		size_t take = cuts ? 1 + step % (cuts < 16 ? cuts : 64) : len;

		if (take > len)
			take = len;
		read_piece(&in, &s, bytes, take, cuts == 0);
		bytes += take;
		len -= take;
		step = step * 5 + 1;
	}
	ws_input_fini(&in);
	return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	if (len < 1)
		return 0;

	struct story whole = read_all(data + 1, len - 1, 0);
	struct story cut   = read_all(data + 1, len - 1, data[0]);

	assert(whole.events == cut.events && whole.digest == cut.digest && whole.failed == cut.failed);
	return 0;
}
