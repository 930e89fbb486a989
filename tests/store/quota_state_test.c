/*
 * May an upload begin? Each figure at its limit and one past it, and the order in which they are asked.
 */
#include "store/quota_state.h"

#include "base/auto.h"

#include <criterion/criterion.h>

/* Nothing is near a limit. */
static struct quota_now easy(void)
{
	return (struct quota_now){
		.bytes             = 100,
		.checkpoint_max    = 1000,
		.campaigns_max     = 10,
		.campaign          = { 0, 0, QUOTA_NONE },
		.owner             = { 0, 0, 100000 },
		.young             = { 0, 0, QUOTA_NONE },
		.total             = { 0, 0, 1000000 },
		.spare_percent     = 25,
		.reserved_addr_max = 10000,
		.reserved_percent  = 10,
		.new_at_addr_max   = 20,
		.new_in_all_max    = 3000,
		.since_ms          = QUOTA_NONE,
		.interval_ms       = 10000,
	};
}

static enum err judge(struct quota_now now)
{
	return quota_judge(&now).err;
}

Test(quota_state, what_is_easy_begins_and_sheds_nothing)
{
	struct quota_now     now = easy();
	struct quota_verdict v   = quota_judge(&now);

	cr_expect_eq(v.err, ERR_OK);
	cr_expect_eq(v.shed_campaign + v.shed_owner + v.shed_total, 0);
	cr_expect_eq(v.retry_ms, 0);
}

/* A figure, its limit's value at which the upload of 100 bytes still begins, and what one more says. */
Test(quota_state, each_at_its_limit_and_one_past_it)
{
	struct quota_now now;
	static const struct {
		size_t   at;
		int64_t  most;
		enum err beyond;
	} rows[] = {
		{ offsetof(struct quota_now, bytes), 1000, ERR_TOO_BIG },
		{ offsetof(struct quota_now, campaigns), 9, ERR_CAMPAIGNS },
		{ offsetof(struct quota_now, campaign.bytes), 4900, ERR_QUOTA },
		{ offsetof(struct quota_now, owner.bytes), 99900, ERR_QUOTA },
		{ offsetof(struct quota_now, young.bytes), 199900, ERR_QUOTA },
		{ offsetof(struct quota_now, total.bytes), 749900, ERR_QUOTA },
		{ offsetof(struct quota_now, reserved_addr), 9900, ERR_LIMIT },
		{ offsetof(struct quota_now, reserved), 49900, ERR_LIMIT },
		{ offsetof(struct quota_now, new_at_addr), 19, ERR_NO_ROOM },
		{ offsetof(struct quota_now, new_in_all), 2999, ERR_NO_ROOM },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		int64_t *figure = (int64_t *)(void *)((char *)&now + rows[i].at);

		now               = easy();
		now.is_new        = true;
		now.is_new_player = true;
		now.campaign.max  = 5000;
		now.young.max     = 200000;
		*figure           = rows[i].most;
		cr_expect_eq(judge(now), ERR_OK, "row %zu at its limit", i);
		++*figure;
		cr_expect_eq(judge(now), rows[i].beyond, "row %zu past it", i);
	}
}

Test(quota_state, the_last_part_of_the_total_is_for_campaigns_that_exist)
{
	struct quota_now now = easy();

	now.total.bytes = 999900;
	cr_expect_eq(judge(now), ERR_OK);
	now.total.bytes++;
	cr_expect_eq(judge(now), ERR_QUOTA);
	now.total.bytes = 749901;
	now.is_new      = true;
	cr_expect_eq(judge(now), ERR_QUOTA);
	now.spare_percent = 0;
	cr_expect_eq(judge(now), ERR_OK);
}

Test(quota_state, who_has_his_number_of_campaigns_goes_on_with_them)
{
	struct quota_now now = easy();

	now.campaigns = 10;
	cr_expect_eq(judge(now), ERR_OK);
	now.is_new = true;
	cr_expect_eq(judge(now), ERR_CAMPAIGNS);
}

Test(quota_state, too_big_for_the_whole_server)
{
	struct quota_now now = easy();

	now.total.max = now.bytes = now.checkpoint_max = 500;
	cr_expect_eq(judge(now), ERR_OK);
	now.total.max = 499;
	cr_expect_eq(judge(now), ERR_TOO_BIG);
}

Test(quota_state, what_is_short_is_shed_as_long_as_there_is_enough)
{
	struct quota_now     now = easy();
	struct quota_verdict v;

	now.total = (struct quota_share){ 999950, 50, 1000000 };
	now.owner = (struct quota_share){ 99930, 30, 100000 };
	v         = quota_judge(&now);
	cr_expect_eq(v.err, ERR_OK);
	cr_expect_eq(v.shed_total, 50);
	cr_expect_eq(v.shed_owner, 30);
	now.owner.spare = 29;
	cr_expect_eq(judge(now), ERR_QUOTA);
	now.owner.spare = 30;
	now.total.spare = 49;
	cr_expect_eq(judge(now), ERR_QUOTA);
}

Test(quota_state, the_owner_sheds_for_the_worse_of_his_two_limits)
{
	struct quota_now now = easy();

	now.owner = (struct quota_share){ 99930, 80, 100000 };
	now.young = (struct quota_share){ 500, 80, 520 };
	cr_expect_eq(quota_judge(&now).shed_owner, 80);
	now.young.bytes = 410;
	cr_expect_eq(quota_judge(&now).shed_owner, 30);
}

Test(quota_state, one_upload_alone_is_never_refused_for_what_is_under_way)
{
	struct quota_now now = easy();

	now.reserved_addr_max = 10;
	now.reserved_percent  = 0;
	cr_expect_eq(judge(now), ERR_OK);
	now.reserved = 1;
	cr_expect_eq(judge(now), ERR_LIMIT);
	now.reserved_percent = 10;
	now.reserved_addr    = 1;
	cr_expect_eq(judge(now), ERR_LIMIT);
}

Test(quota_state, young_players_and_new_campaigns_share_the_first_half_of_what_may_be_under_way)
{
	static const struct {
		bool    is_new, by_young;
		int64_t most;
	} rows[] = { { false, false, 99900 }, { true, false, 49900 }, { false, true, 49900 }, { true, true, 49900 } };

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct quota_now now = easy();

		now.is_new   = rows[i].is_new;
		now.by_young = rows[i].by_young;
		now.reserved = rows[i].most;
		cr_expect_eq(judge(now), ERR_OK, "row %zu at its limit", i);
		now.reserved++;
		cr_expect_eq(judge(now), ERR_LIMIT, "row %zu past it", i);
	}
}

Test(quota_state, ten_seconds)
{
	struct quota_now     now = easy();
	struct quota_verdict v;

	now.since_ms = 10000;
	cr_expect_eq(judge(now), ERR_OK);
	now.since_ms = 9999;
	v            = quota_judge(&now);
	cr_expect_eq(v.err, ERR_TOO_SOON);
	cr_expect_eq(v.retry_ms, 1);
	now.since_ms    = 0;
	now.interval_ms = 0;
	cr_expect_eq(judge(now), ERR_OK, "switched off");
}

/* Every reason at once; taking away the first shows the next. */
Test(quota_state, reasons_have_an_order)
{
	struct quota_now now = easy();

	now.is_new = now.is_new_player = true;
	now.bytes                      = 1001;
	now.campaigns                  = 10;
	now.owner.bytes                = 100000;
	now.reserved                   = 100000;
	now.new_at_addr                = 20;
	now.since_ms                   = 0;
	cr_expect_eq(judge(now), ERR_TOO_BIG);
	now.bytes = 1000;
	cr_expect_eq(judge(now), ERR_CAMPAIGNS);
	now.campaigns = 0;
	cr_expect_eq(judge(now), ERR_QUOTA);
	now.owner.bytes = 0;
	cr_expect_eq(judge(now), ERR_LIMIT);
	now.reserved = 0;
	cr_expect_eq(judge(now), ERR_NO_ROOM);
	now.new_at_addr = 0;
	cr_expect_eq(judge(now), ERR_TOO_SOON);
}
