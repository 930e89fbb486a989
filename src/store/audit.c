#include "store/audit.h"

#include "store/db.h"

#include <string.h>

enum err audit_begin(struct db *db, struct audit_row *row)
{
	AUTO_QUERY q = db_query(db, Q_AUDIT_BEGIN);

	q_int(&q, ":at_ms", row->at_ms);
	q_text(&q, ":who", row->who);
	q_text(&q, ":via", row->is_unix ? "unix" : "tcp");
	q_text(&q, ":address", row->address);
	q_text(&q, ":action", row->action);
	q_text(&q, ":target", row->target);
	q_text(&q, ":detail", row->detail);

	enum err e = q_row(&q);
	if (e == ERR_OK)
		row->id = q_get_int(&q, 0);
	return e;
}

enum err audit_end(struct db *db, const struct audit_row *row)
{
	AUTO_QUERY q = db_query(db, Q_AUDIT_END);

	q_int(&q, ":id", row->id);
	q_text(&q, ":target", row->target);
	q_text(&q, ":result", row->result);
	q_int(&q, ":ended_ms", row->ended_ms);
	return q_done(&q);
}

static enum err forget(struct db *db, int64_t before_ms)
{
	AUTO_QUERY q = db_query(db, Q_AUDIT_FORGET);

	q_int(&q, ":before_ms", before_ms);
	return q_done(&q);
}

static enum err thin(struct db *db, enum query which, int64_t rows)
{
	AUTO_QUERY q = db_query(db, which);

	q_int(&q, ":rows", rows);
	return q_done(&q);
}

enum err audit_thin(struct db *db, int64_t before_ms, int64_t rows)
{
	enum err e = forget(db, before_ms);

	if (e == ERR_OK)
		e = thin(db, Q_AUDIT_THIN_REFUSED, rows);
	return e == ERR_OK ? thin(db, Q_AUDIT_THIN_REST, rows) : e;
}

static void read_row(struct audit_row *out, const struct statement *q)
{
	char via[8];

	memset(out, 0, sizeof(*out));
	out->id    = q_get_int(q, 0);
	out->at_ms = q_get_int(q, 1);
	q_get_text(q, 2, out->who, sizeof(out->who));
	q_get_text(q, 3, via, sizeof(via));
	out->is_unix = strcmp(via, "unix") == 0;
	q_get_text(q, 4, out->address, sizeof(out->address));
	q_get_text(q, 5, out->action, sizeof(out->action));
	q_get_text(q, 6, out->target, sizeof(out->target));
	q_get_text(q, 7, out->detail, sizeof(out->detail));
	q_get_text(q, 8, out->result, sizeof(out->result));
	out->ended_ms = q_get_int(q, 9);
}

enum err audit_each(struct db *db, const struct audit_filter                       *f,
                    enum err (*each)(const struct audit_row *row, void *arg), void *arg)
{
	AUTO_QUERY       q = db_query(db, Q_AUDIT_PAGE);
	struct audit_row row;
	enum err         e;

	q_int(&q, ":after", f->after);
	q_int(&q, ":since_ms", f->since_ms);
	q_int(&q, ":until_ms", f->until_ms ? f->until_ms : INT64_MAX);
	q_text(&q, ":who", f->who);
	q_text(&q, ":action", f->action);
	q_text(&q, ":target", f->target);
	q_int(&q, ":rows", f->rows);
	while ((e = q_row(&q)) == ERR_OK) {
		read_row(&row, &q);
		e = each(&row, arg);
		if (e != ERR_OK)
			return e;
	}
	return e == ERR_NOT_FOUND ? ERR_OK : e;
}
