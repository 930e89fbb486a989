/*
 * coopd --restore among what somebody prepared or mistook: links, damaged secrets, a database that was changed by hand, folders
 * with odd names, options that do not go together. (What is damaged otherwise: restore_test.c.)
 */
#include "base/auto.h"
#include "support/campaign_client.h"
#include "support/lobby_client.h"
#include "support/restore.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SAID AUTO(auto_free) char *

static struct server *s;
static char           place[SERVER_PATH_BYTES + 32];

static void start(void)
{
	s = server_start(
		(const char *[]){ "limits.cloud_interval_ms=0", "limits.store_free_floor=0", LOBBY_PROMPT, NULL });
	snprintf(place, sizeof(place), "%s/backup", s->root);
	campaign_put(s, "A", "00112233445566aa", "", 5000);
	restore_backup(s, place);
	server_stop(s);
}

static void stop(void)
{
	server_finish(s);
}

TestSuite(restore_care, .init = start, .fini = stop);

static void expect_said(const char *said, const char *text)
{
	cr_expect(strstr(said, text), "\"%s\" is not in: %s", text, said);
}

/* --- Links --- */

static void make_victim(void)
{
	restore_shell("mkdir -p '%s/victim/sub' && echo kept >'%s/victim/file' && echo kept >'%s/victim/sub/file'",
	              s->root, s->root, s->root);
}

static void expect_victim(void)
{
	restore_shell("test -s '%s/victim/file' && test -s '%s/victim/sub/file'", s->root, s->root);
}

Test(restore_care, a_link_in_place_of_its_folder_is_named_and_not_followed)
{
	SAID plain   = NULL;
	SAID restore = NULL;
	SAID file    = NULL;
	char name[SERVER_PATH_BYTES + 40];

	make_victim();
	restore_shell("ln -s '%s/victim' '%s/.restore'", s->root, s->data);
	snprintf(name, sizeof(name), "%s/.restore is a link", s->data);
	cr_expect_eq(restore_coopd(&plain, "--data '%s'", s->data), 1, "%s", plain);
	expect_said(plain, name);
	cr_expect_eq(restore_into(&restore, s->data, place, ""), 1, "%s", restore);
	expect_said(restore, name);
	expect_victim();
	restore_shell("rm '%s/.restore' && echo x >'%s/.restore'", s->data, s->data);
	cr_expect_eq(restore_into(&file, s->data, place, ""), 1);
	expect_said(file, ".restore is a file");
	restore_shell("test -s '%s/.restore'", s->data);
}

Test(restore_care, links_below_its_folder_are_not_followed)
{
	SAID without = NULL;
	SAID marked  = NULL;

	make_victim();
	restore_shell("mkdir -p '%s/.restore/blobs' && ln -s '%s/victim' '%s/.restore/blobs/ab' && ln -s '%s/victim' "
	              "'%s/.restore/other'",
	              s->data, s->root, s->data, s->root, s->data);
	cr_expect_eq(restore_into(&without, s->data, place, ""), 0, "%s", without);
	expect_victim();
	restore_shell("mkdir -p '%s/.restore' && ln -s '%s/victim' '%s/.restore/blobs' && printf before-restore-x "
	              ">'%s/.restore/ready'",
	              s->data, s->root, s->data, s->data);
	cr_expect_eq(restore_into(&marked, s->data, place, ""), 4, "%s", marked);
	expect_said(marked, "/.restore/blobs");
	expect_victim();
}

Test(restore_care, nothing_is_emptied_behind_a_link_of_the_blob_folder)
{
	static const char *const names[] = { ".tmp", ".trash" };

	make_victim();
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		SAID said = NULL;

		restore_shell("rm -rf '%s/blobs/%s' && ln -s '%s/victim' '%s/blobs/%s'", s->data, names[i], s->root,
		              s->data, names[i]);
		cr_expect_eq(restore_coopd(&said, "--data '%s'", s->data), 1, "%s", said);
		expect_said(said, "is a link");
		expect_victim();
		restore_shell("rm '%s/blobs/%s'", s->data, names[i]);
	}
}

/* --- Secrets --- */

Test(restore_care, damaged_secrets_are_named_and_nothing_changes)
{
	static const struct {
		const char *damage, *says;
	} cases[] = {
		{ "head -c 20 s >secrets", "line 1 is no whole secret" },
		{ "head -c 300000 /dev/zero >secrets", "larger than a file of secrets" },
		{ "head -c 300 /dev/zero >secrets", "is no whole secret" },
		{ "echo garbage >secrets", "line 1 is no whole secret" },
		{ "sed '/address_key/d' s >secrets", "it has no address_key" },
		{ ": >secrets", "it has no address_key" },
		{ "rm secrets; mkdir secrets", "it cannot be read" },
		{ "rm secrets; ln -s s secrets", "cannot be read" },
	};
	unsigned long before = restore_sum(s->data);

	restore_shell("cp '%s/secrets' '%s/s'", place, place);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		SAID said = NULL;

		restore_shell("cd '%s' && rm -rf secrets && cp s secrets && %s", place, cases[i].damage);
		cr_expect_eq(restore_into(&said, s->data, place, ""), 1, "%s: %s", cases[i].damage, said);
		expect_said(said, cases[i].says);
		expect_said(said, "/backup/secrets: ");
		cr_expect_eq(restore_sum(s->data), before, "%s", cases[i].damage);
	}
}

Test(restore_care, without_its_secrets_a_backup_is_taken_only_when_that_is_said)
{
	SAID           stays = NULL;
	SAID           no    = NULL;
	SAID           yes   = NULL;
	struct server *other = server_prepare((const char *[]){ "limits.store_free_floor=0", NULL });

	restore_shell("rm '%s/secrets'", place);
	cr_expect_eq(restore_into(&stays, s->data, place, ""), 0, "%s", stays);
	expect_said(stays, "those in the data folder stay");
	cr_expect_eq(restore_into(&no, other->data, place, ""), 1, "%s", no);
	expect_said(no, "/backup/secrets: missing");
	cr_expect_eq(restore_into(&yes, other->data, place, "--restore-damaged"), 3, "%s", yes);
	expect_said(yes, "the next start makes new ones");
	server_launch(other);
	server_await_ready(other);
	server_finish(other);
}

/* --- The layout of its database --- */

Test(restore_care, a_database_that_was_changed_by_hand_is_refused_with_what_differs)
{
	static const struct {
		const char *sql, *says;
	} cases[] = {
		{ "DROP VIEW games", "its view games is missing" },
		{ "DROP TABLE IF EXISTS bans", "its table bans is missing" },
		{ "CREATE TRIGGER bad AFTER INSERT ON players BEGIN DELETE FROM checkpoints; END",
		  "its trigger bad is none that coopd made" },
		{ "ALTER TABLE players ADD COLUMN more TEXT", "its table players is not as coopd made it" },
		{ "PRAGMA application_id = 7", "its application_id is 7" },
	};
	unsigned long before = restore_sum(s->data);

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		SAID said = NULL;

		restore_shell("rm -rf '%s.x' && cp -r '%s' '%s.x' && sqlite3 $(ls '%s.x'/coop-*.db) '%s'", place, place,
		              place, place, cases[i].sql);
		char copy[sizeof(place) + 2];

		snprintf(copy, sizeof(copy), "%s.x", place);
		cr_expect_eq(restore_into(&said, s->data, copy, "--restore-damaged"), 1, "%s: %s", cases[i].sql, said);
		expect_said(said, cases[i].says);
		expect_said(said, "was not restored");
		cr_expect_eq(restore_sum(s->data), before, "%s", cases[i].sql);
	}
}

/* --- What it prints, and leaves --- */

/* From another folder than coopd was called in, with a name that is no word of the shell. */
Test(restore_care, the_way_back_works_from_everywhere_and_with_every_name)
{
	SAID  said = NULL;
	char *line, *rest;
	int   found = 0;

	restore_shell("cd '%s' && cp -r data \"r x'2\" && cksum <\"r x'2/coop.db\" >before", s->root);
	restore_shell("cd '%s' && \"$COOPD_BIN\" --data \"r x'2\" --set limits.store_free_floor=0 --restore backup "
	              ">said 2>&1",
	              s->root);
	restore_shell("cd '%s' && ! cksum <\"r x'2/coop.db\" | cmp -s - before", s->root);

	FILE  *file = NULL;
	char   path[SERVER_PATH_BYTES + 20];
	size_t cap = 0;

	snprintf(path, sizeof(path), "%s/said", s->root);
	file = fopen(path, "re");
	cr_assert_not_null(file);
	cr_assert_gt(getdelim(&said, &cap, '\0', file), 0);
	fclose(file);
	for (line = strtok_r(said, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		if (strncmp(line, "  rm ", 5) != 0 && strncmp(line, "  cp ", 5) != 0)
			continue;
		restore_shell("cd / && %s", line);
		found++;
	}
	cr_expect_eq(found, 2);
	restore_shell("cd '%s' && cksum <\"r x'2/coop.db\" | cmp - before", s->root);
}

Test(restore_care, a_refused_one_leaves_no_folder_behind)
{
	SAID said = NULL;
	char data[SERVER_PATH_BYTES + 20];

	snprintf(data, sizeof(data), "%s/new/deep/data", s->root);
	cr_expect_eq(restore_into(&said, data, s->root, ""), 1);
	expect_said(said, "is no backup");
	restore_shell("test ! -e '%s/new'", s->root);
	restore_shell("mkdir '%s/new'", s->root);
	cr_expect_eq(restore_into(NULL, data, s->root, ""), 1);
	restore_shell("test -z \"$(ls -A '%s/new')\"", s->root);
}

/* --- What does not go together --- */

Test(restore_care, two_tasks_or_none_at_all_are_a_wrong_command_line)
{
	static const struct {
		const char *options, *says;
	} cases[] = {
		{ "--import /a --restore /b", "--import and --restore are two things" },
		{ "--restore /a --restore /b", "--restore is given twice" },
		{ "--import /a --import-check /b", "--import and --import-check are two things" },
		{ "--check-config --restore /b", "--check-config and --restore are two things" },
		{ "--restore ''", "--restore needs the name" },
		{ "--import ''", "--import needs the name" },
		{ "--restore-damaged --import /a", "--restore-damaged says how to restore" },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		SAID said = NULL;

		cr_expect_eq(restore_coopd(&said, "--data '%s' %s", s->data, cases[i].options), 2, "%s: %s",
		             cases[i].options, said);
		expect_said(said, cases[i].says);
	}
}

Test(restore_care, nothing_is_checked_while_a_restore_waits_for_its_end)
{
	SAID said = NULL;

	restore_shell("mkdir '%s/.restore' '%s/relay' && printf before-restore-x >'%s/.restore/ready'", s->data,
	              s->root, s->data);
	cr_expect_eq(restore_coopd(&said, "--data '%s' --import-check '%s/relay'", s->data, s->root), 1, "%s", said);
	expect_said(said, "was interrupted and must be finished first");
	restore_shell("test -s '%s/.restore/ready'", s->data);
}
