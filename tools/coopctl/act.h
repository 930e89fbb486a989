/*
 * Actions: tried first, shown, asked about, done, and said what was done.
 */
#ifndef COOPCTL_ACT_H
#define COOPCTL_ACT_H

#include "coopctl/client.h"
#include "coopctl/print.h"

/* In path, what and done {0} to {3} stand for texts that the caller gives; in the path they are percent-encoded. */
struct action {
	const char                *method, *path; /* "DELETE", "/games/{0}" */
	bool                       destroys;      /* tries it first, and asks, unless --yes */
	const char                *what;          /* behind "This would ": "close game {0}" */
	const char                *done;          /* "Game {0} is closed." */
	const struct print_column *fields;        /* of its answer, shown to people; NULL: none */
	const struct print_column *tried_fields;  /* the same of one that was only tried; NULL: as fields */
	/* Says more of a try, for people; not CTL_OK: it need not be asked about, as was said. NULL: nothing. */
	enum ctl_exit (*tried)(struct ctl *c, FILE *out, const json_t *answer);
};

#define ACT_TEXTS_MAX 4

/*
 * With --dry-run it is only tried and shown. What destroys is tried first, what would happen is shown, and a person at a
 * terminal is asked (CTL_NOT_CONFIRMED: no); without a terminal --yes has to be there. Then it is done and said: with --json
 * the server's answer, else `done` and the fields.
 * of: ACT_TEXTS_MAX texts, NULL for those not used. more: body, text and patience of the request; NULL: none of them.
 */
enum ctl_exit act(struct ctl *c, const struct action *a, const char *const of[ACT_TEXTS_MAX],
                  const struct client_request *more);

/* The same, with the command's arguments as texts. */
enum ctl_exit act_on_args(struct ctl *c, const struct action *a);

/* As act, without anything being said when it was done: *answer is the server's, for json_decref. NULL after --dry-run. */
enum ctl_exit act_quietly(json_t **answer, struct ctl *c, const struct action *a, const char *const of[ACT_TEXTS_MAX],
                          const struct client_request *more);

/* A question on standard error to a person at a terminal; CTL_NOT_CONFIRMED: no, or nobody is there. --yes answers it. */
enum ctl_exit act_confirm(const struct ctl *c, const char *question);

#endif
