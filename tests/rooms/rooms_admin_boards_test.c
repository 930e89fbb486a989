/*
 * Boards and scores as operators see and remove them: at once for players, and for good when it is answered.
 */
#include "base/auto.h"
#include "support/admin_client.h"
#include "support/rooms_client.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define TITLE  "NPWR00860_00"
#define BOARDS "/admin/v1/boards"
#define BOARD  BOARDS "/" TITLE "/7"

static struct server *s;

static void start(void)
{
	s = server_start(NULL);
}

static void stop(void)
{
	server_finish(s);
	s = NULL;
}

TestSuite(rooms_admin_boards, .init = start, .fini = stop, .timeout = 120);

static void expect_error(const char *method, const char *where, int status, const char *code)
{
	AUTO(rest_freep) struct http_result r = admin_ask(s, method, where, NULL);

	admin_expect(&r, status, code);
}

static struct http_result expect_done(const char *method, const char *where)
{
	struct http_result r = admin_ask(s, method, where, NULL);

	admin_expect(&r, 200, NULL);
	return r;
}

static void expect_text(const struct http_result *r, const char *way, const char *want)
{
	char text[300];

	cr_expect_str_eq(rest_text(r, way, text, sizeof(text)), want, "%s", way);
}

/* A score of somebody who comes for it, and goes. */
static void score(const char *name, uint32_t board, uint8_t order, int64_t points, struct gamer_blob comment)
{
	struct gamer *c = gamer_new(s, TITLE, name);

	gamer_score(c, board, order, points, comment);
	gamer_free(c);
}

/* "alice=3 bob=2": what players see, from the best. */
static const char *ranking(uint32_t board)
{
	static char           text[2000];
	struct gamer         *c   = gamer_new(s, TITLE, "looker");
	struct gamer_message *m   = gamer_ranking(c, board, 1, 100);
	size_t                len = 0;

	text[0] = '\0';
	for (size_t i = 0; i < m->count; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s=%lld", i ? " " : "", m->rows[i].name,
		                        (long long)m->rows[i].score);
	gamer_free(c);
	return text;
}

/* --- Looking --- */

Test(rooms_admin_boards, boards_are_listed_by_title_then_number)
{
	struct gamer *c = gamer_new(s, "\xc3\xa4 b", "Bart");
	char          next[200], where[300];

	score("alice", 9, 1, -5, NOTHING);
	score("alice", 7, 0, 5, NOTHING);
	score("bob", 7, 0, 6, NOTHING);
	gamer_score(c, 4294967295, 0, 1, NOTHING);
	gamer_free(c);

	AUTO(rest_freep) struct http_result r = expect_done("GET", BOARDS);

	cr_assert_eq(rest_count(&r, "items"), 3);
	expect_text(&r, "items.0.title_key", TITLE);
	cr_expect_eq(rest_int(&r, "items.0.board"), 7);
	expect_text(&r, "items.0.order", "higher");
	cr_expect_eq(rest_int(&r, "items.0.rows"), 2);
	expect_text(&r, "items.0.leader", "bob");
	cr_expect_eq(rest_int(&r, "items.0.best"), 6);
	expect_text(&r, "items.1.order", "lower");
	cr_expect_eq(rest_int(&r, "items.1.best"), -5);
	expect_text(&r, "items.2.title", "\xc3\xa4 b");
	expect_text(&r, "items.2.title_key", "~c3a42062");
	cr_expect_eq(rest_int(&r, "items.2.board"), 4294967295);

	AUTO(rest_freep) struct http_result page = expect_done("GET", BOARDS "?limit=1");

	snprintf(where, sizeof(where), BOARDS "?cursor=%s", rest_text(&page, "next", next, sizeof(next)));
	AUTO(rest_freep) struct http_result rest = expect_done("GET", where);
	cr_assert_eq(rest_count(&rest, "items"), 2);
	cr_expect_eq(rest_int(&rest, "items.0.board"), 9);

	AUTO(rest_freep) struct http_result of_title = expect_done("GET", BOARDS "?title=~c3a42062");
	AUTO(rest_freep) struct http_result as_is    = expect_done("GET", BOARDS "?title=%c3%a4+b");
	AUTO(rest_freep) struct http_result of_npwr  = expect_done("GET", BOARDS "?limit=2&title=" TITLE);
	AUTO(rest_freep) struct http_result path     = expect_done("GET", BOARDS "/~c3a42062/4294967295");
	cr_expect_eq(rest_count(&of_title, "items"), 1);
	cr_expect_eq(rest_count(&as_is, "items"), 1);
	cr_expect_eq(rest_count(&of_npwr, "items"), 2);
	cr_expect_not_null(strstr(of_npwr.body, "\"next\":null"), "%s", of_npwr.body);
	cr_expect_eq(rest_count(&path, "items"), 1);
}

Test(rooms_admin_boards, rows_come_in_pages_with_their_ranks)
{
	char next[200], where[300];

	score("alice", 7, 0, 5, TEXT("best"));
	score("Bob", 7, 0, 4, NOTHING);
	score("c d", 7, 0, 4, NOTHING);
	score("dora", 7, 0, 3, NOTHING);

	AUTO(rest_freep) struct http_result first = expect_done("GET", BOARD "?limit=2");

	cr_assert_eq(rest_count(&first, "items"), 2);
	cr_expect_eq(rest_int(&first, "items.0.rank"), 1);
	expect_text(&first, "items.0.name", "alice");
	expect_text(&first, "items.0.name_key", "alice");
	cr_expect_eq(rest_int(&first, "items.0.score"), 5);
	expect_text(&first, "items.0.comment", "best");
	cr_expect(rest_has(&first, "items.0.recorded_at"));
	expect_text(&first, "items.1.name", "Bob");
	snprintf(where, sizeof(where), BOARD "?cursor=%s", rest_text(&first, "next", next, sizeof(next)));
	{
		AUTO(rest_freep) struct http_result rest = expect_done("GET", where);

		cr_assert_eq(rest_count(&rest, "items"), 2);
		cr_expect_eq(rest_int(&rest, "items.0.rank"), 3);
		expect_text(&rest, "items.0.name_key", "~632064");
		cr_expect_eq(rest_int(&rest, "items.1.rank"), 4);
	}
	/* Bob gets better between the pages: the ranks are those of now, and nobody is left out. */
	score("bob", 7, 0, 9, NOTHING);
	{
		AUTO(rest_freep) struct http_result rest = expect_done("GET", where);

		cr_assert_eq(rest_count(&rest, "items"), 2);
		expect_text(&rest, "items.0.name", "c d");
		cr_expect_eq(rest_int(&rest, "items.0.rank"), 3);
	}
}

/* --- Removing --- */

Test(rooms_admin_boards, a_removed_score_is_gone_at_once_and_after_a_restart)
{
	score("alice", 7, 0, 5, NOTHING);
	score("b\xff", 7, 0, 4, NOTHING);
	score("carol", 7, 0, 3, NOTHING);

	AUTO(rest_freep) struct http_result r = expect_done("DELETE", BOARD "/scores/ALICE");
	cr_expect(rest_bool(&r, "ok"));
	AUTO(rest_freep) struct http_result hex = expect_done("DELETE", BOARD "/scores/~62ff");
	cr_expect(rest_bool(&hex, "ok"));

	cr_expect_str_eq(ranking(7), "carol=3");
	cr_expect_eq(server_metric(s, "coopd_rooms_rows", NULL), 1);
	expect_error("DELETE", BOARD "/scores/alice", 404, "not_found");
	server_restart(s);
	cr_expect_str_eq(ranking(7), "carol=3");
	/* A worse score than the one that went is his best now. */
	score("alice", 7, 0, 1, NOTHING);
	cr_expect_str_eq(ranking(7), "carol=3 alice=1");
}

Test(rooms_admin_boards, what_was_answered_outlives_a_crash)
{
	score("alice", 7, 0, 5, NOTHING);
	score("bob", 7, 0, 4, NOTHING);
	AUTO(rest_freep) struct http_result r = expect_done("DELETE", BOARD "/scores/alice");
	cr_expect(rest_bool(&r, "ok"));

	server_kill(s);
	server_restart(s);
	cr_expect_str_eq(ranking(7), "bob=4");
	score("carol", 7, 0, 9, NOTHING);
	AUTO(rest_freep) struct http_result all = expect_done("DELETE", BOARD);
	cr_expect(rest_bool(&all, "ok"));
	server_kill(s);
	server_restart(s);
	cr_expect_str_eq(ranking(7), "");
}

Test(rooms_admin_boards, a_reset_board_keeps_its_order)
{
	score("alice", 7, 1, 5, NOTHING);
	score("bob", 7, 1, 4, NOTHING);
	score("bob", 8, 0, 1, NOTHING);

	AUTO(rest_freep) struct http_result r = expect_done("DELETE", BOARD);

	cr_expect_eq(rest_int(&r, "rows"), 2);
	cr_expect_str_eq(ranking(7), "");
	cr_expect_str_eq(ranking(8), "bob=1", "another board is as it was");

	AUTO(rest_freep) struct http_result list = expect_done("GET", BOARDS);

	cr_expect_eq(rest_int(&list, "items.0.rows"), 0);
	cr_expect_not_null(strstr(list.body, "\"leader\":null,\"best\":null"), "%s", list.body);
	AUTO(rest_freep) struct http_result rows = expect_done("GET", BOARD);
	cr_expect_eq(rest_count(&rows, "items"), 0);
	server_restart(s);
	score("alice", 7, 0, 3, NOTHING);
	score("bob", 7, 0, 2, NOTHING);
	cr_expect_str_eq(ranking(7), "bob=2 alice=3", "lower is still better");
}

/* More than one helping of the loop's, and of the store's. */
Test(rooms_admin_boards, a_large_board_is_reset_too)
{
	struct gamer *c = gamer_new(s, TITLE, "p");
	char          csv[60000];
	size_t        len = (size_t)snprintf(csv, sizeof(csv), "name,score,comment,recorded_at\n");

	gamer_score(c, 7, 0, 1, NOTHING);
	for (int i = 0; i < 3000; i++)
		len += (size_t)snprintf(csv + len, sizeof(csv) - len, "p%d,%d,,\n", i, i);
	AUTO(rest_freep) struct http_result in  = admin_ask(s, "POST", BOARD "/csv", csv);
	AUTO(rest_freep) struct http_result out = expect_done("DELETE", BOARD);

	cr_expect_eq(rest_int(&in, "imported"), 3000);
	cr_expect_eq(rest_int(&out, "rows"), 3001);
	cr_expect_eq(gamer_ranking(c, 7, 1, 10)->total, 0);
	gamer_free(c);
	server_restart(s);
	cr_expect_eq(server_metric(s, "coopd_rooms_rows", NULL), 0);
}

Test(rooms_admin_boards, a_dry_run_says_the_same_and_does_nothing)
{
	score("alice", 7, 0, 5, NOTHING);
	AUTO(rest_freep) struct http_result one   = expect_done("DELETE", BOARD "/scores/alice?dry_run=true");
	AUTO(rest_freep) struct http_result reset = expect_done("DELETE", BOARD "?dry_run=true");

	cr_expect(rest_bool(&one, "dry_run"));
	cr_expect_eq(rest_int(&reset, "rows"), 1);
	expect_error("DELETE", BOARD "/scores/bob?dry_run=true", 404, "not_found");
	cr_expect_str_eq(ranking(7), "alice=5");
}

Test(rooms_admin_boards, what_cannot_be_is_refused)
{
	static const struct {
		const char *method, *path;
		int         status;
		const char *code;
	} rows[] = {
		{ "GET", BOARDS "/" TITLE "/8", 404, "not_found" },
		{ "GET", BOARDS "/x/7", 404, "not_found" },
		{ "GET", BOARDS "/" TITLE "/x", 404, "not_found" },
		{ "GET", BOARDS "/" TITLE "/4294967296", 404, "not_found" },
		{ "GET", BOARDS "/0123456789abc/7", 404, "not_found" },
		{ "GET", BOARDS "/~4/7", 404, "not_found" },
		{ "GET", BOARDS "/~/7", 404, "not_found" },
		{ "GET", BOARD "?cursor=00", 200, NULL },
		{ "GET", BOARD "?title=x", 400, "malformed" },
		{ "GET", BOARDS "?title=~", 200, NULL },
		{ "GET", BOARDS "/" TITLE "/8/csv", 404, "not_found" },
		{ "DELETE", BOARDS "/" TITLE "/8", 404, "not_found" },
		{ "DELETE", BOARDS "/" TITLE "/8/scores/alice", 404, "not_found" },
		{ "DELETE", BOARD "/scores/bob", 404, "not_found" },
		{ "DELETE", BOARD "/scores/0123456789abcdefg", 404, "not_found" },
		{ "DELETE", BOARD "/csv", 405, "method" },
		{ "POST", BOARD, 405, "method" },
	};

	score("alice", 7, 0, 5, NOTHING);
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		expect_error(rows[i].method, rows[i].path, rows[i].status, rows[i].code);
	cr_expect_str_eq(ranking(7), "alice=5");
}
