/*
 * Whoever was forgotten after the backup was made stays forgotten (store/forget.h): the list of the database that is replaced
 * counts, and those of the other databases in the backup.
 */
#include "base/text.h"
#include "store/forget.h"
#include "store/restore_inside.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

/* One that cannot be read is often why somebody restores: he is told, and no more. */
static enum err take_from(struct restore *r, const char *path)
{
	struct forgotten_list *list    = NULL;
	int64_t                players = 0;
	enum err               e       = forgotten_read(&list, path);

	if (e == ERR_STORE) {
		fprintf(r->report,
		        "The list of forgotten players in %s cannot be read: who was forgotten since this backup was "
		        "made, and "
		        "is on no other list, is there again.\n",
		        path);
		return ERR_OK;
	}
	if (e == ERR_OK)
		e = forgotten_apply(&players, r->db, list, &r->conf->limits);
	forgotten_list_free(list);
	r->forgotten += players;
	return e == ERR_OK
	               ? e
	               : restore_refuse(r, e, "the players who were forgotten cannot be taken out: %s", err_people(e));
}

enum err restore_forgotten(struct restore *r)
{
	char     path[PATH_MAX];
	enum err e = ERR_OK;

	if (text_format(path, sizeof(path), "%s/coop.db", r->data) && access(path, F_OK) == 0)
		e = take_from(r, path);
	for (size_t i = 0; i < r->manifest.count && e == ERR_OK; i++) {
		if (strcmp(r->manifest.list[i].name, r->entry.name) != 0 &&
		    text_format(path, sizeof(path), "%s/%s", r->src, r->manifest.list[i].name) &&
		    access(path, F_OK) == 0)
			e = take_from(r, path);
	}
	return e;
}
