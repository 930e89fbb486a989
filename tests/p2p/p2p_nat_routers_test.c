/*
 * The NAT check behind routers of every kind, with losses and over long ways, against a client that does what the document says.
 */
#include "base/auto.h"
#include "support/nat_run.h"

#include <criterion/criterion.h>

static const struct kind {
	const char       *name;
	struct nat_router router;
	enum p2p_nat_type type;
	enum p2p_mapping  mapping;
	size_t            pings; /* that are sent when nothing is lost and the way is short */
} kinds[] = {
	{ "open", { .filter = NAT_FILTER_NONE }, P2P_NAT_OPEN, P2P_MAPPING_SAME, 1 },
	{ "address restricted", { .filter = NAT_FILTER_ADDRESS }, P2P_NAT_ADDRESS, P2P_MAPPING_SAME, 4 },
	{ "port restricted", { .filter = NAT_FILTER_PORT }, P2P_NAT_PORT, P2P_MAPPING_SAME, 6 },
	{ "symmetric", { .filter = NAT_FILTER_PORT, .varies = true }, P2P_NAT_SYMMETRIC, P2P_MAPPING_VARIES, 6 },
	{ "varies, lets all in", { .varies = true }, P2P_NAT_OPEN, P2P_MAPPING_VARIES, 1 },
	{ "varies, lets addresses in",
	  { .filter = NAT_FILTER_ADDRESS, .varies = true },
	  P2P_NAT_ADDRESS,
	  P2P_MAPPING_VARIES,
	  4 },
	{ "Linux", { .filter = NAT_FILTER_PORT, .is_taken = true }, P2P_NAT_SYMMETRIC, P2P_MAPPING_VARIES, 6 },
};

static struct nat_run run_behind(const struct kind *k, struct nat_run r)
{
	r.router     = k->router;
	r.has_second = true;
	nat_run(&r);
	return r;
}

static void expect_kind(const struct kind *k, const struct nat_run *r)
{
	cr_expect_eq(r->result.type, k->type, "%s, without %zu: %s, %s", k->name, r->loses,
	             p2p_nat_name(r->result.type), p2p_reason_name(r->result.reason));
	cr_expect_eq(r->result.reason, P2P_REASON_NONE, "%s", k->name);
	cr_expect_eq(r->result.mapping, k->mapping, "%s, without %zu", k->name, r->loses);
	cr_expect_eq(r->result.conflict, k->router.is_taken, "%s, without %zu", k->name, r->loses);
	cr_expect(r->result.mapped.is_set, "%s", k->name);
	cr_expect_eq(r->result.mapped_b.is_set, k->type >= P2P_NAT_PORT, "%s", k->name);
	cr_expect_not(r->result.partial || r->result.reused || r->result.second_missing);
}

Test(p2p_nat_routers, every_kind_of_router_gets_its_type)
{
	for (size_t i = 0; i < COUNT_OF(kinds); i++) {
		struct nat_run r = run_behind(&kinds[i], (struct nat_run){ .way_ms = 10 });

		expect_kind(&kinds[i], &r);
		cr_expect_eq(r.pings, kinds[i].pings, "%s: %zu pings", kinds[i].name, r.pings);
	}
}

/* A way of 300 ms: the second HELLO leaves before the first answer is there, and the cookie of that has to hold. */
Test(p2p_nat_routers, a_long_way_changes_nothing)
{
	for (size_t i = 0; i < COUNT_OF(kinds); i++) {
		struct nat_run r = run_behind(&kinds[i], (struct nat_run){ .way_ms = 300 });

		expect_kind(&kinds[i], &r);
	}
}

Test(p2p_nat_routers, no_single_loss_changes_anything)
{
	for (size_t i = 0; i < COUNT_OF(kinds); i++) {
		const struct nat_run whole = run_behind(&kinds[i], (struct nat_run){ .way_ms = 10 });

		for (size_t lost = 1; lost <= whole.datagrams; lost++) {
			struct nat_run r = run_behind(&kinds[i], (struct nat_run){ .way_ms = 10, .loses = lost });

			expect_kind(&kinds[i], &r);
		}
	}
}

Test(p2p_nat_routers, the_last_try_of_each_is_enough)
{
	for (size_t i = 0; i < COUNT_OF(kinds); i++) {
		struct nat_run r = run_behind(&kinds[i], (struct nat_run){ .way_ms = 10, .is_lossy = true });

		expect_kind(&kinds[i], &r);
	}
}

/* Then nothing is known of how the router maps, but for what an OPEN showed. */
Test(p2p_nat_routers, a_ping_try_may_be_confirmed_on_the_control_channel)
{
	struct nat_run open    = run_behind(&kinds[0], (struct nat_run){ .way_ms = 10, .says_pings = true });
	struct nat_run address = run_behind(&kinds[1], (struct nat_run){ .way_ms = 10, .says_pings = true });

	cr_expect_eq(open.result.type, P2P_NAT_OPEN);
	cr_expect_eq(open.result.mapping, P2P_MAPPING_UNKNOWN);
	cr_expect_eq(address.result.type, P2P_NAT_ADDRESS);
	cr_expect_eq(address.result.mapping, P2P_MAPPING_SAME);
}

Test(p2p_nat_routers, an_open_nat_takes_its_round_trips_and_a_strict_one_the_times_of_the_document)
{
	cr_expect_eq(run_behind(&kinds[0], (struct nat_run){ .way_ms = 10 }).result.ms, 60);
	/* HELLO 40, PING_TRY 1000, OPEN 120, a pause 100, PING_TRY 1000, HELLO 20 */
	cr_expect_eq(run_behind(&kinds[2], (struct nat_run){ .way_ms = 10 }).result.ms, 2280);
}

Test(p2p_nat_routers, without_udp_the_check_finds_nothing)
{
	struct nat_run r = { .router = { .is_silent = true }, .has_second = true, .way_ms = 10 };

	nat_run(&r);
	cr_expect_eq(r.result.type, P2P_NAT_UNKNOWN);
	cr_expect_eq(r.result.reason, P2P_REASON_UDP_BLOCKED);
	cr_expect_eq(r.result.ms, 4000);
	cr_expect_not(r.result.mapped.is_set);
	cr_expect_eq(r.pings, 0);
}

Test(p2p_nat_routers, without_a_way_to_b_the_second_address_is_unreachable)
{
	struct nat_run r = { .router     = { .filter = NAT_FILTER_PORT, .hides_b = true },
		             .has_second = true,
		             .way_ms     = 10 };

	nat_run(&r);
	cr_expect_eq(r.result.type, P2P_NAT_UNKNOWN);
	cr_expect_eq(r.result.reason, P2P_REASON_SECOND_UNREACHABLE);
	cr_expect_eq(r.result.mapping, P2P_MAPPING_SAME); /* by its OPEN */
}

Test(p2p_nat_routers, one_address_only_knows_that_a_mapping_varies)
{
	struct nat_run same   = { .router = { .filter = NAT_FILTER_PORT }, .way_ms = 10 };
	struct nat_run varies = { .router = { .filter = NAT_FILTER_PORT, .varies = true }, .way_ms = 10 };

	nat_run(&same);
	cr_expect(same.result.second_missing);
	cr_expect_not(same.result.partial);
	cr_expect_eq(same.result.type, P2P_NAT_UNKNOWN);
	cr_expect_eq(same.result.mapping, P2P_MAPPING_SAME);
	cr_expect(same.result.mapped.is_set && !same.result.mapped_b.is_set);
	nat_run(&varies);
	cr_expect_not(varies.result.second_missing);
	cr_expect(varies.result.partial);
	cr_expect_eq(varies.result.type, P2P_NAT_SYMMETRIC);
	cr_expect_eq(varies.result.mapping, P2P_MAPPING_VARIES);
	cr_expect_not(varies.result.mapped_b.is_set);
	cr_expect_eq(same.pings + varies.pings, 0);
}
