/*
 * A server with years of players and checkpoints starts at once, and looks through its files while it already plays.
 */
#include "support/await.h"
#include "support/dial.h"
#include "support/large_folder.h"
#include "support/server.h"

#include <criterion/criterion.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* A tenth of what `make bench ARGS=start` measures, and what is enough to have something to look through. */
static const struct large_folder years = { .codes = 10000, .campaigns = 2000, .each = 10, .bytes = 64424 };
static const struct large_folder days  = { .codes = 200, .campaigns = 200, .each = 10, .bytes = 64424 };

#define READY_MS_MAX 5000 /* of some tens; on a machine that has other tests to run */

/* The plain program over a folder like that, stopped again. */
static struct server *prepare(const struct large_folder *what)
{
	use_plain_server();

	struct server *s = server_start(NULL);

	server_stop(s);
	cr_assert(large_folder_fill(s->data, what));
	return s;
}

static int64_t start_ms(struct server *s)
{
	int64_t began_ms = real_now_ms();

	server_launch(s);
	server_await_ready(s);

	struct http_result r = http_get(s->http_port, "/readyz");

	cr_expect_eq(r.status, 200);
	http_result_free(&r);
	return real_now_ms() - began_ms;
}

Test(large_start, years_of_players_and_checkpoints_are_ready_at_once)
{
	struct server *s  = prepare(&years);
	int64_t        ms = start_ms(s);

	cr_expect_lt(ms, READY_MS_MAX, "ready after %lld ms", (long long)ms);
	cr_expect_eq((int)server_metric(s, "coopd_blobs", NULL), years.campaigns * years.each);
	server_finish(s);
}

/* What the check reads first, a copy of the database, does not open until the test opens its other end. */
static void hold_check(const struct server *s, char path[200])
{
	snprintf(path, 200, "%s/copies/migration-20260101-000000-from-20.db", s->data);
	cr_assert_eq(mkfifo(path, 0600), 0);
}

static void let_check_go(const char *path)
{
	int64_t deadline_ms = real_now_ms() + DIAL_PATIENCE_MS;
	int     fd;

	while ((fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)) < 0 && real_now_ms() < deadline_ms)
		real_sleep_ms(5);
	cr_assert_geq(fd, 0, "nothing reads %s", path);
	close(fd);
}

Test(large_start, files_are_looked_through_while_it_already_plays)
{
	char           copy[200], command[200];
	struct server *s = prepare(&days);

	snprintf(command, sizeof(command), "rm -f '%s'/blobs/7f/*", s->data);
	cr_assert_eq(system(command), 0);
	hold_check(s, copy);
	start_ms(s);
	cr_expect_not(server_log_contains(s, "misses-blobs"));
	let_check_go(copy);
	await_log(s, "misses-blobs");
	server_finish(s);
}
