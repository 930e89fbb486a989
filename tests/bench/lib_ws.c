#include "lib_ws.h"

#include <stdbool.h>
#include <string.h>

#include "lib_bytes.h"

enum { FIN = 0x80, RESERVED = 0x70, OPCODE = 0x0f, MASKED = 0x80, LENGTH = 0x7f, LENGTH_16 = 126, LENGTH_64 = 127 };
enum { MASK_BYTES = 4 };

static uint64_t get_big_endian(const uint8_t *p, size_t bytes)
{
	uint64_t v = 0;

	while (bytes--)
		v = v << 8 | *p++;
	return v;
}

/* Bytes between the two fixed ones and the mask. */
static size_t length_bytes(unsigned field)
{
	return field == LENGTH_64 ? 8 : field == LENGTH_16 ? 2 : 0;
}

enum ws_got ws_take(struct ws_frame *out, struct span *in)
{
	if (in->len < 2)
		return WS_MORE;
	if ((in->p[0] & (FIN | RESERVED)) != FIN)
		return WS_BAD;

	bool     masked = in->p[1] & MASKED;
	uint64_t len    = in->p[1] & LENGTH;
	size_t   extra  = length_bytes((unsigned)len);
	size_t   head   = 2 + extra + (masked ? MASK_BYTES : 0);

	if (in->len < head)
		return WS_MORE;
	if (extra)
		len = get_big_endian(in->p + 2, extra);
	if (len > WS_MESSAGE_BYTES_MAX)
		return WS_BAD;
	if (in->len - head < len)
		return WS_MORE;

	*out = (struct ws_frame){ .op = in->p[0] & OPCODE, .data = { .p = in->p + head, .len = len } };
	if (masked)
		ws_mask(out->data.p, len, get_u32(out->data.p - MASK_BYTES));
	in->p += head + len;
	in->len -= head + len;
	return WS_FRAME;
}

/* No message of the bench needs the 64-bit length. */
static uint8_t *put_head(struct sock_loop *loop, struct sock *s, int op, size_t len, size_t mask_bytes)
{
	size_t   extra = len < LENGTH_16 ? 0 : 2;
	uint8_t *p     = sock_put(loop, s, 2 + extra + mask_bytes + len);

	*p++ = (uint8_t)(FIN | op);
	*p++ = (uint8_t)((mask_bytes ? MASKED : 0) | (extra ? LENGTH_16 : len));
	if (extra) {
		*p++ = (uint8_t)(len >> 8);
		*p++ = (uint8_t)len;
	}
	return p;
}

uint8_t *ws_put(struct sock_loop *loop, struct sock *s, int op, size_t len)
{
	return put_head(loop, s, op, len, 0);
}

uint8_t *ws_put_masked(struct sock_loop *loop, struct sock *s, int op, size_t len, uint32_t mask)
{
	uint8_t *p = put_head(loop, s, op, len, MASK_BYTES);

	put_u32(p, mask);
	return p + MASK_BYTES;
}

void ws_mask(uint8_t *p, size_t len, uint32_t mask)
{
	uint8_t  pattern[8];
	uint64_t wide;
	size_t   i = 0;

	put_u32(pattern, mask);
	put_u32(pattern + 4, mask);
	memcpy(&wide, pattern, sizeof(wide));
	for (; i + sizeof(wide) <= len; i += sizeof(wide)) {
		uint64_t word;

		memcpy(&word, p + i, sizeof(word));
		word ^= wide;
		memcpy(p + i, &word, sizeof(word));
	}
	for (; i < len; i++)
		p[i] ^= pattern[i % sizeof(pattern)];
}
