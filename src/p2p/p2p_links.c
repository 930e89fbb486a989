/*
 * Link groups, and the frames that go through the server: LINK, LINK_ACK, RELAY.
 *
 * What a session makes the server send is charged to it before anything leaves: every receiver counts, and so do the members that
 * are told of new groups.
 */
#include "p2p/p2p_inside.h"

#include "base/auto.h"
#include "base/bytes.h"
#include "base/metric.h"

#define SECOND_MS           1000
#define SEAT_OFFSET         6
#define GROUPS_MEMBER_BYTES 80 /* of one member in p2p.groups, about */

/* Charges, and the queue of a receiver */

static bool charge(struct p2p_session *s, size_t bytes)
{
	const struct limits *l = &s->p2p->conf->limits;

	if (rate_take(&s->sent, (int64_t)bytes, l->p2p_out_rate, SECOND_MS, l->p2p_out_burst,
	              loop_now_ms(s->p2p->loop)))
		return true;
	metric_inc(M_P2P_DROPPED_RATE);
	return false;
}

/* So that nobody can fill the queue of a receiver who reads: he would be closed. */
static bool may_push(struct p2p_session *s, size_t bytes)
{
	const struct limits *l = &s->p2p->conf->limits;

	if (s->is_exempt || rate_take(&s->pushed, (int64_t)bytes, l->p2p_push_rate, SECOND_MS, l->p2p_push_burst,
	                              loop_now_ms(s->p2p->loop)))
		return true;
	metric_inc(M_P2P_DROPPED_RATE);
	return false;
}

/*
 * A slow receiver loses what is not reliable; what is, it has to take, or it is closed. It leaves its room when the connection
 * has ended, not in here, where its members may be walked.
 */
static bool send_frame(struct p2p_session *to, unsigned flags, const uint8_t *frame, size_t len)
{
	const struct limits *l       = &to->p2p->conf->limits;
	size_t               waiting = ws_conn_queued(to->ws);

	if (to->is_leaving || to->is_choked)
		return false;
	if (!(flags & P2P_FLAG_RELIABLE) && waiting > (size_t)l->p2p_drop_waiting) {
		metric_inc(M_P2P_DROPPED_WAITING);
		return false;
	}
	to->is_choked = waiting + len > (size_t)l->p2p_waiting;
	if (to->is_choked)
		ws_close(to->ws);
	else
		ws_send(to->ws, frame, len);
	if (!to->is_choked)
		metric_add(M_P2P_BYTES, (int64_t)len);
	return !to->is_choked;
}

/* When something is due in the room, the timer has to know of it. */
static void look_after(struct p2p *p, const struct p2p_room *room)
{
	int64_t due_ms = p2p_link_due(room);

	if (due_ms && (p->links_timer.at_ms == 0 || due_ms < p->links_timer.at_ms))
		timer_set(p->loop, &p->links_timer, due_ms);
}

/* What the state asks for */

static void on_send(void *arg, struct p2p_member *to, unsigned flags, const uint8_t *frame, size_t len)
{
	enum metric way = M_P2P_LINK_STRAIGHT;

	(void)arg;
	if (flags & P2P_FLAG_PASS_ON)
		way = M_P2P_LINK_LEADER;
	else if (flags & P2P_FLAG_AGAIN)
		way = M_P2P_LINK_AGAIN;
	if (send_frame(p2p_session_of(to), flags, frame, len))
		metric_inc(way);
}

static bool on_charge(void *arg, struct p2p_member *sender, size_t bytes)
{
	struct p2p_session *s         = p2p_session_of(sender);
	size_t              receivers = sender->room->count - 1; /* there is one: else nothing is charged */

	(void)arg;
	return may_push(s, bytes / receivers) && charge(s, bytes);
}

static void on_done(void *arg, struct p2p_member *sender, uint32_t number, const char (*missing)[P2P_UID_BYTES],
                    size_t missing_count)
{
	struct json *j    = p2p_message("link.done");
	struct json *list = json_array_new();

	(void)arg;
	metric_add(M_P2P_LINK_MISSING, (int64_t)missing_count);
	for (size_t i = 0; list && i < missing_count; i++)
		json_add_text(list, missing[i]);
	if (j) {
		json_put_int(j, "msg", number);
		json_put_json(j, "missing", list);
	} else {
		json_free(list);
	}
	p2p_tell(p2p_session_of(sender), j);
}

static void on_timer(struct timer *timer, int64_t now_ms)
{
	struct p2p *p = CONTAINER(timer, struct p2p, links_timer);

	for (struct list *at = p->rooms.rooms.next; at != &p->rooms.rooms; at = at->next) {
		struct p2p_room *room = CONTAINER(at, struct p2p_room, in_rooms);

		p2p_link_tick(room, &p->link_host, now_ms);
		look_after(p, room);
	}
}

void p2p_links_init(struct p2p *p)
{
	p->link_host = (struct p2p_link_host){ .arg = p, .send = on_send, .charge = on_charge, .done = on_done };
	timer_init(&p->links_timer, on_timer);
}

/* Frames */

/* link.sent, or relay.sent for a reliable RELAY frame that goes nowhere. */
static struct json *sent(const char *op, const struct p2p_frame *f, enum p2p_error e)
{
	struct json *j = p2p_message(op);

	if (!j)
		return NULL;
	json_put_int(j, "ref", f->number);
	json_put_bool(j, "ok", e == P2P_ERR_NONE);
	if (e != P2P_ERR_NONE)
		p2p_put_error(j, e);
	return j;
}

static void tell_sent(struct p2p_session *s, const struct p2p_frame *f, const struct p2p_link_sent *what)
{
	struct json *j = sent("link.sent", f, P2P_ERR_NONE);

	if (j) {
		json_put_int(j, "msg", what->number);
		json_put_int(j, "leaders", (int64_t)what->leaders);
		json_put_int(j, "straight", (int64_t)what->straight);
		json_put_int(j, "receivers", (int64_t)what->receivers);
	}
	p2p_tell(s, j);
}

static enum p2p_error link_error(enum p2p_link_says says)
{
	static const enum p2p_error errors[] = {
		[P2P_LINK_FINE] = P2P_ERR_NONE, [P2P_LINK_TOO_LARGE] = P2P_ERR_TOO_LARGE, [P2P_LINK_OFF] = P2P_ERR_OFF,
		[P2P_LINK_BUSY] = P2P_ERR_BUSY, [P2P_LINK_NOMEM] = P2P_ERR_NO_MEMORY,
	};

	return errors[says];
}

static enum p2p_error send_link(struct p2p_link_sent *out, struct p2p_session *s, const struct p2p_frame *f,
                                int64_t now_ms)
{
	struct p2p *p = s->p2p;

	if (!s->member.room)
		return P2P_ERR_NOT_IN_ROOM;
	if (f->seat != P2P_SEAT_ALL)
		return P2P_ERR_BAD_REQUEST;
	return link_error(p2p_link_send(out, &s->member, f, &p->link_host, &p->conf->limits, now_ms));
}

static void on_link(struct p2p_session *s, const struct p2p_frame *f, int64_t now_ms)
{
	struct p2p_link_sent what;
	enum p2p_error       e = send_link(&what, s, f, now_ms);

	if (e != P2P_ERR_NONE) {
		p2p_tell(s, sent("link.sent", f, e));
		return;
	}
	metric_inc(M_P2P_LINK_MESSAGES);
	look_after(s->p2p, s->member.room);
	tell_sent(s, f, &what);
	if (what.receivers == 0 && f->flags & P2P_FLAG_RELIABLE)
		on_done(s->p2p, &s->member, what.number, NULL, 0);
}

static void on_ack(struct p2p_session *s, const struct p2p_frame *f)
{
	if (s->member.room)
		p2p_link_ack(&s->member, f->content, f->content_len, &s->p2p->link_host);
}

/* The receiver of a RELAY frame; NULL, with the reason, when there is none. */
static struct p2p_member *relay_to(enum p2p_error *why, struct p2p_session *s, const struct p2p_frame *f)
{
	struct p2p_member *to = s->member.room ? p2p_room_by_seat(s->member.room, f->seat) : NULL;

	*why = P2P_ERR_NONE;
	if (!s->member.room)
		*why = P2P_ERR_NOT_IN_ROOM;
	else if (!to)
		*why = P2P_ERR_NO_MEMBER;
	else if (f->content_len > P2P_LINK_BYTES_MAX)
		*why = P2P_ERR_TOO_LARGE;
	else if (!may_push(s, P2P_FRAME_HEAD_BYTES + f->content_len) ||
	         !charge(s, P2P_FRAME_HEAD_BYTES + f->content_len))
		*why = P2P_ERR_BUSY;
	if (!to)
		metric_inc(M_P2P_DROPPED_GONE);
	return *why == P2P_ERR_NONE ? to : NULL;
}

/* The frame as it came, but for the seat. Who counts on its arrival hears when there will be none. */
static void on_relay(struct p2p_session *s, const struct p2p_frame *f, uint8_t *bytes, size_t len)
{
	enum p2p_error     why;
	struct p2p_member *to = relay_to(&why, s, f);
	struct wr          w  = wr_over(bytes + SEAT_OFFSET, 2);

	if (!to) {
		if (f->flags & P2P_FLAG_RELIABLE)
			p2p_tell(s, sent("relay.sent", f, why));
		return;
	}
	wr_be(&w, s->member.seat, 2);
	if (send_frame(p2p_session_of(to), f->flags, bytes, len))
		metric_inc(M_P2P_RELAYED);
}

void p2p_on_frame(struct p2p_session *s, uint8_t *bytes, size_t len, int64_t now_ms)
{
	struct p2p_frame f;

	if (!p2p_frame_parse(&f, bytes, len))
		return;
	if (f.kind == P2P_LINK)
		on_link(s, &f, now_ms);
	else if (f.kind == P2P_LINK_ACK)
		on_ack(s, &f);
	else if (f.kind == P2P_RELAY)
		on_relay(s, &f, bytes, len);
}

/* Groups */

static struct json *user_of(const struct p2p_member *m)
{
	struct json *j = json_object_new();

	if (!j)
		return NULL;
	json_put_text(j, "uid", m->uid);
	json_put_int(j, "seat", m->seat);
	if (m->has_latency)
		json_put_int(j, "latency", m->latency_ms);
	else
		json_put_null(j, "latency");
	json_put_int(j, "nat", (int64_t)m->nat);
	return j;
}

/* One of the lists of a group: of ids, or of users. */
static struct json *list_of(const struct p2p_group *g, bool of_users)
{
	struct json *list = json_array_new();

	for (size_t i = 0; list && i < g->count; i++) {
		if (of_users)
			json_add_json(list, user_of(g->members[i]));
		else
			json_add_text(list, g->members[i]->uid);
	}
	return list;
}

/* room NULL: both lists are empty. */
static struct json *lists_of(const struct p2p_room *room, bool of_users)
{
	struct json *lists = json_array_new();

	for (struct list *at = room ? room->groups.next : NULL; lists && room && at != &room->groups; at = at->next)
		json_add_json(lists, list_of(CONTAINER(at, struct p2p_group, in_room), of_users));
	return lists;
}

static struct json *leaders_of(const struct p2p_room *room)
{
	struct json *list = json_array_new();

	for (struct list *at = room->groups.next; list && at != &room->groups; at = at->next) {
		const struct p2p_group *g = CONTAINER(at, struct p2p_group, in_room);

		if (g->leader)
			json_add_text(list, g->leader->uid);
		else
			json_add_null(list);
	}
	return list;
}

static struct json *put_groups(struct json *j, const struct p2p_room *room)
{
	if (!j)
		return NULL;
	json_put_int(j, "gen", room->gen);
	json_put_json(j, "ids", lists_of(room, false));
	json_put_json(j, "users", lists_of(room, true));
	json_put_json(j, "leaders", leaders_of(room));
	return j;
}

static void tell_groups(struct p2p_room *room, const struct p2p_session *but)
{
	p2p_tell_room(room, but, put_groups(p2p_message("p2p.groups"), room));
}

void p2p_tell_groups(struct p2p_room *room)
{
	tell_groups(room, NULL);
}

static void refuse_links(struct p2p_session *s, const struct p2p_request *r, enum p2p_error e)
{
	struct json *j = p2p_refusal(r, e);

	if (j) {
		json_put_json(j, "ids", lists_of(NULL, false));
		json_put_json(j, "users", lists_of(NULL, true));
	}
	p2p_tell(s, j);
}

static enum p2p_error read_max(size_t *out, const struct p2p_session *s, const struct p2p_request *r)
{
	int64_t max = s->p2p->conf->limits.p2p_link_max;

	if (json_get_int(&max, r->json, "max") == ERR_MALFORMED)
		return P2P_ERR_BAD_REQUEST;
	if (max < 1 || max > P2P_MEMBERS_MAX)
		return P2P_ERR_BAD_MAX;
	*out = (size_t)max;
	return P2P_ERR_NONE;
}

static enum p2p_error make_groups(struct p2p_session *s, const struct p2p_request *r)
{
	struct p2p_room *room = s->member.room;
	size_t           max;
	enum p2p_error   e = p2p_own_room(s, r);

	if (e == P2P_ERR_NONE)
		e = read_max(&max, s, r);
	if (e != P2P_ERR_NONE)
		return e;
	if (!charge(s, room->count * room->count * GROUPS_MEMBER_BYTES))
		return P2P_ERR_BUSY;
	return p2p_groups_make(room, max) ? P2P_ERR_NONE : P2P_ERR_NO_MEMORY;
}

void p2p_on_links(struct p2p_session *s, const struct p2p_request *r, int64_t now_ms)
{
	enum p2p_error e = make_groups(s, r);

	(void)now_ms;
	if (e != P2P_ERR_NONE) {
		refuse_links(s, r, e);
		return;
	}
	p2p_tell(s, put_groups(p2p_answer(r), s->member.room));
	p2p_tell_groups(s->member.room);
}

/* Changes */

void p2p_links_look(struct p2p_session *s, int64_t now_ms)
{
	struct p2p_group  *g   = s->member.group;
	struct p2p_member *old = g ? g->leader : NULL;

	(void)now_ms;
	if (!old || !p2p_groups_look(g))
		return;
	p2p_link_replaced(old, &s->p2p->link_host);
	p2p_tell_groups(s->member.room);
}

void p2p_links_leave(struct p2p_session *s, int64_t now_ms)
{
	struct p2p_member *m    = &s->member;
	struct p2p_room   *room = m->room;
	struct p2p_group  *g    = m->group;
	struct p2p_member *old  = g ? g->leader : NULL;

	(void)now_ms;
	p2p_link_leave(m, &s->p2p->link_host);
	if (p2p_groups_leave(m)) {
		/* A group with a leader has two members or more, so that it is still there. */
		if (old && old != m && g->leader != old)
			p2p_link_replaced(old, &s->p2p->link_host);
		tell_groups(room, s);
	}
	if (room->count == 1)
		p2p_link_clear(room);
}
