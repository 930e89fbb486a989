#include "support/rooms_check.h"

#include "base/auto.h"
#include "rooms/rooms_state_inside.h"

#include <string.h>

/* What is counted on the way, to be compared with what the state has counted. */
struct counts {
	size_t rooms, open, listed, blobs, players, named, in_titles;
};

static const char *check_members(const struct rooms_room *room)
{
	size_t   count = 0, blobs = room->external_len + room->internal_len;
	uint32_t last = 0;

	for (struct list *at = room->members.next; at != &room->members; at = at->next, count++) {
		const struct rooms_member *m = CONTAINER(at, struct rooms_member, in_room);

		if (m->id <= last)
			return "members are not in the order of their numbers";
		if (m->room != room || rooms_find_own(m->player, room->id) != m)
			return "a member is not in the list of its player";
		if (!m->player->has_hello || m->player->in_title != room->in_title)
			return "a member is not in the title of the room";
		if (!m->data != !m->data_len)
			return "a member's data has a wrong length";
		last = m->id;
		blobs += m->data_len;
	}
	if (room->member_count != count || count == 0 || count > room->max)
		return "a room has a wrong number of members";
	if (last > room->ids_given || room->ids_given > UINT16_MAX)
		return "a member has a number that was not given";
	if (room->blob_bytes != blobs || !rooms_fits(count, blobs))
		return "a room holds too much";

	const struct rooms_origin *owner = &rooms_owner_of(room)->player->from;

	if (room->is_counted == owner->is_exempt || memcmp(room->counts_for, owner->addr, ROOMS_ADDR_BYTES) != 0)
		return "a room does not count for its owner";
	if (room->is_open == rooms_is_full(room))
		return "a room is found though it is full, or the other way round";
	return NULL;
}

static const char *check_rooms(const struct rooms_state *s, struct counts *c)
{
	uint64_t last = 0;

	for (struct list *at = s->rooms.next; at != &s->rooms; at = at->next, c->rooms++) {
		const struct rooms_room *room  = CONTAINER(at, struct rooms_room, in_rooms);
		const char              *wrong = check_members(room);

		if (wrong)
			return wrong;
		if (room->id <= last || room->id >= s->next_room || rooms_find_room(s, room->id) != room)
			return "rooms are not in the order of their ids";
		last = room->id;
		c->blobs += room->blob_bytes;
		c->open += !rooms_is_full(room);
	}
	return NULL;
}

static const char *check_player(const struct rooms_player *p)
{
	size_t   count = 0;
	uint64_t last  = 0;

	for (struct list *at = p->rooms.next; at != &p->rooms; at = at->next, count++) {
		const struct rooms_room *room = CONTAINER(at, struct rooms_member, in_player)->room;

		if (room->id <= last)
			return "a player's rooms are not in the order of their ids";
		last = room->id;
	}
	if (p->room_count != count)
		return "a player has a wrong number of rooms";
	if (p->has_hello != (p->token != 0) || p->has_hello != (p->in_title != NULL) ||
	    p->has_hello != (p->has_name != NULL))
		return "a player is half somebody";
	if (p->has_hello && (p->has_name->holder != p || memcmp(p->folded, p->has_name->folded, ROOMS_NAME_BYTES) != 0))
		return "a player does not hold his name";
	return NULL;
}

static const char *check_players(const struct rooms_state *s, struct counts *c)
{
	for (struct list *at = s->players.next; at != &s->players; at = at->next, c->players++) {
		const struct rooms_player *p     = CONTAINER(at, struct rooms_player, in_players);
		const char                *wrong = check_player(p);

		if (wrong)
			return wrong;
		if (rooms_find_user(s, p->user_id) != p)
			return "a player is not found";
		c->named += p->has_hello;
	}
	return NULL;
}

static const char *check_titles(const struct rooms_state *s, struct counts *c)
{
	for (struct list *at = s->titles_known.next; at != &s->titles_known; at = at->next) {
		const struct rooms_title *t    = CONTAINER(at, struct rooms_title, in_titles);
		uint64_t                  last = 0;

		for (size_t i = 0; i < t->open_count; i++) {
			if (t->open[i]->id <= last || t->open[i]->in_title != t || rooms_is_full(t->open[i]))
				return "a title finds a room that it should not";
			last = t->open[i]->id;
		}
		if (t->room_count > t->open_cap)
			return "a title has no place for its rooms";
		if (t->players == 0 && !rooms_boards_have_title(s->boards, t->title))
			return "a title that nobody plays is remembered";
		c->in_titles += t->players;
		c->listed += t->open_count;
	}
	return NULL;
}

static const char *check_names(const struct rooms_state *s, const struct counts *c)
{
	size_t taken = 0, held = 0;

	for (struct list *at = s->taken.next; at != &s->taken; at = at->next, taken++)
		held += CONTAINER(at, struct rooms_name, in_taken)->holder != NULL;
	if (taken != s->taken_count)
		return "a wrong number of names was taken over";
	if (map_count(&s->by_name) != c->named + taken - held)
		return "there are names that nobody has";
	return NULL;
}

const char *rooms_check(const struct rooms_state *s)
{
	struct counts c     = { 0 };
	const char   *wrong = check_rooms(s, &c);

	if (!wrong)
		wrong = check_players(s, &c);
	if (!wrong)
		wrong = check_titles(s, &c);
	if (!wrong)
		wrong = check_names(s, &c);
	if (wrong)
		return wrong;
	if (s->room_count != c.rooms || map_count(&s->by_room) != c.rooms || c.listed != c.open)
		return "rooms are counted wrong";
	if (s->player_count != c.players || s->named_count != c.named || c.in_titles != c.named)
		return "players are counted wrong";
	if (s->blob_bytes != c.blobs || s->blob_bytes > (size_t)s->limits->rooms_blob_total)
		return "data is counted wrong";
	return NULL;
}
