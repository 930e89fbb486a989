/*
 * What both threads look at stands on the heap, and whoever is last frees it: the asker when he had his answer, the
 * store when he had gone.
 */
#include "store/ask.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

struct ask {
	struct job_port port;
	void (*let_go)(struct job *job, enum err result);
	pthread_mutex_t lock; /* guards the rest */
	pthread_cond_t  wake;
	bool            answered, gone;
	enum err        result;
};

/* Never called: deliver does all. The store wants one. */
static void done(struct job *job, enum err result)
{
	(void)job;
	(void)result;
}

static struct ask *ask_new(void)
{
	pthread_condattr_t attr;
	struct ask        *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	pthread_mutex_init(&a->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&a->wake, &attr);
	pthread_condattr_destroy(&attr);
	return a;
}

static void ask_free(struct ask *a)
{
	pthread_cond_destroy(&a->wake);
	pthread_mutex_destroy(&a->lock);
	free(a);
}

/* Store thread. The port is one job's only. */
static void deliver(struct job *first, void *arg)
{
	struct ask *a      = arg;
	enum err    result = first->result;

	assert(!first->next);
	pthread_mutex_lock(&a->lock);
	bool gone   = a->gone;
	a->answered = true;
	a->result   = result;
	pthread_cond_signal(&a->wake);
	pthread_mutex_unlock(&a->lock);
	/* Unless the asker had gone, neither the job nor a may be touched from here on. */
	if (!gone)
		return;
	a->let_go(first, result);
	ask_free(a);
}

static struct timespec after(int64_t ms)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	int64_t ns = t.tv_nsec + ms % 1000 * 1000000;
	t.tv_sec += (time_t)(ms / 1000 + ns / 1000000000);
	t.tv_nsec = (long)(ns % 1000000000);
	return t;
}

/* Whether the answer came; a is the store's when it did not. */
static bool await(struct ask *a, int64_t patience_ms)
{
	struct timespec until = after(patience_ms < 0 ? 0 : patience_ms);
	int             rc    = 0;

	pthread_mutex_lock(&a->lock);
	while (!a->answered && rc == 0)
		rc = patience_ms < 0 ? pthread_cond_wait(&a->wake, &a->lock)
		                     : pthread_cond_timedwait(&a->wake, &a->lock, &until);
	bool answered = a->answered;
	a->gone       = !answered;
	pthread_mutex_unlock(&a->lock);
	return answered;
}

enum err store_ask_within(struct store *s, struct job *job, bool *gone,
                          void (*let_go)(struct job *job, enum err result), int64_t patience_ms)
{
	struct ask *a = ask_new();

	*gone = false;
	if (!a)
		return ERR_NOMEM;
	a->port   = (struct job_port){ .deliver = deliver, .arg = a };
	a->let_go = let_go;
	job->port = &a->port;
	job->done = done;

	enum err e = store_submit(s, job);
	if (e == ERR_OK && !await(a, patience_ms)) {
		*gone = true;
		return ERR_BUSY;
	}
	if (e == ERR_OK)
		e = a->result;
	ask_free(a);
	return e;
}

enum err store_ask(struct store *s, struct job *job, bool *gone, void (*let_go)(struct job *job, enum err result))
{
	return store_ask_within(s, job, gone, let_go, STORE_ASK_MS);
}
