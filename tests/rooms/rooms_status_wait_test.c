/*
 * The status page and the loop: who waits for whom, and for how long.
 */
#include "rooms/rooms_inside.h"

#include "base/auto.h"
#include "os/random.h"
#include "support/dial.h"
#include "support/loop_thread.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <string.h>

#define WAIT_MS 5000

/* As much of the rooms as the page needs; the loop runs when the test wants it to. */
static struct loop_thread on;
static struct rooms       rooms;
static struct limits      limits;

static void start(void)
{
	limits_default(&limits);
	loop_thread_init(&on);
	rooms = (struct rooms){ .loop = on.loop, .boards = rooms_boards_new(&limits) };
	cr_assert_not_null(rooms.boards);
	rooms_state_init(&rooms.state, &limits, &rooms.host, rooms.boards, random_u64());
	cr_assert_eq(splice_new(&rooms.splice, on.loop), ERR_OK);
	cr_assert_eq(rooms_status_init(&rooms), ERR_OK);
}

static void stop_loop(void *arg)
{
	(void)arg;
	loop_stop(on.loop);
}

static void stop(void)
{
	if (on.runs)
		loop_thread_do(&on, stop_loop, NULL);
	loop_thread_join(&on);
	loop_drain(on.loop);
	splice_free(rooms.splice);
	rooms_status_fini(&rooms);
	rooms_state_fini(&rooms.state);
	rooms_boards_free(rooms.boards);
	loop_thread_fini(&on);
}

TestSuite(rooms_status_wait, .init = start, .fini = stop, .timeout = 60);

/* GET /api/stats: its status, and how long it took. */
static int get(int64_t *took_ms)
{
	struct http_answer a     = { 0 };
	int64_t            at_ms = real_now_ms();

	cr_assert_str_eq(rooms_status_routes[0].path, "/api/stats");
	cr_assert_eq(rooms_status_routes[0].handler(&a, NULL, &rooms), ERR_OK);
	*took_ms = real_now_ms() - at_ms;
	http_shared_drop(a.shared);
	free(a.body);
	return a.status;
}

Test(rooms_status_wait, a_loop_that_does_not_answer_is_waited_for_five_seconds)
{
	int64_t took_ms;

	cr_expect_eq(get(&took_ms), 503);
	cr_expect_geq(took_ms, WAIT_MS);
	cr_expect_lt(took_ms, 2 * WAIT_MS);

	/* Its answer comes in the end, and is good for those who ask then. */
	loop_thread_start(&on);
	cr_expect_eq(get(&took_ms), 200);
	cr_expect_lt(took_ms, WAIT_MS);
}

Test(rooms_status_wait, when_the_loop_stands_still_what_it_said_last_is_shown)
{
	int64_t took_ms;

	loop_thread_start(&on);
	cr_expect_eq(get(&took_ms), 200);
	loop_thread_do(&on, stop_loop, NULL);
	loop_thread_join(&on);
	real_sleep_ms(1100);
	cr_expect_eq(get(&took_ms), 200);
	cr_expect_geq(took_ms, WAIT_MS);
}

static void *get_soon(void *status)
{
	int64_t took_ms;

	*(int *)status = get(&took_ms);
	cr_assert_lt(took_ms, WAIT_MS);
	return NULL;
}

Test(rooms_status_wait, a_stop_lets_everybody_go)
{
	int       status[4];
	pthread_t threads[COUNT_OF(status)];
	int64_t   took_ms;

	for (size_t i = 0; i < COUNT_OF(threads); i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, get_soon, &status[i]), 0);
	real_sleep_ms(200);
	rooms_status_stop(&rooms);
	for (size_t i = 0; i < COUNT_OF(threads); i++) {
		pthread_join(threads[i], NULL);
		cr_expect_eq(status[i], 503);
	}
	cr_expect_eq(get(&took_ms), 503);
	cr_expect_lt(took_ms, WAIT_MS);
}

Test(rooms_status_wait, many_who_ask_at_once_are_all_answered)
{
	int       status[16];
	pthread_t threads[COUNT_OF(status)];

	loop_thread_start(&on);
	for (size_t i = 0; i < COUNT_OF(threads); i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, get_soon, &status[i]), 0);
	for (size_t i = 0; i < COUNT_OF(threads); i++) {
		pthread_join(threads[i], NULL);
		cr_expect_eq(status[i], 200);
	}
}
