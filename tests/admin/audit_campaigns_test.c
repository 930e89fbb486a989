/*
 * Each action on campaigns, quotas and blobs stands in the audit trail, with its target and how it ended; a dry run does not.
 */
#include "base/auto.h"
#include "support/admin_client.h"
#include "support/campaign_client.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define ANSWER AUTO(rest_freep) struct http_result
#define AA     "00000000000000aa"
#define ONE    "campaigns/" AA

static struct server *s;

static void start(void)
{
	s = server_start((const char *[]){ "limits.cloud_interval_ms=0", NULL });
}

static void stop(void)
{
	server_finish(s);
}

TestSuite(audit_campaigns, .init = start, .fini = stop, .timeout = 120);

static void act(const char *method, const char *path, const char *body, const char *action, const char *result)
{
	char   full[200], dry[220];
	size_t before = admin_audited(s, action, path, NULL);

	snprintf(full, sizeof(full), "/admin/v1/%s", path);
	snprintf(dry, sizeof(dry), "%s?dry_run=true", full);
	ANSWER tried = admin_ask(s, method, dry, body);
	cr_expect_neq(tried.status, 0, "%s, tried", action);
	cr_expect_eq(admin_audited(s, action, path, NULL), before, "%s was only tried", action);
	ANSWER done = admin_ask(s, method, full, body);
	cr_expect_eq(done.status == 200, strcmp(result, "ok") == 0, "%s: %s", action, done.body);
	cr_expect_eq(admin_audited(s, action, path, NULL), before + 1, "%s", action);
	cr_expect_geq(admin_audited(s, action, path, result), 1, "%s %s", action, result);
}

Test(audit_campaigns, each_action)
{
	char body[60], path[80], hex[PLAYER_HEX];

	campaign_put(s, "A", AA, "name=one\n", 10);
	campaign_put(s, "A", AA, "name=two\n", 10);
	campaign_put(s, "B", "00000000000000bb", "", 10);
	act("POST", ONE "/restore", "{\"version\":1}", "campaign.restore", "ok");
	snprintf(path, sizeof(path), ONE "/members/%s", player_hex(hex, "C"));
	act("PUT", path, NULL, "campaign.member_add", "ok");
	act("DELETE", path, NULL, "campaign.member_remove", "ok");
	act("DELETE", path, NULL, "campaign.member_remove", "not_found");
	snprintf(body, sizeof(body), "{\"player\":\"%s\"}", player_hex(hex, "B"));
	act("POST", ONE "/owner", body, "campaign.transfer", "ok");
	act("DELETE", ONE, NULL, "campaign.revoke", "ok");
	act("DELETE", ONE, NULL, "campaign.revoke", "not_found");
	act("POST", ONE "/unrevoke", "{}", "campaign.unrevoke", "ok");
	act("DELETE", ONE, NULL, "campaign.revoke", "ok");
	act("DELETE", ONE "/trash", NULL, "campaign.purge", "ok");
	act("PUT", "quotas/" ONE, "{\"bytes\":5}", "quota.set", "ok");
	act("PUT", "quotas/" ONE, "{\"bytes\":-5}", "quota.set", "invalid");
	act("POST", "blobs/sweep", "{}", "blobs.sweep", "invalid");
	act("POST", "blobs/sweep", "{\"confirm\":true}", "blobs.sweep", "ok");
}

Test(audit_campaigns, says_who_and_what_was_asked)
{
	char text[200];

	ANSWER r = admin_ask(s, "PUT", "/admin/v1/quotas/" ONE, "{\"bytes\":5}");
	rest_expect(&r, 200, NULL);
	ANSWER trail = admin_get(s, "/admin/v1/audit?action=quota.set");
	rest_expect(&trail, 200, NULL);
	rest_text(&trail, "items.0.who", text, sizeof(text));
	cr_expect(strcmp(text, "root") == 0 || strncmp(text, "uid ", 4) == 0, "%s", text);
	cr_expect_str_eq(rest_text(&trail, "items.0.via", text, sizeof(text)), "unix");
	cr_expect_str_eq(rest_text(&trail, "items.0.detail", text, sizeof(text)), "{\"bytes\":5}");
}
