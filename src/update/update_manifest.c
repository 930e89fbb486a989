/*
 * The lock is held while the file is opened, read and verified: 4 KiB and a tenth of a millisecond. Two requests that look at
 * the same moment would otherwise both report a change, or take an older file for the newer one.
 */
#include "update/update_manifest.h"

#include "base/auto.h"
#include "base/metric.h"
#include "crypt/hash_stream.h"
#include "os/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define HASH_BLOCK_BYTES 65536

/* What one look found. */
struct look {
	enum update_state  state;
	const char        *why;
	struct update_mark mark;
	char               bytes[MANIFEST_BYTES_MAX];
	size_t             len;
	struct manifest    parsed;
};

void update_manifest_init(struct update_manifest *m, struct update_folder *folder, const struct p256_key *key)
{
	*m = (struct update_manifest){ .folder = folder, .key = key };
	pthread_mutex_init(&m->lock, NULL);
}

void update_manifest_fini(struct update_manifest *m)
{
	pthread_mutex_destroy(&m->lock);
}

/* --- Reading and verifying --- */

static void set_bad(struct look *l, const char *why)
{
	l->state = UPDATE_BAD;
	l->why   = why;
}

/* The bytes of an open file. False: it cannot be served, whatever is in it. */
static bool read_file(struct look *l, const struct update_file *file)
{
	l->mark = file->mark;
	if (file->mark.bytes > MANIFEST_BYTES_MAX) {
		set_bad(l, "it is longer than 4096 bytes");
		return false;
	}
	l->len = (size_t)file->mark.bytes;
	if (update_file_read(file, 0, l->bytes, l->len) < 0) {
		set_bad(l, "it cannot be read, or was written to while it was read");
		return false;
	}
	return true;
}

static void verify(struct look *l, const struct p256_key *key)
{
	if (manifest_parse(&l->parsed, &l->why, l->bytes, l->len) != ERR_OK)
		set_bad(l, l->why);
	else if (!verify_p256(key, l->parsed.signature, l->bytes, l->parsed.signed_len))
		set_bad(l, "the signature is not one of these bytes under update.key");
	else
		l->state = UPDATE_GOOD;
}

static bool is_same(const struct update_manifest *m, const struct look *l)
{
	return update_mark_is_same(&m->mark, &l->mark) && m->len == l->len && memcmp(m->bytes, l->bytes, l->len) == 0;
}

/* ERR_OK: *l is what is there now, or, if the file is the one known already, only *known is set. */
static enum err look_at_file(struct look *l, bool *known, struct update_manifest *m)
{
	struct update_file file;
	enum err           e = update_file_open(&file, m->folder, MANIFEST_NAME);

	*known = false;
	if (e == ERR_NOT_FOUND) {
		l->state = UPDATE_MISSING;
		l->why   = errno == ENOENT ? "there is none" : "it may not be read, or is no regular file";
		return ERR_OK;
	}
	if (e != ERR_OK)
		return e;
	if (read_file(l, &file)) {
		*known = (m->state == UPDATE_GOOD || m->state == UPDATE_BAD) && is_same(m, l);
		if (!*known)
			verify(l, m->key);
	}
	update_file_close(&file);
	return ERR_OK;
}

/* --- Reporting --- */

static void report(const struct update_manifest *m)
{
	switch (m->state) {
	case UPDATE_GOOD:
		log_info("update", 0, "manifest-good", "version=%s package=%s size=%" PRId64, m->parsed.version,
		         m->parsed.package, m->parsed.size);
		break;
	case UPDATE_BAD:
		log_warn("update", 0, "manifest-bad", "why=\"%s\" note=\"it is not served until it is mended\"",
		         m->why);
		break;
	case UPDATE_MISSING:
		log_warn("update", 0, "manifest-missing", "why=\"%s\" note=\"publish %s in update.dir\"", m->why,
		         MANIFEST_NAME);
		break;
	case UPDATE_UNKNOWN:
		break;
	}
}

/* A file that was missing or too long before and still is so is no news. */
static bool is_news(const struct update_manifest *m, const struct look *l)
{
	return m->state != l->state || m->why != l->why || !is_same(m, l);
}

static void take(struct update_manifest *m, const struct look *l)
{
	bool news = is_news(m, l);

	m->state  = l->state;
	m->why    = l->why;
	m->mark   = l->mark;
	m->len    = l->len;
	m->parsed = l->parsed;
	memcpy(m->bytes, l->bytes, l->len);
	metric_set(M_UPDATE_MANIFEST_GOOD, m->state == UPDATE_GOOD);
	if (!news)
		return;
	m->package   = PACKAGE_UNKNOWN;
	m->is_hashed = false;
	report(m);
}

static void report_package(const struct update_manifest *m)
{
	static const char note[] = "players keep the version they have, or use their other source";
	const char       *name   = m->parsed.package;

	switch (m->package) {
	case PACKAGE_MISSING:
		log_warn("update", 0, "package-missing", "package=%s note=\"%s\"", name, note);
		break;
	case PACKAGE_OTHER_SIZE:
		log_warn("update", 0, "package-differs", "package=%s size=%lld manifest_size=%" PRId64 " note=\"%s\"",
		         name, (long long)m->package_mark.bytes, m->parsed.size, note);
		break;
	case PACKAGE_OTHER_CONTENT:
		log_warn("update", 0, "package-differs",
		         "package=%s why=\"its SHA-256 is not the manifest's\" note=\"%s\"", name, note);
		break;
	case PACKAGE_GOOD:
		log_info("update", 0, "package-good", "package=%s", name);
		break;
	case PACKAGE_UNKNOWN:
		break;
	}
}

static void set_package(struct update_manifest *m, enum update_package state, const struct update_mark *mark)
{
	bool news = m->package != state || !update_mark_is_same(&m->package_mark, mark);

	m->package      = state;
	m->package_mark = *mark;
	if (news)
		report_package(m);
}

/* --- Looking, under the lock --- */

/* Whether it is there and as long as it should be; what is in it takes longer to know. */
static void look_at_package(struct update_manifest *m)
{
	struct update_mark none = { 0 };
	struct update_file file;
	enum err           e = update_file_open(&file, m->folder, m->parsed.package);

	if (e == ERR_NOT_FOUND)
		set_package(m, PACKAGE_MISSING, &none);
	if (e != ERR_OK)
		return;
	update_file_close(&file);
	if (file.mark.bytes != m->parsed.size)
		set_package(m, PACKAGE_OTHER_SIZE, &file.mark);
	else if (!update_mark_is_same(&m->package_mark, &file.mark))
		m->is_hashed = false;
}

static enum err look(struct update_manifest *m)
{
	struct look l = { 0 };
	bool        known;
	enum err    e = look_at_file(&l, &known, m);

	if (e != ERR_OK || known)
		return e;
	take(m, &l);
	if (m->state == UPDATE_GOOD)
		look_at_package(m);
	return ERR_OK;
}

enum err update_manifest_get(char *out, size_t *len, struct update_manifest *m)
{
	pthread_mutex_lock(&m->lock);

	enum err e = look(m);

	if (e == ERR_OK && m->state != UPDATE_GOOD)
		e = ERR_NOT_FOUND;
	if (e == ERR_OK) {
		memcpy(out, m->bytes, m->len);
		*len = m->len;
	}
	pthread_mutex_unlock(&m->lock);
	return e;
}

/* --- The package's content, without the lock --- */

static bool hash_file(uint8_t out[HASH_SHA256_BYTES], const struct update_file *file, const atomic_bool *stopping)
{
	struct hash_stream      *h     = hash_stream_new();
	AUTO(auto_free) uint8_t *block = malloc(HASH_BLOCK_BYTES);
	uint64_t                 at = 0, end = (uint64_t)file->mark.bytes;
	bool                     whole = h && block;

	while (whole && at < end) {
		size_t len = end - at < HASH_BLOCK_BYTES ? (size_t)(end - at) : HASH_BLOCK_BYTES;

		whole = !atomic_load(stopping) && update_file_read(file, at, block, len) > 0;
		if (whole)
			hash_stream_add(h, block, len);
		at += len;
	}
	if (whole)
		hash_stream_end(out, h);
	hash_stream_free(h);
	return whole;
}

static void compare_package(struct update_manifest *m, const struct update_file *file, const struct manifest *wanted,
                            const atomic_bool *stopping)
{
	uint8_t sha256[HASH_SHA256_BYTES];

	if (!hash_file(sha256, file, stopping))
		return; /* the next check comes */
	pthread_mutex_lock(&m->lock);
	if (m->state == UPDATE_GOOD && memcmp(&m->parsed, wanted, sizeof(*wanted)) == 0) {
		bool right = memcmp(sha256, wanted->sha256, sizeof(sha256)) == 0;

		set_package(m, right ? PACKAGE_GOOD : PACKAGE_OTHER_CONTENT, &file->mark);
		m->is_hashed = true;
	}
	pthread_mutex_unlock(&m->lock);
}

/* Whether the package's content has to be compared with *wanted. */
static bool look_at_both(struct manifest *wanted, struct update_manifest *m)
{
	pthread_mutex_lock(&m->lock);
	if (look(m) != ERR_OK)
		log_warn("update", 0, "manifest-unread", "why=\"%s\"", strerror(errno));
	if (m->state == UPDATE_GOOD)
		look_at_package(m);
	*wanted = m->parsed;

	bool due = m->state == UPDATE_GOOD && !m->is_hashed;

	pthread_mutex_unlock(&m->lock);
	return due;
}

void update_manifest_look(struct update_manifest *m)
{
	struct manifest ignored;

	look_at_both(&ignored, m);
}

void update_manifest_check(struct update_manifest *m, const atomic_bool *stopping)
{
	struct manifest    wanted;
	struct update_file file;
	bool               due = look_at_both(&wanted, m);

	if (!due || update_file_open(&file, m->folder, wanted.package) != ERR_OK)
		return;
	if (file.mark.bytes == wanted.size)
		compare_package(m, &file, &wanted, stopping);
	update_file_close(&file);
}
