/*
 * Giving way: one thread does, once, and no other.
 */
#include "os/priority.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <sys/resource.h>

#define STEPS    10
#define NICE_MAX 19

static int nice_now(void)
{
	return getpriority(PRIO_PROCESS, 0);
}

struct seen {
	int before, once, twice;
};

static void *give_way_twice(void *arg)
{
	struct seen *s = arg;

	s->before = nice_now();
	priority_give_way();
	s->once = nice_now();
	priority_give_way();
	s->twice = nice_now();
	return NULL;
}

Test(priority, only_the_thread_that_gives_way_does_and_only_once)
{
	int         before = nice_now(), expected = before + STEPS < NICE_MAX ? before + STEPS : NICE_MAX;
	struct seen seen;
	pthread_t   thread;

	cr_assert_eq(pthread_create(&thread, NULL, give_way_twice, &seen), 0);
	pthread_join(thread, NULL);
	cr_expect_eq(seen.before, before);
	cr_expect_eq(seen.once, expected);
	cr_expect_eq(seen.twice, expected);
	cr_expect_eq(nice_now(), before);
}
