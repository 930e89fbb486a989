#include "support/rooms_message.h"

#include "base/bytes.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEMBER_BYTES_MIN 31 /* with the length of its blob */
#define FOUND_BYTES_MIN  32
#define ROW_BYTES_MIN    38

bool gamer_is_push(uint8_t type)
{
	return type >= 0xA0 && type <= 0xAF;
}

bool gamer_blob_is(struct gamer_blob got, struct gamer_blob wanted)
{
	return got.len == wanted.len && (got.len == 0 || memcmp(got.bytes, wanted.bytes, got.len) == 0);
}

/* --- Fields --- */

static struct gamer_blob blob(struct rd *r)
{
	struct gamer_blob b = { 0 };

	b.len   = (size_t)rd_be(r, 2);
	b.bytes = rd_bytes(r, b.len);
	return b;
}

/* What follows the first NUL has to be NULs. */
static void name(char out[GAMER_NAME_BYTES + 1], struct rd *r)
{
	rd_copy(r, out, GAMER_NAME_BYTES);
	out[GAMER_NAME_BYTES] = '\0';
	for (size_t i = strlen(out); i < GAMER_NAME_BYTES; i++)
		cr_assert_eq(out[i], '\0', "a name that is not padded with NULs");
}

static void address(char out[GAMER_ADDRESS_BYTES], struct rd *r)
{
	uint8_t ip[4];

	rd_copy(r, ip, sizeof(ip));
	snprintf(out, GAMER_ADDRESS_BYTES, "%u.%u.%u.%u", ip[0], ip[1], ip[2], ip[3]);
}

/* Memory for so many entries, if the bytes for them can be there at all. */
static void *entries(struct rd *r, size_t count, size_t wire_bytes, size_t entry_bytes)
{
	void *all = calloc(count + 1, entry_bytes);

	cr_assert_not_null(all);
	if (count * wire_bytes > rd_left(r))
		r->failed = true;
	return all;
}

static void member(struct gamer_member *m, struct rd *r)
{
	m->id      = (uint16_t)rd_be(r, 2);
	m->user_id = (uint32_t)rd_be(r, 4);
	name(m->name, r);
	address(m->ip, r);
	m->port       = (uint16_t)rd_be(r, 2);
	uint8_t owner = rd_u8(r);

	cr_assert_leq(owner, 1, "an owner field of %u", owner);
	m->is_owner = owner;
	m->data     = blob(r);
}

static void members(struct gamer_message *m, struct rd *r, size_t count)
{
	m->count   = count;
	m->members = entries(r, count, MEMBER_BYTES_MIN, sizeof(*m->members));
	for (size_t i = 0; i < count && rd_ok(r); i++)
		member(&m->members[i], r);
}

/* --- Messages --- */

static void read_hello_ack(struct gamer_message *m, struct rd *r)
{
	m->user_id = (uint32_t)rd_be(r, 4);
	address(m->ip, r);
	m->token       = (uint32_t)rd_be(r, 4);
	m->relay_flags = rd_u8(r);
}

static void read_error(struct gamer_message *m, struct rd *r)
{
	m->code = (uint32_t)rd_be(r, 4);
}

static void read_joined(struct gamer_message *m, struct rd *r)
{
	m->room_id   = rd_be(r, 8);
	m->my_member = (uint16_t)rd_be(r, 2);
	m->owner     = (uint16_t)rd_be(r, 2);
	m->max       = rd_u8(r);
	m->flags     = (uint32_t)rd_be(r, 4);
	m->external  = blob(r);
	m->internal  = blob(r);
	members(m, r, rd_u8(r));
}

static void read_list(struct gamer_message *m, struct rd *r)
{
	m->total = (uint32_t)rd_be(r, 2);
	m->count = (size_t)rd_be(r, 2);
	m->found = entries(r, m->count, FOUND_BYTES_MIN, sizeof(*m->found));
	for (size_t i = 0; i < m->count && rd_ok(r); i++) {
		struct gamer_found *f = &m->found[i];

		f->room_id = rd_be(r, 8);
		name(f->owner, r);
		f->members  = rd_u8(r);
		f->max      = rd_u8(r);
		f->flags    = (uint32_t)rd_be(r, 4);
		f->external = blob(r);
	}
}

static void read_nothing(struct gamer_message *m, struct rd *r)
{
	(void)m, (void)r;
}

static void read_recorded(struct gamer_message *m, struct rd *r)
{
	m->rank = (uint32_t)rd_be(r, 4);
}

static void read_ranking(struct gamer_message *m, struct rd *r)
{
	m->total = (uint32_t)rd_be(r, 4);
	m->count = (size_t)rd_be(r, 2);
	m->rows  = entries(r, m->count, ROW_BYTES_MIN, sizeof(*m->rows));
	for (size_t i = 0; i < m->count && rd_ok(r); i++) {
		struct gamer_row *row = &m->rows[i];

		row->rank = (uint32_t)rd_be(r, 4);
		name(row->name, r);
		row->score    = (int64_t)rd_be(r, 8);
		row->comment  = blob(r);
		row->recorded = rd_be(r, 8);
	}
}

static void read_member_joined(struct gamer_message *m, struct rd *r)
{
	m->room_id = rd_be(r, 8);
	members(m, r, 1);
}

static void read_member_left(struct gamer_message *m, struct rd *r)
{
	m->room_id   = rd_be(r, 8);
	m->member_id = (uint16_t)rd_be(r, 2);
	m->owner     = (uint16_t)rd_be(r, 2);
}

static void read_room_data(struct gamer_message *m, struct rd *r)
{
	m->room_id = rd_be(r, 8);
	m->which   = rd_u8(r);
	m->data    = blob(r);
}

static void read_room_msg(struct gamer_message *m, struct rd *r)
{
	m->room_id = rd_be(r, 8);
	m->from    = (uint16_t)rd_be(r, 2);
	m->to      = (uint16_t)rd_be(r, 2);
	m->data    = blob(r);
}

static void read_kicked(struct gamer_message *m, struct rd *r)
{
	m->room_id = rd_be(r, 8);
}

static void read_offer(struct gamer_message *m, struct rd *r)
{
	m->stream_id = (uint32_t)rd_be(r, 4);
	m->user_id   = (uint32_t)rd_be(r, 4);
	m->vport     = (uint16_t)rd_be(r, 2);
}

static void read_route(struct gamer_message *m, struct rd *r)
{
	m->room_id     = rd_be(r, 8);
	m->user_id     = (uint32_t)rd_be(r, 4);
	m->relay_flags = rd_u8(r);
}

static const struct kind {
	const char *name;
	void (*read)(struct gamer_message *m, struct rd *r);
} kinds[256] = {
	[ANSWER_HELLO_ACK]      = { "HELLO_ACK", read_hello_ack },
	[ANSWER_ERROR]          = { "ERROR", read_error },
	[ANSWER_ROOM_JOINED]    = { "ROOM_JOINED", read_joined },
	[ANSWER_ROOM_LIST]      = { "ROOM_LIST", read_list },
	[ANSWER_OK]             = { "OK", read_nothing },
	[ANSWER_STREAM_READY]   = { "STREAM_READY", read_nothing },
	[ANSWER_SCORE_RECORDED] = { "SCORE_RECORDED", read_recorded },
	[ANSWER_RANKING]        = { "RANKING", read_ranking },
	[PUSH_MEMBER_JOINED]    = { "MEMBER_JOINED", read_member_joined },
	[PUSH_MEMBER_LEFT]      = { "MEMBER_LEFT", read_member_left },
	[PUSH_ROOM_DATA]        = { "ROOM_DATA", read_room_data },
	[PUSH_ROOM_MSG]         = { "ROOM_MSG", read_room_msg },
	[PUSH_KICKED]           = { "KICKED", read_kicked },
	[PUSH_STREAM_OFFER]     = { "STREAM_OFFER", read_offer },
	[PUSH_ROUTE]            = { "ROUTE", read_route },
};

const char *gamer_type_name(uint8_t type)
{
	static char other[32];

	snprintf(other, sizeof(other), "a frame of type %02x", type);
	return kinds[type].name ? kinds[type].name : other;
}

struct gamer_message *gamer_message_new(uint8_t type, uint8_t *payload, size_t len)
{
	struct gamer_message *m = calloc(1, sizeof(*m));
	struct rd             r = rd_over(payload, len);

	cr_assert_not_null(m);
	*m = (struct gamer_message){ .type = type, .payload = payload, .len = len };
	cr_assert_not_null(kinds[type].read, "no server sends %s", gamer_type_name(type));
	if (!gamer_is_push(type))
		m->req = (uint32_t)rd_be(&r, 4);
	kinds[type].read(m, &r);
	cr_assert(rd_done(&r), "%s of %zu bytes is too %s", gamer_type_name(type), len, rd_ok(&r) ? "long" : "short");
	return m;
}

void gamer_message_free(struct gamer_message *m)
{
	if (!m)
		return;
	free(m->members);
	free(m->found);
	free(m->rows);
	free(m->payload);
	free(m);
}
