/*
 * STUN Binding requests and answers: RFC 8489, the behaviour discovery of RFC 5780, and clients of RFC 3489.  Pure.
 */
#ifndef P2P_P2P_STUN_WIRE_H
#define P2P_P2P_STUN_WIRE_H

#include "p2p/p2p_wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STUN_REQUEST_BYTES_MIN 20
#define STUN_REQUEST_BYTES_MAX 1024
#define STUN_ANSWER_BYTES_MAX  1024
#define STUN_UNKNOWN_MAX       32 /* types that a 420 lists; further ones are left out */

struct stun_request {
	bool     is_old; /* without the magic cookie: RFC 3489 */
	uint8_t  id[16]; /* cookie and transaction id */
	bool     has_change, change_address, change_port;
	bool     has_fingerprint;
	uint16_t unknown[STUN_UNKNOWN_MAX];
	size_t   unknown_count;
};

enum stun_says {
	STUN_REQUEST,
	STUN_IGNORED, /* an indication, another method, or an answer */
	STUN_MALFORMED
};
enum stun_says stun_parse(struct stun_request *out, const uint8_t *bytes, size_t len);

/* Where a request came to and from. other: the server's other address and port; not set when it has one address only. */
struct stun_place {
	struct p2p_endpoint source, origin, other;
};

/* The answer, success or error 420 (when q->unknown_count > 0); returns its length. */
size_t stun_build(uint8_t out[STUN_ANSWER_BYTES_MAX], const struct stun_request *q, const struct stun_place *place);

#endif
