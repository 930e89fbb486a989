/*
 * The server under test: the program named by COOPD_BIN, over a data folder in the run's own, on loopback ports that stay the
 * same. It dies with this process.
 */
#ifndef SOAK_SERVER_H
#define SOAK_SERVER_H

#include "soak.h"

/* The run's folder below TMPDIR or /tmp, and free ports. Ends the program when there are none. */
void soak_server_prepare(void);

/* Starts it and waits until it is ready; soak.up is true then. False: it ended, or is not ready in time. */
bool soak_server_start(void);

/*
 * Tells it to end, this way; the next life begins. False: it does not, or says that something went wrong. A server that cannot hand
 * over is stopped instead, and so it is noted. After a hand-over the next one runs already, and soak_server_start only waits for it.
 */
bool soak_server_end(enum soak_end how);

pid_t soak_server_pid(void); /* 0 while none runs */

/* False: it has ended by itself, which is said on standard error; soak.up is false then. */
bool soak_server_lives(void);

/* Lines of this level ("error", "warn") in its log so far; the last of them into out (which may be NULL). */
unsigned soak_server_lines(const char *level, char *out, size_t cap);

/* Removes the folder, unless COOP_KEEP is set. The server must have ended. */
void soak_server_clean(void);

/* The log's path. */
const char *soak_server_log(void);

#endif
