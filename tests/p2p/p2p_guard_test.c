/*
 * What an address may have of peer to peer: each limit at it and one past it.
 */
#include "p2p/p2p_inside.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define NOW       1000000
#define MINUTE_MS 60000
#define FACTOR    8 /* what a /48 may have more than an address */

static struct limits     limits;
static struct p2p_guard *guard;

static void begin(void)
{
	p2p_guard_free(guard);
	guard = p2p_guard_new(&limits, 1);
	cr_assert_not_null(guard);
}

static void set_up(void)
{
	limits_default(&limits);
	begin();
}

static void tear_down(void)
{
	p2p_guard_free(guard);
}

TestSuite(p2p_guard, .init = set_up, .fini = tear_down);

static struct addr address(const char *text)
{
	struct addr a;

	cr_assert_eq(addr_parse(&a, text, strlen(text), false), ERR_OK, "%s", text);
	return a;
}

static enum p2p_guard_says enter(const char *text)
{
	struct addr a = address(text);

	return p2p_guard_enter(guard, &a, false);
}

static bool enters(const char *text)
{
	return enter(text) == P2P_GUARD_FINE;
}

static void leave(const char *text)
{
	struct addr a = address(text);

	p2p_guard_leave(guard, &a, false);
}

static bool check(const char *text)
{
	struct addr a = address(text);

	return p2p_guard_check(guard, &a, false);
}

static void check_over(const char *text)
{
	struct addr a = address(text);

	p2p_guard_check_over(guard, &a, false);
}

static bool make_room(const char *text)
{
	struct addr a = address(text);

	return p2p_guard_room(guard, &a, false);
}

static void room_gone(const char *text)
{
	struct addr a = address(text);

	p2p_guard_room_gone(guard, &a, false);
}

static bool may_join(const char *text, int64_t now_ms)
{
	struct addr a = address(text);

	return p2p_guard_may_join(guard, &a, false, now_ms);
}

static void join_failed(const char *text, int64_t now_ms)
{
	struct addr a = address(text);

	p2p_guard_join_failed(guard, &a, false, now_ms);
}

/* The sixteen sessions, four checks and eight rooms are held one by one. */
static const struct held {
	const char *name;
	int         max;
	bool (*take)(const char *text);
	void (*give)(const char *text);
} held[] = {
	{ "sessions", 16, enters, leave },
	{ "checks", 4, check, check_over },
	{ "rooms", 8, make_room, room_gone },
};

static int take_many(const struct held *h, const char *text, int count)
{
	int granted = 0;

	for (int i = 0; i < count; i++)
		granted += h->take(text);
	return granted;
}

Test(p2p_guard, an_address_holds_so_many_and_not_one_more)
{
	for (const struct held *h = held; h < held + 3; h++) {
		cr_expect_eq(take_many(h, "203.0.113.1", h->max + 1), h->max, "%s", h->name);
		cr_expect_eq(take_many(h, "203.0.113.2", 1), 1, "%s of another address", h->name);
		h->give("203.0.113.1");
		cr_expect_eq(take_many(h, "203.0.113.1", 2), 1, "%s given back", h->name);
		cr_expect_eq(take_many(h, "2001:db8:7:1::1", h->max), h->max, "%s", h->name);
		cr_expect_eq(take_many(h, "2001:db8:7:1::2", 1), 0, "%s: a /64 is one address", h->name);
	}
}

Test(p2p_guard, a_48_holds_eight_times_as_many)
{
	for (const struct held *h = held; h < held + 3; h++) {
		for (unsigned i = 0; i < FACTOR; i++) {
			char text[ADDR_TEXT_BYTES];

			snprintf(text, sizeof(text), "2001:db8:7:%x::1", i);
			cr_expect_eq(take_many(h, text, h->max), h->max, "%s %u", h->name, i);
		}
		cr_expect_eq(take_many(h, "2001:db8:7:99::1", 1), 0, "%s", h->name);
		cr_expect_eq(take_many(h, "2001:db8:8:99::1", 1), 1, "%s of another /48", h->name);
		h->give("2001:db8:7:0::1");
		cr_expect_eq(take_many(h, "2001:db8:7:99::1", 2), 1, "%s given back", h->name);
	}
}

Test(p2p_guard, sessions_in_all_are_bounded_for_everybody)
{
	struct addr self = address("127.0.0.1");

	limits.p2p_sessions = 20;
	begin();
	for (int i = 0; i < 17; i++)
		cr_expect_eq(p2p_guard_enter(guard, &self, true), P2P_GUARD_FINE, "exempt of the limit per address");
	cr_expect_eq(enter("203.0.113.1"), P2P_GUARD_FINE);
	cr_expect_eq(enter("203.0.113.2"), P2P_GUARD_FINE);
	cr_expect_eq(enter("203.0.113.3"), P2P_GUARD_FINE);
	cr_expect_eq(enter("203.0.113.4"), P2P_GUARD_TOTAL);
	cr_expect_eq(p2p_guard_enter(guard, &self, true), P2P_GUARD_TOTAL);
	leave("203.0.113.2");
	cr_expect_eq(p2p_guard_enter(guard, &self, true), P2P_GUARD_FINE);
}

Test(p2p_guard, who_is_refused_for_his_address_takes_no_place_of_others)
{
	limits.p2p_sessions = 17;
	begin();
	for (int i = 0; i < 16; i++)
		cr_expect_eq(enter("203.0.113.1"), P2P_GUARD_FINE);
	for (int i = 0; i < 5; i++)
		cr_expect_eq(enter("203.0.113.1"), P2P_GUARD_ADDRESS);
	cr_expect_eq(enter("203.0.113.2"), P2P_GUARD_FINE);
	cr_expect_eq(enter("203.0.113.3"), P2P_GUARD_TOTAL);
}

Test(p2p_guard, an_address_is_known_while_it_has_a_session)
{
	struct addr a = address("203.0.113.1"), self = address("127.0.0.1");

	cr_expect_not(p2p_guard_knows(guard, &a));
	cr_expect_eq(enter("203.0.113.1"), P2P_GUARD_FINE);
	cr_expect_eq(enter("203.0.113.1"), P2P_GUARD_FINE);
	cr_expect(p2p_guard_knows(guard, &a));
	cr_expect_not(p2p_guard_knows(guard, &self));
	leave("203.0.113.1");
	cr_expect(p2p_guard_knows(guard, &a));
	leave("203.0.113.1");
	cr_expect_not(p2p_guard_knows(guard, &a));
	cr_expect_eq(p2p_guard_enter(guard, &self, true), P2P_GUARD_FINE);
	cr_expect(p2p_guard_knows(guard, &self), "one without limits, too");
}

Test(p2p_guard, twenty_joins_a_minute_may_fail)
{
	for (int i = 0; i < 20; i++) {
		cr_expect(may_join("203.0.113.1", NOW + i), "%d", i);
		join_failed("203.0.113.1", NOW + i);
	}
	cr_expect_not(may_join("203.0.113.1", NOW + 20));
	cr_expect(may_join("203.0.113.2", NOW + 20), "another address");
	cr_expect_not(may_join("203.0.113.1", NOW + MINUTE_MS - 1));
	cr_expect(may_join("203.0.113.1", NOW + MINUTE_MS), "the first is a minute old");
	join_failed("203.0.113.1", NOW + MINUTE_MS);
	cr_expect_not(may_join("203.0.113.1", NOW + MINUTE_MS));
}

Test(p2p_guard, of_a_48_a_hundred_and_sixty_joins_may_fail)
{
	for (unsigned i = 0; i < 20 * FACTOR; i++) {
		char text[ADDR_TEXT_BYTES];

		snprintf(text, sizeof(text), "2001:db8:7:%x::1", i);
		cr_expect(may_join(text, NOW), "%u", i);
		join_failed(text, NOW);
	}
	cr_expect_not(may_join("2001:db8:7:ffff::1", NOW));
	cr_expect(may_join("2001:db8:8:ffff::1", NOW));
}

Test(p2p_guard, on_the_machine_itself_nothing_is_counted_per_address)
{
	struct addr self = address("127.0.0.1");

	for (int i = 0; i < 30; i++) {
		cr_expect(p2p_guard_check(guard, &self, true));
		cr_expect(p2p_guard_room(guard, &self, true));
		p2p_guard_join_failed(guard, &self, true, NOW);
		cr_expect(p2p_guard_may_join(guard, &self, true, NOW));
	}
	cr_expect(may_join("127.0.0.1", NOW), "nor held against who is counted");
	cr_expect(check("127.0.0.1"));
}
