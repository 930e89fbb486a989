/*
 * Tables, views, triggers and indexes of a backup, against those that the migrations make: a trigger that nobody of us wrote
 * would run from then on, and without a table the server would not start.
 */
#include "base/auto.h"
#include "base/text.h"
#include "gen/migration.h"
#include "store/restore_inside.h"

#include <sqlite3.h>
#include <string.h>

/* What SQLite keeps for its planner is there or not, and is no part of it. */
#define LIST                                                                                                        \
	"SELECT type, name, coalesce(sql, '') FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_stat%' ESCAPE '\\' " \
	"ORDER BY type, name"

struct list {
	sqlite3_stmt *stmt;
	int           rc;
};

static void close_dbp(sqlite3 **db)
{
	sqlite3_close(*db);
}

static void finish(struct list *l)
{
	sqlite3_finalize(l->stmt);
}

static void next(struct list *l)
{
	l->rc = sqlite3_step(l->stmt);
}

static void begin(struct list *l, sqlite3 *db)
{
	l->rc = sqlite3_prepare_v2(db, LIST, -1, &l->stmt, NULL);
	if (l->rc == SQLITE_OK)
		next(l);
}

static const char *column(const struct list *l, int i)
{
	const char *text = (const char *)sqlite3_column_text(l->stmt, i);

	return text ? text : "";
}

static int64_t ask_number(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *stmt = NULL;
	int64_t       n    = -1;

	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW)
		n = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return n;
}

/* Past what says nothing: blanks, comments, and the quotes that one version of SQLite writes and another does not. */
static const char *skip(const char *at)
{
	for (;;) {
		if (*at && strchr(" \t\r\n\"", *at))
			at++;
		else if (at[0] == '-' && at[1] == '-')
			at += strcspn(at, "\n");
		else if (at[0] == '/' && at[1] == '*' && strstr(at + 2, "*/"))
			at = strstr(at + 2, "*/") + 2;
		else
			return at;
	}
}

static bool is_same(const char *a, const char *b)
{
	for (a = skip(a), b = skip(b); *a && *a == *b; a = skip(a + 1), b = skip(b + 1))
		;
	return *a == *b;
}

static void say(struct restore *r, const struct list *l, const char *what)
{
	char name[200];

	r->is_hopeless = true;
	text_escape(name, sizeof(name), column(l, 1), strlen(column(l, 1)));
	restore_damage(r, "%s/%s: the database is damaged, or was changed by hand: its %s %s %s", r->src, r->entry.name,
	               column(l, 0), name, what);
}

/* Both in the same order. */
static void compare(struct restore *r, struct list *has, struct list *wants)
{
	while (has->rc == SQLITE_ROW || wants->rc == SQLITE_ROW) {
		int order = has->rc != SQLITE_ROW ? 1 : wants->rc != SQLITE_ROW ? -1 : 0;

		if (order == 0)
			order = strcmp(column(has, 0), column(wants, 0));
		if (order == 0)
			order = strcmp(column(has, 1), column(wants, 1));
		if (order < 0)
			say(r, has, "is none that coopd made");
		else if (order > 0)
			say(r, wants, "is missing");
		else if (!is_same(column(has, 2), column(wants, 2)))
			say(r, has, "is not as coopd made it");
		if (order <= 0)
			next(has);
		if (order >= 0)
			next(wants);
	}
}

/* As the migrations up to the backup's make it, in memory. */
static int make_fresh(sqlite3 **out, int version)
{
	int rc = sqlite3_open(":memory:", out);

	for (int i = 0; i < version && rc == SQLITE_OK; i++)
		rc = sqlite3_exec(*out, migration_texts[i].sql, NULL, NULL, NULL);
	return rc;
}

enum err restore_check_schema(struct restore *r, sqlite3 *db)
{
	AUTO(close_dbp) sqlite3 *fresh = NULL;
	AUTO(finish) struct list has = { .stmt = NULL }, wants = { .stmt = NULL };
	int64_t                  owner = ask_number(db, "PRAGMA application_id");
	int                      rc    = make_fresh(&fresh, r->schema);

	if (rc != SQLITE_OK)
		return restore_refuse(r, ERR_NOMEM, "the layout of the database cannot be checked: %s",
		                      fresh ? sqlite3_errmsg(fresh) : sqlite3_errstr(rc));
	if (owner != ask_number(fresh, "PRAGMA application_id")) {
		r->is_hopeless = true;
		restore_damage(r, "%s/%s: the database is no database of coopd: its application_id is %lld", r->src,
		               r->entry.name, (long long)owner);
		return ERR_OK;
	}
	begin(&has, db);
	begin(&wants, fresh);
	compare(r, &has, &wants);
	if (has.rc == SQLITE_DONE && wants.rc == SQLITE_DONE)
		return ERR_OK;
	return restore_refuse(r, ERR_DAMAGED, "%s/%s: the layout of the database cannot be read: %s", r->src,
	                      r->entry.name, has.rc == SQLITE_DONE ? sqlite3_errmsg(fresh) : sqlite3_errmsg(db));
}
