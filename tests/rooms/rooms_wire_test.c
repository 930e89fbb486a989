/*
 * Messages of the rooms as bytes and structs: the vectors both ways, and what every request is answered with when it is cut.
 */
#include "rooms/rooms_wire.h"

#include "base/auto.h"
#include "support/vectors.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define WHOLE SIZE_MAX

static bool is_datagram(const struct vector *v)
{
	return strncmp(v->name, "udp_", 4) == 0;
}

static bool is_request(const struct vector *v)
{
	return v->to_server && !is_datagram(v);
}

/* The first len bytes of the payload, in memory of their own. */
static enum rooms_code parse_start(struct rooms_request *out, const struct vector *v, size_t len, uint8_t **held)
{
	size_t   all     = v->len - ROOMS_HEAD_BYTES;
	size_t   take    = len < all ? len : all;
	uint8_t *payload = malloc(take ? take : 1);

	memcpy(payload, v->data + ROOMS_HEAD_BYTES, take);
	*held = payload;
	return rooms_parse(out, v->data[0], payload, take);
}

/* The request of a vector; its pointers are good until vectors_free. */
static struct rooms_request request_of(const struct vectors *all, const char *name)
{
	const struct vector *v = vectors_find(all, name);
	struct rooms_request request;

	cr_assert_eq(rooms_parse(&request, v->data[0], v->data + ROOMS_HEAD_BYTES, v->len - ROOMS_HEAD_BYTES),
	             ROOMS_FINE, "%s", name);
	return request;
}

static bool is_text(struct rooms_blob blob, const char *text)
{
	return blob.len == strlen(text) && memcmp(blob.bytes, text, blob.len) == 0;
}

Test(rooms_wire, every_request_of_the_vectors_parses_and_builds_back_to_the_same_bytes)
{
	struct vectors all   = vectors_load("rooms.hex");
	size_t         count = 0;

	for (size_t i = 0; i < all.count; i++) {
		const struct vector *v = &all.rows[i];
		struct rooms_request request;
		uint8_t             *payload, buf[VECTOR_BYTES_MAX];
		struct wr            w = wr_over(buf, sizeof(buf));

		if (!is_request(v))
			continue;
		cr_expect_eq(parse_start(&request, v, WHOLE, &payload), ROOMS_FINE, "%s", v->name);
		rooms_request_build(&w, &request);
		cr_expect(wr_len(&w) == v->len && memcmp(buf, v->data, v->len) == 0, "%s", v->name);
		free(payload);
		count++;
	}
	cr_expect_eq(count, 17);
	vectors_free(&all);
}

Test(rooms_wire, fields_of_rooms_land_where_they_belong)
{
	struct vectors       all = vectors_load("rooms.hex");
	struct rooms_request r   = request_of(&all, "hello");

	cr_expect_eq(r.type, ROOMS_HELLO);
	cr_expect_eq(r.req, 1);
	cr_expect_eq(memcmp(r.title, "NPWR00001_00", ROOMS_TITLE_BYTES), 0);
	cr_expect_eq(memcmp(r.name, "alice\0\0\0\0\0\0\0\0\0\0", ROOMS_NAME_BYTES), 0);
	cr_expect_eq(r.p2p_port, 3658);

	r = request_of(&all, "create_room");
	cr_expect_eq(r.req, 2);
	cr_expect_eq(r.max, 4);
	cr_expect_eq(r.flags, 0);
	cr_expect(is_text(r.external, "x"));
	cr_expect(is_text(r.internal, "") && is_text(r.member_data, ""));

	r = request_of(&all, "search_rooms");
	cr_expect(r.start == 0 && r.want == 100);
	r = request_of(&all, "join_room");
	cr_expect(r.room_id == 9 && is_text(r.member_data, "yz"));
	r = request_of(&all, "leave_room");
	cr_expect_eq(r.room_id, 9);
	r = request_of(&all, "set_room_data");
	cr_expect(r.room_id == 9 && r.which == ROOMS_WHICH_FLAGS);
	cr_expect(r.data.len == 4 && memcmp(r.data.bytes, "\x00\x00\x01\x02", 4) == 0);
	r = request_of(&all, "room_message");
	cr_expect(r.room_id == 9 && r.to == 2 && is_text(r.data, "hi"));
	r = request_of(&all, "kick_member");
	cr_expect(r.room_id == 9 && r.member_id == 2);
	vectors_free(&all);
}

Test(rooms_wire, fields_of_scores_and_streams_land_where_they_belong)
{
	struct vectors       all = vectors_load("rooms.hex");
	struct rooms_request r   = request_of(&all, "record_score");

	cr_expect(r.board == 1 && r.order == 0 && r.score == -2 && is_text(r.comment, "ok"));
	r = request_of(&all, "record_score_less");
	cr_expect(r.board == 0x01020304 && r.order == 1 && r.score == 0x0102030405060708);
	r = request_of(&all, "get_ranking");
	cr_expect(r.board == 1 && r.rank_start == 3 && r.count == 10);
	r = request_of(&all, "get_ranking_by_id");
	cr_expect(r.board == 1 && r.count == 2);
	cr_expect(memcmp(r.names, "alice", 6) == 0 && memcmp(r.names + ROOMS_NAME_BYTES, "bob", 4) == 0);
	r = request_of(&all, "stream_connect");
	cr_expect(r.user_id == 5 && r.token == 0x1a2b3c4d && r.to_user == 6 && r.vport == 3658);
	r = request_of(&all, "stream_accept");
	cr_expect(r.user_id == 6 && r.token == 0x5e6f7081 && r.stream_id == 3);
	vectors_free(&all);
}

/* What a cut request is answered with; with fewer bytes than `more` it is BAD. */
static const struct cut_case {
	uint8_t         type;
	size_t          more;
	enum rooms_code otherwise;
} cut_cases[] = {
	{ ROOMS_HELLO, WHOLE, ROOMS_BAD },
	{ ROOMS_HEARTBEAT, WHOLE, ROOMS_BAD },
	{ ROOMS_CREATE_ROOM, WHOLE, ROOMS_BAD },
	{ ROOMS_SEARCH_ROOMS, WHOLE, ROOMS_BAD },
	{ ROOMS_JOIN_ROOM, WHOLE, ROOMS_BAD },
	{ ROOMS_LEAVE_ROOM, ROOMS_REQ_BYTES, ROOMS_NOT_IN_ROOM },
	{ ROOMS_SET_ROOM_DATA, WHOLE, ROOMS_BAD },
	{ ROOMS_ROOM_MESSAGE, WHOLE, ROOMS_BAD },
	{ ROOMS_KICK_MEMBER, WHOLE, ROOMS_BAD },
	{ ROOMS_RECORD_SCORE, WHOLE, ROOMS_BAD },
	{ ROOMS_GET_RANKING, WHOLE, ROOMS_BAD },
	{ ROOMS_GET_RANKING_BY_ID, WHOLE, ROOMS_BAD },
	{ ROOMS_STREAM_CONNECT, ROOMS_REQ_BYTES + 8, ROOMS_NOT_FOUND },
	{ ROOMS_STREAM_ACCEPT, ROOMS_REQ_BYTES + 8, ROOMS_NOT_FOUND },
};

static const struct cut_case *cut_case_of(uint8_t type)
{
	for (size_t i = 0; i < COUNT_OF(cut_cases); i++)
		if (cut_cases[i].type == type)
			return &cut_cases[i];
	cr_assert(false, "no case for type %u", type);
	return NULL;
}

Test(rooms_wire, a_request_cut_anywhere_gives_its_code_and_what_is_there_of_req)
{
	struct vectors all = vectors_load("rooms.hex");

	for (size_t i = 0; i < all.count; i++) {
		const struct vector *v = &all.rows[i];

		for (size_t len = 0; is_request(v) && len < v->len - ROOMS_HEAD_BYTES; len++) {
			const struct cut_case *c    = cut_case_of(v->data[0]);
			enum rooms_code        want = len < c->more ? ROOMS_BAD : c->otherwise;
			struct rooms_request   request;
			uint8_t               *payload;

			cr_expect_eq(parse_start(&request, v, len, &payload), want, "%zu bytes of %s", len, v->name);
			cr_expect_eq(request.type, v->data[0]);
			cr_expect_eq(request.req, len < ROOMS_REQ_BYTES ? 0 : v->data[6], "%zu bytes of %s", len,
			             v->name);
			free(payload);
		}
	}
	vectors_free(&all);
}

Test(rooms_wire, bytes_behind_the_last_field_are_ignored)
{
	struct vectors all = vectors_load("rooms.hex");

	for (size_t i = 0; i < all.count; i++) {
		const struct vector *v = &all.rows[i];
		struct rooms_request request;
		uint8_t              longer[VECTOR_BYTES_MAX + 3], back[VECTOR_BYTES_MAX];
		struct wr            w = wr_over(back, sizeof(back));

		if (!is_request(v))
			continue;
		memset(longer, 0xff, sizeof(longer));
		memcpy(longer, v->data, v->len);
		cr_expect_eq(rooms_parse(&request, v->data[0], longer + ROOMS_HEAD_BYTES, v->len), ROOMS_FINE, "%s",
		             v->name);
		rooms_request_build(&w, &request);
		cr_expect(wr_len(&w) == v->len && memcmp(back, v->data, v->len) == 0, "%s", v->name);
	}
	vectors_free(&all);
}

Test(rooms_wire, a_type_that_is_no_request_is_bad_but_has_its_req)
{
	for (unsigned type = 0; type < 256; type++) {
		uint8_t              payload[4096] = { 0, 0, 1, 2 };
		struct rooms_request request;
		bool                 is_known = false;

		for (size_t i = 0; i < COUNT_OF(cut_cases); i++)
			is_known |= cut_cases[i].type == type;
		cr_expect_eq(rooms_parse(&request, (uint8_t)type, payload, sizeof(payload)),
		             is_known ? ROOMS_FINE : ROOMS_BAD, "type %u", type);
		cr_expect_eq(request.req, 0x0102, "type %u", type);
		cr_expect_eq(request.type, type);
	}
}

Test(rooms_wire, a_type_that_is_no_request_is_not_built)
{
	struct rooms_request request = { .type = ROOMS_HELLO_ACK };
	uint8_t              buf[64];
	struct wr            w = wr_over(buf, sizeof(buf));

	rooms_request_build(&w, &request);
	cr_expect_not(wr_ok(&w));
}

Test(rooms_wire, a_blob_must_be_there_to_its_last_byte)
{
	/* JOIN_ROOM with member data that is said to have 65535 bytes. */
	static uint8_t       payload[4 + 8 + 2 + 65535] = { [4 + 8] = 0xff, [4 + 8 + 1] = 0xff };
	struct rooms_request request;

	cr_expect_eq(rooms_parse(&request, ROOMS_JOIN_ROOM, payload, sizeof(payload)), ROOMS_FINE);
	cr_expect_eq(request.member_data.len, 65535);
	cr_expect_eq(request.member_data.bytes, payload + 14);
	cr_expect_eq(rooms_parse(&request, ROOMS_JOIN_ROOM, payload, sizeof(payload) - 1), ROOMS_BAD);
	cr_expect_eq(request.member_data.len, 0);
}

Test(rooms_wire, names_that_are_asked_for_must_be_there_but_how_many_is_not_judged_here)
{
	uint8_t              payload[4 + 4 + 2 + 101 * ROOMS_NAME_BYTES] = { [9] = 101 };
	struct rooms_request request;

	cr_expect_eq(rooms_parse(&request, ROOMS_GET_RANKING_BY_ID, payload, sizeof(payload)), ROOMS_FINE);
	cr_expect_eq(request.count, 101);
	cr_expect_eq(request.names, payload + 10);
	cr_expect_eq(rooms_parse(&request, ROOMS_GET_RANKING_BY_ID, payload, sizeof(payload) - 1), ROOMS_BAD);
	cr_expect_null(request.names);
}

Test(rooms_wire, a_text_ends_at_its_first_nul_and_what_follows_is_gone)
{
	struct vectors       all = vectors_load("rooms.hex");
	struct vector        v   = *vectors_find(&all, "hello");
	struct rooms_request request;
	uint8_t             *payload;

	memcpy(v.data + 7, "NPWR\0secret", 11);
	memcpy(v.data + 19, "\0homer", 6);
	cr_expect_eq(parse_start(&request, &v, WHOLE, &payload), ROOMS_FINE);
	cr_expect_eq(memcmp(request.title, "NPWR\0\0\0\0\0\0\0", ROOMS_TITLE_BYTES), 0);
	cr_expect_eq(memcmp(request.name, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", ROOMS_NAME_BYTES), 0);
	free(payload);
	vectors_free(&all);
}

Test(rooms_wire, a_text_that_fills_its_field_needs_no_nul)
{
	struct vectors       all = vectors_load("rooms.hex");
	struct vector        v   = *vectors_find(&all, "hello");
	struct rooms_request request;
	uint8_t             *payload;

	memcpy(v.data + 19, "abcdefghijklmnop", ROOMS_NAME_BYTES);
	cr_expect_eq(parse_start(&request, &v, WHOLE, &payload), ROOMS_FINE);
	cr_expect_eq(memcmp(request.name, "abcdefghijklmnop", ROOMS_NAME_BYTES), 0);
	cr_expect_eq(rooms_text_len(request.name, ROOMS_NAME_BYTES), 16);
	cr_expect_eq(rooms_text_len((const uint8_t *)"abc\0def", 7), 3);
	cr_expect_eq(rooms_text_len((const uint8_t *)"\0bc", 3), 0);
	cr_expect_eq(rooms_text_len((const uint8_t *)"", 0), 0);
	free(payload);
	vectors_free(&all);
}

Test(rooms_wire, only_ascii_capitals_are_folded)
{
	uint8_t out[ROOMS_NAME_BYTES];

	for (unsigned c = 0; c < 256; c++) {
		uint8_t name[ROOMS_NAME_BYTES] = { [0] = (uint8_t)c, [15] = (uint8_t)c };
		uint8_t want                   = (uint8_t)(c >= 0x41 && c <= 0x5a ? c + 0x20 : c);

		rooms_fold(out, name);
		cr_expect(out[0] == want && out[15] == want, "byte %u", c);
		rooms_fold(name, name);
		cr_expect_eq(memcmp(out, name, sizeof(out)), 0, "in place");
	}
}

/* --- Frames that the server sends --- */

static void put_hello_ack(struct wr *w)
{
	static const uint8_t ip[4] = { 198, 51, 100, 7 };
	size_t               at    = rooms_frame_begin(w, ROOMS_HELLO_ACK);

	wr_be(w, 1, 4);
	wr_be(w, 5, 4);
	wr_bytes(w, ip, 4);
	wr_be(w, 0x1a2b3c4d, 4);
	wr_be(w, 1, 1);
	rooms_frame_end(w, at);
}

static void put_room_joined(struct wr *w)
{
	const struct rooms_member_entry alice = {
		.member_id = 1,
		.user_id   = 5,
		.name      = (const uint8_t *)"alice\0\0\0\0\0\0\0\0\0\0",
		.ip        = { 198, 51, 100, 7 },
		.port      = 3658,
		.is_owner  = true,
	};
	size_t at = rooms_frame_begin(w, ROOMS_ROOM_JOINED);

	wr_be(w, 2, 4);
	wr_be(w, 9, 8);
	wr_be(w, 1, 2);
	wr_be(w, 1, 2);
	wr_be(w, 4, 1);
	wr_be(w, 0, 4);
	rooms_blob_put(w, "x", 1);
	rooms_blob_put(w, NULL, 0);
	wr_be(w, 1, 1);
	rooms_member_put(w, &alice);
	rooms_frame_end(w, at);
}

static void put_member_joined(struct wr *w)
{
	const struct rooms_member_entry bob = {
		.member_id = 2,
		.user_id   = 6,
		.name      = (const uint8_t *)"bob\0\0\0\0\0\0\0\0\0\0\0\0",
		.ip        = { 203, 0, 113, 9 },
		.port      = 40001,
	};
	size_t at = rooms_frame_begin(w, ROOMS_MEMBER_JOINED);

	wr_be(w, 9, 8);
	rooms_member_put(w, &bob);
	rooms_frame_end(w, at);
}

static void put_error(struct wr *w)
{
	size_t at = rooms_frame_begin(w, ROOMS_ERROR);

	wr_be(w, 3, 4);
	wr_be(w, ROOMS_NO_HELLO, 4);
	rooms_frame_end(w, at);
}

static void put_route(struct wr *w)
{
	size_t at = rooms_frame_begin(w, ROOMS_ROUTE);

	wr_be(w, 9, 8);
	wr_be(w, 6, 4);
	wr_be(w, 1, 1);
	rooms_frame_end(w, at);
}

static void put_stream_offer(struct wr *w)
{
	size_t at = rooms_frame_begin(w, ROOMS_STREAM_OFFER);

	wr_be(w, 3, 4);
	wr_be(w, 5, 4);
	wr_be(w, 3658, 2);
	rooms_frame_end(w, at);
}

static void put_stream_ready(struct wr *w)
{
	size_t at = rooms_frame_begin(w, ROOMS_STREAM_READY);

	wr_be(w, 1, 4);
	rooms_frame_end(w, at);
}

static const struct sent_case {
	const char *name;
	void (*put)(struct wr *w);
} sent_cases[] = {
	{ "hello_ack", put_hello_ack },
	{ "room_joined", put_room_joined },
	{ "member_joined", put_member_joined },
	{ "error", put_error },
	{ "route", put_route },
	{ "stream_offer", put_stream_offer },
	{ "stream_ready", put_stream_ready },
};

Test(rooms_wire, frames_of_the_server_are_built_to_the_bytes_of_the_vectors)
{
	struct vectors all = vectors_load("rooms.hex");
	uint8_t        buf[1024];
	struct wr      w = wr_over(buf, sizeof(buf));

	/* One behind the other: each frame's length is its own. */
	for (size_t i = 0; i < COUNT_OF(sent_cases); i++) {
		const struct vector *v  = vectors_find(&all, sent_cases[i].name);
		size_t               at = wr_len(&w);

		sent_cases[i].put(&w);
		cr_expect(wr_len(&w) - at == v->len && memcmp(buf + at, v->data, v->len) == 0, "%s", v->name);
	}
	vectors_free(&all);
}

Test(rooms_wire, a_frame_without_room_fails_at_every_length)
{
	for (size_t i = 0; i < COUNT_OF(sent_cases); i++) {
		uint8_t   buf[VECTOR_BYTES_MAX];
		struct wr whole = wr_over(buf, sizeof(buf));

		sent_cases[i].put(&whole);
		for (size_t cap = 0; cap < wr_len(&whole); cap++) {
			struct wr w = wr_over(buf, cap);

			sent_cases[i].put(&w);
			cr_expect_not(wr_ok(&w), "%s in %zu bytes", sent_cases[i].name, cap);
		}
	}
}

/* A frame of blobs, so that its payload has so many bytes. */
static bool fits(uint8_t *buf, size_t cap, size_t payload)
{
	static const uint8_t data[40000];
	struct wr            w  = wr_over(buf, cap);
	size_t               at = rooms_frame_begin(&w, ROOMS_ROOM_DATA);

	rooms_blob_put(&w, data, 30000);
	rooms_blob_put(&w, data, payload - 30000 - 4);
	rooms_frame_end(&w, at);
	return wr_ok(&w);
}

Test(rooms_wire, a_payload_of_65535_bytes_is_a_frame_and_one_byte_more_is_none)
{
	static uint8_t buf[ROOMS_FRAME_MAX + 64];

	cr_expect(fits(buf, sizeof(buf), ROOMS_PAYLOAD_MAX));
	cr_expect(buf[1] == 0xff && buf[2] == 0xff);
	cr_expect_not(fits(buf, sizeof(buf), ROOMS_PAYLOAD_MAX + 1));
}

Test(rooms_wire, a_blob_of_65535_bytes_is_put_and_a_longer_one_fails)
{
	static const uint8_t data[65536];
	static uint8_t       buf[3 << 16];
	struct wr            w = wr_over(buf, sizeof(buf));

	rooms_blob_put(&w, data, 65535);
	cr_expect_eq(wr_len(&w), 65537);
	rooms_blob_put(&w, data, 65536);
	cr_expect_not(wr_ok(&w));
}

Test(rooms_wire, what_is_not_blobs_in_a_room_joined_is_counted_right)
{
	struct vectors all = vectors_load("rooms.hex");

	/* One member, one byte of blobs. */
	cr_expect_eq(vectors_find(&all, "room_joined")->len,
	             ROOMS_HEAD_BYTES + ROOMS_JOINED_FIXED_BYTES + ROOMS_MEMBER_FIXED_BYTES + 1);
	vectors_free(&all);
}

/* --- Datagrams --- */

Test(rooms_wire, probes_and_relayed_packets_of_the_vectors_parse)
{
	struct vectors       all = vectors_load("rooms.hex");
	const struct vector *v   = vectors_find(&all, "udp_probe");
	struct rooms_packet  p;

	cr_assert(rooms_packet_parse(&p, v->data, v->len));
	cr_expect_eq(p.type, ROOMS_UDP_PROBE);
	cr_expect(p.user_id == 6 && p.token == 0x5e6f7081 && p.to_user == 0);
	cr_expect_eq(memcmp(p.local_ip, "\xc0\xa8\x01\x05", 4), 0);

	v = vectors_find(&all, "udp_relay_in");
	cr_assert(rooms_packet_parse(&p, v->data, v->len));
	cr_expect_eq(p.type, ROOMS_UDP_RELAY);
	cr_expect(p.user_id == 5 && p.token == 0x1a2b3c4d && p.to_user == 6);
	cr_expect_eq(memcmp(p.local_ip, "\0\0\0", 4), 0);
	vectors_free(&all);
}

Test(rooms_wire, the_servers_packets_are_built_to_the_bytes_of_the_vectors)
{
	static const uint8_t ip[4] = { 203, 0, 113, 9 };
	struct vectors       all   = vectors_load("rooms.hex");
	struct vector        in    = *vectors_find(&all, "udp_relay_in");
	const struct vector *out   = vectors_find(&all, "udp_relay_out");
	uint8_t              reply[ROOMS_PROBE_REPLY_BYTES];
	size_t               len = in.len;

	rooms_probe_reply_build(reply, ip, 40001);
	cr_expect_eq(memcmp(reply, vectors_find(&all, "udp_probe_reply")->data, sizeof(reply)), 0);

	const uint8_t *turned = rooms_relay_turn(in.data, &len, 5);

	cr_expect(len == out->len && memcmp(turned, out->data, len) == 0);
	cr_expect_eq(turned + len, in.data + in.len, "the payload stays where it is");
	vectors_free(&all);
}

Test(rooms_wire, a_relayed_packet_may_be_empty)
{
	uint8_t bytes[ROOMS_RELAY_IN_BYTES] = { 'P', 'S', 'N', 'R', ROOMS_UDP_RELAY };
	size_t  len                         = sizeof(bytes);

	rooms_relay_turn(bytes, &len, 1);
	cr_expect_eq(len, ROOMS_RELAY_OUT_BYTES);
}

Test(rooms_wire, packets_need_their_seventeen_bytes_and_may_have_more)
{
	static const uint8_t types[] = { ROOMS_UDP_PROBE, ROOMS_UDP_RELAY };

	for (size_t i = 0; i < COUNT_OF(types); i++) {
		for (size_t len = 0; len < 64; len++) {
			uint8_t            *bytes = calloc(1, len ? len : 1);
			struct rooms_packet p;
			const uint8_t       head[5] = { 'P', 'S', 'N', 'R', types[i] };

			memcpy(bytes, head, len < sizeof(head) ? len : sizeof(head));
			cr_expect_eq(rooms_packet_parse(&p, bytes, len), len >= 17, "type %u, %zu bytes", types[i],
			             len);
			free(bytes);
		}
	}
}

Test(rooms_wire, packets_of_other_types_or_protocols_are_none)
{
	struct rooms_packet p;

	for (unsigned type = 0; type < 256; type++) {
		uint8_t bytes[32] = { 'P', 'S', 'N', 'R', (uint8_t)type };

		cr_expect_eq(rooms_packet_parse(&p, bytes, sizeof(bytes)), type == 1 || type == 3, "type %u", type);
	}
	for (size_t i = 0; i < 4; i++) {
		uint8_t bytes[32] = { 'P', 'S', 'N', 'R', ROOMS_UDP_PROBE };

		bytes[i] ^= 0x20;
		cr_expect_not(rooms_packet_parse(&p, bytes, sizeof(bytes)), "byte %zu", i);
	}
}
