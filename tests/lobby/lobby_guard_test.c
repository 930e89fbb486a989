/*
 * How often one address may ask, at the limit and one past.
 */
#include "lobby/lobby_guard.h"

#include "base/auto.h"

#include <criterion/criterion.h>
#include <string.h>

#define NOW 1000000

static struct limits       limits;
static struct lobby_guard *guard;

static void set_up(void)
{
	limits_default(&limits);
	guard = lobby_guard_new(&limits, 1);
	cr_assert_not_null(guard);
}

static void tear_down(void)
{
	lobby_guard_free(guard);
}

TestSuite(lobby_guard, .init = set_up, .fini = tear_down);

struct key {
	uint8_t bytes[LOBBY_ADDR_BYTES];
};

static struct key key(uint32_t n)
{
	struct key k = { { 0 } };

	memcpy(k.bytes, &n, sizeof(n));
	return k;
}

/* So many requests of one address; how many were let in. wide 0: it is in no /48. */
static int ask(enum lobby_class c, uint32_t address, uint32_t wide, int count, int64_t now_ms)
{
	struct key k = key(address), w = key(wide);
	int        let_in = 0;

	for (int i = 0; i < count; i++)
		let_in += lobby_guard_take(guard, c, k.bytes, wide ? w.bytes : NULL, now_ms);
	return let_in;
}

Test(lobby_guard, each_class_has_its_limit_a_minute)
{
	static const struct {
		enum lobby_class class;
		int max;
	} rows[] = { { LOBBY_CREATE, 10 }, { LOBBY_JOIN, 20 }, { LOBBY_MUTATE, 240 } };

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		cr_expect_eq(ask(rows[i].class, 1, 0, rows[i].max, NOW), rows[i].max);
		cr_expect_eq(ask(rows[i].class, 1, 0, 1, NOW + 59999), 0, "one past it");
		cr_expect_eq(ask(rows[i].class, 2, 0, 1, NOW + 59999), 1, "another address");
		cr_expect_eq(ask(rows[i].class, 1, 0, 1, NOW + 60000), 1, "60 s are over");
	}
}

Test(lobby_guard, what_is_refused_does_not_count)
{
	cr_expect_eq(ask(LOBBY_CREATE, 1, 0, 10, NOW), 10);
	cr_expect_eq(ask(LOBBY_CREATE, 1, 0, 1000, NOW + 30000), 0);
	cr_expect_eq(ask(LOBBY_CREATE, 1, 0, 11, NOW + 60000), 10);
}

Test(lobby_guard, the_window_slides)
{
	for (int i = 0; i < 10; i++)
		cr_expect_eq(ask(LOBBY_CREATE, 1, 0, 1, NOW + i * 1000), 1);
	cr_expect_eq(ask(LOBBY_CREATE, 1, 0, 1, NOW + 59999), 0);
	cr_expect_eq(ask(LOBBY_CREATE, 1, 0, 2, NOW + 60000), 1);
	cr_expect_eq(ask(LOBBY_CREATE, 1, 0, 2, NOW + 61000), 1);
}

Test(lobby_guard, a_48_may_ask_8_times_as_often)
{
	for (uint32_t address = 1; address <= 8; address++)
		cr_expect_eq(ask(LOBBY_CREATE, address, 100, 11, NOW), 10);
	cr_expect_eq(ask(LOBBY_CREATE, 9, 100, 1, NOW), 0);
	cr_expect_eq(ask(LOBBY_CREATE, 9, 101, 1, NOW), 1, "another /48");
	cr_expect_eq(ask(LOBBY_JOIN, 9, 100, 1, NOW), 1, "another class");
	cr_expect_eq(ask(LOBBY_CREATE, 10, 0, 1, NOW), 1, "IPv4 has none");
	cr_expect_eq(ask(LOBBY_CREATE, 9, 100, 1, NOW + 60000), 1);
}

Test(lobby_guard, one_address_does_not_use_up_its_48)
{
	cr_expect_eq(ask(LOBBY_CREATE, 1, 100, 1000, NOW), 10);
	for (uint32_t address = 2; address <= 8; address++)
		cr_expect_eq(ask(LOBBY_CREATE, address, 100, 10, NOW), 10);
}

Test(lobby_guard, what_a_48_is_refused_does_not_count_for_the_address)
{
	for (uint32_t address = 1; address <= 8; address++)
		ask(LOBBY_CREATE, address, 100, 10, NOW);
	cr_expect_eq(ask(LOBBY_CREATE, 9, 100, 50, NOW + 1), 0);
	cr_expect_eq(ask(LOBBY_CREATE, 9, 100, 11, NOW + 60000), 10);
}

Test(lobby_guard, announces_of_before_a_start_count)
{
	struct key k = key(1), w = key(100);

	for (int i = 0; i < 10; i++)
		lobby_guard_note(guard, k.bytes, w.bytes, -30000 + i);
	cr_expect_eq(ask(LOBBY_CREATE, 1, 100, 1, 0), 0);
	cr_expect_eq(ask(LOBBY_CREATE, 1, 100, 1, 29999), 0);
	cr_expect_eq(ask(LOBBY_CREATE, 1, 100, 2, 30000), 1);
	cr_expect_eq(ask(LOBBY_JOIN, 1, 100, 1, 0), 1);
	for (uint32_t address = 2; address <= 9; address++)
		for (int i = 0; i < 10; i++) {
			k = key(address);
			lobby_guard_note(guard, k.bytes, w.bytes, 30001);
		}
	cr_expect_eq(ask(LOBBY_CREATE, 10, 100, 1, 30002), 0, "and for the /48");
	k = key(20);
	lobby_guard_note(guard, k.bytes, NULL, 30001);
	cr_expect_eq(ask(LOBBY_CREATE, 20, 0, 10, 30002), 9);
}

Test(lobby_guard, newcomers_without_room_share_one_window_and_the_others_notice_nothing)
{
	struct lobby_guard *all = guard;

	limits.lobby_windows = 2;
	guard                = lobby_guard_new(&limits, 1);
	cr_assert_not_null(guard);
	cr_expect_eq(ask(LOBBY_CREATE, 1, 0, 5, NOW), 5);
	cr_expect_eq(ask(LOBBY_CREATE, 2, 0, 5, NOW), 5);
	cr_expect_eq(ask(LOBBY_CREATE, 3, 0, 6, NOW), 6);
	cr_expect_eq(ask(LOBBY_CREATE, 4, 0, 6, NOW), 4, "10 in all");
	cr_expect_eq(ask(LOBBY_CREATE, 1, 0, 6, NOW), 5);
	cr_expect_eq(ask(LOBBY_CREATE, 2, 0, 6, NOW), 5);
	cr_expect_eq(ask(LOBBY_CREATE, 4, 0, 11, NOW + 60000), 10, "the first are forgotten");
	lobby_guard_free(guard);
	guard = all;
	lobby_guard_free(NULL);
}
