/*
 * What players ask of rooms: making and finding them, coming and going, what is said in them.  The reply goes first.
 */
#include "rooms/rooms_state.h"

#include "base/auto.h"
#include "base/mem.h"
#include "rooms/rooms_state_inside.h"

#include <string.h>

#define FLAGS_BYTES      4
#define LIST_FIXED_BYTES 8  /* of a ROOM_LIST's payload, with req */
#define LIST_ENTRY_BYTES 32 /* of an entry, with the length of external */
#define JOINED_ADDR_AT   33 /* of a MEMBER_JOINED frame */
#define TO_EVERYBODY     0

/* Telling */

static void put_member(struct wr *w, const struct rooms_member *m, const struct rooms_player *receiver)
{
	struct rooms_member_entry entry = { .member_id = m->id,
		                            .user_id   = m->player->user_id,
		                            .name      = m->player->name,
		                            .is_owner  = rooms_is_owner(m),
		                            .data      = m->data,
		                            .data_len  = m->data_len };

	rooms_address_for(entry.ip, &entry.port, receiver, m->player);
	rooms_member_put(w, &entry);
}

static void send_room_joined(struct rooms_state *s, const struct rooms_member *me, const struct rooms_request *r)
{
	struct rooms_room  *room = me->room;
	struct rooms_letter l    = rooms_letter_reply(s, ROOMS_ROOM_JOINED, r);

	wr_be(&l.w, room->id, 8);
	wr_be(&l.w, me->id, 2);
	wr_be(&l.w, rooms_owner_of(room)->id, 2);
	wr_be(&l.w, room->max, 1);
	wr_be(&l.w, room->flags, 4);
	rooms_blob_put(&l.w, room->external, room->external_len);
	rooms_blob_put(&l.w, room->internal, room->internal_len);
	wr_be(&l.w, room->member_count, 1);
	for (struct list *at = room->members.next; at != &room->members; at = at->next)
		put_member(&l.w, CONTAINER(at, struct rooms_member, in_room), me->player);
	rooms_letter_send(s, &l, me->player);
}

/* Each is told his own address for the newcomer, and all else is the same. */
static void tell_joined(struct rooms_state *s, const struct rooms_member *joiner)
{
	struct rooms_room  *room = joiner->room;
	struct rooms_letter l    = rooms_letter_begin(s, ROOMS_MEMBER_JOINED);

	wr_be(&l.w, room->id, 8);
	put_member(&l.w, joiner, joiner->player);

	size_t len = rooms_letter_end(&l);

	for (struct list *at = room->members.next; at != &room->members; at = at->next) {
		struct rooms_player *to = CONTAINER(at, struct rooms_member, in_room)->player;
		struct wr            w  = wr_over(s->frame + JOINED_ADDR_AT, 6);
		uint8_t              ip[4];
		uint16_t             port;

		if (to == joiner->player)
			continue;
		rooms_address_for(ip, &port, to, joiner->player);
		wr_bytes(&w, ip, sizeof(ip));
		wr_be(&w, port, 2);
		rooms_send(s, to, len);
	}
}

/* CREATE_ROOM */

enum rooms_code rooms_do_create(struct rooms_state *s, struct rooms_player *p, const struct rooms_request *r,
                                struct rooms_now now)
{
	size_t blob_bytes = r->external.len + r->internal.len + r->member_data.len;

	if (r->max == 0 || !rooms_fits(1, blob_bytes))
		return ROOMS_BAD;
	if (s->is_draining || s->room_count >= (size_t)s->limits->rooms_rooms ||
	    p->room_count >= (size_t)s->limits->rooms_rooms_per_player || !rooms_has_place_for(s, blob_bytes))
		return ROOMS_LIMIT;
	if (!rooms_may(s, p, ROOMS_ASK_ROOM, now.mono_ms))
		return ROOMS_LIMIT;

	/* Who makes a room comes in, too. */
	struct rooms_member *m =
		rooms_may(s, p, ROOMS_ASK_JOIN, now.mono_ms) ? rooms_room_open(s, p, r, now.mono_ms) : NULL;

	if (!m) {
		if (!p->from.is_exempt)
			s->host->room_gone(s->host->arg, p->from.addr);
		return ROOMS_LIMIT;
	}
	rooms_room_count_for(m->room, p);
	send_room_joined(s, m, r);
	return ROOMS_FINE;
}

/* SEARCH_ROOMS */

static void put_entry(struct wr *w, const struct rooms_room *room)
{
	wr_be(w, room->id, 8);
	wr_bytes(w, rooms_owner_of(room)->player->name, ROOMS_NAME_BYTES);
	wr_be(w, room->member_count, 1);
	wr_be(w, room->max, 1);
	wr_be(w, room->flags, 4);
	rooms_blob_put(w, room->external, room->external_len);
}

/* How many of the open rooms from start on come in one frame. */
static size_t page_of(const struct rooms_title *t, size_t start, size_t want)
{
	size_t left = ROOMS_PAYLOAD_MAX - LIST_FIXED_BYTES, count = 0;

	while (count < want && start + count < t->open_count) {
		size_t bytes = LIST_ENTRY_BYTES + t->open[start + count]->external_len;

		if (bytes > left)
			break;
		left -= bytes;
		count++;
	}
	return count;
}

enum rooms_code rooms_do_search(struct rooms_state *s, struct rooms_player *p, const struct rooms_request *r,
                                struct rooms_now now)
{
	const struct rooms_title *t     = p->in_title;
	size_t                    count = page_of(t, r->start, r->want);
	struct rooms_letter       l     = rooms_letter_reply(s, ROOMS_ROOM_LIST, r);

	(void)now;
	wr_be(&l.w, t->open_count < UINT16_MAX ? t->open_count : UINT16_MAX, 2);
	wr_be(&l.w, count, 2);
	for (size_t i = 0; i < count; i++)
		put_entry(&l.w, t->open[r->start + i]);
	rooms_letter_send(s, &l, p);
	return ROOMS_FINE;
}

/* JOIN_ROOM */

/* The room, when the player may know of it. */
static struct rooms_room *find_of_title(const struct rooms_state *s, const struct rooms_player *p, uint64_t id)
{
	struct rooms_room *room = rooms_find_room(s, id);

	return room && room->in_title == p->in_title ? room : NULL;
}

static enum rooms_code may_join(const struct rooms_state *s, const struct rooms_player *p,
                                const struct rooms_room *room, size_t data_len)
{
	if (rooms_is_full(room) || data_len > rooms_data_max(room) ||
	    !rooms_fits(room->member_count + 1, room->blob_bytes + data_len))
		return ROOMS_FULL;
	if (p->room_count >= (size_t)s->limits->rooms_rooms_per_player || !rooms_has_place_for(s, data_len))
		return ROOMS_LIMIT;
	return ROOMS_FINE;
}

enum rooms_code rooms_do_join(struct rooms_state *s, struct rooms_player *p, const struct rooms_request *r,
                              struct rooms_now now)
{
	struct rooms_room   *room = find_of_title(s, p, r->room_id);
	struct rooms_member *m    = room ? rooms_find_own(p, r->room_id) : NULL;

	if (!room)
		return ROOMS_NOT_FOUND;
	if (m) {
		send_room_joined(s, m, r);
		return ROOMS_FINE;
	}

	enum rooms_code code = may_join(s, p, room, r->member_data.len);

	if (code != ROOMS_FINE)
		return code;
	if (!rooms_may(s, p, ROOMS_ASK_JOIN, now.mono_ms))
		return ROOMS_LIMIT;
	m = rooms_member_add(s, room, p, &r->member_data);
	if (!m)
		return ROOMS_LIMIT;
	send_room_joined(s, m, r);
	tell_joined(s, m);
	rooms_tell_routes(s, m);
	return ROOMS_FINE;
}

/* In a room */

enum rooms_code rooms_do_leave(struct rooms_state *s, struct rooms_player *p, const struct rooms_request *r,
                               struct rooms_now now)
{
	struct rooms_member *m = rooms_find_own(p, r->room_id);

	(void)now;
	if (!m)
		return ROOMS_NOT_IN_ROOM;
	rooms_send_ok(s, p, r);
	rooms_member_remove(s, m);
	return ROOMS_FINE;
}

static enum rooms_code set_blob(struct rooms_state *s, struct rooms_room *room, uint8_t **bytes, size_t *len,
                                const struct rooms_blob *data)
{
	uint8_t *copy;
	size_t   copy_len;

	if (!rooms_fits(room->member_count, room->blob_bytes - *len + data->len))
		return ROOMS_BAD;
	if (data->len > *len && !rooms_has_place_for(s, data->len - *len))
		return ROOMS_LIMIT;
	if (!rooms_copy_blob(&copy, &copy_len, data))
		return ROOMS_LIMIT;
	rooms_count_blob(s, room, copy_len, *len);
	mem_free(*bytes);
	*bytes = copy;
	*len   = copy_len;
	rooms_room_list(room);
	return ROOMS_FINE;
}

static enum rooms_code set_data(struct rooms_state *s, struct rooms_room *room, uint8_t which,
                                const struct rooms_blob *data)
{
	if (which == ROOMS_WHICH_EXTERNAL)
		return set_blob(s, room, &room->external, &room->external_len, data);
	if (which == ROOMS_WHICH_INTERNAL)
		return set_blob(s, room, &room->internal, &room->internal_len, data);

	struct rd r = rd_over(data->bytes, data->len);

	room->flags = (uint32_t)rd_be(&r, FLAGS_BYTES);
	return ROOMS_FINE;
}

static void tell_data(struct rooms_state *s, const struct rooms_member *owner, const struct rooms_request *r)
{
	struct rooms_letter l = rooms_letter_begin(s, ROOMS_ROOM_DATA);

	wr_be(&l.w, r->room_id, 8);
	wr_be(&l.w, r->which, 1);
	rooms_blob_put(&l.w, r->data.bytes, r->data.len);
	rooms_tell(s, owner->room, owner->player, rooms_letter_end(&l));
}

enum rooms_code rooms_do_set(struct rooms_state *s, struct rooms_player *p, const struct rooms_request *r,
                             struct rooms_now now)
{
	struct rooms_member *m = rooms_find_own(p, r->room_id);

	(void)now;
	if (r->which >= ROOMS_WHICH_COUNT || (r->which == ROOMS_WHICH_FLAGS && r->data.len != FLAGS_BYTES))
		return ROOMS_BAD;
	if (!m)
		return ROOMS_NOT_IN_ROOM;
	if (!rooms_is_owner(m))
		return ROOMS_NOT_OWNER;

	enum rooms_code code = set_data(s, m->room, r->which, &r->data);

	if (code != ROOMS_FINE)
		return code;
	rooms_send_ok(s, p, r);
	tell_data(s, m, r);
	return ROOMS_FINE;
}

enum rooms_code rooms_do_message(struct rooms_state *s, struct rooms_player *p, const struct rooms_request *r,
                                 struct rooms_now now)
{
	struct rooms_member *m = rooms_find_own(p, r->room_id);

	(void)now;
	if (!m)
		return ROOMS_NOT_IN_ROOM;
	rooms_send_ok(s, p, r);

	struct rooms_member *to = r->to == TO_EVERYBODY ? NULL : rooms_find_member(m->room, r->to);

	if (to == m || (!to && r->to != TO_EVERYBODY))
		return ROOMS_FINE;

	struct rooms_letter l = rooms_letter_begin(s, ROOMS_ROOM_MSG);

	wr_be(&l.w, m->room->id, 8);
	wr_be(&l.w, m->id, 2);
	wr_be(&l.w, r->to, 2);
	rooms_blob_put(&l.w, r->data.bytes, r->data.len);
	if (to)
		rooms_letter_send(s, &l, to->player);
	else
		rooms_tell(s, m->room, p, rooms_letter_end(&l));
	return ROOMS_FINE;
}

enum rooms_code rooms_do_kick(struct rooms_state *s, struct rooms_player *p, const struct rooms_request *r,
                              struct rooms_now now)
{
	struct rooms_member *m = rooms_find_own(p, r->room_id);

	(void)now;
	if (!m)
		return ROOMS_NOT_IN_ROOM;
	if (!rooms_is_owner(m))
		return ROOMS_NOT_OWNER;

	struct rooms_member *target = rooms_find_member(m->room, r->member_id);

	if (!target || target == m)
		return ROOMS_NOT_FOUND;
	rooms_send_ok(s, p, r);
	rooms_kick(s, target);
	return ROOMS_FINE;
}
