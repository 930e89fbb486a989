/*
 * Doubly linked lists through a struct list inside each member. A list head is a struct list that points at itself.
 */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include "base/auto.h"

#include <stdbool.h>
#include <stddef.h>

struct list {
	struct list *next, *prev;
};

static inline void list_init(struct list *l)
{
	l->next = l->prev = l;
}

static inline bool list_is_empty(const struct list *head)
{
	return head->next == head;
}

/* Adds the member, which is in no list, at the end. */
static inline void list_append(struct list *head, struct list *member)
{
	member->prev     = head->prev;
	member->next     = head;
	head->prev->next = member;
	head->prev       = member;
}

/* Takes the member out; harmless for one that list_init made and that is in no list. */
static inline void list_remove(struct list *member)
{
	member->prev->next = member->next;
	member->next->prev = member->prev;
	list_init(member);
}

/* The first member, taken out; NULL when empty. */
static inline struct list *list_take_first(struct list *head)
{
	if (list_is_empty(head))
		return NULL;
	struct list *first = head->next;
	list_remove(first);
	return first;
}

#endif
