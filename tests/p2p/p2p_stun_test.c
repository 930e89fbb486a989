/*
 * Who gets a STUN answer and what it leaves behind, by plain calls with a clock of the test's own.
 */
#include "p2p/p2p_inside.h"

#include "base/metric.h"
#include "net/listen.h"
#include "support/loop_thread.h"
#include "support/vectors.h"

#include <criterion/criterion.h>
#include <string.h>

#define RATE  10
#define BURST 3
#define TOTAL 100

static struct conf        conf;
static struct p2p         p;
static struct loop_thread on;
static struct udp        *udp;
static struct vectors     all;

static void hear_nothing(void *part, struct udp_datagram *d, int64_t now_ms)
{
	(void)part;
	(void)d;
	(void)now_ms;
}

static void listen_as(enum p2p_socket which)
{
	static const struct udp_handler handler = { .got = hear_nothing };
	struct addr                     bound;
	int                             fd;

	cr_assert_eq(listen_udp(&fd, &bound, "127.0.0.1:0", 0, stderr), ERR_OK);
	cr_assert_eq(udp_listen(&p.sockets[which], udp, fd, &bound, &handler), ERR_OK);
}

static void prepare(void)
{
	all = vectors_load("stun.hex");
	limits_default(&conf.limits);
	conf.limits.p2p_sessions = 10;
	conf.stun_enable         = true;
	conf.stun_rate           = RATE;
	conf.stun_burst          = BURST;
	conf.stun_total          = TOTAL;
	loop_thread_init(&on);
	cr_assert_eq(udp_new(&udp, on.loop), ERR_OK);
	for (int i = 0; i < P2P_SOCKETS; i++)
		listen_as((enum p2p_socket)i);
	p.has_second = true;
	p.stun       = p2p_stun_new(&conf, 1);
	p.guard      = p2p_guard_new(&conf.limits, 1);
	p.seen       = p2p_seen_new(&conf.limits, 1);
	cr_assert(p.stun && p.guard && p.seen);
}

static void finish(void)
{
	p2p_stun_free(p.stun);
	p2p_guard_free(p.guard);
	p2p_seen_free(p.seen);
	udp_free(udp);
	loop_thread_fini(&on);
	vectors_free(&all);
}

TestSuite(p2p_stun, .init = prepare, .fini = finish);

static void make_ip(uint8_t ip[4], unsigned number)
{
	ip[0] = 127;
	ip[1] = (uint8_t)(1 + (number >> 16));
	ip[2] = (uint8_t)(number >> 8);
	ip[3] = (uint8_t)number;
}

/* A request of the client with this number; whether it was answered. */
static bool ask(enum p2p_socket at, unsigned number, const char *name, int64_t now_ms)
{
	static uint8_t       bytes[UDP_DATAGRAM_BYTES_MAX];
	const struct vector *v = vectors_find(&all, name);
	struct udp_datagram  d = {
		 .path = { .socket = p.sockets[at], .port = 9 }, .bytes = bytes, .len = v->len, .cap = sizeof(bytes)
	};
	int64_t before = metric_get(M_STUN_ANSWERED) + metric_get(M_STUN_ERRORS);

	make_ip(d.path.ip, number);
	memcpy(bytes, v->data, v->len);
	p2p_stun_on(&p, at, &d, now_ms);
	return metric_get(M_STUN_ANSWERED) + metric_get(M_STUN_ERRORS) > before;
}

static struct addr addr_of(unsigned number)
{
	struct addr a = { .family = ADDR_IPV4 };

	make_ip(a.ip, number);
	return a;
}

static bool was_seen(unsigned number, int64_t now_ms)
{
	struct p2p_endpoint e = { .is_set = true, .port = 9 };

	make_ip(e.ip, number);
	return p2p_was_seen(&p, &e, now_ms);
}

Test(p2p_stun, who_asked_b_was_seen_by_it)
{
	static const char *const nothing[] = { "indication", "allocate" };

	cr_expect(ask(P2P_AP, 1, "plain", 1000));
	cr_expect(ask(P2P_AQ, 1, "change_both", 1000));
	cr_expect_not(was_seen(1, 1000), "A alone, and what B sends, open no router for B");
	for (size_t i = 0; i < 2; i++)
		cr_expect_not(ask(P2P_BP, 1, nothing[i], 1000));
	cr_expect_not(was_seen(1, 1000));
	cr_expect(ask(P2P_BP, 1, "plain", 1000));
	cr_expect(was_seen(1, 1000));
	cr_expect(ask(P2P_BQ, 2, "unknown_three", 1000));
	cr_expect(was_seen(2, 1000));
}

Test(p2p_stun, an_address_gets_its_burst_and_then_its_rate)
{
	for (int i = 0; i < BURST; i++)
		cr_expect(ask(P2P_AP, 1, i ? "plain" : "unknown_three", 1000));
	cr_expect_not(ask(P2P_AP, 1, "plain", 1000));
	cr_expect_not(ask(P2P_BQ, 1, "plain", 1000), "all sockets count together");
	cr_expect_eq(metric_get(M_STUN_DROPPED_RATE), 2);
	cr_expect_not(ask(P2P_AP, 1, "plain", 1099));
	cr_expect(ask(P2P_AP, 1, "plain", 1100));
	cr_expect_not(ask(P2P_AP, 1, "plain", 1100));
	cr_expect(ask(P2P_AP, 2, "plain", 1100));
}

Test(p2p_stun, all_strangers_get_the_total_and_then_its_rate)
{
	for (unsigned i = 0; i < TOTAL; i++)
		cr_assert(ask(P2P_AP, i, "plain", 1000));
	cr_expect_not(ask(P2P_AP, TOTAL, "plain", 1000));
	cr_expect_eq(metric_get(M_STUN_DROPPED_TOTAL), 1);
	cr_expect_not(ask(P2P_AP, TOTAL, "plain", 1009));
	cr_expect(ask(P2P_AP, TOTAL, "plain", 1010));
	cr_expect_not(ask(P2P_AP, TOTAL + 1, "plain", 1010));
}

Test(p2p_stun, who_is_over_its_own_rate_uses_up_nothing_of_the_total)
{
	for (int i = 0; i < 10 * TOTAL; i++)
		ask(P2P_AP, 1, "plain", 1000);
	for (unsigned i = 0; i < TOTAL - BURST; i++)
		cr_assert(ask(P2P_AP, 2 + i, "plain", 1000));
	cr_expect_not(ask(P2P_AP, 2 + TOTAL - BURST, "plain", 1000));
}

Test(p2p_stun, a_flood_takes_nothing_from_who_has_a_connection)
{
	struct addr a = addr_of(70000), b = addr_of(70001);

	p2p_stun_free(p.stun);
	conf.stun_total = 200000;
	p.stun          = p2p_stun_new(&conf, 1);
	cr_assert_eq(p2p_guard_enter(p.guard, &a, false), P2P_GUARD_FINE);
	cr_assert_eq(p2p_guard_enter(p.guard, &b, true), P2P_GUARD_FINE);
	/* More than are remembered: those beyond share what one has. */
	for (unsigned i = 0; i < 65536 + 100; i++)
		ask(P2P_AP, i, "plain", 1000);
	cr_expect_not(ask(P2P_AP, 69999, "plain", 1000));
	cr_expect_eq(metric_get(M_STUN_ANSWERED), 65536 + BURST);
	for (int i = 0; i < BURST; i++) {
		cr_expect(ask(P2P_AP, 70000, "plain", 1000));
		cr_expect(ask(P2P_AP, 70001, "plain", 1000), "without limits of its address, too");
	}
	cr_expect_not(ask(P2P_AP, 70000, "plain", 1000), "it has a rate all the same");

	p2p_guard_leave(p.guard, &a, false);
	cr_expect_not(ask(P2P_AP, 70000, "plain", 1000));
	p2p_guard_leave(p.guard, &b, true);
}

Test(p2p_stun, a_connection_counts_until_the_last_one_is_closed)
{
	struct addr a = addr_of(1);

	cr_expect_not(p2p_guard_knows(p.guard, &a));
	p2p_guard_enter(p.guard, &a, false);
	p2p_guard_enter(p.guard, &a, true);
	p2p_guard_leave(p.guard, &a, false);
	cr_expect(p2p_guard_knows(p.guard, &a));
	p2p_guard_leave(p.guard, &a, true);
	cr_expect_not(p2p_guard_knows(p.guard, &a));
}
