#include "support/nat_run.h"

#include "base/auto.h"

#include <criterion/criterion.h>
#include <string.h>

#define BEGIN_MS   INT64_C(5000000)
#define TOO_LONG   60000
#define FIRST_PORT 61314

static const uint8_t client_ip[4] = { 203, 0, 113, 14 };

static const int64_t hello_at_ms[] = { 0, 250, 750, 1500 };
static const int64_t open_at_ms[]  = { 0, 50, 100 };

/* The router */

static bool is_b(enum p2p_socket at)
{
	return at == P2P_BP || at == P2P_BQ;
}

static size_t new_row(struct nat_router *n)
{
	cr_assert_lt(n->row_count, NAT_RUN_ROWS);
	n->row_ports[n->row_count] = (uint16_t)(FIRST_PORT + 7 * n->row_count);
	return n->row_count++;
}

/* As what a packet to there is seen; the first one makes the entry. */
static struct p2p_endpoint seen_from(struct nat_router *n, enum p2p_socket to)
{
	struct p2p_endpoint e = { .is_set = true };

	memcpy(e.ip, client_ip, sizeof(e.ip));
	if (!n->has_row[to]) {
		n->rows[to]    = n->row_count == 0 || n->varies || n->takes[to] ? new_row(n) : 0;
		n->has_row[to] = true;
	}
	n->was_sent[to] = true;
	e.port          = n->row_ports[n->rows[to]];
	return e;
}

static bool lets_in(struct nat_router *n, enum p2p_socket from)
{
	bool is_known = n->filter == NAT_FILTER_NONE || n->was_sent[from] ||
	                (n->filter == NAT_FILTER_ADDRESS &&
	                 (n->was_sent[is_b(from) ? P2P_BP : P2P_AP] || n->was_sent[is_b(from) ? P2P_BQ : P2P_AQ]));

	if (!is_known && n->is_taken)
		n->takes[from] = true;
	return is_known;
}

/* Events */

static struct nat_event *add(struct nat_run *r, int64_t in_ms)
{
	struct nat_event *e = &r->events[r->event_count++];

	cr_assert_lt(r->event_count, NAT_RUN_EVENTS);
	memset(e, 0, sizeof(*e));
	e->at_ms = r->now_ms + in_ms;
	return e;
}

/* The earliest; of those at one time the one that was added first. */
static bool take(struct nat_event *out, struct nat_run *r, int64_t until_ms)
{
	size_t first = 0;

	for (size_t i = 1; i < r->event_count; i++) {
		if (r->events[i].at_ms < r->events[first].at_ms)
			first = i;
	}
	if (r->event_count == 0 || r->events[first].at_ms >= until_ms)
		return false;
	*out = r->events[first];
	r->event_count--;
	memmove(&r->events[first], &r->events[first + 1], (r->event_count - first) * sizeof(r->events[0]));
	return true;
}

static bool is_last_try(const struct p2p_packet *k)
{
	return k->try == (k->step == 1 ? COUNT_OF(hello_at_ms) - 1 : 2);
}

static bool is_lost(struct nat_run *r, const struct p2p_packet *k)
{
	return ++r->datagrams == r->loses || (r->is_lossy && !is_last_try(k));
}

/* The client */

static void say(struct nat_run *r, int64_t in_ms, uint8_t step, int64_t cookie)
{
	struct nat_event *e = add(r, in_ms + r->way_ms);

	e->what        = NAT_SAID;
	e->packet.step = step;
	e->cookie      = cookie;
}

static void plan(struct nat_run *r, const struct nat_event *told, const int64_t *at_ms, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct nat_event *e = add(r, at_ms[i]);

		e->what   = NAT_LEAVES_CLIENT;
		e->socket = told->step.socket;
		e->packet = (struct p2p_packet){ .type = told->step.is_open ? P2P_OPEN : P2P_HELLO,
			                         .step = told->step.step,
			                         .try  = (uint8_t)i };
		memcpy(e->packet.nonce, told->step.nonce, P2P_NONCE_BYTES);
	}
}

static void client_is_told(struct nat_run *r, const struct nat_event *e)
{
	r->step     = e->step.step;
	r->is_acked = false;
	if (e->step.is_open) {
		plan(r, e, open_at_ms, COUNT_OF(open_at_ms));
		say(r, open_at_ms[COUNT_OF(open_at_ms) - 1], e->step.step, -1);
	} else {
		plan(r, e, hello_at_ms, e->step.step == 1 ? 4 : 3);
	}
}

static void client_sends(struct nat_run *r, const struct p2p_packet *k, enum p2p_socket to)
{
	struct p2p_endpoint from;
	struct nat_event   *e;

	if (k->type == P2P_HELLO && (r->is_acked || r->step != k->step))
		return;
	if (r->router.is_silent || (r->router.hides_b && to == P2P_BP)) {
		r->datagrams++;
		return;
	}
	from = seen_from(&r->router, to);
	if (is_lost(r, k))
		return;
	e         = add(r, r->way_ms);
	e->what   = NAT_AT_SERVER;
	e->packet = *k;
	e->socket = to;
	e->from   = from;
}

static void client_gets(struct nat_run *r, const struct nat_event *e)
{
	struct p2p_packet k = e->packet;

	if (!lets_in(&r->router, e->socket))
		return;
	if (k.type == P2P_HELLO_ACK) {
		if (!r->is_acked && k.step == 1 && r->step == 1)
			say(r, 0, 1, (int64_t)k.time);
		r->is_acked = r->is_acked || k.step == r->step;
		return;
	}
	if (r->says_pings) {
		struct nat_event *said = add(r, r->way_ms);

		said->what   = NAT_SAID;
		said->packet = k;
		return;
	}
	k.type = P2P_PING_REPLY;
	client_sends(r, &k, e->socket);
}

/* The server */

static void server_sends(struct nat_run *r, const struct p2p_packet *k, enum p2p_socket from)
{
	struct nat_event *e;

	if (is_lost(r, k))
		return;
	e         = add(r, r->way_ms);
	e->what   = NAT_AT_CLIENT;
	e->packet = *k;
	e->socket = from;
}

static void server_gets(struct nat_run *r, const struct nat_event *e)
{
	struct p2p_packet k = e->packet;

	if (k.type == P2P_OPEN) {
		p2p_check_open(r->check, e->socket, &k, &e->from);
	} else if (k.type == P2P_PING_REPLY) {
		p2p_check_reply(r->check, e->socket, &k, &e->from, r->now_ms);
	} else {
		uint32_t cookie = ++r->next_cookie;

		if (!p2p_check_hello(r->check, e->socket, &k, &e->from, false, &cookie, r->now_ms))
			return;
		k.type = P2P_HELLO_ACK;
		k.time = cookie;
		server_sends(r, &k, e->socket);
	}
}

static void server_hears(struct nat_run *r, const struct nat_event *e)
{
	if (e->packet.type == P2P_PING_TRY)
		p2p_check_ping_try(r->check, e->packet.step, e->packet.nonce, r->now_ms);
	else
		p2p_check_step_done(r->check, e->packet.step, e->cookie, r->now_ms);
}

static void handle(struct nat_run *r, const struct nat_event *e)
{
	switch (e->what) {
	case NAT_LEAVES_CLIENT:
		client_sends(r, &e->packet, e->socket);
		break;
	case NAT_AT_SERVER:
		server_gets(r, e);
		break;
	case NAT_AT_CLIENT:
		client_gets(r, e);
		break;
	case NAT_TOLD:
		client_is_told(r, e);
		break;
	case NAT_SAID:
		server_hears(r, e);
		break;
	}
}

/* True: the check is over. */
static bool do_what_is_due(struct nat_run *r)
{
	for (;;) {
		struct p2p_check_action a = p2p_check_next(r->check);
		struct p2p_packet       k = { .type = P2P_PING_TRY, .step = a.step, .try = a.try };
		struct nat_event       *e;

		switch (a.what) {
		case P2P_CHECK_NOTHING:
			return false;
		case P2P_CHECK_OVER:
			r->result = *p2p_check_result(r->check);
			return true;
		case P2P_CHECK_PING:
			memcpy(k.nonce, a.nonce, sizeof(k.nonce));
			r->pings++;
			server_sends(r, &k, a.socket);
			break;
		case P2P_CHECK_STEP:
			e       = add(r, r->way_ms);
			e->what = NAT_TOLD;
			e->step = a;
			break;
		}
	}
}

void nat_run(struct nat_run *r)
{
	static const uint8_t nonces[P2P_CHECK_NONCES][P2P_NONCE_BYTES] = { { 1 }, { 2 }, { 3 }, { 4 }, { 5 } };
	struct nat_event     e;

	r->now_ms = BEGIN_MS;
	r->check  = p2p_check_new(r->has_second, nonces, r->now_ms);
	cr_assert_not_null(r->check);
	while (!do_what_is_due(r)) {
		int64_t due_ms = p2p_check_due(r->check);

		cr_assert_gt(due_ms, 0);
		cr_assert_lt(r->now_ms, BEGIN_MS + TOO_LONG, "the check does not end");
		if (take(&e, r, due_ms)) {
			r->now_ms = e.at_ms;
			handle(r, &e);
		} else {
			r->now_ms = due_ms;
			p2p_check_tick(r->check, r->now_ms);
		}
	}
	p2p_check_free(r->check);
	r->check = NULL;
}
