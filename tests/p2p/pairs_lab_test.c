/*
 * Pairs of players behind real routers: what each is told to try, what comes of it, and that those who cannot reach each other
 * do so through the server.
 */
#include "support/natlab.h"
#include "support/p2p_client.h"

#include "base/auto.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#define MAPPED_MS   10000
#define DECIDED_MS  12000 /* punching ends after 5 s */
#define PLAYERS_MAX 8

static struct natlab     *lab;
static struct server     *s;
static struct p2p_clients set;
static size_t             player_count;
static struct player {
	struct p2p_client *client;
	const char        *node;
	int                type;               /* what is stored: 0 to 4 */
	uint16_t           heard[PLAYERS_MAX]; /* from each seat, relayed */
} players[PLAYERS_MAX];

/* --- The lab, and who is in it --- */

static void on_message(void *arg, struct p2p_client *c, const struct p2p_client_message *m)
{
	(void)arg;
	for (size_t i = 0; i < player_count; i++) {
		if (players[i].client != c)
			continue;
		cr_expect_eq(m->way, P2P_CLIENT_RELAYED);
		cr_expect_eq(m->len, 2);
		cr_expect_eq(m->bytes[0], m->seat, "of seat %u, said by %u", m->seat, m->bytes[0]);
		cr_expect_eq(m->bytes[1], c->seat, "for seat %u, at %u", m->bytes[1], c->seat);
		players[i].heard[m->seat]++;
	}
}

/* False: there can be no lab, and the test returns. */
static bool open_lab(const char *const *kinds)
{
	lab = natlab_new(kinds);
	if (lab)
		s = natlab_server(lab, NULL);
	set          = (struct p2p_clients){ .on_message = on_message };
	player_count = 0;
	memset(players, 0, sizeof(players));
	return lab != NULL;
}

static void close_lab(void)
{
	p2p_clients_free(&set);
	server_finish(s);
	natlab_free(lab);
}

static struct p2p_client *enter_as(const char *node, bool relay_only)
{
	natlab_enter(lab, node);
	struct p2p_client *c = p2p_client_new(&set, node,
	                                      &(struct p2p_client_options){ .to    = NATLAB_S1,
	                                                                    .port  = NATLAB_TUNNEL_PORT,
	                                                                    .local = natlab_node(lab, node)->address,
	                                                                    .relay_only = relay_only });

	natlab_leave();
	cr_assert_not_null(c, "%s: no hello", node);
	if (strncmp(node, "blocked", 7) != 0)
		cr_assert(p2p_client_await_mapped(c, MAPPED_MS), "%s: no outside address", node);
	players[player_count++] = (struct player){ .client = c, .node = node };
	return c;
}

static bool are_checked(void *arg)
{
	(void)arg;
	for (size_t i = 0; i < player_count; i++) {
		if (players[i].type && !players[i].client->nat.is_there)
			return false;
	}
	return true;
}

/* type 0: it does not check. */
static void enter(const char *node, int type)
{
	struct p2p_client *c = enter_as(node, false);

	players[player_count - 1].type = type;
	if (type)
		p2p_client_begin_check(c, "nat.update");
}

static bool are_decided(void *arg)
{
	(void)arg;
	for (size_t i = 0; i < player_count; i++) {
		if (!p2p_client_is_decided(players[i].client) || !players[i].client->is_settled)
			return false;
	}
	return true;
}

/* All in one room, in the order in which they came; then everything is tried that is to be tried. */
static void play(void)
{
	cr_assert(p2p_clients_run(&set, are_checked, NULL, DIAL_PATIENCE_MS), "a check does not end");
	for (size_t i = 0; i < player_count; i++)
		cr_assert_eq(players[i].client->nat.type, players[i].type, "%s is %s", players[i].node,
		             players[i].client->nat.name);
	cr_assert(p2p_client_create(players[0].client, (int)player_count));
	for (size_t i = 1; i < player_count; i++)
		cr_assert(p2p_client_join(players[i].client, players[0].client->room), "%s", players[i].node);
	cr_assert(p2p_client_start(players[player_count - 1].client), "%s",
	          players[player_count - 1].client->answer.text);
	cr_assert(p2p_clients_run(&set, are_decided, NULL, DECIDED_MS), "somebody still tries");
}

/* --- What is to come of it --- */

enum { RELAY = P2P_CLIENT_PLAN_RELAY, PUNCH = P2P_CLIENT_PLAN_PUNCH, DIRECT = P2P_CLIENT_PLAN_DIRECT };

/* By type, as in the document: unknown, open, address restricted, port restricted, symmetric. */
static const int plans[5][5] = {
	{ PUNCH, DIRECT, PUNCH, PUNCH, RELAY }, { DIRECT, DIRECT, DIRECT, DIRECT, DIRECT },
	{ PUNCH, DIRECT, PUNCH, PUNCH, PUNCH }, { PUNCH, DIRECT, PUNCH, PUNCH, RELAY },
	{ RELAY, DIRECT, PUNCH, RELAY, RELAY },
};

static enum p2p_client_role role_of(const struct player *a, const struct player *b)
{
	bool is_lower = a->client->seat < b->client->seat;

	switch (plans[a->type][b->type]) {
	case RELAY:
		return P2P_CLIENT_ROLE_NONE;
	case PUNCH:
		return P2P_CLIENT_ROLE_BOTH;
	default:
		if (a->type == 1 && b->type == 1)
			return is_lower ? P2P_CLIENT_ROLE_CONNECT : P2P_CLIENT_ROLE_ACCEPT;
		return a->type == 1 ? P2P_CLIENT_ROLE_ACCEPT : P2P_CLIENT_ROLE_CONNECT;
	}
}

static const struct p2p_client_peer *look_at(const struct player *a, const struct player *b)
{
	const struct p2p_client_peer *p = p2p_client_peer_of(a->client, b->client);

	cr_assert_not_null(p, "%s has not heard of %s", a->node, b->node);
	return p;
}

static void expect_plan(const struct player *a, const struct player *b)
{
	const struct p2p_client_peer *p = look_at(a, b);

	cr_expect_eq((int)p->plan, plans[a->type][b->type], "%s to %s: plan %d", a->node, b->node, (int)p->plan);
	cr_expect_eq(p->role, role_of(a, b), "%s to %s: role %d", a->node, b->node, (int)p->role);
	cr_expect_not(p->lan, "%s to %s: lan", a->node, b->node);
}

static void expect_state(const struct player *a, const struct player *b, enum p2p_client_path state)
{
	const struct p2p_client_peer *p = look_at(a, b);
	char                          shown[P2P_CLIENT_ADDRESS_TEXT];

	cr_expect_eq(p->state, state, "%s to %s: state %d, %zu sent, %zu answered, at %s", a->node, b->node,
	             (int)p->state, p->punched, p->answered, p2p_client_address_show(shown, &p->path));
	cr_expect_eq(p->punched > 0, state != P2P_CLIENT_PATH_NONE, "%s to %s: %zu sent", a->node, b->node, p->punched);
}

static bool all_have_heard(void *arg)
{
	const size_t *wanted = arg;
	size_t        heard  = 0;

	for (size_t i = 0; i < player_count; i++)
		for (size_t k = 0; k < PLAYERS_MAX; k++)
			heard += players[i].heard[k];
	return heard >= *wanted;
}

/* Everybody who has no path to somebody, and no others, sends by way of the server; all of it arrives. */
static void expect_relay_for_the_rest(size_t pairs)
{
	size_t sent = 0;

	for (size_t i = 0; i < player_count; i++) {
		struct p2p_client *c = players[i].client;

		for (size_t k = 0; k < c->peer_count; k++) {
			uint8_t who[2] = { (uint8_t)c->seat, (uint8_t)c->peers[k].seat };

			if (c->peers[k].state == P2P_CLIENT_PATH_UP)
				continue;
			p2p_client_relay(c, c->peers[k].seat, true, who, sizeof(who));
			sent++;
		}
	}
	cr_expect_eq(sent, 2 * pairs, "%zu frames for %zu pairs", sent, pairs);
	cr_expect(p2p_clients_run(&set, all_have_heard, &sent, DIAL_PATIENCE_MS), "a relayed frame is missing");
	for (size_t i = 0; i < player_count; i++)
		for (size_t k = 0; k < player_count; k++)
			cr_expect_leq(players[i].heard[k], 1, "%s heard %s twice", players[i].node, players[k].node);
}

static bool reaches(int a, int b)
{
	return plans[a][b] != RELAY;
}

/* --- The tests --- */

Test(p2p_pairs_lab, each_pair_of_kinds_does_what_the_plan_says)
{
	size_t relayed = 0;

	if (!open_lab((const char *[]){ "open", "address", "port", "symmetric", NULL }))
		return;
	enter("open-1", 1);
	enter("address-1", 2);
	enter("port-1", 3);
	enter("symmetric-1", 4);
	enter("symmetric-2", 4);
	enter("port-2", 3);
	enter("address-2", 2);
	enter("open-2", 1);
	play();
	for (size_t i = 0; i < player_count; i++) {
		for (size_t k = 0; k < player_count; k++) {
			struct player *a = &players[i], *b = &players[k];

			if (a == b)
				continue;
			expect_plan(a, b);
			expect_state(a, b, reaches(a->type, b->type) ? P2P_CLIENT_PATH_UP : P2P_CLIENT_PATH_NONE);
			relayed += i < k && !reaches(a->type, b->type);
		}
	}
	expect_relay_for_the_rest(relayed);
	close_lab();
}

/*
 * Nobody has to run a check: the plan is punch then, some of it in vain. A full cone counts as open, and behind it is who does
 * not know.
 */
Test(p2p_pairs_lab, who_is_unknown_tries_what_may_be_in_vain)
{
	if (!open_lab((const char *[]){ "open", "fullcone", "address", "port", "symmetric", NULL }))
		return;
	enter("fullcone-1", 1);
	enter("address-1", 2);
	enter("port-1", 3);
	enter("symmetric-1", 4);
	enter("port-2", 0);
	enter("symmetric-2", 0);
	play();

	struct player *known = players, *port = &players[4], *symmetric = &players[5];

	for (size_t i = 0; i < 4; i++) {
		enum p2p_client_path to_port = known[i].type == 4 ? P2P_CLIENT_PATH_NONE : P2P_CLIENT_PATH_UP;

		expect_plan(&known[i], port);
		expect_plan(port, &known[i]);
		expect_plan(&known[i], symmetric);
		expect_plan(symmetric, &known[i]);
		expect_state(&known[i], port, to_port);
		expect_state(port, &known[i], to_port);
	}
	for (size_t i = 0; i < 2; i++) {
		expect_state(&known[i], symmetric, P2P_CLIENT_PATH_UP);
		expect_state(symmetric, &known[i], P2P_CLIENT_PATH_UP);
	}
	expect_state(&known[2], symmetric, P2P_CLIENT_PATH_FAILED);
	expect_state(symmetric, &known[2], P2P_CLIENT_PATH_FAILED);
	expect_state(&known[3], symmetric, P2P_CLIENT_PATH_NONE);
	expect_plan(port, symmetric);
	expect_state(port, symmetric, P2P_CLIENT_PATH_FAILED);
	expect_state(symmetric, port, P2P_CLIENT_PATH_FAILED);
	expect_relay_for_the_rest(5); /* 3 and 4, 4 and both unknown ones, 3 and the symmetric one, the unknown two */
	close_lab();
}

/* In one house the router may carry nothing back inside: the way is the inner one, for symmetric routers too. */
Test(p2p_pairs_lab, who_lives_in_one_house_meets_inside)
{
	static const int         types[] = { 3, 3, 4, 4 };
	static const char *const nodes[] = { "port-1", "port-1b", "symmetric-1", "symmetric-1b" };

	if (!open_lab((const char *[]){ "port", "symmetric", NULL }))
		return;
	for (size_t i = 0; i < COUNT_OF(nodes); i++)
		enter(nodes[i], types[i]);
	play();
	for (size_t i = 0; i < player_count; i++) {
		struct player                *a = &players[i], *b = &players[i ^ 1];
		const struct p2p_client_peer *p = look_at(a, b);
		struct p2p_client_address     inside;
		char                          text[P2P_CLIENT_ADDRESS_TEXT], shown[P2P_CLIENT_ADDRESS_TEXT];

		snprintf(text, sizeof(text), "%s:%u", natlab_node(lab, b->node)->address, b->client->udp_port);
		cr_assert(p2p_client_address_read(&inside, text, strlen(text)));
		cr_expect(p->lan, "%s to %s: no lan", a->node, b->node);
		cr_expect_eq(p->plan, P2P_CLIENT_PLAN_PUNCH, "%s to %s", a->node, b->node);
		expect_state(a, b, P2P_CLIENT_PATH_UP);
		cr_expect(p2p_client_address_is(&p->path, &inside), "%s to %s: by %s", a->node, b->node,
		          p2p_client_address_show(shown, &p->path));
	}
	expect_relay_for_the_rest(4); /* the ports with the symmetric ones */
	close_lab();
}

/* One who does not want to, and one who cannot: no UDP leaves his house. */
Test(p2p_pairs_lab, who_shows_no_address_plays_through_the_server)
{
	if (!open_lab((const char *[]){ "open", "blocked", NULL }))
		return;
	enter("open-1", 1);
	enter_as("open-2", true);
	enter("blocked-1", 0);
	play();
	cr_expect_eq(players[2].client->mapped.port, 0);
	for (size_t i = 0; i < player_count; i++) {
		for (size_t k = 0; k < player_count; k++) {
			if (i == k)
				continue;
			const struct p2p_client_peer *p = look_at(&players[i], &players[k]);

			cr_expect_eq(p->plan, P2P_CLIENT_PLAN_RELAY);
			cr_expect_eq(p->role, P2P_CLIENT_ROLE_NONE);
			cr_expect_eq(p->address_count, k == 0, "%s knows %zu addresses of %s", players[i].node,
			             p->address_count, players[k].node);
			expect_state(&players[i], &players[k], P2P_CLIENT_PATH_NONE);
		}
	}
	expect_relay_for_the_rest(3);
	close_lab();
}
