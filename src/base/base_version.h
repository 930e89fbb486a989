/*
 * The versions of the libraries behind base/, as loaded.
 */
#ifndef BASE_BASE_VERSION_H
#define BASE_BASE_VERSION_H

#include <stdio.h>

/* One "name version" line each. */
void base_print_versions(FILE *out);

#endif
