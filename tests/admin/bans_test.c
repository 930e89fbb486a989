/*
 * Bans: on every surface who is banned is ended at once and not let in again, nobody else notices, and without the ban
 * everything is as before.
 */
#include "base/auto.h"
#include "base/hex.h"
#include "support/admin_client.h"
#include "support/await.h"
#include "support/dial.h"
#include "support/lobby_client.h"
#include "support/p2p_peer.h"
#include "support/p2p_raw.h"
#include "support/rooms_client.h"
#include "support/rooms_path.h"
#include "support/server.h"
#include "support/signal_client.h"
#include "support/tunnel_ask.h"
#include "support/vault_client.h"
#include "support/vectors.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BANNED_AT "203.0.113.7"
#define OTHER_AT  "198.51.100.1"
#define BANS      "/admin/v1/bans"
#define CAMPAIGN  "0011223344556677"
#define TITLE     "NPWR00860_00"
#define REFUSED   "coopd_ban_refused_total"
#define PROXIED   "X-Forwarded-For: " BANNED_AT "\r\n"
#define ANSWER    AUTO(rest_freep) struct http_result

static struct server *s;

static void finish(void)
{
	if (s)
		server_finish(s);
	s = NULL;
}

TestSuite(bans, .fini = finish, .timeout = 240);

/* --- The operator --- */

static struct http_result post(const char *kind, const char *value, const char *more)
{
	char body[500];

	snprintf(body, sizeof(body), "{\"kind\":\"%s\",\"value\":\"%s\"%s}", kind, value, more);
	return admin_ask(s, "POST", BANS, body);
}

/* Its id; so many connections have to end by it. */
static int64_t ban(const char *kind, const char *value, const char *more, int64_t ends)
{
	char path[100];

	snprintf(path, sizeof(path), "%s", value);
	ANSWER r = post(kind, value, more);
	admin_expect(&r, 201, NULL);
	cr_expect_eq(rest_int(&r, "ends"), ends, "%s: %s", path, r.body);
	return rest_int(&r, "id");
}

static void unban(int64_t id)
{
	char path[100];

	snprintf(path, sizeof(path), BANS "/%lld", (long long)id);
	ANSWER r = admin_ask(s, "DELETE", path, NULL);
	admin_expect(&r, 200, NULL);
	cr_expect(rest_bool(&r, "ok"));
}

static int64_t hits(int64_t id)
{
	ANSWER  r     = admin_get(s, BANS "?limit=1000");
	int64_t found = -1;
	char    way[40];

	for (size_t i = 0; i < rest_count(&r, "items"); i++) {
		snprintf(way, sizeof(way), "items.%zu.id", i);
		if (rest_int(&r, way) != id)
			continue;
		snprintf(way, sizeof(way), "items.%zu.hits", i);
		found = rest_int(&r, way);
	}
	return found;
}

static const char *id_text(const char *key_name)
{
	static char text[17];
	uint8_t     id[ID_BYTES];

	id_of(id, key_name);
	hex_encode(text, id, sizeof(id));
	return text;
}

/* --- Behind a proxy: tunnel, vault, peer to peer, signaling over WebSocket, HTTP --- */

static int upgrade(const char *path, const char *headers)
{
	struct ws_client_options o      = { .path = path, .headers = headers };
	struct ws_client        *c      = ws_client_dial(s->tunnel_port, &o);
	int                      status = ws_client_upgrade(c, &o);

	ws_client_free(c);
	return status;
}

static int get_status(const char *path)
{
	ANSWER r = master_get(s, path, PROXIED);

	return r.status;
}

Test(bans, an_address_that_a_proxy_names)
{
	static const char *const paths[] = { "/", "/p2p", "/signal" };
	struct identity          who     = identity_of(1);
	uint32_t                 code, other_code;

	s                            = server_start(NULL);
	struct ws_client *host       = host_open_from(s->tunnel_port, BANNED_AT, "A", &code);
	struct ws_client *guest      = ask_join(s->tunnel_port, OTHER_AT, code, "t", "B");
	struct ws_client *other      = host_open_from(s->tunnel_port, OTHER_AT, "C", &other_code);
	struct ws_client *friend     = ask_join(s->tunnel_port, BANNED_AT, other_code, "u", "D");
	struct ws_client     *vault  = vault_client(s->tunnel_port, "A", BANNED_AT);
	struct ws_client     *p2p    = p2p_raw_open(s, BANNED_AT);
	struct signal_client *signal = signal_dial_from(s, SIGNAL_WEBSOCKET, BANNED_AT, 0);

	cr_assert_eq(ask_answer(guest), 0);
	cr_assert_eq(ask_answer(friend), 0);
	host_expect_friend(other, 1, "D");
	p2p_raw_hello(p2p, 7);
	signal_register(signal, &who);
	cr_expect_eq(get_status("/v1/lobbies"), 200);

	ANSWER tried = admin_ask(s, "POST", BANS "?dry_run=true",
	                         J("{'kind':'address','value':'" BANNED_AT "','reason':'cheats'}"));
	admin_expect(&tried, 201, NULL);
	cr_expect_eq(rest_int(&tried, "ends"), 6, "%s", tried.body);
	cr_expect(rest_bool(&tried, "dry_run"));
	tunnel_echo(other);

	/* Host, friend, vault, p2p, signaling, and the one whose host is gone. */
	int64_t id = ban("address", BANNED_AT, ",\"reason\":\"cheats\"", 6);

	ws_expect_end(host);
	ws_expect_end(friend);
	ws_expect_end(vault);
	ws_expect_end(p2p);
	signal_expect_end(signal);
	friend_expect_state(guest, STATE_CLOSED);
	ws_expect_end(guest);
	host_expect_gone(other, 1);
	tunnel_echo(other);

	for (size_t i = 0; i < COUNT_OF(paths); i++) {
		cr_expect_eq(upgrade(paths[i], PROXIED), 403, "%s", paths[i]);
		cr_expect_eq(upgrade(paths[i], "X-Forwarded-For: " OTHER_AT "\r\n"), 101, "%s", paths[i]);
	}
	cr_expect_eq(server_metric(s, REFUSED, "surface=\"ws\""), 3);
	cr_expect_eq(get_status("/v1/lobbies"), 403);
	cr_expect_eq(get_status("/healthz"), 403);
	ANSWER rest = rest_ask(s, "A", "GET", "/v1/campaigns", PROXIED, NULL, 0);
	rest_expect(&rest, 403, "banned");
	ANSWER lobby = master_post(s, BANNED_AT, "/v1/join", J("{'lobbyId':'0011223344556677'}"));
	master_expect_error(&lobby, 403, "you are banned here; ask the people who run this server why");
	/* The first entry is what the client says of itself. */
	ANSWER own = master_get(s, "/v1/lobbies", "X-Forwarded-For: " BANNED_AT ", " OTHER_AT "\r\n");
	cr_expect_eq(own.status, 200);
	cr_expect_eq(server_metric(s, REFUSED, "surface=\"http\""), 4);
	cr_expect_eq(hits(id), 7);
	tunnel_echo(other);

	unban(id);
	cr_expect_eq(get_status("/v1/lobbies"), 200);
	struct ws_client *again = host_open_from(s->tunnel_port, BANNED_AT, "A", NULL);

	ws_client_free(again);
	ws_client_free(host);
	ws_client_free(friend);
	ws_client_free(guest);
	ws_client_free(vault);
	ws_client_free(p2p);
	ws_client_free(other);
	signal_client_free(signal);
}

Test(bans, a_network_is_all_its_addresses)
{
	s                        = server_start(NULL);
	struct ws_client *first  = tunnel_connect(s->tunnel_port, "203.0.113.1");
	struct ws_client *last   = tunnel_connect(s->tunnel_port, "203.0.113.255");
	struct ws_client *beyond = tunnel_connect(s->tunnel_port, "203.0.114.0");
	struct ws_client *sixth  = tunnel_connect(s->tunnel_port, "2001:db8:1:2::3");
	int64_t           id     = ban("address", "203.0.113.0/24", "", 2);

	ban("address", "2001:db8:1::/48", "", 1);
	ws_expect_end(first);
	ws_expect_end(last);
	ws_expect_end(sixth);
	tunnel_echo(beyond);
	cr_expect_eq(upgrade("/", "X-Forwarded-For: 2001:db8:1:ffff::1\r\n"), 403);
	cr_expect_eq(upgrade("/", "X-Forwarded-For: 2001:db8:2::1\r\n"), 101);
	cr_expect_eq(upgrade("/", "X-Forwarded-For: ::ffff:203.0.113.9\r\n"), 403);
	unban(id);
	cr_expect_eq(upgrade("/", "X-Forwarded-For: ::ffff:203.0.113.9\r\n"), 101);
	ws_client_free(first);
	ws_client_free(last);
	ws_client_free(sixth);
	ws_client_free(beyond);
}

/* --- Without one: TCP and UDP --- */

#define AT "127.0.0.5"

/* Whether the server closes a new connection from there without a word. */
static bool is_closed_at_accept(int port, const char *from)
{
	char    byte;
	int     fd = dial_tcp_from(from, port, 0);
	ssize_t n;

	cr_assert_geq(fd, 0);
	n = dial_read(fd, &byte, 1, real_now_ms() + DIAL_PATIENCE_MS);
	close(fd);
	return n == 0 || n == DIAL_RESET;
}

static void ask_stun(int fd)
{
	struct vectors       all = vectors_load("stun.hex");
	const struct vector *v   = &all.rows[0];
	struct sockaddr_in   to  = { .sin_family = AF_INET, .sin_port = htons((uint16_t)s->p2p_port) };

	cr_assert(v->to_server);
	inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
	cr_assert_eq(sendto(fd, v->data, v->len, 0, (struct sockaddr *)&to, sizeof(to)), (ssize_t)v->len);
	vectors_free(&all);
}

static bool hears_stun(int fd, int patience_ms)
{
	uint8_t bytes[600];

	return dial_read(fd, bytes, sizeof(bytes), real_now_ms() + patience_ms) > 0;
}

static void expect_gone(struct gamer *g)
{
	while (g->fd >= 0 && gamer_next(g, DIAL_PATIENCE_MS))
		;
	cr_expect_eq(g->fd, -1, "the connection ended");
}

Test(bans, an_address_over_tcp_and_udp)
{
	struct identity who = identity_of(1), whom = identity_of(2);

	s                           = server_start(NULL);
	struct signal_client *gone  = signal_dial_from(s, SIGNAL_PLAIN, AT, 0);
	struct signal_client *stays = signal_registered(s, SIGNAL_PLAIN, &whom);
	struct gamer         *alice = gamer_new_from(s, AT, TITLE, "alice");
	struct gamer         *bob   = gamer_new_from(s, "127.0.0.6", TITLE, "bob");
	int                   stun  = dial_udp(AT, 0);
	int                   http  = dial_tcp_from(AT, s->http_port, 0);
	struct gamer_message *room;
	uint8_t               probe[GAMER_PACKET_HEAD], local_ip[4];
	size_t                probe_len;
	char                  byte;

	gamer_local_ip(alice, local_ip);
	probe_len = gamer_probe_packet(probe, alice->user_id, alice->token, local_ip);
	signal_register(gone, &who);
	room = gamer_create(bob, 4, NOTHING);
	gamer_join(alice, room->room_id, NOTHING);
	gamer_expect_joined(bob, room->room_id, alice);
	gamer_open_udp(alice, 0);
	gamer_probe(alice);
	ask_stun(stun);
	cr_expect(hears_stun(stun, DIAL_PATIENCE_MS));
	server_await_metric(s, "coopd_http_connections", "", 2, DIAL_PATIENCE_MS); /* and the one that asks */

	ANSWER refused = post("address", AT, "");
	admin_expect(&refused, 409, "force");
	signal_test_self(gone, &who);

	int64_t id = ban("address", AT, ",\"force\":true", 3);

	signal_expect_end(gone);
	expect_gone(alice);
	gamer_expect_left(bob, room->room_id, 2, 1);
	cr_expect_leq(dial_read(http, &byte, 1, real_now_ms() + DIAL_PATIENCE_MS), 0);
	signal_test_self(stays, &whom);
	gamer_heartbeat(bob);

	cr_expect(is_closed_at_accept(s->signal_port, AT));
	cr_expect(is_closed_at_accept(s->rooms_port, AT));
	cr_expect(is_closed_at_accept(s->http_port, AT));
	cr_expect(is_closed_at_accept(s->tunnel_port, AT));
	ask_stun(stun);
	server_await_metric(s, REFUSED, "surface=\"p2p_udp\"", 1, DIAL_PATIENCE_MS);
	cr_expect_not(hears_stun(stun, 0));
	gamer_send_udp(alice, probe, probe_len);
	server_await_metric(s, REFUSED, "surface=\"rooms_udp\"", 1, DIAL_PATIENCE_MS);
	for (size_t i = 0; i < 4; i++) {
		static const char *const surfaces[] = { "surface=\"signal\"", "surface=\"rooms\"", "surface=\"http\"",
			                                "surface=\"ws\"" };
		cr_expect_eq(server_metric(s, REFUSED, surfaces[i]), 1, "%s", surfaces[i]);
	}

	unban(id);
	ask_stun(stun);
	cr_expect(hears_stun(stun, DIAL_PATIENCE_MS));
	struct gamer         *again = gamer_new_from(s, AT, TITLE, "alice");
	struct signal_client *back  = signal_dial_from(s, SIGNAL_PLAIN, AT, 0);

	signal_register(back, &who);
	gamer_free(again);
	gamer_free(alice);
	gamer_free(bob);
	signal_client_free(back);
	signal_client_free(gone);
	signal_client_free(stays);
	close(stun);
	close(http);
}

/* Behind a proxy at a banned address nobody comes in; but the operator does. */
Test(bans, loopback_with_force_locks_out_all_but_the_operator)
{
	s                         = server_start(NULL);
	struct ws_client *local   = tunnel_connect(s->tunnel_port, NULL);
	struct ws_client *proxied = tunnel_connect(s->tunnel_port, OTHER_AT);
	int64_t           id      = ban("address", "127.0.0.0/8", ",\"force\":true", 2);

	ws_expect_end(local);
	ws_expect_end(proxied);
	cr_expect(is_closed_at_accept(s->tunnel_port, "127.0.0.1"));
	cr_expect(is_closed_at_accept(s->http_port, "127.0.0.1"));
	unban(id);
	cr_expect_eq(upgrade("/", "X-Forwarded-For: " OTHER_AT "\r\n"), 101);
	ws_client_free(local);
	ws_client_free(proxied);
}

static void expect_reset(struct gamer_leg *l)
{
	char    byte;
	ssize_t n;

	do
		n = dial_read(l->fd, &byte, 1, real_now_ms() + DIAL_PATIENCE_MS);
	while (n > 0);
	cr_expect(n == 0 || n == DIAL_RESET, "%zd", n);
}

/* All that those who are there caused so far: it came before the answer to what is asked now. */
static void take_pushes(struct gamer *g)
{
	gamer_search(g, 1, 1);
	while (gamer_next_push(g, 0))
		;
}

/* A stream belongs to two, and ends with one. */
Test(bans, streams_of_an_address_and_of_a_name)
{
	static const char *const sets[] = { "rooms.relay=true", NULL };
	static const struct {
		const char *kind, *value;
		int64_t     ends;
	} rows[] = {
		{ "address", AT, 3 }, /* alice, and both legs */
		{ "name", "ALICE", 3 },
		{ "name", TITLE "/alice", 3 },
	};

	s = server_start(sets);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct gamer         *alice = gamer_new_from(s, AT, TITLE, "alice");
		struct gamer         *bob   = gamer_new_from(s, "127.0.0.6", TITLE, "bob");
		struct gamer         *carol = gamer_new_from(s, "127.0.0.7", TITLE, "carol");
		struct gamer_message *room  = gamer_create(bob, 4, NOTHING);
		struct gamer_leg     *a, *b, *c, *d;
		int64_t               id;

		gamer_join(alice, room->room_id, NOTHING);
		gamer_join(carol, room->room_id, NOTHING);
		take_pushes(alice);
		take_pushes(bob);
		take_pushes(carol);
		gamer_stream(&a, &b, alice, bob, 3658);
		gamer_stream(&c, &d, carol, bob, 3659);
		gamer_leg_send(a, TEXT("hello"));
		gamer_leg_expect(b, TEXT("hello"));
		id = ban(rows[i].kind, rows[i].value, ",\"force\":true", rows[i].ends);
		expect_reset(a);
		expect_reset(b);
		expect_gone(alice);
		gamer_leg_send(c, TEXT("still"));
		gamer_leg_expect(d, TEXT("still"));
		unban(id);
		gamer_free(alice);
		gamer_free(bob);
		gamer_free(carol);
		server_await_metric(s, "coopd_rooms_connections", "", 0, DIAL_PATIENCE_MS);
	}
}

/* --- Players --- */

Test(bans, a_player)
{
	uint32_t code, other_code;

	s                        = server_start(NULL);
	struct ws_client *host   = host_open(s->tunnel_port, "A", &code);
	struct ws_client *guest  = friend_join(s->tunnel_port, code, "t", "B");
	struct ws_client *other  = host_open(s->tunnel_port, "C", &other_code);
	struct ws_client *friend = friend_join(s->tunnel_port, other_code, "u", "A");
	struct ws_client *third  = friend_join(s->tunnel_port, other_code, "v", "D");
	struct ws_client *vault  = vault_client(s->tunnel_port, "A", NULL);
	struct ws_client *theirs = vault_client(s->tunnel_port, "B", NULL);
	char              head[700];
	size_t            len;
	int               upload = dial_tcp(s->http_port, 0);

	host_expect_friend(other, 1, "A");
	host_expect_friend(other, 2, "D");
	len = rest_head(head, sizeof(head), "A", "PUT", "/v1/campaigns/" CAMPAIGN "/checkpoint",
	                "Coop-Meta: {}\r\nContent-Length: 2000000\r\n");
	cr_assert(dial_send(upload, head, len, DIAL_PATIENCE_MS));
	server_await_metric(s, "coopd_http_transfers", "", 1, DIAL_PATIENCE_MS);

	/* Host and his friend, the place elsewhere, the vault, the upload. */
	int64_t id = ban("player", id_text("A"), "", 5);

	ws_expect_end(host);
	friend_expect_state(guest, STATE_CLOSED);
	ws_expect_end(guest);
	ws_expect_end(friend);
	ws_expect_end(vault);
	host_expect_gone(other, 1);
	cr_expect_leq(dial_read(upload, head, 1, real_now_ms() + DIAL_PATIENCE_MS), 0);
	server_await_metric(s, "coopd_http_transfers", "", 0, DIAL_PATIENCE_MS);
	friend_send(third, "hi", 2);
	host_expect_datagram(other, 2, "hi", 2);
	cr_expect_str_eq(vault_client_list(theirs), "");

	cr_expect_eq(ask_open_once(s->tunnel_port, NULL, "A"), 8);
	cr_expect_eq(ask_join_once(s->tunnel_port, NULL, other_code, "u", "A"), 8);
	cr_expect_eq(ask_join_once(s->tunnel_port, NULL, other_code, "w", "A"), 8);
	struct ws_client *refused = vault_client_ask(s->tunnel_port, "A", NULL);
	cr_expect_eq(vault_client_fault(refused), 8);
	ws_expect_end(refused);
	ANSWER rest = rest_get(s, "A", "/v1/campaigns");
	rest_expect(&rest, 403, "banned");
	ANSWER code_ask = rest_ask(s, "A", "POST", "/v1/me/code", "", NULL, 0);
	rest_expect(&code_ask, 403, "banned");
	ANSWER fine = rest_get(s, "B", "/v1/campaigns");
	rest_expect(&fine, 200, NULL);
	cr_expect_eq(server_metric(s, REFUSED, "surface=\"tunnel\""), 3);
	cr_expect_eq(server_metric(s, REFUSED, "surface=\"vault\""), 1);
	cr_expect_eq(server_metric(s, REFUSED, "surface=\"rest\""), 2);
	server_await_metric(s, "coopd_tunnel_games", "", 1, DIAL_PATIENCE_MS);

	unban(id);
	uint32_t          again_code;
	struct ws_client *again = host_open(s->tunnel_port, "A", &again_code);
	cr_expect_eq(again_code, code, "his code is still his");
	ws_client_free(again);
	ws_client_free(refused);
	ws_client_free(host);
	ws_client_free(guest);
	ws_client_free(friend);
	ws_client_free(third);
	ws_client_free(other);
	ws_client_free(vault);
	ws_client_free(theirs);
	close(upload);
}

/* A game that waits for its host is over too: its friends need not wait for somebody who may not come. */
Test(bans, a_host_who_is_away)
{
	uint32_t code;

	s                       = server_start(NULL);
	struct ws_client *host  = host_open(s->tunnel_port, "A", &code);
	struct ws_client *guest = friend_join(s->tunnel_port, code, "t", "B");

	ws_client_drop(host);
	friend_expect_state(guest, STATE_LOST);
	ban("player", id_text("A"), "", 1);
	friend_expect_state(guest, STATE_CLOSED);
	ws_expect_end(guest);
	cr_expect_eq(ask_join_once(s->tunnel_port, NULL, code, "t", "B"), 3);
	ws_client_free(host);
	ws_client_free(guest);
}

Test(bans, a_player_at_p2p)
{
	struct p2p_peer ann, ben;
	char            room[20], members[60];

	s = server_start(NULL);
	p2p_peer_open(&ann, s, 1);
	p2p_peer_open(&ben, s, 2);
	p2p_peer_ask(&ben, "p2p.create", "");
	p2p_peer_string(room, sizeof(room), &ben, "room");
	snprintf(members, sizeof(members), ",\"room\":\"%s\"", room);
	p2p_peer_ask(&ann, "p2p.join", members);
	p2p_peer_await(&ben, "\"event\":\"joined\"");

	int64_t id = ban("player", ann.uid, "", 1);
	p2p_peer_await(&ben, "\"event\":\"left\"");
	ws_expect_end(ann.ws);
	struct ws_client *c = p2p_raw_open(s, NULL);
	cr_expect(p2p_raw_has(p2p_raw_ask(c, "{\"op\":\"p2p.hello\",\"id\":1,\"player\":\"%032x\"}", 1),
	                      "\"ok\":false \"error\":\"not_allowed\""));
	p2p_raw_hello(c, 3);
	cr_expect_eq(server_metric(s, REFUSED, "surface=\"p2p\""), 1);
	p2p_peer_ask(&ben, "p2p.leave", "");
	unban(id);
	p2p_raw_hello(c, 1);
	ws_client_free(c);
	p2p_peer_free(&ann);
	p2p_peer_free(&ben);
}

/* --- Identities --- */

Test(bans, an_identity_in_lobbies_and_signaling)
{
	static const char *const sets[] = { LOBBY_PROMPT, NULL };
	struct identity          who = identity_of(1), whom = identity_of(2);
	struct master_host       host, other, refused;
	char                     members[200], hex[65];

	s = server_start(sets);
	snprintf(members, sizeof(members), "\"identity\":\"%s\"", who.text);
	hex_encode(hex, who.key, sizeof(who.key));
	master_open(&host, s, BANNED_AT, members);
	master_open(&other, s, BANNED_AT, "");
	cr_assert_str_eq(host.identity, who.text);
	for (int way = SIGNAL_PLAIN; way <= SIGNAL_WEBSOCKET; way += SIGNAL_WEBSOCKET - SIGNAL_PLAIN) {
		struct signal_client *gone  = signal_registered(s, (enum signal_way)way, &who);
		struct signal_client *stays = signal_registered(s, (enum signal_way)way, &whom);
		struct signal_client *again = signal_dial(s, (enum signal_way)way);
		int64_t               id    = ban("identity", hex, "", 1);

		signal_expect_end(gone);
		signal_test_self(stays, &whom);
		cr_expect_not(master_is_listed(s, host.id));
		cr_expect(master_is_listed(s, other.id));
		cr_expect_eq(master_beat(&host, s, ""), 403);
		cr_expect_eq(master_beat(&other, s, ""), 200);
		cr_expect_eq(master_try_open(&refused, s, OTHER_AT, members), 403);
		signal_greet(again, &who);
		signal_take_nonce(again);
		signal_prove(again, &who);
		signal_expect_end(again);
		unban(id);
		signal_client_free(again);
		again = signal_registered(s, (enum signal_way)way, &who);
		master_open(&host, s, OTHER_AT, members);
		cr_expect(master_is_listed(s, host.id));
		signal_client_free(again);
		signal_client_free(gone);
		signal_client_free(stays);
	}
	cr_expect_eq(server_metric(s, REFUSED, "surface=\"signal\""), 2);
	cr_expect_eq(server_metric(s, REFUSED, "surface=\"lobby\""), 2);
	cr_expect_eq(server_metric(s, "coopd_lobby_ended_total", "reason=\"banned\""), 2);
}

Test(bans, lobbies_of_an_address)
{
	static const char *const sets[] = { LOBBY_PROMPT, NULL };
	struct master_host       brokered, direct, moved, other;

	s = server_start(sets);
	master_open(&brokered, s, BANNED_AT, "");
	master_open(&direct, s, BANNED_AT, J("'conn':'direct','direct_port':7777"));
	master_open(&moved, s, OTHER_AT, "");
	master_open(&other, s, OTHER_AT, "");
	snprintf(moved.from, sizeof(moved.from), BANNED_AT);
	cr_assert_eq(master_beat(&moved, s, ""), 200);
	ban("address", BANNED_AT, "", 0);
	cr_expect_not(master_is_listed(s, brokered.id));
	cr_expect_not(master_is_listed(s, direct.id));
	cr_expect_not(master_is_listed(s, moved.id), "its host was there last");
	cr_expect(master_is_listed(s, other.id));
	cr_expect_eq(master_beat(&brokered, s, ""), 403);
	cr_expect_eq(master_beat(&other, s, ""), 200);
	server_restart(s);
	cr_expect_eq(master_listed(s), 1, "they do not come back");
	cr_expect_eq(master_join_status(s, BANNED_AT, other.id), 403);
	cr_expect_eq(master_join_status(s, OTHER_AT, other.id), 200);
}

/* --- Names --- */

Test(bans, a_name_in_the_rooms)
{
	s                           = server_start(NULL);
	struct gamer         *alice = gamer_new(s, TITLE, "Alice");
	struct gamer         *bob   = gamer_new(s, TITLE, "bob");
	struct gamer_message *room  = gamer_create(bob, 4, NOTHING);

	gamer_join(alice, room->room_id, NOTHING);
	gamer_expect_joined(bob, room->room_id, alice);

	int64_t id = ban("name", "alice", "", 1);

	expect_gone(alice);
	gamer_expect_left(bob, room->room_id, 2, 1);
	struct gamer *again = gamer_dial(s);

	gamer_expect_error(again, gamer_ask_hello(again, TITLE, "ALICE", 3658), 8);
	gamer_expect_error(again, gamer_ask_hello(again, "NPWR00861_00", "alice", 3658), 8);
	gamer_hello(again, TITLE, "alicia", 3658);
	gamer_expect_error(again, gamer_ask_hello(again, TITLE, "Alice", 3658), 8);
	cr_expect_eq(server_metric(s, REFUSED, "surface=\"rooms\""), 3);
	unban(id);
	gamer_hello(again, TITLE, "Alice", 3658);

	/* In one title only. */
	ban("name", "NPWR00861_00/alice", "", 0);
	gamer_expect_error(bob, gamer_ask_hello(bob, "NPWR00861_00", "alice", 3658), 8);
	gamer_heartbeat(again);
	gamer_expect_silence(again);
	gamer_free(again);
	gamer_free(alice);
	gamer_free(bob);
}

/* --- Time, restarts, limits --- */

Test(bans, hold_over_a_restart_until_they_are_over)
{
	s = server_start(NULL);
	ban("address", BANNED_AT, ",\"expires_s\":3600,\"reason\":\"an hour\"", 0);
	ban("address", OTHER_AT, "", 0);
	ban("player", id_text("A"), "", 0);
	server_restart(s);
	cr_expect_eq(get_status("/v1/lobbies"), 403);
	cr_expect_eq(ask_open_once(s->tunnel_port, NULL, "A"), 8);
	/* All but two minutes, for the machine may have taken its time. */
	server_advance(s, 3480 * 1000);
	cr_expect_eq(get_status("/v1/lobbies"), 403);
	server_advance(s, 120 * 1000);
	cr_expect_eq(get_status("/v1/lobbies"), 200, "without anybody doing anything");
	cr_expect_eq(upgrade("/", "X-Forwarded-For: " OTHER_AT "\r\n"), 403);
	ANSWER list = admin_get(s, BANS);
	cr_expect_eq(rest_count(&list, "items"), 2, "%s", list.body);
	server_restart(s);
	cr_expect_eq(get_status("/v1/lobbies"), 200);
	cr_expect_eq(server_metric(s, "coopd_bans", ""), 2);
	ban("address", BANNED_AT, "", 0);
	cr_expect_eq(get_status("/v1/lobbies"), 403);
}

Test(bans, are_listed_as_asked_for)
{
	char text[100];

	s = server_start(NULL);
	ban("address", "203.0.113.9/24", ",\"reason\":\"Cheats\",\"expires_s\":60", 0);
	ban("player", "00112233445566AA", "", 0);
	ban("name", "NPWR00860_00/Bob", ",\"reason\":null,\"expires_s\":0,\"force\":false", 0);
	ANSWER all = admin_get(s, BANS);
	admin_expect(&all, 200, NULL);
	cr_assert_eq(rest_count(&all, "items"), 3);
	cr_expect_str_eq(rest_text(&all, "items.0.kind", text, sizeof(text)), "address");
	cr_expect_str_eq(rest_text(&all, "items.0.value", text, sizeof(text)), "203.0.113.0/24");
	cr_expect_str_eq(rest_text(&all, "items.0.reason", text, sizeof(text)), "Cheats");
	cr_expect_eq(strlen(rest_text(&all, "items.0.until_at", text, sizeof(text))), 20);
	cr_expect_eq(strlen(rest_text(&all, "items.0.made_at", text, sizeof(text))), 20);
	cr_expect_neq(strlen(rest_text(&all, "items.0.by", text, sizeof(text))), 0);
	cr_expect_not_null(strstr(all.body, "\"until_at\":null"));
	cr_expect_str_eq(rest_text(&all, "items.1.value", text, sizeof(text)), "00112233445566aa");
	cr_expect_str_eq(rest_text(&all, "items.2.value", text, sizeof(text)), "NPWR00860_00/bob");
	ANSWER names = admin_get(s, BANS "?kind=name");
	cr_expect_eq(rest_count(&names, "items"), 1);
	ANSWER cheats = admin_get(s, BANS "?q=cheat");
	cr_expect_eq(rest_count(&cheats, "items"), 1);
	ANSWER none = admin_get(s, BANS "?q=cheat&kind=name");
	cr_expect_eq(rest_count(&none, "items"), 0);
	ANSWER odd = admin_get(s, BANS "?kind=names");
	admin_expect(&odd, 422, "invalid");

	ANSWER page = admin_get(s, BANS "?limit=2");
	cr_assert_eq(rest_count(&page, "items"), 2);
	char path[200];
	snprintf(path, sizeof(path), BANS "?limit=2&cursor=%s", rest_text(&page, "next", text, sizeof(text)));
	ANSWER rest = admin_get(s, path);
	cr_expect_eq(rest_count(&rest, "items"), 1);
	cr_expect_not_null(strstr(rest.body, "\"next\":null"));
}

Test(bans, that_cannot_be_are_refused)
{
	static const struct {
		const char *body;
		int         status;
		const char *code;
	} rows[] = {
		{ "", 422, "invalid" },
		{ "[]", 400, "malformed" },
		{ "{'kind':'address'}", 422, "invalid" },
		{ "{'kind':'address','value':''}", 422, "invalid" },
		{ "{'kind':'address','value':'203.0.113'}", 422, "invalid" },
		{ "{'kind':'address','value':7}", 422, "invalid" },
		{ "{'kind':'addresses','value':'203.0.113.7'}", 422, "invalid" },
		{ "{'kind':7,'value':'203.0.113.7'}", 422, "invalid" },
		{ "{'kind':'player','value':'7'}", 422, "invalid" },
		{ "{'kind':'identity','value':'00112233445566aa'}", 422, "invalid" },
		{ "{'kind':'name','value':'a/b/c'}", 422, "invalid" },
		{ "{'kind':'address','value':'203.0.113.7','expires':7}", 422, "unknown_member" },
		{ "{'kind':'address','value':'203.0.113.7','expires_s':-1}", 422, "invalid" },
		{ "{'kind':'address','value':'203.0.113.7','expires_s':'7'}", 422, "invalid" },
		{ "{'kind':'address','value':'203.0.113.7','force':'yes'}", 422, "invalid" },
		{ "{'kind':'address','value':'203.0.113.7','reason':'a\\nb'}", 422, "invalid" },
		{ "{'kind':'address','value':'203.0.113.7','reason':7}", 422, "invalid" },
		{ "{'kind':'address','value':'127.0.0.1'}", 409, "force" },
		{ "{'kind':'address','value':'127.255.255.255'}", 409, "force" },
		{ "{'kind':'address','value':'::1'}", 409, "force" },
		{ "{'kind':'address','value':'::/64'}", 409, "force" },
		{ "{'kind':'address','value':'192.0.2.7'}", 409, "force" }, /* the proxy */
		{ "{'kind':'address','value':'192.0.2.0/24'}", 409, "force" },
		{ "{'kind':'address','value':'198.51.0.0/15'}", 409, "force" },
		{ "{'kind':'address','value':'2001:db8::/31'}", 409, "force" },
		{ "{'kind':'address','value':'0.0.0.0/0'}", 409, "force" },
		{ "{'kind':'address','value':'198.51.0.0/16'}", 201, NULL },
		{ "{'kind':'address','value':'2001:db8::/32'}", 201, NULL },
		{ "{'kind':'address','value':'2001:db8:ffff::/32'}", 409, "exists" },
		{ "{'kind':'address','value':'::ffff:198.51.7.7/112'}", 409, "exists" },
		{ "{'kind':'address','value':'198.50.0.0/15','force':true}", 201, NULL },
	};
	static const char *const sets[] = { "http.trusted_proxies=127.0.0.1 192.0.2.7", NULL };

	s = server_start(sets);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		ANSWER r = admin_ask(s, "POST", BANS, *rows[i].body ? J(rows[i].body) : NULL);
		admin_expect(&r, rows[i].status, rows[i].code);
		cr_expect_eq(r.status, rows[i].status, "%s: %s", rows[i].body, r.body);
	}
	ANSWER list = admin_get(s, BANS);
	cr_expect_eq(rest_count(&list, "items"), 3);

	ANSWER unknown = admin_ask(s, "DELETE", BANS "/77", NULL);
	admin_expect(&unknown, 404, "not_found");
	ANSWER word = admin_ask(s, "DELETE", BANS "/all", NULL);
	admin_expect(&word, 404, "not_found");
	ANSWER tried = admin_ask(s, "DELETE", BANS "/1?dry_run=true", NULL);
	admin_expect(&tried, 200, NULL);
	ANSWER kept = admin_ask(s, "DELETE", BANS "/1", NULL);
	admin_expect(&kept, 200, NULL);
	ANSWER twice = admin_ask(s, "DELETE", BANS "/1", NULL);
	admin_expect(&twice, 404, "not_found");
}

Test(bans, there_are_as_many_as_there_may_be)
{
	static const char *const sets[] = { "limits.admin_bans=2", NULL };

	s = server_start(sets);
	ban("address", "203.0.113.1", ",\"expires_s\":60", 0);
	int64_t id    = ban("address", "203.0.113.2", "", 0);
	ANSWER  third = post("address", "203.0.113.3", "");
	admin_expect(&third, 429, "no_room");
	ANSWER tried = admin_ask(s, "POST", BANS "?dry_run=true", J("{'kind':'address','value':'203.0.113.3'}"));
	admin_expect(&tried, 429, "no_room");
	cr_expect_eq(upgrade("/", "X-Forwarded-For: 203.0.113.3\r\n"), 101);
	unban(id);
	ban("address", "203.0.113.3", "", 0);
	ANSWER again = post("address", "203.0.113.4", "");
	admin_expect(&again, 429, "no_room");
	server_advance(s, 61000);
	ban("address", "203.0.113.4", "", 0);
	cr_expect_eq(server_metric(s, "coopd_bans", ""), 2);
}
