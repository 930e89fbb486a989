#include "store/backup_manifest.h"

#include "base/auto.h"
#include "base/hex.h"
#include "base/json.h"
#include "base/text.h"
#include "base/version.h"
#include "os/file.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MANIFEST_BYTES_MAX (4 * 1024 * 1024) /* BACKUP_KEPT_MAX entries */

void backup_manifest_fini(struct backup_manifest *m)
{
	free(m->list);
	*m = (struct backup_manifest){ 0 };
}

const struct backup_entry *backup_manifest_find(const struct backup_manifest *m, const char *name)
{
	for (size_t i = 0; i < m->count; i++)
		if (strcmp(m->list[i].name, name) == 0)
			return &m->list[i];
	return NULL;
}

static enum err add(struct backup_manifest *m, const struct backup_entry *entry)
{
	struct backup_entry *more = realloc(m->list, (m->count + 1) * sizeof(*more));

	if (!more)
		return ERR_NOMEM;
	m->list             = more;
	m->list[m->count++] = *entry;
	return ERR_OK;
}

enum err backup_manifest_add(struct backup_manifest *m, const struct backup_entry *newest, size_t kept)
{
	enum err e    = add(m, newest);
	size_t   gone = m->count > kept ? m->count - kept : 0;

	if (e != ERR_OK || gone == 0)
		return e;
	m->count -= gone;
	memmove(m->list, m->list + gone, m->count * sizeof(*m->list));
	return ERR_OK;
}

/* --- Reading --- */

static int64_t get_time(const struct json *j, const char *key)
{
	const char *text;
	struct tm   utc = { 0 };
	const char *end;

	if (json_get_text(&text, j, key) != ERR_OK)
		return 0;
	end = strptime(text, "%Y-%m-%dT%H:%M:%SZ", &utc);
	return end && !*end ? (int64_t)timegm(&utc) * 1000 : 0;
}

/* A name that is no plain one would be read from somewhere else. */
static bool is_name(const char *name)
{
	size_t len = strlen(name);

	return len < COPIES_NAME_BYTES && !strchr(name, '/') &&
	       strncmp(name, BACKUP_DATABASE_PREFIX, strlen(BACKUP_DATABASE_PREFIX)) == 0;
}

/* The newest stands on the outside, with longer names. */
static enum err read_entry(struct backup_entry *out, const struct json *j, const char *name, bool is_outside)
{
	const char *hash;
	enum err    e = json_get_text(&hash, j, is_outside ? "database_sha256" : "sha256");

	*out = (struct backup_entry){ 0 };
	if (e != ERR_OK || !is_name(name) || hex_decode(out->sha256, sizeof(out->sha256), hash, strlen(hash)) != ERR_OK)
		return ERR_MALFORMED;
	text_copy(out->name, sizeof(out->name), name);
	e = json_get_int(&out->bytes, j, is_outside ? "database_bytes" : "bytes");
	if (e == ERR_OK)
		e = json_get_int(&out->blobs, j, "blobs");
	if (e == ERR_OK)
		e = json_get_int(&out->damaged, j, "damaged");
	out->began_ms = get_time(j, "began_at");
	out->ended_ms = get_time(j, "ended_at");
	return e == ERR_OK ? ERR_OK : ERR_MALFORMED;
}

struct reading {
	struct backup_manifest *out;
	const struct json      *databases;
	const char             *newest;
	enum err                failed;
};

/* A database that the manifest does not name came to no end. */
static bool read_older(const char *name, void *arg)
{
	struct reading     *r     = arg;
	struct json        *inner = strcmp(name, r->newest) == 0 ? NULL : json_member_object(r->databases, name);
	struct backup_entry entry;

	if (inner) {
		r->failed = read_entry(&entry, inner, name, false);
		if (r->failed == ERR_OK)
			r->failed = add(r->out, &entry);
		json_free(inner);
	}
	return r->failed == ERR_OK;
}

/* The order of their names, which is that of their times. */
static int by_name(const void *a, const void *b)
{
	const struct backup_entry *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static enum err read_all(struct backup_manifest *out, const struct json *j, const char *folder)
{
	AUTO(json_freep) struct json *databases = json_member_object(j, "databases");
	const char                   *id, *name;
	struct backup_entry           newest;
	int64_t                       format;
	struct reading                r = { .out = out, .databases = databases };

	if (json_get_int(&format, j, "coopd_backup") != ERR_OK || format != 1 ||
	    json_get_text(&id, j, "store_id") != ERR_OK || json_get_text(&name, j, "database") != ERR_OK ||
	    hex_decode(out->store_id, sizeof(out->store_id), id, strlen(id)) != ERR_OK ||
	    read_entry(&newest, j, name, true) != ERR_OK)
		return ERR_MALFORMED;
	r.newest   = name;
	enum err e = databases ? copies_each(folder, BACKUP_DATABASE_PREFIX, read_older, &r) : ERR_OK;
	if (e == ERR_OK)
		e = r.failed;
	if (e == ERR_OK && out->count > 1)
		qsort(out->list, out->count, sizeof(*out->list), by_name);
	return e == ERR_OK ? add(out, &newest) : e;
}

enum err backup_manifest_read(struct backup_manifest *out, const char *folder)
{
	AUTO(auto_free) char         *text = NULL;
	AUTO(json_freep) struct json *j    = NULL;
	char                          path[PATH_MAX];
	size_t                        len;
	enum err                      e;

	*out = (struct backup_manifest){ 0 };
	if (!text_format(path, sizeof(path), "%s/" BACKUP_MANIFEST, folder))
		return ERR_IO;
	e = file_read(&text, &len, path, MANIFEST_BYTES_MAX);
	if (e == ERR_OK)
		e = json_parse(&j, text, len);
	if (e == ERR_OK)
		e = read_all(out, j, folder);
	if (e != ERR_OK)
		backup_manifest_fini(out);
	return e == ERR_TOO_BIG ? ERR_MALFORMED : e;
}

/* --- Writing --- */

static void put_time(struct json *j, const char *name, int64_t wall_ms)
{
	char      text[32];
	time_t    at = (time_t)(wall_ms / 1000);
	struct tm utc;

	if (wall_ms > 0 && gmtime_r(&at, &utc) && strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc) > 0)
		json_put_text(j, name, text);
}

static void put_entry(struct json *j, const struct backup_entry *entry, bool is_outside)
{
	char hex[2 * BLOB_HASH_BYTES + 1];

	hex_encode(hex, entry->sha256, sizeof(entry->sha256));
	json_put_int(j, is_outside ? "database_bytes" : "bytes", entry->bytes);
	json_put_text(j, is_outside ? "database_sha256" : "sha256", hex);
	json_put_int(j, "blobs", entry->blobs);
	json_put_int(j, "damaged", entry->damaged);
	put_time(j, "began_at", entry->began_ms);
	put_time(j, "ended_at", entry->ended_ms);
}

static struct json *databases_of(const struct backup_manifest *m)
{
	struct json *all = json_object_new();

	for (size_t i = 0; all && i < m->count; i++) {
		struct json *one = json_object_new();

		if (one)
			put_entry(one, &m->list[i], false);
		json_put_json(all, m->list[i].name, one);
	}
	return all;
}

enum err backup_manifest_write(const struct backup_manifest *m, const char *folder)
{
	AUTO(json_freep) struct json *j      = json_object_new();
	AUTO(auto_free) char         *text   = NULL;
	const struct backup_entry    *newest = &m->list[m->count - 1];
	char                          path[PATH_MAX], hex[2 * STORE_ID_BYTES + 1];

	if (!j || !text_format(path, sizeof(path), "%s/" BACKUP_MANIFEST, folder))
		return ERR_NOMEM;
	hex_encode(hex, m->store_id, sizeof(m->store_id));
	json_put_int(j, "coopd_backup", 1);
	json_put_text(j, "version", COOPD_VERSION);
	json_put_text(j, "store_id", hex);
	json_put_text(j, "database", newest->name);
	put_entry(j, newest, true);
	json_put_json(j, "databases", databases_of(m));
	text = json_text(j);
	return text ? file_write(path, text, strlen(text), 0600) : ERR_NOMEM;
}
