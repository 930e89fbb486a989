#include "server_backup.h"

#include "base/auto.h"

#include <stdio.h>

bool server_backup_build(struct server_backup *b, struct store *store, const struct conf *conf)
{
	b->backup = backup_new(store, conf->backup_keep);
	if (b->backup && conf->backup_every > 0)
		b->clock = backup_clock_new(b->backup, conf->backup_dir, conf->backup_every);
	if (b->backup && (b->clock || conf->backup_every == 0))
		return true;
	fputs("coopd: there is no memory for backups.\n", stderr);
	return false;
}

bool server_backup_start(struct server_backup *b)
{
	return !b->clock || backup_clock_start(b->clock) == ERR_OK;
}

void server_backup_poke(struct server_backup *b)
{
	if (b->clock)
		backup_clock_poke(b->clock);
}

void server_backup_stop(struct server_backup *b)
{
	if (b->backup)
		backup_stop(b->backup);
	backup_clock_free(TAKE(b->clock));
}

void server_backup_free(struct server_backup *b)
{
	server_backup_stop(b);
	backup_free(TAKE(b->backup));
}
