/*
 * Each check is a row, asked in this order.
 */
#include "store/quota_state.h"

#include "base/auto.h"

/* Sums of what peers ask for and operators allow stay far below 2^63, but a limit may be QUOTA_NONE. */
static int64_t over(int64_t held, int64_t more, int64_t max)
{
	return held + more > max ? held + more - max : 0;
}

/* A new campaign may not use the last part of the total. */
static int64_t total_max(const struct quota_now *now)
{
	if (!now->is_new)
		return now->total.max;
	return now->total.max / 100 * (100 - now->spare_percent) +
	       now->total.max % 100 * (100 - now->spare_percent) / 100;
}

static enum err check_size(struct quota_verdict *v, const struct quota_now *now)
{
	(void)v;
	return now->bytes > now->checkpoint_max || now->bytes > now->total.max ? ERR_TOO_BIG : ERR_OK;
}

static enum err check_campaigns(struct quota_verdict *v, const struct quota_now *now)
{
	(void)v;
	return now->is_new && now->campaigns >= now->campaigns_max ? ERR_CAMPAIGNS : ERR_OK;
}

/* How much of the share must be shed; more than may be is a refusal. */
static enum err check_share(int64_t *shed, const struct quota_now *now, const struct quota_share *share, int64_t max)
{
	int64_t short_of = over(share->bytes, now->bytes, max);

	if (short_of > share->spare)
		return ERR_QUOTA;
	if (short_of > *shed)
		*shed = short_of;
	return ERR_OK;
}

static enum err check_campaign(struct quota_verdict *v, const struct quota_now *now)
{
	return check_share(&v->shed_campaign, now, &now->campaign, now->campaign.max);
}

static enum err check_owner(struct quota_verdict *v, const struct quota_now *now)
{
	return check_share(&v->shed_owner, now, &now->owner, now->owner.max);
}

static enum err check_young(struct quota_verdict *v, const struct quota_now *now)
{
	return check_share(&v->shed_owner, now, &now->young, now->young.max);
}

static enum err check_total(struct quota_verdict *v, const struct quota_now *now)
{
	return check_share(&v->shed_total, now, &now->total, total_max(now));
}

/* Young players and new campaigns leave the second half to those who have been here for long. */
static int64_t reserved_max(const struct quota_now *now)
{
	int64_t max = now->total.max / 100 * now->reserved_percent + now->total.max % 100 * now->reserved_percent / 100;

	return now->is_new || now->by_young ? max / 2 : max;
}

static enum err check_reserved(struct quota_verdict *v, const struct quota_now *now)
{
	bool addr = now->reserved_addr > 0 && over(now->reserved_addr, now->bytes, now->reserved_addr_max) > 0;
	bool all  = now->reserved > 0 && over(now->reserved, now->bytes, reserved_max(now)) > 0;

	(void)v;
	return addr || all ? ERR_LIMIT : ERR_OK;
}

static enum err check_new_player(struct quota_verdict *v, const struct quota_now *now)
{
	(void)v;
	if (!now->is_new_player)
		return ERR_OK;
	return now->new_at_addr >= now->new_at_addr_max || now->new_in_all >= now->new_in_all_max ? ERR_NO_ROOM
	                                                                                          : ERR_OK;
}

static enum err check_interval(struct quota_verdict *v, const struct quota_now *now)
{
	if (now->since_ms >= now->interval_ms)
		return ERR_OK;
	v->retry_ms = now->interval_ms - now->since_ms;
	return ERR_TOO_SOON;
}

struct quota_verdict quota_judge(const struct quota_now *now)
{
	static enum err (*const checks[])(struct quota_verdict * v, const struct quota_now *now) = {
		check_size,  check_campaigns, check_campaign,   check_owner,    check_young,
		check_total, check_reserved,  check_new_player, check_interval,
	};
	struct quota_verdict v = { .err = ERR_OK };

	for (size_t i = 0; i < COUNT_OF(checks) && v.err == ERR_OK; i++)
		v.err = checks[i](&v, now);
	return v;
}
