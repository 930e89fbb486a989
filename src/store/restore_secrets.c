/*
 * The secrets of a backup. Without them the restored server makes new ones: nobody loses a campaign by that, but what addresses
 * have used of their limits counts from zero, and a TURN or signal server beside coopd has to learn the new ones.
 */
#include "base/text.h"
#include "store/restore_inside.h"
#include "store/secrets.h"

#include <errno.h>
#include <string.h>

/* Those of the data folder stay. A server would not start with ones that are damaged, so they must not. */
static enum err use_own(struct restore *r, const char *from, bool is_missing)
{
	char     own[PATH_MAX], why[SECRETS_WHY_BYTES] = "";
	enum err e = text_format(own, sizeof(own), "%s/secrets", r->data) ? secrets_check(why, own) : ERR_INVALID;

	if (e == ERR_NOT_FOUND) {
		r->lacks_secrets = true;
		if (is_missing)
			restore_damage(r, "%s: missing: the server would make new secrets", from);
		return ERR_OK;
	}
	if (e != ERR_OK)
		return restore_refuse(r, e,
		                      "%s cannot be used, and those in the data folder neither: %s: %s. Move that file "
		                      "away first",
		                      from, own, why);
	r->keeps_secrets = true;
	return ERR_OK;
}

static enum err copy(struct restore *r, const char *from)
{
	char    to[PATH_MAX];
	uint8_t hash[BLOB_HASH_BYTES];
	int64_t bytes;

	if (!text_format(to, sizeof(to), "%s/secrets", r->staging))
		return ERR_INVALID;
	switch (restore_copy(hash, &bytes, from, to)) {
	case RESTORE_COPIED:
		return ERR_OK;
	case RESTORE_NOT_WRITTEN:
		return restore_refuse(r, ERR_IO, "%s cannot be written: %s", to, strerror(errno));
	case RESTORE_NO_MEMORY:
		return restore_refuse(r, ERR_NOMEM, "there is no memory");
	default:
		restore_damage(r, "%s: cannot be read: %s", from, strerror(errno));
		return use_own(r, from, false);
	}
}

enum err restore_secrets(struct restore *r)
{
	char     from[PATH_MAX], why[SECRETS_WHY_BYTES] = "";
	enum err e;

	if (!text_format(from, sizeof(from), "%s/secrets", r->src))
		return ERR_INVALID;
	e = secrets_check(why, from);
	if (e == ERR_OK)
		return copy(r, from);
	if (e != ERR_NOT_FOUND)
		restore_damage(r, "%s: the file of secrets is damaged: %s", from, why);
	return use_own(r, from, e == ERR_NOT_FOUND);
}
