/*
 * Players behind real routers, in a network of their own, and the server that brings them together: straight where that
 * works, through holes where routers allow it, through the server where they do not.
 */
#include "support/natlab.h"
#include "support/rooms_game.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#define TITLE     "NPWR00001_00"
#define GAME_PORT 3658
#define RELAY     "rooms.relay=yes"
#define NO_RELAY  "rooms.relay=no"

/* More than the three seconds after which a game gives the direct way up. */
#define GIVES_UP_MS 3500

static struct natlab *lab;
static struct server *s;

/* False: there can be no lab, and the test returns. */
static bool open_lab(const char *kind, const char *other, const char *relay)
{
	lab = natlab_new((const char *[]){ kind, other, NULL });
	if (lab)
		s = natlab_server(lab, (const char *[]){ relay, NULL });
	return lab != NULL;
}

static void close_lab(void)
{
	server_finish(s);
	natlab_free(lab);
}

static struct game *start_at(const char *server, const char *node, const char *name)
{
	natlab_enter(lab, node);
	struct game *g =
		game_start(&(struct gamer_way){ .to = server, .port = NATLAB_ROOMS_PORT }, TITLE, name, GAME_PORT);

	natlab_leave();
	return g;
}

static struct game *start_game(const char *node, const char *name)
{
	return start_at(NATLAB_S1, node, name);
}

/* Both in one room; those who can be have been seen by the server before. */
static void meet(struct game *a, struct game *b)
{
	uint64_t room = game_create(a);

	game_join(b, room);
	game_await_met(a, b);
}

static void expect_both_ways(struct game *a, struct game *b, enum game_way way)
{
	for (int i = 0; i < 3; i++) {
		game_send(a, b, TEXT("from a"));
		game_send(b, a, TEXT("from b"));
		cr_expect_eq(game_expect(b, a, TEXT("from a")), way);
		cr_expect_eq(game_expect(a, b, TEXT("from b")), way);
	}
}

static void expect_stream(struct game *from, struct game *to, enum game_way way)
{
	struct gamer_leg *mine, *theirs;

	cr_expect_eq(game_stream(from, to, &mine, &theirs), way);
	gamer_leg_send(mine, TEXT("question"));
	gamer_leg_end_output(mine);
	gamer_leg_expect(theirs, TEXT("question"));
	gamer_leg_expect_end(theirs);
	gamer_leg_free(mine);
	gamer_leg_free(theirs);
}

static void expect_endpoint(struct game *g, const struct game *of, const char *ip, unsigned port)
{
	const struct game_peer *p = game_peer(g, of);

	cr_expect(strcmp(p->ip, ip) == 0 && p->port == port, "%s is to send to %s:%u, not to %s:%u", g->gamer->name,
	          p->ip, p->port, ip, port);
}

/* --- Straight --- */

Test(rooms_nat, players_with_public_addresses_play_straight)
{
	if (!open_lab("open", NULL, RELAY))
		return;
	struct game *a = start_game("open-1", "alice"), *b = start_game("open-2", "bob");

	game_await_probed(a);
	game_await_probed(b);
	meet(a, b);
	expect_endpoint(b, a, natlab_node(lab, "open-1")->address, GAME_PORT);
	game_await_decision(a, b);
	expect_both_ways(a, b, GAME_DIRECT);
	expect_stream(a, b, GAME_DIRECT);
	expect_stream(b, a, GAME_DIRECT);
	cr_expect_eq(server_metric(s, "coopd_rooms_relayed_datagrams_total", NULL), 0);
	game_stop(a);
	game_stop(b);
	close_lab();
}

Test(rooms_nat, players_of_one_router_play_inside_their_own_network)
{
	if (!open_lab("symmetric", NULL, RELAY))
		return;
	struct game *a = start_game("symmetric-1", "alice"), *b = start_game("symmetric-1b", "bob");

	game_await_probed(a);
	game_await_probed(b);
	meet(a, b);
	expect_endpoint(b, a, natlab_node(lab, "symmetric-1")->address, GAME_PORT);
	expect_endpoint(a, b, natlab_node(lab, "symmetric-1b")->address, GAME_PORT);
	game_await_decision(a, b);
	expect_both_ways(a, b, GAME_DIRECT);
	expect_stream(a, b, GAME_DIRECT);
	game_stop(a);
	game_stop(b);
	close_lab();
}

/* --- Through holes --- */

/* They are told where the other's router takes his packets, and not where he sends from. */
static void expect_holes(const char *of_a, const char *of_b)
{
	struct game *a = start_game(of_a, "alice"), *b = start_game(of_b, "bob");

	game_await_probed(a);
	game_await_probed(b);
	cr_expect_eq(strcmp(a->gamer->public_ip, natlab_node(lab, of_a)->outside), 0);
	cr_expect_neq(a->gamer->public_port, GAME_PORT);
	meet(a, b);
	game_await_decision(a, b);
	expect_endpoint(b, a, a->gamer->public_ip, a->gamer->public_port);
	expect_endpoint(a, b, b->gamer->public_ip, b->gamer->public_port);
	expect_both_ways(a, b, GAME_DIRECT);
	cr_expect_eq(server_metric(s, "coopd_rooms_relayed_datagrams_total", NULL), 0);
	/* No hole takes a connection in: the server says so. */
	expect_stream(a, b, GAME_RELAYED);
	expect_stream(b, a, GAME_RELAYED);
	game_stop(a);
	game_stop(b);
}

Test(rooms_nat, players_behind_cone_routers_punch_holes)
{
	if (!open_lab("port", "address", RELAY))
		return;
	expect_holes("port-1", "port-2");
	expect_holes("address-1", "port-1");
	expect_holes("address-1", "address-2");
	close_lab();
}

Test(rooms_nat, holes_are_punched_without_a_relay_too)
{
	if (!open_lab("port", "fullcone", NO_RELAY))
		return;
	struct game *a = start_game("port-1", "alice"), *b = start_game("fullcone-1", "bob");

	game_await_probed(a);
	game_await_probed(b);
	meet(a, b);
	game_await_decision(a, b);
	expect_both_ways(a, b, GAME_DIRECT);
	game_stop(a);
	game_stop(b);
	close_lab();
}

/* --- Through the server --- */

static void expect_relay(const char *of_a, const char *of_b, bool a_is_routed, bool b_is_routed)
{
	struct game *a = start_game(of_a, "alice"), *b = start_game(of_b, "bob");

	game_await_probed(a);
	game_await_probed(b);
	meet(a, b);
	game_await_decision(a, b);
	expect_both_ways(a, b, GAME_RELAYED);
	cr_expect_eq(game_peer(b, a)->is_routed, a_is_routed, "%s", of_a);
	cr_expect_eq(game_peer(a, b)->is_routed, b_is_routed, "%s", of_b);
	expect_stream(a, b, b_is_routed ? GAME_RELAYED : GAME_DIRECT);
	expect_stream(b, a, a_is_routed ? GAME_RELAYED : GAME_DIRECT);
	game_stop(a);
	game_stop(b);
}

Test(rooms_nat, players_behind_symmetric_routers_are_relayed)
{
	if (!open_lab("symmetric", "port", RELAY))
		return;
	expect_relay("symmetric-1", "symmetric-2", true, true);
	expect_relay("port-1", "symmetric-2", true, true);
	close_lab();
}

Test(rooms_nat, who_reaches_an_open_player_from_another_port_than_he_was_told_of_is_relayed)
{
	if (!open_lab("symmetric", "open", RELAY))
		return;
	expect_relay("symmetric-1", "open-1", true, false);
	close_lab();
}

Test(rooms_nat, without_a_relay_symmetric_routers_keep_players_apart)
{
	if (!open_lab("symmetric", NULL, NO_RELAY))
		return;
	struct game *a = start_game("symmetric-1", "alice"), *b = start_game("symmetric-2", "bob");

	game_await_probed(a);
	game_await_probed(b);
	meet(a, b);
	game_play(GIVES_UP_MS);
	cr_expect_not(game_peer(a, b)->is_heard || game_peer(a, b)->is_relayed);
	cr_expect_not(game_peer(b, a)->is_heard || game_peer(b, a)->is_relayed);
	game_stop(a);
	game_stop(b);
	close_lab();
}

/* Routers let in what comes from the very address and port that was sent to, and the server has two. */
Test(rooms_nat, the_server_answers_and_relays_from_the_address_that_each_player_talks_to)
{
	if (!open_lab("symmetric", NULL, RELAY))
		return;
	struct game *a = start_at(NATLAB_S1, "symmetric-1", "alice"), *b = start_at(NATLAB_S2, "symmetric-2", "bob");

	game_await_probed(a);
	game_await_probed(b);
	meet(a, b);
	game_await_decision(a, b);
	expect_both_ways(a, b, GAME_RELAYED);
	expect_stream(a, b, GAME_RELAYED);
	game_stop(a);
	game_stop(b);
	close_lab();
}

/* --- No UDP at all --- */

Test(rooms_nat, who_is_blocked_has_rooms_and_no_datagrams)
{
	if (!open_lab("blocked", "open", NO_RELAY))
		return;
	struct game *a = start_game("blocked-1", "alice"), *b = start_game("open-1", "bob");
	uint64_t     room;

	game_await_probed(b);
	room = game_create(a);
	game_join(b, room);
	game_play(GIVES_UP_MS);
	cr_expect_not(a->is_probed);
	expect_endpoint(b, a, natlab_node(lab, "blocked-1")->outside, GAME_PORT); /* for want of a better one */
	expect_endpoint(a, b, natlab_node(lab, "open-1")->address, GAME_PORT);
	cr_expect_not(game_peer(a, b)->is_heard || game_peer(a, b)->is_relayed);
	cr_expect_not(game_peer(b, a)->is_heard || game_peer(b, a)->is_relayed);
	gamer_say(a->gamer, room, 0, TEXT("can you hear me?"));
	gamer_expect_said(b->gamer, room, 1, 0, TEXT("can you hear me?"));
	game_stop(a);
	game_stop(b);
	close_lab();
}
