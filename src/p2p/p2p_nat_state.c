/*
 * One phase after another, each with what ends it well, a deadline, and what the deadline means.
 */
#include "p2p/p2p_nat_state.h"

#include "base/auto.h"
#include "base/mem.h"

#include <string.h>

#define WHOLE_MS 12000

/* When a PING_TRY is sent, from the beginning of its phase. */
static const int64_t ping_at_ms[] = { 0, 200, 500 };

enum phase {
	PHASE_HELLO_A,
	PHASE_PING_1,
	PHASE_OPEN_B,
	PHASE_SETTLE,
	PHASE_PING_2,
	PHASE_HELLO_B,
	PHASE_HELLO_Q,
	PHASE_OVER
};

struct p2p_check {
	bool                  has_second;
	uint8_t               nonces[P2P_CHECK_NONCES][P2P_NONCE_BYTES]; /* of step 1 and so on */
	enum phase            phase;
	int64_t               began_ms, phase_ms; /* the whole; this phase */
	size_t                pings;              /* given out in this phase */
	bool                  step_is_due, ping_is_due, over_is_due;
	uint32_t              cookie;
	struct p2p_endpoint   m1, m2, m3, replied; /* what was seen of the client */
	struct p2p_nat_result result;
};

/* clang-format off */
static const struct phase_row {
	uint8_t         step;    /* 0: nothing is asked of anybody */
	bool            is_ping;
	bool            is_open;
	enum p2p_socket socket;  /* where the client is to send to */
	int64_t         deadline_ms;
} phases[] = {
	[PHASE_HELLO_A] = { 1, false, false, P2P_AP, 4000 },
	[PHASE_PING_1]  = { 2, true,  false, P2P_BP, 1000 },
	[PHASE_OPEN_B]  = { 3, false, true,  P2P_BQ, 2000 },
	[PHASE_SETTLE]  = { 0, false, false, P2P_BQ,  100 }, /* for what is still under way */
	[PHASE_PING_2]  = { 4, true,  false, P2P_BP, 1000 },
	[PHASE_HELLO_B] = { 5, false, false, P2P_BP, 2000 },
	[PHASE_HELLO_Q] = { 5, false, false, P2P_AQ, 2000 },
	[PHASE_OVER]    = { 0, false, false, P2P_AP,    0 },
};
/* clang-format on */

static const struct phase_row *row_of(const struct p2p_check *c)
{
	return &phases[c->phase];
}

static void enter(struct p2p_check *c, enum phase phase, int64_t now_ms)
{
	c->phase       = phase;
	c->phase_ms    = now_ms;
	c->pings       = 0;
	c->ping_is_due = row_of(c)->is_ping;
	c->step_is_due = row_of(c)->step > 0 && !row_of(c)->is_ping;
}

struct p2p_check *p2p_check_new(bool has_second, const uint8_t nonces[P2P_CHECK_NONCES][P2P_NONCE_BYTES],
                                int64_t now_ms)
{
	struct p2p_check *c = mem_new(sizeof(*c));

	if (!c)
		return NULL;
	c->has_second = has_second;
	memcpy(c->nonces, nonces, sizeof(c->nonces));
	c->began_ms = now_ms;
	enter(c, PHASE_HELLO_A, now_ms);
	return c;
}

void p2p_check_free(struct p2p_check *c)
{
	mem_free(c);
}

/* The end */

/* Whether the router maps every destination alike, by all that was seen. */
static enum p2p_mapping mapping_of(const struct p2p_check *c)
{
	const struct p2p_endpoint *const others[] = { &c->m2, &c->m3, &c->replied };
	enum p2p_mapping                 mapping  = P2P_MAPPING_UNKNOWN;

	for (size_t i = 0; i < COUNT_OF(others); i++) {
		if (!others[i]->is_set)
			continue;
		if (!p2p_endpoint_is_same(others[i], &c->m1))
			return P2P_MAPPING_VARIES;
		mapping = P2P_MAPPING_SAME;
	}
	return mapping;
}

/* An unasked PING_TRY took the place in the router that the client's own packet needed. */
static bool is_conflict(const struct p2p_check *c)
{
	return c->m2.is_set && c->m3.is_set && !p2p_endpoint_is_same(&c->m2, &c->m1) &&
	       p2p_endpoint_is_same(&c->m3, &c->m1);
}

static void finish(struct p2p_check *c, enum p2p_nat_type type, enum p2p_reason reason, int64_t now_ms)
{
	enter(c, PHASE_OVER, now_ms);
	c->over_is_due     = true;
	c->result.type     = type;
	c->result.reason   = reason;
	c->result.mapped   = c->m1;
	c->result.mapped_b = c->m2;
	c->result.mapping  = mapping_of(c);
	c->result.conflict = is_conflict(c);
	c->result.ms       = now_ms - c->began_ms;
}

/* With one address only that a mapping varies can be known for certain. */
static void finish_with_one(struct p2p_check *c, int64_t now_ms)
{
	bool varies = c->m2.is_set && !p2p_endpoint_is_same(&c->m2, &c->m1);

	c->result.partial        = varies;
	c->result.second_missing = !varies;
	finish(c, varies ? P2P_NAT_SYMMETRIC : P2P_NAT_UNKNOWN, P2P_REASON_NONE, now_ms);
	c->result.mapped_b.is_set = false; /* there is no B */
}

/* Time */

static void on_deadline(struct p2p_check *c, int64_t now_ms)
{
	switch (c->phase) {
	case PHASE_HELLO_A:
		finish(c, P2P_NAT_UNKNOWN, P2P_REASON_UDP_BLOCKED, now_ms);
		break;
	case PHASE_PING_1:
		enter(c, PHASE_OPEN_B, now_ms);
		break;
	case PHASE_OPEN_B:
		finish(c, P2P_NAT_UNKNOWN, P2P_REASON_CLIENT_TIMEOUT, now_ms);
		break;
	case PHASE_SETTLE:
		enter(c, PHASE_PING_2, now_ms);
		break;
	case PHASE_PING_2:
		enter(c, PHASE_HELLO_B, now_ms);
		break;
	case PHASE_HELLO_B:
		finish(c, P2P_NAT_UNKNOWN, P2P_REASON_SECOND_UNREACHABLE, now_ms);
		break;
	case PHASE_HELLO_Q:
		finish_with_one(c, now_ms);
		break;
	case PHASE_OVER:
		break;
	}
}

static bool has_ping_left(const struct p2p_check *c)
{
	return row_of(c)->is_ping && c->pings < COUNT_OF(ping_at_ms);
}

void p2p_check_tick(struct p2p_check *c, int64_t now_ms)
{
	if (c->phase == PHASE_OVER)
		return;
	if (now_ms >= c->began_ms + WHOLE_MS)
		finish(c, P2P_NAT_UNKNOWN, P2P_REASON_CLIENT_TIMEOUT, now_ms);
	else if (now_ms >= c->phase_ms + row_of(c)->deadline_ms)
		on_deadline(c, now_ms);
	else if (has_ping_left(c) && now_ms >= c->phase_ms + ping_at_ms[c->pings])
		c->ping_is_due = true;
}

int64_t p2p_check_due(const struct p2p_check *c)
{
	int64_t due_ms = c->phase_ms + row_of(c)->deadline_ms;

	if (c->phase == PHASE_OVER)
		return 0;
	if (has_ping_left(c) && c->phase_ms + ping_at_ms[c->pings] < due_ms)
		due_ms = c->phase_ms + ping_at_ms[c->pings];
	return due_ms < c->began_ms + WHOLE_MS ? due_ms : c->began_ms + WHOLE_MS;
}

/* What is to be done */

struct p2p_check_action p2p_check_next(struct p2p_check *c)
{
	const struct phase_row *row = row_of(c);
	struct p2p_check_action a   = { .what    = P2P_CHECK_NOTHING,
		                        .step    = row->step,
		                        .is_open = row->is_open,
		                        .socket  = row->socket,
		                        .to      = c->m1 };

	if (row->step > 0)
		memcpy(a.nonce, c->nonces[row->step - 1], sizeof(a.nonce));
	if (c->over_is_due) {
		a.what         = P2P_CHECK_OVER;
		c->over_is_due = false;
	} else if (c->step_is_due) {
		a.what         = P2P_CHECK_STEP;
		c->step_is_due = false;
	} else if (c->ping_is_due) {
		a.what         = P2P_CHECK_PING;
		a.try          = (uint8_t)c->pings++;
		c->ping_is_due = false;
	}
	return a;
}

const struct p2p_nat_result *p2p_check_result(const struct p2p_check *c)
{
	return &c->result;
}

/* What came */

static bool is_of_step(const struct p2p_check *c, uint8_t step, const uint8_t *nonce)
{
	return step > 0 && row_of(c)->step == step && memcmp(c->nonces[step - 1], nonce, P2P_NONCE_BYTES) == 0;
}

static bool hello_a(struct p2p_check *c, const struct p2p_endpoint *from, bool was_seen, uint32_t *cookie,
                    int64_t now_ms)
{
	if (p2p_endpoint_is_same(from, &c->m1)) { /* the answer was lost, or is under way */
		*cookie = c->cookie;
		return true;
	}
	c->m1     = *from;
	c->cookie = *cookie;
	if (!was_seen)
		return true;
	c->result.reused = true;
	finish(c, P2P_NAT_UNKNOWN, P2P_REASON_NONE, now_ms);
	return false;
}

bool p2p_check_hello(struct p2p_check *c, enum p2p_socket at, const struct p2p_packet *k,
                     const struct p2p_endpoint *from, bool was_seen, uint32_t *cookie, int64_t now_ms)
{
	if (!is_of_step(c, k->step, k->nonce) || row_of(c)->is_ping || row_of(c)->is_open || at != row_of(c)->socket)
		return false;
	if (c->phase == PHASE_HELLO_A)
		return hello_a(c, from, was_seen, cookie, now_ms);
	c->m2 = *from;
	if (c->phase == PHASE_HELLO_Q)
		finish_with_one(c, now_ms);
	else
		finish(c, p2p_endpoint_is_same(&c->m2, &c->m1) ? P2P_NAT_PORT : P2P_NAT_SYMMETRIC, P2P_REASON_NONE,
		       now_ms);
	return true;
}

/* Also a little late: while the second PING_TRY is out it still tells how the router maps. */
bool p2p_check_open(struct p2p_check *c, enum p2p_socket at, const struct p2p_packet *k,
                    const struct p2p_endpoint *from)
{
	const uint8_t step = phases[PHASE_OPEN_B].step;

	if (c->phase < PHASE_OPEN_B || c->phase > PHASE_HELLO_B || at != P2P_BQ || k->step != step ||
	    memcmp(c->nonces[step - 1], k->nonce, P2P_NONCE_BYTES) != 0)
		return false;
	c->m3 = *from;
	return true;
}

static void pinged(struct p2p_check *c, int64_t now_ms)
{
	finish(c, c->phase == PHASE_PING_1 ? P2P_NAT_OPEN : P2P_NAT_ADDRESS, P2P_REASON_NONE, now_ms);
}

bool p2p_check_reply(struct p2p_check *c, enum p2p_socket at, const struct p2p_packet *k,
                     const struct p2p_endpoint *from, int64_t now_ms)
{
	if (!row_of(c)->is_ping || at != row_of(c)->socket || !is_of_step(c, k->step, k->nonce))
		return false;
	c->replied = *from;
	pinged(c, now_ms);
	return true;
}

bool p2p_check_ping_try(struct p2p_check *c, int64_t step, const uint8_t nonce[P2P_NONCE_BYTES], int64_t now_ms)
{
	if (!row_of(c)->is_ping || step != row_of(c)->step || !is_of_step(c, (uint8_t)step, nonce))
		return false;
	pinged(c, now_ms);
	return true;
}

bool p2p_check_step_done(struct p2p_check *c, int64_t step, int64_t cookie, int64_t now_ms)
{
	if (step != row_of(c)->step)
		return false;
	if (c->phase == PHASE_HELLO_A && c->m1.is_set && cookie == (int64_t)c->cookie)
		enter(c, c->has_second ? PHASE_PING_1 : PHASE_HELLO_Q, now_ms);
	else if (c->phase == PHASE_OPEN_B)
		enter(c, PHASE_SETTLE, now_ms);
	else
		return false;
	return true;
}

const char *p2p_reason_name(enum p2p_reason r)
{
	static const char *const names[] = { "", "udp_blocked", "client_timeout", "second_unreachable" };

	return names[r];
}

const char *p2p_mapping_name(enum p2p_mapping m)
{
	static const char *const names[] = { "unknown", "same", "varies" };

	return names[m];
}
