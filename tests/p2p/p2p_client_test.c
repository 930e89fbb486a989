/*
 * The client of the tests itself: what it writes and reads is what the vectors say, without the server's own code.
 */
#include "support/p2p_client.h"
#include "support/vectors.h"

#include <criterion/criterion.h>

#include <string.h>

static struct vectors            all;
static struct p2p_client_session session = { .sid = { 1, 2, 3, 4, 5, 6, 7, 8 } };
static uint8_t                   mac[P2P_CLIENT_MAC_BYTES];

static void prepare(void)
{
	all = vectors_load("p2p.hex");
	for (size_t i = 0; i < sizeof(session.key); i++)
		session.key[i] = (uint8_t)i;
	memcpy(mac,
	       (const uint8_t[]){ 0x20, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28, 0x29, 0x2a, 0x2b, 0x2c, 0x2d,
	                          0x2e, 0x2f },
	       sizeof(mac));
}

static void finish(void)
{
	vectors_free(&all);
}

TestSuite(p2p_client, .init = prepare, .fini = finish);

static void expect_bytes(const char *name, const uint8_t *bytes, size_t len)
{
	const struct vector *v = vectors_find(&all, name);

	cr_expect_eq(len, v->len, "%s: %zu bytes", name, len);
	cr_expect(len == v->len && memcmp(bytes, v->data, len) == 0, "%s differs", name);
}

Test(p2p_client, its_packets_are_those_of_the_vectors)
{
	uint8_t                  bytes[P2P_CLIENT_PACKET_BYTES];
	struct p2p_client_packet p = { .type = P2P_CLIENT_HELLO, .step = 1, .time = 1000 };

	memcpy(p.nonce, (const uint8_t[]){ 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18 }, sizeof(p.nonce));
	p2p_client_packet_build(bytes, &p, &session);
	expect_bytes("hello", bytes, sizeof(bytes));
}

Test(p2p_client, it_reads_where_it_was_seen)
{
	const struct vector     *v = vectors_find(&all, "hello_ack");
	struct p2p_client_packet p;
	char                     shown[P2P_CLIENT_ADDRESS_TEXT];

	cr_assert(p2p_client_packet_read(&p, v->data, v->len, &session));
	cr_expect_eq(p.type, P2P_CLIENT_HELLO_ACK);
	cr_expect_eq(p.step, 1);
	cr_expect_eq(p.time, 0xa1b2c3d4);
	cr_expect_str_eq(p2p_client_address_show(shown, &p.seen), "203.0.113.14:61314");
}

Test(p2p_client, one_wrong_bit_anywhere_is_one_too_many)
{
	const struct vector *v = vectors_find(&all, "hello_ack");
	uint8_t              bytes[P2P_CLIENT_PACKET_BYTES];

	for (size_t i = 0; i < 8 * v->len; i++) {
		struct p2p_client_packet p;

		memcpy(bytes, v->data, v->len);
		bytes[i / 8] ^= (uint8_t)(1 << i % 8);
		cr_expect_not(p2p_client_packet_read(&p, bytes, v->len, &session), "bit %zu", i);
	}
}

/* It is the server's part to say these. */
Test(p2p_client, it_takes_no_packet_that_a_client_sends)
{
	const struct vector     *v = vectors_find(&all, "hello");
	struct p2p_client_packet p;

	cr_expect_not(p2p_client_packet_read(&p, v->data, v->len, &session));
}

Test(p2p_client, packets_between_players_are_those_of_the_vectors)
{
	struct p2p_client_punch punch = {
		.type = P2P_CLIENT_PUNCH, .epoch = 7, .from = 1, .to = 2, .nonce = 0xcafef00d, .time = 123456
	};
	struct p2p_client_link link = { .epoch   = 7,
		                        .seat    = 5,
		                        .leader  = 4,
		                        .flags   = P2P_CLIENT_RELIABLE,
		                        .ver     = 1,
		                        .cmd     = 300,
		                        .number  = 42,
		                        .message = (const uint8_t *)"hi",
		                        .len     = 2 };
	uint8_t                bytes[P2P_CLIENT_DATAGRAM_MAX];

	p2p_client_punch_build(bytes, &punch, mac);
	expect_bytes("punch", bytes, P2P_CLIENT_PUNCH_BYTES);
	punch.type = P2P_CLIENT_PUNCH_ACK;
	punch.from = 2;
	punch.to   = 1;
	p2p_client_punch_build(bytes, &punch, mac);
	expect_bytes("punch_ack", bytes, P2P_CLIENT_PUNCH_BYTES);
	expect_bytes("link", bytes, p2p_client_link_build(bytes, &link, mac));
	link.len = P2P_CLIENT_LINK_MAX + 1;
	cr_expect_eq(p2p_client_link_build(bytes, &link, mac), 0);
}

Test(p2p_client, what_players_say_is_read_with_the_key_of_the_epoch_alone)
{
	const struct vector    *punch = vectors_find(&all, "punch"), *link = vectors_find(&all, "link");
	struct p2p_client_punch p;
	struct p2p_client_link  l;

	cr_assert(p2p_client_punch_read(&p, punch->data, punch->len, mac));
	cr_expect(p.epoch == 7 && p.from == 1 && p.to == 2 && p.nonce == 0xcafef00d && p.time == 123456);
	cr_assert(p2p_client_link_read(&l, link->data, link->len, mac));
	cr_expect(l.epoch == 7 && l.seat == 5 && l.leader == 4 && l.number == 42 && l.cmd == 300 && l.len == 2);
	cr_expect_not(p2p_client_link_read(&l, punch->data, punch->len, mac));
	cr_expect_not(p2p_client_punch_read(&p, link->data, link->len, mac));
	mac[0] ^= 1;
	cr_expect_not(p2p_client_punch_read(&p, punch->data, punch->len, mac));
	cr_expect_not(p2p_client_link_read(&l, link->data, link->len, mac));
}

Test(p2p_client, the_sync_payload_names_everybody_and_every_ipv4_address)
{
	const struct vector          *v = vectors_find(&all, "sync_two");
	static struct p2p_client_sync sync;
	char                          shown[P2P_CLIENT_ADDRESS_TEXT];

	cr_assert(p2p_client_sync_read(&sync, v->data, v->len));
	cr_expect_eq(memcmp(sync.keys, v->data, sizeof(sync.keys)), 0);
	cr_assert_eq(sync.user_count, 2);
	cr_expect_str_eq(sync.users[0].uid, "alice");
	cr_assert_eq(sync.users[0].address_count, 2);
	cr_expect_str_eq(p2p_client_address_show(shown, &sync.users[0].addresses[0]), "203.0.113.14:61314");
	cr_expect_str_eq(p2p_client_address_show(shown, &sync.users[0].addresses[1]), "10.77.4.2:50000");
	cr_expect_str_eq(sync.users[1].uid, "bob");
	v = vectors_find(&all, "sync_ipv6");
	cr_assert(p2p_client_sync_read(&sync, v->data, v->len));
	cr_expect_eq(sync.user_count, 2);
	cr_expect_eq(sync.users[0].address_count, 0);
}

Test(p2p_client, a_sync_payload_that_is_cut_off_is_none)
{
	const struct vector          *v = vectors_find(&all, "sync_two");
	static struct p2p_client_sync sync;
	size_t                        good = 0;

	for (size_t len = 0; len < v->len; len++)
		good += p2p_client_sync_read(&sync, v->data, len);
	cr_expect_eq(good, 2, "%zu: the keys alone, and with one of the two, are whole", good);
}
