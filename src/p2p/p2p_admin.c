/*
 * Sessions and rooms of peer to peer, for operators: src/admin/PROTOCOL.md. On the loop flat copies are made, up to a page of
 * them; JSON is made of those afterwards.
 */
#include "p2p/p2p_serve.h"

#include "api/api_live.h"
#include "base/auto.h"
#include "base/hex.h"
#include "base/text.h"
#include "p2p/p2p_inside.h"

#include <stdlib.h>
#include <string.h>

#define ID_BYTES    8
#define PLACE_BYTES 16 /* of a session in its list: the player's id, and what tells sessions apart that have the same */
#define GAME_PREFIX "game:"
#define NO_GROUP    SIZE_MAX

struct session_view {
	uint8_t             place[PLACE_BYTES];
	struct addr         addr;
	bool                has_room, has_nat, has_latency;
	char                room[P2P_ROOM_NAME_BYTES];
	uint16_t            seat;
	enum p2p_nat_type   nat;
	struct p2p_endpoint mapped;
	int32_t             latency_ms;
	int64_t             since_ms;
};

struct room_view {
	char     name[P2P_ROOM_NAME_BYTES];
	bool     is_game;
	size_t   members, max, groups;
	uint32_t epoch;
};

struct member_view {
	uint8_t           player[ID_BYTES];
	uint16_t          seat;
	bool              has_nat;
	enum p2p_nat_type nat;
	size_t            group; /* from 0; NO_GROUP: in none */
};

/* --- On the loop: sessions --- */

static void place_of(uint8_t out[PLACE_BYTES], const struct p2p_session *s)
{
	memcpy(out, s->digest, ID_BYTES);
	for (size_t i = 0; i < PLACE_BYTES - ID_BYTES; i++)
		out[ID_BYTES + i] = (uint8_t)(s->id >> (56 - 8 * i));
}

static int by_place(const void *a, const void *b)
{
	uint8_t one[PLACE_BYTES], other[PLACE_BYTES];

	place_of(one, a);
	place_of(other, b);
	return memcmp(one, other, sizeof(one));
}

static void place_of_thing(uint8_t *key, const void *thing)
{
	place_of(key, thing);
}

static void look_at_session(void *view, const void *thing)
{
	struct session_view      *out = view;
	const struct p2p_session *s   = thing;

	*out = (struct session_view){ .addr        = s->addr,
		                      .has_room    = s->member.room != NULL,
		                      .has_nat     = s->has_result,
		                      .has_latency = s->member.has_latency,
		                      .seat        = s->member.seat,
		                      .nat         = s->member.nat,
		                      .mapped      = s->member.mapped,
		                      .latency_ms  = s->member.latency_ms,
		                      .since_ms    = s->since_ms };
	place_of(out->place, s);
	if (s->member.room)
		memcpy(out->room, s->member.room->name, sizeof(out->room));
}

static void walk_sessions(struct api_live *l, void *part)
{
	struct p2p *p2p = part;

	for (struct list *at = p2p->sessions.next; at != &p2p->sessions; at = at->next) {
		struct p2p_session *s = CONTAINER(at, struct p2p_session, in_sessions);

		if (s->has_hello)
			api_live_offer(l, s);
	}
}

struct end_ask {
	struct p2p *p2p;
	uint8_t     player[ID_BYTES];
	bool        dry_run;
	enum err    result;
};

static void on_disconnect(void *arg)
{
	struct end_ask *a = arg;

	a->result = ERR_NOT_FOUND;
	for (struct list *at = a->p2p->sessions.next; at != &a->p2p->sessions; at = at->next) {
		struct p2p_session *s = CONTAINER(at, struct p2p_session, in_sessions);

		if (!s->has_hello || memcmp(s->digest, a->player, ID_BYTES) != 0)
			continue;
		a->result = ERR_OK;
		if (!a->dry_run)
			p2p_session_end(s, P2P_END_OPERATOR); /* freed later */
	}
}

/* --- On the loop: rooms --- */

static int by_name(const void *a, const void *b)
{
	const struct p2p_room *one = a, *other = b;

	return memcmp(one->name, other->name, sizeof(one->name));
}

static void name_of(uint8_t *key, const void *thing)
{
	const struct p2p_room *room = thing;

	memcpy(key, room->name, sizeof(room->name));
}

static void look_at_room(void *view, const void *thing)
{
	struct room_view      *out  = view;
	const struct p2p_room *room = thing;

	*out = (struct room_view){
		.is_game = room->is_game, .members = room->count, .max = room->max, .epoch = room->epoch
	};
	memcpy(out->name, room->name, sizeof(out->name));
	for (const struct list *at = room->groups.next; at != &room->groups; at = at->next)
		out->groups++;
}

static void walk_rooms(struct api_live *l, void *part)
{
	struct p2p *p2p = part;

	for (struct list *at = p2p->rooms.rooms.next; at != &p2p->rooms.rooms; at = at->next)
		api_live_offer(l, CONTAINER(at, struct p2p_room, in_rooms));
}

struct room_ask {
	struct p2p        *p2p;
	char               name[P2P_ROOM_NAME_BYTES];
	bool               closes, dry_run;
	enum err           result;
	struct room_view   room;
	struct member_view members[P2P_MEMBERS_MAX];
};

static size_t group_of(const struct p2p_room *room, const struct p2p_member *m)
{
	size_t at = 0;

	for (const struct list *l = room->groups.next; l != &room->groups; l = l->next, at++) {
		if (m->group && l == &m->group->in_room)
			return at;
	}
	return NO_GROUP;
}

static void look_at_member(struct member_view *out, struct p2p_member *m)
{
	const struct p2p_session *s = p2p_session_of(m);

	*out = (struct member_view){
		.seat = m->seat, .has_nat = s->has_result, .nat = m->nat, .group = group_of(m->room, m)
	};
	memcpy(out->player, s->digest, sizeof(out->player));
}

static void on_room(void *arg)
{
	struct room_ask *a    = arg;
	struct p2p_room *room = p2p_room_find(&a->p2p->rooms, a->name);

	a->result = room ? ERR_OK : ERR_NOT_FOUND;
	if (!room)
		return;
	look_at_room(&a->room, room);
	for (size_t i = 0; i < room->count; i++)
		look_at_member(&a->members[i], room->members[i]);
	if (a->closes && !a->dry_run)
		p2p_room_empty(a->p2p, room);
}

/* --- Afterwards: sessions --- */

static void put_nat(struct json *j, bool has_nat, enum p2p_nat_type nat)
{
	if (has_nat)
		json_put_text(j, "nat", p2p_nat_name(nat));
	else
		json_put_null(j, "nat");
}

static void put_mapped(struct json *j, const struct p2p_endpoint *mapped)
{
	char text[P2P_ADDRESS_TEXT_BYTES + 1];

	if (mapped->is_set) {
		p2p_endpoint_text(text, mapped);
		json_put_text(j, "mapped", text);
	} else {
		json_put_null(j, "mapped");
	}
}

static struct json *json_of_session(const void *view)
{
	const struct session_view *s = view;
	struct json               *j = json_object_new();
	char                       address[ADDR_TEXT_BYTES];

	if (!j)
		return NULL;
	addr_text(address, &s->addr);
	api_put_id(j, "player", s->place);
	json_put_text(j, "address", address);
	if (s->has_room) {
		json_put_text(j, "room", s->room);
		json_put_int(j, "seat", s->seat);
	} else {
		json_put_null(j, "room");
		json_put_null(j, "seat");
	}
	put_nat(j, s->has_nat, s->nat);
	put_mapped(j, &s->mapped);
	if (s->has_latency)
		json_put_int(j, "latency_ms", s->latency_ms);
	else
		json_put_null(j, "latency_ms");
	api_put_time(j, "since_at", s->since_ms);
	return j;
}

static enum err on_get_sessions(struct api_call *c, void *part)
{
	static const struct api_live_kind sessions = { .view_bytes = sizeof(struct session_view),
		                                       .key_bytes  = PLACE_BYTES,
		                                       .walk       = walk_sessions,
		                                       .key_of     = place_of_thing,
		                                       .compare    = by_place,
		                                       .look       = look_at_session,
		                                       .json       = json_of_session };

	return api_live_list(c, &sessions, part);
}

static enum err on_delete_session(struct api_call *c, void *part)
{
	struct end_ask a = { .p2p = part, .dry_run = c->dry_run };
	enum err       e = api_path_id(a.player, c, 0);

	if (e == ERR_OK)
		e = api_on_loop(c, on_disconnect, &a);
	if (e == ERR_OK)
		e = a.result;
	return e == ERR_OK ? api_answer(c, 200, api_done()) : e;
}

/* --- Afterwards: rooms --- */

static struct json *json_of_room(const void *view)
{
	const struct room_view *r    = view;
	struct json            *j    = json_object_new();
	int64_t                 code = 0;

	if (!j)
		return NULL;
	json_put_text(j, "room", r->name);
	api_put_key(j, "room_key", r->name, strlen(r->name));
	json_put_int(j, "members", (int64_t)r->members);
	json_put_int(j, "max", (int64_t)r->max);
	if (r->is_game && text_to_int(&code, r->name + strlen(GAME_PREFIX), 0, 999999) == ERR_OK)
		json_put_int(j, "game", code);
	else
		json_put_null(j, "game");
	json_put_int(j, "epoch", r->epoch);
	json_put_int(j, "groups", (int64_t)r->groups);
	return j;
}

static enum err on_get_rooms(struct api_call *c, void *part)
{
	static const struct api_live_kind rooms = { .view_bytes = sizeof(struct room_view),
		                                    .key_bytes  = P2P_ROOM_NAME_BYTES,
		                                    .walk       = walk_rooms,
		                                    .key_of     = name_of,
		                                    .compare    = by_name,
		                                    .look       = look_at_room,
		                                    .json       = json_of_room };

	return api_live_list(c, &rooms, part);
}

static enum err ask_room(struct api_call *c, struct room_ask *a)
{
	uint8_t  name[P2P_ROOM_NAME_BYTES - 1];
	size_t   len;
	enum err e = api_path_key(name, sizeof(name), &len, c, 0);

	if (e != ERR_OK)
		return e;
	memcpy(a->name, name, len); /* the rest is NULs */
	e = api_on_loop(c, on_room, a);
	return e == ERR_OK ? a->result : e;
}

static struct json *json_of_member(const struct member_view *m)
{
	struct json *j = json_object_new();

	if (!j)
		return NULL;
	api_put_id(j, "player", m->player);
	json_put_int(j, "seat", m->seat);
	put_nat(j, m->has_nat, m->nat);
	if (m->group != NO_GROUP)
		json_put_int(j, "group", (int64_t)m->group);
	else
		json_put_null(j, "group");
	return j;
}

static enum err on_get_room(struct api_call *c, void *part)
{
	struct room_ask a = { .p2p = part };
	enum err        e = ask_room(c, &a);
	struct json    *j, *members;

	if (e != ERR_OK)
		return e;
	j       = json_of_room(&a.room);
	members = j ? json_array_new() : NULL;
	for (size_t i = 0; members && i < a.room.members; i++)
		json_add_json(members, json_of_member(&a.members[i]));
	if (j)
		json_put_json(j, "member_list", members);
	return api_answer(c, 200, j);
}

static enum err on_delete_room(struct api_call *c, void *part)
{
	struct room_ask a = { .p2p = part, .closes = true, .dry_run = c->dry_run };
	enum err        e = ask_room(c, &a);
	struct json    *j;

	if (e != ERR_OK)
		return e;
	j = api_done();
	if (j)
		json_put_int(j, "members", (int64_t)a.room.members);
	return api_answer(c, 200, j);
}

#define SESSIONS "/admin/v1/p2p/sessions"
#define ROOMS    "/admin/v1/p2p/rooms"

const struct api_route p2p_admin_routes[] = {
	{ "GET", SESSIONS, API_VIEWER, NULL, "limit cursor", on_get_sessions, .body = API_NO_BODY },
	{ "DELETE", SESSIONS "/{player}", API_OPERATOR, "p2p.disconnect", NULL, on_delete_session,
	  .body = API_NO_BODY },
	{ "GET", ROOMS, API_VIEWER, NULL, "limit cursor", on_get_rooms, .body = API_NO_BODY },
	{ "GET", ROOMS "/{room}", API_VIEWER, NULL, NULL, on_get_room, .body = API_NO_BODY },
	{ "DELETE", ROOMS "/{room}", API_OPERATOR, "p2p.close_room", NULL, on_delete_room, .body = API_NO_BODY },
	{ 0 },
};
