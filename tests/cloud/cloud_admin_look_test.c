/*
 * An operator looks for campaigns, and at one: filters, pages, what hostile texts look like, a checkpoint's bytes.
 */
#include "base/auto.h"
#include "support/admin_client.h"
#include "support/campaign_client.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER AUTO(rest_freep) struct http_result
#define AA     "00000000000000aa"
#define BB     "00000000000000bb"
#define CC     "ab000000000000cc"
#define DD     "00000000000000dd"
#define DAY_MS INT64_C(86400000)
#define LIST   "/admin/v1/campaigns"

static struct server *s;

static void start(void)
{
	s = server_start((const char *[]){ "limits.cloud_interval_ms=0", "limits.admin_search_rows=100", NULL });
}

static void stop(void)
{
	server_finish(s);
}

TestSuite(cloud_admin_look, .init = start, .fini = stop, .timeout = 120);

/* The ends of the ids on this page, "cc bb ". */
static const char *ids_of(char out[4000], const struct http_result *r)
{
	char   way[40], id[20];
	size_t len = 0;

	out[0] = '\0';
	for (size_t i = 0; i < rest_count(r, "items"); i++) {
		snprintf(way, sizeof(way), "items.%zu.id", i);
		len += (size_t)snprintf(out + len, 4000 - len, "%s ", rest_text(r, way, id, sizeof(id)) + 14);
	}
	return out;
}

static void expect_found(const char *query, const char *ids)
{
	char path[400], found[4000];

	snprintf(path, sizeof(path), LIST "%s", query);
	ANSWER r = admin_get(s, path);
	admin_expect(&r, 200, NULL);
	cr_expect_str_eq(ids_of(found, &r), ids, "%s: %s", query, found);
}

/* With {A}, {B} and {C} for the ids of these players. */
static void expect_found_of(const char *query, const char *ids)
{
	char        with_ids[300], hex[PLAYER_HEX];
	size_t      len = 0;
	const char *at  = query;

	for (; *at; at++) {
		if (*at == '{') {
			char name[2] = { at[1], '\0' };

			len += (size_t)snprintf(with_ids + len, sizeof(with_ids) - len, "%s", player_hex(hex, name));
			at += 2;
		} else {
			with_ids[len++] = *at;
		}
	}
	with_ids[len] = '\0';
	expect_found(with_ids, ids);
}

/* AA and BB are three days older than CC; DD is in the trash. */
static void put_all(void)
{
	char lines[200] = "name=\xc3\x9c"
			  "BUNG\nlevel=Harbor\n";

	campaign_put(s, "A", AA, "name=Ghost Island\nlevel=island_1\n", 1000);
	name_player(lines, sizeof(lines), "C");
	campaign_put(s, "A", BB, lines, 5000);
	server_advance(s, 3 * DAY_MS);
	snprintf(lines, sizeof(lines), "name=ghost ship\nlevel=ISLAND_2\n");
	name_player(lines, sizeof(lines), "C");
	campaign_put(s, "B", CC, lines, 9000);
	campaign_put(s, "B", DD, "name=ghost in the bin\n", 9000);
	ANSWER r = admin_ask(s, "DELETE", LIST "/" DD, NULL);
	admin_expect(&r, 200, NULL);
}

Test(cloud_admin_look, each_filter_and_some_together)
{
	put_all();
	expect_found("", "cc bb aa ");
	expect_found("?q=GHOST", "cc aa ");
	expect_found("?q=ghost%20isl", "aa ");
	expect_found("?q=%c3%bcbung", "bb ");
	expect_found("?q=ab0", "cc ");
	expect_found("?q=AB0", "cc ");
	expect_found("?q=" AA, "aa ");
	expect_found("?q=nowhere", "");
	expect_found_of("?owner={A}", "bb aa ");
	expect_found_of("?owner={C}", "");
	expect_found_of("?member={C}", "cc bb ");
	expect_found_of("?member={A}", "");
	expect_found("?level=island", "cc aa ");
	expect_found("?level=island_2", "cc ");
	expect_found("?min_bytes=2000", "cc bb ");
	expect_found("?max_bytes=6000", "bb aa ");
	expect_found("?min_bytes=2000&max_bytes=6000", "bb ");
	expect_found("?older_than_days=2", "bb aa ");
	expect_found("?newer_than_days=2", "cc ");
	expect_found("?trash=no", "cc bb aa ");
	expect_found("?trash=only", "dd ");
	expect_found("?trash=also", "dd cc bb aa ");
	expect_found_of("?q=ghost&owner={B}&trash=also", "dd cc ");
	expect_found_of("?q=ghost&level=island&member={C}&min_bytes=1&max_bytes=100000&newer_than_days=2", "cc ");
	expect_found_of("?member={C}&owner={A}&older_than_days=2", "bb ");
}

/* It is the newest checkpoint whose name counts, but not one that was kept beside it. */
Test(cloud_admin_look, by_the_name_it_has_now)
{
	campaign_put(s, "A", AA, "name=First\nlevel=one\n", 10);
	campaign_put(s, "A", AA, "name=Second\nlevel=two\n", 10);
	ANSWER beside = rest_put(s, "A", AA, "?keep=both",
	                         "Coop-Meta: {\"name\":\"Third\"}\r\nIf-Match: \"1-0011223344556677\"\r\n", "x", 1);
	rest_expect(&beside, 201, NULL);
	expect_found("?q=first", "");
	expect_found("?q=third", "");
	expect_found("?q=second&level=TWO", "aa ");
	ANSWER back = admin_ask(s, "POST", LIST "/" AA "/restore", "{\"version\":1}");
	admin_expect(&back, 200, NULL);
	expect_found("?q=first&level=one", "aa ");
}

Test(cloud_admin_look, what_is_mistyped_is_refused)
{
	static const struct {
		const char *query;
		int         status;
		const char *code;
	} cases[] = {
		{ "?trash=x", 422, "invalid" },      { "?owner=12", 422, "invalid" },
		{ "?member=ZZ", 422, "invalid" },    { "?min_bytes=-1", 422, "invalid" },
		{ "?max_bytes=x", 422, "invalid" },  { "?older_than_days=1e9", 422, "invalid" },
		{ "?limit=0", 422, "invalid" },      { "?limit=1001", 422, "invalid" },
		{ "?cursor=zz", 400, "malformed" },  { "?cursor=00", 400, "malformed" },
		{ "?q=%ff", 400, "malformed" },      { "?q=a&q=b", 400, "malformed" },
		{ "?nam=x", 400, "malformed" },      { "/xyz", 404, "not_found" },
		{ "/" AA, 404, "not_found" },        { "/" AA "?number=0", 422, "invalid" },
		{ "/" AA "?x=1", 400, "malformed" }, { "/" AA "/checkpoint", 404, "not_found" },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		char path[200];

		snprintf(path, sizeof(path), LIST "%s", cases[i].query);
		ANSWER r = admin_get(s, path);
		admin_expect(&r, cases[i].status, cases[i].code);
	}
}

/* So many campaigns of player A's, whose ids are the digits of numbers from 1 on, all stored at the same moment. */
static void make_many(int count)
{
	char sql[1500], hex[PLAYER_HEX];

	campaign_put(s, "A", AA, "name=the first\n", 10);
	player_hex(hex, "A");
	snprintf(sql, sizeof(sql),
	         "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) "
	         "INSERT INTO campaigns (id, owner, made_ms, stored_ms, used_ms, used_day) "
	         "SELECT cast(printf('%%08d', i) AS BLOB), x'%s', 1000, 1000, 1000, 1 FROM n; "
	         "INSERT INTO checkpoints SELECT number, 1, zeroblob(32), 0, 1000, owner, 0, 0, 0, 0, 0, "
	         "'number ' || number, 'l', 'c', 'h' FROM campaigns WHERE stored_ms = 1000;",
	         count, hex);
	campaign_exec(s, sql);
}

Test(cloud_admin_look, pages_lose_and_repeat_nothing_of_what_was_stored_at_once)
{
	static bool seen[256];
	char        path[200] = LIST "?limit=10&max_bytes=0", next[80], way[40], id[20];
	int         pages = 0, count = 0;

	make_many(25);
	for (; path[0]; pages++) {
		ANSWER r = admin_get(s, path);
		admin_expect(&r, 200, NULL);
		for (size_t i = 0; i < rest_count(&r, "items"); i++) {
			snprintf(way, sizeof(way), "items.%zu.id", i);
			rest_text(&r, way, id, sizeof(id));
			int n = 10 * (id[13] - '0') + id[15] - '0'; /* a digit is a byte of the id */
			cr_assert(n >= 1 && n <= 25 && !seen[n], "%d twice", n);
			seen[n] = true;
			count++;
		}
		path[0] = '\0';
		if (strstr(r.body, "\"next\":null") == NULL)
			snprintf(path, sizeof(path), LIST "?limit=10&max_bytes=0&cursor=%s",
			         rest_text(&r, "next", next, sizeof(next)));
	}
	cr_expect_eq(pages, 3);
	cr_expect_eq(count, 25);
}

/* Some pages are empty, and the one that is looked for comes all the same. */
Test(cloud_admin_look, a_long_search_comes_in_helpings)
{
	char path[200], next[80], found[4000];
	int  pages = 0;

	make_many(250);
	campaign_exec(s, "UPDATE campaigns SET name = 'needle' WHERE number = (SELECT min(number) FROM campaigns WHERE "
	                 "stored_ms = 1000);");
	snprintf(path, sizeof(path), LIST "?q=needle");
	for (bool more = true; more; pages++) {
		ANSWER r = admin_get(s, path);
		admin_expect(&r, 200, NULL);
		ids_of(found, &r);
		more = strstr(r.body, "\"next\":null") == NULL;
		cr_expect_str_eq(found, more ? "" : "31 ");
		if (more)
			snprintf(path, sizeof(path), LIST "?q=needle&cursor=%s",
			         rest_text(&r, "next", next, sizeof(next)));
	}
	cr_expect_eq(pages, 3);
}

/* --- One --- */

Test(cloud_admin_look, one_with_all_that_it_has)
{
	char lines[300] = "name=Island\nlevel=l1\ncheckpoint=c1\nhostname=Anna\nstamp=1700000000\n", text[100],
	     hex[PLAYER_HEX];

	name_player(lines, sizeof(lines), "B");
	name_player(lines, sizeof(lines), "C");
	campaign_put(s, "A", AA, lines, 3000);
	campaign_put(s, "B", AA, lines, 100);
	ANSWER left = rest_ask(s, "C", "DELETE", "/v1/campaigns/" AA, "", NULL, 0);
	cr_expect_eq(left.status, 204);
	ANSWER removed = admin_ask(s, "DELETE", LIST "/" AA "/members/0011223344556677", NULL);
	admin_expect(&removed, 404, "not_found");
	ANSWER quota = admin_ask(s, "PUT", "/admin/v1/quotas/campaigns/" AA, "{\"bytes\":5000}");
	admin_expect(&quota, 200, NULL);

	ANSWER r = admin_get(s, LIST "/" AA);
	admin_expect(&r, 200, NULL);
	cr_expect_str_eq(rest_text(&r, "name", text, sizeof(text)), "Island");
	cr_expect_str_eq(rest_text(&r, "hostname", text, sizeof(text)), "Anna");
	cr_expect_str_eq(rest_text(&r, "owner", text, sizeof(text)), player_hex(hex, "A"));
	cr_expect_eq(rest_int(&r, "members"), 1);
	cr_expect_eq(rest_int(&r, "version"), 2);
	cr_expect_eq(rest_int(&r, "checkpoints"), 2);
	cr_expect_not_null(strstr(r.body, "\"trashed_at\":null"));
	cr_expect_eq(rest_count(&r, "member_list"), 2);
	cr_expect_str_eq(rest_text(&r, "member_list.0.player", text, sizeof(text)), player_hex(hex, "B"));
	cr_expect_str_eq(rest_text(&r, "member_list.0.state", text, sizeof(text)), "member");
	cr_expect(rest_bool(&r, "member_list.0.used"));
	cr_expect_str_eq(rest_text(&r, "member_list.1.state", text, sizeof(text)), "left");
	cr_expect_eq(rest_int(&r, "checkpoint_list.0.version"), 2);
	cr_expect(rest_bool(&r, "checkpoint_list.0.small"));
	cr_expect(rest_bool(&r, "checkpoint_list.0.container"));
	cr_expect_str_eq(rest_text(&r, "checkpoint_list.0.by", text, sizeof(text)), player_hex(hex, "B"));
	cr_expect_eq(rest_int(&r, "checkpoint_list.1.stamp"), 1700000000);
	cr_expect_eq(rest_int(&r, "quota.bytes.used"), rest_int(&r, "bytes"));
	cr_expect_eq(rest_int(&r, "quota.bytes.max"), 5000);
	cr_expect_eq(rest_int(&r, "quota.checkpoint.max"), 16777216);
	cr_expect_eq(rest_int(&r, "quota.checkpoint.used"), rest_int(&r, "checkpoint_list.1.bytes"));
	cr_expect_eq(rest_int(&r, "uploads") + rest_int(&r, "downloads"), 0);
}

/* Of two campaigns that had one id. */
Test(cloud_admin_look, one_in_the_trash_by_its_number)
{
	char path[200], text[40];

	campaign_put(s, "A", AA, "name=old\n", 10);
	ANSWER gone = admin_ask(s, "DELETE", LIST "/" AA, NULL);
	admin_expect(&gone, 200, NULL);
	ANSWER in_trash = admin_get(s, LIST "/" AA);
	cr_expect_str_eq(rest_text(&in_trash, "name", text, sizeof(text)), "old");
	cr_expect_null(strstr(in_trash.body, "\"trashed_at\":null"));
	campaign_put(s, "B", AA, "name=new\n", 20);
	ANSWER now = admin_get(s, LIST "/" AA);
	cr_expect_str_eq(rest_text(&now, "name", text, sizeof(text)), "new");
	snprintf(path, sizeof(path), LIST "/" AA "?number=%lld", (long long)rest_int(&gone, "number"));
	ANSWER old = admin_get(s, path);
	cr_expect_str_eq(rest_text(&old, "name", text, sizeof(text)), "old");
	snprintf(path, sizeof(path), LIST "/" AA "/checkpoint?number=%lld", (long long)rest_int(&gone, "number"));
	ANSWER bytes = admin_get(s, path);
	cr_expect_eq(bytes.status, 200);
	cr_expect_not_null(memmem(bytes.body, bytes.body_len, "name=old", 8));
}

Test(cloud_admin_look, the_bytes_of_a_checkpoint)
{
	size_t                len;
	AUTO(auto_free) char *sent = rest_container(&len, AA, "name=x\n", 300000);
	char                  sha256[80], path[300];

	ANSWER put = rest_put(s, "A", AA, "", "", sent, len);
	rest_text(&put, "sha256", sha256, sizeof(sha256));
	campaign_put(s, "A", AA, "name=y\n", 10);
	ANSWER whole = admin_get(s, LIST "/" AA "/checkpoint?version=1");
	cr_assert_eq(whole.status, 200);
	cr_expect(whole.body_len == len && memcmp(whole.body, sent, len) == 0);
	cr_expect_not_null(strstr(whole.head, "Content-Digest: sha-256="));
	ANSWER part =
		admin_ask_with(s, "GET", LIST "/" AA "/checkpoint?version=1", "Range: bytes=100-199\r\n", NULL, 0);
	cr_assert_eq(part.status, 206);
	cr_expect(part.body_len == 100 && memcmp(part.body, sent + 100, 100) == 0);
	ANSWER newest = admin_get(s, LIST "/" AA "/checkpoint");
	cr_expect_not_null(memmem(newest.body, newest.body_len, "name=y", 6));
	ANSWER none = admin_get(s, LIST "/" AA "/checkpoint?version=3");
	admin_expect(&none, 404, "not_found");
	ANSWER beyond =
		admin_ask_with(s, "GET", LIST "/" AA "/checkpoint?version=1", "Range: bytes=9999999-\r\n", NULL, 0);
	admin_expect(&beyond, 416, "range");
	/* Looking is no use of the campaign. */
	cr_expect_eq(campaign_ask(s, "SELECT count(*) FROM members"), 0);

	/* One that was damaged breaks off, or is not begun. */
	snprintf(path, sizeof(path), "%s/blobs/%.2s/%s", s->data, sha256, sha256 + 2);
	FILE *f = fopen(path, "r+");
	cr_assert_not_null(f);
	fseek(f, 1000, SEEK_SET);
	fputc(sent[1000] ^ 1, f);
	fclose(f);
	ANSWER damaged = admin_get(s, LIST "/" AA "/checkpoint?version=1");
	cr_expect(damaged.status == 0 || damaged.body_len < len, "%d %zu", damaged.status, damaged.body_len);
}

/* --- Texts --- */

static void expect_clean(const struct http_result *r)
{
	static const char *const bad[] = { "\x1b",         "\\u001b", "\xe2\x80\xae", "\\u202e",
		                           "\xe2\x80\x8b", "\\u0007", "\xc2\x85" };

	admin_expect(r, 200, NULL);
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		cr_expect_null(strstr(r->body, bad[i]), "%zu in %s", i, r->body);
}

/* Controls, direction marks, what nobody sees, half a character, markup, and what a sheet would calculate. */
Test(cloud_admin_look, hostile_texts_come_out_clean)
{
#define EVIL "\x1b[31m\xe2\x80\xae\xe2\x80\x8b\xff<script>=1+1\x07\xc2\x85"
	char text[300], hex[PLAYER_HEX], path[100];

	campaign_put(s, "A", AA, "name=n" EVIL "\nlevel=l" EVIL "\ncheckpoint=c" EVIL "\nhostname=h" EVIL "\n", 10);
	ANSWER list = admin_get(s, LIST);
	expect_clean(&list);
	ANSWER one = admin_get(s, LIST "/" AA);
	expect_clean(&one);
	cr_expect_not_null(strstr(rest_text(&one, "name", text, sizeof(text)), "<script>"), "text stays text: %s",
	                   text);
	cr_expect_eq(text[0], 'n');
	cr_expect_eq(rest_text(&one, "checkpoint_list.0.hostname", text, sizeof(text))[0], 'h');
	ANSWER found = admin_get(s, LIST "?q=%3Cscript%3E&level=%3CSCRIPT");
	cr_expect_eq(rest_count(&found, "items"), 1);
	snprintf(path, sizeof(path), "/admin/v1/players/%s", player_hex(hex, "A"));
	ANSWER player = admin_get(s, path);
	expect_clean(&player);
	ANSWER revoked = admin_ask(s, "DELETE", LIST "/" AA, NULL);
	expect_clean(&revoked);
	ANSWER back = admin_ask(s, "POST", LIST "/" AA "/unrevoke", "{}");
	expect_clean(&back);
}
