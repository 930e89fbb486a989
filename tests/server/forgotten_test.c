/*
 * Whoever was forgotten stays so, whatever an operator puts in place of the database: the list lies beside it, too.
 */
#include "base/auto.h"
#include "support/admin_client.h"
#include "support/campaign_client.h"
#include "support/restore.h"
#include "support/tunnel_client.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ANSWER AUTO(rest_freep) struct http_result
#define SAID   AUTO(auto_free) char *
#define AA     "00000000000000aa"
#define BB     "00000000000000bb"

static struct server *s;
static char           place[SERVER_PATH_BYTES + 32], list[SERVER_PATH_BYTES + 32];

/* Anna and Ben have a campaign each; a backup and a copy of the database are from before Anna was forgotten. */
static void start(void)
{
	s = server_start((const char *[]){ "limits.cloud_interval_ms=0", "limits.store_free_floor=0", NULL });
	snprintf(place, sizeof(place), "%s/backup", s->root);
	snprintf(list, sizeof(list), "%s/forgotten", s->data);
	campaign_put(s, "A", AA, "", 1000);
	campaign_put(s, "B", BB, "", 1000);
	restore_backup(s, place);
	restore_shell("cp '%s'/coop-*.db '%s/copy.db'", place, s->root);
}

static void stop(void)
{
	server_finish(s);
}

TestSuite(forgotten, .init = start, .fini = stop, .timeout = 120);

static void forget_anna(void)
{
	char hex[PLAYER_HEX], path[100];

	snprintf(path, sizeof(path), "/admin/v1/players/%s/forget", player_hex(hex, "A"));
	ANSWER r = admin_ask(s, "POST", path, NULL);
	rest_expect(&r, 200, NULL);
}

static int64_t annas_rows(void)
{
	char hex[PLAYER_HEX], query[200];

	snprintf(query, sizeof(query), "SELECT count(*) FROM players WHERE hex(id) = upper('%s')",
	         player_hex(hex, "A"));
	return campaign_ask(s, query);
}

/* As README has it; copy: NULL for none. */
static void exchange_database(const char *copy)
{
	server_stop(s);
	restore_shell("mkdir -p '%s/old' && mv '%s'/coop.db* '%s/old/'", s->root, s->data, s->root);
	if (copy)
		restore_shell("cp '%s' '%s/coop.db'", copy, s->data);
	server_restart(s);
}

static void expect_said(const char *said, const char *text)
{
	cr_expect(strstr(said, text), "\"%s\" is not in: %s", text, said);
}

Test(forgotten, a_copy_from_before_does_not_bring_her_back)
{
	char        copy[SERVER_PATH_BYTES + 32];
	struct stat st;

	snprintf(copy, sizeof(copy), "%s/copy.db", s->root);
	cr_expect_neq(stat(list, &st), 0, "nobody is on it");
	forget_anna();
	cr_assert_eq(stat(list, &st), 0, "it is there when the answer is");
	cr_expect_eq(st.st_mode & 0777, 0600);
	exchange_database(copy);
	cr_expect(server_log_contains(s, "forgets-again players=1"));
	cr_expect_eq(annas_rows(), 0);
	cr_expect_eq(campaign_ask(s, "SELECT count(*) FROM campaigns"), 1, "Ben's");
	cr_expect_eq(campaign_ask(s, "SELECT count(*) FROM forgotten"), 1);

	/* Who comes back herself is not forgotten again by a start, nor by going back to a copy from then. */
	ws_client_free(host_open(s->tunnel_port, "A", NULL));
	server_restart(s);
	cr_expect_eq(annas_rows(), 1);
	server_stop(s);
	restore_shell("cp '%s/coop.db' '%s/later.db'", s->data, s->root);
	server_restart(s);
	snprintf(copy, sizeof(copy), "%s/later.db", s->root);
	exchange_database(copy);
	cr_expect_eq(annas_rows(), 1);
	campaign_check_sums(s);
}

Test(forgotten, a_new_database_knows_the_list_and_a_damaged_list_is_no_empty_one)
{
	forget_anna();
	exchange_database(NULL);
	cr_expect_eq(campaign_ask(s, "SELECT count(*) FROM forgotten"), 1);
	server_stop(s);
	restore_shell("echo damaged >>'%s'", list);
	server_launch(s);
	cr_expect_eq(server_await_exit(s, SERVER_READY_MS), 1);
	cr_expect(server_log_contains(s, "forgotten is damaged: it says which players were forgotten"));
	restore_shell("rm '%s'", list);
	server_restart(s);
	cr_expect_eq(access(list, F_OK), 0, "made anew from the database");
}

/* The database that is replaced is the one that knew, and cannot be read. */
Test(forgotten, a_restore_asks_the_file)
{
	SAID said  = NULL;
	SAID fresh = NULL;
	SAID again = NULL;
	char other[SERVER_PATH_BYTES + 32];

	forget_anna();
	restore_backup(s, place);
	server_stop(s);
	snprintf(other, sizeof(other), "%s/backup/forgotten", s->root);
	cr_expect_eq(access(other, F_OK), 0, "a backup has it");
	restore_shell("rm '%s' && rm \"$(ls '%s'/coop-*.db | tail -n 1)\"", other, place);
	restore_shell("ln -s \"$(ls '%s'/coop-*.db)\" '%s/first'", place, s->root);
	snprintf(other, sizeof(other), "%s/first", s->root);
	restore_shell("printf damaged >'%s/coop.db' && rm -f '%s'/coop.db-*", s->data, s->data);
	cr_assert_eq(restore_into(&said, s->data, other, ""), 0, "%s", said);
	expect_said(said, "forgotten again, as they were since the backup was made: 1 players");

	/* A new place cannot know, says so, and takes the list when it comes. */
	snprintf(place, sizeof(place), "%s/new", s->root);
	cr_assert_eq(restore_into(&fresh, place, other, ""), 0, "%s", fresh);
	expect_said(fresh, "Who was forgotten after this backup was made is not known in");
	snprintf(place, sizeof(place), "%s/newer", s->root);
	restore_shell("mkdir '%s' && cp '%s' '%s/'", place, list, place);
	cr_assert_eq(restore_into(&again, place, other, ""), 0, "%s", again);
	expect_said(again, "forgotten again, as they were since the backup was made: 1 players");
	cr_expect_null(strstr(again, "is not known in"), "%s", again);
}
