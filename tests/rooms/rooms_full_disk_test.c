/*
 * A disk without room: a score that is answered is kept, and where that was not so for the last ones before the disk was full,
 * the end of the server says it.
 */
#include "support/faulty_server.h"
#include "support/rooms_client.h"

#include <criterion/criterion.h>

#include <errno.h>
#include <signal.h>

#define TITLE "NPWR00860_00"
#define BOARD 7

static struct faulty_server f;
static struct gamer        *c;

static void start(void)
{
	faulty_prepare(&f, "coop.db-wal", NULL);
	faulty_start(&f);
	c = gamer_new(f.server, TITLE, "alice");
}

static void stop(void)
{
	gamer_free(c);
	server_finish(f.server);
}

TestSuite(rooms_full_disk, .init = start, .fini = stop, .timeout = 120);

/* One score is answered before anybody knows. */
static void fill_disk(void)
{
	f.disk->write_errno = ENOSPC;
	f.disk->fail_writes = -1;
	gamer_score(c, BOARD, 0, 10, NOTHING);
	faulty_expect_log(&f, "keeps-late");
}

static void expect_best(int64_t score)
{
	struct gamer_message *m = gamer_ranking(c, BOARD, 1, 10);

	cr_assert_eq(m->total, score ? 1 : 0);
	if (score)
		cr_expect_eq(m->rows->score, score);
}

static void await_kept(void)
{
	server_await_metric(f.server, "coopd_rooms_scores_waiting", NULL, 0, DIAL_PATIENCE_MS);
}

Test(rooms_full_disk, scores_are_refused_until_there_is_room)
{
	fill_disk();
	for (int i = 0; i < 5; i++) {
		gamer_expect_error(c, gamer_ask_score(c, BOARD, 0, 20 + i, NOTHING), SAYS_LIMIT);
		gamer_expect_error(c, gamer_ask_score(c, BOARD + 1, 0, 20 + i, NOTHING), SAYS_LIMIT);
	}
	expect_best(10);
	f.disk->fail_writes = 0;
	await_kept();
	gamer_score(c, BOARD, 0, 30, NOTHING);
	gamer_free(c);
	server_restart(f.server);
	c = gamer_new(f.server, TITLE, "alice");
	expect_best(30);
}

Test(rooms_full_disk, a_stop_that_loses_scores_says_so_and_is_no_success)
{
	fill_disk();
	server_signal(f.server, SIGTERM);
	cr_expect_eq(server_await_exit(f.server, SERVER_STOP_MS), 1);
	cr_expect(server_log_contains(f.server, "loses rows=1 "));
	cr_expect_not(server_log_contains(f.server, "everything kept is committed"));
	f.disk->fail_writes = 0;
	gamer_free(c);
	faulty_start(&f);
	c = gamer_new(f.server, TITLE, "alice");
	expect_best(0);
	gamer_free(c);
	c = NULL;
	server_stop(f.server);
	cr_expect(server_log_contains(f.server, "everything kept is committed"));
}
