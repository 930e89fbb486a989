/*
 * Makes room by removing older checkpoints, when somebody would be refused otherwise.
 */
#include "store/quota.h"

#include "base/metric.h"

/* One pass: how much was freed so far, how many rows may still go. */
struct pass {
	struct db *db;
	int64_t    freed, rows;
};

/* Removes the first row the query finds; ERR_NOT_FOUND: there is none. */
static enum err drop_first(struct pass *p, struct statement *q)
{
	uint8_t  sha256[BLOB_HASH_BYTES];
	enum err e = q_row(q);

	if (e != ERR_OK)
		return e;
	int64_t number = q_get_int(q, 0), version = q_get_int(q, 1);
	p->freed += q_get_int(q, 2);
	p->rows--;
	q_get_blob(q, 3, sha256, sizeof(sha256));
	/* No statement may stand on a row that goes. */
	q_end(q);
	metric_inc(M_CLOUD_SHED);
	return checkpoint_drop(p->db, number, version, sha256);
}

static enum err drop_of_campaign(struct pass *p, const void *number)
{
	AUTO_QUERY q = db_query(p->db, Q_SHED_OF_CAMPAIGN);

	q_int(&q, ":campaign", *(const int64_t *)number);
	return drop_first(p, &q);
}

static enum err drop_of_owner(struct pass *p, const void *owner)
{
	AUTO_QUERY q = db_query(p->db, Q_SHED_OF_OWNER);

	q_blob(&q, ":owner", owner, PLAYER_ID_BYTES);
	return drop_first(p, &q);
}

static enum err find_largest(uint8_t *player, struct db *db)
{
	AUTO_QUERY q = db_query(db, Q_SHED_HOLDER);
	enum err   e = q_row(&q);

	if (e == ERR_OK)
		q_get_blob(&q, 0, player, PLAYER_ID_BYTES);
	return e;
}

static enum err find_trash(int64_t *number, int64_t *bytes, struct db *db)
{
	AUTO_QUERY q = db_query(db, Q_TRASH_OLDEST);
	enum err   e = q_row(&q);

	if (e == ERR_OK) {
		*number = q_get_int(&q, 0);
		*bytes  = q_get_int(&q, 1);
	}
	return e;
}

/* What was deleted goes before anything that was not. */
static enum err drop_of_all(struct pass *p, const void *unused)
{
	int64_t number, bytes, rows = 0;
	uint8_t player[PLAYER_ID_BYTES];

	(void)unused;
	enum err e = find_trash(&number, &bytes, p->db);
	if (e == ERR_OK) {
		e = campaign_drop(p->db, number, &rows);
		p->rows -= rows;
		p->freed += bytes;
		return e;
	}
	if (e == ERR_NOT_FOUND)
		e = find_largest(player, p->db);
	return e == ERR_OK ? drop_of_owner(p, player) : e;
}

static enum err drop_until(struct pass *p, int64_t bytes, enum err (*drop)(struct pass *p, const void *of),
                           const void *of)
{
	enum err e = ERR_OK;

	while (e == ERR_OK && p->freed < bytes)
		e = p->rows > 0 ? drop(p, of) : ERR_QUOTA;
	return e == ERR_NOT_FOUND ? ERR_QUOTA : e;
}

enum err shed(struct db *db, const struct campaign_at *at, const uint8_t owner[PLAYER_ID_BYTES],
              const struct quota_verdict *v)
{
	struct pass p = { .db = db, .rows = SHED_MAX };

	enum err e = drop_until(&p, v->shed_campaign, drop_of_campaign, &at->number);
	if (e == ERR_OK)
		e = drop_until(&p, v->shed_owner, drop_of_owner, owner);
	return e == ERR_OK ? drop_until(&p, v->shed_total, drop_of_all, NULL) : e;
}

enum err shed_total(int64_t *rows, struct db *db, int64_t bytes)
{
	struct pass p = { .db = db, .rows = *rows };
	enum err    e = drop_until(&p, bytes, drop_of_all, NULL);

	*rows = p.rows;
	return e;
}
