/*
 * The loop: one thread that owns every live thing, over libuv. It never waits for a disk, a name or another thread.
 *
 * Everything here is for the loop thread (a debug assertion says so), except loop_post, loop_ask and loop_stop.
 */
#ifndef NET_LOOP_H
#define NET_LOOP_H

#include "base/err.h"
#include "base/list.h"

#include <stdbool.h>
#include <stdint.h>

struct loop;

struct loop *loop_new(void);
void         loop_free(struct loop *l);

/* Runs until loop_stop. The calling thread is the loop thread from here on. */
void loop_run(struct loop *l);

/* Any thread. */
void loop_stop(struct loop *l);

/*
 * After loop_run has returned: runs what was posted, the last answers of threads that have ended since, and waits for work
 * under way, until nothing of both is left.
 */
void loop_drain(struct loop *l);

/* After loop_run has returned: the same, and waits for more to be posted, until is_over says so. */
void loop_drain_until(struct loop *l, bool (*is_over)(void *arg), void *arg);

/* Monotonic milliseconds, read once per turn of the loop. */
int64_t loop_now_ms(const struct loop *l);

/* A message to the loop from any thread; run is called on the loop thread and owns it. Order per sender is kept. */
struct loop_post {
	struct loop_post *next;
	void (*run)(struct loop_post *p);
};
void loop_post(struct loop *l, struct loop_post *p);

/*
 * Any thread but the loop's: has run(arg) called on the loop thread, and waits until it was. ERR_DRAINING, without a call,
 * once the loop has ended.
 */
enum err loop_ask(struct loop *l, void (*run)(void *arg), void *arg);

/* While the loop does not run (any more): answers the asks that wait, and refuses the others from now on. */
void loop_end_asks(struct loop *l);

/*
 * Work that may touch files: run on one of a few other threads, then done on the loop. The struct is the caller's own;
 * it must stay until done, which always comes: at the latest from loop_drain. Order between two pieces of work is not kept.
 */
struct loop_work {
	struct loop_post  post; /* these three are the loop's */
	struct loop      *loop;
	struct loop_work *next;
	void (*run)(struct loop_work *w);
	void (*done)(struct loop_work *w);
};
void loop_work(struct loop *l, struct loop_work *w);

/*
 * A timer on the loop's wheel: setting and clearing cost the same however many there are. Fires at or up to 100 ms
 * after at_ms (monotonic). timer_init once, then set as often as wanted; setting moves it.
 */
struct timer {
	struct list in;
	int64_t     at_ms; /* 0: not set */
	void (*fire)(struct timer *t, int64_t now_ms);
};
void timer_init(struct timer *t, void (*fire)(struct timer *t, int64_t now_ms));
void timer_set(struct loop *l, struct timer *t, int64_t at_ms);
void timer_clear(struct timer *t);

/* Looks at every timer now: after the test clock was moved. */
void loop_poke(struct loop *l);

/* Calls run before each time the loop waits: where output collected in a turn is sent. For the loop's whole life. */
struct loop_flush {
	struct loop_flush *next;
	void (*run)(struct loop_flush *f);
};
void loop_add_flush(struct loop *l, struct loop_flush *f);

/* run is called on the loop thread when the process gets the signal. For the loop's whole life. */
enum err loop_on_signal(struct loop *l, int signal, void (*run)(void *arg), void *arg);

/* For net/ only, where nothing else would notice: the caller is the loop thread (in a debug build). */
void loop_assert_thread(const struct loop *l);

/* The uv_loop_t, for net/ only. */
void *loop_uv(struct loop *l);

/*
 * For net/ only, while the loop does not run: lets libuv finish what it does with handles that were closed. Nothing else happens:
 * no timer fires, no post and no flush runs.
 */
void loop_settle(struct loop *l);

#endif
