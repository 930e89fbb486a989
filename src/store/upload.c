/*
 * Uploads: begun with a reservation, ended with a row.
 */
#include "store/quota.h"

#include "base/metric.h"
#include "store/thin_state.h"
#include "store/upkeep.h"

#include <string.h>

/* The player's key is the one known by its id. *made_ms of one who is new: now. */
static enum err look_at_player(bool *is_new, int64_t *made_ms, struct db *db, const uint8_t *digest, int64_t wall_ms)
{
	enum err e = player_find(made_ms, db, digest);

	*is_new = e == ERR_NOT_FOUND;
	if (*is_new)
		*made_ms = wall_ms;
	return *is_new ? ERR_OK : e;
}

static bool is_version(const struct checkpoint_row *row, const struct upload_match *match)
{
	return row->version == match->version && memcmp(row->sha256, match->hash8, sizeof(match->hash8)) == 0;
}

/* *conflict: it may be kept, but beside the newest, which is in two[0]. */
static enum err check_match(bool *conflict, struct checkpoint_row two[2], struct db *db, int64_t number,
                            const struct upload_match *match, bool keep_both)
{
	*conflict  = false;
	enum err e = checkpoint_newest(two, db, number, false);
	if (e != ERR_OK || match->kind == UPLOAD_ANY)
		return e;
	if (match->kind == UPLOAD_IF_NONE)
		return two[0].version != 0 ? ERR_EXISTS : ERR_OK;
	if (is_version(&two[0], match))
		return ERR_OK;
	if (!keep_both)
		return ERR_CONFLICT;
	/* Beside nothing it is simply the first. */
	*conflict = two[0].version != 0;
	return ERR_OK;
}

/* The players row, and what he holds, before anything refers to it. */
static enum err enroll(struct db *db, const struct reservation *r, bool is_new, int64_t made_ms, int64_t wall_ms,
                       const struct limits *limits)
{
	bool     is_young = quota_is_young(made_ms, r, wall_ms, limits);
	enum err e = is_new ? player_add_without_code(db, r->digest, r->addr, wall_ms) : player_adopt(db, r->digest);

	return e == ERR_OK ? quota_enroll(db, r->digest, is_young ? r->addr : NULL, wall_ms) : e;
}

/* --- Begin --- */

static struct reservation new_reservation(const struct upload_begin *u, const struct campaign_at *at)
{
	struct reservation r = {
		.exempt    = u->exempt,
		.number    = at->number,
		.bytes     = u->bytes > 0 ? u->bytes : 0,
		.match     = u->match,
		.keep_both = u->keep_both,
		.wall_ms   = u->wall_ms,
	};

	memcpy(r.digest, u->digest, sizeof(r.digest));
	memcpy(r.addr, u->addr, sizeof(r.addr));
	memcpy(r.campaign, u->campaign, sizeof(r.campaign));
	memcpy(r.owner, at->number != 0 ? at->owner : u->digest, sizeof(r.owner));
	return r;
}

static enum err judge_begin(struct upload_begin *u, struct reservation *r, struct db *db,
                            const struct quota_asked *asked, const struct limits *limits)
{
	struct quota_now     now;
	struct quota_verdict v;

	enum err e = quota_gather(&now, r->charged, db, asked, limits);
	if (e == ERR_OK && asked->is_new_player)
		e = quota_count_new(&now, db, u->addr, u->wall_ms);
	if (e != ERR_OK)
		return e;
	now.is_new_player   = asked->is_new_player;
	now.new_at_addr_max = u->exempt ? QUOTA_NONE : limits->tunnel_new_per_address;
	now.new_in_all_max  = limits->tunnel_new_total;
	now.since_ms        = reserve_since(db_reserve(db), u->digest, u->mono_ms);
	now.interval_ms     = limits->cloud_interval_ms;

	v           = quota_judge(&now);
	u->retry_ms = v.err == ERR_LIMIT ? UPLOAD_RETRY_MS : v.retry_ms;
	return v.err == ERR_OK ? shed(db, asked->at, r->owner, &v) : v.err;
}

static enum err accept(struct upload_begin *u, struct db *db, struct reservation *r, const struct limits *limits)
{
	enum err e = reserve_add(db_reserve(db), r);

	if (e != ERR_OK)
		return e;
	e = reserve_accept(db_reserve(db), u->digest, u->mono_ms, limits->cloud_interval_ms);
	if (e != ERR_OK)
		reserve_take(r, db_reserve(db), r->id);
	u->id = r->id;
	return e;
}

enum err upload_begin(struct upload_begin *u, struct db *db, const struct limits *limits)
{
	struct campaign_at    at;
	struct checkpoint_row two[2];
	struct quota_asked    asked = { .at = &at, .bytes = u->bytes > 0 ? u->bytes : 0, .wall_ms = u->wall_ms };
	bool                  conflict;

	u->id = u->retry_ms = u->newest.version = 0;
	enum err e = look_at_player(&asked.is_new_player, &asked.made_ms, db, u->digest, u->wall_ms);
	if (e == ERR_OK)
		e = campaign_look(&at, db, u->campaign, u->digest);
	if (e == ERR_OK && at.role == CAMPAIGN_STRANGER)
		return ERR_NOT_ALLOWED;
	if (e == ERR_OK || e == ERR_NOT_FOUND)
		e = check_match(&conflict, two, db, at.number, &u->match, u->keep_both);
	if (e == ERR_CONFLICT)
		u->newest = two[0];
	if (e != ERR_OK)
		return e;

	struct reservation r = new_reservation(u, &at);
	asked.upload         = &r;
	e                    = judge_begin(u, &r, db, &asked, limits);
	if (e == ERR_OK)
		e = enroll(db, &r, asked.is_new_player, asked.made_ms, u->wall_ms, limits);
	if (e == ERR_OK)
		e = quota_show(db);
	/* Last, as it is not undone. */
	return e == ERR_OK ? accept(u, db, &r, limits) : e;
}

/* --- Between --- */

/* Whether the upload may come to so many bytes; sheds. All that is about the begin is left out. */
static enum err judge_bytes(struct reservation *r, struct db *db, const struct campaign_at *at, int64_t bytes,
                            const struct limits *limits)
{
	struct quota_asked asked = { .upload = r, .at = at, .bytes = bytes, .wall_ms = r->wall_ms };
	struct quota_now   now;

	enum err e = look_at_player(&asked.is_new_player, &asked.made_ms, db, r->digest, r->wall_ms);
	if (e == ERR_OK)
		e = quota_gather(&now, r->charged, db, &asked, limits);
	if (e != ERR_OK)
		return e;
	struct quota_verdict v = quota_judge(&now);
	return v.err == ERR_OK ? shed(db, at, r->owner, &v) : v.err;
}

enum err upload_grow(struct db *db, int64_t id, int64_t bytes, const struct limits *limits)
{
	struct reservation *row = reserve_find(db_reserve(db), id);
	struct campaign_at  at;

	if (!row)
		return ERR_NOT_FOUND;
	enum err e = campaign_look(&at, db, row->campaign, row->owner);
	if (e != ERR_OK && e != ERR_NOT_FOUND)
		return e;
	/* Another one has the id now: the end will say so. */
	if (at.number != row->number)
		at = (struct campaign_at){ .number = row->number };
	e = judge_bytes(row, db, &at, bytes, limits);
	if (e != ERR_OK)
		return e == ERR_CAMPAIGNS ? ERR_QUOTA : e;
	reserve_resize(row, bytes);
	return quota_show(db);
}

enum err upload_cancel(struct db *db, int64_t id)
{
	struct reservation r;

	reserve_take(&r, db_reserve(db), id);
	return ERR_OK;
}

/* --- End --- */

/* One end under way. */
struct end {
	struct upload_end    *u;
	struct db            *db;
	const struct limits  *limits;
	struct reservation    r;
	struct campaign_at    at;
	struct checkpoint_row two[2]; /* the newest before this one */
	bool                  conflict;
};

static enum err check_new(struct end *t)
{
	struct quota_figures has;
	enum err             e = quota_figures(&has, t->db, t->r.digest, t->limits);

	return e == ERR_OK && has.campaigns >= has.campaigns_max ? ERR_CAMPAIGNS : e;
}

/* What was reserved was judged already, unless the campaign became another player's meanwhile. */
static enum err check_quota(struct end *t)
{
	const uint8_t *owner = t->at.number != 0 ? t->at.owner : t->r.digest;
	int64_t        bytes = (int64_t)t->u->blob->bytes;

	if (bytes <= t->r.bytes && memcmp(owner, t->r.owner, sizeof(t->r.owner)) == 0)
		return ERR_OK;
	memcpy(t->r.owner, owner, sizeof(t->r.owner));
	return judge_bytes(&t->r, t->db, &t->at, bytes, t->limits) == ERR_OK ? ERR_OK : ERR_QUOTA;
}

static enum err check_end(struct end *t)
{
	enum err e = campaign_look(&t->at, t->db, t->r.campaign, t->r.digest);

	if (e != ERR_OK && e != ERR_NOT_FOUND)
		return e;
	if (t->r.number != 0 && t->at.number != t->r.number)
		return ERR_GONE;
	if (t->at.number == 0)
		e = check_new(t);
	else if (t->at.role == CAMPAIGN_STRANGER)
		e = ERR_NOT_ALLOWED;
	if (e == ERR_OK)
		e = check_match(&t->conflict, t->two, t->db, t->at.number, &t->r.match, t->r.keep_both);
	if (e == ERR_CONFLICT || t->conflict)
		t->u->newest = t->two[0];
	return e == ERR_OK ? check_quota(t) : e;
}

static enum err make_campaign(struct end *t)
{
	AUTO_QUERY q = db_query(t->db, Q_CAMPAIGN_INSERT);

	q_blob(&q, ":id", t->r.campaign, CAMPAIGN_ID_BYTES);
	q_blob(&q, ":owner", t->r.digest, PLAYER_ID_BYTES);
	q_int(&q, ":now_ms", t->u->wall_ms);
	enum err e = q_row(&q);
	if (e != ERR_OK)
		return e;
	t->at.number = q_get_int(&q, 0);
	t->at.role   = CAMPAIGN_OWNER;
	memcpy(t->at.owner, t->r.digest, sizeof(t->at.owner));
	t->u->made = true;
	return ERR_OK;
}

/* Rows that the begin made may have been lost with its batch. */
static enum err enroll_again(struct end *t)
{
	bool     is_new;
	int64_t  made_ms;
	enum err e = look_at_player(&is_new, &made_ms, t->db, t->r.digest, t->u->wall_ms);

	return e == ERR_OK ? enroll(t->db, &t->r, is_new, made_ms, t->u->wall_ms, t->limits) : e;
}

/* A clock far ahead would make this the newest for ever in the eyes of games, which compare stamps. */
static int64_t sound_stamp(int64_t stamp, int64_t wall_ms)
{
	return stamp > (wall_ms + UPTIME_DAY_MS) / 1000 ? wall_ms / 1000 : stamp;
}

static enum err add_checkpoint(struct end *t)
{
	struct upload_end     *u   = t->u;
	struct checkpoint_row *row = &u->stored;

	*row = (struct checkpoint_row){
		.bytes       = (int64_t)u->blob->bytes,
		.stored_ms   = u->wall_ms,
		.is_small    = thin_is_small((int64_t)u->blob->bytes, t->two[0].bytes, t->limits->cloud_small_percent),
		.is_conflict = t->conflict,
		.meta        = u->meta,
	};
	row->meta.stamp = sound_stamp(u->meta.stamp, u->wall_ms);
	memcpy(row->sha256, u->blob->sha256, sizeof(row->sha256));
	memcpy(row->by, t->r.digest, sizeof(row->by));
	return checkpoint_add(row, t->db, t->at.number, t->r.campaign);
}

static enum err tell_quota(struct end *t)
{
	if (t->at.role == CAMPAIGN_OWNER)
		return quota_figures(&t->u->quota, t->db, t->r.digest, t->limits);

	struct campaign_at now;
	enum err           e = campaign_look(&now, t->db, t->r.campaign, t->r.digest);
	t->u->quota          = (struct quota_figures){ .bytes = now.bytes };
	return e;
}

static enum err store(struct end *t)
{
	enum err e = enroll_again(t);

	if (e == ERR_OK && t->at.number == 0)
		e = make_campaign(t);
	if (e == ERR_OK)
		e = blob_take(t->db, t->u->blob);
	if (e == ERR_OK)
		e = add_checkpoint(t);
	if (e == ERR_OK)
		e = members_name(t->db, &t->at, t->u->members, t->u->member_count, t->limits);
	if (e == ERR_OK)
		e = member_use(t->db, t->at.number, t->r.digest);
	if (e == ERR_OK)
		e = campaign_thin(t->db, t->at.number, t->at.owner, t->u->keep);
	if (e == ERR_OK)
		e = tell_quota(t);
	return e == ERR_OK ? quota_show(t->db) : e;
}

enum err upload_end(struct upload_end *u, struct db *db, const struct limits *limits)
{
	struct end t = { .u = u, .db = db, .limits = limits };

	u->newest.version = u->stored.version = 0;
	u->made                               = false;
	u->quota                              = (struct quota_figures){ 0 };
	if (!reserve_take(&t.r, db_reserve(db), u->id))
		return ERR_NOT_FOUND;
	enum err e = check_end(&t);
	if (e == ERR_OK)
		e = store(&t);
	if (e != ERR_OK)
		return e;
	metric_inc(M_CLOUD_STORED);
	if (u->stored.is_small)
		metric_inc(M_CLOUD_SMALL);
	return ERR_OK;
}
