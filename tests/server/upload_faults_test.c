/*
 * A disk that fails under an upload: full, read-only, or unable to sync. Whoever uploads is told what is wrong, what was
 * stored before is still there, no half a file is left, the server goes on and tells its operator.
 */
#include "support/dial.h"
#include "support/faulty_server.h"
#include "support/transfer.h"

#include <criterion/criterion.h>

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define SAVE_BYTES 200000
#define BIG_BYTES  (8 << 20)

/* Files by their names below the test's folder. */
#define TEMPORARY "data/blobs/.tmp/*"
#define FOLDERS   "data/blobs/??"
#define LOG       "coop.db-wal"

static const char *const sets[] = { "limits.cloud_interval_ms=0", "limits.store_free_floor=0", NULL };

static const enum transfer_way ways[] = { TRANSFER_WS, TRANSFER_REST };

/* What a refused upload is told, on each way. */
struct refusal {
	int         fault, status;
	const char *code;
};

static const struct refusal no_space = { 9, 507, "no_space" };
static const struct refusal io       = { 11, 500, "io" };
static const struct refusal no_store = { 11, 503, "store_failed" };

static struct transfer_end store(const struct server *s, enum transfer_way way, unsigned number, size_t bytes)
{
	struct transfer_bytes c   = transfer_make("war", number, bytes);
	struct transfer_end   end = transfer_put(s, way, "owner", &c);

	transfer_unmake(&c);
	return end;
}

static void expect_stored(const struct server *s, enum transfer_way way, unsigned number)
{
	struct transfer_end end = store(s, way, number, SAVE_BYTES);

	cr_assert_eq(end.what, TRANSFER_DONE, "not stored: fault %d, status %d %s", end.fault, end.status, end.code);
}

static void expect_refused(const struct server *s, enum transfer_way way, size_t bytes, const struct refusal *why)
{
	struct transfer_end end = store(s, way, 99, bytes);

	cr_assert_eq(end.what, TRANSFER_REFUSED, "way %d: event %d", way, end.what);
	if (way == TRANSFER_WS) {
		cr_assert_eq(end.fault, why->fault, "fault %d", end.fault);
		return;
	}
	cr_assert_eq(end.status, why->status, "status %d %s", end.status, end.code);
	cr_assert_str_eq(end.code, why->code);
}

/* The newest is this one, whole, on both ways. */
static void expect_newest(const struct server *s, unsigned number)
{
	struct transfer_bytes c = transfer_make("war", number, SAVE_BYTES);

	for (int way = 0; way < 2; way++) {
		size_t   len = 0;
		uint8_t *bytes =
			way ? transfer_get(&len, s, "owner", "war", 0) : transfer_get_ws(&len, s, "owner", "war");

		cr_assert_not_null(bytes, "the checkpoint is gone");
		cr_assert(len == c.len && memcmp(bytes, c.bytes, len) == 0, "it is another one, or not whole");
		free(bytes);
	}
	transfer_unmake(&c);
}

static void expect_no_temporary_file(const struct server *s)
{
	char           path[SERVER_PATH_BYTES + 16];
	struct dirent *entry;

	snprintf(path, sizeof(path), "%s/blobs/.tmp", s->data);
	DIR *dir = opendir(path);

	cr_assert_not_null(dir, "there is no %s", path);
	while ((entry = readdir(dir)))
		cr_assert_eq(entry->d_name[0], '.', "%s is left", entry->d_name);
	closedir(dir);
}

/* A server on such a disk, with number 1 stored. */
static void begin(struct faulty_server *f, const char *match)
{
	faulty_prepare(f, match, sets);
	faulty_start(f);
	expect_stored(f->server, TRANSFER_WS, 1);
}

static void expect_well(struct faulty_server *f)
{
	expect_newest(f->server, 1);
	expect_no_temporary_file(f->server);
	cr_assert(server_is_running(f->server));
}

/* After the disk is well again, and after a restart. */
static void finish(struct faulty_server *f)
{
	expect_stored(f->server, TRANSFER_WS, 2);
	expect_stored(f->server, TRANSFER_REST, 3);
	expect_newest(f->server, 3);
	server_restart(f->server);
	expect_newest(f->server, 3);
	expect_stored(f->server, TRANSFER_WS, 4);
	server_finish(f->server);
}

Test(upload_faults, a_full_disk_takes_no_checkpoint)
{
	struct faulty_server f;

	begin(&f, TEMPORARY);
	f.disk->write_errno = ENOSPC;
	f.disk->fail_writes = -1;
	for (size_t i = 0; i < 2; i++)
		expect_refused(f.server, ways[i], SAVE_BYTES, &no_space);
	faulty_expect_log(&f, "No space left");
	faulty_expect_health(&f, "failing");
	expect_well(&f);
	f.disk->fail_writes = 0;
	expect_stored(f.server, TRANSFER_WS, 2);
	faulty_expect_health(&f, "ok");
	finish(&f);
}

/* A proxy sends nobody to a server that is failing, so nobody would come to show that it is well again. */
Test(upload_faults, are_forgotten_after_a_minute)
{
	struct faulty_server f;

	begin(&f, TEMPORARY);
	f.disk->fail_syncs = 1;
	expect_refused(f.server, TRANSFER_WS, SAVE_BYTES, &io);
	faulty_expect_health(&f, "failing");
	server_advance(f.server, 59000);
	faulty_expect_health(&f, "failing");
	server_advance(f.server, 1000);
	faulty_expect_health(&f, "ok");
	finish(&f);
}

/* It fills up after the first bytes were written. */
Test(upload_faults, a_disk_that_becomes_full_on_the_way)
{
	struct faulty_server f;

	begin(&f, TEMPORARY);
	for (size_t i = 0; i < 2; i++) {
		f.disk->write_errno  = ENOSPC;
		f.disk->spare_writes = 2;
		f.disk->fail_writes  = 1;
		expect_refused(f.server, ways[i], BIG_BYTES, &no_space);
		cr_assert_eq(f.disk->fail_writes, 0);
		expect_well(&f);
	}
	finish(&f);
}

Test(upload_faults, data_that_does_not_reach_the_disk)
{
	struct faulty_server f;

	begin(&f, TEMPORARY);
	for (size_t i = 0; i < 2; i++) {
		f.disk->fail_syncs = 1;
		expect_refused(f.server, ways[i], SAVE_BYTES, &io);
		cr_assert_eq(f.disk->fail_syncs, 0, "nothing was synced");
		expect_well(&f);
	}
	faulty_expect_log(&f, "Input/output error");
	finish(&f);
}

/*
 * What nobody was told may be there or not: after a failed sync the disk may still have it. But then it is whole, on both
 * ways.
 */
static void expect_one_of_two(const struct server *s, unsigned promised, unsigned refused)
{
	struct transfer_bytes c    = transfer_make("war", refused, SAVE_BYTES);
	size_t                len  = 0;
	uint8_t              *was  = transfer_get(&len, s, "owner", "war", 0);
	bool                  came = was && len == c.len && memcmp(was, c.bytes, len) == 0;

	free(was);
	transfer_unmake(&c);
	expect_newest(s, came ? refused : promised);
}

/* Of the database's log, or of the folder that names a blob: nothing is promised any more until a restart. */
static void fail_for_good(const char *match)
{
	struct faulty_server f;

	begin(&f, match);
	f.disk->fail_syncs = 1;
	expect_refused(f.server, TRANSFER_WS, SAVE_BYTES, &no_store);
	cr_assert_eq(f.disk->fail_syncs, 0, "nothing was synced");
	for (size_t i = 0; i < 2; i++)
		expect_refused(f.server, ways[i], SAVE_BYTES, &no_store);
	faulty_expect_health(&f, "failing");
	faulty_expect_log(&f, "restart coopd");
	expect_well(&f);

	server_restart(f.server);
	faulty_expect_health(&f, "ok");
	expect_one_of_two(f.server, 1, 99);
	finish(&f);
}

Test(upload_faults, a_folder_that_does_not_reach_the_disk_is_final)
{
	fail_for_good(FOLDERS);
}

Test(upload_faults, a_log_that_does_not_reach_the_disk_is_final)
{
	fail_for_good(LOG);
}

Test(upload_faults, no_room_for_the_log)
{
	struct faulty_server f;

	begin(&f, LOG);
	f.disk->write_errno = ENOSPC;
	f.disk->fail_writes = -1;
	for (size_t i = 0; i < 2; i++) {
		struct transfer_end end = store(f.server, ways[i], 99, SAVE_BYTES);

		cr_assert_eq(end.what, TRANSFER_REFUSED);
		cr_assert(end.fault == 9 || end.fault == 11 || end.status == 503 || end.status == 507,
		          "fault %d, status %d", end.fault, end.status);
	}
	faulty_expect_health(&f, "failing");
	faulty_expect_log(&f, "disk is full");
	expect_well(&f);
	f.disk->fail_writes = 0;
	finish(&f);
}

Test(upload_faults, a_folder_that_is_read_only)
{
	struct faulty_server f;

	begin(&f, TEMPORARY);
	f.disk->fail_makes = -1;
	for (size_t i = 0; i < 2; i++)
		expect_refused(f.server, ways[i], SAVE_BYTES, &io);
	faulty_expect_log(&f, "Read-only file system");
	faulty_expect_health(&f, "failing");
	expect_well(&f);
	f.disk->fail_makes = 0;
	finish(&f);
}

/* The limit of the process, which the kernel keeps: no write may go beyond it. */
Test(upload_faults, a_limit_of_file_sizes)
{
	struct rlimit  limit = { .rlim_cur = BIG_BYTES / 2, .rlim_max = RLIM_INFINITY };
	struct server *s     = server_prepare(sets);

	getrlimit(RLIMIT_FSIZE, &limit);
	limit.rlim_cur = BIG_BYTES / 2;
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	server_launch(s);
	server_await_ready(s);
	expect_stored(s, TRANSFER_WS, 1);
	for (size_t i = 0; i < 2; i++)
		expect_refused(s, ways[i], BIG_BYTES, &no_space);
	expect_newest(s, 1);
	expect_no_temporary_file(s);
	expect_stored(s, TRANSFER_REST, 2);
	server_finish(s);
}

/* A real disk, of this size, at the data folder. False: this machine's user may not. */
static bool mount_small_disk(const struct server *s, const char *size)
{
	if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		return false;
	return mount("coopd-test", s->data, "tmpfs", 0, size) == 0;
}

Test(upload_faults, a_disk_that_is_really_full)
{
	struct server *s = server_prepare(sets);

	if (!mount_small_disk(s, "size=12m,mode=0700"))
		cr_skip_test("mounting needs rights that this user has not");
	server_launch(s);
	server_await_ready(s);
	expect_stored(s, TRANSFER_WS, 1);
	for (size_t i = 0; i < 2; i++)
		expect_refused(s, ways[i], 2 * BIG_BYTES - 1000, &no_space);
	expect_newest(s, 1);
	expect_no_temporary_file(s);
	expect_stored(s, TRANSFER_REST, 2);
	server_restart(s);
	expect_newest(s, 2);
	server_stop(s);
	cr_expect_eq(umount2(s->data, MNT_DETACH), 0);
	server_finish(s);
}
