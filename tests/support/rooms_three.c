#include "support/rooms_three.h"

#include <criterion/criterion.h>
#include <stdio.h>

struct table_seat *alice, *bob, *carol;

void three_open(void)
{
	table_open();
	alice = table_player(HERE, "alice");
	bob   = table_player(THERE, "bob");
	carol = table_player(HERE, "carol");
}

void three_close(void)
{
	table_check();
	table_close();
}

struct rooms_request three_create(uint8_t max)
{
	return (struct rooms_request){ .type = ROOMS_CREATE_ROOM, .req = 2, .max = max };
}

struct rooms_request three_on_room(uint8_t type, uint64_t room)
{
	return (struct rooms_request){ .type = type, .req = 7, .room_id = room };
}

void three_search(struct table_seat *seat, uint16_t from, uint16_t want)
{
	table_say(seat, (struct rooms_request){ .type = ROOMS_SEARCH_ROOMS, .req = 5, .start = from, .want = want });
}

void three_join(struct table_seat *seat, uint64_t room, struct rooms_blob data)
{
	struct rooms_request r = three_on_room(ROOMS_JOIN_ROOM, room);

	r.member_data = data;
	table_say(seat, r);
}

void three_leave(struct table_seat *seat, uint64_t room)
{
	table_say(seat, three_on_room(ROOMS_LEAVE_ROOM, room));
}

void three_set(struct table_seat *seat, uint64_t room, uint8_t which, struct rooms_blob data)
{
	struct rooms_request r = three_on_room(ROOMS_SET_ROOM_DATA, room);

	r.which = which;
	r.data  = data;
	table_say(seat, r);
}

void three_message(struct table_seat *seat, uint64_t room, uint16_t to, struct rooms_blob data)
{
	struct rooms_request r = three_on_room(ROOMS_ROOM_MESSAGE, room);

	r.to   = to;
	r.data = data;
	table_say(seat, r);
}

void three_kick(struct table_seat *seat, uint64_t room, uint16_t member)
{
	struct rooms_request r = three_on_room(ROOMS_KICK_MEMBER, room);

	r.member_id = member;
	table_say(seat, r);
}

/* A room of alice's with bob as member 2 and carol as member 3. */
uint64_t three_in_a_room(void)
{
	uint64_t room = table_create(alice, 8);

	table_join(bob, room);
	table_join(carol, room);
	return room;
}

void three_create_with(size_t external, size_t internal, size_t data)
{
	struct rooms_request r = three_create(4);

	r.external    = table_zeros(external);
	r.internal    = table_zeros(internal);
	r.member_data = table_zeros(data);
	table_say(alice, r);
}

const char *three_found(struct table_seat *seat, uint16_t from, uint16_t want)
{
	static char    text[512];
	size_t         len, at = 0, count;
	const uint8_t *frame;
	struct rd      r;

	three_search(seat, from, want);
	frame = table_take(seat, &len);
	cr_assert_eq(frame[0], ROOMS_ROOM_LIST);
	r = rd_over(frame + ROOMS_HEAD_BYTES + ROOMS_REQ_BYTES, len - ROOMS_HEAD_BYTES - ROOMS_REQ_BYTES);
	at += (size_t)snprintf(text, sizeof(text), "%d:", (int)rd_be(&r, 2));
	count = (size_t)rd_be(&r, 2);
	for (size_t i = 0; i < count; i++) {
		at += (size_t)snprintf(text + at, sizeof(text) - at, " %d", (int)rd_be(&r, 8));
		rd_bytes(&r, 22);
		rd_bytes(&r, (size_t)rd_be(&r, 2));
	}
	cr_assert(rd_done(&r));
	return text;
}
