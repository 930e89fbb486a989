/*
 * Lists through a member of their entries.
 */
#include "base/list.h"

#include <criterion/criterion.h>

struct item {
	int         number;
	struct list member;
};

static int take_number(struct list *head)
{
	struct list *l = list_take_first(head);

	return l ? CONTAINER(l, struct item, member)->number : -1;
}

Test(list, entries_come_out_in_the_order_they_went_in)
{
	struct list head;
	struct item items[3];

	list_init(&head);
	cr_expect(list_is_empty(&head));
	for (int i = 0; i < 3; i++) {
		items[i].number = i;
		list_append(&head, &items[i].member);
	}
	cr_expect_not(list_is_empty(&head));
	for (int i = 0; i < 3; i++)
		cr_expect_eq(take_number(&head), i);
	cr_expect_eq(take_number(&head), -1);
	cr_expect(list_is_empty(&head));
}

Test(list, an_entry_leaves_from_the_middle_and_again_without_harm)
{
	struct list head;
	struct item items[3];

	list_init(&head);
	for (int i = 0; i < 3; i++) {
		items[i].number = i;
		list_append(&head, &items[i].member);
	}
	list_remove(&items[1].member);
	list_remove(&items[1].member);
	cr_expect_eq(take_number(&head), 0);
	list_append(&head, &items[1].member);
	cr_expect_eq(take_number(&head), 2);
	cr_expect_eq(take_number(&head), 1);
	cr_expect(list_is_empty(&head));
}
