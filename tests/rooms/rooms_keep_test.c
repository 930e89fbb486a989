/*
 * What of the boards outlives a restart, when it is written, and what becomes of what cannot be: with a real store, and a
 * loop on a thread of its own.
 */
#include "rooms/rooms_keep.h"

#include "base/metric.h"
#include "base/text.h"
#include "os/clock.h"
#include "store/board.h"
#include "support/data_folder.h"
#include "support/loop_thread.h"
#include "support/store_gate.h"

#include <criterion/criterion.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#define WALL_S     INT64_C(1793534400)
#define NEVER_MS   60000
#define A_JOB      4096 /* rows */
#define COUNT_ROWS "SELECT count(*) FROM scores"

/* One run of a server, as far as boards go. */
struct run {
	struct loop_thread   on;
	struct store        *store;
	struct rooms_boards *boards;
	struct rooms_keep   *keep;
};

static void run_open(struct run *r)
{
	loop_thread_init(&r->on);
	r->store  = data_open_store();
	r->boards = rooms_boards_new(&data_conf()->limits);
	cr_assert_not_null(r->boards);
}

static void run_begin(struct run *r)
{
	run_open(r);
	cr_assert_eq(rooms_keep_new(&r->keep, r->on.loop, r->store, data_conf(), r->boards, stderr), ERR_OK);
	cr_assert_eq(store_start(r->store), ERR_OK);
	loop_thread_start(&r->on);
}

static void stop(void *arg)
{
	struct run *r = arg;

	rooms_keep_stop(r->keep);
	loop_stop(r->on.loop);
}

static void run_free(struct run *r)
{
	rooms_keep_free(r->keep);
	rooms_boards_free(r->boards);
	loop_thread_fini(&r->on);
}

static void run_stop(struct run *r)
{
	loop_thread_do(&r->on, stop, r);
	loop_thread_join(&r->on);
	store_stop(r->store);
	loop_drain(r->on.loop);
}

static void run_end(struct run *r)
{
	run_stop(r);
	run_free(r);
}

/* Keeps nothing until told to. */
static void run_begin_slowly(struct run *r)
{
	data_conf()->limits.rooms_keep_ms = NEVER_MS;
	run_begin(r);
}

/* Scores */

struct score {
	struct run           *run;
	uint32_t              board;
	uint8_t               order;
	const char           *name;
	int64_t               points;
	const char           *comment;
	enum rooms_code       code;
	struct rooms_recorded did;
};

static const uint8_t *title(void)
{
	return (const uint8_t *)"NPWR00860_00";
}

static const uint8_t *padded(uint8_t out[ROOMS_NAME_BYTES], const char *name)
{
	memset(out, 0, ROOMS_NAME_BYTES);
	memcpy(out, name, strlen(name));
	return out;
}

/* As the state does it. */
static void record(void *arg)
{
	struct score       *s     = arg;
	struct rooms_board *board = rooms_board_find(s->run->boards, title(), s->board);
	const char         *about = s->comment ? s->comment : "";
	uint8_t             name[ROOMS_NAME_BYTES];

	if (!board)
		cr_assert_eq(rooms_board_make(&board, s->run->boards, title(), s->board, s->order), ROOMS_FINE);
	s->code = rooms_board_record(&s->did, s->run->boards, board, padded(name, s->name), s->points,
	                             (const uint8_t *)about, strlen(about), (uint64_t)WALL_S);
	if (s->code == ROOMS_FINE)
		rooms_keep_recorded(s->run->keep, board, name, &s->did);
}

static void score(struct run *r, const char *name, int64_t points)
{
	struct score s = { .run = r, .board = 1, .name = name, .points = points };

	loop_thread_do(&r->on, record, &s);
	cr_assert_eq(s.code, ROOMS_FINE);
}

struct crowd {
	struct run *run;
	int         first, count;
	int64_t     points;
};

static void record_crowd(void *arg)
{
	struct crowd *c = arg;

	for (int i = c->first; i < c->first + c->count; i++) {
		char         name[ROOMS_NAME_BYTES + 1];
		struct score s = { .run = c->run, .board = 1, .name = name, .points = c->points };

		text_format(name, sizeof(name), "player-%d", i);
		record(&s);
		cr_assert_eq(s.code, ROOMS_FINE);
	}
}

/* So many players at once, from player-FIRST on. */
static void score_crowd(struct run *r, int first, int count, int64_t points)
{
	struct crowd c = { r, first, count, points };

	loop_thread_do(&r->on, record_crowd, &c);
}

static void ask_can(void *arg)
{
	struct score *s = arg;

	s->did.is_new = rooms_keep_can(s->run->keep);
}

static bool can(struct run *r)
{
	struct score s = { .run = r };

	loop_thread_do(&r->on, ask_can, &s);
	return s.did.is_new;
}

static bool are_waiting(void *arg)
{
	const int64_t *rows = arg;

	return metric_get(M_ROOMS_SCORES_WAITING) == *rows;
}

static void await_waiting(int64_t rows)
{
	cr_assert(data_await(are_waiting, &rows), "%ld wait", (long)metric_get(M_ROOMS_SCORES_WAITING));
}

static void await_kept(void)
{
	await_waiting(0);
}

/* The database may not grow. */
static void make_full(struct run *r)
{
	char    sql[64];
	int64_t pages = gate_ask(r->store, "SELECT page_count FROM pragma_page_count()");

	text_format(sql, sizeof(sql), "PRAGMA max_page_count = %ld", (long)pages);
	gate_ask(r->store, sql);
}

#define MAKE_ROOM "PRAGMA max_page_count = 1000000"

static void make_room(struct run *r)
{
	gate_ask(r->store, MAKE_ROOM);
}

static bool is_less_than_a_job_waiting(void *arg)
{
	(void)arg;
	return metric_get(M_ROOMS_SCORES_WAITING) < A_JOB;
}

/* All boards, each row as number/rank:name=score#seq@time"comment". */
struct text {
	char    *at;
	size_t   left;
	uint32_t number;
};

static void write_row(void *arg, uint32_t rank, const struct rooms_row *row)
{
	struct text *t = arg;

	cr_assert(text_format(t->at, t->left, "%u/%u:%.16s=%lld#%llu@%llu\"%.*s\" ", t->number, rank,
	                      (const char *)row->name, (long long)row->score, (unsigned long long)row->seq,
	                      (unsigned long long)row->recorded_s, (int)row->comment_len, (const char *)row->comment));
	t->left -= strlen(t->at);
	t->at += strlen(t->at);
}

static void write_board(void *arg, const struct rooms_board *board, const struct rooms_row *leader)
{
	struct text *t = arg;

	(void)leader;
	t->number = rooms_board_number(board);
	cr_assert(
		text_format(t->at, t->left, "%u/%u/%u ", t->number, rooms_board_order(board), rooms_board_rows(board)));
	t->left -= strlen(t->at);
	t->at += strlen(t->at);
	rooms_board_walk(board, 1, UINT32_MAX, write_row, t);
}

#define TEXT_BYTES 200000

/* The loop does nothing with them meanwhile. */
static void describe(char out[TEXT_BYTES], struct run *r)
{
	struct text t = { .at = out, .left = TEXT_BYTES };

	out[0] = '\0';
	rooms_boards_each(r->boards, write_board, &t);
}

static const char *described(struct run *r)
{
	static char text[TEXT_BYTES];

	describe(text, r);
	return text;
}

/* Restarts */

Test(rooms_keep, a_restart_finds_everything_as_it_was)
{
	static const char was[] = "1/0/3 1/1:BART=9223372036854775807#4@1793534400\"\" "
				  "1/2:Homer=7#1@1793534400\"d'oh\" 1/3:Lisa=7#3@1793534400\"\" "
				  "2/1/2 2/1:Lisa=-9223372036854775808#5@1793534400\"fast\" "
				  "2/2:Homer=7#6@1793534400\"\" ";
	struct run        r;
	struct score      scores[] = {
		     { .board = 1, .name = "Homer", .points = 7, .comment = "d'oh" },
		     { .board = 1, .name = "Bart", .points = 1 },
		     { .board = 1, .name = "Lisa", .points = 7 },
		     { .board = 1, .name = "BART", .points = INT64_MAX },
		     { .board = 2, .order = 1, .name = "Lisa", .points = INT64_MIN, .comment = "fast" },
		     { .board = 2, .order = 0, .name = "Homer", .points = 7 },
		     { .board = 1, .name = "homer", .points = 7 },
	};

	run_begin(&r);
	for (size_t i = 0; i < COUNT_OF(scores); i++) {
		scores[i].run = &r;
		loop_thread_do(&r.on, record, &scores[i]);
	}
	cr_expect_str_eq(described(&r), was);
	run_end(&r);
	for (int restart = 0; restart < 2; restart++) {
		run_begin(&r);
		cr_expect_str_eq(described(&r), was);
		run_end(&r);
	}
}

Test(rooms_keep, who_was_first_stays_first_and_later_ones_come_behind)
{
	struct run r;

	run_begin(&r);
	score(&r, "z", 5);
	score(&r, "a", 5);
	run_end(&r);
	run_begin(&r);
	score(&r, "m", 5);
	run_end(&r);
	run_begin(&r);
	cr_expect_str_eq(described(&r), "1/0/3 1/1:z=5#1@1793534400\"\" 1/2:a=5#2@1793534400\"\" "
	                                "1/3:m=5#3@1793534400\"\" ");
	run_end(&r);
}

Test(rooms_keep, a_stop_loses_nothing_however_much_waits)
{
	struct run r;

	run_begin_slowly(&r);
	score_crowd(&r, 0, 3 * A_JOB + 1, 1);
	score_crowd(&r, 0, 10, 2);
	run_end(&r);
	run_begin(&r);
	cr_expect_eq(rooms_boards_rows(r.boards), 3 * A_JOB + 1);
	cr_expect_eq(gate_ask(r.store, COUNT_ROWS " WHERE score = 2"), 10);
	run_end(&r);
}

/* Three commits: of the job, which fails; of the room that is made; of the last job. */
Test(rooms_keep, a_stop_loses_nothing_of_a_job_that_fails_meanwhile)
{
	struct run r;

	data_conf()->limits.store_batch = 1;
	run_begin_slowly(&r);
	make_full(&r);
	gate_close(r.store);
	score_crowd(&r, 0, A_JOB, 1);
	score_crowd(&r, A_JOB, 1, 1);
	cr_assert_eq(gate_submit(r.store, SURFACE_ADMIN, MAKE_ROOM), ERR_OK);
	loop_thread_do(&r.on, stop, &r);
	loop_thread_join(&r.on);
	cr_expect_eq(metric_get(M_STORE_QUEUE), 3);
	gate_open();
	store_stop(r.store);
	loop_drain(r.on.loop);
	cr_expect_eq(metric_get(M_STORE_JOBS_FAILED), 1);
	run_free(&r);
	run_begin(&r);
	cr_expect_eq(rooms_boards_rows(r.boards), A_JOB + 1);
	run_end(&r);
}

Test(rooms_keep, what_was_kept_is_loaded_whatever_the_limits)
{
	struct run r;

	run_begin(&r);
	score_crowd(&r, 0, 5, 1);
	run_end(&r);
	data_conf()->limits.rooms_rows           = 1;
	data_conf()->limits.rooms_boards         = 1;
	data_conf()->limits.rooms_rows_per_board = 1;
	run_begin(&r);
	cr_expect_eq(rooms_boards_rows(r.boards), 5);
	run_end(&r);
}

Test(rooms_keep, boards_that_cannot_be_read_stop_the_start_with_a_sentence)
{
	char       said[256] = "";
	FILE      *report    = fmemopen(said, sizeof(said), "w");
	struct run r;

	run_open(&r);
	data_exec(store_db(r.store), "DROP TABLE scores");
	cr_expect_eq(rooms_keep_new(&r.keep, r.on.loop, r.store, data_conf(), r.boards, report), ERR_STORE);
	fclose(report);
	cr_expect(strstr(said, "cannot load the leaderboards: "), "%s", said);
	store_stop(r.store);
	r.keep = NULL;
	run_free(&r);
}

/* When */

static bool is_in_the_file(void *arg)
{
	sqlite3      *db   = NULL;
	sqlite3_stmt *stmt = NULL;

	(void)arg;
	cr_assert_eq(sqlite3_open_v2(data_path("coop.db"), &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	cr_assert_eq(sqlite3_prepare_v2(db, COUNT_ROWS, -1, &stmt, NULL), SQLITE_OK);
	bool is_in = sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_int(stmt, 0) == 1;
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return is_in;
}

/* Nobody else asks the store for anything. */
Test(rooms_keep, a_score_is_on_the_disk_within_a_second_in_an_idle_store)
{
	struct run r;

	data_conf()->limits.store_lazy_ms = NEVER_MS;
	run_begin(&r);
	int64_t begun_ms = clock_mono_ms();
	score(&r, "a", 1);
	cr_expect(data_await(is_in_the_file, NULL));
	cr_expect_lt(clock_mono_ms() - begun_ms, 8000);
	run_end(&r);
}

Test(rooms_keep, a_changed_row_waits_as_long_as_the_limit_says)
{
	struct run r;

	run_begin_slowly(&r);
	score(&r, "a", 1);
	loop_thread_advance(&r.on, NEVER_MS / 2);
	score(&r, "b", 1);
	score(&r, "a", 2);
	cr_expect_eq(metric_get(M_ROOMS_SCORES_WAITING), 2);
	cr_expect_eq(gate_ask(r.store, COUNT_ROWS), 0);
	loop_thread_advance(&r.on, NEVER_MS / 2 + 100); /* since the first change, not the last */
	await_kept();
	cr_expect_eq(gate_ask(r.store, "SELECT sum(score) FROM scores"), 3);
	run_end(&r);
}

Test(rooms_keep, a_row_is_written_once_however_often_it_changed)
{
	struct run r;

	run_begin_slowly(&r);
	gate_ask(r.store, "CREATE TEMP TABLE writes (score INTEGER)");
	gate_ask(r.store, "CREATE TEMP TRIGGER see AFTER INSERT ON scores BEGIN INSERT INTO writes VALUES (NEW.score); "
	                  "END");
	for (int i = 1; i <= 100; i++)
		score(&r, i % 2 ? "Homer" : "homer", i);
	score(&r, "homer", 3);
	cr_expect_eq(metric_get(M_ROOMS_SCORES_WAITING), 1);
	loop_thread_advance(&r.on, NEVER_MS + 100);
	await_kept();
	cr_expect_eq(gate_ask(r.store, "SELECT count(*) FROM writes"), 1);
	cr_expect_eq(gate_ask(r.store, "SELECT score FROM scores"), 100);
	run_end(&r);
}

Test(rooms_keep, one_job_is_under_way_at_a_time_and_takes_so_many_rows)
{
	struct run r;

	run_begin_slowly(&r);
	gate_close(r.store);
	score_crowd(&r, 0, A_JOB - 1, 1);
	cr_expect_eq(metric_get(M_STORE_QUEUE), 0);
	score_crowd(&r, A_JOB - 1, 1, 1);
	cr_expect_eq(metric_get(M_STORE_QUEUE), 1, "enough for a job do not wait");
	score_crowd(&r, A_JOB, 2 * A_JOB + 5, 1);
	cr_expect_eq(metric_get(M_STORE_QUEUE), 1);
	cr_expect_eq(metric_get(M_ROOMS_SCORES_WAITING), 3 * A_JOB + 5);
	gate_open();
	cr_expect(data_await(is_less_than_a_job_waiting, NULL)); /* one after another, without waiting */
	loop_thread_advance(&r.on, NEVER_MS + 100);
	await_kept();
	cr_expect_eq(gate_ask(r.store, COUNT_ROWS), 3 * A_JOB + 5);
	run_end(&r);
}

/* Writing one row takes some milliseconds. */
#define SLOW_ROWS                                                 \
	"CREATE TEMP TRIGGER slow BEFORE INSERT ON scores BEGIN " \
	"SELECT count(*) FROM (WITH RECURSIVE n (x) AS "          \
	"(VALUES (1) UNION ALL SELECT x + 1 FROM n WHERE x < 30000) SELECT x FROM n); END"

Test(rooms_keep, others_do_not_wait_until_all_is_written)
{
	struct run r;

	run_begin_slowly(&r);
	gate_ask(r.store, SLOW_ROWS);
	score_crowd(&r, 0, 100, 1);
	loop_thread_advance(&r.on, NEVER_MS + 100);
	gate_await(r.store, "SELECT count(*) BETWEEN 1 AND 99 FROM scores", 1);
	await_kept();
	cr_expect_eq(gate_ask(r.store, COUNT_ROWS), 100);
	run_end(&r);
}

Test(rooms_keep, what_changes_while_it_is_written_is_written_again)
{
	struct run r;

	run_begin_slowly(&r);
	gate_close(r.store);
	score_crowd(&r, 0, A_JOB, 1);
	score_crowd(&r, 0, 3, 2);
	cr_expect_eq(metric_get(M_ROOMS_SCORES_WAITING), A_JOB + 3);
	gate_open();
	gate_await(r.store, COUNT_ROWS, A_JOB);
	loop_thread_advance(&r.on, NEVER_MS + 100);
	await_kept();
	cr_expect_eq(gate_ask(r.store, COUNT_ROWS " WHERE score = 2"), 3);
	run_end(&r);
}

/* Dropped rows */

Test(rooms_keep, the_worst_row_of_a_full_board_goes_and_may_come_again)
{
	struct run r;

	data_conf()->limits.rooms_rows_per_board = 2;
	run_begin_slowly(&r);
	score(&r, "a", 1);
	score(&r, "b", 2);
	loop_thread_advance(&r.on, NEVER_MS + 100);
	await_kept();

	score(&r, "c", 3); /* drops a */
	cr_expect_eq(metric_get(M_ROOMS_SCORES_WAITING), 2);
	loop_thread_advance(&r.on, NEVER_MS + 100);
	await_kept();
	cr_expect_eq(gate_ask(r.store, COUNT_ROWS), 2);
	cr_expect_eq(gate_ask(r.store, COUNT_ROWS " WHERE folded = x'61'"), 0);

	score(&r, "A", 4); /* drops b */
	score(&r, "B", 5); /* drops c; so b was there, went, and came again before any of it was written */
	score(&r, "d", 6); /* drops a, which was only about to be written */
	loop_thread_advance(&r.on, NEVER_MS + 100);
	await_kept();
	run_end(&r);
	run_begin(&r);
	cr_expect_str_eq(described(&r), "1/0/2 1/1:d=6#6@1793534400\"\" 1/2:B=5#5@1793534400\"\" ");
	run_end(&r);
}

Test(rooms_keep, a_row_that_is_dropped_while_it_is_written_goes)
{
	struct run r;

	data_conf()->limits.rooms_rows_per_board = A_JOB;
	run_begin_slowly(&r);
	gate_close(r.store);
	score_crowd(&r, 0, A_JOB, 1);
	score(&r, "better", 2);      /* drops the last */
	score(&r, "player-4095", 3); /* who drops the one before him */
	gate_open();
	gate_await(r.store, COUNT_ROWS, A_JOB);
	loop_thread_advance(&r.on, NEVER_MS + 100);
	await_kept();
	cr_expect_eq(gate_ask(r.store, COUNT_ROWS), A_JOB);
	cr_expect_eq(gate_ask(r.store, COUNT_ROWS " WHERE name_text IN ('better', 'player-4095')"), 2);
	cr_expect_eq(gate_ask(r.store, COUNT_ROWS " WHERE name_text = 'player-4094'"), 0);
	run_end(&r);
}

/* Full, and failing */

Test(rooms_keep, scores_are_refused_when_as_many_rows_wait_as_may)
{
	struct run r;

	data_conf()->limits.rooms_keep_rows = 256;
	run_begin_slowly(&r);
	score_crowd(&r, 0, 254, 1);
	cr_expect(can(&r), "a row and one that it drops");
	score_crowd(&r, 254, 1, 1);
	cr_expect_not(can(&r));
	score_crowd(&r, 0, 255, 2);
	cr_expect_eq(metric_get(M_ROOMS_SCORES_WAITING), 255, "the same rows take no more room");
	loop_thread_advance(&r.on, NEVER_MS + 100);
	await_kept();
	cr_expect(can(&r));
	run_end(&r);
}

static bool cannot(void *arg)
{
	return !can(arg);
}

static void await_failed_jobs(int64_t more)
{
	int64_t before = metric_get(M_STORE_JOBS_FAILED), deadline_ms = clock_mono_ms() + 20000;

	while (metric_get(M_STORE_JOBS_FAILED) < before + more && clock_mono_ms() < deadline_ms)
		sched_yield();
	cr_expect_geq(metric_get(M_STORE_JOBS_FAILED), before + more);
}

Test(rooms_keep, what_could_not_be_written_is_tried_again)
{
	struct run r;

	data_conf()->limits.rooms_keep_ms = 20;
	run_begin(&r);
	score(&r, "a", 1);
	await_kept();
	make_full(&r);
	score_crowd(&r, 0, 500, 1);
	await_failed_jobs(2);
	cr_expect_eq(gate_ask(r.store, COUNT_ROWS), 1, "all of the job was undone");
	score_crowd(&r, 100, 500, 2);
	cr_expect_eq(metric_get(M_ROOMS_SCORES_WAITING), 1000);
	await_failed_jobs(2);
	make_room(&r);
	await_kept();
	cr_expect_eq(gate_ask(r.store, COUNT_ROWS), 601);
	cr_expect_eq(gate_ask(r.store, COUNT_ROWS " WHERE score = 2"), 500);
	run_end(&r);
}

Test(rooms_keep, scores_are_refused_from_the_first_failure_until_one_has_succeeded)
{
	struct run r;

	data_conf()->limits.rooms_keep_ms = 20;
	run_begin(&r);
	score(&r, "a", 1);
	await_kept();
	make_full(&r);
	cr_expect(can(&r), "nothing has failed yet");
	score_crowd(&r, 0, 500, 1);
	cr_expect(data_await(cannot, &r));
	gate_ask(r.store, "SELECT 1");
	cr_expect_not(can(&r), "others' success is none of ours");
	await_failed_jobs(2);
	cr_expect_not(can(&r));
	make_room(&r);
	await_kept();
	cr_expect(can(&r));
	run_end(&r);
}

Test(rooms_keep, it_tells_at_the_end_whether_something_was_lost)
{
	struct run r;

	for (int is_full = 0; is_full < 2; is_full++) {
		run_begin_slowly(&r);
		if (is_full)
			make_full(&r);
		score_crowd(&r, is_full * 500, 500, 1);
		run_stop(&r);
		cr_expect_eq(rooms_keep_has_lost(r.keep), is_full);
		run_free(&r);
	}
	run_begin(&r);
	cr_expect_eq(rooms_boards_rows(r.boards), 500);
	run_end(&r);
}

Test(rooms_keep, a_full_queue_is_tried_again)
{
	struct run r;

	data_conf()->limits.store_jobs    = 1;
	data_conf()->limits.rooms_keep_ms = 20;
	run_begin(&r);
	gate_close(r.store);
	cr_assert_eq(gate_submit(r.store, SURFACE_ROOMS, "SELECT 1"), ERR_OK);
	int64_t refused = metric_get(M_STORE_REFUSED);
	score(&r, "a", 1);
	int64_t deadline_ms = clock_mono_ms() + 20000;
	while (metric_get(M_STORE_REFUSED) < refused + 2 && clock_mono_ms() < deadline_ms)
		sched_yield();
	cr_expect(can(&r));
	score(&r, "b", 1);
	gate_open();
	await_kept();
	cr_expect_eq(gate_ask(r.store, COUNT_ROWS), 2);
	run_end(&r);
}

Test(rooms_keep, a_row_that_the_table_refuses_keeps_no_other_from_the_disk)
{
	struct run r;

	run_begin_slowly(&r);
	gate_ask(r.store, "CREATE TEMP TRIGGER no BEFORE INSERT ON scores WHEN NEW.folded = x'62' "
	                  "BEGIN SELECT RAISE(ABORT, 'no'); END");
	score(&r, "a", 1);
	score(&r, "b", 1);
	score(&r, "c", 1);
	loop_thread_advance(&r.on, NEVER_MS + 100);
	await_kept();
	cr_expect_eq(gate_ask(r.store, COUNT_ROWS " WHERE folded IN (x'61', x'63')"), 2);
	cr_expect_eq(gate_ask(r.store, COUNT_ROWS), 2);
	run_end(&r);
}

Test(rooms_keep, a_board_that_was_taken_out_of_the_table_is_made_again)
{
	struct run r;

	run_begin_slowly(&r);
	score(&r, "a", 1);
	loop_thread_advance(&r.on, NEVER_MS + 100);
	await_kept();
	gate_ask(r.store, "DELETE FROM scores");
	gate_ask(r.store, "DELETE FROM boards");
	score(&r, "b", 2);
	loop_thread_advance(&r.on, NEVER_MS + 100);
	await_kept();
	cr_expect_eq(gate_ask(r.store, COUNT_ROWS), 1);
	run_end(&r);
}

/* As after a sync that failed. */
static enum err run_fail(struct job *job, struct db *db)
{
	(void)job;
	db_note_failed_sync(db);
	return ERR_OK;
}

static void done_fail(struct job *job, enum err result)
{
	(void)job;
	(void)result;
}

Test(rooms_keep, scores_are_refused_once_the_store_has_failed)
{
	struct run r;
	struct job fail = { .surface = SURFACE_ADMIN, .run = run_fail, .done = done_fail };

	data_conf()->limits.rooms_keep_ms = 20;
	run_begin(&r);
	score(&r, "a", 1);
	await_kept();
	cr_assert_eq(store_submit(r.store, &fail), ERR_OK);
	score(&r, "b", 1);
	cr_expect(data_await(cannot, &r));
	run_end(&r);
}

/* Its whole batch goes with it. */
static enum err run_lose(struct job *job, struct db *db)
{
	(void)job;
	db_undo(db);
	return ERR_STORE;
}

Test(rooms_keep, scores_are_refused_while_the_store_fails_for_others)
{
	struct run r;
	struct job lose = { .surface = SURFACE_ADMIN, .run = run_lose, .done = done_fail };

	run_begin_slowly(&r);
	cr_expect(can(&r));
	cr_assert_eq(store_submit(r.store, &lose), ERR_OK);
	cr_expect(data_await(cannot, &r));
	gate_ask(r.store, "SELECT 1");
	cr_expect(can(&r));
	run_end(&r);
}

/* Everything at once */

struct chaos {
	struct run *run;
	unsigned   *dice;
};

static void record_chaos(void *arg)
{
	struct chaos *c = arg;

	for (int i = 0; i < 40; i++) {
		char         name[ROOMS_NAME_BYTES + 1];
		uint32_t     board = (uint32_t)rand_r(c->dice) % 3;
		struct score s     = { .run = c->run, .board = board, .order = board == 1, .name = name };

		s.points = rand_r(c->dice) % 50;
		text_format(name, sizeof(name), "%c%d", rand_r(c->dice) % 2 ? 'P' : 'p', rand_r(c->dice) % 60);
		if (rooms_keep_can(c->run->keep))
			record(&s);
	}
}

/* Every so many rows, a whole batch is lost. */
#define LOSE_BATCHES                                                                    \
	"CREATE TEMP TRIGGER lose BEFORE INSERT ON scores WHEN abs(random() % 60) = 0 " \
	"BEGIN SELECT RAISE(ROLLBACK, 'lost'); END"

static void play(struct run *r, unsigned *dice)
{
	struct chaos c = { r, dice };

	gate_ask(r->store, LOSE_BATCHES);
	for (int round = 0; round < 30; round++) {
		if (round % 6 == 0)
			gate_close(r->store);
		loop_thread_do(&r->on, record_chaos, &c);
		loop_thread_advance(&r->on, 200);
		if (round % 6 == 4)
			gate_open();
	}
	while (gate_try(r->store, "DROP TRIGGER IF EXISTS lose") != ERR_OK)
		continue;
}

Test(rooms_keep, the_table_is_what_the_boards_are_whatever_happens)
{
	static char was[TEXT_BYTES];
	unsigned    dice = 7;
	struct run  r;

	data_conf()->limits.rooms_rows_per_board = 30;
	data_conf()->limits.rooms_keep_ms        = 10;
	run_begin(&r);
	for (int i = 0; i < 4; i++) {
		play(&r, &dice);
		describe(was, &r);
		run_end(&r);
		run_begin(&r);
		cr_assert_str_eq(described(&r), was, "round %d", i);
	}
	cr_expect_gt(metric_get(M_STORE_JOBS_FAILED), 0);
	run_end(&r);
}
