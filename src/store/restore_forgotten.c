/*
 * Whoever was forgotten after the backup was made stays forgotten (store/forget.h): the list of the database that is replaced
 * counts, its file, the backup's file, and those of the other databases in the backup.
 */
#include "base/text.h"
#include "os/clock.h"
#include "store/forget.h"
#include "store/restore_inside.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

/* Takes the list. */
static enum err apply(struct restore *r, struct forgotten_list *list)
{
	int64_t  players = 0;
	enum err e       = forgotten_apply(&players, r->db, list, &r->conf->limits);

	forgotten_list_free(list);
	r->forgotten += players;
	return e == ERR_OK
	               ? e
	               : restore_refuse(r, e, "the players who were forgotten cannot be taken out: %s", err_people(e));
}

/* One that cannot be read is often why somebody restores: he is told, and no more. */
static enum err say_unknown(struct restore *r, const char *path)
{
	fprintf(r->report,
	        "The list of forgotten players in %s cannot be read: who was forgotten since this backup was made, and "
	        "is on no other list, is there again.\n",
	        path);
	return ERR_OK;
}

static enum err take_from(struct restore *r, const char *path)
{
	struct forgotten_list *list = NULL;
	enum err               e    = forgotten_read(&list, path);

	if (e == ERR_STORE)
		return say_unknown(r, path);
	return e == ERR_OK ? apply(r, list) : restore_refuse(r, e, "%s: %s", path, err_people(e));
}

/* The file beside a database; *found (may be NULL): there is one. */
static enum err take_file(struct restore *r, const char *folder, bool *found)
{
	char                   path[PATH_MAX];
	struct forgotten_list *list   = NULL;
	int64_t                before = clock_wall_ms() - r->conf->limits.store_forgotten_days * UPTIME_DAY_MS;

	if (!text_format(path, sizeof(path), "%s/" FORGOTTEN_FILE, folder))
		return ERR_OK;
	enum err e = forgotten_load(&list, path, before);
	if (found)
		*found = e != ERR_NOT_FOUND;
	if (e == ERR_NOT_FOUND)
		return ERR_OK;
	if (e == ERR_MALFORMED || e == ERR_IO)
		return say_unknown(r, path);
	return e == ERR_OK ? apply(r, list) : restore_refuse(r, e, "%s: %s", path, err_people(e));
}

/* A new place knows nobody who was forgotten in the old one after the backup. */
static void say_nothing_known(struct restore *r)
{
	fprintf(r->report,
	        "Who was forgotten after this backup was made is not known in %s, and is there again: if you still "
	        "have the "
	        "file \"" FORGOTTEN_FILE "\" of the data folder from before, put it into %s before coopd starts.\n",
	        r->data, r->data);
}

enum err restore_forgotten(struct restore *r)
{
	char     path[PATH_MAX];
	bool     has_file = false;
	enum err e        = take_file(r, r->data, &has_file);

	if (e == ERR_OK)
		e = take_file(r, r->src, NULL);
	if (e == ERR_OK && text_format(path, sizeof(path), "%s/coop.db", r->data) && access(path, F_OK) == 0)
		e = take_from(r, path);
	else if (e == ERR_OK && !has_file)
		say_nothing_known(r);
	for (size_t i = 0; i < r->manifest.count && e == ERR_OK; i++) {
		if (strcmp(r->manifest.list[i].name, r->entry.name) != 0 &&
		    text_format(path, sizeof(path), "%s/%s", r->src, r->manifest.list[i].name) &&
		    access(path, F_OK) == 0)
			e = take_from(r, path);
	}
	return e;
}
