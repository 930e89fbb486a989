/*
 * Actions: tried first, shown, asked about, done, and said what was done.
 */
#ifndef COOPCTL_ACT_H
#define COOPCTL_ACT_H

#include "coopctl/client.h"
#include "coopctl/print.h"

struct action {
	struct client_request      request;  /* its dry_run is set here */
	bool                       destroys; /* asks before, unless --yes */
	const char                *what;     /* behind "This would ": "close game 123456" */
	const char                *done;     /* "Game 123456 is closed." */
	const struct print_column *fields;   /* of its answer, shown to people; NULL: none */
};

/*
 * With --dry-run it is only tried. What destroys is tried first, what would happen is shown, and a person at a terminal is
 * asked; without a terminal --yes has to be there. *answer: for json_decref; NULL: not wanted, then with --json it is
 * printed, else `done` and the fields are. CTL_NOT_CONFIRMED when the person said no; also after --dry-run *answer is set.
 */
enum ctl_exit act(json_t **answer, struct ctl *c, const struct action *a);

/* A question on standard error to a person at a terminal; CTL_NOT_CONFIRMED: no, or nobody is there. --yes answers it. */
enum ctl_exit act_confirm(const struct ctl *c, const char *question);

#endif
