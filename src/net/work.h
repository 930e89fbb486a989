/*
 * The threads behind loop_work, for loop.c alone.
 *
 *	work_add (loop) --> queue --> one of the threads: run --> loop_post --> done (loop)
 *
 * They are started by the first piece of work.
 */
#ifndef NET_WORK_H
#define NET_WORK_H

#include "net/loop.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* Each waits for the disk most of the time: syncs, mostly. */
#define WORK_THREADS 8

struct work {
	pthread_mutex_t   lock;
	pthread_cond_t    more; /* something is in the queue, or stopping */
	struct loop_work *first, **end;
	size_t            thread_count;
	bool              started, stopping;
	pthread_t         threads[WORK_THREADS];
};

void work_init(struct work *k);

/* All that was added has run. Ends the threads. */
void work_fini(struct work *k);

/* w->post is posted to w->loop once it has run. */
void work_add(struct work *k, struct loop_work *w);

#endif
