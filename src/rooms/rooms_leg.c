/*
 * Legs of streams: connections whose first frame says so.
 *
 *	STREAM_CONNECT --fine--> waits, not read --STREAM_ACCEPT of the target--> joined with that leg (net/splice) --> ended
 *	STREAM_ACCEPT  --fine--> joined at once                                         both ended, or an error of one
 *	      \__ anything wrong, 10 s, the target is gone: ERROR, closed
 *
 * What a leg sends behind its first frame belongs to the stream.  What came in the same read is kept; the rest stays in the
 * kernel, because a leg that waits is not read.  Its end is noticed all the same (tcp_pause), and withdraws the offer: nobody can
 * tell whether a peer that has ended its output still listens.
 *
 * A leg has its place in the guard until its stream ends.
 */
#include "rooms/rooms_inside.h"

#include "base/auto.h"
#include "base/metric.h"
#include "os/log.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#define COUNT_MS 1000 /* how often the bytes of open streams are counted */

static struct rooms_peer *waiting_leg(struct rooms_offer *o)
{
	return CONTAINER(o, struct rooms_peer, offer);
}

static void publish(const struct rooms *r)
{
	metric_set(M_ROOMS_OFFERS, (int64_t)r->streams.count);
	metric_set(M_ROOMS_STREAMS, (int64_t)r->streams.open);
}

/* The last words go out before it is closed. */
static void fail(struct rooms_peer *p, uint32_t req, enum rooms_code code)
{
	uint8_t frame[ROOMS_LEG_FRAME_BYTES];

	log_debug("rooms", p->id, "no-stream", "code=%d", (int)code);
	rooms_peer_send(p, frame, rooms_error_build(frame, req, code));
	rooms_give_up(p, ROOMS_END_PEER);
	publish(p->rooms);
}

/* --- Open streams --- */

void rooms_leg_count_bytes(struct rooms *r)
{
	uint64_t bytes = splice_bytes(r->splice);

	metric_add(M_ROOMS_STREAM_BYTES, (int64_t)(bytes - r->stream_bytes));
	r->stream_bytes = bytes;
}

static void on_count(struct timer *timer, int64_t now_ms)
{
	struct rooms *r = CONTAINER(timer, struct rooms, stream_timer);

	rooms_leg_count_bytes(r);
	timer_set(r->loop, timer, now_ms + COUNT_MS);
}

static void on_stream_ended(void *arg, uint64_t bytes, int64_t now_ms)
{
	struct rooms_peer *from = arg;
	struct rooms      *r    = from->rooms;

	(void)now_ms;
	log_debug("rooms", from->id, "stream-ends", "other=%" PRIu64 " bytes=%" PRIu64, from->other->id, bytes);
	rooms_leg_count_bytes(r);
	r->streams.open--;
	if (r->streams.open == 0)
		timer_clear(&r->stream_timer);
	publish(r);
	rooms_peer_free(from->other);
	rooms_peer_free(from);
}

/* What a side is sent first: READY, then what the other has sent already. For free(); NULL when out of memory. */
static uint8_t *first_bytes(size_t *len, uint32_t req, const uint8_t *rest, size_t rest_len)
{
	uint8_t *first = malloc(ROOMS_LEG_FRAME_BYTES + rest_len);

	if (!first)
		return NULL;
	*len = rooms_ready_build(first, req);
	if (rest_len > 0)
		memcpy(first + *len, rest, rest_len);
	*len += rest_len;
	return first;
}

/* Neither belongs to tcp any more; their sockets are splice's. */
static void opened(struct rooms_peer *from, struct rooms_peer *to, size_t rest_bytes, int64_t now_ms)
{
	struct rooms *r = from->rooms;

	from->other = to;
	rooms_peer_drop_input(from);
	metric_add(M_ROOMS_STREAM_BYTES, (int64_t)rest_bytes);
	r->streams.open++;
	if (r->streams.open == 1)
		timer_set(r->loop, &r->stream_timer, now_ms + COUNT_MS);
	publish(r);
	log_debug("rooms", from->id, "stream-opens", "other=%" PRIu64, to->id);
}

/* The side that accepts is the second one: it is the first to be told. */
static void splice_legs(struct rooms_peer *from, struct rooms_peer *to, struct splice_side sides[2], size_t rest_bytes,
                        int64_t now_ms)
{
	struct rooms *r = from->rooms;

	from->tcp = to->tcp = NULL;
	if (splice_begin(r->splice, sides, on_stream_ended, from) == ERR_OK) {
		opened(from, to, rest_bytes, now_ms);
		return;
	}
	log_debug("rooms", from->id, "no-stream", "other=%" PRIu64 " memory", to->id);
	rooms_peer_free(from);
	rooms_peer_free(to);
}

/* from has no offer any more. rest: what came behind the STREAM_ACCEPT, whose req this is. */
static void join(struct rooms_peer *from, uint32_t from_req, struct rooms_peer *to, uint32_t to_req,
                 const uint8_t *rest, size_t rest_len, int64_t now_ms)
{
	struct splice_side       sides[2]   = { { 0 }, { 0 } };
	AUTO(auto_free) uint8_t *first_from = first_bytes(&sides[0].first_len, from_req, rest, rest_len);
	AUTO(auto_free) uint8_t *first_to   = first_bytes(&sides[1].first_len, to_req, from->rest, from->rest_len);

	if (!first_from || !first_to) {
		fail(from, from_req, ROOMS_LIMIT);
		fail(to, to_req, ROOMS_LIMIT);
		return;
	}
	/* It may have ended a moment ago, or be on its way out. */
	sides[0].fd = from->is_leaving ? -1 : tcp_take(from->tcp);
	if (sides[0].fd < 0) {
		fail(to, to_req, ROOMS_NOT_FOUND);
		return;
	}
	sides[1].fd = tcp_take(to->tcp);
	assert(sides[1].fd >= 0); /* bytes of it have just come */
	sides[0].first = first_from;
	sides[1].first = first_to;
	splice_legs(from, to, sides, rest_len + from->rest_len, now_ms);
}

/* --- Legs that wait --- */

static void on_offers(struct timer *timer, int64_t now_ms)
{
	struct rooms       *r = CONTAINER(timer, struct rooms, offers_timer);
	struct rooms_offer *o;
	int64_t             next_ms;

	while ((o = rooms_offers_late(&r->streams, now_ms, &next_ms)))
		fail(waiting_leg(o), o->req, ROOMS_NOT_FOUND);
	if (next_ms > 0)
		timer_set(r->loop, timer, next_ms);
	rooms_settle(r, now_ms);
}

static void wait_for_target(struct rooms_peer *p, const uint8_t *rest, size_t rest_len)
{
	struct rooms *r = p->rooms;

	tcp_pause(p->tcp);
	p->rest = rest_len > 0 ? malloc(rest_len) : NULL;
	if (rest_len > 0 && !p->rest) {
		rooms_offer_withdraw(&r->streams, &p->offer);
		fail(p, p->offer.req, ROOMS_LIMIT);
		return;
	}
	if (rest_len > 0)
		memcpy(p->rest, rest, rest_len);
	p->rest_len = rest_len;
	rooms_peer_count_input(p);
	/* All wait equally long, so one that is set is for one before this one. */
	if (r->offers_timer.at_ms == 0)
		timer_set(r->loop, &r->offers_timer, p->offer.until_ms);
	publish(r);
}

/* Of a frame that was fine: there is such a player. */
static void note_owner(struct rooms_peer *p, uint8_t type, const uint8_t *payload, size_t len)
{
	const struct rooms_player *owner;
	struct rooms_request       r;

	rooms_parse(&r, type, payload, len);
	owner = rooms_find_user(&p->rooms->state, r.user_id);
	assert(owner);
	memcpy(p->title, owner->title, sizeof(p->title));
	memcpy(p->name, owner->name, sizeof(p->name));
}

void rooms_leg_begin(struct rooms_peer *p, uint8_t type, const uint8_t *payload, size_t len, const uint8_t *rest,
                     size_t rest_len, int64_t now_ms)
{
	struct rooms_offer *accepted = NULL;
	uint32_t            req;
	enum rooms_code     code;

	code = rooms_on_leg(&p->rooms->streams, &p->offer, &accepted, &req, type, payload, len, now_ms);
	if (code == ROOMS_FINE)
		note_owner(p, type, payload, len);
	rooms_peer_drop_input(p);
	if (code != ROOMS_FINE)
		fail(p, req, code);
	else if (accepted)
		join(waiting_leg(accepted), accepted->req, p, req, rest, rest_len, now_ms);
	else
		wait_for_target(p, rest, rest_len);
}

void rooms_leg_gone(struct rooms_peer *p)
{
	rooms_offer_withdraw(&p->rooms->streams, &p->offer);
	publish(p->rooms);
}

void rooms_leg_player_gone(struct rooms *r, const struct rooms_player *player, int64_t now_ms)
{
	struct rooms_offer *o;

	(void)now_ms;
	while ((o = rooms_offers_of(&r->streams, player)))
		fail(waiting_leg(o), o->req, ROOMS_NOT_FOUND);
}

void rooms_leg_init(struct rooms *r)
{
	timer_init(&r->offers_timer, on_offers);
	timer_init(&r->stream_timer, on_count);
}
