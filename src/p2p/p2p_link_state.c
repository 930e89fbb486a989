/*
 * Of a reliable message is kept who has to confirm it, by seats, and the frame for a repeat when a leader has it. Members are
 * looked up when they are needed, so that one who has left is nowhere.
 */
#include "p2p/p2p_link_state.h"

#include "base/auto.h"
#include "base/bytes.h"
#include "base/mem.h"

#include <string.h>

#define OVER_MS            5000 /* from sending to link.done at the latest */
#define AGAIN_MS           100  /* to a repeat, beside two round trips */
#define AGAIN_MIN_MS       300
#define AGAIN_MAX_MS       2000
#define LATENCY_MISSING_MS 200
#define NOBODY             P2P_SEAT_ALL
#define NUMBER_BYTES       4
#define SEAT_BYTES         2

/* With as many seats as fit into a group, and a message that goes through leaders. */
#define PASS_ON_FRAME_MAX (P2P_FRAME_HEAD_BYTES + 1 + P2P_MEMBERS_MAX * SEAT_BYTES + P2P_LINK_LEADERS_BYTES)

struct receiver {
	uint16_t seat;
	uint16_t leader;   /* who passes it on; NOBODY: it went straight */
	uint16_t again_ms; /* from sending to the repeat; 0: none */
	bool     is_waiting;
};

struct message {
	struct list     in_links;
	uint32_t        number;
	uint16_t        sender; /* NOBODY: it has left */
	size_t          bytes;  /* all of this */
	int64_t         sent_ms, due_ms;
	size_t          count, waiting; /* receivers; those that have not confirmed */
	uint8_t        *frame;          /* of a repeat, behind the receivers */
	size_t          frame_len;
	struct receiver receivers[]; /* by seat */
};

struct p2p_links {
	struct list messages; /* by number */
	struct map  by_number;
	uint32_t    last;
	size_t      bytes;
	int64_t     due_ms; /* the earliest of all, or earlier */
};

/* How a message travels, before it does. */
struct way {
	struct p2p_member *leaders[P2P_MEMBERS_MAX]; /* of the member of that index; NULL: straight */
	bool               passes_on[P2P_MEMBERS_MAX];
	bool               has_leaders;
};

static void find_way(struct way *w, const struct p2p_member *from, size_t len)
{
	const struct p2p_room *room = from->room;

	*w = (struct way){ 0 };
	for (size_t i = 0; i < room->count && len <= P2P_LINK_LEADERS_BYTES; i++) {
		struct p2p_member *m = room->members[i], *leader = m->group ? m->group->leader : NULL;

		if (m == from || !leader || m == leader || !p2p_pair_is_up(leader, m))
			continue;
		w->leaders[i]               = leader;
		w->passes_on[leader->index] = true;
		w->has_leaders              = true;
	}
}

/* Keeping reliable ones */

static struct p2p_links *links_of(struct p2p_room *room)
{
	struct p2p_links *l = room->links;

	if (l)
		return l;
	l = mem_new(sizeof(*l));
	if (!l)
		return NULL;
	list_init(&l->messages);
	map_init(&l->by_number, sizeof(uint32_t), 0); /* nobody chooses the numbers */
	room->links = l;
	return l;
}

static int64_t latency_of(const struct p2p_member *m)
{
	return m->has_latency ? m->latency_ms : LATENCY_MISSING_MS;
}

static uint16_t again_after(const struct p2p_member *leader, const struct p2p_member *target)
{
	int64_t ms = AGAIN_MS + 2 * latency_of(leader) + 2 * latency_of(target);

	if (ms < AGAIN_MIN_MS)
		return AGAIN_MIN_MS;
	return ms > AGAIN_MAX_MS ? AGAIN_MAX_MS : (uint16_t)ms;
}

static void note_receivers(struct message *k, const struct p2p_member *from, const struct way *w)
{
	const struct p2p_room *room = from->room;

	for (size_t i = 0; i < room->count; i++) {
		const struct p2p_member *m = room->members[i], *leader = w->leaders[i];

		if (m == from)
			continue;
		k->receivers[k->count++] = (struct receiver){ .seat       = m->seat,
			                                      .leader     = leader ? leader->seat : NOBODY,
			                                      .again_ms   = leader ? again_after(leader, m) : 0,
			                                      .is_waiting = true };
	}
	k->waiting = k->count;
}

/* When the first repeat is due, or the end. */
static void find_due(struct message *k)
{
	int64_t after_ms = OVER_MS;

	for (size_t i = 0; i < k->count; i++) {
		const struct receiver *r = &k->receivers[i];

		if (r->is_waiting && r->again_ms && r->again_ms < after_ms)
			after_ms = r->again_ms;
	}
	k->due_ms = k->sent_ms + after_ms;
}

static void make_earlier(struct p2p_links *l, int64_t due_ms)
{
	if (l->due_ms == 0 || due_ms < l->due_ms)
		l->due_ms = due_ms;
}

/* A message that goes straight to all is not repeated: only who has it is of interest then. */
static size_t frame_kept(const struct way *w, size_t len)
{
	return w->has_leaders ? P2P_FRAME_HEAD_BYTES + len : 0;
}

static size_t all_kept(const struct p2p_member *from, const struct way *w, size_t len)
{
	return sizeof(struct message) + (from->room->count - 1) * sizeof(struct receiver) + frame_kept(w, len);
}

static enum p2p_link_says keep(struct p2p_links *l, const struct p2p_member *from, const struct p2p_frame *f,
                               const struct way *w, int64_t now_ms)
{
	size_t          bytes = all_kept(from, w, f->content_len);
	struct message *k     = mem_new(bytes);

	if (!k || map_put(&l->by_number, &f->number, k) != ERR_OK) {
		mem_free(k);
		return P2P_LINK_NOMEM;
	}
	k->number    = f->number;
	k->frame_len = frame_kept(w, f->content_len);
	k->sender    = from->seat;
	k->bytes     = bytes;
	k->sent_ms   = now_ms;
	note_receivers(k, from, w);
	if (k->frame_len) {
		struct p2p_frame head = *f;

		head.flags = P2P_FLAG_RELIABLE | P2P_FLAG_AGAIN;
		k->frame   = (uint8_t *)(k->receivers + k->count);
		p2p_frame_head(k->frame, &head);
		if (f->content_len)
			memcpy(k->frame + P2P_FRAME_HEAD_BYTES, f->content, f->content_len);
	}
	find_due(k);
	make_earlier(l, k->due_ms);
	list_append(&l->messages, &k->in_links);
	l->bytes += bytes;
	return P2P_LINK_FINE;
}

static bool has_place(const struct p2p_links *l, const struct limits *limits, const struct p2p_member *from,
                      const struct way *w, size_t len)
{
	size_t most = (size_t)limits->p2p_repeat_bytes;
	size_t more = all_kept(from, w, len);

	return l->bytes <= most && more <= most - l->bytes;
}

/* Sending */

/* What a leader gets: the seats, in the order of the group, in front of the message. */
static size_t build_pass_on(uint8_t out[PASS_ON_FRAME_MAX], const struct p2p_frame *head, const struct way *way,
                            const struct p2p_member *leader)
{
	const struct p2p_group *g     = leader->group;
	struct wr               w     = wr_over(out + P2P_FRAME_HEAD_BYTES, PASS_ON_FRAME_MAX - P2P_FRAME_HEAD_BYTES);
	uint8_t                 count = 0;

	p2p_frame_head(out, head);
	wr_u8(&w, 0); /* the count, when it is known */
	for (size_t i = 0; i < g->count; i++) {
		if (way->leaders[g->members[i]->index] == leader) {
			wr_be(&w, g->members[i]->seat, SEAT_BYTES);
			count++;
		}
	}
	out[P2P_FRAME_HEAD_BYTES] = count;
	wr_bytes(&w, head->content, head->content_len);
	return P2P_FRAME_HEAD_BYTES + wr_len(&w);
}

static void send_leader(struct p2p_member *leader, const struct p2p_member *from, const struct p2p_frame *f,
                        const struct way *w, const struct p2p_link_host *host)
{
	uint8_t          frame[PASS_ON_FRAME_MAX];
	struct p2p_frame head = *f;
	size_t           len;

	head.flags |= P2P_FLAG_PASS_ON;
	if (leader == from)
		head.flags |= P2P_FLAG_YOURS;
	len = build_pass_on(frame, &head, w, leader);
	host->send(host->arg, leader, head.flags, frame, len);
}

static void send_all(struct p2p_link_sent *out, const struct p2p_member *from, const struct p2p_frame *f,
                     const struct way *w, const struct p2p_link_host *host)
{
	const struct p2p_room *room = from->room;
	uint8_t                straight[P2P_LINK_FRAME_MAX];

	p2p_frame_head(straight, f);
	if (f->content_len)
		memcpy(straight + P2P_FRAME_HEAD_BYTES, f->content, f->content_len);
	for (size_t i = 0; i < room->count; i++) {
		struct p2p_member *m = room->members[i];

		if (w->passes_on[i]) {
			send_leader(m, from, f, w, host);
			out->leaders++;
		} else if (m != from && !w->leaders[i]) {
			host->send(host->arg, m, f->flags, straight, P2P_FRAME_HEAD_BYTES + f->content_len);
			out->straight++;
		}
	}
}

/* What it costs is looked at last, when nothing else can refuse it but memory. */
static enum p2p_link_says admit(struct p2p_links *l, struct p2p_member *from, const struct p2p_frame *f,
                                const struct way *w, const struct p2p_link_host *host, const struct limits *limits,
                                int64_t now_ms)
{
	size_t receivers = from->room->count - 1;

	if (receivers == 0)
		return P2P_LINK_FINE;
	if (f->flags && !has_place(l, limits, from, w, f->content_len))
		return P2P_LINK_BUSY;
	if (!host->charge(host->arg, from, receivers * (P2P_FRAME_HEAD_BYTES + f->content_len)))
		return P2P_LINK_BUSY;
	return f->flags ? keep(l, from, f, w, now_ms) : P2P_LINK_FINE;
}

enum p2p_link_says p2p_link_send(struct p2p_link_sent *out, struct p2p_member *from, const struct p2p_frame *f,
                                 const struct p2p_link_host *host, const struct limits *limits, int64_t now_ms)
{
	struct p2p_links  *l;
	struct p2p_frame   head = *f;
	struct way         w;
	enum p2p_link_says says;

	if (f->content_len > P2P_LINK_BYTES_MAX)
		return P2P_LINK_TOO_LARGE;
	if (from->room->epoch == 0)
		return P2P_LINK_OFF;
	l = links_of(from->room);
	if (!l)
		return P2P_LINK_NOMEM;
	head.kind   = P2P_LINK;
	head.flags  = f->flags & P2P_FLAG_RELIABLE;
	head.seat   = from->seat;
	head.number = l->last + 1;
	find_way(&w, from, f->content_len);
	says = admit(l, from, &head, &w, host, limits, now_ms);
	if (says != P2P_LINK_FINE)
		return says;
	l->last = head.number;
	*out    = (struct p2p_link_sent){ .number = head.number, .receivers = from->room->count - 1 };
	send_all(out, from, &head, &w, host);
	return P2P_LINK_FINE;
}

/* Confirming */

static void forget(struct p2p_links *l, struct message *k)
{
	map_remove(&l->by_number, &k->number);
	list_remove(&k->in_links);
	l->bytes -= k->bytes;
	mem_free(k);
}

/* The sender hears of it when nothing of it is kept any more. */
static void finish(struct p2p_room *room, struct message *k, const struct p2p_link_host *host)
{
	char               missing[P2P_MEMBERS_MAX][P2P_UID_BYTES];
	size_t             count  = 0;
	uint32_t           number = k->number;
	struct p2p_member *sender = k->sender == NOBODY ? NULL : p2p_room_by_seat(room, k->sender);

	for (size_t i = 0; i < k->count; i++) {
		if (k->receivers[i].is_waiting)
			memcpy(missing[count++], p2p_room_by_seat(room, k->receivers[i].seat)->uid, P2P_UID_BYTES);
	}
	forget(room->links, k);
	if (sender)
		host->done(host->arg, sender, number, (const char(*)[P2P_UID_BYTES])missing, count);
}

/* The one on that seat who has not confirmed; NULL: there is none. */
static struct receiver *waiting_on(struct message *k, uint16_t seat)
{
	size_t low = 0, high = k->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (k->receivers[middle].seat < seat)
			low = middle + 1;
		else
			high = middle;
	}
	return low < k->count && k->receivers[low].seat == seat && k->receivers[low].is_waiting ? &k->receivers[low]
	                                                                                        : NULL;
}

static void wait_no_more(struct message *k, uint16_t seat)
{
	struct receiver *r = waiting_on(k, seat);

	if (!r)
		return;
	r->is_waiting = false;
	k->waiting--;
}

void p2p_link_ack(struct p2p_member *from, const uint8_t *content, size_t len, const struct p2p_link_host *host)
{
	struct p2p_links *l = from->room->links;
	struct rd         r = rd_over(content, len);

	while (l && rd_left(&r) >= NUMBER_BYTES) {
		uint32_t        number = (uint32_t)rd_be(&r, NUMBER_BYTES);
		struct message *k      = map_get(&l->by_number, &number);

		if (!k)
			continue;
		wait_no_more(k, from->seat);
		if (k->waiting == 0)
			finish(from->room, k, host);
	}
}

/* Repeating */

static void send_again(struct p2p_room *room, const struct message *k, struct receiver *r,
                       const struct p2p_link_host *host)
{
	r->leader   = NOBODY;
	r->again_ms = 0;
	host->send(host->arg, p2p_room_by_seat(room, r->seat), P2P_FLAG_RELIABLE | P2P_FLAG_AGAIN, k->frame,
	           k->frame_len);
}

static void send_what_it_led(struct p2p_room *room, struct message *k, uint16_t leader,
                             const struct p2p_link_host *host)
{
	for (size_t i = 0; i < k->count; i++) {
		struct receiver *r = &k->receivers[i];

		if (r->is_waiting && r->leader == leader)
			send_again(room, k, r, host);
	}
}

void p2p_link_replaced(struct p2p_member *leader, const struct p2p_link_host *host)
{
	struct p2p_links *l = leader->room->links;

	if (!l)
		return;
	for (struct list *at = l->messages.next; at != &l->messages; at = at->next)
		send_what_it_led(leader->room, CONTAINER(at, struct message, in_links), leader->seat, host);
}

void p2p_link_leave(struct p2p_member *m, const struct p2p_link_host *host)
{
	struct p2p_links *l = m->room->links;

	if (!l)
		return;
	for (struct list *at = l->messages.next, *next; at != &l->messages; at = next) {
		struct message *k = CONTAINER(at, struct message, in_links);

		next = at->next;
		if (k->sender == m->seat)
			k->sender = NOBODY;
		wait_no_more(k, m->seat);
		send_what_it_led(m->room, k, m->seat, host);
		if (k->waiting == 0)
			finish(m->room, k, host);
	}
}

static void look_at(struct p2p_room *room, struct message *k, const struct p2p_link_host *host, int64_t now_ms)
{
	if (now_ms - k->sent_ms >= OVER_MS) {
		finish(room, k, host);
		return;
	}
	for (size_t i = 0; i < k->count; i++) {
		struct receiver *r = &k->receivers[i];

		if (r->is_waiting && r->again_ms && now_ms - k->sent_ms >= r->again_ms)
			send_again(room, k, r, host);
	}
	find_due(k);
	make_earlier(room->links, k->due_ms);
}

int64_t p2p_link_due(const struct p2p_room *room)
{
	return room->links ? room->links->due_ms : 0;
}

int64_t p2p_link_tick(struct p2p_room *room, const struct p2p_link_host *host, int64_t now_ms)
{
	struct p2p_links *l = room->links;

	if (!l || l->due_ms == 0 || now_ms < l->due_ms)
		return p2p_link_due(room);
	l->due_ms = 0;
	for (struct list *at = l->messages.next, *next; at != &l->messages; at = next) {
		struct message *k = CONTAINER(at, struct message, in_links);

		next = at->next;
		if (now_ms >= k->due_ms)
			look_at(room, k, host, now_ms);
		else
			make_earlier(l, k->due_ms);
	}
	return l->due_ms;
}

void p2p_link_clear(struct p2p_room *room)
{
	struct p2p_links *l = room->links;

	if (!l)
		return;
	while (!list_is_empty(&l->messages))
		forget(l, CONTAINER(l->messages.next, struct message, in_links));
	map_fini(&l->by_number);
	mem_free(l);
	room->links = NULL;
}
