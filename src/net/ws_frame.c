#include "net/ws_frame.h"

#include "base/bytes.h"

#include <stdlib.h>
#include <string.h>

#define BIT_FINAL    0x80
#define BITS_RSV     0x70
#define BITS_OPCODE  0x0f
#define BIT_CONTROL  0x08
#define BIT_MASK     0x80
#define BITS_LENGTH  0x7f
#define LENGTH_IS_16 126
#define LENGTH_IS_64 127

#define MESSAGE_BYTES_FIRST 1024 /* what the pieces of a message get at first */

size_t ws_frame_head(uint8_t out[WS_FRAME_HEAD_BYTES_MAX], enum ws_opcode opcode, size_t payload_bytes)
{
	out[0] = (uint8_t)(BIT_FINAL | opcode);
	if (payload_bytes < LENGTH_IS_16) {
		out[1] = (uint8_t)payload_bytes;
		return 2;
	}
	if (payload_bytes <= UINT16_MAX) {
		out[1] = LENGTH_IS_16;
		out[2] = (uint8_t)(payload_bytes >> 8);
		out[3] = (uint8_t)payload_bytes;
		return 4;
	}
	out[1] = LENGTH_IS_64;
	for (size_t i = 0; i < 8; i++)
		out[2 + i] = (uint8_t)((uint64_t)payload_bytes >> (8 * (7 - i)));
	return 10;
}

/* Whole words, four at a time; mask[0] is for the first byte, and afterwards for the one behind the last. */
static void unmask(uint8_t *data, size_t len, uint8_t mask[4])
{
	uint64_t wide, words[4];
	size_t   i = 0;

	memcpy(&wide, mask, 4);
	memcpy((uint8_t *)&wide + 4, mask, 4);
	for (; i + sizeof(words) <= len; i += sizeof(words)) {
		memcpy(words, data + i, sizeof(words));
		for (size_t k = 0; k < 4; k++)
			words[k] ^= wide;
		memcpy(data + i, words, sizeof(words));
	}
	for (; i + sizeof(wide) <= len; i += sizeof(wide)) {
		memcpy(words, data + i, sizeof(wide));
		words[0] ^= wide;
		memcpy(data + i, words, sizeof(wide));
	}
	for (; i < len; i++)
		data[i] ^= mask[i & 3];

	uint8_t turned[4];
	for (size_t k = 0; k < 4; k++)
		turned[k] = mask[(len + k) & 3];
	memcpy(mask, turned, 4);
}

void ws_input_init(struct ws_input *in, uint32_t message_max)
{
	memset(in, 0, sizeof(*in));
	in->message_max = message_max;
}

static void drop_message(struct ws_input *in)
{
	free(in->message);
	in->message     = NULL;
	in->message_len = in->message_cap = 0;
}

void ws_input_fini(struct ws_input *in)
{
	drop_message(in);
}

size_t ws_input_held(const struct ws_input *in)
{
	return in->message_cap;
}

bool ws_input_is_partial(const struct ws_input *in)
{
	return in->in_message || in->in_payload || in->head_len > 0;
}

static struct ws_input_event give_up(struct ws_input *in, enum ws_input_what why)
{
	drop_message(in);
	in->broken = true;
	return (struct ws_input_event){ .what = why };
}

/* How long the head that begins with these bytes is; 0 while too few are there to tell. */
static size_t head_bytes(const uint8_t *head, size_t len)
{
	if (len < 2)
		return 0;

	size_t bytes = (head[1] & BIT_MASK) ? 6 : 2;

	if ((head[1] & BITS_LENGTH) == LENGTH_IS_16)
		bytes += 2;
	else if ((head[1] & BITS_LENGTH) == LENGTH_IS_64)
		bytes += 8;
	return bytes;
}

static uint64_t payload_bytes(const uint8_t *head)
{
	uint64_t len = head[1] & BITS_LENGTH;

	if (len == LENGTH_IS_16)
		return (uint64_t)head[2] << 8 | head[3];
	if (len == LENGTH_IS_64) {
		len = 0;
		for (size_t i = 0; i < 8; i++)
			len = len << 8 | head[2 + i];
	}
	return len;
}

/* Whether a client may send a frame with this head, at this point of its message. */
static enum ws_input_what judge_head(const struct ws_input *in, const uint8_t *head)
{
	uint8_t  opcode = head[0] & BITS_OPCODE;
	bool     final  = head[0] & BIT_FINAL;
	uint64_t len    = payload_bytes(head);

	if ((head[0] & BITS_RSV) || !(head[1] & BIT_MASK))
		return WS_INPUT_BAD;
	if (opcode & BIT_CONTROL)
		return opcode <= WS_PONG && final && len <= WS_FRAME_CONTROL_BYTES_MAX ? WS_INPUT_MORE : WS_INPUT_BAD;
	if (opcode > WS_BINARY || (opcode == WS_CONTINUATION) != in->in_message)
		return WS_INPUT_BAD;
	return len > in->message_max - in->message_len ? WS_INPUT_TOO_BIG : WS_INPUT_MORE;
}

static void take_head(struct ws_input *in, const uint8_t *head, size_t len)
{
	in->opcode     = head[0] & BITS_OPCODE;
	in->final      = head[0] & BIT_FINAL;
	in->frame_left = (uint32_t)payload_bytes(head);
	in->in_payload = true;
	in->head_len   = 0;
	if (in->opcode & BIT_CONTROL)
		in->control_len = 0;
	else
		in->in_message = true;
	if (in->opcode == WS_TEXT || in->opcode == WS_BINARY)
		in->is_text = in->opcode == WS_TEXT;
	memcpy(in->mask, head + len - 4, 4);
}

/* Reads a frame's head, or keeps its beginning. WS_INPUT_MORE: fine, and in_payload when it is whole. */
static enum ws_input_what read_head(struct ws_input *in, uint8_t **at, uint8_t *end)
{
	const uint8_t *head = *at;
	size_t         have = (size_t)(end - *at);

	if (in->head_len > 0) {
		size_t take = sizeof(in->head) - in->head_len;

		if (take > have)
			take = have;
		memcpy(in->head + in->head_len, *at, take);
		head = in->head;
		have = in->head_len + take;
	}

	size_t need = head_bytes(head, have);

	if (need == 0 || have < need) {
		if (in->head_len == 0)
			memcpy(in->head, head, have);
		in->head_len = (uint8_t)have;
		*at          = end;
		return WS_INPUT_MORE;
	}

	enum ws_input_what verdict = judge_head(in, head);

	if (verdict != WS_INPUT_MORE)
		return verdict;
	*at += need - in->head_len;
	take_head(in, head, need);
	return WS_INPUT_MORE;
}

static bool keep(struct ws_input *in, const uint8_t *data, size_t len)
{
	size_t need = in->message_len + len;

	if (need > in->message_cap) {
		size_t cap = in->message_cap ? (size_t)in->message_cap * 2 : MESSAGE_BYTES_FIRST;

		if (cap < need)
			cap = need;
		if (cap > in->message_max)
			cap = in->message_max;

		uint8_t *more = realloc(in->message, cap);
		if (!more)
			return false;
		in->message     = more;
		in->message_cap = (uint32_t)cap;
	}
	if (len > 0)
		memcpy(in->message + in->message_len, data, len);
	in->message_len = (uint32_t)need;
	return true;
}

static enum ws_input_what meaning_of(uint8_t opcode)
{
	return opcode == WS_PING ? WS_INPUT_PING : opcode == WS_PONG ? WS_INPUT_PONG : WS_INPUT_CLOSE;
}

static struct ws_input_event on_control(struct ws_input *in, uint8_t *data, size_t len, bool whole)
{
	static const struct ws_input_event nothing = { .what = WS_INPUT_MORE };

	if (in->control_len > 0 || !whole) {
		memcpy(in->control + in->control_len, data, len);
		in->control_len = (uint8_t)(in->control_len + len);
		data            = in->control;
		len             = in->control_len;
	}
	if (!whole)
		return nothing;
	in->control_len = 0;
	return (struct ws_input_event){ meaning_of(in->opcode), data, len };
}

static struct ws_input_event on_data(struct ws_input *in, uint8_t *data, size_t len, bool whole)
{
	bool last = whole && in->final;

	if (last)
		in->in_message = false;
	if (last && in->message_len == 0) {
		/* One frame, all here: the usual case, without a copy. */
		drop_message(in);
		return (struct ws_input_event){ len > 0 ? WS_INPUT_MESSAGE : WS_INPUT_MORE, data, len };
	}
	if (!keep(in, data, len))
		return give_up(in, WS_INPUT_NOMEM);
	if (!last)
		return (struct ws_input_event){ .what = WS_INPUT_MORE };
	in->handed_out = true;
	return (struct ws_input_event){ WS_INPUT_MESSAGE, in->message, in->message_len };
}

struct ws_input_event ws_input_next(struct ws_input *in, uint8_t **at, uint8_t *end)
{
	if (in->handed_out) {
		drop_message(in);
		in->handed_out = false;
	}
	if (in->broken)
		return (struct ws_input_event){ .what = WS_INPUT_BAD };

	while (*at < end) {
		if (!in->in_payload) {
			enum ws_input_what verdict = read_head(in, at, end);

			if (verdict != WS_INPUT_MORE)
				return give_up(in, verdict);
			if (!in->in_payload)
				break;
		}

		size_t   len   = (size_t)(end - *at);
		uint8_t *data  = *at;
		bool     whole = len >= in->frame_left;

		if (whole)
			len = in->frame_left;
		unmask(data, len, in->mask);
		in->frame_left -= (uint32_t)len;
		in->in_payload = !whole;
		*at += len;

		struct ws_input_event e =
			(in->opcode & BIT_CONTROL) ? on_control(in, data, len, whole) : on_data(in, data, len, whole);
		if (e.what != WS_INPUT_MORE)
			return e;
	}
	return (struct ws_input_event){ .what = WS_INPUT_MORE };
}
