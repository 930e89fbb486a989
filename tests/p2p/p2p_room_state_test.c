/*
 * Rooms as state: seats, the plan of every pair, what pairs say, and the average of the latency.
 */
#include "p2p/p2p_room_state.h"

#include "base/auto.h"
#include "support/p2p_people.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static struct p2p_people p;

static void set_up(void)
{
	p2p_people_init(&p);
}

static void tear_down(void)
{
	p2p_people_fini(&p);
}

TestSuite(p2p_room_state, .init = set_up, .fini = tear_down);

/* Plans */

static const enum p2p_nat_type types[] = { P2P_NAT_UNKNOWN, P2P_NAT_OPEN, P2P_NAT_ADDRESS, P2P_NAT_PORT,
	                                   P2P_NAT_SYMMETRIC };

/*
 * What the one on the lower seat, of the row's type, is to do with the other, of the column's: d, p, r for direct, punch,
 * relay, and c, a, b, n for connect, accept, both, none.
 */
static const char *const plans[][5] = {
	/* unknown, open, address, port, symmetric */
	{ "pb", "dc", "pb", "pb", "rn" }, { "da", "dc", "da", "da", "da" }, { "pb", "dc", "pb", "pb", "pb" },
	{ "pb", "dc", "pb", "pb", "rn" }, { "rn", "dc", "pb", "rn", "rn" },
};

static char letter_of_role(enum p2p_role r)
{
	return *p2p_role_name(r);
}

static char mirrored(char role)
{
	switch (role) {
	case 'c':
		return 'a';
	case 'a':
		return 'c';
	default:
		return role;
	}
}

/* From both sides, the first of which is on the lower seat. */
static void expect_plan(const struct p2p_member *a, const struct p2p_member *b, const char *plan, bool lan)
{
	struct p2p_pair ab = p2p_pair_plan(a, b), ba = p2p_pair_plan(b, a);

	cr_expect_eq(*p2p_plan_name(ab.plan), plan[0], "%s to %s: %s", a->uid, b->uid, p2p_plan_name(ab.plan));
	cr_expect_eq(letter_of_role(ab.role), plan[1], "%s to %s: %s", a->uid, b->uid, p2p_role_name(ab.role));
	cr_expect_eq(ba.plan, ab.plan, "%s to %s: not the same from there", a->uid, b->uid);
	cr_expect_eq(letter_of_role(ba.role), mirrored(plan[1]), "%s to %s: %s", b->uid, a->uid,
	             p2p_role_name(ba.role));
	cr_expect_eq(ab.lan, lan, "%s to %s", a->uid, b->uid);
	cr_expect_eq(ba.lan, lan, "%s to %s", b->uid, a->uid);
}

/* One of each type on the seats 0 to 4, and once more on the next five. */
static void join_all_types(void)
{
	char uid[P2P_UID_BYTES];

	for (int twice = 0; twice < 2; twice++) {
		for (size_t i = 0; i < COUNT_OF(types); i++) {
			snprintf(uid, sizeof(uid), "%s%d", (const char *[]){ "unk", "open", "addr", "port", "sym" }[i],
			         twice);
			p2p_people_join(&p, uid, 10, types[i]);
		}
	}
}

Test(p2p_room_state, every_pair_of_types_has_its_plan_and_its_roles)
{
	join_all_types();
	for (size_t a = 0; a < COUNT_OF(types); a++) {
		for (size_t b = 0; b < COUNT_OF(types); b++)
			expect_plan(&p.people[a], &p.people[5 + b], plans[a][b], false);
	}
}

Test(p2p_room_state, behind_one_address_the_least_is_to_punch)
{
	join_all_types();
	for (size_t i = 0; i < 10; i++)
		memcpy(p.people[i].mapped.ip, (const uint8_t[]){ 203, 0, 113, 200 }, 4);
	p.people[0].mapped.port = 9; /* ports do not matter */
	for (size_t a = 0; a < COUNT_OF(types); a++) {
		for (size_t b = 0; b < COUNT_OF(types); b++) {
			const char *plan = *plans[a][b] == 'r' ? "pb" : plans[a][b];

			expect_plan(&p.people[a], &p.people[5 + b], plan, true);
		}
	}
}

Test(p2p_room_state, one_byte_of_difference_is_another_house)
{
	for (size_t at = 0; at < 4; at++) {
		struct p2p_member a = { .nat = P2P_NAT_PORT, .mapped = { .is_set = true, .ip = { 203, 0, 113, 1 } } };
		struct p2p_member b = a;

		cr_expect(p2p_pair_plan(&a, &b).lan);
		b.mapped.ip[at]++;
		cr_expect_not(p2p_pair_plan(&a, &b).lan, "%zu", at);
	}
}

/* Not even in one house: nobody would know where to. */
Test(p2p_room_state, who_shows_no_address_is_relayed_whatever_the_types)
{
	join_all_types();
	for (size_t a = 0; a < COUNT_OF(types); a++) {
		for (size_t b = 0; b < COUNT_OF(types); b++) {
			struct p2p_member *one = &p.people[a], *other = &p.people[5 + b];

			other->mapped   = one->mapped;
			one->relay_only = true;
			expect_plan(one, other, "rn", false);
			one->relay_only   = false;
			other->relay_only = true;
			expect_plan(one, other, "rn", false);
			other->relay_only    = false;
			other->mapped.is_set = false;
			expect_plan(one, other, "rn", false);
			other->mapped.is_set = true;
			one->mapped.is_set   = false;
			expect_plan(one, other, "rn", false);
			one->mapped.is_set = true;
		}
	}
}

Test(p2p_room_state, names_are_those_of_the_document)
{
	cr_expect_str_eq(p2p_nat_name(P2P_NAT_UNKNOWN), "unknown");
	cr_expect_str_eq(p2p_nat_name(P2P_NAT_OPEN), "open");
	cr_expect_str_eq(p2p_nat_name(P2P_NAT_ADDRESS), "address_restricted");
	cr_expect_str_eq(p2p_nat_name(P2P_NAT_PORT), "port_restricted");
	cr_expect_str_eq(p2p_nat_name(P2P_NAT_SYMMETRIC), "symmetric");
	cr_expect_str_eq(p2p_plan_name(P2P_PLAN_DIRECT), "direct");
	cr_expect_str_eq(p2p_plan_name(P2P_PLAN_PUNCH), "punch");
	cr_expect_str_eq(p2p_plan_name(P2P_PLAN_RELAY), "relay");
	cr_expect_str_eq(p2p_role_name(P2P_ROLE_CONNECT), "connect");
	cr_expect_str_eq(p2p_role_name(P2P_ROLE_ACCEPT), "accept");
	cr_expect_str_eq(p2p_role_name(P2P_ROLE_BOTH), "both");
	cr_expect_str_eq(p2p_role_name(P2P_ROLE_NONE), "none");
}

/* Rooms */

Test(p2p_room_state, there_are_so_many_rooms_and_each_name_is_there_once)
{
	struct p2p_room *second, *third;

	p.limits.p2p_rooms = 2;
	cr_expect_eq(p2p_room_make(&second, &p.rooms, "QK7M2PXD", 4), P2P_ROOM_TAKEN);
	cr_expect_eq(p2p_room_make(&second, &p.rooms, "", 4), P2P_ROOM_TAKEN);
	cr_expect_eq(p2p_room_make(&second, &p.rooms, "game:1234567", 4), P2P_ROOM_TAKEN, "too long");
	cr_assert_eq(p2p_room_make(&second, &p.rooms, "game:123456", 4), P2P_ROOM_FINE);
	cr_expect_eq(p2p_room_make(&third, &p.rooms, "ABCDEFGH", 4), P2P_ROOM_LIMIT);
	cr_expect_eq(p2p_room_find(&p.rooms, "game:123456"), second);
	cr_expect_eq(p2p_room_find(&p.rooms, "QK7M2PXD"), p.room);
	cr_expect_null(p2p_room_find(&p.rooms, "QK7M2PX"));
	cr_expect_null(p2p_room_find(&p.rooms, "game:1234567"));
	cr_expect_null(p2p_room_find(&p.rooms, ""));
	p2p_room_close(&p.rooms, second);
	cr_expect_null(p2p_room_find(&p.rooms, "game:123456"));
	cr_assert_eq(p2p_room_make(&third, &p.rooms, "ABCDEFGH", 4), P2P_ROOM_FINE);
	p2p_room_close(&p.rooms, third);
}

/* Seats */

Test(p2p_room_state, sixty_four_come_in_and_no_more)
{
	struct p2p_member late = { .uid = "late" };

	for (int i = 0; i < P2P_MEMBERS_MAX; i++) {
		char uid[P2P_UID_BYTES];

		cr_expect_not(p2p_room_is_full(p.room));
		snprintf(uid, sizeof(uid), "m%d", i);
		cr_expect_eq(p2p_people_join(&p, uid, 1, P2P_NAT_OPEN)->seat, i);
	}
	cr_expect(p2p_room_is_full(p.room));
	cr_expect_eq(p2p_room_join(p.room, &late), P2P_ROOM_FULL);
	cr_expect_null(late.room);
	p2p_room_leave(&p.people[10]);
	cr_expect_eq(p2p_room_join(p.room, &late), P2P_ROOM_FINE);
	cr_expect_eq(late.seat, P2P_MEMBERS_MAX, "seat 10 is not given again");
	cr_expect_eq(p2p_room_by_seat(p.room, P2P_MEMBERS_MAX), &late);
	p2p_room_leave(&late);
}

Test(p2p_room_state, a_smaller_room_is_full_sooner)
{
	struct p2p_member third = { .uid = "third" };

	p.room->max = 2;
	p2p_people_join(&p, "ann", 1, P2P_NAT_OPEN);
	p2p_people_join(&p, "ben", 1, P2P_NAT_OPEN);
	cr_expect_eq(p2p_room_join(p.room, &third), P2P_ROOM_FULL);
}

Test(p2p_room_state, the_last_seat_is_65534_and_then_none_is_left)
{
	struct p2p_member m = { .uid = "ann" };

	for (unsigned seat = 0; seat <= P2P_SEAT_MAX; seat++) {
		cr_assert_eq(p2p_room_join(p.room, &m), P2P_ROOM_FINE, "%u", seat);
		cr_assert_eq(m.seat, seat);
		p2p_room_leave(&m);
	}
	cr_expect_eq(P2P_SEAT_MAX, 65534);
	cr_expect(p2p_room_is_full(p.room));
	cr_expect_eq(p2p_room_join(p.room, &m), P2P_ROOM_FULL);
	cr_expect_eq(p2p_room_join(p.room, &m), P2P_ROOM_FULL);
}

Test(p2p_room_state, members_are_found_by_seat_and_by_uid)
{
	p2p_people_seven(&p);
	p2p_room_leave(&p.people[0]);
	p2p_room_leave(&p.people[3]);
	for (uint16_t seat = 0; seat < 8; seat++) {
		bool is_there = seat != 0 && seat != 3 && seat != 7;

		cr_expect_eq(p2p_room_by_seat(p.room, seat), is_there ? &p.people[seat] : NULL, "%u", seat);
	}
	cr_expect_null(p2p_room_by_seat(p.room, P2P_SEAT_ALL));
	cr_expect_eq(p2p_room_by_uid(p.room, "gus"), &p.people[6]);
	cr_expect_null(p2p_room_by_uid(p.room, "dee"), "she has left");
	cr_expect_null(p2p_room_by_uid(p.room, "gu"));
	cr_expect_null(p2p_room_by_uid(p.room, "guss"));
	cr_expect_null(p2p_room_by_uid(p.room, ""));
}

/* Pairs */

Test(p2p_room_state, a_pair_is_up_while_both_say_so)
{
	struct p2p_member *ann, *ben;

	p2p_people_seven(&p);
	ann = p2p_people_find(&p, "ann");
	ben = p2p_people_find(&p, "ben");
	cr_expect_not(p2p_pair_say(ann, ben, P2P_PAIR_UP));
	cr_expect_not(p2p_pair_is_up(ann, ben));
	cr_expect_not(p2p_pair_say(ben, ann, P2P_PAIR_FAILED));
	cr_expect(p2p_pair_say(ben, ann, P2P_PAIR_UP));
	cr_expect(p2p_pair_is_up(ann, ben));
	cr_expect(p2p_pair_is_up(ben, ann));
	cr_expect_not(p2p_pair_is_up(ann, p2p_people_find(&p, "cid")));
	cr_expect_not(p2p_pair_say(ann, ben, P2P_PAIR_DOWN));
	cr_expect_not(p2p_pair_is_up(ben, ann));
}

Test(p2p_room_state, what_pairs_have_said_stays_when_others_come_and_go)
{
	struct p2p_member *ann, *cid, *gus, *hal;

	p2p_people_seven(&p);
	ann = p2p_people_find(&p, "ann");
	cid = p2p_people_find(&p, "cid");
	gus = p2p_people_find(&p, "gus");
	p2p_people_link_all(&p);
	p2p_pair_say(cid, gus, P2P_PAIR_FAILED);
	p2p_room_leave(p2p_people_find(&p, "ben"));
	p2p_room_leave(p2p_people_find(&p, "eve"));
	cr_expect_not(p2p_pair_is_up(cid, gus));
	cr_expect_eq(cid->said[gus->index], P2P_PAIR_FAILED);
	cr_expect(p2p_pair_is_up(ann, gus));
	cr_expect(p2p_pair_is_up(ann, cid));
	hal = p2p_people_join(&p, "hal", 1, P2P_NAT_OPEN);
	for (size_t i = 0; i + 1 < p.room->count; i++) {
		cr_expect_eq(hal->said[i], P2P_PAIR_UNSAID);
		cr_expect_eq(p.room->members[i]->said[hal->index], P2P_PAIR_UNSAID, "who sat there before is not he");
	}
	p2p_room_leave(hal);
}

Test(p2p_room_state, a_start_begins_a_new_epoch_in_which_nothing_is_said)
{
	uint8_t keys[P2P_SYNC_KEYS_BYTES];

	memset(keys, 7, sizeof(keys));
	p2p_people_seven(&p);
	cr_expect_eq(p.room->epoch, 0);
	p2p_people_link_all(&p);
	for (size_t i = 0; i < p.count; i++)
		p.people[i].is_settled = true;
	p.room->was_settled = true;
	p2p_room_start(p.room, keys, 12345);
	cr_expect_eq(p.room->epoch, 1);
	cr_expect_eq(p.room->started_ms, 12345);
	cr_expect_arr_eq(p.room->keys, keys, sizeof(keys));
	cr_expect_not(p.room->was_settled);
	for (size_t i = 0; i < p.count; i++) {
		cr_expect_not(p.people[i].is_settled);
		for (size_t j = 0; j < p.count; j++)
			cr_expect_not(p2p_pair_is_up(&p.people[i], &p.people[j]));
	}
	p2p_room_start(p.room, keys, 12346);
	cr_expect_eq(p.room->epoch, 2);
}

Test(p2p_room_state, who_takes_a_seat_over_sits_there_and_nothing_was_said)
{
	struct p2p_member *cid, with = { .uid = "cid" };

	p2p_people_seven(&p);
	cid             = p2p_people_find(&p, "cid");
	cid->is_settled = true;
	p2p_people_link_all(&p);
	p2p_room_take_over(cid, &with);
	cr_expect_null(cid->room);
	cr_expect_eq(with.room, p.room);
	cr_expect_eq(p.room->count, 7);
	cr_expect_eq(with.seat, 2);
	cr_expect_eq(p2p_room_by_seat(p.room, 2), &with);
	cr_expect_eq(p2p_room_by_uid(p.room, "cid"), &with);
	cr_expect_not(with.is_settled);
	for (size_t i = 0; i < p.room->count; i++) {
		cr_expect_eq(with.said[i], P2P_PAIR_UNSAID);
		cr_expect_eq(p.room->members[i]->said[with.index], P2P_PAIR_UNSAID);
	}
	cr_expect(p2p_pair_is_up(&p.people[0], &p.people[6]), "of others nothing changes");
	p2p_room_leave(&with);
	cr_expect_eq(p.room->count, 6);
	cr_expect(p2p_pair_is_up(&p.people[0], &p.people[6]));
}

/* Latency */

static int32_t average(const int64_t *samples, size_t count)
{
	struct p2p_latency l = { 0 };

	for (size_t i = 0; i < count; i++)
		p2p_latency_add(&l, samples[i]);
	cr_expect(l.is_known);
	return p2p_latency_ms(&l);
}

#define AVERAGE(...) average((const int64_t[]){ __VA_ARGS__ }, COUNT_OF(((const int64_t[]){ __VA_ARGS__ })))

Test(p2p_room_state, the_first_sample_is_the_latency_and_others_move_it_by_an_eighth)
{
	cr_expect_eq(AVERAGE(0), 0);
	cr_expect_eq(AVERAGE(100), 100);
	cr_expect_eq(AVERAGE(100, 180), 110);
	cr_expect_eq(AVERAGE(100, 180, 30), 100);
	cr_expect_eq(AVERAGE(0, 8), 1);
}

/* What is behind the point counts on, though it is not shown. */
Test(p2p_room_state, the_latency_is_rounded_to_the_nearest_for_show_only)
{
	cr_expect_eq(AVERAGE(100, 101, 101, 101, 101, 101), 100);
	cr_expect_eq(AVERAGE(100, 101, 101, 101, 101, 101, 101), 101);
	cr_expect_eq(AVERAGE(100, 103), 100);
	cr_expect_eq(AVERAGE(100, 104), 101);
	cr_expect_eq(AVERAGE(100, 97), 100);
	cr_expect_eq(AVERAGE(100, 95), 99);
}
