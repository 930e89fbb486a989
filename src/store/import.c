#include "store/import.h"

#include "store/campaign_rows.h"
#include "store/forget.h"
#include "store/player_admin.h"
#include "store/quota.h"
#include "store/thin_state.h"

#include <string.h>

/* Whether the answer is there; *one (may be NULL) is its number. */
static enum err ask(bool *is_there, int64_t *one, struct db *db, enum query what, const uint8_t *id)
{
	AUTO_QUERY q = db_query(db, what);

	q_blob(&q, ":id", id, PLAYER_ID_BYTES);
	enum err e = q_row(&q);
	*is_there  = e == ERR_OK;
	if (e == ERR_OK && one)
		*one = q_get_int(&q, 0);
	return e == ERR_NOT_FOUND ? ERR_OK : e;
}

static enum err add_player(struct db *db, const uint8_t *id, int64_t made_ms)
{
	AUTO_QUERY q                           = db_query(db, Q_IMPORT_PLAYER);
	uint8_t    digest[PLAYER_DIGEST_BYTES] = { 0 };

	memcpy(digest, id, PLAYER_ID_BYTES);
	q_blob(&q, ":id", id, PLAYER_ID_BYTES);
	q_blob(&q, ":digest", digest, sizeof(digest));
	q_int(&q, ":made_ms", made_ms);
	return q_done(&q);
}

/* --- Codes --- */

static enum err judge_code(struct import_code *c, struct db *db)
{
	uint8_t  holder[PLAYER_ID_BYTES];
	bool     has, forgotten = false;
	int64_t  code = 0;
	enum err e    = ask(&has, &code, db, Q_IMPORT_CODE_OF, c->id);

	if (e == ERR_OK)
		e = forgotten_is(&forgotten, db, c->id);
	if (e != ERR_OK)
		return e;
	c->verdict = code == c->code ? IMPORT_SAME
	             : has           ? IMPORT_OTHER_CODE
	             : forgotten     ? IMPORT_FORGOTTEN
	                             : IMPORT_NEW;
	if (c->verdict != IMPORT_NEW)
		return ERR_OK;
	e = player_of_code(holder, db, c->code);
	if (e == ERR_OK)
		c->verdict = IMPORT_TAKEN;
	return e == ERR_NOT_FOUND ? ERR_OK : e;
}

/* Whether friends ever joined is not known: so that it is not among those that are given away first, it counts as if they had. */
static enum err add_code(const struct import_code *c, struct db *db)
{
	AUTO_QUERY q = db_query(db, Q_CODE_INSERT);

	q_int(&q, ":code", c->code);
	q_blob(&q, ":player", c->id, sizeof(c->id));
	q_int(&q, ":used_ms", c->used_ms);
	q_int(&q, ":joined", 1);
	return q_done(&q);
}

enum err import_code(struct import_code *c, struct db *db)
{
	enum err e = judge_code(c, db);

	if (e != ERR_OK || c->dry_run || c->verdict != IMPORT_NEW)
		return e;
	e = add_player(db, c->id, c->used_ms);
	return e == ERR_OK ? add_code(c, db) : e;
}

/* --- Campaigns --- */

static enum err judge_campaign(struct import_campaign *c, struct db *db)
{
	struct campaign_at at;
	bool               was_here = false, forgotten = false;
	enum err           e = campaign_look(&at, db, c->id, c->owner);

	if (e == ERR_OK) {
		c->verdict = at.role == CAMPAIGN_OWNER ? IMPORT_SAME : IMPORT_TAKEN;
		return ERR_OK;
	}
	if (e != ERR_NOT_FOUND)
		return e;
	e = ask(&was_here, NULL, db, Q_IMPORT_WAS_HERE, c->id);
	if (e == ERR_OK)
		e = forgotten_is(&forgotten, db, c->owner);
	c->verdict = was_here ? IMPORT_DELETED : forgotten ? IMPORT_FORGOTTEN : IMPORT_NEW;
	return e;
}

static enum err make(struct campaign_at *at, const struct import_campaign *c, struct db *db)
{
	AUTO_QUERY q = db_query(db, Q_CAMPAIGN_INSERT);

	q_blob(&q, ":id", c->id, sizeof(c->id));
	q_blob(&q, ":owner", c->owner, sizeof(c->owner));
	q_int(&q, ":now_ms", c->made_ms);
	enum err e = q_row(&q);
	if (e != ERR_OK)
		return e;
	*at = (struct campaign_at){ .number = q_get_int(&q, 0), .role = CAMPAIGN_OWNER };
	memcpy(at->owner, c->owner, sizeof(at->owner));
	return ERR_OK;
}

static enum err add_checkpoint(const struct import_campaign *c, struct db *db, int64_t number, size_t at)
{
	const struct import_checkpoint *k      = c->checkpoints[at];
	int64_t                         before = at > 0 ? (int64_t)c->checkpoints[at - 1]->blob->bytes : 0;
	struct checkpoint_row           row    = {
			     .bytes     = (int64_t)k->blob->bytes,
			     .stored_ms = k->stored_ms,
			     .is_small  = thin_is_small((int64_t)k->blob->bytes, before, c->limits->cloud_small_percent),
			     .meta      = k->meta,
	};
	enum err e = blob_take(db, k->blob);

	memcpy(row.sha256, k->blob->sha256, sizeof(row.sha256));
	/* Games compare stamps: one far ahead would be the newest for ever. */
	if (row.meta.stamp > (c->wall_ms + UPTIME_DAY_MS) / 1000)
		row.meta.stamp = k->stored_ms / 1000;
	/* Who stored it is not known. */
	memcpy(row.by, c->owner, sizeof(row.by));
	return e == ERR_OK ? checkpoint_add(&row, db, number, c->id) : e;
}

static enum err set_times(const struct import_campaign *c, struct db *db, int64_t number)
{
	AUTO_QUERY q = db_query(db, Q_IMPORT_TIMES);

	q_int(&q, ":campaign", number);
	q_int(&q, ":made_ms", c->made_ms);
	q_int(&q, ":stored_ms", c->stored_ms);
	return q_done(&q);
}

static enum err add_campaign(const struct import_campaign *c, struct db *db)
{
	struct campaign_at at = { .number = 0 };
	enum err           e  = add_player(db, c->owner, c->made_ms);

	if (e == ERR_OK)
		e = quota_enroll(db, c->owner, NULL, c->wall_ms);
	if (e == ERR_OK)
		e = make(&at, c, db);
	for (size_t i = 0; e == ERR_OK && i < c->checkpoint_count; i++)
		e = add_checkpoint(c, db, at.number, i);
	if (e == ERR_OK)
		e = members_name(db, &at, c->members, c->member_count, c->limits);
	if (e == ERR_OK)
		e = campaign_thin(db, at.number, at.owner, c->keep);
	if (e == ERR_OK)
		e = set_times(c, db, at.number);
	return e == ERR_OK ? quota_show(db) : e;
}

enum err import_campaign(struct import_campaign *c, struct db *db)
{
	enum err e = judge_campaign(c, db);

	return e == ERR_OK && !c->dry_run && c->verdict == IMPORT_NEW ? add_campaign(c, db) : e;
}
