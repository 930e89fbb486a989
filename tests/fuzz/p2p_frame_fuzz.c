/*
 * Binary messages of the control channel: the head of whatever parses builds back to the same bytes, and the content is
 * all that follows it.
 */
#include "p2p/p2p_wire.h"

#include <stdlib.h>
#include <string.h>

#define UNUSED_AT 3

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	uint8_t          head[P2P_FRAME_HEAD_BYTES];
	struct p2p_frame f;

	if (!p2p_frame_parse(&f, data, len))
		return 0;
	p2p_frame_head(head, &f);
	for (size_t i = 0; i < sizeof(head); i++)
		if (head[i] != (i == UNUSED_AT ? 0 : data[i]))
			abort();
	if (f.content != data + sizeof(head) || f.content_len != len - sizeof(head))
		abort();
	return 0;
}
