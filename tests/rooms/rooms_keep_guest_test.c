/*
 * What an operator changes on a board beside what players change: in which order it is written, and what becomes of it when it cannot
 * be.  With a real store, and a loop on a thread of its own.
 */
#include "rooms/rooms_keep.h"

#include "base/auto.h"
#include "base/metric.h"
#include "base/text.h"
#include "store/board.h"
#include "support/data_folder.h"
#include "support/loop_thread.h"
#include "support/store_gate.h"

#include <criterion/criterion.h>
#include <string.h>

#define A_JOB 4096 /* rows */

static struct loop_thread   on;
static struct store        *store;
static struct rooms_boards *boards;
static struct rooms_keep   *keep;

static const uint8_t *title(void)
{
	return (const uint8_t *)"NPWR00860_00";
}

static void begin(void)
{
	loop_thread_init(&on);
	store  = data_open_store();
	boards = rooms_boards_new(&data_conf()->limits);
	cr_assert_not_null(boards);
	cr_assert_eq(rooms_keep_new(&keep, on.loop, store, data_conf(), boards, stderr), ERR_OK);
	cr_assert_eq(store_start(store), ERR_OK);
	loop_thread_start(&on);
}

static void stop_loop(void *arg)
{
	(void)arg;
	rooms_keep_stop(keep);
	loop_stop(on.loop);
}

static void end(void)
{
	loop_thread_do(&on, stop_loop, NULL);
	loop_thread_join(&on);
	store_stop(store);
	loop_drain(on.loop);
	rooms_keep_free(keep);
	rooms_boards_free(boards);
	loop_thread_fini(&on);
}

TestSuite(rooms_keep_guest, .init = begin, .fini = end, .timeout = 60);

/* --- Players --- */

struct crowd {
	int     count;
	int64_t points;
};

static void record_crowd(void *arg)
{
	const struct crowd *c     = arg;
	struct rooms_board *board = rooms_board_find(boards, title(), 1);

	if (!board)
		cr_assert_eq(rooms_board_make(&board, boards, title(), 1, 0), ROOMS_FINE);
	for (int i = 0; i < c->count; i++) {
		uint8_t               name[ROOMS_NAME_BYTES] = { 0 };
		struct rooms_recorded did;

		text_format((char *)name, sizeof(name), "p%d", i);
		cr_assert_eq(rooms_board_record(&did, boards, board, name, c->points, NULL, 0, 1), ROOMS_FINE);
		rooms_keep_recorded(keep, board, name, &did);
	}
}

/* p0 and so on. */
static void record(int count, int64_t points)
{
	loop_thread_do(&on, record_crowd, &(struct crowd){ count, points });
}

static bool are_waiting(void *arg)
{
	return metric_get(M_ROOMS_SCORES_WAITING) == *(const int64_t *)arg;
}

static void await_waiting(int64_t rows)
{
	cr_assert(data_await(are_waiting, &rows), "%ld wait", (long)metric_get(M_ROOMS_SCORES_WAITING));
}

/* --- The operator: p0 goes --- */

static struct guest {
	struct rooms_keep_guest guest;
	enum err                fails;   /* of its job */
	bool                    stays;   /* the visit is not over when it is done */
	bool                    has_run; /* store thread */
	bool                    is_done; /* loop */
	enum err                result;
} guest;

static const uint8_t *name_of_p0(void)
{
	static const uint8_t name[ROOMS_NAME_BYTES] = "p0";

	return name;
}

static enum err run(struct rooms_keep_guest *g, struct db *db)
{
	(void)g;
	guest.has_run = true;
	return guest.fails != ERR_OK ? guest.fails : board_drop(db, title(), 1, name_of_p0());
}

static void make_so(void *arg)
{
	struct rooms_board *board = rooms_board_find(boards, title(), 1);

	(void)arg;
	if (guest.result == ERR_OK) {
		rooms_board_remove(boards, board, name_of_p0());
		rooms_keep_follow(keep, board, name_of_p0());
	}
	rooms_keep_visit_over(keep);
}

static void done(struct rooms_keep_guest *g, enum err result)
{
	(void)g;
	guest.result  = result;
	guest.is_done = true;
	if (!guest.stays)
		make_so(NULL);
}

static void visit_now(void *arg)
{
	(void)arg;
	guest.guest = (struct rooms_keep_guest){ .run = run, .done = done };
	rooms_keep_visit(keep, &guest.guest);
}

static void visit(void)
{
	loop_thread_do(&on, visit_now, NULL);
}

static void look(void *arg)
{
	*(bool *)arg = guest.is_done;
}

static bool is_done(void *arg)
{
	bool is = false;

	(void)arg;
	loop_thread_do(&on, look, &is);
	return is;
}

static void expect_done(enum err result)
{
	cr_assert(data_await(is_done, NULL));
	cr_expect_eq(guest.result, result, "%s", err_name(guest.result));
}

#define COUNT    "SELECT count(*) FROM scores"
#define COUNT_P0 COUNT " WHERE name_text = 'p0'"

/* --- Order --- */

Test(rooms_keep_guest, is_written_behind_what_is_under_way)
{
	/* The first job is handed over, and held at the gate; so is the guest behind it. */
	record(1, 1);
	gate_close(store);
	record(A_JOB, 2);
	visit();
	cr_expect_not(is_done(NULL));
	gate_open();
	expect_done(ERR_OK);
	await_waiting(0);
	cr_expect_eq(gate_ask(store, COUNT), A_JOB - 1);
	cr_expect_eq(gate_ask(store, COUNT_P0), 0);
}

/* More rows than one job has time for: those that are left of it are older than the guest. */
Test(rooms_keep_guest, rows_for_which_a_job_had_no_time_go_first)
{
	gate_close(store);
	record(3 * A_JOB, 1);
	visit();
	gate_open();
	expect_done(ERR_OK);
	await_waiting(0);
	cr_expect_eq(gate_ask(store, COUNT), 3 * A_JOB - 1);
	cr_expect_eq(gate_ask(store, COUNT_P0), 0);
}

Test(rooms_keep_guest, what_is_recorded_meanwhile_waits_until_the_visit_is_over)
{
	record(2, 1);
	await_waiting(0);
	guest.stays = true;
	visit();
	expect_done(ERR_OK);
	cr_expect_eq(gate_ask(store, COUNT), 1);
	/* As many as are handed over at once, when nobody visits. */
	record(A_JOB, 5);
	for (int i = 0; i < 3; i++)
		cr_expect_eq(gate_ask(store, COUNT " WHERE score = 5"), 0);
	cr_expect_eq(metric_get(M_ROOMS_SCORES_WAITING), A_JOB);
	/* The newer one of p0 stays: somebody who makes it so looks at that, here it goes as well. */
	loop_thread_do(&on, make_so, NULL);
	await_waiting(0);
	cr_expect_eq(gate_ask(store, COUNT " WHERE score = 5"), A_JOB - 1);
	cr_expect_eq(gate_ask(store, COUNT), A_JOB - 1);
}

/* --- Failing --- */

Test(rooms_keep_guest, one_that_fails_changes_nothing)
{
	record(2, 1);
	await_waiting(0);
	guest.fails = ERR_SPACE;
	visit();
	expect_done(ERR_SPACE);
	cr_expect_eq(gate_ask(store, COUNT), 2);
	record(2, 2);
	await_waiting(0);
	cr_expect_eq(gate_ask(store, COUNT " WHERE score = 2"), 2);
}

static bool are_late(void *arg)
{
	(void)arg;
	return store_health(store) == STORE_FAILING;
}

/* Rows that are tried again would be written behind it. */
Test(rooms_keep_guest, none_comes_while_rows_cannot_be_written)
{
	char    sql[64];
	int64_t pages = gate_ask(store, "SELECT page_count FROM pragma_page_count()");

	text_format(sql, sizeof(sql), "PRAGMA max_page_count = %ld", (long)pages);
	gate_ask(store, sql);
	record(A_JOB, 1);
	cr_assert(data_await(are_late, NULL));
	visit();
	expect_done(ERR_STORE);
	cr_expect_not(guest.has_run);
	gate_ask(store, "PRAGMA max_page_count = 1000000");
	await_waiting(0);
	guest.is_done = false;
	visit();
	expect_done(ERR_OK);
	cr_expect_eq(gate_ask(store, COUNT), A_JOB - 1);
}

static void visit_and_stop(void *arg)
{
	visit_now(arg);
	rooms_keep_stop(keep);
}

Test(rooms_keep_guest, one_that_has_not_begun_at_the_end_is_told)
{
	record(1, 1);
	gate_close(store);
	record(A_JOB, 2);
	loop_thread_do(&on, visit_and_stop, NULL);
	cr_expect(guest.is_done);
	cr_expect_eq(guest.result, ERR_DRAINING);
	cr_expect_not(guest.has_run);
	gate_open();
}

Test(rooms_keep_guest, none_comes_after_the_end)
{
	record(1, 1);
	await_waiting(0);
	guest.stays = true;
	loop_thread_do(&on, visit_and_stop, NULL);
	cr_assert(data_await(is_done, NULL));
	cr_expect_eq(guest.result, ERR_OK, "it had begun");
	loop_thread_do(&on, make_so, NULL);
	guest.is_done = false;
	visit();
	expect_done(ERR_DRAINING);
}
