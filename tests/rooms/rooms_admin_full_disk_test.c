/*
 * A disk without room: an operator's change of a board is refused, changes nothing, and can be made once there is room.
 */
#include "base/auto.h"
#include "support/admin_client.h"
#include "support/faulty_server.h"
#include "support/rooms_client.h"

#include <criterion/criterion.h>

#include <errno.h>
#include <string.h>

#define TITLE "NPWR00860_00"
#define BOARD "/admin/v1/boards/" TITLE "/7"

static struct faulty_server f;
static struct gamer        *c;

static void start(void)
{
	faulty_prepare(&f, "coop.db-wal", NULL);
	faulty_start(&f);
	c = gamer_new(f.server, TITLE, "alice");
	gamer_score(c, 7, 0, 10, NOTHING);
	server_await_metric(f.server, "coopd_rooms_scores_waiting", NULL, 0, DIAL_PATIENCE_MS);
}

static void stop(void)
{
	gamer_free(c);
	server_finish(f.server);
}

TestSuite(rooms_admin_full_disk, .init = start, .fini = stop, .timeout = 120);

static void fill_disk(void)
{
	f.disk->write_errno = ENOSPC;
	f.disk->fail_writes = -1;
}

static void expect_rows(uint32_t count)
{
	cr_expect_eq(gamer_ranking(c, 7, 1, 10)->total, count);
}

static int ask(const char *method, const char *path, const char *body)
{
	AUTO(rest_freep) struct http_result r = admin_ask(f.server, method, path, body);

	return r.status;
}

/* Nothing is done that the trail cannot know of, so these are refused before they reach the boards. */
Test(rooms_admin_full_disk, nothing_is_changed_that_cannot_be_kept)
{
	fill_disk();
	cr_expect_geq(ask("DELETE", BOARD "/scores/alice", NULL), 500);
	cr_expect_geq(ask("DELETE", BOARD, NULL), 500);
	cr_expect_geq(ask("POST", BOARD "/csv", "name,score,comment,recorded_at\nbob,1,,\n"), 500);
	expect_rows(1);
	cr_expect_eq(ask("GET", BOARD, NULL), 200);
	cr_expect_eq(ask("GET", BOARD "/csv", NULL), 200);
	cr_expect_eq(ask("DELETE", BOARD "?dry_run=true", NULL), 200);
	f.disk->fail_writes = 0;
	cr_expect_eq(ask("POST", BOARD "/csv", "name,score,comment,recorded_at\nbob,1,,\n"), 200);
	expect_rows(2);
	cr_expect_eq(ask("DELETE", BOARD, NULL), 200);
	expect_rows(0);
}
