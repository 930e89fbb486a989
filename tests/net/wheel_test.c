/*
 * The timer wheel: when timers fire, and what a clock that jumps does to them.
 */
#include "net/wheel.h"

#include "base/auto.h"

#include <criterion/criterion.h>

#define START_MS 1234567
#define DAY_MS   86400000

struct probe {
	struct timer  timer;
	struct wheel *wheel;
	int           fired;
	int64_t       again_ms; /* sets itself so much later, once; 0: not */
	struct timer *clears;
};

static struct wheel wheel;

static void on_fire(struct timer *t, int64_t now_ms)
{
	struct probe *p = CONTAINER(t, struct probe, timer);

	p->fired++;
	if (p->again_ms) {
		int64_t later = p->again_ms;

		p->again_ms = 0;
		wheel_set(&wheel, t, now_ms + later);
	}
	if (p->clears)
		timer_clear(p->clears);
}

static void start(void)
{
	wheel_init(&wheel, START_MS);
}

static void probe_init(struct probe *p)
{
	*p = (struct probe){ .fired = 0 };
	timer_init(&p->timer, on_fire);
}

Test(wheel, a_timer_fires_once_at_its_moment_and_not_a_millisecond_before, .init = start)
{
	static const int64_t waits_ms[] = { 0, 1, 99, 100, 101, 5000, 102400, 102401, 300000, DAY_MS, 60LL * DAY_MS };

	for (size_t i = 0; i < COUNT_OF(waits_ms); i++) {
		struct probe p;

		wheel_init(&wheel, START_MS);
		probe_init(&p);
		wheel_set(&wheel, &p.timer, START_MS + waits_ms[i]);
		if (waits_ms[i] > 0)
			wheel_run(&wheel, START_MS + waits_ms[i] - 1);
		cr_expect_eq(p.fired, 0, "%lld ms: too early", (long long)waits_ms[i]);
		wheel_run(&wheel, START_MS + waits_ms[i]);
		cr_expect_eq(p.fired, 1, "%lld ms: not at its moment", (long long)waits_ms[i]);
		cr_expect_eq(p.timer.at_ms, 0);
		wheel_run(&wheel, START_MS + waits_ms[i] + DAY_MS);
		cr_expect_eq(p.fired, 1, "%lld ms: again", (long long)waits_ms[i]);
	}
}

Test(wheel, time_passing_in_ticks_fires_each_timer_within_one_tick, .init = start)
{
	enum { TIMERS = 500 };
	static struct probe probes[TIMERS];

	for (int i = 0; i < TIMERS; i++) {
		probe_init(&probes[i]);
		wheel_set(&wheel, &probes[i].timer, START_MS + i * 977);
	}
	for (int64_t now = START_MS; now < START_MS + 700 * 977; now += 100) {
		wheel_run(&wheel, now);
		for (int i = 0; i < TIMERS; i++)
			cr_assert_eq(probes[i].fired, START_MS + i * 977 <= now);
	}
}

Test(wheel, a_jump_of_days_fires_everything_that_is_due_and_nothing_else, .init = start)
{
	enum { TIMERS = 3000 };
	static struct probe probes[TIMERS];

	for (int i = 0; i < TIMERS; i++) {
		probe_init(&probes[i]);
		wheel_set(&wheel, &probes[i].timer, START_MS + (int64_t)i * 100000);
	}
	wheel_run(&wheel, START_MS + 2 * DAY_MS);
	for (int i = 0; i < TIMERS; i++)
		cr_expect_eq(probes[i].fired, (int64_t)i * 100000 <= 2 * DAY_MS);
}

Test(wheel, setting_a_timer_again_moves_it, .init = start)
{
	struct probe p;

	probe_init(&p);
	wheel_set(&wheel, &p.timer, START_MS + 1000);
	wheel_set(&wheel, &p.timer, START_MS + 3000);
	wheel_run(&wheel, START_MS + 2999);
	cr_expect_eq(p.fired, 0);
	wheel_set(&wheel, &p.timer, START_MS + 2999);
	wheel_run(&wheel, START_MS + 3000);
	cr_expect_eq(p.fired, 1);
}

Test(wheel, a_cleared_timer_never_fires, .init = start)
{
	struct probe p;

	probe_init(&p);
	timer_clear(&p.timer); /* one that was never set, too */
	wheel_set(&wheel, &p.timer, START_MS + 1000);
	timer_clear(&p.timer);
	wheel_run(&wheel, START_MS + DAY_MS);
	cr_expect_eq(p.fired, 0);
	cr_expect_eq(p.timer.at_ms, 0);
}

Test(wheel, a_moment_in_the_past_fires_at_the_next_look, .init = start)
{
	struct probe p;

	probe_init(&p);
	wheel_run(&wheel, START_MS + DAY_MS);
	wheel_set(&wheel, &p.timer, 1);
	wheel_run(&wheel, START_MS + DAY_MS);
	cr_expect_eq(p.fired, 1);
}

Test(wheel, a_callback_may_clear_another_timer_that_is_due, .init = start)
{
	struct probe first, second;

	probe_init(&first);
	probe_init(&second);
	wheel_set(&wheel, &first.timer, START_MS + 1000);
	wheel_set(&wheel, &second.timer, START_MS + 1000);
	first.clears  = &second.timer;
	second.clears = &first.timer;
	wheel_run(&wheel, START_MS + 1000);
	cr_expect_eq(first.fired + second.fired, 1);
}

Test(wheel, a_callback_that_sets_its_own_timer_waits_for_the_next_look, .init = start)
{
	struct probe p;

	probe_init(&p);
	p.again_ms = 100;
	wheel_set(&wheel, &p.timer, START_MS + 100);
	wheel_run(&wheel, START_MS + DAY_MS);
	cr_expect_eq(p.fired, 1);
	wheel_run(&wheel, START_MS + DAY_MS + 100);
	cr_expect_eq(p.fired, 2);
}
