/*
 * Status and settings of a whole server.
 */
#include "base/auto.h"
#include "base/version.h"
#include "conf/conf_table.h"
#include "support/admin_client.h"
#include "support/tunnel_client.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER AUTO(rest_freep) struct http_result

static struct server *s;

static void start(void)
{
	static const char *const sets[] = { "lobby.enable=no", "limits.admin_tokens=7", "turn.uri=turn:a:1", NULL };

	s = server_start(sets);
}

static void stop(void)
{
	server_finish(s);
}

TestSuite(admin_status, .init = start, .fini = stop);

static const char *text_of(const struct http_result *r, const char *way)
{
	static char text[300];

	return rest_text(r, way, text, sizeof(text));
}

static bool has_listener(const struct http_result *r, const char *part, const char *address)
{
	char way[60], is[100];

	for (size_t i = 0; i < rest_count(r, "listeners"); i++) {
		snprintf(way, sizeof(way), "listeners.%zu.part", i);
		if (strcmp(rest_text(r, way, is, sizeof(is)), part) != 0)
			continue;
		snprintf(way, sizeof(way), "listeners.%zu.address", i);
		if (strcmp(rest_text(r, way, is, sizeof(is)), address) == 0)
			return true;
	}
	return false;
}

Test(admin_status, says_what_the_server_is)
{
	char address[100];

	server_advance(s, 100000);
	ANSWER r = admin_get(s, "/admin/v1/status");
	admin_expect(&r, 200, NULL);
	cr_expect_str_eq(text_of(&r, "version"), COOPD_VERSION);
	cr_expect_str_eq(text_of(&r, "state"), "ready");
	cr_expect_str_eq(text_of(&r, "store"), "ok");
	cr_expect_not(rest_bool(&r, "production"));
	cr_expect_geq(rest_int(&r, "uptime_s"), 99);
	cr_expect_leq(rest_int(&r, "uptime_s"), 400);
	cr_expect(rest_bool(&r, "parts.tunnel"));
	cr_expect_not(rest_bool(&r, "parts.lobby"));
	cr_expect_gt(rest_int(&r, "disk.free_bytes"), 0);
	cr_expect_gt(rest_int(&r, "disk.database_bytes"), 0);
	cr_expect_eq(rest_int(&r, "quota.used_bytes"), 0);
	cr_expect_eq(rest_int(&r, "quota.max_bytes"), INT64_C(2147483648));
	snprintf(address, sizeof(address), "127.0.0.1:%d", s->admin_port);
	cr_expect(has_listener(&r, "admin", address), "%s", r.body);
	snprintf(address, sizeof(address), "unix:%s", s->admin_socket);
	cr_expect(has_listener(&r, "admin", address), "%s", r.body);
	snprintf(address, sizeof(address), "127.0.0.1:%d", s->p2p_port);
	cr_expect(has_listener(&r, "p2p", address), "%s", r.body);
}

Test(admin_status, counts_who_is_on)
{
	uint32_t          code;
	struct ws_client *host   = host_open(s->tunnel_port, "A", &code);
	struct ws_client *friend = friend_join(s->tunnel_port, code, "visit", "B");

	server_await_metric(s, "coopd_tunnel_friends", "", 1, ADMIN_PATIENCE_MS);
	ANSWER r = admin_get(s, "/admin/v1/status");
	cr_expect_eq(rest_int(&r, "counts.games"), 1);
	cr_expect_eq(rest_int(&r, "counts.hosts"), 1);
	cr_expect_eq(rest_int(&r, "counts.friends"), 1);
	cr_expect_eq(rest_int(&r, "counts.players"), 1);
	cr_expect_eq(rest_int(&r, "counts.lobbies"), 0);
	ws_client_free(friend);
	ws_client_free(host);
}

/* --- Settings --- */

/* The setting of this name, by pages of so many; the test fails when it is not there. Returns how many there are in all. */
static size_t find_setting(struct http_result *out, size_t *at, const char *key, int limit)
{
	char   path[400], next[100] = "", way[40], is[100];
	size_t count = 0;
	bool   found = false;

	do {
		struct http_result r;

		snprintf(path, sizeof(path), "/admin/v1/settings?limit=%d%s%s", limit, *next ? "&cursor=" : "", next);
		r = admin_get(s, path);
		admin_expect(&r, 200, NULL);
		for (size_t i = 0; i < rest_count(&r, "items") && !found; i++) {
			snprintf(way, sizeof(way), "items.%zu.key", i);
			if (strcmp(rest_text(&r, way, is, sizeof(is)), key) == 0) {
				found = true;
				*at   = i;
			}
		}
		count += rest_count(&r, "items");
		next[0] = '\0';
		if (!strstr(r.body, "\"next\":null"))
			rest_text(&r, "next", next, sizeof(next));
		if (found && !out->body)
			*out = r;
		else
			rest_freep(&r);
	} while (*next);
	cr_assert(found, "%s is not there", key);
	return count;
}

static void expect_setting(const char *key, const char *value, const char *source, bool is_default)
{
	ANSWER r = { 0 };
	size_t at;
	char   way[40];

	find_setting(&r, &at, key, 1000);
	snprintf(way, sizeof(way), "items.%zu.source", at);
	cr_expect_str_eq(text_of(&r, way), source, "%s", key);
	snprintf(way, sizeof(way), "items.%zu.default", at);
	cr_expect_eq(rest_bool(&r, way), is_default, "%s", key);
	snprintf(way, sizeof(way), "items.%zu.value", at);
	if (value)
		cr_expect_str_eq(text_of(&r, way), value, "%s", key);
	else
		cr_expect_null(strstr(r.body, SERVER_TURN_SECRET), "a secret is shown");
}

Test(admin_status, shows_settings_and_where_they_come_from)
{
	char path[200];

	expect_setting("limits.admin_tokens", "7", "--set", false);
	expect_setting("limits.admin_bans", "10000", "default", true);
	expect_setting("lobby.enable", "no", "--set", false);
	expect_setting("admin.hosts", "", "default", true);
	expect_setting("turn.secret", NULL, "--set", false);
	snprintf(path, sizeof(path), "%s", s->admin_events_socket);
	expect_setting("admin.events_socket", path, "--set", false);
}

Test(admin_status, settings_come_in_pages_and_all_of_them)
{
	ANSWER r  = { 0 };
	size_t at = 0;

	cr_expect_eq(find_setting(&r, &at, "update.dir", 17), CONF_ROWS);
}
