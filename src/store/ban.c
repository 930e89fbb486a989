#include "store/ban.h"

#include "store/db.h"
#include "store/upkeep.h"

#include <string.h>

enum err ban_row_expire(struct db *db, int64_t now_ms)
{
	if (upkeep_doubts_clock(db))
		return ERR_OK;

	AUTO_QUERY q = db_query(db, Q_BAN_EXPIRE);

	q_int(&q, ":now_ms", now_ms);
	return q_done(&q);
}

enum err ban_row_may_add(struct db *db, const struct ban_row *row, int64_t max)
{
	AUTO_QUERY q = db_query(db, Q_BAN_ROOM);

	q_int(&q, ":kind", row->kind);
	q_text(&q, ":value", row->value);
	q_int(&q, ":now_ms", row->made_ms);

	enum err e = q_row(&q);
	if (e != ERR_OK)
		return e;
	if (q_get_int(&q, 1) > 0)
		return ERR_EXISTS;
	return q_get_int(&q, 0) >= max ? ERR_NO_ROOM : ERR_OK;
}

/* Of this value there is one row only, and one that is over makes way for whoever wants it to be banned again. */
static enum err make_way(struct db *db, const struct ban_row *row)
{
	AUTO_QUERY q = db_query(db, Q_BAN_MAKE_WAY);

	q_int(&q, ":kind", row->kind);
	q_text(&q, ":value", row->value);
	q_int(&q, ":now_ms", row->made_ms);
	return q_done(&q);
}

enum err ban_row_add(struct db *db, struct ban_row *row, int64_t max)
{
	enum err e = ban_row_expire(db, row->made_ms);

	if (e == ERR_OK)
		e = ban_row_may_add(db, row, max);
	if (e == ERR_OK)
		e = make_way(db, row);
	if (e != ERR_OK)
		return e;

	AUTO_QUERY q = db_query(db, Q_BAN_ADD);

	q_int(&q, ":kind", row->kind);
	q_text(&q, ":value", row->value);
	q_text(&q, ":reason", row->reason);
	q_int(&q, ":made_ms", row->made_ms);
	q_text(&q, ":made_by", row->made_by);
	q_int(&q, ":until_ms", row->until_ms);
	e = q_row(&q);
	if (e == ERR_OK)
		row->id = q_get_int(&q, 0);
	return e;
}

enum err ban_row_remove(struct db *db, int64_t id)
{
	AUTO_QUERY q = db_query(db, Q_BAN_REMOVE);
	enum err   e;

	q_int(&q, ":id", id);
	e = q_done(&q);
	return e == ERR_OK && q_changed(&q) == 0 ? ERR_NOT_FOUND : e;
}

static void read_row(struct ban_row *out, const struct statement *q)
{
	memset(out, 0, sizeof(*out));
	out->id   = q_get_int(q, 0);
	out->kind = (int)q_get_int(q, 1);
	q_get_text(q, 2, out->value, sizeof(out->value));
	q_get_text(q, 3, out->reason, sizeof(out->reason));
	out->made_ms = q_get_int(q, 4);
	q_get_text(q, 5, out->made_by, sizeof(out->made_by));
	out->until_ms = q_get_int(q, 6); /* 0 for NULL */
}

enum err ban_row_find(struct ban_row *out, struct db *db, int64_t id)
{
	AUTO_QUERY q = db_query(db, Q_BAN_FIND);
	enum err   e;

	q_int(&q, ":id", id);
	e = q_row(&q);
	if (e == ERR_OK)
		read_row(out, &q);
	return e;
}

enum err ban_row_each(struct db *db, const struct ban_filter *f, enum err (*each)(const struct ban_row *row, void *arg),
                      void *arg)
{
	AUTO_QUERY     q = db_query(db, Q_BAN_PAGE);
	struct ban_row row;
	enum err       e;

	q_int(&q, ":after", f->after);
	q_int(&q, ":now_ms", f->now_ms);
	q_int(&q, ":kind", f->kind);
	q_text(&q, ":text", f->text);
	q_int(&q, ":rows", f->rows);
	while ((e = q_row(&q)) == ERR_OK) {
		read_row(&row, &q);
		e = each(&row, arg);
		if (e != ERR_OK)
			return e;
	}
	return e == ERR_NOT_FOUND ? ERR_OK : e;
}
