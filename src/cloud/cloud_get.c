/*
 * The files whose hash was right lately are a table of slots, each for any hash that falls into it: a newcomer pushes out
 * who was there, which costs one more hash and no more.
 */
#include "cloud/cloud_get.h"

#include "base/auto.h"
#include "base/metric.h"
#include "crypt/hash_stream.h"
#include "os/clock.h"
#include "store/campaign_admin.h"
#include "store/readers.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SLOTS        1024
#define VERIFY_BYTES 65536

/* A file as it was when its hash was right. */
struct slot {
	uint8_t         sha256[BLOB_HASH_BYTES];
	dev_t           device;
	ino_t           inode;
	off_t           bytes;
	struct timespec written, changed;
	int64_t         at_ms; /* 0: empty */
};

struct cloud_verified {
	int64_t         keep_ms;
	pthread_mutex_t lock;
	struct slot     slots[SLOTS];
};

struct cloud_get {
	struct store          *store;
	struct cloud_verified *verified;
	struct hash_stream    *hash; /* NULL: right already */
	uint64_t               bytes, hashed;
	int                    fd;
	bool                   is_damaged; /* found so: nothing more is given */
	uint8_t                sha256[BLOB_HASH_BYTES];
};

struct cloud_verified *cloud_verified_new(const struct limits *limits)
{
	struct cloud_verified *v = calloc(1, sizeof(*v));

	if (!v)
		return NULL;
	v->keep_ms = limits->cloud_verified_ms;
	pthread_mutex_init(&v->lock, NULL);
	return v;
}

void cloud_verified_free(struct cloud_verified *v)
{
	if (!v)
		return;
	pthread_mutex_destroy(&v->lock);
	free(v);
}

static struct slot *slot_of(struct cloud_verified *v, const uint8_t hash[BLOB_HASH_BYTES])
{
	return &v->slots[(hash[0] | hash[1] << 8) % SLOTS];
}

static bool same_time(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool is_same_file(const struct slot *a, const struct slot *b)
{
	return memcmp(a->sha256, b->sha256, sizeof(a->sha256)) == 0 && a->device == b->device && a->inode == b->inode &&
	       a->bytes == b->bytes && same_time(a->written, b->written) && same_time(a->changed, b->changed);
}

/* How the open file is now. False: the system does not say. */
static bool look(struct slot *out, const struct cloud_get *g)
{
	struct stat st;

	if (fstat(g->fd, &st) != 0)
		return false;
	*out = (struct slot){ .device  = st.st_dev,
		              .inode   = st.st_ino,
		              .bytes   = st.st_size,
		              .written = st.st_mtim,
		              .changed = st.st_ctim,
		              .at_ms   = clock_mono_ms() };
	memcpy(out->sha256, g->sha256, sizeof(out->sha256));
	return true;
}

static bool was_verified(struct cloud_verified *v, const struct cloud_get *g)
{
	struct slot now;

	if (v->keep_ms == 0 || !look(&now, g))
		return false;
	pthread_mutex_lock(&v->lock);

	const struct slot *s     = slot_of(v, g->sha256);
	bool               right = s->at_ms != 0 && now.at_ms - s->at_ms < v->keep_ms && is_same_file(s, &now);

	pthread_mutex_unlock(&v->lock);
	return right;
}

static void note_verified(struct cloud_verified *v, const struct cloud_get *g)
{
	struct slot now;

	if (v->keep_ms == 0 || !look(&now, g))
		return;
	pthread_mutex_lock(&v->lock);
	*slot_of(v, g->sha256) = now;
	pthread_mutex_unlock(&v->lock);
}

/* Opening */

static enum err pick_row(struct checkpoint_row *row, struct store *s, const struct cloud_pick *pick)
{
	struct db *db;
	enum err   e = readers_take(&db, s);

	if (e != ERR_OK)
		return e;
	if (!pick->player) {
		e = campaign_pick_any(row, db, pick->campaign, pick->number, pick->version);
	} else {
		e = player_check(db, pick->player);
		if (e == ERR_OK)
			e = campaign_pick(row, db, pick->campaign, pick->player, pick->version, pick->containers_only);
	}
	readers_give(s, db);
	return e;
}

static enum err damaged(struct store *s, const uint8_t *hash, const char *what)
{
	blob_report_damaged(s, hash, what);
	return ERR_DAMAGED;
}

/* The row, and its file. One that was removed between the two is looked for again: it may have no row any more. */
static enum err pick_file(int *fd, uint64_t *bytes, struct checkpoint_row *row, struct store *s,
                          const struct cloud_pick *pick)
{
	uint8_t missing[BLOB_HASH_BYTES];

	for (bool again = false;; again = true) {
		enum err e = pick_row(row, s, pick);

		if (e != ERR_OK)
			return e;
		if (again && memcmp(missing, row->sha256, sizeof(missing)) == 0)
			return damaged(s, row->sha256, "missing");
		e = blob_open(fd, bytes, s, row->sha256);
		if (e != ERR_NOT_FOUND)
			return e;
		memcpy(missing, row->sha256, sizeof(missing));
	}
}

enum err cloud_get_open(struct cloud_get **out, struct checkpoint_row *row, struct store *s, struct cloud_verified *v,
                        const struct cloud_pick *pick)
{
	struct cloud_get *g = calloc(1, sizeof(*g));
	enum err          e;

	if (!g)
		return ERR_NOMEM;
	g->store    = s;
	g->verified = v;
	g->fd       = -1;
	e           = pick_file(&g->fd, &g->bytes, row, s, pick);
	if (e == ERR_OK && g->bytes != (uint64_t)row->bytes)
		e = damaged(s, row->sha256, "of a wrong size");
	if (e == ERR_OK) {
		memcpy(g->sha256, row->sha256, sizeof(g->sha256));
		if (!was_verified(v, g) && !(g->hash = hash_stream_new()))
			e = ERR_NOMEM;
	}
	if (e != ERR_OK) {
		cloud_get_free(g);
		return e;
	}
	*out = g;
	return ERR_OK;
}

/* Reading */

static enum err read_all(struct cloud_get *g, uint64_t at, uint8_t *out, size_t len)
{
	while (len > 0) {
		ssize_t n = pread(g->fd, out, len, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return damaged(g->store, g->sha256, n < 0 ? "unreadable" : "cut short");
		out += n;
		at += (size_t)n;
		len -= (size_t)n;
	}
	return ERR_OK;
}

/* Bytes in order went into the hash; at the end it has to be right. */
static enum err hashed_to(struct cloud_get *g, uint64_t at)
{
	uint8_t sha256[HASH_SHA256_BYTES];

	g->hashed = at;
	if (at < g->bytes)
		return ERR_OK;
	hash_stream_end(sha256, g->hash);
	hash_stream_free(TAKE(g->hash));
	if (memcmp(sha256, g->sha256, sizeof(sha256)) != 0) {
		g->is_damaged = true;
		return damaged(g->store, g->sha256, "not what it was");
	}
	note_verified(g->verified, g);
	return ERR_OK;
}

static size_t least(uint64_t a, size_t b)
{
	return a < b ? (size_t)a : b;
}

static enum err read_hashing(struct cloud_get *g, uint8_t *out, size_t len)
{
	enum err e = read_all(g, g->hashed, out, len);

	if (e != ERR_OK)
		return e;
	hash_stream_add(g->hash, out, len);
	return hashed_to(g, g->hashed + len);
}

enum err cloud_get_verify(struct cloud_get *g)
{
	AUTO(auto_free) uint8_t *buf = g->hash ? malloc(VERIFY_BYTES) : NULL;

	if (g->is_damaged)
		return ERR_DAMAGED;
	if (g->hash && !buf)
		return ERR_NOMEM;
	while (g->hash) {
		enum err e = read_hashing(g, buf, least(g->bytes - g->hashed, VERIFY_BYTES));

		if (e != ERR_OK)
			return e;
	}
	return ERR_OK;
}

enum err cloud_get_read(struct cloud_get *g, size_t *len, uint64_t at, void *out, size_t cap)
{
	size_t   want = at < g->bytes ? least(g->bytes - at, cap) : 0;
	enum err e;

	if (g->hash && at == g->hashed) {
		e = read_hashing(g, out, want);
	} else {
		e = cloud_get_verify(g);
		if (e == ERR_OK)
			e = read_all(g, at, out, want);
	}
	if (e != ERR_OK)
		return e;
	*len = want;
	metric_add(M_CLOUD_BYTES_OUT, (int64_t)want);
	return ERR_OK;
}

void cloud_get_free(struct cloud_get *g)
{
	if (!g)
		return;
	hash_stream_free(g->hash);
	if (g->fd >= 0)
		close(g->fd);
	free(g);
}
