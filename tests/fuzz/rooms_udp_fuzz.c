/*
 * Packets: what parses builds back to the same bytes, and a relayed one keeps its payload when it is turned.
 */
#include "rooms/rooms_wire.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void build_back(const struct rooms_packet *p, const uint8_t *data)
{
	uint8_t   buf[17];
	struct wr w = wr_over(buf, sizeof(buf));

	wr_bytes(&w, "PSNR", 4);
	wr_be(&w, (uint8_t)p->type, 1);
	wr_be(&w, p->user_id, 4);
	wr_be(&w, p->token, 4);
	if (p->type == ROOMS_UDP_PROBE)
		wr_bytes(&w, p->local_ip, 4);
	else
		wr_be(&w, p->to_user, 4);
	if (wr_len(&w) != sizeof(buf) || memcmp(buf, data, sizeof(buf)) != 0)
		abort();
}

static void turn(const struct rooms_packet *p, const uint8_t *data, size_t len)
{
	uint8_t  *bytes = malloc(len);
	size_t    out   = len;
	uint8_t   head[ROOMS_RELAY_OUT_BYTES];
	struct wr w = wr_over(head, sizeof(head));

	memcpy(bytes, data, len);
	wr_bytes(&w, "PSNR\x03", 5);
	wr_be(&w, p->user_id, 4);

	const uint8_t *turned = rooms_relay_turn(bytes, &out, p->user_id);

	if (out != len - 8 || turned + out != bytes + len || memcmp(turned, head, sizeof(head)) != 0 ||
	    memcmp(turned + sizeof(head), data + 17, out - sizeof(head)) != 0)
		abort();
	free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct rooms_packet p;

	if (len > 65507 || !rooms_packet_parse(&p, data, len))
		return 0;
	if (p.type != ROOMS_UDP_PROBE && p.type != ROOMS_UDP_RELAY)
		abort();
	build_back(&p, data);
	if (p.type == ROOMS_UDP_RELAY)
		turn(&p, data, len);
	return 0;
}
