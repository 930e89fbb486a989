/*
 * Runs the program named by COOPCTL_BIN, as an operator would, and keeps what it said.
 *
 *	AUTO(coopctl_freep) struct coopctl_result r = coopctl(&(struct coopctl_run){ .socket = path }, "games close 123456 --yes");
 *
 *	cr_expect_eq(r.status, 0, "%s", r.err);
 *
 * Its clock stands at COOPCTL_NOW unless it is to be the real one, and of the environment it sees what is given here only.
 */
#ifndef TESTS_COOPCTL_H
#define TESTS_COOPCTL_H

#include <stdbool.h>
#include <stddef.h>

#define COOPCTL_NOW         "2026-12-01T12:00:00Z"
#define COOPCTL_PATIENCE_MS 60000

struct coopctl_run {
	const char        *socket;      /* --socket; NULL: none */
	const char *const *env;         /* further variables "NAME=value", ended by NULL; NULL: none */
	int                columns;     /* of the terminal; 0: COLUMNS is not set, and a terminal of 200 */
	bool               on_terminal; /* all three streams are one terminal; what it showed is in out */
	const char        *typed;       /* at the terminal; NULL: nothing */
	const char        *when;        /* once its standard output has this, `then` happens; NULL: never */
	const char        *then;        /* is typed at the terminal; NULL: a SIGINT comes */
	void (*meanwhile)(void *arg);   /* is called first; NULL: nothing */
	void *arg;
	bool  real_clock;
};

struct coopctl_result {
	int   status; /* of its end; 256 + a signal */
	char *out, *err;
};

/* words: with blanks between; 'in quotes' is one word. */
struct coopctl_result coopctl(const struct coopctl_run *run, const char *words);

/* The same, from its words, ended by NULL. */
struct coopctl_result coopctl_args(const struct coopctl_run *run, const char *const *args);

void coopctl_freep(struct coopctl_result *r);

#endif
