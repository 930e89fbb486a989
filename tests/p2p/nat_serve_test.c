/*
 * The NAT check and the outside address over real sockets: what is dropped, what is stale, how many run, and what is left of one
 * that breaks off.
 */
#include "base/auto.h"
#include "base/hex.h"
#include "support/await.h"
#include "support/dial.h"
#include "support/p2p_peer.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define DROPPED    "coopd_p2p_udp_dropped_total"
#define CHECKS     "coopd_p2p_checks_total"
#define CHECKS_MAX 200
#define PATIENT    "limits.p2p_silence_ms=600000" /* for tests that move the clock */
#define PUBLIC     "198.51.100.7"

static struct server *s;

static void start(const char *const *sets)
{
	s = server_start(sets);
}

static void finish(void)
{
	if (s)
		server_finish(s);
	s = NULL;
}

TestSuite(nat_serve, .fini = finish, .timeout = 120);

static const uint8_t some_nonce[P2P_NONCE_BYTES] = { 1, 2, 3, 4, 5, 6, 7, 8 };

static int new_socket(void)
{
	int fd = dial_udp("127.0.0.1", 0);

	cr_assert_geq(fd, 0);
	return fd;
}

static void send_bytes(int fd, int port, const void *bytes, size_t len)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	cr_assert_eq(sendto(fd, bytes, len, 0, (struct sockaddr *)&to, sizeof(to)), (ssize_t)len);
}

/* So many were dropped for this reason, and nothing was answered. */
static void expect_dropped(int fd, const char *reason, double count)
{
	char label[32], byte;

	snprintf(label, sizeof(label), "reason=\"%s\"", reason);
	server_await_metric(s, DROPPED, label, count, DIAL_PATIENCE_MS);
	cr_expect_lt(recv(fd, &byte, sizeof(byte), MSG_DONTWAIT), 0, "%s: an answer", reason);
}

static void expect_error(struct p2p_peer *p, const char *op, const char *members, const char *error)
{
	char found[32];

	p2p_peer_ask(p, op, members);
	cr_assert(strstr(p->text, "\"ok\":false"), "%s: %s", op, p->text);
	p2p_peer_string(found, sizeof(found), p, "error");
	cr_expect_str_eq(found, error, "%s", p->text);
}

static void expect_has(const struct p2p_peer *p, const char *part)
{
	cr_expect(strstr(p->text, part), "no %s in %s", part, p->text);
}

/* --- What is dropped --- */

static const struct {
	const char *reason;
	size_t      at; /* this byte is changed */
	uint8_t     by;
	size_t      len;
} faults[] = {
	{ "foreign", 0, 0xC0 ^ 0x40, P2P_PACKET_BYTES },
	{ "foreign", 0, 0xC0 ^ 0xC5, P2P_PACKET_BYTES },
	{ "shape", 1, 1, P2P_PACKET_BYTES },
	{ "shape", 2, 3, P2P_PACKET_BYTES },
	{ "shape", 3, 3, P2P_PACKET_BYTES }, /* HELLO_ACK */
	{ "shape", 3, 1 ^ 16, P2P_PACKET_BYTES },
	{ "shape", 3, 0, P2P_PACKET_BYTES - 1 },
	{ "shape", 3, 0, P2P_PACKET_BYTES + 1 },
	{ "session", 4, 1, P2P_PACKET_BYTES },
	{ "tag", 47, 1, P2P_PACKET_BYTES },
	{ "tag", 48, 1, P2P_PACKET_BYTES },
	{ "tag", 63, 0x80, P2P_PACKET_BYTES },
};

static double count_of(const char *reason, size_t until)
{
	double count = 0;

	for (size_t i = 0; i <= until; i++)
		count += strcmp(faults[i].reason, reason) == 0;
	return count;
}

Test(nat_serve, what_is_no_packet_of_a_session_is_dropped_without_an_answer)
{
	struct p2p_peer p;
	int             fd = new_socket();

	start(NULL);
	p2p_peer_open(&p, s, 1);
	for (size_t i = 0; i < COUNT_OF(faults); i++) {
		struct p2p_packet k                           = { .type = P2P_HELLO, .time = 1 };
		uint8_t           bytes[P2P_PACKET_BYTES + 1] = { 0 };

		p2p_peer_packet(bytes, &p, &k);
		bytes[faults[i].at] ^= faults[i].by;
		send_bytes(fd, p.port, bytes, faults[i].len);
		expect_dropped(fd, faults[i].reason, count_of(faults[i].reason, i));
	}
	p2p_peer_hello(&p, fd, 0, some_nonce); /* the same time is new, for none of them counted */
	p2p_peer_free(&p);
	close(fd);
}

Test(nat_serve, a_hello_that_is_sent_again_from_elsewhere_moves_nothing)
{
	struct p2p_packet k = { .type = P2P_HELLO, .time = UINT32_MAX };
	uint8_t           bytes[P2P_PACKET_BYTES];
	struct p2p_peer   p;
	char              members[64];
	int               fd = new_socket(), thief = new_socket();

	start(NULL);
	p2p_peer_open(&p, s, 1);
	p2p_peer_packet(bytes, &p, &k);
	send_bytes(fd, p.port, bytes, sizeof(bytes));
	p2p_peer_receive(&k, fd, P2P_HELLO_ACK);
	snprintf(members, sizeof(members), ",\"cookie\":%u", (unsigned)k.time);
	send_bytes(thief, p.port, bytes, sizeof(bytes));
	expect_dropped(thief, "time", 1);
	k = (struct p2p_packet){ .type = P2P_HELLO, .time = UINT32_MAX - 1 };
	p2p_peer_send(&p, thief, false, p.port, &k);
	expect_dropped(thief, "time", 2);
	p2p_peer_ask(&p, "p2p.mapped", members);
	expect_has(&p, "\"ok\":true");
	k = (struct p2p_packet){ .type = P2P_HELLO, .time = 0 }; /* the counter goes round */
	p2p_peer_send(&p, fd, false, p.port, &k);
	p2p_peer_receive(&k, fd, P2P_HELLO_ACK);
	p2p_peer_free(&p);
	close(fd);
	close(thief);
}

/* --- The outside address --- */

static void expect_mapped(struct p2p_peer *p, int64_t cookie, bool is_good)
{
	char members[64];

	snprintf(members, sizeof(members), ",\"cookie\":%lld", (long long)cookie);
	if (!is_good) {
		expect_error(p, "p2p.mapped", members, "stale");
		return;
	}
	p2p_peer_ask(p, "p2p.mapped", members);
	expect_has(p, "\"ok\":true");
}

Test(nat_serve, a_hello_outside_of_a_check_belongs_to_the_first_socket)
{
	struct p2p_packet k = { .type = P2P_HELLO };
	struct p2p_peer   p;
	int               fd = new_socket();

	start(NULL);
	p2p_peer_open(&p, s, 1);
	for (int i = 1; i < 4; i++) {
		k.time = (uint32_t)i;
		p2p_peer_send(&p, fd, i & 2, i & 1 ? s->p2p_alt_port : s->p2p_port, &k);
		expect_dropped(fd, "step", i);
	}
	p2p_peer_free(&p);
	close(fd);
}

/* --- Checks --- */

struct check {
	struct p2p_peer p;
	int             fd;
	int64_t         id;
	uint8_t         nonce[P2P_NONCE_BYTES];
};

static void await_step(struct check *c, int step)
{
	char text[32];

	p2p_peer_await(&c->p, "\"op\":\"nat.step\"");
	cr_assert_eq(p2p_peer_int(&c->p, "step"), step, "%s", c->p.text);
	c->id = p2p_peer_int(&c->p, "check");
	p2p_peer_string(text, sizeof(text), &c->p, "nonce");
	cr_assert_eq(hex_decode(c->nonce, sizeof(c->nonce), text, strlen(text)), ERR_OK);
}

static void begin(struct check *c, int number)
{
	p2p_peer_open(&c->p, s, number);
	c->fd = new_socket();
	p2p_peer_say(&c->p, "{\"op\":\"nat.update\",\"id\":99}");
	await_step(c, 1);
}

static void end(struct check *c)
{
	p2p_peer_free(&c->p);
	close(c->fd);
}

/* The repeats of an earlier step may still be there. */
static void await_ping(struct check *c, uint8_t step, struct p2p_packet *k)
{
	do
		p2p_peer_receive(k, c->fd, P2P_PING_TRY);
	while (k->step != step);
}

/* Into step 2, 3, 4 or 5 of a check that has begun, as a client behind a strict router gets there. */
static void go_to(struct check *c, int step)
{
	struct p2p_packet k;

	if (step >= 2) {
		p2p_peer_say(&c->p, "{\"op\":\"nat.step_done\",\"check\":%lld,\"step\":1,\"cookie\":%u}",
		             (long long)c->id, (unsigned)p2p_peer_hello(&c->p, c->fd, 1, c->nonce));
		await_ping(c, 2, &k);
	}
	if (step >= 3) {
		server_advance(s, 1000);
		await_step(c, 3);
	}
	if (step >= 4) {
		k = (struct p2p_packet){ .type = P2P_OPEN, .step = 3 };
		memcpy(k.nonce, c->nonce, sizeof(k.nonce));
		p2p_peer_send(&c->p, c->fd, true, s->p2p_alt_port, &k);
		p2p_peer_say(&c->p, "{\"op\":\"nat.step_done\",\"check\":%lld,\"step\":3}", (long long)c->id);
		await_ping(c, 4, &k);
	}
	if (step >= 5) {
		server_advance(s, 1000);
		await_step(c, 5);
	}
}

static void answer_ping(struct check *c, struct p2p_packet *k)
{
	k->type = P2P_PING_REPLY;
	p2p_peer_send(&c->p, c->fd, true, s->p2p_port, k);
	p2p_peer_await(&c->p, "\"op\":\"nat.update\"");
}

Test(nat_serve, the_answer_tells_what_was_seen_and_nat_get_what_is_stored)
{
	struct check      c;
	struct p2p_packet k = { .type = P2P_HELLO, .step = 5, .time = 100 };

	start((const char *[]){ PATIENT, NULL });
	begin(&c, 1);
	p2p_peer_ask(&c.p, "nat.get", "");
	expect_has(&c.p, "\"reason\":\"not_checked\"");
	go_to(&c, 5);
	memcpy(k.nonce, c.nonce, sizeof(k.nonce));
	p2p_peer_send(&c.p, c.fd, true, s->p2p_port, &k);
	p2p_peer_await(&c.p, "\"op\":\"nat.update\"");
	expect_has(&c.p, "\"id\":99,\"ok\":true,\"type\":3,\"name\":\"port_restricted\",\"mapped\":\"127.0.0.1:");
	expect_has(&c.p, "\"mapped_b\":\"127.0.0.1:");
	expect_has(&c.p, "\"mapping\":\"same\",\"conflict\":false,\"ms\":");
	p2p_peer_ask(&c.p, "nat.get", "");
	expect_has(&c.p, "\"type\":3,\"name\":\"port_restricted\"");
	expect_has(&c.p, "\"stale\":false");
	server_advance(s, 3601000);
	p2p_peer_ask(&c.p, "nat.get", "");
	expect_has(&c.p, "\"stale\":true");
	end(&c);
}

Test(nat_serve, what_comes_when_a_check_is_over_is_stale)
{
	struct check      c;
	struct p2p_packet k;
	char              members[96], hex[2 * P2P_NONCE_BYTES + 1];

	start(NULL);
	begin(&c, 1);
	go_to(&c, 2);
	p2p_peer_receive(&k, c.fd, P2P_PING_TRY); /* the second one */
	answer_ping(&c, &k);
	expect_has(&c.p, "\"type\":1,\"name\":\"open\"");
	p2p_peer_send(&c.p, c.fd, true, s->p2p_port, &k);
	server_await_metric(s, DROPPED, "reason=\"step\"", 1, DIAL_PATIENCE_MS);
	k.type = P2P_OPEN;
	p2p_peer_send(&c.p, c.fd, true, s->p2p_alt_port, &k);
	server_await_metric(s, DROPPED, "reason=\"step\"", 2, DIAL_PATIENCE_MS);
	hex_encode(hex, k.nonce, sizeof(k.nonce));
	snprintf(members, sizeof(members), ",\"check\":%lld,\"step\":2,\"nonce\":\"%s\"", (long long)c.id, hex);
	expect_error(&c.p, "nat.ping_try", members, "stale");
	snprintf(members, sizeof(members), ",\"check\":%lld,\"step\":1,\"cookie\":1", (long long)c.id);
	expect_error(&c.p, "nat.step_done", members, "stale");
	end(&c);
}

Test(nat_serve, what_names_another_check_is_stale)
{
	struct check c;
	char         members[96];

	start(NULL);
	begin(&c, 1);
	snprintf(members, sizeof(members), ",\"check\":%lld,\"step\":1,\"cookie\":%u", (long long)c.id + 1,
	         (unsigned)p2p_peer_hello(&c.p, c.fd, 1, c.nonce));
	expect_error(&c.p, "nat.step_done", members, "stale");
	expect_error(&c.p, "nat.step_done", ",\"step\":1", "bad_request");
	expect_error(&c.p, "nat.step_done", ",\"check\":1,\"step\":1,\"cookie\":\"1\"", "bad_request");
	expect_error(&c.p, "nat.ping_try", ",\"check\":1,\"step\":2,\"nonce\":\"21\"", "bad_request");
	end(&c);
}

Test(nat_serve, a_hello_of_a_check_does_not_move_the_outside_address)
{
	struct check c;
	uint32_t     cookie;
	int          fd = new_socket();

	start(NULL);
	begin(&c, 1);
	cookie = p2p_peer_hello(&c.p, fd, 0, some_nonce);
	expect_mapped(&c.p, p2p_peer_hello(&c.p, c.fd, 1, c.nonce), false);
	expect_mapped(&c.p, cookie, true);
	end(&c);
	close(fd);
}

Test(nat_serve, one_check_at_a_time_and_one_in_ten_seconds)
{
	struct check      c;
	struct p2p_packet k;

	/* The clock moves on between the two looks at it; and in all by less than a session may be silent. */
	start((const char *[]){ PATIENT, "limits.p2p_check_gap_ms=300000", NULL });
	begin(&c, 1);
	expect_error(&c.p, "nat.check", "", "nat_busy");
	go_to(&c, 2);
	p2p_peer_receive(&k, c.fd, P2P_PING_TRY);
	answer_ping(&c, &k);
	server_advance(s, 200000);
	expect_error(&c.p, "nat.check", "", "nat_rate");
	server_advance(s, 100000);
	p2p_peer_say(&c.p, "{\"op\":\"nat.check\",\"id\":100}");
	await_step(&c, 1);
	end(&c);
}

static void expect_full_at(size_t max)
{
	struct p2p_peer *peers = calloc(max + 1, sizeof(*peers));

	cr_assert_not_null(peers);
	for (size_t i = 0; i <= max; i++)
		p2p_peer_open(&peers[i], s, (int)i + 1);
	for (size_t i = 0; i < max; i++)
		p2p_peer_say(&peers[i], "{\"op\":\"nat.check\",\"id\":99}");
	for (size_t i = 0; i < max; i++)
		p2p_peer_await(&peers[i], "\"op\":\"nat.step\"");
	expect_error(&peers[max], "nat.check", "", "nat_full");
	/* One that leaves makes room for another. */
	p2p_peer_free(&peers[0]);
	server_await_metric(s, CHECKS, "broken_off", 1, DIAL_PATIENCE_MS);
	p2p_peer_say(&peers[max], "{\"op\":\"nat.check\",\"id\":99}");
	p2p_peer_await(&peers[max], "\"op\":\"nat.step\"");
	for (size_t i = 1; i <= max; i++)
		p2p_peer_free(&peers[i]);
	free(peers);
}

Test(nat_serve, two_hundred_checks_run_at_once_and_no_more)
{
	start(NULL);
	expect_full_at(CHECKS_MAX);
}

Test(nat_serve, so_many_checks_run_as_are_set)
{
	start((const char *[]){ "limits.p2p_checks=3", NULL });
	expect_full_at(3);
}

Test(nat_serve, one_address_has_four_of_them)
{
	struct p2p_peer peers[5], other;

	start(NULL);
	for (int i = 0; i < 5; i++)
		p2p_peer_open_from(&peers[i], s, i + 1, PUBLIC);
	p2p_peer_open_from(&other, s, 6, "198.51.100.8");
	for (int i = 0; i < 4; i++) {
		p2p_peer_say(&peers[i], "{\"op\":\"nat.check\",\"id\":99}");
		p2p_peer_await(&peers[i], "\"op\":\"nat.step\"");
	}
	expect_error(&peers[4], "nat.check", "", "nat_full");
	p2p_peer_say(&other, "{\"op\":\"nat.check\",\"id\":99}");
	p2p_peer_await(&other, "\"op\":\"nat.step\"");
	for (int i = 0; i < 5; i++)
		p2p_peer_free(&peers[i]);
	p2p_peer_free(&other);
}

/* With room for one check only, the next tells that nothing was left behind. */
Test(nat_serve, who_leaves_in_any_step_leaves_nothing_behind)
{
	int files = 0;

	start((const char *[]){ PATIENT, "limits.p2p_checks=1", NULL });
	for (int step = 1; step <= 5; step++) {
		struct check c;

		begin(&c, step);
		go_to(&c, step);
		if (step == 1)
			files = server_fd_count(s);
		await_fds(s, files);
		end(&c);
		server_await_metric(s, CHECKS, "broken_off", step, DIAL_PATIENCE_MS);
	}
	server_advance(s, 12000);
	cr_expect_eq(server_metric(s, CHECKS, ""), 5, "one of them went on");
}

Test(nat_serve, a_new_hello_ends_the_check)
{
	struct check c;

	start((const char *[]){ "limits.p2p_checks=1", NULL });
	begin(&c, 1);
	p2p_peer_say(&c.p, "{\"op\":\"p2p.hello\",\"id\":100,\"player\":\"%032x\"}", 1U);
	p2p_peer_await(&c.p, "\"op\":\"nat.update\"");
	expect_has(&c.p, "\"id\":99,\"ok\":false,\"error\":\"stale\"");
	p2p_peer_await(&c.p, "\"op\":\"p2p.hello\"");
	server_await_metric(s, CHECKS, "broken_off", 1, DIAL_PATIENCE_MS);
	/* Its old sid is nobody's. */
	struct p2p_packet k = { .type = P2P_HELLO, .time = 1 };

	p2p_peer_send(&c.p, c.fd, false, c.p.port, &k);
	expect_dropped(c.fd, "session", 1);
	end(&c);
}

static void expect_reused(struct p2p_peer *p, int fd)
{
	struct check      c = { .p = *p, .fd = fd };
	struct p2p_packet k = { .type = P2P_HELLO, .step = 1, .time = 1 };

	p2p_peer_say(&c.p, "{\"op\":\"nat.check\",\"id\":99}");
	await_step(&c, 1);
	memcpy(k.nonce, c.nonce, sizeof(k.nonce));
	p2p_peer_send(&c.p, fd, false, c.p.port, &k);
	p2p_peer_await(&c.p, "\"op\":\"nat.check\"");
	expect_has(&c.p, "\"ok\":false,\"error\":\"socket_reused\"");
	*p = c.p;
}

Test(nat_serve, a_socket_that_b_or_a_check_has_seen_is_refused)
{
	static const uint8_t stun[20] = { 0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42, 1 };
	struct check         c;
	struct p2p_peer      p[3];
	struct p2p_packet    k = { .type = P2P_OPEN };
	struct sockaddr_in   b = { .sin_family = AF_INET };
	char                 answer[128];
	int                  opened = new_socket(), asked = new_socket();

	start(NULL);
	for (int i = 0; i < 3; i++)
		p2p_peer_open(&p[i], s, i + 2);
	begin(&c, 1);
	p2p_peer_hello(&c.p, c.fd, 1, c.nonce);
	expect_reused(&p[0], c.fd);
	p2p_peer_send(&p[1], opened, true, s->p2p_alt_port, &k);
	expect_dropped(opened, "step", 2); /* the HELLO of before is the first */
	expect_reused(&p[1], opened);
	b.sin_port        = htons((uint16_t)s->p2p_port);
	b.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
	cr_assert_eq(sendto(asked, stun, sizeof(stun), 0, (struct sockaddr *)&b, sizeof(b)), (ssize_t)sizeof(stun));
	while (recv(asked, answer, sizeof(answer), 0) < 0)
		real_sleep_ms(5);
	expect_reused(&p[2], asked);
	for (int i = 0; i < 3; i++)
		p2p_peer_free(&p[i]);
	close(opened);
	close(asked);
	end(&c);
}

Test(nat_serve, with_one_address_the_check_says_that_it_needs_two)
{
	struct check      c;
	struct p2p_packet k = { .type = P2P_HELLO, .step = 5, .time = 100 };

	start((const char *[]){ "p2p.listen2=", NULL });
	begin(&c, 1);
	p2p_peer_say(&c.p, "{\"op\":\"nat.step_done\",\"check\":%lld,\"step\":1,\"cookie\":%u}", (long long)c.id,
	             (unsigned)p2p_peer_hello(&c.p, c.fd, 1, c.nonce));
	await_step(&c, 5);
	memcpy(k.nonce, c.nonce, sizeof(k.nonce));
	p2p_peer_send(&c.p, c.fd, false, s->p2p_alt_port, &k);
	p2p_peer_await(&c.p, "\"op\":\"nat.update\"");
	expect_has(&c.p, "\"ok\":false,\"error\":\"second_address_missing\"");
	expect_has(&c.p, "\"type\":0,\"name\":\"unknown\",\"mapped\":\"127.0.0.1:");
	expect_has(&c.p, "\"mapping\":\"same\"");
	p2p_peer_ask(&c.p, "nat.get", "");
	expect_has(&c.p, "\"reason\":\"not_checked\"");
	end(&c);
}

/* --- The second address --- */

/* Its port, at the second address, somebody else has. */
static int prepare_without_second(void)
{
	struct sockaddr_in in   = { 0 };
	socklen_t          size = sizeof(in);
	char               set[32];
	int                fd = dial_udp("127.0.0.2", 0);

	cr_assert_eq(getsockname(fd, (struct sockaddr *)&in, &size), 0);
	snprintf(set, sizeof(set), "p2p.port=%d", ntohs(in.sin_port));
	s = server_prepare(NULL);
	server_unset(s, "p2p.port");
	server_set(s, set);
	return fd;
}

Test(nat_serve, without_the_second_address_it_runs_with_one)
{
	struct p2p_peer p;
	int             fd = prepare_without_second();

	server_launch(s);
	server_await_ready(s);
	cr_expect(server_log_contains(s, "that was p2p.listen2; without it"));
	p2p_peer_open(&p, s, 1);
	expect_has(&p, "\"b\":null");
	p2p_peer_free(&p);
	close(fd);
}

Test(nat_serve, without_the_second_address_it_stops_where_that_is_required)
{
	int fd = prepare_without_second();

	server_set(s, "p2p.second_required=yes");
	server_launch(s);
	cr_expect_eq(server_await_exit(s, DIAL_PATIENCE_MS), 1);
	cr_expect(server_log_contains(s, "that was p2p.listen2, and p2p.second_required is set"));
	close(fd);
}

/* --- Statistics --- */

static int64_t ask_store(const char *sql)
{
	char          path[SERVER_PATH_BYTES + 16];
	sqlite3      *db  = NULL;
	sqlite3_stmt *row = NULL;
	int64_t       found;

	snprintf(path, sizeof(path), "%s/coop.db", s->data);
	cr_assert_eq(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	cr_assert_eq(sqlite3_prepare_v2(db, sql, -1, &row, NULL), SQLITE_OK);
	cr_assert_eq(sqlite3_step(row), SQLITE_ROW);
	found = sqlite3_column_int64(row, 0);
	sqlite3_finalize(row);
	sqlite3_close(db);
	return found;
}

static int64_t rows_after_a_check(const char *set)
{
	struct check      c;
	struct p2p_packet k;

	start((const char *[]){ set, NULL });
	begin(&c, 1);
	go_to(&c, 2);
	p2p_peer_receive(&k, c.fd, P2P_PING_TRY);
	answer_ping(&c, &k);
	end(&c);
	server_stop(s);
	return ask_store("SELECT count(*) FROM nat_statistics WHERE type = 'open' AND mapping = 'same' AND checks = 1");
}

Test(nat_serve, results_are_counted_for_statistics_where_the_operator_wants_them)
{
	cr_expect_eq(rows_after_a_check("p2p.nat_history_days=3"), 1);
	finish();
	cr_expect_eq(rows_after_a_check("p2p.nat_history_days=0"), 0);
}
