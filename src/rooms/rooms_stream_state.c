#include "rooms/rooms_stream_state.h"

#include "base/auto.h"
#include "rooms/rooms_state_inside.h"

#include <assert.h>

void rooms_streams_init(struct rooms_streams *s, struct rooms_state *rooms, uint64_t seed)
{
	*s = (struct rooms_streams){ .rooms = rooms, .next_id = 1 };
	map_init(&s->by_id, sizeof(uint32_t), seed);
	list_init(&s->offers);
}

void rooms_streams_fini(struct rooms_streams *s)
{
	assert(s->count == 0);
	map_fini(&s->by_id);
}

/* As with users: after 2^32 they begin anew, past those that stand. */
static uint32_t next_id(struct rooms_streams *s)
{
	uint32_t id = s->next_id;

	while (id == 0 || map_get(&s->by_id, &id))
		id++;
	s->next_id = id + 1;
	return id;
}

/* The player whom the leg says it belongs to. */
static struct rooms_player *find_own(const struct rooms_streams *s, const struct rooms_request *r)
{
	struct rooms_player *p = rooms_find_user(s->rooms, r->user_id);

	return p && p->has_hello && p->token == r->token ? p : NULL;
}

static void send_offer(struct rooms_state *rooms, struct rooms_player *to, const struct rooms_offer *o, uint16_t vport)
{
	struct rooms_letter l = rooms_letter_begin(rooms, ROOMS_STREAM_OFFER);

	wr_be(&l.w, o->id, 4);
	wr_be(&l.w, o->from, 4);
	wr_be(&l.w, vport, 2);
	rooms_letter_send(rooms, &l, to);
}

static enum rooms_code on_connect(struct rooms_streams *s, struct rooms_offer *mine, struct rooms_player *p,
                                  const struct rooms_request *r, int64_t now_ms)
{
	struct rooms_player *to = rooms_find_user(s->rooms, r->to_user);

	if (!to || !rooms_share_room(p, to))
		return ROOMS_NOT_FOUND;
	if (p->offers >= (size_t)s->rooms->limits->rooms_offers_per_player ||
	    s->open + s->count >= (size_t)s->rooms->limits->rooms_streams)
		return ROOMS_LIMIT;
	*mine = (struct rooms_offer){ .id       = next_id(s),
		                      .req      = r->req,
		                      .from     = p->user_id,
		                      .to       = to->user_id,
		                      .until_ms = now_ms + s->rooms->limits->rooms_offer_ms };
	if (map_put(&s->by_id, &mine->id, mine) != ERR_OK) {
		mine->id = 0;
		return ROOMS_LIMIT;
	}
	list_append(&s->offers, &mine->in_offers);
	s->count++;
	p->offers++;
	send_offer(s->rooms, to, mine, r->vport);
	return ROOMS_FINE;
}

/* Its number is dead from here on. */
static void take_out(struct rooms_streams *s, struct rooms_offer *o)
{
	struct rooms_player *from = rooms_find_user(s->rooms, o->from);

	map_remove(&s->by_id, &o->id);
	list_remove(&o->in_offers);
	s->count--;
	if (from)
		from->offers--;
	o->id = 0;
}

static enum rooms_code on_accept(struct rooms_streams *s, struct rooms_offer **accepted, const struct rooms_player *p,
                                 const struct rooms_request *r, int64_t now_ms)
{
	struct rooms_offer *o = map_get(&s->by_id, &r->stream_id);

	/* One whose time is up may stand a moment longer, until somebody asks for those that are late. */
	if (!o || o->to != p->user_id || now_ms >= o->until_ms)
		return ROOMS_NOT_FOUND;
	take_out(s, o);
	*accepted = o;
	return ROOMS_FINE;
}

enum rooms_code rooms_on_leg(struct rooms_streams *s, struct rooms_offer *mine, struct rooms_offer **accepted,
                             uint32_t *req, uint8_t type, const uint8_t *payload, size_t len, int64_t now_ms)
{
	struct rooms_request r;
	enum rooms_code      code = rooms_parse(&r, type, payload, len);

	*req      = r.req;
	*accepted = NULL;
	if (code == ROOMS_BAD)
		return ROOMS_BAD;
	if (!s->rooms->relays)
		return ROOMS_NO_RELAY;

	struct rooms_player *p = find_own(s, &r);

	if (code != ROOMS_FINE || !p)
		return ROOMS_NOT_FOUND;
	if (type == ROOMS_STREAM_CONNECT)
		return on_connect(s, mine, p, &r, now_ms);
	return on_accept(s, accepted, p, &r, now_ms);
}

void rooms_offer_withdraw(struct rooms_streams *s, struct rooms_offer *o)
{
	if (o->id != 0)
		take_out(s, o);
}

struct rooms_offer *rooms_offers_late(struct rooms_streams *s, int64_t now_ms, int64_t *next_ms)
{
	*next_ms = 0;
	if (list_is_empty(&s->offers))
		return NULL;

	struct rooms_offer *first = CONTAINER(s->offers.next, struct rooms_offer, in_offers);

	if (now_ms < first->until_ms) {
		*next_ms = first->until_ms;
		return NULL;
	}
	take_out(s, first);
	return first;
}

struct rooms_offer *rooms_offers_of(struct rooms_streams *s, const struct rooms_player *gone)
{
	for (struct list *at = s->offers.next; at != &s->offers; at = at->next) {
		struct rooms_offer *o = CONTAINER(at, struct rooms_offer, in_offers);

		if (o->to == gone->user_id) {
			take_out(s, o);
			return o;
		}
	}
	return NULL;
}

size_t rooms_ready_build(uint8_t out[ROOMS_LEG_FRAME_BYTES], uint32_t req)
{
	struct wr w  = wr_over(out, ROOMS_LEG_FRAME_BYTES);
	size_t    at = rooms_frame_begin(&w, ROOMS_STREAM_READY);

	wr_be(&w, req, ROOMS_REQ_BYTES);
	rooms_frame_end(&w, at);
	return wr_len(&w);
}

size_t rooms_error_build(uint8_t out[ROOMS_LEG_FRAME_BYTES], uint32_t req, enum rooms_code code)
{
	struct wr w  = wr_over(out, ROOMS_LEG_FRAME_BYTES);
	size_t    at = rooms_frame_begin(&w, ROOMS_ERROR);

	wr_be(&w, req, ROOMS_REQ_BYTES);
	wr_be(&w, (uint32_t)code, 4);
	rooms_frame_end(&w, at);
	return wr_len(&w);
}
