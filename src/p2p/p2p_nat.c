/*
 * NAT checks under way, and what they found.
 *
 *	nat.check, nat.update --> p2p_nat_state --> nat.step, PING_TRY --> ... --> the answer, late
 *
 * A result lives with its session, in memory only; without addresses it may be kept for statistics (store/nat).
 */
#include "p2p/p2p_inside.h"

#include "base/auto.h"
#include "base/hex.h"
#include "base/metric.h"
#include "os/clock.h"
#include "os/log.h"
#include "os/random.h"

#include <string.h>

#define OLD_S 3600 /* a result is stale from here on */

static const char *op_of(const struct p2p_session *s)
{
	return s->check_stores ? "nat.update" : "nat.check";
}

static struct p2p_request request_of(const struct p2p_session *s)
{
	return (struct p2p_request){ .op = op_of(s), .id = s->check_req };
}

/* The end of a check */

static void drop_check(struct p2p_session *s)
{
	struct p2p *p = s->p2p;

	timer_clear(&s->check_timer);
	p2p_check_free(s->check);
	s->check = NULL;
	p->check_count--;
	p2p_guard_check_over(p->guard, &s->addr, s->is_exempt);
}

void p2p_nat_gone(struct p2p_session *s)
{
	if (!s->check)
		return;
	metric_inc(M_P2P_CHECK_BROKEN);
	drop_check(s);
}

void p2p_nat_stale(struct p2p_session *s)
{
	struct p2p_request r = request_of(s);

	if (!s->check)
		return;
	p2p_nat_gone(s);
	p2p_refuse(s, &r, P2P_ERR_STALE);
}

static void count_result(const struct p2p_nat_result *r)
{
	static const enum metric types[]   = { [P2P_NAT_UNKNOWN]   = M_P2P_CHECK_UNKNOWN,
		                               [P2P_NAT_OPEN]      = M_P2P_CHECK_OPEN,
		                               [P2P_NAT_ADDRESS]   = M_P2P_CHECK_ADDRESS,
		                               [P2P_NAT_PORT]      = M_P2P_CHECK_PORT,
		                               [P2P_NAT_SYMMETRIC] = M_P2P_CHECK_SYMMETRIC };
	static const enum metric reasons[] = { [P2P_REASON_UDP_BLOCKED]        = M_P2P_REASON_UDP_BLOCKED,
		                               [P2P_REASON_CLIENT_TIMEOUT]     = M_P2P_REASON_CLIENT_TIMEOUT,
		                               [P2P_REASON_SECOND_UNREACHABLE] = M_P2P_REASON_SECOND };

	if (r->reused)
		metric_inc(M_P2P_CHECK_REUSED);
	else if (r->second_missing)
		metric_inc(M_P2P_CHECK_ONE_ADDRESS);
	else
		metric_inc(types[r->type]);
	if (r->reason != P2P_REASON_NONE)
		metric_inc(reasons[r->reason]);
}

static void put_endpoint(struct json *j, const char *key, const struct p2p_endpoint *e)
{
	char text[P2P_ADDRESS_TEXT_BYTES + 1];

	if (!e->is_set)
		return;
	p2p_endpoint_text(text, e);
	json_put_text(j, key, text);
}

static void put_result(struct json *j, const struct p2p_nat_result *r)
{
	json_put_int(j, "type", r->type);
	json_put_text(j, "name", p2p_nat_name(r->type));
	if (r->reason != P2P_REASON_NONE)
		json_put_text(j, "reason", p2p_reason_name(r->reason));
	put_endpoint(j, "mapped", &r->mapped);
	put_endpoint(j, "mapped_b", &r->mapped_b);
	json_put_text(j, "mapping", p2p_mapping_name(r->mapping));
	json_put_bool(j, "conflict", r->conflict);
	if (r->partial)
		json_put_bool(j, "partial", true);
	json_put_int(j, "ms", r->ms);
}

static void keep_result(struct p2p_session *s, const struct p2p_nat_result *r)
{
	s->has_result = true;
	s->result     = *r;
	s->result_s   = clock_wall_ms() / 1000;
	s->member.nat = r->type;
	p2p_nat_keep(s->p2p, r);
}

static void finish(struct p2p_session *s)
{
	struct p2p_request    q         = request_of(s);
	struct p2p_nat_result r         = *p2p_check_result(s->check);
	bool                  is_result = !r.reused && !r.second_missing;
	struct json          *j;

	count_result(&r);
	drop_check(s);
	log_debug("p2p", s->id, "nat", "player=%s type=%s reason=%s mapping=%s ms=%lld", s->member.uid,
	          p2p_nat_name(r.type), p2p_reason_name(r.reason), p2p_mapping_name(r.mapping), (long long)r.ms);
	if (is_result && s->check_stores)
		keep_result(s, &r);
	if (r.reused)
		j = p2p_refusal(&q, P2P_ERR_REUSED);
	else
		j = is_result ? p2p_answer(&q) : p2p_refusal(&q, P2P_ERR_SECOND);
	if (j && !r.reused)
		put_result(j, &r);
	p2p_tell(s, j);
}

/* A check goes on */

static void tell_step(struct p2p_session *s, const struct p2p_check_action *a)
{
	struct json *j = p2p_message("nat.step");
	char         to[P2P_ADDRESS_TEXT_BYTES + 1], nonce[2 * P2P_NONCE_BYTES + 1];

	p2p_endpoint_text(to, &s->p2p->announced[a->socket]);
	hex_encode(nonce, a->nonce, sizeof(a->nonce));
	if (j) {
		json_put_int(j, "check", s->check_id);
		json_put_int(j, "step", a->step);
		json_put_text(j, "do", a->is_open ? "open" : "hello");
		json_put_text(j, "to", to);
		json_put_text(j, "nonce", nonce);
	}
	p2p_tell(s, j);
}

static void ping(struct p2p_session *s, const struct p2p_check_action *a)
{
	struct p2p_packet k = { .type = P2P_PING_TRY, .step = a->step, .try = a->try };

	memcpy(k.sid, s->sid, sizeof(k.sid));
	memcpy(k.nonce, a->nonce, sizeof(k.nonce));
	p2p_udp_send(s->p2p, a->socket, &a->to, s, &k);
}

static void go_on(struct p2p_session *s)
{
	while (s->check) {
		struct p2p_check_action a = p2p_check_next(s->check);

		switch (a.what) {
		case P2P_CHECK_NOTHING:
			timer_set(s->p2p->loop, &s->check_timer, p2p_check_due(s->check));
			return;
		case P2P_CHECK_STEP:
			tell_step(s, &a);
			break;
		case P2P_CHECK_PING:
			ping(s, &a);
			break;
		case P2P_CHECK_OVER:
			finish(s);
			break;
		}
	}
}

static void on_timer(struct timer *timer, int64_t now_ms)
{
	struct p2p_session *s = CONTAINER(timer, struct p2p_session, check_timer);

	p2p_check_tick(s->check, now_ms);
	go_on(s);
}

void p2p_nat_init(struct p2p_session *s)
{
	timer_init(&s->check_timer, on_timer);
}

void p2p_nat_on_hello(struct p2p_session *s, enum p2p_socket at, const struct udp_datagram *d,
                      const struct p2p_packet *k, const struct p2p_endpoint *from, int64_t now_ms)
{
	uint32_t cookie = (uint32_t)random_u64();

	if (!s->check || !p2p_check_hello(s->check, at, k, from, s->from_was_seen, &cookie, now_ms)) {
		metric_inc(M_P2P_UDP_STEP);
	} else {
		p2p_udp_answer(d, s, k, cookie);
		p2p_note_seen(s->p2p, from, now_ms);
	}
	go_on(s);
}

void p2p_nat_on_packet(struct p2p_session *s, enum p2p_socket at, const struct p2p_packet *k,
                       const struct p2p_endpoint *from, int64_t now_ms)
{
	bool is_taken = false;

	if (s->check && k->type == P2P_OPEN)
		is_taken = p2p_check_open(s->check, at, k, from);
	else if (s->check)
		is_taken = p2p_check_reply(s->check, at, k, from, now_ms);
	if (!is_taken)
		metric_inc(M_P2P_UDP_STEP);
	go_on(s);
}

/* Requests */

static enum p2p_error may_begin(struct p2p_session *s, int64_t now_ms)
{
	const struct limits *l = &s->p2p->conf->limits;

	if (!s->p2p->sockets[P2P_AP])
		return P2P_ERR_NO_UDP;
	if (s->check)
		return P2P_ERR_NAT_BUSY;
	if (s->was_checked && now_ms - s->checked_ms < l->p2p_check_gap_ms)
		return P2P_ERR_NAT_RATE;
	if (s->p2p->check_count >= (size_t)l->p2p_checks || !p2p_guard_check(s->p2p->guard, &s->addr, s->is_exempt))
		return P2P_ERR_NAT_FULL;
	return P2P_ERR_NONE;
}

static void begin(struct p2p_session *s, const struct p2p_request *r, bool stores, int64_t now_ms)
{
	uint8_t        nonces[P2P_CHECK_NONCES][P2P_NONCE_BYTES];
	enum p2p_error e = may_begin(s, now_ms);

	if (e != P2P_ERR_NONE) {
		p2p_refuse(s, r, e);
		return;
	}
	random_bytes(nonces, sizeof(nonces));
	s->check = p2p_check_new(s->p2p->has_second, (const uint8_t(*)[P2P_NONCE_BYTES])nonces, now_ms);
	if (!s->check) {
		p2p_guard_check_over(s->p2p->guard, &s->addr, s->is_exempt);
		p2p_refuse(s, r, P2P_ERR_NO_MEMORY);
		return;
	}
	s->p2p->check_count++;
	s->check_id     = ++s->p2p->next_check;
	s->check_req    = r->id;
	s->check_stores = stores;
	s->was_checked  = true;
	s->checked_ms   = now_ms;
	go_on(s);
}

void p2p_on_nat_check(struct p2p_session *s, const struct p2p_request *r, int64_t now_ms)
{
	begin(s, r, false, now_ms);
}

void p2p_on_nat_update(struct p2p_session *s, const struct p2p_request *r, int64_t now_ms)
{
	begin(s, r, true, now_ms);
}

/* Of the check that it names: FINE is true, and the step is there. */
static bool names_check(const struct p2p_session *s, const struct p2p_request *r, int64_t *step, enum p2p_error *e)
{
	int64_t check;

	if (json_get_int(&check, r->json, "check") != ERR_OK || json_get_int(step, r->json, "step") != ERR_OK) {
		*e = P2P_ERR_BAD_REQUEST;
		return false;
	}
	*e = P2P_ERR_STALE;
	return s->check && check == (int64_t)s->check_id;
}

/* These two usually come without an id, and then nothing is answered to what is well. */
static void answer_if_asked(struct p2p_session *s, const struct p2p_request *r, bool is_good, enum p2p_error e)
{
	if (!is_good)
		p2p_refuse(s, r, e);
	else if (json_kind(r->json, "id") != JSON_IS_MISSING)
		p2p_done(s, r);
}

void p2p_on_step_done(struct p2p_session *s, const struct p2p_request *r, int64_t now_ms)
{
	int64_t        step, cookie = -1;
	enum p2p_error e;
	bool           is_good = names_check(s, r, &step, &e);

	if (json_kind(r->json, "cookie") != JSON_IS_MISSING && json_get_int(&cookie, r->json, "cookie") != ERR_OK) {
		is_good = false;
		e       = P2P_ERR_BAD_REQUEST;
	}
	is_good = is_good && p2p_check_step_done(s->check, step, cookie, now_ms);
	answer_if_asked(s, r, is_good, e);
	go_on(s);
}

void p2p_on_ping_try(struct p2p_session *s, const struct p2p_request *r, int64_t now_ms)
{
	uint8_t        nonce[P2P_NONCE_BYTES];
	const char    *text;
	int64_t        step;
	enum p2p_error e;
	bool           is_good = names_check(s, r, &step, &e);

	if (json_get_text(&text, r->json, "nonce") != ERR_OK ||
	    hex_decode(nonce, sizeof(nonce), text, strlen(text)) != ERR_OK) {
		is_good = false;
		e       = P2P_ERR_BAD_REQUEST;
	}
	is_good = is_good && p2p_check_ping_try(s->check, step, nonce, now_ms);
	answer_if_asked(s, r, is_good, e);
	go_on(s);
}

/* nat.get */

static bool has_moved(const struct p2p_session *s)
{
	const struct p2p_endpoint *now = &s->member.mapped, *then = &s->result.mapped;

	return now->is_set && then->is_set && memcmp(now->ip, then->ip, sizeof(now->ip)) != 0;
}

static void get_own(struct p2p_session *s, const struct p2p_request *r)
{
	struct json *j = p2p_answer(r);

	if (!j) {
		p2p_tell(s, j);
		return;
	}
	json_put_int(j, "type", s->member.nat);
	json_put_text(j, "name", p2p_nat_name(s->member.nat));
	if (!s->has_result) {
		json_put_text(j, "reason", "not_checked");
	} else {
		put_endpoint(j, "mapped", &s->result.mapped);
		json_put_int(j, "checked_at", s->result_s);
		json_put_bool(j, "stale", clock_wall_ms() / 1000 - s->result_s > OLD_S || has_moved(s));
	}
	p2p_tell(s, j);
}

/* Of another member of one's own room: never an address. */
static void get_other(struct p2p_session *s, const struct p2p_request *r, const char *uid)
{
	const struct p2p_member *m = s->member.room ? p2p_room_by_uid(s->member.room, uid) : NULL;
	struct json             *j;

	if (!m) {
		p2p_refuse(s, r, s->member.room ? P2P_ERR_NO_MEMBER : P2P_ERR_NOT_IN_ROOM);
		return;
	}
	j = p2p_answer(r);
	if (j) {
		json_put_text(j, "uid", m->uid);
		json_put_int(j, "type", m->nat);
		json_put_text(j, "name", p2p_nat_name(m->nat));
	}
	p2p_tell(s, j);
}

void p2p_on_nat_get(struct p2p_session *s, const struct p2p_request *r, int64_t now_ms)
{
	const char *uid;

	(void)now_ms;
	switch (json_get_text(&uid, r->json, "uid")) {
	case ERR_OK:
		get_other(s, r, uid);
		break;
	case ERR_NOT_FOUND:
		get_own(s, r);
		break;
	default:
		p2p_refuse(s, r, P2P_ERR_BAD_REQUEST);
		break;
	}
}
