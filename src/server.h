/*
 * The whole server: every part built in order, run, and taken down in reverse.
 */
#ifndef SERVER_H
#define SERVER_H

#include "conf/conf.h"

#include <stdio.h>

/*
 * Serves until SIGTERM or SIGINT; SIGHUP reads the configuration again (args says from where). Returns the process's exit
 * status: 0 after an orderly stop, 1 when it could not start, or when scores that were answered could not be kept at the
 * stop; why was written to standard error, or to the log. report is handover_report's: answered, when it is one, as soon as it is
 * known whether this process can serve.
 */
int server_run(struct conf *conf, const struct conf_args *args, FILE *report);

#endif
