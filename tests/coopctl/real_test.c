/*
 * coopctl and the server it is for: with a game, a campaign, a lobby, peers and rooms in it, every list and every single thing
 * is shown both ways, and what is done to them is done.
 */
#include "base/auto.h"
#include "base/hex.h"
#include "support/admin_client.h"
#include "support/coopctl.h"
#include "support/identity.h"
#include "support/lobby_client.h"
#include "support/p2p_client.h"
#include "support/rooms_client.h"
#include "support/server.h"
#include "support/signal_client.h"
#include "support/tunnel_client.h"
#include "support/tunnel_message.h"
#include "support/ws_client.h"

#include <criterion/criterion.h>

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define TITLE    "NPWR00860_00"
#define CAMPAIGN "00000000000000aa"

/* What is going on in the server. */
static struct world {
	struct server        *s;
	struct coopctl_run    run;
	uint32_t              code;
	struct ws_client     *host, *friend;
	char                  player[17]; /* the host's id */
	struct master_host    lobby;
	struct identity       identity;
	struct signal_client *peer;
	struct gamer         *alice, *bob;
	uint64_t              room;
	struct p2p_clients    people;
	struct p2p_client    *ann;
} w;

static void store_campaign(const char *key, const char *campaign, const char *lines)
{
	size_t                              len   = 0;
	AUTO(auto_free) char               *bytes = rest_container(&len, campaign, lines, 5000);
	AUTO(rest_freep) struct http_result r     = rest_put(w.s, key, campaign, "", "", bytes, len);

	cr_assert_eq(r.status, 201, "%d %s", r.status, r.body);
}

static void begin(void)
{
	uint8_t id[ID_BYTES];

	w.s      = server_start((const char *[]){ "limits.cloud_interval_ms=0", "admin.listen=127.0.0.1:0",
	                                          "admin.events_listen=127.0.0.1:0", NULL });
	w.run    = (struct coopctl_run){ .socket = w.s->admin_socket, .real_clock = true };
	w.host   = host_open(w.s->tunnel_port, "A", &w.code);
	w.friend = friend_join(w.s->tunnel_port, w.code, "visit", "B");
	host_expect_friend(w.host, 1, "B");
	id_of(id, "A");
	hex_encode(w.player, id, sizeof(id));
	store_campaign("A", CAMPAIGN, "name=Ada's island\nlevel=Beach\n");
	store_campaign("A", CAMPAIGN, "name=Ada's island\nlevel=Cave\n");
	master_open(&w.lobby, w.s, "203.0.113.7", J("'name':'Ada lobby'"));
	w.identity = identity_of(1);
	w.peer     = signal_registered(w.s, SIGNAL_PLAIN, &w.identity);
	w.room     = gamer_meet(w.s, TITLE, &w.alice, &w.bob);
	gamer_score(w.alice, 7, 0, 42, NOTHING);
	w.ann = p2p_client_new(&w.people, "ann", &(struct p2p_client_options){ .port = w.s->tunnel_port });
	cr_assert_not_null(w.ann);
	cr_assert(p2p_client_create(w.ann, 4));
}

static void end(void)
{
	ws_client_free(w.host);
	ws_client_free(w.friend);
	signal_client_free(w.peer);
	gamer_free(w.alice);
	gamer_free(w.bob);
	p2p_clients_free(&w.people);
	server_finish(w.s);
}

TestSuite(coopctl_real, .init = begin, .fini = end, .timeout = 240);

/* --- One command --- */

static struct coopctl_result run_words(const char *words)
{
	struct coopctl_result r = coopctl(&w.run, words);

	cr_expect_eq(r.status, 0, "coopctl %s: %d %s%s", words, r.status, r.out, r.err);
	return r;
}

/* The table, or the list of fields, has this in it; with --json it is one object that has it too. */
static void expect_shown(const char *words, const char *part)
{
	char                                      with_json[300];
	AUTO(coopctl_freep) struct coopctl_result people = run_words(words);

	cr_expect_not_null(strstr(people.out, part), "coopctl %s: no %s in %s", words, part, people.out);
	snprintf(with_json, sizeof(with_json), "%s --json", words);

	AUTO(coopctl_freep) struct coopctl_result programs = run_words(with_json);
	json_t                                   *read     = json_loads(programs.out, 0, NULL);

	cr_expect(json_is_object(read), "coopctl %s: %s", with_json, programs.out);
	cr_expect_not_null(strstr(programs.out, part), "coopctl %s: no %s in %s", with_json, part, programs.out);
	json_decref(read);
}

static void expect_done(const char *words)
{
	struct coopctl_result r = run_words(words);

	coopctl_freep(&r);
}

static void expect_ends_with(const char *words, int status)
{
	AUTO(coopctl_freep) struct coopctl_result r = coopctl(&w.run, words);

	cr_expect_eq(r.status, status, "coopctl %s: %d %s%s", words, r.status, r.out, r.err);
}

/* The words with %s in them replaced; until the next call. */
static const char *with(const char *format, const char *text)
{
	static char words[300];

	/* Formats are this file's own. */
	const char *at = strstr(format, "%s");

	cr_assert_not_null(at);
	snprintf(words, sizeof(words), "%.*s%s%s", (int)(at - format), format, text, at + 2);
	return words;
}

static const char *code_text(void)
{
	static char text[12];

	snprintf(text, sizeof(text), "%u", (unsigned)w.code);
	return text;
}

static const char *room_text(void)
{
	static char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)w.room);
	return text;
}

static const char *identity_text(void)
{
	static char text[65];

	hex_encode(text, w.identity.key, sizeof(w.identity.key));
	return text;
}

/* The member of the first item of a list; until the next call. */
static const char *first_item(const char *words, const char *member)
{
	static char text[100];
	char        with_json[200];
	json_t     *list, *value;

	snprintf(with_json, sizeof(with_json), "%s --json", words);

	AUTO(coopctl_freep) struct coopctl_result r = run_words(with_json);

	list  = json_loads(r.out, 0, NULL);
	value = json_object_get(json_array_get(json_object_get(list, "items"), 0), member);
	if (json_is_integer(value))
		snprintf(text, sizeof(text), "%lld", (long long)json_integer_value(value));
	else
		snprintf(text, sizeof(text), "%s", json_is_string(value) ? json_string_value(value) : "");
	cr_expect(*text, "coopctl %s: no %s in %s", words, member, r.out);
	json_decref(list);
	return text;
}

/* --- Showing --- */

Test(coopctl_real, the_server_and_its_players_are_shown)
{
	expect_shown("status", "ready");
	expect_shown("games", code_text());
	expect_shown(with("games --host %s", w.player), code_text());
	expect_shown(with("games show %s", code_text()), w.player);
	expect_shown("players", w.player);
	expect_shown(with("players --code %s", code_text()), w.player);
	expect_shown(with("players show %s", code_text()), "Ada's island");
	expect_shown("settings", "limits.tunnel_friends");
	expect_shown("settings --changed", "admin.listen");
	expect_ends_with("games show 999999", 4);
	expect_ends_with("players show 0123456789abcdef", 4);
}

Test(coopctl_real, what_is_stored_is_shown)
{
	expect_shown("campaigns", "Ada's island");
	expect_shown("campaigns --find ISLAND --level cave --newer-than 1d", CAMPAIGN);
	expect_shown(with("campaigns --owner %s --min-bytes 1K", w.player), CAMPAIGN);
	expect_shown("campaigns show island", "Cave");
	expect_shown("quota", "1");
	expect_done("quota players");
	expect_done("quota campaigns");
	expect_done(with("quota player %s", w.player));
	expect_done("quota campaign island");
	expect_done("blobs");
	expect_ends_with("campaigns show nothing", 4);
}

Test(coopctl_real, who_is_connected_is_shown)
{
	expect_shown("lobbies", "Ada lobby");
	expect_shown("signal", identity_text());
	expect_shown("rooms", TITLE);
	expect_shown(with("rooms show %s", room_text()), "alice");
	expect_shown("rooms players", "bob");
	expect_shown("boards", "alice");
	expect_shown("boards show " TITLE " 7", "42");
	expect_shown("p2p", w.ann->room);
	expect_shown("p2p rooms", w.ann->room);
	expect_shown(with("p2p show %s", w.ann->room), w.ann->room);
	expect_ends_with("rooms show 99999", 4);
}

/* --- Doing --- */

Test(coopctl_real, a_game_is_closed_and_a_code_moves)
{
	expect_done(with("games close %s --dry-run", code_text()));
	tunnel_echo(w.host);
	expect_done(with("games kick %s 1 --yes", code_text()));
	expect_done(with("games close %s --yes", code_text()));
	expect_ends_with(with("games show %s", code_text()), 4);
	expect_done(with("players set-code %s --yes", w.player));
	expect_done(with("players free-code %s --yes", w.player));
}

Test(coopctl_real, a_player_is_forgotten)
{
	expect_done(with("players forget %s --name alice --dry-run", w.player));
	expect_shown(with("players forget %s --name alice --dry-run", w.player), "1");
	expect_done(with("players forget %s --name alice --yes", w.player));
	expect_ends_with(with("players forget %s --yes", w.player), 4);
	expect_ends_with(with("players show %s", w.player), 4);
	expect_ends_with("campaigns show island", 4);
}

Test(coopctl_real, a_campaign_goes_and_comes_back)
{
	char words[200];

	expect_done("campaigns download island -o saved");
	expect_done("campaigns download island --of-version 1 -o older");
	expect_done("campaigns restore island 1 --yes");
	expect_done("quota campaign island --bytes 64M");
	expect_shown("quota campaigns", CAMPAIGN);
	expect_done(with("quota player %s --bytes 64M --campaigns 3", w.player));
	expect_shown("quota players", w.player);
	expect_done(with("quota player %s --reset", w.player));

	/* B is known by what he stores; a campaign has him as a member, then as its owner. */
	uint8_t id[ID_BYTES];
	char    b[17];

	store_campaign("B", "00000000000000bb", "name=Mine\n");
	id_of(id, "B");
	hex_encode(b, id, sizeof(id));
	expect_done(with("campaigns add-member island %s", b));
	expect_shown("campaigns show island", b);
	expect_done(with("campaigns transfer island %s --force --yes", b));
	snprintf(words, sizeof(words), "campaigns remove-member island %s --yes", w.player);
	expect_done(words);

	expect_done("campaigns revoke island --yes");
	expect_ends_with("campaigns revoke island --yes", 4);
	expect_shown("campaigns --trash only", CAMPAIGN);
	expect_done("campaigns unrevoke island");
	expect_done("campaigns revoke island --yes");
	expect_done("campaigns purge island --yes");
	expect_ends_with("campaigns unrevoke island", 4);
	expect_done("blobs sweep --yes");
	expect_shown("audit --action campaign", "campaign.revoke");
}

Test(coopctl_real, whoever_is_connected_is_sent_away)
{
	expect_done(with("lobbies remove %s --yes", first_item("lobbies", "id")));
	expect_done(with("signal close %s --yes", identity_text()));
	expect_done(with("rooms kick %s 2 --yes", room_text()));
	expect_done(with("rooms close %s --yes", room_text()));
	expect_ends_with(with("rooms show %s", room_text()), 4);
	expect_done(with("rooms disconnect %s --yes", first_item("rooms players", "user")));
	expect_done(with("p2p close %s --yes", w.ann->room));
	expect_done(with("p2p disconnect %s --yes", first_item("p2p sessions", "player")));
}

Test(coopctl_real, boards_are_saved_emptied_and_filled_again)
{
	expect_done("boards export " TITLE " 7 -o laps.csv");
	expect_done("boards remove-score " TITLE " 7 alice --yes");
	expect_done("boards import " TITLE " 7 laps.csv --yes");
	expect_shown("boards show " TITLE " 7", "alice");
	expect_done("boards reset " TITLE " 7 --yes");
}

Test(coopctl_real, bans_tokens_and_the_trail)
{
	expect_done("bans add 192.0.2.0/24 --reason floods --expires 7d --yes");
	expect_shown("bans", "192.0.2.0/24");
	expect_ends_with("bans add 192.0.2.0/24 --yes", 7);
	expect_ends_with("bans add 127.0.0.0/8 --yes", 7);
	expect_done("bans add 0011223344556677 --yes");
	expect_shown("bans --kind player", "0011223344556677");
	expect_done("bans remove 192.0.2.0/24");
	expect_done("tokens add ci --role operator --expires 1h");
	expect_shown("tokens", "ci");
	expect_done("tokens revoke 1 --yes");
	expect_shown("audit --since 1h", "ban.add");
	expect_shown("audit --who root --limit 1", "token.revoke");
}

Test(coopctl_real, the_server_itself)
{
	expect_done("reload");
	expect_done("reload --dry-run");
	expect_done("backup kept");
	expect_shown("backup --status", "ok");
	expect_done("drain --deadline 0 --yes");
	expect_shown("drain --status", "1");
	expect_done("drain --cancel");

	AUTO(coopctl_freep) struct coopctl_result link = run_words("web --role viewer");

	cr_expect_eq(strncmp(link.out, "http://127.0.0.1:", 17), 0, "%s", link.out);
	cr_expect_not_null(strstr(link.out, "/#"));
}

/* The same over TCP: with a token that coopctl made, and as much as its role may. */
Test(coopctl_real, over_tcp_a_token_does_what_its_role_may)
{
	AUTO(coopctl_freep) struct coopctl_result viewer = run_words("tokens add looker");
	AUTO(coopctl_freep) struct coopctl_result page   = run_words("web");
	char                                      token[100], words[200], url[60] = "";

	snprintf(url, sizeof(url), "%.*s", (int)strcspn(page.out + 7, "/") + 7, page.out);
	snprintf(token, sizeof(token), "COOPCTL_TOKEN=%.64s", viewer.out);
	w.run = (struct coopctl_run){ .env = (const char *const[]){ token, NULL }, .real_clock = true };
	snprintf(words, sizeof(words), "games --url %s", url);
	expect_shown(words, code_text());
	snprintf(words, sizeof(words), "games close %s --yes --url %s", code_text(), url);
	expect_ends_with(words, 5);
	token[15] = token[15] == '0' ? '1' : '0';
	snprintf(words, sizeof(words), "games --url %s", url);
	expect_ends_with(words, 5);
}
