/*
 * Everything under the mutex is quick; nothing waits for the disk with it held, so submitting never waits.
 *
 * Naps are measured by the kernel's own monotonic clock, not os/clock.h: a test moves that one, and then pokes.
 */
#include "store/jobs.h"

#include "base/metric.h"
#include "os/clock.h"
#include "os/log.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#define NAP_MS        1000
#define SLOW_BATCH_MS 2000

struct queue {
	struct job *first, **last;
	size_t      count;
};

struct jobs {
	struct db        *db;
	struct jobs_rules rules;
	pthread_t         thread;
	bool              started;

	pthread_mutex_t    lock; /* guards from here */
	pthread_cond_t     wake;
	struct queue       queues[SURFACE_COUNT];
	size_t             urgent;     /* waiting in all queues: durable and eager ones */
	size_t             waiting;    /* the same with lazy ones */
	int64_t            lazy_at_ms; /* when the oldest lazy one is due, while any job waits */
	enum store_surface turn;       /* whose job is taken next */
	bool               poked;
	bool               stopping; /* to here */

	atomic_bool     failed;     /* for good */
	atomic_bool     batch_lost; /* the last batch was not kept; the next may be */
	atomic_bool     half_full;
	_Atomic int64_t batch_since_ms; /* monotonic; 0: no batch is under way */
	_Atomic int64_t beat_us;        /* of clock_lap_us: when the thread last came round; 0: it does not run */
};

/* Whether a batch begins because of it. */
static bool is_urgent(const struct job *job)
{
	return !job->lazy || job->eager;
}

static void queue_init(struct queue *q)
{
	*q = (struct queue){ .last = &q->first };
}

static void queue_append(struct queue *q, struct job *job)
{
	job->next = NULL;
	*q->last  = job;
	q->last   = &job->next;
	q->count++;
}

static struct job *queue_take(struct queue *q)
{
	struct job *job = q->first;

	if (!job)
		return NULL;
	q->first = job->next;
	if (!q->first)
		q->last = &q->first;
	q->count--;
	job->next = NULL;
	return job;
}

struct jobs *jobs_new(struct db *db, const struct jobs_rules *rules)
{
	pthread_condattr_t attr;
	struct jobs       *j = calloc(1, sizeof(*j));

	if (!j)
		return NULL;
	j->db    = db;
	j->rules = *rules;
	for (int i = 0; i < SURFACE_COUNT; i++)
		queue_init(&j->queues[i]);
	pthread_mutex_init(&j->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&j->wake, &attr);
	pthread_condattr_destroy(&attr);
	return j;
}

void jobs_free(struct jobs *j)
{
	if (!j)
		return;
	assert(!j->started);
	pthread_cond_destroy(&j->wake);
	pthread_mutex_destroy(&j->lock);
	free(j);
}

/* Under the lock. */
static void note_queues(struct jobs *j)
{
	bool half = false;

	for (int i = 0; i < SURFACE_COUNT; i++)
		half = half || j->queues[i].count * 2 > j->rules.share;
	atomic_store(&j->half_full, half);
	metric_set(M_STORE_QUEUE, (int64_t)j->waiting);
}

static enum err add(struct jobs *j, struct job *job)
{
	struct queue *q = &j->queues[job->surface];

	if (j->stopping || atomic_load(&j->failed))
		return ERR_STORE;
	if (q->count >= j->rules.share)
		return ERR_BUSY;
	if (j->waiting == 0)
		j->lazy_at_ms = clock_mono_ms() + j->rules.lazy_ms;
	job->queued_us = clock_lap_us();
	queue_append(q, job);
	j->waiting++;
	if (is_urgent(job))
		j->urgent++;
	note_queues(j);
	return ERR_OK;
}

enum err jobs_submit(struct jobs *j, struct job *job)
{
	assert(job->run && job->done && job->surface < SURFACE_COUNT);
	pthread_mutex_lock(&j->lock);
	enum err e = add(j, job);
	/* The first job of any kind, because the nap must not outlast a lazy one. */
	if (e == ERR_OK && (j->waiting == 1 || is_urgent(job) || atomic_load(&j->half_full)))
		pthread_cond_signal(&j->wake);
	pthread_mutex_unlock(&j->lock);
	if (e == ERR_BUSY)
		metric_inc(M_STORE_REFUSED);
	return e;
}

void jobs_poke(struct jobs *j)
{
	pthread_mutex_lock(&j->lock);
	j->poked = true;
	pthread_cond_signal(&j->wake);
	pthread_mutex_unlock(&j->lock);
}

bool jobs_are_waited_for(struct jobs *j)
{
	pthread_mutex_lock(&j->lock);
	bool waited_for = j->urgent > 0;
	pthread_mutex_unlock(&j->lock);
	return waited_for;
}

enum store_health jobs_health(const struct jobs *j)
{
	int64_t since_ms = atomic_load(&j->batch_since_ms);

	if (atomic_load(&j->failed) || atomic_load(&j->batch_lost))
		return STORE_FAILING;
	if (atomic_load(&j->half_full) || (since_ms != 0 && clock_mono_ms() - since_ms > SLOW_BATCH_MS))
		return STORE_SLOW;
	return STORE_OK;
}

/* The next job, from the next queue that has one; NULL when all are empty. */
static struct job *take(struct jobs *j)
{
	struct job *job = NULL;

	pthread_mutex_lock(&j->lock);
	for (int i = 0; i < SURFACE_COUNT && !job; i++) {
		job     = queue_take(&j->queues[j->turn]);
		j->turn = (j->turn + 1) % SURFACE_COUNT;
	}
	if (job) {
		j->waiting--;
		if (is_urgent(job))
			j->urgent--;
		note_queues(j);
	}
	pthread_mutex_unlock(&j->lock);
	return job;
}

/* One job inside the batch's transaction: all of it or nothing. */
static enum err run_job(struct db *db, struct job *job)
{
	enum err e = db_run(db, Q_JOB_BEGIN);
	if (e != ERR_OK)
		return e;

	e = job->run(job, db);
	if (!db_in_transaction(db))
		return ERR_STORE;
	if (e != ERR_OK && db_run(db, Q_JOB_UNDO) != ERR_OK) {
		db_undo(db);
		return ERR_STORE;
	}
	enum err kept = db_run(db, Q_JOB_KEEP);
	return e != ERR_OK ? e : kept;
}

static void set_results(struct queue *q, enum err e)
{
	for (struct job *job = q->first; job; job = job->next)
		job->result = e;
}

static void count_results(const struct queue *q)
{
	metric_add(M_STORE_JOBS, (int64_t)q->count);
	for (const struct job *job = q->first; job; job = job->next) {
		if (job->result != ERR_OK)
			metric_inc(M_STORE_JOBS_FAILED);
	}
}

/* Moves the jobs of the first one's port from all to mine, in their order. */
static void split(struct queue *mine, struct queue *all)
{
	const struct job_port *port = all->first->port;
	struct queue           rest;
	struct job            *job;

	queue_init(mine);
	queue_init(&rest);
	while ((job = queue_take(all)))
		queue_append(job->port == port ? mine : &rest, job);
	while ((job = queue_take(&rest)))
		queue_append(all, job);
}

static void deliver(struct queue *ran)
{
	struct queue mine;
	struct job  *job;

	count_results(ran);
	while (ran->count > 0) {
		const struct job_port *port = ran->first->port;

		split(&mine, ran);
		if (port) {
			port->deliver(mine.first, port->arg);
			continue;
		}
		while ((job = queue_take(&mine)))
			job->done(job, job->result);
	}
}

/* From here on nothing is promised any more; see db_has_failed. */
static void give_up(struct jobs *j)
{
	if (atomic_exchange(&j->failed, true))
		return;
	metric_set(M_STORE_FAILING, 1);
	log_error("store", 0, "has-failed",
	          "note=\"a write to the disk failed: nothing more is kept until a restart, games go on; check the "
	          "disk,"
	          " then restart coopd\"");
}

/* Ends up to a batch of jobs without running them. */
static void refuse_jobs(struct jobs *j, enum err e)
{
	struct queue refused;
	struct job  *job;

	queue_init(&refused);
	while (refused.count < j->rules.batch && (job = take(j)))
		queue_append(&refused, job);
	set_results(&refused, e);
	deliver(&refused);
}

/* Ahead of the commit, because it promises nothing. */
static void deliver_now(struct job *job)
{
	struct queue alone;

	queue_init(&alone);
	queue_append(&alone, job);
	deliver(&alone);
}

/*
 * Runs jobs until there are none or it is enough; ran are those that wait for the commit. ERR_STORE when the transaction
 * is gone.
 */
static enum err run_jobs(struct jobs *j, struct queue *ran)
{
	int64_t     end_ms = atomic_load(&j->batch_since_ms) + j->rules.batch_ms;
	size_t      count  = 0;
	struct job *job;

	while (count < j->rules.batch && (count == 0 || clock_mono_ms() < end_ms) && (job = take(j))) {
		count++;
		if (is_urgent(job))
			metric_observe(H_STORE_WAIT, clock_lap_us() - job->queued_us);
		job->result = run_job(j->db, job);
		if (job->eager)
			deliver_now(job);
		else
			queue_append(ran, job);
		if (!db_in_transaction(j->db)) {
			log_error("store", 0, "loses-batch", "jobs=%zu", count);
			return ERR_STORE;
		}
	}
	return ERR_OK;
}

static enum err commit_jobs(struct jobs *j, struct queue *ran)
{
	enum err e = run_jobs(j, ran);

	if (e == ERR_OK && j->rules.before_commit)
		e = j->rules.before_commit(j->rules.arg);
	if (e != ERR_OK) {
		db_undo(j->db);
		return e;
	}
	int64_t began_us = clock_lap_us();
	e                = db_commit(j->db);
	if (e == ERR_OK) {
		metric_observe(H_STORE_COMMIT, clock_lap_us() - began_us);
		metric_inc(M_STORE_COMMITS);
		if (j->rules.after_commit)
			j->rules.after_commit(j->rules.arg);
	}
	return e;
}

static void run_batch(struct jobs *j)
{
	struct queue ran;

	/* The tick uses the database too. */
	if (db_has_failed(j->db))
		give_up(j);
	if (atomic_load(&j->failed)) {
		refuse_jobs(j, ERR_STORE);
		return;
	}
	queue_init(&ran);
	atomic_store(&j->batch_since_ms, clock_mono_ms());
	enum err e     = db_run(j->db, Q_BATCH_BEGIN);
	bool     begun = e == ERR_OK;
	if (begun)
		e = commit_jobs(j, &ran);
	/* Before the answers: whoever is refused and asks why is to see it. */
	if (e != ERR_OK)
		atomic_store(&j->batch_lost, true);
	else if (ran.count > 0) /* a batch of eager jobs alone has written nothing, and proves nothing */
		atomic_store(&j->batch_lost, false);
	if (!begun)
		refuse_jobs(j, e);
	if (e != ERR_OK)
		set_results(&ran, e);
	if (db_has_failed(j->db))
		give_up(j);
	deliver(&ran);
	/* After the answers, since nobody waits for it. */
	db_checkpoint(j->db);
	if (db_has_failed(j->db))
		give_up(j);
	atomic_store(&j->batch_since_ms, 0);
}

/* Under the lock. */
static bool is_due(const struct jobs *j)
{
	if (j->waiting == 0)
		return false;
	return j->urgent > 0 || j->stopping || atomic_load(&j->half_full) || clock_mono_ms() >= j->lazy_at_ms;
}

/* Under the lock: until somebody signals, or the oldest lazy job is due, or a second has passed. */
static void nap(struct jobs *j)
{
	int64_t         left_ms = NAP_MS;
	struct timespec until;

	if (j->waiting > 0 && j->lazy_at_ms - clock_mono_ms() < left_ms)
		left_ms = j->lazy_at_ms - clock_mono_ms();
	clock_gettime(CLOCK_MONOTONIC, &until);
	int64_t ns = until.tv_nsec + (left_ms > 0 ? left_ms : 0) * 1000000;
	until.tv_sec += (time_t)(ns / 1000000000);
	until.tv_nsec = (long)(ns % 1000000000);
	pthread_cond_timedwait(&j->wake, &j->lock, &until);
}

/* Waits until a batch is due (true), or for a while. *end: stopped, and nothing waits. */
static bool wait_for_batch(struct jobs *j, bool *end)
{
	pthread_mutex_lock(&j->lock);
	if (!is_due(j) && !j->stopping && !j->poked)
		nap(j);
	bool due = is_due(j);
	j->poked = false;
	*end     = j->stopping && j->waiting == 0;
	pthread_mutex_unlock(&j->lock);
	return due;
}

static void *run(void *arg)
{
	struct jobs *j   = arg;
	bool         end = false;

	while (!end) {
		atomic_store(&j->beat_us, clock_lap_us());
		if (wait_for_batch(j, &end))
			run_batch(j);
		if (!end)
			j->rules.tick(j->rules.arg);
	}
	return NULL;
}

int64_t jobs_silent_ms(const struct jobs *j)
{
	int64_t beat_us = atomic_load(&j->beat_us);

	return beat_us ? (clock_lap_us() - beat_us) / 1000 : 0;
}

enum err jobs_start(struct jobs *j)
{
	assert(!j->started);
	if (pthread_create(&j->thread, NULL, run, j) != 0)
		return ERR_NOMEM;
	j->started = true;
	return ERR_OK;
}

void jobs_stop(struct jobs *j)
{
	pthread_mutex_lock(&j->lock);
	j->stopping = true;
	pthread_cond_signal(&j->wake);
	pthread_mutex_unlock(&j->lock);
	if (j->started)
		pthread_join(j->thread, NULL);
	j->started = false;
}
