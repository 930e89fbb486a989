/*
 * The list of those who were forgotten.
 *
 * Each row carries its own key, so that rows of several databases stand beside each other after a restore. One database makes all
 * its rows with the same key, so looking for an id costs a hash and a look for each database whose rows came together here.
 */
#include "base/auto.h"
#include "crypt/hash.h"
#include "os/log.h"
#include "os/random.h"
#include "store/campaign_rows.h"
#include "store/forget.h"
#include "store/forgotten_list.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(HASH_KEYED_BYTES == 16 && HASH_KEY_BYTES == 32, "as the table has it");

/* ERR_NOT_FOUND: there is none behind it. */
static enum err next_salt(uint8_t salt[HASH_KEY_BYTES], struct db *db)
{
	AUTO_QUERY q = db_query(db, Q_FORGOTTEN_SALT);

	q_blob(&q, ":after", salt, HASH_KEY_BYTES);
	enum err e = q_row(&q);
	if (e == ERR_OK)
		q_get_blob(&q, 0, salt, HASH_KEY_BYTES);
	return e;
}

static void take(struct forgotten *out, const struct statement *q, int at)
{
	out->at_ms    = q_get_int(q, at);
	out->has_heir = !q_get_null(q, at + 1);
	q_get_blob(q, at + 1, out->heir, sizeof(out->heir));
}

static enum err find_tag(struct forgotten *out, struct db *db, const uint8_t *salt, const uint8_t *tag)
{
	AUTO_QUERY q = db_query(db, Q_FORGOTTEN_FIND);

	q_blob(&q, ":salt", salt, HASH_KEY_BYTES);
	q_blob(&q, ":tag", tag, HASH_KEYED_BYTES);
	enum err e = q_row(&q);
	if (e == ERR_OK)
		take(out, &q, 0);
	return e;
}

enum err forgotten_find(struct forgotten *out, struct db *db, const uint8_t id[PLAYER_ID_BYTES])
{
	uint8_t  salt[HASH_KEY_BYTES] = { 0 }, tag[HASH_KEYED_BYTES];
	enum err e;

	while ((e = next_salt(salt, db)) == ERR_OK) {
		hash_keyed(tag, salt, id, PLAYER_ID_BYTES);
		e = find_tag(out, db, salt, tag);
		if (e != ERR_NOT_FOUND)
			return e;
	}
	return e;
}

enum err forgotten_is(bool *out, struct db *db, const uint8_t id[PLAYER_ID_BYTES])
{
	struct forgotten f;
	enum err         e = forgotten_find(&f, db, id);

	*out = false;
	if (e != ERR_OK)
		return e == ERR_NOT_FOUND ? ERR_OK : e;
	e    = player_is_known(db, id);
	*out = e == ERR_NOT_FOUND;
	return e == ERR_NOT_FOUND ? ERR_OK : e;
}

static enum err put(struct db *db, const struct forgotten_row *row)
{
	AUTO_QUERY q = db_query(db, Q_FORGOTTEN_PUT);

	q_blob(&q, ":salt", row->salt, sizeof(row->salt));
	q_blob(&q, ":tag", row->tag, sizeof(row->tag));
	q_int(&q, ":at_ms", row->f.at_ms);
	q_blob(&q, ":heir", row->f.has_heir ? row->f.heir : NULL, sizeof(row->f.heir));
	db_set_forgot(db, true);
	return q_done(&q);
}

enum err forgotten_add(struct db *db, const uint8_t id[PLAYER_ID_BYTES], const struct forgotten *f)
{
	struct forgotten_row row = { .f = *f };
	enum err             e   = next_salt(row.salt, db);

	if (e == ERR_NOT_FOUND) {
		random_bytes(row.salt, sizeof(row.salt));
		e = ERR_OK;
	}
	hash_keyed(row.tag, row.salt, id, PLAYER_ID_BYTES);
	return e == ERR_OK ? put(db, &row) : e;
}

enum err forgotten_expire(struct db *db, int64_t before_ms)
{
	AUTO_QUERY q = db_query(db, Q_FORGOTTEN_EXPIRE);

	q_int(&q, ":before_ms", before_ms);
	enum err e = q_done(&q);
	if (e == ERR_OK && q_changed(&q) > 0)
		db_set_forgot(db, true);
	return e;
}

/* --- The list of another database --- */

enum err forgotten_append(struct forgotten_list *l, const struct forgotten_row *row)
{
	if (l->count == l->cap) {
		size_t cap  = l->cap ? 2 * l->cap : 64;
		void  *rows = realloc(l->rows, cap * sizeof(*l->rows));

		if (!rows)
			return ERR_NOMEM;
		l->rows = rows;
		l->cap  = cap;
	}
	l->rows[l->count++] = *row;
	return ERR_OK;
}

static int by_salt_and_tag(const void *a, const void *b)
{
	const struct forgotten_row *one = a, *other = b;
	int                         salt = memcmp(one->salt, other->salt, sizeof(one->salt));

	return salt != 0 ? salt : memcmp(one->tag, other->tag, sizeof(one->tag));
}

void forgotten_sort(struct forgotten_list *l)
{
	if (l->count > 0)
		qsort(l->rows, l->count, sizeof(*l->rows), by_salt_and_tag);
}

enum err forgotten_rows(struct forgotten_list *l, struct db *db)
{
	AUTO_QUERY q = db_query(db, Q_FORGOTTEN_EACH);
	enum err   e;

	while ((e = q_row(&q)) == ERR_OK) {
		struct forgotten_row row;

		q_get_blob(&q, 0, row.salt, sizeof(row.salt));
		q_get_blob(&q, 1, row.tag, sizeof(row.tag));
		take(&row.f, &q, 2);
		e = forgotten_append(l, &row);
		if (e != ERR_OK)
			return e;
	}
	return e == ERR_NOT_FOUND ? ERR_OK : e;
}

/* A database from before the list has none. */
static bool has_table(struct db *db)
{
	sqlite3_stmt *stmt = NULL;
	bool          has  = sqlite3_prepare_v2(db_handle(db), "SELECT 1 FROM forgotten", -1, &stmt, NULL) == SQLITE_OK;

	sqlite3_finalize(stmt);
	return has;
}

enum err forgotten_read(struct forgotten_list **out, const char *database)
{
	struct forgotten_list *l  = calloc(1, sizeof(*l));
	struct db             *db = NULL;
	enum err               e  = l ? db_open_reader(&db, database) : ERR_NOMEM;

	if (e == ERR_OK && has_table(db))
		e = forgotten_rows(l, db);
	db_close(db);
	if (e == ERR_OK)
		*out = l;
	else
		forgotten_list_free(l);
	return e;
}

void forgotten_list_free(struct forgotten_list *l)
{
	if (!l)
		return;
	free(l->rows);
	free(l);
}

size_t forgotten_list_count(const struct forgotten_list *l)
{
	return l->count;
}

/* --- Applied to a restored database --- */

struct applying {
	struct db                   *db;
	const struct forgotten_list *list;
	const struct limits         *limits;
	int64_t                      players;
	uint8_t (*salts)[HASH_KEY_BYTES]; /* of the list, each once */
	size_t salt_count;
	bool  *is_new; /* of each row: the database does not have it just so */
};

/* One that was made here before the backup has been applied to all that is in it. */
static enum err sort_out(struct applying *a)
{
	enum err e = ERR_OK;

	for (size_t i = 0; e == ERR_OK && i < a->list->count; i++) {
		const struct forgotten_row *row = &a->list->rows[i];
		struct forgotten            has;
		size_t                      at = 0;

		e            = find_tag(&has, a->db, row->salt, row->tag);
		a->is_new[i] = e == ERR_NOT_FOUND || (e == ERR_OK && has.at_ms < row->f.at_ms);
		e            = e == ERR_NOT_FOUND ? ERR_OK : e;
		while (at < a->salt_count && memcmp(a->salts[at], row->salt, HASH_KEY_BYTES) != 0)
			at++;
		if (at == a->salt_count)
			memcpy(a->salts[a->salt_count++], row->salt, HASH_KEY_BYTES);
	}
	return e;
}

/* Of rows that several databases made of him one with an heir: whoever got his campaigns has them still. */
static const struct forgotten_row *find_new(const struct applying *a, const uint8_t *id)
{
	const struct forgotten_row *found = NULL;

	for (size_t i = 0; i < a->salt_count; i++) {
		struct forgotten_row        wanted = { .f = { 0 } };
		const struct forgotten_row *row;

		memcpy(wanted.salt, a->salts[i], sizeof(wanted.salt));
		hash_keyed(wanted.tag, wanted.salt, id, PLAYER_ID_BYTES);
		row = bsearch(&wanted, a->list->rows, a->list->count, sizeof(wanted), by_salt_and_tag);
		if (row && a->is_new[row - a->list->rows] && (!found || !found->f.has_heir))
			found = row;
	}
	return found;
}

/* Whom he leaves his campaigns to: as it was said then, if that one is here. */
static enum err choose_heir(struct forget *f, struct db *db, const struct forgotten *row)
{
	enum err e = player_is_known(db, row->heir);

	f->has_heir   = e == ERR_OK;
	f->to_members = e == ERR_NOT_FOUND;
	memcpy(f->heir, row->heir, sizeof(f->heir));
	return e == ERR_NOT_FOUND ? ERR_OK : e;
}

static enum err forget_here(struct applying *a, const uint8_t *id, const struct forgotten *row)
{
	struct forget f = { .deletes = true, .wall_ms = row->at_ms, .limits = a->limits };
	enum err      e = ERR_OK;

	memcpy(f.id, id, sizeof(f.id));
	if (row->has_heir)
		e = choose_heir(&f, a->db, row);
	if (e == ERR_OK)
		e = forget_player(&f, a->db);
	a->players++;
	return e;
}

struct found {
	uint8_t          id[PLAYER_ID_BYTES];
	struct forgotten f;
};

/* Everybody who is in the database and newly on the list. Nothing is changed while the query walks over the rows. */
static enum err find_all(struct found **out, size_t *count, struct applying *a)
{
	AUTO_QUERY q   = db_query(a->db, Q_FORGOTTEN_WHO);
	size_t     cap = 0;
	enum err   e;

	while ((e = q_row(&q)) == ERR_OK) {
		struct found                found;
		const struct forgotten_row *row;

		q_get_blob(&q, 0, found.id, sizeof(found.id));
		row = find_new(a, found.id);
		if (!row)
			continue;
		found.f = row->f;
		if (*count == cap) {
			void *more = realloc(*out, (cap = 2 * cap + 16) * sizeof(found));

			if (!more)
				return ERR_NOMEM;
			*out = more;
		}
		(*out)[(*count)++] = found;
	}
	return e == ERR_NOT_FOUND ? ERR_OK : e;
}

/* The list first, so that who is forgotten here stands on it once only. */
static enum err apply(struct applying *a)
{
	AUTO(auto_free) struct found *found = NULL;
	size_t                        count = 0;
	enum err                      e     = sort_out(a);

	for (size_t i = 0; e == ERR_OK && i < a->list->count; i++)
		e = a->is_new[i] ? put(a->db, &a->list->rows[i]) : ERR_OK;
	if (e == ERR_OK)
		e = find_all(&found, &count, a);
	for (size_t i = 0; e == ERR_OK && i < count; i++)
		e = forget_here(a, found[i].id, &found[i].f);
	return e;
}

static enum err apply_at_once(struct applying *a)
{
	enum err e = db_run(a->db, Q_BATCH_BEGIN);

	if (e == ERR_OK)
		e = apply(a);
	if (e == ERR_OK)
		e = db_commit(a->db);
	if (e != ERR_OK)
		db_undo(a->db);
	return e;
}

enum err forgotten_apply(int64_t *players, struct db *db, const struct forgotten_list *l, const struct limits *limits)
{
	AUTO(auto_free) void *salts  = calloc(l->count + 1, HASH_KEY_BYTES);
	AUTO(auto_free) void *is_new = calloc(l->count + 1, sizeof(bool));
	struct applying       a      = { .db = db, .list = l, .limits = limits, .salts = salts, .is_new = is_new };

	if (!salts || !is_new)
		return ERR_NOMEM;
	enum err e = apply_at_once(&a);
	if (e == ERR_OK)
		*players = a.players;
	return e;
}
