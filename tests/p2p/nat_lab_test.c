/*
 * The NAT check behind real routers of every kind: a client on its own, written from the document, and the server with two
 * addresses or one.
 */
#include "support/natlab.h"
#include "support/p2p_client.h"

#include "base/auto.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#define MAPPED_MS   10000
#define STEPS_OF_4  2200 /* two seconds for answers that do not come, three OPEN, and the pause */
#define UPDATE      "nat.update"
#define ONE_ADDRESS "p2p.listen2="

static const char *const all_kinds[] = { "open", "fullcone", "address", "port", "symmetric", "blocked", NULL };

static struct natlab     *lab;
static struct server     *s;
static struct p2p_clients set;

/* False: there can be no lab, and the test returns. */
static bool open_lab(const char *const *kinds, const char *setting)
{
	lab = natlab_new(kinds);
	if (lab)
		s = natlab_server(lab, (const char *[]){ setting, NULL });
	set = (struct p2p_clients){ 0 };
	return lab != NULL;
}

static void close_lab(void)
{
	p2p_clients_free(&set);
	server_finish(s);
	natlab_free(lab);
}

static struct p2p_client *enter_as(const char *node, struct p2p_client_options o)
{
	o.to   = NATLAB_S1;
	o.port = NATLAB_TUNNEL_PORT;
	natlab_enter(lab, node);
	struct p2p_client *c = p2p_client_new(&set, node, &o);

	natlab_leave();
	cr_assert_not_null(c, "%s: no hello", node);
	return c;
}

static struct p2p_client *enter(const char *node)
{
	return enter_as(node, (struct p2p_client_options){ 0 });
}

static bool are_checked(void *arg)
{
	const struct p2p_clients *all = arg;

	for (const struct p2p_client *c = all->first; c; c = c->next) {
		if (c->ws && !c->nat.is_there)
			return false;
	}
	return true;
}

/* All at once: routers do not know of each other. */
static void check_all(void)
{
	for (struct p2p_client *c = set.first; c; c = c->next)
		p2p_client_begin_check(c, UPDATE);
	cr_assert(p2p_clients_run(&set, are_checked, &set, DIAL_PATIENCE_MS), "a check does not end");
}

static void expect_outside(const struct p2p_client *c, const char *node, const char *address)
{
	const char *outside = natlab_node(lab, node)->outside;

	cr_expect(strncmp(address, outside, strlen(outside)) == 0 && address[strlen(outside)] == ':',
	          "%s: seen as '%s', is %s", node, address, outside);
	(void)c;
}

/* --- Two addresses --- */

static const struct {
	const char *kind;
	int         type;
	const char *name, *mapping; /* mapping NULL: not looked at */
} types[] = {
	{ "open", 1, "open", "same" },
	{ "fullcone", 1, "open", "same" },
	{ "address", 2, "address_restricted", "same" },
	{ "port", 3, "port_restricted", "same" },
	{ "symmetric", 4, "symmetric", "varies" },
};

static void expect_type(const struct p2p_client *c, const char *node, size_t row)
{
	const struct p2p_client_nat *n = &c->nat;

	cr_expect(n->ok, "%s: %s", node, n->error);
	cr_expect_eq(n->type, types[row].type, "%s: %s, %s", node, n->name, n->reason);
	cr_expect_str_eq(n->name, types[row].name);
	cr_expect_str_empty(n->reason, "%s: %s", node, n->reason);
	cr_expect_str_eq(n->mapping, types[row].mapping, "%s: mapping %s", node, n->mapping);
	cr_expect_not(n->conflict, "%s: conflict", node);
	cr_expect_not(n->partial);
	expect_outside(c, node, n->mapped);
	if (types[row].type >= 3) {
		expect_outside(c, node, n->mapped_b);
		cr_expect_eq(strcmp(n->mapped, n->mapped_b) == 0, types[row].type == 3, "%s: %s and %s", node,
		             n->mapped, n->mapped_b);
		cr_expect_geq(n->ms, STEPS_OF_4 - 20, "%s: %d ms", node, n->ms);
	}
}

Test(p2p_nat_lab, every_kind_of_router_gets_its_type)
{
	struct p2p_client *clients[2][COUNT_OF(types)];
	char               node[NATLAB_NODE_BYTES];

	if (!open_lab(all_kinds, NULL))
		return;
	for (size_t i = 0; i < COUNT_OF(types); i++) {
		for (int router = 1; router <= 2; router++) {
			snprintf(node, sizeof(node), "%s-%d", types[i].kind, router);
			clients[router - 1][i] = enter(node);
		}
	}
	check_all();
	for (size_t i = 0; i < COUNT_OF(types); i++) {
		for (int router = 1; router <= 2; router++) {
			snprintf(node, sizeof(node), "%s-%d", types[i].kind, router);
			expect_type(clients[router - 1][i], node, i);
		}
	}
	close_lab();
}

/* What the check is for: the outside address, too, is confirmed behind each of them. */
Test(p2p_nat_lab, the_outside_address_is_that_of_the_router)
{
	char node[NATLAB_NODE_BYTES], shown[P2P_CLIENT_ADDRESS_TEXT];

	if (!open_lab(all_kinds, NULL))
		return;
	for (size_t i = 0; i < COUNT_OF(types); i++) {
		snprintf(node, sizeof(node), "%s-1", types[i].kind);
		struct p2p_client *c = enter(node);

		cr_assert(p2p_client_await_mapped(c, MAPPED_MS), "%s: no outside address", node);
		expect_outside(c, node, p2p_client_address_show(shown, &c->mapped));
	}
	close_lab();
}

Test(p2p_nat_lab, the_result_is_kept_by_update_and_not_by_check)
{
	if (!open_lab((const char *[]){ "port", NULL }, "limits.p2p_check_gap_ms=0"))
		return;
	struct p2p_client *c = enter("port-1");

	cr_expect_eq(p2p_client_check(c, "nat.check")->type, 3);
	cr_expect(strstr(p2p_client_ask(c, "nat.get", "")->text, "\"type\":0"), "%s", c->answer.text);
	cr_expect(strstr(c->answer.text, "not_checked"), "%s", c->answer.text);
	cr_expect_eq(p2p_client_check(c, UPDATE)->type, 3);
	cr_expect(strstr(p2p_client_ask(c, "nat.get", "")->text, "\"type\":3"), "%s", c->answer.text);
	close_lab();
}

/* --- Nothing is found --- */

static void expect_unknown(const struct p2p_client *c, const char *node, const char *reason)
{
	cr_expect(c->nat.ok, "%s: %s", node, c->nat.error);
	cr_expect_eq(c->nat.type, 0, "%s: %s", node, c->nat.name);
	cr_expect_str_eq(c->nat.name, "unknown");
	cr_expect_str_eq(c->nat.reason, reason, "%s: %s", node, c->nat.reason);
	cr_expect_str_eq(c->nat.mapping, strcmp(reason, "second_unreachable") == 0 ? "same" : c->nat.mapping);
}

Test(p2p_nat_lab, what_is_not_found_has_its_reason)
{
	if (!open_lab(all_kinds, NULL))
		return;
	struct p2p_client *blocked = enter("blocked-1");
	struct p2p_client *silent  = enter_as("port-1", (struct p2p_client_options){ .skips = { [3] = true } });
	struct p2p_client *half    = enter_as("symmetric-1", (struct p2p_client_options){ .skips = { [5] = true } });
	struct p2p_client *mute    = enter_as("open-1", (struct p2p_client_options){ .skips = { [1] = true } });

	check_all();
	expect_unknown(blocked, "blocked-1", "udp_blocked");
	expect_unknown(mute, "open-1", "udp_blocked");
	expect_unknown(silent, "port-1", "client_timeout");
	cr_expect_eq(half->nat.type, 0);
	cr_expect_str_eq(half->nat.reason, "second_unreachable");
	close_lab();
}

/* --- One address --- */

Test(p2p_nat_lab, with_one_address_only_symmetric_is_certain)
{
	static const char *const kinds[] = { "open", "fullcone", "address", "port", "symmetric", "blocked" };
	struct p2p_client       *clients[COUNT_OF(kinds)];
	char                     node[NATLAB_NODE_BYTES];

	if (!open_lab(all_kinds, ONE_ADDRESS))
		return;
	for (size_t i = 0; i < COUNT_OF(kinds); i++) {
		snprintf(node, sizeof(node), "%s-1", kinds[i]);
		clients[i] = enter(node);
		cr_expect_not(clients[i]->has_second, "%s is told of a second address", node);
	}
	check_all();
	for (size_t i = 0; i < 4; i++) {
		const struct p2p_client_nat *n = &clients[i]->nat;

		cr_expect_not(n->ok, "%s: %s", kinds[i], n->name);
		cr_expect_str_eq(n->error, "second_address_missing", "%s: %s", kinds[i], n->error);
		cr_expect_eq(n->type, 0);
		cr_expect_str_eq(n->mapping, "same", "%s: %s", kinds[i], n->mapping);
	}
	cr_expect(clients[4]->nat.ok, "%s", clients[4]->nat.error);
	cr_expect_eq(clients[4]->nat.type, 4);
	cr_expect(clients[4]->nat.partial);
	cr_expect_str_eq(clients[4]->nat.mapping, "varies");
	expect_unknown(clients[5], "blocked-1", "udp_blocked");
	close_lab();
}

/* The document: nat.update leaves the stored result alone then. */
Test(p2p_nat_lab, with_one_address_what_is_not_certain_is_not_kept)
{
	if (!open_lab((const char *[]){ "port", NULL }, ONE_ADDRESS))
		return;
	struct p2p_client *c = enter("port-1");

	cr_expect_not(p2p_client_check(c, UPDATE)->ok);
	cr_expect(strstr(p2p_client_ask(c, "nat.get", "")->text, "not_checked"), "%s", c->answer.text);
	close_lab();
}
