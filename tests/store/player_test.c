/*
 * Players and codes, and the sweep under clocks that are only numbers.
 */
#include "store/player.h"

#include "store/game.h"
#include "store/upkeep.h"
#include "support/data_folder.h"

#include <criterion/criterion.h>
#include <string.h>

#define DAY  UPTIME_DAY_MS
#define NOON (UPTIME_OLDEST_WALL_MS + 30 * DAY + DAY / 2)

static const uint8_t addr[PLAYER_ADDR_BYTES] = { 0xad };

/* Player n has the id n and the code 100000 + n. */
static struct player_row player(uint32_t n, int64_t used_ms)
{
	struct player_row row = { .code = 100000 + n, .used_ms = used_ms };

	for (size_t i = 0; i < sizeof(n); i++)
		row.digest[i] = (uint8_t)(n >> (8 * i));
	row.digest[31] = 0x77;
	return row;
}

/* A server that is swept, and its clocks. */
struct world {
	struct db          *db;
	struct player_sweep rules;
	uint8_t            *digests; /* that the last sweep removed */
	size_t              count;
};

static struct world new_world(void)
{
	struct world  w = { .db    = data_open_db(),
		            .rules = { .wall_ms       = NOON,
		                       .mono_ms       = 1000,
		                       .code_days     = 60,
		                       .marked_days   = 7,
		                       .spare_percent = 80,
		                       .spare_ms      = 2 * DAY } };
	struct upkeep today;

	cr_assert_eq(upkeep_look(&today, w.db, w.rules.wall_ms, w.rules.mono_ms), ERR_OK);
	return w;
}

static void end_world(struct world *w)
{
	free(w->digests);
	db_close(w->db);
}

static size_t sweep(struct world *w)
{
	free(w->digests);
	w->digests = NULL;
	w->count   = 0;
	cr_assert_eq(player_sweep(&w->digests, &w->count, w->db, &w->rules), ERR_OK);
	return w->count;
}

static void pass(struct world *w, int64_t ms)
{
	w->rules.wall_ms += ms;
	w->rules.mono_ms += ms;
}

/* Lets days go by with a sweep on each; how many codes went in all. */
static size_t pass_days(struct world *w, int days)
{
	size_t removed = 0;

	for (int i = 0; i < days; i++) {
		pass(w, DAY);
		removed += sweep(w);
	}
	return removed;
}

/* A process that starts after the server was off for so long. */
static void restart_after(struct world *w, int64_t off_ms)
{
	struct upkeep today;

	uptime_init(db_uptime(w->db));
	w->rules.wall_ms += off_ms;
	w->rules.mono_ms = 50;
	cr_assert_eq(upkeep_look(&today, w->db, w->rules.wall_ms, w->rules.mono_ms), ERR_OK);
}

static void add(struct world *w, uint32_t n)
{
	struct player_row row = player(n, w->rules.wall_ms);

	cr_assert_eq(player_add(w->db, &row, addr), ERR_OK);
}

static void touch(struct world *w, uint32_t n, bool joined)
{
	struct player_row row = player(n, w->rules.wall_ms);

	row.joined = joined;
	cr_assert_eq(player_touch(w->db, &row), ERR_OK);
}

/* Players first .. first + count - 1 at once, last used so long ago. */
static void fill(struct world *w, uint32_t first, uint32_t count, int64_t day, int64_t used_ms)
{
	data_exec(w->db, "BEGIN");
	for (uint32_t n = first; n < first + count; n++) {
		struct player_row row = player(n, used_ms);

		cr_assert_eq(player_touch(w->db, &row), ERR_OK);
	}
	data_exec(w->db, "COMMIT");

	char sql[128];
	snprintf(sql, sizeof(sql), "UPDATE codes SET used_day = %d WHERE code BETWEEN %u AND %u", (int)day,
	         100000 + first, 100000 + first + count - 1);
	data_exec(w->db, sql);
}

static int64_t count_codes(struct world *w)
{
	int64_t codes = data_ask(w->db, "SELECT count(*) FROM codes");

	cr_expect_eq(codes, data_ask(w->db, "SELECT count(*) FROM players"), "no player is left without a code");
	return codes;
}

static enum err find_first(const struct player_row *row, void *arg)
{
	*(struct player_row *)arg = *row;
	return ERR_CLOSED;
}

Test(player, a_new_player_comes_back_as_he_was)
{
	struct world      w   = new_world();
	struct player_row row = player(5, NOON), found;

	row.joined = true;
	cr_assert_eq(player_add(w.db, &row, addr), ERR_OK);
	cr_assert_eq(player_each(w.db, find_first, &found), ERR_CLOSED, "an error of the callback comes out");
	cr_expect_arr_eq(found.digest, row.digest, sizeof(row.digest));
	cr_expect_eq(found.code, row.code);
	cr_expect_eq(found.used_ms, NOON);
	cr_expect(found.joined);
	end_world(&w);
}

Test(player, neither_player_nor_code_is_given_twice)
{
	struct world      w = new_world();
	struct player_row same_player, same_code;

	add(&w, 5);
	same_player      = player(5, NOON);
	same_player.code = 100006;
	cr_expect_eq(player_add(w.db, &same_player, addr), ERR_EXISTS);
	same_code      = player(6, NOON);
	same_code.code = 100005;
	cr_expect_eq(player_add(w.db, &same_code, addr), ERR_EXISTS);
	end_world(&w);
}

/* The public id is only a part of the digest: another key with the same id must not get the code. */
Test(player, another_key_with_the_same_id_is_refused)
{
	struct world      w = new_world();
	struct player_row other;

	add(&w, 5);
	other            = player(5, NOON);
	other.digest[31] = 0x78;
	other.code       = 100006;
	cr_expect_eq(player_add(w.db, &other, addr), ERR_EXISTS);
	cr_expect_eq(player_touch(w.db, &other), ERR_EXISTS);
	end_world(&w);
}

Test(player, a_touch_sets_the_time_and_joined_never_goes_back)
{
	struct world      w = new_world();
	struct player_row found;

	add(&w, 5);
	touch(&w, 5, true);
	pass(&w, 1000);
	touch(&w, 5, false);
	player_each(w.db, find_first, &found);
	cr_expect_eq(found.used_ms, NOON + 1000);
	cr_expect(found.joined);
	end_world(&w);
}

Test(player, a_touch_adds_who_is_missing_but_never_moves_a_code)
{
	struct world      w = new_world();
	struct player_row row;

	touch(&w, 5, false);
	cr_expect_eq(count_codes(&w), 1);
	row      = player(6, NOON);
	row.code = 100005;
	cr_expect_eq(player_touch(w.db, &row), ERR_EXISTS);
	end_world(&w);
}

struct noted {
	int     count;
	int64_t last_ms;
};

static void note_new(const uint8_t address[PLAYER_ADDR_BYTES], int64_t at_ms, void *arg)
{
	struct noted *n = arg;

	cr_expect_arr_eq(address, addr, PLAYER_ADDR_BYTES);
	n->count++;
	n->last_ms = at_ms;
}

Test(player, new_players_are_noted_for_the_hour_and_forgotten_later)
{
	struct world w = new_world();
	struct noted n = { 0 };

	add(&w, 1);
	pass(&w, 60000);
	add(&w, 2);
	touch(&w, 3, false); /* known already, only not here */
	cr_assert_eq(player_each_new(w.db, NOON, note_new, &n), ERR_OK);
	cr_expect_eq(n.count, 2);
	cr_expect_eq(n.last_ms, NOON + 60000);

	n.count = 0;
	player_each_new(w.db, NOON + 1, note_new, &n);
	cr_expect_eq(n.count, 1);

	pass(&w, 2 * 3600000);
	sweep(&w);
	cr_expect_eq(data_ask(w.db, "SELECT count(*) FROM new_players"), 1);
	pass(&w, 1);
	sweep(&w);
	cr_expect_eq(data_ask(w.db, "SELECT count(*) FROM new_players"), 0);
	end_world(&w);
}

Test(player_sweep, a_code_is_marked_after_60_days_and_removed_7_days_later)
{
	struct world w = new_world();

	add(&w, 5);
	cr_expect_eq(pass_days(&w, 59), 0);
	cr_expect_eq(data_ask(w.db, "SELECT count(*) FROM player_list WHERE marked = 'yes'"), 0);
	cr_expect_eq(pass_days(&w, 1), 0);
	cr_expect_eq(data_ask(w.db, "SELECT count(*) FROM player_list WHERE marked = 'yes'"), 1);
	cr_expect_eq(pass_days(&w, 6), 0);
	cr_expect_eq(count_codes(&w), 1);
	cr_assert_eq(pass_days(&w, 1), 1);
	cr_expect_eq(count_codes(&w), 0);

	struct player_row row = player(5, 0);
	cr_expect_arr_eq(w.digests, row.digest, PLAYER_DIGEST_BYTES);
	end_world(&w);
}

Test(player_sweep, a_use_lifts_the_mark)
{
	struct world w = new_world();

	add(&w, 5);
	add(&w, 6);
	pass_days(&w, 66);
	touch(&w, 5, false);
	cr_expect_eq(data_ask(w.db, "SELECT count(*) FROM player_list WHERE marked = 'yes'"), 1);
	cr_expect_eq(pass_days(&w, 66), 1, "only the other one");
	cr_expect_eq(pass_days(&w, 1), 1, "67 days after the use");
	end_world(&w);
}

/* The sweep of one moment cannot both mark and remove, however many days it finds to have passed. */
Test(player_sweep, days_that_pass_at_once_only_mark)
{
	struct world w = new_world();

	add(&w, 5);
	pass(&w, 300 * DAY);
	cr_expect_eq(sweep(&w), 0);
	cr_expect_eq(data_ask(w.db, "SELECT max(day) FROM uptime_days"), 301);
	cr_expect_eq(pass_days(&w, 6), 0);
	cr_expect_eq(pass_days(&w, 1), 1);
	end_world(&w);
}

Test(player_sweep, days_without_the_server_do_not_count)
{
	struct world w = new_world();

	add(&w, 5);
	pass_days(&w, 30);
	restart_after(&w, 365 * DAY);
	cr_expect_eq(sweep(&w), 0);
	cr_expect_eq(data_ask(w.db, "SELECT count(*) FROM uptime_days"), 32);
	cr_expect_eq(pass_days(&w, 35), 0);
	cr_expect_eq(pass_days(&w, 1), 1);
	end_world(&w);
}

Test(player_sweep, a_live_game_uses_its_code)
{
	struct world    w    = new_world();
	struct game_row game = { .code = 100005, .version = 2, .player = { 5 }, .made_ms = NOON };

	add(&w, 5);
	add(&w, 6);
	cr_assert_eq(game_put(w.db, &game), ERR_OK);
	cr_expect_eq(pass_days(&w, 200), 1, "the one without a game");
	game_remove(w.db, 100005);
	cr_expect_eq(pass_days(&w, 66), 0);
	cr_expect_eq(pass_days(&w, 1), 1);
	end_world(&w);
}

Test(player_sweep, a_longer_time_holds_for_what_is_marked_too)
{
	struct world w = new_world();

	add(&w, 5);
	pass_days(&w, 66);
	w.rules.code_days = 100;
	cr_expect_eq(pass_days(&w, 33), 0);
	cr_expect_eq(pass_days(&w, 1), 1, "100 days; marked long ago");
	end_world(&w);
}

Test(player_sweep, a_doubted_clock_expires_nothing_for_24_hours)
{
	struct world w = new_world();

	add(&w, 5);
	pass_days(&w, 66);
	pass(&w, DAY - 1000);
	w.rules.wall_ms += 400 * DAY;
	cr_expect_eq(sweep(&w), 0);
	pass(&w, 1000);
	cr_expect_eq(sweep(&w), 0, "the day it was to go");
	pass(&w, DAY - 1001);
	cr_expect_eq(sweep(&w), 0);
	pass(&w, 1);
	cr_expect_eq(sweep(&w), 1);
	end_world(&w);
}

Test(player_sweep, a_start_before_the_kept_time_expires_nothing)
{
	struct world w = new_world();

	add(&w, 5);
	pass_days(&w, 67 - 1);
	restart_after(&w, -2 * DAY);
	pass(&w, DAY - 1);
	cr_expect_eq(sweep(&w), 0);
	pass(&w, 1);
	cr_expect_eq(sweep(&w), 1);
	end_world(&w);
}

/* One percent of the range, 9,000 codes, stands for the 80. */
Test(player_sweep, at_the_share_no_code_is_spared_and_one_past_it_the_oldest_is)
{
	struct world w = new_world();

	w.rules.spare_percent = 1;
	pass_days(&w, 10);
	fill(&w, 0, 9000, 8, w.rules.wall_ms - 3 * DAY);
	cr_expect_eq(sweep(&w), 0);

	fill(&w, 20000, 1, 5, w.rules.wall_ms - 6 * DAY);
	cr_assert_eq(sweep(&w), 1);
	struct player_row oldest = player(20000, 0);
	cr_expect_arr_eq(w.digests, oldest.digest, PLAYER_DIGEST_BYTES);
	cr_expect_eq(sweep(&w), 0);
	cr_expect_eq(count_codes(&w), 9000);
	end_world(&w);
}

Test(player_sweep, a_code_that_served_a_friend_or_was_used_lately_is_not_spared)
{
	struct world w = new_world();

	w.rules.spare_percent = 0;
	pass_days(&w, 10);
	fill(&w, 1, 1, 9, w.rules.wall_ms - 2 * DAY + 1); /* not quite 48 hours */
	fill(&w, 2, 1, 10, w.rules.wall_ms - 2 * DAY);    /* by the clock, but the server ran one day only */
	fill(&w, 3, 1, 9, w.rules.wall_ms - 2 * DAY);     /* the one */
	fill(&w, 4, 1, 9, w.rules.wall_ms - 2 * DAY);     /* a friend came once */
	data_exec(w.db, "UPDATE codes SET joined = 1 WHERE code = 100004");
	cr_assert_eq(sweep(&w), 1);
	cr_expect_eq(w.digests[0], 3);
	end_world(&w);
}

Test(player_sweep, one_sweep_removes_a_bounded_number)
{
	struct world w = new_world();

	pass_days(&w, 67);
	fill(&w, 0, PLAYER_SWEEP_MAX + 1, 1, NOON);
	cr_expect_eq(sweep(&w), PLAYER_SWEEP_MAX);
	cr_expect_eq(sweep(&w), 1);
	cr_expect_eq(sweep(&w), 0);
	cr_expect_eq(count_codes(&w), 0);
	end_world(&w);
}

Test(player, a_code_is_changed_for_who_has_it_and_for_nobody_else)
{
	struct world      w   = new_world();
	struct player_row one = player(1, NOON), two = player(2, NOON), back;

	one.joined = true;
	cr_assert_eq(player_add(w.db, &one, addr), ERR_OK);
	cr_assert_eq(player_add(w.db, &two, addr), ERR_OK);
	one.code = 123456;
	cr_expect_eq(player_change_code(w.db, &one, 100009), ERR_NOT_FOUND, "not the code he has");
	cr_expect_eq(player_change_code(w.db, &one, 100002), ERR_NOT_FOUND, "another player's");
	cr_expect_eq(player_change_code(w.db, &one, 100001), ERR_OK);
	cr_expect_eq(data_ask(w.db, "SELECT joined FROM codes WHERE code = 123456"), 0);
	cr_expect_eq(data_ask(w.db, "SELECT count(*) FROM codes"), 2);
	two.code = 123456;
	cr_expect_eq(player_change_code(w.db, &two, 100002), ERR_EXISTS);

	/* A use of the old code that comes late changes nothing. */
	back = player(1, NOON + 5);
	cr_expect_eq(player_touch(w.db, &back), ERR_EXISTS);
	cr_expect_eq(data_ask(w.db, "SELECT code FROM codes WHERE substr(player, 1, 1) = x'01'"), 123456);
	end_world(&w);
}

/* Of one who was imported only the id is known: zeros stand for the rest. */
Test(player, the_first_key_with_an_imported_id_is_the_players)
{
	struct world      w     = new_world();
	struct player_row key   = player(5, NOON), later;
	uint8_t           other = 0x78;
	int64_t           made_ms;

	data_exec(w.db, "INSERT INTO players VALUES (x'0500000000000000', CAST(x'0500000000000000' || zeroblob(24) AS "
	                "BLOB), 1)");
	data_exec(w.db, "INSERT INTO codes VALUES (x'0500000000000000', 100005, 1, 0, 1)");
	later            = key;
	later.digest[31] = other;
	cr_expect_eq(player_check(w.db, later.digest), ERR_OK, "reading decides nothing");
	cr_expect_eq(player_find(&made_ms, w.db, key.digest), ERR_OK);
	cr_expect_eq(player_touch(w.db, &key), ERR_OK);
	cr_expect_eq(player_check(w.db, key.digest), ERR_OK);
	cr_expect_eq(player_check(w.db, later.digest), ERR_NOT_FOUND, "it is another key's now");
	cr_expect_eq(player_touch(w.db, &later), ERR_OK,
	             "the code is told apart by its id alone; the tunnel looks before");
	cr_expect_eq(player_check(w.db, key.digest), ERR_OK, "and stays so");
	end_world(&w);
}
