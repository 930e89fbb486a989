/*
 * Players who are forgotten: what goes, what stays, and that a database from before is brought up to the list.
 */
#include "store/forget.h"

#include "base/hex.h"
#include "os/file.h"
#include "store/audit.h"
#include "store/ban.h"
#include "store/copies.h"
#include "store/import.h"
#include "support/data_folder.h"
#include "support/depot.h"

#include <criterion/criterion.h>

#include <ctype.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ANNA, BEN, CARL, DORA };

static const int ben_and_carl[] = { BEN, CARL, -1 };
static const int ben_only[]     = { BEN, -1 };
static const int carl_only[]    = { CARL, -1 };

static struct forget of(struct depot *d, int player)
{
	struct forget f = { .wall_ms = d->wall_ms, .limits = d->limits };

	memcpy(f.id, depot_player(player), sizeof(f.id));
	return f;
}

static struct forget with_heir(struct depot *d, int player, int heir)
{
	struct forget f = of(d, player);

	f.has_heir = true;
	memcpy(f.heir, depot_player(heir), sizeof(f.heir));
	return f;
}

static const char *hex_of(int player)
{
	static char hex[17];

	hex_encode(hex, depot_player(player), 8);
	return hex;
}

static enum err note_action(struct depot *d, const char *target, const char *detail)
{
	struct audit_row row = { .at_ms = d->wall_ms, .is_unix = true };

	snprintf(row.who, sizeof(row.who), "root");
	snprintf(row.action, sizeof(row.action), "player.set_code");
	snprintf(row.target, sizeof(row.target), "%s", target);
	snprintf(row.detail, sizeof(row.detail), "%s", detail);
	return DEPOT_JOB(d, audit_begin(d->db, &row));
}

/* Ben in every table that names a player. */
static void fill(struct depot *d)
{
	struct player_row     ben   = { .code = 123456, .used_ms = d->wall_ms };
	struct quota_override quota = { 3, -1, -1 };
	char                  text[200], upper[17];

	cr_assert_eq(depot_put(d, CARL, 9, 500), ERR_OK);
	memcpy(ben.digest, depot_player(BEN), sizeof(ben.digest));
	cr_assert_eq(DEPOT_JOB(d, player_add(d->db, &ben, depot_addr(1))), ERR_OK);
	cr_assert_eq(depot_put_naming(d, ANNA, 1, ben_only), ERR_OK);
	cr_assert_eq(depot_put(d, BEN, 1, 700), ERR_OK);
	cr_assert_eq(depot_put(d, BEN, 2, 800), ERR_OK);
	cr_assert_eq(depot_put_naming(d, BEN, 3, carl_only), ERR_OK);
	cr_assert_eq(depot_put(d, BEN, 4, 900), ERR_OK);
	cr_assert_eq(DEPOT_JOB(d, campaign_forget(d->db, depot_campaign(4), depot_player(BEN), d->wall_ms)), ERR_OK);
	cr_assert_eq(DEPOT_JOB(d, quota_set_player(d->db, depot_player(BEN), &quota)), ERR_OK);
	snprintf(text, sizeof(text), "players/%s/code", hex_of(BEN));
	cr_assert_eq(note_action(d, text, ""), ERR_OK);
	snprintf(upper, sizeof(upper), "%s", hex_of(BEN));
	for (char *at = upper; *at; at++)
		*at = (char)toupper(*at);
	snprintf(text, sizeof(text), "{\"player\":\"%s\",\"also\":\"%s\"}", upper, hex_of(BEN));
	cr_assert_eq(note_action(d, "campaigns/0011", text), ERR_OK);
	snprintf(text, sizeof(text),
	         "INSERT INTO live_games (code, version, player, addr, next_number, made_ms) "
	         "VALUES (123456, 2, x'%s', zeroblob(16), 1, 1)",
	         hex_of(BEN));
	data_exec(d->db, text);
	snprintf(text, sizeof(text),
	         "INSERT INTO live_games (code, version, player, addr, next_number, made_ms) "
	         "VALUES (222222, 2, x'%s', zeroblob(16), 1, 1)",
	         hex_of(ANNA));
	data_exec(d->db, text);
	snprintf(text, sizeof(text),
	         "INSERT INTO live_friends VALUES (222222, 1, zeroblob(16), x'%s', zeroblob(16), 1)", hex_of(BEN));
	data_exec(d->db, text);
}

/* --- Looking everywhere --- */

static int64_t count_in(sqlite3 *db, const char *name, const char *sql, const void *bytes, size_t len, const char *hex)
{
	sqlite3_stmt *stmt = NULL;
	int64_t       rows = 0;

	cr_assert_eq(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK, "%s: %s", sql, sqlite3_errmsg(db));
	while (sqlite3_step(stmt) == SQLITE_ROW) {
		for (int i = 0; i < sqlite3_column_count(stmt); i++) {
			bool        text = sqlite3_column_type(stmt, i) == SQLITE_TEXT;
			const void *value =
				text ? (const void *)sqlite3_column_text(stmt, i) : sqlite3_column_blob(stmt, i);
			size_t size = (size_t)sqlite3_column_bytes(stmt, i);

			if (!value || size == 0)
				continue;
			if (memmem(value, size, bytes, len) || (text && strcasestr((const char *)value, hex))) {
				fprintf(stderr, "%s.%s\n", name, sqlite3_column_name(stmt, i));
				rows++;
			}
		}
	}
	sqlite3_finalize(stmt);
	return rows;
}

/* In how many places of any table or view these bytes stand, or their hex digits in a text. */
static int64_t places(sqlite3 *db, const uint8_t *bytes, size_t len)
{
	sqlite3_stmt *stmt = NULL;
	int64_t       all  = 0;
	char          hex[65];

	hex_encode(hex, bytes, len);
	cr_assert_eq(sqlite3_prepare_v2(db, "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')", -1, &stmt,
	                                NULL),
	             SQLITE_OK);
	while (sqlite3_step(stmt) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(stmt, 0);
		char        sql[200];

		snprintf(sql, sizeof(sql), "SELECT * FROM \"%s\"", name);
		all += count_in(db, name, sql, bytes, len, hex);
	}
	sqlite3_finalize(stmt);
	return all;
}

static int64_t places_of(struct depot *d, int player)
{
	return places(db_handle(d->db), depot_player(player), 8);
}

/* --- */

Test(forget, nothing_names_him_any_more_and_others_keep_what_is_theirs)
{
	struct depot  d;
	struct forget f;

	depot_open(&d);
	fill(&d);
	cr_assert_gt(places_of(&d, BEN), 12, "he is everywhere first");
	f = with_heir(&d, BEN, CARL);
	cr_assert_eq(DEPOT_JOB(&d, forget_player(&f, d.db)), ERR_OK);
	cr_expect_eq(places_of(&d, BEN), 0);
	cr_expect_eq(places(db_handle(d.db), depot_player(BEN) + 8, 24), 0, "the rest of his digest");
	cr_expect_eq(f.code, 123456);
	cr_expect_eq(f.deleted, 1);
	cr_expect_eq(f.given, 1);
	cr_expect_eq(f.trash, 1);
	cr_expect_eq(f.memberships, 1);
	cr_expect_eq(f.checkpoints, 1);
	cr_expect_eq(f.audit, 2);
	cr_expect_not(f.is_banned);
	cr_expect_eq(depot_ask(&d, "SELECT count(*) FROM checkpoints WHERE player = zeroblob(8)"), 2,
	             "one of them given away");
	cr_expect_eq(depot_ask(&d, "SELECT count(*) FROM audit WHERE target = 'players/forgotten/code'"), 1);
	cr_expect_eq(depot_ask(&d, "SELECT count(*) FROM audit WHERE detail = "
	                           "'{\"player\":\"forgotten\",\"also\":\"forgotten\"}'"),
	             1);
	cr_expect_eq(depot_ask(&d, "SELECT count(*) FROM live_games"), 1);
	cr_expect_eq(depot_ask(&d, "SELECT count(*) FROM forgotten"), 1);
	depot_check_sums(&d);
	depot_close(&d);
}

Test(forget, blobs_that_only_his_campaigns_had_go)
{
	struct depot  d;
	struct forget f;
	int64_t       before;

	depot_open(&d);
	cr_assert_eq(depot_put(&d, ANNA, 1, 600), ERR_OK);
	before = depot_ask(&d, "SELECT count(*) FROM blobs");
	cr_assert_eq(depot_put(&d, BEN, 2, 800), ERR_OK);
	f = of(&d, BEN);
	cr_assert_eq(DEPOT_JOB(&d, forget_player(&f, d.db)), ERR_OK);
	cr_expect_eq(depot_ask(&d, "SELECT count(*) FROM blobs"), before);
	cr_expect_eq(depot_ask(&d, "SELECT count(*) FROM blob_garbage"), 1, "the file goes when the store has time");
	depot_close(&d);
}

Test(forget, campaigns_with_members_need_a_word)
{
	struct depot  d;
	struct forget f;

	depot_open(&d);
	cr_assert_eq(depot_put_naming(&d, BEN, 1, carl_only), ERR_OK);
	f = of(&d, BEN);
	cr_expect_eq(DEPOT_JOB(&d, forget_player(&f, d.db)), ERR_CONFLICT);
	cr_expect_gt(places_of(&d, BEN), 0, "nothing happened");
	f = with_heir(&d, BEN, BEN);
	cr_expect_eq(DEPOT_JOB(&d, forget_player(&f, d.db)), ERR_INVALID);
	f = with_heir(&d, BEN, CARL);
	cr_expect_eq(DEPOT_JOB(&d, forget_player(&f, d.db)), ERR_INVALID, "of Carl only the id is known");
	f         = of(&d, BEN);
	f.dry_run = f.deletes = true;
	cr_expect_eq(DEPOT_JOB(&d, forget_player(&f, d.db)), ERR_OK);
	cr_expect_eq(f.deleted, 1);
	cr_expect_gt(places_of(&d, BEN), 0, "it was only tried");
	f.dry_run = false;
	cr_expect_eq(DEPOT_JOB(&d, forget_player(&f, d.db)), ERR_OK);
	cr_expect_eq(places_of(&d, BEN), 0);
	cr_expect_eq(depot_ask(&d, "SELECT count(*) FROM campaigns"), 0);
	depot_check_sums(&d);
	depot_close(&d);
}

Test(forget, a_ban_stays)
{
	struct depot   d;
	struct forget  f;
	struct ban_row ban = { .kind = 1, .made_ms = 1 };

	depot_open(&d);
	cr_assert_eq(depot_put(&d, BEN, 2, 800), ERR_OK);
	snprintf(ban.value, sizeof(ban.value), "%s", hex_of(BEN));
	cr_assert_eq(DEPOT_JOB(&d, ban_row_add(d.db, &ban, 10)), ERR_OK);
	f = of(&d, BEN);
	cr_assert_eq(DEPOT_JOB(&d, forget_player(&f, d.db)), ERR_OK);
	cr_expect(f.is_banned);
	cr_expect_eq(places_of(&d, BEN), 2, "the ban, as a table and as a view");
	depot_close(&d);
}

Test(forget, an_upload_under_way_leaves_nothing)
{
	struct depot  d;
	struct forget f;

	depot_open(&d);
	cr_assert_eq(depot_begin(&d, BEN, 2, 800), ERR_OK);
	f = of(&d, BEN);
	cr_assert_eq(DEPOT_JOB(&d, forget_player(&f, d.db)), ERR_OK);
	cr_expect_eq(depot_end(&d, d.begin.id, 800), ERR_NOT_FOUND);
	cr_expect_eq(places_of(&d, BEN), 0);
	depot_close(&d);
}

Test(forget, texts_do_not_bring_him_back_but_he_himself_does)
{
	struct depot  d;
	struct forget f;

	depot_open(&d);
	cr_assert_eq(depot_put_naming(&d, ANNA, 1, ben_and_carl), ERR_OK);
	f = of(&d, BEN);
	cr_assert_eq(DEPOT_JOB(&d, forget_player(&f, d.db)), ERR_OK);
	cr_assert_eq(depot_put_naming(&d, ANNA, 1, ben_and_carl), ERR_OK);
	cr_expect_eq(places_of(&d, BEN), 0);
	cr_expect_gt(places_of(&d, CARL), 0);
	cr_assert_eq(depot_put(&d, BEN, 2, 800), ERR_OK);
	cr_assert_eq(depot_put_naming(&d, ANNA, 1, ben_and_carl), ERR_OK);
	cr_expect_eq(depot_ask(&d, "SELECT count(*) FROM members"), 2, "he is known again");
	depot_close(&d);
}

Test(forget, the_list_is_kept_so_long_and_no_longer)
{
	struct depot     d;
	struct forget    f;
	struct forgotten row;

	depot_open(&d);
	d.limits->store_forgotten_days = 10;
	cr_assert_eq(depot_put(&d, BEN, 2, 800), ERR_OK);
	f = of(&d, BEN);
	cr_assert_eq(DEPOT_JOB(&d, forget_player(&f, d.db)), ERR_OK);
	cr_assert_eq(forgotten_find(&row, d.db, depot_player(BEN)), ERR_OK);
	cr_expect_eq(row.at_ms, f.wall_ms);
	cr_expect_eq(forgotten_find(&row, d.db, depot_player(CARL)), ERR_NOT_FOUND);
	depot_pass_days(&d, 10);
	depot_sweep(&d);
	cr_expect_eq(forgotten_find(&row, d.db, depot_player(BEN)), ERR_OK);
	depot_pass_days(&d, 2);
	cr_expect_eq(forgotten_find(&row, d.db, depot_player(BEN)), ERR_NOT_FOUND);
	depot_close(&d);
}

/* What an older server knew of him does not come in any more. */
Test(forget, an_import_leaves_him_out)
{
	struct depot           d;
	struct forget          f;
	struct import_code     code     = { .code = 234567, .used_ms = 1 };
	struct import_campaign campaign = { .dry_run = true };

	depot_open(&d);
	f = of(&d, BEN);
	cr_assert_eq(DEPOT_JOB(&d, forget_player(&f, d.db)), ERR_OK);
	memcpy(code.id, depot_player(BEN), sizeof(code.id));
	cr_assert_eq(DEPOT_JOB(&d, import_code(&code, d.db)), ERR_OK);
	cr_expect_eq(code.verdict, IMPORT_FORGOTTEN);
	memcpy(campaign.owner, depot_player(BEN), sizeof(campaign.owner));
	memcpy(campaign.id, depot_campaign(7), sizeof(campaign.id));
	campaign.limits = d.limits;
	cr_assert_eq(DEPOT_JOB(&d, import_campaign(&campaign, d.db)), ERR_OK);
	cr_expect_eq(campaign.verdict, IMPORT_FORGOTTEN);
	cr_expect_eq(places_of(&d, BEN), 0);
	depot_close(&d);
}

/* --- Restored --- */

/* The database of a backup, opened as a restore does. */
static struct db *open_copy(const char *path)
{
	struct db *db;

	cr_assert_eq(db_open(&db, NULL, path, stderr), ERR_OK);
	cr_assert_eq(db_prepare(db, stderr), ERR_OK);
	return db;
}

/* Others see what a test did only once its one transaction is over. */
static void settle(struct depot *d)
{
	data_exec(d->db, "COMMIT");
	data_exec(d->db, "BEGIN IMMEDIATE");
}

static int64_t apply(struct depot *d, struct db *db)
{
	struct forgotten_list *list;
	int64_t                players = -1;

	settle(d);
	cr_assert_eq(forgotten_read(&list, data_path("coop.db")), ERR_OK);
	cr_assert_eq(forgotten_apply(&players, db, list, d->limits), ERR_OK);
	forgotten_list_free(list);
	return players;
}

static void make_backup(struct depot *d, const char *name)
{
	settle(d);
	cr_assert_eq(copy_database(data_path("coop.db"), data_folder(), name, NULL), ERR_OK);
}

Test(forget, a_restored_database_forgets_him_again)
{
	struct depot  d;
	struct forget f;
	struct db    *old;

	depot_open(&d);
	fill(&d);
	make_backup(&d, "before.db");
	f = with_heir(&d, BEN, CARL);
	cr_assert_eq(DEPOT_JOB(&d, forget_player(&f, d.db)), ERR_OK);
	old = open_copy(data_path("before.db"));
	cr_assert_gt(places(db_handle(old), depot_player(BEN), 8), 12);
	cr_expect_eq(apply(&d, old), 1);
	cr_expect_eq(places(db_handle(old), depot_player(BEN), 8), 0);
	cr_expect_eq(data_ask(old, "SELECT count(*) FROM campaigns WHERE trashed_ms IS NULL"), 3,
	             "Carl's two, Anna's one");
	cr_expect_eq(data_ask(old, "SELECT count(*) FROM forgotten"), 1);
	cr_expect_eq(apply(&d, old), 0, "once more changes nothing");
	db_close(old);
	depot_close(&d);
}

/* Asked for once more, without a word about campaigns that are Carl's by now: in copies they are Carl's all the same. */
Test(forget, a_second_time_keeps_the_heir)
{
	struct depot  d;
	struct forget f;
	struct db    *old;
	char          query[100];

	depot_open(&d);
	fill(&d);
	make_backup(&d, "before.db");
	f = with_heir(&d, BEN, CARL);
	cr_assert_eq(DEPOT_JOB(&d, forget_player(&f, d.db)), ERR_OK);
	snprintf(query, sizeof(query), "SELECT count(*) FROM forgotten WHERE heir = x'%s'", hex_of(CARL));
	for (int i = 0; i < 2; i++) {
		depot_pass(&d, DEPOT_DAY);
		f = i == 0 ? of(&d, BEN) : with_heir(&d, BEN, ANNA);
		cr_assert_eq(DEPOT_JOB(&d, forget_player(&f, d.db)), ERR_OK);
		cr_expect_eq(depot_ask(&d, query), 1);
	}
	old = open_copy(data_path("before.db"));
	cr_expect_eq(apply(&d, old), 1);
	cr_expect_eq(data_ask(old, "SELECT count(*) FROM campaigns WHERE trashed_ms IS NULL"), 3,
	             "Carl's two, Anna's one");
	cr_expect_eq(data_ask(old, "SELECT count(*) FROM forgotten"), 1);
	db_close(old);
	depot_close(&d);
}

static enum err load_text(const char *text)
{
	struct forgotten_list *list = NULL;
	enum err               e;

	cr_assert_eq(file_write(data_path("list"), text, strlen(text), 0600), ERR_OK);
	e = forgotten_load(&list, data_path("list"), 0);
	forgotten_list_free(list);
	return e;
}

Test(forget, the_list_as_a_file_is_the_list)
{
#define SALT_AND_TAG "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff 00112233445566778899aabbccddeeff"
	struct depot           d;
	struct forget          f;
	struct forgotten_list *list = NULL;
	struct db             *old;
	int64_t                players = -1;

	depot_open(&d);
	fill(&d);
	make_backup(&d, "before.db");
	cr_expect_eq(forgotten_save(d.db, data_path("list")), ERR_OK);
	cr_expect_eq(forgotten_load(&list, data_path("list"), 0), ERR_NOT_FOUND, "nobody is on it");
	f = with_heir(&d, BEN, CARL);
	cr_assert_eq(DEPOT_JOB(&d, forget_player(&f, d.db)), ERR_OK);
	f = of(&d, DORA);
	cr_assert_eq(DEPOT_JOB(&d, forget_player(&f, d.db)), ERR_OK);
	cr_assert_eq(forgotten_save(d.db, data_path("list")), ERR_OK);
	cr_assert_eq(forgotten_load(&list, data_path("list"), f.wall_ms + 1), ERR_OK);
	cr_expect_eq(forgotten_list_count(list), 0, "too long ago");
	forgotten_list_free(list);
	cr_assert_eq(forgotten_load(&list, data_path("list"), f.wall_ms), ERR_OK);
	cr_expect_eq(forgotten_list_count(list), 2);
	old = open_copy(data_path("before.db"));
	cr_assert_eq(forgotten_apply(&players, old, list, d.limits), ERR_OK);
	cr_expect_geq(players, 1);
	cr_expect_eq(data_ask(old, "SELECT count(*) FROM campaigns WHERE trashed_ms IS NULL"), 3, "to the heir");
	cr_expect_eq(data_ask(old, "SELECT count(*) FROM forgotten"), 2);
	forgotten_list_free(list);
	db_close(old);

	cr_expect_eq(load_text("# nobody\n"), ERR_OK);
	cr_expect_eq(load_text(SALT_AND_TAG " 12 -\n\n" SALT_AND_TAG " 13 0011223344556677"), ERR_OK);
	cr_expect_eq(load_text(SALT_AND_TAG " 12\n"), ERR_MALFORMED);
	cr_expect_eq(load_text(SALT_AND_TAG " 12 - x\n"), ERR_MALFORMED);
	cr_expect_eq(load_text(SALT_AND_TAG " -1 -\n"), ERR_MALFORMED);
	cr_expect_eq(load_text(SALT_AND_TAG " 12 00\n"), ERR_MALFORMED);
	cr_expect_eq(load_text("00 00 12 -\n"), ERR_MALFORMED);
	cr_expect_eq(load_text("damaged\n"), ERR_MALFORMED);
	depot_close(&d);
}

Test(forget, who_came_back_before_the_backup_stays)
{
	struct depot  d;
	struct forget f;
	struct db    *old;

	depot_open(&d);
	cr_assert_eq(depot_put(&d, BEN, 2, 800), ERR_OK);
	f = of(&d, BEN);
	cr_assert_eq(DEPOT_JOB(&d, forget_player(&f, d.db)), ERR_OK);
	depot_pass(&d, DEPOT_DAY);
	cr_assert_eq(depot_put(&d, BEN, 5, 800), ERR_OK);
	make_backup(&d, "after.db");
	old = open_copy(data_path("after.db"));
	cr_expect_eq(apply(&d, old), 0);
	cr_expect_gt(places(db_handle(old), depot_player(BEN), 8), 0);
	db_close(old);

	/* Forgotten once more, which that backup does not know. */
	f = of(&d, BEN);
	cr_assert_eq(DEPOT_JOB(&d, forget_player(&f, d.db)), ERR_OK);
	old = open_copy(data_path("after.db"));
	cr_expect_eq(apply(&d, old), 1);
	cr_expect_eq(places(db_handle(old), depot_player(BEN), 8), 0);
	db_close(old);
	depot_close(&d);
}

Test(forget, an_heir_who_is_not_there_is_replaced_by_a_member)
{
	struct depot  d;
	struct forget f;
	struct db    *old;

	depot_open(&d);
	cr_assert_eq(depot_put(&d, CARL, 9, 500), ERR_OK);
	cr_assert_eq(depot_put_naming(&d, BEN, 3, carl_only), ERR_OK);
	make_backup(&d, "before.db");
	cr_assert_eq(depot_put(&d, DORA, 8, 500), ERR_OK);
	f = with_heir(&d, BEN, DORA);
	cr_assert_eq(DEPOT_JOB(&d, forget_player(&f, d.db)), ERR_OK);
	old = open_copy(data_path("before.db"));
	cr_expect_eq(apply(&d, old), 1);
	cr_expect_eq(data_ask(old, "SELECT count(*) FROM campaigns WHERE owner = (SELECT owner FROM campaigns ORDER BY "
	                           "number "
	                           "LIMIT 1)"),
	             2, "Carl has both");
	db_close(old);
	depot_close(&d);
}

Test(forget, a_database_from_before_the_list_has_an_empty_one)
{
	struct forgotten_list *list;
	struct depot           d;

	depot_open(&d);
	data_exec(d.db, "DROP TABLE forgotten");
	settle(&d);
	cr_assert_eq(forgotten_read(&list, data_path("coop.db")), ERR_OK);
	cr_expect_eq(forgotten_list_count(list), 0);
	forgotten_list_free(list);
	depot_close(&d);
}

/* --- Copies --- */

struct copies {
	char    names[400];
	int64_t until_ms;
	size_t  count;
};

static void note_copy(void *arg, const char *file, int64_t until_ms)
{
	struct copies *c   = arg;
	size_t         len = strlen(c->names);

	snprintf(c->names + len, sizeof(c->names) - len, "%s\n", file);
	c->until_ms = until_ms;
	c->count++;
}

Test(forget, copies_that_name_him_are_found)
{
	struct depot  d;
	struct copies found = { .count = 0 };
	char          path[200];

	depot_open(&d);
	cr_assert_eq(copy_database(data_path("coop.db"), data_path("copies"), "daily-2026-11-01.db", NULL), ERR_OK);
	cr_assert_eq(depot_put_naming(&d, ANNA, 1, ben_only), ERR_OK);
	settle(&d);
	cr_assert_eq(copy_database(data_path("coop.db"), data_path("copies"), "daily-2026-11-02.db", NULL), ERR_OK);
	snprintf(path, sizeof(path), "%s/monday", data_path("backups"));
	cr_assert_eq(file_make_dirs(path, 0700), ERR_OK);
	cr_assert_eq(copy_database(data_path("coop.db"), path, "coop-20261102T000000Z.db", NULL), ERR_OK);
	cr_assert_eq(forget_copies(d.store, "", depot_player(BEN), note_copy, &found), ERR_OK);
	cr_expect_eq(found.count, 1);
	cr_expect_str_eq(found.names, "copies/daily-2026-11-02.db\n");
	cr_expect_gt(found.until_ms, 0);
	found = (struct copies){ .count = 0 };
	cr_assert_eq(forget_copies(d.store, data_path("backups"), depot_player(BEN), note_copy, &found), ERR_OK);
	cr_expect_eq(found.count, 2, "%s", found.names);
	cr_expect_eq(found.until_ms, 0);
	cr_expect_not_null(strstr(found.names, "monday/coop-20261102T000000Z.db"));
	found = (struct copies){ .count = 0 };
	cr_assert_eq(file_write(data_path("copies/daily-2026-11-03.db"), "no database", 11, 0600), ERR_OK);
	cr_expect_eq(forget_copies(d.store, "", depot_player(CARL), note_copy, &found), ERR_STORE,
	             "one cannot be read");
	cr_expect_eq(found.count, 0);
	depot_close(&d);
}
