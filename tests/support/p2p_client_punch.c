/*
 * Starts (7 of the document), the plan, and punching (8).
 */
#include "support/p2p_client_inside.h"

#include "support/dial.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#define PUNCH_EVERY_MS 200
#define PUNCH_FOR_MS   5000
#define KEEP_MS        10000
#define SILENT_MS      (2 * KEEP_MS) /* one PUNCH of 10 s has had its time to be answered */
#define MAC_AT         32            /* in the keys */

const uint8_t *p2p_client_mac(const struct p2p_client *c)
{
	return c->sync.keys + MAC_AT;
}

/* --- A start --- */

/* From here on packets of older epochs are dropped; who the peers are comes with p2p.started, right behind. */
void p2p_client_on_sync(struct p2p_client *c, const struct p2p_client_frame *f)
{
	struct p2p_client_sync sync;

	if (!p2p_client_sync_read(&sync, f->content, f->len)) {
		c->dropped_packets++;
		return;
	}
	c->sync             = sync;
	c->epoch            = f->number;
	c->peer_count       = 0;
	c->is_started       = false;
	c->is_settled       = false;
	c->has_said_settled = false;
}

static enum p2p_client_plan read_plan(const json_t *j)
{
	const char *plan = json_string_value(json_object_get(j, "plan"));

	if (plan && strcmp(plan, "direct") == 0)
		return P2P_CLIENT_PLAN_DIRECT;
	return plan && strcmp(plan, "punch") == 0 ? P2P_CLIENT_PLAN_PUNCH : P2P_CLIENT_PLAN_RELAY;
}

static enum p2p_client_role read_role(const json_t *j)
{
	static const char *const names[] = { [P2P_CLIENT_ROLE_CONNECT] = "connect",
		                             [P2P_CLIENT_ROLE_ACCEPT]  = "accept",
		                             [P2P_CLIENT_ROLE_BOTH]    = "both" };
	const char              *role    = json_string_value(json_object_get(j, "role"));

	for (int i = P2P_CLIENT_ROLE_CONNECT; role && i <= P2P_CLIENT_ROLE_BOTH; i++) {
		if (strcmp(role, names[i]) == 0)
			return (enum p2p_client_role)i;
	}
	return P2P_CLIENT_ROLE_NONE;
}

static void find_addresses(struct p2p_client_peer *p, const struct p2p_client_sync *sync)
{
	for (size_t i = 0; i < sync->user_count; i++) {
		const struct p2p_client_sync_user *u = &sync->users[i];

		if (strcmp(u->uid, p->uid) != 0)
			continue;
		p->address_count = u->address_count;
		memcpy(p->addresses, u->addresses, sizeof(p->addresses));
	}
}

static void add_peer(struct p2p_client *c, const json_t *j, int64_t now_ms)
{
	struct p2p_client_peer *p = &c->peers[c->peer_count++];

	*p = (struct p2p_client_peer){ .seat = (uint16_t)json_integer_value(json_object_get(j, "seat")),
		                       .plan = read_plan(j),
		                       .role = read_role(j),
		                       .lan  = json_is_true(json_object_get(j, "lan")) };
	p2p_client_copy_text(p->uid, sizeof(p->uid), j, "uid");
	find_addresses(p, &c->sync);
	p->nonce = randombytes_random();
	if (p->plan == P2P_CLIENT_PLAN_RELAY)
		return;
	p->state    = P2P_CLIENT_PATH_TRIED;
	p->fails_ms = now_ms + PUNCH_FOR_MS;
	p->next_ms  = now_ms;
}

void p2p_client_on_started(struct p2p_client *c, const json_t *j, int64_t now_ms)
{
	const json_t *peers = json_object_get(j, "peers");

	if ((uint32_t)json_integer_value(json_object_get(j, "epoch")) != c->epoch)
		return;
	c->peer_count = 0;
	for (size_t i = 0; i < json_array_size(peers) && c->peer_count < P2P_CLIENT_PEERS_MAX; i++)
		add_peer(c, json_array_get(peers, i), now_ms);
	c->is_started = true;
}

static struct p2p_client_peer *by_seat(struct p2p_client *c, uint16_t seat)
{
	for (size_t i = 0; i < c->peer_count; i++) {
		if (c->peers[i].seat == seat)
			return &c->peers[i];
	}
	return NULL;
}

static struct p2p_client_peer *by_uid(struct p2p_client *c, const char *uid)
{
	for (size_t i = 0; i < c->peer_count; i++) {
		if (strcmp(c->peers[i].uid, uid) == 0)
			return &c->peers[i];
	}
	return NULL;
}

struct p2p_client_peer *p2p_client_peer_of(struct p2p_client *c, const struct p2p_client *other)
{
	return by_uid(c, other->uid);
}

static void add_address(struct p2p_client_peer *p, const struct p2p_client_address *a)
{
	for (size_t i = 0; i < p->address_count; i++) {
		if (p2p_client_address_is(&p->addresses[i], a))
			return;
	}
	if (p->address_count < P2P_CLIENT_ADDRESSES_MAX)
		p->addresses[p->address_count++] = *a;
}

/* p2p.addr: a peer's outside address is another one now. */
void p2p_client_on_addr(struct p2p_client *c, const json_t *j)
{
	const char               *uid  = json_string_value(json_object_get(j, "uid"));
	const char               *text = json_string_value(json_object_get(j, "addr"));
	struct p2p_client_peer   *p    = uid ? by_uid(c, uid) : NULL;
	struct p2p_client_address a;

	if (p && text && p2p_client_address_read(&a, text, strlen(text)))
		add_address(p, &a);
}

/* A member has left: nothing more is sent to it. Our own seat: the room is over. */
void p2p_client_on_member(struct p2p_client *c, const json_t *j)
{
	const char             *event = json_string_value(json_object_get(j, "event"));
	uint16_t                seat  = (uint16_t)json_integer_value(json_object_get(j, "seat"));
	struct p2p_client_peer *p     = by_seat(c, seat);

	if (!event || strcmp(event, "left") != 0)
		return;
	if (seat == c->seat)
		*c->room = '\0';
	if (!p)
		return;
	p->is_gone = true;
	p->state   = P2P_CLIENT_PATH_DOWN;
}

/* --- Paths --- */

static void tell_link(struct p2p_client *c, const struct p2p_client_peer *p, const char *state, bool with_rtt)
{
	char members[120], rtt[32] = "";

	if (with_rtt)
		snprintf(rtt, sizeof(rtt), ",\"rtt\":%lld", (long long)p->rtt_ms);
	snprintf(members, sizeof(members), "\"peer\":\"%s\",\"state\":\"%s\"%s", p->uid, state, rtt);
	p2p_client_tell(c, "p2p.link", members);
}

static void send_punch(struct p2p_client *c, struct p2p_client_peer *p, const struct p2p_client_address *to,
                       int64_t now_ms)
{
	uint8_t                 bytes[P2P_CLIENT_PUNCH_BYTES];
	struct p2p_client_punch punch = { .type  = P2P_CLIENT_PUNCH,
		                          .epoch = c->epoch,
		                          .from  = c->seat,
		                          .to    = p->seat,
		                          .nonce = p->nonce,
		                          .time  = (uint32_t)now_ms };

	p2p_client_punch_build(bytes, &punch, p2p_client_mac(c));
	p2p_client_to_player(c, to, bytes, sizeof(bytes));
	p->sent_ms = now_ms;
	p->punched++;
}

static void on_punch(struct p2p_client *c, struct p2p_client_peer *p, const struct p2p_client_punch *punch,
                     const struct p2p_client_address *from)
{
	uint8_t                 bytes[P2P_CLIENT_PUNCH_BYTES];
	struct p2p_client_punch ack = *punch;

	ack.type = P2P_CLIENT_PUNCH_ACK;
	ack.from = c->seat;
	ack.to   = p->seat;
	p2p_client_punch_build(bytes, &ack, p2p_client_mac(c));
	p2p_client_to_player(c, from, bytes, sizeof(bytes));
	add_address(p, from);
}

static void on_ack(struct p2p_client *c, struct p2p_client_peer *p, const struct p2p_client_punch *ack,
                   const struct p2p_client_address *from, int64_t now_ms)
{
	if (ack->nonce != p->nonce)
		return;
	p->answered++;
	p->rtt_ms = (int64_t)((uint32_t)now_ms - ack->time);
	if (p->state != P2P_CLIENT_PATH_TRIED && p->state != P2P_CLIENT_PATH_DOWN)
		return;
	p->state   = P2P_CLIENT_PATH_UP;
	p->path    = *from;
	p->next_ms = now_ms + KEEP_MS;
	tell_link(c, p, "up", true);
}

static bool is_for_us(const struct p2p_client *c, const struct p2p_client_peer *p, uint32_t epoch)
{
	return p && !p->is_gone && c->epoch != 0 && epoch == c->epoch;
}

void p2p_client_on_player(struct p2p_client *c, const uint8_t *bytes, size_t len, const struct p2p_client_address *from,
                          int64_t now_ms)
{
	struct p2p_client_punch punch;
	struct p2p_client_link  link;
	struct p2p_client_peer *p;

	if (p2p_client_punch_read(&punch, bytes, len, p2p_client_mac(c))) {
		p = by_seat(c, punch.from);
		if (!is_for_us(c, p, punch.epoch) || punch.to != c->seat)
			return;
		p->heard_ms = now_ms;
		if (punch.type == P2P_CLIENT_PUNCH)
			on_punch(c, p, &punch, from);
		else
			on_ack(c, p, &punch, from, now_ms);
	} else if (p2p_client_link_read(&link, bytes, len, p2p_client_mac(c))) {
		p = by_seat(c, link.leader);
		if (!is_for_us(c, p, link.epoch))
			return;
		p->heard_ms = now_ms;
		p2p_client_on_link(c, &link, from, now_ms);
	} else {
		c->dropped_packets++;
	}
}

/* --- What is due --- */

/* Who only accepts does not begin, but answers at every address from which somebody came. */
static bool begins(const struct p2p_client_peer *p)
{
	return p->plan == P2P_CLIENT_PLAN_PUNCH || p->role == P2P_CLIENT_ROLE_CONNECT || p->heard_ms > 0;
}

static void tick_trying(struct p2p_client *c, struct p2p_client_peer *p, int64_t now_ms)
{
	if (now_ms >= p->fails_ms) {
		p->state = P2P_CLIENT_PATH_FAILED;
		tell_link(c, p, "failed", false);
		return;
	}
	if (begins(p)) {
		for (size_t i = 0; i < p->address_count; i++)
			send_punch(c, p, &p->addresses[i], now_ms);
	}
	p->next_ms = now_ms + PUNCH_EVERY_MS < p->fails_ms ? now_ms + PUNCH_EVERY_MS : p->fails_ms;
}

static void tick_up(struct p2p_client *c, struct p2p_client_peer *p, int64_t now_ms)
{
	if (now_ms - p->heard_ms >= SILENT_MS) {
		p->state = P2P_CLIENT_PATH_DOWN;
		tell_link(c, p, "down", false);
		return;
	}
	if (now_ms - p->sent_ms >= KEEP_MS)
		send_punch(c, p, &p->path, now_ms);
	p->next_ms = p->sent_ms + KEEP_MS;
}

static int64_t tick_peer(struct p2p_client *c, struct p2p_client_peer *p, int64_t now_ms)
{
	if (p->state != P2P_CLIENT_PATH_TRIED && p->state != P2P_CLIENT_PATH_UP)
		return INT64_MAX;
	if (now_ms >= p->next_ms) {
		if (p->state == P2P_CLIENT_PATH_TRIED)
			tick_trying(c, p, now_ms);
		else
			tick_up(c, p, now_ms);
	}
	return p->next_ms;
}

bool p2p_client_is_decided(const struct p2p_client *c)
{
	for (size_t i = 0; i < c->peer_count; i++) {
		if (c->peers[i].state == P2P_CLIENT_PATH_TRIED)
			return false;
	}
	return c->is_started;
}

int64_t p2p_client_tick_punch(struct p2p_client *c, int64_t now_ms)
{
	int64_t due_ms = INT64_MAX;

	for (size_t i = 0; i < c->peer_count; i++) {
		int64_t peer_ms = tick_peer(c, &c->peers[i], now_ms);

		due_ms = peer_ms < due_ms ? peer_ms : due_ms;
	}
	if (!c->has_said_settled && p2p_client_is_decided(c)) {
		c->has_said_settled = true;
		p2p_client_send(c, "p2p.ping_try_done", "");
	}
	return due_ms;
}
