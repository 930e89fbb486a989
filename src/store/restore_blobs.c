/*
 * Every blob of the backup is read, also those that the data folder has: a backup that cannot be trusted is refused, whatever
 * lies beside it. Copied is only what the data folder lacks, or has damaged.
 */
#include "base/auto.h"
#include "base/hex.h"
#include "base/text.h"
#include "os/clock.h"
#include "os/file.h"
#include "store/campaign.h"
#include "store/restore_inside.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KNOWN_MAX     3 /* checkpoints that are named for one blob */
#define SHOW_EVERY_MS 200

struct one {
	uint8_t hash[BLOB_HASH_BYTES];
	char    hex[2 * BLOB_HASH_BYTES + 1];
	int64_t bytes; /* as the database says */
};

static bool blob_path(char out[PATH_MAX], const char *folder, const struct one *b)
{
	return text_format(out, PATH_MAX, "%s/blobs/%.2s/%s", folder, b->hex, b->hex + 2);
}

static int64_t size_of(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISREG(st.st_mode) ? st.st_size : -1;
}

/* --- What is wrong with one --- */

/* " (campaign 00112233445566aa "Island", version 3 of player 8899aabbccddeeff; ...)" */
static void describe(char *out, size_t cap, struct restore *r, const struct one *b)
{
	AUTO_QUERY q    = db_query(r->db, Q_RESTORE_KNOWN);
	int        more = 0;
	size_t     len  = 0;

	out[0] = '\0';
	q_blob(&q, ":hash", b->hash, BLOB_HASH_BYTES);
	while (q_row(&q) == ERR_OK) {
		uint8_t id[CAMPAIGN_ID_BYTES], owner[8];
		char    ids[2 * CAMPAIGN_ID_BYTES + 1], owners[17], name[64], escaped[80];

		if (++more > KNOWN_MAX)
			continue;
		q_get_blob(&q, 0, id, sizeof(id));
		q_get_text(&q, 1, name, sizeof(name));
		q_get_blob(&q, 2, owner, sizeof(owner));
		hex_encode(ids, id, sizeof(id));
		hex_encode(owners, owner, sizeof(owner));
		text_escape(escaped, sizeof(escaped), name, strlen(name));
		text_format(out + len, cap - len, "%scampaign %s \"%s\" of player %s, version %" PRId64 "%s",
		            len ? "; " : " (", ids, escaped, owners, q_get_int(&q, 3),
		            q_get_int(&q, 4) ? ", in the trash" : "");
		len = strlen(out);
	}
	if (more > KNOWN_MAX)
		text_format(out + len, cap - len, "; and %d more", more - KNOWN_MAX);
	len = strlen(out);
	if (len > 0)
		text_format(out + len, cap - len, ")");
}

static void say_damaged(struct restore *r, const struct one *b, const char *path, const char *wrong)
{
	char known[800];

	describe(known, sizeof(known), r, b);
	restore_damage(r, "%s: %s%s", path, wrong, known);
}

/* --- One --- */

static bool is_good_here(struct restore *r, const struct one *b)
{
	char    path[PATH_MAX];
	uint8_t is[BLOB_HASH_BYTES];
	int64_t bytes;

	return blob_path(path, r->data, b) && size_of(path) == b->bytes &&
	       restore_copy(is, &bytes, path, NULL) == RESTORE_COPIED && memcmp(is, b->hash, BLOB_HASH_BYTES) == 0;
}

static enum err make_place(struct restore *r, char path[PATH_MAX], const struct one *b)
{
	enum err e = blob_path(path, r->staging, b) ? ERR_OK : ERR_INVALID;
	char    *slash;

	if (e != ERR_OK)
		return e;
	slash  = strrchr(path, '/');
	*slash = '\0';
	e      = file_make_dirs(path, 0700);
	if (e != ERR_OK)
		return restore_refuse(r, e, "the folder %s cannot be made: %s", path, strerror(errno));
	*slash = '/';
	return ERR_OK;
}

/* NULL: it is good. */
static const char *find_wrong(enum restore_copied c, const struct one *b, const uint8_t is[BLOB_HASH_BYTES],
                              int64_t bytes, char text[80])
{
	if (c == RESTORE_MISSING)
		return "missing";
	if (c == RESTORE_UNREADABLE)
		text_format(text, 80, "cannot be read: %s", strerror(errno));
	else if (bytes != b->bytes)
		text_format(text, 80, "has %" PRId64 " bytes instead of %" PRId64, bytes, b->bytes);
	else
		return memcmp(is, b->hash, BLOB_HASH_BYTES) == 0 ? NULL : "its bytes have changed";
	return text;
}

static enum err do_one(struct restore *r, const struct one *b)
{
	char        from[PATH_MAX], to[PATH_MAX], text[80];
	uint8_t     is[BLOB_HASH_BYTES] = { 0 };
	int64_t     bytes;
	bool        is_here = is_good_here(r, b);
	const char *wrong;
	enum err    e = is_here ? ERR_OK : make_place(r, to, b);

	if (e != ERR_OK || !blob_path(from, r->src, b))
		return e != ERR_OK ? e : ERR_INVALID;
	enum restore_copied c = restore_copy(is, &bytes, from, is_here ? NULL : to);
	if (c == RESTORE_NOT_WRITTEN)
		return restore_refuse(r, errno == ENOSPC || errno == EDQUOT ? ERR_SPACE : ERR_IO,
		                      "%s cannot be written: %s", to, strerror(errno));
	if (c == RESTORE_NO_MEMORY)
		return restore_refuse(r, ERR_NOMEM, "there is no memory");
	wrong = find_wrong(c, b, is, bytes, text);
	if (wrong)
		say_damaged(r, b, from, wrong);
	if (!is_here && wrong)
		unlink(to);
	r->left_out += !is_here && wrong;
	r->copied += !is_here && !wrong;
	r->copied_bytes += !is_here && !wrong ? bytes : 0;
	return ERR_OK;
}

/* --- All of them --- */

static void show(struct restore *r)
{
	int64_t now = clock_mono_ms();

	if (!r->is_shown || now - r->shown_ms < SHOW_EVERY_MS)
		return;
	r->shown_ms = now;
	fprintf(r->report, "\r  %" PRId64 " of %" PRId64 " checkpoints, %" PRId64 " of %" PRId64 " MB\033[K",
	        r->blobs_done, r->blobs, r->bytes_done / 1000000, r->bytes / 1000000);
	fflush(r->report);
}

static enum err for_all(struct restore *r, enum err (*each)(struct restore *r, const struct one *b))
{
	AUTO_QUERY q = db_query(r->db, Q_RESTORE_BLOBS);
	enum err   e;

	while ((e = q_row(&q)) == ERR_OK) {
		struct one b = { .bytes = q_get_int(&q, 1) };

		q_get_blob(&q, 0, b.hash, sizeof(b.hash));
		hex_encode(b.hex, b.hash, sizeof(b.hash));
		e = each(r, &b);
		if (e != ERR_OK)
			return e;
	}
	return e == ERR_NOT_FOUND ? ERR_OK : restore_refuse(r, e, "the database cannot be read: %s", err_people(e));
}

static enum err count_one(struct restore *r, const struct one *b)
{
	char path[PATH_MAX];

	r->blobs++;
	r->bytes += b->bytes;
	if (blob_path(path, r->data, b) && size_of(path) != b->bytes)
		r->copied_bytes += b->bytes;
	return ERR_OK;
}

static enum err check_one(struct restore *r, const struct one *b)
{
	enum err e = do_one(r, b);

	r->blobs_done++;
	r->bytes_done += b->bytes;
	show(r);
	return e;
}

/* The names of what was copied. */
static enum err sync_folders(struct restore *r)
{
	char path[PATH_MAX];

	for (unsigned first = 0; first < 256; first++) {
		if (!text_format(path, sizeof(path), "%s/blobs/%02x", r->staging, first))
			return ERR_INVALID;
		if (file_sync_dir(path) != ERR_OK && errno != ENOENT)
			return restore_refuse(r, ERR_IO, "%s cannot be synced: %s", path, strerror(errno));
	}
	if (text_format(path, sizeof(path), "%s/blobs", r->staging) && file_sync_dir(path) != ERR_OK && errno != ENOENT)
		return restore_refuse(r, ERR_IO, "%s cannot be synced: %s", path, strerror(errno));
	return ERR_OK;
}

/* Files are renamed from one to the other, which no file system does to another. */
static enum err check_device(struct restore *r)
{
	char        path[PATH_MAX];
	struct stat blobs, staging;

	if (!text_format(path, sizeof(path), "%s/blobs", r->data) || stat(path, &blobs) != 0 ||
	    stat(r->staging, &staging) != 0 || blobs.st_dev == staging.st_dev)
		return ERR_OK;
	return restore_refuse(r, ERR_INVALID,
	                      "%s is on another file system than %s; restore into an empty folder, and move its blobs "
	                      "to "
	                      "that file system afterwards",
	                      path, r->data);
}

enum err restore_blobs(struct restore *r)
{
	enum err e = check_device(r);

	if (e == ERR_OK)
		e = for_all(r, count_one);
	if (e == ERR_OK)
		e = restore_check_space(r, (uint64_t)r->copied_bytes);
	r->copied_bytes = 0;
	if (e == ERR_OK)
		e = for_all(r, check_one);
	return e == ERR_OK ? sync_folders(r) : e;
}
