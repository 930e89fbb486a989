/*
 * STUN: whatever is taken for a request gets an answer that is whole, carries its id, and is no request itself (or two servers
 * could talk for ever).
 */
#include "base/bytes.h"
#include "p2p/p2p_stun_wire.h"

#include <stdlib.h>
#include <string.h>

#define HEAD_BYTES 20
#define ID_OFFSET  4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_answer(const struct stun_request *q, const struct stun_place *place)
{
	uint8_t             out[STUN_ANSWER_BYTES_MAX];
	size_t              len = stun_build(out, q, place);
	struct rd           r   = rd_over(out + 2, 2);
	struct stun_request again;

	if (len < HEAD_BYTES || len % 4 != 0 || rd_be(&r, 2) != len - HEAD_BYTES)
		abort();
	if (memcmp(out + ID_OFFSET, q->id, sizeof(q->id)) != 0 || stun_parse(&again, out, len) != STUN_IGNORED)
		abort();

	/* As a request it must be whole as well; a mark would be wrong then. */
	out[0] = 0;
	out[1] = 1;
	if (!q->has_fingerprint && stun_parse(&again, out, len) != STUN_REQUEST)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct stun_place   two = { { true, { 203, 0, 113, 14 }, 61314 },
		                    { true, { 203, 0, 113, 1 }, 3478 },
		                    { true, { 203, 0, 113, 2 }, 3479 } };
	struct stun_place   one = { two.source, two.origin, { 0 } };
	struct stun_request q;

	if (stun_parse(&q, data, len) != STUN_REQUEST)
		return 0;
	if (len < STUN_REQUEST_BYTES_MIN || len > STUN_REQUEST_BYTES_MAX || q.unknown_count > STUN_UNKNOWN_MAX)
		abort();
	check_answer(&q, &two);
	check_answer(&q, &one);
	return 0;
}
