/*
 * Kept boards and scores: what is put comes back, what cannot be is refused, and what people see of it.
 */
#include "store/board.h"

#include "base/text.h"
#include "support/data_folder.h"

#include <criterion/criterion.h>
#include <sqlite3.h>
#include <string.h>

#define ROWS_MAX 32
#define WALL_MS  INT64_C(1793534400000) /* 2026-11-01 12:00 */

static const uint8_t title[BOARD_TITLE_BYTES] = "NPWR00860_0\xff";

static const struct board_row full = {
	.title       = "NPWR00860_0\xff",
	.number      = UINT32_MAX,
	.folded      = "abcdefghijklmno\xff",
	.name        = "ABCDEFGHIJKLMNO\xff",
	.score       = INT64_MIN,
	.comment     = "\x00 any\x00 bytes \xff\x00",
	.comment_len = BOARD_COMMENT_BYTES,
	.recorded_ms = WALL_MS,
	.seq         = INT64_MAX,
};

/* Of the same board. */
static const struct board_row empty = {
	.title  = "NPWR00860_0\xff",
	.number = UINT32_MAX,
	.score  = INT64_MAX,
	.seq    = 1,
};

struct found {
	struct board_row rows[ROWS_MAX];
	size_t           count;
};

static enum err add_row(const struct board_row *row, void *arg)
{
	struct found *f = arg;

	cr_assert_lt(f->count, ROWS_MAX);
	f->rows[f->count++] = *row;
	return ERR_OK;
}

static const struct found *load(struct db *db)
{
	static struct found f;

	f.count = 0;
	cr_assert_eq(board_each_row(db, add_row, &f), ERR_OK);
	return &f;
}

static void expect_same(const struct board_row *a, const struct board_row *b)
{
	cr_expect_arr_eq(a->title, b->title, sizeof(a->title));
	cr_expect_eq(a->number, b->number);
	cr_expect_arr_eq(a->folded, b->folded, sizeof(a->folded));
	cr_expect_arr_eq(a->name, b->name, sizeof(a->name));
	cr_expect_eq(a->score, b->score);
	cr_expect_eq(a->comment_len, b->comment_len);
	cr_expect_arr_eq(a->comment, b->comment, sizeof(a->comment));
	cr_expect_eq(a->recorded_ms, b->recorded_ms);
	cr_expect_eq(a->seq, b->seq);
}

static struct board_row row_of(const char *of_title, uint32_t number, const char *name, int64_t score, uint64_t seq)
{
	struct board_row row = { .number = number, .score = score, .recorded_ms = WALL_MS, .seq = seq };

	memcpy(row.title, of_title, strlen(of_title));
	memcpy(row.name, name, strlen(name));
	memcpy(row.folded, name, strlen(name));
	return row;
}

static void put(struct db *db, const char *of_title, uint32_t number, const char *name, int64_t score, uint64_t seq)
{
	struct board_row row = row_of(of_title, number, name, score, seq);

	cr_assert_eq(board_put(db, &row), ERR_OK);
}

static void make(struct db *db, const char *of_title, uint32_t number, uint8_t order)
{
	uint8_t padded[BOARD_TITLE_BYTES] = { 0 };

	memcpy(padded, of_title, strlen(of_title));
	cr_assert_eq(board_make(db, padded, number, order), ERR_OK);
}

Test(board, rows_come_back_as_they_were)
{
	struct db *db = data_open_db();

	cr_assert_eq(board_make(db, title, UINT32_MAX, 0), ERR_OK);
	cr_assert_eq(board_put(db, &full), ERR_OK);
	cr_assert_eq(board_put(db, &empty), ERR_OK);
	cr_assert_eq(load(db)->count, 2);
	expect_same(&load(db)->rows[0], &empty);
	expect_same(&load(db)->rows[1], &full);
	db_close(db);
}

Test(board, names_and_comments_of_every_length_come_back)
{
	struct db       *db  = data_open_db();
	struct board_row row = { .title = "t", .seq = 1 };

	make(db, "t", 0, 0);
	for (size_t len = 0; len <= BOARD_COMMENT_BYTES; len++) {
		size_t name_len = len < BOARD_NAME_BYTES ? len : BOARD_NAME_BYTES;

		memset(row.name, 'A', name_len);
		memset(row.folded, 'a', name_len);
		memset(row.comment, 'c', len);
		row.comment_len = len;
		cr_assert_eq(board_put(db, &row), ERR_OK);
		expect_same(&load(db)->rows[load(db)->count - 1], &row);
	}
	cr_expect_eq(load(db)->count, BOARD_NAME_BYTES + 1);
	db_close(db);
}

Test(board, a_put_replaces_the_row_whole)
{
	struct db       *db      = data_open_db();
	struct board_row changed = full;

	cr_assert_eq(board_make(db, title, UINT32_MAX, 0), ERR_OK);
	cr_assert_eq(board_put(db, &full), ERR_OK);
	memcpy(changed.name, full.folded, sizeof(changed.name));
	memset(changed.comment, 0, sizeof(changed.comment));
	changed.comment_len = 0;
	changed.score       = 7;
	changed.recorded_ms += 1000;
	changed.seq = 8;
	cr_assert_eq(board_put(db, &changed), ERR_OK);
	cr_assert_eq(load(db)->count, 1);
	expect_same(&load(db)->rows[0], &changed);
	cr_expect_eq(data_ask(db,
	                      "SELECT count(*) FROM leaderboard WHERE comment = '' AND name LIKE 'abc%' AND score = 7"),
	             1);
	db_close(db);
}

Test(board, a_row_needs_its_board)
{
	struct db       *db  = data_open_db();
	struct board_row row = row_of("t", 1, "a", 1, 1);

	make(db, "t", 2, 0);
	make(db, "u", 1, 0);
	cr_expect_eq(board_put(db, &row), ERR_NOT_FOUND);
	make(db, "t", 1, 0);
	cr_expect_eq(board_put(db, &row), ERR_OK);
	cr_expect_eq(board_put(db, &row), ERR_OK, "a second time, too");
	cr_expect_eq(load(db)->count, 1);
	db_close(db);
}

Test(board, a_row_that_cannot_be_is_refused)
{
	struct db       *db                      = data_open_db();
	uint8_t          none[BOARD_TITLE_BYTES] = { 0 };
	struct board_row row                     = row_of("t", 1, "a", 1, 0);

	make(db, "t", 1, 0);
	cr_expect_eq(board_make(db, none, 1, 0), ERR_INTERNAL);
	cr_expect_eq(board_put(db, &row), ERR_INTERNAL, "seq");
	row.seq = (uint64_t)INT64_MAX + 1;
	cr_expect_eq(board_put(db, &row), ERR_INTERNAL, "seq");
	cr_expect_eq(load(db)->count, 0);
	db_close(db);
}

Test(board, what_is_dropped_is_gone_and_nothing_else)
{
	struct db *db = data_open_db();

	make(db, "t", 1, 0);
	make(db, "t", 2, 0);
	make(db, "u", 1, 0);
	put(db, "t", 1, "a", 1, 1);
	put(db, "t", 1, "b", 1, 2);
	put(db, "t", 2, "a", 1, 3);
	put(db, "u", 1, "a", 1, 4);

	struct board_row row = row_of("t", 1, "a", 0, 0);
	cr_expect_eq(board_drop(db, row.title, 1, row.folded), ERR_OK);
	cr_expect_eq(board_drop(db, row.title, 1, row.folded), ERR_OK, "a second time is fine");
	cr_expect_eq(board_drop(db, row.title, 3, row.folded), ERR_OK, "nor need there be a board");
	cr_assert_eq(load(db)->count, 3);
	cr_expect_eq(load(db)->rows[0].seq, 2);
	cr_expect_eq(load(db)->rows[1].seq, 3);
	cr_expect_eq(load(db)->rows[2].seq, 4);
	put(db, "t", 1, "a", 9, 5);
	cr_expect_eq(load(db)->count, 4);
	db_close(db);
}

struct boards {
	char     text[256];
	size_t   calls;
	enum err end;
};

static enum err add_board(const uint8_t of_title[BOARD_TITLE_BYTES], uint32_t number, uint8_t order, void *arg)
{
	struct boards *b = arg;

	b->calls++;
	text_format(b->text + strlen(b->text), 64, "%.12s/%u/%u ", (const char *)of_title, number, order);
	return b->end;
}

Test(board, boards_keep_their_first_order)
{
	struct db    *db = data_open_db();
	struct boards b  = { 0 };

	make(db, "t", 7, 1);
	make(db, "t", 7, 0);
	make(db, "NPWR00860_00", 0, 0);
	make(db, "t", UINT32_MAX, 255);
	cr_assert_eq(board_each(db, add_board, &b), ERR_OK);
	cr_expect_str_eq(b.text, "t/7/1 NPWR00860_00/0/0 t/4294967295/0 ");
	db_close(db);
}

static enum err stop_at_first(const struct board_row *row, void *arg)
{
	size_t *calls = arg;

	(void)row;
	(*calls)++;
	return ERR_LIMIT;
}

Test(board, each_stops_at_the_first_error_and_can_be_asked_again)
{
	struct db    *db    = data_open_db();
	size_t        calls = 0;
	struct boards b     = { .end = ERR_NOMEM };

	make(db, "t", 1, 0);
	make(db, "t", 2, 0);
	put(db, "t", 1, "a", 1, 1);
	put(db, "t", 1, "b", 1, 2);
	cr_expect_eq(board_each_row(db, stop_at_first, &calls), ERR_LIMIT);
	cr_expect_eq(calls, 1);
	cr_expect_eq(board_each(db, add_board, &b), ERR_NOMEM);
	cr_expect_eq(b.calls, 1);
	cr_expect_eq(load(db)->count, 2);
	db_close(db);
}

/* What people see */

/* All rows, each in the form title/board/rank/name/score/comment. */
static const char *seen(struct db *db, const char *where)
{
	static char   text[2048];
	char          sql[512];
	sqlite3_stmt *stmt = NULL;

	text[0] = '\0';
	text_format(sql, sizeof(sql),
	            "SELECT title || '/' || board || '/' || rank || '/' || name || '/' || score || '/' || comment "
	            "FROM leaderboard %s ORDER BY title, board, rank",
	            where);
	cr_assert_eq(sqlite3_prepare_v2(db_handle(db), sql, -1, &stmt, NULL), SQLITE_OK, "%s", sql);
	while (sqlite3_step(stmt) == SQLITE_ROW)
		text_format(text + strlen(text), sizeof(text) - strlen(text), "%s ",
		            (const char *)sqlite3_column_text(stmt, 0));
	sqlite3_finalize(stmt);
	return text;
}

Test(board, people_see_ranks_as_players_do)
{
	struct db *db = data_open_db();

	make(db, "t", 1, 0);
	make(db, "t", 2, 1);
	for (uint32_t board = 1; board <= 2; board++) {
		put(db, "t", board, "amy", 5, 4);
		put(db, "t", board, "zoe", 5, 2);
		put(db, "t", board, "min", INT64_MIN, 3);
		put(db, "t", board, "max", INT64_MAX, 1);
	}
	cr_expect_str_eq(seen(db, "WHERE board = 1"), "t/1/1/max/9223372036854775807/ t/1/2/zoe/5/ t/1/3/amy/5/ "
	                                              "t/1/4/min/-9223372036854775808/ ");
	cr_expect_str_eq(seen(db, "WHERE title = 't' AND board = 2 AND rank <= 2"),
	                 "t/2/1/min/-9223372036854775808/ t/2/2/zoe/5/ ");
	cr_expect_eq(data_ask(db, "SELECT count(DISTINCT recorded) FROM leaderboard "
	                          "WHERE recorded = '2026-11-01 12:00:00'"),
	             1);
	db_close(db);
}

#define BAD "\xef\xbf\xbd"

Test(board, people_see_nothing_that_could_fool_them)
{
	struct db       *db  = data_open_db();
	struct board_row row = row_of("t\x1b[2J\xff", 1, "\xe2\x80\xaelia\xe2\x80\xac\xff\x07", 1, 1);

	row.comment_len = 14;
	memcpy(row.comment, "a\nb\x00\xe2\x80\x8b\xf0\x9f\x90\xb1\xc2\x85!", 14);
	cr_assert_eq(board_make(db, row.title, 1, 0), ERR_OK);
	cr_assert_eq(board_put(db, &row), ERR_OK);
	cr_expect_str_eq(seen(db, ""), "t" BAD "[2J" BAD "/1/1/" BAD "lia" BAD BAD BAD "/1/a" BAD "b" BAD BAD
	                               "\xf0\x9f\x90\xb1" BAD "! ");
	expect_same(&load(db)->rows[0], &row);
	db_close(db);
}

/* Where every byte is none of UTF-8, three stand for it. */
Test(board, the_worst_texts_fit)
{
	struct db       *db  = data_open_db();
	struct board_row row = { .number = 1, .comment_len = BOARD_COMMENT_BYTES, .seq = 1 };

	memset(row.title, 0xff, sizeof(row.title));
	memset(row.name, 0xff, sizeof(row.name));
	memset(row.folded, 0xff, sizeof(row.folded));
	memset(row.comment, 0xff, sizeof(row.comment));
	cr_assert_eq(board_make(db, row.title, 1, 0), ERR_OK);
	cr_assert_eq(board_put(db, &row), ERR_OK);
	cr_expect_eq(data_ask(db,
	                      "SELECT length(title) * 10000 + length(name) * 100 + length(comment) FROM leaderboard"),
	             12 * 10000 + 16 * 100 + 64);
	db_close(db);
}
