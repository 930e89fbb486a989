/*
 * The operator and the blobs: what there is, and the sweep. Beside an older database, or none, nothing is ever removed.
 */
#include "base/auto.h"
#include "support/admin_client.h"
#include "support/campaign_client.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ANSWER AUTO(rest_freep) struct http_result
#define BLOBS  "/admin/v1/blobs"
#define MANY   30 /* more than a start moves by itself */

static struct server *s;

static void stop(void)
{
	server_finish(s);
}

TestSuite(cloud_admin_blobs, .fini = stop, .timeout = 180);

static void start(void)
{
	s = server_start((const char *[]){ "limits.cloud_interval_ms=0", "limits.cloud_campaigns=1000", NULL });
}

static void put(int n)
{
	char campaign[17], bytes[30];

	snprintf(campaign, sizeof(campaign), "%016x", (unsigned)n);
	snprintf(bytes, sizeof(bytes), "checkpoint number %d", n);
	ANSWER r = rest_put(s, "A", campaign, "", "Coop-Meta: {}\r\n", bytes, strlen(bytes));
	rest_expect(&r, 201, NULL);
}

static int files_of_all(void)
{
	char folder[3];
	int  n = 0;

	for (unsigned i = 0; i < 256; i++) {
		snprintf(folder, sizeof(folder), "%02x", i);
		n += campaign_files(s, folder);
	}
	return n;
}

/* Copies a file of the data folder out of it, or back. */
static void copy(const char *from_folder, const char *from, const char *to_folder, const char *to)
{
	char command[400];

	snprintf(command, sizeof(command), "cp '%s/%s' '%s/%s'", from_folder, from, to_folder, to);
	cr_assert_eq(system(command), 0, "%s", command); /* NOLINT(cert-env33-c) */
}

static void remove_file(const char *name)
{
	char path[400];

	snprintf(path, sizeof(path), "%s/%s", s->data, name);
	cr_assert_eq(unlink(path), 0, "%s", path);
}

static int64_t figure(const char *name)
{
	ANSWER r = admin_get(s, BLOBS);

	rest_expect(&r, 200, NULL);
	return strstr(r.body, "\"missing\":null") && strcmp(name, "missing") == 0 ? -1 : rest_int(&r, name);
}

static void await_check(void)
{
	for (int i = 0; i < 2000 && figure("missing") < 0; i++)
		;
	cr_assert_geq(figure("missing"), 0, "the check at the start has ended");
}

static bool is_known(void)
{
	ANSWER r = admin_get(s, BLOBS);

	return rest_bool(&r, "known");
}

static void sweep(int64_t moved)
{
	ANSWER unsure = admin_ask(s, "POST", BLOBS "/sweep", "{}");
	rest_expect(&unsure, 422, "invalid");
	ANSWER no = admin_ask(s, "POST", BLOBS "/sweep", "{\"confirm\":false}");
	rest_expect(&no, 422, "invalid");
	ANSWER odd = admin_ask(s, "POST", BLOBS "/sweep", "{\"yes\":true}");
	rest_expect(&odd, 422, "unknown_member");
	cr_expect_eq(campaign_files(s, ".trash"), 0);
	ANSWER tried = admin_ask(s, "POST", BLOBS "/sweep?dry_run=true", "{}");
	rest_expect(&tried, 200, NULL);
	cr_expect_eq(rest_int(&tried, "moved"), moved);
	cr_expect_eq(campaign_files(s, ".trash"), 0);
	ANSWER done = admin_ask(s, "POST", BLOBS "/sweep", "{\"confirm\":true}");
	rest_expect(&done, 200, NULL);
	cr_expect_eq(rest_int(&done, "moved"), moved, "%s", done.body);
	cr_expect_eq(rest_int(&done, "bytes"), rest_int(&tried, "bytes"));
	cr_expect_eq(campaign_files(s, ".trash"), moved);
	cr_expect_eq(figure("trash"), moved);
	cr_expect_eq(figure("trash_bytes"), rest_int(&done, "bytes"));
	ANSWER again = admin_ask(s, "POST", BLOBS "/sweep", "{\"confirm\":true}");
	cr_expect_eq(rest_int(&again, "moved"), 0);
}

Test(cloud_admin_blobs, figures)
{
	start();
	put(1);
	put(2);
	cr_expect_eq(figure("blobs"), 2);
	cr_expect_eq(figure("bytes"), 2 * (int64_t)strlen("checkpoint number 1"));
	cr_expect_eq(figure("trash"), 0);
	cr_expect_eq(figure("damaged"), 0);
	cr_expect_not(is_known(), "the database was just made");
	server_restart(s);
	await_check();
	cr_expect(is_known());
	cr_expect_eq(figure("missing"), 0);
}

Test(cloud_admin_blobs, an_older_database_and_back_again)
{
	start();
	put(0);
	server_stop(s);
	copy(s->data, "coop.db", s->root, "older");
	server_restart(s);
	for (int n = 1; n <= MANY; n++)
		put(n);
	server_stop(s);
	copy(s->data, "coop.db", s->root, "newer");
	copy(s->root, "older", s->data, "coop.db");
	server_restart(s);
	await_check();
	cr_expect_eq(figure("blobs"), 1);
	cr_expect_eq(files_of_all(), 1 + MANY, "so many are an accident");
	sweep(MANY);
	cr_expect_eq(files_of_all(), 1);

	server_stop(s);
	copy(s->root, "newer", s->data, "coop.db");
	server_restart(s);
	await_check();
	cr_expect_eq(figure("missing"), 0);
	cr_expect_eq(files_of_all(), 1 + MANY, "all came back");
	ANSWER got = rest_get(s, "A", "/v1/campaigns/0000000000000007/checkpoint");
	cr_expect_str_eq(got.body, "checkpoint number 7");
}

Test(cloud_admin_blobs, an_empty_database_beside_a_full_folder)
{
	start();
	for (int n = 0; n < 3; n++)
		put(n);
	server_stop(s);
	remove_file("coop.db");
	server_restart(s);
	await_check();
	cr_expect_not(is_known());
	cr_expect_eq(files_of_all(), 3);
	put(1000);
	sweep(3);
	cr_expect(is_known(), "the operator said so");
	cr_expect_eq(files_of_all(), 1);
	server_restart(s);
	await_check();
	cr_expect(is_known(), "and it stays so");
	cr_expect_eq(campaign_files(s, ".trash"), 3);
	cr_expect_eq(files_of_all(), 1);
}

/* What the database names is not there: it is told, and nothing else happens. */
Test(cloud_admin_blobs, a_missing_file_is_counted)
{
	char sha256[80], path[300];

	start();
	ANSWER r = rest_put(s, "A", "00000000000000aa", "", "Coop-Meta: {}\r\n", "x", 1);
	rest_text(&r, "sha256", sha256, sizeof(sha256));
	snprintf(path, sizeof(path), "blobs/%.2s/%s", sha256, sha256 + 2);
	remove_file(path);
	ANSWER done = admin_ask(s, "POST", BLOBS "/sweep", "{\"confirm\":true}");
	cr_expect_eq(rest_int(&done, "moved"), 0);
	cr_expect_eq(figure("missing"), 1);
	cr_expect_eq(figure("damaged"), 1);
}
