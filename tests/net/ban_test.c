/*
 * Bans: how they are written, whom they are meant for, and how long.
 */
#include "net/ban.h"

#include "base/auto.h"
#include "base/metric.h"
#include "os/clock.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define FOREVER 0

static void finish(void)
{
	ban_clear();
}

TestSuite(ban, .fini = finish);

static struct ban parsed(enum ban_kind kind, const char *value)
{
	struct ban b;

	cr_assert_eq(ban_parse(&b, kind, value), ERR_OK, "%s", value);
	return b;
}

static void add(int64_t id, enum ban_kind kind, const char *value, int64_t until_ms)
{
	struct ban b = parsed(kind, value);

	b.id       = id;
	b.until_ms = until_ms;
	cr_assert_eq(ban_add(&b), ERR_OK, "%s", value);
}

static struct addr address(const char *text)
{
	struct addr a;

	cr_assert_eq(addr_parse(&a, text, strlen(text), false), ERR_OK, "%s", text);
	return a;
}

static bool has(const char *text)
{
	struct addr a = address(text);

	return ban_has_address(&a);
}

static void name_of(uint8_t out[BAN_NAME_BYTES], const char *text)
{
	memset(out, 0, BAN_NAME_BYTES);
	memcpy(out, text, strnlen(text, BAN_NAME_BYTES));
}

static void title_of(uint8_t out[BAN_TITLE_BYTES], const char *text)
{
	memset(out, 0, BAN_TITLE_BYTES);
	memcpy(out, text, strnlen(text, BAN_TITLE_BYTES));
}

static bool has_name(const char *title, const char *name)
{
	uint8_t t[BAN_TITLE_BYTES], n[BAN_NAME_BYTES];

	title_of(t, title);
	name_of(n, name);
	return ban_has_name(t, n);
}

Test(ban, has_one_form_of_text)
{
	static const struct {
		enum ban_kind kind;
		const char   *value, *text;
	} rows[] = {
		{ BAN_ADDRESS, "192.0.2.7", "192.0.2.7" },
		{ BAN_ADDRESS, "192.0.2.7/32", "192.0.2.7" },
		{ BAN_ADDRESS, "192.0.2.7/24", "192.0.2.0/24" },
		{ BAN_ADDRESS, "192.0.2.255/25", "192.0.2.128/25" },
		{ BAN_ADDRESS, "192.0.2.7/0", "0.0.0.0/0" },
		{ BAN_ADDRESS, "::ffff:192.0.2.7", "192.0.2.7" },
		{ BAN_ADDRESS, "::ffff:192.0.2.7/120", "192.0.2.0/24" },
		{ BAN_ADDRESS, "[2001:DB8::1]", "2001:db8::1" },
		{ BAN_ADDRESS, "2001:db8:0:0::1/64", "2001:db8::/64" },
		{ BAN_ADDRESS, "2001:db8:ffff::/33", "2001:db8:8000::/33" },
		{ BAN_ADDRESS, "2001:db8::1/128", "2001:db8::1" },
		{ BAN_PLAYER, "00112233445566AA", "00112233445566aa" },
		{ BAN_IDENTITY, "gen:00112233445566778899AABBCCDDEEFF00112233445566778899aabbccddeeff",
		  "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff" },
		{ BAN_NAME, "Alice", "alice" },
		{ BAN_NAME, "~416c696365", "alice" },
		{ BAN_NAME, "NPWR00860_00/Alice", "NPWR00860_00/alice" },
		{ BAN_NAME, "~4e50575230303836305f3030/ALICE", "NPWR00860_00/alice" },
		{ BAN_NAME, "sixteen bytes ok", "sixteen bytes ok" },
		{ BAN_NAME, "~612f62", "~612f62" },
		{ BAN_NAME, "~7e61", "~7e61" },
		{ BAN_NAME, "~ff00", NULL },
		{ BAN_NAME, "~ffFE", "~fffe" },
		{ BAN_NAME, "~610a62", "~610a62" },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct ban b;
		enum err   e = ban_parse(&b, rows[i].kind, rows[i].value);

		cr_expect_eq(e, rows[i].text ? ERR_OK : ERR_MALFORMED, "%s", rows[i].value);
		if (rows[i].text && e == ERR_OK)
			cr_expect_str_eq(b.value, rows[i].text);
		/* What it says is read again as the same. */
		if (e == ERR_OK) {
			struct ban again = parsed(rows[i].kind, b.value);
			cr_expect_str_eq(again.value, b.value);
		}
	}
}

Test(ban, refuses_what_is_none)
{
	static const struct {
		enum ban_kind kind;
		const char   *value;
	} rows[] = {
		{ BAN_ADDRESS, "" },
		{ BAN_ADDRESS, "192.0.2" },
		{ BAN_ADDRESS, "192.0.2.7/33" },
		{ BAN_ADDRESS, "192.0.2.7/" },
		{ BAN_ADDRESS, "192.0.2.07" },
		{ BAN_ADDRESS, "192.0.2.7:80" },
		{ BAN_ADDRESS, "2001:db8::/129" },
		{ BAN_ADDRESS, "::ffff:192.0.2.7/95" },
		{ BAN_ADDRESS, "fe80::1%eth0" },
		{ BAN_ADDRESS, "unix" },
		{ BAN_PLAYER, "" },
		{ BAN_PLAYER, "00112233445566a" },
		{ BAN_PLAYER, "00112233445566aa0" },
		{ BAN_PLAYER, "gen:112233445566" },
		{ BAN_IDENTITY, "00112233445566aa" },
		{ BAN_NAME, "" },
		{ BAN_NAME, "/" },
		{ BAN_NAME, "a/" },
		{ BAN_NAME, "/a" },
		{ BAN_NAME, "a/b/c" },
		{ BAN_NAME, "seventeen bytes !" },
		{ BAN_NAME, "thirteen chars/a" },
		{ BAN_NAME, "a\tb" },
		{ BAN_NAME, "~" },
		{ BAN_NAME, "~6" },
		{ BAN_NAME, "~6g" },
		{ BAN_NAME, "~6100" },
	};
	struct ban b;

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		cr_expect_eq(ban_parse(&b, rows[i].kind, rows[i].value), ERR_MALFORMED, "%s", rows[i].value);
}

Test(ban, networks_end_where_they_say)
{
	static const struct {
		const char *net, *in[2], *out[2];
	} rows[] = {
		{ "192.0.2.7", { "192.0.2.7", "::ffff:192.0.2.7" }, { "192.0.2.6", "192.0.2.8" } },
		{ "192.0.2.0/24", { "192.0.2.0", "192.0.2.255" }, { "192.0.1.255", "192.0.3.0" } },
		{ "192.0.2.128/25", { "192.0.2.128", "192.0.2.255" }, { "192.0.2.127", "192.0.3.0" } },
		{ "192.0.2.4/31", { "192.0.2.4", "192.0.2.5" }, { "192.0.2.3", "192.0.2.6" } },
		{ "10.0.0.0/9", { "10.0.0.0", "10.127.255.255" }, { "10.128.0.0", "9.255.255.255" } },
		{ "0.0.0.0/0", { "0.0.0.0", "255.255.255.255" }, { "::", "::1" } },
		{ "::/0", { "::1", "ffff::" }, { "1.2.3.4", "::ffff:1.2.3.4" } },
		{ "2001:db8::/33", { "2001:db8::", "2001:db8:7fff:ffff::" }, { "2001:db8:8000::", "2001:db7::" } },
		{ "2001:db8::1", { "2001:db8::1", "2001:db8:0:0::1" }, { "2001:db8::2", "2001:db8::" } },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct ban b = parsed(BAN_ADDRESS, rows[i].net);

		add(1, BAN_ADDRESS, rows[i].net, FOREVER);
		for (size_t k = 0; k < 2; k++) {
			struct addr in = address(rows[i].in[k]), out = address(rows[i].out[k]);

			cr_expect(ban_is_address(&b, &in), "%s in %s", rows[i].in[k], rows[i].net);
			cr_expect(has(rows[i].in[k]), "%s in %s", rows[i].in[k], rows[i].net);
			cr_expect_not(ban_is_address(&b, &out), "%s in %s", rows[i].out[k], rows[i].net);
			cr_expect_not(has(rows[i].out[k]), "%s in %s", rows[i].out[k], rows[i].net);
		}
		ban_remove(1);
		cr_expect_not(has(rows[i].in[0]), "%s is gone", rows[i].net);
	}
}

Test(ban, a_unix_socket_is_nobodys_address)
{
	struct addr a = { .family = ADDR_UNIX }, none = { .family = ADDR_NONE };

	add(1, BAN_ADDRESS, "0.0.0.0/0", FOREVER);
	add(2, BAN_ADDRESS, "::/0", FOREVER);
	cr_expect_not(ban_has_address(&a));
	cr_expect_not(ban_has_address(&none));
}

Test(ban, each_kind_is_asked_for_by_itself)
{
	static const uint8_t player[BAN_PLAYER_BYTES]     = { 0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0xaa };
	uint8_t              identity[BAN_IDENTITY_BYTES] = { 0x0f };
	struct ban           b;

	cr_expect_not(ban_has_player(player));
	cr_expect_not(ban_holds_player(player));
	cr_expect_not(ban_has_identity(identity));
	add(1, BAN_PLAYER, "00112233445566aa", FOREVER);
	cr_expect(ban_has_player(player));
	cr_expect(ban_holds_player(player));
	cr_expect_eq(ban_hits(1), 1, "who only shows him counts no hit");
	cr_expect_not(ban_has_identity(identity));
	add(2, BAN_IDENTITY, "0f00000000000000000000000000000000000000000000000000000000000000", FOREVER);
	cr_expect(ban_has_identity(identity));
	identity[31] = 1;
	cr_expect_not(ban_has_identity(identity));
	cr_expect_not(has("192.0.2.7"));

	b = parsed(BAN_PLAYER, "00112233445566aa");
	cr_expect(ban_is_player(&b, player));
	cr_expect_not(ban_is_identity(&b, identity));
}

Test(ban, names_are_folded_and_may_have_a_title)
{
	uint8_t    title[BAN_TITLE_BYTES], name[BAN_NAME_BYTES];
	struct ban b = parsed(BAN_NAME, "NPWR00860_00/Alice");

	add(1, BAN_NAME, "Bob", FOREVER);
	add(2, BAN_NAME, "NPWR00860_00/Alice", FOREVER);
	cr_expect(has_name("NPWR00860_00", "BOB"));
	cr_expect(has_name("", "bob"));
	cr_expect_not(has_name("", "bobb"));
	cr_expect(has_name("NPWR00860_00", "aLICE"));
	cr_expect_not(has_name("NPWR00861_00", "alice"));

	/* Bytes behind a NUL make no other name, nor another title. */
	name_of(name, "bob");
	title_of(title, "x");
	name[5] = 'x';
	cr_expect(ban_has_name(title, name));
	name_of(name, "ALICE");
	title_of(title, "NPWR00860_00");
	cr_expect(ban_is_name(&b, title, name));
	name[7] = 'x';
	cr_expect(ban_is_name(&b, title, name));
	title_of(title, "NPWR00860_01");
	cr_expect_not(ban_is_name(&b, title, name));
}

Test(ban, ends_when_its_time_is_up)
{
	int64_t    now_ms = clock_wall_ms();
	struct ban again  = parsed(BAN_ADDRESS, "192.0.2.7");

	add(1, BAN_ADDRESS, "192.0.2.7", now_ms);
	add(2, BAN_ADDRESS, "192.0.2.8", now_ms + 3600000);
	cr_expect_not(has("192.0.2.7"), "over");
	cr_expect(has("192.0.2.8"));
	cr_expect_eq(ban_count(), 1);
	cr_expect_eq(metric_get(M_BANS), 2);

	/* One that is over makes room for the same value. */
	again.id = 3;
	cr_expect_eq(ban_add(&again), ERR_OK);
	cr_expect(has("192.0.2.7"));
	again.id = 4;
	cr_expect_eq(ban_add(&again), ERR_EXISTS);

	add(5, BAN_PLAYER, "00112233445566aa", now_ms - 1);
	ban_sweep();
	cr_expect_eq(metric_get(M_BANS), 2);
	cr_expect_eq(ban_count(), 2);
}

Test(ban, counts_its_hits)
{
	add(7, BAN_ADDRESS, "192.0.2.0/24", FOREVER);
	add(8, BAN_ADDRESS, "192.0.2.7", FOREVER);
	cr_expect(has("192.0.2.7"));
	cr_expect(has("192.0.2.7"));
	cr_expect(has("192.0.2.8"));
	cr_expect_eq(ban_hits(8), 2, "the narrowest counts");
	cr_expect_eq(ban_hits(7), 1);
	cr_expect_eq(ban_hits(9), 0);
	ban_remove(8);
	cr_expect(has("192.0.2.7"), "the wider one holds still");
	cr_expect_eq(ban_hits(8), 0);
}

Test(ban, ten_thousand_are_found_and_forgotten)
{
	char text[40];

	for (int i = 0; i < 10000; i++) {
		snprintf(text, sizeof(text), "10.%d.%d.0/%d", i / 256, i % 256, i % 2 ? 24 : 32);
		add(i + 1, BAN_ADDRESS, text, FOREVER);
	}
	cr_expect_eq(ban_count(), 10000);
	cr_expect(has("10.0.1.77"));
	cr_expect_not(has("10.0.2.77"));
	cr_expect(has("10.39.15.200"));
	cr_expect_not(has("11.0.0.0"));
	ban_clear();
	cr_expect_eq(ban_count(), 0);
	cr_expect_not(has("10.0.1.77"));
	add(1, BAN_ADDRESS, "10.0.1.0/24", FOREVER);
	cr_expect(has("10.0.1.77"), "there can be new ones");
}
