#include "support/rooms_table.h"

#include "base/auto.h"
#include "support/pattern.h"
#include "support/rooms_check.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct table table;

struct frame {
	struct list in_frames;
	size_t      order, len;
	uint8_t     bytes[];
};

/* The host */

static struct table_seat *seat_of(struct rooms_player *p)
{
	return CONTAINER(p, struct table_seat, player);
}

static void on_send(void *arg, struct rooms_player *to, const uint8_t *bytes, size_t len)
{
	struct table_seat *seat  = seat_of(to);
	struct frame      *frame = malloc(sizeof(*frame) + len);

	(void)arg;
	cr_assert_not_null(frame);
	cr_assert(seat->is_in && !seat->is_closed, "a frame for somebody who is gone");
	cr_assert_geq(len, (size_t)ROOMS_HEAD_BYTES);
	cr_assert_eq(len, ROOMS_HEAD_BYTES + (size_t)(bytes[1] << 8 | bytes[2]));
	frame->order = ++table.order;
	frame->len   = len;
	memcpy(frame->bytes, bytes, len);
	list_append(&seat->frames, &frame->in_frames);
}

static void on_close(void *arg, struct rooms_player *p, enum rooms_why why)
{
	struct table_seat *seat = seat_of(p);

	(void)arg;
	cr_assert_eq(why, ROOMS_WHY_REPLACED);
	cr_assert(!seat->is_closed);
	seat->is_closed = true;
	seat->closed_at = ++table.order;
}

static uint32_t on_random(void *arg)
{
	(void)arg;
	if (table.zeros-- > 0)
		return 0;
	return table.token++;
}

static bool on_may(void *arg, const struct rooms_origin *from, enum rooms_ask what, const uint8_t *name, int64_t now_ms)
{
	(void)arg;
	cr_assert(!from->is_exempt, "one who is exempt is counted");
	cr_assert_eq(now_ms, table.now.mono_ms);
	cr_assert_eq(name != NULL, what == ROOMS_ASK_NAME);
	table.asked[what]++;
	memcpy(table.asked_addr, from->addr, sizeof(table.asked_addr));
	if (name)
		memcpy(table.asked_name, name, sizeof(table.asked_name));
	return !table.refuses[what];
}

static bool on_packet(void *arg, const struct rooms_player *p, int64_t now_ms)
{
	(void)arg;
	cr_assert(p->has_hello);
	cr_assert_eq(now_ms, table.now.mono_ms);
	table.packets++;
	return !table.refuses_packets;
}

static void on_room_gone(void *arg, const uint8_t owner[ROOMS_ADDR_BYTES])
{
	(void)arg;
	table.gone++;
	memcpy(table.gone_addr, owner, sizeof(table.gone_addr));
}

static void on_room_came(void *arg, const uint8_t owner[ROOMS_ADDR_BYTES])
{
	(void)arg;
	table.came++;
	memcpy(table.came_addr, owner, sizeof(table.came_addr));
}

static bool on_can_keep(void *arg)
{
	(void)arg;
	return !table.cannot_keep;
}

static void on_recorded(void *arg, const struct rooms_board *board, const uint8_t name[ROOMS_NAME_BYTES],
                        const struct rooms_recorded *what)
{
	(void)arg;
	table.recorded++;
	table.recorded_board = rooms_board_number(board);
	table.recorded_as    = *what;
	memcpy(table.recorded_name, name, sizeof(table.recorded_name));
}

/* Opening and closing */

void table_open(void)
{
	limits_default(&table.limits);
	table.token  = 0x1A2B3C4D;
	table.now    = (struct rooms_now){ .mono_ms = 1000000, .wall_ms = 1700000000123 };
	table.host   = (struct rooms_host){ .send      = on_send,
		                            .close     = on_close,
		                            .random    = on_random,
		                            .may       = on_may,
		                            .packet    = on_packet,
		                            .room_gone = on_room_gone,
		                            .room_came = on_room_came,
		                            .can_keep  = on_can_keep,
		                            .recorded  = on_recorded };
	table.boards = rooms_boards_new(&table.limits);
	cr_assert_not_null(table.boards);
	list_init(&table.seats);
	rooms_state_init(&table.state, &table.limits, &table.host, table.boards, 2);
	rooms_streams_init(&table.streams, &table.state, 3);
}

void table_close(void)
{
	while (!list_is_empty(&table.seats)) {
		struct table_seat *seat = CONTAINER(table.seats.next, struct table_seat, in_seats);

		while (rooms_offers_of(&table.streams, &seat->player))
			;
		table_rise(seat);
	}
	cr_expect_eq(table.state.player_count, 0);
	cr_expect_eq(table.state.named_count, 0);
	cr_expect_eq(table.state.room_count, 0);
	cr_expect_eq(table.state.blob_bytes, 0);
	cr_expect_eq(table.state.room_pool.used, 0);
	cr_expect_eq(table.state.member_pool.used, 0);
	cr_expect_eq(table.state.name_pool.used, table.state.taken_count);
	rooms_streams_fini(&table.streams);
	rooms_state_fini(&table.state);
	rooms_boards_free(table.boards);
}

/* Seats */

static struct rooms_origin origin_of(const char *ip)
{
	struct rooms_origin from = { .is_exempt = *ip == '!' };

	ip += from.is_exempt;
	from.is_ipv4 = inet_pton(AF_INET, ip, from.ip) == 1;
	if (from.is_ipv4)
		memcpy(from.addr, from.ip, sizeof(from.ip));
	else
		cr_assert_eq(inet_pton(AF_INET6, ip, from.addr), 1);
	return from;
}

struct table_seat *table_sit(const char *ip)
{
	struct table_seat  *seat = calloc(1, sizeof(*seat));
	struct rooms_origin from = origin_of(ip);

	cr_assert_not_null(seat);
	list_init(&seat->frames);
	list_append(&table.seats, &seat->in_seats);
	cr_assert(rooms_enter(&table.state, &seat->player, &from));
	seat->is_in = true;
	return seat;
}

void table_rise(struct table_seat *seat)
{
	rooms_leave(&table.state, &seat->player);
	seat->is_in = false;
	table_ignore(seat);
	list_remove(&seat->in_seats);
	free(seat);
}

void table_hello(struct table_seat *seat, const char *title, const char *name)
{
	table_say(seat, table_request_hello(title, name));
	table_expect(seat, "81 0011 00000001 ???????? ???????? ???????? ??");
}

struct table_seat *table_player(const char *ip, const char *name)
{
	struct table_seat *seat = table_sit(ip);

	table_hello(seat, TABLE_TITLE, name);
	return seat;
}

/* Saying */

struct rooms_request table_request_hello(const char *title, const char *name)
{
	struct rooms_request r = { .type = ROOMS_HELLO, .req = 1, .p2p_port = 3658 };

	memcpy(r.title, title, strnlen(title, sizeof(r.title)));
	memcpy(r.name, name, strnlen(name, sizeof(r.name)));
	return r;
}

struct rooms_blob table_blob(const char *text)
{
	return (struct rooms_blob){ .bytes = (const uint8_t *)text, .len = strlen(text) };
}

struct rooms_blob table_zeros(size_t len)
{
	static const uint8_t zeros[ROOMS_PAYLOAD_MAX];

	cr_assert_leq(len, sizeof(zeros));
	return (struct rooms_blob){ .bytes = zeros, .len = len };
}

static size_t build(uint8_t out[ROOMS_FRAME_MAX], const struct rooms_request *request)
{
	struct wr w = wr_over(out, ROOMS_FRAME_MAX);

	rooms_request_build(&w, request);
	cr_assert(wr_ok(&w));
	return wr_len(&w);
}

/* In memory of exactly its size, so that a read past its end is seen. */
void table_say_bytes(struct table_seat *seat, uint8_t type, const void *payload, size_t len)
{
	uint8_t *copy = malloc(len);

	cr_assert(copy || len == 0);
	if (len)
		memcpy(copy, payload, len);
	rooms_on_frame(&table.state, &seat->player, type, copy, len, table.now);
	free(copy);
}

void table_say(struct table_seat *seat, struct rooms_request request)
{
	static uint8_t frame[ROOMS_FRAME_MAX];
	size_t         len = build(frame, &request);

	table_say_bytes(seat, request.type, frame + ROOMS_HEAD_BYTES, len - ROOMS_HEAD_BYTES);
}

void table_say_short(struct table_seat *seat, struct rooms_request request, enum rooms_code code)
{
	static uint8_t frame[ROOMS_FRAME_MAX];
	size_t         len = build(frame, &request) - ROOMS_HEAD_BYTES;

	while (len-- > ROOMS_REQ_BYTES) {
		table_say_bytes(seat, request.type, frame + ROOMS_HEAD_BYTES, len);
		table_expect_error(seat, request.req, code);
	}
}

/* Expecting */

const uint8_t *table_take(struct table_seat *seat, size_t *len)
{
	static uint8_t taken[ROOMS_FRAME_MAX];
	struct list   *first = list_take_first(&seat->frames);
	struct frame  *frame = first ? CONTAINER(first, struct frame, in_frames) : NULL;

	*len = 0;
	if (!frame)
		return NULL;
	*len        = frame->len;
	seat->order = frame->order;
	memcpy(taken, frame->bytes, frame->len);
	free(frame);
	return taken;
}

void table_expect(struct table_seat *seat, const char *pattern)
{
	static struct pattern want;
	static char           got_text[512], want_text[512];
	size_t                len;
	const uint8_t        *got = table_take(seat, &len);

	pattern_read(&want, pattern);
	cr_assert(got, "%.16s gets nothing instead of %s", (const char *)seat->player.name, pattern);
	cr_assert(pattern_matches(&want, got, len), "%.16s gets\n\t%s instead of\n\t%s",
	          (const char *)seat->player.name, bytes_show(got_text, sizeof(got_text), got, len),
	          pattern_show(want_text, sizeof(want_text), &want));
}

static void expect_reply(struct table_seat *seat, enum rooms_type type, uint32_t req, uint32_t code)
{
	char text[64];

	if (type == ROOMS_ERROR)
		(void)snprintf(text, sizeof(text), "8F 0008 %08X %08X", req, code);
	else
		(void)snprintf(text, sizeof(text), "%02X 0004 %08X", (unsigned)type, req);
	table_expect(seat, text);
}

void table_expect_ok(struct table_seat *seat, uint32_t req)
{
	expect_reply(seat, ROOMS_OK, req, 0);
}

void table_expect_error(struct table_seat *seat, uint32_t req, enum rooms_code code)
{
	expect_reply(seat, ROOMS_ERROR, req, (uint32_t)code);
}

void table_expect_none(const struct table_seat *seat)
{
	static char text[512];

	if (list_is_empty(&seat->frames))
		return;

	const struct frame *frame = CONTAINER(seat->frames.next, struct frame, in_frames);

	cr_assert_fail("%.16s gets, unexpected,\n\t%s", (const char *)seat->player.name,
	               bytes_show(text, sizeof(text), frame->bytes, frame->len));
}

void table_expect_silence(void)
{
	for (struct list *at = table.seats.next; at != &table.seats; at = at->next)
		table_expect_none(CONTAINER(at, struct table_seat, in_seats));
}

void table_ignore(struct table_seat *seat)
{
	struct list *first;

	while ((first = list_take_first(&seat->frames)))
		free(CONTAINER(first, struct frame, in_frames));
}

void table_ignore_all(void)
{
	for (struct list *at = table.seats.next; at != &table.seats; at = at->next)
		table_ignore(CONTAINER(at, struct table_seat, in_seats));
}

/* Rooms and datagrams */

uint64_t table_create(struct table_seat *seat, uint8_t max)
{
	size_t len;

	table_say(seat, (struct rooms_request){ .type = ROOMS_CREATE_ROOM, .req = 2, .max = max });

	const uint8_t *frame = table_take(seat, &len);
	cr_assert(frame && frame[0] == ROOMS_ROOM_JOINED, "no room");
	struct rd r = rd_over(frame + ROOMS_HEAD_BYTES + ROOMS_REQ_BYTES, 8);
	return rd_be(&r, 8);
}

void table_join(struct table_seat *seat, uint64_t room)
{
	size_t len;

	table_say(seat, (struct rooms_request){ .type = ROOMS_JOIN_ROOM, .req = 3, .room_id = room });

	const uint8_t *frame = table_take(seat, &len);
	cr_assert(frame && frame[0] == ROOMS_ROOM_JOINED, "not let in");
	table_ignore_all();
}

void table_ip(uint8_t out[4], const char *ip)
{
	cr_assert_eq(inet_pton(AF_INET, ip, out), 1);
}

struct rooms_udp_step table_probe(struct table_seat *seat, uint16_t port, const char *local_ip)
{
	static uint8_t bytes[ROOMS_PROBE_BYTES];
	struct wr      w = wr_over(bytes, sizeof(bytes));
	uint8_t        local[4];

	table_ip(local, local_ip);
	wr_bytes(&w, "PSNR\1", 5);
	wr_be(&w, seat->player.user_id, 4);
	wr_be(&w, seat->player.token, 4);
	wr_bytes(&w, local, 4);
	return rooms_on_datagram(&table.state, seat->player.from.ip, port, bytes, sizeof(bytes), table.now.mono_ms);
}

void table_check(void)
{
	const char *wrong = rooms_check(&table.state);

	cr_assert_null(wrong, "%s", wrong);
}
