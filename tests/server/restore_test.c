/*
 * coopd --restore: a backup takes the place of what is there, wholly or not at all. (Death in the middle of it:
 * restore_torture_test.c. A backup that was made under load: restore_load_test.c.)
 */
#include "base/auto.h"
#include "gen/migration.h"
#include "support/await.h"
#include "support/campaign_client.h"
#include "support/lobby_client.h"
#include "support/restore.h"
#include "support/tunnel_client.h"

#include <criterion/criterion.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ISLAND "00112233445566aa"
#define JUNGLE "00112233445566bb"
#define HARBOR "00112233445566cc"
#define ANSWER AUTO(rest_freep) struct http_result
#define SAID   AUTO(auto_free) char *

static const char *const sets[] = { "limits.cloud_interval_ms=0", "limits.store_free_floor=0", LOBBY_PROMPT, NULL };

static struct server *s;
static char           place[SERVER_PATH_BYTES + 32];

static void start(void)
{
	s = server_start(sets);
	snprintf(place, sizeof(place), "%s/backup", s->root);
}

static void stop(void)
{
	server_finish(s);
}

TestSuite(restore, .init = start, .fini = stop);

static void put(const char *campaign, size_t save_len)
{
	campaign_put(s, "A", campaign, "", save_len);
}

static int get_status(const char *campaign)
{
	char   path[80];
	ANSWER r = { 0 };

	snprintf(path, sizeof(path), "/v1/campaigns/%s/checkpoint", campaign);
	r = rest_get(s, "A", path);
	return r.status;
}

/* Two campaigns, in a backup, of which the data folder has the first only changed, and a third besides. */
static void make_backup(void)
{
	put(ISLAND, 5000);
	put(JUNGLE, 6000);
	restore_backup(s, place);
	put(ISLAND, 7000);
	put(HARBOR, 8000);
	server_stop(s);
}

static void expect_said(const char *said, const char *text)
{
	cr_expect(strstr(said, text), "\"%s\" is not in: %s", text, said);
}

/* --- It comes back --- */

Test(restore, what_was_there_is_there_again_and_what_lived_is_gone)
{
	uint32_t           code, again;
	struct master_host lobby;
	struct ws_client  *host = host_open(s->tunnel_port, "A", &code);

	master_open(&lobby, s, "203.0.113.7", J("'name':'island'"));
	make_backup();
	ws_client_free(host);

	SAID said = NULL;
	cr_assert_eq(restore_into(&said, s->data, place, ""), 0, "%s", said);
	expect_said(said, "campaigns 2, checkpoints 2");
	expect_said(said, "1 live games, 1 lobbies");
	restore_check_whole(s);

	server_restart(s);
	cr_expect_eq(get_status(ISLAND), 200);
	cr_expect_eq(get_status(JUNGLE), 200);
	cr_expect_eq(get_status(HARBOR), 404, "it was stored after the backup");
	cr_expect_eq(campaign_ask(s, "SELECT count(*) FROM live_games"), 0);
	cr_expect_eq(master_listed(s), 0);
	host = host_open(s->tunnel_port, "A", &again);
	cr_expect_eq(again, code);
	ws_client_free(host);
	campaign_check_sums(s);
}

Test(restore, blobs_that_the_backup_does_not_name_stay)
{
	make_backup();
	cr_assert_eq(restore_into(NULL, s->data, place, ""), 0);
	server_restart(s);
	await_log(s, "leaves-strange-blobs count=2");
	restore_shell("test $(find '%s/blobs' -mindepth 2 -type f | wc -l) = 4", s->data);
	restore_shell("test ! -e '%s/blobs/.trash'", s->data);
}

Test(restore, into_an_empty_folder)
{
	struct server *other;
	SAID           said = NULL;

	make_backup();
	other = server_prepare(sets);
	cr_assert_eq(restore_into(&said, other->data, place, ""), 0, "%s", said);
	expect_said(said, "There was nothing in the data folder before");
	expect_said(said, "2 checked, 2 copied");
	restore_shell("cmp '%s/secrets' '%s/secrets'", s->data, other->data);
	restore_check_whole(other);
	server_finish(s);
	s = other;
	server_launch(s);
	server_await_ready(s);
	cr_expect_eq(get_status(ISLAND), 200);
	cr_expect_not(server_log_contains(s, "doubts-blobs"));
}

/* The commands that it prints are run as they are. */
Test(restore, the_way_back_that_it_names_leads_back)
{
	SAID          said = NULL;
	char         *line, *rest;
	unsigned long before;
	char          path[SERVER_PATH_BYTES + 20];

	make_backup();
	snprintf(path, sizeof(path), "%s/coop.db", s->data);
	restore_shell("cksum <'%s' >'%s/before'", path, s->root);
	cr_assert_eq(restore_into(&said, s->data, place, ""), 0, "%s", said);
	for (line = strtok_r(said, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		if (strncmp(line, "  rm ", 5) == 0 || strncmp(line, "  cp ", 5) == 0)
			restore_shell("%s", line);
	}
	restore_shell("cksum <'%s' | cmp - '%s/before'", path, s->root);
	before = restore_sum(s->data);
	cr_expect_neq(before, 0);
	server_restart(s);
	cr_expect_eq(get_status(HARBOR), 200);
}

Test(restore, an_older_database_of_the_same_folder)
{
	SAID said = NULL;
	char first[SERVER_PATH_BYTES + 100];

	put(ISLAND, 5000);
	restore_backup(s, place);
	put(JUNGLE, 6000);
	restore_backup(s, place);
	server_stop(s);
	snprintf(first, sizeof(first), "$(ls '%s'/coop-*.db | head -n 1)", place);
	restore_shell("ln -s \"%s\" '%s/first'", first, s->root);
	snprintf(first, sizeof(first), "%s/first", s->root);
	cr_assert_eq(restore_into(&said, s->data, first, ""), 0, "%s", said);
	server_restart(s);
	cr_expect_eq(get_status(ISLAND), 200);
	cr_expect_eq(get_status(JUNGLE), 404);
}

/* Whoever was forgotten since does not come back, whichever database of the folder is taken. */
Test(restore, who_was_forgotten_since_stays_forgotten)
{
	SAID said = NULL;
	char hex[PLAYER_HEX], command[4 * SERVER_PATH_BYTES];

	campaign_put(s, "B", "00112233445566dd", "", 3000);
	make_backup();
	server_restart(s);
	snprintf(command, sizeof(command), "'%s' --socket '%s' --yes players forget %s >/dev/null",
	         getenv("COOPCTL_BIN"), s->admin_socket, player_hex(hex, "A"));
	restore_shell("%s", command);
	server_stop(s);
	cr_assert_eq(restore_into(&said, s->data, place, ""), 0, "%s", said);
	expect_said(said, "forgotten again, as they were since the backup was made: 1 players");
	restore_check_whole(s);
	server_restart(s);
	cr_expect_eq(campaign_ask(s, "SELECT count(*) FROM campaigns"), 1, "B's is there");
	cr_expect_eq(campaign_ask(s, "SELECT count(*) FROM players"), 1);
	campaign_check_sums(s);
}

/* --- It is refused --- */

static unsigned long sum_of_data(void)
{
	return restore_sum(s->data);
}

Test(restore, what_is_damaged_is_named_and_nothing_changes)
{
	/* Each in a fresh copy of the backup, with $db, $blob (the first file there is) and $json. */
	static const struct {
		const char *damage, *says;
	} cases[] = {
		{ "printf X | dd of=$blob bs=1 seek=100 conv=notrunc status=none",
		  "its bytes have changed (campaign " },
		{ "truncate -s 100 $blob", "has 100 bytes instead of" },
		{ "rm $blob", "missing (campaign 00112233445566" },
		{ "rm $blob; mkdir $blob", "cannot be read" },
		{ "printf X | dd of=$db bs=1 seek=9000 conv=notrunc status=none", "the database " },
		{ "truncate -s 20000 $db", "has 20000 bytes instead of" },
		{ "truncate -s 0 $db", "the database is damaged" },
		{ "rm $db", "the database is missing" },
		{ "truncate -s 50 $json", "backup.json: damaged" },
		{ "rm $json", "backup.json: missing" },
		{ "sed -i 's/\"store_id\":\"..../\"store_id\":\"abcd/' $json", "is the database of another server" },
		{ "sqlite3 $db 'PRAGMA user_version = 9999'", "was made by a newer coopd" },
		{ "rm $db; printf 'no database, but long enough to be taken for one........' >$db", "is damaged: " },
	};
	unsigned long before;

	make_backup();
	before = sum_of_data();
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		SAID said = NULL;
		char copy[SERVER_PATH_BYTES + 40];

		snprintf(copy, sizeof(copy), "%s/damaged", s->root);
		restore_shell("rm -rf '%s'; cp -a '%s' '%s'; cd '%s'; db=$(ls coop-*.db); json=backup.json; "
		              "blob=$(find blobs -type f | "
		              "sort | head -n 1); %s",
		              copy, place, copy, copy, cases[i].damage);
		cr_expect_eq(restore_into(&said, s->data, copy, ""), 1, "%s: %s", cases[i].damage, said);
		expect_said(said, cases[i].says);
		expect_said(said, copy);
		cr_expect_eq(sum_of_data(), before, "%s: something changed", cases[i].damage);
	}
	server_restart(s);
	cr_expect_eq(get_status(HARBOR), 200);
}

/* A hundred lines would hide what they say. */
Test(restore, a_long_list_of_damage_is_cut_and_counted)
{
	SAID said = NULL;

	for (size_t i = 0; i < 23; i++) {
		char campaign[17], key[16];

		snprintf(campaign, sizeof(campaign), "00000000000000%02zx", i);
		snprintf(key, sizeof(key), "%zu", i / 5);
		campaign_put(s, key, campaign, "", 1000 + i);
	}
	restore_backup(s, place);
	server_stop(s);
	restore_shell("find '%s/blobs' -type f -delete", place);
	cr_expect_eq(restore_into(&said, s->data, place, ""), 1);
	expect_said(said, "and 3 more.");
	expect_said(said, "23 found");
}

Test(restore, the_only_backup_is_taken_without_what_is_damaged_when_that_is_said)
{
	SAID           said = NULL;
	struct server *other;

	make_backup();
	restore_shell("rm $(find '%s/blobs' -type f | sort | head -n 1)", place);
	other = server_prepare(sets);
	cr_expect_eq(restore_into(&said, other->data, place, ""), 1);
	expect_said(said, "--restore-damaged");
	free(TAKE(said));
	cr_assert_eq(restore_into(&said, other->data, place, "--restore-damaged"), 3, "%s", said);
	expect_said(said, "missing (campaign 00112233445566");
	expect_said(said, "1 files of checkpoints are damaged in the backup and were left out");
	server_finish(s);
	s = other;
	server_launch(s);
	server_await_ready(s);
	cr_expect_eq((get_status(ISLAND) == 200) + (get_status(JUNGLE) == 200), 1);
}

Test(restore, the_good_file_here_is_used_instead_of_the_damaged_one_there)
{
	SAID said = NULL;

	make_backup();
	restore_shell("rm $(find '%s/blobs' -type f)", place);
	cr_assert_eq(restore_into(&said, s->data, place, "--restore-damaged"), 3, "%s", said);
	restore_check_whole(s);
}

Test(restore, a_running_server_is_named)
{
	SAID said = NULL;
	char text[80];

	restore_backup(s, place);
	cr_expect_eq(restore_into(&said, s->data, place, ""), 1);
	snprintf(text, sizeof(text), "in use by process %d", (int)s->pid);
	expect_said(said, text);
}

Test(restore, another_servers_folder_is_left_alone)
{
	struct server *other = server_start(sets);
	unsigned long  before;
	SAID           said = NULL;

	make_backup();
	server_stop(other);
	before = restore_sum(other->data);
	cr_expect_eq(restore_into(&said, other->data, place, ""), 1);
	expect_said(said, "is another server's");
	cr_expect_eq(restore_sum(other->data), before);
	server_finish(other);
}

Test(restore, a_disk_that_is_too_small_is_told_before_anything)
{
	SAID          said = NULL;
	unsigned long before;

	make_backup();
	before = sum_of_data();
	cr_expect_eq(restore_into(&said, s->data, place, "--set limits.store_free_floor=17592186044416"), 1);
	expect_said(said, "there is not enough room");
	cr_expect_eq(sum_of_data(), before);
}

Test(restore, what_is_no_backup_is_refused)
{
	SAID one   = NULL;
	SAID two   = NULL;
	SAID three = NULL;

	server_stop(s);
	cr_expect_eq(restore_into(&one, s->data, "/nowhere/at/all", ""), 1);
	expect_said(one, "cannot be looked at");
	cr_expect_eq(restore_into(&two, s->data, s->root, ""), 1);
	expect_said(two, "is no backup");
	cr_expect_eq(restore_into(&three, s->data, s->log_path, ""), 1);
	expect_said(three, "is no backup");
}

/* --- From an older coopd --- */

/* A database as migrations up to this number leave it. */
static void make_old_database(const char *path, int version)
{
	sqlite3 *db;
	char     sql[64];

	cr_assert_eq(sqlite3_open(path, &db), SQLITE_OK);
	for (int i = 0; i < version; i++)
		cr_assert_eq(sqlite3_exec(db, migration_texts[i].sql, NULL, NULL, NULL), SQLITE_OK, "%s",
		             sqlite3_errmsg(db));
	snprintf(sql, sizeof(sql), "PRAGMA user_version = %d", version);
	cr_assert_eq(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	cr_assert_eq(sqlite3_exec(db, "INSERT INTO store_facts VALUES (1, randomblob(16), 1)", NULL, NULL, NULL),
	             SQLITE_OK);
	sqlite3_close(db);
}

Test(restore, a_backup_of_an_older_coopd_is_brought_up_to_date)
{
	struct server *other = server_prepare(sets);
	char           path[SERVER_PATH_BYTES + 80];
	SAID           said = NULL;

	restore_shell("mkdir '%s'", place);
	snprintf(path, sizeof(path), "%s/coop-20250101T000000Z-000.db", place);
	make_old_database(path, migration_count - 1);
	cr_assert_eq(restore_into(&said, other->data, place, "--restore-damaged"), 3, "%s", said);
	expect_said(said, "brought up to date");
	server_launch(other);
	server_await_ready(other);
	server_finish(other);
}
