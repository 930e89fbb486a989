/*
 * Signals before there is somebody who takes them, and after he is gone. A SIGHUP by a service manager or by a script that comes then is
 * to end nothing; SIGTERM and SIGINT end the process at any time.
 */
#ifndef OS_SIGNALS_H
#define OS_SIGNALS_H

#include <signal.h>

/* SIGHUP, SIGUSR1 and SIGUSR2 wait from here on: at the first line of main, and before the handlers go. Threads made then have it so too. */
void signals_hold(void);

/* The handlers are there. A SIGHUP that waited comes now; the other two are dropped, as they are about what runs. */
void signals_release(void);

/* Those that wait. */
void signals_held(sigset_t *out);

#endif
