#include "support/p2p_people.h"

#include "base/auto.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

void p2p_people_init(struct p2p_people *p)
{
	memset(p, 0, sizeof(*p));
	limits_default(&p->limits);
	p2p_rooms_init(&p->rooms, &p->limits, 1);
	cr_assert_eq(p2p_room_make(&p->room, &p->rooms, "QK7M2PXD", P2P_MEMBERS_MAX), P2P_ROOM_FINE);
}

void p2p_people_fini(struct p2p_people *p)
{
	p2p_groups_clear(p->room);
	while (p->room->count > 0)
		p2p_room_leave(p->room->members[0]);
	p2p_room_close(&p->rooms, p->room);
	p2p_rooms_fini(&p->rooms);
}

struct p2p_member *p2p_people_join(struct p2p_people *p, const char *uid, int latency_ms, enum p2p_nat_type nat)
{
	struct p2p_member *m = &p->people[p->count];

	cr_assert_lt(p->count, COUNT_OF(p->people));
	snprintf(m->uid, sizeof(m->uid), "%s", uid);
	m->nat    = nat;
	m->mapped = (struct p2p_endpoint){ .is_set = true, .ip = { 203, 0, 113, (uint8_t)p->count }, .port = 4000 };
	m->has_latency = latency_ms != P2P_PEOPLE_UNMEASURED;
	m->latency_ms  = m->has_latency ? latency_ms : 0;
	cr_assert_eq(p2p_room_join(p->room, m), P2P_ROOM_FINE);
	p->count++;
	return m;
}

void p2p_people_seven(struct p2p_people *p)
{
	p2p_people_join(p, "ann", 48, P2P_NAT_PORT);
	p2p_people_join(p, "ben", 12, P2P_NAT_ADDRESS);
	p2p_people_join(p, "cid", 12, P2P_NAT_PORT);
	p2p_people_join(p, "dee", P2P_PEOPLE_UNMEASURED, P2P_NAT_PORT);
	p2p_people_join(p, "eve", 95, P2P_NAT_SYMMETRIC);
	p2p_people_join(p, "fay", 7, P2P_NAT_SYMMETRIC);
	p2p_people_join(p, "gus", 31, P2P_NAT_OPEN);
}

struct p2p_member *p2p_people_find(struct p2p_people *p, const char *uid)
{
	struct p2p_member *m = p2p_room_by_uid(p->room, uid);

	cr_assert_not_null(m, "%s is not in the room", uid);
	return m;
}

void p2p_people_link_all(struct p2p_people *p)
{
	for (size_t i = 0; i < p->room->count; i++) {
		for (size_t j = 0; j < p->room->count; j++) {
			if (i != j)
				p2p_pair_say(p->room->members[i], p->room->members[j], P2P_PAIR_UP);
		}
	}
}

const char *p2p_people_groups(const struct p2p_people *p)
{
	static char text[P2P_MEMBERS_MAX * (P2P_UID_BYTES + 4)];
	size_t      len = 0;

	text[0] = '\0';
	for (struct list *at = p->room->groups.next; at != &p->room->groups; at = at->next) {
		const struct p2p_group *g = CONTAINER(at, struct p2p_group, in_room);

		if (len)
			len += (size_t)snprintf(text + len, sizeof(text) - len, " |");
		for (size_t i = 0; i < g->count; i++)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s%s", len ? " " : "",
			                        g->members[i]->uid, g->leader == g->members[i] ? "*" : "");
	}
	return text;
}
