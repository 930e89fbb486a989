/*
 * Something that may go wrong without the test going wrong: it runs in a process of its own, where the first expectation
 * that does not hold ends it, and it alone.
 *
 *	char why[ATTEMPT_WHY_BYTES];
 *
 *	if (attempt(play_a_game, &game, 5000, why) == ATTEMPT_REFUSED)
 *		fprintf(stderr, "no game: %s\n", why);
 *
 * What the act is to tell has to lie in shared memory (attempt_share): all else that it changes ends with it. It starts no
 * server.
 */
#ifndef TESTS_ATTEMPT_H
#define TESTS_ATTEMPT_H

#include <stddef.h>

#define ATTEMPT_WHY_BYTES 400

enum attempt_end {
	ATTEMPT_DONE,
	ATTEMPT_REFUSED, /* an expectation did not hold: why says which */
	ATTEMPT_LATE     /* it was not over within patience_ms */
};

enum attempt_end attempt(void (*act)(void *arg), void *arg, int patience_ms, char why[ATTEMPT_WHY_BYTES]);

/* Zeroed memory that this process and its attempts see alike; it lives as long as the test. */
void *attempt_share(size_t bytes);

#endif
