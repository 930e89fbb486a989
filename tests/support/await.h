/*
 * Waiting, in real time and never longer than DIAL_PATIENCE_MS, for what a server does on its own.
 */
#ifndef TESTS_AWAIT_H
#define TESTS_AWAIT_H

#include "support/server.h"

/* Until its log says this; ends the test when it does not. */
void await_log(const struct server *s, const char *text);

/*
 * Until it has so many descriptors; ends the test otherwise. Requests that ask for figures have some of their own for a
 * moment.
 */
void await_fds(const struct server *s, int count);

/* For tests of memory and speed: from the next start on it is the program that people run, without the sanitizers. */
void use_plain_server(void);

#endif
