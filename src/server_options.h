/*
 * The options of coopd's command line as one table, from which its parser, its help and its manual page are made.
 */
#ifndef SERVER_OPTIONS_H
#define SERVER_OPTIONS_H

#include <getopt.h>
#include <stdio.h>

enum server_option_id {
	SERVER_OPT_CONFIG = 256,
	SERVER_OPT_DATA,
	SERVER_OPT_SET,
	SERVER_OPT_CHECK,
	SERVER_OPT_PRINT,
	SERVER_OPT_SAMPLE,
	SERVER_OPT_VERIFY,
	SERVER_OPT_RESTORE,
	SERVER_OPT_DAMAGED,
	SERVER_OPT_IMPORT,
	SERVER_OPT_IMPORT_CHECK,
	SERVER_OPT_SETTINGS,
	SERVER_OPT_LIMITS,
	SERVER_OPT_ERRORS,
	SERVER_OPT_MAN,
	SERVER_OPT_MAN_CONF,
	SERVER_OPT_VERSION,
	SERVER_OPT_HELP
};

#define SERVER_OPTIONS 18

/* For getopt_long; out has one more, which ends it. */
void server_options_fill(struct option out[SERVER_OPTIONS + 1]);

void server_options_print_help(FILE *out);
void server_options_print_man(FILE *out); /* coopd.8 */

#endif
