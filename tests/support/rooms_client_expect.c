/* What gamer_expect_ of support/rooms_client.h is, and what is made of it. */
#include "support/rooms_client.h"

#include <criterion/criterion.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* What came, in words. Until the next call. */
static const char *show(const struct gamer *c, const struct gamer_message *m)
{
	static char text[64];

	if (!m)
		return c->fd < 0 ? "the end" : "silence";
	if (m->type == ANSWER_ERROR)
		snprintf(text, sizeof(text), "ERROR %" PRIu32, m->code);
	else
		snprintf(text, sizeof(text), "%s", gamer_type_name(m->type));
	return text;
}

void gamer_expect_error_at(struct gamer_place at, struct gamer *c, uint32_t req, uint32_t code)
{
	struct gamer_message *m = gamer_answer(c, req);

	cr_assert(m->type == ANSWER_ERROR && m->code == code, "%s:%d: %s instead of ERROR %" PRIu32, at.file, at.line,
	          show(c, m), code);
}

struct gamer_message *gamer_expect_success_at(struct gamer_place at, struct gamer *c, uint32_t req, uint8_t type)
{
	struct gamer_message *m = gamer_answer(c, req);
	char                  got[64];

	snprintf(got, sizeof(got), "%s", show(c, m));
	cr_assert_eq(m->type, type, "%s:%d: %s instead of %s", at.file, at.line, got, gamer_type_name(type));
	return m;
}

struct gamer_message *gamer_expect_push_at(struct gamer_place at, struct gamer *c, uint8_t type)
{
	struct gamer_message *m = gamer_next_push(c, DIAL_PATIENCE_MS);
	char                  got[64];

	snprintf(got, sizeof(got), "%s", show(c, m));
	cr_assert(m && m->type == type, "%s:%d: %s instead of %s", at.file, at.line, got, gamer_type_name(type));
	return m;
}

struct gamer_message *gamer_expect_joined_at(struct gamer_place at, struct gamer *c, uint64_t room,
                                             const struct gamer *who)
{
	struct gamer_message *m = gamer_expect_push_at(at, c, PUSH_MEMBER_JOINED);

	cr_assert(m->room_id == room && m->members->user_id == who->user_id,
	          "%s:%d: room %" PRIu64 " user %" PRIu32 " joined", at.file, at.line, m->room_id, m->members->user_id);
	cr_assert_str_eq(m->members->name, who->name, "%s:%d: named %s", at.file, at.line, m->members->name);
	cr_assert_not(m->members->is_owner, "%s:%d: an owner joined", at.file, at.line);
	return m;
}

void gamer_expect_left_at(struct gamer_place at, struct gamer *c, uint64_t room, uint16_t member, uint16_t owner)
{
	struct gamer_message *m = gamer_expect_push_at(at, c, PUSH_MEMBER_LEFT);

	cr_assert(m->room_id == room && m->member_id == member && m->owner == owner,
	          "%s:%d: room %" PRIu64 " member %u left, owner %u", at.file, at.line, m->room_id, m->member_id,
	          m->owner);
}

void gamer_expect_data_at(struct gamer_place at, struct gamer *c, uint64_t room, uint8_t which, struct gamer_blob data)
{
	struct gamer_message *m = gamer_expect_push_at(at, c, PUSH_ROOM_DATA);

	cr_assert(m->room_id == room && m->which == which, "%s:%d: room %" PRIu64 " which %u", at.file, at.line,
	          m->room_id, m->which);
	cr_assert(gamer_blob_is(m->data, data), "%s:%d: other data (%zu bytes)", at.file, at.line, m->data.len);
}

void gamer_expect_said_at(struct gamer_place at, struct gamer *c, uint64_t room, uint16_t from, uint16_t to,
                          struct gamer_blob data)
{
	struct gamer_message *m = gamer_expect_push_at(at, c, PUSH_ROOM_MSG);

	cr_assert(m->room_id == room && m->from == from && m->to == to, "%s:%d: room %" PRIu64 " from %u to %u",
	          at.file, at.line, m->room_id, m->from, m->to);
	cr_assert(gamer_blob_is(m->data, data), "%s:%d: other data (%zu bytes)", at.file, at.line, m->data.len);
}

void gamer_expect_kicked_at(struct gamer_place at, struct gamer *c, uint64_t room)
{
	struct gamer_message *m = gamer_expect_push_at(at, c, PUSH_KICKED);

	cr_assert_eq(m->room_id, room, "%s:%d: from room %" PRIu64, at.file, at.line, m->room_id);
}

void gamer_expect_route_at(struct gamer_place at, struct gamer *c, uint64_t room, uint32_t user, uint8_t flags)
{
	struct gamer_message *m = gamer_expect_push_at(at, c, PUSH_ROUTE);

	cr_assert(m->room_id == room && m->user_id == user && m->relay_flags == flags,
	          "%s:%d: room %" PRIu64 " user %" PRIu32 " flags %u", at.file, at.line, m->room_id, m->user_id,
	          m->relay_flags);
}

uint32_t gamer_expect_offer_at(struct gamer_place at, struct gamer *c, uint32_t from_user, uint16_t vport)
{
	struct gamer_message *m = gamer_expect_push_at(at, c, PUSH_STREAM_OFFER);

	cr_assert(m->stream_id != 0 && m->user_id == from_user && m->vport == vport,
	          "%s:%d: stream %" PRIu32 " from user %" PRIu32 " vport %u", at.file, at.line, m->stream_id,
	          m->user_id, m->vport);
	return m->stream_id;
}

void gamer_expect_silence_at(struct gamer_place at, struct gamer *c)
{
	uint32_t              req = gamer_ask_search(c, 0, 0);
	struct gamer_message *m   = gamer_next(c, DIAL_PATIENCE_MS);

	cr_assert(m && !gamer_is_push(m->type) && m->req == req, "%s:%d: %s instead of silence", at.file, at.line,
	          show(c, m));
}

void gamer_expect_end_at(struct gamer_place at, struct gamer *c)
{
	struct gamer_message *m = gamer_next(c, DIAL_PATIENCE_MS);

	cr_assert(!m && c->fd < 0, "%s:%d: %s instead of the end", at.file, at.line, show(c, m));
}

uint64_t gamer_meet(const struct server *s, const char *title, struct gamer **alice, struct gamer **bob)
{
	*alice        = gamer_new(s, title, "alice");
	*bob          = gamer_new(s, title, "bob");
	uint64_t room = gamer_create(*alice, 4, NOTHING)->room_id;

	gamer_join(*bob, room, NOTHING);
	gamer_expect_joined(*alice, room, *bob);
	if ((*alice)->relays) {
		gamer_expect_route(*alice, room, (*bob)->user_id, 0);
		gamer_expect_route(*bob, room, (*alice)->user_id, 0);
	}
	return room;
}
