/*
 * What sessions are told, in JSON.
 */
#include "p2p/p2p_inside.h"

#include "base/auto.h"
#include "base/metric.h"

#include <string.h>

static const struct error {
	const char *word, *people;
} errors[] = {
#define P2P_ERROR(id, word, people) [P2P_ERR_##id] = { word, people },
#include "p2p/p2p_error.def"
#undef P2P_ERROR
};

/*
 * Without memory nothing can be said, and a client that waits for it is better told by the end. It leaves its room when it is
 * gone, not in here: whoever tells a whole room walks through its members.
 */
static void send_text(struct p2p_session *s, const char *text)
{
	if (s->is_leaving)
		return;
	if (text)
		ws_send_text(s->ws, text, strlen(text));
	else
		ws_close(s->ws);
}

void p2p_tell(struct p2p_session *s, struct json *message)
{
	AUTO(json_freep) struct json *j    = message;
	AUTO(auto_free) char         *text = j ? json_text(j) : NULL;

	send_text(s, text);
}

void p2p_tell_room(const struct p2p_room *room, const struct p2p_session *but, struct json *message)
{
	AUTO(json_freep) struct json *j    = message;
	AUTO(auto_free) char         *text = j ? json_text(j) : NULL;

	for (size_t i = 0; i < room->count; i++) {
		struct p2p_session *s = p2p_session_of(room->members[i]);

		if (s != but)
			send_text(s, text);
	}
}

/* op, id and ok stand first, then what else there is to say. */
static struct json *begin(const struct p2p_request *r, bool is_ok)
{
	struct json *j = json_object_new();

	if (!j)
		return NULL;
	json_put_text(j, "op", r->op);
	json_put_int(j, "id", r->id);
	json_put_bool(j, "ok", is_ok);
	return j;
}

struct json *p2p_answer(const struct p2p_request *r)
{
	metric_inc(M_P2P_REQUESTS);
	return begin(r, true);
}

void p2p_put_error(struct json *j, enum p2p_error e)
{
	json_put_text(j, "error", errors[e].word);
	json_put_text(j, "message", errors[e].people);
}

struct json *p2p_refusal(const struct p2p_request *r, enum p2p_error e)
{
	struct json *j = begin(r, false);

	metric_inc(M_P2P_REFUSED);
	if (!j)
		return NULL;
	p2p_put_error(j, e);
	return j;
}

void p2p_done(struct p2p_session *s, const struct p2p_request *r)
{
	p2p_tell(s, p2p_answer(r));
}

void p2p_refuse(struct p2p_session *s, const struct p2p_request *r, enum p2p_error e)
{
	p2p_tell(s, p2p_refusal(r, e));
}

struct json *p2p_message(const char *op)
{
	struct json *j = json_object_new();

	if (j)
		json_put_text(j, "op", op);
	return j;
}
