/*
 * Bans as they are kept.
 */
#include "store/ban.h"

#include "store/db.h"
#include "support/data_folder.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define NOW_MS INT64_C(1793534400000)

static struct db *db;

static void start(void)
{
	db = data_open_db();
}

static void finish(void)
{
	db_close(db);
}

TestSuite(ban_rows, .init = start, .fini = finish);

static enum err add(int64_t *id, int kind, const char *value, int64_t until_ms, int64_t max)
{
	struct ban_row row = { .kind = kind, .made_ms = NOW_MS, .until_ms = until_ms };
	enum err       e, may;

	strcpy(row.value, value);
	strcpy(row.reason, "Cheated, \"twice\"");
	strcpy(row.made_by, "uid 1000");
	may = ban_row_may_add(db, &row, max);
	e   = ban_row_add(db, &row, max);
	cr_expect_eq(may, e, "a try says what would be");
	if (id)
		*id = row.id;
	return e;
}

struct seen {
	size_t         count, stop_at;
	struct ban_row last;
};

static enum err see(const struct ban_row *row, void *arg)
{
	struct seen *s = arg;

	s->last = *row;
	s->count++;
	return s->count == s->stop_at ? ERR_BUSY : ERR_OK;
}

static size_t list(struct seen *s, struct ban_filter f)
{
	*s = (struct seen){ 0 };
	if (!f.text)
		f.text = "";
	if (!f.rows)
		f.rows = 100;
	if (!f.now_ms)
		f.now_ms = NOW_MS;
	cr_assert_eq(ban_row_each(db, &f, see, s), ERR_OK);
	return s->count;
}

Test(ban_rows, come_back_as_they_were)
{
	struct ban_row row;
	int64_t        id, other;

	cr_assert_eq(add(&id, 0, "192.0.2.0/24", NOW_MS + 5000, 10), ERR_OK);
	cr_assert_eq(add(&other, 1, "00112233445566aa", 0, 10), ERR_OK);
	cr_assert_eq(ban_row_find(&row, db, id), ERR_OK);
	cr_expect_eq(row.id, id);
	cr_expect_eq(row.kind, 0);
	cr_expect_str_eq(row.value, "192.0.2.0/24");
	cr_expect_str_eq(row.reason, "Cheated, \"twice\"");
	cr_expect_str_eq(row.made_by, "uid 1000");
	cr_expect_eq(row.made_ms, NOW_MS);
	cr_expect_eq(row.until_ms, NOW_MS + 5000);
	cr_assert_eq(ban_row_find(&row, db, other), ERR_OK);
	cr_expect_eq(row.until_ms, 0, "for ever");
	cr_expect_eq(data_ask(db, "SELECT count(*) FROM bans WHERE until_ms IS NULL"), 1);

	cr_expect_eq(ban_row_remove(db, id), ERR_OK);
	cr_expect_eq(ban_row_remove(db, id), ERR_NOT_FOUND);
	cr_expect_eq(ban_row_find(&row, db, id), ERR_NOT_FOUND);
}

Test(ban_rows, there_is_one_of_a_value_until_it_is_over)
{
	int64_t first, second;

	cr_assert_eq(add(&first, 3, "alice", NOW_MS + 1, 10), ERR_OK);
	cr_expect_eq(add(NULL, 3, "alice", 0, 10), ERR_EXISTS);
	cr_expect_eq(add(NULL, 1, "alice", 0, 10), ERR_OK, "another kind is another value");
	cr_assert_eq(ban_row_expire(db, NOW_MS), ERR_OK);
	cr_expect_eq(add(NULL, 3, "alice", 0, 10), ERR_EXISTS, "its last millisecond");
	cr_assert_eq(ban_row_expire(db, NOW_MS + 1), ERR_OK);
	cr_expect_eq(add(&second, 3, "alice", 0, 10), ERR_OK);
	cr_expect_gt(second, first, "no id is given twice");
}

Test(ban_rows, one_that_is_over_takes_nobodys_place)
{
	cr_assert_eq(add(NULL, 3, "alice", NOW_MS, 2), ERR_OK, "over at once");
	cr_assert_eq(add(NULL, 3, "bob", 0, 2), ERR_OK);
	cr_assert_eq(add(NULL, 3, "alice", 0, 2), ERR_OK);
	cr_expect_eq(add(NULL, 3, "carol", 0, 2), ERR_NO_ROOM);
	cr_expect_eq(add(NULL, 3, "bob", 0, 2), ERR_EXISTS, "is said before that there is no room");
	cr_expect_eq(add(NULL, 3, "carol", 0, 3), ERR_OK);
}

Test(ban_rows, are_listed_by_id_and_as_asked_for)
{
	struct seen s;
	int64_t     id[4];

	cr_assert_eq(add(&id[0], 0, "192.0.2.7", 0, 10), ERR_OK);
	cr_assert_eq(add(&id[1], 3, "Alice", NOW_MS + 10, 10), ERR_OK);
	cr_assert_eq(add(&id[2], 3, "bob%", 0, 10), ERR_OK);
	cr_assert_eq(add(&id[3], 1, "00112233445566aa", 0, 10), ERR_OK);
	cr_expect_eq(list(&s, (struct ban_filter){ .kind = -1 }), 4);
	cr_expect_eq(s.last.id, id[3]);
	cr_expect_eq(list(&s, (struct ban_filter){ .kind = -1, .rows = 2 }), 2);
	cr_expect_eq(s.last.id, id[1]);
	cr_expect_eq(list(&s, (struct ban_filter){ .kind = -1, .after = id[1] }), 2);
	cr_expect_eq(list(&s, (struct ban_filter){ .kind = 3 }), 2);
	cr_expect_eq(list(&s, (struct ban_filter){ .kind = 3, .now_ms = NOW_MS + 10 }), 1, "one is over");
	cr_expect_eq(list(&s, (struct ban_filter){ .kind = -1, .text = "aLICE" }), 1);
	cr_expect_eq(list(&s, (struct ban_filter){ .kind = -1, .text = "%" }), 1, "is a letter like others");
	cr_expect_eq(list(&s, (struct ban_filter){ .kind = -1, .text = "TWICE" }), 4, "in the reason");
	cr_expect_eq(list(&s, (struct ban_filter){ .kind = 0, .text = "alice" }), 0);

	s                   = (struct seen){ .stop_at = 2 };
	struct ban_filter f = { .kind = -1, .text = "", .now_ms = NOW_MS, .rows = 100 };
	cr_expect_eq(ban_row_each(db, &f, see, &s), ERR_BUSY);
	cr_expect_eq(s.count, 2);
}

Test(ban_rows, people_can_read_them)
{
	cr_assert_eq(add(NULL, 0, "192.0.2.7", 0, 10), ERR_OK);
	cr_assert_eq(add(NULL, 1, "00112233445566aa", NOW_MS, 10), ERR_OK);
	cr_expect_eq(data_ask(db, "SELECT count(*) FROM ban_list WHERE kind = 'address' AND until IS NULL"), 1);
	cr_expect_eq(data_ask(db, "SELECT count(*) FROM ban_list WHERE kind = 'player' AND until LIKE '2026-%'"), 1);
}
