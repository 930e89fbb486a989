/*
 * The tunnel's limits per address, at the limit and one past.
 */
#include "tunnel/tunnel_guard.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define NOW 1000000

static struct limits limits;

static struct tunnel_guard *guard(void)
{
	limits_default(&limits);
	struct tunnel_guard *g = tunnel_guard_new(&limits);

	cr_assert_not_null(g);
	return g;
}

static struct addr address(const char *text)
{
	struct addr a;

	cr_assert_eq(addr_parse(&a, text, strlen(text), false), ERR_OK);
	return a;
}

/* So many new players of one address; how many were let in. */
static int new_players(struct tunnel_guard *g, const char *text, int count)
{
	struct addr a = address(text);
	uint8_t     key[ADDR_KEY_BYTES];
	int         let_in = 0;

	addr_key(key, &a);
	for (int i = 0; i < count; i++)
		let_in += tunnel_guard_new_player(g, &a, key, NOW);
	return let_in;
}

Test(tunnel_guard, an_address_makes_20_new_players_an_hour)
{
	struct tunnel_guard *g = guard();

	cr_expect_eq(new_players(g, "192.0.2.1", 21), 20);
	cr_expect_eq(new_players(g, "192.0.2.2", 1), 1);
	tunnel_guard_free(g);
}

Test(tunnel_guard, an_ipv6_48_makes_160_and_leaves_the_rest_to_others)
{
	struct tunnel_guard *g      = guard();
	int                  let_in = 0;
	char                 text[32];

	for (int i = 0; i < 10; i++) {
		snprintf(text, sizeof(text), "2001:db8:1:%x::1", i);
		let_in += new_players(g, text, 20);
	}
	cr_expect_eq(let_in, 160);
	cr_expect_eq(new_players(g, "2001:db8:2::1", 1), 1);
	tunnel_guard_free(g);
}

Test(tunnel_guard, the_31st_join_after_30_failed_ones_waits)
{
	struct tunnel_guard *g = guard();
	struct addr          a = address("192.0.2.1");

	for (int i = 0; i < 30; i++) {
		cr_expect_eq(tunnel_guard_join_wait(g, &a, NOW), 0);
		tunnel_guard_join_failed(g, &a, NOW);
	}
	cr_expect_eq(tunnel_guard_join_wait(g, &a, NOW), 3000);
	cr_expect_eq(tunnel_guard_join_wait(g, &a, NOW + 59999), 3000);
	cr_expect_eq(tunnel_guard_join_wait(g, &a, NOW + 60000), 0);
	tunnel_guard_free(g);
}

Test(tunnel_guard, one_address_that_fails_without_end_delays_nobody_else)
{
	struct tunnel_guard *g     = guard();
	struct addr          a     = address("192.0.2.1");
	struct addr          other = address("192.0.2.2");

	for (int i = 0; i < 2000; i++)
		tunnel_guard_join_failed(g, &a, NOW);
	cr_expect_eq(tunnel_guard_join_wait(g, &other, NOW), 0);
	tunnel_guard_free(g);
}

Test(tunnel_guard, many_addresses_that_fail_delay_everybody)
{
	struct tunnel_guard *g     = guard();
	struct addr          other = address("192.0.2.2");
	char                 text[32];

	for (int i = 0; i < 20; i++) {
		snprintf(text, sizeof(text), "198.51.100.%d", i);
		struct addr a = address(text);

		cr_expect_eq(tunnel_guard_join_wait(g, &other, NOW), 0);
		for (int fail = 0; fail < 30; fail++)
			tunnel_guard_join_failed(g, &a, NOW);
	}
	cr_expect_eq(tunnel_guard_join_wait(g, &other, NOW), 3000, "600 in all");
	tunnel_guard_free(g);
}

Test(tunnel_guard, joins_that_wait_side_by_side_wait_longer_the_more_there_are)
{
	struct tunnel_guard *g = guard();
	struct addr          a = address("192.0.2.1");

	for (int i = 0; i < 30; i++)
		tunnel_guard_join_failed(g, &a, NOW);
	for (int i = 0; i < 4; i++) {
		cr_expect_eq(tunnel_guard_join_wait(g, &a, NOW), 3000);
		tunnel_guard_hold_join(g, &a);
	}
	cr_expect_eq(tunnel_guard_join_wait(g, &a, NOW), 6000);
	tunnel_guard_let_join(g, &a);
	cr_expect_eq(tunnel_guard_join_wait(g, &a, NOW), 3000);
	tunnel_guard_free(g);
}
