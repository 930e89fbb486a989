/*
 * SRC is a folder with a manifest, whose newest database counts, or one of its databases.
 */
#include "base/auto.h"
#include "base/text.h"
#include "store/restore_inside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The folder, and the database in it when SRC names one ("" else). */
static enum err split(struct restore *r, char name[COPIES_NAME_BYTES], const char *src)
{
	AUTO(auto_free) char *whole = realpath(src, NULL);
	struct stat           st;
	char                 *slash;

	name[0] = '\0';
	if (!whole || stat(whole, &st) != 0)
		return restore_refuse(r, ERR_NOT_FOUND, "%s cannot be looked at: %s", src, strerror(errno));
	if (!text_copy(r->src, sizeof(r->src), whole) || strlen(whole) > PATH_MAX - 128)
		return restore_refuse(r, ERR_INVALID, "%s: the name is too long", src);
	if (S_ISDIR(st.st_mode))
		return ERR_OK;
	slash  = strrchr(r->src, '/');
	*slash = '\0';
	if (!S_ISREG(st.st_mode) || strncmp(slash + 1, BACKUP_DATABASE_PREFIX, strlen(BACKUP_DATABASE_PREFIX)) != 0 ||
	    !text_copy(name, COPIES_NAME_BYTES, slash + 1))
		return restore_refuse(r, ERR_INVALID,
		                      "%s is no backup: name the folder that coopctl backup wrote, or "
		                      "a " BACKUP_DATABASE_PREFIX "TIME.db in it",
		                      src);
	return ERR_OK;
}

static bool note_last(const char *name, void *arg)
{
	char  *last = arg;
	size_t len  = strlen(name);

	if (len < COPIES_NAME_BYTES && len > 3 && strcmp(name + len - 3, ".db") == 0 && strcmp(name, last) > 0)
		text_copy(last, COPIES_NAME_BYTES, name);
	return true;
}

/* Without a manifest nobody says that the backup is whole; whoever has nothing better may say so himself. */
static enum err find_without(struct restore *r, const char *name, enum err why)
{
	char last[COPIES_NAME_BYTES] = "";

	copies_each(r->src, BACKUP_DATABASE_PREFIX, note_last, last);
	if (!last[0] && !name[0])
		return restore_refuse(r, ERR_NOT_FOUND,
		                      "%s is no backup: it has no " BACKUP_MANIFEST " and no database", r->src);
	restore_damage(r, "%s/" BACKUP_MANIFEST ": %s", r->src,
	               why == ERR_NOT_FOUND ? "missing, so this backup may not have been finished"
	                                    : "damaged, cannot be read");
	text_copy(r->entry.name, sizeof(r->entry.name), name[0] ? name : last);
	return ERR_OK;
}

enum err restore_find(struct restore *r, const char *src)
{
	char                       name[COPIES_NAME_BYTES];
	const struct backup_entry *entry;
	enum err                   e = split(r, name, src);

	if (e != ERR_OK)
		return e;
	e = backup_manifest_read(&r->manifest, r->src);
	if (e == ERR_NOMEM)
		return restore_refuse(r, e, "there is no memory");
	if (e != ERR_OK)
		return find_without(r, name, e);
	entry = name[0] ? backup_manifest_find(&r->manifest, name) : &r->manifest.list[r->manifest.count - 1];
	if (!entry)
		return restore_refuse(r, ERR_NOT_FOUND,
		                      "%s/%s is not in " BACKUP_MANIFEST
		                      ", so it belongs to a backup that was not finished; the "
		                      "newest whole one is %s",
		                      r->src, name, r->manifest.list[r->manifest.count - 1].name);
	r->entry = *entry;
	return ERR_OK;
}
