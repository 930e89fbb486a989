#include "coopctl/act.h"

#include "base/auto.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
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

/* The template with its {0} to {3} replaced; for free(). encode: percent-encoded. */
static char *expand(const char *template, const char *const of[ACT_TEXTS_MAX], bool encode)
{
	char  *text = NULL;
	size_t len  = 0;
	FILE  *out  = open_memstream(&text, &len);

	if (!out)
		abort();
	for (; *template; template ++) {
		size_t at = (size_t)(template[1] - '0');

		if (*template != '{' || at >= ACT_TEXTS_MAX || template[2] != '}') {
			fputc(*template, out);
			continue;
		}
		assert(of[at]);

		AUTO(auto_free) char *piece = encode ? client_path("%s", of[at]) : print_escape(of[at]);

		fputs(piece, out);
		template += 2;
	}
	if (fclose(out) != 0)
		abort();
	return text;
}

/* What would happen: to standard output when that is all that was asked for, else in front of the question. */
static enum ctl_exit show_attempt(struct ctl *c, const struct action *a, const char *const of[], const json_t *answer)
{
	FILE                 *out  = c->dry_run ? stdout : stderr;
	AUTO(auto_free) char *what = expand(a->what, of, false);

	if (c->json && c->dry_run) {
		print_json(out, answer);
		return CTL_OK;
	}
	fprintf(out, "This would %s.\n", what);
	if (a->tried_fields || a->fields)
		print_fields(c, out, answer, a->tried_fields ? a->tried_fields : a->fields);
	return a->tried ? a->tried(c, out, answer) : CTL_OK;
}

/* Tries it, and asks unless that was all. */
static enum ctl_exit attempt(struct ctl *c, const struct action *a, const char *const of[],
                             const struct client_request *rq)
{
	struct client_request tried  = *rq;
	json_t               *answer = NULL;
	enum ctl_exit         e;

	tried.dry_run = true;
	e             = client_ask(&answer, c, &tried);
	if (e != CTL_OK)
		return e;
	/* Programs get one object per stream: what they are refused for is enough. */
	if (c->dry_run || !c->json)
		e = show_attempt(c, a, of, answer);
	json_decref(answer);
	return c->dry_run || e != CTL_OK ? e : act_confirm(c, "Go on?");
}

enum ctl_exit act_quietly(json_t **answer, struct ctl *c, const struct action *a, const char *const of[ACT_TEXTS_MAX],
                          const struct client_request *more)
{
	AUTO(auto_free) char *path = expand(a->path, of, true);
	struct client_request rq   = { .method = a->method };
	enum ctl_exit         e    = CTL_OK;

	if (more)
		rq = *more;
	rq.method = a->method;
	rq.path   = path;
	*answer   = NULL;
	if (c->dry_run || (a->destroys && !c->yes))
		e = attempt(c, a, of, &rq);
	if (e == CTL_OK && !c->dry_run)
		e = client_ask(answer, c, &rq);
	return e;
}

enum ctl_exit act(struct ctl *c, const struct action *a, const char *const of[ACT_TEXTS_MAX],
                  const struct client_request *more)
{
	json_t       *answer = NULL;
	enum ctl_exit e      = act_quietly(&answer, c, a, of, more);

	if (e != CTL_OK || !answer)
		return e;
	if (c->json) {
		print_json(stdout, answer);
	} else {
		AUTO(auto_free) char *done = expand(a->done, of, false);

		printf("%s\n", done);
		if (a->fields)
			print_fields(c, stdout, answer, a->fields);
	}
	json_decref(answer);
	return CTL_OK;
}

enum ctl_exit act_on_args(struct ctl *c, const struct action *a)
{
	return act(c, a, c->args, NULL);
}
