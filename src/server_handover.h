/*
 * Handing over to a new process, so that an upgrade costs each client one reconnect.
 *
 *	IDLE --asked--> STARTING --it stands by--> LEAVING: nobody is accepted --> as a stop, but quicker --> ends
 *	  ^---- it refuses, ends, takes too long ------/ \_ it is gone
 *
 * Connections that are made meanwhile wait in the listening sockets, which the new process has too. Once the data folder is
 * released it opens the store and serves. If it is gone by then, this process becomes it.
 */
#ifndef SERVER_HANDOVER_H
#define SERVER_HANDOVER_H

#include "base/err.h"
#include "conf/conf.h"
#include "net/loop.h"
#include "os/successor.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

struct handover;

/* What the server does; loop thread. */
struct handover_parts {
	void (*accept_end)(void *arg); /* takes no connection any more */
	void (*leave)(void *arg);      /* stops, within limits.handover_close_ms */
	void (*stay)(void *arg);       /* nothing came of one that nobody waited for */
	void *arg;
};

/* NULL when out of memory. limits must outlive it. */
struct handover *handover_new(struct loop *loop, const struct limits *limits, const struct handover_parts *parts);

/*
 * Any thread but the loop's: starts the new process and waits until it stands by; then this one leaves by itself, soon. only_try: the
 * new one is ended again, and all stays as it is. ERR_INVALID: nothing has changed, text says why; ERR_EXISTS: one is under way;
 * ERR_DRAINING: the server stops.
 */
enum err handover_ask(pid_t *pid, char text[SUCCESSOR_TEXT_BYTES], struct handover *h, bool only_try);

/* Loop thread: the same, waited for by nobody. */
void handover_begin(struct handover *h);

/* Loop thread: the server is to stop. A new process that stands by is ended: who stops a server means both. */
void handover_cancel(struct handover *h);

/* Ends those who wait in handover_ask. Any thread. */
void handover_end_asks(struct handover *h);

/* After HTTP has stopped, before the store does: the service manager hears who serves from here on. */
void handover_pass_on(struct handover *h);

/* After everything: returns when there is nothing to hand over, or when the new process is there. Frees h; NULL is fine. */
void handover_finish(struct handover *h);

/* --- The new process --- */

/* Where what is wrong with the settings is to be written: standard error, or the other process. */
FILE *handover_report(void);

/* It is said, if it was written there: good, or not. For a process that was started by hand this does nothing. */
void handover_answer(FILE *written, bool is_good);

/* Waits until the other process has released the data folder. False: it has not in time, and the log says so. */
bool handover_wait(const struct conf *conf);

#endif
