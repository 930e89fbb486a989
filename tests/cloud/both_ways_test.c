/*
 * One campaign, driven over WebSocket and REST in turn: what one way did, the other sees. The whole server.
 */
#include "base/auto.h"
#include "base/hex.h"
#include "support/rest_client.h"
#include "support/tunnel_message.h"
#include "support/vault_client.h"

#include <criterion/criterion.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CAMPAIGN "00112233445566aa"
#define BELOW    "/v1/campaigns/" CAMPAIGN
#define ROUNDS   16

#define ANSWER AUTO(rest_freep) struct http_result

static struct server    *s;
static struct ws_client *owner, *member;
static char              member_id[17];

static void start(void)
{
	static const char *const sets[] = { "limits.cloud_interval_ms=0", NULL };
	uint8_t                  id[ID_BYTES];

	s      = server_start(sets);
	owner  = vault_client(s->tunnel_port, "A", NULL);
	member = vault_client(s->tunnel_port, "B", NULL);
	id_of(id, "B");
	hex_encode(member_id, id, sizeof(id));
}

static void stop(void)
{
	ws_client_free(owner);
	ws_client_free(member);
	server_finish(s);
}

TestSuite(both_ways, .init = start, .fini = stop);

/* The n-th checkpoint; each names the member and is of another level. */
static void make(struct checkpoint *out, unsigned n)
{
	char lines[200];

	snprintf(lines, sizeof(lines), "level=level %u\nname=Island\nplayer=id:%s\tBob", n, member_id);
	checkpoint_make(out, CAMPAIGN, lines, 20000 + 7000 * n % 60000, n);
}

static void put_over_rest(const char *player, const struct checkpoint *cp)
{
	ANSWER r = rest_put(s, player, CAMPAIGN, "", "", cp->bytes, cp->len);

	rest_expect(&r, 201, NULL);
}

static void expect_bytes(const char *player, const char *path, const struct checkpoint *cp)
{
	ANSWER r = rest_get(s, player, path);

	rest_expect(&r, 200, NULL);
	cr_assert_eq(r.body_len, cp->len, "%s", path);
	cr_expect(memcmp(r.body, cp->bytes, cp->len) == 0, "%s", path);
}

/* Both players, both ways: this is the newest, that the one before it (NULL: none). */
static void expect_both(unsigned version, const struct checkpoint *newest, const struct checkpoint *previous)
{
	char level[80], line[200], path[200];

	expect_bytes("A", BELOW "/checkpoint", newest);
	expect_bytes("B", BELOW "/checkpoint", newest);
	cr_expect_eq(vault_client_check(owner, CAMPAIGN, 0, newest), 0);
	cr_expect_eq(vault_client_check(member, CAMPAIGN, 0, newest), 0);
	if (previous) {
		snprintf(path, sizeof(path), BELOW "/checkpoint?version=%u", version - 1);
		expect_bytes("A", path, previous);
		cr_expect_eq(vault_client_check(member, CAMPAIGN, 1, previous), 0);
	} else {
		cr_expect_eq(vault_client_check(member, CAMPAIGN, 1, newest), FAULT_NOT_FOUND);
	}

	ANSWER list = rest_get(s, "A", "/v1/campaigns");
	cr_expect_eq(rest_int(&list, "campaigns.0.newest.version"), version);
	cr_expect_eq(rest_bool(&list, "campaigns.0.previous"), previous != NULL);
	rest_text(&list, "campaigns.0.newest.level", level, sizeof(level));
	snprintf(line, sizeof(line), CAMPAIGN "\town\t%lld\t%s\t",
	         (long long)rest_int(&list, "campaigns.0.newest.stamp"), level);
	cr_expect_eq(strncmp(vault_client_list(owner), line, strlen(line)), 0, "%s", line);
	cr_expect_not_null(strstr(vault_client_list(member), "\tmember\t"));
}

Test(both_ways, always_agree_about_what_is_stored)
{
	struct checkpoint cps[ROUNDS];

	for (unsigned n = 0; n < ROUNDS; n++) {
		bool by_owner = n == 0 || n % 3 != 0;

		make(&cps[n], n);
		if (n % 2)
			put_over_rest(by_owner ? "A" : "B", &cps[n]);
		else
			cr_assert_eq(vault_client_put(by_owner ? owner : member, CAMPAIGN, &cps[n]), 0);
		expect_both(n + 1, &cps[n], n ? &cps[n - 1] : NULL);
	}
	/* Whichever way they came, cloud.keep of them stay. */
	ANSWER one = rest_get(s, "A", BELOW);
	for (unsigned i = 0; i < 5; i++) {
		char way[40];

		snprintf(way, sizeof(way), "checkpoints.%u.version", i);
		cr_expect_eq(rest_int(&one, way), ROUNDS - i);
	}
	for (unsigned n = 0; n < ROUNDS; n++)
		checkpoint_free(&cps[n]);
}

Test(both_ways, what_is_no_container_is_not_seen_over_websocket)
{
	struct checkpoint cp;

	make(&cp, 1);
	ANSWER raw = rest_put(s, "A", CAMPAIGN, "", "Coop-Meta: {}\r\n", "raw bytes", 9);
	rest_expect(&raw, 201, NULL);
	cr_expect_str_eq(vault_client_list(owner), "");
	cr_expect_eq(vault_client_check(owner, CAMPAIGN, 0, &cp), FAULT_NOT_FOUND);
	cr_assert_eq(vault_client_put(owner, CAMPAIGN, &cp), 0);
	ANSWER second = rest_put(s, "A", CAMPAIGN, "", "Coop-Meta: {}\r\n", "raw again", 9);
	rest_expect(&second, 201, NULL);
	cr_expect_eq(vault_client_check(owner, CAMPAIGN, 0, &cp), 0, "the newest container");
	cr_expect_eq(vault_client_check(owner, CAMPAIGN, 1, &cp), FAULT_NOT_FOUND);
	ANSWER newest = rest_get(s, "A", BELOW "/checkpoint");
	cr_expect_str_eq(newest.body, "raw again");
	checkpoint_free(&cp);
}

Test(both_ways, always_agree_about_who_may)
{
	struct checkpoint cp;
	char              path[100];

	make(&cp, 1);
	cr_assert_eq(vault_client_put(owner, CAMPAIGN, &cp), 0);
	expect_bytes("B", BELOW "/checkpoint", &cp);
	snprintf(path, sizeof(path), BELOW "/members/%s", member_id);
	ANSWER out = rest_ask(s, "A", "DELETE", path, "", NULL, 0);
	rest_expect(&out, 204, NULL);
	cr_expect_str_eq(vault_client_list(member), "");
	cr_expect_eq(vault_client_begin(member, CAMPAIGN, 100), FAULT_NOT_ALLOWED);

	cr_assert_eq(vault_client_put(owner, CAMPAIGN, &cp), 0);
	cr_expect_str_eq(vault_client_list(member), "", "his name in a text does not put him back");
	ANSWER in = rest_ask(s, "A", "PUT", path, "", NULL, 0);
	rest_expect(&in, 204, NULL);
	cr_expect_eq(vault_client_check(member, CAMPAIGN, 0, &cp), 0);

	cr_expect_eq(vault_client_forget(member, CAMPAIGN), 0);
	ANSWER left = rest_get(s, "B", BELOW);
	rest_expect(&left, 404, "not_found");
	cr_assert_eq(vault_client_put(owner, CAMPAIGN, &cp), 0);
	expect_bytes("B", BELOW "/checkpoint", &cp);
	checkpoint_free(&cp);
}

Test(both_ways, always_agree_about_what_is_gone_or_back)
{
	struct checkpoint one, two;

	make(&one, 1);
	make(&two, 2);
	put_over_rest("A", &one);
	cr_assert_eq(vault_client_put(member, CAMPAIGN, &two), 0);
	ANSWER back = rest_ask(s, "A", "POST", BELOW "/restore?version=1", "", NULL, 0);
	rest_expect(&back, 201, NULL);
	expect_both(3, &one, &two);

	cr_expect_eq(vault_client_forget(owner, CAMPAIGN), 0);
	ANSWER gone = rest_get(s, "A", BELOW);
	rest_expect(&gone, 404, "not_found");
	put_over_rest("B", &two);
	cr_expect_eq(vault_client_check(member, CAMPAIGN, 0, &two), 0);
	ANSWER deleted = rest_ask(s, "B", "DELETE", BELOW, "", NULL, 0);
	rest_expect(&deleted, 204, NULL);
	cr_expect_str_eq(vault_client_list(member), "");
	checkpoint_free(&one);
	checkpoint_free(&two);
}

Test(both_ways, share_the_interval_and_the_quota)
{
	struct checkpoint cp;

	server_stop(s);
	ws_client_free(owner);
	ws_client_free(member);
	server_set(s, "limits.cloud_interval_ms=10000");
	server_set(s, "limits.cloud_campaigns=1");
	server_restart(s);
	owner  = vault_client(s->tunnel_port, "A", NULL);
	member = vault_client(s->tunnel_port, "B", NULL);
	make(&cp, 1);
	put_over_rest("A", &cp);
	cr_expect_eq(vault_client_put(owner, CAMPAIGN, &cp), FAULT_TOO_OFTEN);
	cr_assert_eq(vault_client_put(member, CAMPAIGN, &cp), 0);
	ANSWER soon = rest_put(s, "B", CAMPAIGN, "", "", cp.bytes, cp.len);
	rest_expect(&soon, 429, "too_soon");
	server_advance(s, 10000);
	ANSWER eleventh = rest_put(s, "A", "00000000000000bb", "", "Coop-Meta: {}\r\n", "x", 1);
	rest_expect(&eleventh, 507, "campaigns");
	cr_expect_eq(vault_client_begin(owner, "00000000000000bb", 100), FAULT_NO_ROOM);
	checkpoint_free(&cp);
}

static void change_database(const char *sql)
{
	char     path[SERVER_PATH_BYTES + 16];
	sqlite3 *db;

	snprintf(path, sizeof(path), "%s/coop.db", s->data);
	cr_assert_eq(sqlite3_open(path, &db), SQLITE_OK);
	cr_expect_eq(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK, "%s", sqlite3_errmsg(db));
	sqlite3_close(db);
}

/* As if the campaigns were those of another key that has the same id: 8 of its 32 bytes of digest. */
Test(both_ways, know_a_player_by_the_whole_digest)
{
	struct checkpoint cp;
	char              path[100];

	make(&cp, 1);
	put_over_rest("A", &cp);
	server_stop(s);
	ws_client_free(owner);
	ws_client_free(member);
	change_database("UPDATE players SET digest = CAST(id || x'01' || zeroblob(23) AS BLOB)");
	server_restart(s);
	owner  = vault_client(s->tunnel_port, "A", NULL);
	member = vault_client(s->tunnel_port, "B", NULL);

	cr_expect_eq(vault_client_begin(owner, CAMPAIGN, cp.len), FAULT_NOT_ALLOWED);
	cr_expect_eq(vault_client_check(owner, CAMPAIGN, 0, &cp), FAULT_NOT_FOUND);
	cr_expect_eq(vault_client_forget(owner, CAMPAIGN), FAULT_NOT_FOUND);
	ws_client_send(owner, "1b");
	cr_expect_eq(vault_client_fault(owner), FAULT_NOT_FOUND);

	ANSWER put = rest_put(s, "A", CAMPAIGN, "", "", cp.bytes, cp.len);
	rest_expect(&put, 403, "not_allowed");
	snprintf(path, sizeof(path), BELOW "/members/%s", member_id);
	static const char *const asked[][2] = { { "GET", "/v1/campaigns" },
		                                { "GET", BELOW },
		                                { "GET", BELOW "/checkpoint" },
		                                { "POST", BELOW "/restore?version=1" },
		                                { "DELETE", BELOW } };
	for (size_t i = 0; i < COUNT_OF(asked); i++) {
		ANSWER r = rest_ask(s, "A", asked[i][0], asked[i][1], "", NULL, 0);
		rest_expect(&r, 404, "not_found");
	}
	ANSWER removed = rest_ask(s, "A", "DELETE", path, "", NULL, 0);
	rest_expect(&removed, 404, "not_found");

	/* The member's key is known by no row, and is as good as ever. */
	expect_bytes("B", BELOW "/checkpoint", &cp);
	checkpoint_free(&cp);
}
