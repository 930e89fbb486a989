/*
 * Days of uptime and doubts, with clocks that are only numbers.
 */
#include "store/uptime_state.h"

#include <criterion/criterion.h>

#define DAY  UPTIME_DAY_MS
#define HOUR INT64_C(3600000)
#define NOON (UPTIME_OLDEST_WALL_MS + 30 * DAY + 12 * HOUR) /* of some day after the program was written */

/* What the database would keep, and clocks that run together unless a test moves one. */
struct world {
	struct uptime uptime;
	int64_t       wall_ms, mono_ms, kept_ms, day_ms, days;
	bool          trusted;
};

static struct world first_start(void)
{
	return (struct world){ .wall_ms = NOON, .mono_ms = 5000, .kept_ms = UPTIME_NEVER, .day_ms = UPTIME_NEVER };
}

static int64_t look(struct world *w)
{
	struct uptime_answer a = uptime_on_look(&w->uptime, w->wall_ms, w->mono_ms, w->kept_ms, w->day_ms);

	w->kept_ms = w->wall_ms;
	w->days += a.days;
	w->trusted = a.trusted;
	if (a.days > 0)
		w->day_ms = w->wall_ms;
	return a.days;
}

static int64_t pass(struct world *w, int64_t ms)
{
	w->wall_ms += ms;
	w->mono_ms += ms;
	return look(w);
}

/* Another process, whose monotonic clock begins anew. */
static int64_t restart(struct world *w, int64_t off_ms)
{
	uptime_init(&w->uptime);
	w->wall_ms += off_ms;
	w->mono_ms = 77;
	return look(w);
}

Test(uptime_state, the_first_start_is_a_day_of_uptime)
{
	struct world w = first_start();

	cr_expect_eq(look(&w), 1);
	cr_expect(w.trusted);
	cr_expect_eq(pass(&w, HOUR), 0);
}

Test(uptime_state, a_day_begins_at_midnight)
{
	struct world w = first_start();

	look(&w);
	cr_expect_eq(pass(&w, 12 * HOUR - 1), 0);
	cr_expect_eq(pass(&w, 1), 1);
	cr_expect_eq(pass(&w, DAY - 1), 0);
	cr_expect_eq(pass(&w, 1), 1);
}

Test(uptime_state, hourly_looks_at_odd_minutes_count_each_day_once)
{
	struct world w = first_start();

	look(&w);
	for (int hour = 0; hour < 24 * 30; hour++)
		pass(&w, HOUR + (hour % 2 ? 400 : -400));
	cr_expect_eq(w.days, 31);
}

Test(uptime_state, restarts_on_one_day_count_once)
{
	struct world w = first_start();

	look(&w);
	for (int i = 0; i < 11; i++)
		cr_expect_eq(restart(&w, HOUR), 0);
	cr_expect_eq(restart(&w, HOUR), 1, "the next day");
}

Test(uptime_state, months_without_the_server_are_one_day)
{
	struct world w = first_start();

	look(&w);
	cr_expect_eq(restart(&w, 100 * DAY), 1);
	cr_expect(w.trusted);
}

Test(uptime_state, days_between_two_looks_of_one_process_all_count)
{
	struct world w = first_start();

	look(&w);
	cr_expect_eq(pass(&w, 5 * DAY), 5);
	cr_expect_eq(pass(&w, DAY - 1), 1, "it is the next day already");
	cr_expect_eq(pass(&w, 1), 0);
}

Test(uptime_state, no_sleep_counts_for_more_than_the_bound)
{
	struct world w = first_start();

	look(&w);
	cr_expect_eq(pass(&w, UPTIME_DAYS_MAX * DAY), UPTIME_DAYS_MAX);
	cr_expect_eq(pass(&w, (UPTIME_DAYS_MAX + 1) * DAY), UPTIME_DAYS_MAX);
	cr_expect_eq(pass(&w, HOUR), 0);
}

Test(uptime_state, a_jump_of_a_day_is_believed_and_one_more_millisecond_is_not)
{
	for (int sign = -1; sign <= 1; sign += 2) {
		struct world w = first_start();

		look(&w);
		w.wall_ms += sign * DAY;
		look(&w);
		cr_expect(w.trusted, "%+d day", sign);
		w.wall_ms += sign;
		look(&w);
		cr_expect_not(w.trusted, "%+d day and a bit", sign);
	}
}

Test(uptime_state, slow_drift_adds_up_to_a_jump)
{
	struct world w = first_start();

	look(&w);
	for (int i = 0; i < 24; i++) {
		w.wall_ms += HOUR;
		look(&w);
	}
	cr_expect(w.trusted);
	w.wall_ms += 1;
	look(&w);
	cr_expect_not(w.trusted);
}

Test(uptime_state, a_doubted_clock_is_trusted_after_24_hours)
{
	struct world w = first_start();

	look(&w);
	w.wall_ms += 300 * DAY;
	cr_expect_eq(look(&w), 0, "no calendar day");
	cr_expect_not(w.trusted);
	cr_expect_eq(pass(&w, DAY - 1), 0);
	cr_expect_not(w.trusted);
	cr_expect_eq(pass(&w, 1), 1, "24 hours of running");
	cr_expect(w.trusted);
}

Test(uptime_state, a_second_jump_begins_the_wait_anew)
{
	struct world w = first_start();

	look(&w);
	w.wall_ms += 300 * DAY;
	look(&w);
	pass(&w, 23 * HOUR);
	w.wall_ms -= 300 * DAY;
	look(&w);
	pass(&w, DAY - 1);
	cr_expect_not(w.trusted);
	pass(&w, 1);
	cr_expect(w.trusted);
}

Test(uptime_state, a_start_before_the_last_kept_time_is_doubted)
{
	struct world w = first_start();

	look(&w);
	restart(&w, -DAY);
	cr_expect(w.trusted, "a day back");
	restart(&w, -DAY - 1);
	cr_expect_not(w.trusted, "more than a day back");
	pass(&w, DAY);
	cr_expect(w.trusted);
}

Test(uptime_state, a_date_before_the_program_was_written_is_doubted)
{
	struct world w = first_start();

	w.wall_ms = UPTIME_OLDEST_WALL_MS;
	look(&w);
	cr_expect(w.trusted);

	w         = first_start();
	w.wall_ms = UPTIME_OLDEST_WALL_MS - 1;
	look(&w);
	cr_expect_not(w.trusted);
}

/* A board without a battery that nobody ever sets: it serves its players, and gives codes back, all the same. */
Test(uptime_state, a_machine_that_always_shows_1970_is_trusted_after_24_hours)
{
	struct world w = first_start();

	w.wall_ms = -3 * HOUR;
	cr_expect_eq(look(&w), 1);
	cr_expect_not(w.trusted);
	cr_expect_eq(pass(&w, DAY), 1);
	cr_expect(w.trusted);
	pass(&w, HOUR);
	cr_expect(w.trusted);
}

/* The time server answers a minute after the start. */
Test(uptime_state, a_clock_that_is_set_right_after_the_start_waits_24_hours)
{
	struct world w = first_start();

	look(&w);
	restart(&w, -w.wall_ms);
	cr_expect_not(w.trusted);
	pass(&w, 60000);
	w.wall_ms = NOON + DAY;
	look(&w);
	cr_expect_not(w.trusted);
	pass(&w, DAY);
	cr_expect(w.trusted);
}

/* The wrong date went into the rows: no day may be lost for years because of it. */
Test(uptime_state, days_go_on_after_a_clock_far_ahead_was_mended)
{
	struct world w = first_start();

	w.wall_ms += 1000 * DAY;
	look(&w);
	restart(&w, -1000 * DAY);
	cr_expect_not(w.trusted);
	cr_expect_eq(pass(&w, DAY), 1, "24 hours of running");
	cr_expect_eq(pass(&w, 12 * HOUR), 1, "midnight again, by a date that is right now");
}

Test(uptime_state, between_two_looks_a_jump_is_doubted_at_once_and_forgiven_when_it_is_taken_back)
{
	struct world w = first_start();

	cr_expect_not(uptime_doubts(&w.uptime, NOON + 365 * DAY, 0), "before the first look");
	look(&w);
	cr_expect_not(uptime_doubts(&w.uptime, w.wall_ms + HOUR, w.mono_ms + HOUR));
	cr_expect_not(uptime_doubts(&w.uptime, w.wall_ms + DAY, w.mono_ms));
	cr_expect(uptime_doubts(&w.uptime, w.wall_ms + DAY + 1, w.mono_ms));
	cr_expect(uptime_doubts(&w.uptime, w.wall_ms - DAY - 1, w.mono_ms));
	cr_expect(uptime_doubts(&w.uptime, UPTIME_OLDEST_WALL_MS - 1, w.mono_ms));
	cr_expect_not(uptime_doubts(&w.uptime, w.wall_ms + HOUR, w.mono_ms + HOUR), "it has changed nothing");

	w.wall_ms += 365 * DAY;
	look(&w);
	cr_expect(uptime_doubts(&w.uptime, w.wall_ms + HOUR, w.mono_ms + HOUR), "as a look has found");
}
