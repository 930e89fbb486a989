/*
 * Sessions of peer to peer, two for each actor: outside address by HELLO, NAT check, STUN, a room, and link messages through the
 * server.
 */
#include "soak.h"
#include "soak_wire.h"

#include "base/hex.h"
#include "bench/lib_p2p.h"
#include "bench/lib_rooms.h"
#include "crypt/hash.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	TEXT_BYTES    = 8192,
	REQUEST_BYTES = 512,
	TAG_BYTES     = 16,
	UDP_MS        = 900,
	TRIES         = 4,
	PORT_TRIES    = 50,
	FIRST_PORT    = 10000,
	LINK_BYTES    = 400
};

struct peer {
	struct soak_wire   wire;
	int                udp;
	struct sockaddr_in last; /* where the last packet came from */
	char               from[16], uid[17], text[TEXT_BYTES + 1];
	uint8_t            sid[8], key[32];
	uint32_t           time;
};

/* --- Texts --- */

/* The next with this op is in p->text. */
static bool await(struct soak_actor *a, struct peer *p, const char *op)
{
	char begin[64];
	int  len = snprintf(begin, sizeof(begin), "{\"op\":\"%s\"", op);

	for (;;) {
		struct soak_message m = soak_ws_hear(&p->wire, SOAK_PATIENCE_MS);

		if (m.op == SOAK_WS_NONE || m.op == SOAK_WS_CLOSE)
			return soak_fault(a, "no %s comes (%s)", op, m.op == SOAK_WS_CLOSE ? "closed" : "silence");
		if (m.op != SOAK_WS_TEXT || m.len > TEXT_BYTES)
			continue;
		memcpy(p->text, m.data, m.len);
		p->text[m.len] = '\0';
		if (strstr(p->text, "\"ok\":false"))
			return soak_fault(a, "%s is refused: %.100s", op, p->text);
		if (strncmp(p->text, begin, (size_t)len) == 0)
			return true;
	}
}

__attribute__((format(printf, 3, 4))) static bool say(struct peer *p, const char *op, const char *format, ...)
{
	char    out[REQUEST_BYTES];
	int     len = snprintf(out, sizeof(out), "{\"op\":\"%s\",\"id\":1", op);
	va_list args;

	va_start(args, format);
	len += vsnprintf(out + len, sizeof(out) - (size_t)len, format, args);
	va_end(args);
	len += snprintf(out + len, sizeof(out) - (size_t)len, "}");
	return soak_ws_say(&p->wire, SOAK_WS_TEXT, out, (size_t)len);
}

/* members: further ones, as in ,"max":8 */
static bool ask(struct soak_actor *a, struct peer *p, const char *op, const char *members)
{
	int64_t from_ns = soak_now_ns();

	if (!say(p, op, "%s", members) || !await(a, p, op))
		return false;
	soak_took(SOAK_P2P, from_ns);
	return true;
}

/* --- Packets --- */

static void seal(const struct peer *p, uint8_t out[P2P_PACKET])
{
	hash_keyed(out + P2P_PACKET - TAG_BYTES, p->key, out, P2P_PACKET - TAG_BYTES);
}

static struct sockaddr_in server_at(void)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
		                     .sin_port   = htons(soak.ports.p2p),
		                     .sin_addr   = { htonl(INADDR_LOOPBACK) } };
}

static bool send_to(const struct peer *p, const void *packet, size_t len, const struct sockaddr_in *to)
{
	return sendto(p->udp, packet, len, 0, (const struct sockaddr *)to, sizeof(*to)) == (ssize_t)len;
}

/* A packet of this type, or with type 0 an answer to STUN. */
static bool receive(struct peer *p, uint8_t out[2 * P2P_PACKET], uint8_t type)
{
	struct pollfd ready = { .fd = p->udp, .events = POLLIN };

	while (poll(&ready, 1, UDP_MS) > 0) {
		socklen_t len = sizeof(p->last);
		ssize_t   n =
			recvfrom(p->udp, out, sizeof(uint8_t[2 * P2P_PACKET]), 0, (struct sockaddr *)&p->last, &len);

		if (type == 0 ? n == P2P_STUN_ANSWER : n == P2P_PACKET && out[3] == type)
			return true;
	}
	return false;
}

/* HELLO and its answer, whose cookie is returned; 0: none came, in several tries. */
static uint32_t hello(struct peer *p, uint8_t step, const uint8_t nonce[8])
{
	uint8_t            packet[2 * P2P_PACKET];
	struct sockaddr_in to = server_at();

	for (int i = 0; i < TRIES; i++) {
		int64_t from_ns = soak_now_ns();

		memset(packet, 0, P2P_PACKET);
		memcpy(packet, (const uint8_t[]){ P2P_FIRST_BYTE, 0x0d, 1, P2P_T_HELLO }, 4);
		memcpy(packet + 4, p->sid, sizeof(p->sid));
		memcpy(packet + 12, nonce, 8);
		packet[20] = step;
		rooms_put(packet + 44, ++p->time, 4);
		seal(p, packet);
		if (send_to(p, packet, P2P_PACKET, &to) && receive(p, packet, P2P_T_HELLO_ACK)) {
			soak_took(SOAK_STUN, from_ns);
			return rooms_u32(packet + 44);
		}
	}
	return 0;
}

static bool stun(struct soak_actor *a, struct peer *p)
{
	uint8_t            request[P2P_STUN_REQUEST] = { 0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42 };
	uint8_t            answer[2 * P2P_PACKET];
	struct sockaddr_in to = server_at();

	for (int i = 0; i < TRIES; i++) {
		int64_t from_ns = soak_now_ns();

		soak_random(a, request + 8, 12);
		if (send_to(p, request, sizeof(request), &to) && receive(p, answer, 0)) {
			if (memcmp(answer + 8, request + 8, 12) != 0)
				return soak_fault(a, "STUN answers another question");
			soak_took(SOAK_STUN, from_ns);
			return true;
		}
	}
	return soak_fault(a, "STUN does not answer");
}

/* --- Sessions --- */

/* A port that was not used for a NAT check lately: a second one from there would be refused, for a router might let it in. */
static bool open_udp(struct peer *p, uint16_t *next_port)
{
	struct sockaddr_in at = { .sin_family = AF_INET };

	p->udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (p->udp < 0 || inet_pton(AF_INET, p->from, &at.sin_addr) != 1)
		return false;
	for (int i = 0; i < PORT_TRIES; i++) {
		*next_port  = (uint16_t)(*next_port + 1 < FIRST_PORT ? FIRST_PORT : *next_port + 1);
		at.sin_port = htons(*next_port);
		if (bind(p->udp, (const struct sockaddr *)&at, sizeof(at)) == 0)
			return true;
	}
	return false;
}

static bool enter(struct soak_actor *a, struct peer *p, unsigned which)
{
	uint8_t player[16];
	char    hex[33], members[80], value[64];

	soak_loopback(p->from, a, which);
	if (!soak_dial(&p->wire, p->from, soak.ports.tunnel, 0) || soak_upgrade(&p->wire, "/p2p", NULL) != 101)
		return soak_fault(a, "cannot connect to /p2p");
	soak_key(player, "soak p2p %u of %u", which, a->number);
	hex_encode(hex, player, sizeof(player));
	snprintf(members, sizeof(members), ",\"player\":\"%s\"", hex);
	if (!ask(a, p, "p2p.hello", members))
		return false;
	if (!soak_json(p->uid, sizeof(p->uid), p->text, "uid") || !soak_json(value, sizeof(value), p->text, "sid") ||
	    hex_decode(p->sid, sizeof(p->sid), value, strlen(value)) != ERR_OK ||
	    !soak_json(value, sizeof(value), p->text, "key") ||
	    sodium_base642bin(p->key, sizeof(p->key), value, strlen(value), NULL, NULL, NULL,
	                      sodium_base64_VARIANT_ORIGINAL) != 0)
		return soak_fault(a, "p2p.hello gets no session: %.80s", p->text);
	return open_udp(p, a->own) || soak_fault(a, "no port for UDP");
}

static bool be_mapped(struct soak_actor *a, struct peer *p)
{
	static const uint8_t no_nonce[8];
	uint32_t             cookie = hello(p, 0, no_nonce);
	char                 members[40];

	if (!cookie)
		return soak_fault(a, "HELLO is not answered");
	snprintf(members, sizeof(members), ",\"cookie\":%u", cookie);
	return ask(a, p, "p2p.mapped", members);
}

/* Nothing stands between: the first PING_TRY comes through. */
static bool be_checked(struct soak_actor *a, struct peer *p)
{
	uint8_t nonce[8], packet[2 * P2P_PACKET];
	char    number[16], value[40];

	if (!say(p, "nat.update", "%s", "") || !await(a, p, "nat.step"))
		return false;
	if (!soak_json(number, sizeof(number), p->text, "check") ||
	    !soak_json(value, sizeof(value), p->text, "nonce") ||
	    hex_decode(nonce, sizeof(nonce), value, strlen(value)) != ERR_OK)
		return soak_fault(a, "nat.step is %.80s", p->text);

	uint32_t cookie = hello(p, 1, nonce);

	if (!cookie || !say(p, "nat.step_done", ",\"check\":%s,\"step\":1,\"cookie\":%u", number, cookie))
		return soak_fault(a, "%s of a check is not answered", cookie ? "nat.step_done" : "HELLO");
	if (!receive(p, packet, P2P_T_PING_TRY))
		return soak_fault(a, "no PING_TRY comes");
	packet[3] = P2P_T_PING_REPLY;
	seal(p, packet);
	send_to(p, packet, P2P_PACKET, &p->last);
	return await(a, p, "nat.update");
}

/* --- Rooms and links --- */

static bool meet(struct soak_actor *a, struct peer p[2])
{
	char room[16], members[64];

	if (!ask(a, &p[0], "p2p.create", ",\"max\":8") || !soak_json(room, sizeof(room), p[0].text, "room"))
		return false;
	snprintf(members, sizeof(members), ",\"room\":\"%s\"", room);
	if (!ask(a, &p[1], "p2p.join", members) || !ask(a, &p[0], "p2p.start", ",\"ver\":1,\"cmd\":300"))
		return false;
	for (int i = 0; i < 2; i++) {
		if (!say(&p[i], "p2p.link", ",\"peer\":\"%s\",\"state\":\"up\"", p[1 - i].uid) ||
		    !ask(a, &p[i], "p2p.ping_try_done", ""))
			return false;
	}
	return true;
}

/* The next frame of this kind; texts before it are skipped. */
static bool hear_link(struct peer *p, struct soak_message *m)
{
	do
		*m = soak_ws_hear(&p->wire, SOAK_PATIENCE_MS);
	while (m->op == SOAK_WS_TEXT ||
	       (m->op == SOAK_WS_BINARY && (m->len < P2P_FRAME_HEAD || m->data[0] != P2P_KIND_LINK)));
	return m->op == SOAK_WS_BINARY;
}

static bool link_message(struct soak_actor *a, struct peer *from, struct peer *to)
{
	uint8_t             frame[P2P_FRAME_HEAD + LINK_BYTES] = { P2P_KIND_LINK };
	size_t              len                                = 8 + soak_dice(a, LINK_BYTES - 7);
	int64_t             from_ns                            = soak_now_ns();
	struct soak_message m;

	rooms_put(frame + 6, UINT16_MAX, 2);
	soak_random(a, frame + P2P_FRAME_HEAD, len);
	if (!soak_ws_say(&from->wire, SOAK_WS_BINARY, frame, P2P_FRAME_HEAD + len) || !hear_link(to, &m))
		return soak_fault(a, "a link message does not come");
	/* With pass-on or not, the message is the end of the frame. */
	if (m.len < P2P_FRAME_HEAD + len || memcmp(m.data + m.len - len, frame + P2P_FRAME_HEAD, len) != 0)
		return soak_fault(a, "a link message arrives otherwise");
	soak_took(SOAK_P2P, from_ns);
	return true;
}

static bool act(struct soak_actor *a, struct peer p[2])
{
	unsigned from = soak_dice(a, 2);

	switch (soak_dice(a, 12)) {
	case 0:
	case 1:
		return stun(a, &p[from]);
	case 2:
		return be_mapped(a, &p[from]);
	case 3:
		return ask(a, &p[from], "nat.get", "");
	default:
		return link_message(a, &p[from], &p[1 - from]);
	}
}

static void visit(struct soak_actor *a)
{
	static const struct peer nobody  = { .wire = { .fd = -1 }, .udp = -1 };
	struct peer             *p       = calloc(2, sizeof(*p));
	unsigned                 acts    = 20 + soak_dice(a, 100);
	bool                     goes_on = p != NULL;

	for (unsigned i = 0; goes_on && i < 2; i++)
		p[i] = nobody;
	for (unsigned i = 0; goes_on && i < 2; i++)
		goes_on = enter(a, &p[i], i) && be_mapped(a, &p[i]) && be_checked(a, &p[i]);
	for (goes_on = goes_on && meet(a, p); goes_on && acts > 0 && soak_goes_on(a); acts--) {
		goes_on = act(a, p);
		soak_pause(a, (int)soak_dice(a, 150));
	}
	for (unsigned i = 0; p && i < 2; i++) {
		if (p[i].udp >= 0)
			close(p[i].udp);
		if (soak_dice(a, 2))
			soak_hang_up(&p[i].wire);
		else
			soak_abort(&p[i].wire);
	}
	free(p);
}

const struct soak_part soak_part_p2p = { .name = "p2p", .actors = 8, .own_bytes = sizeof(uint16_t), .visit = visit };
