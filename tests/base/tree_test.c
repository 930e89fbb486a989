/*
 * Trees that know positions, against a sorted array that is told the same.
 */
#include "base/tree.h"

#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define ITEMS 4096

struct item {
	int              key;
	bool             is_in;
	struct tree_node node;
};

static struct item  items[ITEMS];
static struct item *sorted[ITEMS];
static uint32_t     sorted_count;
static struct tree  t;

static struct item *item_of(struct tree_node *n)
{
	return n ? CONTAINER(n, struct item, node) : NULL;
}

static int compare(const struct tree_node *a, const struct tree_node *b)
{
	return CONST_CONTAINER(a, struct item, node)->key - CONST_CONTAINER(b, struct item, node)->key;
}

/* Keys are odd, so that there is something between any two. */
static void start(void)
{
	tree_init(&t, compare);
	sorted_count = 0;
	memset(items, 0, sizeof(items));
	for (int i = 0; i < ITEMS; i++)
		items[i].key = 2 * i + 1;
}

TestSuite(tree, .init = start);

static uint32_t place_of(int key)
{
	uint32_t at = 0;

	while (at < sorted_count && sorted[at]->key < key)
		at++;
	return at;
}

static void add(int i)
{
	uint32_t at = place_of(items[i].key);

	memmove(&sorted[at + 1], &sorted[at], (sorted_count - at) * sizeof(sorted[0]));
	sorted[at]     = &items[i];
	items[i].is_in = true;
	sorted_count++;
	cr_assert_eq(tree_add(&t, &items[i].node), at);
}

static void take_out(int i)
{
	uint32_t at = place_of(items[i].key);

	memmove(&sorted[at], &sorted[at + 1], (sorted_count - at - 1) * sizeof(sorted[0]));
	items[i].is_in = false;
	sorted_count--;
	tree_remove(&t, &items[i].node);
}

/* What the head of tree.c promises of each node; the depth below it. */
static int expect_balance(const struct tree_node *n)
{
	if (!n)
		return 0;

	uint64_t left  = 1 + (n->child[0] ? n->child[0]->count : 0);
	uint64_t right = 1 + (n->child[1] ? n->child[1]->count : 0);
	cr_assert_eq(n->count, left + right - 1);
	cr_assert(left <= 3 * right && right <= 3 * left, "%d and %d", (int)left, (int)right);

	int a = expect_balance(n->child[0]), b = expect_balance(n->child[1]);
	return 1 + (a > b ? a : b);
}

static void expect_walk(uint32_t from)
{
	struct tree_walk w = tree_walk_from(&t, from);

	for (uint32_t i = from; i < sorted_count; i++)
		cr_assert_eq(item_of(tree_walk_next(&w)), sorted[i], "position %u of %u", i, sorted_count);
	cr_assert_null(tree_walk_next(&w));
	cr_assert_null(tree_walk_next(&w));
}

static void expect_same(void)
{
	cr_assert_eq(tree_count(&t), sorted_count);
	expect_balance(t.root);
	expect_walk(0);
	for (uint32_t i = 0; i < sorted_count; i++) {
		cr_assert_eq(item_of(tree_at(&t, i)), sorted[i]);
		cr_assert_eq(tree_before(&t, &sorted[i]->node), i);
	}
	cr_assert_null(tree_at(&t, sorted_count));
}

static void expect_found(void)
{
	for (int key = 0; key <= 2 * ITEMS; key++) {
		struct item  probe = { .key = key };
		struct item *found = item_of(tree_find(&t, &probe.node));
		bool         is_in = key % 2 == 1 && items[key / 2].is_in;

		cr_assert_eq(found, is_in ? &items[key / 2] : NULL, "%d", key);
		cr_assert_eq(tree_before(&t, &probe.node), place_of(key), "%d", key);
	}
}

Test(tree, an_empty_one_has_nothing)
{
	struct item probe = { .key = 1 };

	expect_same();
	cr_expect_null(tree_find(&t, &probe.node));
	cr_expect_eq(tree_before(&t, &probe.node), 0);
	expect_walk(0);
	expect_walk(1);
}

#define FEW 5

/* The tree with its links, to go back to. */
struct past {
	struct tree t;
	struct item items[FEW];
};

static struct past remember(void)
{
	struct past p = { .t = t };

	memcpy(p.items, items, sizeof(p.items));
	return p;
}

static void go_back(const struct past *p)
{
	memcpy(items, p->items, sizeof(p->items));
	t            = p->t;
	sorted_count = 0;
	for (int i = 0; i < FEW; i++)
		if (items[i].is_in)
			sorted[sorted_count++] = &items[i];
}

static void leave_in_every_order(void)
{
	struct past before = remember();

	for (int i = 0; i < FEW; i++) {
		if (!items[i].is_in)
			continue;
		take_out(i);
		expect_same();
		leave_in_every_order();
		go_back(&before);
	}
}

static void come_in_every_order(void)
{
	struct past before = remember();

	for (int i = 0; i < FEW; i++) {
		if (items[i].is_in)
			continue;
		add(i);
		expect_same();
		come_in_every_order();
		go_back(&before);
	}
	if (sorted_count == FEW)
		leave_in_every_order();
}

Test(tree, a_few_come_and_go_in_every_order)
{
	come_in_every_order();
}

/* What makes a plain tree a list. */
Test(tree, ascending_ones_stay_shallow)
{
	for (int i = 0; i < ITEMS; i++)
		add(i);
	expect_same();
	expect_found();
	cr_expect_leq(expect_balance(t.root), 18);
	/* From one end to the middle, and the rest from the other. */
	for (int i = 0; i < ITEMS / 2; i++)
		take_out(i);
	expect_same();
	for (int i = ITEMS - 1; i >= ITEMS / 2; i--)
		take_out(i);
	expect_same();
}

Test(tree, descending_ones_stay_shallow)
{
	for (int i = ITEMS - 1; i >= 0; i--)
		add(i);
	expect_same();
	cr_expect_leq(expect_balance(t.root), 18);
}

Test(tree, it_agrees_with_a_sorted_array_whatever_comes_and_goes)
{
	unsigned dice = 1;

	for (int round = 0; round < 40; round++) {
		/* It grows in some rounds and shrinks in others. */
		int adds = round % 8 < 5 ? 3 : 1;

		for (int n = 0; n < 400; n++) {
			int i = rand_r(&dice) % ITEMS;

			if (!items[i].is_in && rand_r(&dice) % 4 < adds)
				add(i);
			else if (items[i].is_in && rand_r(&dice) % 4 >= adds)
				take_out(i);
		}
		expect_same();
		expect_walk(sorted_count / 3);
		expect_walk(sorted_count);
	}
	expect_found();
}
