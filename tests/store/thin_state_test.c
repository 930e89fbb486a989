/*
 * Which checkpoints stay. Histories are written down as they happened, the oldest first.
 */
#include "store/thin_state.h"

#include <criterion/criterion.h>
#include <string.h>

#define DAY    INT64_C(86400000)
#define SECOND INT64_C(1000)
#define KEEP   5

static const uint8_t owner[8] = { 'o' };

/* A campaign and its rows, newest first; number counts all that were ever stored. */
struct history {
	struct thin_row rows[THIN_MAX + 1];
	int             number[THIN_MAX + 1];
	size_t          count;
	int             stored;
};

/* Stored by who ('o' is the owner); flags: 's' small, 'c' conflict. What is not kept goes. Its number. */
static int put(struct history *h, char who, int64_t at_ms, const char *flags, int64_t keep)
{
	cr_assert_leq(h->count, THIN_MAX, "more stay than there is room for");
	memmove(h->rows + 1, h->rows, h->count * sizeof(h->rows[0]));
	memmove(h->number + 1, h->number, h->count * sizeof(h->number[0]));
	h->rows[0]   = (struct thin_row){ .stored_ms   = at_ms,
		                          .player      = { (uint8_t)who },
		                          .is_small    = strchr(flags, 's'),
		                          .is_conflict = strchr(flags, 'c') };
	h->number[0] = ++h->stored;
	h->count++;
	thin_decide(h->rows, h->count, owner, keep);

	size_t left = 0;
	for (size_t i = 0; i < h->count; i++) {
		if (!h->rows[i].keep)
			continue;
		h->rows[left]     = h->rows[i];
		h->number[left++] = h->number[i];
	}
	h->count = left;
	return h->stored;
}

static const struct thin_row *find(const struct history *h, int number)
{
	for (size_t i = 0; i < h->count; i++) {
		if (h->number[i] == number)
			return &h->rows[i];
	}
	return NULL;
}

static enum thin_spare spare(const struct history *h, int number)
{
	const struct thin_row *row = find(h, number);

	cr_assert_not_null(row, "%d is gone", number);
	return row->spare;
}

Test(thin_state, the_newest_five_of_a_day_stay)
{
	struct history h = { 0 };

	for (int i = 0; i < 5; i++)
		put(&h, 'm', i * SECOND, "", KEEP);
	cr_expect_eq(h.count, 5);
	put(&h, 'm', 5 * SECOND, "", KEEP);
	cr_expect_eq(h.count, 5);
	cr_expect_null(find(&h, 1));
	cr_expect_not_null(find(&h, 2));
}

Test(thin_state, the_newest_of_each_of_seven_days_stays)
{
	struct history h = { 0 };

	for (int day = 0; day < 8; day++) {
		for (int i = 0; i < 6; i++)
			put(&h, 'm', day * DAY + i * SECOND, "", KEEP);
	}
	/* Numbers 6, 12, ... are the last of each day; the first of the eight days is gone. */
	cr_expect_null(find(&h, 6));
	for (int day = 1; day < 8; day++)
		cr_expect_not_null(find(&h, 6 * (day + 1)), "day %d", day);
	cr_expect_eq(h.count, 5 + 6);
}

/* Days without play are no days, and a clock that jumps is no reason to remove anything. */
Test(thin_state, days_without_play_do_not_count)
{
	static const int64_t days[] = { 0, 400, 401, 3, -5, 4, 10000 };
	struct history       h      = { 0 };

	for (size_t i = 0; i < 7; i++)
		put(&h, 'm', days[i] * DAY, "", 1);
	cr_expect_eq(h.count, 7);
	put(&h, 'm', 10001 * DAY, "", 1);
	cr_expect_eq(h.count, 7);
	cr_expect_null(find(&h, 1));
}

Test(thin_state, midnight_divides_days_before_1970_too)
{
	struct history h = { 0 };

	put(&h, 'm', -DAY - 1, "", 2);
	put(&h, 'm', -DAY, "", 2);
	put(&h, 'm', -1, "", 2);
	put(&h, 'm', 0, "", 2);
	put(&h, 'm', 1, "", 2);
	cr_expect_not_null(find(&h, 1));
	cr_expect_null(find(&h, 2), "-1 is the same day, and later");
	cr_expect_not_null(find(&h, 3));
}

Test(thin_state, the_newest_two_stay_whatever_the_setting)
{
	struct history h = { 0 };

	for (int i = 0; i < 4; i++)
		put(&h, 'm', i, "", 0);
	cr_expect_eq(h.count, 2);
	cr_expect_not_null(find(&h, 3));
	cr_expect_not_null(find(&h, 4));
}

Test(thin_state, only_the_owner_pushes_out_his_last_two)
{
	struct history h      = { 0 };
	int            first  = put(&h, 'o', 0, "", KEEP);
	int            second = put(&h, 'o', 1, "", KEEP);

	for (int i = 0; i < 100; i++)
		put(&h, 'm', 2 + i, "", KEEP);
	cr_expect_not_null(find(&h, first));
	cr_expect_not_null(find(&h, second));
	cr_expect_eq(h.count, 7);
	put(&h, 'o', 200, "", KEEP);
	cr_expect_null(find(&h, first));
	cr_expect_not_null(find(&h, second));
}

/* Safety 20, with the clock of a whole day: 8640 uploads, over midnight. */
Test(thin_state, a_day_of_garbage_pushes_out_neither_the_owners_last_two_nor_the_newest_of_each_day)
{
	struct history h = { 0 };
	int            of_day[7], owners[2];

	for (int day = 0; day < 6; day++) {
		put(&h, 'f', day * DAY, "", KEEP);
		of_day[day] = put(&h, 'f', day * DAY + 1, "", KEEP);
	}
	owners[0] = put(&h, 'o', 6 * DAY, "", KEEP);
	owners[1] = put(&h, 'o', 6 * DAY + 1, "", KEEP);
	for (int i = 1; i <= 8640; i++) {
		put(&h, 'x', 6 * DAY + i * 10 * SECOND, i % 3 ? "" : "s", KEEP);
		if (i % 5 == 0)
			put(&h, 'x', 6 * DAY + i * 10 * SECOND, "c", KEEP);
		for (int day = i < 8640 ? 0 : 1; day < 6; day++)
			cr_assert_not_null(find(&h, of_day[day]), "day %d after %d", day, i);
		cr_assert_not_null(find(&h, owners[0]), "after %d", i);
		cr_assert_not_null(find(&h, owners[1]), "after %d", i);
		cr_assert_eq(spare(&h, owners[0]), THIN_STAYS);
		cr_assert_eq(spare(&h, owners[1]), THIN_STAYS);
	}
}

Test(thin_state, at_most_fourteen_and_one)
{
	struct history h = { 0 };

	put(&h, 'o', 0, "", KEEP);
	put(&h, 'o', 1, "", KEEP);
	for (int day = 1; day < 40; day++) {
		for (int i = 0; i < 9; i++)
			put(&h, 'm', day * DAY + i, "", KEEP);
		cr_expect_leq(h.count, 14);
	}
	/* Two of the owner, five, and the newest of six days before this one. */
	cr_expect_eq(h.count, 13);
}

Test(thin_state, a_keep_beyond_the_table_counts_as_the_highest)
{
	struct history h = { 0 };

	for (int i = 0; i < 60; i++)
		put(&h, 'm', i, "", 10000);
	cr_expect_eq(h.count, THIN_KEEP_MAX);
}

Test(thin_state, the_one_before_a_small_one_stays_until_two_sound_ones_came)
{
	struct history h     = { 0 };
	int            sound = put(&h, 'm', 0, "", 2);

	for (int i = 1; i < 9; i++)
		put(&h, 'm', i, "s", 2);
	cr_expect_not_null(find(&h, sound), "not pushed out by ever smaller ones");
	cr_expect_eq(spare(&h, sound), THIN_LAST);
	cr_expect_eq(h.count, 3);
	put(&h, 'm', 9, "", 2);
	cr_expect_not_null(find(&h, sound));
	put(&h, 'm', 10, "", 2);
	cr_expect_null(find(&h, sound));
}

Test(thin_state, the_one_before_a_small_one_outlives_the_usual_number)
{
	struct history h     = { 0 };
	int            sound = put(&h, 'm', 0, "", 3);

	put(&h, 'm', 1, "s", 3);
	put(&h, 'm', 2, "", 3);
	put(&h, 'm', 3, "s", 3);
	cr_expect_null(find(&h, sound), "the one before the later small one has its place");
	h     = (struct history){ 0 };
	sound = put(&h, 'm', 0, "", 3);
	put(&h, 'm', 1, "s", 3);
	put(&h, 'm', 2, "s", 3);
	put(&h, 'm', 3, "", 3);
	cr_expect_not_null(find(&h, sound));
	put(&h, 'm', 4, "", 3);
	cr_expect_null(find(&h, sound));
}

Test(thin_state, two_conflicts_of_a_player_and_six_in_all_stay)
{
	struct history h     = { 0 };
	int            mine  = put(&h, 'o', 0, "", KEEP);
	int            first = put(&h, 'a', 1, "c", KEEP);

	put(&h, 'a', 2, "c", KEEP);
	cr_expect_not_null(find(&h, first));
	put(&h, 'a', 3, "c", KEEP);
	cr_expect_null(find(&h, first), "a third pushes out his own");

	int of_owner = put(&h, 'o', 4, "c", KEEP);
	for (int i = 0; i < 3; i++)
		put(&h, (char)('b' + i), 5 + i, "c", KEEP);
	cr_expect_eq(h.count, 7);
	cr_expect_not_null(find(&h, 3));
	put(&h, 'e', 9, "c", KEEP);
	cr_expect_eq(h.count, 7);
	cr_expect_null(find(&h, 3), "the oldest of all goes");
	cr_expect_eq(spare(&h, of_owner), THIN_STAYS);
	cr_expect_eq(spare(&h, h.stored), THIN_FIRST);
	cr_expect_not_null(find(&h, mine), "conflicts push out nothing else");
}

Test(thin_state, what_is_spare_never_is_of_the_newest_two_or_the_owners)
{
	struct history h = { 0 };

	int old_day  = put(&h, 'm', 0, "", KEEP);
	int own      = put(&h, 'o', DAY, "", KEEP);
	int last_own = put(&h, 'o', DAY + 1, "", KEEP);
	int middle   = put(&h, 'm', DAY + 2, "", KEEP);
	int second   = put(&h, 'm', DAY + 3, "", KEEP);
	int newest   = put(&h, 'm', DAY + 4, "", KEEP);

	cr_expect_eq(spare(&h, newest), THIN_STAYS);
	cr_expect_eq(spare(&h, second), THIN_STAYS);
	cr_expect_eq(spare(&h, middle), THIN_FIRST);
	cr_expect_eq(spare(&h, last_own), THIN_STAYS);
	cr_expect_eq(spare(&h, own), THIN_STAYS);
	cr_expect_eq(spare(&h, old_day), THIN_LAST);
}

Test(thin_state, small_is_under_a_quarter)
{
	cr_expect_not(thin_is_small(25, 100, 25));
	cr_expect(thin_is_small(24, 100, 25));
	cr_expect_not(thin_is_small(0, 0, 25), "after nothing");
	cr_expect_not(thin_is_small(0, 100, 0), "switched off");
	cr_expect(thin_is_small(0, INT64_C(1) << 44, 100));
}
