/*
 * The store thread: queues of jobs, batches, transactions. What a job is stands in store.h.
 *
 * Each surface has a queue, first in first out, lazy and durable jobs in one order. A batch begins when a durable
 * or an eager job waits, when the oldest lazy one has waited long enough, or when a queue is half full; it takes from
 * the queues in turn until they are empty, it has enough jobs, or time is up. An eager job's result goes out as soon as
 * it ran, those of the others after the commit. (A commit that changed nothing but TEMP tables writes nothing.)
 */
#ifndef STORE_JOBS_H
#define STORE_JOBS_H

#include "store/db.h"
#include "store/store.h"

struct jobs;

struct jobs_rules {
	size_t  share;    /* jobs waiting per surface, at most */
	size_t  batch;    /* jobs in one transaction, at most */
	int64_t batch_ms; /* no further job is begun after that */
	int64_t lazy_ms;  /* a lazy job waits so long for a durable one */

	/*
	 * Store thread, between the last job of a batch and its COMMIT, may be NULL: what must be on the disk before the
	 * rows that speak of it. An error is the result of every job of the batch, as that of the COMMIT would be.
	 */
	enum err (*before_commit)(void *arg);

	/* Store thread, once a batch is on the disk and before anybody is told, may be NULL: what has to follow it. */
	void (*after_commit)(void *arg);

	/* Store thread, outside transactions, at least once a second and after a poke: for what is due by the clock. */
	void (*tick)(void *arg);
	void *arg;
};

/* The database stays the caller's; it is this thread's from jobs_start to jobs_stop. NULL when out of memory. */
struct jobs *jobs_new(struct db *db, const struct jobs_rules *rules);
void         jobs_free(struct jobs *j);

enum err jobs_start(struct jobs *j);

/* As store_submit. */
enum err jobs_submit(struct jobs *j, struct job *job);

/* Whether anybody waits for a batch right now. */
bool jobs_are_waited_for(struct jobs *j);

/* As store_poke and store_health. */
void              jobs_poke(struct jobs *j);
enum store_health jobs_health(const struct jobs *j);

/* As store_silent_ms. */
int64_t jobs_silent_ms(const struct jobs *j);

/* Does all that waits and ends the thread. Jobs submitted from now on are refused. */
void jobs_stop(struct jobs *j);

#endif
