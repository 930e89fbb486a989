/*
 * Backups by the clock: when they come, also over a restart, what of them stays, and what operators are told.
 */
#include "base/auto.h"
#include "support/admin_client.h"
#include "support/await.h"
#include "support/campaign_client.h"
#include "support/dial.h"
#include "support/events_client.h"
#include "support/restore.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define HOUR        INT64_C(3600000)
#define START_MS    INT64_C(60000)
#define PATIENCE_MS 20000

static struct server *s;
static char           place[SERVER_PATH_BYTES + 32];

/* An hour between them, two kept. */
static void start(void)
{
	char set[SERVER_SET_BYTES];

	s = server_prepare((const char *[]){ "backup.every=1h", "backup.keep=2", "limits.cloud_interval_ms=0",
	                                     "limits.store_free_floor=0", NULL });
	snprintf(set, sizeof(set), "backup.dir=%s/backups", s->root);
	server_set(s, set);
	snprintf(place, sizeof(place), "%s/backups/scheduled", s->root);
	server_launch(s);
	server_await_ready(s);
}

static void stop(void)
{
	server_finish(s);
}

TestSuite(backup_schedule, .init = start, .fini = stop);

static void await_made(double count)
{
	server_await_metric(s, "coopd_backups_total", "result=\"ok\"", count, PATIENCE_MS);
}

/* Files below the folder that find's expression matches. */
static int count_files(const char *what)
{
	char  command[2 * SERVER_PATH_BYTES + 100];
	FILE *out;
	int   count = -1;

	snprintf(command, sizeof(command), "find %s %s | wc -l", place, what);
	out = popen(command, "r"); /* NOLINT(cert-env33-c): of our own making */
	cr_assert_not_null(out);
	cr_assert_eq(fscanf(out, "%d", &count), 1); /* NOLINT(cert-err34-c) */
	pclose(out);
	return count;
}

Test(backup_schedule, the_first_comes_soon_and_the_next_an_interval_later)
{
	server_advance(s, START_MS);
	await_made(1);
	server_advance(s, HOUR - 2 * START_MS);
	server_advance(s, START_MS);
	real_sleep_ms(200); /* for one that comes too early */
	cr_expect_eq(server_metric(s, "coopd_backups_total", "result=\"ok\""), 1);
	server_advance(s, START_MS);
	await_made(2);
	cr_expect_eq(count_files("-name 'coop-*.db'"), 2);

	AUTO(rest_freep) struct http_result r = admin_get(s, "/admin/v1/backup");

	admin_expect(&r, 200, NULL);
	cr_expect_eq(rest_int(&r, "every_s"), 3600);
	cr_expect(rest_has(&r, "last_good_at"));
	cr_expect_eq(server_metric(s, "coopd_backup_every_seconds", NULL), 3600);
	cr_expect_gt(server_metric(s, "coopd_backup_last_good_seconds", NULL), 1e9);
}

Test(backup_schedule, a_restart_neither_skips_nor_repeats_one)
{
	server_advance(s, START_MS);
	await_made(1);
	server_restart(s);
	cr_expect_gt(server_metric(s, "coopd_backup_last_good_seconds", NULL), 1e9, "known from the run before");
	server_advance(s, 2 * START_MS);
	real_sleep_ms(200);
	cr_expect_eq(count_files("-name 'coop-*.db'"), 1, "one of this hour is there");
	server_stop(s);
	s->clock->both_ms += 3 * HOUR; /* the machine was off */
	server_restart(s);
	server_advance(s, START_MS);
	await_made(1);
	cr_expect_eq(count_files("-name 'coop-*.db'"), 2);
}

static void put(const char *campaign, size_t save_len)
{
	campaign_put(s, "A", campaign, "", save_len);
}

Test(backup_schedule, only_the_last_databases_stay_and_blobs_with_them)
{
	AUTO(auto_free) char *said = NULL;

	put("00112233445566aa", 5000);
	server_advance(s, START_MS);
	await_made(1);
	campaign_exec(s, "DELETE FROM members; DELETE FROM checkpoints; DELETE FROM campaigns;");
	put("00112233445566bb", 6000);
	server_advance(s, HOUR);
	await_made(1);
	cr_expect_eq(count_files("-path '*/blobs/*' -type f"), 2, "the older database needs the one");
	server_advance(s, HOUR);
	await_made(2);
	cr_expect_eq(count_files("-name 'coop-*.db'"), 2);
	cr_expect_eq(count_files("-path '*/blobs/*' -type f"), 1, "no kept database names the other");
	server_stop(s);
	cr_expect_eq(restore_into(&said, s->data, place, ""), 0, "%s", said);
}

Test(backup_schedule, a_failed_one_is_told_and_changes_nothing)
{
	struct events_client *v;
	unsigned long         before;

	server_advance(s, START_MS);
	await_made(1);
	before = restore_sum(place);
	server_stop(s);
	server_set(s, "limits.store_free_floor=17592186044416");
	server_launch(s);
	server_await_ready(s);
	v = events_open(s);
	server_advance(s, 2 * HOUR);
	events_await(v, "backup.ended");
	cr_expect_not(json_member_bool(v->last, "ok"));
	cr_expect(json_member_bool(v->last, "scheduled"));
	server_await_metric(s, "coopd_backups_total", "result=\"failed\"", 1, PATIENCE_MS);
	await_log(s, "backup-failed");
	cr_expect_eq(restore_sum(place), before);
	events_free(v);
}

Test(backup_schedule, a_folder_that_cannot_be_written_is_told_too)
{
	restore_shell("mkdir -p '%s/backups' && touch '%s'", s->root, place);
	server_advance(s, START_MS);
	server_await_metric(s, "coopd_backups_total", "result=\"failed\"", 1, PATIENCE_MS);
	await_log(s, "backup-failed");
}

Test(backup_schedule, needs_a_folder)
{
	struct server *other = server_prepare((const char *[]){ "backup.every=1h", NULL });

	server_launch(other);
	cr_expect_eq(server_await_exit(other, PATIENCE_MS), 1);
	cr_expect(server_log_contains(other, "backup.every: needs backup.dir"));
	server_finish(other);
}
