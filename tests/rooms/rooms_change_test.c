/*
 * What players record while an operator's change is written, to the moment: the store is held at a gate meanwhile, and what is in
 * memory afterwards is what a restart finds.
 */
#include "rooms/rooms_change.h"

#include "api/api.h"
#include "base/auto.h"
#include "base/metric.h"
#include "base/text.h"
#include "rooms/rooms_inside.h"
#include "support/data_folder.h"
#include "support/loop_thread.h"
#include "support/store_gate.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <string.h>

static struct loop_thread on;
static struct store      *store;
static struct rooms      *rooms;
static struct api        *api;

static const uint8_t *title(void)
{
	return (const uint8_t *)"NPWR00860_00";
}

static void run_begin(void)
{
	loop_thread_init(&on);
	store = data_open_store();
	cr_assert_eq(rooms_new(&rooms, on.loop, store, data_conf(), stderr), ERR_OK);
	cr_assert_eq(api_new(&api, on.loop, store, data_conf()), ERR_OK);
	cr_assert_eq(store_start(store), ERR_OK);
	loop_thread_start(&on);
}

static void stop_loop(void *arg)
{
	(void)arg;
	rooms_stop(rooms);
	loop_stop(on.loop);
}

static bool is_stopped;

static void run_stop(void)
{
	if (!is_stopped)
		loop_thread_do(&on, stop_loop, NULL);
	is_stopped = true;
}

static void run_end(void)
{
	run_stop();
	is_stopped = false;
	loop_thread_join(&on);
	store_stop(store);
	loop_drain(on.loop);
	rooms_free(rooms);
	api_free(api);
	loop_thread_fini(&on);
}

TestSuite(rooms_change, .init = run_begin, .fini = run_end, .timeout = 60);

/* --- Players --- */

static struct rooms_board *board(void)
{
	return rooms_board_find(rooms->boards, title(), 1);
}

struct score {
	const char     *name;
	int64_t         points;
	enum rooms_code code;
};

static void record(void *arg)
{
	struct score         *s                      = arg;
	struct rooms_board   *b                      = board();
	uint8_t               name[ROOMS_NAME_BYTES] = { 0 };
	struct rooms_recorded did;

	memcpy(name, s->name, strlen(s->name));
	if (!b)
		cr_assert_eq(rooms_board_make(&b, rooms->boards, title(), 1, 0), ROOMS_FINE);
	s->code = rooms_board_record(&did, rooms->boards, b, name, s->points, NULL, 0, 1);
	if (s->code == ROOMS_FINE)
		rooms_keep_recorded(rooms->keep, b, name, &did);
}

static enum rooms_code score(const char *name, int64_t points)
{
	struct score s = { name, points, ROOMS_FINE };

	loop_thread_do(&on, record, &s);
	return s.code;
}

struct text {
	char   bytes[2000];
	size_t len;
};

static void add_row(void *arg, uint32_t rank, const struct rooms_row *row)
{
	struct text *t = arg;

	(void)rank;
	cr_assert(text_format(t->bytes + t->len, sizeof(t->bytes) - t->len, "%s%.16s=%lld", t->len ? " " : "",
	                      (const char *)row->name, (long long)row->score));
	t->len += strlen(t->bytes + t->len);
}

static void describe(void *arg)
{
	*(struct text *)arg = (struct text){ 0 };
	if (board())
		rooms_board_walk(board(), 1, UINT32_MAX, add_row, arg);
}

/* What players see, now and after a restart. */
static void expect_ranking(const char *want)
{
	struct text t;

	loop_thread_do(&on, describe, &t);
	cr_expect_str_eq(t.bytes, want);
	run_end();
	run_begin();
	loop_thread_do(&on, describe, &t);
	cr_expect_str_eq(t.bytes, want, "after a restart");
}

/* --- Operators --- */

static struct operator
{
	pthread_t           thread;
	struct rooms_change change;
	enum err            result;
}
operator;

static void *do_change(void *arg)
{
	struct api_call c = { .api = api };

	(void)arg;
	operator.result = rooms_change_do(&c, rooms, &operator.change);
	return NULL;
}

static bool is_all_written(void *arg)
{
	(void)arg;
	return metric_get(M_ROOMS_SCORES_WAITING) == 0;
}

static void look_for_change(void *arg)
{
	*(bool *)arg = !list_is_empty(&rooms->changes);
}

static bool has_begun(void *arg)
{
	bool has = false;

	(void)arg;
	loop_thread_do(&on, look_for_change, &has);
	return has;
}

/* Is held where it is written: whatever is recorded from now on is newer than the change. */
static void begin_change(void)
{
	bool has;

	cr_assert(data_await(is_all_written, NULL));
	gate_close(store);
	cr_assert_eq(pthread_create(&operator.thread, NULL, do_change, NULL), 0);
	cr_assert(data_await(has_begun, NULL));
	/* Its first turn was posted before this. */
	loop_thread_do(&on, look_for_change, &has);
}

static void end_change(enum err result)
{
	gate_open();
	pthread_join(operator.thread, NULL);
	cr_expect_eq(operator.result, result, "%s", err_name(operator.result));
}

struct put {
	const char *name;
	int64_t     points;
};

static void set_change(enum rooms_change_kind what)
{
	operator.change      =(struct rooms_change){ .number = 1 };
	operator.change.what = what;
	memcpy(operator.change.title, title(), ROOMS_TITLE_BYTES);
}

static void set_import(const struct put *puts, size_t count)
{
	struct rooms_csv_row *rows = calloc(count, sizeof(*rows));

	cr_assert_not_null(rows);
	for (size_t i = 0; i < count; i++) {
		memcpy(rows[i].name, puts[i].name, strlen(puts[i].name));
		rows[i].score      = puts[i].points;
		rows[i].line       = (uint32_t)i + 2;
		rows[i].recorded_s = 1;
	}
	set_change(ROOMS_CHANGE_IMPORT);
	operator.change.rows      = rows;
	operator.change.row_count = count;
}

static void begin_import(const struct put *puts, size_t count)
{
	set_import(puts, count);
	begin_change();
}

static void begin_removal(const char *name)
{
	set_change(ROOMS_CHANGE_REMOVE);
	memcpy(operator.change.name, name, strlen(name));
	begin_change();
}

static void begin_reset(void)
{
	set_change(ROOMS_CHANGE_RESET);
	begin_change();
}

static void expect_counts(size_t changed, size_t skipped)
{
	cr_expect_eq(operator.change.changed, changed, "%zu", operator.change.changed);
	cr_expect_eq(operator.change.skipped, skipped, "%zu", operator.change.skipped);
}

/* --- What comes meanwhile --- */

Test(rooms_change, a_better_score_recorded_meanwhile_stays_and_a_worse_one_gives_way)
{
	static const struct put puts[] = { { "alice", 100 }, { "bob", 100 }, { "carol", 100 } };

	score("alice", 1);
	score("bob", 1);
	begin_import(puts, COUNT_OF(puts));
	cr_expect_eq(score("alice", 200), ROOMS_FINE);
	cr_expect_eq(score("bob", 50), ROOMS_FINE);
	cr_expect_eq(score("carol", 40), ROOMS_FINE, "she is in the file, and has no row yet");
	cr_expect_eq(score("dora", 30), ROOMS_FINE);
	end_change(ERR_OK);
	expect_counts(2, 1);
	expect_ranking("alice=200 bob=100 carol=100 dora=30");
}

Test(rooms_change, a_score_as_good_as_what_is_put_was_there_later)
{
	static const struct put puts[] = { { "alice", 100 } };

	score("alice", 1);
	begin_import(puts, 1);
	cr_expect_eq(score("alice", 100), ROOMS_FINE);
	cr_expect_eq(score("bob", 100), ROOMS_FINE);
	end_change(ERR_OK);
	expect_ranking("alice=100 bob=100");
}

Test(rooms_change, a_score_that_waited_before_does_not_undo_what_is_put)
{
	static const struct put puts[] = { { "alice", 5 } };

	data_conf()->limits.rooms_keep_ms = 60000;
	score("starter", 1);
	score("alice", 100);
	cr_assert_eq(metric_get(M_ROOMS_SCORES_WAITING), 2);
	set_import(puts, 1);
	do_change(NULL);
	cr_expect_eq(operator.result, ERR_OK);
	expect_ranking("alice=5 starter=1");
}

Test(rooms_change, a_score_recorded_while_its_row_goes_is_a_new_row)
{
	score("alice", 5);
	score("bob", 4);
	begin_removal("ALICE");
	cr_expect_eq(score("alice", 6), ROOMS_FINE);
	end_change(ERR_OK);
	expect_ranking("alice=6 bob=4");
}

Test(rooms_change, a_score_that_is_no_better_than_the_row_that_goes_goes_with_it)
{
	score("alice", 5);
	score("bob", 4);
	begin_removal("alice");
	cr_expect_eq(score("alice", 3), ROOMS_FINE);
	end_change(ERR_OK);
	expect_ranking("bob=4");
}

Test(rooms_change, scores_recorded_during_a_reset_are_the_first_of_the_new_board)
{
	score("alice", 5);
	score("bob", 4);
	begin_reset();
	cr_expect_eq(score("alice", 6), ROOMS_FINE);
	cr_expect_eq(score("carol", 1), ROOMS_FINE);
	cr_expect_eq(score("bob", 3), ROOMS_FINE);
	end_change(ERR_OK);
	expect_counts(1, 0);
	expect_ranking("alice=6 carol=1");
}

Test(rooms_change, a_reset_takes_what_still_waits_to_be_written)
{
	data_conf()->limits.rooms_keep_ms = 60000;
	score("alice", 5);
	operator.change =(struct rooms_change){ .what = ROOMS_CHANGE_RESET, .number = 1 };
	memcpy(operator.change.title, title(), ROOMS_TITLE_BYTES);
	cr_assert_gt(metric_get(M_ROOMS_SCORES_WAITING), 0);
	do_change(NULL);
	cr_expect_eq(operator.result, ERR_OK);
	expect_counts(1, 0);
	expect_ranking("");
}

/* --- Limits --- */

Test(rooms_change, places_for_rows_that_are_put_are_nobody_elses_meanwhile)
{
	static const struct put puts[] = { { "bob", 1 }, { "carol", 1 } };

	data_conf()->limits.rooms_rows_per_board = 3;
	score("alice", 1);
	begin_import(puts, COUNT_OF(puts));
	cr_expect_eq(score("dora", 1), ROOMS_LIMIT);
	end_change(ERR_OK);
	expect_counts(2, 0);
	expect_ranking("alice=1 bob=1 carol=1");
}

Test(rooms_change, one_who_is_pushed_out_meanwhile_is_left_out)
{
	static const struct put puts[] = { { "bob", 9 } };

	data_conf()->limits.rooms_rows_per_board = 2;
	score("alice", 5);
	score("bob", 1);
	begin_import(puts, 1);
	cr_expect_eq(score("dora", 6), ROOMS_FINE, "a better score than bob's, who was the worst");
	end_change(ERR_OK);
	expect_counts(0, 1);
	expect_ranking("dora=6 alice=5");
}

Test(rooms_change, the_first_line_that_does_not_fit_is_named)
{
	static const struct put puts[] = { { "alice", 9 }, { "bob", 7 }, { "carol", 7 } };

	data_conf()->limits.rooms_rows_per_board = 2;
	score("alice", 5);
	set_import(puts, COUNT_OF(puts));
	do_change(NULL);
	cr_expect_eq(operator.result, ERR_INVALID);
	cr_expect_eq(operator.change.full_line, 4);
	expect_ranking("alice=5");
}

/* --- Ends --- */

Test(rooms_change, a_stop_answers_those_who_wait)
{
	score("alice", 5);
	begin_reset();
	run_stop();
	pthread_join(operator.thread, NULL);
	cr_expect_eq(operator.result, ERR_DRAINING);
	gate_open();
	/* It had been handed over: it has happened. */
	run_end();
	run_begin();
	expect_ranking("");
}
