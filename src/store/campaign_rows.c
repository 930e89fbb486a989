/*
 * Checkpoints as rows: found, added, removed, thinned.
 */
#include "store/campaign_rows.h"

#include "store/thin_state.h"

#include <string.h>

#define ROWS_MAX (CHECKPOINTS_MAX + 1) /* with the one that was just added */

_Static_assert(CHECKPOINTS_MAX == THIN_MAX, "what is decided to stay has room");

static enum campaign_role role_of(const struct statement *q, const uint8_t *owner, const uint8_t *player)
{
	if (memcmp(owner, player, PLAYER_ID_BYTES) == 0)
		return CAMPAIGN_OWNER;
	return !q_get_null(q, 4) && q_get_int(q, 4) == MEMBER_IS ? CAMPAIGN_MEMBER : CAMPAIGN_STRANGER;
}

enum err campaign_look(struct campaign_at *out, struct db *db, const uint8_t id[CAMPAIGN_ID_BYTES],
                       const uint8_t player[PLAYER_ID_BYTES])
{
	AUTO_QUERY q = db_query(db, Q_CAMPAIGN_LOOK);

	*out = (struct campaign_at){ 0 };
	q_blob(&q, ":id", id, CAMPAIGN_ID_BYTES);
	q_blob(&q, ":player", player, PLAYER_ID_BYTES);
	enum err e = q_row(&q);
	if (e != ERR_OK)
		return e;
	out->number = q_get_int(&q, 0);
	q_get_blob(&q, 1, out->owner, sizeof(out->owner));
	out->bytes = q_get_int(&q, 2);
	out->spare = q_get_int(&q, 3);
	out->role  = role_of(&q, out->owner, player);
	return ERR_OK;
}

enum err campaign_look_inside(struct campaign_at *out, struct db *db, const uint8_t id[CAMPAIGN_ID_BYTES],
                              const uint8_t player[PLAYER_ID_BYTES])
{
	enum err e = campaign_look(out, db, id, player);

	return e == ERR_OK && out->role == CAMPAIGN_STRANGER ? ERR_NOT_FOUND : e;
}

enum err campaign_look_as_owner(struct campaign_at *out, struct db *db, const uint8_t id[CAMPAIGN_ID_BYTES],
                                const uint8_t player[PLAYER_ID_BYTES])
{
	enum err e = campaign_look(out, db, id, player);

	return e == ERR_OK && out->role != CAMPAIGN_OWNER ? ERR_NOT_FOUND : e;
}

void checkpoint_read(struct checkpoint_row *out, const struct statement *q)
{
	out->version = q_get_int(q, 0);
	q_get_blob(q, 1, out->sha256, sizeof(out->sha256));
	out->bytes     = q_get_int(q, 2);
	out->stored_ms = q_get_int(q, 3);
	q_get_blob(q, 4, out->by, sizeof(out->by));
	out->is_small          = q_get_int(q, 5) != 0;
	out->is_conflict       = q_get_int(q, 6) != 0;
	out->meta.is_container = q_get_int(q, 7) != 0;
	out->meta.stamp        = q_get_int(q, 8);
	q_get_text(q, 9, out->meta.name, sizeof(out->meta.name));
	q_get_text(q, 10, out->meta.level, sizeof(out->meta.level));
	q_get_text(q, 11, out->meta.checkpoint, sizeof(out->meta.checkpoint));
	q_get_text(q, 12, out->meta.hostname, sizeof(out->meta.hostname));
}

enum err checkpoint_newest(struct checkpoint_row out[2], struct db *db, int64_t number, bool containers_only)
{
	AUTO_QUERY q = db_query(db, Q_CHECKPOINT_NEWEST);
	enum err   e = ERR_OK;

	q_int(&q, ":campaign", number);
	q_int(&q, ":containers", containers_only);
	for (int i = 0; i < 2; i++) {
		out[i].version = 0;
		if (e == ERR_OK && (e = q_row(&q)) == ERR_OK)
			checkpoint_read(&out[i], &q);
	}
	return e == ERR_NOT_FOUND ? ERR_OK : e;
}

enum err checkpoint_find(struct checkpoint_row *out, struct db *db, int64_t number, int64_t version)
{
	AUTO_QUERY q = db_query(db, Q_CHECKPOINT_FIND);

	q_int(&q, ":campaign", number);
	q_int(&q, ":version", version);
	enum err e = q_row(&q);
	if (e == ERR_OK)
		checkpoint_read(out, &q);
	return e;
}

static enum err next_version(int64_t *out, struct db *db, const uint8_t *id)
{
	AUTO_QUERY q = db_query(db, Q_VERSION_NEXT);

	q_blob(&q, ":id", id, CAMPAIGN_ID_BYTES);
	enum err e = q_row(&q);
	if (e == ERR_OK)
		*out = q_get_int(&q, 0);
	return e;
}

static enum err insert(struct db *db, int64_t number, const struct checkpoint_row *row)
{
	AUTO_QUERY q = db_query(db, Q_CHECKPOINT_INSERT);

	q_int(&q, ":campaign", number);
	q_int(&q, ":version", row->version);
	q_blob(&q, ":sha256", row->sha256, sizeof(row->sha256));
	q_int(&q, ":bytes", row->bytes);
	q_int(&q, ":stored_ms", row->stored_ms);
	q_blob(&q, ":player", row->by, sizeof(row->by));
	q_int(&q, ":is_small", row->is_small);
	q_int(&q, ":is_conflict", row->is_conflict);
	q_int(&q, ":is_container", row->meta.is_container);
	q_int(&q, ":stamp", row->meta.stamp);
	q_text(&q, ":name", row->meta.name);
	q_text(&q, ":level", row->meta.level);
	q_text(&q, ":checkpoint", row->meta.checkpoint);
	q_text(&q, ":hostname", row->meta.hostname);
	return q_done(&q);
}

enum err campaign_run(struct db *db, enum query id, int64_t number)
{
	AUTO_QUERY q = db_query(db, id);

	q_int(&q, ":campaign", number);
	return q_done(&q);
}

static enum err note_stored(struct db *db, int64_t number, int64_t now_ms)
{
	AUTO_QUERY q = db_query(db, Q_CAMPAIGN_STORED);

	q_int(&q, ":campaign", number);
	q_int(&q, ":now_ms", now_ms);
	return q_done(&q);
}

enum err checkpoint_add(struct checkpoint_row *row, struct db *db, int64_t number, const uint8_t id[CAMPAIGN_ID_BYTES])
{
	enum err e = next_version(&row->version, db, id);

	if (e == ERR_OK)
		e = insert(db, number, row);
	return e == ERR_OK ? note_stored(db, number, row->stored_ms) : e;
}

static enum err remove_row(struct db *db, int64_t number, int64_t version)
{
	AUTO_QUERY q = db_query(db, Q_CHECKPOINT_REMOVE);

	q_int(&q, ":campaign", number);
	q_int(&q, ":version", version);
	return q_done(&q);
}

enum err checkpoint_drop(struct db *db, int64_t number, int64_t version, const uint8_t sha256[BLOB_HASH_BYTES])
{
	enum err e = remove_row(db, number, version);

	return e == ERR_OK ? blob_let_go(db, sha256) : e;
}

/* All rows of one campaign. */
struct rows {
	struct thin_row thin[ROWS_MAX];
	int64_t         version[ROWS_MAX];
	uint8_t         sha256[ROWS_MAX][BLOB_HASH_BYTES];
	enum thin_spare was[ROWS_MAX];
	size_t          count;
};

static enum err read_rows(struct rows *r, struct db *db, int64_t number)
{
	AUTO_QUERY q = db_query(db, Q_CHECKPOINT_THIN);
	enum err   e;

	q_int(&q, ":campaign", number);
	for (r->count = 0; (e = q_row(&q)) == ERR_OK; r->count++) {
		struct thin_row *row = &r->thin[r->count];

		if (r->count == ROWS_MAX)
			return ERR_INTERNAL;
		r->version[r->count] = q_get_int(&q, 0);
		q_get_blob(&q, 1, r->sha256[r->count], BLOB_HASH_BYTES);
		row->stored_ms = q_get_int(&q, 2);
		q_get_blob(&q, 3, row->player, sizeof(row->player));
		row->is_small    = q_get_int(&q, 4) != 0;
		row->is_conflict = q_get_int(&q, 5) != 0;
		r->was[r->count] = (enum thin_spare)q_get_int(&q, 6);
	}
	return e == ERR_NOT_FOUND ? ERR_OK : e;
}

static enum err set_spare(struct db *db, int64_t number, int64_t version, enum thin_spare spare)
{
	AUTO_QUERY q = db_query(db, Q_CHECKPOINT_SPARE);

	q_int(&q, ":campaign", number);
	q_int(&q, ":version", version);
	q_int(&q, ":spare", spare);
	return q_done(&q);
}

enum err campaign_thin(struct db *db, int64_t number, const uint8_t owner[PLAYER_ID_BYTES], int64_t keep)
{
	struct rows r;
	enum err    e = read_rows(&r, db, number);

	if (e != ERR_OK)
		return e;
	thin_decide(r.thin, r.count, owner, keep);
	for (size_t i = 0; i < r.count && e == ERR_OK; i++) {
		if (!r.thin[i].keep)
			e = checkpoint_drop(db, number, r.version[i], r.sha256[i]);
		else if (r.thin[i].spare != r.was[i])
			e = set_spare(db, number, r.version[i], r.thin[i].spare);
	}
	return e;
}

enum err campaign_drop(struct db *db, int64_t number, int64_t *rows)
{
	struct rows r;
	enum err    e = read_rows(&r, db, number);

	for (size_t i = 0; e == ERR_OK && i < r.count; i++)
		e = checkpoint_drop(db, number, r.version[i], r.sha256[i]);
	if (e == ERR_OK)
		e = campaign_run(db, Q_CAMPAIGN_REMOVE, number);
	if (e == ERR_OK && rows)
		*rows += (int64_t)r.count + 1;
	return e;
}
