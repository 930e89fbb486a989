/*
 * A turn of the loop: wait for sockets, call who they belong to, then the flushes; timers come from one uv timer that
 * ticks ten times a second, so that a moved test clock is noticed at the next tick.
 */
#include "net/loop.h"

#include "base/auto.h"
#include "base/event.h"
#include "base/metric.h"
#include "net/wheel.h"
#include "net/work.h"
#include "os/clock.h"
#include "os/log.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <uv.h>

#define STALL_US 1000000 /* so late is no matter of load any more */

struct signal_watch {
	struct signal_watch *next;
	uv_signal_t          handle;
	void (*run)(void *arg);
	void *arg;
};

/* Apart from struct loop so that a reader of the time may hold a const loop. */
struct now {
	int64_t ms;
	bool    fresh; /* read since the loop last waited */
};

struct loop {
	uv_loop_t                   uv;
	uv_async_t                  wake;
	uv_prepare_t                before_wait;
	uv_timer_t                  tick;
	struct now                 *now;
	struct wheel                wheel;
	struct loop_flush          *flushes, **flushes_end;
	struct signal_watch        *signals;
	_Atomic(struct loop_post *) posts; /* the newest first */
	_Atomic(bool)               stopping;
	bool                        running, settling;
	int64_t                     tick_us; /* when the last tick was */
	pthread_t                   thread;  /* of loop_run, while running */
	struct work                 work;
	size_t                      work_count; /* begun and not done */
	/* Who drains waits for posts here instead of in libuv. */
	_Atomic(bool)   draining;
	pthread_mutex_t drain_lock;
	pthread_cond_t  drain_posted;
	pthread_mutex_t ask_lock;
	bool            asks_ended; /* under ask_lock */
};

void loop_assert_thread(const struct loop *l)
{
	assert(!l->running || pthread_equal(l->thread, pthread_self()));
	(void)l;
}

int64_t loop_now_ms(const struct loop *l)
{
	loop_assert_thread(l);
	if (!l->now->fresh) {
		l->now->ms    = clock_mono_ms();
		l->now->fresh = true;
	}
	return l->now->ms;
}

void *loop_uv(struct loop *l)
{
	return &l->uv;
}

/* The clock's resolution is a millisecond, and a tick is due at the end of one. */
static void note_lag(struct loop *l)
{
	int64_t now_us = clock_lap_us();
	int64_t lag_us = now_us - l->tick_us - WHEEL_SLOT_MS * 1000 - 1000;

	metric_observe(H_LOOP_LAG, lag_us);
	if (lag_us > STALL_US)
		event_emit(E_SERVER_STALLED, event_int("ms", lag_us / 1000));
	l->tick_us = now_us;
}

static void on_tick(uv_timer_t *tick)
{
	struct loop *l = tick->data;

	if (l->settling)
		return;
	note_lag(l);
	wheel_run(&l->wheel, loop_now_ms(l));
}

void timer_set(struct loop *l, struct timer *t, int64_t at_ms)
{
	loop_assert_thread(l);
	wheel_set(&l->wheel, t, at_ms);
}

void loop_poke(struct loop *l)
{
	l->now->fresh = false;
	wheel_run(&l->wheel, loop_now_ms(l));
}

void loop_add_flush(struct loop *l, struct loop_flush *f)
{
	loop_assert_thread(l);
	f->next         = NULL;
	*l->flushes_end = f;
	l->flushes_end  = &f->next;
}

static void on_before_wait(uv_prepare_t *prepare)
{
	struct loop *l = prepare->data;

	if (l->settling)
		return;
	for (struct loop_flush *f = l->flushes; f; f = f->next)
		f->run(f);
	l->now->fresh = false;
}

void loop_post(struct loop *l, struct loop_post *p)
{
	struct loop_post *newest = atomic_load_explicit(&l->posts, memory_order_relaxed);

	do
		p->next = newest;
	while (!atomic_compare_exchange_weak(&l->posts, &newest, p));

	/* Who finds others waiting need not wake the loop: it was woken for them and has not looked yet. */
	if (!newest)
		uv_async_send(&l->wake);
	if (atomic_load(&l->draining)) {
		pthread_mutex_lock(&l->drain_lock);
		pthread_cond_signal(&l->drain_posted);
		pthread_mutex_unlock(&l->drain_lock);
	}
}

static void run_posts(struct loop *l)
{
	struct loop_post *newest = atomic_exchange(&l->posts, NULL);
	struct loop_post *first  = NULL;

	while (newest) {
		struct loop_post *older = newest->next;

		newest->next = first;
		first        = newest;
		newest       = older;
	}
	while (first) {
		struct loop_post *p = first;

		first = p->next;
		p->run(p);
	}
}

static void on_wake(uv_async_t *wake)
{
	struct loop *l = wake->data;

	if (l->settling)
		return;
	run_posts(l);
	if (atomic_load(&l->stopping))
		uv_stop(&l->uv);
}

struct ask {
	struct loop_post post;
	void (*run)(void *arg);
	void           *arg;
	pthread_mutex_t lock;
	pthread_cond_t  answered;
	bool            is_done;
};

static void on_ask(struct loop_post *p)
{
	struct ask *a = CONTAINER(p, struct ask, post);

	a->run(a->arg);
	pthread_mutex_lock(&a->lock);
	a->is_done = true;
	pthread_cond_signal(&a->answered);
	pthread_mutex_unlock(&a->lock); /* the asker may free it from here on */
}

static void await_answer(struct ask *a)
{
	pthread_mutex_lock(&a->lock);
	while (!a->is_done)
		pthread_cond_wait(&a->answered, &a->lock);
	pthread_mutex_unlock(&a->lock);
}

enum err loop_ask(struct loop *l, void (*run)(void *arg), void *arg)
{
	struct ask a = { .post = { .run = on_ask }, .run = run, .arg = arg };
	bool       is_refused;

	pthread_mutex_init(&a.lock, NULL);
	pthread_cond_init(&a.answered, NULL);
	pthread_mutex_lock(&l->ask_lock);
	is_refused = l->asks_ended;
	if (!is_refused)
		loop_post(l, &a.post);
	pthread_mutex_unlock(&l->ask_lock);
	if (!is_refused)
		await_answer(&a);
	pthread_cond_destroy(&a.answered);
	pthread_mutex_destroy(&a.lock);
	return is_refused ? ERR_DRAINING : ERR_OK;
}

void loop_end_asks(struct loop *l)
{
	assert(!l->running);
	pthread_mutex_lock(&l->ask_lock);
	l->asks_ended = true;
	pthread_mutex_unlock(&l->ask_lock);
	run_posts(l);
}

void loop_stop(struct loop *l)
{
	atomic_store(&l->stopping, true);
	uv_async_send(&l->wake);
}

static void on_signal(uv_signal_t *handle, int signal)
{
	struct signal_watch *w = handle->data;

	(void)signal;
	w->run(w->arg);
}

enum err loop_on_signal(struct loop *l, int signal, void (*run)(void *arg), void *arg)
{
	struct signal_watch *w = calloc(1, sizeof(*w));

	loop_assert_thread(l);
	if (!w)
		return ERR_NOMEM;
	w->run = run;
	w->arg = arg;
	if (uv_signal_init(&l->uv, &w->handle) != 0) {
		free(w);
		return ERR_IO;
	}
	w->handle.data = w;
	w->next        = l->signals;
	l->signals     = w; /* from here on loop_free ends it */
	return uv_signal_start(&w->handle, on_signal, signal) == 0 ? ERR_OK : ERR_IO;
}

struct loop *loop_new(void)
{
	struct loop *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->now = calloc(1, sizeof(*l->now));
	if (!l->now || uv_loop_init(&l->uv) != 0) {
		free(l->now);
		free(l);
		return NULL;
	}
	l->flushes_end = &l->flushes;
	work_init(&l->work);
	pthread_mutex_init(&l->drain_lock, NULL);
	pthread_cond_init(&l->drain_posted, NULL);
	pthread_mutex_init(&l->ask_lock, NULL);
	wheel_init(&l->wheel, loop_now_ms(l));

	uv_prepare_init(&l->uv, &l->before_wait);
	uv_timer_init(&l->uv, &l->tick);
	l->before_wait.data = l->tick.data = l->wake.data = l;
	uv_prepare_start(&l->before_wait, on_before_wait);
	uv_timer_start(&l->tick, on_tick, WHEEL_SLOT_MS, WHEEL_SLOT_MS);
	if (uv_async_init(&l->uv, &l->wake, on_wake) != 0) {
		loop_free(l);
		return NULL;
	}
	return l;
}

void loop_run(struct loop *l)
{
	l->thread     = pthread_self();
	l->running    = true;
	l->now->fresh = false;
	l->tick_us    = clock_lap_us();
	uv_run(&l->uv, UV_RUN_DEFAULT);
	l->running = false;
}

static void on_worked(struct loop_post *p)
{
	struct loop_work *w = CONTAINER(p, struct loop_work, post);

	w->loop->work_count--;
	w->done(w);
}

void loop_work(struct loop *l, struct loop_work *w)
{
	loop_assert_thread(l);
	w->loop     = l;
	w->post.run = on_worked;
	l->work_count++;
	work_add(&l->work, w);
}

/*
 * Looked at under the lock, which who posts takes afterwards: a post is either seen here or wakes.
 */
static void wait_for_post(struct loop *l)
{
	pthread_mutex_lock(&l->drain_lock);
	while (!atomic_load(&l->posts))
		pthread_cond_wait(&l->drain_posted, &l->drain_lock);
	pthread_mutex_unlock(&l->drain_lock);
}

void loop_drain_until(struct loop *l, bool (*is_over)(void *arg), void *arg)
{
	assert(!l->running);
	atomic_store(&l->draining, true);
	run_posts(l);
	while (l->work_count > 0 || atomic_load(&l->posts) || !is_over(arg)) {
		wait_for_post(l);
		run_posts(l);
	}
	atomic_store(&l->draining, false);
}

static bool always(void *arg)
{
	(void)arg;
	return true;
}

void loop_drain(struct loop *l)
{
	loop_drain_until(l, always, NULL);
}

#define SETTLE_TURNS 8 /* a library may close one handle from the end of another */

void loop_settle(struct loop *l)
{
	assert(!l->running);
	l->settling = true;
	for (int i = 0; i < SETTLE_TURNS; i++)
		uv_run(&l->uv, UV_RUN_NOWAIT);
	l->settling = false;
	uv_async_send(&l->wake); /* its call may just have been swallowed */
}

static void close_handle(uv_handle_t *handle, void *arg)
{
	(void)arg;
	if (!uv_is_closing(handle))
		uv_close(handle, NULL);
}

void loop_free(struct loop *l)
{
	if (!l)
		return;

	if (l->work_count > 0)
		loop_drain(l);
	work_fini(&l->work);
	pthread_cond_destroy(&l->drain_posted);
	pthread_mutex_destroy(&l->drain_lock);
	pthread_mutex_destroy(&l->ask_lock);

	/* Parts close their own handles; what is left here is ours. */
	uv_walk(&l->uv, close_handle, NULL);
	uv_run(&l->uv, UV_RUN_DEFAULT);
	if (uv_loop_close(&l->uv) != 0)
		log_error("loop", 0, "keeps", "handles after its end");
	while (l->signals) {
		struct signal_watch *w = l->signals;

		l->signals = w->next;
		free(w);
	}
	free(l->now);
	free(l);
}
