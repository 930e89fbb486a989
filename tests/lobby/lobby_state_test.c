/*
 * The table of lobbies: who comes in, who stays, who goes, to the millisecond.
 */
#include "lobby/lobby_state.h"

#include "base/auto.h"
#include "base/text.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOW  1000000
#define WALL 1700000000000
#define LIFE 120 /* of a credential, in seconds */

static struct limits         limits;
static struct lobby_state    state;
static struct lobby_announce announced; /* what the next newcomer announces */

static void set_up(void)
{
	limits_default(&limits);
	cr_assert_eq(lobby_state_init(&state, &limits, 1), ERR_OK);
	announced = (struct lobby_announce){
		.name         = "Night shift",
		.game         = "0.9.0n",
		.has_identity = true,
		.proto        = 140,
		.players_max  = 4,
		.listed       = true,
	};
}

static void tear_down(void)
{
	lobby_state_fini(&state);
}

TestSuite(lobby_state, .init = set_up, .fini = tear_down);

static void put_number(uint8_t *out, size_t bytes, uint32_t n)
{
	memset(out, 0, bytes);
	memcpy(out, &n, sizeof(n));
}

/* The n-th newcomer there is, from this address. */
static struct lobby_newcomer newcomer(uint32_t n, uint32_t address)
{
	struct lobby_newcomer c = { .announce = &announced, .ip = "203.0.113.7", .made_ms = WALL };

	put_number(c.session, sizeof(c.session), n);
	put_number(c.id, sizeof(c.id), n);
	put_number(c.token, sizeof(c.token), n);
	put_number(c.addr, sizeof(c.addr), address);
	return c;
}

static struct lobby_newcomer newcomer_wide(uint32_t n, uint32_t address, uint32_t wide)
{
	struct lobby_newcomer c = newcomer(n, address);

	c.has_wide = true;
	put_number(c.addr_wide, sizeof(c.addr_wide), wide);
	return c;
}

static struct lobby *pushed; /* by the last one that came; gone already */

static enum lobby_refusal try_newcomer(struct lobby **out, const struct lobby_newcomer *c, int64_t now_ms)
{
	enum lobby_refusal r = lobby_announce(out, &pushed, &state, c, now_ms);

	cr_expect_eq(r == LOBBY_WELCOME, *out != NULL);
	cr_expect(r == LOBBY_WELCOME || !pushed);
	lobby_free(pushed);
	return r;
}

static enum lobby_refusal try_one(uint32_t n, uint32_t address, int64_t now_ms)
{
	struct lobby_newcomer c = newcomer(n, address);
	struct lobby         *l = NULL;
	enum lobby_refusal    r = try_newcomer(&l, &c, now_ms);

	if (l)
		lobby_admit(&state, l);
	return r;
}

/* One that is in. */
static struct lobby *host(uint32_t n, uint32_t address, int64_t now_ms)
{
	struct lobby_newcomer c = newcomer(n, address);
	struct lobby         *l = NULL;

	cr_assert_eq(try_newcomer(&l, &c, now_ms), LOBBY_WELCOME);
	lobby_admit(&state, l);
	return l;
}

static struct lobby *by_number(uint32_t n)
{
	uint8_t id[LOBBY_ID_BYTES];

	put_number(id, sizeof(id), n);
	return lobby_of_id(&state, id);
}

static void beat(struct lobby *l, int64_t now_ms)
{
	struct lobby_beat b = { .has_credentials = true };

	lobby_beat(&state, l, &b, now_ms);
}

static size_t sweep(int64_t now_ms)
{
	struct lobby *l;
	size_t        gone = 0;

	while ((l = lobby_sweep(&state, now_ms))) {
		lobby_free(l);
		gone++;
	}
	return gone;
}

/* Coming in */

Test(lobby_state, a_new_lobby_is_what_was_announced_with_one_player)
{
	struct lobby_newcomer c = newcomer(1, 2);
	struct lobby         *l = NULL;

	memset(announced.key, 7, sizeof(announced.key));
	announced.locked    = true;
	announced.claim.key = 3;
	c.is_proved         = true;
	cr_assert_eq(try_newcomer(&l, &c, NOW), LOBBY_WELCOME);
	cr_expect_arr_eq(l->session, c.session, sizeof(l->session));
	cr_expect_arr_eq(l->id, c.id, sizeof(l->id));
	cr_expect_arr_eq(l->token, c.token, sizeof(l->token));
	cr_expect_arr_eq(l->key, announced.key, sizeof(l->key));
	cr_expect_arr_eq(l->addr, c.addr, sizeof(l->addr));
	cr_expect_str_eq(l->name, "Night shift");
	cr_expect_str_eq(l->game, "0.9.0n");
	cr_expect_eq(l->proto, 140);
	cr_expect_eq(l->players, 1);
	cr_expect_eq(l->players_max, 4);
	cr_expect(l->locked && l->listed && l->is_proved && !l->is_direct);
	cr_expect_eq(l->claim.key, 3);
	cr_expect_eq(l->beat_ms, NOW);
	cr_expect_eq(l->made_ms, WALL);
	cr_expect_eq(l->turn_ms, 0);
	cr_expect_str_eq(l->direct_addr, "");
	cr_expect_null(l->row);
}

Test(lobby_state, a_direct_lobby_tells_its_address_with_brackets_for_IPv6)
{
	struct lobby_newcomer c = newcomer(1, 1), d = newcomer(2, 1);
	struct lobby         *l = NULL;

	announced.is_direct   = true;
	announced.direct_port = 7777;
	cr_assert_eq(try_newcomer(&l, &c, NOW), LOBBY_WELCOME);
	cr_expect_str_eq(l->direct_addr, "203.0.113.7:7777");

	announced.direct_port = 65535;
	d.ip                  = "2001:db8:1234:5678:9abc:def0:1234:5678";
	d.is_ipv6             = true;
	cr_assert_eq(try_newcomer(&l, &d, NOW), LOBBY_WELCOME);
	cr_expect_str_eq(l->direct_addr, "[2001:db8:1234:5678:9abc:def0:1234:5678]:65535");
}

Test(lobby_state, the_first_rule_that_is_broken_answers)
{
	struct lobby_newcomer c = newcomer(99, 1);
	struct lobby         *l = NULL;

	for (uint32_t i = 0; i < 8; i++)
		host(i, 1, NOW);
	text_copy(announced.game, sizeof(announced.game), "dev");
	announced.has_identity = false;
	announced.is_direct    = true;
	announced.direct_port  = -1;
	cr_expect_eq(try_newcomer(&l, &c, NOW), LOBBY_ADDRESS_FULL);
	put_number(c.addr, sizeof(c.addr), 2);
	cr_expect_eq(try_newcomer(&l, &c, NOW), LOBBY_BAD_GAME);
	announced.game[0] = '\0';
	cr_expect_eq(try_newcomer(&l, &c, NOW), LOBBY_NO_IDENTITY);
	announced.has_identity = true;
	cr_expect_eq(try_newcomer(&l, &c, NOW), LOBBY_BAD_PORT);
	limits.lobby_entries = 8;
	cr_expect_eq(try_newcomer(&l, &c, NOW), LOBBY_BAD_PORT);
	announced.direct_port = 7777;
	cr_expect_eq(try_newcomer(&l, &c, NOW), LOBBY_TABLE_FULL);
	limits.lobby_entries = 9;
	cr_expect_eq(try_newcomer(&l, &c, NOW), LOBBY_WELCOME);
}

Test(lobby_state, a_direct_port_is_1024_to_65535)
{
	static const struct {
		int64_t            port;
		enum lobby_refusal expected;
	} rows[] = {
		{ -1, LOBBY_BAD_PORT },        { 0, LOBBY_BAD_PORT },         { 1023, LOBBY_BAD_PORT },
		{ 1024, LOBBY_WELCOME },       { 65535, LOBBY_WELCOME },      { 65536, LOBBY_BAD_PORT },
		{ INT64_MAX, LOBBY_BAD_PORT }, { INT64_MIN, LOBBY_BAD_PORT },
	};

	announced.is_direct = true;
	for (uint32_t i = 0; i < COUNT_OF(rows); i++) {
		announced.direct_port = rows[i].port;
		cr_expect_eq(try_one(i, i, NOW), rows[i].expected, "%lld", (long long)rows[i].port);
	}
	announced.is_direct   = false;
	announced.direct_port = 0;
	cr_expect_eq(try_one(100, 100, NOW), LOBBY_WELCOME, "nobody asks a brokered one for a port");
}

Test(lobby_state, a_build_nobody_has_heard_of_may_host)
{
	announced.proto = 65535;
	cr_expect_eq(try_one(1, 1, NOW), LOBBY_WELCOME);
	announced.proto = 0;
	cr_expect_eq(try_one(2, 1, NOW), LOBBY_WELCOME);
}

Test(lobby_state, refusals_have_a_status_and_a_text)
{
	static const struct {
		enum lobby_refusal refusal;
		int                status;
		const char        *text;
	} rows[] = {
		{ LOBBY_BAD_GAME, 400, "bad game version '1.x'" },
		{ LOBBY_NO_IDENTITY, 400, "this build is too old to host -- update Multivoid" },
		{ LOBBY_BAD_PORT, 400, "direct_port out of range (1024-65535)" },
		{ LOBBY_ADDRESS_FULL, 429, "too many lobbies for this address" },
		{ LOBBY_TABLE_FULL, 429, "too many lobbies" },
		{ LOBBY_NO_MEMORY, 503, "out of memory" },
	};
	char text[LOBBY_REFUSAL_BYTES], game[LOBBY_TEXT_BYTES(LOBBY_VERSION_CHARS)] = "";

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		cr_expect_eq(lobby_refusal_status(rows[i].refusal), rows[i].status);
		lobby_refusal_text(text, rows[i].refusal, "1.x");
		cr_expect_str_eq(text, rows[i].text);
	}
	for (size_t i = 0; i < LOBBY_VERSION_CHARS; i++)
		memcpy(game + 4 * i, "\xf0\x9f\x9a\x80", 5);
	lobby_refusal_text(text, LOBBY_BAD_GAME, game);
	cr_expect_eq(strlen(text), strlen("bad game version ''") + strlen(game), "the longest fits");
}

/* Limits per address */

Test(lobby_state, an_address_has_8_lobbies)
{
	for (uint32_t i = 0; i < 8; i++)
		cr_expect_eq(try_one(i, 1, NOW), LOBBY_WELCOME);
	cr_expect_eq(try_one(8, 1, NOW), LOBBY_ADDRESS_FULL);
	cr_expect_eq(try_one(8, 2, NOW), LOBBY_WELCOME);

	struct lobby *l = by_number(0);
	lobby_remove(&state, l);
	lobby_free(l);
	cr_expect_eq(try_one(9, 1, NOW), LOBBY_WELCOME, "one has left");
	cr_expect_eq(try_one(10, 1, NOW), LOBBY_ADDRESS_FULL);
}

Test(lobby_state, a_48_has_8_times_as_many_as_an_address)
{
	struct lobby *l = NULL;

	for (uint32_t i = 0; i < 64; i++) {
		struct lobby_newcomer c = newcomer_wide(i, i / 4, 1);
		cr_assert_eq(try_newcomer(&l, &c, NOW), LOBBY_WELCOME, "%u", i);
	}
	struct lobby_newcomer one_more = newcomer_wide(64, 1000, 1), elsewhere = newcomer_wide(65, 1000, 2);
	cr_expect_eq(try_newcomer(&l, &one_more, NOW), LOBBY_ADDRESS_FULL);
	cr_expect_eq(try_newcomer(&l, &elsewhere, NOW), LOBBY_WELCOME);

	lobby_remove(&state, l);
	lobby_free(l);
	for (uint32_t i = 100; i < 108; i++) {
		struct lobby_newcomer c = newcomer_wide(i, 1000, 2);
		cr_expect_eq(try_newcomer(&l, &c, NOW), LOBBY_WELCOME);
	}
	struct lobby_newcomer ninth = newcomer_wide(108, 1000, 2);
	cr_expect_eq(try_newcomer(&l, &ninth, NOW), LOBBY_ADDRESS_FULL, "an address in it has 8");
}

Test(lobby_state, who_is_exempt_has_as_many_as_he_likes)
{
	struct lobby *l = NULL;

	for (uint32_t i = 0; i < 100; i++) {
		struct lobby_newcomer c = newcomer(i, 1);
		c.is_exempt             = true;
		cr_assert_eq(try_newcomer(&l, &c, NOW), LOBBY_WELCOME);
	}
}

Test(lobby_state, refused_announces_take_nothing)
{
	uint64_t changes = state.changes;

	announced.has_identity = false;
	for (uint32_t i = 0; i < 100; i++)
		cr_expect_eq(try_one(i, 1, NOW), LOBBY_NO_IDENTITY);
	cr_expect_eq(state.count, 0);
	cr_expect_eq(state.changes, changes);
	announced.has_identity = true;
	for (uint32_t i = 0; i < 8; i++)
		cr_expect_eq(try_one(i, 1, NOW), LOBBY_WELCOME);
}

/* Waiting for the database */

Test(lobby_state, a_pending_lobby_counts_but_nobody_sees_it)
{
	struct lobby_newcomer c       = newcomer(1, 1);
	struct lobby         *l       = NULL;
	uint64_t              changes = state.changes;

	cr_assert_eq(try_newcomer(&l, &c, NOW), LOBBY_WELCOME);
	cr_expect(l->is_pending);
	cr_expect_null(by_number(1));
	cr_expect_null(lobby_of_host(&state, c.session, c.token, (lobby_same)NULL));
	cr_expect_eq(lobby_live(&state), 0);
	cr_expect_eq(state.count, 1);
	cr_expect_eq(state.changes, changes);
	for (uint32_t i = 2; i < 9; i++)
		host(i, 1, NOW);
	cr_expect_eq(try_one(9, 1, NOW), LOBBY_ADDRESS_FULL);

	lobby_admit(&state, l);
	cr_expect_eq(by_number(1), l);
	cr_expect_eq(lobby_live(&state), 8);
	cr_expect_gt(state.changes, changes);
}

Test(lobby_state, a_pending_lobby_is_neither_swept_nor_pushed_out)
{
	struct lobby_newcomer c = newcomer(1, 1);
	struct lobby         *l = NULL;

	limits.lobby_entries = 1;
	cr_assert_eq(try_newcomer(&l, &c, NOW), LOBBY_WELCOME);
	cr_expect_eq(sweep(NOW + 1000000), 0);
	cr_expect_eq(try_one(2, 2, NOW + 1000000), LOBBY_TABLE_FULL);
	lobby_remove(&state, l);
	lobby_free(l);
	cr_expect_eq(state.pending, 0);
	cr_expect_eq(try_one(2, 2, NOW), LOBBY_WELCOME);
}

/* Finding */

static bool same(const void *a, const void *b, size_t len)
{
	return memcmp(a, b, len) == 0;
}

Test(lobby_state, a_host_is_found_by_session_and_token_alone)
{
	struct lobby         *l = host(1, 1, NOW);
	struct lobby_newcomer a = newcomer(1, 1), b = newcomer(2, 1);

	cr_expect_eq(lobby_of_host(&state, a.session, a.token, same), l);
	cr_expect_null(lobby_of_host(&state, a.session, b.token, same));
	cr_expect_null(lobby_of_host(&state, b.session, a.token, same));
	cr_expect_null(lobby_of_host(&state, b.session, b.token, same));
	cr_expect_eq(lobby_of_id(&state, a.id), l);
	cr_expect_null(lobby_of_id(&state, b.id));
}

Test(lobby_state, who_has_left_is_found_by_nobody)
{
	struct lobby         *l = host(1, 1, NOW);
	struct lobby_newcomer a = newcomer(1, 1);

	lobby_remove(&state, l);
	lobby_free(l);
	cr_expect_null(lobby_of_host(&state, a.session, a.token, same));
	cr_expect_null(by_number(1));
	cr_expect_eq(lobby_live(&state), 0);
}

/* Room in the table */

Test(lobby_state, the_table_holds_as_many_as_it_may_and_hosts_that_beat_stay)
{
	limits.lobby_entries = 3;
	for (uint32_t i = 0; i < 3; i++)
		host(i, i, NOW);
	cr_expect_eq(try_one(3, 3, NOW + 45000), LOBBY_TABLE_FULL, "45 s are not over 45 s");
	cr_expect_eq(try_one(3, 3, NOW + 45001), LOBBY_WELCOME);
	cr_expect_not_null(pushed);
	cr_expect_null(by_number(0), "the one with the oldest beat");
	cr_expect_eq(lobby_live(&state), 3);
}

Test(lobby_state, the_oldest_beat_goes_first_among_equals)
{
	limits.lobby_entries = 3;
	struct lobby *a      = host(0, 0, NOW);

	host(1, 1, NOW + 10);
	host(2, 2, NOW + 20);
	beat(a, NOW + 30);
	cr_expect_eq(try_one(3, 3, NOW + 60000), LOBBY_WELCOME);
	cr_expect_null(by_number(1));
	cr_expect_eq(try_one(4, 4, NOW + 60000), LOBBY_WELCOME);
	cr_expect_null(by_number(2));
	cr_expect_eq(try_one(5, 5, NOW + 60000), LOBBY_WELCOME);
	cr_expect_null(by_number(0));
	cr_expect_eq(try_one(6, 6, NOW + 60000), LOBBY_TABLE_FULL);
}

Test(lobby_state, hidden_silent_lobbies_go_before_empty_ones_before_others)
{
	struct lobby_beat empty = { .has_players = true, .players = 0 }, hidden = { .has_listed = true };

	limits.lobby_entries = 4;
	host(0, 0, NOW);
	lobby_beat(&state, host(1, 1, NOW), &empty, NOW + 1);
	lobby_beat(&state, host(2, 2, NOW), &hidden, NOW + 2);
	struct lobby *beating = host(3, 3, NOW);
	lobby_beat(&state, beating, &hidden, NOW + 50000);

	cr_expect_eq(try_one(4, 4, NOW + 60000), LOBBY_WELCOME);
	cr_expect_null(by_number(2), "hidden");
	cr_expect_eq(try_one(5, 5, NOW + 60000), LOBBY_WELCOME);
	cr_expect_null(by_number(1), "empty");
	cr_expect_eq(try_one(6, 6, NOW + 60000), LOBBY_WELCOME);
	cr_expect_null(by_number(0));
	cr_expect_eq(try_one(7, 7, NOW + 60000), LOBBY_TABLE_FULL);
	cr_expect_eq(by_number(3), beating, "hidden, but it beats");
}

Test(lobby_state, nobody_is_pushed_out_for_one_who_is_refused)
{
	limits.lobby_entries = 1;
	host(0, 0, NOW);
	announced.has_identity = false;
	cr_expect_eq(try_one(1, 1, NOW + 60000), LOBBY_NO_IDENTITY);
	cr_expect_not_null(by_number(0));

	announced.has_identity   = true;
	limits.lobby_per_address = 1;
	cr_expect_eq(try_one(1, 0, NOW + 60000), LOBBY_ADDRESS_FULL, "his own silent one counts");
	cr_expect_not_null(by_number(0));
}

Test(lobby_state, an_id_that_is_there_already_leaves_everything_as_it_was)
{
	struct lobby_newcomer c = newcomer(2, 2), d = newcomer(3, 3), old = newcomer(1, 1);
	struct lobby         *l = NULL;

	limits.lobby_entries = 1;
	host(1, 1, NOW);
	memcpy(c.id, old.id, sizeof(c.id));
	cr_expect_eq(try_newcomer(&l, &c, NOW + 60000), LOBBY_NO_MEMORY);
	memcpy(d.session, old.session, sizeof(d.session));
	cr_expect_eq(try_newcomer(&l, &d, NOW + 60000), LOBBY_NO_MEMORY);
	cr_expect_not_null(by_number(1));
	cr_expect_eq(lobby_live(&state), 1);
	cr_expect_eq(map_count(&state.by_session), 1);
	cr_expect_eq(map_count(&state.by_addr), 1);
}

/* A full table of beating hosts, 200 addresses that announce what is right and what is wrong as fast as they can. */
Test(lobby_state, a_flood_of_announces_removes_no_host_that_beats)
{
	const int64_t end    = NOW + 300000;
	uint32_t      n      = 1000000;
	size_t        let_in = 0;

	for (uint32_t i = 0; i < 1000; i++)
		host(i, 100000 + i, NOW);
	for (int64_t now = NOW; now < end; now += 1000) {
		for (uint32_t i = 0; i < 1000; i++)
			if ((now / 1000 + i) % 30 == 0)
				beat(by_number(i), now);
		for (uint32_t address = 0; address < 200; address++, n++) {
			announced.has_identity = n % 3 != 0;
			announced.is_direct    = n % 5 == 0;
			announced.direct_port  = n % 7;
			let_in += try_one(n, address, now) == LOBBY_WELCOME;
		}
		if (now % 30000 == 0)
			sweep(now);
	}
	announced.is_direct = false;
	for (uint32_t i = 0; i < 1000; i++)
		cr_expect_not_null(by_number(i), "%u", i);
	cr_expect_eq(let_in, 0);
	cr_expect_eq(lobby_live(&state), 1000);
}

/* The same with 800 hosts: the flood fills what is free and pushes itself out, but no host. */
Test(lobby_state, a_flood_that_found_room_only_loses_its_own)
{
	uint32_t n      = 1000000;
	size_t   let_in = 0;

	for (uint32_t i = 0; i < 800; i++)
		host(i, 100000 + i, NOW);
	for (int64_t now = NOW; now < NOW + 300000; now += 1000) {
		for (uint32_t i = 0; i < 800; i++)
			if ((now / 1000 + i) % 30 == 0)
				beat(by_number(i), now);
		for (uint32_t address = 0; address < 200; address++)
			let_in += try_one(n++, address, now) == LOBBY_WELCOME;
		cr_assert_leq(state.count, 1000);
	}
	for (uint32_t i = 0; i < 800; i++)
		cr_expect_not_null(by_number(i), "%u", i);
	cr_expect_gt(let_in, 200);
}

/* Lifetime */

Test(lobby_state, a_silent_lobby_goes_with_the_first_sweep_after_90_s)
{
	host(1, 1, NOW);
	cr_expect_eq(sweep(NOW + 90000), 0);
	cr_expect_not_null(by_number(1));
	cr_expect_eq(sweep(NOW + 90001), 1);
	cr_expect_null(by_number(1));
	cr_expect_eq(lobby_live(&state), 0);
	for (uint32_t i = 0; i < 8; i++)
		cr_expect_eq(try_one(i, 1, NOW), LOBBY_WELCOME, "its place is free");
}

Test(lobby_state, until_it_is_swept_a_silent_lobby_is_there_and_may_beat)
{
	struct lobby *l = host(1, 1, NOW);

	cr_expect_eq(by_number(1), l);
	beat(l, NOW + 119999);
	cr_expect_eq(sweep(NOW + 120000), 0);
	cr_expect_eq(sweep(NOW + 119999 + 90000), 0);
	cr_expect_eq(sweep(NOW + 119999 + 90001), 1);
}

Test(lobby_state, a_sweep_takes_all_that_are_silent_and_no_other)
{
	for (uint32_t i = 0; i < 50; i++)
		host(i, i, NOW);
	for (uint32_t i = 0; i < 50; i += 2)
		beat(by_number(i), NOW + 30000);
	cr_expect_eq(sweep(NOW + 100000), 25);
	for (uint32_t i = 0; i < 50; i++)
		cr_expect_eq(by_number(i) != NULL, i % 2 == 0);
}

Test(lobby_state, a_beat_that_was_read_off_the_clock_earlier_keeps_the_order)
{
	struct lobby *a = host(1, 1, NOW), *b = host(2, 2, NOW);

	beat(a, NOW + 1000);
	beat(b, NOW + 999);
	cr_expect_eq(sweep(NOW + 999 + 90001), 1);
	cr_expect_not_null(by_number(1));
	cr_expect_null(by_number(2));
}

/* Beats */

Test(lobby_state, players_and_links_of_a_beat_are_clamped_to_the_lobbys_players)
{
	static const struct {
		int64_t said;
		int     kept;
	} rows[] = { { -1, 0 }, { 0, 0 }, { 3, 3 }, { 4, 3 }, { INT64_MAX, 3 }, { INT64_MIN, 0 } };

	announced.players_max = 3;
	struct lobby *l       = host(1, 1, NOW);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct lobby_beat b = { .has_players = true,
			                .players     = rows[i].said,
			                .has_links   = true,
			                .relayed     = rows[i].said,
			                .direct      = rows[i].said,
			                .lan         = rows[i].said };

		lobby_beat(&state, l, &b, NOW);
		cr_expect_eq(l->players, rows[i].kept);
		cr_expect_eq(l->links.relayed, rows[i].kept);
		cr_expect_eq(l->links.direct, rows[i].kept);
		cr_expect_eq(l->links.lan, rows[i].kept);
	}
}

Test(lobby_state, what_a_beat_does_not_say_stays)
{
	struct lobby_beat b = { .has_players = true,
		                .players     = 2,
		                .has_links   = true,
		                .relayed     = 1,
		                .direct      = 2,
		                .lan         = 3,
		                .has_listed  = true,
		                .listed      = false };
	struct lobby     *l = host(1, 1, NOW);

	lobby_beat(&state, l, &b, NOW);
	beat(l, NOW + 5);
	cr_expect_eq(l->players, 2);
	cr_expect_eq(l->links.relayed, 1);
	cr_expect_eq(l->links.direct, 2);
	cr_expect_eq(l->links.lan, 3);
	cr_expect_not(l->listed);
	cr_expect_eq(l->beat_ms, NOW + 5);
	cr_expect_eq(by_number(1), l, "hidden ones are found");
}

Test(lobby_state, only_what_the_list_shows_is_a_change)
{
	struct lobby_beat same_players = { .has_players = true, .players = 1, .has_listed = true, .listed = true },
			  two = { .has_players = true, .players = 2 }, hide = { .has_listed = true },
			  three = { .has_players = true, .players = 3 };
	struct lobby *l         = host(1, 1, NOW);
	uint64_t      changes   = state.changes;

	l->row = malloc(8);
	lobby_beat(&state, l, &same_players, NOW);
	cr_expect_eq(state.changes, changes);
	cr_expect_not_null(l->row);

	lobby_beat(&state, l, &two, NOW);
	cr_expect_gt(state.changes, changes);
	cr_expect_null(l->row, "to be made anew");

	changes = state.changes;
	lobby_beat(&state, l, &hide, NOW);
	cr_expect_gt(state.changes, changes);
	changes = state.changes;
	l->row  = malloc(8);
	lobby_beat(&state, l, &three, NOW);
	cr_expect_eq(state.changes, changes, "nobody sees it");
	cr_expect_null(l->row, "but when it is shown again, it is as it is then");
}

Test(lobby_state, visibility_is_no_beat)
{
	struct lobby *l       = host(1, 1, NOW);
	uint64_t      changes = state.changes;

	lobby_show(&state, l, true);
	cr_expect_eq(state.changes, changes);
	lobby_show(&state, l, false);
	cr_expect_gt(state.changes, changes);
	cr_expect_not(l->listed);
	cr_expect_eq(l->beat_ms, NOW);
	cr_expect_eq(sweep(NOW + 90001), 1);
}

/* After a restart */

static struct lobby *kept(uint32_t n, uint32_t address, int64_t beat_ms)
{
	struct lobby_newcomer c = newcomer_wide(n, address, address);
	struct lobby         *l = calloc(1, sizeof(*l));

	cr_assert_not_null(l);
	memcpy(l->session, c.session, sizeof(l->session));
	memcpy(l->id, c.id, sizeof(l->id));
	memcpy(l->token, c.token, sizeof(l->token));
	memcpy(l->addr, c.addr, sizeof(l->addr));
	memcpy(l->addr_wide, c.addr_wide, sizeof(l->addr_wide));
	l->has_wide = true;
	l->listed   = true;
	l->beat_ms  = beat_ms;
	return l;
}

Test(lobby_state, kept_lobbies_are_there_at_once_with_their_beats_in_any_order)
{
	struct lobby_newcomer c = newcomer(2, 1);

	cr_assert_eq(lobby_restore(&state, kept(1, 1, -10000)), ERR_OK);
	cr_assert_eq(lobby_restore(&state, kept(2, 1, -80000)), ERR_OK);
	cr_assert_eq(lobby_restore(&state, kept(3, 1, -50000)), ERR_OK);
	cr_expect_eq(lobby_live(&state), 3);
	cr_expect_not_null(lobby_of_host(&state, c.session, c.token, same));
	cr_expect_eq(sweep(10000), 0);
	cr_expect_eq(sweep(10001), 1);
	cr_expect_null(by_number(2));
	cr_expect_eq(sweep(40001), 1);
	cr_expect_null(by_number(3));
}

Test(lobby_state, kept_lobbies_count_for_their_address_and_may_be_more_than_now_allowed)
{
	limits.lobby_entries = 9;
	for (uint32_t i = 0; i < 10; i++)
		cr_assert_eq(lobby_restore(&state, kept(i, 1, NOW)), ERR_OK);
	cr_expect_eq(lobby_live(&state), 10);
	cr_expect_eq(try_one(10, 1, NOW), LOBBY_ADDRESS_FULL);
	cr_expect_eq(try_one(10, 2, NOW), LOBBY_TABLE_FULL);
}

Test(lobby_state, a_kept_lobby_whose_ids_are_taken_stays_the_callers)
{
	cr_assert_eq(lobby_restore(&state, kept(1, 1, NOW)), ERR_OK);
	struct lobby *again = kept(1, 2, NOW);

	cr_expect_eq(lobby_restore(&state, again), ERR_EXISTS);
	lobby_free(again);
	cr_expect_eq(lobby_live(&state), 1);
	lobby_free(NULL);
}

/* TURN */

#define USER "1700000120:203.0.113.7"

/* What the lobby, whose credential was minted at NOW with generation 5, is told. */
static enum lobby_turn renewal(int64_t *left_s, const struct lobby *l, const char *user, int64_t after_ms)
{
	struct lobby_beat b = { .turn_user = user, .turn_user_len = user ? strlen(user) : 0 };

	return lobby_renewal(left_s, l, &b, true, 5, false, LIFE, NOW + after_ms, WALL + after_ms);
}

static struct lobby *minted(void)
{
	struct lobby *l = host(1, 1, NOW);

	lobby_minted(l, USER, 5, WALL + LIFE * 1000, NOW);
	return l;
}

Test(lobby_state, a_credential_is_renewed_at_half_its_life)
{
	struct lobby *l    = minted();
	int64_t       left = -1;

	cr_expect_eq(renewal(&left, l, USER, 0), LOBBY_TURN_NONE);
	cr_expect_eq(renewal(&left, l, USER, 59999), LOBBY_TURN_NONE);
	cr_expect_eq(renewal(&left, l, USER, 60000), LOBBY_TURN_MINT);
	cr_expect_eq(renewal(&left, l, "another", 60000), LOBBY_TURN_MINT);
	cr_expect_eq(renewal(&left, l, USER, 1000000), LOBBY_TURN_MINT);
	cr_expect_eq(left, -1, "untouched");

	lobby_minted(l, "1700000180:203.0.113.7", 5, WALL + 60000 + LIFE * 1000, NOW + 60000);
	cr_expect_eq(renewal(&left, l, "1700000180:203.0.113.7", 119999), LOBBY_TURN_NONE);
	cr_expect_eq(renewal(&left, l, "1700000180:203.0.113.7", 120000), LOBBY_TURN_MINT);
}

Test(lobby_state, a_host_with_another_credential_gets_the_last_one_again_with_what_it_has_left)
{
	struct lobby *l    = minted();
	int64_t       left = -1;

	cr_expect_eq(renewal(&left, l, "1700000000:203.0.113.7", 0), LOBBY_TURN_REPEAT);
	cr_expect_eq(left, 120);
	cr_expect_eq(renewal(&left, l, USER "0", 30500), LOBBY_TURN_REPEAT);
	cr_expect_eq(left, 89, "whole seconds that it surely has");
	cr_expect_eq(renewal(&left, l, "1700000120:203.0.113.", 59999), LOBBY_TURN_REPEAT);
	cr_expect_eq(left, 60);
}

Test(lobby_state, who_does_not_ask_is_told_nothing)
{
	struct lobby     *l    = minted();
	int64_t           left = -1;
	struct lobby_beat b    = { .turn_user = "another", .turn_user_len = 7 };

	cr_expect_eq(renewal(&left, l, NULL, 100000), LOBBY_TURN_NONE, "no turn_user");
	cr_expect_eq(renewal(&left, l, "", 100000), LOBBY_TURN_NONE, "an empty one");
	cr_expect_eq(lobby_renewal(&left, l, &b, false, 5, false, LIFE, NOW + 100000, WALL), LOBBY_TURN_NONE,
	             "no TURN here");
	l->is_direct = true;
	cr_expect_eq(renewal(&left, l, "another", 100000), LOBBY_TURN_NONE, "a direct lobby");
}

Test(lobby_state, a_credential_from_before_a_restart_is_replaced_at_the_first_beat)
{
	struct lobby     *l    = kept(1, 1, NOW);
	struct lobby_beat b    = { .turn_user = USER, .turn_user_len = strlen(USER) };
	int64_t           left = -1;

	cr_assert_eq(lobby_restore(&state, l), ERR_OK);
	cr_expect_eq(renewal(&left, l, USER, 0), LOBBY_TURN_MINT);
	/* Right after the start, with a secret of the first generation, nothing else tells. */
	l->turn_until_ms = WALL + LIFE * 1000;
	cr_expect_eq(lobby_renewal(&left, l, &b, true, 0, false, LIFE, 5, WALL), LOBBY_TURN_MINT);
	cr_expect_eq(renewal(&left, l, "", 0), LOBBY_TURN_NONE);
	lobby_minted(l, USER, 5, WALL + LIFE * 1000, 0);
	cr_expect_neq(l->turn_ms, 0, "also when the clock says 0");
}

Test(lobby_state, a_credential_of_a_secret_that_is_gone_is_replaced_at_once)
{
	struct lobby     *l    = minted();
	struct lobby_beat b    = { .turn_user = USER, .turn_user_len = strlen(USER) };
	int64_t           left = -1;

	cr_expect_eq(lobby_renewal(&left, l, &b, true, 6, false, LIFE, NOW + 1, WALL + 1), LOBBY_TURN_MINT);
	cr_expect_eq(lobby_renewal(&left, l, &b, true, 6, true, LIFE, NOW + 1, WALL + 1), LOBBY_TURN_NONE);
	cr_expect_eq(lobby_renewal(&left, l, &b, true, 6, true, LIFE, NOW + 59999, WALL + 59999), LOBBY_TURN_NONE);
	cr_expect_eq(lobby_renewal(&left, l, &b, true, 6, true, LIFE, NOW + 60000, WALL + 60000), LOBBY_TURN_MINT);
	cr_expect_eq(lobby_renewal(&left, l, &b, true, 7, true, LIFE, NOW + 1, WALL + 1), LOBBY_TURN_MINT,
	             "two secrets ago");
}

Test(lobby_state, a_credential_that_a_set_clock_ended_is_replaced)
{
	struct lobby     *l    = minted();
	struct lobby_beat b    = { .turn_user = "another", .turn_user_len = 7 };
	int64_t           left = -1;

	cr_expect_eq(lobby_renewal(&left, l, &b, true, 5, false, LIFE, NOW, WALL + 119000), LOBBY_TURN_REPEAT);
	cr_expect_eq(left, 1);
	cr_expect_eq(lobby_renewal(&left, l, &b, true, 5, false, LIFE, NOW, WALL + 119001), LOBBY_TURN_MINT);
}
