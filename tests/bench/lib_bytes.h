/*
 * Numbers on the wire, for the bench programs: little endian, as the tunnel protocol has them.
 *
 * The bench shares no code with coopd on purpose: a mistake in a codec both used would measure as correct.
 */
#ifndef BENCH_LIB_BYTES_H
#define BENCH_LIB_BYTES_H

#include <stdint.h>

/* Opcodes of the tunnel protocol that the bench speaks; see src/tunnel/PROTOCOL.md. */
enum {
	OP_HOST_OPEN   = 1,
	OP_HOST_OPENED = 2,
	OP_ECHO        = 3,
	OP_TO_HOST     = 4,
	OP_FROM_HOST   = 5,
	OP_FRIEND_GONE = 6,
	OP_FAULT       = 7,
	OP_JOIN        = 8,
	OP_JOINED      = 9,
	OP_FROM_FRIEND = 10,
	OP_TO_FRIEND   = 11,
	OP_GAME_STATE  = 16,
	OP_FRIEND_IS   = 17,
	OP_COUNT
};

enum { TUNNEL_VERSION = 2, TUNNEL_KEY_BYTES = 16, TUNNEL_TOKEN_BYTES = 8, TUNNEL_ID_BYTES = 8, TUNNEL_FRIENDS_MAX = 8 };

static inline void put_u16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)v;
	p[1] = (uint8_t)(v >> 8);
}

static inline void put_u32(uint8_t *p, uint32_t v)
{
	put_u16(p, (uint16_t)v);
	put_u16(p + 2, (uint16_t)(v >> 16));
}

static inline void put_u64(uint8_t *p, uint64_t v)
{
	put_u32(p, (uint32_t)v);
	put_u32(p + 4, (uint32_t)(v >> 32));
}

static inline uint16_t get_u16(const uint8_t *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

static inline uint32_t get_u32(const uint8_t *p)
{
	return (uint32_t)get_u16(p) | (uint32_t)get_u16(p + 2) << 16;
}

static inline uint64_t get_u64(const uint8_t *p)
{
	return (uint64_t)get_u32(p) | (uint64_t)get_u32(p + 4) << 32;
}

#endif
