/*
 * Random events, and what clients believe of rooms from what they were sent: it must be what is so.
 *
 * Each player keeps a view of his rooms as the games do: he adds whom MEMBER_JOINED names without looking for duplicates, takes
 * out whom MEMBER_LEFT names, and believes the last ROUTE about a user.
 */
#include "rooms/rooms_state.h"

#include "base/auto.h"
#include "rooms/rooms_state_inside.h"
#include "support/rooms_table.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLAYERS     14
#define VIEWS_MAX   8
#define MEMBERS_MAX 16
#define USERS_MAX   16384

struct view_member {
	uint16_t id;
	uint32_t user;
};

struct view {
	uint64_t           room; /* 0: none */
	uint16_t           me, owner;
	uint32_t           flags;
	size_t             count;
	size_t             external_len, internal_len;
	struct view_member members[MEMBERS_MAX];
};

struct client {
	struct table_seat *seat;
	struct view        views[VIEWS_MAX];
	uint8_t            routes[USERS_MAX]; /* by user id: 1 + flags; 0: never told */
	uint64_t           last_room;         /* a room that was joined or made; ids grow */
};

static struct client clients[PLAYERS];
static uint64_t      seed;
static uint64_t      newest; /* room */

static uint32_t draw(uint32_t below)
{
	seed = seed * 6364136223846793005 + 1442695040888963407;
	return (uint32_t)(seed >> 33) % below;
}

/* What a client makes of a frame */

static struct view *view_of(struct client *c, uint64_t room)
{
	for (size_t i = 0; i < VIEWS_MAX; i++)
		if (c->views[i].room == room)
			return &c->views[i];
	return NULL;
}

static void view_add(struct view *v, uint16_t id, uint32_t user)
{
	cr_assert_lt(v->count, (size_t)MEMBERS_MAX);
	for (size_t i = 0; i < v->count; i++)
		cr_assert(v->members[i].id < id && v->members[i].user != user, "twice, or out of order");
	v->members[v->count++] = (struct view_member){ id, user };
}

static void view_remove(struct view *v, uint16_t id)
{
	for (size_t i = 0; i < v->count; i++)
		if (v->members[i].id == id) {
			memmove(&v->members[i], &v->members[i + 1], (v->count - i - 1) * sizeof(struct view_member));
			v->count--;
			return;
		}
	cr_assert_fail("one left who was not there");
}

static struct view_member read_member(struct rd *r)
{
	struct view_member m = { (uint16_t)rd_be(r, 2), (uint32_t)rd_be(r, 4) };

	rd_bytes(r, 16 + 4 + 2 + 1);
	rd_bytes(r, rd_be(r, 2));
	return m;
}

static void on_room_joined(struct client *c, struct rd *r)
{
	uint64_t     room = rd_be(r, 8);
	struct view *v    = view_of(c, room);

	if (!v) {
		v = view_of(c, 0);
		cr_assert_not_null(v);
		*v = (struct view){ .room = room };
	}
	v->count = 0;
	v->me    = (uint16_t)rd_be(r, 2);
	v->owner = (uint16_t)rd_be(r, 2);
	rd_u8(r);
	v->flags        = (uint32_t)rd_be(r, 4);
	v->external_len = rd_be(r, 2);
	rd_bytes(r, v->external_len);
	v->internal_len = rd_be(r, 2);
	rd_bytes(r, v->internal_len);
	for (size_t count = rd_u8(r); count > 0; count--) {
		struct view_member m = read_member(r);

		view_add(v, m.id, m.user);
		cr_assert_eq(m.id == v->me, m.user == c->seat->player.user_id);
	}
	if (v->me == 1 && v->count == 1 && room > newest)
		newest = room;
	cr_assert_leq(room, newest, "a room nobody made");
}

static void on_push(struct client *c, uint8_t type, struct rd *r)
{
	struct view *v = view_of(c, rd_be(r, 8));

	cr_assert(v, "a push for a room one is not in");
	switch (type) {
	case ROOMS_MEMBER_JOINED: {
		struct view_member m = read_member(r);

		cr_assert_neq(m.user, c->seat->player.user_id, "told of himself");
		view_add(v, m.id, m.user);
		break;
	}
	case ROOMS_MEMBER_LEFT: {
		uint16_t id = (uint16_t)rd_be(r, 2);

		cr_assert_neq(id, v->me);
		view_remove(v, id);
		v->owner = (uint16_t)rd_be(r, 2);
		cr_assert_eq(v->owner, v->members[0].id, "who is there longest owns it");
		break;
	}
	case ROOMS_ROOM_DATA: {
		uint8_t which = rd_u8(r);
		size_t  len   = rd_be(r, 2);

		if (which == ROOMS_WHICH_FLAGS)
			v->flags = (uint32_t)rd_be(r, 4);
		else
			*(which == ROOMS_WHICH_EXTERNAL ? &v->external_len : &v->internal_len) = len;
		if (which != ROOMS_WHICH_FLAGS)
			rd_bytes(r, len);
		break;
	}
	case ROOMS_ROOM_MSG: {
		uint16_t from = (uint16_t)rd_be(r, 2), to = (uint16_t)rd_be(r, 2);

		cr_assert_neq(from, v->me);
		cr_assert(to == 0 || to == v->me);
		rd_bytes(r, rd_be(r, 2));
		break;
	}
	case ROOMS_KICKED:
		v->room = 0;
		break;
	case ROOMS_ROUTE: {
		uint32_t user = (uint32_t)rd_be(r, 4);

		cr_assert_lt(user, (uint32_t)USERS_MAX);
		cr_assert_neq(user, c->seat->player.user_id);
		c->routes[user] = (uint8_t)(1 + rd_u8(r));
		break;
	}
	default:
		cr_assert_fail("push %x", (unsigned)type);
	}
	cr_assert(rd_done(r));
}

/* Takes all that came. The type of the reply, 0: none came; a reply is before all else when it is expected. */
static uint8_t listen(struct client *c)
{
	const uint8_t *frame;
	size_t         len;
	uint8_t        reply = 0;

	while ((frame = table_take(c->seat, &len))) {
		struct rd r = rd_over(frame + 3, len - 3);

		if (frame[0] >= 0xA0 && frame[0] <= 0xAF) {
			on_push(c, frame[0], &r);
			continue;
		}
		cr_assert_eq(reply, 0, "two replies");
		reply = frame[0];
		rd_be(&r, 4);
		if (frame[0] == ROOMS_ROOM_JOINED)
			on_room_joined(c, &r);
	}
	return reply;
}

/* What is so */

static void compare(const struct client *c)
{
	size_t rooms = 0;

	for (size_t i = 0; i < VIEWS_MAX; i++) {
		const struct view       *v    = &c->views[i];
		const struct rooms_room *room = v->room ? rooms_find_room(&table.state, v->room) : NULL;
		size_t                   n    = 0;

		if (!v->room)
			continue;
		rooms++;
		cr_assert(room && room->member_count == v->count && room->flags == v->flags);
		cr_assert(room->external_len == v->external_len && room->internal_len == v->internal_len);
		cr_assert_eq(v->owner, rooms_owner_of(room)->id);
		for (struct list *at = room->members.next; at != &room->members; at = at->next, n++) {
			const struct rooms_member *m = CONTAINER(at, struct rooms_member, in_room);

			cr_assert(v->members[n].id == m->id && v->members[n].user == m->player->user_id);
		}
	}
	cr_assert_eq(c->seat->player.room_count, rooms);
}

static void compare_routes(const struct client *viewer)
{
	for (size_t i = 0; i < PLAYERS; i++) {
		const struct rooms_player *target     = &clients[i].seat->player;
		bool                       is_relayed = rooms_is_relayed(&table.state, &viewer->seat->player, target);

		/* Those in rooms that one made are told by the others' joins. */
		if (&clients[i] != viewer && rooms_share_room(&viewer->seat->player, target))
			cr_assert_eq(viewer->routes[target->user_id], 1 + is_relayed);
	}
}

/* Events */

static const char *ip_of(size_t player)
{
	static const char *const ips[] = { "198.51.100.7", "203.0.113.9", "192.0.2.3" };

	return ips[player % COUNT_OF(ips)];
}

static void sit_down(struct client *c)
{
	memset(c, 0, sizeof(*c));
	c->seat = table_sit(ip_of((size_t)(c - clients)));
}

static void everybody_listens(const struct client *but)
{
	for (size_t i = 0; i < PLAYERS; i++)
		if (&clients[i] != but)
			cr_assert_eq(listen(&clients[i]), 0, "a reply without a request");
	for (size_t i = 0; i < PLAYERS; i++)
		if (clients[i].seat->is_closed) {
			table_rise(clients[i].seat);
			sit_down(&clients[i]);
		}
}

static void hello(struct client *c)
{
	static const char *const titles[] = { "T1", "T1", "T1", "T2" };
	struct rooms_player      before   = c->seat->player;
	char                     name[8];

	snprintf(name, sizeof(name), "%c%u", draw(8) ? 'n' : 'N', (unsigned)draw(PLAYERS));
	table_say(c->seat, table_request_hello(titles[draw(4)], name));
	if (memcmp(before.name, c->seat->player.name, sizeof(before.name)) != 0 ||
	    memcmp(before.title, c->seat->player.title, sizeof(before.title)) != 0)
		memset(c->views, 0, sizeof(c->views)); /* he knows that he left them */
}

static uint64_t some_room(void)
{
	return newest < 12 ? draw((uint32_t)newest + 2) : newest - draw(12);
}

static void ask(struct client *c)
{
	static const uint8_t types[] = { ROOMS_CREATE_ROOM, ROOMS_JOIN_ROOM,    ROOMS_JOIN_ROOM,     ROOMS_JOIN_ROOM,
		                         ROOMS_LEAVE_ROOM,  ROOMS_LEAVE_ROOM,   ROOMS_SET_ROOM_DATA, ROOMS_ROOM_MESSAGE,
		                         ROOMS_KICK_MEMBER, ROOMS_SEARCH_ROOMS, ROOMS_RECORD_SCORE };
	struct rooms_request r       = { .type      = types[draw(COUNT_OF(types))],
		                         .req       = draw(1000),
		                         .max       = (uint8_t)draw(7),
		                         .flags     = draw(1000),
		                         .room_id   = some_room(),
		                         .which     = (uint8_t)draw(4),
		                         .to        = (uint16_t)draw(8),
		                         .member_id = (uint16_t)draw(8),
		                         .want      = (uint16_t)draw(20),
		                         .board     = draw(3),
		                         .score     = draw(100) };
	uint8_t              reply, type = r.type;

	r.external    = table_zeros(draw(50) ? draw(40) : draw(40000));
	r.internal    = table_zeros(draw(40));
	r.member_data = table_zeros(draw(50) ? draw(40) : draw(40000));
	r.data        = table_zeros(draw(3) ? 4 : draw(300));
	table_say(c->seat, r);
	if (type == ROOMS_SET_ROOM_DATA && c->seat->player.has_hello) { /* the owner knows what he wrote */
		struct view *v = view_of(c, r.room_id);

		if (v && r.room_id && r.which == ROOMS_WHICH_FLAGS && r.data.len == 4 && v->owner == v->me)
			v->flags = 0;
		if (v && r.room_id && r.which < ROOMS_WHICH_FLAGS) {
			const struct rooms_room *room = rooms_find_room(&table.state, r.room_id);

			v->external_len = room->external_len;
			v->internal_len = room->internal_len;
		}
	}
	reply = listen(c);
	cr_assert_neq(reply, 0, "no reply");
	if (type == ROOMS_LEAVE_ROOM && reply == ROOMS_OK)
		view_of(c, r.room_id)->room = 0;
}

static void probe(struct client *c)
{
	static const char *const locals[] = { "192.168.1.5", "0.0.0.0" };
	uint32_t                 which    = draw(3);

	if (c->seat->player.has_hello)
		table_probe(c->seat, (uint16_t)(40000 + draw(10)),
		            which < 2 ? locals[which] : ip_of((size_t)(c - clients)));
}

/* After 10 s of quiet a probe that says nothing new makes good what was not told. */
static void settle(void)
{
	table.now.mono_ms += 10000;
	for (size_t i = 0; i < PLAYERS; i++) {
		const struct rooms_player *p = &clients[i].seat->player;
		char                       local[32];

		snprintf(local, sizeof(local), "%d.%d.%d.%d", p->local_ip[0], p->local_ip[1], p->local_ip[2],
		         p->local_ip[3]);
		if (p->has_hello && p->has_probed)
			table_probe(clients[i].seat, p->public_port, local);
	}
	everybody_listens(NULL);
	for (size_t i = 0; i < PLAYERS; i++)
		compare_routes(&clients[i]);
}

static void one_event(void)
{
	struct client *c = &clients[draw(PLAYERS)];

	switch (draw(20)) {
	case 0:
		table_rise(c->seat);
		sit_down(c);
		break;
	case 1:
	case 2:
		hello(c);
		listen(c);
		break;
	case 3:
	case 4:
		probe(c);
		break;
	default:
		ask(c);
	}
	everybody_listens(c);
	if (!c->seat->is_in)
		return;
	listen(c);
	table.now.mono_ms += draw(1000);
}

static void play(uint64_t with, int events)
{
	seed                                = with;
	newest                              = 0;
	table.state.relays                  = true;
	table.limits.rooms_rooms_per_player = 4;
	table.limits.rooms_rooms            = 10;
	table.limits.rooms_blob_total       = 200000;
	table.limits.rooms_takeover_ms      = 100;
	table.limits.rooms_routes           = 1 + (int64_t)(with % 3);
	for (size_t i = 0; i < PLAYERS; i++)
		sit_down(&clients[i]);
	for (int i = 0; i < events; i++) {
		one_event();
		table_check();
		for (size_t p = 0; p < PLAYERS; p++)
			compare(&clients[p]);
		if (i % 50 == 49)
			settle();
	}
}

TestSuite(rooms_events_state, .init = table_open, .fini = table_close);

Test(rooms_events_state, what_clients_believe_is_what_is_so)
{
	play(1, 20000);
	cr_expect_gt(newest, 300u, "%d", (int)newest);
}

Test(rooms_events_state, what_clients_believe_is_what_is_so_again)
{
	play(20261201, 20000);
}

Test(rooms_events_state, what_clients_believe_is_what_is_so_and_again)
{
	play(3, 20000);
}
