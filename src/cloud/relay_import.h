/*
 * coopd --import and --import-check: codes and campaigns of the Python relay's data folder come into ours.
 *
 *	codes.json -> import_code (in helpings)
 *	campaigns/ID: meta.json, prev.bin, last.bin -> cloud_put (checked, hashed, synced) -> import_campaign (renamed, rows)
 *
 * What is left out is said in a line each, and the rest goes on.
 */
#ifndef CLOUD_RELAY_IMPORT_H
#define CLOUD_RELAY_IMPORT_H

#include "conf/conf.h"

#include <stdbool.h>
#include <stdio.h>

/*
 * The exit status: 0, all that the folder has is here; 3, some of it was left out, which out says; 1, it was given up, which
 * standard error says: what had come in by then stays, and another run goes on from there. No server may run on the data
 * folder. check: nothing is changed, and a server may run.
 */
#define RELAY_LEFT_OUT 3
int relay_import_main(const struct conf *conf, const char *source, bool check, FILE *out);

#endif
