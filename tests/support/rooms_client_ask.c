/* The requests of support/rooms_client.h. */
#include "support/rooms_client.h"

#include "base/bytes.h"

#include <criterion/criterion.h>

#include <string.h>

/* --- Their bytes --- */

/* One body at a time is built here: it is sent before the next begins. */
static uint8_t   body[GAMER_PAYLOAD_MAX + 1];
static struct wr begin(void)
{
	return wr_over(body, sizeof(body));
}

static uint32_t send_it(struct gamer *c, uint8_t type, const struct wr *w)
{
	cr_assert(wr_ok(w), "a request that no frame can hold");
	return gamer_ask(c, type, body, wr_len(w));
}

static void put_text(struct wr *w, const char *text, size_t field_bytes)
{
	static const uint8_t zeros[GAMER_NAME_BYTES];
	size_t               len = strlen(text);

	cr_assert_leq(len, field_bytes, "%s is too long", text);
	wr_bytes(w, text, len);
	wr_bytes(w, zeros, field_bytes - len);
}

static void put_blob(struct wr *w, struct gamer_blob b)
{
	wr_be(w, b.len, 2);
	wr_bytes(w, b.bytes, b.len);
}

/* --- Asking --- */

uint32_t gamer_ask_hello(struct gamer *c, const char *title, const char *name, uint16_t p2p_port)
{
	struct wr w = begin();

	put_text(&w, title, GAMER_TITLE_BYTES);
	put_text(&w, name, GAMER_NAME_BYTES);
	wr_be(&w, p2p_port, 2);
	return send_it(c, ASK_HELLO, &w);
}

uint32_t gamer_ask_plan(struct gamer *c, const struct gamer_plan *p)
{
	struct wr w = begin();

	wr_u8(&w, p->max);
	wr_be(&w, p->flags, 4);
	put_blob(&w, p->external);
	put_blob(&w, p->internal);
	put_blob(&w, p->data);
	return send_it(c, ASK_CREATE_ROOM, &w);
}

uint32_t gamer_ask_create(struct gamer *c, uint8_t max, struct gamer_blob external)
{
	return gamer_ask_plan(c, &(struct gamer_plan){ .max = max, .external = external });
}

uint32_t gamer_ask_search(struct gamer *c, uint16_t start, uint16_t max)
{
	struct wr w = begin();

	wr_be(&w, start, 2);
	wr_be(&w, max, 2);
	return send_it(c, ASK_SEARCH_ROOMS, &w);
}

uint32_t gamer_ask_join(struct gamer *c, uint64_t room, struct gamer_blob data)
{
	struct wr w = begin();

	wr_be(&w, room, 8);
	put_blob(&w, data);
	return send_it(c, ASK_JOIN_ROOM, &w);
}

uint32_t gamer_ask_leave(struct gamer *c, uint64_t room)
{
	struct wr w = begin();

	wr_be(&w, room, 8);
	return send_it(c, ASK_LEAVE_ROOM, &w);
}

uint32_t gamer_ask_set(struct gamer *c, uint64_t room, uint8_t which, struct gamer_blob data)
{
	struct wr w = begin();

	wr_be(&w, room, 8);
	wr_u8(&w, which);
	put_blob(&w, data);
	return send_it(c, ASK_SET_ROOM_DATA, &w);
}

uint32_t gamer_ask_say(struct gamer *c, uint64_t room, uint16_t to, struct gamer_blob data)
{
	struct wr w = begin();

	wr_be(&w, room, 8);
	wr_be(&w, to, 2);
	put_blob(&w, data);
	return send_it(c, ASK_ROOM_MESSAGE, &w);
}

uint32_t gamer_ask_kick(struct gamer *c, uint64_t room, uint16_t member)
{
	struct wr w = begin();

	wr_be(&w, room, 8);
	wr_be(&w, member, 2);
	return send_it(c, ASK_KICK_MEMBER, &w);
}

uint32_t gamer_ask_score(struct gamer *c, uint32_t board, uint8_t order, int64_t score, struct gamer_blob comment)
{
	struct wr w = begin();

	wr_be(&w, board, 4);
	wr_u8(&w, order);
	wr_be(&w, (uint64_t)score, 8);
	put_blob(&w, comment);
	return send_it(c, ASK_RECORD_SCORE, &w);
}

uint32_t gamer_ask_ranking(struct gamer *c, uint32_t board, uint32_t start, uint16_t count)
{
	struct wr w = begin();

	wr_be(&w, board, 4);
	wr_be(&w, start, 4);
	wr_be(&w, count, 2);
	return send_it(c, ASK_GET_RANKING, &w);
}

uint32_t gamer_ask_ranks_of(struct gamer *c, uint32_t board, const char *const *names, uint16_t count)
{
	struct wr w = begin();

	wr_be(&w, board, 4);
	wr_be(&w, count, 2);
	for (uint16_t i = 0; i < count; i++)
		put_text(&w, names[i], GAMER_NAME_BYTES);
	return send_it(c, ASK_GET_RANKING_BY_ID, &w);
}

uint32_t gamer_ask_connect(struct gamer *c, uint32_t user_id, uint32_t token, uint32_t to_user, uint16_t vport)
{
	struct wr w = begin();

	wr_be(&w, user_id, 4);
	wr_be(&w, token, 4);
	wr_be(&w, to_user, 4);
	wr_be(&w, vport, 2);
	return send_it(c, ASK_STREAM_CONNECT, &w);
}

uint32_t gamer_ask_accept(struct gamer *c, uint32_t user_id, uint32_t token, uint32_t stream_id)
{
	struct wr w = begin();

	wr_be(&w, user_id, 4);
	wr_be(&w, token, 4);
	wr_be(&w, stream_id, 4);
	return send_it(c, ASK_STREAM_ACCEPT, &w);
}

void gamer_heartbeat(struct gamer *c)
{
	gamer_ask(c, ASK_HEARTBEAT, NULL, 0);
}

/* --- And being given it --- */

struct gamer_message *gamer_hello(struct gamer *c, const char *title, const char *name, uint16_t p2p_port)
{
	struct gamer_message *m = gamer_expect_success(c, gamer_ask_hello(c, title, name, p2p_port), ANSWER_HELLO_ACK);

	cr_assert(m->user_id != 0 && m->token != 0, "a user or token of 0");
	cr_assert_eq(m->relay_flags & ~1, 0, "flags %02x", m->relay_flags);
	c->user_id  = m->user_id;
	c->token    = m->token;
	c->p2p_port = p2p_port;
	c->relays   = m->relay_flags & 1;
	strcpy(c->name, name);
	return m;
}

struct gamer_message *gamer_plan(struct gamer *c, const struct gamer_plan *p)
{
	return gamer_expect_success(c, gamer_ask_plan(c, p), ANSWER_ROOM_JOINED);
}

struct gamer_message *gamer_create(struct gamer *c, uint8_t max, struct gamer_blob external)
{
	return gamer_expect_success(c, gamer_ask_create(c, max, external), ANSWER_ROOM_JOINED);
}

struct gamer_message *gamer_search(struct gamer *c, uint16_t start, uint16_t max)
{
	return gamer_expect_success(c, gamer_ask_search(c, start, max), ANSWER_ROOM_LIST);
}

struct gamer_message *gamer_join(struct gamer *c, uint64_t room, struct gamer_blob data)
{
	return gamer_expect_success(c, gamer_ask_join(c, room, data), ANSWER_ROOM_JOINED);
}

struct gamer_message *gamer_ranking(struct gamer *c, uint32_t board, uint32_t start, uint16_t count)
{
	return gamer_expect_success(c, gamer_ask_ranking(c, board, start, count), ANSWER_RANKING);
}

struct gamer_message *gamer_ranks_of(struct gamer *c, uint32_t board, const char *const *names, uint16_t count)
{
	return gamer_expect_success(c, gamer_ask_ranks_of(c, board, names, count), ANSWER_RANKING);
}

void gamer_leave(struct gamer *c, uint64_t room)
{
	gamer_expect_success(c, gamer_ask_leave(c, room), ANSWER_OK);
}

void gamer_set(struct gamer *c, uint64_t room, uint8_t which, struct gamer_blob data)
{
	gamer_expect_success(c, gamer_ask_set(c, room, which, data), ANSWER_OK);
}

void gamer_say(struct gamer *c, uint64_t room, uint16_t to, struct gamer_blob data)
{
	gamer_expect_success(c, gamer_ask_say(c, room, to, data), ANSWER_OK);
}

void gamer_kick(struct gamer *c, uint64_t room, uint16_t member)
{
	gamer_expect_success(c, gamer_ask_kick(c, room, member), ANSWER_OK);
}

uint32_t gamer_score(struct gamer *c, uint32_t board, uint8_t order, int64_t score, struct gamer_blob comment)
{
	return gamer_expect_success(c, gamer_ask_score(c, board, order, score, comment), ANSWER_SCORE_RECORDED)->rank;
}
