/*
 * Environment variables that the protocol documents name and that are not made from a setting's name. COOP_SECTION_NAME
 * wins over them. For conf/ only.
 */
#ifndef CONF_CONF_ENV_H
#define CONF_CONF_ENV_H

#include "conf/conf_table.h"

#include <stdbool.h>
#include <stddef.h>

struct conf_promise {
	const char      *variable;
	enum conf_row_id row;
	const char      *empty;   /* what an empty one stands for; NULL: it is as if it were not set */
	bool             is_port; /* of each address in the row's default, while nothing else sets that row */
	bool             is_idle; /* it has no meaning here, and whoever sets it need not be told */
};

/* By the name of len bytes; NULL when no document names it. */
const struct conf_promise *conf_promise_find(const char *variable, size_t len);

/* The addresses of a LISTEN row with this port in place of theirs, for free(); NULL when out of memory. */
char *conf_promise_listen(const char *addresses, const char *port);

#endif
