/*
 * The NAT check of one session, as a state with deadlines.  Pure: what is to be sent it says, and is told what came.
 *
 *	HELLO_A --M1--> PING (from B:P) --> OPEN (to B:P2) --> PING --> HELLO_B --M2--> over
 *	     \             \_ type 1           \_              \_ type 2      \_ type 3 or 4
 *	      \_ with one address: HELLO_Q (to A:P2) --> over: type 4, or second_address_missing
 *
 * After every call the caller takes what is to be done (p2p_check_next) until there is nothing, and sets its timer to
 * p2p_check_due.
 */
#ifndef P2P_P2P_NAT_STATE_H
#define P2P_P2P_NAT_STATE_H

#include "p2p/p2p_room_state.h"
#include "p2p/p2p_wire.h"

#include <stdbool.h>
#include <stdint.h>

enum p2p_socket { P2P_AP, P2P_AQ, P2P_BP, P2P_BQ, P2P_SOCKETS };

enum p2p_mapping { P2P_MAPPING_UNKNOWN, P2P_MAPPING_SAME, P2P_MAPPING_VARIES };
enum p2p_reason { P2P_REASON_NONE, P2P_REASON_UDP_BLOCKED, P2P_REASON_CLIENT_TIMEOUT, P2P_REASON_SECOND_UNREACHABLE };

struct p2p_nat_result {
	enum p2p_nat_type   type;
	enum p2p_reason     reason; /* of type 0 */
	struct p2p_endpoint mapped, mapped_b;
	enum p2p_mapping    mapping;
	bool                conflict, partial;
	bool                second_missing; /* ends with that error */
	bool                reused;         /* ends with socket_reused */
	int64_t             ms;
};

struct p2p_check_action {
	enum {
		P2P_CHECK_NOTHING,
		P2P_CHECK_STEP, /* tell the client: step, hello or open, to which socket, with which nonce */
		P2P_CHECK_PING, /* send a PING_TRY from BP to M1 */
		P2P_CHECK_OVER  /* result */
	} what;
	uint8_t             step, try;
	bool                is_open; /* of STEP: "open", else "hello" */
	enum p2p_socket     socket;
	uint8_t             nonce[P2P_NONCE_BYTES];
	struct p2p_endpoint to;
};

struct p2p_check; /* the implementation's */

/* nonces: random bytes for all steps. NULL when out of memory. has_second: there is a B. */
#define P2P_CHECK_NONCES 5
struct p2p_check *p2p_check_new(bool has_second, const uint8_t nonces[P2P_CHECK_NONCES][P2P_NONCE_BYTES],
                                int64_t now_ms);
void              p2p_check_free(struct p2p_check *c);

void p2p_check_tick(struct p2p_check *c, int64_t now_ms);

/*
 * A HELLO of a step came in. was_seen: its source is among those that B or a check has seen in the last 300 s. True: answer it
 * with HELLO_ACK and *cookie, which is the one given, or, when the same address had one already, that.
 */
bool p2p_check_hello(struct p2p_check *c, enum p2p_socket at, const struct p2p_packet *k,
                     const struct p2p_endpoint *from, bool was_seen, uint32_t *cookie, int64_t now_ms);
/* An OPEN; a PING_REPLY. These and the next two are false for what is not waited for (any more). */
bool p2p_check_open(struct p2p_check *c, enum p2p_socket at, const struct p2p_packet *k,
                    const struct p2p_endpoint *from);
bool p2p_check_reply(struct p2p_check *c, enum p2p_socket at, const struct p2p_packet *k,
                     const struct p2p_endpoint *from, int64_t now_ms);
/* What the client says on the control channel: a step is done (cookie: of step 1), a PING_TRY with this nonce has arrived. */
bool p2p_check_step_done(struct p2p_check *c, int64_t step, int64_t cookie, int64_t now_ms);
bool p2p_check_ping_try(struct p2p_check *c, int64_t step, const uint8_t nonce[P2P_NONCE_BYTES], int64_t now_ms);

struct p2p_check_action      p2p_check_next(struct p2p_check *c);
int64_t                      p2p_check_due(const struct p2p_check *c); /* 0: it is over */
const struct p2p_nat_result *p2p_check_result(const struct p2p_check *c);

const char *p2p_reason_name(enum p2p_reason r);   /* "udp_blocked", ... */
const char *p2p_mapping_name(enum p2p_mapping m); /* "unknown", "same", "varies" */

#endif
