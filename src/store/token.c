#include "store/token.h"

#include "store/db.h"

#include <string.h>

enum err token_add(struct db *db, struct token_row *row)
{
	AUTO_QUERY q = db_query(db, Q_TOKEN_ADD);

	q_blob(&q, ":digest", row->digest, sizeof(row->digest));
	q_text(&q, ":name", row->name);
	q_int(&q, ":role", row->role);
	q_int(&q, ":made_ms", row->made_ms);
	q_text(&q, ":made_by", row->made_by);
	q_int(&q, ":expires_ms", row->expires_ms);

	enum err e = q_row(&q);
	if (e == ERR_OK)
		row->id = q_get_int(&q, 0);
	return e;
}

enum err token_revoke(struct db *db, int64_t id, int64_t now_ms)
{
	AUTO_QUERY q = db_query(db, Q_TOKEN_REVOKE);

	q_int(&q, ":id", id);
	q_int(&q, ":now_ms", now_ms);

	enum err e = q_done(&q);
	return e == ERR_OK && q_changed(&q) == 0 ? ERR_NOT_FOUND : e;
}

enum err token_used(struct db *db, int64_t id, int64_t used_ms)
{
	AUTO_QUERY q = db_query(db, Q_TOKEN_USED);

	q_int(&q, ":id", id);
	q_int(&q, ":used_ms", used_ms);
	return q_done(&q);
}

enum err token_thin(struct db *db, int64_t before_ms)
{
	AUTO_QUERY q = db_query(db, Q_TOKEN_THIN);

	q_int(&q, ":before_ms", before_ms);
	return q_done(&q);
}

static void read_row(struct token_row *out, const struct statement *q)
{
	memset(out, 0, sizeof(*out));
	out->id = q_get_int(q, 0);
	q_get_blob(q, 1, out->digest, sizeof(out->digest));
	q_get_text(q, 2, out->name, sizeof(out->name));
	out->role    = q_get_int(q, 3);
	out->made_ms = q_get_int(q, 4);
	q_get_text(q, 5, out->made_by, sizeof(out->made_by));
	out->expires_ms = q_get_int(q, 6);
	out->used_ms    = q_get_int(q, 7);
	out->revoked_ms = q_get_int(q, 8);
}

enum err token_each(struct db *db, int64_t after, int64_t rows,
                    enum err (*each)(const struct token_row *row, void *arg), void *arg)
{
	AUTO_QUERY       q = db_query(db, Q_TOKEN_PAGE);
	struct token_row row;
	enum err         e;

	q_int(&q, ":after", after);
	q_int(&q, ":rows", rows);
	while ((e = q_row(&q)) == ERR_OK) {
		read_row(&row, &q);
		e = each(&row, arg);
		if (e != ERR_OK)
			return e;
	}
	return e == ERR_NOT_FOUND ? ERR_OK : e;
}
