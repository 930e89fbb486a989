/*
 * As much of the rooms protocol as generator and reference of `make bench ARGS=rooms` need.
 */
#ifndef BENCH_LIB_ROOMS_H
#define BENCH_LIB_ROOMS_H

#include <stddef.h>
#include <stdint.h>

enum {
	ROOMS_HEAD          = 3,  /* of a frame: type and length */
	ROOMS_GROUP         = 4,  /* connections that talk with each other */
	ROOMS_MSG_FIXED     = 14, /* of ROOM_MSG's payload: room, from, to, length */
	ROOMS_EMPTY_RANKING = 10,
	ROOMS_PROBE         = 17,
	ROOMS_PROBE_REPLY   = 11,
	ROOMS_RELAY_IN      = 17,
	ROOMS_RELAY_OUT     = 9,

	ROOMS_T_HELLO      = 0x01,
	ROOMS_T_CREATE     = 0x10,
	ROOMS_T_JOIN       = 0x12,
	ROOMS_T_MESSAGE    = 0x15,
	ROOMS_T_SCORE      = 0x20,
	ROOMS_T_RANKING_OF = 0x21,
	ROOMS_T_CONNECT    = 0x30,
	ROOMS_T_ACCEPT     = 0x31,
	ROOMS_T_HELLO_ACK  = 0x81,
	ROOMS_T_ERROR      = 0x8f,
	ROOMS_T_JOINED     = 0x90,
	ROOMS_T_OK         = 0x93,
	ROOMS_T_READY      = 0x96,
	ROOMS_T_ROOM_MSG   = 0xa4,
	ROOMS_T_OFFER      = 0xa6,
	ROOMS_T_RECORDED   = 0xb0,
	ROOMS_T_RANKING    = 0xb1
};

static inline void rooms_put(uint8_t *out, uint64_t v, size_t bytes)
{
	for (size_t i = bytes; i > 0; i--, v >>= 8)
		out[i - 1] = (uint8_t)v;
}

static inline uint64_t rooms_get(const uint8_t *in, size_t bytes)
{
	uint64_t v = 0;

	for (size_t i = 0; i < bytes; i++)
		v = v << 8 | in[i];
	return v;
}

static inline uint32_t rooms_u32(const uint8_t *in)
{
	return (uint32_t)rooms_get(in, 4);
}

/* Of the payload of the frame that begins here. */
static inline size_t rooms_len(const uint8_t *frame)
{
	return (size_t)rooms_get(frame + 1, 2);
}

static inline void rooms_head(uint8_t *out, uint8_t type, size_t len)
{
	out[0] = type;
	rooms_put(out + 1, len, 2);
}

#endif
