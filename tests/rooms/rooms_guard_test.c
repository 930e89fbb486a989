/*
 * How much of the rooms an address may use: each limit at it and one past it.
 */
#include "rooms/rooms_guard.h"

#include "base/auto.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define NOW     1000000
#define HOUR_MS 3600000

static struct limits       limits;
static struct rooms_guard *guard;

static void begin(void)
{
	rooms_guard_free(guard);
	guard = rooms_guard_new(&limits, 1);
	cr_assert_not_null(guard);
}

static void set_up(void)
{
	limits_default(&limits);
	begin();
}

static void tear_down(void)
{
	rooms_guard_free(guard);
}

TestSuite(rooms_guard, .init = set_up, .fini = tear_down);

static struct addr address(const char *text)
{
	struct addr a;

	cr_assert_eq(addr_parse(&a, text, strlen(text), false), ERR_OK, "%s", text);
	return a;
}

/* One of a /48, each in a /64 of its own. */
static const char *in_48(char out[ADDR_TEXT_BYTES], unsigned n)
{
	snprintf(out, ADDR_TEXT_BYTES, "2001:db8:7:%x::1", n);
	return out;
}

static enum rooms_guard_says enter(const char *text, int64_t now_ms)
{
	struct addr a = address(text);

	return rooms_guard_enter(guard, &a, false, now_ms);
}

static void leave(const char *text)
{
	struct addr a = address(text);

	rooms_guard_leave(guard, &a, false);
}

/* The next so many, slowly enough for the rate: all are let in. */
static void fill(const char *text, int64_t count, int64_t *now_ms)
{
	for (int64_t i = 0; i < count; i++) {
		*now_ms += 1000;
		cr_assert_eq(enter(text, *now_ms), ROOMS_GUARD_FINE, "%s %d", text, (int)i);
	}
}

static bool may(const char *text, enum rooms_ask what, const char *name, int64_t now_ms)
{
	struct addr         a                            = address(text);
	uint8_t             padded[ROOMS_NAME_BYTES + 1] = { 0 };
	struct rooms_origin from;

	snprintf((char *)padded, sizeof(padded), "%s", name ? name : "");
	rooms_origin_of(&from, &a, false);
	return rooms_guard_may(guard, &from, what, name ? padded : NULL, now_ms);
}

/* How many of so many are granted. */
static int ask(const char *text, enum rooms_ask what, int count, int64_t now_ms)
{
	int granted = 0;

	for (int i = 0; i < count; i++)
		granted += may(text, what, NULL, now_ms);
	return granted;
}

/* The same with names, each a new one. */
static int name(const char *text, int count, int64_t now_ms)
{
	static int n;
	char       word[ROOMS_NAME_BYTES];
	int        granted = 0;

	for (int i = 0; i < count; i++) {
		snprintf(word, sizeof(word), "player%d", n++);
		granted += may(text, ROOMS_ASK_NAME, word, now_ms);
	}
	return granted;
}

static struct rooms_origin origin(const char *text)
{
	struct addr         a = address(text);
	struct rooms_origin from;

	rooms_origin_of(&from, &a, false);
	return from;
}

static void room_gone(const char *text)
{
	rooms_guard_room_gone(guard, origin(text).addr);
}

static void room_came(const char *text)
{
	rooms_guard_room_came(guard, origin(text).addr);
}

static int send_packets(uint8_t last, int count, int64_t now_ms)
{
	struct addr         a = { .family = ADDR_IPV4, .ip = { 192, 0, 2, last } };
	struct rooms_origin from;
	int                 taken = 0;

	rooms_origin_of(&from, &a, false);
	for (int i = 0; i < count; i++)
		taken += rooms_guard_packet(guard, &from, now_ms);
	return taken;
}

/* --- Where somebody comes from --- */

Test(rooms_guard, an_origin_has_the_whole_address_and_ipv4_as_clients_are_told)
{
	static const uint8_t mapped[16] = { [10] = 0xFF, 0xFF, 192, 0, 2, 1 };
	static const uint8_t ip[4]      = { 192, 0, 2, 1 };
	static const uint8_t none[4]    = { 0 };
	struct addr v4 = address("192.0.2.1"), inside = address("::ffff:192.0.2.1"), v6 = address("2001:db8::1");
	struct rooms_origin o;

	rooms_origin_of(&o, &v4, true);
	cr_expect(o.is_ipv4 && o.is_exempt);
	cr_expect_arr_eq(o.addr, mapped, sizeof(mapped));
	cr_expect_arr_eq(o.ip, ip, sizeof(ip));
	rooms_origin_of(&o, &inside, false);
	cr_expect(o.is_ipv4 && !o.is_exempt);
	cr_expect_arr_eq(o.addr, mapped, sizeof(mapped));
	rooms_origin_of(&o, &v6, false);
	cr_expect_not(o.is_ipv4);
	cr_expect_arr_eq(o.addr, v6.ip, sizeof(o.addr));
	cr_expect_arr_eq(o.ip, none, sizeof(none));
}

/* --- Connections --- */

Test(rooms_guard, an_address_has_sixty_four_connections)
{
	int64_t now_ms = NOW;

	fill("192.0.2.1", 64, &now_ms);
	cr_expect_eq(enter("192.0.2.1", now_ms + 1000), ROOMS_GUARD_ADDRESS, "one past it");
	cr_expect_eq(enter("192.0.2.2", now_ms + 1000), ROOMS_GUARD_FINE, "another address");
	leave("192.0.2.1");
	cr_expect_eq(enter("192.0.2.1", now_ms + 2000), ROOMS_GUARD_FINE);
	cr_expect_eq(enter("192.0.2.1", now_ms + 3000), ROOMS_GUARD_ADDRESS);
}

Test(rooms_guard, a_48_has_eight_times_as_many_connections)
{
	int64_t now_ms = NOW;
	char    text[ADDR_TEXT_BYTES];

	for (unsigned n = 0; n < 8; n++)
		fill(in_48(text, n), 64, &now_ms);
	cr_expect_eq(enter(in_48(text, 8), now_ms + 1000), ROOMS_GUARD_ADDRESS, "one past it");
	cr_expect_eq(enter("2001:db8:8::1", now_ms + 1000), ROOMS_GUARD_FINE, "another network");
	leave(in_48(text, 3));
	cr_expect_eq(enter(in_48(text, 8), now_ms + 2000), ROOMS_GUARD_FINE);
	cr_expect_eq(enter(in_48(text, 3), now_ms + 3000), ROOMS_GUARD_ADDRESS);
	/* A refusal took no place of the /64. */
	for (int i = 0; i < 63; i++)
		leave(in_48(text, 3));
	leave(in_48(text, 4));
	fill("2001:db8:7:3::2", 64, &now_ms);
}

Test(rooms_guard, all_together_have_4096_connections)
{
	char text[ADDR_TEXT_BYTES];

	for (int i = 0; i < 4096; i++) {
		snprintf(text, sizeof(text), "198.51.%d.%d", i / 256, i % 256);
		cr_assert_eq(enter(text, NOW), ROOMS_GUARD_FINE);
	}
	cr_expect_eq(enter("192.0.2.1", NOW), ROOMS_GUARD_TOTAL, "one past it");
	leave("198.51.0.0");
	cr_expect_eq(enter("192.0.2.1", NOW), ROOMS_GUARD_FINE);
	cr_expect_eq(enter("192.0.2.1", NOW), ROOMS_GUARD_TOTAL);
}

Test(rooms_guard, sixty_come_at_once_and_twenty_a_second)
{
	for (int i = 0; i < 60; i++)
		cr_assert_eq(enter("192.0.2.1", NOW), ROOMS_GUARD_FINE);
	cr_expect_eq(enter("192.0.2.1", NOW), ROOMS_GUARD_RATE, "one past it");
	cr_expect_eq(enter("192.0.2.2", NOW), ROOMS_GUARD_FINE, "another address");
	for (int i = 0; i < 60; i++)
		leave("192.0.2.1");
	for (int i = 0; i < 20; i++)
		cr_expect_eq(enter("192.0.2.1", NOW + 1000), ROOMS_GUARD_FINE);
	cr_expect_eq(enter("192.0.2.1", NOW + 1000), ROOMS_GUARD_RATE);
}

Test(rooms_guard, a_48_comes_eight_times_as_often)
{
	char text[ADDR_TEXT_BYTES];

	for (unsigned n = 0; n < 8; n++) {
		for (int i = 0; i < 60; i++)
			cr_assert_eq(enter(in_48(text, n), NOW), ROOMS_GUARD_FINE);
	}
	cr_expect_eq(enter(in_48(text, 8), NOW), ROOMS_GUARD_RATE, "one past it");
}

Test(rooms_guard, who_is_exempt_counts_in_the_total_alone)
{
	struct addr a = address("127.0.0.1");

	limits.rooms_connections = 1000;
	begin();
	for (int i = 0; i < 1000; i++)
		cr_assert_eq(rooms_guard_enter(guard, &a, true, NOW), ROOMS_GUARD_FINE);
	cr_expect_eq(rooms_guard_enter(guard, &a, true, NOW), ROOMS_GUARD_TOTAL);
	rooms_guard_leave(guard, &a, true);
	cr_expect_eq(rooms_guard_enter(guard, &a, true, NOW), ROOMS_GUARD_FINE);
}

/* --- In a minute --- */

Test(rooms_guard, an_address_joins_120_rooms_a_minute_and_a_48_eight_times_as_many)
{
	enum { MAX = 120, MINUTE_MS = 60000 };
	char text[ADDR_TEXT_BYTES];

	cr_expect_eq(ask("192.0.2.1", ROOMS_ASK_JOIN, MAX, NOW), MAX);
	cr_expect_eq(ask("192.0.2.1", ROOMS_ASK_JOIN, 1, NOW + MINUTE_MS - 1), 0, "one past it");
	cr_expect_eq(ask("192.0.2.2", ROOMS_ASK_JOIN, 1, NOW), 1, "another address");
	cr_expect_eq(ask("192.0.2.1", ROOMS_ASK_JOIN, MAX + 1, NOW + MINUTE_MS), MAX);

	for (unsigned n = 0; n < 8; n++)
		cr_expect_eq(ask(in_48(text, n), ROOMS_ASK_JOIN, MAX + 1, NOW), MAX);
	cr_expect_eq(ask(in_48(text, 8), ROOMS_ASK_JOIN, 1, NOW + MINUTE_MS - 1), 0, "one past it");
	cr_expect_eq(ask(in_48(text, 8), ROOMS_ASK_JOIN, MAX + 1, NOW + MINUTE_MS), MAX);
}

/* --- In an hour --- */

Test(rooms_guard, boards_and_rows_have_their_limit_an_hour)
{
	static const struct {
		enum rooms_ask what;
		int            max;
	} rows[] = { { ROOMS_ASK_BOARD, 10 }, { ROOMS_ASK_ROW, 300 } };

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		cr_expect_eq(ask("192.0.2.1", rows[i].what, rows[i].max, NOW), rows[i].max);
		cr_expect_eq(ask("192.0.2.1", rows[i].what, 1, NOW + HOUR_MS - 1), 0, "one past it");
		cr_expect_eq(ask("192.0.2.2", rows[i].what, 1, NOW), 1, "another address");
		cr_expect_eq(ask("192.0.2.1", rows[i].what, rows[i].max + 1, NOW + HOUR_MS), rows[i].max);
	}
}

Test(rooms_guard, a_48_has_eight_times_as_much_an_hour)
{
	static const struct {
		enum rooms_ask what;
		int            max;
	} rows[] = { { ROOMS_ASK_BOARD, 10 }, { ROOMS_ASK_ROW, 300 } };
	char text[ADDR_TEXT_BYTES];

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		for (unsigned n = 0; n < 8; n++)
			cr_expect_eq(ask(in_48(text, n), rows[i].what, rows[i].max + 1, NOW), rows[i].max);
		cr_expect_eq(ask(in_48(text, 8), rows[i].what, 1, NOW), 0, "one past it");
		cr_expect_eq(ask("2001:db8:8::1", rows[i].what, 1, NOW), 1, "another network");
		cr_expect_eq(ask(in_48(text, 8), rows[i].what, rows[i].max + 1, NOW + HOUR_MS), rows[i].max,
		             "what is refused does not count");
	}
}

Test(rooms_guard, an_address_has_thirty_new_names_an_hour)
{
	char text[ADDR_TEXT_BYTES];

	cr_expect_eq(name("192.0.2.1", 30, NOW), 30);
	cr_expect_eq(name("192.0.2.1", 1, NOW + HOUR_MS - 1), 0, "one past it");
	cr_expect_eq(name("192.0.2.2", 1, NOW), 1, "another address");
	cr_expect_eq(name("192.0.2.1", 31, NOW + HOUR_MS), 30);

	for (unsigned n = 0; n < 8; n++)
		cr_expect_eq(name(in_48(text, n), 31, NOW + HOUR_MS), 30);
	cr_expect_eq(name(in_48(text, 8), 1, NOW + HOUR_MS), 0, "one past it of a /48");
}

Test(rooms_guard, a_name_that_was_used_there_is_not_new_for_an_hour)
{
	int64_t now_ms = NOW;

	cr_expect(may("192.0.2.1", ROOMS_ASK_NAME, "Homer", now_ms));
	cr_expect_eq(name("192.0.2.1", 30, now_ms), 29);
	cr_expect(may("192.0.2.1", ROOMS_ASK_NAME, "homer", now_ms), "in any case");
	cr_expect_eq(name("192.0.2.2", 30, now_ms), 30);
	cr_expect_not(may("192.0.2.2", ROOMS_ASK_NAME, "homer", now_ms), "at another address it is new");

	/* Each use begins the hour again, and what was refused is not remembered. */
	now_ms += HOUR_MS - 1;
	cr_expect(may("192.0.2.1", ROOMS_ASK_NAME, "HOMER", now_ms));
	now_ms += HOUR_MS - 1;
	cr_expect_eq(name("192.0.2.1", 31, now_ms), 30);
	cr_expect(may("192.0.2.1", ROOMS_ASK_NAME, "homer", now_ms));
	now_ms += HOUR_MS;
	cr_expect_eq(name("192.0.2.1", 31, now_ms), 30);
	cr_expect_not(may("192.0.2.1", ROOMS_ASK_NAME, "homer", now_ms), "unused for an hour");
	cr_expect_not(may("192.0.2.1", ROOMS_ASK_NAME, "homer", now_ms));
}

Test(rooms_guard, who_is_exempt_is_granted_everything)
{
	struct addr         a                      = address("127.0.0.1");
	const uint8_t       word[ROOMS_NAME_BYTES] = "somebody";
	struct rooms_origin from;

	rooms_origin_of(&from, &a, true);
	for (int i = 0; i < 1000; i++) {
		cr_assert(rooms_guard_may(guard, &from, ROOMS_ASK_NAME, word, NOW));
		cr_assert(rooms_guard_may(guard, &from, ROOMS_ASK_ROOM, NULL, NOW));
		cr_assert(rooms_guard_may(guard, &from, ROOMS_ASK_JOIN, NULL, NOW));
		cr_assert(rooms_guard_may(guard, &from, ROOMS_ASK_BOARD, NULL, NOW));
		cr_assert(rooms_guard_may(guard, &from, ROOMS_ASK_ROW, NULL, NOW));
	}
	for (int i = 0; i < 1000; i++)
		rooms_guard_room_gone(guard, from.addr);
}

/* --- At the moment --- */

Test(rooms_guard, an_address_has_sixty_four_rooms)
{
	cr_expect_eq(ask("192.0.2.1", ROOMS_ASK_ROOM, 65, NOW), 64);
	cr_expect_eq(ask("192.0.2.2", ROOMS_ASK_ROOM, 1, NOW), 1, "another address");
	cr_expect_eq(ask("192.0.2.1", ROOMS_ASK_ROOM, 1, NOW + 24 * HOUR_MS), 0,
	             "they are counted as long as they are open");
	room_gone("192.0.2.1");
	cr_expect_eq(ask("192.0.2.1", ROOMS_ASK_ROOM, 2, NOW), 1);
}

Test(rooms_guard, a_48_has_eight_times_as_many_rooms)
{
	char text[ADDR_TEXT_BYTES];

	for (unsigned n = 0; n < 8; n++)
		cr_expect_eq(ask(in_48(text, n), ROOMS_ASK_ROOM, 65, NOW), 64);
	cr_expect_eq(ask(in_48(text, 8), ROOMS_ASK_ROOM, 1, NOW), 0, "one past it");
	room_gone(in_48(text, 2));
	cr_expect_eq(ask(in_48(text, 8), ROOMS_ASK_ROOM, 2, NOW), 1);
}

Test(rooms_guard, rooms_that_come_count_beyond_the_limit_too)
{
	char text[ADDR_TEXT_BYTES];

	cr_expect_eq(ask("192.0.2.1", ROOMS_ASK_ROOM, 63, NOW), 63);
	room_came("192.0.2.1");
	cr_expect_eq(ask("192.0.2.1", ROOMS_ASK_ROOM, 1, NOW), 0);
	room_came("192.0.2.1");
	room_gone("192.0.2.1");
	cr_expect_eq(ask("192.0.2.1", ROOMS_ASK_ROOM, 1, NOW), 0, "he was one over");
	room_gone("192.0.2.1");
	cr_expect_eq(ask("192.0.2.1", ROOMS_ASK_ROOM, 2, NOW), 1);

	for (unsigned n = 0; n < 8; n++)
		cr_expect_eq(ask(in_48(text, n), ROOMS_ASK_ROOM, 64, NOW), 64);
	room_came(in_48(text, 9));
	room_gone(in_48(text, 0));
	cr_expect_eq(ask(in_48(text, 8), ROOMS_ASK_ROOM, 1, NOW), 0, "the network was one over");
	room_gone(in_48(text, 9));
	cr_expect_eq(ask(in_48(text, 8), ROOMS_ASK_ROOM, 2, NOW), 1);
}

/* --- Packets --- */

Test(rooms_guard, an_address_sends_eight_thousand_packets_at_once_and_four_thousand_a_second)
{
	cr_expect_eq(send_packets(1, 8001, NOW), 8000);
	cr_expect_eq(send_packets(2, 1, NOW), 1, "another address");
	cr_expect_eq(send_packets(1, 4001, NOW + 1000), 4000);
}

Test(rooms_guard, without_a_rate_and_for_who_is_exempt_packets_are_not_counted)
{
	struct addr         loopback = { .family = ADDR_IPV4, .ip = { 127, 0, 0, 1 } };
	struct rooms_origin from;

	rooms_origin_of(&from, &loopback, true);
	for (int i = 0; i < 20000; i++)
		cr_assert(rooms_guard_packet(guard, &from, NOW));
	limits.rooms_udp_rate = 0;
	begin();
	cr_expect_eq(send_packets(1, 20000, NOW), 20000);
}
