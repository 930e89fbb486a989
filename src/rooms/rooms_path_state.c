/*
 * How players reach each other: the addresses they are told, the routes of their streams, and their datagrams.
 *
 * Whether streams to somebody go through the relay depends on his last probe, so a probe may change what others were told.
 * They are told again, at most limits.rooms_routes times in 10 s: a room of 255 turns one small datagram into 254 frames.
 */
#include "rooms/rooms_state.h"

#include "base/auto.h"
#include "rooms/rooms_state_inside.h"

#include <string.h>

#define ROUTES_SPAN_MS 10000
#define ROUTE_BY_RELAY 1 /* bit 0 of ROUTE's flags */
#define IP_BYTES       4

/* Addresses */

static bool has_local_ip(const struct rooms_player *p)
{
	static const uint8_t none[IP_BYTES];

	return p->has_probed && memcmp(p->local_ip, none, IP_BYTES) != 0;
}

void rooms_address_for(uint8_t ip[4], uint16_t *port, const struct rooms_player *receiver,
                       const struct rooms_player *member)
{
	if (member->has_probed && !rooms_are_neighbours(member, receiver)) {
		memcpy(ip, member->public_ip, IP_BYTES);
		*port = member->public_port;
		return;
	}
	memcpy(ip, has_local_ip(member) ? member->local_ip : member->from.ip, IP_BYTES);
	/* To send to 0.0.0.0 is to send to oneself: without an address there is no port. */
	*port = has_local_ip(member) || member->from.is_ipv4 ? member->p2p_port : 0;
}

void rooms_forget_probe(struct rooms_player *p)
{
	p->has_probed = false;
}

/* Routes */

/* A router between him and the server, as far as is known. */
static bool is_behind_router(const struct rooms_player *p)
{
	return p->has_probed && memcmp(p->public_ip, p->local_ip, IP_BYTES) != 0;
}

bool rooms_is_relayed(const struct rooms_state *s, const struct rooms_player *viewer, const struct rooms_player *target)
{
	return s->relays && is_behind_router(target) && !rooms_are_neighbours(viewer, target);
}

static void send_route(struct rooms_state *s, const struct rooms_room *room, struct rooms_player *viewer,
                       const struct rooms_player *target)
{
	struct rooms_letter l = rooms_letter_begin(s, ROOMS_ROUTE);

	wr_be(&l.w, room->id, 8);
	wr_be(&l.w, target->user_id, 4);
	wr_be(&l.w, rooms_is_relayed(s, viewer, target) ? ROUTE_BY_RELAY : 0, 1);
	rooms_letter_send(s, &l, viewer);
}

/* A newcomer is told what is so, even where the others have not been told yet. */
static void note_told(struct rooms_player *target)
{
	if (is_behind_router(target) != target->is_told_relayed)
		target->is_told_both = true;
}

void rooms_tell_routes(struct rooms_state *s, struct rooms_member *joiner)
{
	struct rooms_room   *room = joiner->room;
	struct rooms_player *p    = joiner->player;

	if (!s->relays)
		return;
	for (struct list *at = room->members.next; at != &room->members; at = at->next) {
		struct rooms_player *other = CONTAINER(at, struct rooms_member, in_room)->player;

		if (other == p)
			continue;
		send_route(s, room, p, other);
		send_route(s, room, other, p);
		note_told(other);
	}
	note_told(p);
}

static bool may_tell_again(const struct rooms_state *s, struct rooms_player *p, int64_t now_ms)
{
	if (p->routes == 0 || now_ms - p->routes_ms >= ROUTES_SPAN_MS) {
		p->routes    = 0;
		p->routes_ms = now_ms;
	}
	if (p->routes >= s->limits->rooms_routes)
		return false;
	p->routes++;
	return true;
}

/* Those at his own address are told nothing: to them he never goes through the relay. */
static void tell_room_again(struct rooms_state *s, const struct rooms_room *room, const struct rooms_player *target)
{
	for (struct list *at = room->members.next; at != &room->members; at = at->next) {
		struct rooms_player *viewer = CONTAINER(at, struct rooms_member, in_room)->player;

		if (!rooms_are_neighbours(viewer, target))
			send_route(s, room, viewer, target);
	}
}

static void tell_again(struct rooms_state *s, struct rooms_player *target, int64_t now_ms)
{
	bool is_relayed = is_behind_router(target);

	if (!s->relays || (is_relayed == target->is_told_relayed && !target->is_told_both))
		return;
	if (target->room_count > 0 && !may_tell_again(s, target, now_ms))
		return;
	target->is_told_relayed = is_relayed;
	target->is_told_both    = false;
	for (struct list *at = target->rooms.next; at != &target->rooms; at = at->next)
		tell_room_again(s, CONTAINER(at, struct rooms_member, in_player)->room, target);
}

/* Datagrams */

static struct rooms_udp_step drop(enum rooms_udp_why why)
{
	return (struct rooms_udp_step){ .what = ROOMS_UDP_DROP, .why = why };
}

static struct rooms_udp_step on_probe(struct rooms_state *s, struct rooms_player *p, const struct rooms_packet *packet,
                                      const uint8_t ip[4], uint16_t port, uint8_t *bytes, int64_t now_ms)
{
	p->has_probed  = true;
	p->public_port = port;
	memcpy(p->public_ip, ip, IP_BYTES);
	memcpy(p->local_ip, packet->local_ip, IP_BYTES);
	tell_again(s, p, now_ms);
	rooms_probe_reply_build(bytes, ip, port);
	return (struct rooms_udp_step){
		.what = ROOMS_UDP_ANSWER, .player = p, .at = bytes, .len = ROOMS_PROBE_REPLY_BYTES
	};
}

static struct rooms_udp_step on_relay(const struct rooms_state *s, const struct rooms_player *p,
                                      const struct rooms_packet *packet, uint8_t *bytes, size_t len)
{
	struct rooms_player  *target = rooms_find_user(s, packet->to_user);
	struct rooms_udp_step step   = { .what = ROOMS_UDP_FORWARD, .player = target, .len = len };

	if (!target || !target->has_probed || !rooms_share_room(p, target))
		return drop(ROOMS_UDP_TARGET);
	step.at = rooms_relay_turn(bytes, &step.len, p->user_id);
	return step;
}

static bool is_his_source(const struct rooms_state *s, const struct rooms_player *p, const uint8_t ip[4])
{
	return s->any_source || (p->from.is_ipv4 && memcmp(p->from.ip, ip, IP_BYTES) == 0);
}

struct rooms_udp_step rooms_on_datagram(struct rooms_state *s, const uint8_t ip[4], uint16_t port, uint8_t *bytes,
                                        size_t len, int64_t now_ms)
{
	struct rooms_packet packet;

	if (!rooms_packet_parse(&packet, bytes, len))
		return drop(ROOMS_UDP_SHAPE);
	if (packet.type == ROOMS_UDP_RELAY && !s->relays)
		return drop(ROOMS_UDP_OFF);

	struct rooms_player *p = rooms_find_user(s, packet.user_id);

	if (!p || !p->has_hello)
		return drop(ROOMS_UDP_USER);
	if (p->token != packet.token)
		return drop(ROOMS_UDP_TOKEN);
	if (!is_his_source(s, p, ip))
		return drop(ROOMS_UDP_SOURCE);
	/* Only now: what others forge in his address's name takes nothing away from him. */
	if (!s->host->packet(s->host->arg, p, now_ms))
		return drop(ROOMS_UDP_RATE);
	if (packet.type == ROOMS_UDP_PROBE)
		return on_probe(s, p, &packet, ip, port, bytes, now_ms);
	return on_relay(s, p, &packet, bytes, len);
}
