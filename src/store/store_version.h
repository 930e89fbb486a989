/*
 * The versions of the libraries behind store/, as loaded.
 */
#ifndef STORE_STORE_VERSION_H
#define STORE_STORE_VERSION_H

#include <stdio.h>

/* One "name version" line each. */
void store_print_versions(FILE *out);

#endif
