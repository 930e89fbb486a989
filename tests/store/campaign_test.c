/*
 * Campaigns: who sees what, versions, members, deleting, restoring, the sweep; and the views for people.
 */
#include "store/campaign.h"

#include "base/auto.h"
#include "base/metric.h"
#include "support/data_folder.h"
#include "support/depot.h"

#include <criterion/criterion.h>
#include <string.h>

enum { ANNA, BEN, CARL, DORA }; /* players */

static const int nobody[]   = { -1 };
static const int ben_only[] = { BEN, -1 };

/* Campaigns as a player's list shows them, by their numbers. */
struct list {
	int                 numbers[64];
	size_t              count;
	struct campaign_row first;
};

static enum err note(const struct campaign_row *row, void *arg)
{
	struct list *l = arg;

	if (l->count == 0)
		l->first = *row;
	l->numbers[l->count++] = row->id[3] << 8 | row->id[4];
	return ERR_OK;
}

static struct list list_of(struct depot *d, int player, bool containers_only)
{
	struct list l = { .count = 0 };

	cr_assert_eq(campaign_each(d->db, depot_player(player), containers_only, d->limits, note, &l), ERR_OK);
	return l;
}

static void expect_list(struct depot *d, int player, const int *wanted, size_t count)
{
	struct list l = list_of(d, player, false);

	cr_assert_eq(l.count, count, "%zu campaigns of %d, not %zu", l.count, player, count);
	for (size_t i = 0; i < count; i++)
		cr_expect_eq(l.numbers[i], wanted[i], "at %zu: %d", i, l.numbers[i]);
}
#define EXPECT_LIST(d, player, ...) \
	expect_list(d, player, (const int[]){ __VA_ARGS__ }, COUNT_OF(((const int[]){ __VA_ARGS__ })))

static enum err find(struct depot *d, int player, int campaign)
{
	struct campaign_row row;

	return campaign_find(&row, d->db, depot_campaign(campaign), depot_player(player));
}

/* The version that a pick gives; minus the error when it gives none. */
static int64_t pick(struct depot *d, int player, int campaign, int64_t version, bool containers_only)
{
	struct checkpoint_row row;
	enum err              e =
		campaign_pick(&row, d->db, depot_campaign(campaign), depot_player(player), version, containers_only);

	return e == ERR_OK ? row.version : -(int64_t)e;
}

static enum err forget(struct depot *d, int player, int campaign)
{
	return DEPOT_JOB(d, campaign_forget(d->db, depot_campaign(campaign), depot_player(player), d->wall_ms));
}

static enum err add_member(struct depot *d, int owner, int campaign, int player)
{
	return DEPOT_JOB(d, campaign_member_add(d->db, depot_campaign(campaign), depot_player(owner),
	                                        depot_player(player), d->limits));
}

static enum err remove_member(struct depot *d, int owner, int campaign, int player)
{
	return DEPOT_JOB(d, campaign_member_remove(d->db, depot_campaign(campaign), depot_player(owner),
	                                           depot_player(player)));
}

static enum err load(struct depot *d, int player, int campaign)
{
	return DEPOT_JOB(d, campaign_loaded(d->db, depot_campaign(campaign), depot_player(player), d->wall_ms));
}

static enum err restore(struct depot *d, int player, int campaign, int64_t version, struct checkpoint_row *out)
{
	return DEPOT_JOB(d, campaign_restore(out, d->db, depot_campaign(campaign), depot_player(player), version,
	                                     d->wall_ms, d->keep, d->limits));
}

Test(campaign, who_stores_first_owns_it_and_strangers_learn_nothing)
{
	struct depot d;

	depot_open(&d);
	cr_assert_eq(depot_put(&d, ANNA, 1, 1000), ERR_OK);
	cr_expect(d.end.made);
	cr_expect_eq(find(&d, ANNA, 1), ERR_OK);
	cr_expect_eq(find(&d, BEN, 1), ERR_NOT_FOUND);
	cr_expect_eq(pick(&d, BEN, 1, 0, false), -ERR_NOT_FOUND);
	cr_expect_eq(forget(&d, BEN, 1), ERR_NOT_FOUND);
	cr_expect_eq(load(&d, BEN, 1), ERR_NOT_FOUND);
	cr_expect_eq(add_member(&d, BEN, 1, BEN), ERR_NOT_FOUND);
	cr_expect_eq(remove_member(&d, BEN, 1, ANNA), ERR_NOT_FOUND);
	cr_expect_eq(list_of(&d, BEN, false).count, 0);
	cr_expect_eq(depot_put(&d, BEN, 1, 1000), ERR_NOT_ALLOWED);
	cr_expect_eq(find(&d, ANNA, 2), ERR_NOT_FOUND);
	depot_close(&d);
}

Test(campaign, a_member_loads_and_stores_but_only_the_owner_decides)
{
	struct depot          d;
	struct checkpoint_row row;

	depot_open(&d);
	cr_assert_eq(depot_put_naming(&d, ANNA, 1, ben_only), ERR_OK);
	cr_expect_eq(pick(&d, BEN, 1, 0, false), 1);
	cr_expect_eq(depot_put(&d, BEN, 1, 3000), ERR_OK);
	cr_expect_not(d.end.made);
	cr_expect_eq(d.end.quota.bytes, 4000, "of this campaign");
	cr_expect_eq(d.end.quota.bytes_max, 0, "the rest is the owner's business");
	cr_expect_eq(pick(&d, ANNA, 1, 0, false), 2);
	cr_expect_eq(pick(&d, ANNA, 1, -1, false), 1);
	cr_expect_eq(restore(&d, BEN, 1, 1, &row), ERR_NOT_FOUND);
	cr_expect_eq(add_member(&d, BEN, 1, CARL), ERR_NOT_FOUND);
	EXPECT_LIST(&d, BEN, 1);
	struct list l = list_of(&d, BEN, false);
	cr_expect_eq(l.first.role, CAMPAIGN_MEMBER);
	cr_expect_eq(l.first.bytes, 4000);
	cr_expect(l.first.has_previous);
	cr_expect_eq(l.first.newest.version, 2);
	cr_expect_arr_eq(l.first.newest.by, depot_player(BEN), PLAYER_ID_BYTES);
	cr_expect_arr_eq(l.first.owner, depot_player(ANNA), PLAYER_ID_BYTES);
	depot_close(&d);
}

Test(campaign, what_is_stored_comes_back_as_it_was)
{
	struct depot           d;
	struct checkpoint_row  row;
	struct checkpoint_meta meta = { .is_container = true,
		                        .stamp        = 1700000000,
		                        .name         = "n\xc3\xa4me",
		                        .level        = "island",
		                        .checkpoint   = "beach",
		                        .hostname     = "pc" };

	depot_open(&d);
	d.end.meta = meta;
	cr_assert_eq(depot_put(&d, ANNA, 1, 4711), ERR_OK);
	cr_assert_eq(campaign_pick(&row, d.db, depot_campaign(1), depot_player(ANNA), 1, true), ERR_OK);
	cr_expect_eq(row.bytes, 4711);
	cr_expect_eq(row.stored_ms, d.wall_ms);
	cr_expect_arr_eq(row.by, depot_player(ANNA), PLAYER_ID_BYTES);
	cr_expect_arr_eq(row.sha256, d.end.stored.sha256, BLOB_HASH_BYTES);
	cr_expect(row.meta.is_container);
	cr_expect_eq(row.meta.stamp, meta.stamp);
	cr_expect_str_eq(row.meta.name, meta.name);
	cr_expect_str_eq(row.meta.level, meta.level);
	cr_expect_str_eq(row.meta.checkpoint, meta.checkpoint);
	cr_expect_str_eq(row.meta.hostname, meta.hostname);
	depot_close(&d);
}

Test(campaign, a_stamp_over_a_day_ahead_is_shown_as_the_time_of_storing)
{
	struct depot d;

	depot_open(&d);
	depot_pass(&d, 10000);
	int64_t now      = d.wall_ms / 1000 + 10;
	d.end.meta.stamp = now + 86400;
	cr_assert_eq(depot_put(&d, ANNA, 1, 1), ERR_OK);
	cr_expect_eq(d.end.stored.meta.stamp, now + 86400);
	now += 10;
	d.end.meta.stamp = now + 86401;
	cr_assert_eq(depot_put(&d, ANNA, 1, 1), ERR_OK);
	cr_expect_eq(d.end.stored.meta.stamp, now);
	depot_close(&d);
}

Test(campaign, over_websocket_only_containers_are_seen)
{
	struct depot d;

	depot_open(&d);
	cr_assert_eq(depot_put(&d, ANNA, 1, 1000), ERR_OK);
	cr_expect_eq(list_of(&d, ANNA, true).count, 0);
	cr_expect_eq(pick(&d, ANNA, 1, 0, true), -ERR_NOT_FOUND);
	d.end.meta.is_container = true;
	cr_assert_eq(depot_put(&d, ANNA, 1, 1000), ERR_OK);
	d.end.meta.is_container = false;
	cr_assert_eq(depot_put(&d, ANNA, 1, 1000), ERR_OK);
	cr_expect_eq(pick(&d, ANNA, 1, 0, true), 2);
	cr_expect_eq(pick(&d, ANNA, 1, -1, true), -ERR_NOT_FOUND);
	cr_expect_eq(pick(&d, ANNA, 1, 3, true), -ERR_NOT_FOUND);
	cr_expect_eq(pick(&d, ANNA, 1, 3, false), 3);
	struct list l = list_of(&d, ANNA, true);
	cr_expect_eq(l.count, 1);
	cr_expect_eq(l.first.newest.version, 2);
	cr_expect_not(l.first.has_previous);
	depot_close(&d);
}

/* What keeps versions from being used twice must not grow for ever: anybody can make ids. */
Test(campaign, versions_are_forgotten_long_after_the_id_went)
{
	struct depot d;

	depot_open(&d);
	cr_assert_eq(depot_put(&d, ANNA, 1, 1000), ERR_OK);
	cr_assert_eq(depot_put(&d, ANNA, 1, 1000), ERR_OK);
	cr_assert_eq(forget(&d, ANNA, 1), ERR_OK);
	cr_expect_eq(depot_ask(&d, "SELECT count(*) FROM versions WHERE gone_day IS NULL"), 1, "it is in the trash");
	depot_pass_days(&d, 7);
	cr_assert_eq(depot_ask(&d, "SELECT count(*) FROM campaigns"), 0);
	cr_expect_eq(depot_ask(&d, "SELECT count(*) FROM versions WHERE gone_day IS NULL"), 0);
	depot_pass_days(&d, 179);
	cr_assert_eq(depot_put(&d, BEN, 1, 1000), ERR_OK);
	cr_expect_eq(d.end.stored.version, 3, "on the last of the 180 days");
	cr_expect_eq(depot_ask(&d, "SELECT count(*) FROM versions WHERE gone_day IS NULL"), 1);
	depot_pass_days(&d, 2);
	cr_expect_eq(depot_ask(&d, "SELECT count(*) FROM versions"), 1, "the id has a campaign again");
	cr_assert_eq(forget(&d, BEN, 1), ERR_OK);
	depot_pass_days(&d, 7 + 179);
	cr_expect_eq(depot_ask(&d, "SELECT count(*) FROM versions"), 1);
	depot_pass_days(&d, 1);
	cr_expect_eq(depot_ask(&d, "SELECT count(*) FROM versions"), 0);
	depot_close(&d);
}

Test(campaign, versions_go_in_helpings_and_not_while_the_clock_is_doubted)
{
	struct depot d;
	bool         more;

	depot_open(&d);
	depot_pass_days(&d, 200);
	data_exec(d.db,
	          "WITH n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 100) "
	          "INSERT INTO versions (id, last, gone_day) SELECT CAST(printf('%08d', i) AS BLOB), 1, 5 FROM n");
	d.wall_ms += 400 * DEPOT_DAY;
	d.mono_ms += 1000;
	cr_assert_eq(DEPOT_JOB(&d, campaign_sweep(&more, d.db, d.wall_ms, d.mono_ms, d.limits)), ERR_OK);
	cr_expect_eq(depot_ask(&d, "SELECT count(*) FROM versions"), 101);
	depot_pass(&d, DEPOT_DAY);
	cr_assert_eq(DEPOT_JOB(&d, campaign_sweep(&more, d.db, d.wall_ms, d.mono_ms, d.limits)), ERR_OK);
	cr_expect(more);
	cr_expect_eq(depot_ask(&d, "SELECT count(*) FROM versions"), 1);
	cr_assert_eq(DEPOT_JOB(&d, campaign_sweep(&more, d.db, d.wall_ms, d.mono_ms, d.limits)), ERR_OK);
	cr_expect_not(more);
	cr_expect_eq(depot_ask(&d, "SELECT count(*) FROM versions"), 0);
	depot_close(&d);
}

Test(campaign, the_id_of_one_live_and_one_in_the_trash_is_not_gone)
{
	struct depot d;

	depot_open(&d);
	cr_assert_eq(depot_put(&d, ANNA, 1, 1000), ERR_OK);
	cr_assert_eq(forget(&d, ANNA, 1), ERR_OK);
	cr_assert_eq(depot_put(&d, BEN, 1, 1000), ERR_OK);
	depot_pass_days(&d, 7);
	cr_assert_eq(depot_ask(&d, "SELECT count(*) FROM campaigns"), 1);
	cr_expect_eq(depot_ask(&d, "SELECT count(*) FROM versions WHERE gone_day IS NULL"), 1);
	depot_close(&d);
}

Test(campaign, versions_have_no_gaps_and_are_never_used_again)
{
	struct depot d;

	depot_open(&d);
	for (int64_t version = 1; version <= 20; version++) {
		cr_assert_eq(depot_put(&d, ANNA, 1, 1000), ERR_OK);
		cr_expect_eq(d.end.stored.version, version);
	}
	cr_assert_eq(forget(&d, ANNA, 1), ERR_OK);
	cr_assert_eq(depot_put(&d, BEN, 1, 1000), ERR_OK);
	cr_expect_eq(d.end.stored.version, 21);
	cr_assert_eq(forget(&d, BEN, 1), ERR_OK);
	depot_pass_days(&d, 10);
	cr_expect_eq(depot_ask(&d, "SELECT count(*) FROM campaigns"), 0);
	cr_assert_eq(depot_put(&d, BEN, 1, 1000), ERR_OK);
	cr_expect_eq(d.end.stored.version, 22, "also when nothing of it is left");
	depot_check_sums(&d);
	depot_close(&d);
}

/* Safety 19: his own, those he used, then others: few of one owner, few in all; each part newest first. */
Test(campaign, a_list_shows_own_then_used_then_few_others)
{
	struct depot d;

	depot_open(&d);
	d.limits->cloud_list_per_owner = 2;
	d.limits->cloud_list_others    = 3;
	for (int i = 0; i < 3; i++)
		cr_assert_eq(depot_put_naming(&d, BEN, 10 + i, (const int[]){ ANNA, -1 }), ERR_OK);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(depot_put_naming(&d, CARL, 20 + i, (const int[]){ ANNA, -1 }), ERR_OK);
	cr_assert_eq(depot_put(&d, ANNA, 1, 1000), ERR_OK);
	cr_assert_eq(depot_put(&d, ANNA, 2, 1000), ERR_OK);
	EXPECT_LIST(&d, ANNA, 2, 1, 21, 20, 12);
	cr_expect_eq(find(&d, ANNA, 10), ERR_OK, "what the list leaves out can be asked for");
	cr_assert_eq(load(&d, ANNA, 10), ERR_OK);
	EXPECT_LIST(&d, ANNA, 2, 1, 10, 21, 20, 12);
	cr_assert_eq(depot_put(&d, ANNA, 20, 1000), ERR_OK);
	EXPECT_LIST(&d, ANNA, 2, 1, 20, 10, 21, 12, 11);
	depot_close(&d);
}

Test(campaign, a_text_makes_members_up_to_the_limit)
{
	struct depot d;
	int          many[40];

	depot_open(&d);
	for (int i = 0; i < 39; i++)
		many[i] = 100 + i;
	many[5]  = ANNA; /* the owner is none */
	many[39] = -1;
	cr_assert_eq(depot_put_naming(&d, ANNA, 1, many), ERR_OK);
	cr_expect_eq(depot_ask(&d, "SELECT count(*) FROM members"), d.limits->cloud_members);
	cr_expect_eq(find(&d, many[32], 1), ERR_OK);
	cr_expect_eq(find(&d, many[33], 1), ERR_NOT_FOUND);
	cr_expect_eq(add_member(&d, ANNA, 1, BEN), ERR_MEMBERS);
	cr_expect_eq(add_member(&d, ANNA, 1, many[0]), ERR_OK, "he is one already");
	cr_assert_eq(remove_member(&d, ANNA, 1, many[0]), ERR_OK);
	cr_expect_eq(add_member(&d, ANNA, 1, BEN), ERR_OK);
	cr_expect_eq(add_member(&d, ANNA, 1, CARL), ERR_MEMBERS);
	cr_expect_eq(add_member(&d, ANNA, 1, ANNA), ERR_OK);
	depot_close(&d);
}

Test(campaign, a_later_text_takes_nobody_away)
{
	struct depot d;

	depot_open(&d);
	cr_assert_eq(depot_put_naming(&d, ANNA, 1, ben_only), ERR_OK);
	cr_assert_eq(depot_put_naming(&d, ANNA, 1, nobody), ERR_OK);
	cr_expect_eq(find(&d, BEN, 1), ERR_OK);
	depot_close(&d);
}

Test(campaign, a_text_does_not_put_back_whom_the_owner_removed)
{
	struct depot d;

	depot_open(&d);
	cr_assert_eq(depot_put_naming(&d, ANNA, 1, ben_only), ERR_OK);
	cr_assert_eq(depot_put(&d, BEN, 1, 1000), ERR_OK);
	cr_assert_eq(remove_member(&d, ANNA, 1, BEN), ERR_OK);
	cr_expect_eq(remove_member(&d, ANNA, 1, BEN), ERR_NOT_FOUND);
	cr_assert_eq(depot_put_naming(&d, ANNA, 1, ben_only), ERR_OK);
	cr_expect_eq(find(&d, BEN, 1), ERR_NOT_FOUND);
	cr_assert_eq(add_member(&d, ANNA, 1, BEN), ERR_OK);
	cr_expect_eq(find(&d, BEN, 1), ERR_OK);
	depot_close(&d);
}

Test(campaign, one_who_left_is_put_back_only_if_he_ever_used_it)
{
	struct depot d;

	depot_open(&d);
	cr_assert_eq(depot_put_naming(&d, ANNA, 1, (const int[]){ BEN, CARL, -1 }), ERR_OK);
	cr_assert_eq(load(&d, BEN, 1), ERR_OK);
	cr_assert_eq(forget(&d, BEN, 1), ERR_OK);
	cr_assert_eq(forget(&d, CARL, 1), ERR_OK);
	cr_expect_eq(forget(&d, CARL, 1), ERR_NOT_FOUND);
	cr_expect_eq(find(&d, BEN, 1), ERR_NOT_FOUND);
	cr_assert_eq(depot_put_naming(&d, ANNA, 1, (const int[]){ BEN, CARL, -1 }), ERR_OK);
	cr_expect_eq(find(&d, BEN, 1), ERR_OK);
	cr_expect_eq(find(&d, CARL, 1), ERR_NOT_FOUND);
	cr_assert_eq(add_member(&d, ANNA, 1, CARL), ERR_OK);
	cr_expect_eq(find(&d, CARL, 1), ERR_OK);
	depot_close(&d);
}

/* Adding and removing ever new players makes a bounded number of rows. */
/* Of 512 rows. */
Test(campaign, the_removed_are_bounded_and_keep_the_owner_from_nothing)
{
	struct depot d;
	int          n = 1000;

	depot_open(&d);
	cr_assert_eq(depot_put_naming(&d, ANNA, 1, (const int[]){ BEN, CARL, -1 }), ERR_OK);
	cr_assert_eq(forget(&d, BEN, 1), ERR_OK);
	for (; n < 1510; n++) {
		cr_assert_eq(add_member(&d, ANNA, 1, n), ERR_OK);
		cr_assert_eq(remove_member(&d, ANNA, 1, n), ERR_OK);
	}
	cr_expect_eq(depot_ask(&d, "SELECT count(*) FROM members"), 512);
	cr_expect_eq(depot_ask(&d, "SELECT count(*) FROM members WHERE state = 1"), 1);
	cr_assert_eq(depot_put_naming(&d, ANNA, 1, (const int[]){ 5000, -1 }), ERR_OK);
	cr_expect_eq(find(&d, 5000, 1), ERR_NOT_FOUND, "a text takes nobody's place");
	cr_expect_eq(add_member(&d, ANNA, 1, 1000), ERR_OK, "one who is known needs none");
	cr_assert_eq(remove_member(&d, ANNA, 1, 1000), ERR_OK);

	cr_expect_eq(add_member(&d, ANNA, 1, 5000), ERR_OK);
	cr_expect_eq(find(&d, 5000, 1), ERR_OK);
	cr_expect_eq(depot_ask(&d, "SELECT count(*) FROM members WHERE state = 1"), 0, "first one who left goes");
	cr_expect_eq(depot_ask(&d, "SELECT count(*) FROM members WHERE state = 2"), 510);
	cr_expect_eq(add_member(&d, ANNA, 1, 5001), ERR_OK);
	cr_expect_eq(depot_ask(&d, "SELECT count(*) FROM members WHERE state = 2"), 509, "then one who was removed");
	cr_expect_eq(depot_ask(&d, "SELECT count(*) FROM members"), 512);
	cr_expect_eq(find(&d, CARL, 1), ERR_OK, "never a member");
	depot_close(&d);
}

Test(campaign, a_deleted_one_is_gone_for_all_and_its_id_is_free)
{
	struct depot d;

	depot_open(&d);
	cr_assert_eq(depot_put_naming(&d, ANNA, 1, ben_only), ERR_OK);
	cr_assert_eq(forget(&d, ANNA, 1), ERR_OK);
	cr_expect_eq(find(&d, ANNA, 1), ERR_NOT_FOUND);
	cr_expect_eq(find(&d, BEN, 1), ERR_NOT_FOUND);
	cr_expect_eq(pick(&d, ANNA, 1, 1, false), -ERR_NOT_FOUND);
	cr_expect_eq(list_of(&d, BEN, false).count, 0);
	cr_expect_eq(depot_ask(&d, "SELECT count(*) FROM checkpoints"), 1, "it is in the trash");
	cr_assert_eq(depot_put(&d, BEN, 1, 500), ERR_OK);
	cr_expect(d.end.made);
	cr_expect_eq(find(&d, ANNA, 1), ERR_NOT_FOUND);
	depot_check_sums(&d);
	depot_close(&d);
}

Test(campaign, the_trash_is_emptied_after_seven_days_of_uptime)
{
	struct depot d;

	depot_open(&d);
	cr_assert_eq(depot_put(&d, ANNA, 1, 1000), ERR_OK);
	cr_assert_eq(forget(&d, ANNA, 1), ERR_OK);
	depot_pass_days(&d, 6);
	cr_expect_eq(depot_ask(&d, "SELECT count(*) FROM campaigns"), 1);
	depot_pass_days(&d, 1);
	cr_expect_eq(depot_ask(&d, "SELECT count(*) FROM campaigns"), 0);
	cr_expect_eq(depot_ask(&d, "SELECT count(*) FROM blob_garbage"), 1);
	depot_check_sums(&d);
	depot_close(&d);
}

Test(campaign, ten_of_one_owner_stay_in_the_trash)
{
	struct depot d;

	depot_open(&d);
	for (int i = 0; i < 11; i++) {
		cr_assert_eq(depot_put(&d, ANNA, i, 1000), ERR_OK);
		cr_assert_eq(forget(&d, ANNA, i), ERR_OK);
		cr_expect_eq(depot_ask(&d, "SELECT count(*) FROM campaigns"), i < 10 ? i + 1 : 10);
	}
	cr_expect_eq(depot_ask(&d, "SELECT count(*) FROM campaigns WHERE id = x'cc00000000000000'"), 0,
	             "the first went");
	depot_check_sums(&d);
	depot_close(&d);
}

Test(campaign, the_owner_makes_an_older_one_the_newest)
{
	struct depot          d;
	struct checkpoint_row row, first;

	depot_open(&d);
	cr_assert_eq(depot_put_naming(&d, ANNA, 1, ben_only), ERR_OK);
	first = d.end.stored;
	cr_assert_eq(depot_put(&d, BEN, 1, 5000), ERR_OK);
	cr_assert_eq(restore(&d, ANNA, 1, 1, &row), ERR_OK);
	cr_expect_eq(row.version, 3);
	cr_expect_arr_eq(row.sha256, first.sha256, BLOB_HASH_BYTES);
	cr_expect_arr_eq(row.by, depot_player(ANNA), PLAYER_ID_BYTES);
	cr_expect(row.is_small, "1000 after 5000");
	cr_expect_eq(pick(&d, BEN, 1, 0, false), 3);
	cr_expect_eq(pick(&d, BEN, 1, 1, false), 1);
	cr_assert_eq(restore(&d, ANNA, 1, 3, &row), ERR_OK);
	cr_expect_eq(row.version, 3, "it is the newest already");
	cr_expect_eq(restore(&d, ANNA, 1, 9, &row), ERR_NOT_FOUND);
	depot_check_sums(&d);
	depot_close(&d);
}

Test(campaign, restoring_needs_no_room)
{
	struct depot          d;
	struct checkpoint_row row;

	depot_open(&d);
	cr_assert_eq(depot_put(&d, ANNA, 1, 1000), ERR_OK);
	cr_assert_eq(depot_put(&d, ANNA, 1, 1000), ERR_OK);
	d.limits->cloud_player_bytes = 2000;
	cr_assert_eq(restore(&d, ANNA, 1, 1, &row), ERR_OK);
	cr_expect_eq(row.version, 3);
	cr_expect_eq(pick(&d, ANNA, 1, 1, false), -ERR_NOT_FOUND, "its row went instead");
	cr_expect_eq(pick(&d, ANNA, 1, -1, false), 2);
	cr_expect_eq(depot_ask(&d, "SELECT bytes FROM cloud_totals"), 2000);
	cr_expect_eq(depot_ask(&d, "SELECT count(*) FROM blobs"), 2);
	depot_check_sums(&d);
	depot_close(&d);
}

Test(campaign, unused_ones_are_marked_and_go_seven_days_later)
{
	struct depot d;

	depot_open(&d);
	cr_assert_eq(depot_put(&d, ANNA, 1, 1000), ERR_OK);
	cr_assert_eq(depot_put(&d, ANNA, 2, 1000), ERR_OK);
	depot_pass_days(&d, 180);
	cr_expect_eq(depot_ask(&d, "SELECT count(*) FROM campaign_list WHERE marked = 'yes'"), 2);
	depot_pass_days(&d, 6);
	cr_assert_eq(load(&d, ANNA, 2), ERR_OK);
	cr_expect_eq(find(&d, ANNA, 1), ERR_OK);
	depot_pass_days(&d, 1);
	cr_expect_eq(find(&d, ANNA, 1), ERR_NOT_FOUND);
	cr_expect_eq(find(&d, ANNA, 2), ERR_OK, "a download is a use");
	depot_check_sums(&d);
	depot_close(&d);
}

Test(campaign, a_doubted_clock_removes_nothing)
{
	struct depot d;
	bool         more;

	depot_open(&d);
	cr_assert_eq(depot_put(&d, ANNA, 1, 1000), ERR_OK);
	cr_assert_eq(forget(&d, ANNA, 1), ERR_OK);
	depot_pass_days(&d, 6);
	d.wall_ms += 400 * DEPOT_DAY;
	d.mono_ms += 1000;
	cr_assert_eq(DEPOT_JOB(&d, campaign_sweep(&more, d.db, d.wall_ms, d.mono_ms, d.limits)), ERR_OK);
	depot_pass(&d, DEPOT_DAY - 2000);
	cr_assert_eq(DEPOT_JOB(&d, campaign_sweep(&more, d.db, d.wall_ms, d.mono_ms, d.limits)), ERR_OK);
	cr_expect_not(more);
	cr_expect_eq(depot_ask(&d, "SELECT count(*) FROM campaigns"), 1);
	depot_pass_days(&d, 2);
	cr_expect_eq(depot_ask(&d, "SELECT count(*) FROM campaigns"), 0);
	depot_close(&d);
}

Test(campaign, a_sweep_removes_a_bounded_number_and_says_so)
{
	struct depot d;
	bool         more = false;

	depot_open(&d);
	for (int i = 0; i < 60; i++)
		cr_assert_eq(depot_put(&d, 100 + i / 10, i, 1000), ERR_OK);
	data_exec(d.db, "UPDATE campaigns SET trashed_ms = 0, trashed_day = 0");
	depot_pass_days(&d, 5);
	depot_pass(&d, DEPOT_DAY);
	cr_assert_eq(DEPOT_JOB(&d, campaign_sweep(&more, d.db, d.wall_ms, d.mono_ms, d.limits)), ERR_OK);
	cr_expect(more);
	cr_expect_eq(depot_ask(&d, "SELECT count(*) FROM campaigns"), 10, "each is a campaign and a checkpoint");
	cr_assert_eq(DEPOT_JOB(&d, campaign_sweep(&more, d.db, d.wall_ms, d.mono_ms, d.limits)), ERR_OK);
	cr_expect_not(more);
	cr_expect_eq(depot_ask(&d, "SELECT count(*) FROM campaigns"), 0);
	depot_close(&d);
}

/* A player who stored once and has nothing any more is forgotten; one with a code keeps it. */
Test(campaign, players_of_whom_nothing_is_left_are_forgotten)
{
	struct depot      d;
	struct player_row row = { .code = 123456 };

	depot_open(&d);
	memcpy(row.digest, depot_player(BEN), sizeof(row.digest));
	row.used_ms = d.wall_ms;
	cr_assert_eq(depot_put(&d, ANNA, 1, 1000), ERR_OK);
	cr_assert_eq(depot_put(&d, BEN, 2, 1000), ERR_OK);
	cr_assert_eq(depot_put(&d, CARL, 3, 1000), ERR_OK);
	cr_assert_eq(DEPOT_JOB(&d, player_add(d.db, &row, depot_addr(1))), ERR_OK, "one who stored gets a code");
	cr_assert_eq(forget(&d, ANNA, 1), ERR_OK);
	cr_assert_eq(forget(&d, BEN, 2), ERR_OK);
	depot_pass_days(&d, 61);
	cr_expect_eq(depot_ask(&d, "SELECT count(*) FROM players"), 2);
	cr_expect_eq(depot_ask(&d, "SELECT count(*) FROM holders"), 1);
	cr_expect_eq(depot_ask(&d, "SELECT count(*) FROM codes JOIN players ON id = player"), 1);
	depot_close(&d);
}

/* The code of an owner expires; he stays, with his campaigns. */
Test(campaign, an_owner_outlives_his_code)
{
	struct depot        d;
	struct player_row   row   = { .code = 123456 };
	struct player_sweep rules = { .code_days = 60, .marked_days = 7, .spare_percent = 80, .spare_ms = 1 };
	uint8_t            *digests;
	size_t              count, removed = 0;

	depot_open(&d);
	memcpy(row.digest, depot_player(ANNA), sizeof(row.digest));
	row.used_ms = d.wall_ms;
	cr_assert_eq(DEPOT_JOB(&d, player_add(d.db, &row, depot_addr(1))), ERR_OK);
	cr_assert_eq(depot_put(&d, ANNA, 1, 1000), ERR_OK);
	for (int i = 0; i < 68; i++) {
		depot_pass(&d, DEPOT_DAY);
		rules.wall_ms = d.wall_ms;
		rules.mono_ms = d.mono_ms;
		cr_assert_eq(DEPOT_JOB(&d, player_sweep(&digests, &count, d.db, &rules)), ERR_OK);
		removed += count;
		free(digests);
	}
	cr_expect_eq(removed, 1);
	cr_expect_eq(depot_ask(&d, "SELECT count(*) FROM codes"), 0);
	cr_expect_eq(find(&d, ANNA, 1), ERR_OK);
	row.used_ms = d.wall_ms;
	cr_expect_eq(DEPOT_JOB(&d, player_touch(d.db, &row)), ERR_OK, "and gets one again");
	depot_close(&d);
}

Test(campaign, another_key_with_the_same_id_is_refused)
{
	struct depot d;
	int64_t      made_ms;
	uint8_t      other[PLAYER_DIGEST_BYTES];

	depot_open(&d);
	cr_assert_eq(depot_put(&d, ANNA, 1, 1000), ERR_OK);
	memcpy(other, depot_player(ANNA), sizeof(other));
	cr_expect_eq(player_find(&made_ms, d.db, other), ERR_OK);
	other[31] = 1;
	cr_expect_eq(player_find(&made_ms, d.db, other), ERR_NOT_ALLOWED);
	memcpy(d.begin.digest, other, sizeof(other));
	depot_pass(&d, DEPOT_DAY);
	d.begin.mono_ms = d.mono_ms;
	cr_expect_eq(DEPOT_JOB(&d, upload_begin(&d.begin, d.db, d.limits)), ERR_NOT_ALLOWED);
	depot_close(&d);
}

Test(campaign, gauges_show_what_there_is)
{
	struct depot d;

	depot_open(&d);
	cr_assert_eq(depot_put(&d, ANNA, 1, 1000), ERR_OK);
	cr_assert_eq(depot_put(&d, ANNA, 2, 500), ERR_OK);
	cr_expect_eq(metric_get(M_CLOUD_CAMPAIGNS), 2);
	cr_expect_eq(metric_get(M_CLOUD_BYTES), 1500);
	cr_assert_eq(forget(&d, ANNA, 2), ERR_OK);
	cr_expect_eq(metric_get(M_CLOUD_CAMPAIGNS), 1);
	cr_expect_eq(metric_get(M_CLOUD_BYTES), 1000);
	depot_close(&d);
}

Test(campaign, views_answer_peoples_questions)
{
	struct depot d;

	depot_open(&d);
	cr_assert_eq(depot_put_naming(&d, ANNA, 1, (const int[]){ BEN, CARL, -1 }), ERR_OK);
	cr_assert_eq(depot_put(&d, ANNA, 2, 500), ERR_OK);
	cr_assert_eq(forget(&d, CARL, 1), ERR_OK);
	cr_assert_eq(forget(&d, ANNA, 2), ERR_OK);
	cr_expect_eq(depot_ask(&d, "SELECT count(*) FROM access"), 2);
	cr_expect_eq(depot_ask(&d, "SELECT count(*) FROM access WHERE campaign = 'cc00000001000000'"
	                           " AND player = 'aa00000001000000' AND role = 'member'"),
	             1);
	cr_expect_eq(depot_ask(&d, "SELECT bytes FROM quota_use WHERE player = 'aa00000000000000'"), 1000);
	cr_expect_eq(depot_ask(&d, "SELECT count(*) FROM campaign_trash WHERE campaign = 'cc00000002000000'"), 1);
	cr_expect_eq(depot_ask(&d, "SELECT version FROM campaign_list WHERE campaign = 'cc00000001000000'"), 1);
	cr_expect_eq(depot_ask(&d, "SELECT count(*) FROM stored_today WHERE stored < datetime('now', 'start of day')"),
	             0);
	data_exec(d.db, "UPDATE checkpoints SET stored_ms = unixepoch('now') * 1000");
	cr_expect_eq(depot_ask(&d, "SELECT count(*) FROM stored_today"), 1);
	depot_close(&d);
}
