/* What the server has, into a file; and a file for the server. */
#ifndef COOPCTL_INTO_H
#define COOPCTL_INTO_H

#include "coopctl/ctl.h"

/*
 * The bytes at path into the file `to`, "-" for standard output, which must be no terminal. The file is there whole or not at
 * all; one that was there is asked about (act_confirm).
 */
enum ctl_exit into_file(struct ctl *c, const char *path, const char *to);

#endif
