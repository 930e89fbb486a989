#include "support/store_gate.h"

#include "base/auto.h"
#include "store/ask.h"
#include "support/data_folder.h"

#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct question {
	struct job  job;
	const char *sql;
	int64_t     answer;
	bool        is_gate; /* it ends when the gate is opened */
};

static atomic_bool reached, is_open, passed = true;

static bool is_set(void *arg)
{
	return atomic_load((atomic_bool *)arg);
}

static enum err run_question(struct job *job, struct db *db)
{
	struct question *q = CONTAINER(job, struct question, job);

	if (q->is_gate) {
		atomic_store(&reached, true);
		cr_assert(data_await(is_set, &is_open));
		atomic_store(&passed, true);
	} else if (strncmp(q->sql, "SELECT", 6) == 0) {
		q->answer = data_ask(db, q->sql);
	} else {
		data_exec(db, q->sql);
	}
	return ERR_OK;
}

static void done_question(struct job *job, enum err result)
{
	(void)result;
	free(CONTAINER(job, struct question, job));
}

static struct question *question_new(enum store_surface surface)
{
	struct question *q = calloc(1, sizeof(*q));

	cr_assert_not_null(q);
	q->job = (struct job){ .surface = surface, .run = run_question, .done = done_question };
	return q;
}

static enum err ask(int64_t *answer, struct store *s, const char *sql)
{
	struct question q    = { .job = { .surface = SURFACE_ADMIN, .run = run_question }, .sql = sql };
	bool            gone = false;
	enum err        e    = store_ask_within(s, &q.job, &gone, done_question, -1);

	*answer = q.answer;
	return e;
}

int64_t gate_ask(struct store *s, const char *sql)
{
	int64_t answer = 0;

	cr_assert_eq(ask(&answer, s, sql), ERR_OK, "%s", sql);
	return answer;
}

enum err gate_try(struct store *s, const char *sql)
{
	int64_t answer = 0;

	return ask(&answer, s, sql);
}

struct wanted {
	struct store *store;
	const char   *sql;
	int64_t       answer, last;
};

static bool is_answered(void *arg)
{
	struct wanted *w = arg;

	w->last = gate_ask(w->store, w->sql);
	return w->last == w->answer;
}

void gate_await(struct store *s, const char *sql, int64_t answer)
{
	struct wanted w = { .store = s, .sql = sql, .answer = answer };

	cr_expect(data_await(is_answered, &w), "%s is %ld, not %ld", sql, (long)w.last, (long)answer);
}

void gate_close(struct store *s)
{
	struct question *q = question_new(SURFACE_ADMIN);

	q->is_gate = true;
	atomic_store(&reached, false);
	atomic_store(&is_open, false);
	atomic_store(&passed, false);
	cr_assert_eq(store_submit(s, &q->job), ERR_OK);
	cr_assert(data_await(is_set, &reached));
}

void gate_open(void)
{
	atomic_store(&is_open, true);
	cr_assert(data_await(is_set, &passed)); /* before anybody closes it again */
}

enum err gate_submit(struct store *s, enum store_surface surface, const char *sql)
{
	struct question *q = question_new(surface);

	q->sql     = sql;
	enum err e = store_submit(s, &q->job);
	if (e != ERR_OK)
		free(q);
	return e;
}
