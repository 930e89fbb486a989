/*
 * STUN: which socket answers, and who gets an answer.
 *
 * Sources can be forged, and an answer is larger than the smallest question. So an address gets few, and all together get a
 * bounded number. Addresses that have an open connection are known to be real: they are answered outside of that number, and
 * counted in a table of their own, so that a flood takes nothing from them.
 */
#include "p2p/p2p_inside.h"

#include "account/bucket.h"
#include "base/metric.h"
#include "p2p/p2p_stun_wire.h"

#include <stdlib.h>
#include <string.h>

#define STRANGERS_MAX  65536
#define SECOND_MS      1000
#define CHANGE_REQUEST 0x0003

struct p2p_stun {
	bool           is_on;
	int64_t        total_max; /* per second */
	struct rate    total;
	struct bucket *strangers, *known;
};

struct p2p_stun *p2p_stun_new(const struct conf *conf, uint64_t seed)
{
	struct p2p_stun *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->is_on     = conf->stun_enable;
	s->total_max = conf->stun_total;
	s->strangers = bucket_new(conf->stun_rate, conf->stun_burst, STRANGERS_MAX, seed);
	s->known     = bucket_new(conf->stun_rate, conf->stun_burst, (size_t)conf->limits.p2p_sessions, seed + 1);
	if (s->strangers && s->known)
		return s;
	p2p_stun_free(s);
	return NULL;
}

void p2p_stun_free(struct p2p_stun *s)
{
	if (!s)
		return;
	bucket_free(s->strangers);
	bucket_free(s->known);
	free(s);
}

static bool total_is_left(const struct p2p_stun *s, int64_t now_ms)
{
	return s->total_max > 0 && rate_has(&s->total, 1, s->total_max, SECOND_MS, s->total_max, now_ms);
}

/*
 * When the total is used up, a stranger is not even looked up: that keeps a flood cheap. Otherwise its own rate comes first, so
 * that one address alone cannot use up the total.
 */
static bool may_answer(struct p2p *p, const struct p2p_endpoint *from, int64_t now_ms)
{
	struct p2p_stun *s = p->stun;
	struct addr      a = { .family = ADDR_IPV4 };
	uint8_t          key[ADDR_KEY_BYTES];
	bool             is_known;

	memcpy(a.ip, from->ip, sizeof(from->ip));
	addr_key(key, &a);
	is_known = p2p_guard_knows(p->guard, &a);
	if (!is_known && !total_is_left(s, now_ms)) {
		metric_inc(M_STUN_DROPPED_TOTAL);
		return false;
	}
	if (!bucket_take(is_known ? s->known : s->strangers, key, now_ms)) {
		metric_inc(M_STUN_DROPPED_RATE);
		return false;
	}
	if (!is_known)
		rate_take(&s->total, 1, s->total_max, SECOND_MS, s->total_max, now_ms);
	return true;
}

static bool is_of_b(enum p2p_socket s)
{
	return s == P2P_BP || s == P2P_BQ;
}

static bool is_alt(enum p2p_socket s)
{
	return s == P2P_AQ || s == P2P_BQ;
}

static enum p2p_socket changed(enum p2p_socket from, bool address, bool port)
{
	static const enum p2p_socket sockets[2][2] = { { P2P_AP, P2P_AQ }, { P2P_BP, P2P_BQ } };

	return sockets[is_of_b(from) != address][is_alt(from) != port];
}

/*
 * With one address the server cannot answer from another one, and says that it does not know the attribute (RFC 5780, 6.1). But
 * clients of RFC 3489 take any answer to such a question, an error too, for a proof that nothing stands in their way: they get
 * none. False: drop it.
 */
static bool allow_change(const struct p2p *p, struct stun_request *q)
{
	if (p->has_second || !(q->change_address || q->change_port))
		return true;
	if (q->is_old)
		return false;
	if (q->unknown_count == STUN_UNKNOWN_MAX)
		q->unknown_count--;
	q->unknown[q->unknown_count++] = CHANGE_REQUEST;
	return true;
}

/* Written over the question. An error comes from where it was asked. */
static void answer(struct p2p *p, enum p2p_socket at, struct udp_datagram *d, const struct stun_request *q,
                   const struct p2p_endpoint *from)
{
	bool              is_error = q->unknown_count > 0;
	enum p2p_socket   by       = is_error ? at : changed(at, q->change_address, q->change_port);
	struct udp_path   path     = d->path;
	struct stun_place place    = { .source = *from, .origin = p->announced[by] };
	size_t            len;

	if (p->has_second)
		place.other = p->announced[changed(at, true, true)];
	if (by != at) {
		path.socket = p->sockets[by];
		memset(path.local_ip, 0, sizeof(path.local_ip));
	}
	len = stun_build(d->bytes, q, &place);
	udp_send(&path, d->bytes, len);
	metric_inc(is_error ? M_STUN_ERRORS : M_STUN_ANSWERED);
}

void p2p_stun_on(struct p2p *p, enum p2p_socket at, struct udp_datagram *d, int64_t now_ms)
{
	struct p2p_endpoint from = { .is_set = true, .port = d->path.port };
	struct stun_request q;
	enum stun_says      says;

	if (!p->stun->is_on) {
		metric_inc(M_STUN_DROPPED_OFF);
		return;
	}
	says = stun_parse(&q, d->bytes, d->len);
	if (says != STUN_REQUEST || !allow_change(p, &q)) {
		metric_inc(says == STUN_MALFORMED ? M_STUN_DROPPED_MALFORMED : M_STUN_DROPPED_IGNORED);
		return;
	}
	memcpy(from.ip, d->path.ip, sizeof(from.ip));
	if (!may_answer(p, &from, now_ms))
		return;
	if (is_of_b(at))
		p2p_note_seen(p, &from, now_ms); /* its router lets B in from here on */
	answer(p, at, d, &q, &from);
}
