/*
 * Connections for reading: what they see, how many there are, and that they hold nothing up.
 */
#include "store/readers.h"

#include "store/player.h"
#include "support/blob_folder.h"
#include "support/data_folder.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <time.h>

static enum err count_player(const struct player_row *row, void *arg)
{
	int *count = arg;

	(void)row;
	(*count)++;
	return ERR_OK;
}

static int count_players(struct db *db)
{
	int count = 0;

	cr_expect_eq(player_each(db, count_player, &count), ERR_OK);
	return count;
}

static enum err add_player(struct db *db, void *arg)
{
	static const uint8_t addr[PLAYER_ADDR_BYTES];
	const int           *n   = arg;
	struct player_row    row = { .code = (uint32_t)(100000 + *n), .used_ms = 1 };

	row.digest[0] = (uint8_t)*n;
	return player_add(db, &row, addr);
}

static void add(struct store *s, int n)
{
	cr_assert_eq(blob_in_job(s, add_player, &n), ERR_OK);
}

static struct db *take(struct store *s)
{
	struct db *db = NULL;

	cr_assert_eq(readers_take(&db, s), ERR_OK);
	return db;
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

Test(readers, they_see_what_is_committed)
{
	struct store *s = data_start_store();

	for (int n = 1; n <= 20; n++) {
		add(s, n);
		struct db *db = take(s);
		cr_expect_eq(count_players(db), n);
		readers_give(s, db);
	}
	store_stop(s);
}

Test(readers, what_is_lent_sees_one_state)
{
	struct store *s = data_start_store();

	add(s, 1);
	struct db *db = take(s);
	cr_expect_eq(count_players(db), 1);
	add(s, 2);
	cr_expect_eq(count_players(db), 1);
	readers_give(s, db);
	db = take(s);
	cr_expect_eq(count_players(db), 2);
	readers_give(s, db);
	store_stop(s);
}

Test(readers, they_cannot_write)
{
	struct store *s  = data_start_store();
	struct db    *db = take(s);
	int           n  = 1;

	cr_expect_eq(add_player(db, &n), ERR_STORE);
	cr_expect_eq(count_players(db), 0);
	readers_give(s, db);
	add(s, 1);
	store_stop(s);
}

Test(readers, one_is_used_again_and_others_are_opened_when_needed)
{
	struct store *s     = data_start_store();
	struct db    *first = take(s);

	readers_give(s, first);
	cr_expect_eq(take(s), first);
	struct db *second = take(s);
	cr_expect_neq(second, first);
	readers_give(s, second);
	readers_give(s, first);
	store_stop(s);
}

struct waiter {
	struct store *store;
	atomic_bool   has;
};

static void *take_and_give(void *arg)
{
	struct waiter *w  = arg;
	struct db     *db = NULL;

	if (readers_take(&db, w->store) == ERR_OK) {
		atomic_store(&w->has, true);
		readers_give(w->store, db);
	}
	return NULL;
}

static void take_all(struct db *all[READERS_MAX], struct store *s)
{
	for (size_t i = 0; i < READERS_MAX; i++)
		all[i] = take(s);
}

static void give_all(struct db *all[READERS_MAX], struct store *s)
{
	for (size_t i = 0; i < READERS_MAX; i++) {
		if (all[i])
			readers_give(s, all[i]);
	}
}

Test(readers, one_more_waits_until_one_is_free)
{
	struct store *s = data_start_store();
	struct waiter w = { .store = s };
	struct db    *all[READERS_MAX];
	pthread_t     thread;

	take_all(all, s);
	cr_assert_eq(pthread_create(&thread, NULL, take_and_give, &w), 0);
	const struct timespec nap = { .tv_nsec = 50000000 };
	nanosleep(&nap, NULL);
	cr_expect_not(atomic_load(&w.has));
	readers_give(s, TAKE(all[2]));
	pthread_join(thread, NULL);
	cr_expect(atomic_load(&w.has));
	give_all(all, s);
	store_stop(s);
}

Test(readers, one_more_is_busy_after_two_seconds)
{
	struct store *s = data_start_store();
	struct db    *all[READERS_MAX], *more = NULL;

	take_all(all, s);
	int64_t before_ms = now_ms();
	cr_expect_eq(readers_take(&more, s), ERR_BUSY);
	cr_expect_geq(now_ms() - before_ms, READERS_WAIT_MS - 1000);
	cr_expect_null(more);
	give_all(all, s);
	readers_give(s, take(s));
	store_stop(s);
}

/* So the next start finds an empty log. */
Test(readers, a_stop_closes_them_and_folds_the_log)
{
	struct store *s = data_start_store();
	struct db    *all[READERS_MAX];
	struct stat   st;

	add(s, 1);
	take_all(all, s);
	cr_expect_eq(count_players(all[0]), 1);
	give_all(all, s);
	store_stop(s);
	cr_expect(stat(data_path("coop.db-wal"), &st) != 0 || st.st_size == 0);
}

struct race {
	struct store *store;
	atomic_bool   stop;
	atomic_int    failed, looked;
};

/* A pair of players is added in one job: nobody ever sees half of it. */
static void *look_at_pairs(void *arg)
{
	struct race *r = arg;

	while (!atomic_load(&r->stop)) {
		struct db *db;
		int        count = 0;

		if (readers_take(&db, r->store) != ERR_OK) {
			atomic_fetch_add(&r->failed, 1);
			continue;
		}
		if (player_each(db, count_player, &count) != ERR_OK || count % 2 != 0)
			atomic_fetch_add(&r->failed, 1);
		readers_give(r->store, db);
		atomic_fetch_add(&r->looked, 1);
	}
	return NULL;
}

static enum err add_pair(struct db *db, void *arg)
{
	const int *n   = arg;
	int        two = *n + 1;

	enum err e = add_player(db, arg);
	return e == ERR_OK ? add_player(db, &two) : e;
}

Test(readers, many_threads_beside_the_writer)
{
	struct race r = { .store = data_start_store() };
	pthread_t   threads[6];

	for (size_t i = 0; i < COUNT_OF(threads); i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, look_at_pairs, &r), 0);
	for (int n = 1; n < 200; n += 2)
		cr_assert_eq(blob_in_job(r.store, add_pair, &n), ERR_OK);
	atomic_store(&r.stop, true);
	for (size_t i = 0; i < COUNT_OF(threads); i++)
		pthread_join(threads[i], NULL);
	cr_expect_eq(atomic_load(&r.failed), 0);
	cr_expect_gt(atomic_load(&r.looked), 0);
	store_stop(r.store);
}
