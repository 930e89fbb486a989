/*
 * STUN: whatever is taken for a request gets an answer that is whole, carries its id, has no more bytes than it may, and is no
 * request itself (or two servers could talk for ever).
 *
 * Each input is read as it is, and once more with a right FINGERPRINT behind it, which no change of bytes hits by chance.
 */
#include "base/bytes.h"
#include "p2p/p2p_stun_wire.h"

#include <stdlib.h>
#include <string.h>

#define HEAD_BYTES        20
#define ID_OFFSET         4
#define SUCCESS           0x0101
#define ERROR             0x0111
#define COOKIE            0x2112a442
#define FINGERPRINT       0x8028
#define FINGERPRINT_BYTES 8
#define FINGERPRINT_XOR   0x5354554e
#define SUCCESS_BYTES_MAX 76 /* four addresses and a FINGERPRINT */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void need(bool is)
{
	if (!is)
		abort();
}

/* Bit by bit, so that it shares nothing with the one that is tested. */
static uint32_t crc_of(const uint8_t *data, size_t len)
{
	uint32_t crc = 0xffffffff;

	for (size_t i = 0; i < len; i++) {
		crc ^= data[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return ~crc;
}

/* They fit, and a FINGERPRINT is right and the last. Returns whether there is one. */
static bool check_attributes(const uint8_t *answer, size_t len)
{
	struct rd r         = rd_over(answer + HEAD_BYTES, len - HEAD_BYTES);
	bool      is_marked = false;

	while (rd_left(&r) > 0) {
		uint64_t       type      = rd_be(&r, 2);
		size_t         value_len = (size_t)rd_be(&r, 2);
		const uint8_t *value     = rd_bytes(&r, value_len);
		struct rd      v         = rd_over(value, value ? value_len : 0);

		need(value && !is_marked);
		rd_bytes(&r, (4 - value_len % 4) % 4);
		need(rd_ok(&r));
		if (type != FINGERPRINT)
			continue;
		is_marked = true;
		need(value_len == 4 && rd_be(&v, 4) == (crc_of(answer, len - FINGERPRINT_BYTES) ^ FINGERPRINT_XOR));
	}
	return is_marked;
}

static void check_answer(const struct stun_request *q, const struct stun_place *place)
{
	uint8_t             out[STUN_ANSWER_BYTES_MAX];
	size_t              len = stun_build(out, q, place);
	struct rd           r   = rd_over(out, len);
	struct stun_request again;

	need(len >= HEAD_BYTES && len <= sizeof(out) && len % 4 == 0);
	need(rd_be(&r, 2) == (q->unknown_count > 0 ? ERROR : SUCCESS));
	need(rd_be(&r, 2) == len - HEAD_BYTES);
	need(memcmp(out + ID_OFFSET, q->id, sizeof(q->id)) == 0);
	need(check_attributes(out, len) == (q->has_fingerprint && !q->is_old));
	need(q->unknown_count > 0 || len <= SUCCESS_BYTES_MAX);
	need(stun_parse(&again, out, len) == STUN_IGNORED);
}

static void take(const uint8_t *bytes, size_t len)
{
	struct stun_place   two = { { true, { 203, 0, 113, 14 }, 61314 },
		                    { true, { 203, 0, 113, 1 }, 3478 },
		                    { true, { 203, 0, 113, 2 }, 3479 } };
	struct stun_place   one = { two.source, two.origin, { 0 } };
	struct stun_request q;

	if (stun_parse(&q, bytes, len) != STUN_REQUEST)
		return;

	struct rd id = rd_over(bytes + ID_OFFSET, 4);

	need(len >= STUN_REQUEST_BYTES_MIN && len <= STUN_REQUEST_BYTES_MAX && q.unknown_count <= STUN_UNKNOWN_MAX);
	need(memcmp(q.id, bytes + ID_OFFSET, sizeof(q.id)) == 0 && q.is_old == (rd_be(&id, 4) != COOKIE));
	check_answer(&q, &two);
	check_answer(&q, &one);
}

static void take_marked(const uint8_t *data, size_t len)
{
	uint8_t   bytes[STUN_REQUEST_BYTES_MAX];
	struct wr w = wr_over(bytes, sizeof(bytes));

	len -= len % 4;
	if (len < HEAD_BYTES || len + FINGERPRINT_BYTES > sizeof(bytes))
		return;
	wr_be(&w, 1, 2);
	wr_be(&w, len - HEAD_BYTES + FINGERPRINT_BYTES, 2);
	wr_bytes(&w, data + ID_OFFSET, len - ID_OFFSET);
	wr_be(&w, FINGERPRINT, 2);
	wr_be(&w, 4, 2);
	wr_be(&w, crc_of(bytes, len) ^ FINGERPRINT_XOR, 4);
	take(bytes, wr_len(&w));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	take(data, len);
	take_marked(data, len);
	return 0;
}
