#include "support/rooms_game.h"

#include "support/netns.h"

#include "base/bytes.h"

#include <criterion/criterion.h>

#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PROBE_UNTIL_ANSWERED_MS 500
#define PROBE_AFTER_MS          20000
#define PUNCHES                 5
#define PUNCH_EVERY_MS          200
#define RELAY_AFTER_MS          3000
#define TURN_MS                 20 /* of the game's own loop */
#define ROOM_MAX                4
#define VPORT                   1

static struct game *games;

/* --- Coming and going --- */

static int listen_at(struct gamer *c, uint16_t port)
{
	struct sockaddr_in at     = { .sin_family = AF_INET, .sin_port = htons(port) };
	int                before = netns_current(), on = 1;

	gamer_local_ip(c, (uint8_t *)&at.sin_addr);
	netns_switch(c->netns);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	netns_switch(before);
	cr_assert_geq(fd, 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	cr_assert_eq(bind(fd, (const struct sockaddr *)&at, sizeof(at)), 0, "port %u: %s", port, strerror(errno));
	cr_assert_eq(listen(fd, 8), 0);
	return fd;
}

struct game *game_start(const struct gamer_way *way, const char *title, const char *name, uint16_t port)
{
	struct game *g = calloc(1, sizeof(*g));

	cr_assert_not_null(g);
	g->gamer    = gamer_dial_way(way);
	g->listener = -1;
	g->next     = games;
	games       = g;
	gamer_open_udp(g->gamer, port);
	g->listener = listen_at(g->gamer, g->gamer->udp_port);
	gamer_hello(g->gamer, title, name, g->gamer->udp_port);
	return g;
}

void game_stop(struct game *g)
{
	struct game **at = &games;

	if (!g)
		return;
	while (*at != g)
		at = &(*at)->next;
	*at = g->next;
	if (g->listener >= 0)
		close(g->listener);
	gamer_free(g->gamer);
	free(g);
}

/* --- Peers --- */

static struct game_peer *find(struct game *g, uint32_t user_id)
{
	for (size_t i = 0; i < g->peer_count; i++) {
		if (g->peers[i].user_id == user_id)
			return &g->peers[i];
	}
	return NULL;
}

/* ROUTE may have come first. */
static struct game_peer *find_or_make(struct game *g, uint32_t user_id)
{
	struct game_peer *p = find(g, user_id);

	if (!p) {
		cr_assert_lt(g->peer_count, GAME_PEERS_MAX);
		p  = &g->peers[g->peer_count++];
		*p = (struct game_peer){ .user_id = user_id };
	}
	return p;
}

static void meet(struct game *g, const struct gamer_member *m)
{
	if (m->user_id == g->gamer->user_id)
		return;

	struct game_peer *p = find_or_make(g, m->user_id);

	strcpy(p->ip, m->ip);
	p->port           = m->port;
	p->punches        = 0;
	p->is_heard       = false;
	p->is_relayed     = false;
	p->first_punch_ms = 0;
	p->next_punch_ms  = real_now_ms();
}

struct game_peer *game_peer(struct game *g, const struct game *of)
{
	struct game_peer *p = find(g, of->gamer->user_id);

	cr_assert(p && p->port, "%s has not met %s", g->gamer->name, of->gamer->name);
	return p;
}

/* --- What its time has come for --- */

static void punch(struct game *g, struct game_peer *p, int64_t now_ms)
{
	uint8_t out[GAMER_PACKET_HEAD];

	if (!p->port || p->punches >= PUNCHES || now_ms < p->next_punch_ms)
		return;
	gamer_send_udp_to(g->gamer, p->ip, p->port, out, gamer_punch_packet(out, g->gamer->user_id));
	if (p->punches++ == 0)
		p->first_punch_ms = now_ms;
	p->next_punch_ms = now_ms + PUNCH_EVERY_MS;
}

static void do_what_is_due(struct game *g)
{
	int64_t now_ms = real_now_ms();

	if (now_ms >= g->next_probe_ms) {
		gamer_send_probe(g->gamer);
		g->next_probe_ms = now_ms + (g->is_probed ? PROBE_AFTER_MS : PROBE_UNTIL_ANSWERED_MS);
	}
	for (size_t i = 0; i < g->peer_count; i++) {
		struct game_peer *p = &g->peers[i];

		punch(g, p, now_ms);
		p->is_relayed = g->gamer->relays && !p->is_heard && p->punches > 0 &&
		                now_ms - p->first_punch_ms >= RELAY_AFTER_MS;
	}
}

/* --- What comes --- */

static void accept_stream(struct game *g, struct gamer_leg *l, enum game_way way)
{
	cr_assert_null(g->accepted, "a second stream came before the first was taken");
	g->accepted     = l;
	g->accepted_way = way;
}

static void take_push(struct game *g, const struct gamer_message *m)
{
	struct game_peer *p = NULL;
	struct gamer_leg *l;

	switch (m->type) {
	case PUSH_MEMBER_JOINED:
		meet(g, m->members);
		break;
	case PUSH_ROUTE:
		p            = find_or_make(g, m->user_id);
		p->is_routed = m->relay_flags & 1;
		break;
	case PUSH_STREAM_OFFER:
		l = gamer_leg_accept(g->gamer, m->stream_id);
		gamer_leg_expect_ready(l);
		accept_stream(g, l, GAME_RELAYED);
		break;
	default:
		break; /* this game does not look at the rest */
	}
}

static void hand_over(struct game *g, uint32_t from, enum game_way way, const void *bytes, size_t len)
{
	struct game_packet *p = &g->packets[g->packet_count];

	cr_assert_lt(g->packet_count, GAME_PACKETS_MAX, "the game takes nothing of what comes");
	cr_assert_leq(len, sizeof(p->bytes));
	g->packet_count++;
	p->from = from;
	p->way  = way;
	p->len  = len;
	memcpy(p->bytes, bytes, len);
}

static struct game_peer *find_endpoint(struct game *g, const struct gamer_datagram *d)
{
	for (size_t i = 0; i < g->peer_count; i++) {
		if (g->peers[i].port == d->port && strcmp(g->peers[i].ip, d->ip) == 0)
			return &g->peers[i];
	}
	return NULL;
}

/* What begins with the protocol's letters never reaches the game. */
static void take_datagram(struct game *g, const struct gamer_datagram *d)
{
	char                ip[GAMER_ADDRESS_BYTES];
	uint16_t            port;
	struct game_peer   *p    = find_endpoint(g, d);
	struct gamer       *c    = g->gamer;
	bool                ours = d->len >= 5 && memcmp(d->bytes, "PSNR", 4) == 0;
	const struct gamer *s    = d->port == c->port && strcmp(d->ip, c->to) == 0 ? c : NULL;

	if (gamer_is_probe_reply(c, d, ip, &port)) {
		strcpy(c->public_ip, ip);
		c->public_port   = port;
		g->is_probed     = true;
		g->next_probe_ms = real_now_ms() + PROBE_AFTER_MS;
	} else if (ours && s && d->bytes[4] == PACKET_RELAY && d->len >= 9) {
		struct rd r    = rd_over(d->bytes + 5, 4);
		uint32_t  user = (uint32_t)rd_be(&r, 4);

		if (find(g, user))
			hand_over(g, user, GAME_RELAYED, d->bytes + 9, d->len - 9);
	} else if (p) {
		p->is_heard = true;
		if (!ours)
			hand_over(g, p->user_id, GAME_DIRECT, d->bytes, d->len);
	}
}

static void take_connection(struct game *g)
{
	int fd = accept4(g->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return;

	struct gamer_leg *l = gamer_leg_own(g->gamer, fd);

	accept_stream(g, l, GAME_DIRECT);
}

static void turn(struct game *g)
{
	static struct gamer_datagram d;
	struct gamer_message        *m;

	do_what_is_due(g);
	while (gamer_next_datagram(g->gamer, &d, 0))
		take_datagram(g, &d);
	while ((m = gamer_next_push(g->gamer, 0)))
		take_push(g, m);
	take_connection(g);
}

static void turn_all(void)
{
	struct pollfd all[3 * 16];
	nfds_t        count = 0;

	for (struct game *g = games; g; g = g->next) {
		cr_assert_lt(count + 3, sizeof(all) / sizeof(all[0]));
		turn(g);
		all[count++] = (struct pollfd){ .fd = g->gamer->fd, .events = POLLIN };
		all[count++] = (struct pollfd){ .fd = g->gamer->udp, .events = POLLIN };
		all[count++] = (struct pollfd){ .fd = g->listener, .events = POLLIN };
	}
	poll(all, count, TURN_MS);
}

/* --- For tests --- */

void game_play(int ms)
{
	int64_t end_ms = real_now_ms() + ms;

	do
		turn_all();
	while (real_now_ms() < end_ms);
}

void game_await_probed(struct game *g)
{
	int64_t deadline_ms = real_now_ms() + DIAL_PATIENCE_MS;

	while (!g->is_probed) {
		cr_assert_lt(real_now_ms(), deadline_ms, "%s: no answer to probes", g->gamer->name);
		turn_all();
	}
}

static bool has_met(struct game *g, const struct game *of)
{
	const struct game_peer *p = find(g, of->gamer->user_id);

	return p && p->port;
}

void game_await_met(struct game *a, struct game *b)
{
	int64_t deadline_ms = real_now_ms() + DIAL_PATIENCE_MS;

	while (!has_met(a, b) || !has_met(b, a)) {
		cr_assert_lt(real_now_ms(), deadline_ms, "%s and %s do not meet", a->gamer->name, b->gamer->name);
		turn_all();
	}
}

static bool is_decided(struct game *g, const struct game *of)
{
	const struct game_peer *p = find(g, of->gamer->user_id);

	return p && (p->is_heard || p->is_relayed);
}

void game_await_decision(struct game *a, struct game *b)
{
	int64_t deadline_ms = real_now_ms() + DIAL_PATIENCE_MS;

	while (!is_decided(a, b) || !is_decided(b, a)) {
		cr_assert_lt(real_now_ms(), deadline_ms, "%s and %s do not find a way", a->gamer->name, b->gamer->name);
		turn_all();
	}
}

uint64_t game_create(struct game *g)
{
	return gamer_create(g->gamer, ROOM_MAX, NOTHING)->room_id;
}

void game_join(struct game *g, uint64_t room)
{
	struct gamer_message *m = gamer_join(g->gamer, room, NOTHING);

	for (size_t i = 0; i < m->count; i++)
		meet(g, &m->members[i]);
}

void game_send(struct game *g, const struct game *to, struct gamer_blob bytes)
{
	struct game_peer *p = game_peer(g, to);

	if (p->is_relayed)
		gamer_relay(g->gamer, p->user_id, bytes);
	else
		gamer_send_udp_to(g->gamer, p->ip, p->port, bytes.bytes, bytes.len);
}

enum game_way game_expect_at(struct gamer_place at, struct game *g, const struct game *from, struct gamer_blob bytes)
{
	int64_t deadline_ms = real_now_ms() + DIAL_PATIENCE_MS;

	while (g->packet_count == 0) {
		cr_assert_lt(real_now_ms(), deadline_ms, "%s:%d: %s heard nothing", at.file, at.line, g->gamer->name);
		turn_all();
	}

	struct game_packet *p   = &g->packets[0];
	enum game_way       way = p->way;

	cr_assert_eq(p->from, from->gamer->user_id, "%s:%d: from user %" PRIu32, at.file, at.line, p->from);
	cr_assert(gamer_blob_is(BYTES(p->bytes, p->len), bytes), "%s:%d: other bytes", at.file, at.line);
	memmove(p, p + 1, --g->packet_count * sizeof(*p));
	return way;
}

/* Waits as the runtime does, but lets the others play meanwhile. */
static void await_accepted(struct game *g)
{
	int64_t deadline_ms = real_now_ms() + DIAL_PATIENCE_MS;

	while (!g->accepted) {
		cr_assert_lt(real_now_ms(), deadline_ms, "no stream came to %s", g->gamer->name);
		turn_all();
	}
}

enum game_way game_stream(struct game *g, struct game *to, struct gamer_leg **mine, struct gamer_leg **theirs)
{
	struct game_peer *p      = game_peer(g, to);
	int               before = netns_current();

	if (p->is_routed) {
		*mine = gamer_leg_connect(g->gamer, p->user_id, VPORT);
	} else {
		netns_switch(g->gamer->netns);
		int fd = dial_tcp_to(p->ip, p->port, *g->gamer->from ? g->gamer->from : NULL, 0);

		netns_switch(before);
		cr_assert_geq(fd, 0, "no connection to %s port %u: %s", p->ip, p->port, strerror(errno));
		*mine = gamer_leg_own(g->gamer, fd);
	}
	await_accepted(to);
	if (p->is_routed)
		gamer_leg_expect_ready(*mine);
	*theirs      = to->accepted;
	to->accepted = NULL;
	return to->accepted_way;
}
