/*
 * Packets and frames: the vectors both ways with their tags, and everything that is none.
 */
#include "p2p/p2p_wire.h"

#include "base/auto.h"
#include "crypt/hash.h"
#include "support/vectors.h"

#include <criterion/criterion.h>
#include <string.h>

#define MAC_KEY_BYTES 16

static struct vectors    all;
static struct p2p_packet packet;
static struct p2p_frame  frame;

static void load(void)
{
	all = vectors_load("p2p.hex");
	cr_assert_eq(crypt_init(), ERR_OK);
}

static void unload(void)
{
	vectors_free(&all);
}

TestSuite(p2p_wire, .init = load, .fini = unload);

static bool begins_with(const struct vector *v, const char *prefix)
{
	return strncmp(v->name, prefix, strlen(prefix)) == 0;
}

static bool is_server_packet(const struct vector *v)
{
	return v->len == P2P_PACKET_BYTES && v->data[0] == 0xc0;
}

static bool parse(const struct vector *v)
{
	return p2p_packet_parse(&packet, v->data, v->len, v->to_server);
}

static bool has_tag(const struct vector *v, uint8_t first_of_key, size_t key_len)
{
	uint8_t key[P2P_KEY_BYTES], tag[P2P_TAG_BYTES];
	size_t  tagged = v->len - P2P_TAG_BYTES;

	for (size_t i = 0; i < key_len; i++)
		key[i] = (uint8_t)(first_of_key + i);
	hash_tag(tag, key, key_len, v->data, tagged);
	return memcmp(tag, v->data + tagged, sizeof(tag)) == 0;
}

Test(p2p_wire, each_packet_parses_builds_back_and_has_its_tag)
{
	size_t seen = 0;

	for (size_t i = 0; i < all.count; i++) {
		const struct vector *v = &all.rows[i];
		uint8_t              buf[P2P_PACKET_BYTES];

		if (!is_server_packet(v))
			continue;
		seen++;
		cr_assert(parse(v), "%s", v->name);
		p2p_packet_build(buf, &packet);
		cr_expect_arr_eq(buf, v->data, P2P_TAGGED_BYTES, "%s", v->name);
		cr_expect_arr_eq(packet.tag, v->data + P2P_TAGGED_BYTES, P2P_TAG_BYTES, "%s", v->name);
		cr_expect(has_tag(v, 0, P2P_KEY_BYTES), "%s", v->name);
	}
	cr_expect_eq(seen, 7);
}

Test(p2p_wire, the_tag_is_the_callers_and_its_place_is_left_alone)
{
	uint8_t buf[P2P_PACKET_BYTES];

	memset(buf, 0xee, sizeof(buf));
	cr_assert(parse(vectors_find(&all, "hello")));
	p2p_packet_build(buf, &packet);
	for (size_t i = P2P_TAGGED_BYTES; i < sizeof(buf); i++)
		cr_expect_eq(buf[i], 0xee);
}

Test(p2p_wire, fields_come_out_as_they_went_in)
{
	static const uint8_t sid[]   = { 1, 2, 3, 4, 5, 6, 7, 8 };
	static const uint8_t nonce[] = { 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18 };
	static const uint8_t ip[]    = { 203, 0, 113, 14 };

	cr_assert(parse(vectors_find(&all, "hello_ack")));
	cr_expect_eq(packet.type, P2P_HELLO_ACK);
	cr_expect_arr_eq(packet.sid, sid, sizeof(sid));
	cr_expect_arr_eq(packet.nonce, nonce, sizeof(nonce));
	cr_expect_eq(packet.step, 1);
	cr_expect_eq(packet.try, 0);
	cr_expect(packet.address.is_set);
	cr_expect_arr_eq(packet.address.ip, ip, sizeof(ip));
	cr_expect_eq(packet.address.port, 61314);
	cr_expect_eq(packet.time, 0xa1b2c3d4);

	cr_assert(parse(vectors_find(&all, "hello_outside")));
	cr_expect_eq(packet.type, P2P_HELLO);
	cr_expect_eq(packet.step, 0);
	cr_expect_eq(packet.try, 5);
	cr_expect_eq(packet.time, UINT32_MAX);
	cr_expect_not(packet.address.is_set);
	cr_expect_eq(packet.address.port, 0, "not the disguise of nothing");
}

Test(p2p_wire, each_type_comes_from_its_own_side_only)
{
	static const uint8_t to_server[] = { P2P_HELLO, P2P_PING_REPLY, P2P_OPEN };
	static const uint8_t to_client[] = { P2P_HELLO_ACK, P2P_PING_TRY };
	uint8_t              bytes[P2P_PACKET_BYTES];

	memcpy(bytes, vectors_find(&all, "hello")->data, sizeof(bytes));
	for (int type = 0; type < 256; type++) {
		bytes[3] = (uint8_t)type;
		cr_expect_eq(p2p_packet_parse(&packet, bytes, sizeof(bytes), true),
		             memchr(to_server, type, sizeof(to_server)) != NULL, "%d", type);
		cr_expect_eq(p2p_packet_parse(&packet, bytes, sizeof(bytes), false),
		             memchr(to_client, type, sizeof(to_client)) != NULL, "%d", type);
	}
}

Test(p2p_wire, a_packet_has_64_bytes)
{
	const struct vector *v                            = vectors_find(&all, "hello");
	uint8_t              longer[P2P_PACKET_BYTES + 1] = { 0 };

	memcpy(longer, v->data, v->len);
	for (size_t len = 0; len < P2P_PACKET_BYTES; len++) {
		uint8_t *exact = malloc(len ? len : 1);

		cr_assert_not_null(exact);
		memcpy(exact, v->data, len);
		cr_expect_not(p2p_packet_parse(&packet, exact, len, true), "%zu", len);
		free(exact);
	}
	cr_expect(p2p_packet_parse(&packet, longer, P2P_PACKET_BYTES, true));
	cr_expect_not(p2p_packet_parse(&packet, longer, sizeof(longer), true));
}

Test(p2p_wire, another_magic_version_or_family_is_none_and_leaves_out_alone)
{
	struct p2p_packet before;
	uint8_t           bytes[P2P_PACKET_BYTES];

	memset(&packet, 0x5a, sizeof(packet));
	before = packet;
	memcpy(bytes, vectors_find(&all, "hello")->data, sizeof(bytes));
	for (size_t bit = 0; bit < 24; bit++) {
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		cr_expect_not(p2p_packet_parse(&packet, bytes, sizeof(bytes), true), "bit %zu", bit);
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	for (int family = 2; family < 256; family++) {
		bytes[22] = (uint8_t)family;
		cr_expect_not(p2p_packet_parse(&packet, bytes, sizeof(bytes), true), "family %d", family);
	}
	cr_expect_arr_eq(&packet, &before, sizeof(packet));
}

Test(p2p_wire, what_is_zero_today_is_not_looked_at)
{
	static const uint8_t places[] = { 23, 24, 25, 26, 27, 28, 31, 32, 43 };
	struct p2p_packet    plain;
	uint8_t              bytes[P2P_PACKET_BYTES];

	memcpy(bytes, vectors_find(&all, "hello")->data, sizeof(bytes));
	cr_assert(p2p_packet_parse(&plain, bytes, sizeof(bytes), true));
	for (size_t i = 0; i < COUNT_OF(places); i++)
		bytes[places[i]] = 0xff;
	cr_assert(p2p_packet_parse(&packet, bytes, sizeof(bytes), true));
	cr_expect(p2p_endpoint_is_same(&packet.address, &plain.address));
	cr_expect_eq(packet.time, plain.time);
	cr_expect_arr_eq(packet.tag, plain.tag, sizeof(plain.tag));
}

Test(p2p_wire, no_address_stands_in_clear)
{
	static const uint8_t ips[][4] = { { 0, 0, 0, 0 }, { 255, 255, 255, 255 }, { 203, 0, 113, 14 } };

	for (size_t i = 0; i < COUNT_OF(ips); i++) {
		uint8_t bytes[P2P_PACKET_BYTES] = { 0 };

		packet = (struct p2p_packet){ .type    = P2P_HELLO_ACK,
			                      .sid     = { 0x80, 0x91, 0xa2, 0xb3 },
			                      .address = { .is_set = true, .port = 0xc00d } };
		memcpy(packet.address.ip, ips[i], sizeof(ips[i]));
		p2p_packet_build(bytes, &packet);
		cr_expect_arr_neq(bytes + 28, ips[i], sizeof(ips[i]));
		cr_expect_eq(bytes[24] << 8 | bytes[25], 0, "the port of the magic itself");
		cr_assert(p2p_packet_parse(&packet, bytes, sizeof(bytes), false));
		cr_expect_arr_eq(packet.address.ip, ips[i], sizeof(ips[i]));
		cr_expect_eq(packet.address.port, 0xc00d);
	}
}

Test(p2p_wire, packets_between_players_have_their_tags_and_are_not_the_servers)
{
	size_t seen = 0;

	for (size_t i = 0; i < all.count; i++) {
		const struct vector *v                       = &all.rows[i];
		uint8_t              as_64[P2P_PACKET_BYTES] = { 0 };

		if (v->data[0] != 0xc0 || is_server_packet(v))
			continue;
		seen++;
		cr_expect(has_tag(v, 0x20, MAC_KEY_BYTES), "%s", v->name);
		memcpy(as_64, v->data, v->len);
		for (int from_client = 0; from_client < 2; from_client++) {
			cr_expect_not(p2p_packet_parse(&packet, v->data, v->len, from_client), "%s", v->name);
			cr_expect_not(p2p_packet_parse(&packet, as_64, sizeof(as_64), from_client), "%s", v->name);
		}
	}
	cr_expect_eq(seen, 4);
}

Test(p2p_wire, endpoints_are_the_same_when_address_and_port_are)
{
	const struct p2p_endpoint a    = { .is_set = true, .ip = { 203, 0, 113, 14 }, .port = 61314 };
	const struct p2p_endpoint none = { 0 };
	struct p2p_endpoint       b    = a;

	cr_expect(p2p_endpoint_is_same(&a, &b));
	b.port++;
	cr_expect_not(p2p_endpoint_is_same(&a, &b));
	for (size_t i = 0; i < sizeof(b.ip); i++) {
		b = a;
		b.ip[i] ^= 1;
		cr_expect_not(p2p_endpoint_is_same(&a, &b));
	}
	cr_expect_not(p2p_endpoint_is_same(&a, &none));
	cr_expect_not(p2p_endpoint_is_same(&none, &a));
	b        = a;
	b.is_set = false;
	cr_expect(p2p_endpoint_is_same(&none, &b), "one nothing is like another, whatever lies in it");
}

Test(p2p_wire, each_frame_parses_and_builds_back)
{
	size_t seen = 0;

	for (size_t i = 0; i < all.count; i++) {
		const struct vector *v = &all.rows[i];
		uint8_t              head[P2P_FRAME_HEAD_BYTES];

		if (!begins_with(v, "frame_"))
			continue;
		seen++;
		cr_assert(p2p_frame_parse(&frame, v->data, v->len), "%s", v->name);
		p2p_frame_head(head, &frame);
		cr_expect_arr_eq(head, v->data, sizeof(head), "%s", v->name);
		cr_expect_eq(frame.content, v->data + sizeof(head), "%s", v->name);
		cr_expect_eq(frame.content_len, v->len - sizeof(head), "%s", v->name);
	}
	cr_expect_eq(seen, 9);
}

Test(p2p_wire, fields_of_a_frame_come_out_as_they_went_in)
{
	const struct vector *v = vectors_find(&all, "frame_link_pass_on");

	cr_assert(p2p_frame_parse(&frame, v->data, v->len));
	cr_expect_eq(frame.kind, P2P_LINK);
	cr_expect_eq(frame.flags, P2P_FLAG_RELIABLE | P2P_FLAG_PASS_ON);
	cr_expect_eq(frame.ver, 1);
	cr_expect_eq(frame.cmd, 300);
	cr_expect_eq(frame.seat, 4);
	cr_expect_eq(frame.number, 42);
	cr_expect_arr_eq(frame.content, "\x02\0\x05\0\x02hi", 7);
}

Test(p2p_wire, a_frame_has_12_bytes_and_may_have_no_more)
{
	uint8_t bytes[P2P_FRAME_HEAD_BYTES] = { P2P_RELAY };

	for (size_t len = 0; len < sizeof(bytes); len++) {
		uint8_t *exact = malloc(len ? len : 1);

		cr_assert_not_null(exact);
		memcpy(exact, bytes, len);
		cr_expect_not(p2p_frame_parse(&frame, exact, len), "%zu", len);
		free(exact);
	}
	cr_assert(p2p_frame_parse(&frame, bytes, sizeof(bytes)));
	cr_expect_eq(frame.content_len, 0);
}

Test(p2p_wire, no_other_kind_is_a_frame_and_byte_3_is_not_looked_at)
{
	uint8_t bytes[P2P_FRAME_HEAD_BYTES] = { 0 };

	for (unsigned kind = 0; kind < 256; kind++) {
		bytes[0] = (uint8_t)kind;
		bytes[3] = (uint8_t)kind;
		cr_expect_eq(p2p_frame_parse(&frame, bytes, sizeof(bytes)), kind >= P2P_SYNC && kind <= P2P_RELAY, "%u",
		             kind);
	}
}
