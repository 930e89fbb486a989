/*
 * Asking the store: answers, refusals, and an asker who goes before the answer.
 */
#include "store/ask.h"

#include "base/auto.h"
#include "support/data_folder.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct question {
	struct job job;
	enum err   answer;
	bool       waits; /* until the gate is open */
	bool       ran;
};

static atomic_bool gate_reached, gate_open;
static atomic_int  let_go_count;
static enum err    let_go_result;

static bool is_set(void *arg)
{
	return atomic_load((atomic_bool *)arg);
}

static enum err run(struct job *job, struct db *db)
{
	struct question *q = CONTAINER(job, struct question, job);

	(void)db;
	q->ran = true;
	if (q->waits) {
		atomic_store(&gate_reached, true);
		cr_assert(data_await(is_set, &gate_open));
	}
	return q->answer;
}

static struct question *question_new(enum err answer, bool waits)
{
	struct question *q = calloc(1, sizeof(*q));

	cr_assert_not_null(q);
	*q = (struct question){ .job = { .surface = SURFACE_CLOUD, .run = run }, .answer = answer, .waits = waits };
	return q;
}

static void let_go(struct job *job, enum err result)
{
	struct question *q = CONTAINER(job, struct question, job);

	cr_expect(q->ran);
	let_go_result = result;
	free(q);
	atomic_fetch_add(&let_go_count, 1);
}

static bool is_let_go(void *arg)
{
	(void)arg;
	return atomic_load(&let_go_count) == 1;
}

static void expect_answer(struct store *s, enum err wanted, bool eager)
{
	struct question *q    = question_new(wanted, false);
	bool             gone = true;

	q->job.eager = eager;
	cr_expect_eq(store_ask(s, &q->job, &gone, let_go), wanted);
	cr_expect_not(gone);
	cr_expect(q->ran);
	free(q);
}

Test(ask, the_answer_is_the_jobs_result)
{
	struct store *s = data_start_store();

	for (int i = 0; i < 20; i++) {
		expect_answer(s, ERR_OK, i % 2 == 0);
		expect_answer(s, ERR_QUOTA, i % 2 == 0);
	}
	cr_expect_eq(atomic_load(&let_go_count), 0);
	store_stop(s);
}

Test(ask, a_full_queue_refuses_at_once)
{
	data_conf()->limits.store_jobs = 1;

	struct store    *s     = data_start_store();
	struct question *held  = question_new(ERR_OK, true);
	struct question *next  = question_new(ERR_OK, false);
	struct question *third = question_new(ERR_OK, false);
	bool             gone;

	cr_expect_eq(store_ask_within(s, &held->job, &gone, let_go, 0), ERR_BUSY);
	cr_expect(gone);
	cr_assert(data_await(is_set, &gate_reached));
	cr_expect_eq(store_ask_within(s, &next->job, &gone, let_go, 0), ERR_BUSY);
	cr_expect(gone, "it waits in the queue");
	cr_expect_eq(store_ask(s, &third->job, &gone, let_go), ERR_BUSY);
	cr_expect_not(gone, "it is still ours");
	cr_expect_not(third->ran);
	free(third);
	atomic_store(&gate_open, true);
	store_stop(s);
	cr_expect_eq(atomic_load(&let_go_count), 2);
}

Test(ask, an_answer_too_late_is_let_go)
{
	struct store    *s = data_start_store();
	struct question *q = question_new(ERR_QUOTA, true);
	bool             gone;

	cr_expect_eq(store_ask_within(s, &q->job, &gone, let_go, 50), ERR_BUSY);
	cr_expect(gone);
	cr_expect_eq(atomic_load(&let_go_count), 0);
	atomic_store(&gate_open, true);
	cr_expect(data_await(is_let_go, NULL));
	cr_expect_eq(let_go_result, ERR_QUOTA);
	store_stop(s);
}

/* The bound that callers count on. */
Test(ask, nobody_waits_longer_than_five_seconds)
{
	struct store    *s = data_start_store();
	struct question *q = question_new(ERR_OK, true);
	bool             gone;

	cr_expect_eq(store_ask(s, &q->job, &gone, let_go), ERR_BUSY);
	cr_expect(gone);
	atomic_store(&gate_open, true);
	store_stop(s);
	cr_expect_eq(atomic_load(&let_go_count), 1);
}

struct asker {
	struct store *store;
	enum err      result;
	bool          gone;
};

static void *ask_and_wait(void *arg)
{
	struct asker    *a = arg;
	struct question *q = question_new(ERR_LIMIT, true);

	a->result = store_ask_within(a->store, &q->job, &a->gone, let_go, -1);
	free(q);
	return NULL;
}

Test(ask, a_stop_answers_whoever_waits_still)
{
	struct asker a = { .store = data_start_store() };
	pthread_t    thread;

	cr_assert_eq(pthread_create(&thread, NULL, ask_and_wait, &a), 0);
	cr_assert(data_await(is_set, &gate_reached));
	atomic_store(&gate_open, true);
	store_stop(a.store);
	pthread_join(thread, NULL);
	cr_expect_eq(a.result, ERR_LIMIT);
	cr_expect_not(a.gone);
}

struct crowd {
	struct store *store;
	atomic_int    wrong;
};

static void *ask_many(void *arg)
{
	struct crowd *c = arg;

	for (int i = 0; i < 200; i++) {
		struct question *q = question_new(i % 3 == 0 ? ERR_LIMIT : ERR_OK, false);
		bool             gone;

		q->job.eager = i % 2 == 0;
		if (store_ask(c->store, &q->job, &gone, let_go) != q->answer || gone)
			atomic_fetch_add(&c->wrong, 1);
		free(q);
	}
	return NULL;
}

Test(ask, each_of_many_gets_his_own_answer)
{
	struct crowd c = { .store = data_start_store() };
	pthread_t    threads[8];

	for (size_t i = 0; i < COUNT_OF(threads); i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, ask_many, &c), 0);
	for (size_t i = 0; i < COUNT_OF(threads); i++)
		pthread_join(threads[i], NULL);
	cr_expect_eq(atomic_load(&c.wrong), 0);
	store_stop(c.store);
}
