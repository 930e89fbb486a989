/*
 * What a start finds in the blob folder: nothing is ever lost by looking, least of all beside the wrong database.
 */
#include "store/blob_check.h"

#include "base/hex.h"
#include "base/metric.h"
#include "base/text.h"
#include "os/file.h"
#include "store/blob_verify.h"
#include "store/copies.h"
#include "support/blob_folder.h"
#include "support/data_folder.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DAY_MS INT64_C(86400000)

/* A store that has these blobs, numbered from 0, and was stopped. */
static void prepare(int count)
{
	struct store *s = data_start_store();

	data_conf()->cloud_orphan_days = 30;
	for (int n = 0; n < count; n++)
		cr_assert_eq(blob_store(s, n), ERR_OK);
	store_stop(s);
}

static size_t count_entries(const char *pid_folder)
{
	DIR   *d = opendir(pid_folder);
	size_t n = 0;

	cr_assert_not_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

struct counts {
	size_t threads;
};

static bool are_threads(void *arg)
{
	const struct counts *c = arg;

	return count_entries("/proc/self/task") == c->threads;
}

/*
 * Starts the store and waits until the check's thread has ended: the store's own is the one that stays.
 */
static struct store *start_and_check(void)
{
	struct counts before = { .threads = count_entries("/proc/self/task") };
	struct store *s      = data_start_store();

	before.threads++;
	cr_assert(data_await(are_threads, &before));
	return s;
}

static size_t count_trash(void)
{
	return access(data_path("blobs/.trash"), F_OK) == 0 ? data_count_files("blobs/.trash", "") : 0;
}

static void check_again(void)
{
	store_stop(start_and_check());
}

Test(blob_check, where_all_fits_nothing_happens)
{
	prepare(30);
	size_t        fds = count_entries("/proc/self/fd");
	struct store *s   = start_and_check();

	for (int n = 0; n < 30; n++)
		cr_expect(blob_is_there(n));
	cr_expect_eq(metric_get(M_BLOBS_DAMAGED), 0);
	cr_expect_eq(count_trash(), 0);
	store_stop(s);
	cr_expect_eq(count_entries("/proc/self/fd"), fds);
}

Test(blob_check, it_leaves_no_descriptor_behind)
{
	prepare(3);
	struct store *s      = start_and_check();
	size_t        at_end = count_entries("/proc/self/fd");

	store_stop(s);
	s = data_open_store();
	cr_expect_eq(count_entries("/proc/self/fd"), at_end, "as before any thread ran");
	store_stop(s);
}

Test(blob_check, rows_without_their_file_are_reported)
{
	prepare(5);
	cr_assert_eq(unlink(blob_path(1)), 0);
	cr_assert_eq(truncate(blob_path(3), 4), 0);
	check_again();
	cr_expect_eq(metric_get(M_BLOBS_DAMAGED), 2);
	cr_expect_eq(count_trash(), 0);
	cr_expect_eq(access(blob_path(3), F_OK), 0, "what is damaged is no reason to remove it");
}

Test(blob_check, a_folder_that_lost_everything_is_reported)
{
	char command[PATH_MAX];

	prepare(25);
	text_format(command, sizeof(command), "rm -rf '%s'/blobs/??", data_folder());
	cr_assert_eq(system(command), 0);
	check_again();
	cr_expect_eq(metric_get(M_BLOBS_DAMAGED), 20, "the rest is only counted");
}

Test(blob_check, files_that_no_row_names_go_to_the_trash)
{
	prepare(5);
	blob_put_stranger(100);
	blob_put_stranger(101);
	check_again();
	cr_expect_eq(metric_get(M_BLOBS_TRASHED), 2);
	cr_expect_eq(count_trash(), 2);
	cr_expect_neq(access(blob_path(100), F_OK), 0);
	for (int n = 0; n < 5; n++)
		cr_expect(blob_is_there(n));
}

/* What is none of ours is left where it is. */
Test(blob_check, other_files_are_not_touched)
{
	char folder[PATH_MAX], name[PATH_MAX + 8];

	prepare(1);
	text_copy(folder, sizeof(folder), blob_path(0));
	*strrchr(folder, '/') = '\0';
	text_format(name, sizeof(name), "%s/README", folder);
	cr_assert_eq(file_write(name, "x", 1, 0600), ERR_OK);
	cr_assert_eq(file_write(data_path("blobs/notes"), "x", 1, 0600), ERR_OK);
	check_again();
	cr_expect_eq(access(name, F_OK), 0);
	cr_expect_eq(access(data_path("blobs/notes"), F_OK), 0);
	cr_expect_eq(count_trash(), 0);
}

/* Exactly as many as may go whatever the percentage, and one more. */
Test(blob_check, few_may_go_and_no_more)
{
	data_conf()->limits.blob_sweep_few = 4;
	prepare(4);
	for (int n = 100; n < 104; n++)
		blob_put_stranger(n);
	check_again();
	cr_expect_eq(count_trash(), 4);
	for (int n = 200; n < 205; n++)
		blob_put_stranger(n);
	check_again();
	cr_expect_eq(count_trash(), 4);
	for (int n = 200; n < 205; n++)
		cr_expect(blob_is_there(n));
}

/* Five of a hundred are five percent; six are more. */
Test(blob_check, a_share_may_go_and_no_more)
{
	data_conf()->limits.blob_sweep_few = 0;
	prepare(95);
	for (int n = 100; n < 105; n++)
		blob_put_stranger(n);
	check_again();
	cr_expect_eq(count_trash(), 5);
	for (int n = 100; n < 106; n++)
		blob_put_stranger(n);
	check_again();
	cr_expect_eq(count_trash(), 5);
	cr_expect(blob_is_there(105));
}

static void move_file(const char *from, const char *to)
{
	cr_assert_eq(rename(data_path(from), data_path(to)), 0, "%s", from);
}

Test(blob_check, an_empty_database_beside_a_full_folder_loses_nothing)
{
	prepare(30);
	cr_assert_eq(unlink(data_path("coop.db")), 0);
	unlink(data_path("coop.db-wal"));
	unlink(data_path("coop.db-shm"));
	for (int start = 0; start < 3; start++)
		check_again();
	cr_expect_eq(count_trash(), 0);
	for (int n = 0; n < 30; n++)
		cr_expect(blob_is_there(n), "%d", n);
}

/* The copy has 5 of 30 blobs, and a note about garbage that was stored again since. */
Test(blob_check, an_older_database_beside_a_full_folder_loses_nothing)
{
	prepare(5);
	struct store *s = data_open_store();
	data_exec(store_db(s), "INSERT INTO blob_garbage (hash, is_old) VALUES (zeroblob(32), 0)");
	char hex[2 * BLOB_HASH_BYTES + 1], sql[200];
	hex_encode(hex, blob_hash(7), BLOB_HASH_BYTES);
	text_format(sql, sizeof(sql), "UPDATE blob_garbage SET hash = x'%s'", hex);
	data_exec(store_db(s), sql);
	store_stop(s);
	cr_assert_eq(copy_database(data_path("coop.db"), data_folder(), "older.db", NULL), ERR_OK);

	s = data_start_store();
	for (int n = 5; n < 30; n++)
		cr_assert_eq(blob_store(s, n), ERR_OK);
	store_stop(s);
	move_file("coop.db", "newer.db");
	move_file("older.db", "coop.db");
	for (int start = 0; start < 3; start++) {
		s = start_and_check();
		/* So that garbage was looked for. */
		cr_assert_eq(blob_store(s, 300), ERR_OK);
		cr_assert_eq(blob_forget(s, 300), ERR_OK);
		cr_expect(blob_await(300, false));
		store_stop(s);
	}
	for (int n = 0; n < 30; n++)
		cr_expect(n == 7 || blob_is_there(n), "%d", n);

	/* Back to the newer one: all is there again. */
	move_file("newer.db", "coop.db");
	unlink(data_path("coop.db-wal"));
	unlink(data_path("coop.db-shm"));
	check_again();
	for (int n = 0; n < 30; n++)
		cr_expect(blob_is_there(n), "%d", n);
	cr_expect_eq(metric_get(M_BLOBS_DAMAGED), 0);
}

/* A few blobs only, so that they are moved: they come back with the database that names them. */
Test(blob_check, what_a_row_names_comes_back_from_the_trash)
{
	prepare(2);
	cr_assert_eq(copy_database(data_path("coop.db"), data_folder(), "older.db", NULL), ERR_OK);
	struct store *s = data_start_store();
	cr_assert_eq(blob_store(s, 2), ERR_OK);
	store_stop(s);
	move_file("coop.db", "newer.db");
	move_file("older.db", "coop.db");
	check_again();
	cr_expect_not(blob_is_there(2));
	cr_expect_eq(count_trash(), 1);
	move_file("newer.db", "coop.db");
	check_again();
	cr_expect(blob_is_there(2));
	cr_expect_eq(count_trash(), 0);
	cr_expect_eq(metric_get(M_BLOBS_DAMAGED), 0);
}

/* --- The trash, by days of uptime --- */

static void next_day(struct data_clock *clock)
{
	clock->both_ms += DAY_MS;
	check_again();
}

Test(blob_check, the_trash_goes_after_so_many_days_of_uptime)
{
	struct data_clock *clock = data_take_clock();

	prepare(1);
	data_conf()->cloud_orphan_days = 3;
	blob_put_stranger(100);
	check_again();
	cr_expect_eq(count_trash(), 1);
	/* A machine that is off for a year ages nothing but by the day it starts again. */
	clock->both_ms += 365 * DAY_MS;
	check_again();
	cr_expect_eq(count_trash(), 1);
	next_day(clock);
	cr_expect_eq(count_trash(), 1);
	next_day(clock);
	cr_expect_eq(count_trash(), 0);
	cr_expect(blob_is_there(0));
}

static bool is_trash_empty(void *arg)
{
	(void)arg;
	return count_trash() == 0;
}

/* A server that runs on does not wait for its next start. */
Test(blob_check, the_trash_is_emptied_while_the_server_runs)
{
	struct data_clock *clock = data_take_clock();

	prepare(1);
	data_conf()->cloud_orphan_days = 1;
	blob_put_stranger(100);
	struct store *s = start_and_check();
	cr_expect_eq(count_trash(), 1);
	for (int day = 0; day < 2 && count_trash() > 0; day++) {
		clock->both_ms += DAY_MS + 60000;
		store_poke(s);
		/* The day is noted by a lazy job of the next minute. */
		cr_assert_eq(blob_store(s, 500 + day), ERR_OK);
		clock->both_ms += 60000;
		store_poke(s);
	}
	cr_expect(data_await(is_trash_empty, NULL));
	store_stop(s);
}

/* --- Copies from before a migration --- */

static void copy_as_before_migration(void)
{
	char name[COPIES_NAME_BYTES];

	copies_migration_name(name, INT64_C(1793534400000), 9);
	cr_assert_eq(copy_database(data_path("coop.db"), data_path("copies"), name, NULL), ERR_OK);
}

Test(blob_check, what_a_kept_copy_names_stays_with_it)
{
	prepare(3);
	copy_as_before_migration();
	struct store *s = start_and_check();
	cr_assert_eq(blob_store(s, 10), ERR_OK);
	cr_assert_eq(blob_forget(s, 1), ERR_OK);
	cr_assert_eq(blob_forget(s, 10), ERR_OK);
	cr_expect(blob_await(10, false), "which is younger than the copy");
	cr_expect(blob_is_there(1));
	store_stop(s);
	check_again();
	cr_expect(blob_is_there(1), "in the next run too");
	cr_expect_eq(count_trash(), 0);

	/* The copy goes, and with it the reason. */
	char command[PATH_MAX];
	text_format(command, sizeof(command), "rm '%s'/copies/migration-*", data_folder());
	cr_assert_eq(system(command), 0);
	s = start_and_check();
	cr_assert_eq(blob_store(s, 11), ERR_OK);
	cr_assert_eq(blob_forget(s, 11), ERR_OK);
	cr_expect(blob_await(11, false));
	cr_expect(blob_await(1, false));
	store_stop(s);
}

Test(blob_check, a_copy_that_cannot_be_read_holds_everything)
{
	prepare(3);
	cr_assert_eq(file_write(data_path("copies/migration-20261101T120000Z-from-9.db"), "no database at all", 18,
	                        0600),
	             ERR_OK);
	struct store *s = start_and_check();
	cr_assert_eq(blob_forget(s, 1), ERR_OK);
	cr_assert_eq(blob_store(s, 10), ERR_OK);
	store_stop(s);
	cr_expect(blob_is_there(1));
}

/* --- Uploads beside the check --- */

struct storm {
	struct store *store;
	atomic_bool   stop;
	int           stored;
};

static void *store_on(void *arg)
{
	struct storm *st = arg;

	while (!atomic_load(&st->stop) && st->stored < 2000)
		cr_assert_eq(blob_store(st->store, 1000 + st->stored++), ERR_OK);
	return NULL;
}

static bool has_few_threads(void *arg)
{
	const struct counts *c = arg;

	return count_entries("/proc/self/task") <= c->threads;
}

Test(blob_check, an_upload_under_way_is_no_stranger)
{
	prepare(30);
	struct counts before = { .threads = count_entries("/proc/self/task") + 2 }; /* the store's and ours */
	struct storm  st     = { .store = data_open_store() };
	pthread_t     thread;

	cr_assert_eq(store_start(st.store), ERR_OK);
	cr_assert_eq(pthread_create(&thread, NULL, store_on, &st), 0);
	cr_expect(data_await(has_few_threads, &before), "the check ends although uploads go on");
	atomic_store(&st.stop, true);
	pthread_join(thread, NULL);
	store_stop(st.store);
	cr_expect_eq(count_trash(), 0);
	cr_expect_eq(metric_get(M_BLOBS_DAMAGED), 0);
	for (int n = 0; n < st.stored; n++)
		cr_expect(blob_is_there(1000 + n));
}

Test(blob_check, a_stop_ends_it)
{
	prepare(30);
	for (int i = 0; i < 5; i++)
		store_stop(data_start_store());
	for (int n = 0; n < 30; n++)
		cr_expect(blob_is_there(n));
	cr_expect_eq(metric_get(M_BLOBS_DAMAGED), 0);
}

/* --- coopd --verify-blobs --- */

static char said[8192];

static int verify(void)
{
	FILE *out = fmemopen(said, sizeof(said), "w");

	cr_assert_not_null(out);
	int status = blob_verify_main(data_conf(), out);
	fclose(out);
	return status;
}

Test(blob_verify, all_that_is_right_is_one_line)
{
	prepare(3);
	cr_expect_eq(verify(), 0);
	cr_expect_str_eq(said, "3 blobs checked (39 bytes), all are as they were stored.\n");
}

Test(blob_verify, a_folder_without_blobs_is_right)
{
	cr_expect_eq(verify(), 0);
	cr_expect_not_null(strstr(said, "0 blobs checked"));
}

static void flip_a_bit(const char *path)
{
	int  fd   = open(path, O_RDWR | O_CLOEXEC);
	char byte = 0;

	cr_assert_eq(pread(fd, &byte, 1, 5), 1);
	byte = (char)(byte ^ 1);
	cr_assert_eq(pwrite(fd, &byte, 1, 5), 1);
	close(fd);
}

static void expect_said(int n, const char *what)
{
	char line[300], hex[2 * BLOB_HASH_BYTES + 1];

	hex_encode(hex, blob_hash(n), BLOB_HASH_BYTES);
	text_format(line, sizeof(line), "%s what=\"%s\" campaigns=c0ffee0000000001\n", hex, what);
	cr_expect_not_null(strstr(said, line), "no %s in:\n%s", line, said);
}

Test(blob_verify, each_damage_is_a_line)
{
	prepare(6);
	cr_assert_eq(unlink(blob_path(1)), 0);
	cr_assert_eq(truncate(blob_path(2), 4), 0);
	flip_a_bit(blob_path(3));
	cr_assert_eq(unlink(blob_path(4)), 0);
	cr_assert_eq(mkdir(blob_path(4), 0700), 0);
	cr_expect_eq(verify(), 1);
	expect_said(1, "missing");
	expect_said(2, "wrong size");
	expect_said(3, "wrong content");
	expect_said(4, "cannot be opened");
	cr_expect_not_null(strstr(said, "\n6 blobs checked, 4 damaged"));
}

/* A row that somebody lost is looked for all the same. */
Test(blob_verify, what_only_a_checkpoint_names_counts)
{
	prepare(2);
	struct store *s = data_open_store();
	data_exec(store_db(s), "DELETE FROM blobs");
	store_stop(s);
	cr_assert_eq(unlink(blob_path(1)), 0);
	cr_expect_eq(verify(), 1);
	expect_said(1, "missing");
	cr_expect_not_null(strstr(said, "\n2 blobs checked, 1 damaged"));
}
