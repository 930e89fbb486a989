/*
 * What everybody uses and may use, gathered from the sums that the database keeps and the uploads under way.
 */
#include "store/quota.h"

#include "base/metric.h"
#include "store/upkeep.h"

#include <string.h>

#define NEW_PLAYER_MS INT64_C(3600000) /* the limits of new players are per hour */

/* --- Overrides --- */

static int64_t get_override(const struct statement *q, int column)
{
	return q_get_null(q, column) ? -1 : q_get_int(q, column);
}

enum err quota_get_player(struct quota_override *out, struct db *db, const uint8_t player[PLAYER_ID_BYTES])
{
	AUTO_QUERY q = db_query(db, Q_PLAYER_QUOTA_FIND);

	q_blob(&q, ":player", player, PLAYER_ID_BYTES);
	enum err e = q_row(&q);
	if (e == ERR_OK)
		*out = (struct quota_override){ get_override(&q, 0), get_override(&q, 1), get_override(&q, 2) };
	return e;
}

enum err quota_get_campaign(struct quota_override *out, struct db *db, const uint8_t id[CAMPAIGN_ID_BYTES])
{
	AUTO_QUERY q = db_query(db, Q_CAMPAIGN_QUOTA_FIND);

	q_blob(&q, ":id", id, CAMPAIGN_ID_BYTES);
	enum err e = q_row(&q);
	if (e == ERR_OK)
		*out = (struct quota_override){ -1, get_override(&q, 0), get_override(&q, 1) };
	return e;
}

static enum err remove_player_override(struct db *db, const uint8_t *player)
{
	AUTO_QUERY q = db_query(db, Q_PLAYER_QUOTA_REMOVE);

	q_blob(&q, ":player", player, PLAYER_ID_BYTES);
	return q_done(&q);
}

enum err quota_set_player(struct db *db, const uint8_t player[PLAYER_ID_BYTES], const struct quota_override *o)
{
	if (o->campaigns < 0 && o->bytes < 0 && o->checkpoint < 0)
		return remove_player_override(db, player);

	AUTO_QUERY q = db_query(db, Q_PLAYER_QUOTA_PUT);

	q_blob(&q, ":player", player, PLAYER_ID_BYTES);
	q_int(&q, ":campaigns", o->campaigns);
	q_int(&q, ":bytes", o->bytes);
	q_int(&q, ":checkpoint", o->checkpoint);
	return q_done(&q);
}

static enum err remove_campaign_override(struct db *db, const uint8_t *id)
{
	AUTO_QUERY q = db_query(db, Q_CAMPAIGN_QUOTA_REMOVE);

	q_blob(&q, ":id", id, CAMPAIGN_ID_BYTES);
	return q_done(&q);
}

enum err quota_set_campaign(struct db *db, const uint8_t id[CAMPAIGN_ID_BYTES], const struct quota_override *o)
{
	if (o->bytes < 0 && o->checkpoint < 0)
		return remove_campaign_override(db, id);

	AUTO_QUERY q = db_query(db, Q_CAMPAIGN_QUOTA_PUT);

	q_blob(&q, ":id", id, CAMPAIGN_ID_BYTES);
	q_int(&q, ":bytes", o->bytes);
	q_int(&q, ":checkpoint", o->checkpoint);
	return q_done(&q);
}

static int64_t or_default(int64_t override, int64_t standard)
{
	return override >= 0 ? override : standard;
}

static enum err find_player_limits(struct quota_override *out, struct db *db, const uint8_t *player,
                                   const struct limits *limits)
{
	struct quota_override own = { -1, -1, -1 };
	enum err              e   = quota_get_player(&own, db, player);

	if (e != ERR_OK && e != ERR_NOT_FOUND)
		return e;
	*out = (struct quota_override){
		.campaigns  = or_default(own.campaigns, limits->cloud_campaigns),
		.bytes      = or_default(own.bytes, limits->cloud_player_bytes),
		.checkpoint = or_default(own.checkpoint, limits->cloud_checkpoint),
	};
	return ERR_OK;
}

/* --- What is used --- */

/* A player who stored, or one of whom nothing is known: all zeros then. */
struct holder {
	int64_t campaigns, bytes, spare;
	bool    has_addr;
	uint8_t addr[PLAYER_ADDR_BYTES];
	int64_t made_ms;
};

static enum err find_holder(struct holder *out, struct db *db, const uint8_t *player)
{
	AUTO_QUERY q = db_query(db, Q_HOLDER_FIND);

	*out = (struct holder){ 0 };
	q_blob(&q, ":player", player, PLAYER_ID_BYTES);
	enum err e = q_row(&q);
	if (e != ERR_OK)
		return e;
	out->campaigns = q_get_int(&q, 0);
	out->bytes     = q_get_int(&q, 1);
	out->spare     = q_get_int(&q, 2);
	out->has_addr  = !q_get_null(&q, 3);
	out->made_ms   = q_get_int(&q, 4);
	q_get_blob(&q, 3, out->addr, sizeof(out->addr));
	return ERR_OK;
}

enum err quota_figures(struct quota_figures *out, struct db *db, const uint8_t player[PLAYER_ID_BYTES],
                       const struct limits *limits)
{
	struct quota_override may;
	struct holder         h;

	enum err e = find_holder(&h, db, player);
	if (e == ERR_OK || e == ERR_NOT_FOUND)
		e = find_player_limits(&may, db, player, limits);
	if (e != ERR_OK)
		return e;
	*out = (struct quota_figures){
		.campaigns      = h.campaigns,
		.campaigns_max  = may.campaigns,
		.bytes          = h.bytes,
		.bytes_max      = may.bytes,
		.checkpoint_max = may.checkpoint,
	};
	return ERR_OK;
}

enum err quota_totals(struct quota_totals *out, struct db *db)
{
	AUTO_QUERY q = db_query(db, Q_TOTALS);
	enum err   e = q_row(&q);

	if (e != ERR_OK)
		return e;
	*out = (struct quota_totals){
		.campaigns = q_get_int(&q, 0),
		.bytes     = q_get_int(&q, 1),
		.spare     = q_get_int(&q, 2),
		.trash     = q_get_int(&q, 3),
		.reserved  = db_reserve(db) ? reserve_total(db_reserve(db)) : 0,
	};
	return ERR_OK;
}

enum err quota_show(struct db *db)
{
	struct quota_totals t;
	enum err            e = quota_totals(&t, db);

	if (e != ERR_OK)
		return e;
	metric_set(M_CLOUD_CAMPAIGNS, t.campaigns);
	metric_set(M_CLOUD_BYTES, t.bytes);
	return ERR_OK;
}

/* --- Gathered for a verdict --- */

int64_t quota_young_from(int64_t wall_ms, const struct limits *limits)
{
	return wall_ms - limits->cloud_young_days * UPTIME_DAY_MS;
}

bool quota_is_young(int64_t made_ms, const struct reservation *r, int64_t wall_ms, const struct limits *limits)
{
	return made_ms > quota_young_from(wall_ms, limits) && !r->exempt;
}

static enum err sum_young(int64_t *out, struct db *db, const uint8_t *addr, int64_t from_ms)
{
	AUTO_QUERY q = db_query(db, Q_HOLDER_YOUNG);

	q_blob(&q, ":addr", addr, PLAYER_ADDR_BYTES);
	q_int(&q, ":from_ms", from_ms);
	enum err e = q_row(&q);
	if (e == ERR_OK)
		*out = q_get_int(&q, 0);
	return e;
}

/*
 * The address of which the owner is a young player: kept with him, or that of this upload when it is his first. False:
 * he is not young, or his address does not count.
 */
static bool find_charged(uint8_t *charged, const struct holder *owner, bool is_first, const struct quota_asked *asked,
                         const struct limits *limits)
{
	int64_t from_ms = quota_young_from(asked->wall_ms, limits);

	memset(charged, 0, PLAYER_ADDR_BYTES);
	if (is_first) {
		if (!quota_is_young(asked->made_ms, asked->upload, asked->wall_ms, limits))
			return false;
		memcpy(charged, asked->upload->addr, PLAYER_ADDR_BYTES);
		return true;
	}
	if (!owner->has_addr || owner->made_ms <= from_ms)
		return false;
	memcpy(charged, owner->addr, PLAYER_ADDR_BYTES);
	return true;
}

static enum err gather_owner(struct quota_now *out, uint8_t *charged, struct db *db, const struct quota_asked *asked,
                             const struct limits *limits)
{
	struct reserve_sums   under_way;
	struct quota_override may;
	struct holder         h;

	enum err e        = find_holder(&h, db, asked->upload->owner);
	bool     is_first = e == ERR_NOT_FOUND;
	if (e == ERR_OK || is_first)
		e = find_player_limits(&may, db, asked->upload->owner, limits);
	if (e != ERR_OK)
		return e;
	bool is_young = find_charged(charged, &h, is_first, asked, limits);
	under_way     = reserve_sum(db_reserve(db), asked->upload, charged);

	out->checkpoint_max = may.checkpoint;
	out->campaigns      = h.campaigns + under_way.campaigns;
	out->campaigns_max  = may.campaigns;
	out->campaign = (struct quota_share){ asked->at->bytes + under_way.campaign, asked->at->spare, QUOTA_NONE };
	out->owner    = (struct quota_share){ h.bytes + under_way.owner, h.spare, may.bytes };
	out->young    = (struct quota_share){ 0, h.spare, QUOTA_NONE };
	out->reserved = under_way.all;
	out->reserved_percent  = limits->cloud_reserved_percent;
	out->reserved_addr     = asked->upload->exempt ? 0 : under_way.addr;
	out->reserved_addr_max = limits->cloud_reserved_address;
	if (!is_young)
		return ERR_OK;
	out->young.max = limits->cloud_young_bytes;
	e              = sum_young(&out->young.bytes, db, charged, quota_young_from(asked->wall_ms, limits));
	out->young.bytes += under_way.charged;
	return e;
}

static enum err gather_campaign(struct quota_now *out, struct db *db, const struct quota_asked *asked)
{
	struct quota_override own = { -1, -1, -1 };
	enum err              e   = quota_get_campaign(&own, db, asked->upload->campaign);

	if (e != ERR_OK && e != ERR_NOT_FOUND)
		return e;
	out->campaign.max   = or_default(own.bytes, QUOTA_NONE);
	out->checkpoint_max = or_default(own.checkpoint, out->checkpoint_max);
	return ERR_OK;
}

static enum err gather_total(struct quota_now *out, struct db *db, const struct limits *limits)
{
	struct quota_totals t;
	enum err            e = quota_totals(&t, db);

	if (e != ERR_OK)
		return e;
	out->total = (struct quota_share){
		.bytes = t.bytes + t.trash + out->reserved,
		.spare = t.spare + t.trash,
		.max   = limits->cloud_total,
	};
	out->spare_percent = limits->cloud_spare_percent;
	return ERR_OK;
}

enum err quota_gather(struct quota_now *out, uint8_t charged[PLAYER_ADDR_BYTES], struct db *db,
                      const struct quota_asked *asked, const struct limits *limits)
{
	*out = (struct quota_now){
		.bytes    = asked->bytes,
		.is_new   = asked->at->number == 0,
		.by_young = quota_is_young(asked->made_ms, asked->upload, asked->wall_ms, limits),
		.since_ms = QUOTA_NONE,
	};
	enum err e = gather_owner(out, charged, db, asked, limits);
	if (e == ERR_OK)
		e = gather_campaign(out, db, asked);
	return e == ERR_OK ? gather_total(out, db, limits) : e;
}

enum err quota_count_new(struct quota_now *out, struct db *db, const uint8_t addr[PLAYER_ADDR_BYTES], int64_t wall_ms)
{
	AUTO_QUERY q = db_query(db, Q_NEW_PLAYER_COUNT);

	q_blob(&q, ":addr", addr, PLAYER_ADDR_BYTES);
	q_int(&q, ":since_ms", wall_ms - NEW_PLAYER_MS);
	enum err e = q_row(&q);
	if (e == ERR_OK) {
		out->new_at_addr = q_get_int(&q, 0);
		out->new_in_all  = q_get_int(&q, 1);
	}
	return e;
}

enum err quota_enroll(struct db *db, const uint8_t player[PLAYER_ID_BYTES], const uint8_t *addr, int64_t wall_ms)
{
	AUTO_QUERY q = db_query(db, Q_HOLDER_ADD);

	q_blob(&q, ":player", player, PLAYER_ID_BYTES);
	q_int(&q, ":now_ms", wall_ms);
	q_blob(&q, ":addr", addr, addr ? PLAYER_ADDR_BYTES : 0);
	return q_done(&q);
}
