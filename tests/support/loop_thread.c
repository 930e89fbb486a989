#include "support/loop_thread.h"

#include "os/clock.h"

#include <criterion/criterion.h>
#include <poll.h>
#include <semaphore.h>
#include <stdlib.h>
#include <unistd.h>

static int make_clock(void)
{
	char path[] = "/tmp/coopd-clock-XXXXXX";
	int  fd     = mkstemp(path);

	cr_assert_geq(fd, 0);
	cr_assert_eq(ftruncate(fd, 16), 0);
	setenv("COOP_TEST_CLOCK", path, 1);
	clock_init();
	unlink(path);
	return fd;
}

void loop_thread_init(struct loop_thread *t)
{
	*t = (struct loop_thread){ .clock_fd = make_clock() };

	sem_init(&t->away, 0, 0);
	t->loop = loop_new();
	cr_assert_not_null(t->loop);
}

static void *run(void *arg)
{
	struct loop_thread *t = arg;

	loop_run(t->loop);
	return NULL;
}

void loop_thread_start(struct loop_thread *t)
{
	cr_assert_eq(pthread_create(&t->thread, NULL, run, t), 0);
	t->runs = true;
}

struct call {
	struct loop_post post;
	void (*what)(void *arg);
	void *arg;
	sem_t done;
};

static void run_call(struct loop_post *p)
{
	struct call *c = CONTAINER(p, struct call, post);

	c->what(c->arg);
	sem_post(&c->done);
}

void loop_thread_do(struct loop_thread *t, void (*what)(void *arg), void *arg)
{
	struct call c = { .post.run = run_call, .what = what, .arg = arg };

	sem_init(&c.done, 0, 0);
	loop_post(t->loop, &c.post);
	while (sem_wait(&c.done) != 0)
		continue;
	sem_destroy(&c.done);
}

#define AWAY_MS 100

static void sleep_a_moment(void *begun)
{
	sem_post(begun);
	poll(NULL, 0, AWAY_MS);
}

static void *block(void *arg)
{
	struct loop_thread *t = arg;

	loop_thread_do(t, sleep_a_moment, &t->away);
	return NULL;
}

pthread_t loop_thread_look_away(struct loop_thread *t)
{
	pthread_t blocker;

	cr_assert_eq(pthread_create(&blocker, NULL, block, t), 0);
	while (sem_wait(&t->away) != 0)
		continue;
	return blocker;
}

static void poke(void *loop)
{
	loop_poke(loop);
}

void loop_thread_advance(struct loop_thread *t, int64_t ms)
{
	t->moved_ms += ms;
	cr_assert_eq(pwrite(t->clock_fd, &t->moved_ms, sizeof(t->moved_ms), 0), (ssize_t)sizeof(t->moved_ms));
	loop_thread_do(t, poke, t->loop);
}

void loop_thread_join(struct loop_thread *t)
{
	if (t->runs)
		pthread_join(t->thread, NULL);
	t->runs = false;
}

void loop_thread_fini(struct loop_thread *t)
{
	loop_free(t->loop);
	t->loop = NULL;
	if (t->clock_fd >= 0)
		close(t->clock_fd);
	t->clock_fd = -1;
}
