/*
 * How the reference servers end: SIGTERM or SIGINT sets stop_wanted.
 */
#ifndef BENCH_LIB_STOP_H
#define BENCH_LIB_STOP_H

#include <signal.h>

extern volatile sig_atomic_t stop_wanted;

/*
 * *open is for sock_loop_wait: the signals come only while it waits, so that none can slip in between the look at stop_wanted and
 * the wait.
 */
void stop_on_signals(sigset_t *open);

#endif
