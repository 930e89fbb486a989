/*
 * Link messages (11 of the document), and frames that the server relays (9).
 */
#include "support/p2p_client_inside.h"

#include "base/bytes.h"

#include <stdio.h>
#include <string.h>

#define ACKS_WAIT_MS 50

/* --- Groups --- */

static void read_group(struct p2p_client_group *g, const json_t *users, const json_t *leader)
{
	const char *uid = json_string_value(leader);

	snprintf(g->leader, sizeof(g->leader), "%s", uid ? uid : "");
	g->count = 0;
	for (size_t i = 0; i < json_array_size(users) && g->count < P2P_CLIENT_PEERS_MAX; i++)
		g->seats[g->count++] = (uint16_t)json_integer_value(json_object_get(json_array_get(users, i), "seat"));
}

void p2p_client_on_groups(struct p2p_client *c, const json_t *j)
{
	const json_t *users = json_object_get(j, "users"), *leaders = json_object_get(j, "leaders");

	c->groups_gen  = json_integer_value(json_object_get(j, "gen"));
	c->group_count = 0;
	for (size_t i = 0; i < json_array_size(users) && i < P2P_CLIENT_PEERS_MAX; i++)
		read_group(&c->groups[c->group_count++], json_array_get(users, i), json_array_get(leaders, i));
}

/* --- Sending --- */

void p2p_client_say(struct p2p_client *c, int64_t ref, bool is_reliable, const void *bytes, size_t len)
{
	p2p_client_frame(c, &(struct p2p_client_frame){ .kind    = P2P_CLIENT_KIND_LINK,
	                                                .flags   = is_reliable ? P2P_CLIENT_RELIABLE : 0,
	                                                .seat    = P2P_CLIENT_EVERYBODY,
	                                                .number  = (uint32_t)ref,
	                                                .content = bytes,
	                                                .len     = len });
}

void p2p_client_relay(struct p2p_client *c, uint16_t seat, bool is_reliable, const void *bytes, size_t len)
{
	p2p_client_frame(c, &(struct p2p_client_frame){ .kind    = P2P_CLIENT_KIND_RELAY,
	                                                .flags   = is_reliable ? P2P_CLIENT_RELIABLE : 0,
	                                                .seat    = seat,
	                                                .content = bytes,
	                                                .len     = len });
}

void p2p_client_on_sent(struct p2p_client *c, const json_t *j)
{
	c->sent_ref       = json_integer_value(json_object_get(j, "ref"));
	c->sent_ok        = json_is_true(json_object_get(j, "ok"));
	c->sent_number    = json_integer_value(json_object_get(j, "msg"));
	c->sent_leaders   = json_integer_value(json_object_get(j, "leaders"));
	c->sent_straight  = json_integer_value(json_object_get(j, "straight"));
	c->sent_receivers = json_integer_value(json_object_get(j, "receivers"));
}

void p2p_client_on_done(struct p2p_client *c, const json_t *j)
{
	const json_t           *missing = json_object_get(j, "missing");
	struct p2p_client_done *d       = &c->done[c->done_count++ % P2P_CLIENT_DONE_MAX];

	d->number        = (uint32_t)json_integer_value(json_object_get(j, "msg"));
	d->missing_count = 0;
	for (size_t i = 0; i < json_array_size(missing) && i < P2P_CLIENT_PEERS_MAX; i++) {
		const char *uid = json_string_value(json_array_get(missing, i));

		snprintf(d->missing[d->missing_count++], P2P_CLIENT_UID_BYTES, "%s", uid ? uid : "");
	}
}

const struct p2p_client_done *p2p_client_done_of(const struct p2p_client *c, uint32_t number)
{
	for (size_t i = 0; i < c->done_count && i < P2P_CLIENT_DONE_MAX; i++) {
		if (c->done[i].number == number)
			return &c->done[i];
	}
	return NULL;
}

/* --- Once only --- */

static void forget_number(struct p2p_client *c, uint32_t number)
{
	c->numbers[number % P2P_CLIENT_NUMBERS / 64] &= ~(1ULL << number % 64);
}

/* Whether it is new; it is not, afterwards. The last 1,024 numbers are known, and older ones are none that could come. */
static bool take_number(struct p2p_client *c, uint32_t number)
{
	uint64_t bit = 1ULL << number % 64;

	if (number > c->highest) {
		uint32_t from = number - c->highest > P2P_CLIENT_NUMBERS ? number - P2P_CLIENT_NUMBERS : c->highest;

		for (uint32_t i = from + 1; i <= number; i++)
			forget_number(c, i);
		c->highest = number;
	}
	if (c->highest - number >= P2P_CLIENT_NUMBERS || c->numbers[number % P2P_CLIENT_NUMBERS / 64] & bit)
		return false;
	c->numbers[number % P2P_CLIENT_NUMBERS / 64] |= bit;
	return true;
}

/* --- Confirming --- */

static void send_acks(struct p2p_client *c)
{
	p2p_client_frame(c, &(struct p2p_client_frame){
				    .kind = P2P_CLIENT_KIND_LINK_ACK, .content = c->acks, .len = c->ack_len });
	c->ack_len = 0;
}

/* One that came twice is confirmed twice: the first may have come too late. */
static void confirm(struct p2p_client *c, uint32_t number, int64_t now_ms)
{
	struct wr w = wr_over(c->acks + c->ack_len, sizeof(c->acks) - c->ack_len);

	if (c->ack_len == 0)
		c->acks_due_ms = now_ms + ACKS_WAIT_MS;
	wr_be(&w, number, 4);
	c->ack_len += wr_len(&w);
	if (c->ack_len == sizeof(c->acks))
		send_acks(c);
}

int64_t p2p_client_tick_link(struct p2p_client *c, int64_t now_ms)
{
	if (c->ack_len > 0 && now_ms >= c->acks_due_ms)
		send_acks(c);
	return c->ack_len > 0 ? c->acks_due_ms : INT64_MAX;
}

/* --- Receiving --- */

static void hand_over(struct p2p_client *c, const struct p2p_client_message *m)
{
	if (c->set->on_message)
		c->set->on_message(c->set->on_message_arg, c, m);
}

static void take(struct p2p_client *c, const struct p2p_client_message *m, int64_t now_ms)
{
	if (m->is_reliable && !c->options.is_tacit)
		confirm(c, m->number, now_ms);
	if (take_number(c, m->number))
		hand_over(c, m);
	else
		c->link_twice++;
}

/* A LINK packet from a leader whose address it is. */
void p2p_client_on_link(struct p2p_client *c, const struct p2p_client_link *l, const struct p2p_client_address *from,
                        int64_t now_ms)
{
	bool is_known = false;

	for (size_t i = 0; i < c->peer_count; i++) {
		const struct p2p_client_peer *p = &c->peers[i];

		for (size_t k = 0; p->seat == l->leader && k < p->address_count; k++)
			is_known = is_known || p2p_client_address_is(&p->addresses[k], from);
		is_known = is_known || (p->seat == l->leader && p2p_client_address_is(&p->path, from));
	}
	if (!is_known || l->leader == c->seat) {
		c->dropped_packets++;
		return;
	}
	c->link_packets++;
	take(c,
	     &(struct p2p_client_message){ .way         = P2P_CLIENT_BY_LEADER,
	                                   .seat        = l->seat,
	                                   .is_reliable = l->flags & P2P_CLIENT_RELIABLE,
	                                   .ver         = l->ver,
	                                   .cmd         = l->cmd,
	                                   .number      = l->number,
	                                   .bytes       = l->message,
	                                   .len         = l->len },
	     now_ms);
}

static void pass_on_to(struct p2p_client *c, const struct p2p_client_frame *f, uint16_t seat, const uint8_t *message,
                       size_t len)
{
	uint8_t                bytes[P2P_CLIENT_DATAGRAM_MAX];
	struct p2p_client_link l    = { .epoch   = c->epoch,
		                        .seat    = f->seat,
		                        .leader  = c->seat,
		                        .flags   = f->flags & P2P_CLIENT_RELIABLE,
		                        .ver     = f->ver,
		                        .cmd     = f->cmd,
		                        .number  = f->number,
		                        .message = message,
		                        .len     = len };
	size_t                 size = p2p_client_link_build(bytes, &l, p2p_client_mac(c));

	for (size_t i = 0; i < c->peer_count; i++) {
		const struct p2p_client_peer *p = &c->peers[i];

		if (p->seat != seat || p->state != P2P_CLIENT_PATH_UP || size == 0)
			continue;
		p2p_client_to_player(c, &p->path, bytes, size);
		c->passed_on++;
	}
}

/* Before the game gets it. What is left of the frame is the message. */
static bool pass_on(struct p2p_client *c, struct p2p_client_frame *f)
{
	struct rd      r     = rd_over(f->content, f->len);
	size_t         count = rd_u8(&r), len;
	struct rd      seats = rd_over(rd_bytes(&r, 2 * count), 2 * count);
	const uint8_t *message;

	if (!rd_ok(&r))
		return false;
	message = rd_rest(&r, &len);
	for (size_t i = 0; i < count; i++)
		pass_on_to(c, f, (uint16_t)rd_be(&seats, 2), message, len);
	f->content = message;
	f->len     = len;
	return true;
}

static void on_link_frame(struct p2p_client *c, struct p2p_client_frame f, int64_t now_ms)
{
	bool is_again = f.flags & P2P_CLIENT_AGAIN;

	c->link_frames++;
	c->again_frames += is_again;
	if ((f.flags & P2P_CLIENT_PASS_ON && !pass_on(c, &f)) || f.flags & P2P_CLIENT_YOURS)
		return;
	take(c,
	     &(struct p2p_client_message){ .way         = is_again ? P2P_CLIENT_BY_SERVER_AGAIN : P2P_CLIENT_BY_SERVER,
	                                   .seat        = f.seat,
	                                   .is_reliable = f.flags & P2P_CLIENT_RELIABLE,
	                                   .ver         = f.ver,
	                                   .cmd         = f.cmd,
	                                   .number      = f.number,
	                                   .bytes       = f.content,
	                                   .len         = f.len },
	     now_ms);
}

static void on_relayed(struct p2p_client *c, const struct p2p_client_frame *f)
{
	hand_over(c, &(struct p2p_client_message){ .way         = P2P_CLIENT_RELAYED,
	                                           .seat        = f->seat,
	                                           .is_reliable = f->flags & P2P_CLIENT_RELIABLE,
	                                           .ver         = f->ver,
	                                           .cmd         = f->cmd,
	                                           .bytes       = f->content,
	                                           .len         = f->len });
}

void p2p_client_on_frame(struct p2p_client *c, const struct p2p_client_frame *f, int64_t now_ms)
{
	if (f->kind == P2P_CLIENT_KIND_SYNC)
		p2p_client_on_sync(c, f);
	else if (f->kind == P2P_CLIENT_KIND_LINK)
		on_link_frame(c, *f, now_ms);
	else if (f->kind == P2P_CLIENT_KIND_RELAY)
		on_relayed(c, f);
}
