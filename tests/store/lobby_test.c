/*
 * Kept lobbies and announces: what is put comes back, what cannot be is refused, and what people see of it.
 */
#include "store/lobby.h"

#include "base/text.h"
#include "support/data_folder.h"

#include <criterion/criterion.h>
#include <sqlite3.h>
#include <string.h>

#define ROWS_MAX 16
#define WALL_MS  INT64_C(1793534400000) /* 2026-11-01 12:00 */

static const struct lobby_keep_row direct_one = {
	.id          = { 0xd1, 2, 3, 4, 5, 6, 7, 8 },
	.session     = { 0xd5, 1 },
	.token       = { 0xd7, 2 },
	.key         = { 0xd9, 3 },
	.addr        = { 0xaa },
	.addr_wide   = { 0xab },
	.has_wide    = true,
	.name        = "Gr\xc3\xbc\xc3\x9f' \"<b>\xf0\x9f\x90\xb1",
	.world       = "w",
	.version     = "v",
	.game        = "0.9.0a",
	.proto       = 65535,
	.players     = 4,
	.players_max = 4,
	.locked      = true,
	.listed      = true,
	.is_direct   = true,
	.is_proved   = true,
	.direct_addr = "[2001:db8::1]:7777",
	.relayed     = 1,
	.direct      = 2,
	.lan         = 4,
	.claim_sha   = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
	.claim_key   = 255,
	.beat_ms     = WALL_MS + 1,
	.made_ms     = WALL_MS - 1,
};

static const struct lobby_keep_row brokered_one = {
	.id          = { 0xb1, 2, 3, 4, 5, 6, 7, 8 },
	.session     = { 0xb5, 1 },
	.token       = { 0xb7, 2 },
	.key         = { 0xb9, 3 },
	.addr        = { 0xbb },
	.name        = "VOTV Coop",
	.players     = 1,
	.players_max = 1,
	.beat_ms     = WALL_MS,
	.made_ms     = WALL_MS,
};

struct found {
	struct lobby_keep_row rows[ROWS_MAX];
	size_t                count;
};

static enum err add_row(const struct lobby_keep_row *row, void *arg)
{
	struct found *f = arg;

	f->rows[f->count++] = *row;
	return ERR_OK;
}

static const struct found *load(struct db *db)
{
	static struct found f;

	f.count = 0;
	cr_assert_eq(lobby_each(db, add_row, &f), ERR_OK);
	return &f;
}

#define EXPECT_SAME_BYTES(a, b, field) cr_expect_arr_eq((a)->field, (b)->field, sizeof((a)->field), #field)
#define EXPECT_SAME_TEXT(a, b, field)  cr_expect_str_eq((a)->field, (b)->field)
#define EXPECT_SAME(a, b, field)       cr_expect_eq((a)->field, (b)->field, #field)

static void expect_same_host(const struct lobby_keep_row *a, const struct lobby_keep_row *b)
{
	EXPECT_SAME_BYTES(a, b, id);
	EXPECT_SAME_BYTES(a, b, session);
	EXPECT_SAME_BYTES(a, b, token);
	EXPECT_SAME_BYTES(a, b, key);
	EXPECT_SAME_BYTES(a, b, addr);
	EXPECT_SAME_BYTES(a, b, addr_wide);
	EXPECT_SAME(a, b, has_wide);
	EXPECT_SAME_TEXT(a, b, direct_addr);
	EXPECT_SAME(a, b, is_direct);
	EXPECT_SAME(a, b, is_proved);
	EXPECT_SAME(a, b, beat_ms);
	EXPECT_SAME(a, b, made_ms);
}

static void expect_same(const struct lobby_keep_row *a, const struct lobby_keep_row *b)
{
	expect_same_host(a, b);
	EXPECT_SAME_TEXT(a, b, name);
	EXPECT_SAME_TEXT(a, b, world);
	EXPECT_SAME_TEXT(a, b, version);
	EXPECT_SAME_TEXT(a, b, game);
	EXPECT_SAME(a, b, proto);
	EXPECT_SAME(a, b, players);
	EXPECT_SAME(a, b, players_max);
	EXPECT_SAME(a, b, locked);
	EXPECT_SAME(a, b, listed);
	EXPECT_SAME(a, b, relayed);
	EXPECT_SAME(a, b, direct);
	EXPECT_SAME(a, b, lan);
	EXPECT_SAME_TEXT(a, b, claim_sha);
	EXPECT_SAME(a, b, claim_key);
	EXPECT_SAME_TEXT(a, b, claim_sig);
}

Test(lobby, both_kinds_come_back_as_they_were_the_silent_one_first)
{
	struct db *db = data_open_db();

	cr_assert_eq(lobby_put(db, &direct_one), ERR_OK);
	cr_assert_eq(lobby_put(db, &brokered_one), ERR_OK);

	const struct found *f = load(db);
	cr_assert_eq(f->count, 2);
	expect_same(&f->rows[0], &brokered_one);
	expect_same(&f->rows[1], &direct_one);
	db_close(db);
}

static void fill(char *out, const char *character, size_t count)
{
	size_t len = strlen(character);

	for (size_t i = 0; i < count; i++)
		memcpy(out + i * len, character, len);
	out[count * len] = '\0';
}

Test(lobby, the_longest_texts_fit_and_longer_ones_are_no_lobby)
{
	struct db            *db  = data_open_db();
	struct lobby_keep_row row = direct_one;

	fill(row.name, "\xf0\x9f\x90\xb1", 63);
	fill(row.world, "\xf0\x9f\x90\xb1", 39);
	fill(row.version, "\xf0\x9f\x90\xb1", 23);
	fill(row.game, "\xf0\x9f\x90\xb1", 23);
	fill(row.claim_sig, "a", 128);
	fill(row.direct_addr, "a", 63);
	cr_assert_eq(lobby_put(db, &row), ERR_OK);
	cr_assert_eq(load(db)->count, 1);
	expect_same(&load(db)->rows[0], &row);
	cr_expect_eq(lobby_delete(db, row.id), ERR_OK);
	fill(row.name, "a", 64);
	cr_expect_eq(lobby_put(db, &row), ERR_INTERNAL);
	fill(row.name, "a", 63);
	fill(row.world, "a", 40);
	cr_expect_eq(lobby_put(db, &row), ERR_INTERNAL);
	fill(row.world, "a", 39);
	cr_expect_eq(lobby_put(db, &row), ERR_OK);
	db_close(db);
}

Test(lobby, an_id_or_session_that_is_taken_stays_with_who_has_it)
{
	struct db            *db   = data_open_db();
	struct lobby_keep_row same = brokered_one;

	cr_assert_eq(lobby_put(db, &direct_one), ERR_OK);
	memcpy(same.id, direct_one.id, sizeof(same.id));
	cr_expect_eq(lobby_put(db, &same), ERR_EXISTS);
	same = brokered_one;
	memcpy(same.session, direct_one.session, sizeof(same.session));
	cr_expect_eq(lobby_put(db, &same), ERR_EXISTS);
	cr_assert_eq(load(db)->count, 1);
	expect_same(&load(db)->rows[0], &direct_one);
	db_close(db);
}

Test(lobby, a_row_that_cannot_be_is_refused)
{
	struct db            *db = data_open_db();
	struct lobby_keep_row rows[6];

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		rows[i] = brokered_one;
	rows[0].players     = 2;
	rows[1].players_max = 5;
	rows[2].proto       = 65536;
	rows[3].lan         = 2;
	rows[4].claim_key   = 256;
	rows[5].name[0]     = '\0';
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		cr_expect_eq(lobby_put(db, &rows[i]), ERR_INTERNAL, "%zu", i);
	cr_expect_eq(load(db)->count, 0);
	db_close(db);
}

Test(lobby, an_update_changes_what_beats_change_and_nothing_else)
{
	struct db            *db      = data_open_db();
	struct lobby_keep_row changed = direct_one;

	cr_assert_eq(lobby_put(db, &direct_one), ERR_OK);
	cr_assert_eq(lobby_put(db, &brokered_one), ERR_OK);
	strcpy(changed.name, "another");
	memset(changed.token, 0, sizeof(changed.token));
	changed.players = 2;
	changed.listed  = false;
	changed.relayed = 0;
	changed.direct  = 0;
	changed.lan     = 1;
	changed.beat_ms += 30000;
	cr_assert_eq(lobby_update(db, &changed), ERR_OK);

	struct lobby_keep_row expected = direct_one;
	expected.players               = changed.players;
	expected.listed                = changed.listed;
	expected.relayed               = changed.relayed;
	expected.direct                = changed.direct;
	expected.lan                   = changed.lan;
	expected.beat_ms               = changed.beat_ms;
	cr_assert_eq(load(db)->count, 2);
	expect_same(&load(db)->rows[1], &expected);
	expect_same(&load(db)->rows[0], &brokered_one);

	cr_assert_eq(lobby_delete(db, direct_one.id), ERR_OK);
	cr_expect_eq(lobby_update(db, &changed), ERR_OK, "one that is gone stays gone");
	cr_expect_eq(load(db)->count, 1);
	db_close(db);
}

Test(lobby, leaving_and_silence_remove_and_nobody_else_is_touched)
{
	struct db *db = data_open_db();

	cr_assert_eq(lobby_put(db, &direct_one), ERR_OK);
	cr_assert_eq(lobby_put(db, &brokered_one), ERR_OK);
	cr_expect_eq(lobby_delete_silent(db, WALL_MS), ERR_OK);
	cr_expect_eq(load(db)->count, 2, "a beat at the very moment still counts");
	cr_expect_eq(lobby_delete_silent(db, WALL_MS + 1), ERR_OK);
	cr_assert_eq(load(db)->count, 1);
	expect_same(&load(db)->rows[0], &direct_one);
	cr_expect_eq(lobby_delete(db, direct_one.id), ERR_OK);
	cr_expect_eq(lobby_delete(db, direct_one.id), ERR_OK, "a second time is fine");
	cr_expect_eq(load(db)->count, 0);
	db_close(db);
}

static enum err stop_at_first(const struct lobby_keep_row *row, void *arg)
{
	size_t *calls = arg;

	(void)row;
	(*calls)++;
	return ERR_LIMIT;
}

Test(lobby, each_stops_at_the_first_error_and_can_be_asked_again)
{
	struct db *db    = data_open_db();
	size_t     calls = 0;

	cr_assert_eq(lobby_put(db, &direct_one), ERR_OK);
	cr_assert_eq(lobby_put(db, &brokered_one), ERR_OK);
	cr_expect_eq(lobby_each(db, stop_at_first, &calls), ERR_LIMIT);
	cr_expect_eq(calls, 1);
	cr_expect_eq(load(db)->count, 2);
	db_close(db);
}

/* Announces */

struct creates {
	uint8_t addr[ROWS_MAX], wide[ROWS_MAX]; /* their first bytes; wide 0: none */
	int64_t at_ms[ROWS_MAX];
	size_t  count;
};

static enum err add_create(const uint8_t addr[LOBBY_ROW_ADDR_BYTES], const uint8_t *addr_wide, int64_t at_ms, void *arg)
{
	struct creates *c = arg;

	c->addr[c->count]  = addr[0];
	c->wide[c->count]  = addr_wide ? addr_wide[0] : 0;
	c->at_ms[c->count] = at_ms;
	c->count++;
	return ERR_OK;
}

Test(lobby, announces_come_back_in_order_and_old_ones_go)
{
	struct db           *db                      = data_open_db();
	static const uint8_t a[LOBBY_ROW_ADDR_BYTES] = { 0xa1 }, b[LOBBY_ROW_ADDR_BYTES] = { 0xb2 };
	struct creates       c = { 0 };

	cr_assert_eq(lobby_note_create(db, a, NULL, 5000, 0), ERR_OK);
	cr_assert_eq(lobby_note_create(db, a, b, 4000, 0), ERR_OK);
	cr_assert_eq(lobby_note_create(db, b, NULL, 6000, 4000), ERR_OK);
	cr_assert_eq(lobby_each_create(db, add_create, &c), ERR_OK);
	cr_assert_eq(c.count, 3);
	cr_expect_eq(c.at_ms[0], 4000);
	cr_expect_eq(c.addr[0], 0xa1);
	cr_expect_eq(c.wide[0], 0xb2);
	cr_expect_eq(c.at_ms[1], 5000);
	cr_expect_eq(c.wide[1], 0);
	cr_expect_eq(c.addr[2], 0xb2);

	c.count = 0;
	cr_assert_eq(lobby_note_create(db, b, NULL, 7000, 4001), ERR_OK);
	cr_assert_eq(lobby_forget_creates(db, 5001), ERR_OK);
	cr_assert_eq(lobby_each_create(db, add_create, &c), ERR_OK);
	cr_assert_eq(c.count, 2);
	cr_expect_eq(c.at_ms[0], 6000);
	cr_expect_eq(c.at_ms[1], 7000);
	db_close(db);
}

/* What people see */

static void expect_text(struct db *db, const char *sql, const char *expected)
{
	sqlite3_stmt *stmt = NULL;

	cr_assert_eq(sqlite3_prepare_v2(db_handle(db), sql, -1, &stmt, NULL), SQLITE_OK, "%s", sql);
	cr_assert_eq(sqlite3_step(stmt), SQLITE_ROW, "%s", sql);
	cr_expect_str_eq((const char *)sqlite3_column_text(stmt, 0), expected);
	sqlite3_finalize(stmt);
}

Test(lobby, the_list_for_people_can_be_read)
{
	struct db *db = data_open_db();

	cr_assert_eq(lobby_put(db, &direct_one), ERR_OK);
	cr_assert_eq(lobby_put(db, &brokered_one), ERR_OK);
	expect_text(db,
	            "SELECT lobby || '|' || name || '|' || game || '|' || players || '/' || players_max || '|' || "
	            "listed || '|' "
	            "|| locked || '|' || direct || '|' || proved || '|' || made || '|' || beat FROM lobby_list "
	            "WHERE direct = 'yes'",
	            "d102030405060708|Gr\xc3\xbc\xc3\x9f' \"<b>\xf0\x9f\x90\xb1|0.9.0a|4/4|yes|yes|yes|yes|"
	            "2026-11-01 11:59:59|2026-11-01 12:00:00");
	expect_text(db,
	            "SELECT listed || locked || direct || proved || substr(host, 1, 4) FROM lobby_list WHERE name = "
	            "'VOTV Coop'",
	            "nononono"
	            "b903");
	db_close(db);
}

/* An address in clear is there for joiners of a direct lobby, while it lives, and nowhere else. */
Test(lobby, nothing_of_a_lobby_is_left_when_it_is_gone)
{
	struct db *db = data_open_db();

	cr_assert_eq(lobby_put(db, &direct_one), ERR_OK);
	cr_expect_eq(data_ask(db, "SELECT count(*) FROM lobbies WHERE direct_addr = '[2001:db8::1]:7777'"), 1);
	cr_assert_eq(lobby_delete(db, direct_one.id), ERR_OK);
	cr_expect_eq(data_ask(db, "SELECT count(*) FROM lobbies"), 0);
	cr_expect_eq(data_ask(db, "PRAGMA secure_delete"), 1, "and its bytes are overwritten");
	db_close(db);
}
