/*
 * Backups of a server of the tests, and coopd --restore over its data folder.
 *
 *	backup_make_now(s, place);
 *	server_stop(s);
 *	AUTO(auto_free) char *said = NULL;
 *	cr_expect_eq(restore_into(&said, s->data, place, ""), 0);
 */
#ifndef TESTS_RESTORE_H
#define TESTS_RESTORE_H

#include "support/server.h"

#include <stddef.h>

/* A command of the shell that has to succeed. */
void restore_shell(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Asks the running server for a backup in this folder, and expects a good one. */
void restore_backup(const struct server *s, const char *place);

/*
 * Runs coopd --restore; more: further options, or "". Its exit status (256 + a signal), and all that it said, for free();
 * said may be NULL.
 */
int restore_into(char **said, const char *data, const char *src, const char *more);

/* coopd with these options, which it does not serve with; the same. */
int restore_coopd(char **said, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* All files of the folder but its lock, with their contents, as one number. */
unsigned long restore_sum(const char *folder);

/* Database and blobs are whole; ends the test otherwise. The server does not run. */
void restore_check_whole(const struct server *s);

#endif
