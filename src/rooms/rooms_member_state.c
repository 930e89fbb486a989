/*
 * Rooms and their members, as they are kept.
 *
 * Who is in a room stands in its list in the order of joining, so that the first is the owner.  A player's rooms stand in his
 * list in the order of their ids.  A title keeps its rooms that are not full in an array, in order, because searchers ask for
 * the n-th of them.  A room counts for the address of its owner: whoever goes, and leaves it to somebody else, has room for
 * another one.
 */
#include "rooms/rooms_state.h"

#include "base/auto.h"
#include "base/mem.h"
#include "rooms/rooms_state_inside.h"

#include <string.h>

#define OPEN_CAP_AT_FIRST 4
#define MEMBER_IDS_MAX    65535
#define DATA_MAX_AT_LEAST 256 /* that everybody may bring, as long as it fits */

/* What there is */

struct rooms_room *rooms_find_room(const struct rooms_state *s, uint64_t id)
{
	return map_get(&s->by_room, &id);
}

struct rooms_member *rooms_find_own(const struct rooms_player *p, uint64_t room_id)
{
	for (struct list *at = p->rooms.prev; at != &p->rooms; at = at->prev) {
		struct rooms_member *m = CONTAINER(at, struct rooms_member, in_player);

		if (m->room->id == room_id)
			return m;
	}
	return NULL;
}

struct rooms_member *rooms_find_member(const struct rooms_room *room, uint16_t id)
{
	for (struct list *at = room->members.next; at != &room->members; at = at->next) {
		struct rooms_member *m = CONTAINER(at, struct rooms_member, in_room);

		if (m->id == id)
			return m;
	}
	return NULL;
}

/* Both are in order of ids, so a look along both finds what is in both. */
bool rooms_share_room(const struct rooms_player *a, const struct rooms_player *b)
{
	struct list *at_a = a->rooms.next, *at_b = b->rooms.next;

	while (at_a != &a->rooms && at_b != &b->rooms) {
		uint64_t room_a = CONTAINER(at_a, struct rooms_member, in_player)->room->id;
		uint64_t room_b = CONTAINER(at_b, struct rooms_member, in_player)->room->id;

		if (room_a == room_b)
			return true;
		if (room_a < room_b)
			at_a = at_a->next;
		else
			at_b = at_b->next;
	}
	return false;
}

/* Rooms of a title that are not full */

/* Where the room with this id is in the array, or belongs. */
static size_t open_at(const struct rooms_title *t, uint64_t id)
{
	size_t low = 0, high = t->open_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (t->open[middle]->id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void open_add(struct rooms_title *t, struct rooms_room *room)
{
	size_t at = open_at(t, room->id);

	memmove(&t->open[at + 1], &t->open[at], (t->open_count - at) * sizeof(struct rooms_room *));
	t->open[at] = room;
	t->open_count++;
}

static void open_drop(struct rooms_title *t, const struct rooms_room *room)
{
	size_t at = open_at(t, room->id);

	t->open_count--;
	memmove(&t->open[at], &t->open[at + 1], (t->open_count - at) * sizeof(struct rooms_room *));
}

void rooms_room_list(struct rooms_room *room)
{
	bool is_open = !rooms_is_full(room);

	if (is_open && !room->is_open)
		open_add(room->in_title, room);
	else if (!is_open && room->is_open)
		open_drop(room->in_title, room);
	room->is_open = is_open;
}

/* So that a room that is no longer full finds its place without asking for memory. */
static bool open_has_place(struct rooms_title *t)
{
	if (t->room_count < t->open_cap)
		return true;

	size_t              cap  = t->open_cap ? 2 * t->open_cap : OPEN_CAP_AT_FIRST;
	struct rooms_room **more = mem_new(cap * sizeof(struct rooms_room *));

	if (!more)
		return false;
	if (t->open)
		memcpy(more, t->open, t->open_count * sizeof(struct rooms_room *));
	mem_free(t->open);
	t->open     = more;
	t->open_cap = cap;
	return true;
}

/* Data */

bool rooms_fits(size_t members, size_t blob_bytes)
{
	return ROOMS_JOINED_FIXED_BYTES + members * ROOMS_MEMBER_FIXED_BYTES + blob_bytes <= ROOMS_PAYLOAD_MAX;
}

bool rooms_is_full(const struct rooms_room *room)
{
	return room->member_count >= room->max || room->ids_given >= MEMBER_IDS_MAX ||
	       !rooms_fits(room->member_count + 1, room->blob_bytes);
}

/* Each of the seats that are free has the same share of what is left of the frame, so that one alone cannot fill it. */
size_t rooms_data_max(const struct rooms_room *room)
{
	size_t used  = ROOMS_JOINED_FIXED_BYTES + room->member_count * ROOMS_MEMBER_FIXED_BYTES + room->blob_bytes;
	size_t share = (ROOMS_PAYLOAD_MAX - used) / (room->max - room->member_count);

	return share > DATA_MAX_AT_LEAST + ROOMS_MEMBER_FIXED_BYTES ? share - ROOMS_MEMBER_FIXED_BYTES
	                                                            : DATA_MAX_AT_LEAST;
}

bool rooms_has_place_for(const struct rooms_state *s, size_t more)
{
	return s->blob_bytes + more <= (size_t)s->limits->rooms_blob_total;
}

void rooms_count_blob(struct rooms_state *s, struct rooms_room *room, size_t more, size_t less)
{
	room->blob_bytes += more - less;
	s->blob_bytes += more - less;
}

bool rooms_copy_blob(uint8_t **out, size_t *len, const struct rooms_blob *blob)
{
	*out = NULL;
	*len = blob->len;
	if (blob->len == 0)
		return true;
	*out = mem_new(blob->len);
	if (!*out)
		return false;
	memcpy(*out, blob->bytes, blob->len);
	return true;
}

/* Coming and going */

static void add_to_player(struct rooms_player *p, struct rooms_member *m)
{
	struct list *before = p->rooms.prev;

	while (before != &p->rooms && CONTAINER(before, struct rooms_member, in_player)->room->id > m->room->id)
		before = before->prev;
	/* To the end of what begins behind it: before the next one. */
	list_append(before->next, &m->in_player);
	p->room_count++;
}

struct rooms_member *rooms_member_add(struct rooms_state *s, struct rooms_room *room, struct rooms_player *p,
                                      const struct rooms_blob *data)
{
	struct rooms_member *m = pool_take(&s->member_pool);

	if (!m)
		return NULL;
	if (!rooms_copy_blob(&m->data, &m->data_len, data)) {
		pool_give(&s->member_pool, m);
		return NULL;
	}
	m->room   = room;
	m->player = p;
	m->id     = (uint16_t)++room->ids_given;
	list_append(&room->members, &m->in_room);
	room->member_count++;
	add_to_player(p, m);
	rooms_count_blob(s, room, data->len, 0);
	rooms_room_list(room);
	return m;
}

void rooms_room_count_for(struct rooms_room *room, const struct rooms_player *owner)
{
	room->is_counted = !owner->from.is_exempt;
	memcpy(room->counts_for, owner->from.addr, sizeof(room->counts_for));
}

/* Its owner has gone. */
static void pass_on(struct rooms_state *s, struct rooms_room *room)
{
	if (room->is_counted)
		s->host->room_gone(s->host->arg, room->counts_for);
	rooms_room_count_for(room, rooms_owner_of(room)->player);
	if (room->is_counted)
		s->host->room_came(s->host->arg, room->counts_for);
}

/* It is empty. */
static void room_close(struct rooms_state *s, struct rooms_room *room)
{
	map_remove(&s->by_room, &room->id);
	list_remove(&room->in_rooms);
	if (room->is_open)
		open_drop(room->in_title, room);
	s->room_count--;
	room->in_title->room_count--;
	rooms_count_blob(s, room, 0, room->external_len + room->internal_len);
	if (room->is_counted)
		s->host->room_gone(s->host->arg, room->counts_for);
	if (s->host->room_over)
		s->host->room_over(s->host->arg, room->id);
	mem_free(room->external);
	mem_free(room->internal);
	pool_give(&s->room_pool, room);
}

void rooms_tell(struct rooms_state *s, const struct rooms_room *room, const struct rooms_player *but, size_t len)
{
	for (struct list *at = room->members.next; at != &room->members; at = at->next) {
		struct rooms_player *to = CONTAINER(at, struct rooms_member, in_room)->player;

		if (to != but)
			rooms_send(s, to, len);
	}
}

static void tell_left(struct rooms_state *s, struct rooms_room *room, uint16_t id)
{
	struct rooms_letter l = rooms_letter_begin(s, ROOMS_MEMBER_LEFT);

	wr_be(&l.w, room->id, 8);
	wr_be(&l.w, id, 2);
	wr_be(&l.w, rooms_owner_of(room)->id, 2);
	rooms_tell(s, room, NULL, rooms_letter_end(&l));
}

/* Nobody is told. The last one takes the room with him: false then. */
static bool take_out(struct rooms_state *s, struct rooms_member *m)
{
	struct rooms_room *room = m->room;

	list_remove(&m->in_room);
	list_remove(&m->in_player);
	m->player->room_count--;
	room->member_count--;
	rooms_count_blob(s, room, 0, m->data_len);
	mem_free(m->data);
	pool_give(&s->member_pool, m);
	if (room->member_count > 0)
		return true;
	room_close(s, room);
	return false;
}

void rooms_member_remove(struct rooms_state *s, struct rooms_member *m)
{
	struct rooms_room *room     = m->room;
	uint16_t           id       = m->id;
	bool               is_owner = rooms_is_owner(m);

	if (!take_out(s, m))
		return;
	rooms_room_list(room);
	if (is_owner)
		pass_on(s, room);
	tell_left(s, room, id);
}

static struct rooms_letter say_kicked(struct rooms_state *s, const struct rooms_room *room)
{
	struct rooms_letter l = rooms_letter_begin(s, ROOMS_KICKED);

	wr_be(&l.w, room->id, 8);
	return l;
}

void rooms_kick(struct rooms_state *s, struct rooms_member *m)
{
	struct rooms_letter l = say_kicked(s, m->room);

	rooms_letter_send(s, &l, m->player);
	rooms_member_remove(s, m);
}

void rooms_end(struct rooms_state *s, struct rooms_room *room)
{
	struct rooms_letter l = say_kicked(s, room);

	rooms_tell(s, room, NULL, rooms_letter_end(&l));
	/* The owner is the last, so that the room comes to nobody. */
	while (take_out(s, CONTAINER(room->members.prev, struct rooms_member, in_room)))
		;
}

void rooms_leave_all(struct rooms_state *s, struct rooms_player *p)
{
	while (!list_is_empty(&p->rooms))
		rooms_member_remove(s, CONTAINER(p->rooms.next, struct rooms_member, in_player));
}

/* A room with nobody in it, which nobody finds yet; its title has place for it. NULL: out of memory. */
static struct rooms_room *make_room(struct rooms_state *s, struct rooms_player *p, const struct rooms_request *r)
{
	struct rooms_room *room = pool_take(&s->room_pool);

	if (!room)
		return NULL;
	room->id       = s->next_room;
	room->max      = r->max;
	room->flags    = r->flags;
	room->in_title = p->in_title;
	memcpy(room->title, p->title, sizeof(room->title));
	list_init(&room->members);
	if (rooms_copy_blob(&room->external, &room->external_len, &r->external) &&
	    rooms_copy_blob(&room->internal, &room->internal_len, &r->internal) && open_has_place(p->in_title) &&
	    map_put(&s->by_room, &room->id, room) == ERR_OK)
		return room;
	mem_free(room->external);
	mem_free(room->internal);
	pool_give(&s->room_pool, room);
	return NULL;
}

struct rooms_member *rooms_room_open(struct rooms_state *s, struct rooms_player *p, const struct rooms_request *r,
                                     int64_t now_ms)
{
	struct rooms_room *room = make_room(s, p, r);

	if (!room)
		return NULL;
	list_append(&s->rooms, &room->in_rooms);
	s->room_count++;
	s->next_room++;
	room->in_title->room_count++;
	room->made_ms = now_ms;
	rooms_count_blob(s, room, room->external_len + room->internal_len, 0);

	struct rooms_member *m = rooms_member_add(s, room, p, &r->member_data);

	if (!m)
		room_close(s, room);
	return m;
}
