/*
 * Players as operators see them.
 */
#include "base/auto.h"
#include "support/admin_client.h"
#include "support/campaign_client.h"
#include "support/dial.h"
#include "support/tunnel_client.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER AUTO(rest_freep) struct http_result
#define AA     "00000000000000aa"
#define BB     "00000000000000bb"
#define LIST   "/admin/v1/players"

static struct server *s;

static void start(void)
{
	s = server_start((const char *[]){ "limits.cloud_interval_ms=0", NULL });
}

static void stop(void)
{
	server_finish(s);
}

TestSuite(players, .init = start, .fini = stop, .timeout = 120);

static struct http_result get_player(const char *key)
{
	char path[100], hex[PLAYER_HEX];

	snprintf(path, sizeof(path), LIST "/%s", player_hex(hex, key));
	return admin_get(s, path);
}

static void await_hosting(const char *key, bool hosting)
{
	for (int64_t until = real_now_ms() + DIAL_PATIENCE_MS; real_now_ms() < until; real_sleep_ms(20)) {
		ANSWER r = get_player(key);

		if (r.status == 200 && rest_bool(&r, "hosting") == hosting)
			return;
	}
	cr_expect(false, "hosting is not %d", hosting);
}

Test(players, a_host_has_a_code_and_a_game)
{
	uint32_t          code;
	char              path[100], hex[PLAYER_HEX], text[40];
	struct ws_client *host = host_open(s->tunnel_port, "A", &code);

	await_hosting("A", true);
	ANSWER r = get_player("A");
	cr_expect_eq(rest_int(&r, "code"), (int64_t)code);
	cr_expect_eq(rest_int(&r, "campaigns"), 0);
	cr_expect_not(rest_bool(&r, "banned"));
	cr_expect_eq(rest_count(&r, "campaign_list"), 0);
	snprintf(path, sizeof(path), LIST "?code=%u", (unsigned)code);
	ANSWER of_code = admin_get(s, path);
	cr_expect_eq(rest_count(&of_code, "items"), 1);
	cr_expect_str_eq(rest_text(&of_code, "items.0.id", text, sizeof(text)), player_hex(hex, "A"));
	snprintf(path, sizeof(path), LIST "?code=%u&q=%s", (unsigned)code, hex);
	ANSWER both = admin_get(s, path);
	cr_expect_eq(rest_count(&both, "items"), 1);
	snprintf(path, sizeof(path), LIST "?code=%u&q=%c", (unsigned)code, hex[0] == '0' ? '1' : '0');
	ANSWER neither = admin_get(s, path);
	cr_expect_eq(rest_count(&neither, "items"), 0);
	snprintf(path, sizeof(path), LIST "?code=%u", code == 999999 ? 999998 : (unsigned)code + 1);
	ANSWER nobody = admin_get(s, path);
	cr_expect_eq(rest_count(&nobody, "items"), 0);
	ws_client_free(host);
}

Test(players, campaigns_and_quota)
{
	char lines[100] = "name=Island\n", path[100], hex[PLAYER_HEX], text[40];

	name_player(lines, sizeof(lines), "B");
	campaign_put(s, "A", AA, lines, 1000);
	server_advance(s, 10000);
	campaign_put(s, "B", BB, "name=Harbor\n", 500);
	snprintf(path, sizeof(path), "/admin/v1/quotas/players/%s", player_hex(hex, "B"));
	ANSWER set = admin_ask(s, "PUT", path, "{\"campaigns\":3}");
	rest_expect(&set, 200, NULL);
	ANSWER r = get_player("B");
	rest_expect(&r, 200, NULL);
	cr_expect_not_null(strstr(r.body, "\"code\":null"));
	cr_expect_eq(rest_int(&r, "campaigns"), 1);
	cr_expect_eq(rest_count(&r, "campaign_list"), 2);
	cr_expect_str_eq(rest_text(&r, "campaign_list.0.id", text, sizeof(text)), BB);
	cr_expect_str_eq(rest_text(&r, "campaign_list.0.role", text, sizeof(text)), "owner");
	cr_expect_str_eq(rest_text(&r, "campaign_list.1.id", text, sizeof(text)), AA);
	cr_expect_str_eq(rest_text(&r, "campaign_list.1.role", text, sizeof(text)), "member");
	cr_expect_str_eq(rest_text(&r, "campaign_list.1.name", text, sizeof(text)), "Island");
	cr_expect_eq(rest_int(&r, "quota.campaigns.used"), 1);
	cr_expect_eq(rest_int(&r, "quota.campaigns.max"), 3);
	cr_expect_eq(rest_int(&r, "quota.campaigns.override"), 3);
	cr_expect_eq(rest_int(&r, "quota.bytes.used"), rest_int(&r, "bytes"));
	cr_expect_eq(rest_int(&r, "quota.checkpoint.used"), rest_int(&r, "bytes"));
	cr_expect_eq(rest_int(&r, "quota.checkpoint.max"), 16777216);
	ANSWER revoked = admin_ask(s, "DELETE", "/admin/v1/campaigns/" AA, NULL);
	rest_expect(&revoked, 200, NULL);
	ANSWER after = get_player("B");
	cr_expect_eq(rest_count(&after, "campaign_list"), 1);
}

Test(players, in_pages_by_id)
{
	char keys[2] = "A", path[160] = LIST "?limit=2", last[40] = "", text[80], way[40];
	int  pages = 0, count = 0;

	for (; keys[0] <= 'E'; keys[0]++) {
		char campaign[17];

		snprintf(campaign, sizeof(campaign), "%016x", (unsigned)keys[0]);
		campaign_put(s, keys, campaign, "", 10);
	}
	for (; path[0]; pages++) {
		ANSWER r = admin_get(s, path);
		rest_expect(&r, 200, NULL);
		for (size_t i = 0; i < rest_count(&r, "items"); i++, count++) {
			snprintf(way, sizeof(way), "items.%zu.id", i);
			rest_text(&r, way, text, sizeof(text));
			cr_expect_gt(strcmp(text, last), 0);
			snprintf(last, sizeof(last), "%.20s", text);
		}
		path[0] = '\0';
		if (!strstr(r.body, "\"next\":null"))
			snprintf(path, sizeof(path), LIST "?limit=2&cursor=%s",
			         rest_text(&r, "next", text, sizeof(text)));
	}
	cr_expect_eq(pages, 3);
	cr_expect_eq(count, 5);
	/* By beginnings of any length, odd ones, too. */
	for (size_t digits = 1; digits <= 16; digits += 5) {
		snprintf(path, sizeof(path), LIST "?q=%.*s", (int)digits, last);
		ANSWER r = admin_get(s, path);
		cr_expect_eq(rest_count(&r, "items") > 0, true, "%s", path);
		for (size_t i = 0; i < rest_count(&r, "items"); i++) {
			snprintf(way, sizeof(way), "items.%zu.id", i);
			cr_expect_eq(strncmp(rest_text(&r, way, text, sizeof(text)), last, digits), 0);
		}
	}
	snprintf(path, sizeof(path), LIST "?cursor=ffffffffffffffff");
	ANSWER behind = admin_get(s, path);
	cr_expect_str_eq(behind.body, "{\"items\":[],\"next\":null}");
}

Test(players, who_is_banned)
{
	char sql[400], hex[PLAYER_HEX];

	campaign_put(s, "A", AA, "", 10);
	campaign_put(s, "B", BB, "", 10);
	snprintf(sql, sizeof(sql),
	         "INSERT INTO bans (kind, value, reason, made_ms, made_by) VALUES (1, '%s', 'x', 1, 'root');",
	         player_hex(hex, "A"));
	campaign_exec(s, sql);
	snprintf(sql, sizeof(sql),
	         "INSERT INTO bans (kind, value, reason, made_ms, made_by, until_ms) VALUES (1, '%s', 'x', 1, 'root', "
	         "1000);",
	         player_hex(hex, "B"));
	campaign_exec(s, sql);
	ANSWER a = get_player("A");
	cr_expect(rest_bool(&a, "banned"));
	ANSWER b = get_player("B");
	cr_expect_not(rest_bool(&b, "banned"), "that is over");
}

Test(players, what_is_mistyped_is_refused)
{
	static const struct {
		const char *path;
		int         status;
		const char *code;
	} cases[] = {
		{ LIST "?code=99999", 422, "invalid" },
		{ LIST "?code=1000000", 422, "invalid" },
		{ LIST "?q=xyz", 422, "invalid" },
		{ LIST "?q=01234567012345670", 422, "invalid" },
		{ LIST "?cursor=00", 400, "malformed" },
		{ LIST "?name=x", 400, "malformed" },
		{ LIST "/0123", 404, "not_found" },
		{ LIST "/0123456701234567", 404, "not_found" },
		{ LIST "/0123456701234567?q=1", 400, "malformed" },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		ANSWER r = admin_get(s, cases[i].path);
		admin_expect(&r, cases[i].status, cases[i].code);
	}
}
