/*
 * A server that hands over, and what the next one is to be: the program is a link of the test's own, as a package has one, in the
 * server's folder, which is the working folder.
 */
#ifndef SUPPORT_NEXT_SERVER_H
#define SUPPORT_NEXT_SERVER_H

#include "support/server.h"

#include <sys/types.h>

/* One that runs, from that link. sets: as of server_start. */
struct server *next_start(const char *const *sets);

void next_is(const char *to); /* where the link leads */
void next_is_real(void);
void next_is_script(const char *text); /* of /bin/sh */

/* The real one, with one more setting: "section.key=value". */
void next_has(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Over the API, which has to work; the new process, for server_adopt. */
pid_t next_hand_over(struct server *s);

/* The log says whom it hands over to. */
pid_t next_await(struct server *s);

void next_await_log(const struct server *s, const char *text);

/* It is refused for this reason, and all is as before. */
void next_expect_refused(const struct server *s, const char *why);

#endif
