/*
 * Backups of the whole: those that operators ask for, and those by the clock.
 */
#ifndef SERVER_BACKUP_H
#define SERVER_BACKUP_H

#include "conf/conf.h"
#include "store/backup.h"
#include "store/backup_clock.h"
#include "store/store.h"

#include <stdbool.h>

struct server_backup {
	struct backup       *backup;
	struct backup_clock *clock; /* NULL: no schedule */
};

/* Between store_open and store_start. False, after a sentence on standard error. */
bool server_backup_build(struct server_backup *b, struct store *store, const struct conf *conf);
bool server_backup_start(struct server_backup *b); /* after store_start */
void server_backup_poke(struct server_backup *b);
void server_backup_stop(struct server_backup *b); /* ends what is under way; before store_stop */
void server_backup_free(struct server_backup *b); /* when nobody can ask any more */

#endif
