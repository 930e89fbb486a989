/*
 * The versions of the libraries behind net/, as loaded.
 */
#ifndef NET_NET_VERSION_H
#define NET_NET_VERSION_H

#include <stdio.h>

/* One "name version" line each. */
void net_print_versions(FILE *out);

#endif
