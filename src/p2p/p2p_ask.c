/*
 * Requests: one text message, one JSON object, one row.
 */
#include "p2p/p2p_inside.h"

#include "base/auto.h"
#include "base/text.h"

#include <string.h>

#define CLOSE_NOT_UTF8 1007
#define CLOSE_NO_JSON  1008
#define SECOND_MS      1000

static const struct op {
	const char *name;
	p2p_op     *handler;
	bool        is_first; /* also before p2p.hello */
	bool        in_room;  /* only for those who are in one */
} ops[] = {
	{ "p2p.hello", p2p_on_hello, true, false },        { "p2p.local", p2p_on_local, false, false },
	{ "p2p.mapped", p2p_on_mapped, false, false },     { "p2p.create", p2p_on_create, false, false },
	{ "p2p.join", p2p_on_join, false, false },         { "p2p.leave", p2p_on_leave, false, true },
	{ "p2p.start", p2p_on_start, false, true },        { "p2p.plan", p2p_on_plan, false, true },
	{ "p2p.link", p2p_on_link, false, true },          { "p2p.ping_try_done", p2p_on_ping_done, false, true },
	{ "p2p.links", p2p_on_links, false, false }, /* of a room that does not exist, it says so */
	{ "nat.check", p2p_on_nat_check, false, false },   { "nat.update", p2p_on_nat_update, false, false },
	{ "nat.get", p2p_on_nat_get, false, false },       { "nat.step_done", p2p_on_step_done, false, false },
	{ "nat.ping_try", p2p_on_ping_try, false, false },
};

static const struct op *op_of(const char *name)
{
	for (size_t i = 0; i < COUNT_OF(ops); i++) {
		if (strcmp(ops[i].name, name) == 0)
			return &ops[i];
	}
	return NULL;
}

static bool is_too_often(struct p2p_session *s, int64_t now_ms)
{
	const struct limits *l = &s->p2p->conf->limits;

	return !s->is_exempt && !rate_take(&s->asked, 1, l->p2p_requests, SECOND_MS, l->p2p_requests_burst, now_ms);
}

static void handle(struct p2p_session *s, const struct p2p_request *r, int64_t now_ms)
{
	const struct op *op = op_of(r->op);

	if (!op)
		p2p_refuse(s, r, P2P_ERR_UNKNOWN_OP);
	else if (!s->p2p->conf->p2p_enable)
		p2p_refuse(s, r, P2P_ERR_DISABLED);
	else if (!op->is_first && !s->has_hello)
		p2p_refuse(s, r, P2P_ERR_NO_HELLO);
	else if (op->in_room && !s->member.room)
		p2p_refuse(s, r, P2P_ERR_NOT_IN_ROOM);
	else
		op->handler(s, r, now_ms);
}

/* A request without an id (clients say some things that need no answer) has id 0. */
static bool read_head(struct p2p_request *r, const struct json *j)
{
	enum err id = json_get_int(&r->id, j, "id");

	r->json = j;
	return json_get_text(&r->op, j, "op") == ERR_OK && (id == ERR_OK || id == ERR_NOT_FOUND);
}

void p2p_ask(struct p2p_session *s, const uint8_t *text, size_t len, int64_t now_ms)
{
	AUTO(json_freep) struct json *j = NULL;
	struct p2p_request            r = { .op = "" };
	bool                          has_head;

	if (!text_is_utf8(text, len)) {
		p2p_session_close(s, P2P_END_MESSAGE, CLOSE_NOT_UTF8);
		return;
	}
	if (json_parse_lenient(&j, (const char *)text, len, JSON_DEPTH_MAX) != ERR_OK) {
		p2p_session_close(s, P2P_END_MESSAGE, CLOSE_NO_JSON);
		return;
	}
	has_head = read_head(&r, j);
	/* What is refused counts too: it is work as well. */
	if (is_too_often(s, now_ms))
		p2p_refuse(s, &r, P2P_ERR_BUSY);
	else if (!has_head)
		p2p_refuse(s, &r, P2P_ERR_BAD_REQUEST);
	else
		handle(s, &r, now_ms);
}
