/*
 * Players of the rooms, two for each actor: they meet in a room, talk, keep scores, probe, relay datagrams and a stream through the
 * server. What must hold: a score that was recorded a moment before the server's end is there again, as it must be.
 */
#include "soak.h"
#include "soak_wire.h"

#include "bench/lib_rooms.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	TITLE_BYTES = 12,
	NAME_BYTES  = 16,
	FRAME_BYTES = 2048,
	BOARD       = 1,
	SCORES_KEPT = 8,
	DATAGRAM    = 64,
	UDP_MS      = 2000
};
enum { T_SEARCH = 0x11, T_LEAVE = 0x13, T_RANKING_BY_ID = 0x22, T_LIST = 0x91 };

struct player {
	struct soak_wire wire;
	int              udp;
	uint32_t         user_id, token, next_req;
	char             name[NAME_BYTES + 1], from[16];
};

/* Scores of the first one that were acknowledged, each better than the one before; the newest last. */
struct scores {
	size_t count;
	struct {
		int64_t score, at_ms;
	} of[SCORES_KEPT];
	int64_t sent; /* the best that was sent, answered or not */
};

/* --- Frames --- */

static uint8_t *begin(uint8_t *frame, struct player *p, uint8_t type, size_t len)
{
	memset(frame, 0, ROOMS_HEAD + len);
	rooms_head(frame, type, len);
	rooms_put(frame + ROOMS_HEAD, ++p->next_req, 4);
	return frame + ROOMS_HEAD + 4;
}

static bool send_frame(struct player *p, const uint8_t *frame)
{
	return soak_send(&p->wire, frame, ROOMS_HEAD + rooms_len(frame));
}

/* The payload of the next frame of this type; others are thrown away. NULL: it does not come, or an ERROR does. */
static const uint8_t *await(struct soak_actor *a, struct soak_wire *w, uint8_t type, size_t *len)
{
	for (;;) {
		const uint8_t *head = soak_take(w, ROOMS_HEAD, SOAK_PATIENCE_MS);

		if (!head) {
			soak_fault(a, "no frame of type %02x comes", type);
			return NULL;
		}

		uint8_t        got     = head[0];
		size_t         got_len = rooms_len(head);
		const uint8_t *payload = soak_take(w, got_len, SOAK_PATIENCE_MS);

		if (!payload)
			return NULL;
		if (got == ROOMS_T_ERROR) {
			soak_fault(a, "error %u instead of %02x", got_len >= 8 ? rooms_u32(payload + 4) : 0, type);
			return NULL;
		}
		if (got == type) {
			*len = got_len;
			return payload;
		}
	}
}

/* A request and its answer. */
static const uint8_t *ask(struct soak_actor *a, struct player *p, const uint8_t *frame, uint8_t answer, size_t *len)
{
	int64_t        from_ns = soak_now_ns();
	const uint8_t *payload = send_frame(p, frame) ? await(a, &p->wire, answer, len) : NULL;

	if (payload)
		soak_took(SOAK_ROOMS, from_ns);
	return payload;
}

/* --- Session and scores --- */

static bool enter(struct soak_actor *a, struct player *p, unsigned which)
{
	uint8_t frame[FRAME_BYTES];
	size_t  len;

	soak_loopback(p->from, a, 0);
	snprintf(p->name, sizeof(p->name), "soak%u-%u", a->number, which);
	p->udp = -1;
	if (!soak_dial(&p->wire, p->from, soak.ports.rooms, 0))
		return soak_fault(a, "cannot connect to the rooms");

	uint8_t *at = begin(frame, p, ROOMS_T_HELLO, 4 + TITLE_BYTES + NAME_BYTES + 2);

	memcpy(at, "SOAK00001_00", TITLE_BYTES);
	memcpy(at + TITLE_BYTES, p->name, strlen(p->name));

	const uint8_t *ack = ask(a, p, frame, ROOMS_T_HELLO_ACK, &len);

	if (!ack || len < 17)
		return soak_fault(a, "HELLO gets no answer");
	p->user_id = rooms_u32(ack + 4);
	p->token   = rooms_u32(ack + 12);
	return true;
}

static bool record(struct soak_actor *a, struct player *p, struct scores *s)
{
	uint8_t frame[FRAME_BYTES];
	size_t  len;

	s->sent += 1 + soak_dice(a, 1000);

	uint8_t *at = begin(frame, p, ROOMS_T_SCORE, 4 + 4 + 1 + 8 + 2);

	rooms_put(at, BOARD, 4);
	rooms_put(at + 5, (uint64_t)s->sent, 8);
	if (!ask(a, p, frame, ROOMS_T_RECORDED, &len))
		return false;
	if (s->count == SCORES_KEPT)
		memmove(s->of, s->of + 1, sizeof(s->of[0]) * --s->count);
	s->of[s->count].score   = s->sent;
	s->of[s->count++].at_ms = soak_now_ms();
	return true;
}

/* This is what is there: what a kill took is no longer expected, and what came without an answer is. */
static void settle(struct scores *s, int64_t score)
{
	while (s->count > 0 && s->of[s->count - 1].score > score)
		s->count--;
	if (score <= 0 || (s->count > 0 && s->of[s->count - 1].score == score))
		return;
	s->of[0].score = score;
	s->of[0].at_ms = soak_now_ms();
	s->count       = 1;
}

/* The first player's row. */
static bool look_at_score(struct soak_actor *a, struct player *p, struct scores *s)
{
	uint8_t  frame[FRAME_BYTES];
	size_t   len;
	uint8_t *at   = begin(frame, p, T_RANKING_BY_ID, 4 + 4 + 2 + NAME_BYTES);
	int64_t  must = 0;

	rooms_put(at, BOARD, 4);
	rooms_put(at + 4, 1, 2);
	memcpy(at + 6, p->name, strlen(p->name));

	const uint8_t *row = ask(a, p, frame, ROOMS_T_RANKING, &len);

	if (!row || len < ROOMS_EMPTY_RANKING + 4 + NAME_BYTES + 8)
		return soak_fault(a, "no ranking comes");

	int64_t score = (int64_t)rooms_get(row + ROOMS_EMPTY_RANKING + 4 + NAME_BYTES, 8);

	for (size_t i = 0; i < s->count; i++)
		if (soak_must_be_kept(s->of[i].at_ms))
			must = s->of[i].score;
	soak_promise(a, score >= must && score <= s->sent, "score %ld is %ld", (long)must, (long)score);
	settle(s, score);
	return true;
}

/* --- Rooms --- */

static bool meet(struct soak_actor *a, struct player p[2], uint64_t *room)
{
	uint8_t        frame[FRAME_BYTES];
	size_t         len;
	uint8_t       *at = begin(frame, &p[0], ROOMS_T_CREATE, 4 + 1 + 4 + 3 * 2 + 100);
	const uint8_t *answer;

	at[0] = 4;
	rooms_put(at + 5, 100, 2);
	if (!(answer = ask(a, &p[0], frame, ROOMS_T_JOINED, &len)) || len < 12)
		return false;
	*room = rooms_get(answer + 4, 8);

	at = begin(frame, &p[1], T_SEARCH, 4 + 4);
	rooms_put(at + 2, 20, 2);
	if (!ask(a, &p[1], frame, T_LIST, &len))
		return false;

	at = begin(frame, &p[1], ROOMS_T_JOIN, 4 + 8 + 2);
	rooms_put(at, *room, 8);
	return ask(a, &p[1], frame, ROOMS_T_JOINED, &len) != NULL;
}

/* It must arrive as it was sent. */
static bool talk(struct soak_actor *a, struct player *from, struct player *to, uint64_t room)
{
	uint8_t  frame[FRAME_BYTES];
	size_t   len, bytes = 1 + soak_dice(a, 300);
	uint8_t *at = begin(frame, from, ROOMS_T_MESSAGE, 4 + 8 + 2 + 2 + bytes);

	rooms_put(at, room, 8);
	rooms_put(at + 10, bytes, 2);
	soak_random(a, at + 12, bytes);
	if (!ask(a, from, frame, ROOMS_T_OK, &len))
		return false;

	const uint8_t *said = await(a, &to->wire, ROOMS_T_ROOM_MSG, &len);

	if (!said || len != ROOMS_MSG_FIXED + bytes || memcmp(said + ROOMS_MSG_FIXED, at + 12, bytes) != 0)
		return soak_fault(a, "a message to a room arrives otherwise");
	return true;
}

/* --- Datagrams --- */

static bool open_udp(struct player *p)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	struct sockaddr_in to = { .sin_family = AF_INET,
		                  .sin_port   = htons(soak.ports.rooms),
		                  .sin_addr   = { htonl(INADDR_LOOPBACK) } };

	p->udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	return p->udp >= 0 && inet_pton(AF_INET, p->from, &at.sin_addr) == 1 &&
	       bind(p->udp, (const struct sockaddr *)&at, sizeof(at)) == 0 &&
	       connect(p->udp, (const struct sockaddr *)&to, sizeof(to)) == 0;
}

static size_t begin_packet(uint8_t *out, const struct player *p, uint8_t type)
{
	memcpy(out, "PSNR", 4);
	out[4] = type;
	rooms_put(out + 5, p->user_id, 4);
	rooms_put(out + 9, p->token, 4);
	return 13;
}

/* One datagram may be lost, as they may anywhere: it is sent a few times. */
static bool exchange(struct player *from, const uint8_t *packet, size_t len, struct player *to, size_t wanted_len)
{
	uint8_t got[DATAGRAM];

	for (int i = 0; i < 3; i++) {
		int64_t       from_ns = soak_now_ns();
		struct pollfd ready   = { .fd = to->udp, .events = POLLIN };

		if (send(from->udp, packet, len, 0) != (ssize_t)len)
			return false;
		while (poll(&ready, 1, UDP_MS) > 0) {
			ssize_t n = recv(to->udp, got, sizeof(got), 0);

			if (n < 0)
				break;
			if ((size_t)n == wanted_len) {
				soak_took(SOAK_UDP, from_ns);
				return true;
			}
		}
	}
	return false;
}

static bool send_datagrams(struct soak_actor *a, struct player p[2])
{
	uint8_t packet[DATAGRAM] = { 0 };

	for (int i = 0; i < 2; i++) {
		begin_packet(packet, &p[i], 1);
		if ((p[i].udp < 0 && !open_udp(&p[i])) ||
		    !exchange(&p[i], packet, ROOMS_PROBE, &p[i], ROOMS_PROBE_REPLY))
			return soak_fault(a, "a probe is not answered");
	}
	begin_packet(packet, &p[0], 3);
	rooms_put(packet + 13, p[1].user_id, 4);
	if (!exchange(&p[0], packet, ROOMS_RELAY_IN + 20, &p[1], ROOMS_RELAY_OUT + 20))
		return soak_fault(a, "a relayed datagram does not come");
	return true;
}

/* --- Streams --- */

static void begin_leg(uint8_t *frame, uint8_t type, size_t len, struct player *p)
{
	uint8_t *at = begin(frame, p, type, len);

	rooms_put(at, p->user_id, 4);
	rooms_put(at + 4, p->token, 4);
}

static bool pump(struct soak_actor *a, struct soak_wire *from, struct soak_wire *to)
{
	uint8_t bytes[4000];

	soak_random(a, bytes, sizeof(bytes));
	for (int i = 0; i < 5; i++) {
		if (!soak_send(from, bytes, sizeof(bytes)))
			return false;

		const uint8_t *came = soak_take(to, sizeof(bytes), SOAK_PATIENCE_MS);

		if (!came || memcmp(came, bytes, sizeof(bytes)) != 0)
			return false;
	}
	return true;
}

static bool open_stream(struct soak_actor *a, struct player p[2], struct soak_wire leg[2])
{
	uint8_t frame[FRAME_BYTES];
	size_t  len;

	begin_leg(frame, ROOMS_T_CONNECT, 18, &p[0]);
	rooms_put(frame + ROOMS_HEAD + 12, p[1].user_id, 4);
	if (!soak_dial(&leg[0], p[0].from, soak.ports.rooms, 0) || !soak_send(&leg[0], frame, ROOMS_HEAD + 18))
		return false;

	const uint8_t *offer = await(a, &p[1].wire, ROOMS_T_OFFER, &len);

	if (!offer)
		return false;

	uint32_t id = rooms_u32(offer);

	begin_leg(frame, ROOMS_T_ACCEPT, 16, &p[1]);
	rooms_put(frame + ROOMS_HEAD + 12, id, 4);
	return soak_dial(&leg[1], p[1].from, soak.ports.rooms, 0) && soak_send(&leg[1], frame, ROOMS_HEAD + 16) &&
	       await(a, &leg[1], ROOMS_T_READY, &len) && await(a, &leg[0], ROOMS_T_READY, &len);
}

static bool stream(struct soak_actor *a, struct player p[2])
{
	struct soak_wire leg[2] = { SOAK_WIRE_NONE, SOAK_WIRE_NONE };
	bool             well   = open_stream(a, p, leg) && pump(a, &leg[0], &leg[1]) && pump(a, &leg[1], &leg[0]);

	if (!well)
		soak_fault(a, "a stream does not work");
	soak_hang_up(&leg[0]);
	soak_hang_up(&leg[1]);
	return well;
}

/* --- Coming and going --- */

static void part_from(struct soak_actor *a, struct player *p, uint64_t room)
{
	uint8_t frame[FRAME_BYTES];
	size_t  len;

	if (room && p->wire.fd >= 0 && soak_goes_on(a) && soak_dice(a, 2)) {
		rooms_put(begin(frame, p, T_LEAVE, 4 + 8), room, 8);
		ask(a, p, frame, ROOMS_T_OK, &len);
	}
	if (soak_dice(a, 2))
		soak_hang_up(&p->wire);
	else
		soak_abort(&p->wire);
	if (p->udp >= 0)
		close(p->udp);
}

static bool act(struct soak_actor *a, struct player p[2], uint64_t room)
{
	unsigned from = soak_dice(a, 2);

	switch (soak_dice(a, 16)) {
	case 0:
	case 1:
		return record(a, &p[0], a->own);
	case 2:
		return look_at_score(a, &p[0], a->own);
	case 3:
	case 4:
	case 5:
		return send_datagrams(a, p);
	case 6:
		return stream(a, p);
	default:
		return talk(a, &p[from], &p[1 - from], room);
	}
}

static void visit(struct soak_actor *a)
{
	struct player p[2]    = { { .wire = SOAK_WIRE_NONE, .udp = -1 }, { .wire = SOAK_WIRE_NONE, .udp = -1 } };
	uint64_t      room    = 0;
	unsigned      acts    = 20 + soak_dice(a, 150);
	bool          goes_on = enter(a, &p[0], 0) && enter(a, &p[1], 1) && meet(a, p, &room);

	for (; goes_on && acts > 0 && soak_goes_on(a); acts--) {
		goes_on = act(a, p, room);
		soak_pause(a, (int)soak_dice(a, 150));
	}
	part_from(a, &p[1], room);
	part_from(a, &p[0], room);
}

static void check(struct soak_actor *a)
{
	struct scores *s = a->own;
	struct player  p = { .wire = SOAK_WIRE_NONE, .udp = -1 };

	if (s->count > 0 && enter(a, &p, 0))
		look_at_score(a, &p, s);
	soak_hang_up(&p.wire);
}

const struct soak_part soak_part_rooms = {
	.name = "rooms", .actors = 14, .own_bytes = sizeof(struct scores), .visit = visit, .check = check
};
