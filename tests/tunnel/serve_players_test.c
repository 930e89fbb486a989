/*
 * What one address and one player may have: games, new codes, seats, and wrong guesses.
 */
#include "support/server.h"
#include "support/tunnel_ask.h"

#include <criterion/criterion.h>

#include <stdio.h>

#define HOUR_MS   3600000
#define MINUTE_MS 60000

enum { NO_ROOM = 1, NO_GAME = 3, FULL = 4 };

static const char here[]  = "203.0.113.1";
static const char there[] = "203.0.113.2";

/* Games per address */

static unsigned open_1_once(int port, const char *from)
{
	static const uint8_t none[SECRET_BYTES];
	struct ws_client    *c = tunnel_connect(port, from);
	struct pattern       p;

	msg_host_open_1(&p, 0, none);
	ws_client_send_pattern(c, &p);

	unsigned fault = ask_answer(c);

	ws_client_free(c);
	return fault;
}

Test(serve_players, an_address_may_have_four_games_of_both_protocols_together)
{
	struct server    *s    = server_start(NULL);
	int               port = s->tunnel_port;
	struct ws_client *hosts[3];
	uint32_t          code;

	hosts[0] = host_open_from(port, here, "A", &code);
	hosts[1] = host_open_from(port, here, "B", NULL);
	hosts[2] = host_open_from(port, here, "C", NULL);
	cr_expect_eq(open_1_once(port, here), 0, "the fourth, whose host is away now");
	cr_expect_eq(ask_open_once(port, here, "E"), NO_ROOM);
	cr_expect_eq(open_1_once(port, here), NO_ROOM);
	cr_expect_eq(ask_open_once(port, there, "F"), 0, "another address has its own four");

	/* Coming back to a live game is no new game, wherever from; and it stays the game of the address that made it. */
	cr_expect_eq(ask_open_once(port, here, "A"), 0);
	ws_expect_closed(hosts[0]);
	ws_client_free(hosts[0]);
	hosts[0] = host_open_from(port, there, "A", NULL);
	cr_expect_eq(ask_open_once(port, here, "E"), NO_ROOM);
	for (int i = 0; i < 4; i++)
		cr_expect_eq(ask_open_once(port, there, name_number("there ", i)), i < 3 ? 0 : NO_ROOM,
		             "F is one of there's, A is not");

	/* A game that ends makes room. */
	ws_client_free(hosts[1]);
	server_await_metric(s, "coopd_ws_connections", NULL, 2, 5000);
	for (int i = 0; i < 2; i++) {
		server_advance(s, 26000);
		tunnel_echo(hosts[0]);
		tunnel_echo(hosts[2]);
	}
	server_await_metric(s, "coopd_tunnel_games", NULL, 2, 5000);
	cr_expect_eq(ask_open_once(port, here, "E"), 0);
	cr_expect_eq(open_1_once(port, here), 0);
	cr_expect_eq(ask_open_once(port, here, "G"), NO_ROOM);
	ws_client_free(hosts[0]);
	ws_client_free(hosts[2]);
	server_finish(s);
}

Test(serve_players, the_server_has_room_for_so_many_games)
{
	struct server *s    = server_start((const char *[]){ "limits.tunnel_games=3", NULL });
	int            port = s->tunnel_port;

	for (int i = 0; i < 3; i++)
		cr_assert_eq(ask_open_once(port, name_number("203.0.113.", i), name_number("player ", i)), 0);
	cr_expect_eq(ask_open_once(port, "203.0.113.9", "player 9"), NO_ROOM);
	cr_expect_eq(open_1_once(port, "203.0.113.9"), NO_ROOM);
	cr_expect_eq(ask_open_once(port, "203.0.113.9", "player 1"), 0, "a game that is there goes on");
	server_finish(s);
}

/* New players */

static const char *const many_games[] = { "limits.tunnel_games_per_address=1000", NULL };

Test(serve_players, an_address_may_bring_20_new_players_an_hour)
{
	struct server *s    = server_start(many_games);
	int            port = s->tunnel_port;

	/* One who comes again and again is one. */
	for (int i = 0; i < 30; i++)
		cr_assert_eq(ask_open_once(port, here, "player 0"), 0);
	server_advance(s, 3000);
	real_sleep_ms(20);
	for (int i = 1; i < 20; i++)
		cr_assert_eq(ask_open_once(port, here, name_number("player ", i)), 0, "player %d", i);
	cr_expect_eq(ask_open_once(port, here, "player 20"), NO_ROOM);
	cr_expect_eq(ask_open_once(port, here, "player 7"), 0, "a known one is no new one");
	cr_expect_eq(ask_open_once(port, there, "player 20"), 0, "another address has its own");
	cr_expect_eq(ask_open_once(port, here, "player 20"), 0, "and now he is known");
	cr_expect_eq(ask_open_once(port, here, "player 21"), NO_ROOM);
	cr_expect_eq(ask_open_once(port, "::ffff:203.0.113.1", "player 21"), NO_ROOM,
	             "the same address, written otherwise");

	/* It is remembered over a restart, and for an hour. */
	server_restart(s);
	port = s->tunnel_port;
	cr_expect_eq(ask_open_once(port, here, "player 22"), NO_ROOM);
	cr_expect_eq(ask_open_once(port, here, "player 3"), 0);
	server_advance(s, HOUR_MS - MINUTE_MS);
	cr_expect_eq(ask_open_once(port, here, "player 22"), NO_ROOM);
	server_kill(s);
	server_restart(s);
	port = s->tunnel_port;
	cr_expect_eq(ask_open_once(port, here, "player 22"), NO_ROOM);
	server_advance(s, MINUTE_MS);
	real_sleep_ms(20);
	for (int i = 22; i < 42; i++)
		cr_assert_eq(ask_open_once(port, here, name_number("player ", i)), 0, "player %d", i);
	cr_expect_eq(ask_open_once(port, here, "player 42"), NO_ROOM);
	server_finish(s);
}

Test(serve_players, a_new_player_without_room_for_a_game_has_his_code_all_the_same)
{
	struct server *s    = server_start(NULL);
	int            port = s->tunnel_port;

	for (int i = 0; i < 25; i++)
		cr_expect_eq(ask_open_once(port, here, name_number("player ", i)), i < 4 ? 0 : NO_ROOM);
	server_advance(s, 5000);
	server_await_metric(s, "coopd_tunnel_players", NULL, 20, 5000);
	cr_expect_eq(ask_open_once(port, there, "player 19"), 0);
	server_advance(s, 5000);
	server_await_metric(s, "coopd_tunnel_games", NULL, 5, 5000);
	server_await_metric(s, "coopd_tunnel_players", NULL, 20, 5000);
	server_finish(s);
}

Test(serve_players, all_together_may_bring_so_many_new_players_an_hour)
{
	struct server *s = server_start((const char *[]){ "limits.tunnel_new_total=30", NULL });

	for (int i = 0; i < 30; i++)
		cr_assert_eq(ask_open_once(s->tunnel_port, name_number("203.0.113.", i), name_number("player ", i)), 0);
	cr_expect_eq(ask_open_once(s->tunnel_port, "198.51.100.1", "player 30"), NO_ROOM);
	cr_expect_eq(ask_open_once(s->tunnel_port, "198.51.100.1", "player 3"), 0);
	server_advance(s, HOUR_MS);
	real_sleep_ms(20);
	cr_expect_eq(ask_open_once(s->tunnel_port, "198.51.100.1", "player 30"), 0);
	server_finish(s);
}

/* Seats */

Test(serve_players, a_player_has_two_seats_in_a_game)
{
	struct server    *s    = server_start(NULL);
	int               port = s->tunnel_port;
	uint32_t          code, other_code;
	struct ws_client *host   = host_open(port, "A", &code);
	struct ws_client *other  = host_open(port, "B", &other_code);
	struct ws_client *first  = friend_join(port, code, "t1", "F");
	struct ws_client *second = friend_join(port, code, "t2", "F");

	cr_expect_eq(ask_join_once(port, NULL, code, "t3", "F"), FULL);
	cr_expect_eq(ask_join_once(port, NULL, code, "t3", "G"), 0, "room there is, for others");
	cr_expect_eq(ask_join_once(port, NULL, other_code, "t3", "F"), 0, "another game");

	/* Coming back to a seat of his is no third one. */
	ws_client_free(first);
	first = friend_join(port, code, "t1", "F");
	cr_expect_eq(ask_join_once(port, NULL, code, "t4", "F"), FULL);
	ws_client_free(first);
	ws_client_free(second);
	ws_client_free(host);
	ws_client_free(other);
	server_finish(s);
}

Test(serve_players, an_address_has_so_many_seats_in_a_game)
{
	struct server    *s    = server_start((const char *[]){ "limits.tunnel_seats_per_address=3", NULL });
	int               port = s->tunnel_port;
	uint32_t          code;
	struct ws_client *host = host_open(port, "A", &code);

	for (int i = 0; i < 3; i++)
		cr_assert_eq(ask_join_once(port, here, code, name_number("t", i), name_number("friend ", i)), 0);
	cr_expect_eq(ask_join_once(port, here, code, "t3", "friend 3"), FULL);
	cr_expect_eq(ask_join_once(port, there, code, "t3", "friend 3"), 0);
	cr_expect_eq(ask_join_once(port, here, code, "t1", "friend 1"), 0, "his seat is his");

	/* Loopback that no proxy names has no cap of its own here, only the game's. */
	for (int i = 4; i < 8; i++)
		cr_expect_eq(ask_join_once(port, NULL, code, name_number("t", i), name_number("friend ", i)), 0);
	cr_expect_eq(ask_join_once(port, NULL, code, "t8", "friend 8"), FULL);
	ws_client_free(host);
	server_finish(s);
}

/* Guessing codes */

/* A JOIN that gets no answer for now: nothing but the answer to an ECHO comes. */
static struct ws_client *join_held(int port, const char *from, uint32_t code, const char *token)
{
	struct ws_client *c = ask_join(port, from, code, token, "guesser");

	tunnel_echo(c);
	return c;
}

/* This many wrong codes from that address, each refused at once. */
static void guess(struct server *s, const char *from, int times)
{
	for (int i = 0; i < times; i++)
		cr_assert_eq(ask_join_once(s->tunnel_port, from, 99999, "t", "guesser"), NO_GAME, "guess %d", i);
}

Test(serve_players, after_30_wrong_codes_a_minute_joins_of_that_address_wait_3_s)
{
	struct server    *s    = server_start(NULL);
	int               port = s->tunnel_port;
	uint32_t          code;
	struct ws_client *host  = host_open(port, "A", &code);
	struct ws_client *known = ask_join(port, here, code, "known", "F");

	cr_assert_eq(ask_answer(known), 0);
	host_expect_friend(host, 1, "F");
	guess(s, here, 30);

	struct ws_client *wrong = join_held(port, here, 99999, "t");
	struct ws_client *right = join_held(port, here, code, "right");

	/* Who is known, or comes from elsewhere, does not wait. */
	cr_expect_eq(ask_join_once(port, here, code, "known", "F"), 0);
	ws_expect_closed(known);
	cr_expect_eq(ask_join_once(port, there, code, "other", "G"), 0);
	host_expect_friend(host, 2, "G");
	cr_expect_eq(ask_join_once(port, there, 99999, "t", "G"), NO_GAME);

	/* What else comes meanwhile is ignored, a second JOIN too. */
	ws_client_send(right, "08 02 00 00 00 00 (00)x24");
	ws_client_send(right, "01 02 (00)x16");
	tunnel_echo(right);

	server_advance(s, 2900);
	ws_expect_nothing(right, 30);
	tunnel_echo(wrong);
	server_advance(s, 100);
	tunnel_expect_fault(wrong, NO_GAME);
	cr_expect_eq(ask_answer(right), 0, "the right code is right, three seconds later");
	host_expect_friend(host, 3, "guesser");
	cr_expect_eq(server_metric(s, "coopd_tunnel_joins_delayed_total", NULL), 2);
	ws_client_free(right);
	ws_client_free(wrong);
	ws_client_free(known);
	ws_client_free(host);
	server_finish(s);
}

Test(serve_players, a_minute_after_wrong_codes_joins_wait_no_longer)
{
	struct server *s = server_start(NULL);

	guess(s, here, 30);
	ws_client_free(join_held(s->tunnel_port, here, 99999, "t"));
	server_advance(s, MINUTE_MS);
	real_sleep_ms(20);
	guess(s, here, 30);
	ws_client_free(join_held(s->tunnel_port, here, 99999, "t"));
	server_finish(s);
}

Test(serve_players, a_held_join_may_be_given_up)
{
	struct server *s = server_start((const char *[]){ "limits.tunnel_join_fails=1", NULL });

	guess(s, here, 1);
	for (int i = 0; i < 3; i++) {
		struct ws_client *c = join_held(s->tunnel_port, here, 99999, "t");

		if (i == 1)
			ws_client_drop(c);
		if (i == 2)
			ws_client_close(c, 1000);
		ws_client_free(c);
	}
	server_await_metric(s, "coopd_ws_connections", NULL, 0, 5000);
	server_advance(s, 3000);
	server_advance(s, MINUTE_MS);
	real_sleep_ms(20);
	guess(s, here, 1);
	server_finish(s);
}

Test(serve_players, wrong_codes_count_per_ipv6_48_and_in_all_too)
{
	struct server *s =
		server_start((const char *[]){ "limits.tunnel_join_fails=3", "limits.tunnel_join_fails_net=7",
	                                       "limits.tunnel_join_fails_total=16", NULL });
	int port = s->tunnel_port;

	guess(s, "2001:db8:1:1::1", 3);
	ws_client_free(join_held(port, "2001:db8:1:1::2", 99999, "t"));
	guess(s, "2001:db8:1:2::1", 3);
	guess(s, "2001:db8:1:3::1", 1);
	ws_client_free(join_held(port, "2001:db8:1:4::1", 99999, "t"));
	guess(s, "2001:db8:2:4::1", 3);
	guess(s, here, 3);
	guess(s, there, 3);
	ws_client_free(join_held(port, "198.51.100.1", 99999, "t"));
	server_finish(s);
}
