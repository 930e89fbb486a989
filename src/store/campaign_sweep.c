/*
 * What goes by the clock, in helpings, so that nobody waits long for the store.
 *
 * Marking campaigns costs one row, as with codes: a day of uptime notes up to which day of use they were marked on it.
 */
#include "store/forget.h"
#include "store/quota.h"

#include "store/upkeep.h"

/* One sweep under way. */
struct sweep {
	struct db           *db;
	const struct limits *limits;
	int64_t              wall_ms, day;
	int64_t              rows; /* that may still be removed */
};

static enum err drop_conflict(struct sweep *s)
{
	AUTO_QUERY q = db_query(s->db, Q_CONFLICT_DUE);
	uint8_t    sha256[BLOB_HASH_BYTES];

	q_int(&q, ":to_ms", s->wall_ms - s->limits->cloud_conflict_ms);
	q_int(&q, ":ahead_ms", s->wall_ms + UPTIME_DAY_MS);
	enum err e = q_row(&q);
	if (e != ERR_OK)
		return e;
	int64_t number = q_get_int(&q, 0), version = q_get_int(&q, 1);
	q_get_blob(&q, 2, sha256, sizeof(sha256));
	/* No statement may stand on a row that goes. */
	q_end(&q);
	s->rows--;
	return checkpoint_drop(s->db, number, version, sha256);
}

/* The first that the query finds up to this day. */
static enum err drop_campaign(struct sweep *s, enum query id, int64_t day)
{
	AUTO_QUERY q    = db_query(s->db, id);
	int64_t    rows = 0;

	q_int(&q, ":day", day);
	enum err e = q_row(&q);
	if (e != ERR_OK)
		return e;
	int64_t number = q_get_int(&q, 0);
	q_end(&q);
	e = campaign_drop(s->db, number, &rows);
	s->rows -= rows;
	return e;
}

/* While there is something, and room in this helping. ERR_OK when there is nothing left. */
static enum err drop_campaigns(struct sweep *s, enum query id, int64_t day)
{
	enum err e = ERR_OK;

	while (e == ERR_OK && s->rows > 0)
		e = drop_campaign(s, id, day);
	return e == ERR_NOT_FOUND ? ERR_OK : e;
}

static enum err drop_conflicts(struct sweep *s)
{
	enum err e = ERR_OK;

	while (e == ERR_OK && s->rows > 0)
		e = drop_conflict(s);
	return e == ERR_NOT_FOUND ? ERR_OK : e;
}

static enum err empty_trash(struct sweep *s)
{
	return drop_campaigns(s, Q_TRASH_DUE, s->day - s->limits->cloud_trash_days);
}

static enum err mark(struct sweep *s)
{
	int64_t marked_to = s->day - s->limits->cloud_days;
	if (marked_to < 0)
		return ERR_OK;

	AUTO_QUERY q = db_query(s->db, Q_CAMPAIGNS_MARK);

	q_int(&q, ":campaigns_to", marked_to);
	q_int(&q, ":day", s->day);
	return q_done(&q);
}

/* The last day of use that was marked long enough ago; -1 when there is none. */
static enum err find_expired_day(int64_t *out, const struct sweep *s)
{
	AUTO_QUERY q = db_query(s->db, Q_CAMPAIGNS_MARKED);

	q_int(&q, ":day", s->day - s->limits->cloud_marked_days);
	enum err e = q_row(&q);
	if (e != ERR_OK)
		return e;
	*out = q_get_null(&q, 0) ? -1 : q_get_int(&q, 0);
	/* An operator who made the time longer means the campaigns that are marked, too. */
	if (*out > s->day - s->limits->cloud_days)
		*out = s->day - s->limits->cloud_days;
	return ERR_OK;
}

static enum err drop_expired(struct sweep *s)
{
	int64_t  day;
	enum err e = find_expired_day(&day, s);

	return e == ERR_OK && day >= 0 ? drop_campaigns(s, Q_CAMPAIGN_EXPIRED, day) : e;
}

/* Of ids whose last campaign went long ago. */
static enum err forget_versions(struct sweep *s)
{
	if (s->rows <= 0)
		return ERR_OK;

	AUTO_QUERY q = db_query(s->db, Q_VERSION_FORGET);
	enum err   e;

	q_int(&q, ":day", s->day - s->limits->cloud_days);
	q_int(&q, ":max", s->rows);
	while ((e = q_row(&q)) == ERR_OK)
		s->rows--;
	return e == ERR_NOT_FOUND ? ERR_OK : e;
}

/*
 * Keeps room for one of the largest checkpoints, so that a begin, which sheds a bounded number of rows, seldom has to
 * shed at all and never comes to an end with many small ones.
 */
static enum err keep_room(struct sweep *s)
{
	struct quota_totals t;
	enum err            e = quota_totals(&t, s->db);

	if (e != ERR_OK)
		return e;
	int64_t over = t.bytes + t.trash + t.reserved + s->limits->cloud_checkpoint - s->limits->cloud_total;
	if (over <= 0 || s->rows <= 0 || t.spare + t.trash == 0)
		return ERR_OK;
	e = shed_total(&s->rows, s->db, over);
	return e == ERR_QUOTA ? ERR_OK : e;
}

static enum err forget_addrs(struct sweep *s)
{
	AUTO_QUERY q = db_query(s->db, Q_HOLDER_GROWN);

	q_int(&q, ":to_ms", quota_young_from(s->wall_ms, s->limits));
	q_int(&q, ":max", CAMPAIGN_SWEEP_MAX);
	return q_done(&q);
}

static enum err run_for_player(struct db *db, enum query id, const char *name, const uint8_t *player)
{
	AUTO_QUERY q = db_query(db, id);

	q_blob(&q, name, player, PLAYER_ID_BYTES);
	return q_done(&q);
}

struct idle {
	uint8_t players[CAMPAIGN_SWEEP_MAX][PLAYER_ID_BYTES];
	size_t  count;
};

static enum err find_idle(struct idle *out, struct sweep *s)
{
	AUTO_QUERY q = db_query(s->db, Q_HOLDER_IDLE);
	enum err   e;

	q_int(&q, ":to_ms", s->wall_ms - s->limits->tunnel_code_days * UPTIME_DAY_MS);
	q_int(&q, ":max", CAMPAIGN_SWEEP_MAX);
	for (out->count = 0; (e = q_row(&q)) == ERR_OK; out->count++)
		q_get_blob(&q, 0, out->players[out->count], PLAYER_ID_BYTES);
	return e == ERR_NOT_FOUND ? ERR_OK : e;
}

/* Players who stored long ago and hold nothing; one who has a code stays with it. */
static enum err forget_idle(struct sweep *s)
{
	struct idle found;
	enum err    e = find_idle(&found, s);

	for (size_t i = 0; e == ERR_OK && i < found.count; i++) {
		if (reserve_has(db_reserve(s->db), found.players[i]))
			continue;
		e = run_for_player(s->db, Q_HOLDER_REMOVE, ":player", found.players[i]);
		if (e == ERR_OK)
			e = run_for_player(s->db, Q_PLAYER_REMOVE, ":id", found.players[i]);
	}
	return e;
}

static enum err expire_forgotten(struct sweep *s)
{
	return forgotten_expire(s->db, s->wall_ms - s->limits->store_forgotten_days * UPTIME_DAY_MS);
}

enum err campaign_sweep(bool *more, struct db *db, int64_t wall_ms, int64_t mono_ms, const struct limits *limits)
{
	static enum err (*const steps[])(struct sweep * s) = { drop_conflicts, empty_trash, mark,
		                                               drop_expired,   keep_room,   forget_versions,
		                                               forget_addrs,   forget_idle, expire_forgotten };
	struct upkeep today;

	enum err e = upkeep_look(&today, db, wall_ms, mono_ms);
	if (e != ERR_OK)
		return e;
	struct sweep s = {
		.db = db, .limits = limits, .wall_ms = wall_ms, .day = today.day, .rows = CAMPAIGN_SWEEP_MAX
	};
	for (size_t i = 0; today.trusted && i < COUNT_OF(steps); i++) {
		e = steps[i](&s);
		if (e != ERR_OK)
			return e;
	}
	*more = s.rows <= 0;
	return quota_show(db);
}
