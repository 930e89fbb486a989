/*
 * Leaderboards, from outside: whose score stands where, what of it outlives the server, and how full they get.  Requests that are
 * bad: rooms_errors_test.c.  How they are kept: rooms_keep_test.c.
 */
#include "support/rooms_client.h"

#include "base/auto.h"

#include <criterion/criterion.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define TITLE "NPWR00860_00"
#define OTHER "NPWR00861_00"

#define BOARD     7
#define LOWER     1
#define HOUR_MS   3600000
#define RANKS_MAX 100

static struct server *s;
static struct gamer  *c; /* whoever it is at the moment */

static void start_with(const char *const *sets)
{
	s = server_start(sets);
	c = gamer_new(s, TITLE, "reader");
}

/* In production nobody is exempt from the limits. */
static void start_in_production(const char *set)
{
	start_with((const char *[]){ "server.production=yes", "http.listen=127.0.0.1:0", set, NULL });
}

static void stop(void)
{
	gamer_free(c);
	server_finish(s);
}

TestSuite(rooms_scores, .fini = stop, .timeout = 120);

/* By a player of this name, who says HELLO for it. */
static uint32_t ask_record(const char *name, uint8_t order, int64_t score, const char *comment)
{
	gamer_hello(c, TITLE, name, 3658);
	return gamer_ask_score(c, BOARD, order, score, BYTES(comment, strlen(comment)));
}

static uint32_t record(const char *name, int64_t score)
{
	return gamer_expect_success(c, ask_record(name, 0, score, ""), ANSWER_SCORE_RECORDED)->rank;
}

struct wanted {
	const char *name;
	int64_t     score;
};

/* The board is this, from its first rank on. */
static void expect_board(const struct wanted *rows, size_t count)
{
	struct gamer_message *m = gamer_ranking(c, BOARD, 1, RANKS_MAX);

	cr_expect_eq(m->total, count);
	cr_assert_eq(m->count, count, "%zu rows", m->count);
	for (size_t i = 0; i < count; i++) {
		cr_expect_eq(m->rows[i].rank, i + 1);
		cr_expect_str_eq(m->rows[i].name, rows[i].name);
		cr_expect_eq(m->rows[i].score, rows[i].score, "%s has %" PRId64, rows[i].name, m->rows[i].score);
	}
}

static void restart(void)
{
	gamer_free(c);
	server_restart(s);
	c = gamer_new(s, TITLE, "reader");
}

/* --- The order of a board --- */

Test(rooms_scores, more_is_better_unless_the_first_score_says_otherwise)
{
	static const struct {
		uint8_t     first, later;
		const char *best;
	} orders[] = { { 0, 1, "high" }, { 1, 0, "low" }, { 2, 1, "high" }, { 255, 1, "high" } };

	start_with(NULL);
	for (uint32_t i = 0; i < COUNT_OF(orders); i++) {
		gamer_hello(c, TITLE, "low", 3658);
		gamer_score(c, i, orders[i].first, -5, NOTHING);
		gamer_hello(c, TITLE, "high", 3658);
		gamer_score(c, i, orders[i].later, 5, NOTHING);
		cr_expect_str_eq(gamer_ranking(c, i, 1, 1)->rows->name, orders[i].best, "order %u", orders[i].first);
	}
}

Test(rooms_scores, a_board_is_of_one_title_and_one_number)
{
	start_with(NULL);
	record("alice", 10);
	cr_expect_eq(gamer_ranking(c, BOARD + 1, 1, 9)->total, 0);
	gamer_hello(c, OTHER, "alice", 3658);
	cr_expect_eq(gamer_ranking(c, BOARD, 1, 9)->total, 0);
	gamer_score(c, BOARD, LOWER, 20, NOTHING);
	gamer_score(c, BOARD, LOWER, 10, NOTHING);
	gamer_score(c, UINT32_MAX, 0, 1, NOTHING);
	cr_expect_eq(gamer_ranking(c, BOARD, 1, 9)->rows->score, 10);
	cr_expect_eq(gamer_ranking(c, UINT32_MAX, 1, 9)->total, 1);
	record("alice", 20);
	expect_board(&(struct wanted){ "alice", 20 }, 1);
}

Test(rooms_scores, scores_have_64_bits_and_a_sign)
{
	start_with(NULL);
	record("none", 0);
	record("least", INT64_MIN);
	record("most", INT64_MAX);
	record("minus", -1);
	expect_board((struct wanted[]){ { "most", INT64_MAX }, { "none", 0 }, { "minus", -1 }, { "least", INT64_MIN } },
	             4);
}

/* --- One row per player --- */

/* Also its comment and its time, which is the wall clock's. */
static void expect_row(int64_t score, const char *comment, uint64_t recorded)
{
	const struct gamer_message *m = gamer_ranking(c, BOARD, 1, 2);

	cr_assert(m->total == 1 && m->count == 1);
	cr_expect_eq(m->rows->score, score);
	cr_expect(gamer_blob_is(m->rows->comment, BYTES(comment, strlen(comment))));
	if (recorded)
		cr_expect_eq(m->rows->recorded, recorded);
}

static uint64_t recorded(void)
{
	return gamer_ranking(c, BOARD, 1, 1)->rows->recorded;
}

Test(rooms_scores, only_a_better_score_changes_the_row_with_its_comment_and_time)
{
	static const struct {
		uint8_t order;
		int64_t first, worse, better;
	} ways[] = { { 0, 10, 9, 11 }, { LOWER, 10, 11, 9 } };

	for (size_t i = 0; i < COUNT_OF(ways); i++) {
		uint64_t before;

		start_with(NULL);
		ask_record("alice", ways[i].order, ways[i].first, "first");
		before = recorded();
		server_advance_wall(s, HOUR_MS);
		ask_record("alice", ways[i].order, ways[i].worse, "worse");
		expect_row(ways[i].first, "first", before);
		ask_record("alice", ways[i].order, ways[i].first, "the same");
		expect_row(ways[i].first, "first", before);
		ask_record("alice", ways[i].order, ways[i].better, "");
		expect_row(ways[i].better, "", 0);
		cr_expect_geq(recorded(), before + HOUR_MS / 1000);
		cr_expect_leq(recorded(), before + HOUR_MS / 1000 + 100);
		if (i + 1 < COUNT_OF(ways))
			stop();
	}
}

Test(rooms_scores, the_answer_is_the_rank_of_ones_best)
{
	start_with(NULL);
	cr_expect_eq(record("alice", 10), 1);
	cr_expect_eq(record("bob", 20), 1);
	cr_expect_eq(record("carol", 10), 3);
	cr_expect_eq(record("alice", 5), 2);
	cr_expect_eq(record("carol", 30), 1);
	cr_expect_eq(record("carol", 0), 1);
	cr_expect_eq(record("dave", -1), 4);
}

Test(rooms_scores, a_name_is_the_same_in_any_case_and_shown_as_at_its_best_score)
{
	static const char *const names[] = { "HOMER", "homer" };

	start_with(NULL);
	record("Homer", 10);
	record("homer", 9);
	expect_board(&(struct wanted){ "Homer", 10 }, 1);
	record("hOMER", 11);
	expect_board(&(struct wanted){ "hOMER", 11 }, 1);

	struct gamer_message *m = gamer_ranks_of(c, BOARD, names, 2);

	for (size_t i = 0; i < m->count; i++) {
		cr_expect_eq(m->rows[i].rank, 1);
		cr_expect_str_eq(m->rows[i].name, "hOMER");
	}
}

/* --- Rankings --- */

Test(rooms_scores, equal_scores_rank_by_who_was_there_first)
{
	start_with(NULL);
	record("zoe", 10);
	record("bob", 5);
	record("alice", 10);
	record("bob", 10);
	record("zoe", 10); /* not better: she keeps her place */
	expect_board((struct wanted[]){ { "zoe", 10 }, { "alice", 10 }, { "bob", 10 } }, 3);
	record("zoe", 11);
	record("alice", 11);
	record("bob", 11);
	record("dave", 10);
	expect_board((struct wanted[]){ { "zoe", 11 }, { "alice", 11 }, { "bob", 11 }, { "dave", 10 } }, 4);
}

Test(rooms_scores, a_ranking_is_any_part_of_a_board_with_the_true_total)
{
	enum { ROWS = 250 };
	static const struct {
		uint32_t start;
		uint16_t count, comes;
	} parts[] = { { 1, 100, 100 }, { 101, 100, 100 }, { 201, 100, 50 },       { 250, 100, 1 },     { 251, 100, 0 },
		      { 1, 0, 0 },     { 77, 1, 1 },      { UINT32_MAX, 100, 0 }, { UINT32_MAX, 0, 0 } };

	start_with(NULL);
	for (int i = 0; i < ROWS; i++) {
		char name[GAMER_NAME_BYTES + 1];

		snprintf(name, sizeof(name), "p%d", i);
		gamer_ask_hello(c, TITLE, name, 3658);
		gamer_ask_score(c, BOARD, 0, -i, NOTHING);
	}
	for (size_t i = 0; i < COUNT_OF(parts); i++) {
		struct gamer_message *m = gamer_ranking(c, BOARD, parts[i].start, parts[i].count);

		cr_expect_eq(m->total, ROWS);
		cr_assert_eq(m->count, parts[i].comes, "from %u on %zu", parts[i].start, m->count);
		for (uint32_t at = 0; at < m->count; at++) {
			cr_expect_eq(m->rows[at].rank, parts[i].start + at);
			cr_expect_eq(m->rows[at].score, 1 - (int64_t)(parts[i].start + at));
		}
	}
}

Test(rooms_scores, a_board_that_nobody_made_is_empty)
{
	static const char *const names[] = { "alice" };
	struct gamer_message    *m;

	start_with(NULL);
	m = gamer_ranking(c, BOARD, 1, 100);
	cr_expect(m->total == 0 && m->count == 0);
	m = gamer_ranks_of(c, BOARD, names, 1);
	cr_expect(m->total == 0 && m->count == 1 && m->rows->rank == 0);
	cr_expect_eq((int)server_metric(s, "coopd_rooms_boards", NULL), 0, "and asking makes none");
}

Test(rooms_scores, players_that_are_asked_for_come_in_that_order_as_often_as_asked)
{
	static const char *const names[] = { "bob", "NoBody", "alice", "bob", "", "BOB" };
	static const uint32_t    ranks[] = { 2, 0, 1, 2, 0, 2 };
	static const char *const shown[] = { "bob", "NoBody", "alice", "bob", "", "bob" };
	struct gamer_message    *m;

	start_with(NULL);
	ask_record("alice", 0, 10, "a");
	ask_record("bob", 0, 5, "b");
	m = gamer_ranks_of(c, BOARD, names, COUNT_OF(names));
	cr_expect_eq(m->total, 2);
	cr_assert_eq(m->count, COUNT_OF(names));
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		const struct gamer_row *row = &m->rows[i];

		cr_expect_eq(row->rank, ranks[i], "%s", names[i]);
		cr_expect_str_eq(row->name, shown[i]);
		cr_expect_eq(row->score, ranks[i] == 0 ? 0 : ranks[i] == 1 ? 10 : 5);
		cr_expect_eq(row->comment.len, ranks[i] ? 1 : 0);
		cr_expect_eq(row->recorded != 0, ranks[i] != 0);
	}
}

/* --- What outlives the connection, and the server --- */

Test(rooms_scores, rows_outlive_connections)
{
	start_with(NULL);
	record("alice", 10);
	gamer_abort(c);
	gamer_free(c);
	c = gamer_new(s, TITLE, "bob");
	expect_board(&(struct wanted){ "alice", 10 }, 1);
}

Test(rooms_scores, a_restart_finds_every_board_in_its_order_equal_scores_too)
{
	static const struct wanted rows[] = {
		{ "Zoe", 9 }, { "mia", 10 }, { "Bob", 10 }, { "alice", 10 }, { "leo", 10 }
	};
	uint64_t              times[COUNT_OF(rows)];
	struct gamer_message *m;

	start_with(NULL);
	ask_record("alice", LOWER, 20, "not her best");
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		server_advance_wall(s, 1000);
		ask_record(rows[i].name, 0, rows[i].score, rows[i].name);
	}
	m = gamer_ranking(c, BOARD, 1, RANKS_MAX);
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		times[i] = m->rows[i].recorded;
	for (int i = 0; i < 2; i++) {
		restart();
		expect_board(rows, COUNT_OF(rows));
	}
	m = gamer_ranking(c, BOARD, 1, RANKS_MAX);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		cr_expect(gamer_blob_is(m->rows[i].comment, BYTES(rows[i].name, strlen(rows[i].name))));
		cr_expect_eq(m->rows[i].recorded, times[i]);
	}
	cr_expect_eq(record("late", 10), 6, "who comes later comes behind them");
	cr_expect_eq(record("later", 9), 2, "and less is still better");
}

Test(rooms_scores, an_orderly_stop_loses_none)
{
	enum { SCORES = 500 };
	uint32_t last = 0;

	start_with(NULL);
	for (int i = 0; i < SCORES; i++)
		last = gamer_ask_score(c, (uint32_t)i, 0, i, NOTHING);
	gamer_expect_success(c, last, ANSWER_SCORE_RECORDED);
	restart();
	for (int i = 0; i < SCORES; i++)
		cr_expect_eq(gamer_ranking(c, (uint32_t)i, 1, 1)->total, 1, "%d", i);
}

enum { KEPT = 300, LATE = 300, EQUAL = 10 }; /* so many in a row have the same score */

static const char *nth_name(uint32_t n)
{
	static char name[GAMER_NAME_BYTES + 1];

	snprintf(name, sizeof(name), "p%" PRIu32, n);
	return name;
}

static int64_t nth_score(uint32_t n)
{
	return 1000 - (int64_t)(n / EQUAL);
}

/* Those from here to there, each of whom comes behind all before him. */
static void record_some(uint32_t from, uint32_t to)
{
	for (uint32_t n = from; n < to; n++) {
		uint32_t req = ask_record(nth_name(n), 0, nth_score(n), nth_name(n));

		cr_expect_eq(gamer_expect_success(c, req, ANSWER_SCORE_RECORDED)->rank, n + 1);
	}
}

static void expect_some(uint32_t from, uint32_t to)
{
	for (uint32_t n = from; n < to; n++) {
		const struct gamer_message *m = gamer_ranking(c, BOARD, n + 1, 1);

		cr_assert_eq(m->count, 1, "%u", n);
		cr_assert_str_eq(m->rows->name, nth_name(n));
		cr_expect_eq(m->rows->score, nth_score(n));
		cr_expect(gamer_blob_is(m->rows->comment, BYTES(nth_name(n), strlen(nth_name(n)))));
	}
}

/* What was acknowledged since may be there or not, but they are kept in the order they came. */
Test(rooms_scores, a_kill_loses_no_score_that_was_acknowledged_more_than_a_second_ago)
{
	uint32_t total;

	start_with(NULL);
	record_some(0, KEPT);
	server_advance(s, 1000);
	server_await_metric(s, "coopd_rooms_scores_waiting", NULL, 0, DIAL_PATIENCE_MS);
	record_some(KEPT, KEPT + LATE);
	server_kill(s);
	restart();
	total = gamer_ranking(c, BOARD, 1, 0)->total;
	cr_assert(total >= KEPT && total <= KEPT + LATE, "%u rows", total);
	expect_some(0, total);
	record_some(total, total + EQUAL);
}

/* --- Full boards --- */

Test(rooms_scores, a_full_board_gives_up_its_worst_row_for_a_better_score_only)
{
	start_with((const char *[]){ "limits.rooms_rows_per_board=3", NULL });
	record("alice", 30);
	record("bob", 20);
	record("carol", 10);
	gamer_expect_error(c, ask_record("dave", 0, 9, ""), SAYS_LIMIT);
	gamer_expect_error(c, ask_record("dave", 0, 10, ""), SAYS_LIMIT);
	cr_expect_eq(record("carol", 5), 3, "who is on it is still answered");
	cr_expect_eq(record("dave", 11), 3);
	expect_board((struct wanted[]){ { "alice", 30 }, { "bob", 20 }, { "dave", 11 } }, 3);
	gamer_expect_error(c, ask_record("carol", 0, 11, ""), SAYS_LIMIT);
	cr_expect_eq(record("carol", 25), 2);
	cr_expect_eq(record("bob", 40), 1);
	expect_board((struct wanted[]){ { "bob", 40 }, { "alice", 30 }, { "carol", 25 } }, 3);
	restart();
	expect_board((struct wanted[]){ { "bob", 40 }, { "alice", 30 }, { "carol", 25 } }, 3);
}

Test(rooms_scores, of_a_full_board_on_which_less_is_better_the_most_goes)
{
	start_with((const char *[]){ "limits.rooms_rows_per_board=2", NULL });
	ask_record("alice", LOWER, 10, "");
	record("bob", 20);
	gamer_expect_error(c, ask_record("carol", 0, 20, ""), SAYS_LIMIT);
	cr_expect_eq(record("carol", 19), 2);
	expect_board((struct wanted[]){ { "alice", 10 }, { "carol", 19 } }, 2);
}

Test(rooms_scores, boards_and_all_their_rows_have_limits)
{
	start_with((const char *[]){ "limits.rooms_boards=4", "limits.rooms_boards_per_title=3", "limits.rooms_rows=5",
	                             NULL });
	for (uint32_t i = 0; i < 3; i++)
		gamer_score(c, i, 0, 1, NOTHING);
	gamer_expect_error(c, gamer_ask_score(c, 3, 0, 1, NOTHING), SAYS_LIMIT);
	cr_expect_eq(gamer_ranking(c, 3, 1, 1)->total, 0);
	gamer_hello(c, OTHER, "reader", 3658);
	gamer_score(c, 0, 0, 1, NOTHING);
	gamer_expect_error(c, gamer_ask_score(c, 1, 0, 1, NOTHING), SAYS_LIMIT);
	gamer_hello(c, OTHER, "alice", 3658);
	gamer_score(c, 0, 0, 1, NOTHING);
	gamer_hello(c, OTHER, "bob", 3658);
	gamer_expect_error(c, gamer_ask_score(c, 0, 0, 9, NOTHING), SAYS_LIMIT);
	gamer_hello(c, OTHER, "alice", 3658);
	cr_expect_eq(gamer_score(c, 0, 0, 2, NOTHING), 1, "who has a row may better it");
	cr_expect_eq((int)server_metric(s, "coopd_rooms_boards", NULL), 4);
	cr_expect_eq((int)server_metric(s, "coopd_rooms_rows", NULL), 5);
}

/* --- Limits per address --- */

Test(rooms_scores, an_address_makes_ten_boards_an_hour)
{
	start_in_production(NULL);
	for (uint32_t i = 0; i < 10; i++)
		gamer_score(c, i, 0, 1, NOTHING);
	gamer_expect_error(c, gamer_ask_score(c, 10, 0, 1, NOTHING), SAYS_LIMIT);
	gamer_score(c, 9, 0, 2, NOTHING);

	struct gamer *other = gamer_new_from(s, "127.0.0.2", TITLE, "other");

	gamer_score(other, 10, 0, 1, NOTHING);
	gamer_score(c, 10, 0, 1, NOTHING); /* it is there now */
	gamer_expect_error(c, gamer_ask_score(c, 11, 0, 1, NOTHING), SAYS_LIMIT);
	gamer_free(other);
	gamer_free(c);
	server_advance(s, HOUR_MS);
	c = gamer_new(s, TITLE, "reader");
	gamer_score(c, 11, 0, 1, NOTHING);
}

Test(rooms_scores, an_address_brings_so_many_rows_an_hour)
{
	start_in_production("limits.rooms_rows_per_hour=4");

	struct gamer *other = gamer_new_from(s, "127.0.0.2", TITLE, "other");

	gamer_score(c, 1, 0, 1, NOTHING);
	gamer_score(c, 2, 0, 1, NOTHING);
	gamer_hello(c, TITLE, "alice", 3658);
	gamer_score(c, 1, 0, 2, NOTHING);
	gamer_score(c, 1, 0, 3, NOTHING); /* the row is there */
	gamer_score(c, 2, 0, 2, NOTHING);
	gamer_hello(c, TITLE, "bob", 3658);
	gamer_expect_error(c, gamer_ask_score(c, 1, 0, 9, NOTHING), SAYS_LIMIT);
	gamer_score(other, 1, 0, 9, NOTHING);
	cr_expect_eq(gamer_ranking(other, 1, 1, 9)->total, 3);
	gamer_free(other);
	gamer_free(c);
	server_advance(s, HOUR_MS);
	c = gamer_new(s, TITLE, "bob");
	gamer_score(c, 1, 0, 9, NOTHING);
}

Test(rooms_scores, loopback_brings_what_it_likes_outside_production)
{
	start_with((const char *[]){ "limits.rooms_rows_per_hour=1", "limits.rooms_boards_per_hour=1", NULL });
	for (uint32_t i = 0; i < 20; i++)
		gamer_score(c, i, 0, 1, NOTHING);
}
