/*
 * The tunnel's messages: whatever parses builds back to the same bytes, up to those that are ignored behind it.
 */
#include "tunnel/tunnel_wire.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void build_back(const struct tunnel_msg *msg, const uint8_t *data, size_t len)
{
	static uint8_t buf[1 << 17];
	struct wr      w = wr_over(buf, sizeof(buf));

	tunnel_build(&w, msg);
	if (!wr_ok(&w) || wr_len(&w) > len || memcmp(buf, data, wr_len(&w)) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct tunnel_msg msg;

	if (len > 65552)
		return 0;
	if (tunnel_parse_client(&msg, data, len) == TUNNEL_PARSED)
		build_back(&msg, data, len);
	for (uint8_t version = 1; version <= 2; version++)
		if (tunnel_parse_server(&msg, version, data, len) == TUNNEL_PARSED)
			build_back(&msg, data, len);
	return 0;
}
