/*
 * Connections of the relay, whatever lane they came on. The header says how the work is divided.
 */
#include "signal/signal_serve.h"

#include "base/auto.h"
#include "base/hex.h"
#include "base/metric.h"
#include "crypt/hash.h"
#include "crypt/verify.h"
#include "os/clock.h"
#include "os/random.h"
#include "signal/signal_peer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static struct signal_peer *peer_of(struct signal_conn *c)
{
	return CONTAINER(c, struct signal_peer, state);
}

static struct signal_about about(const struct signal_peer *p, bool has_proved)
{
	return (struct signal_about){
		.id = p->id, .listener = p->lane->name, .addr = &p->addr, .key = has_proved ? p->state.self.key : NULL
	};
}

static void publish(const struct signal_relay *r)
{
	metric_set(M_SIGNAL_UNPROVED, (int64_t)r->state.unproved_count);
	metric_set(M_SIGNAL_PEERS, (int64_t)r->state.peer_count);
}

/* Tokens: digests are compared, so that neither their length nor what they begin with can be timed. */

static bool check_token(void *arg, const uint8_t *token, size_t len)
{
	const struct signal_relay *r = arg;
	uint8_t                    digest[HASH_SHA256_BYTES];
	bool                       is_good = false;

	hash_sha256(digest, token, len);
	for (size_t i = 0; i < COUNT_OF(r->tokens); i++)
		is_good |= equal_secret(digest, r->tokens[i].digest, sizeof(digest)) & r->tokens[i].is_set;
	return is_good;
}

static void set_token(struct signal_token *t, const char *text)
{
	static_assert(sizeof(t->digest) == HASH_SHA256_BYTES, "a token is kept as its digest");
	t->is_set = *text != '\0';
	hash_sha256(t->digest, text, strlen(text));
}

void signal_reload(struct signal_relay *r, const struct conf *conf, const char *token)
{
	const char *shared = *conf->signal_token ? conf->signal_token : token;

	if (*shared) /* an operator who has just emptied the setting has not given out another one */
		set_token(&r->tokens[0], shared);
	set_token(&r->tokens[1], conf->signal_token_previous);
}

/* Ends */

/* The state has closed it: nothing of it counts any more. */
static void close_peer(struct signal_peer *p, enum signal_why why, const uint8_t *offered, size_t len)
{
	struct signal_about who = about(p, p->state.identity != NULL);

	signal_log_closed(&p->relay->log, &who, why, offered, len);
	p->is_counted = true;
	timer_clear(&p->timer);
	p->lane->close(p);
	publish(p->relay);
}

/* Not by a close: that would wait for a peer that may have been dead for a while. */
static void evict(struct signal_peer *old, const struct signal_peer *by)
{
	struct signal_about who = about(old, true);

	signal_log_replaced(&who, by->id);
	old->is_counted = true;
	timer_clear(&old->timer);
	old->lane->reset(old);
}

static void on_deadline(struct timer *timer, int64_t now_ms)
{
	struct signal_relay *r = CONTAINER(timer, struct signal_relay, deadline);
	struct signal_conn  *late;
	int64_t              next_ms;

	while ((late = signal_on_tick(&r->state, now_ms, &next_ms)))
		close_peer(peer_of(late), SIGNAL_WHY_LATE, NULL, 0);
	if (next_ms)
		timer_set(r->loop, &r->deadline, next_ms);
}

/* Doing what the state says */

static void send_challenge(struct signal_peer *p)
{
	uint8_t random[SIGNAL_NONCE_BYTES];
	char    nonce[SIGNAL_NONCE_CHARS + 1];

	random_bytes(random, sizeof(random));
	hex_encode(nonce, random, sizeof(random));
	signal_challenged(&p->state, nonce);
	signal_build_challenge(p->challenge, nonce);
	p->lane->challenge(p);
}

static void challenge(struct signal_peer *p)
{
	struct signal_relay *r        = p->relay;
	int64_t              delay_ms = r->conf->limits.signal_nonce_delay_ms;

	p->has_greeted = true;
	if (delay_ms > 0)
		timer_set(r->loop, &p->timer, loop_now_ms(r->loop) + delay_ms);
	else
		send_challenge(p);
}

static bool is_proved(const struct signal_peer *p, const uint8_t sig[SIGNAL_SIG_BYTES])
{
	uint8_t text[SIGNAL_TEXT_BYTES];

	static_assert(SIGNAL_SIG_BYTES == VERIFY_ED25519_SIG_BYTES && SIGNAL_KEY_BYTES == VERIFY_ED25519_KEY_BYTES,
	              "proofs are Ed25519");
	signal_proof_text(text, p->state.self.key, p->state.nonce);
	return verify_ed25519(sig, text, sizeof(text), p->state.self.key);
}

static void on_registered(struct signal_peer *p)
{
	struct signal_about who = about(p, true);

	p->since_ms = clock_wall_ms();
	signal_log_registered(&who);
	publish(p->relay);
}

/*
 * Lines for one peer are collected until the turn ends, and leave in one write. When many come in one turn, that would be too
 * late: the queue is emptied as soon as it is half of one sender's share.
 */
static void on_send(struct signal_peer *dest, bool is_test)
{
	const struct signal_store *store = &dest->relay->state.store;
	const struct signal_queue *q     = &dest->state.queue;

	metric_inc(is_test ? M_SIGNAL_SELF_TESTS : M_SIGNAL_LINES);
	dest->lane->wake(dest);
	if (q->frames >= (store->share_frames + 1) / 2 || q->chain.bytes >= store->share_bytes / 2)
		dest->lane->flush(dest);
}

static void do_step(struct signal_peer *p, const struct signal_step *step)
{
	if (step->evicted)
		evict(peer_of(step->evicted), p);
	switch (step->what) {
	case SIGNAL_WAIT:
	case SIGNAL_VERIFY: /* done by signal_peer_on_line */
		break;
	case SIGNAL_CHALLENGE:
		challenge(p);
		break;
	case SIGNAL_REGISTERED:
		on_registered(p);
		break;
	case SIGNAL_SEND:
		on_send(peer_of(step->dest), step->is_test);
		break;
	case SIGNAL_DROP:
		signal_log_dropped(step->why);
		break;
	case SIGNAL_CLOSE:
		close_peer(p, step->why, step->offered, step->offered_len);
		break;
	}
}

/* What happens to a connection */

static void on_timer(struct timer *timer, int64_t now_ms)
{
	struct signal_peer *p = CONTAINER(timer, struct signal_peer, timer);

	if (p->state.phase == SIGNAL_GREETED)
		send_challenge(p);
	else if (p->ws)
		signal_ws_on_timer(p, now_ms);
}

struct signal_peer *signal_peer_enter(struct signal_relay *r, const struct signal_lane *lane, uint64_t id,
                                      const struct addr *client, bool is_exempt, int64_t now_ms)
{
	struct signal_peer *p = r->is_stopping ? NULL : pool_take(&r->pool);
	uint8_t             addr[SIGNAL_ADDR_BYTES], network[SIGNAL_ADDR_BYTES];

	static_assert(SIGNAL_ADDR_BYTES == ADDR_KEY_BYTES, "an address is what limits count by");
	if (!p)
		return NULL;
	p->relay = r;
	p->lane  = lane;
	p->id    = id;
	p->addr  = *client;
	timer_init(&p->timer, on_timer);
	addr_key(addr, client);

	bool                 has_network = addr_key_wide(network, client);
	struct signal_origin from = { .addr = addr, .network = has_network ? network : NULL, .is_exempt = is_exempt };
	enum signal_why      why  = signal_enter(&r->state, &p->state, &from, now_ms);
	struct signal_about  who  = about(p, false);

	if (why != SIGNAL_FINE) {
		signal_log_closed(&r->log, &who, why, NULL, 0);
		pool_give(&r->pool, p);
		return NULL;
	}
	signal_log_admitted(&r->log, &who);
	list_append(&r->peers, &p->in_peers);
	if (!r->deadline.at_ms)
		timer_set(r->loop, &r->deadline, p->state.deadline_ms);
	publish(r);
	return p;
}

void signal_peer_on_line(struct signal_peer *p, const uint8_t *line, size_t len, int64_t now_ms)
{
	struct signal_state *s    = &p->relay->state;
	struct signal_step   step = signal_on_line(s, &p->state, line, len, now_ms);

	if (step.what == SIGNAL_VERIFY) {
		bool is_good = is_proved(p, step.sig);

		/* Not before: whose name a stranger uses is not banned by it. */
		if (is_good && ban_has_identity(p->state.self.key)) {
			metric_inc(M_BAN_REFUSED_SIGNAL);
			step = signal_on_bad_line(s, &p->state, SIGNAL_WHY_BANNED);
		} else {
			step = signal_proved(s, &p->state, is_good, now_ms);
		}
	}
	do_step(p, &step);
}

void signal_peer_on_bad_line(struct signal_peer *p, enum signal_why why)
{
	struct signal_step step = signal_on_bad_line(&p->relay->state, &p->state, why);

	do_step(p, &step);
}

static void free_peer(struct signal_peer *p, int64_t now_ms)
{
	struct signal_relay *r = p->relay;

	signal_leave(&r->state, &p->state, now_ms);
	timer_clear(&p->timer);
	signal_reader_fini(&p->reader);
	list_remove(&p->in_peers);
	pool_give(&r->pool, p);
	publish(r);
}

void signal_peer_on_closed(struct signal_peer *p, enum signal_end end, int64_t now_ms)
{
	struct signal_about who = about(p, p->state.identity != NULL);

	if (!p->is_counted)
		signal_log_gone(&p->relay->log, &who, end);
	free_peer(p, now_ms);
}

void signal_peer_stall(struct signal_peer *p)
{
	struct signal_about who = about(p, true);

	signal_log_gone(&p->relay->log, &who, SIGNAL_END_STALLED);
	p->is_counted = true;
	p->lane->reset(p);
}

size_t signal_ban(struct signal_relay *r, const struct ban *b, bool end)
{
	size_t count = 0;

	for (struct list *at = r->peers.next; at != &r->peers; at = at->next) {
		struct signal_peer *p = CONTAINER(at, struct signal_peer, in_peers);

		if (p->state.phase != SIGNAL_READY || !ban_is_identity(b, p->state.self.key))
			continue;
		count++;
		if (end)
			signal_peer_on_bad_line(p, SIGNAL_WHY_BANNED);
	}
	return count;
}

/* The whole of it */

enum err signal_new(struct signal_relay **out, struct loop *loop, const struct conf *conf, const char *token)
{
	struct signal_relay *r = calloc(1, sizeof(*r));

	if (!r)
		return ERR_NOMEM;
	r->rate = signal_rate_new(&conf->limits, random_u64());
	if (!r->rate) {
		free(r);
		return ERR_NOMEM;
	}
	r->loop = loop;
	r->conf = conf;
	signal_state_init(&r->state, &conf->limits, random_u64(), check_token, r);
	signal_log_init(&r->log, loop);
	signal_reload(r, conf, token);
	pool_init(&r->pool, sizeof(struct signal_peer), SIZE_MAX); /* slots bound it, but for those on their way out */
	list_init(&r->peers);
	timer_init(&r->deadline, on_deadline);
	signal_tcp_init(r);
	signal_ws_init(r);
	*out = r;
	return ERR_OK;
}

void signal_stop(struct signal_relay *r)
{
	r->is_stopping = true;
	for (struct list *at = r->peers.next; at != &r->peers; at = at->next) {
		struct signal_peer *p = CONTAINER(at, struct signal_peer, in_peers);

		if (p->state.phase != SIGNAL_CLOSED)
			p->lane->close(p);
	}
}

void signal_free(struct signal_relay *r)
{
	if (!r)
		return;
	/* Those whom net/ws let go of at the very end without a word. */
	while (!list_is_empty(&r->peers))
		free_peer(CONTAINER(r->peers.next, struct signal_peer, in_peers), 0);
	timer_clear(&r->deadline);
	signal_rate_free(r->rate);
	signal_log_fini(&r->log);
	signal_state_fini(&r->state);
	pool_fini(&r->pool);
	wipe_secret(r->tokens, sizeof(r->tokens));
	free(r);
}

const struct tcp_listen *signal_listen(const struct signal_relay *r, bool is_tls)
{
	return is_tls ? &r->tcp_tls : &r->tcp_plain;
}

const struct ws_handler *signal_handler(const struct signal_relay *r)
{
	return &r->ws_handler;
}
