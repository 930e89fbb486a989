/*
 * The versions of the libraries behind crypt/, as loaded.
 */
#ifndef CRYPT_CRYPT_VERSION_H
#define CRYPT_CRYPT_VERSION_H

#include <stdio.h>

/* One "name version" line each. */
void crypt_print_versions(FILE *out);

#endif
