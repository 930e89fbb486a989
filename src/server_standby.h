/*
 * What a process that takes over makes sure of before it says that it stands by: once the other one has left for it, nobody is there
 * whom its troubles could be told.
 */
#ifndef SERVER_STANDBY_H
#define SERVER_STANDBY_H

#include "conf/conf.h"

#include <stdbool.h>
#include <stdio.h>

/*
 * The data folder is the one of the other process, the certificate can be read, every address is to be had. What was bound for it is
 * put with the inherited sockets, where those who listen find it. After inherit_begin. False, after a sentence in report.
 */
bool server_stand_by(const struct conf *conf, FILE *report);

#endif
