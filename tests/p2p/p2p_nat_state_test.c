/*
 * The NAT check, told one thing after the other: every deadline, and what does not count.
 */
#include "p2p/p2p_nat_state.h"

#include <criterion/criterion.h>
#include <string.h>

#define BEGIN_MS INT64_C(70000)

static const uint8_t nonces[P2P_CHECK_NONCES][P2P_NONCE_BYTES] = { { 0x11 }, { 0x22 }, { 0x33 }, { 0x44 }, { 0x55 } };

static const struct p2p_endpoint m1    = { true, { 203, 0, 113, 14 }, 61314 };
static const struct p2p_endpoint other = { true, { 203, 0, 113, 14 }, 61315 };

#define COOKIE UINT32_C(0xa1b2c3d4)

static struct p2p_check *c;

static void begin(bool has_second)
{
	c = p2p_check_new(has_second, nonces, BEGIN_MS);
	cr_assert_not_null(c);
}

static void finish(void)
{
	p2p_check_free(c);
	c = NULL;
}

TestSuite(p2p_nat_state, .fini = finish);

static struct p2p_packet packet(enum p2p_packet_type type, uint8_t step)
{
	struct p2p_packet k = { .type = type, .step = step };

	memcpy(k.nonce, nonces[step - 1], sizeof(k.nonce));
	return k;
}

static bool hello(uint8_t step, enum p2p_socket at, const struct p2p_endpoint *from, uint32_t *cookie, int64_t in_ms)
{
	struct p2p_packet k = packet(P2P_HELLO, step);

	return p2p_check_hello(c, at, &k, from, false, cookie, BEGIN_MS + in_ms);
}

static bool reply(uint8_t step, enum p2p_socket at, int64_t in_ms)
{
	struct p2p_packet k = packet(P2P_PING_REPLY, step);

	return p2p_check_reply(c, at, &k, &m1, BEGIN_MS + in_ms);
}

static bool done(int64_t step, int64_t cookie, int64_t in_ms)
{
	return p2p_check_step_done(c, step, cookie, BEGIN_MS + in_ms);
}

static void tick(int64_t in_ms)
{
	p2p_check_tick(c, BEGIN_MS + in_ms);
}

static void expect_step(uint8_t step, bool is_open, enum p2p_socket socket)
{
	struct p2p_check_action a = p2p_check_next(c);

	cr_expect_eq(a.what, P2P_CHECK_STEP);
	cr_expect_eq(a.step, step, "step %d", a.step);
	cr_expect_eq(a.is_open, is_open);
	cr_expect_eq(a.socket, socket);
	cr_expect_arr_eq(a.nonce, nonces[step - 1], P2P_NONCE_BYTES);
}

static void expect_ping(uint8_t step, uint8_t try)
{
	struct p2p_check_action a = p2p_check_next(c);

	cr_expect_eq(a.what, P2P_CHECK_PING);
	cr_expect_eq(a.step, step);
	cr_expect_eq(a.try, try);
	cr_expect_eq(a.socket, P2P_BP);
	cr_expect(p2p_endpoint_is_same(&a.to, &m1));
	cr_expect_arr_eq(a.nonce, nonces[step - 1], P2P_NONCE_BYTES);
}

static void expect_nothing(void)
{
	cr_expect_eq(p2p_check_next(c).what, P2P_CHECK_NOTHING);
}

static void expect_due(int64_t in_ms)
{
	cr_expect_eq(p2p_check_due(c), BEGIN_MS + in_ms, "due at %lld", (long long)(p2p_check_due(c) - BEGIN_MS));
}

/* Nothing more comes of it, whatever is said. */
static void expect_over(enum p2p_nat_type type, enum p2p_reason reason)
{
	uint32_t cookie = 1;

	cr_expect_eq(p2p_check_next(c).what, P2P_CHECK_OVER);
	expect_nothing();
	cr_expect_eq(p2p_check_due(c), 0);
	cr_expect_eq(p2p_check_result(c)->type, type);
	cr_expect_eq(p2p_check_result(c)->reason, reason);
	for (uint8_t step = 1; step <= P2P_CHECK_NONCES; step++) {
		cr_expect_not(hello(step, P2P_AP, &m1, &cookie, 20000));
		cr_expect_not(reply(step, P2P_BP, 20000));
		cr_expect_not(done(step, COOKIE, 20000));
		cr_expect_not(p2p_check_ping_try(c, step, nonces[step - 1], 20000));
	}
	tick(30000);
	expect_nothing();
}

/* Into step 2, 3 or 5, each at the time that is told. */
static void go_to_ping(void)
{
	uint32_t cookie = COOKIE;

	begin(true);
	expect_step(1, false, P2P_AP);
	cr_assert(hello(1, P2P_AP, &m1, &cookie, 0));
	cr_assert(done(1, COOKIE, 0));
}

static void go_to_open(void) /* at 1000 */
{
	go_to_ping();
	expect_ping(2, 0);
	tick(1000);
	expect_step(3, true, P2P_BQ);
}

static void go_to_second_ping(void) /* at 1100 */
{
	go_to_open();
	cr_assert(done(3, -1, 1000));
	tick(1100);
}

static void go_to_hello_b(void) /* at 2100 */
{
	go_to_second_ping();
	expect_ping(4, 0);
	tick(2100);
	expect_step(5, false, P2P_BP);
}

Test(p2p_nat_state, the_first_step_has_four_seconds)
{
	begin(true);
	expect_step(1, false, P2P_AP);
	expect_nothing();
	expect_due(4000);
	tick(3999);
	expect_nothing();
	tick(4000);
	expect_over(P2P_NAT_UNKNOWN, P2P_REASON_UDP_BLOCKED);
}

/* Otherwise anybody's address could be given as one's own, and be sent six datagrams. */
Test(p2p_nat_state, without_its_cookie_no_ping_is_sent)
{
	uint32_t cookie = COOKIE;

	begin(true);
	expect_step(1, false, P2P_AP);
	cr_expect_not(done(1, 0, 0), "done before there was a HELLO");
	cr_expect_not(done(1, -1, 0));
	cr_assert(hello(1, P2P_AP, &m1, &cookie, 0));
	cr_expect_not(done(1, -1, 0));
	cr_expect_not(done(1, (int64_t)COOKIE + 1, 0));
	cr_expect_not(done(1, (int64_t)COOKIE + (INT64_C(1) << 32), 0));
	cr_expect_not(done(2, COOKIE, 0));
	expect_nothing();
	cr_expect(done(1, COOKIE, 0));
	expect_ping(2, 0);
	cr_expect_not(done(1, COOKIE, 0), "twice");
}

Test(p2p_nat_state, a_hello_that_is_repeated_keeps_its_cookie_and_one_from_elsewhere_gets_another)
{
	uint32_t cookie = COOKIE;

	begin(true);
	cr_assert(hello(1, P2P_AP, &m1, &cookie, 0));
	cr_expect_eq(cookie, COOKIE);
	cookie = 5;
	cr_assert(hello(1, P2P_AP, &m1, &cookie, 250));
	cr_expect_eq(cookie, COOKIE);
	cookie = 5;
	cr_assert(hello(1, P2P_AP, &other, &cookie, 500));
	cr_expect_eq(cookie, 5);
	cr_expect_not(done(1, COOKIE, 600), "the old cookie");
	cr_expect(done(1, 5, 600));
	struct p2p_check_action ping = p2p_check_next(c);

	cr_expect_eq(ping.what, P2P_CHECK_PING);
	cr_expect(p2p_endpoint_is_same(&ping.to, &other));
}

Test(p2p_nat_state, only_the_hello_that_was_asked_for_counts)
{
	struct p2p_packet k      = packet(P2P_HELLO, 1);
	uint32_t          cookie = COOKIE;

	begin(true);
	cr_expect_not(hello(1, P2P_AQ, &m1, &cookie, 0), "at another socket");
	cr_expect_not(hello(5, P2P_AP, &m1, &cookie, 0), "of another step");
	k.nonce[7] ^= 1;
	cr_expect_not(p2p_check_hello(c, P2P_AP, &k, &m1, false, &cookie, BEGIN_MS), "another nonce");
	k.step = 0;
	cr_expect_not(p2p_check_hello(c, P2P_AP, &k, &m1, false, &cookie, BEGIN_MS), "of no step");
	cr_expect_not(done(1, COOKIE, 0));
}

Test(p2p_nat_state, a_socket_that_was_seen_before_ends_it)
{
	struct p2p_packet k      = packet(P2P_HELLO, 1);
	uint32_t          cookie = COOKIE;

	begin(true);
	expect_step(1, false, P2P_AP);
	cr_expect_not(p2p_check_hello(c, P2P_AP, &k, &m1, true, &cookie, BEGIN_MS));
	cr_expect(p2p_check_result(c)->reused);
	expect_over(P2P_NAT_UNKNOWN, P2P_REASON_NONE);
}

/* What is repeated is seen by then, for this check's own M1 is noted. */
Test(p2p_nat_state, the_same_hello_again_is_no_socket_seen_before)
{
	struct p2p_packet k      = packet(P2P_HELLO, 1);
	uint32_t          cookie = COOKIE;

	begin(true);
	cr_assert(hello(1, P2P_AP, &m1, &cookie, 0));
	cr_expect(p2p_check_hello(c, P2P_AP, &k, &m1, true, &cookie, BEGIN_MS + 250));
	cr_expect_not(p2p_check_result(c)->reused);
}

Test(p2p_nat_state, pings_leave_at_0_200_and_500_and_no_more)
{
	go_to_ping();
	expect_ping(2, 0);
	expect_nothing();
	expect_due(200);
	tick(199);
	expect_nothing();
	tick(200);
	expect_ping(2, 1);
	expect_nothing();
	expect_due(500);
	tick(499);
	expect_nothing();
	tick(500);
	expect_ping(2, 2);
	expect_due(1000);
	tick(999);
	expect_nothing();
	tick(1000);
	expect_step(3, true, P2P_BQ);
}

Test(p2p_nat_state, an_answer_within_a_second_is_an_open_nat)
{
	go_to_ping();
	expect_ping(2, 0);
	tick(999);
	cr_expect(reply(2, P2P_BP, 1000));
	expect_over(P2P_NAT_OPEN, P2P_REASON_NONE);
}

Test(p2p_nat_state, only_an_answer_to_the_ping_that_is_out_counts)
{
	struct p2p_packet k;

	go_to_ping();
	k = packet(P2P_PING_REPLY, 2);
	k.nonce[0] ^= 1;
	cr_expect_not(p2p_check_reply(c, P2P_BP, &k, &m1, BEGIN_MS));
	cr_expect_not(reply(4, P2P_BP, 10), "of a step to come");
	cr_expect_not(reply(2, P2P_BQ, 10), "at another socket");
	cr_expect_not(p2p_check_ping_try(c, 2, nonces[0], BEGIN_MS));
	cr_expect_not(p2p_check_ping_try(c, 258, nonces[1], BEGIN_MS));
	cr_expect_not(p2p_check_ping_try(c, 0, nonces[1], BEGIN_MS));
	cr_expect_not(done(2, -1, 10));
	cr_expect(p2p_check_ping_try(c, 2, nonces[1], BEGIN_MS + 10));
	cr_expect_not(p2p_check_ping_try(c, 2, nonces[1], BEGIN_MS + 10), "twice");
	expect_over(P2P_NAT_OPEN, P2P_REASON_NONE);
}

/* The OPEN of step 3 lets a late PING_TRY of step 2 in: that would make of an address restricted NAT an open one. */
Test(p2p_nat_state, a_late_answer_to_the_first_ping_is_none_to_the_second)
{
	go_to_open();
	cr_expect_not(reply(2, P2P_BP, 1001));
	cr_expect_not(p2p_check_ping_try(c, 2, nonces[1], BEGIN_MS + 1001));
	cr_assert(done(3, -1, 1001));
	tick(1101);
	cr_expect_not(reply(2, P2P_BP, 1102));
	expect_ping(4, 0);
	cr_expect(reply(4, P2P_BP, 1102));
	expect_over(P2P_NAT_ADDRESS, P2P_REASON_NONE);
}

Test(p2p_nat_state, the_open_step_has_two_seconds)
{
	go_to_open();
	expect_due(3000);
	tick(2999);
	expect_nothing();
	tick(3000);
	expect_over(P2P_NAT_UNKNOWN, P2P_REASON_CLIENT_TIMEOUT);
}

Test(p2p_nat_state, after_it_the_server_waits_a_tenth_of_a_second)
{
	go_to_open();
	cr_expect(done(3, -1, 1500));
	cr_expect_not(done(3, -1, 1500), "twice");
	cr_expect_not(done(0, -1, 1500));
	expect_nothing();
	expect_due(1600);
	tick(1599);
	expect_nothing();
	tick(1600);
	expect_ping(4, 0);
}

Test(p2p_nat_state, an_open_packet_tells_how_the_router_maps)
{
	struct p2p_packet k      = packet(P2P_OPEN, 3);
	uint32_t          cookie = 1;

	go_to_open();
	cr_expect(p2p_check_open(c, P2P_BQ, &k, &m1));
	cr_assert(done(3, -1, 1000));
	tick(1100);
	tick(2100);
	cr_assert(hello(5, P2P_BP, &other, &cookie, 2200));
	cr_expect(p2p_check_result(c)->conflict);
	cr_expect_eq(p2p_check_result(c)->type, P2P_NAT_SYMMETRIC);
	cr_expect(p2p_endpoint_is_same(&p2p_check_result(c)->mapped, &m1));
	cr_expect(p2p_endpoint_is_same(&p2p_check_result(c)->mapped_b, &other));
	cr_expect_eq(p2p_check_result(c)->ms, 2200);
}

Test(p2p_nat_state, an_open_packet_of_another_step_socket_or_nonce_tells_nothing)
{
	struct p2p_packet k      = packet(P2P_OPEN, 3);
	uint32_t          cookie = 1;

	go_to_ping();
	cr_expect_not(p2p_check_open(c, P2P_BQ, &k, &m1), "before it was asked for");
	tick(1000);
	cr_expect_not(p2p_check_open(c, P2P_BP, &k, &m1));
	k.step = 5;
	cr_expect_not(p2p_check_open(c, P2P_BQ, &k, &m1));
	k = packet(P2P_OPEN, 3);
	k.nonce[3] ^= 1;
	cr_expect_not(p2p_check_open(c, P2P_BQ, &k, &m1));
	cr_assert(done(3, -1, 1000));
	tick(1100);
	tick(2100);
	cr_assert(hello(5, P2P_BP, &other, &cookie, 2200));
	cr_expect_not(p2p_check_result(c)->conflict);
}

Test(p2p_nat_state, the_second_ping_has_a_second)
{
	go_to_second_ping();
	expect_ping(4, 0);
	tick(1300);
	expect_ping(4, 1);
	tick(1600);
	expect_ping(4, 2);
	expect_due(2100);
	tick(2099);
	expect_nothing();
	tick(2100);
	expect_step(5, false, P2P_BP);
}

Test(p2p_nat_state, the_last_step_has_two_seconds)
{
	uint32_t cookie = 1;

	go_to_hello_b();
	cr_expect_not(done(5, -1, 2100), "there is nothing to tell");
	cr_expect_not(hello(5, P2P_BQ, &m1, &cookie, 2100), "at another socket");
	expect_due(4100);
	tick(4099);
	expect_nothing();
	tick(4100);
	expect_over(P2P_NAT_UNKNOWN, P2P_REASON_SECOND_UNREACHABLE);
}

Test(p2p_nat_state, a_single_port_more_or_less_decides)
{
	uint32_t cookie = COOKIE;

	go_to_hello_b();
	cr_expect(hello(5, P2P_BP, &m1, &cookie, 2101));
	expect_over(P2P_NAT_PORT, P2P_REASON_NONE);
	finish();
	go_to_hello_b();
	cr_expect(hello(5, P2P_BP, &other, &cookie, 2101));
	expect_over(P2P_NAT_SYMMETRIC, P2P_REASON_NONE);
}

/* Timers that come late add up; with those that come in time no check gets there. */
Test(p2p_nat_state, all_of_it_ends_within_twelve_seconds)
{
	go_to_ping();
	expect_ping(2, 0);
	tick(11500);
	expect_step(3, true, P2P_BQ);
	expect_due(12000);
	tick(11999);
	expect_nothing();
	tick(12000);
	expect_over(P2P_NAT_UNKNOWN, P2P_REASON_CLIENT_TIMEOUT);
	cr_expect_eq(p2p_check_result(c)->ms, 12000);
}

Test(p2p_nat_state, with_one_address_the_last_step_goes_to_its_other_port)
{
	uint32_t cookie = COOKIE;

	begin(false);
	expect_step(1, false, P2P_AP);
	cr_assert(hello(1, P2P_AP, &m1, &cookie, 0));
	cr_assert(done(1, COOKIE, 0));
	expect_step(5, false, P2P_AQ);
	expect_nothing();
	cr_expect_not(hello(5, P2P_AP, &m1, &cookie, 1));
	expect_due(2000);
	tick(1999);
	expect_nothing();
	tick(2000);
	cr_expect(p2p_check_result(c)->second_missing);
	cr_expect_eq(p2p_check_result(c)->mapping, P2P_MAPPING_UNKNOWN);
	expect_over(P2P_NAT_UNKNOWN, P2P_REASON_NONE);
}

Test(p2p_nat_state, its_words_are_those_of_the_document)
{
	cr_expect_str_eq(p2p_reason_name(P2P_REASON_UDP_BLOCKED), "udp_blocked");
	cr_expect_str_eq(p2p_reason_name(P2P_REASON_CLIENT_TIMEOUT), "client_timeout");
	cr_expect_str_eq(p2p_reason_name(P2P_REASON_SECOND_UNREACHABLE), "second_unreachable");
	cr_expect_str_eq(p2p_mapping_name(P2P_MAPPING_UNKNOWN), "unknown");
	cr_expect_str_eq(p2p_mapping_name(P2P_MAPPING_SAME), "same");
	cr_expect_str_eq(p2p_mapping_name(P2P_MAPPING_VARIES), "varies");
}
