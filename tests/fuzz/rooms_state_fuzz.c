/*
 * The rooms' state, told what six players from three addresses say: whatever it is, everything hangs together after each event,
 * each request is answered once and before what else it causes, and nothing is left when all have gone.
 *
 * The input is a row of events. The first byte of each says who (its low three bits, modulo 6) and what (the rest, modulo 8):
 *
 *	0 frame		type, length n, n bytes: its payload
 *	1 long frame	the same, and k, behind n: zeros behind it up to k * 257 bytes
 *	2 datagram	flags, length n, n bytes behind "PSNR"; flags 1: with his own number and token; 2: from another address
 *	3 reconnect	he leaves, and is there again without HELLO
 *	4 time		k: so many times 500 ms later
 *	5 leg		flags, length n, n bytes; flags 1: with his own number and token; 2: STREAM_ACCEPT, else STREAM_CONNECT
 *	6 leg gone	his
 *	7 offers late	those whose time is up
 */
#include "rooms/rooms_state.h"
#include "rooms/rooms_stream_state.h"

#include "base/auto.h"
#include "support/rooms_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define PLAYERS   6
#define ADDRESSES 3
#define CALLS     7 /* of may, of which the last is refused */

struct seat {
	struct rooms_player player; /* first */
	struct rooms_offer  leg;
	bool                is_closed;
};

static struct limits        limits;
static struct rooms_boards *boards;
static struct rooms_state   state;
static struct rooms_streams streams;
static struct seat          seats[PLAYERS];
static struct seat         *asking; /* whose request is handled */
static int                  replies;
static uint32_t             asked_req;
static int                  calls, rooms_made;
static uint32_t             tokens;
static struct rooms_now     now;

static void must(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "rooms_state: %s\n", what);
	abort();
}

/* The host */

static void check_reply(const uint8_t *frame)
{
	struct rd r = rd_over(frame + ROOMS_HEAD_BYTES, ROOMS_REQ_BYTES);

	must(++replies == 1, "two replies");
	must((uint32_t)rd_be(&r, 4) == asked_req, "the reply to another request");
}

static void on_send(void *arg, struct rooms_player *to, const uint8_t *frame, size_t len)
{
	struct seat *seat    = CONTAINER(to, struct seat, player);
	bool         is_push = len > 0 && frame[0] >= 0xA0 && frame[0] <= 0xAF;

	(void)arg;
	must(!seat->is_closed, "a frame for one who is gone");
	must(len >= ROOMS_HEAD_BYTES && len == ROOMS_HEAD_BYTES + (size_t)(frame[1] << 8 | frame[2]), "a wrong length");
	must(to->has_hello || frame[0] == ROOMS_ERROR, "a frame for one without HELLO");
	must(is_push || seat == asking, "a reply to nobody");
	if (!is_push)
		check_reply(frame);
	else
		must(seat != asking || replies == 1, "a push before the reply");
}

static void on_close(void *arg, struct rooms_player *p, enum rooms_why why)
{
	(void)arg;
	(void)why;
	CONTAINER(p, struct seat, player)->is_closed = true;
}

static uint32_t on_random(void *arg)
{
	(void)arg;
	return tokens++ % 5 ? tokens : 0;
}

static bool on_may(void *arg, const struct rooms_origin *from, enum rooms_ask what, const uint8_t *name, int64_t now_ms)
{
	bool says = ++calls % CALLS != 0;

	(void)arg;
	(void)now_ms;
	must(!from->is_exempt && (name != NULL) == (what == ROOMS_ASK_NAME), "a wrong question");
	rooms_made += says && what == ROOMS_ASK_ROOM;
	return says;
}

static bool on_packet(void *arg, const struct rooms_player *p, int64_t now_ms)
{
	(void)arg;
	(void)now_ms;
	must(p->has_hello, "a packet of nobody's");
	return ++calls % CALLS != 0;
}

static void on_room_gone(void *arg, const uint8_t owner[ROOMS_ADDR_BYTES])
{
	(void)arg;
	(void)owner;
	rooms_made--;
}

static void on_room_came(void *arg, const uint8_t owner[ROOMS_ADDR_BYTES])
{
	(void)arg;
	(void)owner;
	rooms_made++;
}

static bool on_can_keep(void *arg)
{
	(void)arg;
	return calls % CALLS != 3;
}

static void on_recorded(void *arg, const struct rooms_board *board, const uint8_t name[ROOMS_NAME_BYTES],
                        const struct rooms_recorded *what)
{
	struct rooms_row row;

	(void)arg;
	must(rooms_board_rank_of(&row, board, name) == what->rank && what->is_changed, "a row that is not so");
}

static const struct rooms_host host = { .send      = on_send,
	                                .close     = on_close,
	                                .random    = on_random,
	                                .may       = on_may,
	                                .packet    = on_packet,
	                                .room_gone = on_room_gone,
	                                .room_came = on_room_came,
	                                .can_keep  = on_can_keep,
	                                .recorded  = on_recorded };

/* Coming and going */

static void set_limits(void)
{
	limits_default(&limits);
	limits.rooms_connections        = 3;
	limits.rooms_titles             = 3;
	limits.rooms_titles_per_address = 2;
	limits.rooms_rooms              = 5;
	limits.rooms_rooms_per_player   = 3;
	limits.rooms_blob_total         = 140000;
	limits.rooms_boards             = 3;
	limits.rooms_boards_per_title   = 2;
	limits.rooms_rows               = 5;
	limits.rooms_rows_per_board     = 3;
	limits.rooms_offers_per_player  = 2;
	limits.rooms_routes             = 2;
}

static void sit_down(size_t who)
{
	struct rooms_origin from = { .addr      = { 10, 0, 0, (uint8_t)(who % ADDRESSES) },
		                     .ip        = { 10, 0, 0, (uint8_t)(who % ADDRESSES) },
		                     .is_ipv4   = true,
		                     .is_exempt = who == 5 };

	seats[who].is_closed = false;
	if (!rooms_enter(&state, &seats[who].player, &from))
		abort();
}

static void rise(struct seat *seat)
{
	while (rooms_offers_of(&streams, &seat->player))
		;
	seat->is_closed = true;
	rooms_leave(&state, &seat->player);
}

static void open_table(uint8_t settings)
{
	set_limits();
	boards = rooms_boards_new(&limits);
	if (!boards)
		abort();
	rooms_state_init(&state, &limits, &host, boards, 1);
	rooms_streams_init(&streams, &state, 2);
	state.relays     = settings & 1;
	state.any_source = settings & 2;
	now              = (struct rooms_now){ 1000, 1000000 };
	calls = rooms_made = 0;
	tokens             = 1;
	asking             = NULL;
	for (size_t i = 0; i < PLAYERS; i++)
		sit_down(i);
}

static void close_table(void)
{
	for (size_t i = 0; i < PLAYERS; i++) {
		rooms_offer_withdraw(&streams, &seats[i].leg);
		rise(&seats[i]);
	}
	must(!rooms_check(&state) && rooms_made == 0 && state.room_pool.used == 0 && state.member_pool.used == 0,
	     "something is left");
	rooms_streams_fini(&streams);
	rooms_state_fini(&state);
	rooms_boards_free(boards);
}

/* Events */

/* In memory of exactly its size. */
static uint8_t *copy_of(struct rd *r, size_t len, size_t cap)
{
	uint8_t *copy = calloc(1, cap ? cap : 1);

	if (!copy)
		abort();
	rd_copy(r, copy, len);
	return copy;
}

static void say(struct seat *seat, uint8_t type, struct rd *r, size_t len, size_t cap)
{
	bool      had_hello = seat->player.has_hello;
	uint8_t  *payload   = copy_of(r, len, cap);
	struct rd req       = rd_over(payload, cap);

	asking    = seat;
	replies   = 0;
	asked_req = (uint32_t)rd_be(&req, 4);
	rooms_on_frame(&state, &seat->player, type, payload, cap, now);
	if (cap < ROOMS_REQ_BYTES || (type == ROOMS_HEARTBEAT && had_hello))
		must(replies == 0, "a reply to what has none");
	else
		must(replies == 1, "no reply");
	asking = NULL;
	free(payload);
}

static void put_own(uint8_t *at, const struct rooms_player *p)
{
	struct wr w = wr_over(at, 8);

	wr_be(&w, p->user_id, 4);
	wr_be(&w, p->token, 4);
}

static void send_datagram(struct seat *seat, uint8_t flags, struct rd *r, size_t len)
{
	size_t   whole = 4 + len;
	size_t   cap   = whole < ROOMS_PROBE_REPLY_BYTES ? ROOMS_PROBE_REPLY_BYTES : whole;
	uint8_t *bytes = calloc(1, cap), ip[4];

	if (!bytes)
		abort();
	memcpy(bytes, "PSNR", 4);
	rd_copy(r, bytes + 4, len);
	if (flags & 1 && len >= 9)
		put_own(bytes + 5, &seat->player);
	memcpy(ip, seat->player.from.ip, 4);
	ip[3] ^= (flags & 2) << 3;

	struct rooms_udp_step step = rooms_on_datagram(&state, ip, 4000, bytes, whole, now.mono_ms);

	if (step.what != ROOMS_UDP_DROP) {
		must(step.player && step.player->has_hello && step.player->has_probed, "a datagram for nobody");
		must(step.at >= bytes && step.at + step.len <= bytes + cap, "a datagram beside its memory");
		must(memcmp(step.at, "PSNR", 4) == 0, "a datagram without its beginning");
	}
	free(bytes);
}

static void say_leg(struct seat *seat, uint8_t flags, struct rd *r, size_t len)
{
	uint8_t             type  = flags & 2 ? ROOMS_STREAM_ACCEPT : ROOMS_STREAM_CONNECT;
	uint8_t            *bytes = copy_of(r, len, len);
	struct rooms_offer  other = { 0 }, *accepted;
	struct rooms_offer *mine  = seat->leg.id ? &other : &seat->leg; /* one that waits asks for nothing more */
	uint32_t            req;

	if (flags & 1 && len >= 12)
		put_own(bytes + 4, &seat->player);

	enum rooms_code code = rooms_on_leg(&streams, mine, &accepted, &req, type, bytes, len, now.mono_ms);

	must(!accepted || (code == ROOMS_FINE && flags & 2 && accepted->id == 0), "accepted what is not");
	must((code == ROOMS_FINE && type == ROOMS_STREAM_CONNECT) ? mine->id != 0 : mine != &other || other.id == 0,
	     "an offer that does not stand");
	if (mine == &other)
		rooms_offer_withdraw(&streams, &other);
	free(bytes);
}

static void end_late(void)
{
	struct rooms_offer *o;
	int64_t             next;

	while ((o = rooms_offers_late(&streams, now.mono_ms, &next)))
		must(o->until_ms <= now.mono_ms && o->id == 0, "an offer is late too early");
	must((next == 0) == (streams.count == 0) && (next == 0 || next > now.mono_ms), "a wrong time");
}

static void one_event(struct rd *r)
{
	uint8_t      first = rd_u8(r), flags, n;
	size_t       who   = (first & 7) % PLAYERS, len;
	struct seat *seat  = &seats[who];

	switch (first >> 3 & 7) {
	case 0:
	case 1:
		flags = rd_u8(r);
		n     = rd_u8(r);
		len   = first >> 3 & 1 ? (size_t)rd_u8(r) * 257 : n;
		if (n > rd_left(r))
			n = (uint8_t)rd_left(r);
		say(seat, flags, r, n, len < n ? n : len);
		break;
	case 2:
	case 5:
		flags = rd_u8(r);
		n     = rd_u8(r);
		if (n > rd_left(r))
			n = (uint8_t)rd_left(r);
		if (first >> 3 & 1)
			say_leg(seat, flags, r, n);
		else
			send_datagram(seat, flags, r, n);
		break;
	case 3:
		rise(seat);
		sit_down(who);
		break;
	case 4:
		now.mono_ms += rd_u8(r) * 500;
		break;
	case 6:
		rooms_offer_withdraw(&streams, &seat->leg);
		break;
	default:
		end_late();
	}
	for (size_t i = 0; i < PLAYERS; i++) /* those whom the state gave up */
		if (seats[i].is_closed) {
			rise(&seats[i]);
			sit_down(i);
		}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct rd r = rd_over(data, len);

	open_table(rd_u8(&r));
	for (int i = 0; i < 400 && rd_left(&r) > 0; i++) {
		one_event(&r);

		const char *wrong = rooms_check(&state);

		must(!wrong, wrong);
	}
	close_table();
	return 0;
}
