/*
 * The bodies of requests: what parses builds back to the same bytes, up to those that are ignored (behind a text's NUL, behind
 * the last field), and one byte less would not have parsed.
 *
 *	first byte	the type of the message
 *	the rest	its payload
 */
#include "rooms/rooms_wire.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_code(uint8_t type, enum rooms_code code)
{
	bool is_stream = type == ROOMS_STREAM_CONNECT || type == ROOMS_STREAM_ACCEPT;

	if (code != ROOMS_FINE && code != ROOMS_BAD && !(code == ROOMS_NOT_IN_ROOM && type == ROOMS_LEAVE_ROOM) &&
	    !(code == ROOMS_NOT_FOUND && is_stream))
		abort();
}

/* Zeros behind the first NUL, as a plain reader would do it. */
static void clean(uint8_t *text, size_t cap)
{
	bool ended = false;

	for (size_t i = 0; i < cap; i++) {
		ended |= text[i] == 0;
		text[i] = ended ? 0 : text[i];
	}
}

static void check_back(const struct rooms_request *request, const uint8_t *payload, size_t len)
{
	static uint8_t       frame[ROOMS_FRAME_MAX], want[ROOMS_PAYLOAD_MAX];
	struct wr            w = wr_over(frame, sizeof(frame));
	struct rooms_request less;

	rooms_request_build(&w, request);

	size_t used = wr_len(&w) - ROOMS_HEAD_BYTES;

	if (!wr_ok(&w) || used > len || frame[0] != request->type)
		abort();
	memcpy(want, payload, len);
	if (request->type == ROOMS_HELLO) {
		clean(want + 4, ROOMS_TITLE_BYTES);
		clean(want + 4 + ROOMS_TITLE_BYTES, ROOMS_NAME_BYTES);
	}
	if (memcmp(frame + ROOMS_HEAD_BYTES, want, used) != 0)
		abort();
	if (rooms_parse(&less, request->type, payload, used) != ROOMS_FINE ||
	    rooms_parse(&less, request->type, payload, used - 1) == ROOMS_FINE)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct rooms_request request;

	if (len < 1 || len > 1 + ROOMS_PAYLOAD_MAX)
		return 0;

	enum rooms_code code = rooms_parse(&request, data[0], data + 1, len - 1);

	check_code(data[0], code);
	if (request.type != data[0])
		abort();
	if (code == ROOMS_FINE)
		check_back(&request, data + 1, len - 1);
	return 0;
}
