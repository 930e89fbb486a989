/*
 * What operators do with campaigns.
 */
#include "store/campaign_admin.h"

#include "store/campaign_rows.h"
#include "store/quota.h"

#include <string.h>

/* The campaign that has the id, whoever asks. */
static enum err look(struct campaign_at *at, struct db *db, const uint8_t *id)
{
	static const uint8_t nobody[PLAYER_ID_BYTES];

	return campaign_look(at, db, id, nobody);
}

/* --- The trash --- */

enum err campaign_revoke(struct campaign_revoke *r, struct db *db)
{
	struct campaign_at at;
	enum err           e = look(&at, db, r->id);

	if (e == ERR_OK)
		e = campaign_look_up(&r->was, db, r->id, at.number);
	if (e != ERR_OK || r->dry_run)
		return e;
	r->last_upload = reserve_disown(db_reserve(db), r->id, at.number);
	return campaign_put_in_trash(db, &at, r->wall_ms);
}

static enum err find_in_trash(int64_t *number, struct db *db, const uint8_t *id, int64_t wanted)
{
	AUTO_QUERY q = db_query(db, Q_TRASH_FIND);

	q_blob(&q, ":id", id, CAMPAIGN_ID_BYTES);
	q_int(&q, ":number", wanted);
	enum err e = q_row(&q);
	if (e == ERR_OK)
		*number = q_get_int(&q, 0);
	return e;
}

static enum err take_from_trash(struct db *db, int64_t number, int64_t wall_ms)
{
	AUTO_QUERY q = db_query(db, Q_CAMPAIGN_UNTRASH);

	q_int(&q, ":campaign", number);
	q_int(&q, ":now_ms", wall_ms);
	return q_done(&q);
}

enum err campaign_unrevoke(struct campaign_unrevoke *u, struct db *db)
{
	struct campaign_at at;
	int64_t            number = 0;
	enum err           e      = find_in_trash(&number, db, u->id, u->number);

	if (e == ERR_OK)
		e = look(&at, db, u->id);
	if (e != ERR_NOT_FOUND || number == 0)
		return e == ERR_OK ? ERR_EXISTS : e;
	e = u->dry_run ? ERR_OK : take_from_trash(db, number, u->wall_ms);
	if (e == ERR_OK)
		e = campaign_look_up(&u->is, db, u->id, number);
	return e == ERR_OK && !u->dry_run ? quota_show(db) : e;
}

static enum err count_in_trash(int64_t *out, struct db *db, const uint8_t *id)
{
	AUTO_QUERY q = db_query(db, Q_TRASH_COUNT);

	q_blob(&q, ":id", id, CAMPAIGN_ID_BYTES);
	enum err e = q_row(&q);
	if (e == ERR_OK)
		*out = q_get_int(&q, 0);
	return e;
}

enum err campaign_purge(struct campaign_purge *p, struct db *db)
{
	enum err e = count_in_trash(&p->purged, db, p->id);

	if (e == ERR_OK && p->purged == 0)
		return ERR_NOT_FOUND;
	for (int64_t i = 0; e == ERR_OK && i < p->purged && !p->dry_run; i++) {
		int64_t number = 0;

		e = find_in_trash(&number, db, p->id, 0);
		if (e == ERR_OK)
			e = campaign_drop(db, number, NULL);
	}
	return e == ERR_OK && !p->dry_run ? quota_show(db) : e;
}

/* --- Another owner --- */

static enum err set_owner(struct db *db, int64_t number, const uint8_t *player)
{
	AUTO_QUERY q = db_query(db, Q_CAMPAIGN_GIVE);

	q_int(&q, ":campaign", number);
	q_blob(&q, ":owner", player, PLAYER_ID_BYTES);
	return q_done(&q);
}

static enum err remove_member(struct db *db, int64_t number, const uint8_t *player)
{
	AUTO_QUERY q = db_query(db, Q_MEMBER_REMOVE);

	q_int(&q, ":campaign", number);
	q_blob(&q, ":player", player, PLAYER_ID_BYTES);
	return q_done(&q);
}

/* Whether the new owner has room for it; and the campaign for one more member, unless the two just change places. */
static enum err has_room(const struct campaign_transfer *t, struct db *db, const struct campaign_at *at)
{
	int64_t  members;
	bool     was_member;
	enum err e = member_look(&was_member, &members, db, at->number, t->player);

	if (e != ERR_OK)
		return e;
	if (t->quota.campaigns > t->quota.campaigns_max)
		return ERR_CAMPAIGNS;
	if (t->quota.bytes > t->quota.bytes_max)
		return ERR_QUOTA;
	return was_member || members < t->limits->cloud_members ? ERR_OK : ERR_MEMBERS;
}

static enum err give(const struct campaign_transfer *t, struct db *db, const struct campaign_at *at)
{
	/* A player who never stored has no sums yet; whose address that was is not known. */
	enum err e = quota_enroll(db, t->player, NULL, t->wall_ms);

	if (e == ERR_OK)
		e = remove_member(db, at->number, t->player);
	if (e == ERR_OK)
		e = set_owner(db, at->number, t->player);
	if (e == ERR_OK)
		e = member_put(db, at->number, t->old_owner, MEMBER_IS);
	return e == ERR_OK ? member_use(db, at->number, t->old_owner) : e;
}

enum err campaign_transfer(struct campaign_transfer *t, struct db *db)
{
	struct campaign_at at;
	enum err           e = look(&at, db, t->id);

	if (e != ERR_OK)
		return e;
	memcpy(t->old_owner, at.owner, sizeof(t->old_owner));
	e = player_is_known(db, t->player);
	if (e == ERR_OK)
		e = quota_figures(&t->quota, db, t->player, t->limits);
	if (e != ERR_OK || memcmp(at.owner, t->player, sizeof(at.owner)) == 0)
		return e == ERR_NOT_FOUND ? ERR_INVALID : e;
	t->quota.campaigns++;
	t->quota.bytes += at.bytes;
	e = t->force ? ERR_OK : has_room(t, db, &at);
	return e == ERR_OK && !t->dry_run ? give(t, db, &at) : e;
}

/* --- Members --- */

static enum err may_change(const struct campaign_member_change *m, struct db *db, const struct campaign_at *at)
{
	int64_t  members;
	bool     is_member;
	enum err e = member_look(&is_member, &members, db, at->number, m->player);

	if (e != ERR_OK)
		return e;
	if (!m->add)
		return is_member ? ERR_OK : ERR_NOT_FOUND;
	if (is_member || memcmp(at->owner, m->player, sizeof(at->owner)) == 0)
		return ERR_OK;
	return members < m->limits->cloud_members ? ERR_OK : ERR_MEMBERS;
}

enum err campaign_change_member(struct campaign_member_change *m, struct db *db)
{
	struct campaign_at at;
	enum err           e = look(&at, db, m->id);

	if (e != ERR_OK)
		return e;
	if (m->dry_run)
		return may_change(m, db, &at);
	return m->add ? campaign_member_add(db, m->id, at.owner, m->player, m->limits)
	              : campaign_member_remove(db, m->id, at.owner, m->player);
}

/* --- An older checkpoint --- */

static enum err next_version(int64_t *out, struct db *db, const uint8_t *id)
{
	AUTO_QUERY q = db_query(db, Q_VERSION_LAST);

	q_blob(&q, ":id", id, CAMPAIGN_ID_BYTES);
	enum err e = q_row(&q);
	if (e == ERR_OK)
		*out = q_get_int(&q, 0) + 1;
	return e;
}

/* What it would become: the newest stays what it is. */
static enum err foresee(struct campaign_go_back *g, struct db *db, const struct campaign_at *at)
{
	struct checkpoint_row row, two[2] = { { .version = 0 } };
	enum err              e = checkpoint_find(&row, db, at->number, g->version);

	if (e == ERR_OK)
		e = checkpoint_newest(two, db, at->number, false);
	return e == ERR_OK && two[0].version != g->version ? next_version(&g->version, db, g->id) : e;
}

enum err campaign_go_back(struct campaign_go_back *g, struct db *db)
{
	struct campaign_at    at;
	struct checkpoint_row row;
	enum err              e = look(&at, db, g->id);

	if (e != ERR_OK)
		return e;
	if (g->dry_run)
		return foresee(g, db, &at);
	e = campaign_restore(&row, db, g->id, at.owner, g->version, g->wall_ms, g->keep, g->limits);
	if (e == ERR_OK)
		g->version = row.version;
	return e;
}

/* --- In all --- */

enum err quota_overview(struct quota_overview *out, struct db *db)
{
	AUTO_QUERY          q = db_query(db, Q_QUOTA_OVERRIDE_COUNT);
	struct quota_totals t;
	enum err            e = q_row(&q);

	if (e == ERR_OK)
		e = quota_totals(&t, db);
	if (e == ERR_OK)
		*out = (struct quota_overview){ t.campaigns, t.bytes, t.spare, t.trash, q_get_int(&q, 0) };
	return e;
}
