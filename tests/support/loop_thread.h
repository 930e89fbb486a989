/*
 * A loop on a thread of its own inside the test's process, with a clock that the test moves.
 *
 *	struct loop_thread t;
 *
 *	loop_thread_init(&t);			t.loop is there, and what lives on it can be made
 *	loop_thread_start(&t);
 *	loop_thread_do(&t, look, &thing);
 *	loop_thread_do(&t, stop, &thing);	which ends in loop_stop
 *	loop_thread_join(&t);			what lives on it can be freed
 *	loop_thread_fini(&t);
 */
#ifndef TESTS_LOOP_THREAD_H
#define TESTS_LOOP_THREAD_H

#include "net/loop.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>

struct loop_thread {
	struct loop *loop;
	pthread_t    thread;
	bool         runs;
	int          clock_fd;
	int64_t      moved_ms;
	sem_t        away; /* it looks away now */
};

void loop_thread_init(struct loop_thread *t);
void loop_thread_start(struct loop_thread *t);

/* Calls what on the loop's thread, and waits. */
void loop_thread_do(struct loop_thread *t, void (*what)(void *arg), void *arg);

/*
 * Has the loop look away for a moment: what is done now it sees in one turn. The thread that is returned, to be joined, ends
 * with the moment.
 */
pthread_t loop_thread_look_away(struct loop_thread *t);

/* Moves the clock and has the loop look at it; done before it returns. */
void loop_thread_advance(struct loop_thread *t, int64_t ms);

/* Waits for the loop to have stopped. Also when it never started. */
void loop_thread_join(struct loop_thread *t);
void loop_thread_fini(struct loop_thread *t); /* once more does nothing */

#endif
