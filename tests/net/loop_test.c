/*
 * The loop: messages from other threads, timers and a moved clock, flushes, signals.
 */
#include "net/loop.h"

#include "base/auto.h"
#include "os/clock.h"
#include "support/dial.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

enum { SENDERS = 4, POSTS = 5000 };

static struct loop *loop;

static void start(void)
{
	loop = loop_new();
	cr_assert_not_null(loop);
}

static void stop(void)
{
	loop_free(loop);
}

TestSuite(loop, .init = start, .fini = stop, .timeout = 60);

/* A message that says who sent it and as which one. */
struct numbered {
	struct loop_post post;
	int              sender, number;
};

static int       last_number[SENDERS];
static int       received;
static pthread_t loop_thread;

static void on_numbered(struct loop_post *p)
{
	struct numbered *n = CONTAINER(p, struct numbered, post);

	cr_assert(pthread_equal(pthread_self(), loop_thread));
	cr_assert_eq(n->number, last_number[n->sender] + 1);
	last_number[n->sender] = n->number;
	free(n);
	if (++received == SENDERS * POSTS)
		loop_stop(loop);
}

static void *send_posts(void *arg)
{
	for (int i = 1; i <= POSTS; i++) {
		struct numbered *n = calloc(1, sizeof(*n));

		cr_assert_not_null(n);
		n->post.run = on_numbered;
		n->sender   = *(int *)arg;
		n->number   = i;
		loop_post(loop, &n->post);
	}
	return NULL;
}

Test(loop, posts_of_each_sender_arrive_all_and_in_order)
{
	pthread_t threads[SENDERS];
	int       numbers[SENDERS];

	loop_thread = pthread_self();
	for (int i = 0; i < SENDERS; i++) {
		numbers[i] = i;
		cr_assert_eq(pthread_create(&threads[i], NULL, send_posts, &numbers[i]), 0);
	}
	loop_run(loop);
	for (int i = 0; i < SENDERS; i++)
		pthread_join(threads[i], NULL);
	cr_expect_eq(received, SENDERS * POSTS);
}

static void *stop_soon(void *arg)
{
	real_sleep_ms(20);
	loop_stop(arg);
	return NULL;
}

Test(loop, another_thread_can_stop_it)
{
	pthread_t thread;

	cr_assert_eq(pthread_create(&thread, NULL, stop_soon, loop), 0);
	loop_run(loop);
	pthread_join(thread, NULL);
}

Test(loop, a_stop_before_the_start_is_not_lost)
{
	loop_stop(loop);
	loop_run(loop);
}

static int64_t fired_ms;

static void stop_at_fire(struct timer *t, int64_t now_ms)
{
	(void)t;
	fired_ms = now_ms;
	loop_stop(loop);
}

Test(loop, a_timer_fires_up_to_a_tenth_of_a_second_late_and_never_early)
{
	struct timer t;

	timer_init(&t, stop_at_fire);
	int64_t at_ms = loop_now_ms(loop) + 150;
	timer_set(loop, &t, at_ms);
	loop_run(loop);
	cr_expect_geq(fired_ms, at_ms);
	cr_expect_leq(fired_ms, at_ms + 1000, "%lld ms late", (long long)(fired_ms - at_ms));
}

static int clock_fd;

static void take_clock(void)
{
	char path[] = "/tmp/coopd-clock-XXXXXX";

	clock_fd = mkstemp(path);
	cr_assert_geq(clock_fd, 0);
	cr_assert_eq(ftruncate(clock_fd, 16), 0);
	setenv("COOP_TEST_CLOCK", path, 1);
	clock_init();
	unlink(path);
}

static void move_clock(int64_t ms)
{
	cr_assert_eq(pwrite(clock_fd, &ms, sizeof(ms), 0), (ssize_t)sizeof(ms));
}

Test(loop, a_moved_clock_is_noticed_at_once_when_poked)
{
	struct timer t;

	take_clock();
	timer_init(&t, stop_at_fire);
	timer_set(loop, &t, loop_now_ms(loop) + 300000);
	move_clock(299000);
	loop_poke(loop);
	cr_expect_eq(fired_ms, 0);
	move_clock(300000);
	loop_poke(loop);
	cr_expect_neq(fired_ms, 0);
	close(clock_fd);
}

Test(loop, a_moved_clock_is_noticed_without_a_poke_too)
{
	struct timer t;

	take_clock();
	timer_init(&t, stop_at_fire);
	timer_set(loop, &t, loop_now_ms(loop) + 86400000);
	move_clock(86400000);
	loop_run(loop);
	cr_expect_neq(fired_ms, 0);
	close(clock_fd);
}

struct flush_probe {
	struct loop_flush flush;
	int               runs;
};

static struct flush_probe probes[2];
static int                runs_at_post;

static void on_flush(struct loop_flush *f)
{
	struct flush_probe *p = CONTAINER(f, struct flush_probe, flush);

	p->runs++;
	cr_expect_leq(probes[1].runs, probes[0].runs, "in the order of adding");
}

static void on_last_post(struct loop_post *p)
{
	(void)p;
	runs_at_post = probes[0].runs;
	loop_stop(loop);
}

static struct loop_post last_post = { .run = on_last_post };

static void on_first_post(struct loop_post *p)
{
	(void)p;
	runs_at_post = probes[0].runs;
	loop_post(loop, &last_post);
}

Test(loop, flushes_run_each_time_before_it_waits)
{
	struct loop_post first = { .run = on_first_post };

	probes[0].flush.run = probes[1].flush.run = on_flush;
	loop_add_flush(loop, &probes[0].flush);
	loop_add_flush(loop, &probes[1].flush);
	loop_post(loop, &first);
	loop_run(loop);
	cr_expect_geq(runs_at_post, 2, "between two posts of different turns");
	cr_expect_leq(probes[0].runs - probes[1].runs, 0);
}

static void on_signal(void *arg)
{
	*(int *)arg += 1;
	loop_stop(loop);
}

Test(loop, signals_are_handled_on_the_loop)
{
	int count = 0;

	cr_assert_eq(loop_on_signal(loop, SIGUSR1, on_signal, &count), ERR_OK);
	raise(SIGUSR1);
	loop_run(loop);
	cr_expect_eq(count, 1);
}

/* Work */

enum { WORKS = 200 };

struct counted_work {
	struct loop_work work;
	pthread_t        ran_on;
	bool             ran;
};

static _Atomic int works_run;
static int         works_done;

static void run_counted(struct loop_work *w)
{
	struct counted_work *c = CONTAINER(w, struct counted_work, work);

	c->ran_on = pthread_self();
	c->ran    = true;
	works_run++;
}

static void on_counted(struct loop_work *w)
{
	struct counted_work *c = CONTAINER(w, struct counted_work, work);

	cr_expect(pthread_equal(pthread_self(), loop_thread));
	cr_expect(c->ran && !pthread_equal(c->ran_on, loop_thread));
	free(c);
	if (++works_done == WORKS)
		loop_stop(loop);
}

static void add_works(struct loop_post *p)
{
	(void)p;
	for (int i = 0; i < WORKS; i++) {
		struct counted_work *c = calloc(1, sizeof(*c));

		cr_assert_not_null(c);
		c->work.run  = run_counted;
		c->work.done = on_counted;
		loop_work(loop, &c->work);
	}
}

Test(loop, work_runs_on_another_thread_and_is_done_on_the_loop)
{
	struct loop_post add = { .run = add_works };

	loop_thread = pthread_self();
	loop_post(loop, &add);
	loop_run(loop);
	cr_expect_eq(works_done, WORKS);
	cr_expect_eq(works_run, WORKS);
}

/* Work that cannot end before it is let go, and that adds a second one when it is done. */
struct slow_work {
	struct loop_work work;
	int              generation;
};

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void run_slow(struct loop_work *w)
{
	(void)w;
	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
}

static void on_slow(struct loop_work *w)
{
	struct slow_work *s = CONTAINER(w, struct slow_work, work);

	if (++s->generation < 3)
		loop_work(loop, w);
}

Test(loop, draining_waits_for_work_under_way_and_for_what_follows_from_it)
{
	struct slow_work s = { .work = { .run = run_slow, .done = on_slow } };

	pthread_mutex_lock(&gate);
	loop_work(loop, &s.work);
	loop_stop(loop);
	loop_run(loop);
	cr_expect_eq(s.generation, 0);
	pthread_mutex_unlock(&gate);
	loop_drain(loop);
	cr_expect_eq(s.generation, 3);
}

Test(loop, what_is_freed_waits_for_work_under_way)
{
	static struct slow_work s = { .work = { .run = run_slow, .done = on_slow } };

	loop_work(loop, &s.work);
	loop_free(loop);
	cr_expect_eq(s.generation, 3);
	loop = NULL;
}

static void count_post(struct loop_post *p)
{
	(void)p;
	received++;
}

static void *post_later(void *arg)
{
	real_sleep_ms(20);
	loop_post(loop, arg);
	return NULL;
}

static bool has_received(void *arg)
{
	(void)arg;
	return received > 0;
}

Test(loop, draining_until_something_waits_for_posts_of_other_threads)
{
	struct loop_post post = { .run = count_post };
	pthread_t        thread;

	cr_assert_eq(pthread_create(&thread, NULL, post_later, &post), 0);
	loop_drain_until(loop, has_received, NULL);
	cr_expect_eq(received, 1);
	pthread_join(thread, NULL);
}
