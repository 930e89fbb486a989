/*
 * Groups: the examples of the document, what decides their order, who leads, and what is left when somebody goes.
 */
#include "p2p/p2p_group_state.h"

#include "base/auto.h"
#include "support/dice.h"
#include "support/p2p_people.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct p2p_people p;

static void start(void)
{
	p2p_people_init(&p);
}

static void stop(void)
{
	p2p_people_fini(&p);
}

TestSuite(p2p_group_state, .init = start, .fini = stop);

static void cut(size_t max)
{
	cr_assert(p2p_groups_make(p.room, max));
}

#define EXPECT_GROUPS(text) cr_expect_str_eq(p2p_people_groups(&p), text)

static struct p2p_member *who(const char *uid)
{
	return p2p_people_find(&p, uid);
}

static void leave(const char *uid)
{
	struct p2p_member *m = who(uid);

	p2p_groups_leave(m);
	p2p_room_leave(m);
}

/* uid says so of its link to each of these, ended by NULL. */
static void say(const char *uid, enum p2p_pair_state state, const char *const *others)
{
	for (; *others; others++)
		p2p_pair_say(who(uid), who(*others), state);
}

#define LIST(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* How the list is cut */

Test(p2p_group_state, the_seven_of_the_document_are_cut_as_it_says)
{
	static const struct {
		size_t      max;
		const char *groups;
	} rows[] = {
		{ 1, "fay | ben | cid | gus | ann | eve | dee" },
		{ 2, "fay ben* | cid* gus | ann* eve | dee" },
		{ 3, "fay ben* cid | gus* ann eve | dee" },
		{ 6, "fay ben* cid gus ann eve | dee" },
		{ 7, "fay ben* cid gus ann eve dee" },
		{ 8, "fay ben* cid gus ann eve dee" },
		{ 64, "fay ben* cid gus ann eve dee" },
	};

	p2p_people_seven(&p);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		cut(rows[i].max);
		EXPECT_GROUPS(rows[i].groups);
		cr_expect_eq(p.room->gen, i + 1);
	}
}

Test(p2p_group_state, one_alone_is_a_group_without_a_leader)
{
	p2p_people_join(&p, "ann", 5, P2P_NAT_OPEN);
	cut(8);
	EXPECT_GROUPS("ann");
}

Test(p2p_group_state, nobody_is_no_group)
{
	cut(8);
	EXPECT_GROUPS("");
	cr_expect_eq(p.room->gen, 1);
}

Test(p2p_group_state, equal_latencies_and_missing_ones_go_by_seat)
{
	p2p_people_join(&p, "a", P2P_PEOPLE_UNMEASURED, P2P_NAT_SYMMETRIC);
	p2p_people_join(&p, "b", 20, P2P_NAT_SYMMETRIC);
	p2p_people_join(&p, "c", 20, P2P_NAT_SYMMETRIC);
	p2p_people_join(&p, "d", P2P_PEOPLE_UNMEASURED, P2P_NAT_SYMMETRIC);
	p2p_people_join(&p, "e", 19, P2P_NAT_SYMMETRIC);
	p2p_people_join(&p, "f", 0, P2P_NAT_SYMMETRIC);
	p2p_people_join(&p, "g", 100000, P2P_NAT_SYMMETRIC);
	cut(64);
	EXPECT_GROUPS("f e b c g a d");
}

Test(p2p_group_state, a_full_room_is_cut_without_a_rest_or_with_one)
{
	char uid[P2P_UID_BYTES];

	for (int i = 0; i < P2P_MEMBERS_MAX; i++) {
		snprintf(uid, sizeof(uid), "m%02d", i);
		p2p_people_join(&p, uid, P2P_MEMBERS_MAX - i, P2P_NAT_PORT);
	}
	for (size_t max = 1; max <= P2P_MEMBERS_MAX; max++) {
		size_t groups = 0, rest = P2P_MEMBERS_MAX % max;

		cut(max);
		for (struct list *at = p.room->groups.next; at != &p.room->groups; at = at->next, groups++) {
			const struct p2p_group *g      = CONTAINER(at, struct p2p_group, in_room);
			size_t                  expect = at->next == &p.room->groups && rest ? rest : max;

			cr_expect_eq(g->count, expect);
			cr_expect_eq(g->leader, g->count > 1 ? g->members[0] : NULL);
			cr_expect_eq(g->members[0]->seat, P2P_MEMBERS_MAX - 1 - groups * max);
		}
		cr_expect_eq(groups, (P2P_MEMBERS_MAX + max - 1) / max);
	}
}

/* Who leads */

Test(p2p_group_state, who_cannot_pass_on_does_not_lead)
{
	static const struct {
		enum p2p_nat_type nat;
		bool              is_mapped, relay_only, leads;
	} rows[] = {
		{ P2P_NAT_OPEN, true, false, true },     { P2P_NAT_ADDRESS, true, false, true },
		{ P2P_NAT_PORT, true, false, true },     { P2P_NAT_SYMMETRIC, true, false, false },
		{ P2P_NAT_UNKNOWN, true, false, false }, { P2P_NAT_OPEN, false, false, false },
		{ P2P_NAT_OPEN, true, true, false },
	};
	struct p2p_member *first = p2p_people_join(&p, "a", 1, P2P_NAT_OPEN);

	p2p_people_join(&p, "b", 2, P2P_NAT_SYMMETRIC);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		first->nat           = rows[i].nat;
		first->mapped.is_set = rows[i].is_mapped;
		first->relay_only    = rows[i].relay_only;
		cut(2);
		cr_expect_eq(first->group->leader == first, rows[i].leads, "row %zu", i);
		cr_expect(rows[i].leads || !first->group->leader, "row %zu", i);
	}
}

Test(p2p_group_state, a_leader_stays_while_one_link_may_still_come_up)
{
	p2p_people_seven(&p);
	cut(3);
	say("ben", P2P_PAIR_FAILED, LIST("fay"));
	cr_expect_not(p2p_groups_look(who("ben")->group));
	say("ben", P2P_PAIR_UP, LIST("cid"));
	say("cid", P2P_PAIR_UP, LIST("ben"));
	cr_expect_not(p2p_groups_look(who("ben")->group));
	EXPECT_GROUPS("fay ben* cid | gus* ann eve | dee");
	cr_expect_eq(p.room->gen, 1);
}

Test(p2p_group_state, a_leader_without_any_link_is_replaced_once_and_for_all)
{
	p2p_people_seven(&p);
	cut(3);
	say("ben", P2P_PAIR_FAILED, LIST("fay"));
	say("cid", P2P_PAIR_DOWN, LIST("ben")); /* from one side is enough */
	cr_expect(p2p_groups_look(who("ben")->group));
	EXPECT_GROUPS("fay ben cid* | gus* ann eve | dee");
	cr_expect_eq(p.room->gen, 2);
	cr_expect_not(p2p_groups_look(who("ben")->group));

	say("cid", P2P_PAIR_UP, LIST("ben", "fay"));
	say("ben", P2P_PAIR_UP, LIST("cid", "fay"));
	p2p_groups_leave(who("cid"));
	EXPECT_GROUPS("fay ben | gus* ann eve | dee");
}

Test(p2p_group_state, a_new_cut_gives_a_bad_leader_another_chance)
{
	p2p_people_seven(&p);
	cut(3);
	say("ben", P2P_PAIR_FAILED, LIST("fay", "cid"));
	cr_expect(p2p_groups_look(who("ben")->group));
	say("ben", P2P_PAIR_UP, LIST("fay", "cid"));
	cut(3);
	EXPECT_GROUPS("fay ben* cid | gus* ann eve | dee");
}

Test(p2p_group_state, who_has_lost_every_link_is_passed_over)
{
	p2p_people_seven(&p);
	say("ben", P2P_PAIR_FAILED, LIST("fay", "cid"));
	cut(3);
	EXPECT_GROUPS("fay ben cid* | gus* ann eve | dee");
	say("cid", P2P_PAIR_FAILED, LIST("fay"));
	cr_expect(p2p_groups_look(who("ben")->group)); /* with ben there is none either: nobody is left to lead */
	EXPECT_GROUPS("fay ben cid | gus* ann eve | dee");
}

/* Leaving and coming */

Test(p2p_group_state, whoever_leaves_the_rest_keeps_its_order)
{
	static const struct {
		const char *uid, *groups;
	} rows[] = {
		{ "fay", "ben* cid | gus* ann eve | dee" }, { "ben", "fay cid* | gus* ann eve | dee" },
		{ "cid", "fay ben* | gus* ann eve | dee" }, { "gus", "fay ben* cid | ann* eve | dee" },
		{ "ann", "fay ben* cid | gus* eve | dee" }, { "eve", "fay ben* cid | gus* ann | dee" },
		{ "dee", "fay ben* cid | gus* ann eve" },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		stop();
		start();
		p2p_people_seven(&p);
		cut(3);
		leave(rows[i].uid);
		EXPECT_GROUPS(rows[i].groups);
		cr_expect_eq(p.room->gen, 2);
		for (size_t j = 0; j < p.room->count; j++) {
			const struct p2p_member *m = p.room->members[j];

			cr_expect_eq(m->group->members[m->in_group], m);
		}
	}
}

Test(p2p_group_state, the_last_one_leads_nobody_and_then_the_group_is_gone)
{
	p2p_people_seven(&p);
	cut(3);
	leave("fay");
	leave("cid");
	EXPECT_GROUPS("ben | gus* ann eve | dee");
	leave("ben");
	EXPECT_GROUPS("gus* ann eve | dee");
}

Test(p2p_group_state, a_leader_is_replaced_when_its_last_link_leaves)
{
	p2p_people_seven(&p);
	cut(7);
	say("ben", P2P_PAIR_FAILED, LIST("fay", "cid", "gus", "ann", "eve"));
	cr_expect_not(p2p_groups_look(who("ben")->group));
	leave("dee");
	EXPECT_GROUPS("fay ben cid* gus ann eve");
}

Test(p2p_group_state, who_comes_waits_for_the_next_cut)
{
	struct p2p_member *m;

	p2p_people_seven(&p);
	cut(3);
	m = p2p_people_join(&p, "hal", 1, P2P_NAT_OPEN);
	cr_expect_null(m->group);
	cr_expect_not(p2p_groups_leave(m));
	cr_expect_eq(p.room->gen, 1);
	EXPECT_GROUPS("fay ben* cid | gus* ann eve | dee");
	cut(3);
	EXPECT_GROUPS("hal* fay ben | cid* gus ann | eve dee*");
}

/* Whatever happens */

static bool comes_before(const struct p2p_member *a, const struct p2p_member *b)
{
	int64_t x = a->has_latency ? a->latency_ms : INT64_MAX, y = b->has_latency ? b->latency_ms : INT64_MAX;

	return x < y || (x == y && a->seat < b->seat);
}

/* Of one group: its order, and that its leader is the first who can. */
static void check_group(const struct p2p_group *g)
{
	const struct p2p_member *first = NULL;

	for (size_t i = 0; i < g->count; i++) {
		cr_assert_eq(g->members[i]->group, g);
		cr_assert_eq(g->members[i]->in_group, i);
		if (i > 0)
			cr_assert(comes_before(g->members[i - 1], g->members[i]));
		if (!first && g->count > 1 && p2p_member_can_lead(g->members[i]))
			first = g->members[i];
	}
	cr_assert_eq(g->leader, first);
}

static void check_all(size_t max)
{
	size_t                   in_groups = 0, grouped = 0;
	const struct p2p_member *last = NULL;

	for (struct list *at = p.room->groups.next; at != &p.room->groups; at = at->next) {
		const struct p2p_group *g = CONTAINER(at, struct p2p_group, in_room);

		cr_assert(g->count >= 1 && g->count <= max);
		check_group(g);
		cr_assert(!last || comes_before(last, g->members[0]));
		last = g->members[g->count - 1];
		in_groups += g->count;
	}
	for (size_t i = 0; i < p.room->count; i++)
		grouped += p.room->members[i]->group != NULL;
	cr_assert_eq(in_groups, grouped);
}

static void join_somebody(int number)
{
	char               uid[P2P_UID_BYTES];
	struct p2p_member *m;

	snprintf(uid, sizeof(uid), "m%d", number);
	m                = p2p_people_join(&p, uid, dice_below(8) ? (int)dice_below(40) : P2P_PEOPLE_UNMEASURED,
	                                   (enum p2p_nat_type)dice_below(5));
	m->mapped.is_set = dice_below(8) != 0;
	m->relay_only    = dice_below(8) == 0;
}

Test(p2p_group_state, everybody_is_in_one_group_whatever_comes_and_goes)
{
	for (unsigned seed = 0; seed < 200; seed++) {
		size_t max = 1 + seed % P2P_MEMBERS_MAX;

		dice_seed(seed);
		stop();
		start();
		for (int i = 0, n = (int)dice_below(P2P_MEMBERS_MAX + 1); i < n; i++)
			join_somebody(i);
		cut(max);
		check_all(max);
		for (size_t i = 0; i < p.room->count; i++)
			cr_assert_not_null(p.room->members[i]->group);
		for (int i = 0; i < 40 && p.room->count > 0; i++) {
			if (dice_below(3) == 0 && p.room->count < P2P_MEMBERS_MAX && p.count < COUNT_OF(p.people))
				join_somebody(1000 + i);
			else
				leave(p.room->members[dice_below((uint32_t)p.room->count)]->uid);
			check_all(max);
		}
	}
}
