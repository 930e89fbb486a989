#include "coopctl/act.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum ctl_exit act_confirm(const struct ctl *c, const char *question)
{
	char line[64] = "";

	if (c->yes)
		return CTL_OK;
	if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
		return ctl_fail(c, CTL_NOT_CONFIRMED, "not_confirmed",
		                "nothing was done: without a terminal to ask at, --yes says that it is meant");
	fprintf(stderr, "%s [y/N] ", question);
	fflush(stderr);
	if (fgets(line, sizeof(line), stdin) &&
	    (strcmp(line, "y\n") == 0 || strcmp(line, "Y\n") == 0 || strcmp(line, "yes\n") == 0))
		return CTL_OK;
	return ctl_fail(c, CTL_NOT_CONFIRMED, "not_confirmed", "nothing was done");
}

/* What would happen: to standard output when that is all that was asked for, else in front of the question. */
static void show_attempt(const struct ctl *c, const struct action *a, const json_t *answer)
{
	FILE *out = c->dry_run ? stdout : stderr;

	if (c->json && c->dry_run) {
		print_json(out, answer);
		return;
	}
	if (c->json)
		return;
	fprintf(out, "This would %s.\n", a->what);
	if (a->fields)
		print_fields(c, out, answer, a->fields);
}

static enum ctl_exit attempt(json_t **answer, struct ctl *c, const struct action *a)
{
	struct client_request rq    = a->request;
	json_t               *tried = NULL;
	enum ctl_exit         e;

	rq.dry_run = true;
	e          = client_ask(&tried, c, &rq);
	if (e != CTL_OK)
		return e;
	show_attempt(c, a, tried);
	if (c->dry_run && answer)
		*answer = tried;
	else
		json_decref(tried);
	return c->dry_run ? CTL_OK : act_confirm(c, "Go on?");
}

enum ctl_exit act(json_t **answer, struct ctl *c, const struct action *a)
{
	json_t       *done = NULL;
	enum ctl_exit e    = CTL_OK;

	if (c->dry_run || (a->destroys && !c->yes))
		e = attempt(answer, c, a);
	if (e != CTL_OK || c->dry_run)
		return e;
	e = client_ask(&done, c, &a->request);
	if (e != CTL_OK)
		return e;
	if (answer) {
		*answer = done;
		return CTL_OK;
	}
	if (c->json) {
		print_json(stdout, done);
	} else {
		printf("%s\n", a->done);
		if (a->fields)
			print_fields(c, stdout, done, a->fields);
	}
	json_decref(done);
	return CTL_OK;
}
