/*
 * Everything that goes through port 443, through each proxy of README.md: tunnels of both protocols, the vault, /p2p, /signal,
 * lobbies, checkpoints over REST, update files, health.
 */
#include "support/edge.h"
#include "support/p2p_peer.h"
#include "support/release.h"
#include "support/rest_client.h"
#include "support/signal_client.h"
#include "support/tunnel_client.h"
#include "support/vault_client.h"

#include "base/auto.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define ISLAND       "e2a1c0de00000001"
#define HARBOUR      "e2a1c0de00000002"
#define MIB          ((size_t)1 << 20)

/* --- Paths --- */

/* Each path is answered by the part it belongs to: those of the HTTP front in JSON or text, all others by the tunnel. */
static void check_paths(struct edge *e, const char *name)
{
	static const struct {
		const char *path;
		int         status;
		const char *says;
	} rows[] = {
		{ "/healthz", 200, "\"ok\":true" },
		{ "/readyz", 200, "" },
		{ "/v1/nothing", 404, "{\"error\":" },
		{ "/update/nothing", 404, "{\"error\":" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		AUTO(rest_freep) struct http_result r = rest_get(&e->at_a, NULL, rows[i].path);

		cr_expect(r.status == rows[i].status && strstr(r.body, rows[i].says), "%s: %s: %d %s", name,
		          rows[i].path, r.status, r.body);
	}
	struct ws_client *c = ws_client_open(e->a, &(struct ws_client_options){ .path = "/any/other/path" });

	tunnel_echo(c);
	ws_client_free(c);
}

/* --- The tunnel --- */

static void check_tunnel(struct edge *e)
{
	uint32_t          code;
	struct ws_client *host   = host_open(e->a, "A", &code);
	struct ws_client *friend = friend_join(e->b, code, "visit", "B");
	char large[1400];

	memset(large, 'x', sizeof(large));
	host_expect_friend(host, 1, "B");
	friend_send(friend, "hi", 2);
	host_expect_datagram(host, 1, "hi", 2);
	host_send(host, 1, large, sizeof(large));
	friend_expect_datagram(friend, large, sizeof(large));
	ws_client_free(friend);
	ws_client_free(host);
}

static void check_tunnel_1(struct edge *e)
{
	struct tunnel_ticket game;
	struct ws_client    *host = host_open_1(e->a, NULL, &game);
	struct ws_client *friend  = friend_join_1(e->b, game.code, "visit 1");
	struct pattern p;

	friend_send(friend, "hello", 5);
	/* Who comes is told in protocol 2 only. */
	msg_to_host(&p, 1, "hello", 5);
	ws_expect_pattern(host, &p);
	host_send(host, 1, "welcome", 7);
	friend_expect_datagram(friend, "welcome", 7);
	ws_client_free(friend);
	ws_client_free(host);
}

/* --- Checkpoints --- */

static void check_vault(struct edge *e, const char *name)
{
	struct ws_client *c = vault_client(e->a, "A", NULL);
	struct checkpoint cp;

	checkpoint_make(&cp, ISLAND, "level=Island", 3 * MIB, 7);
	cr_expect_eq(vault_client_put(c, ISLAND, &cp), 0, "%s", name);
	cr_expect_eq(vault_client_check(c, ISLAND, 0, &cp), 0, "%s", name);
	checkpoint_free(&cp);
	ws_client_free(c);
}

static void check_rest(struct edge *e, const char *name, size_t len)
{
	static const char     way[] = "/v1/campaigns/" HARBOUR "/checkpoint";
	AUTO(auto_free) char *save  = rest_bytes(len, (unsigned)len);

	AUTO(rest_freep)
	struct http_result put = rest_put(&e->at_b, "B", HARBOUR, "", "Coop-Meta: {}\r\n", save, len);

	cr_expect_eq(put.status, 201, "%s: %zu bytes: %d %s", name, len, put.status, put.body);
	AUTO(rest_freep) struct http_result got = rest_get(&e->at_b, "B", way);

	cr_expect(got.status == 200 && got.body_len == len && memcmp(got.body, save, len) == 0,
	          "%s: %zu bytes: status %d, %zu bytes", name, len, got.status, got.body_len);
	AUTO(rest_freep)
	struct http_result piece = rest_ask(&e->at_b, "B", "GET", way, "Range: bytes=1000-70999\r\n", NULL, 0);

	cr_expect(piece.status == 206 && piece.body_len == 70000 && memcmp(piece.body, save + 1000, 70000) == 0,
	          "%s: a range: status %d, %zu bytes", name, piece.status, piece.body_len);
}

/* --- Peer to peer, signaling --- */

static void check_p2p(struct edge *e)
{
	struct p2p_peer ann, ben;
	char            room[16], named[40];

	p2p_peer_open(&ann, &e->at_a, 1);
	p2p_peer_open(&ben, &e->at_b, 2);
	p2p_peer_pong(&ann);
	p2p_peer_pong(&ben);
	p2p_peer_ask(&ann, "p2p.create", ",\"max\":4");
	p2p_peer_string(room, sizeof(room), &ann, "room");
	snprintf(named, sizeof(named), ",\"room\":\"%s\"", room);
	p2p_peer_ask(&ben, "p2p.join", named);
	p2p_peer_await(&ann, ben.uid);
	p2p_peer_frame(&ben, P2P_RELAY, 0, 0, "frame", 5);
	p2p_peer_await_frame(&ann);
	cr_expect_eq(ann.frame.kind, P2P_RELAY);
	p2p_peer_free(&ben);
	p2p_peer_free(&ann);
}

static void check_signal(struct edge *e)
{
	struct identity       alice = identity_of(1), bob = identity_of(2);
	struct signal_client *a = signal_registered(&e->at_a, SIGNAL_WEBSOCKET, &alice);
	struct signal_client *b = signal_registered(&e->at_b, SIGNAL_WEBSOCKET, &bob);

	signal_say(a, "%s c0ffee", bob.text);
	signal_expect(b, "%s c0ffee", alice.text);
	signal_say(b, "%s decaf", alice.text);
	signal_expect(a, "%s decaf", bob.text);
	signal_client_free(a);
	signal_client_free(b);
}

/* --- Lobbies, updates --- */

static void check_lobby(struct edge *e, const char *name)
{
	struct master_host host, direct;
	char               shown[32], user[80], addr[64], kind[64];

	master_open(&host, &e->at_a, NULL, "");
	AUTO(rest_freep) struct http_result list = rest_get(&e->at_b, NULL, "/v1/lobbies");

	cr_assert_eq(list.status, 200, "%s", name);
	cr_expect_str_eq(http_result_header(&list, "Content-Type", kind, sizeof(kind)), "application/json", "%s", name);
	cr_expect_eq(rest_count(&list, "lobbies"), 1, "%s: %s", name, list.body);
	cr_expect_str_eq(rest_text(&list, "lobbies.0.lobbyId", shown, sizeof(shown)), host.id, "%s", name);

	/* The joiner's credential carries his address, not the proxy's, and a direct lobby the host's. */
	AUTO(rest_freep) struct http_result joined = master_join(&e->at_b, NULL, host.id);

	cr_assert_eq(joined.status, 200, "%s: %s", name, joined.body);
	rest_text(&joined, "turn.user", user, sizeof(user));
	cr_expect(strstr(user, ":" EDGE_ADDRESS_B), "%s: %s", name, user);

	master_open(&direct, &e->at_a, NULL, "\"conn\":\"direct\",\"direct_port\":7777");
	AUTO(rest_freep) struct http_result there = master_join(&e->at_b, NULL, direct.id);

	cr_expect_str_eq(rest_text(&there, "addr", addr, sizeof(addr)), EDGE_ADDRESS_A ":7777", "%s", name);
	cr_expect_eq(master_beat(&host, &e->at_a, ""), 200, "%s", name);
	cr_expect_eq(master_leave(&host, &e->at_a), 200, "%s", name);
}

static void check_update(struct edge *e, const char *name)
{
	size_t                len;
	AUTO(auto_free) char *numbers = release_numbers(1, 20000, &len);

	release_put_numbers(e->server, RELEASE_FIRST, 1, 20000);
	release_put_vector(e->server, "update.txt", "first.txt");
	AUTO(rest_freep) struct http_result manifest = release_ask(&e->at_b, "GET", "/update/update.txt", "");
	AUTO(rest_freep) struct http_result package  = release_ask(&e->at_b, "GET", "/update/" RELEASE_FIRST, "");

	cr_expect_eq(manifest.status, 200, "%s: %d", name, manifest.status);
	cr_expect(package.status == 200 && package.body_len == len && memcmp(package.body, numbers, len) == 0,
	          "%s: status %d, %zu of %zu bytes", name, package.status, package.body_len, len);
}

/* --- All of them --- */

static void check_parts(struct edge *e, const char *name)
{
	check_paths(e, name);
	check_tunnel(e);
	check_tunnel_1(e);
	check_vault(e, name);
	check_p2p(e);
	check_signal(e);
	check_lobby(e, name);
	check_update(e, name);
	check_rest(e, name, MIB);
	check_rest(e, name, 16 * MIB); /* as large as one may be */
	/* That is what the operator's figures say, too. */
	cr_expect_gt(server_metric(e->server, "coopd_proxy_requests_total", "field=\"seen\""), 0, "%s", name);
	cr_expect_eq(server_metric(e->server, "coopd_proxy_requests_total", "field=\"missing\""), 0, "%s", name);
}

Test(proxy_parts, all_work_through_one_port_with_tls, .timeout = 120)
{
	edge_each(check_parts, NULL, (const char *[]){ "limits.cloud_interval_ms=0", "limits.lobby_list_ms=0", NULL });
}
