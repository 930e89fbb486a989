/*
 * What an operator does with campaigns: each action, tried and done, and each of its errors; what quotas and files say after.
 */
#include "base/auto.h"
#include "support/admin_client.h"
#include "support/campaign_client.h"
#include "support/dial.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER AUTO(rest_freep) struct http_result
#define AA     "00000000000000aa"
#define BB     "00000000000000bb"
#define ONE    "/admin/v1/campaigns/" AA
#define DRY    "?dry_run=true"
#define NOBODY "0123456789abcdef"

static struct server *s;

static void start(void)
{
	s = server_start((const char *[]){ "limits.cloud_interval_ms=0", "limits.cloud_members=2",
	                                   "limits.cloud_campaigns=2", "limits.cloud_player_bytes=20000", NULL });
}

static void stop(void)
{
	server_finish(s);
}

TestSuite(cloud_admin_do, .init = start, .fini = stop, .timeout = 120);

static void expect(const char *method, const char *path, const char *body, int status, const char *code)
{
	ANSWER r = admin_ask(s, method, path, body);

	rest_expect(&r, status, code);
	if (strstr(path, DRY) && status == 200)
		cr_expect(rest_bool(&r, "dry_run"), "%s", r.body);
}

/* Tried, which changes nothing, and done. */
static void expect_both(const char *method, const char *path, const char *body, int status, const char *code)
{
	char dry[300];

	snprintf(dry, sizeof(dry), "%s" DRY, path);
	expect(method, dry, body, status, code);
	expect(method, path, body, status, code);
}

static void expect_gone(const char *player, const char *campaign, bool gone)
{
	char path[100];

	snprintf(path, sizeof(path), "/v1/campaigns/%s", campaign);
	ANSWER r = rest_get(s, player, path);
	cr_expect_eq(r.status, gone ? 404 : 200, "%s of %s: %d", campaign, player, r.status);
}

/* --- The trash --- */

Test(cloud_admin_do, revoked_and_back_whole)
{
	char                  lines[100] = "name=Isl\xc3\xa4nd\n", text[100];
	size_t                len;
	AUTO(auto_free) char *bytes = rest_container(&len, AA, "name=Isl\xc3\xa4nd\n", 5000);

	name_player(lines, sizeof(lines), "B");
	campaign_put(s, "A", AA, lines, 100);
	ANSWER put = rest_put(s, "A", AA, "", "", bytes, len);
	rest_expect(&put, 201, NULL);
	campaign_put(s, "A", BB, "name=other\n", 10);
	expect("POST", ONE "/unrevoke", "{}", 404, "not_found");
	expect("DELETE", ONE DRY, NULL, 200, NULL);
	expect_gone("A", AA, false);

	ANSWER r = admin_ask(s, "DELETE", ONE, NULL);
	rest_expect(&r, 200, NULL);
	cr_expect_str_eq(rest_text(&r, "name", text, sizeof(text)), "Isl\xc3\xa4nd");
	cr_expect_eq(rest_int(&r, "uploads") + rest_int(&r, "downloads"), 0);
	expect_gone("A", AA, true);
	expect_gone("B", AA, true);
	expect_gone("A", BB, false);
	campaign_check_sums(s);
	expect_both("DELETE", ONE, NULL, 404, "not_found");

	expect("POST", ONE "/unrevoke" DRY, "{}", 200, NULL);
	expect_gone("A", AA, true);
	expect("POST", ONE "/unrevoke", "{\"number\":99}", 404, "not_found");
	expect("POST", ONE "/unrevoke", "{\"number\":0}", 422, "invalid");
	expect("POST", ONE "/unrevoke", "{\"nummer\":1}", 422, "unknown_member");
	expect("POST", ONE "/unrevoke", NULL, 200, NULL);
	expect_gone("B", AA, false);
	ANSWER list = rest_get(s, "A", "/v1/campaigns/" AA);
	cr_expect_eq(rest_count(&list, "checkpoints"), 2);
	ANSWER got = rest_get(s, "B", "/v1/campaigns/" AA "/checkpoint");
	cr_expect(got.body_len == len && memcmp(got.body, bytes, len) == 0);
	campaign_check_sums(s);
	expect_both("POST", ONE "/unrevoke", "{}", 404, "not_found");
}

Test(cloud_admin_do, of_two_in_the_trash_the_later_or_the_one_that_is_named)
{
	char body[60], text[40];

	campaign_put(s, "A", AA, "name=first\n", 10);
	ANSWER first = admin_ask(s, "DELETE", ONE, NULL);
	server_advance(s, 1000);
	campaign_put(s, "B", AA, "name=second\n", 10);
	expect("DELETE", ONE, NULL, 200, NULL);
	ANSWER later = admin_ask(s, "POST", ONE "/unrevoke" DRY, "{}");
	cr_expect_str_eq(rest_text(&later, "name", text, sizeof(text)), "second");
	snprintf(body, sizeof(body), "{\"number\":%lld}", (long long)rest_int(&first, "number"));
	ANSWER named = admin_ask(s, "POST", ONE "/unrevoke", body);
	cr_expect_str_eq(rest_text(&named, "name", text, sizeof(text)), "first");
	expect_gone("A", AA, false);
	expect_both("POST", ONE "/unrevoke", "{}", 409, "exists");
}

static bool has_blob(const char *sha256)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/blobs/%.2s/%s", s->data, sha256, sha256 + 2);
	FILE *f = fopen(path, "r");
	if (f)
		fclose(f);
	return f != NULL;
}

Test(cloud_admin_do, purged_and_of_the_files_only_what_no_other_names)
{
	char   alone[80], shared[80];
	ANSWER one = rest_put(s, "A", AA, "", "Coop-Meta: {}\r\n", "alone", 5);
	ANSWER two = rest_put(s, "A", AA, "", "Coop-Meta: {}\r\n", "shared", 6);
	ANSWER too = rest_put(s, "B", BB, "", "Coop-Meta: {}\r\n", "shared", 6);

	rest_expect(&too, 201, NULL);
	rest_text(&one, "sha256", alone, sizeof(alone));
	rest_text(&two, "sha256", shared, sizeof(shared));
	expect_both("DELETE", ONE "/trash", NULL, 404, "not_found");
	expect("DELETE", ONE, NULL, 200, NULL);
	cr_expect(has_blob(alone));
	ANSWER tried = admin_ask(s, "DELETE", ONE "/trash" DRY, NULL);
	cr_expect_eq(rest_int(&tried, "purged"), 1);
	ANSWER done = admin_ask(s, "DELETE", ONE "/trash", NULL);
	cr_expect_eq(rest_int(&done, "purged"), 1);
	for (int64_t until = real_now_ms() + DIAL_PATIENCE_MS; has_blob(alone) && real_now_ms() < until;)
		real_sleep_ms(10);
	cr_expect_not(has_blob(alone));
	cr_expect(has_blob(shared));
	ANSWER got = rest_get(s, "B", "/v1/campaigns/" BB "/checkpoint");
	cr_expect_eq(got.status, 200);
	cr_expect_eq(campaign_ask(s, "SELECT trash FROM cloud_totals"), 0);
	campaign_check_sums(s);
	expect_both("POST", ONE "/unrevoke", "{}", 404, "not_found");
}

/* --- Owner and members --- */

static int64_t held(const char *player, const char *what)
{
	char sql[200], hex[PLAYER_HEX];

	snprintf(sql, sizeof(sql), "SELECT coalesce((SELECT %s FROM holders WHERE player = x'%s'), -1)", what,
	         player_hex(hex, player));
	return campaign_ask(s, sql);
}

static void give(const char *to, const char *more, int status, const char *code)
{
	char body[100], hex[PLAYER_HEX];

	snprintf(body, sizeof(body), "{\"player\":\"%s\"%s}", player_hex(hex, to), more);
	expect_both("POST", ONE "/owner", body, status, code);
}

Test(cloud_admin_do, another_owner_and_the_sums_go_with_it)
{
	char    lines[100] = "name=x\n", text[40], hex[PLAYER_HEX];
	int64_t bytes;

	name_player(lines, sizeof(lines), "B");
	campaign_put(s, "A", AA, lines, 1000);
	campaign_put(s, "A", AA, lines, 1000);
	campaign_put(s, "A", BB, "name=y\n", 10);
	campaign_put(s, "B", "00000000000000b1", "name=z\n", 10);
	int64_t others = held("A", "bytes"), bens = held("B", "bytes");
	bytes = campaign_ask(s, "SELECT bytes FROM campaigns WHERE id = x'" AA "'");
	give("B", "", 200, NULL);
	cr_expect_eq(held("A", "campaigns"), 1);
	cr_expect_eq(held("A", "bytes"), others - bytes);
	cr_expect_eq(held("B", "campaigns"), 2);
	cr_expect_eq(held("B", "bytes"), bens + bytes);
	campaign_check_sums(s);

	ANSWER r = admin_get(s, ONE);
	cr_expect_str_eq(rest_text(&r, "owner", text, sizeof(text)), player_hex(hex, "B"));
	cr_expect_eq(rest_count(&r, "member_list"), 1);
	cr_expect_str_eq(rest_text(&r, "member_list.0.player", text, sizeof(text)), player_hex(hex, "A"));
	campaign_put(s, "A", AA, "name=still his\n", 10);
	ANSWER not_his = rest_ask(s, "A", "POST", "/v1/campaigns/" AA "/restore?version=1", "", NULL, 0);
	rest_expect(&not_his, 404, "not_found");
	/* To the one who has it already. */
	give("B", "", 200, NULL);
	cr_expect_eq(held("B", "campaigns"), 2);
	/* And back; one who is revoked goes back to whom it was given. */
	give("A", "", 200, NULL);
	campaign_check_sums(s);
	cr_expect_eq(held("B", "campaigns"), 1);
}

Test(cloud_admin_do, an_owner_without_room_only_by_force)
{
	char lines[100] = "name=x\n";

	name_player(lines, sizeof(lines), "M");
	name_player(lines, sizeof(lines), "N");
	campaign_put(s, "A", AA, lines, 9000);
	campaign_put(s, "B", "00000000000000b1", "", 15000);
	campaign_put(s, "C", "00000000000000c1", "", 10);
	campaign_put(s, "C", "00000000000000c2", "", 10);
	campaign_put(s, "D", "00000000000000d1", "", 10);
	give("B", "", 507, "quota");
	give("C", "", 507, "campaigns");
	give("D", "", 409, "members");
	cr_expect_eq(held("A", "campaigns"), 1);
	give("C", ",\"force\":true", 200, NULL);
	cr_expect_eq(held("A", "campaigns"), 0);
	cr_expect_eq(held("C", "campaigns"), 3);
	campaign_check_sums(s);
	expect_both("POST", ONE "/owner", "{\"player\":\"" NOBODY "\",\"force\":true}", 422, "invalid");
	expect_both("POST", ONE "/owner", "{\"player\":\"x\"}", 422, "invalid");
	expect_both("POST", ONE "/owner", "{}", 422, "invalid");
	expect_both("POST", ONE "/owner", "{\"player\":\"" NOBODY "\",\"force\":1}", 422, "invalid");
	expect_both("POST", "/admin/v1/campaigns/" BB "/owner", "{\"player\":\"" NOBODY "\"}", 404, "not_found");
}

/* One who only ever hosted has no sums yet. */
Test(cloud_admin_do, an_owner_who_never_stored)
{
	char sql[300], hex[PLAYER_HEX], text[40];

	campaign_put(s, "A", AA, "", 100);
	campaign_put(s, "Z", BB, "", 10);
	expect("DELETE", "/admin/v1/campaigns/" BB, NULL, 200, NULL);
	expect("DELETE", "/admin/v1/campaigns/" BB "/trash", NULL, 200, NULL);
	snprintf(sql, sizeof(sql), "DELETE FROM holders WHERE player = x'%s';", player_hex(hex, "Z"));
	campaign_exec(s, sql);
	give("Z", "", 200, NULL);
	cr_expect_eq(held("Z", "campaigns"), 1);
	campaign_check_sums(s);
	ANSWER r = admin_get(s, ONE);
	cr_expect_str_eq(rest_text(&r, "owner", text, sizeof(text)), hex);
}

Test(cloud_admin_do, members_come_and_go)
{
	char path[200], hex[PLAYER_HEX], lines[100] = "";

	campaign_put(s, "A", AA, "name=x\n", 10);
	snprintf(path, sizeof(path), ONE "/members/%s", player_hex(hex, "B"));
	expect_both("DELETE", path, NULL, 404, "not_found");
	expect("PUT", path, NULL, 200, NULL);
	expect_both("PUT", path, NULL, 200, NULL);
	expect_gone("B", AA, false);
	expect("PUT", ONE "/members/" NOBODY, NULL, 200, NULL);
	snprintf(path, sizeof(path), ONE "/members/%s", player_hex(hex, "C"));
	expect_both("PUT", path, NULL, 409, "members");
	snprintf(path, sizeof(path), ONE "/members/%s", player_hex(hex, "A"));
	expect_both("PUT", path, NULL, 200, NULL); /* its owner: nothing to do */
	snprintf(path, sizeof(path), ONE "/members/%s" DRY, player_hex(hex, "B"));
	expect("DELETE", path, NULL, 200, NULL);
	expect_gone("B", AA, false);
	snprintf(path, sizeof(path), ONE "/members/%s", player_hex(hex, "B"));
	expect("DELETE", path, NULL, 200, NULL);
	expect_gone("B", AA, true);
	/* A text does not put him back. */
	name_player(lines, sizeof(lines), "B");
	campaign_put(s, "A", AA, lines, 10);
	expect_gone("B", AA, true);
	expect_both("PUT", "/admin/v1/campaigns/" BB "/members/" NOBODY, NULL, 404, "not_found");
	expect_both("PUT", ONE "/members/xyz", NULL, 404, "not_found");
}

Test(cloud_admin_do, an_older_checkpoint_is_the_newest_again)
{
	campaign_put(s, "A", AA, "name=one\n", 10);
	campaign_put(s, "A", AA, "name=two\n", 10);
	ANSWER tried = admin_ask(s, "POST", ONE "/restore" DRY, "{\"version\":1}");
	cr_expect_eq(rest_int(&tried, "version"), 3);
	ANSWER done = admin_ask(s, "POST", ONE "/restore", "{\"version\":1}");
	cr_expect_eq(rest_int(&done, "version"), 3);
	ANSWER same = admin_ask(s, "POST", ONE "/restore", "{\"version\":3}");
	cr_expect_eq(rest_int(&same, "version"), 3);
	ANSWER got = rest_get(s, "A", "/v1/campaigns/" AA "/checkpoint");
	cr_expect_not_null(memmem(got.body, got.body_len, "name=one", 8));
	expect_both("POST", ONE "/restore", "{\"version\":9}", 404, "not_found");
	expect_both("POST", ONE "/restore", "{}", 422, "invalid");
	expect_both("POST", ONE "/restore", "{\"version\":\"1\"}", 422, "invalid");
	expect_both("POST", ONE "/restore", "{\"verison\":1}", 422, "unknown_member");
	expect_both("POST", "/admin/v1/campaigns/" BB "/restore", "{\"version\":1}", 404, "not_found");
}

/* Behind the routes nothing is there either. */
Test(cloud_admin_do, without_checkpoints_the_part_is_off)
{
	server_stop(s);
	server_set(s, "cloud.enable=false");
	server_restart(s);
	expect("GET", "/admin/v1/campaigns", NULL, 404, "part_off");
	expect("DELETE", ONE, NULL, 404, "part_off");
	expect("GET", "/admin/v1/quotas", NULL, 404, "part_off");
	expect("GET", "/admin/v1/blobs", NULL, 404, "part_off");
}
