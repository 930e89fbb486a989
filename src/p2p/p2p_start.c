/*
 * P2P in a room: started, planned for each pair, and what members say of the links between them.
 */
#include "p2p/p2p_inside.h"

#include "base/auto.h"
#include "base/base64.h"
#include "base/metric.h"
#include "crypt/hash.h"
#include "os/random.h"

#include <stdlib.h>
#include <string.h>

#define START_BYTES_MAX 1024 /* of the payload of p2p.start */
#define CMD_MAX         65535
#define VER_MAX         255

/* p2p.start */

/* What is left out is 0, or empty. */
struct start {
	int64_t     ver, cmd;
	const char *payload; /* base64 */
};

static bool can_be_shown(const struct p2p_member *m)
{
	return m->mapped.is_set && !m->relay_only;
}

static enum p2p_error read_start(struct start *out, const struct p2p_session *s, const struct p2p_request *r,
                                 int64_t now_ms)
{
	const struct p2p_room *room = s->member.room;
	uint8_t                bytes[START_BYTES_MAX + 2];
	size_t                 len;
	bool                   has_address = false;

	*out = (struct start){ .payload = "" };
	if (json_get_int(&out->ver, r->json, "ver") == ERR_MALFORMED ||
	    json_get_int(&out->cmd, r->json, "cmd") == ERR_MALFORMED ||
	    json_get_text(&out->payload, r->json, "payload") == ERR_MALFORMED || out->ver < 0 || out->ver > VER_MAX ||
	    out->cmd < 0 || out->cmd > CMD_MAX)
		return P2P_ERR_BAD_REQUEST;
	if (strlen(out->payload) > BASE64_BYTES(START_BYTES_MAX) - 1)
		return P2P_ERR_TOO_LARGE;
	if (base64_decode(bytes, &len, out->payload, strlen(out->payload)) != ERR_OK)
		return P2P_ERR_BAD_REQUEST;
	if (len > START_BYTES_MAX)
		return P2P_ERR_TOO_LARGE;
	if (room->epoch > 0 && now_ms - room->started_ms < s->p2p->conf->limits.p2p_start_gap_ms)
		return P2P_ERR_BUSY;
	for (size_t i = 0; i < room->count; i++)
		has_address = has_address || can_be_shown(room->members[i]);
	return has_address ? P2P_ERR_NONE : P2P_ERR_NO_ADDRESS;
}

/* What is shown of a member. mapped: room for the text of its outside address. */
static void show_user(struct p2p_sync_user *u, const struct p2p_session *s, char mapped[P2P_ADDRESS_TEXT_BYTES + 1])
{
	*u = (struct p2p_sync_user){ .id = s->member.uid, .id_len = strlen(s->member.uid) };
	if (!can_be_shown(&s->member))
		return;
	p2p_endpoint_text(mapped, &s->member.mapped);
	u->addresses[0].text = mapped;
	u->addresses[0].len  = strlen(mapped);
	u->address_count     = 1;
	for (size_t i = 0; i < s->local_count; i++) {
		u->addresses[u->address_count].text  = s->locals[i];
		u->addresses[u->address_count++].len = strlen(s->locals[i]);
	}
}

static size_t build_sync(uint8_t *out, size_t cap, const struct p2p_room *room)
{
	struct p2p_sync_user users[P2P_MEMBERS_MAX];
	char                 mapped[P2P_MEMBERS_MAX][P2P_ADDRESS_TEXT_BYTES + 1];
	size_t               len = 0;

	for (size_t i = 0; i < room->count; i++)
		show_user(&users[i], p2p_session_of(room->members[i]), mapped[i]);
	p2p_sync_build(out, cap, &len, room->keys, users, room->count); /* 64 users always fit */
	return len;
}

static void send_sync(struct p2p_session *by, const struct start *start)
{
	static const size_t      cap   = P2P_FRAME_HEAD_BYTES + P2P_SYNC_BYTES_MAX;
	struct p2p_room         *room  = by->member.room;
	AUTO(auto_free) uint8_t *frame = malloc(cap);
	struct p2p_frame         head  = { .kind   = P2P_SYNC,
		                           .ver    = (uint8_t)start->ver,
		                           .cmd    = (uint16_t)start->cmd,
		                           .seat   = by->member.seat,
		                           .number = room->epoch };
	size_t                   len;

	if (!frame)
		return;
	p2p_frame_head(frame, &head);
	len = P2P_FRAME_HEAD_BYTES + build_sync(frame + P2P_FRAME_HEAD_BYTES, cap - P2P_FRAME_HEAD_BYTES, room);
	for (size_t i = 0; i < room->count; i++)
		ws_send(p2p_session_of(room->members[i])->ws, frame, len);
	wipe_secret(frame, len);
}

static void put_pair(struct json *j, const struct p2p_pair *pair)
{
	json_put_text(j, "plan", p2p_plan_name(pair->plan));
	json_put_text(j, "role", p2p_role_name(pair->role));
	json_put_bool(j, "lan", pair->lan);
}

static struct json *peers_of(const struct p2p_member *me)
{
	const struct p2p_room *room  = me->room;
	struct json           *peers = json_array_new();

	for (size_t i = 0; peers && i < room->count; i++) {
		const struct p2p_member *m    = room->members[i];
		struct p2p_pair          pair = p2p_pair_plan(me, m);
		struct json             *j;

		if (m == me)
			continue;
		j = json_object_new();
		if (j) {
			json_put_text(j, "uid", m->uid);
			json_put_int(j, "seat", m->seat);
			put_pair(j, &pair);
		}
		json_add_json(peers, j);
	}
	return peers;
}

static void tell_started(struct p2p_session *to, const struct p2p_session *by, const struct start *start)
{
	struct json *j = p2p_message("p2p.started");

	if (j) {
		json_put_int(j, "epoch", to->member.room->epoch);
		json_put_text(j, "by", by->member.uid);
		json_put_text(j, "payload", start->payload);
		json_put_json(j, "peers", peers_of(&to->member));
	}
	p2p_tell(to, j);
}

static void count_plans(const struct p2p_room *room)
{
	static const enum metric metrics[] = { [P2P_PLAN_DIRECT] = M_P2P_PLAN_DIRECT,
		                               [P2P_PLAN_PUNCH]  = M_P2P_PLAN_PUNCH,
		                               [P2P_PLAN_RELAY]  = M_P2P_PLAN_RELAY };

	for (size_t a = 0; a < room->count; a++) {
		for (size_t b = a + 1; b < room->count; b++)
			metric_inc(metrics[p2p_pair_plan(room->members[a], room->members[b]).plan]);
	}
}

static void answer_start(struct p2p_session *s, const struct p2p_request *r)
{
	struct json *j = p2p_answer(r);

	if (j) {
		json_put_int(j, "epoch", s->member.room->epoch);
		json_put_int(j, "members", (int64_t)s->member.room->count);
	}
	p2p_tell(s, j);
}

void p2p_on_start(struct p2p_session *s, const struct p2p_request *r, int64_t now_ms)
{
	struct p2p_room *room = s->member.room;
	uint8_t          keys[P2P_SYNC_KEYS_BYTES];
	struct start     start;
	enum p2p_error   e = p2p_own_room(s, r);

	if (e == P2P_ERR_NONE)
		e = read_start(&start, s, r, now_ms);
	if (e != P2P_ERR_NONE) {
		p2p_refuse(s, r, e);
		return;
	}
	random_bytes(keys, sizeof(keys));
	p2p_room_start(room, keys, now_ms);
	wipe_secret(keys, sizeof(keys));
	metric_inc(M_P2P_STARTS);
	count_plans(room);
	answer_start(s, r);
	send_sync(s, &start);
	for (size_t i = 0; i < room->count; i++)
		tell_started(p2p_session_of(room->members[i]), s, &start);
}

/* Pairs */

static struct p2p_member *read_other(struct p2p_session *s, const struct p2p_request *r, const char *key,
                                     enum p2p_error *e)
{
	const char        *uid;
	struct p2p_member *m = NULL;

	*e = P2P_ERR_BAD_REQUEST;
	if (json_get_text(&uid, r->json, key) != ERR_OK)
		return NULL;
	*e = P2P_ERR_NO_MEMBER;
	m  = p2p_room_by_uid(s->member.room, uid);
	return m == &s->member ? NULL : m;
}

void p2p_on_plan(struct p2p_session *s, const struct p2p_request *r, int64_t now_ms)
{
	enum p2p_error           e;
	const struct p2p_member *m = read_other(s, r, "uid", &e);
	struct p2p_pair          pair;
	struct json             *j;

	(void)now_ms;
	if (!m) {
		p2p_refuse(s, r, e);
		return;
	}
	pair = p2p_pair_plan(&s->member, m);
	j    = p2p_answer(r);
	if (j) {
		put_pair(j, &pair);
		json_put_int(j, "type", s->member.nat);
		json_put_int(j, "peer_type", m->nat);
	}
	p2p_tell(s, j);
}

static bool read_state(enum p2p_pair_state *out, const struct p2p_request *r)
{
	static const char *const names[] = {
		[P2P_PAIR_UP] = "up", [P2P_PAIR_FAILED] = "failed", [P2P_PAIR_DOWN] = "down"
	};
	const char *text;

	if (json_get_text(&text, r->json, "state") != ERR_OK)
		return false;
	for (size_t i = P2P_PAIR_UP; i < COUNT_OF(names); i++) {
		if (strcmp(text, names[i]) != 0)
			continue;
		*out = (enum p2p_pair_state)i;
		return true;
	}
	return false;
}

/* Usually without an id: then nothing is answered. */
void p2p_on_link(struct p2p_session *s, const struct p2p_request *r, int64_t now_ms)
{
	enum p2p_error      e;
	enum p2p_pair_state state;
	struct p2p_member  *m = read_other(s, r, "peer", &e);

	if (m && !read_state(&state, r)) {
		m = NULL;
		e = P2P_ERR_BAD_REQUEST;
	}
	if (!m) {
		p2p_refuse(s, r, e);
		return;
	}
	if (state == P2P_PAIR_UP)
		metric_inc(M_P2P_PUNCH_UP);
	else if (state == P2P_PAIR_FAILED)
		metric_inc(M_P2P_PUNCH_FAILED);
	p2p_pair_say(&s->member, m, state);
	if (json_kind(r->json, "id") != JSON_IS_MISSING)
		p2p_done(s, r);
	p2p_links_look(s, now_ms);
}

void p2p_tell_if_settled(struct p2p_room *room)
{
	struct json *j;

	if (room->epoch == 0 || room->was_settled)
		return;
	for (size_t i = 0; i < room->count; i++) {
		if (!room->members[i]->is_settled)
			return;
	}
	room->was_settled = true;
	j                 = p2p_message("p2p.settled");
	if (j)
		json_put_int(j, "epoch", room->epoch);
	p2p_tell_room(room, NULL, j);
}

void p2p_on_ping_done(struct p2p_session *s, const struct p2p_request *r, int64_t now_ms)
{
	bool         is_change = s->member.room->epoch > 0 && !s->member.is_settled;
	struct json *j;

	(void)now_ms;
	s->member.is_settled = s->member.room->epoch > 0;
	j                    = p2p_answer(r);
	if (j)
		json_put_bool(j, "changed", is_change);
	p2p_tell(s, j);
	p2p_tell_if_settled(s->member.room);
}

void p2p_mapped_changed(struct p2p_session *s, int64_t now_ms)
{
	char         text[P2P_ADDRESS_TEXT_BYTES + 1];
	struct json *j;

	(void)now_ms;
	if (!s->member.room || s->member.room->epoch == 0 || s->member.relay_only)
		return;
	p2p_endpoint_text(text, &s->member.mapped);
	j = p2p_message("p2p.addr");
	if (j) {
		json_put_text(j, "uid", s->member.uid);
		json_put_text(j, "addr", text);
	}
	p2p_tell_room(s->member.room, s, j);
}
