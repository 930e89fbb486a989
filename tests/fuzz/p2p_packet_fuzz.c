/*
 * Packets of the NAT check: whatever parses builds back to the same bytes, but for those that mean nothing (they become 0),
 * and no packet comes from both sides.
 */
#include "p2p/p2p_wire.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* All of it but the byte behind the family, the two behind the port, and, without an address, port and address. */
static bool means_something(size_t at, bool has_address)
{
	if (at == 23 || at == 26 || at == 27 || (at >= 32 && at < 44))
		return false;
	return has_address || at < 24 || at >= 44;
}

static bool build_back(const uint8_t *data, size_t len, bool from_client)
{
	uint8_t           buf[P2P_PACKET_BYTES];
	struct p2p_packet p, again;

	if (!p2p_packet_parse(&p, data, len, from_client))
		return false;
	p2p_packet_build(buf, &p);
	memcpy(buf + P2P_TAGGED_BYTES, p.tag, P2P_TAG_BYTES);
	for (size_t i = 0; i < sizeof(buf); i++)
		if (buf[i] != (means_something(i, p.address.is_set) ? data[i] : 0))
			abort();
	if (!p2p_packet_parse(&again, buf, sizeof(buf), from_client) ||
	    !p2p_endpoint_is_same(&p.address, &again.address))
		abort();
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	if (build_back(data, len, true) && build_back(data, len, false))
		abort();
	return 0;
}
