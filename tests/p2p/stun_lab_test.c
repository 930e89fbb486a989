/*
 * Three opinions of every kind of router, asked of the same server: its own NAT check, Debian's client of RFC 3489, and coturn's
 * of RFC 5780. They have to agree.
 */
#include "support/natlab.h"
#include "support/p2p_client.h"
#include "support/program.h"

#include "base/auto.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROGRAM_MS 60000 /* where nothing is answered they repeat and wait */
#define OLD        "stun"
#define NEW        "turnutils_natdiscovery"

/* mapping NULL: there is none to be found. */
static const struct kind {
	const char *name;
	int         type;
	const char *old, *mapping, *filtering;
} kinds[] = {
	{ "open", 1, "Primary: Open", "Endpoint Independent Mapping!", "Endpoint Independent Filtering!" },
	{ "fullcone", 1, "Primary: Independent Mapping, Independent Filter,", "Endpoint Independent Mapping!",
	  "Endpoint Independent Filtering!" },
	{ "address", 2, "Primary: Independent Mapping, Address Dependent Filter,", "Endpoint Independent Mapping!",
	  "NAT with Address Dependent Filtering!" },
	{ "port", 3, "Primary: Independent Mapping, Port Dependent Filter,", "Endpoint Independent Mapping!",
	  "Address and Port Dependent Filtering!" },
	{ "symmetric", 4, "Primary: Dependent Mapping,", "Address and Port Dependent Mapping!",
	  "Address and Port Dependent Filtering!" },
	{ "blocked", 0, "Primary: Blocked or could not reach STUN server", NULL, NULL },
};

static struct natlab     *lab;
static struct server     *s;
static struct p2p_clients set;

struct opinions {
	struct p2p_client *client;
	struct program    *old, *mapping, *filtering;
};

/* All are under way at once: each has a socket of its own, which it must. */
static struct opinions ask(const struct kind *k)
{
	struct opinions o;
	char            node[NATLAB_NODE_BYTES];

	snprintf(node, sizeof(node), "%s-1", k->name);
	natlab_enter(lab, node);
	o.client =
		p2p_client_new(&set, node, &(struct p2p_client_options){ .to = NATLAB_S1, .port = NATLAB_TUNNEL_PORT });
	o.old       = program_start((const char *[]){ OLD, NATLAB_S1, NULL });
	o.mapping   = program_start((const char *[]){ NEW, "-m", NATLAB_S1, NULL });
	o.filtering = program_start((const char *[]){ NEW, "-f", NATLAB_S1, NULL });
	natlab_leave();
	cr_assert_not_null(o.client, "%s: no hello", node);
	p2p_client_begin_check(o.client, "nat.check");
	return o;
}

/* wanted NULL: there is no result, but what says so. */
static void expect_says(struct program *p, const char *wanted, const char *kind)
{
	program_await_end(p, PROGRAM_MS);
	char *said = program_output(p);

	if (wanted)
		cr_expect(strstr(said, wanted), "%s: no '%s' in\n%s", kind, wanted, said);
	else
		cr_expect(strstr(said, "receive timeout") && !strstr(said, "Independent") && !strstr(said, "Dependent"),
		          "%s: %s", kind, said);
	free(said);
	program_stop(p);
}

static bool are_checked(void *arg)
{
	(void)arg;
	for (const struct p2p_client *c = set.first; c; c = c->next) {
		if (!c->nat.is_there)
			return false;
	}
	return true;
}

Test(p2p_stun_lab, the_clients_of_others_find_what_the_check_finds)
{
	struct opinions o[COUNT_OF(kinds)];

	if (!program_or_skip(OLD) || !program_or_skip(NEW))
		return;
	lab = natlab_new((const char *[]){ "open", "fullcone", "address", "port", "symmetric", "blocked", NULL });
	if (!lab)
		return;
	s = natlab_server(lab, NULL);
	for (size_t i = 0; i < COUNT_OF(kinds); i++)
		o[i] = ask(&kinds[i]);
	cr_assert(p2p_clients_run(&set, are_checked, NULL, DIAL_PATIENCE_MS), "a check does not end");
	for (size_t i = 0; i < COUNT_OF(kinds); i++) {
		cr_expect_eq(o[i].client->nat.type, kinds[i].type, "%s: %s", kinds[i].name, o[i].client->nat.name);
		expect_says(o[i].old, kinds[i].old, kinds[i].name);
		expect_says(o[i].mapping, kinds[i].mapping, kinds[i].name);
		expect_says(o[i].filtering, kinds[i].filtering, kinds[i].name);
	}
	p2p_clients_free(&set);
	server_finish(s);
	natlab_free(lab);
}
