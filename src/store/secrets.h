/*
 * Secrets the server makes for itself, in data/secrets (mode 0600): one line each, "name = hex digits".
 */
#ifndef STORE_SECRETS_H
#define STORE_SECRETS_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Reads the secret of this name; makes it from random bytes, and adds it to the file, when it is not there. Other lines
 * stay as they are. On failure (ERR_IO, ERR_NOMEM; ERR_MALFORMED: the line is not len bytes of hex) a sentence for the
 * operator went to report.
 */
enum err secret_load(uint8_t *out, size_t len, const char *path, const char *name, FILE *report);

/*
 * Whether a server could start with this file, and would find what every one of ours holds. ERR_NOT_FOUND; ERR_MALFORMED,
 * ERR_IO, ERR_NOMEM with the reason in why.
 */
#define SECRETS_WHY_BYTES 160
enum err secrets_check(char why[SECRETS_WHY_BYTES], const char *path);

#endif
