/*
 * The address in a packet is combined with the bytes of sid and nonce, and its port with the magic: routers that rewrite an
 * address they recognise in a payload then see none.
 */
#include "p2p/p2p_wire.h"

#include "base/bytes.h"

#define MAGIC          0xC00D
#define VERSION        1
#define FAMILY_NONE    0
#define FAMILY_IPV4    1
#define ADDRESS_OFFSET 28
#define MASK_OFFSET    4 /* of sid and nonce, 16 bytes */

enum { FROM_NOBODY, FROM_CLIENT, FROM_SERVER };

static const uint8_t senders[256] = {
	[P2P_HELLO] = FROM_CLIENT,      [P2P_HELLO_ACK] = FROM_SERVER, [P2P_PING_TRY] = FROM_SERVER,
	[P2P_PING_REPLY] = FROM_CLIENT, [P2P_OPEN] = FROM_CLIENT,
};

bool p2p_packet_parse(struct p2p_packet *out, const uint8_t *bytes, size_t len, bool from_client)
{
	struct rd         r = rd_over(bytes, len);
	struct p2p_packet p = { 0 };

	if (len != P2P_PACKET_BYTES || rd_be(&r, 2) != MAGIC || rd_u8(&r) != VERSION)
		return false;

	uint8_t type = rd_u8(&r);

	rd_copy(&r, p.sid, sizeof(p.sid));
	rd_copy(&r, p.nonce, sizeof(p.nonce));
	p.step = rd_u8(&r);
	p.try  = rd_u8(&r);

	uint8_t family = rd_u8(&r);

	rd_bytes(&r, 1);
	p.address.port = (uint16_t)(rd_be(&r, 2) ^ MAGIC);
	rd_bytes(&r, 2);
	for (size_t i = 0; i < sizeof(p.address.ip); i++)
		p.address.ip[i] = rd_u8(&r) ^ bytes[MASK_OFFSET + i];
	rd_bytes(&r, 12);
	p.time = (uint32_t)rd_be(&r, 4);
	rd_copy(&r, p.tag, sizeof(p.tag));

	if (senders[type] != (from_client ? FROM_CLIENT : FROM_SERVER) || family > FAMILY_IPV4)
		return false;
	p.type = (enum p2p_packet_type)type;
	if (family == FAMILY_IPV4)
		p.address.is_set = true;
	else
		p.address = (struct p2p_endpoint){ 0 };
	*out = p;
	return true;
}

void p2p_packet_build(uint8_t out[P2P_PACKET_BYTES], const struct p2p_packet *p)
{
	static const uint8_t zeros[16] = { 0 };
	struct wr            w         = wr_over(out, P2P_TAGGED_BYTES);
	bool                 has       = p->address.is_set;

	wr_be(&w, MAGIC, 2);
	wr_u8(&w, VERSION);
	wr_u8(&w, (uint8_t)p->type);
	wr_bytes(&w, p->sid, sizeof(p->sid));
	wr_bytes(&w, p->nonce, sizeof(p->nonce));
	wr_u8(&w, p->step);
	wr_u8(&w, p->try);
	wr_u8(&w, has ? FAMILY_IPV4 : FAMILY_NONE);
	wr_u8(&w, 0);
	wr_be(&w, has ? p->address.port ^ MAGIC : 0, 2);
	wr_be(&w, 0, 2);
	wr_bytes(&w, zeros, sizeof(zeros));
	wr_be(&w, p->time, 4);
	for (size_t i = 0; has && i < sizeof(p->address.ip); i++)
		out[ADDRESS_OFFSET + i] = p->address.ip[i] ^ out[MASK_OFFSET + i];
}

bool p2p_endpoint_is_same(const struct p2p_endpoint *a, const struct p2p_endpoint *b)
{
	if (!a->is_set || !b->is_set)
		return a->is_set == b->is_set;
	return a->port == b->port && memcmp(a->ip, b->ip, sizeof(a->ip)) == 0;
}

bool p2p_frame_parse(struct p2p_frame *out, const uint8_t *bytes, size_t len)
{
	struct rd        r = rd_over(bytes, len);
	struct p2p_frame f = { 0 };

	f.kind  = rd_u8(&r);
	f.flags = rd_u8(&r);
	f.ver   = rd_u8(&r);
	rd_bytes(&r, 1);
	f.cmd     = (uint16_t)rd_be(&r, 2);
	f.seat    = (uint16_t)rd_be(&r, 2);
	f.number  = (uint32_t)rd_be(&r, 4);
	f.content = rd_rest(&r, &f.content_len);
	if (!rd_ok(&r) || f.kind < P2P_SYNC || f.kind > P2P_RELAY)
		return false;
	*out = f;
	return true;
}

void p2p_frame_head(uint8_t out[P2P_FRAME_HEAD_BYTES], const struct p2p_frame *f)
{
	struct wr w = wr_over(out, P2P_FRAME_HEAD_BYTES);

	wr_u8(&w, f->kind);
	wr_u8(&w, f->flags);
	wr_u8(&w, f->ver);
	wr_u8(&w, 0);
	wr_be(&w, f->cmd, 2);
	wr_be(&w, f->seat, 2);
	wr_be(&w, f->number, 4);
}
