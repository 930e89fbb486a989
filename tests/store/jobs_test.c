/*
 * The store thread: order, shares, laziness, and whose mistake hurts whom. What a failing disk does is in
 * durable_test.c.
 */
#include "store/jobs.h"

#include "base/metric.h"
#include "store/player.h"
#include "support/data_folder.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#define TASKS_MAX 4000

enum what { DO_ADD, DO_FAIL, DO_FAIL_LATE, DO_BREAK_RULE, DO_UNDO_ALL, DO_WAIT };

struct task {
	struct job job;
	enum what  what;
	uint32_t   n; /* adds the player of this number */
	enum err   result;
	int        done_at; /* the how-manieth; 0: not yet */
};

static struct task tasks[TASKS_MAX];
static size_t      task_count;
static atomic_int  done_count;
static atomic_int  delivered; /* calls of the port */
static atomic_bool gate_reached, gate_open;

static enum err add_player(struct db *db, uint32_t n)
{
	static const uint8_t addr[PLAYER_ADDR_BYTES];
	struct player_row    row = { .code = 100000 + n, .used_ms = 1 };

	memcpy(row.digest, &n, sizeof(n));
	return player_add(db, &row, addr);
}

static bool is_set(void *arg)
{
	return atomic_load((atomic_bool *)arg);
}

static enum err run(struct job *job, struct db *db)
{
	struct task *t = CONTAINER(job, struct task, job);

	switch (t->what) {
	case DO_ADD:
		return add_player(db, t->n);
	case DO_FAIL:
		return ERR_LIMIT;
	case DO_FAIL_LATE:
		return add_player(db, t->n) == ERR_OK ? ERR_LIMIT : ERR_INTERNAL;
	case DO_BREAK_RULE:
		cr_assert_eq(add_player(db, t->n), ERR_OK);
		return add_player(db, t->n);
	case DO_UNDO_ALL: /* what a full disk can make SQLite do on its own */
		sqlite3_exec(db_handle(db), "ROLLBACK", NULL, NULL, NULL);
		return ERR_OK;
	case DO_WAIT:
		atomic_store(&gate_reached, true);
		return data_await(is_set, &gate_open) ? ERR_OK : ERR_TIMEOUT;
	}
	return ERR_INTERNAL;
}

static void done(struct job *job, enum err result)
{
	struct task *t = CONTAINER(job, struct task, job);

	t->result  = result;
	t->done_at = atomic_fetch_add(&done_count, 1) + 1;
}

static void deliver(struct job *first, void *arg)
{
	(void)arg;
	atomic_fetch_add(&delivered, 1);
	while (first) {
		struct job *job = first;

		first = job->next;
		job->done(job, job->result);
	}
}

static const struct job_port port = { deliver, NULL };

static struct task *prepare(enum what what, enum store_surface surface, bool lazy)
{
	struct task *t = &tasks[task_count];

	*t = (struct task){
		.job  = { .port = &port, .surface = surface, .lazy = lazy, .run = run, .done = done },
		.what = what,
		.n    = (uint32_t)task_count,
	};
	task_count++;
	return t;
}

static struct task *submit(struct store *s, enum what what)
{
	struct task *t = prepare(what, SURFACE_TUNNEL, false);

	cr_assert_eq(store_submit(s, &t->job), ERR_OK);
	return t;
}

static struct task *submit_lazy(struct store *s)
{
	struct task *t = prepare(DO_ADD, SURFACE_TUNNEL, true);

	cr_assert_eq(store_submit(s, &t->job), ERR_OK);
	return t;
}

static bool are_all_done(void *arg)
{
	(void)arg;
	return atomic_load(&done_count) == (int)task_count;
}

static void await_all(void)
{
	cr_assert(data_await(are_all_done, NULL), "%d of %zu", atomic_load(&done_count), task_count);
}

/* A batch ends when the test says so, not when the machine is slow. */
static struct store *start(void)
{
	data_conf()->limits.store_batch_ms = 10000;
	return data_start_store();
}

/* Holds the thread inside a batch, so that a test says what waits behind it. */
static struct task *hold(struct store *s)
{
	struct task *t = submit(s, DO_WAIT);

	cr_assert(data_await(is_set, &gate_reached));
	return t;
}

static void let_go(void)
{
	atomic_store(&gate_open, true);
}

static int64_t count_players(struct store *s)
{
	return data_ask(store_db(s), "SELECT count(*) FROM players");
}

Test(jobs, each_gets_its_result_in_the_order_they_came)
{
	struct store *s = start();

	for (int i = 0; i < 300; i++)
		submit(s, DO_ADD);
	await_all();
	for (size_t i = 0; i < task_count; i++) {
		cr_expect_eq(tasks[i].result, ERR_OK);
		cr_expect_eq(tasks[i].done_at, (int)i + 1);
	}
	store_stop(s);
}

Test(jobs, an_error_undoes_that_job_alone)
{
	struct store *s = start();

	hold(s);
	struct task *before = submit(s, DO_ADD);
	struct task *fails  = submit(s, DO_FAIL_LATE);
	struct task *breaks = submit(s, DO_BREAK_RULE);
	struct task *after  = submit(s, DO_ADD);
	let_go();
	await_all();
	cr_expect_eq(before->result, ERR_OK);
	cr_expect_eq(fails->result, ERR_LIMIT);
	cr_expect_eq(breaks->result, ERR_EXISTS);
	cr_expect_eq(after->result, ERR_OK);
	cr_expect_eq(store_health(s), STORE_OK);
	store_stop(s);
	s = data_open_store();
	cr_expect_eq(count_players(s), 2, "whose insert went before the error is undone with it");
	store_stop(s);
}

Test(jobs, a_transaction_that_is_lost_fails_the_whole_batch_and_no_later_one)
{
	struct store *s = start();

	hold(s);
	struct task *before = submit(s, DO_ADD);
	submit(s, DO_UNDO_ALL);
	struct task *after = submit(s, DO_ADD);
	let_go();
	await_all();
	cr_expect_eq(tasks[0].result, ERR_STORE);
	cr_expect_eq(before->result, ERR_STORE);
	cr_expect_eq(after->result, ERR_OK);
	store_stop(s);
}

Test(jobs, a_batch_delivers_once)
{
	struct store *s = start();

	hold(s);
	for (int i = 0; i < 100; i++)
		submit(s, DO_ADD);
	int before = atomic_load(&delivered);
	let_go();
	await_all();
	cr_expect_leq(atomic_load(&delivered) - before, 2, "with the one that was held, or after it");
	store_stop(s);
}

/* Results are for after the commit: another connection sees what was answered. */
Test(jobs, what_is_answered_is_committed)
{
	struct store *s = start();
	struct db    *other;

	cr_assert_eq(db_open(&other, NULL, data_path("coop.db"), stderr), ERR_OK);
	for (int i = 0; i < 50; i++) {
		submit(s, DO_ADD);
		await_all();
		cr_expect_eq(data_ask(other, "SELECT count(*) FROM players"), i + 1);
	}
	db_close(other);
	store_stop(s);
}

Test(jobs, a_full_queue_refuses_its_own_surface_only)
{
	struct store *s     = NULL;
	int           share = 5;

	data_conf()->limits.store_jobs = share;
	s                              = start();
	hold(s);
	for (int i = 0; i < share; i++)
		submit(s, DO_ADD);

	struct task *one_more = prepare(DO_ADD, SURFACE_TUNNEL, false);
	cr_expect_eq(store_submit(s, &one_more->job), ERR_BUSY);
	cr_expect_eq(one_more->done_at, 0);
	cr_expect_eq(metric_get(M_STORE_REFUSED), 1);
	task_count--;

	struct task *other = prepare(DO_ADD, SURFACE_UPKEEP, false);
	cr_expect_eq(store_submit(s, &other->job), ERR_OK);
	let_go();
	await_all();
	cr_expect_eq(tasks[share].result, ERR_OK, "the last that fitted");
	store_stop(s);
}

Test(jobs, surfaces_are_served_in_turn)
{
	struct store *s = start();

	hold(s);
	for (int i = 0; i < 100; i++)
		submit(s, DO_ADD);
	struct task *other = prepare(DO_ADD, SURFACE_UPKEEP, false);
	cr_assert_eq(store_submit(s, &other->job), ERR_OK);
	let_go();
	await_all();
	cr_expect_leq(other->done_at, 4, "not behind the hundred");
	store_stop(s);
}

Test(jobs, a_batch_has_an_end)
{
	struct store *s = NULL;

	data_conf()->limits.store_batch = 10;
	s                               = start();
	hold(s);
	for (int i = 0; i < 35; i++)
		submit(s, DO_ADD);
	int64_t before = metric_get(M_STORE_COMMITS);
	let_go();
	await_all();
	cr_expect_eq(metric_get(M_STORE_COMMITS) - before, 4, "36 jobs, 10 at a time");
	store_stop(s);
}

Test(jobs, a_batch_has_an_end_in_time_too)
{
	struct data_clock *clock  = data_take_clock();
	struct store      *s      = start();
	int64_t            before = metric_get(M_STORE_COMMITS);

	hold(s);
	submit(s, DO_ADD);
	clock->both_ms = 10000;
	let_go();
	await_all();
	cr_expect_eq(metric_get(M_STORE_COMMITS) - before, 2);
	store_stop(s);
}

Test(jobs, half_a_queue_is_slow)
{
	struct store *s = NULL;

	data_conf()->limits.store_jobs = 10;
	s                              = start();
	hold(s);
	for (int i = 0; i < 5; i++)
		submit(s, DO_ADD);
	cr_expect_eq(store_health(s), STORE_OK);
	submit(s, DO_ADD);
	cr_expect_eq(store_health(s), STORE_SLOW);
	cr_expect_eq(metric_get(M_STORE_QUEUE), 6);
	let_go();
	await_all();
	cr_expect_eq(store_health(s), STORE_OK);
	store_stop(s);
}

Test(jobs, a_batch_of_more_than_two_seconds_is_slow)
{
	struct data_clock *clock = data_take_clock();
	struct store      *s     = start();

	hold(s);
	cr_expect_eq(store_health(s), STORE_OK);
	clock->both_ms = 2500;
	cr_expect_eq(store_health(s), STORE_SLOW);
	let_go();
	await_all();
	store_stop(s);
}

Test(jobs, lazy_ones_ride_along_with_a_durable_one)
{
	struct store *s = NULL;

	data_conf()->limits.store_lazy_ms = 60000;
	s                                 = start();
	hold(s);
	let_go();
	await_all();

	int64_t      before = metric_get(M_STORE_COMMITS);
	struct task *lazy   = submit_lazy(s);
	usleep(100000);
	cr_expect_eq(lazy->done_at, 0, "it waits");
	struct task *durable = submit(s, DO_ADD);
	await_all();
	cr_expect_eq(metric_get(M_STORE_COMMITS) - before, 1);
	cr_expect_lt(lazy->done_at, durable->done_at, "in the order they came");
	store_stop(s);
}

Test(jobs, lazy_ones_go_alone_when_their_time_has_come)
{
	struct data_clock *clock = data_take_clock();
	struct store      *s     = NULL;

	data_conf()->limits.store_lazy_ms = 60000;
	s                                 = start();
	struct task *lazy                 = submit_lazy(s);
	clock->both_ms                    = 59000;
	store_poke(s);
	usleep(100000);
	cr_expect_eq(lazy->done_at, 0);
	clock->both_ms = 60000;
	store_poke(s);
	await_all();
	cr_expect_eq(lazy->result, ERR_OK);
	store_stop(s);
}

/* Without a poke the thread's naps are short enough. */
Test(jobs, lazy_ones_go_alone_by_themselves)
{
	struct store *s = NULL;

	data_conf()->limits.store_lazy_ms = 50;
	s                                 = start();
	submit_lazy(s);
	await_all();
	store_stop(s);
}

Test(jobs, lazy_ones_never_fill_a_queue_by_waiting)
{
	struct store *s = NULL;

	data_conf()->limits.store_jobs    = 10;
	data_conf()->limits.store_lazy_ms = 60000;
	s                                 = start();
	for (int i = 0; i < 6; i++)
		submit_lazy(s);
	await_all();
	store_stop(s);
}

Test(jobs, a_stop_does_all_that_waits_and_refuses_what_comes_then)
{
	struct store *s = NULL;

	data_conf()->limits.store_lazy_ms = 60000;
	s                                 = start();
	submit(s, DO_ADD);
	for (int i = 0; i < 50; i++)
		submit_lazy(s);
	store_stop(s);
	cr_assert(are_all_done(NULL));
	for (size_t i = 0; i < task_count; i++)
		cr_expect_eq(tasks[i].result, ERR_OK);

	s = data_open_store();
	cr_expect_eq(count_players(s), 51);
	store_stop(s);
}

static struct store *stopping;
static enum err      late_result = ERR_OK;

static void submit_late(struct job *job, enum err result)
{
	struct task *late = prepare(DO_ADD, SURFACE_TUNNEL, false);

	late_result = store_submit(stopping, &late->job);
	task_count--;
	done(job, result);
}

Test(jobs, a_done_during_the_stop_cannot_submit)
{
	stopping = NULL;

	data_conf()->limits.store_lazy_ms = 60000;
	stopping                          = start();
	struct task *t                    = prepare(DO_ADD, SURFACE_TUNNEL, true);
	t->job.port                       = NULL;
	t->job.done                       = submit_late;
	cr_assert_eq(store_submit(stopping, &t->job), ERR_OK);
	store_stop(stopping);
	cr_expect_eq(t->result, ERR_OK);
	cr_expect_eq(late_result, ERR_STORE);
}

/* Many threads at once: nothing is lost, nothing done twice. */
static void *submit_many(void *arg)
{
	struct store     *s = arg;
	static atomic_int next;

	for (int i = 0; i < 500; i++) {
		struct task *t = &tasks[atomic_fetch_add(&next, 1)];

		*t   = (struct task){ .job  = { .port = &port, .surface = SURFACE_TUNNEL, .run = run, .done = done },
			              .what = DO_ADD };
		t->n = (uint32_t)(t - tasks);
		while (store_submit(s, &t->job) == ERR_BUSY)
			usleep(1000);
	}
	return NULL;
}

Test(jobs, any_thread_may_submit)
{
	struct store *s = start();
	pthread_t     threads[4];

	task_count = 4 * 500;
	for (size_t i = 0; i < COUNT_OF(threads); i++)
		pthread_create(&threads[i], NULL, submit_many, s);
	for (size_t i = 0; i < COUNT_OF(threads); i++)
		pthread_join(threads[i], NULL);
	await_all();
	for (size_t i = 0; i < task_count; i++)
		cr_expect_eq(tasks[i].result, ERR_OK);
	store_stop(s);
	s = data_open_store();
	cr_expect_eq(count_players(s), 2000);
	store_stop(s);
}

/* --- Eager jobs --- */

static struct task *prepare_eager(enum what what, bool lazy)
{
	struct task *t = prepare(what, SURFACE_TUNNEL, lazy);

	t->job.eager = true;
	return t;
}

static bool is_done(void *arg)
{
	const struct task *t = arg;

	return t->done_at != 0;
}

/* A job behind it in the same queue holds the batch open. */
Test(jobs, an_eager_one_is_answered_before_the_commit)
{
	struct store *s      = start();
	int64_t       before = metric_get(M_STORE_COMMITS);
	struct task  *eager  = prepare_eager(DO_ADD, false);

	cr_assert_eq(store_submit(s, &eager->job), ERR_OK);
	struct task *other = hold(s);
	cr_expect(data_await(is_done, eager));
	cr_expect_eq(eager->result, ERR_OK);
	cr_expect_eq(other->done_at, 0);
	cr_expect_leq(metric_get(M_STORE_COMMITS) - before, 1, "of a batch of its own, if the thread was that quick");
	let_go();
	await_all();
	store_stop(s);
	s = data_open_store();
	cr_expect_eq(count_players(s), 1, "what it wrote is kept with the batch");
	store_stop(s);
}

Test(jobs, an_eager_one_behind_others_of_a_batch_is_answered_first)
{
	struct store *s = start();

	hold(s);
	struct task *durable = submit(s, DO_ADD);
	struct task *eager   = prepare_eager(DO_ADD, false);
	cr_assert_eq(store_submit(s, &eager->job), ERR_OK);
	let_go();
	await_all();
	cr_expect_lt(eager->done_at, durable->done_at);
	store_stop(s);
}

Test(jobs, an_eager_one_does_not_wait_like_a_lazy_one)
{
	data_conf()->limits.store_lazy_ms = 60000;

	struct store *s    = start();
	struct task  *lazy = prepare_eager(DO_ADD, true);

	cr_assert_eq(store_submit(s, &lazy->job), ERR_OK);
	await_all();
	cr_expect_eq(lazy->result, ERR_OK);
	store_stop(s);
}

Test(jobs, an_eager_ones_error_undoes_it_alone)
{
	struct store *s = start();

	hold(s);
	struct task *fails = prepare_eager(DO_FAIL_LATE, false);
	cr_assert_eq(store_submit(s, &fails->job), ERR_OK);
	struct task *after = submit(s, DO_ADD);
	let_go();
	await_all();
	cr_expect_eq(fails->result, ERR_LIMIT);
	cr_expect_eq(after->result, ERR_OK);
	store_stop(s);
	s = data_open_store();
	cr_expect_eq(count_players(s), 1);
	store_stop(s);
}

Test(jobs, an_eager_one_that_loses_the_transaction_fails_with_the_batch)
{
	struct store *s = start();

	hold(s);
	struct task *early = prepare_eager(DO_ADD, false);
	cr_assert_eq(store_submit(s, &early->job), ERR_OK);
	struct task *durable = prepare(DO_ADD, SURFACE_CLOUD, false);
	cr_assert_eq(store_submit(s, &durable->job), ERR_OK);
	struct task *loses = prepare_eager(DO_UNDO_ALL, false);
	cr_assert_eq(store_submit(s, &loses->job), ERR_OK);
	let_go();
	await_all();
	cr_expect_eq(early->result, ERR_OK, "it had its answer");
	cr_expect_eq(durable->result, ERR_STORE);
	cr_expect_eq(loses->result, ERR_STORE);
	store_stop(s);
	s = data_open_store();
	cr_expect_eq(count_players(s), 0);
	store_stop(s);
}

/* A batch's end counts them, too. */
Test(jobs, eager_ones_count_for_the_size_of_a_batch)
{
	data_conf()->limits.store_batch = 10;

	struct store *s = start();

	hold(s);
	for (int i = 0; i < 18; i++)
		cr_assert_eq(store_submit(s, &prepare_eager(DO_ADD, false)->job), ERR_OK);
	struct task *last   = prepare(DO_ADD, SURFACE_CLOUD, false);
	int64_t      before = metric_get(M_STORE_COMMITS);
	cr_assert_eq(store_submit(s, &last->job), ERR_OK);
	let_go();
	await_all();
	store_stop(s); /* the last commit may come after the last answer */
	cr_expect_eq(metric_get(M_STORE_COMMITS) - before, 2, "20 jobs, 10 at a time");
}
