/*
 * Of the two sides of a node neither weighs more than three times the other; a side weighs one more than it has members.
 * With the limit of three, and of two for when one turn is not enough, both adding and removing mend themselves on the
 * way up (Hirai and Yamamoto, "Balancing weight-balanced trees"). A node so has at most three quarters of the weight of the
 * one above it, and 2^32 members are less than 80 deep.
 *
 * The way down is kept as the places where pointers stand, since nodes do not know what is above them.
 */
#include "base/tree.h"

#include <assert.h>
#include <stdbool.h>

#define SIDE_MAX 3
#define TURN_MAX 2

enum { LEFT, RIGHT };

struct way {
	struct tree_node **at[TREE_DEPTH_MAX];
	size_t             depth;
};

void tree_init(struct tree *t, int (*compare)(const struct tree_node *a, const struct tree_node *b))
{
	*t = (struct tree){ .compare = compare };
}

static uint32_t count(const struct tree_node *n)
{
	return n ? n->count : 0;
}

uint32_t tree_count(const struct tree *t)
{
	return count(t->root);
}

struct tree_node *tree_find(const struct tree *t, const struct tree_node *probe)
{
	struct tree_node *n = t->root;
	int               way;

	while (n && (way = t->compare(probe, n)) != 0)
		n = n->child[way < 0 ? LEFT : RIGHT];
	return n;
}

uint32_t tree_before(const struct tree *t, const struct tree_node *probe)
{
	uint32_t before = 0;

	for (struct tree_node *n = t->root; n;) {
		bool is_before = t->compare(n, probe) < 0;

		if (is_before)
			before += count(n->child[LEFT]) + 1;
		n = n->child[is_before ? RIGHT : LEFT];
	}
	return before;
}

struct tree_node *tree_at(const struct tree *t, uint32_t position)
{
	struct tree_node *n = t->root;

	while (n && position != count(n->child[LEFT])) {
		bool is_left = position < count(n->child[LEFT]);

		if (!is_left)
			position -= count(n->child[LEFT]) + 1;
		n = n->child[is_left ? LEFT : RIGHT];
	}
	return n;
}

/* Balance */

static uint64_t weight(const struct tree_node *n)
{
	return (uint64_t)count(n) + 1;
}

static void recount(struct tree_node *n)
{
	n->count = count(n->child[LEFT]) + count(n->child[RIGHT]) + 1;
}

/* The child on this side takes the node's place, and the node goes down on the other side. */
static void turn(struct tree_node **at, int side)
{
	struct tree_node *n = *at, *up = n->child[side];

	n->child[side]   = up->child[!side];
	up->child[!side] = n;
	*at              = up;
	recount(n);
	recount(up);
}

static void balance(struct tree_node **at)
{
	struct tree_node *n    = *at;
	uint64_t          left = weight(n->child[LEFT]), right = weight(n->child[RIGHT]);

	if (left <= SIDE_MAX * right && right <= SIDE_MAX * left)
		return;

	int               heavy = right > left ? RIGHT : LEFT;
	struct tree_node *down  = n->child[heavy];

	if (weight(down->child[!heavy]) >= TURN_MAX * weight(down->child[heavy]))
		turn(&n->child[heavy], !heavy);
	turn(at, heavy);
}

static void mend(struct way *w)
{
	while (w->depth > 0) {
		struct tree_node **at = w->at[--w->depth];

		recount(*at);
		balance(at);
	}
}

static void step(struct way *w, struct tree_node **at)
{
	assert(w->depth < TREE_DEPTH_MAX);
	w->at[w->depth++] = at;
}

/* Adding and removing */

uint32_t tree_add(struct tree *t, struct tree_node *node)
{
	struct way         w;
	struct tree_node **at     = &t->root;
	uint32_t           before = 0;

	w.depth = 0;
	while (*at) {
		int way = t->compare(node, *at);

		assert(way != 0);
		if (way > 0)
			before += count((*at)->child[LEFT]) + 1;
		step(&w, at);
		at = &(*at)->child[way < 0 ? LEFT : RIGHT];
	}
	*node = (struct tree_node){ .count = 1 };
	*at   = node;
	mend(&w);
	return before;
}

/* The first member to the right takes the member's place. */
static void replace(struct way *w, struct tree_node **place)
{
	struct tree_node  *member = *place;
	struct tree_node **at     = &member->child[RIGHT];
	size_t             below  = w->depth;

	while ((*at)->child[LEFT]) {
		step(w, at);
		at = &(*at)->child[LEFT];
	}

	struct tree_node *next = *at;
	*at                    = next->child[RIGHT];
	next->child[LEFT]      = member->child[LEFT];
	next->child[RIGHT]     = member->child[RIGHT];
	*place                 = next;
	/* That pointer stood in the member. */
	if (w->depth > below)
		w->at[below] = &next->child[RIGHT];
}

void tree_remove(struct tree *t, struct tree_node *member)
{
	struct way         w;
	struct tree_node **at = &t->root;

	w.depth = 0;
	while (*at != member) {
		assert(*at);
		step(&w, at);
		at = &(*at)->child[t->compare(member, *at) < 0 ? LEFT : RIGHT];
	}
	if (member->child[LEFT] && member->child[RIGHT]) {
		step(&w, at);
		replace(&w, at);
	} else {
		*at = member->child[member->child[LEFT] ? LEFT : RIGHT];
	}
	mend(&w);
}

/* Walks */

struct tree_walk tree_walk_from(const struct tree *t, uint32_t position)
{
	struct tree_walk w = { .depth = 0 };

	for (struct tree_node *n = t->root; n;) {
		uint32_t left = count(n->child[LEFT]);

		if (position <= left) {
			w.above[w.depth++] = n;
			n                  = n->child[LEFT];
		} else {
			position -= left + 1;
			n = n->child[RIGHT];
		}
	}
	return w;
}

struct tree_node *tree_walk_next(struct tree_walk *w)
{
	if (w->depth == 0)
		return NULL;

	struct tree_node *member = w->above[--w->depth];

	for (struct tree_node *n = member->child[RIGHT]; n; n = n->child[LEFT])
		w->above[w->depth++] = n;
	return member;
}
