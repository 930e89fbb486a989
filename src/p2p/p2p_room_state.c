/*
 * Rooms, seats, pairs and their plans.
 */
#include "p2p/p2p_room_state.h"

#include "base/auto.h"
#include "base/mem.h"

#include <assert.h>
#include <string.h>

#define NAMES_ROOM (P2P_ROOM_NAME_BYTES)

/* Rooms */

void p2p_rooms_init(struct p2p_rooms *r, const struct limits *limits, uint64_t seed)
{
	*r = (struct p2p_rooms){ .limits = limits };
	map_init(&r->by_name, NAMES_ROOM, seed);
	list_init(&r->rooms);
}

void p2p_rooms_fini(struct p2p_rooms *r)
{
	assert(r->count == 0);
	map_fini(&r->by_name);
}

/* Names are keys of one length: NULs behind. False: too long, or empty. */
static bool key_of(char key[NAMES_ROOM], const char *name)
{
	size_t len = 0;

	memset(key, 0, NAMES_ROOM);
	for (; name[len]; len++) {
		if (len == NAMES_ROOM - 1)
			return false;
		key[len] = name[len];
	}
	return len > 0;
}

enum p2p_room_says p2p_room_make(struct p2p_room **out, struct p2p_rooms *r, const char *name, size_t max)
{
	struct p2p_room *room;
	char             key[NAMES_ROOM];

	if (!key_of(key, name) || map_get(&r->by_name, key))
		return P2P_ROOM_TAKEN;
	if (r->count >= (size_t)r->limits->p2p_rooms)
		return P2P_ROOM_LIMIT;
	room = mem_new(sizeof(*room));
	if (!room)
		return P2P_ROOM_NOMEM;
	if (map_put(&r->by_name, key, room) != ERR_OK) {
		mem_free(room);
		return P2P_ROOM_NOMEM;
	}
	memcpy(room->name, key, sizeof(room->name));
	room->max = max;
	list_init(&room->groups);
	list_append(&r->rooms, &room->in_rooms);
	r->count++;
	*out = room;
	return P2P_ROOM_FINE;
}

void p2p_room_close(struct p2p_rooms *r, struct p2p_room *room)
{
	assert(room->count == 0 && list_is_empty(&room->groups) && !room->links);
	map_remove(&r->by_name, room->name);
	list_remove(&room->in_rooms);
	r->count--;
	mem_free(room);
}

struct p2p_room *p2p_room_find(const struct p2p_rooms *r, const char *name)
{
	char key[NAMES_ROOM];

	return key_of(key, name) ? map_get(&r->by_name, key) : NULL;
}

/* Members */

bool p2p_room_is_full(const struct p2p_room *room)
{
	return room->count >= room->max || room->count >= P2P_MEMBERS_MAX || room->next_seat > P2P_SEAT_MAX;
}

/* Nothing was said of it, and it has said nothing. */
static void sit_down(struct p2p_member *m, struct p2p_room *room, uint16_t seat, size_t index)
{
	m->room           = room;
	m->seat           = seat;
	m->index          = index;
	m->is_settled     = false;
	m->group          = NULL;
	m->was_bad_leader = false;
	memset(m->said, P2P_PAIR_UNSAID, sizeof(m->said));
	for (size_t i = 0; i < room->count; i++)
		room->members[i]->said[index] = P2P_PAIR_UNSAID;
	room->members[index] = m;
}

enum p2p_room_says p2p_room_join(struct p2p_room *room, struct p2p_member *m)
{
	if (p2p_room_is_full(room))
		return P2P_ROOM_FULL;
	sit_down(m, room, (uint16_t)room->next_seat++, room->count);
	room->count++;
	return P2P_ROOM_FINE;
}

void p2p_room_take_over(struct p2p_member *m, struct p2p_member *with)
{
	assert(m->room && !m->group && !with->room);
	sit_down(with, m->room, m->seat, m->index);
	m->room = NULL;
}

/* What was said of those behind the gap moves one place down. */
static void close_gap(struct p2p_member *m, size_t gap)
{
	memmove(m->said + gap, m->said + gap + 1, P2P_MEMBERS_MAX - gap - 1);
	m->said[P2P_MEMBERS_MAX - 1] = P2P_PAIR_UNSAID;
	if (m->index > gap)
		m->index--;
}

void p2p_room_leave(struct p2p_member *m)
{
	struct p2p_room *room = m->room;
	size_t           gap  = m->index;

	assert(room && room->members[gap] == m && !m->group);
	room->count--;
	memmove(room->members + gap, room->members + gap + 1, (room->count - gap) * sizeof(*room->members));
	for (size_t i = 0; i < room->count; i++)
		close_gap(room->members[i], gap);
	m->room = NULL;
}

/* By seat they are sorted. */
struct p2p_member *p2p_room_by_seat(const struct p2p_room *room, uint16_t seat)
{
	size_t low = 0, high = room->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (room->members[middle]->seat < seat)
			low = middle + 1;
		else
			high = middle;
	}
	return low < room->count && room->members[low]->seat == seat ? room->members[low] : NULL;
}

struct p2p_member *p2p_room_by_uid(const struct p2p_room *room, const char *uid)
{
	for (size_t i = 0; i < room->count; i++) {
		const char *a = room->members[i]->uid, *b = uid;

		while (*a && *a == *b)
			a++, b++;
		if (*a == *b)
			return room->members[i];
	}
	return NULL;
}

/* Plans */

#define PLAN_DIRECT P2P_PLAN_DIRECT
#define PLAN_PUNCH  P2P_PLAN_PUNCH
#define PLAN_RELAY  P2P_PLAN_RELAY

/* By the types of both; the same from either side. */
static const enum p2p_plan matrix[][5] = {
	/*                    unknown      open         address      port         symmetric */
	[P2P_NAT_UNKNOWN]   = { PLAN_PUNCH, PLAN_DIRECT, PLAN_PUNCH, PLAN_PUNCH, PLAN_RELAY },
	[P2P_NAT_OPEN]      = { PLAN_DIRECT, PLAN_DIRECT, PLAN_DIRECT, PLAN_DIRECT, PLAN_DIRECT },
	[P2P_NAT_ADDRESS]   = { PLAN_PUNCH, PLAN_DIRECT, PLAN_PUNCH, PLAN_PUNCH, PLAN_PUNCH },
	[P2P_NAT_PORT]      = { PLAN_PUNCH, PLAN_DIRECT, PLAN_PUNCH, PLAN_PUNCH, PLAN_RELAY },
	[P2P_NAT_SYMMETRIC] = { PLAN_RELAY, PLAN_DIRECT, PLAN_PUNCH, PLAN_RELAY, PLAN_RELAY },
};

/* Who sends first: the one that is not open, and of two open ones the one on the lower seat. */
static enum p2p_role direct_role(const struct p2p_member *a, const struct p2p_member *b)
{
	bool is_first = a->nat == P2P_NAT_OPEN && b->nat == P2P_NAT_OPEN ? a->seat < b->seat : a->nat != P2P_NAT_OPEN;

	return is_first ? P2P_ROLE_CONNECT : P2P_ROLE_ACCEPT;
}

static bool can_be_reached(const struct p2p_member *m)
{
	return !m->relay_only && m->mapped.is_set;
}

struct p2p_pair p2p_pair_plan(const struct p2p_member *a, const struct p2p_member *b)
{
	struct p2p_pair pair = { .plan = matrix[a->nat][b->nat], .role = P2P_ROLE_NONE };

	if (!can_be_reached(a) || !can_be_reached(b)) {
		pair.plan = P2P_PLAN_RELAY;
		return pair;
	}
	/* Probably in one house: then the local addresses are worth a try, whatever the router is. */
	pair.lan = memcmp(a->mapped.ip, b->mapped.ip, sizeof(a->mapped.ip)) == 0;
	if (pair.lan && pair.plan == P2P_PLAN_RELAY)
		pair.plan = P2P_PLAN_PUNCH;
	if (pair.plan == P2P_PLAN_DIRECT)
		pair.role = direct_role(a, b);
	else if (pair.plan == P2P_PLAN_PUNCH)
		pair.role = P2P_ROLE_BOTH;
	return pair;
}

/* Pairs */

bool p2p_pair_is_up(const struct p2p_member *a, const struct p2p_member *b)
{
	return a->said[b->index] == P2P_PAIR_UP && b->said[a->index] == P2P_PAIR_UP;
}

bool p2p_pair_say(struct p2p_member *a, const struct p2p_member *b, enum p2p_pair_state s)
{
	a->said[b->index] = (uint8_t)s;
	return p2p_pair_is_up(a, b);
}

void p2p_room_start(struct p2p_room *room, const uint8_t keys[P2P_SYNC_KEYS_BYTES], int64_t now_ms)
{
	room->epoch++;
	room->started_ms  = now_ms;
	room->was_settled = false;
	memcpy(room->keys, keys, sizeof(room->keys));
	for (size_t i = 0; i < room->count; i++) {
		room->members[i]->is_settled = false;
		memset(room->members[i]->said, P2P_PAIR_UNSAID, sizeof(room->members[i]->said));
	}
}

/* Latency */

#define PARTS  1024 /* of a millisecond */
#define WEIGHT 8    /* a sample moves it by one of so many of the difference */

void p2p_latency_add(struct p2p_latency *l, int64_t sample_ms)
{
	int64_t sample = sample_ms * PARTS;

	l->parts += l->is_known ? (sample - l->parts) / WEIGHT : sample;
	l->is_known = true;
}

int32_t p2p_latency_ms(const struct p2p_latency *l)
{
	return (int32_t)((l->parts + PARTS / 2) / PARTS);
}

/* Names, as they go over the wire */

const char *p2p_nat_name(enum p2p_nat_type t)
{
	static const char *const names[] = { "unknown", "open", "address_restricted", "port_restricted", "symmetric" };

	return names[t];
}

const char *p2p_plan_name(enum p2p_plan p)
{
	static const char *const names[] = { "direct", "punch", "relay" };

	return names[p];
}

const char *p2p_role_name(enum p2p_role r)
{
	static const char *const names[] = { "connect", "accept", "both", "none" };

	return names[r];
}
