/*
 * Where backups go: places that are refused, and what is removed there, which is never anybody else's.
 */
#include "base/auto.h"
#include "support/admin_client.h"
#include "support/campaign_client.h"
#include "support/restore.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static struct server *s;
static char           place[SERVER_PATH_BYTES + 32];

static void start(void)
{
	s = server_start((const char *[]){ "limits.cloud_interval_ms=0", "limits.store_free_floor=0", NULL });
	snprintf(place, sizeof(place), "%s/backup", s->root);
	campaign_put(s, "A", "00112233445566aa", "", 5000);
}

static void stop(void)
{
	server_finish(s);
}

TestSuite(backup_place, .init = start, .fini = stop);

static void expect_refused(const char *dest, const char *says)
{
	char body[2000];

	snprintf(body, sizeof(body), "{\"dest\":\"%s\"}", dest);
	AUTO(rest_freep) struct http_result r = admin_ask(s, "POST", "/admin/v1/backup", body);

	cr_expect(r.status >= 400, "%d", r.status);
	cr_expect(r.body && strstr(r.body, says), "\"%s\" is not in: %s", says, r.body ? r.body : "");
}

/* SQLite's limit lies far below the system's. */
Test(backup_place, a_path_that_is_too_long_is_refused_before_anything)
{
	char dest[1001], name[201];

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	snprintf(dest, sizeof(dest), "%s/%s/%s/%s", s->root, name, name, name);
	expect_refused(dest, "too long");
	restore_shell("test ! -e '%s/%s'", s->root, name);

	/* The longest that is not refused does work. */
	size_t left = 512 - strlen(s->root) - sizeof("/new-coop-20260101T000000Z-000.db-journal") - 3;

	snprintf(dest, sizeof(dest), "%s/%.200s/%.*s", s->root, name, (int)(left - 201), name);
	restore_backup(s, dest);
}

Test(backup_place, blobs_behind_a_link_are_nobodys_to_remove)
{
	restore_shell("mkdir '%s' && ln -s '%s/blobs' '%s/blobs'", place, s->data, place);
	expect_refused(place, "is a link");
}

Test(backup_place, one_that_fails_leaves_no_database_behind)
{
	restore_backup(s, place);
	campaign_put(s, "A", "00112233445566bb", "", 6000);
	restore_shell("mv '%s/blobs' '%s/b' && echo x >'%s/blobs'", place, s->root, place);
	expect_refused(place, "");
	restore_shell("test $(ls '%s' | grep -c '[.]db') = 1", place);
	restore_shell("rm '%s/blobs' && mv '%s/b' '%s/blobs'", place, s->root, place);
	restore_backup(s, place);
	restore_shell("test $(ls '%s' | grep -c '[.]db') = 2", place);
}

Test(backup_place, what_an_operator_put_beside_it_stays)
{
	restore_backup(s, place);
	restore_shell("cd '%s' && touch coop-notes.txt new-plan.txt coop-20200101T000000Z-000.db.mine "
	              "coop-20200101T000000Z-000.db new-coop-20200101T000000Z-000.db-journal",
	              place);
	restore_backup(s, place);
	restore_shell("cd '%s' && test -e coop-notes.txt -a -e new-plan.txt -a -e coop-20200101T000000Z-000.db.mine",
	              place);
	restore_shell("cd '%s' && test ! -e coop-20200101T000000Z-000.db -a ! -e "
	              "new-coop-20200101T000000Z-000.db-journal",
	              place);
}
