/*
 * A player is forgotten while he plays: connections, rows, trail and events, and what the answer says of the rest.
 */
#include "base/auto.h"
#include "support/admin_client.h"
#include "support/campaign_client.h"
#include "support/events_client.h"
#include "support/rooms_client.h"
#include "support/tunnel_client.h"
#include "support/vault_client.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER AUTO(rest_freep) struct http_result
#define AA     "00000000000000aa"
#define BB     "00000000000000bb"
#define TITLE  "NPWR00860_00"

static struct server *s;
static char           anna[PLAYER_HEX], ben[PLAYER_HEX];

static void start(void)
{
	s = server_start((const char *[]){ "limits.cloud_interval_ms=0", NULL });
	player_hex(anna, "A");
	player_hex(ben, "B");
}

static void stop(void)
{
	server_finish(s);
}

TestSuite(admin_forget, .init = start, .fini = stop, .timeout = 120);

static struct http_result forget(const char *player, const char *query, const char *body)
{
	char path[100];

	snprintf(path, sizeof(path), "/admin/v1/players/%s/forget%s", player, query);
	return admin_ask(s, "POST", path, body);
}

/* Rows of any table or view in which the id stands; the statements come from the schema itself. */
static int64_t rows_with(const char *hex)
{
	char  command[1200], line[400];
	FILE *f;
	int   rows = 0;

	snprintf(command, sizeof(command),
	         "sqlite3 -readonly '%s/coop.db' .dump > '%s/dump' && for v in $(sqlite3 -readonly '%s/coop.db' "
	         "\"SELECT name FROM "
	         "sqlite_master WHERE type = 'view'\"); do sqlite3 -readonly '%s/coop.db' \"SELECT * FROM $v\" >> "
	         "'%s/dump'; done; "
	         "grep -i '%s' '%s/dump'",
	         s->data, s->root, s->data, s->data, s->root, hex, s->root);
	f = popen(command, "r");
	cr_assert_not_null(f);
	while (fgets(line, sizeof(line), f)) {
		fputs(line, stderr);
		rows++;
	}
	pclose(f);
	return rows;
}

static void expect_nowhere(const char *hex)
{
	static const char        campaign[] = "/admin/v1/campaigns/" AA;
	static const char *const asked[] = { "/admin/v1/players", "/admin/v1/games", "/admin/v1/campaigns?trash=also",
		                             "/admin/v1/audit", campaign };

	cr_expect_eq(rows_with(hex), 0);
	for (size_t i = 0; i < COUNT_OF(asked); i++) {
		ANSWER r = admin_get(s, asked[i]);

		cr_expect_null(strcasestr(r.body, hex), "%s: %s", asked[i], r.body);
	}
}

/* Every event that is kept. */
static void expect_no_event(const char *hex)
{
	struct events_client *v = events_open(s);
	int64_t               seen;

	events_say(v, "{\"op\":\"filter\",\"kinds\":[\"*\"],\"figures\":false}");
	events_since(v, 0);
	/* Its own action comes last. */
	do {
		events_await_op(v, "event");
		char *text = json_text(v->last);

		cr_expect_null(strstr(text, hex), "%s", text);
		free(text);
		seen = events_is(v, "kind", "admin.action");
	} while (!seen);
	cr_expect(events_is(v, "target", "players/forgotten"));
	events_free(v);
}

Test(admin_forget, a_player_goes_while_he_plays)
{
	char              lines[200] = "name=Island\n";
	uint32_t          code, other;
	struct ws_client *host  = host_open(s->tunnel_port, "B", &code), *friend, *vault, *guest;
	struct ws_client *annas = host_open(s->tunnel_port, "A", &other);

	friend = friend_join(s->tunnel_port, code, "visit", "C");
	guest  = friend_join(s->tunnel_port, other, "visits", "B");
	name_player(lines, sizeof(lines), "B");
	campaign_put(s, "A", AA, lines, 1000);
	campaign_put(s, "B", AA, "name=Ben was here\n", 900);
	campaign_put(s, "B", BB, "", 800);
	vault = vault_client(s->tunnel_port, "B", NULL);
	cr_assert_gt(rows_with(ben), 5);

	ANSWER tried = forget(ben, "?dry_run=true", NULL);
	rest_expect(&tried, 200, NULL);
	cr_expect_eq(rest_int(&tried, "connections"), 4, "%s", tried.body);
	cr_expect_eq(rest_int(&tried, "deleted"), 1);
	cr_expect_gt(rows_with(ben), 5, "only tried");

	ANSWER r = forget(ben, "", NULL);
	rest_expect(&r, 200, NULL);
	cr_expect_eq(rest_int(&r, "code"), (int64_t)code);
	cr_expect_eq(rest_int(&r, "connections"), 4, "his game's two, his place, his vault: %s", r.body);
	cr_expect_eq(rest_int(&r, "deleted"), 1);
	cr_expect_eq(rest_int(&r, "memberships"), 1);
	cr_expect_eq(rest_int(&r, "checkpoints"), 1);
	cr_expect_not(rest_bool(&r, "banned"));
	cr_expect(rest_bool(&r, "copies_complete"));
	ws_expect_end(host);
	ws_expect_end(friend);
	ws_expect_end(guest);
	ws_expect_end(vault);
	host_expect_friend(annas, 1, "B");
	host_expect_gone(annas, 1);
	tunnel_echo(annas);
	expect_nowhere(ben);
	expect_no_event(ben);
	cr_expect_eq(admin_audited(s, "player.forget", "players/forgotten", "ok"), 1);
	campaign_check_sums(s);

	ANSWER again = forget(ben, "", NULL);
	rest_expect(&again, 404, "not_found");
	expect_nowhere(ben);
	ws_client_free(host);
	ws_client_free(friend);
	ws_client_free(guest);
	ws_client_free(vault);

	/* He may come back, as a new player, also after a restart. */
	server_restart(s);
	expect_nowhere(ben);
	ws_client_free(annas);
	host = host_open(s->tunnel_port, "B", &code);
	ws_client_free(host);
	cr_expect_gt(rows_with(ben), 0);
}

Test(admin_forget, campaigns_with_members_are_asked_about)
{
	char lines[200] = "", body[100];

	name_player(lines, sizeof(lines), "A");
	campaign_put(s, "B", AA, lines, 1000);
	ANSWER nobody = forget("", "", "{}");
	rest_expect(&nobody, 404, "not_found");
	ANSWER tried = forget(ben, "?dry_run=true", "{}");
	rest_expect(&tried, 200, NULL);
	cr_expect_eq(rest_int(&tried, "undecided"), 1, "%s", tried.body);
	cr_expect_eq(rest_int(&tried, "deleted"), 0, "%s", tried.body);
	cr_expect_not_null(strstr(tried.body, "[{\"id\":\"" AA "\",\"members\":1}]"), "%s", tried.body);
	ANSWER decided = forget(ben, "?dry_run=true", "{\"delete\":true}");
	cr_expect_eq(rest_int(&decided, "undecided"), 0, "%s", decided.body);
	cr_expect_eq(rest_int(&decided, "deleted"), 1, "%s", decided.body);
	ANSWER no = forget(ben, "", "{}");
	rest_expect(&no, 409, "conflict");
	cr_expect_not_null(strstr(no.body, "they are: " AA), "%s", no.body);
	ANSWER himself = forget(ben, "", "{\"transfer_to\":\"0011223344556677\"}");
	rest_expect(&himself, 422, "invalid");
	ANSWER both = forget(ben, "", "{\"transfer_to\":\"0011223344556677\",\"delete\":true}");
	rest_expect(&both, 422, "invalid");
	cr_expect_gt(rows_with(ben), 0);
	campaign_put(s, "A", BB, "", 100);
	snprintf(body, sizeof(body), "{\"transfer_to\":\"%s\"}", anna);
	ANSWER r = forget(ben, "", body);
	rest_expect(&r, 200, NULL);
	cr_expect_eq(rest_int(&r, "transferred"), 1);
	cr_expect_gt(rest_int(&r, "audit"), 0, "what was refused named him");
	expect_nowhere(ben);
	cr_expect_eq(campaign_ask(s, "SELECT count(*) FROM campaigns"), 2);
	ANSWER unknown = forget("0011223344556677", "", "{\"names\":7}");
	rest_expect(&unknown, 422, "invalid");
}

Test(admin_forget, names_go_from_all_boards)
{
	struct gamer *alice, *bob;

	gamer_meet(s, TITLE, &alice, &bob);
	gamer_score(alice, 7, 0, 42, NOTHING);
	gamer_score(alice, 8, 0, 43, NOTHING);
	gamer_score(bob, 8, 0, 44, NOTHING);
	ws_client_free(host_open(s->tunnel_port, "B", NULL));
	ANSWER tried = forget(ben, "?dry_run=true", "{\"names\":[\"ALICE\",\"nobody\"]}");
	rest_expect(&tried, 200, NULL);
	cr_expect_eq(rest_int(&tried, "scores"), 2, "%s", tried.body);
	ANSWER r = forget(ben, "", "{\"names\":[\"ALICE\",\"nobody\"]}");
	rest_expect(&r, 200, NULL);
	cr_expect_eq(rest_int(&r, "scores"), 2, "%s", r.body);
	cr_expect_eq(rows_with("alice"), 0);
	cr_expect_gt(rows_with("bob"), 0);
	ANSWER trail = admin_get(s, "/admin/v1/audit");
	cr_expect_null(strcasestr(trail.body, "alice"), "%s", trail.body);
	gamer_free(alice);
	gamer_free(bob);
}
