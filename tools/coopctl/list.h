/*
 * Commands that show a list, or one thing: the request, the filters, and how it looks.
 */
#ifndef COOPCTL_LIST_H
#define COOPCTL_LIST_H

#include "coopctl/client.h"
#include "coopctl/print.h"

/* For the options of a list command. */
#define LIST_LIMIT                                                                                                  \
	{                                                                                                           \
		.name = "limit", .value = "N", .kind = CTL_NUMBER, .help = "at most so many, 0 for all (default 0)" \
	}

/* path with each option that was given and names a query parameter (ctl_option.query); takes path over. For free(). */
char *list_query(const struct ctl *c, char *path);

/* Prints the whole list at this path, filtered by the options that name a query parameter. `none`: said when it is empty. */
enum ctl_exit list_run(struct ctl *c, const char *path, const struct print_column *columns, const char *none);

/* A list inside of one thing, printed with a heading behind its fields; nothing when it is empty or not there. */
struct list_inside {
	const char                *title, *member;
	const struct print_column *columns;
};

/* Prints one thing: its fields, then the lists inside of it, up to the one without title. */
enum ctl_exit list_show(struct ctl *c, const char *path, const struct print_column *fields,
                        const struct list_inside *lists);

#endif
