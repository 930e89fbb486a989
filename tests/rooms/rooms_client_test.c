/*
 * The tests' own client, against the bytes of the protocol document (section 18): what it asks is those, and it reads those.
 */
#include "support/rooms_client.h"
#include "support/rooms_path.h"

#include "base/auto.h"
#include "base/hex.h"

#include <criterion/criterion.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define TOKEN  0x1A2B3C4Du
#define TOKEN2 0x5E6F7081u

static struct gamer *c;
static int           fd = -1; /* the other end of the control connection */
static int           listener, udp;

static size_t unhex(uint8_t *out, const char *text)
{
	size_t len = 0;

	for (; *text; text++) {
		if (*text == ' ')
			continue;
		cr_assert_eq(hex_decode(out + len++, 1, text, 2), ERR_OK, "%s", text);
		text++;
	}
	return len;
}

static void start(void)
{
	struct sockaddr_in at   = { .sin_family = AF_INET };
	socklen_t          size = sizeof(at);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener           = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	cr_assert_eq(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
	cr_assert_eq(listen(listener, 8), 0);
	cr_assert_eq(getsockname(listener, (struct sockaddr *)&at, &size), 0);
	udp = dial_udp("127.0.0.1", ntohs(at.sin_port));
	cr_assert_geq(udp, 0);
	c  = gamer_dial_way(&(struct gamer_way){ .port = ntohs(at.sin_port) });
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	cr_assert_geq(fd, 0);
}

static void stop(void)
{
	gamer_free(c);
	close(fd);
	close(listener);
	close(udp);
}

TestSuite(rooms_client, .init = start, .fini = stop);

static void expect_bytes_on(int from, const char *hex)
{
	uint8_t wanted[512], got[512];
	size_t  len = unhex(wanted, hex);

	for (size_t have = 0; have < len;) {
		ssize_t n = dial_read(from, got + have, len - have, real_now_ms() + DIAL_PATIENCE_MS);

		cr_assert_gt(n, 0, "%zu of %zu bytes of %s", have, len, hex);
		have += (size_t)n;
	}
	cr_assert_eq(memcmp(got, wanted, len), 0, "%s", hex);
}

static void say(const char *hex)
{
	uint8_t bytes[512];
	size_t  len = unhex(bytes, hex);

	cr_assert(dial_send(fd, bytes, len, DIAL_PATIENCE_MS));
}

static const char hello[]     = "01 00 22  00 00 00 01  4E 50 57 52 30 30 30 30 31 5F 30 30"
				"61 6C 69 63 65 00 00 00 00 00 00 00 00 00 00 00  0E 4A";
static const char hello_ack[] = "81 00 11  00 00 00 01  00 00 00 05  C6 33 64 07  1A 2B 3C 4D  01";

static void say_hello(void)
{
	say(hello_ack);
	gamer_hello(c, "NPWR00001_00", "alice", 3658);
	expect_bytes_on(fd, hello);
}

Test(rooms_client, hello_is_asked_and_its_answer_read)
{
	say_hello();
	cr_expect_eq(c->user_id, 5);
	cr_expect_eq(c->token, TOKEN);
	cr_expect(c->relays);
}

Test(rooms_client, rooms_are_made_and_read)
{
	say_hello();
	say("90 00 3A  00 00 00 02  00 00 00 00 00 00 00 09  00 01  00 01  04  00 00 00 00  00 01 78  00 00  01"
	    "00 01  00 00 00 05  61 6C 69 63 65 00 00 00 00 00 00 00 00 00 00 00  C6 33 64 07  0E 4A  01  00 00");
	struct gamer_message *m = gamer_create(c, 4, TEXT("x"));

	expect_bytes_on(fd, "10 00 10  00 00 00 02  04  00 00 00 00  00 01 78  00 00  00 00");
	cr_expect_eq(m->room_id, 9);
	cr_expect(m->my_member == 1 && m->owner == 1 && m->max == 4);
	cr_expect(gamer_blob_is(m->external, TEXT("x")) && gamer_blob_is(m->internal, NOTHING));
	cr_expect_eq(m->count, 1);
	cr_expect(m->members->is_owner && m->members->user_id == 5 && m->members->port == 3658);
	cr_expect_str_eq(m->members->name, "alice");
	cr_expect_str_eq(m->members->ip, "198.51.100.7");
}

Test(rooms_client, replies_are_matched_by_number_while_the_rest_waits_in_order)
{
	struct gamer bob = { .user_id = 6, .name = "bob" };

	say("A1 00 27  00 00 00 00 00 00 00 09"
	    "00 02  00 00 00 06  62 6F 62 00 00 00 00 00 00 00 00 00 00 00 00 00  CB 00 71 09  9C 41  00  00 00");
	say("8F 00 08  00 00 00 03  00 00 00 07");
	say("A7 00 0D  00 00 00 00 00 00 00 09  00 00 00 06  01");
	gamer_ask_leave(c, 1);
	gamer_ask_leave(c, 2);
	gamer_expect_error(c, gamer_ask_leave(c, 3), SAYS_NO_HELLO);

	struct gamer_message *m = gamer_expect_joined(c, 9, &bob);

	cr_expect_eq(m->number, 1);
	cr_expect_str_eq(m->members->ip, "203.0.113.9");
	cr_expect_eq(m->members->port, 40001);
	gamer_expect_route(c, 9, 6, 1);
	close(fd);
	fd = -1;
	gamer_expect_end(c);
}

Test(rooms_client, requests_can_be_cut_and_lengthened)
{
	gamer_lengthen(c, -3);
	gamer_ask_search(c, 1, 2);
	expect_bytes_on(fd, "11 00 05  00 00 00 01  00");
	gamer_lengthen(c, 2);
	gamer_ask_search(c, 1, 2);
	expect_bytes_on(fd, "11 00 0A  00 00 00 02  00 01 00 02  AA AA");
	gamer_ask_search(c, 1, 2);
	expect_bytes_on(fd, "11 00 08  00 00 00 03  00 01 00 02");
}

Test(rooms_client, streams_are_asked_for_offered_and_accepted)
{
	say_hello();
	say("A6 00 0A  00 00 00 03  00 00 00 05  0E 4A");
	cr_expect_eq(gamer_expect_offer(c, 5, 3658), 3);

	struct gamer_leg *a   = gamer_leg_connect(c, 6, 3658);
	int               leg = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	expect_bytes_on(leg, "30 00 12  00 00 00 01  00 00 00 05  1A 2B 3C 4D  00 00 00 06  0E 4A");
	uint8_t ready[64];
	size_t  len = unhex(ready, "96 00 04  00 00 00 01 41 42");

	cr_assert(dial_send(leg, ready, len, DIAL_PATIENCE_MS));
	close(leg);
	gamer_leg_expect_ready(a);
	gamer_leg_expect(a, TEXT("AB"));
	gamer_leg_expect_end(a);

	c->user_id = 6;
	c->token   = TOKEN2;
	gamer_leg_accept(c, 3);
	leg = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	expect_bytes_on(leg, "31 00 10  00 00 00 01  00 00 00 06  5E 6F 70 81  00 00 00 03");
	close(leg);
}

static void expect_packet(const char *hex)
{
	uint8_t wanted[64], got[64];
	size_t  len = unhex(wanted, hex);
	ssize_t n   = dial_read(udp, got, sizeof(got), real_now_ms() + DIAL_PATIENCE_MS);

	cr_assert_eq(n, (ssize_t)len, "%s", hex);
	cr_assert_eq(memcmp(got, wanted, len), 0, "%s", hex);
}

static void send_packet(const char *hex)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(c->udp_port) };
	uint8_t            bytes[64];
	size_t             len = unhex(bytes, hex);

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	cr_assert_eq(sendto(udp, bytes, len, 0, (struct sockaddr *)&to, sizeof(to)), (ssize_t)len);
}

Test(rooms_client, datagrams_are_to_the_letter)
{
	uint8_t out[GAMER_PACKET_HEAD];

	say_hello();
	gamer_open_udp(c, 0);
	send_packet("50 53 4E 52  81  CB 00 71 09  9C 41");
	c->user_id = 6;
	c->token   = TOKEN2;
	gamer_probe_saying(c, (const uint8_t[]){ 192, 168, 1, 5 });
	expect_packet("50 53 4E 52  01  00 00 00 06  5E 6F 70 81  C0 A8 01 05");
	cr_expect_eq(c->public_port, 40001);
	cr_expect_eq(strcmp(c->public_ip, "203.0.113.9"), 0);

	gamer_send_udp(c, out, gamer_punch_packet(out, 6));
	expect_packet("50 53 4E 52  02  00 00 00 06");
	c->user_id = 5;
	c->token   = TOKEN;
	gamer_relay(c, 6, TEXT("hi"));
	expect_packet("50 53 4E 52  03  00 00 00 05  1A 2B 3C 4D  00 00 00 06  68 69");
	send_packet("50 53 4E 52  03  00 00 00 05  68 69");
	gamer_expect_relayed(c, 5, TEXT("hi"));
}
