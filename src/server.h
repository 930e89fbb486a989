/*
 * The whole server: every part built in order, run, and taken down in reverse.
 */
#ifndef SERVER_H
#define SERVER_H

#include "conf/conf.h"

/*
 * Serves until SIGTERM or SIGINT; SIGHUP reads the configuration again (args says from where). Returns the process's exit
 * status: 0 after an orderly stop, 1 when it could not start, or when scores that were answered could not be kept at the
 * stop; why was written to standard error, or to the log.
 */
int server_run(struct conf *conf, const struct conf_args *args);

#endif
