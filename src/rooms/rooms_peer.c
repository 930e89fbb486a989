/*
 * Connections of the rooms: from accept, by way of frames in and frames out, to the end of each.
 *
 * A connection is a player's from the start. Its first frame may say that it is a leg of a stream: then the player, of whom
 * nobody has heard yet, leaves again.
 */
#include "rooms/rooms_inside.h"

#include "base/auto.h"
#include "base/metric.h"
#include "os/clock.h"

#include <assert.h>
#include <stdlib.h>

#define SECOND_MS 1000
#define MINUTE_MS 60000

/* What a message costs besides its payload: of that 16 bytes are not data, which makes 64. */
#define MESSAGE_EXTRA_BYTES 48

/* What is made in one turn leaves in one write; but where so much waits, not all of it waits for the end of the turn. */
#define FLUSH_BYTES 65536

/* About 75 s until a dead peer is noticed: of streams, which may be silent for as long as they like. */
#define KEEPALIVE_IDLE_S     30
#define KEEPALIVE_INTERVAL_S 5
#define KEEPALIVE_PROBES     9

void rooms_publish(const struct rooms *r)
{
	metric_set(M_ROOMS_CONNECTIONS, (int64_t)r->state.player_count);
	metric_set(M_ROOMS_PLAYERS, (int64_t)r->state.named_count);
	metric_set(M_ROOMS_OPEN, (int64_t)r->state.room_count);
	metric_set(M_ROOMS_BOARDS, (int64_t)rooms_boards_count(r->boards));
	metric_set(M_ROOMS_ROWS, (int64_t)rooms_boards_rows(r->boards));
}

/* Input that waits: a frame for its rest, what came behind a leg's first frame for the stream, what is held */

void rooms_peer_count_input(struct rooms_peer *p)
{
	struct rooms *r     = p->rooms;
	size_t        bytes = p->reader.cap + p->rest_len;

	r->partial_bytes = r->partial_bytes - p->partial + bytes;
	p->partial       = bytes;
	metric_set(M_ROOMS_PARTIAL_BYTES, (int64_t)r->partial_bytes);
}

void rooms_peer_drop_input(struct rooms_peer *p)
{
	rooms_reader_fini(&p->reader);
	free(TAKE(p->rest));
	p->rest_len = 0;
	rooms_peer_count_input(p);
}

static struct rooms_peer *largest_input(const struct rooms *r)
{
	struct rooms_peer *most = NULL;

	for (struct list *at = r->peers.next; at != &r->peers; at = at->next) {
		struct rooms_peer *p = CONTAINER(at, struct rooms_peer, in_peers);

		if (!most || p->partial > most->partial)
			most = p;
	}
	return most;
}

static void keep_input_budget(struct rooms *r)
{
	while (r->partial_bytes > (size_t)r->conf->limits.rooms_input_total) {
		struct rooms_peer *p = largest_input(r);

		rooms_give_up(p, ROOMS_END_INPUT_BUDGET);
		rooms_peer_drop_input(p);
	}
}

/* Ends */

/* Those who may well be there and read: they are told by a FIN, after what waits for them. */
static bool is_gentle(enum rooms_end why)
{
	return why < ROOMS_END_OUTPUT || why >= ROOMS_END_SERVER;
}

void rooms_give_up(struct rooms_peer *p, enum rooms_end why)
{
	if (p->is_leaving)
		return;
	p->is_leaving = true;
	p->end        = why;
	timer_clear(&p->timer);
	list_append(&p->rooms->leaving, &p->in_leaving);
	if (!is_gentle(why))
		rooms_out_clear(p);
}

/* The player leaves everything, and all who were with him are told. */
static void take_out(struct rooms_peer *p, int64_t now_ms)
{
	struct rooms *r = p->rooms;

	p->is_out = true;
	rooms_leave(&r->state, &p->player);
	rooms_leg_player_gone(r, &p->player, now_ms);
	rooms_log_ended(&r->log, p);
	rooms_publish(r);
}

void rooms_settle(struct rooms *r, int64_t now_ms)
{
	struct list *first;

	while ((first = list_take_first(&r->leaving))) {
		struct rooms_peer *p = CONTAINER(first, struct rooms_peer, in_leaving);

		if (!p->is_out)
			take_out(p, now_ms);
		rooms_peer_drop_input(p);
		if (p->tcp && is_gentle(p->end))
			tcp_close(p->tcp);
		else if (p->tcp)
			tcp_reset(p->tcp);
	}
}

void rooms_peer_free(struct rooms_peer *p)
{
	struct rooms *r = p->rooms;

	timer_clear(&p->timer);
	rooms_out_clear(p);
	rooms_peer_drop_input(p);
	list_remove(&p->in_peers);
	list_remove(&p->in_leaving);
	list_remove(&p->in_going_on);
	rooms_guard_leave(r->guard, &p->addr, p->is_exempt);
	pool_give(&r->peer_pool, p);
}

/* The clock of silence: it is only looked at, and starts anew with each frame. */

static int64_t silent_ms(const struct rooms_peer *p)
{
	const struct limits *l = &p->rooms->conf->limits;

	return p->heard_ms + (p->player.has_hello ? l->rooms_silence_ms : l->rooms_hello_ms);
}

static void on_silence(struct timer *timer, int64_t now_ms)
{
	struct rooms_peer *p = CONTAINER(timer, struct rooms_peer, timer);

	if (now_ms < silent_ms(p)) {
		timer_set(p->rooms->loop, timer, silent_ms(p));
		return;
	}
	rooms_give_up(p, p->player.has_hello ? ROOMS_END_SILENT : ROOMS_END_NO_HELLO);
	rooms_settle(p->rooms, now_ms);
}

/* Frames out */

void rooms_peer_send(struct rooms_peer *p, const void *frame, size_t len)
{
	enum rooms_end why;

	if (p->is_leaving || !p->tcp)
		return;
	rooms_log_sent(p, frame, len);
	if (p->out.bytes + len > FLUSH_BYTES)
		tcp_flush(p->tcp);
	if (rooms_out_put(p, frame, len, &why))
		tcp_wake(p->tcp);
	else
		rooms_give_up(p, why);
}

static void send_error(struct rooms_peer *p, const uint8_t *payload, enum rooms_code code)
{
	struct rd r = rd_over(payload, ROOMS_REQ_BYTES);
	uint8_t   frame[ROOMS_LEG_FRAME_BYTES];

	rooms_peer_send(p, frame, rooms_error_build(frame, (uint32_t)rd_be(&r, ROOMS_REQ_BYTES), code));
}

/* Frames in */

/* What others are sent: so much that they can read it, if they read at all. */
static bool is_too_much(struct rooms_peer *p, size_t len, int64_t now_ms)
{
	const struct limits *l = &p->rooms->conf->limits;

	return !rate_take(&p->messages, (int64_t)len + MESSAGE_EXTRA_BYTES, l->rooms_message_rate, SECOND_MS,
	                  l->rooms_message_burst, now_ms);
}

static bool is_too_often(struct rooms_peer *p, uint8_t type, size_t len, int64_t now_ms)
{
	const struct limits *l = &p->rooms->conf->limits;

	if (p->is_exempt)
		return false;
	if (type == ROOMS_HELLO)
		return !rate_take(&p->hellos, 1, l->rooms_hellos, MINUTE_MS, l->rooms_hellos, now_ms);
	if (!p->player.has_hello)
		return false;
	if (type == ROOMS_RECORD_SCORE)
		return !rate_take(&p->scores, 1, l->rooms_score_rate, SECOND_MS, l->rooms_score_burst, now_ms);
	return (type == ROOMS_ROOM_MESSAGE || type == ROOMS_SET_ROOM_DATA) && is_too_much(p, len, now_ms);
}

static void on_hello(struct rooms_peer *p)
{
	/* His patience is another one now; usually the timer finds that out by itself. */
	if (silent_ms(p) < p->timer.at_ms)
		timer_set(p->rooms->loop, &p->timer, silent_ms(p));
	if (!p->is_named)
		rooms_log_in(p);
	p->is_named = true;
	rooms_log_hello(&p->rooms->log, p);
}

static void on_request(struct rooms_peer *p, uint8_t type, const uint8_t *payload, size_t len, int64_t now_ms)
{
	struct rooms    *r   = p->rooms;
	struct rooms_now now = { .mono_ms = now_ms, .wall_ms = clock_wall_ms() };

	metric_inc(M_ROOMS_REQUESTS);
	p->replied = 0;
	if (is_too_often(p, type, len, now_ms))
		send_error(p, payload, ROOMS_LIMIT);
	else
		rooms_on_frame(&r->state, &p->player, type, payload, len, now);
	if (p->replied == ROOMS_HELLO_ACK && !p->is_leaving)
		on_hello(p);
	rooms_log_request(p, type, payload, len);
	rooms_publish(r);
	rooms_settle(r, now_ms);
}

static bool is_of_leg(uint8_t type)
{
	return type == ROOMS_STREAM_CONNECT || type == ROOMS_STREAM_ACCEPT;
}

static void turn_into_leg(struct rooms_peer *p)
{
	struct rooms *r = p->rooms;

	p->role   = ROOMS_ROLE_LEG;
	p->is_out = true;
	timer_clear(&p->timer);
	rooms_leave(&r->state, &p->player);
	rooms_publish(r);
}

void rooms_peer_take(struct rooms_peer *p, const uint8_t *bytes, size_t len, int64_t now_ms)
{
	struct rooms  *r  = p->rooms;
	const uint8_t *at = bytes, *payload;
	uint8_t        type;
	size_t         payload_len;

	while (!p->is_leaving) {
		bool            is_first = p->is_first_frame;
		enum rooms_read read;

		if (rooms_hold_is_due(p)) {
			rooms_hold(p, at, (size_t)(bytes + len - at));
			break;
		}
		read = rooms_reader_next(&p->reader, &at, bytes + len, &type, &payload, &payload_len);
		if (read == ROOMS_READ_MORE)
			break;
		if (read == ROOMS_READ_NOMEM) {
			rooms_give_up(p, ROOMS_END_MEMORY);
			break;
		}
		p->is_first_frame = false;
		p->heard_ms       = now_ms;
		if (is_first && is_of_leg(type)) {
			turn_into_leg(p);
			rooms_leg_begin(p, type, payload, payload_len, at, (size_t)(bytes + len - at), now_ms);
			keep_input_budget(r);
			rooms_settle(r, now_ms);
			return;
		}
		if (payload_len < ROOMS_REQ_BYTES)
			metric_inc(M_ROOMS_IGNORED);
		else
			on_request(p, type, payload, payload_len, now_ms);
	}
	rooms_peer_count_input(p);
	keep_input_budget(r);
	rooms_settle(r, now_ms);
}

/* What tcp says of them */

static void on_bytes(void *data, uint8_t *bytes, size_t len, int64_t now_ms)
{
	struct rooms_peer *p = data;

	assert(p->role == ROOMS_ROLE_PLAYER && !p->is_held); /* a leg that waits is not read either */
	rooms_peer_take(p, bytes, len, now_ms);
}

static enum rooms_refusal refusal_of(enum rooms_guard_says says)
{
	return says == ROOMS_GUARD_TOTAL  ? ROOMS_REFUSED_TOTAL
	       : says == ROOMS_GUARD_RATE ? ROOMS_REFUSED_RATE
	                                  : ROOMS_REFUSED_ADDRESS;
}

static struct rooms_peer *peer_new(struct rooms *r, struct tcp_conn *c, int64_t now_ms)
{
	struct rooms_peer  *p = pool_take(&r->peer_pool);
	struct rooms_origin from;

	if (!p)
		return NULL;
	rooms_origin_of(&from, tcp_conn_peer(c), tcp_conn_is_exempt(c));
	if (!rooms_enter(&r->state, &p->player, &from)) {
		pool_give(&r->peer_pool, p);
		return NULL;
	}
	p->rooms          = r;
	p->tcp            = c;
	p->id             = tcp_conn_id(c);
	p->addr           = *tcp_conn_peer(c);
	p->is_exempt      = tcp_conn_is_exempt(c);
	p->is_first_frame = true;
	p->heard_ms       = now_ms;
	p->since_ms       = now_ms;
	list_init(&p->in_waiting);
	list_init(&p->in_leaving);
	list_init(&p->in_going_on);
	list_append(&r->peers, &p->in_peers);
	timer_init(&p->timer, on_silence);
	timer_set(r->loop, &p->timer, silent_ms(p));
	return p;
}

static void *on_accepted(void *part, struct tcp_conn *c, int64_t now_ms)
{
	struct rooms         *r         = part;
	const struct addr    *from      = tcp_conn_peer(c);
	bool                  is_exempt = tcp_conn_is_exempt(c);
	enum rooms_guard_says says;
	struct rooms_peer    *p;

	if (r->is_stopping)
		return NULL;
	says = rooms_guard_enter(r->guard, from, is_exempt, now_ms);
	if (says != ROOMS_GUARD_FINE) {
		rooms_log_refused(&r->log, refusal_of(says));
		return NULL;
	}
	p = peer_new(r, c, now_ms);
	if (!p) {
		rooms_guard_leave(r->guard, from, is_exempt);
		rooms_log_refused(&r->log, ROOMS_REFUSED_MEMORY);
		return NULL;
	}
	metric_inc(M_ROOMS_ACCEPTED);
	rooms_publish(r);
	return p;
}

static size_t fetch(void *data, struct iovec *pieces, size_t count)
{
	struct rooms_peer *p = data;

	return chain_pieces(&p->out, pieces, count);
}

static void on_sent(void *data, size_t bytes, int64_t now_ms)
{
	(void)now_ms;
	rooms_out_sent(data, bytes);
	rooms_hold_sent(data);
}

/* He asks nothing more, but may wait for answers to what he has asked. */
static void on_ended(void *data, int64_t now_ms)
{
	struct rooms_peer *p = data;

	rooms_give_up(p, ROOMS_END_PEER);
	rooms_settle(p->rooms, now_ms);
}

/* A leg that waits is over. A player who is held has asked more than was handled yet, and may want all the answers. */
static void on_ended_unread(void *data, int64_t now_ms)
{
	struct rooms_peer *p = data;

	if (p->role == ROOMS_ROLE_LEG)
		on_ended(p, now_ms);
}

static enum rooms_end end_of(enum tcp_end why)
{
	return why == TCP_END_STOPPED ? ROOMS_END_SERVER : why == TCP_END_BANNED ? ROOMS_END_BANNED : ROOMS_END_PEER;
}

static void on_closed(void *data, enum tcp_end why, int64_t now_ms)
{
	struct rooms_peer *p = data;
	struct rooms      *r = p->rooms;

	p->tcp = NULL;
	if (p->role == ROOMS_ROLE_LEG)
		rooms_leg_gone(p);
	else
		rooms_give_up(p, end_of(why));
	rooms_settle(r, now_ms);
	rooms_peer_free(p);
}

void rooms_peer_init(struct rooms *r)
{
	r->tcp_handler = (struct tcp_handler){ .part         = r,
		                               .accepted     = on_accepted,
		                               .bytes        = on_bytes,
		                               .fetch        = fetch,
		                               .sent         = on_sent,
		                               .ended        = on_ended,
		                               .ended_unread = on_ended_unread,
		                               .closed       = on_closed };
	/*
	 * SO_SNDBUF stays the system's, for the sake of streams; that a player who does not read costs no more in the kernel
	 * is the doing of TCP_NOTSENT_LOWAT (net/accept).
	 */
	r->tcp_listen = (struct tcp_listen){ .handler              = &r->tcp_handler,
		                             .banned               = M_BAN_REFUSED_ROOMS,
		                             .keepalive_idle_s     = KEEPALIVE_IDLE_S,
		                             .keepalive_interval_s = KEEPALIVE_INTERVAL_S,
		                             .keepalive_probes     = KEEPALIVE_PROBES };
}

const struct tcp_listen *rooms_listen(const struct rooms *r)
{
	return &r->tcp_listen;
}
