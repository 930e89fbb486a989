/*
 * Groups are cut once and then only shrink: whoever leaves is taken out, whoever comes waits for the next cut.
 */
#include "p2p/p2p_group_state.h"

#include "base/auto.h"
#include "base/mem.h"

#include <assert.h>
#include <string.h>

bool p2p_member_can_lead(const struct p2p_member *m)
{
	return m->nat >= P2P_NAT_OPEN && m->nat <= P2P_NAT_PORT && m->mapped.is_set && !m->relay_only &&
	       !m->was_bad_leader;
}

/* It has said, or was told, of each of the others that there is no link. One of whom nothing was said yet may still come up. */
static bool has_lost_all(const struct p2p_group *g, const struct p2p_member *leader)
{
	for (size_t i = 0; i < g->count; i++) {
		const struct p2p_member *m = g->members[i];

		if (m != leader && leader->said[m->index] < P2P_PAIR_FAILED && m->said[leader->index] < P2P_PAIR_FAILED)
			return false;
	}
	return true;
}

/* The first that can. A group of one has nobody to lead. */
static void choose_leader(struct p2p_group *g)
{
	g->leader = NULL;
	for (size_t i = 0; i < g->count && g->count > 1 && !g->leader; i++) {
		struct p2p_member *m = g->members[i];

		if (!p2p_member_can_lead(m))
			continue;
		if (has_lost_all(g, m))
			m->was_bad_leader = true;
		else
			g->leader = m;
	}
}

/* Those whose latency is missing come last; where it says nothing, the lower seat is first. */
static bool comes_before(const struct p2p_member *a, const struct p2p_member *b)
{
	if (a->has_latency != b->has_latency)
		return a->has_latency;
	if (a->has_latency && a->latency_ms != b->latency_ms)
		return a->latency_ms < b->latency_ms;
	return a->seat < b->seat;
}

/* By insertion: they are 64 at most. */
static void sort(struct p2p_member **members, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		struct p2p_member *m  = members[i];
		size_t             at = i;

		for (; at > 0 && comes_before(m, members[at - 1]); at--)
			members[at] = members[at - 1];
		members[at] = m;
	}
}

static void fill(struct p2p_group *g, struct p2p_member *const *members, size_t count)
{
	memcpy(g->members, members, count * sizeof(struct p2p_member *));
	g->count = count;
	for (size_t i = 0; i < count; i++) {
		members[i]->group          = g;
		members[i]->in_group       = i;
		members[i]->was_bad_leader = false;
	}
	choose_leader(g);
}

static void free_groups(struct list *groups)
{
	struct list *first;

	while ((first = list_take_first(groups)))
		mem_free(CONTAINER(first, struct p2p_group, in_room));
}

/* So many empty ones, or none at all. */
static bool make_empty(struct list *groups, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct p2p_group *g = mem_new(sizeof(*g));

		if (!g) {
			free_groups(groups);
			return false;
		}
		list_append(groups, &g->in_room);
	}
	return true;
}

bool p2p_groups_make(struct p2p_room *room, size_t max)
{
	struct p2p_member *sorted[P2P_MEMBERS_MAX];
	struct list        groups, *empty;
	size_t             at = 0;

	assert(max >= 1 && max <= P2P_MEMBERS_MAX);
	list_init(&groups);
	if (!make_empty(&groups, (room->count + max - 1) / max))
		return false;
	p2p_groups_clear(room);
	memcpy(sorted, room->members, sizeof(sorted));
	sort(sorted, room->count);
	while ((empty = list_take_first(&groups))) {
		size_t count = room->count - at < max ? room->count - at : max;

		fill(CONTAINER(empty, struct p2p_group, in_room), sorted + at, count);
		list_append(&room->groups, empty);
		at += count;
	}
	room->gen++;
	return true;
}

bool p2p_groups_leave(struct p2p_member *m)
{
	struct p2p_group *g = m->group;

	if (!g)
		return false;
	g->count--;
	for (size_t i = m->in_group; i < g->count; i++) {
		g->members[i]           = g->members[i + 1];
		g->members[i]->in_group = i;
	}
	m->group = NULL;
	m->room->gen++;
	if (g->count == 0) {
		list_remove(&g->in_room);
		mem_free(g);
	} else if (g->leader == m || g->count == 1) {
		choose_leader(g);
	} else if (g->leader && has_lost_all(g, g->leader)) {
		choose_leader(g); /* m was its last link */
	}
	return true;
}

bool p2p_groups_look(struct p2p_group *g)
{
	if (!g->leader || !has_lost_all(g, g->leader))
		return false;
	choose_leader(g);
	g->members[0]->room->gen++;
	return true;
}

void p2p_groups_clear(struct p2p_room *room)
{
	for (size_t i = 0; i < room->count; i++)
		room->members[i]->group = NULL;
	free_groups(&room->groups);
}
