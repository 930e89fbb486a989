/*
 * Every kind of event comes when it should, with what it should say: the real server, driven by the tests' clients.
 */
#include "base/auto.h"
#include "base/event.h"
#include "base/hex.h"
#include "support/admin_client.h"
#include "support/events_client.h"
#include "support/faulty_server.h"
#include "support/identity.h"
#include "support/lobby_client.h"
#include "support/p2p_peer.h"
#include "support/rest_client.h"
#include "support/rooms_client.h"
#include "support/server.h"
#include "support/signal_client.h"
#include "support/tunnel_client.h"
#include "support/tunnel_message.h"
#include "support/vault_client.h"

#include <criterion/criterion.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define CAMPAIGN "00112233445566aa"
#define TITLE    "NPWR00860_00"

static struct server        *s;
static struct events_client *v;

static void start(void)
{
	s = server_start((const char *const[]){ LOBBY_PROMPT, "log.addresses=full", NULL });
	v = events_open(s);
	events_say(v, "{\"op\":\"filter\",\"figures\":false}");
}

static void stop(void)
{
	events_free(v);
	server_finish(s);
}

TestSuite(events_kinds, .init = start, .fini = stop);

static const char *player(const char *key)
{
	static char text[2 * ID_BYTES + 1];
	uint8_t     id[ID_BYTES];

	id_of(id, key);
	hex_encode(text, id, sizeof(id));
	return text;
}

Test(events_kinds, games_and_friends)
{
	uint32_t          code;
	struct ws_client *host = host_open(s->tunnel_port, "A", &code), *friend, *again;

	events_await(v, "game.opened");
	cr_expect_eq(events_int(v, "code"), code);
	cr_expect_eq(events_int(v, "version"), 2);
	cr_expect(events_is(v, "host", player("A")));
	cr_expect(events_is(v, "from", "127.0.0.1"));

	friend = friend_join(s->tunnel_port, code, "visit", "B");
	events_await(v, "friend.joined");
	cr_expect_eq(events_int(v, "code"), code);
	cr_expect_eq(events_int(v, "number"), 1);
	cr_expect(events_is(v, "player", player("B")));

	ws_client_drop(host);
	events_await(v, "game.host_lost");
	cr_expect_eq(events_int(v, "code"), code);
	again = host_open(s->tunnel_port, "A", &code);
	events_await(v, "game.host_back");
	cr_expect_eq(events_int(v, "code"), code);

	ws_client_drop(friend);
	events_await(v, "friend.left");
	cr_expect_eq(events_int(v, "number"), 1);
	cr_expect(events_is(v, "player", player("B")));
	ws_client_drop(again);
	events_await(v, "game.host_lost");
	server_advance(s, 3600000);
	events_await(v, "game.closed");
	cr_expect_eq(events_int(v, "code"), code);
	ws_client_free(host);
	ws_client_free(friend);
	ws_client_free(again);
}

/* A new connection of the same host or friend takes the place of the old one: nobody was lost. */
Test(events_kinds, who_comes_again_by_himself_was_not_lost)
{
	uint32_t          code;
	struct ws_client *host = host_open(s->tunnel_port, "A", &code), *again;

	events_await(v, "game.opened");
	again = host_open(s->tunnel_port, "A", &code);
	events_await_op(v, "event");
	cr_expect(events_is(v, "kind", "game.host_back"));
	ws_client_free(host);
	ws_client_free(again);
}

Test(events_kinds, a_game_of_protocol_1_has_no_player)
{
	struct tunnel_ticket ticket;
	struct ws_client    *host = host_open_1(s->tunnel_port, NULL, &ticket), *friend;

	events_await(v, "game.opened");
	cr_expect_eq(events_int(v, "version"), 1);
	cr_expect_null(events_text(v, "host"));
	friend = friend_join_1(s->tunnel_port, ticket.code, "visit");
	events_await(v, "friend.joined");
	cr_expect_null(events_text(v, "player"));
	ws_client_free(friend);
	ws_client_free(host);
}

Test(events_kinds, checkpoints_over_the_tunnel)
{
	struct ws_client *c = vault_client(s->tunnel_port, "A", NULL);
	struct checkpoint cp, got;

	checkpoint_make(&cp, CAMPAIGN, NULL, 1000, 7);
	cr_expect_eq(vault_client_put(c, CAMPAIGN, &cp), 0);
	events_await(v, "campaign.made");
	cr_expect(events_is(v, "campaign", CAMPAIGN));
	cr_expect(events_is(v, "player", player("A")));
	events_await(v, "checkpoint.stored");
	cr_expect(events_is(v, "via", "vault"));
	cr_expect_eq(events_int(v, "version"), 1);
	cr_expect_eq(events_int(v, "bytes"), (int64_t)cp.len);

	cr_expect_eq(vault_client_get(&got, c, CAMPAIGN, 0), 0);
	events_await(v, "checkpoint.loaded");
	cr_expect(events_is(v, "via", "vault"));
	cr_expect_eq(events_int(v, "bytes"), (int64_t)cp.len);
	checkpoint_free(&got);

	/* At once again: too soon. */
	cr_expect_neq(vault_client_put(c, CAMPAIGN, &cp), 0);
	events_await(v, "checkpoint.refused");
	cr_expect(events_is(v, "via", "vault"));
	cr_expect(events_is(v, "reason", "too_soon"));
	cr_expect(events_is(v, "campaign", CAMPAIGN));

	cr_expect_eq(vault_client_forget(c, CAMPAIGN), 0);
	events_await(v, "campaign.deleted");
	cr_expect(events_is(v, "by", player("A")));
	checkpoint_free(&cp);
	ws_client_free(c);
}

static struct http_result put(const char *key, unsigned seed)
{
	size_t                len = 1000;
	AUTO(auto_free) char *cp  = rest_bytes(len, seed);

	return rest_put(s, key, CAMPAIGN, "", "Coop-Meta: {}\r\n", cp, len);
}

Test(events_kinds, checkpoints_over_rest)
{
	AUTO(rest_freep) struct http_result stored = put("A", 1);

	rest_expect(&stored, 201, NULL);
	events_await(v, "checkpoint.stored");
	cr_expect(events_is(v, "via", "rest"));
	cr_expect(events_is(v, "player", player("A")));

	AUTO(rest_freep) struct http_result got = rest_get(s, "A", "/v1/campaigns/" CAMPAIGN "/checkpoint");
	rest_expect(&got, 200, NULL);
	events_await(v, "checkpoint.loaded");
	cr_expect(events_is(v, "via", "rest"));
	cr_expect_eq(events_int(v, "version"), 1);

	AUTO(rest_freep) struct http_result foreign = put("B", 2);
	cr_expect_neq(foreign.status, 201);
	events_await(v, "checkpoint.refused");
	cr_expect(events_is(v, "via", "rest"));
	cr_expect(events_is(v, "player", player("B")));

	server_advance(s, 60000);
	AUTO(rest_freep) struct http_result second = put("A", 3);
	rest_expect(&second, 201, NULL);
	AUTO(rest_freep)
	struct http_result back = rest_ask(s, "A", "POST", "/v1/campaigns/" CAMPAIGN "/restore?version=1", "", NULL, 0);
	rest_expect(&back, 201, NULL);
	events_await(v, "campaign.restored");
	cr_expect(events_is(v, "by", player("A")));
	cr_expect_gt(events_int(v, "version"), 1);

	AUTO(rest_freep)
	struct http_result gone = rest_ask(s, "A", "DELETE", "/v1/campaigns/" CAMPAIGN, "", NULL, 0);
	cr_expect_eq(gone.status, 204);
	events_await(v, "campaign.deleted");
}

Test(events_kinds, lobbies)
{
	struct master_host h, silent;

	master_open(&h, s, "203.0.113.7", J("'name':'island'"));
	events_await(v, "lobby.announced");
	cr_expect(events_is(v, "lobby", h.id));
	cr_expect(events_is(v, "game", LOBBY_GAME));
	cr_expect(events_is(v, "from", "203.0.113.7"));
	cr_expect_eq(master_leave(&h, s), 200);
	events_await(v, "lobby.gone");
	cr_expect(events_is(v, "lobby", h.id));
	cr_expect(events_is(v, "reason", "left"));

	master_open(&silent, s, "203.0.113.8", "");
	server_advance(s, 3600000);
	events_await(v, "lobby.gone");
	cr_expect(events_is(v, "lobby", silent.id));
	cr_expect(events_is(v, "reason", "silent"));
}

Test(events_kinds, signaling)
{
	struct identity       alice = identity_of(1);
	struct signal_client *a     = signal_registered(s, SIGNAL_PLAIN, &alice), *b;
	char                  key[65];

	events_await(v, "signal.registered");
	snprintf(key, sizeof(key), "%s", events_text(v, "identity"));
	cr_expect_eq(strlen(key), 64);
	b = signal_registered(s, SIGNAL_PLAIN, &alice);
	events_await(v, "signal.gone");
	cr_expect(events_is(v, "identity", key));
	cr_expect(events_is(v, "reason", "replaced"));
	events_await(v, "signal.registered");
	signal_client_free(b);
	events_await(v, "signal.gone");
	cr_expect(events_is(v, "identity", key));
	signal_client_free(a);
}

Test(events_kinds, rooms_players_and_scores)
{
	struct gamer *alice = gamer_new(s, TITLE, "alice");
	int64_t       user;
	uint64_t      room;

	events_await(v, "room.player_in");
	user = events_int(v, "user");
	cr_expect(events_is(v, "title", TITLE));
	cr_expect(events_is(v, "name", "alice"));

	room = gamer_create(alice, 4, NOTHING)->room_id;
	events_await(v, "room.made");
	cr_expect_eq(events_int(v, "room"), (int64_t)room);
	cr_expect_eq(events_int(v, "user"), user);
	cr_expect(events_is(v, "title", TITLE));

	gamer_score(alice, 7, 0, 4711, NOTHING);
	events_await(v, "score.recorded");
	cr_expect_eq(events_int(v, "board"), 7);
	cr_expect_eq(events_int(v, "score"), 4711);
	cr_expect(events_is(v, "name", "alice"));
	cr_expect(events_is(v, "title", TITLE));

	gamer_free(alice);
	events_await(v, "room.closed");
	cr_expect_eq(events_int(v, "room"), (int64_t)room);
	events_await(v, "room.player_out");
	cr_expect_eq(events_int(v, "user"), user);
	cr_expect(events_is(v, "reason", "peer"));
}

Test(events_kinds, peer_to_peer)
{
	struct p2p_peer ann;
	char            room[64];

	p2p_peer_open(&ann, s, 1);
	events_await(v, "p2p.session");
	cr_expect(events_is(v, "player", ann.uid));
	p2p_peer_ask(&ann, "p2p.create", "");
	p2p_peer_string(room, sizeof(room), &ann, "room");
	events_await(v, "p2p.room_made");
	cr_expect(events_is(v, "room", room));
	cr_expect(events_is(v, "player", ann.uid));
	p2p_peer_free(&ann);
	events_await(v, "p2p.session_gone");
	cr_expect(events_is(v, "player", ann.uid));
	cr_expect(events_is(v, "reason", "peer"));
	events_await(v, "p2p.room_closed");
	cr_expect(events_is(v, "room", room));
}

Test(events_kinds, what_operators_do)
{
	char    token[EVENTS_TOKEN_BYTES], path[64];
	int64_t id;

	events_token(token, &id, s, EVENTS_VIEWER);
	events_await(v, "token.added");
	cr_expect_eq(events_int(v, "token"), id);
	cr_expect(events_is(v, "name", "of the tests"));
	cr_expect(events_is(v, "role", "viewer"));
	events_await(v, "admin.action");
	cr_expect(events_is(v, "action", "token.add"));
	cr_expect(events_is(v, "result", "ok"));
	cr_expect_gt(events_int(v, "audit"), 0);

	snprintf(path, sizeof(path), "/admin/v1/tokens/%lld", (long long)id);
	AUTO(rest_freep) struct http_result r = admin_ask(s, "DELETE", path, NULL);
	admin_expect(&r, 200, NULL);
	events_await(v, "token.revoked");
	cr_expect_eq(events_int(v, "token"), id);
	events_await(v, "admin.action");
	cr_expect(events_is(v, "action", "token.revoke"));
}

Test(events_kinds, the_server_itself)
{
	events_since(v, 0);
	events_await(v, "server.ready");
	cr_expect_eq(v->seq, 1);
	server_signal(s, SIGHUP);
	events_await(v, "server.reloaded");
	cr_expect(json_member_bool(v->last, "ok"));

	/* It did not run for a while. */
	kill(s->pid, SIGSTOP);
	real_sleep_ms(2500);
	kill(s->pid, SIGCONT);
	events_await(v, "server.stalled");
	cr_expect_geq(events_int(v, "ms"), 1000);

	server_signal(s, SIGTERM);
	events_await(v, "server.draining");
	cr_expect(json_member_bool(v->last, "on"));
	ws_expect_end(v->ws);
	cr_expect_eq(server_await_exit(s, SERVER_STOP_MS), 0);
	server_launch(s);
	server_await_ready(s);
}

Test(events_kinds, the_store)
{
	events_free(v);
	server_stop(s);
	server_set(s, "limits.store_free_floor=1099511627776"); /* nobody has that much */
	server_launch(s);
	server_await_ready(s);
	v = events_open(s);
	events_since(v, 0);
	events_await(v, "store.space");
	cr_expect_not(json_member_bool(v->last, "enough"));
	cr_expect_gt(events_int(v, "free_bytes"), 0);
}

/* No event ever has a player's key, a token, or an address that is not cut. */
Test(events_kinds, addresses_are_cut_unless_the_log_has_them_whole)
{
	struct master_host h;

	events_free(v);
	server_stop(s);
	server_unset(s, "log.addresses");
	server_launch(s);
	server_await_ready(s);
	v = events_open(s);
	master_open(&h, s, "203.0.113.7", "");
	events_await(v, "lobby.announced");
	cr_expect(events_is(v, "from", "203.0.113.0/24"), "%s", events_text(v, "from"));
}

Test(events_store, that_fails_is_told)
{
	struct faulty_server  f;
	struct events_client *viewer;
	struct ws_client     *c;

	faulty_prepare(&f, "coop.db-wal", NULL);
	faulty_start(&f);
	viewer             = events_open(f.server);
	f.disk->fail_syncs = 1;
	c                  = tunnel_connect(f.server->tunnel_port, NULL);

	struct pattern open;

	msg_host_open(&open, "A");
	ws_client_send_pattern(c, &open);
	events_await(viewer, "store.health");
	cr_expect(events_is(viewer, "health", "failing"));
	cr_expect(events_is(viewer, "was", "ok"));
	ws_client_free(c);
	events_free(viewer);
	server_finish(f.server);
}
