/*
 * A disk without room: who leaves is gone for good, whatever the database could take down at that moment; who stays is kept.
 */
#include "support/dial.h"
#include "support/faulty_server.h"
#include "support/lobby_client.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#define HOST     "203.0.113.7"
#define SWEEP_MS 30000

static struct faulty_server f;

static void start(void)
{
	faulty_prepare(&f, "coop.db-wal", (const char *[]){ LOBBY_PROMPT, NULL });
	faulty_start(&f);
}

static void stop(void)
{
	server_finish(f.server);
}

TestSuite(master_full_disk, .init = start, .fini = stop);

static void fill_disk(void)
{
	f.disk->write_errno = ENOSPC;
	f.disk->fail_writes = -1;
}

static int take_int(void *out, int columns, char **values, char **names)
{
	(void)columns, (void)names;
	*(int *)out = atoi(values[0]);
	return 0;
}

/* As it is read beside the running server; -1: not now. */
static int kept(const char *sql)
{
	char     path[SERVER_PATH_BYTES + 16];
	sqlite3 *db;
	int      count = -1;

	snprintf(path, sizeof(path), "%s/coop.db", f.server->data);
	cr_assert_eq(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	sqlite3_exec(db, sql, take_int, &count, NULL);
	sqlite3_close(db);
	return count;
}

static void await_kept(const char *sql, int count)
{
	int64_t deadline_ms = real_now_ms() + DIAL_PATIENCE_MS;

	while (kept(sql) != count) {
		cr_assert_lt(real_now_ms(), deadline_ms, "%s is %d, not %d", sql, kept(sql), count);
		real_sleep_ms(10);
	}
}

/* Nobody beats and nobody comes behind it: the sweep alone writes it. */
Test(master_full_disk, a_leave_is_for_good_once_there_is_room)
{
	struct master_host gone, other;

	master_open(&gone, f.server, HOST, "");
	master_open(&other, f.server, HOST, "");
	fill_disk();
	cr_expect_eq(master_leave(&gone, f.server), 507);
	cr_expect(!master_is_listed(f.server, gone.id), "it is gone at once");
	cr_expect_eq(master_leave(&gone, f.server), 403);
	cr_expect_eq(master_try_open(&gone, f.server, HOST, ""), 507, "and nobody is told that he is kept");
	f.disk->fail_writes = 0;
	cr_expect_eq(kept("SELECT count(*) FROM lobbies"), 2);
	server_advance(f.server, SWEEP_MS);
	await_kept("SELECT count(*) FROM lobbies", 1);
	server_kill(f.server);
	faulty_start(&f);
	cr_expect(master_is_listed(f.server, other.id));
	cr_expect_eq(master_health(f.server), 1);
}

Test(master_full_disk, a_beat_is_kept_once_there_is_room)
{
	struct master_host h;

	master_open(&h, f.server, HOST, "");
	fill_disk();
	cr_expect_eq(master_beat(&h, f.server, J("'players_cur':3")), 200);
	faulty_expect_log(&f, "keeps-late");
	f.disk->fail_writes = 0;
	server_advance(f.server, SWEEP_MS);
	await_kept("SELECT players FROM lobbies", 3);
}

/* A stop tries once more: what was refused and never swept. */
Test(master_full_disk, a_stop_writes_what_had_no_room)
{
	struct master_host gone;

	master_open(&gone, f.server, HOST, "");
	fill_disk();
	cr_expect_eq(master_leave(&gone, f.server), 507);
	faulty_expect_log(&f, "keeps-late");
	f.disk->fail_writes = 0;
	server_stop(f.server);
	cr_expect_eq(kept("SELECT count(*) FROM lobbies"), 0);
	faulty_start(&f);
	cr_expect_eq(master_health(f.server), 0);
}
