/*
 * The operator's page as people use it: a real server with test clients, and Chromium driven by tests/e2e/run.mjs, where the
 * scenarios are.
 */
#include "base/auto.h"
#include "support/admin_client.h"
#include "support/dial.h"
#include "support/identity.h"
#include "support/lobby_client.h"
#include "support/p2p_peer.h"
#include "support/page_run.h"
#include "support/rooms_client.h"
#include "support/rooms_message.h"
#include "support/signal_client.h"
#include "support/tunnel_client.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TITLE  "NPWR00860_00"
#define ISLAND "00000000000000aa"
#define HARBOR "00000000000000bb"

#define ANSWER AUTO(rest_freep) struct http_result

static struct server    *s;
static struct ws_client *host;

/* Clients say nothing while the browser is slow. */
static void start(void)
{
	s = server_start((const char *const[]){ "limits.ws_ping_ms=3600000", "limits.tunnel_host_silence_ms=3600000",
	                                        "limits.tunnel_friend_silence_ms=3600000",
	                                        "limits.rooms_silence_ms=3600000", "limits.p2p_ping_ms=600000",
	                                        "limits.p2p_silence_ms=600000", "p2p.listen1=127.0.0.1",
	                                        "p2p.listen2=127.0.0.2", "p2p.allow_loopback=yes", NULL });
}

static void stop(void)
{
	if (host)
		ws_client_free(host);
	server_finish(s);
}

TestSuite(page, .init = start, .fini = stop, .timeout = 295);
TestSuite(page_looks, .timeout = 295);

/* --- What scenarios ask for --- */

static void make_token(char out[PAGE_ANSWER_BYTES], const char *name, const char *role, int64_t expires_s)
{
	char body[200];

	snprintf(body, sizeof(body), "{\"name\":\"%s\",\"role\":\"%s\",\"expires_s\":%lld}", name, role,
	         (long long)expires_s);
	ANSWER r = admin_ask(s, "POST", "/admin/v1/tokens", body);
	admin_expect(&r, 201, NULL);
	rest_text(&r, "token", out, PAGE_ANSWER_BYTES);
}

/* "NAME SECONDS" */
static void do_make_token(char out[PAGE_ANSWER_BYTES], const char *rest)
{
	char name[40];
	int  expires_s;

	cr_assert_eq(sscanf(rest, "%39s %d", name, &expires_s), 2);
	make_token(out, name, "operator", expires_s);
}

static void do_revoke_token(char out[PAGE_ANSWER_BYTES], const char *name)
{
	ANSWER list = admin_get(s, "/admin/v1/tokens?limit=1000");
	size_t n    = rest_count(&list, "items");

	snprintf(out, PAGE_ANSWER_BYTES, "there is no token %s", name);
	for (size_t i = 0; i < n; i++) {
		char way[40], text[100];

		snprintf(way, sizeof(way), "items.%zu.name", i);
		if (strcmp(rest_text(&list, way, text, sizeof(text)), name) != 0)
			continue;
		snprintf(way, sizeof(way), "items.%zu.id", i);
		snprintf(text, sizeof(text), "/admin/v1/tokens/%lld", (long long)rest_int(&list, way));
		ANSWER r = admin_ask(s, "DELETE", text, NULL);
		snprintf(out, PAGE_ANSWER_BYTES, "%d", r.status);
	}
}

static void do_make_link(char out[PAGE_ANSWER_BYTES], const char *role)
{
	char body[60];

	snprintf(body, sizeof(body), "{\"role\":\"%s\"}", role);
	ANSWER r = admin_ask(s, "POST", "/admin/v1/login", body);
	admin_expect(&r, 200, NULL);
	rest_text(&r, "secret", out, PAGE_ANSWER_BYTES);
}

/* From this address, or from loopback. Its code. */
static void do_open_game(char out[PAGE_ANSWER_BYTES], const char *from)
{
	uint32_t code;

	host = host_open_from(s->tunnel_port, *from ? from : NULL, "A", &code);
	snprintf(out, PAGE_ANSWER_BYTES, "%u", code);
}

/* Of the game's host; what comes before the end is read. */
static void do_await_end(char out[PAGE_ANSWER_BYTES], const char *rest)
{
	struct ws_client_event e;

	(void)rest;
	do
		e = ws_client_receive(host, DIAL_PATIENCE_MS);
	while (e.what == WS_MESSAGE || e.what == WS_PONG);
	snprintf(out, PAGE_ANSWER_BYTES, "%s", e.what == WS_CLOSED || e.what == WS_END ? "ended" : "still there");
	ws_client_free(host);
	host = NULL;
}

/* The status of an upgrade from there. */
static void do_try_upgrade(char out[PAGE_ANSWER_BYTES], const char *from)
{
	char                     headers[100];
	struct ws_client_options o = { .headers = headers };

	snprintf(headers, sizeof(headers), "X-Forwarded-For: %s\r\n", from);
	struct ws_client *c = ws_client_dial(s->tunnel_port, &o);
	snprintf(out, PAGE_ANSWER_BYTES, "%d", ws_client_upgrade(c, &o));
	ws_client_free(c);
}

static void do_load_campaign(char out[PAGE_ANSWER_BYTES], const char *id)
{
	char path[100];

	snprintf(path, sizeof(path), "/v1/campaigns/%s/checkpoint", id);
	ANSWER r = rest_get(s, "A", path);
	snprintf(out, PAGE_ANSWER_BYTES, "%d", r.status);
}

static void do_advance(char out[PAGE_ANSWER_BYTES], const char *ms)
{
	server_advance(s, atoll(ms));
	strcpy(out, "done");
}

static void do_stop_server(char out[PAGE_ANSWER_BYTES], const char *rest)
{
	(void)rest;
	server_stop(s);
	strcpy(out, "stopped");
}

/* On the ports that it had, for the page is still open there. */
static void do_start_server(char out[PAGE_ANSWER_BYTES], const char *rest)
{
	char set[60];

	(void)rest;
	server_unset(s, "admin.listen");
	server_unset(s, "admin.events_listen");
	snprintf(set, sizeof(set), "admin.listen=127.0.0.1:%d", s->admin_port);
	server_set(s, set);
	snprintf(set, sizeof(set), "admin.events_listen=127.0.0.1:%d", s->admin_events_port);
	server_set(s, set);
	server_launch(s);
	server_await_ready(s);
	strcpy(out, "started");
}

/* How often this action stands in the trail as done. */
static void do_audited(char out[PAGE_ANSWER_BYTES], const char *action)
{
	snprintf(out, PAGE_ANSWER_BYTES, "%zu", admin_audited(s, action, NULL, "ok"));
}

static const struct page_act acts[] = {
	{ "make_token", do_make_token },       { "revoke_token", do_revoke_token }, { "make_link", do_make_link },
	{ "open_game", do_open_game },         { "await_end", do_await_end },       { "try_upgrade", do_try_upgrade },
	{ "load_campaign", do_load_campaign }, { "advance", do_advance },           { "stop_server", do_stop_server },
	{ "start_server", do_start_server },   { "audited", do_audited },           { 0 },
};

/* --- Against a real server --- */

static void run(const char *scenario)
{
	char text[PAGE_ANSWER_BYTES];

	snprintf(text, sizeof(text), "http://127.0.0.1:%d/", s->admin_port);
	setenv("PAGE_URL", text, 1);
	make_token(text, "elke", "operator", 0);
	setenv("TOKEN", text, 1);
	make_token(text, "grafana", "viewer", 0);
	setenv("VIEWER", text, 1);
	page_run(scenario, acts);
}

static void store_campaign(const char *player, const char *id, const char *lines)
{
	size_t                len;
	AUTO(auto_free) char *bytes = rest_container(&len, id, lines, 3000);

	ANSWER r = rest_put(s, player, id, "", "", bytes, len);
	rest_expect(&r, 201, NULL);
}

static void store_campaigns(void)
{
	store_campaign("A", ISLAND, "name=Isl\xc3\xa4nd night\nlevel=Ice\nhostname=Elke\n");
	store_campaign("B", HARBOR, "name==1+1\nlevel=Harbor\nhostname=<img src=x onerror=alert(1)>\n");
}

Test(page, opens_by_a_token_or_a_link_and_says_what_is_wrong_with_one)
{
	run("tokens");
}

Test(page, a_game_is_seen_as_it_opens_and_closed)
{
	run("game");
}

Test(page, a_campaign_is_found_revoked_and_taken_back)
{
	store_campaigns();
	run("campaign");
}

Test(page, an_address_is_banned_and_its_connection_ends)
{
	run("ban");
}

Test(page, a_table_is_exported)
{
	store_campaigns();
	run("export");
}

Test(page, comes_back_by_itself_after_a_restart)
{
	run("restart");
}

/* Of every kind one, with names that try to be markup. */
Test(page, every_view_is_well_with_what_a_server_really_has)
{
	struct master_host    lobby;
	struct p2p_peer       one;
	struct identity       who = identity_of(1);
	char                  code[PAGE_ANSWER_BYTES];
	struct gamer         *gamer = gamer_new(s, TITLE, "<b>Bart</b>");
	struct signal_client *peer  = signal_registered(s, SIGNAL_PLAIN, &who);

	do_open_game(code, "");
	struct ws_client *guest = friend_join(s->tunnel_port, (uint32_t)atoll(code), "visit", "B");
	store_campaigns();
	master_open(&lobby, s, "203.0.113.7", J("'name':'<b>island</b>'"));
	gamer_create(gamer, 4, NOTHING);
	gamer_score(gamer, 7, 0, 98765, TEXT("=1+1"));
	p2p_peer_open(&one, s, 1);
	p2p_peer_ask(&one, "p2p.create", "");

	run("views");

	p2p_peer_free(&one);
	gamer_free(gamer);
	signal_client_free(peer);
	ws_client_free(guest);
}

/* --- Against data of every kind, from tests/e2e/mock.mjs --- */

Test(page_looks, well_in_light)
{
	page_run("mock-light", NULL);
}

Test(page_looks, well_in_dark)
{
	page_run("mock-dark", NULL);
}

Test(page_looks, well_on_a_phone)
{
	page_run("mock-phone", NULL);
	page_run("mock-menu", NULL);
}

Test(page_looks, well_in_dialogs_and_at_the_sign_in)
{
	page_run("mock-dialogs", NULL);
	page_run("mock-sign-in", NULL);
}

Test(page_looks, the_same_after_the_colours_were_switched_and_a_link_was_used)
{
	page_run("mock-theme", NULL);
	page_run("mock-link", NULL);
}

Test(page_looks, without_actions_to_viewers)
{
	page_run("mock-viewer", NULL);
}

Test(page_looks, usable_without_a_mouse)
{
	page_run("mock-keyboard", NULL);
}

Test(page_looks, sorted_filtered_and_exported)
{
	page_run("mock-tables", NULL);
}

Test(page_looks, without_charts_where_npm_brought_none)
{
	page_run("mock-no-charts", NULL);
}
