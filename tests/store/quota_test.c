/*
 * Quotas on the database: each limit at it and one past it, what is shed for whom, and one player or address that takes
 * all it can.
 */
#include "store/campaign.h"

#include "base/metric.h"
#include "support/data_folder.h"
#include "support/depot.h"

#include <criterion/criterion.h>
#include <string.h>

enum { ANNA, BEN, CARL };

static const int ben_only[] = { BEN, -1 };

static struct quota_figures figures(struct depot *d, int player)
{
	struct quota_figures f;

	cr_assert_eq(quota_figures(&f, d->db, depot_player(player), d->limits), ERR_OK);
	return f;
}

static enum err set_player(struct depot *d, int player, int64_t campaigns, int64_t bytes, int64_t checkpoint)
{
	struct quota_override o = { campaigns, bytes, checkpoint };

	return DEPOT_JOB(d, quota_set_player(d->db, depot_player(player), &o));
}

static enum err set_campaign(struct depot *d, int campaign, int64_t bytes, int64_t checkpoint)
{
	struct quota_override o = { -1, bytes, checkpoint };

	return DEPOT_JOB(d, quota_set_campaign(d->db, depot_campaign(campaign), &o));
}

static enum err forget(struct depot *d, int player, int campaign)
{
	return DEPOT_JOB(d, campaign_forget(d->db, depot_campaign(campaign), depot_player(player), d->wall_ms));
}

/* Everybody is long known, so that no address is charged. */
static void know(struct depot *d)
{
	d->limits->cloud_young_days = 0;
}

Test(quota, ten_campaigns_and_no_eleventh)
{
	struct depot d;

	depot_open(&d);
	for (int i = 0; i < 10; i++)
		cr_assert_eq(depot_put(&d, ANNA, i, 1000), ERR_OK);
	cr_expect_eq(depot_put(&d, ANNA, 10, 1000), ERR_CAMPAIGNS);
	cr_expect_eq(depot_put(&d, ANNA, 9, 1000), ERR_OK, "but more of those he has");
	cr_assert_eq(forget(&d, ANNA, 3), ERR_OK);
	cr_expect_eq(depot_put(&d, ANNA, 10, 1000), ERR_OK);
	cr_expect_eq(figures(&d, ANNA).campaigns, 10);
	cr_expect_eq(figures(&d, ANNA).campaigns_max, 10);
	depot_check_sums(&d);
	depot_close(&d);
}

Test(quota, new_campaigns_under_way_count)
{
	struct depot d;

	depot_open(&d);
	d.limits->cloud_interval_ms = 0;
	for (int i = 0; i < 9; i++)
		cr_assert_eq(depot_put(&d, ANNA, i, 1000), ERR_OK);
	cr_assert_eq(depot_begin(&d, ANNA, 9, 1000), ERR_OK);
	int64_t id = d.begin.id;
	cr_expect_eq(depot_begin(&d, ANNA, 10, 1000), ERR_CAMPAIGNS);
	cr_expect_eq(depot_begin(&d, ANNA, 9, 1000), ERR_OK, "the same one twice is one");
	cr_assert_eq(DEPOT_JOB(&d, upload_cancel(d.db, d.begin.id)), ERR_OK);
	cr_assert_eq(set_player(&d, ANNA, 9, -1, -1), ERR_OK);
	cr_expect_eq(depot_end(&d, id, 1000), ERR_CAMPAIGNS, "and again at the end");
	depot_close(&d);
}

Test(quota, sixteen_mebibytes_and_not_one_more)
{
	struct depot d;

	depot_open(&d);
	cr_expect_eq(depot_put(&d, ANNA, 1, 16 * DEPOT_MIB + 1), ERR_TOO_BIG);
	cr_expect_eq(depot_put(&d, ANNA, 1, 16 * DEPOT_MIB), ERR_OK);
	depot_close(&d);
}

Test(quota, bytes_of_one_player)
{
	struct depot d;

	depot_open(&d);
	know(&d);
	d.limits->cloud_player_bytes = 4000;
	cr_assert_eq(depot_put_naming(&d, ANNA, 1, ben_only), ERR_OK);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(depot_put(&d, BEN, 1, 1000), ERR_OK);
	cr_expect_eq(depot_put(&d, ANNA, 2, 1001), ERR_QUOTA);
	cr_expect_eq(depot_put(&d, ANNA, 2, 1000), ERR_OK);
	cr_expect_eq(figures(&d, ANNA).bytes, 4000);
	cr_expect_eq(figures(&d, ANNA).bytes_max, 4000);
	cr_expect_eq(depot_put(&d, BEN, 1, 1), ERR_QUOTA, "they are the owner's bytes, whoever stores");
	depot_close(&d);
}

Test(quota, bytes_of_all)
{
	struct depot d;

	depot_open(&d);
	know(&d);
	d.limits->cloud_total         = DEPOT_MIB;
	d.limits->cloud_spare_percent = 25;
	cr_assert_eq(depot_put(&d, ANNA, 1, DEPOT_MIB / 4), ERR_OK);
	cr_assert_eq(depot_put(&d, BEN, 2, DEPOT_MIB / 4), ERR_OK);
	cr_expect_eq(depot_put(&d, CARL, 3, DEPOT_MIB / 4 + 1), ERR_QUOTA, "a quarter is for those who are there");
	cr_expect_eq(depot_put(&d, CARL, 3, DEPOT_MIB / 4), ERR_OK);
	cr_expect_eq(depot_put(&d, ANNA, 1, DEPOT_MIB / 4 + 1), ERR_QUOTA);
	cr_expect_eq(depot_put(&d, ANNA, 1, DEPOT_MIB / 4), ERR_OK);
	cr_expect_eq(depot_put(&d, ANNA, 1, 1), ERR_QUOTA, "the one that would be pushed out counts, and none can go");
	depot_check_sums(&d);
	depot_close(&d);
}

Test(quota, the_largest_holder_sheds_first_and_nobody_loses_two)
{
	struct depot d;
	int64_t      shed = metric_get(M_CLOUD_SHED);

	depot_open(&d);
	know(&d);
	for (int i = 0; i < 4; i++)
		cr_assert_eq(depot_put(&d, BEN, 2, 3000), ERR_OK);
	cr_assert_eq(depot_put_naming(&d, ANNA, 1, ben_only), ERR_OK);
	cr_assert_eq(depot_put(&d, ANNA, 1, 1000), ERR_OK);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(depot_put(&d, BEN, 1, 1000), ERR_OK);
	cr_expect_eq(depot_ask(&d, "SELECT spare FROM cloud_totals"), 6000 + 1000);

	d.limits->cloud_total         = 17000 + 500;
	d.limits->cloud_spare_percent = 0;
	cr_assert_eq(depot_put(&d, CARL, 3, 3000), ERR_OK);
	cr_expect_eq(metric_get(M_CLOUD_SHED), shed + 1);
	cr_expect_eq(figures(&d, BEN).bytes, 9000, "he held most");
	cr_expect_eq(figures(&d, ANNA).bytes, 5000);
	cr_expect_eq(depot_put(&d, CARL, 3, 4501), ERR_QUOTA, "more than all that can be shed");
	cr_expect_eq(metric_get(M_CLOUD_SHED), shed + 1, "nobody loses anything for nothing");
	cr_assert_eq(depot_put(&d, CARL, 3, 4500), ERR_OK);
	cr_expect_eq(figures(&d, BEN).bytes, 6000);
	cr_expect_eq(figures(&d, ANNA).bytes, 4000, "her last two and the newest two");
	cr_expect_eq(depot_ask(&d, "SELECT spare FROM cloud_totals"), 0);
	depot_check_sums(&d);
	depot_close(&d);
}

Test(quota, the_trash_goes_before_anything_else_oldest_first)
{
	struct depot d;

	depot_open(&d);
	know(&d);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(depot_put(&d, ANNA, 1, 1000), ERR_OK);
	cr_assert_eq(depot_put(&d, BEN, 2, 1000), ERR_OK);
	cr_assert_eq(depot_put(&d, BEN, 3, 1000), ERR_OK);
	cr_assert_eq(forget(&d, BEN, 3), ERR_OK);
	depot_pass(&d, 1);
	cr_assert_eq(forget(&d, BEN, 2), ERR_OK);
	d.limits->cloud_total         = 5500;
	d.limits->cloud_spare_percent = 0;
	cr_assert_eq(depot_put(&d, CARL, 4, 1000), ERR_OK);
	cr_expect_eq(depot_ask(&d, "SELECT count(*) FROM campaign_trash"), 1);
	cr_expect_eq(depot_ask(&d, "SELECT count(*) FROM campaign_trash WHERE campaign = 'cc00000002000000'"), 1);
	cr_expect_eq(figures(&d, ANNA).bytes, 3000);
	depot_check_sums(&d);
	depot_close(&d);
}

/* The owner's room is not used up by what a member stores. */
Test(quota, a_member_cannot_fill_the_owners_quota)
{
	struct depot d;

	depot_open(&d);
	know(&d);
	cr_assert_eq(depot_put_naming(&d, ANNA, 1, ben_only), ERR_OK);
	for (int i = 0; i < 20; i++)
		cr_assert_eq(depot_put(&d, BEN, 1, 16 * DEPOT_MIB), ERR_OK);
	cr_expect_eq(depot_put(&d, ANNA, 2, 16 * DEPOT_MIB), ERR_OK);
	for (int i = 0; i < 9; i++)
		cr_expect_eq(depot_put(&d, ANNA, 3, 16 * DEPOT_MIB), ERR_OK);
	cr_expect_leq(figures(&d, ANNA).bytes, figures(&d, ANNA).bytes_max);
	depot_check_sums(&d);
	depot_close(&d);
}

/* What a member stored today goes before the last of an earlier day, and of the same kind the oldest. */
Test(quota, the_newest_of_a_day_is_shed_last)
{
	static const int64_t order[] = { 4, 5, 1 };
	struct depot         d;

	depot_open(&d);
	know(&d);
	cr_assert_eq(depot_put_naming(&d, ANNA, 1, ben_only), ERR_OK);
	depot_pass(&d, DEPOT_DAY);
	for (int i = 2; i <= 3; i++)
		cr_assert_eq(depot_put(&d, ANNA, 1, 1000), ERR_OK);
	for (int i = 4; i <= 7; i++)
		cr_assert_eq(depot_put(&d, BEN, 1, 1000), ERR_OK);
	d.limits->cloud_checkpoint = 1;
	for (int i = 0; i < 3; i++) {
		d.limits->cloud_total = 1 + figures(&d, ANNA).bytes - 1000;
		depot_sweep(&d);
		for (int64_t version = 1; version <= 7; version++) {
			struct checkpoint_row row;
			bool                  gone = false;

			for (int n = 0; n <= i; n++)
				gone = gone || order[n] == version;
			cr_expect_eq(campaign_pick(&row, d.db, depot_campaign(1), depot_player(ANNA), version, false),
			             gone ? ERR_NOT_FOUND : ERR_OK, "%d after %d", (int)version, i);
		}
	}
	cr_expect_eq(depot_ask(&d, "SELECT spare FROM cloud_totals"), 0);
	depot_close(&d);
}

Test(quota, the_sweep_keeps_room_for_the_largest)
{
	struct depot d;

	depot_open(&d);
	know(&d);
	for (int i = 0; i < 5; i++)
		cr_assert_eq(depot_put(&d, ANNA, 1, 10000), ERR_OK);
	d.limits->cloud_checkpoint = 15000;
	d.limits->cloud_total      = 65000;
	depot_sweep(&d);
	cr_expect_eq(figures(&d, ANNA).bytes, 50000);
	d.limits->cloud_total = 64999;
	depot_sweep(&d);
	cr_expect_eq(figures(&d, ANNA).bytes, 40000);
	d.limits->cloud_total = 15000;
	depot_sweep(&d);
	cr_expect_eq(figures(&d, ANNA).bytes, 20000, "never the last two");
	depot_close(&d);
}

Test(quota, reservations_of_one_address)
{
	struct depot d;

	depot_open(&d);
	know(&d);
	d.limits->cloud_reserved_address = 3000;
	cr_assert_eq(depot_begin(&d, ANNA, 1, 2000), ERR_OK);
	int64_t id = d.begin.id;
	cr_expect_eq(depot_begin(&d, BEN, 2, 1001), ERR_LIMIT);
	cr_expect_eq(depot_begin(&d, BEN, 2, 1000), ERR_OK);
	d.addr = 1;
	cr_expect_eq(depot_begin(&d, CARL, 3, 1001), ERR_OK, "another address");
	d.addr   = 0;
	d.exempt = true;
	cr_expect_eq(depot_begin(&d, 7, 4, 1001), ERR_OK, "one that does not count");
	d.exempt = false;
	cr_assert_eq(DEPOT_JOB(&d, upload_cancel(d.db, id)), ERR_OK);
	cr_expect_eq(depot_begin(&d, 8, 5, 2000), ERR_OK);
	cr_expect_eq(depot_begin(&d, 9, 6, 1), ERR_LIMIT);
	depot_close(&d);
}

Test(quota, reservations_are_at_most_a_tenth_of_the_total)
{
	struct depot d;

	depot_open(&d);
	know(&d);
	d.limits->cloud_total = 100000;
	for (int i = 0; i <= 11; i++)
		cr_assert_eq(depot_put(&d, i, i, 1), ERR_OK);
	depot_pass(&d, 10000);
	for (int i = 0; i < 9; i++) {
		d.addr = i;
		cr_assert_eq(depot_begin(&d, i, i, 1000), ERR_OK);
	}
	d.addr = 10;
	cr_expect_eq(depot_begin(&d, 10, 10, 1001), ERR_LIMIT);
	cr_expect_eq(depot_begin(&d, 10, 10, 1000), ERR_OK);
	cr_expect_eq(depot_begin(&d, 11, 11, 1), ERR_LIMIT);
	depot_close(&d);
}

/* "64 parallel uploads against a quota with room for 10". */
Test(quota, of_many_at_once_as_many_succeed_as_there_is_room_for)
{
	struct depot d;
	int64_t      ids[64];
	int          begun = 0;

	depot_open(&d);
	know(&d);
	d.limits->cloud_interval_ms  = 0;
	d.limits->cloud_player_bytes = 10999;
	for (int i = 0; i < 64; i++) {
		if (depot_begin(&d, ANNA, 1, 1000) == ERR_OK)
			ids[begun++] = d.begin.id;
	}
	cr_assert_eq(begun, 10);
	for (int i = 0; i < begun; i++)
		cr_expect_eq(depot_end(&d, ids[i], 1000), ERR_OK);
	cr_expect_eq(d.end.stored.version, 10);
	depot_close(&d);
}

Test(quota, bytes_of_the_young_players_of_one_address)
{
	struct depot d;

	depot_open(&d);
	d.limits->cloud_young_bytes = 3000;
	cr_assert_eq(depot_put(&d, ANNA, 1, 1000), ERR_OK);
	cr_assert_eq(depot_put(&d, BEN, 2, 1000), ERR_OK);
	cr_expect_eq(depot_put(&d, CARL, 3, 1001), ERR_QUOTA);
	cr_assert_eq(depot_begin(&d, CARL, 3, 1000), ERR_OK);
	int64_t id = d.begin.id;
	cr_expect_eq(depot_begin(&d, 5, 4, 1), ERR_QUOTA, "what is under way counts");
	cr_assert_eq(depot_end(&d, id, 1000), ERR_OK);
	d.addr = 1;
	cr_expect_eq(depot_put(&d, 5, 4, 1000), ERR_OK, "another address");
	cr_expect_eq(depot_put(&d, ANNA, 1, 1), ERR_QUOTA, "hers stays the one she first stored from");
	depot_pass(&d, 7 * DEPOT_DAY);
	cr_expect_eq(depot_put(&d, ANNA, 1, 1000), ERR_OK, "she is no longer young");
	depot_sweep(&d);
	cr_expect_eq(depot_ask(&d, "SELECT count(*) FROM holders WHERE addr IS NOT NULL"), 0,
	             "and addresses are forgotten");
	depot_close(&d);
}

Test(quota, a_first_upload_counts_as_a_new_player_of_its_address)
{
	struct depot      d;
	struct player_row row = { .code = 123456 };

	depot_open(&d);
	d.limits->tunnel_new_per_address = 2;
	d.limits->tunnel_new_total       = 4;
	row.used_ms                      = d.wall_ms;
	memcpy(row.digest, depot_player(CARL), sizeof(row.digest));
	cr_assert_eq(DEPOT_JOB(&d, player_add(d.db, &row, depot_addr(0))), ERR_OK);
	cr_assert_eq(depot_put(&d, ANNA, 1, 1000), ERR_OK);
	cr_expect_eq(depot_put(&d, BEN, 2, 1000), ERR_NO_ROOM);
	cr_expect_eq(depot_put(&d, CARL, 3, 1000), ERR_OK, "he has a code");
	cr_expect_eq(depot_put(&d, ANNA, 1, 1000), ERR_OK);
	d.addr = 1;
	cr_expect_eq(depot_put(&d, BEN, 2, 1000), ERR_OK);
	d.addr   = 0;
	d.exempt = true;
	cr_expect_eq(depot_put(&d, 5, 5, 1000), ERR_OK, "an address that does not count");
	cr_expect_eq(depot_put(&d, 6, 6, 1000), ERR_NO_ROOM, "but all together do");
	depot_pass(&d, 3600000);
	cr_expect_eq(depot_put(&d, 6, 6, 1000), ERR_OK, "an hour later");
	depot_close(&d);
}

/* Safety 18: whatever fresh keys do, those who were there before go on. */
Test(quota, five_hundred_fresh_keys_leave_the_older_campaigns_alone)
{
	struct depot d;
	int          accepted = 0;

	depot_open(&d);
	d.limits->cloud_total = 256 * DEPOT_MIB;
	for (int i = 0; i < 10; i++) {
		d.addr = 100 + i;
		for (int n = 0; n < 2; n++)
			cr_assert_eq(depot_put(&d, 1000 + i, 1000 + i, 2 * DEPOT_MIB), ERR_OK);
	}
	depot_pass(&d, 8 * DEPOT_DAY);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 500; i++) {
			d.addr = i % 5;
			if (depot_put(&d, i, i, 16 * DEPOT_MIB) == ERR_OK)
				accepted++;
		}
		depot_pass(&d, 3600000);
	}
	cr_expect_gt(accepted, 5);
	for (int n = 0; n < 3; n++) {
		for (int i = 0; i < 10; i++) {
			d.addr = 100 + i;
			cr_expect_eq(depot_put(&d, 1000 + i, 1000 + i, 2 * DEPOT_MIB), ERR_OK, "%d of %d", n, i);
		}
	}
	cr_expect_leq(depot_ask(&d, "SELECT bytes + trash FROM cloud_totals"), 256 * DEPOT_MIB);
	depot_check_sums(&d);
	depot_close(&d);
}

Test(quota, rows_override_the_defaults_for_one_player)
{
	struct depot          d;
	struct quota_override o;

	depot_open(&d);
	cr_expect_eq(quota_get_player(&o, d.db, depot_player(ANNA)), ERR_NOT_FOUND);
	cr_assert_eq(set_player(&d, ANNA, 1, 5000, 3000), ERR_OK);
	cr_assert_eq(quota_get_player(&o, d.db, depot_player(ANNA)), ERR_OK);
	cr_expect_eq(o.campaigns, 1);
	cr_expect_eq(figures(&d, ANNA).campaigns_max, 1);
	cr_expect_eq(figures(&d, ANNA).bytes_max, 5000);
	cr_expect_eq(figures(&d, ANNA).checkpoint_max, 3000);
	cr_expect_eq(depot_put(&d, ANNA, 1, 3001), ERR_TOO_BIG);
	cr_expect_eq(depot_put(&d, ANNA, 1, 3000), ERR_OK);
	cr_expect_eq(depot_put(&d, ANNA, 2, 1), ERR_CAMPAIGNS);
	cr_expect_eq(depot_put(&d, ANNA, 1, 2001), ERR_QUOTA);
	cr_expect_eq(depot_put(&d, ANNA, 1, 2000), ERR_OK);

	cr_assert_eq(set_player(&d, ANNA, -1, 5000, -1), ERR_OK);
	cr_assert_eq(quota_get_player(&o, d.db, depot_player(ANNA)), ERR_OK);
	cr_expect_eq(o.campaigns, -1);
	cr_expect_eq(figures(&d, ANNA).campaigns_max, d.limits->cloud_campaigns);
	cr_assert_eq(set_player(&d, ANNA, -1, -1, -1), ERR_OK);
	cr_expect_eq(quota_get_player(&o, d.db, depot_player(ANNA)), ERR_NOT_FOUND);
	cr_expect_eq(depot_put(&d, ANNA, 2, 3001), ERR_OK);
	depot_close(&d);
}

Test(quota, rows_override_the_defaults_for_one_campaign)
{
	struct depot          d;
	struct quota_override o;

	depot_open(&d);
	cr_expect_eq(quota_get_campaign(&o, d.db, depot_campaign(1)), ERR_NOT_FOUND);
	cr_assert_eq(set_campaign(&d, 1, 5000, 32 * DEPOT_MIB), ERR_OK);
	cr_expect_eq(depot_put(&d, ANNA, 1, 5001), ERR_QUOTA);
	cr_assert_eq(depot_put(&d, ANNA, 1, 2500), ERR_OK);
	cr_assert_eq(depot_put(&d, ANNA, 1, 2500), ERR_OK);
	cr_expect_eq(depot_put(&d, ANNA, 1, 1), ERR_QUOTA);
	cr_assert_eq(set_campaign(&d, 1, -1, 32 * DEPOT_MIB), ERR_OK);
	cr_assert_eq(quota_get_campaign(&o, d.db, depot_campaign(1)), ERR_OK);
	cr_expect_eq(o.bytes, -1);
	cr_expect_eq(depot_put(&d, ANNA, 1, 32 * DEPOT_MIB + 1), ERR_TOO_BIG);
	cr_expect_eq(depot_put(&d, ANNA, 1, 32 * DEPOT_MIB), ERR_OK);
	cr_expect_eq(depot_put(&d, ANNA, 2, 16 * DEPOT_MIB + 1), ERR_TOO_BIG, "another campaign");
	cr_assert_eq(set_campaign(&d, 1, -1, -1), ERR_OK);
	cr_expect_eq(quota_get_campaign(&o, d.db, depot_campaign(1)), ERR_NOT_FOUND);
	depot_close(&d);
}
