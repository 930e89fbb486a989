/*
 * Somebody else's program, started for one test beside the server: a proxy, a TURN server, a client of one.
 *
 *	if (!program_is_here("nginx"))
 *		...
 *	struct program *p = program_start((const char *[]){ "nginx", "-c", path, NULL });
 *	...
 *	program_stop(p);
 *
 * It dies with the test's process. One that still runs when the test ends (because it failed) gets the end of what it
 * said printed.
 */
#ifndef TESTS_PROGRAM_H
#define TESTS_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define PROGRAM_STOP_MS 10000

struct program {
	pid_t           pid;    /* 0 once it has ended */
	int             status; /* then: its status, or 256 + a signal */
	const char     *name;
	char            log_path[80]; /* what it says on both of its outputs; in the test's data folder */
	struct program *next;         /* of those not yet stopped */
};

/* Whether there is such a program, also in the folders for administrators, which are not in everybody's path. */
bool program_is_here(const char *name);

/* For a test that returns then: prints which program it misses. True when it is there. */
bool program_or_skip(const char *name);

/* A loopback port that is free now, for TCP and UDP. Others may take it: whoever uses it must be ready to try another. */
int program_free_port(void);

/* args[0] is found as above; args end with NULL. It gets no input, and data_folder() as its folder and as HOME. */
struct program *program_start(const char *const *args);

bool program_is_running(struct program *p);

/* Waits for its end, at most so long, and returns its status; the test ends otherwise. */
int program_await_end(struct program *p, int patience_ms);

/* SIGTERM, and SIGKILL when that does not help; nothing when it has ended. Frees it. */
void program_stop(struct program *p);

/* All it has said so far, for free(). */
char *program_output(const struct program *p);
void  program_print_output(const struct program *p);

#endif
