/*
 * Addresses of sessions, of the whole server: the outside one by HELLO and its cookie, local ones, and what of both the others
 * in a room are told.
 */
#include "support/p2p_client_wire.h"
#include "support/p2p_raw.h"

#include "base/auto.h"
#include "base/base64.h"
#include "base/bytes.h"
#include "base/hex.h"
#include "p2p/p2p_wire.h"
#include "support/dial.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define DROPPED "coopd_p2p_udp_dropped_total"

static struct server *s;

static void start_with(const char *const *sets)
{
	s = server_start(sets);
}

static void start(void)
{
	start_with(NULL);
}

static void stop(void)
{
	server_finish(s);
}

TestSuite(p2p_mapped, .init = start, .fini = stop, .timeout = 120);

/* A session, and the socket of its game. */
struct player {
	struct ws_client         *ws;
	int                       fd;
	struct p2p_client_session session;
	uint32_t                  time;
	char                      uid[20];
};

static void learn(struct player *p, const char *text)
{
	char    value[80];
	uint8_t key[BASE64_DECODED_BYTES(BASE64_BYTES(32))];
	size_t  len;

	p2p_raw_text(p->uid, sizeof(p->uid), text, "uid");
	p2p_raw_text(value, sizeof(value), text, "sid");
	cr_assert_eq(hex_decode(p->session.sid, sizeof(p->session.sid), value, strlen(value)), ERR_OK);
	p2p_raw_text(value, sizeof(value), text, "key");
	cr_assert_eq(base64_decode(key, &len, value, strlen(value)), ERR_OK);
	memcpy(p->session.key, key, sizeof(p->session.key));
}

static void come_from(struct player *p, int number, const char *client)
{
	*p    = (struct player){ .fd = dial_udp("127.0.0.1", 0) };
	p->ws = p2p_raw_open(s, client);
	learn(p, p2p_raw_hello(p->ws, number));
}

static void come(struct player *p, int number)
{
	come_from(p, number, NULL);
}

static void go(struct player *p)
{
	ws_client_free(p->ws);
	close(p->fd);
}

/* The packet leaves from this socket to that port of the first address. */
static void send_to(const struct player *p, int fd, int port, const struct p2p_client_packet *k, int flip)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	uint8_t            bytes[P2P_CLIENT_PACKET_BYTES];

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	p2p_client_packet_build(bytes, k, &p->session);
	if (flip >= 0)
		bytes[flip] ^= 1;
	cr_assert_eq(sendto(fd, bytes, sizeof(bytes), 0, (const struct sockaddr *)&at, sizeof(at)),
	             (ssize_t)sizeof(bytes));
}

static struct p2p_client_packet hello_at(uint32_t time)
{
	return (struct p2p_client_packet){ .type = P2P_CLIENT_HELLO, .nonce = { 1, 2, 3 }, .try = 4, .time = time };
}

static void say_hello(struct player *p, int fd)
{
	struct p2p_client_packet k = hello_at(++p->time);

	send_to(p, fd, s->p2p_port, &k, -1);
}

/* Its answer; the cookie. */
static uint32_t hear_cookie(struct player *p, int fd)
{
	uint8_t                  bytes[128];
	struct p2p_client_packet k;
	struct sockaddr_in       own;
	socklen_t                size    = sizeof(own);
	int64_t                  late_ms = real_now_ms() + DIAL_PATIENCE_MS;
	ssize_t                  n;

	while ((n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT)) < 0) {
		cr_assert_lt(real_now_ms(), late_ms, "no answer to HELLO");
		real_sleep_ms(5);
	}
	cr_assert(p2p_client_packet_read(&k, bytes, (size_t)n, &p->session));
	cr_expect_eq(k.type, P2P_CLIENT_HELLO_ACK);
	cr_expect_eq(k.nonce[2], 3);
	cr_expect_eq(k.try, 4);
	cr_assert_eq(getsockname(fd, (struct sockaddr *)&own, &size), 0);
	cr_expect_eq(k.seen.port, ntohs(own.sin_port));
	cr_expect_eq(memcmp(k.seen.ip, &own.sin_addr, 4), 0);
	return k.time;
}

static uint32_t cookie_of(struct player *p, int fd)
{
	say_hello(p, fd);
	return hear_cookie(p, fd);
}

static const char *return_cookie(struct player *p, uint32_t cookie)
{
	return p2p_raw_ask(p->ws, "{\"op\":\"p2p.mapped\",\"id\":2,\"cookie\":%u}", (unsigned)cookie);
}

static void be_mapped(struct player *p)
{
	const char *text = return_cookie(p, cookie_of(p, p->fd));

	cr_assert(strstr(text, "\"ok\":true"), "%s", text);
}

static const char *own_address(int fd)
{
	static char        text[32];
	struct sockaddr_in own  = { 0 };
	socklen_t          size = sizeof(own);

	cr_assert_eq(getsockname(fd, (struct sockaddr *)&own, &size), 0);
	snprintf(text, sizeof(text), "\"127.0.0.1:%d\"", ntohs(own.sin_port));
	return text;
}

/* --- The outside address --- */

Test(p2p_mapped, the_address_counts_when_its_cookie_came_back)
{
	struct player p;
	uint32_t      cookie;
	const char   *text;

	come(&p, 1);
	cr_expect(p2p_raw_has(return_cookie(&p, 0), "\"stale\""), "none was given");
	cookie = cookie_of(&p, p.fd);
	cr_expect(p2p_raw_has(return_cookie(&p, cookie + 1), "\"stale\""));
	cr_expect(p2p_raw_has(p2p_raw_ask(p.ws, "{\"op\":\"p2p.mapped\",\"id\":2,\"cookie\":\"%u\"}", cookie),
	                      "\"bad_request\""));
	cr_expect(p2p_raw_has(p2p_raw_ask(p.ws, "{\"op\":\"p2p.mapped\",\"id\":2}"), "\"bad_request\""));
	cr_expect(p2p_raw_has(p2p_raw_ask(p.ws, "{\"op\":\"p2p.mapped\",\"cookie\":%lld}",
	                                  (long long)cookie + 0x100000000LL),
	                      "\"stale\""),
	          "all of it is compared");
	text = return_cookie(&p, cookie);
	cr_expect(p2p_raw_has(text, "\"ok\":true \"mapped\"") && strstr(text, own_address(p.fd)), "%s", text);
	go(&p);
}

Test(p2p_mapped, a_new_address_has_a_new_cookie_and_the_old_one_is_void)
{
	struct player p;
	int           other = dial_udp("127.0.0.1", 0);
	uint32_t      first, second;

	come(&p, 1);
	first = cookie_of(&p, p.fd);
	cr_expect_eq(cookie_of(&p, p.fd), first, "the same address");
	second = cookie_of(&p, other);
	cr_expect_neq(second, first);
	cr_expect(p2p_raw_has(return_cookie(&p, first), "\"stale\""));
	cr_expect(strstr(return_cookie(&p, second), own_address(other)) != NULL);
	close(other);
	go(&p);
}

Test(p2p_mapped, packets_with_an_older_time_another_place_or_a_wrong_tag_are_dropped)
{
	struct player            p;
	struct p2p_client_packet k;

	come(&p, 1);
	p.time = 0x7ffffff0;
	cookie_of(&p, p.fd);
	k = hello_at(p.time);
	send_to(&p, p.fd, s->p2p_port, &k, -1);
	server_await_metric(s, DROPPED, "time", 1, DIAL_PATIENCE_MS);
	k.time = p.time - 1;
	send_to(&p, p.fd, s->p2p_port, &k, -1);
	server_await_metric(s, DROPPED, "time", 2, DIAL_PATIENCE_MS);
	k.time = ++p.time;
	send_to(&p, p.fd, s->p2p_alt_port, &k, -1);
	server_await_metric(s, DROPPED, "step", 1, DIAL_PATIENCE_MS);
	k.time = ++p.time;
	send_to(&p, p.fd, s->p2p_port, &k, P2P_CLIENT_PACKET_BYTES - 1);
	send_to(&p, p.fd, s->p2p_port, &k, 44);
	server_await_metric(s, DROPPED, "tag", 2, DIAL_PATIENCE_MS);
	send_to(&p, p.fd, s->p2p_port, &k, 4);
	server_await_metric(s, DROPPED, "session", 1, DIAL_PATIENCE_MS);
	send_to(&p, p.fd, s->p2p_port, &k, 2);
	server_await_metric(s, DROPPED, "shape", 1, DIAL_PATIENCE_MS);
	cr_expect_lt(recv(p.fd, &k, sizeof(k), MSG_DONTWAIT), 0, "none has an answer");
	p.time = 0x80000010; /* the difference counts, as a number with a sign */
	cookie_of(&p, p.fd);
	go(&p);
}

Test(p2p_mapped, after_a_second_hello_the_old_session_is_nobody)
{
	struct player            p, old;
	struct p2p_client_packet k = hello_at(100);

	come(&p, 1);
	be_mapped(&p);
	old = p;
	learn(&p, p2p_raw_hello(p.ws, 1));
	send_to(&old, p.fd, s->p2p_port, &k, -1);
	server_await_metric(s, DROPPED, "session", 1, DIAL_PATIENCE_MS);
	p.time = 0; /* it counts anew */
	be_mapped(&p);
	go(&p);
}

static void start_outside(void)
{
	start_with((const char *[]){ "p2p.allow_loopback=no", NULL });
}

Test(p2p_mapped, a_private_source_counts_only_beside_a_private_connection, .init = start_outside)
{
	struct player            inside, outside;
	struct p2p_client_packet k = hello_at(7);

	come(&inside, 1);
	be_mapped(&inside);
	come_from(&outside, 2, "198.51.100.7");
	send_to(&outside, outside.fd, s->p2p_port, &k, -1);
	server_await_metric(s, DROPPED, "source", 1, DIAL_PATIENCE_MS);
	go(&inside);
	come_from(&inside, 3, "192.168.1.1");
	be_mapped(&inside);
	go(&inside);
	go(&outside);
}

/* --- What the others are told --- */

/* Everything that was on its way to it is read. */
static void drain(struct player *p)
{
	struct ws_client_event e;

	p2p_raw_say(p->ws, "{\"op\":\"drained\",\"id\":1}");
	do {
		e = ws_client_receive(p->ws, DIAL_PATIENCE_MS);
		cr_assert_eq(e.what, WS_MESSAGE);
	} while (!e.is_text || !memmem(e.data, e.len, "\"drained\"", 9));
}

/* The addresses of a member, as everybody gets them at a start: the list of the sync payload, each with a comma behind it. */
static const char *told_of(struct player *who, struct player *asks)
{
	static char            out[2048];
	struct ws_client_event e;
	char                   list[2048], *id;
	uint8_t                raw[2048];
	size_t                 raw_len, len = 0;
	uint32_t               size;
	struct rd              r;

	p2p_raw_say(asks->ws, "{\"op\":\"p2p.start\",\"id\":9}");
	do
		e = ws_client_receive(asks->ws, DIAL_PATIENCE_MS);
	while (e.what == WS_MESSAGE && e.is_text);
	cr_assert_eq(e.what, WS_MESSAGE);
	id = memmem(e.data, e.len, who->uid, strlen(who->uid));
	cr_assert_not_null(id);
	r    = rd_over((const uint8_t *)id + strlen(who->uid),
	               e.len - (size_t)((const uint8_t *)id - e.data) - strlen(who->uid));
	size = (uint32_t)rd_be(&r, 4);
	cr_assert_lt(size, sizeof(list));
	memcpy(list, id + strlen(who->uid) + 4, size);
	cr_assert_eq(base64_decode(raw, &raw_len, list, size), ERR_OK);
	out[0] = '\0';
	for (r = rd_over(raw, raw_len); rd_left(&r) > 0;) {
		size = (uint32_t)rd_be(&r, 4);
		len += (size_t)snprintf(out + len, sizeof(out) - len, "%.*s,", (int)size,
		                        (const char *)raw + (raw_len - rd_left(&r)));
		rd_bytes(&r, size);
	}
	drain(asks);
	server_advance(s, 2000); /* the next start may come */
	return out;
}

/* A mapped member, alone in its room; what it says of itself is behind the outside address. */
static const char *locals_of(struct player *p)
{
	const char *all = told_of(p, p), *comma = strchr(all, ',');

	cr_assert_not_null(comma, "%s", all);
	return comma + 1;
}

static void come_with_room(struct player *p)
{
	come(p, 1);
	p2p_raw_ask(p->ws, "{\"op\":\"p2p.create\",\"id\":1}");
	be_mapped(p);
}

static void say_local(struct player *p, const char *list, const char *answer)
{
	const char *text = p2p_raw_ask(p->ws, "{\"op\":\"p2p.local\",\"id\":3,\"local\":%s}", list);

	cr_assert(strstr(text, answer), "%s: %s", list, text);
}

static void start_strict(void)
{
	start_with((const char *[]){ "p2p.allow_loopback=no", "limits.p2p_ping_ms=600000",
	                             "limits.p2p_silence_ms=600000", "limits.ws_ping_ms=3600000", NULL });
}

Test(p2p_mapped, only_what_can_be_local_is_told, .init = start_strict)
{
	static const struct {
		const char *list, *kept;
	} cases[] = {
		{ "[\"10.0.0.0:1\",\"10.255.255.255:65535\",\"9.255.255.255:1\",\"11.0.0.0:1\"]",
		  "10.0.0.0:1,10.255.255.255:65535," },
		{ "[\"172.16.0.0:1\",\"172.31.255.255:1\",\"172.15.255.255:1\",\"172.32.0.0:1\"]",
		  "172.16.0.0:1,172.31.255.255:1," },
		{ "[\"192.168.0.0:1\",\"192.168.255.255:1\",\"192.167.255.255:1\",\"192.169.0.0:1\"]",
		  "192.168.0.0:1,192.168.255.255:1," },
		{ "[\"100.64.0.0:1\",\"100.127.255.255:1\",\"100.63.255.255:1\",\"100.128.0.0:1\"]",
		  "100.64.0.0:1,100.127.255.255:1," },
		{ "[\"169.254.0.0:1\",\"169.254.255.255:1\",\"169.253.255.255:1\",\"169.255.0.0:1\"]",
		  "169.254.0.0:1,169.254.255.255:1," },
		{ "[\"[fc00::]:1\",\"[fdff::1]:1\",\"[fbff::1]:1\",\"[fe00::1]:1\"]", "[fc00::]:1,[fdff::1]:1," },
		{ "[\"[fe80::]:1\",\"[febf::1]:1\",\"[fe7f::1]:1\",\"[fec0::1]:1\"]", "[fe80::]:1,[febf::1]:1," },
		{ "[\"203.0.113.9:1\",\"[2001:db8::1]:1\",\"0.0.0.0:1\",\"255.255.255.255:1\",\"224.0.0.1:1\"]", "" },
		{ "[\"127.0.0.2:1\",\"[::1]:1\"]", "" },
		{ "[\"127.0.0.1:5\"]", "127.0.0.1:5," }, /* where it is seen */
		{ "[\"10.0.0.2:1\",\"10.0.0.1:1\",\"10.0.0.2:1\",\"10.0.0.2:2\",\"[::ffff:10.0.0.1]:1\"]",
		  "10.0.0.2:1,10.0.0.1:1,10.0.0.2:2," },
		{ "[]", "" },
	};
	struct player p;

	come_with_room(&p);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		say_local(&p, cases[i].list, "\"ok\":true");
		cr_expect_str_eq(locals_of(&p), cases[i].kept, "%s", cases[i].list);
	}
	go(&p);
}

Test(p2p_mapped, with_the_setting_loopback_is_told_too)
{
	struct player p;

	come_with_room(&p);
	say_local(&p, "[\"127.0.0.2:1\",\"[::1]:1\",\"203.0.113.9:1\"]", "\"ok\":true");
	cr_expect_str_eq(locals_of(&p), "127.0.0.2:1,[::1]:1,");
	go(&p);
}

/* So many different ones from 10.0.0.`first` on, after `strangers` that are left out. */
static const char *many(int strangers, int count)
{
	static char text[2048];
	size_t      len = 1;

	strcpy(text, "[");
	for (int i = 0; i < strangers + count; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s\"%d.0.0.%d:1\"", i ? "," : "",
		                        i < strangers ? 8 : 10, i);
	snprintf(text + len, sizeof(text) - len, "]");
	return text;
}

Test(p2p_mapped, the_first_eight_of_at_most_32_are_kept)
{
	struct player p;
	const char   *kept;

	come_with_room(&p);
	say_local(&p, many(0, 8), "\"ok\":true");
	cr_expect(strstr(locals_of(&p), "10.0.0.7:1,"));
	say_local(&p, many(23, 9), "\"ok\":true");
	kept = locals_of(&p);
	cr_expect(strncmp(kept, "10.0.0.23:1,", 12) == 0 && strstr(kept, "10.0.0.30:1,"), "%s", kept);
	cr_expect_null(strstr(kept, "10.0.0.31:1"), "%s", kept);
	say_local(&p, many(0, 33), "\"too_large\"");
	cr_expect(strstr(locals_of(&p), "10.0.0.23:1,"), "nothing has changed");
	go(&p);
}

Test(p2p_mapped, a_list_with_a_fault_changes_nothing)
{
	static const struct {
		const char *list, *error;
	} cases[] = {
		{ "[\"10.0.0.2:1\",\"10.0.0.3:0\"]", "\"bad_address\"" },
		{ "[\"10.0.0.2:1\",\"10.0.0.3\"]", "\"bad_address\"" },
		{ "[\"10.0.0.2:1\",\"example.org:1\"]", "\"bad_address\"" },
		{ "[\"10.0.0.2:1\",\"10.0.0.3:65536\"]", "\"bad_address\"" },
		{ "[\"10.0.0.2:1\",\"\"]", "\"bad_address\"" },
		{ "[\"[0000000000000000000000000000000000000000000000000000000fc00::1]:1\"]", "\"bad_address\"" },
		{ "[\"10.0.0.2:1\",7]", "\"bad_request\"" },
		{ "\"10.0.0.2:1\"", "\"bad_request\"" },
		{ "null", "\"bad_request\"" },
		{ "{}", "\"bad_request\"" },
	};
	struct player p;

	come_with_room(&p);
	say_local(&p, "[\"10.0.0.1:1\"]", "\"ok\":true");
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		say_local(&p, cases[i].list, cases[i].error);
	cr_expect(p2p_raw_has(p2p_raw_ask(p.ws, "{\"op\":\"p2p.local\",\"id\":4}"), "\"bad_request\""));
	cr_expect(p2p_raw_has(p2p_raw_ask(p.ws, "{\"op\":\"p2p.hello\",\"player\":\"%032x\",\"local\":[\"x\"]}", 1U),
	                      "\"bad_address\""));
	cr_expect_str_eq(locals_of(&p), "10.0.0.1:1,");
	go(&p);
}

Test(p2p_mapped, who_plays_through_the_server_alone_has_no_address_for_others)
{
	struct player hidden, other;
	char          room[20];

	come(&hidden, 1);
	learn(&hidden, p2p_raw_ask(hidden.ws,
	                           "{\"op\":\"p2p.hello\",\"id\":1,\"player\":\"%032x\",\"relay_only\":true,"
	                           "\"local\":[\"10.0.0.1:1\"]}",
	                           1U));
	p2p_raw_text(room, sizeof(room), p2p_raw_ask(hidden.ws, "{\"op\":\"p2p.create\",\"id\":2}"), "room");
	be_mapped(&hidden);
	come(&other, 2);
	be_mapped(&other);
	p2p_raw_ask(other.ws, "{\"op\":\"p2p.join\",\"id\":2,\"room\":\"%s\"}", room);
	cr_expect_str_eq(told_of(&hidden, &other), "");
	go(&hidden);
	go(&other);
}

Test(p2p_mapped, a_changed_address_is_told_to_the_others_after_the_start)
{
	struct player one, two;
	int           moved = dial_udp("127.0.0.1", 0);
	char          room[20];
	const char   *text;

	come(&one, 1);
	be_mapped(&one);
	p2p_raw_text(room, sizeof(room), p2p_raw_ask(one.ws, "{\"op\":\"p2p.create\",\"id\":1}"), "room");
	come(&two, 2);
	p2p_raw_ask(two.ws, "{\"op\":\"p2p.join\",\"id\":2,\"room\":\"%s\"}", room);
	told_of(&one, &two);
	drain(&one);
	return_cookie(&one, cookie_of(&one, moved));
	do
		text = p2p_raw_hear(two.ws);
	while (!strstr(text, "\"op\":\"p2p.addr\""));
	cr_expect(strstr(text, one.uid) && strstr(text, own_address(moved)), "%s", text);
	close(moved);
	go(&one);
	go(&two);
}
