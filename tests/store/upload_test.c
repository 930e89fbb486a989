/*
 * Uploads from begin to end: rights, matches, the 10 s, what happens in between, conflicts, thinning.
 */
#include "store/campaign.h"

#include "base/auto.h"
#include "base/metric.h"
#include "support/data_folder.h"
#include "support/depot.h"

#include <criterion/criterion.h>
#include <string.h>

enum { ANNA, BEN, CARL };

static const int ben_only[] = { BEN, -1 };

/* What the next begin expects of the newest. */
static void match(struct depot *d, const struct checkpoint_row *row, bool keep_both)
{
	d->begin.match = (struct upload_match){ UPLOAD_IF_NEWEST, row->version, { 0 } };
	memcpy(d->begin.match.hash8, row->sha256, sizeof(d->begin.match.hash8));
	d->begin.keep_both = keep_both;
}

static void match_none(struct depot *d)
{
	d->begin.match     = (struct upload_match){ .kind = UPLOAD_IF_NONE };
	d->begin.keep_both = false;
}

static void match_any(struct depot *d)
{
	d->begin.match     = (struct upload_match){ .kind = UPLOAD_ANY };
	d->begin.keep_both = false;
}

static enum err forget(struct depot *d, int player, int campaign)
{
	return DEPOT_JOB(d, campaign_forget(d->db, depot_campaign(campaign), depot_player(player), d->wall_ms));
}

static int64_t newest(struct depot *d, int player, int campaign)
{
	struct campaign_row row;
	enum err            e = campaign_find(&row, d->db, depot_campaign(campaign), depot_player(player));

	return e == ERR_OK ? row.newest.version : -(int64_t)e;
}

static bool is_there(struct depot *d, int player, int campaign, int64_t version)
{
	struct checkpoint_row row;

	return campaign_pick(&row, d->db, depot_campaign(campaign), depot_player(player), version, false) == ERR_OK;
}

Test(upload, ten_seconds_between_accepted_ones)
{
	struct depot d;

	depot_open(&d);
	cr_assert_eq(depot_put(&d, ANNA, 1, 1000), ERR_OK);
	depot_pass(&d, 9999);
	cr_expect_eq(depot_begin(&d, ANNA, 1, 1000), ERR_TOO_SOON);
	cr_expect_eq(d.begin.retry_ms, 1);
	cr_expect_eq(depot_begin(&d, ANNA, 2, 1000), ERR_TOO_SOON, "also for another campaign");
	cr_expect_eq(depot_begin(&d, BEN, 2, 1000), ERR_OK, "not for another player");
	depot_pass(&d, 1);
	cr_expect_eq(depot_begin(&d, ANNA, 1, 1000), ERR_OK, "refusals did not begin them anew");
	cr_assert_eq(DEPOT_JOB(&d, upload_cancel(d.db, d.begin.id)), ERR_OK);
	depot_pass(&d, 9999);
	cr_expect_eq(depot_begin(&d, ANNA, 1, 1000), ERR_TOO_SOON, "whatever became of the upload");
	depot_close(&d);
}

Test(upload, the_ten_seconds_are_monotonic_and_can_be_switched_off)
{
	struct depot d;

	depot_open(&d);
	cr_assert_eq(depot_put(&d, ANNA, 1, 1000), ERR_OK);
	d.wall_ms += 5000000;
	cr_expect_eq(depot_begin(&d, ANNA, 1, 1000), ERR_TOO_SOON);
	d.limits->cloud_interval_ms = 0;
	for (int i = 0; i < 3; i++)
		cr_expect_eq(depot_begin(&d, ANNA, 1, 1000), ERR_OK);
	depot_close(&d);
}

Test(upload, not_allowed_then_too_big_then_too_soon)
{
	struct depot d;

	depot_open(&d);
	cr_assert_eq(depot_put(&d, ANNA, 1, 1000), ERR_OK);
	cr_assert_eq(depot_put(&d, BEN, 2, 1000), ERR_OK);
	cr_expect_eq(depot_begin(&d, BEN, 1, d.limits->cloud_checkpoint + 1), ERR_NOT_ALLOWED);
	cr_expect_eq(depot_begin(&d, BEN, 2, d.limits->cloud_checkpoint + 1), ERR_TOO_BIG);
	cr_expect_eq(depot_begin(&d, BEN, 2, d.limits->cloud_checkpoint), ERR_TOO_SOON);
	depot_close(&d);
}

/* What a job did with reservations is not undone with it. */
Test(upload, a_reservation_is_given_back_whatever_happens)
{
	struct depot d;

	depot_open(&d);
	cr_assert_eq(depot_begin(&d, ANNA, 1, 1000), ERR_OK);
	cr_expect_eq(metric_get(M_CLOUD_RESERVED_BYTES), 1000);
	int64_t id = d.begin.id;
	cr_assert_eq(depot_put(&d, BEN, 1, 1000), ERR_OK);
	cr_expect_eq(depot_end(&d, id, 1000), ERR_NOT_ALLOWED);
	cr_expect_eq(metric_get(M_CLOUD_RESERVED_BYTES), 0);
	cr_expect_eq(depot_end(&d, id, 1000), ERR_NOT_FOUND);
	cr_expect_eq(DEPOT_JOB(&d, upload_cancel(d.db, id)), ERR_OK);
	cr_expect_eq(DEPOT_JOB(&d, upload_grow(d.db, id, 1, d.limits)), ERR_NOT_FOUND);
	depot_close(&d);
}

Test(upload, an_upload_of_a_deleted_campaign_is_gone)
{
	struct depot d;

	depot_open(&d);
	cr_assert_eq(depot_put_naming(&d, ANNA, 1, ben_only), ERR_OK);
	depot_pass(&d, 10000);
	cr_assert_eq(depot_begin(&d, BEN, 1, 1000), ERR_OK);
	cr_assert_eq(forget(&d, ANNA, 1), ERR_OK);
	cr_expect_eq(depot_end(&d, d.begin.id, 1000), ERR_GONE);
	depot_pass(&d, 10000);
	cr_assert_eq(depot_put(&d, ANNA, 2, 1000), ERR_OK);
	depot_pass(&d, 10000);
	cr_assert_eq(depot_begin(&d, ANNA, 2, 1000), ERR_OK);
	int64_t id = d.begin.id;
	cr_assert_eq(forget(&d, ANNA, 2), ERR_OK);
	cr_assert_eq(depot_put(&d, ANNA, 2, 1000), ERR_OK);
	cr_expect_eq(depot_end(&d, id, 1000), ERR_GONE, "another campaign of the same id, even of the same owner");
	depot_close(&d);
}

Test(upload, a_removed_member_cannot_end_what_he_began)
{
	struct depot d;

	depot_open(&d);
	cr_assert_eq(depot_put_naming(&d, ANNA, 1, ben_only), ERR_OK);
	depot_pass(&d, 10000);
	cr_assert_eq(depot_begin(&d, BEN, 1, 1000), ERR_OK);
	cr_assert_eq(DEPOT_JOB(&d,
	                       campaign_member_remove(d.db, depot_campaign(1), depot_player(ANNA), depot_player(BEN))),
	             ERR_OK);
	cr_expect_eq(depot_end(&d, d.begin.id, 1000), ERR_NOT_ALLOWED);
	cr_expect_eq(newest(&d, ANNA, 1), 1);
	depot_close(&d);
}

Test(upload, two_begin_a_new_campaign_and_the_first_to_end_owns_it)
{
	struct depot d;

	depot_open(&d);
	cr_assert_eq(depot_begin(&d, ANNA, 1, 1000), ERR_OK);
	int64_t annas = d.begin.id;
	cr_assert_eq(depot_begin(&d, BEN, 1, 1000), ERR_OK);
	uint8_t named[1][PLAYER_ID_BYTES];
	memcpy(named[0], depot_player(ANNA), PLAYER_ID_BYTES);
	d.end.members      = (const uint8_t(*)[PLAYER_ID_BYTES])named;
	d.end.member_count = 1;
	cr_assert_eq(depot_end(&d, d.begin.id, 1000), ERR_OK);
	cr_expect(d.end.made);
	cr_expect_eq(depot_end(&d, annas, 1000), ERR_OK, "Ben named her");
	cr_expect_not(d.end.made);
	cr_expect_eq(newest(&d, BEN, 1), 2);
	depot_check_sums(&d);
	depot_close(&d);
}

Test(upload, if_none_stores_only_the_first)
{
	struct depot d;

	depot_open(&d);
	match_none(&d);
	cr_assert_eq(depot_put(&d, ANNA, 1, 1000), ERR_OK);
	cr_expect_eq(depot_put(&d, ANNA, 1, 1000), ERR_EXISTS);
	cr_assert_eq(depot_begin(&d, ANNA, 2, 1000), ERR_OK);
	int64_t id = d.begin.id;
	cr_assert_eq(depot_put(&d, ANNA, 2, 1000), ERR_OK);
	cr_expect_eq(depot_end(&d, id, 1000), ERR_EXISTS, "at the end too");
	depot_close(&d);
}

Test(upload, an_old_version_is_a_conflict_and_nothing_is_kept)
{
	struct depot d;

	depot_open(&d);
	cr_assert_eq(depot_put_naming(&d, ANNA, 1, ben_only), ERR_OK);
	struct checkpoint_row first = d.end.stored;
	match(&d, &first, false);
	cr_assert_eq(depot_put(&d, BEN, 1, 1000), ERR_OK);
	struct checkpoint_row second = d.end.stored;
	cr_expect_eq(depot_put(&d, ANNA, 1, 1000), ERR_CONFLICT);
	cr_expect_eq(d.begin.newest.version, 2);
	cr_expect_arr_eq(d.begin.newest.by, depot_player(BEN), PLAYER_ID_BYTES);
	second.sha256[7] ^= 1;
	match(&d, &second, false);
	cr_expect_eq(depot_put(&d, ANNA, 1, 1000), ERR_CONFLICT, "both parts count");
	second.sha256[7] ^= 1;
	match(&d, &second, false);
	cr_expect_eq(depot_put(&d, ANNA, 1, 1000), ERR_OK);
	cr_expect_eq(d.end.stored.version, 3);
	depot_close(&d);
}

Test(upload, a_conflict_is_found_at_the_end_too)
{
	struct depot d;

	depot_open(&d);
	cr_assert_eq(depot_put_naming(&d, ANNA, 1, ben_only), ERR_OK);
	match(&d, &d.end.stored, false);
	depot_pass(&d, 10000);
	cr_assert_eq(depot_begin(&d, ANNA, 1, 1000), ERR_OK);
	int64_t id = d.begin.id;
	match_any(&d);
	cr_assert_eq(depot_put(&d, BEN, 1, 1000), ERR_OK);
	cr_expect_eq(depot_end(&d, id, 1000), ERR_CONFLICT);
	cr_expect_eq(d.end.newest.version, 2);
	cr_expect_eq(depot_ask(&d, "SELECT count(*) FROM checkpoints"), 2);
	depot_close(&d);
}

Test(upload, keep_both_keeps_it_beside_the_newest_for_an_hour)
{
	struct depot d;

	depot_open(&d);
	cr_assert_eq(depot_put_naming(&d, ANNA, 1, ben_only), ERR_OK);
	struct checkpoint_row first = d.end.stored;
	cr_assert_eq(depot_put(&d, BEN, 1, 1000), ERR_OK);
	match(&d, &first, true);
	cr_assert_eq(depot_put(&d, ANNA, 1, 700), ERR_OK);
	cr_expect(d.end.stored.is_conflict);
	cr_expect_eq(d.end.stored.version, 3);
	cr_expect_eq(d.end.newest.version, 2);
	cr_expect_eq(newest(&d, ANNA, 1), 2);
	cr_expect(is_there(&d, BEN, 1, 3));
	cr_expect_eq(depot_ask(&d, "SELECT bytes FROM cloud_totals"), 2700, "it counts");

	match_any(&d);
	cr_assert_eq(depot_put(&d, BEN, 1, 1000), ERR_OK);
	cr_expect_eq(d.end.stored.version, 4);
	depot_pass(&d, d.limits->cloud_conflict_ms - 10001);
	depot_sweep(&d);
	cr_expect(is_there(&d, BEN, 1, 3));
	depot_pass(&d, 1);
	depot_sweep(&d);
	cr_expect_not(is_there(&d, BEN, 1, 3));
	cr_expect_eq(depot_ask(&d, "SELECT count(*) FROM checkpoints"), 3);
	depot_check_sums(&d);
	depot_close(&d);
}

Test(upload, keep_both_without_a_conflict_is_like_any_other)
{
	struct depot          d;
	struct checkpoint_row unknown = { .version = 7 };

	depot_open(&d);
	match(&d, &unknown, false);
	cr_expect_eq(depot_put(&d, ANNA, 1, 1000), ERR_CONFLICT);
	cr_expect_eq(d.begin.newest.version, 0, "there is none");
	match(&d, &unknown, true);
	cr_assert_eq(depot_put(&d, ANNA, 1, 1000), ERR_OK);
	cr_expect_not(d.end.stored.is_conflict, "beside nothing it is the first");
	match(&d, &d.end.stored, true);
	cr_assert_eq(depot_put(&d, ANNA, 1, 1000), ERR_OK);
	cr_expect_not(d.end.stored.is_conflict);
	cr_expect_eq(newest(&d, ANNA, 1), 2);
	depot_close(&d);
}

Test(upload, a_restored_conflict_stays)
{
	struct depot          d;
	struct checkpoint_row row, unknown = { .version = 7 };

	depot_open(&d);
	cr_assert_eq(depot_put(&d, ANNA, 1, 1000), ERR_OK);
	match(&d, &unknown, true);
	cr_assert_eq(depot_put(&d, ANNA, 1, 1000), ERR_OK);
	cr_assert_eq(DEPOT_JOB(&d, campaign_restore(&row, d.db, depot_campaign(1), depot_player(ANNA), 2, d.wall_ms,
	                                            d.keep, d.limits)),
	             ERR_OK);
	cr_expect_not(row.is_conflict);
	depot_pass(&d, d.limits->cloud_conflict_ms);
	depot_sweep(&d);
	cr_expect_eq(newest(&d, ANNA, 1), 3);
	cr_expect_not(is_there(&d, ANNA, 1, 2));
	depot_close(&d);
}

Test(upload, a_small_one_is_said_and_the_one_before_it_is_kept)
{
	struct depot d;
	int64_t      small = metric_get(M_CLOUD_SMALL);

	depot_open(&d);
	cr_assert_eq(depot_put(&d, ANNA, 1, 4000), ERR_OK);
	cr_expect_not(d.end.stored.is_small);
	cr_assert_eq(depot_put(&d, ANNA, 1, 1000), ERR_OK);
	cr_expect_not(d.end.stored.is_small, "a quarter");
	cr_assert_eq(depot_put(&d, ANNA, 1, 249), ERR_OK);
	cr_expect(d.end.stored.is_small);
	cr_expect_eq(metric_get(M_CLOUD_SMALL), small + 1);
	depot_close(&d);
}

Test(upload, older_ones_go_and_their_blobs_are_garbage)
{
	struct depot d;
	int64_t      stored = metric_get(M_CLOUD_STORED);

	depot_open(&d);
	for (int i = 0; i < 8; i++)
		cr_assert_eq(depot_put(&d, ANNA, 1, 1000), ERR_OK);
	cr_expect_eq(depot_ask(&d, "SELECT count(*) FROM checkpoints"), 5);
	cr_expect_eq(depot_ask(&d, "SELECT min(version) FROM checkpoints"), 4);
	cr_expect_eq(depot_ask(&d, "SELECT count(*) FROM blobs"), 5);
	cr_expect_eq(depot_ask(&d, "SELECT count(*) FROM blob_garbage"), 3);
	cr_expect_eq(metric_get(M_CLOUD_STORED), stored + 8);
	cr_expect_eq(d.end.quota.bytes, 5000);
	cr_expect_eq(d.end.quota.campaigns, 1);
	depot_check_sums(&d);
	depot_close(&d);
}

/* Safety 20 on the database: two hours around midnight; thin_state_test.c has the whole day. */
Test(upload, a_member_who_stores_garbage_pushes_out_nothing_that_matters)
{
	struct depot d;
	int64_t      of_day[4], last;

	depot_open(&d);
	cr_assert_eq(depot_put_naming(&d, ANNA, 1, ben_only), ERR_OK);
	for (int day = 0; day < 4; day++) {
		cr_assert_eq(depot_put(&d, ANNA, 1, 1500000), ERR_OK);
		cr_assert_eq(depot_put(&d, ANNA, 1, 1500000), ERR_OK);
		of_day[day] = d.end.stored.version;
		depot_pass(&d, DEPOT_DAY);
	}
	last = of_day[3];
	depot_pass(&d, DEPOT_DAY / 2 - 3600000);
	for (int i = 0; i < 720; i++) {
		cr_assert_eq(depot_put(&d, BEN, 1, i % 2 ? d.limits->cloud_checkpoint : 1), ERR_OK);
		if (i % 40)
			continue;
		for (int day = 0; day < 4; day++)
			cr_assert(is_there(&d, ANNA, 1, of_day[day]), "day %d after %d", day, i);
		cr_assert(is_there(&d, ANNA, 1, last - 1));
	}
	depot_check_sums(&d);
	depot_close(&d);
}

/*
 * What an upload costs must not depend on how much there is: nothing it asks walks over a table. Left out are those that
 * take the first of an index.
 */
Test(upload, no_query_of_an_upload_walks_over_a_table)
{
	static const enum query asked[] = {
		Q_PLAYER_FIND,       Q_CAMPAIGN_LOOK,    Q_CHECKPOINT_NEWEST, Q_HOLDER_FIND,         Q_HOLDER_ADD,
		Q_HOLDER_YOUNG,      Q_NEW_PLAYER_COUNT, Q_PLAYER_QUOTA_FIND, Q_CAMPAIGN_QUOTA_FIND, Q_SHED_OF_OWNER,
		Q_SHED_OF_CAMPAIGN,  Q_TRASH_OF_OWNER,   Q_VERSION_NEXT,      Q_CHECKPOINT_INSERT,   Q_CHECKPOINT_THIN,
		Q_CHECKPOINT_REMOVE, Q_CHECKPOINT_SPARE, Q_CAMPAIGN_STORED,   Q_MEMBER_FIND,         Q_MEMBER_COUNT,
		Q_MEMBER_USED,       Q_TRASH_DUE,        Q_CAMPAIGN_EXPIRED,  Q_HOLDER_IDLE,         Q_HOLDER_GROWN,
		Q_BLOB_IS_NAMED,     Q_VERSION_FORGET,
	};
	struct db *db = data_open_db();

	for (size_t i = 0; i < COUNT_OF(asked); i++) {
		const char *scan = data_plan_scans(db, query_texts[asked[i]].sql);

		cr_expect_null(scan, "%s: %s", query_texts[asked[i]].name, scan);
	}
	db_close(db);
}

Test(upload, bytes_of_unknown_length_are_reserved_as_they_come)
{
	struct depot d;

	depot_open(&d);
	cr_assert_eq(depot_begin(&d, ANNA, 1, -1), ERR_OK);
	int64_t id = d.begin.id;
	cr_expect_eq(metric_get(M_CLOUD_RESERVED_BYTES), 0);
	cr_assert_eq(DEPOT_JOB(&d, upload_grow(d.db, id, 1000, d.limits)), ERR_OK);
	cr_assert_eq(DEPOT_JOB(&d, upload_grow(d.db, id, 3000, d.limits)), ERR_OK);
	cr_expect_eq(metric_get(M_CLOUD_RESERVED_BYTES), 3000);
	cr_expect_eq(DEPOT_JOB(&d, upload_grow(d.db, id, d.limits->cloud_checkpoint + 1, d.limits)), ERR_TOO_BIG);
	cr_expect_eq(metric_get(M_CLOUD_RESERVED_BYTES), 3000, "what was reserved stays");
	cr_assert_eq(DEPOT_JOB(&d, upload_grow(d.db, id, d.limits->cloud_checkpoint, d.limits)), ERR_OK);
	d.limits->cloud_player_bytes = d.limits->cloud_checkpoint;
	cr_assert_eq(DEPOT_JOB(&d, upload_grow(d.db, id, 3000, d.limits)), ERR_OK);
	cr_expect_eq(depot_end(&d, id, 2500), ERR_OK);
	cr_expect_eq(metric_get(M_CLOUD_RESERVED_BYTES), 0);
	depot_close(&d);
}

/* Fresh keys at several addresses, each with a slow upload, keep nobody from storing who has been here for long. */
Test(upload, young_players_and_new_campaigns_fill_only_their_half_of_what_may_be_under_way)
{
	struct depot d;

	depot_open(&d);
	cr_assert_eq(depot_put_naming(&d, ANNA, 1, (const int[]){ 9, -1 }), ERR_OK);
	depot_pass(&d, d.limits->cloud_young_days * DEPOT_DAY);
	d.limits->cloud_total = 100000;
	for (int i = 0; i < 5; i++) {
		d.addr = 10 + i;
		cr_assert_eq(depot_begin(&d, 10 + i, 10 + i, 1000), ERR_OK);
	}
	d.addr = 20;
	cr_expect_eq(depot_begin(&d, 20, 20, 1), ERR_LIMIT, "a young player");
	cr_expect_eq(d.begin.retry_ms, UPLOAD_RETRY_MS);
	cr_expect_eq(depot_begin(&d, 9, 1, 1), ERR_LIMIT, "also in the campaign of an old one");
	cr_expect_eq(depot_begin(&d, ANNA, 2, 1), ERR_LIMIT, "a new campaign of an old player");
	d.exempt = true;
	cr_expect_eq(depot_begin(&d, 9, 1, 1), ERR_OK, "whose address is exempt is not young");
	cr_assert_eq(DEPOT_JOB(&d, upload_cancel(d.db, d.begin.id)), ERR_OK);
	d.exempt = false;
	cr_assert_eq(depot_begin(&d, ANNA, 1, 4000), ERR_OK, "her campaign goes on");
	int64_t id = d.begin.id;
	cr_expect_eq(d.begin.retry_ms, 0);
	cr_expect_eq(DEPOT_JOB(&d, upload_grow(d.db, id, 5000, d.limits)), ERR_OK);
	cr_expect_eq(DEPOT_JOB(&d, upload_grow(d.db, id, 5001, d.limits)), ERR_LIMIT);
	cr_expect_eq(depot_end(&d, id, 5000), ERR_OK);
	depot_close(&d);
}

Test(upload, more_bytes_than_were_reserved_are_judged_at_the_end)
{
	struct depot d;

	depot_open(&d);
	d.limits->cloud_player_bytes = 1000;
	cr_assert_eq(depot_begin(&d, ANNA, 1, 10), ERR_OK);
	cr_expect_eq(depot_end(&d, d.begin.id, 1001), ERR_QUOTA);
	depot_pass(&d, 10000);
	cr_assert_eq(depot_begin(&d, ANNA, 1, 10), ERR_OK);
	cr_expect_eq(depot_end(&d, d.begin.id, 1000), ERR_OK);
	depot_close(&d);
}

Test(upload, nothing_at_all_can_be_stored)
{
	struct depot d;

	depot_open(&d);
	cr_assert_eq(depot_put(&d, ANNA, 1, 0), ERR_OK, "whether that is a checkpoint is not decided here");
	cr_expect_eq(newest(&d, ANNA, 1), 1);
	depot_close(&d);
}

/* A commit that failed undoes the rows, not the reservation, whose id was given out before. */
Test(upload, a_begin_outlives_its_batch)
{
	struct depot d;

	depot_open(&d);
	data_exec(d.db, "COMMIT; BEGIN IMMEDIATE");
	cr_assert_eq(depot_begin(&d, CARL, 1, 1000), ERR_OK);
	int64_t id = d.begin.id;
	data_exec(d.db, "ROLLBACK; BEGIN IMMEDIATE");
	cr_expect_eq(depot_ask(&d, "SELECT count(*) FROM players"), 0);
	cr_expect_eq(depot_end(&d, id, 1000), ERR_OK);
	cr_expect_eq(newest(&d, CARL, 1), 1);
	depot_check_sums(&d);
	depot_close(&d);
}
