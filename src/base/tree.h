/*
 * An ordered set that knows positions: how many come before a member, and which is the n-th, in logarithmic time. Balanced
 * by weight, without chance: no peer can choose members that make it deep. No operation takes memory or stops for long.
 *
 * A struct tree_node is inside each member, as a struct list would be; a member may be in several trees.
 */
#ifndef BASE_TREE_H
#define BASE_TREE_H

#include "base/auto.h"

#include <stddef.h>
#include <stdint.h>

struct tree_node {
	struct tree_node *child[2];
	uint32_t          count; /* of the nodes from here down, itself included */
};

struct tree {
	struct tree_node *root;
	/* Below 0: a comes before b; 0: they are the same. What it looks at does not change while the node is in the tree. */
	int (*compare)(const struct tree_node *a, const struct tree_node *b);
};

void tree_init(struct tree *t, int (*compare)(const struct tree_node *a, const struct tree_node *b));

uint32_t tree_count(const struct tree *t);

/* The member that is the same as probe, which need not be in the tree; or NULL. */
struct tree_node *tree_find(const struct tree *t, const struct tree_node *probe);

/* How many members come before probe, which need not be in the tree: the position of one that is. */
uint32_t tree_before(const struct tree *t, const struct tree_node *probe);

/* The member at this position, from 0; or NULL. */
struct tree_node *tree_at(const struct tree *t, uint32_t position);

/* Adds a node that no member is the same as; its position. */
uint32_t tree_add(struct tree *t, struct tree_node *node);

/* Takes a member out. */
void tree_remove(struct tree *t, struct tree_node *member);

/*
 * Members in order, from a position on; over when the tree changes.
 *
 *	struct tree_walk w = tree_walk_from(t, 0);
 *
 *	for (struct tree_node *n; (n = tree_walk_next(&w));)
 */
#define TREE_DEPTH_MAX 80 /* of 2^32 members */
struct tree_walk {
	struct tree_node
		*above[TREE_DEPTH_MAX]; /* those that come after what is below them on the left, deepest last */
	size_t   depth;
};
struct tree_walk  tree_walk_from(const struct tree *t, uint32_t position);
struct tree_node *tree_walk_next(struct tree_walk *w);

#endif
