/*
 * Sessions: from the connection at /p2p, by p2p.hello and the pings that measure its latency, to its end.
 */
#include "p2p/p2p_serve.h"

#include "base/auto.h"
#include "base/base64.h"
#include "base/event.h"
#include "base/hex.h"
#include "base/metric.h"
#include "crypt/hash.h"
#include "net/addr_event.h"
#include "os/clock.h"
#include "os/log.h"
#include "os/random.h"
#include "p2p/p2p_inside.h"

#include <stdlib.h>
#include <string.h>

#define PLAYER_KEY_BYTES 16
#define PUBLIC_ID_BYTES  8

struct p2p_session *p2p_session_of(struct p2p_member *m)
{
	return CONTAINER(m, struct p2p_session, member);
}

static void publish(const struct p2p *p)
{
	metric_set(M_P2P_SESSIONS, (int64_t)map_count(&p->by_sid));
}

/* Ends */

static const char *end_word(enum p2p_end why)
{
	static const char *const words[] = {
		[P2P_END_PEER] = "peer",     [P2P_END_NO_HELLO] = "no_hello", [P2P_END_MESSAGE] = "message",
		[P2P_END_SILENT] = "silent", [P2P_END_REPLACED] = "replaced", [P2P_END_WAITING] = "waiting",
		[P2P_END_SERVER] = "server",
	};

	return words[why];
}

static void count_end(enum p2p_end why)
{
	static const enum metric metrics[] = {
		[P2P_END_PEER] = M_P2P_CLOSED_PEER,         [P2P_END_NO_HELLO] = M_P2P_CLOSED_HELLO,
		[P2P_END_MESSAGE] = M_P2P_CLOSED_MESSAGE,   [P2P_END_SILENT] = M_P2P_CLOSED_SILENT,
		[P2P_END_REPLACED] = M_P2P_CLOSED_REPLACED, [P2P_END_WAITING] = M_P2P_CLOSED_WAITING,
		[P2P_END_OPERATOR] = M_P2P_CLOSED_OPERATOR, [P2P_END_SERVER] = M_P2P_CLOSED_SERVER,
		[P2P_END_BANNED] = M_P2P_CLOSED_BANNED,
	};

	metric_inc(metrics[why]);
}

/* It is nobody from here on: out of its room, unknown to packets, no check under way. */
static void forget(struct p2p_session *s)
{
	struct p2p *p = s->p2p;

	if (!s->has_hello)
		return;
	p2p_nat_gone(s);
	p2p_session_leave(s, loop_now_ms(p->loop));
	map_remove(&p->by_sid, s->sid);
	if (map_get(&p->by_player, s->digest) == s)
		map_remove(&p->by_player, s->digest);
	s->has_hello = false;
	wipe_secret(s->key, sizeof(s->key));
	publish(p);
}

/* False: it is on its way out already. */
static bool begin_end(struct p2p_session *s, enum p2p_end why)
{
	if (s->is_leaving)
		return false;
	s->is_leaving = true;
	count_end(why);
	if (s->has_hello)
		event_emit(E_P2P_SESSION_GONE, event_word("player", s->member.uid),
		           event_word("reason", end_word(why)));
	log_debug("p2p", s->id, "ends", "player=%s why=%d", s->member.uid, (int)why);
	timer_clear(&s->timer);
	forget(s);
	return true;
}

void p2p_session_end(struct p2p_session *s, enum p2p_end why)
{
	if (begin_end(s, why))
		ws_close(s->ws);
}

void p2p_session_close(struct p2p_session *s, enum p2p_end why, uint16_t status)
{
	if (begin_end(s, why))
		ws_close_status(s->ws, status);
}

/* Latency */

static void ping(struct p2p_session *s, int64_t now_ms)
{
	random_bytes(s->ping, sizeof(s->ping));
	s->pinged_ms = now_ms;
	ws_ping(s->ws, s->ping, sizeof(s->ping));
	timer_set(s->p2p->loop, &s->timer, now_ms + s->p2p->conf->limits.p2p_ping_ms);
}

/* Before hello it is the time for that, afterwards that of the next ping. */
static void on_timer(struct timer *timer, int64_t now_ms)
{
	struct p2p_session *s = CONTAINER(timer, struct p2p_session, timer);

	if (!s->has_hello)
		p2p_session_end(s, P2P_END_NO_HELLO);
	else if (s->ponged_ms < s->pinged_ms && now_ms - s->ponged_ms >= s->p2p->conf->limits.p2p_silence_ms)
		p2p_session_end(s, P2P_END_SILENT);
	else
		ping(s, now_ms);
}

/* The payload is random, so that nobody can answer before he was asked, or answer another one. */
static void on_pong(void *data, const uint8_t *payload, size_t len, int64_t now_ms)
{
	struct p2p_session *s = data;

	if (!s->has_hello || len != sizeof(s->ping) || memcmp(payload, s->ping, len) != 0)
		return;
	p2p_latency_add(&s->latency, now_ms - s->pinged_ms);
	s->ponged_ms          = now_ms;
	s->member.has_latency = true;
	s->member.latency_ms  = p2p_latency_ms(&s->latency);
	random_bytes(s->ping, sizeof(s->ping)); /* once is enough */
}

/* p2p.hello */

/* Another session of the same player gives its seat up. */
static void replace_other(struct p2p_session *s)
{
	struct p2p_session *other = map_get(&s->p2p->by_player, s->digest);

	if (!other || other == s)
		return;
	p2p_session_take_over(other, s, loop_now_ms(s->p2p->loop));
	p2p_session_end(other, P2P_END_REPLACED);
}

static bool read_player(uint8_t digest[HASH_SHA256_BYTES], const struct p2p_request *r)
{
	uint8_t     key[PLAYER_KEY_BYTES];
	const char *text;

	if (json_get_text(&text, r->json, "player") != ERR_OK ||
	    hex_decode(key, sizeof(key), text, strlen(text)) != ERR_OK)
		return false;
	hash_sha256(digest, key, sizeof(key));
	wipe_secret(key, sizeof(key));
	return true;
}

static void draw_keys(struct p2p_session *s)
{
	random_bytes(s->key, sizeof(s->key));
	do
		random_bytes(s->sid, sizeof(s->sid));
	while (map_get(&s->p2p->by_sid, s->sid));
}

/* A second hello of the same player stays where it is; another player is another session. */
static bool become(struct p2p_session *s, const uint8_t digest[HASH_SHA256_BYTES])
{
	struct p2p *p       = s->p2p;
	bool        is_same = s->has_hello && equal_secret(s->digest, digest, sizeof(s->digest));

	if (s->has_hello && !is_same)
		forget(s);
	if (s->has_hello) {
		p2p_nat_stale(s);
		map_remove(&p->by_sid, s->sid);
		map_remove(&p->by_player, s->digest);
	}
	memcpy(s->digest, digest, sizeof(s->digest));
	hex_encode(s->member.uid, digest, PUBLIC_ID_BYTES);
	replace_other(s);
	draw_keys(s);
	s->offered.is_set = s->has_time = false;
	s->has_hello = map_put(&p->by_sid, s->sid, s) == ERR_OK && map_put(&p->by_player, s->digest, s) == ERR_OK;
	if (s->has_hello)
		return true;
	map_remove(&p->by_sid, s->sid);
	p2p_session_leave(s, loop_now_ms(p->loop));
	return false;
}

static struct json *udp_of(const struct p2p *p)
{
	const struct p2p_endpoint *a = &p->announced[P2P_AP], *b = &p->announced[P2P_BP];
	struct json               *j = json_object_new();
	char                       text[ADDR_TEXT_BYTES];

	if (!j)
		return NULL;
	p2p_ip_text(text, a);
	json_put_text(j, "a", text);
	p2p_ip_text(text, b);
	if (p->has_second)
		json_put_text(j, "b", text);
	else
		json_put_null(j, "b");
	json_put_int(j, "port", a->port);
	json_put_int(j, "alt", p->announced[P2P_AQ].port);
	return j;
}

static void welcome(struct p2p_session *s, const struct p2p_request *r)
{
	struct json *j = p2p_answer(r), *nat = json_object_new();
	char         sid[2 * P2P_SID_BYTES + 1], key[BASE64_BYTES(P2P_KEY_BYTES)];

	hex_encode(sid, s->sid, sizeof(s->sid));
	base64_encode(key, s->key, sizeof(s->key));
	if (nat) {
		json_put_int(nat, "type", s->member.nat);
		json_put_text(nat, "name", p2p_nat_name(s->member.nat));
	}
	if (j) {
		json_put_text(j, "uid", s->member.uid);
		json_put_text(j, "sid", sid);
		json_put_text(j, "key", key);
		if (s->p2p->sockets[P2P_AP])
			json_put_json(j, "udp", udp_of(s->p2p));
		else
			json_put_null(j, "udp");
		json_put_json(j, "nat", nat);
		json_put_int(j, "keepalive_s", s->p2p->conf->limits.p2p_keepalive_s);
		if (s->member.room) {
			json_put_text(j, "room", s->member.room->name);
			json_put_int(j, "seat", s->member.seat);
		}
	} else {
		json_free(nat);
	}
	p2p_tell(s, j);
	wipe_secret(key, sizeof(key));
}

void p2p_on_hello(struct p2p_session *s, const struct p2p_request *r, int64_t now_ms)
{
	uint8_t        digest[HASH_SHA256_BYTES];
	enum json_kind kind = json_kind(r->json, "relay_only");
	enum p2p_error e;

	if (!read_player(digest, r)) {
		p2p_refuse(s, r, P2P_ERR_BAD_PLAYER);
		return;
	}
	if (ban_has_player(digest)) {
		metric_inc(M_BAN_REFUSED_P2P);
		p2p_refuse(s, r, P2P_ERR_NOT_ALLOWED);
		return;
	}
	if (kind != JSON_IS_MISSING && kind != JSON_IS_BOOL) {
		p2p_refuse(s, r, P2P_ERR_BAD_REQUEST);
		return;
	}
	e = p2p_take_locals(s, r);
	if (e != P2P_ERR_NONE) {
		p2p_refuse(s, r, e);
		return;
	}
	s->member.relay_only = kind == JSON_IS_BOOL && json_member_bool(r->json, "relay_only");
	if (!become(s, digest)) {
		p2p_refuse(s, r, P2P_ERR_NO_MEMORY);
		p2p_session_end(s, P2P_END_SERVER);
		return;
	}
	publish(s->p2p);
	log_debug("p2p", s->id, "hello", "player=%s", s->member.uid);
	event_emit(E_P2P_SESSION, event_word("player", s->member.uid), event_addr("from", &s->addr));
	welcome(s, r);
	s->ponged_ms = now_ms;
	ping(s, now_ms);
}

/* What net/ws says of them */

static void *on_opened(void *part, struct ws_conn *c, int64_t now_ms)
{
	struct p2p         *p         = part;
	const struct addr  *client    = ws_conn_client(c);
	bool                is_exempt = ws_conn_is_exempt(c);
	struct p2p_session *s;

	if (p->is_stopping)
		return NULL;
	switch (p2p_guard_enter(p->guard, client, is_exempt)) {
	case P2P_GUARD_FINE:
		break;
	case P2P_GUARD_TOTAL:
		metric_inc(M_P2P_CLOSED_TOTAL);
		return NULL;
	case P2P_GUARD_ADDRESS:
		metric_inc(M_P2P_CLOSED_ADDRESS);
		return NULL;
	}
	s = pool_take(&p->session_pool);
	if (!s) {
		p2p_guard_leave(p->guard, client, is_exempt);
		return NULL;
	}
	s->p2p       = p;
	s->ws        = c;
	s->id        = ws_conn_id(c);
	s->addr      = *client;
	s->is_exempt = is_exempt;
	s->since_ms  = clock_wall_ms();
	timer_init(&s->timer, on_timer);
	p2p_nat_init(s);
	list_append(&p->sessions, &s->in_sessions);
	timer_set(p->loop, &s->timer, now_ms + p->conf->limits.p2p_hello_ms);
	return s;
}

static void on_message(void *data, uint8_t *bytes, size_t len, int64_t now_ms)
{
	struct p2p_session *s = data;

	if (s->is_leaving)
		return;
	if (ws_message_is_text(s->ws))
		p2p_ask(s, bytes, len, now_ms);
	else if (s->has_hello)
		p2p_on_frame(s, bytes, len, now_ms);
}

static void free_session(struct p2p_session *s)
{
	struct p2p *p = s->p2p;

	timer_clear(&s->timer);
	list_remove(&s->in_sessions);
	p2p_guard_leave(p->guard, &s->addr, s->is_exempt);
	pool_give(&p->session_pool, s);
}

static void on_closed(void *data, int64_t now_ms)
{
	struct p2p_session *s = data;

	(void)now_ms;
	begin_end(s, s->is_choked ? P2P_END_WAITING : P2P_END_PEER);
	free_session(s);
}

const struct ws_handler *p2p_handler(const struct p2p *p)
{
	return &p->ws_handler;
}

/* The whole of it */

enum err p2p_new(struct p2p **out, struct loop *loop, struct store *store, const struct conf *conf, FILE *report)
{
	struct p2p *p = calloc(1, sizeof(*p));

	if (p) {
		p->loop  = loop;
		p->conf  = conf;
		p->store = store;
		map_init(&p->by_sid, P2P_SID_BYTES, random_u64());
		map_init(&p->by_player, sizeof(((struct p2p_session *)0)->digest), random_u64());
		list_init(&p->sessions);
		pool_init(&p->session_pool, sizeof(struct p2p_session), SIZE_MAX); /* the guard bounds it */
		p2p_rooms_init(&p->rooms, &conf->limits, random_u64());
		p2p_links_init(p);
		p->guard = p2p_guard_new(&conf->limits, random_u64());
		p->stun  = p2p_stun_new(conf, random_u64());
		p->seen  = p2p_seen_new(&conf->limits, random_u64());
	}
	if (!p || !p->guard || !p->stun || !p->seen || p2p_locals_init(p) != ERR_OK) {
		fputs("coopd: there is no memory for peer to peer.\n", report);
		p2p_free(p);
		return ERR_NOMEM;
	}
	p->ws_handler = (struct ws_handler){ .part        = p,
		                             .opened      = on_opened,
		                             .message     = on_message,
		                             .closed      = on_closed,
		                             .pong        = on_pong,
		                             .subprotocol = "coopd.p2p.v1",
		                             .message_max = (size_t)conf->limits.p2p_message,
		                             .control_max = (size_t)conf->limits.p2p_waiting };
	*out          = p;
	return ERR_OK;
}

void p2p_drain(struct p2p *p, bool on)
{
	p->is_draining = on;
}

static void forget_endpoint(struct p2p_endpoint *e, const struct ban *b)
{
	struct addr a = { .family = ADDR_IPV4 };

	memcpy(a.ip, e->ip, sizeof(e->ip));
	if (e->is_set && ban_is_address(b, &a))
		e->is_set = false;
}

size_t p2p_ban(struct p2p *p, const struct ban *b, bool end)
{
	size_t count = 0;

	for (struct list *at = p->sessions.next; at != &p->sessions; at = at->next) {
		struct p2p_session *s = CONTAINER(at, struct p2p_session, in_sessions);

		if (end) {
			forget_endpoint(&s->member.mapped, b);
			forget_endpoint(&s->offered, b);
		}
		if (s->is_leaving || !s->has_hello || !ban_is_player(b, s->digest))
			continue;
		count++;
		if (end)
			p2p_session_end(s, P2P_END_BANNED);
	}
	return count;
}

void p2p_stop(struct p2p *p)
{
	p->is_stopping = true;
	for (struct list *at = p->sessions.next; at != &p->sessions; at = at->next)
		p2p_session_end(CONTAINER(at, struct p2p_session, in_sessions), P2P_END_SERVER);
}

void p2p_free(struct p2p *p)
{
	if (!p)
		return;
	while (!list_is_empty(&p->sessions)) {
		struct p2p_session *s = CONTAINER(p->sessions.next, struct p2p_session, in_sessions);

		forget(s);
		free_session(s);
	}
	timer_clear(&p->links_timer);
	p2p_rooms_fini(&p->rooms);
	p2p_guard_free(p->guard);
	p2p_stun_free(p->stun);
	p2p_seen_free(p->seen);
	addr_nets_fini(&p->local_nets);
	map_fini(&p->by_sid);
	map_fini(&p->by_player);
	pool_fini(&p->session_pool);
	free(p);
}
