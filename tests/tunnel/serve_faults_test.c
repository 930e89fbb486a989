/*
 * The four faults of the game tunnel: each way to get one, and that it is the last word before the close.
 */
#include "support/server.h"
#include "support/tunnel_ask.h"

#include <criterion/criterion.h>

enum { NO_ROOM = 1, NO_GAME = 3, FULL = 4 };

Test(serve_faults, a_code_without_a_live_game_is_no_game)
{
	struct server    *s = server_start(NULL);
	uint32_t          code;
	struct ws_client *host = host_open(s->tunnel_port, "A", &code);

	static const uint32_t never[] = { 0, 1, 64101, 64164, 64165, 99999, 1000000, UINT32_MAX };

	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++)
		cr_expect_eq(ask_join_once(s->tunnel_port, NULL, never[i], "t", "B"), NO_GAME, "code %u", never[i]);
	cr_expect_eq(ask_join_once(s->tunnel_port, NULL, code == 999999 ? 100000 : code + 1, "t", "B"), NO_GAME);
	cr_expect_eq(ask_join_once(s->tunnel_port, NULL, code, "t", "B"), 0);

	/* A player keeps his code when his game is over, but it leads nowhere then. */
	ws_client_free(host);
	server_await_metric(s, "coopd_ws_connections", NULL, 0, 5000);
	server_advance(s, 51000);
	server_await_metric(s, "coopd_tunnel_games", NULL, 0, 5000);
	cr_expect_eq(ask_join_once(s->tunnel_port, NULL, code, "t", "B"), NO_GAME);
	server_finish(s);
}

/* JOIN of protocol 1 on a new connection; 0 or the FAULT. */
static unsigned join_1_once(int port, unsigned code)
{
	struct ws_client *c = tunnel_connect(port, NULL);
	struct pattern    p;

	msg_join_1(&p, code, "t");
	ws_client_send_pattern(c, &p);

	unsigned fault = ask_answer(c);

	ws_client_free(c);
	return fault;
}

Test(serve_faults, a_game_of_the_other_protocol_is_no_game)
{
	struct server       *s = server_start(NULL);
	uint32_t             code;
	struct tunnel_ticket ticket;
	struct ws_client    *host   = host_open(s->tunnel_port, "A", &code);
	struct ws_client    *host_1 = host_open_1(s->tunnel_port, NULL, &ticket);

	cr_expect_eq(ask_join_once(s->tunnel_port, NULL, ticket.code, "t", "B"), NO_GAME);
	cr_expect_eq(join_1_once(s->tunnel_port, code & 0xffff), NO_GAME);
	cr_expect_eq(join_1_once(s->tunnel_port, ticket.code), 0);
	ws_client_free(host);
	ws_client_free(host_1);
	server_finish(s);
}

Test(serve_faults, a_game_of_protocol_1_is_none_while_its_host_is_away)
{
	struct server       *s = server_start(NULL);
	struct tunnel_ticket ticket;
	struct ws_client    *host = host_open_1(s->tunnel_port, NULL, &ticket);

	cr_expect_eq(join_1_once(s->tunnel_port, ticket.code), 0);
	ws_client_drop(host);
	ws_client_free(host);
	server_await_metric(s, "coopd_ws_connections", NULL, 0, 5000);
	cr_expect_eq(join_1_once(s->tunnel_port, ticket.code), NO_GAME);

	struct tunnel_ticket again;

	host = host_open_1(s->tunnel_port, &ticket, &again);
	cr_expect_eq(again.code, ticket.code);
	cr_expect_eq(join_1_once(s->tunnel_port, ticket.code), 0);
	ws_client_free(host);
	server_finish(s);
}

Test(serve_faults, the_65th_game_of_protocol_1_finds_no_code)
{
	enum { CODES = 64 };

	struct server    *s = server_start((const char *[]){ "limits.tunnel_games_per_address=100", NULL });
	struct ws_client *hosts[CODES];
	bool              taken[CODES] = { false };
	struct pattern    p;
	uint8_t           none[SECRET_BYTES] = { 0 };

	for (int i = 0; i < CODES; i++) {
		struct tunnel_ticket ticket;

		hosts[i] = host_open_1(s->tunnel_port, NULL, &ticket);
		cr_assert_not(taken[ticket.code - 64101], "code %u twice", ticket.code);
		taken[ticket.code - 64101] = true;
	}

	struct ws_client *c = tunnel_connect(s->tunnel_port, NULL);

	msg_host_open_1(&p, 0, none);
	ws_client_send_pattern(c, &p);
	tunnel_expect_fault(c, NO_ROOM);
	ws_client_free(c);

	/* A game of protocol 2 has codes of its own. */
	cr_expect_eq(ask_open_once(s->tunnel_port, NULL, "A"), 0);
	for (int i = 0; i < CODES; i++)
		ws_client_free(hosts[i]);
	server_finish(s);
}

Test(serve_faults, the_ninth_friend_finds_the_game_full)
{
	enum { FRIENDS = 8 };

	struct server    *s    = server_start(NULL);
	int               port = s->tunnel_port;
	uint32_t          code;
	struct ws_client *host = host_open(port, "A", &code);
	struct ws_client *friends[FRIENDS];

	for (int i = 0; i < FRIENDS; i++) {
		friends[i] = friend_join(port, code, name_number("t", i), name_number("friend ", i));
		host_expect_friend(host, (unsigned)i + 1, name_number("friend ", i));
	}
	cr_expect_eq(ask_join_once(port, NULL, code, "t8", "friend 8"), FULL);

	/* An absent one keeps his place while he may come back, and comes back into the full game. */
	ws_client_drop(friends[3]);
	ws_client_free(friends[3]);
	server_await_metric(s, "coopd_ws_connections", NULL, FRIENDS, 5000);
	cr_expect_eq(ask_join_once(port, NULL, code, "t8", "friend 8"), FULL);
	friends[3] = friend_join(port, code, "t3", "friend 3");
	friend_send(friends[3], "back", 4);
	host_expect_datagram(host, 4, "back", 4);

	/* After that the place is free, under a new number. */
	ws_client_drop(friends[3]);
	ws_client_free(friends[3]);
	server_await_metric(s, "coopd_ws_connections", NULL, FRIENDS, 5000);
	server_advance(s, 25000);
	host_expect_gone(host, 4);
	friends[3] = friend_join(port, code, "t8", "friend 8");
	host_expect_friend(host, 9, "friend 8");
	cr_expect_eq(ask_join_once(port, NULL, code, "t9", "friend 9"), FULL);

	for (int i = 0; i < FRIENDS; i++)
		ws_client_free(friends[i]);
	ws_client_free(host);
	server_finish(s);
}
