#include "signal/signal_state.h"

#include <assert.h>
#include <string.h>

#define NETWORK_FACTOR 8 /* what an IPv6 /48 may have more than an address */

/* Setting up */

void signal_state_init(struct signal_state *s, const struct limits *l, uint64_t seed, signal_token_check check,
                       void *check_arg)
{
	size_t conns = (size_t)(l->signal_unproved + l->signal_peers);

	memset(s, 0, sizeof(*s));
	s->limits    = l;
	s->check     = check;
	s->check_arg = check_arg;
	map_init(&s->by_key, SIGNAL_KEY_BYTES, seed);
	signal_accounts_init(&s->addresses, SIGNAL_ADDR_BYTES, conns, seed + 1);
	signal_accounts_init(&s->networks, SIGNAL_ADDR_BYTES, conns, seed + 2);
	signal_accounts_init(&s->identities, SIGNAL_KEY_BYTES, conns, seed + 3);
	signal_store_init(&s->store, l);
	list_init(&s->unproved);
}

void signal_state_fini(struct signal_state *s)
{
	assert(s->unproved_count == 0 && s->peer_count == 0);
	map_fini(&s->by_key);
	signal_accounts_fini(&s->addresses);
	signal_accounts_fini(&s->networks);
	signal_accounts_fini(&s->identities);
	signal_store_fini(&s->store);
}

/* Coming and going */

static void let_accounts(struct signal_state *s, struct signal_conn *c, int64_t now_ms)
{
	if (c->address)
		signal_account_let(&s->addresses, c->address, now_ms);
	if (c->network)
		signal_account_let(&s->networks, c->network, now_ms);
	if (c->identity)
		signal_account_let(&s->identities, c->identity, now_ms);
	c->address = c->network = c->identity = NULL;
}

static enum signal_why may_enter(const struct signal_state *s, const struct signal_conn *c)
{
	size_t per_address = (size_t)s->limits->signal_unproved_per_address;

	if (s->unproved_count >= (size_t)s->limits->signal_unproved)
		return SIGNAL_WHY_PRE_TOTAL;
	if (c->self.is_exempt)
		return SIGNAL_FINE;
	if (c->address->unproved >= per_address)
		return SIGNAL_WHY_PRE_ADDRESS;
	if (c->network && c->network->unproved >= NETWORK_FACTOR * per_address)
		return SIGNAL_WHY_PRE_ADDRESS;
	return SIGNAL_FINE;
}

static void take_unproved(struct signal_state *s, struct signal_conn *c)
{
	c->holds_unproved = true;
	s->unproved_count++;
	c->address->unproved++;
	if (c->network)
		c->network->unproved++;
	list_append(&s->unproved, &c->unproved);
}

static void give_unproved(struct signal_state *s, struct signal_conn *c)
{
	if (!c->holds_unproved)
		return;
	c->holds_unproved = false;
	s->unproved_count--;
	c->address->unproved--;
	if (c->network)
		c->network->unproved--;
	list_remove(&c->unproved);
}

static void take_peer(struct signal_state *s, struct signal_conn *c)
{
	c->holds_peer = true;
	s->peer_count++;
	c->address->peers++;
	if (c->network)
		c->network->peers++;
}

static void give_peer(struct signal_state *s, struct signal_conn *c)
{
	if (!c->holds_peer)
		return;
	c->holds_peer = false;
	s->peer_count--;
	c->address->peers--;
	if (c->network)
		c->network->peers--;
}

enum signal_why signal_enter(struct signal_state *s, struct signal_conn *c, const struct signal_origin *from,
                             int64_t now_ms)
{
	*c = (struct signal_conn){ .phase       = SIGNAL_GREETING,
		                   .deadline_ms = now_ms + s->limits->signal_handshake_ms,
		                   .self        = { .is_exempt = from->is_exempt } };
	memcpy(c->self.addr, from->addr, sizeof(c->self.addr));
	list_init(&c->unproved);
	signal_queue_init(&c->queue);
	c->address = signal_account_hold(&s->addresses, from->addr, now_ms);
	if (from->network)
		c->network = signal_account_hold(&s->networks, from->network, now_ms);

	enum signal_why why = SIGNAL_WHY_MEMORY;

	if (c->address && (c->network || !from->network))
		why = may_enter(s, c);
	if (why == SIGNAL_FINE)
		take_unproved(s, c);
	else
		let_accounts(s, c, now_ms);
	return why;
}

/* No name, no queue, no slot: a connection on its way out takes none of them from others. */
static void shut(struct signal_state *s, struct signal_conn *c)
{
	if (c->phase == SIGNAL_READY) /* whom a newer one has replaced is so no more */
		map_remove(&s->by_key, c->self.key);
	signal_queue_clear(&c->queue, &s->store);
	give_unproved(s, c);
	give_peer(s, c);
	c->phase = SIGNAL_CLOSED;
}

void signal_leave(struct signal_state *s, struct signal_conn *c, int64_t now_ms)
{
	shut(s, c);
	let_accounts(s, c, now_ms);
}

static struct signal_step step_close(struct signal_state *s, struct signal_conn *c, enum signal_why why)
{
	shut(s, c);
	return (struct signal_step){ .what = SIGNAL_CLOSE, .why = why };
}

struct signal_conn *signal_on_tick(struct signal_state *s, int64_t now_ms, int64_t *next_ms)
{
	*next_ms = 0;
	if (list_is_empty(&s->unproved))
		return NULL;

	struct signal_conn *first = CONTAINER(s->unproved.next, struct signal_conn, unproved);

	if (now_ms < first->deadline_ms) {
		*next_ms = first->deadline_ms;
		return NULL;
	}
	shut(s, first);
	return first;
}

/* Registering */

static struct signal_step on_greeting(struct signal_state *s, struct signal_conn *c, const uint8_t *line, size_t len)
{
	struct signal_hello  hello;
	enum signal_greeting read = signal_read_greeting(&hello, line, len);

	if (read == SIGNAL_BAD_SHAPE)
		return step_close(s, c, SIGNAL_WHY_SHAPE);
	if (!s->check(s->check_arg, hello.token, hello.token_len))
		return step_close(s, c, SIGNAL_WHY_TOKEN);
	if (read != SIGNAL_GOOD_GREETING) {
		struct signal_step step =
			step_close(s, c, read == SIGNAL_BAD_LENGTH ? SIGNAL_WHY_LENGTH : SIGNAL_WHY_IDENTITY);

		if (s->check(s->check_arg, hello.identity, hello.identity_len)) /* a secret, in the wrong place */
			return step;
		step.offered     = hello.identity;
		step.offered_len = hello.identity_len;
		return step;
	}
	memcpy(c->self.key, hello.key, sizeof(c->self.key));
	c->phase = SIGNAL_GREETED;
	return (struct signal_step){ .what = SIGNAL_CHALLENGE };
}

void signal_challenged(struct signal_conn *c, const char nonce[SIGNAL_NONCE_CHARS])
{
	if (c->phase != SIGNAL_GREETED)
		return;
	memcpy(c->nonce, nonce, sizeof(c->nonce));
	c->phase = SIGNAL_CHALLENGED;
}

static struct signal_step on_proof(struct signal_state *s, struct signal_conn *c, const uint8_t *line, size_t len)
{
	struct signal_step step = { .what = SIGNAL_VERIFY };

	if (!signal_read_proof(step.sig, line, len))
		return step_close(s, c, SIGNAL_WHY_PROOF_SHAPE);
	c->phase = SIGNAL_PROVING;
	return step;
}

/* Whether there is a slot for it, once the one it replaces (or NULL) has given back its own. */
static enum signal_why may_register(const struct signal_state *s, const struct signal_conn *c,
                                    const struct signal_conn *old)
{
	size_t per_address  = (size_t)s->limits->signal_peers_per_address;
	size_t from_address = c->address->peers - (old && old->address == c->address);
	bool   same_network = old && c->network && old->network == c->network;
	size_t from_network = c->network ? c->network->peers - same_network : 0;

	if (s->peer_count - (old != NULL) >= (size_t)s->limits->signal_peers)
		return SIGNAL_WHY_FULL_TOTAL;
	if (c->self.is_exempt)
		return SIGNAL_FINE;
	if (from_address >= per_address || from_network >= NETWORK_FACTOR * per_address)
		return SIGNAL_WHY_FULL_ADDRESS;
	return SIGNAL_FINE;
}

struct signal_step signal_proved(struct signal_state *s, struct signal_conn *c, bool is_valid, int64_t now_ms)
{
	if (c->phase != SIGNAL_PROVING)
		return (struct signal_step){ .what = SIGNAL_WAIT };
	if (!is_valid)
		return step_close(s, c, SIGNAL_WHY_PROOF);

	struct signal_conn *old = map_get(&s->by_key, c->self.key);
	enum signal_why     why = may_register(s, c, old);

	if (why != SIGNAL_FINE)
		return step_close(s, c, why);
	c->identity = signal_account_hold(&s->identities, c->self.key, now_ms);
	if (c->identity && old)
		signal_leave(s, old, now_ms);
	if (!c->identity || map_put(&s->by_key, c->self.key, c) != ERR_OK) {
		struct signal_step step = step_close(s, c, SIGNAL_WHY_MEMORY);

		step.evicted = c->identity ? old : NULL;
		return step;
	}
	give_unproved(s, c);
	take_peer(s, c);
	c->phase = SIGNAL_READY;
	return (struct signal_step){ .what = SIGNAL_REGISTERED, .evicted = old };
}

/* Relaying */

static bool is_over(struct signal_account *account, int64_t lines_max, int64_t now_ms)
{
	return account && signal_account_lines(account, now_ms) >= lines_max;
}

/* Counts a line of it, unless it has sent too many. */
static bool charge(const struct signal_state *s, struct signal_conn *c, int64_t now_ms)
{
	int64_t per_address = s->limits->signal_lines_per_address;

	if (is_over(c->identity, s->limits->signal_lines, now_ms))
		return false;
	if (!c->self.is_exempt &&
	    (is_over(c->address, per_address, now_ms) || is_over(c->network, NETWORK_FACTOR * per_address, now_ms)))
		return false;
	signal_account_count(c->identity);
	if (c->self.is_exempt)
		return true;
	signal_account_count(c->address);
	if (c->network)
		signal_account_count(c->network);
	return true;
}

static struct signal_step step_drop(enum signal_why why)
{
	return (struct signal_step){ .what = SIGNAL_DROP, .why = why };
}

/* One more line that can be for nobody. Cheap as it is to send, it is counted by itself, whatever was charged for it. */
static struct signal_step on_junk(struct signal_state *s, struct signal_conn *c, enum signal_why why, int64_t now_ms)
{
	if (signal_account_junk(c->identity, now_ms) > s->limits->signal_junk)
		return step_close(s, c, SIGNAL_WHY_JUNK);
	return step_drop(why);
}

static struct signal_step on_relay(struct signal_state *s, struct signal_conn *c, const uint8_t *line, size_t len,
                                   int64_t now_ms)
{
	struct signal_relay_line relay;
	enum signal_relayed      read = signal_read_relay(&relay, line, len);

	if (read == SIGNAL_NO_BLANK)
		return on_junk(s, c, SIGNAL_DROP_SHAPE, now_ms);
	if (read == SIGNAL_NO_IDENTITY)
		return on_junk(s, c, charge(s, c, now_ms) ? SIGNAL_DROP_NOBODY : SIGNAL_DROP_BUDGET, now_ms);

	bool is_test = signal_is_test(relay.payload, relay.payload_len) &&
	               memcmp(relay.key, c->self.key, sizeof(relay.key)) == 0;

	if (!is_test && !charge(s, c, now_ms))
		return step_drop(SIGNAL_DROP_BUDGET);

	struct signal_conn *dest = map_get(&s->by_key, relay.key);

	if (!dest)
		return step_drop(SIGNAL_DROP_NOBODY);
	switch (signal_queue_put(&dest->queue, &s->store, &c->self, relay.payload, relay.payload_len, is_test)) {
	case SIGNAL_PUT_FULL:
		return step_drop(SIGNAL_DROP_FULL);
	case SIGNAL_PUT_SHARE:
		return step_drop(SIGNAL_DROP_SHARE);
	case SIGNAL_PUT:
		break;
	}
	return (struct signal_step){ .what = SIGNAL_SEND, .dest = dest, .is_test = is_test };
}

/* Lines */

size_t signal_line_max(const struct signal_conn *c)
{
	return c->phase == SIGNAL_READY ? SIGNAL_LINE_MAX : SIGNAL_GREETING_MAX;
}

struct signal_step signal_on_line(struct signal_state *s, struct signal_conn *c, const uint8_t *line, size_t len,
                                  int64_t now_ms)
{
	switch (c->phase) {
	case SIGNAL_GREETING:
		return on_greeting(s, c, line, len);
	case SIGNAL_GREETED:
	case SIGNAL_PROVING:
		return step_close(s, c, SIGNAL_WHY_EARLY);
	case SIGNAL_CHALLENGED:
		return on_proof(s, c, line, len);
	case SIGNAL_READY:
		return on_relay(s, c, line, len, now_ms);
	case SIGNAL_CLOSED:
	case SIGNAL_PHASE_COUNT:
		break;
	}
	return (struct signal_step){ .what = SIGNAL_WAIT };
}

struct signal_step signal_on_bad_line(struct signal_state *s, struct signal_conn *c, enum signal_why why)
{
	if (c->phase == SIGNAL_CLOSED)
		return (struct signal_step){ .what = SIGNAL_WAIT };
	return step_close(s, c, why);
}
