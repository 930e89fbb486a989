/*
 * What players do with campaigns besides storing: leave, delete, restore, load.
 */
#include "store/campaign_rows.h"
#include "store/quota.h"
#include "store/thin_state.h"

#include <string.h>

struct trash {
	int64_t campaigns, first; /* the number of the one made first */
};

static enum err look_at_trash(struct trash *out, struct db *db, const uint8_t *owner)
{
	AUTO_QUERY q = db_query(db, Q_TRASH_OF_OWNER);

	q_blob(&q, ":owner", owner, PLAYER_ID_BYTES);
	enum err e = q_row(&q);
	if (e == ERR_OK)
		*out = (struct trash){ q_get_int(&q, 0), q_get_int(&q, 1) };
	return e;
}

/* Storing and deleting in turn must not make ever more rows. */
static enum err bound_trash(struct db *db, const uint8_t *owner)
{
	struct trash has;
	enum err     e = look_at_trash(&has, db, owner);

	while (e == ERR_OK && has.campaigns > CAMPAIGN_TRASH_EACH) {
		e = campaign_drop(db, has.first, NULL);
		if (e == ERR_OK)
			e = look_at_trash(&has, db, owner);
	}
	return e;
}

enum err campaign_put_in_trash(struct db *db, const struct campaign_at *at, int64_t wall_ms)
{
	AUTO_QUERY q = db_query(db, Q_CAMPAIGN_TRASH);

	q_int(&q, ":campaign", at->number);
	q_int(&q, ":now_ms", wall_ms);
	enum err e = q_done(&q);
	if (e == ERR_OK)
		e = bound_trash(db, at->owner);
	return e == ERR_OK ? quota_show(db) : e;
}

enum err campaign_role_of(enum campaign_role *out, struct db *db, const uint8_t id[CAMPAIGN_ID_BYTES],
                          const uint8_t player[PLAYER_ID_BYTES])
{
	struct campaign_at at;
	enum err           e = campaign_look_inside(&at, db, id, player);

	if (e == ERR_OK)
		*out = at.role;
	return e;
}

enum err campaign_forget(struct db *db, const uint8_t id[CAMPAIGN_ID_BYTES], const uint8_t player[PLAYER_ID_BYTES],
                         int64_t wall_ms)
{
	struct campaign_at at;
	enum err           e = campaign_look_inside(&at, db, id, player);

	if (e != ERR_OK)
		return e;
	return at.role == CAMPAIGN_OWNER ? campaign_put_in_trash(db, &at, wall_ms)
	                                 : member_put(db, at.number, player, MEMBER_LEFT);
}

/* Whether the owner and the server have room for what they hold now. */
static enum err fits(bool *out, struct db *db, const uint8_t *owner, const struct limits *limits)
{
	struct quota_figures has;
	struct quota_totals  all;

	enum err e = quota_figures(&has, db, owner, limits);
	if (e == ERR_OK)
		e = quota_totals(&all, db);
	if (e == ERR_OK)
		*out = has.bytes <= has.bytes_max && all.bytes + all.trash + all.reserved <= limits->cloud_total;
	return e;
}

/* The owner's choice must not fail for lack of room: the copy then takes the place of what it was made from. */
static enum err make_newest(struct checkpoint_row *row, struct db *db, const struct campaign_at *at,
                            const uint8_t id[CAMPAIGN_ID_BYTES], const struct limits *limits)
{
	int64_t  version = row->version;
	bool     room    = true;
	enum err e       = checkpoint_add(row, db, at->number, id);

	if (e == ERR_OK)
		e = fits(&room, db, at->owner, limits);
	return e == ERR_OK && !room ? checkpoint_drop(db, at->number, version, row->sha256) : e;
}

static enum err restore(struct checkpoint_row *row, struct db *db, const struct campaign_at *at,
                        const uint8_t id[CAMPAIGN_ID_BYTES], int64_t wall_ms, int64_t keep, const struct limits *limits)
{
	struct checkpoint_row two[2];
	enum err              e = checkpoint_newest(two, db, at->number, false);

	if (e != ERR_OK || row->version == two[0].version)
		return e;
	row->is_conflict = false;
	row->is_small    = thin_is_small(row->bytes, two[0].bytes, limits->cloud_small_percent);
	row->stored_ms   = wall_ms;
	memcpy(row->by, at->owner, sizeof(row->by));
	e = make_newest(row, db, at, id, limits);
	if (e == ERR_OK)
		e = campaign_thin(db, at->number, at->owner, keep);
	return e == ERR_OK ? quota_show(db) : e;
}

enum err campaign_restore(struct checkpoint_row *out, struct db *db, const uint8_t id[CAMPAIGN_ID_BYTES],
                          const uint8_t player[PLAYER_ID_BYTES], int64_t version, int64_t wall_ms, int64_t keep,
                          const struct limits *limits)
{
	struct campaign_at    at;
	struct checkpoint_row row;

	enum err e = campaign_look_as_owner(&at, db, id, player);
	if (e == ERR_OK)
		e = checkpoint_find(&row, db, at.number, version);
	if (e == ERR_OK)
		e = restore(&row, db, &at, id, wall_ms, keep, limits);
	if (e == ERR_OK)
		*out = row;
	return e;
}

static enum err use(struct db *db, int64_t number, int64_t wall_ms)
{
	AUTO_QUERY q = db_query(db, Q_CAMPAIGN_USED);

	q_int(&q, ":campaign", number);
	q_int(&q, ":now_ms", wall_ms);
	return q_done(&q);
}

enum err campaign_loaded(struct db *db, const uint8_t id[CAMPAIGN_ID_BYTES], const uint8_t player[PLAYER_ID_BYTES],
                         int64_t wall_ms)
{
	struct campaign_at at;

	enum err e = campaign_look_inside(&at, db, id, player);
	if (e == ERR_OK)
		e = use(db, at.number, wall_ms);
	return e == ERR_OK ? member_use(db, at.number, player) : e;
}
