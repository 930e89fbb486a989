/*
 * Blobs: how one comes about, how it goes, and what an accident in between leaves. What a failing disk does is in
 * durable_test.c, what a start finds in blob_check_test.c.
 */
#include "store/blob.h"

#include "base/auto.h"
#include "base/metric.h"
#include "base/text.h"
#include "os/file.h"
#include "store/blob_folder.h"
#include "support/blob_folder.h"
#include "support/data_folder.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define HOUR_MS INT64_C(3600000)

static mode_t mode_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? st.st_mode & 07777 : 0;
}

static size_t count_temporary(void)
{
	return data_count_files("blobs/.tmp", "");
}

static int64_t count_rows(struct store *s, const char *sql)
{
	return data_ask(store_db(s), sql);
}

Test(blob, what_was_stored_is_read_under_its_hash)
{
	struct store *s = data_start_store();
	int           fd;
	uint64_t      bytes;
	char          text[64] = "";

	umask(0);
	cr_assert_eq(blob_store(s, 1), ERR_OK);
	cr_assert_eq(blob_open(&fd, &bytes, s, blob_hash(1)), ERR_OK);
	cr_expect_eq(bytes, strlen(blob_text(1)));
	cr_expect_eq(read(fd, text, sizeof(text) - 1), (ssize_t)bytes);
	cr_expect_str_eq(text, blob_text(1));
	close(fd);
	cr_expect_eq(mode_of(blob_path(1)), 0600);

	char folder[PATH_MAX];
	text_copy(folder, sizeof(folder), blob_path(1));
	*strrchr(folder, '/') = '\0';
	cr_expect_eq(mode_of(folder), 0700);
	cr_expect_eq(count_temporary(), 0);
	store_stop(s);
}

Test(blob, what_is_not_there_is_not_found)
{
	struct store *s  = data_start_store();
	int           fd = -7;
	uint64_t      bytes;

	cr_expect_eq(blob_open(&fd, &bytes, s, blob_hash(1)), ERR_NOT_FOUND);
	cr_expect_eq(fd, -7);
	cr_assert_eq(blob_store(s, 1), ERR_OK);
	cr_assert_eq(unlink(blob_path(1)), 0);
	cr_expect_eq(blob_open(&fd, &bytes, s, blob_hash(1)), ERR_NOT_FOUND);
	cr_assert_eq(symlink("/etc/passwd", blob_path(1)), 0);
	cr_expect_eq(blob_open(&fd, &bytes, s, blob_hash(1)), ERR_IO, "nothing but files");
	store_stop(s);
}

Test(blob, the_size_and_hash_are_those_of_all_pieces)
{
	struct store      *s = data_start_store();
	struct blob_writer w;
	const char        *text = blob_text(1);

	cr_assert_eq(blob_writer_open(&w, s), ERR_OK);
	for (const char *at = text; *at; at++)
		cr_assert_eq(blob_writer_put(&w, at, 1), ERR_OK);
	cr_assert_eq(blob_writer_finish(&w), ERR_OK);
	cr_expect_arr_eq(w.sha256, blob_hash(1), BLOB_HASH_BYTES);
	cr_expect_eq(w.bytes, strlen(text));
	blob_writer_fini(&w);
	store_stop(s);
}

Test(blob, one_that_is_not_taken_leaves_nothing)
{
	struct store      *s     = data_start_store();
	struct blob_writer never = { .fd = -1 }, w;

	blob_writer_fini(&never);
	cr_assert_eq(blob_writer_open(&w, s), ERR_OK);
	cr_expect_eq(count_temporary(), 1);
	blob_writer_fini(&w);
	cr_expect_eq(count_temporary(), 0);
	blob_write(&w, s, 1);
	cr_expect_eq(count_temporary(), 1);
	blob_writer_fini(&w);
	blob_writer_fini(&w);
	cr_expect_eq(count_temporary(), 0);
	store_stop(s);
}

Test(blob, identical_bytes_are_one_file)
{
	struct store *s = data_start_store();

	cr_assert_eq(blob_store(s, 1), ERR_OK);
	cr_assert_eq(blob_store(s, 1), ERR_OK);
	cr_expect(blob_is_there(1));
	store_stop(s);
	s = data_open_store();
	cr_expect_eq(count_rows(s, "SELECT count(*) FROM blobs"), 1);
	cr_expect_eq(count_rows(s, "SELECT count(*) FROM checkpoints"), 2);
	store_stop(s);
}

/* Its content is right whatever lay there before. */
Test(blob, a_damaged_file_is_replaced)
{
	struct store *s = data_start_store();

	cr_assert_eq(blob_store(s, 1), ERR_OK);
	cr_assert_eq(truncate(blob_path(1), 3), 0);
	cr_expect_not(blob_is_there(1));
	cr_assert_eq(blob_store(s, 1), ERR_OK);
	cr_expect(blob_is_there(1));
	store_stop(s);
}

Test(blob, it_goes_with_its_last_row)
{
	struct store *s = data_start_store();

	cr_assert_eq(blob_store(s, 1), ERR_OK);
	cr_assert_eq(blob_store(s, 2), ERR_OK);
	cr_assert_eq(blob_forget(s, 1), ERR_OK);
	cr_expect(blob_await(1, false));
	cr_expect(blob_is_there(2));
	store_stop(s);
	cr_expect_eq(metric_get(M_BLOBS_REMOVED), 1);
	s = data_open_store();
	cr_expect_eq(count_rows(s, "SELECT count(*) FROM blob_garbage"), 0);
	cr_expect_eq(count_rows(s, "SELECT count(*) FROM blobs"), 1);
	store_stop(s);
}

static enum err let_go_only(struct db *db, void *arg)
{
	const int *n = arg;

	return blob_let_go(db, blob_hash(*n));
}

Test(blob, it_stays_while_a_row_names_it)
{
	struct store *s = data_start_store();
	int           n = 1;

	cr_assert_eq(blob_store(s, 1), ERR_OK);
	cr_assert_eq(blob_store(s, 2), ERR_OK);
	cr_assert_eq(blob_in_job(s, let_go_only, &n), ERR_OK);
	cr_assert_eq(blob_forget(s, 2), ERR_OK);
	cr_expect(blob_await(2, false), "so garbage was looked for");
	cr_expect(blob_is_there(1));
	store_stop(s);
}

static enum err forget_and_fail(struct db *db, void *arg)
{
	const int *n = arg;

	blob_unname(db, *n);
	cr_assert_eq(blob_let_go(db, blob_hash(*n)), ERR_OK);
	return ERR_LIMIT;
}

Test(blob, a_removal_that_is_undone_removes_nothing)
{
	struct store *s = data_start_store();
	int           n = 1;

	cr_assert_eq(blob_store(s, 1), ERR_OK);
	cr_assert_eq(blob_store(s, 2), ERR_OK);
	cr_assert_eq(blob_in_job(s, forget_and_fail, &n), ERR_LIMIT);
	cr_assert_eq(blob_forget(s, 2), ERR_OK);
	cr_expect(blob_await(2, false));
	cr_expect(blob_is_there(1));
	store_stop(s);
}

struct replace {
	struct blob_writer writer;
	int                n;
	bool               there; /* the file, before it was taken again */
};

static enum err forget_and_take(struct db *db, void *arg)
{
	struct replace *r = arg;

	blob_unname(db, r->n);
	enum err e = blob_let_go(db, blob_hash(r->n));
	r->there   = blob_is_there(r->n);
	cr_expect_eq(data_ask(db, "SELECT count(*) FROM blob_garbage"), 1);
	if (e == ERR_OK)
		e = blob_take(db, &r->writer);
	cr_expect_eq(data_ask(db, "SELECT count(*) FROM blob_garbage"), 0);
	if (e == ERR_OK)
		blob_name(db, r->n);
	return e;
}

Test(blob, garbage_that_is_stored_again_survives)
{
	struct store  *s = data_start_store();
	struct replace r = { .n = 1 };

	cr_assert_eq(blob_store(s, 1), ERR_OK);
	cr_assert_eq(blob_store(s, 2), ERR_OK);
	blob_write(&r.writer, s, 1);
	cr_assert_eq(blob_in_job(s, forget_and_take, &r), ERR_OK);
	blob_writer_fini(&r.writer);
	cr_expect(r.there, "nothing goes before the commit");
	cr_assert_eq(blob_forget(s, 2), ERR_OK);
	cr_expect(blob_await(2, false));
	cr_expect(blob_is_there(1));
	store_stop(s);
}

/* The note is about what was, the second look about what is. */
Test(blob, a_wrong_note_removes_nothing)
{
	struct store *s = data_start_store();

	cr_assert_eq(blob_store(s, 1), ERR_OK);
	store_stop(s);
	s = data_open_store();
	data_exec(store_db(s), "INSERT INTO blob_garbage (hash, is_old) SELECT hash, 0 FROM blobs");
	cr_assert_eq(store_start(s), ERR_OK);
	cr_assert_eq(blob_store(s, 2), ERR_OK);
	cr_assert_eq(blob_forget(s, 2), ERR_OK);
	cr_expect(blob_await(2, false));
	cr_expect(blob_is_there(1));
	store_stop(s);
	s = data_open_store();
	cr_expect_eq(count_rows(s, "SELECT count(*) FROM blob_garbage"), 0);
	store_stop(s);
}

static enum err forget_many(struct db *db, void *arg)
{
	const int *count = arg;
	enum err   e     = ERR_OK;

	for (int n = 0; n < *count && e == ERR_OK; n++) {
		blob_unname(db, n);
		e = blob_let_go(db, blob_hash(n));
	}
	return e;
}

Test(blob, more_than_a_helping_goes_in_several)
{
	struct store *s     = data_start_store();
	int           count = 17;

	for (int n = 0; n < count; n++)
		cr_assert_eq(blob_store(s, n), ERR_OK);
	cr_assert_eq(blob_in_job(s, forget_many, &count), ERR_OK);
	for (int n = 0; n < count; n++)
		cr_expect(blob_await(n, false), "%d", n);
	store_stop(s);
	cr_expect_eq(metric_get(M_BLOBS_REMOVED), count);
}

static void note_garbage(struct db *db, int first_byte)
{
	char sql[200];

	text_format(sql, sizeof(sql),
	            "INSERT INTO blob_garbage (hash, is_old) VALUES (CAST(x'%02x' || zeroblob(31) AS BLOB), 0)",
	            (unsigned)first_byte);
	data_exec(db, sql);
	blobs_note_garbage(db_blobs(db));
}

/* The pass under way is past those that are noted meanwhile. */
Test(blob, garbage_that_is_noted_during_a_pass_goes_in_the_next)
{
	struct store *s  = data_open_store();
	struct db    *db = store_db(s);

	blobs_hold(db_blobs(db), NULL, 0);
	for (int i = 0; i < BLOB_HELPING + 2; i++)
		note_garbage(db, 0x80 + i);
	cr_expect(blobs_remove_garbage(db_blobs(db), db));
	cr_expect_eq(count_rows(s, "SELECT count(*) FROM blob_garbage"), 2);
	note_garbage(db, 1);
	cr_expect(blobs_remove_garbage(db_blobs(db), db), "there is more");
	cr_expect_eq(count_rows(s, "SELECT count(*) FROM blob_garbage"), 1);
	cr_expect_not(blobs_remove_garbage(db_blobs(db), db));
	cr_expect_eq(count_rows(s, "SELECT count(*) FROM blob_garbage"), 0);
	store_stop(s);
}

Test(blob, garbage_that_cannot_go_is_looked_at_again_ten_minutes_later)
{
	struct data_clock *clock = data_take_clock();
	struct store      *s     = data_open_store();
	struct db         *db    = store_db(s);
	char               path[PATH_MAX];

	blobs_hold(db_blobs(db), NULL, 0);
	for (int i = 0; i < BLOB_HELPING + 2; i++)
		note_garbage(db, 0x80 + i);
	/* A folder is no file that can be removed. */
	cr_assert_eq(blobs_path(path, db_blobs(db), (const uint8_t[BLOB_HASH_BYTES]){ 0x80 }), ERR_OK);
	cr_assert_eq(file_make_dirs(path, 0700), ERR_OK);
	cr_expect(blobs_remove_garbage(db_blobs(db), db));
	cr_expect_not(blobs_remove_garbage(db_blobs(db), db), "the rest can wait");
	cr_expect_eq(count_rows(s, "SELECT count(*) FROM blob_garbage"), 1);
	cr_assert_eq(rmdir(path), 0);
	clock->both_ms += 590000;
	cr_expect_not(blobs_remove_garbage(db_blobs(db), db));
	cr_expect_eq(count_rows(s, "SELECT count(*) FROM blob_garbage"), 1, "not in a loop");
	clock->both_ms += 10000;
	blobs_remove_garbage(db_blobs(db), db);
	cr_expect_eq(count_rows(s, "SELECT count(*) FROM blob_garbage"), 0);
	store_stop(s);
}

Test(blob, a_stop_does_not_leave_garbage_lying_about)
{
	struct store *s     = data_start_store();
	int           count = 50;

	for (int n = 0; n < count; n++)
		cr_assert_eq(blob_store(s, n), ERR_OK);
	cr_assert_eq(blob_in_job(s, forget_many, &count), ERR_OK);
	store_stop(s);
	for (int n = 0; n < count; n++)
		cr_expect_not(blob_is_there(n), "%d", n);
	s = data_open_store();
	cr_expect_eq(count_rows(s, "SELECT count(*) FROM blob_garbage"), 0);
	store_stop(s);
}

static enum err take_and_fail(struct db *db, void *arg)
{
	struct blob_writer *w = arg;

	cr_assert_eq(blob_take(db, w), ERR_OK);
	cr_expect(blob_is_there(1), "renamed");
	return ERR_QUOTA;
}

Test(blob, one_whose_job_fails_leaves_no_file)
{
	struct store      *s = data_start_store();
	struct blob_writer w;

	blob_write(&w, s, 1);
	cr_assert_eq(blob_in_job(s, take_and_fail, &w), ERR_QUOTA);
	blob_writer_fini(&w);
	cr_expect(blob_await(1, false));
	cr_expect_eq(count_temporary(), 0);

	/* It takes no file along that was there before. */
	blob_put_stranger(1);
	blob_write(&w, s, 1);
	cr_assert_eq(blob_in_job(s, take_and_fail, &w), ERR_QUOTA);
	blob_writer_fini(&w);
	cr_assert_eq(blob_store(s, 2), ERR_OK, "a later batch");
	store_stop(s);
	cr_expect(blob_is_there(1));
}

Test(blob, below_the_floor_nothing_is_begun)
{
	struct blob_writer w;

	data_conf()->limits.store_free_floor = INT64_MAX;
	struct store *s                      = data_start_store();
	cr_expect_eq(blob_writer_open(&w, s), ERR_SPACE);
	cr_expect_eq(blob_writer_put(&w, "x", 1), ERR_SPACE, "the first failure stays");
	cr_expect_eq(blob_writer_finish(&w), ERR_SPACE);
	blob_writer_fini(&w);
	cr_expect_eq(count_temporary(), 0);
	store_stop(s);
}

/* A file may grow no more: what a full disk does, without one. */
Test(blob, a_write_without_room_ends_it_and_removes_the_file)
{
	static char        bytes[100000];
	struct store      *s = data_start_store();
	struct blob_writer w;
	struct rlimit      was, small;

	signal(SIGXFSZ, SIG_IGN);
	cr_assert_eq(getrlimit(RLIMIT_FSIZE, &was), 0);
	small = (struct rlimit){ .rlim_cur = 150000, .rlim_max = was.rlim_max };
	cr_assert_eq(blob_writer_open(&w, s), ERR_OK);
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
	cr_expect_eq(blob_writer_put(&w, bytes, sizeof(bytes)), ERR_OK);
	cr_expect_eq(blob_writer_put(&w, bytes, sizeof(bytes)), ERR_SPACE);
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &was), 0);
	cr_expect_eq(blob_writer_finish(&w), ERR_SPACE);
	cr_expect_eq(count_temporary(), 0);
	blob_writer_fini(&w);
	store_stop(s);
}

static enum err take(struct db *db, void *arg)
{
	return blob_take(db, arg);
}

Test(blob, a_folder_that_cannot_be_made_is_an_error_of_that_upload)
{
	struct store      *s = data_start_store();
	struct blob_writer w;
	char               folder[PATH_MAX];

	text_copy(folder, sizeof(folder), blob_path(1));
	*strrchr(folder, '/') = '\0';
	cr_assert_eq(rmdir(folder), 0, "a new server has made it");
	cr_assert_eq(file_write(folder, "", 0, 0600), ERR_OK, "a file stands where the folder should be");
	blob_write(&w, s, 1);
	cr_expect_eq(blob_in_job(s, take, &w), ERR_IO);
	blob_writer_fini(&w);
	cr_expect_eq(count_temporary(), 0);
	cr_expect_eq(blob_store(s, 2), ERR_OK);
	cr_expect_eq(store_health(s), STORE_OK);
	store_stop(s);
}

Test(blob, damage_is_reported_once_an_hour)
{
	struct data_clock *clock = data_take_clock();
	struct store      *s     = data_start_store();

	blob_report_damaged(s, blob_hash(1), "missing");
	blob_report_damaged(s, blob_hash(1), "missing");
	cr_expect_eq(metric_get(M_BLOBS_DAMAGED), 1);
	blob_report_damaged(s, blob_hash(2), "wrong hash");
	cr_expect_eq(metric_get(M_BLOBS_DAMAGED), 2);
	clock->both_ms = HOUR_MS - 1000;
	blob_report_damaged(s, blob_hash(1), "missing");
	cr_expect_eq(metric_get(M_BLOBS_DAMAGED), 2);
	clock->both_ms = HOUR_MS + 10000;
	blob_report_damaged(s, blob_hash(1), "missing");
	cr_expect_eq(metric_get(M_BLOBS_DAMAGED), 3);
	store_stop(s);
}
